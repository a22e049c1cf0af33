//! The border between training and validation: what takes a document's place stays on its side.

use crate::support::checker::corpus::{
    CheckedCorpus, THREE, open, pages, plan, recipe, rows, stored,
};
use crate::support::epochs::{EpochCorpus, SPECIALS, WordCorpus};
use crate::support::scenarios::{Pages, SHARE, first_crawl, leaks, policy};
use crate::support::{
    MEMORY, Page, Random, WEB_BY_ID, corpusdb, corpusdb_test, edited, lines, numbers, prose, seeds,
    sql,
};
use corpusdb::dedup::{KeepOrder, MatchKind};
use corpusdb::show::number;
use corpusdb::{Context, Corpus, DocId};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

// ----
// Which documents: the border between training and validation, and copies.

fn side(corpus: &Corpus, share: f64, by: &str, take: &str) -> BTreeSet<u64> {
    let text = format!(
        "seed = {}\n[select]\nholdout = {{ share = {share}, by = \"{by}\", take = \"{take}\" }}\n[pack]\nlength = 64\n",
        take.len()
    );
    let planned = plan(corpus, &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let rows = rows(&open(corpus, &planned, 0));
    rows.iter().flat_map(|row| row.segments()).map(|segment| segment.document.0).collect()
}

/// All documents that an epoch without a holdout has.
fn everything(corpus: &Corpus) -> BTreeSet<u64> {
    let all = (0..).zip(stored(corpus));
    let held = all.filter(|(_, of)| of.kept && of.ids.as_ref().is_some_and(|ids| !ids.is_empty()));
    held.map(|(id, _)| id).collect()
}

#[test]
fn nothing_crosses_the_border_of_the_holdout() {
    let place = CheckedCorpus::of(41, &[("web", 400, 3, 20), ("code", 300, 3, 9)]);
    for by in ["cluster", "document", "site"] {
        for share in [0.1, 0.5] {
            let corpus = place.reader();
            let (train, held) =
                (side(&corpus, share, by, "train"), side(&corpus, share, by, "holdout"));
            assert!(train.is_disjoint(&held));
            let all = everything(&corpus);
            assert_eq!(&train | &held, all);
            if by != "site" {
                let found = held.len() as f64 / all.len() as f64;
                assert!((found - share).abs() < 0.06, "{found} is held out of {share}");
            }
            if by == "site" {
                for number in 0..12 {
                    let site = corpus.select(format!("site = 'site-{number}'")).unwrap();
                    let held = site.iter().filter(|id| held.contains(id)).count() as u64;
                    let train = site.iter().filter(|id| train.contains(id)).count() as u64;
                    assert!(held == 0 || train == 0, "site {number} is on both sides");
                    assert!(held + train > 0);
                }
            }
            drop(corpus);
            let mut writer = place.writer();
            let mut random = Random::new(share.to_bits() ^ by.len() as u64);
            place.pour(&mut writer, "web", &pages(&mut random, "web", 40, (3, 20)));
            drop(writer);
            let corpus = place.reader();
            let later = (side(&corpus, share, by, "train"), side(&corpus, share, by, "holdout"));
            assert!(
                train.is_subset(&later.0) && held.is_subset(&later.1),
                "a document changed sides"
            );
            assert_eq!(&later.0 | &later.1, everything(&corpus));
            assert!(later.0.is_disjoint(&later.1));
        }
    }
}

// floor(x) copies and one more with the fraction as probability, the same ones in every pass.
corpusdb_test!(documents_repeat_by_their_weight, CheckedCorpus::of(42, &THREE), |place| {
    let corpus = place.reader();
    let text = "[select]\nrepeat = \"year - 2000 + 0.5\"\n[pack]\nlength = 64\n";
    let planned = plan(&corpus, text).unwrap();
    let mut times: BTreeMap<u64, u32> = BTreeMap::new();
    for row in rows(&open(&corpus, &planned, 0)) {
        for segment in row.segments().iter().filter(|segment| segment.offset == 0) {
            *times.entry(segment.document.0).or_default() += 1;
        }
    }
    let mut more = 0;
    let all = everything(&corpus);
    for year in 0..5 {
        for id in corpus.select(format!("kept and year = {}", 2000 + year)).unwrap() {
            if !all.contains(&id) {
                continue;
            }
            let found = times.get(&id).copied().unwrap_or(0);
            assert!(
                (year..=year + 1).contains(&found),
                "document {id} of year {year} came {found} times"
            );
            more += u32::from(found > year);
        }
    }
    let share = f64::from(more) / all.len() as f64;
    assert!((0.35..0.65).contains(&share), "{share} of the documents came once more");
});

// A document that the plan does not draw had no number of copies, and the plan was refused for it.
corpusdb_test!(copies_are_asked_of_drawn_documents, WordCorpus::of(&[3, 3]), |t| {
    t.scratch.ingest(
        &t.scratch.arg("corpus"),
        "counted.jsonl",
        "{\"id\": \"two\", \"n\": 2, \"text\": \"v1 v2\"}\n{\"id\": \"null\", \"text\": \"v3 v4\"}\n",
        &["--source", "counted", "--id-field", "id"],
    );
    let recipe = |more: &str| {
        let text = format!("[select]\nrepeat = \"n\"\n{more}[[source]]\nname = \"counted\"\n");
        t.recipe("r.toml", &text);
        t.scratch.ran("epoch explain corpus r.toml --json")
    };
    let drawn = recipe("where = \"n > 1\"\n").good().json();
    assert_eq!((&drawn["sources"][0]["documents"], &drawn["tokens"]), (&1.into(), &4.into()));
    recipe("").fails(&["select.repeat is not a number for document 3", "0 to 1000"]);
});

// Documents without a value fell out of a condition and of every count; nothing said where tokens went.
corpusdb_test!(explain_accounts_for_documents_left_out, EpochCorpus::holding(90), |place| {
    let corpus = &place.corpus;
    let question = (0..40).map(|at| format!("ask{at}")).collect::<Vec<_>>().join(" ");
    let mut pages: Vec<Page> =
        (0..5).map(|at| Page::keyed(format!("odd-{at}"), format!("no year {at}"))).collect();
    let asked = Page::keyed("asked", question.clone());
    pages.push(Page { fields: json!({ "year": 2000 }), ..asked });
    place.scratch.ingest(corpus, "odd.jsonl", lines(&pages), &WEB_BY_ID);
    let items = json!({ "question": question, "answer": "so" }).to_string();
    let items = place.scratch.write("suite.jsonl", items + "\n");
    corpusdb(&["contamination", "add", corpus, "ours", &items]).good();
    corpusdb(&["snapshot", "create", corpus, "then"]).good();
    let by_source = "SELECT source, count(*) AS documents, sum(tokens) AS tokens FROM documents WHERE kept GROUP BY source";
    let kept = sql(corpus, by_source);
    let null = "SELECT count(*) AS n FROM documents WHERE kept AND source = 'web' AND year IS NULL";
    let null = sql(corpus, null)[0]["n"].as_u64().unwrap();
    assert!(null >= 5);
    corpusdb(&["remove", corpus, "--where", "key = 'web-4'"]).good();
    let recipe = format!(
        "snapshot = \"then\"\n{SPECIALS}[select]\nwhere = \"year <> 2001\"\nmin_tokens = 40\n\
         repeat = \"CASE WHEN year = 2003 THEN 0 ELSE 1 END\"\nexclude_removed = true\n\
         exclude_contaminated = [\"ours\"]\nholdout = {{ share = 0.2, by = \"key\" }}\n\
         [[source]]\nname = \"web\"\nwhere = \"bytes < 900\"\n[[source]]\nname = \"books\"\n"
    );
    let explained = place.recipe("explain", &recipe, &["--json"]).good().json();
    let text = place.recipe("explain", &recipe, &[]).good().stdout;
    let names = ["documents", "tokens"];
    for source in explained["sources"].as_array().unwrap() {
        let left_out = source["left_out"].as_array().unwrap();
        let mut found = numbers(source, names);
        for of in left_out {
            numbers(of, names).iter().zip(&mut found).for_each(|(of, sum)| *sum += of);
        }
        let all = kept.iter().find(|row| row["source"] == source["name"]).unwrap();
        assert_eq!(found, numbers(all, names), "{source}");
        assert!(left_out.iter().all(|of| numbers(of, names)[0] > 0), "{source}");
    }
    let of_web = explained["sources"][0]["left_out"].as_array().unwrap();
    let documents: BTreeMap<&str, u64> = of_web
        .iter()
        .map(|of| (of["reason"].as_str().unwrap(), of["documents"].as_u64().unwrap()))
        .collect();
    assert_eq!((documents["removed"], documents["suite"], documents["null"]), (1, 1, null));
    let reasons = ["holdout", "min_tokens", "not_owed", "null", "removed", "suite", "where"];
    assert_eq!(documents.into_keys().collect::<Vec<_>>(), reasons);
    let of_both = explained["sources"].as_array().unwrap().iter();
    let of_both = of_both.flat_map(|source| source["left_out"].as_array().unwrap());
    let of_both = of_both.filter(|of| of["reason"] == "null").map(|of| numbers(of, names));
    let [documents, tokens] =
        of_both.fold([0, 0], |sums, of| [sums[0] + of[0], sums[1] + of[1]]).map(number);
    assert!(
        text.contains(&format!("{documents} documents of {tokens} tokens, null in where\n")),
        "{text}"
    );
});

// ----
// The border to a holdout through histories: whatever takes a document's place stays on its side.

#[test]
fn a_recrawl_with_a_footer_moves_nothing_over_the_border() {
    let mut random = Random::new(61);
    let mut pages = Pages::new(&KeepOrder::First);
    let mut crawl = first_crawl(&mut random, 120);
    pages.pour(&crawl);
    let before = pages.sides();
    for round in 0..2 {
        for page in &mut crawl {
            page.text.push_str(&format!(" seen again in round {round} of the crawl"));
        }
        pages.pour(&crawl);
        let after = pages.sides();
        assert_eq!(after.0.len() + after.1.len(), 120, "nothing met another lineage");
        assert_eq!(leaks(&pages, 0.6, &before, &after), 0, "round {round}");
    }
}

#[test]
fn longer_mirror_copies_move_nothing_over_the_border() {
    let mut random = Random::new(62);
    let mut pages = Pages::new(&KeepOrder::Longest);
    let crawl = first_crawl(&mut random, 120);
    pages.pour(&crawl);
    let before = pages.sides();
    for round in 1..3 {
        let mirror = |page: &Page| {
            let id = format!("mirror-{round}-{}", page.id.as_deref().unwrap());
            Page::keyed(id, format!("{}{}", page.text, " mirrored here".repeat(round)))
        };
        pages.pour(&crawl.iter().map(mirror).collect::<Vec<_>>());
        let after = pages.sides();
        assert!(after.0.is_disjoint(&before.0) && after.1.is_disjoint(&before.1), "all displaced");
        assert_eq!(after.0.len() + after.1.len(), 120);
        assert_eq!(leaks(&pages, 0.6, &before, &after), 0, "round {round}");
    }
}

/// What a view shows of one moment.
#[derive(Default)]
struct Moment {
    kept: BTreeSet<u64>,
    /// The witness of each duplicate.
    witness: BTreeMap<u64, u64>,
    /// What superseded each document.
    heir: BTreeMap<u64, u64>,
}

impl Moment {
    fn of(corpus: &Corpus) -> Self {
        let view = corpus.view();
        let mut moment =
            Self { kept: corpus.select("kept").unwrap().iter().collect(), ..Self::default() };
        for id in 0..view.documents() {
            let Some(found) = view.match_of(DocId(id)).unwrap() else { continue };
            let into = if found.kind == MatchKind::Superseded {
                &mut moment.heir
            } else {
                &mut moment.witness
            };
            into.insert(id, found.witness.0);
        }
        moment
    }

    /// The kept document that stands for another one after it was superseded and displaced.
    fn stands_for(&self, id: u64) -> Option<u64> {
        let mut at = id;
        while let Some(heir) = self.heir.get(&at) {
            at = *heir;
        }
        let at = self.witness.get(&at).copied().unwrap_or(at);
        self.kept.contains(&at).then_some(at)
    }
}

/// Whose place each document took, told from what is shown before and after each commit.
#[derive(Default)]
struct SideLedger(BTreeMap<u64, BTreeSet<u64>>);

impl SideLedger {
    fn roots(&self, id: u64) -> BTreeSet<u64> {
        self.0.get(&id).cloned().unwrap_or_else(|| BTreeSet::from([id]))
    }

    fn follow(&mut self, before: &Moment, after: &Moment) {
        let mut taken: Vec<(u64, u64)> = Vec::new();
        for id in before.kept.difference(&after.kept) {
            taken.extend(after.stands_for(*id).map(|next| (next, *id)));
        }
        for id in after.kept.difference(&before.kept) {
            taken.extend(before.witness.get(id).map(|witness| (*id, *witness)));
        }
        let roots: Vec<(u64, BTreeSet<u64>)> =
            taken.iter().map(|(next, id)| (*next, self.roots(*id))).collect();
        for (next, roots) in roots {
            // One that was never kept had no side of its own.
            let was_kept = before.kept.contains(&next) || self.0.contains_key(&next);
            let own = if was_kept { self.roots(next) } else { BTreeSet::new() };
            self.0.entry(next).or_insert(own).extend(roots);
        }
    }
}

/// The documents of both sides with their roots.
type Sides = [Vec<(u64, BTreeSet<u64>)>; 2];

fn random_history(keep: &KeepOrder, seed: u64) {
    let mut random = Random::new(seed);
    let mut pages = Pages::new(keep);
    let mut crawl = first_crawl(&mut random, 40);
    pages.pour(&crawl);
    let open = |pages: &Pages| Corpus::options().memory(MEMORY).open(&pages.path).unwrap();
    let mut moment = Moment::of(&open(&pages));
    let mut ledger = SideLedger::default();
    // Sides and roots at each snapshot.
    let mut history: Vec<Sides> = Vec::new();
    let mut removed: Vec<u64> = Vec::new();
    for step in 0..14_u64 {
        match random.below(6) {
            0 | 1 => {
                // Some pages again under their keys, with few edits or as another page's.
                let mut again = Vec::new();
                for _ in 0..12 {
                    let other = random.pick(&crawl).text.clone();
                    let at = random.below(crawl.len());
                    let from = if random.chance(30) { other } else { crawl[at].text.clone() };
                    crawl[at].text = edited(&mut random, &from, 2);
                    crawl[at].text.push_str(&format!(" step {step}"));
                    again.push(crawl[at].clone());
                }
                pages.pour(&again);
            }
            2 => {
                let mut mirrors = Vec::new();
                for number in 0..10 {
                    let from = random.pick(&crawl).text.clone();
                    let text = format!("{} and more of it", edited(&mut random, &from, 1));
                    mirrors.push(Page::keyed(format!("mirror-{step}-{number}"), text));
                }
                pages.pour(&mirrors);
                crawl.extend(mirrors);
            }
            3 => {
                let kept: Vec<u64> = moment.kept.iter().copied().collect();
                let some: Vec<u64> = (0..4).map(|_| *random.pick(&kept)).collect();
                removed.extend(&some);
                let mut writer = pages.writer();
                writer.remove(&some.into_iter().collect(), false, &Context::new()).unwrap();
            }
            4 if !removed.is_empty() => {
                let some = removed.drain(..removed.len().div_ceil(2)).collect();
                pages.writer().restore(&some, &Context::new()).unwrap();
            }
            _ => {
                let policy = policy(keep, [0.6, 0.7, 0.8][random.below(3)]);
                let mut writer = pages.writer();
                writer.redo(&policy, &Context::new()).unwrap();
                writer.switch(&policy, &Context::new()).unwrap();
            }
        }
        let corpus = open(&pages);
        let now = Moment::of(&corpus);
        ledger.follow(&moment, &now);
        moment = now;
        drop(corpus);
        let (train, held) = pages.sides();
        assert!(train.is_disjoint(&held));
        let with_roots = |ids: &BTreeSet<u64>| -> Vec<(u64, BTreeSet<u64>)> {
            ids.iter().map(|id| (*id, ledger.roots(*id))).collect()
        };
        let sides = [with_roots(&train), with_roots(&held)];
        for (at, before) in history.iter().enumerate() {
            for (held, trained) in [(&before[1], &sides[0]), (&sides[1], &before[0])] {
                for (one, roots) in held {
                    let shared = trained.iter().find(|(_, others)| !others.is_disjoint(roots));
                    assert!(
                        shared.is_none(),
                        "document {one} held out, {shared:?} trained on: steps {at} and {step}, {keep:?}, {roots:?}"
                    );
                }
            }
        }
        history.push(sides);
    }
    let (train, held) = pages.sides();
    assert!(!train.is_empty() && !held.is_empty());
}

#[test]
fn held_out_documents_never_turn_into_trained_ones() {
    for seed in 0..seeds(2) {
        random_history(&KeepOrder::First, 630 + seed);
        random_history(&KeepOrder::Longest, 640 + seed);
    }
}

/// A recipe over a snapshot gives the same documents whatever took their place since.
#[test]
fn the_sides_of_a_snapshot_never_change() {
    let mut random = Random::new(65);
    let mut pages = Pages::new(&KeepOrder::Longest);
    let mut crawl = first_crawl(&mut random, 60);
    pages.pour(&crawl);
    pages.writer().create_snapshot("then").unwrap();
    let text = format!("snapshot = \"then\"\n[select]\nholdout = {{ share = {SHARE} }}\n");
    let hash = |pages: &Pages| {
        let corpus = Corpus::options().memory(MEMORY).open(&pages.path).unwrap();
        corpus.plan(&recipe(&text), &Context::new()).unwrap().plan.hash()
    };
    let before = hash(&pages);
    for page in &mut crawl {
        page.text.push_str(" with a footer");
    }
    pages.pour(&crawl);
    assert_eq!(hash(&pages), before);
}

// Documents with a family on each side were left out of both without a report.
corpusdb_test!(documents_on_no_side_are_counted, Pages::new(&KeepOrder::First), |mut pages| {
    let mut random = Random::new(77);
    let first = first_crawl(&mut random, 60);
    pages.pour(&first);
    // Half of the keys come again with what the other half says: each of those has two lineages from then on.
    let moved = first.iter().zip(&first[30..]).map(|(page, other)| {
        let text = edited(&mut random, &other.text, 1);
        Page { text, ..page.clone() }
    });
    let moved: Vec<Page> = moved.collect();
    pages.pour(&moved);
    let (train, held) = pages.sides();
    let corpus = Corpus::options().memory(MEMORY).open(&pages.path).unwrap();
    let kept: BTreeSet<u64> = corpus.select("kept").unwrap().iter().collect();
    let neither = kept.iter().filter(|id| !train.contains(id) && !held.contains(id)).count();
    assert!(neither > 3, "{neither} of {}", kept.len());
    let told = format!("holdout: {neither} documents are on neither side");
    for take in ["train", "holdout"] {
        let text = format!("[select]\nholdout = {{ share = {SHARE}, take = \"{take}\" }}\n");
        let planned = plan(&corpus, &text).unwrap();
        assert_eq!(corpus.undecided(&planned).unwrap(), Some(neither as u64));
        assert!(!planned.plan.to_json().contains("undecided"), "it is no part of the plan");
        let explained = corpus.explain(&planned, &Context::new()).unwrap();
        assert_eq!(explained.undecided_documents, Some(neither as u64));
        assert!(explained.to_string().contains(&told), "{explained}");
        let file = pages.scratch.write(&format!("{take}.toml"), format!("version = 1\n{text}"));
        let path = pages.path.display().to_string();
        corpusdb(&["epoch", "plan", &path, &file]).good().prints(&[&told]);
        let said = corpusdb(&["epoch", "plan", &path, &file, "--json"]).good().json();
        assert_eq!(said["undecided_documents"], neither);
    }
    // What a condition leaves out is not missed.
    let text = "[select]\nwhere = \"id < 45\"\nholdout = { share = 0.3, take = \"train\" }\n";
    let narrow = plan(&corpus, text).unwrap();
    let of = kept.iter().filter(|id| **id < 45 && !train.contains(id) && !held.contains(id));
    assert_eq!(corpus.undecided(&narrow).unwrap(), Some(of.count() as u64));
    assert_eq!(corpus.undecided(&plan(&corpus, "").unwrap()).unwrap(), None);
});

// ----
// The border to a holdout where contents move from key to key within one commit.

/// The page as it is found again.
fn again(page: &Page, key: String) -> Page {
    Page::keyed(key, format!("{} seen again in a later crawl of these pages", page.text))
}

fn keys(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|number| format!("page-{number}"))
}

