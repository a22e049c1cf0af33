//! Token ids: those of the reference library, SentencePiece's too, and texts that are refused.

use crate::support::scenarios::TokenizerCorpus;
use crate::support::{
    MEMORY, Page, Random, assert_contains, assert_has, corpusdb, corpusdb_test, crawl, edited,
    ids_as_reference, ingest, init, json_lines, lines, prose, sound, sql, writer,
};
use corpusdb::Corpus;
use corpusdb::tokenizer::{
    REFERENCE, SENTENCEPIECE, Segmentation, TokenizerInput, TokenizerRegistration, convert,
};
use serde_json::{Value, json};

// ----
// Token ids: those of the reference library for every kept document, whenever and however they were made.

/// Texts that trip encoders.
fn hostile() -> Vec<String> {
    let mut texts: Vec<String> = [
        "👩‍👩‍👧‍👦 family, 🏳️‍🌈 flag, 🇩🇪🇫🇷 pair, 👍🏽 tone, ☃️ and ☃",
        "中文字符和日本語のテキストと한국어 텍스트が混ざる。全角：ＡＢＣ１２３",
        "null \u{0} bell \u{7} escape \u{1b}[31m delete \u{7f} next line \u{85} separator \u{2028} end",
        "<|endoftext|>",
        "before<|endoftext|>after <|pad|> <|endoftext|><|endoftext|> and <|endoftext |> < |endoftext|>",
        "tabs\t\t\tand\r\nwindows\r\nlines\n\n\n\n\nand  two   three    four     spaces",
        " leading and trailing ",
        "don't I'll we've they're he'd I'm it's DON'T I'LL 's 't",
        "e\u{301} é ﬁ ﬀ ß ẞ ŉ İ ı Ω Ω ≠ \u{338} \u{200b}zero\u{200b}width\u{feff}",
        "مرحبا بالعالم שלום עולם नमस्ते दुनिया สวัสดีชาวโลก",
        "0 00 000 0000 12345678901234567890 1.5e-10 ½ Ⅷ ② ٣ ৩",
        "\u{fffd} \u{fffe} \u{10ffff} \u{e000} \u{1d54f} \u{20000}",
        "a",
        "Ġ Ċ Âł ĉ the bytes of byte-level alphabets",
    ]
    .map(str::to_owned)
    .to_vec();
    texts.push(format!("runs{}of{}space", " ".repeat(3000), "\n".repeat(500)));
    texts.push("x".repeat(100_000));
    texts.push(format!("word {} word", "é".repeat(20_000)));
    texts.push("ab".repeat(30_000));
    texts
}

/// Ids as the reference library gives them when text is only text.
fn reference(json: &[u8], text: &str) -> Vec<u32> {
    let mut tokenizer = tokenizers::Tokenizer::from_bytes(json).unwrap();
    tokenizer.set_encode_special_tokens(true);
    tokenizer.encode(text, false).unwrap().get_ids().to_vec()
}

/// Every kept document has the reference's ids of every tokenizer; `tokens` counts them. How many were compared.
#[track_caller]
fn as_reference(corpus: &str) -> usize {
    let opened = Corpus::options().memory(MEMORY).open(corpus).unwrap();
    let mut compared = 0;
    for (_, record) in opened.view().tokenizers() {
        let column = format!("\"tokens_{}\"", record.name);
        let counts = corpusdb(&[
            "sql",
            corpus,
            &format!("SELECT {column} AS n FROM documents WHERE kept ORDER BY id"),
            "--json",
        ]);
        let counts = counts.good().json_lines();
        let lengths = ids_as_reference(&opened, &record.name);
        assert_eq!(counts.len(), lengths.len());
        for (length, count) in lengths.into_iter().zip(counts) {
            assert_eq!(count["n"], length, "{}", record.name);
            compared += 1;
        }
    }
    compared
}

fn keyed(texts: Vec<String>, name: &str) -> Vec<Page> {
    let keyed = |(number, text)| Page::keyed(format!("{name}-{number}"), text);
    texts.into_iter().enumerate().map(keyed).collect()
}

