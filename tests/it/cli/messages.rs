//! What the command says: the way out of an error, nothing secret, and nothing that a terminal would obey.

use crate::support::server::{Server, State};
use crate::support::{
    Page, Ran, TestDir, command, corpusdb, corpusdb_test, crawl, ingest, init, lines, numbers, ran,
    repository, sound, tokenizer_of_chats,
};
use serde_json::{Value, json};
use std::process::{Command, Stdio};

// ----
// What a person meets on a first day: alarms, reports and errors say what happened, and name the way out.

const CHATML: &str = "{% for m in messages %}\n{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/// A text of its own.
fn text(number: u64) -> String {
    let words: Vec<String> = (0..14).map(|at| format!("w{}", number * 7919 + at * at)).collect();
    words.join(" ")
}

/// Records with keys, of that crawl: `fields` differ from crawl to crawl, texts do not.
fn crawl_with(count: u64, fields: &Value) -> String {
    let record = |number| {
        let mut record = json!({ "url": format!("a.example/{number}"), "text": text(number) });
        record.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        format!("{record}\n")
    };
    (0..count).map(record).collect()
}

fn alarms(report: &Value) -> Vec<&str> {
    report["alarms"].as_array().unwrap().iter().map(|it| it["kind"].as_str().unwrap()).collect()
}

#[track_caller]
fn says(ran: &Ran, words: &[&str]) {
    for word in words {
        assert!(ran.stdout.contains(word) || ran.stderr.contains(word), "no `{word}` in\n{ran}");
    }
}

// ---- ingest ----

// A date of fetching made every page a changed one, without a word.
corpusdb_test!(updates_of_fields_alone_are_an_alarm_that_names_the_fields, |scratch| {
    let file = |name: &str, count, day: &str, score: f64| {
        scratch.write(name, crawl_with(count, &json!({"day": day, "score": score, "lang": "en"})))
    };
    let (june, july) = (file("june", 150, "06-01", 0.5), file("july", 150, "07-01", 0.25));
    let keyed = ["--source", "web", "--id-field", "url"];
    let mut told = Vec::new();
    for batch in ["2kB", "1MB"] {
        let corpus = scratch.arg(&format!("corpus-{batch}"));
        init(&corpus, &[]);
        let with = [&keyed[..], &["--batch-bytes", batch]].concat();
        assert_eq!(alarms(&ingest(&corpus, &[&june], &with)), [""; 0]);
        let ran = corpusdb(&[&["ingest", &corpus, &july, "--dry-run"][..], &with].concat());
        says(&ran, &["150 of 150 updates have the same text", "(day, score)", "--drop-fields"]);
        let report = ingest(&corpus, &[&july], &with);
        assert_eq!(numbers(&report, ["added", "updated"]), [150, 150]);
        told.push(report["alarms"].clone());
        sound(&corpus);
    }
    assert_eq!(told[0], told[1]);
    let alarm = json!([
        {"kind": "field-updates", "updated": 150, "same_text": 150, "fields": ["day", "score"]}
    ]);
    assert_eq!(told[0], alarm);
    // Without these fields the next crawl is unchanged; few updates, or mostly of texts, are none to speak of.
    let corpus = scratch.arg("other");
    init(&corpus, &[]);
    let with = [&keyed[..], &["--drop-fields", "day,score"]].concat();
    ingest(&corpus, &[&june], &with);
    assert_eq!(numbers(&ingest(&corpus, &[&july], &with), ["added", "unchanged"]), [0, 150]);
    let few = file("few", 99, "08-01", 0.1);
    assert_eq!(alarms(&ingest(&corpus, &[&few], &keyed)), [""; 0]);
});

