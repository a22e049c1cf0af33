//! Tests how many rows verbs read as a corpus grows: for one document, none that grows with the others.

use crate::corpus::{Corpus, CorpusWriter};
use crate::curate::{NewField, TrainingTexts};
use crate::epoch::{BuildJob, Recipe};
use crate::ingest::{IngestOptions, JoinBy, JoinOptions};
use files::input::ReadOptions;
use model::{Context, DedupMode, FieldKind, KeepOrder, Policy};
use roaring::RoaringTreemap;
use std::collections::BTreeMap;
use store::View;
use store::counted;
use tokenizer::TrainOptions;

const MEMORY: u64 = 32 << 20;

/// Records with these numbers: all different, of different lengths, with keys.
fn records(numbers: std::ops::Range<u64>) -> String {
    let text = |number: u64| {
        let words = (0..12 + number).map(|at| format!("w{}", number * 7919 + at * at));
        words.collect::<Vec<_>>().join(" ")
    };
    numbers
        .map(|number| {
            format!("{}\n", serde_json::json!({ "id": format!("k{number}"), "text": text(number) }))
        })
        .collect()
}

/// A corpus with counted reads, and its directory.
pub(super) struct CountedCorpus {
    directory: tempfile::TempDir,
}

impl CountedCorpus {
    fn under(policy: &Policy) -> Self {
        let place = Self { directory: tempfile::tempdir().unwrap() };
        Corpus::init(place.path(), policy, &[]).unwrap();
        place
    }

    pub(super) fn new(mode: DedupMode, documents: u64) -> Self {
        let place = Self::under(&Policy::new(mode, 0.8).unwrap());
        place.pour(&mut place.writer(), 0..documents);
        place
    }

    pub(super) fn path(&self) -> std::path::PathBuf {
        self.directory.path().join("corpus")
    }

    pub(super) fn writer(&self) -> CorpusWriter {
        Corpus::options().memory(MEMORY).threads(1).open_writer(self.path()).unwrap()
    }

    fn pour(&self, writer: &mut CorpusWriter, numbers: std::ops::Range<u64>) {
        self.ingest(writer, &records(numbers));
    }

    pub(super) fn ingest(&self, writer: &mut CorpusWriter, records: &str) {
        let file = self.directory.path().join("records.jsonl");
        std::fs::write(&file, records).unwrap();
        let read = ReadOptions { id_field: Some("id".to_owned()), ..ReadOptions::default() };
        let options = IngestOptions { read, ..IngestOptions::new("web") };
        let file = [file.display().to_string()];
        writer.ingest(&file, &options, &Context::new()).unwrap();
    }
}

/// Rows read by `work`, all of it on this thread.
pub(super) fn rows(work: impl FnOnce() + Send) -> BTreeMap<&'static str, u64> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| counted::during(work).1)
}

pub(super) fn of(rows: &BTreeMap<&'static str, u64>, family: &str) -> u64 {
    rows.get(family).copied().unwrap_or(0)
}

/// Look-ups of places, prints and keys of documents.
pub(super) fn parts_of(rows: &BTreeMap<&'static str, u64>) -> u64 {
    ["place_pages", "print_pages", "key_pages"].iter().map(|family| of(rows, family)).sum()
}

/// Pages of one cluster, each with another word than the others.
pub(super) fn alike(count: u64) -> String {
    let page = |number: u64| {
        let words = (0..100).map(|at| match at {
            50 => format!("own{number}"),
            _ => format!("w{at}"),
        });
        let text = words.collect::<Vec<_>>().join(" ");
        format!("{}\n", serde_json::json!({ "id": format!("k{number}"), "text": text }))
    };
    (0..count).map(page).collect()
}

#[test]
fn removing_a_member_costs_the_same_in_larger_clusters() {
    for keep in ["first", "longest"].map(|order| order.parse::<KeepOrder>().unwrap()) {
        let policy = Policy { keep, ..Policy::new(DedupMode::Witness, 0.8).unwrap() };
        let cost = |count: u64| {
            let place = CountedCorpus::under(&policy);
            let mut writer = place.writer();
            place.ingest(&mut writer, &alike(count));
            let kept = writer.view().kept().unwrap();
            assert_eq!(kept.len(), 1);
            let others: Vec<u64> = (0..count).filter(|id| !kept.contains(*id)).collect();
            // The first removal reads the cluster.
            let gone = [others[7], others[20], others[60]];
            gone.map(|id| {
                let rows = rows(|| {
                    let one = [id].into_iter().collect();
                    writer.remove(&one, false, &Context::new()).unwrap();
                });
                (parts_of(&rows), of(&rows, "members"))
            })
        };
        let (few, many) = (cost(150), cost(300));
        assert!(few[0].0 >= 150 && many[0].0 >= 300, "{policy}: {few:?} and {many:?}");
        assert_eq!(few[1..], many[1..], "{policy}");
        assert!(few[1..].iter().all(|rows| (1..20).contains(&rows.0)), "{policy}: {few:?}");
    }
}

