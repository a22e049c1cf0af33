//! Prints a page of rows as a table that fits a width; where no table would fit, one column a line.

use super::cell::TableCell;
use std::borrow::Cow;

const ROWS: usize = 1000;
/// Bytes of the cells of a page, at most.
const BYTES: usize = 1 << 20;
/// The most digits of a number without commas, where no other of its column has more.
const FEW: usize = 4;
/// The least width to which a column of texts is cut.
const NARROWEST: usize = 8;

pub(super) struct TableHead {
    pub name: TableCell,
    /// Whether values may be cut. Half a number is another number.
    pub is_text: bool,
    /// Whether values are amounts that get commas where one of them has five digits: four digits may be a year.
    pub is_amount: bool,
}

/// The marks around a null, where colours may be printed.
const DIM: (&str, &str) = ("\x1b[2m", "\x1b[0m");

/// Rows that are printed together, since their widths decide those of the table.
#[derive(Default)]
pub(super) struct TablePage {
    rows: Vec<Vec<TableCell>>,
    bytes: usize,
    /// Rows on the pages before.
    before: u64,
    /// Whether nulls are dim.
    pub has_colours: bool,
}

impl TablePage {
    pub(super) fn push(&mut self, row: Vec<TableCell>) {
        self.bytes +=
            row.iter().map(|cell| cell.text.len() + size_of::<TableCell>()).sum::<usize>();
        self.rows.push(row);
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows.len() >= ROWS || self.bytes >= BYTES
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Takes the page out as text, with every line at most `width` columns where there is a width, and says whether a
    /// cell was cut.
    pub(super) fn take(&mut self, heads: &[TableHead], width: Option<usize>) -> (String, bool) {
        let mut rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        for at in (0..heads.len()).filter(|at| heads.get(*at).is_some_and(|head| head.is_amount)) {
            let digits =
                |row: &Vec<TableCell>| row.get(at).and_then(|cell| Some(cell.digits()?.len()));
            if rows.iter().filter_map(digits).any(|digits| digits > FEW) {
                rows.iter_mut().filter_map(|row| row.get_mut(at)).for_each(TableCell::separate);
            }
        }
        let mut widths: Vec<usize> = heads.iter().map(|head| head.name.width).collect();
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width);
            }
        }
        let named = heads.iter().map(|head| &head.name);
        let mut cut = named.chain(rows.iter().flatten()).any(|cell| cell.is_cut);
        let text = match width.map_or(Some(widths.clone()), |width| fit(heads, widths, width)) {
            Some(widths) => {
                let is_wide = |(cell, width): (&TableCell, &usize)| cell.width > *width;
                cut |= heads.iter().map(|head| &head.name).zip(&widths).any(is_wide);
                cut |= rows.iter().any(|row| row.iter().zip(&widths).any(is_wide));
                table(heads, &rows, &widths, self.has_colours)
            }
            None => under_one_another(
                heads,
                &rows,
                width.unwrap_or(usize::MAX),
                (self.before, self.has_colours),
                &mut cut,
            ),
        };
        self.before += u64::try_from(rows.len()).unwrap_or(0);
        (text, cut)
    }
}

/// The widths of columns, with those of texts reduced to the largest common bound for which a line is at most `width`
/// columns; none when the bound would be less than [`NARROWEST`].
fn fit(heads: &[TableHead], mut widths: Vec<usize>, width: usize) -> Option<Vec<usize>> {
    let frame = 3 * heads.len() + 1;
    let room = width.checked_sub(frame)?;
    if widths.iter().sum::<usize>() <= room {
        return Some(widths);
    }
    let texts =
        || heads.iter().zip(&widths).filter(|(head, _)| head.is_text).map(|(_, width)| *width);
    let fixed = widths.iter().sum::<usize>() - texts().sum::<usize>();
    let room = room.checked_sub(fixed)?;
    let taken = |bound: usize| texts().map(|width| width.min(bound)).sum::<usize>();
    let mut bounds = NARROWEST..texts().max()?;
    if bounds.is_empty() || taken(bounds.start) > room {
        return None;
    }
    // Invariant: the start fits, the end does not.
    while bounds.len() > 1 {
        let middle = bounds.start + bounds.len() / 2;
        if taken(middle) <= room {
            bounds.start = middle;
        } else {
            bounds.end = middle;
        }
    }
    for (head, width) in heads.iter().zip(&mut widths) {
        if head.is_text {
            *width = (*width).min(bounds.start);
        }
    }
    Some(widths)
}

fn table(
    heads: &[TableHead],
    rows: &[Vec<TableCell>],
    widths: &[usize],
    has_colours: bool,
) -> String {
    let mut out = String::new();
    let rule = |out: &mut String| {
        for width in widths {
            out.push('+');
            out.extend(std::iter::repeat_n('-', width + 2));
        }
        out.push_str("+\n");
    };
    let line = |out: &mut String, cells: &mut dyn Iterator<Item = &TableCell>| {
        for (cell, width) in cells.zip(widths) {
            out.push_str("| ");
            push(&cell.within(*width), has_colours, out);
            out.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width) + 1));
        }
        out.push_str("|\n");
    };
    rule(&mut out);
    line(&mut out, &mut heads.iter().map(|head| &head.name));
    rule(&mut out);
    for row in rows {
        line(&mut out, &mut row.iter());
    }
    if !rows.is_empty() {
        rule(&mut out);
    }
    out
}

