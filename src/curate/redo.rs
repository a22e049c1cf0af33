//! Decides again under another policy, from stored sketches and texts.
//!
//! A new generation is filled beside the current one, commit by commit, and one small commit makes it current. Before
//! that switch the lineages that follow from the new policy are written beside it.

use super::commits::CommitLoop;
use super::refingerprint::refingerprint;
use super::tokenizers::load_to_write;
use crate::corpus::CorpusWriter;
use crate::decide::{
    Decision, DecisionSession, Lineages, LoadedTokenizer, Newcomer, RankNumbers, decide,
    stored_fingerprint,
};
use model::{
    BLOCK_SIZE, CommitSeq, Context, DocId, Error, ErrorKind, Generation, Hint, Match, Policy,
    SourceId, Standing, note_little_room, show,
};
use rayon::prelude::*;
use roaring::RoaringTreemap;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{
    BlockKind, CommitRecord, LineageRoots, RedoRecord, SourceTotals, StoreWriter, View,
    check_keep_order, system_fields,
};

/// Documents decided in one commit.
const CHUNK: u64 = 1 << 13;

/// Documents whose place is examined for one commit.
const PLACES: usize = 1 << 13;

/// Families whose rows are written once more by decisions under another policy.
const REDECIDED: [&str; 7] =
    ["exact", "bands", "bands_more", "band_runs", "matches", "members", "lineage"];

/// What another policy changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RedoReport {
    /// The policy before, in words.
    pub before: String,
    /// The new one.
    pub policy: String,
    /// Documents decided about.
    pub documents: u64,
    /// Documents that are kept under the policy in force.
    pub kept_before: u64,
    /// Documents that are kept under the new policy.
    pub kept_after: u64,
    /// The same for each source.
    pub sources: Vec<RedoSource>,
    /// Buckets that were read only in part.
    pub capped: u64,
}

/// What another policy changes in one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RedoSource {
    /// The name of the source.
    pub name: String,
    /// Documents kept before.
    pub kept_before: u64,
    /// Documents kept after.
    pub kept_after: u64,
    /// Documents that are no longer kept.
    pub newly_removed: u64,
    /// Documents that are newly kept.
    pub newly_kept: u64,
    /// UTF-8 bytes of kept texts before.
    pub bytes_before: u64,
    /// UTF-8 bytes of kept texts after.
    pub bytes_after: u64,
}

impl CorpusWriter {
    /// Decides every document again under another policy, beside the decisions in force: the answer
    /// says what would change. Goes on where an interrupted call stopped.
    ///
    /// # Errors
    /// [`Error`] when the policy wants other sketches than the stored ones, when its settings do not go together, or when
    /// it ranks by a field that is not declared as a number.
    pub fn redo(&mut self, policy: &Policy, context: &Context<'_>) -> Result<RedoReport, Error> {
        policy.check()?;
        check_keep_order(&policy.keep, self.view().fields())?;
        let is_made_again = !self.view().policy().has_fingerprints_of(policy);
        let loaded = load_to_write(self.store())?;
        let context = self.within(context);
        // The decisions in force stay beside the new ones until the switch.
        let mut usage = self.view().disk_usage()?;
        usage.retain(|(family, _)| REDECIDED.contains(family));
        let most = usage.iter().map(|(_, bytes)| *bytes).sum();
        note_little_room("deciding again", self.corpus().path(), most, &context);
        if is_made_again {
            note_texts_read(self.view(), &context);
        }
        redo(self.store(), &loaded, policy, &context)
    }

    /// Makes the outcome of [`CorpusWriter::redo`] current. After an interrupt the same call continues, and what was
    /// decided before is in force until it is through.
    ///
    /// # Errors
    /// [`Error`] when none is finished under this policy, or for an interrupt.
    pub fn switch(&mut self, policy: &Policy, context: &Context<'_>) -> Result<(), Error> {
        let context = self.within(context);
        switch(self.store(), policy, &context)
    }
}

