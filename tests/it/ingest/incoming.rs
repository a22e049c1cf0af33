//! `ingest --where`: which records come in, however the input is cut, and what an ingest with another condition does.

use crate::support::{
    MEMORY, Page, Random, TestDir, corpusdb, crawl, ingest, init, lines, make, numbers, sound,
    sound_digest,
};
use corpusdb::ingest::{OnError, ReadOptions};
use corpusdb::{Context, Corpus, DedupMode, IngestOptions};
use serde_json::{Value, json};

const COUNTS: [&str; 4] = ["read", "added", "filtered", "rejected"];

/// Records with scores of every spelling, keyed; some are `strange`, and no numbers.
fn scored(count: usize, strange: bool) -> String {
    let line = |n: usize| {
        let score = match n % 7 {
            0 => json!(n),
            1 => json!(0.25),
            2 => json!(0.75),
            3 => Value::Null,
            4 => json!(-3),
            5 if strange => json!("much"),
            _ => json!(1.0),
        };
        let lang = ["de", "en"][n % 2];
        let text = format!("record {n} {}", "of many words ".repeat(n % 13));
        let mut record = json!({"id": format!("k{n}"), "text": text, "lang": lang});
        if !n.is_multiple_of(11) {
            record["score"] = score;
        }
        format!("{record}\n")
    };
    (0..count).map(line).collect()
}

#[test]
fn only_records_for_which_the_condition_is_true_come_in() {
    let scratch = TestDir::new();
    let (sifted, expected) = (scratch.arg("sifted"), scratch.arg("expected"));
    let all = scored(700, false);
    let is_in = |line: &&str| {
        let record: Value = serde_json::from_str(line).unwrap();
        record["score"].as_f64().is_some_and(|score| score > 0.5) && record["lang"] == "de"
    };
    let chosen: Vec<&str> = all.lines().filter(is_in).collect();
    assert!(chosen.len() > 100, "{}", chosen.len());
    let (file, few) = (scratch.write("all.jsonl", &all), chosen.join("\n"));
    let few = scratch.write("few.jsonl", few);
    for corpus in [&sifted, &expected] {
        init(corpus, &["--field", "score:float"]);
    }
    let by_id = ["--source", "web", "--id-field", "id"];
    let condition = "score > 0.5 AND lang = 'de'";
    let report = ingest(&sifted, &[&file], &[&by_id[..], &["--where", condition]].concat());
    let counts = numbers(&report, COUNTS);
    assert_eq!(counts, [700, chosen.len() as u64, 700 - chosen.len() as u64, 0], "{report}");
    ingest(&expected, &[&few], &by_id);
    // Not the digests: a document's place in its file is in them.
    let rows = "SELECT id, key, source, text, meta, standing, score FROM documents ORDER BY id";
    let rows = |corpus: &str| corpusdb(&["sql", corpus, rows, "--format", "csv"]).good().stdout;
    assert_eq!(rows(&sifted), rows(&expected));
    sound(&sifted);
    let again = ingest(&sifted, &[&file], &[&by_id[..], &["--where", condition]].concat());
    assert_eq!(numbers(&again, ["added", "commits", "filtered"]), [0, 0, 0], "read again: {again}");
    // Another condition: from the start, and what is stored stays.
    let wider = ingest(&sifted, &[&file], &[&by_id[..], &["--where", "lang = 'de'"]].concat());
    let stored = chosen.len() as u64;
    assert_eq!(numbers(&wider, ["read", "unchanged", "filtered"]), [700, stored, 350], "{wider}");
    let none = ingest(&sifted, &[&file], &[&by_id[..], &["--where", "1 = 2"]].concat());
    assert_eq!(numbers(&none, ["added", "filtered"]), [0, 700], "{none}");
    assert_eq!(corpusdb(&["count", &sifted]).good().stdout.trim(), "350");
    sound(&sifted);
}

#[test]
fn records_without_an_answer_become_rejects() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let file = scratch.write("a.jsonl", scored(70, true));
    let with = |condition: &'static str| ["--source", "web", "--where", condition];
    let report = ingest(&corpus, &[&file], &with("CAST(score AS DOUBLE) > 0.5"));
    let rejected = report["rejected"].as_u64().unwrap();
    assert!((5..=10).contains(&rejected), "{report}");
    let rejects = corpusdb(&["rejects", &corpus, "--json"]).good().stdout;
    assert!(rejects.contains("no answer") && rejects.contains("much"), "{rejects}");
    let fail =
        [&["ingest", &corpus, &file, "--on-error", "fail"], &with("CAST(score AS DOUBLE) > 0")[..]];
    corpusdb(&fail.concat()).fails(&["record 5", "no answer", "much"]);
    let typo = ingest(&corpus, &[&file], &with("scroe > 0.5 OR lang = 'fr'"));
    assert_eq!(typo["alarms"][0], json!({"kind": "unknown-fields", "fields": ["scroe"]}), "{typo}");
    let wrong = |condition: &str, words: &[&str]| {
        corpusdb(&["ingest", &corpus, &file, "--source", "web", "--where", condition]).fails(words);
    };
    wrong("score >", &["cannot use the condition `score >`"]);
    wrong("random() > 0.5", &["another value each time"]);
    wrong("score > (SELECT max(id) FROM documents)", &["a subquery"]);
    sound(&corpus);
}

