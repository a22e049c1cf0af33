//! Copies a database of format 8 into one of format 9: rows of kept families as they are, documents into pages.

use super::families::{
    Dictionaries, Headers, OldMetadata, OldSketches, OldState, OldTexts, is_kept, old_families,
};
use super::text::TextDecoder;
use crate::bytes::key::{DocumentKey, StoreKey};
use crate::bytes::page_changes::{PageChanges, PageValues};
use crate::bytes::record::{self, StoreState};
use crate::database::family::{
    FamilyVisitor, StoreFamily, corrupt_row, damaged_family, family_handle,
};
use crate::database::page_cache::PageCache;
use crate::database::tuning::{self, MemoryBudget};
use crate::database::{Database, PinnedMoment, RowCursor};
use crate::documents::page_writer::write_pages;
use crate::error::StoreError;
use crate::index::IndexReader;
use crate::meta::Meta;
use crate::migrate::{self, format_row};
use crate::table::{FAMILIES, for_each_family};
use crate::view::{MomentRecords, View};
use bincode::{Decode, Encode};
use model::{DocId, refuse_without_room};
use rayon::prelude::*;
use rocksdb::{DB, FlushOptions, WriteBatch};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Where the progress of the copy stands until it has ended.
const PROGRESS: &str = "migration";
/// Bytes of texts in a batch, about.
const TEXT: usize = 32 << 20;

/// How far a copy is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
struct CopyProgress {
    /// The last commit of what is copied.
    commit: u64,
    /// The family that is being copied, by its place among all; behind the last one come the documents.
    family: u32,
    /// The first key of it that is not copied.
    key: Vec<u8>,
}

/// What a batch has at most, and how many batches are written: tests stop at each.
#[derive(Clone, Copy)]
pub(crate) struct CopyLimits {
    /// Bytes of rows of kept families.
    pub(super) bytes: usize,
    /// Documents that are put into pages.
    pub(super) documents: usize,
    pub(super) batches: usize,
}

impl Default for CopyLimits {
    fn default() -> Self {
        Self { bytes: 4 << 20, documents: 8192, batches: usize::MAX }
    }
}

/// Copies `old` to a database in the directory `new`, or goes on with that; answers whether it is whole.
///
/// # Errors
/// [`StoreError`] when a row cannot be read, or there is no room: the same call goes on.
pub(crate) fn copy(
    old: &Arc<Database>,
    new: &Path,
    (memory, threads): (MemoryBudget, usize),
    limits: CopyLimits,
) -> Result<bool, StoreError> {
    let commit = migrate::commit(old)?;
    let mut made = open(new, memory, threads)?;
    if progress(&made)?.is_none_or(|progress| progress.commit != commit) {
        // Nothing, or the copy of another moment.
        drop(made);
        std::fs::remove_dir_all(new).map_err(model::IoError::of("removing", new))?;
        refuse_without_room("converting", new, bytes_of(old)?)?;
        made = open(new, memory, threads)?;
        let mut rows = WriteBatch::default();
        put_progress(&made, &CopyProgress { commit, ..CopyProgress::default() }, &mut rows)?;
        made.write(rows)?;
    }
    let new = Arc::new(Database::from(made));
    let old_moment = PinnedMoment::at_now(old);
    let found = progress(&new)?.unwrap_or_default();
    let mut rows =
        RowCopy { old: &old_moment, new: &new, progress: found, at: 0, limits, failed: None };
    for_each_family(&mut rows);
    let RowCopy { limits, failed, .. } = rows;
    failed.map_or(Ok(()), Err)?;
    if limits.batches == 0 || !copy_documents(&old_moment, &new, memory, limits)? {
        return Ok(false);
    }
    let mut rows = WriteBatch::default();
    rows.delete_cf(&family_handle::<Meta>(&new)?, PROGRESS);
    new.write(rows)?;
    flush(&new)?;
    new.flush_wal(true)?;
    Ok(true)
}

fn open(path: &Path, memory: MemoryBudget, threads: usize) -> Result<DB, StoreError> {
    let mut options = tuning::database(memory, threads);
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    Ok(DB::open_cf_descriptors(&options, path, tuning::families(FAMILIES, memory))?)
}

/// Opens the database of format 8, to be read.
///
/// # Errors
/// [`StoreError::Rocks`].
pub(crate) fn open_old(path: &Path, memory: MemoryBudget) -> Result<DB, rocksdb::Error> {
    let options = tuning::database(memory, 2);
    let families = tuning::families_to_read(&old_families(), memory);
    DB::open_cf_descriptors_read_only(&options, path, families, false)
}

/// Opens the database of format 9 that was made, to be read.
///
/// # Errors
/// [`StoreError::Rocks`].
pub(super) fn open_made(path: &Path) -> Result<DB, rocksdb::Error> {
    let memory = MemoryBudget::within(0);
    let families = tuning::families_to_read(FAMILIES, memory);
    DB::open_cf_descriptors_read_only(&tuning::database(memory, 2), path, families, false)
}

