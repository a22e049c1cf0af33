//! Removals on record, and purges: what is erased is in no file any more, and all else is as it was.

use crate::support::epochs::{EpochCorpus, SPECIALS, same_files};
use crate::support::scenarios::{KEY, Story, VALUE, count, having};
use crate::support::{
    CHATML, Page, Random, TestDir, WEB_BY_ID, assert_has, command, corpusdb, corpusdb_reading,
    corpusdb_test, digest, ingest, init, kill, lines, numbers, seeds, silent, sound, sql,
    tokenizer_of_chats,
};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

corpusdb_test!(removals_record_reason_condition_time_and_documents, |scratch, corpus| {
    let pages: Vec<Page> = (0..6)
        .map(|n| {
            Page::keyed(format!("page-{n}"), format!("page {n} says {} and no more", n * 7919))
        })
        .collect();
    scratch.ingest(&corpus, "pages.jsonl", lines(&pages), &WEB_BY_ID);
    let before = digest(&corpus);
    let why = ["--reason", "asked for by its author"];
    corpusdb(&[&["remove", &corpus, "page-1"][..], &why].concat()).good();
    let condition = "key IN ('page-2', 'page-4')";
    corpusdb(&["remove", &corpus, "--where", condition]).good();
    corpusdb(&["restore", &corpus, "2"]).good();
    let rows = sql(
        &corpus,
        "SELECT r.id, r.kind, r.reason, r.condition, r.time IS NOT NULL AS timed, d.key FROM removals r JOIN documents d ON d.id = r.id ORDER BY r.commit, r.id",
    );
    let told: Vec<Value> = rows
        .iter()
        .map(|row| json!([row["id"], row["kind"], row["reason"], row["condition"], row["timed"]]))
        .collect();
    assert_eq!(
        told,
        [
            json!([1, "remove", "asked for by its author", null, true]),
            json!([2, "remove", null, condition, true]),
            json!([4, "remove", null, condition, true]),
            json!([2, "restore", null, null, false]),
        ]
    );
    let commits = sql(
        &corpus,
        "SELECT changed, reason FROM commits WHERE kind = 'remove' AND time > '2020-01-01' ORDER BY commit",
    );
    assert_eq!(commits[0], json!({ "changed": 1, "reason": "asked for by its author" }));
    assert_eq!(commits[1]["changed"], 2);
    // When it was done is in no digest: taken back, the corpus is what it was.
    corpusdb(&["restore", &corpus, "1", "4"]).good();
    assert_eq!(digest(&corpus), before);
    sound(&corpus);
});

corpusdb_test!(purged_texts_are_in_no_file_and_are_blocked, Story::new(), |story| {
    let corpus = &story.corpus;
    // Removed before: a purge takes what is removed already likewise.
    corpusdb(&["remove", corpus, "9"]).good();
    let needles = story.needles(true);
    corpusdb(&["compact", corpus]).good();
    let found = needles.iter().filter(|needle| !having(corpus, needle).is_empty()).count();
    assert!(found >= 5, "what is searched for is found while it is there: {found}");
    let told = story.purge(&[]);
    let shown = numbers(&told, ["selected", "purged", "removed", "rejects"]);
    assert_eq!(shown, [2, 2, 1, 1], "{told}");
    for needle in &needles {
        assert_eq!(having(corpus, needle), [""; 0], "{}", String::from_utf8_lossy(needle));
    }
    for words in ["secret of nobody else", "older secret it was", VALUE, "victim.example"] {
        let like =
            format!("text LIKE '%{words}%' OR meta LIKE '%{words}%' OR key LIKE '%{words}%'");
        assert_eq!(count(corpus, &like), 0, "{words}");
        assert_eq!(
            sql(corpus, &format!("SELECT path FROM rejects WHERE raw LIKE '%{words}%'")).len(),
            0
        );
    }
    sound(corpus);
    let purged = sql(
        corpus,
        "SELECT id, bytes, text, meta FROM documents WHERE standing = 'purged' ORDER BY id",
    );
    assert_eq!(purged.len(), 2);
    assert_has(&purged[0], &json!({ "bytes": 0, "text": "", "meta": "{}" }));
    // The certificate says what, why, and where was searched.
    let proof = story.proof();
    assert_has(&proof, &json!({ "clean": true, "found": 0, "purged": 2 }));
    assert!(proof["runs"].as_u64().unwrap() > 30, "{proof}");
    assert_eq!(proof["digest"], json!(digest(corpus)));
    assert_eq!(proof["documents"][1]["reason"], "request 7");
    let hash = blake3::hash(story.secret.as_bytes()).to_hex();
    assert_eq!(proof["documents"][1]["text_hash"], json!(hash[..32]));
    let searched = proof["files"].as_array().unwrap();
    assert!(searched.iter().any(|file| file["path"] == "journal") && searched.len() > 20);
    // The next crawl brings it no more: neither the text nor anything under the key.
    let again =
        lines(&[story.twin(), Page::keyed(KEY, "something new under the key that was purged")]);
    let told = story.pour("again.jsonl", &again, "web");
    assert_eq!(numbers(&told, ["read", "added", "purged"]), [2, 0, 2], "{told}");
    let told = story.pour("first.jsonl", &lines(&story.pages), "web");
    assert_eq!(numbers(&told, ["added", "purged", "unchanged"]), [0, 1, 30], "{told}");
    // Asked again, there is nothing to do; nothing of it can be taken back.
    assert_eq!(numbers(&story.purge(&[]), ["purged"]), [0]);
    corpusdb(&["restore", corpus, "9"]).fails(&["1 of these documents were purged"]);
    // Nothing is written into a purged document.
    corpusdb(&["field", "compute", corpus, "letters", "char_length(text)"]).good();
    assert_eq!(count(corpus, "standing = 'purged' AND letters IS NOT NULL"), 0);
    corpusdb(&["dedup", "redo", corpus, "--threshold", "0.9"]).good();
    sound(corpus);
});

