//! Signals: functions over texts in SQL, fields through the life of a corpus, and the report of them.

use crate::support::{
    Page, StopAt, StopWhen, TestDir, WEB_BY_ID, assert_contains, corpusdb, corpusdb_test, crawl,
    digest, ingest, init, lines, sound, sql, writer,
};
use corpusdb::curate::NewSignals;
use corpusdb::signals::{Signal, SignalSet};
use serde_json::{Value, json};

// ----
// Signals: functions over texts in SQL, their nulls, and as fields through the life of a corpus.

fn asked(corpus: &str, expression: &str) -> Value {
    let statement = format!("SELECT {expression} AS v");
    sql(corpus, &statement)[0]["v"].clone()
}

corpusdb_test!(functions_score_texts_and_give_null_for_nulls, |_scratch, corpus| {
    for (expression, expected) in [
        ("word_count('The cat -- sat')", json!(3)),
        ("mean_word_length('ab cdef')", json!(3.0)),
        ("alpha_ratio('a 1 b 2')", json!(0.5)),
        ("symbol_ratio('# a b ...')", json!(0.25)),
        ("stopword_count('the be-all of', 'en')", json!(2)),
        ("stopword_count('the', 'tlh')", json!(null)),
        ("stopword_count('the be-all of', 'eng,deu')", json!(2)),
        ("stopword_count('der und', 'de_AT.UTF-8')", json!(2)),
        ("stopword_count('i u je', 'srp_Latn')", json!(null)),
        ("stopword_count('the', NULL)", json!(null)),
        ("dup_ngram_fraction('a b a b', 2)", json!(2.0 / 7.0)),
        ("dup_ngram_fraction('a b a b', NULL)", json!(null)),
        ("top_ngram_fraction('a b a b', CAST(2 AS SMALLINT))", json!(6.0 / 7.0)),
        ("short_line_fraction(E'a\\nbcd', 1)", json!(0.5)),
        ("long_line_count(E'a\\nbcd', 2)", json!(1)),
        ("c4_sentence_count('It is so. Is it so?')", json!(2)),
        ("lang('Der Hund schläft vor dem Haus und die Katze sitzt auf der Matte')", json!("de")),
        ("lang('123')", json!(null)),
        ("lang_score(NULL)", json!(null)),
        ("word_count(NULL)", json!(null)),
        ("compression_ratio('')", json!(0.0)),
        ("pii_flags('a@b.co, b@c.de and 8.8.8.8')", json!(["email", "ipv4"])),
        ("pii_flags('nobody')", json!([])),
        ("pii_flags('电话+49 30 901820。')", json!(["phone"])),
        ("pii_flags('up by +100 000 000, 0.4111111111111111')", json!([])),
        ("pii_spans('an jörg@example.org')", json!([{"kind": "email", "start": 4, "length": 16}])),
        ("lang('ދިވެހި ބަހަކީ ދިވެހިރާއްޖޭގެ ރަސްމީ ބަހެވެ')", json!(null)),
        ("pii_flags(NULL)", json!(null)),
        ("pii_flags('icon@2x.png, git@github.com:org/repo.git, a@b.T, b[2001::4]')", json!([])),
        ("lang('東京都')", json!(null)),
        ("terminal_punctuation_fraction(E'A line.\\r\\nAnother. ')", json!(1.0)),
        ("pii_spans('é: a@b.co')", json!([{"kind": "email", "start": 4, "length": 6}])),
        ("substr('é: a@b.co', pii_spans('é: a@b.co')[1]['start'])", json!("a@b.co")),
    ] {
        assert_eq!(asked(&corpus, expression), expected, "{expression}");
    }
    for (expression, why) in [
        ("top_ngram_fraction('a', 0)", "a number of 1 or more; this is 0"),
        ("word_count(1)", "word_count(TEXT)"),
        ("short_line_fraction('a')", "short_line_fraction(TEXT, CHARS)"),
    ] {
        let statement = format!("SELECT {expression}");
        corpusdb(&["sql", &corpus, &statement]).fails(&[why]);
    }
});

