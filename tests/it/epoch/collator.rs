//! Batches of trainers made of rows of built files are those that the plan gives.

use crate::support::checker::corpus::{CheckedCorpus, THREE, built, open, plan, pour_chats};
use crate::support::{corpusdb_test, outputs};
use corpusdb::epoch::{
    BatchForm, BuiltCollator, BuiltRow, Contract, EpochError, Manifest, StreamOptions,
};
use serde::Deserialize;
use std::fs;
use std::path::Path;

#[derive(Deserialize)]
struct Line {
    input_ids: Vec<u32>,
    seq_lengths: Vec<u32>,
    labels: Option<Vec<i32>>,
    loss_mask: Option<Vec<i8>>,
    loss_weights: Option<Vec<f32>>,
}

/// The rows of a build in JSON lines.
fn lines(out: &Path) -> Vec<BuiltRow> {
    let mut files: Vec<_> = fs::read_dir(out).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let text: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let row = |line: &str| {
        let line: Line = serde_json::from_str(line).unwrap();
        BuiltRow {
            ids: line.input_ids,
            seq_lengths: line.seq_lengths,
            labels: line.labels,
            loss_mask: line.loss_mask,
            loss_weights: line.loss_weights,
        }
    };
    text.lines().map(row).collect()
}

fn recipe(pack: &str, batch: &str, output: &str) -> String {
    format!(
        "[tokenizer]\nspecials = {{ bos = \"<|bos|>\", eos = \"<|eos|>\", pad = \"<|pad|>\" }}\n[pack]\n{pack}\n[batch]\nrows = 5\n{batch}\n[output]\nformat = \"jsonl\"\n{output}\n"
    )
}

