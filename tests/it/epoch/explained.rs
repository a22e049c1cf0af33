//! What `epoch explain` counts of an epoch is what its rows say.

use crate::support::epochs::WordCorpus;
use crate::support::{assert_contains, corpusdb_test};
use serde_json::{Value, json};

const CARRY: &str = "[tokenizer.specials]\npad = \"<pad>\"\n[pack]\nlength = 6\n[output]\nformat = \"jsonl\"\n[batch]\nrows = 3\ntail = \"carry\"\n";

// Rows that are carried to the next epoch were told as rows of the first one.
corpusdb_test!(carried_rows_are_explained_in_no_epoch, WordCorpus::of(&[6; 5]), |mut t| {
    t.recipe("r.toml", &format!("{CARRY}[[source]]\nname = \"web\"\nmax_repeats = 2\n"));
    let told = t.scratch.run("epoch explain corpus r.toml --json").json();
    let of =
        |value: &Value, names: &[&str]| names.iter().map(|name| value[*name].clone()).collect();
    let all: Vec<Value> = of(&told, &["rows", "tokens", "left_out_rows", "efficiency", "id_bytes"]);
    assert_eq!(all, [json!(3), json!(18), json!(0), json!(1.0), json!(72)]);
    let web = ["rows", "epoch_tokens", "passes", "unused_tokens"];
    let web: Vec<Value> = of(&told["sources"][0], &web);
    assert_eq!(web, [json!(3), json!(18), json!(0.6), json!(12)]);
    // Behind the last epoch they are left out.
    t.recipe("r.toml", &format!("{CARRY}[[source]]\nname = \"web\"\n"));
    let told = t.scratch.run("epoch explain corpus r.toml --json").json();
    let all: Vec<Value> = of(&told, &["rows", "tokens", "left_out_rows", "left_out_tokens"]);
    assert_eq!(all, [json!(3), json!(18), json!(2), json!(12)]);
    // Where the epoch is walked, of several sources and with rows that are not full.
    t.add("code", &[4; 6]);
    let sources = ["web", "code"]
        .map(|name| format!("[[source]]\nname = \"{name}\"\nweight = 1\nmax_repeats = 4\n"));
    let mix = "[mix]\nunit = \"documents\"\ntokens = 8\n";
    t.recipe("r.toml", &format!("{CARRY}{mix}{}", sources.concat()));
    t.scratch.run("epoch plan corpus r.toml");
    let told = t.scratch.run("epoch explain corpus 1 --json").json();
    let rows = t.scratch.run("epoch stream corpus 1").json_lines();
    assert_eq!((told["rows"].as_u64(), rows.len()), (Some(6), 6));
    for (at, name) in ["web", "code"].into_iter().enumerate() {
        let own: Vec<&Value> = rows.iter().filter(|row| row["source"] == name).collect();
        let tokens: u64 = own.iter().map(|row| row["seq_lengths"][0].as_u64().unwrap()).sum();
        let source = &told["sources"][at];
        assert_eq!((&source["rows"], &source["epoch_tokens"]), (&json!(own.len()), &json!(tokens)));
        let last = told["along"].as_array().unwrap().last().unwrap();
        assert_eq!((&last["row"], &last["achieved"][at]), (&json!(6), &json!(own.len())));
    }
});

// It failed, though the plan is stored and has a batch in a later epoch.
corpusdb_test!(the_first_epoch_that_has_a_batch_is_explained, WordCorpus::of(&[6; 3]), |t| {
    let recipe = CARRY.replace("rows = 3", "rows = 4");
    t.recipe("r.toml", &format!("{recipe}[[source]]\nname = \"web\"\nmax_repeats = 4\n"));
    t.scratch.run("epoch plan corpus r.toml");
    for what in ["r.toml", "1"] {
        let told = t.scratch.run(&format!("epoch explain corpus {what} --json")).json();
        let all = ["epoch", "epochs", "rows", "tokens", "left_out_rows"];
        assert_eq!(all.map(|name| told[name].as_u64()), [1, 4, 4, 24, 0].map(Some));
        let source = &told["sources"][0];
        assert_eq!((&source["rows"], &source["epoch_tokens"]), (&json!(4), &json!(24)));
        assert_eq!(source["repeats"]["epoch"]["tokens"], 6);
        let text = t.scratch.run(&format!("epoch explain corpus {what}"));
        text.prints(&[
            "   4 rows of 6   1 step of 4   ",
            "24 real tokens of ",
            "epoch     1, the first whose rows fill a batch\n",
        ]);
    }
    assert_eq!(t.scratch.run("epoch stream corpus 1 --epoch 1").json_lines().len(), 4);
    t.scratch.ran("epoch stream corpus 1").fails(&["epoch 0 has no rows"]);
    // Where none has, it says so of the first.
    t.recipe("r.toml", &format!("{recipe}[[source]]\nname = \"web\"\n"));
    t.scratch.ran("epoch explain corpus r.toml").fails(&["epoch 0 has no rows"]);
});

