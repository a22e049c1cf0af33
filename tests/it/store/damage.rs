//! What damage costs: each family with a byte other, with a byte less, without its table; the small files that say where
//! everything is; and lengths in tokens of what is not kept any more.

use crate::support::{
    Random, StopAt, StopWhen, copy, corpusdb, corpusdb_reading, corpusdb_test, crawl, digest,
    lines, part, paths_below, reader, sound_digest, sql, tables, tokenizer_of_chats, trained,
    writer,
};
use corpusdb::curate::BlockReach;
use corpusdb::store::table::FAMILIES;
use corpusdb::{Context, Corpus, CorpusOptions, DedupMode};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn options() -> CorpusOptions {
    Corpus::options().memory(32 << 20).threads(2)
}

fn name(corpus: &Path) -> String {
    corpus.display().to_string()
}

// ----
// Lengths in tokens.

/// Documents of every standing, most of them encoded while they were kept, by two tokenizers; `given`: of one source by
/// ids that came along.
fn history(path: &Path, given: bool) {
    let corpus = name(path);
    crate::support::make(path, DedupMode::Witness, 0.7);
    {
        let mut writer = writer(path);
        writer.add_tokenizer("own", trained(), "", &Context::new()).unwrap();
        writer.add_tokenizer("more", &tokenizer_of_chats(3), "", &Context::new()).unwrap();
    }
    let web = ["ingest", &corpus, "-", "--source", "web", "--id-field", "id"];
    corpusdb_reading(&web, lines(&crawl(7, 400, true)).as_bytes()).good();
    if given {
        let ids = ["ingest", &corpus, "-", "--source", "given", "--pretokenized", "own"];
        let rows: String =
            (0..9).map(|at| format!("{{\"input_ids\":[{at},30,31,32]}}\n")).collect();
        corpusdb_reading(&ids, rows.as_bytes()).good();
    }
    corpusdb(&["snapshot", "create", &corpus, "before"]).good();
    corpusdb(&["remove", &corpus, "--where", "id % 3 = 1"]).good();
    let mut newer = crawl(7, 400, true);
    newer.iter_mut().step_by(5).for_each(|page| page.text.push_str(" in a newer version"));
    corpusdb_reading(&web, lines(&newer).as_bytes()).good();
    {
        let mut writer = writer(path);
        let documents = writer.corpus().select("kept AND id % 11 = 2").unwrap();
        writer.remove(&documents, BlockReach::Similar, &Context::new()).unwrap();
    }
    corpusdb(&["compact", &corpus]).good();
}

fn lengths(corpus: &Path) -> Vec<String> {
    let statements = [
        "SELECT id, standing, tokens, tokens_more FROM documents ORDER BY id",
        "SELECT source, standing, count(tokens), sum(tokens), sum(tokens_more) FROM documents GROUP BY source, standing ORDER BY source, standing",
        "SELECT * FROM sources ORDER BY name",
    ];
    statements.map(|statement| format!("{:?}", sql(&name(corpus), statement))).to_vec()
}

// A repair encoded what is kept now: removed and superseded documents had null for their length.
corpusdb_test!(lengths_of_what_is_not_kept_stay_in_a_repair, |scratch| {
    for given in [true, false] {
        let corpus = scratch.path(if given { "given" } else { "own" });
        history(&corpus, given);
        let (before, expected) = (lengths(&corpus), sound_digest(&reader(&corpus)));
        let columns: &[bool] = if given { &[false] } else { &[false, true] };
        for with_columns in columns {
            let found = scratch.path("found");
            copy(&corpus, &found);
            let tables = tables(&found);
            for table in &tables["tokens"] {
                let mut bytes = std::fs::read(table).unwrap();
                // Given ids follow from nothing else: their block stays.
                if given {
                    bytes[4] ^= 0xff
                } else {
                    bytes.truncate(9)
                }
                std::fs::write(table, bytes).unwrap();
            }
            for table in tables["columns"].iter().filter(|_| *with_columns) {
                std::fs::write(table, b"nothing that is a table").unwrap();
            }
            let report = options().repair(&found, &Context::new()).unwrap();
            assert!(report.is_sound(), "{report:?}");
            assert_eq!(reader(&found).digest(&Context::new()).unwrap(), expected);
            if *with_columns {
                // Neither length nor ids: how many, is said.
                assert!(report.lost_lengths > 100, "{report:?}");
                assert_eq!(lengths(&found)[2], before[2]);
            } else {
                assert_eq!(report.lost_lengths, 0);
                assert_eq!(lengths(&found), before, "{given}");
            }
            std::fs::remove_dir_all(&found).unwrap();
        }
    }
});

