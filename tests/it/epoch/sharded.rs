//! Epochs over several corpora: those of one that holds all their documents, whatever happens in each of them later.

use crate::support::epochs::{EOS, SPECIALS};
use crate::support::outputs::{Row, files, manifest, rows};
use crate::support::{
    MEMORY, Page, Ran, Random, TestDir, WEB_BY_ID, copy, corpusdb, corpusdb_test, fixture, ingest,
    init, lines, prose, sql,
};
use corpusdb::epoch::Corpora;
use corpusdb::store::TokenizerId;
use corpusdb::{Corpus, DocId};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const PACKS: [&str; 4] = ["best-fit", "greedy", "concat", "none"];
const SOURCES: [&str; 3] = ["web", "books", "code"];

/// The same documents in one corpus and in three.
struct Sharded {
    scratch: TestDir,
    whole: String,
    shards: Vec<String>,
}

impl Sharded {
    fn new() -> Self {
        let scratch = TestDir::new();
        fixture("documents in one corpus and in three", &scratch.path("corpora"), Self::make);
        let shards = (0..3).map(|shard| scratch.arg(&format!("corpora/shard-{shard}"))).collect();
        Self { shards, whole: scratch.arg("corpora/whole"), scratch }
    }

    /// The corpora, and the tokenizer that all have.
    fn make(folder: &Path) {
        std::fs::create_dir_all(folder).unwrap();
        let mut random = Random::new(11);
        let pages: Vec<(usize, Page)> = (0..150)
            .map(|number| {
                let words = random.between(5, 150);
                let mut page =
                    Page::keyed(format!("key {number}"), prose(&mut random, number, words));
                page.fields = json!({ "year": 2000 + number % 5 });
                // The third corpus has no code.
                let source = number / 3 % if number % 3 == 2 { 2 } else { SOURCES.len() };
                (source, page)
            })
            .collect();
        let of = |shard: usize| pages.iter().enumerate().filter(move |(at, _)| at % 3 == shard);
        let place = |name: &str| folder.join(name).display().to_string();
        let (whole, file) = (place("whole"), place("tokenizer.json"));
        fill(&whole, pages.iter(), &[0, 1, 2]);
        let train = ["tokenizer", "train", &whole, "own", "--vocab-size", "500"];
        corpusdb(&[&train[..], &["--special", EOS, "--special", "<|pad|>"]].concat()).good();
        corpusdb(&["tokenizer", "export", &whole, "own", &file]).good();
        // Sources and tokenizers have other numbers in each.
        for (shard, order) in [[2, 0, 1], [1, 2, 0], [1, 0, 2]].iter().enumerate() {
            let corpus = place(&format!("shard-{shard}"));
            fill(&corpus, of(shard).map(|(_, page)| page), order);
            if shard == 1 {
                corpusdb(&["tokenizer", "train", &corpus, "other", "--vocab-size", "300"]).good();
            }
            corpusdb(&["tokenizer", "add", &corpus, "own", &file]).good();
        }
    }

    fn recipe(&self, recipe: &str) -> String {
        let name = format!("{}.toml", blake3::hash(recipe.as_bytes()).to_hex());
        self.scratch.write(&name, format!("version = 1\n{recipe}"))
    }

    /// `epoch VERB` over all three.
    fn run(&self, verb: &str, what: &str, more: &[&str]) -> Ran {
        let shards: Vec<&str> = self.shards.iter().map(String::as_str).collect();
        over(verb, &shards, what, more)
    }

    #[track_caller]
    fn build(&self, what: &str, out: &str) -> PathBuf {
        self.run("build", what, &["--out", &self.scratch.arg(out)]).good();
        let report = self.run("verify", &self.scratch.arg(out), &["--json"]).good().json();
        assert!(
            report["checks"].as_array().unwrap().iter().all(|check| check["passed"] == true),
            "{report}"
        );
        self.scratch.path(out)
    }