// An ingest without the option for the ids stored everything a second time.
corpusdb_test!(ids_left_out_of_a_source_that_has_them_are_an_alarm, |scratch, corpus| {
    let file = scratch.write("a.jsonl", crawl_with(120, &json!({})));
    ingest(&corpus, &[&file], &["--source", "web", "--id-field", "url"]);
    let few = scratch.write("few.jsonl", crawl_with(99, &json!({"b": 1})));
    assert!(!alarms(&ingest(&corpus, &[&few], &["--source", "web"])).contains(&"ids-forgotten"));
    let other = scratch.write("other.jsonl", crawl_with(120, &json!({"b": 2})));
    assert!(!alarms(&ingest(&corpus, &[&other], &["--source", "new"])).contains(&"ids-forgotten"));
    let keyed = ["--source", "web", "--id-field", "url", "--reread"];
    ingest(&corpus, &[&other], &keyed);
    let ran = corpusdb(&["ingest", &corpus, &file, "--source", "web", "--dry-run"]);
    says(
        &ran,
        &["120 documents came without ids into the source web", "a.example/119", "--id-field"],
    );
    let report = ingest(&corpus, &[&file], &["--source", "web"]);
    assert!(alarms(&report).contains(&"ids-forgotten"), "{report}");
});

// The way out that the limit named blocked the right ingest after it; so did a removal that said nothing of it.
corpusdb_test!(undoing_an_ingest_does_not_block_the_next_one, |scratch, corpus| {
    let file = scratch.write("a.jsonl", crawl_with(50, &json!({})));
    ingest(&corpus, &[&file], &["--source", "web", "--id-field", "url"]);
    ingest(&corpus, &[&file], &["--source", "wbe"]);
    let remove = ["remove", &corpus, "--where", "commit >= 3"];
    let ran = corpusdb(&[&remove[..], &["--dry-run"]].concat()).good();
    says(&ran, &["50 other documents are blocked for a text or key equal to theirs", "--no-block"]);
    corpusdb(&[&remove[..], &["--no-block"]].concat()).good();
    let kept = || corpusdb(&["count", &corpus, "--where", "kept"]).good().stdout;
    assert_eq!(kept(), "50\n");
    let more = scratch.write("a.jsonl", crawl_with(60, &json!({})));
    ingest(&corpus, &[&more], &["--source", "web", "--id-field", "url"]);
    assert_eq!(kept(), "60\n");
    sound(&corpus);
});

// A report pointed at rejects that a dry run had not stored, and counted no byte of them.
corpusdb_test!(reports_count_bytes_of_rejects_and_say_where_they_are, |scratch, corpus| {
    let file = scratch.write("a.jsonl", "this is a text\n".repeat(3));
    let arguments = ["ingest", &corpus, &file, "--source", "web"];
    let tried = corpusdb(&[&arguments[..], &["--dry-run"]].concat());
    says(&tried, &["all 3 records were rejected; the first", "nothing new\n  3 rejected\n"]);
    assert!(!tried.stderr.contains("corpusdb rejects"), "{tried}");
    let ran = corpusdb(&arguments);
    let listed = "(`corpusdb rejects` lists them)";
    says(
        &ran,
        &[&format!("3 rejected {listed}"), &format!("all 3 records were rejected {listed}")],
    );
    says(&ran, &["  3 records, 42 B in ", "a word that JSON does not have at byte 2 of the line"]);
    scratch.write("a.jsonl", "{\"text\": \"it is mended\"}\n");
    says(
        &corpusdb(&arguments).good(),
        &["3 earlier rejects deleted: their records can be read now"],
    );
    let one = scratch.write("one.jsonl", "{\"text\": \"cut off");
    let ran = corpusdb(&["ingest", &corpus, &one, "--source", "web"]);
    says(&ran, &["the one record was rejected", "it ends inside of a string"]);
});

// ---- chats ----