// ----
// Families.

#[derive(Clone, Copy, Debug, PartialEq)]
enum Damage {
    Flip,
    Cut,
    Gone,
}

impl Damage {
    fn of(self, table: &Path, random: &mut Random) {
        let mut bytes = std::fs::read(table).unwrap();
        match self {
            // Within the first block.
            Self::Flip => bytes[random.below(20)] ^= 0x55,
            Self::Cut => bytes.truncate(bytes.len() - 1),
            Self::Gone => return std::fs::remove_file(table).unwrap(),
        }
        std::fs::remove_file(table).unwrap();
        std::fs::write(table, bytes).unwrap();
    }
}

/// Texts of the documents of a standing.
fn texts(corpus: &Path, standing: &str) -> BTreeSet<String> {
    let corpus = reader(corpus);
    let view = corpus.view();
    let found = corpus.select(format!("standing = '{standing}'")).unwrap();
    found.iter().map(|id| view.text(corpusdb::DocId(id)).unwrap()).collect()
}

/// Repairs, or salvages; answers what became of it.
fn mend(corpus: &Path, expected: &str, found: &Path, target: &Path, what: &str) -> String {
    let report =
        options().repair(found, &Context::new()).unwrap_or_else(|error| panic!("{what}: {error}"));
    if report.lost.is_empty() {
        assert!(report.is_sound(), "{what}: {:?}", report.faults);
        assert_eq!(reader(found).digest(&Context::new()).unwrap(), expected, "{what}");
        return "repaired".to_owned();
    }
    let saved = options().salvage(found, target, &Context::new());
    let saved = saved.unwrap_or_else(|error| panic!("{what}: {error}"));
    sound_digest(&reader(target));
    assert_eq!(saved.copied + saved.lost + saved.purged, saved.documents, "{what}: {saved:?}");
    // The last byte of a table is the same in all.
    assert!(saved.is_whole() || !what.ends_with("Cut"), "{what}: {saved:?}");
    // What was removed does not come back, or it is said.
    let is_loud = saved.damage.iter().any(|it| it.contains("MAY BE KEPT AGAIN"));
    let back = &texts(corpus, "removed") - &texts(corpus, "kept");
    let back = back.intersection(&texts(target, "kept")).count();
    assert!(is_loud || back == 0, "{what}: {back} came back");
    let [copied, lost, bare] = [saved.copied, saved.lost, saved.bare];
    let rest = [saved.damage, saved.left].concat().join("; ");
    format!("{copied} copied, {lost} lost, {bare} without metadata; {rest}")
}

// A table cut by a byte was lost whole, and damage to commits, sources, meta ended a salvage.
corpusdb_test!(damage_costs_what_its_family_holds, |scratch| {
    let corpus = scratch.path("corpus");
    super::repair::make(&corpus);
    let expected = sound_digest(&reader(&corpus));
    let all = tables(&corpus);
    let wanted: Vec<&str> = FAMILIES.iter().map(|info| info.name).collect();
    let few = ["text_pages", "metadata_pages", "meta"];
    let others = part(wanted.iter().copied().filter(|it| !few.contains(it)), 30);
    let mut random = Random::new(5);
    let mut rows = Vec::new();
    for family in few.into_iter().chain(others) {
        let (corpus, expected) = (&corpus, &expected);
        let table =
            all[family].iter().max_by_key(|it| std::fs::metadata(it).unwrap().len()).unwrap();
        for damage in [Damage::Flip, Damage::Cut, Damage::Gone] {
            let (found, target) = (scratch.path("found"), scratch.path("rescued"));
            copy(corpus, &found);
            damage.of(&found.join("db").join(table.file_name().unwrap()), &mut random);
            let what = format!("{family} {damage:?}");
            let told = mend(corpus, expected, &found, &target, &what);
            let is_content =
                ["text_pages", "place_pages", "print_pages", "key_pages"].contains(&family);
            let is_lossless = !is_content || damage == Damage::Cut;
            assert!(
                !is_lossless || !told.contains("copied") || told.contains(" 0 lost"),
                "{what}: {told}"
            );
            rows.push(format!("| {family} | {damage:?} | {told} |"));
            std::fs::remove_dir_all(&found).unwrap();
            let _ = std::fs::remove_dir_all(&target);
        }
    }
    println!("{}", rows.join("\n"));
});

