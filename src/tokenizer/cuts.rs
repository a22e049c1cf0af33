//! Where a long text may be cut so that the ids of its parts, one behind the other, are its own.
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

use super::cut_places::MergeBoundaries;
use super::error::TokenizerError;
use super::oracle::guard;
use super::prepare::{flatten, space_rule};
use super::self_test::hostile_texts;
use serde_json::Value;

/// Texts up to this length are encoded whole; longer ones in parts of some such length. In bytes.
pub(super) const PART: usize = 256 << 10;

/// What stands for the space when the pre-tokenizer sees it.
const MARKER: &str = "▁";

/// How the texts of a tokenizer are cut.
pub(super) struct ChunkCutter {
    /// Whether any visible ASCII character may stand at a cut, or letters and digits alone.
    any_visible: bool,
    /// Where no pre-tokenizer cuts.
    words: Option<MergeBoundaries>,
    keeps_space: bool,
}

impl ChunkCutter {
    /// Of the bytes of a `tokenizer.json`. None where a cut might be seen in the ids. `encode` gives those of a
    /// short text.
    pub(super) fn of(
        json: &[u8],
        mut encode: impl FnMut(&str, &mut Vec<u32>) -> Result<(), TokenizerError>,
    ) -> Option<Self> {
        let file: Value = serde_json::from_slice(json).ok()?;
        let mut cuts = Self::by_file(&file)?;
        let has_plain_tokens =
            added(&file).any(|token| token.get("special") != Some(&Value::Bool(true)));
        for keeps_space in [true, false] {
            cuts.keeps_space = keeps_space;
            // Before an added token nothing is put that stands for a space.
            if (keeps_space || !has_plain_tokens) && cuts.holds(&mut encode) {
                return Some(cuts);
            }
        }
        None
    }

    fn by_file(file: &Value) -> Option<Self> {
        if !added(file).all(is_harmless) {
            return None;
        }
        let mut steps = Vec::new();
        flatten(file.get("normalizer"), &mut steps);
        let (mut space, mut any_visible) = (" ".to_owned(), true);
        for step in &steps {
            match step.get("type")?.as_str()? {
                "NFC" | "NFD" | "NFKC" | "NFKD" | "Lowercase" | "StripAccents"
                | "BertNormalizer" | "Nmt" | "Prepend" | "Strip" => {}
                // Its table is the author's; that of letters and digits it leaves alone, or gives their case.
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
        if space != " " && space != MARKER {
            return None;
        }
        let words = match splits_before(file.get("pre_tokenizer"), &space)? {
            true => None,
            false if space == MARKER => Some(merge_boundaries(file)?),
            false => return None,
        };
        Some(Self { any_visible, words, keeps_space: true })
    }

    /// Whether cuts in texts that trip tokenizers leave no trace.
    fn holds(
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
            let Some((_, second)) = self.next(&whole, left.len()) else { return true };
            let (mut ids, mut parts) = (Vec::new(), Vec::new());
            let told = encode(&whole, &mut ids)
                .and_then(|()| encode(&left, &mut parts))
                .and_then(|()| encode(second, &mut parts));
            // Of what is refused there are no ids that could differ.
            told.is_err() || ids == parts
        })
    }

    /// The first part of a text, and the rest; none where there is no place after `least` bytes.
    pub(super) fn next<'t>(&self, text: &'t str, least: usize) -> Option<(&'t str, &'t str)> {
        let from = least.max(1);
        let mut windows = text.as_bytes().get(from - 1..)?.array_windows();
        let at = from
            + windows.position(|[left, space, right]| {
                *space == b' '
                    && self.may_stand(*left)
                    && self.may_stand(*right)
                    && self.words.as_ref().is_none_or(|words| words.may_cut_at_marker(*left))
            })?;
        Some((text.get(..at)?, text.get(at + usize::from(!self.keeps_space)..)?))
    }

    fn may_stand(&self, byte: u8) -> bool {
        byte.is_ascii_alphanumeric() || self.any_visible && byte.is_ascii_graphic()
    }
}

fn added(file: &Value) -> impl Iterator<Item = &Value> {
    file.get("added_tokens").and_then(Value::as_array).into_iter().flatten()
}

/// Whether an added token is never found over a cut, and takes no spaces with it.
fn is_harmless(token: &Value) -> bool {
    let is_set = |key: &str| token.get(key) == Some(&Value::Bool(true));
    if !is_set("special") && ["lstrip", "rstrip", "single_word"].into_iter().any(is_set) {
        return false;
    }
    let Some(content) = token.get("content").and_then(Value::as_str) else { return false };
    let is_space = |c: char| c.is_whitespace() || c == '▁';
    let characters: Vec<char> = content.chars().collect();
    characters.array_windows().all(|[left, right]| {
        // Others than letters may be normalised to what has a space.
        is_space(*left) || right.is_ascii_graphic() || right.is_alphanumeric()
    })
}

/// Whether every text is split before each `space`; none where this cannot be told of what splits it.
fn splits_before(pre_tokenizer: Option<&Value>, space: &str) -> Option<bool> {
    let Some(step) = pre_tokenizer.filter(|step| !step.is_null()) else { return Some(false) };
    let is = |key: &str, value: bool| step.get(key) == Some(&Value::Bool(value));
    let kind = step.get("type")?.as_str()?;
    let is_plain = space == " ";
    match kind {
        "Sequence" => {
            for child in step.get("pretokenizers")?.as_array()? {
                if splits_before(Some(child), space)? {
                    return Some(true);
                }
            }
            Some(false)
        }
        "ByteLevel" if !is("use_regex", false) && is_plain => Some(true),
        "Whitespace" | "WhitespaceSplit" | "BertPreTokenizer" if is_plain => Some(true),
        "CharDelimiterSplit" if is_plain => {
            (step.get("delimiter")?.as_str()? == space).then_some(true)
        }
        "Metaspace" if !is("split", false) => {
            (step.get("replacement")?.as_str()? == MARKER).then_some(true)
        }
        "Digits" | "Punctuation" => Some(false),
        "Split" => splits(step, space),
        _ => None,
    }
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

/// Of a model that sees the whole text.
fn merge_boundaries(file: &Value) -> Option<MergeBoundaries> {
    guard("converting", || {
        let mut file = file.clone();
        tokenizers_fast::canonicalize_value(&mut file).ok()?;
        MergeBoundaries::of(&file)
    })
    .ok()?
}

#[cfg(test)]
#[path = "cuts_tests.rs"]
mod tests;