/// Says what sketches that are made again cost: each text is read when it is decided, and when its sketch is written.
fn note_texts_read(view: &View, context: &Context<'_>) {
    let bytes: u64 = view.sources().map(|(_, source)| source.bytes).sum();
    context.progress.note(&format!(
        "sketches are computed again from {} texts of {}, each read twice; an interrupted redo goes on where it stopped",
        show::number(view.documents()),
        show::size(bytes)
    ));
}

/// Decides every document again under `policy`, beside the current decisions, which stay in force.
/// Goes on where an interrupted one stopped. [`switch`] makes the outcome current.
///
/// # Errors
/// [`Error`] when the policy wants other sketches than the stored ones, when it compares another part of documents and
/// removals block by the one in force, or when a stop was requested.
pub fn redo(
    writer: &mut StoreWriter,
    tokenizers: &[LoadedTokenizer],
    policy: &Policy,
    context: &Context<'_>,
) -> Result<RedoReport, Error> {
    if let Some((asked, stored)) = writer.view().policy().fixed_against(policy) {
        return Err(Error::of(
            ErrorKind::BadPolicy,
            format!("this corpus cannot change to {asked}: it has {stored}"),
        )
        .with_hint(Hint::text(
            "the settings of sketches are fixed when a corpus is created: create a new corpus and ingest again",
        )));
    }
    refuse_other_part(writer.view(), policy)?;
    refingerprint(writer, context)?;
    let mut record = begin(writer, policy)?;
    let generation = Generation(record.generation);
    let documents = writer.view().documents();
    let carried = CarriedStandings::read(writer.view())?;
    let mut kept = Arc::new(writer.view().with_policy(policy.clone(), generation).kept()?);
    let mut commits = CommitLoop::begin("deciding again", Some(documents), context);
    while record.next < documents {
        commits.check_interrupt()?;
        let end = (record.next + CHUNK).min(documents);
        // The moment of this commit only: an older one would keep compactions from their end.
        let now = writer.view().clone();
        let mut batch =
            writer.begin_under(policy, generation, Arc::clone(&kept), DocId(record.next))?;
        let mut session = DecisionSession::begin(&batch, context.interrupt);
        let mut numbers = RankNumbers::default();
        for id in record.next..end {
            numbers.read(&now, session.order_field(), DocId(id))?;
        }
        // Fingerprints are those that the new policy asks for.
        let under = now.with_policy(policy.clone(), generation);
        let read = |id: u64| stored((&now, &under), &carried, &numbers, DocId(id));
        let documents: Vec<(DocId, Newcomer, Option<Decision>)> =
            (record.next..end).into_par_iter().map(read).collect::<Result<_, _>>()?;
        for (document, newcomer, carried) in documents {
            session.admit(document, newcomer, carried)?;
        }
        let (newly_kept, decided) = decide(&mut batch, session, tokenizers, false)?;
        record.capped += decided.counts.capped;
        record.next = end;
        batch.put_redo(Some(&record))?;
        commits.commit(batch, &about(format!("documents below {end}")), end)?;
        let kept = Arc::make_mut(&mut kept);
        kept.extend(newly_kept.iter().map(|id| id.0));
        decided.no_longer_kept.iter().for_each(|id| {
            kept.remove(id.0);
        });
    }
    commits.end();
    compare(writer.view(), policy, &kept, record.capped)
}

