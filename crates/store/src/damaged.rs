//! Opens the undamaged rest of a corpus, so that it can be copied, and mends two files that say where everything is.
//!
//! ```text
//! as readers open it -> refused, or a table is cut short? -> links of all tables in a scratch directory, and there:
//!     CURRENT written again -> a list of tables that cannot be read made again of the tables as they lie
//!     -> the ends of cut tables put back -> what the store cannot do without replaced, and said
//! ```
//!
//! The corpus itself is not changed, but by [`mend_files`].

use crate::bytes::key::DocumentKey;
use crate::bytes::page::documents_of;
use crate::bytes::record::StoreState;
use crate::database::family::{StoreFamily, is_damage};
use crate::database::page_cache::PageCache;
use crate::database::reads::decode_row;
use crate::database::tuning::{self, MemoryBudget};
use crate::database::whole_rows::whole_rows;
use crate::database::{Database, PinnedMoment};
use crate::documents::grid::PlacePages;
use crate::documents::pages::{MetadataPages, TextPages};
use crate::error::StoreError;
use crate::files::directory::{CorpusDirectory, write_whole};
use crate::files::journal;
use crate::files::manifest_note::{ManifestNote, refuse_lost_tables};
use crate::files::record_log::restore_types;
use crate::files::scratch::{self, ScratchDirectory};
use crate::files::wal;
use crate::index::IndexReader;
use crate::meta::{MetaCharter, MetaState};
use crate::migrate;
use crate::opening::{open_for_inspection, refuse_lost};
use crate::reading::read_beside_damage;
use crate::records::commits::Commits;
use crate::records::removals::{RemovalDocuments, RemovalTraces, Removals};
use crate::records::sources::Sources;
use crate::records::tokenizers::Tokenizers;
use crate::table::FAMILIES;
use crate::view::{MomentCharter, MomentRecords, View};
use model::{Context, DedupMode, Generation, IoError, Policy, Standing};
use roaring::RoaringTreemap;
use rocksdb::{DB, DBRecoveryMode};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The generation where that of the decisions in force cannot be read.
const UNKNOWN_GENERATION: u32 = u32::MAX;
/// Bytes at the end of a table that all tables of a release share: padding, version, magic number.
const SHARED_END: u64 = 36;

// ----
// Small files that are written again in place.

/// Writes `CURRENT` and `FORMAT` again where they are lost or damaged and the database says what they must be; answers
/// their names.
///
/// # Errors
/// [`StoreError`]: no corpus, another writer, another format, what the file system says.
pub fn mend_files(path: &Path) -> Result<Vec<String>, StoreError> {
    let place = CorpusDirectory::new(path);
    let database = place.database();
    let format = place.read_format(migrate::current());
    let is_current = named_manifest(&database).is_some();
    let is_known = matches!(format, Ok(found) if found == migrate::current());
    if is_current && is_known {
        return Ok(Vec::new());
    }
    let Some(manifest) = named_manifest(&database).or_else(|| last_manifest(&place)) else {
        return format.map(|_| Vec::new());
    };
    let _lock = place.lock()?;
    let mut mended = Vec::new();
    if !is_current {
        write_whole(&database, "CURRENT", format!("{manifest}\n").as_bytes())?;
        mended.push("CURRENT".to_owned());
    }
    if !is_known {
        refuse_lost_tables(&place, &database)?;
        let entries = journal::read_end(&place)?;
        let found = open_for_inspection(&place, &database, &entries, 0)
            .and_then(|db| migrate::version(&db));
        match (found, format) {
            (Ok(found), _) if found == migrate::current() => {
                place.write_format(found)?;
                mended.push("FORMAT".to_owned());
            }
            (_, Err(error)) => return Err(error),
            // A corpus of an older release.
            (_, Ok(_)) => {}
        }
    }
    Ok(mended)
}

/// The manifest that `CURRENT` names, if it is there.
fn named_manifest(database: &Path) -> Option<String> {
    let line = std::fs::read_to_string(database.join("CURRENT")).ok()?;
    let name = line.strip_suffix('\n')?;
    let is_one = name.starts_with("MANIFEST-") && database.join(name).is_file();
    is_one.then(|| name.to_owned())
}

/// The manifest that was noted last, if it is there, else that of the highest number: one that was not noted yet may
/// have been in the making.
fn last_manifest(place: &CorpusDirectory) -> Option<String> {
    let number = |name: &str| name.strip_prefix("MANIFEST-")?.parse::<u64>().ok();
    let entries = std::fs::read_dir(place.database()).ok()?.flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let found: Vec<String> = names.filter(|name| number(name).is_some()).collect();
    let noted = ManifestNote::read(place).ok().flatten().map(ManifestNote::manifest);
    let noted = noted.filter(|noted| found.contains(noted));
    noted.or_else(|| found.into_iter().max_by_key(|name| number(name)))
}

