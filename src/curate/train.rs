//! Trains a tokenizer on stored texts, or extends one, and stores what decided the result with it.
//!
//! One scan counts pre-tokens; then the trainer runs.

use super::sample::{DocumentSample, TextGrouping, TextGroups, for_each_block};
use super::tokenizers::find;
use crate::corpus::CorpusWriter;
use crate::sql::select;
use model::{Context, DocId, Error, ErrorKind, Hint};
use rayon::prelude::*;
use roaring::RoaringTreemap;
use serde::{Deserialize, Serialize};
use store::View;
use tokenizer::analyse::{PatternHint, pattern_hints};
use tokenizer::{
    GrowthOptions, PretokenCounter, PretokenSplitter, PretokenTable, TermCounts, TermForms,
    TermOptions, TokenizerError, TokenizerExtension, TrainOptions, TrainReport, TrainingOutput,
    extend_by_growth, extend_by_terms, pretokenizer_file, tokens_by_group, train,
};

/// Documents counted as one piece of parallel work.
const PIECE: usize = 256;
/// Bytes of the texts on which other split patterns are tried.
const TRIED_BYTES: u64 = 4 << 20;

/// The texts that a tokenizer is trained on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema, clap::Args))]
pub struct TrainingTexts {
    /// Only kept documents for which this SQL condition over the table documents is true.
    #[cfg_attr(
        feature = "cli",
        arg(id = "where", long = "where", value_name = "SQL", allow_hyphen_values = true)
    )]
    pub condition: Option<String>,
    /// The groups for `alpha`, `weights` and the report.
    #[cfg_attr(feature = "cli", arg(id = "by", long = "by", value_enum, default_value_t))]
    pub grouping: TextGrouping,
    /// Train on a uniform sample of about this many bytes of text. By default on all documents.
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES", value_parser = model::parse_bytes))]
    pub sample_bytes: Option<u64>,
}

/// Everything that decided a trained tokenizer, and the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TrainingRecord {
    /// Always `trained`.
    pub kind: String,
    /// The release that trained it.
    pub release: String,
    /// The options of the training, with all defaults.
    pub options: TrainOptions,
    /// The selected texts.
    pub on: TrainingTexts,
    /// The commit whose documents these were.
    pub commit: u64,
    /// Documents trained on.
    pub documents: u64,
    /// Bytes of their texts.
    pub bytes: u64,
    /// Bytes of all texts that they were drawn from.
    pub of_bytes: u64,
    /// blake3 of the bitmap of these documents, in the portable format.
    pub selection: String,
    /// blake3 of the `tokenizer.json`.
    pub hash: String,
    /// The counts and their treatment, by group.
    pub report: TrainReport,
    /// Bytes of text for a token, in the order of the report's groups; none without a token.
    pub bytes_per_token: Vec<Option<f64>>,
    /// Split patterns by which texts of a script are at most half as many tokens, measured on a sample of the texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pattern_hints: Vec<PatternHint>,
}

/// A trained tokenizer with what decided it.
#[derive(Clone, Debug)]
pub struct TrainingResult {
    /// The bytes of its `tokenizer.json`.
    pub json: Vec<u8>,
    /// The settings and the sample that its vocabulary follows from.
    pub decisions: TrainingRecord,
}

impl TrainingRecord {
    /// Where the tokenizer came from, in a line.
    #[must_use]
    pub fn lineage(&self) -> String {
        let (kind, ids) = (self.options.model.name(), self.report.vocab_size);
        format!("{kind}, {ids} ids, trained at commit {}", self.commit)
    }
}

/// What a tokenizer is extended by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtensionSource<'a> {
    /// Terms that become tokens.
    Terms(&'a [String], TermOptions),
    /// Byte-pair training that continues, on the kept documents of a SQL condition, or on all of them.
    Growth(GrowthOptions, Option<&'a str>),
}

/// Everything that decided an extended tokenizer, and the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ExtensionRecord {
    /// Always `extended`.
    pub kind: &'static str,
    /// The tokenizer that was extended.
    pub base: String,
    /// blake3 of its `tokenizer.json`.
    pub base_hash: String,
    /// The commit at which it was.
    pub commit: u64,
    /// Number of new tokens requested of a growth; none if terms were given.
    pub grow: Option<u32>,
    /// The SQL condition of the documents that it grew on; none: all kept ones.
    #[serde(rename = "where")]
    pub condition: Option<String>,
    /// A pair seen less often made no token.
    pub min_frequency: Option<u64>,
    /// The longest token that a growth made; none: any.
    pub max_token_length: Option<usize>,
    /// Whether terms that the pre-tokenizer splits became added tokens.
    pub added_tokens: bool,
    /// The result of each term.
    pub terms: TermCounts,
    /// How many ids are new.
    pub new_ids: usize,
    /// How many merges are.
    pub new_merges: u64,
    /// The first new id.
    pub base_vocab_size: u32,
}

