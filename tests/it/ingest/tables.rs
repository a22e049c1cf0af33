//! Tables of separated values: cells are texts, whichever way they come; dialects, rows of names, and what is exported.

use crate::support::{
    Random, TestDir, copy, corpusdb, corpusdb_reading, corpusdb_test, gzip, ingest, init, numbers,
    repository, seeds, sound, sql, writer,
};
use serde_json::{Value, json};

/// A value as this format has it.
fn cell(value: &str) -> String {
    let is_plain = !value.is_empty() && !value.contains([',', '"', '\n', '\r']);
    if is_plain { value.to_owned() } else { format!("\"{}\"", value.replace('"', "\"\"")) }
}

/// Values that some reader takes for numbers, truths or nulls, or stumbles over.
fn odd_value(random: &mut Random) -> String {
    const VALUES: [&str; 36] = [
        "1e3",
        "10e2",
        "7.0",
        "7",
        "007",
        "1.10",
        "1.1",
        "-0",
        "0e84310",
        "1e400",
        "5e2",
        "+5",
        "18446744073709551616",
        "0.10000000000000000001",
        "true",
        "False",
        "null",
        "NaN",
        "inf",
        "20240331",
        "2024-03-31",
        "\"",
        "a \"b\"",
        "\\\"",
        "C:\\",
        "a,b",
        "two\nlines",
        "a\rb",
        "a\r\nb",
        "text",
        "key",
        " x ",
        "\u{feff}y",
        "#c",
        "sep=;",
        "é\t…",
    ];
    let mut value = String::new();
    for _ in 0..random.between(1, 3) {
        value += *random.pick(&VALUES);
    }
    value
}

const ALL: &str = "SELECT key, text, meta, v FROM documents WHERE kept ORDER BY key";

// A cell was judged alone: `1.10` became 1.1 by an ingest and stayed by `field set`, and `1e3` was the key 1000.
corpusdb_test!(cells_are_texts_whichever_way_a_table_comes, |scratch| {
    for seed in 0..seeds(2) {
        let mut random = Random::new(seed + 700);
        let names = "id,text,v,w\n";
        let rows: Vec<String> = (0..24)
            .map(|n| {
                let (v, w) = (odd_value(&mut random), odd_value(&mut random));
                let v = if random.chance(10) { String::new() } else { cell(&v) };
                let key = ["e3", ".0", ".10", ""][random.below(4)];
                format!("{n}{key},Page {n} tells of ropes,{v},{}\n", cell(&w))
            })
            .collect();
        let (first, second) = rows.split_at(12);
        let halves = [first, second].map(|half| format!("{names}{}", half.concat()));
        let whole = format!("{names}{}", rows.concat());
        let of = |name: &str| {
            let corpus = scratch.arg(&format!("{name}{seed}"));
            init(&corpus, &["--mode", "none", "--field", "v:keyword"]);
            corpus
        };
        let by_id = ["--source", "s", "--id-field", "id"];
        let once = of("once");
        ingest(&once, &[&scratch.write("whole.csv", &whole)], &by_id);
        let expected = sql(&once, ALL);
        assert_eq!(expected.len(), 24, "{whole}");
        for (at, half) in halves.iter().enumerate() {
            let file = scratch.write(&format!("half{at}.csv"), half);
            ingest(&of_existing(&scratch, "halves", seed), &[&file], &by_id);
        }
        let piped = of("piped");
        let arguments = ["ingest", &piped, "-", "--source", "s", "--id-field", "id"];
        corpusdb_reading(&arguments, whole.as_bytes()).good();
        let grown = of("grown");
        for rows in [&halves[0], &whole] {
            ingest(&grown, &[&scratch.write("grown.csv", rows)], &by_id);
        }
        let set = of("set");
        ingest(
            &set,
            &[&scratch.write("whole.csv", &whole)],
            &[&by_id[..], &["--drop-fields", "v"]].concat(),
        );
        corpusdb(&[
            "field",
            "set",
            &set,
            "--from",
            &scratch.arg("whole.csv"),
            "--on",
            "key=id",
            "--columns",
            "v",
        ])
        .good();
        let halves = scratch.arg(&format!("halves{seed}"));
        for corpus in [&halves, &piped, &grown] {
            assert_eq!(sql(corpus, ALL), expected, "{corpus} of {whole}");
            sound(corpus);
        }
        let values = "SELECT key, text, v, meta ->> 'w' AS w FROM documents ORDER BY key";
        assert_eq!(sql(&set, values), sql(&once, values), "{whole}");
        // The same again adds nothing, and the stored values are those of the cells.
        let again =
            ingest(&once, &[&scratch.arg("whole.csv")], &[&by_id[..], &["--reread"]].concat());
        assert_eq!(numbers(&again, ["added", "unchanged"]), [0, 24]);
    }
});

