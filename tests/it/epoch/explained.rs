//! What `epoch explain` counts of an epoch is what its rows say.

use crate::support::corpusdb_test;
use crate::support::epochs::WordCorpus;
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
        text.prints(&["epoch 1, the first whose rows fill a batch: 4 rows, 24 real tokens"]);
    }
    assert_eq!(t.scratch.run("epoch stream corpus 1 --epoch 1").json_lines().len(), 4);
    t.scratch.ran("epoch stream corpus 1").fails(&["epoch 0 has no rows"]);
    // Where none has, it says so of the first.
    t.recipe("r.toml", &format!("{recipe}[[source]]\nname = \"web\"\n"));
    t.scratch.ran("epoch explain corpus r.toml").fails(&["epoch 0 has no rows"]);
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
