//! What a plan makes of the corpus: the mix as asked and as it will be, how full rows are, what is left and what
//! repeats.

use super::figure::{Section, figure, folded, note, says};
use super::words::{called, count, documents, of, share};
use crate::cli::page::chart::{Line, Told, Width, draw, linear};
use crate::cli::page::html::{bars, cut, escape, key, name, percent, short, table};
use crate::cli::print;
use corpusdb::epoch::{Explanation, SourceExplanation};
use corpusdb::report::PlanReport;

/// Sources that are drawn, and those of the mix along the run.
const DRAWN: usize = 16;
const LINES: usize = 6;

/// The section of an epoch: of a stored plan, or of one that is not stored.
pub(super) fn section(epoch: &Explanation, stored: Option<&PlanReport>) -> Section {
    let mut out = opening(epoch, stored);
    out += &shares(epoch);
    out += &along(epoch);
    out += &filled(epoch);
    out += &left(epoch);
    out += &folded(
        "The recipe, with every default",
        &format!("<pre tabindex=\"0\">{}</pre>\n", recipe(&epoch.recipe)),
    );
    Section::new("plan", "What a run gets", out)
}

fn recipe(text: &str) -> String {
    const LONGEST: usize = 20_000;
    let shown: String = text.chars().take(LONGEST).collect();
    crate::cli::page::html::lines(&shown) + if shown.len() < text.len() { "\n…" } else { "" }
}

fn opening(epoch: &Explanation, stored: Option<&PlanReport>) -> String {
    let plan = match stored {
        Some(plan) => format!("Plan {}", plan.number),
        None => "The plan".to_owned(),
    };
    let drops = if epoch.snapshot_dropped { ", which was dropped since" } else { "" };
    let steps = match epoch.batches {
        Some(batches) => format!(" in {}", count(batches, "batch", "batches")),
        None => String::new(),
    };
    let mut out = says(&format!(
        "{plan} draws from snapshot {}{drops} and makes {} of {} tokens{steps}: {} real tokens of {}, {} of padding.",
        called(&epoch.snapshot),
        count(epoch.rows, "row", "rows"),
        print::number(u64::from(epoch.capacity)),
        print::number(epoch.tokens),
        called(&epoch.tokenizer),
        percent(epoch.padding_percent / 100.0)
    ));
    out += &note(&format!("blake3 of the plan: {}", escape(&epoch.plan)));
    let removed = stored.map_or(0, |plan| plan.removed_since);
    if removed > 0 {
        out += &format!(
            "<p class=\"warn\">{} drawn of which a removal has taken out since: the plan trains on them all the same.</p>\n",
            count(removed, "document is", "documents are")
        );
    }
    if let Some(undecided) = epoch.undecided_documents.filter(|undecided| *undecided > 0) {
        out += &note(&format!(
            "{} on neither side of the holdout.",
            count(undecided, "document is", "documents are")
        ));
    }
    out
}

/// The largest sources of the epoch, by what it takes of them.
fn largest(epoch: &Explanation, most: usize) -> Vec<(usize, &SourceExplanation)> {
    let mut sources: Vec<(usize, &SourceExplanation)> = epoch.sources.iter().enumerate().collect();
    sources.sort_by(|a, b| b.1.achieved_share.total_cmp(&a.1.achieved_share).then(a.0.cmp(&b.0)));
    sources.truncate(most);
    sources
}

/// Asked and achieved, source by source.
fn shares(epoch: &Explanation) -> String {
    let off = |it: &&SourceExplanation| (it.achieved_share - it.asked_share).abs();
    let worst = epoch.sources.iter().max_by(|a, b| off(a).total_cmp(&off(b)));
    let says = match worst {
        // Less is told as nothing.
        Some(worst) if epoch.sources.len() > 1 && off(&worst) < 0.000_05 => {
            format!("By {}, every source gets the share that is asked of it.", escape(&epoch.unit))
        }
        Some(worst) if epoch.sources.len() > 1 => format!(
            "By {}, no source is off its asked share by more than {}; {} is off most.",
            escape(&epoch.unit),
            points(off(&worst)),
            called(&worst.name)
        ),
        _ => "All rows are of one source.".to_owned(),
    };
    let mut rows: Vec<(String, Vec<(f64, String)>)> = largest(epoch, DRAWN)
        .into_iter()
        .map(|(_, it)| {
            let bar = |share: f64| (share, percent(share));
            (cut(&it.name), vec![bar(it.asked_share), bar(it.achieved_share)])
        })
        .collect();
    if epoch.sources.len() > rows.len() {
        let shown = largest(epoch, DRAWN);
        let rest = |share: fn(&SourceExplanation) -> f64| {
            let rest = 1.0 - shown.iter().map(|(_, it)| share(it)).sum::<f64>();
            (rest.max(0.0), percent(rest.max(0.0)))
        };
        let others = format!("({} others)", epoch.sources.len() - rows.len());
        rows.push((others, vec![rest(|it| it.asked_share), rest(|it| it.achieved_share)]));
    }
    let picture = format!("{}{}", key(["asked", "gets"].into_iter()), bars(&rows));
    figure(&says, &picture, "")
}

/// A difference of shares, in percentage points.
fn points(off: f64) -> String {
    let points = 100.0 * off;
    if points > 0.0 && points < 0.01 {
        "a hundredth of a percentage point".to_owned()
    } else {
        format!("{points:.2} percentage points")
    }
}

