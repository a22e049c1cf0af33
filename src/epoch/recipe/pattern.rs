//! Patterns of names, as shells have them: `*`, `?` and `[..]`.

/// What a name must be: one piece after the other, up to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::epoch) struct NamePattern(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// Any characters, also none.
    Run,
    /// Any one character.
    Any,
    /// This character.
    Is(char),
    /// One of these, each from the first to the last; or one of none of them.
    Of { ranges: Vec<(char, char)>, others: bool },
}

impl NamePattern {
    /// Whether a text means more than one name.
    pub fn is(text: &str) -> bool {
        text.contains(['*', '?', '['])
    }

    /// Reads a pattern: `*` is any run of characters, `?` any one, `[a-z0]` one of those, `[!a-z]` one of no others. A
    /// `]` that is to be among them stands first, a `-` first or last.
    ///
    /// # Errors
    /// In words, for a `[` that is not closed and for a range that ends before it begins.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text.chars();
        while let Some(next) = rest.next() {
            pieces.push(match next {
                '*' => Piece::Run,
                '?' => Piece::Any,
                '[' => {
                    let inside = rest.as_str();
                    let (piece, behind) = class(inside)?;
                    rest = behind.chars();
                    piece
                }
                other => Piece::Is(other),
            });
        }
        Ok(Self(pieces))
    }

    /// Whether a name is such a one, all of it.
    pub fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let (mut piece, mut at) = (0, 0);
        // Where the last run stands, and how far it reaches: the only choice there is to take back.
        let mut run: Option<(usize, usize)> = None;
        while at < name.len() {
            match (self.0.get(piece), name.get(at)) {
                (Some(Piece::Run), _) => {
                    run = Some((piece, at));
                    piece += 1;
                }
                (Some(one), Some(character)) if one.is(*character) => {
                    piece += 1;
                    at += 1;
                }
                _ => {
                    let Some((of, until)) = run else { return false };
                    run = Some((of, until + 1));
                    (piece, at) = (of + 1, until + 1);
                }
            }
        }
        self.0.get(piece..).unwrap_or_default().iter().all(|piece| *piece == Piece::Run)
    }
}

impl Piece {
    fn is(&self, character: char) -> bool {
        match self {
            Self::Run => false,
            Self::Any => true,
            Self::Is(one) => *one == character,
            Self::Of { ranges, others } => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&character)) != *others
            }
        }
    }
}

/// The characters of a `[..]` whose `[` was read, and what stands behind it.
fn class(text: &str) -> Result<(Piece, &str), String> {
    let (others, inside) = match text.strip_prefix('!') {
        Some(inside) => (true, inside),
        None => (false, text),
    };
    let skipped = inside.chars().next().map_or(0, char::len_utf8);
    let end = inside.get(skipped..).and_then(|behind| behind.find(']'));
    let end = end.map(|end| end + skipped).ok_or("a `[` is not closed by a `]`")?;
    let (members, behind) = inside.split_at(end);
    let members: Vec<char> = members.chars().collect();
    let (mut ranges, mut at) = (Vec::new(), 0);
    while let Some(from) = members.get(at) {
        let to = members.get(at + 2).filter(|_| members.get(at + 1) == Some(&'-'));
        if let Some(to) = to.filter(|to| *to < from) {
            return Err(format!("the range `{from}-{to}` ends before it begins"));
        }
        ranges.push((*from, *to.unwrap_or(from)));
        at += if to.is_some() { 3 } else { 1 };
    }
    Ok((Piece::Of { ranges, others }, behind.get(1..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(pattern: &str, name: &str) -> bool {
        NamePattern::parse(pattern).unwrap().matches(name)
    }

    #[test]
    fn patterns_mean_what_shells_mean_by_them() {
        for (pattern, those, others) in [
            ("2024-*", &["2024-01", "2024-"][..], &["2024", "x2024-01", "2025-01"][..]),
            ("*-crawl", &["a-crawl", "-crawl", "a-crawl-crawl"], &["a-crawls"]),
            ("2024-0?", &["2024-01", "2024-0é"], &["2024-0", "2024-011"]),
            ("20[12][0-9]", &["2019", "2024"], &["2034", "202", "20[1"]),
            ("[!a]*", &["b", "]a"], &["a", "ab", ""]),
            ("[]x]", &["]", "x"], &["a"]),
            ("[a-]", &["a", "-"], &["b"]),
            ("a/*/c", &["a/b/c", "a//c", "a/b/b/c"], &["a/c"]),
            ("*a*b", &["ab", "aabb", "xaxb"], &["ba", "abx"]),
            ("", &[""], &["a"]),
            ("Web", &["Web"], &["web"]),
        ] {
            for name in those {
                assert!(matches(pattern, name), "{pattern} {name}");
            }
            for name in others {
                assert!(!matches(pattern, name), "{pattern} {name}");
            }
        }
        for (pattern, why) in [("a[", "not closed"), ("a[]", "not closed"), ("[b-a]", "`b-a`")] {
            assert!(NamePattern::parse(pattern).unwrap_err().contains(why), "{pattern}");
        }
    }

    /// As the definition says it, trying every length of every run.
    fn by_definition(pieces: &[Piece], name: &[char]) -> bool {
        match pieces.split_first() {
            None => name.is_empty(),
            Some((Piece::Run, rest)) => {
                (0..=name.len()).any(|taken| by_definition(rest, &name[taken..]))
            }
            Some((piece, rest)) => name
                .split_first()
                .is_some_and(|(one, name)| piece.is(*one) && by_definition(rest, name)),
        }
    }

    proptest! {
        #[test]
        fn every_pattern_matches_what_its_definition_says(
            pattern in "(a|b|\\*|\\?|\\[ab\\]|\\[!a\\]){0,8}",
            name in "[abc]{0,10}",
        ) {
            let pattern = NamePattern::parse(&pattern).unwrap();
            let characters: Vec<char> = name.chars().collect();
            prop_assert_eq!(pattern.matches(&name), by_definition(&pattern.0, &characters));
        }
    }
}
