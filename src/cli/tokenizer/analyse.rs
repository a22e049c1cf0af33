//! `corpusdb tokenizer analyse`: what tokenizers make of the corpus, in numbers and as a page.

use crate::cli::print;
use crate::cli::setup::{CommandSession, bytes, on_disk};
use clap::ValueEnum;
use corpusdb::curate::{AnalyseOptions, TextGrouping};
use corpusdb::pages::{self, TokenizerPage, corpus_title};
use corpusdb::tokenizer::analyse::{AnalysisReport, GroupMetrics, TokenizerAnalysis};
use std::path::PathBuf;

/// Analyse tokenizers on the corpus: compression, fertility, parity, vocabulary use, the price of its size
///
/// Measured on a uniform sample of the kept documents. The curve of sequence length against vocabulary size is exact
/// for the texts looked at and needs one tokenizer, trained once at the largest size: BPE and WordPiece are cut to
/// every size, of a Unigram smaller ones are trained on the sample, which takes about as long as its training did.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb tokenizer analyse crawl gpt2 own-32k --by language\n  corpusdb tokenizer analyse crawl own-32k --by source --html own-32k.html\n  corpusdb tokenizer analyse crawl own-32k --json | jq .tokenizers[0].curve.knee"
)]
pub(in crate::cli) struct Analyse {
    /// The corpus
    corpus: PathBuf,
    /// The tokenizers
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Tell figures apart by language or by source
    #[arg(long, value_enum)]
    by: Option<By>,
    /// The tokenizer that lengths are relative to [default: the first]
    #[arg(long, value_name = "NAME")]
    reference: Option<String>,
    /// Analyse on the kept documents of this SQL condition
    #[arg(long = "where", value_name = "SQL")]
    condition: Option<String>,
    /// Look at a uniform sample of at most so much text
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = bytes)]
    sample_bytes: u64,
    /// Width of a row of the embedding, for the price of the vocabulary
    #[arg(long, value_name = "N", default_value_t = 4096)]
    d_model: u64,
    /// Write a page that needs no server, script or other file
    #[arg(long, value_name = "FILE", value_parser = on_disk())]
    html: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum By {
    /// The field `language`
    Language,
    /// The source
    Source,
}

pub(super) fn run(verb: &Analyse, session: &CommandSession) -> anyhow::Result<()> {
    let corpus = session.read(&verb.corpus)?;
    let by = match verb.by {
        None => TextGrouping::All,
        Some(By::Language) => TextGrouping::Language,
        Some(By::Source) => TextGrouping::Source,
    };
    let options = AnalyseOptions {
        condition: verb.condition.clone(),
        reference: verb.reference.clone(),
        by,
        sample_bytes: verb.sample_bytes,
        embedding_width: verb.d_model,
    };
    let report = corpus.analyse(&verb.names, &options, &session.context())?;
    if let Some(file) = &verb.html {
        let page = TokenizerPage::new(&report, &corpus_title(&verb.corpus));
        pages::write_page(file, &pages::page(&page)?)?;
    }
    if session.json {
        return print::typed("tokenizer_analysis", &report);
    }
    tell(&report)
}

fn tell(report: &AnalysisReport) -> anyhow::Result<()> {
    print::line(&format!(
        "{} of {} documents, {} of {}",
        print::number(report.documents),
        print::number(report.selected_documents),
        print::size(report.bytes),
        print::size(report.selected_bytes)
    ))?;
    let rows: Vec<Vec<String>> =
        report.tokenizers.iter().map(|analysis| row(&analysis.name, &analysis.total)).collect();
    let relative = format!("length / {}", report.reference);
    let head = [
        "tokenizer",
        "tokens",
        "bytes/token",
        "chars/token",
        "fertility",
        "one-token words",
        relative.as_str(),
    ];
    print::table(&head, &rows)?;
    for analysis in &report.tokenizers {
        print::line("")?;
        one(analysis, report.grouped_by != "all")?;
    }
    Ok(())
}

fn row(name: &str, metrics: &GroupMetrics) -> Vec<String> {
    let optional = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    vec![
        name.to_owned(),
        print::number(metrics.counts.tokens),
        format!("{:.3}", metrics.bytes_per_token),
        format!("{:.3}", metrics.characters_per_token),
        optional(metrics.fertility),
        optional(metrics.single_token_word_share),
        optional(metrics.relative_length),
    ]
}

fn one(analysis: &TokenizerAnalysis, grouped: bool) -> anyhow::Result<()> {
    const MOST: usize = 12;
    print::line(&format!(
        "{}: {}, {} ids, {} unused in the sample, {} used fewer than 10 times",
        analysis.name,
        analysis.model,
        print::number(analysis.ids),
        print::number(analysis.vocabulary_use.unused_ids),
        print::number(analysis.vocabulary_use.rare_ids),
    ))?;
    let usage = &analysis.vocabulary_use;
    let covered: Vec<String> = usage
        .covered
        .iter()
        .map(|share| format!("{} ids give {} %", print::number(share.ids), share.percent))
        .collect();
    print::line(&format!(
        "Renyi efficiency {:.3}, Shannon {:.3}; {} of all tokens",
        usage.renyi_efficiency,
        usage.shannon_efficiency,
        covered.join(", ")
    ))?;
    curve(analysis)?;
    if grouped {
        let rows: Vec<Vec<String>> = analysis
            .groups
            .iter()
            .take(MOST)
            .map(|group| {
                let mut row = row(&group.name, group);
                row.push(format!("{:.2}", group.parity));
                row
            })
            .collect();
        let head = [
            "group",
            "tokens",
            "bytes/token",
            "chars/token",
            "fertility",
            "one-token words",
            "length",
            "parity",
        ];
        print::table(&head, &rows)?;
        let more = analysis.groups.len().saturating_sub(MOST);
        if more > 0 {
            print::line(&format!("and {more} more: --json"))?;
        }
        if let Some(gini) = analysis.gini_bytes {
            print::line(&format!("Gini of tokens a byte over the groups: {gini:.3}"))?;
        }
    }
    Ok(())
}

/// Sequence length and price at some vocabulary sizes, and the knee.
fn curve(analysis: &TokenizerAnalysis) -> anyhow::Result<()> {
    let Some(curve) = &analysis.curve else {
        if let Some(why) = &analysis.no_curve {
            print::line(&format!("no curve: {why}"))?;
        }
        return Ok(());
    };
    let rows: Vec<Vec<String>> = curve
        .prices
        .iter()
        .map(|price| {
            vec![
                print::number(price.vocab_size),
                print::number(price.tokens),
                format!("{:.3}", price.bytes_per_token),
                format!("{:.3}", price.length_ratio),
                price
                    .next_thousand
                    .map_or("-".to_owned(), |share| format!("{:.2} %", share * 100.0)),
                print::number(price.parameters_tied),
                print::number(price.parameters_untied),
            ]
        })
        .collect();
    let head =
        ["ids", "tokens", "bytes/token", "length", "next 1,000 save", "parameters", "untied"];
    print::table(&head, &rows)?;
    if let (Some(knee), Some(price)) = (&curve.knee, &curve.price_knee) {
        print::line(&format!(
            "knee at {} ids over the logarithm of the size, at {} over the size itself, which is what is paid for (embedding width {})",
            print::number(knee.vocab_size),
            print::number(price.vocab_size),
            curve.embedding_width
        ))?;
    }
    Ok(())
}
