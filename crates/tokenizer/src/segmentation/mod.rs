//! Other segmentations of a text than the one that is encoded: the best ones of a Unigram with their probabilities, the
//! entropy of all, and draws: of a Unigram by probability, of a BPE with merges dropped.
//!
//! The model sees words (`unigram`); a SentencePiece model sees the normalised text as one. A Unigram's lattice is that
//! of SentencePiece: all pieces at all places, and unknown characters where no piece is a character long. `best` has
//! the best segmentations and the entropy, `draw` the draws. Added tokens go past the model and are in every
//! segmentation; a draw keeps the user symbols of the best one whole, too.

mod best;
mod draw;
#[cfg(test)]
mod tests;
mod unigram;

pub use best::{BestSegmentations, MOST_SEGMENTATIONS, ScoredSegmentation};
pub use draw::Segmentation;
