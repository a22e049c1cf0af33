//! What the program shows people: the examples of its help, and `corpusdb demo`.

use crate::support::{
    Page, Random, TestDir, command, copy, corpusdb_test, json_lines, lines, paths_below, prose,
    repository,
};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

// ----
// Every example that a verb's help has is run as it is printed, each in a copy of one small world.
//
// What a line names must be there before it is run: the world has it, or a line of [`BEFORE`] makes it. Absolute places
// (`/backups`) are folders of the copy. Lines that go to a store of the net are left out, and counted.

/// What must be so before a line that begins with the first is run: lines of a shell.
const BEFORE: &[(&str, &str)] = &[
    ("corpusdb init ", "rm -rf crawl repos stack"),
    ("corpusdb ingest other ", "corpusdb init other && corpusdb export crawl --to kept.jsonl.zst"),
    ("corpusdb snapshot create", "corpusdb snapshot drop crawl june"),
    ("corpusdb snapshot drop", "corpusdb snapshot rename crawl june 2025-06"),
    ("corpusdb restore crawl", "corpusdb remove crawl 17"),
    ("corpusdb undo", "corpusdb remove crawl 17"),
    ("corpusdb source rename", "corpusdb epoch drop crawl 1"),
    ("corpusdb purge crawl --prove", "corpusdb purge crawl 17 --force"),
    ("corpusdb purge crawl --where", "corpusdb remove crawl 17"),
    (
        "corpusdb purge crawl https",
        "corpusdb epoch drop crawl 1; for s in june july v1; do corpusdb snapshot drop crawl $s; done",
    ),
    ("corpusdb backup show", "corpusdb backup create crawl backups/crawl"),
    ("corpusdb backup verify", "corpusdb backup create crawl backups/crawl"),
    ("corpusdb backup restore", "corpusdb backup create crawl backups/crawl"),
    ("corpusdb backup drop", "corpusdb backup create crawl backups/crawl"),
    ("corpusdb epoch verify", "corpusdb epoch build crawl 1 --out epoch-0"),
    ("corpusdb contamination add", "corpusdb contamination drop crawl gsm8k"),
    ("corpusdb completions", "mkdir -p .local/share/bash-completion/completions"),
    (
        "corpusdb tokenizer train",
        "corpusdb tokenizer drop crawl own-32k; corpusdb tokenizer drop crawl multi",
    ),
    ("corpusdb tokenizer extend", "corpusdb tokenizer drop crawl gpt2-med"),
    (
        "corpusdb tokenizer backfill",
        "corpusdb tokenizer add crawl llama tokenizer.json --no-backfill",
    ),
    ("corpusdb tokenizer check crawl llama", "corpusdb tokenizer add crawl llama tokenizer.json"),
    ("corpusdb tokenizer drop", "corpusdb tokenizer add crawl old tokenizer.json"),
    (
        "corpusdb tokenizer add crawl gpt2",
        "corpusdb tokenizer drop crawl gpt2-med; corpusdb epoch drop crawl 1; corpusdb tokenizer drop crawl gpt2 --force",
    ),
    ("corpusdb signals add", "corpusdb signals drop crawl --set gopher"),
    ("corpusdb report crawl --croissant", "rm -f croissant.json summary.md"),
];

/// Numbers and places of a large corpus, and what they are in a small one.
const SMALLER: &[(&str, &str)] = &[
    ("/backups/", "backups/"),
    ("/data/2024", "pages.jsonl"),
    ("/tmp/demo", "demo"),
    (" --consumed 614400", " --consumed 6"),
    (" --from-batch 1200", " --from-batch 0"),
    (" --world 8", " --world 1"),
    (
        "undo crawl 12",
        "undo crawl $(corpusdb log crawl --limit 1 --json | sed 's/.*commit\":\\([0-9]*\\).*/\\1/')",
    ),
    (" 1 4711", " 1 7"),
    (" 15496 11 995", " 5 11 9"),
    ("--memory 16GB", "--memory 256MB"),
    // The commit of the one backup.
    ("412", "COMMIT"),
];

/// Lines that need what no test has, each with the reason.
const LEFT: &[(&str, &str)] = &[
    ("s3://", "a store of the net"),
    ("corpusdb bulk-load", "a load that Spark wrote: python/tests/spark makes one"),
    ("corpusdb demo", "a minute, in tests/it/cli/examples.rs"),
];

