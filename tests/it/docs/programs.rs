//! The programs of `examples/`, each run to its end: as modules of this binary, so that none is linked by itself.

use crate::support::{corpusdb_test, repository};

#[path = "../../../examples/incremental_crawl.rs"]
mod incremental_crawl;
#[path = "../../../examples/ingest_from_memory.rs"]
mod ingest_from_memory;
#[path = "../../../examples/near_duplicate.rs"]
mod near_duplicate;
#[path = "../../../examples/sql_to_batches.rs"]
mod sql_to_batches;
#[path = "../../../examples/train_loop.rs"]
mod train_loop;

type Program = (&'static str, fn() -> Result<(), Box<dyn std::error::Error>>);

const PROGRAMS: [Program; 5] = [
    ("incremental_crawl.rs", incremental_crawl::main),
    ("ingest_from_memory.rs", ingest_from_memory::main),
    ("near_duplicate.rs", near_duplicate::main),
    ("sql_to_batches.rs", sql_to_batches::main),
    ("train_loop.rs", train_loop::main),
];

/// They hold what they say themselves: each ends with an error, or a panic, where it does not.
#[test]
fn the_examples_run() {
    for (name, main) in PROGRAMS {
        main().unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

corpusdb_test!(the_examples_are_all_run_and_short_enough_to_be_read, Vec::new(), |mut names| {
    for entry in std::fs::read_dir(repository("examples")).unwrap() {
        let path = entry.unwrap().path();
        // The demo is a script, and has a page of its own; programs in Python are run with the trainers that they need.
        if path.is_dir() || path.extension().is_some_and(|extension| extension == "py") {
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.lines().count() < 80, "{name} has {} lines", text.lines().count());
        let run =
            format!("//! Run: `cargo run --release --example {}`", name.trim_end_matches(".rs"));
        assert!(text.lines().any(|line| line == run), "{name}: no line `{run}`");
        names.push(name);
    }
    names.sort();
    assert_eq!(names, PROGRAMS.map(|(name, _)| name));
});

/// A page that quotes the examples quotes them as they are.
#[test]
fn the_page_for_rust_programs_quotes_the_examples() {
    let text = |path: &str| std::fs::read_to_string(repository(path)).unwrap();
    let examples: String = PROGRAMS.map(|(name, _)| text(&format!("examples/{name}"))).concat();
    let page = text("docs/how-to/from-a-rust-program.md");
    let blocks = page.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut quoted = 0;
    for block in blocks {
        assert!(examples.contains(block), "stands in no example:\n{block}");
        quoted += 1;
    }
    assert!(quoted > 1);
}
