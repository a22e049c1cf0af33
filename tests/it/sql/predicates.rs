//! Conditions select the same documents whether the indexes answer them, the engine does, or another engine.

use crate::support::{
    MEMORY, Ran, Random, TestDir, WEB_BY_ID, command, corpusdb, corpusdb_test, declaring, fixture,
    ingest, init, interrupt, json_lines, prose, python, python_has, seeds, sound,
};
use corpusdb::sql::{DocumentFilter, PrintFormat, RowPrinter};
use corpusdb::{Corpus, Interrupt};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Stdio;

/// Two sources: one with keys, fields of every type, duplicates, newer versions and removals; one without keys.
struct TypedCorpus {
    scratch: TestDir,
    corpus: String,
}

impl TypedCorpus {
    fn new() -> Self {
        let scratch = TestDir::new();
        let corpus = scratch.arg("corpus");
        fixture("two sources for predicates", Path::new(&corpus), |path| {
            Self::fill(&path.display().to_string());
        });
        Self { scratch, corpus }
    }

    fn fill(corpus: &str) {
        let scratch = TestDir::new();
        init(corpus, &declaring(&["n:int", "f:float", "b:bool", "t:timestamp", "w:keyword"]));
        let mut random = Random::new(45);
        let mut pages = String::new();
        for number in 0..360 {
            // Some keys come twice, and some texts do.
            let (key, text) = (number % 330, number % 300);
            let page = json!({
                "id": format!("k{key}"),
                "text": format!("{} {text}", prose(&mut Random::new(text), 0, 30)),
                "language": one_of(&mut random, &[json!("en"), json!("de"), Value::Null]),
                "n": one_of(&mut random, &[json!(-3), json!(0), json!(1), json!(7), json!(1_i64 << 49), Value::Null]),
                "f": one_of(&mut random, &[json!(-0.0), json!(0.0), json!(0.5), json!(-2.25), json!(1e12), Value::Null]),
                "b": one_of(&mut random, &[json!(true), json!(false), Value::Null]),
                "t": one_of(&mut random, &[json!("2024-02-29T12:00:00Z"), json!("1969-12-31T23:59:59.5Z"), Value::Null]),
                "w": one_of(&mut random, &[json!("x"), json!("1"), json!("it's"), json!(""), Value::Null]),
            });
            writeln!(pages, "{page}").unwrap();
        }
        scratch.ingest(corpus, "pages.jsonl", pages, &WEB_BY_ID);
        let plain: String = (0..20)
            .map(|number| format!("{}\n", json!({ "text": prose(&mut random, 1, 20 + number) })))
            .collect();
        scratch.ingest(corpus, "plain.jsonl", plain, &["--source", "a feed"]);
        corpusdb(&["remove", corpus, "--where", "id % 41 = 0"]).good();
    }

    fn open(&self) -> Corpus {
        Corpus::options().memory(MEMORY).open(&self.corpus).unwrap()
    }

    fn count(&self, condition: &str) -> u64 {
        self.open().count(condition).expect(condition)
    }
}

fn one_of(random: &mut Random, values: &[Value]) -> Value {
    random.pick(values).clone()
}

/// The ids of a statement's first column.
fn ids(corpus: &Corpus, statement: &str) -> Vec<u64> {
    tried_ids(corpus, statement).expect(statement)
}

/// The same, or why there are none.
fn tried_ids(corpus: &Corpus, statement: &str) -> Result<Vec<u64>, String> {
    let mut printed = Vec::new();
    let mut printer = RowPrinter::new(PrintFormat::Json, &mut printed);
    let rows = corpus.sql(statement).map_err(|error| error.to_string())?;
    printer.rows(rows).map_err(|error| error.to_string())?;
    printer.finish().unwrap();
    let rows = json_lines(&String::from_utf8(printed).unwrap());
    Ok(rows.iter().map(|row| row["id"].as_u64().unwrap()).collect())
}

// ---- random conditions ----

/// A condition as a user writes it, and the same with brackets around whatever belongs together.
struct Condition {
    plain: String,
    bracketed: String,
}

