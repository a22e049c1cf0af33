//! What documents say is trained on reaches rows and files, or the export is refused.

use crate::support::checker::corpus::{
    CheckedCorpus, CheckedDocument, built, open, plan, pour_chats, rows, stored,
};
use crate::support::checker::run::{Run, check_worlds};
use crate::support::{Random, assert_contains, corpusdb, corpusdb_test, outputs};
use arrow::array::AsArray;
use arrow::datatypes::{Float32Type, Int32Type};
use corpusdb::epoch::recipe::RowColumn;
use corpusdb::epoch::views::LossWeighting;
use corpusdb::epoch::{
    BatchForm, Contract, EpochRow, Plan, StreamFormat, StreamOptions, StreamViews, views,
};
use corpusdb::show::number;
use corpusdb::{Context, Corpus};
use serde_json::Value;
use std::path::Path;

const HEAD: &str =
    "[tokenizer]\nspecials = { eos = \"<|eos|>\", pad = \"<|pad|>\" }\n[pack]\nlength = 64\n";
const BARE: [&str; 5] = [
    "format = \"megatron\"",
    "format = \"litdata\"",
    "format = \"raw\"",
    "format = \"raw\"\nlayout = \"nanogpt\"",
    "format = \"raw\"\nlayout = \"llm.c\"",
];
const MASKED: [&str; 2] =
    ["format = \"raw\"\nlayout = \"olmo\"", "format = \"raw\"\nlayout = \"datatrove\""];
const WEIGHTED: [&str; 4] =
    ["format = \"parquet\"", "format = \"arrow\"", "format = \"jsonl\"", "format = \"mds\""];

fn place(weighted: bool) -> CheckedCorpus {
    let place = CheckedCorpus::of(71, &[("web", 20, 3, 40)]);
    pour_chats(&place, weighted);
    place
}

fn recipe(output: &str) -> String {
    // Also documents of which nothing is trained on.
    format!("{HEAD}[select]\nmin_trained = 0\n[output]\n{output}\n")
}

/// Every token of an epoch's rows: what it weighs as a target, by what is stored.
fn weights(rows: &[EpochRow], all: &[CheckedDocument]) -> Vec<f32> {
    let mut found = Vec::new();
    for row in rows {
        let mut of = vec![0.0; row.ids().len()];
        for (segment, span) in row.segments().iter().zip(&row.shape().spans) {
            let document = &all[segment.document.0 as usize];
            for token in 1..segment.length {
                // The EOS after the stored tokens is as the last of them.
                let stored = document.ids.as_ref().unwrap().len() as u32;
                let at = (segment.offset + token).min(stored - 1);
                let weight = document.loss.as_ref().map_or(1.0, |spans| {
                    let span = spans.iter().find(|span| (span.start..span.end).contains(&at));
                    span.map_or(0.0, |span| span.weight)
                });
                of[(span.start + token) as usize] = weight;
            }
        }
        found.extend(of);
    }
    found
}

fn read(directory: &Path, prefix: &str, suffix: &str) -> Vec<u8> {
    let paths = outputs::numbered(directory, prefix, suffix);
    paths.iter().flat_map(|path| std::fs::read(path).unwrap()).collect()
}

/// The spans of segment tables, as a weight for every token of rows of 64.
fn spans(directory: &Path) -> Vec<f32> {
    let mut found = Vec::new();
    let names = outputs::files(directory).into_iter().map(|file| file.0);
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".segments.parquet")).collect();
    names.sort();
    for name in names {
        for batch in outputs::open(&directory.join(name)).build().unwrap() {
            let batch = batch.unwrap();
            let list = |name: &str, at: usize| batch[name].as_list::<i32>().value(at);
            for at in 0..batch.num_rows() {
                let mut of = vec![0.0; 64];
                let (starts, ends) = (list("trained_starts", at), list("trained_ends", at));
                let weights = list("trained_weights", at);
                let (starts, ends) =
                    (starts.as_primitive::<Int32Type>(), ends.as_primitive::<Int32Type>());
                for span in 0..starts.len() {
                    let weight = weights.as_primitive::<Float32Type>().value(span);
                    of[starts.value(span) as usize..ends.value(span) as usize].fill(weight);
                }
                found.extend(of);
            }
        }
    }
    found
}

