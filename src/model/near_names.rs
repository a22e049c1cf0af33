//! The name that was meant by a mistyped one.

use super::Hint;

/// The least likeness from which one name is taken for another one mistyped.
const NEAR: f64 = 0.8;

/// The known name that a name is most like, if it is like one at all; of equally near ones the last.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |known: &'a str| (strsim::jaro_winkler(name, known), known);
    let near = known.into_iter().map(likeness).filter(|(likeness, _)| *likeness > NEAR);
    near.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}

/// The way out of a name that there is not: the known one that it is most like.
pub(crate) fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<Hint> {
    nearest(name, known).map(|near| Hint::text(format!("did you mean `{near}`?")))
}

/// The names of a list as messages have it: parted by commas, each in backticks or none.
pub(crate) fn listed(names: &str) -> impl Iterator<Item = &str> {
    names.split(", ").map(|name| name.trim_matches(|c: char| c == '`' || c.is_whitespace()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_like_a_known_one_finds_it_and_another_one_finds_none() {
        let known = ["source", "length", "language"];
        assert_eq!(nearest("lenght", known), Some("length"));
        assert_eq!(nearest("langauge", known), Some("language"));
        assert_eq!(nearest("xyz", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest("source", []), None);
        assert_eq!(meant("sorce", known).unwrap().text, "did you mean `source`?");
        assert_eq!(listed("`a`, b,  `c d`").collect::<Vec<_>>(), ["a", "b", "c d"]);
    }
}
