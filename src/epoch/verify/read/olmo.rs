//! Checks the lines beside an OLMo token file.

use super::raw::{Beside, expect_end};
use super::{EpochError, FileLayout, ReadRow, ShardReadError, malformed};
use crate::model::IoError;
use flate2::read::GzDecoder;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The lines, one a segment.
pub(super) struct Lines {
    path: PathBuf,
    lines: BufReader<GzDecoder<File>>,
    mask: Option<(PathBuf, BufReader<File>)>,
    tokens: u64,
    layout: FileLayout,
}

impl Lines {
    pub fn open(
        path: &Path,
        mask: Option<&Path>,
        layout: &FileLayout,
    ) -> Result<Self, ShardReadError> {
        let open = |path: &Path| File::open(path).map_err(IoError::of("opening", path));
        let lines = BufReader::new(GzDecoder::new(open(path)?));
        let mask = mask.map(|path| Ok((path.to_path_buf(), BufReader::new(open(path)?))));
        let mask = mask.transpose().map_err(|error: EpochError| ShardReadError::from(error))?;
        Ok(Self { path: path.to_path_buf(), lines, mask, tokens: 0, layout: layout.clone() })
    }

    fn next(&mut self) -> Result<String, ShardReadError> {
        let mut line = Vec::new();
        match self.lines.read_until(b'\n', &mut line) {
            Ok(_) => Ok(String::from_utf8_lossy(&line).into_owned()),
            Err(error) => malformed(&self.path, error),
        }
    }
}

impl Beside for Lines {
    fn check(&mut self, row: &mut ReadRow) -> Result<(), ShardReadError> {
        let source = if row.source.contains(['"', ',', '\r', '\n']) {
            format!("\"{}\"", row.source.replace('"', "\"\""))
        } else {
            row.source.clone()
        };
        let spans = self.layout.spans(row);
        for ((span, document), offset) in spans.iter().zip(&row.doc_ids).zip(&row.doc_offsets) {
            let (start, end) = (self.tokens + span.0 as u64, self.tokens + span.1 as u64);
            let mut expected = format!("{start},{end},{document},{source},{offset}\r\n");
            // A quoted name may hold ends of lines.
            let mut found = String::new();
            while found.len() < expected.len() {
                let line = self.next()?;
                if line.is_empty() {
                    break;
                }
                found.push_str(&line);
            }
            if found != expected {
                expected.truncate(expected.trim_end().len());
                return malformed(&self.path, format!("has no line `{expected}`"));
            }
        }
        self.tokens += row.ids.len() as u64;
        if let Some((path, mask)) = &mut self.mask {
            let mut bytes = Vec::new();
            mask.take(row.ids.len() as u64)
                .read_to_end(&mut bytes)
                .map_err(IoError::of("reading", path))?;
            row.label_mask = Some(bytes);
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), ShardReadError> {
        if let Some((path, mask)) = &mut self.mask {
            expect_end(mask, path)?;
        }
        if self.next()?.is_empty() {
            Ok(())
        } else {
            malformed(&self.path, "has more lines than segments")
        }
    }
}
