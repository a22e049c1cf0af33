//! `check --digest`: one hash over what a corpus means, not over how it came to be or lies on disk.

use crate::bytes::grid_rows::DocumentPlace;
use crate::documents::loss::{encode_form, encode_loss};
use crate::error::StoreError;
use crate::records::contamination::encode_sightings;
use crate::system_fields;
use crate::view::View;
use model::{BLOCK_SIZE, Context, DocId, Standing};

/// blake3 over documents (key, file, source, text, metadata), standing, matches, token ids and trained
/// tokens of kept documents, columns, (field, value) bitmaps, what texts have of suites and what was decided about it;
/// not over commit numbers, term ids or file layout.
///
/// # Errors
/// [`StoreError`] when a row is absent or cannot be read; [`StoreError::Interrupted`].
pub fn digest(view: &View, context: &Context<'_>) -> Result<String, StoreError> {
    context.progress.begin("hashing", Some(view.documents()));
    let mut hasher = DigestHasher(blake3::Hasher::new());
    hasher.part(b"corpusdb digest 1");
    hasher.number(view.documents());
    for (_, record) in view.tokenizers() {
        hasher.part(record.name.as_bytes());
        hasher.part(&record.hash);
    }
    let standings: Vec<_> = Standing::ALL
        .into_iter()
        .map(|standing| view.documents_standing(standing))
        .collect::<Result<_, _>>()?;
    let has_forms = view.has_text_forms()?;
    for block in view.blocks() {
        let range = block * BLOCK_SIZE..((block + 1) * BLOCK_SIZE).min(view.documents());
        for row in view.places(range.clone())? {
            context.check_interrupt()?;
            let (document, place) = row?;
            let standing =
                Standing::ALL.into_iter().zip(&standings).find(|(_, set)| set.contains(document.0));
            let standing = standing.map(|(standing, _)| standing);
            hasher.document(view, document, &place, standing)?;
            if has_forms {
                hasher.trained(view, document, standing)?;
            }
        }
        hasher.columns(view, block)?;
        context.progress.advance(range.end);
    }
    hasher.bitmaps(view)?;
    hasher.suites(view)?;
    Ok(hasher.0.finalize().to_hex().to_string())
}

struct DigestHasher(blake3::Hasher);

impl DigestHasher {
    fn number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }

    fn part(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    fn document(
        &mut self,
        view: &View,
        document: DocId,
        place: &DocumentPlace,
        standing: Option<Standing>,
    ) -> Result<(), StoreError> {
        self.part(view.source_name(place.source)?.as_bytes());
        self.part(view.key(document)?.as_deref().unwrap_or_default().as_bytes());
        self.part(view.file_path(place.source, place.file)?.unwrap_or_default().as_bytes());
        self.number(place.number);
        self.part(view.text_of_owner(place.text_owner(document))?.as_bytes());
        self.part(view.metadata(document)?.as_bytes());
        self.part(standing.map_or("none", Standing::name).as_bytes());
        if let Some(found) = view.match_of(document)? {
            self.part(found.kind.name().as_bytes());
            self.number(found.witness.0);
            self.number(found.shared.into());
            self.number(found.removed_shingles.into());
            self.number(found.witness_shingles.into());
        }
        if standing == Some(Standing::Kept) {
            for (tokenizer, _) in view.tokenizers() {
                let mut ids = Vec::new();
                let stored = view.tokens(tokenizer, document, &mut ids)?;
                self.number(u64::from(stored));
                self.number(ids.len() as u64);
                for id in ids {
                    self.0.update(&id.to_le_bytes());
                }
            }
        }
        Ok(())
    }

    /// Adds nothing for a document of plain text.
    fn trained(
        &mut self,
        view: &View,
        document: DocId,
        standing: Option<Standing>,
    ) -> Result<(), StoreError> {
        let Some(form) = view.text_form(document)? else { return Ok(()) };
        self.part(&encode_form(&form));
        for (tokenizer, _) in view.tokenizers() {
            // Ids that came along mean something whatever the standing: nothing could make them again.
            if form.given == Some(tokenizer) && standing != Some(Standing::Kept) {
                let mut ids = Vec::new();
                self.number(u64::from(view.tokens(tokenizer, document, &mut ids)?));
                self.part(&ids.iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>());
            }
            if form.given == Some(tokenizer) || standing == Some(Standing::Kept) {
                let spans = view.loss(tokenizer, document)?;
                self.number(spans.as_ref().map_or(0, |spans| 1 + spans.len() as u64));
                self.part(&encode_loss(spans.as_deref().unwrap_or_default()));
            }
        }
        Ok(())
    }

    /// Suites by their names, with what texts have of them. Adds nothing where there is none.
    fn suites(&mut self, view: &View) -> Result<(), StoreError> {
        let mut suites = view.suites()?.to_vec();
        suites.sort_unstable_by(|(_, a), (_, b)| a.name.cmp(&b.name));
        for (suite, record) in suites {
            self.part(record.name.as_bytes());
            self.part(&record.hash);
            self.number(u64::from(record.is_complete()));
            for row in view.all_sightings(suite)? {
                let (document, found) = row?;
                self.number(document.0);
                self.part(&encode_sightings(&found));
            }
            for row in view.verdicts(suite)? {
                let ((text, item), verdict) = row?;
                self.part(&text);
                self.number(item.into());
                self.part(verdict.name().as_bytes());
            }
        }
        Ok(())
    }

    fn columns(&mut self, view: &View, block: u64) -> Result<(), StoreError> {
        let numbers = view.fields().iter().filter(|field| field.kind != model::FieldKind::Keyword);
        let declared =
            numbers.map(|field| (field.name.as_str(), system_fields::column_of(field.id)));
        for (name, column) in [("bytes", system_fields::BYTES), ("chars", system_fields::CHARS)]
            .into_iter()
            .chain(declared)
        {
            self.part(name.as_bytes());
            for (slot, value) in view.column_block(column, block)?.iter() {
                self.0.update(&slot.to_le_bytes());
                self.0.update(&value.to_le_bytes());
            }
        }
        Ok(())
    }

    fn bitmaps(&mut self, view: &View) -> Result<(), StoreError> {
        let keywords = view.fields().iter().filter(|field| field.kind == model::FieldKind::Keyword);
        let declared = keywords.map(|field| (field.name.as_str(), field.id));
        for (name, field) in [("language", system_fields::LANGUAGE)].into_iter().chain(declared) {
            self.part(name.as_bytes());
            for (value, term) in view.terms(field)? {
                let documents = view.posting(term)?;
                // A value that all documents have given up means what one never seen does.
                if documents.is_empty() {
                    continue;
                }
                self.part(&value);
                self.number(documents.len());
                for document in documents {
                    self.number(document);
                }
            }
        }
        Ok(())
    }
}
