//! The rows of a run: nothing lost, nothing twice before its time, every mix exact; in every world the same.

use crate::support::Random;
use crate::support::checker::corpus::{CheckedDocument, content, open, part, rows};
use crate::support::checker::row::Rules;
use corpusdb::epoch::recipe::{BatchTail, MixUnit, OrderKind, PackKind, Ramp};
use corpusdb::epoch::{EpochRow, Plan, StreamOptions};
use corpusdb::{Context, Corpus};
use std::collections::{BTreeMap, BTreeSet};

// ----
// The rows of a run, one after the other: nothing lost, nothing twice before its time, every mix exact.

/// Some epochs of a plan, read and checked.
pub struct Run<'a> {
    pub rules: Rules<'a>,
    pub planned: &'a Plan,
    /// By epoch, in the order given.
    pub epochs: Vec<Vec<EpochRow>>,
    /// Documents of each source, with the fewest and most copies of each.
    pub selected: BTreeMap<String, BTreeMap<u64, (u32, u32)>>,
}

impl<'a> Run<'a> {
    /// Reads `epochs` epochs and checks every row by itself. `selected` are the documents by source.
    pub fn read(
        corpus: &Corpus,
        planned: &'a Plan,
        stored: &'a [CheckedDocument],
        selected: BTreeMap<String, BTreeMap<u64, (u32, u32)>>,
        epochs: u64,
    ) -> Self {
        let rules = Rules::of(planned, stored);
        let mut all = Vec::new();
        for number in 0..epochs {
            let epoch = open(corpus, planned, number);
            let rows = rows(&epoch);
            assert_eq!(rows.len() as u64, epoch.rows());
            for (at, row) in rows.iter().enumerate() {
                assert_eq!(row.number(), at as u64);
                rules.check(row);
            }
            all.push(rows);
        }
        Self { rules, planned, epochs: all, selected }
    }

    /// Documents of each source that are kept and hold a token, each once.
    pub fn all_of(
        planned: &Plan,
        stored: &[CheckedDocument],
    ) -> BTreeMap<String, BTreeMap<u64, (u32, u32)>> {
        let of = |from: &str| {
            let mine = (0_u64..).zip(stored).filter(|(_, of)| of.kept && of.source == from);
            let held = mine.filter(|(_, of)| of.ids.as_ref().is_some_and(|ids| !ids.is_empty()));
            held.map(|(id, _)| (id, (1, 1))).collect()
        };
        let sources = planned.plan.recipe.sources.iter();
        sources
            .map(|source| (source.name.clone(), of(&source.from.as_ref().unwrap().entries()[0])))
            .collect()
    }

    /// Whether rows come in the order of the run.
    fn in_order(&self) -> bool {
        self.rules.recipe.batch.is_none()
    }

    fn drops(&self) -> bool {
        let batch = self.rules.recipe.batch.as_ref();
        batch.is_some_and(|batch| batch.rows.is_some() && batch.tail == BatchTail::Drop)
    }

    /// What a row counts in the unit of the mix.
    pub fn amount(&self, row: &EpochRow) -> u64 {
        let segments = row.segments().iter();
        match self.rules.recipe.mix.unit {
            MixUnit::Tokens => segments.map(|segment| u64::from(segment.length)).sum(),
            MixUnit::Rows => 1,
            MixUnit::Documents => segments.filter(|segment| segment.offset == 0).count() as u64,
            MixUnit::LossTokens => segments
                .map(|segment| {
                    let weights = self.rules.weights(segment);
                    weights.iter().filter(|weight| **weight > 0.0).count() as u64
                })
                .sum(),
        }
    }

    fn of_source<'b>(&'b self, name: &'b str) -> impl Iterator<Item = &'b EpochRow> {
        self.epochs.iter().flatten().filter(move |row| row.source() == Some(name))
    }

