//! Watches an ingest: a source that loses too much, a cluster that grows too large.

use super::error::IngestError;
use super::options::{IngestOptions, RecordForm};
use super::report::{Alarm, AlarmPair, CrowdedPair};
use crate::decide::{Decision, Session};
use crate::model::{CommitSeq, Compared, DocId, Reject, RejectReason, Standing};
use crate::store::{StoreError, View, fields};
use std::collections::BTreeMap;

/// Documents of an ingest before its share of removed ones may stop it.
const SETTLED: u64 = 10_000;
/// Documents before that share is worth a word.
const WORTH_A_WORD: u64 = 1_000;
/// Share of removed documents that is said when no limit is given.
const LOUD_SHARE: f64 = 0.5;
/// Documents of a source before it is worth a word that nine of ten were removed.
const SOURCE: u64 = 100;
/// Conversations removed as similar before that is worth a word, if they are a tenth.
const WHOLE_CHATS: u64 = 10;
/// Witnesses counted; every one with more than 1/1024 of the removals is among them.
const COUNTED: usize = 1024;
/// Characters shown of an example's text.
const SHOWN: usize = 160;

/// Counts what an ingest removes, before each of its commits is final.
pub(super) struct IngestMonitor {
    max_removed: Option<f64>,
    max_cluster: u64,
    source: String,
    /// Records name their sources.
    has_many_sources: bool,
    since: CommitSeq,
    added: u64,
    removed: u64,
    /// Removals by witness: the heavy ones, by the algorithm of Misra and Gries (1982).
    clusters: BTreeMap<DocId, (u64, DocId)>,
    last: Option<(DocId, Decision)>,
    /// Decisions that left candidates out, and a pair that was not compared.
    open: u64,
    open_pair: Option<(DocId, DocId)>,
    rejected: RejectTally,
    /// Conversations come in, and their whole text is compared.
    are_whole_chats: bool,
    /// Of the removed, those removed for similarity, and the last of them.
    similar: (u64, Option<DocId>),
}

/// Records that could not be read, known before or not.
#[derive(Default)]
struct RejectTally {
    records: u64,
    first: Option<String>,
    /// Of these, files that are no text.
    files: u64,
    first_file: Option<String>,
}

impl IngestMonitor {
    pub(super) fn new(options: &IngestOptions, view: &View) -> Self {
        Self {
            max_removed: options.max_removed,
            max_cluster: options.max_cluster,
            source: options.source.clone(),
            has_many_sources: options.read.source_field.is_some(),
            since: view.commit(),
            added: 0,
            removed: 0,
            clusters: BTreeMap::new(),
            last: None,
            open: 0,
            open_pair: None,
            rejected: RejectTally::default(),
            are_whole_chats: matches!(options.form, RecordForm::Chat(_))
                && view.policy().compared == Compared::Text,
            similar: (0, None),
        }
    }

    /// Takes note of one record that could not be read.
    pub(super) fn reject(&mut self, reject: &Reject) {
        let Reject { reason, origin, .. } = reject;
        let RejectTally { records, first, files, first_file } = &mut self.rejected;
        *records += 1;
        first.get_or_insert_with(|| format!("{}: {reason}", origin.record()));
        if matches!(reason, RejectReason::NotText(_)) {
            *files += 1;
            first_file.get_or_insert_with(|| format!("{}: {reason}", origin.path.display()));
        }
    }

    /// Takes note of one newcomer.
    pub(super) fn count_decision(&mut self, document: DocId, outcome: &Decision) {
        self.added += 1;
        let (Standing::Exact | Standing::Near, Some(matched)) = (outcome.standing, outcome.matched)
        else {
            return;
        };
        self.removed += 1;
        if outcome.standing == Standing::Near {
            self.similar = (self.similar.0 + 1, Some(document));
        }
        self.last = Some((document, *outcome));
        if let Some((count, example)) = self.clusters.get_mut(&matched.witness) {
            *count += 1;
            *example = document;
        } else if self.clusters.len() < COUNTED {
            self.clusters.insert(matched.witness, (1, document));
        } else {
            self.clusters.retain(|_, (count, _)| {
                *count -= 1;
                *count > 0
            });
        }
    }

    /// Takes note of decisions that left candidates out.
    pub(super) fn count_unsettled(&mut self, (count, pair): (u64, Option<(DocId, DocId)>)) {
        self.open += count;
        self.open_pair = self.open_pair.or(pair);
    }

