//! Strata: classes of documents of like difficulty, as quantiles of a number such as surprisal, easiest first.
//!
//! Mean surprisal says how rare the tokens of a document are among those of its source: the bits that a token costs on
//! average under the unigram distribution of the selected documents. That is the simplest language model, and
//! 2^surprisal is its perplexity. Counts are not smoothed, since every token of a document is among those counted.
//!
//! Strata are bitmaps in the plan, not thresholds, since values may be computed: about 2 bytes a document at 64 strata.
//!
//! Mean surprisal says how rare the tokens of a document are among those of its source: the bits a token costs on average
//! under the unigram distribution of the selected documents, counted without smoothing, since every token of a document
//! is among those counted: the perplexity of the simplest language model, with 2^surprisal as its perplexity.
//!
//! Strata are bitmaps in the plan, not thresholds, since values may be computed: about 2 bytes a document at 64 strata.

use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::lengths::{blocks_of, slots};
use crate::epoch::permutation::coin;
use crate::epoch::recipe::Curriculum;
use model::{Context, DocId, TokenizerId};
use rayon::prelude::*;
use roaring::RoaringTreemap;
use std::collections::BTreeMap;

/// The most values of a source that quantiles are taken from: 32 MiB.
const SAMPLED: u64 = 1 << 22;
/// Values of all sources that are examined together, at most, unless there is one.
const TOGETHER: u64 = 2 * SAMPLED;

/// Receives the value of each document; none where it has none.
type EachValue<'e> = dyn FnMut(u64, Option<f64>) + 'e;

/// The documents of each source in strata of about as many documents each, easiest first. Equal values
/// share a stratum; empty strata are left out. The number is evaluated twice over all documents, whatever
/// number of sources there is, but for `surprisal`, which is of a source.
///
/// # Errors
/// [`EpochError::Recipe`] when a document has no value; [`EpochError::Select`]; [`EpochError::Store`].
pub(super) fn strata(
    corpora: &Corpora,
    tokenizer: TokenizerId,
    curriculum: &Curriculum,
    selections: &[(String, RoaringTreemap)],
    context: &Context<'_>,
) -> Result<BTreeMap<String, Vec<RoaringTreemap>>, EpochError> {
    let mut found = BTreeMap::new();
    if curriculum.by == "surprisal" {
        for one in selections.chunks(1) {
            for (_, selection) in one {
                let each =
                    |each: &mut EachValue<'_>| surprisals(corpora, tokenizer, selection, each);
                found.extend(together(curriculum, one, each)?);
            }
        }
        return Ok(found);
    }
    let mut rest = selections;
    while !rest.is_empty() {
        let mut held = 0;
        let fits = rest.iter().take_while(|(_, selection)| {
            held += selection.len().min(SAMPLED);
            held <= TOGETHER
        });
        let (some, others) = rest.split_at(fits.count().max(1));
        let each = |each: &mut EachValue<'_>| corpora.number_values(&curriculum.by, each, context);
        found.extend(together(curriculum, some, each)?);
        rest = others;
    }
    Ok(found)
}

/// A source whose documents are put in strata.
struct StratumSource<'a> {
    name: &'a str,
    documents: &'a RoaringTreemap,
    /// Share of the values that are sampled.
    rate: f64,
    values: Vec<f64>,
    missing: u64,
    example: u64,
    cuts: Vec<f64>,
    strata: Vec<RoaringTreemap>,
}

impl<'a> StratumSource<'a> {
    fn new((name, documents): &'a (String, RoaringTreemap)) -> Self {
        Self {
            name,
            documents,
            rate: SAMPLED as f64 / documents.len().max(1) as f64,
            values: Vec::new(),
            missing: 0,
            example: u64::MAX,
            cuts: Vec::new(),
            strata: Vec::new(),
        }
    }

    fn sample(&mut self, id: u64, value: Option<f64>) {
        // By the document, not by the order of arrival, so that the sample is always the same.
        let is_drawn = || self.rate >= 1.0 || coin("strata", 0, &id.to_le_bytes()) < self.rate;
        match value {
            Some(value) if is_drawn() => self.values.push(value),
            Some(_) => {}
            None => {
                self.missing += 1;
                self.example = self.example.min(id);
            }
        }
    }

    fn cut(&mut self, curriculum: &Curriculum) -> Result<(), EpochError> {
        if self.missing > 0 {
            return Err(EpochError::Recipe(format!(
                "order.curriculum.by = \"{}\" is not a number for {} documents of source `{}` (document {} is one); leave them out with where, or use coalesce(...)",
                curriculum.by, self.missing, self.name, self.example
            )));
        }
        let mut values = std::mem::take(&mut self.values);
        values.sort_unstable_by(f64::total_cmp);
        for stratum in 1..curriculum.strata as usize {
            let at = values.len() * stratum / curriculum.strata as usize;
            self.cuts.extend(values.get(at).copied());
        }
        self.strata = vec![RoaringTreemap::new(); self.cuts.len() + 1];
        Ok(())
    }

    fn place(&mut self, id: u64, value: Option<f64>) {
        let Some(value) = value else { return };
        let at = self.cuts.partition_point(|cut| cut.total_cmp(&value).is_le());
        if let Some(stratum) = self.strata.get_mut(at) {
            stratum.insert(id);
        }
    }
}

