//! Draws every chart of a page as SVG: lines, columns, ranges.
//!
//! A chart is [`WIDTH`] units wide and is scaled to the page, down to a phone, where nothing of it may be cut off. So
//! that no text leaves its picture, margins are as wide as the texts in them, marks that would touch are left out, and
//! long texts are shortened. The fonts of a reader are not known: [`text_width`] is an upper bound. The legend, which
//! explains colours and lines, stands above the chart; it is HTML and has the totals. Each chart describes in words
//! what it shows.
//!
//! On a phone 360 points wide its letters have 11 points. A test measures every text of every page by the same rule.
//! Charts are drawn by hand since plotters has no alternative text, and no script runs.

use super::{COLOURS, SafeHtml, escape};
use model::invariant::at;
use model::show;
use serde::Serialize;

/// Units of a chart in width.
const WIDTH: f64 = 480.0;
/// Units of the plotting area in height.
const PLOT: f64 = 230.0;
/// The font size in units: no style makes texts larger.
pub(super) const FONT: f64 = 15.0;
/// Units between neighbouring texts, and between a text and what it labels.
pub(super) const GAP: f64 = 9.0;
/// Units of height of a range.
const ROW: f64 = 26.0;
/// Units for the names of ranges, at most.
const NAMES: f64 = 170.0;
/// The colour that belongs to no single line.
const GREY: usize = 7;

/// A chart: its legend and its drawing.
#[derive(Debug, Serialize)]
pub(super) struct Chart {
    pub(super) legend: Vec<LegendEntry>,
    svg: SafeHtml,
}

/// The meaning of a colour or line style.
#[derive(Debug, Serialize)]
pub(super) struct LegendEntry {
    pub(super) name: String,
    /// The total of the series, in words; empty where a sum says nothing.
    pub(super) total: String,
    /// The class of the style sheet.
    pub(super) class: String,
}

impl LegendEntry {
    /// The entry of the series at place `at`.
    pub(super) fn new(at: usize, name: &str, total: String) -> Self {
        Self { name: name.to_owned(), total, class: format!("f{}", at % COLOURS) }
    }
}

/// Title and description of a drawing, for screen readers.
pub(super) struct AltText {
    pub(super) title: String,
    pub(super) shows: String,
}

impl AltText {
    pub(super) fn new(title: impl Into<String>, shows: impl Into<String>) -> Self {
        Self { title: title.into(), shows: shows.into() }
    }
}

pub(super) struct ChartAxis {
    /// What it measures, with the unit.
    label: String,
    /// Whether the axis is logarithmic.
    is_log: bool,
    /// Marks with their labels: ascending and evenly spaced.
    pub(super) ticks: Vec<(f64, String)>,
    /// The label and marks on the opposite side of the chart, at the same places.
    opposite: Option<(String, Vec<String>)>,
    write: Box<dyn Fn(f64) -> String>,
}

impl ChartAxis {
    /// A linear axis from 0.
    pub(super) fn linear(most: f64, label: &str, write: impl Fn(f64) -> String + 'static) -> Self {
        Self::stepped((0.0, most), f64::MIN_POSITIVE, label, write)
    }

    /// A linear axis of counts from 0, with whole numbers as marks.
    pub(super) fn counted(most: u64, label: &str) -> Self {
        let write = |value: f64| show::short(value.round() as u64).replace(".0 ", " ");
        Self::stepped((0.0, most as f64), 1.0, label, write)
    }

    /// A linear axis of measurements: from 0, or around the values if they are far from 0.
    pub(super) fn measured(low: f64, high: f64, label: &str) -> Self {
        let is_near_zero = low >= 0.0 && low < high / 3.0;
        let low = if is_near_zero { 0.0 } else { low };
        let high = if high > low { high } else { low + low.abs().max(1.0) };
        let axis = |write: Box<dyn Fn(f64) -> String>| {
            Self::stepped((low, high), f64::MIN_POSITIVE, label, write)
        };
        let brief = axis(Box::new(|value| match value.fract() == 0.0 && value >= 10_000.0 {
            true => show::short(value as u64).replace(".0 ", " "),
            false => show::decimals(value),
        }));
        let marks = || brief.ticks.iter().map(|(_, mark)| mark);
        if marks().zip(marks().skip(1)).all(|(mark, next)| mark != next) {
            return brief;
        }
        let places = (-((high - low) / 5.0).log10().floor()).clamp(0.0, 9.0) as usize;
        axis(Box::new(move |value| format!("{value:.places$}")))
    }

