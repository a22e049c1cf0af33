//! Ranks, resuming and determinism: the same batches for every world, from anywhere, every time.

use crate::support::checker::corpus::{CheckedCorpus, THREE, built, open, part, plan, stored};
use crate::support::outputs::files;
use corpusdb::Context;
use corpusdb::epoch::{EpochRow, StreamOptions};

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
    let place = CheckedCorpus::of(3, &THREE);
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
fn ranks_are_balanced_to_within_a_row() {
    let place = CheckedCorpus::of(4, &THREE);
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
