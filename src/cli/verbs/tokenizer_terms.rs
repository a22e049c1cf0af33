//! `corpusdb tokenizer terms`: the words that cost a tokenizer most, as a list and as a file for its extension.

use crate::cli::files::write_file;
use crate::cli::output::Output;
use crate::cli::session::on_disk;
use crate::cli::verb::{Manners, PythonMethod, Report, Verb, VerbCall};
use corpusdb::Corpus;
use corpusdb::curate::{WordCostOptions, WordCostReport};
use corpusdb::show::{decimals, number, size};
use corpusdb::tokenizer::analyse::GroupWordCosts;
use std::path::PathBuf;

/// List the words that cost a tokenizer most: candidates for `tokenizer extend`.
///
/// Of each word that takes several tokens: how often it occurs in the kept documents, how many tokens hold some of it
/// there, and how many there would be fewer if it were one token; ordered by these. Words are segments of Unicode's
/// UAX 29 with a letter or a digit: in scripts written without spaces these are characters or syllables, not terms.
#[derive(clap::Args)]
pub(super) struct TokenizerTermsArgs {
    /// The tokenizer.
    name: String,
    /// Write the words to this file, one a line, as `tokenizer extend` takes them.
    #[arg(long, value_name = "FILE", value_parser = on_disk())]
    out: Option<PathBuf>,
    #[command(flatten)]
    options: WordCostOptions,
}

impl Verb for TokenizerTermsArgs {
    const PATH: &str = "tokenizer terms";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Corpus.tokenizers.terms", &["name"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb tokenizer terms crawl gpt2 --by source --top 20",
        "corpusdb tokenizer terms crawl gpt2 --where \"source = 'code'\" --out words.txt",
    ];
    const MANNERS: Manners = Manners::STOPS;
    type On = Corpus;
    type Report = WordCostReport;

    fn run(self, corpus: &Corpus, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let report = corpus.costly_words(&self.name, &self.options, &call.context)?;
        if let Some(file) = &self.out {
            let lines: String =
                report.costs.terms().iter().flat_map(|term| [*term, "\n"]).collect();
            write_file(file, lines.as_bytes())?;
        }
        Ok(report)
    }
}

impl Report for WordCostReport {
    const TYPE: &'static str = "tokenizer_terms";

    fn print(&self, out: &mut Output) {
        out.line(format!(
            "{} of {} documents, {}",
            number(self.documents),
            number(self.selected_documents),
            size(self.bytes)
        ));
        let costs = &self.costs;
        if costs.sampled_one_in > 1 {
            out.note(format!(
                "memory sufficed for the words of one in {} texts: the counts are theirs",
                costs.sampled_one_in
            ));
        }
        if costs.unplaced_documents > 0 {
            out.note(format!(
                "{} documents are left out: their tokens could not be placed",
                number(costs.unplaced_documents)
            ));
        }
        for group in &costs.groups {
            print_group(group, self.grouped_by != "all", out);
        }
    }
}

/// The words of a group; under its name where there are several.
fn print_group(group: &GroupWordCosts, is_named: bool, out: &mut Output) {
    if is_named {
        out.line("");
        out.line(format!("{}: {} words", group.name, number(group.words)));
    }
    if group.terms.is_empty() {
        out.line("every word is one token");
        return;
    }
    let rows = group.terms.iter().map(|term| {
        vec![
            term.word.clone(),
            number(term.count),
            decimals(term.tokens as f64 / term.count as f64),
            number(term.tokens),
            number(term.saved),
            if term.is_split { "added token" } else { "token" }.to_owned(),
        ]
    });
    out.table(&["word", "occurs", "tokens each", "tokens", "would save", "can become"], rows);
}
