//! Token ids: those of the reference library for every kept document, whenever and however they were made.

use crate::support::reference_ids::ids_as_reference;
use crate::support::{
    MEMORY, Page, Random, TestDir, corpusdb, crawl, edited, ingest, init, lines, prose, sound,
};
use corpusdb::Corpus;
use serde_json::{Value, json};

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

struct EncodedCorpus {
    scratch: TestDir,
    corpus: String,
}

impl EncodedCorpus {
    fn new() -> Self {
        let scratch = TestDir::new();
        let corpus = scratch.arg("corpus");
        init(&corpus, &[]);
        Self { scratch, corpus }
    }

    fn pour(&self, name: &str, pages: &[Page], more: &[&str]) -> Value {
        let file = self.scratch.write(name, lines(pages));
        ingest(&self.corpus, &[&file], &[&["--source", "web", "--id-field", "id"], more].concat())
    }

    fn train(&self, name: &str, size: &str, more: &[&str]) -> Value {
        let arguments = ["tokenizer", "train", &self.corpus, name, "--vocab-size", size, "--json"];
        corpusdb(&[&arguments[..], more].concat()).good().json()
    }

    fn listed(&self) -> Vec<Value> {
        corpusdb(&["tokenizer", "list", &self.corpus, "--json"]).good().json_lines()
    }

    /// A tokenizer's file, out of the corpus.
    fn file(&self, name: &str) -> Vec<u8> {
        let corpus = Corpus::options().memory(MEMORY).open(&self.corpus).unwrap();
        let (id, _) = corpus.view().tokenizer_named(name).unwrap();
        corpus.view().tokenizer_file(id).unwrap()
    }
}

fn keyed(texts: Vec<String>, name: &str) -> Vec<Page> {
    let keyed = |(number, text)| Page::keyed(format!("{name}-{number}"), text);
    texts.into_iter().enumerate().map(keyed).collect()
}

#[test]
fn ids_equal_the_reference_library() {
    let place = EncodedCorpus::new();
    let pages = crawl(41, 200, true);
    place.pour("a.jsonl", &pages[..120], &[]);
    // Hostile texts that come before a tokenizer and after it, and some that it was trained on.
    place.pour("hostile.jsonl", &keyed(hostile(), "early"), &[]);
    let trained =
        place.train("own", "700", &["--special", "<|endoftext|>", "--special", "<|pad|>"]);
    assert_eq!((&trained["type"], &trained["complete"]), (&json!("tokenizer"), &json!(true)));
    assert!(trained["encoded_tokens"].as_u64().unwrap() > 1000);
    let again: Vec<String> = hostile()
        .into_iter()
        .map(|text| format!("later words here {text} and there too"))
        .collect();
    let report = place.pour("again.jsonl", &keyed(again, "late"), &["--tokenizer", "own"]);
    place.pour("b.jsonl", &pages[120..], &["--threads", "1", "--batch-bytes", "2kB"]);
    assert!(report["tokens"]["own"].as_u64().unwrap() > 1000);
    // Another model, added to all of it from a file.
    let other = EncodedCorpus::new();
    other.pour("other.jsonl", &crawl(43, 60, true), &[]);
    other.train("small", "300", &["--special", "<|endoftext|>"]);
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
}

#[test]
fn gpt2_files_give_the_ids_of_the_library() {
    let place = EncodedCorpus::new();
    place.pour("a.jsonl", &crawl(45, 80, true), &[]);
    place.train("own", "500", &[]);
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
}

#[test]
fn training_is_the_same_for_any_batches_and_threads() {
    let pages = crawl(47, 250, true);
    let train = |cut: usize, batch: &str, threads: &str| {
        let place = EncodedCorpus::new();
        let more = ["--batch-bytes", batch, "--threads", threads];
        place.pour("a.jsonl", &pages[..cut], &more);
        place.pour("b.jsonl", &pages[cut..], &more);
        let trained = place.train("own", "600", &["--threads", threads]);
        (trained["hash"].clone(), trained["vocab_size"].clone(), place.file("own"))
    };
    let first = train(125, "64MB", "2");
    assert_eq!(first.0, *blake3::hash(&first.2).to_hex().as_str());
    assert_eq!(first, train(10, "1kB", "1"));
    assert_eq!(first, train(200, "9kB", "2"));
}

