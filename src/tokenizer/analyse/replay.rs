//! The merges of a byte-pair model over counted pre-tokens: what the curve is drawn from.

use super::super::error::TokenizerError;
use super::super::merges::{MergeTable, Words, replay};
use super::super::oracle::guard;
use super::super::train::PretokenTable;
use super::curve::{MergeCounts, VocabularyCurve};
use super::subject::Subject;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tokenizers::Model;
use tokenizers::models::ModelWrapper;

/// Groups that the curve tells apart, most bytes first; the others are one.
const GROUPS: usize = 12;

/// Pre-tokens and how often each was counted.
type Counts = BTreeMap<Box<str>, u64>;
/// Merges as (left, right, made), by rank.
type Ranked = Vec<(u32, u32, u32)>;

impl Subject<'_> {
    /// The curve of sequence length against vocabulary size over the pre-tokens that a counter of this
    /// tokenizer counted; `groups` names their groups. The inner error says why there is none.
    ///
    /// Memory: 8 bytes a merge, group (at most thirteen) and thread, and the distinct pre-tokens once more.
    ///
    /// # Errors
    /// [`TokenizerError`] when the model cannot be written or refuses a pre-token.
    pub fn curve(
        &self,
        groups: &[String],
        table: &PretokenTable,
        embedding_width: u64,
    ) -> Result<Result<VocabularyCurve, String>, TokenizerError> {
        if !self.has_curve() {
            return Ok(Err(format!(
                "a {} model has no order of merges: smaller vocabularies must be trained to be measured",
                self.model_name()
            )));
        }
        let tables = &table.groups;
        if tables.iter().all(BTreeMap::is_empty) {
            return Ok(Err("no pre-tokens were counted".to_owned()));
        }
        let (ranked, unmerged) = self.merges()?;
        let ranks = MergeTable::new(ranked.iter().copied());
        let rows = Rows::of(groups, tables);
        let mut words = Words::new(rows.names.len());
        let mut bytes = vec![0u64; rows.names.len()];
        for (mass, row) in table.masses.iter().zip(&rows.row_of) {
            if let Some(bytes) = bytes.get_mut(*row) {
                *bytes += mass.bytes;
            }
        }
        let (mut spelled, mut counted) = (String::new(), 0u64);
        for (pretoken, counts) in rows.pretokens(tables) {
            self.splitter.spell(pretoken, &mut spelled);
            let ids = |model: &ModelWrapper| -> Result<Vec<u32>, TokenizerError> {
                let tokens = guard("encoding", || model.tokenize(&spelled))?
                    .map_err(|source| TokenizerError::Encode { bytes: spelled.len(), source })?;
                Ok(tokens.into_iter().map(|token| token.id).collect())
            };
            words.push(&ids(&unmerged)?, &counts);
            let times: u64 = counts.iter().sum();
            counted += times * ids(&self.model)?.len() as u64;
        }
        let replayed = replay(&words, &ranks);
        let made: BTreeSet<u32> = ranked.iter().map(|(_, _, id)| *id).collect();
        let mut seen = BTreeSet::new();
        let counts = MergeCounts {
            groups: rows.names,
            bytes,
            symbols: words.mass(),
            base_ids: self.token_count().saturating_sub(made.len() as u64),
            makes_id: ranked.iter().map(|(_, _, id)| seen.insert(*id)).collect(),
            joined: (0..ranked.len())
                .flat_map(|merge| replayed.joined(merge).unwrap_or_default())
                .copied()
                .collect(),
            sampled_one_in: table.sampled_one_in,
            skipped: table.skipped(),
        };
        Ok(Ok(VocabularyCurve::new(&counts, embedding_width, counted)))
    }

    /// The merges, and the model without them: it gives the symbols that merging
    /// begins with. The model's own serialisation is the one way to its merges.
    fn merges(&self) -> Result<(Ranked, ModelWrapper), TokenizerError> {
        let unreadable = |error: serde_json::Error| TokenizerError::Load(error.into());
        let mut value = serde_json::to_value(&self.model).map_err(unreadable)?;
        let merges = value.get_mut("merges").map(Value::take).unwrap_or_default();
        if let Value::Object(model) = &mut value {
            model.insert("merges".to_owned(), Value::Array(Vec::new()));
            // A word of the vocabulary would be taken whole.
            model.insert("ignore_merges".to_owned(), Value::Bool(false));
        }
        let unmerged: ModelWrapper = serde_json::from_value(value).map_err(unreadable)?;
        let pairs: Vec<(String, String)> = serde_json::from_value(merges).map_err(unreadable)?;
        let prefix = match &self.model {
            ModelWrapper::BPE(bpe) => bpe.continuing_subword_prefix.clone().unwrap_or_default(),
            _ => String::new(),
        };
        let ids: HashMap<&str, u32> =
            self.iter().map(|(id, token)| (token.spelled.as_str(), id)).collect();
        let ranked = pairs.iter().filter_map(|(left, right)| {
            let rest = right.strip_prefix(&prefix).unwrap_or(right);
            let made = ids.get(format!("{left}{rest}").as_str())?;
            Some((*ids.get(left.as_str())?, *ids.get(right.as_str())?, *made))
        });
        Ok((ranked.collect(), unmerged))
    }
}

/// Which row of the curve each group is counted in.
struct Rows {
    names: Vec<String>,
    row_of: Vec<usize>,
}

impl Rows {
    fn of(groups: &[String], tables: &[Counts]) -> Self {
        let bytes = |table: &Counts| -> u64 {
            table.iter().map(|(pretoken, count)| pretoken.len() as u64 * count).sum()
        };
        let mut order: Vec<(usize, u64)> = tables.iter().map(bytes).enumerate().collect();
        order.retain(|(_, bytes)| *bytes > 0);
        // Stable: equal groups stay as they were given.
        order.sort_by_key(|(_, bytes)| Reverse(*bytes));
        let mut rows = Self { names: Vec::new(), row_of: vec![usize::MAX; tables.len()] };
        for (place, (table, _)) in order.iter().enumerate() {
            if place < GROUPS {
                rows.names.push(groups.get(*table).cloned().unwrap_or_default());
            } else if place == GROUPS {
                rows.names.push("other groups".to_owned());
            }
            if let Some(row) = rows.row_of.get_mut(*table) {
                *row = place.min(GROUPS);
            }
        }
        rows
    }

    /// Every distinct pre-token with its count by row, in byte order.
    fn pretokens<'a>(&self, tables: &'a [Counts]) -> impl Iterator<Item = (&'a str, Vec<u64>)> {
        let mut all: BTreeMap<&'a str, Vec<u64>> = BTreeMap::new();
        for (table, row) in tables.iter().zip(&self.row_of) {
            for (pretoken, count) in table {
                let counts = all.entry(pretoken).or_insert_with(|| vec![0; self.names.len()]);
                if let Some(total) = counts.get_mut(*row) {
                    *total += count;
                }
            }
        }
        all.into_iter()
    }
}
