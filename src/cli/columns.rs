//! How texts, names, paths and bars fit the columns of a terminal.

use corpusdb::{DedupMode, Policy, show};
use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns of a name or a reason in a table, at most.
const WIDEST: usize = 60;

/// Columns of a part of a table, at least, where a terminal is too narrow for all.
pub(super) const NARROWEST: usize = 12;

/// Takes columns from the widest parts of a table until it fits.
pub(super) fn narrow(widths: &mut [usize], width: usize) {
    while widths.iter().map(|part| part + 2).sum::<usize>() > width {
        let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > NARROWEST) else {
            return;
        };
        *widest -= 1;
    }
}

/// The end of a cell, in as many columns.
pub(super) fn ending(cell: &str, columns: usize) -> Cow<'_, str> {
    if cell.width() <= columns {
        return Cow::Borrowed(cell);
    }
    let fits = |at: &usize| cell.get(*at..).is_some_and(|rest| rest.width() < columns);
    let at = cell.char_indices().map(|(at, _)| at).find(fits).unwrap_or(cell.len());
    Cow::Owned(format!("…{}", cell.get(at..).unwrap_or_default()))
}

/// Columns of a label at the beginning of a line, at most.
const LABEL: usize = 12;

/// Adds a line in pieces of `width` columns, broken at spaces, and at the wide characters of scripts that have none;
/// what follows begins further in, or below the text where the line begins with a label and a gap.
pub(super) fn wrap(line: &str, width: usize, out: &mut String) {
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let labelled = text.find("  ").filter(|label| *label > 0).map_or(0, |label| {
        let gap =
            text.get(label..).map_or(0, |rest| rest.len() - rest.trim_start_matches(' ').len());
        label + gap
    });
    let further = if (1..=LABEL).contains(&labelled) { labelled } else { 2 };
    let margin = " ".repeat((indent + further).min(width / 2));
    let mut used = indent;
    out.push_str(&" ".repeat(indent));
    for (at, word) in text.split(' ').enumerate() {
        for (part, piece) in unbroken(word).into_iter().enumerate() {
            let space = usize::from(at > 0 && part == 0);
            // Behind a path that is too long itself, the terminal goes on by itself.
            if at + part > 0 && used <= width && used + space + piece.width() > width {
                out.extend(["\n", &margin]);
                used = margin.len();
            } else if space > 0 {
                out.push(' ');
                used += 1;
            }
            out.push_str(piece);
            used += piece.width();
        }
    }
}

/// The pieces of a word that stay whole: each wide character, with the marks that stand on it, and what is between.
fn unbroken(word: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut from, mut was_wide) = (0, false);
    for (at, character) in word.char_indices() {
        let columns = character.width().unwrap_or(0);
        if at > from && columns > 0 && (was_wide || columns > 1) {
            pieces.extend(word.get(from..at));
            from = at;
        }
        was_wide = if columns > 0 { columns > 1 } else { was_wide };
    }
    pieces.extend(word.get(from..));
    pieces
}

/// A bar of as many columns at most, drawn by eighths of one; what is more than nothing shows.
pub(super) fn eighths(share: f64, columns: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let all = (share.clamp(0.0, 1.0) * (columns * 8) as f64).round() as usize;
    let all = all.max(usize::from(share > 0.0));
    "█".repeat(all / 8) + PARTS.get(all % 8).unwrap_or(&"")
}

/// A dedup policy by its short name, such as `web, .80`; a mode is named unless it is the usual one.
pub(super) fn policy_name(policy: &Policy) -> String {
    let mut name = policy.profile.name().to_owned();
    if policy.mode.is_near() {
        // Two decimals at least: `.80`.
        let (rounded, exact) = (format!("{:.2}", policy.threshold), policy.threshold.to_string());
        let threshold = if exact.len() > rounded.len() { exact } else { rounded };
        name.extend([", ", threshold.trim_start_matches('0')]);
    }
    if policy.mode != DedupMode::Witness {
        name.extend([", ", policy.mode.name()]);
    }
    name
}

