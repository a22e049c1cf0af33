//! Rows that people look at: the text of what a trainer gets, what of it is trained on, and the rows of a step.

use crate::support::checker::corpus::{CheckedCorpus, open, plan, pour_chats, rows};
use crate::support::epochs::WordCorpus;
use crate::support::{Page, corpusdb_test};
use corpusdb::epoch::views::{IGNORED, LossWeighting, labels, loss_weights};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Chats of which some answers are not trained on and some weigh less, and documents of characters that tokens cut.
fn chats() -> CheckedCorpus {
    let place = CheckedCorpus::of(77, &[("web", 20, 3, 40)]);
    pour_chats(&place, true);
    let page = |at: u32| {
        let runes = (0..90).filter_map(|rune| char::from_u32(0xac00 + at * 97 + rune * 7));
        Page::keyed(format!("rune-{at}"), runes.collect::<String>())
    };
    place.pour(&mut place.writer(), "runes", &(0..6).map(page).collect::<Vec<_>>());
    place
}

corpusdb_test!(parts_of_rows_are_what_labels_have, chats(), |place| {
    let corpus = place.reader();
    let recipe = "[tokenizer]\nspecials = { bos = \"<|bos|>\", eos = \"<|eos|>\", pad = \"<|pad|>\" }\n\
         [pack]\nkind = \"greedy\"\nlength = 64\noptions = { doc_multiple = 8 }\n\
         [output]\nformat = \"jsonl\"\n";
    let planned = plan(&corpus, recipe).unwrap();
    let rows = rows(&open(&corpus, &planned, 0));
    let (mut weights, mut cut, mut specials) = (BTreeSet::new(), 0, 0);
    for (row, report) in rows.iter().zip(corpus.row_reports(&planned, &rows, true).unwrap()) {
        let ids: Vec<i32> = row.ids().iter().map(|id| *id as i32).collect();
        let labels = labels(row.shape(), &ids, row.trained());
        let targets = loss_weights(row.shape(), row.trained(), LossWeighting::Tokens);
        let mut at = 0;
        let mut texts = vec![String::new(); row.segments().len()];
        for part in report.parts.unwrap() {
            assert_eq!(part.start, at, "parts cover the row");
            at += part.length;
            for place in part.start as usize..at as usize {
                assert_eq!(labels[place] != IGNORED, part.trained, "position {place}");
                let weight = if part.trained { part.weight.unwrap_or(1.0) } else { 0.0 };
                assert_eq!(targets[place], weight, "position {place}");
                weights.insert(weight.to_string());
            }
            match part.segment {
                Some(number) => texts[number] += &part.text,
                None => assert_eq!((part.text.as_str(), part.trained), ("", false)),
            }
        }
        assert_eq!(at, row.shape().width);
        assert_eq!(report.trained, labels.iter().filter(|label| **label != IGNORED).count() as u64);
        for ((text, span), segment) in texts.iter().zip(&row.shape().spans).zip(&report.segments) {
            let ids = &row.ids()[span.start as usize..span.end() as usize];
            assert_eq!(*text, corpus.decode(None, ids).unwrap(), "no byte is lost");
            cut += usize::from(text.contains('\u{fffd}'));
            specials += usize::from(text.starts_with("<|bos|>") && text.ends_with("<|eos|>"));
            let is_of_source = segment.key.starts_with(segment.source.trim_end_matches('s'));
            assert!(is_of_source, "{} of {}", segment.key, segment.source);
        }
    }
    assert_eq!(weights.into_iter().collect::<Vec<_>>(), ["0", "0.5", "1"]);
    assert!(cut > 0 && specials > 0, "{cut} cut characters, {specials} whole documents");
});

corpusdb_test!(a_row_with_its_text_is_printed_in_json, WordCorpus::of(&[3]), |t| {
    let specials = "[tokenizer]\nspecials = { eos = \"<eos>\", pad = \"<pad>\" }\n";
    t.recipe("r.toml", &format!("{specials}[pack]\nlength = 6\n"));
    let bare = json!({
        "type": "row", "row": 0, "batch": null, "source": "web", "pass": 0, "width": 6, "trained": 3,
        "segments": [{
            "document": 0, "key": "k0", "source": "web", "offset": 0, "length": 4, "document_length": 4,
            "start": 0,
        }],
        "input_ids": [4, 5, 6, 2, 0, 0],
    });
    let mut whole = bare.clone();
    whole["parts"] = json!([
        { "text": "v0", "trained": false, "segment": 0, "start": 0, "length": 1 },
        { "text": " v1 v2 <eos>", "trained": true, "segment": 0, "start": 1, "length": 3 },
        { "text": "", "trained": false, "segment": null, "start": 4, "length": 2 },
    ]);
    assert_eq!(t.scratch.run("epoch row corpus r.toml 0 --json").json(), bare);
    assert_eq!(t.scratch.run("epoch row corpus r.toml 0 --text --json").json(), whole);
    let twice = t.scratch.run("epoch row corpus r.toml 0 0 --json").json_lines();
    assert_eq!(twice, [bare.clone(), bare], "a line a row");
    // Marks that can be read without colours.
    let told = t.scratch.run("epoch row corpus r.toml 0 --text").stdout;
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[0], "row 0: source web, pass 0, 4 real tokens of 6, 3 trained on");
    assert_eq!(lines[3..], ["k0, tokens 0 to 3 of 4:", "⟦v0⟧ v1 v2 <eos>", "⟦2 pads⟧"]);
});