// ----
// Small files.

fn manifest(corpus: &Path) -> PathBuf {
    let entries = std::fs::read_dir(corpus.join("db")).unwrap();
    let mut paths = entries.map(|entry| entry.unwrap().path());
    paths.find(|path| path.display().to_string().contains("MANIFEST")).unwrap()
}

// Sixteen bytes, and nothing of the corpus could be read or saved.
corpusdb_test!(small_files_are_written_again_or_done_without, |scratch| {
    let corpus = scratch.path("corpus");
    super::repair::make(&corpus);
    let expected = sound_digest(&reader(&corpus));
    let all = reader(&corpus).view().documents();
    type Hurt = fn(&Path);
    let kinds: [(&str, Hurt); 5] = [
        ("CURRENT gone", |it| std::fs::remove_file(it.join("db/CURRENT")).unwrap()),
        ("CURRENT empty", |it| std::fs::write(it.join("db/CURRENT"), "").unwrap()),
        ("CURRENT flipped", |it| {
            std::fs::write(it.join("db/CURRENT"), "MANIFESU-000005\n").unwrap()
        }),
        ("FORMAT gone", |it| std::fs::remove_file(it.join("FORMAT")).unwrap()),
        ("FORMAT longer", |it| {
            let bytes = [std::fs::read(it.join("FORMAT")).unwrap(), vec![0xff]].concat();
            std::fs::write(it.join("FORMAT"), bytes).unwrap();
        }),
    ];
    for (what, hurt) in kinds {
        let (found, target) = (scratch.path("found"), scratch.path("rescued"));
        copy(&corpus, &found);
        hurt(&found);
        corpusdb(&["check", &name(&found)]).fails(&["check", "--repair"]);
        let saved = options().salvage(&found, &target, &Context::new());
        let saved = saved.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!((saved.lost, saved.documents), (0, all), "{what}: {saved:?}");
        corpusdb(&["check", &name(&found), "--repair"]).good().prints(&["sound"]);
        assert_eq!(digest(&name(&found)), expected, "{what}");
        std::fs::remove_dir_all(&found).unwrap();
        std::fs::remove_dir_all(&target).unwrap();
    }
});

/// Where the records of a manifest or a log begin; those of a small one, of a block.
fn records(bytes: &[u8]) -> Vec<usize> {
    let (mut at, mut found) = (0, Vec::new());
    while at + 7 < bytes.len() {
        found.push(at);
        at += 7 + usize::from(u16::from_le_bytes([bytes[at + 4], bytes[at + 5]]));
    }
    found
}

// RocksDB's reader repeated a record of a recycled log's type for ever, and took one of a wrong length for the end.
corpusdb_test!(a_bit_in_the_list_of_tables_is_refused_and_salvaged, |scratch| {
    let corpus = scratch.path("corpus");
    super::repair::make(&corpus);
    let all = reader(&corpus).view().documents();
    let whole = std::fs::read(manifest(&corpus)).unwrap();
    let places = records(&whole);
    let middle = places[places.len() / 2];
    // A byte of the checksum, of the length, the type, and of what it holds.
    for (at, byte) in [(0, 0xff), (4, 0xff), (5, 0xff), (6, 5), (6, 7), (6, 11), (9, 0xff)] {
        let (found, target) = (scratch.path("found"), scratch.path("rescued"));
        copy(&corpus, &found);
        let mut bytes = whole.clone();
        let old = std::mem::replace(&mut bytes[middle + at], byte);
        if old == byte {
            bytes[middle + at] = 0;
        }
        std::fs::write(manifest(&found), bytes).unwrap();
        for verb in ["stats", "check", "compact"] {
            corpusdb(&[verb, &name(&found)]).fails(&["MANIFEST-", "--salvage"]);
        }
        let saved = options().salvage(&found, &target, &Context::new()).unwrap();
        assert_eq!((saved.lost, saved.documents), (0, all), "{at} {byte}: {saved:?}");
        assert_eq!(texts(&target, "removed"), texts(&corpus, "removed"));
        sound_digest(&reader(&target));
        std::fs::remove_dir_all(&found).unwrap();
        std::fs::remove_dir_all(&target).unwrap();
    }
});