corpusdb_test!(ids_equal_the_reference_library, TokenizerCorpus::new(), |place| {
    let pages = crawl(41, 200, true);
    place.pour("a.jsonl", &pages[..120], &[]);
    // Hostile texts that come before a tokenizer and after it, and some that it was trained on.
    place.pour("hostile.jsonl", &keyed(hostile(), "early"), &[]);
    let trained = place.train(
        "own",
        &["--vocab-size", "700", "--special", "<|endoftext|>", "--special", "<|pad|>"],
    );
    assert_eq!((&trained["type"], &trained["complete"]), (&json!("tokenizer"), &json!(true)));
    assert!(trained["encoded_tokens"].as_u64().unwrap() > 1000);
    let again = hostile().into_iter().map(|text| format!("later words here {text} and there too"));
    let again: Vec<String> = again.collect();
    let report = place.pour("again.jsonl", &keyed(again, "late"), &["--tokenizer", "own"]);
    place.pour("b.jsonl", &pages[120..], &["--threads", "1", "--batch-bytes", "2kB"]);
    assert!(report["tokens"]["own"].as_u64().unwrap() > 1000);
    // Another model, added to all of it from a file.
    let other = TokenizerCorpus::new();
    other.pour("other.jsonl", &crawl(43, 60, true), &[]);
    other.train("small", &["--vocab-size", "300", "--special", "<|endoftext|>"]);
    let file = place.scratch.write("small.json", other.file("small"));
    corpusdb(&["tokenizer", "add", &place.corpus, "small", &file]).good();
    let compared = as_reference(&place.corpus);
    assert!(compared > 200, "{compared} documents");
    sound(&place.corpus);

    // Special tokens in texts are text: never the special ids.
    let corpus = Corpus::options().memory(MEMORY).open(&place.corpus).unwrap();
    let document = corpus.find_key("early-3").unwrap()[0];
    assert_eq!(corpus.view().text(document).unwrap(), "<|endoftext|>");
    for (id, _) in corpus.view().tokenizers() {
        let mut ids = Vec::new();
        assert!(corpus.view().tokens(id, document, &mut ids).unwrap());
        assert!(ids.len() > 1 && !ids.contains(&0), "{ids:?}");
    }
    assert_eq!(reference(&place.file("own"), "<|endoftext|>").len(), {
        let (id, _) = corpus.view().tokenizer_named("own").unwrap();
        let mut ids = Vec::new();
        corpus.view().tokens(id, document, &mut ids).unwrap();
        ids.len()
    });
});

