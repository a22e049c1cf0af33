//! One block of documents against what its bitmaps and columns say.

use crate::model::{DocId, FieldDeclaration, FieldId, FieldKind, Standing, TokenizerId};
use crate::store::bytes::key::{DocumentKey, TextKind};
use crate::store::check::FaultList;
use crate::store::check::postings::PostingSums;
use crate::store::documents::headers::DocumentRecord;
use crate::store::documents::indexed_values::{indexed, is_of_earlier_release};
use crate::store::documents::texts::Texts;
use crate::store::error::StoreError;
use crate::store::view::View;
use crate::store::{NumberBlock, TokenizerRecord, system_fields};
use roaring::RoaringBitmap;
use std::collections::BTreeMap;

/// Sums over one source, to compare with its counters.
#[derive(Default)]
pub(in crate::store) struct SourceSums {
    pub(in crate::store) bytes: u64,
    pub(in crate::store) kept_bytes: u64,
    pub(in crate::store) tokens: BTreeMap<TokenizerId, u64>,
}

/// What one block's bitmaps and columns say, to compare with its base rows.
pub(in crate::store) struct BlockCheck {
    block: u64,
    kept: RoaringBitmap,
    fixed: Vec<(&'static str, NumberBlock)>,
    tokens: Vec<(TokenizerId, NumberBlock)>,
    keywords: BTreeMap<(FieldId, Vec<u8>), RoaringBitmap>,
    numbers: Vec<(FieldDeclaration, NumberBlock)>,
}

impl BlockCheck {
    pub(in crate::store) fn new(view: &View, block: u64) -> Result<Self, StoreError> {
        let column = |column| view.column_block(column, block);
        let kept = system_fields::standing_value(view.generation(), Standing::Kept);
        let kept = match view.term(system_fields::STANDING, &kept)? {
            Some(term) => view.posting_block(term, block)?,
            None => RoaringBitmap::new(),
        };
        let mut fixed = Vec::new();
        for (name, id) in [
            ("bytes", system_fields::BYTES),
            ("chars", system_fields::CHARS),
            ("source", system_fields::SOURCE_OF),
            ("commit", system_fields::COMMIT_OF),
        ] {
            fixed.push((name, column(id)?));
        }
        let mut tokens = Vec::new();
        for (tokenizer, _) in view.tokenizers() {
            tokens.push((tokenizer, column(system_fields::tokens_of(tokenizer))?));
        }
        let mut numbers = Vec::new();
        for field in view.fields().iter().filter(|field| field.kind != FieldKind::Keyword) {
            numbers.push((field.clone(), column(system_fields::column_of(field.id))?));
        }
        Ok(Self { block, kept, fixed, tokens, keywords: BTreeMap::new(), numbers })
    }

    /// Compares a document with what the block says of it, and adds it to the sums of its source.
    pub(in crate::store) fn document(
        &mut self,
        view: &View,
        document: DocId,
        header: &DocumentRecord,
        sums: &mut SourceSums,
        faults: &mut FaultList,
    ) -> Result<(), StoreError> {
        let text = check_text(view, document, header, faults)?;
        self.check_columns(document, header, &text, faults);
        let is_kept = self.kept.contains(document.slot().into());
        sums.bytes += header.bytes;
        sums.kept_bytes += if is_kept { header.bytes } else { 0 };
        self.check_tokens(view, document, is_kept, sums, faults)?;
        self.check_fields(view, document, faults)?;
        check_exact(view, document, header, faults)
    }

    /// Compares the columns that every corpus has.
    fn check_columns(
        &self,
        document: DocId,
        header: &DocumentRecord,
        text: &str,
        faults: &mut FaultList,
    ) {
        let chars = text.chars().count() as u64;
        for (name, column) in &self.fixed {
            let computed = match *name {
                "bytes" => text.len() as u64,
                "chars" => chars,
                "source" => header.source.0.into(),
                _ => header.commit.0,
            };
            let stored = column.get(document.slot()).unwrap_or(-1);
            let of = format!("{name} of document {document}");
            faults.unequal("columns", &of, stored, computed.cast_signed());
        }
    }