/// The strata of some sources by two goes through the values.
fn together(
    curriculum: &Curriculum,
    selections: &[(String, RoaringTreemap)],
    mut each: impl FnMut(&mut EachValue<'_>) -> Result<(), EpochError>,
) -> Result<BTreeMap<String, Vec<RoaringTreemap>>, EpochError> {
    let mut sources: Vec<StratumSource<'_>> = selections.iter().map(StratumSource::new).collect();
    each(&mut |id, value| {
        if let Some(source) = sources.iter_mut().find(|of| of.documents.contains(id)) {
            source.sample(id, value);
        }
    })?;
    sources.iter_mut().try_for_each(|source| source.cut(curriculum))?;
    each(&mut |id, value| {
        if let Some(source) = sources.iter_mut().find(|of| of.documents.contains(id)) {
            source.place(id, value);
        }
    })?;
    let found = sources.into_iter().map(|source| {
        let mut strata = source.strata;
        strata.retain(|stratum| !stratum.is_empty());
        if curriculum.descending {
            strata.reverse();
        }
        (source.name.to_owned(), strata)
    });
    Ok(found.collect())
}

/// Calls `each` with the mean surprisal, in bits, of every document of `selection`, ascending.
pub(super) fn surprisals(
    corpora: &Corpora,
    tokenizer: TokenizerId,
    selection: &RoaringTreemap,
    each: &mut dyn FnMut(u64, Option<f64>),
) -> Result<(), EpochError> {
    let blocks = blocks_of(selection);
    let counts = blocks
        .par_iter()
        .map(|(block, _)| {
            let mut counts: Vec<u64> = Vec::new();
            for_each(corpora, tokenizer, selection, *block, |_, ids| {
                for id in ids {
                    let id = *id as usize;
                    if counts.len() <= id {
                        counts.resize(id + 1, 0);
                    }
                    if let Some(count) = counts.get_mut(id) {
                        *count += 1;
                    }
                }
            })?;
            Ok::<_, EpochError>(counts)
        })
        .try_reduce(Vec::new, |a, b| Ok(sum(a, b)))?;
    let whole: u64 = counts.iter().sum();
    let bits: Vec<f64> = counts
        .iter()
        .map(|count| if *count == 0 { 0.0 } else { (whole as f64 / *count as f64).log2() })
        .collect();
    for blocks in blocks.chunks(BLOCKS_AT_ONCE) {
        let found: Vec<Vec<(u64, Option<f64>)>> = blocks
            .par_iter()
            .map(|(block, _)| {
                let mut found = Vec::new();
                for_each(corpora, tokenizer, selection, *block, |document, ids| {
                    let sum: f64 = ids.iter().filter_map(|id| bits.get(*id as usize)).sum();
                    let mean = (!ids.is_empty()).then(|| sum / ids.len() as f64);
                    found.push((document.0, mean));
                })?;
                Ok(found)
            })
            .collect::<Result<_, EpochError>>()?;
        for (id, value) in found.into_iter().flatten() {
            each(id, value);
        }
    }
    Ok(())
}

/// Blocks whose values are held at a time: 1 MiB each.
const BLOCKS_AT_ONCE: usize = 64;

fn sum(mut a: Vec<u64>, mut b: Vec<u64>) -> Vec<u64> {
    if a.len() < b.len() {
        std::mem::swap(&mut a, &mut b);
    }
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
    a
}

fn for_each(
    corpora: &Corpora,
    tokenizer: TokenizerId,
    selection: &RoaringTreemap,
    block: u64,
    mut each: impl FnMut(DocId, &[u32]),
) -> Result<(), EpochError> {
    let documents: Vec<DocId> =
        slots(selection, block).map(|slot| DocId::at(block, slot)).collect();
    let mut ids = Vec::new();
    corpora.for_each_tokens(tokenizer, &documents, |document, stored| {
        if let Some(stored) = stored {
            ids.clear();
            stored.append(&mut ids);
            each(document, &ids);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::recipe::Recipe;

    fn curriculum() -> Curriculum {
        let text = "version = 1\n[order]\nkind = \"curriculum\"\ncurriculum = { by = \"tokens\", strata = 4 }\n[pack]\nkind = \"greedy\"\n";
        Recipe::parse(text).unwrap().order.curriculum.unwrap()
    }

    /// A curriculum was evaluated over the whole corpus twice for each source.
    #[test]
    fn values_are_read_twice_for_any_number_of_sources() {
        for sources in [1_u64, 8, 16] {
            let selections: Vec<(String, RoaringTreemap)> = (0..sources)
                .map(|source| (format!("s{source}"), (source * 100..source * 100 + 100).collect()))
                .collect();
            let mut asked = 0;
            let found = together(&curriculum(), &selections, |each| {
                asked += 1;
                (0..sources * 100 + 50).for_each(|id| each(id, Some((id % 100) as f64)));
                Ok(())
            })
            .unwrap();
            assert_eq!(asked, 2);
            for (source, strata) in
                (0..sources).map(|source| (source, &found[&format!("s{source}")]))
            {
                let expected: Vec<RoaringTreemap> = (0..4)
                    .map(|quarter| {
                        let from = source * 100 + quarter * 25;
                        (from..from + 25).collect()
                    })
                    .collect();
                assert_eq!(*strata, expected);
            }
        }
    }
}
