//! Laws of every row of the table: kinds of values, defaults, texts that name existing options and verbs.

use super::keywords;
use super::output::Output;
use super::reference;
use super::spelling::{Face, spell, spell_message, spell_name};
use super::table::{PreparedVerb, VerbError};
use super::verb::{OpenHandle, PythonMethod, Report, Verb, VerbCall, VerbEntry};
use super::verbs::{FAMILIES, GROUPS, VERBS, find_verb};
use clap::Command;
use std::collections::BTreeSet;

/// Look at a probe that only the tests have.
#[derive(clap::Args)]
pub(super) struct ProbeArgs {
    /// How deep the probe goes.
    #[arg(long, default_value_t)]
    depth: u32,
}

/// What the probe came to.
#[derive(serde::Serialize, schemars::JsonSchema)]
pub(super) struct ProbeReport {
    /// Its depth.
    depth: u32,
}

impl Verb for ProbeArgs {
    const PATH: &str = "dedup probe";
    const PYTHON: PythonMethod = PythonMethod::Generated("Corpus.probe");
    const EXAMPLES: &[&str] = &["corpusdb dedup probe"];
    type On = ();
    type Report = ProbeReport;

    fn run(self, (): (), _: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        Ok(ProbeReport { depth: self.depth })
    }
}

impl Report for ProbeReport {
    const TYPE: &'static str = "probe";

    fn print(&self, out: &mut Output) {
        out.line(format!("depth {}", self.depth));
    }
}

