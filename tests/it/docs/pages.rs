//! What the documents say is what there is: the command's reference, the table of families, paths, verbs.

use crate::support::{
    WEB_BY_ID, corpusdb, corpusdb_test, crawl, ingest, init, lines, paths_below, repository, sql,
};
use corpusdb::store::table::FAMILIES;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn read(path: &str) -> String {
    std::fs::read_to_string(repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The reference as the command prints it.
fn reference() -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_corpusdb")).arg("reference").output().unwrap();
    assert!(
        output.status.success(),
        "corpusdb reference: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// The verbs of a reference: what its headings name, but for those that only lead to others.
fn verbs(reference: &str) -> BTreeSet<String> {
    let headings = reference.lines().filter(|line| line.starts_with('#'));
    let names: Vec<&str> =
        headings.filter_map(|line| line.split('`').nth(1)?.strip_prefix("corpusdb ")).collect();
    let leads = |name: &str| {
        names.iter().any(|other| other.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')))
    };
    // A second line of its usage: it does something by itself too.
    let works = |name: &str| reference.contains(&format!("\n       corpusdb {name} <COMMAND>\n"));
    let verbs = names.iter().filter(|name| !leads(name) || works(name));
    verbs.map(|name| (*name).to_owned()).collect()
}

/// The rows of the table under the line `head`, without its rule.
fn table<'t>(text: &'t str, head: &str) -> Vec<&'t str> {
    text.lines()
        .skip_while(|line| *line != head)
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .collect()
}

/// The verb that a row of the table of verbs begins with.
fn verb_of(row: &str) -> Option<&str> {
    row.strip_prefix("| `")?.split('`').next()
}

/// Paths of the repository that a document names in backticks or links to from `folder`.
fn named_paths(text: &str, folder: &Path) -> Vec<PathBuf> {
    const ROOTS: [&str; 6] = ["src/", "docs/", "tests/", "benches/", "crates/", "scripts/"];
    let is_path = |part: &&str| {
        ROOTS.iter().any(|root| part.starts_with(root)) && !part.contains(['*', ' ', '<', '{'])
    };
    let quoted = text.split('`').skip(1).step_by(2).filter(is_path).map(PathBuf::from);
    let links =
        text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
    let local = links.filter(|link| !link.contains("://") && !link.starts_with('#'));
    let local = local.map(|link| folder.join(link.split('#').next().unwrap_or(link)));
    quoted.chain(local).collect()
}

#[test]
fn the_reference_is_up_to_date() {
    assert!(
        read("docs/reference/cli.md") == reference(),
        "docs/reference/cli.md is not what `corpusdb reference` prints: run `make docs`"
    );
}

/// Help is folded at 100 columns: a longer example was cut in two, and could not be copied.
#[test]
fn examples_of_the_help_are_whole_lines() {
    let reference = reference();
    let (mut is_example, mut goes_on) = (false, false);
    for line in reference.lines() {
        if is_example && !goes_on && !line.is_empty() && line != "```" {
            let command = line.strip_prefix("  ").unwrap_or_default();
            let is_whole =
                ["corpusdb ", "curl ", "zcat "].iter().any(|word| command.starts_with(word));
            assert!(is_whole, "{line}");
        }
        goes_on = line.ends_with('\\');
        is_example = match line {
            "Example:" | "Examples:" => true,
            "" | "```" => false,
            _ => is_example,
        };
    }
}

#[test]
fn the_table_of_families_is_the_list_of_columns() {
    let text = read("docs/reference/format.md");
    let documented = table(&text, "| name | key | value |");
    let declared: Vec<String> = FAMILIES
        .iter()
        .map(|family| format!("| {} | {} | {} |", family.name, family.key, family.value))
        .collect();
    assert!(
        documented == declared,
        "docs/reference/format.md must have the table\n{}",
        declared.join("\n")
    );
}

fn pages() -> Vec<String> {
    let root = repository("");
    let below = paths_below(&root.join("docs")).into_iter();
    let pages = below.map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
    pages.filter(|path| path.ends_with(".md")).collect()
}

#[test]
fn paths_in_documents_exist() {
    let mut documents = pages();
    documents.extend(["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(str::to_owned));
    let mut checked = 0;
    for document in documents {
        for path in named_paths(&read(&document), Path::new(&document).parent().unwrap()) {
            assert!(
                repository(&path).exists(),
                "{document} names {}, which does not exist",
                path.display()
            );
            checked += 1;
        }
    }
    assert!(checked > 50, "only {checked} paths found");
}

/// What a heading is called in links, as GitHub calls it.
fn anchor(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn links_into_pages_name_a_heading() {
    let mut checked = 0;
    for page in pages() {
        for link in read(&page).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let Some((target, name)) = link.split_once('#').filter(|_| !link.contains("://"))
            else {
                continue;
            };
            let target = match target {
                "" => page.clone(),
                other => {
                    let folder = Path::new(&page).parent().unwrap();
                    folder.join(other).to_str().unwrap().to_owned()
                }
            };
            let text = read(&target);
            let mut headings = text.lines().filter(|line| line.starts_with('#'));
            assert!(headings.any(|heading| anchor(heading) == name), "{page}: {link}");
            checked += 1;
        }
    }
    assert!(checked > 10, "only {checked} links found");
}

/// A stranger sees from the first sentence whether a page is for them, and can read it without scrolling sideways.
#[test]
fn pages_say_who_they_are_for_and_fit_the_screen() {
    for page in pages() {
        let text = read(&page);
        let opening = text.lines().nth(2).unwrap_or_default();
        assert!(opening.starts_with("For "), "{page} must open with who it is for: {opening}");
        for line in text.lines().filter(|line| !line.starts_with('|')) {
            assert!(line.chars().count() <= 120, "{page}: over 120 columns: {line}");
        }
    }
}

/// The words that a row of a table defines, without what tells their meanings apart.
fn defined(row: &str) -> Vec<String> {
    let cell = row.split('|').nth(1).unwrap_or_default();
    let word = |part: &str| part.trim().trim_matches('`').to_lowercase();
    cell.split(',').map(word).filter(|word| !word.is_empty()).collect()
}

#[test]
fn a_word_is_defined_once_and_used() {
    let (glossary, code) = (read("docs/reference/glossary.md"), read("docs/ARCHITECTURE.md"));
    let (_, of_code) = code.split_once("\n## Words\n").unwrap();
    let rows = table(&glossary, "| word | means |");
    let of_code = table(of_code, "| word | means |");
    let mut words: Vec<String> = rows.iter().chain(&of_code).flat_map(|row| defined(row)).collect();
    assert!(words.len() > 90);
    let firsts: Vec<Vec<String>> = rows.iter().map(|row| defined(row)).collect();
    assert!(firsts.is_sorted(), "the glossary is sorted");
    words.sort();
    for pair in words.windows(2) {
        assert_ne!(pair[0], pair[1], "defined twice");
    }
    let others: String = pages()
        .iter()
        .filter(|page| !page.ends_with("glossary.md"))
        .map(|page| read(page).to_lowercase())
        .collect();
    for word in firsts.iter().flatten() {
        let word = word.split(" (").next().unwrap();
        assert!(others.contains(word), "{word} is in no page");
    }
}

#[test]
fn the_page_of_verbs_lists_every_verb() {
    let page = read("docs/reference/verbs.md");
    let listed = table(&page, "| verb | does |").into_iter().filter_map(verb_of);
    let listed: BTreeSet<String> = listed.map(str::to_owned).collect();
    assert_eq!(listed, verbs(&reference()), "docs/reference/verbs.md, then the command");
}

// The table "Stored or kept" of docs/reference/verbs.md, on a corpus that has duplicates, an old version and a removal.
corpusdb_test!(verbs_count_stored_or_kept_documents_as_the_page_says, |scratch, corpus| {
    for seed in [91, 92] {
        let file = scratch.write(&format!("{seed}.jsonl"), lines(&crawl(seed, 60, true)));
        ingest(&corpus, &[&file], &WEB_BY_ID);
    }
    corpusdb(&["remove", &corpus, "0"]).good();
    let info = corpusdb(&["info", &corpus, "--json"]).good().json();
    let [stored, kept] = ["documents", "kept"].map(|key| info[key].as_u64().unwrap());
    assert!(stored > kept + 3 && kept > 3, "{info}");
    let count = |more: &[&str]| -> u64 {
        let ran = corpusdb(&[&["count", &corpus], more].concat()).good();
        ran.stdout.trim().parse().unwrap()
    };
    let sample = |more: &[&str]| {
        let words = ["sample", &corpus, "-n", "1000", "--json"];
        corpusdb(&[&words, more].concat()).good().json_lines().len() as u64
    };
    let export = |more: &[&str]| {
        let words = ["export", &corpus, "--to", "-", "--format", "jsonl"];
        corpusdb(&[&words, more].concat()).good().json_lines().len() as u64
    };
    corpusdb(&["snapshot", "create", &corpus, "now"]).good();
    let all = ["--where", "id >= 0"];
    assert_eq!([count(&[]), count(&all), sample(&all), export(&["--all"])], [stored; 4]);
    assert_eq!([count(&["--where", "kept"]), count(&["--snapshot", "now"])], [kept; 2]);
    assert_eq!([sample(&[]), sample(&["--snapshot", "now"])], [kept; 2]);
    assert_eq!([export(&[]), export(&all), export(&["--snapshot", "now"])], [kept; 3]);
    let stats = corpusdb(&["stats", &corpus, "--json"]).good().json();
    let duplicates = corpusdb(&["duplicates", &corpus, "--list", "--json"]).good().json_lines();
    let near = count(&["--where", "standing IN ('exact', 'near')"]);
    assert_eq!(duplicates.len() as u64, near, "{stats}");
});

/// The TOML blocks of a document.
fn recipes(text: &str) -> Vec<&str> {
    text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn recipes_in_documents_are_recipes() {
    let texts: Vec<String> =
        pages().iter().map(String::as_str).chain(["README.md"]).map(read).collect();
    let found: Vec<&str> = texts.iter().flat_map(|text| recipes(text)).collect();
    assert!(found.len() > 10);
    for recipe in found {
        corpusdb::Recipe::parse(recipe).unwrap_or_else(|error| panic!("{error}:\n{recipe}"));
    }
}

corpusdb_test!(the_page_of_sql_lists_every_function_and_table, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "FIELD:keyword"]);
    scratch.ingest(&corpus, "a.jsonl", lines(&crawl(84, 30, false)), &["--source", "web"]);
    corpusdb(&["tokenizer", "train", &corpus, "NAME", "--vocab-size", "280"]).good();
    let rows = |statement: &str| sql(&corpus, statement);
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for function in rows("SHOW FUNCTIONS") {
        let [name, group] = ["function", "group"].map(|key| function[key].as_str().unwrap());
        groups.entry(group.to_owned()).or_default().push(format!("`{name}`"));
    }
    let mut expected = "| group | functions |\n|---|---|\n".to_owned();
    for (group, names) in groups {
        expected += &format!("| {group} | {} |\n", names.join(", "));
    }
    expected += "\n## Tables\n\nThe answer of `DESCRIBE`; a test compares the two. `FIELD` stands for a declared field, `NAME` for a tokenizer.\n";
    for table in rows("SHOW TABLES") {
        let (name, row) = (table["table"].as_str().unwrap(), table["a row is"].as_str().unwrap());
        expected += &format!(
            "\n### `{name}`\n\nA row is {row}.\n\n| column | type | meaning |\n|---|---|---|\n"
        );
        for column in rows(&format!("DESCRIBE {name}")) {
            let [column, kind, meaning] =
                ["column", "type", "meaning"].map(|key| column[key].as_str().unwrap().to_owned());
            expected += &format!("| `{column}` | {kind} | {meaning} |\n");
        }
    }
    let text = read("docs/reference/sql.md");
    let before = "The functions of `SHOW FUNCTIONS`, by group; a test compares the two.\n\n";
    let (head, documented) = text.split_once(before).unwrap();
    if std::env::var_os("CORPUSDB_WRITE_SQL").is_some() {
        let path = repository("docs/reference/sql.md");
        std::fs::write(path, format!("{head}{before}{expected}")).unwrap();
        return;
    }
    assert!(
        documented.trim() == expected.trim(),
        "docs/reference/sql.md must end in\n{expected}\nand ends in\n{documented}\n(CORPUSDB_WRITE_SQL=1 writes it)"
    );
});

// The table of three-valued logic: what each condition takes of a document with much, little and no quality.
corpusdb_test!(conditions_treat_nulls_as_the_page_says, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "quality:float"]);
    let records = [
        r#"{"text": "The first page of three", "quality": 0.9}"#,
        r#"{"text": "Another one, with little", "quality": 0.1}"#,
        r#"{"text": "And the last has none at all"}"#,
    ];
    ingest(&corpus, &[&scratch.write("a.jsonl", records.join("\n"))], &["--source", "web"]);
    let text = read("docs/reference/sql.md");
    let rows = table(&text, "| condition | quality 0.9 | quality 0.1 | no quality |");
    assert!(rows.len() > 10);
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let condition = cells[0].trim_matches('`');
        let select = format!("SELECT id FROM documents WHERE {condition} ORDER BY id");
        let found = sql(&corpus, &select);
        let found: Vec<u64> = found.iter().map(|row| row["id"].as_u64().unwrap()).collect();
        let expected: Vec<u64> = (0..3).filter(|id| cells[1 + *id as usize] == "taken").collect();
        assert_eq!(found, expected, "{condition}");
        let count = corpusdb(&["count", &corpus, "--where", condition]).good().stdout;
        assert_eq!(count.trim(), expected.len().to_string(), "{condition}");
    }
});

