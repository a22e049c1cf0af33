//! Marks that are computed lead to the same rows as those that were walked.

use super::{Known, Marks};
use crate::epoch::plan::Planned;
use crate::epoch::planning::{Against, plan};
use crate::epoch::recipe::Recipe;
use crate::epoch::rows::OpenedTo;
use crate::epoch::run::{Arrangement, BatchCursor, BatchedRow, Opened};
use crate::model::{DedupMode, Interrupt, Policy, Silent, TokenizerId};
use crate::store::{self, CommitRecord, Memory, TokenizerParts, TokenizerRecord, View, Writer};
use std::sync::Arc;

const TOKENIZER: &[u8] = br#"{"version":"1.0","added_tokens":[],"model":{"type":"WordLevel","vocab":{"<unk>":0},"unk_token":"<unk>"}}"#;

fn corpus(sources: &[&str]) -> (tempfile::TempDir, View) {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("corpus");
    store::create(&path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &[]).unwrap();
    let mut writer = Writer::open(&path, Memory::within(64 << 20), 1).unwrap();
    let record = TokenizerRecord {
        name: "t".to_owned(),
        hash: *blake3::hash(TOKENIZER).as_bytes(),
        vocab_size: 100,
        lineage: String::new(),
        backend: String::new(),
        encoded_to: u64::MAX,
        ..TokenizerRecord::default()
    };
    let mut batch = writer.begin().unwrap();
    batch
        .add_tokenizer(&record, TokenizerParts { file: TOKENIZER, ..TokenizerParts::default() })
        .unwrap();
    batch.commit(&CommitRecord::default()).unwrap();
    writer
        .generate(TokenizerId(0), sources, scratch.path(), &mut |block, values| {
            if (block as usize) < sources.len() {
                let count = if block as usize + 1 < sources.len() { 65_536 } else { 3001 };
                values.extend((0..count).map(|at| Some(1 + (at * at + block as i64) % 97)));
            }
            block as usize
        })
        .unwrap();
    let view = writer.view().clone();
    (scratch, view)
}

fn planned(view: &View, rest: &str) -> Planned {
    let recipe = Recipe::parse(&format!("version = 1\nseed = 7\n{rest}")).unwrap();
    let kept = view.kept().unwrap();
    plan(
        &Against { view, snapshot: "now", kept: &kept, memory: 1 << 30, ends: None },
        &recipe,
        &Silent,
    )
    .unwrap()
}

/// The rows from `row` on, as the marks leads to them.
fn rows(opened: &Arc<Opened>, by: &Arrangement, marks: &Marks, row: u64) -> Vec<BatchedRow> {
    let mut ordered = BatchCursor::at_row(opened, by, marks, row).unwrap();
    ordered.next_rows(5, u64::MAX).unwrap()
}

fn batch(opened: &Arc<Opened>, by: &Arrangement, marks: &Marks, batch: u64) -> Vec<BatchedRow> {
    let mut ordered = BatchCursor::at(opened, by, marks, batch).unwrap();
    ordered.next_rows(5, u64::MAX).unwrap()
}

#[test]
fn computed_and_walked_indexes_lead_to_the_same_rows() {
    let (_scratch, view) = corpus(&["web"]);
    let source = "[[source]]\nname = \"web\"\nmax_repeats = 6\n";
    let mut times = 0;
    for (order, batch_of) in [
        ("", ""),
        ("", "[batch]\nrows = 7\ntail = \"drop\"\n"),
        ("", "[batch]\nrows = 8\ntail = \"pad\"\n"),
        ("", "[batch]\nrows = 1\ntail = \"carry\"\n"),
        ("[order]\nkind = \"length-grouped\"\n", "[batch]\nrows = 4\n"),
    ] {
        let kind = if order.is_empty() { "best-fit" } else { "none" };
        let recipe = format!(
            "[tokenizer]\nspecials = {{ pad = \"<unk>\" }}\n{source}{order}{batch_of}[pack]\nkind = \"{kind}\"\nlength = 128\n[output]\nformat = \"parquet\"\n"
        );
        let planned = planned(&view, &recipe);
        let opened = Opened::open(&view, &planned.plan, &planned.pinned, OpenedTo::Give).unwrap();
        let by = Arrangement::of(&opened.plan);
        for epoch in [0, 1, 3] {
            let interrupt = Interrupt::default();
            let computed = Marks::of(&opened, &by, epoch, &interrupt).unwrap();
            let walked = Marks::walked(&opened, &by, epoch, &interrupt).unwrap();
            assert!(matches!(computed.marks, Known::Computed { .. }), "{recipe}");
            assert!(matches!(walked.marks, Known::Walked(_)));
            let facts = |marks: &Marks| {
                let ends = (marks.start.clone(), marks.end.row, marks.end.total());
                (ends, marks.rows, marks.pads, marks.batches, marks.left_out, marks.tokens())
            };
            assert_eq!(facts(&computed), facts(&walked), "{recipe}");
            let all = computed.rows + computed.pads;
            for row in [0, 1, 6, 7, 8, 499, all / 2, all - 9, all - 1] {
                let found = rows(&opened, &by, &computed, row);
                assert_eq!(found, rows(&opened, &by, &walked, row), "row {row} of {recipe}");
                assert!(!found.is_empty());
            }
            for number in [0, 1, 5, walked.batches / 3, walked.batches - 1, walked.batches] {
                let found = batch(&opened, &by, &computed, number);
                assert_eq!(found, batch(&opened, &by, &walked, number), "batch {number}");
            }
            times += 1;
        }
    }
    assert_eq!(times, 15);
}

#[test]
fn a_mix_and_a_part_of_a_pass_are_walked() {
    let (_scratch, view) = corpus(&["web", "books"]);
    let pack = "[pack]\nkind = \"best-fit\"\nlength = 128\n[output]\nformat = \"parquet\"\n";
    for recipe in
        [format!("[[source]]\nname = \"web\"\n[mix]\ntokens = 70000\n{pack}"), pack.to_owned()]
    {
        let planned = planned(&view, &recipe);
        let opened = Opened::open(&view, &planned.plan, &planned.pinned, OpenedTo::Give).unwrap();
        let by = Arrangement::of(&opened.plan);
        let marks = Marks::of(&opened, &by, 0, &Interrupt::default()).unwrap();
        assert!(matches!(marks.marks, Known::Walked(_)), "{recipe}");
    }
}
