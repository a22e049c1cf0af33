//! Tokenizers as things of their own: their files, registering without encoding, dropping, asking.

use crate::support::scenarios::TokenizerCorpus;
use crate::support::{
    TestDir, command, corpusdb, corpusdb_reading, corpusdb_test, crawl, digest, ids_as_reference,
    ingest, lines, sound,
};
use corpusdb::DocId;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;

/// The file of a small tokenizer, trained on other pages.
fn small(scratch: &TestDir) -> String {
    let other = TokenizerCorpus::crawl(70, 60);
    other.train("own", &["--vocab-size", "420"]);
    scratch.write("small.json", other.file("own"))
}

corpusdb_test!(backfill_equals_add, TokenizerCorpus::crawl(71, 90), |place| {
    let file = small(&place.scratch);
    let late = place.tokenizer("add", &["t", &file, "--no-backfill", "--json"]).good().json();
    assert_eq!((&late["complete"], &late["encoded_tokens"]), (&json!(false), &json!(null)));
    place.plan("[tokenizer]\nname = \"t\"\n").fails(&["`t`", "backfill"]);
    let done = place.tokenizer("backfill", &["t", "--json"]).good().json();
    assert_eq!(done["complete"], true);
    assert!(done["encoded_tokens"].as_u64().unwrap() > 1000);
    assert_eq!(place.tokenizer("backfill", &["t", "--json"]).good().json()["encoded_tokens"], 0);
    sound(&place.corpus);

    let backfilled = digest(&place.corpus);
    place.tokenizer("drop", &["t"]).good();
    place.tokenizer("add", &["t", &file]).good();
    assert_eq!(digest(&place.corpus), backfilled);
    // An ingest finishes what was left.
    let pages = crawl(71, 90, true);
    let by_ingest = TokenizerCorpus::of(&pages[..40]);
    by_ingest.tokenizer("add", &["t", &file, "--no-backfill"]).good();
    by_ingest.pour("pages.jsonl", &pages, &[]);
    assert_eq!(by_ingest.tokenizer("show", &["--json"]).good().json()["complete"], true);
    sound(&by_ingest.corpus);
    place.tokenizer("backfill", &["u"]).fails(&["no tokenizer `u`; there is `t`"]);
});

// Python's empty list was taken for the default, and no words asked the command for none.
corpusdb_test!(training_without_special_tokens_has_none, TokenizerCorpus::crawl(73, 90), |place| {
    for (name, more) in [("bytes", &[][..]), ("pieces", &["--model", "unigram"])] {
        let train = [&[name, "--vocab-size", "420", "--special", "", "--json"], more].concat();
        let ran = place.tokenizer("train", &train).good();
        assert!(ran.stderr.contains("no special token that could mark the end"), "{}", ran.stderr);
        let trained = ran.json();
        assert_eq!(trained["decisions"]["options"]["specials"], json!([]));
        assert_eq!(trained["complete"], true);
        let file: Value = serde_json::from_slice(&place.file(name)).unwrap();
        let added = file["added_tokens"].as_array().unwrap();
        assert!(added.iter().all(|token| token["content"] == "<unk>"), "{added:?}");
        // A recipe that names no special token has rows of it; one that names any is told that there is none.
        let of = format!("[tokenizer]\nname = \"{name}\"\n[pack]\nlength = 64\n");
        place.plan(&of).good();
        let eos = format!("{of}[tokenizer.specials]\neos = \"<|endoftext|>\"\n");
        place.plan(&eos).fails(&["no special token `<|endoftext|>`"]);
    }
    let two = ["two", "--vocab-size", "420", "--special", "", "--special", "<|a|>"];
    place.tokenizer("train", &two).fails(&["is empty"]);
    assert!(!place.tokenizer("show", &[]).good().stdout.contains("two"));
    sound(&place.corpus);
});

