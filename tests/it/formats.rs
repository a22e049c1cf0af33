//! Golden stores: what an earlier binary wrote is read, checked, and goes on.

use crate::splits::trained;
use crate::support::{
    Page, Scratch, command, copy, corpusdb, corpusdb_reading, crawl, init, lines, numbers, reader,
    repository, sound_digest, writer,
};
use corpusdb::{Interrupt, Silent};
use std::path::Path;

/// The digest that the golden store of `format` had when it was made.
fn expected(format: &str) -> String {
    let digest =
        std::fs::read_to_string(repository("tests/formats").join(format).join("digest")).unwrap();
    digest.trim().to_owned()
}

#[test]
fn the_golden_store_of_every_format_opens_twice_is_sound_and_has_its_digest() {
    let mut formats = 0;
    for entry in std::fs::read_dir(repository("tests/formats")).unwrap() {
        let entry = entry.unwrap();
        if !entry.file_type().unwrap().is_dir() {
            continue;
        }
        let format = entry.file_name().into_string().unwrap();
        let expected = expected(&format);
        let scratch = Scratch::new();
        let corpus = scratch.path("corpus");
        copy(&entry.path().join("corpus"), &corpus);
        // The first writer may migrate, the second finds nothing to do.
        for _ in 0..2 {
            drop(writer(&corpus));
            assert_eq!(sound_digest(&reader(&corpus)), expected, "{format}");
        }
        shows_what_was_put_in(&corpus);
        // It goes on: what it knows is unchanged, what is new is added and deduplicated against it.
        let name = corpus.display().to_string();
        let again = ["ingest", &name, "-", "--source", "web", "--id-field", "id", "--json"];
        let report =
            corpusdb_reading(&again, lines(&crawl(7, 70, true)[60..]).as_bytes()).good().json();
        let [read, unchanged] = numbers(&report, ["read", "unchanged"]);
        assert_eq!(read, 10);
        assert!(unchanged < 10);
        let twin = corpusdb_reading(
            &["ingest", &name, "-", "--source", "more", "--json"],
            lines(&[first_kept()]).as_bytes(),
        )
        .good()
        .json();
        assert_eq!(numbers(&twin, ["added", "exact_duplicates"]), [1, 1], "{format}");
        let grown = sound_digest(&reader(&corpus));
        assert_ne!(grown, expected);
        formats += 1;
    }
    assert!(formats >= 1);
}

/// The first page that is kept and never superseded.
fn first_kept() -> Page {
    Page { id: None, ..pages().into_iter().next().unwrap() }
}

/// What every golden store was made of.
fn pages() -> Vec<Page> {
    let mut pages = vec![Page::keyed(
        "first",
        "the first page of the golden store is kept, and nothing like it follows",
    )];
    pages.extend(crawl(7, 60, true));
    pages
}

fn shows_what_was_put_in(corpus: &Path) {
    let corpus = reader(corpus);
    let info = corpus.info().unwrap();
    assert_eq!(
        info.sources.iter().map(|source| source.name.as_str()).collect::<Vec<_>>(),
        ["web", "notes"]
    );
    assert_eq!((info.tokenizers.len(), info.snapshots.len(), info.rejects), (1, 1, 1));
    assert!(
        info.standings.iter().filter(|count| count.documents > 0).count() >= 5,
        "{:?}",
        info.standings
    );
    let put_in: Vec<String> =
        pages().into_iter().chain(crawl(8, 20, false)).map(|page| page.text).collect();
    let texts: Vec<String> =
        (0..info.documents).map(|id| corpus.show(corpusdb::DocId(id)).unwrap().text).collect();
    assert_eq!(texts[0], put_in[0]);
    assert!(texts.len() > 60 && texts.iter().all(|text| put_in.contains(text)));
}

#[test]
#[ignore = "writes tests/formats: run it once when a format is released, never again for that format"]
fn make_a_golden_store() {
    let home = repository("tests/formats").join(format!("v{}", corpusdb::format_version()));
    let corpus = home.join("corpus");
    let _ = std::fs::remove_dir_all(&home);
    std::fs::create_dir_all(&home).unwrap();
    let name = corpus.display().to_string();
    init(
        &name,
        &[
            "--threshold",
            "0.7",
            "--field",
            "url:keyword",
            "--field",
            "quality:float",
            "--field",
            "year:int",
        ],
    );
    {
        let mut writer = writer(&corpus);
        writer
            .add_tokenizer(
                "own",
                &trained(),
                "trained on a test's crawl",
                &Silent,
                &Interrupt::default(),
            )
            .unwrap();
    }
    // Through standard input, so that no path of the machine is in it.
    let input = format!("{}not a line\n", lines(&pages()));
    corpusdb_reading(
        &["ingest", &name, "-", "--source", "web", "--id-field", "id", "--batch-bytes", "4kB"],
        input.as_bytes(),
    )
    .good();
    corpusdb(&["snapshot", "create", &name, "then"]).good();
    let more = lines(&crawl(8, 20, false));
    corpusdb_reading(&["ingest", &name, "-", "--source", "notes"], more.as_bytes()).good();
    for entry in std::fs::read_dir(corpus.join("db")).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        // What RocksDB tells people, and what it makes anew.
        if file.starts_with("LOG")
            || file.starts_with("OPTIONS")
            || file == "LOCK"
            || file.ends_with(".log") && std::fs::metadata(&path).unwrap().len() == 0
        {
            std::fs::remove_file(path).unwrap();
        }
    }
    let _ = std::fs::remove_file(corpus.join("writer.lock"));
    std::fs::write(home.join("digest"), format!("{}\n", sound_digest(&reader(&corpus)))).unwrap();
    assert!(command(&["info", &name]).status().unwrap().success());
}
