//! Every example that a verb's help has is run as it is printed, each in a copy of one small world.
//!
//! What a line names must be there before it is run: the world has it, or a line of [`BEFORE`] makes it. Absolute places
//! (`/backups`) are folders of the copy. Lines that go to a store of the net are left out, and counted.

use crate::support::{Page, Random, Scratch, command, copy, corpusdb, lines, prose, tokenizer_of_chats};
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// What must be so before a line that begins with the first is run: lines of a shell.
const BEFORE: &[(&str, &str)] = &[
    ("corpusdb init ", "rm -rf crawl repos stack"),
    ("corpusdb ingest other ", "corpusdb init other && corpusdb export crawl --to kept.jsonl.zst"),
    ("corpusdb ingest crawl notes/", "mkdir -p notes && cp page.txt notes"),
    ("corpusdb bulk-load", "false"),
    ("corpusdb snapshot create", "corpusdb snapshot drop crawl june"),
    ("corpusdb snapshot drop", "corpusdb snapshot rename crawl june 2025-06"),
    ("corpusdb restore crawl", "corpusdb remove crawl 17"),
    ("corpusdb purge crawl --prove", "corpusdb purge crawl 17"),
    ("corpusdb purge crawl --where", "corpusdb remove crawl 17"),
    ("corpusdb backup create", "true"),
    ("corpusdb backup ", "corpusdb backup create crawl BACKUPS/crawl"),
    ("corpusdb epoch verify", "corpusdb epoch build crawl 1 --out epoch-0"),
    ("corpusdb contamination add", "corpusdb contamination drop crawl gsm8k"),
    ("corpusdb completions", "mkdir -p .local/share/bash-completion/completions"),
];

/// Lines that need what no test has, each with the reason.
const LEFT: &[(&str, &str)] = &[
    ("s3://", "a store of the net"),
    ("corpusdb bulk-load", "a load that Spark wrote: python/tests/spark makes one"),
];

/// The examples of the reference, lines that go on joined.
fn examples() -> Vec<String> {
    let output = command(&["reference"]).output().unwrap();
    let reference = String::from_utf8(output.stdout).unwrap();
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
    let path = format!("{}:{}:{}", program.display(), stubs.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(at).env("PATH", path).env("HOME", at).stdin(std::process::Stdio::null());
    let output = shell.output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code(), said)
}

fn must(at: &Path, line: &str) {
    let (code, said) = shell(at, line);
    assert_eq!(code, Some(0), "{line}\n{said}");
}

/// Everything that an example names: files, corpora, what is in them.
fn world(scratch: &Scratch) {
    let mut random = Random::new(11);
    let word = |at: usize| ["en", "de", "fr"][at % 3];
    let mut pages: Vec<Page> = (0..80)
        .map(|at| {
            let fields = json!({
                "lang": word(at), "date": format!("2025-0{}-11", 1 + at % 9), "quality": at as f64 / 80.0,
                "scores": {"edu": at % 5}, "url": format!("https://example.org/{at}"),
                "published": format!("2025-0{}-11T10:00:00Z", 1 + at % 9),
            });
            Page { fields, ..Page::keyed(format!("page-{at}"), prose(&mut random, at % 3, 60)) }
        })
        .collect();
    pages[3].id = Some("https://example.org/page".to_owned());
    pages[4].id = Some("2024".to_owned());
    let again = pages[5].text.clone() + " and a little more";
    pages.push(Page::keyed("again", again));
    let text = &pages[5].text;
    scratch.write("w/page.txt", text);
    scratch.write("w/pages.jsonl", lines(&pages));
    scratch.write("w/sentences.txt", "One sentence of some words.\nAnother sentence of other words.\n");
    scratch.write("w/reviews.csv", format!("review,stars\n\"{text}\",5\n"));
    scratch.write("w/tokenizer.json", tokenizer_of_chats(3));
    scratch.write("w/recipe.toml", "seed = 1\n[pack]\nlength = 64\n[[source]]\nname = \"web\"\n");
    scratch.write("stubs/jq", "#!/bin/sh\ncat\n");
    scratch.write("stubs/curl", format!("#!/bin/sh\necho '{}'\n", text.replace('\'', " ")));
    let at = scratch.path("w");
    must(&at, "chmod +x ../stubs/*; gzip -c < pages.jsonl > old.gz; cp pages.jsonl new.jsonl");
    must(&at, "corpusdb init crawl --field url:keyword --field quality:float --field published:timestamp");
    must(&at, "corpusdb ingest crawl pages.jsonl --source web --id-field id --map language=lang && corpusdb snapshot create crawl june");
}

#[test]
#[ignore = "the world is filled as verbs become rows"]
fn every_example_of_the_help_works_as_it_is_printed() {
    let scratch = Scratch::new();
    world(&scratch);
    let (mut ran, mut left, mut faults) = (0, 0, Vec::new());
    for (number, line) in examples().iter().enumerate() {
        if LEFT.iter().any(|(part, _)| line.contains(part)) {
            left += 1;
            continue;
        }
        let at = scratch.path(&format!("run-{number}"));
        copy(&scratch.path("w"), &at);
        let here = |line: &str| {
            line.replace("/backups/", "backups/").replace("BACKUPS", "backups").replace("/data/", "data/").replace("/tmp/", "")
        };
        if let Some((_, before)) = BEFORE.iter().find(|(begin, _)| line.starts_with(begin)) {
            must(&at, &here(before));
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
    assert!(ran > 100 && left < 10, "{ran} ran, {left} left out");
    let _ = corpusdb(&["--version"]);
}
