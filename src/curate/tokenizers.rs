//! The tokenizers of a corpus: found, loaded, registered, proven and dropped.

use super::drawing::{drawing, draws_of, reference_of, stored_reference};
use super::encode::sample_texts;
use super::tokens::other_ids;
use crate::corpus::{Corpus, CorpusWriter};
use crate::decide::LoadedTokenizer;
use model::{DocId, Error, ErrorKind, Hint, MaskRule, TokenizerId};
use std::sync::Arc;
use std::time::Instant;
use store::{
    CommitRecord, OriginalFile, StoreError, StoreWriter, TokenizerFiles, TokenizerRecord, View,
    check_column_name,
};
use tokenizer::{
    self, BestSegmentations, CheckSubject, Segmentation, TermOptions, TokenPiece, Tokenizer,
    TokenizerCheck, TokenizerError, TokenizerExtension, TokenizerRegistration, VocabularyDiff,
    WrittenModel, is_sentencepiece_reference,
};

impl Corpus {
    /// The tokenizer of that name, or the first, with its encoder.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`TokenizerError`](crate::tokenizer::TokenizerError) when its file is damaged.
    pub fn tokenizer(&self, name: Option<&str>) -> Result<LoadedTokenizer, Error> {
        load(self.view(), name)
    }

    /// What is stored about the tokenizer of that name.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`].
    pub fn tokenizer_record(&self, name: &str) -> Result<(TokenizerId, &TokenizerRecord), Error> {
        Ok(find(self.view(), name)?)
    }

    /// The bytes of a tokenizer's `tokenizer.json`.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`StoreError`](crate::store::StoreError) when it cannot be read.
    pub fn tokenizer_json(&self, name: &str) -> Result<Vec<u8>, Error> {
        Ok(self.view().tokenizer_file(find(self.view(), name)?.0)?)
    }

    /// A text to which the library gives other ids by the `tokenizer.json` than the tokenizer does; only one that was
    /// registered from a SentencePiece model has such texts.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`StoreError`](crate::store::StoreError) when a file cannot be read.
    pub fn tokenizer_json_difference(&self, name: &str) -> Result<Option<String>, Error> {
        let (id, record) = find(self.view(), name)?;
        if !is_sentencepiece_reference(reference_of(record)) {
            return Ok(None);
        }
        let (json, model) =
            (self.view().tokenizer_file(id)?, self.view().tokenizer_original(id, 0)?);
        Ok(tokenizer::library_difference(&json, &model)?)
    }

