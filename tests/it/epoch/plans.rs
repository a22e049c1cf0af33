//! Stored plans: refused, dropped, waited for, and read row by row from the command.

use crate::support::checker::corpus::{CheckedCorpus, plan, recipe};
use crate::support::epochs::{EpochCorpus, SPECIALS, same_files};
use crate::support::outputs::rows;
use crate::support::{
    MEMORY, Page, Random, StopAt, StopWhen, assert_contains, command, copy, corpusdb,
    corpusdb_test, ingest, lines, outputs, prose, repository, sound, sql, writer,
};
use corpusdb::{Context, Corpus, CorpusWriter, DocId, Recipe};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

// ----
// Stored plans: what is refused leaves none behind, and each is forgotten after those that go on from it.

fn plans(place: &EpochCorpus) -> usize {
    let listed = corpusdb(&["epoch", "show", &place.corpus, "--json"]).good();
    listed.stdout.lines().count()
}

// The recipe was planned and the plan stored, with a snapshot, before the output was looked at.
corpusdb_test!(a_build_into_a_directory_in_use_leaves_no_plan, EpochCorpus::holding(60), |place| {
    place.scratch.write("taken/theirs.txt", "precious");
    for (out, why) in [(place.scratch.arg("taken"), "--out"), (".".to_owned(), "end in a name")] {
        place.recipe("build", SPECIALS, &["--out", &out]).fails(&[why]);
    }
    assert_eq!(plans(&place), 0);
    place.build(SPECIALS, "out", &[]);
    assert_eq!(plans(&place), 1);
});

// The first Ctrl-C ended `epoch plan` there and then, and the snapshot that it had made stayed.
corpusdb_test!(stopped_planning_leaves_no_plan_nor_snapshot, EpochCorpus::holding(60), |place| {
    let recipe = Recipe::parse(&format!("version = 1\n{SPECIALS}")).unwrap();
    let snapshots =
        || corpusdb(&["snapshot", "show", &place.corpus, "--json"]).good().json_lines().len();
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
});

// A snapshot was made for a plan that could not be had, and stayed; the reason did not say that the field is null.
corpusdb_test!(a_refused_plan_leaves_none_and_names_the_null, EpochCorpus::holding(60), |place| {
    place.scratch.ingest(
        &place.corpus,
        "odd.jsonl",
        "{\"id\": \"x\", \"text\": \"seven words that stand in no other file\"}\n",
        &["--source", "odd", "--id-field", "id"],
    );
    let snapshots =
        || corpusdb(&["snapshot", "show", &place.corpus, "--json"]).good().json_lines().len();
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
});

// It said that the plan does not fit this corpus, and to plan again.
corpusdb_test!(a_plan_is_dropped_after_its_continuation, EpochCorpus::holding(60), |place| {
    place.recipe("plan", SPECIALS, &[]).good();
    let extended = place.run("extend", "1", &["--consumed", "1"]).good();
    assert_contains(&extended.stderr, &["continues plan 1 after 1 of the ", " rows of epoch 0"]);
    let refused = place.run("drop", "1", &[]);
    assert!(!refused.stderr.contains("again"), "{refused}");
    refused.fails(&["plan 2 extends plan 1", "drop plan 2 first"]);
    place.run("drop", "2", &[]).good();
    place.run("drop", "1", &[]).good();
    assert_eq!(plans(&place), 0);
});

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

corpusdb_test!(patterns_and_lists_name_sources, EpochCorpus::holding(60), |place| {
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
});

corpusdb_test!(senseless_patterns_and_lists_are_refused, EpochCorpus::holding(60), |place| {
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
});

// Such a name was taken as it is before there were patterns, and is.
corpusdb_test!(a_source_named_like_a_pattern_is_that_source, EpochCorpus::holding(60), |place| {
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
});

// The plans that these recipes had before there were patterns.
corpusdb_test!(recipes_without_patterns_have_the_plans_that_they_had, |scratch| {
    let corpus = scratch.path("corpus");
    copy(&repository("tests/formats/v8/corpus"), &corpus);
    let corpus = corpus.display().to_string();
    corpusdb(&["dedup", "settle", &corpus]).good();
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
});

// ----
// Plans that are not made: over what came since a snapshot, and of too few rows.