corpusdb_test!(gpt2_files_give_the_ids_of_the_library, TokenizerCorpus::new(), |place| {
    place.pour("a.jsonl", &crawl(45, 80, true), &[]);
    place.train("own", &["--vocab-size", "500"]);
    let file: Value = serde_json::from_slice(&place.file("own")).unwrap();
    let vocab = place.scratch.write("vocab.json", file["model"]["vocab"].to_string());
    let merges: String = file["model"]["merges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| format!("{} {}\n", pair[0].as_str().unwrap(), pair[1].as_str().unwrap()))
        .collect();
    let merges = place.scratch.write("merges.txt", format!("#version: 0.2\n{merges}"));
    let add = ["tokenizer", "add", &place.corpus, "gpt2", "--vocab", &vocab, "--merges", &merges];
    corpusdb(&add).good();
    place.pour("hostile.jsonl", &keyed(hostile(), "hostile"), &[]);
    as_reference(&place.corpus);
    let rows = corpusdb(&["count", &place.corpus, "--where", "kept AND tokens_own <> tokens_gpt2"]);
    assert_eq!(rows.good().stdout, "0\n");
});

#[test]
fn training_is_the_same_for_any_batches_and_threads() {
    let pages = crawl(47, 250, true);
    let train = |cut: usize, batch: &str, threads: &str| {
        let place = TokenizerCorpus::new();
        let more = ["--batch-bytes", batch, "--threads", threads];
        place.pour("a.jsonl", &pages[..cut], &more);
        place.pour("b.jsonl", &pages[cut..], &more);
        let trained = place.train("own", &["--vocab-size", "600", "--threads", threads]);
        (trained["hash"].clone(), trained["vocab_size"].clone(), place.file("own"))
    };
    let first = train(125, "64MB", "2");
    assert_eq!(first.0, *blake3::hash(&first.2).to_hex().as_str());
    assert_eq!(first, train(10, "1kB", "1"));
    assert_eq!(first, train(200, "9kB", "2"));
}

corpusdb_test!(a_tokenizer_name_cannot_be_reused, TokenizerCorpus::new(), |place| {
    place.pour("a.jsonl", &crawl(49, 60, true), &[]);
    place.train("own", &["--vocab-size", "400"]);
    let before = place.listed();
    let own = place.scratch.write("own.json", place.file("own"));
    let other = place.scratch.write("other.json", [place.file("own"), b"\n".to_vec()].concat());
    let add = |name: &str, file: &str| {
        corpusdb(&["tokenizer", "add", &place.corpus, name, file, "--json"])
    };
    add("own", &other).fails(&["`own` exists already", "another name"]);
    assert_eq!(place.listed(), before);
    // The same file goes on where it stopped: here, at the end.
    let again = add("own", &own).good().json();
    assert_eq!((&again["complete"], &again["encoded_tokens"]), (&json!(true), &json!(0)));
    assert_eq!(place.listed(), before);
    add("own-2", &own).good();
    assert_eq!(place.listed().len(), 2);
    assert!(as_reference(&place.corpus) > 40);

    add("no file", &own).fails(&["no file", "letters, digits"]);
    add("absent", &place.scratch.arg("absent.json")).fails(&["absent.json"]);
    let broken = place.scratch.write("broken.json", "{\"model\":");
    add("broken", &broken).fails(&["not a usable tokenizer.json"]);
    corpusdb(&["tokenizer", "add", &place.corpus, "none"]).fails(&["FILE"]);
    corpusdb(&["tokenizer", "train", &place.corpus, "tiny", "--vocab-size", "100"])
        .fails(&["100", "257"]);
    assert_eq!(place.listed().len(), 2);
    sound(&place.corpus);
});

corpusdb_test!(an_unknown_tokenizer_of_an_ingest_is_named, TokenizerCorpus::new(), |place| {
    let file = place.scratch.write("a.jsonl", lines(&crawl(51, 40, true)));
    let ingest = |name: &str| {
        corpusdb(&["ingest", &place.corpus, &file, "--source", "web", "--tokenizer", name])
    };
    ingest("gpt2").fails(&["no tokenizer `gpt2`", "there is none", "corpusdb tokenizer add"]);
    place.pour("b.jsonl", &crawl(52, 40, true), &[]);
    place.train("own", &["--vocab-size", "300"]);
    let before = corpusdb(&["count", &place.corpus]).good().stdout;
    ingest("gpt2").fails(&["no tokenizer `gpt2`", "there is `own`"]);
    let after = corpusdb(&["count", &place.corpus]).good().stdout;
    assert_eq!(after, before, "refused before anything was read");
    ingest("own").good();
    as_reference(&place.corpus);
});

corpusdb_test!(a_document_that_is_kept_again_has_its_ids, TokenizerCorpus::new(), |place| {
    let mut random = Random::new(53);
    let mut pages = Vec::new();
    for number in 0..30 {
        let text = prose(&mut random, number, 80);
        let near = edited(&mut random, &text, 1);
        pages.push(Page::keyed(format!("first-{number}"), text));
        pages.push(Page::keyed(format!("second-{number}"), near));
    }
    place.pour("a.jsonl", &pages, &[]);
    place.train("early", &["--vocab-size", "500"]);
    let removed = corpusdb(&["count", &place.corpus, "--where", "standing = 'near'"]).good().stdout;
    let removed: usize = removed.trim().parse().unwrap();
    assert!(removed >= 20, "{removed}");
    place.train("late", &["--vocab-size", "300"]);
    let none = "NOT kept AND (tokens_early IS NOT NULL OR tokens_late IS NOT NULL)";
    assert_eq!(corpusdb(&["count", &place.corpus, "--where", none]).good().stdout, "0\n");
    // Every witness gets other words; what it removed stands for itself again.
    let news: Vec<Page> = (0..30)
        .map(|number| Page::keyed(format!("first-{number}"), prose(&mut random, number + 1, 60)))
        .collect();
    assert_eq!(place.pour("b.jsonl", &news, &[])["updated"], 30);
    let again = "kept AND key LIKE 'second-%'";
    assert_eq!(corpusdb(&["count", &place.corpus, "--where", again]).good().stdout, "30\n");
    assert_eq!(as_reference(&place.corpus), 120, "60 documents for two tokenizers");
    sound(&place.corpus);
});

// Each commit took 32 MiB of text whatever the memory was: half a gigabyte under a limit of 128 MB.
corpusdb_test!(backfill_commits_within_the_memory, TokenizerCorpus::new(), |place| {
    place.pour("a.jsonl", &crawl(53, 40, true), &[]);
    place.train("own", &["--vocab-size", "400"]);
    let text = |number: u32| -> String {
        (0..60_000).map(|at| format!("{} ", (number * 60_000 + at) * 7919 % 1_000_003)).collect()
    };
    let long: String = (0..8)
        .map(|number| format!("{{\"id\":\"l{number}\",\"text\":\"{}\"}}\n", text(number)))
        .collect();
    let file = place.scratch.write("long.jsonl", long);
    corpusdb(&["ingest", &place.corpus, &file, "--source", "long"]).good();
    let own = place.scratch.write("own.json", place.file("own"));
    let commits = |name: &str, memory: &str| {
        corpusdb(&["tokenizer", "add", &place.corpus, name, &own, "--memory", memory]).good();
        let counted = format!("SELECT count(*) AS n FROM commits WHERE subject = '{name}'");
        let rows = sql(&place.corpus, &counted);
        rows[0]["n"].as_u64().unwrap()
    };
    let (few, many) = (commits("roomy", "4GiB"), commits("tight", "32MiB"));
    assert!(few <= 2 && many >= few + 2, "{few} and {many}");
});

// ----
// Texts that a tokenizer refuses, and tokenizers that refuse texts.

/// One that tries every way to share out a run of `q` that does not end the text, and then gives up.
fn picky() -> String {
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(q+)+$"}, "behavior": "Isolated", "invert": false},
        "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "a": 1}, "unk_token": "[UNK]"}
    })
    .to_string()
}

