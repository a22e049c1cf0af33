//! RocksDB options: correctness, which nobody can configure, apart from tuning, with a reason for each.

use crate::database::family::{FamilyInfo, FamilyShape};
use crate::database::merge;
use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, Cache, ColumnFamilyDescriptor, DBCompressionType,
    DBRecoveryMode, DataBlockIndexType, Options, SliceTransform, WriteBufferManager,
};

/// Memory RocksDB may use, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct MemoryBudget {
    /// Block cache, shared by all families.
    pub cache: usize,
    /// Blocks of columns that had to be put together from patches, shared by all views.
    pub pages: usize,
    /// Write buffers, shared by all families.
    pub buffers: usize,
    /// Filter over the band index and runs not folded yet; a writer's only.
    pub bands: usize,
    /// What the layers above keep between commits; a writer's only.
    pub carry_over: usize,
    /// What a query may hold before it spills or is refused; see [`crate::View::query_memory`].
    pub queries: usize,
    /// Text of one commit of a command that goes through stored documents. What is made of it (ids, rows, a write
    /// batch) takes several times as much beside it.
    pub batch: u64,
}

impl MemoryBudget {
    /// Splits a budget: a quarter each to the caches and to queries, an eighth each to write buffers, to the
    /// band index and to what is kept between commits; the rest is for batches and their working memory. Of the
    /// caches an eighth is for blocks of columns.
    #[must_use]
    pub fn within(budget: u64) -> Self {
        let part = |divisor: u64| usize::try_from(budget / divisor).unwrap_or(usize::MAX);
        let caches = part(4).clamp(8 << 20, 1 << 30);
        Self {
            cache: caches - caches / 8,
            pages: caches / 8,
            buffers: part(8).clamp(8 << 20, 256 << 20),
            bands: part(8).clamp(2 << 20, 4 << 30),
            carry_over: part(8),
            queries: part(4).max(16 << 20),
            batch: (budget / 32).clamp(1 << 20, 32 << 20),
        }
    }

    /// Bytes for the filter over the band index: a quarter of the share of the bands is for runs.
    #[must_use]
    pub const fn band_filter(self) -> u64 {
        let bands = self.bands as u64;
        bands - bands / 4
    }

    /// Bytes of the block cache.
    #[must_use]
    pub const fn block_cache(self) -> u64 {
        self.cache as u64
    }

    /// Bytes that a query may hold.
    #[must_use]
    pub const fn query_bytes(self) -> u64 {
        self.queries as u64
    }
}

/// Gives flushes as many threads as compactions: by itself RocksDB gives flushes a quarter of the jobs, and at the end
/// of an ingest families were flushed one after the other.
#[expect(deprecated, reason = "RocksDB's own share is one thread of two")]
fn background_threads(options: &mut Options, threads: i32) {
    options.set_max_background_flushes(threads);
    options.set_max_background_compactions(threads);
}

/// Options of the whole database.
pub(crate) fn database(memory: MemoryBudget, threads: usize) -> Options {
    // What a writer finds in the logs stays there: else each opening would make tables of a few rows. And files are as
    // long as what is in them: else each opening takes 12 MiB ahead for a log and a manifest, which a killed writer
    // leaves and Btrfs never gives back. There is no other way to set either.
    let set = "avoid_flush_during_recovery=true;allow_fallocate=false;";
    let mut options = Options::default();
    options = options.get_options_from_string(set).unwrap_or(options);
    // Correctness.
    // The default mode drops acknowledged commits silently when a byte in the log is bad.
    options.set_wal_recovery_mode(DBRecoveryMode::TolerateCorruptedTailRecords);
    // Recovery can run past the hole that incremental log syncing makes.
    options.set_wal_bytes_per_sync(0);
    options.set_recycle_log_file_num(0);
    options.set_paranoid_checks(true);
    // Tuning.
    let threads = i32::try_from(threads.max(2)).unwrap_or(2);
    background_threads(&mut options, threads);
    options.set_write_buffer_manager(&WriteBufferManager::new_write_buffer_manager(
        memory.buffers,
        false,
    ));
    // Readers replay the log when they open: keep it short.
    options.set_max_total_wal_size(64 << 20);
    // Readers beside a writer hold every file open, so that none vanishes under them.
    options.set_max_open_files(-1);
    // One thread a family opens its tables; the default of 16 each starts hundreds.
    options.set_max_file_opening_threads(1);
    // Spreads the writing of a table over time instead of one burst at its end.
    options.set_bytes_per_sync(1 << 20);
    options.set_keep_log_file_num(4);
    options.set_max_log_file_size(4 << 20);
    options
}

/// One descriptor a family, with the shared cache.
pub(crate) fn families(list: &[FamilyInfo], memory: MemoryBudget) -> Vec<ColumnFamilyDescriptor> {
    described(
        list,
        memory,
        |family, options| {
            if may_be_long(family) { long_rows_apart(options) } else { options }
        },
    )
}

