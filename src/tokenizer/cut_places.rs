//! Cuts texts that SentencePiece's kind of BPE would take whole, where no token can reach over.
//!
//! LLaMA's kind of BPE joins over the whole text, and the fast encoder remembers words only. No token has
//! a `▁` behind a letter, so a text may be cut before it, and wherever else two characters stand side by side
//! in no merge: a symbol over such a place would have to be the result of one.

use serde_json::{Value, json};
use std::collections::HashSet;
use tokenizers_fast::pipeline::Span;

/// ASCII, and `▁` as the last class.
const CLASSES: usize = 129;
const MARKER: usize = 128;
const MARKER_BYTES: &[u8] = "▁".as_bytes();

/// Between which characters a text may be cut, by the class of the left and of the right one.
pub(super) struct MergeBoundaries {
    is_safe: Vec<[bool; CLASSES]>,
}

impl MergeBoundaries {
    /// Of a parsed `tokenizer.json` in canonical form; none when it is no such BPE, or when nothing
    /// would be gained.
    pub(super) fn of(file: &Value) -> Option<Self> {
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
            && (0..=u8::MAX).all(|byte| vocab.contains_key(&format!("<0x{byte:02X}>")));
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
        words.may_cut(usize::from(b'e'), MARKER).then_some(words)
    }

    fn may_cut(&self, left: usize, right: usize) -> bool {
        self.is_safe.get(left).and_then(|row| row.get(right)).copied().unwrap_or(false)
    }

    /// Whether a text may be cut before a `▁` that stands behind this byte of ASCII.
    pub(super) fn may_cut_at_marker(&self, left: u8) -> bool {
        self.may_cut(usize::from(left), MARKER)
    }

    /// The parts of a normalised text, one behind the other. A text beyond 32 bits has none.
    pub(super) fn cut(&self, text: &str, spans: &mut Vec<Span>) {
        spans.clear();
        let Ok(length) = u32::try_from(text.len()) else { return };
        let bytes = text.as_bytes();
        let (mut start, mut at) = (0u32, 0u32);
        // The class of the character before, if it has one.
        let mut left: Option<usize> = None;
        while at < length {
            let rest = bytes.get(at as usize..).unwrap_or_default();
            let (right, width) = match rest.first() {
                Some(byte) if byte.is_ascii() => (Some(usize::from(*byte)), 1),
                Some(_) if rest.starts_with(MARKER_BYTES) => (Some(MARKER), 3),
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
        "type": "Split", "pattern": { "String": "▁" }, "behavior": "MergedWithNext", "invert": false
    })
}

fn class(character: char) -> Option<usize> {
    match character {
        '▁' => Some(MARKER),
        _ => usize::try_from(u32::from(character)).ok().filter(|_| character.is_ascii()),
    }
}

#[cfg(test)]
mod tests {
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
