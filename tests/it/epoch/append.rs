//! Going on from plans, once and over and over: everything comes once and nothing twice.

use crate::support::checker::corpus::{
    CheckedCorpus, CheckedDocument, THREE, built, open, pages, plan, recipe, rows, stored,
};
use crate::support::checker::row::Rules;
use crate::support::{Page, Random, corpusdb_test};
use corpusdb::epoch::{EpochRow, Plan};
use corpusdb::{Context, Corpus, CorpusWriter, Interrupt};
use std::collections::BTreeMap;

// ----
// Going on from a plan: what its consumed rows held and what its child's first pass holds are together
// every document once, whatever was added or changed in between.

const SPECIALS: &str =
    "[tokenizer]\nspecials = { bos = \"<|bos|>\", eos = \"<|eos|>\", pad = \"<|pad|>\" }\n";

fn sources(weights: [f64; 3], repeats: u32) -> String {
    let of = THREE.iter().zip(weights).map(|((name, ..), weight)| {
        format!("[[source]]\nname = \"{name}\"\nweight = {weight:?}\nmax_repeats = {repeats}\n")
    });
    of.collect()
}

/// The first `count` rows of a run.
fn first_rows(corpus: &Corpus, planned: &Plan, count: usize) -> Vec<EpochRow> {
    let mut all = Vec::new();
    let mut epoch = 0;
    while all.len() < count {
        let opened = open(corpus, planned, epoch);
        assert_eq!(opened.first_run_row(), all.len() as u64);
        all.extend(rows(&opened));
        epoch += 1;
    }
    all.truncate(count);
    all
}

/// How often each token has come, by document.
#[derive(Clone, Default)]
struct ConsumedCounts(BTreeMap<u64, Vec<u32>>);

impl ConsumedCounts {
    fn add(&mut self, rules: &Rules<'_>, row: &EpochRow) {
        for segment in row.segments() {
            let id = segment.document.0;
            let of = self.0.entry(id).or_insert_with(|| vec![0; rules.length(id)]);
            let from = segment.offset as usize;
            of[from..from + segment.length as usize].iter_mut().for_each(|count| *count += 1);
        }
    }

    /// How often a document came; an EOS that stood alone may have been left out.
    fn of(&self, id: u64, length: usize) -> u32 {
        let Some(counts) = self.0.get(&id) else { return 0 };
        assert_eq!(counts.len(), length);
        let (last, others) = counts.split_last().unwrap();
        let times = others[0];
        assert!(others.iter().all(|count| *count == times), "document {id} in parts: {counts:?}");
        assert!(*last <= times, "document {id}: {counts:?}");
        times
    }
}

/// Rows of the first pass of every source of a plan, over as many epochs as that takes.
fn first_pass(corpus: &Corpus, planned: &Plan, rules: &Rules<'_>) -> Vec<EpochRow> {
    let mut left: BTreeMap<String, u64> =
        planned.plan.sources.iter().map(|of| (of.name.clone(), of.packed_tokens)).collect();
    let mut found = Vec::new();
    let mut epoch = 0;
    while left.values().any(|left| *left > 0) {
        for row in rows(&open(corpus, planned, epoch)) {
            rules.check(&row);
            let left = left.get_mut(row.source().unwrap()).unwrap();
            if *left == 0 {
                continue;
            }
            let tokens: u64 = row.segments().iter().map(|s| u64::from(s.length)).sum();
            assert!(tokens <= *left, "a row reaches into the next pass");
            *left -= tokens;
            found.push(row);
        }
        epoch += 1;
    }
    found
}

/// Passes that each source has ended after `consumed`.
fn passes(planned: &Plan, consumed: &[EpochRow]) -> BTreeMap<String, u32> {
    let mut tokens: BTreeMap<&str, u64> = BTreeMap::new();
    for row in consumed {
        let of: u64 = row.segments().iter().map(|s| u64::from(s.length)).sum();
        *tokens.entry(row.source().unwrap()).or_default() += of;
    }
    let ended = planned.plan.sources.iter().map(|of| {
        let given = tokens.get(of.name.as_str()).copied().unwrap_or(0);
        (of.name.clone(), u32::try_from(given / of.packed_tokens).unwrap())
    });
    ended.collect()
}