    /// Round marks at least `least` apart that enclose `low..high`.
    fn stepped(
        (low, high): (f64, f64),
        least: f64,
        label: &str,
        write: impl Fn(f64) -> String + 'static,
    ) -> Self {
        let rough = ((high - low) / 5.0).max(least);
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|factor| factor * power)
            .into_iter()
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        let first = (low / step + 1e-9).floor();
        let places = (0..=8).map(|at| (first + f64::from(at)) * step);
        Self::marked(label, places.take_while(|at| *at < high + step * 0.999), write)
    }

    /// A logarithmic axis: multiples by `factor` of `first` that enclose `low..high`.
    pub(super) fn logarithmic(
        (low, high): (f64, f64),
        (first, factor): (f64, f64),
        label: &str,
        write: impl Fn(f64) -> String + 'static,
    ) -> Self {
        let steps = |value: f64| (value / first).ln() / factor.ln();
        let from = (steps(low) + 1e-9).floor();
        let count = ((steps(high) - 1e-9).ceil() - from).clamp(1.0, 60.0);
        let steps = (0..=60).map(f64::from).take_while(|at| *at <= count);
        let axis = Self::marked(label, steps.map(|at| first * factor.powf(from + at)), write);
        Self { is_log: true, ..axis }
    }

    /// A linear axis with marks at these places.
    pub(super) fn marked(
        label: &str,
        places: impl Iterator<Item = f64>,
        write: impl Fn(f64) -> String + 'static,
    ) -> Self {
        let ticks = places.map(|at| (at, write(at))).collect();
        Self {
            label: label.to_owned(),
            is_log: false,
            ticks,
            opposite: None,
            write: Box::new(write),
        }
    }

    /// This axis with marks on the opposite side, which `write` makes of the values of this side's marks.
    pub(super) fn opposite(self, label: &str, write: impl Fn(f64) -> String) -> Self {
        let marks = self.ticks.iter().map(|(at, _)| write(*at)).collect();
        Self { opposite: Some((label.to_owned(), marks)), ..self }
    }

    fn limits(&self) -> (f64, f64) {
        let first = self.ticks.first().map_or(0.0, |(at, _)| *at);
        let last = self.ticks.last().map_or(1.0, |(at, _)| *at);
        (first, if last > first { last } else { first + 1.0 })
    }

    /// The place of a value on the axis, from 0 to 1.
    fn place(&self, value: f64) -> f64 {
        let (low, high) = self.limits();
        let share = if self.is_log {
            (value.max(f64::MIN_POSITIVE) / low).ln() / (high / low).ln()
        } else {
            (value - low) / (high - low)
        };
        share.clamp(0.0, 1.0)
    }

    /// The width of the widest label, on either side.
    pub(super) fn widest(&self) -> f64 {
        let opposite = self.opposite.iter().flat_map(|(_, marks)| marks);
        let marks = self.ticks.iter().map(|(_, mark)| mark).chain(opposite);
        marks.map(|mark| text_width(mark)).fold(0.0, f64::max)
    }

    /// How far the outermost labels reach beyond the ends of the axis, to the left and to the right.
    fn overhang(&self) -> (f64, f64) {
        let opposite =
            self.opposite.as_ref().map(|(_, marks)| marks.as_slice()).unwrap_or_default();
        let half = |mark: Option<&String>| mark.map_or(0.0, |mark| text_width(mark) / 2.0);
        let of =
            |ticks: Option<&(f64, String)>, other| half(ticks.map(|it| &it.1)).max(half(other));
        (of(self.ticks.first(), opposite.first()), of(self.ticks.last(), opposite.last()))
    }

    /// Every how many marks a label fits, so that none touches the next, on an axis of that length.
    pub(super) fn every(&self, length: f64) -> usize {
        let apart = length / (self.ticks.len().saturating_sub(1).max(1) as f64);
        ((self.widest() + GAP) / apart.max(1.0)).ceil().max(1.0) as usize
    }
}