// Exports of bare ids dropped what is trained on, and were verified: two fifths of a corpus of
// conversations would have been trained on that should not.
corpusdb_test!(exports_that_would_lose_trained_spans_are_refused, place(false), |place| {
    let corpus = place.reader();
    let all = stored(&corpus);
    for (number, output) in BARE.into_iter().enumerate() {
        let error = plan(&corpus, &recipe(output)).unwrap_err().to_string();
        for word in
            ["documents have loss masks", "has no masks", "parquet", "output.ignore_loss = true"]
        {
            assert!(error.contains(word), "{output}: {error}");
        }
        let planned = plan(&corpus, &recipe(&format!("{output}\nignore_loss = true"))).unwrap();
        let out = built(&place, &corpus, &planned, 0, &format!("bare-{number}"), 2);
        // What documents say is kept where no loader reads it.
        let rows = rows(&open(&corpus, &planned, 0));
        assert!(rows.iter().all(|row| row.trained().is_none()), "{output}: it is ignored");
        let found = spans(&out);
        let expected = weights(&rows, &all);
        assert_eq!(found.len(), expected.len());
        // A table says what is trained, also of first tokens, which no loss counts.
        let differ = found.iter().zip(&expected).filter(|(found, expected)| found != expected);
        let firsts: usize = rows.iter().map(|row| row.segments().len()).sum();
        assert!(differ.count() <= firsts && expected.contains(&0.0), "{output}");
    }
});

corpusdb_test!(masks_of_zero_and_one_refuse_weights, place(false), |place| {
    let corpus = place.reader();
    let all = stored(&corpus);
    let outs: Vec<_> = MASKED
        .into_iter()
        .enumerate()
        .map(|(number, output)| {
            let planned = plan(&corpus, &recipe(output)).unwrap();
            let out = built(&place, &corpus, &planned, 0, &format!("masked-{number}"), 2);
            (out, rows(&open(&corpus, &planned, 0)))
        })
        .collect();
    let (olmo, rows) = &outs[0];
    let expected: Vec<u8> =
        weights(rows, &all).iter().map(|weight| u8::from(*weight > 0.0)).collect();
    assert_eq!(read(olmo, "label-mask-0-", ".npy"), expected);
    assert_eq!(expected.len() * 2, read(olmo, "part-0-", ".npy").len());
    assert_eq!(read(&outs[1].0, "", "_unshuffled.ds.loss").len(), expected.len());

    let place = self::place(true);
    let corpus = place.reader();
    for output in MASKED {
        let error = plan(&corpus, &recipe(output)).unwrap_err().to_string();
        assert_contains(&error, &["have loss weights", "loss_weights", "ignore_loss"]);
    }
});

// Weights were lost everywhere: the mask of Parquet holds 0 and 1.
corpusdb_test!(weights_reach_every_format_that_has_columns, place(true), |place| {
    let corpus = place.reader();
    let all = stored(&corpus);
    for (number, output) in WEIGHTED.into_iter().enumerate() {
        let planned = plan(&corpus, &recipe(output)).unwrap();
        let out = built(&place, &corpus, &planned, 0, &format!("weighted-{number}"), 2);
        let rows = rows(&open(&corpus, &planned, 0));
        let expected = weights(&rows, &all);
        assert!([0.0, 0.5, 1.0].iter().all(|weight| expected.contains(weight)));
        let from_views: Vec<f32> = rows
            .iter()
            .flat_map(|row| views::loss_weights(row.shape(), row.trained(), LossWeighting::Tokens))
            .collect();
        assert_eq!(from_views, expected);
        match number {
            0 => {
                let paths = outputs::shards(&out, ".parquet");
                let found: Vec<f32> = paths
                    .iter()
                    .flat_map(|path| outputs::open(path).build().unwrap())
                    .flat_map(|batch| {
                        let lists = batch.unwrap()["loss_weights"].as_list::<i32>().clone();
                        lists.values().as_primitive::<Float32Type>().values().to_vec()
                    })
                    .collect();
                assert_eq!(found, expected);
            }
            2 => {
                let text = String::from_utf8(read(&out, "shard-", ".jsonl")).unwrap();
                let found: Vec<f32> = text
                    .lines()
                    .flat_map(|line| {
                        let line: Value = serde_json::from_str(line).unwrap();
                        let weights = line["loss_weights"].as_array().unwrap().clone();
                        weights.into_iter().map(|weight| weight.as_f64().unwrap() as f32)
                    })
                    .collect();
                assert_eq!(found, expected);
                damaged(&corpus, &planned, &out);
            }
            _ => {}
        }
        // Columns that say nothing of it are as good as none.
        let bare = format!("{output}\ncolumns = [\"position_ids\"]");
        let error = plan(&corpus, &recipe(&bare)).unwrap_err().to_string();
        assert!(error.contains("with these output.columns has no masks"), "{error}");
    }
});

