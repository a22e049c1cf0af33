//! Declared fields, as queries give them back.

use crate::support::{
    Random, TestDir, WEB_BY_ID, corpusdb, corpusdb_test, digest, ingest, init, init_with_tokenizer,
    numbers, prose, sound, sql,
};
use corpusdb::tokenizer::KneserNey;
use corpusdb::{Context, Corpus, DocId};
use serde_json::{Value, json};

// A keyword of 1,500 bytes came back as 1,017 characters and a hash: a comparison that the index answered
// found its documents, the same one answered row by row found none.
corpusdb_test!(a_long_keyword_comes_back_whole_and_is_found_either_way, |scratch| {
    let corpus = scratch.arg("corpus");
    let url = |page: usize| format!("https://example.org/{}/{page}", "é".repeat(740));
    let lines: String = (0..12)
        .map(|page| json!({"text": format!("page {page} of some"), "url": url(page % 3), "language": url(9)}))
        .map(|record| format!("{record}\n"))
        .collect();
    let path = scratch.write("a.jsonl", lines);
    init(&corpus, &["--field", "url:keyword", "--mode", "none"]);
    ingest(&corpus, &[&path], &["--source", "main"]);
    let rows = |condition: &str| -> Vec<Value> {
        let query = format!("SELECT url, language FROM documents WHERE {condition}");
        sql(&corpus, &query)
    };
    for condition in
        ["url = '{}'", "concat(url, '') = '{}'", "url IN ('{}', 'other')", "url LIKE '{}%'"]
    {
        let found = rows(&condition.replace("{}", &url(1)));
        assert_eq!(found.len(), 4, "{condition}");
        assert!(found.iter().all(|row| row["url"] == url(1) && row["language"] == url(9)));
    }
    assert_eq!(rows(&format!("url <> '{}'", url(1))).len(), 8);
    let groups = "SELECT url, count(*) AS n FROM documents GROUP BY url ORDER BY url";
    assert_eq!(sql(&corpus, groups).len(), 3);
    let shown = corpusdb(&["show", &corpus, "4", "--json"]).good().json();
    assert_eq!((&shown["fields"]["url"], &shown["language"]), (&json!(url(1)), &json!(url(9))));
    sound(&corpus);
});

fn field(corpus: &str, verb: &str, more: &[&str]) -> Value {
    corpusdb(&[&["field", verb, corpus, "--json"], more].concat()).good().json()
}

/// Keyed pages with metadata of every type, in order.
fn pages(scratch: &TestDir, count: usize) -> String {
    let page = |number: usize| {
        json!({
            "id": format!("k{number}"),
            "text": format!("page {number} {} of words", number * 31),
            "lang": if number.is_multiple_of(3) { "de" } else { "en" },
            "stars": if number == 7 { json!("many") } else { json!(number % 5) },
            "scores": { "edu": number as f64 / 8.0 },
            "fine": number.is_multiple_of(2),
            "when": format!("2024-05-{:02}T12:00:00+02:00", 1 + number % 28),
        })
    };
    let lines: String = (0..count).map(|number| format!("{}\n", page(number))).collect();
    scratch.write("pages.jsonl", lines)
}

fn corpus_of(scratch: &TestDir, count: usize) -> String {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none"]);
    ingest(&corpus, &[&pages(scratch, count)], &WEB_BY_ID);
    corpus
}

