//! Declared fields, as queries give them back.

use crate::support::{Scratch, corpusdb, ingest, init, sound};
use serde_json::{Value, json};

/// A keyword of 1,500 bytes came back as 1,017 characters and a hash: a comparison that the index answered
/// found its documents, the same one answered row by row found none.
#[test]
fn a_long_keyword_comes_back_whole_and_is_found_either_way() {
    let scratch = Scratch::new();
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
        corpusdb(&["sql", &corpus, &query, "--format", "json"]).good().json_lines()
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
    let groups = corpusdb(&["sql", &corpus, groups, "--format", "json"]).good().json_lines();
    assert_eq!(groups.len(), 3);
    let shown = corpusdb(&["show", &corpus, "4", "--json"]).good().json();
    assert_eq!((&shown["fields"]["url"], &shown["language"]), (&json!(url(1)), &json!(url(9))));
    sound(&corpus);
}
