//! The pages that a commit writes: values of documents by column, put into their pages when the commit ends.
//!
//! A page is a function of its documents, and so does not know of commits: the last page of a column, where it is not
//! full, is taken in by the commit that adds documents, which cuts it and what follows as one commit of all would have. A
//! value that changes in a page before that is put into it, and the page is cut again where it has grown too large.

use crate::batch::CommitBatch;
use crate::bytes::grid_page::GridPage;
use crate::bytes::grid_rows::{
    DocumentPlace, DocumentPrint, GridRow, sketch_at, sketch_page, sketches_of_page,
};
use crate::bytes::key::{DocumentKey, StoreKey};
use crate::bytes::page::{PageEncoder, failed};
use crate::bytes::page_changes::{PageChanges, PageValue, page_value};
use crate::bytes::page_cutter::PageCutter;
use crate::database::family::{RowKind, StoreFamily, corrupt_row, family_handle};
use crate::documents::grid::{
    GridFamily, PlacePages, PrintPages, SketchPages, place_in_grid, sketch_width,
};
use crate::documents::pages::{KeyPages, MetadataPages, StringFamily, TextPages};
use crate::error::{DecodeError, StoreError};
use crate::view::View;
use model::DocId;
use model::invariant::part;
use rayon::prelude::*;
use rocksdb::{DB, WriteBatch};
use std::collections::BTreeMap;

impl CommitBatch<'_> {
    pub(crate) fn set_place(&mut self, document: DocId, place: DocumentPlace) {
        self.pages.places.insert(document.0, place);
    }

    pub(crate) fn set_print(&mut self, document: DocId, print: DocumentPrint) {
        self.pages.prints.insert(document.0, print);
    }

    pub(crate) fn set_sketch(&mut self, document: DocId, sketch: Option<Vec<u8>>) {
        self.pages.sketches.insert(document.0, sketch.map(Vec::into_boxed_slice));
    }

    pub(crate) fn set_text(&mut self, document: DocId, text: Option<String>) {
        self.pages.texts.insert(document.0, page_value(text));
    }

    pub(crate) fn set_key(&mut self, document: DocId, key: Option<String>) {
        self.pages.keys.insert(document.0, page_value(key));
    }

    /// `{}` is stored as nothing.
    pub(crate) fn set_metadata(&mut self, document: DocId, metadata: String) {
        let metadata = Some(metadata).filter(|metadata| metadata != "{}");
        self.pages.metadata.insert(document.0, page_value(metadata));
    }

    /// Stores the sketch that a document has itself, if any.
    pub fn put_sketch(&mut self, document: DocId, sketch: Option<Vec<u8>>) {
        self.set_sketch(document, sketch);
    }

    /// Stores what a document has of a sketch in a page that a repair made empty.
    ///
    /// # Errors
    /// [`StoreError`] when the page cannot be read.
    pub fn keep_sketch(&mut self, document: DocId) -> Result<(), StoreError> {
        let width = sketch_width(self.view().policy())?;
        let (first, slot) = place_in_grid(document, sketches_of_page(width));
        let mut stored = stored_sketches(self.view(), first, width)?;
        let own = stored.get_mut(usize::from(slot)).and_then(Option::take);
        self.pages.sketches.insert(document.0, own);
        Ok(())
    }

    /// Writes the pages that changed.
    pub(crate) fn write_pages(&mut self) -> Result<(), StoreError> {
        let changes = std::mem::take(&mut self.pages);
        write_pages(changes, &self.view, &self.writer.db, &mut self.rows)
    }
}

/// Adds the pages that changed since `view` to a batch of rows.
pub(crate) fn write_pages(
    changes: PageChanges,
    view: &View,
    db: &DB,
    rows: &mut WriteBatch,
) -> Result<(), StoreError> {
    let PageChanges { places, prints, sketches, texts, keys, metadata } = changes;
    let mut writer = PageWriter { view, db, rows };
    writer.grid::<PlacePages>(places)?;
    writer.grid::<PrintPages>(prints)?;
    writer.sketches(sketches)?;
    writer.strings::<TextPages>(texts)?;
    writer.strings::<KeyPages>(keys)?;
    writer.strings::<MetadataPages>(metadata)
}

