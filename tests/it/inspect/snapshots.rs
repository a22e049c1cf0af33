//! Snapshots by command: shown, compared, renamed and dropped, with the plans that draw from them.

use crate::support::epochs::{EpochCorpus, SPECIALS, same_files};
use crate::support::{Page, Ran, Random, corpusdb, digest, edited, ingest, lines, prose, sound};
use serde_json::{Value, json};

/// Five pages, then new content for one, a copy of another, a removal with a copy of what was removed, and a newcomer.
fn moved(place: &EpochCorpus) -> Vec<Page> {
    let mut random = Random::new(71);
    let pages: Vec<Page> =
        (0..5).map(|at| Page::keyed(format!("p{at}"), prose(&mut random, 0, 90))).collect();
    let pour = |name: &str, pages: &[Page]| {
        let file = place.scratch.write(name, lines(pages));
        ingest(&place.corpus, &[&file], &["--source", "news", "--id-field", "id"]);
    };
    pour("first.jsonl", &pages);
    corpusdb(&["snapshot", "create", &place.corpus, "june"]).good();
    corpusdb(&["remove", &place.corpus, "p4"]).good();
    let later = [
        Page::keyed("p0", prose(&mut random, 0, 90)),
        Page::keyed("q1", edited(&mut random, &pages[1].text, 1)),
        Page::keyed("q4", pages[4].text.clone()),
        Page::keyed("q5", prose(&mut random, 0, 90)),
    ];
    pour("second.jsonl", &later);
    pages
}

fn snapshot(verb: &[&str], corpus: &str, rest: &[&str]) -> Ran {
    corpusdb(&[&["snapshot"], verb, &[corpus], rest].concat())
}

#[test]
fn a_snapshot_equals_info_at_its_moment() {
    let place = EpochCorpus::holding(90);
    let info = corpusdb(&["info", &place.corpus, "--json"]).good().json();
    corpusdb(&["snapshot", "create", &place.corpus, "then"]).good();
    moved(&place);
    let shown = snapshot(&["show"], &place.corpus, &["then", "--json"]).good().json();
    assert_eq!(
        (&shown["type"], &shown["name"], &shown["plans"]),
        (&json!("snapshot_details"), &json!("then"), &json!([]))
    );
    for name in ["commit", "documents", "kept", "kept_bytes"] {
        assert_eq!(shown[name], info[name], "{name}");
    }
    let sources = info["sources"].as_array().unwrap().iter().map(|source| {
        json!({
            "source": source["name"], "documents": source["kept"], "bytes": source["kept_bytes"],
            "tokens": source["tokens"],
        })
    });
    assert_eq!(shown["sources"], Value::Array(sources.collect()));
    assert_eq!(shown["tokens"]["own"], info["tokenizers"][0]["tokens"]);
    let text = snapshot(&["show"], &place.corpus, &["then"]).good().stdout;
    for word in ["then: commit", "books", "tokens own", "no stored plan draws from it"] {
        assert!(text.contains(word), "no {word} in\n{text}");
    }
    snapshot(&["show"], &place.corpus, &["never"])
        .fails(&["no snapshot `never`; there are `june`, `then`"]);
}

#[test]
fn changes_are_listed_with_their_reason() {
    let place = EpochCorpus::holding(60);
    moved(&place);
    let lines = snapshot(&["diff"], &place.corpus, &["june", "--json"]).good().json_lines();
    let (all, groups) = lines.split_first().unwrap();
    let parts = |of: &Value| {
        ["added", "kept_again", "removed", "not_kept"].map(|name| of[name]["documents"].clone())
    };
    assert_eq!(all["type"], "snapshot_diff");
    assert_eq!((&all["earlier"]["name"], &all["later"]["name"]), (&json!("june"), &json!("now")));
    assert_eq!(parts(all), [2, 0, 2, 2].map(|count| json!(count)));
    assert_eq!((groups.len(), &groups[0]["group"]), (1, &json!("news")));
    assert_eq!(
        (&groups[0]["type"], parts(&groups[0])),
        (&json!("snapshot_diff_group"), parts(all))
    );
    let reasons = |name: &str| -> Vec<(&str, u64)> {
        let all = all[name].as_array().unwrap().iter();
        all.map(|of| (of["reason"].as_str().unwrap(), of["documents"].as_u64().unwrap())).collect()
    };
    assert_eq!(reasons("removed_by"), [("superseded", 1), ("removed", 1)]);
    assert_eq!(reasons("not_kept_by"), [("near", 1), ("blocked", 1)]);
    assert!(all["added"]["tokens"]["own"].as_u64().unwrap() > 0);

    let listed = snapshot(&["diff"], &place.corpus, &["june", "--list", "--json"]).good();
    let told: Vec<[&str; 3]> = vec![
        ["p0", "removed", "superseded"],
        ["p4", "removed", "removed"],
        ["p0", "added", ""],
        ["q1", "not_kept", "near"],
        ["q4", "not_kept", "blocked"],
        ["q5", "added", ""],
    ];
    let listed = listed.json_lines();
    let of = |one: &Value| {
        let word = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        [word("key"), word("change"), word("reason")]
    };
    assert_eq!(listed.iter().map(of).collect::<Vec<_>>(), told);
    assert_eq!(listed[0]["successor"], listed[2]["id"]);
    assert_eq!(listed[3]["witness_key"], "p1");

    let text = snapshot(&["diff"], &place.corpus, &["june", "now"]).good().stdout;
    for word in [
        "june (commit ",
        "2 removed + 0 kept again + 2 added",
        "in all:",
        "source news:",
        "removed: superseded",
        "not kept: blocked",
        "tokens own",
    ] {
        assert!(text.contains(word), "no {word} in\n{text}");
    }
    let text = snapshot(&["diff"], &place.corpus, &["june", "--list"]).good().stdout;
    assert!(text.lines().any(|line| line.starts_with("not kept: near") && line.ends_with(" p1")));
    let text = snapshot(&["diff"], &place.corpus, &["june", "june"]).good().stdout;
    assert!(text.ends_with("no document changed\n"), "{text}");
}

