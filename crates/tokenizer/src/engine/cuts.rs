//! Finds where a long text may be cut so that the ids of its parts, one behind the other, are its own.
//!
//! A place is one space between two visible ASCII characters. Nothing reaches over it when, by the file: the
//! normalizer has only steps that look at single characters, at the ends of the text, or for strings that
//! cannot stand there; the first pre-tokenizer that splits at a space splits before it, whatever stands around,
//! and those before it never look at one; no added token has a visible character before a space. Known split
//! patterns have no alternative that goes from a visible character on to a space, and none looks back. A model sees
//! pre-tokens one by one; where it would see the whole text, no merge may reach over (see [`MergeBoundaries`]).
//!
//! The file says that a cut is right; whether the space then belongs to the second part, or is what the normalizer
//! puts before it anyway, is found by trial.

use super::hostile_texts::hostile_texts;
use super::spaces::space_rule;
use crate::error::{TokenizerError, guard};
use crate::file::write::byte_token;
use crate::file::{AddedTokenEntry, SPACE_MARKER, TokenizerFile, step_type};
use model::invariant::{at, part};
use serde_json::{Value, json};
use std::collections::HashSet;
use tokenizers_fast::pipeline::Span;

/// Texts up to this length are encoded whole; longer ones in parts of some such length. In bytes.
pub(crate) const PART: usize = 256 << 10;

/// How the texts of a tokenizer are cut.
pub(crate) struct ChunkCutter {
    /// Whether any visible ASCII character may stand at a cut, or letters and digits alone.
    any_visible: bool,
    /// Where no pre-tokenizer cuts.
    words: Option<MergeBoundaries>,
    keeps_space: bool,
}

impl ChunkCutter {
    /// The cutter for the bytes of a `tokenizer.json`; none where a cut might be seen in the ids. `encode` gives those
    /// of a short text.
    pub(crate) fn of(
        json: &[u8],
        mut encode: impl FnMut(&str, &mut Vec<u32>) -> Result<(), TokenizerError>,
    ) -> Option<Self> {
        let file = TokenizerFile::read(json).ok()?;
        let mut cuts = Self::from_file(&file)?;
        let has_plain_tokens = file.added_tokens().any(|token| !token.is_special);
        for keeps_space in [true, false] {
            cuts.keeps_space = keeps_space;
            // Before an added token nothing is put that stands for a space.
            if (keeps_space || !has_plain_tokens) && cuts.leaves_no_trace(&mut encode) {
                return Some(cuts);
            }
        }
        None
    }

    fn from_file(file: &TokenizerFile) -> Option<Self> {
        if !file.added_tokens().all(is_harmless) {
            return None;
        }
        let (mut space, mut any_visible) = (" ".to_owned(), true);
        for step in file.normalizers() {
            match step_type(step) {
                "NFC" | "NFD" | "NFKC" | "NFKD" | "Lowercase" | "StripAccents"
                | "BertNormalizer" | "Nmt" | "Prepend" | "Strip" => {}
                // The table is the author's: it leaves letters and digits alone, or changes their case.
                "Precompiled" => any_visible = false,
                "Replace" if space_rule(step).is_some() => {}
                "Replace" => {
                    let pattern = step.get("pattern")?.get("String")?.as_str()?;
                    if pattern.is_empty() || pattern.contains(|c: char| c.is_ascii_alphanumeric()) {
                        return None;
                    }
                    any_visible &= !pattern.contains(|c: char| c.is_ascii_graphic());
                    if pattern == space {
                        step.get("content")?.as_str()?.clone_into(&mut space);
                    }
                }
                _ => return None,
            }
        }
        if space != " " && space != SPACE_MARKER {
            return None;
        }
        let words = match splits_before(&file.pre_tokenizers(), &space)? {
            true => None,
            false if space == SPACE_MARKER => Some(merge_boundaries(file)?),
            false => return None,
        };
        Some(Self { any_visible, words, keeps_space: true })
    }