/// A corpus of several ingests, which is made with the first.
fn of_existing(scratch: &TestDir, name: &str, seed: u64) -> String {
    let corpus = scratch.arg(&format!("{name}{seed}"));
    if !scratch.path(&format!("{name}{seed}")).exists() {
        init(&corpus, &["--mode", "none", "--field", "v:keyword"]);
    }
    corpus
}

// Of four pages with the keys 1e3, 10e2, 7.0 and 7 two superseded the others when an own export was read again.
corpusdb_test!(an_export_comes_back_as_it_went_out, |scratch| {
    for seed in 0..seeds(2) {
        let mut random = Random::new(seed + 7_000);
        let line = |n: usize, random: &mut Random| {
            let text = if random.chance(5) { String::new() } else { odd_value(random) };
            let v = match random.below(6) {
                0 => Value::Null,
                1 => json!(""),
                _ => json!(odd_value(random)),
            };
            let key = match random.below(6) {
                0 => format!("{n}e3"),
                1 => format!("{n}.0"),
                2 => format!("{n}.10"),
                3 => format!("0{n}"),
                _ => format!("{}-{n}", odd_value(random)),
            };
            format!("{}\n", json!({ "id": key, "text": text, "v": v }))
        };
        let lines: String = (0..400).map(|n| line(n, &mut random)).collect();
        let lines = lines + &json!({"id": "key", "text": "text", "v": "v"}).to_string();
        let corpus = |name: &str| {
            let corpus = scratch.arg(&format!("{name}{seed}"));
            init(&corpus, &["--mode", "none", "--field", "v:keyword"]);
            corpus
        };
        let (first, second, third) = (corpus("first"), corpus("second"), corpus("third"));
        ingest(&first, &[&scratch.write("a.jsonl", lines)], &["--source", "s", "--id-field", "id"]);
        let export = |columns: &str, name: &str| {
            let to = scratch.arg(name);
            corpusdb(&["export", &first, "--all", "--columns", columns, "--force", "--to", &to])
                .good();
            to
        };
        let table = export("key,text,v", "out.csv");
        let report = ingest(&second, &[&table], &["--source", "s", "--id-field", "key"]);
        assert_eq!(numbers(&report, ["added", "updated", "rejected"]), [401, 0, 0]);
        let values = "SELECT key, text, v FROM documents ORDER BY id";
        assert_eq!(sql(&second, values), sql(&first, values), "seed {seed}");
        // A column alone may have rows that are its name.
        let table = export("text", "texts.csv");
        ingest(&third, &[&table], &["--source", "s", "--format", "csv"]);
        let texts = "SELECT text FROM documents ORDER BY id";
        assert_eq!(sql(&third, texts), sql(&first, texts), "seed {seed}");
    }
});

