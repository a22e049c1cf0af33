//! Tokenizers measured on a corpus, as a page.
//!
//! It compares them side by side and by group, draws length against vocabulary size, and shows how ids are used, and
//! cases.

use super::chart::{AltText, Chart, ChartAxis, ChartLine, ChartMark, line_chart};
use super::figures::{ABSENT, BarChart, cut};
use super::{Contents, PageModel};
use model::show;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use tokenizer::TokenPiece;
use tokenizer::analyse::{
    AnalysisCase, AnalysisCaseKind, AnalysisReport, CensusRow, DigitRun, GroupMetrics, Knee,
    ReachClass, TokenizerAnalysis, VocabularyCurve,
};

const CONTENTS: [(&str, &str); 6] = [
    ("summary", "Side by side"),
    ("groups", "By group"),
    ("curve", "Sequence length against vocabulary size"),
    ("vocabulary", "The vocabulary"),
    ("cases", "Cases"),
    ("method", "What the figures mean"),
];

/// Groups drawn as bars, and groups drawn as lines; the table has all.
const DRAWN: usize = 40;
const LINES: usize = 8;

/// Tokens of this length and longer are drawn together.
const TOKEN_BYTES: u64 = 16;
/// Rows of the tables of kinds and of scripts, at most.
const CENSUS_ROWS: usize = 14;

/// A page about tokenizers measured on a corpus.
#[derive(Debug, Serialize)]
pub struct TokenizerPage<'a> {
    name: String,
    contents: Contents,
    report: &'a AnalysisReport,
    names: Vec<String>,
    summary: Vec<SummaryRow>,
    groups: Option<GroupsSection<'a>>,
    curves: CurvesSection<'a>,
    vocabulary: VocabularySection<'a>,
    cases: CasesSection<'a>,
    /// Documents whose tokens could not be placed in the text.
    unplaced: u64,
}

impl<'a> TokenizerPage<'a> {
    /// The page for a corpus called `name`.
    pub fn new(report: &'a AnalysisReport, name: &str) -> Self {
        let tokenizers = &report.tokenizers;
        let groups = groups(report);
        let by = match report.grouped_by.as_str() {
            "language" => "By language",
            "source" => "By source",
            _ => "By group",
        };
        let contents = CONTENTS.into_iter().filter(|(id, _)| *id != "groups" || groups.is_some());
        let contents = contents.map(|(id, title)| (id, if id == "groups" { by } else { title }));
        Self {
            name: cut(name),
            contents: Contents(contents.collect()),
            report,
            names: tokenizers.iter().map(|it| cut(&it.name)).collect(),
            summary: summary(report),
            groups,
            curves: curves(report),
            vocabulary: VocabularySection::new(report),
            cases: cases(report),
            unplaced: tokenizers.iter().map(|it| it.total.counts.unplaced_documents).sum(),
        }
    }
}

impl PageModel for TokenizerPage<'_> {
    const TEMPLATE: &'static str = "tokenizer.html";

    fn title(&self) -> String {
        format!("Tokenizers on {}", self.name)
    }
}

// ---- side by side ----

/// The figures of each tokenizer.
#[derive(Debug, Serialize)]
struct SummaryRow {
    label: &'static str,
    cells: Vec<String>,
}

type SummaryCell = fn(&TokenizerAnalysis) -> String;

