//! Makes texts that the user named tokens of a WordPiece or a Unigram, such that encoding finds them.

use super::super::error::TokenizerError;
use super::super::split::PretokenSplitter;
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};

/// By how much a named token is likelier than the best way around it.
const MARGIN: f64 = 0.001;

/// The symbols of each named text, sorted by length: it has to be one pre-token.
pub(super) fn symbols(
    seeds: &[String],
    splitter: &mut PretokenSplitter,
) -> Result<Vec<String>, TokenizerError> {
    let mut found = BTreeSet::new();
    for seed in seeds {
        let mut pieces: Vec<String> = Vec::new();
        splitter.split(seed, |piece| pieces.push(piece.to_owned()))?;
        let fail = |what| Err(TokenizerError::SeedToken { token: seed.clone(), what });
        match pieces.as_slice() {
            [] => return fail("is empty"),
            [piece] => found.insert((piece.chars().count(), piece.clone())),
            _ => return fail("is split before the model sees it, so it cannot be one token"),
        };
    }
    Ok(found.into_iter().map(|(_, piece)| piece).collect())
}

/// Puts them at the end of a WordPiece's vocabulary, in the place of the last pieces learned. A word
/// is matched from the longest piece down, so they are found.
pub(super) fn into_wordpiece(
    vocab: Map<String, Value>,
    seeds: &[String],
    fixed: usize,
    limit: usize,
) -> Result<Map<String, Value>, TokenizerError> {
    let new: Vec<&String> = seeds.iter().filter(|seed| !vocab.contains_key(*seed)).collect();
    let room = limit.saturating_sub(new.len());
    if room < fixed {
        return Err(no_room(seeds, limit));
    }
    let mut over = vocab.len().saturating_sub(room);
    let tokens: Vec<String> = vocab.into_iter().map(|(token, _)| token).collect();
    let mut kept: Vec<String> = Vec::with_capacity(limit);
    // From the last learned on, but for those that are asked for.
    for (place, token) in tokens.into_iter().enumerate().rev() {
        if over > 0 && place >= fixed && !seeds.contains(&token) {
            over -= 1;
        } else {
            kept.push(token);
        }
    }
    kept.reverse();
    kept.extend(new.into_iter().cloned());
    Ok(kept.into_iter().zip((0_u32..).map(Value::from)).collect())
}

/// Puts them among the pieces of a Unigram, scored just above the best other segmentation, in the
/// place of the pieces of the least score. `fixed` special pieces stand first.
pub(super) fn into_unigram(
    mut pieces: Vec<(String, f64)>,
    seeds: &[String],
    fixed: usize,
    limit: usize,
) -> Result<Vec<(String, f64)>, TokenizerError> {
    let mut learned = pieces.split_off(fixed.min(pieces.len()));
    let is_seed: BTreeSet<&String> = seeds.iter().collect();
    let new = seeds.len() - learned.iter().filter(|(piece, _)| is_seed.contains(piece)).count();
    let mut over = (pieces.len() + learned.len() + new).saturating_sub(limit);
    let mut kept = Vec::with_capacity(learned.len());
    while let Some((piece, score)) = learned.pop() {
        if over > 0 && piece.chars().nth(1).is_some() && !is_seed.contains(&piece) {
            over -= 1;
        } else {
            kept.push((piece, score));
        }
    }
    if over > 0 {
        return Err(no_room(seeds, limit));
    }
    let mut scores: HashMap<String, f64> = kept.into_iter().collect();
    // Shorter ones first: a longer one has to beat them.
    for seed in seeds {
        let own = scores.remove(seed).unwrap_or(f64::NEG_INFINITY);
        let other = best(seed, &scores);
        scores.insert(seed.clone(), own.max(other + MARGIN));
    }
    let mut learned: Vec<(String, f64)> = scores.into_iter().collect();
    learned.sort_unstable_by(|(a, score_a), (b, score_b)| {
        score_b.total_cmp(score_a).then_with(|| a.cmp(b))
    });
    pieces.extend(learned);
    Ok(pieces)
}

/// The score of the likeliest segmentation; every character is a piece.
fn best(word: &str, scores: &HashMap<String, f64>) -> f64 {
    let mut ends: Vec<usize> = word.char_indices().map(|(at, _)| at).collect();
    ends.push(word.len());
    let mut reached: Vec<f64> = vec![0.0];
    for (count, end) in ends.iter().enumerate().skip(1) {
        let parts = ends.iter().zip(&reached).take(count);
        let found = parts.filter_map(|(start, score)| {
            word.get(*start..*end).and_then(|piece| scores.get(piece)).map(|own| score + own)
        });
        reached.push(found.fold(f64::NEG_INFINITY, f64::max));
    }
    reached.last().copied().unwrap_or(0.0)
}

fn no_room(seeds: &[String], limit: usize) -> TokenizerError {
    let what = format!("{} seed tokens do not fit a vocabulary of {limit}", seeds.len());
    TokenizerError::TrainOptions(what)
}
