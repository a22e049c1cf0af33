//! Makes corpora of lengths alone, without texts or ids, to measure and test plans of any size.
//!
//! They have the rows that an ingest of such documents would leave in what planning reads: token counts, standing,
//! sources.

use crate::bytes::bitmap_block;
use crate::bytes::key::{BlockNumber, ColumnKey, PostingKey, StoreKey};
use crate::bytes::number_block::NumberBlock;
use crate::bytes::record::CommitRecord;
use crate::database::family::{StoreFamily, family_handle};
use crate::database::tuning;
use crate::documents::numbers::Columns;
use crate::documents::postings::Postings;
use crate::error::StoreError;
use crate::writer::StoreWriter;
use crate::{CommitBatch, system_fields};
use model::{DocId, SourceId, Standing, TokenizerId};
use roaring::{RoaringBitmap, RoaringTreemap};
use rocksdb::{DB, IngestExternalFileOptions, SstFileWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Blocks in one table: about 25 MB are held at a time.
const ROWS_IN_TABLE: usize = 128;

impl StoreWriter {
    /// Fills a corpus without documents with kept documents that have only token counts. `block` puts the counts of a
    /// block in the vector it is given, none where a document was never encoded, and answers which of `sources` the
    /// block is of; it is asked until a block is empty, and all but the last one that is not must be full. Tables are
    /// written to `folder`, beside the corpus.
    ///
    /// # Errors
    /// [`StoreError`] when the corpus has documents or cannot be written.
    pub fn generate(
        &mut self,
        tokenizer: TokenizerId,
        sources: &[&str],
        folder: &Path,
        block: &mut dyn FnMut(u64, &mut Vec<Option<i64>>) -> usize,
    ) -> Result<(), StoreError> {
        let mut batch = self.begin()?;
        if batch.next_document() != DocId(0) {
            return Err(StoreError::Name(
                "only a corpus without documents is generated".to_owned(),
            ));
        }
        let sources: Vec<SourceId> =
            sources.iter().map(|name| batch.source(name)).collect::<Result<_, _>>()?;
        let standing = system_fields::standing_value(batch.view.generation(), Standing::Kept);
        let kept = batch.term(system_fields::STANDING, &standing)?;
        let mut number = 0;
        let mut tables = Tables { folder, rows: Vec::new(), done: Vec::new() };
        let mut values = Vec::new();
        loop {
            values.clear();
            let of = block(number, &mut values);
            let count = values.len() as u64;
            let Some(source) = sources.get(of).copied().filter(|_| count > 0) else { break };
            let mut slots = RoaringBitmap::new();
            slots.insert_range(0..values.len() as u32);
            let term = batch.term(system_fields::SOURCE, &system_fields::source_value(source))?;
            for term in [kept, term] {
                let key = PostingKey { term, block: BlockNumber(number) };
                batch.put::<Postings>(&key, &bitmap_block::encode(&slots))?;
            }
            let mut stored = NumberBlock::default();
            for (slot, value) in (0_u16..=u16::MAX).zip(&values) {
                stored.set(slot, *value);
            }
            let key = ColumnKey {
                column: system_fields::tokens_of(tokenizer),
                block: BlockNumber(number),
            };
            tables.put(key.to_bytes(), stored.encode())?;
            let record = batch.source_record(source)?;
            record.documents += count;
            record.kept += count;
            batch.count(tokenizer, source, &values)?;
            batch.state.documents += count;
            number += 1;
        }
        let mut all = RoaringTreemap::new();
        all.insert_range(0..batch.state.documents);
        let generation = batch.view.generation();
        batch.set_generation(generation, Arc::new(all));
        tables.ingest(&batch.writer.db)?;
        batch.commit(&CommitRecord::about("generated", ""))?;
        self.flush()
    }
}

impl CommitBatch<'_> {
    fn count(
        &mut self,
        tokenizer: TokenizerId,
        source: SourceId,
        values: &[Option<i64>],
    ) -> Result<(), StoreError> {
        let tokens = values.iter().flatten().fold(0_i64, |sum, value| sum.saturating_add(*value));
        self.count_tokens(tokenizer, source, tokens)
    }
}

/// Sorted rows of the columns, written to tables beside the database and then taken in.
struct Tables<'a> {
    folder: &'a Path,
    rows: Vec<(Vec<u8>, Vec<u8>)>,
    done: Vec<PathBuf>,
}

impl Tables<'_> {
    fn put(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<(), StoreError> {
        self.rows.push((key, value));
        if self.rows.len() < ROWS_IN_TABLE { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> Result<(), StoreError> {
        let path = self.folder.join(format!("generated-{}.sst", self.done.len()));
        let options = tuning::table_options(&Columns::INFO);
        let mut table = SstFileWriter::create(&options);
        table.open(&path)?;
        for (key, value) in self.rows.drain(..) {
            table.put(key, value)?;
        }
        table.finish()?;
        self.done.push(path);
        Ok(())
    }

    fn ingest(mut self, db: &DB) -> Result<(), StoreError> {
        if !self.rows.is_empty() {
            self.write()?;
        }
        let mut options = IngestExternalFileOptions::default();
        options.set_move_files(true);
        if !self.done.is_empty() {
            let family = family_handle::<Columns>(db)?;
            db.ingest_external_file_cf_opts(&family, &options, self.done)?;
        }
        Ok(())
    }
}
