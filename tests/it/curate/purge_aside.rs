//! Purges of what a document has beside its text: joined values, trained spans, copies that dry runs made.

use crate::support::epochs::{EpochCorpus, SPECIALS};
use crate::support::purges::{KEY, Story, count, having};
use crate::support::{
    CHATML, TestDir, command, corpusdb, corpusdb_reading, digest, ingest, init, numbers, sound,
    sql, tokenizer_of_chats,
};
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::Duration;

#[test]
fn purges_erase_joined_and_computed_values() {
    let story = Story::new();
    let corpus = &story.corpus;
    for field in ["rating:float", "verdict:keyword"] {
        corpusdb(&["field", "add", corpus, field]).good();
    }
    let verdict = "only-the-victim-was-judged-like-this-77";
    let values: String = story
        .pages
        .iter()
        .enumerate()
        .map(|(at, page)| {
            let told = if page.id.as_deref() == Some(KEY) { verdict } else { "well" };
            format!("{}\n", json!({ "id": page.id, "rating": at as f64 / 4.0, "verdict": told }))
        })
        .collect();
    let file = story.scratch.write("values.jsonl", values);
    for field in ["rating", "verdict"] {
        let from = ["--from", &file, "--key", "id", "--value", field];
        corpusdb(&[&["field", "set", corpus, field][..], &from].concat()).good();
    }
    corpusdb(&["field", "add", corpus, "opening:keyword"]).good();
    corpusdb(&["field", "compute", corpus, "opening", "substr(text, 1, 24)"]).good();
    let opening = &story.secret.as_bytes()[..24];
    corpusdb(&["compact", corpus]).good();
    let needles = [verdict.as_bytes(), opening];
    assert!(
        needles.iter().any(|needle| !having(corpus, needle).is_empty()),
        "it is found while it is there"
    );
    let values = "SELECT key, rating, verdict, opening FROM documents WHERE kept AND key <> '";
    let others = || sql(corpus, &format!("{values}{KEY}' ORDER BY id"));
    let before = others();
    assert!(before.len() > 20 && before.iter().all(|row| row["verdict"] == "well"));
    story.purge(&[]);
    for needle in needles {
        assert_eq!(having(corpus, needle), [""; 0], "{}", String::from_utf8_lossy(needle));
    }
    assert_eq!(story.proof()["clean"], json!(true));
    assert_eq!(others(), before);
    let any = "rating IS NOT NULL OR verdict IS NOT NULL OR opening IS NOT NULL";
    assert_eq!(count(corpus, &format!("standing = 'purged' AND ({any})")), 0);
    sound(corpus);
}

#[test]
fn a_purged_conversation_leaves_no_trained_span() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let tokenizer = scratch.write("own.json", tokenizer_of_chats(2));
    corpusdb(&["tokenizer", "add", &corpus, "own", &tokenizer]).good();
    let template = scratch.write("chatml.jinja", CHATML);
    let chats: String = (0..9)
        .map(|n| {
            let asked = format!("question {n} asks {} {}", n * 7919, n * 104_729);
            let answered = format!("answer {n} tells {} and {}", n * 15_485, n * 32_452);
            let messages = json!([
                {"role": "user", "content": asked}, {"role": "assistant", "content": answered}]);
            format!("{}\n", json!({ "id": format!("chat-{n}"), "messages": messages }))
        })
        .collect();
    let chat = ["--chat", "auto", "--chat-template", &template, "--id-field", "id"];
    let asked = [&["ingest", &corpus, "-", "--source", "chats"][..], &chat].concat();
    corpusdb_reading(&asked, chats.as_bytes()).good();
    let trained = |id: u64| -> Vec<Value> {
        let id = id.to_string();
        let shown = corpusdb(&["show", &corpus, &id, "--tokens", "--json"]).good().json();
        shown["tokens"].as_array().unwrap().clone()
    };
    let before: Vec<Vec<Value>> = (0..9).map(trained).collect();
    assert!(before[4].iter().any(|token| token["trained"] == true));
    let proof = scratch.arg("proof.json");
    let told = corpusdb(&["purge", &corpus, "chat-4", "--prove", &proof, "--json"]).good().json();
    assert_eq!(numbers(&told, ["purged"]), [1]);
    for words in ["question 4 asks", "answer 4 tells", "chat-4"] {
        assert_eq!(having(&corpus, words.as_bytes()), [""; 0], "{words}");
    }
    for id in (0..9).filter(|id| *id != 4) {
        assert_eq!(trained(id), before[id as usize], "{id}");
    }
    corpusdb(&["show", &corpus, "4", "--tokens"]).fails(&["4"]);
    sound(&corpus);
    // What comes again of it is passed over, and the others are as they were.
    let held = digest(&corpus);
    let told =
        corpusdb_reading(&[&asked[..], &["--json"]].concat(), chats.as_bytes()).good().json();
    assert_eq!(numbers(&told, ["added", "purged", "unchanged"]), [0, 1, 8], "{told}");
    assert_eq!(digest(&corpus), held);
}

