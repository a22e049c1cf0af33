//! Rewrites the file of a Unigram model for each library that loads it, so that its ids are the right ones.
//!
//! A Unigram looks for every entry of its vocabulary in the text, the special tokens among them, and they score
//! best; the other models reach a special token's id only where it is recognised as one. Text is only text here,
//! so their entries are given names that no text has.
//!
//! Scores decide between ways to cut a word, often by their last bit. The published library reads numbers by
//! serde_json's shorter way, which misses that bit now and then; this program needs the exact way elsewhere, and a
//! library cannot be built with both. So the reference is given the numbers that the published library makes of the
//! file. The fast engine has the shorter way built in.

use super::write::byte_of_token;
use super::{ModelType, TokenizerFile};
use crate::error::TokenizerError;
use serde_json::Value;
use std::collections::HashMap;

/// The file of a Unigram model, for each of its readers.
pub(crate) struct UnigramVariants {
    /// For the reference.
    pub(crate) whole: Vec<u8>,
    /// For the reference, and special tokens not to be found in text.
    pub(crate) plain: Vec<u8>,
    /// For the fast engine, likewise.
    pub(crate) fast: TokenizerFile,
    /// The id of what no piece spells, which the reference keeps to itself.
    pub(crate) unknown: Option<u32>,
}

/// None of a file with another model, which every reader reads as it is. `bytes`: those of `file`.
pub(crate) fn unigram_variants(
    file: &TokenizerFile,
    bytes: &[u8],
) -> Result<Option<UnigramVariants>, TokenizerError> {
    if file.model_type() != Ok(ModelType::Unigram) {
        return Ok(None);
    }
    let renamed = rename_specials(file, bytes);
    let unknown = file.model().get("unk_id").and_then(Value::as_u64);
    let write = |json: &Value| serde_json::to_vec(json).map_err(TokenizerError::Write);
    Ok(Some(UnigramVariants {
        whole: write(&with_published_scores(file.json().clone()))?,
        plain: write(&with_published_scores(renamed.clone()))?,
        fast: TokenizerFile { json: renamed },
        unknown: unknown.and_then(|id| u32::try_from(id).ok()),
    }))
}

/// Special tokens get spellings that no text has, in the vocabulary and in the list of added tokens. There they must
/// stay: encoders number added tokens that the vocabulary lacks by their place in the list.
fn rename_specials(file: &TokenizerFile, bytes: &[u8]) -> Value {
    let salt = blake3::hash(bytes).to_hex();
    // Byte tokens are what unknown characters fall back to, by their spellings.
    let falls_back = file.model().get("byte_fallback") == Some(&Value::Bool(true));
    let is_byte = |token: &str| falls_back && byte_of_token(token).is_some();
    let specials = file.added_tokens().filter(|token| token.is_special && !is_byte(token.content));
    let names: HashMap<&str, String> = specials
        .zip(0_u32..)
        .map(|(token, at)| (token.content, format!("\u{10FFFF}{salt}{at}\u{10FFFF}")))
        .collect();
    let mut json = file.json().clone();
    let rename = |content: &mut Value| {
        if let Some(name) = content.as_str().and_then(|content| names.get(content)) {
            *content = name.as_str().into();
        }
    };
    vocab(&mut json).into_iter().flatten().filter_map(|entry| entry.get_mut(0)).for_each(rename);
    let added = json.get_mut("added_tokens").and_then(Value::as_array_mut).into_iter().flatten();
    added
        .filter(|token| token.get("special") == Some(&Value::Bool(true)))
        .filter_map(|token| token.get_mut("content"))
        .for_each(rename);
    json
}

fn vocab(file: &mut Value) -> Option<&mut Vec<Value>> {
    file.get_mut("model")?.get_mut("vocab")?.as_array_mut()
}

fn with_published_scores(mut file: Value) -> Value {
    for entry in vocab(&mut file).into_iter().flatten() {
        if let Some(score) = entry.get_mut(1)
            && let Some(published) = published_score(&score.to_string())
        {
            *score = published.into();
        }
    }
    file
}

/// A score as encoders read it from the file that it is written to.
pub(crate) fn score_as_loaded(score: f64) -> f64 {
    published_score(&Value::from(score).to_string()).unwrap_or(score)
}

/// A number as serde_json reads it without its feature `float_roundtrip`: its digits as an integer,
/// rounded, times or over a power of ten, rounded again.
fn published_score(number: &str) -> Option<f64> {
    let (digits, sign) = number.strip_prefix('-').map_or((number, 1.0), |digits| (digits, -1.0));
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let mut exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut significand: u64 = 0;
    let mut is_full = false;
    for (digit, is_fraction) in
        whole.bytes().map(|digit| (digit, false)).chain(fraction.bytes().map(|digit| (digit, true)))
    {
        let digit = u64::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
        let more = significand.checked_mul(10).and_then(|ten| ten.checked_add(digit));
        match more.filter(|_| !is_full) {
            Some(more) => {
                significand = more;
                exponent -= i32::from(is_fraction);
            }
            // Digits that do not fit are dropped; of a whole number they still count as places.
            None => {
                is_full = true;
                exponent += i32::from(!is_fraction);
            }
        }
    }
    // Rounded to the nearest: the first of the two roundings.
    let mut value = significand as f64;
    let power: f64 = format!("1e{}", exponent.unsigned_abs()).parse().ok()?;
    if exponent < 0 {
        value /= power;
    } else {
        value *= power;
    }
    value.is_finite().then_some(sign * value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use tokenizers_fast::pipeline::PipelineModel;

    #[test]
    fn numbers_are_read_as_the_published_library_reads_them() {
        // How far CPython's tokenizers 0.23.3 is off the nearest number, in units of its last place.
        for (literal, off) in [
            ("-8.0", 0),
            ("0.0", 0),
            ("-7", 0),
            ("-1e-7", 0),
            ("-12.5e-3", 0),
            ("-12.025408744812012", 0),
            ("-3.0123284804704786", -1),
            ("-14.825037124029805", -1),
            ("-1.2806287645399461", -1),
            ("-15.164604925736347", 1),
            ("-14.376478481316061", -1),
            ("-12.532965817336079", 1),
        ] {
            let nearest: f64 = literal.parse().expect("is a number");
            let read = published_score(literal).expect("is read");
            let found = i128::from(read.to_bits()) - i128::from(nearest.to_bits());
            assert_eq!(found, off, "{literal}");
        }
        assert_eq!(published_score("1x"), None);
    }

    proptest! {
        /// The fast encoder has the arithmetic taken from serde_json itself.
        #[test]
        fn the_fast_encoder_reads_the_same_numbers(score in -40.0f64..0.0, places in 0usize..19) {
            for literal in [json!(score).to_string(), format!("{score:.places$}")] {
                let file = json!({
                    "version": "2.0", "truncation": null, "padding": null, "added_tokens": [],
                    "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": null,
                    "model": { "type": "Unigram", "unk_id": 0, "byte_fallback": false,
                        "vocab": [["<unk>", 0.0], ["a", "SCORE"]] }
                });
                let file = file.to_string().replace("\"SCORE\"", &literal);
                let fast = tokenizers_fast::from_json(&file).expect("loads");
                let PipelineModel::Unigram(model) = fast.get_model() else { panic!("is a Unigram") };
                prop_assert_eq!(published_score(&literal), Some(model.min_score), "{}", literal);
            }
        }
    }
}
