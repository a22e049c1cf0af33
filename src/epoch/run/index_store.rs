//! EpochIndex that are stored with a plan: made when it is planned or asked for, and compared with a walk by `check --deep`.

use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::plan::Plan;
use crate::epoch::rows::OpenPurpose;
use crate::epoch::run::{BatchSampler, EpochIndex, OpenPlan};
use crate::model::{Context, Interrupt};
use crate::store::{CheckFault, MarksRecord, StoreError};

/// Calls `each` with the marks of the first `epochs` epochs of a plan, one epoch after another, as far as they need
/// a walk and are not stored, or not as they were written. Every epoch is walked once at most.
///
/// # Errors
/// [`EpochError::Infeasible`] when the plan has fewer epochs; [`EpochError::Stale`];
/// [`EpochError::Interrupted`]; [`EpochError::Store`]; those of `each`.
pub fn index_epochs<E: From<EpochError>>(
    corpora: &Corpora,
    planned: &Plan,
    epochs: u64,
    context: &Context<'_>,
    mut each: impl FnMut(MarksRecord) -> Result<(), E>,
) -> Result<(), E> {
    let Some(last) = epochs.checked_sub(1) else { return Ok(()) };
    planned.plan.check_feasible(last)?;
    context.progress.begin("marks", Some(epochs));
    let opened = OpenPlan::open(corpora, &planned.without_checkpoints(), OpenPurpose::Count)?;
    let sampler = BatchSampler::of(&planned.plan);
    let mut before: Option<EpochIndex> = None;
    for epoch in 0..epochs {
        let stored = match planned.stored {
            Some(number) => readable(EpochIndex::stored(&opened, &sampler, number, epoch))?,
            None => None,
        };
        let marks = match (stored, &before) {
            (Some(marks), _) => marks,
            (None, before) => {
                let marks = match before {
                    Some(before) => before.next(&opened, &sampler, context.interrupt)?,
                    None => EpochIndex::of(&opened, &sampler, epoch, context.interrupt)?,
                };
                if let Some(record) = marks.record(&opened) {
                    each(record)?;
                }
                marks
            }
        };
        before = Some(marks);
        context.progress.advance(epoch + 1);
    }
    Ok(())
}

/// Takes marks that are damaged for marks that are not there.
fn readable(
    marks: Result<Option<EpochIndex>, EpochError>,
) -> Result<Option<EpochIndex>, EpochError> {
    match marks {
        Err(EpochError::Store(StoreError::Corrupt { .. }) | EpochError::Stale(_)) => Ok(None),
        other => other,
    }
}

/// What of the marks stored with a plan is not what walking its epochs comes to. Bytes that cannot be read at all are
/// the store's to tell. A plan that no longer fits the corpus is left out, and so is one that draws from other corpora
/// than these.
///
/// # Errors
/// [`EpochError::Store`] when lengths cannot be read.
pub fn check_marks(corpora: &Corpora, planned: &Plan) -> Result<Vec<CheckFault>, EpochError> {
    let Some(number) = planned.stored else { return Ok(Vec::new()) };
    let stored = corpora.first().marked_epochs(number)?;
    let Some(last) = stored.last() else { return Ok(Vec::new()) };
    let opened = match OpenPlan::open(corpora, &planned.without_checkpoints(), OpenPurpose::Count) {
        Err(EpochError::Stale(_) | EpochError::Shards(_) | EpochError::OtherShard { .. }) => {
            return Ok(Vec::new());
        }
        opened => opened?,
    };
    let (sampler, interrupt) = (BatchSampler::of(&planned.plan), Interrupt::default());
    let mut faults = Vec::new();
    let mut before: Option<EpochIndex> = None;
    for epoch in 0..=*last {
        let walked = match &before {
            Some(before) => before.next(&opened, &sampler, &interrupt),
            None => EpochIndex::of(&opened, &sampler, epoch, &interrupt),
        };
        let walked = match walked {
            Err(EpochError::Infeasible { .. }) => None,
            walked => Some(walked?),
        };
        if stored.contains(&epoch) {
            let found = match corpora.first().epoch_marks(number, epoch) {
                Ok(found) => found,
                Err(StoreError::Corrupt { .. }) => None,
                Err(error) => return Err(error.into()),
            };
            let expected = walked.as_ref().and_then(|marks| marks.record(&opened));
            if found.is_some() && found != expected {
                let what = format!(
                    "the marks stored with plan {number} do not match its epoch {epoch}; `corpusdb epoch mark` computes them again"
                );
                faults.push(CheckFault { place: "epochs".to_owned(), what });
            }
        }
        before = walked;
        if before.is_none() {
            break;
        }
    }
    Ok(faults)
}