#[test]
fn pages_that_move_in_one_commit_stay_on_their_side() {
    for (seed, keep, stubs_first) in [
        (71, KeepOrder::First, false),
        (72, KeepOrder::First, true),
        (73, KeepOrder::Longest, false),
        (74, KeepOrder::Longest, true),
    ] {
        let mut random = Random::new(seed);
        let mut pages = Pages::new(&keep);
        let crawl = first_crawl(&mut random, 60);
        pages.pour(&crawl);
        let before = pages.sides();
        let moved = crawl.iter().zip(keys(60)).map(|(page, key)| again(page, format!("new-{key}")));
        let stub =
            |key| Page::keyed(key, format!("This page has moved. {}", prose(&mut random, 0, 20)));
        let mut file: Vec<Page> = moved.chain(keys(60).map(stub)).collect();
        if stubs_first {
            file.rotate_left(60);
        }
        assert_eq!(pages.pour(&file).commits, 1);
        let after = pages.sides();
        assert_eq!(after.0.len() + after.1.len(), 120, "nothing met another lineage");
        assert_eq!(leaks(&pages, 0.6, &before, &after), 0, "{keep:?}, stubs first {stubs_first}");
        // A later crawl goes on from there.
        let third: Vec<Page> = crawl
            .iter()
            .zip(keys(60))
            .map(|(page, key)| again(page, format!("third-{key}")))
            .collect();
        pages.pour(&third);
        assert_eq!(leaks(&pages, 0.6, &before, &pages.sides()), 0, "{keep:?}, a third time");
    }
}

