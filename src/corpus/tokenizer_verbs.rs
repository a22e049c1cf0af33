//! The tokenizers of a corpus: registered, trained, extended, asked, dropped.

use super::{Corpus, CorpusWriter};
use crate::curate::{
    self, AddTokenizerReport, AnalyseOptions, ShownTokens, TrainingResult, TrainingTexts,
};
use crate::decide::LoadedTokenizer;
use crate::epoch;
use crate::ingest;
use crate::model::{Context, DocId, Error, TokenizerId};
use crate::store::TokenizerRecord;
use crate::tokenizer::{
    self, Extension, GrowthOptions, NewTokenizer, Piece, TermOptions, TokenizerCheck,
    TokenizerError, TrainOptions, VocabularyDiff, analyse::AnalysisReport,
};

impl Corpus {
    /// The tokenizer of that name, or the first, with its encoder.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`Error::Tokenizer`] when its file is damaged.
    pub fn tokenizer(&self, name: Option<&str>) -> Result<LoadedTokenizer, Error> {
        Ok(curate::load(&self.view, name)?)
    }

    /// What is stored about the tokenizer of that name.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`].
    pub fn tokenizer_record(&self, name: &str) -> Result<(TokenizerId, &TokenizerRecord), Error> {
        Ok(curate::find(&self.view, name)?)
    }

    /// The stored token ids of a document, each with its text and whether it is trained on. Without a name the first
    /// tokenizer of the corpus is meant.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`Error::Curate`] when it was never encoded.
    pub fn tokens_of(
        &self,
        document: DocId,
        tokenizer: Option<&str>,
    ) -> Result<ShownTokens, Error> {
        let loaded = self.tokenizer(tokenizer)?;
        let LoadedTokenizer { id, name, tokenizer, .. } = &loaded;
        Ok(curate::shown_tokens(&self.view, document, *id, name, tokenizer)?)
    }

    /// The tokens of a text. With `specials`, special tokens spelled in it are special tokens.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`Error::Tokenizer`] when the text is refused.
    pub fn encode(
        &self,
        tokenizer: Option<&str>,
        text: &str,
        specials: bool,
    ) -> Result<Vec<Piece>, Error> {
        let loaded = self.tokenizer(tokenizer)?;
        Ok(tokenizer::pieces(&loaded.tokenizer, text, specials)?.0)
    }

    /// What tokenizers make of kept documents, by language or source; lengths are relative to those of one of them.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`Error::Query`] when the condition is wrong; [`Error::Curate`]
    /// when nothing is selected.
    pub fn analyse(
        &self,
        names: &[String],
        options: &AnalyseOptions,
        context: &Context<'_>,
    ) -> Result<AnalysisReport, Error> {
        let loaded: Vec<LoadedTokenizer> = names
            .iter()
            .map(|name| curate::load(&self.view, Some(name)))
            .collect::<Result<_, _>>()?;
        let reference = options.reference_among(names.first().map(String::as_str));
        if !names.iter().any(|name| name == reference) {
            let known: Vec<&str> = names.iter().map(String::as_str).collect();
            return Err(TokenizerError::unknown(reference, &known).into());
        }
        let selected = match &options.condition {
            Some(condition) => self.select(Some(condition))?,
            None => self.view.kept()?,
        };
        let context = self.within(context);
        let answer = curate::analyse(&self.view, &selected, &loaded, options, &context)?;
        context.progress.end();
        Ok(answer)
    }

    /// Goes through what trips tokenizers, compares both encoders anew on a sample of the corpus, and stored
    /// ids with those that the texts have now.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`Error`] when a text cannot be read or encoded.
    pub fn check_tokenizer(&self, name: &str) -> Result<(TokenizerCheck, Option<DocId>), Error> {
        let (id, _) = curate::find(&self.view, name)?;
        let sample = curate::sample_texts(&self.view)?;
        let sample: Vec<&str> = sample.iter().map(String::as_str).collect();
        let check = tokenizer::check(&self.view.tokenizer_file(id)?, &sample)?;
        let other = curate::other_ids(&self.view, &curate::load(&self.view, Some(name))?)?;
        Ok((check, other))
    }

    /// The bytes of a tokenizer's `tokenizer.json`.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`Error::Store`] when it cannot be read.
    pub fn tokenizer_json(&self, name: &str) -> Result<Vec<u8>, Error> {
        Ok(self.view.tokenizer_file(curate::find(&self.view, name)?.0)?)
    }