corpusdb_test!(functions_work_in_conditions_and_ingest_filters, |scratch, corpus| {
    let records = [
        Page::keyed("a", "The cat sat on the mat and it was warm."),
        Page::keyed("b", "buy buy buy buy buy buy"),
        Page::keyed("c", "mail me: ann@example.org, as they say to that one"),
    ];
    let file = scratch.write("a.jsonl", lines(&records));
    let condition = "top_ngram_fraction(text, 1) < 0.5";
    ingest(&corpus, &[&file], &["--source", "web", "--id-field", "id", "--where", condition]);
    let keys = |condition: &str| {
        let statement = format!("SELECT key FROM documents WHERE {condition} ORDER BY id");
        let rows = sql(&corpus, &statement);
        rows.iter().map(|row| row["key"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(keys("true"), ["a", "c"]);
    assert_eq!(keys("array_has(pii_flags(text), 'email')"), ["c"]);
    assert_eq!(keys("stopword_count(text, 'en') >= 2 AND alpha_ratio(text) > 0.9"), ["a", "c"]);
});

fn add(corpus: &str, more: &[&str]) -> Value {
    corpusdb(&[&["signals", "add", corpus, "--json"], more].concat()).good().json()
}

/// Every stored score is that of the text, but for documents of which nothing is left.
#[track_caller]
fn stored_are_those_of_the_texts(corpus: &str) {
    for signal in Signal::ALL {
        let statement = format!(
            "SELECT key FROM documents WHERE standing <> 'purged' AND {} IS DISTINCT FROM {}",
            signal.name, signal.expression
        );
        assert_eq!(sql(corpus, &statement), Vec::<Value>::new(), "{}", signal.name);
    }
}

/// Crawls with keys: the second has some pages anew, some changed, some as they were.
fn crawls(scratch: &TestDir) -> [String; 2] {
    let first = crawl(5, 120, true);
    let mut second = first.clone();
    for (at, page) in second.iter_mut().enumerate() {
        match at % 5 {
            0 => page.text.push_str(" The end of it, and that is all to be said."),
            1 => page.fields["again"] = json!(true),
            _ => {}
        }
    }
    second.extend(
        crawl(6, 20, true)
            .into_iter()
            .map(|page| Page { id: page.id.map(|id| format!("more-{id}")), ..page }),
    );
    [scratch.write("1.jsonl", lines(&first)), scratch.write("2.jsonl", lines(&second))]
}

corpusdb_test!(scores_are_the_same_in_any_order_and_batches, |scratch| {
    let [first, second] = crawls(&scratch);
    let corpus = |name: &str, before: usize, rows: &str, batch: &str| {
        let corpus = scratch.arg(name);
        init(&corpus, &["--field", "again:bool"]);
        for (at, file) in [&first, &second].into_iter().enumerate() {
            if at == before {
                add(&corpus, &["--set", "all", "--batch-rows", rows]);
            }
            let how = ["--source", "web", "--id-field", "id", "--batch-bytes", batch];
            ingest(&corpus, &[file], &how);
        }
        if before == 2 {
            add(&corpus, &["--set", "all", "--batch-rows", rows]);
        }
        sound(&corpus);
        stored_are_those_of_the_texts(&corpus);
        let metadata = rows_of_metadata(&corpus);
        (digest(&corpus), metadata)
    };
    let expected = corpus("before", 0, "8192", "16777216");
    assert!(expected.1.iter().all(|meta| meta["signals.word_count"].is_u64()));
    assert_eq!(corpus("between", 1, "7", "4096"), expected);
    assert_eq!(corpus("after", 2, "33", "16777216"), expected);
});

fn rows_of_metadata(corpus: &str) -> Vec<Value> {
    let found = sql(corpus, "SELECT meta FROM documents ORDER BY id");
    let meta = |row: &Value| serde_json::from_str(row["meta"].as_str().unwrap()).unwrap();
    found.iter().map(meta).collect()
}

corpusdb_test!(scores_follow_changes_of_documents, |scratch| {
    let [first, second] = crawls(&scratch);
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    ingest(&corpus, &[&first], &WEB_BY_ID);
    let tried = add(&corpus, &["--set", "gopher", "--dry-run"]);
    let stored = sql(&corpus, "SELECT count(*) AS n FROM documents")[0]["n"].clone();
    assert_eq!(tried["documents"], stored);
    assert_eq!(
        sql(&corpus, "SHOW COLUMNS FROM documents")
            .iter()
            .filter(|row| row["column"] == "word_count")
            .count(),
        0
    );
    let added = add(&corpus, &["--set", "all"]);
    assert_eq!(added["signals"].as_array().unwrap().len(), Signal::ALL.len());
    assert_eq!(add(&corpus, &["--set", "c4"])["commits"], json!(0));
    // What comes again is recognised by what it came with.
    let again = ingest(&corpus, &[&first], &[&WEB_BY_ID[..], &["--reread"]].concat());
    assert_eq!(again["added"], json!(0), "{again}");
    let before = digest(&corpus);
    ingest(&corpus, &[&second], &[&WEB_BY_ID[..], &["--dry-run"]].concat());
    assert_eq!(digest(&corpus), before);
    ingest(&corpus, &[&second], &WEB_BY_ID);
    stored_are_those_of_the_texts(&corpus);
    corpusdb(&["remove", &corpus, "--where", "id < 10"]).good();
    corpusdb(&["purge", &corpus, "--where", "id < 5"]).good();
    corpusdb(&["dedup", "redo", &corpus, "--threshold", "0.7"]).good();
    stored_are_those_of_the_texts(&corpus);
    sound(&corpus);
    let purged =
        sql(&corpus, "SELECT count(word_count) AS n FROM documents WHERE standing = 'purged'");
    assert_eq!(purged[0]["n"], json!(0));
    // Given up and taken again, purged documents stay without.
    corpusdb(&["signals", "drop", &corpus, "--set", "all"]).good();
    ingest(
        &corpus,
        &[&scratch.write("3.jsonl", lines(&crawl(7, 15, false)))],
        &["--source", "more"],
    );
    add(&corpus, &["--set", "all", "--batch-rows", "50"]);
    stored_are_those_of_the_texts(&corpus);
    sound(&corpus);
    let purged =
        sql(&corpus, "SELECT count(word_count) AS n FROM documents WHERE standing = 'purged'");
    assert_eq!(purged[0]["n"], json!(0));
});

corpusdb_test!(an_addition_that_was_stopped_goes_on_and_comes_to_the_same, |scratch| {
    let [first, second] = crawls(&scratch);
    let (one, other) = (scratch.arg("one"), scratch.arg("other"));
    for corpus in [&one, &other] {
        init(corpus, &[]);
        ingest(corpus, &[&first], &WEB_BY_ID);
    }
    add(&one, &["--set", "gopher"]);
    ingest(&one, &[&second], &WEB_BY_ID);
    let stopped = |signals: Vec<Signal>| {
        let mut writer = writer(other.as_ref());
        let new = NewSignals { signals, batch: 25 };
        writer.add_signals(&new, &StopAt::new(StopWhen::Advance(1)).context()).unwrap_err();
    };
    // Two signals are further than the rest.
    stopped(SignalSet::Gopher.signals()[..2].to_vec());
    stopped(SignalSet::Gopher.signals());
    assert_eq!(rows_of_list(&other, "filling").len(), SignalSet::Gopher.signals().len());
    // Documents that come meanwhile are not given what nobody sees.
    ingest(&other, &[&second], &WEB_BY_ID);
    add(&other, &["--set", "gopher"]);
    assert_eq!(digest(&other), digest(&one));
    assert_eq!(rows_of_metadata(&other), rows_of_metadata(&one));
    assert_eq!(rows_of_list(&other, "stored").len(), SignalSet::Gopher.signals().len());
    sound(&other);
});

fn rows_of_list(corpus: &str, state: &str) -> Vec<Value> {
    let mut found = corpusdb(&["signals", "show", corpus, "--json"]).good().json_lines();
    found.retain(|signal| signal["state"] == state);
    found
}

corpusdb_test!(conflicting_declarations_are_refused_by_name, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "lang:keyword"]);
    let page = Page {
        fields: json!({"lang": "mine", "word_count": "many"}),
        ..Page::keyed("a", "one two three")
    };
    ingest(&corpus, &[&scratch.write("a.jsonl", lines(&[page]))], &WEB_BY_ID);
    corpusdb(&["signals", "add", &corpus, "--set", "all"])
        .fails(&["`lang` is declared already", "one by one"]);
    assert_eq!(rows_of_list(&corpus, "other").len(), 1);
    add(&corpus, &["word_count", "lang_score"]);
    // What the record says of itself stays.
    let found =
        &sql(&corpus, "SELECT lang, word_count, meta ->> 'word_count' AS own FROM documents")[0];
    assert_eq!(found, &json!({"lang": "mine", "word_count": 3, "own": "many"}));
    let values = scratch.write("v.jsonl", "{\"id\":0,\"word_count\":7}\n");
    corpusdb(&["field", "set", &corpus, "word_count", "--from", &values, "--id", "id"])
        .fails(&["is the signal"]);
    corpusdb(&["field", "compute", &corpus, "word_count", "bytes"]).fails(&["is the signal"]);
    corpusdb(&["signals", "drop", &corpus, "alpha_ratio"]).fails(&["`alpha_ratio` is not stored"]);
    corpusdb(&["signals", "drop", &corpus, "--set", "c4"])
        .fails(&["none of these signals is stored"]);
    corpusdb(&["signals", "add", &corpus, "wordcount"])
        .fails(&["wordcount", "a similar value exists: 'word_count'"]);
    let fields = corpusdb(&["field", "show", &corpus, "--json"]).good().json_lines();
    let fed = fields.iter().find(|field| field["name"] == "word_count").unwrap();
    assert_eq!((&fed["state"], &fed["member"]), (&json!("fed"), &json!("signals.word_count")));
    corpusdb(&["signals", "drop", &corpus, "word_count"]).good();
    assert_eq!(rows_of_list(&corpus, "stored").len(), 1);
});

