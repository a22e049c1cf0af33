//! `from` of a source: the sources of the corpus that it draws from, by name or by pattern, one or a list.

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

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
