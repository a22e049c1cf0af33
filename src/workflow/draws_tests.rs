//! Tests of plans whose passes draw segmentations: ids, counts, masks, and what becomes of the draws.

use crate::corpus::{Corpus, CorpusWriter};
use crate::curate::TrainingTexts;
use crate::epoch::{BuildJob, EpochRow, Plan, Recipe, StreamOptions};
use crate::ingest::{ChatOptions, IngestOptions, RecordForm};
use model::{Context, DedupMode, DocId, Policy};
use proptest::prelude::*;
use roaring::RoaringTreemap;
use std::collections::BTreeMap;
use store::CheckDepth;
use tokenizer::{ModelKind, Segmentation, TrainOptions};

const SAMPLE: Segmentation = Segmentation::Sample { alpha: 0.2, seed: 7 };
const DROPOUT: Segmentation = Segmentation::Dropout { probability: 0.3, seed: 7 };

fn recipe_of(segmentation: Segmentation, more: &str) -> String {
    let drawn = match segmentation {
        Segmentation::Best => String::new(),
        Segmentation::Sample { alpha, seed } => {
            format!("segmentation = {{ kind = \"sample\", alpha = {alpha:?}, seed = {seed} }}")
        }
        Segmentation::Dropout { probability, seed } => {
            format!(
                "segmentation = {{ kind = \"dropout\", probability = {probability:?}, seed = {seed} }}"
            )
        }
    };
    format!("version = 1\n[tokenizer]\n{drawn}\n{more}")
}

/// A corpus of texts and of prompts with their answers, and a tokenizer that was trained on both.
struct DrawnCorpus {
    directory: tempfile::TempDir,
}

impl DrawnCorpus {
    /// `batch_bytes`: how much text a commit takes.
    fn of(texts: &[String], model: ModelKind, batch_bytes: u64) -> Self {
        Self::of_random(texts, model, batch_bytes).unwrap()
    }

    /// None where the trainer fails: for some texts the suffix array of esaxx-rs is out of its bounds.
    fn of_random(texts: &[String], model: ModelKind, batch_bytes: u64) -> Option<Self> {
        let place = Self { directory: tempfile::tempdir().unwrap() };
        Corpus::init(place.path(), &Policy::new(DedupMode::None, 0.8).unwrap(), &[]).unwrap();
        let mut writer = place.writer(1);
        let web = IngestOptions { batch_bytes, ..IngestOptions::new("web") };
        let of_text = |text: &String| serde_json::json!({ "text": text });
        place.pour(&mut writer, &web, texts.iter().map(of_text));
        let options = TrainOptions { model, vocab_size: 300, ..TrainOptions::default() };
        let on = TrainingTexts::default();
        if let Err(error) = writer.train_and_register("own", &options, &on, true, &Context::new()) {
            let is_known = error.to_string().contains("out of range for slice of length");
            assert!(model == ModelKind::Unigram && is_known, "{error}");
            return None;
        }
        let form = RecordForm::Chat(ChatOptions::default());
        let chats = IngestOptions { batch_bytes, form, ..IngestOptions::new("chats") };
        let of_chat = |text: &String| serde_json::json!({ "prompt": format!("{text} and "), "completion": "an answer to it" });
        place.pour(&mut writer, &chats, texts.iter().map(of_chat));
        Some(place)
    }

    fn path(&self) -> std::path::PathBuf {
        self.directory.path().join("corpus")
    }

    fn writer(&self, threads: usize) -> CorpusWriter {
        Corpus::options().memory(64 << 20).threads(threads).open_writer(self.path()).unwrap()
    }

    fn pour(
        &self,
        writer: &mut CorpusWriter,
        options: &IngestOptions,
        records: impl Iterator<Item = serde_json::Value>,
    ) {
        let file = self.directory.path().join("records.jsonl");
        let lines: String = records.map(|record| format!("{record}\n")).collect();
        std::fs::write(&file, lines).unwrap();
        let file = [file.display().to_string()];
        writer.ingest(&file, options, &Context::new()).unwrap();
    }

