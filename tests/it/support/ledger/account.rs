//! A naive account of what a chain of plans has given: lists of documents and how often each of their tokens came.

use crate::support::ledger::history::LedgerRecipe;
use corpusdb::epoch::EpochRow;
use corpusdb::{Corpus, DocId};
use std::collections::{BTreeMap, BTreeSet};

/// What went wrong, by its kind and in words.
#[derive(Clone, Debug)]
pub struct LedgerFault {
    pub kind: String,
    pub words: String,
}

pub fn fault<T>(kind: &str, words: impl Into<String>) -> Result<T, LedgerFault> {
    Err(LedgerFault { kind: kind.to_owned(), words: words.into() })
}

/// A document as the corpus took it in.
#[derive(Clone, Debug)]
pub struct LedgerDocument {
    pub source: String,
    /// Ids of the chain's tokenizer.
    pub ids: Vec<u32>,
}

/// Tokens that came, and what may be missing.
#[derive(Clone, Debug, Default)]
pub struct LedgerAccount {
    pub documents: Vec<LedgerDocument>,
    /// How often each stored token of a document came in the whole chain.
    counts: BTreeMap<u64, Vec<u32>>,
    /// Documents of which a plan may have left out something for its length.
    cut: BTreeSet<u64>,
    /// Tokens that may be missing since they filled no row, or their rows no batch.
    pub slack: u64,
}

impl LedgerAccount {
    /// Reads the documents that are new.
    pub fn read(&mut self, corpus: &Corpus, tokenizer: &str) {
        let view = corpus.view();
        let (tokenizer, _) = view.tokenizer_named(tokenizer).unwrap();
        for id in self.documents.len() as u64..view.documents() {
            let source = view.source_of(DocId(id)).unwrap();
            let mut ids = Vec::new();
            view.tokens(tokenizer, DocId(id), &mut ids).unwrap();
            let source = view.source_name(source).unwrap().to_owned();
            self.documents.push(LedgerDocument { source, ids });
        }
    }

    /// The documents, of which nothing came.
    pub fn of_new_chain(&self) -> Self {
        Self { documents: self.documents.clone(), ..Self::default() }
    }

    /// How often the stored tokens of a document came.
    pub fn count(&self, id: u64) -> Vec<u32> {
        let tokens = self.documents[id as usize].ids.len();
        self.counts.get(&id).cloned().unwrap_or_else(|| vec![0; tokens])
    }

    /// Notes that a new plan may leave out parts of documents that are longer than a row.
    pub fn plan(&mut self, recipe: &LedgerRecipe, documents: impl Iterator<Item = u64>) {
        if !matches!(recipe.long, "truncate" | "drop") {
            return;
        }
        for id in documents {
            if self.length(recipe, id) > room(recipe) {
                self.cut.insert(id);
            }
        }
    }

    /// Tokens of a document with its specials.
    fn length(&self, recipe: &LedgerRecipe, id: u64) -> u64 {
        let specials = u64::from(recipe.bos) + u64::from(recipe.eos);
        self.documents[id as usize].ids.len() as u64 + specials
    }

    /// Whether every plan packs the whole document.
    pub fn is_whole(&self, id: u64) -> bool {
        !self.cut.contains(&id)
    }

    /// Adds the rows that were given, each of which must be made of stored tokens.
    pub fn give(&mut self, recipe: &LedgerRecipe, rows: &[EpochRow]) {
        for row in rows {
            for (id, tokens) in
                stored_tokens(recipe, row, |id| self.documents[id as usize].ids.len())
            {
                let length = self.documents[id as usize].ids.len();
                let counts = self.counts.entry(id).or_insert_with(|| vec![0; length]);
                counts[tokens].iter_mut().for_each(|count| *count += 1);
            }
        }
    }

    /// One row against the documents: what it holds, and that it fits.
    pub fn check_row(
        &self,
        recipe: &LedgerRecipe,
        eligible: &BTreeMap<String, BTreeSet<u64>>,
        row: &EpochRow,
    ) -> Result<(), LedgerFault> {
        let Some(source) = row.source() else {
            return if row.segments().is_empty() {
                Ok(())
            } else {
                fault("row without a source", format!("row {} has segments", row.number()))
            };
        };
        let Some(of_source) = eligible.get(source) else {
            return fault("row of an unknown source", source);
        };
        let mut expected: Vec<u32> = Vec::new();
        let mut taken = 0;
        for segment in row.segments() {
            let id = segment.document.0;
            if !of_source.contains(&id) {
                return fault("document that is not selected", format!("{id} of `{source}`"));
            }
            let mut sequence: Vec<u32> = recipe.bos.then_some(BOS).into_iter().collect();
            sequence.extend(&self.documents[id as usize].ids);
            sequence.extend(recipe.eos.then_some(EOS));
            let (from, length) = (segment.offset as usize, segment.length as usize);
            let added = usize::from(recipe.cut_eos && from + length < sequence.len());
            let of = sequence.get(from..from + length - added).filter(|of| !of.is_empty());
            let Some(of) = of.filter(|_| from + length <= sequence.len()) else {
                return fault("segment beyond its document", format!("{id} {from}+{length}"));
            };
            expected.extend(of.iter().chain([&EOS].into_iter().take(added)));
            taken += (length as u64).next_multiple_of(recipe.multiple);
        }
        if taken > capacity(recipe) || (recipe.kind == "none" && row.segments().len() != 1) {
            return fault("row over its capacity", format!("{taken} in row {}", row.number()));
        }
        if recipe.most_segments.is_some_and(|most| row.segments().len() > most) {
            let words = format!("{} in row {}", row.segments().len(), row.number());
            return fault("row with more segments than it may have", words);
        }
        let real: Vec<u32> = row.ids().iter().copied().filter(|id| *id != PAD).collect();
        if real != expected {
            return fault(
                "other ids",
                format!("{real:?} for {expected:?} in row {}", row.number()),
            );
        }
        Ok(())
    }

