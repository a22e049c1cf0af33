//! Tests that positions computed by arithmetic lead to the same rows as those that were walked to.

use super::{Checkpoints, EpochIndex};
use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::lengths::corpus_of_lengths;
use crate::epoch::plan::Plan;
use crate::epoch::planning::{PlanInputs, plan};
use crate::epoch::recipe::Recipe;
use crate::epoch::rows::OpenPurpose;
use crate::epoch::run::counted;
use crate::epoch::run::index_store::{check_marks, index_epochs};
use crate::epoch::run::{BatchCursor, BatchSampler, BatchedRow, OpenPlan};
use model::{Context, Interrupt};
use std::sync::Arc;
use store::{CommitRecord, MarksRecord, StoreWriter, View};

fn corpus(sources: &[&str]) -> (tempfile::TempDir, View) {
    let (scratch, writer) = written(sources);
    let view = writer.view().clone();
    (scratch, view)
}

fn written(sources: &[&str]) -> (tempfile::TempDir, StoreWriter) {
    corpus_of_lengths(sources, &mut |block, values| {
        if (block as usize) < sources.len() {
            let count = if block as usize + 1 < sources.len() { 65_536 } else { 3001 };
            values.extend((0..count).map(|at| Some(1 + (at * at + block as i64) % 97)));
        }
        block as usize
    })
}

fn planned(view: &View, rest: &str) -> Plan {
    let recipe = Recipe::parse(&format!("version = 1\nseed = 7\n{rest}")).unwrap();
    let corpora = Corpora::alone(view);
    let moment = corpora.moment(None, None).unwrap();
    let kept = view.kept().unwrap();
    plan(
        &PlanInputs {
            corpora: &corpora,
            moment: &moment,
            kept: &kept,
            ends: None,
            interrupt: &Interrupt::default(),
        },
        &recipe,
        &Context::new(),
    )
    .unwrap()
}

/// A plan opened to give rows.
fn opened_of(view: &View, planned: &Plan) -> Arc<OpenPlan> {
    let corpora = Corpora::alone(view);
    OpenPlan::open(&corpora, planned, OpenPurpose::Give, &Interrupt::default()).unwrap()
}

/// The rows from `row` on, as the marks leads to them.
fn rows(
    opened: &Arc<OpenPlan>,
    by: &BatchSampler,
    marks: &EpochIndex,
    row: u64,
) -> Vec<BatchedRow> {
    let mut ordered = BatchCursor::at_row(opened, by, marks, row).unwrap();
    ordered.next_rows(5, u64::MAX).unwrap()
}