#[test]
fn removing_and_restoring_cost_the_same_in_larger_corpora() {
    let cost = |documents: u64| {
        let place = CountedCorpus::new(DedupMode::Witness, documents);
        let mut writer = place.writer();
        let one: RoaringTreemap = [5].into_iter().collect();
        let removed = rows(|| {
            writer.remove(&one, true, &Context::new()).unwrap();
        });
        let restored = rows(|| {
            writer.restore(&one, &Context::new()).unwrap();
        });
        (parts_of(&removed), parts_of(&restored))
    };
    let (small, large) = (cost(150), cost(300));
    assert!(large.0 <= small.0 + 2 && large.1 <= small.1 + 2, "{small:?} {large:?}");
    assert!(small.0 < 30 && small.1 < 30, "{small:?}");
}

#[test]
fn removing_a_share_of_a_corpus_reads_headers_in_proportion() {
    let cost = |documents: u64, reach: crate::decide::BlockReach| {
        let place = CountedCorpus::new(DedupMode::Exact, documents);
        let mut writer = place.writer();
        let half: RoaringTreemap = (0..documents).step_by(2).collect();
        let removed = rows(|| {
            writer.remove(&half, reach, &Context::new()).unwrap();
        });
        let restored = rows(|| {
            writer.restore(&half, &Context::new()).unwrap();
        });
        parts_of(&removed) + parts_of(&restored)
    };
    for reach in [crate::decide::BlockReach::Exact, crate::decide::BlockReach::Similar] {
        let (small, large) = (cost(100, reach), cost(200, reach));
        assert!(large <= small * 2 + 20, "{reach:?}: {small} then {large} headers");
    }
}

#[test]
fn a_key_is_looked_up_and_headers_are_not_read_through() {
    let cost = |documents: u64| {
        let place = CountedCorpus::new(DedupMode::Witness, documents);
        let corpus = Corpus::options().memory(MEMORY).open(place.path()).unwrap();
        let found = rows(|| {
            assert_eq!(corpus.find_key("k7").unwrap().len(), 1);
            assert!(corpus.find_key("nobody has it").unwrap().is_empty());
        });
        parts_of(&found)
    };
    let (small, large) = (cost(100), cost(200));
    assert!(small == large && small < 5, "{small} then {large}");
}

/// Each commit reads the records of all sources and tokenizers again.
#[test]
fn a_commit_reads_no_record_of_an_unchanged_source() {
    let cost = |sources: u64| {
        let place = CountedCorpus::new(DedupMode::None, 3);
        let mut writer = place.writer();
        for number in 0..sources {
            let file = place.directory.path().join("one.jsonl");
            std::fs::write(&file, format!("{{\"text\": \"the {number}th source\"}}\n")).unwrap();
            let (file, name) = ([file.display().to_string()], format!("source{number}"));
            writer.ingest(&file, &IngestOptions::new(&name), &Context::new()).unwrap();
        }
        let one = [0].into_iter().collect();
        let read = rows(|| {
            writer.create_snapshot("here").unwrap();
            writer.remove(&one, false, &Context::new()).unwrap();
        });
        // What the writer shows equals what is stored.
        let read_again = Corpus::options().memory(MEMORY).open(place.path()).unwrap();
        let told = |view: &View| format!("{:?}", view.sources().collect::<Vec<_>>());
        assert_eq!(told(writer.view()), told(read_again.view()));
        assert_eq!(writer.view().sources().count() as u64, sources + 1);
        (of(&read, "sources"), of(&read, "tokenizers"))
    };
    assert_eq!((cost(10), cost(20)), ((0, 0), (0, 0)));
}