fn bad() -> String {
    format!("{}!", "q".repeat(60))
}

fn record(id: &str, text: &str) -> String {
    format!("{}\n", json!({"id": id, "text": text}))
}

fn tokens(corpus: &str) -> Vec<Value> {
    let query = "SELECT tokens_picky AS n FROM documents WHERE kept ORDER BY id";
    let rows = corpusdb(&["sql", corpus, query, "--format", "json"]).good();
    json_lines(&rows.stdout).iter().map(|row| row["n"].clone()).collect()
}

// The error named neither file nor record, and came again with every later ingest.
corpusdb_test!(texts_refused_by_a_tokenizer_are_stored_without_ids, |scratch| {
    let (corpus, tokenizer) = (scratch.arg("corpus"), scratch.write("picky.json", picky()));
    init(&corpus, &[]);
    corpusdb(&["tokenizer", "add", &corpus, "picky", &tokenizer]).good();
    let more = ["--source", "main", "--id-field", "id"];
    let path =
        scratch.write("a.jsonl", record("1", "one") + &record("2", &bad()) + &record("3", "three"));
    let fails = corpusdb(&[&["ingest", &corpus, &path, "--on-error", "fail"], &more[..]].concat());
    fails.fails(&["a.jsonl", "record 1", "picky", "--on-error reject"]);
    let report = ingest(&corpus, &[&path], &more);
    assert_eq!((&report["kept"], &report["rejected"]), (&json!(3), &json!(0)));
    assert_has(&report["refused"]["picky"], &json!({ "documents": 1, "first": 1 }));
    assert_eq!(tokens(&corpus), [json!(1), json!(0), json!(1)]);
    let next = scratch.write("b.jsonl", record("4", "four"));
    assert_eq!(ingest(&corpus, &[&next], &more)["kept"], 1);
    sound(&corpus);
});

// A document that was removed as similar has no ids; when its witness goes it is kept, and encoded then.
corpusdb_test!(texts_refused_late_stop_nothing, |scratch| {
    let (corpus, tokenizer) = (scratch.arg("corpus"), scratch.write("picky.json", picky()));
    init(&corpus, &[]);
    corpusdb(&["tokenizer", "add", &corpus, "picky", &tokenizer]).good();
    let more = ["--source", "main", "--id-field", "id"];
    let path = scratch.write("a.jsonl", record("1", &"q".repeat(60)) + &record("2", &bad()));
    assert_eq!(ingest(&corpus, &[&path], &more)["near_duplicates"], 1);
    let report = scratch.ingest(&corpus, "b.jsonl", record("1", "another text"), &more);
    assert_eq!(report["refused"]["picky"]["documents"], 1, "{report}");
    assert_eq!(tokens(&corpus), [json!(0), json!(1)]);
    sound(&corpus);
    corpusdb(&["tokenizer", "drop", &corpus, "picky"]).good();
    let added =
        corpusdb(&["tokenizer", "add", &corpus, "picky", &tokenizer, "--json"]).good().json();
    assert_eq!(added["refused"]["documents"], 1, "{added}");
    assert_eq!(tokens(&corpus), [json!(0), json!(1)]);
    sound(&corpus);
});