// Which fields can be asked for was settled when a corpus was made.
corpusdb_test!(fields_of_every_type_are_added_to_a_filled_corpus, |scratch| {
    let corpus = corpus_of(&scratch, 30);
    let tried = field(&corpus, "add", &["stars:int", "--dry-run"]);
    assert_eq!((&tried["values"], &tried["dry_run"]), (&json!(29), &json!(true)));
    corpusdb(&["count", &corpus, "--where", "stars = 1"]).fails(&["`stars` is not a column"]);
    let report = field(&corpus, "add", &["stars:int", "--batch-rows", "4"]);
    assert_eq!(numbers(&report, ["documents", "values", "ill_typed", "commits"]), [30, 29, 1, 8]);
    assert_eq!(report["type"], "field_add");
    field(&corpus, "add", &["edu:float", "--from-meta", "scores.edu"]);
    field(&corpus, "add", &["fine:bool"]);
    field(&corpus, "add", &["day:timestamp", "--from-meta", "when"]);
    corpusdb(&["field", "add", &corpus, "language:keyword"]).fails(&["--from-meta"]);
    field(&corpus, "add", &["language:keyword", "--from-meta", "lang"]);
    sound(&corpus);
    // The same again does nothing; another type is refused.
    assert_eq!(numbers(&field(&corpus, "add", &["stars:int"]), ["commits"]), [0]);
    let other = ["field", "add", &corpus, "stars:float"];
    corpusdb(&other).fails(&["`stars` is declared already as int", "field drop"]);
    let language = ["field", "add", &corpus, "language:keyword"];
    corpusdb(&language).fails(&["`language` is declared already as keyword of `lang`"]);
    corpusdb(&["field", "add", &corpus, "kept:bool"]).fails(&["column of every corpus"]);
    let listed = corpusdb(&["field", "show", &corpus, "--json"]).good().json_lines();
    let told: Vec<(&str, &str, u64, &str)> = listed
        .iter()
        .map(|field| {
            let word = |name: &str| field[name].as_str().unwrap();
            (word("name"), word("kind"), field["documents"].as_u64().unwrap(), word("member"))
        })
        .collect();
    assert_eq!(
        told,
        [
            ("stars", "int", 29, "stars"),
            ("edu", "float", 30, "scores.edu"),
            ("fine", "bool", 30, "fine"),
            ("day", "timestamp", 30, "when"),
            ("language", "keyword", 30, "lang"),
        ]
    );
    assert_eq!((&listed[4]["distinct"], &listed[0]["distinct"]), (&json!(2), &Value::Null));
    // Conditions on them are answered by the index, and come to what rows come to.
    for (condition, count) in [
        ("fine", 15),
        ("NOT fine", 15),
        ("fine = false AND stars IS NOT NULL", 14),
        ("fine IS NULL", 0),
        ("day >= TIMESTAMP '2024-05-27T10:00:00'", 2),
        ("day < '2024-05-01T10:00:01'", 2),
        ("day = '2024-05-02T10:00:00' AND language = 'en'", 2),
        ("edu BETWEEN 1 AND 2", 9),
        ("language = 'de'", 10),
    ] {
        let ran = corpusdb(&["count", &corpus, "--where", condition]).good();
        assert_eq!(ran.stdout.trim(), count.to_string(), "{condition}");
        let rows =
            format!("SELECT count(*) AS n FROM documents WHERE coalesce(({condition}), false)");
        assert_eq!(sql(&corpus, &rows)[0]["n"], count, "{condition}");
        let explained = format!("EXPLAIN SELECT id FROM documents WHERE {condition}");
        let explained = corpusdb(&["sql", &corpus, &explained]).good().stdout;
        assert!(!explained.contains("index=all"), "{condition}: {explained}");
    }
    let row = &sql(&corpus, "SELECT day, fine FROM documents WHERE id = 3")[0];
    assert_eq!((&row["day"], &row["fine"]), (&json!("2024-05-04T10:00:00Z"), &json!(false)));
    let shown = corpusdb(&["show", &corpus, "3", "--json"]).good().json();
    assert_eq!(shown["fields"]["day"], "2024-05-04T10:00:00Z");
    assert_eq!((&shown["fields"]["fine"], &shown["language"]), (&json!(false), &json!("de")));
    // What comes later is indexed as it comes.
    let later = json!({ "id": "later", "text": "some more", "lang": "fr", "scores": { "edu": -1 }, "fine": true });
    scratch.ingest(&corpus, "later.jsonl", format!("{later}\n"), &WEB_BY_ID);
    assert_eq!(
        sql(&corpus, "SELECT id FROM documents WHERE language = 'fr' AND edu < 0 AND fine").len(),
        1
    );
    sound(&corpus);
});