corpusdb_test!(declared_fields_read_cells_as_before, |t| {
    t.write(
        "a.csv",
        "id,text,i,f,b,t,k\na,one page,7.0,1.50,True,1711848600,1.10\nb,two pages,007,5e2,FALSE,2024-03-31,2\n\
         c,three pages,n/a,,yes,1971,\n",
    );
    let fields =
        "--field i:int --field f:float --field b:bool --field t:timestamp --field k:keyword";
    t.run(&format!("init before --mode none {fields}"));
    t.run("init after --mode none");
    for corpus in ["before", "after"] {
        t.run(&format!("ingest {corpus} a.csv --source s --id-field id"));
    }
    for field in ["i:int", "f:float", "b:bool", "t:timestamp", "k:keyword"] {
        t.run(&format!("field add after {field}"));
    }
    let values = "SELECT i, f, b, t, k FROM documents ORDER BY key";
    let before = sql(&t.arg("before"), values);
    assert_eq!(sql(&t.arg("after"), values), before);
    assert_eq!(
        (&before[0]["i"], &before[0]["f"], &before[0]["b"]),
        (&json!(7), &json!(1.5), &json!(true))
    );
    assert_eq!(
        (&before[1]["i"], &before[1]["f"], &before[0]["k"]),
        (&json!(7), &json!(500.0), &json!("1.10"))
    );
    assert!(before[0]["t"].as_str().unwrap().starts_with("2024-03-31T01:30:00"), "{before:?}");
    assert_eq!((&before[2]["i"], &before[2]["t"]), (&Value::Null, &Value::Null));
    let meta = t.column("before", "SELECT meta FROM documents ORDER BY key");
    assert_eq!(meta[0], r#"{"i":7.0,"f":1.5,"b":true,"t":"1711848600","k":"1.10"}"#);
    let meta = t.column("after", "SELECT meta FROM documents ORDER BY key");
    assert_eq!(meta[0], r#"{"i":"7.0","f":"1.50","b":"True","t":"1711848600","k":"1.10"}"#);
    // As `field set` stores them, and as the same record of JSON with numbers and truths.
    t.write("a.jsonl", "{\"id\":\"a\",\"text\":\"one page\",\"i\":7.0,\"f\":1.5,\"b\":true,\"t\":\"1711848600\",\"k\":\"1.10\"}\n");
    t.run("ingest before a.jsonl --source s --id-field id --json").counts("added 0, unchanged 1");
    t.run(&format!("init set --mode none {fields}"));
    t.run("ingest set a.csv --source s --id-field id --drop-fields i,f,b,t,k");
    t.run("field set set --from a.csv --on key=id --columns i,f,b,t,k");
    assert_eq!(sql(&t.arg("set"), values), before);
    let parsed = |corpus: &str| -> Vec<Value> {
        let all = t.column(corpus, "SELECT meta FROM documents ORDER BY key");
        all.iter().take(2).map(|meta| serde_json::from_str(meta).unwrap()).collect()
    };
    assert_eq!(parsed("set"), parsed("before"));
    t.sound("after");
});

// Releases before took `1e3` for the number 1000 and `7.0` for 7, in keys and in fields.
corpusdb_test!(rows_under_keys_of_earlier_releases_are_found, |t| {
    copy(&repository("tests/formats/cells/corpus"), &t.path("c"));
    drop(writer(&t.path("c")));
    let names = ",id,text,n,v,ok,when\n";
    let same = "1,7.0,the second page of the table is about knots,,5e2,FALSE,2024-03-31\n";
    let other =
        "0,1e3,other words of the first page,7.0,,,\n2,a,other words of the fifth page,5,,,\n";
    t.write("new.csv", [names, same, other].concat());
    // Other content is a version of a key that is spelled so, and no version of one that is not.
    t.run("ingest c new.csv --source keyed --id-field id --json")
        .counts("added 2, unchanged 1, updated 1");
    let kept = "SELECT key FROM documents WHERE kept AND source = 'keyed' ORDER BY key";
    assert_eq!(t.column("c", kept), ["007", "1.10", "1000", "1e3", "7", "a"]);
    // A table of values names documents by the keys that earlier releases read, too.
    t.run("field add c score:float");
    t.write("scores.csv", "id,score\n1e3,0.5\n10e2,0.25\n7.0,2\n");
    t.run("field set c --from scores.csv --on key=id --columns score");
    let scores =
        "SELECT key || '=' || CAST(score AS VARCHAR) FROM documents WHERE score > 0 ORDER BY key";
    assert_eq!(t.column("c", scores), ["1000=0.25", "1e3=0.5", "7=2.0"]);
    t.sound("c");
});

// Spark, Hive and MySQL write `\"`: the text lost its quotes and kept the backslashes, without a word.
corpusdb_test!(quotes_behind_backslashes_are_read_or_named, |t| {
    let rows = "id,text\na,\"She said \\\"we sail at nine\\\" and left\"\nb,\"A sign reads \\\"closed\\\"\"\nc,plain\n\
                d,\"First \\\"no\\\", then C:\\\\\"\ne,\"Two lines: \\\"one\\\"\nand \\\"two\\\"\"\n";
    let expected = [
        "She said \"we sail at nine\" and left",
        "A sign reads \"closed\"",
        "plain",
        "First \"no\", then C:\\",
        "Two lines: \"one\"\nand \"two\"",
    ];
    let texts = |corpus: &str| t.column(corpus, "SELECT text FROM documents ORDER BY key");
    t.write("a.csv", rows);
    t.run("init found");
    let report = t.run("ingest found a.csv --source s --id-field id --json").json();
    assert_eq!(
        (texts("found"), &report["alarms"]),
        (expected.map(str::to_owned).to_vec(), &json!([]))
    );
    let read = format!("SELECT text FROM read_csv('{}') ORDER BY id", t.arg("a.csv"));
    assert_eq!(t.column("found", &read), expected);
    // Behind a long head nothing shows an escape.
    let long: String =
        (0..2000).map(|n| format!("k{n},\"row {n}, which is long enough for a head\"\n")).collect();
    t.write("long.csv", format!("id,text\n{long}{}", rows.trim_start_matches("id,text\n")));
    t.run("init long --mode none");
    let ran = t.ran("ingest long long.csv --source s --id-field id");
    assert!(ran.stderr.contains("ALARM") && ran.stderr.contains("line 2,002"), "{ran}");
    t.run("init long-said --mode none");
    let said = "ingest long-said long.csv --source s --id-field id --escape '\\' --json";
    assert_eq!(t.run(said).json()["alarms"], json!([]));
    let last =
        t.column("long-said", "SELECT text FROM documents WHERE key IN ('a', 'e') ORDER BY key");
    assert_eq!(last, [expected[0], expected[4]]);
    // What has both kinds of quotes is read, too.
    t.run("init both --mode none");
    t.write("both.csv", "id,text\na,\"say \"\"so\"\"\"\nb,\"say \\\"so\\\" twice\"\n");
    t.run("ingest both both.csv --source s --id-field id");
    assert_eq!(texts("both"), ["say \"so\"", "say \"so\" twice"]);
    // Who says that quotes are doubled is told what goes on behind them.
    t.run("init doubled --mode none");
    let ran = t.ran("ingest doubled a.csv --source s --id-field id --escape '\"'");
    assert!(ran.stderr.contains("behind the closing quote"), "{ran}");
    t.ran("ingest found a.csv --source s --escape xy").fails(&["one ASCII character"]);
});

corpusdb_test!(quotes_over_rows_of_tabs_raise_an_alarm, |t| {
    t.run("init c --mode none");
    t.write("a.tsv", "id\ttext\n1\t\"a quote that opens\n2\tand ends here\"\n3\tplain\n");
    let ran = t.run("ingest c a.tsv --source s --id-field id");
    assert!(ran.stderr.contains("--no-quotes") && ran.stderr.contains("line 2"), "{ran}");
    t.run("init plain --mode none");
    let ran = t.run("ingest plain a.tsv --source s --id-field id --no-quotes");
    assert!(!ran.stderr.contains("ALARM"), "{ran}");
    t.run("count plain").is("3");
});

// Tables that were put together kept their rows of names as documents.
corpusdb_test!(rows_of_names_within_are_passed_over, |t| {
    let first = "id,text\n1,The first row\nid,2\n";
    let second = "id,text\n3,The third row\n";
    let other = "\"id\",\"text\"\n4,The fourth row\n";
    t.write("all.csv", [first, second, second].concat());
    t.write("mark.csv", [first, "\u{feff}", second, other].concat());
    t.write("members.csv.gz", [gzip(first.as_bytes()), gzip(second.as_bytes())].concat());
    for (file, skipped, rows) in [("all.csv", 2, 4), ("mark.csv", 2, 4), ("members.csv.gz", 1, 3)] {
        let corpus = format!("of-{file}");
        t.run(&format!("init {corpus} --mode none"));
        let ingest = format!("ingest {corpus} {file} --source s --batch-bytes 1");
        let report =
            t.run(&format!("{ingest} --json")).counts(&format!("added {rows}, rejected 0")).json();
        assert_eq!(report["files"]["name_rows"], skipped, "{file}");
        let names = t.column(&corpus, "SELECT text FROM documents WHERE text IN ('text', '2')");
        assert_eq!(names, ["2"], "{file}: a value that is a name is no row of names");
        t.run(&format!("{ingest} --reread")).prints(&["repeat", "row of names skipped", "line"]);
        t.run(&format!("{ingest} --json")).counts(&format!("added 0, unchanged {rows}"));
        let read = format!("SELECT count(*) AS n FROM read_csv('{}')", t.arg(file));
        assert_eq!(t.column(&corpus, &read), [rows.to_string()]);
    }
    t.run("init set --mode none --field v:keyword");
    t.write("a.jsonl", "{\"id\":\"1\",\"text\":\"one\"}\n");
    t.run("ingest set a.jsonl --source s --id-field id");
    t.write("v.csv", "id,v\n1,x\nid,v\n1,y\n");
    let set = t.run("field set set --from v.csv --on key=id --columns v --json").json();
    assert_eq!(
        (&set["records"], &set["name_rows"], &set["unknown"]),
        (&json!(2), &json!(1), &json!(0))
    );
});

// The numbers of a mixed column were null, and its words stayed.
corpusdb_test!(a_first_column_without_a_name_is_one_column, |t| {
    let columns = |corpus: &str| t.column(corpus, "SELECT meta FROM documents ORDER BY id");
    for (name, rows, expected) in [
        ("numbers", ",text\n0,one page\n12,two pages\n", ["{}", "{}"]),
        (
            "mixed",
            ",text\n7,one page\nx,two pages\n",
            ["{\"column_1\":\"7\"}", "{\"column_1\":\"x\"}"],
        ),
        (
            "words",
            ",text\nx,one page\n7,two pages\n",
            ["{\"column_1\":\"x\"}", "{\"column_1\":\"7\"}"],
        ),
    ] {
        t.run(&format!("init {name} --mode none"));
        t.write(&format!("{name}.csv"), rows);
        t.run(&format!("ingest {name} {name}.csv --source s"));
        assert_eq!(columns(name), expected, "{name}");
        let read = format!("SELECT column_1 FROM read_csv('{}')", t.arg(&format!("{name}.csv")));
        let cells = rows.lines().skip(1).map(|row| row.split(',').next().unwrap());
        assert_eq!(t.column(name, &read), cells.collect::<Vec<_>>(), "{name}");
    }
});