    /// The files that a tokenizer was registered with, by name; its `tokenizer.json` when that is all.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`StoreError`](crate::store::StoreError) when one cannot be read.
    pub fn tokenizer_originals(&self, name: &str) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let (id, record) = find(self.view(), name)?;
        let files = self.view().tokenizer_originals(id, record)?;
        if files.is_empty() {
            return Ok(vec![("tokenizer.json".to_owned(), self.view().tokenizer_file(id)?)]);
        }
        Ok(files)
    }

    /// A tokenizer as a SentencePiece model: the one that it was registered with, when SentencePiece is its reference.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`TokenizerError`](crate::tokenizer::TokenizerError) when no such model can do
    /// what it does.
    pub fn sentencepiece_model(&self, name: &str) -> Result<WrittenModel, Error> {
        let (id, record) = find(self.view(), name)?;
        if is_sentencepiece_reference(reference_of(record)) {
            let bytes = self.view().tokenizer_original(id, 0)?;
            return Ok(WrittenModel { bytes, rounded: None });
        }
        Ok(tokenizer::to_sentencepiece(&self.tokenizer_json(name)?)?)
    }

    /// What differs between two tokenizers.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`TokenizerError`](crate::tokenizer::TokenizerError) when a file is damaged.
    pub fn diff_tokenizers(&self, a: &str, b: &str) -> Result<VocabularyDiff, Error> {
        Ok(tokenizer::vocabulary_diff(&self.tokenizer_json(a)?, &self.tokenizer_json(b)?)?)
    }

    /// The tokens of a text. With `specials`, special tokens spelled in it are special tokens.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`TokenizerError`](crate::tokenizer::TokenizerError) when the text is refused, or
    /// the model has no such segmentation.
    pub fn encode(
        &self,
        tokenizer: Option<&str>,
        text: &str,
        specials: bool,
        segmentation: Segmentation,
    ) -> Result<Vec<TokenPiece>, Error> {
        let loaded = self.tokenizer(tokenizer)?;
        Ok(loaded.tokenizer.segmentation_pieces(text, specials, segmentation)?)
    }

    /// The `count` best segmentations of a text by a Unigram, with their probabilities.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`], and as [`Tokenizer::best_segmentations`].
    pub fn best_segmentations(
        &self,
        tokenizer: Option<&str>,
        text: &str,
        specials: bool,
        count: usize,
    ) -> Result<BestSegmentations, Error> {
        let loaded = self.tokenizer(tokenizer)?;
        Ok(loaded.tokenizer.best_segmentations(text, specials, count)?)
    }

    /// The text of ids, special tokens spelled out.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`TokenizerError`](crate::tokenizer::TokenizerError) when an id is not in the
    /// vocabulary.
    pub fn decode(&self, tokenizer: Option<&str>, ids: &[u32]) -> Result<String, Error> {
        let loaded = self.tokenizer(tokenizer)?;
        let vocab_size = loaded.tokenizer.vocab_size();
        if let Some(id) = ids.iter().copied().find(|id| *id >= vocab_size) {
            return Err(TokenizerError::NoSuchId { id, vocab_size }.into());
        }
        Ok(loaded.tokenizer.decode(ids)?)
    }

    /// Goes through what trips tokenizers, compares both encoders again on a sample of the corpus, and stored
    /// ids with those that the texts have now.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`Error`] when a text cannot be read or encoded.
    pub fn check_tokenizer(&self, name: &str) -> Result<(TokenizerCheck, Option<DocId>), Error> {
        let (id, record) = find(self.view(), name)?;
        let sample = sample_texts(self.view())?;
        let sample: Vec<&str> = sample.iter().map(String::as_str).collect();
        let json = self.view().tokenizer_file(id)?;
        let originals = self.view().tokenizer_originals(id, record)?;
        let (model, reference) = (tokenizer::original_model(&originals), reference_of(record));
        let subject = CheckSubject { json: &json, model, reference };
        let check = tokenizer::check(&subject, &sample)?;
        let other = other_ids(self.view(), &load(self.view(), Some(name))?)?;
        Ok((check, other))
    }
}

impl CorpusWriter {
    /// Registers a tokenizer; [`CorpusWriter::backfill`] then encodes what is stored. The same file under
    /// the same name is registered once.
    ///
    /// # Errors
    /// [`TokenizerError`](crate::tokenizer::TokenizerError) when the file is not a tokenizer or one that has no ids for
    /// some texts, [`StoreError`](crate::store::StoreError) when the name is taken by another.
    pub fn register(&mut self, new: &TokenizerRegistration<'_>) -> Result<TokenizerRecord, Error> {
        Ok(register(self.store(), new)?.0)
    }

    /// A registered tokenizer extended so that terms are single tokens; not registered yet.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`TokenizerError`](crate::tokenizer::TokenizerError) when it cannot be extended.
    pub fn extend_by_terms(
        &self,
        base: &str,
        terms: &[String],
        options: TermOptions,
    ) -> Result<TokenizerExtension, Error> {
        let file = self.view().tokenizer_file(find(self.view(), base)?.0)?;
        Ok(tokenizer::extend_by_terms(&file, terms, options)?)
    }
}

/// The tokenizer of that name.
///
/// # Errors
/// [`TokenizerError::Unknown`], with those that there are.
pub fn find<'v>(
    view: &'v View,
    name: &str,
) -> Result<(TokenizerId, &'v TokenizerRecord), TokenizerError> {
    view.tokenizer_named(name).ok_or_else(|| {
        TokenizerError::unknown(name, view.tokenizers().map(|(_, record)| record.name.as_str()))
    })
}

/// The tokenizer of that name with its encoder; without a name the first of the corpus.
///
/// # Errors
/// [`TokenizerError::Unknown`]; [`Error`] when its file is absent or damaged.
pub fn load(view: &View, name: Option<&str>) -> Result<LoadedTokenizer, Error> {
    let (id, record) = match (name, view.tokenizers().next()) {
        (Some(name), _) => find(view, name)?,
        (None, Some(first)) => first,
        (None, None) => {
            let hint = Hint::text("add one").with_command("corpusdb tokenizer add");
            let message = "the corpus has no tokenizer";
            return Err(Error::of(ErrorKind::NotFound, message).with_hint(hint));
        }
    };
    load_record(view, id, record, false).map(built)
}