impl Condition {
    fn of(text: String) -> Self {
        Self { bracketed: format!("({text})"), plain: text }
    }

    /// What is made of a condition in brackets.
    fn wrapped(self, before: &str, behind: &str) -> Self {
        Self {
            plain: format!("{before}({}){behind}", self.plain),
            bracketed: format!("({before}{}{behind})", self.bracketed),
        }
    }
}

/// Columns of each type, and literals that are compared with them: of their own type, of others, and cast.
const NUMBERS: [&str; 8] = ["id", "n", "f", "bytes", "cluster", "jaccard", "commit", "dup_of"];
const TEXTS: [&str; 5] = ["w", "language", "source", "standing", "key"];
const TRUTHS: [&str; 2] = ["b", "kept"];
const OPERATORS: [&str; 8] =
    ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"];

fn number(random: &mut Random) -> String {
    let plain = ["0", "1", "7", "-3", "360", "0.5", "-0.0", "0.0", "-2.25", "1e14", "2.5", "100"];
    let value = *random.pick(&plain);
    match random.below(9) {
        0 => "NULL".to_owned(),
        1 => format!("CAST({value} AS DOUBLE)"),
        2 => (*random.pick(&["562949953421313", "-562949953421312", "999999999999999"])).to_owned(),
        3 => format!("CAST({} AS BIGINT)", random.pick(&["7", "'7'", "0", "-3"])),
        4 => format!("CAST({} AS DECIMAL(12, 3))", random.pick(&["0.500", "7", "-2.25"])),
        5 => format!("TRY_CAST({} AS INTEGER)", random.pick(&["'7'", "'seven'"])),
        _ => value.to_owned(),
    }
}

fn text(random: &mut Random) -> String {
    let plain = [
        "'x'",
        "'1'",
        "'it''s'",
        "''",
        "'en'",
        "'web'",
        "'a feed'",
        "'kept'",
        "'near'",
        "'k7'",
        "'removed'",
        "'K7'",
    ];
    match random.below(8) {
        0 => "NULL".to_owned(),
        1 => format!("CAST({} AS VARCHAR)", random.pick(&["1", "'x'", "'en'"])),
        _ => (*random.pick(&plain)).to_owned(),
    }
}

fn moment(random: &mut Random) -> String {
    let plain = ["2024-02-29 12:00:00", "1969-12-31 23:59:59.5", "2000-01-01 00:00:00"];
    match random.below(6) {
        0 => "NULL".to_owned(),
        1 => format!("CAST('{}' AS TIMESTAMP)", random.pick(&plain)),
        _ => format!("TIMESTAMP '{}'", random.pick(&plain)),
    }
}

fn truth(random: &mut Random) -> String {
    (*random.pick(&["TRUE", "FALSE", "NULL", "CAST('true' AS BOOLEAN)"])).to_owned()
}

/// A test of one column, or of two.
fn leaf(random: &mut Random) -> Condition {
    type Literal = fn(&mut Random) -> String;
    let (column, literal): (String, Literal) = match random.below(10) {
        0..4 => ((*random.pick(&NUMBERS)).to_owned(), number),
        4..7 => ((*random.pick(&TEXTS)).to_owned(), text),
        7 => ("t".to_owned(), moment),
        _ => ((*random.pick(&TRUTHS)).to_owned(), truth),
    };
    let is_number = NUMBERS.contains(&column.as_str());
    let is_truth = TRUTHS.contains(&column.as_str());
    let tested = match random.below(8) {
        0 if is_number => format!("CAST({column} AS DOUBLE)"),
        1 if is_number && column != "f" && column != "jaccard" => {
            format!("CAST({column} AS BIGINT)")
        }
        2 if is_number => format!("{column} + 0"),
        _ => column.clone(),
    };
    let not = if random.chance(40) { "NOT " } else { "" };
    Condition::of(match random.below(12) {
        0 => format!("{column} IS {not}NULL"),
        1 if is_truth => column,
        1 | 2 if is_truth => {
            format!("{column} IS {not}{}", random.pick(&["TRUE", "FALSE", "UNKNOWN"]))
        }
        1 | 2 => format!("{tested} {not}BETWEEN {} AND {}", literal(random), literal(random)),
        3..6 if !is_truth => {
            let list: Vec<String> = (0..random.between(1, 7)).map(|_| literal(random)).collect();
            format!("{tested} {not}IN ({})", list.join(", "))
        }
        6 if is_number => {
            let other = random.pick(&NUMBERS);
            format!("{column} {} {other}", random.pick(&OPERATORS))
        }
        6 if TEXTS.contains(&column.as_str()) => {
            format!("{column} {not}LIKE '{}'", random.pick(&["%e%", "k7%", "_", ""]))
        }
        7 => format!("{} {} {tested}", literal(random), random.pick(&OPERATORS)),
        8 => truth(random),
        _ => format!("{tested} {} {}", random.pick(&OPERATORS), literal(random)),
    })
}

