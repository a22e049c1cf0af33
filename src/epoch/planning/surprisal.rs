//! Mean surprisal of documents: how rare their tokens are among those of their source.
//!
//! The bits a token costs on average under the unigram distribution of the selected documents, counted without
//! smoothing, since every token of a document is among those counted: the perplexity of the simplest language model,
//! with 2^surprisal as its perplexity.

use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::lengths::{blocks_of, slots};
use crate::model::{DocId, TokenizerId};
use rayon::prelude::*;
use roaring::RoaringTreemap;

/// Calls `each` with the mean surprisal, in bits, of every document of `selection`, ascending.
///
/// # Errors
/// [`EpochError::Store`].
pub(super) fn surprisals(
    corpora: &Corpora,
    tokenizer: TokenizerId,
    selection: &RoaringTreemap,
    each: &mut dyn FnMut(u64, Option<f64>),
) -> Result<(), EpochError> {
    let blocks = blocks_of(selection);
    let counts = blocks
        .par_iter()
        .map(|(block, _)| {
            let mut counts: Vec<u64> = Vec::new();
            for_each(corpora, tokenizer, selection, *block, |_, ids| {
                for id in ids {
                    let id = *id as usize;
                    if counts.len() <= id {
                        counts.resize(id + 1, 0);
                    }
                    if let Some(count) = counts.get_mut(id) {
                        *count += 1;
                    }
                }
            })?;
            Ok::<_, EpochError>(counts)
        })
        .try_reduce(Vec::new, |a, b| Ok(sum(a, b)))?;
    let whole: u64 = counts.iter().sum();
    let bits: Vec<f64> = counts
        .iter()
        .map(|count| if *count == 0 { 0.0 } else { (whole as f64 / *count as f64).log2() })
        .collect();
    for blocks in blocks.chunks(BLOCKS_AT_ONCE) {
        let found: Vec<Vec<(u64, Option<f64>)>> = blocks
            .par_iter()
            .map(|(block, _)| {
                let mut found = Vec::new();
                for_each(corpora, tokenizer, selection, *block, |document, ids| {
                    let sum: f64 = ids.iter().filter_map(|id| bits.get(*id as usize)).sum();
                    let mean = (!ids.is_empty()).then(|| sum / ids.len() as f64);
                    found.push((document.0, mean));
                })?;
                Ok(found)
            })
            .collect::<Result<_, EpochError>>()?;
        for (id, value) in found.into_iter().flatten() {
            each(id, value);
        }
    }
    Ok(())
}

/// Blocks whose values are held at a time: 1 MiB each.
const BLOCKS_AT_ONCE: usize = 64;

fn sum(mut a: Vec<u64>, mut b: Vec<u64>) -> Vec<u64> {
    if a.len() < b.len() {
        std::mem::swap(&mut a, &mut b);
    }
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
    a
}

fn for_each(
    corpora: &Corpora,
    tokenizer: TokenizerId,
    selection: &RoaringTreemap,
    block: u64,
    mut each: impl FnMut(DocId, &[u32]),
) -> Result<(), EpochError> {
    let documents: Vec<DocId> =
        slots(selection, block).map(|slot| DocId::at(block, slot)).collect();
    let mut ids = Vec::new();
    corpora.for_each_tokens(tokenizer, &documents, |document, stored| {
        if let Some(stored) = stored {
            ids.clear();
            stored.append(&mut ids);
            each(document, &ids);
        }
        Ok(())
    })
}
