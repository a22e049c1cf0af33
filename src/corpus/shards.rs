//! Several corpora as one, from which epochs draw: numbers of documents, sources and tokenizers across them.
//!
//! A document of the first corpus keeps its number. One of corpus `n`, counted from 0, has its number there plus `n`
//! times 2^40: no corpus has as many documents, so the upper bits name the corpus. Sources go by their names, and
//! tokenizers by their names and files.

use super::{Corpus, CorpusWriter};
use model::invariant::at;
use model::{BLOCK_SIZE, DocId, Error, LossSpan, SourceId, Standing, TextForm, TokenizerId};
use roaring::{RoaringBitmap, RoaringTreemap};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use store::{
    NumberBlockRef, StoreError, TemplateRecord, TokenIdsRef, TokenizerRecord, View, system_fields,
};

/// Bits of a number that are the document's number within its corpus.
const DOCUMENT_BITS: u32 = 40;

/// Bits of a corpus's number above the 32 that one bitmap of a set of documents covers.
const HIGH_BITS: u32 = DOCUMENT_BITS - 32;

/// The corpora that an epoch draws from, each at the moment that its view shows. Cheap to clone.
#[derive(Clone)]
pub struct Corpora {
    first: View,
    all: Arc<[CorpusShard]>,
    /// The names of all sources: those of the first corpus by their numbers, then further ones of the others.
    sources: Arc<[String]>,
}

/// Errors of several corpora together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShardError {
    /// A plan, or a document of one, that needs more corpora than are open.
    #[error(
        "the plan draws from {needed} corpora, and {open} of them {} open: name the others with `shards=`, in the order in which it was planned",
        if *open == 1 { "is" } else { "are" }
    )]
    TooFew {
        /// How many corpora the plan draws from.
        needed: u64,
        /// How many corpora are open.
        open: u64,
    },
    /// One corpus in two places.
    #[error("{} is named twice: each corpus that an epoch draws from is named once", path.display())]
    Twice {
        /// Where it lies.
        path: PathBuf,
    },
    /// Rows that cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// One corpus of several.
struct CorpusShard {
    view: View,
    /// For each tokenizer of the first corpus, its number in this one.
    tokenizers: Vec<Option<TokenizerId>>,
    /// For each source of all corpora, its number in this one.
    sources: Vec<Option<SourceId>>,
}

