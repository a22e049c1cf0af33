//! The dedup contract against brute force: witnesses, independence, the kept set, and changes of mind.

use crate::support::{
    Page, Random, Scratch, crawl, edited, lines, make, pour, prose, reader, sound_digest, writer,
};
use corpusdb::dedup::{Fingerprint, Fingerprinter, bands, estimate_floor, shared, shared_at_least};
use corpusdb::{
    Corpus, DedupMode, DocId, IngestOptions, Match, MatchKind, Policy, ReadOptions, Standing,
};
use std::collections::{BTreeMap, HashSet};

// ---- the naive model ----

/// A stored document, as the model sees it.
struct Document {
    text: String,
    content: String,
    fingerprint: Fingerprint,
    bands: Vec<u64>,
    successor: Option<u64>,
}

/// All documents ever stored of one source, and nothing else: every answer is computed from scratch.
struct Model {
    policy: Policy,
    documents: Vec<Document>,
    newest: BTreeMap<String, u64>,
}

impl Model {
    fn new(policy: Policy) -> Self {
        Self { policy, documents: Vec::new(), newest: BTreeMap::new() }
    }

    /// Takes a record that stands `number`th in `path`.
    fn take(&mut self, path: &str, number: usize, page: &Page) {
        let content = format!("{:?} {}", page.text, page.fields);
        let key = match &page.id {
            Some(id) => format!("key {id}"),
            None => format!("position {path} {number} {content}"),
        };
        let id = self.documents.len() as u64;
        if let Some(before) = self.newest.get(&key).copied() {
            let before = &mut self.documents[before as usize];
            if before.content == content {
                return;
            }
            before.successor = Some(id);
        }
        self.newest.insert(key, id);
        let fingerprint = Fingerprinter::new(&self.policy).fingerprint(&page.text);
        let bands = fingerprint
            .sketch
            .as_ref()
            .map(|sketch| bands(sketch, &self.policy))
            .unwrap_or_default();
        self.documents.push(Document {
            text: page.text.clone(),
            content,
            fingerprint,
            bands,
            successor: None,
        });
    }

    fn share_a_band(&self, a: &Document, b: &Document) -> bool {
        a.bands.iter().zip(&b.bands).any(|(a, b)| a == b)
    }

    /// An edge of the graph: equal texts, or candidates of each other that were verified.
    fn similar(&self, a: &Document, b: &Document) -> bool {
        match self.policy.mode {
            DedupMode::None => false,
            DedupMode::Exact => a.text == b.text,
            DedupMode::Witness | DedupMode::Components | DedupMode::Lsh => {
                let (x, y) = (&a.fingerprint, &b.fingerprint);
                let estimate = || match (&x.sketch, &y.sketch) {
                    (Some(x), Some(y)) => {
                        x.estimate(y) >= estimate_floor(self.policy.threshold, self.policy.hashes)
                    }
                    _ => false,
                };
                x.normalised == y.normalised
                    || self.share_a_band(a, b)
                        && shared_at_least(&x.shingles, &y.shingles, self.policy.threshold)
                            .is_some()
                        && estimate()
            }
        }
    }

    /// The lexicographically first maximal independent set over eligible documents, by its definition.
    fn settle(&self) -> Vec<(Standing, Option<(MatchKind, u64)>)> {
        let mut kept: Vec<u64> = Vec::new();
        let mut outcome = Vec::new();
        for (id, document) in (0..).zip(&self.documents) {
            if let Some(successor) = document.successor {
                outcome.push((Standing::Superseded, Some((MatchKind::Superseded, successor))));
            } else if self.policy.mode == DedupMode::Witness && document.fingerprint.tokens == 0 {
                outcome.push((Standing::Empty, None));
            } else if let Some(witness) =
                kept.iter().find(|other| self.similar(document, &self.documents[**other as usize]))
            {
                let is_equal = self.documents[*witness as usize].text == document.text;
                let (standing, kind) = if is_equal {
                    (Standing::Exact, MatchKind::Exact)
                } else {
                    (Standing::Near, MatchKind::Near)
                };
                outcome.push((standing, Some((kind, *witness))));
            } else {
                kept.push(id);
                outcome.push((Standing::Kept, None));
            }
        }
        outcome
    }
}