corpusdb_test!(a_dropped_field_is_added_back_from_the_metadata, |scratch| {
    let corpus = corpus_of(&scratch, 30);
    let plain = digest(&corpus);
    field(&corpus, "add", &["lang:keyword"]);
    field(&corpus, "add", &["stars:int"]);
    let both = digest(&corpus);
    assert_ne!(plain, both);
    let dropped = field(&corpus, "drop", &["lang"]);
    assert_eq!((&dropped["type"], &dropped["plans"]), (&json!("field_drop"), &json!([])));
    sound(&corpus);
    corpusdb(&["count", &corpus, "--where", "lang = 'de'"]).fails(&["`lang` is not a column"]);
    corpusdb(&["field", "drop", &corpus, "lang"]).fails(&["no field `lang`", "stars"]);
    field(&corpus, "drop", &["stars"]);
    assert_eq!(digest(&corpus), plain);
    // Numbers of fields that are gone are given again; nothing of the old ones is left under them.
    field(&corpus, "add", &["stars:keyword"]);
    assert_eq!(sql(&corpus, "SELECT id FROM documents WHERE stars = 'de'").len(), 0);
    assert_eq!(sql(&corpus, "SELECT id FROM documents WHERE stars = 'many'").len(), 1);
    sound(&corpus);
    field(&corpus, "drop", &["stars"]);
    field(&corpus, "add", &["lang:keyword"]);
    field(&corpus, "add", &["stars:int"]);
    assert_eq!(digest(&corpus), both);
    sound(&corpus);
});

corpusdb_test!(the_field_of_the_keep_order_stays, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "stars:int", "--keep", "field:stars"]);
    corpusdb(&["field", "drop", &corpus, "stars", "--force"]).fails(&["keep order", "dedup redo"]);
});

// `language` was fed by the member of that name alone.
corpusdb_test!(the_languages_of_another_field_are_those_of_the_corpus, |scratch| {
    let corpus = corpus_of(&scratch, 30);
    assert_eq!(sql(&corpus, "SELECT id FROM documents WHERE language IS NOT NULL").len(), 0);
    field(&corpus, "add", &["language:keyword", "--from-meta", "lang"]);
    let groups =
        "SELECT language, count(*) AS n FROM documents GROUP BY language ORDER BY language";
    let found = sql(&corpus, groups);
    assert_eq!(found, [json!({ "language": "de", "n": 10 }), json!({ "language": "en", "n": 20 })]);
    field(&corpus, "drop", &["language"]);
    assert_eq!(sql(&corpus, "SELECT id FROM documents WHERE language IS NOT NULL").len(), 0);
    sound(&corpus);
});

