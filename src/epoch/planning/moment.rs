//! The moment that a plan draws from, and the answers of each corpus to a recipe's expressions at that moment.
//!
//! The moment is that of a snapshot, or of what a view shows.

use crate::corpus::{Corpora, parts, whole, wholes};
use crate::epoch::error::EpochError;
use crate::sql::{SqlError, contaminated, number_values, select, select_nulls, text_values};
use model::near_names::UnknownName;
use model::{CommitSeq, Context, DocId, Error, Generation};
use roaring::RoaringTreemap;
use store::{CommitRecord, TOO_MANY_ROOTS, View};
use text::contamination::ContaminationRule;

/// A moment of each corpus, under one name.
#[derive(Clone, Debug)]
pub(crate) struct PlanMoment {
    /// The name of the snapshot.
    pub name: String,
    /// Whether every corpus has it.
    is_everywhere: bool,
    /// The moment of each corpus.
    of: Vec<ShardMoment>,
}

/// A moment of one corpus.
#[derive(Clone, Copy, Debug)]
struct ShardMoment {
    generation: Generation,
    commit: CommitSeq,
    /// Documents stored then.
    documents: u64,
    is_snapshot: bool,
}

/// Kinds of commits that change no answer about documents.
const NEUTRAL: [&str; 6] = ["snapshot", "epoch", "tokenizer", "trained", "compact", "rejects"];

/// Whether documents came or were decided about in a commit.
pub(super) fn has_moved(commit: &CommitRecord) -> bool {
    !NEUTRAL.contains(&commit.kind.as_str())
}

impl ShardMoment {
    /// The present of corpus `shard`. For the first of several corpora that is the moment of its snapshot; for the
    /// others it is the last commit that changed anything, so that the same recipe gives the same plan.
    fn now(shard: u64, view: &View) -> Result<Self, EpochError> {
        let mut commit = view.commit();
        if shard > 0 {
            let commits = view.commits()?;
            let last = commits.iter().rev().find(|(_, record)| has_moved(record));
            commit = last.map_or(commit, |(at, _)| *at);
        }
        let (generation, documents) = (view.generation(), view.documents());
        Ok(Self { generation, commit, documents, is_snapshot: false })
    }

    /// The moment of a snapshot, where there is one of that name.
    fn of(view: &View, name: &str) -> Result<Option<Self>, EpochError> {
        Ok(view.snapshot(name)?.map(|record| Self {
            generation: Generation(record.generation),
            commit: CommitSeq(record.commit),
            documents: record.documents,
            is_snapshot: true,
        }))
    }

    fn kept(self, view: &View, name: &str) -> Result<RoaringTreemap, EpochError> {
        Ok(if self.is_snapshot { view.snapshot_kept(name)? } else { view.kept()? })
    }
}

impl Corpora {
    /// The moment that a recipe draws from: of the snapshot that it names, which every corpus then has, or what the
    /// views show. `made` is the name of the snapshot of that which the first corpus has, or gets with the plan.
    ///
    /// # Errors
    /// [`EpochError::Unknown`], with the snapshots that there are.
    pub(crate) fn moment(
        &self,
        named: Option<&str>,
        made: Option<&str>,
    ) -> Result<PlanMoment, EpochError> {
        let mut of = Vec::new();
        self.each(|shard, view| {
            let name = if shard == 0 { named.or(made) } else { named };
            let Some(name) = name else {
                of.push(ShardMoment::now(shard, view)?);
                return Ok(());
            };
            match ShardMoment::of(view, name)? {
                Some(moment) => of.push(moment),
                None if named.is_none() => of.push(ShardMoment::now(shard, view)?),
                None => return Err(unknown(view, name)?),
            }
            Ok(())
        })?;
        let is_everywhere = named.is_some() || self.count() == 1;
        Ok(PlanMoment { name: named.or(made).unwrap_or("now").to_owned(), is_everywhere, of })
    }

    /// The moment that a plan draws from: the plan pins the commit of each corpus. None where a corpus has that commit
    /// neither as a snapshot nor as its present.
    pub(in crate::epoch) fn moment_again(
        &self,
        name: &str,
        commits: impl Iterator<Item = u64>,
    ) -> Result<Option<PlanMoment>, EpochError> {
        let mut of = Vec::new();
        for ((shard, view), commit) in self.views().zip(commits) {
            let named = ShardMoment::of(view, name)?.filter(|moment| moment.commit.0 == commit);
            let now =
                Some(ShardMoment::now(shard, view)?).filter(|moment| moment.commit.0 == commit);
            match named.or(now) {
                Some(moment) => of.push(moment),
                None => return Ok(None),
            }
        }
        Ok(Some(PlanMoment { name: name.to_owned(), is_everywhere: false, of }))
    }

    /// What was kept at a moment.
    pub(crate) fn kept_at(&self, moment: &PlanMoment) -> Result<RoaringTreemap, EpochError> {
        let mut all = RoaringTreemap::new();
        for ((shard, view), of) in self.views().zip(&moment.of) {
            all |= wholes(shard, of.kept(view, &moment.name)?);
        }
        Ok(all)
    }

