//! The corpora that an epoch draws from, read as one: a corpus, and those beside it that hold other documents.
//!
//! A document of the first corpus has the number that it has there. One of corpus `n`, counted from 0, has that number
//! and `n` times 2^40 more: no corpus has as many documents, so the upper bits name the corpus. Sources go by their
//! names, and tokenizers by their names and files. `reads` gives what is stored of documents, `answers` what
//! expressions say of them, `moment` which of them were there.

mod answers;
mod moment;
mod reads;

pub(crate) use moment::Moment;
pub(in crate::epoch) use moment::has_moved;

use crate::epoch::error::EpochError;
use crate::model::{DocId, SourceId, TokenizerId};
use crate::store::{TokenizerRecord, View};
use roaring::{RoaringBitmap, RoaringTreemap};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// How many bits of a number tell the document within its corpus.
const DOCUMENT_BITS: u32 = 40;

/// Bits of a corpus's number above the 32 that one bitmap of a set of documents covers.
const HIGH_BITS: u32 = DOCUMENT_BITS - 32;

/// The corpora that an epoch draws from, each at the moment that its view shows. Cheap to clone.
#[derive(Clone)]
pub struct Corpora {
    first: View,
    all: Arc<[Shard]>,
    /// The names of all sources: those of the first corpus by their numbers, then what others have besides.
    sources: Arc<[String]>,
}

/// A corpus among others.
struct Shard {
    view: View,
    /// Its numbers of the first corpus's tokenizers.
    tokenizers: Vec<Option<TokenizerId>>,
    /// Its numbers of all sources.
    sources: Vec<Option<SourceId>>,
}

impl Corpora {
    /// One corpus, and others beside it, in the order in which their documents are numbered.
    #[must_use]
    pub fn of(first: &View, others: &[View]) -> Self {
        let views = || std::iter::once(first).chain(others);
        let (mut sources, mut known) = (Vec::new(), BTreeSet::new());
        for (_, record) in views().flat_map(View::sources) {
            if known.insert(record.name.as_str()) {
                sources.push(record.name.clone());
            }
        }
        let shard = |view: &View| {
            let ids: BTreeMap<&str, SourceId> =
                view.sources().map(|(id, record)| (record.name.as_str(), id)).collect();
            Shard {
                view: view.clone(),
                tokenizers: tokenizers(first, view),
                sources: sources
                    .iter()
                    .map(|name: &String| ids.get(name.as_str()).copied())
                    .collect(),
            }
        };
        let all = views().map(shard).collect();
        Self { first: first.clone(), all, sources: sources.into() }
    }

    /// One corpus by itself.
    #[must_use]
    pub fn alone(view: &View) -> Self {
        Self::of(view, &[])
    }

    /// How many corpora there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// The corpus that a document is in, counted from 0, and its number there.
    #[must_use]
    pub const fn place(document: DocId) -> (u64, DocId) {
        (document.0 >> DOCUMENT_BITS, DocId(document.0 & ((1 << DOCUMENT_BITS) - 1)))
    }

    /// The view of the corpus that a document is in, and its number there.
    ///
    /// # Errors
    /// [`EpochError::Shards`] for a document of a corpus that is not among these.
    pub fn find(&self, document: DocId) -> Result<(&View, DocId), EpochError> {
        let (shard, inside) = self.shard_of(document)?;
        Ok((&shard.view, inside))
    }

    fn shard_of(&self, document: DocId) -> Result<(&Shard, DocId), EpochError> {
        let (number, inside) = Self::place(document);
        let shard = usize::try_from(number).ok().and_then(|number| self.all.get(number));
        let shard = shard.ok_or_else(|| self.missing(number.saturating_add(1)))?;
        Ok((shard, inside))
    }

    /// The first corpus: that which stores the plan.
    #[must_use]
    pub const fn first(&self) -> &View {
        &self.first
    }

    /// Every corpus with its number.
    pub(in crate::epoch) fn views(&self) -> impl Iterator<Item = (u64, &View)> {
        (0..).zip(self.all.iter().map(|shard| &shard.view))
    }

    /// Bytes that queries over all of them may hold.
    pub(in crate::epoch) fn query_memory(&self) -> usize {
        self.views().map(|(_, view)| view.query_memory()).sum()
    }

    /// All sources.
    pub(in crate::epoch) fn sources(&self) -> impl Iterator<Item = (SourceId, &str)> {
        (0..).map(SourceId).zip(self.sources.iter().map(String::as_str))
    }

    pub(in crate::epoch) fn source_named(&self, name: &str) -> Option<SourceId> {
        self.sources().find(|(_, known)| *known == name).map(|(id, _)| id)
    }

    pub(in crate::epoch) fn source_name(&self, source: SourceId) -> &str {
        self.sources.get(source.0 as usize).map_or("?", String::as_str)
    }

    /// The corpora that have a source, each with its number of it.
    pub(in crate::epoch) fn views_with(
        &self,
        source: SourceId,
    ) -> impl Iterator<Item = (u64, &View, SourceId)> {
        self.numbered(move |shard| *shard.sources.get(source.0 as usize)?)
    }