/// Every column whose value another document can change is refused, whichever columns there come to be.
#[test]
fn changing_columns_are_refused_over_an_old_snapshot() {
    let place = CheckedCorpus::of(85, &[("web", 12, 10, 20)]);
    place.writer().create_snapshot("then").unwrap();
    let kept = place.reader().select("kept").unwrap();
    let before = columns_of(&place, &kept);
    let text = |id: u64| place.reader().show(DocId(id)).unwrap().text;
    // A copy of one document, a successor of another; a third is removed.
    let copy = Page::keyed("copy", text(0));
    let key = before[1]["key"].as_str().unwrap().to_owned();
    let again = Page::keyed(key, format!("{} with something at its end", text(1)));
    let mut writer = place.writer();
    place.pour(&mut writer, "web", &[copy, again]);
    writer.remove(&std::iter::once(2).collect(), false, &Context::new()).unwrap();
    drop(writer);
    let after = columns_of(&place, &kept);
    let names: Vec<&String> = before[0].as_object().unwrap().keys().collect();
    let changed: BTreeSet<&str> = names
        .iter()
        .filter(|name| before.iter().zip(&after).any(|(was, is)| was[**name] != is[**name]))
        .map(|name| name.as_str())
        .collect();
    assert!(changed.is_superset(&BTreeSet::from(["kept", "standing", "cluster_size"])));
    let mut refused = BTreeSet::new();
    for name in names {
        let text =
            format!("snapshot = \"then\"\n[select]\nwhere = '\"{name}\" IS NOT NULL OR id >= 0'\n");
        if plan(&place.reader(), &text).is_err_and(|why| why.to_string().contains("since the")) {
            refused.insert(name.as_str());
        }
    }
    assert!(refused.is_superset(&changed), "{changed:?} changed, {refused:?} are refused");
    assert_eq!(refused.len(), 7, "{refused:?}");
}

/// All columns of some documents.
fn columns_of(
    place: &CheckedCorpus,
    documents: &roaring::RoaringTreemap,
) -> Vec<serde_json::Value> {
    let path = place.path.to_str().unwrap();
    let rows = sql(path, "SELECT * FROM documents ORDER BY id");
    let is_asked = |row: &serde_json::Value| documents.contains(row["id"].as_u64().unwrap());
    rows.into_iter().filter(is_asked).collect()
}

#[test]
fn a_plan_of_whose_rows_none_fills_a_batch_is_not_stored() {
    let place = CheckedCorpus::of(86, &[("web", 30, 10, 20)]);
    let all = rows_of_epoch(&place);
    let recipe_of = |rows: u64, tail: &str| {
        recipe(&format!(
            "[tokenizer]\nspecials = {{ pad = \"<|pad|>\" }}\n[pack]\nlength = 64\n[batch]\nrows = {rows}\ntail = \"{tail}\"\n"
        ))
    };
    let mut writer = place.writer();
    for (rows, tail) in [(1_000_000, "drop"), (all + 1, "drop"), (all + 1, "carry")] {
        let why = writer.plan(&recipe_of(rows, tail), &Context::new()).map(|_| ()).unwrap_err();
        let why = why.to_string();
        assert!(
            why.contains(&format!("its {all} rows do not fill a batch")),
            "{rows}, {tail}: {why}"
        );
    }
    assert!(writer.view().epochs().unwrap().is_empty());
    for (rows, tail) in [(all, "drop"), (all + 1, "pad")] {
        let (_, planned) = writer.plan(&recipe_of(rows, tail), &Context::new()).unwrap();
        assert_eq!(place.reader().epoch(&planned, 0, &Context::new()).unwrap().batches(), 1);
    }
}

fn rows_of_epoch(place: &CheckedCorpus) -> u64 {
    let corpus = place.reader();
    let planned = plan(&corpus, "[pack]\nlength = 64\n").unwrap();
    corpus.explain(&planned, &Context::new()).unwrap().rows
}

#[test]
fn window_functions_in_conditions_are_refused() {
    let place = CheckedCorpus::of(87, &[("web", 20, 10, 20)]);
    let first = "[select]\nwhere = \"row_number() OVER (ORDER BY id) <= 3\"\n";
    let why = plan(&place.reader(), first).map(|_| ()).unwrap_err().to_string();
    assert!(why.contains("a window function (OVER) is not allowed in a condition"), "{why}");
    assert!(!why.contains("WindowFunction") && !why.contains("Physical"), "{why}");
    let out = "id IN (SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM documents) WHERE n <= 3)";
    assert_eq!(place.reader().select(out).unwrap().len(), 3);
    let path = place.path.to_str().unwrap();
    let statement = "SELECT id FROM documents WHERE rank() OVER (ORDER BY id) < 3";
    corpusdb(&["sql", path, statement]).fails(&["a window function (OVER)", "subquery"]);
}

