//! The first half of a repair: derived families that are damaged are dropped and made empty, so that no bad block of
//! theirs is read again; what of them follows from nothing else is carried over. The other half, which needs the crafts,
//! fills them: until it has, nobody else opens the corpus.
//!
//! ```text
//! damaged? -> carry (tables beside the database) -> row `repair FAMILY` of meta -> drop, make, take in what was carried
//!          -> `is_empty` in that row -> filled by commits, each with its progress there -> the rows go with the last one
//! ```
//!
//! Killed anywhere it goes on: before the rows stand nothing has changed; behind them the carried tables are whole.

use crate::model::{Context, DocId, Generation, IoError, Standing, TermId, TokenizerId};
use crate::store::bytes::bitmap_block;
use crate::store::bytes::key::{
    BlockKind, BlockNumber, DocumentKey, PostingKey, StoreKey, TermKey, TokensKey,
};
use crate::store::bytes::record::{self, RepairRecord};
use crate::store::check::CheckFault;
use crate::store::check::lost::{LostRows, lost_rows};
use crate::store::database::PinnedMoment;
use crate::store::database::family::{
    FamilyInfo, FamilyVisitor, StoreFamily, family_handle, handle_named, is_damage,
};
use crate::store::database::page_cache::PageCache;
use crate::store::database::tuning::{self, MemoryBudget};
use crate::store::database::whole_rows::{LostKeys, whole_rows};
use crate::store::decisions::blocks::Blocks;
use crate::store::documents::loss::{Loss, TEXT};
use crate::store::documents::postings::Postings;
use crate::store::documents::terms::{self, Terms};
use crate::store::documents::texts::Sketches;
use crate::store::documents::tokens::Tokens;
use crate::store::error::{StoreError, is_derived};
use crate::store::files::directory::sync_directory;
use crate::store::index::IndexReader;
use crate::store::meta::{Meta, MetaKey};
use crate::store::opening::OpeningCorpus;
use crate::store::system_fields;
use crate::store::table::{FAMILIES, for_each_family};
use crate::store::view::View;
use crate::store::writer::{StoreWriter, synced};
use roaring::RoaringTreemap;
use rocksdb::{DB, IngestExternalFileOptions, Options, SstFileWriter, WriteBatch};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Families that are made again together: rows of one name rows of another.
const TOGETHER: [&[&str]; 4] = [
    &["bands", "bands_more", "band_runs"],
    &["terms", "postings", "columns"],
    // Ids of documents that have a count are not made again.
    &["tokens", "loss", "columns"],
    &["suite_ngrams", "contamination"],
];

/// Of these, who takes the others along.
const LEADERS: [&[&str]; 4] =
    [&["bands", "bands_more", "band_runs"], &["terms"], &["tokens", "loss"], &["suite_ngrams"]];