/// All tokenizers of a corpus, to read by.
///
/// # Errors
/// [`Error`] when a file is absent or damaged.
pub fn load_all(view: &View) -> Result<Vec<LoadedTokenizer>, Error> {
    Ok(load_records(view, false)?.into_iter().map(built).collect())
}

/// Builds the encoder of a tokenizer that is about to be used.
fn built(loaded: LoadedTokenizer) -> LoadedTokenizer {
    loaded.tokenizer.build_encoder();
    loaded
}

/// All tokenizers of a corpus, to add ids by: those of another reference library are proven to be the
/// same first, on documents that are stored. Their encoders are built when there is something to encode.
///
/// # Errors
/// [`Error`] when one gives other ids here than the stored ones, or a file is absent or damaged.
pub fn load_to_write(writer: &mut StoreWriter) -> Result<Vec<LoadedTokenizer>, Error> {
    let loaded = load_records(writer.view(), true)?;
    for tokenizer in &loaded {
        prove(writer, tokenizer)?;
    }
    Ok(loaded)
}

/// The tokenizer of that name with its encoder, to add ids by; proven as by [`load_to_write`].
///
/// # Errors
/// As [`load`] and [`load_to_write`].
pub fn load_to_encode(writer: &mut StoreWriter, name: &str) -> Result<LoadedTokenizer, Error> {
    let view = writer.view();
    let (id, record) = find(view, name)?;
    let loaded = load_record(view, id, record, true)?;
    prove(writer, &loaded)?;
    Ok(built(loaded))
}

fn load_record(
    view: &View,
    id: TokenizerId,
    record: &TokenizerRecord,
    is_writer: bool,
) -> Result<LoadedTokenizer, Error> {
    if let Some((base, word)) = record.drawn() {
        let (base_id, base) = find(view, base)?;
        return drawing((id, record, word), &load_record(view, base_id, base, is_writer)?);
    }
    let file = view.tokenizer_file(id)?;
    let tokenizer = match is_sentencepiece_reference(&record.reference) {
        true => Tokenizer::load_sentencepiece(&file, &view.tokenizer_original(id, 0)?)?,
        false => {
            let stored = (record.backend.as_str(), record.reference.as_str());
            Tokenizer::load_stored(&file, stored, is_writer)?
        }
    };
    let (name, vocab_size, mask_rule) = (record.name.clone(), record.vocab_size, record.mask_rule);
    Ok(LoadedTokenizer { id, name, vocab_size, mask_rule, tokenizer: Arc::new(tokenizer) })
}

/// All tokenizers; draws share what they can with that of which they are, which comes before them.
fn load_records(view: &View, is_writer: bool) -> Result<Vec<LoadedTokenizer>, Error> {
    let mut all: Vec<LoadedTokenizer> = Vec::new();
    for (id, record) in view.tokenizers() {
        let drawn = record.drawn().and_then(|(base, word)| {
            let base = all.iter().find(|loaded| loaded.name == base)?;
            Some(drawing((id, record, word), base))
        });
        all.push(drawn.unwrap_or_else(|| load_record(view, id, record, is_writer))?);
    }
    Ok(all)
}