    /// Every pass of every source holds every token of its documents as often as asked.
    pub fn check_conservation(&self, corpus: &Corpus) {
        let told = corpus.explain(self.planned, &Context::new()).unwrap();
        let first = &self.epochs[0];
        assert_eq!(told.rows, first.len() as u64);
        if !self.drops() && !self.carries() {
            let tokens = first.iter().flat_map(EpochRow::segments).map(|s| u64::from(s.length));
            assert_eq!(told.tokens, tokens.sum::<u64>());
            assert_eq!(told.left_out_rows, 0);
            for of in &told.sources {
                let mine: Vec<_> =
                    first.iter().filter(|row| row.source() == Some(&*of.name)).collect();
                assert_eq!(of.rows, mine.len() as u64);
                let tokens =
                    mine.iter().flat_map(|row| row.segments()).map(|s| u64::from(s.length));
                assert_eq!(of.epoch_tokens, tokens.sum::<u64>());
            }
        }
        if told.batches.is_some() {
            let last = first.last().and_then(EpochRow::batch);
            assert_eq!(told.batches, Some(last.map_or(0, |last| last + 1)));
        }
        for (name, documents) in &self.selected {
            let packed: BTreeMap<u64, usize> =
                documents.keys().map(|id| (*id, self.rules.packed(name, *id))).collect();
            let of = told.sources.iter().find(|of| of.name == *name).unwrap();
            assert_eq!(
                of.documents,
                documents.values().filter(|copies| copies.1 > 0).count() as u64
            );
            let lost = of.dropped_tokens + of.truncated_tokens + of.lone_eos + of.partial_tokens;
            let planned = self.planned.plan.sources.iter().find(|of| of.name == *name).unwrap();
            // The tokens of documents, EOS at their cuts apart.
            let pass = planned.effective_tokens - lost;
            let in_rows = of.tokens + of.specials_added - lost;
            assert_eq!(in_rows, planned.packed_tokens, "what explain says is added");
            assert!(in_rows == pass || self.rules.recipe.pack.cut_eos);
            let exact = documents.values().all(|(least, most)| least == most);
            if exact {
                let sum = |of: &dyn Fn(u64) -> usize| -> u64 {
                    documents.iter().map(|(id, copies)| of(*id) as u64 * u64::from(copies.0)).sum()
                };
                assert_eq!(pass, sum(&|id| packed[&id]), "tokens of a pass over `{name}`");
                assert_eq!(
                    pass + lost,
                    sum(&|id| self.rules.length(id)),
                    "what explain says is lost"
                );
            }
            if self.rules.recipe.order.curriculum.as_ref().is_some_and(|of| of.replace) {
                continue;
            }
            if self.in_order() {
                self.check_passes(name, &packed, pass);
            } else {
                self.check_counts(name, &packed, pass);
            }
        }
    }

    /// Pass after pass, each of them whole before the next begins.
    fn check_passes(&self, name: &str, packed: &BTreeMap<u64, usize>, pass: u64) {
        let documents = &self.selected[name];
        let mut seen: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        let mut copies: Option<BTreeMap<u64, u32>> = None;
        let (mut given, mut in_rows) = (0, 0);
        for row in self.of_source(name) {
            for segment in row.segments() {
                let id = segment.document.0;
                assert!(documents.contains_key(&id), "document {id} is not selected for `{name}`");
                let of = seen.entry(id).or_insert_with(|| vec![0; packed[&id]]);
                let own = self.rules.own(segment);
                given += own.len() as u64;
                in_rows += u64::from(segment.length);
                for token in &mut of[own] {
                    *token += 1;
                    assert!(*token <= documents[&id].1, "document {id} comes again within a pass");
                }
            }
            assert!(given <= pass, "a row reaches into the next pass of `{name}`");
            if given < pass {
                continue;
            }
            let mut found = BTreeMap::new();
            for (id, (least, most)) in documents {
                let Some(counts) = seen.get(id) else {
                    assert!(*least == 0 || packed[id] == 0, "document {id} of `{name}` is missing");
                    continue;
                };
                let times = counts.first().copied().unwrap_or(0);
                assert!(counts.iter().all(|count| *count == times), "document {id} came in part");
                assert!((*least..=*most).contains(&times));
                found.insert(*id, times);
            }
            if copies.is_none() {
                let of = self.planned.plan.sources.iter().find(|of| of.name == name).unwrap();
                assert_eq!(in_rows, of.packed_tokens, "tokens in rows of the first pass");
            }
            let before = copies.get_or_insert_with(|| found.clone());
            assert_eq!(*before, found, "another pass has other copies");
            seen.clear();
            given = 0;
        }
    }

    /// Where batches put rows in another order: as often as the passes that are begun and ended allow.
    fn check_counts(&self, name: &str, packed: &BTreeMap<u64, usize>, pass: u64) {
        let documents = &self.selected[name];
        let mut seen: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        let mut given = 0;
        for segment in self.of_source(name).flat_map(EpochRow::segments) {
            let id = segment.document.0;
            assert!(documents.contains_key(&id), "document {id} is not selected for `{name}`");
            let of = seen.entry(id).or_insert_with(|| vec![0; packed[&id]]);
            let own = self.rules.own(segment);
            given += own.len() as u64;
            of[own].iter_mut().for_each(|count| *count += 1);
        }
        let whole = given / pass;
        let begun = given.div_ceil(pass) + if self.drops() { self.epochs.len() as u64 } else { 0 };
        for (id, (least, most)) in documents {
            let counts = seen.get(id).cloned().unwrap_or_else(|| vec![0; packed[id]]);
            let fits = |count: &u64| {
                let enough = self.drops() || self.carries() || *count >= whole * u64::from(*least);
                enough && *count <= begun * u64::from(*most)
            };
            assert!(
                counts.iter().all(fits),
                "document {id} of `{name}`: {counts:?}, {given} of {pass}"
            );
        }
    }

