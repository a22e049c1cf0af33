//! Replaces `preset('gopher')` in conditions and statements by the published thresholds, before planning.

use super::dialect;
use super::dialect::SqlTokenOffsets;
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use model::invariant::text_part;
use model::text_file::without_byte_order_mark;
use std::ops::Range;
use text::signals::SignalSet;

const NAME: &str = "preset";
/// Presets of one statement, at most: each becomes some 25 comparisons.
const MOST: usize = 32;

/// A call of `preset`.
struct PresetCall {
    /// Tokens of the call, from the name to the closing bracket.
    tokens: Range<usize>,
    set: SignalSet,
    on_text: bool,
}

impl PresetCall {
    fn condition(&self, on_text: bool) -> String {
        format!("({})", self.set.condition(self.on_text || on_text))
    }
}

/// The tokens with every preset replaced by its thresholds. These have the place of the preset's name, so that places
/// in errors are those of the text as it was written.
pub(in crate::sql) fn spelled_out(
    tokens: Vec<TokenWithSpan>,
) -> Result<Vec<TokenWithSpan>, ParserError> {
    let called = called(&tokens).map_err(ParserError::ParserError)?;
    if called.is_empty() {
        return Ok(tokens);
    }
    let mut out = Vec::with_capacity(tokens.len());
    let mut rest = tokens.into_iter().enumerate().peekable();
    let mut called = called.iter().peekable();
    while let Some((at, token)) = rest.next() {
        let Some(here) = called.next_if(|one| one.tokens.start == at) else {
            out.push(token);
            continue;
        };
        let (condition, _) = dialect::tokens(&here.condition(false));
        out.extend(condition.into_iter().map(|one| TokenWithSpan { span: token.span, ..one }));
        while rest.next_if(|(at, _)| *at < here.tokens.end).is_some() {}
    }
    Ok(out)
}

/// A condition with the thresholds in the place of every `preset('SET')` (over stored signals, or over texts where
/// `on_text`) and `preset('SET', 'text')` (over texts). What is no SQL stays as it is.
///
/// # Errors
/// What is wrong with a preset, in words.
pub fn resolved(condition: &str, on_text: bool) -> Result<String, String> {
    let condition = without_byte_order_mark(condition);
    let (tokens, failed) = dialect::tokens(condition);
    if failed.is_some() {
        return Ok(condition.to_owned());
    }
    let mut places = SqlTokenOffsets::of(condition);
    let (mut out, mut done) = (String::with_capacity(condition.len()), 0);
    for one in called(&tokens)? {
        let (Some(first), Some(last)) =
            (tokens.get(one.tokens.start), tokens.get(one.tokens.end - 1))
        else {
            continue;
        };
        let start = places.byte_of(first.span.start);
        out.push_str(text_part(condition, done..start));
        out.push_str(&one.condition(on_text));
        done = places.byte_of(last.span.end);
    }
    out.push_str(text_part(condition, done..));
    Ok(out)
}

/// The calls of `preset`, in their order.
fn called(tokens: &[TokenWithSpan]) -> Result<Vec<PresetCall>, String> {
    let mut found = Vec::new();
    let mut behind_point = false;
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::Whitespace(_) => continue,
            Token::Word(word)
                if !behind_point
                    && word.quote_style.is_none()
                    && word.value.eq_ignore_ascii_case(NAME) =>
            {
                found.extend(read(tokens, at)?);
            }
            _ => {}
        }
        behind_point = token.token == Token::Period;
    }
    match found.len() {
        0..=MOST => Ok(found),
        many => Err(format!("it names {many} presets, more than {MOST}")),
    }
}

