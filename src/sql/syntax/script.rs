//! Cuts a text into statements at semicolons, by the engine's tokenizer: one in a string or a comment ends nothing.

use super::dialect::{SqlTokenOffsets, tokens};
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenizerError};
use model::invariant::text_part;
use model::text_file::without_byte_order_mark;

/// Statements that were written one after another, each ended by `;`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqlScript {
    /// The statements, the last one also where it is not ended yet. None of them is empty.
    pub statements: Vec<ScriptStatement>,
    /// How the text ends.
    pub end: ScriptEnd,
}

/// A statement of a script, without its `;`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScriptStatement {
    /// The statement as it was written, from its first word on.
    pub text: String,
    /// The line that the statement begins on, from 1.
    pub line: u64,
    /// The character of that line that the statement begins with, from 1.
    pub column: u64,
}

/// How a script ends.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScriptEnd {
    /// Behind the last `;`, or without any statement.
    Ended,
    /// Within a statement: the last one has no `;`.
    Open,
    /// Within a string, a quoted name or a comment. The statements before it are cut as usual, the last one is
    /// incomplete.
    Unclosed(ScriptFault),
    /// At text that is not SQL. Nothing after it is read.
    Fault(ScriptFault),
}

/// What is wrong with a script, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScriptFault {
    /// The line of the fault, from 1.
    pub line: u64,
    /// The character of the fault in that line, from 1.
    pub column: u64,
    /// What is wrong.
    pub why: String,
}

impl ScriptStatement {
    /// A text that is taken as one statement.
    #[must_use]
    pub const fn alone(text: String) -> Self {
        Self { text, line: 1, column: 1 }
    }
}

impl SqlScript {
    /// Cuts `text` into statements.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let text = without_byte_order_mark(text);
        let (tokens, failed) = tokens(text);
        let mut places = SqlTokenOffsets::of(text);
        let mut statements = Vec::new();
        let mut begun: Option<(usize, Location)> = None;
        let cut = |begun: (usize, Location), end: usize| {
            let (start, Location { line, column }) = begun;
            let text = text_part(text, start..end).trim_end().to_owned();
            ScriptStatement { text, line, column }
        };
        for token in &tokens {
            let place = token.span.start;
            match &token.token {
                Token::Whitespace(_) => {}
                Token::SemiColon => {
                    let end = places.byte_of(place);
                    statements.extend(begun.take().map(|begun| cut(begun, end)));
                }
                _ if begun.is_none() => begun = Some((places.byte_of(place), place)),
                _ => {}
            }
        }
        let end = match failed {
            Some(error) => {
                // An unclosed string may be the first word of a statement.
                begun = begun.or_else(|| Some((places.byte_of(error.location), error.location)));
                ended_by(error)
            }
            None if begun.is_some() => ScriptEnd::Open,
            None => ScriptEnd::Ended,
        };
        statements.extend(begun.map(|begun| cut(begun, text.len())));
        statements.retain(|statement| !statement.text.is_empty());
        Self { statements, end }
    }
}

fn ended_by(error: TokenizerError) -> ScriptEnd {
    let TokenizerError { message, location: Location { line, column } } = error;
    let unclosed = ["Unterminated", "Unexpected EOF", "Expected close delimiter"];
    let is_unclosed = unclosed.iter().any(|start| message.starts_with(start));
    let why = message.trim_end_matches('.').to_owned();
    let fault = ScriptFault { line, column, why };
    if is_unclosed { ScriptEnd::Unclosed(fault) } else { ScriptEnd::Fault(fault) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(script: &SqlScript) -> Vec<&str> {
        script.statements.iter().map(|statement| statement.text.as_str()).collect()
    }

    #[test]
    fn semicolons_end_statements_and_nothing_else_does() {
        for text in [
            "SELECT 'a;b'",
            "SELECT ';''; -- '",
            "SELECT \"a;b\"",
            "SELECT $$a;b$$",
            "SELECT $tag$ a; $$; 'b $tag$",
            "SELECT 1 /* ; /* ; */ ; */ + 2",
            "SELECT 1 -- ; nothing\n + 2",
            "SELECT E'\\';'",
        ] {
            let script = SqlScript::read(&format!(" {text} ;\n SELECT 2;"));
            assert_eq!(texts(&script), [text, "SELECT 2"], "{text}");
            assert_eq!(script.end, ScriptEnd::Ended);
            assert_eq!(SqlScript::read(text).end, ScriptEnd::Open, "{text}");
        }
    }

    #[test]
    fn statements_know_where_they_begin() {
        let script =
            SqlScript::read("-- first\n  SELECT 'é';;  SELECT\r\n 2;\n\n/* third\n*/ SELECT 3");
        let places: Vec<_> =
            script.statements.iter().map(|it| (it.line, it.column, it.text.as_str())).collect();
        let expected = [(2, 3, "SELECT 'é'"), (2, 17, "SELECT\r\n 2"), (6, 4, "SELECT 3")];
        assert_eq!((places, script.end), (expected.to_vec(), ScriptEnd::Open));
    }

    #[test]
    fn unclosed_statements_are_distinguished_from_wrong_ones() {
        for text in ["", "  \n", "-- only this", "/* and this */", ";;"] {
            assert_eq!(
                SqlScript::read(text),
                SqlScript { statements: vec![], end: ScriptEnd::Ended }
            );
        }
        for open in
            ["SELECT 'a", "SELECT \"a", "SELECT /* a", "SELECT $$ a", "SELECT $a$ ; $$", "'"]
        {
            let script = SqlScript::read(&format!("SELECT 1;\n{open}"));
            let ScriptEnd::Unclosed(fault) = &script.end else { panic!("{open}: {script:?}") };
            assert_eq!(fault.line, 2, "{open}");
            assert_eq!(texts(&script), ["SELECT 1", open]);
        }
    }

    proptest! {
        /// Pieces that hold semicolons of their own are joined by semicolons and come apart again.
        #[test]
        fn statements_come_apart_as_they_were_put_together(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "SELECT 1", "SELECT 'a;''b'", "x /* ; */ y", "$$;$$ z", "\"q;\"", "é -- ;\n + 1",
            ]), 0..8),
            gaps in prop::collection::vec(prop::sample::select(vec!["", " ", "\n", "-- ; '\n", "/* ' */"]), 8),
        ) {
            let mut text = String::new();
            for (piece, gap) in pieces.iter().zip(&gaps) {
                text.push_str(&format!("{gap}{piece};"));
            }
            let script = SqlScript::read(&text);
            prop_assert_eq!(texts(&script), pieces);
            for statement in &script.statements {
                let line = text.split('\n').nth(statement.line as usize - 1).unwrap();
                let rest: String = line.chars().skip(statement.column as usize - 1).collect();
                let first = statement.text.lines().next().unwrap();
                prop_assert!(rest.starts_with(first), "{} in {}", first, rest);
            }
        }
    }
}
