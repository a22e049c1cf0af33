//! Printing: JSON lines, sizes, rates, tables. The one place that writes to stdout and stderr.

use corpusdb::curate::RefusedTexts;
use corpusdb::query::PolicySetting;
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether talk is JSON too.
static AS_JSON: AtomicBool = AtomicBool::new(false);

/// From now on everything that is said on stderr is a JSON object on a line.
pub(super) fn talk_json() {
    AS_JSON.store(true, Ordering::Relaxed);
}

/// Whether what is said is JSON.
pub(super) fn is_json() -> bool {
    AS_JSON.load(Ordering::Relaxed)
}

/// Prints one JSON object on a line of stdout.
pub(super) fn json<T: Serialize>(value: &T) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, value).map_err(std::io::Error::from)?;
    out.write_all(b"\n")?;
    Ok(())
}

/// Prints one JSON object with a `type` field in front of those of `value`.
pub(super) fn typed<T: Serialize>(name: &'static str, value: &T) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Typed<'a, T> {
        r#type: &'static str,
        #[serde(flatten)]
        value: &'a T,
    }
    json(&Typed { r#type: name, value })
}

/// Prints what a verb did as one JSON object: the verb as its `type`, the fields of `report`, and whether nothing was
/// changed because the verb was only tried.
pub(super) fn report<T: Serialize>(
    verb: &'static str,
    report: &T,
    dry_run: bool,
) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Tried<'a, T> {
        #[serde(flatten)]
        report: &'a T,
        dry_run: bool,
    }
    typed(verb, &Tried { report, dry_run })
}

/// Prints a line of data on stdout.
pub(super) fn line(text: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout().lock(), "{text}")?)
}

/// Prints a line of talk on stderr.
pub(super) fn talk(text: &str) {
    if is_json() {
        let note = serde_json::json!({ "type": "note", "message": text });
        let _ = writeln!(std::io::stderr().lock(), "{note}");
    } else {
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }
}

/// Prints on stderr what failed, from what was attempted to the last cause.
pub(super) fn error(causes: &[String], exit_code: u8) {
    if is_json() {
        let (message, causes) = causes.split_first().map_or(("", &[][..]), |(m, rest)| (m, rest));
        let error = serde_json::json!({
            "type": "error", "message": message, "causes": causes, "exit_code": exit_code,
        });
        let _ = writeln!(std::io::stderr().lock(), "{error}");
    } else {
        let _ = writeln!(std::io::stderr().lock(), "error: {}", causes.join(": "));
    }
}

/// Whether what is printed on stdout may have colours.
pub(super) fn has_colours() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Columns that stdout shows: of the terminal, or 160 where it is none.
pub(super) fn width() -> usize {
    let size = console::Term::stdout().size_checked();
    size.map_or(160, |(_, columns)| usize::from(columns).max(40))
}

/// A number with thousands separated.
pub(super) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A size in the unit that fits.
pub(super) fn size(bytes: u64) -> String {
    let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let value = bytes as f64;
    match units.iter().find(|(_, unit)| value >= *unit) {
        Some((name, unit)) => format!("{:.1} {name}", value / unit),
        None => format!("{bytes} B"),
    }
}

/// A probability, never rounded to certainty.
pub(super) fn probability(value: f64) -> String {
    if value > 0.9999 && value < 1.0 {
        ">0.9999".to_owned()
    } else if value > 0.0 && value < 0.0001 {
        "<0.0001".to_owned()
    } else {
        format!("{value:.4}")
    }
}

/// A table: first column to the left, the others to the right.
pub(super) fn table(head: &[&str], rows: &[Vec<String>]) -> anyhow::Result<()> {
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count());
        cells.chain(head.get(at).map(|cell| cell.chars().count())).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let print = |cells: &[String]| {
        let cells = cells.iter().zip(&widths).enumerate().map(|(at, (cell, width))| {
            if at == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        line(format!("  {}", cells.collect::<Vec<_>>().join("  ")).trim_end())
    };
    print(&head.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>())?;
    for row in rows {
        print(row)?;
    }
    Ok(())
}

/// The settings of a dedup policy, one a line, each with what it means.
pub(super) fn settings(settings: &[PolicySetting]) -> anyhow::Result<()> {
    let width = settings.iter().map(|line| line.setting.len()).max().unwrap_or(0);
    let values = settings.iter().map(|line| line.value.chars().count()).max().unwrap_or(0);
    for PolicySetting { setting, value, meaning, .. } in settings {
        line(&format!("  {setting:<width$}  {value:<values$}  {meaning}"))?;
    }
    Ok(())
}

/// Says that documents have no ids of a tokenizer, when some have none.
pub(super) fn refused(tokenizer: &str, refused: &RefusedTexts) -> anyhow::Result<()> {
    let Some(first) = refused.first else { return Ok(()) };
    line(&format!(
        "    {} documents have no tokens: {tokenizer} cannot encode them; the first is document {first}: {}",
        number(refused.documents),
        refused.why
    ))
}

/// Says that buckets were read only in part, when some were.
pub(super) fn capped(buckets: u64) -> anyhow::Result<()> {
    if buckets == 0 {
        return Ok(());
    }
    line(&format!(
        "  note: {} crowded buckets were read only in part; what was left out is marked, and `corpusdb dedup settle` compares it",
        number(buckets)
    ))
}