/// Appends the text of a cell; that of a null is dim.
fn push(cell: &TableCell, has_colours: bool, out: &mut String) {
    let (before, behind) = if cell.is_null && has_colours { DIM } else { ("", "") };
    out.push_str(before);
    out.push_str(&cell.text);
    out.push_str(behind);
}

fn under_one_another(
    heads: &[TableHead],
    rows: &[Vec<TableCell>],
    width: usize,
    (before, has_colours): (u64, bool),
    cut: &mut bool,
) -> String {
    let names = heads.iter().map(|head| head.name.width).max().unwrap_or(0).min(width / 2);
    let most = width.saturating_sub(names + 3).max(NARROWEST);
    let mut out = String::new();
    *cut |= heads.iter().any(|head| head.name.width > names);
    if rows.is_empty() {
        let names: Vec<&str> = heads.iter().map(|head| head.name.text.as_str()).collect();
        return format!("no rows; columns: {}\n", names.join(", "));
    }
    for (number, row) in (before + 1..).zip(rows) {
        out.push_str(&format!("--- row {number}\n"));
        for (head, cell) in heads.iter().zip(row) {
            let shown = if head.is_text { cell.within(most) } else { Cow::Borrowed(cell) };
            *cut |= shown.is_cut;
            let name = head.name.within(names);
            out.push_str(&name.text);
            out.extend(std::iter::repeat_n(' ', names.saturating_sub(name.width)));
            out.push_str(" = ");
            push(&shown, has_colours, &mut out);
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads(names: &[(&str, bool)]) -> Vec<TableHead> {
        let head = |(name, is_text): &(&str, bool)| TableHead {
            name: TableCell::of(name, 100),
            is_text: *is_text,
            is_amount: !is_text,
        };
        names.iter().map(head).collect()
    }

    fn page(rows: &[&[&str]]) -> TablePage {
        let mut page = TablePage::default();
        for row in rows {
            page.push(row.iter().map(|cell| TableCell::of(cell, 300)).collect());
        }
        page
    }

    #[test]
    fn a_wide_table_is_cut_in_its_texts() {
        let heads = heads(&[("n", false), ("text", true)]);
        let (text, cut) = page(&[&["1", "one"]]).take(&heads, Some(20));
        assert_eq!(text, "+---+------+\n| n | text |\n+---+------+\n| 1 | one  |\n+---+------+\n");
        assert!(!cut);
        let long = "x".repeat(200);
        for width in [20, 21, 50, 207] {
            let (text, cut) = page(&[&["123", &long], &["1", "日本"]]).take(&heads, Some(width));
            let columns = |line: &str| TableCell::of(&line, 1000).width;
            assert!(text.lines().all(|line| columns(line) == width), "{width}\n{text}");
            assert!(cut && text.contains("| 123 | xx"));
        }
        assert!(!page(&[&["123", &long]]).take(&heads, Some(210)).1);
    }

    #[test]
    fn five_digits_bring_commas_and_a_null_is_dim() {
        let heads = heads(&[("n", false), ("text", true)]);
        let few = page(&[&["2024", "12345"], &["1999", ""]]).take(&heads, None).0;
        assert!(few.contains("| 2024 | 12345 |"), "{few}");
        let mut page = page(&[&["2024", "12345"], &["-1234567", ""]]);
        page.push(vec![TableCell::null(), TableCell::of(&"x", 9)]);
        page.has_colours = true;
        let (text, _) = page.take(&heads, None);
        for line in [
            "| 2,024      | 12345 |",
            "| -1,234,567 |       |",
            "| \x1b[2mNULL\x1b[0m       | x     |",
        ] {
            assert!(text.contains(line), "{text}");
        }
        page.push(vec![TableCell::null(), TableCell::of(&"y".repeat(99), 99)]);
        let under = page.take(&heads, Some(10)).0;
        assert!(under.starts_with("--- row 4\nn    = \x1b[2mNULL\x1b[0m\n"), "{under}");
    }

    #[test]
    fn a_name_that_is_cut_counts_as_cut() {
        let name = "column ".repeat(4);
        let heads = heads(&[("n", false), (name.as_str(), true)]);
        let (text, cut) = page(&[&["1", "x"]]).take(&heads, Some(30));
        assert!(cut && text.contains("…"), "{text}");
    }

    #[test]
    fn rows_too_wide_for_a_table_stand_under_one_another() {
        let many: Vec<(String, bool)> =
            (0..30).map(|n| (format!("column_{n}"), n % 2 == 0)).collect();
        let many: Vec<(&str, bool)> =
            many.iter().map(|(name, text)| (name.as_str(), *text)).collect();
        let heads = heads(&many);
        let long = "y".repeat(300);
        let mut page = page(&[&[long.as_str(); 30][..], &["1"; 30][..]]);
        let (text, cut) = page.take(&heads, Some(80));
        assert!(cut && text.starts_with("--- row 1\ncolumn_0  = yyy"), "{text}");
        assert_eq!(text.lines().count(), 2 * 31);
        page.push(vec![TableCell::of(&"z", 9); 30]);
        assert!(page.take(&heads, Some(80)).0.starts_with("--- row 3\n"));
    }
}
