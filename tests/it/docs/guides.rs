//! Tutorials, how-to pages and the programs of `examples/` work: each is run as it is printed.

use crate::support::{
    Block, Page, Random, TestDir, assert_contains, bash, blocks, corpusdb, corpusdb_test, ingest,
    init, lines, prose, repository,
};
use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;

// ----
// Every tutorial works: its own blocks are run, in their order, and print what it says that they print.
//
// Blocks marked `sh` are run by bash with `-eu` in an empty directory, with the command in the path. Blocks marked
// `text` say what the block before printed: each of their lines must be a line of it, in that order, where `…` stands
// for anything and white space for white space. Blocks marked `python` begin with `# needs: PACKAGE, ..` (or
// `# needs: nothing`), and are left out where Python or one of these packages is not installed.

/// The packages without which a block in Python is left out.
fn needed(body: &str) -> Vec<&str> {
    let head = body.lines().next().unwrap_or_default();
    let names = head.strip_prefix("# needs: ");
    let names =
        names.unwrap_or_else(|| panic!("a block in Python begins with `# needs: `: {head}"));
    names.split(", ").filter(|name| *name != "nothing").collect()
}

/// What a block prints that is left out. It begins otherwise than the line that says which block follows.
const LEFT_OUT: &str = "left out: a package is missing";

/// Blocks that are run, as one program that says before each which one it is. What is said to be printed, by block.
fn program(page: &str) -> (String, BTreeMap<usize, Vec<&str>>) {
    let (mut script, mut printed, mut number) = ("exec 2>&1\n".to_owned(), BTreeMap::new(), 0);
    for Block { mark, body } in blocks(page) {
        let begins = format!("printf '\\n%s\\n' @@{}\n", number + 1);
        match mark {
            "sh" => script += &format!("{begins}{body}\n"),
            "python" => {
                let imports: String =
                    needed(body).iter().map(|name| format!("import {name};")).collect();
                script += &format!(
                    "{begins}if python3 -c 'import sys;{imports}' 2>/dev/null; then python3 - <<'@@'\n{body}\n@@\nelse echo '{LEFT_OUT}'; fi\n"
                );
            }
            "text" => {
                printed.entry(number).or_insert_with(Vec::new).extend(body.lines());
                continue;
            }
            _ => continue,
        }
        number += 1;
    }
    (script, printed)
}

/// The line with every run of white space as one space.
fn plain(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a line is what a page says, in which `…` stands for anything.
fn is_said(line: &str, said: &str) -> bool {
    let line = plain(line);
    let said = plain(said);
    let mut parts = said.split('…').map(str::trim);
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut last = None;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        last = Some(part);
    }
    last.map_or(rest.is_empty(), |part| part.is_empty() || rest.is_empty() || line.ends_with(part))
}

/// Runs a tutorial, and compares what its blocks print with what it says.
fn run_tutorial(name: &str) {
    run_page(&TestDir::new(), &format!("docs/tutorials/{name}"));
}

fn run_page(scratch: &TestDir, name: &str) {
    let page = std::fs::read_to_string(repository(name)).unwrap();
    let (script, printed) = program(&page);
    let told = bash(scratch, &script, name);
    let told: BTreeMap<usize, &str> = told
        .split("\n@@")
        .skip(1)
        .filter_map(|part| part.split_once('\n'))
        .filter_map(|(number, lines)| Some((number.parse().ok()?, lines)))
        .collect();
    assert!(printed.len() > 2, "{name} says what hardly any block prints");
    for (number, said) in printed {
        let lines = told[&number];
        if lines.contains(LEFT_OUT) {
            continue;
        }
        let mut rest = lines.lines();
        for line in said.iter().filter(|line| line.trim() != "…") {
            assert!(
                rest.any(|printed| is_said(printed, line)),
                "{name}, block {number}: no line (or none after those before) is\n{line}\nin\n{lines}"
            );
        }
    }
}

