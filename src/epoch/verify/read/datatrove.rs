//! Checks the index and the metadata beside a datatrove token file.

use super::raw::{Beside, expect_end};
use super::{EpochError, FileLayout, ReadRow, ShardReadError, malformed, number};
use crate::model::IoError;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// Where the index says that segments end.
pub(super) struct Ends {
    path: PathBuf,
    ends: BufReader<File>,
    tokens: u64,
    metadata: PathBuf,
    /// The first line of the metadata.
    about: String,
    loss: Option<(PathBuf, BufReader<File>)>,
    layout: FileLayout,
}

impl Ends {
    /// Opens what stands beside the token file `tokens`.
    pub fn open(
        tokens: &Path,
        loss: Option<&Path>,
        layout: &FileLayout,
    ) -> Result<Self, ShardReadError> {
        let index = tokens.with_extension("ds.index");
        let file = File::open(&index).map_err(IoError::of("opening", &index))?;
        let loss = loss.map(|path| {
            let file = File::open(path).map_err(IoError::of("opening", path))?;
            Ok::<_, EpochError>((path.to_path_buf(), BufReader::new(file)))
        });
        let loss = loss.transpose()?;
        Ok(Self {
            path: index,
            ends: BufReader::new(file),
            tokens: 0,
            loss,
            layout: layout.clone(),
            metadata: tokens.with_extension("ds.metadata"),
            about: format!("{}|{}", layout.tokenizer, layout.id_bytes),
        })
    }

    /// The next end must be `tokens` further.
    fn expect(&mut self, tokens: u64) -> Result<(), ShardReadError> {
        let mut end = Vec::new();
        (&mut self.ends)
            .take(8)
            .read_to_end(&mut end)
            .map_err(IoError::of("reading", &self.path))?;
        self.tokens = self.tokens.saturating_add(tokens);
        if end.len() != 8 || number(&end) != self.tokens {
            return malformed(&self.path, format!("has no end at token {}", self.tokens));
        }
        Ok(())
    }
}

impl Beside for Ends {
    fn check(&mut self, row: &mut ReadRow) -> Result<(), ShardReadError> {
        let width = row.ids.len();
        let mut at = 0;
        for (start, end) in self.layout.spans(row).into_iter().chain([(width, width)]) {
            let pads = start.saturating_sub(at) as u64;
            if self.layout.pads_apart {
                (0..pads).try_for_each(|_| self.expect(1))?;
            } else if pads > 0 {
                self.expect(pads)?;
            }
            if end > start {
                self.expect((end - start) as u64)?;
            }
            at = end;
        }
        if let Some((path, loss)) = &mut self.loss {
            let mut bytes = Vec::new();
            loss.take(width as u64)
                .read_to_end(&mut bytes)
                .map_err(IoError::of("reading", path))?;
            row.loss = Some(bytes);
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), ShardReadError> {
        expect_end(&mut self.ends, &self.path)?;
        if let Some((path, loss)) = &mut self.loss {
            expect_end(loss, path)?;
        }
        let path = &self.metadata;
        let text = fs::read_to_string(path).map_err(IoError::of("reading", path))?;
        let lines: Vec<&str> = text.split('\n').collect();
        let tokens = self.tokens.to_string();
        // The third line says the second in words.
        match lines.as_slice() {
            [about, count, words]
                if *about == self.about && *count == tokens && words.ends_with('T') =>
            {
                Ok(())
            }
            _ => malformed(path, format!("does not say `{}` and {tokens} tokens", self.about)),
        }
    }
}