/// Everything of before came as often as passes were ended and once more; what is new came once.
fn check_all(
    counts: &ConsumedCounts,
    rules: &Rules<'_>,
    all: &[CheckedDocument],
    before: usize,
    passes: &BTreeMap<String, u32>,
    copies: (u32, u32),
) {
    for (id, of) in (0_u64..).zip(all) {
        if !of.kept || of.ids.as_ref().is_none_or(Vec::is_empty) {
            continue;
        }
        let times = counts.of(id, rules.length(id));
        let due = if (id as usize) < before { passes[&of.source] + 1 } else { 1 };
        assert!(times.is_multiple_of(due), "document {id} came {times} times in {due} passes");
        assert!(
            (copies.0..=copies.1).contains(&(times / due)),
            "document {id} of `{}` came {times} times in {due} passes",
            of.source
        );
    }
}

struct Case {
    pack: &'static str,
    more: &'static str,
    copies: (u32, u32),
}

const CASES: [Case; 9] = [
    Case { pack: "kind = \"best-fit\"\nlength = 64", more: "", copies: (1, 1) },
    Case { pack: "kind = \"greedy\"\nlength = 64", more: "", copies: (1, 1) },
    Case { pack: "kind = \"concat\"\nlength = 96", more: "", copies: (1, 1) },
    Case { pack: "kind = \"none\"\nlength = 48", more: "", copies: (1, 1) },
    Case {
        pack: "kind = \"best-fit\"\nlength = 64\noptions = { long = \"paragraph\" }",
        more: "[select]\nrepeat = \"2.5\"\n",
        copies: (2, 3),
    },
    Case {
        pack: "kind = \"concat\"\nlength = 64",
        more: "[select]\nrepeat = \"2.5\"\n",
        copies: (2, 3),
    },
    Case {
        pack: "kind = \"greedy\"\nlength = 64\noptions = { doc_multiple = 8 }",
        more: "[select]\nrepeat = \"2\"\n[order]\nkind = \"sequential\"\n",
        copies: (2, 2),
    },
    Case {
        pack: "kind = \"best-fit\"\nlength = 64",
        more: "[order]\nkind = \"curriculum\"\ncurriculum = { by = \"quality\", c0 = 0.4, strata = 5 }\n",
        copies: (1, 1),
    },
    Case {
        pack: "kind = \"concat\"\nlength = 64",
        more: "[order]\nkind = \"curriculum\"\ncurriculum = { by = \"chars\", c0 = 0.4, strata = 4 }\n",
        copies: (1, 1),
    },
];