    fn carries(&self) -> bool {
        let batch = self.rules.recipe.batch.as_ref();
        batch.is_some_and(|batch| batch.tail == BatchTail::Carry)
    }

    /// What source `at` is due when the run has given `total`.
    fn due(&self, at: usize, total: f64) -> f64 {
        let plan = &self.planned.plan;
        let share = |weights: &[f64]| weights[at] / weights.iter().sum::<f64>();
        let schedule = &self.rules.recipe.mix.schedule;
        if schedule.is_empty() {
            let weights: Vec<f64> = plan.sources.iter().map(|of| of.weight as f64).collect();
            return share(&weights) * total;
        }
        let step = self.rules.recipe.batch.as_ref().and_then(|batch| batch.rows).unwrap_or(1);
        let step = step
            * if self.rules.recipe.mix.unit == MixUnit::Rows {
                1
            } else {
                self.rules.capacity() as u64
            };
        let points: Vec<(f64, Vec<f64>, Ramp)> = schedule
            .iter()
            .map(|point| {
                let moment = point.at_tokens.unwrap_or_else(|| point.at_step.unwrap() * step);
                let weight = |name: &String| point.weights.get(name).copied().unwrap_or(0.0);
                let weights = plan.sources.iter().map(|of| weight(&of.name)).collect();
                (moment as f64, weights, point.ramp)
            })
            .collect();
        let mut due = 0.0;
        for (number, (begin, weights, ramp)) in points.iter().enumerate() {
            let next = points.get(number + 1);
            let end = next.map_or(f64::INFINITY, |next| next.0);
            let past = total.min(end) - begin;
            if past <= 0.0 {
                break;
            }
            due += match (ramp, next) {
                (Ramp::Linear, Some(next)) => {
                    let (from, to) = (share(weights), share(&next.1));
                    from * past + (to - from) * past * past / (2.0 * (end - begin))
                }
                _ => share(weights) * past,
            };
        }
        due
    }

    /// At every prefix no source is further from its share than the largest row; where batches put rows in
    /// another order, at the end of every batch or window.
    pub fn check_mix(&self) {
        let plan = &self.planned.plan;
        let batch = self.rules.recipe.batch.as_ref();
        let grouped = self.rules.recipe.order.kind == OrderKind::LengthGrouped;
        let mut largest = 0;
        let mut given = vec![0_u64; plan.sources.len()];
        let linear = self.rules.recipe.mix.schedule.iter().any(|point| point.ramp == Ramp::Linear);
        for (number, rows) in self.epochs.iter().enumerate() {
            if number > 0
                && (self.drops() || (!self.in_order() && batch.is_some_and(|of| of.rows.is_none())))
            {
                break;
            }
            for (at, row) in rows.iter().enumerate() {
                let Some(source) = row.source() else { continue };
                let amount = self.amount(row);
                largest = largest.max(amount);
                given[plan.sources.iter().position(|of| of.name == source).unwrap()] += amount;
                let ends = match batch {
                    None => true,
                    _ if grouped => at + 1 == rows.len() && !self.drops() && !self.carries(),
                    Some(of) => of.rows.is_none_or(|rows| ((at + 1) as u64).is_multiple_of(rows)),
                };
                if !ends {
                    continue;
                }
                let total: u64 = given.iter().sum();
                // A ramp is cut into lines within an eighth of a row of the curve.
                let slack = if linear { self.rules.capacity() as f64 / 8.0 } else { 0.0 } + 1e-6;
                // The row that comes next may be larger than all before.
                let next = rows.get(at + 1..).unwrap_or_default().iter().take(64);
                let bound = next.map(|row| self.amount(row)).max().unwrap_or(0).max(largest) as f64;
                for (at, given) in given.iter().enumerate() {
                    let due = self.due(at, total as f64);
                    let off = (*given as f64 - due).abs();
                    assert!(
                        off <= bound + slack,
                        "source {at} has {given} of {total}, due {due}, {off} off, {bound} allowed"
                    );
                }
            }
        }
        if self.rules.recipe.mix.unit == MixUnit::Tokens {
            assert!(largest <= self.rules.capacity() as u64);
        }
    }