/// The examples of the reference, lines that go on joined.
fn examples() -> Vec<String> {
    let reference = String::from_utf8(command(&["reference"]).output().unwrap().stdout).unwrap();
    let (mut found, mut is_example, mut joined) = (Vec::new(), false, String::new());
    for line in reference.lines() {
        match line {
            "Example:" | "Examples:" => is_example = true,
            "" | "```" => is_example = false,
            line if is_example => match line.strip_suffix('\\') {
                Some(part) => joined.push_str(part),
                None => found.push(std::mem::take(&mut joined) + line.trim_start()),
            },
            _ => {}
        }
    }
    found.dedup();
    found
}

fn shell(at: &Path, line: &str) -> (Option<i32>, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_corpusdb")).parent().unwrap();
    let stubs = at.parent().unwrap().join("stubs");
    let path =
        format!("{}:{}:{}", program.display(), stubs.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell
        .args(["-c", line])
        .current_dir(at)
        .env("PATH", path)
        .env("HOME", at)
        .stdin(std::process::Stdio::null());
    let output = shell.output().unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    (output.status.code(), said)
}

fn must(at: &Path, line: &str) {
    let (code, said) = shell(at, line);
    assert_eq!(code, Some(0), "{line}\n{said}");
}

/// Pages of two languages, with what examples ask of them.
fn pages(random: &mut Random) -> Vec<Page> {
    let mut pages: Vec<Page> = (0..80)
        .map(|at| {
            let language = ["en", "de"][at % 2];
            let fields = json!({
                "lang": language, "date": format!("2025-0{}-11", 1 + at % 9), "quality": at as f64 / 80.0,
                "scores": {"edu": at % 5}, "url": format!("https://example.org/{at}"), "month": at % 12,
                "published": format!("2025-0{}-11T10:00:00Z", 1 + at % 9),
            });
            Page { fields, ..Page::keyed(format!("page-{at}"), prose(random, at % 2, 60)) }
        })
        .collect();
    pages[3].id = Some("https://example.org/page".to_owned());
    pages[4].id = Some("2024".to_owned());
    let again = pages[5].text.clone() + " and a little more";
    pages.push(Page::keyed("again", again));
    pages
}

/// Everything that an example names: files, corpora, what is in them.
fn world(scratch: &TestDir) {
    let pages = pages(&mut Random::new(11));
    let (text, other) = (&pages[42].text, &pages[8].text);
    let file = |name: &str, text: &str| scratch.write(&format!("w/{name}"), text);
    file("page.txt", text);
    file(
        "code.txt",
        "fn main() {\n    println!(\"hello, stored world\");\n    let mut number = 5;\n    number += 7;\n}\n",
    );
    file("pages.jsonl", &lines(&pages));
    file("sentences.txt", "One sentence of some words.\nAnother sentence of other words.\n");
    file("reviews.csv", &format!("review,stars\n\"{text}\",5\n"));
    file(
        "held-out.csv",
        "ask,gold\n\"How many words has this question, which nobody stored?\",ten\n",
    );
    file("s.csv", "key,score\npage-1,0.5\n");
    file(
        "report.sql",
        "SELECT count(*) FROM documents;\nSELECT source, count(*) FROM documents GROUP BY source;\n",
    );
    file("terms.txt", "photosynthesis\nelectroencephalography\n");
    file("notes/one.txt", text);
    let item = |at: usize| match at {
        17 => json!({"question": text, "answer": "5"}),
        3 => json!({"question": other, "answer": "7"}),
        at => {
            json!({"question": format!("how many apples has the {at}th of the children in this small village"), "answer": "9"})
        }
    };
    file("gsm8k-test.jsonl", &(0..20).map(|at| format!("{}\n", item(at))).collect::<String>());
    let judged = json!({"suite": "gsm8k", "item": "gsm8k-test.jsonl:17", "document": 42, "verdict": "accepted"});
    file("judged.jsonl", &format!("{judged}\n"));
    let chat = json!({"messages": [{"role": "user", "content": "Hello there, how are you today?"},
        {"role": "assistant", "content": text}]});
    file("chats.jsonl", &format!("{chat}\n").repeat(50));
    file("ids.jsonl", "{\"input_ids\": [5, 6, 7, 8]}\n");
    let template =
        "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}";
    file("Qwen3/tokenizer_config.json", &json!({"chat_template": template}).to_string());
    let recipe = "version = 1\nseed = 1\n[tokenizer]\nname = \"gpt2\"\n[pack]\nlength = 64\n[batch]\nrows = 2\n[[source]]\nname = \"web\"\nmax_repeats = 8\n";
    file("recipe.toml", recipe);
    file("new-weights.toml", recipe);
    let grouped = "version = 1\n[tokenizer]\nname = \"gpt2\"\n[pack]\nkind = \"none\"\nlength = 64\n[order]\nkind = \"length-grouped\"\n[batch]\nrows = 2\n";
    file("grouped.toml", grouped);
    scratch.write("stubs/jq", "#!/bin/sh\ncat\n");
    scratch.write("stubs/curl", format!("#!/bin/sh\ncat <<'END'\n{text}\nEND\n"));
    let ranks: String = (0..=255_u8).map(|byte| format!("{} {byte}\n", base64(byte))).collect();
    file("cl100k_base.tiktoken", &ranks);
    let at = scratch.path("w");
    for line in [
        "chmod +x ../stubs/*; gzip -c < pages.jsonl > old.gz; mkdir -p dump mmlu pages",
        "corpusdb init crawl --field url:keyword --field quality:float --field published:timestamp --field month:int --field perplexity:float --field toxicity:float",
        "corpusdb ingest crawl pages.jsonl --source web --id-field id --map language=lang",
        "corpusdb ingest crawl code.txt --source code --format text",
        "for s in june july v1; do corpusdb snapshot create crawl $s; done",
        "corpusdb tokenizer train crawl own-32k --vocab-size 500 --special '<|endoftext|>' && corpusdb tokenizer export crawl own-32k tokenizer.json",
        "corpusdb tokenizer add crawl gpt2 tokenizer.json && cp tokenizer.json candidate.json",
        "corpusdb tokenizer train crawl multi --model unigram --byte-fallback --vocab-size 500 && corpusdb tokenizer export crawl multi spiece.model",
        "corpusdb tokenizer extend crawl gpt2 gpt2-med --terms terms.txt",
        "corpusdb signals add crawl --set gopher",
        "corpusdb contamination add crawl gsm8k gsm8k-test.jsonl",
        "corpusdb epoch plan crawl recipe.toml",
        "corpusdb sql crawl \"SELECT text AS body, key AS isbn FROM documents WHERE kept\" -o dump/a.parquet",
        "corpusdb sql crawl \"SELECT text AS body, key AS url, source AS origin FROM documents WHERE kept\" -o all.arrow",
        "corpusdb sql crawl \"SELECT text, key AS id, 0.7 AS score, 'de' AS lang FROM documents WHERE kept\" -o scored.parquet",
        "corpusdb sql crawl \"SELECT id, id AS document, key AS url, 1.5 AS perplexity, 0.1 AS toxicity, 0.5 AS score FROM documents WHERE source = 'web'\" -o scores.parquet",
        "corpusdb sql crawl \"SELECT key AS url, 0.5 AS score FROM documents WHERE source = 'web'\" -o scores.jsonl.zst",
        "corpusdb sql crawl \"SELECT text AS instruction, '' AS input, key AS output FROM documents WHERE kept\" -o alpaca.parquet",
        "corpusdb sql crawl \"SELECT 'what is asked of ' || text AS question, key AS answer FROM documents LIMIT 5\" -o mmlu/a.parquet",
        "corpusdb sql crawl \"SELECT key AS id, text FROM documents WHERE kept\" -o pages.jsonl.zst",
        "cp pages.jsonl.zst new-pages.jsonl.zst; cp pages.jsonl.zst pages/1.jsonl.zst; cp pages.jsonl new.jsonl",
        "corpusdb init sft && corpusdb tokenizer add sft gpt2 tokenizer.json",
        "corpusdb init chats && corpusdb tokenizer add chats qwen tokenizer.json && corpusdb ingest chats pages.jsonl --source web --id-field id",
        "for c in 0 1 2 3; do corpusdb init crawl-$c && corpusdb tokenizer add crawl-$c gpt2 tokenizer.json && sed -n \"$((c * 20 + 1)),$((c * 20 + 20))p\" pages.jsonl > part.jsonl && corpusdb ingest crawl-$c part.jsonl --source web --id-field id; done",
    ] {
        must(&at, line);
    }
    let trained: serde_json::Value =
        serde_json::from_slice(&std::fs::read(at.join("tokenizer.json")).unwrap()).unwrap();
    file("vocab.json", &trained["model"]["vocab"].to_string());
    let merge = |merge: &serde_json::Value| match merge {
        serde_json::Value::String(text) => format!("{text}\n"),
        pair => format!("{} {}\n", pair[0].as_str().unwrap(), pair[1].as_str().unwrap()),
    };
    let merges = trained["model"]["merges"].as_array().unwrap().iter().map(merge);
    file("merges.txt", &format!("#version: 0.2\n{}", merges.collect::<String>()));
}

/// A byte in base64.
fn base64(byte: u8) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let sign = |at: u8| char::from(SIGNS[usize::from(at)]);
    format!("{}{}==", sign(byte >> 2), sign((byte & 3) << 4))
}