fn check_case(number: usize, case: &Case) {
    let seed = 20 + number as u64;
    let place = CheckedCorpus::of(seed, &THREE);
    let mut random = Random::new(seed);
    let text = |weights, repeats, pack: &str, tokens: &str| {
        let specials = if number.is_multiple_of(2) {
            SPECIALS
        } else {
            &SPECIALS.replace("bos = \"<|bos|>\", ", "")
        };
        recipe(&format!(
            "{}{specials}[mix]\n{tokens}\n[pack]\n{pack}\n{}",
            case.more,
            sources(weights, repeats)
        ))
    };
    let mut writer = place.writer();
    let parent = text([0.5, 0.35, 0.15], 4, case.pack, "tokens = 4000");
    let (parent, planned) = writer.plan(&parent, &Context::new()).unwrap();
    let corpus = place.reader();
    let told = corpus.explain(&planned, &Context::new()).unwrap();
    let last = open(&corpus, &planned, told.epochs - 1);
    let end = (last.first_run_row() + last.rows()) as usize;
    let ks = [0, 1, random.below(end), end / 2, end];
    // Three of them a case, each of them in several cases.
    for (at, k) in ks.into_iter().enumerate().filter(|(at, _)| (at + number) % 5 < 3) {
        let consumed = first_rows(&corpus, &planned, k);
        let over = passes(&planned, &consumed);
        for (name, ..) in THREE.iter().take(at % 3) {
            let new = pages(&mut random, name, 9, (2, 300));
            place.pour(&mut writer, name, &new);
        }
        let length = [64, 96, 48, 200, 33][at];
        let pack = case.pack.replace("= 64", &format!("= {length}"));
        let pack = pack.replace("= 48", &format!("= {length}"));
        let pack = pack.replace("= 96", &format!("= {length}"));
        let pack = if length % 8 == 0 {
            pack
        } else {
            pack.replace("doc_multiple = 8", "doc_multiple = 3")
        };
        let child = text([0.2, 0.3, 0.5], 60, &pack, "tokens = 3000");
        let (child, child_planned) = writer
            .extend(parent.number, k as u64, Some(&child), &Context::new())
            .unwrap_or_else(|error| panic!("{error}, case {number}, row {k}"));
        let now = place.reader();
        let all = stored(&now);
        let known = before_of(&planned, &all);
        let rules = Rules::of(&child_planned, &all);
        let mut counts = ConsumedCounts::default();
        consumed.iter().for_each(|row| counts.add(&rules, row));
        let mut both = counts.clone();
        let passed = first_pass(&now, &child_planned, &rules);
        passed.iter().for_each(|row| both.add(&rules, row));
        println!("case {number}, row {k} of {end}: {over:?}, {} rows, {known} known", passed.len());
        check_all(&both, &rules, &all, known, &over, case.copies);
        if at == 2 {
            built(&place, &now, &child_planned, 0, "child", 2);
        }

        // And once more, from within the child's first pass.
        let shortest = child_planned.plan.sources.iter().map(|of| of.rows).min().unwrap() as usize;
        let some = random.below(shortest.max(1));
        let taken = first_rows(&now, &child_planned, some);
        place.pour(&mut writer, "code", &pages(&mut random, "code", 5, (1, 40)));
        let grandchild = text([0.4, 0.3, 0.3], 60, case.pack, "tokens = 5000");
        let (_, grandchild) = writer
            .extend(child.number, some as u64, Some(&grandchild), &Context::new())
            .unwrap_or_else(|error| panic!("{error}, case {number}, rows {k} and {some}"));
        let now = place.reader();
        let all = stored(&now);
        let rules = Rules::of(&grandchild, &all);
        taken.iter().for_each(|row| counts.add(&rules, row));
        first_pass(&now, &grandchild, &rules).iter().for_each(|row| counts.add(&rules, row));
        check_all(&counts, &rules, &all, known, &over, case.copies);
    }
    let beyond = writer.extend(parent.number, end as u64 + 5000, None, &Context::new());
    assert!(beyond.unwrap_err().to_string().contains("ends before row"));
}

/// Ids below this are of documents that a plan over everything drew from.
fn before_of(planned: &Plan, all: &[CheckedDocument]) -> usize {
    let known = planned.pinned.iter().filter_map(|of| of.documents().max()).max().unwrap();
    assert!((known as usize) < all.len());
    known as usize + 1
}

#[test]
fn an_appended_plan_has_every_document_once() {
    for (number, case) in CASES.iter().enumerate().filter(|(number, _)| number % 2 == 0) {
        check_case(number, case);
    }
}

#[test]
fn an_appended_plan_of_any_packing_has_every_document_once() {
    for (number, case) in CASES.iter().enumerate().filter(|(number, _)| number % 2 == 1) {
        check_case(number, case);
    }
}

// ----
// Plans that go on from plans, over and over, held against a ledger of what trainers were given: whatever
// the order inside windows and batches, everything comes once and nothing twice.

/// How often each stored token came, by document.
#[derive(Default)]
struct ChainLedger(BTreeMap<u64, Vec<u32>>);

impl ChainLedger {
    fn add(&mut self, all: &[CheckedDocument], rows: &[EpochRow]) {
        for segment in rows.iter().flat_map(|row| row.segments()) {
            let id = segment.document.0;
            let length = all[id as usize].ids.as_ref().unwrap().len();
            let of = self.0.entry(id).or_insert_with(|| vec![0; length]);
            let from = segment.offset as usize;
            of[from..from + segment.length as usize].iter_mut().for_each(|count| *count += 1);
        }
    }

    /// Everything that is kept came once.
    fn check(&self, all: &[CheckedDocument], what: &str) {
        for (id, of) in (0_u64..).zip(all) {
            let Some(ids) = of.ids.as_ref().filter(|ids| of.kept && !ids.is_empty()) else {
                continue;
            };
            let none = vec![0; ids.len()];
            let counts = self.0.get(&id).unwrap_or(&none);
            assert!(counts.iter().all(|count| *count == 1), "{what}: document {id} {counts:?}");
        }
    }
}

/// What the batches of a run gave up to row `row` of epoch `epoch`.
fn given(corpus: &Corpus, planned: &Plan, epoch: u64, row: usize) -> (Vec<EpochRow>, u64) {
    let mut all = Vec::new();
    for before in 0..epoch {
        all.extend(rows(&open(corpus, planned, before)));
    }
    let last = open(corpus, planned, epoch);
    all.extend(rows(&last).into_iter().take(row));
    (all, last.first_run_row() + row as u64)
}

