//! A folder that is renamed, removed or exchanged under its writer: the writer ends and says why, what stands there now
//! stays as it is, and readers go on with what they opened.

use crate::support::loads::journal;
use crate::support::{
    Page, Random, TestDir, command, corpusdb, corpusdb_test, file_names, ingest, init,
    keyed_options, lines, paths_below, pour, prose, ran, reader, sound, sound_digest, until,
    writer,
};
use corpusdb::store::{CheckDepth, StoreError};
use corpusdb::{Context, Error};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

/// What is done to the folder `crawl` while a writer has it open; `new` is another corpus. Answers the files of what
/// stands there then, as they were before.
type Exchange = fn(&TestDir) -> Option<Vec<FileState>>;

/// Each with what the writer says of it.
const EXCHANGES: [(&str, Exchange, &[&str]); 5] = [
    (
        "another one is put in its place",
        |place| {
            let before = files(&place.path("new"));
            fs::rename(place.path("crawl"), place.path("bad")).unwrap();
            fs::rename(place.path("new"), place.path("crawl")).unwrap();
            Some(before)
        },
        &[
            "crawl was renamed to ",
            "/bad while it was open for writing; another corpus stands there now, and nothing was written to it; ",
            "end writers before a folder is renamed or replaced",
        ],
    ),
    (
        "it is renamed",
        |place| {
            fs::rename(place.path("crawl"), place.path("bad")).unwrap();
            None
        },
        &[
            "crawl was renamed to ",
            "/bad while it was open for writing; no corpus stands there now",
        ],
    ),
    (
        "it is removed and made again",
        |place| {
            // The writer may make a file meanwhile.
            while fs::remove_dir_all(place.path("crawl")).is_err() {}
            place.run("init crawl");
            Some(files(&place.path("crawl")))
        },
        &["crawl was renamed or removed while it was open for writing; "],
    ),
    (
        "it is emptied and filled again",
        |place| {
            for name in file_names(place.path("crawl")).into_iter().filter(|name| name != "db") {
                fs::remove_file(place.path("crawl").join(name)).unwrap();
            }
            while fs::remove_dir_all(place.path("crawl/db")).is_err() {}
            place.run("init crawl");
            Some(files(&place.path("crawl")))
        },
        &[
            "crawl was emptied or written over while it was open for writing; its lock or its database is another one now",
        ],
    ),
    (
        "a link leads elsewhere",
        |place| {
            let before = files(&place.path("new"));
            fs::remove_file(place.path("crawl")).unwrap();
            std::os::unix::fs::symlink("new", place.path("crawl")).unwrap();
            Some(before)
        },
        &["crawl led to ", "/bad while it was open for writing; another corpus stands there now"],
    ),
];

/// A file: its name in the directory, its length, when it was changed, and a hash of its bytes.
type FileState = (PathBuf, u64, SystemTime, blake3::Hash);

fn files(directory: &Path) -> Vec<FileState> {
    // Of a link: what it leads to.
    let directory = directory.canonicalize().unwrap();
    let state = |path: PathBuf| {
        let found = fs::metadata(&path).unwrap();
        let hash = blake3::hash(&fs::read(&path).unwrap());
        let name = path.strip_prefix(&directory).unwrap().to_path_buf();
        (name, found.len(), found.modified().unwrap(), hash)
    };
    paths_below(&directory).into_iter().map(state).collect()
}

fn pages(of: &str, count: usize) -> Vec<Page> {
    let mut random = Random::new(of.len() as u64);
    (0..count).map(|at| Page::keyed(format!("{of}-{at}"), prose(&mut random, at, 40))).collect()
}

/// The corpora `crawl`, or a link of that name, and `new`.
fn place(is_linked: bool) -> TestDir {
    let place = TestDir::new();
    let open = place.arg(if is_linked { "bad" } else { "crawl" });
    for (corpus, name) in [(open, "alpha"), (place.arg("new"), "delta")] {
        init(&corpus, &[]);
        ingest(&corpus, &[&place.write(name, lines(&pages(name, 60)))], &WEB_LINES);
    }
    if is_linked {
        std::os::unix::fs::symlink("bad", place.path("crawl")).unwrap();
    }
    place
}

const WEB_LINES: [&str; 6] = ["--source", "web", "--id-field", "id", "--format", "jsonl"];