corpusdb_test!(errors_of_templates_name_the_message, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--profile", "chat"]);
    let template = scratch.write("chatml.jinja", CHATML);
    let file = scratch.write("own.json", tokenizer_of_chats(2));
    corpusdb(&["tokenizer", "add", &corpus, "own", &file]).good();
    let answer = json!({"role": "assistant", "content": "Water boils at a hundred degrees."});
    let parts = json!({"role": "user", "content": [{"type": "text", "text": "When?"}]});
    let ask = json!({"role": "user", "content": "When does water boil?"});
    let call = json!({"role": "assistant", "tool_calls": [{"name": "look"}]});
    let records = [json!([parts, answer]), json!([ask, call]), json!([ask]), json!([ask, answer])];
    let records = records.map(|messages| format!("{}\n", json!({ "messages": messages })));
    let chats = scratch.write("chats.jsonl", records.concat());
    let with = ["--source", "c", "--chat", "messages", "--chat-template", &template];
    let ran = corpusdb(&[&["ingest", &corpus, &chats][..], &with].concat()).good();
    says(&ran, &["ALARM: 1 conversation has nothing that is trained on", "chats.jsonl:2"]);
    says(
        &corpusdb(&["rejects", &corpus]).good(),
        &[
            "message 0 (user): its content is a list of parts",
            "message 1 (assistant): it has no content (tool_calls alone)",
            "(line 2 of the template)",
        ],
    );
    says(&corpusdb(&["show", &corpus, "1"]).good(), &["no values set"]);
    corpusdb(&["export", &corpus, "--columns", "messages", "--to", &scratch.arg("x.jsonl")])
        .fails(&["no column `messages`", "--columns 'meta.*'"]);
    let to = scratch.arg("messages.jsonl");
    corpusdb(&["export", &corpus, "--columns", "meta.*", "--to", &to]).good();
    let first: Value =
        serde_json::from_str(std::fs::read_to_string(&to).unwrap().lines().next_back().unwrap())
            .unwrap();
    assert_eq!(first, json!({"messages": [ask, answer]}));
    // A tokenizer that does not have the markers is in the way, whatever another one has.
    corpusdb(&["tokenizer", "train", &corpus, "plain", "--vocab-size", "280"]).good();
    corpusdb(&[&["ingest", &corpus, &chats, "--reread"][..], &with].concat())
        .fails(&["every registered tokenizer must have it", "corpusdb tokenizer drop"]);
});

// ---- questions ----

corpusdb_test!(misspelt_statements_and_conditions_get_suggestions, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "lang:keyword", "--field", "score:float"]);
    let fields = json!({"lang": "de", "score": 0.5});
    let file = scratch.write("a.jsonl", crawl_with(3, &fields));
    ingest(&corpus, &[&file], &["--source", "web", "--id-field", "url"]);
    let sql = |statement: &str, words: &[&str]| {
        corpusdb(&["sql", &corpus, statement]).fails(words);
    };
    sql("SELECT key FROM documents WHERE lang = \"de\"", &["text needs single ones"]);
    sql("SELECT url FROM documents", &["`meta ->> 'url'`", "--id-field", "the column key"]);
    corpusdb(&["count", &corpus, "lang = 'de'"]).fails(&["unexpected argument", "'--where'"]);
    for arguments in [&["show", "--sources", "web"][..], &["count", &corpus, "--sourc", "web"]] {
        let ran = corpusdb(arguments).fails(&["unexpected argument"]);
        assert!(!ran.stderr.contains("as a value"), "{ran}");
    }
    let ran = corpusdb(&["count", &corpus, "--wher", "x"]).fails(&["--where"]);
    assert!(!ran.stderr.contains("as a value"), "{ran}");
    let broken =
        scratch.write("b.jsonl", "{\"url\": \"a.example/1\", \"score\": 1}\n{\"url\": no\n");
    corpusdb(&["field", "set", &corpus, "score", "--on", "key=url", "--from", &broken]).fails(&[
        "b.jsonl: record 1",
        "nothing of its batch was set",
        "leave them out",
    ]);
    let scores = scratch.write("s.csv", "url,score\na.example/1,0.75\n");
    corpusdb(&["field", "set", &corpus, "score", "--on", "key=url", "--from", &scores]).good();
    assert_eq!(corpusdb(&["count", &corpus, "--where", "score > 0.7"]).good().stdout, "1\n");
});

// Why a document is kept beside one that looks the same was asked in vain; marks stood around nothing.
corpusdb_test!(duplicates_mark_only_differences_and_name_the_nearest, |scratch, corpus| {
    let words = text(1);
    let pages = [words.clone(), format!("{words}\n\nmore"), text(900)];
    let records: String = pages.iter().map(|text| format!("{}\n", json!({"text": text}))).collect();
    scratch.ingest(&corpus, "a.jsonl", records, &["--source", "web"]);
    let lone = corpusdb(&["duplicates", &corpus, "2"]).good();
    says(&lone, &["it has no duplicates", "(`corpusdb similar CORPUS 2` shows the nearest)"]);
    let near = corpusdb(&["similar", &corpus, "2"]);
    assert_eq!(near.code, Some(1), "{near}");
    let close = corpusdb(&["duplicates", &corpus, "1", "--diff"]).good();
    says(&close, &["{+more+}"]);
    assert!(!close.stdout.contains("{++}"), "{close}");
});