/// The options of [`families`] for readers: without those that decide how tables are written.
pub(crate) fn families_to_read(
    list: &[FamilyInfo],
    memory: MemoryBudget,
) -> Vec<ColumnFamilyDescriptor> {
    described(list, memory, |_, mut options| {
        // These filters are made zero for each family, and nothing is looked up in the log often enough.
        options.set_memtable_prefix_bloom_ratio(0.0);
        options
    })
}

/// The options of [`families`] without compaction: a compaction that meets a damaged block ends all writing.
pub(crate) fn resting_families(
    list: &[FamilyInfo],
    memory: MemoryBudget,
) -> Vec<ColumnFamilyDescriptor> {
    described(list, memory, |_, mut options| {
        options.set_disable_auto_compactions(true);
        options
    })
}

fn described(
    list: &[FamilyInfo],
    memory: MemoryBudget,
    finished: impl Fn(&FamilyInfo, Options) -> Options,
) -> Vec<ColumnFamilyDescriptor> {
    // The lock-free cache: the sharded LRU never admits a filter larger than one shard.
    let cache = Cache::new_hyper_clock_cache(memory.cache, 0);
    // New options come with a cache of 6 MB that nothing uses, and take longer to make than a table to open.
    let plain = Options::default();
    let options = |family| finished(family, family_options(family, &cache, plain.clone()));
    list.iter().map(|family| ColumnFamilyDescriptor::new(family.name, options(family))).collect()
}

/// Options of a table of `family` that is written outside the database.
pub(crate) fn table_options(family: &FamilyInfo) -> Options {
    // Nothing is read, so nothing is cached.
    let cache = Cache::new_lru_cache(1 << 16);
    let options = family_options(family, &cache, Options::default());
    let mut options = if may_be_long(family) { long_rows_apart(options) } else { options };
    // The writer waits for it; a compaction, which does not make it wait, compresses better.
    options.set_bottommost_compression_type(DBCompressionType::Lz4);
    options
}

/// Bytes of the prefix that the filters of a family know beside, or instead of, whole keys.
pub(crate) fn prefix_width(name: &str) -> Option<usize> {
    match name {
        // (generation, band, hash).
        "bands_more" => Some(10),
        // (generation, document).
        "matches" | "members" | "lineage" => Some(12),
        _ => None,
    }
}

/// Whether a family holds rows that may be longer than a block.
const fn may_be_long(family: &FamilyInfo) -> bool {
    matches!(
        family.shape,
        FamilyShape::Dense | FamilyShape::DensePacked | FamilyShape::Pages | FamilyShape::Hashed
    )
}

fn family_options(family: &FamilyInfo, cache: &Cache, mut options: Options) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(cache);
    table.set_format_version(6);
    // Filters and indexes live in the cache too: memory must not grow with the corpus.
    table.set_cache_index_and_filter_blocks(true);
    table.set_pin_l0_filter_and_index_blocks_in_cache(true);
    options.set_level_compaction_dynamic_level_bytes(true);
    options.set_compression_type(DBCompressionType::Lz4);
    match family.shape {
        FamilyShape::Small => table.set_block_size(4 << 10),
        FamilyShape::Dense => {
            table.set_block_size(16 << 10);
            // Headers and metadata repeat themselves; the bottom level is most of them.
            options.set_bottommost_compression_type(DBCompressionType::Zstd);
        }
        FamilyShape::DensePacked => {
            // The values are compressed or random already; compressing again costs and gains nothing.
            options.set_compression_type(DBCompressionType::None);
            table.set_block_size(32 << 10);
            if family.name == "band_runs" {
                // Runs are deleted soon after they are written: meet the deletions early.
                options.set_level_zero_file_num_compaction_trigger(2);
            }
        }
        FamilyShape::Pages => {
            options.set_compression_type(DBCompressionType::None);
            // A page has a block of its own. What a purge rewrites is tables: small ones, and a table written in order
            // is never split, so that a write buffer is no larger.
            table.set_block_size(4 << 10);
            options.set_write_buffer_size(4 << 20);
            options.set_target_file_size_base(4 << 20);
        }
        FamilyShape::Hashed => {
            // Most look-ups miss: a whole-key filter answers them without a block.
            table.set_bloom_filter(12.0, false);
            partition(&mut table);
            table.set_block_size(4 << 10);
            table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
        }
        FamilyShape::Buckets => {
            // Half of what dedup stores of a document. Against the options of `Hashed`, 10.3 bytes a row
            // and not 14.4: no hash index in blocks, larger ones, two filter bits less, and zstd, which
            // finds in neighbouring rows what is the same.
            table.set_bloom_filter(10.0, false);
            partition(&mut table);
            table.set_block_size(8 << 10);
            options.set_bottommost_compression_type(DBCompressionType::Zstd);
        }
        FamilyShape::Ranged => {
            table.set_block_size(8 << 10);
            // Asked for under (generation, ...) prefixes that are mostly absent.
            table.set_bloom_filter(10.0, false);
            partition(&mut table);
            if let Some(width) = prefix_width(family.name) {
                options.set_prefix_extractor(SliceTransform::create_fixed_prefix(width));
                // No whole key is ever asked for.
                table.set_whole_key_filtering(false);
            }
            // The filter is as long as this says from the first row on, and is made zero when a writer opens: of the
            // 64 MiB that families have otherwise it took 16 ms.
            options.set_write_buffer_size(8 << 20);
            options.set_memtable_prefix_bloom_ratio(0.1);
        }
        FamilyShape::Bitmaps => {
            options.set_merge_operator("bitmaps.v1", merge::bitmaps_full, merge::bitmaps_partial);
            // A bitmap that every small commit changes and reads: reading it must not merge them all again.
            options.set_max_successive_merges(16);
            table.set_block_size(16 << 10);
        }
        FamilyShape::Numbers => {
            options.set_merge_operator("numbers.v1", merge::numbers_full, merge::numbers_partial);
            table.set_block_size(64 << 10);
        }
    }
    options.set_block_based_table_factory(&table);
    options
}