corpusdb_test!(presets_select_by_their_rules_also_in_plans, |scratch, corpus| {
    let sentences = "It is said that the house of the old man stands by the sea. ".repeat(2)
        + "There one can see ships that come and go with the wind and have much to tell. \
           Few go in to ask what they saw. So it was. And so it will be for long, we are told.";
    let pages = [Page::keyed("good", sentences), Page::keyed("bad", "buy now {cheap}")];
    ingest(&corpus, &[&scratch.write("a.jsonl", lines(&pages))], &WEB_BY_ID);
    let on_text = corpusdb(&["signals", "show", "--set", "c4", "--on-text"]).good().stdout;
    let on_fields = corpusdb(&["signals", "show", "--set", "c4"]).good().stdout;
    let count = |condition: &str| {
        corpusdb(&["count", &corpus, "--where", condition]).good().stdout.trim().to_owned()
    };
    assert_eq!(count(&on_text), "1");
    corpusdb(&["count", &corpus, "--where", &on_fields])
        .fails(&["the signal `c4_sentence_count` is not stored", "preset('gopher', 'text')"]);
    add(&corpus, &["--set", "c4"]);
    assert_eq!(count(&on_fields), "1");
    corpusdb(&["tokenizer", "train", &corpus, "own", "--vocab-size", "300"]).good();
    let plan = |condition: &str| {
        let recipe = format!(
            "version = 1\n[select]\nwhere = \"{condition}\"\n[tokenizer]\nname = \"own\"\n[pack]\nkind = \"none\"\nlength = 4096\n[batch]\nrows = 1\n"
        );
        corpusdb(&["epoch", "plan", &corpus, &scratch.write("r.toml", recipe), "--json"])
    };
    plan("preset('c4')").good();
    plan("kept AND (c4_sentence_count >= 5)").good();
    let plans = sql(&corpus, "SELECT plan FROM epochs ORDER BY number");
    let text = plans[0]["plan"].as_str().unwrap();
    assert!(text.contains("(c4_sentence_count >= 5)") && !text.contains("preset"), "{text}");
    // Plans keep what they name.
    corpusdb(&["signals", "drop", &corpus, "--set", "c4"]).fails(&["c4_sentence_count"]);
    corpusdb(&["signals", "drop", &corpus, "--set", "c4", "--force"]).good();
    plan("preset('c5')").fails(&["preset('c5')", "gopher, c4, fineweb, all"]);
    plan("preset('c4', 'text')").good();
});

