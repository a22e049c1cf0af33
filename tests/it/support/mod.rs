//! What every test needs, and the only place with helpers: no test stands here, and no test imports from another.

/// The properties of an epoch, each by its definition: a checker that knows stored tokens and the rows of a run, and
/// nothing of the planner.
pub mod checker {
    pub mod corpus;
    pub mod row;
    pub mod run;
}
pub mod command;
pub mod corpus;
pub mod epochs;
pub mod exports;
/// Random chains of plans over random histories of a corpus, and a naive account of what they give.
pub mod ledger {
    pub mod account;
    pub mod drawn;
    pub mod examine;
    pub mod history;
    pub mod run;
}
pub mod loads;
pub mod model;
pub mod outputs;
pub mod pages;
pub mod raw_files;
pub mod scenarios;
pub mod server;
pub mod sources;
pub mod world;

pub use command::*;
pub use corpus::*;
pub use pages::*;
pub use testing::repository;

/// A test with a directory in which its commands run, one with a corpus there, or one with another fixture:
/// * `corpusdb_test!(an_empty_corpus_counts_zero, |t| { t.run("init c"); t.run("count c").is("0"); });`
/// * `corpusdb_test!(an_empty_corpus_is_sound, |scratch, corpus| { sound(&corpus); });`
/// * `corpusdb_test!(plans_have_numbers, EpochCorpus::holding(60), |place| { place.recipe("plan", SPECIALS, &[]).good(); });`
macro_rules! corpusdb_test {
    ($(#[$meta:meta])* $name:ident, |$t:ident| $body:block) => {
        $crate::support::corpusdb_test!($(#[$meta])* $name, $crate::support::TestDir::new(), |$t| $body);
    };
    ($name:ident, |$scratch:ident, $corpus:ident| $body:block) => {
        $crate::support::corpusdb_test!($name, $crate::support::with_corpus(&[]), |($scratch, $corpus)| $body);
    };
    ($(#[$meta:meta])* $name:ident, $fixture:expr, |$made:pat_param| $body:block) => {
        $(#[$meta])*
        #[test]
        fn $name() {
            let $made = $fixture;
            $body
        }
    };
}
pub(crate) use corpusdb_test;

/// Fails with every fault that a rule about the sources found.
pub fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// How many seeds a random search takes: `few`, as many times as `CORPUSDB_SEEDS` says (`make soak SEEDS=25`).
pub fn seeds(few: u64) -> u64 {
    few * u64::from(testing::cases(1))
}

/// Every `of`-th entry of a table, one further on with each time that `CORPUSDB_SEEDS` says: so many times, and it is all.
pub fn part<T>(all: impl IntoIterator<Item = T>, of: usize) -> Vec<T> {
    let taken = seeds(1) as usize;
    all.into_iter().enumerate().filter(|(at, _)| at % of < taken).map(|(_, one)| one).collect()
}

/// Which part of a search that takes long as a whole this process takes: `CORPUSDB_SHARD`, one of a few side by side.
pub fn shard() -> u64 {
    std::env::var("CORPUSDB_SHARD").map_or(0, |text| text.parse().unwrap())
}

/// The seeds of a search that takes long as a whole: from `first` on as many as [`seeds`] says of `few`, a million further
/// on for each [`shard`]; or those of `CORPUSDB_SEED_RANGE` (`478..479`).
pub fn seed_range(first: u64, few: u64) -> std::ops::Range<u64> {
    if let Ok(range) = std::env::var("CORPUSDB_SEED_RANGE") {
        let (from, to) = range.split_once("..").expect("two numbers with `..` between them");
        return from.parse().unwrap()..to.parse().unwrap();
    }
    let first = first + shard() * 1_000_000;
    first..first + seeds(few)
}
