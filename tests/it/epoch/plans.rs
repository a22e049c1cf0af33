//! Stored plans: what is refused leaves none behind, and each is forgotten after those that go on from it.

use crate::support::epochs::{EpochCorpus, SPECIALS, same_files};
use crate::support::outputs;
use crate::support::{
    Page, Random, StopAt, StopWhen, TestDir, copy, corpusdb, ingest, lines, prose, repository,
    writer,
};
use corpusdb::Recipe;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

fn plans(place: &EpochCorpus) -> usize {
    let listed = corpusdb(&["epoch", "list", &place.corpus, "--json"]).good();
    listed.stdout.lines().count()
}

/// The recipe was planned and the plan stored, with a snapshot, before the output was looked at.
#[test]
fn a_build_into_a_directory_in_use_leaves_no_plan() {
    let place = EpochCorpus::holding(60);
    place.scratch.write("taken/theirs.txt", "precious");
    for out in [place.scratch.arg("taken"), ".".to_owned()] {
        place.recipe("build", SPECIALS, &["--out", &out]).fails(&["--out"]);
    }
    assert_eq!(plans(&place), 0);
    place.build(SPECIALS, "out", &[]);
    assert_eq!(plans(&place), 1);
}

/// The first Ctrl-C ended `epoch plan` there and then, and the snapshot that it had made stayed.
#[test]
fn planning_that_is_stopped_leaves_neither_plan_nor_snapshot() {
    let place = EpochCorpus::holding(60);
    let recipe = Recipe::parse(&format!("version = 1\n{SPECIALS}")).unwrap();
    let snapshots =
        || corpusdb(&["snapshot", "list", &place.corpus, "--json"]).good().json_lines().len();
    let mut stopped = 0;
    for at in 0.. {
        let stop = StopAt::new(StopWhen::Told(at));
        let mut open = writer(Path::new(&place.corpus));
        let planned = open.plan_epochs(&recipe, 1, &stop.context());
        drop(open);
        let Err(error) = planned else { break };
        assert!(error.is_interrupt(), "step {at}: {error}");
        assert_eq!((plans(&place), snapshots()), (0, 0), "step {at}");
        stopped += 1;
    }
    // Before each of three sources, at least.
    assert!(stopped >= 3, "{stopped}");
    assert_eq!((plans(&place), snapshots()), (1, 1));
}

/// A snapshot was made for a plan that could not be had, and stayed; the reason did not say that the field is null.
#[test]
fn a_refused_plan_leaves_no_snapshot_and_names_the_null_field() {
    let place = EpochCorpus::holding(60);
    let file = place.scratch.write(
        "odd.jsonl",
        "{\"id\": \"x\", \"text\": \"seven words that stand in no other file\"}\n",
    );
    ingest(&place.corpus, &[&file], &["--source", "odd", "--id-field", "id"]);
    let snapshots =
        || corpusdb(&["snapshot", "list", &place.corpus, "--json"]).good().json_lines().len();
    let sources = "[[source]]\nname = \"web\"\n[[source]]\nname = \"odd\"\n";
    let words = ["source `odd`", "none of its 1 documents has a value of `year`", "[[source]]"];
    let own = "where = \"year > 2000\"\n";
    for recipe in
        [format!("{SPECIALS}[select]\n{own}{sources}"), format!("{SPECIALS}{sources}{own}")]
    {
        for verb in ["plan", "explain"] {
            place.recipe(verb, &recipe, &[]).fails(&words);
        }
        place.recipe("build", &recipe, &["--out", &place.scratch.arg("out")]).fails(&words);
        assert_eq!((plans(&place), snapshots()), (0, 0));
    }
    // A field that has values, of which none passes, is not said to be null.
    let refused = place.recipe(
        "plan",
        &format!("{SPECIALS}[[source]]\nname = \"web\"\nwhere = \"year > 3000\"\n"),
        &[],
    );
    assert!(!refused.stderr.contains("has a value"), "{refused}");
    refused.fails(&["source `web`"]);
    place.recipe("plan", SPECIALS, &[]).good();
    assert_eq!((plans(&place), snapshots()), (1, 1));
    // One that was there stays.
    place
        .recipe("plan", &format!("{SPECIALS}[select]\nmin_tokens = 100000\n"), &[])
        .fails(&["min_tokens"]);
    place.run("extend", "1", &["--consumed", "100000000"]).fails(&["row"]);
    assert_eq!((plans(&place), snapshots()), (1, 1));
}

/// It said that the plan does not fit this corpus, and to plan again.
#[test]
fn a_plan_that_another_one_goes_on_from_is_dropped_after_it() {
    let place = EpochCorpus::holding(60);
    place.recipe("plan", SPECIALS, &[]).good();
    place.run("extend", "1", &["--consumed", "1"]).good();
    let refused = place.run("drop", "1", &[]);
    assert!(!refused.stderr.contains("again"), "{refused}");
    refused.fails(&["plan 2 extends plan 1", "drop plan 2 first"]);
    place.run("drop", "2", &[]).good();
    place.run("drop", "1", &[]).good();
    assert_eq!(plans(&place), 0);
}