corpusdb_test!(presets_stand_in_every_condition, |scratch, corpus| {
    let good = "It was so. And then it was. So they say. Is it so? It is what they say it is.";
    let pages = [Page::keyed("good", good), Page::keyed("bad", "buy now {cheap}")];
    let file = scratch.write("a.jsonl", lines(&pages));
    ingest(&corpus, &[&file], &WEB_BY_ID);
    for name in ["preset('c4', 'text')", "preset('c4')"] {
        corpusdb(&["signals", "add", &corpus, "--set", "c4"]).good();
        let keys = |lines: Vec<Value>| -> Vec<String> {
            lines.iter().map(|line| line["key"].as_str().unwrap().to_owned()).collect()
        };
        let sampled = corpusdb(&["sample", &corpus, "--where", name, "--json"]).good().json_lines();
        assert_eq!(keys(sampled), ["good"], "{name}");
        let statement = format!("SELECT key FROM documents d WHERE NOT {name} -- preset('c5')");
        assert_eq!(keys(sql(&corpus, &statement)), ["bad"], "{name}");
        let stats = corpusdb(&["stats", &corpus, "--where", name, "--json"]).good().json();
        assert_eq!(stats["all"]["documents"], json!(1), "{name}");
        let out = scratch.arg(&format!("{}.jsonl", name.len()));
        corpusdb(&["export", &corpus, "--where", name, "--to", &out]).good();
        let written = std::fs::read_to_string(&out).unwrap();
        assert!(written.contains("So they say") && !written.contains("cheap"), "{written}");
        let removed = ["remove", &corpus, "--where", &format!("NOT {name}"), "--dry-run", "--json"];
        assert_eq!(corpusdb(&removed).good().json()["changed"], json!(1), "{name}");
        // What comes in has no stored scores: either way its text is asked.
        let other = scratch.arg(&format!("other-{}", name.len()));
        init(&other, &[]);
        let told = ingest(&other, &[&file], &[&WEB_BY_ID[..], &["--where", name]].concat());
        assert_eq!(told["added"], json!(1), "{told}");
        assert_eq!(keys(sql(&other, "SELECT key FROM documents")), ["good"]);
    }
    corpusdb(&["count", &corpus, "--where", "preset('c5')"]).fails(&["gopher, c4, fineweb, all"]);
    corpusdb(&["sql", &corpus, "SELECT preset('c5')"]).fails(&["gopher, c4, fineweb, all"]);
    corpusdb(&["ingest", &corpus, &file, "--source", "web", "--where", "preset(c4)"])
        .fails(&["gopher, c4, fineweb, all"]);
});

