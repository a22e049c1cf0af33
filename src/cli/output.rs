//! The only writer to stdout and stderr: answers on stdout, notes and errors on stderr.
//!
//! A verb that reports does all of its work first; its answer is text by then, and is printed whole. Only verbs that
//! stream rows write while they work, by [`stdout`]. Text from outside is shown on a terminal but cannot control it:
//! answers for people go through [`show::terminal_safe`], and so does what is streamed to a terminal.
//!
//! An answer is a value that prints itself and has an exit status. A closed pipe changes neither; a full disk is an
//! error after the work.

use super::columns::{NARROWEST, beginning, ending, narrow, shown_path, wrap};
pub(super) use super::paint::Paint;
use corpusdb::inspect::PolicySetting;
use corpusdb::show;
use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use unicode_width::UnicodeWidthStr;

/// Whether messages on stderr are JSON.
static AS_JSON: AtomicBool = AtomicBool::new(false);

/// Whether the reader of stdout has closed it.
static STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// The note on a table with cells that are cut.
const CUT: &str = "what has … at its end or beginning is cut; `--json` has it whole";

/// The first word of a note about what will go wrong.
pub(super) const ALARM: &str = "ALARM:";

/// Makes every message on stderr a JSON object on a line.
pub(super) fn talk_json() {
    AS_JSON.store(true, Ordering::Relaxed);
}

pub(super) fn is_json() -> bool {
    AS_JSON.load(Ordering::Relaxed)
}

/// Whether a write found that the reader of stdout has closed it.
pub(super) fn is_stdout_closed() -> bool {
    STDOUT_CLOSED.load(Ordering::Relaxed)
}

/// Width of stdout in columns: the terminal's, 80 where it does not say one, or 160 elsewhere.
pub(super) fn width() -> usize {
    let size = console::Term::stdout().size_checked();
    let unknown = if io::stdout().is_terminal() { 80 } else { 160 };
    size.map_or(unknown, |(_, columns)| usize::from(columns).max(40))
}