    /// Epochs are the stretches of the run between multiples of the budget.
    pub fn check_epochs(&self) {
        if !self.in_order() {
            return;
        }
        let budget = self.planned.plan.budget;
        let mut total = 0;
        for (number, rows) in (1_u64..).zip(&self.epochs) {
            assert!(!rows.is_empty(), "an epoch of rows");
            for row in rows {
                // Rows that count nothing follow the one that reached the end.
                let amount = self.amount(row);
                let fits = total < number * budget || amount == 0;
                assert!(fits, "epoch {} has a row too many", number - 1);
                total += amount;
            }
            assert!(total >= number * budget, "epoch {} ends too soon", number - 1);
        }
    }

    /// Batches are as large as asked and in order; the tail is as asked.
    pub fn check_batches(&self) {
        let Some(batch) = &self.rules.recipe.batch else {
            assert!(self.epochs.iter().flatten().all(|row| row.batch().is_none()));
            return;
        };
        for rows in &self.epochs {
            let mut batches: BTreeMap<u64, Vec<&EpochRow>> = BTreeMap::new();
            let mut before = 0;
            for row in rows {
                let number = row.batch().expect("a batch");
                assert!(number >= before);
                before = number;
                batches.entry(number).or_default().push(row);
            }
            assert!(batches.keys().copied().eq(0..batches.len() as u64), "a batch is empty");
            for (number, of) in &batches {
                if let Some(rows) = batch.rows {
                    assert_eq!(of.len() as u64, rows, "batch {number}");
                    let pads = of.iter().filter(|row| row.source().is_none()).count();
                    let last = *number + 1 == batches.len() as u64;
                    assert!(
                        pads == 0 || (last && batch.tail == BatchTail::Pad && (pads as u64) < rows)
                    );
                }
                if batch.pad.is_some() {
                    let multiple = u64::from(self.rules.recipe.pack.options.doc_multiple);
                    let real =
                        |row: &&EpochRow| row.segments().first().map_or(0, |s| u64::from(s.length));
                    let longest = of.iter().map(real).max().unwrap().next_multiple_of(multiple);
                    assert!(
                        of.iter().all(|row| row.ids().len() as u64 == longest),
                        "batch {number}"
                    );
                }
                if let Some(most) = batch.max_tokens {
                    let real =
                        |row: &&EpochRow| row.segments().iter().map(|s| u64::from(s.length)).sum();
                    let lengths: Vec<u64> = of.iter().map(real).collect();
                    let size = match batch.count {
                        corpusdb::epoch::recipe::BudgetCount::Real => lengths.iter().sum::<u64>(),
                        corpusdb::epoch::recipe::BudgetCount::Padded => {
                            lengths.len() as u64 * lengths.iter().max().unwrap()
                        }
                    };
                    assert!(size <= most || of.len() == 1, "batch {number} holds {size}");
                }
            }
        }
    }

    /// `concat` leaves no place free but in the last row of a pass, in one that has all the segments that it may have, and
    /// where a part would have nothing before its EOS.
    pub fn check_full(&self) {
        if self.rules.recipe.pack.kind != PackKind::Concat
            || self.rules.recipe.pack.options.doc_multiple > 1
        {
            return;
        }
        let strata = self.rules.recipe.order.curriculum.as_ref().map_or(1, |of| of.strata as usize);
        for name in self.selected.keys() {
            let short = self.of_source(name).filter(|row| {
                let free = if self.rules.recipe.pack.cut_eos { 2 } else { 0 };
                row.segments().iter().map(|s| s.length as usize).sum::<usize>() + free
                    < self.rules.capacity()
                    && !self.rules.is_full(row.segments().len())
            });
            let passes: BTreeSet<u32> = (0..self.passes(name)).collect();
            assert!(short.count() <= passes.len() * strata, "`{name}` has rows with free places");
        }
    }

    /// Passes of a source that are begun.
    fn passes(&self, name: &str) -> u32 {
        let of = self.planned.plan.sources.iter().find(|of| of.name == name).unwrap();
        let given: u64 =
            self.of_source(name).flat_map(EpochRow::segments).map(|s| u64::from(s.length)).sum();
        // Where EOS stand at cuts, later passes may have fewer tokens than the first.
        let more = u32::from(self.drops()) + u32::from(self.rules.recipe.pack.cut_eos);
        u32::try_from(given.div_ceil(of.packed_tokens)).unwrap() + more
    }
}

// ----
// Any row, any batch of any world, any stream from anywhere are parts of one sequence.

pub const WORLDS: [u64; 6] = [1, 2, 3, 6, 8, 64];