#[test]
fn the_condition_sees_fields_as_they_are_kept_of_every_format() {
    let scratch = TestDir::new();
    let table =
        scratch.write("a.csv", "text,lang,n\nfirst one,de,1\nsecond one,en,2\nthird one,de,\n");
    let list = scratch.write(
        "b.json",
        json!([{"text": "x one", "lang": "de", "n": 1}, {"text": "y one", "lang": "en"}])
            .to_string(),
    );
    let chats = scratch.write(
        "c.jsonl",
        "{\"prompt\":\"a\",\"completion\":\" b\",\"n\":1}\n{\"prompt\":\"c\",\"n\":2}\n",
    );
    let case = |name: &str, file: &str, condition: &str, more: &[&str], expected: [u64; 4]| {
        let corpus = scratch.arg(name);
        init(&corpus, &["--mode", "none"]);
        let base = ["--source", "web", "--where", condition];
        let report = ingest(&corpus, &[file], &[&base[..], more].concat());
        assert_eq!(numbers(&report, COUNTS), expected, "{name}: {report}");
    };
    case("table", &table, "n >= 1 AND lang = 'de'", &[], [3, 1, 2, 0]);
    case("renamed", &table, "language = 'de'", &["--map", "language=lang"], [3, 2, 1, 0]);
    case("dropped", &table, "lang IS NULL", &["--drop-fields", "lang"], [3, 3, 0, 0]);
    case("by-source", &table, "source = 'de'", &["--source-from", "lang"], [3, 2, 1, 0]);
    case("text", &table, "chars < 10 AND text LIKE 'f%'", &[], [3, 1, 2, 0]);
    case("list", &list, "n = 1", &[], [2, 1, 1, 0]);
    // One that is not of the form asked for is no reject where it does not come in.
    let fail = ["--chat", "prompt-completion", "--on-error", "fail"];
    case("chat", &chats, "n = 1", &fail, [2, 1, 1, 0]);
}

/// However it is cut, read and resumed: the same corpus.
#[test]
fn no_cut_of_the_input_changes_the_selection() {
    let scratch = TestDir::new();
    let mut random = Random::new(7);
    let pages: Vec<Page> = crawl(7, 600, true);
    let mut all = lines(&pages);
    for at in 0..20 {
        all.push_str(&format!("{{\"id\":\"bad{at}\",\"text\":{at}}}\n"));
    }
    let half: usize = all.lines().take(250).map(|line| line.len() + 1).sum();
    let mut digests = Vec::new();
    for (batch_bytes, threads, grown) in
        [(1 << 24, 2, false), (2_000, 1, false), (20_000, 2, true), (1 << 24, 1, true)]
    {
        let path = scratch.path(&format!("corpus{}", random.next()));
        make(&path, DedupMode::Witness, 0.7);
        let mut writer =
            Corpus::options().memory(MEMORY).threads(threads).open_writer(&path).unwrap();
        let read = ReadOptions { id_field: Some("id".to_owned()), ..ReadOptions::default() };
        let options = IngestOptions {
            batch_bytes,
            read,
            condition: Some("chars % 3 <> 1 AND key NOT LIKE '%7'".to_owned()),
            ..IngestOptions::new("web")
        };
        let mut sums = [0; 3];
        let parts = if grown { vec![&all[..half], &all[..]] } else { vec![&all[..]] };
        for part in parts {
            let file = scratch.write("a.jsonl", part);
            let report = writer.ingest(&[file], &options, &Context::new()).unwrap();
            sums[0] += report.added;
            sums[1] += report.filtered;
            sums[2] += report.rejected;
        }
        assert!(sums[0] > 100 && sums[1] > 100 && sums[2] == 20, "{sums:?}");
        digests.push((sums, sound_digest(&writer.corpus())));
    }
    assert!(digests.windows(2).all(|pair| pair[0] == pair[1]), "{digests:?}");
}

#[test]
fn an_ingest_resumes_behind_filtered_records() {
    let scratch = TestDir::new();
    let path = scratch.path("corpus");
    make(&path, DedupMode::Witness, 0.7);
    let mut writer = Corpus::options().memory(MEMORY).threads(2).open_writer(&path).unwrap();
    let line = |n: usize| format!("{{\"text\":\"record {n}\",\"n\":{n}}}\n");
    let good: String = (0..20_000).map(line).collect();
    let more: String = (20_000..20_010).map(line).collect();
    let options = IngestOptions {
        on_error: OnError::Fail,
        condition: Some("n % 5000 = 4999 OR n = 20005".to_owned()),
        ..IngestOptions::new("web")
    };
    let ingest = |writer: &mut corpusdb::CorpusWriter, bytes: String| {
        let file = scratch.write("a.jsonl", bytes);
        writer.ingest(&[file], &options, &Context::new())
    };
    let error = ingest(&mut writer, format!("{good}broken\n{more}")).unwrap_err().to_string();
    assert!(error.contains("record 20000"), "{error}");
    assert_eq!(writer.corpus().count(None).unwrap(), 4);
    let mended = line(99).replace('\n', "");
    let report = ingest(&mut writer, format!("{good}{mended}\n{more}")).unwrap();
    assert_eq!((report.read, report.added, report.filtered), (11, 1, 10), "{report:?}");
    sound_digest(&writer.corpus());
}
