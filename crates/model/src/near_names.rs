//! The error of an unknown name, and its hint: the known name that was probably meant, or a list of the known names.

use super::{Error, ErrorKind, Hint};

/// The least likeness from which one name is taken for another one mistyped.
const NEAR: f64 = 0.8;

/// The most names of a list that are shown; the rest is counted.
const TOLD: usize = 10;

/// What makes the first thing of a kind, where a corpus has none.
const MAKERS: [(&str, &str); 6] = [
    ("source", "corpusdb ingest"),
    ("field", "corpusdb field add"),
    ("tokenizer", "corpusdb tokenizer add"),
    ("snapshot", "corpusdb snapshot create"),
    ("suite", "corpusdb contamination add"),
    ("plan", "corpusdb epoch plan"),
];

/// A name that nothing has, with those that there are. It reads ``no source `wbe` ``.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {what} `{name}`")]
pub struct UnknownName {
    /// What was asked for, such as `source` or `column`.
    pub what: &'static str,
    /// The name asked for.
    pub name: String,
    /// The names that there are, in the order in which the hint lists them.
    pub known: Vec<String>,
}

impl UnknownName {
    /// The error that nothing of this kind has this name, given the known names.
    pub fn new<N: Into<String>>(
        what: &'static str,
        name: &str,
        known: impl IntoIterator<Item = N>,
    ) -> Self {
        let known = known.into_iter().map(Into::into).collect();
        Self { what, name: name.to_owned(), known }
    }

    /// The way out: the name that was meant, or the first ten that there are.
    #[must_use]
    pub fn hint(&self) -> Hint {
        let made_by = MAKERS.iter().find(|(what, _)| *what == self.what);
        match made_by.filter(|_| self.known.is_empty()) {
            Some((_, command)) => {
                Hint::text("there is none; this makes one").with_command(*command)
            }
            None => Hint::text(way_out(&self.name, &self.known)),
        }
    }
}

impl From<UnknownName> for Error {
    fn from(unknown: UnknownName) -> Self {
        let hint = unknown.hint();
        Self::new(ErrorKind::NotFound, unknown).with_hint(hint)
    }
}

/// What a name was meant for, as a question: ``did you mean `source`?``. Nothing where no known name is like it.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(name, known).map(|near| format!("did you mean `{near}`?"))
}

/// A question for the name that was probably meant, or else the first ten known names.
#[doc(hidden)]
pub fn way_out(name: &str, known: &[impl AsRef<str>]) -> String {
    did_you_mean(name, known.iter().map(AsRef::as_ref)).unwrap_or_else(|| there_are(known))
}

/// The first ten of some names: ``there are `a`, `b` and 7 more``.
#[doc(hidden)]
pub fn there_are(known: &[impl AsRef<str>]) -> String {
    let told: Vec<String> =
        known.iter().take(TOLD).map(|name| format!("`{}`", name.as_ref())).collect();
    match (told.as_slice(), known.len() - told.len()) {
        ([], _) => "there is none".to_owned(),
        ([only], _) => format!("there is {only}"),
        (told, 0) => format!("there are {}", told.join(", ")),
        (told, more) => format!("there are {} and {more} more", told.join(", ")),
    }
}

/// The known name that a name is most like, if it is like one at all; of equally near ones the last. A number is not
/// another one mistyped, nor is a pattern a name.
fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.contains('*') || name.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let likeness = |known: &'a str| (likeness(name, known), known);
    let others = known.into_iter().filter(|known| *known != name);
    let near = others.map(likeness).filter(|(likeness, _)| *likeness > NEAR);
    near.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}

/// From 0 to 1. Of short names one slip of a finger (`wbe`) counts, which leaves few letters in their places; the same
/// letters in another case are most alike.
fn likeness(name: &str, known: &str) -> f64 {
    const LETTERS: usize = 3;
    if name.eq_ignore_ascii_case(known) {
        return 1.0;
    }
    let likeness = strsim::jaro(name, known);
    let is_slip = known.chars().count() >= LETTERS && strsim::osa_distance(name, known) == 1;
    if is_slip { likeness.max(0.9) } else { likeness }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_like_a_known_one_finds_it_and_another_one_finds_none() {
        let known = ["source", "length", "language", "web"];
        assert_eq!(nearest("lenght", known), Some("length"));
        assert_eq!(nearest("langauge", known), Some("language"));
        assert_eq!(nearest("wbe", known), Some("web"));
        assert_eq!(nearest("url", ["ur", "URL", "uri"]), Some("URL"));
        assert_eq!(nearest("xyz", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest("source", []), None);
        // A known name is what it says, whatever else is wrong with it.
        assert_eq!(nearest("web", ["web", "xyz"]), None);
        assert_eq!(nearest("2026", ["2025"]), None);
        assert_eq!(nearest("2026-*", ["2026-1"]), None);
        assert_eq!(did_you_mean("sorce", known).unwrap(), "did you mean `source`?");
    }

    #[test]
    fn up_to_ten_names_are_listed() {
        let unknown = |known: &[String]| UnknownName::new("source", "xyz", known.iter().cloned());
        let names: Vec<String> = (0..12).map(|number| format!("part {number}")).collect();
        assert_eq!(unknown(&names).to_string(), "no source `xyz`");
        let told = unknown(&names).hint().to_string();
        assert!(told.starts_with("there are `part 0`, `part 1`, "), "{told}");
        assert!(told.ends_with("`part 9` and 2 more"), "{told}");
        assert_eq!(unknown(&names[..1]).hint().to_string(), "there is `part 0`");
        let none = unknown(&[]).hint().to_string();
        assert_eq!(none, "there is none; this makes one: `corpusdb ingest`");
        assert_eq!(way_out("wbe", &["web"]), "did you mean `web`?");
    }
}
