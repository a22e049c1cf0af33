//! Tables in markdown, aligned for the eye.

/// A table under construction.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new(heads: &[&str]) -> Self {
        Self { rows: vec![heads.iter().map(|head| (*head).to_owned()).collect()] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Prints it; the first column to the left, the others to the right.
    pub fn print(&self) {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(2)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for (number, row) in self.rows.iter().enumerate() {
            let cells: Vec<String> = (row.iter().zip(&widths).enumerate())
                .map(|(column, (cell, width))| match column {
                    0 => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                })
                .collect();
            println!("| {} |", cells.join(" | "));
            if number == 0 {
                let rules: Vec<String> = (widths.iter().enumerate())
                    .map(|(column, width)| match column {
                        0 => "-".repeat(width + 2),
                        _ => format!("{}:", "-".repeat(width + 1)),
                    })
                    .collect();
                println!("|{}|", rules.join("|"));
            }
        }
        println!();
    }
}

/// A share to four digits; a dash when there is nothing to share.
pub fn share(value: f64, of: u64) -> String {
    if of == 0 { "-".to_owned() } else { format!("{value:.4}") }
}

/// A whole number with separators.
pub fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}
