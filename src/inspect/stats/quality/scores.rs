//! Gives the scores of documents: from columns where they are stored, else computed from texts.

use crate::inspect::InspectError;
use model::invariant::at;
use model::{ColumnId, DocId, FieldKind, unsortable_float};
use rayon::prelude::*;
use store::{View, system_fields};
use text::signals::{ScoreValue, Signal, SignalSet, scores};

/// The scores that are examined, all of them numbers.
pub(super) struct ScoreReader {
    /// Each signal with its column, where it is stored.
    pub(super) signals: Vec<(Signal, Option<ColumnId>)>,
    /// The signals that are not stored.
    of_texts: Vec<Signal>,
}

impl ScoreReader {
    /// The signals of a set that are numbers. A signal is stored if a field is fed by its current expression.
    pub(super) fn of(view: &View, set: SignalSet) -> Self {
        let column = |signal: &Signal| {
            let is_stored = view.fed_by(signal.name) == Some(&signal.stored_expression());
            let field = view.field_named(signal.name).filter(|_| is_stored);
            field.map(|field| system_fields::column_of(field.id))
        };
        let numbers = set.signals().into_iter().filter(|it| it.kind != FieldKind::Keyword);
        let signals: Vec<(Signal, Option<ColumnId>)> =
            numbers.map(|signal| (signal, column(&signal))).collect();
        let of_texts = signals.iter().filter(|(_, column)| column.is_none());
        let of_texts = of_texts.map(|(signal, _)| *signal).collect();
        Self { signals, of_texts }
    }

    /// The index of a signal by name.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.signals.iter().position(|(signal, _)| signal.name == name)
    }

    /// The values for some documents of one block, a list for each signal; NaN for a missing value.
    pub(super) fn values(
        &self,
        view: &View,
        documents: &[DocId],
    ) -> Result<Vec<Vec<f64>>, InspectError> {
        let mut found: Vec<Vec<f64>> = Vec::with_capacity(self.signals.len());
        let mut of_texts = self.found_in_texts(view, documents)?.into_iter();
        for (signal, column) in &self.signals {
            let Some(column) = column else {
                found.push(of_texts.next().unwrap_or_default());
                continue;
            };
            let Some(block) = documents.first().map(|first| first.block()) else { continue };
            let is_float = signal.kind == FieldKind::Float;
            let number = |value: i64| if is_float { unsortable_float(value) } else { value as f64 };
            let values = view.column_values(*column, block, |values| {
                let of = |document: &DocId| values.get(document.slot()).map_or(f64::NAN, number);
                documents.iter().map(of).collect()
            })?;
            found.push(values.unwrap_or_else(|| vec![f64::NAN; documents.len()]));
        }
        Ok(found)
    }

    /// The values of signals that are not stored, a list for each; no text is read where all are stored.
    fn found_in_texts(
        &self,
        view: &View,
        documents: &[DocId],
    ) -> Result<Vec<Vec<f64>>, InspectError> {
        if self.of_texts.is_empty() {
            return Ok(Vec::new());
        }
        let number = |value: ScoreValue| match value {
            ScoreValue::Count(count) => count as f64,
            ScoreValue::Number(number) => number,
            ScoreValue::Word(_) => f64::NAN,
        };
        let rows: Vec<Vec<f64>> = documents
            .par_iter()
            .map(|document| {
                let found = scores(&view.text(*document)?, &self.of_texts);
                Ok(found.into_iter().map(number).collect())
            })
            .collect::<Result<_, InspectError>>()?;
        let of = |place: usize| rows.iter().map(|row| *at(row, place)).collect();
        Ok((0..self.of_texts.len()).map(of).collect())
    }
}
