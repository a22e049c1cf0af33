//! Perplexities of the kept documents by n-gram models of their own ids, stored as a field.
//!
//! A model is trained on the documents that it scores, those of one source or all, as the unigrams of the curriculum by
//! `surprisal` are; [`KneserNey`] says what it is. It is not stored: computing again gives the same values.

use super::fields::{ComputedField, FieldReport, FieldValues};
use super::perplexity_model::PerplexityModel;
use super::sample::for_each_block;
use super::tokenizers::find;
use crate::corpus::CorpusWriter;
use crate::decide::LoadedTokenizer;
use crate::sql::ComputedValue;
use model::{Context, Error, ErrorKind, FieldKind, Hint, TokenizerId};
use roaring::RoaringTreemap;
use std::path::Path;
use store::{StoreWriter, View, system_fields};
use tokenizer::{KneserNey, NgramCounts};

/// A field of perplexities to be computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerplexityField {
    /// Its name in queries.
    pub name: String,
    /// The name of the tokenizer whose stored ids are scored.
    pub tokenizer: String,
    /// The order of the n-gram model: 3 is by trigrams.
    pub order: usize,
    /// Whether one model is over the documents of all sources, and not one of each source.
    pub together: bool,
    /// Documents whose values are stored in one commit.
    pub batch: u64,
}

impl PerplexityField {
    /// The order of the models by default.
    pub const ORDER: usize = 3;

    /// What the field is computed by, as lists show it and as it is stored.
    fn expression(&self) -> String {
        let (tokenizer, order) = (&self.tokenizer, self.order);
        let by = if self.together { TOGETHER } else { BY_SOURCE };
        format!("perplexity({tokenizer}, order {order}, {by})")
    }

    /// The verb that computes it.
    pub(crate) fn verb(&self) -> String {
        let Self { name, tokenizer, order, together, .. } = self;
        match together {
            true => format!(
                "corpusdb field compute CORPUS {name} --perplexity {tokenizer} --order {order} --together"
            ),
            false => format!(
                "corpusdb field compute CORPUS {name} --perplexity {tokenizer} --order {order}"
            ),
        }
    }

    /// The field of that name that is computed by such an expression.
    pub(super) fn of_expression(name: &str, expression: &str, batch: u64) -> Option<Self> {
        let inside = expression.strip_prefix("perplexity(")?.strip_suffix(')')?;
        let (inside, by) = inside.rsplit_once(", ")?;
        let (tokenizer, order) = inside.rsplit_once(", order ")?;
        let (name, tokenizer) = (name.to_owned(), tokenizer.to_owned());
        let order = order.parse().ok()?;
        let is_known = [BY_SOURCE, TOGETHER].contains(&by);
        is_known.then_some(Self { name, tokenizer, order, together: by == TOGETHER, batch })
    }
}

const BY_SOURCE: &str = "by source";
const TOGETHER: &str = "together";

impl CorpusWriter {
    /// Stores the perplexity of each kept document by an n-gram model of the stored ids as a field of numbers, and
    /// declares it when it is not. A document without tokens, and one that is not kept, has none. Ingests give it no
    /// values: the same call computes all of them again.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`](crate::tokenizer::TokenizerError::Unknown); [`Error`] for an order that there is
    /// not, a field that is something else, too little memory, or after an interrupt: earlier commits stay, and the
    /// same call continues.
    pub fn compute_perplexity(
        &mut self,
        field: &PerplexityField,
        context: &Context<'_>,
    ) -> Result<FieldReport, Error> {
        let context = self.within(context);
        let tokenizers = self.encoders_if_ranked_by(&[&field.name])?;
        let folder = self.path().to_path_buf();
        compute_perplexity(self.store(), field, (&tokenizers, &folder), &context)
    }
}

