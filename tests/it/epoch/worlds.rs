//! Ranks, resuming and determinism: the same batches for every world, from anywhere, every time.

use super::place::{Place, THREE, built, content, open, part, plan, stored};
use super::run::Run;
use crate::support::Random;
use crate::support::outputs::files;
use corpusdb::epoch::{EpochRow, StreamOptions};
use corpusdb::{Context, Corpus};

const WORLDS: [u64; 6] = [1, 2, 3, 6, 8, 64];

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

const RECIPE: &str = r#"
seed = 9
[tokenizer]
specials = { bos = "<|bos|>", eos = "<|eos|>", pad = "<|pad|>" }
[select]
repeat = "1.5"
[mix]
tokens = 12_000
[pack]
length = 96
[batch]
rows = 12
tail = "carry"
balance = 100
[output]
shard_bytes = 4_096
[[source]]
name = "web"
weight = 0.5
max_repeats = 40
[[source]]
name = "books"
weight = 0.4
max_repeats = 40
[[source]]
name = "code"
weight = 0.1
max_repeats = 40
"#;

#[test]
fn bytes_depend_on_neither_threads_nor_compaction_nor_reopening() {
    let place = Place::of(3, &THREE);
    place.writer().create_snapshot("then").unwrap();
    for pack in ["best-fit", "greedy", "concat", "none"] {
        let text = RECIPE.replace("length = 96", &format!("length = 96\nkind = \"{pack}\""));
        let text = format!("snapshot = \"then\"\n{text}");
        let corpus = place.reader();
        let planned = plan(&corpus, &text).unwrap();
        let one = built(&place, &corpus, &planned, 1, &format!("{pack}-one"), 1);
        let two = built(&place, &corpus, &planned, 1, &format!("{pack}-two"), 2);
        assert_eq!(files(&one), files(&two));
        assert!(files(&one).len() > 1, "shards and a manifest");
        drop(corpus);
        place.writer().compact(&Context::new()).unwrap();
        let corpus = place.reader();
        let again = plan(&corpus, &text).unwrap();
        assert_eq!(again.plan.hash(), planned.plan.hash());
        let three = built(&place, &corpus, &again, 1, &format!("{pack}-three"), 2);
        assert_eq!(files(&one), files(&three));
    }
}

/// The bound by which ranks are balanced: the cost of one row.
#[test]
fn ranks_are_balanced_to_within_a_row_for_every_divisor_of_the_batch() {
    let place = Place::of(4, &THREE);
    let corpus = place.reader();
    let all = stored(&corpus);
    for (pack, linear) in [("best-fit", 0), ("best-fit", 100), ("none", 7), ("greedy", 24_576)] {
        let text = RECIPE
            .replace("length = 96", &format!("length = 96\nkind = \"{pack}\""))
            .replace("rows = 12", "rows = 24")
            .replace("balance = 100", &format!("balance = {linear}"));
        let planned = plan(&corpus, &text).unwrap();
        let epoch = open(&corpus, &planned, 0);
        let cost = |row: &EpochRow| {
            let lengths = row.segments().iter().map(|segment| u128::from(segment.length));
            lengths.clone().map(|length| length * length).sum::<u128>()
                + linear as u128 * lengths.sum::<u128>()
        };
        assert!(epoch.batches() > 3 && !all.is_empty());
        for batch in 0..epoch.batches() {
            for world in [1, 2, 3, 4, 6, 8, 12, 24] {
                let ranks = (0..world).map(|rank| {
                    epoch
                        .batch(&StreamOptions { uneven: false, ..part(batch, rank, world) })
                        .unwrap()
                        .rows
                });
                let ranks: Vec<Vec<EpochRow>> = ranks.collect();
                assert!(ranks.iter().all(|rows| rows.len() as u64 == 24 / world));
                let sums: Vec<u128> =
                    ranks.iter().map(|rows| rows.iter().map(cost).sum()).collect();
                let largest = ranks.iter().flatten().map(cost).max().unwrap();
                let spread = sums.iter().max().unwrap() - sums.iter().min().unwrap();
                assert!(
                    spread <= largest,
                    "{pack} batch {batch}, {world} ranks: {sums:?}, {largest}"
                );
            }
        }
    }
}
