//! Removes extra spaces, as the files of SentencePiece models ask for it in regular expressions.

use crate::file::step_type;
use serde_json::Value;
use std::borrow::Cow;

/// What is done to spaces that are too many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SpaceRule {
    /// Removes those at the ends.
    Trim { start: bool, end: bool },
    /// Replaces two or more.
    Collapse(String),
}

impl SpaceRule {
    pub(crate) fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self {
            Self::Trim { start, end } => {
                let text = if *start { text.trim_start_matches(' ') } else { text };
                Cow::Borrowed(if *end { text.trim_end_matches(' ') } else { text })
            }
            Self::Collapse(to) => {
                if !text.contains("  ") {
                    return Cow::Borrowed(text);
                }
                let mut collapsed = String::with_capacity(text.len());
                let mut rest = text;
                while let Some((before, after)) = rest.split_once("  ") {
                    collapsed.push_str(before);
                    collapsed.push_str(to);
                    rest = after.trim_start_matches(' ');
                }
                collapsed.push_str(rest);
                Cow::Owned(collapsed)
            }
        }
    }
}

/// The regular expressions that published SentencePiece conversions have, and this one writes.
pub(crate) fn space_rule(step: &Value) -> Option<SpaceRule> {
    if step_type(step) != "Replace" {
        return None;
    }
    let content = step.get("content")?.as_str()?;
    match step.get("pattern")?.get("Regex")?.as_str()? {
        r"\A +| +\z" if content.is_empty() => Some(SpaceRule::Trim { start: true, end: true }),
        r" +\z" if content.is_empty() => Some(SpaceRule::Trim { start: false, end: true }),
        " {2,}" => Some(SpaceRule::Collapse(content.to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use tokenizers::NormalizedString;
    use tokenizers::Normalizer;
    use tokenizers::normalizers::replace::Replace;
    use tokenizers::normalizers::replace::ReplacePattern;

    proptest! {
        #[test]
        fn spaces_are_removed_as_the_expressions_say(text in "[ a\n▁é]{0,12}") {
            for (regex, content) in [(r"\A +| +\z", ""), (r" +\z", ""), (" {2,}", " "), (" {2,}", "▁")] {
                let pattern = ReplacePattern::Regex(regex.to_owned());
                let mut theirs = NormalizedString::from(text.as_str());
                Replace::new(pattern, content).expect("compiles").normalize(&mut theirs).expect("runs");
                let step = json!({ "type": "Replace", "pattern": { "Regex": regex }, "content": content });
                let ours = space_rule(&step).expect("is known").apply(&text).into_owned();
                prop_assert_eq!(ours, theirs.get(), "{}", regex);
            }
        }
    }
}
