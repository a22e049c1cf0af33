//! Plans that are not made: over what came since a snapshot, and of too few rows.

use crate::support::checker::corpus::{CheckedCorpus, plan, recipe};
use crate::support::{Page, corpusdb};
use corpusdb::{Context, DocId};
use std::collections::BTreeSet;

/// Every column whose value another document can change is refused, whichever columns there come to be.
#[test]
fn changing_columns_are_refused_over_an_old_snapshot() {
    let place = CheckedCorpus::of(85, &[("web", 12, 10, 20)]);
    place.writer().create_snapshot("then").unwrap();
    let kept = place.reader().select("kept").unwrap();
    let before = columns_of(&place, &kept);
    let text = |id: u64| place.reader().show(DocId(id)).unwrap().text;
    // A copy of one document, a successor of another; a third is removed.
    let copy = Page::keyed("copy", text(0));
    let key = before[1]["key"].as_str().unwrap().to_owned();
    let again = Page::keyed(key, format!("{} with something at its end", text(1)));
    let mut writer = place.writer();
    place.pour(&mut writer, "web", &[copy, again]);
    let removed = std::iter::once(2).collect();
    writer.remove(&removed, false, &Context::new()).unwrap();
    drop(writer);
    let after = columns_of(&place, &kept);
    let names: Vec<&String> = before[0].as_object().unwrap().keys().collect();
    let changed: BTreeSet<&str> = names
        .iter()
        .filter(|name| before.iter().zip(&after).any(|(was, is)| was[**name] != is[**name]))
        .map(|name| name.as_str())
        .collect();
    assert!(changed.is_superset(&BTreeSet::from(["kept", "standing", "cluster_size"])));
    let mut refused = BTreeSet::new();
    for name in names {
        let text =
            format!("snapshot = \"then\"\n[select]\nwhere = '\"{name}\" IS NOT NULL OR id >= 0'\n");
        if plan(&place.reader(), &text).is_err_and(|why| why.to_string().contains("since the")) {
            refused.insert(name.as_str());
        }
    }
    assert!(refused.is_superset(&changed), "{changed:?} changed, {refused:?} are refused");
    assert_eq!(refused.len(), 7, "{refused:?}");
}

/// All columns of some documents.
fn columns_of(
    place: &CheckedCorpus,
    documents: &roaring::RoaringTreemap,
) -> Vec<serde_json::Value> {
    let path = place.path.to_str().unwrap();
    let statement = "SELECT * FROM documents ORDER BY id";
    let rows = corpusdb(&["sql", path, statement, "--format", "json"]).good().json_lines();
    let is_asked = |row: &serde_json::Value| documents.contains(row["id"].as_u64().unwrap());
    rows.into_iter().filter(is_asked).collect()
}

#[test]
fn a_plan_of_whose_rows_none_fills_a_batch_is_not_stored() {
    let place = CheckedCorpus::of(86, &[("web", 30, 10, 20)]);
    let all = rows_of_epoch(&place);
    let recipe_of = |rows: u64, tail: &str| {
        recipe(&format!(
            "[tokenizer]\nspecials = {{ pad = \"<|pad|>\" }}\n[pack]\nlength = 64\n[batch]\nrows = {rows}\ntail = \"{tail}\"\n"
        ))
    };
    let mut writer = place.writer();
    for (rows, tail) in [(1_000_000, "drop"), (all + 1, "drop"), (all + 1, "carry")] {
        let why = writer.plan(&recipe_of(rows, tail), &Context::new()).map(|_| ()).unwrap_err();
        let why = why.to_string();
        assert!(
            why.contains(&format!("its {all} rows do not fill a batch")),
            "{rows}, {tail}: {why}"
        );
    }
    assert!(writer.view().epochs().unwrap().is_empty());
    for (rows, tail) in [(all, "drop"), (all + 1, "pad")] {
        let (_, planned) = writer.plan(&recipe_of(rows, tail), &Context::new()).unwrap();
        assert_eq!(place.reader().epoch(&planned, 0, &Context::new()).unwrap().batches(), 1);
    }
}

fn rows_of_epoch(place: &CheckedCorpus) -> u64 {
    let corpus = place.reader();
    let planned = plan(&corpus, "[pack]\nlength = 64\n").unwrap();
    corpus.explain(&planned, &Context::new()).unwrap().rows
}

#[test]
fn window_functions_in_conditions_are_refused() {
    let place = CheckedCorpus::of(87, &[("web", 20, 10, 20)]);
    let first = "[select]\nwhere = \"row_number() OVER (ORDER BY id) <= 3\"\n";
    let why = plan(&place.reader(), first).map(|_| ()).unwrap_err().to_string();
    assert!(why.contains("a window function (OVER) is not allowed in a condition"), "{why}");
    assert!(!why.contains("WindowFunction") && !why.contains("Physical"), "{why}");
    let out = "id IN (SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM documents) WHERE n <= 3)";
    assert_eq!(place.reader().select(out).unwrap().len(), 3);
    let path = place.path.to_str().unwrap();
    let statement = "SELECT id FROM documents WHERE rank() OVER (ORDER BY id) < 3";
    corpusdb(&["sql", path, statement]).fails(&["a window function (OVER)", "subquery"]);
}
