//! Rows with a number of segments at most: `pack.most_segments`.

use crate::support::corpusdb_test;
use crate::support::epochs::WordCorpus;
use serde_json::Value;
use std::collections::BTreeMap;

const KINDS: [&str; 4] = ["best-fit", "greedy", "concat", "none"];
const LENGTHS: [usize; 16] = [9, 5, 1, 4, 3, 12, 1, 17, 2, 2, 1, 1, 3, 2, 6, 1];

fn list(row: &Value, name: &str) -> Vec<u64> {
    serde_json::from_value(row[name].clone()).unwrap()
}

/// How often each token of each document comes.
fn tokens(rows: &[Value]) -> BTreeMap<(u64, u64), u64> {
    let mut tokens = BTreeMap::new();
    for row in rows {
        let places = list(row, "doc_ids").into_iter().zip(list(row, "doc_offsets"));
        for ((document, offset), length) in places.zip(list(row, "seq_lengths")) {
            for at in offset..offset + length {
                *tokens.entry((document, at)).or_default() += 1;
            }
        }
    }
    tokens
}

corpusdb_test!(no_row_has_more_segments_than_the_recipe_says, WordCorpus::of(&LENGTHS), |t| {
    let all: BTreeMap<(u64, u64), u64> =
        (0..).zip(LENGTHS).flat_map(|(id, n)| (0..n as u64).map(move |at| ((id, at), 1))).collect();
    for kind in KINDS {
        for most in [1, 2, 3, 50] {
            for batch in ["", "[batch]\nrows = 4\ntail = \"carry\"\nbalance = 3\n"] {
                let what = format!("{kind}, {most}, {batch}");
                let pack =
                    format!("[pack]\nkind = \"{kind}\"\nlength = 8\nmost_segments = {most}\n");
                t.recipe("r.toml", &format!("{pack}{batch}[output]\nformat = \"jsonl\"\n"));
                let plan = "epoch plan corpus r.toml --json";
                let number = t.scratch.run(plan).json()["number"].clone();
                let rows = t.scratch.run(&format!("epoch stream corpus {number}")).json_lines();
                assert!(
                    rows.iter().all(|row| (1..=most).contains(&list(row, "doc_ids").len())),
                    "{what}"
                );
                let threaded = format!("epoch stream corpus {number} --threads 7");
                assert_eq!(t.scratch.run(&threaded).json_lines(), rows, "{what}");
                let found = tokens(&rows);
                assert!(found.values().all(|times| *times == 1), "{what}");
                if batch.is_empty() {
                    assert_eq!(found, all, "{what}");
                }
                t.verified(&number.to_string());
            }
        }
    }
});

corpusdb_test!(explain_counts_rows_that_are_full_by_segments, WordCorpus::of(&LENGTHS), |t| {
    for kind in KINDS {
        for unit in ["tokens", "documents"] {
            t.recipe(
                "r.toml",
                &format!("[mix]\nunit = \"{unit}\"\n[pack]\nkind = \"{kind}\"\nlength = 8\nmost_segments = 2\n"),
            );
            let text = t.scratch.run("epoch explain corpus r.toml").stdout;
            let explained = t.scratch.run("epoch explain corpus r.toml --json").json();
            let number = t.scratch.run("epoch plan corpus r.toml --json").json()["number"].clone();
            let rows = t.scratch.run(&format!("epoch stream corpus {number}")).json_lines();
            let lengths = rows.iter().map(|row| list(row, "seq_lengths"));
            let full = lengths.filter(|of| of.len() == 2 && of.iter().sum::<u64>() < 8).count();
            let counted = explained["sources"][0]["segment_full_rows"].as_u64().unwrap_or(0);
            assert_eq!(counted, full as u64, "{kind}, {unit}");
            assert_eq!(full > 0, kind != "none", "{kind}");
            let words = format!("{full} of {} rows of a pass have as many segments", rows.len());
            assert_eq!(text.contains(&words), full > 0, "{text}");
        }
    }
    t.recipe("r.toml", "[pack]\nlength = 8\n");
    let explained = t.scratch.run("epoch explain corpus r.toml --json").json();
    assert!(explained["sources"][0].get("segment_full_rows").is_none());
});