#[test]
fn moments_and_groups_that_there_are_not_are_refused() {
    let place = EpochCorpus::holding(60);
    moved(&place);
    corpusdb(&["snapshot", "create", &place.corpus, "july"]).good();
    let diff = |rest: &[&str]| snapshot(&["diff"], &place.corpus, rest);
    diff(&["may"]).fails(&["no snapshot `may`; there are `july`, `june`"]);
    diff(&["june", "may"]).fails(&["no snapshot `may`"]);
    diff(&["july", "june"]).fails(&["`july` (commit ", "`june` and then `july`"]);
    diff(&["june", "july", "--by", "key"])
        .fails(&["cannot group by `key`", "there are `source`, `language`, `year`"]);
    let years = diff(&["june", "july", "--by", "year", "--json"]).good().json_lines();
    assert_eq!((&years[0]["by"], &years[1]["group"]), (&json!("year"), &json!("(none)")));
    // A snapshot may be called `now`: then its name means it, and the present is what is left out.
    corpusdb(&["snapshot", "create", &place.corpus, "now"]).good();
    let commit = |rest: &[&str]| {
        diff(&[rest, &["--json"]].concat()).good().json_lines()[0]["later"]["commit"].clone()
    };
    assert_eq!(commit(&["june", "now"]).as_u64(), commit(&["june"]).as_u64().map(|now| now - 1));
}

#[test]
fn conditions_count_and_draw_kept_documents_of_a_snapshot() {
    let place = EpochCorpus::holding(60);
    moved(&place);
    let count = |rest: &[&str]| {
        let ran = corpusdb(&[&["count", &place.corpus], rest].concat()).good();
        ran.stdout.trim().parse::<u64>().unwrap()
    };
    let june = snapshot(&["show"], &place.corpus, &["june", "--json"]).good().json();
    assert_eq!(count(&["--snapshot", "june"]), june["kept"].as_u64().unwrap());
    let news = ["--snapshot", "june", "--where", "source = 'news'"];
    assert_eq!(count(&news), 5);
    assert_eq!(count(&["--snapshot", "june", "--where", "source = 'news' AND kept"]), 3);
    let sampled = corpusdb(&[&["sample", &place.corpus, "-n", "9", "--json"][..], &news].concat());
    let mut keys: Vec<String> =
        sampled.good().json_lines().iter().map(|one| one["key"].to_string()).collect();
    keys.sort();
    assert_eq!(keys, ["\"p0\"", "\"p1\"", "\"p2\"", "\"p3\"", "\"p4\""]);
    let told = corpusdb(&["count", &place.corpus, "--snapshot", "june", "--json"]).good().json();
    assert_eq!((&told["snapshot"], &told["documents"]), (&json!("june"), &june["kept"]));
    corpusdb(&["sample", &place.corpus, "--snapshot", "may"]).fails(&["no snapshot `may`"]);
}

