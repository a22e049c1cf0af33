//! Tables of rows that a repair carries over from derived families which it drops, as they follow from nothing else.
//!
//! These are standings as their bitmaps have them, ids that came with records, who has a length in tokens where the ids
//! go too, and sketches of purged documents. There is one table a family, in a directory of the corpus.

use crate::bytes::bitmap_block;
use crate::bytes::grid_rows::{sketch_page, sketches_of_page};
use crate::bytes::key::{
    BlockKind, BlockNumber, ColumnKey, DocumentKey, PostingKey, StoreKey, TermKey, TokensKey,
};
use crate::bytes::number_block::NumberBlock;
use crate::check::lost::LostRows;
use crate::database::family::{StoreFamily, is_damage};
use crate::database::tuning;
use crate::decisions::blocks::Blocks;
use crate::documents::grid::{SketchPages, place_in_grid, sketch_width};
use crate::documents::loss::{Loss, TEXT};
use crate::documents::numbers::Columns;
use crate::documents::postings::Postings;
use crate::documents::terms::{self, Terms};
use crate::documents::tokens::Tokens;
use crate::error::StoreError;
use crate::files::directory::CorpusDirectory;
use crate::system_fields;
use crate::view::View;
use model::{
    BLOCK_SIZE, Context, DocId, Generation, IoError, Standing, TermId, TokenizerId, sync_directory,
};
use roaring::RoaringTreemap;
use rocksdb::{Options, SstFileWriter};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Bitmaps of standings that cannot be read: generation, standing, block; block 2^64 - 1: all. Of [`LENGTHS`] it is how
/// many lengths in tokens may be gone.
pub(crate) type LostBitmaps = Vec<(u32, u8, u64)>;

/// A generation that nothing has.
pub(crate) const LENGTHS: u32 = u32::MAX;

/// Tables of rows of derived families that follow from nothing else, in a directory of the corpus.
pub(crate) struct CarriedTables(PathBuf);

impl CarriedTables {
    /// The carried tables of a corpus.
    pub(crate) fn of(place: &CorpusDirectory) -> Self {
        Self(place.repairing())
    }

    /// The table of a family, which is there where rows of it are carried.
    pub(crate) fn path(&self, family: &str) -> PathBuf {
        self.0.join(format!("{family}.sst"))
    }

    /// All of them are gone.
    pub(crate) fn remove(&self) {
        // What cannot be removed is written again by the next one.
        let _ = std::fs::remove_dir_all(&self.0);
    }

    /// Writes what is to be carried of `families`; answers what of it cannot be read, and the bitmaps of standings that
    /// cannot, which others say something of.
    pub(crate) fn write(
        &self,
        view: &View,
        families: &BTreeSet<&'static str>,
        context: &Context<'_>,
    ) -> Result<(Vec<LostRows>, LostBitmaps), StoreError> {
        self.remove();
        std::fs::create_dir_all(&self.0).map_err(IoError::of("creating", &self.0))?;
        let (mut lost, mut standings) = (Vec::new(), Vec::new());
        if families.contains(Postings::NAME) {
            standings = self.write_standings(view, families.contains(Terms::NAME))?;
        }
        if families.contains(Tokens::NAME) {
            lost.extend(self.write_given(view, context)?);
            if families.contains(Columns::NAME) {
                match self.write_lengths(view, context)? {
                    0 => {}
                    gone => standings.push((LENGTHS, u8::MAX, gone)),
                }
            }
        }
        if families.contains(SketchPages::NAME) {
            lost.extend(self.write_purged_sketches(view)?);
        }
        sync_directory(&self.0)?;
        Ok((lost, standings))
    }

