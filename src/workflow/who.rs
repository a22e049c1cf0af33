//! Finds the outputs on record and the snapshots that had a document, also after its purge.

use crate::corpus::{Corpora, Corpus};
use crate::curate::CertifiedOutput;
use crate::epoch::{Epoch, EpochError, Plan, StreamOptions};
use model::{Context, DocId, Error, Standing, shown_timestamp};
use roaring::RoaringTreemap;
use serde::Serialize;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use store::{OutputBatches, OutputKind, OutputRecord, StoreError, View};

/// Documents and rows of an output that are listed, at most; all are counted.
const LISTED: usize = 1000;

/// Who had documents.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct WhoReport {
    /// Documents asked about.
    pub documents: u64,
    /// Outputs on record that had any of them, or may have had, by number.
    pub outputs: Vec<OutputHolder>,
    /// Snapshots that keep any of them, or may have kept purged ones, by name.
    pub snapshots: Vec<SnapshotHolder>,
    /// Entries that cannot be read: nobody can say whether these outputs had them.
    pub damaged: Vec<String>,
}

/// An output that had documents.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OutputHolder {
    /// Its number in the table `outputs`.
    pub number: u32,
    /// `export`, `epoch`, `stream` or `backup`.
    pub kind: OutputKind,
    /// Where it went.
    pub destination: String,
    /// The last commit of the corpus as it was read; the commit that names a backup.
    pub commit: u64,
    /// The number of the plan.
    pub plan: Option<u32>,
    /// The epoch of the plan, counted from 0.
    pub epoch: Option<u64>,
    /// When, in UTC, by the caller's clock.
    pub time: Option<String>,
    /// How many of the documents it had, or may have had.
    pub documents: u64,
    /// The first of them.
    pub ids: Vec<u64>,
    /// Whether it had them: otherwise it may have had them, and `why` says why that is not known.
    pub certain: bool,
    /// Why it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Rows of the epoch with a segment of one of them, counted once for each document.
    pub rows: u64,
    /// The first of these.
    pub places: Vec<RowPlace>,
}

/// A row of an epoch that has a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RowPlace {
    /// The document.
    pub document: u64,
    /// The row of the epoch.
    pub row: u64,
    /// Its global batch; the row itself where the recipe has no batches.
    pub batch: u64,
    /// The step of a run that began with the epoch.
    pub step: u64,
    /// The rank that had it, of `world`.
    pub rank: u64,
    /// The number of ranks.
    pub world: u64,
}

/// A snapshot that keeps documents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SnapshotHolder {
    /// Its name.
    pub name: String,
    /// Its commit.
    pub commit: u64,
    /// How many of the documents it keeps, or may have kept.
    pub documents: u64,
    /// The first of them.
    pub ids: Vec<u64>,
    /// Whether it keeps them: of purged ones a snapshot says only how many it had.
    pub certain: bool,
}

impl From<OutputHolder> for CertifiedOutput {
    fn from(holder: OutputHolder) -> Self {
        let OutputHolder { number, kind, destination, documents, certain, .. } = holder;
        Self { number, kind, destination, documents, certain }
    }
}

impl Corpus {
    /// Which outputs on record, and which snapshots, had any of these documents, also after their purge: exports and
    /// backups; epochs and streams with the rows, as long as their plan can be opened; `world` is the number of ranks that
    /// trained on a built epoch.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when rows cannot be read; after an interrupt.
    pub fn who(
        &self,
        documents: &RoaringTreemap,
        world: u64,
        context: &Context<'_>,
    ) -> Result<WhoReport, Error> {
        self.holders(&AskedDocuments::of(self.view(), documents, Some(world.max(1)))?, context)
    }

    /// The outputs that had any of these documents, or may have had; no epoch is opened.
    pub(super) fn outputs_with(
        &self,
        documents: &RoaringTreemap,
        context: &Context<'_>,
    ) -> Result<Vec<OutputHolder>, Error> {
        let asked = AskedDocuments::of(self.view(), documents, None)?;
        Ok(self.holders(&asked, context)?.outputs)
    }