impl ExtensionRecord {
    /// The record of an extension of the tokenizer `base`, made at a commit.
    #[must_use]
    pub fn of(
        base: &str,
        by: ExtensionSource<'_>,
        extension: &TokenizerExtension,
        commit: u64,
    ) -> Self {
        let (growth, condition, added_tokens) = match by {
            ExtensionSource::Terms(_, options) => (None, None, options.added_tokens),
            ExtensionSource::Growth(options, condition) => (Some(options), condition, false),
        };
        Self {
            kind: "extended",
            base: base.to_owned(),
            base_hash: extension.map.base.clone(),
            commit,
            grow: growth.map(|growth| growth.new_tokens),
            condition: condition.map(str::to_owned),
            min_frequency: growth.map(|growth| growth.min_frequency),
            max_token_length: growth.and_then(|growth| growth.max_token_length),
            added_tokens,
            terms: TermCounts::of(&extension.terms),
            new_ids: extension.map.rows.len(),
            new_merges: extension.merges,
            base_vocab_size: extension.map.base_vocab_size,
        }
    }

    /// Where the tokenizer came from, in a line.
    #[must_use]
    pub fn lineage(&self) -> String {
        let how = if self.grow.is_some() { "grown" } else { "extended by terms" };
        format!("{} {how}, {} new ids", self.base, self.new_ids)
    }
}

impl CorpusWriter {
    /// Trains a tokenizer; not registered yet.
    ///
    /// # Errors
    /// [`Error`] when there is nothing to train on or the options cannot be had.
    pub fn train_tokenizer(
        &self,
        options: &TrainOptions,
        on: &TrainingTexts,
        context: &Context<'_>,
    ) -> Result<TrainingResult, Error> {
        let context = self.within(context);
        let answer = train_tokenizer(self.view(), options, on, &context)?;
        context.progress.end();
        Ok(answer)
    }

    /// A registered BPE that continues training on the kept documents of a condition; not registered yet.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`Error`] when it is no BPE or there is nothing
    /// to train on.
    pub fn extend_by_growth(
        &self,
        base: &str,
        options: GrowthOptions,
        condition: Option<&str>,
        context: &Context<'_>,
    ) -> Result<TokenizerExtension, Error> {
        let file = self.view().tokenizer_file(find(self.view(), base)?.0)?;
        let context = self.within(context);
        let answer = grow(self.view(), &file, options, condition, &context)?;
        context.progress.end();
        Ok(answer)
    }
}

/// Trains on the kept documents asked for. The same corpus and options give the same file, for any number
/// of threads.
///
/// # Errors
/// [`Error`] when there is nothing to train on, for options that cannot be had, when the condition is wrong or a text
/// cannot be read.
pub fn train_tokenizer(
    view: &View,
    options: &TrainOptions,
    on: &TrainingTexts,
    context: &Context<'_>,
) -> Result<TrainingResult, Error> {
    options.check()?;
    let progress = context.progress;
    let selected = selection(view, on.condition.as_deref(), context)?;
    let sample = DocumentSample::draw(view, &selected, on.sample_bytes)?;
    let groups = TextGroups::of(view, &sample.documents, on.grouping)?;
    let json = pretokenizer_file(options)?;
    let table = count(view, &json, &sample.documents, &groups, context)?;
    if table.sampled_one_in > 1 {
        progress.note(&format!(
            "memory sufficed for one in {} texts: the counts come from a sample",
            table.sampled_one_in
        ));
    }
    if table.skipped() > 0 {
        progress.note(&format!("{} overlong pre-tokens were left out", table.skipped()));
    }
    let trained = train_with_seeds(&table, &groups.names, options, context)?;
    progress.begin("measuring what was trained", None);
    let tokens = tokens_by_group(&trained.json, &table)?;
    let per_token = |(mass, tokens): (&tokenizer::TextTotals, &u64)| {
        (*tokens > 0).then(|| mass.bytes as f64 / *tokens as f64)
    };
    let mut bitmap = Vec::new();
    // Into memory, which does not fail.
    let _ = sample.documents.serialize_into(&mut bitmap);
    let decisions = TrainingRecord {
        kind: "trained".to_owned(),
        release: env!("CARGO_PKG_VERSION").to_owned(),
        options: options.clone(),
        on: on.clone(),
        commit: view.commit().0,
        documents: sample.documents.len(),
        bytes: sample.bytes,
        of_bytes: sample.of_bytes,
        selection: blake3::hash(&bitmap).to_hex().to_string(),
        hash: blake3::hash(&trained.json).to_hex().to_string(),
        bytes_per_token: table.masses.iter().zip(&tokens).map(per_token).collect(),
        pattern_hints: hints(view, &sample.documents, options, context)?,
        report: trained.report,
    };
    Ok(TrainingResult { json: trained.json, decisions })
}

/// What other split patterns would do, on a sample of the documents.
fn hints(
    view: &View,
    documents: &RoaringTreemap,
    options: &TrainOptions,
    context: &Context<'_>,
) -> Result<Vec<PatternHint>, Error> {
    context.progress.begin("trying other split patterns", None);
    let sample = DocumentSample::draw(view, documents, Some(TRIED_BYTES))?;
    let mut texts = Vec::new();
    for document in sample.documents.iter().map(DocId) {
        context.check_interrupt()?;
        // The one document of a sample may be longer than the sample.
        let text = view.text(document)?;
        texts.extend(Some(text).filter(|text| text.len() as u64 <= TRIED_BYTES));
    }
    Ok(pattern_hints(&texts, options, context)?)
}

