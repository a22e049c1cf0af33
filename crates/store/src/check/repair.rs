//! The first half of a repair: drops damaged derived families and makes them empty, so that no bad block is read again.
//!
//! Rows of theirs that follow from nothing else are carried over. The other half, which needs the crafts, fills the
//! families: until it has, nobody else opens the corpus.
//!
//! ```text
//! damaged? -> carry (tables beside the database) -> row `repair FAMILY` of meta -> drop, make, take in what was carried
//!          -> `is_empty` in that row -> filled by commits, each with its progress there -> the rows go with the last one
//! ```
//!
//! Killed anywhere it continues: before the rows stand nothing has changed; behind them the carried tables are whole.

use crate::bytes::key::StoreKey;
use crate::bytes::record::{self, RepairRecord};
use crate::check::CheckFault;
use crate::check::carried::{CarriedTables, LostBitmaps};
use crate::check::lost::{LostRows, lost_rows};
use crate::database::family::{FamilyVisitor, StoreFamily, family_handle, handle_named};
use crate::database::page_cache::PageCache;
use crate::database::tuning::{self, MemoryBudget};
use crate::database::whole_rows::{LostKeys, whole_rows};
use crate::database::{Database, PinnedMoment};
use crate::error::{StoreError, is_derived};
use crate::index::IndexReader;
use crate::meta::{Meta, MetaKey};
use crate::opening::OpeningCorpus;
use crate::table::{FAMILIES, for_each_family};
use crate::view::View;
use crate::writer::{StoreWriter, synced};
use model::Context;
use rocksdb::{DB, IngestExternalFileOptions, WriteBatch};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Which families take others along, because rows of one name rows of another.
const TOGETHER: [(&[&str], &[&str]); 4] = [
    (&["bands", "bands_more", "band_runs"], &["bands", "bands_more", "band_runs"]),
    (&["terms"], &["postings", "columns"]),
    // Not the columns: the lengths in them say whose ids are made again.
    (&["tokens", "loss"], &["tokens", "loss"]),
    (&["suite_ngrams"], &["contamination"]),
];

/// What a repair found.
pub enum RepairStart {
    /// Nothing that a repair makes again is damaged.
    Nothing,
    /// Rows that are lost follow from nothing else. Nothing was changed.
    Beyond(Vec<LostRows>),
    /// The named families are empty now and are to be filled.
    Fill(Box<StoreWriter>, Vec<String>),
    /// No family is damaged, but counters of sources or of the corpus are wrong.
    Counters(Box<StoreWriter>),
}

/// What is to be done.
enum RepairPlan {
    Nothing,
    Beyond(Vec<LostRows>),
    Counters,
    /// Families that are made again; of these, those that are not empty yet.
    Families {
        all: BTreeSet<&'static str>,
        full: Vec<&'static str>,
        lost: LostBitmaps,
    },
}

/// Finds what is damaged by reading every row, and empties the derived families among it, those too that `faults` name.
/// Goes on where a repair was stopped.
///
/// # Errors
/// [`StoreError`]: no corpus, another writer, an older format, lost commits; [`StoreError::Interrupted`].
pub fn begin_repair(
    path: &Path,
    faults: &[CheckFault],
    memory: MemoryBudget,
    threads: usize,
    context: &Context<'_>,
) -> Result<RepairStart, StoreError> {
    let mut opening = OpeningCorpus::begin(path)?;
    opening.refuse_older()?;
    let db = Arc::new(opening.open_resting(memory)?);
    opening.note_manifest(&db)?;
    let carried = CarriedTables::of(&opening.place);
    let (families, full, lost) = match plan(&opening, &db, faults, memory, &carried, context)? {
        RepairPlan::Nothing => return Ok(RepairStart::Nothing),
        RepairPlan::Beyond(lost) => return Ok(RepairStart::Beyond(lost)),
        RepairPlan::Counters => {
            drop(db);
            return Ok(RepairStart::Counters(Box::new(opening.into_writer(memory, threads)?)));
        }
        RepairPlan::Families { all, full, lost } => (all, full, lost),
    };
    if !full.is_empty() {
        empty(&db, &full, &carried)?;
        mark(&db, &full, &RepairRecord { is_empty: true, next: 0, lost })?;
    }
    db.flush_wal(true)?;
    drop(db);
    carried.remove();
    if families.contains("bands") {
        // Another one is built when it is worth its cost.
        let _ = std::fs::remove_file(opening.place.band_filter());
    }
    let writer = opening.into_writer(memory, threads)?;
    Ok(RepairStart::Fill(Box::new(writer), families.into_iter().map(str::to_owned).collect()))
}