    fn holders(&self, asked: &AskedDocuments, context: &Context<'_>) -> Result<WhoReport, Error> {
        let mut report = WhoReport { documents: asked.all.len(), ..WhoReport::default() };
        self.view().each_output::<Error>(&mut |number, record| {
            context.check_interrupt()?;
            match record {
                Ok(record) => {
                    report.outputs.extend(self.holder(number, record, asked, context)?);
                }
                Err(error) => report.damaged.push(error.to_string()),
            }
            Ok(())
        })?;
        report.snapshots = snapshots(self.view(), asked)?;
        Ok(report)
    }

    /// The documents that an output had of those asked about; none if it had none.
    fn holder(
        &self,
        number: u32,
        record: OutputRecord,
        asked: &AskedDocuments,
        context: &Context<'_>,
    ) -> Result<Option<OutputHolder>, Error> {
        let mut holder = OutputHolder {
            number,
            kind: record.kind,
            destination: record.destination,
            commit: record.commit,
            plan: record.batches.as_ref().and_then(|batches| batches.plan),
            epoch: record.batches.as_ref().map(|batches| batches.epoch),
            time: record.time.map(shown_timestamp),
            certain: true,
            ..OutputHolder::default()
        };
        let had = match (&record.batches, record.documents, record.kind) {
            (Some(batches), ..) => self.had_in_epoch(batches, asked, &mut holder, context)?,
            (None, Some(documents), _) => documents & &asked.all,
            (None, None, OutputKind::Backup) => asked.stored_at(record.commit),
            (None, None, _) => {
                holder.certain = false;
                holder.why = Some("its documents are not on record".to_owned());
                asked.stored_at(record.commit)
            }
        };
        holder.documents = had.len();
        holder.ids = had.iter().take(LISTED).collect();
        Ok((!had.is_empty()).then_some(holder))
    }

    /// The documents that batches of an epoch had.
    fn had_in_epoch(
        &self,
        batches: &OutputBatches,
        asked: &AskedDocuments,
        holder: &mut OutputHolder,
        context: &Context<'_>,
    ) -> Result<RoaringTreemap, Error> {
        let of_hash =
            |hash: &[u8; 32]| blake3::Hash::from_bytes(*hash).to_hex().as_str() == batches.hash;
        let stored = self.view().epochs()?.into_iter().find(|record| of_hash(&record.hash));
        let Some(stored) = stored else {
            holder.certain = false;
            holder.why = Some("its plan is not stored any more".to_owned());
            return Ok(asked.stored_at(holder.commit));
        };
        let planned = self.stored_plan(stored.number)?;
        let mut drawn = RoaringTreemap::new();
        for pinned in &planned.pinned {
            drawn |= pinned.documents() & &asked.all;
        }
        if drawn.is_empty() {
            return Ok(drawn);
        }
        let Some(world) = asked.world else {
            holder.certain = false;
            holder.why = Some("its plan draws them".to_owned());
            return Ok(drawn);
        };
        let rank = batches.rank.unwrap_or((0, 1));
        let world = batches.rank.map_or(world, |(_, world)| world);
        match self.places(&planned, batches, (&drawn, rank, world), holder, context) {
            Ok(had) => {
                if batches.is_open {
                    holder.certain = false;
                    let why =
                        "it did not say how far it was: these are in the batches that it began";
                    holder.why = Some(why.to_owned());
                }
                Ok(had)
            }
            Err(error) if error.is_interrupt() => Err(error),
            Err(error) => {
                holder.certain = false;
                holder.why = Some(format!("its rows cannot be computed any more: {error}"));
                (holder.rows, holder.places) = (0, Vec::new());
                Ok(drawn)
            }
        }
    }

    /// The rows in which batches of an epoch have documents.
    fn places(
        &self,
        planned: &Plan,
        batches: &OutputBatches,
        (drawn, (rank, ranks), world): (&RoaringTreemap, (u64, u64), u64),
        holder: &mut OutputHolder,
        context: &Context<'_>,
    ) -> Result<RoaringTreemap, Error> {
        let epoch = self.epoch(planned, batches.epoch, context)?;
        let mut had = RoaringTreemap::new();
        let whole = StreamOptions { uneven: true, ..StreamOptions::default() };
        let options = StreamOptions { from_batch: batches.first, rank, world: ranks, ..whole };
        let mut steps = epoch.steps(&options)?;
        while steps.state().1 < batches.end
            && let Some(batch) = steps.next_without_ids()?
        {
            context.check_interrupt()?;
            for row in &batch.rows {
                let numbers = row.segments().iter().map(|segment| segment.document);
                let of_row: RoaringTreemap =
                    numbers.filter(|id| Corpora::place(*id).0 == 0).map(|id| id.0).collect();
                for document in of_row & drawn {
                    had.insert(document);
                    holder.rows += 1;
                    if holder.places.len() < LISTED {
                        let batch = row.batch().unwrap_or_else(|| row.number());
                        let place =
                            RowPlace { document, row: row.number(), batch, ..RowPlace::default() };
                        holder.places.push(place);
                    }
                }
            }
        }
        ranked(&epoch, world, &mut holder.places)?;
        Ok(had)
    }
}