// ----
// `signals report`: every count of it is made again by `sql`, through the life of a corpus; the documents at a
// threshold are those that a sort finds; what is stored and what is found in texts come to the same.

fn report(corpus: &str, more: &[&str]) -> Value {
    corpusdb(&[&["signals", "report", corpus, "--json"], more].concat()).good().json()
}

/// Two crawls of three sources, of which the second supersedes pages of the first, and a tokenizer.
fn place(scratch: &TestDir) -> String {
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    for (seed, source) in [(3, "web"), (4, "wiki"), (5, "books")] {
        let mut pages = crawl(seed, 70, true);
        for round in ["one", "two"] {
            for (at, page) in pages.iter_mut().enumerate() {
                if round == "two" && at % 3 == 0 {
                    page.text += "\nIt was said. It was seen. And so it is. Or was it? So they say.\n- a\n- b";
                }
            }
            let keyed = pages.iter().map(|page| Page {
                id: page.id.as_ref().map(|id| format!("{source}-{id}")),
                text: page.text.clone(),
                fields: page.fields.clone(),
            });
            let file = scratch
                .write(&format!("{source}-{round}.jsonl"), lines(&keyed.collect::<Vec<_>>()));
            ingest(&corpus, &[&file], &["--source", source, "--id-field", "id"]);
        }
    }
    corpusdb(&["tokenizer", "train", &corpus, "own", "--vocab-size", "400"]).good();
    corpus
}

