//! Batches as flat tensors that a training framework takes over without a copy: one buffer a view for all rows.
//!
//! Use it where a trainer wants `[rows, length]` or, without pads, `[1, tokens]`. `table` has a row a view; `tokens`
//! makes those with a value a token in one pass over the rows and in their last type, `batch` the others.

mod batch;
mod contract;
mod field;
mod table;
#[cfg(test)]
mod tests;
mod tokens;

pub use contract::Contract;
pub use field::BatchField;
pub(in crate::epoch) use tokens::TokenView;

use crate::epoch::error::EpochError;
use crate::epoch::plan::masks;
use crate::epoch::recipe::{Format, OutputRecipe, PadSide, PadView, RowColumn, SpecialIds};
use crate::epoch::stream::{Epoch, EpochBatch, EpochRow, IdBatch};
use crate::epoch::views::{IGNORED, RowShape, Span};
use batch::PlacedBatch;
use contract::BatchKey;
use model::{Error, ErrorKind};

/// How batches become tensors. By default they are rows of ids of eight bytes, with what models of transformers need to
/// part the documents of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchForm {
    /// What comes beside the ids; none: that of the contract, else what models of transformers need.
    pub views: Option<Vec<BatchField>>,
    /// Whether the segments of all rows stand end to end, without pads, as one row.
    pub flat: bool,
    /// The trainer whose batches these are; it says what comes beside the ids, and how rows stand.
    pub contract: Option<Contract>,
    /// The type of ids. Labels and positions have eight bytes.
    pub ids: TensorIds,
}

/// The type of the ids of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TensorIds {
    /// Eight bytes, signed.
    #[default]
    I64,
    /// Four bytes, signed.
    I32,
    /// Two bytes: vocabularies up to 65,536.
    U16,
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
    /// Two bytes.
    U16(Vec<u16>),
    /// True or false.
    Bool(Vec<bool>),
    /// Numbers that are no tensor, one a row.
    List(Vec<i32>),
    /// A setting that is no tensor.
    Flag(bool),
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

impl From<Vec<u16>> for TensorValues {
    fn from(values: Vec<u16>) -> Self {
        Self::U16(values)
    }
}

/// Makes tensors of the batches of an epoch.
#[derive(Clone, Debug)]
pub struct TensorMaker {
    /// What the ids are called, and their type.
    ids_name: &'static str,
    ids: TensorIds,
    /// What comes beside them.
    keys: Vec<BatchKey>,
    flat: bool,
    /// Whether batches turn the cache of the model off.
    no_cache: bool,
    /// Whether they are for models of transformers, whose loss is a mean over labels.
    is_transformers: bool,
    /// Whether pads are id 0, those of the recipe too.
    pads_with_zero: bool,
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
    /// [`EpochError`] for a view that the form does not have; [`EpochError::Limit`] for views that lose what
    /// documents say is trained on, for views beside a contract, for a contract of rows of one length where rows
    /// differ, and for ids that do not fit their type; [`EpochError::Store`].
    pub fn tensors(&self, form: &BatchForm) -> Result<TensorMaker, EpochError> {
        let plan = &self.opened().plan;
        let (specials, side) = (&plan.tokenizer.specials, plan.recipe.pack.options.pad_side);
        let maker = match form.contract {
            Some(contract) => {
                self.check_contract(contract, form.views.is_some())?;
                TensorMaker::of_contract(contract, specials, side)
            }
            None => {
                let (keys, no_cache) = match &form.views {
                    Some(views) => (self.keys_of(views, form.flat)?, false),
                    None => self.default_keys(form.flat)?,
                };
                TensorMaker {
                    keys,
                    no_cache,
                    is_transformers: form.views.is_none(),
                    flat: form.flat,
                    ..TensorMaker::of_ids(specials, side)
                }
            }
        };
        if form.ids == TensorIds::U16 && plan.tokenizer.vocab_size > 1 << 16 {
            return Err(EpochError::Limit {
                format: "of tensors".to_owned(),
                why: format!(
                    "ids of a vocabulary of {} do not fit uint16",
                    plan.tokenizer.vocab_size
                ),
                instead: "use int32 or int64".to_owned(),
            });
        }
        let width = if plan.fixed_length() { plan.capacity as usize } else { 0 };
        Ok(TensorMaker { ids: form.ids, width, ..maker })
    }

