//! Printing of the verbs that are no rows of the table yet.

use super::output;
pub(super) use super::output::{note as talk, width};
pub(super) use corpusdb::show::{number, size};
use serde::Serialize;
use std::io::Write;

/// Prints one JSON object on a line of stdout.
pub(super) fn json<T: Serialize>(value: &T) -> anyhow::Result<()> {
    let mut out = output::stdout();
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

/// Prints a line of data on stdout.
pub(super) fn line(text: &str) -> anyhow::Result<()> {
    Ok(writeln!(output::stdout(), "{text}")?)
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