const SUMMARY: [(&str, SummaryCell); 24] = [
    ("Model", |it| it.model.clone()),
    ("Ids", |it| show::number(it.ids)),
    ("Tokens of the sample", |it| show::number(it.total.counts.tokens)),
    ("Relative length", |it| shown(it.total.relative_length, three)),
    ("Bytes a token", |it| three(it.total.bytes_per_token)),
    ("Characters a token", |it| three(it.total.characters_per_token)),
    ("Fertility (tokens a word)", |it| shown(it.total.fertility, three)),
    ("Words in one token", |it| shown(it.total.single_token_word_share, show::percent)),
    ("Words cut", |it| shown(it.total.continued_word_share, show::percent)),
    ("Gini over groups, by bytes", |it| shown(it.gini_bytes, three)),
    ("Gini over groups, by characters", |it| shown(it.gini_characters, three)),
    ("Most expensive group against the cheapest", |it| {
        let dearest = it.groups.iter().map(|group| group.parity).fold(1.0, f64::max);
        shown((it.groups.len() > 1).then_some(dearest), times)
    }),
    ("Rényi efficiency (α = 2.5)", |it| three(it.vocabulary_use.renyi_efficiency)),
    ("Shannon efficiency", |it| three(it.vocabulary_use.shannon_efficiency)),
    ("Entropy, bits a token", |it| three(it.vocabulary_use.entropy_bits)),
    ("Ids used", |it| show::number(it.vocabulary_use.used_ids)),
    ("Ids never used", |it| of_ids(it, it.vocabulary_use.unused_ids)),
    ("Ids used less than 10 times", |it| of_ids(it, it.vocabulary_use.rare_ids)),
    ("Ids that cover 50 % of the tokens", |it| covering(it, 50)),
    ("Ids that cover 90 % of the tokens", |it| covering(it, 90)),
    ("Ids that cover 99 % of the tokens", |it| covering(it, 99)),
    ("Ids that no text reaches", |it| {
        show::number(it.reach.iter().filter(|row| !row.reached).map(|row| row.ids).sum())
    }),
    ("Knee of the size", |it| knee_size(it, |curve| curve.knee)),
    ("Knee of its price", |it| knee_size(it, |curve| curve.price_knee)),
];

fn summary(report: &AnalysisReport) -> Vec<SummaryRow> {
    let row = |(label, cell): (&'static str, SummaryCell)| SummaryRow {
        label,
        cells: report.tokenizers.iter().map(cell).collect(),
    };
    let rows = SUMMARY.into_iter().map(row);
    // A row without any value is left out.
    rows.filter(|row| row.cells.iter().any(|cell| cell != ABSENT)).collect()
}

fn shown(value: Option<f64>, write: fn(f64) -> String) -> String {
    value.map_or_else(|| ABSENT.to_owned(), write)
}

fn two(value: f64) -> String {
    format!("{value:.2}")
}

fn three(value: f64) -> String {
    format!("{value:.3}")
}

fn times(value: f64) -> String {
    format!("{value:.2}×")
}

fn of_ids(analysis: &TokenizerAnalysis, part: u64) -> String {
    format!("{} ({})", show::number(part), show::percent_of(part, analysis.ids))
}

fn covering(analysis: &TokenizerAnalysis, percent: u32) -> String {
    let covered = analysis.vocabulary_use.covered.iter().find(|it| it.percent == percent);
    covered.map_or_else(|| ABSENT.to_owned(), |it| show::number(it.ids))
}

fn knee_size(analysis: &TokenizerAnalysis, of: fn(&VocabularyCurve) -> Option<Knee>) -> String {
    let knee = analysis.curve.as_ref().and_then(of);
    knee.map_or_else(|| ABSENT.to_owned(), |knee| show::number(knee.vocab_size))
}

// ---- by group ----

/// Languages or sources.
#[derive(Debug, Serialize)]
struct GroupsSection<'a> {
    drawn: u64,
    left_out: u64,
    bytes_per_token: BarChart,
    parity: BarChart,
    fertility: BarChart,
    single_token_words: BarChart,
    /// For each group, the figures of each tokenizer; none for a tokenizer without the group.
    rows: Vec<(&'a GroupMetrics, Vec<Option<&'a GroupMetrics>>)>,
}

/// The value that a group is ordered by; its name, and a bar for each tokenizer.
type MeasuredGroup = (Option<f64>, (String, Vec<(f64, String)>));
/// One measure of a group.
type GroupMeasure = fn(&GroupMetrics) -> Option<f64>;

