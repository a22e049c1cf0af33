//! Classes of documents of like difficulty: quantiles of a number, easiest first.

use super::surprisal::surprisals;
use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::permutation::coin;
use crate::epoch::recipe::Curriculum;
use crate::model::TokenizerId;
use roaring::RoaringTreemap;
use std::collections::BTreeMap;

/// Values of a source that quantiles are taken from, at most: 32 MiB of them.
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
        let each = |each: &mut EachValue<'_>| corpora.numbers(&curriculum.by, each);
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