    /// Bitmaps of standings and marks of the generations that are shown, and their terms where these go too.
    fn write_standings(&self, view: &View, with_terms: bool) -> Result<LostBitmaps, StoreError> {
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
    ) -> Result<LostBitmaps, StoreError> {
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

    /// Lengths in tokens, by which ids are made again: documents that are not kept any more have theirs too. A block
    /// that cannot be read is put together from the ids that can. Answers how many lengths may be gone: those of documents
    /// whose ids cannot be read either, and that are not encoded for being kept.
    fn write_lengths(&self, view: &View, context: &Context<'_>) -> Result<u64, StoreError> {
        let options = tuning::table_options(&Columns::INFO);
        let mut table = CarriedTable::new(&options, self.path(Columns::NAME));
        let mut gone = 0;
        for (tokenizer, _) in view.tokenizers() {
            let column = system_fields::tokens_of(tokenizer);
            for block in view.blocks() {
                let lengths = match view.column_block(column, block) {
                    Ok(lengths) => lengths,
                    Err(error) => {
                        damage(error)?;
                        let (lengths, unread) = lengths_of_ids(view, tokenizer, block, context)?;
                        gone += unread;
                        lengths
                    }
                };
                if lengths.iter().next().is_some() {
                    let key = ColumnKey { column, block: BlockNumber(block) };
                    table.put(&key.to_bytes(), &lengths.encode())?;
                }
            }
        }
        table.finish()?;
        Ok(gone)
    }

    /// Sketches of purged documents that what is similar is blocked by: their texts are gone.
    fn write_purged_sketches(&self, view: &View) -> Result<Vec<LostRows>, StoreError> {
        let mut blocking = BTreeSet::new();
        let mut rows = view.pinned().scan_prefix::<Blocks>(&[BlockKind::Similar.as_byte()])?;
        while let Some((_, documents)) = rows.next()? {
            blocking.extend(documents);
        }
        let mut lost = LostDocuments::default();
        let mut carried: BTreeMap<DocId, Vec<(u16, Vec<u8>)>> = BTreeMap::new();
        let width = sketch_width(view.policy())?;
        for document in blocking {
            // Not by its column, which may be lost too.
            if !view.print(document)?.is_of_empty_text() {
                continue;
            }
            match view.sketch_of_owner(document) {
                Ok(None) => {}
                Ok(Some(sketch)) => {
                    let (first, slot) = place_in_grid(document, sketches_of_page(width));
                    carried.entry(first).or_default().push((slot, sketch));
                }
                Err(error) => lost.add(SketchPages::NAME, document, error)?,
            }
        }
        let options = tuning::table_options(&SketchPages::INFO);
        let mut table = CarriedTable::new(&options, self.path(SketchPages::NAME));
        for (first, of_page) in carried {
            let documents = view.documents().saturating_sub(first.0);
            let size = documents.min(sketches_of_page(width) as u64) as usize;
            let mut sketches = vec![None; size];
            for (slot, sketch) in &of_page {
                if let Some(place) = sketches.get_mut(usize::from(*slot)) {
                    *place = Some(sketch.as_slice());
                }
            }
            table.put(
                &DocumentKey { document: first }.to_bytes(),
                &sketch_page(width, &sketches)?,
            )?;
        }
        table.finish()?;
        Ok(lost.into_rows())
    }
}

/// The lengths of the ids of a block that can be read, and how many documents have ids that cannot and are not kept.
fn lengths_of_ids(
    view: &View,
    tokenizer: TokenizerId,
    block: u64,
    context: &Context<'_>,
) -> Result<(NumberBlock, u64), StoreError> {
    let width = if view.tokens_are_wide(tokenizer)? { 4 } else { 2 };
    let (mut lengths, mut gone) = (NumberBlock::default(), 0);
    for document in
        (block * BLOCK_SIZE..((block + 1) * BLOCK_SIZE).min(view.documents())).map(DocId)
    {
        context.check_interrupt()?;
        match view.pinned().get::<Tokens>(&TokensKey { tokenizer, document }) {
            Ok(None) => {}
            Ok(Some(ids)) => {
                let length = i64::try_from(ids.len() / width).unwrap_or(i64::MAX);
                lengths.set(document.slot(), Some(length));
            }
            Err(error) => {
                damage(error)?;
                let standing = view.standing(document);
                let is_known = matches!(standing, Ok(Standing::Kept | Standing::Purged));
                gone += u64::from(!is_known);
            }
        }
    }
    Ok((lengths, gone))
}

/// Nothing, for an error that says that bytes are damaged.
fn damage(error: StoreError) -> Result<(), StoreError> {
    match error {
        StoreError::Damaged { .. } | StoreError::Corrupt { .. } => Ok(()),
        StoreError::Rocks(words) if is_damage(&words) => Ok(()),
        error => Err(error),
    }
}

/// Documents with an unreadable primary row.
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