    /// What comes beside the ids of a row that is given by itself: labels and, if rows hold several documents, position
    /// ids, else the attention mask; and the weights of labels where documents say them.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn row_fields(&self) -> Result<Vec<BatchField>, EpochError> {
        let beside = match self.opened().plan.fixed_length() {
            true => BatchField::PositionIds,
            false => BatchField::AttentionMask,
        };
        self.with_weights(vec![beside, BatchField::Labels])
    }

    fn check_contract(&self, contract: Contract, views: bool) -> Result<(), EpochError> {
        if views {
            return Err(EpochError::Limit {
                format: contract.describe(),
                why: "it says which views a batch has".to_owned(),
                instead: "leave `views` out".to_owned(),
            });
        }
        contract.check_rows(self.opened().plan.fixed_length())?;
        let opened = self.opened();
        let given = self.given(contract.keys().iter().map(|key| key.field));
        let lost = match opened.masked() {
            true => masks::lost(&opened.corpora, opened.tokenizer, &given, || opened.documents())?,
            false => None,
        };
        // Every contract has masks.
        lost.map_or(Ok(()), |document| {
            Err(EpochError::Limit {
                format: contract.describe(),
                why: format!(
                    "documents have loss weights (document {document} is one), and the batches of the contract have none"
                ),
                instead: "leave the contract out, for batches with loss_weights, or set output.ignore_loss = true to train on every token equally".to_owned(),
            })
        })
    }

    fn keys_of(&self, views: &[BatchField], flat: bool) -> Result<Vec<BatchKey>, EpochError> {
        let mut views = views.to_vec();
        views.sort_unstable();
        views.dedup();
        if let Some(view) = views.iter().find(|view| !view.is_of(flat)) {
            let known = BatchField::ALL.into_iter().filter(|view| view.is_of(flat));
            let known: Vec<&str> = known.map(BatchField::name).collect();
            let message = format!(
                "batches that are {} have no {}; they have {}",
                if flat { "flat" } else { "of rows" },
                view.name(),
                known.join(", ")
            );
            return Err(Error::of(ErrorKind::BadRecipe, message).into());
        }
        self.check_loss(&views)?;
        Ok(views.into_iter().map(BatchKey::of).collect())
    }

    /// What models of transformers need, and whether the cache has to be off.
    fn default_keys(&self, flat: bool) -> Result<(Vec<BatchKey>, bool), EpochError> {
        if !flat && !self.opened().plan.fixed_length() {
            // A row is a document: its attention mask is enough.
            let fields = self.row_fields()?;
            return Ok((fields.into_iter().map(BatchKey::of).collect(), false));
        }
        let contract = Contract::Transformers;
        let fields = contract.keys().iter().map(|key| key.field).collect();
        let keys = self.with_weights(fields)?.into_iter().map(BatchKey::of).collect();
        Ok((keys, contract.turns_cache_off()))
    }

    /// The fields, and the weights of labels where documents say them.
    fn with_weights(&self, mut fields: Vec<BatchField>) -> Result<Vec<BatchField>, EpochError> {
        match self.check_loss(&fields) {
            Err(EpochError::Limit { .. }) => fields.push(BatchField::LossWeights),
            other => other?,
        }
        fields.sort_unstable();
        Ok(fields)
    }

    /// Refuses views that lose what documents say, by the rule of files with such columns.
    fn check_loss(&self, views: &[BatchField]) -> Result<(), EpochError> {
        let opened = self.opened();
        if !opened.masked() {
            return Ok(());
        }
        let given = self.given(views.iter().copied());
        masks::check_views(&opened.corpora, opened.tokenizer, &given, || opened.documents())
    }

    /// The output that holds as much of the loss as these views.
    fn given(&self, views: impl Iterator<Item = BatchField>) -> OutputRecipe {
        let carried = views.filter_map(|view| match view {
            BatchField::LossWeights | BatchField::ShiftedLossWeights => {
                Some(RowColumn::LossWeights)
            }
            BatchField::Labels | BatchField::ShiftedLabels => Some(RowColumn::Labels),
            BatchField::LossMask | BatchField::LabelMask => Some(RowColumn::LossMask),
            _ => None,
        });
        OutputRecipe {
            // What is given is not the output: no limit of its format holds here.
            format: Format::Arrow,
            columns: Some(carried.collect()),
            ..self.opened().plan.recipe.output.clone()
        }
    }
}

impl TensorMaker {
    /// What makes rows of ids, of eight bytes, and nothing else.
    fn of_ids(specials: &SpecialIds, side: PadSide) -> Self {
        Self {
            ids_name: "input_ids",
            ids: TensorIds::I64,
            keys: Vec::new(),
            flat: false,
            no_cache: false,
            is_transformers: false,
            pads_with_zero: false,
            pad: specials.pad.or(specials.eos).unwrap_or(0),
            side,
            width: 0,
        }
    }