corpusdb_test!(a_text_that_others_have_too_stays_theirs, Story::new(), |story| {
    let corpus = &story.corpus;
    story.pour("twins.jsonl", &lines(&[story.twin()]), "more");
    let shouted = Page::keyed("shouted", story.secret.to_uppercase());
    story.pour("shouted.jsonl", &lines(&[shouted]), "more");
    let twin =
        sql(corpus, "SELECT id FROM documents WHERE key = 'twin-of-it'")[0]["id"].as_u64().unwrap();
    let needles = story.needles(false);
    let told = story.purge(&[]);
    assert_eq!(numbers(&told, ["purged", "moved_texts", "blocked"]), [2, 1, 1], "{told}");
    for needle in &needles {
        assert_eq!(having(corpus, needle), [""; 0], "{}", String::from_utf8_lossy(needle));
    }
    let shown = corpusdb(&["show", corpus, &twin.to_string(), "--json"]).good().json();
    assert_eq!((&shown["text"], &shown["standing"]), (&json!(story.secret), &json!("blocked")));
    assert_eq!(count(corpus, &format!("text LIKE '%{}%'", &story.older[..20])), 0);
    let proof = story.proof();
    assert_eq!(proof["clean"], json!(true), "{proof}");
    assert!(proof["shared_runs"].as_u64().unwrap() > 0);
    assert_eq!(proof["shared"][0]["with"], json!(twin));
    sound(corpus);
    // With the last one that has it, it goes.
    corpusdb(&["purge", corpus, "twin-of-it", "--prove", &story.scratch.arg("proof.json")]).good();
    assert_eq!(count(corpus, "text LIKE '%secret of nobody else%'"), 0);
    sound(corpus);
});

corpusdb_test!(purges_from_snapshots_and_plans_need_force, EpochCorpus::holding(60), |place| {
    let corpus = &place.corpus;
    let recipe = |seed: u64| format!("seed = {seed}\n{SPECIALS}[pack]\nlength = 96\n");
    let kept = sql(corpus, "SELECT id FROM documents WHERE kept AND bytes > 40 ORDER BY id");
    let victim = kept[3]["id"].as_u64().unwrap().to_string();
    let without = format!("{}[select]\nwhere = \"id <> {victim}\"\n", recipe(3));
    place.recipe("plan", &without, &["--json"]).good();
    let number = place.recipe("plan", &recipe(2), &["--json"]).good().json()["number"].to_string();
    let before = place.build(&without, "before", &[]);
    corpusdb(&["purge", corpus, &victim])
        .fails(&["plan", "draws 1", "snapshot", "keeps 1", "--force"]);
    assert_eq!(count(corpus, "standing = 'purged'"), 0);
    corpusdb(&["purge", corpus, &victim, "--force"]).good();
    let out = place.scratch.arg("never");
    place.run("build", &number, &["--out", &out]).fails(&["draws 1 documents that were purged"]);
    let snapshots = sql(corpus, "SELECT kept, purged FROM snapshots");
    assert_eq!(snapshots.iter().map(|row| row["purged"].as_u64().unwrap()).max(), Some(1));
    // The plan that never had it gives the same bytes.
    let first = sql(corpus, "SELECT number FROM epochs ORDER BY number")[0]["number"].to_string();
    let after = place.scratch.path("after");
    place.run("build", &first, &["--out", after.to_str().unwrap()]).good();
    same_files(&before, &after);
    sound(corpus);
});