/// The pages with row numbers as keys, and another page in front.
fn shifted(crawl: &[Page], first: &Page) -> Vec<Page> {
    let rows = std::iter::once(first).chain(crawl).zip(keys(crawl.len() + 1));
    rows.map(|(page, key)| again(page, key)).collect()
}

#[test]
fn keys_that_shift_by_one_move_nothing_over_the_border() {
    for (seed, keep, is_template) in [
        (75, KeepOrder::First, false),
        (76, KeepOrder::Longest, false),
        (78, KeepOrder::First, true),
    ] {
        let mut random = Random::new(seed);
        let mut pages = Pages::new(&keep);
        let crawl = if is_template { fills(&mut random, 80) } else { first_crawl(&mut random, 80) };
        pages.pour(&crawl);
        let before = pages.sides();
        let first = Page::new(prose(&mut random, 0, 60));
        assert_eq!(pages.pour(&shifted(&crawl, &first)).commits, 1);
        let after = pages.sides();
        assert!(
            after.0.len() > 25 && !after.1.is_empty(),
            "{} and {}",
            after.0.len(),
            after.1.len()
        );
        assert_eq!(leaks(&pages, 0.75, &before, &after), 0, "{keep:?}, {is_template}");
    }
}

/// Pages of one template: every bucket of one is crowded, and no two are similar.
fn fills(random: &mut Random, count: usize) -> Vec<Page> {
    let template = prose(random, 0, 50);
    let words: Vec<&str> = template.split(' ').collect();
    keys(count)
        .map(|key| {
            let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            for at in [16, 34] {
                words[at] = format!("fill{}", random.below(1_000_000));
            }
            Page::keyed(key, words.join(" "))
        })
        .collect()
}

