//! Reads the tags of a template's source before it is compiled, and joins two templates to one.
//!
//! The tags tell line ends, generation blocks, and the special tokens that the template always writes.

use minijinja::machinery::{Token, WhitespaceConfig, tokenize};
use minijinja::syntax::SyntaxConfig;
use std::borrow::Cow;

/// The source as Jinja reads it: every line ends with `\n`.
pub(super) fn with_line_ends(source: &str) -> Cow<'_, str> {
    if !source.contains('\r') {
        return Cow::Borrowed(source);
    }
    Cow::Owned(source.replace("\r\n", "\n").replace('\r', "\n"))
}

/// Turns `{% generation %}` blocks into filter blocks, which trim space alike; says whether there was one. In comments,
/// texts and `raw` blocks the words are only words.
pub(super) fn mark_generation(source: &str) -> (String, bool) {
    let (mut out, mut from, mut is_marked) = (String::with_capacity(source.len() + 32), 0, false);
    let tokens = tokenize(source, false, SyntaxConfig, WhitespaceConfig::default());
    // The parser reports what is not a word of a template, with its place.
    let tokens: Vec<_> = tokens.map_while(Result::ok).collect();
    for tag in tokens.windows(3) {
        let [(Token::BlockStart, _), (Token::Ident(word), span), (end, _)] = tag else { continue };
        if !matches!(end, Token::BlockEnd | Token::Colon) {
            continue;
        }
        let instead = match *word {
            "generation" => "filter generation",
            "endgeneration" => "endfilter",
            _ => continue,
        };
        let (start, behind) = (span.start_offset as usize, span.end_offset as usize);
        is_marked = true;
        out.push_str(source.get(from..start).unwrap_or_default());
        out.push_str(instead);
        from = behind;
    }
    out.push_str(source.get(from..).unwrap_or_default());
    (out, is_marked)
}

/// Words beside a name that ask whether it has a value.
const QUESTIONS: [&str; 7] = ["if", "is", "or", "and", "not", "default", "d"];

/// Whether a template writes the value of a name without asking anywhere whether there is one.
pub(super) fn writes_unasked(source: &str, name: &str) -> bool {
    let (mut tag, mut is_written) = (Vec::new(), false);
    for token in tokenize(source, false, SyntaxConfig, WhitespaceConfig::default()) {
        match token {
            Err(_) => return false,
            Ok((Token::VariableStart | Token::BlockStart, _)) => tag.clear(),
            Ok((Token::VariableEnd | Token::BlockEnd, _)) => match use_of(&tag, name) {
                NameUse::Set | NameUse::Condition => return false,
                NameUse::Value => is_written = true,
                NameUse::None => {}
            },
            Ok((token, _)) => tag.push(token),
        }
    }
    is_written
}

/// What one tag does with a name.
enum NameUse {
    None,
    /// Gives the name a value.
    Set,
    /// What is written depends on the name.
    Condition,
    /// Takes the value of the name, in a tag that does not ask whether there is one.
    Value,
}

fn use_of(tag: &[Token<'_>], name: &str) -> NameUse {
    let is = |token: Option<&Token<'_>>, word: &str| matches!(token, Some(Token::Ident(known)) if *known == word);
    let is_assigned = |at: usize| matches!(tag.get(at + 1), Some(Token::Assign));
    let is_member = |at: usize| at > 0 && matches!(tag.get(at - 1), Some(Token::Dot));
    let mut places = (0..tag.len()).filter(|at| is(tag.get(*at), name) && !is_member(*at));
    let Some(first) = places.find(|at| *at == 1 || !is_assigned(*at)) else {
        return NameUse::None;
    };
    if is(tag.first(), "set") && first == 1 && is_assigned(1) {
        return NameUse::Set;
    }
    if is(tag.first(), "if") || is(tag.first(), "elif") {
        return NameUse::Condition;
    }
    let asks = |token: &Token<'_>| matches!(token, Token::Ident(word) if QUESTIONS.contains(word));
    if tag.iter().any(asks) { NameUse::None } else { NameUse::Value }
}

/// One template of two: `tool_use` for records with tools, `otherwise` for others.
pub(super) fn by_tools(tool_use: &str, otherwise: &str) -> String {
    // A template's last line end is no part of it; the signs keep all other space within the tags' lines.
    let body = |source: &str| {
        let source = with_line_ends(source);
        source.strip_suffix('\n').unwrap_or(&source).to_owned()
    };
    let (tool_use, otherwise) = (body(tool_use), body(otherwise));
    format!("{{% if tools is not none +%}}{tool_use}{{%+ else +%}}{otherwise}{{%+ endif %}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generation_tags_become_filter_blocks() {
        assert_eq!(
            mark_generation("{% if generation %}{%- generation -%}x{%endgeneration%}"),
            ("{% if generation %}{%- filter generation -%}x{%endfilter%}".to_owned(), true)
        );
        for plain in [
            "{{ generation }} {%",
            "{# {% generation %} and {% endgeneration %} #}x",
            "{{ '{% generation %}' }}",
            "{% raw %}{% generation %}{% endraw %}",
        ] {
            assert_eq!(mark_generation(plain), (plain.to_owned(), false));
        }
    }

    #[test]
    fn names_without_a_question_are_written() {
        for (source, is_written) in [
            ("{{ eos_token }}", true),
            ("{% set x = m.content + eos_token %}{{ x }}", true),
            ("{{ m.content ~ eos_token }}{{ eos_token or '' }}", true),
            ("{{ eos_token if eos_token is defined }}", false),
            ("{{ eos_token | default('') }}", false),
            ("{% if eos_token %}{{ eos_token }}{% endif %}", false),
            ("{% set eos_token = '</s>' %}{{ eos_token }}", false),
            ("{{ m.eos_token }}{{ f(eos_token='x') }}{# {{ eos_token }} #}eos_token", false),
        ] {
            assert_eq!(writes_unasked(source, "eos_token"), is_written, "{source}");
        }
    }
}
