//! Checks what the store derives itself, and repairs it.
//!
//! A check reads the journal, checksums, bitmaps, columns, counters, and rows that name other rows. `curate` checks
//! what needs the crafts (sketches, similarities, ids). Rows that would have to be looked up value by value, or held
//! for the whole corpus, are compared by sums first: `postings`, `matches`.
//!
//! A repair makes again what is derived: `repair` empties the damaged families, `rebuild` computes a block of their
//! rows from base rows (`block` compares these with what is stored), `fill` writes what needs no craft, `carried` keeps
//! what follows from nothing else, and `lost` says what of that cannot be read.

mod block;
mod carried;
mod digest;
mod fill;
mod lost;
mod matches;
mod postings;
mod rebuild;
mod repair;
#[cfg(test)]
mod tests;
pub(crate) mod walk;

pub use digest::digest;
pub use lost::{LostRows, ranges};
pub use repair::{RepairStart, begin_repair};

use super::database::family::{FamilyVisitor, StoreFamily, check_row};
use super::system_fields;
use super::table::{FAMILIES, for_each_family};
use crate::error::{StoreError, is_derived};
use crate::files::journal::JournalContents;
use crate::reading::OpenedJournal;
use crate::view::View;
use block::{BlockCheck, SourceSums};
use model::{BLOCK_SIZE, Context, SourceId, Standing};
use postings::PostingSums;
use roaring::RoaringTreemap;
use std::collections::BTreeMap;
use std::path::Path;

/// How much `check` looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckDepth {
    /// Journal, versions, cardinalities of bitmaps against counters.
    Quick,
    /// Also every block of every file: checksums, and that every row decodes.
    Full,
    /// Also every derived thing, recomputed from the base rows.
    Deep,
}

/// A fault.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "cli", schemars(rename = "Fault"))]
pub struct CheckFault {
    /// Where: a family, or `journal`.
    pub place: String,
    /// What is wrong, with the document or row concerned.
    pub what: String,
}

impl CheckFault {
    /// What mends it: `repair`, which recomputes, or `salvage`, which copies what is intact; none where the next commit
    /// does.
    #[must_use]
    pub fn mends(&self) -> Option<&'static str> {
        let is_counter =
            ["meta", "sources"].contains(&self.place.as_str()) && self.what.contains(": stored ");
        match self.place.as_str() {
            "journal" | "check" | "outputs" => None,
            "bitmaps" => Some("repair"),
            place if is_derived(place) || is_counter => Some("repair"),
            _ => Some("salvage"),
        }
    }
}

/// Faults reported of one kind of thing before the rest is only counted.
const MOST: usize = 100;

/// Collects faults, bounded.
#[derive(Default)]
struct FaultList {
    found: Vec<CheckFault>,
    unlisted: u64,
}

impl FaultList {
    fn push(&mut self, place: &str, what: String) {
        if self.found.len() < MOST {
            self.found.push(CheckFault { place: place.to_owned(), what });
        } else {
            self.unlisted += 1;
        }
    }

    fn unequal<T: PartialEq + std::fmt::Display>(
        &mut self,
        place: &str,
        of: &str,
        stored: T,
        computed: T,
    ) {
        if stored != computed {
            self.push(place, format!("{of}: stored {stored}, computed {computed}"));
        }
    }
}

