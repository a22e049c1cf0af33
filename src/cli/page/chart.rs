//! Lines in a frame, as SVG.

use super::html::{COLOURS, escape, wide};

const HEIGHT: f64 = 340.0;
const LEFT: f64 = 62.0;
const BOTTOM: f64 = 46.0;
/// Least distance of two names at the ends of lines.
const APART: f64 = 15.0;

/// How wide a drawing is: text is not scaled down to fit half a page.
#[derive(Clone, Copy)]
pub(in crate::cli) enum Width {
    /// All of the page.
    Whole,
    /// Two beside each other.
    Half,
}

/// One axis.
pub(in crate::cli) struct Axis {
    /// What it measures.
    pub(in crate::cli) label: &'static str,
    /// Whether its logarithm is drawn.
    pub(in crate::cli) is_log: bool,
    /// Where it is marked, and with what.
    pub(in crate::cli) ticks: Vec<(f64, String)>,
    /// The other side's marks at the same places.
    pub(in crate::cli) opposite: Option<(&'static str, Vec<String>)>,
}

/// One line.
pub(in crate::cli) struct Line {
    pub(in crate::cli) name: String,
    pub(in crate::cli) points: Vec<(f64, f64)>,
    /// Points to be marked, with a ring or else a square, and with what.
    pub(in crate::cli) marks: Vec<Mark>,
    /// The place of the line that it is drawn beside: in its colour, dashed, without a name.
    pub(in crate::cli) beside: Option<usize>,
}

/// A marked point.
pub(in crate::cli) struct Mark {
    pub(in crate::cli) at: (f64, f64),
    pub(in crate::cli) is_round: bool,
    pub(in crate::cli) label: String,
}

impl Line {
    pub(in crate::cli) fn plain(name: &str, points: impl Iterator<Item = (f64, f64)>) -> Self {
        Self { name: name.to_owned(), points: points.collect(), marks: Vec::new(), beside: None }
    }
}

/// Marks of a linear axis from 0.
pub(in crate::cli) fn linear(
    most: f64,
    label: &'static str,
    write: impl Fn(f64) -> String,
) -> Axis {
    stepped((most, f64::MIN_POSITIVE), label, write)
}

/// Marks of a linear axis of things that are counted, from 0: there is no half of one.
pub(in crate::cli) fn counted(
    most: u64,
    label: &'static str,
    write: impl Fn(f64) -> String,
) -> Axis {
    stepped((most as f64, 1.0), label, write)
}

/// Marks from 0 that are no less than `least` apart.
fn stepped((most, least): (f64, f64), label: &'static str, write: impl Fn(f64) -> String) -> Axis {
    let rough = (most / 5.0).max(least);
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| *step >= rough)
        .unwrap_or(rough);
    let marks = (0..=8).map(|at| f64::from(at) * step).take_while(|at| *at < most + step * 0.999);
    let ticks = marks.map(|at| (at, write(at))).collect();
    Axis { label, is_log: false, ticks, opposite: None }
}

/// Marks of a logarithmic axis: multiples by `factor` of `first` that enclose `low..high`.
pub(in crate::cli) fn logarithmic(
    (low, high): (f64, f64),
    (first, factor): (f64, f64),
    label: &'static str,
    write: impl Fn(f64) -> String,
) -> Axis {
    let steps = |value: f64| (value / first).ln() / factor.ln();
    let from = (steps(low) + 1e-9).floor();
    let count = ((steps(high) - 1e-9).ceil() - from).clamp(1.0, 60.0);
    let marks = (0..=60).map(f64::from).take_while(|at| *at <= count);
    let ticks = marks.map(|at| first * factor.powf(from + at)).map(|at| (at, write(at))).collect();
    Axis { label, is_log: true, ticks, opposite: None }
}

impl Axis {
    fn limits(&self) -> (f64, f64) {
        let first = self.ticks.first().map_or(0.0, |(at, _)| *at);
        let last = self.ticks.last().map_or(1.0, |(at, _)| *at);
        (first, if last > first { last } else { first + 1.0 })
    }

    /// Where a value stands, from 0 to 1.
    pub(super) fn place(&self, value: f64) -> f64 {
        let (low, high) = self.limits();
        let share = if self.is_log {
            (value.max(f64::MIN_POSITIVE) / low).ln() / (high / low).ln()
        } else {
            (value - low) / (high - low)
        };
        share.clamp(0.0, 1.0)
    }
}

/// What a drawing is called and what it shows, for those who do not see it.
#[derive(Clone, Copy)]
pub(in crate::cli) struct Told<'a> {
    pub(in crate::cli) title: &'a str,
    pub(in crate::cli) shows: &'a str,
}

impl Told<'_> {
    /// A drawing of that width and height.
    pub(in crate::cli) fn svg(
        &self,
        (width, height): (f64, f64),
        class: &str,
        inner: &str,
    ) -> String {
        let shows = match self.shows {
            "" => String::new(),
            shows => format!("<desc>{}</desc>\n", escape(shows)),
        };
        wide(&format!(
            "<svg{class} viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{}</title>\n{shows}{inner}</svg>",
            escape(self.title)
        ))
    }
}