// It was accepted, and then no document could be stored.
corpusdb_test!(partial_tokenizers_are_refused_on_add, |scratch, corpus| {
    let without_unk = picky().replace("[UNK]\",", "a\",");
    let without_unk = without_unk.replace("\"unk_token\":\"[UNK]\"", "\"unk_token\":\"missing\"");
    let path = scratch.write("unk.json", without_unk);
    corpusdb(&["tokenizer", "add", &corpus, "words", &path])
        .fails(&["cannot encode every text", "unknown token"]);
    let path = scratch.write("regex.json", picky().replace("(q+)+$", "(a+)+$"));
    corpusdb(&["tokenizer", "add", &corpus, "runs", &path])
        .fails(&["cannot encode every text", "another split pattern"]);
    let listed = corpusdb(&["tokenizer", "show", &corpus]).good();
    assert!(!listed.stdout.contains("words") && !listed.stdout.contains("runs"), "{listed}");
});

// ----
// SentencePiece models: their ids, what is stored of them, and what becomes of those that older releases registered.

/// Models that sentencepiece 0.2.3 trained, texts, and the ids that it gave.
const BPE: &[u8] = include_bytes!("../../../crates/tokenizer/src/convert/vectors/bpe.model");
const UNIGRAM: &[u8] =
    include_bytes!("../../../crates/tokenizer/src/convert/vectors/unigram.model");
const IDS: &str = include_str!("../../../crates/tokenizer/src/convert/vectors/ids.json");

#[test]
fn a_model_has_the_ids_of_sentencepiece() {
    let golden: Value = serde_json::from_str(IDS).unwrap();
    let home = TokenizerCorpus::crawl(71, 40);
    for (name, model) in [("bpe", BPE), ("unigram", UNIGRAM)] {
        let file = home.scratch.write(&format!("{name}.model"), model);
        let added = home.tokenizer("add", &[name, &file, "--json"]).good().json();
        assert_has(&added, &json!({ "backend": "sentencepiece", "reference": SENTENCEPIECE }));
        let engines = &added["engines"];
        assert_eq!((&engines["fast"], &engines["reference"]), (&json!(0), &json!(0)));
        assert_eq!(engines["sentencepiece"], added["encoded_documents"]);
        home.tokenizer("check", &[name]).good().prints(&[
            "the ids are those of SentencePiece's own algorithm",
            "stored ids: those of a sample equal those of the texts",
        ]);
        let corpus = home.open();
        let texts = golden["texts"].as_array().unwrap();
        for (text, ids) in texts.iter().zip(golden[name].as_array().unwrap()) {
            let tokens = corpus
                .encode(Some(name), text.as_str().unwrap(), false, Segmentation::Best)
                .unwrap();
            let found: Vec<u32> = tokens.iter().map(|token| token.id).collect();
            assert_eq!(json!(found), *ids, "{name} {text}");
        }
    }
    sound(&home.corpus);
}

corpusdb_test!(a_model_is_exported_as_it_was, TokenizerCorpus::crawl(72, 20), |home| {
    let file = home.scratch.write("spiece.model", UNIGRAM);
    let added = home.tokenizer("add", &["piece", &file, "--json"]).good().json();
    let again = home.scratch.arg("again.model");
    home.tokenizer("export", &["piece", &again]).good();
    assert_eq!(std::fs::read(&again).unwrap(), UNIGRAM);
    // The file that was made of it decides other ids, and is another tokenizer.
    let json = home.scratch.arg("tokenizer.json");
    let exported = home.tokenizer("export", &["piece", &json]).good();
    assert_eq!(exported.stderr, "");
    let library = home.tokenizer("add", &["library", &json, "--json"]).good().json();
    assert_eq!(library["reference"], REFERENCE);
    assert_ne!(library["hash"], added["hash"]);
    // The same once more is the same; another one under the name is refused.
    let same = home.tokenizer("add", &["piece", &file, "--json"]).good().json();
    assert_eq!((&same["hash"], &same["encoded_tokens"]), (&added["hash"], &json!(0)));
    home.tokenizer("add", &["piece", &json]).fails(&["piece"]);
    sound(&home.corpus);
});

