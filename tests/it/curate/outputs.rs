//! Who had it: exports, epochs, streams and backups leave entries, which writers take in, purges redact, and `who` reads.

use crate::support::epochs::{EpochCorpus, SPECIALS};
use crate::support::{
    TestDir, WEB_BY_ID, assert_contains, corpusdb, corpusdb_test, file_names, ingest, init, sound,
    sql,
};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The table `outputs`, by number.
fn outputs(corpus: &str) -> Vec<Value> {
    sql(corpus, "SELECT * FROM outputs ORDER BY number, kind")
}

/// Who had documents.
fn who(arguments: &[&str]) -> Value {
    corpusdb(&[&["who"][..], arguments, &["--json"]].concat()).good().json()
}

/// Entries that no writer has taken in.
fn waiting(corpus: &str) -> Vec<String> {
    let folder = Path::new(corpus).join("outputs");
    let mut names = if folder.exists() { file_names(folder) } else { Vec::new() };
    names.retain(|name| name != "next");
    names
}

/// Pages with the keys `p0` to `pN`, some of them by one author.
fn pages(scratch: &TestDir, corpus: &str, name: &str, from: usize, to: usize) {
    let page = |at: usize| {
        let author = if at == 0 { "rosalind@plinkenburger.example" } else { "somebody" };
        let text = format!("page {at} tells of {} ships and ropes in a harbour", at * 7919);
        json!({"id": format!("p{at}"), "text": text, "author": author}).to_string()
    };
    let lines: Vec<String> = (from..to).map(page).collect();
    let file = scratch.write(name, lines.join("\n"));
    ingest(corpus, &[&file], &WEB_BY_ID);
}

