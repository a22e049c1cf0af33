//! Fields over the life of a corpus: added, set, computed and dropped between ingests, removals and other policies, in
//! commits of any size, interrupted and run again, against a model that knows what every document has.

use crate::support::{
    Random, StopAt, StopWhen, TestDir, pour, prose, reader, seeds, sound_digest, writer,
};
use corpusdb::curate::{ComputedField, NewField};
use corpusdb::ingest::{JoinBy, JoinColumn, JoinOptions, ReadOptions};
use corpusdb::sql::{PrintFormat, RowPrinter};
use corpusdb::{Context, Corpus, CorpusWriter, DedupMode, Error, FieldKind, IngestOptions, Policy};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

const KEYS: usize = 14;

/// What happens to a corpus.
#[derive(Clone, Debug)]
enum FieldStep {
    Ingest(String),
    Add(&'static str, FieldKind, Option<&'static str>),
    Set { columns: Vec<&'static str>, by_key: bool, file: String },
    Compute(&'static str, &'static str),
    Drop(&'static str),
    Remove(Vec<u64>),
    Restore(Vec<u64>),
    Redo(f64),
    Snapshot(String),
}

/// Fields that may be added: of members, of members within one another, of every type, and `language`.
const ADDED: [(&str, FieldKind, Option<&str>); 8] = [
    ("topic", FieldKind::Keyword, None),
    ("stars", FieldKind::Int, None),
    ("edu", FieldKind::Float, Some("scores.edu")),
    ("fine", FieldKind::Bool, None),
    ("day", FieldKind::Timestamp, Some("when")),
    ("stars_float", FieldKind::Float, Some("stars")),
    ("language", FieldKind::Keyword, Some("lang")),
    ("deep", FieldKind::Keyword, Some("scores.more.word")),
];

/// Fields that may be computed, with the type of what they come to.
const COMPUTED: [(&str, &str, FieldKind); 3] = [
    ("double", "bytes * 2", FieldKind::Int),
    ("even", "chars % 2 = 0", FieldKind::Bool),
    ("named", "concat(source, ':', key)", FieldKind::Keyword),
];

/// What every document has, and what is declared: all that a corpus should say of fields.
#[derive(Default)]
struct FieldModel {
    documents: Vec<FieldDocument>,
    newest: BTreeMap<String, usize>,
    declared: BTreeMap<&'static str, (FieldKind, Option<&'static str>)>,
}

struct FieldDocument {
    key: String,
    text: String,
    came: Value,
    now: Map<String, Value>,
}

impl FieldModel {
    fn ingest(&mut self, file: &str) {
        for line in file.lines() {
            let mut came: Map<String, Value> = serde_json::from_str(line).unwrap();
            came.values_mut().for_each(drop_nulls);
            came.retain(|_, value| !value.is_null());
            let whole = Value::Object(came.clone());
            let key = came.remove("id").unwrap().as_str().unwrap().to_owned();
            let text = came.remove("text").unwrap().as_str().unwrap().to_owned();
            if self.newest.get(&key).is_some_and(|at| self.documents[*at].came == whole) {
                continue;
            }
            self.newest.insert(key.clone(), self.documents.len());
            self.documents.push(FieldDocument { key, text, came: whole, now: came });
        }
    }

    fn set(&mut self, columns: &[&str], by_key: bool, file: &str) {
        for line in file.lines() {
            let record: Map<String, Value> = serde_json::from_str(line).unwrap();
            let at = match &record["d"] {
                Value::String(key) if by_key => self.newest.get(key).copied(),
                id => id.as_u64().and_then(|id| usize::try_from(id).ok()),
            };
            let Some(document) = at.and_then(|at| self.documents.get_mut(at)) else { continue };
            for name in columns {
                let Some(value) = record.get(*name) else { continue };
                let member = self.declared[name].1.unwrap_or(name);
                if value.is_null() && !member.contains('.') {
                    document.now.remove(member);
                } else {
                    document.now.insert(member.to_owned(), value.clone());
                }
            }
        }
    }

    fn compute(&mut self, name: &'static str, kind: FieldKind) {
        self.declared.insert(name, (kind, None));
        for document in &mut self.documents {
            let value = match name {
                "double" => json!(document.text.len() * 2),
                "even" => json!(document.text.chars().count() % 2 == 0),
                _ => json!(format!("web:{}", document.key)),
            };
            document.now.insert(name.to_owned(), value);
        }
    }