// ----
// What is whole, opened to be copied.

/// What can be read of a damaged corpus.
pub struct DamagedCorpus {
    /// What is whole of it.
    pub view: View,
    /// What is lost that is of no document, in words.
    pub damage: Vec<String>,
    /// Where it was opened, if not in place; gone with this.
    _links: Option<ScratchDirectory>,
}

/// Opens what can be read of a damaged corpus.
///
/// # Errors
/// [`StoreError`]: no corpus, another format; another writer, where the corpus cannot be opened as it lies; what says
/// why nothing of it can be opened.
pub fn read_damaged(path: &Path, memory: MemoryBudget) -> Result<DamagedCorpus, StoreError> {
    let place = CorpusDirectory::new(path);
    let refused = match read_beside_damage(path, memory) {
        Ok(view) if cut_tables(view.database(), &place.database()).is_empty() => {
            return Ok(DamagedCorpus { view, damage: Vec::new(), _links: None });
        }
        Ok(_) => None,
        Err(error) if is_beyond(&error, &place) => return Err(error),
        Err(error) => Some(error),
    };
    let mut damage = Vec::new();
    let links = {
        let _lock = place.lock()?;
        scratch::sweep(&place, &[scratch::LINKS]);
        link(&place)?
    };
    let db = Arc::new(Database::from(open_links(&place, links.path(), memory, &mut damage)?));
    match (migrate::version(&db), refused) {
        // Without a format line and without a format this is no corpus, or cannot be known to be one.
        (Ok(0), Some(error @ StoreError::NotACorpus { .. })) => return Err(error),
        (Ok(found), refused) if found != migrate::current() && found != 0 => {
            let (path, supported) = (path.to_path_buf(), migrate::current());
            return Err(refused.unwrap_or(StoreError::OlderFormat { path, found, supported }));
        }
        _ => {}
    }
    let view = View::open_beside_damage(&db, memory, &mut damage)?;
    let entries = journal::read_end(&place)?;
    let oldest = ManifestNote::read(&place)?.map_or(0, |note| note.oldest_log);
    if let Some(lost) = wal::lost(&place, &place.database(), &entries, oldest)? {
        damage.push(lost.error.to_string());
    }
    if view.has_generation()
        && let Err(error) = refuse_lost(&place.root, view.commit().0, entries.last())
    {
        damage.push(error.to_string());
    }
    Ok(DamagedCorpus { view, damage, _links: Some(links) })
}

/// Whether an opening was refused for something else than damage.
fn is_beyond(error: &StoreError, place: &CorpusDirectory) -> bool {
    match error {
        // The database says whether this is a corpus.
        StoreError::NotACorpus { .. } | StoreError::NewerFormat { .. } => {
            named_manifest(&place.database()).or_else(|| last_manifest(place)).is_none()
        }
        StoreError::Damaged { .. }
        | StoreError::Corrupt { .. }
        | StoreError::Missing { .. }
        | StoreError::Repairing { .. }
        | StoreError::LostCommits { .. }
        | StoreError::LostLog { .. }
        | StoreError::LostTables { .. } => false,
        StoreError::Rocks(words) => {
            !is_damage(words) && !words.contains("CURRENT") && !words.contains("MANIFEST")
        }
        _ => true,
    }
}

/// Links the tables of a corpus into a directory of its own, and copies what the database may write to.
fn link(place: &CorpusDirectory) -> Result<ScratchDirectory, StoreError> {
    let links = ScratchDirectory::make(place, scratch::LINKS)?;
    let database = place.database();
    for entry in std::fs::read_dir(&database).map_err(IoError::of("reading", &database))? {
        let path = entry.map_err(IoError::of("reading", &database))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let to = links.path().join(&name);
        let done = if name.ends_with(".sst") {
            std::fs::hard_link(&path, &to).or_else(|_| std::fs::copy(&path, &to).map(drop))
        } else if name.ends_with(".log") || name.starts_with("MANIFEST-") {
            std::fs::copy(&path, &to).and_then(|_| restore_types(&to))
        } else {
            Ok(())
        };
        done.map_err(IoError::of("copying", &path))?;
    }
    Ok(links)
}

