//! Every tutorial works: its own blocks are run, in their order, and print what it says that they print.
//!
//! Blocks marked `sh` are run by bash with `-eu` in an empty directory, with the command in the path. Blocks marked
//! `text` say what the block before printed: each of their lines must be a line of it, in that order, where `…` stands
//! for anything and white space for white space. Blocks marked `python` begin with `# needs: PACKAGE, ..` (or
//! `# needs: nothing`), and are left out where Python or one of these packages is not installed.

use crate::support::blocks::{Block, bash, blocks};
use crate::support::{TestDir, repository};
use std::collections::BTreeMap;

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
fn run(name: &str) {
    run_page(&format!("docs/tutorials/{name}"));
}

fn run_page(name: &str) {
    let page = std::fs::read_to_string(repository(name)).unwrap();
    let (script, printed) = program(&page);
    let told = bash(&TestDir::new(), &script, name);
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
    run("first-corpus.md");
}

#[test]
fn crawl_every_month() {
    run("crawl-every-month.md");
}

#[test]
fn year_of_crawl() {
    run("year-of-crawl.md");
}

#[test]
fn mix_and_pack_for_megatron() {
    run("mix-and-pack-for-megatron.md");
}

#[test]
fn chats_for_trl() {
    run("chats-for-trl.md");
}

#[test]
fn tokenizer_for_a_language() {
    run("tokenizer-for-a-language.md");
}

#[test]
fn dedup_on_a_cluster() {
    run("dedup-on-a-cluster.md");
}

/// The commands of the first page are the first that a stranger copies: each works as printed, in an empty folder.
#[test]
fn the_commands_of_the_readme_run() {
    run_page("README.md");
    let lines = std::fs::read_to_string(repository("README.md")).unwrap().lines().count();
    assert!(
        lines <= 150,
        "README.md has {lines} lines: a table of its own goes into docs/reference/"
    );
}

/// A tutorial that no test names would be run by none. The notebook takes a kernel and torch: `make test-integrations`.
#[test]
fn every_tutorial_is_run() {
    let this = include_str!("tutorials.rs");
    for entry in std::fs::read_dir(repository("docs/tutorials")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name == "notebook.ipynb" {
            let commands = std::fs::read_to_string(repository("Makefile")).unwrap();
            assert!(commands.contains("scripts/notebook.py --check"));
            continue;
        }
        assert!(this.contains(&format!("run(\"{name}\")")), "{name}");
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