    /// Checks that cuts in texts that trip tokenizers leave no trace.
    fn leaves_no_trace(
        &self,
        encode: &mut impl FnMut(&str, &mut Vec<u32>) -> Result<(), TokenizerError>,
    ) -> bool {
        /// Long runs tell nothing more.
        const MOST: usize = 100;
        let hostile: Vec<String> =
            hostile_texts().into_iter().filter(|text| text.len() < MOST).collect();
        let sides = hostile.iter().zip(hostile.iter().rev());
        sides.zip("eaZ09bsx".chars().cycle()).all(|((left, right), side)| {
            let (left, right) = (format!("{left}{side}"), format!("{side}{right}"));
            let whole = format!("{left} {right}");
            let Some((_, second)) = self.split_after(&whole, left.len()) else { return true };
            let (mut ids, mut parts) = (Vec::new(), Vec::new());
            let told = encode(&whole, &mut ids)
                .and_then(|()| encode(&left, &mut parts))
                .and_then(|()| encode(second, &mut parts));
            // A refused text has no ids that could differ.
            told.is_err() || ids == parts
        })
    }

    /// The first part of a text, and the rest; none where there is no place after `least` bytes.
    pub(crate) fn split_after<'t>(
        &self,
        text: &'t str,
        least: usize,
    ) -> Option<(&'t str, &'t str)> {
        let from = least.max(1);
        let mut windows = text.as_bytes().get(from - 1..)?.array_windows();
        let at = from
            + windows.position(|[left, space, right]| {
                *space == b' '
                    && self.is_allowed_beside_cut(*left)
                    && self.is_allowed_beside_cut(*right)
                    && self.words.as_ref().is_none_or(|words| words.may_cut_at_marker(*left))
            })?;
        Some((text.get(..at)?, text.get(at + usize::from(!self.keeps_space)..)?))
    }

    fn is_allowed_beside_cut(&self, byte: u8) -> bool {
        byte.is_ascii_alphanumeric() || self.any_visible && byte.is_ascii_graphic()
    }
}

/// Whether an added token is never found over a cut, and takes no spaces with it.
fn is_harmless(token: AddedTokenEntry<'_>) -> bool {
    let is_set = |key: &str| token.json.get(key) == Some(&Value::Bool(true));
    if !token.is_special && ["lstrip", "rstrip", "single_word"].into_iter().any(is_set) {
        return false;
    }
    let is_space = |c: char| c.is_whitespace() || c == '▁';
    let characters: Vec<char> = token.content.chars().collect();
    characters.array_windows().all(|[left, right]| {
        // Others than letters may be normalised to what has a space.
        is_space(*left) || right.is_ascii_graphic() || right.is_alphanumeric()
    })
}

/// Whether one of the steps splits every text before each `space`; none where an earlier step makes this uncertain.
fn splits_before(steps: &[&Value], space: &str) -> Option<bool> {
    let is_plain = space == " ";
    for step in steps {
        let is = |key: &str, value: bool| step.get(key) == Some(&Value::Bool(value));
        let is_split = match step_type(step) {
            "ByteLevel" if !is("use_regex", false) && is_plain => true,
            "Whitespace" | "WhitespaceSplit" | "BertPreTokenizer" if is_plain => true,
            "CharDelimiterSplit" if is_plain && step.get("delimiter")?.as_str()? == space => true,
            "Metaspace" if !is("split", false) => {
                (step.get("replacement")?.as_str()? == SPACE_MARKER).then_some(true)?
            }
            "Digits" | "Punctuation" => false,
            "Split" => splits(step, space)?,
            _ => return None,
        };
        if is_split {
            return Some(true);
        }
    }
    Some(false)
}