struct PageWriter<'a> {
    view: &'a View,
    db: &'a DB,
    rows: &'a mut WriteBatch,
}

impl PageWriter<'_> {
    fn put<F: StoreFamily>(&mut self, first: DocId, page: &[u8]) -> Result<(), StoreError> {
        let key = DocumentKey { document: first }.to_bytes();
        self.rows.put_cf(&family_handle::<F>(self.db)?, key, page);
        Ok(())
    }

    fn grid<F: GridFamily>(&mut self, changes: BTreeMap<u64, F::Row>) -> Result<(), StoreError> {
        for (first, of_page) in by_page(changes, F::Row::DOCUMENTS) {
            let rows = merged(self.view, first, F::Row::DOCUMENTS, of_page, || {
                self.view.grid_rows::<F>(first)?.ok_or_else(|| missing::<F>(first))
            })?;
            self.put::<F>(first, &F::Row::page(&rows)?)?;
        }
        Ok(())
    }

    fn sketches(&mut self, changes: BTreeMap<u64, PageValue>) -> Result<(), StoreError> {
        let width = sketch_width(self.view.policy())?;
        let size = sketches_of_page(width);
        for (first, of_page) in by_page(changes, size) {
            let stored = || stored_sketches(self.view, first, width);
            let rows = merged(self.view, first, size, of_page, stored)?;
            let rows: Vec<_> = rows.iter().map(Option::as_deref).collect();
            self.put::<SketchPages>(first, &sketch_page(width, &rows)?)?;
        }
        Ok(())
    }

    fn strings<F: StringFamily>(
        &mut self,
        mut changes: BTreeMap<u64, PageValue>,
    ) -> Result<(), StoreError> {
        let added = changes.split_off(&self.view.documents());
        let mut runs = changed_pages::<F>(self.view, changes)?;
        if let Some((&first, _)) = added.first_key_value() {
            let (first, values) = tail::<F>(self.view, &mut runs, DocId(first))?;
            runs.entry(first).or_insert(values).extend(added.into_values());
        }
        let pages: Vec<_> = runs.iter().flat_map(|(first, values)| cut(*first, values)).collect();
        let encode = |encoder: &mut Result<PageEncoder, StoreError>, (first, values): &Cut<'_>| {
            let encoder = encoder.as_mut().map_err(|error| failed(&error))?;
            let values: Vec<_> = values.iter().map(Option::as_deref).collect();
            Ok((*first, encoder.encode(F::COLUMN, &values)?))
        };
        let pages: Vec<(DocId, Vec<u8>)> = pages
            .par_iter()
            .with_min_len(4)
            .map_init(PageEncoder::new, encode)
            .collect::<Result<_, StoreError>>()?;
        pages.iter().try_for_each(|(first, page)| self.put::<F>(*first, page))
    }
}

/// The first document of a page to be written, and its values.
type Cut<'a> = (DocId, &'a [PageValue]);

fn missing<F: StoreFamily>(document: DocId) -> StoreError {
    StoreError::Missing { what: F::WHAT, family: F::NAME, key: document.to_string() }
}

/// Changes by the page of the grid that they are in.
fn by_page<T>(changes: BTreeMap<u64, T>, size: usize) -> BTreeMap<DocId, Vec<(u16, T)>> {
    let mut pages: BTreeMap<DocId, Vec<(u16, T)>> = BTreeMap::new();
    for (document, row) in changes {
        let (first, slot) = place_in_grid(DocId(document), size);
        pages.entry(first).or_default().push((slot, row));
    }
    pages
}

/// The rows of a page with its changes. What is stored is read unless all of it changes.
fn merged<T>(
    view: &View,
    first: DocId,
    size: usize,
    changes: Vec<(u16, T)>,
    stored: impl FnOnce() -> Result<Vec<T>, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let before = view.documents().saturating_sub(first.0).min(size as u64) as usize;
    let replaced = changes.iter().filter(|(slot, _)| usize::from(*slot) < before).count();
    let mut rows = if replaced == before { Vec::new() } else { stored()? };
    for (slot, row) in changes {
        match rows.get_mut(usize::from(slot)) {
            Some(place) => *place = row,
            None => rows.push(row),
        }
    }
    Ok(rows)
}