corpusdb_test!(drop_is_refused_while_a_plan_uses_it, TokenizerCorpus::crawl(72, 90), |place| {
    let bare = digest(&place.corpus);
    let file = small(&place.scratch);
    place.tokenizer("add", &["t", &file]).good();
    place.tokenizer("add", &["u", &file]).good();
    let both = digest(&place.corpus);
    place.plan("[tokenizer]\nname = \"t\"\n[pack]\nlength = 64\n").good();

    place.tokenizer("drop", &["t"]).fails(&["plans 1", "`t`", "--force"]);
    assert_eq!(digest(&place.corpus), both);
    let dropped = place.tokenizer("drop", &["u", "--json"]).good().json();
    assert_eq!((&dropped["name"], &dropped["broken_plans"]), (&json!("u"), &json!([])));
    let dropped = place.tokenizer("drop", &["t", "--force", "--json"]).good().json();
    assert_eq!(dropped["broken_plans"], json!([1]));
    assert_eq!(digest(&place.corpus), bare);
    sound(&place.corpus);
    corpusdb(&["epoch", "explain", &place.corpus, "1"]).fails(&["tokenizer `t` is gone"]);
    place.tokenizer("show", &["t"]).fails(&["`t`", "there is none"]);
    assert_eq!(place.tokenizer("show", &["--json"]).good().json_lines(), Vec::<Value>::new());

    // The name is free again, its ids are new ones; what is dropped stays dropped.
    place.tokenizer("add", &["u", &file]).good();
    place.pour("more.jsonl", &crawl(73, 40, true), &[]);
    let corpus = place.open();
    let (id, _) = corpus.view().tokenizer_named("u").unwrap();
    assert_eq!(id.0, 2);
    sound(&place.corpus);
});

corpusdb_test!(registered_files_are_kept_as_they_were, TokenizerCorpus::crawl(74, 60), |place| {
    let json: Value =
        serde_json::from_slice(&std::fs::read(small(&place.scratch)).unwrap()).unwrap();
    let vocab = serde_json::to_string(&json["model"]["vocab"]).unwrap();
    let merges: String = json["model"]["merges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| format!("{} {}\n", pair[0].as_str().unwrap(), pair[1].as_str().unwrap()))
        .collect();
    let merges = format!("#version: 0.2\n{merges}");
    let vocab_file = place.scratch.write("vocab.json", &vocab);
    let merges_file = place.scratch.write("merges.txt", &merges);
    place.tokenizer("add", &["g", "--vocab", &vocab_file, "--merges", &merges_file]).good();
    let corpus = place.open();
    let (id, record) = corpus.view().tokenizer_named("g").unwrap();
    let names: Vec<&str> = record.originals.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["vocab.json", "merges.txt"]);
    for (at, bytes) in [vocab.as_bytes(), merges.as_bytes()].into_iter().enumerate() {
        assert_eq!(corpus.view().tokenizer_original(id, at).unwrap(), bytes);
        assert_eq!(record.originals[at].hash, *blake3::hash(bytes).as_bytes());
    }
    let told = place.tokenizer("show", &["g", "--json"]).good().json();
    assert_eq!(told["originals"][1]["name"], "merges.txt");
    assert_eq!(told["reference"], "tokenizers 0.23.2");
    place.tokenizer("show", &["g"]).good();
});

corpusdb_test!(texts_are_shown_as_tokens_ids_as_text, TokenizerCorpus::crawl(75, 60), |place| {
    let file = small(&place.scratch);
    place.tokenizer("add", &["t", &file]).good();
    let text = "the naïve 語 <|endoftext|> end";
    let told = place.tokenizer("encode", &["t", "--text", text, "--json"]).good().json();
    let pieces = told["tokens"].as_array().unwrap();
    let joined: String = pieces.iter().map(|piece| piece["text"].as_str().unwrap()).collect();
    assert_eq!(joined, text);
    let ids: Vec<u32> =
        pieces.iter().map(|piece| piece["id"].as_u64().unwrap().try_into().unwrap()).collect();
    let mut oracle = tokenizers::Tokenizer::from_bytes(std::fs::read(&file).unwrap()).unwrap();
    let special = oracle.encode(text, false).unwrap().get_ids().to_vec();
    oracle.set_encode_special_tokens(true);
    assert_eq!(ids, oracle.encode(text, false).unwrap().get_ids());

    let specials =
        place.tokenizer("encode", &["t", "--text", text, "--specials", "--json"]).good().json();
    let specials: Vec<Value> =
        specials["tokens"].as_array().unwrap().iter().map(|piece| piece["id"].clone()).collect();
    assert_eq!(specials, special.iter().map(|id| json!(id)).collect::<Vec<_>>());

    let words: Vec<String> = ids.iter().map(u32::to_string).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let back =
        place.tokenizer("encode", &[&["t", "--json", "--ids"], &words[..]].concat()).good().json();
    assert_eq!(back["text"], text);
    let joined = words.join(", ");
    let back = place.tokenizer("encode", &["t", "--json", "--ids", &joined]).good().json();
    assert_eq!(back["text"], text);
    place.tokenizer("encode", &["t", "--ids", "1 two"]).fails(&["`two` is not an id"]);
    place.tokenizer("encode", &["t", "--ids", "420"]).fails(&["420 is not an id"]);
    place
        .tokenizer("encode", &["nobody", "--text", "x"])
        .fails(&["no tokenizer `nobody`; there is `t`"]);
    let read = ["tokenizer", "encode", &place.corpus, "t", "--json"];
    let told = corpusdb_reading(&read, text.as_bytes()).good().json();
    assert_eq!(told["tokens"].as_array().unwrap().len(), ids.len());
});