/// A corpus with a source for each month, besides those that it has.
fn months(place: &EpochCorpus, months: &[&str]) {
    for month in months {
        let mut random = Random::new(month.bytes().map(u64::from).sum());
        let page = |n: usize| Page::keyed(format!("{month}-{n}"), prose(&mut random, 0, 30 + n));
        let pages: Vec<Page> = (0..20).map(page).collect();
        let file = place.scratch.write(&format!("{month}.jsonl"), lines(&pages));
        ingest(&place.corpus, &[&file], &["--source", month, "--id-field", "id"]);
    }
}

/// Ids of the documents of sources.
fn ids_of(place: &EpochCorpus, sources: &[&str]) -> BTreeSet<u64> {
    let names: Vec<String> = sources.iter().map(|name| format!("'{name}'")).collect();
    let statement =
        format!("SELECT id FROM documents WHERE kept AND source IN ({})", names.join(", "));
    let rows = corpusdb(&["sql", &place.corpus, &statement, "--format", "json"]).good();
    rows.json_lines().iter().map(|row| row["id"].as_u64().unwrap()).collect()
}

/// Ids of the documents in the rows of a source of a built epoch.
fn packed(place: &EpochCorpus, out: &str, source: &str) -> BTreeSet<u64> {
    let rows = outputs::rows(&place.path(out));
    let own = rows.iter().filter(|row| row.source == source);
    own.flat_map(|row| row.documents.iter().map(|id| *id as u64).collect::<Vec<_>>()).collect()
}

fn draws_from(explanation: &Value, at: usize) -> Vec<String> {
    serde_json::from_value(explanation["sources"][at]["draws_from"].clone()).unwrap_or_default()
}

#[test]
fn patterns_and_lists_name_sources_of_the_snapshot() {
    let place = EpochCorpus::holding(60);
    months(&place, &["2024-02", "2024-01", "2025-01"]);
    corpusdb(&["snapshot", "create", &place.corpus, "then"]).good();
    let of = |snapshot: &str| {
        let snapshot = if snapshot.is_empty() {
            String::new()
        } else {
            format!("snapshot = \"{snapshot}\"\n")
        };
        format!(
            "{snapshot}{SPECIALS}[[source]]\nname = \"year\"\nfrom = [\"2024-*\"]\n\
             [[source]]\nname = \"rest\"\nfrom = [\"code\", \"20[!23]?*\", \"20?5-0[1-3]\", \"books\"]\n\
             [[source]]\nname = \"web\"\n"
        )
    };
    // `20[!23]?*` names nothing here.
    place.recipe("explain", &of("then"), &[]).fails(&[
        "no source `20[!23]?*`",
        "`2024-01`",
        "`web`",
    ]);
    let of = |snapshot: &str| of(snapshot).replace(", \"20[!23]?*\"", "");
    let explained = place.recipe("explain", &of("then"), &["--json"]).good().json();
    assert_eq!(draws_from(&explained, 0), ["2024-01", "2024-02"]);
    assert_eq!(draws_from(&explained, 1), ["2025-01", "books", "code"]);
    assert!(explained["sources"][2].get("draws_from").is_none());
    let text = place.recipe("explain", &of("then"), &[]).good().stdout;
    assert!(text.contains("year draws from 2: 2024-01, 2024-02\n"), "{text}");
    place.build(&of("then"), "first", &[]);
    place.verified("first");
    let years = ids_of(&place, &["2024-01", "2024-02"]);
    assert!(years.len() > 30);
    assert_eq!(packed(&place, "first", "year"), years);
    assert_eq!(packed(&place, "first", "rest"), ids_of(&place, &["2025-01", "books", "code"]));

    // Months that come later are none of the snapshot's: the same recipe is the same plan.
    months(&place, &["2024-03"]);
    let again = place.recipe("plan", &of("then"), &["--json"]).good().json();
    assert_eq!(again["hash"], explained["plan"]);
    assert_eq!(plans(&place), 1);
    place.run("build", "1", &["--out", &place.scratch.arg("again")]).good();
    same_files(&place.path("first"), &place.path("again"));
    corpusdb(&["snapshot", "create", &place.corpus, "later"]).good();
    let now = place.recipe("explain", &of("later"), &["--json"]).good().json();
    assert_eq!(draws_from(&now, 0), ["2024-01", "2024-02", "2024-03"]);
    // What goes on from a plan takes in what its patterns name by now.
    let extended = place.run("extend", "1", &["--consumed", "2", "--json"]).good().json();
    let explained =
        place.run("explain", &extended["number"].to_string(), &["--json"]).good().json();
    assert_eq!(draws_from(&explained, 0), ["2024-01", "2024-02", "2024-03"]);
    // A stored plan knows what it draws from, whatever comes.
    let first = place.run("explain", "1", &["--json"]).good().json();
    assert_eq!(draws_from(&first, 0), ["2024-01", "2024-02"]);
}

