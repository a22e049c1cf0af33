//! The end of a load: what waited for its witness is removed, and all documents stand as they are said to.
//!
//! The rows are read once more for it, so that nothing is held of what waits; what was done is told by the standings of
//! the store, so that whoever was stopped goes on. Where stored documents stand otherwise, what follows from a removal
//! is decided, and the rows are read until nothing is left to do.

use super::changed::StatusChangeFiles;
use super::said::{ExpectedStatus, row_error};
use crate::decide::{LoadedTokenizer, Refused, Session, encode_again};
use crate::ingest::error::IngestError;
use crate::ingest::judge::{LoadValidator, check_standing};
use crate::ingest::options::IngestOptions;
use crate::ingest::report::IngestReport;
use crate::input::{InputFile, InputReader};
use crate::model::{Context, DocId, Match, Standing};
use crate::store::{BlockStandings, CommitRecord, Writer};
use std::collections::BTreeMap;

/// Documents that one commit removes.
const PART: usize = 2048;
/// How often rows are read: what follows from one removal is done in the next round.
const ROUNDS: usize = 16;

/// What is read, and by what documents are encoded that are kept again.
pub(super) struct LoadFinisher<'a> {
    pub(super) files: &'a [InputFile],
    pub(super) changed: &'a StatusChangeFiles,
    pub(super) options: &'a IngestOptions,
    pub(super) tokenizers: &'a [LoadedTokenizer],
    /// What the load did so far: commits, tokens and refused texts are added to it.
    pub(super) report: &'a mut IngestReport,
}

/// What reading the rows once came to.
#[derive(Default)]
struct FinishRound {
    has_removed: bool,
    /// The first row that is not true yet, and cannot be made so.
    open: Option<IngestError>,
}

impl LoadFinisher<'_> {
    /// Removes what waited for its witness.
    ///
    /// # Errors
    /// [`IngestError::LoadRow`] for a row that cannot be true; [`IngestError`] when rows cannot be read or written.
    pub(super) fn finish(
        &mut self,
        writer: &mut Writer,
        judge: &mut LoadValidator,
        context: &Context<'_>,
    ) -> Result<(), IngestError> {
        for _ in 0..ROUNDS {
            let round = self.round(writer, judge, context)?;
            if round.has_removed && judge.changes {
                continue;
            }
            if let Some(error) = round.open {
                return Err(error);
            }
            writer.flush()?;
            return Ok(());
        }
        Err(IngestError::Load(format!(
            "after {ROUNDS} rounds documents do not stand as the load says; the same command goes on with it. If that ends so again, what the load says contradicts itself: take a new corpus, or a copy of the one that it was decided against, and ingest the documents"
        )))
    }

    /// Reads all rows, stored documents first, and removes what can be removed.
    fn round(
        &mut self,
        writer: &mut Writer,
        judge: &mut LoadValidator,
        context: &Context<'_>,
    ) -> Result<FinishRound, IngestError> {
        let (kept, view) = (writer.view().kept()?, writer.view().clone());
        let documents = view.documents().saturating_sub(judge.before);
        context.progress.begin("removing what waited for its witness", Some(documents));
        let (mut round, mut rows, mut part) = (FinishRound::default(), 0, Vec::new());
        let (changed, files) = (self.changed, self.files);
        changed.each_expected(&view, context.interrupt, |said| {
            part.push(said);
            if part.len() < PART {
                return Ok(());
            }
            self.part(writer, &std::mem::take(&mut part), judge, context, &mut round)
        })?;
        let read = self.options.reads_all();
        for file in files {
            let mut reader = InputReader::open(file, &read)?;
            while let Some(item) = reader.next()? {
                if context.interrupt.is_raised() {
                    return Err(IngestError::Interrupted { report: Box::default() });
                }
                let document = DocId(judge.before + rows);
                rows += 1;
                let is_kept = kept.contains(document.0);
                // Decided alone a document is removed as soon as it can be, and stays so.
                if !is_kept && !judge.changes {
                    continue;
                }
                let said = ExpectedStatus::of(item, document, judge)?;
                if !said.is_settled_by_standing(is_kept) {
                    part.push(said);
                }
                if part.len() >= PART {
                    self.part(writer, &std::mem::take(&mut part), judge, context, &mut round)?;
                    context.progress.advance(rows);
                }
            }
        }
        self.part(writer, &part, judge, context, &mut round)?;
        context.progress.end();
        Ok(round)
    }

    /// Removes those of some documents that are said to be removed and are not, or not for that witness.
    fn part(
        &mut self,
        writer: &mut Writer,
        part: &[ExpectedStatus],
        judge: &mut LoadValidator,
        context: &Context<'_>,
        round: &mut FinishRound,
    ) -> Result<(), IngestError> {
        let given = pending_removals(writer, part, judge, round)?;
        if given.is_empty() {
            return Ok(());
        }
        let of_given = || part.iter().filter_map(|one| Some((one, *given.get(&one.document)?)));
        let sample = of_given().filter(|(one, _)| judge.is_compared(&one.identity));
        let sample: Vec<(DocId, Match)> =
            sample.map(|(one, matched)| (one.document, matched)).collect();
        let mut batch = writer.begin()?;
        let mut session = Session::new(&batch);
        session.heed(context.interrupt);
        let failed = |error| row_error(error, part);
        session.remove_given(&given, judge.takeover()).map_err(failed)?;
        for (one, matched) in of_given() {
            let found = session.outcome(one.document)?;
            // What followed may have brought back a better witness.
            if found.matched.is_some_and(|found| found.witness == matched.witness) {
                check_standing(one.standing, found.standing).map_err(|why| one.wrong(why))?;
            }
        }
        session.compare_given(&sample).map_err(failed)?;
        let again = session.newly_kept(true);
        session.apply(&mut batch)?;
        for tokenizer in self.tokenizers {
            let mut refused = Refused::default();
            let tokens = encode_again(&mut batch, tokenizer, &again, &mut refused)?;
            self.report.encoded(&tokenizer.name, tokens, refused);
        }
        batch.commit(&CommitRecord {
            kind: "load".to_owned(),
            subject: self.options.source.clone(),
            changed: given.len() as u64,
            ..CommitRecord::default()
        })?;
        judge.compared += sample.len() as u64;
        self.report.commits += 1;
        round.has_removed = true;
        Ok(())
    }
}