// The answer was wider than a terminal, and said the same of each source.
corpusdb_test!(an_explanation_of_many_sources_fits, WordCorpus::of(&[3]), |mut t| {
    let name = |at: usize| format!("a-source-with-a-name-of-more-than-forty-letters-{at}");
    let mut sources = String::new();
    for at in 0..14 {
        t.add(&name(at), &[9, 5]);
        sources += &format!("[[source]]\nname = \"{}\"\nweight = 1\n", name(at));
    }
    t.recipe(
        "r.toml",
        &format!("[tokenizer.specials]\neos = \"<eos>\"\n[pack]\nlength = 6\n{sources}"),
    );
    let short = t.scratch.run("epoch explain corpus r.toml").stdout;
    let table: Vec<&str> =
        short.lines().skip_while(|line| !line.starts_with("source")).take(14).collect();
    assert!(table.iter().all(|line| line.chars().count() <= 80), "{short}");
    assert!(table[1].starts_with('…') && table[12].contains("letters-11 "), "{short}");
    let rest: Vec<&str> = table[13].split_whitespace().take(3).collect();
    assert_eq!(rest, ["2", "more", "4"], "{short}");
    assert_eq!(short.matches("14 documents of 14 sources are cut and end").count(), 1, "{short}");
    let whole = t.scratch.run("epoch explain corpus r.toml --settings").stdout;
    assert!((0..14).all(|at| whole.contains(&format!("\n{} ", name(at)))), "{whole}");
    assert_contains(&whole, &["  packed", "  dropped", "every setting:\nversion = 1\n"]);
});

// Documents that are longer than a row, and left out, were counted among those that come again.
corpusdb_test!(
    documents_left_out_for_their_length_repeat_never,
    WordCorpus::of(&[9; 40]),
    |mut t| {
        t.add("web", &[4]);
        t.recipe(
        "r.toml",
        "[select]\nrepeat = \"2\"\n[pack]\nlength = 6\noptions = { long = \"drop\" }\n[[source]]\nname = \"web\"\nmax_repeats = 3\n",
    );
        let told = t.scratch.run("epoch explain corpus r.toml --json").json();
        let repeats = |when: &str| {
            let of = &told["sources"][0]["repeats"][when];
            ["documents", "tokens", "near_documents", "near_tokens"].map(|name| of[name].clone())
        };
        assert_eq!(repeats("epoch"), [1, 4, 1, 4].map(|count| json!(count)));
        assert_eq!(repeats("passes"), [1, 20, 1, 20].map(|count| json!(count)));
    }
);

