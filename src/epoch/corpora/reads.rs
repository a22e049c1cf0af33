//! What is stored of documents, wherever they are.

use super::{Corpora, whole, wholes};
use crate::epoch::error::EpochError;
use crate::model::{BLOCK_SIZE, DocId, LossSpan, SourceId, Standing, TokenizerId};
use crate::store::{NumberBlockRef, StoreError, TokenIdsRef, system_fields};
use roaring::RoaringTreemap;

impl Corpora {
    /// How many tokens the documents of a block have; none where the corpus has no such block.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub(in crate::epoch) fn token_counts<T>(
        &self,
        tokenizer: TokenizerId,
        block: u64,
        read: impl FnOnce(&NumberBlockRef<'_>) -> T,
    ) -> Result<Option<T>, EpochError> {
        let (shard, first) = self.shard_of(DocId(block * BLOCK_SIZE))?;
        let Some(tokenizer) = shard.tokenizer(tokenizer) else { return Ok(None) };
        Ok(shard.view.column_values(system_fields::tokens_of(tokenizer), first.block(), read)?)
    }

    /// Calls `each` with every one of `documents`, which ascend, and its ids.
    ///
    /// # Errors
    /// [`EpochError::Store`]; those of `each`.
    pub(in crate::epoch) fn for_each_tokens(
        &self,
        tokenizer: TokenizerId,
        documents: &[DocId],
        mut each: impl FnMut(DocId, Option<TokenIdsRef<'_>>) -> Result<(), EpochError>,
    ) -> Result<(), EpochError> {
        for of_shard in documents.chunk_by(|one, next| Self::place(*one).0 == Self::place(*next).0)
        {
            let Some(first) = of_shard.first() else { continue };
            let (shard, _) = Self::place(*first);
            let (of, _) = self.shard_of(*first)?;
            let Some(number) = of.tokenizer(tokenizer) else {
                of_shard.iter().try_for_each(|document| each(*document, None))?;
                continue;
            };
            if shard == 0 {
                of.view.for_each_tokens(number, of_shard, &mut each)?;
                continue;
            }
            let inside: Vec<DocId> =
                of_shard.iter().map(|document| Self::place(*document).1).collect();
            of.view.for_each_tokens(number, &inside, |document, ids| {
                each(whole(shard, document), ids)
            })?;
        }
        Ok(())
    }

    /// Whether any document says which of its tokens are trained on.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub(in crate::epoch) fn has_loss(&self, tokenizer: TokenizerId) -> Result<bool, EpochError> {
        for (_, view, tokenizer) in self.with_tokenizer(tokenizer) {
            if view.has_loss(tokenizer)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Which tokens of a document are trained on; none: all.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub(in crate::epoch) fn loss(
        &self,
        tokenizer: TokenizerId,
        document: DocId,
    ) -> Result<Option<Vec<LossSpan>>, EpochError> {
        let (shard, inside) = self.shard_of(document)?;
        let Some(tokenizer) = shard.tokenizer(tokenizer) else { return Ok(None) };
        Ok(shard.view.loss(tokenizer, inside)?)
    }

    /// The documents that say which of their tokens are trained on, ascending, each with these; a row that cannot be
    /// read is the last of its corpus.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub(in crate::epoch) fn all_losses(
        &self,
        tokenizer: TokenizerId,
    ) -> Result<impl Iterator<Item = Result<(DocId, Vec<LossSpan>), StoreError>>, EpochError> {
        let mut all = Vec::new();
        for (shard, view, tokenizer) in self.with_tokenizer(tokenizer) {
            let of_shard = view.all_losses(tokenizer)?;
            all.push(of_shard.map(move |row| row.map(|(id, spans)| (whole(shard, id), spans))));
        }
        Ok(all.into_iter().flatten())
    }

    /// # Errors
    /// [`EpochError::Store`].
    pub(in crate::epoch) fn text(&self, document: DocId) -> Result<String, EpochError> {
        let (view, inside) = self.find(document)?;
        Ok(view.text(inside)?)
    }

    /// # Errors
    /// [`EpochError::Store`].
    pub(in crate::epoch) fn documents_standing(
        &self,
        standing: Standing,
    ) -> Result<RoaringTreemap, EpochError> {
        let mut all = RoaringTreemap::new();
        for (shard, view) in self.views() {
            all |= wholes(shard, view.documents_standing(standing)?);
        }
        Ok(all)
    }

    /// The documents of a source.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub(in crate::epoch) fn documents_of(
        &self,
        source: SourceId,
    ) -> Result<RoaringTreemap, EpochError> {
        let mut all = RoaringTreemap::new();
        for (shard, view, source) in self.views_with(source) {
            let of_shard =
                view.documents_with(system_fields::SOURCE, &system_fields::source_value(source))?;
            all |= wholes(shard, of_shard);
        }
        Ok(all)
    }
}
