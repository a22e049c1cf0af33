//! Raw shards: headerless token ids, u16 or u32 little-endian by vocabulary, with a segment table.

use super::Options;
use super::bin::Bins;
use std::path::Path;

pub(super) fn create(dir: &Path, options: Options) -> Bins {
    Bins::create(dir, options, None)
}
