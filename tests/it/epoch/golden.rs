//! Plans that an earlier release stored: opened, streamed, built and extended once more, byte for byte.

use crate::support::checker::corpus::{
    CheckedCorpus, open, pages, pour_chats, recipe, rows, stored,
};
use crate::support::outputs::manifest;
use crate::support::{Random, TestDir, copy, corpusdb, repository, strip_logs, writer};
use corpusdb::epoch::{BuildJob, EpochError, EpochRow, Plan};
use corpusdb::store::CheckDepth;
use corpusdb::{Context, Corpus, CorpusWriter};
use std::path::Path;

// ----
// The chains of plans: the first over the snapshot `first`, each further one an extension of the one before it.

/// Sources of the corpus before any growth, and after it.
const FIRST: &str =
    "[[source]]\nname = \"web\"\n[[source]]\nname = \"books\"\n[[source]]\nname = \"code\"\n";
const GROWN: &str = "[[source]]\nname = \"web\"\n\
     [[source]]\nname = \"books\"\n\
     [[source]]\nname = \"code\"\n\
     [[source]]\nname = \"feed\"\n";
const MIXED: &str = "[[source]]\nname = \"web\"\nweight = 0.5\nmax_repeats = 6\n\
     [[source]]\nname = \"books\"\nweight = 0.3\nmax_repeats = 6\n\
     [[source]]\nname = \"code\"\nweight = 0.2\nmax_repeats = 6\n";
const CHATS: &str = "[[source]]\nname = \"chats\"\n[[source]]\nname = \"web\"\n";

