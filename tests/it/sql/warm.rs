//! Statements that are run again and again over corpora that are held open: each shows the moment of its corpus.

use crate::support::{Random, TestDir, corpusdb, reader, seeds, sound, writer};
use corpusdb::arrow::array::AsArray;
use corpusdb::arrow::datatypes::Int64Type;
use corpusdb::ingest::{JoinBy, JoinOptions, Record, Records};
use corpusdb::query::SqlQuery;
use corpusdb::{Context, Corpus, DedupMode, FieldKind, IngestOptions, Policy};
use std::collections::BTreeMap;

/// A document by its key, with its grade, if it has one.
#[derive(Clone, Debug)]
struct Known {
    key: usize,
    grade: Option<i64>,
}

/// What a corpus must answer, whatever came after its moment.
#[derive(Clone, Default)]
struct WarmModel {
    documents: Vec<Known>,
    /// Documents that snapshots keep: none of them leaves one here.
    snapshots: BTreeMap<String, Vec<usize>>,
}

impl WarmModel {
    /// The newest document of each key.
    fn kept(&self) -> Vec<usize> {
        let newest: BTreeMap<usize, usize> =
            self.documents.iter().enumerate().map(|(id, known)| (known.key, id)).collect();
        let mut kept: Vec<usize> = newest.into_values().collect();
        kept.sort_unstable();
        kept
    }
}

/// The whole numbers of an answer of one column.
#[track_caller]
fn numbers(corpus: &Corpus, statement: &str, query: &SqlQuery) -> Vec<Option<i64>> {
    let rows = corpus.sql(query.clone().text(statement)).unwrap();
    let batches = rows.map(|batch| batch.unwrap());
    batches
        .flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().iter().collect::<Vec<_>>())
        .collect()
}

#[track_caller]
fn answers(corpus: &Corpus, model: &WarmModel, random: &mut Random) {
    let plain = SqlQuery::default();
    for _ in 0..2 {
        let key = random.below(KEYS + 2);
        let of_key = |ids: &mut dyn Iterator<Item = usize>| -> Vec<Option<i64>> {
            let of_key = ids.filter(|id| model.documents[*id].key == key);
            of_key.map(|id| model.documents[id].grade).collect()
        };
        let statement = format!("SELECT grade FROM documents WHERE key = 'k{key}'");
        let expected = of_key(&mut (0..model.documents.len()));
        assert_eq!(numbers(corpus, &statement, &plain), expected, "{statement}");
        for (name, kept) in &model.snapshots {
            let expected = of_key(&mut kept.iter().copied());
            let at = statement.replace("documents", &format!("documents_at('{name}')"));
            assert_eq!(numbers(corpus, &at, &plain), expected, "{at}");
            let options = SqlQuery::default().snapshot(name);
            assert_eq!(numbers(corpus, &statement, &options), expected, "{statement} at {name}");
        }
        let least = random.below(100) as i64;
        let statement = format!("SELECT count(*) FROM documents WHERE grade >= {least}");
        let expected = model.documents.iter().filter(|it| it.grade.is_some_and(|it| it >= least));
        assert_eq!(numbers(corpus, &statement, &plain), [Some(expected.count() as i64)]);
        let expected = model.documents.iter().filter_map(|known| known.grade).reduce(|a, b| a + b);
        assert_eq!(numbers(corpus, "SELECT sum(grade) FROM documents", &plain), [expected]);
    }
}

const KEYS: usize = 12;

