//! Documents as files: read back by other readers, into another corpus, after a kill, and compared with SQL; on disk
//! and in buckets, where nothing of others is replaced.

mod buckets;
mod destinations;
mod names;
mod partitions;
mod replaced;
mod resumed;
mod round_trip;
mod selection;
