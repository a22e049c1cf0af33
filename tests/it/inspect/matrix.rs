//! Duplicates by group: how much of each was there already, and in which one, against pairs read one by one.

use crate::support::{
    Page, Random, TestDir, assert_has, corpusdb, corpusdb_test, declaring, edited, ingest, init,
    lines, prose, sound,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

type Group = Vec<Option<String>>;

/// A corpus of a few crawls, of which later ones have pages of earlier ones: the same, edited, or under their keys.
struct Crawls {
    scratch: TestDir,
    corpus: String,
    random: Random,
    pages: Vec<Page>,
    count: usize,
}

impl Crawls {
    fn new(seed: u64) -> Self {
        let scratch = TestDir::new();
        let corpus = scratch.arg("corpus");
        init(
            &corpus,
            &declaring(&["site:keyword", "published:timestamp", "rank:int", "good:bool"]),
        );
        Self { scratch, corpus, random: Random::new(seed), pages: Vec::new(), count: 0 }
    }

    fn crawl(&mut self, source: &str, count: usize) {
        let mut own = Vec::new();
        for _ in 0..count {
            let random = &mut self.random;
            self.count += 1;
            let mut page = match random.below(if self.pages.is_empty() { 1 } else { 5 }) {
                0 | 1 => Page::keyed(format!("k{}", self.count), prose(random, 0, 60)),
                2 => {
                    let text = random.pick(&self.pages).text.clone();
                    Page::keyed(format!("k{}", self.count), text)
                }
                3 => {
                    let text = random.pick(&self.pages).text.clone();
                    Page::keyed(format!("k{}", self.count), edited(random, &text, 1))
                }
                // New content under a known key.
                _ => Page { text: prose(random, 0, 60), ..random.pick(&self.pages).clone() },
            };
            page.fields =
                json!({ "site": format!("s{}", random.below(4)), "good": random.chance(50) });
            if random.chance(80) {
                let (month, day) = (random.between(1, 13), random.between(1, 29));
                page.fields["published"] = json!(format!("2024-{month:02}-{day:02}T10:00:00Z"));
                page.fields["rank"] = json!(random.below(12) as i64 - 3);
            }
            own.push(page.clone());
            self.pages.push(page);
        }
        let file = self.scratch.write(&format!("{source}.jsonl"), lines(&own));
        ingest(&self.corpus, &[&file], &["--source", source, "--id-field", "id"]);
    }

    fn matrix(&self, more: &[&str]) -> Value {
        let all = [&["duplicates", &self.corpus, "--matrix", "--json"], more].concat();
        corpusdb(&all).good().json()
    }

    fn sql(&self, statement: &str) -> Vec<Value> {
        corpusdb(&["sql", &self.corpus, statement, "--format", "json"]).good().json_lines()
    }

    /// Every grouping, of all and of one source, is what documents and pairs say one by one.
    fn check(&self) {
        let columns = "id, source, site, published, rank, good, bytes";
        let documents = self.sql(&format!("SELECT {columns} FROM documents ORDER BY id"));
        let pairs = self.sql("SELECT id, witness, kind FROM duplicates ORDER BY id");
        assert!(pairs.len() > 10, "{}", pairs.len());
        let groupings: [&[&str]; 7] = [
            &["source"],
            &["site"],
            &["published:month"],
            &["published:month", "source"],
            &["good", "rank"],
            &["rank", "site", "published:quarter"],
            &["published:day"],
        ];
        for by in groupings {
            for only in [None, Some("feb")] {
                let names = by.join(",");
                let mut asked = vec!["--by", names.as_str()];
                asked.extend(only.iter().flat_map(|source| ["--source", *source]));
                let found = self.matrix(&asked);
                assert_has(&found, &json!({ "type": "duplicates_matrix", "by": by }));
                check_matrix(&found, &documents, &pairs, by, only);
            }
        }
    }
}

/// The value of a grouping of a document, as it is shown.
fn group(document: &Value, by: &[&str]) -> Group {
    let shown = |name: &&str| {
        let (field, unit) = name.split_once(':').unwrap_or((name, ""));
        let value = &document[field];
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (!value.is_null()).then(|| match unit {
            "month" => text[..7].to_owned(),
            "day" => text[..10].to_owned(),
            "quarter" => {
                let month: u32 = text[5..7].parse().unwrap();
                format!("{}-Q{}", &text[..4], month.div_ceil(3))
            }
            _ => text,
        })
    };
    by.iter().map(shown).collect()
}

fn check_matrix(
    found: &Value,
    documents: &[Value],
    pairs: &[Value],
    by: &[&str],
    only: Option<&str>,
) {
    let counted = |document: &Value| only.is_none_or(|source| document["source"] == source);
    let mut totals: BTreeMap<Group, [u64; 4]> = BTreeMap::new();
    for document in documents.iter().filter(|document| counted(document)) {
        let total = totals.entry(group(document, by)).or_default();
        total[0] += 1;
        total[1] += document["bytes"].as_u64().unwrap();
    }
    let of = |id: &Value| &documents[id.as_u64().unwrap() as usize];
    let mut cells: BTreeMap<(Group, Group), [u64; 3]> = BTreeMap::new();
    for pair in pairs.iter().filter(|pair| counted(of(&pair["id"]))) {
        let (removed, witness) = (of(&pair["id"]), of(&pair["witness"]));
        let bytes = removed["bytes"].as_u64().unwrap();
        let total = totals.get_mut(&group(removed, by)).unwrap();
        total[2] += 1;
        total[3] += bytes;
        let cell = cells.entry((group(removed, by), group(witness, by))).or_default();
        cell[0] += 1;
        cell[1] += u64::from(pair["kind"] == "exact");
        cell[2] += bytes;
    }
    let read = |value: &Value| -> Group { serde_json::from_value(value.clone()).unwrap() };
    let number = |of: &Value, name: &str| of[name].as_u64().unwrap();
    let mut told = BTreeMap::new();
    for line in found["groups"].as_array().unwrap() {
        let numbers =
            ["documents", "bytes", "removed", "removed_bytes"].map(|name| number(line, name));
        assert_eq!(line["share"], json!(numbers[2] as f64 / numbers[0] as f64));
        told.insert(read(&line["group"]), numbers);
    }
    assert_eq!(told, totals, "{by:?} {only:?}");
    assert_eq!(found["documents"], json!(totals.values().map(|total| total[0]).sum::<u64>()));
    assert_eq!(found["removed"], json!(totals.values().map(|total| total[2]).sum::<u64>()));
    let mut told = BTreeMap::new();
    for cell in found["cells"].as_array().unwrap() {
        let groups = (read(&cell["group"]), read(&cell["witness_group"]));
        assert_eq!(
            cell["share"],
            json!(number(cell, "documents") as f64 / totals[&groups.0][0] as f64)
        );
        told.insert(groups, ["documents", "exact", "bytes"].map(|name| number(cell, name)));
    }
    assert_eq!(told, cells, "{by:?} {only:?}");
}

/// Pairs change when witnesses go and come back, pages come again, fields are set and the policy is another.
#[test]
fn cells_equal_a_recount_of_pairs_after_any_history() {
    for seed in [3, 8] {
        let mut place = Crawls::new(seed);
        for source in ["jan", "feb", "mar"] {
            place.crawl(source, 70);
        }
        place.check();
        let witness = place.sql("SELECT witness, count(*) AS n FROM duplicates GROUP BY witness ORDER BY n DESC, witness LIMIT 3");
        let witnesses: Vec<String> = witness.iter().map(|row| row["witness"].to_string()).collect();
        for id in &witnesses {
            corpusdb(&["remove", &place.corpus, "--where", &format!("id = {id}")]).good();
        }
        place.check();
        place.crawl("feb", 40);
        let restored = format!("id = {}", witnesses[0]);
        corpusdb(&["restore", &place.corpus, "--where", &restored]).good();
        place.check();
        corpusdb(&["dedup", "redo", &place.corpus, "--mode", "exact"]).good();
        corpusdb(&["field", "compute", &place.corpus, "rank", "id % 5"]).good();
        place.check();
        sound(&place.corpus);
    }
}

corpusdb_test!(rows_and_columns_are_in_the_order_of_their_values, Crawls::new(5), |mut place| {
    // In another order than that of their names.
    for source in ["mar", "jan", "feb"] {
        place.crawl(source, 60);
    }
    let groups = |found: &Value, name: &str| -> Vec<Group> {
        let of = |group: &Value| serde_json::from_value(group.clone()).unwrap();
        match name {
            "groups" => {
                found[name].as_array().unwrap().iter().map(|line| of(&line["group"])).collect()
            }
            _ => found[name].as_array().unwrap().iter().map(of).collect(),
        }
    };
    let one = |names: &[&str]| -> Vec<Group> {
        names.iter().map(|name| vec![Some((*name).to_owned())]).collect()
    };
    assert_eq!(groups(&place.matrix(&[]), "groups"), one(&["feb", "jan", "mar"]));
    let ranks = place.matrix(&["--by", "rank"]);
    let mut values = vec![vec![None]];
    values.extend((-3..9).map(|rank: i64| vec![Some(rank.to_string())]));
    assert_eq!(groups(&ranks, "groups"), values);
    let columns = groups(&ranks, "witness_groups");
    let place_of = |group: &Group| values.iter().position(|known| known == group).unwrap();
    assert!(columns.len() > 3 && columns.is_sorted_by_key(place_of));
    let cells = ranks["cells"].as_array().unwrap().iter();
    let places: Vec<_> = cells
        .map(|cell| {
            let of = |name: &str| place_of(&serde_json::from_value(cell[name].clone()).unwrap());
            (of("group"), of("witness_group"))
        })
        .collect();
    assert!(places.is_sorted());
});

corpusdb_test!(unsuitable_columns_are_refused_with_the_way_out, Crawls::new(2), |place| {
    let many: String = (0..1001)
        .map(|rank| format!("{}\n", json!({ "text": format!("page {rank}"), "rank": rank })))
        .collect();
    place.scratch.ingest(&place.corpus, "many.jsonl", many, &["--source", "many"]);
    let fails = |by: &str, words: &[&str]| {
        for more in [&["--matrix"][..], &[]] {
            corpusdb(&[&["duplicates", &place.corpus, "--by", by], more].concat()).fails(words);
        }
    };
    fails("rank", &["more than 1000 groups", "fewer values"]);
    fails("source,rank", &["more than 1000 groups"]);
    fails(
        "month",
        &["cannot group by `month`", "`source`, `language`, `site`, `published`, `rank`, `good`"],
    );
    fails("published:moon", &["`published:moon`", "year, quarter, month, week, day, hour"]);
    fails("site:month", &["`site` is not a timestamp"]);
    fails("site,source,site", &["`site` is named twice"]);
    fails("", &["cannot group by ``"]);
    corpusdb(&["duplicates", &place.corpus, "--matrix", "--source", "none"])
        .fails(&["no source `none`; there is `many`"]);
    corpusdb(&["duplicates", &place.corpus, "--matrix", "--list"]).fails(&["--list"]);
    let none = corpusdb(&["duplicates", &place.corpus, "--matrix"]).good();
    assert_eq!(none.stdout, "0 of 1,001 documents are duplicates, 0.0 %\n");
});

// A matrix that is wider than the terminal was one line of many columns, broken by the terminal where it ended.
corpusdb_test!(a_wide_matrix_is_folded_and_loses_no_cell, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "site:keyword", "--field", "day:int"]);
    let mut random = Random::new(1);
    let mut all = Vec::new();
    for day in 0..30 {
        let mut page = Page::new(prose(&mut random, 0, 60));
        page.fields = json!({ "day": day, "site": format!("https://a-long-name.example/{day}") });
        all.push(page.clone());
        // Each page is there once more, in the last days.
        page.fields = json!({ "day": 90 + day % 3, "site": "mirror" });
        all.push(page);
    }
    all.sort_by_key(|page| page.fields["day"].as_u64());
    scratch.ingest(&corpus, "pages.jsonl", lines(&all), &["--source", "web"]);
    let told = corpusdb(&["duplicates", &corpus, "--matrix", "--by", "day"]).good().stdout;
    let (first, table) = told.split_once('\n').unwrap();
    assert_eq!(first, "30 of 60 documents are duplicates, 50.0 %");
    assert!(told.lines().all(|line| line.chars().count() <= 160), "{told}");
    let parts: Vec<&str> = table.split("\n\n").collect();
    assert!(parts.len() > 1, "{told}");
    let mut found: BTreeMap<(String, String), String> = BTreeMap::new();
    for part in &parts {
        let mut lines = part.lines().skip_while(|line| !line.trim_start().starts_with("day"));
        let heads: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
        for line in lines.take(3) {
            let cells: Vec<&str> =
                line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
            assert_eq!(cells.len(), heads.len(), "{line}");
            for (head, cell) in heads.iter().zip(&cells).skip(1) {
                assert!(
                    found
                        .insert((cells[0].to_owned(), (*head).to_owned()), (*cell).to_owned())
                        .is_none()
                );
            }
        }
    }
    for day in 0..30 {
        for last in ["90", "91", "92"] {
            let cell = if last == (90 + day % 3).to_string() { "1 10.0 %" } else { "." };
            assert_eq!(found[&(last.to_owned(), day.to_string())], cell);
        }
    }
    assert!(told.ends_with("  30 more with 30 documents have no duplicates\n"), "{told}");
    // Names that do not fit over a column are numbered, and explained.
    let told = corpusdb(&["duplicates", &corpus, "--matrix", "--by", "site"]).good().stdout;
    assert!(told.contains("  [1] https://a-long-name.example/0\n"), "{told}");
    assert!(told.contains("mirror         30       30  100.0 %"), "{told}");
});