// Rows without a label had a loss that is no number, answers were cut off or trained on without their question, and nothing
// was said of it.
corpusdb_test!(rows_and_batches_without_a_label_are_counted, WordCorpus::of(&[3]), |t| {
    let record = |count: usize, trained: std::ops::Range<usize>| {
        let mask: Vec<bool> = (0..count).map(|at| trained.contains(&at)).collect();
        json!({"input_ids": Vec::from_iter(10..10 + count), "completion_mask": mask}).to_string()
    };
    // Cut off before its answer, with an answer, without one, and all but the prompt.
    let records = [record(20, 18..20), record(6, 4..6), record(6, 0..0), record(20, 4..20)];
    t.scratch.write("ids.jsonl", records.join("\n"));
    t.scratch.run("ingest corpus ids.jsonl --source ids --pretokenized words");
    let head = "[select]\nmin_trained = 0\n[tokenizer.specials]\npad = \"<pad>\"\n[output]\nformat = \"jsonl\"\n[[source]]\nname = \"ids\"\n[batch]\nrows = 2\ntail = \"pad\"\n[pack]\nkind = \"none\"\nlength = 8\n";
    let told = |recipe: String| {
        t.recipe("r.toml", &recipe);
        let told = t.scratch.run("epoch explain corpus r.toml --json").json()["labels"].clone();
        let names = ["rows", "rows_without_label", "parts_in_answers", "answers_cut_off"];
        (names.map(|name| told[name].as_u64().unwrap()), told)
    };
    let (split, _) = told(head.to_owned());
    assert_eq!(split, [8, 3, 2, 0]);
    let (cut, gaps) = told(format!("{head}options = {{ long = \"truncate\" }}\n"));
    assert_eq!(cut, [4, 2, 0, 1]);
    // By the rows as they are given.
    let rows = t.scratch.run("epoch stream corpus r.toml").json_lines();
    let has_label = |row: &Value| row["labels"].as_array().unwrap().iter().any(|id| *id != -100);
    let labels: Vec<bool> = rows.iter().map(has_label).collect();
    let whole = labels.chunks(2).filter(|batch| !batch.contains(&true)).count();
    assert_eq!(gaps["batches_without_label"], json!([[1, whole, 2], [2, 2, 4]]));
    let text = t.scratch.run("epoch explain corpus r.toml");
    text.prints(&[
        "rows without a label: 2 of 4; batches of a rank without one:",
        "1 document is cut",
    ]);
    let planned = t.scratch.ran("epoch plan corpus r.toml").good();
    assert!(planned.stderr.contains("rows without a label: 2 of 4"), "{planned}");
    // By default documents without a label are left out: within what is packed of them.
    let head = head.replace("min_trained = 0\n", "");
    assert_eq!(told(head.clone()).0, [7, 2, 2, 0]);
    assert_eq!(told(format!("{head}options = {{ long = \"truncate\" }}\n")).0, [2, 0, 0, 0]);
    let rows = t.scratch.run("epoch stream corpus r.toml").json_lines();
    assert!(rows.len() == 2 && rows.iter().all(has_label), "{rows:?}");
    let left = t.scratch.run("epoch explain corpus r.toml --json").json();
    let left = left["sources"][0]["left_out"].clone();
    assert_eq!(left, json!([{"reason": "min_trained", "documents": 2, "tokens": 26}]));
    let planned = t.scratch.ran("epoch plan corpus r.toml").good();
    assert_contains(&planned.stderr, &["2 documents are left out, with fewer labels than 1"]);
    t.recipe("r.toml", &head.replace("[select]\n", "[select]\nmin_trained = 5\n"));
    let left = t.scratch.run("epoch explain corpus r.toml --json").json();
    assert_eq!(left["sources"][0]["documents"], 1);
    t.recipe(
        "r.toml",
        "[select]\nmin_trained = 17\n[pack]\nlength = 8\n[[source]]\nname = \"ids\"\n",
    );
    let none = t.scratch.ran("epoch plan corpus r.toml");
    none.fails(&["4 documents are left out for too few labels (select.min_trained = 0"]);
    t.recipe("r.toml", "[[source]]\nname = \"web\"\n");
    let none = t.scratch.run("epoch explain corpus r.toml --json").json();
    assert!(none.get("labels").is_none() && none.get("special_repeats").is_none());
});

// Ids that came with BOS and EOS got both once more, and nothing was said.
corpusdb_test!(special_tokens_that_come_twice_are_counted, WordCorpus::of(&[3]), |t| {
    let ids = [vec![1, 10, 11, 2], vec![1, 12], vec![13, 2], vec![14, 1, 2, 15]];
    let lines: Vec<String> = ids.iter().map(|ids| json!({"input_ids": ids}).to_string()).collect();
    t.scratch.write("ids.jsonl", lines.join("\n"));
    t.scratch.run("ingest corpus ids.jsonl --source ids --pretokenized words");
    let explained = |specials: &str| {
        t.recipe(
            "r.toml",
            &format!("[tokenizer]\nspecials = {{ {specials} }}\n[pack]\nlength = 8\n"),
        );
        t.scratch.run("epoch explain corpus r.toml --json").json()["special_repeats"].clone()
    };
    let all =
        |bos: u64, eos: u64| json!({"documents": 4, "begin_with_bos": bos, "end_with_eos": eos});
    assert_eq!(explained("bos = \"<bos>\", eos = \"<eos>\""), all(2, 2));
    assert_eq!(explained("bos = \"<bos>\""), all(2, 0));
    assert_eq!(explained("eos = \"<pad>\""), Value::Null);
    explained("eos = \"<eos>\"");
    let words = "EOS: 2 of 4 documents with special tokens of their own end with it already";
    t.scratch.run("epoch explain corpus r.toml").prints(&[words]);
    let planned = t.scratch.ran("epoch plan corpus r.toml").good();
    assert!(planned.stderr.contains(words), "{planned}");
});
