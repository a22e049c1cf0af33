//! The parts of a `tokenizer.json` around the trained model, and the check of training options.
//!
//! They are normalizer, pre-tokenizer and decoder.

use super::options::{DigitSplit, MergeScore, ModelKind, ModelLayout, TrainOptions, UnicodeForm};
use crate::engine::splitter::PretokenSplitter;
use crate::error::TokenizerError;
use crate::file::SPACE_MARKER;
use crate::file::pattern::{CL100K, PretokenPattern, QWEN2};
use crate::file::write::{FileParts, byte_level, sequence, split};
use serde_json::{Value, json};
use std::collections::HashSet;

/// What marks the end of a word, where it is marked.
pub(super) const END: &str = "</w>";

/// The bytes of a `tokenizer.json` that normalises and splits as the trained one will. Its model is
/// an empty BPE.
///
/// # Errors
/// [`TokenizerError::Pattern`] for an unknown name.
pub fn pretokenizer_file(options: &TrainOptions) -> Result<Vec<u8>, TokenizerError> {
    let model = json!({ "type": "BPE", "vocab": {}, "merges": [] });
    FileParts { model, ..layout_parts(options)? }.into_json()
}

/// All but the model and the added tokens.
///
/// * byte-level BPE: GPT-2's and Llama 3's published form.
/// * BPE with marked ends of words: split at white space, nothing else.
/// * WordPiece: BERT's.
/// * BPE on characters, Unigram: Llama's. Spaces become `▁` and one is put first, so that decoding can
///   take one away whatever the text begins with; line breaks stand alone, and a word begins at its
///   `▁`. This is Metaspace's split, in steps that the fast encoder reads too.
pub(super) fn layout_parts(options: &TrainOptions) -> Result<FileParts, TokenizerError> {
    let normal = match options.normalizer {
        UnicodeForm::Nfc => Some(json!({ "type": "NFC" })),
        UnicodeForm::Nfkc => Some(json!({ "type": "NFKC" })),
        UnicodeForm::None => None,
    };
    let (mut normalizers, mut splits): (Vec<Value>, Vec<Value>) = (Vec::from_iter(normal), vec![]);
    let decoder = match options.layout() {
        ModelLayout::ByteLevel => {
            let named_gpt2 = PretokenPattern::default();
            let pattern = options.pattern.as_ref().unwrap_or(&named_gpt2);
            let regex = with_digits(pattern, options.digits, &mut splits)?;
            if regex == named_gpt2.regex()? {
                splits.push(byte_level(true));
            } else {
                splits.push(isolated(json!({ "Regex": regex })));
                splits.push(byte_level(false));
            }
            byte_level(true)
        }
        ModelLayout::WordPiece => {
            normalizers.push(json!({ "type": "BertNormalizer", "clean_text": true,
                "handle_chinese_chars": true, "strip_accents": false, "lowercase": false }));
            splits.extend(digits_step(options.digits));
            splits.push(json!({ "type": "BertPreTokenizer" }));
            json!({ "type": "WordPiece", "prefix": "##", "cleanup": true })
        }
        ModelLayout::WordEnds => {
            splits.push(json!({ "type": "WhitespaceSplit" }));
            splits.extend(digits_step(options.digits));
            json!({ "type": "BPEDecoder", "suffix": END })
        }
        ModelLayout::Characters | ModelLayout::Unigram => {
            normalizers.push(json!({ "type": "Prepend", "prepend": SPACE_MARKER }));
            normalizers.push(
                json!({ "type": "Replace", "pattern": { "String": " " }, "content": SPACE_MARKER }),
            );
            splits.extend(digits_step(options.digits));
            splits.push(isolated(json!({ "String": "\n" })));
            splits.push(json!({ "type": "Split", "pattern": { "String": SPACE_MARKER },
                "behavior": "MergedWithNext", "invert": false }));
            let mut steps = vec![
                json!({ "type": "Replace", "pattern": { "String": SPACE_MARKER }, "content": " " }),
            ];
            steps.extend(options.byte_fallback.then(|| json!({ "type": "ByteFallback" })));
            steps.push(json!({ "type": "Fuse" }));
            steps.push(json!({ "type": "Strip", "content": " ", "start": 1, "stop": 0 }));
            json!({ "type": "Sequence", "decoders": steps })
        }
    };
    Ok(FileParts {
        added_tokens: Vec::new(),
        normalizer: sequence("normalizers", normalizers),
        pre_tokenizer: sequence("pretokenizers", splits),
        decoder,
        model: Value::Null,
    })
}