corpusdb_test!(plans_warn_of_refuse_or_drop_removed_documents, EpochCorpus::holding(60), |place| {
    let corpus = &place.corpus;
    corpusdb(&["snapshot", "create", corpus, "then"]).good();
    let kept = sql(corpus, "SELECT id FROM documents WHERE kept AND bytes > 40 ORDER BY id");
    corpusdb(&["remove", corpus, &kept[3]["id"].to_string()]).good();
    let recipe = |more: &str| {
        format!("snapshot = \"then\"\nseed = 4\n{SPECIALS}[pack]\nlength = 96\n{more}")
    };
    place
        .recipe("plan", &recipe(""), &["--strict"])
        .fails(&["draws 1 documents", "exclude_removed"]);
    assert_eq!(sql(corpus, "SELECT number FROM epochs").len(), 0);
    let warned = place.recipe("plan", &recipe(""), &[]).good();
    assert!(
        warned.stderr.contains("draws 1 documents that were removed since snapshot `then`"),
        "{warned}"
    );
    let without = recipe("[select]\nexclude_removed = true\n");
    let ran = place.recipe("plan", &without, &["--strict"]).good();
    assert!(!ran.stderr.contains("were removed"), "{ran}");
    // Asked for or not, it is in the plan's hash only where it is asked for.
    let plans = sql(corpus, "SELECT plan FROM epochs ORDER BY number");
    let has = |at: usize| plans[at]["plan"].as_str().unwrap().contains("exclude_removed");
    assert_eq!((has(0), has(1)), (false, true));
});

#[test]
fn a_purge_that_is_killed_is_finished_by_the_next_one() {
    let mut random = Random::new(3);
    for round in 0..seeds(4) {
        let story = Story::new();
        let corpus = &story.corpus;
        let needles = story.needles(true);
        let mut child = command(&["purge", corpus, KEY])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(random.below(400) as u64));
        kill(&mut child);
        sound(corpus);
        let proof = story.scratch.arg("proof.json");
        // The key may be gone: whoever asks with it again is answered all the same.
        corpusdb(&["purge", corpus, KEY, "--prove", &proof]).good();
        for needle in &needles {
            assert_eq!(having(corpus, needle), [""; 0], "round {round}");
        }
        assert_eq!(count(corpus, "standing = 'purged'"), 2, "round {round}");
        assert_eq!(story.proof()["clean"], json!(true));
        sound(corpus);
    }
}