corpusdb_test!(values_of_an_expression_are_stored_as_a_field, |scratch| {
    let corpus = corpus_of(&scratch, 30);
    let report = field(&corpus, "compute", &["half", "chars / 2.0", "--batch-rows", "7"]);
    assert_eq!(numbers(&report, ["documents", "values", "changed", "commits"]), [30, 30, 30, 6]);
    assert_eq!((&report["kind"], &report["type"]), (&json!("float"), &json!("field_compute")));
    let wrong = "SELECT id FROM documents WHERE half IS DISTINCT FROM chars / 2.0";
    assert_eq!(sql(&corpus, wrong).len(), 0);
    let once = digest(&corpus);
    assert_eq!(numbers(&field(&corpus, "compute", &["half", "chars / 2.0"]), ["changed"]), [0]);
    assert_eq!(digest(&corpus), once);
    let noon = "to_timestamp_micros(1714564800000000 + CAST(id AS BIGINT) * 86400000000)";
    assert_eq!(field(&corpus, "compute", &["noon", noon])["kind"], "timestamp");
    let report = field(&corpus, "compute", &["number", "substr(key, 2)", "--type", "int"]);
    assert_eq!(numbers(&report, ["values", "ill_typed"]), [30, 0]);
    let report = field(
        &corpus,
        "compute",
        &["odd", "CASE WHEN id % 2 = 1 THEN id::VARCHAR WHEN id = 4 THEN 'x' END", "--type", "int"],
    );
    assert_eq!(numbers(&report, ["values", "ill_typed"]), [15, 1]);
    sound(&corpus);
    let row = &sql(&corpus, "SELECT noon, number, odd FROM documents WHERE id = 5")[0];
    assert_eq!(*row, json!({ "noon": "2024-05-06T12:00:00Z", "number": 5, "odd": 5 }));
    corpusdb(&["field", "show", &corpus]).good().prints(&["computed: chars / 2.0"]);
    let refused = |expression: &str, words: &[&str]| {
        corpusdb(&["field", "compute", &corpus, "other", expression]).fails(words);
    };
    refused("random()", &["random()", "each time"]);
    refused("avg(chars)", &["document by document"]);
    refused("row_number() OVER (ORDER BY id)", &["document by document"]);
    refused("(SELECT max(id) FROM documents)", &["document by document"]);
    refused("other + 1", &["`other`"]);
    refused("nothing", &["`nothing` is not a column"]);
    refused("text::BYTEA", &["a type that no field can have", "--type"]);
    corpusdb(&["field", "compute", &corpus, "half", "half + 1"])
        .fails(&["uses `half`, the field that it defines"]);
    let other = ["field", "compute", &corpus, "half", "id", "--type", "int"];
    corpusdb(&other).fails(&["declared as float"]);
    assert!(corpusdb(&["field", "show", &corpus]).good().stdout.lines().count() == 5);
});

// ----
// Perplexities by n-gram models of the stored ids.

/// A corpus with a tokenizer, two sources of prose, an empty text, a duplicate and a removed document.
fn corpus_with_ids(scratch: &TestDir) -> String {
    let corpus = scratch.arg("corpus");
    init_with_tokenizer(&corpus, &[]);
    let mut random = Random::new(5);
    let mut file = |name: &str, more: &[&str]| {
        let texts = (0..24).map(|_| prose(&mut random, 0, 60));
        let texts: Vec<String> = texts.chain(more.iter().map(|text| (*text).to_owned())).collect();
        let line = |(number, text): (usize, &String)| {
            format!("{}\n", json!({"id": format!("{name}-{number}"), "text": text}))
        };
        let lines: String = texts.iter().chain(texts.first()).enumerate().map(line).collect();
        let path = scratch.write(&format!("{name}.jsonl"), lines);
        ingest(&corpus, &[&path], &["--source", name, "--id-field", "id"]);
    };
    file("web", &[""]);
    file("books", &[]);
    corpusdb(&["remove", &corpus, "3"]).good();
    corpus
}

/// The perplexities of documents in their order, by the model on its own.
fn modelled(corpus: &Corpus, documents: &[u64], order: usize) -> Vec<f64> {
    let mut model = KneserNey::new(order, &std::env::temp_dir(), 1 << 24).unwrap();
    for document in documents {
        let shown = corpus.tokens_of(DocId(*document), Some("own")).unwrap();
        model.add(&shown.tokens.iter().map(|token| token.id).collect::<Vec<_>>()).unwrap();
    }
    model.perplexities(&Context::new()).unwrap().0
}