#[test]
fn a_plan_gives_the_same_bytes_when_its_snapshot_is_gone() {
    let place = EpochCorpus::holding(120);
    corpusdb(&["snapshot", "create", &place.corpus, "then"]).good();
    let packs = ["kind = \"best-fit\"", "kind = \"concat\""].map(|pack| {
        let holdout = "[select]\nholdout = { share = 0.3 }\n";
        format!("snapshot = \"then\"\n{SPECIALS}{holdout}[pack]\n{pack}\nlength = 96\n")
    });
    for (number, recipe) in ["1", "2"].into_iter().zip(&packs) {
        place.recipe("plan", recipe, &[]).good();
        place
            .run("build", number, &["--out", &place.scratch.arg(&format!("before-{number}"))])
            .good();
    }
    moved(&place);
    let (before, kept) =
        (digest(&place.corpus), place.run("explain", "1", &["--json"]).good().json());
    assert!(kept["undecided_documents"].is_u64() && kept["snapshot_dropped"].is_null());
    let drawn = ["plans 1, 2 draw from snapshot `then`", "--force"];
    snapshot(&["drop"], &place.corpus, &["then"]).fails(&drawn);
    snapshot(&["rename"], &place.corpus, &["then", "other"])
        .fails(&["plans 1, 2 draw from snapshot `then`", "hash"]);
    let shown = snapshot(&["show"], &place.corpus, &["then", "--json"]).good().json();
    assert_eq!(shown["plans"], json!([1, 2]));
    let ran = snapshot(&["drop"], &place.corpus, &["then", "--force", "--json"]).good();
    assert_eq!(ran.json(), json!({ "type": "snapshot_dropped", "name": "then", "plans": [1, 2] }));

    for number in ["1", "2"] {
        let name = format!("after-{number}");
        place.run("build", number, &["--out", &place.scratch.arg(&name)]).good();
        same_files(&place.path(&format!("before-{number}")), &place.path(&name));
        place.verified(&format!("before-{number}"));
        let told = place.run("explain", number, &["--json"]).good().json();
        assert_eq!(told["snapshot_dropped"], true);
        assert!(told["undecided_documents"].is_null(), "nothing tells it any more");
    }
    assert!(place.run("explain", "1", &[]).good().stdout.contains("snapshot then (dropped)"));
    // What needs the snapshot says so by its name.
    place.recipe("plan", &packs[0], &[]).fails(&["no snapshot `then`; there is `june`"]);
    place.run("extend", "1", &["--consumed", "3"]).good();
    // Nobody takes the name for another moment while plans say it.
    for verb in [&["create", &place.corpus, "then"][..], &["rename", &place.corpus, "june", "then"]]
    {
        corpusdb(&[&["snapshot"], verb].concat())
            .fails(&["plan 1 draws from a snapshot `then` that was dropped", "another name"]);
    }
    assert_eq!(digest(&place.corpus), before);
    sound(&place.corpus);
}

#[test]
fn names_are_changed_and_given_back() {
    let place = EpochCorpus::holding(60);
    moved(&place);
    corpusdb(&["snapshot", "create", &place.corpus, "july"]).good();
    let rename = |old: &str, new: &str| snapshot(&["rename"], &place.corpus, &[old, new]);
    rename("may", "april").fails(&["no snapshot `may`; there are `july`, `june`"]);
    rename("june", "july").fails(&["snapshot `july` exists already"]);
    rename("june", "").fails(&["1 to 200 bytes"]);
    rename("june", "two\nlines").fails(&["no control characters"]);
    let before = snapshot(&["diff"], &place.corpus, &["june", "july", "--json"]).good().stdout;
    let told = rename("june", "2025-06").good().stdout;
    assert!(told.starts_with("2025-06: commit "), "{told}");
    let after = snapshot(&["diff"], &place.corpus, &["2025-06", "july", "--json"]).good().stdout;
    assert_eq!(after, before.replace("\"june\"", "\"2025-06\""));
    let told = snapshot(&["drop"], &place.corpus, &["july"]).good().stdout;
    assert_eq!(told, "snapshot july is dropped\n");
    snapshot(&["drop"], &place.corpus, &["july"])
        .fails(&["no snapshot `july`; there is `2025-06`"]);
    // The name is free again; one that planning would give this moment may be taken.
    corpusdb(&["snapshot", "create", &place.corpus, "july"]).good();
    let log =
        corpusdb(&["sql", &place.corpus, "SELECT max(commit) AS commit FROM commits", "--json"]);
    let commit = log.good().json()["commit"].as_u64().unwrap();
    let file = place.scratch.write(
        "more.jsonl",
        lines(&[Page::keyed("new", "Nine new words that nobody has said before here")]),
    );
    rename("july", &format!("commit-{}", commit + 2)).good();
    ingest(&place.corpus, &[&file], &["--source", "news", "--id-field", "id"]);
    let planned = place.recipe("plan", SPECIALS, &["--json"]).good().json();
    assert_eq!(planned["plan"]["snapshot"]["name"], format!("commit-{}-2", commit + 2));
    sound(&place.corpus);
}