#[test]
fn info_reads_the_commits_that_it_lists() {
    let place = CountedCorpus::new(DedupMode::None, 3);
    let mut writer = place.writer();
    for number in 0..30 {
        writer.create_snapshot(&format!("s{number}")).unwrap();
    }
    drop(writer);
    let corpus = Corpus::options().memory(MEMORY).open(place.path()).unwrap();
    let read = rows(|| {
        let info = corpus.info().unwrap();
        assert_eq!(info.commits.len(), 10);
        assert_eq!(info.commits.last().unwrap().commit, corpus.view().commit().0);
    });
    assert!(of(&read, "commits") <= 11, "{read:?}");
}

#[test]
fn a_commit_of_components_reads_standings_of_its_matches() {
    for mode in [DedupMode::Components, DedupMode::Lsh] {
        let place = CountedCorpus::new(mode, 60);
        let mut writer = place.writer();
        // Duplicates, so that there are standings to read.
        place.pour(&mut writer, 0..1);
        let read = rows(|| place.pour(&mut writer, 1000..1010));
        assert!(of(&read, "postings") < 5, "{mode:?}: {read:?}");
    }
}

/// A writer with one tokenizer of its own, over stored documents.
fn with_tokenizer(place: &CountedCorpus) -> CorpusWriter {
    let mut writer = place.writer();
    let options = TrainOptions { vocab_size: 300, ..TrainOptions::default() };
    let trained = writer.train_tokenizer(&options, &TrainingTexts::default(), &Context::new());
    let file = trained.unwrap().json;
    writer.add_tokenizer("own", &file, "of a test", &Context::new()).unwrap();
    writer
}

/// A document was read once for each of its rows: quadratic in its length.
#[test]
fn verifying_reads_a_document_of_many_rows_once() {
    let place = CountedCorpus::new(DedupMode::None, 40);
    let file = place.directory.path().join("long.jsonl");
    let words = (0..6000).map(|at| format!("word{}", at * 31)).collect::<Vec<_>>().join(" ");
    std::fs::write(&file, format!("{}\n", serde_json::json!({ "id": "long", "text": words })))
        .unwrap();
    let read = ReadOptions { id_field: Some("id".to_owned()), ..ReadOptions::default() };
    let options = IngestOptions { read, ..IngestOptions::new("web") };
    let file = [file.display().to_string()];
    place.writer().ingest(&file, &options, &Context::new()).unwrap();
    drop(with_tokenizer(&place));
    let corpus = Corpus::options().memory(MEMORY).open(place.path()).unwrap();
    let cost = |pack: &str, length: u32| {
        let text = format!("version = 1\n[pack]\nkind = \"{pack}\"\nlength = {length}\n");
        let planned = corpus.plan(&Recipe::parse(&text).unwrap(), &Context::new()).unwrap();
        let out = place.directory.path().join(format!("{pack}-{length}"));
        let job = BuildJob { epoch: 0, out: &out };
        let rows_written =
            corpus.build(&planned, &job, &Context::new().with_threads(1)).unwrap().totals.rows;
        let read = rows(|| {
            assert!(corpus.verify(&planned, &out, &Context::new()).unwrap().passed());
        });
        (of(&read, "tokens"), rows_written)
    };
    for pack in ["best-fit", "concat"] {
        let (whole, cut) = (cost(pack, 1024), cost(pack, 32));
        assert!(cut.1 > 20 * whole.1, "{pack}: {whole:?} {cut:?}");
        assert!(cut.0 <= whole.0 + 60 && whole.0 < 200, "{pack}: {whole:?} {cut:?}");
    }
}

/// Each epoch was walked from the beginning of the run: quadratic in the epochs consumed.
#[test]
fn extending_walks_each_epoch_once() {
    let place = CountedCorpus::new(DedupMode::None, 60);
    let mut writer = with_tokenizer(&place);
    let text = "version = 1\n[pack]\nkind = \"concat\"\nlength = 64\n[[source]]\nname = \"web\"\nmax_repeats = 100\n";
    let (record, planned) = writer.plan(&Recipe::parse(text).unwrap(), &Context::new()).unwrap();
    let corpus = Corpus::options().memory(MEMORY).open(place.path()).unwrap();
    let rows_of_epoch = corpus.epoch(&planned, 0, &Context::new()).unwrap().rows();
    let mut cost = |epochs: u64| {
        let read = rows(|| {
            let consumed = epochs * rows_of_epoch + 1;
            let epoch = corpus.epoch(&planned, 0, &Context::new()).unwrap();
            let row = epoch.run_row_after(consumed, &Context::new()).unwrap();
            writer.extend(record.number, row, None, &Context::new()).unwrap();
        });
        of(&read, "columns")
    };
    let (few, more, most) = (cost(8), cost(16), cost(32));
    assert!(most - more <= 2 * (more - few) + 8 && more > few, "{few} {more} {most}");
}

