//! Documents as files: read back by other readers, into another corpus, after a kill, and compared with SQL.

mod destinations;
mod names;
mod partitions;
mod resumed;
mod round_trip;
mod selection;