corpusdb_test!(every_example_of_the_help_works_as_it_is_printed, |scratch| {
    world(&scratch);
    let (_, said) = shell(&scratch.path("w"), "corpusdb info crawl --json");
    let info: serde_json::Value = serde_json::from_str(said.trim()).unwrap();
    let commit = info["commit"].to_string();
    let here = |line: &str| {
        let smaller =
            SMALLER.iter().fold(line.to_owned(), |line, (large, small)| line.replace(large, small));
        smaller.replace("COMMIT", &commit)
    };
    let (mut ran, mut left, mut faults) = (0, 0, Vec::new());
    for (number, line) in examples().iter().enumerate() {
        if LEFT.iter().any(|(part, _)| line.contains(part)) {
            left += 1;
            continue;
        }
        let at = scratch.path(&format!("run-{number}"));
        copy(&scratch.path("w"), &at);
        if let Some((_, before)) = BEFORE.iter().find(|(begin, _)| line.starts_with(begin)) {
            // What is not there need not go.
            let _ = shell(&at, before);
        }
        let (code, said) = shell(&at, &here(line));
        // An answer that is bad is an answer: nothing similar, say.
        if !matches!(code, Some(0 | 1)) || said.contains("error:") {
            faults.push(format!("{line}\n  {code:?}: {}", said.lines().last().unwrap_or_default()));
        }
        ran += 1;
        std::fs::remove_dir_all(&at).unwrap();
    }
    assert!(faults.is_empty(), "{} of {ran}:\n{}", faults.len(), faults.join("\n"));
    assert!(ran > 120 && left < 10, "{ran} ran, {left} left out");
});