corpusdb_test!(a_page_of_rows_is_written_or_refused, WordCorpus::of(&[3, 2]), |t| {
    t.recipe("r.toml", "[pack]\nkind = \"none\"\n");
    let told = t.scratch.run("epoch row corpus r.toml 0 1 --html rows.html");
    assert!(!told.stdout.contains('⟦'), "the text is in the page: {told}");
    let page = std::fs::read_to_string(t.scratch.path("rows.html")).unwrap();
    for words in ["<!doctype html>", "2 rows of epoch 0", "<i>v0</i><b> v1 v2</b>", "<b>k1</b>"] {
        assert!(page.contains(words), "no {words} in {page}");
    }
    t.scratch.run("epoch row corpus r.toml 0 --html rows.html");
    t.scratch.write("mine.html", "notes");
    t.scratch.ran("epoch row corpus r.toml 0 --html mine.html").fails(&["mine.html"]);
    assert_eq!(std::fs::read_to_string(t.scratch.path("mine.html")).unwrap(), "notes");
});

corpusdb_test!(rows_of_steps_are_those_of_streams, WordCorpus::of(&[5; 13]), |t| {
    // Ranks share each batch, or have batches of their own, or rows.
    let recipes = [("[batch]\nrows = 6\n", 3), ("[batch]\nmax_tokens = 12\n", 2), ("", 2), ("", 3)];
    for (batch, world) in recipes {
        t.recipe("r.toml", &format!("[pack]\nkind = \"none\"\n{batch}"));
        let ids = |line: String| -> Vec<Value> {
            let rows = t.scratch.run(&line).json_lines();
            let ids = rows.into_iter().map(|row| row["input_ids"].clone());
            // A stream has a line for a rank that the last step has no batch for.
            ids.filter(|ids| ids.as_array().is_some_and(|ids| !ids.is_empty())).collect()
        };
        let all = ids("epoch stream corpus r.toml".to_owned());
        let mut given: Vec<Vec<Value>> = vec![Vec::new(); world];
        for step in 0.. {
            let asked = format!("epoch row corpus r.toml --step {step} --world {world} --json");
            if given.iter().map(Vec::len).sum::<usize>() == all.len() {
                t.scratch.ran(&asked).fails(&["step", "out of range"]);
                break;
            }
            let mut of_step = Vec::new();
            for (rank, given) in given.iter_mut().enumerate() {
                let rows = ids(format!("{asked} --rank {rank}"));
                of_step.extend(rows.clone());
                given.extend(rows);
            }
            assert_eq!(ids(asked), of_step, "all ranks, {batch}");
        }
        for (rank, given) in given.iter().enumerate() {
            let streamed = format!("epoch stream corpus r.toml --rank {rank} --world {world}");
            assert_eq!(*given, ids(streamed), "rank {rank} of {world}, {batch}");
        }
    }
    // Without batches a loader says how many rows a step has.
    let several = "epoch row corpus r.toml --step 1 --world 2 --step-rows 3 --json";
    let numbers: Vec<Value> =
        t.scratch.run(several).json_lines().into_iter().map(|row| row["row"].clone()).collect();
    let mut sorted: Vec<u64> = numbers.iter().filter_map(Value::as_u64).collect();
    sorted.sort_unstable();
    assert_eq!(sorted, [6, 7, 8, 9, 10, 11]);
});

corpusdb_test!(rows_tell_the_pass_over_their_source, WordCorpus::of(&[4, 4, 4]), |t| {
    t.recipe("r.toml", "[pack]\nkind = \"none\"\n[[source]]\nname = \"web\"\nmax_repeats = 2\n");
    for epoch in 0..2 {
        for row in t
            .scratch
            .run(&format!("epoch row corpus r.toml 0 1 2 --epoch {epoch} --json"))
            .json_lines()
        {
            assert_eq!(row["pass"], epoch);
        }
    }
});

corpusdb_test!(too_many_rows_at_once_are_refused, WordCorpus::of(&[2, 2]), |t| {
    t.recipe("r.toml", "[pack]\nkind = \"none\"\n");
    let many = " 0".repeat(1025);
    let words = ["1,025 rows", "1,024 rows", "by their numbers"];
    t.scratch.ran(&format!("epoch row corpus r.toml{many}")).fails(&words);
    t.scratch.ran("epoch row corpus r.toml --step 0 --world 1025").fails(&["1,025 rows"]);
    t.scratch.ran("epoch row corpus r.toml --step 0 --world 2 --rank 2").fails(&["rank 2"]);
    t.scratch.ran("epoch row corpus r.toml --step 9").fails(&["step 9 is out of range", "0 to 1"]);
    t.scratch.ran("epoch row corpus r.toml 0 7").fails(&["row 7 is out of range", "0 to 1"]);
    // Nothing is asked for, or what only steps have.
    for rest in
        ["", " 0 --step 0", " 0 --rank 1", " 0 --world 2", " 0 --step-rows 2", " 0 --uneven"]
    {
        let line = format!("epoch row corpus r.toml{rest}");
        assert_eq!(t.scratch.ran(&line).code, Some(2), "{line}");
    }
});
