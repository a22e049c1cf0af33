//! Settles what documents say is trained on in a plan, and refuses an output that would lose it.

use super::PlanHeader;
use crate::corpus::Corpora;
use crate::epoch::coverage::PinnedSource;
use crate::epoch::error::EpochError;
use crate::epoch::recipe::OutputRecipe;
use files::output::LossLevel;
use model::{DocId, LossSpan, TokenizerId};
use roaring::RoaringTreemap;
use std::sync::Arc;

/// What the documents of a plan say of their loss, in stored tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::epoch) struct LossSummary {
    /// Tokens that are not trained on.
    pub untrained: u64,
    /// Tokens with another weight than 1.
    pub weighted: u64,
    /// The first document with any such token.
    example: Option<(DocId, LossLevel)>,
}

impl LossSummary {
    pub const fn loss(&self) -> LossLevel {
        match (self.untrained, self.weighted) {
            (0, 0) => LossLevel::Plain,
            (_, 0) => LossLevel::Masked,
            _ => LossLevel::Weighted,
        }
    }

    fn add(&mut self, document: DocId, spans: &[LossSpan], tokens: u64) {
        let length = |span: &LossSpan| u64::from(span.end - span.start);
        let trained: u64 = spans.iter().map(length).sum();
        let weighted: u64 = spans.iter().filter(|span| span.weight != 1.0).map(length).sum();
        let of = Self { untrained: tokens.saturating_sub(trained), weighted, example: None };
        self.untrained += of.untrained;
        self.weighted += of.weighted;
        if of.loss() > self.example.map_or(LossLevel::Plain, |(_, loss)| loss) {
            self.example = Some((document, of.loss()));
        }
    }
}

/// What an output carries of the loss of tokens.
pub(in crate::epoch) fn carried(output: &OutputRecipe) -> LossLevel {
    output.file_format().loss(&output.columns(true, false))
}

/// The documents of a plan.
pub(in crate::epoch) fn documents<'a>(
    pinned: impl IntoIterator<Item = &'a Arc<PinnedSource>>,
) -> RoaringTreemap {
    pinned.into_iter().map(|source| source.documents()).fold(RoaringTreemap::new(), |a, b| a | b)
}

