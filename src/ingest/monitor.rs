//! Watches an ingest, and raises alarms: sources that lose too much, unreadable records, a cluster that grows large.

use super::fingerprinter::{FingerprintedChunk, FingerprintedItem, FingerprintedRecord};
use super::identify::PendingDocument;
use super::options::{IngestOptions, RecordForm};
use super::reject_tally::RejectTally;
use super::report::{Alarm, AlarmPair, CrowdedPair};
use crate::decide::{CommitDecisions, Decision};
use model::show::sql_literal;
use model::{CommitSeq, ComparedPart, DocId, Error, ErrorKind, Standing};
use roaring::RoaringTreemap;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use store::{StoreError, View, system_fields};

/// Documents of an ingest before its share of removed ones may stop it.
const SETTLED: u64 = 10_000;
/// Documents before that share is worth a word.
const WORTH_A_WORD: u64 = 1_000;
/// Records of an ingest before their share of rejects may stop it, unless there are no more.
const MANY_RECORDS: u64 = 1_000;
/// Share of removed documents that raises an alarm when no limit is given.
const LOUD_SHARE: f64 = 0.5;
/// Documents of a source before it is worth a word that nine of ten were removed.
const SOURCE: u64 = 100;
/// Near duplicates of one document before that is worth a word, if they are half of the new documents of a source.
const NEAR_ONE: u64 = 20;
/// Conversations removed as similar before that is worth a word, if they are a tenth.
const WHOLE_CHATS: u64 = 10;
/// Witnesses counted; every one with more than 1/1024 of the removals is among them.
const COUNTED: usize = 1024;
/// Names of members counted that templates leave out.
const LEFT_OUT: usize = 64;
/// Updates of the same text before they are worth a word, if half of the updates are such.
const SAME_TEXT: u64 = 100;
/// Updates of the same text that are compared field by field.
const PAIRS: usize = 16;
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
    max_rejected: Option<f64>,
    rejected: RejectTally,
    /// Conversations come in.
    is_chat: bool,
    /// Conversations come in, and their whole text is compared.
    are_whole_chats: bool,
    /// Documents removed for similarity, and the last of them.
    similar: (u64, Option<DocId>),
    /// Conversations in which a template quoted arguments of tool calls a second time, and where the first stood.
    quoted_arguments: (u64, String),
    /// Members of messages that a template left out: in how many conversations, and where the first stood.
    left_out: BTreeMap<String, (u64, String)>,
    /// Conversations that were read.
    conversations: u64,
    /// Conversations of which nothing is trained on, and where the first stood.
    untrained: (u64, String),
    /// Hash and values of the chat template.
    template: Option<(String, String)>,
    /// No record has an id by an option of the ingest, and all are of its source.
    is_unkeyed: bool,
    /// Added documents that superseded one, and how many of them have the text of the superseded one.
    updated: u64,
    same_text: u64,
    /// The first of the latter, each with what it superseded.
    same_text_pairs: Vec<(DocId, DocId)>,
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
            max_rejected: options.max_rejected,
            rejected: RejectTally::new(options),
            is_chat: matches!(options.form, RecordForm::Chat(_)),
            are_whole_chats: matches!(options.form, RecordForm::Chat(_))
                && view.policy().compared == ComparedPart::Text,
            similar: (0, None),
            quoted_arguments: (0, String::new()),
            left_out: BTreeMap::new(),
            conversations: 0,
            untrained: (0, String::new()),
            template: template_of(options),
            is_unkeyed: options.read.id_field.is_none() && options.read.source_field.is_none(),
            updated: 0,
            same_text: 0,
            same_text_pairs: Vec::new(),
        }
    }

    /// Counts the records of a chunk, and those that could not be read.
    pub(super) fn count_records(&mut self, chunk: &FingerprintedChunk) {
        self.rejected.records += chunk.chunk.filtered;
        for item in chunk.items.iter().flatten() {
            self.rejected.records += 1;
            match item {
                FingerprintedItem::Reject(reject, _) => self.rejected.count(reject),
                FingerprintedItem::Document(record) if self.is_chat => self.count_chat(record),
                FingerprintedItem::Document(_) => {}
            }
        }
    }

    /// Takes note of what a template made of one conversation.
    fn count_chat(&mut self, record: &FingerprintedRecord) {
        self.conversations += 1;
        if record.has_quoted_arguments {
            count_first(&mut self.quoted_arguments, record);
        }
        for name in &record.left_out {
            if let Some(counted) = self.left_out.get_mut(name) {
                count_first(counted, record);
            } else if self.left_out.len() < LEFT_OUT {
                count_first(self.left_out.entry(name.clone()).or_default(), record);
            }
        }
    }

    /// Members that a template left out of many conversations, the most frequent first.
    fn left_out_alarms(&self) -> Vec<Alarm> {
        let of = self.conversations;
        let many = self.left_out.iter().filter(|(_, (count, _))| count.saturating_mul(100) >= of);
        let mut many: Vec<_> = many.collect();
        many.sort_by_key(|(name, (count, _))| (std::cmp::Reverse(*count), name.as_str()));
        let alarm = |(name, (count, first)): (&String, &(u64, String))| Alarm::LeftOut {
            member: name.clone(),
            conversations: *count,
            of,
            first: first.clone(),
        };
        many.into_iter().map(alarm).collect()
    }

    /// Takes note of a conversation without a token that is trained on.
    pub(super) fn count_untrained(&mut self, record: &FingerprintedRecord) {
        count_first(&mut self.untrained, record);
    }

    /// Takes note of what one newcomer is by itself, and of what it supersedes.
    pub(super) fn count_new(&mut self, new: &PendingDocument<'_>) {
        let spans = new.prepared.form.as_ref().and_then(|form| form.spans.as_ref());
        if self.is_chat && spans.is_some_and(Vec::is_empty) {
            self.count_untrained(new.prepared);
        }
        let Some(before) = new.supersedes else { return };
        self.updated += 1;
        if new.has_text_of_superseded {
            self.same_text += 1;
            if self.same_text_pairs.len() < PAIRS {
                self.same_text_pairs.push((new.id, before));
            }
        }
    }

    /// Refuses the batch with which the share of rejects would cross the limit. `is_last`: all records were read.
    pub(super) fn check_rejected_share(&self, is_last: bool, view: &View) -> Result<(), Error> {
        let Some(limit) = self.max_rejected else { return Ok(()) };
        let tally = &self.rejected;
        if tally.share() <= limit || !(is_last || tally.records >= MANY_RECORDS) {
            return Ok(());
        }
        let why = tally.most_frequent().map(|of_kind| {
            let first = format!("{} of them like {}", of_kind.count, of_kind.first);
            tally.mend(of_kind).map_or(first.clone(), |mend| format!("{mend} ({first})"))
        });
        let message = format!(
            "{} of {} records would be rejected, more than the share of {limit} allowed; the last batch is not committed: {}; {}",
            tally.rejected,
            tally.records,
            why.unwrap_or_default(),
            self.undo(view)
        );
        Err(Error::of(ErrorKind::Failed, message))
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
        decisions: &CommitDecisions,
        view: &View,
    ) -> Result<(), Error> {
        let Some(limit) = self.max_removed else { return Ok(()) };
        let share = self.share();
        if self.added < SETTLED || share <= limit {
            return Ok(());
        }
        let example = match self.last {
            Some((document, Decision { matched: Some(matched), .. })) => {
                let key = |id: DocId| {
                    Ok::<_, Error>(decisions.key(id)?.unwrap_or_else(|| id.to_string()))
                };
                let witness_key = match matched.witness.0 < view.documents() {
                    true => view.display_key(matched.witness)?,
                    false => key(matched.witness)?,
                };
                let key = key(document)?;
                format!(
                    "`{key}` was taken for a duplicate of `{witness_key}` (similarity {:.3})",
                    matched.jaccard()
                )
            }
            _ => "no pair to show".to_owned(),
        };
        let message = format!(
            "{} of {} documents would be removed as duplicates, more than the share of {limit} allowed; the last batch is not committed: {example}; {}",
            self.removed,
            self.added,
            self.undo(view)
        );
        Err(Error::of(ErrorKind::Failed, message))
    }

    /// How to take back what was committed before.
    fn undo(&self, view: &View) -> String {
        if view.commit() > self.since {
            let source = match self.has_many_sources {
                true => String::new(),
                false => format!("source = {} AND ", sql_literal(&self.source)),
            };
            format!(
                "`corpusdb remove CORPUS --where \"{source}commit > {}\" --no-block` removes what this ingest committed before",
                self.since
            )
        } else {
            "nothing of this ingest was committed".to_owned()
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "document counts are below 2^53")]
    fn share(&self) -> f64 {
        self.removed as f64 / self.added.max(1) as f64
    }

    /// The alarms at the end of an ingest that added documents from `since` on and read `records`, with `unchanged`
    /// records that were not read again.
    pub(super) fn alarms(
        &self,
        view: &View,
        since: DocId,
        records: u64,
        unchanged: u64,
    ) -> Result<Vec<Alarm>, StoreError> {
        let mut alarms = self.reject_alarms(records, unchanged);
        if let (conversations @ 1.., first) = &self.quoted_arguments {
            let (conversations, first) = (*conversations, first.clone());
            alarms.push(Alarm::QuotedArguments { conversations, first });
        }
        alarms.extend(self.left_out_alarms());
        if let (conversations @ 1.., first) = &self.untrained {
            let (conversations, first) = (*conversations, first.clone());
            alarms.push(Alarm::Untrained { conversations, first });
        }
        alarms.extend(self.forgotten_ids(view, since)?);
        if self.same_text >= SAME_TEXT && self.same_text.saturating_mul(2) >= self.updated {
            alarms.push(Alarm::FieldUpdates {
                updated: self.updated,
                same_text: self.same_text,
                fields: changed_fields(view, &self.same_text_pairs)?,
            });
        }
        let limit = self.max_removed.unwrap_or(LOUD_SHARE);
        let is_share_told = self.added >= WORTH_A_WORD && self.share() > limit;
        if is_share_told {
            let example = self.last.map(|(document, _)| example(view, document)).transpose()?;
            alarms.push(Alarm::RemovedShare {
                added: self.added,
                removed: self.removed,
                example: example.flatten(),
            });
        }
        let (similar, last_similar) = self.similar;
        let are_chats_told = self.are_whole_chats
            && similar >= WHOLE_CHATS
            && similar.saturating_mul(10) >= self.added;
        alarms.extend(sources_removed(view, since, (is_share_told, are_chats_told))?);
        if let (true, (removed, Some(document))) = (are_chats_told, (similar, last_similar)) {
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

impl IngestMonitor {
    /// Whether records without ids came from `since` on into a source whose last document before has one, or has its text
    /// of another chat template.
    fn forgotten_ids(&self, view: &View, since: DocId) -> Result<Option<Alarm>, StoreError> {
        let is_chat = self.template.is_some() && self.added > 0;
        if !self.is_unkeyed || self.added < SOURCE && !is_chat {
            return Ok(None);
        }
        let Some((source, record)) = view.source_named(&self.source) else { return Ok(None) };
        let documents =
            view.documents_with(system_fields::SOURCE, &system_fields::source_value(source))?;
        // What an archive gives has ids by itself.
        let is_new_keyed = match documents.iter().next_back() {
            Some(last) => view.key(DocId(last))?.is_some(),
            None => return Ok(None),
        };
        let before = documents.rank(since.0.saturating_sub(1)).checked_sub(1);
        let before = before.filter(|_| since.0 > 0 && !is_new_keyed);
        let Some(last) = before.and_then(|at| documents.select(at)) else { return Ok(None) };
        let (source, added) = (record.name.clone(), self.added);
        if let Some(key) = view.key(DocId(last))? {
            return Ok((added >= SOURCE).then_some(Alarm::IdsForgotten { source, added, key }));
        }
        let Some((hash, variables)) = &self.template else { return Ok(None) };
        let earlier = view.template_of(view.commit_of(DocId(last))?)?;
        let earlier =
            earlier.filter(|earlier| (&earlier.hash, &earlier.variables) != (hash, variables));
        Ok(earlier.map(|earlier| Alarm::OtherTemplate { source, added, earlier: earlier.hash }))
    }

    /// The alarms about records that could not be read.
    fn reject_alarms(&self, records: u64, unchanged: u64) -> Vec<Alarm> {
        let mut alarms = Vec::new();
        let tally = &self.rejected;
        let often = tally.most_frequent();
        // What is unchanged could be read once: beside it a stray file is not a failure of the whole.
        let is_lost = tally.rejected == records && unchanged == 0;
        let is_told = if let (Some(first), true) = (&tally.first, is_lost) {
            let mend = often.and_then(|of_kind| tally.mend(of_kind));
            alarms.push(Alarm::AllRejected { records, first: first.clone(), mend });
            true
        } else if let (Some(of_kind), true) = (often, tally.is_loud()) {
            alarms.push(Alarm::RejectedShare {
                records,
                rejected: tally.rejected,
                alike: of_kind.count,
                first: of_kind.first.clone(),
                mend: tally.mend(of_kind),
            });
            true
        } else {
            false
        };
        let told = often.filter(|_| is_told).map(|of_kind| of_kind.first.as_str());
        if let Some(missing) = tally.missing_ids().filter(|it| told != Some(it.first.as_str())) {
            alarms.push(Alarm::MissingIds {
                records,
                missing: missing.count,
                first: missing.first.clone(),
                mend: tally.mend(missing),
            });
        }
        if let (Some(first), false) = (&tally.first_file, is_lost) {
            alarms.push(Alarm::NotText { files: tally.files, first: first.clone() });
        }
        alarms
    }
}

/// Counts a record, and remembers where the first stood.
/// Hash and values of the chat template that writes the texts, if one does.
fn template_of(options: &IngestOptions) -> Option<(String, String)> {
    let RecordForm::Chat(chat) = &options.form else { return None };
    let template = chat.template.as_ref()?;
    Some((template.hash_words(), template.variables_words()))
}

fn count_first((count, first): &mut (u64, String), record: &FingerprintedRecord) {
    if *count == 0 {
        let origin = &record.record.origin;
        *first = format!("{}:{}", origin.path.display(), origin.number);
    }
    *count += 1;
}

/// The names of the fields that differ in one of the pairs, in the order of the alphabet.
fn changed_fields(view: &View, pairs: &[(DocId, DocId)]) -> Result<Vec<String>, StoreError> {
    let members = |document: DocId| -> Result<BTreeMap<String, Box<RawValue>>, StoreError> {
        Ok(serde_json::from_str(&view.metadata(document)?).unwrap_or_default())
    };
    let mut names = BTreeSet::new();
    for (new, before) in pairs.iter().filter(|(new, _)| new.0 < view.documents()) {
        let (new, before) = (members(*new)?, members(*before)?);
        let is_other = |name: &&String| {
            new.get(*name).map(|value| value.get()) != before.get(*name).map(|value| value.get())
        };
        names.extend(new.keys().chain(before.keys()).filter(is_other).cloned());
    }
    Ok(names.into_iter().collect())
}

/// Alarms about sources half of whose documents, 20 or more, are near duplicates of one document, or nine tenths of
/// whose documents were removed; documents from `since` on count. What other alarms say of all documents and of
/// similar conversations is not repeated.
fn sources_removed(
    view: &View,
    since: DocId,
    (is_share_told, are_chats_told): (bool, bool),
) -> Result<Vec<Alarm>, StoreError> {
    let near = view.documents_standing(Standing::Near)?;
    let removed = &near | view.documents_standing(Standing::Exact)?;
    let mut alarms = Vec::new();
    for (source, record) in view.sources() {
        let mut added =
            view.documents_with(system_fields::SOURCE, &system_fields::source_value(source))?;
        added.remove_range(..since.0);
        let (near, lost) = (&added & &near, &added & &removed);
        let half = added.len().div_ceil(2).max(NEAR_ONE);
        let alike = match are_chats_told {
            true => Vec::new(),
            false => near_ones(view, &near, half)?,
        };
        let source = || record.name.clone();
        for (removed, first) in &alike {
            let (added, example) = (added.len(), example(view, *first)?);
            alarms.push(Alarm::NearOne { source: source(), added, removed: *removed, example });
        }
        let is_gone = added.len() >= SOURCE && lost.len() * 10 >= added.len() * 9;
        if is_gone && alike.is_empty() && !is_share_told {
            let example = lost.min().map(|document| example(view, DocId(document))).transpose()?;
            alarms.push(Alarm::SourceRemoved {
                source: source(),
                added: added.len(),
                removed: lost.len(),
                example: example.flatten(),
            });
        }
    }
    Ok(alarms)
}

/// The witnesses that `half` of some near duplicates have, which is half of them at least: how many have each, and the
/// first of these.
///
/// Two counters find them (Misra and Gries 1982): a removal raises the counter of its witness, takes a free one, or
/// lowers both, so that it leaves together with two of other witnesses. Of n removals at most n / 3 leave so for each
/// witness, and one that half of them have keeps a counter. What it holds falls short of the true number by n / 3 at
/// most, so that the rest need not be read once no counter can reach the half. `members` then has the true numbers.
fn near_ones(
    view: &View,
    near: &RoaringTreemap,
    half: u64,
) -> Result<Vec<(u64, DocId)>, StoreError> {
    let mut counters: BTreeMap<DocId, u64> = BTreeMap::new();
    for (document, read) in near.iter().zip(1_u64..) {
        let most = counters.values().copied().max().unwrap_or_default();
        if most + read / 3 + (near.len() - read + 1) < half {
            return Ok(Vec::new());
        }
        let Some(matched) = view.match_of(DocId(document))? else { continue };
        if let Some(count) = counters.get_mut(&matched.witness) {
            *count += 1;
        } else if counters.len() < 2 {
            counters.insert(matched.witness, 1);
        } else {
            counters.retain(|_, count| {
                *count -= 1;
                *count > 0
            });
        }
    }
    let mut found = Vec::new();
    for witness in counters.into_keys() {
        let members = view.members(witness)?;
        let mut members = members.into_iter().filter(|member| near.contains(member.0)).peekable();
        let Some(first) = members.peek().copied() else { continue };
        let count = members.count() as u64;
        if count >= half {
            found.push((count, first));
        }
    }
    Ok(found)
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
    let mut excerpt: String = text.chars().take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        excerpt.push('…');
    }
    excerpt
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
        witness_key: view.display_key(matched.witness)?,
        witness_text: excerpt_of(&view.text(matched.witness)?),
        jaccard: matched.jaccard(),
    }))
}
