//! Trains a tokenizer on the kept texts.

use super::error::CurateError;
use crate::model::{BLOCK_SIZE, DocId, Progress};
use crate::store::View;
use crate::tokenizer::{BpeTraining, TrainOptions};
use rayon::prelude::*;

/// Documents counted as one piece of parallel work.
const PIECE: usize = 1024;

/// Trains a byte-level BPE on every kept document; answers its `tokenizer.json`. The same corpus
/// gives the same file, for any number of threads.
///
/// # Errors
/// [`CurateError::NothingToTrainOn`], or when a text cannot be read.
pub fn train_bpe(
    view: &View,
    options: &TrainOptions,
    progress: &dyn Progress,
) -> Result<Vec<u8>, CurateError> {
    let kept = view.kept()?;
    if kept.is_empty() {
        return Err(CurateError::NothingToTrainOn);
    }
    progress.begin("counting pre-tokens", Some(kept.len()));
    let mut training = BpeTraining::new(BpeTraining::DEFAULT_LIMIT)?;
    let mut done = 0;
    let mut documents = kept.iter();
    loop {
        // One block's worth at a time keeps the tables of the pieces few.
        let block: Vec<u64> =
            documents.by_ref().take(usize::try_from(BLOCK_SIZE).unwrap_or(PIECE)).collect();
        if block.is_empty() {
            break;
        }
        let counted = block
            .par_chunks(PIECE)
            .map(|piece| {
                let mut part = BpeTraining::new(BpeTraining::DEFAULT_LIMIT)?;
                for document in piece {
                    part.feed(&view.text(DocId(*document))?)?;
                }
                Ok::<_, CurateError>(part)
            })
            .try_reduce_with(|a, b| Ok(a.merge(b)));
        if let Some(counted) = counted {
            training = training.merge(counted?);
        }
        done += block.len() as u64;
        progress.advance(done);
    }
    if training.sampled_one_in() > 1 {
        progress.note(&format!(
            "memory sufficed for one in {} texts: the counts are of a sample",
            training.sampled_one_in()
        ));
    }
    if training.skipped() > 0 {
        progress.note(&format!("{} pre-tokens over 256 bytes were left out", training.skipped()));
    }
    progress.begin("training", None);
    Ok(training.finish(options)?)
}