    /// The values of a declared field, as SQL prints them.
    fn values(&self, name: &str) -> Vec<Value> {
        let (kind, path) = self.declared[name];
        self.documents.iter().map(|document| value(&document.now, name, kind, path)).collect()
    }
}

/// Members of null are no members: whoever writes them says what another leaves unsaid.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(drop_nulls);
            members.retain(|_, value| !value.is_null());
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

fn within<'v>(of: &'v Map<String, Value>, path: &str) -> Option<&'v Value> {
    let mut parts = path.split('.');
    let first = of.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}

fn value(of: &Map<String, Value>, name: &str, kind: FieldKind, path: Option<&str>) -> Value {
    let found = of.get(path.unwrap_or(name)).or_else(|| within(of, path?));
    let Some(found) = found else { return Value::Null };
    match (kind, found) {
        (FieldKind::Keyword, Value::String(_)) => found.clone(),
        (FieldKind::Keyword, Value::Number(_) | Value::Bool(_)) => json!(found.to_string()),
        (FieldKind::Int, Value::Number(number)) if number.is_i64() => found.clone(),
        (FieldKind::Float, Value::Number(number)) => json!(number.as_f64()),
        (FieldKind::Bool, Value::Bool(_)) => found.clone(),
        (FieldKind::Timestamp, Value::Number(number)) => {
            json!(number.as_i64().unwrap() * 1_000_000)
        }
        (FieldKind::Timestamp, Value::String(text)) if text.starts_with("2024-05-0") => {
            // The first of May of 2024, and days from there.
            let day: i64 = text["2024-05-0".len()..][..1].parse().unwrap();
            json!((1_714_521_600 + (day - 1) * 86_400) * 1_000_000)
        }
        _ => Value::Null,
    }
}

/// A record of a crawl with members of every kind, some of them of the wrong one.
fn record(random: &mut Random, key: usize) -> Value {
    let language = random.below(2);
    let words = random.between(4, 9);
    let mut record = Map::new();
    record.insert("id".to_owned(), json!(format!("k{key}")));
    record.insert("text".to_owned(), json!(prose(random, language, words)));
    let mut maybe = |name: &str, values: &[Value]| {
        if random.chance(70) {
            record.insert(name.to_owned(), random.pick(values).clone());
        }
    };
    maybe("topic", &[json!("a"), json!("b"), json!(7), json!([1]), json!(null)]);
    maybe("stars", &[json!(1), json!(5), json!(2.5), json!("many"), json!(-3)]);
    maybe(
        "scores",
        &[
            json!({ "edu": 0.5, "more": { "word": "x" } }),
            json!({ "edu": "high", "more": { "word": null } }),
            json!({ "edu": -2 }),
            json!("none"),
        ],
    );
    maybe("fine", &[json!(true), json!(false), json!("yes")]);
    maybe("when", &[json!("2024-05-03T00:00:00Z"), json!("2024-05-01"), json!(12), json!("soon")]);
    maybe("lang", &[json!("en"), json!("de"), json!(3.5)]);
    maybe("language", &[json!("fr")]);
    Value::Object(record)
}

fn of_kind(random: &mut Random, kind: FieldKind) -> Value {
    match kind {
        _ if random.chance(25) => Value::Null,
        FieldKind::Keyword => json!(*random.pick(&["a", "new", "é"])),
        FieldKind::Int => json!(random.below(9)),
        FieldKind::Float => json!(random.below(9) as f64 / 4.0),
        FieldKind::Bool => json!(random.chance(50)),
        FieldKind::Timestamp => json!(format!("2024-05-0{}", random.between(1, 9))),
    }
}

/// The next step of a history.
fn step(random: &mut Random, model: &FieldModel, at: usize) -> FieldStep {
    let some = |random: &mut Random| {
        (0..3).map(|_| random.below(model.documents.len()) as u64).collect::<Vec<u64>>()
    };
    let declared: Vec<&'static str> = model.declared.keys().copied().collect();
    match random.below(12) {
        _ if at == 0 => FieldStep::Ingest(ingest(random)),
        0..3 => FieldStep::Ingest(ingest(random)),
        3..5 => {
            let (name, kind, path) = *random.pick(&ADDED);
            FieldStep::Add(name, kind, path)
        }
        5..8 if !declared.is_empty() => set(random, model, &declared),
        8 => {
            let (name, expression, _) = *random.pick(&COMPUTED);
            FieldStep::Compute(name, expression)
        }
        9 if !declared.is_empty() => FieldStep::Drop(random.pick::<&str>(&declared)),
        10 if random.chance(50) => FieldStep::Remove(some(random)),
        10 => FieldStep::Restore(some(random)),
        11 if random.chance(50) => FieldStep::Redo(if random.chance(50) { 0.6 } else { 0.9 }),
        _ => FieldStep::Snapshot(format!("s{at}")),
    }
}