/// The pattern that splits digits as asked. Published patterns differ in their rule for numbers alone,
/// so it is that rule where a variant is published, else a step before the pattern; `ByteLevel` comes
/// last, since it hides the digits of other scripts.
fn with_digits(
    pattern: &PretokenPattern,
    digits: DigitSplit,
    steps: &mut Vec<Value>,
) -> Result<String, TokenizerError> {
    let regex = pattern.regex()?;
    let is_published = matches!(pattern, PretokenPattern::Named(_));
    Ok(match digits {
        DigitSplit::Keep => regex.to_owned(),
        DigitSplit::Single if is_published && regex == CL100K => QWEN2.to_owned(),
        DigitSplit::GroupsOf3 if is_published && regex == QWEN2 => CL100K.to_owned(),
        DigitSplit::GroupsOf3 if is_published && regex.contains(r"|\p{N}{1,3}|") => {
            regex.to_owned()
        }
        DigitSplit::GroupsOf3 if is_published && regex.contains(r"|\p{N}|") => {
            regex.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
        }
        DigitSplit::Single if is_published && regex.contains(r"|\p{N}|") => regex.to_owned(),
        DigitSplit::Single | DigitSplit::GroupsOf3 => {
            steps.extend(digits_step(digits));
            regex.to_owned()
        }
    })
}

fn digits_step(digits: DigitSplit) -> Option<Value> {
    match digits {
        DigitSplit::Single => Some(json!({ "type": "Digits", "individual_digits": true })),
        DigitSplit::GroupsOf3 => Some(isolated(json!({ "Regex": r"\p{N}{1,3}" }))),
        DigitSplit::Keep => None,
    }
}

fn isolated(pattern: Value) -> Value {
    split(pattern, "Isolated")
}

impl TrainOptions {
    /// Refuses what cannot work, before anything is counted.
    ///
    /// # Errors
    /// [`TokenizerError::TrainOptions`], [`TokenizerError::Pattern`], [`TokenizerError::Special`] or
    /// [`TokenizerError::VocabularyTooSmall`].
    pub fn check(&self) -> Result<(), TokenizerError> {
        let fail = |what: &str| Err(TokenizerError::TrainOptions(what.to_owned()));
        match &self.pattern {
            Some(pattern) if self.takes_pattern() => pattern.check()?,
            Some(_) => {
                return fail("a split pattern needs byte-level BPE; this model splits at spaces");
            }
            None => {}
        }
        if self.byte_fallback && self.layout() == ModelLayout::WordPiece {
            return fail("WordPiece has no byte fallback; choose bpe or unigram");
        }
        if self.score == MergeScore::Likelihood && self.model != ModelKind::WordPiece {
            return fail(
                "a score by likelihood needs `model=wordpiece`; others are trained with `score=frequency`",
            );
        }
        if self.end_of_word && (self.model != ModelKind::Bpe || self.byte_fallback) {
            return fail("a mark at the end of words needs BPE without byte fallback");
        }
        match self.character_coverage {
            Some(_) if self.layout() == ModelLayout::ByteLevel => {
                return fail("byte-level BPE covers every character; leave the coverage out");
            }
            Some(coverage) if !(coverage > 0.0 && coverage <= 1.0) => {
                return fail("the character coverage must be above 0 and at most 1");
            }
            _ => {}
        }
        if !(self.alpha.is_finite() && self.alpha >= 0.0) {
            return fail("alpha must be a number from 0 on; 1 changes nothing");
        }
        if self.weights.values().any(|weight| !(weight.is_finite() && *weight >= 0.0)) {
            return fail("weights must be numbers from 0 on");
        }
        if self.max_token_length == Some(0) {
            return fail("the longest token must have at least one symbol");
        }
        self.check_specials()
    }

