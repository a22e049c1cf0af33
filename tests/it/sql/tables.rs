//! What tables, samples and documents show is what the corpus holds; errors name what there is.

use crate::support::scenarios::TabledCorpus;
use crate::support::{
    Page, Random, WEB_BY_ID, corpusdb, corpusdb_test, crawl, init, json_lines, lines, prose, sound,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

// ---- tables ----

corpusdb_test!(documents_have_the_texts_and_fields_that_came_in, TabledCorpus::new(), |place| {
    let rows = place.all();
    // The last record of a key is its document; before the same key of another source.
    let mut last: BTreeMap<(&str, &str), &Page> = BTreeMap::new();
    for (number, page) in place.pages.iter().enumerate() {
        let source = if number < 300 { "web" } else { "a feed" };
        last.insert((source, page.id.as_deref().unwrap()), page);
    }
    let mut newest: BTreeMap<(&str, &str), &Value> = BTreeMap::new();
    for row in &rows {
        newest.insert((row["source"].as_str().unwrap(), row["key"].as_str().unwrap()), row);
    }
    assert_eq!(newest.keys().collect::<Vec<_>>(), last.keys().collect::<Vec<_>>());
    let mut wrong_years = 0;
    for (key, row) in newest {
        let page = last[&key];
        assert_eq!(row["text"], page.text, "{key:?}");
        assert_eq!(row["bytes"], page.text.len());
        assert_eq!(row["chars"], page.text.chars().count());
        let meta: Value = serde_json::from_str(row["meta"].as_str().unwrap()).unwrap();
        assert_eq!(meta, page.fields, "{key:?}");
        for field in ["language", "url", "quality"] {
            assert_eq!(row[field], page.fields[field], "{field} of {key:?}");
        }
        // A value of another type than declared is none; it stays in `meta`.
        let year = &page.fields["year"];
        assert_eq!(row["year"], if year.is_string() { Value::Null } else { year.clone() });
        wrong_years += usize::from(year.is_string());
        assert_ne!(row["standing"], "superseded", "{key:?}");
    }
    assert!(wrong_years > 5);
    sound(&place.corpus);
});

corpusdb_test!(values_of_another_type_than_declared_are_null, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "n:int", "--field", "x:float", "--field", "k:keyword"]);
    let cases = [
        (r#"5, "x": 0.5, "k": "five""#, json!([5, 0.5, "five"])),
        (r#"-7, "x": 3, "k": 12"#, json!([-7, 3.0, "12"])),
        (r#""5", "x": "0.5", "k": true"#, json!([5, 0.5, "true"])),
        (r#"5.0, "x": "5e-1", "k": 0.5"#, json!([5, 0.5, "0.5"])),
        (r#""5.0", "x": "half", "k": false"#, json!([5, null, "false"])),
        (r#"1.5, "x": [1], "k": ["a"]"#, json!([null, null, null])),
        (r#"null, "x": null, "k": null"#, json!([null, null, null])),
        (r#"9223372036854775808, "x": 1e300, "k": """#, json!([null, 1e300, ""])),
        (r#"-9223372036854775808, "x": -0.0, "k": {}"#, json!([i64::MIN, -0.0, null])),
    ];
    let mut random = Random::new(3);
    let file: String = cases
        .iter()
        .map(|(fields, _)| {
            format!("{{\"text\":\"{}\",\"n\":{fields}}}\n", prose(&mut random, 0, 20))
        })
        .collect();
    assert_eq!(scratch.ingest(&corpus, "a.jsonl", file, &["--source", "web"])["kept"], cases.len());
    let rows = corpusdb(&["sql", &corpus, "SELECT n, x, k FROM documents ORDER BY id", "--json"]);
    for (row, (fields, expected)) in rows.good().json_lines().iter().zip(&cases) {
        assert_eq!(json!([row["n"], row["x"], row["k"]]), *expected, "{fields}");
    }
    sound(&corpus);
});

corpusdb_test!(the_small_tables_match_the_corpus, TabledCorpus::new(), |place| {
    let documents = place.all();
    let of = |source: &str, kept: bool| {
        let own = documents.iter().filter(|row| row["source"] == source);
        own.filter(|row| !kept || row["kept"] == true).collect::<Vec<_>>()
    };
    let sum = |rows: &[&Value], field: &str| -> u64 {
        rows.iter().filter_map(|row| row[field].as_u64()).sum()
    };
    let sources = place.sql("SELECT * FROM sources");
    let names: Vec<&str> = sources.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["web", "a feed"]);
    for row in &sources {
        let name = row["name"].as_str().unwrap();
        let (all, kept) = (of(name, false), of(name, true));
        assert_eq!((&row["documents"], &row["kept"]), (&json!(all.len()), &json!(kept.len())));
        assert_eq!(row["bytes"], sum(&all, "bytes"));
        assert_eq!(row["kept_bytes"], sum(&kept, "bytes"));
        assert_eq!(row["tokens_own"], sum(&kept, "tokens"));
    }

    let commits = place.sql("SELECT * FROM commits ORDER BY commit");
    let numbers: Vec<u64> = commits.iter().map(|row| row["commit"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=commits.len() as u64).collect::<Vec<_>>());
    let mut kinds: Vec<&str> = commits.iter().map(|row| row["kind"].as_str().unwrap()).collect();
    kinds.dedup();
    assert_eq!(kinds, ["init", "ingest", "tokenizer", "snapshot", "ingest", "epoch"]);
    let added: u64 = commits.iter().map(|row| row["added"].as_u64().unwrap()).sum();
    assert_eq!(added, documents.len() as u64);
    for commit in commits.iter().filter(|row| row["added"] != 0) {
        let own: Vec<&Value> =
            documents.iter().filter(|row| row["commit"] == commit["commit"]).collect();
        assert_eq!(commit["added"], own.len());
        assert_eq!(commit["first"], own[0]["id"]);
    }

    let rejects = place.sql("SELECT * FROM rejects ORDER BY number");
    assert_eq!(rejects.len(), 2);
    assert_eq!((&rejects[0]["number"], &rejects[0]["raw"]), (&json!(300), &json!("not json")));
    assert_eq!(rejects[1]["raw"], "{\"id\":\"x\",\"text\":5}");
    let listed = corpusdb(&["rejects", &place.corpus, "--json"]).good().json_lines();
    for (row, listed) in rejects.iter().zip(&listed) {
        for field in ["source", "path", "number", "offset", "reason", "bytes", "raw"] {
            assert_eq!(row[field], listed[field]);
        }
    }

    let tokenizers = place.sql("SELECT id, name, vocab_size FROM tokenizers");
    assert_eq!((&tokenizers[0]["id"], &tokenizers[0]["name"]), (&json!(0), &json!("own")));
    let snapshots = place.sql("SELECT * FROM snapshots ORDER BY commit");
    assert_eq!(snapshots[0]["name"], "first");
    assert_eq!(snapshots[0]["documents"], of("web", false).len());
    let epochs = place.sql("SELECT * FROM epochs");
    assert_eq!((epochs.len(), &epochs[0]["snapshot"]), (1, &snapshots[1]["name"]));
    let plan: Value = serde_json::from_str(epochs[0]["plan"].as_str().unwrap()).unwrap();
    assert_eq!(plan["snapshot"]["name"], snapshots[1]["name"]);
    let hash = blake3::hash(epochs[0]["plan"].as_str().unwrap().as_bytes()).to_hex();
    assert_eq!(epochs[0]["hash"], *hash.as_str());
});

corpusdb_test!(info_adds_up, TabledCorpus::new(), |place| {
    let documents = place.all();
    let info = corpusdb(&["info", &place.corpus, "--json"]).good().json();
    let kept: Vec<&Value> = documents.iter().filter(|row| row["kept"] == true).collect();
    let bytes =
        |rows: &[&Value]| rows.iter().map(|row| row["bytes"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(info["type"], "info");
    assert_eq!((&info["documents"], &info["kept"]), (&json!(documents.len()), &json!(kept.len())));
    assert_eq!(info["bytes"], bytes(&documents.iter().collect::<Vec<_>>()));
    assert_eq!(info["kept_bytes"], bytes(&kept));
    assert_eq!(info["rejects"], 2);
    let mut standings: BTreeMap<&str, u64> = BTreeMap::new();
    for row in &documents {
        *standings.entry(row["standing"].as_str().unwrap()).or_default() += 1;
    }
    let told: BTreeMap<&str, u64> = info["standings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["standing"].as_str().unwrap(), row["documents"].as_u64().unwrap()))
        .collect();
    assert_eq!(told, standings);
    assert!(["kept", "near", "exact", "superseded", "empty"].iter().all(|s| told.contains_key(s)));
    let tokens: u64 = kept.iter().filter_map(|row| row["tokens"].as_u64()).sum();
    assert_eq!(info["tokenizers"][0]["tokens"], tokens);
    assert_eq!(
        info["fields"],
        json!([
            { "name": "url", "kind": "keyword" },
            { "name": "quality", "kind": "float" },
            { "name": "year", "kind": "int" }
        ])
    );
    assert_eq!(
        (info["snapshots"].as_array().unwrap().len(), info["epochs"].as_array().unwrap().len()),
        (2, 1)
    );
    let text = corpusdb(&["info", &place.corpus, "--settings"]).good().stdout;
    for word in
        ["policy:", "web", "a feed", "tokenizer own", "field year: int", "snapshot first", "plan 1"]
    {
        assert!(text.contains(word), "no {word} in\n{text}");
    }
});

corpusdb_test!(results_are_the_same_in_every_format, TabledCorpus::new(), |place| {
    let statement = "SELECT source, count(*) AS n, sum(tokens) AS t, min(quality) AS q FROM documents \
                     WHERE kept GROUP BY source ORDER BY source";
    let rows = place.sql(statement);
    let csv = corpusdb(&["sql", &place.corpus, statement, "--format", "csv"]).good().stdout;
    let cells: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(cells[0], ["source", "n", "t", "q"]);
    let table = corpusdb(&["sql", &place.corpus, statement]).good().stdout;
    assert_eq!((rows.len(), cells.len()), (2, 3));
    for (row, cells) in rows.iter().zip(&cells[1..]) {
        assert_eq!(row["source"], cells[0]);
        for (name, cell) in ["n", "t", "q"].iter().zip(&cells[1..]) {
            assert_eq!(row[*name].to_string(), *cell);
            assert!(table.contains(cell), "no {cell} in\n{table}");
        }
    }
    assert_eq!(
        rows,
        json_lines(&corpusdb(&["sql", &place.corpus, statement, "--json"]).good().stdout)
    );
});

// ---- samples ----

corpusdb_test!(samples_are_a_function_of_the_seed, TabledCorpus::new(), |place| {
    let sample = |n: &str, seed: &str, more: &[&str]| -> Vec<Value> {
        let arguments = ["sample", &place.corpus, "-n", n, "--seed", seed, "--json"];
        corpusdb(&[&arguments[..], more].concat()).good().json_lines()
    };
    let ten = sample("10", "4", &[]);
    assert_eq!(ten.len(), 10);
    assert!(ten.iter().all(|row| row["type"] == "document" && row["standing"] == "kept"));
    assert_eq!(ten, sample("10", "4", &["--threads", "1"]));
    assert_eq!(
        ten[..4],
        sample("4", "4", &[])[..],
        "a smaller sample is the beginning of a larger"
    );
    assert_ne!(ten, sample("10", "5", &[]));
    let some = sample("1000", "4", &["--where", "NOT kept AND source = 'web'"]);
    let ids: BTreeSet<u64> = some.iter().map(|row| row["id"].as_u64().unwrap()).collect();
    let expected = place.open().select("NOT kept AND source = 'web'").unwrap();
    assert_eq!(ids, expected.iter().collect(), "all of them when there are fewer, each once");
    assert_eq!(ids.len(), some.len());
    assert!(sample("5", "1", &["--where", "id < 0"]).is_empty());
});

corpusdb_test!(a_random_seed_is_new_and_draws_again, TabledCorpus::new(), |place| {
    let line = |seed: &str| {
        corpusdb(&["sample", &place.corpus, "-n", "5", "--seed", seed, "--json"]).good()
    };
    let seed = |ran: &str| -> String {
        let note = ran.lines().find_map(|line| line.split_once("drawn with seed "));
        note.unwrap().1.trim_end_matches(|c: char| !c.is_ascii_digit()).to_owned()
    };
    let (one, other) = (line("random"), line("random"));
    let (first, second) = (seed(&one.stderr), seed(&other.stderr));
    assert_ne!(first, second);
    assert_eq!(line(&first).stdout, one.stdout);
    assert_eq!(line(&second).stdout, other.stdout);
    assert!(!line("0").stderr.contains("seed"));
    corpusdb(&["sample", &place.corpus, "--seed", "x"])
        .fails(&["write a whole number, or `random`"]);
});

corpusdb_test!(samples_are_uniform, TabledCorpus::new(), |place| {
    let corpus = place.open();
    let kept = corpus.count("kept").unwrap();
    let (draws, each) = (800_u64, 6_u64);
    let mut seen: BTreeMap<u64, u64> = BTreeMap::new();
    for seed in 0..draws {
        for document in corpus.sample("kept", each, seed).unwrap() {
            *seen.entry(document.0).or_default() += 1;
        }
    }
    assert!(seen.len() as u64 <= kept);
    let expected = (draws * each) as f64 / kept as f64;
    let missing = (kept - seen.len() as u64) as f64 * expected;
    let square: f64 = seen.values().map(|n| (*n as f64 - expected).powi(2) / expected).sum();
    let (square, freedom) = (square + missing, (kept - 1) as f64);
    // Five standard deviations on either side; the seeds are fixed, so this holds for ever or never.
    assert!((square - freedom).abs() < 5.0 * (2.0 * freedom).sqrt(), "{square} for {freedom}");
});

// Nobody said that a sum over all documents has those that were kept once.
corpusdb_test!(info_and_sql_agree_on_the_tokens_of_kept_documents, |scratch, corpus| {
    let mut pages = crawl(35, 60, false);
    for (n, page) in pages.iter_mut().enumerate() {
        page.id = Some(format!("key {n}"));
    }
    scratch.ingest(&corpus, "a.jsonl", lines(&pages), &WEB_BY_ID);
    corpusdb(&["tokenizer", "train", &corpus, "own", "--vocab-size", "400"]).good();
    for (n, page) in pages.iter_mut().enumerate() {
        page.text = format!("quite another text of {n} {}", page.text);
    }
    scratch.ingest(&corpus, "b.jsonl", lines(&pages), &WEB_BY_ID);
    let sql = |statement: &str| corpusdb(&["sql", &corpus, statement, "--json"]).good().json();
    let info = corpusdb(&["info", &corpus, "--json"]).good().json();
    let told = &info["sources"][0]["tokens"]["own"];
    let row = sql("SELECT sum(tokens) FILTER (WHERE kept) AS kept, sum(tokens) AS ever, \
         count(tokens) FILTER (WHERE standing = 'superseded') AS once FROM documents");
    assert_eq!(row["kept"], *told);
    assert!(row["once"].as_u64() > Some(0) && row["ever"].as_u64() > row["kept"].as_u64(), "{row}");
    assert_eq!(sql("SELECT tokens_own FROM sources")["tokens_own"], *told);
    assert_eq!(info["tokenizers"][0]["tokens"], *told);
});

// ---- one document ----

corpusdb_test!(show_by_id_and_by_key_equals_the_table, TabledCorpus::new(), |place| {
    let rows = place.all();
    let mut by_key: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for row in &rows {
        by_key.entry(row["key"].as_str().unwrap()).or_default().push(row["id"].as_u64().unwrap());
    }
    let (key, ids) = by_key.iter().max_by_key(|(_, ids)| ids.len()).unwrap();
    assert!(ids.len() > 1, "a key with several documents");
    let shown = corpusdb(&["show", &place.corpus, "--key", key, "--json"]).good().json_lines();
    assert_eq!(shown.iter().map(|row| row["id"].as_u64().unwrap()).collect::<Vec<_>>(), *ids);
    let shown_by_key = shown;
    let mut kinds = BTreeSet::new();
    for row in rows.iter().step_by(13) {
        let id = row["id"].to_string();
        let shown = corpusdb(&["show", &place.corpus, &id, "--json"]).good().json();
        assert_eq!(shown["type"], "document");
        for field in
            ["id", "key", "source", "commit", "bytes", "chars", "standing", "language", "text"]
        {
            assert_eq!(shown[field], row[field], "{field} of {id}");
        }
        assert_eq!(shown["tokens"]["own"], row["tokens"]);
        for field in ["url", "quality", "year"] {
            assert_eq!(shown["fields"][field], row[field]);
        }
        let meta: Value = serde_json::from_str(row["meta"].as_str().unwrap()).unwrap();
        assert_eq!(shown["metadata"], meta);
        let found = &shown["match"];
        match row["standing"].as_str().unwrap() {
            "near" | "exact" => {
                let given = (&found["witness"], &found["jaccard"]);
                assert_eq!(given, (&row["dup_of"], &row["jaccard"]));
                assert_eq!(found["kind"], row["standing"]);
            }
            "superseded" => {
                assert_eq!(found["kind"], "superseded");
                assert_eq!(found["witness_key"], row["key"]);
                assert!(found["witness"].as_u64() > row["id"].as_u64());
            }
            _ => assert!(found.is_null()),
        }
        let cluster = (&shown["cluster"]["id"], &shown["cluster"]["size"]);
        assert_eq!(cluster, (&row["cluster"], &row["cluster_size"]));
        kinds.insert(row["standing"].as_str().unwrap());
        let text = corpusdb(&["show", &place.corpus, &id]).good().stdout;
        assert!(text.contains(row["standing"].as_str().unwrap()) && text.starts_with("document "));
    }
    assert!(kinds.len() >= 4, "{kinds:?}");
    let none = corpusdb(&["show", &place.corpus, "--key", "never"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(1), ""));
    assert!(none.stderr.contains("no document has the key never"), "{none}");
    // A key was to be a number: `invalid digit found in string`.
    assert_eq!(corpusdb(&["show", &place.corpus, key, "--json"]).good().json_lines(), shown_by_key);
    corpusdb(&["show", &place.corpus, "999999"]).fails(&["no document 999999", "below"]);
});

corpusdb_test!(differences_of_duplicates_rebuild_both_texts, TabledCorpus::new(), |place| {
    let rows = place.all();
    let text = |id: &Value| rows[id.as_u64().unwrap() as usize]["text"].as_str().unwrap();
    let listed =
        corpusdb(&["duplicates", &place.corpus, "--list", "--json", "--diff"]).good().json_lines();
    let table = place.sql("SELECT * FROM duplicates ORDER BY id");
    let removed: Vec<&Value> = rows.iter().filter(|row| !row["dup_of"].is_null()).collect();
    assert_eq!((listed.len(), table.len()), (removed.len(), removed.len()));
    let mut of_witness: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    for ((pair, line), row) in listed.iter().zip(&table).zip(&removed) {
        assert_eq!(pair["type"], "duplicate");
        for field in
            ["id", "witness", "kind", "jaccard", "containment_removed", "containment_witness"]
        {
            assert_eq!(pair[field], line[field]);
        }
        assert_eq!((&pair["id"], &pair["witness"]), (&row["id"], &row["dup_of"]));
        assert_eq!((&pair["kind"], &pair["jaccard"]), (&row["standing"], &row["jaccard"]));
        let witness = &rows[pair["witness"].as_u64().unwrap() as usize];
        assert_eq!((&pair["key"], &pair["source"]), (&row["key"], &row["source"]));
        let shown = (&pair["witness_key"], &pair["witness_source"]);
        assert_eq!(shown, (&witness["key"], &witness["source"]));
        assert_eq!((&witness["kept"], row["kept"].as_bool()), (&json!(true), Some(false)));
        assert!(pair["jaccard"].as_f64().unwrap() >= 0.8);
        if pair["kind"] == "exact" {
            assert_eq!(text(&pair["id"]), text(&pair["witness"]));
        }
        let of = |skip: &str| -> String {
            let parts = pair["diff"].as_array().unwrap().iter();
            parts
                .filter(|part| part["part"] != skip)
                .map(|part| part["text"].as_str().unwrap())
                .collect()
        };
        assert_eq!(of("added"), text(&pair["witness"]), "{pair}");
        assert_eq!(of("removed"), text(&pair["id"]), "{pair}");
        of_witness.entry(pair["witness"].as_u64().unwrap()).or_default().push(pair);
    }
    let (witness, pairs) = of_witness.iter().max_by_key(|(_, pairs)| pairs.len()).unwrap();
    assert!(pairs.len() > 2);
    // One document has the same pairs, with the bands they share.
    let pair_of = |pair: &Value| {
        let mut pair = pair.as_object().unwrap().clone();
        for field in ["type", "estimate", "shared_bands"] {
            pair.remove(field);
        }
        pair
    };
    let of = |id: &str| {
        let found =
            corpusdb(&["duplicates", &place.corpus, id, "--json", "--diff", "--limit", "999"]);
        found.good().json()
    };
    let members = of(&witness.to_string())["cluster"]["members"].clone();
    let shown = members.as_array().unwrap().iter().map(pair_of).collect::<Vec<_>>();
    assert_eq!(shown, pairs.iter().map(|pair| pair_of(pair)).collect::<Vec<_>>());
    assert_eq!(pair_of(&of(&pairs[1]["id"].to_string())["witness"]), pair_of(pairs[1]));
    let shown = rows[*witness as usize]["cluster_size"].as_u64().unwrap();
    assert_eq!(shown, pairs.len() as u64 + 1, "a cluster is the witness and what it removed");
    let limited = corpusdb(&["duplicates", &place.corpus, "--list", "--limit", "3"]).good().stdout;
    assert_eq!(limited.lines().count(), 3);
    let diff = corpusdb(&["duplicates", &place.corpus, "--list", "--diff"]).good().stdout;
    assert!(diff.contains("{+") && diff.contains("[-") && !diff.contains('\x1b'));
    corpusdb(&["duplicates", &place.corpus, "999999"]).fails(&["no document 999999"]);
});

// ---- errors ----

corpusdb_test!(errors_of_queries_list_valid_names, TabledCorpus::new(), |place| {
    let sql = |statement: &str| corpusdb(&["sql", &place.corpus, statement]);
    sql("SELECT lenght FROM documents").fails(&["no column `lenght`", "`bytes`", "and 11 more"]);
    sql("SELECT * FROM pages").fails(&["no table `pages`", "`documents`, `duplicates`, `sources`"]);
    sql("SELEC 1").fails(&["`SELEC 1`", "SELEC"]);
    sql("SELECT count(* FROM documents").fails(&["`SELECT count(* FROM documents`"]);
    sql("SELECT 1 / 0").fails(&["ivide by zero"]);
    let refused = [
        "DROP TABLE documents",
        "CREATE TABLE t AS SELECT 1",
        "CREATE VIEW v AS SELECT 1",
        "INSERT INTO documents SELECT * FROM documents",
        "UPDATE documents SET kept = true",
        "DELETE FROM documents",
        "COPY documents TO 'stolen.csv'",
        "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'",
        "SET datafusion.execution.batch_size = 1",
    ];
    for statement in refused {
        sql(statement).fails(&["refused", statement, "only one SELECT"]);
    }
    // Several are run one by one, each by the same rule.
    sql("SELECT 1; DROP TABLE documents").fails(&["column 11", "refused `DROP TABLE documents`"]);
    sql("SELECT * FROM '/etc/passwd'").fails(&["/etc/passwd"]);
    assert!(!Path::new("stolen.csv").exists());

    let condition = |condition: &str| corpusdb(&["count", &place.corpus, "--where", condition]);
    condition("lenght > 3").fails(&[
        "`lenght > 3`",
        "`lenght` is not a column",
        "bytes, chars, tokens",
    ]);
    // A signal that is not stored has the name: the answer was about it alone.
    condition("lang = 'en'").fails(&["`lang` is not a column; did you mean `language`?"]);
    condition("language = en").fails(&["`en` is not a column", "text needs single ones"]);
    condition("kept AND").fails(&["`kept AND`", "boolean expression"]);
    condition("bytes + 1").fails(&["`bytes + 1`"]);
    condition("kept; DROP TABLE documents").fails(&["`kept; DROP TABLE documents`"]);
    for verb in [&["sample", "-n", "1"][..], &["count"]] {
        let arguments = [&verb[..1], &[&*place.corpus], &verb[1..], &["--where", "nope"]].concat();
        corpusdb(&arguments).fails(&["`nope` is not a column", "cluster_size"]);
    }
});