/// Bytes of the tables of a database: a copy takes about as many.
fn bytes_of(db: &DB) -> Result<u64, StoreError> {
    Ok(db.live_files()?.iter().map(|table| table.size as u64).sum())
}

fn flush(db: &DB) -> Result<(), StoreError> {
    let families: Vec<_> = FAMILIES.iter().filter_map(|family| db.cf_handle(family.name)).collect();
    let mut options = FlushOptions::default();
    options.set_wait(true);
    Ok(db.flush_cfs_opt(&families.iter().collect::<Vec<_>>(), &options)?)
}

fn progress(db: &DB) -> Result<Option<CopyProgress>, StoreError> {
    let family = family_handle::<Meta>(db)?;
    let row = db.get_pinned_cf(&family, PROGRESS);
    let row = row.map_err(|error| damaged_family(Meta::NAME, error))?;
    let Some(row) = row else { return Ok(None) };
    let corrupt = |why| corrupt_row::<Meta>("progress", PROGRESS.as_bytes(), why);
    record::decode(&row).map(Some).map_err(corrupt)
}

fn put_progress(db: &DB, progress: &CopyProgress, rows: &mut WriteBatch) -> Result<(), StoreError> {
    let row = record::encode("progress", progress)?;
    rows.put_cf(&family_handle::<Meta>(db)?, PROGRESS, row);
    Ok(())
}

/// The row of `meta` as format 9 has it. While documents are copied, the state says how many are.
fn of_meta(key: &[u8], value: &[u8]) -> Result<Vec<u8>, StoreError> {
    match key {
        b"format" => Ok(format_row()),
        b"state" => {
            let corrupt = |why| corrupt_row::<Meta>("state", key, why);
            let old = OldState::read(value).map_err(corrupt)?;
            put_state(&old, 0)
        }
        _ => Ok(value.to_vec()),
    }
}

fn put_state(old: &OldState, documents: u64) -> Result<Vec<u8>, StoreError> {
    let state = StoreState {
        commit: old.commit,
        documents,
        kept: old.kept,
        generation: old.generation,
        next_term: old.next_term,
        next_source: old.next_source,
        next_tokenizer: old.next_tokenizer,
        next_epoch: old.next_epoch,
        rejects: old.rejects,
    };
    record::encode("state", &state)
}

/// Copies the rows of families that both formats have.
struct RowCopy<'a> {
    old: &'a PinnedMoment,
    new: &'a DB,
    progress: CopyProgress,
    /// The place of the next family among all.
    at: u32,
    /// With the batches that may still be written.
    limits: CopyLimits,
    failed: Option<StoreError>,
}

impl FamilyVisitor for RowCopy<'_> {
    fn family<C: StoreFamily>(&mut self) {
        let at = self.at;
        self.at += 1;
        if self.failed.is_none() && self.limits.batches > 0 && at >= self.progress.family {
            self.failed = self.rows::<C>(at).err();
        }
    }
}

impl RowCopy<'_> {
    fn rows<C: StoreFamily>(&mut self, at: u32) -> Result<(), StoreError> {
        let family = family_handle::<C>(self.new)?;
        let (mut rows, mut is_over) = (WriteBatch::default(), !is_kept(C::NAME));
        let from = std::mem::take(&mut self.progress.key);
        // A cursor of a family that the old database lacks is not made.
        let mut cursor = (!is_over).then(|| self.old.scan::<C>(&from, None)).transpose()?;
        while self.limits.batches > 0 {
            let mut key = Vec::new();
            while let Some(cursor) = &mut cursor {
                let Some((found, value)) = cursor.advance()? else {
                    is_over = true;
                    break;
                };
                match C::NAME {
                    Meta::NAME => rows.put_cf(&family, found, of_meta(found, value)?),
                    _ => rows.put_cf(&family, found, value),
                }
                if rows.size_in_bytes() >= self.limits.bytes {
                    // The first key behind this one.
                    key = [found, &[0]].concat();
                    break;
                }
            }
            let commit = self.progress.commit;
            self.progress = CopyProgress { commit, family: at + u32::from(is_over), key };
            put_progress(self.new, &self.progress, &mut rows)?;
            self.new.write(std::mem::take(&mut rows))?;
            self.limits.batches -= 1;
            if is_over {
                break;
            }
        }
        Ok(())
    }
}

