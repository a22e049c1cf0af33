//! Alarms before a commit is final: the batch that loses too much is refused, and undone by a command.

use crate::support::world::{World, options, policy};
use crate::support::{Page, corpusdb, lines, sound};
use corpusdb::{Context, DedupMode, IngestOptions};
use serde_json::Value;

/// Pages of which nearly all are made from one of two templates.
fn templates(fresh: usize, made: usize) -> Vec<Page> {
    let word = |name: &str, at: usize| format!("{name}{at}");
    let text = |name: &str, own: &str| {
        let common = (0..40).map(|at| word(name, at)).collect::<Vec<_>>().join(" ");
        format!("{common} {own}")
    };
    let own = (0..fresh).map(|at| {
        Page::new((0..12).map(|part| format!("own{at}part{part}")).collect::<Vec<_>>().join(" "))
    });
    let made = (0..made).map(|at| Page::new(text(["first", "second"][at % 2], &word("slot", at))));
    own.chain(made).collect()
}

#[test]
fn the_loss_limit_refuses_a_batch_and_names_the_undo() {
    let mut world = World::new(&policy(DedupMode::Witness, 0.8));
    world.pour("web", &[Page::new("a page that was here before and is to stay here")], 1 << 20);
    let pages = templates(5_200, 5_600);
    let file = world.scratch.write("templates.jsonl", lines(&pages));
    let batches = IngestOptions { max_removed: Some(0.5), ..options("web", 64 << 10, &pages) };
    let error = world.writer.ingest(&[file], &batches, &Context::new()).unwrap_err().to_string();
    for words in ["share of 0.5", "was taken for a duplicate of", "corpusdb remove CORPUS --where"]
    {
        assert!(error.contains(words), "no `{words}` in {error}");
    }
    let stored = world.writer.view().documents();
    assert!((9_000..10_801).contains(&stored), "earlier batches stay: {stored}");
    let mut half = 0;
    for id in 1..stored {
        let standing = world.writer.view().standing(corpusdb::DocId(id)).unwrap();
        half += u64::from(standing != corpusdb::dedup::Standing::Kept);
    }
    assert!(half * 2 <= stored, "no batch over the limit was committed: {half} of {stored}");
    // The command as printed works.
    let condition = error.split("--where \"").nth(1).unwrap().split('"').next().unwrap();
    let corpus = world.path.display().to_string();
    drop(world.writer);
    let report = corpusdb(&["remove", &corpus, "--where", condition, "--json"]).good().json();
    assert_eq!(report["changed"], stored - 1, "{report}");
    assert_eq!(corpusdb(&["count", &corpus, "--where", "kept"]).good().stdout, "1\n");
    sound(&corpus);
    // Restored, all of it is as it was.
    corpusdb(&["restore", &corpus, "--where", condition]).good();
    let kept = corpusdb(&["count", &corpus, "--where", "kept"]).good().stdout;
    assert_eq!(kept.trim().parse::<u64>().unwrap(), stored - half);
    sound(&corpus);
}

/// The pages have none of the declared fields, which is told too.
fn about_duplicates(alarms: &Value) -> Vec<Value> {
    let alarms = alarms.as_array().unwrap().iter();
    alarms.filter(|alarm| alarm["kind"] != "field-absent").cloned().collect()
}

#[test]
fn a_warning_names_a_source_that_is_nearly_gone() {
    let world = World::new(&policy(DedupMode::Witness, 0.8));
    let corpus = world.path.display().to_string();
    drop(world.writer);
    let words = |at| (0..40).map(move |part| format!("own{at}part{part}"));
    let pages: Vec<Page> =
        (0..130).map(|at| Page::new(words(at).collect::<Vec<_>>().join(" "))).collect();
    let alarms = |name: &str, pages: &[Page]| {
        let pages: Vec<Page> =
            pages.iter().map(|page| Page::new(format!("{} again", page.text))).collect();
        let file = world.scratch.write(&format!("{name}.jsonl"), lines(&pages));
        let arguments = ["ingest", &corpus, &file, "--source", name, "--json"];
        let report = corpusdb(&arguments).good().json();
        about_duplicates(&report["alarms"])
    };
    let first = world.scratch.write("first.jsonl", lines(&pages));
    corpusdb(&["ingest", &corpus, &first, "--source", "first"]).good();
    assert!(alarms("few", &pages[..99]).is_empty());
    let told = alarms("mirror", &pages);
    let [alarm] = &told[..] else { panic!("{told:?}") };
    assert_eq!(alarm["kind"], "source-removed", "{alarm}");
    assert_eq!((&alarm["source"], &alarm["added"]), (&"mirror".into(), &130.into()), "{alarm}");
    let removed = alarm["removed"].as_u64().unwrap();
    let stored = ["count", &corpus, "--where", "source = 'mirror' AND NOT kept"];
    assert_eq!(corpusdb(&stored).good().stdout, format!("{removed}\n"));
    assert!(removed >= 117 && alarm["example"]["removed_text"].is_string(), "{alarm}");
}

#[test]
fn below_the_limit_a_large_cluster_is_only_a_warning() {
    let mut world = World::new(&policy(DedupMode::Witness, 0.8));
    let pages = templates(9_000, 3_000);
    let file = world.scratch.write("templates.jsonl", lines(&pages));
    let batches = IngestOptions { max_removed: Some(0.5), ..options("web", 256 << 10, &pages) };
    let report = world.writer.ingest(&[file], &batches, &Context::new());
    let report = report.unwrap();
    assert_eq!((report.added, report.kept), (12_000, 9_002));
    let told = serde_json::to_value(&report.alarms).unwrap();
    let told = about_duplicates(&told);
    assert_eq!(told.len(), 2, "{told:?}");
    for alarm in &told {
        assert_eq!((alarm["kind"].as_str(), alarm["size"].as_u64()), (Some("cluster"), Some(1500)));
        let example = &alarm["example"];
        let beginning = |text: &str| example[text].as_str().unwrap()[..100].to_owned();
        assert_eq!(beginning("witness_text"), beginning("removed_text"), "{alarm}");
    }
    world.digest();
}
