//! Going on from a plan: what its consumed rows held and what its child's first pass holds are together
//! every document once, whatever was added or changed in between.

use crate::support::Random;
use crate::support::checker::corpus::{
    CheckedCorpus, CheckedDocument, THREE, built, open, pages, recipe, rows, stored,
};
use crate::support::checker::row::Rules;
use corpusdb::epoch::{EpochRow, Planned};
use corpusdb::{Context, Corpus};
use std::collections::BTreeMap;

const SPECIALS: &str =
    "[tokenizer]\nspecials = { bos = \"<|bos|>\", eos = \"<|eos|>\", pad = \"<|pad|>\" }\n";

fn sources(weights: [f64; 3], repeats: u32) -> String {
    let of = THREE.iter().zip(weights).map(|((name, ..), weight)| {
        format!("[[source]]\nname = \"{name}\"\nweight = {weight:?}\nmax_repeats = {repeats}\n")
    });
    of.collect()
}

/// The first `count` rows of a run.
fn first_rows(corpus: &Corpus, planned: &Planned, count: usize) -> Vec<EpochRow> {
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
fn first_pass(corpus: &Corpus, planned: &Planned, rules: &Rules<'_>) -> Vec<EpochRow> {
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
fn passes(planned: &Planned, consumed: &[EpochRow]) -> BTreeMap<String, u32> {
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
        let pack = case
            .pack
            .replace("= 64", &format!("= {length}"))
            .replace("= 48", &format!("= {length}"));
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
fn before_of(planned: &Planned, all: &[CheckedDocument]) -> usize {
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