/// The kept documents with `within`, as `sql` tells them: each with its scores by name, and the rules by number that it
/// is true of.
fn told_by_sql(corpus: &str, set: SignalSet, within: &str) -> Vec<Value> {
    let rules = set.rules();
    let rules = rules.iter().enumerate();
    let rules = rules.map(|(at, rule)| format!("({}) IS TRUE AS rule_{at}", rule.condition(true)));
    let scores = set.signals();
    let scores = scores.iter().map(|signal| format!("{} AS of_{}", signal.expression, signal.name));
    let columns: Vec<String> = rules.chain(scores).collect();
    let columns = columns.join(", ");
    sql(
        corpus,
        &format!(
            "SELECT id, key, source, bytes, tokens, {columns} FROM documents WHERE kept AND {within} ORDER BY id"
        ),
    )
}

/// Documents, bytes and tokens of some rows, as a report has them.
fn counted(rows: &[&Value]) -> Value {
    let sum = |name: &str| rows.iter().map(|row| row[name].as_u64().unwrap_or(0)).sum::<u64>();
    json!({ "documents": rows.len(), "bytes": sum("bytes"), "tokens": { "own": sum("tokens") } })
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Every count, quantile and example of a report is that of a statement over texts, of documents with `within`.
#[track_caller]
fn is_told_by_sql(corpus: &str, set: SignalSet, told: &Value, within: &str) {
    let all = told_by_sql(corpus, set, within);
    let rules = set.rules();
    let breaks = |row: &Value, at: usize| row[format!("rule_{at}")] == json!(false);
    let broken = |row: &Value| (0..rules.len()).filter(|at| breaks(row, *at)).count();
    let of = |is_of: &dyn Fn(&Value) -> bool| {
        counted(&all.iter().filter(|row| is_of(row)).collect::<Vec<_>>())
    };
    assert_eq!(told["documents"], of(&|_| true));
    assert_eq!(told["removes"], of(&|row| broken(row) > 0));
    let sources = told["sources"].as_array().unwrap();
    for source in sources {
        let is_its = |row: &Value| row["source"] == source["source"];
        assert_eq!(source["documents"], of(&is_its));
        assert_eq!(source["removes"], of(&|row| is_its(row) && broken(row) > 0));
    }
    for (at, rule) in rules.iter().enumerate() {
        let found = &told["rules"][at];
        assert_eq!(found["signal"], json!(rule.signal));
        assert_eq!(found["removes"], of(&|row| breaks(row, at)), "{rule:?}");
        assert_eq!(found["only"], of(&|row| breaks(row, at) && broken(row) == 1), "{rule:?}");
        for (source, removes) in sources.iter().zip(found["by_source"].as_array().unwrap()) {
            let its = of(&|row| breaks(row, at) && row["source"] == source["source"]);
            assert_eq!(*removes, its["documents"], "{rule:?}");
        }
        for threshold in found["thresholds"].as_array().unwrap() {
            borders_are_told(&all, &format!("of_{}", rule.signal), threshold);
        }
    }
    for score in told["scores"].as_array().unwrap() {
        let name = format!("of_{}", score["signal"].as_str().unwrap());
        spread_is_told(all.iter(), &name, &score["spread"]);
        for spread in score["sources"].as_array().unwrap() {
            let its = all.iter().filter(|row| row["source"] == spread["source"]);
            spread_is_told(its, &name, spread);
        }
    }
}

/// The three nearest on either side, of equally near ones the first.
fn borders_are_told(all: &[Value], name: &str, threshold: &Value) {
    let at = number(&threshold["at"]);
    let stays = |row: &&&Value| {
        let value = number(&row[name]);
        if threshold["bound"] == "least" { value >= at } else { value <= at }
    };
    for (side, is_inside) in [("inside", true), ("outside", false)] {
        // A text without words has no mean of them.
        let all: Vec<&Value> = all.iter().filter(|row| !row[name].is_null()).collect();
        let mut near: Vec<&&Value> = all.iter().filter(|row| stays(row) == is_inside).collect();
        near.sort_by(|a, b| {
            let far = |row: &Value| (number(&row[name]) - at).abs();
            far(a).total_cmp(&far(b))
        });
        let shown = threshold[side].as_array().unwrap();
        assert_eq!(shown.len(), near.len().min(3), "{name} {side}");
        for (shown, row) in shown.iter().zip(near) {
            for same in ["id", "key", "source"] {
                assert_eq!(shown[same], row[same], "{name} {side}");
            }
            assert_eq!(number(&shown["value"]), number(&row[name]), "{name} {side}");
            assert!(!shown["text"].as_str().unwrap().contains('\n'));
        }
    }
}

fn spread_is_told<'v>(rows: impl Iterator<Item = &'v Value>, name: &str, spread: &Value) {
    let (nulls, values): (Vec<&Value>, Vec<&Value>) =
        rows.map(|row| &row[name]).partition(|value| value.is_null());
    let mut sorted: Vec<f64> = values.into_iter().map(number).collect();
    sorted.sort_by(f64::total_cmp);
    let told = (&spread["count"], &spread["nulls"]);
    assert_eq!(told, (&json!(sorted.len()), &json!(nulls.len())), "{name}");
    for (quantile, percent) in [("p5", 5), ("p25", 25), ("p50", 50), ("p75", 75), ("p95", 95)] {
        let exact = sorted[(percent * sorted.len()).div_ceil(100).max(1) - 1];
        let found = number(&spread[quantile]);
        assert!(found <= exact && exact - found <= exact / 256.0, "{name}: {found} {exact}");
        assert!(sorted.contains(&found), "{name} {quantile}: {found} is of no document");
    }
    assert_eq!(number(&spread["min"]), sorted[0], "{name}");
    assert_eq!(number(&spread["max"]), sorted[sorted.len() - 1], "{name}");
}