/// Registers a tokenizer; what is stored is not encoded by it yet. The same file under the same name is registered
/// once. Answers the record, and how many megabytes of stored text a second it encodes on one thread, where there is
/// enough text to tell.
///
/// # Errors
/// [`Error`] when the file is not a tokenizer or one that has no ids for some texts, or the name is malformed or taken by another.
pub fn register(
    writer: &mut StoreWriter,
    new: &TokenizerRegistration<'_>,
) -> Result<(TokenizerRecord, Option<f64>), Error> {
    let model = new.model()?;
    let hash = hash_of(new.json, model);
    if let Some((_, known)) = writer.view().tokenizer_named(new.name)
        && (known.hash == hash || is_older(known, new.json, model))
    {
        return Ok((known.clone(), None));
    }
    let sample = sample_texts(writer.view())?;
    let sample: Vec<&str> = sample.iter().map(String::as_str).collect();
    let tokenizer = match model {
        Some(model) => Tokenizer::load_sentencepiece(new.json, model)?,
        None => Tokenizer::load(new.json, &sample)?,
    };
    tokenizer.prove_added_ids()?;
    tokenizer.prove_complete()?;
    check_column_name(new.name)?;
    let base = new.base.map(|name| find(writer.view(), name).map(|(id, _)| id.0)).transpose()?;
    let originals = new.originals.iter().map(|(name, bytes)| OriginalFile {
        name: name.clone(),
        hash: *blake3::hash(bytes).as_bytes(),
    });
    let record = TokenizerRecord {
        name: new.name.to_owned(),
        hash,
        vocab_size: tokenizer.vocab_size(),
        lineage: new.lineage.to_owned(),
        backend: tokenizer.backend().verdict(),
        encoded_to: 0,
        reference: tokenizer.reference().to_owned(),
        base,
        originals: originals.collect(),
        dropped: false,
        mask_rule: MaskRule::CURRENT,
    };
    let originals: Vec<Vec<u8>> = new.originals.iter().map(|(_, bytes)| bytes.clone()).collect();
    let parts = TokenizerFiles { file: new.json, decisions: new.decisions, originals: &originals };
    let mut batch = writer.begin()?;
    batch.add_tokenizer(&record, parts)?;
    batch.commit(&about(new.name))?;
    Ok((record, speed(&tokenizer, &sample)))
}

/// Megabytes of text a second on one thread; none where texts are too short to tell, or refused.
#[expect(clippy::cast_precision_loss, reason = "a rate is no exact number")]
fn speed(tokenizer: &Tokenizer, sample: &[&str]) -> Option<f64> {
    const LEAST: usize = 1 << 20;
    let bytes: usize = sample.iter().map(|text| text.len()).sum();
    if bytes < LEAST {
        return None;
    }
    let (mut encoder, mut ids) = (tokenizer.encoder(), Vec::new());
    let start = Instant::now();
    for text in sample {
        ids.clear();
        encoder.encode(text, &mut ids).ok()?;
    }
    Some(bytes as f64 / 1e6 / start.elapsed().as_secs_f64())
}

/// The hash that identifies a tokenizer: of its file, and of the SentencePiece model behind it where that decides the
/// ids, which the file alone would give otherwise.
fn hash_of(json: &[u8], model: Option<&[u8]>) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(json).update(model.unwrap_or_default());
    *hasher.finalize().as_bytes()
}

/// Whether a tokenizer was registered with this model by a release that took the library's ids: it keeps them.
fn is_older(known: &TokenizerRecord, json: &[u8], model: Option<&[u8]>) -> bool {
    let is_of = |model: &[u8]| matches!(&*known.originals, [file] if file.hash == *blake3::hash(model).as_bytes());
    known.hash == hash_of(json, None) && model.is_some_and(is_of)
}

/// Refuses a name before hours of work for it: one that no tokenizer can have, or that of another one. By what decided
/// the tokenizer of that name `is_same` says whether it may be the one that is about to be made: after an interrupt it
/// is.
///
/// # Errors
/// [`Error`] for such a name, or when a row cannot be read.
pub fn check_new_name(
    view: &View,
    name: &str,
    is_same: impl FnOnce(&[u8]) -> bool,
) -> Result<(), Error> {
    check_column_name(name)?;
    let Some((id, _)) = view.tokenizer_named(name) else { return Ok(()) };
    match view.tokenizer_decisions(id)? {
        Some(decisions) if is_same(&decisions) => Ok(()),
        _ => Err(StoreError::tokenizer_taken(name).into()),
    }
}

/// Proves that a tokenizer whose ids another reference library made, or whose engine another release chose, gives the
/// same ids here, and notes it: later processes go by that.
///
/// # Errors
/// [`Error`] when it gives others.
fn prove(writer: &mut StoreWriter, loaded: &LoadedTokenizer) -> Result<(), Error> {
    let (_, record) = find(writer.view(), &loaded.name)?;
    let reference = stored_reference(record, &loaded.tokenizer);
    let backend = loaded.tokenizer.new_verdict().unwrap_or_else(|| record.backend.clone());
    if record.reference == reference && record.backend == backend {
        return Ok(());
    }
    let record = record.clone();
    if let Some(document) = other_ids(writer.view(), loaded)? {
        let message = format!(
            "the ids of tokenizer `{}` were computed by {}, and this release computes others (document {document})",
            loaded.name, record.reference
        );
        let way_out =
            "register its file under another name and backfill, or keep using the older release";
        return Err(Error::of(ErrorKind::Failed, message).with_hint(Hint::text(way_out)));
    }
    let mut batch = writer.begin()?;
    batch.update_tokenizer(loaded.id, &TokenizerRecord { reference, backend, ..record })?;
    batch.commit(&about(&loaded.name))?;
    Ok(())
}