// The writer went on by the path: its tables replaced those of the restored corpus, and it ended with 0.
#[test]
fn a_writer_ends_when_its_folder_is_exchanged() {
    for (way, exchange, words) in EXCHANGES {
        println!("{way}");
        let place = place(way.starts_with("a link"));
        let corpus = place.arg("crawl");
        let (small, start) = (["--batch-bytes", "4000"], journal(&corpus));
        let arguments = [&["ingest", "crawl", "-"][..], &WEB_LINES, &small].concat();
        let mut command = command(&arguments);
        command.current_dir(&place.root).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(lines(&pages("beta", 200)).as_bytes()).unwrap();
        assert!(until(&mut child, || journal(&corpus) >= start + 2), "{way}: it ended before");
        // A folder that is emptied file by file would get what is being committed meanwhile.
        let mut committed = 0;
        while way.starts_with("it is") && committed != journal(&corpus) {
            committed = journal(&corpus);
            std::thread::sleep(Duration::from_millis(400));
        }
        let before = exchange(&place);
        // It may have ended by now.
        let _ = stdin.write_all(lines(&pages("gamma", 200)).as_bytes());
        drop(stdin);
        let ended = ran(&arguments, child.wait_with_output().unwrap());
        assert_eq!(ended.code, Some(2), "{way}: {ended}");
        ended.fails(words);
        if let Some(before) = before {
            assert_eq!(files(&place.path("crawl")), before, "{way}");
            sound(&corpus);
            let more = place.write("more", lines(&pages("epsilon", 60)));
            assert_eq!(ingest(&corpus, &[&more], &WEB_LINES)["added"], 60, "{way}");
            sound(&corpus);
        }
        if !place.path("bad").exists() {
            continue;
        }
        // All that was committed, and nothing else.
        place.sound("bad");
        let keys = place.column("bad", "SELECT key FROM documents ORDER BY id");
        let given = [pages("alpha", 60), pages("beta", 200), pages("gamma", 200)].concat();
        assert!(keys.len() > 60 && keys.len() < given.len(), "{way}: {} documents", keys.len());
        let given = given.into_iter().map(|page| page.id.unwrap());
        assert!(keys.iter().eq(given.take(keys.len()).collect::<Vec<_>>().iter()), "{way}");
        let more = place.arg("more");
        place.write("more", lines(&pages("epsilon", 60)));
        assert_eq!(ingest(&place.arg("bad"), &[&more], &WEB_LINES)["added"], 60, "{way}");
    }
}

fn exchanged<T>(done: Result<T, Error>) {
    let error = done.err().expect("it went on in another folder");
    assert!(matches!(error.origin(), Some(StoreError::Exchanged { .. })), "{error}");
}

corpusdb_test!(an_open_writer_and_readers_of_an_exchanged_folder, place(false), |place| {
    let (path, new, bad) = (place.path("crawl"), place.path("new"), place.path("bad"));
    let mut writer = writer(&path);
    let beta = [place.write("beta.jsonl", lines(&pages("beta", 60)))];
    let gamma = [place.write("gamma.jsonl", lines(&pages("gamma", 60)))];
    pour(&mut writer, &beta, &keyed_options(4000));
    let (opened, shown) = (reader(&path), writer.corpus());
    assert!(opened.is_current().unwrap() && shown.is_current().unwrap());
    let before = sound_digest(&opened);
    let untouched = files(&new);
    fs::rename(&path, &bad).unwrap();
    for corpus in [&opened, &shown] {
        assert!(!corpus.is_current().unwrap(), "nothing is at the path");
    }
    fs::rename(&new, &path).unwrap();
    exchanged(writer.ingest(&gamma, &keyed_options(4000), &Context::new()));
    exchanged(writer.create_snapshot("now"));
    exchanged(writer.compact(&Context::new()));
    exchanged(writer.dry_run_copy());
    for corpus in [&opened, &shown] {
        assert!(!corpus.is_current().unwrap(), "another corpus is at the path");
        assert_eq!(corpus.count(None).unwrap(), 120);
        assert_eq!(corpus.digest(&Context::new()).unwrap(), before);
        // Its journal was looked for at the path.
        assert_eq!(corpus.check(CheckDepth::Quick, &Context::new()).unwrap(), []);
    }
    drop((writer, shown));
    assert_eq!(files(&path), untouched);
    assert_eq!(sound_digest(&reader(&bad)), before);
    assert!(reader(&path).is_current().unwrap());
    sound(&place.arg("crawl"));
    // Put back it is what it was, also for who had it open all the time.
    fs::rename(&path, &new).unwrap();
    fs::rename(&bad, &path).unwrap();
    assert!(opened.is_current().unwrap());
});

corpusdb_test!(a_folder_that_is_put_back_is_written_to_again, place(false), |place| {
    let (path, bad) = (place.path("crawl"), place.path("bad"));
    let mut writer = writer(&path);
    let beta = [place.write("beta.jsonl", lines(&pages("beta", 60)))];
    fs::rename(&path, &bad).unwrap();
    exchanged(writer.ingest(&beta, &keyed_options(4000), &Context::new()));
    fs::rename(&bad, &path).unwrap();
    assert_eq!(pour(&mut writer, &beta, &keyed_options(4000)).added, 60);
    drop(writer);
    sound(&place.arg("crawl"));
});

// Names lead into the folder that was opened: the database of a view that lives on must not be opened a second time.
corpusdb_test!(a_view_that_outlives_its_writer_keeps_others_out, place(false), |place| {
    let path = place.path("crawl");
    let held = writer(&path);
    let view = held.view().clone();
    drop(held);
    let refused = corpusdb::CorpusWriter::open(&path).unwrap_err();
    assert!(matches!(refused.origin(), Some(StoreError::Locked { is_own: true, .. })), "{refused}");
    corpusdb(&["compact", &place.arg("crawl")]).fails(&["is being written by process"]);
    drop(view);
    drop(writer(&path));
});
