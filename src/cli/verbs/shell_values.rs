//! Completes values within quotes in the shell: of a column that a statement compares, and names of snapshots.

use corpusdb::show;
use corpusdb::sql::SqlValues;

/// Values that are offered, at most: a corpus may have millions.
const MOST: usize = 1000;

/// The text within quotes that is being typed at the end of a statement, and what it is a value of.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ValuePlace {
    /// The byte behind the quote.
    pub(super) start: usize,
    /// What has been typed of the value.
    beginning: String,
    of: CompletionSource,
}

#[derive(Debug, PartialEq, Eq)]
enum CompletionSource {
    /// Of a column of documents.
    Column(String),
    /// A name of a snapshot.
    Snapshot,
    /// Of something that has no list of values.
    Other,
}

impl ValuePlace {
    /// The place at the end of `typed`, where that is within quotes.
    pub(super) fn of(typed: &str) -> Option<Self> {
        if typed.trim_start().starts_with('.') {
            return None;
        }
        let (before, within) = typed.split_at(open_quote(typed)?);
        Some(Self {
            start: before.len() + 1,
            beginning: within.strip_prefix('\'').unwrap_or(within).replace("\'\'", "\'"),
            of: kind(before),
        })
    }

    /// The values that begin so, as SQL spells them, with the quote that ends each.
    pub(super) fn complete(&self, values: &SqlValues) -> Vec<String> {
        let found = match &self.of {
            CompletionSource::Column(column) => values.of_column(column, &self.beginning, MOST),
            CompletionSource::Snapshot => values.of_snapshots(&self.beginning, MOST),
            CompletionSource::Other => return Vec::new(),
        };
        // Nothing is offered where the store cannot be read: a statement will say why.
        let found = found.unwrap_or_default().into_iter();
        let found = found.filter(|value| !value.contains(show::acts_on_terminals));
        found.map(|value| format!("{}\'", value.replace('\'', "\'\'"))).collect()
    }
}

/// The byte of a single quote that nothing closes.
fn open_quote(typed: &str) -> Option<usize> {
    let mut open: Option<(usize, char)> = None;
    let mut signs = typed.char_indices().peekable();
    while let Some((at, sign)) = signs.next() {
        match (open, sign) {
            // A doubled quote closes and opens again.
            (Some((_, quote)), sign) if sign == quote => {
                if signs.next_if(|(_, next)| *next == quote).is_none() {
                    open = None;
                }
            }
            (None, '\'' | '"') => open = Some((at, sign)),
            (None, '-') if signs.next_if(|(_, next)| *next == '-').is_some() => {
                while signs.next().is_some_and(|(_, sign)| sign != '\n') {}
            }
            _ => {}
        }
    }
    open.filter(|(_, quote)| *quote == '\'').map(|(at, _)| at)
}

/// What a value is of whose quote stands behind `before`.
fn kind(before: &str) -> CompletionSource {
    let before = before.trim_end();
    if let Some(list) = before.strip_suffix(['(', ',']) {
        let call = match before.ends_with('(') {
            true => list.trim_end(),
            // Of a list the values before this one are passed over.
            false => match list.rfind('(') {
                Some(at) => list.split_at(at).0.trim_end(),
                None => return CompletionSource::Other,
            },
        };
        let (of, word) = last_word(call);
        return match word.to_ascii_lowercase().as_str() {
            "documents_at" => CompletionSource::Snapshot,
            "in" => column(of),
            _ => CompletionSource::Other,
        };
    }
    let compared = ["!=", "<>", "="].iter().find_map(|sign| before.strip_suffix(sign));
    match compared.filter(|of| !of.ends_with(['<', '>'])) {
        Some(of) => column(of),
        None => CompletionSource::Other,
    }
}

/// The column that stands last in a text, but for `NOT` behind it.
fn column(text: &str) -> CompletionSource {
    let text = text.trim_end();
    if let Some(name) = text.strip_suffix('"') {
        let at = name.rfind('"').map_or(0, |at| at + 1);
        return CompletionSource::Column(name.split_at(at).1.to_owned());
    }
    match last_word(text) {
        (before, word) if word.eq_ignore_ascii_case("not") => column(before),
        (_, "") => CompletionSource::Other,
        // A name without quotes is small.
        (_, name) => CompletionSource::Column(name.to_lowercase()),
    }
}

/// A text before its last word, and the word.
fn last_word(text: &str) -> (&str, &str) {
    let text = text.trim_end();
    text.split_at(text.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_of_the_column_that_it_is_compared_with() {
        let of = |typed: &str| ValuePlace::of(typed).map(|place| (place.of, place.beginning));
        let column = |name: &str, typed: &str| {
            Some((CompletionSource::Column(name.to_owned()), typed.to_owned()))
        };
        for (typed, expected) in [
            ("SELECT id FROM documents WHERE source = 'we", column("source", "we")),
            ("SELECT 1 WHERE Source='", column("source", "")),
            ("SELECT 1 WHERE d.language <> 'e", column("language", "e")),
            ("SELECT 1 WHERE standing != '", column("standing", "")),
            ("SELECT 1 WHERE \"Site-Rank\" = 'x", column("Site-Rank", "x")),
            ("SELECT 1 WHERE source IN ('", column("source", "")),
            ("SELECT 1 WHERE source NOT IN ('a', 'it''s', '", column("source", "")),
            ("SELECT 1 WHERE key = 'it''s ('\nAND source = 'x''y", column("source", "x'y")),
            ("SELECT 1 -- it's\n WHERE source = '", column("source", "")),
            ("SELECT 1 FROM documents_at ( 'j", Some((CompletionSource::Snapshot, "j".to_owned()))),
            ("SELECT 'a", Some((CompletionSource::Other, "a".to_owned()))),
            ("SELECT 1 WHERE a <= 'x", Some((CompletionSource::Other, "x".to_owned()))),
            ("SELECT lower('x", Some((CompletionSource::Other, "x".to_owned()))),
            ("SELECT 1 WHERE source = 'web' AND ", None),
            ("SELECT \"it's", None),
            (".output 'x", None),
        ] {
            assert_eq!(of(typed), expected, "{typed}");
        }
        let place = ValuePlace::of("WHERE source = 'we").unwrap();
        assert_eq!(place.start, "WHERE source = '".len());
    }
}