/// Whether two rows are one.
pub fn same(a: &EpochRow, b: &EpochRow) -> bool {
    a.number() == b.number()
        && a.ids() == b.ids()
        && a.shape() == b.shape()
        && a.batch() == b.batch()
        && a.trained() == b.trained()
        && content(a) == content(b)
}

/// Any row by itself, any batch of any world, any stream from anywhere are parts of the one sequence.
pub fn check_worlds(corpus: &Corpus, run: &Run<'_>, random: &mut Random) {
    for (number, rows) in run.epochs.iter().enumerate() {
        let epoch = open(corpus, run.planned, number as u64);
        if rows.is_empty() {
            continue;
        }
        for _ in 0..4 {
            let at = random.below(rows.len());
            assert!(same(&epoch.row(at as u64).unwrap(), &rows[at]), "row {at}");
        }
        assert!(epoch.row(rows.len() as u64).is_err());
        let batches = epoch.batches();
        let from = random.below(batches as usize) as u64;
        let first =
            rows.iter().position(|row| row.batch().unwrap_or(row.number()) == from).unwrap();
        let divided = run.rules.recipe.batch.as_ref().and_then(|batch| batch.rows);
        let number_of = |row: &EpochRow| row.batch().unwrap_or(row.number());
        for world in WORLDS {
            let uneven = divided.is_some_and(|rows| !rows.is_multiple_of(world));
            if uneven {
                let strict = StreamOptions { uneven: false, ..part(from, 0, world) };
                let error = epoch.batch(&strict).unwrap_err().to_string();
                assert!(error.contains("do not divide evenly"), "{error}");
            }
            // Ranks of a world read one step each, and together have all of it.
            let step = if divided.is_some() { 1 } else { world };
            let mut found: Vec<EpochRow> = Vec::new();
            let mut sizes: Vec<usize> = Vec::new();
            for rank in 0..world {
                let batch = epoch.batch(&part(from, rank, world)).unwrap();
                assert!((from..from + step).contains(&batch.number));
                assert!(batch.rows.iter().all(|row| number_of(row) == batch.number));
                sizes.push(batch.rows.len());
                found.extend(batch.rows);
            }
            if divided.is_some() {
                let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
                assert!(most - least <= usize::from(uneven), "{sizes:?}");
            } else {
                let there = (batches - from).min(world) as usize;
                assert_eq!(sizes.iter().filter(|size| **size > 0).count(), there);
            }
            found.sort_by_key(EpochRow::number);
            let of = rows.iter().filter(|row| (from..from + step).contains(&number_of(row)));
            let of: Vec<&EpochRow> = of.collect();
            assert!(found.len() == of.len() && found.iter().zip(of).all(|(a, b)| same(a, b)));
        }
        // A stream that stops somewhere goes on in another world; every rank has as many batches.
        let (before, after) = (*random.pick(&WORLDS[..4]), *random.pick(&WORLDS[..4]));
        let steps = |from: u64, world: u64| match divided {
            Some(_) => batches - from,
            None => (batches - from).div_ceil(world),
        };
        let mut streams: Vec<_> =
            (0..before).map(|rank| epoch.stream(&part(from, rank, before)).unwrap()).collect();
        let mut found: Vec<EpochRow> = Vec::new();
        let some = random.below(steps(from, before) as usize + 1);
        for _ in 0..some {
            for stream in &mut streams {
                found.extend(stream.next().unwrap().unwrap().rows);
            }
        }
        let (again, next) = streams[0].state();
        let wide = if divided.is_some() { 1 } else { before };
        let reached = (from + some as u64 * wide).min(batches);
        assert_eq!((again, next), (number as u64, reached));
        assert!(streams.iter().all(|stream| stream.state() == (again, next)));
        drop(streams);
        for rank in 0..after {
            let mut count = 0;
            for batch in
                epoch.stream(&StreamOptions { prefetch: 3, ..part(next, rank, after) }).unwrap()
            {
                found.extend(batch.unwrap().rows);
                count += 1;
            }
            assert_eq!(count, steps(next, after), "rank {rank} of {after} has other work");
        }
        assert!(epoch.stream(&part(batches + 1, 0, 1)).is_err(), "past the end");
        found.sort_by_key(EpochRow::number);
        let rest = &rows[first..];
        assert_eq!(found.len(), rest.len());
        assert!(found.iter().zip(rest).all(|(a, b)| same(a, b)));
    }
    let last = run.epochs.len() as u64 - 1;
    assert!(open(corpus, run.planned, last).stream(&part(0, 3, 3)).is_err(), "rank 3 of 3 is none");
}