/// One line.
pub(super) struct ChartLine {
    name: String,
    /// The total of the line, in words; empty where a sum says nothing.
    total: String,
    points: Vec<(f64, f64)>,
    marks: Vec<ChartMark>,
    /// The place of a line whose colour this one has, dashed. All such lines share a name.
    beside: Option<usize>,
}

/// A marked point.
pub(super) struct ChartMark {
    pub(super) at: (f64, f64),
    /// Whether the mark is a ring; else it is a square.
    pub(super) is_round: bool,
    pub(super) label: String,
}

impl ChartLine {
    pub(super) fn new(name: &str, points: impl Iterator<Item = (f64, f64)>) -> Self {
        Self {
            name: name.to_owned(),
            total: String::new(),
            points: points.collect(),
            marks: Vec::new(),
            beside: None,
        }
    }

    pub(super) fn with_total(self, total: String) -> Self {
        Self { total, ..self }
    }

    pub(super) fn with_marks(self, marks: Vec<ChartMark>) -> Self {
        Self { marks, ..self }
    }

    /// Makes the line dashed, in the colour of the line at that place.
    pub(super) fn beside(self, place: usize) -> Self {
        Self { beside: Some(place), ..self }
    }

    pub(super) fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// The greatest height of any of the lines.
    pub(super) fn highest(lines: &[Self]) -> f64 {
        lines.iter().flat_map(Self::points).map(|point| point.1).fold(0.0, f64::max)
    }

    /// The first and last values, in words.
    fn described(&self, x: &ChartAxis, y: &ChartAxis) -> Option<String> {
        let ends = [self.points.first()?, self.points.last()?];
        let [from, to] =
            ends.map(|(at, value)| format!("{} at {}", (y.write)(*value), (x.write)(*at)));
        Some(format!("{}: from {from} to {to}", self.name))
    }
}

/// A place of a chart of columns: its label, its description, and its heights, each within the one before.
pub(super) struct ChartColumn {
    pub(super) mark: String,
    pub(super) described: String,
    pub(super) heights: Vec<f64>,
}

/// A group with five ascending values: a line is drawn from the first to the last, a box from the second to the fourth,
/// and a mark at the third.
pub(super) struct ChartRange {
    pub(super) name: String,
    pub(super) described: String,
    pub(super) values: [f64; 5],
}

/// Draws lines. The legend has an entry for each line, and one for all dashed lines.
pub(super) fn line_chart(
    alt: &AltText,
    x: &ChartAxis,
    y: &ChartAxis,
    lines: &[ChartLine],
) -> Chart {
    let frame = ChartFrame::new(x, y);
    let mut canvas = frame.axes();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.points.is_empty()) {
        let place = |(x, y): &(f64, f64)| format!("{:.1} {:.1}", frame.across(*x), frame.up(*y));
        let path: Vec<String> = line.points.iter().map(place).collect();
        let dash = if line.beside.is_some() || at >= COLOURS { " dash" } else { "" };
        let colour = line.beside.unwrap_or(at) % COLOURS;
        canvas.push(&format!("<path class=\"l{colour}{dash}\" d=\"M{}\"/>\n", path.join("L")));
    }
    let points = || lines.iter().flat_map(ChartLine::points);
    let drawn: Vec<(f64, f64)> = points().map(|(x, y)| (frame.across(*x), frame.up(*y))).collect();
    let mut taken = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        for mark in &line.marks {
            canvas.mark(&frame, at % COLOURS, mark, &drawn, &mut taken);
        }
    }
    let named = || lines.iter().enumerate().filter(|(_, line)| line.beside.is_none());
    let beside = lines.iter().enumerate().find(|(_, line)| line.beside.is_some());
    let legend = named().chain(beside).map(|(at, line)| {
        let is_beside = line.beside.is_some();
        let entry =
            LegendEntry::new(if is_beside { GREY } else { at }, &line.name, line.total.clone());
        let dash = if is_beside || at >= COLOURS { " dash" } else { "" };
        LegendEntry { class: format!("{} line{dash}", entry.class), ..entry }
    });
    let ends: Vec<String> = named().filter_map(|(_, line)| line.described(x, y)).collect();
    Chart { legend: legend.collect(), svg: canvas.finish(alt, &ends.join("; ")) }
}