/// What a repair found.
pub enum RepairStart {
    /// Nothing that a repair makes again is damaged.
    Nothing,
    /// These rows follow from nothing else. Nothing was changed.
    Beyond(Vec<LostRows>),
    /// These families are empty now and are to be filled.
    Fill(Box<StoreWriter>, Vec<String>),
    /// No family is damaged, but counters of sources or of the corpus are wrong.
    Counters(Box<StoreWriter>),
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
    let opening = OpeningCorpus::begin(path)?;
    opening.refuse_older()?;
    let db = Arc::new(opening.open_resting(memory)?);
    let view =
        View::open_now(&db, IndexReader::default(), &PageCache::within(memory.pages), memory, None);
    let resumed = match &view {
        Ok(view) => view.repairs()?,
        Err(_) => BTreeMap::new(),
    };
    let carried = CarriedTables(opening.place.repairing());
    let emptied = if resumed.is_empty() {
        let mut scan =
            DamageScan { db: &db, context, damaged: BTreeMap::new(), failed: None, done: 0 };
        context.progress.begin("reading every block", Some(FAMILIES.len() as u64));
        for_each_family(&mut scan);
        context.progress.end();
        if let Some(error) = scan.failed {
            return Err(error);
        }
        let mut wanted: BTreeSet<&'static str> =
            FAMILIES.iter().map(|family| family.name).filter(|name| is_derived(name)).collect();
        let is_named = |name: &str| faults.iter().any(|fault| fault.place == name);
        wanted.retain(|name| scan.damaged.contains_key(name) || is_named(name));
        let base = scan.damaged.into_iter().filter(|(name, _)| !is_derived(name));
        let base: BTreeMap<&'static str, Vec<LostKeys>> = base.collect();
        if !base.is_empty() {
            return Ok(RepairStart::Beyond(lost_rows(&db, &base, view.ok().as_ref())?));
        }
        if wanted.is_empty() {
            if !["meta", "sources"].iter().any(|place| is_named(place)) {
                return Ok(RepairStart::Nothing);
            }
            drop((view, db));
            return Ok(RepairStart::Counters(Box::new(opening.into_writer(memory, threads)?)));
        }
        let wanted = closed(wanted);
        let view = view?;
        let (lost, standings) = carried.write(&view, &wanted, context)?;
        if !lost.is_empty() {
            carried.remove();
            return Ok(RepairStart::Beyond(lost));
        }
        mark(&db, wanted.iter().copied(), &RepairRecord { lost: standings, ..Default::default() })?;
        wanted
    } else {
        drop(view);
        let is_known = |info: &&FamilyInfo| resumed.contains_key(info.name);
        FAMILIES.iter().filter(is_known).map(|info| info.name).collect()
    };
    let left = |name: &&str| resumed.get(*name).is_none_or(|record| !record.is_empty);
    let left: Vec<&'static str> = emptied.iter().copied().filter(left).collect();
    if !left.is_empty() {
        empty(&db, &left, &carried)?;
        let lost = resumed.values().next().map(|record| record.lost.clone());
        let lost = match lost {
            Some(lost) => lost,
            None => first_lost(&db)?,
        };
        mark(&db, left.into_iter(), &RepairRecord { is_empty: true, lost, next: 0 })?;
    }
    db.flush_wal(true)?;
    drop(db);
    carried.remove();
    if emptied.contains("bands") {
        // Another one is built when it is worth its cost.
        let _ = std::fs::remove_file(opening.place.band_filter());
    }
    let writer = opening.into_writer(memory, threads)?;
    Ok(RepairStart::Fill(Box::new(writer), emptied.into_iter().map(str::to_owned).collect()))
}