/// A model with a user symbol behind its pieces: SentencePiece looks for it before it normalises a text, the library
/// after that, when two spaces are one.
fn with_user_symbol(model: &[u8], symbol: &str) -> Vec<u8> {
    let bytes = u8::try_from(symbol.len()).unwrap();
    // A piece is field 1 of the model. Its own fields: 1, the text; 3, the kind, 4 for a user symbol.
    let piece = [&[0x0a, bytes], symbol.as_bytes(), &[0x18, 4]].concat();
    [model, &[0x0a, u8::try_from(piece.len()).unwrap()], &piece].concat()
}

corpusdb_test!(an_export_names_a_text_with_other_ids, TokenizerCorpus::crawl(74, 20), |home| {
    let file = home.scratch.write("symbols.model", with_user_symbol(UNIGRAM, "  "));
    home.tokenizer("add", &["symbols", &file]).good();
    let exported = home.tokenizer("export", &["symbols", &home.scratch.arg("symbols.json")]).good();
    assert_contains(&exported.stderr, &["other ids than SentencePiece", "NAME.model"]);
});

corpusdb_test!(models_of_older_releases_keep_their_ids, TokenizerCorpus::crawl(73, 20), |home| {
    let mut json: Value =
        serde_json::from_slice(&convert(TokenizerInput::SentencePiece(UNIGRAM)).unwrap().json)
            .unwrap();
    // As if that release had numbered two letters otherwise.
    for entry in json["model"]["vocab"].as_array_mut().unwrap() {
        let other = match entry[0].as_str() {
            Some("e") => "a",
            Some("a") => "e",
            _ => continue,
        };
        entry[0] = json!(other);
    }
    let json = json.to_string();
    let originals = [("tokenizer.model".to_owned(), UNIGRAM.to_vec())];
    let registration = TokenizerRegistration {
        name: "old",
        json: json.as_bytes(),
        originals: &originals,
        ..TokenizerRegistration::default()
    };
    let record = writer(home.corpus.as_ref()).register(&registration).unwrap();
    assert_eq!(record.reference, REFERENCE);
    home.tokenizer("backfill", &["old"]).good();
    let check = home.tokenizer("check", &["old", "--json"]).json();
    let cases = check["check"]["cases"].as_array().unwrap();
    let case = cases.iter().find(|case| case["name"] == "ids of SentencePiece").unwrap();
    let what = case["what"].as_str().unwrap();
    assert_eq!(case["verdict"], "fault", "{what}");
    assert!(
        what.starts_with(&format!("its ids are those of {REFERENCE}; SentencePiece gives")),
        "{what}"
    );
    assert!(what.ends_with("register the .model under a new name"), "{what}");
    let file = home.scratch.write("spiece.model", UNIGRAM);
    let new = home.tokenizer("add", &["new", &file, "--json"]).good().json();
    assert_eq!(new["reference"], SENTENCEPIECE);
    sound(&home.corpus);
});

corpusdb_test!(an_extension_of_a_model_takes_over_no_ids, TokenizerCorpus::crawl(74, 20), |home| {
    let file = home.scratch.write("spiece.model", BPE);
    let added = home.tokenizer("add", &["piece", &file, "--json"]).good().json();
    let terms = home.scratch.write("terms.txt", "zyzzyva\n");
    let out = home.scratch.arg("more");
    let more = home
        .tokenizer("extend", &["piece", "more", "--terms", &terms, "--out", &out, "--json"])
        .good()
        .json();
    assert_eq!((&more["copied_documents"], &more["reference"]), (&json!(0), &json!(REFERENCE)));
    assert_eq!(more["encoded_documents"], added["encoded_documents"]);
    sound(&home.corpus);
});