/// Draws columns. Each series has a name and a total; the first of two is pale. `across` describes the places.
pub(super) fn column_chart(
    alt: &AltText,
    across: &str,
    y: &ChartAxis,
    series: &[(&str, u64)],
    columns: &[ChartColumn],
) -> Chart {
    let marks = columns.iter().map(|column| column.mark.clone());
    let named = ChartAxis::marked(across, std::iter::empty(), |_| String::new());
    let x = ChartAxis { ticks: (0u32..).map(f64::from).zip(marks).collect(), ..named };
    let frame = ChartFrame::new(&x, y);
    // The label of a column stands below its middle.
    let step = (frame.right - frame.left) / (columns.len().max(1) as f64);
    let frame = ChartFrame { inset: step / 2.0, ..frame };
    let (left, bottom) = (frame.left, frame.bottom);
    let mut canvas = frame.axes();
    let pale = |at: usize| if at == 0 && series.len() > 1 { "pale" } else { "solid" };
    for (at, column) in columns.iter().enumerate() {
        let from = left + step * at as f64 + 0.5;
        canvas.push(&format!("<g><title>{}</title>\n", escape(&column.described)));
        for (series, height) in column.heights.iter().enumerate() {
            // Any height above 0 is visible.
            let tall = if *height > 0.0 { (bottom - frame.up(*height)).max(1.0) } else { 0.0 };
            canvas.push(&format!(
                "<rect class=\"{}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{tall:.1}\"/>\n",
                pale(series),
                bottom - tall,
                (step - 1.0).max(0.5)
            ));
        }
        canvas.push("</g>\n");
    }
    let legend = series.iter().enumerate().map(|(at, (name, total))| LegendEntry {
        name: (*name).to_owned(),
        total: show::number(*total),
        class: if pale(at) == "pale" { "pale".to_owned() } else { "f0".to_owned() },
    });
    let height = |column: &&ChartColumn| column.heights.first().copied().unwrap_or(0.0);
    let highest = columns.iter().max_by(|a, b| height(a).total_cmp(&height(b)));
    let highest = highest.map_or_else(String::new, |it| format!("highest {}", it.described));
    Chart { legend: legend.collect(), svg: canvas.finish(alt, &highest) }
}

/// Draws ranges below each other on one axis.
pub(super) fn range_chart(alt: &AltText, x: &ChartAxis, ranges: &[ChartRange]) -> Chart {
    let names: Vec<String> = ranges.iter().map(|it| fitted(&it.name, NAMES)).collect();
    let widest = names.iter().map(|name| text_width(name)).fold(0.0, f64::max);
    let (before, behind) = x.overhang();
    let (left, right) = ((widest + 2.0 * GAP).max(before), WIDTH - behind.max(GAP));
    let bottom = GAP + ROW * ranges.len() as f64;
    let across = |value: f64| left + x.place(value) * (right - left);
    let label = if x.label.is_empty() { 0.0 } else { FONT + GAP };
    let mut canvas = Canvas::new(bottom + FONT + GAP + label);
    let every = x.every(right - left);
    for (at, (value, mark)) in x.ticks.iter().enumerate() {
        canvas.stroke((across(*value), GAP), (across(*value), bottom), "grid");
        if at.is_multiple_of(every) {
            canvas.text((across(*value), bottom + FONT + 3.0), "middle", "soft", mark);
        }
    }
    canvas.text(((left + right) / 2.0, bottom + 2.0 * FONT + GAP), "middle", "", &x.label);
    for (at, (range, name)) in ranges.iter().zip(&names).enumerate() {
        let middle = GAP + ROW * (at as f64 + 0.5);
        let [low, first, half, third, high] = range.values.map(across);
        canvas.push(&format!("<g><title>{}</title>\n", escape(&range.described)));
        canvas.text((left - GAP, middle + 5.0), "end", "", name);
        canvas.stroke((low, middle), (high, middle), "reach");
        canvas.push(&format!(
            "<rect class=\"pale\" x=\"{first:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"12\"/>\n",
            middle - 6.0,
            (third - first).max(1.0)
        ));
        canvas.stroke((half, middle - 7.0), (half, middle + 7.0), "half-way");
        canvas.push("</g>\n");
    }
    let described: Vec<&str> = ranges.iter().map(|it| it.described.as_str()).collect();
    Chart { legend: Vec::new(), svg: canvas.finish(alt, &described.join("; ")) }
}

