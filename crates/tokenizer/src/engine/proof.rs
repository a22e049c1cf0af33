//! Compares the fast engine with the reference before it is trusted ([`prove`]), and the library with SentencePiece.
//!
//! Encoders are asked for the ids of hostile texts, and by [`prove`] also for those of a sample of the corpus.

use super::hostile_texts::{hostile_texts, long_texts};
use super::pipeline::{DeclineReason, PipelineEngine, PipelineScratch};
use super::reference::LibraryReference;
use crate::sentencepiece::{SentencePiece, SentencePieceScratch};
use crate::vocabulary::Vocabulary;
use model::invariant::{at, text_part};
use rayon::prelude::*;

/// Bytes of the caller's sample that are compared: half a second of the reference.
const SAMPLE_BYTES: usize = 2 << 20;

/// Added tokens that are tried at most: vocabularies reserve hundreds, all alike.
const MOST_ADDED: usize = 64;

/// Compares both encoders; on a difference says on what: the first of the texts, in their order.
pub(crate) fn prove(
    fast: &PipelineEngine,
    reference: &LibraryReference,
    vocabulary: &Vocabulary,
    sample: &[&str],
) -> Result<(), String> {
    let sample = cut_sample(sample, SAMPLE_BYTES).take_while(|text| !text.is_empty());
    let texts: Vec<String> = hostile_texts()
        .into_iter()
        .chain(added_token_texts(vocabulary))
        .chain(sample)
        .chain(long_texts())
        .collect();
    let difference = texts
        .par_iter()
        .map_init(
            || (PipelineScratch::default(), Vec::new(), Vec::new()),
            |(scratch, ours, theirs), text| {
                ours.clear();
                theirs.clear();
                let fast_result = fast.encode(text, scratch, ours);
                match (fast_result, reference.encode(text, theirs)) {
                    (Ok(()), Ok(())) if ours == theirs => None,
                    // A text both refuse is not a difference: encoding falls back and fails alike.
                    (Err(_), Err(_)) => None,
                    // The fast engine leaves these texts to the reference anyway.
                    (Err(DeclineReason::NewCharacters), Ok(())) => None,
                    (Err(why), Ok(())) => {
                        Some(format!("the fast encoder fails on {}: {why}", excerpt(text)))
                    }
                    _ => Some(format!("the fast encoder gives other ids on {}", excerpt(text))),
                }
            },
        )
        .find_first(Option::is_some)
        .flatten();
    difference.map_or(Ok(()), Err)
}

/// A text for which SentencePiece and the library have other ids; none of an encoder that refuses it.
pub(crate) struct IdDifference {
    /// Which of the texts.
    pub(crate) at: usize,
    pub(crate) text: String,
    pub(crate) library: Vec<u32>,
    pub(crate) sentencepiece: Vec<u32>,
}

/// The first of `texts` for which the library gives other ids than SentencePiece, by a `tokenizer.json` that should be
/// equal to a `.model`. A text that both refuse is no difference.
pub(crate) fn difference_from_sentencepiece(
    library: &LibraryReference,
    model: &SentencePiece,
    texts: &[String],
) -> Option<IdDifference> {
    let differs = texts.par_iter().enumerate().map_init(
        SentencePieceScratch::default,
        |scratch, (at, text)| {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            let is_same =
                match (library.encode(text, &mut ours), model.encode(text, scratch, &mut theirs)) {
                    (Ok(()), Ok(())) => ours == theirs,
                    (library, model) => library.is_err() == model.is_err(),
                };
            (!is_same).then(|| IdDifference {
                at,
                text: text.clone(),
                library: ours,
                sentencepiece: theirs,
            })
        },
    );
    differs.find_first(Option::is_some).flatten()
}

/// The added tokens of this tokenizer as text has them: alone, glued to words, cut, one behind the other.
fn added_token_texts(vocabulary: &Vocabulary) -> Vec<String> {
    let tokens: Vec<&str> =
        vocabulary.added().map(|(_, token, _)| token).take(MOST_ADDED).collect();
    let mut texts = Vec::new();
    for token in &tokens {
        let cut = text_prefix(token, token.len().saturating_sub(1));
        texts.push((*token).to_owned());
        texts.push(format!("a{token}b {token} \n{token}\n{token}é{token}語 {cut} {cut}{token}"));
    }
    texts.push(tokens.concat());
    texts
}

/// Compares both encoders as [`prove`] does, where special tokens in the text are special: around, between and inside
/// them.
pub(crate) fn prove_with_specials(
    fast: &PipelineEngine,
    reference: &LibraryReference,
    vocabulary: &Vocabulary,
) -> Result<(), String> {
    let specials: Vec<&str> =
        vocabulary.specials().take(MOST_ADDED).map(|(_, special)| special).collect();
    let mut texts = hostile_texts();
    for (place, special) in specials.iter().enumerate() {
        let next = *at(&specials, (place + 1) % specials.len());
        let cut = text_prefix(special, special.len().saturating_sub(1));
        texts.push(format!(
            "a{special}b {special} \n{special}\n{special}{next}é{special}語{special}"
        ));
        texts.push(format!("{cut} {cut}{special}{cut}{next}  {special}  user\nHi!\t{special}'s"));
    }
    if let Some(special) = specials.first() {
        texts.push(hostile_texts().join(special));
    }
    let mut scratch = PipelineScratch::default();
    for text in texts {
        let mut ours = Vec::new();
        let fast_result = fast.encode_special(&text, &mut scratch, &mut ours);
        match (fast_result, reference.encode_placed(&text, true, None)) {
            (Ok(()), Ok((theirs, _))) if ours == theirs => {}
            (Err(_), Err(_)) => {}
            (Err(DeclineReason::NewCharacters), Ok(_)) => {}
            _ => return Err(format!("the fast encoder differs on {}", excerpt(&text))),
        }
    }
    Ok(())
}

/// The texts of a sample, cut to `limit` bytes together: texts behind the limit are empty.
pub(crate) fn cut_sample(sample: &[&str], limit: usize) -> impl Iterator<Item = String> {
    let mut left = limit;
    sample.iter().map(move |text| {
        let text = text_prefix(text, left);
        left -= text.len();
        text.to_owned()
    })
}

pub(crate) fn text_prefix(text: &str, limit: usize) -> &str {
    text_part(text, ..text.floor_char_boundary(limit))
}

pub(crate) fn excerpt(text: &str) -> String {
    let head = text_prefix(text, 40);
    format!("`{}`{}", head.escape_debug(), if head.len() < text.len() { ".." } else { "" })
}

#[cfg(test)]
#[path = "proof_tests.rs"]
mod tests;