/// A row that is longer than a block gets one of its own. Left alone, RocksDB ends a block behind the row that
/// fills it: a text of 60 MB shared one with the hundred short texts before it, and each of these was
/// read by reading all of it.
fn long_rows_apart(mut options: Options) -> Options {
    // The share of a block, in percent, by which a block may stay behind its size. There is no other way to set it.
    let apart = "block_based_table_factory={block_size_deviation=99;}";
    options.get_options_from_string(apart).unwrap_or(options)
}

/// A filter of a large table is megabytes: in parts, a look-up needs one of them.
fn partition(table: &mut BlockBasedOptions) {
    table.set_partition_filters(true);
    table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    table.set_pin_top_level_index_and_filter(true);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::FAMILIES;
    use rocksdb::DB;
    use rocksdb::perf::{PerfContext, PerfMetric, PerfStatsLevel, set_perf_stats};

    /// A block ended behind the long row that filled it: each of the short rows before it was read with it.
    #[test]
    fn rows_beside_a_long_one_are_read_without_it() {
        const LONG: usize = 4 << 20;
        let directory = tempfile::tempdir().unwrap();
        let memory = MemoryBudget::within(8 << 20);
        let mut options = database(memory, 2);
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        let db = DB::open_cf_descriptors(&options, directory.path(), families(FAMILIES, memory))
            .unwrap();
        for name in ["text_pages", "tokens", "rejects"] {
            let family = db.cf_handle(name).unwrap();
            for number in 0..200_u32 {
                let row = vec![1; if number == 150 { LONG } else { 100 }];
                db.put_cf(&family, format!("{number:03}"), row).unwrap();
            }
            db.flush_cf(&family).unwrap();
            set_perf_stats(PerfStatsLevel::EnableCount);
            let mut counters = PerfContext::default();
            counters.reset();
            for number in (0..200_u32).filter(|number| *number != 150) {
                assert!(db.get_pinned_cf(&family, format!("{number:03}")).unwrap().is_some());
            }
            let read = counters.metric(PerfMetric::BlockReadByte);
            set_perf_stats(PerfStatsLevel::Disable);
            assert!(read > 0 && read < 1 << 20, "{read} bytes of {name} were read");
        }
    }

    /// Filters over what is not in tables yet were 26 MB of zeros at each opening, also of readers.
    #[test]
    fn an_opened_database_holds_little_before_it_is_written_to() {
        let directory = tempfile::tempdir().unwrap();
        let memory = MemoryBudget::within(8 << 20);
        let mut options = database(memory, 2);
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        let held = |db: &DB| -> u64 {
            let sizes = FAMILIES.iter().map(|family| {
                let family = db.cf_handle(family.name).unwrap();
                let size = db.property_int_value_cf(&family, "rocksdb.cur-size-all-mem-tables");
                size.unwrap().unwrap()
            });
            sizes.sum()
        };
        let db = DB::open_cf_descriptors(&options, directory.path(), families(FAMILIES, memory))
            .unwrap();
        assert!(held(&db) < 5 << 20, "a writer holds {} bytes", held(&db));
        drop(db);
        let families = families_to_read(FAMILIES, memory);
        let path = directory.path();
        let db = DB::open_cf_descriptors_read_only(&options, path, families, false).unwrap();
        assert!(held(&db) < 256 << 10, "a reader holds {} bytes", held(&db));
    }
}