#[test]
fn first_corpus() {
    run_tutorial("first-corpus.md");
}

#[test]
fn crawl_every_month() {
    run_tutorial("crawl-every-month.md");
}

#[test]
fn year_of_crawl() {
    run_tutorial("year-of-crawl.md");
}

#[test]
fn mix_and_pack_for_megatron() {
    run_tutorial("mix-and-pack-for-megatron.md");
}

#[test]
fn chats_for_trl() {
    run_tutorial("chats-for-trl.md");
}

#[test]
fn fine_tune_chats() {
    run_tutorial("fine-tune-chats.md");
}

#[test]
fn tokenizer_for_a_language() {
    run_tutorial("tokenizer-for-a-language.md");
}

#[test]
fn length_grouped_batches() {
    run_tutorial("length-grouped-batches.md");
}

#[test]
fn packed_rows() {
    run_tutorial("packed-rows.md");
}

#[test]
fn remove_padding() {
    run_tutorial("remove-padding.md");
}

#[test]
fn minhash_step_by_step() {
    run_tutorial("minhash-step-by-step.md");
}

#[test]
fn tokens_and_mixtures() {
    run_tutorial("tokens-and-mixtures.md");
}

#[test]
fn dedup_on_a_cluster() {
    run_tutorial("dedup-on-a-cluster.md");
}

/// The commands of the first page are the first that a stranger copies: each works as printed, in an empty folder.
#[test]
fn the_commands_of_the_readme_run() {
    let scratch = TestDir::new();
    run_page(&scratch, "README.md");
    let lines = std::fs::read_to_string(repository("README.md")).unwrap().lines().count();
    assert!(
        lines <= 170,
        "README.md has {lines} lines: a table of its own goes into docs/reference/"
    );
    // Its picture is drawn from its own run.
    let chart = [repository("scripts/chart.py"), "rows".into(), scratch.path("rows.jsonl")];
    let drawn = Command::new("python3").args(chart).output().unwrap();
    let picture = std::fs::read_to_string(repository("docs/explanation/rows.svg")).unwrap();
    assert!(
        String::from_utf8_lossy(&drawn.stdout) == picture,
        "docs/explanation/rows.svg is not the rows of the README: `scripts/chart.py rows` draws it\n{}",
        String::from_utf8_lossy(&drawn.stderr)
    );
}

/// A tutorial that no test names would be run by none. The notebook takes a kernel and torch: `make test-integrations`.
#[test]
fn every_tutorial_is_run() {
    let this = include_str!("guides.rs");
    for entry in std::fs::read_dir(repository("docs/tutorials")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name == "notebook.ipynb" {
            let commands = std::fs::read_to_string(repository("Makefile")).unwrap();
            assert!(commands.contains("scripts/notebook.py --check"));
            continue;
        }
        assert!(this.contains(&format!("run_tutorial(\"{name}\")")), "{name}");
    }
}

#[test]
fn blocks_and_lines_are_read_as_written() {
    let page = "a\n\n```sh\necho 1\necho 2\n```\n\n```text\n1\n```\nb\n```toml\nx = 1\n```\n";
    let (script, printed) = program(page);
    assert!(script.contains("echo 1\necho 2\n") && !script.contains("x = 1"), "{script}");
    assert_eq!(printed, BTreeMap::from([(1, vec!["1"])]));
    assert_eq!(needed("# needs: torch, megatron.core\n"), ["torch", "megatron.core"]);
    assert!(needed("# needs: nothing\n").is_empty());
    assert!(is_said("  ok  ids   4", "ok ids 4") && !is_said("ok ids 45", "ok ids 4"));
    assert!(is_said("added 4 in 0.2 s", "added 4 …") && !is_said("is added 4", "added 4 …"));
    assert!(is_said("a 1 b 2", "…b 2") && !is_said("a 1 b 2 c", "…b 2"));
    assert!(is_said("a 1 b 2 c", "a … b … c") && !is_said("a 1 c", "a … b … c"));
}