    /// What makes the batches of a trainer, with ids of eight bytes.
    pub(in crate::epoch) fn of_contract(
        contract: Contract,
        specials: &SpecialIds,
        side: PadSide,
    ) -> Self {
        let maker = Self::of_ids(specials, side);
        let pads_with_zero = contract.pads_with_zero();
        Self {
            ids_name: contract.ids(),
            keys: contract.keys().to_vec(),
            flat: contract.is_flat(),
            no_cache: contract.turns_cache_off(),
            is_transformers: contract.is_flat(),
            pads_with_zero,
            pad: if pads_with_zero { 0 } else { maker.pad },
            ..maker
        }
    }

    /// Whether it makes nothing but rows of ids, which [`IdBatch`] has too.
    #[must_use]
    pub const fn only_ids(&self) -> bool {
        self.keys.is_empty() && !self.flat
    }

    /// The ids of a batch of ids.
    #[must_use]
    pub fn ids(&self, batch: &IdBatch) -> Tensor {
        let values = match self.ids {
            TensorIds::I64 => batch.ids::<i64>().into(),
            TensorIds::I32 => batch.ids::<i32>().into(),
            TensorIds::U16 => batch.ids::<u16>().into(),
        };
        Tensor { name: self.ids_name, dims: vec![batch.rows().len(), batch.width()], values }
    }

    /// The tensors of a batch: its ids, then what comes beside them. No model reads a batch without a token: one of pads
    /// alone has a pad then.
    ///
    /// # Errors
    /// [`EpochError::Bug`] for more tokens than a boundary of type i32 can name.
    pub fn tensors(&self, batch: &EpochBatch) -> Result<Vec<Tensor>, EpochError> {
        let lone = self.lone_pad(&batch.rows);
        let rows = lone.as_ref().map_or(batch.rows.as_slice(), std::slice::from_ref);
        let batch = match self.flat {
            true => PlacedBatch::flat(self, rows)?,
            false => PlacedBatch::padded(self, rows)?,
        };
        let values = match self.ids {
            TensorIds::I64 => batch.ids::<i64>(self).into(),
            TensorIds::I32 => batch.ids::<i32>(self).into(),
            TensorIds::U16 => batch.ids::<u16>(self).into(),
        };
        let mut tensors = vec![Tensor { name: self.ids_name, dims: batch.square(), values }];
        for key in &self.keys {
            let (dims, values) = key.field.view().parts(&batch)?;
            let values = match values {
                TensorValues::I8(values) if key.float => {
                    TensorValues::F32(values.into_iter().map(f32::from).collect())
                }
                values => values,
            };
            tensors.push(Tensor { name: key.name, dims, values });
        }
        if self.is_transformers && tensors.iter().any(Tensor::is_without_label) {
            // The mean over no label is no number; the sum over it, by this divisor, is 0.
            let values = TensorValues::I32(vec![1]);
            tensors.push(Tensor { name: "num_items_in_batch", dims: Vec::new(), values });
        }
        if self.no_cache {
            let values = TensorValues::Flag(false);
            tensors.push(Tensor { name: "use_cache", dims: Vec::new(), values });
        }
        Ok(tensors)
    }

    /// In the place of rows that have no token in this form: a row of one pad, which has no label.
    fn lone_pad(&self, rows: &[EpochRow]) -> Option<EpochRow> {
        let has_tokens = |row: &EpochRow| match self.flat {
            true => !row.shape().spans.is_empty(),
            false => row.shape().width > 0,
        };
        if rows.is_empty() || rows.iter().any(has_tokens) {
            return None;
        }
        let spans = Vec::from_iter(self.flat.then_some(Span { start: 0, length: 1 }));
        let shape = RowShape { width: 1, spans, pads: PadView::Suffix };
        let (ids, trained) = (vec![self.pad], Some(Vec::new()));
        Some(EpochRow { ids, shape, trained, ..EpochRow::none() })
    }
}

impl Tensor {
    /// Whether these are labels without any target.
    fn is_without_label(&self) -> bool {
        let TensorValues::I64(labels) = &self.values else { return false };
        self.name == BatchField::Labels.name()
            && labels.iter().all(|label| *label == i64::from(IGNORED))
    }
}

fn boundary(tokens: usize) -> Result<i32, EpochError> {
    i32::try_from(tokens).map_err(|_| {
        EpochError::bug("a batch has more tokens than boundaries of type i32 can count")
    })
}
