//! Counts the files of an ingest by outcome: read, unchanged, or left out for a reason.

use files::input::{CsvOddities, LeftFile, LeftRole};
use model::is_zero;
use model::show::{count, number};
use serde::Serialize;
use std::collections::BTreeMap;

/// The most files that are named with the same outcome.
const NAMED: u64 = 1000;

/// What quotes of a table may be meant otherwise, with the way to say so.
pub(super) fn odd_quote_words(path: &str, odd: CsvOddities) -> Option<String> {
    let CsvOddities { strays, spread, .. } = odd;
    let on = |line: u64| format!("the first on line {}", number(line));
    let strays = (strays.count > 0).then(|| {
        let values = count(strays.count, "quoted value continues", "quoted values continue");
        format!(
            "{values} behind the closing quote, {}: if a character stands before quotes within values, say which with `escape=`",
            on(strays.line)
        )
    });
    let spread = (spread.count > 0).then(|| {
        let values = count(spread.count, "quoted value holds", "quoted values hold");
        format!(
            "{values} tabs and line ends, {}: if quotes are ordinary characters, say `quotes=false`",
            on(spread.line)
        )
    });
    let words: Vec<String> = strays.into_iter().chain(spread).collect();
    (!words.is_empty()).then(|| format!("{path}: {}", words.join("; ")))
}

/// The files of an ingest: `seen` is `read + unchanged + left`. Records from a program are not counted here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct FileTally {
    /// Files of the arguments. A hidden folder, or a corpus in a folder, counts as one.
    pub seen: u64,
    /// Read to their end.
    pub read: u64,
    /// Not read, since they are unchanged.
    pub unchanged: u64,
    /// Not read, or not to their end.
    pub left: u64,
    /// The first thousand of each role, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_files: Vec<LeftFile>,
    /// Of those read, compressed ones with bytes after their last frame, which were skipped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trailing: Vec<String>,
    /// Rows of tables that repeat the row of names, which were skipped.
    #[serde(skip_serializing_if = "is_zero")]
    pub name_rows: u64,
    /// Of those read, tables some of whose quotes may be meant otherwise, with the line of the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub odd_quotes: Vec<String>,
    /// Of those read, HTML pages that were ingested with their tags.
    pub pages: u64,
    /// The first of these.
    #[serde(skip)]
    pub(super) first_page: Option<String>,
    /// The first row that repeats the row of names: its file and line.
    #[serde(skip)]
    pub first_name_row: Option<String>,
    /// Files left out, by role.
    #[serde(skip)]
    roles: BTreeMap<LeftRole, RoleTally>,
}

/// Files of one role that are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct RoleTally {
    files: u64,
    bytes: u64,
    /// Files among them that are a reject, too.
    rejected: u64,
    /// The first that is no reject.
    first: Option<LeftFile>,
}

impl FileTally {
    /// The tally of files that were left out before anything was read.
    pub(super) fn of_left(left: Vec<LeftFile>) -> Self {
        let mut tally = Self::default();
        left.into_iter().for_each(|file| tally.leave(file));
        tally
    }

    pub(super) const fn read(&mut self) {
        self.seen += 1;
        self.read += 1;
    }

    pub(super) const fn pass_unchanged(&mut self) {
        self.seen += 1;
        self.unchanged += 1;
    }

    pub(super) fn leave(&mut self, file: LeftFile) {
        let alike = self.roles.entry(file.role).or_default();
        alike.first.get_or_insert_with(|| file.clone());
        self.count_left(file);
    }

    /// Leaves out a file that is a reject too, about which another alarm is raised.
    pub(super) fn leave_rejected(&mut self, file: LeftFile) {
        self.roles.entry(file.role).or_default().rejected += 1;
        self.count_left(file);
    }

    fn count_left(&mut self, file: LeftFile) {
        self.seen += 1;
        self.left += 1;
        let alike = self.roles.entry(file.role).or_default();
        alike.files += 1;
        alike.bytes += file.bytes;
        // What is wrong is named, however much is hidden or a marker.
        if alike.files <= NAMED {
            self.left_files.push(file);
        }
    }

    /// Notes that bytes of a compressed file were left.
    pub(super) fn note_trailing(&mut self, path: &str, (compression, bytes): (&str, u64)) {
        if self.trailing.len() < NAMED as usize {
            let what = format!("{path}: {bytes} bytes after its last {compression} frame");
            self.trailing.push(what);
        }
    }

    /// Notes rows and quotes of a table that may be meant otherwise.
    pub(super) fn note_oddities(&mut self, path: &str, odd: CsvOddities) {
        if odd.names.count > 0 {
            self.name_rows += odd.names.count;
            let first = || format!("{path}, line {}", odd.names.line);
            self.first_name_row.get_or_insert_with(first);
        }
        self.odd_quotes.extend(odd_quote_words(path, odd));
        self.odd_quotes.truncate(NAMED as usize);
    }

    pub(super) fn note_page(&mut self, path: &str) {
        self.pages += 1;
        self.first_page.get_or_insert_with(|| path.to_owned());
    }

    /// Adds the tally of the next chunk.
    pub(super) fn merge(&mut self, other: Self) {
        self.seen += other.seen;
        self.read += other.read;
        self.unchanged += other.unchanged;
        self.left += other.left;
        for file in other.left_files {
            let named = self.left_files.iter().filter(|known| known.role == file.role).count();
            if named < NAMED as usize {
                self.left_files.push(file);
            }
        }
        for (role, more) in other.roles {
            let alike = self.roles.entry(role).or_default();
            alike.files += more.files;
            alike.bytes += more.bytes;
            alike.rejected += more.rejected;
            alike.first = alike.first.take().or(more.first);
        }
        self.name_rows += other.name_rows;
        self.first_name_row = self.first_name_row.take().or(other.first_name_row);
        self.odd_quotes.extend(other.odd_quotes);
        self.odd_quotes.truncate(NAMED as usize);
        self.pages += other.pages;
        self.first_page = self.first_page.take().or(other.first_page);
        self.trailing.extend(other.trailing);
        self.trailing.truncate(NAMED as usize);
    }

    /// How many files were left out in this role and are no reject, and the first one.
    pub(super) fn left_as(&self, role: LeftRole) -> Option<(u64, &LeftFile)> {
        let alike = self.roles.get(&role)?;
        Some((alike.files - alike.rejected, alike.first.as_ref()?))
    }

    /// The bytes of files that were left out in this role.
    pub(super) fn bytes_left_as(&self, role: LeftRole) -> u64 {
        self.roles.get(&role).map_or(0, |alike| alike.bytes)
    }
}