fn extended(writer: &mut CorpusWriter, from: u32, row: u64, text: &str) -> (u32, Plan) {
    let found = writer.extend(from, row, Some(&recipe(text)), &Context::new());
    let (record, planned) = found.unwrap_or_else(|error| panic!("{error}, row {row}\n{text}"));
    (record.number, planned)
}

const BATCHES: [(&str, &str, &str); 7] = [
    ("", "kind = \"best-fit\"\nlength = 64", ""),
    ("", "kind = \"best-fit\"\nlength = 64", "rows = 7"),
    ("", "kind = \"greedy\"\nlength = 48", "rows = 6\nbalance = 24"),
    (
        "kind = \"length-grouped\"\nlength_grouped = { mega_batch_mult = 5 }",
        "kind = \"none\"\nlength = 48",
        "rows = 4",
    ),
    (
        "kind = \"length-grouped\"\nlength_grouped = { mega_batch_mult = 3, buckets = \"power-of-two\" }",
        "kind = \"none\"\nlength = 48",
        "rows = 4\ntail = \"carry\"",
    ),
    (
        "kind = \"length-grouped\"\nlength_grouped = { mega_batch_mult = 4 }",
        "kind = \"none\"\nlength = 48",
        "max_tokens = 200",
    ),
    ("", "kind = \"concat\"\nlength = 64", "rows = 5\ntail = \"pad\""),
];

fn chain(number: usize, (order, pack, batch): (&str, &str, &str)) {
    let seed = 70 + number as u64;
    let place = CheckedCorpus::of(seed, &THREE);
    let mut random = Random::new(seed);
    let of = |tokens: &str, order: &str, pack: &str, batch: &str| {
        let batch = if batch.is_empty() { String::new() } else { format!("[batch]\n{batch}\n") };
        format!(
            "seed = {seed}\n[tokenizer]\nspecials = {{ pad = \"<|pad|>\" }}\n[mix]\n{tokens}\n[order]\n{order}\n[pack]\n{pack}\n{batch}"
        )
    };
    let text = of("tokens = 700", order, pack, batch);
    let mut writer = place.writer();
    let (record, mut planned) = writer.plan(&recipe(&text), &Context::new()).unwrap();
    let mut plan_number = record.number;
    let mut ledger = ChainLedger::default();
    for link in 0..5 {
        let corpus = place.reader();
        let epoch = u64::from(random.chance(40));
        let last = open(&corpus, &planned, epoch);
        let row = [0, last.rows() as usize, random.below(last.rows() as usize + 1)];
        let row = row[if random.chance(75) { 2 } else { random.below(2) }];
        // Rows of pads end an epoch and are none of the run.
        let pads = rows(&last).iter().filter(|row| row.source().is_none()).count();
        let row = row.min(last.rows() as usize - pads);
        let (consumed, run_row) = given(&corpus, &planned, epoch, row);
        ledger.add(&stored(&corpus), &consumed);
        drop(corpus);
        let new = pages(&mut random, "web", 6, (2, 120));
        place.pour(&mut writer, "web", &new);
        if link % 2 == 1 {
            let kept = place.reader().select("kept and source = 'code'").unwrap();
            writer.remove(&kept.iter().take(3).collect(), true, &Context::new()).unwrap();
        }
        let text = of("tokens = 600", order, pack, batch);
        (plan_number, planned) = extended(&mut writer, plan_number, run_row, &text);
    }
    // What is left of all of them, in the order of the mix.
    let text = of("", "", "kind = \"best-fit\"\nlength = 64", "");
    let (_, rest) = extended(&mut writer, plan_number, 0, &text);
    let corpus = place.reader();
    let all = stored(&corpus);
    ledger.add(&all, &rows(&open(&corpus, &rest, 0)));
    ledger.check(&all, &format!("case {number}"));
}

#[test]
fn chains_of_five_extensions_have_every_document_once() {
    for (number, case) in BATCHES.into_iter().enumerate() {
        chain(number, case);
    }
}

/// Forty documents of one row each.
fn forty() -> CheckedCorpus {
    let place = CheckedCorpus::of(77, &[("web", 40, 20, 30)]);
    assert_eq!(place.reader().select("kept").unwrap().len(), 40);
    place
}