/// The share of each source in the stretches of the run, with what it was due.
fn along(epoch: &Explanation) -> String {
    if epoch.along.len() < 3 {
        return String::new();
    }
    let rows = epoch.along.last().map_or(1, |it| it.row).max(1) as f64;
    let stretches: Vec<_> = epoch.along.iter().zip(epoch.along.iter().skip(1)).collect();
    let part = |amounts: fn(&corpusdb::epoch::MixPoint) -> &Vec<u64>, source: usize| {
        stretches.iter().map(move |(from, to)| {
            let of = |point| amounts(point).get(source).copied().unwrap_or(0);
            let middle = (from.row as f64 + to.row as f64) / 2.0;
            let amount = of(to).saturating_sub(of(from));
            (100.0 * middle / rows, 100.0 * share(amount, to.given - from.given))
        })
    };
    let drawn = largest(epoch, LINES);
    let mut lines: Vec<Line> =
        drawn.iter().map(|(at, it)| Line::plain(&it.name, part(|it| &it.achieved, *at))).collect();
    for (place, (at, it)) in drawn.iter().enumerate() {
        lines
            .push(Line { beside: Some(place), ..Line::plain(&it.name, part(|it| &it.asked, *at)) });
    }
    let most = lines.iter().flat_map(|line| &line.points).map(|point| point.1).fold(1.0, f64::max);
    let moved = drawn.iter().filter(|(at, _)| {
        let shares: Vec<f64> = part(|it| &it.asked, *at).map(|point| point.1).collect();
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        shares.iter().copied().fold(0.0, f64::max) - least > 1.0
    });
    let says = match moved.count() {
        0 => "The mix is the same from the beginning of the run to its end.".to_owned(),
        moved => format!(
            "The mix changes along the run: {} asked for at other shares in the end than in the beginning, or between.",
            if moved == 1 { "one source is".to_owned() } else { format!("{moved} sources are") }
        ),
    };
    let whole = |value: f64| format!("{value:.0} %");
    let (x, y) = (linear(100.0, "of the run", whole), linear(most, "share of a stretch", whole));
    let told = Told {
        title: "The mix along the run",
        shows: "For each source a line of its share in each stretch of the run, and a dashed line of the share that it \
                was due.",
    };
    let picture = draw(Width::Whole, told, &x, &y, &lines);
    figure(&says, &(picture + &note("Dashed: as asked. A stretch is a 64th of the rows.")), "")
}

/// How full rows are.
fn filled(epoch: &Explanation) -> String {
    let says = format!(
        "{} of the places in rows hold real tokens. {}",
        percent(epoch.efficiency),
        match epoch.left_out_rows {
            0 => "No row is left out.".to_owned(),
            rows =>
                format!("{} left out, since they fill no batch.", count(rows, "row is", "rows are")),
        }
    );
    let rows: Vec<(String, Vec<(f64, String)>)> = largest(epoch, DRAWN)
        .into_iter()
        .map(|(_, it)| (cut(&it.name), vec![(it.efficiency, percent(it.efficiency))]))
        .collect();
    figure(&says, &bars(&rows), "")
}

/// What is repeated, not reached, and cut off.
fn left(epoch: &Explanation) -> String {
    let repeated: Vec<&SourceExplanation> =
        epoch.sources.iter().filter(|it| it.passes > 1.0).collect();
    let unused: u64 = epoch.sources.iter().map(|it| it.unused_tokens).sum();
    let packed: u64 = epoch.sources.iter().map(|it| it.tokens + it.specials_added).sum();
    let repeats = match repeated.as_slice() {
        [] => "No document comes twice.".to_owned(),
        [one] => format!("{} is gone through {:.2} times.", called(&one.name), one.passes),
        more => format!("{} sources are gone through more than once.", more.len()),
    };
    let dropped: u64 = epoch.sources.iter().map(|it| it.dropped_documents).sum();
    let says = format!(
        "{repeats} {} of the selected tokens ({}) are not reached; {} left out by length.",
        print::number(unused),
        of(unused, packed),
        if dropped == 0 {
            "no document is".to_owned()
        } else {
            format!("{} are", documents(dropped))
        }
    );
    let head = [
        "Source",
        "Documents",
        "Tokens",
        "Rows",
        "Real tokens",
        "Passes",
        "Not reached",
        "Dropped",
        "Cut off",
        "Fill no row",
    ];
    let row = |it: &SourceExplanation| {
        vec![
            name(&it.name),
            print::number(it.documents),
            print::number(it.tokens),
            print::number(it.rows),
            print::number(it.epoch_tokens),
            format!("{:.3}", it.passes),
            print::number(it.unused_tokens),
            print::number(it.dropped_tokens),
            print::number(it.truncated_tokens),
            print::number(it.partial_tokens),
        ]
    };
    const TABLED: usize = 60;
    let rows: Vec<Vec<String>> =
        largest(epoch, TABLED).into_iter().map(|(_, it)| row(it)).collect();
    let mut picture = table(&head.map(str::to_owned), &rows);
    let more = epoch.sources.len().saturating_sub(rows.len()) as u64;
    if more > 0 {
        picture += &note(&format!(
            "{} not shown.",
            count(more, "smaller source is", "smaller sources are")
        ));
    }
    if epoch.untrained_tokens > 0 {
        picture += &note(&format!(
            "Documents say of {} tokens that they are not trained on{}.",
            short(epoch.untrained_tokens),
            if epoch.ignore_loss { ", which the recipe ignores" } else { "" }
        ));
    }
    figure(&says, &picture, "")
}
