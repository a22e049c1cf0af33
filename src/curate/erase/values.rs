//! Finds values of purged documents in words that users wrote.
//!
//! A value that no other document has is a quotation, as a text or a key is.
//!
//! A value is a string or a long number among the fields of a document. It is found in words by its runs, and a word of
//! SQL between quotes is found in a value: `author LIKE '%plinkenburger%'` quotes a part of one. That others have it too
//! is looked up only where words have it at all, since every document is read for that.

use super::spellings::any;
use super::traces::{self, TraceSearch};
use model::{DocId, Error, Standing};
use roaring::RoaringTreemap;
use serde_json::Value;
use std::collections::BTreeSet;
use store::{TracePart, TraceRun, View};

/// Calls what it is given with each of many words.
type Words<'a> = &'a mut dyn FnMut(&mut dyn FnMut(&[u8])) -> Result<(), Error>;

/// Runs of a value: its beginning and its end.
const RUNS: usize = 2;
/// Runs of all values of a document that are searched for.
const MOST: usize = 256;
/// Bytes from which on a literal that is a part of a value quotes it; a shorter one is the whole of it.
pub(super) const PART: usize = 8;

/// Adds the runs of the values of a document.
pub(super) fn add_runs(metadata: &str, runs: &mut Vec<TraceRun>) {
    let before = runs.len();
    each(metadata, &mut |value| {
        if runs.len() < before + MOST {
            traces::add(value.as_bytes(), TracePart::Metadata, RUNS, runs);
        }
    });
}

/// Calls `found` with every string among these fields, and every number of some length.
pub(super) fn each(metadata: &str, found: &mut dyn FnMut(&str)) {
    fn walk(value: &Value, found: &mut dyn FnMut(&str)) {
        match value {
            Value::String(text) => found(text),
            Value::Number(number) => {
                let number = number.to_string();
                if number.len() >= PART {
                    found(&number);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, found)),
            Value::Object(members) => members.values().for_each(|member| walk(member, found)),
            Value::Null | Value::Bool(_) => {}
        }
    }
    if metadata != "{}"
        && let Ok(value) = serde_json::from_str::<Value>(metadata)
    {
        walk(&value, found);
    }
}

/// The parts of values that words quote, to be searched for in other words.
#[derive(Default)]
pub(super) struct ValueQuotes {
    runs: Vec<TraceRun>,
    literals: BTreeSet<String>,
    search: Option<TraceSearch>,
}

impl ValueQuotes {
    /// The quotations, in words, of values of some `documents` that no document beside `erased` has, as long as `most`
    /// runs are enough. `words` calls its argument with each of the words.
    pub(super) fn of(
        view: &View,
        documents: &mut impl Iterator<Item = DocId>,
        erased: &RoaringTreemap,
        most: usize,
        words: Words<'_>,
    ) -> Result<Self, Error> {
        let mut literals = BTreeSet::new();
        words(&mut |words| literals.extend(sql_literals(words)))?;
        let literals = Literals::of(literals);
        let (mut runs, mut in_values) = (Vec::new(), BTreeSet::new());
        while runs.len() < most
            && let Some(document) = documents.next()
        {
            let (key, metadata) = (view.key(document)?, view.metadata(document)?);
            add_runs(&metadata, &mut runs);
            literals.in_values(key.as_deref(), &metadata, &mut in_values);
        }
        let (search, mut met) = (TraceSearch::of(runs.iter()), BTreeSet::new());
        words(&mut |words| {
            any(words, &mut |bytes| {
                search.within(bytes, 0, &mut |run, _| _ = met.insert(run));
                false
            });
        })?;
        let runs: Vec<TraceRun> = met.iter().filter_map(|at| runs.get(*at).copied()).collect();
        Self { runs, literals: in_values, search: None }.without_shared(view, erased)
    }