/// One field in a struct, and one verb with its row: help, completions, the reference, JSON, its schema, and Python's
/// keyword, type and text follow. Nothing else in the tree names either.
#[test]
fn a_field_and_a_row_are_all_that_an_option_and_a_verb_take() {
    let mut help = super::command();
    let help = help.find_subcommand_mut("dedup").unwrap().render_long_help().to_string();
    assert!(help.contains("probe    Look at a probe that only the tests have"), "{help}");
    let mut script = Vec::new();
    clap_complete::generate(
        clap_complete::Shell::Bash,
        &mut super::command(),
        "corpusdb",
        &mut script,
    );
    let script = String::from_utf8(script).unwrap();
    let page = reference::markdown(super::command());
    for shown in ["--test-only-bytes", "probe"] {
        assert!(script.contains(shown) && page.contains(shown), "{shown}");
    }
    let schema = reference::schema();
    assert!(schema["verbs"]["dedup probe"].is_object());
    assert_eq!(schema["$defs"]["ProbeReport"]["properties"]["depth"]["description"], "Its depth.");
    let options = reference::python_options().unwrap();
    let of_export =
        options.split("class ExportOptions(").nth(1).unwrap().split("\nclass ").next().unwrap();
    for line in [
        "    * `test_only_bytes`: A field of the tests alone",
        "    test_only_bytes: int | str | None",
    ] {
        assert!(of_export.contains(line), "{of_export}");
    }
    let of_probe = options.split("class DedupProbeOptions(").nth(1).unwrap();
    for line in ["    * `depth`: How deep the probe goes.", "    depth: int | None"] {
        assert!(of_probe.contains(line), "{of_probe}");
    }
    assert!(reference::python_reports().unwrap().contains("class ProbeReport(Report):"));
    // Both faces parse by the same row.
    let note = |_: &str| {};
    let call = VerbCall::new(corpusdb::Context::new(), corpusdb::Corpus::options(), false, &note);
    let answer = PreparedVerb::of("dedup probe", r#"{"depth": 3}"#).unwrap();
    assert_eq!(
        answer.run(OpenHandle::Nothing, &call).unwrap().text,
        "{\"type\":\"probe\",\"depth\":3}\n"
    );
    assert!(PreparedVerb::of("export", r#"{"to": "x", "test_only_bytes": "4KiB"}"#).is_ok());
    let line = ["corpusdb", "dedup", "probe", "--depth", "x"];
    assert!(super::command().try_get_matches_from(line).is_err());
}

/// Names in backticks that are neither options nor verbs: signs, files, words of values and of SQL.
const OTHER_NAMES: &[&str] = &[
    "-",
    "meta.*",
    "web",
    "web@1",
    "first",
    "longest",
    "source-priority:A,B,...",
    "field:NAME",
    "lang=de/",
    "messages",
    "conversations",
    "instruction",
    "input",
    "output",
    "prompt",
    "completion",
    "found with",
    "▁",
    "id:5",
    "key:5",
    "</w>",
    "<|reserved_0|>",
    "<|reserved_1|>",
    "[UNK]",
    "<unk>",
];

#[test]
fn every_value_of_an_option_has_a_kind_in_python() {
    for row in VERBS {
        for arg in row.arguments().get_arguments() {
            if let Err(error) = keywords::kind(arg) {
                panic!("{}: {error}", row.path);
            }
        }
    }
}

#[test]
fn no_argument_comes_to_the_defaults_of_the_library() {
    for row in VERBS {
        (row.check_defaults)().unwrap_or_else(|why| panic!("{}: {why}", row.path));
    }
}

#[test]
fn the_command_is_well_formed_and_every_family_is_said() {
    super::command().debug_assert();
    let families: BTreeSet<&str> =
        VERBS.iter().filter_map(|row| Some(row.path.split_once(' ')?.0)).collect();
    let is_verb = |family: &str| VERBS.iter().any(|row| row.path == family);
    let said: BTreeSet<&str> = FAMILIES.iter().map(|(name, _)| *name).collect();
    let needed: BTreeSet<&str> = families.into_iter().filter(|family| !is_verb(family)).collect();
    assert_eq!(said, needed);
}

#[test]
fn the_help_has_each_verb_in_one_group_on_one_line() {
    let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let first = |row: &VerbEntry| row.path.split(' ').next().unwrap();
    let hidden = ["reference"];
    let verbs: BTreeSet<&str> =
        VERBS.iter().map(first).filter(|name| !hidden.contains(name)).collect();
    assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), verbs);
    assert_eq!(grouped.len(), verbs.len());
    let help = super::command().render_help().to_string();
    for name in grouped {
        let line = help.lines().find(|line| line.starts_with(&format!("  {name} ")));
        let line = line.unwrap_or_else(|| panic!("{name}: {help}"));
        assert!(line.len() <= 80 && line.len() > 20, "{line}");
    }
}

/// The first Ctrl-C ended `epoch plan` at once, which left the snapshot that it had made.
#[test]
fn whoever_looks_for_ctrl_c_is_left_to_stop_and_nobody_else() {
    let stops = |path: &str| find_verb(path).unwrap_or_else(|| panic!("{path}")).manners.stops;
    for path in [
        "epoch plan",
        "rejects",
        "epoch explain",
        "epoch build",
        "epoch extend",
        "epoch verify",
        "backup create",
        "backup restore",
        "signals add",
        "signals report",
        "contamination add",
        "contamination check",
    ] {
        assert!(stops(path), "{path}");
    }
    for path in ["epoch stream", "epoch row", "epoch show", "snapshot diff", "backup show"] {
        assert!(!stops(path), "{path}");
    }
}

/// A flag in a text is right at the shell alone, and a name that nothing has is right nowhere.
#[test]
fn texts_name_options_by_their_fields_and_verbs_by_their_paths() {
    let mut unknown = Vec::new();
    for row in VERBS {
        let command = row.arguments();
        let mut texts: Vec<(String, String)> = Vec::new();
        let about = command.get_long_about().or(command.get_about());
        let about = about.unwrap_or_else(|| panic!("{} has no text", row.path));
        texts.push((row.path.to_owned(), about.to_string()));
        for arg in command.get_arguments() {
            let name = format!("{} {}", row.path, arg.get_id());
            let help = arg.get_long_help().or(arg.get_help());
            texts.push((
                name.clone(),
                help.unwrap_or_else(|| panic!("{name} has no text")).to_string(),
            ));
        }
        for (name, text) in texts {
            assert!(!text.contains(" --"), "{name}: {text}");
            assert!(!text.contains("[default") && !text.contains("]("), "{name}: {text}");
            for quoted in text.split('`').skip(1).step_by(2) {
                let is_known = spell_name(quoted, Face::Command, &command).is_some()
                    || quoted
                        .strip_prefix("corpusdb ")
                        .is_some_and(|verb| find_verb(verb).is_some())
                    || matches!(quoted, "corpus" | "dry_run")
                    || OTHER_NAMES.contains(&quoted);
                if !is_known {
                    unknown.push(format!("{name}: `{quoted}`"));
                }
            }
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn a_name_is_spelt_as_the_face_has_it() {
    let command = find_verb("ingest").unwrap().arguments();
    let text = "give `id_field`, `paths` or `dedup settle`, and `this`";
    assert_eq!(
        spell(text, Face::Command, &command),
        "give --id-field, PATH or `corpusdb dedup settle`, and `this`"
    );
    assert_eq!(
        spell(text, Face::Python, &command),
        "give `id_field=`, `paths=` or `Writer.dedup.settle()`, and `this`"
    );
    assert_eq!(spell("an odd ` sign", Face::Command, &Command::new("x")), "an odd ` sign");
}

#[test]
fn a_message_is_spelt_as_the_face_has_it() {
    for (text, command, python) in [
        (
            "give `shard_bytes=`, or a directory",
            "give --shard-bytes, or a directory",
            "give `shard_bytes=`, or a directory",
        ),
        ("`chat=messages`, then", "--chat messages, then", "`chat=\"messages\"`, then"),
        ("with `quotes=false`", "with --no-quotes", "with `quotes=False`"),
        ("or `memory=5000`", "or --memory 5000", "or `memory=5000`"),
        ("no source `memory`", "no source `memory`", "no source `memory`"),
        ("`x=b` is no size", "`x=b` is no size", "`x=b` is no size"),
        // Conditions and names of users.
        ("`source='web' AND nope`", "`source='web' AND nope`", "`source='web' AND nope`"),
        ("no snapshot `a=c`", "no snapshot `a=c`", "no snapshot `a=c`"),
        ("no set `format=2`", "no set `format=2`", "no set `format=2`"),
        (
            "no text; name one with --text-field",
            "no text; name one with --text-field",
            "no text; name one with text_field=",
        ),
        (
            "take it as one with --format text.",
            "take it as one with --format text.",
            "take it as one with format=\"text\".",
        ),
        (
            "raise --memory to 4GB (--memory 4GB)",
            "raise --memory to 4GB (--memory 4GB)",
            "raise memory= to 4GB (memory=\"4GB\")",
        ),
        (
            "replace it with --force, or",
            "replace it with --force, or",
            "replace it with force=True, or",
        ),
        (
            "run `corpusdb check CORPUS --salvage NEW`",
            "run `corpusdb check CORPUS --salvage NEW`",
            "run `salvage()`",
        ),
        (
            "`corpusdb check --deep`, or `corpusdb check CORPUS --repair`",
            "`corpusdb check --deep`, or `corpusdb check CORPUS --repair`",
            "`Corpus.check(\"deep\")`, or `repair()`",
        ),
        (
            "`corpusdb remove CORPUS --where \"source = 'a' AND commit > 3\"` takes it back",
            "`corpusdb remove CORPUS --where \"source = 'a' AND commit > 3\"` takes it back",
            "`Writer.remove(where=\"source = 'a' AND commit > 3\")` takes it back",
        ),
        (
            "make one: `corpusdb init NEW --mode witness`",
            "make one: `corpusdb init NEW --mode witness`",
            "make one: `create(mode=\"witness\")`",
        ),
        ("`corpusdb completions a b`", "`corpusdb completions a b`", "`corpusdb completions a b`"),
        // Names of users stay, whatever they are called.
        (
            "no source `format`; a -- b --no-such-flag `--`",
            "no source `format`; a -- b --no-such-flag `--`",
            "no source `format`; a -- b --no-such-flag `--`",
        ),
    ] {
        assert_eq!(spell_message(text, Face::Command), command);
        assert_eq!(spell_message(text, Face::Python), python);
    }
}

fn refused(verb: &str, keywords: &str) -> String {
    match PreparedVerb::of(verb, keywords) {
        Err(VerbError::Arguments(words)) => words,
        Err(VerbError::Library(error)) => panic!("{error}"),
        Ok(_) => panic!("{verb} takes {keywords}"),
    }
}

#[test]
fn keywords_that_do_not_fit_are_refused_by_their_names() {
    let export = |keywords: &str| refused("export", keywords);
    assert_eq!(
        export(r#"{"to": "x", "colums": "a"}"#),
        "no option `colums`; did you mean `columns`?"
    );
    assert_eq!(export(r#"{"to": "x", "where": 5}"#), "where: expected text, got 5");
    assert_eq!(export(r#"{"to": "x", "columns": ["a", 5]}"#), "columns[1]: expected text, got 5");
    assert_eq!(export(r#"{"to": "x", "all": "yes"}"#), "all: expected True or False, got \"yes\"");
    assert_eq!(
        export(r#"{"to": "x", "shard_bytes": "5 parsecs"}"#),
        "`shard_bytes`: unknown unit `parsecs` of `5 parsecs`; write kB, MB, GB, TB, KiB, MiB, GiB or TiB"
    );
    assert!(export(r#"{"to": "x", "format": "parquett"}"#).ends_with("did you mean `parquet`?"));
    assert_eq!(export("{}"), "`to` is needed");
    assert_eq!(refused("dedup redo", r#"{"bands": 3}"#), "`rows` is needed");
    let both = refused("duplicates", r#"{"key": "k", "list": true}"#);
    assert!(
        both.contains("`key`")
            && both.contains("`list`")
            && both.contains("cannot be combined with"),
        "{both}"
    );
    assert_eq!(refused("exprot", "{}"), "there is no verb `exprot`");
}

#[test]
fn keywords_come_to_the_arguments_of_the_command() {
    for (verb, keywords) in [
        (
            "export",
            r#"{"to": "x", "shard_bytes": 4096, "columns": ["a,b", "c"], "all": null, "where": "-n = 5"}"#,
        ),
        (
            "ingest",
            r#"{"paths": ["a", "-b"], "source": "s", "map": {"text": "body"}, "quotes": false, "delimiter": ";"}"#,
        ),
        (
            "ingest",
            r#"{"paths": "a", "source": "s", "chat": "auto", "chat_template": "t", "chat_set": {"n": 5, "x": false}}"#,
        ),
        ("similar", r#"{"k": 3, "text": "five words that are here"}"#),
        (
            "init",
            r#"{"corpus": "c", "fields": {"quality": "float"}, "keep": "field:quality", "threshold": 0.7}"#,
        ),
        (
            "field set",
            r#"{"from": ["a"], "on": "key=url", "columns": {"quality": "score"}, "dry_run": true}"#,
        ),
    ] {
        let prepared = PreparedVerb::of(verb, keywords);
        assert!(prepared.is_ok(), "{verb}: {:?}", prepared.err());
        assert_eq!(prepared.unwrap().is_dry_run(), verb == "field set");
    }
}

/// A command that is built for some arguments parses them as the whole one does.
#[test]
fn a_partial_command_parses_as_the_whole_one() {
    for line in [
        "",
        "--help",
        "-h",
        "--version",
        "-V",
        "--version --help",
        "help",
        "help info",
        "help epoch",
        "help epoch plan",
        "help help",
        "help inof",
        "--json",
        "--json --help",
        "--jsno",
        "--wher info",
        "--wher info count",
        "--where x count",
        "--",
        "-- info",
        "-x info",
        "--help info",
        "inof",
        "inof --help",
        "inof epoch",
        "refrence",
        "info",
        "info --help",
        "info -h",
        "info --version",
        "info c --jsno",
        "info c d",
        "info c --json",
        "--json info c",
        "--memory info",
        "--memory 1GB count c",
        "count c --wher x",
        "epoch",
        "epoch --help",
        "epoch help",
        "epoch help plan",
        "epoch plaan",
        "epoch plan",
        "epoch plan c r.toml --epoch 1",
        "rejects",
        "rejects --help",
        "rejects c",
        "rejects c --drop --source",
        "reference --help",
        "reference pyhton",
        "completions",
        "tokenizer train c --vocab-size x",
    ] {
        let words = || std::iter::once("corpusdb").chain(line.split_whitespace());
        let arguments: Vec<std::ffi::OsString> = words().map(Into::into).collect();
        let told = |command: Command| match command.try_get_matches_from(words()) {
            Ok(matches) => format!("{matches:?}"),
            Err(error) => format!("{:?} {}", error.kind(), error.render().ansi()),
        };
        assert_eq!(told(super::command_of(&arguments)), told(super::command()), "{line}");
    }
}

/// Half of the time of `--version` went into arguments of verbs that were not asked for.
#[test]
fn verbs_that_are_not_named_are_built_without_their_arguments() {
    let arguments = |line: &str, verb: &str| {
        let words = std::iter::once("corpusdb").chain(line.split_whitespace());
        let words: Vec<std::ffi::OsString> = words.map(Into::into).collect();
        let command = super::command_of(&words);
        command.find_subcommand(verb).map(|verb| verb.get_arguments().count())
    };
    assert_eq!(arguments("--version", "ingest"), Some(0));
    assert_eq!(arguments("info c", "ingest"), Some(0));
    assert_eq!(arguments("--help", "ingest"), Some(0));
    assert!(arguments("ingest c", "ingest") > Some(10));
}