#[test]
fn an_open_corpus_keeps_showing_its_moment() {
    for seed in 0..seeds(2) {
        let mut random = Random::new(seed + 900);
        let scratch = TestDir::new();
        let path = scratch.path("corpus");
        let fields = [("grade".to_owned(), FieldKind::Int)];
        Corpus::init(&path, &Policy::new(DedupMode::Exact, 0.8).unwrap(), &fields).unwrap();
        let mut open = writer(&path);
        let mut model = WarmModel::default();
        let mut held: Vec<(Corpus, WarmModel)> = Vec::new();
        for step in 0..16 {
            match random.below(if model.documents.is_empty() { 1 } else { 5 }) {
                0 | 1 => {
                    let mut records = Vec::new();
                    for _ in 0..random.between(1, 6) {
                        let key = random.below(KEYS);
                        let grade = random.chance(80).then(|| random.below(100) as i64);
                        let text = format!("document {} of step {step}", model.documents.len());
                        model.documents.push(Known { key, grade });
                        let record = Record::new(text).with_key(format!("k{key}"));
                        records.push(match grade {
                            Some(grade) => record.with_field("grade", grade),
                            None => record,
                        });
                    }
                    let (records, options) =
                        (Records::new("step", records), IngestOptions::new("web"));
                    open.ingest(records, &options, &Context::new()).unwrap();
                }
                2 | 3 => {
                    let mut lines = String::new();
                    for id in 0..model.documents.len() {
                        if random.chance(30) {
                            let grade = random.below(100) as i64;
                            model.documents[id].grade = Some(grade);
                            lines.push_str(&format!("{{\"id\":{id},\"grade\":{grade}}}\n"));
                        }
                    }
                    let file = scratch.write("grades.jsonl", lines);
                    let options = JoinOptions::of("grade", JoinBy::Id("id".to_owned()));
                    open.set_field(&[file], &options, &Context::new()).unwrap();
                }
                _ => {
                    let name = format!("s{step}");
                    open.create_snapshot(&name).unwrap();
                    model.snapshots.insert(name, model.kept());
                }
            }
            let corpus = if random.chance(50) { open.corpus() } else { reader(&path) };
            held.push((corpus, model.clone()));
            if held.len() > 4 {
                held.remove(random.below(4));
            }
            for (corpus, model) in &held {
                answers(corpus, model, &mut random);
            }
        }
        drop((open, held));
        sound(&path.display().to_string());
    }
}

/// Threads that ask the same corpus at once, of blocks that nobody has asked for yet.
#[test]
fn concurrent_queries_get_the_same_answers() {
    let scratch = TestDir::new();
    let path = scratch.path("corpus");
    let fields = ["a", "b", "c"].map(|name| (name.to_owned(), FieldKind::Int));
    Corpus::init(&path, &Policy::new(DedupMode::Exact, 0.8).unwrap(), &fields).unwrap();
    let mut open = writer(&path);
    for part in 0..5_i64 {
        let record = |n: i64| {
            let record = Record::new(format!("document {n}")).with_key(format!("k{n}"));
            record.with_field("a", n).with_field("b", n * n).with_field("c", -n)
        };
        let records = Records::new("part", (part * 40..part * 40 + 40).map(record));
        let options = IngestOptions::new("web");
        open.ingest(records, &options, &Context::new()).unwrap();
    }
    let corpus = open.corpus();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let corpus = &corpus;
            scope.spawn(move || {
                for n in (thread * 7..200).step_by(23) {
                    let statement = format!("SELECT a + b + c FROM documents WHERE key = 'k{n}'");
                    let found = numbers(corpus, &statement, &SqlQuery::default());
                    assert_eq!(found, [Some(n * n)], "{statement}");
                }
            });
        }
    });
}

/// The clock, and the names that the engine makes up, are each statement's own.
#[test]
fn a_statement_leaves_nothing_to_the_next() {
    let scratch = TestDir::new();
    let path = scratch.path("corpus");
    Corpus::init(&path, &Policy::new(DedupMode::Exact, 0.8).unwrap(), &[]).unwrap();
    let corpus = reader(&path);
    let now = || numbers(&corpus, "SELECT CAST(now() AS BIGINT)", &SqlQuery::default());
    let before = now();
    std::thread::sleep(std::time::Duration::from_millis(2));
    assert!(now() > before);
    let plan = "EXPLAIN SELECT id FROM documents WHERE id IN (SELECT max(id) FROM documents) OR id = (SELECT min(id) FROM documents)";
    let explain = || -> Vec<String> {
        let batches = corpus.sql(plan).unwrap().map(|batch| batch.unwrap());
        batches.map(|batch| format!("{:?}", batch.column(1))).collect()
    };
    assert_eq!(explain(), explain());
    // A file that comes to a directory between two statements is seen by the second.
    let given = scratch.path("given");
    std::fs::create_dir(&given).unwrap();
    let counted = || {
        let files = SqlQuery::default().files(true);
        numbers(&corpus, &format!("SELECT count(*) FROM read_csv('{}')", given.display()), &files)
    };
    std::fs::write(given.join("a.csv"), "n\n1\n2\n").unwrap();
    assert_eq!(counted(), [Some(2)]);
    std::fs::write(given.join("b.csv"), "n\n3\n").unwrap();
    assert_eq!(counted(), [Some(3)]);
    std::fs::write(given.join("b.csv"), "n\n3\n4\n").unwrap();
    assert_eq!(counted(), [Some(4)]);
    let functions =
        "SELECT count(*) FROM information_schema.routines WHERE routine_name = 'json_get_str'";
    assert!(numbers(&corpus, functions, &SqlQuery::default())[0].is_some_and(|count| count > 0));
    corpusdb(&["sql", &path.display().to_string(), functions]).good();
}
