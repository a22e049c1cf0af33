//! The command on a terminal and in a folder: the default corpus `@`, verdicts in colour, the pager.

use crate::support::{TERMINAL, command, corpusdb_test, init, python, python_has, ran, sound};
use serde_json::json;

corpusdb_test!(at_stands_for_the_default_corpus, |scratch| {
    let folder = scratch.path("work");
    let below = folder.join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    let other = scratch.arg("other");
    let run = |arguments: &[&str], variable: Option<&str>| {
        let mut command = command(arguments);
        command.current_dir(&below).env_remove("CORPUSDB_CORPUS");
        variable.map(|value| command.env("CORPUSDB_CORPUS", value));
        ran(arguments, command.output().unwrap())
    };
    run(&["count", "@"], None).fails(&[
        "@ stands for the default corpus",
        "corpusdb init @",
        "--corpus",
    ]);
    let made = command(&["init", "@"]).current_dir(&folder).output().unwrap();
    ran(&["init", "@"], made).good().prints(&[".corpusdb"]);
    assert!(folder.join(".corpusdb/FORMAT").is_file());
    let pages = scratch.write("pages.jsonl", format!("{}\n", json!({ "id": "one", "text": "@" })));
    run(&["ingest", "@", &pages, "--source", "web"], None).good();
    run(&["count", "@"], None).good().is("1");
    // A value of an option is no corpus.
    run(&["count", "@", "--where", "text = '@'"], None).good().is("1");

    init(&other, &[]);
    run(&["count", "@"], Some(&other)).good().is("0");
    run(&["count", "@"], Some("")).good().is("1");
    run(&["count", "@", "--corpus", &other], None).good().is("0");
    let named = folder.join(".corpusdb").display().to_string();
    run(&["--corpus", &named, "count", "@"], Some(&other)).good().is("1");
    let new = scratch.arg("new");
    run(&["init", "@", "--corpus", &new], None).good();
    run(&["remove", "@", "--where", "id = 0", "--dry-run"], None).good();
    run(&["count", "./@"], None).fails(&["./@"]);
});

corpusdb_test!(a_terminal_has_verdicts_in_colour_and_pages, |scratch| {
    python_has("pty");
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    sound(&corpus);
    let shown = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = python(TERMINAL);
        command.arg(env!("CARGO_BIN_EXE_corpusdb")).args(arguments);
        command.env_remove("NO_COLOR").env("PAGER", "cat").envs(variables.iter().copied());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert!(shown(&["check", &corpus], &[]).contains("\x1b[32msound\x1b[0m   commit"));
    assert!(!shown(&["check", &corpus], &[("NO_COLOR", "1")]).contains("\x1b[32m"));
    assert!(shown(&["check", "nowhere"], &[]).contains("\x1b[1;31merror:\x1b[0m "));
    let paged = [("PAGER", "sed s/^/page:/")];
    assert!(shown(&["signals", "show", &corpus], &paged).contains("page:  signal"));
    // What fits is printed, and so is what programs read.
    assert!(!shown(&["check", &corpus], &paged).contains("page:"));
    assert!(!shown(&["signals", "show", &corpus, "--json"], &paged).contains("page:"));
    let missing = [("PAGER", "no-such-program")];
    assert!(shown(&["signals", "show", &corpus], &missing).contains("signal"));
});
