//! Tables that are wider than the terminal, and what stands in their cells.

use super::print::{self, number};
use corpusdb::query::StatsValue;

/// Characters of a name or a reason.
const WIDEST: usize = 60;

/// A table in as many parts beside one another as the terminal is too narrow for, each with the first `named` columns.
pub(super) fn fitting(head: &[String], rows: &[Vec<String>], named: usize) -> anyhow::Result<()> {
    let wide = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at)).chain(head.get(at));
        // With the gap before it.
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0) + 2
    };
    let (width, names) = (print::width(), (0..named).map(wide).sum::<usize>());
    let mut at = named;
    while at < head.len() {
        let mut shown: Vec<usize> = (0..named).collect();
        let mut taken = names;
        while at < head.len() && (taken + wide(at) <= width || shown.len() == named) {
            taken += wide(at);
            shown.push(at);
            at += 1;
        }
        let part = |row: &[String]| -> Vec<String> {
            shown.iter().map(|at| row.get(*at).cloned().unwrap_or_default()).collect()
        };
        let head = part(head);
        let rows: Vec<Vec<String>> = rows.iter().map(|row| part(row)).collect();
        print::table(&head.iter().map(String::as_str).collect::<Vec<_>>(), &rows)?;
    }
    Ok(())
}

/// A name on one line, its end cut off where it is long.
pub(super) fn cut(name: &str) -> String {
    let visible = name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    if name.chars().count() <= WIDEST {
        return visible.collect();
    }
    visible.take(WIDEST - 1).chain(['…']).collect()
}

/// A value in a table: fractions to some five digits.
pub(super) fn value(value: StatsValue) -> String {
    match value {
        StatsValue::Int(value) if value >= 0 => number(value.unsigned_abs()),
        StatsValue::Float(value) if value.fract() == 0.0 && value.abs() < 1e9 => format!("{value}"),
        StatsValue::Float(value) if (0.001..1e9).contains(&value.abs()) => {
            let digits = (4.0 - value.abs().log10().floor()).clamp(1.0, 7.0) as usize;
            format!("{value:.digits$}")
        }
        StatsValue::Float(value) => format!("{value:.4e}"),
        other => other.to_string(),
    }
}