corpusdb_test!(exports_are_on_record_and_taken_in_once, |scratch, corpus| {
    pages(&scratch, &corpus, "a.jsonl", 0, 20);
    let to = scratch.arg("all.jsonl");
    let report = corpusdb(&["export", &corpus, "--to", &to, "--json"]).good().json();
    assert_eq!(report["recorded"], 1, "{report}");
    let some = scratch.arg("some.parquet");
    let few = ["export", &corpus, "--where", "id < 5", "--to", &some, "--json"];
    assert_eq!(corpusdb(&few).good().json()["recorded"], 2);
    let none = ["export", &corpus, "--to", &scratch.arg("none.csv"), "--no-record", "--json"];
    assert_eq!(corpusdb(&none).good().json()["recorded"], Value::Null);
    let sql_file = scratch.arg("answer.jsonl");
    let select = "SELECT id, text FROM documents WHERE id >= 18";
    assert_eq!(
        corpusdb(&["sql", &corpus, select, "-o", &sql_file, "--json"]).good().json()["recorded"],
        3
    );
    // What has no texts is no output.
    let counted =
        ["sql", &corpus, "SELECT id FROM documents", "-o", &scratch.arg("ids.csv"), "--json"];
    assert_eq!(corpusdb(&counted).good().json()["recorded"], Value::Null);
    let before = outputs(&corpus);
    assert_eq!(waiting(&corpus), ["1", "2", "3"]);
    let row = |number: usize| &before[number - 1];
    assert_eq!(
        (&row(1)["documents"], &row(2)["documents"], &row(3)["documents"]),
        (&json!(20), &json!(5), &json!(2))
    );
    assert_eq!((&row(2)["condition"], &row(2)["destination"]), (&json!("id < 5"), &json!(some)));
    assert!(row(1)["time"].is_string() && row(1)["manifest"].is_string(), "{}", row(1));
    sound(&corpus);
    // A writer takes them in; a kill between its commit and the removal of the files leaves these.
    let kept: Vec<(String, Vec<u8>)> = waiting(&corpus)
        .into_iter()
        .map(|name| {
            (name.clone(), std::fs::read(Path::new(&corpus).join("outputs").join(name)).unwrap())
        })
        .collect();
    pages(&scratch, &corpus, "b.jsonl", 20, 24);
    assert!(waiting(&corpus).is_empty());
    assert_eq!(outputs(&corpus), before);
    for (name, bytes) in &kept {
        std::fs::write(Path::new(&corpus).join("outputs").join(name), bytes).unwrap();
    }
    assert_eq!(outputs(&corpus), before);
    pages(&scratch, &corpus, "c.jsonl", 24, 26);
    assert!(waiting(&corpus).is_empty());
    assert_eq!(outputs(&corpus), before);
    // Numbers go on.
    let next = ["export", &corpus, "--to", &scratch.arg("next.jsonl"), "--json"];
    assert_eq!(corpusdb(&next).good().json()["recorded"], 4);
    let found = who(&[&corpus, "p3"]);
    let numbers: Vec<u64> = found["outputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [1, 2, 4], "{found}");
    assert!(found["outputs"].as_array().unwrap().iter().all(|it| it["certain"] == true));
    sound(&corpus);
});

corpusdb_test!(a_corpus_that_cannot_be_written_to_says_not_recorded, |scratch, corpus| {
    pages(&scratch, &corpus, "a.jsonl", 0, 4);
    let id = std::process::Command::new("id").arg("-u").output().unwrap();
    let is_root = id.stdout.starts_with(b"0\n");
    // Root writes everywhere but where a file stands in the place of the folder.
    let folder = Path::new(&corpus).join("outputs");
    match is_root {
        true => std::fs::write(&folder, "").unwrap(),
        false => std::fs::set_permissions(&corpus, std::fs::Permissions::from_mode(0o555)).unwrap(),
    }
    let ran = corpusdb(&["export", &corpus, "--to", &scratch.arg("x.jsonl"), "--json"]).good();
    std::fs::set_permissions(&corpus, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_contains(&ran.stderr, &["not recorded"]);
    let report = ran.json();
    assert_eq!(report["recorded"], Value::Null);
    assert!(report["not_recorded"].is_string() && report["rows"] == 4, "{report}");
    if is_root {
        corpusdb(&["check", &corpus]).answers_badly();
        std::fs::remove_file(folder).unwrap();
    }
    sound(&corpus);
});

corpusdb_test!(a_damaged_entry_is_named_and_hides_no_other, |scratch, corpus| {
    pages(&scratch, &corpus, "a.jsonl", 0, 4);
    for name in ["x.jsonl", "y.jsonl", "z.jsonl"] {
        corpusdb(&["export", &corpus, "--to", &scratch.arg(name)]).good();
    }
    let file = Path::new(&corpus).join("outputs").join("2");
    let bytes = std::fs::read(&file).unwrap();
    for cut in [0, 4, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&file, &bytes[..cut]).unwrap();
        let rows = outputs(&corpus);
        let kinds: Vec<&str> = rows.iter().map(|row| row["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["export", "damaged", "export"]);
        let found = who(&[&corpus, "p0"]);
        assert_eq!(
            (
                found["outputs"].as_array().unwrap().len(),
                found["damaged"].as_array().unwrap().len()
            ),
            (2, 1)
        );
        let check = corpusdb(&["check", &corpus]).answers_badly();
        assert_contains(&check.stdout, &["outputs/2"]);
    }
    // It stays where it is, whoever writes.
    pages(&scratch, &corpus, "b.jsonl", 4, 6);
    assert_eq!(waiting(&corpus), ["2"]);
    assert_eq!(outputs(&corpus).len(), 3);
    std::fs::remove_file(file).unwrap();
    sound(&corpus);
});

corpusdb_test!(two_processes_take_no_number_twice, |scratch, corpus| {
    pages(&scratch, &corpus, "a.jsonl", 0, 4);
    std::thread::scope(|scope| {
        for at in 0..6 {
            let (corpus, to) = (&corpus, scratch.arg(&format!("{at}.jsonl")));
            scope.spawn(move || corpusdb(&["export", corpus, "--to", &to]).good());
        }
    });
    let rows = outputs(&corpus);
    let mut to: Vec<&str> = rows.iter().map(|row| row["destination"].as_str().unwrap()).collect();
    to.sort_unstable();
    to.dedup();
    assert_eq!((rows.len(), to.len()), (6, 6));
    sound(&corpus);
});

corpusdb_test!(a_purge_redacts_entries_and_names_who_had_it, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "author:keyword"]);
    pages(&scratch, &corpus, "a.jsonl", 0, 20);
    let condition = "author = 'rosalind@plinkenburger.example'";
    let taken = scratch.arg("taken.jsonl");
    corpusdb(&["export", &corpus, "--where", condition, "--to", &taken]).good();
    pages(&scratch, &corpus, "b.jsonl", 20, 22);
    corpusdb(&["export", &corpus, "--where", condition, "--to", &scratch.arg("file.jsonl")]).good();
    corpusdb(&["export", &corpus, "--where", "id > 3", "--to", &scratch.arg("other.jsonl")]).good();
    corpusdb(&["snapshot", "create", &corpus, "then"]).good();
    corpusdb(&["backup", "create", &corpus, &scratch.arg("backups")]).good();
    assert_eq!(waiting(&corpus), ["4"]);
    let tried = corpusdb(&["purge", &corpus, "p0", "--force", "--dry-run", "--json"]).good().json();
    assert_eq!(tried["outputs"], 3, "{tried}");
    let proof = scratch.arg("proof.json");
    let purged = corpusdb(&["purge", &corpus, "p0", "--force", "--prove", &proof]).good();
    assert_contains(&purged.stdout, &["3 outputs on record had some of them"]);
    let certificate: Value = serde_json::from_slice(&std::fs::read(&proof).unwrap()).unwrap();
    assert_eq!(certificate["clean"], true);
    let of = |it: &Value| (it["number"].as_u64().unwrap(), it["kind"].as_str().unwrap().to_owned());
    let certified: Vec<_> = certificate["outputs"].as_array().unwrap().iter().map(of).collect();
    assert_eq!(
        certified,
        [(1, "export".to_owned()), (2, "export".to_owned()), (4, "backup".to_owned())]
    );
    let conditions: Vec<Value> =
        outputs(&corpus).iter().map(|row| row["condition"].clone()).collect();
    assert!(
        !conditions.iter().any(|it| it.to_string().contains("plinkenburger")),
        "{conditions:?}"
    );
    assert_eq!(conditions[2], "id > 3");
    // By its number, and by its key, which is not stored any more.
    for name in ["id:0", "p0"] {
        let found = who(&[&corpus, name]);
        let numbers: Vec<_> = found["outputs"].as_array().unwrap().iter().map(of).collect();
        assert_eq!(numbers, certified, "{found}");
        assert_eq!(
            (&found["snapshots"][0]["name"], &found["snapshots"][0]["certain"]),
            (&json!("then"), &json!(false))
        );
    }
    assert_eq!(outputs(&corpus).len(), 4);
    sound(&corpus);
});