/// Opening a plan read what every plan pins.
#[test]
fn opening_a_plan_reads_nothing_of_the_others() {
    let place = CountedCorpus::new(DedupMode::None, 30);
    let mut writer = with_tokenizer(&place);
    let mut cost = |plans: std::ops::Range<u64>| {
        for seed in plans {
            let text = format!("version = 1\nseed = {seed}\nsnapshot = \"then\"\n");
            if seed == 0 {
                writer.create_snapshot("then").unwrap();
            }
            writer.plan(&Recipe::parse(&text).unwrap(), &Context::new()).unwrap();
        }
        let corpus = Corpus::options().memory(MEMORY).open(place.path()).unwrap();
        let opened = rows(|| {
            corpus.stored_plan(1).unwrap();
        });
        let listed = rows(|| {
            assert!(corpus.epochs().unwrap().len() >= 4);
        });
        (of(&opened, "epochs"), of(&listed, "epochs"))
    };
    let (few, more) = (cost(0..4), cost(4..8));
    assert_eq!(few.0, more.0, "rows read to open one");
    assert!(few.0 <= 2 && more.1 <= 8 + 1, "{few:?} {more:?}: a row a plan to list them");
}

#[test]
fn changes_since_a_snapshot_cost_the_difference() {
    let cost = |documents: u64, others: u64| {
        let place = CountedCorpus::new(DedupMode::Witness, documents);
        let mut writer = place.writer();
        writer.create_snapshot("then").unwrap();
        let gone: RoaringTreemap = (0..others).collect();
        writer.remove(&gone, true, &Context::new()).unwrap();
        // The kept documents, and a copy of each under another key.
        let newcomers = records(1000..1000 + others);
        place.ingest(&mut writer, &newcomers);
        place.ingest(&mut writer, &newcomers.replace("\"k", "\"copy"));
        drop(writer);
        let corpus = Corpus::options().memory(MEMORY).open(place.path()).unwrap();
        let compared = rows(|| {
            let diff = corpus.snapshot_diff("then", None, None).unwrap();
            let all = &diff.all;
            let told = [&all.added, &all.removed, &all.not_kept].map(|counts| counts.documents);
            assert_eq!(told, [others; 3]);
        });
        let listed = rows(|| {
            let changes = corpus.snapshot_changes("then", None).unwrap();
            assert_eq!(changes.map(Result::unwrap).count() as u64, 3 * others);
        });
        let same = rows(|| {
            assert!(corpus.snapshot_diff("then", Some("then"), None).unwrap().groups.is_empty());
        });
        [compared, listed, same]
    };
    let (few, twice, more) = (cost(100, 4), cost(200, 4), cost(100, 8));
    assert_eq!(few, twice, "twice as much that is equal");
    // A copy names its witness: its key is read too.
    assert_eq!((parts_of(&few[1]), parts_of(&more[1])), (4 * 4, 4 * 8));
    assert_eq!((parts_of(&few[0]), of(&few[0], "text_pages")), (0, 0));
    assert!(of(&more[0], "matches") <= 2 * of(&few[0], "matches") + 2, "{few:?} {more:?}");
    assert_eq!((of(&few[2], "columns"), of(&few[2], "matches")), (0, 0), "{:?}", few[2]);
}

