//! Any row, any batch of any world, any stream from anywhere are parts of one sequence.

use crate::support::Random;
use crate::support::checker::corpus::{content, open, part};
use crate::support::checker::run::Run;
use corpusdb::Corpus;
use corpusdb::epoch::{EpochRow, StreamOptions};

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
pub fn check(corpus: &Corpus, run: &Run<'_>, random: &mut Random) {
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
