//! A consistent moment of the store: the only way to read.
//!
//! Each family adds the reading of its rows in its own file.

use crate::bytes::record::{
    FieldRecord, RepairRecord, SourceRecord, StoreState, SuiteRecord, TokenizerRecord,
};
use crate::database::family::StoreFamily;
use crate::database::page_cache::{MomentPages, PageCache};
use crate::database::tuning::MemoryBudget;
use crate::database::{Database, PinnedMoment};
use crate::error::StoreError;
use crate::index::IndexReader;
use crate::meta::{Meta, MetaCharter, MetaState};
use model::{BLOCK_SIZE, CommitSeq, FieldDeclaration, FieldId, Generation, Policy, SuiteId};
use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// One committed moment of a corpus. Cheap to clone; holds its moment alive as long as it lives.
#[derive(Clone)]
pub struct View {
    pub(crate) moment: Arc<StoreMoment>,
    pub(crate) policy_override: Option<Arc<PolicyOverride>>,
}

/// Another policy generation than the current one, seen through the same moment.
pub(crate) struct PolicyOverride {
    pub(crate) policy: Policy,
    pub(crate) generation: Generation,
}

/// What views of one moment share.
pub(crate) struct StoreMoment {
    pub(crate) pinned: PinnedMoment,
    pub(crate) state: StoreState,
    pub(crate) policy: Policy,
    pub(crate) fields: Vec<FieldDeclaration>,
    pub(crate) added: Vec<(FieldId, FieldRecord)>,
    pub(crate) records: MomentRecords,
    /// The suites, read at their first use.
    pub(crate) suites: OnceLock<Vec<(SuiteId, SuiteRecord)>>,
    pub(crate) bands: IndexReader,
    pub(crate) pages: MomentPages,
    pub(crate) queries: usize,
    /// See [`View::cached`].
    pub(crate) cached: OnceLock<Arc<dyn Any + Send + Sync>>,
}

/// The records of sources and tokenizers as of a moment. A commit changes few of many, so the next moment is handed them.
#[derive(Clone)]
pub(crate) struct MomentRecords {
    pub(crate) sources: Arc<Vec<SourceRecord>>,
    pub(crate) tokenizers: Arc<Vec<TokenizerRecord>>,
}

/// What a moment has of its own records.
pub(crate) struct MomentCharter {
    pub(crate) state: StoreState,
    pub(crate) policy: Policy,
    pub(crate) fields: Vec<FieldDeclaration>,
    pub(crate) added: Vec<(FieldId, FieldRecord)>,
    pub(crate) records: MomentRecords,
}

impl View {
    /// The last committed moment. `known` is what is known of its records; they are read otherwise.
    pub(crate) fn open_now(
        db: &Arc<Database>,
        bands: IndexReader,
        pages: &PageCache,
        memory: MemoryBudget,
        known: Option<MomentRecords>,
    ) -> Result<Self, StoreError> {
        let pinned = PinnedMoment::at_now(db);
        let missing = |key: &str| StoreError::Missing {
            what: "record",
            family: Meta::NAME,
            key: key.to_owned(),
        };
        let state = pinned.read::<MetaState, _>(&())?.ok_or_else(|| missing("state"))?;
        let (policy, fields) =
            pinned.read::<MetaCharter, _>(&())?.ok_or_else(|| missing("charter"))?;
        let added = Self::read_added_fields(&pinned)?;
        let records = match known {
            Some(known) => known,
            None => MomentRecords {
                sources: Arc::new(Self::read_sources(&pinned, &state)?),
                tokenizers: Arc::new(Self::read_tokenizers(&pinned, &state)?),
            },
        };
        let charter = MomentCharter { state, policy, fields, added, records };
        Ok(Self::of(pinned, charter, bands, pages, memory))
    }

    /// The moment of these records.
    pub(crate) fn of(
        pinned: PinnedMoment,
        charter: MomentCharter,
        bands: IndexReader,
        pages: &PageCache,
        memory: MemoryBudget,
    ) -> Self {
        let MomentCharter { state, policy, fields, added, records } = charter;
        let moment = StoreMoment {
            pinned,
            state,
            policy,
            fields,
            added,
            records,
            suites: OnceLock::new(),
            bands,
            pages: pages.of_moment(),
            queries: memory.queries,
            cached: OnceLock::new(),
        };
        Self { moment: Arc::new(moment), policy_override: None }
    }

    /// The database, for who looks at its files.
    pub(crate) fn database(&self) -> &Arc<Database> {
        self.pinned().borrow_owner()
    }

    /// The derived families that are being made again, by name, with how far each is.
    #[doc(hidden)]
    pub fn repairs(&self) -> Result<BTreeMap<String, RepairRecord>, StoreError> {
        self.pinned().repairs()
    }

    /// Refuses a corpus whose derived families are being made again.
    pub(crate) fn refuse_repairing(&self, path: &Path) -> Result<(), StoreError> {
        self.pinned().refuse_repairing(path)
    }

    pub(crate) fn pinned(&self) -> &PinnedMoment {
        &self.moment.pinned
    }

    /// Bytes that a query over this view may hold before it spills or is refused.
    #[must_use]
    pub fn query_memory(&self) -> usize {
        self.moment.queries
    }

    /// A value that a layer above makes of this moment once and uses again. The value must hold no view: it would keep
    /// itself alive.
    ///
    /// # Errors
    /// The error of `make`, which is asked again the next time.
    #[doc(hidden)]
    pub fn cached<T: Any + Send + Sync, E>(
        &self,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let known = self.moment.cached.get();
        if let Some(Ok(known)) = known.map(|known| Arc::clone(known).downcast()) {
            return Ok(known);
        }
        let made = Arc::new(make()?);
        // Another thread may have been faster: what both made is alike.
        let _ = self.moment.cached.set(Arc::clone(&made) as Arc<dyn Any + Send + Sync>);
        Ok(made)
    }

    /// High-water marks and counters.
    #[must_use]
    pub fn state(&self) -> &StoreState {
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
        self.policy_override
            .as_ref()
            .map_or(Generation(self.moment.state.generation), |other| other.generation)
    }

    /// This moment under another policy and its generation.
    #[must_use]
    pub fn with_policy(&self, policy: Policy, generation: Generation) -> Self {
        let policy_override = Some(Arc::new(PolicyOverride { policy, generation }));
        Self { moment: Arc::clone(&self.moment), policy_override }
    }

    /// The dedup policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        self.policy_override.as_ref().map_or(&self.moment.policy, |other| &other.policy)
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
}
