//! Stored plans: dropped, waited for, and read row by row from the command.

use crate::support::epochs::{EpochCorpus, SPECIALS};
use crate::support::outputs::rows;
use crate::support::{MEMORY, command, corpusdb, sound};
use corpusdb::Corpus;
use serde_json::Value;
use std::process::Stdio;
use std::time::Duration;

fn recipe(seed: u64, more: &str) -> String {
    format!("seed = {seed}\n{SPECIALS}[pack]\nlength = 96\n{more}")
}

fn planned(place: &EpochCorpus, seed: u64) -> u64 {
    place.recipe("plan", &recipe(seed, ""), &["--json"]).good().json()["number"].as_u64().unwrap()
}

fn listed(place: &EpochCorpus) -> Vec<u64> {
    let ran = corpusdb(&["epoch", "list", &place.corpus, "--json"]).good();
    let number = |line: &Value| line["number"].as_u64().or_else(|| line["plan"].as_u64());
    ran.json_lines().iter().map(|line| number(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

#[test]
fn a_dropped_plan_is_gone_once_and_its_number_with_it() {
    let place = EpochCorpus::holding(60);
    let (one, two) = (planned(&place, 1), planned(&place, 2));
    let out = place.scratch.arg("out");
    place.run("build", &one.to_string(), &["--out", &out]).good();
    place.run("drop", "77", &[]).fails(&["no plan `77`"]);
    let dropped = place.run("drop", &one.to_string(), &["--json"]).good().json();
    assert_eq!((&dropped["type"], &dropped["number"]), (&"plan_dropped".into(), &one.into()));
    assert_eq!(listed(&place), [two]);
    let again = format!("no plan `{one}`");
    place.run("drop", &one.to_string(), &[]).fails(&[&again]);
    place.run("explain", &one.to_string(), &[]).fails(&[&again]);
    place.run("verify", &out, &[]).fails(&["which this corpus does not have"]);
    // What was planned before is planned anew, under another number, and is the same plan.
    let three = planned(&place, 1);
    assert!(three > two, "{three}");
    place.verified("out");
    place.run("drop", &two.to_string(), &[]).good();
    place.run("drop", &three.to_string(), &[]).good();
    assert!(listed(&place).is_empty());
    sound(&place.corpus);
}

#[test]
fn a_plan_that_another_goes_on_from_is_dropped_after_it() {
    let place = EpochCorpus::holding(60);
    let parent = planned(&place, 1).to_string();
    let extend = |from: &str| {
        let ran = place.run("extend", from, &["--consumed", "3", "--json"]).good();
        ran.json()["number"].as_u64().unwrap().to_string()
    };
    let child = extend(&parent);
    let grandchild = extend(&child);
    place.run("drop", &parent, &[]).fails(&[&format!("plan {child} extends plan {parent}")]);
    place.run("drop", &child, &[]).fails(&[&format!("plan {grandchild} extends")]);
    assert_eq!(listed(&place).len(), 3);
    // Refused, nothing of it is gone.
    place.run("explain", &parent, &[]).good();
    for plan in [&grandchild, &child, &parent] {
        place.run("drop", plan, &[]).good();
    }
    assert!(listed(&place).is_empty());
    sound(&place.corpus);
}

/// The second of two builds from recipes failed on the lock, though planning is short.
#[test]
fn builds_from_recipes_wait_for_any_writer() {
    let place = EpochCorpus::holding(60);
    let builds: Vec<_> = (0..2)
        .map(|seed| {
            let name = format!("at-once-{seed}.toml");
            let file = place.scratch.write(&name, format!("version = 1\n{}", recipe(seed, "")));
            (seed, file, place.scratch.arg(&format!("at-once-{seed}")))
        })
        .collect();
    let writer = Corpus::options().memory(MEMORY).threads(1).open_writer(&place.corpus).unwrap();
    let mut children: Vec<_> = builds
        .iter()
        .map(|(_, file, out)| {
            let mut command = command(&["epoch", "build", &place.corpus, file, "--out", out]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    std::thread::sleep(Duration::from_millis(400));
    for child in &mut children {
        assert!(child.try_wait().unwrap().is_none(), "it waits for the writer");
    }
    drop(writer);
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    for (seed, ..) in &builds {
        place.verified(&format!("at-once-{seed}"));
    }
    assert_eq!(listed(&place).len(), 2);
}

/// `snapshot create` failed on the lock of a nightly ingest, where `snapshot drop` waited.
#[test]
fn short_writes_wait_for_another_writer() {
    let place = EpochCorpus::holding(20);
    let corpus = &place.corpus;
    corpusdb(&["snapshot", "create", corpus, "first"]).good();
    corpusdb(&["field", "add", corpus, "stars:int"]).good();
    corpusdb(&["signals", "add", corpus, "word_count"]).good();
    let suite = place.scratch.write("suite.jsonl", "{\"question\":\"How deep is it there?\"}\n");
    corpusdb(&["contamination", "add", corpus, "ours", &suite]).good();
    let writer = Corpus::options().memory(MEMORY).threads(1).open_writer(corpus).unwrap();
    let mut children: Vec<_> = [
        &["snapshot", "create", corpus, "second"][..],
        &["snapshot", "drop", corpus, "first"],
        &["field", "drop", corpus, "stars"],
        &["signals", "drop", corpus, "word_count"],
        &["contamination", "drop", corpus, "ours"],
        &["rejects", "drop", corpus],
    ]
    .iter()
    .map(|arguments| {
        let mut command = command(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().unwrap()
    })
    .collect();
    std::thread::sleep(Duration::from_millis(400));
    for child in &mut children {
        assert!(child.try_wait().unwrap().is_none(), "it waits for the writer");
    }
    drop(writer);
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    sound(corpus);
}

#[test]
fn a_row_that_is_shown_is_the_row_that_is_written() {
    let place = EpochCorpus::holding(60);
    for (at, more) in
        ["", "kind = \"concat\"\n[batch]\nrows = 4\ntail = \"pad\"\n"].iter().enumerate()
    {
        let recipe = recipe(3, &format!("{more}[[source]]\nname = \"web\"\nmax_repeats = 2\n"));
        let number = place.recipe("plan", &recipe, &["--json"]).good().json()["number"].to_string();
        for epoch in ["0", "1"] {
            let out = format!("row-{at}-{epoch}");
            let directory = place.scratch.arg(&out);
            place.run("build", &number, &["--epoch", epoch, "--out", &directory]).good();
            let written = rows(&place.path(&out));
            for row in [0, 1, written.len() / 2, written.len() - 1] {
                let asked = row.to_string();
                let shown = place.run("row", &number, &[&asked, "--epoch", epoch, "--json"]).good();
                let (shown, row) = (shown.json(), &written[row]);
                assert_eq!(shown["row"].to_string(), asked);
                let ids: Vec<i64> = serde_json::from_value(shown["input_ids"].clone()).unwrap();
                assert_eq!(ids, row.ids);
                let segments = shown["segments"].as_array().unwrap();
                let of = |name: &str| -> Vec<i64> {
                    segments.iter().map(|segment| segment[name].as_i64().unwrap()).collect()
                };
                assert_eq!(of("document"), row.documents);
                assert_eq!(of("offset"), row.offsets);
                assert_eq!(of("length"), row.lengths);
                assert_eq!(shown["source"].as_str().unwrap_or_default(), row.source);
                assert!(segments.iter().all(|of| of["key"].as_str().unwrap().starts_with("web-")));
            }
            let past = written.len().to_string();
            let there = past.to_string();
            place.run("row", &number, &[&past, "--epoch", epoch]).fails(&["row", &there]);
            let text = place.run("row", &number, &["0", "--epoch", epoch]).good().stdout;
            assert!(text.starts_with("row 0") && text.contains("source web"), "{text}");
        }
    }
}

/// What a plan draws is pinned: whatever happens to the fields that its recipe names.
#[test]
fn a_plan_stays_the_same_when_fields_change() {
    let place = EpochCorpus::holding(120);
    let field =
        |verb: &str, more: &[&str]| corpusdb(&[&["field", verb, &place.corpus], more].concat());
    field("compute", &["score", "chars % 10"]).good();
    let text = recipe(3, "[select]\nwhere = \"score > 4\"\n");
    let number = place.recipe("plan", &text, &["--json"]).good().json()["number"].as_u64().unwrap();
    let number = number.to_string();
    let built = |out: &str| {
        let directory = place.scratch.arg(out);
        place.run("build", &number, &["--out", &directory]).good();
        place.verified(out);
        let mut files: Vec<_> = std::fs::read_dir(&directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.file_name().unwrap().to_owned(), std::fs::read(&path).unwrap()))
            .collect();
        files.sort();
        files
    };
    let before = built("before");
    let scores: String =
        (0..120).map(|id| format!("{{\"id\":{id},\"score\":{}}}\n", id % 3)).collect();
    let scores = place.scratch.write("scores.jsonl", scores);
    field("set", &["--from", &scores, "--on", "id", "--columns", "score"]).good();
    assert!(built("set") == before);
    field("drop", &["score"]).fails(&["recipes of plans 1 use field `score`", "--force"]);
    let dropped = field("drop", &["score", "--force", "--json"]).good().json();
    assert_eq!(dropped["plans"][0]["plan"], 1);
    assert!(dropped["plans"][0]["snapshot"].is_string());
    assert!(built("dropped") == before);
    place.recipe("plan", &recipe(4, "[select]\nwhere = \"score > 4\"\n"), &[]).fails(&["`score`"]);
    place.run("extend", &number, &["--consumed", "1"]).fails(&["`score`"]);
    sound(&place.corpus);
}
