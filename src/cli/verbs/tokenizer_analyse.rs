//! `corpusdb tokenizer analyse`: measures tokenizers on the corpus, in numbers and as a page.

use crate::cli::files::read_bytes;
use crate::cli::output::Output;
use crate::cli::session::on_disk;
use crate::cli::verb::{Manners, PythonMethod, Report, Verb, VerbCall};
use corpusdb::Corpus;
use corpusdb::curate::{AnalyseOptions, TokenizerCandidate};
use corpusdb::pages::{TokenizerPage, corpus_title};
use corpusdb::show::{decimals, number, percent, size};
use corpusdb::tokenizer::analyse::{AnalysisReport, GroupMetrics, TokenizerAnalysis};
use std::path::PathBuf;

/// Rows of a table of groups.
const MOST_GROUPS: usize = 12;

/// Analyse tokenizers on the corpus: compression, fertility, parity, use of the vocabulary, and the cost of its size.
///
/// Measured on a uniform sample of the kept documents. The curve of sequence length over vocabulary size is exact for
/// the sample and needs one tokenizer, trained at the largest size. BPE and WordPiece are cut to smaller sizes; for a
/// Unigram smaller ones are trained on the sample, which takes about as long as its training did.
#[derive(clap::Args)]
pub(super) struct TokenizerAnalyseArgs {
    /// The tokenizers.
    #[arg(required_unless_present = "files", value_name = "NAME")]
    names: Vec<String>,
    /// A tokenizer.json that the corpus does not have, such as a candidate of `tokenizer train`; by its path.
    #[arg(id = "files", long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write a self-contained page.
    #[arg(long, value_name = "FILE", value_parser = on_disk())]
    html: Option<PathBuf>,
    #[command(flatten)]
    options: AnalyseOptions,
}

impl Verb for TokenizerAnalyseArgs {
    const PATH: &str = "tokenizer analyse";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Corpus.tokenizers.analyse", &["names"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb tokenizer analyse crawl gpt2 own-32k --by language",
        "corpusdb tokenizer analyse crawl own-32k --by source --html own-32k.html",
        "corpusdb tokenizer analyse crawl own-32k --file candidate.json",
        "corpusdb tokenizer analyse crawl own-32k --json | jq .tokenizers[0].curve.knee",
    ];
    const MANNERS: Manners = Manners::STOPS;
    type On = Corpus;
    type Report = AnalysisReport;

    fn run(self, corpus: &Corpus, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let mut options = self.options;
        for file in &self.files {
            let name = file.display().to_string();
            options.candidates.push(TokenizerCandidate { name, json: read_bytes(file)? });
        }
        let report = corpus.analyse(&self.names, &options, &call.context)?;
        if let Some(file) = &self.html {
            let page = TokenizerPage::new(&report, &corpus_title(corpus.path()));
            call.write_page(file, &page)?;
        }
        Ok(report)
    }
}

impl Report for AnalysisReport {
    const TYPE: &'static str = "tokenizer_analysis";

    fn print(&self, out: &mut Output) {
        out.line(format!(
            "{} of {} documents, {} of {}",
            number(self.documents),
            number(self.selected_documents),
            size(self.bytes),
            size(self.selected_bytes)
        ));
        let row = |name: &str, ids: Option<u64>, total: &GroupMetrics| {
            let mut row = cells(name, total);
            row.push(decimals(total.compression_ratio));
            row.push(decimals(total.tokens_per_document));
            row.push(ids.map_or("-".to_owned(), number));
            row
        };
        let relative = format!("length / {}", self.reference);
        let mut head = head("tokenizer");
        head.extend([&relative, "compression", "tokens/text", "ids"]);
        let tokenizers = self.tokenizers.iter();
        let tokenizers = tokenizers.map(|of| row(&of.name, Some(of.ids), &of.total));
        let baselines = self.baselines.iter();
        let baselines = baselines.map(|of| row(&format!("({})", of.total.name), of.ids, &of.total));
        out.table(&head, tokenizers.chain(baselines));
        for analysis in &self.tokenizers {
            out.line("");
            print_tokenizer(analysis, out);
            print_curve(analysis, out);
            if self.grouped_by != "all" {
                print_groups(analysis, out);
            }
        }
    }
}

/// The names of the columns that every table of figures has.
fn head(first: &str) -> Vec<&str> {
    vec![first, "tokens", "bytes/token", "chars/token", "fertility", "one-token words"]
}

fn cells(name: &str, metrics: &GroupMetrics) -> Vec<String> {
    let optional = |value: Option<f64>| value.map_or("-".to_owned(), decimals);
    vec![
        name.to_owned(),
        number(metrics.counts.tokens),
        decimals(metrics.bytes_per_token),
        decimals(metrics.characters_per_token),
        optional(metrics.fertility),
        metrics.single_token_word_share.map_or("-".to_owned(), percent),
        optional(metrics.relative_length),
    ]
}

/// Prints how much of the vocabulary is used.
fn print_tokenizer(analysis: &TokenizerAnalysis, out: &mut Output) {
    let usage = &analysis.vocabulary_use;
    out.line(format!(
        "{}: {}, {} ids, {} unused in the sample, {} used fewer than 10 times",
        analysis.name,
        analysis.model,
        number(analysis.ids),
        number(usage.unused_ids),
        number(usage.rare_ids),
    ));
    let covered: Vec<String> = usage
        .covered
        .iter()
        .map(|share| format!("{} ids give {} %", number(share.ids), share.percent))
        .collect();
    out.line(format!(
        "Renyi efficiency {}, Shannon {}; {} of all tokens",
        decimals(usage.renyi_efficiency),
        decimals(usage.shannon_efficiency),
        covered.join(", ")
    ));
}

/// The groups with most text.
fn print_groups(analysis: &TokenizerAnalysis, out: &mut Output) {
    let row = |group: &GroupMetrics| {
        let mut row = cells(&group.name, group);
        row.push(decimals(group.parity));
        row
    };
    let mut head = head("group");
    head.extend(["length", "parity"]);
    out.table(&head, analysis.groups.iter().take(MOST_GROUPS).map(row));
    let more = analysis.groups.len().saturating_sub(MOST_GROUPS);
    if more > 0 {
        out.line(format!("and {} more: `--json` has them", number(more as u64)));
    }
    if let Some(gini) = analysis.gini_bytes {
        out.line(format!("Gini of tokens a byte over the groups: {}", decimals(gini)));
    }
}

/// Sequence length and price at some vocabulary sizes, and the knee.
fn print_curve(analysis: &TokenizerAnalysis, out: &mut Output) {
    let Some(curve) = &analysis.curve else {
        if let Some(why) = &analysis.no_curve {
            out.line(format!("no curve: {why}"));
        }
        return;
    };
    let rows = curve.prices.iter().map(|price| {
        vec![
            number(price.vocab_size),
            number(price.tokens),
            decimals(price.bytes_per_token),
            decimals(price.length_ratio),
            price.next_thousand.map_or("-".to_owned(), percent),
            number(price.parameters_tied),
            number(price.parameters_untied),
        ]
    });
    let head =
        ["ids", "tokens", "bytes/token", "length", "next 1,000 save", "parameters", "untied"];
    out.table(&head, rows);
    if let (Some(knee), Some(price)) = (&curve.knee, &curve.price_knee) {
        out.line(format!(
            "knee at {} ids over the logarithm of the size, at {} over the size itself, to which cost is proportional (embedding width {})",
            number(knee.vocab_size),
            number(price.vocab_size),
            number(curve.embedding_width)
        ));
    }
}
