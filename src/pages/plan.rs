//! What a plan makes of a corpus: a section of the card, and a page of its own.
//!
//! It shows the mix as asked and as achieved, how full rows are, what is left over and what repeats; where they were asked
//! for, the steps of grouping by length, and other multipliers of the mega-batch.

use super::chart::{AltText, Chart, ChartAxis, ChartLine, line_chart};
use super::figures::{BarChart, cut, cut_behind};
use super::{Contents, PageModel};
use crate::epoch::{Explanation, MixPoint, Recipe, SourceExplanation};
use crate::inspect::PlanReport;
use model::show;
use serde::Serialize;

pub(super) const TITLE: (&str, &str) = ("plan", "What a run gets");

/// Sources that are drawn, sources along the run, and sources in the table.
const DRAWN: usize = 16;
const LINES: usize = 6;
const TABLED: usize = 60;
/// Characters of the recipe, at most.
const RECIPE: usize = 20_000;

/// A page about what a run gets of a corpus.
#[derive(Debug, Serialize)]
pub struct PlanPage<'a> {
    name: String,
    contents: Contents,
    plan: PlanSection<'a>,
}

impl<'a> PlanPage<'a> {
    /// The page for a corpus called `name`.
    pub fn new(epoch: &'a Explanation, name: &str) -> Self {
        let plan = PlanSection::new(epoch, None);
        Self { name: cut(name), contents: Contents(vec![TITLE]), plan }
    }
}

impl PageModel for PlanPage<'_> {
    const TEMPLATE: &'static str = "plan.html";

    fn title(&self) -> String {
        format!("Epoch of {}", self.name)
    }
}

/// The section about a plan. A stored one also has its number, and the documents removed since.
#[derive(Debug, Serialize)]
pub(super) struct PlanSection<'a> {
    number: Option<String>,
    removed_since: u64,
    epoch: &'a Explanation,
    recipe: String,
    padding: f64,
    /// The source farthest off its share, and the difference in percentage points; absent for a single source.
    worst: Option<(&'a str, f64)>,
    shares: BarChart,
    along: Option<AlongFigure>,
    filled: BarChart,
    /// In which order documents come.
    order: String,
    /// What becomes of the tokens of the sources.
    tokens: BarChart,
    /// The sources that are passed through more than once.
    repeated: Vec<&'a SourceExplanation>,
    unused: u64,
    /// Tokens of the selected documents, with their end tokens.
    packed: u64,
    dropped_documents: u64,
    largest: Vec<&'a SourceExplanation>,
    left_out: u64,
    /// The steps of grouping by length, as a terminal shows them.
    steps: Option<String>,
}

#[derive(Debug, Serialize)]
struct AlongFigure {
    /// Sources whose share differs between stretches.
    moved: u64,
    chart: Chart,
}

impl<'a> PlanSection<'a> {
    pub(super) fn new(epoch: &'a Explanation, stored: Option<&PlanReport>) -> Self {
        let sources = &epoch.sources;
        let off = |it: &&SourceExplanation| 100.0 * (it.achieved_share - it.asked_share).abs();
        let worst = sources.iter().max_by(|a, b| off(a).total_cmp(&off(b)));
        let drawn = largest(epoch, DRAWN).into_iter();
        let filled = drawn
            .map(|(_, it)| (it.name.clone(), vec![(it.efficiency, show::percent(it.efficiency))]));
        Self {
            number: stored.map(|plan| plan.number.to_string()),
            removed_since: stored.map_or(0, |plan| plan.removed_since),
            epoch,
            recipe: cut_behind(&epoch.recipe, RECIPE),
            padding: epoch.padding_percent / 100.0,
            worst: worst.filter(|_| sources.len() > 1).map(|it| (it.name.as_str(), off(&it))),
            shares: shares(epoch),
            along: along(epoch),
            filled: BarChart::new([], filled.collect()),
            order: Recipe::parse(&epoch.recipe)
                .map_or_else(|_| String::new(), |it| it.order.sentence()),
            tokens: tokens(epoch),
            repeated: sources.iter().filter(|it| it.passes > 1.0).collect(),
            unused: sources.iter().map(|it| it.unused_tokens).sum(),
            packed: sources.iter().map(|it| it.tokens + it.specials_added).sum(),
            dropped_documents: sources.iter().map(|it| it.dropped_documents).sum(),
            largest: largest(epoch, TABLED).into_iter().map(|(_, it)| it).collect(),
            left_out: sources.len().saturating_sub(TABLED) as u64,
            steps: epoch.grouping.as_ref().map(ToString::to_string),
        }
    }
}

