//! Ranges under each other, as SVG: how the values of some groups are spread.

use super::chart::{Axis, Told, stroke, text};
use super::html::{cut, escape};

const WIDTH: f64 = 480.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 8.0;
const ROW: f64 = 24.0;
const BOTTOM: f64 = 26.0;
/// Characters of a name that fit beside the drawing.
const FITS: usize = 16;
const LEFT: f64 = 128.0;

/// A group: its name, what is told of it, and five of its values, ascending: a line from the first to the last, a box
/// from the second to the fourth, a mark at the third.
pub(in crate::cli) struct Range {
    pub(in crate::cli) name: String,
    pub(in crate::cli) told: String,
    pub(in crate::cli) values: [f64; 5],
}

/// Draws the ranges on one axis.
pub(in crate::cli) fn ranges(told: Told<'_>, x: &Axis, all: &[Range]) -> String {
    let height = TOP + ROW * all.len() as f64 + BOTTOM;
    let (bottom, right) = (height - BOTTOM, WIDTH - RIGHT);
    let across = |value: f64| LEFT + x.place(value) * (right - LEFT);
    let mut out = String::new();
    for (value, mark) in &x.ticks {
        out += &stroke((across(*value), TOP), (across(*value), bottom), "grid");
        out += &text(across(*value), bottom + 18.0, "middle", "soft", mark);
    }
    for (at, range) in all.iter().enumerate() {
        let middle = TOP + ROW * (at as f64 + 0.5);
        let [low, first, half, third, high] = range.values.map(across);
        out += &format!("<g><title>{}</title>\n", escape(&range.told));
        out += &text(LEFT - 10.0, middle + 4.0, "end", "", &short(&range.name));
        out += &stroke((low, middle), (high, middle), "reach");
        out += &format!(
            "<rect class=\"pale\" x=\"{first:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"12\"/>\n",
            middle - 6.0,
            (third - first).max(1.0)
        );
        out += &stroke((half, middle - 7.0), (half, middle + 7.0), "half-way");
        out += "</g>\n";
    }
    told.svg((WIDTH, height), " class=\"half\"", &out)
}

fn short(name: &str) -> String {
    let name = cut(name);
    if name.chars().count() <= FITS {
        return name;
    }
    name.chars().take(FITS - 1).chain(['…']).collect()
}
