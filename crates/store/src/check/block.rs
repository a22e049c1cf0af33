//! Checks one block of documents against its bitmaps and columns.

use crate::bytes::grid_rows::DocumentPlace;
use crate::bytes::key::TextKind;
use crate::bytes::number_block::NumberBlock;
use crate::check::FaultList;
use crate::check::postings::PostingSums;
use crate::check::rebuild::{BlockRows, add_term};
use crate::documents::indexed_values::is_of_earlier_release;
use crate::documents::pages::TextPages;
use crate::error::StoreError;
use crate::system_fields;
use crate::view::View;
use model::{BLOCK_SIZE, ColumnId, Context, DocId, Standing, TokenizerId};
use roaring::RoaringBitmap;
use std::collections::{BTreeMap, BTreeSet};

/// Sums over one source, to compare with its counters.
#[derive(Default)]
pub(crate) struct SourceSums {
    pub(crate) bytes: u64,
    pub(crate) kept_bytes: u64,
    pub(crate) tokens: BTreeMap<TokenizerId, u64>,
}

/// What one block must hold, and who of it is kept.
pub(crate) struct BlockCheck<'v> {
    view: &'v View,
    rows: BlockRows,
    kept: RoaringBitmap,
}

impl<'v> BlockCheck<'v> {
    pub(crate) fn new(
        view: &'v View,
        block: u64,
        context: &Context<'_>,
    ) -> Result<Self, StoreError> {
        let kept = system_fields::standing_value(view.generation(), Standing::Kept);
        let kept = match view.term(system_fields::STANDING, &kept)? {
            Some(term) => view.posting_block(term, block)?,
            None => RoaringBitmap::new(),
        };
        let rows = view.rebuild_block(block, view.fields(), context)?;
        Ok(Self { view, rows, kept })
    }

    /// Compares a document with its text and its exact row, and adds it to the sums of its source.
    pub(crate) fn document(
        &self,
        document: DocId,
        place: &DocumentPlace,
        sums: &mut SourceSums,
        faults: &mut FaultList,
    ) -> Result<(), StoreError> {
        let Self { view, rows, kept } = self;
        let is_kept = kept.contains(document.slot().into());
        let bytes = rows.numbers.get(&system_fields::BYTES);
        let bytes = bytes.and_then(|bytes| bytes.get(document.slot()));
        let bytes = bytes.map_or(0, i64::unsigned_abs);
        sums.bytes += bytes;
        if is_kept {
            sums.kept_bytes += bytes;
            for (tokenizer, record) in view.tokenizers() {
                let counts = rows.numbers.get(&system_fields::tokens_of(tokenizer));
                let count = counts.and_then(|counts| counts.get(document.slot()));
                if count.is_none() && document.0 < record.encoded_to {
                    let what = format!(
                        "document {document} is kept but not encoded by tokenizer {tokenizer}"
                    );
                    faults.push("tokens", what);
                }
                *sums.tokens.entry(tokenizer).or_default() += count.map_or(0, i64::unsigned_abs);
            }
        }
        let raw = view.print(document)?.raw;
        check_text(view, document, (place, raw), faults)?;
        check_exact(view, document, (place, raw), faults)
    }

    /// Compares the columns and the bitmaps of sources with what is stored; those of keywords are added to `computed`.
    pub(crate) fn finish(
        mut self,
        computed: &mut PostingSums,
        faults: &mut FaultList,
    ) -> Result<(), StoreError> {
        let (view, block) = (self.view, self.rows.block);
        for ((field, value), slots) in &self.rows.keywords {
            computed.add(*field, value, block, slots);
            if let Some(term) = view.term(*field, value)? {
                let column = system_fields::column_of(*field);
                add_term(self.rows.numbers.entry(column).or_default(), term, slots);
            }
        }
        let mut named = vec![
            (system_fields::BYTES, "bytes".to_owned()),
            (system_fields::CHARS, "chars".to_owned()),
            (system_fields::SOURCE_OF, "source".to_owned()),
            (system_fields::COMMIT_OF, "commit".to_owned()),
            (system_fields::column_of(system_fields::LANGUAGE), "language".to_owned()),
        ];
        for (tokenizer, record) in view.tokenizers() {
            named.push((system_fields::tokens_of(tokenizer), format!("tokens of {}", record.name)));
        }
        for field in view.fields() {
            named.push((system_fields::column_of(field.id), field.name.clone()));
        }
        for (column, name) in named {
            let computed = self.rows.numbers.remove(&column).unwrap_or_default();
            let stored = view.column_block(column, block)?;
            self.compare(column, &name, (&stored, &computed), faults)?;
        }
        for (source, record) in view.sources() {
            let value = system_fields::source_value(source);
            let computed = self.rows.sources.remove(&source).unwrap_or_default();
            let stored = match view.term(system_fields::SOURCE, &value)? {
                Some(term) => view.posting_block(term, block)?,
                None => RoaringBitmap::new(),
            };
            if stored != computed {
                let what = format!(
                    "source {}, block {block}: {} stored, {} computed",
                    record.name,
                    stored.len(),
                    computed.len()
                );
                faults.push("postings", what);
            }
        }
        Ok(())
    }

    fn compare(
        &self,
        column: ColumnId,
        name: &str,
        (stored, computed): (&NumberBlock, &NumberBlock),
        faults: &mut FaultList,
    ) -> Result<(), StoreError> {
        if stored == computed {
            return Ok(());
        }
        let slots: BTreeSet<u16> =
            stored.iter().chain(computed.iter()).map(|(slot, _)| slot).collect();
        let field = self.view.fields().iter().find(|it| system_fields::column_of(it.id) == column);
        for slot in slots {
            let (stored, computed) = (stored.get(slot), computed.get(slot));
            if stored == computed {
                continue;
            }
            let document = DocId(self.rows.block * BLOCK_SIZE + u64::from(slot));
            if let Some(field) = field
                && is_of_earlier_release(&self.view.metadata(document)?, field, stored)
            {
                continue;
            }
            let what =
                format!("{name} of document {document}: stored {stored:?}, computed {computed:?}");
            faults.push("columns", what);
        }
        Ok(())
    }
}

/// The text of a document, which must be the one that its print is of.
fn check_text(
    view: &View,
    document: DocId,
    (place, raw): (&DocumentPlace, [u8; 16]),
    faults: &mut FaultList,
) -> Result<(), StoreError> {
    let text = view.text_of_owner(place.text_owner(document))?;
    if blake3::hash(text.as_bytes()).as_bytes().get(..16) != Some(raw.as_slice()) {
        let what = format!("document {document}: text is not the one that was stored");
        faults.push("text_pages", what);
    }
    let stored = view.page_of::<TextPages>(document)?;
    if place.text_of.is_some() == stored.string::<TextPages>(document)?.is_some() {
        let what = format!("document {document}: must either store its text or name its owner");
        faults.push("text_pages", what);
    }
    Ok(())
}

/// The row that finds documents by their text must lead to one that has it.
fn check_exact(
    view: &View,
    document: DocId,
    (place, raw): (&DocumentPlace, [u8; 16]),
    faults: &mut FaultList,
) -> Result<(), StoreError> {
    let key = view.policy().text_key(place.source, raw);
    if let Some(best) = view.exact(TextKind::Raw, key)?
        && view.print(best)?.raw != raw
    {
        let what =
            format!("the text of document {document} leads to document {best}, which has another");
        faults.push("exact", what);
    }
    Ok(())
}