// ----
// How-to pages work: the commands of each are run in their order, on files of the names that they use, every recipe is
// planned, built and verified, and pieces of Rust stand in the programs of `examples/`.
//
// Recipes are for corpora of billions of tokens: what they ask for is made smaller first. Pieces of Python are for
// trainers and stay unread.

/// What recipes ask for, and what the corpus of a test has of it.
const SMALLER: [(&str, &str); 4] = [
    ("tokens = 10_000_000_000", "tokens = 10_000"),
    ("00_000_000", "_000"),
    ("rows = 512", "rows = 2"),
    ("rows = 64", "rows = 2"),
];

/// What stands in for the program of a page that computes a score of each document.
const SCORING: &str = r#"python() { sed -E 's/^\{("key":"[^"]*").*/{\1,"quality":0.123}/'; }"#;

fn page(name: &str) -> String {
    std::fs::read_to_string(repository("docs/how-to").join(name)).unwrap()
}

/// The sources that recipes name, with a tokenizer, as the corpus `crawl`.
fn crawl(scratch: &TestDir) {
    let corpus = scratch.arg("crawl");
    init(&corpus, &["--field", "quality:float"]);
    let mut random = Random::new(17);
    let sources = [("web", 200, 80), ("code", 100, 120), ("books", 40, 400), ("chat", 150, 60)];
    for (source, count, longest) in [&sources[..], &[("math", 100, 80)]].concat() {
        let pages = pages(&mut random, source, count, longest);
        let file = scratch.write(&format!("{source}.jsonl"), lines(&pages));
        ingest(&corpus, &[&file], &["--source", source, "--id-field", "id"]);
    }
    let train = ["tokenizer", "train", &corpus, "own", "--vocab-size", "600"];
    corpusdb(&[&train[..], &["--special", "<|endoftext|>"]].concat()).good();
}

fn pages(random: &mut Random, source: &str, count: usize, longest: usize) -> Vec<Page> {
    let page = |number: usize| {
        let words = random.between(5, longest);
        let mut page = Page::keyed(format!("{source}-{number}"), prose(random, number, words));
        if source != "books" {
            page.fields = json!({ "quality": number as f64 / count as f64 });
        }
        page
    };
    (0..count).map(page).collect()
}

/// Runs the commands and recipes of a page; answers what they printed.
fn run_commands(scratch: &TestDir, name: &str, corpus: &str) -> String {
    let mut script = format!("exec 2>&1\n{SCORING}\n");
    for (number, Block { mark, body }) in blocks(&page(name)).into_iter().enumerate() {
        if mark == "console" {
            let commands = body.lines().map(|line| line.strip_prefix("$ ").unwrap());
            script.extend(commands.map(|command| format!("{command}\n")));
        }
        if mark == "toml" {
            let recipe =
                SMALLER.iter().fold(body.to_owned(), |all, (asked, has)| all.replace(asked, has));
            script += &format!("cat > recipe.toml <<'@@'\n{recipe}\n@@\n");
            script += &format!("corpusdb epoch explain {corpus} recipe.toml\n");
            script += &format!("corpusdb epoch build {corpus} recipe.toml --out built-{number}\n");
            script += &format!("corpusdb epoch verify {corpus} built-{number}\n");
        }
    }
    let told = bash(scratch, &script, name);
    let recipes = blocks(&page(name)).iter().filter(|block| block.mark == "toml").count();
    assert_eq!(told.lines().filter(|line| *line == "verified").count(), recipes, "{told}");
    told
}

corpusdb_test!(recipes, |scratch| {
    crawl(&scratch);
    run_commands(&scratch, "recipes.md", "crawl");
});

corpusdb_test!(from_datasets_map, |scratch| {
    crawl(&scratch);
    let told = run_commands(&scratch, "from-datasets-map.md", "crawl");
    assert!(told.contains("quality: 590 records; changed 590 documents"), "{told}");
});

