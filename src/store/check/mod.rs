//! `check` over what the store derives itself: journal, checksums, bitmaps, columns, counters, rows
//! that name other rows. What needs the crafts (sketches, similarities, ids) is `curate`'s. What would have to be
//! looked up value by value, or held for the whole corpus, is compared by sums first: `postings`, `matches`.

mod digest;
mod matches;
mod postings;
#[cfg(test)]
mod tests;

pub use digest::digest;

use crate::model::{BLOCK_SIZE, ColumnId, DocId, FieldKind, Progress, Standing, TokenizerId};
use crate::store::columns::{self, Column, EachColumn};
use crate::store::error::StoreError;
use crate::store::fields;
use crate::store::files::directory::CorpusDirectory;
use crate::store::files::journal;
use crate::store::rows::header::Header;
use crate::store::rows::indexed::indexed;
use crate::store::rows::keys::DocumentKey;
use crate::store::rows::kinds::TextKind;
use crate::store::view::View;
use postings::Sums;
use roaring::RoaringTreemap;
use std::collections::BTreeMap;
use std::path::Path;

/// How much `check` looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Journal, versions, cardinalities of bitmaps against counters.
    Quick,
    /// Also every block of every file: checksums, and that every row decodes.
    Full,
    /// Also every derived thing, recomputed from the base rows.
    Deep,
}

/// Something that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Fault {
    /// Where: a family, or `journal`.
    pub place: String,
    /// What is wrong, with the document or row concerned.
    pub what: String,
}

/// Faults reported of one kind of thing before the rest is only counted.
const MOST: usize = 100;

/// Collects faults, bounded.
#[derive(Default)]
struct Faults {
    found: Vec<Fault>,
    unlisted: u64,
}