/// Opens the links of a corpus, whatever is damaged.
fn open_links(
    place: &CorpusDirectory,
    links: &Path,
    memory: MemoryBudget,
    damage: &mut Vec<String>,
) -> Result<DB, StoreError> {
    let manifest = named_manifest(&place.database()).or_else(|| last_manifest(place));
    let opened = match manifest {
        Some(manifest) => {
            write_whole(links, "CURRENT", format!("{manifest}\n").as_bytes())?;
            let is_whole = refuse_lost_tables(place, links).is_ok();
            is_whole.then(|| open(links, memory).ok()).flatten()
        }
        None => None,
    };
    let db = match opened {
        Some(db) => db,
        None => {
            list_tables_again(links, memory)?;
            damage.push(
                "the list of tables: made again of the tables as they lie; rows that were deleted shortly before may be among those copied".to_owned(),
            );
            open(links, memory)?
        }
    };
    let cut = cut_tables(&db, links);
    if cut.is_empty() {
        return Ok(db);
    }
    let end = shared_end(&db, links, &cut);
    drop(db);
    for (path, missing) in &cut {
        if let Some(end) = end.as_ref().and_then(|end| end.get(end.len().checked_sub(*missing)?..))
        {
            put_end(path, end)?;
        }
    }
    Ok(open(links, memory)?)
}

fn open(links: &Path, memory: MemoryBudget) -> Result<DB, rocksdb::Error> {
    let mut options = tuning::database(memory, 2);
    options.create_missing_column_families(true);
    options.set_paranoid_checks(false);
    options.set_wal_recovery_mode(DBRecoveryMode::SkipAnyCorruptedRecord);
    DB::open_cf_descriptors(&options, links, tuning::resting_families(FAMILIES, memory))
}

/// Makes a list of tables of those that lie in a directory: the newest row of a key is that of the highest number,
/// which every row has. Logs stay out of it: RocksDB would need the rules of merging to make tables of them.
fn list_tables_again(links: &Path, memory: MemoryBudget) -> Result<(), StoreError> {
    let aside = links.join("logs");
    std::fs::create_dir(&aside).map_err(IoError::of("creating", &aside))?;
    let failed = || IoError::of("moving files in", links);
    let mut logs: Vec<(PathBuf, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(links).map_err(failed())? {
        let path = entry.map_err(failed())?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        if name.ends_with(".log") {
            let to = aside.join(&name);
            std::fs::rename(&path, &to).map_err(failed())?;
            logs.push((to, path));
        } else if name == "CURRENT" || name.starts_with("MANIFEST-") {
            std::fs::remove_file(&path).map_err(failed())?;
        }
    }
    DB::repair(&tuning::database(memory, 2), links)?;
    for (from, to) in logs {
        std::fs::rename(from, to).map_err(failed())?;
    }
    Ok(())
}

/// Live tables that are shorter than they were, and by how much; not those that are empty or gone.
fn cut_tables(db: &DB, directory: &Path) -> Vec<(PathBuf, usize)> {
    let mut cut = Vec::new();
    for table in db.live_files().unwrap_or_default() {
        let path = directory.join(table.name.trim_start_matches('/'));
        let found = std::fs::metadata(&path).map_or(0, |found| found.len());
        let size = table.size as u64;
        if found > 0 && found < size {
            cut.push((path, usize::try_from(size - found).unwrap_or(usize::MAX)));
        }
    }
    cut
}

/// The end of a table that is as long as it was.
fn shared_end(db: &DB, directory: &Path, cut: &[(PathBuf, usize)]) -> Option<Vec<u8>> {
    let tables = db.live_files().ok()?;
    let paths = tables.iter().map(|table| directory.join(table.name.trim_start_matches('/')));
    let whole = paths.filter(|path| cut.iter().all(|(other, _)| other != path));
    whole.filter_map(|path| end_of(&path).ok()).next()
}

fn end_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::End(-SHARED_END.cast_signed()))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    Ok(end)
}

/// Replaces the link of a cut table by a copy with `end` behind.
fn put_end(path: &Path, end: &[u8]) -> Result<(), StoreError> {
    let copy = path.with_extension("copy");
    let put = || {
        std::fs::copy(path, &copy)?;
        let mut file = File::options().append(true).open(&copy)?;
        std::io::Write::write_all(&mut file, end)?;
        std::fs::rename(&copy, path)
    };
    Ok(put().map_err(IoError::of("copying", path))?)
}

// ----
// A moment of what is there.

impl View {
    /// The last committed moment of a damaged database: what of its own records cannot be read is replaced, and said in
    /// `damage`. Of documents there are as many as pages have.
    pub(crate) fn open_beside_damage(
        db: &Arc<Database>,
        memory: MemoryBudget,
        damage: &mut Vec<String>,
    ) -> Result<Self, StoreError> {
        let pinned = PinnedMoment::at_now(db);
        let state = match pinned.read::<MetaState, _>(&()) {
            Ok(Some(state)) => state,
            found => {
                damage.push(format!("meta: the counters{}", why(found.err())));
                Self::state_of_rows(&pinned)
            }
        };
        let (policy, fields) = match pinned.read::<MetaCharter, _>(&()) {
            Ok(Some(charter)) => charter,
            found => {
                let policy = Policy::new(DedupMode::Witness, 0.8);
                let policy = policy.map_err(|error| StoreError::Name(error.to_string()))?;
                damage.push(format!(
                    "meta: policy and declared fields{}: the copy has {policy} and no declared field; their values are in the metadata",
                    why(found.err())
                ));
                (policy, Vec::new())
            }
        };
        let added = Self::read_added_fields(&pinned).unwrap_or_else(|error| {
            damage.push(format!("meta: fields that were added: {error}"));
            Vec::new()
        });
        let sources = Arc::new(Self::read_sources_beside_damage(&pinned, &state, damage));
        let tokenizers = Arc::new(Self::read_tokenizers_beside_damage(&pinned, &state, damage));
        let records = MomentRecords { sources, tokenizers };
        let charter = MomentCharter { state, policy, fields, added, records };
        let pages = PageCache::within(memory.pages);
        Ok(Self::of(pinned, charter, IndexReader::default(), &pages, memory))
    }

