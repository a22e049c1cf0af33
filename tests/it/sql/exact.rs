//! Conditions that the engine would answer silently wrong select the right documents, wherever a condition is taken.

use crate::support::{TestDir, WEB_BY_ID, corpusdb, declaring, init};
use serde_json::json;
use std::fmt::Write;

/// Documents with a number, a moment and a word; k0 has the largest number.
fn extremes(scratch: &TestDir) -> String {
    let corpus = scratch.arg("corpus");
    init(&corpus, &declaring(&["n:int", "t:timestamp", "w:keyword"]));
    let mut pages = String::new();
    for (number, (n, t, w)) in [
        (i64::MAX, "0001-01-01T00:00:00Z", "a_b"),
        (i64::MIN, "1969-12-31T23:59:59.5Z", "a%b"),
        (300, "2024-02-29T12:00:00Z", "axb"),
        (5, "9999-12-31T23:59:59.999999Z", "a!b"),
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!("The page of number {number} tells of {w} and of the moment {t}.");
        let page = json!({ "id": format!("k{number}"), "text": text, "n": n, "t": t, "w": w });
        writeln!(pages, "{page}").unwrap();
    }
    scratch.ingest(&corpus, "pages.jsonl", pages, &WEB_BY_ID);
    corpus
}

#[test]
fn conditions_are_exact_or_an_error() {
    let scratch = TestDir::new();
    let corpus = extremes(&scratch);
    for (condition, right) in [
        ("t < now() - INTERVAL '30 days'", "3"),
        ("now() - t > INTERVAL '30 days'", "3"),
        ("now() - t < INTERVAL '30 days'", "1"),
        ("now() - t > '30 days'", "3"),
        ("t - TIMESTAMP '0001-01-01' > INTERVAL '2000 years'", "2"),
        ("t = '9999-12-31T23:59:59.999999Z'", "1"),
        ("t > DATE '9999-12-31'", "1"),
        ("TRY_CAST(n AS TINYINT) <> 6", "1"),
        ("TRY_CAST(n AS TINYINT) = 5", "1"),
        ("NOT (TRY_CAST(n AS SMALLINT) = 5)", "1"),
        ("w LIKE 'a!_b' ESCAPE '!'", "1"),
        ("w NOT LIKE 'a#%%' ESCAPE '#'", "3"),
        ("w ILIKE 'A!!B' ESCAPE '!'", "1"),
        ("CAST(n AS DECIMAL(38, 0)) + 1 > 9223372036854775807", "1"),
        ("id - 3 < 0", "3"),
        ("id / 2 = 1", "2"),
        ("-id < 0", "3"),
        ("- -id = -(-3)", "1"),
        ("(id, n) = (3, 5)", "1"),
        ("(id, w) NOT IN ((0, 'a_b'), (1, 'a_b'), (2, NULL))", "2"),
        ("id > 1 AND (id, w) IN ((id, w))", "2"),
        ("date_bin(INTERVAL '7 days', t) IS NULL", "0"),
    ] {
        let ran = corpusdb(&["count", &corpus, "--where", condition]).good();
        assert_eq!(ran.stdout.split_whitespace().next(), Some(right), "{condition}");
    }
    for (condition, why) in [
        ("n + 1 > 0", "beyond whole numbers of 64 bits: write CAST(.. AS DECIMAL(38, 0))"),
        ("-n < 0", "beyond whole numbers of 64 bits"),
        ("n * 3 > 9", "beyond whole numbers of 64 bits"),
        ("9223372036854775807 + 1 > 0 OR n IS NULL", "beyond whole numbers of 64 bits"),
        ("CAST(n AS TINYINT) = 5", "Can't cast value"),
        ("w LIKE 'a!' ESCAPE '!'", "ends in its escape"),
        ("w SIMILAR TO 'a_b'", "SIMILAR TO is not read as SQL says"),
        ("(id, n) IN (SELECT id, n FROM documents)", "write EXISTS (SELECT 1 FROM"),
        ("(id, n) = (1, 2, 3)", "write as many in brackets"),
        ("-w < 0", "`-` takes a number or an interval"),
    ] {
        for verb in ["count", "remove", "export"] {
            let to = scratch.arg("out.jsonl");
            let mut asked = vec![verb, &corpus, "--where", condition];
            if verb == "export" {
                asked.extend(["--to", &to]);
            }
            let ran = corpusdb(&asked);
            assert!(ran.stderr.contains(why), "{verb} {condition}: {ran}");
        }
    }
    let removed = corpusdb(&["count", &corpus, "--where", "standing = 'removed'"]).good();
    assert_eq!(removed.stdout.split_whitespace().next(), Some("0"));
}

/// A record's own values are judged by the same rules.
#[test]
fn conditions_on_records_are_exact_or_unanswered() {
    let scratch = TestDir::new();
    let page =
        |n: i64, w: &str| json!({ "text": format!("A page about {w} and {n}."), "n": n, "w": w });
    let pages: String = [page(i64::MAX, "a%b"), page(300, "axb"), page(5, "a!b")]
        .map(|page| format!("{page}\n"))
        .concat();
    let file = scratch.write("pages.jsonl", pages);
    for (number, (condition, kept)) in [
        ("w LIKE 'a!%b' ESCAPE '!'", "1"),
        ("TRY_CAST(n AS TINYINT) <> 6", "1"),
        ("n * 2 > 0", "2"),
    ]
    .into_iter()
    .enumerate()
    {
        let corpus = scratch.arg(&format!("c{number}"));
        init(&corpus, &["--mode", "none"]);
        corpusdb(&["ingest", &corpus, &file, "--source", "web", "--where", condition]);
        let ran = corpusdb(&["count", &corpus]).good();
        assert_eq!(ran.stdout.split_whitespace().next(), Some(kept), "{condition}");
    }
}