/// The kept documents of a condition.
pub(super) fn selection(
    view: &View,
    condition: Option<&str>,
    context: &Context<'_>,
) -> Result<RoaringTreemap, Error> {
    let mut selected = view.kept()?;
    if let Some(condition) = condition {
        selected &= select(view, condition, context)?;
    }
    if selected.is_empty() {
        let message = "there are no kept documents to train a tokenizer on";
        let hint = Hint::text("ingest some, or widen the condition (`where=`)");
        return Err(Error::of(ErrorKind::NotFound, message).with_hint(hint));
    }
    Ok(selected)
}

/// Counts the pre-tokens of documents by group, as the `tokenizer.json` splits them.
pub(super) fn count(
    view: &View,
    json: &[u8],
    documents: &RoaringTreemap,
    groups: &TextGroups,
    context: &Context<'_>,
) -> Result<PretokenTable, Error> {
    let limit = PretokenCounter::DEFAULT_LIMIT;
    let empty = PretokenCounter::new(json, groups.names.len(), limit)?;
    context.progress.begin("counting pre-tokens", Some(documents.len()));
    let (mut total, mut done) = (empty.empty_like(), 0);
    // One block's worth at a time keeps the tables of the pieces few.
    for_each_block(documents, |block, members| {
        let of = groups.of_block(view, block, members)?;
        let work: Vec<(DocId, usize)> = members.iter().copied().zip(of).collect();
        let counted = work
            .par_chunks(PIECE)
            .try_fold(
                || empty.empty_like(),
                |mut part, piece| {
                    context.check_interrupt()?;
                    for (document, group) in piece {
                        part.add_text(*group, &view.text(*document)?)?;
                    }
                    Ok::<_, Error>(part)
                },
            )
            .try_reduce_with(|a, b| Ok(a.merge(b)));
        if let Some(counted) = counted {
            let before = std::mem::replace(&mut total, empty.empty_like());
            total = before.merge(counted?);
        }
        done += members.len() as u64;
        context.progress.advance(done);
        Ok(())
    })?;
    Ok(total.finish())
}

/// Goes on training a BPE of the corpus on the kept documents of a condition.
///
/// # Errors
/// As [`train_tokenizer`]; [`Error`] when the base is no BPE.
pub fn grow(
    view: &View,
    base: &[u8],
    options: GrowthOptions,
    condition: Option<&str>,
    context: &Context<'_>,
) -> Result<TokenizerExtension, Error> {
    let selected = selection(view, condition, context)?;
    let groups = TextGroups::of(view, &selected, TextGrouping::All)?;
    let table = count(view, base, &selected, &groups, context)?;
    context.progress.begin("growing", None);
    let splitter = PretokenSplitter::of(base)?;
    let counts = table.groups.into_iter().next().unwrap_or_default();
    Ok(extend_by_growth(base, &counts, options, |word, out| splitter.spell(word, out))?)
}

/// Trains so that the tokens asked for, which a BPE has to merge, have room behind those learnt.
fn train_with_seeds(
    table: &PretokenTable,
    groups: &[String],
    options: &TrainOptions,
    context: &Context<'_>,
) -> Result<TrainingOutput, Error> {
    /// A smaller vocabulary may need a few more tokens on the way to one asked for.
    const TRIES: u32 = 8;
    let mut room = 0;
    for _ in 0..TRIES {
        let vocab_size = options.vocab_size.saturating_sub(room);
        let smaller = TrainOptions { vocab_size, ..options.clone() };
        let mut trained = train(table, groups, &smaller, context)?;
        if trained.report.pending_seed_tokens.is_empty() {
            return Ok(trained);
        }
        let forms = TermOptions { forms: TermForms::Bare, ..TermOptions::default() };
        let seeds = std::mem::take(&mut trained.report.pending_seed_tokens);
        let extended = extend_by_terms(&trained.json, &seeds, forms)?;
        for term in &extended.terms {
            if let Some(reason) = term.refused() {
                let token = &term.term;
                return Err(Error::of(
                    ErrorKind::BadTokenizer,
                    format!("seed token `{token}` cannot be one token: {reason}"),
                ));
            }
        }
        let added = u32::try_from(extended.map.rows.len()).unwrap_or(u32::MAX);
        trained.report.vocab_size = trained.report.vocab_size.saturating_add(added);
        if trained.report.vocab_size <= options.vocab_size {
            if trained.report.vocab_size == options.vocab_size {
                trained.report.shortfall = None;
            }
            return Ok(TrainingOutput { json: extended.json, report: trained.report });
        }
        room += trained.report.vocab_size - options.vocab_size;
    }
    let asked = options.vocab_size;
    Err(TokenizerError::VocabularyTooSmall { asked, least: asked as usize + room as usize }.into())
}