    fn plan(&self, recipe: &str, threads: usize) -> Plan {
        let recipe = Recipe::parse(recipe).unwrap();
        self.writer(threads).plan(&recipe, &Context::new()).unwrap().1
    }
}

fn rows_from(corpus: &Corpus, planned: &Plan, from_batch: u64) -> Vec<EpochRow> {
    let epoch = corpus.epoch(planned, 0, &Context::new()).unwrap();
    let stream = epoch.stream(&StreamOptions { from_batch, ..Default::default() }).unwrap();
    stream.flat_map(|batch| batch.unwrap().rows).collect()
}

/// A token of a document: its id, and whether it is trained on.
type Tokens = Vec<(u32, bool)>;

/// The tokens of the documents of each pass, by (pass, document), put together from rows.
fn by_document(rows: &[EpochRow]) -> BTreeMap<(u32, u64), Tokens> {
    let mut found: BTreeMap<(u32, u64), BTreeMap<u32, (u32, bool)>> = BTreeMap::new();
    for row in rows {
        let trained = row.trained();
        for (segment, span) in row.segments().iter().zip(&row.shape().spans) {
            let of = found.entry((row.pass().unwrap(), segment.document.0)).or_default();
            for at in 0..segment.length {
                let place = span.start + at;
                let is_trained = trained.is_none_or(|spans| {
                    spans.iter().any(|span| (span.start..span.end).contains(&place))
                });
                let before =
                    of.insert(segment.offset + at, (row.ids()[place as usize], is_trained));
                assert_eq!(before, None, "a token comes once in a pass");
            }
        }
    }
    let whole = |tokens: BTreeMap<u32, (u32, bool)>| {
        assert!(tokens.keys().copied().eq(0..tokens.len() as u32), "no token is left out");
        tokens.into_values().collect()
    };
    found.into_iter().map(|(key, tokens)| (key, whole(tokens))).collect()
}

/// What these are by the definition of draws.
fn expected(
    corpus: &Corpus,
    segmentation: Segmentation,
    passes: &BTreeMap<&str, u32>,
) -> BTreeMap<(u32, u64), Tokens> {
    let view = corpus.view();
    let loaded = corpus.tokenizer(Some("own")).unwrap().tokenizer;
    let mut all = BTreeMap::new();
    for document in (0..view.documents()).map(DocId) {
        let source = view.source_of(document).unwrap();
        let text = view.text(document).unwrap();
        let form = view.text_form(document).unwrap().unwrap_or_default();
        for pass in 0..passes[view.source_name(source).unwrap()] {
            let mut ids = Vec::new();
            let draw = segmentation.of_pass(pass);
            loaded.encode_segmentation(&text, form.specials, draw, &mut ids).unwrap();
            let name = format!("own#{}", segmentation.pass_name(pass));
            let drawing = corpus.tokenizer(Some(&name)).unwrap().tokenizer;
            let (again, places) = drawing.encode_with_offsets(&text, form.specials).unwrap();
            assert_eq!(again, ids);
            let is_trained = |(start, end): (u32, u32)| {
                let spans = form.spans.as_ref();
                spans.is_none_or(|spans| {
                    spans.iter().any(|span| start < span.end && span.start < end)
                })
            };
            let tokens = ids.into_iter().zip(places.into_iter().map(is_trained)).collect();
            all.insert((pass, document.0), tokens);
        }
    }
    all
}

