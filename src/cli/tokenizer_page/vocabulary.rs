//! How the ids are used, what the vocabulary is made of, what text never reaches.

use super::super::print;
use crate::cli::page::chart::{Line, Told, Width, draw, linear, logarithmic};
use crate::cli::page::html::{bars, escape, key, percent, table, visible};
use corpusdb::tokenizer::analyse::{
    AnalysisReport, CensusRow, DearDocument, LongToken, ReachClass, TokenizerAnalysis,
};

/// Tokens of this length and longer are drawn together.
const LONGEST: u64 = 16;
/// Rows of scripts.
const SCRIPTS: usize = 14;

pub(super) fn section(report: &AnalysisReport) -> String {
    let series = key(report.tokenizers.iter().map(|analysis| analysis.name.as_str()));
    let mut out = format!(
        "<section>\n<h2>The vocabulary</h2>\n{series}<div class=\"pair\">\n<div><h3>Share of the tokens, by \
         rank of the id</h3>\n{}</div>\n<div><h3>Share of the tokens, by bytes of the token</h3>\n{}</div>\n</div>\n",
        ranks(report),
        lengths(report)
    );
    out += &format!(
        "<div class=\"pair\">\n<div><h3>Ids by kind</h3>\n{}</div>\n<div><h3>Ids by script of their letters</h3>\n\
         {}</div>\n</div>\n<h3>Tokens of the sample by kind of their id</h3>\n{}",
        census(report, |a| &a.census.kinds, |a, row| share(row.ids, a.ids), usize::MAX),
        census(report, |a| &a.census.scripts, |a, row| share(row.ids, a.ids), SCRIPTS),
        census(
            report,
            |a| &a.census.kinds,
            |a, row| share(row.tokens, a.total.counts.tokens),
            usize::MAX
        ),
    );
    out += &reach(report);
    for analysis in &report.tokenizers {
        out += &lists(analysis);
        out += &dearest(analysis);
    }
    out + "</section>\n"
}