/// What a corpus says of each document.
fn told(corpus: &Corpus) -> Vec<(Standing, Option<Match>)> {
    let view = corpus.view();
    let ids = (0..view.documents()).map(DocId);
    ids.map(|id| (view.standing(id).unwrap(), view.match_of(id).unwrap())).collect()
}

/// Expects that the corpus stands as the model says, overlaps included.
#[track_caller]
fn agrees(corpus: &Corpus, model: &Model, what: &str) {
    let (told, expected) = (told(corpus), model.settle());
    assert_eq!(told.len(), expected.len(), "{what}: documents");
    for (id, ((standing, matched), expected)) in told.iter().zip(&expected).enumerate() {
        let found = (*standing, matched.map(|matched| (matched.kind, matched.witness.0)));
        assert_eq!(found, *expected, "{what}: document {id}, {:?}", model.documents[id].text);
        assert_eq!(
            corpus.view().text(DocId(id as u64)).unwrap(),
            model.documents[id].text,
            "{what}: document {id}"
        );
        if let Some(matched) = matched.filter(|matched| matched.kind == MatchKind::Near) {
            let own = &model.documents[id].fingerprint.shingles;
            let other = &model.documents[matched.witness.0 as usize].fingerprint.shingles;
            let expected = (shared(own, other), own.len() as u32, other.len() as u32);
            let found = (matched.shared, matched.removed_shingles, matched.witness_shingles);
            assert_eq!(found, expected, "{what}: overlap of {id}");
        }
    }
}

fn options(batch_bytes: u64, id_field: bool) -> IngestOptions {
    let read =
        ReadOptions { id_field: id_field.then(|| "id".to_owned()), ..ReadOptions::default() };
    IngestOptions { batch_bytes, threads: 2, read, ..IngestOptions::new("web") }
}

/// Ingests files of pages one after the other; after each the corpus must agree with the model.
fn compare(
    policy: (DedupMode, f64),
    files: &[Vec<Page>],
    batch_bytes: &[u64],
    what: &str,
) -> (Scratch, Model) {
    let scratch = Scratch::new();
    let path = scratch.path("corpus");
    make(&path, policy.0, policy.1);
    let mut model = Model::new(Policy::new(policy.0, policy.1).unwrap());
    let mut writer = writer(&path);
    for (at, pages) in files.iter().enumerate() {
        let file = scratch.write(&format!("{at}.jsonl"), lines(pages));
        for (number, page) in pages.iter().enumerate() {
            model.take(&file, number, page);
        }
        let keyed = pages.iter().any(|page| page.id.is_some());
        pour(&mut writer, &[file], &options(batch_bytes[at % batch_bytes.len()], keyed));
        let corpus = reader(&path);
        agrees(&corpus, &model, &format!("{what}, after file {at}"));
    }
    sound_digest(&reader(&path));
    (scratch, model)
}

// ---- the contract ----

#[test]
fn every_removal_has_a_kept_witness_and_no_two_kept_candidates_are_similar() {
    let (threshold, pages) = (0.8, crawl(1, 450, false));
    let (scratch, model) = compare(
        (DedupMode::Witness, threshold),
        std::slice::from_ref(&pages),
        &[32 << 10],
        "contract",
    );
    let corpus = reader(&scratch.path("corpus"));
    let jaccard = |a: usize, b: usize| {
        let sets = [a, b].map(|id| {
            model.documents[id].fingerprint.shingles.iter().copied().collect::<HashSet<u64>>()
        });
        let both = sets[0].intersection(&sets[1]).count() as f64;
        both / (sets[0].len() + sets[1].len()) as f64
            / (1.0 - both / (sets[0].len() + sets[1].len()) as f64)
    };
    let told = told(&corpus);
    let mut counts = BTreeMap::new();
    for (id, (standing, matched)) in told.iter().enumerate() {
        *counts.entry(standing.name()).or_insert(0) += 1;
        match standing {
            Standing::Exact | Standing::Near => {
                let matched = matched.unwrap();
                let witness = matched.witness.0 as usize;
                assert_eq!(told[witness].0, Standing::Kept, "witness of {id}");
                assert!(witness < id, "the witness ranks before what it removed");
                assert!(
                    jaccard(id, witness) >= threshold - 1e-9,
                    "{id} is removed at {}",
                    jaccard(id, witness)
                );
                assert!((matched.jaccard() - jaccard(id, witness)).abs() < 1e-9);
                assert_eq!(
                    *standing == Standing::Exact,
                    model.documents[id].text == model.documents[witness].text
                );
            }
            _ => assert!(matched.is_none()),
        }
    }
    let kept: Vec<usize> = (0..told.len()).filter(|id| told[*id].0 == Standing::Kept).collect();
    let mut missed = 0;
    for (at, a) in kept.iter().enumerate() {
        for b in &kept[..at] {
            if jaccard(*a, *b) >= threshold {
                assert!(
                    !model.share_a_band(&model.documents[*a], &model.documents[*b]),
                    "{a} and {b} are both kept"
                );
                missed += 1;
            }
        }
    }
    // The bands find a pair at the threshold with probability 0.997.
    assert!(missed <= 1, "{missed} similar pairs never met in a band");
    // The crawl is what it should be: of everything some.
    for (standing, least) in [("kept", 150), ("exact", 20), ("near", 40), ("empty", 5)] {
        assert!(counts[standing] >= least, "{counts:?}");
    }
}

