//! The history of a corpus, commit by commit: what came in, and what was done in between.

use super::info::CommitInfo;
use crate::inspect::InspectError;
use model::CommitSeq;
use serde::Serialize;
use std::collections::VecDeque;
use store::View;

/// The history of a corpus: ingests in stretches of commits, and other commits.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Timeline {
    /// Stretches of commits, in their order: at most as many as were asked for, all but the last of equal length.
    pub stretches: Vec<CommitStretch>,
    /// The newest commits that are not ingests, oldest first, as many as were asked for.
    pub events: Vec<CommitInfo>,
    /// How many there are before these.
    pub earlier_events: u64,
}

/// What some commits in a row did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CommitStretch {
    /// The first of them.
    pub first: u64,
    /// The last of them.
    pub last: u64,
    /// How many of them are of ingests.
    pub ingests: u64,
    /// Documents that they added.
    pub added: u64,
    /// Those of them that were kept then.
    pub kept: u64,
    /// Stored documents whose standing they changed.
    pub changed: u64,
    /// Records that they rejected.
    pub rejected: u64,
}

/// The commits in at most `stretches` stretches, with the newest `events` that are not ingests. One row a commit is
/// read.
///
/// # Errors
/// [`InspectError`] when a row cannot be read.
pub fn timeline(view: &View, stretches: u64, events: usize) -> Result<Timeline, InspectError> {
    let last = view.commit().0;
    let length = last.saturating_add(1).div_ceil(stretches.max(1)).max(1);
    let mut told = Timeline::default();
    let mut newest = VecDeque::new();
    for number in 0..=last {
        let Some(record) = view.commit_record(CommitSeq(number))? else { continue };
        let begins = told.stretches.last().is_none_or(|it| it.first / length != number / length);
        if begins {
            told.stretches.push(CommitStretch { first: number, ..CommitStretch::default() });
        }
        if let Some(stretch) = told.stretches.last_mut() {
            stretch.last = number;
            stretch.added += record.added;
            stretch.kept += record.kept;
            stretch.changed += record.changed;
            stretch.rejected += record.rejected;
            stretch.ingests += u64::from(record.kind == "ingest");
        }
        if record.kind != "ingest" {
            newest.push_back(CommitInfo::from((CommitSeq(number), record)));
            if newest.len() > events {
                newest.pop_front();
                told.earlier_events += 1;
            }
        }
    }
    told.events = newest.into();
    Ok(told)
}