    /// Key and stored ids of each document by its number among all.
    fn stored(&self) -> BTreeMap<u64, (String, Vec<i64>)> {
        let corpora = opened(&self.shards);
        let first = corpora.corpora();
        let mut found = BTreeMap::new();
        for shard in 0..self.shards.len() as u64 {
            let at = |document: u64| DocId(shard << 40 | document);
            let (view, _) = first.find(at(0)).unwrap();
            let (tokenizer, _) = view.tokenizer_named("own").unwrap();
            for document in 0..view.documents() {
                assert_eq!(Corpora::place(at(document)), (shard, DocId(document)));
                let mut ids = Vec::new();
                if view.tokens(tokenizer, DocId(document), &mut ids).unwrap() {
                    let key = view.display_key(DocId(document)).unwrap();
                    found.insert(at(document).0, (key, ids.into_iter().map(i64::from).collect()));
                }
            }
            assert_eq!(tokenizer == TokenizerId(0), shard != 1, "other numbers in each");
        }
        found
    }
}

/// Makes a corpus of pages by their sources.
fn fill<'a>(corpus: &str, pages: impl Iterator<Item = &'a (usize, Page)> + Clone, order: &[usize]) {
    let directory = TestDir::new();
    init(corpus, &["--field", "year:int"]);
    for source in order {
        let own = pages.clone().filter(|(of, _)| of == source).map(|(_, page)| page.clone());
        let own: Vec<Page> = own.collect();
        if own.is_empty() {
            continue;
        }
        let file = directory.write(&format!("{source}.jsonl"), lines(&own));
        ingest(corpus, &[&file], &["--source", SOURCES[*source], "--id-field", "id"]);
    }
}

fn opened(shards: &[String]) -> Corpus {
    let open = |path: &String| Corpus::options().memory(MEMORY).open(path).unwrap();
    let others = shards[1..].iter().map(open).collect();
    open(&shards[0]).with_shards(others).unwrap()
}

/// `epoch VERB` over corpora.
fn over(verb: &str, shards: &[&str], what: &str, more: &[&str]) -> Ran {
    let beside = if shards.len() > 1 { [&["--shards"], &shards[1..]].concat() } else { Vec::new() };
    corpusdb(&[&["epoch", verb, shards[0], what][..], more, &beside].concat())
}

/// The keys of the documents of which rows hold every token once; each token is that of the store.
fn keys(rows: &[Row], stored: &BTreeMap<u64, (String, Vec<i64>)>, eos: i64) -> Vec<String> {
    let mut covered: BTreeMap<u64, BTreeSet<usize>> = BTreeMap::new();
    for row in rows {
        for (document, offset, ids) in row.segments() {
            let (key, tokens) = &stored[&document];
            let sequence = [tokens.as_slice(), &[eos]].concat();
            assert_eq!(ids, &sequence[offset..offset + ids.len()], "{key}");
            for at in offset..offset + ids.len() {
                assert!(
                    covered.entry(document).or_default().insert(at),
                    "token {at} of {key} twice"
                );
            }
        }
    }
    let mut keys: Vec<String> = covered
        .into_iter()
        .map(|(document, tokens)| {
            let (key, ids) = &stored[&document];
            // An EOS that would be alone is left out.
            assert!(tokens.len() >= ids.len(), "{key}");
            key.clone()
        })
        .collect();
    keys.sort();
    keys
}

fn kept(corpus: &str) -> Vec<String> {
    let rows =
        corpusdb(&["sql", corpus, "SELECT key FROM documents WHERE kept", "--format", "json"]);
    let mut keys: Vec<String> = rows
        .good()
        .json_lines()
        .iter()
        .map(|row| row["key"].as_str().unwrap().to_owned())
        .collect();
    keys.sort();
    keys
}

fn eos(directory: &Path) -> i64 {
    manifest(directory)["tokenizer"]["specials"]["eos"].as_i64().unwrap()
}

fn recipe_of(pack: &str, format: &str) -> String {
    format!("{SPECIALS}[pack]\nkind = \"{pack}\"\nlength = 128\n[output]\nformat = \"{format}\"\n")
}