    /// Compares the ids of every tokenizer with its column, and what is kept with how far it has encoded.
    fn check_tokens(
        &self,
        view: &View,
        document: DocId,
        is_kept: bool,
        sums: &mut SourceSums,
        faults: &mut FaultList,
    ) -> Result<(), StoreError> {
        for (tokenizer, column) in &self.tokens {
            let mut ids = Vec::new();
            let is_stored = view.tokens(*tokenizer, document, &mut ids)?;
            let count = is_stored.then_some(ids.len() as i64);
            let told = column.get(document.slot());
            if count != told {
                let what = format!("tokens of document {document}: column {told:?}, row {count:?}");
                faults.push("columns", what);
            }
            if !is_kept {
                continue;
            }
            let has_reached = |(id, record): (TokenizerId, &TokenizerRecord)| {
                id == *tokenizer && document.0 < record.encoded_to
            };
            if !is_stored && view.tokenizers().any(has_reached) {
                let what =
                    format!("document {document} is kept but not encoded by tokenizer {tokenizer}");
                faults.push("tokens", what);
            }
            *sums.tokens.entry(*tokenizer).or_default() += ids.len() as u64;
        }
        Ok(())
    }

    /// Compares the columns of declared numbers, and collects declared keywords.
    fn check_fields(
        &mut self,
        view: &View,
        document: DocId,
        faults: &mut FaultList,
    ) -> Result<(), StoreError> {
        let slot = document.slot();
        let metadata = view.metadata(document)?;
        let values = indexed(&metadata, view.fields());
        for (field, keyword) in values.keywords {
            let slots =
                self.keywords.entry((field, system_fields::keyword_value(&keyword))).or_default();
            slots.insert(slot.into());
        }
        for (field, column) in &self.numbers {
            let computed =
                values.numbers.iter().find(|(id, _)| *id == field.id).map(|(_, number)| *number);
            let stored = column.get(slot);
            if stored != computed && !is_of_earlier_release(&metadata, field, stored) {
                let name = &field.name;
                let what = format!(
                    "{name} of document {document}: stored {stored:?}, computed {computed:?}"
                );
                faults.push("columns", what);
            }
        }
        Ok(())
    }

    /// Adds what the metadata of the block come to.
    pub(in crate::store) fn finish(self, computed: &mut PostingSums) {
        for ((field, value), slots) in &self.keywords {
            computed.add(*field, value, self.block, slots);
        }
    }
}

/// The text of a document, which must be the one that its header is of.
fn check_text(
    view: &View,
    document: DocId,
    header: &DocumentRecord,
    faults: &mut FaultList,
) -> Result<String, StoreError> {
    let text = view.text_of_owner(header.text_owner(document))?;
    if blake3::hash(text.as_bytes()).as_bytes().get(..16) != Some(header.raw.as_slice()) {
        let what = format!("document {document}: text is not the one that was stored");
        faults.push("texts", what);
    }
    let is_stored = view.pinned().get::<Texts>(&DocumentKey { document })?.is_some();
    if header.text_of.is_some() == is_stored {
        let what = format!("document {document}: must either store its text or name its owner");
        faults.push("texts", what);
    }
    Ok(text)
}

/// The row that finds documents by their text must lead to one that has it.
fn check_exact(
    view: &View,
    document: DocId,
    header: &DocumentRecord,
    faults: &mut FaultList,
) -> Result<(), StoreError> {
    let key = view.policy().text_key(header.source, header.raw);
    if let Some(best) = view.exact(TextKind::Raw, key)?
        && view.expect_header(best)?.raw != header.raw
    {
        let what =
            format!("the text of document {document} leads to document {best}, which has another");
        faults.push("exact", what);
    }
    Ok(())
}