fn check_sound(corpus: &Corpus) {
    let faults = corpus.check(CheckDepth::Deep, &Context::new()).unwrap();
    assert!(faults.is_empty(), "{faults:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(6)))]
    #[test]
    fn each_pass_holds_every_token_of_its_own_draws_once(
        texts in proptest::collection::vec("([a-e]{1,7} ){2,20}[a-e]{3}", 4..12),
        kind in prop_oneof![Just("best-fit"), Just("greedy"), Just("concat"), Just("none")],
        length in 8_u32..64,
        (web, chats) in (1_u32..4, 1_u32..4),
        is_unigram: bool,
        long in 40_usize..200,
    ) {
        let mut texts = texts;
        texts.push("abc ".repeat(long));
        let (model, segmentation) = match is_unigram {
            true => (ModelKind::Unigram, SAMPLE),
            false => (ModelKind::Bpe, DROPOUT),
        };
        let Some(place) = DrawnCorpus::of_random(&texts, model, 16 << 20) else { return Ok(()) };
        let sources = |name: &str, passes: u32| {
            format!("[[source]]\nname = \"{name}\"\nmax_repeats = {passes}\ntokens = 1\n")
        };
        // Each source gives all that its passes hold: the plan says how much that is.
        let text = |amounts: [u64; 2]| {
            let mut both = sources("web", web) + &sources("chats", chats);
            for amount in amounts {
                both = both.replacen("tokens = 1\n", &format!("tokens = {amount}\n"), 1);
            }
            let parquet = "[output]\nformat = \"parquet\"\n";
            recipe_of(segmentation, &format!("[pack]\nkind = \"{kind}\"\nlength = {length}\n{parquet}{both}"))
        };
        let first = place.plan(&text([1, 1]), 1);
        let amounts = [0, 1].map(|at| {
            let source = &first.plan.sources[at];
            let later: u64 = match source.later_amounts.as_slice() {
                [] => source.later_amount * u64::from(source.max_repeats - 1),
                runs => runs.iter().map(|run| run.amount * u64::from(run.passes)).sum(),
            };
            source.amount + later
        });
        let planned = place.plan(&text(amounts), 2);
        let corpus = Corpus::open(place.path()).unwrap();
        let rows = rows_from(&corpus, &planned, 0);
        let passes = BTreeMap::from([("web", web), ("chats", chats)]);
        let due = expected(&corpus, segmentation, &passes);
        let tokens: u64 = due.values().map(|tokens| tokens.len() as u64).sum();
        prop_assert_eq!(planned.plan.budget, tokens, "counts are exact before a row is read");
        prop_assert_eq!(&by_document(&rows), &due);
        let epoch = corpus.epoch(&planned, 0, &Context::new()).unwrap();
        prop_assert_eq!(epoch.rows(), rows.len() as u64);
        for from in [1, epoch.batches() / 2] {
            let rest = rows_from(&corpus, &planned, from);
            let ids = |rows: &[EpochRow]| rows.iter().map(|row| row.ids().to_vec()).collect::<Vec<_>>();
            prop_assert_eq!(ids(&rest), ids(&rows[from as usize..]));
        }
        let out = place.directory.path().join("out");
        let job = BuildJob { epoch: 0, out: &out };
        corpus.build(&planned, &job, &Context::new()).unwrap();
        let verification = corpus.verify(&planned, &out, &Context::new()).unwrap();
        prop_assert!(verification.passed(), "{:?}", verification);
        prop_assert_eq!(verification.tokens, tokens);
        check_sound(&corpus);
    }
}

const TEXTS: [&str; 5] = [
    "the quick brown fox jumps over the lazy dog and over the other dog",
    "a lazy dog sleeps while the quick fox jumps over brown hills",
    "hills and foxes, dogs and hills: over and over the same story goes",
    "another story of a fox who went over the hills to sleep with dogs",
    "brown is the fox, and lazy is the dog that sleeps in this story",
];

fn texts() -> Vec<String> {
    TEXTS.map(str::to_owned).to_vec()
}

const PASSES: &str = "[pack]\nkind = \"none\"\nlength = 512\n[[source]]\nname = \"web\"\nmax_repeats = 3\nweight = 1.0\n";

#[test]
fn draws_are_the_same_however_documents_came() {
    let text = recipe_of(DROPOUT, PASSES);
    let streamed = |batch_bytes, threads| {
        let place = DrawnCorpus::of(&texts(), ModelKind::Bpe, batch_bytes);
        let planned = place.plan(&text, threads);
        let corpus = Corpus::open(place.path()).unwrap();
        rows_from(&corpus, &planned, 0).iter().map(|row| row.ids().to_vec()).collect::<Vec<_>>()
    };
    let all = streamed(16 << 20, 1);
    assert_eq!(all.len(), 3 * TEXTS.len());
    assert_eq!(streamed(1, 1), all);
    assert_eq!(streamed(100, 3), all);
    // Passes differ, and the text is the same.
    let place = DrawnCorpus::of(&texts(), ModelKind::Bpe, 16 << 20);
    let planned = place.plan(&text, 1);
    let corpus = Corpus::open(place.path()).unwrap();
    let loaded = corpus.tokenizer(None).unwrap();
    assert_eq!(loaded.name, "own", "a draw is nobody's default");
    let tokens = by_document(&rows_from(&corpus, &planned, 0));
    let ids = |pass| -> Vec<u32> { tokens[&(pass, 0)].iter().map(|(id, _)| *id).collect() };
    assert_ne!(ids(0), ids(1));
    assert_ne!(ids(1), ids(2));
    let decoded = [0, 1, 2].map(|pass| loaded.tokenizer.decode(&ids(pass)).unwrap());
    assert_eq!(decoded, [TEXTS[0]; 3]);
}

#[test]
fn later_documents_have_draws_and_earlier_plans_stay() {
    let place = DrawnCorpus::of(&texts(), ModelKind::Bpe, 16 << 20);
    let text = recipe_of(DROPOUT, PASSES);
    // Who only reads cannot store what is drawn.
    let corpus = Corpus::open(place.path()).unwrap();
    let error = corpus.plan(&Recipe::parse(&text).unwrap(), &Context::new()).unwrap_err();
    assert!(error.to_string().contains("`own#dropout-0.3-7-0`"), "{error}");
    let planned = place.plan(&text, 1);
    let hash = planned.plan.hash();
    let corpus = Corpus::open(place.path()).unwrap();
    assert_eq!(
        corpus.plan(&Recipe::parse(&text).unwrap(), &Context::new()).unwrap().plan.hash(),
        hash
    );
    let commit = corpus.view().commit();
    assert_eq!(place.plan(&text, 1).plan.hash(), hash);
    assert_eq!(Corpus::open(place.path()).unwrap().view().commit(), commit, "nothing was missing");
    // A plan without draws says nothing of them.
    let plain = place.plan(&recipe_of(Segmentation::Best, PASSES), 1);
    assert!(!plain.plan.to_json().contains("draws"), "{}", plain.plan.to_json());
    let mut writer = place.writer(1);
    let more = ["one more story of the brown fox".to_owned()];
    let of_text = |text: &String| serde_json::json!({ "text": text });
    place.pour(&mut writer, &IngestOptions::new("web"), more.iter().map(of_text));
    drop(writer);
    let corpus = Corpus::open(place.path()).unwrap();
    assert_eq!(rows_from(&corpus, &planned, 0).len(), 3 * TEXTS.len());
    check_sound(&corpus);
    let planned = place.plan(&text, 1);
    let corpus = Corpus::open(place.path()).unwrap();
    let rows = rows_from(&corpus, &planned, 0);
    let due = expected(&corpus, DROPOUT, &BTreeMap::from([("web", 3), ("chats", 0)]));
    assert_eq!(by_document(&rows), due);
}

#[test]
fn a_purged_document_leaves_its_draws_too() {
    let place = DrawnCorpus::of(&texts(), ModelKind::Unigram, 16 << 20);
    let planned = place.plan(&recipe_of(SAMPLE, PASSES), 1);
    let mut writer = place.writer(1);
    let first: RoaringTreemap = std::iter::once(0).collect();
    writer.purge(&first, false, true, &Context::new()).unwrap();
    let corpus = writer.corpus();
    let draws = corpus.view().tokenizers().filter(|(_, record)| record.drawn().is_some());
    let draws: Vec<_> = draws.map(|(id, _)| id).collect();
    assert_eq!(draws.len(), 3);
    for id in draws {
        assert!(!corpus.view().tokens(id, DocId(0), &mut Vec::new()).unwrap());
        assert!(corpus.view().tokens(id, DocId(1), &mut Vec::new()).unwrap());
    }
    assert!(corpus.epoch(&planned, 0, &Context::new()).is_err());
    check_sound(&corpus);
}

#[test]
fn draws_go_with_their_tokenizer_and_their_plans() {
    let place = DrawnCorpus::of(&texts(), ModelKind::Bpe, 16 << 20);
    let planned = place.plan(&recipe_of(DROPOUT, PASSES), 1);
    let mut writer = place.writer(1);
    let draw = &planned.plan.tokenizer.draws[1];
    let error = writer.drop_tokenizer(draw, false).unwrap_err();
    assert!(error.to_string().contains("plans 1 use tokenizer `own#dropout-0.3-7-1`"), "{error}");
    assert_eq!(writer.drop_tokenizer(draw, true).unwrap(), [1]);
    let error = writer.corpus().epoch(&planned, 0, &Context::new()).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("is gone"), "{error}");
    // Planning again draws it again: the same bytes.
    let again = Recipe::parse(&recipe_of(DROPOUT, PASSES)).unwrap();
    assert_eq!(writer.plan(&again, &Context::new()).unwrap().1.plan.hash(), planned.plan.hash());
    assert_eq!(rows_from(&writer.corpus(), &planned, 0).len(), 3 * TEXTS.len());
    writer.drop_tokenizer("own", true).unwrap();
    assert_eq!(writer.view().tokenizers().count(), 0);
    check_sound(&writer.corpus());
}