    /// The files that a tokenizer was registered with, by name; its `tokenizer.json` when that is all.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`Error::Store`] when one cannot be read.
    pub fn tokenizer_originals(&self, name: &str) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let (id, record) = curate::find(&self.view, name)?;
        let files = self.view.tokenizer_originals(id, record)?;
        if files.is_empty() {
            return Ok(vec![("tokenizer.json".to_owned(), self.view.tokenizer_file(id)?)]);
        }
        Ok(files)
    }

    /// A tokenizer as the bytes of a SentencePiece model.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`Error::Tokenizer`] when no such model can do what it does.
    pub fn sentencepiece_model(&self, name: &str) -> Result<Vec<u8>, Error> {
        Ok(tokenizer::to_sentencepiece(&self.tokenizer_json(name)?)?)
    }

    /// What differs between two tokenizers.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`Error::Tokenizer`] when a file is damaged.
    pub fn diff_tokenizers(&self, a: &str, b: &str) -> Result<VocabularyDiff, Error> {
        Ok(tokenizer::diff(&self.tokenizer_json(a)?, &self.tokenizer_json(b)?)?)
    }

    /// The text of ids, special tokens spelled out.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`Error::Tokenizer`] when an id is not in the vocabulary.
    pub fn decode(&self, tokenizer: Option<&str>, ids: &[u32]) -> Result<String, Error> {
        let loaded = self.tokenizer(tokenizer)?;
        let vocab_size = loaded.tokenizer.vocab_size();
        if let Some(id) = ids.iter().copied().find(|id| *id >= vocab_size) {
            return Err(TokenizerError::NoSuchId { id, vocab_size }.into());
        }
        Ok(loaded.tokenizer.decode(ids)?)
    }
}

impl CorpusWriter {
    /// Registers a tokenizer under `name` and encodes all kept documents; see [`CorpusWriter::register`].
    ///
    /// # Errors
    /// [`Error::Tokenizer`] when the file is no tokenizer, [`Error::Store`] when the name is taken.
    pub fn add_tokenizer(
        &mut self,
        name: &str,
        json: &[u8],
        lineage: &str,
        context: &Context<'_>,
    ) -> Result<(TokenizerRecord, u64), Error> {
        let new = NewTokenizer { name, json, lineage, ..NewTokenizer::default() };
        self.register(&new)?;
        let AddTokenizerReport { record, done, .. } = self.backfill(name, context)?;
        Ok((record, done.tokens))
    }

    /// Registers a tokenizer; [`CorpusWriter::backfill`] then encodes what is stored. The same file under
    /// the same name is registered once.
    ///
    /// # Errors
    /// [`Error::Tokenizer`] when the file is no tokenizer or one that has no ids for some texts,
    /// [`Error::Store`] when the name is taken by another.
    pub fn register(&mut self, new: &NewTokenizer<'_>) -> Result<TokenizerRecord, Error> {
        Ok(curate::register(&mut self.writer, new)?)
    }

    /// Encodes the kept documents that a tokenizer has not encoded. Goes on where an interrupt stopped.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`Error::Curate`], what was committed before it stays.
    pub fn backfill(
        &mut self,
        name: &str,
        context: &Context<'_>,
    ) -> Result<AddTokenizerReport, Error> {
        let loaded = curate::load(self.view(), Some(name))?;
        curate::prove(&mut self.writer, &loaded)?;
        let ordinary_markers = ingest::markers_read_as_text(self.view(), &loaded)?;
        let LoadedTokenizer { id, tokenizer, .. } = &loaded;
        let context = self.within(context);
        let done = curate::encode_stored(&mut self.writer, *id, tokenizer, &context)?;
        self.writer.flush_if_long()?;
        context.progress.end();
        let (_, record) = curate::find(self.view(), name)?;
        Ok(AddTokenizerReport { record: record.clone(), done, ordinary_markers })
    }

    /// Trains a tokenizer; not registered yet.
    ///
    /// # Errors
    /// [`Error::Curate`] when there is nothing to train on or the options cannot be had.
    pub fn train_tokenizer(
        &self,
        options: &TrainOptions,
        on: &TrainingTexts,
        context: &Context<'_>,
    ) -> Result<TrainingResult, Error> {
        let context = self.within(context);
        let answer = curate::train_tokenizer(self.view(), options, on, &context)?;
        context.progress.end();
        Ok(answer)
    }

    /// A registered BPE that goes on training on the kept documents of a condition; not registered yet.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`Error::Curate`] when it is no BPE or there is nothing to train on.
    pub fn extend_by_growth(
        &self,
        base: &str,
        options: GrowthOptions,
        condition: Option<&str>,
        context: &Context<'_>,
    ) -> Result<Extension, Error> {
        let file = self.view().tokenizer_file(curate::find(self.view(), base)?.0)?;
        let context = self.within(context);
        let answer = curate::grow(self.view(), &file, options, condition, &context)?;
        context.progress.end();
        Ok(answer)
    }

    /// A registered tokenizer extended so that terms are single tokens; not registered yet.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`Error::Tokenizer`] when it cannot be extended.
    pub fn extend_by_terms(
        &self,
        base: &str,
        terms: &[String],
        options: TermOptions,
    ) -> Result<Extension, Error> {
        let file = self.view().tokenizer_file(curate::find(self.view(), base)?.0)?;
        Ok(tokenizer::extend_by_terms(&file, terms, options)?)
    }

    /// Forgets a tokenizer with all its ids. Refused while a stored plan is by it, or ids of it came with
    /// records, unless `force`; such plans cannot be opened afterwards. Answers their numbers.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`Error::Curate`] when something depends on it.
    pub fn drop_tokenizer(&mut self, name: &str, force: bool) -> Result<Vec<u32>, Error> {
        let (_, record) = curate::find(self.view(), name)?;
        let plans = epoch::plans_by(self.view(), name, record.hash)?;
        curate::drop_tokenizer(&mut self.writer, name, &plans, force)?;
        Ok(plans)
    }
}