corpusdb_test!(an_epoch_over_shards_equals_one_over_a_merged_corpus, Sharded::new(), |place| {
    let stored = place.stored();
    let all = kept(&place.whole);
    let mut of_shards: Vec<String> = place.shards.iter().flat_map(|shard| kept(shard)).collect();
    of_shards.sort();
    assert_eq!(of_shards, all);
    for (pack, format) in PACKS.into_iter().zip(["parquet", "megatron", "raw", "parquet"]) {
        let recipe = place.recipe(&recipe_of(pack, format));
        let directory = place.build(&recipe, &format!("{pack}-shards"));
        assert_eq!(keys(&rows(&directory), &stored, eos(&directory)), all, "{pack}");
        let out = place.scratch.arg(&format!("{pack}-whole"));
        corpusdb(&["epoch", "build", &place.whole, &recipe, "--out", &out]).good();
        let (ours, one) = (manifest(&directory), manifest(Path::new(&out)));
        assert_eq!(ours["totals"]["tokens"], one["totals"]["tokens"], "{pack}");
        // In order of arrival rows end where documents do; all else follows from how many there are of each length.
        if pack != "greedy" {
            assert_eq!(ours["totals"], one["totals"], "{pack}");
        }
        let names = |manifest: &Value| -> BTreeMap<String, Value> {
            let sources = manifest["sources"].as_array().unwrap().iter();
            sources
                .map(|it| (it["name"].as_str().unwrap().to_owned(), it["documents"].clone()))
                .collect()
        };
        assert_eq!(names(&ours), names(&one), "{pack}");
    }
});

corpusdb_test!(ranks_resume_and_rows_are_those_of_the_files, Sharded::new(), |place| {
    let recipe = place.recipe(&format!("{}[batch]\nrows = 6\n", recipe_of("best-fit", "parquet")));
    let written = rows(&place.build(&recipe, "out"));
    let ids = |ran: Ran| -> Vec<Vec<i64>> {
        let of = |row: &Value| {
            row["input_ids"].as_array().unwrap().iter().map(|id| id.as_i64().unwrap()).collect()
        };
        ran.good().json_lines().iter().map(of).collect()
    };
    for world in [1, 3] {
        let mut given = BTreeMap::new();
        for rank in 0..world {
            for from in [0, 2] {
                let arguments = [rank, world, from].map(|number: u64| number.to_string());
                let [rank, world, from_batch] = &arguments;
                let ran = place.run(
                    "stream",
                    &recipe,
                    &["--rank", rank, "--world", world, "--from-batch", from_batch],
                );
                given.insert((rank.clone(), from), ids(ran));
            }
            let skipped = (2 * 6 / world) as usize;
            let rank = rank.to_string();
            assert_eq!(given[&(rank.clone(), 0)][skipped..], given[&(rank, 2)]);
        }
        let mut all: Vec<Vec<i64>> = given
            .into_iter()
            .filter(|((_, from), _)| *from == 0)
            .flat_map(|(_, rows)| rows)
            .collect();
        let mut files: Vec<Vec<i64>> = written.iter().map(|row| row.ids.clone()).collect();
        all.sort();
        files.sort();
        assert_eq!(all, files);
    }
    let stored = place.stored();
    let mut seen = BTreeSet::new();
    for (number, row) in written.iter().enumerate().take(12) {
        let told = place.run("row", &recipe, &[&number.to_string(), "--json"]).good().json();
        let segments = told["segments"].as_array().unwrap();
        assert_eq!(segments.len(), row.documents.len());
        for (segment, document) in segments.iter().zip(&row.documents) {
            assert_eq!(segment["document"], *document);
            assert_eq!(segment["shard"], document >> 40);
            assert_eq!(segment["key"], stored[&(*document as u64)].0);
            seen.insert(document >> 40);
        }
    }
    assert_eq!(seen.len(), 3);
    let table = place.run("row", &recipe, &["0"]).good().stdout;
    assert!(table.lines().nth(1).unwrap().contains("shard"), "{table}");
});