// ----
// Stored plans: dropped, waited for, and read row by row from the command.

fn seeded_recipe(seed: u64, more: &str) -> String {
    format!("seed = {seed}\n{SPECIALS}[pack]\nlength = 96\n{more}")
}

fn planned(place: &EpochCorpus, seed: u64) -> u64 {
    place.recipe("plan", &seeded_recipe(seed, ""), &["--json"]).good().json()["number"]
        .as_u64()
        .unwrap()
}

fn listed(place: &EpochCorpus) -> Vec<u64> {
    let ran = corpusdb(&["epoch", "show", &place.corpus, "--json"]).good();
    let number = |line: &Value| line["number"].as_u64().or_else(|| line["plan"].as_u64());
    ran.json_lines().iter().map(|line| number(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

corpusdb_test!(a_dropped_plan_is_gone_with_its_number, EpochCorpus::holding(60), |place| {
    let (one, two) = (planned(&place, 1), planned(&place, 2));
    let out = place.scratch.arg("out");
    place.run("build", &one.to_string(), &["--out", &out]).good();
    place.run("drop", "77", &[]).fails(&["no plan `77`"]);
    let dropped = place.run("drop", &one.to_string(), &["--json"]).good().json();
    assert_eq!((&dropped["type"], &dropped["number"]), (&"plan_dropped".into(), &one.into()));
    assert_eq!(listed(&place), [two]);
    let again = format!("no plan `{one}`");
    place.run("drop", &one.to_string(), &[]).fails(&[&again]);
    place.run("explain", &one.to_string(), &[]).fails(&[&again]);
    place.run("verify", &out, &[]).fails(&["which this corpus does not have"]);
    // What was planned before is planned anew, under another number, and is the same plan.
    let three = planned(&place, 1);
    assert!(three > two, "{three}");
    place.verified("out");
    place.run("drop", &two.to_string(), &[]).good();
    place.run("drop", &three.to_string(), &[]).good();
    assert!(listed(&place).is_empty());
    sound(&place.corpus);
});

corpusdb_test!(plans_are_dropped_after_their_continuations, EpochCorpus::holding(60), |place| {
    let parent = planned(&place, 1).to_string();
    let extend = |from: &str| {
        let ran = place.run("extend", from, &["--consumed", "3", "--json"]).good();
        ran.json()["number"].as_u64().unwrap().to_string()
    };
    let child = extend(&parent);
    let grandchild = extend(&child);
    place.run("drop", &parent, &[]).fails(&[&format!("plan {child} extends plan {parent}")]);
    place.run("drop", &child, &[]).fails(&[&format!("plan {grandchild} extends")]);
    assert_eq!(listed(&place).len(), 3);
    // Refused, nothing of it is gone.
    place.run("explain", &parent, &[]).good();
    for plan in [&grandchild, &child, &parent] {
        place.run("drop", plan, &[]).good();
    }
    assert!(listed(&place).is_empty());
    sound(&place.corpus);
});

fn waiting(arguments: &[&str]) -> Child {
    let mut command = command(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Expects that commands wait for a writer, and end well once it is gone.
fn ended_after(writer: CorpusWriter, mut waiting: Vec<Child>) {
    std::thread::sleep(Duration::from_millis(400));
    for child in &mut waiting {
        assert!(child.try_wait().unwrap().is_none(), "it waits for the writer");
    }
    drop(writer);
    for child in waiting {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

// The second of two builds from recipes failed on the lock, though planning is short.
corpusdb_test!(builds_from_recipes_wait_for_any_writer, EpochCorpus::holding(60), |place| {
    let builds: Vec<_> = (0..2)
        .map(|seed| {
            let name = format!("at-once-{seed}.toml");
            let file =
                place.scratch.write(&name, format!("version = 1\n{}", seeded_recipe(seed, "")));
            (seed, file, place.scratch.arg(&format!("at-once-{seed}")))
        })
        .collect();
    let writer = Corpus::options().memory(MEMORY).threads(1).open_writer(&place.corpus).unwrap();
    let children = builds
        .iter()
        .map(|(_, file, out)| waiting(&["epoch", "build", &place.corpus, file, "--out", out]));
    let children = children.collect();
    ended_after(writer, children);
    for (seed, ..) in &builds {
        place.verified(&format!("at-once-{seed}"));
    }
    assert_eq!(listed(&place).len(), 2);
});

// `snapshot create` failed on the lock of a nightly ingest, where `snapshot drop` waited.
corpusdb_test!(short_writes_wait_for_another_writer, EpochCorpus::holding(20), |place| {
    let corpus = &place.corpus;
    corpusdb(&["snapshot", "create", corpus, "first"]).good();
    corpusdb(&["field", "add", corpus, "stars:int"]).good();
    corpusdb(&["signals", "add", corpus, "word_count"]).good();
    let suite = place.scratch.write("suite.jsonl", "{\"question\":\"How deep is it there?\"}\n");
    corpusdb(&["contamination", "add", corpus, "ours", &suite]).good();
    let writer = Corpus::options().memory(MEMORY).threads(1).open_writer(corpus).unwrap();
    let children = [
        &["snapshot", "create", corpus, "second"][..],
        &["snapshot", "drop", corpus, "first"],
        &["field", "drop", corpus, "stars"],
        &["signals", "drop", corpus, "word_count"],
        &["contamination", "drop", corpus, "ours"],
        &["rejects", corpus, "--drop"],
    ]
    .map(waiting);
    ended_after(writer, children.into());
    sound(corpus);
});

corpusdb_test!(a_row_that_is_shown_is_the_row_that_is_written, EpochCorpus::holding(60), |place| {
    for (at, more) in
        ["", "kind = \"concat\"\n[batch]\nrows = 4\ntail = \"pad\"\n"].iter().enumerate()
    {
        let recipe =
            seeded_recipe(3, &format!("{more}[[source]]\nname = \"web\"\nmax_repeats = 2\n"));
        let number = place.recipe("plan", &recipe, &["--json"]).good().json()["number"].to_string();
        for epoch in ["0", "1"] {
            let out = format!("row-{at}-{epoch}");
            let directory = place.scratch.arg(&out);
            place.run("build", &number, &["--epoch", epoch, "--out", &directory]).good();
            let written = rows(&place.path(&out));
            for row in [0, 1, written.len() / 2, written.len() - 1] {
                let asked = row.to_string();
                let shown = place.run("row", &number, &[&asked, "--epoch", epoch, "--json"]).good();
                let (shown, row) = (shown.json(), &written[row]);
                assert_eq!(shown["row"].to_string(), asked);
                let ids: Vec<i64> = serde_json::from_value(shown["input_ids"].clone()).unwrap();
                assert_eq!(ids, row.ids);
                let segments = shown["segments"].as_array().unwrap();
                let of = |name: &str| -> Vec<i64> {
                    segments.iter().map(|segment| segment[name].as_i64().unwrap()).collect()
                };
                assert_eq!(of("document"), row.documents);
                assert_eq!(of("offset"), row.offsets);
                assert_eq!(of("length"), row.lengths);
                assert_eq!(shown["source"].as_str().unwrap_or_default(), row.source);
                assert!(segments.iter().all(|of| of["key"].as_str().unwrap().starts_with("web-")));
            }
            let past = written.len().to_string();
            let there = past.to_string();
            place.run("row", &number, &[&past, "--epoch", epoch]).fails(&["row", &there]);
            let text = place.run("row", &number, &["0", "--epoch", epoch]).good().stdout;
            assert!(text.starts_with("row 0") && text.contains("source web"), "{text}");
        }
    }
});

// What a plan draws is pinned: whatever happens to the fields that its recipe names.
corpusdb_test!(a_plan_stays_the_same_when_fields_change, EpochCorpus::holding(120), |place| {
    let field =
        |verb: &str, more: &[&str]| corpusdb(&[&["field", verb, &place.corpus], more].concat());
    field("compute", &["score", "chars % 10"]).good();
    let text = seeded_recipe(3, "[select]\nwhere = \"score > 4\"\n");
    let number = place.recipe("plan", &text, &["--json"]).good().json()["number"].as_u64().unwrap();
    let number = number.to_string();
    let built = |out: &str| {
        let directory = place.scratch.arg(out);
        place.run("build", &number, &["--out", &directory]).good();
        place.verified(out);
        outputs::files(Path::new(&directory))
    };
    let before = built("before");
    let scores: String =
        (0..120).map(|id| format!("{{\"id\":{id},\"score\":{}}}\n", id % 3)).collect();
    let scores = place.scratch.write("scores.jsonl", scores);
    field("set", &["--from", &scores, "--on", "id", "--columns", "score"]).good();
    assert!(built("set") == before);
    field("drop", &["score"]).fails(&["recipes of plans 1 use field `score`", "--force"]);
    let dropped = field("drop", &["score", "--force", "--json"]).good().json();
    assert_eq!(dropped["plans"][0]["plan"], 1);
    assert!(dropped["plans"][0]["snapshot"].is_string());
    assert!(built("dropped") == before);
    place
        .recipe("plan", &seeded_recipe(4, "[select]\nwhere = \"score > 4\"\n"), &[])
        .fails(&["`score`"]);
    place.run("extend", &number, &["--consumed", "1"]).fails(&["`score`"]);
    sound(&place.corpus);
});

// ----
// Readers of a plan: they have the writer's, and see what was purged since.

corpusdb_test!(
    the_plan_of_a_reader_has_the_hash_of_the_writers,
    EpochCorpus::holding(60),
    |place| {
        let recipe = Recipe::parse(&format!("version = 1\n{SPECIALS}")).unwrap();
        let read = || {
            let corpus = Corpus::options().memory(MEMORY).open(&place.corpus).unwrap();
            corpus.plan(&recipe, &Context::new()).unwrap()
        };
        let before = read();
        let (record, planned) =
            writer(Path::new(&place.corpus)).plan(&recipe, &Context::new()).unwrap();
        assert_eq!((before.plan.hash(), before.number()), (record.hash, None));
        assert_eq!(before.plan.snapshot, planned.plan.snapshot);
        // The snapshot is there now, and commits that decide about no document lie between.
        assert_eq!(read().plan.hash(), record.hash);
        place.scratch.ingest(
            &place.corpus,
            "more.jsonl",
            "{\"id\": \"x\", \"text\": \"new words\"}\n",
            &["--source", "web", "--id-field", "id"],
        );
        assert_ne!(read().plan.hash(), record.hash, "another moment is another plan");
    }
);

corpusdb_test!(a_plan_says_how_many_epochs_it_has, EpochCorpus::holding(60), |place| {
    for (times, budget) in
        [(1, ""), (3, ""), (3, "[mix]\ntokens = 900\n"), (5, "[mix]\ntokens = 1700\n")]
    {
        let source = format!("[[source]]\nname = \"web\"\nmax_repeats = {times}\n");
        let text = format!("version = 1\n{SPECIALS}{source}{budget}");
        let corpus = Corpus::options().memory(MEMORY).open(&place.corpus).unwrap();
        let planned = corpus.plan(&Recipe::parse(&text).unwrap(), &Context::new()).unwrap();
        let epochs = planned.epochs();
        assert!(epochs >= 1);
        assert!(corpus.epoch(&planned, epochs - 1, &Context::new()).is_ok(), "{text}");
        assert!(corpus.epoch(&planned, epochs, &Context::new()).is_err(), "{text}");
    }
});

corpusdb_test!(
    a_reader_sees_a_purge_by_the_journal_and_a_look,
    EpochCorpus::holding(60),
    |place| {
        let recipe = Recipe::parse(&format!("version = 1\n{SPECIALS}")).unwrap();
        let (_, planned) = writer(Path::new(&place.corpus)).plan(&recipe, &Context::new()).unwrap();
        let open = || Corpus::options().memory(MEMORY).open(&place.corpus).unwrap();
        let bytes = || Corpus::journal_bytes(&[&place.corpus]).unwrap();
        let (old, before) = (open(), bytes());
        old.refuse_purged(&planned).unwrap();
        assert_eq!(bytes(), before, "nothing was committed");
        corpusdb(&["purge", &place.corpus, "0", "--force"]).good();
        assert!(bytes() > before);
        old.refuse_purged(&planned).unwrap();
        let refused = open().refuse_purged(&planned).unwrap_err().to_string();
        assert!(refused.contains("draws 1 documents that were purged"), "{refused}");
    }
);