/// Whether any of `documents` says which of its tokens are trained on. Other documents do not matter: the output of a
/// plan must not change with later ingests.
pub(in crate::epoch) fn any(
    corpora: &Corpora,
    tokenizer: TokenizerId,
    documents: &RoaringTreemap,
) -> Result<bool, EpochError> {
    for loss in corpora.all_losses(tokenizer)? {
        let (document, _) = loss?;
        if documents.contains(document.0) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What `documents` say, read until `enough`, block by block.
pub(in crate::epoch) fn summarise_loss(
    corpora: &Corpora,
    tokenizer: TokenizerId,
    documents: &RoaringTreemap,
    enough: impl Fn(&LossSummary) -> bool,
) -> Result<LossSummary, EpochError> {
    let mut said = LossSummary::default();
    let mut block = Vec::new();
    for loss in corpora.all_losses(tokenizer)? {
        let (document, spans) = loss?;
        if !documents.contains(document.0) {
            continue;
        }
        let over =
            block.last().is_some_and(|(last, _): &(DocId, _)| last.block() != document.block());
        if over {
            settle(corpora, tokenizer, &mut block, &mut said)?;
        }
        block.push((document, spans));
        if over && enough(&said) {
            break;
        }
    }
    settle(corpora, tokenizer, &mut block, &mut said)?;
    Ok(said)
}

/// Takes in the documents of a block, with their lengths.
fn settle(
    corpora: &Corpora,
    tokenizer: TokenizerId,
    block: &mut Vec<(DocId, Vec<LossSpan>)>,
    said: &mut LossSummary,
) -> Result<(), EpochError> {
    let Some(number) = block.first().map(|(document, _)| document.block()) else { return Ok(()) };
    corpora.token_counts(tokenizer, number, |values| {
        for (document, spans) in block.iter() {
            let tokens = values.get(document.slot()).and_then(|tokens| u64::try_from(tokens).ok());
            said.add(*document, spans, tokens.unwrap_or_default());
        }
    })?;
    block.clear();
    Ok(())
}

/// Refuses the output of a plan that would lose what its documents say of their loss, unless the recipe says so.
pub(in crate::epoch) fn check(
    corpora: &Corpora,
    tokenizer: TokenizerId,
    plan: &PlanHeader,
    pinned: &[Arc<PinnedSource>],
) -> Result<(), EpochError> {
    let columns = ColumnWording { whole: "output.columns", among: "in output.columns" };
    check_output(corpora, tokenizer, &plan.recipe.output, &columns, || documents(pinned))
}

/// Refuses views of rows of `documents` that would lose what the documents say of their loss, by the rule for files:
/// `given` is the output that holds as much.
pub(in crate::epoch) fn check_views(
    corpora: &Corpora,
    tokenizer: TokenizerId,
    given: &OutputRecipe,
    documents: impl FnOnce() -> RoaringTreemap,
) -> Result<(), EpochError> {
    let views = ColumnWording { whole: "views", among: "among the views (`views=`)" };
    check_output(corpora, tokenizer, given, &views, documents)
}

/// What the columns of an output were chosen by, in the words of a refusal.
struct ColumnWording {
    whole: &'static str,
    among: &'static str,
}

/// A document that says more of its loss than the given rows of `documents` carry; none where `given` says that the
/// rest is not wanted.
pub(in crate::epoch) fn lost(
    corpora: &Corpora,
    tokenizer: TokenizerId,
    given: &OutputRecipe,
    documents: impl FnOnce() -> RoaringTreemap,
) -> Result<Option<DocId>, EpochError> {
    let carried = carried(given);
    if given.ignore_loss || carried == LossLevel::Weighted || !corpora.has_loss(tokenizer)? {
        return Ok(None);
    }
    let said = summarise_loss(corpora, tokenizer, &documents(), |said| said.loss() > carried)?;
    let document = said.example.map_or(DocId(0), |(document, _)| document);
    Ok((said.loss() > carried).then_some(document))
}

/// Refuses an output that would lose what `documents` say of their loss, unless it says so.
///
/// # Errors
/// [`EpochError::Limit`] with a document and the ways out; [`EpochError::Store`].
fn check_output(
    corpora: &Corpora,
    tokenizer: TokenizerId,
    output: &OutputRecipe,
    named: &ColumnWording,
    documents: impl FnOnce() -> RoaringTreemap,
) -> Result<(), EpochError> {
    let Some(document) = lost(corpora, tokenizer, output, documents)? else { return Ok(()) };
    let ColumnWording { whole, among } = named;
    let (with, is_named) = match output.columns {
        Some(_) => (format!(" with these {whole}"), true),
        None => (String::new(), false),
    };
    let (why, instead) = match carried(output) {
        LossLevel::Plain => (
            format!(
                "documents have loss masks (document {document} is one), and it{with} has no masks: a trainer would train on everything"
            ),
            match is_named {
                true => format!(
                    "name labels or loss_mask {among}, and loss_weights if tokens have weights other than 1"
                ),
                false => "use output.format = \"parquet\", \"arrow\", \"jsonl\" or \"mds\", or \"raw\" with layout \"datatrove\" or \"olmo\"".to_owned(),
            },
        ),
        LossLevel::Masked | LossLevel::Weighted => (
            format!(
                "documents have loss weights (document {document} is one), and it{with} has masks of 0 and 1"
            ),
            match is_named {
                true => format!("name loss_weights {among}"),
                false => "use output.format = \"parquet\", \"arrow\", \"jsonl\" or \"mds\" with their loss_weights".to_owned(),
            },
        ),
    };
    Err(EpochError::Limit {
        format: output.describe(),
        why,
        instead: format!(
            "{instead}; or set output.ignore_loss = true to train on every token equally"
        ),
    })
}
