//! What a format cannot hold, refused before anything is written.

use super::blocks::table_bytes;
use crate::epoch::error::EpochError;
use crate::epoch::plan::Plan;
use crate::epoch::recipe::{Format, Ids, Layout};

/// Largest vocabulary whose ids all fit u16.
const U16_IDS: u32 = 65_536;
/// Bytes that the source, segments and sizes of a row may take besides its ids.
const BESIDE_IDS: u64 = 1 << 16;

/// Whether the output format can hold the rows of `plan`.
///
/// # Errors
/// [`EpochError::Limit`] saying what does not fit and the way out.
pub(in crate::epoch) fn check(plan: &Plan) -> Result<(), EpochError> {
    let output = &plan.recipe.output;
    let vocab = plan.tokenizer.vocab_size;
    let refuse = |why: String, instead: &str| {
        Err(EpochError::Limit { format: output.describe(), why, instead: instead.to_owned() })
    };
    let row_bytes = u64::from(plan.capacity) * 4;
    match (output.format, output.layout()) {
        (Format::Raw, layout @ (Layout::Nanogpt | Layout::LlmC)) => {
            if vocab > U16_IDS {
                return refuse(
                    format!("it has u16 ids, and the vocabulary has {vocab}"),
                    "use output.layout = \"plain\", which has u32 ids for it, or another tokenizer",
                );
            }
            // A row of at most capacity tokens may be all of a shard.
            let tokens = (output.shard_bytes / 2).max(plan.capacity.into());
            if layout == Layout::LlmC && tokens > i32::MAX as u64 {
                return refuse(
                    format!("its header counts tokens in i32, and a shard may have {tokens}"),
                    "lower output.shard_bytes to 4294967294 or less",
                );
            }
        }
        (Format::Mds, _) if output.ids == Some(Ids::U16) && vocab > U16_IDS => {
            return refuse(
                format!("output.ids = \"u16\" is asked for, and the vocabulary has {vocab}"),
                "leave output.ids out, for i32, or use another tokenizer",
            );
        }
        // A segment takes 20 bytes or less of a sample, and a token of it four.
        (Format::Mds, _)
            if output.shard_bytes.max(row_bytes * 6 + BESIDE_IDS) > u32::MAX.into() =>
        {
            return refuse(
                format!(
                    "its offsets are u32, and a shard may have {} bytes",
                    output.shard_bytes.max(row_bytes * 6 + BESIDE_IDS)
                ),
                "lower output.shard_bytes to 4294967295 or less",
            );
        }
        (Format::Litdata, _) => {
            // Beside the ids, a chunk has an offset a row.
            let rows = output.shard_bytes / u64::from(plan.capacity).max(1) + 1;
            let bytes = output.shard_bytes.max(row_bytes) + table_bytes(rows);
            if bytes > u32::MAX.into() {
                return refuse(
                    format!("its offsets are u32, and a chunk may have {bytes} bytes"),
                    "lower output.shard_bytes, to 2147483648 for instance",
                );
            }
        }
        _ => {}
    }
    Ok(())
}
