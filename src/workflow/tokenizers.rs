//! Registers, trains, extends, drops and writes tokenizers, with the ids of stored documents and the plans that need them.

use crate::corpus::{Corpus, CorpusWriter};
use crate::curate::{
    self, ExtendedTokenizer, ExtensionRecord, ExtensionSource, TokenizerReport, TrainedTokenizer,
    TrainingRecord, TrainingResult, TrainingTexts,
};
use crate::decide::LoadedTokenizer;
use crate::epoch::{self, recipe::SpecialTokens};
use crate::ingest;
use model::{Context, Error, Hint};
use serde_json::Value;
use store::TokenizerRecord;
use tokenizer::{
    PretrainedSettings, TokenizerError, TokenizerRegistration, TrainOptions, stored_vocabulary,
    to_pretrained,
};

impl Corpus {
    /// The files of a directory from which `AutoTokenizer.from_pretrained` of transformers loads a tokenizer, by name.
    /// Without a `chat_template` it has the one that wrote the stored conversations.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`Error`] for a special token that the tokenizer does not have, and where several
    /// templates wrote conversations and none is given.
    pub fn pretrained_tokenizer(
        &self,
        name: &str,
        specials: &SpecialTokens,
        chat_template: Option<String>,
    ) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let json = self.tokenizer_json(name)?;
        let (_, record) = self.tokenizer_record(name)?;
        epoch::special_ids(&stored_vocabulary(&json, &record.backend)?, specials)?;
        let chat_template = match chat_template {
            Some(template) => Some(template),
            None => {
                let mut stored = self.view().templates()?;
                if stored.len() > 1 {
                    let message = format!("{} chat templates wrote conversations", stored.len());
                    let hint = "give the one of this tokenizer: `chat_template=`";
                    return Err(Error::bad_input(message).with_hint(Hint::text(hint)));
                }
                stored.pop()
            }
        };
        let SpecialTokens { bos, eos, pad } = specials;
        let settings = PretrainedSettings {
            bos: bos.as_deref(),
            eos: eos.as_deref(),
            pad: pad.as_deref(),
            chat_template: chat_template.as_deref(),
        };
        Ok(to_pretrained(&json, &settings)?)
    }
}

impl CorpusWriter {
    /// Registers a tokenizer under `name` and encodes all kept documents; see [`CorpusWriter::register`].
    ///
    /// # Errors
    /// [`TokenizerError`](crate::tokenizer::TokenizerError) when the file is not a tokenizer,
    /// [`StoreError`](crate::store::StoreError) when the name is taken.
    pub fn add_tokenizer(
        &mut self,
        name: &str,
        json: &[u8],
        lineage: &str,
        context: &Context<'_>,
    ) -> Result<(TokenizerRecord, u64), Error> {
        let new = TokenizerRegistration { name, json, lineage, ..TokenizerRegistration::default() };
        self.register(&new)?;
        let encoded = self.backfill(name, context)?;
        let (_, record) = curate::find(self.view(), name)?;
        Ok((record.clone(), encoded.encoded_tokens.unwrap_or(0)))
    }

    /// Registers a tokenizer; with `backfill` the kept documents are encoded, else [`CorpusWriter::backfill`] or the next
    /// ingest does it.
    ///
    /// # Errors
    /// As [`CorpusWriter::register`] and [`CorpusWriter::backfill`].
    pub fn register_and_encode(
        &mut self,
        new: &TokenizerRegistration<'_>,
        backfill: bool,
        context: &Context<'_>,
    ) -> Result<TokenizerReport, Error> {
        let (record, megabytes_per_second) = curate::register(self.store(), new)?;
        let report = match backfill {
            true => self.backfill(new.name, context)?,
            false => TokenizerReport::of(&record),
        };
        Ok(TokenizerReport { megabytes_per_second, ..report })
    }