// ----
// `corpusdb demo` away from any Rust project: the command carries a text.

/// A line of the shell in a folder, with this command in the path.
fn demo_shell(folder: &Path, line: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_corpusdb")).parent().unwrap().to_path_buf();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(program).chain(std::env::split_paths(&path)));
    Command::new("sh")
        .args(["-c", line])
        .current_dir(folder)
        .env("PATH", path.unwrap())
        .output()
        .unwrap()
}

/// Runs the demo in a folder, without a cargo to ask.
fn demo(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_corpusdb"))
        .arg("demo")
        .args(arguments)
        .current_dir(folder)
        .env("CARGO", "/nowhere/cargo")
        .output()
        .unwrap()
}

/// It ended with "could not find `Cargo.toml`", which nobody who has the command alone can mend.
#[test]
fn a_demo_in_an_empty_folder_uses_the_built_in_text() {
    let folder = tempfile::tempdir().unwrap();
    let output = demo(folder.path(), &[]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    for part in [
        "Not on crates here: cannot run /nowhere/cargo",
        "188 kept, 49 exact, 11 near",
        "All of it once more adds nothing: 775 documents.",
        "verified",
        "Done in",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains('\u{fffd}'), "half a character: {told}");
    assert!(told.contains("[-Nici o-]{+Nicio+}"), "where they differ: {told}");
    // One screen.
    assert!(told.lines().count() <= 50, "{told}");
    assert!(folder.path().join("corpusdb-demo/.epoch-0.manifest.json").is_file());
    let script = std::fs::read(folder.path().join("corpusdb-demo/demo.sh")).unwrap();
    assert_eq!(script, std::fs::read(repository("examples/demo/demo.sh")).unwrap());
    // Each command that it shows can be copied as it stands.
    let shown: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("  $ ")).collect();
    assert!(shown.len() >= 12, "{told}");
    for line in shown.iter().rev().take_while(|line| !line.contains("epoch verify")) {
        if !line.contains(" demo ") {
            let copied = demo_shell(&folder.path().join("corpusdb-demo"), line);
            assert!(copied.status.success(), "{line}: {copied:?}");
        }
    }
}

/// Duplicates of given files were named by file and record number alone.
#[test]
fn a_demo_of_given_paths_shows_the_texts_of_duplicates() {
    let folder = tempfile::tempdir().unwrap();
    let mut lines = String::new();
    for number in 0..60_u32 {
        let words: Vec<String> =
            (0..60_u32).map(|at| format!("w{}", (number * 7919 + at * 104_729) % 5003)).collect();
        let text = words.join(" ");
        lines.push_str(&format!("{{\"text\":\"{text}\"}}\n"));
        if number % 6 == 0 {
            lines.push_str(&format!("{{\"text\":\"{text} and one ending more\"}}\n"));
        }
    }
    std::fs::write(folder.path().join("pages.jsonl"), lines).unwrap();
    let output = demo(folder.path(), &["pages.jsonl"]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("{+ and one ending more+}"), "{told}");
    assert!(told.contains("ingest corpus /") && told.contains("--source pages"), "{told}");
}

