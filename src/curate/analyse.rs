//! Analyses tokenizers on a sample of the kept texts: one scan, any number of tokenizers.

use super::sample::{DocumentSample, for_each_block};
use super::sample::{TextGrouping, TextGroups};
use super::tokenizers::load;
use super::train::TrainingRecord;
use crate::corpus::Corpus;
use crate::decide::{LoadedTokenizer, encode_text};
use crate::sql::select;
use model::{Context, DocId, Error, ErrorKind, Hint, MaskRule, TokenizerId};
use rayon::prelude::*;
use roaring::RoaringTreemap;
use std::sync::Arc;
use store::View;
use tokenizer::{
    Encoder, PretokenCounter, Tokenizer, TokenizerError, TrainOptions,
    analyse::{
        AnalysedTokenizer, AnalysisReport, AnalysisTally, BaselineTally, TextWords,
        TokenizerAnalysis,
    },
};

/// Documents counted as one piece of parallel work. Fixed, so that the pieces are the same for any
/// number of threads.
const PIECE: usize = 512;
/// Pieces between two looks at the interrupt.
const ROUND: usize = 32;

/// What is asked of an analysis.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct AnalyseOptions {
    /// Only kept documents for which this SQL condition over the table documents is true.
    #[cfg_attr(
        feature = "cli",
        arg(id = "where", long = "where", value_name = "SQL", allow_hyphen_values = true)
    )]
    pub condition: Option<String>,
    /// The tokenizer that lengths are compared with. By default the first.
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub reference: Option<String>,
    /// The groups of the figures.
    #[cfg_attr(feature = "cli", arg(long, value_enum, default_value_t = TextGrouping::All))]
    pub by: TextGrouping,
    /// Size of the sample, in bytes of text.
    ///
    /// Whole documents, drawn by a hash of their ids; at least one.
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = model::parse_bytes))]
    pub sample_bytes: u64,
    /// Width of the embedding (d_model), for the cost of the vocabulary.
    #[cfg_attr(
        feature = "cli",
        arg(id = "d_model", long = "d-model", value_name = "N", default_value_t = 4096)
    )]
    pub embedding_width: u64,
    /// Tokenizers beside the registered ones; their ids are not stored, so the sample is encoded.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub candidates: Vec<TokenizerCandidate>,
}

/// A tokenizer that the corpus does not have, to be measured beside those that it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenizerCandidate {
    /// What it is called in the report.
    pub name: String,
    /// The bytes of its `tokenizer.json`.
    pub json: Vec<u8>,
}

impl Default for AnalyseOptions {
    fn default() -> Self {
        Self {
            condition: None,
            reference: None,
            by: TextGrouping::All,
            sample_bytes: 64 << 20,
            embedding_width: 4096,
            candidates: Vec::new(),
        }
    }
}

impl AnalyseOptions {
    /// The name of the tokenizer that lengths are relative to, where `first` is the first one's.
    pub(crate) fn reference_among<'a>(&'a self, first: Option<&'a str>) -> &'a str {
        self.reference.as_deref().or(first).unwrap_or_default()
    }
}

impl Corpus {
    /// What tokenizers make of kept documents, by language or source; lengths are relative to those of one of them. The
    /// candidates of the options follow those of the names.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; [`SqlError`](crate::sql::SqlError) when the condition is wrong;
    /// [`Error`] when nothing is selected.
    pub fn analyse(
        &self,
        names: &[String],
        options: &AnalyseOptions,
        context: &Context<'_>,
    ) -> Result<AnalysisReport, Error> {
        let mut targets = Vec::new();
        for name in names {
            targets.push(AnalysisTarget::registered(self.view(), name)?);
        }
        for candidate in &options.candidates {
            targets.push(AnalysisTarget::candidate(candidate)?);
        }
        let all = || targets.iter().map(|target| target.name.as_str());
        let reference = options.reference_among(all().next());
        if !all().any(|name| name == reference) {
            return Err(TokenizerError::unknown(reference, all()).into());
        }
        let selected = match &options.condition {
            Some(condition) => select(self.view(), condition, context)?,
            None => self.view().kept()?,
        };
        let context = self.within(context);
        let answer = analyse(self.view(), &selected, &targets, options, &context)?;
        context.progress.end();
        Ok(answer)
    }
}