/// A plan of a chain: the percentage of the rows of its parent's first epoch that were consumed, its snapshot, what it
/// says of packing and the rest, and its sources.
struct GoldenLink(u64, &'static str, &'static str, &'static str);

/// A chain: names of the specials that all its plans write (`b`, `e`, `p`), and the plans.
struct GoldenChain(&'static str, &'static [GoldenLink]);

const BEST_FIT: &str = "[pack]\nkind = \"best-fit\"\nlength = 48\n[output]\nformat = \"jsonl\"\n";
const GREEDY: &str = "[pack]\nkind = \"greedy\"\nlength = 40\noptions = { doc_multiple = 4 }\n\
     [output]\nformat = \"jsonl\"\n";
const CONCAT: &str = "[pack]\nkind = \"concat\"\nlength = 64\n[output]\nformat = \"megatron\"\n";
const NONE: &str = "[pack]\nkind = \"none\"\nlength = 48\n[output]\nformat = \"jsonl\"\n";

const CHAINS: &[GoldenChain] = &[
    GoldenChain(
        "bep",
        &[
            GoldenLink(0, "first", BEST_FIT, FIRST),
            GoldenLink(30, "second", BEST_FIT, GROWN),
            GoldenLink(0, "second", GREEDY, GROWN),
            GoldenLink(45, "third", NONE, GROWN),
        ],
    ),
    GoldenChain(
        "ep",
        &[
            GoldenLink(0, "first", CONCAT, FIRST),
            GoldenLink(
                35,
                "second",
                "[pack]\nkind = \"concat\"\nlength = 33\n[output]\nformat = \"mds\"\n",
                GROWN,
            ),
            GoldenLink(50, "third", BEST_FIT, GROWN),
        ],
    ),
    GoldenChain(
        "",
        &[GoldenLink(0, "first", NONE, FIRST), GoldenLink(40, "third", CONCAT_BARE, GROWN)],
    ),
    GoldenChain(
        "ep",
        &[
            GoldenLink(
                0,
                "first",
                "[pack]\nkind = \"best-fit\"\nlength = 48\n\
                     [batch]\nrows = 4\nbalance = 30\n\
                     [output]\nformat = \"jsonl\"\n",
                FIRST,
            ),
            GoldenLink(
                50,
                "second",
                "[pack]\nkind = \"best-fit\"\nlength = 48\n\
                     [batch]\nrows = 6\ntail = \"pad\"\n\
                     [output]\nformat = \"mds\"\n",
                GROWN,
            ),
        ],
    ),
    GoldenChain(
        "ep",
        &[
            GoldenLink(
                0,
                "first",
                "[order]\nkind = \"length-grouped\"\nlength_grouped = { mega_batch_mult = 3 }\n\
                     [pack]\nkind = \"none\"\nlength = 48\n\
                     [batch]\nrows = 4\n\
                     [output]\nformat = \"jsonl\"\n",
                FIRST,
            ),
            GoldenLink(
                55,
                "third",
                "[order]\nkind = \"length-grouped\"\nlength_grouped = { mega_batch_mult = 4, buckets = \"power-of-two\" }\n\
                     [pack]\nkind = \"none\"\nlength = 48\n\
                     [batch]\nmax_tokens = 150\n\
                     [output]\nformat = \"jsonl\"\n",
                GROWN,
            ),
        ],
    ),
    GoldenChain(
        "bep",
        &[
            GoldenLink(
                0,
                "first",
                "[order]\nkind = \"curriculum\"\ncurriculum = { by = \"quality\", strata = 4, c0 = 0.4 }\n\
                     [pack]\nkind = \"best-fit\"\nlength = 48\n\
                     [output]\nformat = \"jsonl\"\n",
                FIRST,
            ),
            GoldenLink(
                40,
                "second",
                "[order]\nkind = \"curriculum\"\ncurriculum = { by = \"chars\", strata = 3, c0 = 0.5, pacing = \"sqrt\" }\n\
                     [pack]\nkind = \"concat\"\nlength = 48\n\
                     [output]\nformat = \"jsonl\"\n",
                GROWN,
            ),
        ],
    ),
    GoldenChain(
        "e",
        &[
            GoldenLink(
                0,
                "first",
                "[order]\nkind = \"sequential\"\n\
                     [pack]\nkind = \"concat\"\nlength = 32\noptions = { target = \"extra\", overlap = true }\n\
                     [output]\nformat = \"jsonl\"\n",
                FIRST,
            ),
            GoldenLink(
                30,
                "second",
                "[order]\nkind = \"sequential\"\n\
                     [pack]\nkind = \"greedy\"\nlength = 32\n\
                     [output]\nformat = \"jsonl\"\n",
                GROWN,
            ),
        ],
    ),
    GoldenChain(
        "ep",
        &[
            GoldenLink(
                0,
                "first",
                "[select]\nwhere = \"quality > 0.2\"\nmin_tokens = 3\n\
                     [pack]\nkind = \"best-fit\"\nlength = 64\noptions = { long = \"paragraph\" }\n\
                     [output]\nformat = \"jsonl\"\n",
                FIRST,
            ),
            GoldenLink(
                45,
                "second",
                "[select]\nwhere = \"quality > 0.2\"\nmin_tokens = 3\n\
                     [pack]\nkind = \"best-fit\"\nlength = 64\n\
                     [output]\nformat = \"jsonl\"\n",
                GROWN,
            ),
        ],
    ),
    GoldenChain(
        "ep",
        &[
            GoldenLink(
                0,
                "first",
                "[select]\nholdout = { share = 0.2 }\n\
                     [pack]\nkind = \"best-fit\"\nlength = 48\n\
                     [output]\nformat = \"jsonl\"\n",
                FIRST,
            ),
            GoldenLink(
                60,
                "third",
                "[select]\nholdout = { share = 0.2 }\n\
                     [pack]\nkind = \"best-fit\"\nlength = 48\n\
                     [output]\nformat = \"jsonl\"\n",
                GROWN,
            ),
        ],
    ),
    GoldenChain(
        "ep",
        &[GoldenLink(
            0,
            "first",
            "[select]\nrepeat = \"1.5\"\n[pack]\nkind = \"greedy\"\nlength = 48\n[output]\nformat = \"jsonl\"\n",
            FIRST,
        )],
    ),
    // Runs of several passes, in every unit.
    GoldenChain(
        "ep",
        &[GoldenLink(
            0,
            "first",
            "[mix]\ntokens = 900\n[pack]\nkind = \"best-fit\"\nlength = 48\n[output]\nformat = \"jsonl\"\n",
            MIXED,
        )],
    ),
    GoldenChain(
        "e",
        &[GoldenLink(
            0,
            "first",
            "[mix]\nunit = \"documents\"\ntokens = 40\n\
                 [pack]\nkind = \"none\"\nlength = 48\n\
                 [output]\nformat = \"jsonl\"\n",
            MIXED,
        )],
    ),
    GoldenChain(
        "ep",
        &[GoldenLink(
            0,
            "first",
            "[mix]\nunit = \"rows\"\ntokens = 20\n\
                 [pack]\nkind = \"concat\"\nlength = 48\n\
                 [batch]\nrows = 4\ntail = \"carry\"\n\
                 [output]\nformat = \"jsonl\"\n",
            MIXED,
        )],
    ),
    GoldenChain(
        "ep",
        &[GoldenLink(
            0,
            "first",
            "[mix]\ntokens = 900\nschedule = [ { at_tokens = 0, weights = { web = 0.7, books = 0.3 }, ramp = \"linear\" }, { at_tokens = 600, weights = { web = 0.2, books = 0.3, code = 0.5 } } ]\n\
                 [pack]\nkind = \"greedy\"\nlength = 48\n\
                 [output]\nformat = \"jsonl\"\n",
            SCHEDULED,
        )],
    ),
    // Conversations whose messages say what of them is trained.
    GoldenChain(
        "bep",
        &[
            GoldenLink(
                0,
                "third",
                "[mix]\nunit = \"loss-tokens\"\n\
                     [pack]\nkind = \"best-fit\"\nlength = 96\n\
                     [output]\nformat = \"jsonl\"\n",
                CHATS,
            ),
            GoldenLink(
                50,
                "third",
                "[pack]\nkind = \"concat\"\nlength = 64\n[output]\nformat = \"mds\"\n",
                CHATS,
            ),
        ],
    ),
];

/// Without a pad, rows that fill no row of Megatron's are left out.
const CONCAT_BARE: &str = "[pack]\nkind = \"concat\"\nlength = 64\n[output]\nformat = \"jsonl\"\n";
const SCHEDULED: &str = "[[source]]\nname = \"web\"\nmax_repeats = 6\n\
     [[source]]\nname = \"books\"\nmax_repeats = 6\n\
     [[source]]\nname = \"code\"\nmax_repeats = 6\n";

/// The plans of all chains, in the order of their numbers, each with the names of its specials.
fn links() -> impl Iterator<Item = (&'static str, &'static GoldenLink)> {
    CHAINS
        .iter()
        .flat_map(|GoldenChain(specials, links)| links.iter().map(|link| (*specials, link)))
}

fn text(specials: &str, GoldenLink(_, snapshot, body, sources): &GoldenLink) -> String {
    let names = [('b', "bos"), ('e', "eos"), ('p', "pad")].into_iter();
    let names = names.filter(|(letter, _)| specials.contains(*letter));
    let specials: Vec<String> = names.map(|(_, name)| format!("{name} = \"<|{name}|>\"")).collect();
    format!(
        "snapshot = \"{snapshot}\"\nseed = 11\n[tokenizer]\nspecials = {{ {} }}\n{body}{sources}",
        specials.join(", ")
    )
}

// ----
// What a plan gives, in a few words.

/// Ids, segments, batches and trained spans of three epochs, and the files of the first one.
#[derive(Debug, PartialEq, Eq)]
struct GoldenPlan {
    number: u32,
    hash: String,
    /// Number of the plan that it extends, and the rows of that one's run that were consumed.
    parent: Option<(u32, u64)>,
    /// A digest an epoch; the plan may have fewer than three.
    epochs: Vec<String>,
    /// A digest of the names and bytes of all shards.
    files: String,
}

fn row_digest(hasher: &mut blake3::Hasher, row: &EpochRow) {
    let batch = row.batch().unwrap_or(row.number());
    let segments: Vec<(u64, u32, u32)> =
        row.segments().iter().map(|s| (s.document.0, s.offset, s.length)).collect();
    let trained: Option<Vec<(u32, u32, f32)>> =
        row.trained().map(|spans| spans.iter().map(|s| (s.start, s.end, s.weight)).collect());
    let row = (row.number(), batch, row.source(), row.ids(), segments, trained);
    hasher.update(format!("{row:?}\n").as_bytes());
}

fn hex(hash: [u8; 32]) -> String {
    blake3::Hash::from_bytes(hash).to_hex().as_str().to_owned()
}

impl GoldenPlan {
    fn of(
        corpus: &Corpus,
        planned: &Plan,
        number: u32,
        parent: Option<(u32, u64)>,
        scratch: &Path,
    ) -> Self {
        let mut epochs = Vec::new();
        for epoch in 0..3 {
            let opened = match corpus.epoch(planned, epoch, &Context::new()) {
                Err(error) => {
                    let origin = error.origin::<EpochError>();
                    assert!(matches!(origin, Some(EpochError::Infeasible { .. })), "{error}");
                    break;
                }
                Ok(opened) => opened,
            };
            let mut hasher = blake3::Hasher::new();
            rows(&opened).iter().for_each(|row| row_digest(&mut hasher, row));
            epochs.push(hasher.finalize().to_hex()[..32].to_owned());
        }
        let out = scratch.join(format!("plan-{number}"));
        corpus.build(planned, &BuildJob { epoch: 0, out: &out }, &Context::new()).unwrap();
        let verification = corpus.verify(planned, &out, &Context::new()).unwrap();
        for check in &verification.checks {
            assert!(check.passed, "plan {number}: {check:?}");
        }
        let manifest = manifest(&out);
        let files: Vec<String> = manifest["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| {
                format!("{} {}", file["name"].as_str().unwrap(), file["blake3"].as_str().unwrap())
            })
            .collect();
        let files = blake3::hash(files.join("\n").as_bytes()).to_hex()[..32].to_owned();
        std::fs::remove_dir_all(out).unwrap();
        let hash = hex(planned.plan.hash());
        Self { number, hash, parent, epochs, files }
    }

    fn line(&self) -> String {
        let parent = self.parent.map_or("-".to_owned(), |(plan, row)| format!("{plan}:{row}"));
        let epochs = self.epochs.join(",");
        format!("{}\t{}\t{parent}\t{epochs}\t{}\n", self.number, self.hash, self.files)
    }

    fn parse(line: &str) -> Self {
        let mut columns = line.split('\t').map(str::to_owned);
        let mut column = || columns.next().unwrap();
        let number = column().parse().unwrap();
        let hash = column();
        let parent = column();
        let parent =
            parent.split_once(':').map(|(plan, row)| (plan.parse().unwrap(), row.parse().unwrap()));
        let epochs = column().split(',').map(str::to_owned).collect();
        Self { number, hash, parent, epochs, files: column() }
    }
}

