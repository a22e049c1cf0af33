//! Several corpora whose epochs are planned and given as those of one.

use super::{Corpus, CorpusWriter};
use crate::epoch::{Corpora, refuse_same};
use crate::model::{DocId, Error};
use crate::store::View;
use std::path::Path;
use std::sync::OnceLock;

impl Corpus {
    /// The same corpus, with others beside it: plans, epochs, exports and their proofs are then over the documents of
    /// all of them. Everything else is of this corpus alone. Documents are numbered as [`Corpora`] says, so the order
    /// counts. A plan over several corpora opens only where at least those are there, in the order in which it was
    /// planned. What each was opened with of memory is theirs together; what others have beside themselves does not
    /// come along.
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
    /// #     writer.ingest_records(pages, &IngestOptions::new("web"), &[], &Context::new())?;
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
    /// [`Error::Epoch`] when one corpus is named twice.
    pub fn with_shards(mut self, others: Vec<Self>) -> Result<Self, Error> {
        self.memory += memory_beside(&self.path, &others)?;
        self.others = others.into();
        self.corpora = OnceLock::new();
        Ok(self)
    }

    /// This corpus and those beside it, as epochs see them.
    pub fn corpora(&self) -> &Corpora {
        self.corpora.get_or_init(|| Corpora::of(&self.view, &views(&self.others)))
    }

    /// The key shown for a document of an epoch, in whichever of these corpora it is.
    ///
    /// # Errors
    /// [`Error::Epoch`] when its corpus is not among these; [`Error::Store`] when there is no such document.
    pub fn key_of(&self, document: DocId) -> Result<String, Error> {
        let (view, inside) = self.corpora().find(document)?;
        Ok(view.display_key(inside, &view.expect_header(inside)?)?)
    }
}

impl CorpusWriter {
    /// The same writer, with corpora beside it that are read only: as [`Corpus::with_shards`]. Plans are stored in this
    /// corpus.
    ///
    /// # Errors
    /// [`Error::Epoch`] when one corpus is named twice.
    pub fn with_shards(mut self, others: Vec<Corpus>) -> Result<Self, Error> {
        self.memory += memory_beside(&self.path, &others)?;
        self.others = others.into();
        Ok(self)
    }

    pub(super) fn corpora(&self) -> Corpora {
        Corpora::of(self.view(), &self.other_views())
    }

    pub(super) fn other_views(&self) -> Vec<View> {
        views(&self.others)
    }
}

fn views(others: &[Corpus]) -> Vec<View> {
    others.iter().map(|corpus| corpus.view.clone()).collect()
}

/// The memory that the corpora beside one bring along; refuses one that is named twice.
fn memory_beside(first: &Path, others: &[Corpus]) -> Result<u64, Error> {
    refuse_same(std::iter::once(first).chain(others.iter().map(|corpus| corpus.path.as_path())))?;
    Ok(others.iter().map(|other| other.memory).sum())
}