#[test]
fn the_kept_set_is_the_first_maximal_independent_set_whatever_the_threshold_mode_and_batch() {
    for (seed, threshold) in [(11, 0.8), (12, 0.7), (13, 0.5), (14, 0.3), (15, 1.0)] {
        let pages = crawl(seed, 250, false);
        let files: Vec<_> = pages.chunks(90).map(<[Page]>::to_vec).collect();
        compare(
            (DedupMode::Witness, threshold),
            &files,
            &[1 << 10, 1 << 20, 8 << 10],
            &format!("threshold {threshold}"),
        );
    }
    for mode in [DedupMode::Exact, DedupMode::None] {
        let pages = crawl(16, 250, true);
        let files: Vec<_> = pages.chunks(90).map(<[Page]>::to_vec).collect();
        compare((mode, 0.8), &files, &[2 << 10], mode.name());
    }
}

#[test]
fn random_upserts_leave_what_a_decision_from_scratch_would_keep() {
    let mut superseded = 0;
    for seed in 100..108 {
        let mut random = Random::new(seed);
        let pages = crawl(seed, 240, true);
        let size = random.between(20, 110);
        let files: Vec<_> = pages.chunks(size).map(<[Page]>::to_vec).collect();
        let batches: Vec<u64> =
            (0..3).map(|_| *random.pick(&[500, 2 << 10, 9 << 10, 1 << 20])).collect();
        let threshold = *random.pick(&[0.8, 0.6, 0.4]);
        let (_scratch, model) =
            compare((DedupMode::Witness, threshold), &files, &batches, &format!("seed {seed}"));
        superseded +=
            model.documents.iter().filter(|document| document.successor.is_some()).count();
    }
    assert!(superseded > 150, "{superseded} upserts are too few to mean anything");
}

#[test]
fn upserts_among_a_few_texts_leave_what_a_decision_from_scratch_would_keep() {
    // Few texts under few keys: every change of mind touches someone's witness.
    for seed in 300..318 {
        let mut random = Random::new(seed);
        let mut texts: Vec<String> = vec![prose(&mut random, 0, 40)];
        while texts.len() < 14 {
            let (from, edits) = (random.below(texts.len()), random.between(1, 3));
            let text = match random.below(8) {
                0 => texts[from].to_uppercase(),
                1 => prose(&mut random, 0, 3),
                _ => edited(&mut random, &texts[from].clone(), edits),
            };
            texts.push(text);
        }
        let files: Vec<Vec<Page>> = (0..4)
            .map(|_| {
                let page = |random: &mut Random| {
                    let mut page =
                        Page::keyed(format!("k{}", random.below(9)), random.pick(&texts).clone());
                    page.fields["n"] = random.below(2).into();
                    page
                };
                (0..random.between(1, 12)).map(|_| page(&mut random)).collect()
            })
            .collect();
        let batches = [*random.pick(&[1, 400, 1 << 20])];
        compare((DedupMode::Witness, 0.7), &files, &batches, &format!("seed {seed}"));
    }
}