fn ingest(random: &mut Random) -> String {
    let mut lines = String::new();
    for key in 0..KEYS {
        if random.chance(50) {
            lines.push_str(&format!("{}\n", record(random, key)));
        }
    }
    lines
}

fn set(random: &mut Random, model: &FieldModel, declared: &[&'static str]) -> FieldStep {
    let mut columns = vec![*random.pick(declared)];
    let other = *random.pick(declared);
    // Two fields of one member would have one value each.
    let member = |name: &'static str| model.declared[name].1.unwrap_or(name);
    if member(other) != member(columns[0]) {
        columns.push(other);
    }
    let by_key = random.chance(50);
    let mut file = String::new();
    for _ in 0..random.between(1, 25) {
        let mut record = Map::new();
        let named = match by_key {
            true => json!(format!("k{}", random.below(KEYS + 2))),
            false => json!(random.below(model.documents.len() + 2)),
        };
        record.insert("d".to_owned(), named);
        for name in &columns {
            if random.chance(80) {
                record.insert((*name).to_owned(), of_kind(random, model.declared[name].0));
            }
        }
        // One with no value at all would be all that the file has.
        record.entry(columns[0]).or_insert_with(|| of_kind(random, model.declared[columns[0]].0));
        file.push_str(&format!("{}\n", Value::Object(record)));
    }
    FieldStep::Set { columns, by_key, file }
}

/// A corpus that steps are taken in, in commits of some size.
struct FieldCorpus {
    path: PathBuf,
    writer: Option<CorpusWriter>,
    batch: u64,
}

impl FieldCorpus {
    fn new(path: PathBuf, batch: u64) -> Self {
        Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &[]).unwrap();
        Self { writer: Some(writer(&path)), path, batch }
    }

    fn writer(&mut self) -> &mut CorpusWriter {
        self.writer.as_mut().unwrap()
    }

    fn take(&mut self, step: &FieldStep, file: &str, context: &Context<'_>) -> Result<(), Error> {
        let batch = self.batch;
        let writer = self.writer();
        match step {
            FieldStep::Ingest(_) => {
                let read =
                    ReadOptions { id_field: Some("id".to_owned()), ..ReadOptions::default() };
                let batch_bytes = batch * 300;
                let options = IngestOptions { read, batch_bytes, ..IngestOptions::new("web") };
                pour(writer, &[file.to_owned()], &options);
            }
            FieldStep::Add(name, kind, path) => {
                let path = path.map(str::to_owned);
                let field = NewField { path, batch, ..NewField::new(name, *kind) };
                writer.add_field(&field, context)?;
            }
            FieldStep::Set { columns, by_key, .. } => {
                let by = |field: &str| {
                    let field = field.to_owned();
                    if *by_key { JoinBy::Key(field) } else { JoinBy::Id(field) }
                };
                let column = |name: &&str| JoinColumn {
                    field: (*name).to_owned(),
                    column: (*name).to_owned(),
                };
                let options = JoinOptions {
                    columns: columns.iter().map(column).collect(),
                    batch: usize::try_from(batch).unwrap(),
                    ..JoinOptions::of("", by("d"))
                };
                writer.set_field(&[file.to_owned()], &options, context)?;
            }
            FieldStep::Compute(name, expression) => {
                let (name, expression) = ((*name).to_owned(), (*expression).to_owned());
                let field = ComputedField { name, expression, kind: None, batch };
                writer.compute_field(&field, context)?;
            }
            FieldStep::Drop(name) => {
                writer.drop_field(name, false, context)?;
            }
            FieldStep::Remove(ids) => {
                writer.remove(&ids.iter().copied().collect(), false, &Context::new())?;
            }
            FieldStep::Restore(ids) => {
                writer.restore(&ids.iter().copied().collect(), &Context::new())?;
            }
            FieldStep::Redo(threshold) => {
                let policy = Policy::new(DedupMode::Witness, *threshold).unwrap();
                writer.redo(&policy, &Context::new())?;
                writer.switch(&policy, &Context::new())?;
            }
            FieldStep::Snapshot(name) => {
                writer.create_snapshot(name)?;
            }
        }
        Ok(())
    }

    /// Takes a step that is asked to stop at some commit, is left there, and is taken again.
    fn take_in_parts(&mut self, step: &FieldStep, file: &str, random: &mut Random) {
        let when = StopWhen::Advance(random.between(1, 5) as u64);
        let stop = StopAt::new(when);
        match self.take(step, file, &stop.context()) {
            Ok(()) => {}
            Err(error) => {
                assert!(error.is_interrupt(), "{step:?}: {error}");
                self.writer = None;
                let corpus = reader(&self.path);
                sound_digest(&corpus);
                if let FieldStep::Add(name, ..) | FieldStep::Compute(name, _) = step
                    && corpus.view().fields().iter().all(|field| field.name != *name)
                {
                    let listed = corpus.fields().unwrap();
                    let field = listed.iter().find(|field| field.name == *name).unwrap();
                    assert_eq!(field.state, "filling");
                    let seen = corpus.count(format!("{name} IS NULL"));
                    assert!(*name == "language" || seen.is_err(), "{name} is half seen");
                }
                drop(corpus);
                self.writer = Some(writer(&self.path));
                self.take(step, file, &Context::new()).unwrap();
            }
        }
    }
}