/// Makes the outcome of a finished [`redo`] current and forgets the decisions before it. Whose place documents take is
/// written before that, in commits of its own.
///
/// # Errors
/// [`Error`] when none is finished under this policy, or after an interrupt: the same call continues. Until it is through the decisions before are in force or, while fingerprints are written, nothing else
/// is.
pub fn switch(
    writer: &mut StoreWriter,
    policy: &Policy,
    context: &Context<'_>,
) -> Result<(), Error> {
    if writer.view().refingerprinted()?.is_some() && writer.view().policy() == policy {
        // The redo was stopped when its decisions were in force already.
        refingerprint(writer, context)?;
        return Ok(writer.flush()?);
    }
    let record = resumable(writer.view(), policy)?
        .filter(|record| record.next >= writer.view().documents())
        .ok_or_else(|| {
            Error::of(ErrorKind::BadPolicy, "no finished redo under this policy")
                .with_hint(Hint::text("decide again").with_command("corpusdb dedup redo"))
        })?;
    let generation = Generation(record.generation);
    let before = writer.view().generation();
    let kept = writer.view().with_policy(policy.clone(), generation).kept()?;
    let mut commits = CommitLoop::begin("passing places on", None, context);
    write_lineages(writer, policy, (&record, &kept), &mut commits)?;
    let totals = totals(writer.view(), &kept)?;
    let is_other_version = !writer.view().policy().has_fingerprints_of(policy);
    let mut batch = commits.batch(writer)?;
    batch.put_refingerprinted(is_other_version.then_some(0))?;
    batch.drop_generation(before)?;
    batch.note_before(words(batch.view().policy())?);
    batch.switch(policy, generation, Arc::new(kept), &totals)?;
    commits.commit(batch, &about(policy.to_string()), record.next)?;
    commits.end();
    refingerprint(writer, context)?;
    Ok(writer.flush()?)
}

/// Refuses to compare another part of documents while removals block more than equal texts and keys: they block by the
/// compared part, and nothing else is known of purged documents, so the blocks would hold no more.
fn refuse_other_part(view: &View, policy: &Policy) -> Result<(), Error> {
    let (asked, stored) = (policy.compared, view.policy().compared);
    let is_blocking = |what| view.has_blocks(what);
    if asked != stored && (is_blocking(BlockKind::Normalised)? || is_blocking(BlockKind::Similar)?)
    {
        let message = format!(
            "this corpus cannot change to comparing {}: removals block normalised or similar texts by {}, and these blocks would hold no more",
            asked.name(),
            stored.name()
        );
        return Err(Error::of(ErrorKind::BadPolicy, message).with_hint(Hint::text(
            "restore these documents, change, and remove them again with `block=`; where they were purged, ingest into a new corpus",
        )));
    }
    Ok(())
}

fn about(subject: impl Into<String>) -> CommitRecord {
    CommitRecord::about("redo", subject)
}

fn words(policy: &Policy) -> Result<String, Error> {
    serde_json::to_string(policy).map_err(unstorable)
}

/// The error that a policy cannot be written as JSON, or read.
pub(super) fn unstorable(error: serde_json::Error) -> Error {
    Error::of(ErrorKind::BadPolicy, format!("the policy cannot be stored: {error}"))
}

/// The record of a re-decision under this policy that nothing happened after.
fn resumable(view: &View, policy: &Policy) -> Result<Option<RedoRecord>, Error> {
    let words = words(policy)?;
    let found = view.redo()?;
    Ok(found.filter(|record| record.policy == words && CommitSeq(record.commit) == view.commit()))
}

/// Goes on with a re-decision, or forgets it and begins another.
fn begin(writer: &mut StoreWriter, policy: &Policy) -> Result<RedoRecord, Error> {
    if let Some(record) = resumable(writer.view(), policy)? {
        return Ok(record);
    }
    let stale = writer.view().redo()?;
    let last = stale.as_ref().map_or(0, |record| record.generation);
    let record = RedoRecord {
        policy: words(policy)?,
        generation: last.max(writer.view().generation().0) + 1,
        next: 0,
        commit: 0,
        capped: 0,
    };
    let mut batch = writer.begin()?;
    if let Some(stale) = stale {
        batch.drop_generation(Generation(stale.generation))?;
        batch.forget_lineage(Generation(stale.generation))?;
    }
    batch.put_redo(Some(&record))?;
    batch.commit(&about("begun"))?;
    Ok(record)
}

