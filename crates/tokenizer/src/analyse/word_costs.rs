//! The words that cost most: how many tokens each takes in running text, over all its occurrences.

use super::counts::{TextWords, TokenPlacer, align_each};
use super::subject::AnalysedTokenizer;
use crate::error::TokenizerError;
use crate::sampled::SampledCounts;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// A word that several tokens spell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CostlyWord {
    /// The word.
    pub word: String,
    /// How often it occurs.
    pub count: u64,
    /// Tokens that hold some of it, over all occurrences.
    pub tokens: u64,
    /// Tokens that there would be fewer if it were one.
    pub saved: u64,
    /// Whether the pre-tokenizer splits it, so that it can only become an added token.
    pub is_split: bool,
}

/// What the words of a group cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct GroupWordCosts {
    /// The language or source; of the whole sample, `all`.
    pub name: String,
    /// Words counted.
    pub words: u64,
    /// Tokens that hold some of them.
    pub tokens: u64,
    /// The words by which most tokens would be saved, most first.
    pub terms: Vec<CostlyWord>,
}

/// The costs of words by group, and what they were counted of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct WordCosts {
    /// One in how many texts the counts are of: 1 while memory sufficed for all words.
    pub sampled_one_in: u64,
    /// Texts whose tokens could not be placed: their words are not counted.
    pub unplaced_documents: u64,
    /// Each group with any word, in the order of the groups.
    pub groups: Vec<GroupWordCosts>,
}

impl WordCosts {
    /// The words of all groups, each once: those that save most first, equals in their byte order.
    #[must_use]
    pub fn terms(&self) -> Vec<&str> {
        let mut saved: BTreeMap<&str, u64> = BTreeMap::new();
        for term in self.groups.iter().flat_map(|group| &group.terms) {
            *saved.entry(&term.word).or_default() += term.saved;
        }
        let mut terms: Vec<(&str, u64)> = saved.into_iter().collect();
        // Stable.
        terms.sort_by_key(|(_, saved)| Reverse(*saved));
        terms.into_iter().map(|(word, _)| word).collect()
    }
}

/// How often a word occurs, and how many tokens hold some of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct WordCost {
    count: u64,
    tokens: u64,
}

impl AddAssign for WordCost {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.tokens += other.tokens;
    }
}

/// Counts what the words of texts cost one tokenizer, by group; merges in any order. Words are those of [`TextWords`].
/// Where the table of words is full, whole texts are left out, the same ones in any order.
pub struct WordCostTally<'s> {
    placer: TokenPlacer<'s>,
    costs: SampledCounts<WordCost>,
    unplaced: u64,
}

impl<'s> WordCostTally<'s> {
    /// An empty tally of `groups` groups that holds at most `limit` words (about 100 bytes each).
    #[must_use]
    pub fn new(subject: &'s AnalysedTokenizer<'s>, groups: usize, limit: usize) -> Self {
        let costs = SampledCounts::new(groups, limit);
        Self { placer: TokenPlacer::new(subject), costs, unplaced: 0 }
    }

    /// Counts one text of `group` with the ids that the tokenizer gave for it.
    ///
    /// # Errors
    /// [`TokenizerError`] when the tokens have to be placed by the reference encoder and it fails.
    pub fn add_text(
        &mut self,
        group: usize,
        text: &TextWords<'_>,
        ids: &[u32],
    ) -> Result<(), TokenizerError> {
        let Some(places) = self.placer.place(text.text, ids)? else {
            self.unplaced += 1;
            return Ok(());
        };
        self.costs.add_text(group, text.text, |costs| {
            let mut words = text.each();
            align_each(&text.words, places, |aligned| {
                // A normaliser may leave nothing of a word.
                if let Some(word) = words.next().filter(|_| aligned.held > 0) {
                    costs.add(word, WordCost { count: 1, tokens: aligned.held });
                }
            });
        });
        Ok(())
    }

    /// Adds what another tally of the same tokenizer and groups counted.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let unplaced = self.unplaced + other.unplaced;
        Self { placer: self.placer, costs: self.costs.merge(other.costs), unplaced }
    }

    /// The `most` words of each group that cost most; `groups` names the groups.
    ///
    /// # Errors
    /// [`TokenizerError`] when the pre-tokenizer fails.
    pub fn finish(self, groups: &[String], most: usize) -> Result<WordCosts, TokenizerError> {
        let table = self.costs.finish();
        let mut splitter = self.placer.subject.splitter.clone();
        let mut found = Vec::new();
        for (name, words) in groups.iter().zip(&table.groups) {
            if words.is_empty() {
                continue;
            }
            let mut all = WordCost::default();
            words.values().for_each(|cost| all += *cost);
            let mut costly: Vec<(&str, WordCost)> = words
                .iter()
                .filter(|(_, cost)| cost.tokens > cost.count)
                .map(|(word, cost)| (&**word, *cost))
                .collect();
            // Stable: equals stay in their byte order.
            costly.sort_by_key(|(_, cost)| Reverse(cost.tokens - cost.count));
            costly.truncate(most);
            let mut terms = Vec::with_capacity(costly.len());
            for (word, WordCost { count, tokens }) in costly {
                let mut pieces = 0;
                splitter.split(&format!("a {word}"), |_| pieces += 1)?;
                let (word, saved, is_split) = (word.to_owned(), tokens - count, pieces > 2);
                terms.push(CostlyWord { word, count, tokens, saved, is_split });
            }
            let (words, tokens) = (all.count, all.tokens);
            found.push(GroupWordCosts { name: name.clone(), words, tokens, terms });
        }
        let (sampled_one_in, unplaced_documents) = (table.sampled_one_in, self.unplaced);
        Ok(WordCosts { sampled_one_in, unplaced_documents, groups: found })
    }
}