#[test]
fn replacing_within_a_commit_costs_a_comparison_a_change() {
    let costs = |count: usize| {
        let mut random = Random::new(77);
        let mut told = Vec::new();
        for crawl in [first_crawl(&mut random, count), fills(&mut random, count)] {
            let mut pages = Pages::new(&KeepOrder::First);
            assert_eq!(pages.pour(&crawl).dedup.heirs, 0, "nothing left");
            assert_eq!(pages.writer().view().kept().unwrap().len() as usize, count);
            let mut crawled = crawl.clone();
            crawled.iter_mut().for_each(|page| page.fields["night"] = 1.into());
            assert_eq!(pages.pour(&crawled).dedup.heirs, 0, "no text changed");
            let footers: Vec<Page> =
                crawl.iter().zip(keys(count)).map(|(page, key)| again(page, key)).collect();
            let same_keys = pages.pour(&footers).dedup.heirs;
            let first = Page::new(prose(&mut random, 0, 60));
            told.push((same_keys, pages.pour(&shifted(&footers, &first)).dedup.heirs));
        }
        told
    };
    let (few, many) = (costs(60), costs(120));
    for (few, many) in few.iter().zip(&many) {
        assert!(
            many.0 <= 2 * few.0 + 20 && many.1 <= 2 * few.1 + 20,
            "{few:?} of 60, {many:?} of 120"
        );
        assert!(few.1 <= 3 * 60, "{few:?} of 60");
    }
}