/// Puts the documents that are not copied yet into pages; answers whether all are.
fn copy_documents(
    old: &PinnedMoment,
    new: &Arc<Database>,
    memory: MemoryBudget,
    mut limits: CopyLimits,
) -> Result<bool, StoreError> {
    let state = old.get_bytes::<Meta>(b"state")?.ok_or(StoreError::Missing {
        what: "record",
        family: Meta::NAME,
        key: "state".to_owned(),
    })?;
    let corrupt = |why| corrupt_row::<Meta>("state", b"state", why);
    let state = OldState::read(&state).map_err(corrupt)?;
    let texts = decoder(old)?;
    let pages = PageCache::within(memory.pages);
    let mut known: Option<MomentRecords> = None;
    loop {
        let view = View::open_now(new, IndexReader::default(), &pages, memory, known)?;
        let next = view.documents();
        if next >= state.documents {
            return Ok(true);
        }
        if limits.batches == 0 {
            return Ok(false);
        }
        let mut changes = PageChanges::default();
        let mut end = next;
        for (document, values) in read(old, &texts, next..state.documents, limits.documents)? {
            changes.add(document, values);
            end = document.0 + 1;
        }
        let mut rows = WriteBatch::default();
        write_pages(changes, &view, new, &mut rows)?;
        rows.put_cf(&family_handle::<Meta>(new)?, "state", put_state(&state, end)?);
        new.write(rows)?;
        limits.batches -= 1;
        known = Some(view.records());
    }
}

fn decoder(old: &PinnedMoment) -> Result<TextDecoder, StoreError> {
    let mut rows = old.scan::<Dictionaries>(&[], None)?;
    let mut dictionaries = BTreeMap::new();
    while let Some((key, bytes)) = rows.next()? {
        if let Ok(number) = u16::try_from(key.number.0) {
            dictionaries.insert(number, bytes.to_vec());
        }
    }
    Ok(TextDecoder::new(dictionaries))
}

/// A document of format 8, with its text as it is stored.
struct OldDocument {
    values: PageValues,
    text: Option<Vec<u8>>,
}

/// The first of these documents, up to those of a batch.
fn read(
    old: &PinnedMoment,
    texts: &TextDecoder,
    documents: Range<u64>,
    most: usize,
) -> Result<Vec<(DocId, PageValues)>, StoreError> {
    let from = DocumentKey { document: DocId(documents.start) }.to_bytes();
    let mut headers = old.scan::<Headers>(&from, None)?;
    let mut stored = Beside::<OldTexts>::from(old, &from)?;
    let mut sketches = Beside::<OldSketches>::from(old, &from)?;
    let mut metadata = Beside::<OldMetadata>::from(old, &from)?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    for document in documents.map(DocId) {
        if found.len() >= most || bytes >= TEXT {
            break;
        }
        let missing = || StoreError::Missing {
            what: "document",
            family: Headers::NAME,
            key: document.to_string(),
        };
        let (key, header) = headers.next()?.ok_or_else(missing)?;
        if key.document != document {
            return Err(missing());
        }
        let text = stored.take(document)?;
        bytes += text.as_ref().map_or(0, Vec::len);
        let metadata = metadata.take(document)?.map(String::from_utf8).transpose();
        let metadata = metadata.map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let why = crate::error::DecodeError::at(at, "metadata is not UTF-8");
            corrupt_row::<OldMetadata>("metadata", &key.to_bytes(), why)
        })?;
        let values = PageValues {
            place: header.place,
            print: header.print,
            sketch: sketches.take(document)?,
            text: None,
            key: header.key,
            metadata,
        };
        found.push((document, OldDocument { values, text }));
    }
    found
        .into_par_iter()
        .map(|(document, OldDocument { values, text })| {
            let decoded = text.map(|text| texts.decode(&text)).transpose();
            let key = DocumentKey { document }.to_bytes();
            let text = decoded.map_err(|why| corrupt_row::<OldTexts>("text", &key, why))?;
            Ok((document, PageValues { text, ..values }))
        })
        .collect()
}

/// The rows of a family that only some documents have.
struct Beside<'v, F: StoreFamily<Key = DocumentKey>> {
    rows: RowCursor<'v, F>,
    next: Option<(DocId, Vec<u8>)>,
}

impl<'v, F: StoreFamily<Key = DocumentKey>> Beside<'v, F> {
    fn from(old: &'v PinnedMoment, from: &[u8]) -> Result<Self, StoreError> {
        let mut beside = Self { rows: old.scan::<F>(from, None)?, next: None };
        beside.advance()?;
        Ok(beside)
    }

    fn advance(&mut self) -> Result<(), StoreError> {
        self.next = match self.rows.advance()? {
            None => None,
            Some((key, value)) => {
                let typed = DocumentKey::decode(key);
                let typed = typed.map_err(|why| corrupt_row::<F>(F::WHAT, key, why))?;
                Some((typed.document, value.to_vec()))
            }
        };
        Ok(())
    }

    /// The row of a document; those before it are passed.
    fn take(&mut self, document: DocId) -> Result<Option<Vec<u8>>, StoreError> {
        while self.next.as_ref().is_some_and(|(found, _)| *found < document) {
            self.advance()?;
        }
        match self.next.take_if(|(found, _)| *found == document) {
            Some((_, value)) => {
                self.advance()?;
                Ok(Some(value))
            }
            None => Ok(None),
        }
    }
}