corpusdb_test!(backup, |scratch| {
    crawl(&scratch);
    let told = run_commands(&scratch, "backup.md", "crawl");
    assert_contains(&told, &["1 backup: whole", "crawl-again is the corpus as of commit"]);
});

corpusdb_test!(repair, |scratch| {
    crawl(&scratch);
    let told = run_commands(&scratch, "repair.md", "crawl");
    assert!(told.contains("nothing to repair") && told.contains("copied 5"), "{told}");
});

// The script of the page runs as a cron job would run it, and again in the next night; then its commands.
corpusdb_test!(operate, |scratch| {
    crawl(&scratch);
    let page = page("operate.md");
    let script = blocks(&page).into_iter().find(|block| block.mark == "sh").unwrap();
    scratch.write("nightly.sh", script.body);
    let mut random = Random::new(19);
    for night in 1..3 {
        let mut pages = pages(&mut random, "web", 30, 60);
        for (number, page) in pages.iter_mut().enumerate() {
            page.id = None;
            page.fields = json!({ "url": format!("night-{night}-{number}"), "quality": 0.5 });
        }
        scratch.write(&format!("new/{night}.jsonl"), lines(&pages));
        bash(&scratch, "sh nightly.sh crawl new backups", "operate.md");
        let report = std::fs::read_to_string(scratch.path("ingest.json")).unwrap();
        let report: Value = serde_json::from_str(report.lines().last().unwrap()).unwrap();
        assert_eq!(report["added"], 30, "{report}");
        let backups = corpusdb(&["backup", "show", &scratch.arg("backups"), "--json"]).good();
        assert_eq!(backups.json_lines().len(), night, "{}", backups.stdout);
    }
    let told = run_commands(&scratch, "operate.md", "crawl");
    assert!(told.contains("\"disk\":[{"), "{told}");
});

corpusdb_test!(size, |scratch| {
    crawl(&scratch);
    scratch.write("next/a.jsonl", lines(&pages(&mut Random::new(20), "next", 30, 60)));
    let told = run_commands(&scratch, "size.md", "crawl");
    assert!(told.contains("bytes a document") && told.contains("  30 records, "), "{told}");
});

corpusdb_test!(thirty_questions, |scratch| {
    crawl(&scratch);
    scratch.write("next.jsonl", lines(&pages(&mut Random::new(21), "next", 30, 60)));
    let told = run_commands(&scratch, "../explanation/faq.md", "crawl");
    assert!(!told.lines().any(|line| line.starts_with("error:")), "{told}");
    assert_contains(&told, &["plan 2: ", "no trace of them is left"]);
    let page = page("../explanation/faq.md");
    assert_eq!(page.lines().filter(|line| line.starts_with("**")).count(), 30);
});

corpusdb_test!(data_card, |scratch| {
    crawl(&scratch);
    scratch.write("recipe.toml", "version = 1\n[pack]\nkind = \"concat\"\nlength = 64\n");
    run_commands(&scratch, "data-card.md", "crawl");
    let read = |name: &str| std::fs::read_to_string(scratch.path(name)).unwrap();
    assert!(read("card-of-the-run.html").contains("Plan 1 draws from snapshot"));
    assert!(read("card.html").contains("<h1>Data card: crawl</h1>"));
    assert!(read("duplicates.html").contains("<h1>Duplicates: crawl</h1>"));
    assert!(read("epoch.html").contains("<h1>Epoch of crawl</h1>"));
    assert!(read("croissant.json").contains("rai:dataBiases"));
    assert!(read("summary.md").contains("less than 1 billion tokens"));
    // Every member that is told is in the table of the page.
    let told: Value = serde_json::from_str(&read("card.json")).unwrap();
    let page = page("data-card.md");
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let named: Vec<&str> =
        rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2)).collect();
    let mut members: Vec<&str> = told.as_object().unwrap().keys().map(String::as_str).collect();
    members.retain(|member| !["type", "snapshots_left_out"].contains(member));
    members.push("plan");
    members.sort_unstable();
    let mut sorted = named;
    sorted.sort_unstable();
    assert_eq!(sorted, members);
});