/// Whether colours may be printed on a stream.
pub(super) fn has_colours(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Prints a note on stderr.
pub(super) fn note(text: &str) {
    if is_json() {
        say(&serde_json::json!({ "type": "note", "message": text }).to_string());
    } else {
        say_marked(&show::terminal_safe(text), ALARM);
    }
}

/// Prints an error on stderr, from what was attempted to the last cause.
pub(super) fn error(causes: &[String], exit_code: u8) {
    if is_json() {
        let (message, causes) = causes.split_first().map_or(("", &[][..]), |(m, rest)| (m, rest));
        let error = serde_json::json!({
            "type": "error", "message": message, "causes": causes, "exit_code": exit_code,
        });
        say(&error.to_string());
    } else {
        say_marked(&show::terminal_safe(&format!("error: {}", causes.join(": "))), "error:");
    }
}

/// Prints a line on stderr, with a colour for its first word where that is `bad`.
fn say_marked(line: &str, bad: &str) {
    let (before, behind) = Paint::Bad.marks(has_colours(&io::stderr()));
    match line.strip_prefix(bad) {
        Some(rest) => say(&format!("{before}{bad}{behind}{rest}")),
        None => say(line),
    }
}

/// Prints a line on stderr; a failure to do so is ignored.
fn say(line: &str) {
    let stderr = io::stderr();
    let line = if is_json() && stderr.is_terminal() { escaped(line) } else { Cow::Borrowed(line) };
    let _ = writeln!(stderr.lock(), "{line}");
}

/// A report as a line with one JSON object: `type` first, then its members, then whether nothing was changed because
/// the verb was only tried.
///
/// # Errors
/// None that a report gives cause for: its keys are text.
pub(super) fn json_line<T: Serialize>(
    name: &'static str,
    report: &T,
    dry_run: Option<bool>,
) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct TaggedReport<'a, T> {
        r#type: &'static str,
        #[serde(flatten)]
        report: &'a T,
        #[serde(skip_serializing_if = "Option::is_none")]
        dry_run: Option<bool>,
    }
    Ok(serde_json::to_string(&TaggedReport { r#type: name, report, dry_run })? + "\n")
}

/// Each of several reports as a line with one JSON object.
///
/// # Errors
/// As [`json_line`].
pub(super) fn json_lines<T: Serialize>(
    name: &'static str,
    reports: &[T],
) -> serde_json::Result<String> {
    reports.iter().map(|report| json_line(name, report, None)).collect()
}

/// Prints a whole answer. A reader that went away is no failure: the work is done. Fails if standard output does, such
/// as for a full disk.
pub(super) fn print(answer: &str) -> io::Result<()> {
    // The text was filtered when it was written, and has colours, which a second filter would remove.
    let shows = io::stdout().is_terminal();
    let answer = if is_json() && shows { escaped(answer) } else { Cow::Borrowed(answer) };
    let mut out = stdout().unfiltered();
    if shows && !is_json() && is_longer_than_the_terminal(&answer) && page(&answer) {
        return Ok(());
    }
    match out.write_all(answer.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

fn is_longer_than_the_terminal(answer: &str) -> bool {
    let size = console::Term::stdout().size_checked();
    size.is_some_and(|(rows, _)| answer.lines().count() >= usize::from(rows))
}

/// Shows an answer by the pager of `PAGER`, or by `less`; `PAGER=` or `PAGER=cat` is none. Answers whether it did.
fn page(answer: &str) -> bool {
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    let mut words = pager.split_whitespace();
    let Some(program) = words.next().filter(|program| *program != "cat") else { return false };
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped());
    // What fits is printed, colours are colours, and the answer stays on the screen.
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else { return false };
    if let Some(mut to) = child.stdin.take() {
        // A reader who has seen enough ends the pager.
        let _ = to.write_all(answer.as_bytes());
    }
    child.wait().is_ok()
}

/// Standard output for rows that are written during the work.
pub(super) fn stdout() -> Stdout {
    Stdout { shows: io::stdout().is_terminal(), rest: Vec::new() }
}

/// Writes rows to standard output as they come, as JSON with `name` as their type or as `print` prints them. Returns
/// how many there were.
///
/// # Errors
/// Those of the rows, and of standard output.
pub(super) fn stream_rows<T: Serialize>(
    (name, is_json): (&'static str, bool),
    rows: impl Iterator<Item = anyhow::Result<T>>,
    print: impl Fn(&T, &mut Output),
) -> anyhow::Result<u64> {
    let (mut written, mut out) = (0, BufWriter::new(stdout()));
    for row in rows {
        let row = row?;
        let text = match is_json {
            true => json_line(name, &row, None)?,
            false => {
                let mut text = Output::new(false);
                print(&row, &mut text);
                text.into_parts().0
            }
        };
        out.write_all(text.as_bytes())?;
        written += 1;
    }
    out.flush()?;
    Ok(written)
}

/// Standard output as [`stdout`] gives it. What goes to a terminal is text there, and is not obeyed; into a pipe or a
/// file every byte goes as it is.
pub(super) struct Stdout {
    shows: bool,
    /// The first bytes of a character whose last ones have not come.
    rest: Vec<u8>,
}

impl Stdout {
    /// This output for text that is filtered already, and has marks of ours.
    pub(super) fn unfiltered(self) -> Self {
        Self { shows: false, ..self }
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut out = io::stdout().lock();
        if !self.shows {
            return heard(out.write(bytes));
        }
        self.rest.extend_from_slice(bytes);
        let shown = whole_characters(&mut self.rest);
        heard(out.write_all(show::terminal_safe(&shown).as_bytes()).map(|()| bytes.len()))
    }

    fn flush(&mut self) -> io::Result<()> {
        heard(io::stdout().lock().flush())
    }
}

/// Takes the text off the front of bytes, up to an incomplete character; bytes that are not text become U+FFFD.
fn whole_characters(bytes: &mut Vec<u8>) -> String {
    let mut keep = bytes.len();
    if let Err(error) = std::str::from_utf8(bytes)
        && error.error_len().is_none()
    {
        keep = error.valid_up_to();
    }
    let rest = bytes.split_off(keep);
    let text = String::from_utf8_lossy(bytes).into_owned();
    *bytes = rest;
    text
}

fn heard<T>(written: io::Result<T>) -> io::Result<T> {
    if let Err(error) = &written
        && error.kind() == io::ErrorKind::BrokenPipe
    {
        STDOUT_CLOSED.store(true, Ordering::Relaxed);
    }
    written
}

/// JSON with control characters escaped: the same values.
fn escaped(json: &str) -> Cow<'_, str> {
    if !json.contains(show::acts_on_terminals) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '\n' | '\t' => out.push(character),
            c if show::acts_on_terminals(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// An answer for people while it is written: lines and tables, all of them filtered.
pub(super) struct Output {
    text: String,
    notes: Vec<String>,
    /// Whether a cell of a table is cut.
    is_cut: bool,
    width: usize,
    /// Whether stdout is a terminal.
    shows: bool,
    has_colours: bool,
    dry_run: bool,
}

impl Output {
    /// Adapts to what stdout is.
    pub(super) fn new(dry_run: bool) -> Self {
        let (text, notes) = (String::new(), Vec::new());
        let shows = io::stdout().is_terminal();
        Self {
            text,
            notes,
            is_cut: false,
            width: width(),
            shows,
            has_colours: has_colours(&io::stdout()),
            dry_run,
        }
    }

    /// The text, and the notes to print on stderr after it.
    pub(super) fn into_parts(mut self) -> (String, Vec<String>) {
        self.notes.extend(self.is_cut.then(|| CUT.to_owned()));
        (self.text, self.notes)
    }

    /// Adds a note, which is printed on stderr after the answer.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Whether the verb was only tried, so that nothing changed.
    pub(super) const fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// Adds a line, or a text of several. On a terminal, lines that are too long go on in the next one, further in.
    pub(super) fn line(&mut self, text: impl AsRef<str>) {
        let text = show::terminal_safe(text.as_ref());
        for line in text.split('\n') {
            match self.shows && line.width() > self.width {
                true => wrap(line, self.width, &mut self.text),
                false => self.text.push_str(line),
            }
            self.text.push('\n');
        }
    }

    /// Adds a line that ends in a key: on a terminal that is too narrow for it, in the end of the key.
    pub(super) fn line_to_key(&mut self, line: &str, key: &str) {
        let columns = if self.shows { self.width.saturating_sub(line.width()) } else { usize::MAX };
        self.line(format!("{line}{}", ending(&show::one_line(key), columns.max(NARROWEST))));
    }

    /// Adds the line about a file or directory that was written: what is in it, how large it is, and how to open it
    /// where a name does not say that.
    pub(super) fn wrote(&mut self, path: &str, what: &str, bytes: u64, way: &str) {
        let path = corpusdb::remote::without_secrets(shown_path(path));
        let size = show::size(bytes);
        let way = if way.is_empty() { String::new() } else { format!("; {way}") };
        self.line(format!("{path}: {what}, {size}{way}"));
    }

    /// Adds text of documents: into a file it goes byte for byte, for a terminal it is filtered.
    pub(super) fn text(&mut self, text: &str) {
        match self.shows {
            true => self.text.push_str(&show::terminal_safe(text)),
            false => self.text.push_str(text),
        }
        self.text.push('\n');
    }

    pub(super) const fn width(&self) -> usize {
        self.width
    }

    /// Columns that the marks around a part take.
    pub(super) fn marks_width(&self, paint: Paint) -> usize {
        let (before, behind) = paint.marks(self.has_colours);
        if self.has_colours { 0 } else { before.width() + behind.width() }
    }

    /// Adds a line whose parts have colours, where stdout may have some.
    pub(super) fn painted<T: AsRef<str>>(&mut self, parts: &[(Paint, T)]) {
        for (paint, text) in parts {
            let text = show::terminal_safe(text.as_ref());
            let (before, behind) = paint.marks(self.has_colours);
            self.text.extend([before, &text, behind]);
        }
        self.text.push('\n');
    }

    /// Adds a line that begins with a verdict, in its colour.
    pub(super) fn verdict(&mut self, is_good: bool, verdict: &str, rest: &str) {
        let paint = if is_good { Paint::Good } else { Paint::Bad };
        let (before, behind) = paint.marks(self.has_colours);
        let verdict = show::terminal_safe(verdict);
        let at = self.text.len();
        self.line(format!("{verdict}{rest}"));
        let line = self.text.split_off(at);
        match line.strip_prefix(&*verdict) {
            Some(rest) => self.text.extend([before, &verdict, behind, rest]),
            None => self.text.push_str(&line),
        }
    }

    /// A table: first column to the left, the others to the right, by the columns that a terminal gives a character.
    pub(super) fn table(&mut self, head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
        let head = head.iter().map(|cell| (*cell).to_owned()).collect();
        let cells =
            |row: Vec<String>| row.iter().map(|cell| show::one_line(cell).into_owned()).collect();
        let rows = std::iter::once(head).chain(rows.into_iter().map(cells));
        let rows: Vec<Vec<String>> = rows.collect();
        let columns = rows.first().map_or(0, Vec::len);
        let widest =
            |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.width()).max();
        let mut widths: Vec<usize> = (0..columns).map(|at| widest(at).unwrap_or(0)).collect();
        if self.shows {
            narrow(&mut widths, self.width);
        }
        for row in &rows {
            let mut line = String::from("  ");
            for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
                // A key says more by its end than by its beginning.
                let cell = if at == 0 { ending(cell, *width) } else { beginning(cell, *width) };
                self.is_cut |= self.shows && (cell.starts_with('…') || cell.ends_with('…'));
                let gap = " ".repeat(width.saturating_sub(cell.width()));
                match at {
                    0 => line.extend([&*cell, &gap]),
                    _ => line.extend(["  ", &gap, &*cell]),
                }
            }
            self.line(line.trim_end());
        }
    }

    /// Adds a table. Where stdout is too narrow, it is split into parts below one another, each with the first `named`
    /// columns and at least `least` columns.
    pub(super) fn wide_table(
        &mut self,
        head: &[String],
        rows: &[Vec<String>],
        named: usize,
        least: usize,
    ) {
        let wide = |at: usize| {
            let cells = rows.iter().filter_map(|row| row.get(at)).chain(head.get(at));
            // With the gap before it.
            cells.map(|cell| cell.width()).max().unwrap_or(0) + 2
        };
        let names: usize = (0..named).map(wide).sum();
        let mut at = named;
        while at < head.len() {
            if at > named {
                self.line("");
            }
            let mut shown: Vec<usize> = (0..named).collect();
            let mut taken = names;
            while at < head.len()
                && (taken + wide(at) <= self.width || shown.len() == named || at < least)
            {
                taken += wide(at);
                shown.push(at);
                at += 1;
            }
            let part = |row: &[String]| -> Vec<String> {
                shown.iter().map(|at| row.get(*at).cloned().unwrap_or_default()).collect()
            };
            let head = part(head);
            let head: Vec<&str> = head.iter().map(String::as_str).collect();
            self.table(&head, rows.iter().map(|row| part(row)));
        }
    }

    /// Adds the settings of a dedup policy, one a line, each with what it means.
    pub(super) fn settings(&mut self, settings: &[PolicySetting]) {
        let width = settings.iter().map(|line| line.setting.len()).max().unwrap_or(0);
        let values = settings.iter().map(|line| line.value.width()).max().unwrap_or(0);
        for PolicySetting { setting, value, meaning, .. } in settings {
            let gap = " ".repeat(values.saturating_sub(value.width()));
            self.line(format!("  {setting:<width$}  {value}{gap}  {meaning}"));
        }
    }

    /// Says how many buckets were read only in part, if any were.
    pub(super) fn capped(&mut self, buckets: u64) {
        if buckets > 0 {
            self.line(format!(
                "  note: {} crowded buckets were read only in part; documents with candidates left out are marked, and `corpusdb dedup settle` decides them",
                show::number(buckets)
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Output {
        Output {
            text: String::new(),
            notes: Vec::new(),
            is_cut: false,
            width: 40,
            shows: false,
            has_colours: false,
            dry_run: false,
        }
    }

    #[test]
    fn tables_are_aligned_by_what_a_terminal_shows() {
        let mut out = plain();
        let row = |name: &str, n: &str| vec![name.to_owned(), n.to_owned()];
        out.table(
            &["source", "kept"],
            [row("日本語", "7"), row("web", "1,200"), row("a\x1b[2Jb\nc", "1")],
        );
        let text = out.into_parts().0;
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "  source     kept",
                "  日本語        7",
                "  web       1,200",
                "  a\u{fffd}[2Jb\u{fffd}c      1"
            ]
        );
        assert!(lines.iter().all(|line| line.width() == 17), "{lines:?}");
    }

    #[test]
    fn a_wide_table_is_cut_into_parts_that_repeat_the_names() {
        let mut out = plain();
        let head: Vec<String> =
            ["name", "first column", "second column", "third column"].map(str::to_owned).into();
        out.wide_table(&head, &[["x", "1", "2", "3"].map(str::to_owned).into()], 1, 0);
        let text = out.into_parts().0;
        assert_eq!(text.lines().count(), 5, "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("  name")).count(), 2, "{text}");
    }

    #[test]
    fn a_terminal_gets_no_line_that_is_wider_than_it() {
        let mut out = Output { shows: true, width: 40, ..plain() };
        out.line("  one sentence that is longer than the columns there are, and a_word_without_a_space_that_is_longer_still");
        out.line("short\n");
        let key = "pages/long/way/down/to/the/last.md".to_owned();
        out.table(
            &["key", "documents", "function"],
            [vec![key, "7".into(), "words(text) / 3".into()]],
        );
        let (text, notes) = out.into_parts();
        assert_eq!(notes, [CUT]);
        assert_eq!(
            text,
            "  one sentence that is longer than the\n    columns there are, and\n    a_word_without_a_space_that_is_longer_still\nshort\n\n  key            documents      function\n  …/the/last.md          7  words(text)…\n"
        );
        let mut out = Output { width: 40, ..plain() };
        out.line("a sentence that is longer than the columns there are, in a file");
        assert_eq!(out.into_parts().0.lines().count(), 1);
    }

    /// A second filter removed the colours of `show --tokens`.
    #[test]
    fn a_terminal_shows_colours_and_obeys_no_text() {
        let mut out = Output { shows: true, has_colours: true, ..plain() };
        out.painted(&[(Paint::Highlight, "a\x1b[2J"), (Paint::Plain, "b")]);
        out.text("c\x1b[2J");
        assert_eq!(out.into_parts().0, "\x1b[1;33ma\u{fffd}[2J\x1b[0mb\nc\u{fffd}[2J\n");
        let mut out = plain();
        assert_eq!(out.marks_width(Paint::Highlight), 4);
        out.painted(&[(Paint::Highlight, "a"), (Paint::Plain, "b")]);
        out.text("c\x1b[2J");
        assert_eq!(out.into_parts().0, "[[a]]b\nc\x1b[2J\n");
    }

    #[test]
    fn a_character_that_comes_in_two_writes_is_whole() {
        let mut bytes = "aé\x1b".as_bytes()[..2].to_vec();
        assert_eq!(whole_characters(&mut bytes), "a");
        bytes.extend_from_slice(&"é".as_bytes()[1..]);
        assert_eq!((whole_characters(&mut bytes).as_str(), bytes.len()), ("é", 0));
        let mut broken = b"a\xff\xfeb".to_vec();
        assert_eq!(whole_characters(&mut broken), "a\u{fffd}\u{fffd}b");
    }

    #[test]
    fn json_on_a_terminal_has_the_same_values() {
        let json = serde_json::to_string(&"a\u{9b}31m\u{202e}\x1b").unwrap();
        let shown = escaped(&json);
        assert!(!shown.contains(show::acts_on_terminals));
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), "a\u{9b}31m\u{202e}\x1b");
    }
}