// A failed salvage left an empty corpus at the target.
corpusdb_test!(a_salvage_that_ends_early_leaves_no_target, |scratch| {
    let corpus = scratch.path("corpus");
    super::repair::make(&corpus);
    std::fs::create_dir(scratch.path("there")).unwrap();
    for (target, is_there) in [("new", false), ("there", true)] {
        let stopping = StopAt::new(StopWhen::Told(2));
        let target = scratch.path(target);
        let error = options().salvage(&corpus, &target, &stopping.context()).unwrap_err();
        assert!(error.is_interrupt(), "{error}");
        assert_eq!(target.exists(), is_there);
        assert!(!is_there || std::fs::read_dir(&target).unwrap().next().is_none());
    }
});

// Snapshots and plans were left behind, though they were whole.
corpusdb_test!(a_salvage_carries_snapshots_and_plans, |scratch| {
    let corpus = scratch.path("corpus");
    history(&corpus, false);
    let recipe = scratch.write("recipe.toml", super::repair::RECIPE);
    let of_before = format!("snapshot = \"before\"\n{}", super::repair::RECIPE);
    let of_before = scratch.write("before.toml", of_before);
    let plan = ["epoch", "plan", &name(&corpus), &of_before];
    corpusdb(&plan).good();
    corpusdb(&["epoch", "plan", &name(&corpus), &recipe]).good();
    // The first plan is gone, and its number is not given again.
    corpusdb(&["epoch", "drop", &name(&corpus), "1"]).good();
    corpusdb(&plan).good();
    let target = scratch.path("rescued");
    let saved = options().salvage(&corpus, &target, &Context::new()).unwrap();
    assert!(saved.is_whole() && (saved.snapshots, saved.plans) == (2, 2), "{saved:?}");
    let kept =
        |corpus: &Path| corpusdb(&["count", &name(corpus), "--snapshot", "before"]).good().stdout;
    assert_eq!(kept(&target), kept(&corpus));
    for plan in ["2", "3"] {
        let built = |corpus: &Path, to: &str| {
            let to = scratch.arg(to);
            corpusdb(&["epoch", "build", &name(corpus), plan, "--out", &to, "--no-record"]).good();
            let files = paths_below(Path::new(&to)).into_iter();
            files.map(|path| std::fs::read(path).unwrap()).collect::<Vec<_>>()
        };
        let (before, after) =
            (built(&corpus, &format!("a{plan}")), built(&target, &format!("b{plan}")));
        assert!(before == after && !before.is_empty(), "plan {plan}");
    }
    sound_digest(&reader(&target));
    // With a document less, documents have other numbers.
    let purged = scratch.path("purged");
    copy(&corpus, &purged);
    corpusdb(&["purge", &name(&purged), "0", "--force"]).good();
    let target = scratch.path("fewer");
    let saved = options().salvage(&purged, &target, &Context::new()).unwrap();
    assert_eq!((saved.plans, saved.purged), (0, 1), "{saved:?}");
    assert!(saved.left.iter().any(|it| it.starts_with("plans 2, 3: ")), "{saved:?}");
});

// Its key was blocked no more in the copy, where the newer version had come first.
corpusdb_test!(a_salvage_keeps_newer_versions_of_removed_ones_out, |t| {
    t.write("a.jsonl", "{\"id\":\"a\",\"text\":\"first words of a\"}\n");
    t.write("b.jsonl", "{\"id\":\"a\",\"text\":\"newer words of a, more\"}\n");
    let standings = "sql rescued \"SELECT id, standing FROM documents ORDER BY id\" --json";
    t.run("init corpus");
    t.run("ingest corpus a.jsonl --source web --id-field id --text-field text");
    t.run("remove corpus 0");
    t.run("ingest corpus b.jsonl --source web --id-field id --text-field text")
        .prints(&["s: 1 superseded or blocked\n  1 update\n"]);
    t.run("check corpus --salvage rescued");
    t.run(standings).prints(&["\"id\":1,\"standing\":\"blocked\""]);
    t.sound("rescued");
});