/// A path as people read it: one below the current folder without that.
pub(super) fn shown_path(path: &str) -> &str {
    let Ok(here) = std::env::current_dir() else { return path };
    let below = here.to_str().and_then(|here| path.strip_prefix(here)?.strip_prefix('/'));
    below.unwrap_or(path)
}

/// How to read a file or directory of rows in a format, where that is not obvious.
pub(super) fn reading(format: &str, path: &str) -> String {
    match format {
        // `sql` reads local files alone.
        "parquet" if !path.contains("://") => {
            format!("read_parquet('{}') in `corpusdb sql`", shown_path(path))
        }
        "arrow" => "pyarrow.ipc.open_file".to_owned(),
        _ => String::new(),
    }
}

/// A name on one line, its end cut off where it is long.
pub(super) fn cut(name: &str) -> String {
    beginning(&show::one_line(name), WIDEST).into_owned()
}

/// The first characters of a text, with `…` where it has more.
pub(super) fn first_characters(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The beginning of a cell, in as many columns.
pub(super) fn beginning(cell: &str, columns: usize) -> Cow<'_, str> {
    if cell.width() <= columns {
        return Cow::Borrowed(cell);
    }
    let mut out = String::new();
    let mut used = 1;
    for character in cell.chars() {
        used += character.width().unwrap_or(0);
        if used > columns {
            break;
        }
        out.push(character);
    }
    out.push('…');
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_without_spaces_goes_on_within_the_width() {
        let wrapped = |line: &str, width: usize| {
            let mut out = String::new();
            wrap(line, width, &mut out);
            out
        };
        assert_eq!(wrapped("  kept: 词表数档据词料", 14), "  kept: 词表数\n    档据词料");
        // A mark stays on its letter, and a path is whole.
        assert_eq!(
            wrapped("か\u{3099}か\u{3099}か\u{3099}", 4),
            "か\u{3099}か\u{3099}\n  か\u{3099}"
        );
        assert_eq!(
            wrapped("in /data/naïve/path/of.jsonl 7", 12),
            "in\n  /data/naïve/path/of.jsonl 7"
        );
        assert_eq!(wrapped("note      one two three", 18), "note      one two\n         three");
        for columns in 3..20 {
            for line in ["词表数档据词料档", "a词b表c数d档e据"] {
                assert!(
                    wrapped(line, columns).lines().all(|line| line.width() <= columns),
                    "{line}"
                );
                assert!(beginning(line, columns).width() <= columns, "{line} in {columns}");
                assert!(ending(line, columns).width() <= columns, "{line} in {columns}");
            }
        }
    }

    #[test]
    fn a_cut_text_has_a_mark() {
        assert_eq!(["é", "éa", "éab"].map(|text| first_characters(text, 2)), ["é", "éa", "éa…"]);
    }

    #[test]
    fn bars_are_drawn_by_eighths_of_a_column() {
        let drawn = [0.0, 1e-9, 0.5, 0.53, 0.999, 1.0, 7.0].map(|share| eighths(share, 4));
        assert_eq!(drawn, ["", "▏", "██", "██▏", "████", "████", "████"]);
        let eight: Vec<String> = (1..=8).map(|n| eighths(f64::from(n) / 8.0, 1)).collect();
        assert_eq!(eight.concat(), "▏▎▍▌▋▊▉█");
    }

    #[test]
    fn a_policy_has_a_short_name() {
        let mut policy = Policy::of(corpusdb::dedup::Profile::Web);
        assert_eq!(policy_name(&policy), "web, .80");
        (policy.threshold, policy.mode) = (0.825, DedupMode::Components);
        assert_eq!(policy_name(&policy), "web, .825, components");
        policy.mode = DedupMode::Exact;
        assert_eq!(policy_name(&policy), "web, exact");
    }
}