fn golden_plans() -> Vec<GoldenPlan> {
    let list = std::fs::read_to_string(repository("tests/formats/plans/list.tsv")).unwrap();
    list.lines().map(GoldenPlan::parse).collect()
}

/// Plans all chains; each plan with what it gives. `consumed` says how many rows of a plan's run were consumed before
/// plan `at` of the list goes on from it.
fn plan_all(
    place: &CheckedCorpus,
    writer: &mut CorpusWriter,
    consumed: impl Fn(&Corpus, &Plan, usize) -> u64,
) -> Vec<GoldenPlan> {
    let mut all: Vec<GoldenPlan> = Vec::new();
    for GoldenChain(specials, links) in CHAINS {
        let mut before: Option<(u32, Plan)> = None;
        for link in *links {
            let recipe = recipe(&text(specials, link));
            let (parent, (record, planned)) = match before {
                None => (None, writer.plan(&recipe, &Context::new()).unwrap()),
                Some((number, planned)) => {
                    let row = consumed(&place.reader(), &planned, all.len());
                    let child = writer.extend(number, row, Some(&recipe), &Context::new()).unwrap();
                    (Some((number, row)), child)
                }
            };
            let corpus = place.reader();
            let plan =
                GoldenPlan::of(&corpus, &planned, record.number, parent, &place.scratch.path(""));
            all.push(plan);
            before = Some((record.number, planned));
        }
    }
    all
}