    /// A special token must not be something the text itself can be encoded to. Where the model works
    /// within pre-tokens it has to fall into several; the others are trained on words cut inside it.
    fn check_specials(&self) -> Result<(), TokenizerError> {
        let mut splitter = PretokenSplitter::of(&pretokenizer_file(self)?)?;
        let (mut seen, specials, bytes) = (HashSet::new(), self.all_specials(), self.byte_tokens());
        for token in &specials {
            let fail = |what| TokenizerError::Special { token: token.clone(), what };
            let mut pieces = 0;
            splitter.split(token, |_| pieces += 1)?;
            if token.is_empty() {
                return Err(fail("is empty"));
            }
            let is_word = match self.layout() {
                ModelLayout::ByteLevel | ModelLayout::WordPiece => pieces < 2,
                ModelLayout::Characters | ModelLayout::WordEnds | ModelLayout::Unigram => {
                    token.chars().count() < 2 || token.starts_with(char::is_alphanumeric)
                }
            };
            if is_word {
                return Err(fail("is a word that text can contain as one token"));
            }
            if bytes.contains(token) {
                return Err(fail("is the spelling of a byte"));
            }
            if !seen.insert(token) {
                return Err(fail("is given twice"));
            }
        }
        let symbols = if self.layout() == ModelLayout::ByteLevel { 256 } else { bytes.len() };
        self.check_room(specials.len() + symbols)
    }

    /// Refuses a vocabulary below `least`.
    pub(super) fn check_room(&self, least: usize) -> Result<(), TokenizerError> {
        let has_room = usize::try_from(self.vocab_size).is_ok_and(|asked| asked >= least);
        let too_small = TokenizerError::VocabularyTooSmall { asked: self.vocab_size, least };
        if has_room { Ok(()) } else { Err(too_small) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::splitter::PretokenSplitter;
    use crate::file::pattern::NAMED_PATTERNS;
    use crate::train::options::ModelKind;

    fn pieces(splitter: &mut PretokenSplitter, text: &str) -> Vec<String> {
        let mut pieces = Vec::new();
        splitter.split(text, |piece| pieces.push(piece.to_owned())).unwrap();
        pieces
    }

    #[test]
    fn digits_are_split_as_asked_under_every_pattern() {
        let own = PretokenPattern::Regex(r"\s+|\S+".to_owned());
        let named = NAMED_PATTERNS.map(|(name, _)| PretokenPattern::Named(name.to_owned()));
        for pattern in named.into_iter().chain([own]) {
            for (digits, expected) in [
                (DigitSplit::Single, &["1", "2", "3", "4", "5", "٣", "٤"][..]),
                (DigitSplit::GroupsOf3, &["123", "45", "٣٤"]),
            ] {
                let options =
                    TrainOptions { pattern: Some(pattern.clone()), digits, ..Default::default() };
                let mut splitter =
                    PretokenSplitter::of(&pretokenizer_file(&options).unwrap()).unwrap();
                let found = pieces(&mut splitter, "a12345b ٣٤ x");
                let numbers: Vec<&String> =
                    found.iter().filter(|piece| piece.chars().any(char::is_numeric)).collect();
                assert_eq!(numbers, expected, "{pattern:?} {digits:?}");
                assert_eq!(found.concat(), "a12345b ٣٤ x");
            }
        }
    }

    #[test]
    fn words_of_the_models_on_characters_begin_at_their_space() {
        for (model, byte_fallback) in [(ModelKind::Unigram, false), (ModelKind::Bpe, true)] {
            let options = TrainOptions { model, byte_fallback, ..Default::default() };
            let mut splitter = PretokenSplitter::of(&pretokenizer_file(&options).unwrap()).unwrap();
            assert!(splitter.is_fast());
            let found = pieces(&mut splitter, "to  be\nor 12");
            assert_eq!(found, ["▁to", "▁", "▁be", "\n", "or", "▁12"]);
            let digits = TrainOptions { digits: DigitSplit::Single, ..options };
            let mut splitter = PretokenSplitter::of(&pretokenizer_file(&digits).unwrap()).unwrap();
            assert_eq!(pieces(&mut splitter, "or 12"), ["▁or", "▁", "1", "2"]);
        }
    }
}