/// With what is made again together with each.
fn closed(mut wanted: BTreeSet<&'static str>) -> BTreeSet<&'static str> {
    for (leaders, together) in LEADERS.iter().zip(TOGETHER) {
        if leaders.iter().any(|leader| wanted.contains(leader)) {
            wanted.extend(together);
        }
    }
    wanted
}

fn first_lost(db: &DB) -> Result<Vec<(u32, u8, u64)>, StoreError> {
    let meta = family_handle::<Meta>(db)?;
    for family in FAMILIES {
        let key = MetaKey::Repair(family.name.to_owned()).to_bytes();
        if let Some(bytes) = db.get_pinned_cf(&meta, key)? {
            let found = record::decode::<RepairRecord>(&bytes).ok();
            return Ok(found.map(|record| record.lost).unwrap_or_default());
        }
    }
    Ok(Vec::new())
}

fn mark(
    db: &DB,
    families: impl Iterator<Item = &'static str>,
    record: &RepairRecord,
) -> Result<(), StoreError> {
    let meta = family_handle::<Meta>(db)?;
    let bytes = record::encode("repair", record)?;
    let mut rows = WriteBatch::default();
    for family in families {
        rows.put_cf(&meta, MetaKey::Repair(family.to_owned()).to_bytes(), &bytes);
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
    db: &'a Arc<DB>,
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
        match whole_rows::<C>(&pinned, self.context) {
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

/// Tables of rows of derived families that follow from nothing else, in a directory of the corpus.
struct CarriedTables(PathBuf);

impl CarriedTables {
    fn path(&self, family: &str) -> PathBuf {
        self.0.join(format!("{family}.sst"))
    }

    fn remove(&self) {
        // What cannot be removed is written again by the next one.
        let _ = std::fs::remove_dir_all(&self.0);
    }

    /// Writes what is to be carried of `families`; answers what of it cannot be read, and the bitmaps of standings that
    /// cannot, which others say something of.
    #[expect(clippy::type_complexity, reason = "what is lost, of two kinds")]
    fn write(
        &self,
        view: &View,
        families: &BTreeSet<&'static str>,
        context: &Context<'_>,
    ) -> Result<(Vec<LostRows>, Vec<(u32, u8, u64)>), StoreError> {
        self.remove();
        std::fs::create_dir_all(&self.0).map_err(IoError::of("creating", &self.0))?;
        let (mut lost, mut standings) = (Vec::new(), Vec::new());
        if families.contains(Postings::NAME) {
            standings = self.write_standings(view, families.contains(Terms::NAME))?;
        }
        if families.contains(Tokens::NAME) {
            lost.extend(self.write_given(view, context)?);
        }
        if families.contains(Sketches::NAME) {
            lost.extend(self.write_purged_sketches(view)?);
        }
        sync_directory(&self.0)?;
        Ok((lost, standings))
    }

    /// Bitmaps of standings and marks of the generations that are shown, and their terms where these go too.
    fn write_standings(
        &self,
        view: &View,
        with_terms: bool,
    ) -> Result<Vec<(u32, u8, u64)>, StoreError> {
        let mut lost = Vec::new();
        let (mut terms, mut rows) = (BTreeMap::new(), BTreeMap::new());
        for generation in view.shown_generations()?.into_keys() {
            let of = |standing| {
                (system_fields::STANDING, system_fields::standing_value(generation, standing))
            };
            let values = Standing::ALL.into_iter().map(|standing| (Some(standing), of(standing)));
            let crowded = (system_fields::CROWDED, system_fields::crowded_value(generation));
            for (standing, (field, value)) in values.chain([(None, crowded)]) {
                let code = standing.map_or(u8::MAX, |standing| standing as u8);
                let term = match view.term(field, &value) {
                    Ok(Some(term)) => term,
                    Ok(None) => continue,
                    Err(error) => {
                        damage(error)?;
                        lost.push((generation.0, code, u64::MAX));
                        continue;
                    }
                };
                if with_terms {
                    let key = TermKey::Value(field, value.clone()).to_bytes();
                    terms.insert(key, terms::encode_id(term).to_vec());
                    terms.insert(TermKey::Id(term).to_bytes(), terms::encode_value(field, &value));
                }
                rows.insert(term, (generation, code));
            }
        }
        if with_terms {
            let options = tuning::table_options(&Terms::INFO);
            let mut table = CarriedTable::new(&options, self.path(Terms::NAME));
            terms.iter().try_for_each(|(key, value)| table.put(key, value))?;
            table.finish()?;
        }
        let options = tuning::table_options(&Postings::INFO);
        let mut table = CarriedTable::new(&options, self.path(Postings::NAME));
        for (term, (generation, code)) in rows {
            lost.extend(Self::write_bitmaps(view, &mut table, term, (generation, code))?);
        }
        table.finish()?;
        Ok(lost)
    }

    fn write_bitmaps(
        view: &View,
        table: &mut CarriedTable<'_>,
        term: TermId,
        (Generation(generation), code): (Generation, u8),
    ) -> Result<Vec<(u32, u8, u64)>, StoreError> {
        let mut lost = Vec::new();
        for block in view.blocks() {
            match view.posting_block(term, block) {
                Ok(slots) if slots.is_empty() => {}
                Ok(slots) => {
                    let key = PostingKey { term, block: BlockNumber(block) };
                    let bytes = bitmap_block::encode(&slots);
                    table.put(&key.to_bytes(), &bytes)?;
                }
                Err(error) => {
                    damage(error)?;
                    lost.push((generation, code, block));
                }
            }
        }
        Ok(lost)
    }

    /// Ids that came with records, their trained tokens, and how texts are encoded.
    fn write_given(&self, view: &View, context: &Context<'_>) -> Result<Vec<LostRows>, StoreError> {
        let mut lost = LostDocuments::default();
        let (of_ids, of_spans) =
            (tuning::table_options(&Tokens::INFO), tuning::table_options(&Loss::INFO));
        let mut ids = CarriedTable::new(&of_ids, self.path(Tokens::NAME));
        let mut spans = CarriedTable::new(&of_spans, self.path(Loss::NAME));
        let mut given: BTreeMap<TokenizerId, RoaringTreemap> = BTreeMap::new();
        let mut forms = RoaringTreemap::new();
        for document in (0..view.documents()).map(DocId) {
            context.check_interrupt()?;
            match view.text_form(document) {
                Ok(None) => {}
                Ok(Some(form)) => {
                    forms.insert(document.0);
                    if let Some(tokenizer) = form.given {
                        given.entry(tokenizer).or_default().insert(document.0);
                    }
                }
                Err(error) => lost.add(Loss::NAME, document, error)?,
            }
        }
        for (tokenizer, documents) in given {
            for document in documents.iter().map(DocId) {
                let key = TokensKey { tokenizer, document };
                match view.pinned().get::<Tokens>(&key) {
                    Ok(row) => row.map_or(Ok(()), |row| ids.put(&key.to_bytes(), &row))?,
                    Err(error) => lost.add(Tokens::NAME, document, error)?,
                }
                match view.pinned().get::<Loss>(&key) {
                    Ok(row) => row.map_or(Ok(()), |row| spans.put(&key.to_bytes(), &row))?,
                    Err(error) => lost.add(Loss::NAME, document, error)?,
                }
            }
        }
        for document in forms.iter().map(DocId) {
            let key = TokensKey { tokenizer: TEXT, document };
            if let Some(row) = view.pinned().get::<Loss>(&key)? {
                spans.put(&key.to_bytes(), &row)?;
            }
        }
        ids.finish()?;
        spans.finish()?;
        Ok(lost.into_rows())
    }

    /// Sketches of purged documents that what is similar is blocked by: their texts are gone.
    fn write_purged_sketches(&self, view: &View) -> Result<Vec<LostRows>, StoreError> {
        let mut blocking = BTreeSet::new();
        let mut rows = view.pinned().scan_prefix::<Blocks>(&[BlockKind::Similar.as_byte()])?;
        while let Some((_, documents)) = rows.next()? {
            blocking.extend(documents);
        }
        let mut lost = LostDocuments::default();
        let options = tuning::table_options(&Sketches::INFO);
        let mut table = CarriedTable::new(&options, self.path(Sketches::NAME));
        for document in blocking {
            if view.expect_header(document)?.bytes > 0 {
                continue;
            }
            match view.sketch_of_owner(document) {
                Ok(None) => {}
                Ok(Some(sketch)) => table.put(&DocumentKey { document }.to_bytes(), &sketch)?,
                Err(error) => lost.add(Sketches::NAME, document, error)?,
            }
        }
        table.finish()?;
        Ok(lost.into_rows())
    }
}

/// Nothing, for an error that says that bytes are damaged.
fn damage(error: StoreError) -> Result<(), StoreError> {
    match error {
        StoreError::Damaged { .. } | StoreError::Corrupt { .. } => Ok(()),
        StoreError::Rocks(words) if is_damage(&words) => Ok(()),
        error => Err(error),
    }
}

/// Documents of which a row that follows from nothing else cannot be read.
#[derive(Default)]
struct LostDocuments(BTreeMap<&'static str, RoaringTreemap>);

impl LostDocuments {
    fn add(
        &mut self,
        family: &'static str,
        document: DocId,
        error: StoreError,
    ) -> Result<(), StoreError> {
        damage(error)?;
        self.0.entry(family).or_default().insert(document.0);
        Ok(())
    }

    fn into_rows(self) -> Vec<LostRows> {
        self.0.into_iter().map(|(family, of)| LostRows::of_documents(family, &of)).collect()
    }
}

/// One table of rows in order; no file where there is no row.
struct CarriedTable<'o> {
    path: PathBuf,
    options: &'o Options,
    rows: Option<SstFileWriter<'o>>,
}

impl<'o> CarriedTable<'o> {
    const fn new(options: &'o Options, path: PathBuf) -> Self {
        Self { path, options, rows: None }
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let table = match self.rows.take() {
            Some(table) => table,
            None => {
                let table = SstFileWriter::create(self.options);
                table.open(&self.path)?;
                table
            }
        };
        Ok(self.rows.insert(table).put(key, value)?)
    }

    fn finish(self) -> Result<(), StoreError> {
        let Some(mut rows) = self.rows else { return Ok(()) };
        rows.finish()?;
        let file = std::fs::File::open(&self.path).map_err(IoError::of("opening", &self.path))?;
        Ok(file.sync_all().map_err(IoError::of("syncing", &self.path))?)
    }
}