// ----
// The tests.

/// The golden store, in a directory of its own.
fn golden_store() -> CheckedCorpus {
    let scratch = TestDir::new();
    let path = scratch.path("corpus");
    copy(&repository("tests/formats/plans/corpus"), &path);
    drop(writer(&path));
    CheckedCorpus { scratch, path }
}

#[test]
fn plans_of_an_earlier_release_open_and_build_as_then() {
    let place = golden_store();
    let golden = golden_plans();
    assert!(golden.len() >= 20);
    let corpus = place.reader();
    for plan in &golden {
        let planned = corpus.stored_plan(plan.number).unwrap();
        let same =
            GoldenPlan::of(&corpus, &planned, plan.number, plan.parent, &place.scratch.path(""));
        assert_eq!(same, *plan);
    }
    assert_eq!(corpus.check(CheckDepth::Deep, &Context::new()).unwrap(), []);
}

// A plan that is there is answered as it is stored, so all of them are dropped first.
#[test]
fn plans_of_an_earlier_release_are_planned_as_then() {
    let place = golden_store();
    let golden = golden_plans();
    let mut writer = place.writer();
    // Each extension of what the earlier release stored, found again by its hash.
    for (plan, (specials, link)) in golden.iter().zip(links()) {
        let Some((parent, row)) = plan.parent else { continue };
        let recipe = recipe(&text(specials, link));
        let (record, _) = writer.extend(parent, row, Some(&recipe), &Context::new()).unwrap();
        assert_eq!((record.number, hex(record.hash)), (plan.number, plan.hash.clone()));
    }
    for plan in golden.iter().rev() {
        writer.drop_plan(plan.number).unwrap();
    }
    let again = plan_all(&place, &mut writer, |_, _, at| golden[at].parent.unwrap().1);
    for (again, golden) in again.iter().zip(&golden) {
        assert_eq!(
            (&again.hash, &again.epochs, &again.files),
            (&golden.hash, &golden.epochs, &golden.files)
        );
    }
    assert_eq!(again.len(), golden.len());
}

