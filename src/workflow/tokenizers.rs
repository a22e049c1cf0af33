//! The tokenizers of a corpus encode what is stored, and are given up with the plans that need them.

use crate::corpus::CorpusWriter;
use crate::curate::{self, AddTokenizerReport};
use crate::decide::LoadedTokenizer;
use crate::epoch;
use crate::ingest;
use crate::model::{Context, Error};
use crate::store::TokenizerRecord;
use crate::tokenizer::NewTokenizer;

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
        curate::prove(self.store(), &loaded)?;
        let ordinary_markers = ingest::markers_read_as_text(self.view(), &loaded)?;
        let LoadedTokenizer { id, tokenizer, .. } = &loaded;
        let context = self.within(context);
        let done = curate::encode_stored(self.store(), *id, tokenizer, &context)?;
        self.store().flush_if_long()?;
        context.progress.end();
        let (_, record) = curate::find(self.view(), name)?;
        Ok(AddTokenizerReport { record: record.clone(), done, ordinary_markers })
    }

    /// Forgets a tokenizer with all its ids. Refused while a stored plan is by it, or ids of it came with
    /// records, unless `force`; such plans cannot be opened afterwards. Answers their numbers.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`Error::Curate`] when something depends on it.
    pub fn drop_tokenizer(&mut self, name: &str, force: bool) -> Result<Vec<u32>, Error> {
        let (_, record) = curate::find(self.view(), name)?;
        let plans = epoch::plans_by(self.view(), name, record.hash)?;
        curate::drop_tokenizer(self.store(), name, &plans, force)?;
        Ok(plans)
    }
}