corpusdb_test!(fields, |scratch| {
    crawl(&scratch);
    let told = run_commands(&scratch, "fields.md", "crawl");
    for line in [
        "edu (float): 1 of 1 documents have a value",
        "language (keyword): 1 of 1 documents have a value",
        "perplexity, toxic: 2 records; changed 2 documents, 0 had the values already",
        "toxic: 2 records; changed 1 documents, 0 had the value already",
        "density (float): 590 of 590 documents have a value",
        "dropped density",
    ] {
        assert!(told.contains(line), "no `{line}` in\n{told}");
    }
});

corpusdb_test!(signals, |scratch| {
    crawl(&scratch);
    let told = run_commands(&scratch, "signals.md", "crawl");
    for line in
        ["20 signals of 590 documents: word_count, ", "4 signals of 590 documents: ", "stored"]
    {
        assert!(told.contains(line), "no `{line}` in\n{told}");
    }
    assert!(told.contains("email") && !told.contains("error:"), "{told}");
});

corpusdb_test!(erase, |scratch| {
    crawl(&scratch);
    let told = run_commands(&scratch, "erase.md", "crawl");
    for line in ["removed 1 of 1 documents", "purged 2 documents", "no trace of them is left"] {
        assert!(told.contains(line), "no `{line}` in\n{told}");
    }
});

corpusdb_test!(takedown, |scratch| {
    crawl(&scratch);
    scratch.run("export crawl --to given-away.jsonl");
    let told = run_commands(&scratch, "takedown.md", "crawl");
    for line in ["would purge 1 document;", "removed 1 of 1 documents", "no trace of them is left"]
    {
        assert!(told.contains(line), "no `{line}` in\n{told}");
    }
    assert!(!told.contains("error:"), "{told}");
});

corpusdb_test!(decontaminate, |scratch| {
    crawl(&scratch);
    let shown = corpusdb(&["show", &scratch.arg("crawl"), "7", "--json"]).good().json();
    let item = json!({ "question": shown["text"], "answer": "#### 72" });
    scratch.write("gsm8k-test.jsonl", format!("{item}\n"));
    scratch.write("new.jsonl", format!("{}\n", json!({ "text": shown["text"] })));
    let told = run_commands(&scratch, "decontaminate.md", "crawl");
    for line in [
        "gsm8k: 1 items,",
        "1 of 1 items are in 1 kept documents, and in 0 others",
        "gsm8k gsm8k-test.jsonl:0 (question) in document 7: score 1.000",
        "gsm8k gsm8k-test.jsonl:0 and document 7",
        "1 pairs",
        "0 accepted, 0 rejected, 0 deleted",
        "1 of 1 texts are contaminated",
        "some of them are contaminated",
    ] {
        assert!(told.contains(line), "no `{line}` in\n{told}");
    }
});

corpusdb_test!(from_megatron_preprocess, |scratch| {
    crawl(&scratch);
    run_commands(&scratch, "from-megatron-preprocess.md", "crawl");
});