impl Faults {
    fn push(&mut self, place: &str, what: String) {
        if self.found.len() < MOST {
            self.found.push(Fault { place: place.to_owned(), what });
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

/// Checks the store of `view`, which was opened at `path`. Damage is in the answer; an error is
/// only what keeps the check itself from running.
///
/// # Errors
/// [`StoreError`] when the journal cannot be read.
pub fn check(
    view: &View,
    path: &Path,
    depth: Depth,
    progress: &dyn Progress,
) -> Result<Vec<Fault>, StoreError> {
    let mut faults = Faults::default();
    check_journal(view, path, &mut faults)?;
    note(cardinalities(view, &mut faults), "bitmaps", &mut faults);
    let damaged = view.damaged_tokenizers();
    note(
        damaged.map(|all| all.into_iter().for_each(|what| faults.push("tokenizers", what))),
        "tokenizers",
        &mut faults,
    );
    if depth >= Depth::Full {
        progress.begin("reading every block", Some(columns::FAMILIES.len() as u64));
        every_row(view, progress, &mut faults);
    }
    if depth >= Depth::Deep {
        progress.begin("recomputing from base rows", Some(view.documents()));
        note(documents(view, progress, &mut faults), "documents", &mut faults);
        note(matches::check(view, &mut faults), "matches", &mut faults);
    }
    if faults.unlisted > 0 {
        let what = format!("{} further faults are not listed", faults.unlisted);
        faults.found.push(Fault { place: "check".to_owned(), what });
    }
    Ok(faults.found)
}

fn note(result: Result<(), StoreError>, place: &str, faults: &mut Faults) {
    if let Err(error) = result {
        faults.push(place, error.to_string());
    }
}

fn check_journal(view: &View, path: &Path, faults: &mut Faults) -> Result<(), StoreError> {
    let entries = journal::read(&CorpusDirectory::new(path).journal())?;
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
    Ok(())
}

fn cardinalities(view: &View, faults: &mut Faults) -> Result<(), StoreError> {
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
        let documents = view.documents_with(fields::SOURCE, &fields::source_value(source))?;
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

/// Reads and decodes every row of every family; RocksDB verifies each block's checksum on the way.
fn every_row(view: &View, progress: &dyn Progress, faults: &mut Faults) {
    columns::for_each_column(&mut Decoding { view, progress, faults, done: 0 });
}

struct Decoding<'a> {
    view: &'a View,
    progress: &'a dyn Progress,
    faults: &'a mut Faults,
    done: u64,
}

impl EachColumn for Decoding<'_> {
    fn column<C: Column>(&mut self) {
        note(rows_decode::<C>(self.view), C::NAME, self.faults);
        self.done += 1;
        self.progress.advance(self.done);
    }
}

fn rows_decode<C: Column>(view: &View) -> Result<(), StoreError> {
    let mut rows = view.pinned().scan::<C>(&[], None)?;
    while rows.next("row")?.is_some() {}
    Ok(())
}

/// Sums over one source, to compare with its counters.
#[derive(Default)]
struct SourceSums {
    bytes: u64,
    kept_bytes: u64,
    tokens: BTreeMap<TokenizerId, u64>,
}

fn documents(view: &View, progress: &dyn Progress, faults: &mut Faults) -> Result<(), StoreError> {
    let mut sums: BTreeMap<crate::model::SourceId, SourceSums> = BTreeMap::new();
    let mut computed = Sums::default();
    for block in view.blocks() {
        let range = block * BLOCK_SIZE..((block + 1) * BLOCK_SIZE).min(view.documents());
        let mut check = BlockCheck::new(view, block)?;
        for row in view.headers(range.clone())? {
            let (document, header) = row?;
            let sums = sums.entry(header.source).or_default();
            note(check.document(view, document, &header, sums, faults), "documents", faults);
        }
        check.finish(&mut computed);
        progress.advance(range.end);
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

/// What one block's bitmaps and columns say, to compare with its base rows.
struct BlockCheck {
    block: u64,
    kept: roaring::RoaringBitmap,
    fixed: Vec<(&'static str, ColumnId, crate::store::ColumnBlock)>,
    tokens: Vec<(TokenizerId, crate::store::ColumnBlock)>,
    keywords: BTreeMap<(crate::model::FieldId, Vec<u8>), roaring::RoaringBitmap>,
    numbers: Vec<(crate::model::FieldDeclaration, crate::store::ColumnBlock)>,
}

impl BlockCheck {
    fn new(view: &View, block: u64) -> Result<Self, StoreError> {
        let column = |column| view.column_block(column, block);
        let kept = fields::standing_value(view.generation(), Standing::Kept);
        let kept = match view.term(fields::STANDING, &kept)? {
            Some(term) => view.posting_block(term, block)?,
            None => roaring::RoaringBitmap::new(),
        };
        let mut fixed = Vec::new();
        for (name, id) in [
            ("bytes", fields::BYTES),
            ("chars", fields::CHARS),
            ("source", fields::SOURCE_OF),
            ("commit", fields::COMMIT_OF),
        ] {
            fixed.push((name, id, column(id)?));
        }
        let mut tokens = Vec::new();
        for (tokenizer, _) in view.tokenizers() {
            tokens.push((tokenizer, column(fields::tokens_of(tokenizer))?));
        }
        let mut numbers = Vec::new();
        for field in view.fields().iter().filter(|field| field.kind != FieldKind::Keyword) {
            numbers.push((field.clone(), column(fields::column_of(field.id))?));
        }
        Ok(Self { block, kept, fixed, tokens, keywords: BTreeMap::new(), numbers })
    }

    fn document(
        &mut self,
        view: &View,
        document: DocId,
        header: &Header,
        sums: &mut SourceSums,
        faults: &mut Faults,
    ) -> Result<(), StoreError> {
        let slot = document.slot();
        let text = view.text_of_owner(header.text_owner(document))?;
        if blake3::hash(text.as_bytes()).as_bytes().get(..16) != Some(header.raw.as_slice()) {
            faults
                .push("texts", format!("document {document}: text is not the one that was stored"));
        }
        if header.text_of.is_some()
            == view.pinned().get::<columns::Texts>(&DocumentKey { document })?.is_some()
        {
            faults.push(
                "texts",
                format!("document {document}: must either store its text or name its owner"),
            );
        }
        let chars = text.chars().count() as u64;
        for (name, _, column) in &self.fixed {
            let computed = match *name {
                "bytes" => text.len() as u64,
                "chars" => chars,
                "source" => header.source.0.into(),
                _ => header.commit.0,
            };
            let stored = column.get(slot).unwrap_or(-1);
            faults.unequal(
                "columns",
                &format!("{name} of document {document}"),
                stored,
                computed.cast_signed(),
            );
        }
        let kept = self.kept.contains(slot.into());
        sums.bytes += header.bytes;
        sums.kept_bytes += if kept { header.bytes } else { 0 };
        for (tokenizer, column) in &self.tokens {
            let mut ids = Vec::new();
            let stored = view.tokens(*tokenizer, document, &mut ids)?;
            let count = stored.then_some(ids.len() as i64);
            if count != column.get(slot) {
                faults.push(
                    "columns",
                    format!(
                        "tokens of document {document}: column {:?}, row {count:?}",
                        column.get(slot)
                    ),
                );
            }
            if kept {
                if !stored
                    && view
                        .tokenizers()
                        .any(|(id, record)| id == *tokenizer && document.0 < record.encoded_to)
                {
                    faults.push(
                        "tokens",
                        format!(
                            "document {document} is kept but not encoded by tokenizer {tokenizer}"
                        ),
                    );
                }
                *sums.tokens.entry(*tokenizer).or_default() += ids.len() as u64;
            }
        }
        let values = indexed(&view.metadata(document)?, view.fields());
        for (field, keyword) in values.keywords {
            self.keywords
                .entry((field, fields::keyword_value(&keyword)))
                .or_default()
                .insert(slot.into());
        }
        for (field, column) in &self.numbers {
            let computed =
                values.numbers.iter().find(|(id, _)| *id == field.id).map(|(_, number)| *number);
            if column.get(slot) != computed {
                faults.push(
                    "columns",
                    format!(
                        "{} of document {document}: stored {:?}, computed {computed:?}",
                        field.name,
                        column.get(slot)
                    ),
                );
            }
        }
        if let Some(best) =
            view.exact(TextKind::Raw, view.policy().text_key(header.source, header.raw))?
            && view.expect_header(best)?.raw != header.raw
        {
            faults.push(
                "exact",
                format!(
                    "the text of document {document} leads to document {best}, which has another"
                ),
            );
        }
        Ok(())
    }

    /// Adds what the metadata of the block come to.
    fn finish(self, computed: &mut Sums) {
        for ((field, value), slots) in &self.keywords {
            computed.add(*field, value, self.block, slots);
        }
    }
}