corpusdb_test!(other_shards_than_those_of_the_plan_are_refused, Sharded::new(), |place| {
    let recipe = place.recipe(SPECIALS);
    place.run("plan", &recipe, &[]).good();
    let [first, second, third] = &place.shards[..] else { panic!("three") };
    let out = place.scratch.arg("out");
    let build = |shards: &[&str]| over("build", shards, "1", &["--out", &out]);
    build(&[first]).fails(&["draws from 3 corpora, and 1 of them is open", "--shards"]);
    build(&[first, second]).fails(&["draws from 3 corpora, and 2 of them are open"]);
    build(&[first, third, second])
        .fails(&["shard 1 is not the corpus that the plan draws from", "in the order"]);
    build(&[first, second, first]).fails(&["is named twice"]);
    build(&[first, second, &place.scratch.arg("nowhere")]).fails(&["nowhere"]);
    corpusdb(&["report", first, "--plan", "1"]).fails(&["draws from 3 corpora", "--shards"]);
    let report = corpusdb(&["report", first, "--plan", "1", "--json", "--shards", second, third])
        .good()
        .json();
    assert_eq!(report["plan"]["number"], 1);
    // The corpus that has the plan is sound by itself.
    corpusdb(&["check", first, "--deep"]).good();
    build(&[first, second, third]).good();
    // One more is no matter: the plan draws nothing from it.
    over("verify", &[first, second, third, &place.whole], &out, &[]).good();

    let named = place.recipe(&format!("snapshot = \"june\"\n{SPECIALS}"));
    corpusdb(&["snapshot", "create", first, "june"]).good();
    place.run("plan", &named, &[]).fails(&["shard 1: ", "no snapshot `june`"]);
    for shard in [second, third] {
        corpusdb(&["snapshot", "create", shard, "june"]).good();
    }
    place.run("plan", &named, &[]).good();
    // One shard that was brought into two corpora, and one whose field is of another type.
    let twin = place.scratch.arg("twin");
    copy(Path::new(second), Path::new(&twin));
    over("plan", &[first, second, &twin], &recipe, &[])
        .fails(&["shards 1 and 2 have the same documents"]);
    let other = place.scratch.arg("other");
    init(&other, &["--field", "year:keyword"]);
    corpusdb(&["tokenizer", "add", &other, "own", &place.scratch.arg("corpora/tokenizer.json")])
        .good();
    let by_year = place.recipe(&format!("{SPECIALS}[select]\nwhere = \"year < 2003\"\n"));
    over("plan", &[first, second, &other], &by_year, &[])
        .fails(&["`year`, which is of type keyword in shard 2 and of type int in shard 0"]);
    let unknown = place.recipe(&format!("{SPECIALS}[select]\nwhere = \"nonsense > 1\"\n"));
    place.run("plan", &unknown, &[]).fails(&["nonsense"]);
    corpusdb(&["tokenizer", "drop", third, "own", "--force"]).good();
    place.run("plan", &recipe, &[]).fails(&["shard 2 has no tokenizer `own`"]);
});

// Every corpus goes on by itself: what a plan drew stays, byte for byte.
corpusdb_test!(a_plan_over_shards_stays_the_same_as_they_grow, Sharded::new(), |place| {
    let recipe = place.recipe(&recipe_of("best-fit", "parquet"));
    place.run("plan", &recipe, &[]).good();
    let before = files(&place.build("1", "before"));
    // What changes no document makes no other plan.
    corpusdb(&["compact", &place.shards[1]]).good();
    corpusdb(&["snapshot", "create", &place.shards[2], "commit-5"]).good();
    place.run("plan", &recipe, &[]).good();
    let plans = corpusdb(&["epoch", "show", &place.shards[0], "--json"]).good();
    assert_eq!(plans.stdout.lines().count(), 1, "{plans}");
    for (shard, corpus) in place.shards.iter().enumerate() {
        let key = format!("key {shard}");
        let mut random = Random::new(77 + shard as u64);
        let pages = vec![
            Page::keyed(&key, prose(&mut random, shard, 90)),
            Page::keyed(format!("later {shard}"), prose(&mut random, shard, 70)),
        ];
        place.scratch.ingest(corpus, &format!("later-{shard}.jsonl"), lines(&pages), &WEB_BY_ID);
        corpusdb(&["remove", corpus, &format!("key {}", 3 + shard)]).good();
        corpusdb(&["dedup", "redo", corpus, "--threshold", "0.6"]).good();
        corpusdb(&["compact", corpus]).good();
    }
    assert_eq!(files(&place.build("1", "after")), before);
    let warned =
        place.run("plan", &place.recipe(&format!("{SPECIALS}[pack]\nlength = 100\n")), &[]).good();
    assert!(!warned.stderr.contains("removed"), "{warned}");
    let removed = place.run("build", "1", &["--strict", "--out", &place.scratch.arg("strict")]);
    removed.fails(&["draws 3 documents that were removed"]);
    // What is purged in any of them is not trained on.
    corpusdb(&["remove", &place.shards[2], "key 8", "--purge", "--force", "--reason", "asked"])
        .good();
    place
        .run("build", "1", &["--out", &place.scratch.arg("purged")])
        .fails(&["1 documents that were purged"]);
});

