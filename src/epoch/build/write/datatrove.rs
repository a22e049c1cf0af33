//! Raw shards as datatrove and nanotron read them: ids, the ends of documents, and a text of totals.
//!
//! `NNNNN_unshuffled.ds`: ids, u16 for vocabularies below 65,536, else u32. `.ds.index`: u64 each, where
//! every segment of a row and every run of pads ends, in tokens of the file. `.ds.metadata`: lines of
//! text. `.ds.loss`, where documents say what is trained: a byte a token, 1 if it is.

use super::bin::{Index, TokenShard};
use super::{Options, Shard, ShardFormat};
use crate::epoch::build::ManifestFile;
use crate::epoch::error::EpochError;
use crate::epoch::fetch::FilledRow;
use crate::epoch::views;
use crate::model::LossSpan;
use crate::output::{HashedFile, write_whole};

struct Datatrove(Options);

pub(super) fn format(options: Options) -> impl ShardFormat {
    Datatrove(options)
}

impl ShardFormat for Datatrove {
    fn weigh(&self, row: &FilledRow) -> u64 {
        self.0.id_bytes(row)
    }

    fn open(&self, number: u32, row: u64) -> Result<Box<dyn Shard>, EpochError> {
        let name = format!("{number:05}_unshuffled.ds");
        let index = Ends {
            ends: HashedFile::create(&self.0.dir, &format!("{name}.index"))?,
            options: self.0.clone(),
            metadata: format!("{name}.metadata"),
            loss_name: format!("{name}.loss"),
            loss: None,
            tokens: 0,
        };
        let segments = format!("{number:05}_unshuffled.segments.parquet");
        TokenShard::create(&self.0, &name, &segments, row, Box::new(index))
    }
}

/// Where segments end.
struct Ends {
    options: Options,
    metadata: String,
    ends: HashedFile,
    loss_name: String,
    loss: Option<HashedFile>,
    tokens: u64,
}

impl Ends {
    /// Appends what is trained of a row.
    fn add_loss(&mut self, row: &FilledRow, trained: &[LossSpan]) -> Result<(), EpochError> {
        let loss = match &mut self.loss {
            Some(loss) => loss,
            None => self.loss.insert(HashedFile::create(&self.options.dir, &self.loss_name)?),
        };
        let mut bytes = vec![0; row.ids.len()];
        for span in trained.iter().filter(|span| span.weight > 0.0) {
            if let Some(inside) = bytes.get_mut(span.start as usize..span.end as usize) {
                inside.fill(1);
            }
        }
        Ok(loss.put(&bytes)?)
    }
}

impl Index for Ends {
    fn add(&mut self, rows: &[FilledRow]) -> Result<(), EpochError> {
        let mut bytes = Vec::new();
        for row in rows {
            // Positions start over with every run.
            for position in views::position_ids(&row.shape) {
                if position == 0 && self.tokens > 0 {
                    bytes.extend(self.tokens.to_le_bytes());
                }
                self.tokens += 1;
            }
            if let Some(trained) = self.options.trained(row) {
                self.add_loss(row, trained)?;
            }
        }
        Ok(self.ends.put(&bytes)?)
    }

    fn finish(self: Box<Self>, tokens: ManifestFile) -> Result<Vec<ManifestFile>, EpochError> {
        let Self { options, metadata, mut ends, loss, tokens: count, .. } = *self;
        ends.put(&count.to_le_bytes())?;
        let text = totals(&options.tokenizer, options.width.bytes(), count);
        let metadata = write_whole(&options.dir, &metadata, text.as_bytes(), tokens.rows)?;
        let ends = ends.finish(tokens.rows)?;
        let loss = loss.map(|loss| loss.finish(tokens.rows)).transpose()?;
        Ok([tokens, ends, metadata].into_iter().chain(loss).collect())
    }
}

/// Tokenizer and bytes of an id, tokens, tokens for people.
fn totals(tokenizer: &str, bytes: usize, tokens: u64) -> String {
    format!("{tokenizer}|{bytes}\n{tokens}\n{}", human(tokens))
}

/// Tokens with three digits and a unit, as humanize's `metric` has it.
fn human(tokens: u64) -> String {
    let mut exponent = tokens.checked_ilog10().unwrap_or(0);
    let scaled = |exponent: u32| tokens as f64 / 10_f64.powi((exponent / 3 * 3).cast_signed());
    let text = |exponent: u32| {
        format!("{:.*}", 2_usize.saturating_sub((exponent % 3) as usize), scaled(exponent))
    };
    // 9.999 is 10.0.
    if text(exponent).split('.').next().map_or(0, str::len) > (exponent % 3) as usize + 1 {
        exponent += 1;
    }
    let unit = ["", "k", "M", "G", "T", "P", "E"].get((exponent / 3) as usize);
    format!("{} {}T", text(exponent), unit.copied().unwrap_or_default())
}
