//! Raw shards as OLMo-core and dolma read them: `part-0-NNNNN.npy`, which holds bare ids and no NPY
//! header, and `part-0-NNNNN.csv.gz` with a line a segment: start, end, id, src, loc.
//!
//! Where documents say what is trained on, `label-mask-0-NNNNN.npy` has a byte a token beside it, 1 where the
//! label counts: OLMo-core's `label_mask_paths`. Its name begins otherwise, so that no pattern for the ids finds it.
//!
//! Start and end count tokens of the file; id is the document, src the source, loc where in the
//! document's effective sequence the segment begins. Pads are in no line.

use super::bin::{Index, TokenShard};
use super::{Options, Shard, ShardFormat};
use crate::epoch::build::ManifestFile;
use crate::epoch::error::EpochError;
use crate::epoch::fetch::FilledRow;
use crate::epoch::views;
use crate::epoch::views::Normalise;
use crate::model::IoError;
use crate::output::HashedFile;
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

struct Olmo(Options);

pub(super) fn format(options: Options) -> impl ShardFormat {
    Olmo(options)
}

impl ShardFormat for Olmo {
    fn weigh(&self, row: &FilledRow) -> u64 {
        self.0.id_bytes(row)
    }

    fn open(&self, number: u32, row: u64) -> Result<Box<dyn Shard>, EpochError> {
        let part = format!("part-0-{number:05}");
        let file = HashedFile::create(&self.0.dir, &format!("{part}.csv.gz"))?;
        let path = file.path().to_path_buf();
        // No name and no clock in the header.
        let lines = GzBuilder::new().write(file, Compression::default());
        let mask = format!("label-mask-0-{number:05}.npy");
        let masked = self.0.said && !self.0.ignore_loss;
        let mask = masked.then(|| HashedFile::create(&self.0.dir, &mask)).transpose()?;
        let index = Lines { options: self.0.clone(), path, lines, mask, tokens: 0 };
        let (tokens, segments) = (format!("{part}.npy"), format!("{part}.segments.parquet"));
        TokenShard::create(&self.0, &tokens, &segments, row, Box::new(index))
    }
}

/// A line a segment.
struct Lines {
    options: Options,
    path: PathBuf,
    lines: GzEncoder<HashedFile>,
    mask: Option<HashedFile>,
    tokens: u64,
}

impl Index for Lines {
    fn add(&mut self, rows: &[FilledRow]) -> Result<(), EpochError> {
        let mut text = String::new();
        for row in rows {
            let source = field(self.options.source(row));
            for (segment, span) in row.segments.iter().zip(&row.shape.spans) {
                let start = self.tokens + u64::from(span.start);
                let end = start + u64::from(segment.length);
                // Writing to a string cannot fail.
                let _ = write!(
                    text,
                    "{start},{end},{},{source},{}\r\n",
                    segment.document, segment.offset
                );
            }
            self.tokens += row.ids.len() as u64;
            if let Some(mask) = &mut self.mask {
                let weights =
                    views::loss_weights(&row.shape, self.options.trained(row), Normalise::Tokens);
                let bytes: Vec<u8> = weights.iter().map(|weight| u8::from(*weight > 0.0)).collect();
                mask.put(&bytes)?;
            }
        }
        Ok(self.lines.write_all(text.as_bytes()).map_err(IoError::of("writing", &self.path))?)
    }

    fn finish(self: Box<Self>, tokens: ManifestFile) -> Result<Vec<ManifestFile>, EpochError> {
        let file = self.lines.finish().map_err(IoError::of("writing", &self.path))?;
        let lines = file.finish(tokens.rows)?;
        let mask = self.mask.map(|mask| mask.finish(tokens.rows)).transpose()?;
        Ok([tokens, lines].into_iter().chain(mask).collect())
    }
}

/// A field of a CSV line, quoted where it must be.
fn field(text: &str) -> String {
    if text.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