impl Corpora {
    /// The corpus `first` and `others`, in the order in which their documents are numbered.
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
            CorpusShard {
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

    /// A single corpus.
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
    /// [`ShardError::TooFew`] for a document of a corpus that is not among these.
    pub fn find(&self, document: DocId) -> Result<(&View, DocId), ShardError> {
        let (shard, inside) = self.shard_of(document)?;
        Ok((&shard.view, inside))
    }

    fn shard_of(&self, document: DocId) -> Result<(&CorpusShard, DocId), ShardError> {
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
    pub(crate) fn views(&self) -> impl Iterator<Item = (u64, &View)> {
        (0..).zip(self.all.iter().map(|shard| &shard.view))
    }

    /// Bytes that queries over all of them may hold.
    pub(crate) fn query_memory(&self) -> usize {
        self.views().map(|(_, view)| view.query_memory()).sum()
    }

    /// All sources.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (SourceId, &str)> {
        (0..).map(SourceId).zip(self.sources.iter().map(String::as_str))
    }

    pub(crate) fn source_named(&self, name: &str) -> Option<SourceId> {
        self.sources().find(|(_, known)| *known == name).map(|(id, _)| id)
    }

    /// The name of one of these sources.
    pub(crate) fn source_name(&self, source: SourceId) -> &str {
        at::<String>(&self.sources, source.0 as usize)
    }

    /// The corpora that have a source, each with the source's number in it.
    pub(crate) fn views_with(
        &self,
        source: SourceId,
    ) -> impl Iterator<Item = (u64, &View, SourceId)> {
        self.numbered(move |shard| *shard.sources.get(source.0 as usize)?)
    }

    /// A tokenizer that every corpus has, from the same file; the error names a corpus without it.
    pub(crate) fn tokenizer_named(
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

    /// For each corpus the tokenizer's number in it, and the view; corpora without the tokenizer are left out.
    fn with_tokenizer(
        &self,
        tokenizer: TokenizerId,
    ) -> impl Iterator<Item = (u64, &View, TokenizerId)> {
        self.numbered(move |shard| shard.tokenizer(tokenizer))
    }

    /// The corpora for which `of` gives a number, each with it.
    fn numbered<T>(
        &self,
        of: impl Fn(&CorpusShard) -> Option<T>,
    ) -> impl Iterator<Item = (u64, &View, T)> {
        (0..)
            .zip(self.all.iter())
            .filter_map(move |(at, shard)| Some((at, &shard.view, of(shard)?)))
    }

    fn missing(&self, needed: u64) -> ShardError {
        ShardError::TooFew { needed, open: self.all.len() as u64 }
    }

    /// Refuses a plan that draws from more corpora than these.
    pub(crate) fn expect(&self, needed: usize) -> Result<(), ShardError> {
        if needed <= self.all.len() { Ok(()) } else { Err(self.missing(needed as u64)) }
    }
}

/// Reads stored data of documents, in whichever corpus they are.
impl Corpora {
    /// How many tokens the documents of a block have; none where the corpus has no such block.
    pub(crate) fn token_counts<T>(
        &self,
        tokenizer: TokenizerId,
        block: u64,
        read: impl FnOnce(&NumberBlockRef<'_>) -> T,
    ) -> Result<Option<T>, ShardError> {
        let (shard, first) = self.shard_of(DocId(block * BLOCK_SIZE))?;
        let Some(tokenizer) = shard.tokenizer(tokenizer) else { return Ok(None) };
        Ok(shard.view.column_values(system_fields::tokens_of(tokenizer), first.block(), read)?)
    }

    /// Calls `each` with every one of `documents`, which ascend, and its token ids.
    pub(crate) fn for_each_tokens<E: From<ShardError> + From<StoreError>>(
        &self,
        tokenizer: TokenizerId,
        documents: &[DocId],
        mut each: impl FnMut(DocId, Option<TokenIdsRef<'_>>) -> Result<(), E>,
    ) -> Result<(), E> {
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

    /// Whether any document stores which of its tokens are trained on.
    pub(crate) fn has_loss(&self, tokenizer: TokenizerId) -> Result<bool, ShardError> {
        for (_, view, tokenizer) in self.with_tokenizer(tokenizer) {
            if view.has_loss(tokenizer)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Which tokens of a document are trained on; none means all.
    pub(crate) fn loss(
        &self,
        tokenizer: TokenizerId,
        document: DocId,
    ) -> Result<Option<Vec<LossSpan>>, ShardError> {
        let (shard, inside) = self.shard_of(document)?;
        let Some(tokenizer) = shard.tokenizer(tokenizer) else { return Ok(None) };
        Ok(shard.view.loss(tokenizer, inside)?)
    }

    /// The documents that store which of their tokens are trained on, ascending; a row that cannot be read is the last
    /// of its corpus.
    pub(crate) fn all_losses(
        &self,
        tokenizer: TokenizerId,
    ) -> Result<impl Iterator<Item = Result<(DocId, Vec<LossSpan>), StoreError>>, ShardError> {
        let mut all = Vec::new();
        for (shard, view, tokenizer) in self.with_tokenizer(tokenizer) {
            let of_shard = view.all_losses(tokenizer)?;
            all.push(of_shard.map(move |row| row.map(|(id, spans)| (whole(shard, id), spans))));
        }
        Ok(all.into_iter().flatten())
    }

    /// The documents whose text is not encoded as plain text, ascending, with its form; a row that cannot be read is
    /// the last of its corpus.
    pub(crate) fn text_forms(
        &self,
    ) -> Result<impl Iterator<Item = Result<(DocId, TextForm), StoreError>>, ShardError> {
        let mut all = Vec::new();
        for (shard, view, ()) in self.numbered(|_| Some(())) {
            let of_shard = view.text_forms()?;
            all.push(of_shard.map(move |row| row.map(|(id, form)| (whole(shard, id), form))));
        }
        Ok(all.into_iter().flatten())
    }

    /// The sources in which several chat templates (or one with several values) wrote the texts of `documents`, with
    /// their number.
    pub(crate) fn mixed_templates(
        &self,
        documents: &RoaringTreemap,
    ) -> Result<BTreeMap<String, u64>, ShardError> {
        let mut templates: BTreeMap<String, BTreeSet<TemplateRecord>> = BTreeMap::new();
        for (shard, view) in self.views() {
            for (source, of_shard) in view.templates_of(|| Ok(parts(shard, documents)))? {
                templates.entry(source).or_default().extend(of_shard);
            }
        }
        Ok(mixed(templates))
    }

    pub(crate) fn text(&self, document: DocId) -> Result<String, ShardError> {
        let (view, inside) = self.find(document)?;
        Ok(view.text(inside)?)
    }

    /// The witness of a duplicate; none for a document that is no duplicate.
    pub(crate) fn witness_of(&self, document: DocId) -> Result<Option<DocId>, ShardError> {
        let (view, inside) = self.find(document)?;
        let found = view.match_of(inside)?.filter(|found| found.is_duplicate());
        Ok(found.map(|found| whole(Self::place(document).0, found.witness)))
    }

    pub(crate) fn documents_standing(
        &self,
        standing: Standing,
    ) -> Result<RoaringTreemap, ShardError> {
        let mut all = RoaringTreemap::new();
        for (shard, view) in self.views() {
            all |= wholes(shard, view.documents_standing(standing)?);
        }
        Ok(all)
    }

    /// The documents of a source.
    pub(crate) fn documents_of(&self, source: SourceId) -> Result<RoaringTreemap, ShardError> {
        let mut all = RoaringTreemap::new();
        for (shard, view, source) in self.views_with(source) {
            let of_shard =
                view.documents_with(system_fields::SOURCE, &system_fields::source_value(source))?;
            all |= wholes(shard, of_shard);
        }
        Ok(all)
    }
}

impl Corpus {
    /// This corpus, with `others` as further corpora: plans, epochs, exports and their proofs are then over the
    /// documents of all of them. Everything else is of this corpus alone. Documents are numbered as [`Corpora`] says,
    /// so the order counts. A plan over several corpora can be opened only where at least these are given, in the order
    /// in which it was planned. The memory that each was opened with is shared by all; further corpora of `others` are
    /// left out.
    ///
    /// ```
    /// use corpusdb::{Context, Recipe};
    /// # use corpusdb::ingest::{Record, Records};
    /// # use corpusdb::{Corpus, DedupMode, IngestOptions, Policy};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let (first, second) = (directory.path().join("first"), directory.path().join("second"));
    /// # let options = Corpus::options().memory(64 << 20).threads(1);
    /// # let file = br#"{"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "model":
    /// #     {"type": "WordLevel", "vocab": {"<unk>": 0, "page": 1}, "unk_token": "<unk>"}}"#;
    /// # for (path, from) in [(&first, 0), (&second, 2)] {
    /// #     Corpus::init(path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
    /// #     let mut writer = options.open_writer(path)?;
    /// #     let page = |n: u32| Record::new(format!("page {n} of {n} pages")).with_key(n.to_string());
    /// #     let pages = Records::new("pages", (from..from + 2).map(page));
    /// #     writer.ingest(pages, &IngestOptions::new("web"), &Context::new())?;
    /// #     writer.add_tokenizer("words", file, "", &Context::new())?;
    /// # }
    /// let mut writer = options.open_writer_with(&first, &[&second])?;
    /// let recipe = Recipe::parse("version = 1\n[pack]\nkind = \"concat\"\nlength = 4")?;
    /// let (_, planned) = writer.plan(&recipe, &Context::new())?;
    /// // Two texts of five tokens in each corpus, in rows of four.
    /// assert_eq!(writer.corpus().epoch(&planned, 0, &Context::new())?.rows(), 5);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`EpochError`](crate::epoch::EpochError) when one corpus is named twice.
    pub fn with_shards(mut self, others: Vec<Self>) -> Result<Self, Error> {
        self.memory += memory_beside(&self.path, &others)?;
        self.others = others.into();
        self.corpora = OnceLock::new();
        Ok(self)
    }

    /// This corpus and its further corpora, as epochs see them.
    pub fn corpora(&self) -> &Corpora {
        self.corpora.get_or_init(|| Corpora::of(&self.view, &views(&self.others)))
    }

    /// The key shown for a document of an epoch, from whichever of these corpora has it.
    ///
    /// # Errors
    /// [`EpochError`](crate::epoch::EpochError) when its corpus is not among these;
    /// [`StoreError`](crate::store::StoreError) when there is no such document.
    pub fn key_of(&self, document: DocId) -> Result<String, Error> {
        let (view, inside) = self.corpora().find(document)?;
        Ok(view.display_key(inside)?)
    }
}

impl CorpusWriter {
    /// This writer, with further corpora that are read only: as [`Corpus::with_shards`]. Plans are stored in this
    /// corpus.
    ///
    /// # Errors
    /// [`EpochError`](crate::epoch::EpochError) when one corpus is named twice.
    pub fn with_shards(mut self, others: Vec<Corpus>) -> Result<Self, Error> {
        self.memory += memory_beside(&self.path, &others)?;
        self.others = others.into();
        Ok(self)
    }

    pub(crate) fn corpora(&self) -> Corpora {
        Corpora::of(self.view(), &self.other_views())
    }

    pub(crate) fn other_views(&self) -> Vec<View> {
        views(&self.others)
    }
}

fn views(others: &[Corpus]) -> Vec<View> {
    others.iter().map(|corpus| corpus.view.clone()).collect()
}

/// The memory that the further corpora bring along; refuses one that is named twice.
fn memory_beside(first: &Path, others: &[Corpus]) -> Result<u64, Error> {
    refuse_same(std::iter::once(first).chain(others.iter().map(|corpus| corpus.path.as_path())))?;
    Ok(others.iter().map(|other| other.memory).sum())
}

impl CorpusShard {
    fn tokenizer(&self, of_first: TokenizerId) -> Option<TokenizerId> {
        *self.tokenizers.get(usize::from(of_first.0))?
    }
}

/// For each tokenizer of the first corpus, its number in another one.
fn tokenizers(first: &View, view: &View) -> Vec<Option<TokenizerId>> {
    let mut found = Vec::new();
    for (id, record) in first.tokenizers() {
        let same = view.tokenizer_named(&record.name).filter(|(_, it)| it.hash == record.hash);
        found.resize(usize::from(id.0), None);
        found.push(same.map(|(id, _)| id));
    }
    found
}

/// Refuses a list that names a corpus twice.
fn refuse_same<'a>(paths: impl Iterator<Item = &'a Path>) -> Result<(), ShardError> {
    let mut seen = BTreeSet::new();
    for path in paths {
        if !seen.insert(path.canonicalize().unwrap_or_else(|_| path.to_path_buf())) {
            return Err(ShardError::Twice { path: path.to_path_buf() });
        }
    }
    Ok(())
}

/// The number that a document of corpus `shard` has among all corpora.
pub(crate) fn whole(shard: u64, document: DocId) -> DocId {
    DocId(shard << DOCUMENT_BITS | document.0)
}

/// The sources with several chat templates, with their number.
pub(crate) fn mixed(
    templates: BTreeMap<String, BTreeSet<TemplateRecord>>,
) -> BTreeMap<String, u64> {
    let counts = templates.into_iter().map(|(source, of)| (source, of.len() as u64));
    counts.filter(|(_, templates)| *templates > 1).collect()
}

/// Documents of corpus `shard` by their numbers among all corpora.
pub(crate) fn wholes(shard: u64, documents: RoaringTreemap) -> RoaringTreemap {
    if shard == 0 {
        return documents;
    }
    moved(&documents, |high| Some(high | (shard as u32) << HIGH_BITS))
}

/// The documents that are in corpus `shard`, by their numbers there.
pub(crate) fn parts(shard: u64, documents: &RoaringTreemap) -> RoaringTreemap {
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
