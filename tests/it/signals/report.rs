//! `signals report`: every count of it is made again by `sql`, through the life of a corpus; the documents at a
//! threshold are those that a sort finds; what is stored and what is found in texts come to the same.

use crate::support::{Page, TestDir, corpusdb, crawl, digest, ingest, init, lines, sql};
use corpusdb::signals::SignalSet;
use serde_json::{Value, json};

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
    let rules = rules
        .iter()
        .enumerate()
        .map(|(at, rule)| format!("({}) IS TRUE AS rule_{at}", rule.condition(true)));
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

#[test]
fn counts_and_quantiles_equal_sql_after_any_history() {
    let scratch = TestDir::new();
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
}

#[test]
fn bad_requests_are_refused_and_empty_groups_left_out() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let told = report(&corpus, &[]);
    assert_eq!(told["documents"]["documents"], json!(0));
    assert_eq!(told["scores"][0]["spread"]["p50"], Value::Null);
    corpusdb(&["signals", "report", &corpus]).good();
    corpusdb(&["signals", "report", &corpus, "--set", "c5"]).fails(&["gopher, c4, fineweb, all"]);
    corpusdb(&["signals", "report", &corpus, "--source", "nowhere"]).fails(&["nowhere"]);
    corpusdb(&["signals", "report", &corpus, "--where", "nothing > 1"]).fails(&["nothing"]);
}

#[test]
fn the_page_and_the_terminal_show_hostile_words_as_words() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let hostile = "</td><script>alert(1)</script>\u{1b}[31m";
    let pages = [
        Page::keyed(hostile, format!("{hostile} is what it says to me and to you of that")),
        Page::keyed("b", "It is so. It was so. They say so. Is it so? It will be so for ever."),
    ];
    let file = scratch.write("a.jsonl", lines(&pages));
    ingest(&corpus, &[&file], &["--source", "<b>&web", "--id-field", "id"]);
    let page = scratch.arg("signals.html");
    let told =
        corpusdb(&["signals", "report", &corpus, "--set", "c4", "--html", &page]).good().stdout;
    assert!(!told.contains('\u{1b}'), "{told}");
    assert!(told.contains("c4_sentence_count(text) >= 5"), "{told}");
    assert!(told.contains("removed 0  ") && told.contains("stays   5  "), "{told}");
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
}