fn share(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

fn ranks(report: &AnalysisReport) -> String {
    let lines: Vec<Line> = report
        .tokenizers
        .iter()
        .map(|analysis| {
            let total = analysis.total.counts.tokens;
            let points = analysis.vocabulary_use.ranks.iter();
            let points = points.map(|point| (point.rank as f64, share(point.count, total)));
            Line::plain(&analysis.name, points)
        })
        .collect();
    let all = || lines.iter().flat_map(|line| &line.points);
    let (widest, least) = (
        all().map(|point| point.0).fold(10.0, f64::max),
        all().map(|point| point.1).filter(|y| *y > 0.0).fold(0.1, f64::min),
    );
    let power = |value: f64| {
        let exponent = value.log10().round();
        if (0.0..4.0).contains(&exponent) {
            print::number(value.round() as u64)
        } else {
            format!("10{}", superscript(exponent as i64))
        }
    };
    let x = logarithmic((1.0, widest), (1.0, 10.0), "rank", power);
    let y = logarithmic((least, 1.0), (1.0, 10.0), "share of the tokens", power);
    let told = Told { title: "share of the tokens by rank", shows: "" };
    draw(Width::Half, told, &x, &y, &lines)
}

fn superscript(exponent: i64) -> String {
    let digit = |digit: char| match digit {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        // The others follow U+2074 in order.
        _ => digit.to_digit(10).and_then(|d| char::from_u32(0x2070 + d)).unwrap_or(digit),
    };
    exponent.to_string().chars().map(digit).collect()
}

fn lengths(report: &AnalysisReport) -> String {
    let lines: Vec<Line> = report
        .tokenizers
        .iter()
        .map(|analysis| {
            let mut tokens = std::collections::BTreeMap::<u64, u64>::new();
            (1..=LONGEST).for_each(|bytes| {
                tokens.insert(bytes, 0);
            });
            for bin in &analysis.vocabulary_use.lengths {
                *tokens.entry(bin.bytes.clamp(1, LONGEST)).or_default() += bin.tokens;
            }
            let total = analysis.total.counts.tokens;
            let points =
                tokens.into_iter().map(|(bytes, count)| (bytes as f64, share(count, total)));
            Line::plain(&analysis.name, points)
        })
        .collect();
    let most = lines.iter().flat_map(|line| &line.points).map(|point| point.1).fold(0.0, f64::max);
    let mut x = linear(LONGEST as f64, "bytes of text", |_| String::new());
    x.ticks = (1..=LONGEST)
        .map(|bytes| {
            (bytes as f64, if bytes == LONGEST { "16+".to_owned() } else { bytes.to_string() })
        })
        .collect();
    let y = linear(most, "share of the tokens", |value| format!("{:.0} %", 100.0 * value));
    let told = Told { title: "share of the tokens by length", shows: "" };
    draw(Width::Half, told, &x, &y, &lines)
}

fn census(
    report: &AnalysisReport,
    rows: fn(&TokenizerAnalysis) -> &Vec<CensusRow>,
    value: fn(&TokenizerAnalysis, &CensusRow) -> f64,
    most: usize,
) -> String {
    let mut names: Vec<&str> = Vec::new();
    for row in report.tokenizers.iter().flat_map(rows) {
        if !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    }
    names.truncate(most);
    let drawn: Vec<(String, Vec<(f64, String)>)> = names
        .into_iter()
        .map(|name| {
            let of_each = report.tokenizers.iter().map(|analysis| {
                let row = rows(analysis).iter().find(|row| row.name == name);
                let share = row.map_or(0.0, |row| value(analysis, row));
                (share, percent(share))
            });
            (name.to_owned(), of_each.collect())
        })
        .collect();
    bars(&drawn)
}

fn reach(report: &AnalysisReport) -> String {
    let mut head = vec!["Which ids text reaches".to_owned()];
    head.extend(report.tokenizers.iter().map(|analysis| escape(&analysis.name)));
    let rows: Vec<Vec<String>> = CLASSES
        .iter()
        .map(|(class, what)| {
            let ids = report.tokenizers.iter().map(|analysis| {
                let row = analysis.reach.iter().find(|row| row.class == *class);
                print::number(row.map_or(0, |row| row.ids))
            });
            [(*what).to_owned()].into_iter().chain(ids).collect()
        })
        .collect();
    let mut out = format!("<h3>Reach</h3>\n{}", table(&head, &rows));
    for analysis in &report.tokenizers {
        let lost = analysis
            .reach
            .iter()
            .filter(|row| matches!(row.class, ReachClass::NotByModel | ReachClass::NotBeforeModel));
        let examples: Vec<String> = lost
            .flat_map(|row| &row.examples)
            .map(|(id, token)| {
                format!(
                    "<span class=\"pieces\"><bdi class=\"p4\" title=\"{id}\">{}</bdi></span>",
                    visible(token)
                )
            })
            .collect();
        if !examples.is_empty() {
            let name = escape(&analysis.name);
            out += &format!(
                "<p class=\"note\">Not reached in <b>{name}</b>: {}</p>\n",
                examples.join(" ")
            );
        }
    }
    out
}

const CLASSES: [(ReachClass, &str); 7] = [
    (ReachClass::Alone, "reached: its own text gives it"),
    (ReachClass::InContext, "reached: in a context only"),
    (ReachClass::PartOfCharacter, "reached: part of a character"),
    (ReachClass::Added, "never: added beside the model"),
    (ReachClass::NotUtf8, "never: bytes that are in no UTF-8 text"),
    (ReachClass::NotByModel, "never: the model cuts its text otherwise"),
    (ReachClass::NotBeforeModel, "never: its text is cut or changed before the model"),
];

fn lists(analysis: &TokenizerAnalysis) -> String {
    let census = &analysis.census;
    let list = |tokens: &[LongToken], size: fn(&LongToken) -> String| {
        let item = |token: &LongToken| {
            format!(
                "<li><span class=\"pieces\"><bdi class=\"p0\" title=\"{}\">{}</bdi></span><span>{}</span></li>\n",
                token.id,
                visible(&token.text),
                size(token)
            )
        };
        format!("<ol class=\"tokens\">\n{}</ol>\n", tokens.iter().map(item).collect::<String>())
    };
    format!(
        "<h3>{}: longest and unused tokens</h3>\n<div class=\"pair\">\n<div><p class=\"note\">Longest, by \
         characters</p>\n{}</div>\n<div><p class=\"note\">Never used in the sample: {} spread over the {}</p>\n{}</div>\n</div>\n",
        escape(&analysis.name),
        list(&census.longest_by_characters, |token| format!(
            "{} characters, {}×",
            token.characters,
            print::number(token.tokens)
        )),
        census.unused.len(),
        print::number(analysis.vocabulary_use.unused_ids),
        list(&census.unused, |token| format!("id {}", print::number(u64::from(token.id)))),
    )
}

fn dearest(analysis: &TokenizerAnalysis) -> String {
    if analysis.dearest.is_empty() {
        return String::new();
    }
    let item = |dear: &DearDocument| {
        format!(
            "<li><span class=\"pieces\">{}</span><span>document {}: {:.2} bytes a token, {} bytes</span></li>\n",
            visible(&dear.beginning),
            dear.document,
            share(dear.bytes, dear.tokens),
            print::number(dear.bytes)
        )
    };
    format!(
        "<h3>{}: dearest documents</h3>\n<ol class=\"tokens\">\n{}</ol>\n",
        escape(&analysis.name),
        analysis.dearest.iter().map(item).collect::<String>()
    )
}