#[test]
fn patterns_and_lists_without_a_meaning_are_refused() {
    let place = EpochCorpus::holding(60);
    months(&place, &["2024-01"]);
    corpusdb(&["snapshot", "create", &place.corpus, "then"]).good();
    months(&place, &["2024-02"]);
    let fails = |sources: &str, words: &[&str]| {
        place.recipe("explain", &format!("{SPECIALS}{sources}"), &[]).fails(words);
    };
    let source = |name: &str, rest: &str| format!("[[source]]\nname = \"{name}\"\n{rest}\n");
    let two = |first: &str, second: &str| source("a", first) + &source("b", second);
    fails(&source("a", "from = \"2026-*\""), &["no source `2026-*`", "`2024-01`, `2024-02`"]);
    fails(&source("a", "from = [\"2024-*\", \"wbe\"]"), &["no source `wbe`"]);
    fails(&source("a", "from = \"2024-[\""), &["source `a`", "`2024-[`", "not closed"]);
    fails(&source("a", "from = []"), &["empty list", "line"]);
    fails(&source("a", "from = 2024"), &["a pattern such as \"2024-*\"", "line"]);
    fails(&source("a", "from = [\"web\", \"web\"]"), &["`web` is in the list twice"]);
    let claimed = ["sources `a` and `b` of the recipe both draw from `2024-01`, `2024-02`; leave"];
    fails(&two("from = \"2024-*\"", "from = [\"*-0?\", \"web\"]"), &claimed);
    fails(&two("from = \"2024-*\"", "from = \"2024-01\""), &["both draw from `2024-01`;"]);
    let condition = "where = \"tokens % 2 = 0\"";
    fails(&two(&format!("from = \"2024-*\"\n{condition}"), "from = \"2024-01\""), &["both draw"]);
    let others = "from = \"2024-01\"\nwhere = \"tokens % 2 = 1\"";
    let parted = format!("{SPECIALS}{}", two(&format!("from = \"2024-*\"\n{condition}"), others));
    place.recipe("explain", &parted, &[]).good();
    let both = "from = \"2024-01\"\nwhere = \"tokens % 4 = 0\"";
    fails(&two(&format!("from = \"2024-*\"\n{condition}"), both), &["overlap in"]);
    // Two by name that draw from one source stay what they were.
    fails(&two("from = \"web\"", "from = \"web\""), &["overlap in"]);
    let younger = source("a", "from = [\"2024-02\", \"web\"]");
    place.recipe("explain", &format!("snapshot = \"then\"\n{SPECIALS}{younger}"), &[]).fails(&[
        "`2024-02`",
        "source `a`",
        "ingested after the snapshot `then`",
    ]);
}

/// Such a name was taken as it is before there were patterns, and is.
#[test]
fn a_source_named_like_a_pattern_is_that_source() {
    let place = EpochCorpus::holding(60);
    months(&place, &["20*", "2024", "a[b"]);
    let recipe = |from: &str| format!("{SPECIALS}[[source]]\nname = \"x\"\nfrom = {from}\n");
    for from in ["20*", "a[b"] {
        let name = format!("{:?}", from);
        let explained = place.recipe("explain", &recipe(&name), &["--json"]).good().json();
        assert!(draws_from(&explained, 0).is_empty());
        assert_eq!(explained["sources"][0]["documents"], 20);
        let listed =
            place.recipe("explain", &recipe(&format!("[{name}]")), &["--json"]).good().json();
        assert_eq!(draws_from(&listed, 0), [from]);
    }
    let more = place.recipe("explain", &recipe("\"20?*\""), &["--json"]).good().json();
    assert_eq!(draws_from(&more, 0), ["20*", "2024"]);
}

/// The plans that these recipes had before there were patterns.
#[test]
fn recipes_without_patterns_have_the_plans_that_they_had() {
    let scratch = TestDir::new();
    let corpus = scratch.path("corpus");
    copy(&repository("tests/formats/v5/corpus"), &corpus);
    let corpus = corpus.display().to_string();
    corpusdb(&["migrate", &corpus]).good();
    let parted = "seed = 5\n[pack]\nlength = 64\n[[source]]\nname = \"all\"\nfrom = \"web\"\nwhere = \"bytes > 20\"\n";
    for (recipe, hash) in [
        (parted, "43511ae2aa9d634dd688c1702672cb558050f19f33281c5afd3eb400ff7bbc4e"),
        ("", "1ada68d8a537ed269dc1070c909f6bee1e732a8893648c88e8a330b6f7de035f"),
    ] {
        let text = format!("version = 1\nsnapshot = \"then\"\n{recipe}");
        let file = scratch.write("recipe.toml", text);
        let explained = corpusdb(&["epoch", "explain", &corpus, &file, "--json"]).good().json();
        assert_eq!(explained["plan"], hash, "{recipe}");
    }
}