/// Checks the store of `view`, which was opened at `path` with that journal. Damage is in the answer; an error is
/// only what keeps the check itself from running.
///
/// # Errors
/// [`StoreError`] when the journal cannot be read; [`StoreError::Interrupted`].
pub fn check(
    view: &View,
    (journal, path): (&OpenedJournal, &Path),
    depth: CheckDepth,
    context: &Context<'_>,
) -> Result<Vec<CheckFault>, StoreError> {
    let mut faults = FaultList::default();
    check_journal(view, &journal.read(path)?, &mut faults);
    note(outputs(view, &mut faults), "outputs", &mut faults);
    note(cardinalities(view, &mut faults), "bitmaps", &mut faults);
    let damaged = view.damaged_tokenizers();
    note(
        damaged.map(|all| all.into_iter().for_each(|what| faults.push("tokenizers", what))),
        "tokenizers",
        &mut faults,
    );
    note(suites(view, depth, &mut faults), "suites", &mut faults);
    if depth >= CheckDepth::Full {
        context.progress.begin("reading every block", Some(FAMILIES.len() as u64));
        every_row(view, context, &mut faults);
        context.check_interrupt()?;
    }
    if depth >= CheckDepth::Deep {
        context.progress.begin("recomputing from base rows", Some(view.documents()));
        note(documents(view, context, &mut faults), "place_pages", &mut faults);
        context.check_interrupt()?;
        note(matches::check(view, &mut faults), "matches", &mut faults);
    }
    if faults.unlisted > 0 {
        let what = format!("{} further faults are not listed", faults.unlisted);
        faults.found.push(CheckFault { place: "check".to_owned(), what });
    }
    Ok(faults.found)
}

/// An error is a fault of the family that it is about, of `place` where it is about none.
fn note(result: Result<(), StoreError>, place: &str, faults: &mut FaultList) {
    if let Err(error) = result {
        faults.push(error.family().unwrap_or(place), error.to_string());
    }
}

fn check_journal(view: &View, entries: &JournalContents, faults: &mut FaultList) {
    if entries.damaged > 0 {
        faults.push("journal", format!("{} records do not decode", entries.damaged));
    }
    if entries.good.is_empty() {
        faults
            .push("journal", "it is missing or empty; the next commit begins it again".to_owned());
    }
    let known: Vec<_> =
        entries.good.iter().filter(|entry| entry.commit <= view.commit().0).collect();
    for pair in known.windows(2) {
        if let [before, after] = pair
            && (after.commit <= before.commit || after.documents < before.documents)
        {
            faults.push(
                "journal",
                format!("commit {} follows commit {}", after.commit, before.commit),
            );
        }
    }
    if let Some(entry) = known.iter().rev().find(|entry| entry.commit == view.commit().0) {
        faults.unequal(
            "journal",
            "documents of the last commit",
            entry.documents,
            view.documents(),
        );
    }
}

/// Checks that files of the folder `outputs` are entries; those taken in are rows among others.
fn outputs(view: &View, faults: &mut FaultList) -> Result<(), StoreError> {
    view.damaged_outputs()?.into_iter().for_each(|what| faults.push("outputs", what));
    Ok(())
}

fn cardinalities(view: &View, faults: &mut FaultList) -> Result<(), StoreError> {
    let mut seen = RoaringTreemap::new();
    let mut total = 0;
    for standing in Standing::ALL {
        let documents = view.documents_standing(standing)?;
        total += documents.len();
        seen |= documents;
    }
    faults.unequal("postings", "documents with a standing", seen.len(), view.documents());
    faults.unequal("postings", "standings of all documents", total, view.documents());
    if seen.max().is_some_and(|max| max >= view.documents()) {
        faults.push("postings", "a standing of a document that does not exist".to_owned());
    }
    let kept = view.kept()?;
    faults.unequal("meta", "kept documents", view.state().kept, kept.len());
    for (source, record) in view.sources() {
        let documents =
            view.documents_with(system_fields::SOURCE, &system_fields::source_value(source))?;
        let of = |what: &str| format!("{what} of source {}", record.name);
        faults.unequal("sources", &of("documents"), record.documents, documents.len());
        faults.unequal(
            "sources",
            &of("kept documents"),
            record.kept,
            documents.intersection_len(&kept),
        );
    }
    Ok(())
}

/// The items of every suite are there, and what texts have is of suites and documents that there are.
fn suites(view: &View, depth: CheckDepth, faults: &mut FaultList) -> Result<(), StoreError> {
    for (suite, record) in view.suites()? {
        let mut items = 0_u32;
        for item in view.suite_items(*suite)? {
            item?;
            items = items.saturating_add(1);
        }
        faults.unequal("suites", &format!("items of {}", record.name), record.items, items);
        if !record.is_complete() && record.next > view.documents() {
            let what = format!("{}: searched up to document {}", record.name, record.next);
            faults.push("suites", what);
        }
    }
    if depth >= CheckDepth::Full
        && let Some((suite, document)) = view.stray_sighting()?
    {
        let what = format!("suite {suite}, document {document}: one of them does not exist");
        faults.push("contamination", what);
    }
    if depth >= CheckDepth::Full {
        verdicts(view, faults)?;
    }
    Ok(())
}