/// The plotting area, in units of the view box.
struct ChartFrame<'a> {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    /// The distance of the first and last place of x from the sides.
    inset: f64,
    x: &'a ChartAxis,
    y: &'a ChartAxis,
}

impl<'a> ChartFrame<'a> {
    fn new(x: &'a ChartAxis, y: &'a ChartAxis) -> Self {
        let (before, behind) = x.overhang();
        let left = (y.widest() + GAP + 2.0).max(before);
        let above = if x.opposite.is_some() { 2.0 * (FONT + GAP) } else { 0.0 };
        let top = FONT + GAP + 3.0 + above;
        Self { left, right: WIDTH - behind.max(GAP), top, bottom: top + PLOT, inset: 0.0, x, y }
    }

    fn across(&self, value: f64) -> f64 {
        self.left + self.inset + self.x.place(value) * self.length()
    }

    /// The length of the x axis between its first and last place.
    fn length(&self) -> f64 {
        self.right - self.left - 2.0 * self.inset
    }

    fn up(&self, value: f64) -> f64 {
        self.bottom - self.y.place(value) * (self.bottom - self.top)
    }

    /// Draws the axes with their labels: that of y at the top left, where it is read first, that of x below.
    fn axes(&self) -> Canvas {
        let Self { left, right, top, bottom, x, y, .. } = *self;
        let mut canvas = Canvas::new(bottom + 2.0 * FONT + 2.0 * GAP);
        canvas.text((0.0, FONT), "start", "", &y.label);
        for (value, mark) in &y.ticks {
            canvas.stroke((left, self.up(*value)), (right, self.up(*value)), "grid");
            canvas.text((left - GAP, self.up(*value) + 5.0), "end", "soft", mark);
        }
        let every = x.every(self.length());
        for (tick, (value, mark)) in
            x.ticks.iter().enumerate().filter(|(tick, _)| tick.is_multiple_of(every))
        {
            let across = self.across(*value);
            canvas.stroke((across, bottom), (across, bottom + 5.0), "axis");
            canvas.text((across, bottom + FONT + 7.0), "middle", "soft", mark);
            if let Some((_, marks)) = &x.opposite {
                canvas.stroke((across, top - 5.0), (across, top), "axis");
                let mark = at(marks, tick);
                canvas.text((across, top - GAP - 2.0), "middle", "soft", mark);
            }
        }
        canvas.stroke((left, bottom), (right, bottom), "axis");
        let middle = (left + right) / 2.0;
        canvas.text((middle, bottom + 2.0 * FONT + GAP + 3.0), "middle", "", &x.label);
        if let Some((label, _)) = &x.opposite {
            canvas.stroke((left, top), (right, top), "axis");
            canvas.text((middle, top - FONT - GAP - 7.0), "middle", "", label);
        }
        canvas
    }
}

/// An SVG drawing while it is made. Every text goes through [`Canvas::text`], which keeps it inside.
struct Canvas {
    height: f64,
    out: String,
}

impl Canvas {
    fn new(height: f64) -> Self {
        Self { height, out: String::new() }
    }

    fn push(&mut self, svg: &str) {
        self.out += svg;
    }