corpusdb_test!(an_extension_of_an_extension_repeats_no_document, forty(), |place| {
    let mut writer = place.writer();
    let text =
        "[tokenizer]\nspecials = { pad = \"<|pad|>\" }\n[pack]\nkind = \"none\"\nlength = 4096\n";
    let (record, _) = writer.plan(&recipe(text), &Context::new()).unwrap();
    let interrupt = Interrupt::default();
    let (record, child) =
        writer.extend(record.number, 10, None, &Context::new().with_interrupt(&interrupt)).unwrap();
    let (_, grandchild) =
        writer.extend(record.number, 10, None, &Context::new().with_interrupt(&interrupt)).unwrap();
    let left = |planned: &Plan| planned.plan.sources.iter().map(|of| of.rows).sum::<u64>();
    assert_eq!((left(&child), left(&grandchild)), (30, 20));
});

corpusdb_test!(passes_that_are_over_count_through_a_chain, forty(), |place| {
    let mut writer = place.writer();
    let text = |repeats: u32| {
        format!(
            "[tokenizer]\nspecials = {{ pad = \"<|pad|>\" }}\n[[source]]\nname = \"web\"\nmax_repeats = {repeats}\n[pack]\nkind = \"none\"\nlength = 4096\n"
        )
    };
    let interrupt = Interrupt::default();
    let (record, _) = writer.plan(&recipe(&text(3)), &Context::new()).unwrap();
    // A pass and ten rows, then the thirty left and ten more.
    let (record, child) =
        writer.extend(record.number, 50, None, &Context::new().with_interrupt(&interrupt)).unwrap();
    assert_eq!(child.plan.sources[0].max_repeats, 2);
    let inherited = writer
        .extend(record.number, 40, None, &Context::new().with_interrupt(&interrupt))
        .unwrap()
        .1;
    assert_eq!(inherited.plan.sources[0].max_repeats, 1);
    let given = recipe(&text(3));
    let again = writer
        .extend(record.number, 40, Some(&given), &Context::new().with_interrupt(&interrupt))
        .unwrap()
        .1;
    assert_eq!(again.plan.sources[0].max_repeats, 1);
    let fewer = writer.extend(
        record.number,
        40,
        Some(&recipe(&text(1))),
        &Context::new().with_interrupt(&interrupt),
    );
    assert!(fewer.unwrap_err().to_string().contains("its passes are over"));
});

corpusdb_test!(a_row_that_fills_no_batch_cannot_have_been_consumed, forty(), |place| {
    let mut writer = place.writer();
    let text = "[tokenizer]\nspecials = { pad = \"<|pad|>\" }\n[[source]]\nname = \"web\"\nmax_repeats = 2\n[pack]\nkind = \"none\"\nlength = 4096\n[batch]\nrows = 16\n";
    let (record, _) = writer.plan(&recipe(text), &Context::new()).unwrap();
    let refused = writer.extend(record.number, 35, None, &Context::new());
    let why = refused.unwrap_err().to_string();
    assert!(why.contains("ends at row 32") && why.contains("begins at row 40"), "{why}");
    let (_, planned) = writer.extend(record.number, 40, None, &Context::new()).unwrap();
    assert_eq!(planned.plan.sources[0].rows, 40);
    // The end of the epoch leaves the rows that no batch took, and epochs of so few fill none either.
    let refused = writer.extend(record.number, 32, None, &Context::new());
    let why = refused.unwrap_err().to_string();
    assert!(why.contains("its 8 rows do not fill a batch"), "{why}");
    let carried = recipe(&format!("{text}tail = \"carry\"\n"));
    let (_, planned) = writer.extend(record.number, 32, Some(&carried), &Context::new()).unwrap();
    assert_eq!(planned.plan.sources[0].rows, 8);
});

