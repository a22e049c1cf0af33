//! The directory of a corpus: kills, damage, repair, old formats, backups, limits, one writer beside many readers.

mod backups;
mod corruption;
mod crash;
mod formats;
mod limits;
mod opening;
mod remote_backups;
mod repair;
