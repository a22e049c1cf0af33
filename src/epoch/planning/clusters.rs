//! Draws near duplicates beside what is kept: up to `select.per_cluster` documents of each cluster.
//!
//! What counts is what passes everything else that the recipe asks of documents: of it the kept document, then removed
//! ones in the keep order, one of each text. A document without ids passes, since its tokens are not known: who plans
//! without being able to encode it is refused, and a writer encodes it and looks again. So only ids of documents that are
//! drawn matter, and of those before them that have too few tokens: which others happen to have some changes no plan.

use super::PlanInputs;
use crate::corpus::{Corpora, parts, whole};
use crate::decide::MemberSorter;
use crate::epoch::error::EpochError;
use crate::epoch::lengths::{blocks_of, slots};
use crate::epoch::recipe::Recipe;
use model::{BLOCK_SIZE, DocId, TokenizerId};
use roaring::RoaringTreemap;

/// Leaves of what passes for each source the kept documents, and near duplicates up to `select.per_cluster`.
///
/// # Errors
/// [`EpochError::NotEncoded`] for a near duplicate without ids; [`EpochError::Select`]; [`EpochError::Store`].
pub(super) fn draw(
    against: &PlanInputs<'_>,
    recipe: &Recipe,
    (tokenizer, name): (TokenizerId, &str),
    selections: &mut [(String, RoaringTreemap)],
) -> Result<(), EpochError> {
    if recipe.select.per_cluster == 1 {
        return Ok(());
    }
    let drawn = first_of_clusters(against, selections, recipe.select.per_cluster.into())?;
    if let Some(document) = without_ids(against.corpora, tokenizer, &drawn)?.min() {
        let (shard, inside) = Corpora::place(DocId(document));
        let tokenizer = name.to_owned();
        return Err(EpochError::NotEncoded { tokenizer, document: inside.0, near_of: Some(shard) });
    }
    let drawn = drawn | against.kept;
    selections.iter_mut().for_each(|(_, selection)| *selection &= &drawn);
    Ok(())
}

/// Of each cluster the first near duplicates that pass for a source, so that they and the kept document, if that passes,
/// are at most `most`.
pub(super) fn first_of_clusters(
    against: &PlanInputs<'_>,
    selections: &[(String, RoaringTreemap)],
    most: u64,
) -> Result<RoaringTreemap, EpochError> {
    let corpora = against.corpora;
    let selections = selections.iter().map(|(_, selection)| selection);
    let passing = &selections.fold(RoaringTreemap::new(), |all, selection| all | selection);
    let sorters = corpora.views().map(|(_, view)| MemberSorter::new(view)).collect();
    let mut draw = ClusterDraw {
        sorters,
        passing,
        most: usize::try_from(most).unwrap_or(usize::MAX),
        open: None,
        drawn: RoaringTreemap::new(),
    };
    let mut seen = 0_u64;
    corpora.each_member(&(passing - against.kept), |witness, member| {
        seen += 1;
        if seen.is_multiple_of(1 << 12) {
            against.interrupt.check()?;
        }
        draw.add(witness, member)
    })?;
    draw.end()?;
    Ok(draw.drawn)
}

/// The choice of one cluster after the other.
struct ClusterDraw<'a> {
    /// Of each corpus.
    sorters: Vec<MemberSorter<'a>>,
    passing: &'a RoaringTreemap,
    most: usize,
    /// The kept document of the cluster and those that pass of the others, by their numbers in their corpus.
    open: Option<(DocId, Vec<DocId>)>,
    drawn: RoaringTreemap,
}

impl ClusterDraw<'_> {
    fn add(&mut self, witness: DocId, member: DocId) -> Result<(), EpochError> {
        let (_, inside) = Corpora::place(member);
        match &mut self.open {
            Some((open, members)) if *open == witness => members.push(inside),
            _ => {
                self.end()?;
                self.open = Some((witness, vec![inside]));
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), EpochError> {
        let Some((witness, mut members)) = self.open.take() else { return Ok(()) };
        let (shard, _) = Corpora::place(witness);
        let sorter = usize::try_from(shard).ok().and_then(|shard| self.sorters.get_mut(shard));
        sorter.ok_or_else(|| EpochError::bug("a cluster of no corpus"))?.sort(&mut members)?;
        let room = self.most - usize::from(self.passing.contains(witness.0));
        self.drawn.extend(members.into_iter().take(room).map(|member| whole(shard, member).0));
        Ok(())
    }
}

/// The documents that have no ids of a tokenizer.
pub(super) fn without_ids(
    corpora: &Corpora,
    tokenizer: TokenizerId,
    documents: &RoaringTreemap,
) -> Result<RoaringTreemap, EpochError> {
    let mut without = RoaringTreemap::new();
    for (block, _) in blocks_of(documents) {
        let found = corpora.token_counts(tokenizer, block, |values| {
            slots(documents, block).filter(|slot| values.get(*slot).is_none()).collect()
        })?;
        let found: Vec<u16> = found.unwrap_or_else(|| slots(documents, block).collect());
        without.extend(found.into_iter().map(|slot| block * BLOCK_SIZE + u64::from(slot)));
    }
    Ok(without)
}

impl Corpora {
    /// Calls `each` with every one of some removed documents that has a witness, behind that: by witness, then by
    /// document.
    pub(in crate::epoch) fn each_member(
        &self,
        among: &RoaringTreemap,
        mut each: impl FnMut(DocId, DocId) -> Result<(), EpochError>,
    ) -> Result<(), EpochError> {
        for (shard, view) in self.views().filter(|_| !among.is_empty()) {
            let of_shard = parts(shard, among);
            for row in view.all_members()? {
                let (witness, member) = row?;
                if of_shard.contains(member.0) {
                    each(whole(shard, witness), whole(shard, member))?;
                }
            }
        }
        Ok(())
    }
}
