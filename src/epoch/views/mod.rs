//! What a trainer reads beside the ids: every view of a row, from its segment lengths alone.
//!
//! Boundaries are data. A [`RowShape`] says where the segments of a row lie; everything else follows from
//! it by pure functions, and none looks for an EOS. Pads may stand before, between and after segments.
//!
//! * [`cu_seqlens`] and others: `cu_seqlens`, `max_seqlen`, document lengths, starts.
//! * [`position_ids`] and others: position ids, segment ids, the block-causal mask.
//! * [`labels`] and others: labels, loss mask, loss weights.
//! * [`unpad()`]: any 0/1 mask to the tokens it keeps, and back.
//! * [`collate()`]: rows padded to the longest of them; [`unpad_batch()`]: the same without their pads.
//! * [`flatten()`]: the batch that `DataCollatorWithFlattening` makes.
//!
//! `append` fills tensors of many rows with views of tokens, in one pass; `placed` makes rows as they stand in a batch.
//!
//! ```
//! use corpusdb::epoch::views::{RowShape, cu_seqlens, labels, position_ids};
//!
//! let shape = RowShape::packed([3, 2], 6);
//! assert_eq!(cu_seqlens(&shape), [0, 3, 5]);
//! assert_eq!(position_ids(&shape), [0, 1, 2, 0, 1, 0]);
//! assert_eq!(labels(&shape, &[11, 12, 13, 21, 22, 9], None), [-100, 12, 13, -100, 22, -100]);
//! ```

mod append;
mod collate;
mod loss;
mod placed;
mod shape;
mod tokens;

#[cfg(test)]
mod tests;

pub use crate::epoch::recipe::PadSide;
use crate::epoch::recipe::PadView;
pub use append::IGNORED;
pub(in crate::epoch) use append::{
    TensorElement, append_labels, append_loss, append_run_ends, append_runs,
};
pub use collate::{
    FlatBatch, PackedRow, PaddedBatch, UnpadIndex, UnpaddedBatch, collate, flatten, unpad,
    unpad_batch,
};
pub use loss::{
    LossWeighting, labels, loss_mask, loss_weights, shifted_labels, shifted_loss_weights,
};
pub use model::LossSpan;
pub(in crate::epoch) use placed::{PlacedRow, end_to_end, indices, widened};
pub use shape::{RowShape, Span, ViewError};
pub use tokens::{
    attention_mask, batch_block_causal_mask, batch_cu_seqlens, batch_cu_seqlens_padded,
    batch_doc_lens, block_causal_mask, cu_seqlens, cu_seqlens_padded, doc_lens, document_id,
    max_seqlen, position_ids, segment_ids, seq_idx, seq_start_id,
};
pub(in crate::epoch) use tokens::{segment_index, segment_number};