fn splits(step: &Value, space: &str) -> Option<bool> {
    let behavior = step.get("behavior")?.as_str()?;
    let is_inverted = step.get("invert")?.as_bool()?;
    let pattern = step.get("pattern")?;
    if let Some(regex) = pattern.get("Regex").and_then(Value::as_str) {
        let is_kept = matches!((behavior, is_inverted), ("Isolated", false) | ("Removed", true));
        if !is_kept {
            return None;
        }
        if matches!(regex, r"\p{N}{1,3}" | r"\p{N}") && !is_inverted {
            return Some(false);
        }
        let known = guard("reading a split pattern", || tokenizers_fast::utils::recognize(regex));
        return (known.ok()?.is_some() && space == " ").then_some(true);
    }
    let string = pattern.get("String")?.as_str()?;
    if is_inverted || string.is_empty() {
        return None;
    }
    if string == space {
        return matches!(behavior, "MergedWithNext" | "Isolated" | "Removed").then_some(true);
    }
    let is_elsewhere = !string.contains(|c: char| c.is_ascii_graphic() || c == ' ' || c == '▁');
    is_elsewhere.then_some(false)
}

/// The boundaries of a model that sees the whole text.
fn merge_boundaries(file: &TokenizerFile) -> Option<MergeBoundaries> {
    guard("converting", || {
        let mut file = file.json().clone();
        tokenizers_fast::canonicalize_value(&mut file).ok()?;
        MergeBoundaries::of(&file)
    })
    .ok()?
}

/// ASCII, and `▁` as the last class.
const CLASSES: usize = 129;
const MARKER_BYTE: usize = 128;
const MARKER_BYTES: &[u8] = SPACE_MARKER.as_bytes();

/// Between which characters a text may be cut, by the class of the left and of the right one.
pub(crate) struct MergeBoundaries {
    is_safe: Vec<[bool; CLASSES]>,
}

impl MergeBoundaries {
    /// The boundaries by a parsed `tokenizer.json` in canonical form; none when it is no such BPE, or when nothing
    /// would be gained.
    pub(crate) fn of(file: &Value) -> Option<Self> {
        let model = file.get("model")?;
        let is_off = |key: &str| {
            model.get(key).is_none_or(|value| {
                value.is_null() || value == &Value::Bool(false) || value.as_str() == Some("")
            })
        };
        let affixes = ["continuing_subword_prefix", "end_of_word_suffix"];
        let switches = ["dropout", "ignore_merges", "byte_level"];
        let is_plain = affixes.into_iter().chain(switches).all(is_off)
            && model.get("type")?.as_str()? == "BPE";
        let is_uncut = file.get("pre_tokenizer").is_none_or(Value::is_null);
        if !is_uncut && file.get("pre_tokenizer") != Some(&split_at_markers()) {
            return None;
        }
        let added = file.get("added_tokens").and_then(Value::as_array);
        let is_whole = added
            .into_iter()
            .flatten()
            .all(|token| token.get("special") == Some(&Value::Bool(true)));
        if !is_plain || !is_whole {
            return None;
        }
        let mut is_safe = vec![[true; CLASSES]; CLASSES];
        let mut forbid = |left: usize, right: usize| {
            if let Some(safe) = is_safe.get_mut(left).and_then(|row| row.get_mut(right)) {
                *safe = false;
            }
        };
        for merge in model.get("merges")?.as_array()? {
            let token: String =
                merge.as_array()?.iter().map(Value::as_str).collect::<Option<_>>()?;
            // Cut at every marker, a text has no token over one, even where these cuts leave it whole.
            if !is_uncut && token.chars().skip(1).any(|character| character == '▁') {
                return None;
            }
            let classes: Vec<Option<usize>> = token.chars().map(class).collect();
            for pair in classes.array_windows() {
                if let [Some(left), Some(right)] = *pair {
                    forbid(left, right);
                }
            }
        }
        // Unknown characters side by side become one unknown token.
        let vocab = model.get("vocab")?.as_object()?;
        let has_bytes = model.get("byte_fallback") == Some(&Value::Bool(true))
            && (0..=u8::MAX).all(|byte| vocab.contains_key(&byte_token(byte)));
        if !has_bytes {
            let known: HashSet<usize> = vocab
                .keys()
                .filter_map(|token| {
                    let mut characters = token.chars();
                    class(characters.next()?).filter(|_| characters.next().is_none())
                })
                .collect();
            let unknown: Vec<usize> = (0..CLASSES).filter(|class| !known.contains(class)).collect();
            for left in &unknown {
                unknown.iter().for_each(|right| forbid(*left, *right));
            }
        }
        let words = Self { is_safe };
        words.may_cut(usize::from(b'e'), MARKER_BYTE).then_some(words)
    }