/// Writes the plan of the repair; once its row names the families, nobody else opens the corpus.
fn plan(
    opening: &OpeningCorpus,
    db: &Arc<Database>,
    faults: &[CheckFault],
    memory: MemoryBudget,
    carried: &CarriedTables,
    context: &Context<'_>,
) -> Result<RepairPlan, StoreError> {
    let pages = PageCache::within(memory.pages);
    let view = View::open_now(db, IndexReader::default(), &pages, memory, None);
    let begun = match &view {
        Ok(view) => view.repairs()?,
        Err(_) => BTreeMap::new(),
    };
    if let Some(record) = begun.values().next() {
        opening.refuse_lost(db)?;
        let known = || FAMILIES.iter().map(|info| info.name);
        let is_full = |name: &&str| begun.get(*name).is_some_and(|record| !record.is_empty);
        let all = known().filter(|name| begun.contains_key(*name)).collect();
        let (full, lost) = (known().filter(is_full).collect(), record.lost.clone());
        return Ok(RepairPlan::Families { all, full, lost });
    }
    let mut scan = DamageScan { db, context, damaged: BTreeMap::new(), failed: None, done: 0 };
    context.progress.begin("reading every block", Some(FAMILIES.len() as u64));
    for_each_family(&mut scan);
    context.progress.end();
    if let Some(error) = scan.failed {
        return Err(error);
    }
    let is_named = |name: &str| faults.iter().any(|fault| fault.place == name);
    let (derived, base): (BTreeMap<_, _>, BTreeMap<_, _>) =
        scan.damaged.into_iter().partition(|(name, _)| is_derived(name));
    if !base.is_empty() {
        return Ok(RepairPlan::Beyond(lost_rows(db, &base, view.ok().as_ref())?));
    }
    opening.refuse_lost(db)?;
    let mut all: BTreeSet<&'static str> = derived.into_keys().collect();
    let named = FAMILIES.iter().map(|info| info.name).filter(|name| is_named(name));
    all.extend(named.filter(|name| is_derived(name)));
    if all.is_empty() {
        let are_wrong = ["meta", "sources"].into_iter().any(is_named);
        return Ok(if are_wrong { RepairPlan::Counters } else { RepairPlan::Nothing });
    }
    for (leaders, others) in TOGETHER {
        if leaders.iter().any(|leader| all.contains(leader)) {
            all.extend(others);
        }
    }
    let (rows, lost) = carried.write(&view?, &all, context)?;
    if !rows.is_empty() {
        carried.remove();
        return Ok(RepairPlan::Beyond(rows));
    }
    let full: Vec<&'static str> = all.iter().copied().collect();
    mark(db, &full, &RepairRecord { lost: lost.clone(), ..RepairRecord::default() })?;
    Ok(RepairPlan::Families { all, full, lost })
}

fn mark(db: &DB, families: &[&'static str], record: &RepairRecord) -> Result<(), StoreError> {
    let meta = family_handle::<Meta>(db)?;
    let bytes = record::encode("repair", record)?;
    let mut rows = WriteBatch::default();
    for family in families {
        rows.put_cf(&meta, MetaKey::Repair((*family).to_owned()).to_bytes(), &bytes);
    }
    Ok(db.write_opt(rows, &synced())?)
}

/// Families are dropped, made, and take in what was carried.
fn empty(db: &DB, families: &[&'static str], carried: &CarriedTables) -> Result<(), StoreError> {
    for info in FAMILIES.iter().filter(|info| families.contains(&info.name)) {
        if db.cf_handle(info.name).is_some() {
            db.drop_cf(info.name)?;
        }
        db.create_cf(info.name, &tuning::table_options(info))?;
        let table = carried.path(info.name);
        if table.exists() {
            let options = IngestExternalFileOptions::default();
            let handle = handle_named(db, info.name)?;
            db.ingest_external_file_cf_opts(&handle, &options, vec![table])?;
        }
    }
    Ok(())
}

/// Reads every row of every family, beside those that are damaged.
struct DamageScan<'a> {
    db: &'a Arc<Database>,
    context: &'a Context<'a>,
    damaged: BTreeMap<&'static str, Vec<LostKeys>>,
    failed: Option<StoreError>,
    done: u64,
}

impl FamilyVisitor for DamageScan<'_> {
    fn family<C: StoreFamily>(&mut self) {
        if self.failed.is_some() {
            return;
        }
        let pinned = PinnedMoment::at_now(self.db);
        match whole_rows::<C>(&pinned, self.context, |_, _| {}) {
            Ok(lost) if lost.is_empty() => {}
            Ok(lost) => {
                self.damaged.insert(C::NAME, lost);
            }
            Err(error) => self.failed = Some(error),
        }
        self.done += 1;
        self.context.progress.advance(self.done);
    }
}