/// In JSON nobody tells a story: each line is an answer.
#[test]
fn a_demo_in_json_is_the_answers_of_its_commands() {
    let folder = tempfile::tempdir().unwrap();
    let output = demo(folder.path(), &["--json"]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    let answers = json_lines(&told);
    let types: Vec<&str> = answers.iter().filter_map(|answer| answer["type"].as_str()).collect();
    assert_eq!(types.first(), Some(&"init"), "{told}");
    let ingests: Vec<_> = answers.iter().filter(|answer| answer["type"] == "ingest").collect();
    assert_eq!(ingests.len(), 8, "{told}");
    assert!(ingests[4..].iter().all(|again| again["added"] == 0), "{told}");
}

#[test]
fn a_demo_reuses_its_own_directory_and_refuses_others() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("corpusdb-demo");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("mine.txt"), "kept").unwrap();
    let refused = demo(folder.path(), &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--dir"), "{refused:?}");
    std::fs::remove_file(directory.join("mine.txt")).unwrap();
    assert!(demo(folder.path(), &[]).status.success());
    std::fs::write(directory.join("mine.txt"), "kept").unwrap();
    assert!(demo(folder.path(), &[]).status.success());
    assert_eq!(std::fs::read_to_string(directory.join("mine.txt")).unwrap(), "kept");
    // Where no shell is, the script stays to be read.
    let without = command(&["demo"]).current_dir(folder.path()).env("PATH", "").output().unwrap();
    assert_eq!(without.status.code(), Some(2));
    let words = String::from_utf8_lossy(&without.stderr);
    assert!(words.contains("no shell") && words.contains("demo.sh"), "{words}");
}

// The crates of a project that cargo has unpacked: chosen by the script, every other one for the second crawl.
corpusdb_test!(a_demo_in_a_rust_project_works_on_its_crates, |scratch| {
    let home = scratch.path("cargo");
    let registry = home.join("registry/src/index.example-1");
    let mut locked = String::from("[[package]]\nname = \"own\"\nversion = \"0.1.0\"\n");
    let random = &mut Random::new(5);
    for (name, version) in [("base-64", "0.1.0"), ("base-64", "0.2.0"), ("words", "1.0.0+a-b")] {
        locked += &format!(
            "\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"registry+x\"\n"
        );
        let root = registry.join(format!("{name}-{version}"));
        for (file, words) in
            [("src/lib.rs", 300), ("src/a table.rs", 90_000), ("README.md", 80), ("a.json", 9)]
        {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, prose(random, 0, words)).unwrap();
        }
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::write(root.join(".git/hidden.rs"), "hidden").unwrap();
        std::fs::write(root.join("LICENSE-MIT"), "the licence that all of them have, word by word")
            .unwrap();
    }
    let project = scratch.write("project/Cargo.toml", "[package]\nname = \"own\"\n");
    scratch.write("project/Cargo.lock", locked);
    let cargo = scratch.write("bin/cargo", format!("#!/bin/sh\necho '{project}'\n"));
    assert!(demo_shell(&scratch.path("."), &format!("chmod +x '{cargo}'")).status.success());
    let output = command(&["demo"])
        .current_dir(scratch.path("project"))
        .env("CARGO", &cargo)
        .env("CARGO_HOME", &home)
        .output()
        .unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("licences of the crates"), "{told}");
    let recipe = std::fs::read_to_string(scratch.path("project/corpusdb-demo/recipe.toml"));
    assert!(recipe.unwrap().contains("name = \"licenses\""), "{told}");
    let crawl = |number: u32| {
        let root = scratch.path(&format!("project/corpusdb-demo/crawl-{number}"));
        let below = |path: PathBuf| path.strip_prefix(&root).unwrap().display().to_string();
        paths_below(&root).into_iter().map(below).collect::<Vec<_>>()
    };
    let of = |name: &str| {
        [
            format!("code/{name}/src/lib.rs"),
            format!("docs/{name}/README.md"),
            format!("licenses/{name}/LICENSE-MIT"),
        ]
    };
    let mut both = [of("base-64-0.1.0"), of("words-1.0.0+a-b")].concat();
    both.sort();
    assert_eq!((crawl(1), crawl(2)), (both, of("base-64-0.2.0").to_vec()));
});
