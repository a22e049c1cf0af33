//! The tables `[[source]]` and `[mix]`: the sources of an epoch, by name or by pattern, and how they share it.

use super::rows::{LongDocuments, PackKind};
use crate::epoch::mix::Ramp;
use model::invariant::{part, text_part};
use model::named;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use toml::Value;

/// One source of the epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SourceRecipe {
    /// Its name in the epoch.
    pub name: String,
    /// The corpus's sources it draws from; the one of its name by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<DrawsFrom>,
    /// SQL boolean expression over `documents`, besides `select.where`.
    #[serde(rename = "where", default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Its share in `mix.unit`, relative to the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// The amount that one epoch takes from it, in `mix.unit`, instead of a weight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Passes over its documents in the whole run, at most; 1 by default.
    #[serde(default = "one")]
    pub max_repeats: u32,
    /// Overrides of `[pack]`.
    #[serde(default)]
    pub pack: SourcePack,
}

impl SourceRecipe {
    /// The source `name`, drawn from the corpus's source of that name once.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            from: Some(DrawsFrom::from(name)),
            condition: None,
            weight: None,
            tokens: None,
            max_repeats: 1,
            pack: SourcePack::default(),
        }
    }
}

const fn one() -> u32 {
    1
}

/// What a source may override of `[pack]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SourcePack {
    /// What happens to documents longer than a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long: Option<LongDocuments>,
    /// Not supported yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<PackKind>,
    /// Not supported yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<u32>,
    /// Not supported yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", schemars(with = "Option<serde_json::Value>"))]
    pub options: Option<Value>,
}

/// The sources of the corpus that a source of an epoch draws from: names, or patterns of names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum DrawsFrom {
    /// One name or pattern.
    One(String),
    /// All of these together.
    Several(Vec<String>),
}

impl DrawsFrom {
    /// The names and patterns.
    #[must_use]
    pub fn entries(&self) -> &[String] {
        match self {
            Self::One(entry) => std::slice::from_ref(entry),
            Self::Several(entries) => entries,
        }
    }
}

impl From<&str> for DrawsFrom {
    fn from(name: &str) -> Self {
        Self::One(name.to_owned())
    }
}

impl<'de> Deserialize<'de> for DrawsFrom {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DrawsFromVisitor)
    }
}

struct DrawsFromVisitor;

impl<'de> Visitor<'de> for DrawsFromVisitor {
    type Value = DrawsFrom;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a source, a pattern such as \"2024-*\", or a list of them")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<DrawsFrom, E> {
        Ok(DrawsFrom::One(name.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<DrawsFrom, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = list.next_element::<String>()? {
            if entries.contains(&entry) {
                return Err(A::Error::custom(format!("`{entry}` is in the list twice")));
            }
            entries.push(entry);
        }
        if entries.is_empty() {
            return Err(A::Error::custom("an empty list: name a source, or leave `from` out"));
        }
        Ok(DrawsFrom::Several(entries))
    }
}

/// What a name must be: one piece after the other, up to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::epoch) struct NamePattern(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// Any characters, also none.
    Run,
    /// Any one character.
    Any,
    /// Exactly this character.
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
        part(&self.0, piece..).iter().all(|piece| *piece == Piece::Run)
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
    Ok((Piece::Of { ranges, others }, text_part(behind, 1..)))
}

/// How sources share the epoch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct MixRecipe {
    /// Absent: `weights` when a source has a weight, else `natural`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<MixMethod>,
    /// The unit in which shares and the size of an epoch are counted.
    pub unit: MixUnit,
    /// Size of one epoch in `unit`; absent: the largest that `max_repeats` allows, and with
    /// `natural` one pass over everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// T of `temperature`: a source of size n has a share in proportion to n^(1/T).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Weights that change during the run, ascending by time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<SchedulePoint>,
}

/// Weights from a moment of the run on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SchedulePoint {
    /// The moment, in `mix.unit` given since the run began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_tokens: Option<u64>,
    /// The moment, in global batches of full rows; needs `batch.rows`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_step: Option<u64>,
    /// Weight by source; a source left out has none.
    pub weights: BTreeMap<String, f64>,
    /// How weights go from this point to the next.
    #[serde(default)]
    pub ramp: Ramp,
}

/// How shares are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum MixMethod {
    /// Shares are the `weight` of each source.
    Weights,
    /// In proportion to what the sources hold.
    Natural,
    /// In proportion to a root of what the sources hold (mT5).
    Temperature,
    /// As even as `max_repeats` allows (UniMax, arXiv 2304.09151).
    Unimax,
}

/// The unit in which shares and the size of an epoch are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MixUnit {
    /// Real tokens: BOS and EOS in, pads out.
    #[default]
    Tokens,
    /// Tokens that are trained on: those of the loss spans of a document, or all of it.
    LossTokens,
    /// Documents, counted where they begin.
    Documents,
    /// Rows, whatever their length.
    Rows,
}

named!(MixUnit {
    Tokens = "tokens", LossTokens = "loss tokens", Documents = "documents", Rows = "rows",
});

impl MixUnit {
    /// Whether a row may count nothing.
    pub(in crate::epoch) const fn counts_parts(self) -> bool {
        matches!(self, Self::LossTokens | Self::Documents)
    }
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

    /// Matches by definition: tries every length of every run.
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