    /// No token came more often than `most` passes give it, where it had not come more often `before`.
    pub fn check_most(
        &self,
        before: &Self,
        most: impl Fn(u64) -> Option<u32>,
    ) -> Result<(), LedgerFault> {
        for (id, counts) in &self.counts {
            let Some(most) = most(*id) else { continue };
            let earlier = before.count(*id);
            let too_often = counts.iter().zip(&earlier).any(|(now, then)| *now > most.max(*then));
            if too_often {
                return fault(
                    "given too often",
                    format!("document {id} came {counts:?}, {earlier:?} before, at most {most}"),
                );
            }
        }
        Ok(())
    }

    /// Documents that came equally often before a plan come equally often in it, but for `copies`.
    pub fn check_even(
        &self,
        before: &Self,
        documents: &BTreeSet<u64>,
        copies: u32,
    ) -> Result<(), LedgerFault> {
        let mut groups: BTreeMap<u32, (u64, u32, u64, u32)> = BTreeMap::new();
        for id in documents.iter().copied().filter(|id| self.is_whole(*id)) {
            let earlier = before.count(id);
            let Some(first) = earlier.first().filter(|first| earlier.iter().all(|of| of == *first))
            else {
                continue;
            };
            let now = self.count(id)[0] - first;
            let group = groups.entry(*first).or_insert((id, now, id, now));
            if now < group.1 {
                (group.0, group.1) = (id, now);
            }
            if now > group.3 {
                (group.2, group.3) = (id, now);
            }
        }
        for (few, least, many, most) in groups.into_values() {
            if most - least > copies {
                return fault(
                    "a pass began too soon",
                    format!("document {few} began {least} times, document {many} {most} times"),
                );
            }
        }
        Ok(())
    }

    /// Tokens of documents that are still to come until each came `most` times: those that must, and those that may.
    pub fn due(&self, documents: &BTreeSet<u64>, most: u32) -> (u64, u64) {
        let (mut must, mut may) = (0, 0);
        for id in documents {
            let due: u64 =
                self.count(*id).iter().map(|count| u64::from(most.saturating_sub(*count))).sum();
            if self.is_whole(*id) { must += due } else { may += due }
        }
        (must, may)
    }

    /// Everything came as often as `most` says, or as often as it had come `before`.
    pub fn check_all(
        &self,
        before: &Self,
        documents: &BTreeSet<u64>,
        most: u32,
    ) -> Result<(), LedgerFault> {
        let (mut missing, mut example) = (0, String::new());
        for id in documents {
            let (counts, earlier) = (self.count(*id), before.count(*id));
            for (now, then) in counts.iter().zip(&earlier) {
                let due = most.max(*then);
                if *now > due {
                    return fault(
                        "given too often",
                        format!("document {id} came {counts:?}, {earlier:?} before, due {most}"),
                    );
                }
                if *now < due && self.is_whole(*id) {
                    missing += u64::from(due - now);
                    example =
                        format!("document {id} came {counts:?}, {earlier:?} before, due {most}");
                }
            }
        }
        if missing > self.slack {
            return fault(
                "tokens lost",
                format!("{missing} tokens, {} allowed: {example}", self.slack),
            );
        }
        Ok(())
    }
}

pub const PAD: u32 = 0;
pub const BOS: u32 = 1;
pub const EOS: u32 = 2;

/// Places of a row.
pub fn capacity(recipe: &LedgerRecipe) -> u64 {
    recipe.length + u64::from(recipe.extra)
}

/// Places of a row that documents may take.
fn room(recipe: &LedgerRecipe) -> u64 {
    capacity(recipe) / recipe.multiple * recipe.multiple
}

/// The stored tokens that a row gives, by document: without BOS and EOS, those at cuts too, and without what the row
/// before gave.
fn stored_tokens(
    recipe: &LedgerRecipe,
    row: &EpochRow,
    length: impl Fn(u64) -> usize,
) -> Vec<(u64, std::ops::Range<usize>)> {
    let bos = usize::from(recipe.bos);
    let mut repeated = row.repeated();
    let mut all = Vec::new();
    for segment in row.segments() {
        let id = segment.document.0;
        let skip = repeated.min(segment.length as usize);
        repeated -= skip;
        let from = segment.offset as usize + skip;
        let to = segment.offset as usize + segment.length as usize;
        let to = to - usize::from(recipe.cut_eos && to < segment.document_length as usize);
        let from = from.max(bos) - bos;
        let to = (to.max(bos) - bos).min(length(id));
        if from < to {
            all.push((id, from..to));
        }
    }
    all
}