/// Whether every batch of every contract is that of the plan; how many contracts rows of this kind have.
fn check(place: &CheckedCorpus, text: &str) -> usize {
    let corpus = place.reader();
    let planned = plan(&corpus, text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let name = blake3::hash(text.as_bytes()).to_hex();
    let out = built(place, &corpus, &planned, 0, &name, 1);
    let (manifest, rows) = (Manifest::read(&out).unwrap(), lines(&out));
    let epoch = open(&corpus, &planned, 0);
    let mut served = 0;
    for contract in Contract::ALL {
        let form = BatchForm { contract: Some(contract), ..BatchForm::default() };
        let (collator, maker) = match (manifest.collator(contract), epoch.tensors(&form)) {
            (Ok(collator), Ok(maker)) => (collator, maker),
            (Err(of_files), Err(of_plan)) => {
                assert_eq!(of_files.to_string(), of_plan.to_string());
                continue;
            }
            (of_files, of_plan) => panic!("{of_files:?}\n{of_plan:?}\n{text}"),
        };
        served += 1;
        let mut left = rows.iter();
        for batch in epoch.stream(&StreamOptions::default()).unwrap() {
            let batch = batch.unwrap();
            let own = left.by_ref().take(batch.rows.len()).cloned().collect();
            let found = collator.tensors(own).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(found, maker.tensors(&batch).unwrap(), "{contract:?}\n{text}");
        }
        assert!(left.next().is_none(), "{text}");
    }
    served
}

corpusdb_test!(
    batches_of_built_rows_are_those_of_the_plan,
    CheckedCorpus::of(71, &THREE),
    |place| {
        let packs = [
            ("kind = \"best-fit\"\nlength = 64", 5),
            ("kind = \"greedy\"\nlength = 64\ndoc_multiple = 8", 5),
            (
                "kind = \"greedy\"\nlength = 64\ntarget = \"extra\"\ndoc_multiple = 8\npad_side = \"left\"",
                5,
            ),
            ("kind = \"concat\"\nlength = 48", 5),
            ("kind = \"best-fit\"\nlength = 64\npad_side = \"left\"\npad_view = \"each\"", 5),
            ("kind = \"none\"\nlength = 64\nlong = \"truncate\"", 2),
        ];
        for (pack, contracts) in packs {
            let (kind, options) = pack.split_once("\nlength").unwrap();
            let (length, options) = options.split_once('\n').unwrap_or((options, ""));
            let pack = format!("{kind}\nlength{length}\n[pack.options]\n{options}");
            for batch in ["", "tail = \"pad\""] {
                assert_eq!(check(&place, &recipe(&pack, batch, "")), contracts, "{pack}");
            }
        }
        let padded =
            "kind = \"none\"\nlength = 64\n[pack.options]\npad_side = \"left\"\ndoc_multiple = 4";
        assert_eq!(check(&place, &recipe(padded, "pad = \"longest\"", "")), 2);
    }
);

#[test]
fn built_rows_of_chats_are_trained_where_answers_are() {
    let place = CheckedCorpus::of(72, &[("web", 60, 3, 40)]);
    pour_chats(&place, false);
    let pack = "kind = \"best-fit\"\nlength = 64";
    for columns in ["", "columns = [\"loss_mask\"]", "columns = [\"labels\"]", "ignore_loss = true"]
    {
        assert_eq!(check(&place, &recipe(pack, "", columns)), 5, "{columns}");
    }
}

// MDS has no empty arrays: its rows of pads have a segment of 0 tokens, which was refused as one without tokens.
corpusdb_test!(
    rows_of_pads_of_mds_are_rows_without_segments,
    CheckedCorpus::of(74, &THREE),
    |place| {
        let corpus = place.reader();
        let pack = "kind = \"best-fit\"\nlength = 64";
        let text = recipe(pack, "tail = \"pad\"", "").replace("rows = 5", "rows = 50");
        let built = |format: &str| {
            let text = text.replace("jsonl", format);
            built(&place, &corpus, &plan(&corpus, &text).unwrap(), 0, format, 1)
        };
        let (of_lines, of_mds) = (built("jsonl"), built("mds"));
        let wanted = lines(&of_lines);
        let narrow = |numbers: &[i64]| numbers.iter().map(|number| *number as u32).collect();
        let rows = outputs::rows(&of_mds);
        let found: Vec<BuiltRow> = rows
            .iter()
            .map(|row| BuiltRow {
                ids: narrow(&row.ids),
                seq_lengths: narrow(&row.lengths),
                ..BuiltRow::default()
            })
            .collect();
        assert!(found.iter().any(|row| row.seq_lengths == [0]));
        for contract in Contract::ALL {
            let tensors = |out: &Path, rows: &[BuiltRow]| {
                Manifest::read(out)
                    .unwrap()
                    .collator(contract)
                    .unwrap()
                    .tensors(rows.to_vec())
                    .unwrap()
            };
            assert_eq!(tensors(&of_mds, &found), tensors(&of_lines, &wanted), "{contract:?}");
        }
    }
);

#[track_caller]
fn refused(found: Result<impl Sized, EpochError>, words: &str) {
    let Err(error) = found else { panic!("{words} is taken") };
    assert!(error.to_string().contains(words), "{error}");
}

corpusdb_test!(
    rows_that_are_not_those_of_the_files_are_refused,
    CheckedCorpus::of(73, &THREE),
    |place| {
        let corpus = place.reader();
        let build = |output: &str| {
            let text = recipe("kind = \"best-fit\"\nlength = 64", "", "");
            let text = text.replace("format = \"jsonl\"", output);
            let planned = plan(&corpus, &text).unwrap();
            built(&place, &corpus, &planned, 0, &output.replace(['"', '\n', ' '], ""), 1)
        };
        let bare = Manifest::read(&build("format = \"raw\"")).unwrap();
        refused(bare.collator(Contract::Trl), "which do not say where documents end");

        let out = build("format = \"jsonl\"");
        let collator: BuiltCollator =
            Manifest::read(&out).unwrap().collator(Contract::Trl).unwrap();
        let row = lines(&out).swap_remove(0);
        let with = |change: &dyn Fn(&mut BuiltRow)| {
            let mut other = row.clone();
            change(&mut other);
            collator.tensors(vec![row.clone(), other])
        };
        assert!(with(&|_| ()).is_ok());
        let long: &dyn Fn(&mut BuiltRow) = &|row| row.seq_lengths.push(u32::MAX);
        refused(with(long), "row 1 of the batch has 64 ids, and segments of");
        refused(with(&|row| row.seq_lengths.push(0)), "has a segment without tokens");
        refused(with(&|row| row.seq_lengths = vec![0, 0]), "has a segment without tokens");
        refused(with(&|row| row.ids.truncate(8)), "row 1 of the batch has 8 ids");
        refused(with(&|row| row.labels = None), "has no `labels`, which the files have");
        refused(with(&|row| row.labels = Some(vec![1])), "has 64 ids and 1 values of `labels`");
        let half: &dyn Fn(&mut BuiltRow) = &|row| row.loss_weights = Some(vec![0.5; 64]);
        refused(with(half), "has loss weights other than 1");
    }
);