    /// How many clusters each of some sets of near duplicates was of at a moment.
    pub(super) fn clusters_at(
        &self,
        moment: &PlanMoment,
        sets: &[RoaringTreemap],
    ) -> Result<Vec<u64>, EpochError> {
        let mut witnesses = vec![RoaringTreemap::new(); sets.len()];
        let is_any = sets.iter().any(|near| !near.is_empty());
        for ((shard, view), of) in self.views().zip(&moment.of).filter(|_| is_any) {
            for row in view.matched_at((of.generation, of.commit), 0..of.documents)? {
                let (member, _, found) = row?;
                let member = whole(shard, member).0;
                let of_sets = sets.iter().zip(&mut witnesses);
                for (_, clusters) in of_sets.filter(|(near, _)| near.contains(member)) {
                    clusters.insert(whole(shard, found.witness).0);
                }
            }
        }
        Ok(witnesses.iter().map(RoaringTreemap::len).collect())
    }

    /// Calls `each` with every document that took the place of others up to a moment, and the root of its lineage,
    /// which is [`MANY`] where several met.
    pub(in crate::epoch) fn lineages_at(
        &self,
        moment: &PlanMoment,
        mut each: impl FnMut(DocId, DocId),
    ) -> Result<(), EpochError> {
        for ((shard, view), of) in self.views().zip(&moment.of) {
            for lineage in view.lineages_at((of.generation, of.commit))? {
                let (document, root) = lineage?;
                let root = if root == TOO_MANY_ROOTS { TOO_MANY_ROOTS } else { whole(shard, root) };
                each(whole(shard, document), root);
            }
        }
        Ok(())
    }
}

impl PlanMoment {
    /// The snapshot that a recipe names to draw from this moment again; none where not every corpus has it: a snapshot
    /// that was made for a plan may have the name of another one elsewhere.
    pub(in crate::epoch) fn named(&self) -> Option<String> {
        self.is_everywhere.then(|| self.name.clone())
    }

    /// The commit of each corpus.
    pub(in crate::epoch) fn commits(&self) -> impl Iterator<Item = u64> {
        self.of.iter().map(|of| of.commit.0)
    }

    /// Documents that corpus `shard` had stored then.
    pub(in crate::epoch) fn documents(&self, shard: u64) -> u64 {
        let of = usize::try_from(shard).ok().and_then(|shard| self.of.get(shard));
        of.map_or(0, |of| of.documents)
    }
}

fn unknown(view: &View, name: &str) -> Result<EpochError, EpochError> {
    let known = view.snapshots()?.into_iter().map(|record| record.name);
    Ok(EpochError::Unknown(UnknownName::new("snapshot", name, known)))
}

impl Corpora {
    /// Calls `ask` with each corpus; which one it is stands before what went wrong, where there are several.
    ///
    /// # Errors
    /// Those of `ask`; what a recipe has wrong says in which corpus.
    pub(in crate::epoch) fn each(
        &self,
        mut ask: impl FnMut(u64, &View) -> Result<(), EpochError>,
    ) -> Result<(), EpochError> {
        for (shard, view) in self.views() {
            ask(shard, view).map_err(|error| match error {
                EpochError::Select(_) | EpochError::Unknown(_) | EpochError::Recipe(_)
                    if self.count() > 1 =>
                {
                    let message = format!("shard {shard}: {error}");
                    Error::of(error.kind(), message).with_hint(error.hint()).into()
                }
                other => other,
            })?;
        }
        Ok(())
    }

    /// The documents that satisfy a condition.
    pub(in crate::epoch) fn select(
        &self,
        condition: &str,
        context: &Context<'_>,
    ) -> Result<RoaringTreemap, EpochError> {
        self.all_of(|view| select(view, condition, context))
    }

    /// The documents for which a condition is null.
    pub(in crate::epoch) fn select_nulls(
        &self,
        condition: &str,
        context: &Context<'_>,
    ) -> Result<RoaringTreemap, EpochError> {
        self.all_of(|view| select_nulls(view, condition, context))
    }

    fn all_of(
        &self,
        of: impl Fn(&View) -> Result<RoaringTreemap, SqlError>,
    ) -> Result<RoaringTreemap, EpochError> {
        let mut all = RoaringTreemap::new();
        self.each(|shard, view| {
            all |= wholes(shard, of(view)?);
            Ok(())
        })?;
        Ok(all)
    }

    /// Calls `of` with every document and its number by an expression.
    pub(in crate::epoch) fn number_values(
        &self,
        expression: &str,
        mut of: impl FnMut(u64, Option<f64>),
        context: &Context<'_>,
    ) -> Result<(), EpochError> {
        self.each(|shard, view| {
            let of = |id, value| of(whole(shard, DocId(id)).0, value);
            Ok(number_values(view, expression, of, context)?)
        })
    }

    /// Calls `of` with every document and its text by an expression.
    pub(in crate::epoch) fn text_values(
        &self,
        expression: &str,
        mut of: impl FnMut(u64, Option<&str>),
        context: &Context<'_>,
    ) -> Result<(), EpochError> {
        self.each(|shard, view| {
            let of = |id, value: Option<&str>| of(whole(shard, DocId(id)).0, value);
            Ok(text_values(view, expression, of, context)?)
        })
    }

    /// The documents that have an item of a suite. Common n-grams are counted among the documents of `kept` in the
    /// same corpus.
    pub(in crate::epoch) fn contaminated(
        &self,
        suite: &str,
        rule: &ContaminationRule,
        kept: &RoaringTreemap,
    ) -> Result<RoaringTreemap, EpochError> {
        if self.count() == 1 {
            return Ok(contaminated(self.first(), suite, rule, kept)?);
        }
        let mut all = RoaringTreemap::new();
        self.each(|shard, view| {
            let found = contaminated(view, suite, rule, &parts(shard, kept))?;
            all |= wholes(shard, found);
            Ok(())
        })?;
        Ok(all)
    }
}