corpusdb_test!(late_tokenizers_encode_kept_of_snapshots, TokenizerCorpus::crawl(76, 60), |place| {
    corpusdb(&["snapshot", "create", &place.corpus, "before"]).good();
    let documents = place.open().select("kept").unwrap();
    let first = DocId(documents.min().unwrap());
    corpusdb(&["remove", &place.corpus, "--where", &format!("id = {}", first.0)]).good();
    let file = small(&place.scratch);
    place.tokenizer("add", &["t", &file]).good();
    let corpus = place.open();
    let (id, _) = corpus.view().tokenizer_named("t").unwrap();
    assert!(!corpus.view().kept().unwrap().contains(first.0));
    let mut ids = Vec::new();
    assert!(corpus.view().tokens(id, first, &mut ids).unwrap());
    place.plan("snapshot = \"before\"\n[pack]\nlength = 64\n").good();
    let planned = place.open().stored_plan(1).unwrap();
    let planned: u64 = planned.plan.sources.iter().map(|source| source.documents).sum();
    assert_eq!(planned, documents.len());
    sound(&place.corpus);
});

/// Every kept document has the reference's ids of this tokenizer. How many were compared.
#[track_caller]
fn as_reference(place: &TokenizerCorpus, name: &str) -> usize {
    ids_as_reference(&place.open(), name).len()
}