/// Analyses `tokenizers` on the kept documents of `selection`. Stored ids are taken where there are any, else the text
/// is encoded. The same corpus gives the same report, for any number of threads.
///
/// # Errors
/// [`Error`] when nothing is selected, a row cannot be read or a text is refused.
fn analyse(
    view: &View,
    selection: &RoaringTreemap,
    tokenizers: &[AnalysisTarget],
    options: &AnalyseOptions,
    context: &Context<'_>,
) -> Result<AnalysisReport, Error> {
    let Context { progress, interrupt, .. } = *context;
    let selected = selection & view.kept()?;
    let sample = DocumentSample::draw(view, &selected, Some(options.sample_bytes))?;
    if sample.documents.is_empty() {
        let message = "no kept document is selected, so there is nothing to analyse a tokenizer on";
        let hint = Hint::text("select others, or ingest some first");
        return Err(Error::of(ErrorKind::NotFound, message).with_hint(hint));
    }
    let groups = TextGroups::of(view, &sample.documents, options.by)?;
    let mut subjects = Vec::new();
    for target in tokenizers {
        let mut subject = AnalysedTokenizer::new(&target.tokenizer, &target.json)?;
        let trained = target.stored.map(|(id, _)| training(view, id, options.by)).transpose()?;
        if let Some(training) = trained.flatten() {
            subject = subject.trained_by(training);
        }
        let counts = subject.has_curve();
        let limit = PretokenCounter::DEFAULT_LIMIT;
        let counter = counts.then(|| PretokenCounter::new(&target.json, groups.names.len(), limit));
        subjects.push((target, subject, counter.transpose()?));
    }
    let scan = AnalysisScan { view, groups: &groups, subjects: &subjects };
    progress.begin("analysing", Some(sample.documents.len()));
    let merge = SampleCounts::merge;
    let total = count_pieces(
        (view, &sample.documents, &groups),
        context,
        || scan.empty(),
        |piece| scan.count(piece),
        merge,
    )?;
    progress.begin("vocabularies", Some(subjects.len() as u64));
    let mut analyses: Vec<TokenizerAnalysis> = Vec::new();
    for ((target, subject, _), counted) in subjects.iter().zip(total.tokenizers) {
        let table = counted.counter.map(PretokenCounter::finish).unwrap_or_default();
        let curve = subject.curve(&groups.names, &table, options.embedding_width, context)?;
        interrupt.check()?;
        analyses.push(counted.tally.finish(&target.name, &groups.names, curve)?);
        progress.advance(analyses.len() as u64);
    }
    let drawn_from = (selected.len(), sample.of_bytes);
    let reference = options.reference_among(tokenizers.first().map(|first| first.name.as_str()));
    let report = AnalysisReport::new(options.by.name(), reference, drawn_from, analyses);
    Ok(report.beside(total.baselines))
}

/// Counts documents, each with its group, piece by piece on all threads. The pieces are the same for any number of
/// threads.
pub(super) fn count_pieces<T: Send>(
    (view, documents, groups): (&View, &RoaringTreemap, &TextGroups),
    context: &Context<'_>,
    empty: impl Fn() -> T,
    count: impl Fn(&[(DocId, usize)]) -> Result<T, Error> + Sync,
    merge: impl Fn(T, T) -> T + Sync,
) -> Result<T, Error> {
    let (mut total, mut done) = (empty(), 0);
    for_each_block(documents, |block, members| {
        let of = groups.of_block(view, block, members)?;
        let work: Vec<(DocId, usize)> = members.iter().copied().zip(of).collect();
        for round in work.chunks(PIECE * ROUND) {
            context.check_interrupt()?;
            let counted =
                round.par_chunks(PIECE).map(&count).try_reduce_with(|a, b| Ok(merge(a, b)));
            if let Some(counted) = counted {
                let before = std::mem::replace(&mut total, empty());
                total = merge(before, counted?);
            }
            done += round.len() as u64;
            context.progress.advance(done);
        }
        Ok(())
    })?;
    Ok(total)
}

/// The options that the tokenizer was trained by, if it was trained here; or why it cannot be trained so again.
fn training(
    view: &View,
    tokenizer: TokenizerId,
    by: TextGrouping,
) -> Result<Option<Result<TrainOptions, String>>, Error> {
    let Some(written) = view.tokenizer_decisions(tokenizer)? else { return Ok(None) };
    // Other decisions, of an extension, are of another shape.
    let Ok(decisions) = serde_json::from_slice::<TrainingRecord>(&written) else { return Ok(None) };
    let (options, grouping) = (decisions.options, decisions.on.grouping);
    let is_weighed = options.alpha != 1.0 || !options.weights.is_empty();
    Ok(Some(if is_weighed && grouping != by {
        Err(format!(
            "it was trained with weights on groups by {}: analyse it with the same `by=`",
            grouping.name()
        ))
    } else {
        Ok(options)
    }))
}