/// The documents whose standing no policy changes.
struct CarriedStandings([(Standing, RoaringTreemap); 4]);

impl CarriedStandings {
    fn read(view: &View) -> Result<Self, Error> {
        let of = |standing| Ok::<_, Error>((standing, view.documents_standing(standing)?));
        Ok(Self([
            of(Standing::Removed)?,
            of(Standing::Purged)?,
            of(Standing::Superseded)?,
            of(Standing::Blocked)?,
        ]))
    }
}

fn stored(
    (view, under): (&View, &View),
    carried: &CarriedStandings,
    numbers: &RankNumbers,
    id: DocId,
) -> Result<(DocId, Newcomer, Option<Decision>), Error> {
    let standing = carried.0.iter().find(|(_, set)| set.contains(id.0)).map(|(found, _)| *found);
    let carried = match standing {
        None => None,
        Some(standing) => Some(Decision { standing, matched: view.match_of(id)? }),
    };
    let policy = under.policy();
    // Matches say how many shingles both have, also where none are compared.
    let has_print = policy.compares_words() || !policy.has_fingerprints_of(view.policy());
    let (header, sketch) = match has_print && carried.is_none() {
        true => stored_fingerprint(under, id)?,
        false => (view.document(id)?, None),
    };
    let number = numbers.known(id).flatten();
    Ok((id, Newcomer { header, sketch, shingles: None, number }, carried))
}

fn compare(
    view: &View,
    policy: &Policy,
    after: &RoaringTreemap,
    capped: u64,
) -> Result<RedoReport, Error> {
    let before = view.kept()?;
    let (totals_before, totals_after) = (totals(view, &before)?, totals(view, after)?);
    let removed = totals(view, &(&before - after))?;
    let added = totals(view, &(after - &before))?;
    let of = |totals: &BTreeMap<SourceId, SourceTotals>, id| {
        totals.get(&id).cloned().unwrap_or_default()
    };
    let sources = view.sources().map(|(id, source)| RedoSource {
        name: source.name.clone(),
        kept_before: of(&totals_before, id).kept,
        kept_after: of(&totals_after, id).kept,
        newly_removed: of(&removed, id).kept,
        newly_kept: of(&added, id).kept,
        bytes_before: of(&totals_before, id).bytes,
        bytes_after: of(&totals_after, id).bytes,
    });
    Ok(RedoReport {
        before: view.policy().to_string(),
        policy: policy.to_string(),
        documents: view.documents(),
        kept_before: before.len(),
        kept_after: after.len(),
        sources: sources.collect(),
        capped,
    })
}

/// The totals of documents, by source.
pub(super) fn totals(
    view: &View,
    documents: &RoaringTreemap,
) -> Result<BTreeMap<SourceId, SourceTotals>, Error> {
    let mut totals: BTreeMap<SourceId, SourceTotals> = BTreeMap::new();
    for block in view.blocks() {
        let sources = view.column_block(system_fields::SOURCE_OF, block)?;
        let bytes = view.column_block(system_fields::BYTES, block)?;
        let mut tokens = Vec::new();
        for (id, _) in view.tokenizers() {
            tokens.push((id, view.column_block(system_fields::tokens_of(id), block)?));
        }
        let mut slots = documents.iter();
        slots.advance_to(block * BLOCK_SIZE);
        for document in slots.map(DocId).take_while(|document| document.block() == block) {
            let sums = totals.entry(sources.source_of(document)?).or_default();
            sums.kept += 1;
            sums.bytes += bytes.expect(system_fields::BYTES, document)?;
            for (id, counts) in &tokens {
                if let Some(count) = counts.get(document.slot()) {
                    *sums.tokens.entry(*id).or_default() += count.unsigned_abs();
                }
            }
        }
    }
    Ok(totals)
}

/// A document under the policies before and after, in the clusters of both.
struct PolicyPair<'a> {
    before: &'a View,
    after: &'a View,
}