fn condition(random: &mut Random, depth: usize) -> Condition {
    if depth == 0 {
        return leaf(random);
    }
    let inner = |random: &mut Random| {
        let depth = random.below(depth);
        condition(random, depth)
    };
    match random.below(10) {
        0..5 => {
            // Brackets only where OR stands in AND: AND binds before OR, and a test before both.
            let all: Vec<Condition> = (0..random.between(2, 4)).map(|_| leaf(random)).collect();
            let operators: Vec<&str> =
                (1..all.len()).map(|_| *random.pick(&["AND", "OR"])).collect();
            let mut plain = String::new();
            let mut groups = vec![String::new()];
            for (at, part) in all.iter().enumerate() {
                if at > 0 {
                    write!(plain, " {} ", operators[at - 1]).unwrap();
                    match operators[at - 1] {
                        "OR" => groups.push(String::new()),
                        _ => groups.last_mut().unwrap().push_str(" AND "),
                    }
                }
                plain.push_str(&part.plain);
                groups.last_mut().unwrap().push_str(&part.bracketed);
            }
            let bracketed: Vec<String> = groups.iter().map(|group| format!("({group})")).collect();
            Condition { plain, bracketed: format!("({})", bracketed.join(" OR ")) }
        }
        5 => inner(random).wrapped("NOT ", ""),
        6 => {
            let not = if random.chance(50) { "NOT " } else { "" };
            let of = *random.pick(&["TRUE", "FALSE", "UNKNOWN", "NULL"]);
            inner(random).wrapped("", &format!(" IS {not}{of}"))
        }
        7 => {
            let operator = *random.pick(&["=", "<>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]);
            let with = truth(random);
            inner(random).wrapped("", &format!(" {operator} {with}"))
        }
        8 => {
            let (a, b) = (inner(random), inner(random));
            let operator = *random.pick(&["=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]);
            Condition {
                plain: format!("({}) {operator} ({})", a.plain, b.plain),
                bracketed: format!("({} {operator} {})", a.bracketed, b.bracketed),
            }
        }
        _ => {
            let (a, b) = (inner(random), inner(random));
            let operator = *random.pick(&["AND", "OR"]);
            Condition {
                plain: format!("({}) {operator} ({})", a.plain, b.plain),
                bracketed: format!("({} {operator} {})", a.bracketed, b.bracketed),
            }
        }
    }
}

// Every operator, over every type of column, NULL and casts among the literals, nested: what the indexes answer as far
// as they can, and what the engine answers alone, are the same documents; those of DuckDB.
corpusdb_test!(indexes_and_engines_answer_random_conditions_alike, TypedCorpus::new(), |place| {
    let corpus = place.open();
    let seed = 45;
    let mut random = Random::new(seed);
    let (mut answered, mut refused) = (Vec::new(), 0);
    let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
    for number in 0..seeds(1_000) as usize {
        let Condition { plain, bracketed } = condition(&mut random, number % 4);
        let selected = corpus.select(&plain);
        // No condition passes a LIMIT.
        let behind = format!(
            "SELECT id FROM (SELECT * FROM documents LIMIT 1000000) WHERE {bracketed} ORDER BY id"
        );
        let of_engine = tried_ids(&corpus, &behind);
        let (selected, of_engine) = match (selected, of_engine) {
            (Ok(selected), Ok(of_engine)) => (selected.iter().collect::<Vec<u64>>(), of_engine),
            // Literals of types that the engine brings under no common one.
            (Err(_), Err(_)) => {
                refused += 1;
                continue;
            }
            (a, b) => panic!("seed {seed}, condition {number}: {plain}: {a:?} and {b:?}"),
        };
        assert_eq!(selected, of_engine, "seed {seed}, condition {number}: {plain}");
        let counted = corpus.count(&plain).expect(&plain);
        assert_eq!(counted, selected.len() as u64, "seed {seed}, condition {number}: {plain}");
        *sizes.entry(selected.len()).or_default() += 1;
        answered.push((plain, selected));
    }
    assert!(refused * 20 < answered.len(), "{refused} have no answer");
    let some = answered.iter().filter(|(_, ids)| !ids.is_empty() && ids.len() < 380).count();
    assert!(some * 5 > answered.len() * 2, "{some} of {} tell documents apart", answered.len());
    judged_by_duckdb(&place, &answered);
});

/// Asks DuckDB the same conditions of the same rows.
fn judged_by_duckdb(place: &TypedCorpus, answered: &[(String, Vec<u64>)]) {
    python_has("duckdb");
    let columns = [NUMBERS.as_slice(), &TEXTS, &TRUTHS, &["t"]].concat().join(", ");
    let statement = format!("SELECT {columns} FROM documents ORDER BY id");
    let rows = corpusdb(&["sql", &place.corpus, &statement, "--format", "json"]).good().stdout;
    let rows = place.scratch.write("rows.jsonl", rows);
    let asked =
        answered.iter().map(|(sql, ids)| format!("{}\n", json!({ "sql": sql, "ids": ids })));
    let asked = place.scratch.write("asked.jsonl", asked.collect::<String>());
    let script = r#"
import duckdb, json, sys
rows, asked = sys.argv[1:]
db = duckdb.connect()
db.execute("""CREATE TABLE documents (id UBIGINT, n BIGINT, f DOUBLE, bytes BIGINT, cluster UBIGINT, jaccard DOUBLE,
  "commit" BIGINT, dup_of UBIGINT, w VARCHAR, language VARCHAR, source VARCHAR, standing VARCHAR, key VARCHAR, b BOOLEAN,
  kept BOOLEAN, t TIMESTAMP)""")
names = [name for name, *_ in db.execute("DESCRIBE documents").fetchall()]
for line in open(rows):
    row = json.loads(line)
    db.execute("INSERT INTO documents VALUES (" + ", ".join("?" * len(names)) + ")", [row.get(name) for name in names])
agreed = refused = 0
for line in open(asked):
    line = json.loads(line)
    try:
        found = [id for id, in db.execute(f"SELECT id FROM documents WHERE {line['sql']} ORDER BY id").fetchall()]
    except duckdb.Error:
        refused += 1
        continue
    if found != line["ids"]:
        sys.exit(f"DuckDB has {len(found)} documents, not {len(line['ids'])}, for {line['sql']}")
    agreed += 1
print(agreed, refused)
"#;
    let judged = python(script).args([rows, asked]).output().unwrap();
    let words = String::from_utf8_lossy(&judged.stderr).into_owned();
    assert!(judged.status.success(), "{words}");
    let counts = String::from_utf8(judged.stdout).unwrap();
    let counts: Vec<usize> = counts.split_whitespace().map(|n| n.parse().unwrap()).collect();
    println!("judged by DuckDB: {} alike, {} not of its types", counts[0], counts[1]);
    assert!(counts[0] > counts[1] * 4, "{counts:?}");
}

// ---- what went wrong once ----

corpusdb_test!(nulls_are_values_to_distinct_from_up_to_and, TypedCorpus::new(), |place| {
    for column in ["n", "f", "b", "t", "w", "language", "jaccard", "cluster"] {
        let (nulls, others) = (
            place.count(&format!("{column} IS NULL")),
            place.count(&format!("{column} IS NOT NULL")),
        );
        assert!(nulls > 0 && others > 0, "{column}: {nulls} and {others}");
        assert_eq!(place.count(&format!("{column} IS NOT DISTINCT FROM NULL")), nulls, "{column}");
        assert_eq!(place.count(&format!("NULL IS DISTINCT FROM {column}")), others, "{column}");
        let negated = format!("NOT ({column} IS DISTINCT FROM NULL)");
        assert_eq!(place.count(&negated), nulls, "{column}");
    }
    let few = place.count("id < 10 AND (b IS NULL OR b)");
    assert!(few > 0 && few < 10);
    assert_eq!(place.count("b IS DISTINCT FROM FALSE AND id < 10"), few);
    assert_eq!(place.count("id < 10 AND b IS DISTINCT FROM FALSE"), few);
    assert_eq!(place.count("b IS DISTINCT FROM FALSE OR TRUE"), 380);
});

corpusdb_test!(zero_equals_negative_zero, TypedCorpus::new(), |place| {
    let zeros = place.count("f = 0");
    assert!(zeros > 0);
    for condition in [
        "f IN (0.0, 99)",
        "f IN (-0.0, 99)",
        "f = -0.0 OR n + 0 = 99",
        "f IN (0.0, 98) OR n + 0 = 99",
        "f IN (-0.0, 98, 97, 96, 95) OR n + 0 = 99",
        "f IS NOT DISTINCT FROM -0.0 OR n + 0 = 99",
        "f BETWEEN -0.0 AND 0.0 OR n + 0 = 99",
        "f + 0 = -0.0",
        "CASE f WHEN -0.0 THEN TRUE ELSE FALSE END",
    ] {
        assert_eq!(place.count(condition), zeros, "{condition}");
    }
    let groups = place.open();
    let groups = ids(&groups, "SELECT count(*) AS id FROM documents WHERE f = 0 GROUP BY f");
    assert_eq!(groups, [zeros]);
});

corpusdb_test!(keys_compare_by_their_shown_spelling, TypedCorpus::new(), |place| {
    let own = place.scratch.write("one.txt", "the only text of a file of its own\n");
    ingest(&place.corpus, &[&own], &["--source", "texts"]);
    // Two names that are shown alike, since neither is UTF-8: the documents have keys of their own.
    let odd = place.scratch.path("odd");
    std::fs::create_dir(&odd).unwrap();
    for (byte, word) in [(0xff_u8, "first"), (0xfe, "second")] {
        let name = [b"page", &[byte][..], b".jsonl"].concat();
        let page = format!("{{\"text\":\"{word} words of an odd file\"}}\n");
        std::fs::write(odd.join(OsStr::from_bytes(&name)), page).unwrap();
    }
    ingest(&place.corpus, &[&place.scratch.arg("odd")], &["--source", "odd"]);
    let corpus = place.open();
    let all =
        corpusdb(&["sql", &place.corpus, "SELECT id, key FROM documents", "--format", "json"]);
    let mut documents: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for row in all.good().json_lines() {
        let key = row["key"].as_str().unwrap().to_owned();
        documents.entry(key).or_default().push(row["id"].as_u64().unwrap());
    }
    let odd: Vec<_> = documents.keys().filter(|key| key.contains('\u{fffd}')).collect();
    assert_eq!(odd.len(), 2, "{odd:?}");
    let of_path = format!("{own}@");
    let is_own = |key: &String| key.starts_with(&of_path);
    assert!(documents.keys().any(is_own), "a file of one text is shown by its path");
    for (key, ids) in &documents {
        let quoted = key.replace('\'', "''");
        let equal: Vec<u64> = corpus.select(format!("key = '{quoted}'")).unwrap().iter().collect();
        assert_eq!(equal, *ids, "{key}");
        if !key.starts_with('k') {
            for other in
                [format!("{quoted}:0"), quoted.replace(":0", ":+0"), quoted.replace(":0", ":00")]
            {
                let meant = documents.get(&other.replace("''", "'")).map_or(0, Vec::len) as u64;
                assert_eq!(place.count(&format!("key = '{other}'")), meant, "{other}");
            }
        }
    }
    let list = documents.keys().map(|key| format!("'{}'", key.replace('\'', "''")));
    let few: Vec<String> = list.take(200).collect();
    let expected: usize = documents.values().take(200).map(Vec::len).sum();
    assert_eq!(place.count(&format!("key IN ({})", few.join(", "))), expected as u64);
});

corpusdb_test!(older_versions_keep_the_key_of_a_purged_one, TypedCorpus::new(), |place| {
    let versions = place.open().select("key = 'k7'").unwrap();
    assert_eq!(versions.len(), 2);
    let newest = versions.max().unwrap().to_string();
    corpusdb(&["purge", &place.corpus, &newest, "--force"]).good();
    let older = versions.min().unwrap();
    let corpus = place.open();
    assert_eq!(corpus.select("key = 'k7'").unwrap().iter().collect::<Vec<_>>(), [older]);
    assert!(!corpus.select("key <> 'k7'").unwrap().contains(older));
    assert_eq!(ids(&corpus, "SELECT id FROM documents WHERE key = 'k7'"), [older]);
    // So a purge by the key erases what is left of it.
    corpusdb(&["purge", &place.corpus, "k7", "--force"]).good();
    assert_eq!(place.count("key = 'k7'"), 0);
    assert_eq!(place.count(&format!("id = {older} AND standing = 'purged'")), 1);
    sound(&place.corpus);
});

corpusdb_test!(a_key_is_not_compared_with_a_number, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "n:int"]);
    let pages: String = ["1", "01", "001", "x"]
        .map(|key| format!("{}\n", json!({ "id": key, "text": format!("text of {key}"), "n": 1 })))
        .concat();
    let pages = scratch.write("pages.jsonl", pages);
    ingest(&corpus, &[&pages], &WEB_BY_ID);
    let refused = |ran: Ran| {
        ran.fails(&["`key` is text", "texts are compared, with CAST(key AS BIGINT) numbers"]);
    };
    for condition in [
        "key = 1",
        "1 = key",
        "kept AND key <> 1",
        "key IN ('x', 1)",
        "key NOT IN (1, 2, 3)",
        "key BETWEEN 1 AND 3",
        "key IS DISTINCT FROM 1.5",
        "key = n",
        "NOT (n > 5 OR key < 1 + 1)",
        "CASE key WHEN 1 THEN TRUE END",
        "key IN (SELECT n FROM documents)",
        "EXISTS (SELECT 1 FROM commits WHERE commit = documents.key)",
    ] {
        refused(corpusdb(&["count", &corpus, "--where", condition]));
        refused(corpusdb(&["remove", &corpus, "--where", condition, "--dry-run"]));
    }
    for statement in [
        "SELECT d.key = 1 FROM documents d",
        "SELECT count(*) FROM documents a JOIN documents b ON a.key = b.n",
        "SELECT k.key FROM (SELECT * FROM documents) k WHERE k.key = 1 OR text = 'x'",
    ] {
        refused(corpusdb(&["sql", &corpus, statement]));
    }
    refused(corpusdb(&[
        "ingest",
        &corpus,
        &pages,
        "--source",
        "web",
        "--id-field",
        "id",
        "--where",
        "key = 1",
    ]));
    let told = corpusdb(&["count", &corpus, "--where", "key = 1"]).stderr;
    assert!(told.contains("1 is a number: with '1' texts are compared"), "{told}");
    let told = corpusdb(&["count", &corpus, "--where", "key = n"]).stderr;
    assert!(told.contains("n AS VARCHAR) texts are compared"), "{told}");
    for (condition, count) in [("key = '1'", "1\n"), ("TRY_CAST(key AS BIGINT) = 1", "3\n")] {
        assert_eq!(corpusdb(&["count", &corpus, "--where", condition]).good().stdout, count);
    }
});

corpusdb_test!(verbs_that_change_count_matches_first, TypedCorpus::new(), |place| {
    let condition = "f > 0";
    let taken = place.count(condition);
    let nulls = place.count("f IS NULL");
    assert!(nulls > 0 && taken > 0);
    let of = |standing: &str| place.count(&format!("{condition} AND standing = '{standing}'"));
    let mut standings = Vec::new();
    for standing in ["kept", "exact", "near", "superseded", "empty", "blocked", "removed"] {
        if of(standing) > 0 {
            standings.push(json!({ "standing": standing, "documents": of(standing) }));
        }
    }
    assert!(standings.len() > 1, "{standings:?}");
    let expected = json!({ "documents": taken, "standings": standings, "left_out_null": nulls });
    let first = format!("the condition takes {taken} of 380 documents: {} kept", of("kept"));
    let second = format!("{nulls} documents are left out because the condition is null");
    for verb in ["remove", "restore", "purge"] {
        let tried = corpusdb(&[verb, &place.corpus, "--where", condition, "--dry-run"]).good();
        assert!(tried.stderr.contains(&first) && tried.stderr.contains(&second), "{tried}");
        let tried = corpusdb(&[verb, &place.corpus, "--where", condition, "--dry-run", "--json"]);
        assert_eq!(tried.good().json()["selection"], expected, "{verb}");
    }
    let done = corpusdb(&["remove", &place.corpus, "--where", condition, "--json"]).good().json();
    assert_eq!(done["selection"], expected);
    assert_eq!(done["selected"], expected["documents"]);
    let none = corpusdb(&["remove", &place.corpus, "--where", "n > 9 AND FALSE"]).good();
    assert!(none.stderr.contains("the condition takes 0 of 380 documents\n"), "{none}");
    // A list of documents is what was asked for: there is nothing to tell.
    let named = corpusdb(&["remove", &place.corpus, "3", "--json"]).good();
    assert!(named.json()["selection"].is_null());
});

// The engine heard of no stop while it evaluated a condition: a verb that waited for one ended only with it.
corpusdb_test!(an_interrupt_ends_a_condition_of_any_verb, TypedCorpus::new(), |place| {
    // 10^11 pairs: hours.
    let condition = "id IN (SELECT a.value + b.value FROM generate_series(1, 1000) a CROSS JOIN \
                     generate_series(1, 100000000) b WHERE (a.value * b.value) % 7 = 9)";
    let pause = || std::thread::sleep(std::time::Duration::from_millis(500));
    let removed = place.count("standing = 'removed'");
    let stop = Interrupt::default();
    let filter = || DocumentFilter::from(condition).with_interrupt(&stop);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pause();
            stop.raise();
        });
        assert!(place.open().count(filter()).unwrap_err().is_interrupt());
    });
    assert!(place.open().selection(filter()).unwrap_err().is_interrupt());
    assert!(place.open().count(DocumentFilter::from("kept").with_interrupt(&stop)).is_err());
    let out = place.scratch.arg("out.jsonl");
    for verb in [&["remove"][..], &["restore", "--dry-run"], &["export", "--to", &out]] {
        let line = [&verb[..1], &[&*place.corpus], &verb[1..], &["--where", condition]].concat();
        let mut child = command(&line).stdin(Stdio::null()).spawn().unwrap();
        pause();
        assert!(child.try_wait().unwrap().is_none(), "{verb:?} is under way");
        interrupt(&child);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{verb:?}");
    }
    assert!(!Path::new(&out).exists());
    assert_eq!(place.count("standing = 'removed'"), removed);
});

// A text that was put into a statement could end the brackets around it.
corpusdb_test!(no_text_breaks_out_of_a_condition, TypedCorpus::new(), |place| {
    let corpus = place.open();
    let all = place.count("true");
    for text in [
        "true) OR (true",
        "false) UNION SELECT id FROM documents WHERE (true",
        "true;",
        "true AS t",
    ] {
        assert!(corpus.count(text).is_err() && corpus.selection(text).is_err(), "{text}");
    }
    for text in ["false OR true -- a comment", "true /* one */", "\n(true)\n--"] {
        assert_eq!(
            (place.count(text), corpus.selection(text).unwrap().documents.len()),
            (all, all)
        );
    }
    let nulls = corpus.selection("n = 1 OR n = 7 -- of n").unwrap().left_out_null;
    assert_eq!(nulls, place.count("n IS NULL"));
});
