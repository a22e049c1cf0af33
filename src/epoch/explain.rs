//! What an epoch will be, before a byte is written: rows, passes, losses, shares, steps.

use super::error::EpochError;
use super::open::{Purpose, open};
use super::plan::{Plan, ratio};
use super::stream::Stream;
use crate::store::View;
use roaring::RoaringTreemap;
use serde::Serialize;
use std::fmt;

/// Batch sizes that steps are told for.
const BATCHES: [u64; 4] = [64, 256, 512, 1024];

/// What epoch 0 of a plan will be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// blake3 of the plan, in hexadecimal.
    pub plan: String,
    /// The snapshot drawn from.
    pub snapshot: String,
    /// The tokenizer.
    pub tokenizer: String,
    /// Tokens a row holds.
    pub capacity: u32,
    /// Real tokens asked of one epoch.
    pub budget: u64,
    /// Epochs that `max_repeats` allows.
    pub epochs: u64,
    /// The sources, in the plan's order.
    pub sources: Vec<SourceExplanation>,
    /// Rows of the epoch.
    pub rows: u64,
    /// Real tokens of the epoch.
    pub tokens: u64,
    /// Real tokens / (rows x capacity); 1 when rows have no fixed length.
    pub efficiency: f64,
    /// Share of the epoch's positions that are padding, in percent.
    pub padding_percent: f64,
    /// (rows of a batch, whole batches of the epoch).
    pub steps: Vec<(u64, u64)>,
    /// The recipe with every default, as TOML.
    pub recipe: String,
}

/// What epoch 0 takes of a source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceExplanation {
    /// Its name.
    pub name: String,
    /// Documents selected.
    pub documents: u64,
    /// Their stored tokens.
    pub tokens: u64,
    /// BOS tokens added in one pass.
    pub bos_added: u64,
    /// EOS tokens added in one pass.
    pub eos_added: u64,
    /// Rows of one pass.
    pub pass_rows: u64,
    /// Share of those rows that is real tokens.
    pub efficiency: f64,
    /// Documents left out of a pass for their length.
    pub dropped_documents: u64,
    /// Their tokens.
    pub dropped_tokens: u64,
    /// Tokens cut off in a pass.
    pub truncated_tokens: u64,
    /// Lone end tokens left out of a pass.
    pub lone_eos: u64,
    /// Rows of the epoch.
    pub rows: u64,
    /// Real tokens of the epoch.
    pub epoch_tokens: u64,
    /// Passes the epoch takes: 1.5 is one and a half.
    pub passes: f64,
    /// Tokens of the first pass that the epoch does not reach.
    pub unused_tokens: u64,
    /// Its share of the epoch's tokens, as asked.
    pub asked_share: f64,
    /// Its share of the epoch's tokens, as it will be.
    pub achieved_share: f64,
}

/// Tells what epoch 0 of `plan` will be. Reads lengths only.
///
/// # Errors
/// [`EpochError::Stale`] when the store is not the plan's; [`EpochError::Store`].
pub fn explain(
    view: &View,
    plan: &Plan,
    selections: &[(String, RoaringTreemap)],
) -> Result<Explanation, EpochError> {
    let opened = open(view, plan, selections, Purpose::Count)?;
    let mut stream = Stream::open(plan, &opened.sources, 0)?;
    let mut rows_of = vec![0_u64; plan.sources.len()];
    while let Some(row) = stream.next_row()? {
        if let Some(rows) = rows_of.get_mut(row.source) {
            *rows += 1;
        }
    }
    let emitted = stream.scheduler().emitted();
    let tokens: u64 = emitted.iter().sum();
    let rows: u64 = rows_of.iter().sum();
    let efficiency = if plan.fixed_length() {
        ratio(tokens.into(), u128::from(rows) * u128::from(plan.capacity))
    } else {
        1.0
    };
    let specials = &plan.tokenizer.specials;
    let sources = plan.sources.iter().zip(&rows_of).zip(emitted).map(|((source, rows), taken)| {
        SourceExplanation {
            name: source.name.clone(),
            documents: source.documents,
            tokens: source.tokens,
            bos_added: if specials.bos.is_some() { source.documents } else { 0 },
            eos_added: if specials.eos.is_some() { source.documents } else { 0 },
            pass_rows: source.rows,
            efficiency: source.efficiency,
            dropped_documents: source.losses.dropped_documents,
            dropped_tokens: source.losses.dropped_tokens,
            truncated_tokens: source.losses.truncated_tokens,
            lone_eos: source.losses.lone_eos,
            rows: *rows,
            epoch_tokens: *taken,
            passes: ratio((*taken).into(), source.packed_tokens.into()),
            unused_tokens: source.packed_tokens.saturating_sub(*taken),
            asked_share: plan.asked_share(source),
            achieved_share: ratio((*taken).into(), tokens.into()),
        }
    });
    Ok(Explanation {
        plan: plan.hash_hex(),
        snapshot: plan.snapshot.name.clone(),
        tokenizer: plan.tokenizer.name.clone(),
        capacity: plan.capacity,
        budget: plan.budget,
        epochs: plan.feasible_epochs(),
        sources: sources.collect(),
        rows,
        tokens,
        efficiency,
        padding_percent: (1.0 - efficiency) * 100.0,
        steps: BATCHES.iter().map(|batch| (*batch, rows / batch)).collect(),
        recipe: plan.recipe.to_toml_with_defaults(),
    })
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "plan {}  snapshot {}  tokenizer {}  rows of {}",
            self.plan.get(..12).unwrap_or_default(),
            self.snapshot,
            self.tokenizer,
            self.capacity
        )?;
        let header = [
            "source",
            "documents",
            "tokens",
            "rows",
            "real",
            "passes",
            "packed",
            "dropped",
            "cut",
            "unused",
            "asked",
            "gets",
        ];
        let mut lines: Vec<Vec<String>> =
            vec![header.iter().map(|word| (*word).to_owned()).collect()];
        for source in &self.sources {
            lines.push(vec![
                source.name.clone(),
                source.documents.to_string(),
                (source.tokens + source.bos_added + source.eos_added).to_string(),
                source.rows.to_string(),
                source.epoch_tokens.to_string(),
                format!("{:.3}", source.passes),
                percent(source.efficiency),
                source.dropped_tokens.to_string(),
                (source.truncated_tokens + source.lone_eos).to_string(),
                source.unused_tokens.to_string(),
                percent(source.asked_share),
                percent(source.achieved_share),
            ]);
        }
        write_table(f, &lines)?;
        writeln!(
            f,
            "epoch: {} rows, {} real tokens of {} asked, packed {}, padding {:.4} %, {} epoch(s) within max_repeats",
            self.rows,
            self.tokens,
            self.budget,
            percent(self.efficiency),
            self.padding_percent,
            self.epochs
        )?;
        let steps: Vec<String> =
            self.steps.iter().map(|(rows, steps)| format!("{steps} of {rows} rows")).collect();
        write!(f, "steps: {}", steps.join(", "))
    }
}

fn percent(share: f64) -> String {
    format!("{:.4} %", share * 100.0)
}

/// Columns aligned, the first to the left and the others to the right.
fn write_table(f: &mut fmt::Formatter<'_>, lines: &[Vec<String>]) -> fmt::Result {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    for line in lines {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            match column {
                0 => write!(f, "{cell:<width$}")?,
                _ => write!(f, "  {cell:>width$}")?,
            }
        }
        writeln!(f)?;
    }
    Ok(())
}