/// Computes the perplexities, with scratch files in `folder`, and stores them; `tokenizers` encode what is kept again
/// where the keep order goes by the field.
fn compute_perplexity(
    writer: &mut StoreWriter,
    new: &PerplexityField,
    (tokenizers, folder): (&[LoadedTokenizer], &Path),
    context: &Context<'_>,
) -> Result<FieldReport, Error> {
    let computed = ComputedField {
        name: new.name.clone(),
        expression: new.expression(),
        kind: Some(FieldKind::Float),
        batch: new.batch,
    };
    let (tokenizer, _) = find(writer.view(), &new.tokenizer)?;
    let values = FieldValues::begin(writer, &computed, context)?;
    let view = values.view.clone();
    let mut perplexities = perplexities_of_none(&view, context)?;
    let mut models = Vec::new();
    for (source, documents) in groups(&view, new.together)? {
        let scored = scored(&view, (tokenizer, new.order), &documents, (folder, context))?;
        let (found, counts) = scored;
        for (document, perplexity) in documents.iter().zip(&found) {
            let place = usize::try_from(document).ok().and_then(|at| perplexities.get_mut(at));
            place.into_iter().for_each(|place| *place = *perplexity);
        }
        let known = found.into_iter().filter(|perplexity| !perplexity.is_nan()).collect::<Vec<_>>();
        if !known.is_empty() {
            models.push(PerplexityModel::new(source, counts, known));
        }
    }
    let mut report = values.store(writer, (new.batch, tokenizers), context, |range, found| {
        for document in range {
            let value = usize::try_from(document).ok().and_then(|at| perplexities.get(at));
            let value = value.filter(|value| value.is_finite());
            found.insert(
                document,
                value.map_or(ComputedValue::Null, |value| ComputedValue::Float(*value)),
            );
        }
        Ok(())
    })?;
    report.models = models;
    Ok(report)
}

/// No perplexity for each document, where the memory holds as many.
fn perplexities_of_none(view: &View, context: &Context<'_>) -> Result<Vec<f64>, Error> {
    let documents = view.documents();
    // A quarter is for the values, and a half for a model.
    let needed = documents.saturating_mul(4 * size_of::<f64>() as u64);
    if needed > context.memory {
        let message = format!(
            "the perplexities of {documents} documents need a quarter of the memory to be held before they are stored"
        );
        let hint = Hint::text(format!("give `memory={needed}` or more"));
        return Err(Error::of(ErrorKind::Failed, message).with_hint(hint));
    }
    Ok(vec![f64::NAN; usize::try_from(documents).unwrap_or(0)])
}

/// The kept documents of each source that has some, or of all.
fn groups(view: &View, together: bool) -> Result<Vec<(Option<String>, RoaringTreemap)>, Error> {
    let kept = view.kept()?;
    if together {
        return Ok(vec![(None, kept)]);
    }
    let mut groups = Vec::new();
    for (id, source) in view.sources() {
        let all = view.documents_with(system_fields::SOURCE, &system_fields::source_value(id))?;
        let documents = &kept & &all;
        if !documents.is_empty() {
            groups.push((Some(source.name.clone()), documents));
        }
    }
    Ok(groups)
}

/// The perplexities of documents in their order, by the model of them.
fn scored(
    view: &View,
    (tokenizer, order): (TokenizerId, usize),
    documents: &RoaringTreemap,
    (folder, context): (&Path, &Context<'_>),
) -> Result<(Vec<f64>, NgramCounts), Error> {
    let mut model = KneserNey::new(order, folder, context.memory / 2)?;
    context.progress.begin("counting n-grams", Some(documents.len()));
    let (mut ids, mut done) = (Vec::new(), 0);
    for_each_block(documents, |_, members| {
        context.check_interrupt()?;
        view.for_each_tokens(tokenizer, members, |_, stored| {
            ids.clear();
            if let Some(stored) = stored {
                stored.append(&mut ids);
            }
            model.add(&ids)
        })?;
        done += members.len() as u64;
        context.progress.advance(done);
        Ok(())
    })?;
    context.progress.end();
    model.perplexities(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_expression_says_how_to_compute_again() {
        for (tokenizer, order, together) in [("own", 3, false), ("a, order 2, b)", 6, true)] {
            let (name, tokenizer) = ("ppl".to_owned(), tokenizer.to_owned());
            let field = PerplexityField { name, tokenizer, order, together, batch: 7 };
            let again = PerplexityField::of_expression("ppl", &field.expression(), 7);
            assert_eq!(again, Some(field));
        }
        for expression in
            ["perplexity(own, order 3)", "1.0 * tokens / chars", "perplexity(a, order x, together)"]
        {
            assert_eq!(PerplexityField::of_expression("ppl", expression, 7), None);
        }
    }
}