// ---- epochs and tokenizers ----

const RECIPE: &str = "version = 1\n[tokenizer]\nname = \"own\"\nspecials = { eos = \"<|endoftext|>\", pad = \"<|endoftext|>\" }\n[pack]\nlength = 64\n";

corpusdb_test!(errors_of_epochs_name_all_short_sources, |scratch, corpus| {
    for (at, source) in ["web", "code", "books"].into_iter().enumerate() {
        let at = at as u64 * 1000;
        let pages: String = (at..at + 40 + at / 20)
            .map(|number| format!("{}\n", json!({ "text": text(number) })))
            .collect();
        scratch.ingest(&corpus, source, pages, &["--source", source, "--format", "jsonl"]);
    }
    let train = ["--vocab-size", "300", "--special", "<|endoftext|>"];
    corpusdb(&[&["tokenizer", "train", &corpus, "own"][..], &train].concat()).good();
    let greedy = "[mix]\ntokens = 60000000\n[[source]]\nname = \"web\"\nweight = 1\n[[source]]\nname = \"code\"\nweight = 1\n[[source]]\nname = \"books\"\nweight = 1\n";
    let greedy = scratch.write("greedy.toml", format!("{RECIPE}{greedy}"));
    let ran = corpusdb(&["epoch", "explain", &corpus, &greedy]).fails(&[
        "a budget of 60,000,000 tokens",
        "20,000,000 tokens of source",
        "but one pass holds",
        "or raise max_repeats of",
    ]);
    // Weights are shares: where every source is short, none of them helps.
    assert!(!ran.stderr.contains("weight"), "{ran}");
    for source in ["`web`", "`code`", "`books`"] {
        assert_eq!(ran.stderr.matches(source).count(), 2, "{source} in {ran}");
    }
    let recipe = scratch.write("recipe.toml", RECIPE);
    let (out, first) = (scratch.arg("e0"), scratch.arg("e0/shard-00000.parquet"));
    corpusdb(&["epoch", "build", &corpus, &recipe, "--out", &out]).good();
    corpusdb(&["epoch", "verify", &corpus, &first]).fails(&[
        "no epoch was built here",
        "give the directory that `corpusdb epoch build` wrote",
    ]);
    corpusdb(&["epoch", "verify", &out, &corpus]).fails(&[
        "e0 is not a corpus",
        "an epoch, an export or a load",
        "name the corpus first",
    ]);
    corpusdb(&["ingest", &recipe, &corpus, "--source", "web"]).fails(&[
        "recipe.toml is not a corpus",
        "it is a file",
        "name the corpus first",
    ]);
});

corpusdb_test!(errors_of_tokenizers_name_the_files_of_a_directory, |scratch, corpus| {
    let pages = repository("tests/corpora/pages.jsonl").display().to_string();
    ingest(&corpus, &[&pages], &["--source", "web"]);
    corpusdb(&["tokenizer", "train", &corpus, "own", "--vocab-size", "400"]).good();
    let out = scratch.arg("own.json");
    corpusdb(&["tokenizer", "export", &corpus, "own", &out]).good();
    let file: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    let merge = |merge: &Value| match merge.as_array() {
        Some(pair) => format!("{} {}\n", pair[0].as_str().unwrap(), pair[1].as_str().unwrap()),
        None => format!("{}\n", merge.as_str().unwrap()),
    };
    let merges: String = file["model"]["merges"].as_array().unwrap().iter().map(merge).collect();
    let vocab = scratch.write("gpt/vocab.json", file["model"]["vocab"].to_string());
    let merges = scratch.write("gpt/merges.txt", format!("#version: 0.2\n{merges}"));
    let add = |more: &[&str]| corpusdb(&[&["tokenizer", "add", &corpus, "gpt"], more].concat());
    add(&[&scratch.arg("gpt")]).fails(&["is a directory", "--vocab", &vocab, "--merges", &merges]);
    add(&["--vocab", &merges, "--merges", &vocab]).fails(&["swap the two"]);
    add(&["--vocab", &vocab, "--merges", &merges]).good();
    scratch.write("json/tokenizer.json", file.to_string());
    add(&[&scratch.arg("json")]).fails(&["give its file", "json/tokenizer.json"]);
    add(&[&scratch.arg("")]).fails(&["give the file in it that is the tokenizer"]);
    let terms = ["--term", "<|im_end|>", "--term", "COVID-19", "--added-tokens", "--json"];
    let extend = |name: &str, more: &[&str]| {
        let arguments = [&["tokenizer", "extend", &corpus, "own", name][..], &terms, more].concat();
        let lines = corpusdb(&arguments).good().json_lines();
        let terms = lines.iter().find_map(|line| line["terms"].as_array()).unwrap().clone();
        let forms = |term: &Value| term["forms"].as_array().unwrap().len();
        terms.iter().map(forms).collect::<Vec<_>>()
    };
    assert_eq!(extend("chat", &[]), [1, 2]);
    assert_eq!(extend("spaced", &["--forms", "after-space"]), [1, 1]);
});

