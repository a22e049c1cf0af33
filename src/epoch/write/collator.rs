//! Makes the batches of trainers of rows that were read from the files of a build: without a corpus, on any machine.

use super::Manifest;
use crate::epoch::error::EpochError;
use crate::epoch::plan::{SegmentLayout, has_rows_of_one_length};
use crate::epoch::recipe::{Recipe, RowColumn};
use crate::epoch::stream::{EpochBatch, EpochRow};
use crate::epoch::tensors::{Contract, Tensor, TensorMaker};
use crate::epoch::views::IGNORED;
use model::LossSpan;

/// A row as files with columns have it.
#[derive(Clone, Debug, Default)]
pub struct BuiltRow {
    /// `input_ids` (`tokens` of MDS), pads among them.
    pub ids: Vec<u32>,
    /// `seq_lengths`: tokens of each segment; of a row of pads none, or one of 0, as MDS has it.
    pub seq_lengths: Vec<u32>,
    /// `labels`, where the files have them: -100 on tokens that are not targets.
    pub labels: Option<Vec<i32>>,
    /// `loss_mask`, where the files have it: 1 where the next token is a target. Labels are asked first.
    pub loss_mask: Option<Vec<i8>>,
    /// `loss_weights`, where the files have them.
    pub loss_weights: Option<Vec<f32>>,
}

/// Makes the batches of a trainer from rows that were read from the files of a build ([`Manifest::collator`]). The
/// plan gives equal batches with the same contract.
#[derive(Clone, Debug)]
pub struct BuiltCollator {
    contract: Contract,
    maker: TensorMaker,
    layout: SegmentLayout,
    /// Columns that say what is trained on, as the recipe names them.
    labels: Option<RowColumn>,
}

impl Manifest {
    /// The collator that makes the batches of a trainer from rows of these files.
    ///
    /// # Errors
    /// [`EpochError::Limit`] for files without columns, and for a contract of rows of one length where rows differ;
    /// [`EpochError::Plan`] if the recipe of the manifest cannot be read.
    pub fn collator(&self, contract: Contract) -> Result<BuiltCollator, EpochError> {
        let recipe = Recipe::of_manifest(&self.recipe)?;
        let output = &recipe.output;
        if output.file_format().default_columns(false).is_none() {
            return Err(EpochError::Limit {
                format: output.describe(),
                why: "its files have ids alone, which do not say where documents end".to_owned(),
                instead: "build with output.format = \"parquet\", \"arrow\", \"jsonl\" or \"mds\""
                    .to_owned(),
            });
        }
        contract.check_rows(has_rows_of_one_length(&recipe))?;
        let layout = SegmentLayout::of(&recipe, &self.tokenizer.specials);
        let named = output.columns(false, false);
        let labels = [RowColumn::Labels, RowColumn::LossMask];
        Ok(BuiltCollator {
            contract,
            maker: TensorMaker::of_contract(contract, &self.tokenizer.specials, layout.side),
            layout,
            labels: labels.into_iter().find(|column| named.contains(column)),
        })
    }
}

impl BuiltCollator {
    /// The tensors of a batch of these rows: its ids, then what the trainer reads beside them.
    ///
    /// # Errors
    /// [`EpochError::Limit`] for a row that is not one of these files, or has weights that the trainer does not read.
    pub fn tensors(&self, rows: Vec<BuiltRow>) -> Result<Vec<Tensor>, EpochError> {
        let rows = rows.into_iter().enumerate().map(|(number, row)| {
            self.row(row).map_err(|(why, instead)| EpochError::Limit {
                format: self.contract.describe(),
                why: format!("row {number} of the batch {why}"),
                instead: instead.to_owned(),
            })
        });
        self.maker.tensors(&EpochBatch { number: 0, rows: rows.collect::<Result<_, _>>()? })
    }

    fn row(&self, mut row: BuiltRow) -> Result<EpochRow, (String, &'static str)> {
        const AS_READ: &str = "give rows as the files have them";
        // MDS has no empty arrays.
        if row.seq_lengths == [0] {
            row.seq_lengths.clear();
        }
        let places = row.ids.len();
        let used = self.layout.used(row.seq_lengths.iter().copied());
        let Some(width) = u32::try_from(places).ok().filter(|_| used <= places as u64) else {
            let why = format!("has {places} ids, and segments of {used} (`seq_lengths`)");
            return Err((why, AS_READ));
        };
        if row.seq_lengths.contains(&0) {
            return Err(("has a segment without tokens (`seq_lengths`)".to_owned(), AS_READ));
        }
        let lengths = [
            ("labels", row.labels.as_ref().map(Vec::len)),
            ("loss_mask", row.loss_mask.as_ref().map(Vec::len)),
            ("loss_weights", row.loss_weights.as_ref().map(Vec::len)),
        ];
        if let Some((name, Some(other))) =
            lengths.into_iter().find(|(_, length)| length.is_some_and(|length| length != places))
        {
            return Err((format!("has {places} ids and {other} values of `{name}`"), AS_READ));
        }
        let lacks = match self.labels {
            Some(RowColumn::Labels) => row.labels.is_none(),
            Some(_) => row.labels.is_none() && row.loss_mask.is_none(),
            None => false,
        };
        if lacks {
            let name = self.labels.map_or("", RowColumn::name);
            return Err((format!("has no `{name}`, which the files have"), "keep that column"));
        }
        let targets = targets(&row);
        let weighs = |at: usize| row.loss_weights.as_ref().and_then(|of| of.get(at)).copied();
        let trained = |at: usize| targets.as_ref().is_none_or(|of| of.get(at) == Some(&true));
        if (0..places).any(|at| {
            weighs(at).is_some_and(|weight| weight != 1.0 && weight != 0.0 && trained(at))
        }) {
            return Err((
                "has loss weights other than 1".to_owned(),
                "train with `loss_weights` of a loader without a contract, or build with output.ignore_loss = true",
            ));
        }
        let shape = self.layout.shape(Some(width), row.seq_lengths.iter().copied());
        let trained = targets.map(|targets| spans(&targets));
        Ok(EpochRow { ids: row.ids, shape, trained, ..EpochRow::none() })
    }
}

/// Which tokens of a row are targets; none: all but the first of each segment.
fn targets(row: &BuiltRow) -> Option<Vec<bool>> {
    let labels = row.labels.as_ref();
    let of_labels = labels.map(|of| of.iter().map(|label| *label != IGNORED).collect());
    let of_mask = || {
        let mask = row.loss_mask.as_ref()?.iter().map(|is_next| *is_next != 0);
        Some(std::iter::once(false).chain(mask).take(row.ids.len()).collect())
    };
    of_labels.or_else(of_mask)
}

fn spans(targets: &[bool]) -> Vec<LossSpan> {
    let mut spans: Vec<LossSpan> = Vec::new();
    for (at, _) in (0_u32..).zip(targets).filter(|(_, is_target)| **is_target) {
        match spans.last_mut().filter(|last| last.end == at) {
            Some(last) => last.end = at + 1,
            None => spans.push(LossSpan { start: at, end: at + 1, weight: 1.0 }),
        }
    }
    spans
}