corpusdb_test!(an_export_that_ends_after_a_purge_keeps_no_words, |scratch, corpus| {
    pages(&scratch, &corpus, "a.jsonl", 0, 4);
    let condition = "meta LIKE '%rosalind@plinkenburger%'";
    corpusdb(&["export", &corpus, "--where", condition, "--to", &scratch.arg("x.jsonl")]).good();
    // As if its process had written the entry only now.
    let file = Path::new(&corpus).join("outputs").join("1");
    let late = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    corpusdb(&["purge", &corpus, "p0"]).good();
    std::fs::write(&file, late).unwrap();
    pages(&scratch, &corpus, "b.jsonl", 4, 6);
    let rows = outputs(&corpus);
    assert_eq!((rows.len(), &rows[0]["condition"]), (1, &json!("(quoted what was purged)")));
    sound(&corpus);
});

/// A plan of the corpus, and a document of its first row: what fills no batch is left out of the epoch.
fn planned(place: &EpochCorpus) -> String {
    let recipe = "[pack]\nlength = 64\n[batch]\nrows = 4\n[[source]]\nname = \"web\"\n";
    place.recipe("plan", &format!("{SPECIALS}{recipe}"), &[]).good();
    let row = place.run("row", "1", &["0", "--json"]).good().json();
    format!("id:{}", row["segments"][0]["document"])
}