#[test]
fn a_draw_that_cannot_be_is_refused_with_the_way_out() {
    let place = DrawnCorpus::of(&texts(), ModelKind::Bpe, 16 << 20);
    let mut writer = place.writer(1);
    let mut refused = |text: &str, words: &str| {
        let planned = Recipe::parse(text)
            .map_err(model::Error::from)
            .and_then(|recipe| writer.plan(&recipe, &Context::new()));
        let error = planned.map(|_| ()).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        error.hint().map(|hint| hint.to_string()).unwrap_or_default()
    };
    let hint = refused(&recipe_of(SAMPLE, ""), "this tokenizer is a BPE");
    assert!(hint.contains("kind = \"dropout\""), "{hint}");
    let none = Segmentation::Dropout { probability: 0.0, seed: 7 };
    refused(&recipe_of(none, ""), "it must be above 0");
    let many = "[[source]]\nname = \"web\"\nmax_repeats = 65\n";
    refused(&recipe_of(DROPOUT, many), "64 passes at most");
    let paragraph = "[pack.options]\nlong = \"paragraph\"\n";
    refused(&recipe_of(DROPOUT, paragraph), "long = \"split\"");
    refused(&recipe_of(DROPOUT, "").replace("dropout", "beam"), "unknown variant `beam`");
    refused(&recipe_of(DROPOUT, "").replace("seed = 7", "sead = 7"), "unknown field `sead`");
    let drawn = Recipe::parse(&recipe_of(DROPOUT, PASSES)).unwrap();
    let (record, _) = writer.plan(&drawn, &Context::new()).unwrap();
    let error = writer.extend(record.number, 1, None, &Context::new()).unwrap_err();
    assert!(error.to_string().contains("plan the recipe by itself"), "{error}");
}