/// Of some documents those that do not stand as said, with their removals; of one that cannot be removed, the round is
/// told.
fn pending_removals(
    writer: &Writer,
    part: &[ExpectedStatus],
    judge: &LoadValidator,
    round: &mut FinishRound,
) -> Result<BTreeMap<DocId, Match>, IngestError> {
    let view = writer.view();
    let own: Vec<[u8; 16]> = part.iter().map(|one| one.identity).collect();
    let witness =
        |one: &ExpectedStatus| one.removal.as_ref().map(|of| judge.identity(of, &one.source));
    let witnesses: Vec<[u8; 16]> =
        part.iter().map(|one| witness(one).unwrap_or_default()).collect();
    let (own, witnesses) = (view.identities(&own)?, view.identities(&witnesses)?);
    let mut given = BTreeMap::new();
    let mut block: Option<(u64, BlockStandings)> = None;
    for ((one, own), witness) in part.iter().zip(own).zip(witnesses) {
        let is_stored = one.document.0 < judge.before;
        if !is_stored && own != Some(one.document) {
            return Err(one.wrong("another row was loaded in its place: the files were changed"));
        }
        let matched = one.matched(view, judge, witness)?;
        if !judge.changes {
            given.extend(matched.map(|matched| (one.document, matched)));
            continue;
        }
        let at = one.document.block();
        let standings = match block.take().filter(|(known, _)| *known == at) {
            Some((_, standings)) => standings,
            None => view.block_standings(at)?,
        };
        let standing = standings.of(one.document.slot()).unwrap_or(Standing::Purged);
        block = Some((at, standings));
        if one.is_current(view, standing, matched.as_ref())? {
            continue;
        }
        match matched {
            Some(matched)
                if standing.is_eligible() && view.standing(matched.witness)? == Standing::Kept =>
            {
                given.insert(one.document, matched);
            }
            _ => {
                let why = explain_difference(one, standing);
                round.open.get_or_insert_with(|| one.wrong(why));
            }
        }
    }
    Ok(given)
}

/// What is told of a document that does not stand as said.
fn explain_difference(one: &ExpectedStatus, found: Standing) -> String {
    let Err(why) = check_standing(one.standing, found) else {
        return "its witness is not kept".to_owned();
    };
    match one.standing {
        Standing::Superseded => format!("{why}: no document of the load has its key"),
        _ => why,
    }
}