/// Checks that verdicts are about existing items and texts.
fn verdicts(view: &View, faults: &mut FaultList) -> Result<(), StoreError> {
    if let Some((suite, item)) = view.stray_verdict()? {
        let what = format!("suite {suite}, item {item}: one of them does not exist");
        faults.push("verdicts", what);
    }
    // A purge takes them away last.
    if view.unended_purge()?.is_some() {
        return Ok(());
    }
    for (suite, record) in view.suites()? {
        let orphaned = view.orphaned_verdicts(*suite)?.len();
        if orphaned > 0 {
            let what = format!("{}: {orphaned} are of texts that no document has", record.name);
            faults.push("verdicts", what);
        }
    }
    Ok(())
}

/// Reads and decodes every row of every family; RocksDB verifies each block's checksum on the way.
fn every_row(view: &View, context: &Context<'_>, faults: &mut FaultList) {
    for_each_family(&mut RowDecodeCheck { view, context, faults, done: 0 });
}

struct RowDecodeCheck<'a> {
    view: &'a View,
    context: &'a Context<'a>,
    faults: &'a mut FaultList,
    done: u64,
}

impl FamilyVisitor for RowDecodeCheck<'_> {
    fn family<C: StoreFamily>(&mut self) {
        note(rows_decode::<C>(self.view, self.context), C::NAME, self.faults);
        self.done += 1;
        self.context.progress.advance(self.done);
    }
}

fn rows_decode<C: StoreFamily>(view: &View, context: &Context<'_>) -> Result<(), StoreError> {
    let mut rows = view.pinned().scan::<C>(&[], None)?;
    while let Some((key, value)) = rows.advance()? {
        check_row::<C>(key, value)?;
        context.check_interrupt()?;
    }
    Ok(())
}

fn documents(view: &View, context: &Context<'_>, faults: &mut FaultList) -> Result<(), StoreError> {
    let mut sums: BTreeMap<SourceId, SourceSums> = BTreeMap::new();
    let mut computed = PostingSums::default();
    let mut is_whole = true;
    for block in view.blocks() {
        let range = block * BLOCK_SIZE..((block + 1) * BLOCK_SIZE).min(view.documents());
        let check = match BlockCheck::new(view, block, context) {
            Ok(check) => check,
            Err(error) => {
                context.check_interrupt()?;
                is_whole = false;
                note(Err(error), "text_pages", faults);
                continue;
            }
        };
        for row in view.places(range.clone())? {
            context.check_interrupt()?;
            let (document, place) = row?;
            let sums = sums.entry(place.source).or_default();
            note(check.document(document, &place, sums, faults), "text_pages", faults);
        }
        note(check.finish(&mut computed, faults), "columns", faults);
        context.progress.advance(range.end);
    }
    if !is_whole {
        return Ok(());
    }
    note(postings::check(view, &computed, faults), "postings", faults);
    for (source, record) in view.sources() {
        let sums = sums.remove(&source).unwrap_or_default();
        let of = |what: &str| format!("{what} of source {}", record.name);
        faults.unequal("sources", &of("bytes"), record.bytes, sums.bytes);
        faults.unequal("sources", &of("kept bytes"), record.kept_bytes, sums.kept_bytes);
        for (tokenizer, _) in view.tokenizers() {
            let stored =
                record.tokens.iter().find(|(id, _)| *id == tokenizer.0).map_or(0, |(_, n)| *n);
            let computed = sums.tokens.get(&tokenizer).copied().unwrap_or(0);
            faults.unequal(
                "sources",
                &of(&format!("tokens (tokenizer {tokenizer})")),
                stored,
                computed,
            );
        }
    }
    Ok(())
}