/// A tokenizer to be analysed.
pub(super) struct AnalysisTarget {
    pub(super) name: String,
    pub(super) tokenizer: Arc<Tokenizer>,
    /// The bytes of its `tokenizer.json`.
    pub(super) json: Vec<u8>,
    /// Its id in the store, and how its trained tokens follow from a text; none of a candidate.
    stored: Option<(TokenizerId, MaskRule)>,
}

impl AnalysisTarget {
    /// A tokenizer of the corpus.
    pub(super) fn registered(view: &View, name: &str) -> Result<Self, Error> {
        let LoadedTokenizer { id, name, mask_rule, tokenizer, .. } = load(view, Some(name))?;
        let json = view.tokenizer_file(id)?;
        Ok(Self { name, tokenizer, json, stored: Some((id, mask_rule)) })
    }

    fn candidate(of: &TokenizerCandidate) -> Result<Self, Error> {
        let tokenizer = Arc::new(Tokenizer::load(&of.json, &[])?);
        tokenizer.build_encoder();
        Ok(Self { name: of.name.clone(), tokenizer, json: of.json.clone(), stored: None })
    }

    /// The stored ids of a document, or where there are none those of its text, into `ids`.
    pub(super) fn ids_of(
        &self,
        view: &View,
        encoder: &mut Encoder<'_>,
        document: DocId,
        text: &str,
        ids: &mut Vec<u32>,
    ) -> Result<(), Error> {
        ids.clear();
        if let Some((id, _)) = self.stored
            && view.tokens(id, document, ids)?
        {
            return Ok(());
        }
        let (form, mask_rule) = (view.text_form(document)?, self.stored.map(|(_, rule)| rule));
        *ids = encode_text(encoder, text, form.as_ref(), mask_rule.unwrap_or_default())?.ids;
        Ok(())
    }
}

/// A tokenizer, made ready, and a counter of its pre-tokens where a curve is to be drawn.
type AnalysisSubject<'a> = (&'a AnalysisTarget, AnalysedTokenizer<'a>, Option<PretokenCounter>);

/// The counts for one tokenizer.
struct TokenizerCounts<'s> {
    tally: AnalysisTally<'s>,
    counter: Option<PretokenCounter>,
}

/// The counts of some documents.
struct SampleCounts<'s> {
    tokenizers: Vec<TokenizerCounts<'s>>,
    baselines: BaselineTally,
}

impl SampleCounts<'_> {
    fn merge(self, other: Self) -> Self {
        let both = self.tokenizers.into_iter().zip(other.tokenizers);
        let merged = both.map(|(ours, theirs)| TokenizerCounts {
            tally: ours.tally.merge(&theirs.tally),
            counter: ours.counter.zip(theirs.counter).map(|(ours, theirs)| ours.merge(theirs)),
        });
        Self { tokenizers: merged.collect(), baselines: self.baselines.merge(other.baselines) }
    }
}

struct AnalysisScan<'a> {
    view: &'a View,
    groups: &'a TextGroups,
    subjects: &'a [AnalysisSubject<'a>],
}

impl<'a> AnalysisScan<'a> {
    fn empty(&self) -> SampleCounts<'a> {
        let one = |(_, subject, counter): &'a AnalysisSubject<'a>| TokenizerCounts {
            tally: AnalysisTally::new(subject, self.groups.names.len()),
            counter: counter.as_ref().map(PretokenCounter::empty_like),
        };
        SampleCounts {
            tokenizers: self.subjects.iter().map(one).collect(),
            baselines: BaselineTally::new(PretokenCounter::DEFAULT_LIMIT),
        }
    }

    fn count(&self, piece: &[(DocId, usize)]) -> Result<SampleCounts<'a>, Error> {
        let mut counted = self.empty();
        let mut encoders: Vec<Encoder<'_>> =
            self.subjects.iter().map(|(target, ..)| target.tokenizer.encoder()).collect();
        let mut ids = Vec::new();
        for (document, group) in piece {
            let text = self.view.text(*document)?;
            let words = TextWords::new(&text)?;
            counted.baselines.add_text(&words);
            let each = self.subjects.iter().zip(&mut counted.tokenizers).zip(&mut encoders);
            for (((target, ..), counted), encoder) in each {
                target.ids_of(self.view, encoder, *document, &text, &mut ids)?;
                counted.tally.add_text(*group, &words, &ids)?;
                counted.tally.note(document.0, &text, ids.len());
                if let Some(counter) = &mut counted.counter {
                    counter.add_text(*group, &text)?;
                }
            }
        }
        Ok(counted)
    }
}