#[test]
fn rejected_records_go_that_quote_in_any_spelling() {
    use base64::Engine;
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let text = "Иван said \"no\" and left; nobody knew why / or where to, 100% sure";
    let key = "https://a.example/page/17?of=me";
    let pages = [Page::keyed(key, text), Page::keyed("other", "words that nobody asked to erase")];
    scratch.ingest(&corpus, "pages.jsonl", lines(&pages), &WEB_BY_ID);
    let ascii: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    let percent: String = key.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let encoded = base64::engine::general_purpose::STANDARD.encode(text);
    // None has a text where it is looked for.
    let records = [
        json!({ "remark": text }).to_string(),
        format!(r#"{{"remark": "{ascii}"}}"#),
        json!({ "remark": json!({ "inner": text }).to_string() }).to_string(),
        json!({ "remark": format!("data:;base64,{encoded}") }).to_string(),
        json!({ "link": format!("https://b.example/?to={percent}") }).to_string(),
        format!(r#"{{"remark": "cut, and csv: ""{}"""#, text.replace('"', "\"\"")),
        json!({ "remark": "what nobody asked to erase" }).to_string(),
    ];
    let bad = scratch.write("bad.jsonl", records.join("\n") + "\n");
    let ran = corpusdb(&["ingest", &corpus, &bad, "--source", "bad", "--text-field", "text"]);
    assert_eq!(ran.code, Some(1), "{ran}");
    let listed = |corpus: &str| corpusdb(&["rejects", corpus, "--json"]).good().json_lines();
    assert_eq!(listed(&corpus).len(), records.len());
    let proof = scratch.arg("proof.json");
    let told = corpusdb(&["purge", &corpus, key, "--prove", &proof, "--json"]).good().json();
    assert_eq!(numbers(&told, ["purged", "rejects"]), [1, records.len() as u64 - 1], "{told}");
    let left = listed(&corpus);
    assert_eq!(left.len(), 1);
    assert!(left[0].to_string().contains("what nobody asked to erase"), "{left:?}");
    let proof: Value = serde_json::from_slice(&std::fs::read(&proof).unwrap()).unwrap();
    assert_eq!(proof["clean"], true);
    assert_eq!(proof["decodings"], json!(["as it is", "JSON", "CSV", "percent", "base64"]));
    // Who brings such a record later is told what deletes it.
    let late = scratch.write("late.jsonl", records[0].clone() + "\n");
    corpusdb(&["ingest", &corpus, &late, "--source", "late", "--text-field", "text"]);
    let proof = scratch.arg("late.json");
    let ran = corpusdb(&["purge", &corpus, "--prove", &proof]);
    assert_eq!(ran.code, Some(1), "{ran}");
    ran.prints(&["`corpusdb rejects --drop` mends what holds some of these"]);
    corpusdb(&["rejects", &corpus, "--drop", "--source", "late"]).good();
    corpusdb(&["purge", &corpus, "--prove", &proof]).good().prints(&["no trace of them is left"]);
    sound(&corpus);
}

corpusdb_test!(a_dry_run_under_way_refuses_the_certificate, |scratch, corpus| {
    let path = scratch.write("pages.jsonl", lines(&[Page::keyed("a", "words of one document")]));
    ingest(&corpus, &[&path], &WEB_BY_ID);
    let twin = corpusdb::store::DryRunCorpus::make(Path::new(&corpus)).unwrap();
    let proof = scratch.arg("proof.json");
    let told = corpusdb(&["purge", &corpus, "a", "--prove", &proof, "--json"]);
    assert_eq!((told.code, &told.json()["proof"]["clean"]), (Some(1), &json!(false)), "{told}");
    let found: Value = serde_json::from_slice(&std::fs::read(&proof).unwrap()).unwrap();
    let name = twin.path().file_name().unwrap().to_str().unwrap();
    assert_eq!(found["twins"], json!([name]));
    drop(twin);
    let told = corpusdb(&["purge", &corpus, "--prove", &proof, "--json"]).good().json();
    assert_eq!(told["proof"]["clean"], true, "{told}");
});

// ----
// Purges of what a document has beside its text: joined values, trained spans, copies that dry runs made.

corpusdb_test!(purges_erase_joined_and_computed_values, Story::new(), |story| {
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
});

corpusdb_test!(a_purged_conversation_leaves_no_trained_span, |scratch, corpus| {
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
});

corpusdb_test!(purge_trials_change_nothing_and_their_copies_are_removed, Story::new(), |story| {
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
        let mut child = silent(&words);
        std::thread::sleep(Duration::from_millis(pause));
        kill(&mut child);
        let entries = std::fs::read_dir(corpus).unwrap();
        left += entries.filter(|entry| name(entry).contains("dry-run")).count();
    }
    assert!(left > 0, "no trial was killed while it had its copy");
    assert_eq!(numbers(&story.purge(&[]), ["purged"]), [2]);
    for needle in &needles {
        assert_eq!(having(corpus, needle), [""; 0], "{}", String::from_utf8_lossy(needle));
    }
    assert_eq!(story.proof()["clean"], json!(true));
    sound(corpus);
});

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
        scratch.ingest(&corpus, "pages.jsonl", lines, &WEB_BY_ID);
        let told = corpusdb(&["purge", &corpus, "--where", "id < 40", "--json"]).good().json();
        assert_eq!(numbers(&told, ["purged"]), [40]);
        numbers(&told, ["commits"])
    };
    assert_eq!(commits(400), commits(800));
}

// An expression, a recipe and a training condition had the key for ever, and the certificate was never clean.
corpusdb_test!(stored_expressions_with_a_key_are_redacted, EpochCorpus::holding(60), |place| {
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
        corpusdb(&["field", "show", corpus, "--json"]).good().prints(&["(quoted what was purged)"]);
    }
    sound(corpus);
});

corpusdb_test!(certificates_name_files_of_documents_without_a_key, |scratch, corpus| {
    let keyless = "{\"text\":\"joan wrote this down for nobody else to read\"}\n";
    let notes = scratch.write("notes-of-joan.jsonl", keyless);
    ingest(&corpus, &[&notes], &["--source", "notes"]);
    let keyed =
        "{\"id\":\"printed-page-77\",\"text\":\"and this is what she printed and gave away\"}\n";
    scratch.ingest(&corpus, "pages.jsonl", keyed, &WEB_BY_ID);
    let proof = scratch.arg("proof.json");
    corpusdb(&["purge", &corpus, "0", "1", "--prove", &proof]).good();
    let proof: Value = serde_json::from_slice(&std::fs::read(&proof).unwrap()).unwrap();
    assert_eq!((&proof["clean"], &proof["kept_paths"]), (&json!(true), &json!(1)));
    assert_eq!(proof["paths"], json!([notes]));
});