// The picture of the architecture is drawn from its text.
corpusdb_test!(the_picture_is_drawn_from_its_text, |scratch| {
    let text = scratch.write("architecture.txt", read("docs/explanation/architecture.txt"));
    let draw = repository("scripts/draw.py");
    let output = Command::new("python3").arg(draw).arg(&text).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let drawn = std::fs::read_to_string(scratch.path("architecture.svg")).unwrap();
    assert!(
        drawn == read("docs/explanation/architecture.svg"),
        "docs/explanation/architecture.svg is not what its text says: run `make docs`"
    );
});

#[test]
fn charts_are_drawn_from_what_was_measured() {
    for config in ["same", "default"] {
        let measured = repository("docs/explanation/near-dedup.json");
        let mut draw = Command::new("python3");
        draw.arg(repository("scripts/chart.py")).arg("race").arg(measured).args(["code", config]);
        let output = draw.output().unwrap();
        let picture = format!("docs/explanation/near-dedup-{config}.svg");
        assert!(String::from_utf8_lossy(&output.stdout) == read(&picture), "{picture}");
    }
}

#[test]
fn tables_verbs_and_paths_are_read_as_written() {
    assert_eq!(table("x\n| a |\n|---|\n| 1 |\n| 2 |\n\n| 3 |", "| a |"), ["| 1 |", "| 2 |"]);
    let reference = "# Command line\n## `corpusdb`\n### `corpusdb init`\n### `corpusdb epoch`\n#### `corpusdb epoch plan`\n";
    assert_eq!(verbs(reference), BTreeSet::from(["init".to_owned(), "epoch plan".to_owned()]));
    assert_eq!(verb_of("| `epoch plan` | plans |"), Some("epoch plan"));
    let text = "See `crates/store/src/bytes/key.rs`, `src/*.rs`, `cargo x` and [it](CLI.md#top) or [net](https://example.org/a).";
    let expected = [PathBuf::from("crates/store/src/bytes/key.rs"), PathBuf::from("docs/CLI.md")];
    assert_eq!(named_paths(text, Path::new("docs")), expected);
    assert_eq!(recipes("a\n```toml\nx = 1\n```\nb ```text\n```"), ["x = 1\n"]);
}