/// The call whose name is the token at `at`; none where that is no call.
fn read(tokens: &[TokenWithSpan], at: usize) -> Result<Option<PresetCall>, String> {
    let mut rest = tokens.iter().enumerate().skip(at + 1);
    let mut next = || rest.by_ref().find(|(_, it)| !matches!(it.token, Token::Whitespace(_)));
    if next().is_none_or(|(_, it)| it.token != Token::LParen) {
        return Ok(None);
    }
    let (mut words, mut inside) = (Vec::new(), String::new());
    for (end, token) in rest {
        match &token.token {
            Token::RParen => {
                let set = words.first().and_then(|word: &&str| SignalSet::from_name(word));
                let on_text = match words.as_slice() {
                    [_] => Some(false),
                    [_, "text"] => Some(true),
                    _ => None,
                };
                return match set.zip(on_text) {
                    Some((set, on_text)) => {
                        Ok(Some(PresetCall { tokens: at..end + 1, set, on_text }))
                    }
                    None => Err(wrong(&format!("`{NAME}({inside})` is not a preset"))),
                };
            }
            Token::SingleQuotedString(word) => words.push(word),
            Token::Whitespace(_) | Token::Comma => {}
            _ => words.push(""),
        }
        inside += &token.token.to_string();
    }
    Err(wrong(&format!("`{NAME}(` has no end")))
}

fn wrong(what: &str) -> String {
    let known = SignalSet::ALL.map(SignalSet::name).join(", ");
    format!(
        "{what}: write preset('gopher'), or preset('gopher', 'text') for one that needs no stored signals; there are {known}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::syntax::parser;

    #[test]
    fn presets_become_conditions_and_all_else_stays() {
        let resolved = |text: &str| resolved(text, false).unwrap();
        assert_eq!(resolved("preset('c4')"), "(c4_sentence_count >= 5)");
        assert_eq!(
            resolved(
                "kept AND NOT PRESET ( 'c4' , 'text' )\nOR 'é' = preset(\n'c4') -- preset('c4')"
            ),
            "kept AND NOT (c4_sentence_count(text) >= 5)\nOR 'é' = (c4_sentence_count >= 5) -- preset('c4')"
        );
        for same in [
            "",
            "x = 'preset(''c4'')'",
            "x = $$preset('c4')$$",
            "my_preset('c4')",
            "a.preset('c4')",
            "\"preset\"('c4')",
            "preset = 1",
            "'open",
        ] {
            assert_eq!(resolved(same), same);
        }
        assert_eq!(
            super::resolved("preset('c4')", true).unwrap(),
            "(c4_sentence_count(text) >= 5)"
        );
    }

    // Places of tokens counted from behind the mark, those of bytes from before it: a bracket stayed.
    #[test]
    fn a_preset_behind_a_byte_order_mark_is_cut_out_whole() {
        let marked = "\u{feff}preset('c4'\u{3000}) AND x = 'é'";
        let expected = "(c4_sentence_count >= 5) AND x = 'é'";
        assert_eq!(resolved(marked, false).unwrap(), expected);
    }

    #[test]
    fn an_unknown_preset_is_refused_with_the_list() {
        for wrong in [
            "preset('c5')",
            "preset(c4)",
            "preset('c4', 'x')",
            "preset('c4'",
            "preset('c4','text','y')",
            "preset()",
        ] {
            let error = resolved(wrong, false).unwrap_err();
            assert!(error.contains("gopher, c4, fineweb, all"), "{error}");
        }
        let many = ["preset('c4')"; 33].join(" AND ");
        assert!(resolved(&many, false).unwrap_err().contains("33 presets, more than 32"));
    }

    #[test]
    fn statements_and_names_are_read_with_the_thresholds() {
        let read = |sql: &str| parser::statement(sql).map(|statement| statement.to_string());
        assert_eq!(
            read("SELECT id FROM documents WHERE NOT preset('c4')").unwrap(),
            "SELECT id FROM documents WHERE NOT (c4_sentence_count >= 5)"
        );
        assert!(parser::names_column("preset('fineweb')", "newline_ratio"));
        assert!(!parser::names_column("preset('fineweb', 'text')", "c4_sentence_count"));
        // Places are those of the text as it was written.
        let error = read("SELECT preset('all'),\n b b b FROM t").unwrap_err().to_string();
        assert!(error.contains("Line: 2, Column: 6"), "{error}");
        let error = read("SELECT preset('c5')").unwrap_err().to_string();
        assert!(error.contains("gopher, c4, fineweb, all"), "{error}");
    }
}