/// The model's part of a step.
fn model_step(model: &mut FieldModel, step: &FieldStep) {
    match step {
        FieldStep::Ingest(file) => model.ingest(file),
        FieldStep::Add(name, kind, path) => drop(model.declared.insert(name, (*kind, *path))),
        FieldStep::Set { columns, by_key, file } => model.set(columns, *by_key, file),
        FieldStep::Compute(name, _) => {
            let (.., kind) = COMPUTED.iter().find(|(known, ..)| known == name).unwrap();
            model.compute(name, *kind);
        }
        FieldStep::Drop(name) => drop(model.declared.remove(name)),
        FieldStep::Remove(_)
        | FieldStep::Restore(_)
        | FieldStep::Redo(_)
        | FieldStep::Snapshot(_) => {}
    }
}

/// What a corpus says of every field is what the model has.
fn compare(corpus: &Corpus, model: &FieldModel, step: &FieldStep) {
    let known: Vec<_> = corpus.fields().unwrap();
    assert_eq!(known.len(), model.declared.len(), "{step:?}: {known:?}");
    for field in known {
        let expected = model.values(&field.name);
        let name = &field.name;
        let shown = if field.kind == "timestamp" {
            format!("CAST({name} AS BIGINT)")
        } else {
            name.clone()
        };
        let rows = corpus.sql(format!("SELECT {shown} AS v FROM documents ORDER BY id")).unwrap();
        let mut printed = Vec::new();
        RowPrinter::new(PrintFormat::Json, &mut printed).rows(rows).unwrap();
        let rows = String::from_utf8(printed).unwrap();
        let found: Vec<Value> = rows
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["v"].take())
            .collect();
        assert_eq!(found, expected, "{name} after {step:?}");
        let values: Vec<&Value> = expected.iter().filter(|value| !value.is_null()).collect();
        assert_eq!(field.documents, values.len() as u64, "{name}");
        let counted = corpus.count(format!("{name} IS NOT NULL")).unwrap();
        assert_eq!(counted, values.len() as u64, "{name}");
        if field.kind == "keyword" {
            let mut distinct: Vec<&str> =
                values.iter().map(|value| value.as_str().unwrap()).collect();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(field.distinct, Some(distinct.len() as u64), "{name}");
            for value in distinct {
                let counted = corpus.count(format!("{name} = '{value}'")).unwrap();
                let wanted = values.iter().filter(|other| **other == value).count();
                assert_eq!(counted, wanted as u64, "{name} = {value}");
            }
        }
    }
}

#[test]
fn fields_equal_a_recount_after_any_history() {
    for seed in 0..seeds(7) {
        let scratch = TestDir::new();
        let mut random = Random::new(seed + 31);
        let mut model = FieldModel::default();
        let mut whole = FieldCorpus::new(scratch.path("whole"), 10_000);
        let mut parts = FieldCorpus::new(scratch.path("parts"), random.between(1, 6) as u64);
        for at in 0..14 {
            let step = step(&mut random, &model, at);
            let file = match &step {
                FieldStep::Ingest(file) | FieldStep::Set { file, .. } => {
                    scratch.write(&format!("{at}.jsonl"), file)
                }
                _ => String::new(),
            };
            whole.take(&step, &file, &Context::new()).unwrap();
            parts.take_in_parts(&step, &file, &mut random);
            model_step(&mut model, &step);
            let (one, two) = (whole.writer().corpus(), parts.writer().corpus());
            compare(&two, &model, &step);
            assert_eq!(sound_digest(&one), sound_digest(&two), "seed {seed}, after {step:?}");
        }
    }
}