    /// Trains a tokenizer on kept documents and registers it with all that decided it; with `backfill` the kept
    /// documents are encoded. After an interrupt the same call continues.
    ///
    /// # Errors
    /// an error of the store, before the work, when no tokenizer can have the name or another one has it; as
    /// [`CorpusWriter::train_tokenizer`] and [`CorpusWriter::register_and_encode`].
    pub fn train_and_register(
        &mut self,
        name: &str,
        options: &TrainOptions,
        on: &TrainingTexts,
        backfill: bool,
        context: &Context<'_>,
    ) -> Result<TrainedTokenizer, Error> {
        curate::check_new_name(self.view(), name, |decisions| {
            let trained = serde_json::from_slice::<TrainingRecord>(decisions);
            trained.is_ok_and(|trained| trained.options == *options && trained.on == *on)
        })?;
        let TrainingResult { json, decisions } = self.train_tokenizer(options, on, context)?;
        let (lineage, stored) =
            (decisions.lineage(), serde_json::to_vec(&decisions).map_err(TokenizerError::Write)?);
        let new = TokenizerRegistration {
            name,
            json: &json,
            lineage: &lineage,
            decisions: Some(&stored),
            ..TokenizerRegistration::default()
        };
        let tokenizer = self.register_and_encode(&new, backfill, context)?;
        Ok(TrainedTokenizer { tokenizer, decisions })
    }

    /// Extends a tokenizer and registers the result under `name`, unless nothing is new; with `backfill` the kept
    /// documents are encoded. After an interrupt the same call continues.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; an error of the store, before the work, when no tokenizer can have the name or another
    /// one has it; those of `tokenizer` and `curate` when it cannot be extended so.
    pub fn extend_and_register(
        &mut self,
        base: &str,
        name: &str,
        by: ExtensionSource<'_>,
        backfill: bool,
        context: &Context<'_>,
    ) -> Result<ExtendedTokenizer, Error> {
        curate::check_new_name(self.view(), name, |decisions| {
            let extended = serde_json::from_slice::<Value>(decisions).unwrap_or_default();
            let has = |key, value| extended.get(key).and_then(Value::as_str) == Some(value);
            has("kind", "extended") && has("base", base)
        })?;
        let extension = match by {
            ExtensionSource::Terms(terms, options) => self.extend_by_terms(base, terms, options)?,
            ExtensionSource::Growth(options, condition) => {
                self.extend_by_growth(base, options, condition, context)?
            }
        };
        if extension.adds_nothing() {
            return Ok(ExtendedTokenizer { tokenizer: None, extension });
        }
        let decided = ExtensionRecord::of(base, by, &extension, self.view().commit().0);
        let (lineage, stored) =
            (decided.lineage(), serde_json::to_vec(&decided).map_err(TokenizerError::Write)?);
        let new = TokenizerRegistration {
            name,
            json: &extension.json,
            lineage: &lineage,
            decisions: Some(&stored),
            base: Some(base),
            ..TokenizerRegistration::default()
        };
        let tokenizer = Some(self.register_and_encode(&new, backfill, context)?);
        Ok(ExtendedTokenizer { tokenizer, extension })
    }

    /// Encodes the kept documents that a tokenizer has not encoded. Goes on where an interrupt stopped.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`Error`], earlier commits stay.
    pub fn backfill(
        &mut self,
        name: &str,
        context: &Context<'_>,
    ) -> Result<TokenizerReport, Error> {
        let loaded = curate::load_to_encode(self.store(), name)?;
        let ordinary_markers = ingest::markers_read_as_text(self.view(), &loaded)?;
        let LoadedTokenizer { id, tokenizer, .. } = &loaded;
        let context = self.within(context);
        let done = curate::encode_stored(self.store(), *id, tokenizer, &context)?;
        self.store().flush_if_long()?;
        context.progress.end();
        let said = ingest::specials_said_in_chats(self.view(), tokenizer, context.interrupt)?;
        let (_, record) = curate::find(self.view(), name)?;
        Ok(TokenizerReport::encoded(record, done, ordinary_markers, said))
    }

    /// Forgets a tokenizer with all its ids. Refused while a stored plan is by it, or ids of it came with
    /// records, unless `force`; such plans cannot be opened afterwards. Answers their numbers.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`Error`] when something depends on it.
    pub fn drop_tokenizer(&mut self, name: &str, force: bool) -> Result<Vec<u32>, Error> {
        let (_, record) = curate::find(self.view(), name)?;
        let plans = epoch::plans_by(self.view(), name, record.hash)?;
        curate::drop_tokenizer(self.store(), name, &plans, force)?;
        Ok(plans)
    }
}