corpusdb_test!(epochs_say_which_rows_had_a_document, EpochCorpus::holding(40), |place| {
    let corpus = place.corpus.clone();
    let it = planned(&place);
    let out = place.scratch.arg("epoch-0");
    let built = place.run("build", "1", &["--out", &out, "--json"]).good().json();
    assert_eq!(built["recorded"], 1, "{built}");
    let found = who(&[&corpus, &it, "--world", "2"]);
    let holder = &found["outputs"][0];
    assert_eq!((&holder["kind"], &holder["certain"]), (&json!("epoch"), &json!(true)), "{found}");
    let places = holder["places"].as_array().unwrap();
    assert!(!places.is_empty());
    for at in places {
        let [row, step, rank] = ["row", "step", "rank"].map(|name| at[name].to_string());
        let document = format!("\"document\":{},", at["document"]);
        place.run("row", "1", &[&row, "--json"]).good().prints(&[&document]);
        let of_step = ["--step", &step, "--rank", &rank, "--world", "2", "--json"];
        place.run("row", "1", &of_step).good().prints(&[&format!("\"row\":{row},")]);
    }
    sound(&corpus);
});

corpusdb_test!(a_stream_that_goes_on_extends_its_entry, EpochCorpus::holding(40), |place| {
    let corpus = place.corpus.clone();
    let it = planned(&place);
    let stream = |more: &[&str]| {
        place.run("stream", "1", &[&["--world", "2"][..], more].concat()).good();
    };
    let of = |row: &Value| {
        ["number", "first_batch", "end_batch", "rank", "world"]
            .map(|name| row[name].as_u64().unwrap_or(99))
    };
    stream(&["--rank", "0", "--batches", "1"]);
    stream(&["--rank", "1", "--batches", "2"]);
    stream(&["--rank", "0", "--from-batch", "1", "--batches", "2"]);
    let rows = outputs(&corpus);
    assert_eq!(rows.iter().map(of).collect::<Vec<_>>(), [[1, 0, 3, 0, 2], [2, 0, 2, 1, 2]]);
    // Taken in and extended again, also beside the row.
    corpusdb(&["snapshot", "create", &corpus, "later"]).good();
    assert!(waiting(&corpus).is_empty());
    stream(&["--rank", "1", "--from-batch", "2", "--batches", "1"]);
    assert_eq!(waiting(&corpus), ["2"]);
    assert_eq!(of(&outputs(&corpus)[1]), [2, 0, 3, 1, 2]);
    corpusdb(&["snapshot", "drop", &corpus, "later"]).good();
    assert_eq!((waiting(&corpus).len(), of(&outputs(&corpus)[1])), (0, [2, 0, 3, 1, 2]));
    // After the purge the plan cannot be opened: who may have had it stays.
    corpusdb(&["purge", &corpus, &it, "--force"]).good();
    let found = who(&[&corpus, &it]);
    let holders = found["outputs"].as_array().unwrap();
    assert_eq!(holders.len(), 2, "{found}");
    let is_told = |it: &Value| it["certain"] == false && it["plan"] == 1 && it["why"].is_string();
    assert!(holders.iter().all(is_told), "{found}");
    place.run("stream", "1", &["--no-record"]).fails(&["purged"]);
    sound(&corpus);
});