// ---- told by example ----

/// Forty words, of which the last `changed` are its own.
fn variant(name: &str, changed: usize) -> String {
    let common = (0..40 - changed).map(|at| format!("word{at}"));
    common.chain((0..changed).map(|at| format!("{name}{at}"))).collect::<Vec<_>>().join(" ")
}

#[test]
fn in_a_chain_the_first_and_the_third_are_kept() {
    // b shares 33 of 39 shingles with each neighbour; a and c share 30 of 42.
    let words: Vec<String> = (0..46).map(|at| format!("word{at}")).collect();
    let chain =
        [&words[..40], &words[3..43], &words[6..46]].map(|words| Page::new(words.join(" ")));
    let (scratch, _) = compare((DedupMode::Witness, 0.8), &[chain.to_vec()], &[1 << 20], "chain");
    let standings: Vec<_> =
        told(&reader(&scratch.path("corpus"))).into_iter().map(|(standing, _)| standing).collect();
    assert_eq!(standings, [Standing::Kept, Standing::Near, Standing::Kept]);
}

#[test]
fn a_document_comes_back_when_its_witness_is_superseded_and_removes_what_was_kept_meanwhile() {
    let words: Vec<String> = (0..46).map(|at| format!("word{at}")).collect();
    let [a, b, c] = [&words[..40], &words[3..43], &words[6..46]].map(|words| words.join(" "));
    let first = vec![Page::keyed("a", &a), Page::keyed("b", &b), Page::keyed("c", &c)];
    let second = vec![Page::keyed("a", variant("new", 40))];
    let (scratch, _) = compare((DedupMode::Witness, 0.8), &[first, second], &[1 << 20], "chain");
    let corpus = reader(&scratch.path("corpus"));
    let standings: Vec<_> = told(&corpus).into_iter().map(|(standing, _)| standing).collect();
    assert_eq!(standings, [Standing::Superseded, Standing::Kept, Standing::Near, Standing::Kept]);
    let pairs = corpus.duplicates(None, None).unwrap();
    let shown = pairs.iter().find(|pair| pair.id == 2).unwrap();
    assert_eq!((shown.witness, shown.witness_key.as_str(), shown.kind), (1, "b", "near"));
    assert_eq!(corpus.count(Some("kept")).unwrap(), 2);
    assert_eq!(corpus.count(Some("standing = 'superseded'")).unwrap(), 1);
}

#[test]
fn a_change_of_fields_alone_keeps_the_text_and_only_the_newest_record_counts() {
    let page = |n: u32| Page {
        fields: serde_json::json!({ "n": n }),
        ..Page::keyed("a", variant("a", 5))
    };
    let generations: Vec<_> = (0..4).map(page).collect();
    let (scratch, _) = compare(
        (DedupMode::Witness, 0.8),
        &[generations, vec![page(3)], vec![page(9)]],
        &[1 << 20],
        "fields",
    );
    let corpus = reader(&scratch.path("corpus"));
    let standings: Vec<_> = told(&corpus).into_iter().map(|(standing, _)| standing).collect();
    let before = [Standing::Superseded; 4].into_iter();
    assert_eq!(standings, before.chain([Standing::Kept]).collect::<Vec<_>>());
    assert_eq!(corpus.view().metadata(DocId(4)).unwrap(), r#"{"n":9}"#);
    assert_eq!(
        corpus.view().expect_header(DocId(4)).unwrap().text_of,
        Some(DocId(0)),
        "the text is stored once"
    );
}

#[test]
fn records_without_a_key_never_supersede() {
    let scratch = Scratch::new();
    let path = scratch.path("corpus");
    make(&path, DedupMode::Witness, 0.8);
    let mut writer = writer(&path);
    for round in 0..3 {
        // The same file, the same record number, the same `id` that nobody named as the key.
        let file = scratch
            .write("pages.jsonl", Page::keyed("a", variant(&format!("round{round}"), 40)).line());
        let report = pour(&mut writer, &[file], &options(1 << 20, false));
        assert_eq!((report.added, report.kept, report.updated), (1, 1, 0), "round {round}");
    }
    assert_eq!(reader(&path).count(Some("kept")).unwrap(), 3);
}