corpusdb_test!(from_datatrove, |scratch| {
    crawl(&scratch);
    // The two files of a tokenizer that the page registers, and the data set.
    corpusdb(&["tokenizer", "export", &scratch.arg("crawl"), "own", &scratch.arg("own.json")])
        .good();
    let file: Value =
        serde_json::from_slice(&std::fs::read(scratch.path("own.json")).unwrap()).unwrap();
    scratch.write("vocab.json", file["model"]["vocab"].to_string());
    let merges = file["model"]["merges"].as_array().unwrap().iter();
    let merges =
        merges.map(|pair| format!("{} {}\n", pair[0].as_str().unwrap(), pair[1].as_str().unwrap()));
    scratch.write("merges.txt", format!("#version: 0.2\n{}", merges.collect::<String>()));
    let pages = pages(&mut Random::new(18), "cc", 300, 100);
    let texts = |of: fn(&Page) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(pages.iter().map(of)))
    };
    let batch = RecordBatch::try_from_iter([
        ("text", texts(|page| page.text.clone())),
        ("id", texts(|page| page.id.clone().unwrap())),
        ("dump", texts(|_| "CC-MAIN-2024-10".to_owned())),
        ("language_score", Arc::new(Float64Array::from(vec![0.9; pages.len()]))),
    ]);
    let batch = batch.unwrap();
    let parquet = std::fs::File::create(scratch.write("data/part-0.parquet", "")).unwrap();
    let mut writer = ArrowWriter::try_new(parquet, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let told = run_commands(&scratch, "from-datatrove.md", "fineweb");
    assert!(told.contains("  300 records, "), "{told}");
});

corpusdb_test!(export, |scratch| {
    crawl(&scratch);
    let told = run_commands(&scratch, "export.md", "crawl");
    assert!(told.contains("kept.jsonl.zst: 590 rows, "), "{told}");
    assert_eq!(told.lines().filter(|line| line.starts_with("error:")).count(), 0, "{told}");
});

corpusdb_test!(ask, |scratch| {
    crawl(&scratch);
    let told = run_commands(&scratch, "ask.md", "crawl");
    let words =
        ["by source and language:", "| n   |", "| name  | kept |", "lengths.parquet: 590 rows, "];
    for words in words {
        assert!(told.contains(words), "no `{words}` in\n{told}");
    }
    assert!(!told.lines().any(|line| line.starts_with("error:")), "{told}");
});

/// The commands of the page reach buckets of other people: their words are those of the command, and `remote.rs` runs
/// the same against a server of its own.
#[test]
fn remote() {
    let text = page("remote.md");
    let consoles = blocks(&text).into_iter().filter(|block| block.mark == "console");
    let lines: Vec<&str> = consoles.flat_map(|block| block.body.lines()).collect();
    assert_eq!(lines.len(), 6);
    for line in lines {
        let verb = line.strip_prefix("$ corpusdb ").unwrap().split(' ').next().unwrap();
        let known = corpusdb(&[verb, "--help"]).good().stdout;
        for flag in line.split(' ').filter(|word| word.starts_with("--")) {
            assert!(known.contains(flag), "{verb} has no {flag}");
        }
    }
}

/// What a page shows of a program is a piece of one that is run.
#[test]
fn from_a_rust_program() {
    let folder = std::fs::read_dir(repository("examples")).unwrap();
    let programs: Vec<String> =
        folder.filter_map(|entry| std::fs::read_to_string(entry.unwrap().path()).ok()).collect();
    let text = page("from-a-rust-program.md");
    let pieces: Vec<_> = blocks(&text).into_iter().filter(|block| block.mark == "rust").collect();
    assert!(!pieces.is_empty());
    for Block { body, .. } in pieces {
        assert!(programs.iter().any(|program| program.contains(body)), "in no example:\n{body}");
    }
}

/// Pages of Python: `python/tests/test_pages.py` compares what they call with what the package has.
const OF_PYTHON: [&str; 3] = ["from-python.md", "spark.md", "train-with-torch.md"];

/// A page that no test names would be run by none.
#[test]
fn every_how_to_page_is_run() {
    let this = include_str!("guides.rs");
    let looked_at = std::fs::read_to_string(repository("python/tests/test_pages.py")).unwrap();
    assert!(OF_PYTHON.iter().all(|page| looked_at.contains(&format!("\"{page}\""))));
    for entry in std::fs::read_dir(repository("docs/how-to")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(this.contains(&format!("\"{name}\"")), "{name}");
    }
}