corpusdb_test!(every_model_equals_the_reference, TokenizerCorpus::crawl(77, 150), |place| {
    let kinds: [(&str, &[&str]); 5] = [
        ("bytes", &["--vocab-size", "500", "--pattern", "llama3", "--digits", "single"]),
        ("characters", &["--vocab-size", "700", "--byte-fallback", "--reserve", "3"]),
        ("words", &["--model", "wordpiece", "--vocab-size", "600", "--normalizer", "nfc"]),
        ("unigram", &["--model", "unigram", "--vocab-size", "500"]),
        ("fallback", &["--model", "unigram", "--vocab-size", "800", "--byte-fallback"]),
    ];
    for (name, options) in kinds {
        let trained = place.train(name, options);
        assert_eq!(trained["complete"], true, "{name}");
        assert!(as_reference(&place, name) > 40);
        let told = place.tokenizer("show", &[name, "--json"]).good().json();
        let decisions = &told["decisions"];
        assert_eq!(decisions["kind"], "trained");
        assert_eq!(decisions["hash"], told["hash"]);
        assert_eq!(decisions["report"]["scale"], 1.0);
        assert!(!decisions["report"]["groups"].as_array().unwrap().is_empty());
    }
    let pieces = |name: &str, text: &str| -> Vec<String> {
        let told = place.tokenizer("encode", &[name, "--text", text, "--json"]).good().json();
        let pieces = told["tokens"].as_array().unwrap();
        pieces.iter().map(|piece| piece["text"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(pieces("bytes", "2024"), ["2", "0", "2", "4"]);
    let told = place.tokenizer("show", &["characters", "--json"]).good().json();
    assert_eq!(told["decisions"]["options"]["reserve"], 3);
    place.tokenizer("show", &["characters"]).good();
    sound(&place.corpus);
});

#[test]
fn training_follows_options_and_refuses_bad_ones() {
    let mut pages = crawl(78, 120, true);
    pages.truncate(100);
    let place = TokenizerCorpus::of(&pages);
    let train = |name: &str, more: &[&str]| {
        place.train(name, &[&["--vocab-size", "420", "--no-backfill"], more].concat());
        place.tokenizer("show", &[name, "--json"]).good().json()["decisions"].clone()
    };
    let all = train("all", &["--by", "source"]);
    let some = train("some", &["--by", "source", "--where", "length(text) > 300"]);
    assert!(some["documents"].as_u64().unwrap() < all["documents"].as_u64().unwrap());
    assert_ne!(some["selection"], all["selection"]);
    let sampled = train("sampled", &["--sample-bytes", "10kB"]);
    assert!(sampled["bytes"].as_u64().unwrap() <= 10_000 && sampled["of_bytes"] == all["bytes"]);
    assert_eq!(train("again", &["--by", "source", "--threads", "1"])["hash"], all["hash"]);

    let seeds = place.scratch.write("seeds.txt", "zyxwvut\n antidisestablish\n");
    let seeded = train("seeded", &["--seed-tokens", &seeds]);
    assert!(seeded["report"]["vocab_size"].as_u64().unwrap() <= 420);
    for text in ["zyxwvut", " antidisestablish"] {
        let told = place.tokenizer("encode", &["seeded", "--text", text, "--json"]).good().json();
        assert_eq!(told["tokens"].as_array().unwrap().len(), 1, "{text}");
    }

    let fails = |more: &[&str], words: &[&str]| {
        place.tokenizer("train", &[&["t"], more].concat()).fails(words);
    };
    let weights = place.scratch.write("weights.json", "[1, 2]");
    fails(&["--weights", &weights], &["weights.json", "JSON object"]);
    fails(&["--pattern", r"\p{L}+|\p{Foo}"], &["alternative 2", "\\p{Foo}"]);
    fails(&["--where", "nothing = 1"], &["nothing"]);
    fails(&["--where", "false"], &["no kept documents"]);
    fails(&["--model", "unigram", "--pattern", "gpt2"], &["pattern"]);
    fails(&["--alpha=-3"], &["alpha"]);
}

// The command and programs store the same, key by key.
corpusdb_test!(extended_tokenizers_store_their_settings, TokenizerCorpus::crawl(80, 60), |place| {
    place.train("base", &["--vocab-size", "400"]);
    let terms = place.scratch.write("terms.txt", "zyzzyva\nnot one word\n");
    let extend = |name: &str, more: &[&str]| -> (Value, Value) {
        let commit = place.open().view().commit().0;
        let out = place.scratch.arg(name);
        let fixed = ["base", name, "--out", &out, "--no-backfill"];
        place.tokenizer("extend", &[&fixed[..], more].concat()).good();
        let mut told = place.tokenizer("show", &[name, "--json"]).good().json();
        assert_eq!(told["decisions"]["commit"].take(), json!(commit));
        (told["decisions"].take(), told["lineage"].take())
    };
    let base = place.tokenizer("show", &["base", "--json"]).good().json();
    let (decisions, lineage) = extend("terms", &["--terms", &terms, "--forms", "bare"]);
    let new = decisions["new_ids"].as_u64().unwrap();
    assert!(new > 0 && decisions["new_merges"].as_u64().unwrap() > 0);
    let expected = json!({
        "kind": "extended", "base": "base", "base_hash": base["hash"], "commit": null, "grow": null,
        "where": null, "min_frequency": null, "max_token_length": null, "added_tokens": false,
        "terms": {
            "forms_added": 1, "forms_added_tokens": 0, "forms_existed": 0, "forms_refused": 1,
        },
        "new_ids": new, "new_merges": decisions["new_merges"], "base_vocab_size": 400,
    });
    // As text: the order of the keys is part of what is stored.
    assert_eq!(decisions.to_string(), expected.to_string());
    assert_eq!(lineage, format!("base extended by terms, {new} new ids"));
    let more = ["--grow", "30", "--where", "id < 40", "--max-token-length", "9"];
    let (decisions, lineage) = extend("grown", &more);
    let expected = json!({
        "kind": "extended", "base": "base", "base_hash": base["hash"], "commit": null, "grow": 30,
        "where": "id < 40", "min_frequency": 2, "max_token_length": 9, "added_tokens": false,
        "terms": {
            "forms_added": 0, "forms_added_tokens": 0, "forms_existed": 0, "forms_refused": 0,
        },
        "new_ids": 30, "new_merges": 30, "base_vocab_size": 400,
    });
    assert_eq!(decisions.to_string(), expected.to_string());
    assert_eq!(lineage, "base grown, 30 new ids");
});

corpusdb_test!(extension_copies_unchanged_ids, TokenizerCorpus::crawl(79, 150), |place| {
    place.train("base", &["--vocab-size", "500"]);
    let corpus = place.open();
    // Words that stand in few documents.
    let texts: Vec<String> = corpus
        .select("kept")
        .unwrap()
        .iter()
        .map(|document| corpus.view().text(DocId(document)).unwrap())
        .collect();
    let words: Vec<&str> = texts[..3]
        .iter()
        .flat_map(|text| text.split_whitespace())
        .filter(|word| word.len() > 6 && word.chars().all(char::is_alphabetic))
        .take(4)
        .collect();
    assert!(!words.is_empty());
    let terms = place.scratch.write("terms.txt", format!("{}\nnot one word\n", words.join("\n")));
    let out = place.scratch.arg("longer");
    let told = place
        .tokenizer("extend", &["base", "longer", "--terms", &terms, "--out", &out, "--json"])
        .good()
        .json();
    assert_eq!(told["type"], "tokenizer");
    // One object, of the terms and of the tokenizer.
    let refused = &told["terms"].as_array().unwrap()[words.len()];
    assert_eq!(refused["term"], "not one word");
    let [encoded, copied] =
        ["encoded_documents", "copied_documents"].map(|key| told[key].as_u64().unwrap());
    assert!(encoded > 0 && copied > encoded, "{encoded} encoded, {copied} copied");
    assert_eq!(as_reference(&place, "longer") as u64, encoded + copied);
    for word in &words {
        let told = place.tokenizer("encode", &["longer", "--text", word, "--json"]).good().json();
        assert_eq!(told["tokens"].as_array().unwrap().len(), 1, "{word}");
    }
    let file = std::fs::read(Path::new(&out).join("tokenizer.json")).unwrap();
    assert_eq!(file, place.file("longer"));
    let map = std::fs::read_to_string(Path::new(&out).join("embedding_map.jsonl")).unwrap();
    let first: Value = serde_json::from_str(map.lines().next().unwrap()).unwrap();
    assert_eq!(first["id"], 500);
    assert!(Path::new(&out).join("embedding_map.safetensors").exists());

    let diff = place.tokenizer("diff", &["base", "longer", "--json"]).good().json();
    assert_eq!((&diff["kept"], &diff["keeps_old_ids"]), (&json!(500), &json!(true)));
    assert_eq!(diff["added"].as_array().unwrap().len(), map.lines().count());

    let grown = place.scratch.arg("grown");
    let told = place
        .tokenizer("extend", &["base", "grown", "--grow", "60", "--out", &grown, "--json"])
        .good()
        .json();
    assert_eq!(told["vocab_size"], 560);
    assert!(as_reference(&place, "grown") > 40);
    // Going on is what training to that size at once would have given.
    place.train("at-once", &["--vocab-size", "560", "--no-backfill"]);
    let merges = |name: &str| -> Value {
        let json: Value = serde_json::from_slice(&place.file(name)).unwrap();
        json["model"]["merges"].clone()
    };
    assert_eq!(merges("grown"), merges("at-once"));
    sound(&place.corpus);

    place.tokenizer("extend", &["base", "x", "--terms", &terms, "--out", &out]).fails(&["longer"]);
    let none = place.scratch.write("none.txt", "\n");
    let other = place.scratch.arg("other");
    place
        .tokenizer("extend", &["base", "x", "--terms", &none, "--out", &other])
        .fails(&["none.txt", "no term"]);
    assert!(!Path::new(&other).exists(), "a failure leaves nothing");
});

// A tokenizer of no new id was registered under the new name, and its documents encoded, as if it were one.
corpusdb_test!(an_empty_extension_registers_nothing, TokenizerCorpus::crawl(79, 30), |place| {
    place.train("base", &["--vocab-size", "400", "--no-backfill"]);
    let out = place.scratch.arg("out");
    let told = |arguments: &[&str]| {
        let all = [&["base", "longer", "--out", &out], arguments].concat();
        let ran = place.tokenizer("extend", &all);
        assert!(!Path::new(&out).exists(), "{ran}");
        let names = place.tokenizer("show", &["--json"]).good().stdout;
        assert!(!names.contains("longer"), "{names}");
        ran
    };
    let known = place.scratch.write("known.txt", "a\n");
    let ran = told(&["--terms", &known, "--forms", "bare"]).good();
    assert!(ran.stdout.contains("nothing to add: every term is a token of base"), "{ran}");
    let split = place.scratch.write("split.txt", "COVID-19\n");
    let ran = told(&["--terms", &split]);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.stdout.contains("nothing to add") && ran.stdout.contains("use base"), "{ran}");
    assert!(ran.stderr.contains("`COVID-19` is not added"), "{ran}");
    let rare = ["--grow", "5", "--min-frequency", "1000000000"];
    let ran = told(&rare);
    assert!(ran.code == Some(1) && ran.stdout.contains("no pair is frequent enough"), "{ran}");
    let ran = told(&[&rare[..], &["--json"]].concat());
    assert!(ran.code == Some(1) && ran.stdout.contains("\"nothing_added\""), "{ran}");
    // What can be added next time is.
    let new = place.scratch.write("new.txt", "a\nCOVID-19\nzyxwvu\n");
    place.tokenizer("extend", &["base", "longer", "--terms", &new, "--out", &out]).good();
    assert!(Path::new(&out).join("tokenizer.json").exists());
});

// The groups were printed before what is stored was encoded, and an extension made its directory before it was
// registered: who closed standard output got exit code 0, and half of the work.
corpusdb_test!(a_closed_pipe_gets_the_whole_work, TokenizerCorpus::crawl(81, 60), |place| {
    let closed = |verb: &str, more: &[&str]| {
        let arguments = [&["tokenizer", verb, &place.corpus], more].concat();
        let mut child =
            command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let ran = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!((ran.status.code(), said.as_str()), (Some(0), ""), "{verb}");
    };
    let out = place.scratch.arg("longer");
    closed("train", &["own", "--vocab-size", "400"]);
    closed("extend", &["own", "longer", "--term", "zyxwvu", "--out", &out]);
    let listed = place.tokenizer("show", &["--json"]).good().json_lines();
    let listed: Vec<_> = listed.iter().map(|one| (&one["name"], &one["complete"])).collect();
    assert_eq!(listed, [(&json!("own"), &json!(true)), (&json!("longer"), &json!(true))]);
    for name in ["tokenizer.json", "embedding_map.jsonl", "embedding_map.safetensors"] {
        assert!(Path::new(&out).join(name).exists(), "{name}");
    }
    // Of bad answers the exit code is bad, too.
    let mut child =
        command(&["tokenizer", "extend", &place.corpus, "own", "x", "--term", "COVID-19"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    sound(&place.corpus);
});

/// A name that another tokenizer had was refused after the whole training.
#[test]
fn names_in_use_are_refused_before_the_training() {
    let place = TokenizerCorpus::crawl(82, 60);
    place.train("own", &["--vocab-size", "400", "--no-backfill"]);
    // Training would find nothing to train on.
    let taken = ["own", "--vocab-size", "400", "--where", "false"];
    place.tokenizer("train", &taken).fails(&["`own` exists already"]);
    place.tokenizer("train", &["a b", "--where", "false"]).fails(&["\"a b\"", "must be letters"]);
    let missing = ["own", "own", "--term", "zyxwvu"];
    place.tokenizer("extend", &missing).fails(&["`own` exists already"]);
    // As after an interrupt.
    let again = place.train("own", &["--vocab-size", "400"]);
    assert_eq!(again["complete"], true);
    assert_eq!(again["decisions"]["options"]["vocab_size"], 400);
    let extend = |more: &[&str]| {
        let all = [&["own", "longer", "--term", "zyxwvu", "--json"], more].concat();
        place.tokenizer("extend", &all).good().json()["complete"].clone()
    };
    let out = place.scratch.arg("longer");
    assert_eq!(extend(&["--no-backfill"]), false);
    assert_eq!(extend(&["--out", &out]), true);
    assert!(Path::new(&out).join("embedding_map.jsonl").exists());
    // What cannot be written is refused before the work, too.
    let nowhere = place.scratch.arg("nowhere/else");
    place
        .tokenizer("extend", &["own", "y", "--term", "zyxwvu", "--out", &nowhere])
        .fails(&["is not a directory"]);
    assert_eq!(place.tokenizer("show", &["--json"]).good().json_lines().len(), 2);
}

corpusdb_test!(weights_and_tokens_come_in_files_too, TokenizerCorpus::crawl(83, 60), |place| {
    let books = place.scratch.write("books.jsonl", lines(&crawl(183, 20, true)));
    ingest(&place.corpus, &[&books], &["--source", "books"]);
    let weights = place.scratch.write("weights.json", "{\"web\": 3.0, \"books\": 0.5}");
    let seeds = place.scratch.write("seeds.txt", "zyxwvut\n");
    let fixed = ["--vocab-size", "420", "--by", "source", "--no-backfill"];
    let more = ["--weights", &weights, "--weight", "web=2", "--seed-tokens", &seeds];
    let seed = ["--seed-token", "antidis"];
    let trained = place.train("own", &[&fixed[..], &more, &seed].concat());
    let options = &trained["decisions"]["options"];
    assert_eq!(options["weights"], json!({ "web": 2.0, "books": 0.5 }));
    assert_eq!(options["seed_tokens"], json!(["zyxwvut", "antidis"]));
    let bad = ["t", "--weight", "web"];
    place.tokenizer("train", &bad).fails(&["--weight", "`web` is not GROUP=FACTOR"]);
    place.tokenizer("train", &["t", "--weight", "web=much"]).fails(&["`much`", "not a number"]);
    place.tokenizer("train", &["t", "--weight", "web=-1"]).fails(&["weights"]);
});

// It printed nothing.
corpusdb_test!(an_exported_tokenizer_is_reported, TokenizerCorpus::crawl(84, 60), |place| {
    place.train("own", &["--vocab-size", "400", "--no-backfill"]);
    let to = place.scratch.arg("own.json");
    let told = place.tokenizer("export", &["own", &to, "--json"]).good().json();
    let bytes = std::fs::read(&to).unwrap();
    assert_eq!(told["type"], "tokenizer_export");
    assert_eq!((&told["to"], &told["bytes"]), (&json!(to), &json!(bytes.len())));
    // To standard output it is the file and nothing else.
    assert_eq!(place.tokenizer("export", &["own", "-"]).good().stdout.as_bytes(), bytes);
    let files = place.scratch.arg("files");
    place.tokenizer("export", &["own", &files, "--originals"]).good();
    assert_eq!(std::fs::read(Path::new(&files).join("tokenizer.json")).unwrap(), bytes);
});

corpusdb_test!(analysis_counts_stored_texts_on_a_page, TokenizerCorpus::crawl(80, 150), |place| {
    place.train("a", &["--vocab-size", "600"]);
    place.train("b", &["--model", "wordpiece", "--vocab-size", "600"]);
    place.train("c", &["--model", "unigram", "--vocab-size", "600"]);
    let page = place.scratch.arg("page.html");
    let report = place
        .tokenizer("analyse", &["a", "b", "c", "--by", "language", "--html", &page, "--json"])
        .good()
        .json();
    assert_eq!(report["type"], "tokenizer_analysis");
    for (at, name) in ["a", "b", "c"].into_iter().enumerate() {
        let counted = corpusdb(&[
            "sql",
            &place.corpus,
            &format!("SELECT sum(tokens_{name}) AS n FROM documents WHERE kept"),
            "--json",
        ])
        .good()
        .json();
        assert_eq!(report["tokenizers"][at]["total"]["tokens"], counted["n"]);
    }
    // What each granularity costs, by the columns of the same documents.
    let sums = "SELECT sum(bytes) AS bytes, count(*) AS n FROM documents WHERE kept";
    let sums = corpusdb(&["sql", &place.corpus, sums, "--json"]).good().json();
    let [words, characters, bytes] = &report["baselines"].as_array().unwrap()[..] else {
        panic!("three: {}", report["baselines"])
    };
    assert_eq!((&words["name"], &words["fertility"]), (&json!("words"), &json!(1.0)));
    assert_eq!(characters["tokens"], report["tokenizers"][0]["total"]["characters"]);
    assert_eq!((&bytes["tokens"], &bytes["documents"]), (&sums["bytes"], &sums["n"]));
    assert_eq!(bytes["compression_ratio"], json!(0.5));
    for tokenizer in report["tokenizers"].as_array().unwrap() {
        let curve = &tokenizer["curve"];
        assert_eq!(curve["confirmed"], true);
        let points = curve["points"].as_array().unwrap();
        assert!(points.len() > 1, "{}", tokenizer["name"]);
        assert_eq!(points.last().unwrap()["vocab_size"], tokenizer["ids"]);
        assert!(tokenizer["no_curve"].is_null());
    }
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<svg") && !page.contains("<script src") && !page.contains("http"));
    let told = place.tokenizer("analyse", &["a"]).good();
    assert!(
        told.stdout.contains("(words)") && told.stdout.contains("compression"),
        "{}",
        told.stdout
    );
    place.tokenizer("analyse", &["a", "nobody"]).fails(&["`nobody`"]);
    place.tokenizer("analyse", &["a", "--reference", "b"]).fails(&["`b`"]);
    place.tokenizer("analyse", &["a", "--where", "false"]).fails(&["nothing to analyse"]);
});

corpusdb_test!(costly_words_are_terms_of_an_extension, TokenizerCorpus::crawl(80, 150), |place| {
    place.train("a", &["--vocab-size", "300"]);
    let file = place.scratch.arg("terms.txt");
    let terms =
        place.tokenizer("terms", &["a", "--top", "5", "--out", &file, "--json"]).good().json();
    assert_eq!((&terms["type"], &terms["grouped_by"]), (&json!("tokenizer_terms"), &json!("all")));
    let listed = terms["groups"][0]["terms"].as_array().unwrap();
    assert_eq!(listed.len(), 5);
    for term in listed {
        let [count, tokens, saved] =
            ["count", "tokens", "saved"].map(|of| term[of].as_u64().unwrap());
        assert!(saved > 0 && saved == tokens - count, "{term}");
    }
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.lines().eq(listed.iter().map(|term| term["word"].as_str().unwrap())));
    // The same for any number of threads.
    let again =
        place.tokenizer("terms", &["a", "--top", "5", "--threads", "3", "--json"]).good().json();
    assert_eq!(again, terms);
    // As tokens of the model they make the texts shorter.
    place.tokenizer("extend", &["a", "b", "--terms", &file]).good();
    let tokens = |name: &str| {
        let sum = format!("SELECT sum(tokens_{name}) AS n FROM documents WHERE kept");
        let sum = corpusdb(&["sql", &place.corpus, &sum, "--json"]).good().json();
        sum["n"].as_u64().unwrap()
    };
    assert!(tokens("b") < tokens("a"));
    let apart = place.tokenizer("terms", &["a", "--by", "source", "--top", "2"]).good();
    assert!(apart.stdout.contains("would save"), "{}", apart.stdout);
    place.tokenizer("terms", &["nobody"]).fails(&["`nobody`"]);
    place.tokenizer("terms", &["a", "--where", "false"]).fails(&["no kept documents"]);
});

corpusdb_test!(a_candidate_is_trained_without_a_trace, TokenizerCorpus::crawl(80, 150), |place| {
    place.train("own", &["--vocab-size", "400"]);
    let before = corpusdb(&["check", &place.corpus, "--digest", "--json"]).good().json();
    let file = place.scratch.arg("candidate.json");
    let told =
        place.tokenizer("train", &["--vocab-size", "400", "--out", &file, "--json"]).good().json();
    assert_eq!((&told["type"], &told["to"]), (&json!("tokenizer_candidate"), &json!(file)));
    let after = corpusdb(&["check", &place.corpus, "--digest", "--json"]).good().json();
    assert_eq!(after["digest"], before["digest"]);
    assert_eq!(place.listed().len(), 1);
    // It is the file that a registration gets, and is measured as if it were registered.
    assert_eq!(std::fs::read(&file).unwrap(), place.file("own"));
    let report = place.tokenizer("analyse", &["own", "--file", &file, "--json"]).good().json();
    let [registered, candidate] = &report["tokenizers"].as_array().unwrap()[..] else {
        panic!("two")
    };
    assert_eq!(candidate["name"], json!(file));
    assert_eq!(candidate["total"]["tokens"], registered["total"]["tokens"]);
    assert_eq!(candidate["vocabulary_use"], registered["vocabulary_use"]);
    place.tokenizer("analyse", &["--file", &file]).good();
    place.tokenizer("train", &["--vocab-size", "400"]).fails(&["NAME"]);
    place.tokenizer("train", &["t", "--out", &file]).fails(&["--out"]);
});

corpusdb_test!(a_short_vocabulary_says_why, TokenizerCorpus::crawl(80, 20), |place| {
    let many = ["--model", "wordpiece", "--vocab-size", "9000", "--score", "likelihood"];
    let told = place.tokenizer("train", &[&["own"], &many[..]].concat()).good();
    assert!(
        told.stderr.contains("of 9000 tokens: no pair is left that occurs 2 times"),
        "{}",
        told.stderr
    );
    assert!(told.stderr.contains("--min-frequency"), "{}", told.stderr);
    place.tokenizer("train", &["t", "--score", "likelihood"]).fails(&["--model wordpiece"]);
});