/// Rows read when a field is added, set and dropped: in proportion to documents, for any number of commits.
#[test]
fn verbs_about_fields_read_metadata_once_a_document() {
    let cost = |documents: u64, batch: u64| {
        let place = CountedCorpus::new(DedupMode::None, 0);
        let mut writer = place.writer();
        let record = |n: u64| {
            let record = serde_json::json!({ "id": format!("k{n}"), "text": format!("page {n}"), "grade": n });
            format!("{record}\n")
        };
        place.ingest(&mut writer, &(0..documents).map(record).collect::<String>());
        let added = rows(|| {
            let field = NewField { batch, ..NewField::new("grade", FieldKind::Keyword) };
            let report = writer.add_field(&field, &Context::new()).unwrap();
            assert_eq!(report.values, documents);
        });
        let file = place.directory.path().join("grades.jsonl");
        let grade = |n: u64| format!("{{\"id\":{n},\"grade\":{}}}\n", n + 1);
        std::fs::write(&file, (0..documents).map(grade).collect::<String>()).unwrap();
        let file = [file.display().to_string()];
        let set = rows(|| {
            let by = JoinBy::Id("id".to_owned());
            let batch = usize::try_from(batch).unwrap();
            let options = JoinOptions { batch, ..JoinOptions::of("grade", by) };
            let report = writer.set_field(&file, &options, &Context::new()).unwrap();
            assert_eq!(report.changed, documents);
        });
        let dropped = rows(|| {
            writer.drop_field("grade", false, &Context::new()).unwrap();
        });
        assert!(parts_of(&added) + parts_of(&set) < 5, "{added:?} {set:?}");
        [of(&added, "metadata_pages"), of(&set, "metadata_pages"), of(&dropped, "terms")]
    };
    for batch in [50, 1 << 13] {
        let (few, many) = (cost(200, batch), cost(400, batch));
        for (few, many) in few.into_iter().zip(many) {
            assert!(few > 0 && many <= 2 * few + 10, "{few} then {many} at {batch} a commit");
        }
        assert!(few[0] <= 210 && few[1] <= 210, "{few:?}");
    }
}

/// Witnesses lie in no order: a column was read again for most pairs as soon as the corpus had more blocks than were
/// remembered.
#[test]
fn a_matrix_reads_columns_block_by_block_and_no_document() {
    const DOCUMENTS: u64 = 70_000;
    let place = CountedCorpus::under(&Policy::new(DedupMode::Exact, 0.8).unwrap());
    let mut writer = place.writer();
    writer.add_field(&NewField::new("grade", FieldKind::Int), &Context::new()).unwrap();
    // Every page, then every page again in another order.
    let page = |key: u64, n: u64| {
        format!("{{\"id\":\"k{key}\",\"text\":\"page {n}\",\"grade\":{}}}\n", key % 3)
    };
    let again = |at: u64| page(DOCUMENTS + at, at * 7919 % DOCUMENTS);
    place.ingest(&mut writer, &(0..DOCUMENTS).map(|n| page(n, n)).collect::<String>());
    place.ingest(&mut writer, &(0..DOCUMENTS).map(again).collect::<String>());
    drop(writer);
    let corpus = Corpus::options().memory(MEMORY).open(place.path()).unwrap();
    let blocks = (2 * DOCUMENTS).div_ceil(model::BLOCK_SIZE);
    for by in [&["grade"][..], &["grade", "source"]] {
        let by: Vec<String> = by.iter().map(|name| (*name).to_owned()).collect();
        let counted = rows(|| {
            let found = corpus.duplicates_matrix(&by, None).unwrap();
            assert_eq!((found.removed, found.cells.len()), (DOCUMENTS, 9));
        });
        // A column for all documents, for the removed and for the witnesses; and lengths for the first two.
        let most = blocks * (3 * by.len() as u64 + 2);
        assert!(of(&counted, "columns") <= most, "{counted:?}");
        assert!(of(&counted, "matches") <= DOCUMENTS + 10, "{counted:?}");
        for family in
            ["place_pages", "print_pages", "key_pages", "text_pages", "metadata_pages", "members"]
        {
            assert_eq!(of(&counted, family), 0, "{family} in {counted:?}");
        }
    }
}

/// Every file was looked up under every source, and the records of files that a newer version had replaced were read
/// whole.
#[test]
fn an_ingest_looks_up_each_file_once() {
    let options = |source_field: Option<&str>| {
        let source_field = source_field.map(str::to_owned);
        let read =
            ReadOptions { id_field: Some("id".to_owned()), source_field, ..ReadOptions::default() };
        IngestOptions { read, ..IngestOptions::new("web") }
    };
    // Each file names a source of its own.
    let of_sources = |files: u64| {
        let place = CountedCorpus::under(&Policy::new(DedupMode::None, 0.8).unwrap());
        let paths: Vec<String> = (0..files)
            .map(|at| {
                let path = place.directory.path().join(format!("{at}.jsonl"));
                let line = serde_json::json!({ "id": "a", "site": format!("s{at}"), "text": "t" });
                std::fs::write(&path, format!("{line}\n")).unwrap();
                path.display().to_string()
            })
            .collect();
        let mut writer = place.writer();
        let mut pour = || {
            rows(|| {
                writer.ingest(&paths, &options(Some("site")), &Context::new()).unwrap();
            })
        };
        pour();
        of(&pour(), "files")
    };
    let (few, many) = (of_sources(30), of_sources(60));
    assert!(few >= 30 && many <= 2 * few + 10, "{few} then {many} rows of files");
    // Each night's file supersedes the keys of the one before.
    let of_history = |nights: u64| {
        let place = CountedCorpus::under(&Policy::new(DedupMode::None, 0.8).unwrap());
        let mut writer = place.writer();
        let mut pour = |night: u64| {
            let path = place.directory.path().join(format!("{night}.jsonl"));
            let line = serde_json::json!({ "id": "a", "text": format!("night {night}") });
            std::fs::write(&path, format!("{line}\n")).unwrap();
            let paths = [path.display().to_string()];
            rows(|| {
                let report = writer.ingest(&paths, &options(None), &Context::new());
                assert_eq!(report.unwrap().updated, u64::from(night > 0));
            })
        };
        let last = (0..nights).map(&mut pour).last().unwrap();
        of(&last, "meta")
    };
    assert_eq!(of_history(10), of_history(20), "rows of overtaken files");
}