/// With documents as the unit, the rows that only go on with one count nothing. They were left over when an
/// epoch's documents were all begun, and the next epoch did not have them either.
#[test]
fn rows_that_count_nothing_are_not_lost_between_epochs() {
    for (seed, sources) in [(81, &[("books", 24, 30, 160)][..]), (82, &THREE[..])] {
        let place = CheckedCorpus::of(seed, sources);
        let corpus = place.reader();
        let listed: String = sources
            .iter()
            .map(|(name, ..)| format!("[[source]]\nname = \"{name}\"\nmax_repeats = 3\n"))
            .collect();
        let mix = "[mix]\nmethod = \"natural\"\nunit = \"documents\"\n";
        let tokens = if sources.len() == 1 { "tokens = 24\n" } else { "" };
        for kind in ["best-fit", "greedy", "concat", "none"] {
            let text = format!(
                "{listed}{mix}{tokens}[tokenizer]\nspecials = {{ pad = \"<|pad|>\" }}\n[pack]\nkind = \"{kind}\"\nlength = 32\n"
            );
            let planned = plan(&corpus, &text).unwrap();
            let all = stored(&corpus);
            let mut ledger = ChainLedger::default();
            let mut row = 0;
            for epoch in 0..3 {
                let opened = open(&corpus, &planned, epoch);
                assert_eq!(opened.first_run_row(), row, "{kind}, epoch {epoch}");
                row += opened.rows();
                ledger.add(&all, &rows(&opened));
                if tokens.is_empty() && epoch < 2 {
                    continue;
                }
                for (id, counts) in &ledger.0 {
                    let whole = counts.iter().all(|count| u64::from(*count) == epoch + 1);
                    assert!(whole, "{kind}, {epoch}: document {id} {counts:?}");
                }
            }
            built(&place, &corpus, &planned, 1, &format!("{kind}-{}", sources.len()), 2);
        }
    }
}

/// Without [[source]], what a recipe needs of its sources is known when they are filled in.
#[test]
fn a_plan_that_could_not_be_opened_is_not_stored() {
    let place = CheckedCorpus::of(83, &[("web", 20, 5, 20), ("code", 20, 5, 20)]);
    let mut writer = place.writer();
    let exact = "[pack]\nkind = \"none\"\n[order]\nkind = \"length-grouped\"\nlength_grouped = { exact = \"torch\" }\n[batch]\nrows = 4\n";
    for (text, word) in [(exact, "one whole source"), ("[mix]\nmethod = \"weights\"\n", "weight")] {
        let refused = writer.plan(&recipe(text), &Context::new());
        let why = refused.map(|_| ()).unwrap_err().to_string();
        assert!(why.contains(word), "{why}");
    }
    assert!(place.reader().epochs().unwrap().is_empty());
}

/// What a recipe says over an old snapshot is refused where it would look at what came since.
#[test]
fn a_recipe_over_an_old_snapshot_ignores_later_documents() {
    let place = CheckedCorpus::of(84, &[("web", 30, 10, 20)]);
    place.writer().create_snapshot("then").unwrap();
    let recipes = [
        "[select]\nwhere = \"NOT crowded\"\n",
        "[select]\nrepeat = \"sqrt(cluster_size)\"\n",
        "[select]\nwhere = \"id NOT IN (SELECT witness FROM duplicates)\"\n",
        "[select]\nwhere = \"quality >= (SELECT min(quality) FROM documents)\"\n",
        "[[source]]\nname = \"web\"\nwhere = \"dup_of IS NULL\"\n",
        "[order]\nkind = \"curriculum\"\ncurriculum = { by = \"cluster_size\", strata = 2, c0 = 0.9 }\n[pack]\nkind = \"greedy\"\n",
        "[select]\nholdout = { share = 0.2, by = \"standing\" }\n",
    ];
    let tried = |text: &str| plan(&place.reader(), &format!("snapshot = \"then\"\n{text}"));
    let before: Vec<_> =
        recipes.iter().map(|text| tried(text).map(|found| found.plan.hash())).collect();
    for (text, before) in recipes.iter().zip(&before).take(6) {
        assert!(before.is_ok(), "{text}");
    }
    let kept = place.reader().show(corpusdb::DocId(0)).unwrap().text;
    let copies: Vec<Page> =
        (0..3).map(|at| Page::keyed(format!("copy-{at}"), kept.clone())).collect();
    place.pour(&mut place.writer(), "web", &copies);
    for text in recipes {
        let why = tried(text).map(|_| ()).unwrap_err().to_string();
        assert!(why.contains("since the snapshot `then`"), "{text}\n{why}");
    }
    tried("[select]\nwhere = \"quality > 0.1 AND source = 'web'\"\n").unwrap();
    let by_chance = tried("[select]\nrepeat = \"random() * 2\"\n").map(|_| ()).unwrap_err();
    assert!(by_chance.to_string().contains("random()"), "{by_chance}");
}
