//! A consistent moment of the store: the only way to read.

mod buckets;
mod clusters;
mod columns;
mod commits;
mod compared;
mod documents;
mod fields;
mod files;
mod hashes;
mod keywords;
mod matches;
mod named;
mod postings;
mod rejects;
mod standings;
mod suites;
mod token_reads;
mod tokens;

pub(crate) use columns::StoredColumn;
pub(crate) use documents::key_at;
pub use fields::declaration;
pub use matches::MatchedDocuments;
pub use rejects::Rejected;
pub use standings::BlockStandings;
pub use token_reads::StoredIds;

use crate::model::{
    BLOCK_SIZE, CommitSeq, FieldDeclaration, FieldId, FileId, Generation, Policy, SourceId,
    SuiteId, TokenizerId,
};
use crate::store::bands::BandIndex;
use crate::store::columns::{Meta, Sources, Tokenizers};
use crate::store::database::Pinned;
use crate::store::database::merged::{MergedBlocks, MomentBlocks};
use crate::store::database::tuning::Memory;
use crate::store::error::StoreError;
use crate::store::rows::keys::{SourceKey, TokenizerKey};
use crate::store::rows::kinds::TokenizerPart;
use crate::store::rows::meta::MetaKey;
use crate::store::rows::records::{FieldRecord, SourceRecord, State, TokenizerRecord};
use crate::store::rows::suites::SuiteRecord;
use crate::store::rows::texts::TextDecoder;
use rocksdb::DB;
use std::any::Any;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// One committed moment of a corpus. Cheap to clone; holds its moment alive as long as it lives.
#[derive(Clone)]
pub struct View {
    moment: Arc<Moment>,
    lens: Option<Arc<Lens>>,
}

/// Another policy generation than the current one, seen through the same moment.
struct Lens {
    policy: Policy,
    generation: Generation,
}