    fn text(&mut self, (x, y): (f64, f64), anchor: &str, class: &str, text: &str) {
        let text = fitted(text, WIDTH);
        if text.is_empty() {
            return;
        }
        let width = text_width(&text);
        // From the left end of the text to its anchor.
        let before = match anchor {
            "start" => 0.0,
            "end" => width,
            _ => width / 2.0,
        };
        let x = x.clamp(before, before.max(WIDTH - width + before));
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        self.out += &format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"{class}>{}</text>\n",
            escape(&text)
        );
    }

    fn stroke(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
        self.out += &format!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" class=\"{class}\"/>\n"
        );
    }

    /// Draws a marked point with its label. The label goes to the free place that covers the fewest points of lines.
    fn mark(
        &mut self,
        frame: &ChartFrame<'_>,
        colour: usize,
        mark: &ChartMark,
        drawn: &[(f64, f64)],
        taken: &mut Vec<(f64, f64, f64)>,
    ) {
        let (x, y) = (frame.across(mark.at.0), frame.up(mark.at.1));
        self.out += &if mark.is_round {
            format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" class=\"knee l{colour}\"/>\n")
        } else {
            let (left, top) = (x - 4.5, y - 4.5);
            format!(
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"9\" height=\"9\" class=\"knee l{colour}\"/>\n"
            )
        };
        let width = text_width(&mark.label);
        let places = [
            (GAP, -GAP),
            (-GAP - width, 18.0),
            (-GAP - width, -GAP),
            (GAP, 18.0),
            (GAP, -26.0),
            (GAP, 36.0),
        ];
        let fits = |(dx, dy): &(f64, f64)| {
            let (left, base) = (x + dx, y + dy);
            let is_free = taken.iter().all(|(from, to, at)| {
                left > to + GAP || left + width + GAP < *from || (base - at).abs() > FONT
            });
            left >= frame.left
                && left + width <= WIDTH
                && base - FONT >= frame.top
                && base <= frame.bottom
                && is_free
        };
        let crossed = |(dx, dy): &(f64, f64)| {
            let (across, up) = (x + dx..=x + dx + width, y + dy - FONT..=y + dy + 3.0);
            drawn.iter().filter(|(x, y)| across.contains(x) && up.contains(y)).count()
        };
        let free = places.into_iter().filter(fits);
        let (dx, dy) = free.min_by_key(crossed).unwrap_or((GAP, -GAP));
        taken.push((x + dx, x + dx + width, y + dy));
        self.text((x + dx, y + dy), "start", &format!("t{colour}"), &mark.label);
    }

    /// The whole drawing, with its title and description.
    fn finish(self, alt: &AltText, more: &str) -> SafeHtml {
        let shows: Vec<&str> =
            [alt.shows.as_str(), more].into_iter().filter(|it| !it.is_empty()).collect();
        SafeHtml::new(format!(
            "<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\">\n<title>{}</title>\n<desc>{}</desc>\n{}</svg>\n",
            self.height.ceil(),
            escape(&alt.title),
            escape(&shows.join(": ")),
            self.out
        ))
    }
}

/// An upper bound of the width of a text of [`FONT`] in units, whatever the font: a letter or digit is 0.65 of the size
/// of the font, a capital 0.8, thin signs 0.42, the widest ASCII letters 1, signs of other scripts 1.1, emoji 1.3.
pub(super) fn text_width(text: &str) -> f64 {
    let em = |character: char| match character {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | '(' | ')' | '['
        | ']' | '-' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '&' | '…' => 1.0,
        'A'..='Z' | '<' | '>' | '=' | '+' | '~' | '#' | '^' | '–' | '×' | '−' => 0.85,
        '\u{20}'..='\u{7e}' | '\u{b2}' | '\u{b3}' | '\u{b9}' | '\u{2070}'..='\u{208e}' => 0.65,
        '\u{1f000}'.. => 1.3,
        _ => 1.1,
    };
    FONT * text.chars().map(em).sum::<f64>()
}

/// The part of a text that fits into that width, with dots where text is left out.
pub(super) fn fitted(text: &str, width: f64) -> String {
    if text_width(text) <= width {
        return text.to_owned();
    }
    let mut room = width - text_width("…");
    let fits = text.chars().take_while(|character| {
        room -= text_width(character.encode_utf8(&mut [0; 4]));
        room >= 0.0
    });
    fits.chain(['…']).collect()
}