// What was counted by one field can be by several, and moments by their months, in what is told of all duplicates and
// of snapshots too.
corpusdb_test!(summaries_and_snapshots_are_by_several_fields_too, Crawls::new(4), |mut place| {
    place.crawl("jan", 60);
    corpusdb(&["snapshot", "create", &place.corpus, "then"]).good();
    place.crawl("feb", 60);
    let by = ["--by", "source,published:year", "--json"];
    let found = corpusdb(&[&["duplicates", &place.corpus], &by[..]].concat()).good().json();
    assert_eq!(found["by"], "source,published:year");
    let matrix = place.matrix(&by[..2]);
    let label = |group: &Value| {
        let of = |value: &Value| value.as_str().unwrap_or("(none)").to_owned();
        group.as_array().unwrap().iter().map(of).collect::<Vec<_>>().join(" / ")
    };
    let losses: Vec<Value> = matrix["groups"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|line| line["removed"] != 0)
        .map(|line| json!([label(&line["group"]), line["documents"], line["removed"]]))
        .collect();
    let told = found["sources"].as_array().unwrap().iter();
    let told: Vec<Value> =
        told.map(|line| json!([line["source"], line["documents"], line["removed"]])).collect();
    assert!(told == losses && told.len() > 2, "{told:?} {losses:?}");
    let diff =
        ["snapshot", "diff", &place.corpus, "then", "--by", "published:month,source", "--json"];
    let lines = corpusdb(&diff).good().json_lines();
    let groups: Vec<&str> = lines.iter().filter_map(|line| line["group"].as_str()).collect();
    assert!(groups.contains(&"2024-03 / feb") && groups.contains(&"(none) / feb"), "{groups:?}");
    let added: u64 =
        lines[1..].iter().map(|line| line["added"]["documents"].as_u64().unwrap()).sum();
    assert_eq!(lines[0]["added"]["documents"], added);
});