// ----
// What becomes of answers: a reader that goes away, a full disk, a terminal that would obey what strangers wrote.

fn corpus(scratch: &TestDir) -> String {
    let corpus = scratch.arg("crawl");
    init(&corpus, &[]);
    let pages = scratch.write("pages.jsonl", lines(&crawl(7, 60, true)));
    corpusdb(&["ingest", &corpus, &pages, "--source", "web", "--id-field", "id"]).good();
    corpus
}

/// Runs the command with a pipe for stdout whose reader has gone away before the first byte.
fn unread(arguments: &[&str]) -> Ran {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = command(arguments);
    command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
    ran(arguments, command.spawn().unwrap().wait_with_output().unwrap())
}

/// Runs the command with a full disk behind stdout.
fn unwritten(arguments: &[&str]) -> Ran {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = command(arguments);
    command.stdin(Stdio::null()).stdout(full).stderr(Stdio::piped());
    ran(arguments, command.spawn().unwrap().wait_with_output().unwrap())
}

fn mode(corpus: &str) -> String {
    let info = corpusdb(&["info", corpus, "--json"]).good().json();
    info["policy"].as_str().unwrap().to_owned()
}

// `dedup redo c | head -1` printed its report before it switched: it ended with 0, and the policy was the old one.
corpusdb_test!(a_closed_pipe_changes_neither_the_work_nor_the_exit_code, |scratch| {
    let corpus = corpus(&scratch);
    let redo = unread(&["dedup", "redo", &corpus, "--mode", "components"]);
    assert_eq!((redo.code, redo.stderr.as_str()), (Some(0), ""), "{redo}");
    assert!(mode(&corpus).contains("mode components"), "{}", mode(&corpus));
    // What is found is said by the exit code, also to nobody.
    let similar = unread(&[
        "similar",
        &corpus,
        "--text",
        "nothing like this was ever written in any of these pages",
    ]);
    assert_eq!(similar.code, Some(1), "{similar}");
    let shown = unread(&["show", &corpus, "no such key"]);
    assert_eq!(shown.code, Some(1), "{shown}");
    for row_by_row in [
        &["sql", &corpus, "SELECT text FROM documents", "--format", "jsonl"][..],
        &["export", &corpus, "--to", "-", "--format", "jsonl"],
        &["sample", &corpus, "-n", "20"],
    ] {
        let streamed = unread(row_by_row);
        assert_eq!(streamed.code, Some(0), "{streamed}");
    }
});

#[test]
#[cfg(target_os = "linux")]
fn unwritable_answers_are_errors_after_the_work_is_done() {
    let scratch = TestDir::new();
    let corpus = corpus(&scratch);
    let redo = unwritten(&["dedup", "redo", &corpus, "--mode", "exact"]);
    assert_eq!(redo.code, Some(2), "{redo}");
    assert!(redo.stderr.contains("cannot write to standard output"), "{redo}");
    assert!(mode(&corpus).contains("mode exact"), "{}", mode(&corpus));
    for arguments in [
        &["info", &corpus][..],
        &["info", &corpus, "--json"],
        &["export", &corpus, "--to", "-", "--format", "csv"],
        &["count", &corpus],
    ] {
        let failed = unwritten(arguments);
        assert_eq!(failed.code, Some(2), "{failed}");
    }
}

