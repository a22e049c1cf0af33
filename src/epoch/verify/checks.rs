//! The named checks of a verification, their verdicts, and the faults that are found in a row.

use crate::epoch::pack::Segment;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// The most failures of one check that are reported; all are counted.
const TOLD: usize = 3;

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Property {
    Manifest,
    Files,
    Hashes,
    Order,
    Conservation,
    Integrity,
    Ids,
    Boundaries,
    Positions,
    Labels,
    Mix,
}

impl Property {
    const ALL: [(Self, &str, &str); 11] = [
        (Self::Manifest, "manifest", "manifest"),
        (Self::Files, "files", "files"),
        (Self::Hashes, "hashes", "files"),
        (Self::Order, "order", "rows"),
        (Self::Conservation, "conservation", "segments"),
        (Self::Integrity, "integrity", "segments"),
        (Self::Ids, "ids", "segments"),
        (Self::Boundaries, "boundaries", "rows"),
        (Self::Positions, "positions", "rows"),
        (Self::Labels, "labels", "rows"),
        (Self::Mix, "mix", "prefixes"),
    ];
}

/// One property of the export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct PropertyCheck {
    /// Its name: `manifest`, `files`, `hashes`, `order`, `conservation`, `integrity`, `ids`,
    /// `boundaries`, `positions`, `labels` or `mix`.
    pub name: String,
    /// Whether it holds.
    pub passed: bool,
    /// What was examined, or the first failures and how many there are.
    pub detail: String,
}

/// The verdict on an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Verification {
    /// Every check that was made, also those that passed.
    pub checks: Vec<PropertyCheck>,
    /// Rows that were read back from the files.
    pub rows: u64,
    /// Real tokens read.
    pub tokens: u64,
}

impl Verification {
    /// Whether every check holds.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.passed)
    }
}

impl fmt::Display for Verification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for check in &self.checks {
            let word = if check.passed { "ok  " } else { "FAIL" };
            writeln!(f, "{word}  {:<12}  {}", check.name, check.detail)?;
        }
        let verdict = if self.passed() { "verified" } else { "NOT verified" };
        write!(f, "{verdict}: {} rows, {} real tokens", self.rows, self.tokens)
    }
}

/// The checks under way.
#[derive(Debug, Default)]
pub(super) struct CheckList {
    entries: BTreeMap<Property, CheckEntry>,
}

#[derive(Debug, Default)]
struct CheckEntry {
    looked_at: u64,
    failures: u64,
    told: Vec<String>,
}

impl CheckList {
    /// `count` more things were examined.
    pub fn note(&mut self, property: Property, count: u64) {
        self.entries.entry(property).or_default().looked_at += count;
    }

    /// One more thing was examined, if it was.
    pub fn note_if(&mut self, property: Property, looked_at: bool) {
        if looked_at {
            self.note(property, 1);
        }
    }

    /// Something does not hold.
    pub fn fail(&mut self, property: Property, why: String) {
        let entry = self.entries.entry(property).or_default();
        entry.failures += 1;
        if entry.told.len() < TOLD {
            entry.told.push(why);
        }
    }

    /// The verdict. Properties that the format has nothing for are left out.
    pub fn verdict(self, rows: u64, tokens: u64) -> Verification {
        let mut checks = Vec::new();
        for (property, name, unit) in Property::ALL {
            let Some(entry) = self.entries.get(&property) else { continue };
            let passed = entry.failures == 0;
            let detail = if passed {
                format!("{} {unit}", entry.looked_at)
            } else {
                let more = entry.failures - entry.told.len() as u64;
                let more = if more > 0 { format!("; and {more} more") } else { String::new() };
                format!("{}{more}", entry.told.join("; "))
            };
            checks.push(PropertyCheck { name: name.to_owned(), passed, detail });
        }
        Verification { checks, rows, tokens }
    }
}

/// What stands at each position of a row: (segment, token of it), or a pad.
pub(super) type RowPlaces = Vec<Option<(usize, usize)>>;

/// What was found in a row.
#[derive(Debug, Default)]
pub(super) struct RowFindings {
    /// Tokens that its segments hold.
    pub real: usize,
    /// Its segments, where they could be made sense of.
    pub segments: Vec<Segment>,
    /// Where in the row each segment begins.
    pub starts: Vec<usize>,
    pub failures: Vec<(Property, String)>,
}

impl RowFindings {
    pub fn fail(&mut self, property: Property, why: String) {
        self.failures.push((property, why));
    }
}