fn groups(report: &AnalysisReport) -> Option<GroupsSection<'_>> {
    let first = report.tokenizers.first().filter(|first| first.groups.len() > 1)?;
    let drawn = first.groups.get(..DRAWN.min(first.groups.len()))?;
    // Groups are ordered by the measure that is drawn, the best first, by the first tokenizer, which is the reference.
    let draw = |measure: GroupMeasure, write: fn(f64) -> String, is_less_better: bool| {
        let mut rows: Vec<MeasuredGroup> = drawn
            .iter()
            .map(|group| {
                let of_each = report.tokenizers.iter().map(|it| {
                    let value = same_group(it, group).and_then(measure);
                    (value.unwrap_or(0.0), shown(value, write))
                });
                (measure(group), (cut(&group.name), of_each.collect()))
            })
            .collect();
        rows.sort_by(|(a, _), (b, _)| match (a, b) {
            (Some(a), Some(b)) if is_less_better => a.total_cmp(b),
            (Some(a), Some(b)) => b.total_cmp(a),
            // Groups without a value come last.
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        });
        BarChart::new(series(report), rows.into_iter().map(|(_, row)| row).collect())
    };
    let of_each = |group| report.tokenizers.iter().map(|it| same_group(it, group)).collect();
    Some(GroupsSection {
        drawn: drawn.len() as u64,
        left_out: (first.groups.len() - drawn.len()) as u64,
        bytes_per_token: draw(|group| Some(group.bytes_per_token), two, false),
        parity: draw(|group| Some(group.parity), times, true),
        fertility: draw(|group| group.fertility, two, true),
        single_token_words: draw(|group| group.single_token_word_share, show::percent, false),
        rows: first.groups.iter().map(|group| (group, of_each(group))).collect(),
    })
}

fn same_group<'a>(of: &'a TokenizerAnalysis, group: &GroupMetrics) -> Option<&'a GroupMetrics> {
    of.groups.iter().find(|other| other.name == group.name)
}

// ---- the curve ----

/// Sequence length against vocabulary size, for all text and by group.
#[derive(Debug, Serialize)]
struct CurvesSection<'a> {
    together: Option<Chart>,
    each: Vec<CurveFigure<'a>>,
}

#[derive(Debug, Serialize)]
struct CurveFigure<'a> {
    name: &'a str,
    curve: &'a VocabularyCurve,
    by_group: Option<Chart>,
    /// Groups that are not drawn.
    groups_left_out: u64,
}

fn curves(report: &AnalysisReport) -> CurvesSection<'_> {
    let curves = report.tokenizers.iter();
    let curves: Vec<(&str, &VocabularyCurve)> =
        curves.filter_map(|it| Some((it.name.as_str(), it.curve.as_ref()?))).collect();
    let each = curves.iter().map(|(name, curve)| CurveFigure {
        name,
        curve,
        by_group: (curve.groups.len() > 1).then(|| curve_by_group(name, curve)),
        groups_left_out: curve.groups.len().saturating_sub(LINES) as u64,
    });
    CurvesSection { each: each.collect(), together: curves_together(&curves) }
}

fn curves_together(curves: &[(&str, &VocabularyCurve)]) -> Option<Chart> {
    let (_, first) = curves.first()?;
    let lines: Vec<ChartLine> = curves
        .iter()
        .map(|(name, curve)| {
            let bytes = curve.bytes.iter().sum();
            let place = |size: u64, tokens| (size as f64, 1000.0 * show::share(tokens, bytes));
            let points = curve.points.iter().map(|point| place(point.vocab_size, point.tokens));
            let knees = [(curve.knee, true), (curve.price_knee, false)];
            let marks = knees.into_iter().filter_map(|(knee, is_round)| {
                let knee = knee?;
                let label = show::number(knee.vocab_size);
                Some(ChartMark { at: place(knee.vocab_size, knee.tokens), is_round, label })
            });
            ChartLine::new(&cut(name), points).with_marks(marks.collect())
        })
        .collect();
    let x = sizes(curves.iter().map(|(_, curve)| *curve), first.embedding_width);
    let alt = AltText::new(
        "Tokens of 1,000 bytes of text, by the size of the vocabulary",
        "a falling line for each tokenizer, with its knees",
    );
    Some(line_chart(&alt, &x, &token_axis(&lines), &lines))
}

fn curve_by_group(name: &str, curve: &VocabularyCurve) -> Chart {
    let mut groups: Vec<((usize, &String), &u64)> =
        curve.groups.iter().enumerate().zip(&curve.bytes).collect();
    groups.sort_by_key(|(_, bytes)| std::cmp::Reverse(**bytes));
    let line = |((at, group), bytes): ((usize, &String), &u64)| {
        let points = curve.points.iter().filter_map(|point| {
            let tokens = *point.by_group.get(at)?;
            Some((point.vocab_size as f64, 1000.0 * show::share(tokens, *bytes)))
        });
        ChartLine::new(&cut(group), points)
    };
    let lines: Vec<ChartLine> = groups.into_iter().take(LINES).map(line).collect();
    let x = sizes(std::iter::once(curve), curve.embedding_width);
    let alt = AltText::new(format!("{}, by group", cut(name)), "a falling line for each group");
    line_chart(&alt, &x, &token_axis(&lines), &lines)
}

