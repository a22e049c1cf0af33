//! Finds the words that cost one tokenizer most in the kept texts: candidates for its extension.

use super::analyse::{AnalysisTarget, count_pieces};
use super::sample::{DocumentSample, TextGrouping, TextGroups};
use super::train::selection;
use crate::corpus::Corpus;
use model::{Context, DocId, Error};
use serde::Serialize;
use tokenizer::analyse::{AnalysedTokenizer, PretokenCounter, TextWords, WordCostTally, WordCosts};

/// What words are listed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct WordCostOptions {
    /// Only kept documents for which this SQL condition over the table documents is true.
    #[cfg_attr(
        feature = "cli",
        arg(id = "where", long = "where", value_name = "SQL", allow_hyphen_values = true)
    )]
    pub condition: Option<String>,
    /// The groups whose words are listed apart.
    #[cfg_attr(feature = "cli", arg(long, value_enum, default_value_t = TextGrouping::All))]
    pub by: TextGrouping,
    /// Words listed of each group.
    #[cfg_attr(feature = "cli", arg(long, value_name = "K", default_value_t = 100))]
    pub top: usize,
    /// Count a uniform sample of about this many bytes of text. By default all documents.
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES", value_parser = model::parse_bytes))]
    pub sample_bytes: Option<u64>,
}

impl Default for WordCostOptions {
    fn default() -> Self {
        Self { condition: None, by: TextGrouping::All, top: 100, sample_bytes: None }
    }
}

/// The words that cost a tokenizer most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct WordCostReport {
    /// The tokenizer.
    pub name: String,
    /// What the groups are: `language`, `source` or `all`.
    pub grouped_by: String,
    /// Documents selected, from which the sample was drawn.
    pub selected_documents: u64,
    /// Documents counted.
    pub documents: u64,
    /// Bytes of their texts.
    pub bytes: u64,
    /// The words.
    #[serde(flatten)]
    pub costs: WordCosts,
}

impl Corpus {
    /// The words by which a tokenizer would save most tokens of kept documents if each were one token, by language or
    /// source. Stored ids are taken where there are any. Memory is bounded by leaving whole texts out, the same ones
    /// for any number of threads.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`](tokenizer::TokenizerError::Unknown);
    /// [`SqlError`](crate::sql::SqlError) when the condition is wrong; [`Error`] when nothing is selected.
    pub fn costly_words(
        &self,
        name: &str,
        options: &WordCostOptions,
        context: &Context<'_>,
    ) -> Result<WordCostReport, Error> {
        let (view, context) = (self.view(), self.within(context));
        let target = AnalysisTarget::registered(view, name)?;
        let selected = selection(view, options.condition.as_deref(), &context)?;
        let sample = DocumentSample::draw(view, &selected, options.sample_bytes)?;
        let groups = TextGroups::of(view, &sample.documents, options.by)?;
        let subject = AnalysedTokenizer::new(&target.tokenizer, &target.json)?;
        let limit = PretokenCounter::DEFAULT_LIMIT;
        let empty = || WordCostTally::new(&subject, groups.names.len(), limit);
        let count = |piece: &[(DocId, usize)]| {
            let (mut tally, mut ids) = (empty(), Vec::new());
            let mut encoder = target.tokenizer.encoder();
            for (document, group) in piece {
                let text = view.text(*document)?;
                target.ids_of(view, &mut encoder, *document, &text, &mut ids)?;
                tally.add_text(*group, &TextWords::new(&text)?, &ids)?;
            }
            Ok::<_, Error>(tally)
        };
        context.progress.begin("counting words", Some(sample.documents.len()));
        let merge = WordCostTally::merge;
        let of = (view, &sample.documents, &groups);
        let tally = count_pieces(of, &context, empty, count, merge)?;
        let costs = tally.finish(&groups.names, options.top)?;
        context.progress.end();
        Ok(WordCostReport {
            name: name.to_owned(),
            grouped_by: options.by.name().to_owned(),
            selected_documents: selected.len(),
            documents: sample.documents.len(),
            bytes: sample.bytes,
            costs,
        })
    }
}