corpusdb_test!(a_row_with_too_many_segments_is_found_by_verify, WordCorpus::of(&[5, 4]), |t| {
    t.recipe(
        "r.toml",
        "[pack]\nkind = \"none\"\nlength = 8\nmost_segments = 1\n\
         [output]\nformat = \"jsonl\"\ncompression = \"none\"\n",
    );
    t.scratch.run("epoch build corpus r.toml --out built");
    // The row of five tokens becomes two segments of the same document.
    let file = t.scratch.path("built").join("shard-00000.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    let two = text
        .replace("\"doc_ids\":[0],\"doc_offsets\":[0]", "\"doc_ids\":[0,0],\"doc_offsets\":[0,2]")
        .replace("\"seq_lengths\":[5]", "\"seq_lengths\":[2,3]");
    assert_ne!(two, text);
    std::fs::write(&file, two).unwrap();
    let report = t.scratch.ran("epoch verify corpus built --json").answers_badly().json();
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == "boundaries").unwrap();
    let words = "has 2 segments, and pack.most_segments allows 1";
    assert!(found.to_string().contains(words), "{found}");
});

corpusdb_test!(an_extension_keeps_to_the_segments_of_its_recipe, WordCorpus::of(&LENGTHS), |t| {
    for kind in KINDS {
        let pack = |more: &str| format!("[pack]\nkind = \"{kind}\"\nlength = 8\n{more}");
        t.recipe("free.toml", &pack(""));
        t.recipe("two.toml", &pack("most_segments = 2\n"));
        let number = t.scratch.run("epoch plan corpus free.toml --json").json()["number"].clone();
        let rows = t.scratch.run(&format!("epoch stream corpus {number}")).json_lines();
        let extend = format!("epoch extend corpus {number} --consumed 3 two.toml --json");
        let number = t.scratch.run(&extend).json()["number"].clone();
        let rest = t.scratch.run(&format!("epoch stream corpus {number}")).json_lines();
        assert!(rest.iter().all(|row| list(row, "doc_ids").len() <= 2), "{kind}");
        // One that names no recipe keeps to it too.
        let extend = format!("epoch extend corpus {number} --consumed 1 --json");
        let last = t.scratch.run(&extend).json()["number"].clone();
        let end = t.scratch.run(&format!("epoch stream corpus {last}")).json_lines();
        assert!(end.iter().all(|row| list(row, "doc_ids").len() <= 2), "{kind}");
        let given = [&rows[..3], &rest[..1], &end[..]].concat();
        let found = tokens(&given);
        assert!(found.values().all(|times| *times == 1), "{kind}");
        assert_eq!(found.len(), LENGTHS.iter().sum::<usize>(), "{kind}");
        t.verified(&last.to_string());
    }
});

corpusdb_test!(limits_of_segments_that_no_row_keeps_are_refused, WordCorpus::of(&[9]), |t| {
    let refused = [
        ("most_segments = 0", "pack.most_segments is 0"),
        ("most_segments = 0", "or leave it out"),
        ("most_segments = 99999999", "the most that it may be"),
        ("most_segments = 99999999999", "the most that it may be"),
        ("most_segments = 2\noptions = { pad_view = \"each\" }", "use \"suffix\""),
        (
            "kind = \"concat\"\nmost_segments = 1\noptions = { target = \"extra\", overlap = true }",
            "must be 2 or more",
        ),
        ("kind = \"concat\"\nmost_segments = 2\noptions = { partial = \"drop\" }", "use \"keep\""),
        (
            "kind = \"concat\"\nmost_segments = 1\n[output]\nformat = \"megatron\"",
            "tokenizer.specials.pad",
        ),
    ];
    for (pack, words) in refused {
        t.recipe("r.toml", &format!("[pack]\nlength = 5\n{pack}\n"));
        t.scratch.ran("epoch plan corpus r.toml").fails(&[words]);
    }
});