impl PolicyPair<'_> {
    fn matched(view: &View, document: DocId) -> Result<Option<Match>, Error> {
        Ok(view.match_of(document)?.filter(|found| found.is_duplicate()))
    }

    fn was(&self, document: DocId) -> Result<Option<Match>, Error> {
        Self::matched(self.before, document)
    }

    fn is(&self, document: DocId) -> Result<Option<Match>, Error> {
        Self::matched(self.after, document)
    }
}

/// Adds, in the generation that becomes current next and has `kept` documents, the roots of documents that
/// take another's place by it. Whatever is kept again goes first, since it may displace others.
///
/// # Errors
/// [`Error`] when the store cannot be read or written, or for a stop between two commits.
fn write_lineages(
    writer: &mut StoreWriter,
    policy: &Policy,
    (record, kept): (&RedoRecord, &RoaringTreemap),
    commits: &mut CommitLoop<'_>,
) -> Result<(), Error> {
    let kept_before = writer.view().kept()?;
    let again = kept - &kept_before;
    in_chunks(writer, (policy, record, commits), again, |both, lineages, document| {
        let own = lineages.before(document, both.was(document)?)?;
        lineages.join(document, own, &LineageRoots::default());
        Ok(())
    })?;
    let displaced = &kept_before - kept;
    in_chunks(writer, (policy, record, commits), displaced, |both, lineages, document| {
        let Some(next) = both.is(document)?.map(|found| found.witness) else { return Ok(()) };
        let takes = lineages.before(document, None)?;
        let own = lineages.before(next, None)?;
        lineages.join(next, own, &takes);
        Ok(())
    })?;
    // Duplicates of another witness than before continue by what they had.
    let mut moved = RoaringTreemap::new();
    let before = writer.view().clone();
    let after = before.with_policy(policy.clone(), Generation(record.generation));
    for matched in before.matched()? {
        let (document, _, was) = matched?;
        let next = PolicyPair::matched(&after, document)?.map(|found| found.witness);
        if was.is_duplicate() && next.is_some_and(|next| next != was.witness) {
            moved.insert(document.0);
        }
    }
    in_chunks(writer, (policy, record, commits), moved, |both, lineages, document| {
        let own = lineages.before(document, both.was(document)?)?;
        let next = both.is(document)?.map_or(document, |found| found.witness);
        if !lineages.before(next, None)?.holds(&own) {
            lineages.join(document, own, &LineageRoots::default());
        }
        Ok(())
    })
}

fn in_chunks(
    writer: &mut StoreWriter,
    (policy, record, commits): (&Policy, &RedoRecord, &mut CommitLoop<'_>),
    documents: RoaringTreemap,
    mut each: impl FnMut(&PolicyPair<'_>, &mut Lineages<'_>, DocId) -> Result<(), Error>,
) -> Result<(), Error> {
    let generation = Generation(record.generation);
    let mut documents = documents.iter().map(DocId).peekable();
    let mut done = 0;
    while documents.peek().is_some() {
        commits.check_interrupt()?;
        let before = writer.view().clone();
        let after = before.with_policy(policy.clone(), generation);
        let both = PolicyPair { before: &before, after: &after };
        // Under the new generation, so that what chunks before this one wrote is seen.
        let mut lineages = Lineages::new(&after)?;
        for document in documents.by_ref().take(PLACES) {
            done += 1;
            each(&both, &mut lineages, document)?;
        }
        let rows = lineages.rows()?;
        if rows.is_empty() {
            continue;
        }
        let kept = Arc::default();
        let next = DocId(record.next);
        let mut batch = writer.begin_under(policy, generation, kept, next)?;
        for (document, roots) in rows {
            batch.add_roots(document, &roots)?;
        }
        // A redo that is stopped here continues here.
        batch.put_redo(Some(record))?;
        commits.commit(batch, &about("lineages"), done)?;
    }
    Ok(())
}