/// Another weight in a file whose manifest says the same is found.
fn damaged(corpus: &Corpus, planned: &Plan, out: &Path) {
    let path = out.join("shard-00000.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let other = text.replacen("0.5,0.5", "0.5,0.25", 1);
    assert_ne!(text, other);
    std::fs::write(&path, &other).unwrap();
    let manifest = outputs::manifest_path(out);
    let said = std::fs::read_to_string(&manifest).unwrap();
    let hash = |text: &str| blake3::hash(text.as_bytes()).to_hex().to_string();
    let said = said.replace(&hash(&text), &hash(&other));
    let said =
        said.replace(&format!("\"bytes\": {}", text.len()), &format!("\"bytes\": {}", other.len()));
    std::fs::write(&manifest, said).unwrap();
    let found = corpus.verify(planned, out, &Context::new()).unwrap();
    let failed: Vec<&str> =
        found.checks.iter().filter(|check| !check.passed).map(|check| &*check.name).collect();
    assert_eq!(failed, ["labels"], "{found}");
}

/// Streams with chosen views gave batches without masks and weights, without a word: a trainer would have
/// trained on everything.
#[test]
fn streams_that_would_lose_masks_or_weights_are_refused() {
    use RowColumn::{CuSeqlens, Labels, LossMask, LossWeights, PositionIds, SegmentIds};
    let masked = "documents have loss masks";
    let weighted = "documents have loss weights";
    for is_weighted in [false, true] {
        let place = place(is_weighted);
        let corpus = place.reader();
        let halves = is_weighted.then_some(weighted);
        let choices: [(&[RowColumn], Option<&str>); 6] = [
            (&[PositionIds], Some(masked)),
            (&[CuSeqlens, SegmentIds], Some(masked)),
            (&[], Some(masked)),
            (&[Labels], halves),
            (&[LossMask, PositionIds], halves),
            (&[LossWeights], None),
        ];
        let epoch = open(&corpus, &plan(&corpus, &recipe("")).unwrap(), 0);
        let ignoring = open(&corpus, &plan(&corpus, &recipe("ignore_loss = true")).unwrap(), 0);
        for (columns, refused) in choices {
            let named: Vec<&str> = columns.iter().map(|column| column.name()).collect();
            let chosen =
                plan(&corpus, &recipe(&format!("format = \"jsonl\"\ncolumns = {named:?}")));
            for format in [StreamFormat::Jsonl, StreamFormat::Arrow] {
                for unpadded in [false, true] {
                    let views = StreamViews { columns: Some(columns.to_vec()), unpadded };
                    let what = format!("{is_weighted} {named:?} {format:?} {unpadded}");
                    assert!(
                        ignoring.stream_writer_with(format, &views, Vec::new()).is_ok(),
                        "{what}"
                    );
                    let error = epoch.stream_writer_with(format, &views, Vec::new()).err();
                    let error = error.map(|error| error.to_string()).unwrap_or_default();
                    assert_eq!(error.is_empty(), refused.is_none(), "{what}: {error}");
                    let why = refused.unwrap_or_default();
                    let out = if refused.is_some() { "output.ignore_loss = true" } else { "" };
                    let place = if refused.is_some() { "among the views (`views=`)" } else { "" };
                    for word in [why, out, place] {
                        assert!(error.contains(word), "{what}: {error}");
                    }
                    // The recipe's choice of the same columns is judged alike.
                    let planned = chosen.as_ref().err().map(ToString::to_string);
                    assert_eq!(planned.is_some(), refused.is_some(), "{what}: {planned:?}");
                    if let Some(planned) = planned {
                        assert!(planned.contains(why) && planned.contains("in output.columns"));
                    }
                }
            }
        }
        // What is given where nothing is chosen says all.
        for unpadded in [false, true] {
            let views = StreamViews { columns: None, unpadded };
            assert!(epoch.stream_writer_with(StreamFormat::Arrow, &views, Vec::new()).is_ok());
        }
        let file = place.scratch.write("stream.toml", format!("version = 1\n{}", recipe("")));
        let path = place.path.display().to_string();
        let ran = corpusdb(&["epoch", "stream", &path, &file, "--views", "position_ids"]);
        assert!(ran.stdout.is_empty());
        ran.fails(&[masked, "--views", "ignore_loss"]);
    }
    // Where nothing is said there is nothing to lose.
    let plain = CheckedCorpus::of(73, &[("web", 20, 3, 40)]);
    let corpus = plain.reader();
    let planned = plan(&corpus, &recipe("")).unwrap();
    let views = StreamViews { columns: Some(vec![PositionIds]), unpadded: false };
    let epoch = open(&corpus, &planned, 0);
    assert!(epoch.stream_writer_with(StreamFormat::Jsonl, &views, Vec::new()).is_ok());
}

// It was to name loss_weights among the views of an output in Arrow, which a contract does not have.
corpusdb_test!(a_contract_that_would_lose_weights_says_so, place(true), |place| {
    let corpus = place.reader();
    let epoch = open(&corpus, &plan(&corpus, &recipe("")).unwrap(), 0);
    let ignoring = open(&corpus, &plan(&corpus, &recipe("ignore_loss = true")).unwrap(), 0);
    for contract in Contract::ALL {
        let form = BatchForm { contract: Some(contract), ..BatchForm::default() };
        let error = epoch.tensors(&form).unwrap_err().to_string();
        let words = [
            contract.name(),
            "documents have loss weights (document ",
            "batches of the contract have none; leave the contract out",
            "output.ignore_loss = true",
        ];
        assert_contains(&error, &words);
        assert!(!error.contains("arrow") && !error.contains("views"), "{error}");
        assert!(ignoring.tensors(&form).is_ok());
    }
    // The way out.
    let without = epoch.tensors(&BatchForm::default()).unwrap();
    let first = epoch.batch(&StreamOptions::default()).unwrap();
    let named: Vec<&str> = without.tensors(&first).unwrap().iter().map(|of| of.name).collect();
    assert!(named.contains(&"loss_weights"), "{named:?}");
});

// Files of masks appeared in an epoch of plain text once conversations had been ingested beside it.
corpusdb_test!(later_ingests_are_ignored, CheckedCorpus::of(72, &[("web", 20, 3, 40)]), |place| {
    place.writer().create_snapshot("then").unwrap();
    let build = |output: &str, name: &str| {
        let corpus = place.reader();
        let text = format!("snapshot = \"then\"\n{}[[source]]\nname = \"web\"\n", recipe(output));
        let planned = plan(&corpus, &text).unwrap();
        outputs::files(&built(&place, &corpus, &planned, 0, name, 2))
    };
    let outputs = [MASKED[1], MASKED[0], WEIGHTED[0], WEIGHTED[3]];
    let before: Vec<_> = (0..).zip(outputs).map(|(n, o)| build(o, &format!("then-{n}"))).collect();
    pour_chats(&place, true);
    let after: Vec<_> = (0..).zip(outputs).map(|(n, o)| build(o, &format!("now-{n}"))).collect();
    for (before, after) in before.iter().zip(&after) {
        assert!(before == after);
    }
});

corpusdb_test!(explain_lists_trained_and_ignored_spans, place(true), |place| {
    let corpus = place.reader();
    let all = stored(&corpus);
    let explain = |output: &str| {
        let planned = plan(&corpus, &recipe(output)).unwrap();
        corpus.explain(&planned, &Context::new()).unwrap()
    };
    let told = explain("format = \"parquet\"");
    let kept = || all.iter().filter(|document| document.kept);
    let untrained: u64 = kept()
        .filter_map(|document| {
            let spans = document.loss.as_ref()?;
            let trained: u32 = spans.iter().map(|span| span.end - span.start).sum();
            Some(document.ids.as_ref().unwrap().len() as u64 - u64::from(trained))
        })
        .sum();
    assert!(untrained > 0 && told.untrained_tokens == untrained);
    assert!(told.weighted_tokens > 0 && !told.ignore_loss);
    assert!(told.to_string().contains(&format!(
        "loss      by the masks and weights of documents, {} of",
        number(untrained)
    )));
    let ignored = explain("format = \"megatron\"\nignore_loss = true");
    assert!(ignored.ignore_loss && ignored.untrained_tokens == untrained);
    assert!(ignored.to_string().contains("masks and weights of documents are ignored"));
    let both = format!("{}[mix]\nunit = \"loss-tokens\"\n", recipe("ignore_loss = true"));
    let error = corpusdb::Recipe::parse(&format!("version = 1\n{both}")).unwrap_err().to_string();
    assert!(error.contains("output.ignore_loss = true ignores"), "{error}");
});

// ----
// What conversations say is trained survives packing, splitting and resuming, and can be mixed by.

/// A corpus of plain pages and of conversations of several turns, some longer than a row, some with weights.
fn turns() -> CheckedCorpus {
    let place = CheckedCorpus::of(51, &[("web", 60, 3, 40)]);
    pour_chats(&place, true);
    place
}

corpusdb_test!(trained_tokens_survive_packing_and_splitting, turns(), |place| {
    let corpus = place.reader();
    let all = stored(&corpus);
    let mut random = Random::new(52);
    let chats: Vec<_> = all.iter().filter(|of| of.source == "chats" && of.kept).collect();
    assert!(chats.len() > 40 && chats.iter().all(|of| of.loss.is_some()));
    assert!(chats.iter().filter(|of| of.ids.as_ref().unwrap().len() > 200).count() > 10);
    let specials = [
        "eos = \"<|eos|>\", pad = \"<|pad|>\"",
        "bos = \"<|bos|>\", eos = \"<|eos|>\", pad = \"<|pad|>\"",
        "pad = \"<|pad|>\"",
    ];
    let mut number = 0;
    for pack in ["best-fit", "greedy", "concat", "none"] {
        for long in ["split", "paragraph", "truncate"] {
            if pack == "concat" && long == "paragraph" {
                continue;
            }
            let side = if number % 2 == 0 { "right" } else { "left" };
            let multiple = if pack == "none" { 1 } else { 4 };
            let text = format!(
                "seed = {number}\n[select]\nmin_trained = 0\n[tokenizer]\nspecials = {{ {} }}\n[mix]\nunit = \"loss-tokens\"\ntokens = 1500\n\
                 [pack]\nkind = \"{pack}\"\nlength = 56\noptions = {{ long = \"{long}\", doc_multiple = {multiple}, pad_side = \"{side}\" }}\n\
                 [[source]]\nname = \"chats\"\nweight = 0.8\nmax_repeats = 200\n[[source]]\nname = \"web\"\nweight = 0.2\nmax_repeats = 90\n",
                specials[number % 3]
            );
            number += 1;
            let planned = plan(&corpus, &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            let run = Run::read(&corpus, &planned, &all, Run::all_of(&planned, &all), 3);
            run.check_conservation(&corpus);
            run.check_mix();
            run.check_epochs();
            check_worlds(&corpus, &run, &mut random);
            built(&place, &corpus, &planned, 1, &format!("out-{number}"), 2);
        }
    }
});
