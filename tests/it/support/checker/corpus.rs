//! Small corpora of several sources with conversations, what they hold, and recipes for them, drawn by chance.

use crate::support::{
    CHATML, MEMORY, Page, Random, TestDir, corpusdb, fixture, lines, prose, train,
    writer as writer_of,
};
use corpusdb::epoch::{BuildJob, Epoch, EpochError, EpochRow, Plan, StreamOptions, recipe};
use corpusdb::store::{LossSpan, TokenizerId};
use corpusdb::{
    Context, Corpus, CorpusWriter, DedupMode, DocId, Error, ErrorKind, FieldKind, IngestOptions,
    Policy, Recipe,
};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

// ----
// Small corpora of several sources, and what they hold.

pub const BOS: &str = "<|bos|>";
pub const EOS: &str = "<|eos|>";
pub const PAD: &str = "<|pad|>";

/// A corpus in a scratch directory.
pub struct CheckedCorpus {
    pub scratch: TestDir,
    pub path: PathBuf,
}

/// (name, documents, fewest words, most words)
pub type SourceSizes = (&'static str, usize, usize, usize);

/// Sources of very different lengths, some documents longer than any row of the tests.
pub const THREE: [SourceSizes; 3] =
    [("web", 90, 2, 30), ("books", 16, 30, 160), ("code", 60, 1, 8)];

impl CheckedCorpus {
    /// A corpus with a tokenizer of its own.
    pub fn of(seed: u64, sources: &[SourceSizes]) -> Self {
        let scratch = TestDir::new();
        let path = scratch.path("corpus");
        fixture("an empty corpus with a tokenizer of three specials", &path, Self::empty);
        let place = Self { scratch, path };
        let mut writer = place.writer();
        let mut random = Random::new(seed);
        for (name, count, fewest, most) in sources {
            let pages = pages(&mut random, name, *count, (*fewest, *most));
            place.pour(&mut writer, name, &pages);
        }
        drop(writer);
        place
    }

    /// A corpus without a document whose tokenizer was trained on pages like those that come.
    fn empty(path: &Path) {
        let fields = [
            ("year".to_owned(), FieldKind::Int),
            ("quality".to_owned(), FieldKind::Float),
            ("site".to_owned(), FieldKind::Keyword),
        ];
        let policy = Policy::new(DedupMode::Witness, 0.8).unwrap();
        let directory = TestDir::new();
        let like = Self { path: directory.path("like"), scratch: directory };
        Corpus::init(&like.path, &policy, &fields).unwrap();
        let mut writer = like.writer();
        let mut random = Random::new(420);
        for (name, count, fewest, most) in THREE {
            like.pour(&mut writer, name, &pages(&mut random, name, count, (fewest, most)));
        }
        let file = train(&writer, 420, &[BOS, EOS, PAD]);
        Corpus::init(path, &policy, &fields).unwrap();
        let mut writer = writer_of(path);
        writer.add_tokenizer("own", &file, "of a test", &Context::new()).unwrap();
    }

    pub fn writer(&self) -> CorpusWriter {
        writer_of(&self.path)
    }

    pub fn reader(&self) -> Corpus {
        Corpus::options().memory(MEMORY).open(&self.path).unwrap()
    }

    /// Ingests pages under a source.
    pub fn pour(&self, writer: &mut CorpusWriter, source: &str, pages: &[Page]) {
        let text = lines(pages);
        let name = format!("{source}-{}.jsonl", blake3::hash(text.as_bytes()).to_hex());
        let file = self.scratch.write(&name, text);
        let mut options = IngestOptions::new(source);
        options.read.id_field = Some("id".to_owned());
        writer.ingest(&[file], &options, &Context::new()).unwrap();
    }
}

/// Fresh texts of lines and paragraphs, with fields.
pub fn pages(random: &mut Random, name: &str, count: usize, words: (usize, usize)) -> Vec<Page> {
    let stamp = random.next();
    (0..count)
        .map(|number| {
            let mut left = random.between(words.0, words.1 + 1);
            let mut text = String::new();
            while left > 0 {
                let some = random.between(1, 30).min(left);
                left -= some;
                if !text.is_empty() {
                    text.push_str(["\n", "\n\n", " ", "\n\n\n"][random.below(4)]);
                }
                text.push_str(&prose(random, number % 3, some));
            }
            let mut page = Page::keyed(format!("{name}-{stamp}-{number}"), text);
            page.fields = json!({
                "year": 2000 + number % 5,
                "quality": random.below(1000) as f64 / 1000.0,
                "site": format!("site-{}", random.below(12)),
            });
            page
        })
        .collect()
}

/// A document as it is stored.
pub struct CheckedDocument {
    pub source: String,
    pub kept: bool,
    /// Ids of the first tokenizer; none when it is not encoded.
    pub ids: Option<Vec<u32>>,
    /// Trained stored tokens; none: all.
    pub loss: Option<Vec<LossSpan>>,
}

/// All documents, by their id.
pub fn stored(corpus: &Corpus) -> Vec<CheckedDocument> {
    let view = corpus.view();
    let kept = corpus.select("kept").unwrap();
    (0..view.documents())
        .map(|id| {
            let source = view.source_of(DocId(id)).unwrap();
            let mut ids = Vec::new();
            let found = view.tokens(TokenizerId(0), DocId(id), &mut ids).unwrap();
            CheckedDocument {
                source: view.source_name(source).unwrap().to_owned(),
                kept: kept.contains(id),
                ids: found.then_some(ids),
                loss: view.loss(TokenizerId(0), DocId(id)).unwrap(),
            }
        })
        .collect()
}

/// Parses a recipe of version 1.
#[track_caller]
pub fn recipe(text: &str) -> Recipe {
    Recipe::parse(&format!("version = 1\n{text}")).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Plans without storing.
pub fn plan(corpus: &Corpus, text: &str) -> Result<Plan, Error> {
    corpus.plan(&recipe(text), &Context::new())
}

pub fn open(corpus: &Corpus, planned: &Plan, epoch: u64) -> Epoch {
    corpus.epoch(planned, epoch, &Context::new()).unwrap()
}

/// The part of a reader from a batch on, also where batches do not divide evenly.
pub fn part(from_batch: u64, rank: u64, world: u64) -> StreamOptions {
    StreamOptions { from_batch, uneven: true, ..StreamOptions::of_rank(rank, world) }
}

/// All rows of an epoch, by one stream.
pub fn rows(epoch: &Epoch) -> Vec<EpochRow> {
    epoch.stream(&StreamOptions::default()).unwrap().flat_map(|batch| batch.unwrap().rows).collect()
}

/// A row by what is in it.
pub type Content = (Option<String>, Vec<(u64, u32, u32)>);

pub fn content(row: &EpochRow) -> Content {
    let segments = row.segments().iter().map(|s| (s.document.0, s.offset, s.length));
    (row.source().map(str::to_owned), segments.collect())
}

/// Builds an epoch and has it verified.
#[track_caller]
pub fn built(
    place: &CheckedCorpus,
    corpus: &Corpus,
    planned: &Plan,
    epoch: u64,
    name: &str,
    threads: usize,
) -> PathBuf {
    let out = place.scratch.path(name);
    let job = BuildJob { epoch, out: &out };
    corpus
        .build(planned, &job, &Context::new().with_threads(threads))
        .unwrap_or_else(|error| panic!("{error}\n{:?}", planned.plan.recipe));
    let found = corpus.verify(planned, &out, &Context::new()).unwrap();
    for check in &found.checks {
        assert!(check.passed, "{check:?}\n{:#?}", planned.plan.recipe);
    }
    out
}

// ----
// Conversations whose messages say what of them is trained.

/// Ingests conversations, under the name that says whether some of their messages have weights.
pub fn pour_chats(place: &CheckedCorpus, weighted: bool) {
    let mut random = Random::new(51);
    let template = place.scratch.write("chatml.jinja", CHATML);
    let mut lines = String::new();
    for number in 0..70 {
        let mut messages: Vec<Value> = Vec::new();
        for _ in 0..random.between(1, 4) {
            let words = random.between(2, 14);
            messages.push(json!({ "role": "user", "content": prose(&mut random, number, words) }));
            let words = random.between(1, 40);
            let mut answer =
                json!({ "role": "assistant", "content": prose(&mut random, number, words) });
            match random.below(5) {
                0 if weighted => answer["weight"] = json!(0.5),
                1 => answer["weight"] = json!(0),
                _ => {}
            }
            messages.push(answer);
        }
        lines
            .push_str(&json!({ "id": format!("chat-{number}"), "messages": messages }).to_string());
        lines.push('\n');
    }
    let file = place.scratch.write("chats.jsonl", lines);
    let corpus = place.path.display().to_string();
    let arguments =
        ["ingest", &corpus, &file, "--source", "chats", "--id-field", "id", "--chat", "messages"];
    // The tokenizer was trained on pages, which have no marks of turns.
    let marks = ["--chat-template", &template, "--template-markers", "text"];
    corpusdb(&[&arguments[..], &marks].concat()).good();
}

// ----
// Recipes that are drawn by chance, and what is said of those that cannot be met.

/// A recipe that does not contradict itself, drawn by chance.
pub fn drawn(random: &mut Random) -> String {
    let mut text = format!("seed = {}\n", random.below(1000));
    let kind = *random.pick(&["best-fit", "greedy", "concat", "none"]);
    let batch = random.below(if kind == "none" { 4 } else { 3 });
    let order = match (kind, batch) {
        ("best-fit", _) => *random.pick(&["shuffle", "shuffle", "curriculum"]),
        ("none", 1..) => *random.pick(&["shuffle", "sequential", "length-grouped", "curriculum"]),
        _ => *random.pick(&["shuffle", "sequential", "curriculum"]),
    };
    let pad = random.chance(80);
    select(random, &mut text);
    specials(random, &mut text, pad);
    mix(random, &mut text, batch == 1);
    match order {
        "curriculum" => {
            let by = *random.pick(&["quality", "year", "surprisal", "chars"]);
            let pacing = *random.pick(&["linear", "sqrt", "root-p", "exp", "step"]);
            let strata = random.between(1, 9);
            let replace = matches!(kind, "best-fit" | "none") && random.chance(25);
            let c0 = *random.pick(&[0.3, 0.5, 1.0]);
            let descending = random.chance(50);
            writeln!(
                text,
                "[order]\nkind = \"curriculum\"\ncurriculum = {{ by = \"{by}\", pacing = \"{pacing}\", strata = {strata}, \
                 c0 = {c0:?}, replace = {replace}, descending = {descending} }}"
            )
        }
        "length-grouped" => {
            let more = *random.pick(&["mega_batch_mult = 3", "buckets = \"power-of-two\"", ""]);
            writeln!(text, "[order]\nkind = \"length-grouped\"\nlength_grouped = {{ {more} }}")
        }
        order => writeln!(text, "[order]\nkind = \"{order}\""),
    }
    .unwrap();
    let length = *random.pick(&[24, 64, 96, 192]);
    let longs: &[&str] = if kind == "concat" {
        &["split", "truncate", "drop"]
    } else {
        &["split", "paragraph", "truncate", "drop"]
    };
    let long = *random.pick(longs);
    let extra = random.chance(20);
    let longest = kind == "none" && batch > 0 && pad && length != 96;
    let multiple = if extra { 4 } else { *random.pick(&[1, 1, 4, 8]) };
    let multiple = if pad && (kind != "none" || longest) { multiple } else { 1 };
    let target = if extra { "extra" } else { "inside" };
    let side = random.pick(&["right", "left"]);
    let view = random.pick(&["suffix", "each"]);
    let cut_eos = text.contains("eos = \"") && random.chance(35);
    // By itself, so that the seeds of before give the recipes that they gave.
    let mut limits = Random::new(text.len() as u64);
    let most = match *view == "suffix" && limits.chance(35) {
        true => format!("most_segments = {}\n", limits.between(1, 6)),
        false => String::new(),
    };
    writeln!(
        text,
        "[pack]\nkind = \"{kind}\"\nlength = {length}\ncut_eos = {cut_eos}\n{most}options = {{ target = \"{target}\", long = \"{long}\", \
         doc_multiple = {multiple}, pad_side = \"{side}\", pad_view = \"{view}\" }}"
    )
    .unwrap();
    match batch {
        0 => {}
        3 => {
            let count = random.pick(&["real", "padded"]);
            writeln!(
                text,
                "[batch]\nmax_tokens = {}\ncount = \"{count}\"",
                random.between(length, 900)
            )
            .unwrap();
        }
        _ => {
            let tail =
                *random.pick(if pad { &["drop", "carry", "pad"][..] } else { &["drop", "carry"] });
            writeln!(text, "[batch]\nrows = {}\ntail = \"{tail}\"", random.pick(&[1, 5, 12, 24]))
                .unwrap();
            if random.chance(40) {
                writeln!(text, "balance = {}", random.pick(&[0, 300, 24_576])).unwrap();
            }
        }
    }
    if longest {
        text.push_str("pad = \"longest\"\n");
    }
    output(random, &mut text, pad, if longest { "longest" } else { kind });
    sources(random, &mut text, kind);
    text
}

pub fn output(random: &mut Random, text: &mut String, pad: bool, kind: &str) {
    // Formats of equal rows need a pad, and litdata has no other rows.
    let mut formats = vec!["parquet", "jsonl", "arrow"];
    if pad {
        formats.extend(["megatron", "mds", "raw", "raw", "raw"]);
    }
    if pad && !matches!(kind, "none" | "longest") {
        formats.push("litdata");
    }
    let mut format = *random.pick(&formats);
    let layout = (format == "raw")
        .then(|| *random.pick(&["plain", "nanogpt", "llm.c", "datatrove", "olmo"]));
    if kind == "longest" && matches!(format, "megatron" | "raw") {
        format = "mds";
    }
    writeln!(text, "[output]\nformat = \"{format}\"\nshard_bytes = 50_000").unwrap();
    if matches!(format, "parquet" | "arrow" | "jsonl" | "mds") && text.len().is_multiple_of(2) {
        let mut chance = Random::new(text.len() as u64);
        let mut columns: Vec<String> = recipe::RowColumn::ALL
            .iter()
            .filter(|_| chance.chance(40))
            .map(|column| format!("\"{}\"", column.name()))
            .collect();
        if chance.chance(50) {
            columns.reverse();
        }
        writeln!(text, "columns = [{}]", columns.join(", ")).unwrap();
    }
    if let Some(layout) = layout.filter(|_| format == "raw") {
        writeln!(text, "layout = \"{layout}\"").unwrap();
    }
}

pub fn select(random: &mut Random, text: &mut String) {
    let mut lines = Vec::new();
    if random.chance(30) {
        lines.push(format!("min_tokens = {}", random.between(1, 8)));
    }
    if random.chance(30) {
        let repeat = random.pick(&["2", "1 + year % 2", "1.5", "(year % 3) * 0.7 + 0.3"]);
        lines.push(format!("repeat = \"{repeat}\""));
    }
    if random.chance(30) {
        lines.push("where = \"quality > 0.2\"".to_owned());
    }
    writeln!(text, "[select]\n{}", lines.join("\n")).unwrap();
}

pub fn specials(random: &mut Random, text: &mut String, pad: bool) {
    let mut names = Vec::new();
    for (name, chance) in [("bos", 40), ("eos", 80)] {
        if random.chance(chance) {
            names.push(format!("{name} = \"<|{name}|>\""));
        }
    }
    if pad {
        names.push("pad = \"<|pad|>\"".to_owned());
    }
    writeln!(text, "[tokenizer]\nspecials = {{ {} }}", names.join(", ")).unwrap();
}

pub fn mix(random: &mut Random, text: &mut String, steps: bool) {
    let unit = *random.pick(&["tokens", "tokens", "rows", "documents", "loss-tokens"]);
    let kinds = ["weights", "natural", "temperature", "unimax", "schedule", "fixed"];
    let kind = *random.pick(&kinds);
    writeln!(text, "# sources: {kind}\n[mix]\nunit = \"{unit}\"").unwrap();
    let some = match unit {
        "rows" => random.between(8, 60),
        "documents" => random.between(20, 150),
        _ => random.between(900, 6000),
    };
    match kind {
        "temperature" => writeln!(text, "method = \"temperature\"\ntemperature = 3.0"),
        "unimax" => writeln!(text, "method = \"unimax\""),
        "schedule" => {
            let ramp = random.pick(&["step", "linear"]);
            let step = steps && matches!(unit, "rows" | "tokens") && random.chance(50);
            let (name, at) = if step { ("at_step", 2) } else { ("at_tokens", some / 3) };
            writeln!(
                text,
                "tokens = {some}\nschedule = [ {{ {name} = 0, weights = {{ web = 0.7, books = 0.3 }}, ramp = \"{ramp}\" }}, \
                 {{ {name} = {at}, weights = {{ books = 0.2, code = 0.5, web = 0.3 }} }} ]"
            )
        }
        _ if random.chance(40) => writeln!(text, "tokens = {some}"),
        _ => Ok(()),
    }
    .unwrap();
}

pub fn sources(random: &mut Random, text: &mut String, kind: &str) {
    let natural = text.contains("# sources: natural") || text.contains("method = ");
    let fixed = text.contains("# sources: fixed");
    let schedule = text.contains("schedule = ");
    let repeats = random.between(1, 5);
    for (at, (name, ..)) in THREE.into_iter().enumerate() {
        writeln!(text, "[[source]]\nname = \"{name}\"\nmax_repeats = {repeats}").unwrap();
        if fixed && !text.contains("unit = \"rows\"") {
            writeln!(
                text,
                "tokens = {}",
                [700, 300, 150][at] / if text.contains("documents") { 10 } else { 1 }
            )
            .unwrap();
        } else if !natural && !schedule {
            writeln!(text, "weight = {:?}", [0.6, 0.3, 0.1][at]).unwrap();
        }
        if at == 1 && random.chance(30) {
            let long = if kind == "concat" { "truncate" } else { "paragraph" };
            writeln!(text, "pack = {{ long = \"{long}\" }}").unwrap();
        }
    }
}

/// Plans a recipe. One that cannot be met names its source and the largest budget, which then can.
#[track_caller]
pub fn feasible(corpus: &Corpus, text: &str) -> Option<Plan> {
    let error = match plan(corpus, text) {
        Ok(planned) => return Some(planned),
        Err(error) => error,
    };
    match error.origin() {
        Some(EpochError::Infeasible { sources, feasible, budget, .. }) => {
            assert_eq!(error.kind(), ErrorKind::Infeasible);
            let (feasible, budget, told) = (*feasible, *budget, error.to_string());
            // Sources with amounts of their own are told to lower these.
            let is_fixed = text.contains("# sources: fixed");
            let is_named = is_fixed || told.contains(&feasible.to_string());
            assert!(!sources.is_empty() && is_named, "{told}");
            for source in sources {
                assert!(THREE.iter().any(|known| known.0 == source.name), "{told}");
                assert!(told.contains(&source.name), "{told}");
            }
            assert!(feasible < budget, "{told}");
            if feasible == 0 {
                return None;
            }
            let lower = match text.contains("\ntokens = ") && !text.contains("# sources: fixed") {
                true => text.replace(
                    &format!("\ntokens = {budget}\n"),
                    &format!("\ntokens = {feasible}\n"),
                ),
                false => return None,
            };
            Some(plan(corpus, &lower).unwrap_or_else(|error| panic!("{told}\n{error}\n{lower}")))
        }
        // What a chance recipe may run into, said in words.
        Some(EpochError::Empty { .. } | EpochError::NoRows { .. } | EpochError::Recipe(_)) => None,
        _ => panic!("{error}\n{text}"),
    }
}

/// Whether an epoch has no row, which is said.
pub fn has_no_rows(error: &Error) -> bool {
    matches!(error.origin(), Some(EpochError::NoRows { .. }))
}