/// The cost grows in proportion to earlier versions, or to all that is stored, and no faster.
#[test]
fn versions_boilerplate_and_purges_cost_linear_time() {
    let all = |rows: BTreeMap<&'static str, u64>| rows.values().sum::<u64>();
    let versions = |count: u64| {
        let place = CountedCorpus::under(&Policy::new(DedupMode::Witness, 0.8).unwrap());
        let mut writer = place.writer();
        for number in 0..count {
            place.ingest(
                &mut writer,
                &records(number..number + 1).replace(&format!("k{number}"), "k"),
            );
        }
        let corpus = Corpus::options().memory(MEMORY).open(place.path()).unwrap();
        all(rows(|| assert_eq!(corpus.find_key("k").unwrap().len() as u64, count)))
    };
    // A removed page of boilerplate shares the slots of its sketch with all the others.
    let boilerplate = |count: u64| {
        let place = CountedCorpus::under(&Policy::new(DedupMode::Witness, 0.8).unwrap());
        let mut writer = place.writer();
        place.ingest(&mut writer, &alike(count));
        let (pages, reach) = ((0..count).collect(), crate::decide::BlockReach::Similar);
        writer.remove(&pages, reach, &Context::new()).unwrap();
        let another = alike(count + 1).lines().last().unwrap().to_owned();
        let found = rows(|| place.ingest(&mut writer, &another));
        assert_eq!(writer.view().standing(model::DocId(count)).unwrap(), model::Standing::Blocked);
        all(found)
    };
    let purge = |count: u64| {
        let place = CountedCorpus::new(DedupMode::Witness, count);
        let mut writer = place.writer();
        let one: RoaringTreemap = [5].into_iter().collect();
        all(rows(|| {
            writer.purge(&one, true, false, &Context::new()).unwrap();
        }))
    };
    let costs: [(&str, &dyn Fn(u64) -> u64); 3] =
        [("versions", &versions), ("boilerplate", &boilerplate), ("purge", &purge)];
    for (what, cost) in costs {
        let (small, large) = (cost(30), cost(60));
        println!("{what}: {small} rows, of twice as much {large}");
        assert!(large <= 2 * small + 20, "{what}: {small} then {large}");
    }
}

/// A writer that finds nothing to do read the bitmap of all kept documents when it was opened.
#[test]
fn a_writer_reads_who_is_kept_when_its_first_commit_begins() {
    let place = CountedCorpus::new(DedupMode::None, 20);
    let mut opened = None;
    let read = rows(|| opened = Some(place.writer()));
    assert_eq!((of(&read, "terms"), of(&read, "postings")), (0, 0), "{read:?}");
    let mut writer = opened.unwrap();
    let one: RoaringTreemap = [5].into_iter().collect();
    writer.remove(&one, false, &Context::new()).unwrap();
    let another: RoaringTreemap = [6].into_iter().collect();
    writer.remove(&another, false, &Context::new()).unwrap();
    let held: RoaringTreemap = (0..20).filter(|id| ![5, 6].contains(id)).collect();
    assert_eq!(writer.view().kept().unwrap(), held);
    let snapshot = writer.create_snapshot("here").unwrap();
    assert_eq!(snapshot.kept, 18, "what the writer holds is what is stored");
    drop(writer);
    let read_again = Corpus::options().memory(MEMORY).open(place.path()).unwrap();
    assert_eq!(read_again.view().kept().unwrap(), held);
}