/// Without what says where scores came from.
fn without_origin(mut told: Value) -> Value {
    for score in told["scores"].as_array_mut().unwrap() {
        score.as_object_mut().unwrap().remove("origin");
    }
    for rule in told["rules"].as_array_mut().unwrap() {
        rule.as_object_mut().unwrap().remove("rule");
    }
    told
}

corpusdb_test!(counts_and_quantiles_equal_sql_after_any_history, |scratch| {
    let corpus = place(&scratch);
    let before = digest(&corpus);
    let superseded =
        sql(&corpus, "SELECT count(*) AS n FROM documents WHERE standing = 'superseded'");
    assert!(superseded[0]["n"].as_u64().unwrap() > 20, "{superseded:?}");
    let of_texts = report(&corpus, &["--examples", "3"]);
    is_told_by_sql(&corpus, SignalSet::All, &of_texts, "true");
    assert!(of_texts["scores"].as_array().unwrap().iter().all(|it| it["origin"] == "text"));
    assert_eq!(digest(&corpus), before);
    // Some stored, then all: the same figures.
    for set in ["gopher", "all"] {
        corpusdb(&["signals", "add", &corpus, "--set", set]).good();
        let told = report(&corpus, &["--examples", "3"]);
        let stored = |it: &&Value| it["origin"] == "stored";
        let stored = told["scores"].as_array().unwrap().iter().filter(stored).count();
        assert_eq!(stored, if set == "all" { 28 } else { 20 });
        assert_eq!(without_origin(told), without_origin(of_texts.clone()));
    }
    corpusdb(&["remove", &corpus, "--where", "id % 7 = 0"]).good();
    corpusdb(&["purge", &corpus, "--where", "id % 7 = 0 AND id < 60"]).good();
    let told = report(&corpus, &["--set", "gopher", "--examples", "3", "--source", "wiki"]);
    is_told_by_sql(&corpus, SignalSet::Gopher, &told, "source = 'wiki'");
    assert_eq!(told["sources"].as_array().unwrap().len(), 1);
    let condition = "bytes > 200 AND source <> 'web'";
    let told = report(&corpus, &["--set", "fineweb", "--examples", "3", "--where", condition]);
    is_told_by_sql(&corpus, SignalSet::FineWeb, &told, condition);
    assert_eq!(told["where"], json!(condition));
});

