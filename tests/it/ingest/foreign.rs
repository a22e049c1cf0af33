//! Inputs that are neither records nor texts, and ingests of which nothing could be read.

use crate::support::{corpusdb_reading, corpusdb_test};

corpusdb_test!(
    /// Made one document each of tables and archives, exit code 0.
    a_file_of_another_format_is_refused_and_becomes_no_text,
    |t| {
        t.run("init c");
        for (name, bytes) in [
            ("a.csv", &b"id,year\n1,2001\n2,2002\n"[..]),
            ("piped", b"id,year\n1,2001\n2,2002\n"),
            (
                "x.warc",
                b"WARC/1.0\r\nWARC-Type: response\r\nContent-Type: text/html\r\nContent-Length: 18\r\n\r\n<html>hello</html>\r\n\r\n",
            ),
            ("x.feather", b"FEA1\0\0\0\0"),
            ("list.json", b"[{\"year\": 2001},\n {\"year\": 2002}]"),
            ("several.json", b"{\n \"text\": \"one\"\n}\n"),
            ("dump.xml", b"<mediawiki xmlns=\"http://x\">\n  <page><title>A</title></page>\n"),
            ("list", b"From a@b.org Sat Jan  3 01:05:34 2009\nSubject: x\nTo: c@d.org\n\nHello\n"),
            ("words.txt", b"EU B-ORG\nrejects O\nthe O\nGerman B-MISC\ncall O\n. O\n"),
            ("x.tar.gz", b"\x1f\x8b-not-gzip"),
        ] {
            t.write(name, bytes);
            let ran = t.ran(&format!("ingest c {name} --source main"));
            assert_ne!(ran.code, Some(0), "{ran}");
            if name != "x.tar.gz" {
                assert!(ran.stderr.contains("nothing could be read"), "{ran}");
                ran.answers_badly();
                // Reported every time, and counted once.
                let again = t.ran(&format!("ingest c {name} --source main --json"));
                again.answers_badly().counts("rejected 0");
            }
        }
        t.run("count c").is("0");
        // Beside others they are rejects, and an alarm; whoever insists gets the text.
        t.write("many/a.csv", "id,year\n1,2001\n");
        t.write("many/b.jsonl", "{\"text\":\"a record\"}\n");
        let beside = t.run("ingest c many --source main --json").counts("kept 1, rejected 1");
        assert_eq!(beside.json()["alarms"][0]["kind"], "not-text", "{beside}");
        t.run("ingest c many/a.csv --source main --format text --json").counts("kept 1, rejected 0");
        t.sound("c");
    }
);

corpusdb_test!(
    /// A table of one column became one document when it was piped in, and no word was said.
    a_piped_table_of_one_column_needs_the_format,
    |t| {
        t.run("init c");
        let table = b"text\nfirst row\nsecond row\nthird row\n";
        let corpus = t.arg("c");
        let ran = corpusdb_reading(&["ingest", &corpus, "-", "--source", "main"], table);
        assert!(ran.stderr.contains("nothing could be read"), "{ran}");
        ran.answers_badly();
        let text = ["ingest", &corpus, "-", "--source", "main", "--format", "text"];
        corpusdb_reading(&text, table).good();
        t.run("count c").is("1");
    }
);

corpusdb_test!(
    /// Every line of a file was set aside, and the exit code was 0.
    an_ingest_of_rejects_alone_fails_every_time,
    |t| {
        t.run("init c");
        t.write("a.jsonl", "{bad\n".repeat(30));
        for counts in ["rejected 30", "rejected 0"] {
            let ran = t.ran("ingest c a.jsonl --source main --json").answers_badly().counts(counts);
            assert_eq!(ran.json()["alarms"][0]["kind"], "all-rejected", "{ran}");
        }
        t.write("a.jsonl", "{bad\n".repeat(30) + "{\"text\":\"good\"}\n");
        t.run("ingest c a.jsonl --source main --json").counts("kept 1");
    }
);

corpusdb_test!(
    /// A file that is no text, beside files that an earlier run had read, made the same command fail.
    a_stray_file_beside_unchanged_ones_fails_no_later_run,
    |t| {
        t.run("init c");
        t.write("in/a.jsonl", "{\"text\":\"good\"}\n{\"text\":\"better\"}\n{bad\n");
        t.write("in/b.csv", "id,title,n\n1,\"hello, world\",2\n2,\"more of it\",3\n3,x,4\n");
        for counts in ["kept 2, unchanged 0", "kept 0, unchanged 2", "kept 0, unchanged 2"] {
            let ran = t.run("ingest c in --source main --json").counts(counts);
            assert_eq!(ran.json()["alarms"][0]["kind"], "not-text", "{ran}");
        }
        // Alone it is all there is, and that fails.
        let ran = t.ran("ingest c in/b.csv --source main --json").answers_badly();
        assert_eq!(ran.json()["alarms"][0]["kind"], "all-rejected", "{ran}");
        t.sound("c");
    }
);