/// The sources of which the epoch takes most, with their places in the mix.
fn largest(epoch: &Explanation, most: usize) -> Vec<(usize, &SourceExplanation)> {
    let mut sources: Vec<(usize, &SourceExplanation)> = epoch.sources.iter().enumerate().collect();
    sources.sort_by(|a, b| b.1.achieved_share.total_cmp(&a.1.achieved_share).then(a.0.cmp(&b.0)));
    sources.truncate(most);
    sources
}

/// Where the tokens of the sources go: into the run, or why not; what no token goes to is left out.
fn tokens(epoch: &Explanation) -> BarChart {
    let sum = |of: fn(&SourceExplanation) -> u64| epoch.sources.iter().map(of).sum::<u64>();
    let mut parts = vec![
        ("in the run", epoch.tokens),
        ("not reached", sum(|it| it.unused_tokens)),
        ("of documents left out by length", sum(|it| it.dropped_tokens)),
        ("cut off", sum(|it| it.truncated_tokens)),
        ("at ends that fill no row", sum(|it| it.partial_tokens)),
    ];
    parts.extend(epoch.left_out_by_reason().into_iter().map(|(why, (_, tokens))| (why, tokens)));
    let parts = parts.into_iter().filter(|(_, tokens)| *tokens > 0);
    let rows =
        parts.map(|(name, tokens)| (name.to_owned(), vec![(tokens as f64, show::number(tokens))]));
    BarChart::new([], rows.collect())
}

/// Asked and achieved shares by source.
fn shares(epoch: &Explanation) -> BarChart {
    let bar = |share: f64| (share, show::percent(share));
    let drawn = largest(epoch, DRAWN);
    let row = |(_, it): &(usize, &SourceExplanation)| {
        (it.name.clone(), vec![bar(it.asked_share), bar(it.achieved_share)])
    };
    let mut rows: Vec<(String, Vec<(f64, String)>)> = drawn.iter().map(row).collect();
    if epoch.sources.len() > drawn.len() {
        let rest = |share: fn(&SourceExplanation) -> f64| {
            bar((1.0 - drawn.iter().map(|(_, it)| share(it)).sum::<f64>()).max(0.0))
        };
        let others = format!("({} others)", epoch.sources.len() - drawn.len());
        rows.push((others, vec![rest(|it| it.asked_share), rest(|it| it.achieved_share)]));
    }
    BarChart::new([("asked", String::new()), ("gets", String::new())], rows)
}

/// The share of each source in each stretch of the run, with the share asked for.
fn along(epoch: &Explanation) -> Option<AlongFigure> {
    if epoch.along.len() < 3 {
        return None;
    }
    let rows = epoch.along.last().map_or(1, |it| it.row).max(1) as f64;
    let stretches: Vec<_> = epoch.along.iter().zip(epoch.along.iter().skip(1)).collect();
    let part = |amounts: fn(&MixPoint) -> &Vec<u64>, source: usize| {
        stretches.iter().map(move |(from, to)| {
            let of = |point| amounts(point).get(source).copied().unwrap_or(0);
            let middle = (from.row as f64 + to.row as f64) / 2.0;
            let amount = of(to).saturating_sub(of(from));
            (100.0 * middle / rows, 100.0 * show::share(amount, to.given - from.given))
        })
    };
    let drawn = largest(epoch, LINES);
    let achieved =
        drawn.iter().map(|(at, it)| ChartLine::new(&cut(&it.name), part(|it| &it.achieved, *at)));
    let asked = drawn.iter().enumerate().map(|(place, (at, _))| {
        ChartLine::new("as asked", part(|it| &it.asked, *at)).beside(place)
    });
    let lines: Vec<ChartLine> = achieved.chain(asked).collect();
    let most = lines.iter().flat_map(ChartLine::points).map(|point| point.1).fold(1.0, f64::max);
    let moved = drawn.iter().filter(|(at, _)| {
        let shares: Vec<f64> = part(|it| &it.asked, *at).map(|point| point.1).collect();
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        shares.iter().copied().fold(0.0, f64::max) - least > 1.0
    });
    let moved = moved.count() as u64;
    let whole = |value: f64| format!("{value:.0} %");
    let x = ChartAxis::linear(100.0, "of the rows of the run", whole);
    let y = ChartAxis::linear(most, "share of a part of the run", whole);
    let alt = AltText::new(
        "The mix along the run",
        "for each source a line of its share in each part of the run, and a dashed line of the share it was due",
    );
    Some(AlongFigure { moved, chart: line_chart(&alt, &x, &y, &lines) })
}
