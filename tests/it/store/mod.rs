//! The directory of a corpus: kills, damage, repair, old formats, backups, limits, one writer beside many readers.

mod backups;
mod compaction;
mod corruption;
mod crash;
mod formats;
mod limits;
mod machine;
mod memory;
mod opening;
mod readers;
mod remote_backups;
mod repair;