fn sizes<'a>(curves: impl Iterator<Item = &'a VocabularyCurve> + Clone, width: u64) -> ChartAxis {
    let points = || curves.clone().flat_map(|curve| &curve.points);
    let low = points().map(|point| point.vocab_size).min().unwrap_or(1).max(1);
    let high = points().map(|point| point.vocab_size).max().unwrap_or(2);
    let write = |size: f64| {
        let size = size.round() as u64;
        if size >= 1024 { format!("{}k", size / 1024) } else { size.to_string() }
    };
    let (low, high) = (low as f64, high as f64);
    let label = "ids in the vocabulary (k = 1,024)";
    let axis = ChartAxis::logarithmic((low, high), (1024.0, 2.0), label, write);
    axis.opposite("parameters of the embedding, tied", |size| {
        show::short(size.round() as u64 * width)
    })
}

fn token_axis(lines: &[ChartLine]) -> ChartAxis {
    ChartAxis::linear(ChartLine::highest(lines), "tokens of 1,000 bytes", |value| {
        show::number(value.round() as u64)
    })
}

// ---- the vocabulary ----

/// How ids are used, what the vocabulary consists of, and which tokens text never reaches.
#[derive(Debug, Serialize)]
struct VocabularySection<'a> {
    ranks: Chart,
    lengths: Chart,
    kinds: BarChart,
    scripts: BarChart,
    tokens_by_kind: BarChart,
    reach: Vec<ReachLine>,
    unreached: Vec<Unreached<'a>>,
}

#[derive(Debug, Serialize)]
struct ReachLine {
    label: &'static str,
    /// One count for each tokenizer.
    ids: Vec<u64>,
}

/// Tokens of a tokenizer that no text reaches.
#[derive(Debug, Serialize)]
struct Unreached<'a> {
    name: &'a str,
    examples: Vec<&'a (u32, String)>,
}

const REACH: [(ReachClass, &str); 7] = [
    (ReachClass::Alone, "reached: its own text gives it"),
    (ReachClass::InContext, "reached: in a context only"),
    (ReachClass::PartOfCharacter, "reached: part of a character"),
    (ReachClass::Added, "never: added beside the model"),
    (ReachClass::NotUtf8, "never: bytes that are in no UTF-8 text"),
    (ReachClass::NotByModel, "never: the model cuts its text otherwise"),
    (ReachClass::NotBeforeModel, "never: its text is cut or changed before the model"),
];

impl<'a> VocabularySection<'a> {
    fn new(report: &'a AnalysisReport) -> Self {
        let reach = REACH.iter().map(|(class, label)| {
            let ids = report.tokenizers.iter().map(|it| {
                let row = it.reach.iter().find(|row| row.class == *class);
                row.map_or(0, |row| row.ids)
            });
            ReachLine { label, ids: ids.collect() }
        });
        let unreached = report.tokenizers.iter().map(|it| {
            let is_lost =
                |class| matches!(class, ReachClass::NotByModel | ReachClass::NotBeforeModel);
            let lost = it.reach.iter().filter(|row| is_lost(row.class));
            Unreached { name: &it.name, examples: lost.flat_map(|row| &row.examples).collect() }
        });
        Self {
            ranks: ranks(report),
            lengths: lengths(report),
            kinds: census(report, |it| &it.census.kinds, ids_share),
            scripts: census(report, |it| &it.census.scripts, ids_share),
            tokens_by_kind: census(
                report,
                |it| &it.census.kinds,
                |it, row| show::share(row.tokens, it.total.counts.tokens),
            ),
            reach: reach.collect(),
            unreached: unreached.filter(|it| !it.examples.is_empty()).collect(),
        }
    }
}