#[test]
fn a_tokenizer_name_cannot_be_reused() {
    let place = EncodedCorpus::new();
    place.pour("a.jsonl", &crawl(49, 60, true), &[]);
    place.train("own", "400", &[]);
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
}

#[test]
fn an_ingest_with_an_unknown_tokenizer_names_those_there_are() {
    let place = EncodedCorpus::new();
    let file = place.scratch.write("a.jsonl", lines(&crawl(51, 40, true)));
    let ingest = |name: &str| {
        corpusdb(&["ingest", &place.corpus, &file, "--source", "web", "--tokenizer", name])
    };
    ingest("gpt2").fails(&["no tokenizer `gpt2`", "there is none", "corpusdb tokenizer add"]);
    place.pour("b.jsonl", &crawl(52, 40, true), &[]);
    place.train("own", "300", &[]);
    let before = corpusdb(&["count", &place.corpus]).good().stdout;
    ingest("gpt2").fails(&["no tokenizer `gpt2`", "there is `own`"]);
    let after = corpusdb(&["count", &place.corpus]).good().stdout;
    assert_eq!(after, before, "refused before anything was read");
    ingest("own").good();
    as_reference(&place.corpus);
}

#[test]
fn a_document_that_is_kept_again_has_its_ids() {
    let place = EncodedCorpus::new();
    let mut random = Random::new(53);
    let mut pages = Vec::new();
    for number in 0..30 {
        let text = prose(&mut random, number, 80);
        let near = edited(&mut random, &text, 1);
        pages.push(Page::keyed(format!("first-{number}"), text));
        pages.push(Page::keyed(format!("second-{number}"), near));
    }
    place.pour("a.jsonl", &pages, &[]);
    place.train("early", "500", &[]);
    let removed = corpusdb(&["count", &place.corpus, "--where", "standing = 'near'"]).good().stdout;
    let removed: usize = removed.trim().parse().unwrap();
    assert!(removed >= 20, "{removed}");
    place.train("late", "300", &[]);
    let none = "NOT kept AND (tokens_early IS NOT NULL OR tokens_late IS NOT NULL)";
    assert_eq!(corpusdb(&["count", &place.corpus, "--where", none]).good().stdout, "0\n");
    // Every witness gets other words; what it removed stands for itself again.
    let news: Vec<Page> = (0..30)
        .map(|number| Page::keyed(format!("first-{number}"), prose(&mut random, number + 1, 60)))
        .collect();
    let report = place.pour("b.jsonl", &news, &[]);
    assert_eq!(report["updated"], 30);
    let again = "kept AND key LIKE 'second-%'";
    assert_eq!(corpusdb(&["count", &place.corpus, "--where", again]).good().stdout, "30\n");
    assert_eq!(as_reference(&place.corpus), 120, "60 documents for two tokenizers");
    sound(&place.corpus);
}

/// Each commit took 32 MiB of text whatever the memory was: half a gigabyte under a limit of 128 MB.
#[test]
fn backfill_commits_within_the_memory() {
    let place = EncodedCorpus::new();
    place.pour("a.jsonl", &crawl(53, 40, true), &[]);
    place.train("own", "400", &[]);
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
        let rows =
            corpusdb(&["sql", &place.corpus, &counted, "--format", "json"]).good().json_lines();
        rows[0]["n"].as_u64().unwrap()
    };
    let (few, many) = (commits("roomy", "4GiB"), commits("tight", "32MiB"));
    assert!(few <= 2 && many >= few + 2, "{few} and {many}");
}