#[test]
#[ignore = "writes tests/formats/plans: made once, by the release whose plans it keeps"]
fn make_golden_plans() {
    let home = repository("tests/formats/plans");
    let _ = std::fs::remove_dir_all(&home);
    std::fs::create_dir_all(&home).unwrap();
    let sizes = [("web", 60, 2, 30), ("books", 9, 30, 160), ("code", 40, 1, 8)];
    let place = CheckedCorpus::of(77, &sizes);
    let mut writer = place.writer();
    let mut random = Random::new(77);
    writer.create_snapshot("first").unwrap();
    place.pour(&mut writer, "feed", &pages(&mut random, "feed", 14, (2, 60)));
    let mut web = pages(&mut random, "web", 20, (2, 40));
    let mut again = pages(&mut random, "web", 5, (2, 40));
    // Records that come again with another text.
    again.iter_mut().zip(&web).for_each(|(page, other)| page.id.clone_from(&other.id));
    web.truncate(20);
    place.pour(&mut writer, "web", &web);
    writer.create_snapshot("second").unwrap();
    place.pour(&mut writer, "web", &again);
    let code = place.reader().select("kept and source = 'code'").unwrap();
    writer.remove(&code.iter().take(4).collect(), true, &Context::new()).unwrap();
    place.pour(&mut writer, "books", &pages(&mut random, "books", 3, (30, 160)));
    drop(writer);
    pour_chats(&place, true);
    let mut writer = place.writer();
    writer.create_snapshot("third").unwrap();
    assert!(stored(&place.reader()).iter().any(|document| document.loss.is_some()));
    let percents: Vec<u64> = links().map(|(_, link)| link.0).collect();
    let plans = plan_all(&place, &mut writer, |corpus, planned, at| {
        let epoch = open(corpus, planned, 0);
        let consumed = epoch.rows() * percents[at] / 100;
        epoch.run_row_after(consumed, &Context::new()).unwrap()
    });
    let list: String = plans.iter().map(GoldenPlan::line).collect();
    std::fs::write(home.join("list.tsv"), list).unwrap();
    drop(writer);
    let path = place.path.display().to_string();
    corpusdb(&["compact", &path]).good();
    copy(&place.path, &home.join("corpus"));
    strip_logs(&home.join("corpus"));
}