    /// A tokenizer that every corpus has, from the same file.
    ///
    /// # Errors
    /// Which corpus has it not.
    pub(in crate::epoch) fn tokenizer_named(
        &self,
        name: &str,
    ) -> Result<Option<(TokenizerId, &TokenizerRecord)>, String> {
        let Some((id, record)) = self.first().tokenizer_named(name) else { return Ok(None) };
        for (at, shard) in self.all.iter().enumerate() {
            if shard.tokenizer(id).is_none() {
                let why = match shard.view.tokenizer_named(name) {
                    Some(_) => format!("tokenizer `{name}` of shard {at} has another file"),
                    None => format!("shard {at} has no tokenizer `{name}`"),
                };
                return Err(why);
            }
        }
        Ok(Some((id, record)))
    }

    /// The first corpus's number of a tokenizer in each, with the view; corpora without it are left out.
    fn with_tokenizer(
        &self,
        tokenizer: TokenizerId,
    ) -> impl Iterator<Item = (u64, &View, TokenizerId)> {
        self.numbered(move |shard| shard.tokenizer(tokenizer))
    }

    /// The corpora that have a number of something, each with it.
    fn numbered<T>(
        &self,
        of: impl Fn(&Shard) -> Option<T>,
    ) -> impl Iterator<Item = (u64, &View, T)> {
        (0..)
            .zip(self.all.iter())
            .filter_map(move |(at, shard)| Some((at, &shard.view, of(shard)?)))
    }

    fn missing(&self, needed: u64) -> EpochError {
        EpochError::Shards { needed, open: self.all.len() as u64 }
    }

    /// Refuses a plan that draws from more corpora than these.
    ///
    /// # Errors
    /// [`EpochError::Shards`].
    pub(in crate::epoch) fn expect(&self, needed: usize) -> Result<(), EpochError> {
        if needed <= self.all.len() { Ok(()) } else { Err(self.missing(needed as u64)) }
    }
}

impl Shard {
    fn tokenizer(&self, of_first: TokenizerId) -> Option<TokenizerId> {
        *self.tokenizers.get(usize::from(of_first.0))?
    }
}

/// The numbers that a corpus gave the tokenizers of the first one.
fn tokenizers(first: &View, view: &View) -> Vec<Option<TokenizerId>> {
    let mut found = Vec::new();
    for (id, record) in first.tokenizers() {
        let same = view.tokenizer_named(&record.name).filter(|(_, it)| it.hash == record.hash);
        found.resize(usize::from(id.0), None);
        found.push(same.map(|(id, _)| id));
    }
    found
}

/// Refuses corpora of which one is named twice.
///
/// # Errors
/// [`EpochError::SameShard`] with its path.
pub(crate) fn refuse_same<'a>(paths: impl Iterator<Item = &'a Path>) -> Result<(), EpochError> {
    let mut seen = BTreeSet::new();
    for path in paths {
        if !seen.insert(path.canonicalize().unwrap_or_else(|_| path.to_path_buf())) {
            return Err(EpochError::SameShard { path: path.to_path_buf() });
        }
    }
    Ok(())
}

/// The number of a document of corpus `shard` among all.
fn whole(shard: u64, document: DocId) -> DocId {
    DocId(shard << DOCUMENT_BITS | document.0)
}

/// Documents of corpus `shard` by their numbers among all.
pub(in crate::epoch) fn wholes(shard: u64, documents: RoaringTreemap) -> RoaringTreemap {
    if shard == 0 {
        return documents;
    }
    moved(&documents, |high| Some(high | (shard as u32) << HIGH_BITS))
}

/// Those of some documents that are in corpus `shard`, by their numbers there.
pub(in crate::epoch) fn parts(shard: u64, documents: &RoaringTreemap) -> RoaringTreemap {
    let inside = |high: u32| high & ((1 << HIGH_BITS) - 1);
    moved(documents, |high| (u64::from(high >> HIGH_BITS) == shard).then(|| inside(high)))
}

fn moved(documents: &RoaringTreemap, to: impl Fn(u32) -> Option<u32>) -> RoaringTreemap {
    let bitmaps = documents.bitmaps();
    let kept = bitmaps.filter_map(|(high, bitmap)| Some((to(high)?, RoaringBitmap::clone(bitmap))));
    RoaringTreemap::from_bitmaps(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_tells_the_corpus_and_the_document_there() {
        let inside: RoaringTreemap =
            [0, 65_536, (1 << 32) + 7, (1 << 40) - 1].into_iter().collect();
        let mut all = RoaringTreemap::new();
        for shard in [0, 1, 255, 4_096] {
            let there = wholes(shard, inside.clone());
            assert!(
                there
                    .iter()
                    .zip(&inside)
                    .all(|(whole, part)| { Corpora::place(DocId(whole)) == (shard, DocId(part)) })
            );
            all |= there;
        }
        for shard in [0, 1, 2, 255, 4_096] {
            let expected = if shard == 2 { RoaringTreemap::new() } else { inside.clone() };
            assert_eq!(parts(shard, &all), expected, "{shard}");
        }
    }
}