/// The sketches of a page; none of any document where a repair has made the family empty.
fn stored_sketches(view: &View, first: DocId, width: u16) -> Result<Vec<PageValue>, StoreError> {
    let Some(bytes) = view.grid_page::<SketchPages>(first)? else {
        if !view.repairs()?.contains_key(SketchPages::NAME) {
            return Err(missing::<SketchPages>(first));
        }
        let documents = (view.documents() - first.0).min(sketches_of_page(width) as u64);
        return Ok((0..documents).map(|_| None).collect());
    };
    let read = || -> Result<Vec<PageValue>, DecodeError> {
        let page = GridPage::read_whole(&bytes)?;
        let slots = 0..=(page.documents() - 1) as u16;
        let sketches = slots.map(|slot| Ok(sketch_at(&page, width, slot)?.map(Box::from)));
        sketches.collect()
    };
    let key = DocumentKey { document: first }.to_bytes();
    read().map_err(|why| corrupt_row::<SketchPages>(SketchPages::WHAT, &key, why))
}

/// The pages whose values change, each with all of its values.
fn changed_pages<F: StringFamily>(
    view: &View,
    changes: BTreeMap<u64, PageValue>,
) -> Result<BTreeMap<DocId, Vec<PageValue>>, StoreError> {
    let mut runs: BTreeMap<DocId, Vec<PageValue>> = BTreeMap::new();
    for (document, changed) in changes {
        let place = |(first, values): (&DocId, &mut Vec<PageValue>)| {
            usize::try_from(document - first.0).ok().filter(|slot| *slot < values.len())
        };
        let known = runs.range_mut(..=DocId(document)).next_back();
        if known.and_then(place).is_none() {
            let page = view.page_of::<F>(DocId(document))?;
            let values = page.values().map(|(_, value)| value.map(Box::from));
            runs.insert(page.first, values.collect());
        }
        if let Some((first, values)) = runs.range_mut(..=DocId(document)).next_back()
            && let Some(slot) = usize::try_from(document - first.0).ok()
            && let Some(value) = values.get_mut(slot)
        {
            *value = changed;
        }
    }
    Ok(runs)
}

/// Where added documents begin: in the last page, with its values, where that is not full.
fn tail<F: StringFamily>(
    view: &View,
    runs: &mut BTreeMap<DocId, Vec<PageValue>>,
    added: DocId,
) -> Result<(DocId, Vec<PageValue>), StoreError> {
    let Some(last) = added.0.checked_sub(1) else { return Ok((added, Vec::new())) };
    let page = view.page_of::<F>(DocId(last))?;
    let values = || page.values().map(|(_, value)| value.map(Box::from)).collect();
    let changed = runs.remove(&page.first);
    let (first, is_changed) = (page.first, changed.is_some());
    let values = changed.unwrap_or_else(values);
    let mut cutter = PageCutter::new(first.0);
    let mut is_cut = false;
    for value in &values {
        is_cut |= cutter.push(value.as_ref().map(|value| value.len())).is_some();
    }
    if is_cut || !cutter.is_full() {
        return Ok((first, values));
    }
    if is_changed {
        runs.insert(first, values);
    }
    Ok((added, Vec::new()))
}

/// Values that follow each other from a document on, cut into pages.
fn cut(first: DocId, values: &[PageValue]) -> Vec<Cut<'_>> {
    let mut cutter = PageCutter::new(first.0);
    let lengths = values.iter().map(|value| value.as_ref().map(|value| value.len()));
    let mut pages: Vec<_> = lengths.filter_map(|length| cutter.push(length)).collect();
    pages.extend(cutter.finish());
    let place = |document: u64| (document - first.0) as usize;
    pages
        .into_iter()
        .map(|page| (DocId(page.start), part(values, place(page.start)..place(page.end))))
        .collect()
}