fn batch(
    opened: &Arc<OpenPlan>,
    by: &BatchSampler,
    marks: &EpochIndex,
    batch: u64,
) -> Vec<BatchedRow> {
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
        let opened = opened_of(&view, &planned);
        let by = BatchSampler::of(&opened.plan);
        for epoch in [0, 1, 3] {
            let interrupt = Interrupt::default();
            let computed = EpochIndex::of(&opened, &by, epoch, &interrupt).unwrap();
            let walked = EpochIndex::walked(&opened, &by, epoch, &interrupt).unwrap();
            assert!(matches!(computed.checkpoints, Checkpoints::ByNumber { .. }), "{recipe}");
            assert!(matches!(walked.checkpoints, Checkpoints::Walked(_)));
            let facts = |marks: &EpochIndex| {
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
        let opened = opened_of(&view, &planned);
        let by = BatchSampler::of(&opened.plan);
        let marks = EpochIndex::of(&opened, &by, 0, &Interrupt::default()).unwrap();
        assert!(matches!(marks.checkpoints, Checkpoints::Walked(_)), "{recipe}");
    }
}

/// Stored marks are those that were walked, whatever gives the rows; what opens by them walks nothing, and an epoch
/// behind one that is stored begins at its end.
#[test]
fn stored_marks_spare_the_walk_and_lead_to_the_same_rows() {
    let (_scratch, mut writer) = written(&["web", "books"]);
    let view = writer.view().clone();
    let sources = "[[source]]\nname = \"web\"\nmax_repeats = 9\nweight = 2.0\n[[source]]\nname = \"books\"\nmax_repeats = 9\nweight = 1.0\n";
    let web = "[[source]]\nname = \"web\"\nmax_repeats = 9\n";
    let curriculum =
        "[order]\nkind = \"curriculum\"\ncurriculum = { by = \"tokens\", strata = 3, c0 = 0.5 }\n";
    let grouped = "[order]\nkind = \"length-grouped\"\n";
    let tokens = 96_000;
    for (number, (pack, order, batch, sources)) in (1_u32..).zip([
        ("best-fit", "", "", sources),
        ("best-fit", "", "[batch]\nrows = 7\ntail = \"carry\"\n", sources),
        ("best-fit", curriculum, "[batch]\nrows = 8\ntail = \"pad\"\n", sources),
        ("concat", "", "[batch]\nrows = 7\ntail = \"drop\"\n", sources),
        ("concat", "", "", web),
        ("greedy", "", "[batch]\nrows = 5\ntail = \"carry\"\n", web),
        ("none", grouped, "[batch]\nmax_tokens = 900\n", sources),
    ]) {
        let recipe = format!(
            "[tokenizer]\nspecials = {{ pad = \"<unk>\" }}\n[mix]\ntokens = {tokens}\n{sources}{order}{batch}[pack]\nkind = \"{pack}\"\nlength = 32\n"
        );
        let planned = planned(&view, &recipe);
        let by = BatchSampler::of(&planned.plan);
        let interrupt = Interrupt::default();
        let anew = opened_of(&view, &planned);
        let (walked, first) =
            counted::during(|| EpochIndex::of(&anew, &by, 0, &interrupt).unwrap());
        assert!(first > 2500 && first >= walked.rows, "{recipe}");
        let mut all = vec![walked];
        for epoch in 1..3 {
            all.push(all[epoch - 1].next(&anew, &by, &interrupt).unwrap());
        }
        let mut batch = writer.begin().unwrap();
        for marks in &all[..2] {
            let record = marks.record(&anew).unwrap();
            assert!(record.bytes() < 100 * marks_of(marks), "{} bytes", record.bytes());
            batch.put_marks(number, &record).unwrap();
        }
        batch.commit(&CommitRecord::default()).unwrap();
        let view = writer.view().clone();
        let planned = Plan { stored: Some(number), ..planned };
        let opened = opened_of(&view, &planned);
        for (epoch, walked) in (0_u64..).zip(&all) {
            let of = || EpochIndex::of(&opened, &by, epoch, &interrupt).unwrap();
            let (found, gone_through) = counted::during(of);
            let beyond = if epoch < 2 { 0 } else { walked.rows + 1500 };
            assert!(gone_through <= beyond, "{gone_through} rows of epoch {epoch} of {recipe}");
            assert_eq!(&found, walked, "{recipe}");
            for row in [0, 1, 1023, found.rows / 2, found.rows - 1] {
                let stored = rows(&opened, &by, &found, row);
                assert_eq!(stored, rows(&anew, &by, walked, row), "row {row} of {recipe}");
            }
        }
        let (next, gone_through) = counted::during(|| all[0].next(&opened, &by, &interrupt));
        assert_eq!((next.unwrap(), gone_through), (all[1].clone(), 0));
    }
}

fn marks_of(marks: &EpochIndex) -> usize {
    match &marks.checkpoints {
        Checkpoints::Walked(marks) => marks.len() + 2,
        Checkpoints::ByNumber { .. } => 0,
    }
}

/// Stored indexes are believed when they are of this plan and fit it; else the epoch is walked, or the reason is
/// given.
#[test]
fn marks_of_another_plan_are_skipped_and_bad_ones_refused() {
    let (_scratch, mut writer) = written(&["web", "books"]);
    let view = writer.view().clone();
    let recipe = |seed: u64| {
        format!(
            "[tokenizer]\n[mix]\ntokens = 70000\n# {seed}\n[pack]\nkind = \"best-fit\"\nlength = 32\n"
        )
    };
    let planned = planned(&view, &recipe(1));
    let by = BatchSampler::of(&planned.plan);
    let interrupt = Interrupt::default();
    let anew = opened_of(&view, &planned);
    let walked = EpochIndex::of(&anew, &by, 0, &interrupt).unwrap();
    let record = walked.record(&anew).unwrap();
    let mut lists = Vec::new();
    record.for_each_list(|list| {
        lists.push(list.to_vec());
        Some(())
    });
    let made = |plan: [u8; 32], lists: &[Vec<u64>]| MarksRecord::of(plan, 0, lists.iter().cloned());
    let changed = |at: usize, place: usize, by: u64| {
        let mut lists = lists.clone();
        lists[at][place] += by;
        made(record.plan, &lists)
    };
    let mut open = |record: &MarksRecord| {
        let mut batch = writer.begin().unwrap();
        batch.put_marks(3, record).unwrap();
        batch.commit(&CommitRecord::default()).unwrap();
        let planned = Plan { stored: Some(3), ..planned.clone() };
        let opened = opened_of(writer.view(), &planned);
        let (marks, rows) = counted::during(|| EpochIndex::of(&opened, &by, 0, &interrupt));
        (marks, rows, check_marks(&Corpora::alone(writer.view()), &planned).unwrap())
    };
    let (found, gone_through, faults) = open(&record);
    assert_eq!(faults, []);
    assert_eq!((found.unwrap(), gone_through), (walked.clone(), 0));
    let (found, gone_through, faults) = open(&made([9; 32], &lists));
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(found.unwrap() == walked && gone_through >= walked.rows);
    let longer = [lists.as_slice(), &[vec![1, 2]]].concat();
    for wrong in [
        changed(0, 0, 1),
        changed(0, 1, 1),
        changed(1, 0, 1),
        changed(1, 1, 1),
        changed(2, 0, 1),
        changed(3, 1, 1 << 40),
        changed(3, 5, 1 << 33),
        made(record.plan, &lists[..2]),
        made(record.plan, &longer),
        made(record.plan, &[]),
    ] {
        let (found, _, faults) = open(&wrong);
        let error = found.unwrap_err().to_string();
        assert!(error.contains("`corpusdb epoch plan CORPUS PLAN`"), "{error}");
        assert!(matches!(faults.as_slice(), [fault] if fault.place == "epochs"), "{faults:?}");
    }
    // What does not fit is made again.
    let planned = Plan { stored: Some(3), ..planned };
    let view = writer.view().clone();
    let mut again = Vec::new();
    let context = Context::new();
    let made = index_epochs(&Corpora::alone(&view), &planned, 1, &context, |record| {
        again.push(record);
        Ok::<(), EpochError>(())
    });
    made.unwrap();
    assert_eq!(again, [record]);
}

/// The first form may be wrong where rows are carried to the next epoch: there it is passed over, elsewhere it serves.
/// `check --deep` sees any number that leads to other rows.
#[test]
fn carried_marks_of_the_first_form_are_passed_over() {
    let (_scratch, mut writer) = written(&["web", "books"]);
    let interrupt = Interrupt::default();
    for (number, tail) in (1_u32..).zip(["drop", "carry"]) {
        let recipe = format!(
            "[mix]\ntokens = 96000\n[batch]\nrows = 7\ntail = \"{tail}\"\n[[source]]\nname = \"web\"\nmax_repeats = 9\nweight = 2.0\n[[source]]\nname = \"books\"\nmax_repeats = 9\nweight = 1.0\n[pack]\nkind = \"best-fit\"\nlength = 32\n"
        );
        let planned = planned(writer.view(), &recipe);
        let by = BatchSampler::of(&planned.plan);
        let open = |view: &View, planned: &Plan| {
            OpenPlan::open(&Corpora::alone(view), planned, OpenPurpose::Give, &interrupt).unwrap()
        };
        let anew = open(writer.view(), &planned);
        let first = EpochIndex::of(&anew, &by, 0, &interrupt).unwrap();
        let walked = first.next(&anew, &by, &interrupt).unwrap();
        let planned = Plan { stored: Some(number), ..planned };
        let mut put = |record: &MarksRecord| {
            let mut batch = writer.begin().unwrap();
            batch.put_marks(number, record).unwrap();
            batch.commit(&CommitRecord::default()).unwrap();
            writer.view().clone()
        };
        let record = walked.record(&anew).unwrap();
        let mut lists = Vec::new();
        record.for_each_list(|list| {
            lists.push(list.to_vec());
            Some(())
        });
        let changed = |list: usize, place: usize, is_first_form: bool| {
            let mut lists = lists.clone();
            lists[list][place] += 1;
            let mut changed = MarksRecord::of(record.plan, 1, lists.into_iter());
            changed.is_first_form = is_first_form;
            changed
        };
        let mut of_first_form = record.clone();
        of_first_form.is_first_form = true;
        let view = put(&of_first_form);
        let opened = open(&view, &planned);
        let (found, gone_through) = counted::during(|| EpochIndex::of(&opened, &by, 1, &interrupt));
        assert_eq!(found.unwrap(), walked, "{tail}");
        assert_eq!(gone_through > 0, tail == "carry");
        assert_eq!(check_marks(&Corpora::alone(&view), &planned).unwrap(), []);
        if tail == "carry" {
            let view = put(&changed(0, 0, true));
            assert_eq!(check_marks(&Corpora::alone(&view), &planned).unwrap(), []);
            let opened = open(&view, &planned);
            assert_eq!(EpochIndex::of(&opened, &by, 1, &interrupt).unwrap(), walked);
        }
        let mut seen = 0;
        for (list, places) in lists.iter().enumerate() {
            for place in 0..places.len() {
                let view = put(&changed(list, place, false));
                let faults = check_marks(&Corpora::alone(&view), &planned).unwrap();
                seen += faults.len();
                if faults.is_empty() {
                    // The changed number means nothing in this plan: it counts rows drawn with replacement, for
                    // instance.
                    let opened = open(&view, &planned);
                    let found = EpochIndex::of(&opened, &by, 1, &interrupt).unwrap();
                    for row in [0, 1023, 1024, 2048, found.rows - 1] {
                        let of_walked = rows(&anew, &by, &walked, row);
                        assert_eq!(rows(&opened, &by, &found, row), of_walked, "{list}, {place}");
                    }
                }
            }
        }
        let numbers: usize = lists.iter().map(Vec::len).sum();
        assert!(seen * 10 > numbers * 8, "{seen} of {numbers} changes are seen");
    }
}