/// Draws the lines.
pub(in crate::cli) fn draw(
    width: Width,
    told: Told<'_>,
    x: &Axis,
    y: &Axis,
    lines: &[Line],
) -> String {
    let (width, beside, class) = match width {
        Width::Whole => (760.0, 130.0, ""),
        Width::Half => (480.0, 96.0, " class=\"half\""),
    };
    let top = if x.opposite.is_some() { 48.0 } else { 18.0 };
    let height = HEIGHT.max(top + BOTTOM + APART * lines.len() as f64);
    let frame = Frame { left: LEFT, right: width - beside, top, bottom: height - BOTTOM, x, y };
    let mut out = frame.axes(height);
    for (at, line) in lines.iter().enumerate() {
        let place = |(x, y): &(f64, f64)| format!("{:.1} {:.1}", frame.across(*x), frame.up(*y));
        let path: Vec<String> = line.points.iter().map(place).collect();
        if !path.is_empty() {
            let (colour, dash) = match line.beside {
                Some(other) => (other, " dash"),
                None if at < COLOURS => (at, ""),
                None => (at, " dash"),
            };
            let colour = colour % COLOURS;
            out += &format!("<path class=\"l{colour}{dash}\" d=\"M{}\"/>\n", path.join("L"));
        }
    }
    for (at, line) in lines.iter().enumerate() {
        line.marks.iter().for_each(|mark| out += &frame.mark(at, mark));
    }
    for (place, at) in frame.ends(lines) {
        let name = lines.get(at).map_or("", |line| &line.name);
        let class = format!("t{}", at % COLOURS);
        out += &text(frame.right + 7.0, place + 4.0, "start", &class, &shortened(name));
    }
    told.svg((width, height), class, &out)
}

/// Where the drawing is, in units of the view box.
struct Frame<'a> {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: &'a Axis,
    y: &'a Axis,
}

impl Frame<'_> {
    fn across(&self, value: f64) -> f64 {
        self.left + self.x.place(value) * (self.right - self.left)
    }

    fn up(&self, value: f64) -> f64 {
        self.bottom - self.y.place(value) * (self.bottom - self.top)
    }

    fn axes(&self, height: f64) -> String {
        let Self { left, right, top, bottom, x, y } = *self;
        let mut out = String::new();
        for (value, mark) in &y.ticks {
            out += &stroke((left, self.up(*value)), (right, self.up(*value)), "grid");
            out += &text(left - 8.0, self.up(*value) + 4.0, "end", "soft", mark);
        }
        for (at, (value, mark)) in x.ticks.iter().enumerate() {
            let across = self.across(*value);
            out += &stroke((across, bottom), (across, bottom + 5.0), "axis");
            out += &text(across, bottom + 19.0, "middle", "soft", mark);
            if let Some((_, marks)) = &x.opposite {
                out += &stroke((across, top - 5.0), (across, top), "axis");
                out += &text(across, top - 9.0, "middle", "soft", marks.get(at).map_or("", |m| m));
            }
        }
        out += &stroke((left, bottom), (right, bottom), "axis");
        out += &text((left + right) / 2.0, height - 6.0, "middle", "", x.label);
        if let Some((label, _)) = &x.opposite {
            out += &stroke((left, top), (right, top), "axis");
            out += &text((left + right) / 2.0, 14.0, "middle", "", label);
        }
        out + &format!(
            "<text transform=\"translate(14 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
            (top + bottom) / 2.0,
            escape(y.label)
        )
    }

    fn mark(&self, line: usize, mark: &Mark) -> String {
        let (x, y, colour) = (self.across(mark.at.0), self.up(mark.at.1), line % COLOURS);
        let shape = if mark.is_round {
            format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" class=\"knee l{colour}\"/>\n")
        } else {
            let (left, top) = (x - 4.5, y - 4.5);
            format!(
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"9\" height=\"9\" class=\"knee l{colour}\"/>\n"
            )
        };
        // Lines that lie close have their marks on different sides.
        let (dx, dy, anchor) =
            if line.is_multiple_of(2) { (7.0, -8.0, "start") } else { (-7.0, 17.0, "end") };
        shape + &text(x + dx, y + dy, anchor, &format!("t{colour}"), &mark.label)
    }

    /// Where the names of the lines stand, by place: beside their ends, pushed apart within the frame.
    fn ends(&self, lines: &[Line]) -> Vec<(f64, usize)> {
        let end = |(at, line): (usize, &Line)| Some((self.up(line.points.last()?.1), at));
        let named = lines.iter().enumerate().filter(|(_, line)| line.beside.is_none());
        let mut ends: Vec<(f64, usize)> = named.filter_map(end).collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut free = f64::NEG_INFINITY;
        for (place, _) in &mut ends {
            *place = place.max(free);
            free = *place + APART;
        }
        let mut free = self.bottom - 6.0;
        for (place, _) in ends.iter_mut().rev() {
            *place = place.min(free);
            free = *place - APART;
        }
        ends
    }
}

pub(super) fn text(x: f64, y: f64, anchor: &str, class: &str, text: &str) -> String {
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"{class}\">{}</text>\n",
        escape(text)
    )
}

pub(super) fn stroke((x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) -> String {
    format!(
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" class=\"{class}\"/>\n"
    )
}

/// What fits beside the frame.
fn shortened(name: &str) -> String {
    const FITS: usize = 14;
    if name.chars().count() <= FITS {
        return name.to_owned();
    }
    name.chars().take(FITS - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_marked_by_different_whole_numbers() {
        for most in 0..40 {
            let Axis { ticks, .. } = counted(most, "", |value| format!("{value:.0}"));
            let marks: Vec<&String> = ticks.iter().map(|(_, mark)| mark).collect();
            assert!(ticks.iter().all(|(at, _)| at.fract() == 0.0), "{most}: {marks:?}");
            assert!(marks.windows(2).all(|two| two[0] != two[1]), "{most}: {marks:?}");
            assert!(ticks.len() > 1 || most == 0, "{most}: {marks:?}");
            assert!(ticks.last().unwrap().0 >= most as f64, "{most}: {marks:?}");
        }
    }
}
