//! Dry runs, and files of decisions: what an ingest would do and has done, record by record.

use crate::support::{
    TestDir, command, corpusdb, corpusdb_test, crawl, gzip, interrupt, json_lines, lines, numbers,
};
use std::process::Stdio;
use std::time::Duration;

corpusdb_test!(a_dry_run_reports_the_same_and_changes_nothing, |t| {
    t.run("init c");
    let pages = crawl(27, 120, true);
    t.write("first.jsonl", lines(&pages[..60]));
    t.write("second.jsonl", format!("{}broken\n", lines(&pages[60..])));
    let ingest =
        |file: &str| format!("ingest c {file} --source web --id-field id --batch-bytes 2kB --json");
    t.run(&ingest("first.jsonl"));
    let state = || {
        let entries = std::fs::read_dir(t.path("c")).unwrap();
        let mut entries: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        entries.sort();
        let shown =
            ["check c --digest", "sql c 'SELECT * FROM commits' --format csv", "rejects c --json"];
        (entries, shown.map(|line| t.run(line).stdout))
    };
    let before = state();
    let second = ingest("second.jsonl");
    let dry = t.run(&format!("{second} --dry-run --decisions decisions.jsonl")).json();
    assert_eq!(dry["dry_run"], true);
    // Those who read the lines of a log by their beginning find the verb there.
    let again = t.run(&format!("{second} --dry-run")).stdout;
    assert!(again.starts_with(r#"{"type":"ingest","source":"web","read":61,"#), "{again}");
    assert!(again.ends_with(",\"dry_run\":true}\n"), "{again}");
    assert_eq!(state(), before);
    let foretold = std::fs::read_to_string(t.path("decisions.jsonl")).unwrap();
    let wet = t.run(&format!("{second} --decisions decisions.jsonl")).json();
    let names = [
        "read",
        "added",
        "kept",
        "exact_duplicates",
        "near_duplicates",
        "empty",
        "unchanged",
        "updated",
        "rejected",
    ];
    assert_eq!(numbers(&dry, names), numbers(&wet, names));
    let taken = std::fs::read_to_string(t.path("decisions.jsonl")).unwrap();
    assert_eq!(foretold, taken, "the decisions foretold are those taken");
    assert_ne!(state(), before);
    t.sound("c");
});

/// Expects a line a record, in order, that says what the corpus says. Meant for inputs without ids.
fn decisions_are_those_of(t: &TestDir, corpus: &str, decisions: &str, records: usize) {
    let lines = json_lines(&std::fs::read_to_string(t.path(decisions)).unwrap());
    assert_eq!(lines.len(), records);
    let mut next = 0;
    for line in &lines {
        if line["standing"] == "rejected" {
            assert!(line["id"].is_null() && line["reason"].is_string(), "{line}");
            continue;
        }
        let shown = t.run(&format!("show {corpus} {} --json", line["id"])).json();
        assert_eq!(line["id"], next, "{line}");
        for name in ["key", "standing"] {
            assert_eq!(line[name], shown[name], "{name} of {line}");
        }
        for name in ["kind", "witness", "witness_key", "witness_source", "jaccard"] {
            assert_eq!(line[name], shown["match"][name], "{name} of {line}");
        }
        next += 1;
    }
}

corpusdb_test!(decisions_name_every_record_also_after_a_resume, |t| {
    t.run("init c");
    let pages = crawl(28, 50, false);
    let whole = format!("{}bad\n{}", lines(&pages[..30]), lines(&pages[30..]));
    let bytes = gzip(whole.as_bytes());
    t.write("a.jsonl.gz", &bytes[..bytes.len() / 2]);
    let ingest = "ingest c a.jsonl.gz --source web --batch-bytes 1kB --decisions d.jsonl --json";
    // Interrupted: no file that looks complete.
    t.ran(ingest).fails(&["a.jsonl.gz"]);
    assert!(!t.path("d.jsonl").exists());
    let done: u64 = t.run("count c").stdout.trim().parse().unwrap();
    assert!(done > 0 && done < 50, "{done}");
    t.write("a.jsonl.gz", &bytes);
    // Resumed, then all over again: whole each time.
    for (added, unchanged) in [(50 - done, done), (0, 50)] {
        t.run(ingest).counts(&format!("added {added}, unchanged {unchanged}"));
        decisions_are_those_of(&t, "c", "d.jsonl", 51);
        std::fs::remove_file(t.path("d.jsonl")).unwrap();
    }
    t.sound("c");
});

corpusdb_test!(decisions_are_final_in_any_batches, |t| {
    let common: String = (0..30).map(|at| format!("word{at} ")).collect();
    let page = |own: &str| format!("{{\"text\":\"{common}{own}\"}}\n");
    t.write("pages.jsonl", ["a", "a b", "a b c"].map(page).concat());
    let decided = ["1", "1MB"].map(|bytes| {
        let (corpus, decisions) = (format!("cut-{bytes}"), format!("{bytes}.jsonl"));
        t.run(&format!("init {corpus} --threshold 0.5 --keep longest"));
        t.run(&format!(
            "ingest {corpus} pages.jsonl --source web --batch-bytes {bytes} --decisions {decisions}"
        ));
        decisions_are_those_of(&t, &corpus, &decisions, 3);
        std::fs::read_to_string(t.path(&decisions)).unwrap()
    });
    assert_eq!(decided[0], decided[1]);
    let kept = json_lines(&decided[0]).iter().filter(|line| line["standing"] == "kept").count();
    assert_eq!(kept, 1, "{}", decided[0]);
});

corpusdb_test!(a_stopped_ingest_leaves_no_file_of_decisions, |t| {
    t.run("init c");
    let many = t.write("many.jsonl", lines(&crawl(29, 4000, false)));
    let (corpus, decisions) = (t.arg("c"), t.arg("stopped.jsonl"));
    let arguments = ["ingest", &corpus, &many, "--source", "web", "--batch-bytes", "1"];
    let arguments = [&arguments[..], &["--decisions", &decisions]].concat();
    let child = command(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let committed = || corpusdb(&["count", &corpus]).stdout.trim().parse().unwrap_or(0_u64) > 0;
    while !committed() {
        std::thread::sleep(Duration::from_millis(20));
    }
    interrupt(&child);
    let ended = child.wait_with_output().unwrap();
    assert!(!ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    // Stopped between two commits: all that was read is stored, and no file looks complete.
    for ending in ["", ".noted", ".partial"] {
        assert!(!t.path(&format!("stopped.jsonl{ending}")).exists(), "{ending}");
    }
});