fn ranks(report: &AnalysisReport) -> Chart {
    let line = |it: &TokenizerAnalysis| {
        let total = it.total.counts.tokens;
        let points = it.vocabulary_use.ranks.iter();
        ChartLine::new(
            &cut(&it.name),
            points.map(|point| (point.rank as f64, show::share(point.count, total))),
        )
    };
    let lines: Vec<ChartLine> = report.tokenizers.iter().map(line).collect();
    let all = || lines.iter().flat_map(ChartLine::points);
    let widest = all().map(|point| point.0).fold(10.0, f64::max);
    let least = all().map(|point| point.1).filter(|y| *y > 0.0).fold(0.1, f64::min);
    let x = ChartAxis::logarithmic((1.0, widest), (1.0, 10.0), "rank", power_of_ten);
    let y = ChartAxis::logarithmic((least, 1.0), (1.0, 10.0), "share of the tokens", power_of_ten);
    line_chart(&AltText::new("Share of the tokens by rank of their id", ""), &x, &y, &lines)
}

/// 1, 10, 100 and 1,000 as numbers, others as powers of ten.
fn power_of_ten(value: f64) -> String {
    let exponent = value.log10().round();
    if (0.0..4.0).contains(&exponent) {
        return show::number(value.round() as u64);
    }
    let digit = |digit: char| match digit {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        // The other superscripts follow U+2074 in order.
        _ => digit.to_digit(10).and_then(|d| char::from_u32(0x2070 + d)).unwrap_or(digit),
    };
    format!("10{}", exponent.to_string().chars().map(digit).collect::<String>())
}

fn lengths(report: &AnalysisReport) -> Chart {
    let line = |it: &TokenizerAnalysis| {
        let mut tokens: BTreeMap<u64, u64> = (1..=TOKEN_BYTES).map(|bytes| (bytes, 0)).collect();
        for bin in &it.vocabulary_use.lengths {
            *tokens.entry(bin.bytes.clamp(1, TOKEN_BYTES)).or_default() += bin.tokens;
        }
        let total = it.total.counts.tokens;
        let points =
            tokens.into_iter().map(|(bytes, count)| (bytes as f64, show::share(count, total)));
        ChartLine::new(&cut(&it.name), points)
    };
    let lines: Vec<ChartLine> = report.tokenizers.iter().map(line).collect();
    let label = format!("bytes of the token ({TOKEN_BYTES}: or more)");
    let places = (1..=TOKEN_BYTES).map(|bytes| bytes as f64);
    let x = ChartAxis::marked(&label, places, |bytes| format!("{bytes:.0}"));
    let y = ChartAxis::linear(ChartLine::highest(&lines), "share of the tokens", |value| {
        format!("{:.0} %", 100.0 * value)
    });
    line_chart(&AltText::new("Share of the tokens by their length in bytes", ""), &x, &y, &lines)
}

fn ids_share(of: &TokenizerAnalysis, row: &CensusRow) -> f64 {
    show::share(row.ids, of.ids)
}

/// Rows for the first tokenizers, by what is drawn: those with the largest value of any tokenizer first.
fn census(
    report: &AnalysisReport,
    rows: fn(&TokenizerAnalysis) -> &Vec<CensusRow>,
    value: fn(&TokenizerAnalysis, &CensusRow) -> f64,
) -> BarChart {
    let mut names: Vec<&str> = Vec::new();
    for row in report.tokenizers.iter().flat_map(rows) {
        if !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    }
    let mut drawn: Vec<(String, Vec<(f64, String)>)> = names
        .into_iter()
        .map(|name| {
            let of_each = report.tokenizers.iter().map(|it| {
                let row = rows(it).iter().find(|row| row.name == name);
                let share = row.map_or(0.0, |row| value(it, row));
                (share, show::percent(share))
            });
            (name.to_owned(), of_each.collect())
        })
        .collect();
    let largest =
        |row: &(String, Vec<(f64, String)>)| row.1.iter().map(|bar| bar.0).fold(0.0, f64::max);
    drawn.sort_by(|a, b| largest(b).total_cmp(&largest(a)));
    drawn.truncate(CENSUS_ROWS);
    BarChart::new(series(report), drawn)
}

/// The tokenizers as series of bars. A total over tokenizers means nothing.
fn series(report: &AnalysisReport) -> impl Iterator<Item = (&str, String)> {
    report.tokenizers.iter().map(|it| (it.name.as_str(), String::new()))
}

// ---- cases ----

/// Cases in which tokenizers differ: digits, indentation, white space and other strings.
#[derive(Debug, Serialize)]
struct CasesSection<'a> {
    digits: Chart,
    spaces: Chart,
    tables: Vec<CaseTable<'a>>,
}