corpusdb_test!(perplexities_are_those_of_a_model_a_source, |scratch| {
    let corpus = corpus_with_ids(&scratch);
    let kept = |condition: &str| -> Vec<u64> {
        let opened = Corpus::open(&corpus).unwrap();
        opened.select(&*format!("kept AND {condition}")).unwrap().iter().collect()
    };
    let check = |sources: &[&str], order: usize| {
        let opened = Corpus::open(&corpus).unwrap();
        for source in sources {
            let documents = kept(source);
            let expected = modelled(&opened, &documents, order);
            for (document, expected) in documents.iter().zip(expected) {
                let stored = format!("SELECT ppl FROM documents WHERE id = {document}");
                let stored = sql(&corpus, &stored)[0]["ppl"].as_f64().unwrap_or(f64::NAN);
                assert!(stored.to_bits() == expected.to_bits() || expected.is_nan(), "{document}");
                assert_eq!(stored.is_nan(), expected.is_nan());
            }
        }
    };
    let report = field(&corpus, "compute", &["ppl", "--perplexity", "own", "--batch-rows", "9"]);
    let with_tokens = kept("tokens > 0").len();
    assert_eq!((&report["kind"], &report["values"]), (&json!("float"), &json!(with_tokens)));
    let models = report["models"].as_array().unwrap();
    let sources: Vec<&str> = models.iter().map(|model| model["source"].as_str().unwrap()).collect();
    assert_eq!(sources, ["web", "books"]);
    assert_eq!(models[0]["ngrams"].as_array().unwrap().len(), 3);
    check(&["source = 'web'", "source = 'books'"], 3);
    // Neither what is not kept nor an empty text has one.
    let without =
        "SELECT count(*) AS n FROM documents WHERE (ppl IS NULL) <> (NOT kept OR tokens = 0)";
    assert_eq!(sql(&corpus, without)[0]["n"], 0);
    assert!(kept("ppl IS NULL").is_empty() && kept("source = 'web'").len() > 10);
    let by_source = digest(&corpus);
    let again = ["ppl", "--perplexity", "own", "--memory", "64MiB", "--threads", "1"];
    assert_eq!(numbers(&field(&corpus, "compute", &again), ["changed"]), [0]);
    assert_eq!(digest(&corpus), by_source);
    corpusdb(&["field", "show", &corpus])
        .good()
        .prints(&["computed: perplexity(own, order 3, by source)"]);
    sound(&corpus);

    // Another model in its place, and back.
    let all = ["ppl", "--perplexity", "own", "--order", "2", "--together"];
    assert_eq!(field(&corpus, "compute", &all)["models"].as_array().unwrap().len(), 1);
    check(&["true"], 2);
    let undone = corpusdb(&["undo", &corpus, "--json"]).good().json();
    let verb = "corpusdb field compute CORPUS ppl --perplexity own --order 3";
    assert_eq!(undone["verbs"], json!([verb]));
    assert_eq!(digest(&corpus), by_source);

    // Later documents have none until it is computed again.
    let later = json!({"id": "later", "text": prose(&mut Random::new(99), 0, 60)});
    scratch.ingest(&corpus, "later.jsonl", format!("{later}\n"), &WEB_BY_ID);
    assert_eq!(kept("ppl IS NULL").len(), 1);
    field(&corpus, "compute", &["ppl", "--perplexity", "own"]);
    assert!(kept("ppl IS NULL").is_empty());
    check(&["source = 'web'", "source = 'books'"], 3);
    sound(&corpus);
});

corpusdb_test!(a_curriculum_goes_by_perplexity, |scratch| {
    let corpus = corpus_with_ids(&scratch);
    field(&corpus, "compute", &["ppl", "--perplexity", "own", "--order", "2"]);
    let recipe = "version = 1\n[select]\nmin_tokens = 1\n[tokenizer]\nname = \"own\"\n[order]\nkind = \"curriculum\"\ncurriculum = { by = \"ppl\", strata = 4 }\n[pack]\nlength = 64\n";
    let recipe = scratch.write("recipe.toml", recipe);
    corpusdb(&["epoch", "plan", &corpus, &recipe]).good();
});

corpusdb_test!(perplexities_that_cannot_be_computed_are_refused, |scratch| {
    let corpus = corpus_with_ids(&scratch);
    let refused = |more: &[&str], words: &[&str]| {
        corpusdb(&[&["field", "compute", &corpus, "ppl"], more].concat()).fails(words);
    };
    refused(&[], &["SQL"]);
    refused(&["chars", "--perplexity", "own"], &["cannot be used with"]);
    refused(&["chars", "--order", "4"], &["--perplexity"]);
    refused(&["--perplexity", "owl"], &["no tokenizer `owl`", "own"]);
    refused(&["--perplexity", "own", "--order", "7"], &["--order 7", "from 2 to 6"]);
    field(&corpus, "add", &["ppl:int"]);
    refused(&["--perplexity", "own"], &["declared as int"]);
    sound(&corpus);
});