/// Fills in the rank of each row in a world of ranks, and its step.
fn ranked(epoch: &Epoch, world: u64, places: &mut [RowPlace]) -> Result<(), EpochError> {
    let options = StreamOptions { world, uneven: true, ..StreamOptions::default() };
    // Batches of a step; all are in one step where there is no second.
    let each = epoch.first_batch_of(1, &options).unwrap_or(u64::MAX).max(1);
    let mut known: BTreeMap<u64, BTreeMap<u64, u64>> = BTreeMap::new();
    for place in places {
        place.step = place.batch / each;
        place.world = world;
        if world == 1 {
            continue;
        }
        if let Entry::Vacant(unknown) = known.entry(place.step) {
            let mut of_step = BTreeMap::new();
            for rank in 0..world {
                let from_batch = place.step * each;
                let mut steps = epoch.steps(&StreamOptions { from_batch, rank, ..options })?;
                let rows = steps.next_without_ids()?.map(|batch| batch.rows).unwrap_or_default();
                of_step.extend(rows.iter().map(|row| (row.number(), rank)));
            }
            unknown.insert(of_step);
        }
        let rank = known.get(&place.step).and_then(|rows| rows.get(&place.row));
        place.rank = rank.copied().unwrap_or_default();
    }
    Ok(())
}

/// Documents asked about, and the commits between which each was stored.
struct AskedDocuments {
    all: RoaringTreemap,
    /// For each document the commit that added it, and the one that purged it.
    commits: BTreeMap<u64, (u64, Option<u64>)>,
    /// The number of ranks that trained on built epochs, for the places of rows; none: places are not wanted.
    world: Option<u64>,
}

impl AskedDocuments {
    fn of(view: &View, documents: &RoaringTreemap, world: Option<u64>) -> Result<Self, StoreError> {
        let mut commits = BTreeMap::new();
        for document in documents {
            commits.insert(document, (view.commit_of(DocId(document))?.0, None));
        }
        if !documents.is_disjoint(&view.documents_standing(Standing::Purged)?) {
            for traces in view.traces()? {
                let (purged, traces) = traces?;
                for trace in traces {
                    if let Some((_, until)) = commits.get_mut(&trace.document.0) {
                        *until = Some(purged.0);
                    }
                }
            }
        }
        Ok(Self { all: documents.clone(), commits, world })
    }

    /// The documents whose content was stored at a commit.
    fn stored_at(&self, commit: u64) -> RoaringTreemap {
        let was = |added: u64, purged: Option<u64>| {
            added <= commit && purged.is_none_or(|purged| commit < purged)
        };
        let stored = self.commits.iter().filter(|(_, (added, purged))| was(*added, *purged));
        stored.map(|(document, _)| *document).collect()
    }

    fn purged(&self) -> RoaringTreemap {
        let purged = self.commits.iter().filter(|(_, (_, purged))| purged.is_some());
        purged.map(|(document, _)| *document).collect()
    }
}

/// The snapshots that keep any of the documents. Purged documents are taken out of every snapshot, which counts them.
fn snapshots(view: &View, asked: &AskedDocuments) -> Result<Vec<SnapshotHolder>, StoreError> {
    let mut found = Vec::new();
    for record in view.snapshots()? {
        let kept = view.snapshot_kept(&record.name)? & &asked.all;
        let was = match record.purged {
            0 => RoaringTreemap::new(),
            _ => asked.stored_at(record.commit) & asked.purged(),
        };
        for (documents, certain) in [(kept, true), (was, false)] {
            if !documents.is_empty() {
                found.push(SnapshotHolder {
                    name: record.name.clone(),
                    commit: record.commit,
                    documents: documents.len(),
                    ids: documents.iter().take(LISTED).collect(),
                    certain,
                });
            }
        }
    }
    Ok(found)
}