/// What views of one moment share.
struct Moment {
    pinned: Pinned,
    state: State,
    policy: Policy,
    fields: Vec<FieldDeclaration>,
    added: Vec<(FieldId, FieldRecord)>,
    sources: Vec<SourceRecord>,
    tokenizers: Vec<TokenizerRecord>,
    /// Read when they are asked for.
    suites: OnceLock<Vec<(SuiteId, SuiteRecord)>>,
    decoder: TextDecoder,
    bands: BandIndex,
    merged: MomentBlocks,
    queries: usize,
    /// See [`View::remembered`].
    remembered: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl View {
    pub(in crate::store) fn at_now(
        db: &Arc<DB>,
        bands: BandIndex,
        merged: &MergedBlocks,
        memory: Memory,
    ) -> Result<Self, StoreError> {
        let pinned = Pinned::at_now(db);
        let missing =
            |key: &str| StoreError::Missing { what: "record", family: "meta", key: key.to_owned() };
        let state = pinned
            .read_with::<Meta, _>("state", &MetaKey::State, |row| row.state())?
            .ok_or_else(|| missing("state"))?;
        let (policy, fields) = pinned
            .read_with::<Meta, _>("charter", &MetaKey::Charter, |row| row.charter())?
            .ok_or_else(|| missing("charter"))?;
        let added = fields::records(&pinned)?;
        let mut sources = Vec::new();
        for id in 0..state.next_source {
            let key = SourceKey { source: SourceId(id), file: FileId(0) };
            let record = pinned.read_with::<Sources, _>("source", &key, |row| row.record())?;
            sources.push(record.ok_or(StoreError::Missing {
                what: "source",
                family: "sources",
                key: id.to_string(),
            })?);
        }
        let mut tokenizers = Vec::new();
        for id in 0..state.next_tokenizer {
            let key = TokenizerKey { tokenizer: TokenizerId(id), part: TokenizerPart::Record };
            let record =
                pinned.read_with::<Tokenizers, _>("tokenizer", &key, |row| row.record())?;
            tokenizers.push(record.ok_or(StoreError::Missing {
                what: "tokenizer",
                family: "tokenizers",
                key: id.to_string(),
            })?);
        }
        let decoder = TextDecoder::default();
        let (merged, queries) = (merged.of_moment(), memory.queries);
        let moment = Moment {
            pinned,
            state,
            policy,
            fields,
            added,
            sources,
            tokenizers,
            suites: OnceLock::new(),
            decoder,
            bands,
            merged,
            queries,
            remembered: OnceLock::new(),
        };
        Ok(Self { moment: Arc::new(moment), lens: None })
    }

    /// Records of tokenizers by id, dropped ones included.
    pub(in crate::store) fn all_tokenizers(&self) -> &[TokenizerRecord] {
        &self.moment.tokenizers
    }

    /// All suites, by their numbers, those included for which stored texts are still being searched.
    ///
    /// # Errors
    /// [`StoreError`] when a record cannot be read.
    pub fn suites(&self) -> Result<&[(SuiteId, SuiteRecord)], StoreError> {
        if let Some(known) = self.moment.suites.get() {
            return Ok(known);
        }
        let found = suites::records(self.pinned())?;
        Ok(self.moment.suites.get_or_init(|| found))
    }

    pub(in crate::store) fn pinned(&self) -> &Pinned {
        &self.moment.pinned
    }

    /// Bytes that a query over this view may hold before it spills or is refused.
    #[must_use]
    pub fn query_memory(&self) -> usize {
        self.moment.queries
    }

    /// What a layer above makes of this moment once and uses again. It must hold no view: it would keep itself alive.
    ///
    /// # Errors
    /// Those of `make`, which is asked again the next time.
    pub(crate) fn remembered<T: Any + Send + Sync, E>(
        &self,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let known = self.moment.remembered.get();
        if let Some(Ok(known)) = known.map(|known| Arc::clone(known).downcast()) {
            return Ok(known);
        }
        let made = Arc::new(make()?);
        // Another thread may have been faster: what both made is alike.
        let _ = self.moment.remembered.set(Arc::clone(&made) as Arc<dyn Any + Send + Sync>);
        Ok(made)
    }

    /// High-water marks and counters.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.moment.state
    }

    /// The commit this view shows.
    #[must_use]
    pub fn commit(&self) -> CommitSeq {
        CommitSeq(self.moment.state.commit)
    }

    /// The policy generation this view shows.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.lens.as_ref().map_or(Generation(self.moment.state.generation), |lens| lens.generation)
    }

    /// The same moment under another policy and its generation.
    #[must_use]
    pub fn under(&self, policy: Policy, generation: Generation) -> Self {
        let lens = Some(Arc::new(Lens { policy, generation }));
        Self { moment: Arc::clone(&self.moment), lens }
    }

    /// The dedup policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        self.lens.as_ref().map_or(&self.moment.policy, |lens| &lens.policy)
    }

    /// The policy that stored fingerprints are made by: that of the decisions in force.
    #[must_use]
    pub fn stored_policy(&self) -> &Policy {
        &self.moment.policy
    }

    /// Declared fields, ascending by id.
    #[must_use]
    pub fn fields(&self) -> &[FieldDeclaration] {
        &self.moment.fields
    }

    /// Documents stored; ids are below this.
    #[must_use]
    pub fn documents(&self) -> u64 {
        self.moment.state.documents
    }

    /// Blocks that hold documents.
    #[must_use]
    pub fn blocks(&self) -> Range<u64> {
        0..self.documents().div_ceil(BLOCK_SIZE)
    }

    /// Bytes of the tables of each column family, in the order of docs/reference/format.md; rows still in the
    /// log are not counted.
    ///
    /// # Errors
    /// [`StoreError`] when RocksDB does not say.
    pub fn disk_usage(&self) -> Result<Vec<(&'static str, u64)>, StoreError> {
        self.moment.pinned.table_bytes()
    }
}