/// What a stranger's text, key or field says to a terminal is shown and not obeyed, by every verb.
#[test]
#[cfg(target_os = "linux")]
fn a_terminal_obeys_nothing_that_a_document_says() {
    if Command::new("script").arg("--version").output().is_err() {
        return;
    }
    let scratch = TestDir::new();
    let evil = "\x1b[31mRED\x1b[2J\x1b]0;title\x07\u{9b}31m\u{202e}drawkcab\r";
    let page = |n: u32| {
        let text = format!("{evil} one two three four five six seven eight nine ten eleven {n}");
        Page { fields: json!({ "note": evil }), ..Page::keyed(format!("k{n}{evil}"), text) }
    };
    let pages = scratch.write(
        "pages.jsonl",
        lines(&[page(1), page(1), page(2)])
            + "{\"text\": 5, \"id\": \"x\x1b[2J\"}\nnot \x1b[2J json\n",
    );
    let corpus = scratch.arg("crawl");
    init(&corpus, &[]);
    corpusdb(&["ingest", &corpus, &pages, "--source", "web", "--id-field", "id"]).good();
    for arguments in [
        "info CORPUS",
        "stats CORPUS",
        "show CORPUS 0",
        "sample CORPUS",
        "rejects CORPUS",
        "similar CORPUS 0 --all",
        "duplicates CORPUS",
        "duplicates CORPUS --list --diff",
        "duplicates CORPUS 1 --diff",
        "show CORPUS 0 --json",
        "sample CORPUS --json",
        "export CORPUS --to - --format csv",
        "export CORPUS --to - --format jsonl",
        "sql CORPUS 'SELECT key, text, source FROM documents'",
        "sql CORPUS 'SELECT key, text FROM documents' --format line",
        "sql CORPUS 'SELECT key, text FROM documents' --format markdown",
        "sql CORPUS 'SELECT key, text FROM documents' --format csv",
        "sql CORPUS 'SELECT key, text FROM documents' --format json",
        "show CORPUS $'k\\x1b[2J'",
        "field show CORPUS",
        "count CORPUS --where $'x\\x1b[31mRED'",
    ] {
        let program = env!("CARGO_BIN_EXE_corpusdb");
        let line = format!("'{program}' {}", arguments.replace("CORPUS", &corpus));
        // `script` gives the command a terminal for all of its streams.
        let shell = format!("bash -c {}", quoted(&line));
        let output = Command::new("script")
            .args(["-qec", &shell, "/dev/null"])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(!shown.is_empty(), "{arguments}");
        for obeyed in ["\x1b[31mRED", "\x1b[2J", "\x1b]0;", "\u{9b}", "\u{202e}"] {
            assert!(!shown.contains(obeyed), "{arguments}: {obeyed:?} in {shown:?}");
        }
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

// ----
// What is secret in an address is nowhere: not in the corpus, not on standard output or error, not in JSON.

/// What must be nowhere.
const CANARY: &str = "CANARY";

/// A server with one file, and a corpus beside it.
struct SecretAddresses {
    scratch: TestDir,
    server: Server,
    corpus: String,
}

impl SecretAddresses {
    fn new() -> Self {
        let scratch = TestDir::new();
        // Signed for GET alone.
        let server = Server::start(State { no_heads: true, ..State::default() });
        let text = lines(&crawl(5, 40, true)).into_bytes();
        server.state().files.insert("f.jsonl".to_owned(), text);
        let corpus = scratch.arg("corpus");
        init(&corpus, &[]);
        Self { scratch, server, corpus }
    }

    /// Addresses of the file with secrets in every part.
    fn addresses(&self) -> Vec<String> {
        let url = self.server.url("f.jsonl");
        let login = url.replace("://", "://CANARY:CANARY%21@");
        let signed = [
            "X-Amz-Credential=CANARY%2Fs3&X-Amz-Security-Token=CANARY&X-Amz-Signature=CANARY",
            "AWSAccessKeyId=CANARY&Expires=1&Signature=CANARY%3D",
            "X-Goog-Credential=CANARY&X-Goog-Signature=CANARY",
            "GoogleAccessId=CANARY&Expires=1&Signature=CANARY",
            "sv=2026&st=CANARY&sip=CANARY&sig=CANARY&skoid=CANARY",
            "page=1&api_key=CANARY&key=CANARY&access_token=CANARY&password=CANARY&user=CANARY",
        ];
        let mut all: Vec<String> = signed.iter().map(|query| format!("{url}?{query}")).collect();
        all.push(login.clone());
        all.push(format!("{url}#CANARY"));
        all.push(format!("{login}?file=1#access_token=CANARY"));
        all
    }

    /// Addresses that nothing can be made of.
    fn refused(&self) -> Vec<String> {
        let unknown = self.addresses().into_iter().map(|url| url.replace("http://", "ftp://"));
        let wrong = [
            "s3://CANARY:CANARY@bucket/x.jsonl",
            "s3://b/x.jsonl?X-Amz-Signature=CANARY",
            "az://c/x.jsonl?sv=1&sig=CANARY",
            "gs://b/x.jsonl?X-Goog-Signature=CANARY",
            "abfss://c:CANARY@a.dfs.core.windows.net/x",
            "http://joe:CAN/CANARY@127.0.0.1/x",
            "http://joe:CAN#CANARY@127.0.0.1/x",
            "http://joe:CANARY@127.0.0.1:99999/x",
            "hdfs://joe:CANARY@h/x*?key=CANARY",
        ];
        unknown.chain(wrong.map(str::to_owned)).collect()
    }

    /// Runs the command with secrets in its environment too; nothing that it prints has one.
    fn run(&self, arguments: &[&str]) -> Ran {
        let mut command = command(arguments);
        command.stdin(Stdio::null()).envs(self.server.store()).current_dir(self.scratch.path("."));
        command.env("AWS_ACCESS_KEY_ID", "CANARY-ID").env("AWS_SECRET_ACCESS_KEY", "CANARY-KEY");
        command
            .env("AZURE_STORAGE_ACCOUNT_NAME", "none")
            .env("AZURE_STORAGE_SAS_KEY", "sig=CANARY");
        let ran = ran(arguments, command.output().unwrap());
        assert!(!ran.stdout.contains(CANARY) && !ran.stderr.contains(CANARY), "{ran}");
        ran
    }
}

corpusdb_test!(no_secret_of_an_address_is_kept, SecretAddresses::new(), |place| {
    for (n, address) in place.addresses().iter().enumerate() {
        let source = format!("web{n}");
        let words = ["ingest", &place.corpus, address, "--source", &source];
        for more in [&[][..], &["--json"], &["--reread"]] {
            place.run(&[&words, more].concat()).good();
        }
    }
    let keys = "SELECT DISTINCT key FROM documents WHERE source = 'web5'";
    place.run(&["sql", &place.corpus, keys, "--format", "json"]).good().prints(&["f.jsonl?page=1"]);
    place.run(&["sql", &place.corpus, "SELECT * FROM documents", "--format", "json"]).good();
    for verb in ["info", "stats", "check"] {
        place.run(&[verb, &place.corpus]).good();
    }
    for entry in walkdir::WalkDir::new(&place.corpus) {
        let entry = entry.unwrap();
        if entry.file_type().is_file() {
            let bytes = std::fs::read(entry.path()).unwrap();
            let is_told = bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes());
            assert!(!is_told, "{}", entry.path().display());
        }
    }
});

corpusdb_test!(failed_reads_print_no_secret_of_an_address, SecretAddresses::new(), |place| {
    let addresses = place.addresses();
    let mut bad: Vec<String> =
        addresses.iter().map(|url| url.replace("f.jsonl", "none.jsonl")).collect();
    bad.push(addresses[0].replace(&place.server.url(""), "http://127.0.0.1:1/"));
    bad.extend(place.refused());
    for address in &bad {
        for more in [&["--source", "web"][..], &["--source", "web", "--json"]] {
            let ran = place.run(&[&["ingest", &place.corpus, address], more].concat());
            assert_eq!(ran.code, Some(2), "{ran}");
        }
    }
});

corpusdb_test!(misplaced_addresses_print_no_secret, SecretAddresses::new(), |place| {
    let corpus = place.corpus.as_str();
    for address in place.addresses().iter().chain(&place.refused()) {
        let select = format!("SELECT * FROM read_csv('{address}')");
        for words in [
            &["export", corpus, "--to", address, "--format", "jsonl"][..],
            &["export", corpus, "--to", address],
            &["init", address],
            &["sql", corpus, &select],
        ] {
            let ran = place.run(words);
            assert_eq!(ran.code, Some(2), "{ran}");
        }
    }
});