corpusdb_test!(bad_requests_are_refused_and_empty_groups_left_out, |_scratch, corpus| {
    let told = report(&corpus, &[]);
    assert_eq!(told["documents"]["documents"], json!(0));
    assert_eq!(told["scores"][0]["spread"]["p50"], Value::Null);
    corpusdb(&["signals", "report", &corpus]).good();
    corpusdb(&["signals", "report", &corpus, "--set", "c5"]).fails(&["gopher, c4, fineweb, all"]);
    corpusdb(&["signals", "report", &corpus, "--source", "nowhere"]).fails(&["nowhere"]);
    corpusdb(&["signals", "report", &corpus, "--where", "nothing > 1"]).fails(&["nothing"]);
});

corpusdb_test!(the_page_and_the_terminal_show_hostile_words_as_words, |scratch, corpus| {
    let hostile = "</td><script>alert(1)</script>\u{1b}[31m";
    let pages = [
        Page::keyed(hostile, format!("{hostile} is what it says to me and to you of that")),
        Page::keyed("b", "It is so. It was so. They say so. Is it so? It will be so for ever."),
    ];
    scratch.ingest(&corpus, "a.jsonl", lines(&pages), &["--source", "<b>&web", "--id-field", "id"]);
    let page = scratch.arg("signals.html");
    let told =
        corpusdb(&["signals", "report", &corpus, "--set", "c4", "--html", &page]).good().stdout;
    assert!(!told.contains('\u{1b}'), "{told}");
    assert_contains(
        &told,
        &["c4_sentence_count(text) >= 5", "removed       0  ", "stays         5  b  "],
    );
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(!page.contains("<script") && !page.contains('\u{1b}'));
    assert!(
        page.contains("&lt;script&gt;")
            && page.contains("&lt;b&gt;&amp;web")
            && page.contains("c4_sentence_count(text) &gt;= 5")
    );
    for section in ["id=\"sources\"", "id=\"rules\"", "id=\"scores\"", "id=\"border\""] {
        assert!(page.contains(section), "{section}");
    }
});