#[derive(Debug, Serialize)]
struct CaseTable<'a> {
    title: &'static str,
    rows: Vec<CaseRow<'a>>,
}

#[derive(Debug, Serialize)]
struct CaseRow<'a> {
    label: String,
    /// A cell for each tokenizer.
    cells: Vec<CaseCell<'a>>,
}

#[derive(Debug, Serialize)]
struct CaseCell<'a> {
    pieces: &'a [TokenPiece],
    /// The number of tokens, if it was measured.
    tokens: Option<u64>,
}

/// Indentations whose pieces are drawn.
const INDENTATIONS: [&str; 8] =
    ["1 space", "2 spaces", "4 spaces", "8 spaces", "16 spaces", "32 spaces", "1 tab", "4 tabs"];

fn cases(report: &AnalysisReport) -> CasesSection<'_> {
    let is_shown = |case: &AnalysisCase| {
        case.kind == AnalysisCaseKind::Indentation && INDENTATIONS.contains(&case.what.as_str())
    };
    CasesSection {
        digits: case_chart(report, "digits in the run", |it| {
            it.digits.iter().map(|run| (run.digits as f64, run.mean_tokens)).collect()
        }),
        spaces: case_chart(report, "spaces", |it| {
            let spaces = |case: &&AnalysisCase| {
                case.kind == AnalysisCaseKind::Indentation && case.what.contains("space")
            };
            let cases = it.cases.iter().filter(spaces);
            (1u32..).zip(cases).map(|(n, case)| (f64::from(n), case.tokens as f64)).collect()
        }),
        tables: vec![
            case_table("Digits", report, digit_cells),
            case_table("Indentation", report, |it| case_cells(it, is_shown)),
            case_table("White space", report, |it| {
                case_cells(it, |case| case.kind == AnalysisCaseKind::Whitespace)
            }),
            case_table("Texts", report, |it| {
                case_cells(it, |case| case.kind == AnalysisCaseKind::Text)
            }),
        ],
    }
}

fn digit_cells(of: &TokenizerAnalysis) -> Vec<(String, CaseCell<'_>)> {
    let cells = of.digits.iter().map(|run: &DigitRun| {
        let cell = CaseCell { pieces: &run.example, tokens: None };
        (show::count(run.digits, "digit", "digits"), cell)
    });
    cells.collect()
}

fn case_cells(
    of: &TokenizerAnalysis,
    is_shown: impl Fn(&AnalysisCase) -> bool,
) -> Vec<(String, CaseCell<'_>)> {
    let cases = of.cases.iter().filter(|case| is_shown(case));
    let cells = cases.map(|case| {
        let tokens = Some(case.tokens);
        (case.what.clone(), CaseCell { pieces: &case.pieces, tokens })
    });
    cells.collect()
}

/// A row for each case, a column for each tokenizer; all have the same cases in the same order.
fn case_table<'a>(
    title: &'static str,
    report: &'a AnalysisReport,
    cells: impl Fn(&'a TokenizerAnalysis) -> Vec<(String, CaseCell<'a>)>,
) -> CaseTable<'a> {
    let mut rows: Vec<CaseRow<'a>> = Vec::new();
    for analysis in &report.tokenizers {
        for (at, (label, cell)) in cells(analysis).into_iter().enumerate() {
            match rows.get_mut(at) {
                Some(row) => row.cells.push(cell),
                None => rows.push(CaseRow { label, cells: vec![cell] }),
            }
        }
    }
    CaseTable { title, rows }
}

fn case_chart(
    report: &AnalysisReport,
    label: &str,
    points: impl Fn(&TokenizerAnalysis) -> Vec<(f64, f64)>,
) -> Chart {
    let line = |it: &TokenizerAnalysis| ChartLine::new(&cut(&it.name), points(it).into_iter());
    let lines: Vec<ChartLine> = report.tokenizers.iter().map(line).collect();
    let widest = lines.iter().flat_map(ChartLine::points).map(|point| point.0).fold(1.0, f64::max);
    let whole = |value: f64| format!("{value:.0}");
    let x = ChartAxis::linear(widest, label, whole);
    let y = ChartAxis::linear(ChartLine::highest(&lines).max(1.0), "tokens", show::decimals);
    line_chart(&AltText::new(format!("Tokens by {label}"), ""), &x, &y, &lines)
}