corpusdb_test!(an_extension_over_shards_takes_in_another_one, Sharded::new(), |place| {
    let recipe = place.recipe(&recipe_of("best-fit", "parquet"));
    let [first, second, third] = &place.shards[..] else { panic!("three") };
    let two = [first.as_str(), second];
    let out = place.scratch.arg("first");
    over("build", &two, &recipe, &["--out", &out]).good();
    let begun = rows(Path::new(&out));
    let consumed = begun.len() / 3;
    let rest = place.recipe(&recipe_of("best-fit", "parquet"));
    over("extend", &[first, second, third], "1", &["--consumed", &consumed.to_string(), &rest])
        .good();
    let directory = place.build("2", "rest");
    let left = rows(&directory);
    let given: Vec<Row> = begun[..consumed].iter().chain(&left).cloned().collect();
    assert_eq!(keys(&given, &place.stored(), eos(&directory)), kept(&place.whole));
    over("build", &two, "2", &["--out", &place.scratch.arg("two")])
        .fails(&["draws from 3 corpora"]);
});

corpusdb_test!(both_sides_of_a_holdout_are_all_documents_of_all_shards, Sharded::new(), |place| {
    let stored = place.stored();
    let mut all = Vec::new();
    for by in ["cluster", "year"] {
        let mut both = Vec::new();
        for side in ["train", "holdout"] {
            let holdout = format!(
                "[select]\nholdout = {{ share = 0.4, take = \"{side}\", by = \"{by}\" }}\n"
            );
            let recipe = place.recipe(&format!("{holdout}{}", recipe_of("greedy", "parquet")));
            let directory = place.build(&recipe, &format!("{by}-{side}"));
            let keys = keys(&rows(&directory), &stored, eos(&directory));
            assert!(keys.len() > 20, "{by} {side}: {}", keys.len());
            both.extend(keys);
        }
        both.sort();
        all.push(both);
    }
    assert_eq!(all[0], kept(&place.whole));
    assert_eq!(all[1], all[0]);
});

corpusdb_test!(curricula_repeats_and_conditions_see_all_shards, Sharded::new(), |place| {
    let stored = place.stored();
    for by in ["tokens", "surprisal", "year"] {
        let order = format!(
            "[order]\nkind = \"curriculum\"\ncurriculum = {{ by = \"{by}\", strata = 4, c0 = 0.5 }}\n"
        );
        place.build(&place.recipe(&format!("{order}{}", recipe_of("greedy", "parquet"))), by);
    }
    let conditions = "[select]\nwhere = \"year < 2003\"\nrepeat = \"CASE WHEN year = 2000 THEN 0 ELSE 1 END\"\n[[source]]\nname = \"web\"\n[[source]]\nname = \"text\"\nfrom = [\"b*\", \"code\"]\n";
    let recipe = place.recipe(&format!("{}{conditions}", recipe_of("greedy", "parquet")));
    let directory = place.build(&recipe, "conditions");
    let statement = "SELECT key FROM documents WHERE kept AND year IN (2001, 2002)";
    let expected = sql(&place.whole, statement);
    let mut expected: Vec<String> =
        expected.iter().map(|row| row["key"].as_str().unwrap().to_owned()).collect();
    expected.sort();
    assert_eq!(keys(&rows(&directory), &stored, eos(&directory)), expected);
});
