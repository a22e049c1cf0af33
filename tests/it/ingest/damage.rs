//! What cannot be read: bad records become rejects, and damaged files are errors that name them.

use crate::support::tabular::parquet_of_pages;
use crate::support::{Page, Random, corpusdb_test, crawl, gzip, lines, numbers, repository, zstd};

corpusdb_test!(bad_records_become_rejects_once_with_reason_and_bytes, |t| {
    let odd = repository("tests/corpora/odd.jsonl").display().to_string();
    let ingest = format!("ingest c '{odd}' --source odd --json");
    t.run("init c");
    t.run(&ingest).counts("read 12, added 3, rejected 9");
    t.run("count c").is("3");
    let listed = || t.run("rejects c --json").json_lines();
    let rejects = listed();
    let bytes = std::fs::read(&odd).unwrap();
    let reasons = [
        (1, "not a JSON object"),
        (2, "text field `text` is not a string"),
        (3, "field `text` is absent or null"),
        (4, "field `text` is absent or null"),
        (5, "invalid UTF-8 at byte 13 of the record"),
        (6, "not a JSON object"),
        (7, "not a JSON object"),
        (8, "not a JSON object"),
        (9, "not a JSON object"),
    ];
    assert_eq!(rejects.len(), reasons.len());
    for (reject, (number, reason)) in rejects.iter().zip(reasons) {
        assert_eq!(
            (reject["number"].as_u64(), &reject["path"], &reject["source"]),
            (Some(number), &odd.clone().into(), &"odd".into())
        );
        assert!(reject["reason"].as_str().unwrap().contains(reason), "{reject}");
        let [offset, length] = numbers(reject, ["offset", "bytes"]).map(|number| number as usize);
        let raw = String::from_utf8_lossy(&bytes[offset..offset + length]);
        assert_eq!(reject["raw"], raw.as_ref(), "{reject}");
    }
    // Neither a run that reads again nor one from standard input of the same lines doubles them.
    let before = t.run("check c --digest").stdout;
    t.run(&ingest).counts("added 0, unchanged 3, rejected 0");
    t.run(&format!("{ingest} --reread")).counts("added 0, unchanged 3, rejected 0");
    assert_eq!((listed(), t.run("check c --digest").stdout), (rejects, before));
    t.run("info c --json").counts("rejects 9");
    t.sound("c");
});

corpusdb_test!(records_over_the_limit_are_set_aside, |t| {
    t.run("init c");
    let texts = ["short enough", &"long ".repeat(100), &"l".repeat(5000), "short again"];
    t.write("a.jsonl", lines(&texts.map(Page::new)));
    t.run("ingest c a.jsonl --source web --max-doc-bytes 400 --json")
        .counts("added 2, unchanged 0, rejected 2");
    t.run("rejects c").prints(&["500 bytes, over the limit of 400 (--max-doc-bytes)"]);
    let kept = t.column("c", "SELECT text FROM documents ORDER BY id");
    assert_eq!(kept, ["short enough", "short again"]);
});

corpusdb_test!(on_error_fail_stops_there_and_keeps_earlier_records, |t| {
    t.run("init c");
    let pages = crawl(24, 30, false);
    let first = lines(&pages[..20]);
    t.write("a.jsonl", format!("{first}oops\n{}", lines(&pages[20..])));
    let strict = "ingest c a.jsonl --source web --batch-bytes 1kB --on-error fail";
    let place = format!("byte {}", first.len());
    t.ran(strict).fails(&["a.jsonl", "record 20", &place, "--on-error reject"]);
    t.run("count c").is("20");
    t.run("rejects c --json").is("");
    t.ran(strict).fails(&["record 20"]);
    // Set aside, or mended: it goes on from there.
    t.run("ingest c a.jsonl --source web --json").counts("added 10, unchanged 20, rejected 1");
    t.run("init plain");
    t.run("ingest plain a.jsonl --source web");
    t.same("plain", "c");
    t.sound("c");
});

corpusdb_test!(a_truncated_file_keeps_whole_records_and_can_be_mended, |t| {
    let jsonl = lines(&crawl(25, 300, false)).into_bytes();
    for (name, bytes) in [("a.jsonl.gz", gzip(&jsonl)), ("a.jsonl.zst", zstd(&jsonl))] {
        let (corpus, whole) = (format!("{name}.corpus"), format!("{name}.whole"));
        let ingest = |corpus: &str| format!("ingest {corpus} {name} --source web --json");
        let end = bytes.len() * 2 / 3;
        t.write(name, &bytes[..end]);
        t.run(&format!("init {corpus}"));
        let ran = t.ran(&format!("{} --batch-bytes 4kB", ingest(&corpus)));
        let ran = ran.fails(&[name, "at byte ", "truncated or damaged"]);
        let (_, offset) = ran.stderr.split_once("at byte ").unwrap();
        let offset: usize = offset.split(' ').next().unwrap().parse().unwrap();
        assert!(offset > bytes.len() / 2 && offset <= end, "{offset} of {end}\n{ran}");
        let kept: u64 = t.run(&format!("count {corpus}")).stdout.trim().parse().unwrap();
        // A block of zstd is decoded whole: what is cut off may be all there is.
        assert!(kept > 20 || name.ends_with("zst"), "{kept}");
        t.sound(&corpus);
        t.write(name, &bytes);
        let rest = format!("added {}, unchanged {kept}, rejected 0", 300 - kept);
        t.run(&ingest(&corpus)).counts(&rest);
        t.run(&format!("init {whole}"));
        t.run(&ingest(&whole));
        t.same(&corpus, &whole);
    }
});

corpusdb_test!(errors_of_damaged_parquet_and_streams_name_the_file, |t| {
    t.run("init c");
    let pages = crawl(26, 200, true);
    parquet_of_pages(&t.path("whole.parquet"), &pages);
    let whole = std::fs::read(t.path("whole.parquet")).unwrap();
    for (name, bytes) in [
        ("cut.parquet", &whole[..whole.len() / 2]),
        ("no-end.parquet", &whole[..whole.len() - 1]),
        ("empty.parquet", b""),
    ] {
        t.write(name, bytes);
        t.ran(&format!("ingest c {name} --source web")).fails(&[name, "byte"]);
    }
    let jsonl = lines(&pages).into_bytes();
    let mut random = Random::new(5);
    for (name, whole) in
        [("flip.gz", gzip(&jsonl)), ("flip.zst", zstd(&jsonl)), ("flip.parquet", whole)]
    {
        for _ in 0..8 {
            let mut bytes = whole.clone();
            let at = random.between(12, bytes.len() - 8);
            bytes[at] ^= 1 << random.below(8);
            t.write(name, &bytes);
            let ran = t.ran(&format!("ingest c {name} --source {name} --batch-bytes 8kB"));
            // Parquet pages carry no checksum here: a flipped bit in a value cannot be noticed.
            assert!(
                ran.code == Some(2) && ran.stderr.contains(name)
                    || ran.code == Some(0) && name != "flip.gz",
                "byte {at}: {ran}"
            );
        }
    }
    t.sound("c");
});