    /// Drops the values that other documents have.
    fn without_shared(self, view: &View, erased: &RoaringTreemap) -> Result<Self, Error> {
        let Self { mut runs, mut literals, .. } = self;
        if runs.is_empty() && literals.is_empty() {
            return Ok(Self::default());
        }
        let purged = view.documents_standing(Standing::Purged)?;
        let (search, finder) = (TraceSearch::of(runs.iter()), Literals::of(literals.clone()));
        let (mut shared, mut shared_literals) = (BTreeSet::new(), BTreeSet::new());
        for row in view.keys(0..view.documents())? {
            let (document, key) = row?;
            if erased.contains(document.0) || purged.contains(document.0) {
                continue;
            }
            let metadata = view.metadata(document)?;
            any(metadata.as_bytes(), &mut |bytes| {
                search.within(bytes, 0, &mut |run, _| _ = shared.insert(run));
                false
            });
            finder.in_values(key.as_deref(), &metadata, &mut shared_literals);
        }
        let mut at = 0..;
        runs.retain(|_| at.next().is_some_and(|at| !shared.contains(&at)));
        literals.retain(|literal| !shared_literals.contains(literal));
        let search = (!runs.is_empty()).then(|| TraceSearch::of(runs.iter()));
        Ok(Self { runs, literals, search })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.literals.is_empty()
    }

    /// Whether `bytes` contain one of the values.
    pub(super) fn are_in(&self, bytes: &[u8]) -> bool {
        self.search.as_ref().is_some_and(|search| search.any(bytes))
            || !self.literals.is_empty()
                && sql_literals(bytes).any(|literal| self.literals.contains(&literal))
    }
}

/// Literals of SQL, and a search for them in values.
struct Literals {
    all: BTreeSet<String>,
    /// For each run, the literal that it begins.
    long: Vec<String>,
    search: TraceSearch,
}

impl Literals {
    fn of(all: BTreeSet<String>) -> Self {
        let (mut runs, mut long) = (Vec::new(), Vec::new());
        for literal in all.iter().filter(|literal| literal.len() >= PART) {
            traces::add(literal.as_bytes(), TracePart::Metadata, 1, &mut runs);
            long.resize(runs.len(), literal.clone());
        }
        Self { all, long, search: TraceSearch::of(runs.iter()) }
    }

    /// Adds to `found` the literals that are part of a value or key of a document; a short literal must be the whole
    /// of it.
    fn in_values(&self, key: Option<&str>, metadata: &str, found: &mut BTreeSet<String>) {
        if self.all.is_empty() {
            return;
        }
        let mut look = |value: &str| {
            let value = value.to_lowercase();
            self.search.within(value.as_bytes(), 0, &mut |run, at| {
                let literal = self.long.get(run);
                found.extend(
                    literal
                        .filter(|long| {
                            value.get(at..).is_some_and(|rest| rest.starts_with(long.as_str()))
                        })
                        .cloned(),
                );
            });
            if self.all.contains(&value) {
                found.insert(value);
            }
        };
        each(metadata, &mut look);
        key.into_iter().for_each(look);
    }
}

/// The texts between quotes, in small letters and without the signs of `LIKE` around them. Words that hold an odd
/// quote (`don't`) give parts that are in no value.
fn sql_literals(words: &[u8]) -> impl Iterator<Item = String> {
    let words = String::from_utf8_lossy(words).replace("''", "\u{fdd6}");
    let parts: Vec<String> = words
        .split('\'')
        .skip(1)
        .map(|part| part.replace('\u{fdd6}', "'").trim_matches(['%', '_']).to_lowercase())
        .filter(|part| !part.is_empty())
        .collect();
    parts.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_of_sql_are_read() {
        let of = |words: &str| sql_literals(words.as_bytes()).collect::<Vec<_>>();
        assert_eq!(of("a = 'X y' AND b LIKE '%O''Brien_%'"), ["x y", " and b like ", "o'brien"]);
        assert_eq!(of("no quotes"), [""; 0]);
        assert_eq!(of("don't"), ["t"]);
    }

    #[test]
    fn strings_and_long_numbers_are_values() {
        let mut found = Vec::new();
        let metadata = r#"{"a":"x","b":[{"c":"y"},5,49151234567],"d":null,"e":true}"#;
        each(metadata, &mut |value| found.push(value.to_owned()));
        assert_eq!(found, ["x", "y", "49151234567"]);
        each("{", &mut |_| panic!("is no object"));
    }
}