    /// High-water marks by the last rows that there are.
    fn state_of_rows(pinned: &PinnedMoment) -> StoreState {
        let documents = [
            end_of_pages::<PlacePages>(pinned),
            end_of_pages::<TextPages>(pinned),
            end_of_pages::<MetadataPages>(pinned),
        ];
        StoreState {
            commit: pinned.last_key::<Commits>().map_or(0, |key| key.commit.0),
            documents: documents.into_iter().flatten().max().unwrap_or(0),
            generation: UNKNOWN_GENERATION,
            next_source: pinned.last_key::<Sources>().map_or(0, |key| key.source.0 + 1),
            next_tokenizer: pinned.last_key::<Tokenizers>().map_or(0, |key| key.tokenizer.0 + 1),
            ..StoreState::default()
        }
    }

    /// Whether it is known which decisions are in force; not in a corpus whose counters are damaged.
    #[must_use]
    pub(crate) fn has_generation(&self) -> bool {
        self.generation() != Generation(UNKNOWN_GENERATION)
    }

    /// The documents that were removed and those that were purged, as their bitmaps have them, or what commits recorded
    /// where these cannot be read; what is not known then is said in `damage`.
    ///
    /// # Errors
    /// [`StoreError::Interrupted`].
    #[doc(hidden)]
    pub fn gone_beside_damage(
        &self,
        context: &Context<'_>,
        damage: &mut Vec<String>,
    ) -> Result<[RoaringTreemap; 2], StoreError> {
        let of = |standing| match self.has_generation() {
            true => self.documents_standing(standing).map_err(|error| error.to_string()),
            false => Err("the counters of `meta` are lost".to_owned()),
        };
        let why = match (of(Standing::Removed), of(Standing::Purged)) {
            (Ok(removed), Ok(purged)) => return Ok([removed, purged]),
            (Err(why), _) | (_, Err(why)) => why,
        };
        damage.push(format!(
            "which documents were removed, in their bitmaps ({why}): taken from the records of removals"
        ));
        let [mut removed, mut purged] = [RoaringTreemap::new(), RoaringTreemap::new()];
        let mut unknown = Vec::new();
        let lost = whole_rows::<Removals>(self.pinned(), context, |key, value| {
            if let Ok(Some((commit, documents))) = decode_row::<RemovalDocuments>(key, value) {
                match self.commit_record(commit) {
                    Ok(Some(record)) if record.kind == "restore" => removed -= documents,
                    Ok(Some(_)) => removed |= documents,
                    _ => {
                        unknown.push(commit.to_string());
                        removed |= documents;
                    }
                }
            } else if let Ok(Some((_, traces))) = decode_row::<RemovalTraces>(key, value) {
                purged.extend(traces.iter().map(|trace| trace.document.0));
            }
        });
        let loud = "DOCUMENTS THAT WERE REMOVED MAY BE KEPT AGAIN IN THE COPY";
        match lost {
            Err(StoreError::Interrupted(stop)) => return Err(stop.into()),
            Ok(lost) if lost.is_empty() => {}
            Ok(lost) => {
                damage.push(format!("{} places in the records of removals: {loud}", lost.len()))
            }
            Err(error) => damage.push(format!("the records of removals: {error}: {loud}")),
        }
        if !unknown.is_empty() {
            damage.push(format!(
                "whether commits {} removed documents or restored them: removed in the copy",
                unknown.join(", ")
            ));
        }
        removed -= &purged;
        Ok([removed, purged])
    }
}

/// The first document behind the pages of a family that can be read.
fn end_of_pages<C: StoreFamily<Key = DocumentKey>>(pinned: &PinnedMoment) -> Option<u64> {
    let last = pinned.last_key::<C>()?;
    let documents = pinned.get::<C>(&last).ok()?.and_then(|page| documents_of(&page));
    Some(last.document.0 + documents.unwrap_or(1))
}

fn why(error: Option<StoreError>) -> String {
    error.map_or_else(|| " are gone".to_owned(), |error| format!(": {error}"))
}