    /// Refuses the batch with which the share of removed documents would cross the limit.
    pub(super) fn check_removed_share(
        &self,
        session: &Session,
        view: &View,
    ) -> Result<(), IngestError> {
        let Some(limit) = self.max_removed else { return Ok(()) };
        let share = self.share();
        if self.added < SETTLED || share <= limit {
            return Ok(());
        }
        let example = match self.last {
            Some((document, Decision { matched: Some(matched), .. })) => {
                let key = session.header(document)?.key.unwrap_or_else(|| document.to_string());
                let witness = session.header(matched.witness)?;
                let witness_key = if matched.witness.0 < view.documents() {
                    view.display_key(&witness)?
                } else {
                    witness.key.unwrap_or_else(|| matched.witness.to_string())
                };
                format!(
                    "`{key}` was taken for a duplicate of `{witness_key}` (similarity {:.3})",
                    matched.jaccard()
                )
            }
            _ => "no pair to show".to_owned(),
        };
        let undo = if view.commit() > self.since {
            let source = match self.has_many_sources {
                true => String::new(),
                false => format!("source = '{}' AND ", self.source.replace('\'', "''")),
            };
            format!(
                "`corpusdb remove CORPUS --where \"{source}commit > {}\"` removes what this ingest committed before",
                self.since
            )
        } else {
            "nothing of this ingest was committed".to_owned()
        };
        Err(IngestError::TooManyRemoved {
            removed: self.removed,
            added: self.added,
            limit,
            example,
            undo,
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "document counts are below 2^53")]
    fn share(&self) -> f64 {
        self.removed as f64 / self.added.max(1) as f64
    }

    /// What is worth a word at the end of an ingest that added documents from `since` on and read `records`, with so many
    /// `unchanged` ones that were not read again.
    pub(super) fn alarms(
        &self,
        view: &View,
        since: DocId,
        records: u64,
        unchanged: u64,
    ) -> Result<Vec<Alarm>, StoreError> {
        let mut alarms = Vec::new();
        let RejectTally { records: rejected, first, files, first_file } = &self.rejected;
        // What is unchanged could be read once: beside it a stray file is no failure of the whole.
        let is_lost = *rejected == records && unchanged == 0;
        if let (Some(first), true) = (first, is_lost) {
            alarms.push(Alarm::AllRejected { records, first: first.clone() });
        } else if let Some(first) = first_file {
            alarms.push(Alarm::NotText { files: *files, first: first.clone() });
        }
        let limit = self.max_removed.unwrap_or(LOUD_SHARE);
        if self.added >= WORTH_A_WORD && self.share() > limit {
            let example = self.last.map(|(document, _)| example(view, document)).transpose()?;
            alarms.push(Alarm::RemovedShare {
                added: self.added,
                removed: self.removed,
                example: example.flatten(),
            });
        } else {
            alarms.extend(sources_removed(view, since)?);
        }
        if let (true, (removed, Some(document))) = (self.are_whole_chats, self.similar)
            && removed >= WHOLE_CHATS
            && removed.saturating_mul(10) >= self.added
        {
            let example = example(view, document)?;
            alarms.push(Alarm::WholeChats { added: self.added, removed, example });
        }
        let mut largest: Vec<(u64, DocId, DocId)> = self
            .clusters
            .iter()
            .map(|(witness, (count, document))| (*count, *witness, *document))
            .collect();
        largest.sort_unstable_by(|a, b| b.cmp(a));
        for (_, witness, document) in largest.into_iter().take(3) {
            let size = view.members(witness)?.len() as u64 + 1;
            if size > self.max_cluster {
                let example = example(view, document)?;
                alarms.push(Alarm::Cluster { witness: witness.0, size, example });
            }
        }
        if self.open > 0 {
            let known = |(a, b): &(DocId, DocId)| (*a).max(*b).0 < view.documents();
            let example = self.open_pair.filter(known).map(|pair| crowded_pair(view, pair));
            alarms.push(Alarm::Crowded { documents: self.open, example: example.transpose()? });
        }
        Ok(alarms)
    }
}

/// The sources of which nine of ten documents were removed, of those that came from `since` on.
fn sources_removed(view: &View, since: DocId) -> Result<Vec<Alarm>, StoreError> {
    let mut removed = view.documents_standing(Standing::Exact)?;
    removed |= view.documents_standing(Standing::Near)?;
    let mut alarms = Vec::new();
    for (source, record) in view.sources() {
        let mut added = view.documents_with(fields::SOURCE, &fields::source_value(source))?;
        added.remove_range(..since.0);
        let lost = &added & &removed;
        if added.len() >= SOURCE && lost.len() * 10 >= added.len() * 9 {
            let example = lost.min().map(|document| example(view, DocId(document))).transpose()?;
            alarms.push(Alarm::SourceRemoved {
                source: record.name.clone(),
                added: added.len(),
                removed: lost.len(),
                example: example.flatten(),
            });
        }
    }
    Ok(alarms)
}

fn crowded_pair(view: &View, (a, b): (DocId, DocId)) -> Result<CrowdedPair, StoreError> {
    Ok(CrowdedPair {
        document: a.0,
        text: excerpt_of(&view.text(a)?),
        other: b.0,
        other_text: excerpt_of(&view.text(b)?),
    })
}

fn excerpt_of(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

fn example(view: &View, document: DocId) -> Result<Option<AlarmPair>, StoreError> {
    if document.0 >= view.documents() {
        return Ok(None);
    }
    let Some(matched) = view.match_of(document)? else { return Ok(None) };
    Ok(Some(AlarmPair {
        removed: document.0,
        removed_text: excerpt_of(&view.text(document)?),
        witness: matched.witness.0,
        witness_key: view.display_key(&view.expect_header(matched.witness)?)?,
        witness_text: excerpt_of(&view.text(matched.witness)?),
        jaccard: matched.jaccard(),
    }))
}
