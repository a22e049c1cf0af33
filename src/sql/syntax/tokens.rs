//! Cuts texts into the engine's tokens, with their places.

use super::dialect::CorpusDialect;
use datafusion::sql::sqlparser::tokenizer::{Location, TokenWithSpan, Tokenizer, TokenizerError};
use model::invariant::text_part;
use model::text_file::without_byte_order_mark;

pub(in crate::sql) static DIALECT: CorpusDialect = CorpusDialect;

/// The tokens of `sql` up to the first invalid one, without a byte order mark, and the error about that one.
pub(in crate::sql) fn tokens(sql: &str) -> (Vec<TokenWithSpan>, Option<TokenizerError>) {
    let mut tokens = Vec::new();
    let sql = without_byte_order_mark(sql);
    let failed = Tokenizer::new(&DIALECT, sql).tokenize_with_location_into_buf(&mut tokens).err();
    (tokens, failed)
}

/// Converts places, which the tokenizer counts in lines and characters, into bytes. Places must be asked for in
/// ascending order.
pub(in crate::sql) struct SqlTokenOffsets<'a> {
    text: &'a str,
    byte: usize,
    at: Location,
}

impl<'a> SqlTokenOffsets<'a> {
    pub(in crate::sql) const fn of(text: &'a str) -> Self {
        Self { text, byte: 0, at: Location { line: 1, column: 1 } }
    }

    pub(in crate::sql) fn byte_of(&mut self, place: Location) -> usize {
        for c in text_part(self.text, self.byte..).chars() {
            if self.at >= place {
                break;
            }
            self.byte += c.len_utf8();
            self.at = match c {
                '\n' => Location { line: self.at.line + 1, column: 1 },
                _ => Location { line: self.at.line, column: self.at.column + 1 },
            };
        }
        self.byte
    }
}