#[test]
fn purge_trials_change_nothing_and_their_copies_are_removed() {
    let story = Story::new();
    let corpus = &story.corpus;
    let needles = story.needles(true);
    let before = digest(corpus);
    let tried = corpusdb(&["purge", corpus, KEY, "--dry-run", "--json"]).good().json();
    assert_eq!(numbers(&tried, ["selected", "purged"]), [2, 2], "{tried}");
    assert_eq!((digest(corpus), count(corpus, "standing = 'purged'")), (before, 0));
    // Trials that are killed leave their copies, which share the tables' files.
    let mut left = 0;
    for pause in [20, 60, 120, 200, 300, 450] {
        let words = ["dedup", "redo", corpus, "--threshold", "0.9", "--dry-run"];
        let quiet = || Stdio::null();
        let mut child = command(&words).stdout(quiet()).stderr(quiet()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(pause));
        child.kill().unwrap();
        child.wait().unwrap();
        let entries = std::fs::read_dir(corpus).unwrap();
        left += entries.filter(|entry| name(entry).contains("dry-run")).count();
    }
    assert!(left > 0, "no trial was killed while it had its copy");
    let told = story.purge(&[]);
    assert_eq!(numbers(&told, ["purged"]), [2]);
    for needle in &needles {
        assert_eq!(having(corpus, needle), [""; 0], "{}", String::from_utf8_lossy(needle));
    }
    assert_eq!(story.proof()["clean"], json!(true));
    sound(corpus);
}

fn name(entry: &std::io::Result<std::fs::DirEntry>) -> String {
    entry.as_ref().unwrap().file_name().to_string_lossy().into_owned()
}

/// What a purge commits grows with what is purged, not with what is stored.
#[test]
fn a_corpus_of_twice_the_size_takes_as_many_commits() {
    let commits = |stored: usize| {
        let scratch = TestDir::new();
        let corpus = scratch.arg("corpus");
        init(&corpus, &[]);
        let lines: String = (0..stored)
            .map(|n| {
                format!("{}\n", json!({ "id": n, "text": format!("page {n} says {}", n * 7919) }))
            })
            .collect();
        let file = scratch.write("pages.jsonl", lines);
        ingest(&corpus, &[&file], &["--source", "web", "--id-field", "id"]);
        let told = corpusdb(&["purge", &corpus, "--where", "id < 40", "--json"]).good().json();
        assert_eq!(numbers(&told, ["purged"]), [40]);
        numbers(&told, ["commits", "texts_rewritten", "dictionaries"])
    };
    assert_eq!(commits(400), commits(800));
}

/// An expression, a recipe and a training condition had the key for ever, and the certificate was never clean.
#[test]
fn stored_expressions_that_quote_a_key_are_redacted() {
    let place = EpochCorpus::holding(60);
    let corpus = &place.corpus;
    // The second key is too short for a run that is told from chance.
    for victim in ["books-12", "web-7"] {
        let condition = format!("key <> '{victim}'");
        let name = victim.replace('-', "_");
        corpusdb(&["field", "compute", corpus, &format!("not_{name}"), &condition]).good();
        let train = ["tokenizer", "train", corpus, &name, "--vocab-size", "500"];
        corpusdb(&[&train[..], &["--where", &condition]].concat()).good();
        let select = format!("[select]\nwhere = \"{condition}\"\n");
        let recipe = format!("seed = 3\n{SPECIALS}name = \"own\"\n[pack]\nlength = 96\n{select}");
        let number = place.recipe("plan", &recipe, &["--json"]).good().json()["number"].to_string();
        corpusdb(&["purge", corpus, victim]).fails(&[
            &format!("the expression of field `not_{name}` quotes one"),
            &format!("the recipe of plan {number} quotes one"),
            &format!("the record of how tokenizer `{name}` was made quotes one"),
            "--force",
        ]);
        assert_eq!(count(corpus, &condition.replace("<>", "=")), 1);

        let proof = place.scratch.arg("proof.json");
        let purge = ["purge", corpus, victim, "--force", "--prove", &proof, "--json"];
        let report = corpusdb(&purge).good().json();
        assert_eq!((&report["redacted"], &report["proof"]["clean"]), (&json!(3), &json!(true)));
        assert_eq!(having(corpus, format!("'{victim}'").as_bytes()), [""; 0]);
        let out = place.scratch.arg("never");
        place
            .run("build", &number, &["--out", &out])
            .fails(&["the recipe of the plan quoted a purged document"]);
        let fields = corpusdb(&["field", "list", corpus, "--json"]).good().stdout;
        assert!(fields.contains("(quoted what was purged)"), "{fields}");
    }
    sound(corpus);
}

#[test]
fn certificates_name_files_of_documents_without_a_key() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let keyless = "{\"text\":\"joan wrote this down for nobody else to read\"}\n";
    let notes = scratch.write("notes-of-joan.jsonl", keyless);
    ingest(&corpus, &[&notes], &["--source", "notes"]);
    let keyed =
        "{\"id\":\"printed-page-77\",\"text\":\"and this is what she printed and gave away\"}\n";
    let pages = scratch.write("pages.jsonl", keyed);
    ingest(&corpus, &[&pages], &["--source", "web", "--id-field", "id"]);
    let proof = scratch.arg("proof.json");
    corpusdb(&["purge", &corpus, "0", "1", "--prove", &proof]).good();
    let proof: Value = serde_json::from_slice(&std::fs::read(&proof).unwrap()).unwrap();
    assert_eq!((&proof["clean"], &proof["kept_paths"]), (&json!(true), &json!(1)));
    assert_eq!(proof["paths"], json!([notes]));
}