/// Forgets a tokenizer with all its ids, and its draws. `plans` are the stored plans by it: while there are some, or ids
/// of it came with records, it is refused unless `force`.
///
/// # Errors
/// [`Error`] when there is no such tokenizer, or something depends on it.
pub fn drop_tokenizer(
    writer: &mut StoreWriter,
    name: &str,
    plans: &[u32],
    force: bool,
) -> Result<(), Error> {
    let (id, _) = find(writer.view(), name)?;
    let given = writer.view().count_imported_ids(id)?;
    if !force && (!plans.is_empty() || given > 0) {
        let mut what = Vec::new();
        if !plans.is_empty() {
            what.push(format!("plans {} use tokenizer `{name}`", listed(plans)));
        }
        if given > 0 {
            what.push(format!("the ids of {given} documents by `{name}` came with their records and cannot be recomputed"));
        }
        return Err(in_use(what.join(", and ")));
    }
    let draws = draws_of(writer.view(), name).into_iter();
    let draws = draws.map(|draw| find(writer.view(), &draw).map(|(id, _)| id));
    let draws = draws.collect::<Result<Vec<_>, _>>()?;
    let mut batch = writer.begin()?;
    draws.into_iter().chain([id]).try_for_each(|id| batch.drop_tokenizer(id))?;
    batch.commit(&about(name))?;
    Ok(writer.flush_if_long()?)
}

fn about(name: &str) -> CommitRecord {
    CommitRecord::about("tokenizer", name)
}

/// The error that something depends on what is to be dropped.
pub(super) fn in_use(message: String) -> Error {
    Error::of(ErrorKind::Failed, message).with_hint(Hint::text("`force=` drops it anyway"))
}

/// The numbers of plans, as a message lists them.
pub(super) fn listed(plans: &[u32]) -> String {
    plans.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{DedupMode, Policy};
    use serde_json::json;

    /// A tokenizer of two words.
    fn words() -> Vec<u8> {
        let file = json!({ "version": "1.0", "truncation": null, "padding": null,
            "added_tokens": [], "normalizer": null, "pre_tokenizer": { "type": "Whitespace" },
            "post_processor": null, "decoder": null,
            "model": { "type": "WordLevel", "vocab": { "[UNK]": 0, "a": 1 }, "unk_token": "[UNK]" } });
        file.to_string().into_bytes()
    }

    #[test]
    fn a_verdict_of_another_release_is_tried_once_more_by_a_writer() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("corpus");
        Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &[]).unwrap();
        let mut writer = CorpusWriter::open(&path).unwrap();
        let json = words();
        let new = TokenizerRegistration { name: "words", json: &json, ..Default::default() };
        let verdict = writer.register(&new).unwrap().backend;
        assert!(verdict.starts_with("fast, "), "{verdict}");
        let of =
            |writer: &mut CorpusWriter| find(writer.view(), "words").unwrap().1.backend.clone();
        for stale in [
            "oracle (it differs)",
            "oracle (it differs), not tokenizers 0.1",
            "fast, tokenizers 0.1",
        ] {
            let (id, record) = find(writer.view(), "words").unwrap();
            let record = TokenizerRecord { backend: stale.to_owned(), ..record.clone() };
            let mut batch = writer.store().begin().unwrap();
            batch.update_tokenizer(id, &record).unwrap();
            batch.commit(&about("words")).unwrap();
            // A reader goes by a verdict for the reference, and stores nothing.
            let read = load(writer.view(), Some("words")).unwrap();
            assert_eq!(
                read.tokenizer.backend().name(),
                if stale.starts_with('f') { "fast" } else { "oracle" }
            );
            assert_eq!(of(&mut writer), stale);
            assert_eq!(load_to_write(writer.store()).unwrap().len(), 1);
            assert_eq!(of(&mut writer), verdict);
            // Then there is nothing left to prove or to commit.
            let commit = writer.view().commit();
            load_to_write(writer.store()).unwrap();
            assert_eq!(writer.view().commit(), commit);
        }
    }
}