#[test]
fn no_vocabulary_with_marks_for_spaces_has_a_nul() {
    let mut pages = crawl(75, 40, true);
    pages.iter_mut().for_each(|page| page.text.push_str(" end\0of\0text"));
    let home = TokenizerCorpus::of(&pages);
    for model in ["unigram", "bpe"] {
        let options = ["--vocab-size", "500", "--byte-fallback", "--character-coverage", "1"];
        home.tokenizer("train", &[&[model, "--model", model], &options[..]].concat()).good();
        let (corpus, model_file) = (home.open(), home.scratch.arg("own.model"));
        let json: Value = serde_json::from_slice(&corpus.tokenizer_json(model).unwrap()).unwrap();
        assert!(!json["model"]["vocab"].to_string().contains("\\u0000"), "{model}");
        drop(corpus);
        home.tokenizer("export", &[model, &model_file]).good();
        // What was exported gives the ids that are stored here.
        home.tokenizer("add", &[&format!("{model}-back"), &model_file]).good();
        let corpus = home.open();
        let (own, back) = (
            corpus.tokenizer(Some(model)).unwrap(),
            corpus.tokenizer(Some(&format!("{model}-back"))).unwrap(),
        );
        let (mut own_encoder, mut back_encoder) =
            (own.tokenizer.encoder(), back.tokenizer.encoder());
        for page in &pages {
            let (mut own_ids, mut back_ids) = (Vec::new(), Vec::new());
            own_encoder.encode(&page.text, &mut own_ids).unwrap();
            back_encoder.encode(&page.text, &mut back_ids).unwrap();
            assert_eq!(own_ids, back_ids, "{model} {:?}", page.text);
        }
    }
}

// ----
// Other segmentations than the one that is stored.

#[test]
fn segmentations_are_listed_and_drawn_by_the_command() {
    let home = TokenizerCorpus::crawl(76, 20);
    for (name, model) in [("bpe", BPE), ("unigram", UNIGRAM)] {
        let file = home.scratch.write(&format!("{name}.model"), model);
        home.tokenizer("add", &[name, &file]).good();
    }
    let encode = |name: &str, options: &[&str]| {
        let text = ["--text", "internationalisation of segments"];
        home.tokenizer("encode", &[&[name], &text[..], options].concat())
    };
    let plain = encode("unigram", &["--json"]).good().json();
    let listed = encode("unigram", &["--nbest", "20", "--json"]).good().json();
    assert_eq!(listed["tokens"][0]["id"], plain["tokens"][0]["id"]);
    let best = listed["nbest"]["segmentations"].as_array().unwrap();
    assert_eq!((best.len(), &best[0]["tokens"]), (20, &listed["tokens"]));
    let logs: Vec<f64> = best.iter().map(|one| one["log_probability"].as_f64().unwrap()).collect();
    assert!(logs.is_sorted_by(|a, b| a >= b) && logs[0] > logs[19], "{logs:?}");
    let shares: f64 = best.iter().map(|one| one["probability"].as_f64().unwrap()).sum();
    assert!(shares > 0.0 && shares <= 1.0 + 1e-9, "{shares}");
    let shown = encode("unigram", &["--nbest", "3"]).good();
    shown.prints(&["probability", "log probability", "entropy of all segmentations"]);
    let draw = |name: &str, options: &[&str], seed: u64| {
        let seed = seed.to_string();
        let options = [options, &["--segmentation-seed", &seed, "--json"]].concat();
        encode(name, &options).good().json()["tokens"].clone()
    };
    for (name, weak, none) in [
        ("unigram", ["--alpha", "0.1"], ["--alpha", "1000000"]),
        ("bpe", ["--dropout", "0.5"], ["--dropout", "0"]),
    ] {
        let ids = |tokens: &Value| -> Vec<Value> {
            tokens.as_array().unwrap().iter().map(|token| token["id"].clone()).collect()
        };
        let stored = encode(name, &["--json"]).good().json()["tokens"].clone();
        assert_eq!(ids(&draw(name, &none, 1)), ids(&stored), "{name}");
        assert_eq!(draw(name, &weak, 1), draw(name, &weak, 1), "{name}");
        assert!((1..6).any(|seed| ids(&draw(name, &weak, seed)) != ids(&stored)), "{name}");
    }
    encode("bpe", &["--nbest", "3"]).fails(&["is a BPE", "--dropout", "--model unigram"]);
    encode("unigram", &["--nbest", "1025"]).fails(&["--nbest", "from 1 to 1024"]);
    encode("unigram", &["--dropout", "0.1", "--segmentation-seed", "1"])
        .fails(&["--dropout needs a BPE", "--alpha"]);
    encode("bpe", &["--dropout", "0.1"]).fails(&["--segmentation-seed"]);
    encode("unigram", &["--nbest", "3", "--alpha", "1"]).fails(&["--nbest", "--alpha"]);
}
