//! Batches as flat tensors that a training framework takes over without a copy: one buffer a view for all rows.
//!
//! Use it where a trainer wants `[rows, length]` or, without pads, `[1, tokens]`. `view` names the columns, `padded`
//! and `flat` fill the two forms, each view in one pass over the rows and in its last type.

mod field;
mod flat;
mod rows;
#[cfg(test)]
mod tests;

pub use field::BatchField;

use crate::epoch::error::EpochError;
use crate::epoch::plan::masks;
use crate::epoch::recipe::{Format, OutputRecipe, PadSide, RowColumn};
use crate::epoch::stream::{Epoch, EpochBatch, IdBatch};

/// How batches become tensors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchForm {
    /// What comes beside `input_ids`; none: labels, position ids or, where rows hold a document each, the attention
    /// mask, and the weights of labels where documents say them.
    pub views: Option<Vec<BatchField>>,
    /// Whether the segments of all rows stand end to end, without pads, as one row.
    pub flat: bool,
    /// Whether ids, labels, positions and the attention mask have 32 bits and not 64.
    pub narrow: bool,
}

/// A tensor by its name: values row after row.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Its name: `input_ids`, or that of a view.
    pub name: &'static str,
    /// Its dimensions; none for a single number.
    pub dims: Vec<usize>,
    /// Its values.
    pub values: TensorValues,
}

/// Values of a tensor in their type.
#[derive(Clone, Debug, PartialEq)]
pub enum TensorValues {
    /// Eight bytes, signed.
    I64(Vec<i64>),
    /// Four bytes, signed.
    I32(Vec<i32>),
    /// One byte, signed.
    I8(Vec<i8>),
    /// Four bytes, floating.
    F32(Vec<f32>),
    /// True or false.
    Bool(Vec<bool>),
}

impl From<Vec<i64>> for TensorValues {
    fn from(values: Vec<i64>) -> Self {
        Self::I64(values)
    }
}

impl From<Vec<i32>> for TensorValues {
    fn from(values: Vec<i32>) -> Self {
        Self::I32(values)
    }
}

/// Makes tensors of the batches of an epoch.
#[derive(Clone, Debug)]
pub struct TensorMaker {
    views: Vec<BatchField>,
    flat: bool,
    narrow: bool,
    /// What fills rows that are narrower than others: the recipe's pad, else its EOS, else 0. No label is made of it.
    pad: u32,
    side: PadSide,
    /// Width of a batch without rows.
    width: usize,
}

impl Epoch {
    /// What makes tensors of its batches. Rows that differ in width are padded to the widest of their batch, on the
    /// recipe's side, with its pad token, or with its EOS where it has none.
    ///
    /// # Errors
    /// [`EpochError::NoTensor`] for a view that the form does not have; [`EpochError::Limit`] for views that lose what
    /// documents say is trained on; [`EpochError::Store`].
    pub fn tensors(&self, form: &BatchForm) -> Result<TensorMaker, EpochError> {
        let plan = &self.opened().plan;
        let views = match &form.views {
            Some(views) => {
                let mut views = views.clone();
                views.sort_unstable();
                views.dedup();
                if let Some(view) = views.iter().find(|view| !view.is_of(form.flat)) {
                    let known: Vec<&str> = BatchField::ALL
                        .into_iter()
                        .filter(|view| view.is_of(form.flat))
                        .map(BatchField::name)
                        .collect();
                    return Err(EpochError::NoTensor {
                        view: view.name(),
                        form: if form.flat { "flat" } else { "of rows" },
                        known: known.join(", "),
                    });
                }
                self.check_loss(&views)?;
                views
            }
            None => self.default_views(form.flat)?,
        };
        let specials = plan.tokenizer.specials;
        Ok(TensorMaker {
            views,
            flat: form.flat,
            narrow: form.narrow,
            pad: specials.pad.or(specials.eos).unwrap_or(0),
            side: plan.recipe.pack.options.pad_side,
            width: if plan.fixed_length() { plan.capacity as usize } else { 0 },
        })
    }

    fn default_views(&self, flat: bool) -> Result<Vec<BatchField>, EpochError> {
        let packed = self.opened().plan.fixed_length();
        let beside =
            if packed || flat { BatchField::PositionIds } else { BatchField::AttentionMask };
        let mut views = vec![beside, BatchField::Labels];
        match self.check_loss(&views) {
            Err(EpochError::Limit { .. }) => views.push(BatchField::LossWeights),
            other => other?,
        }
        views.sort_unstable();
        Ok(views)
    }

    /// Refuses views that lose what documents say, by the rule of files with such columns.
    fn check_loss(&self, views: &[BatchField]) -> Result<(), EpochError> {
        let opened = self.opened();
        if !opened.masked() {
            return Ok(());
        }
        let carried = views.iter().filter_map(|view| match view {
            BatchField::LossWeights | BatchField::ShiftedLossWeights => {
                Some(RowColumn::LossWeights)
            }
            BatchField::Labels | BatchField::ShiftedLabels => Some(RowColumn::Labels),
            BatchField::LossMask => Some(RowColumn::LossMask),
            _ => None,
        });
        let given = OutputRecipe {
            // What is given is not the output: no limit of its format holds here.
            format: Format::Arrow,
            columns: Some(carried.collect()),
            ..opened.plan.recipe.output.clone()
        };
        masks::check_views(&opened.corpora, opened.tokenizer, &given, || opened.documents())
    }
}

impl TensorMaker {
    /// The views that come beside `input_ids`, in order of their names.
    #[must_use]
    pub fn views(&self) -> &[BatchField] {
        &self.views
    }

    /// Whether it makes nothing but rows of `input_ids`, which [`IdBatch`] has too.
    #[must_use]
    pub const fn only_ids(&self) -> bool {
        self.views.is_empty() && !self.flat
    }

    /// The `input_ids` of a batch of ids.
    #[must_use]
    pub fn ids(&self, batch: &IdBatch) -> Tensor {
        let values = match self.narrow {
            false => TensorValues::I64(batch.ids()),
            true => TensorValues::I32(batch.ids()),
        };
        Tensor { name: "input_ids", dims: vec![batch.rows().len(), batch.width()], values }
    }

    /// The tensors of a batch: `input_ids`, then each view.
    ///
    /// # Errors
    /// [`EpochError::Bug`] for more tokens than a boundary of type i32 can name.
    pub fn tensors(&self, batch: &EpochBatch) -> Result<Vec<Tensor>, EpochError> {
        match (self.flat, self.narrow) {
            (false, false) => rows::tensors::<i64>(self, &batch.rows),
            (false, true) => rows::tensors::<i32>(self, &batch.rows),
            (true, false) => flat::tensors::<i64>(self, &batch.rows),
            (true, true) => flat::tensors::<i32>(self, &batch.rows),
        }
    }
}

fn boundary(tokens: usize) -> Result<i32, EpochError> {
    i32::try_from(tokens).map_err(|_| {
        EpochError::bug("a batch has more tokens than boundaries of type i32 can count")
    })
}