    fn may_cut(&self, left: usize, right: usize) -> bool {
        let row = at(&self.is_safe, left);
        *at(row, right)
    }

    /// Whether a text may be cut before a `▁` that stands behind this byte of ASCII.
    pub(crate) fn may_cut_at_marker(&self, left: u8) -> bool {
        self.may_cut(usize::from(left), MARKER_BYTE)
    }

    /// The parts of a normalised text, one behind the other. A text beyond 32 bits has none.
    pub(crate) fn cut(&self, text: &str, spans: &mut Vec<Span>) {
        spans.clear();
        let Ok(length) = u32::try_from(text.len()) else { return };
        let bytes = text.as_bytes();
        let (mut start, mut at) = (0u32, 0u32);
        // The class of the character before, if it has one.
        let mut left: Option<usize> = None;
        while at < length {
            let rest = part(bytes, at as usize..);
            let (right, width) = match rest.first() {
                Some(byte) if byte.is_ascii() => (Some(usize::from(*byte)), 1),
                Some(_) if rest.starts_with(MARKER_BYTES) => (Some(MARKER_BYTE), 3),
                // A byte of another character: between two of them there is no class, no cut.
                _ => (None, 1),
            };
            if let (Some(left), Some(right)) = (left, right)
                && self.may_cut(left, right)
            {
                spans.push(Span { start, end: at });
                start = at;
            }
            left = right;
            at += width;
        }
        if start < length {
            spans.push(Span { start, end: length });
        }
    }
}

/// The pre-tokenizer that cuts a text before every marker.
fn split_at_markers() -> Value {
    json!({
        "type": "Split", "pattern": { "String": SPACE_MARKER }, "behavior": "MergedWithNext", "invert": false
    })
}

fn class(character: char) -> Option<usize> {
    match character {
        '▁' => Some(MARKER_BYTE),
        _ => usize::try_from(u32::from(character)).ok().filter(|_| character.is_ascii()),
    }
}

#[cfg(test)]
mod merge_boundaries_tests {
    use super::*;

    fn file(merges: &Value, vocab: &Value) -> Value {
        json!({ "added_tokens": [], "pre_tokenizer": null, "model": {
            "type": "BPE", "byte_fallback": false, "vocab": vocab, "merges": merges } })
    }

    #[test]
    fn a_text_is_cut_where_no_merge_reaches_over() {
        let vocab = json!({ "a": 0, "b": 1, "▁": 2, "ab": 3, "▁▁": 4, "▁a": 5, "e": 6, "é": 7 });
        let merges = json!([["a", "b"], ["▁", "▁"], ["▁", "a"]]);
        let words = MergeBoundaries::of(&file(&merges, &vocab)).expect("is cut");
        let mut spans = Vec::new();
        let text = "▁▁abba▁é▁xxy";
        words.cut(text, &mut spans);
        let parts: Vec<&str> =
            spans.iter().map(|s| &text[s.start as usize..s.end as usize]).collect();
        // `x` and `y` are unknown and stay together; beside a letter that is not ASCII nothing is cut.
        assert_eq!(parts, ["▁▁ab", "b", "a", "▁é▁", "xxy"]);
        words.cut("", &mut spans);
        assert!(spans.is_empty());
    }

    #[test]
    fn tokens_over_words_forbid_the_cut_and_other_models_have_none() {
        let vocab = json!({ "e": 0, "▁": 1, "e▁": 2 });
        assert!(MergeBoundaries::of(&file(&json!([["e", "▁"]]), &vocab)).is_none());
        let mut other = file(&json!([]), &vocab);
        other["model"]["ignore_merges"] = json!(true);
        assert!(MergeBoundaries::of(&other).is_none());
        other = file(&json!([]), &vocab);
        other["added_tokens"] = json!([{ "content": "x", "special": false }]);
        assert!(MergeBoundaries::of(&other).is_none());
    }
}

#[cfg(test)]
#[path = "cuts_tests.rs"]
mod tests;
