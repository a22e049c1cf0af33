//! Tests of metrics against examples counted by hand, of the laws of counting, and of reached ids.

use super::counts::{AlignedWords, align};
use super::curve::knee as knee_over;
use super::reach::is_within_utf8;
use super::usage::{gini, renyi, shannon};
use super::*;
use crate::vocabulary::byte_characters;
use crate::{PretokenCounter, PretokenTable, Tokenizer, TrainOptions, pretokenizer_file, train};
use model::Context;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// A byte-level BPE of the given merges, with one special token after them.
fn byte_level(merges: &[(&str, &str)]) -> Vec<u8> {
    let mut alphabet = byte_characters().map(String::from).to_vec();
    alphabet.sort_unstable();
    let made = merges.iter().map(|(left, right)| format!("{left}{right}"));
    let vocab: Map<String, Value> =
        (0..).zip(alphabet.into_iter().chain(made)).map(|(id, token)| (token, json!(id))).collect();
    let special = json!({"id": vocab.len(), "content": "<|end|>", "special": true,
        "single_word": false, "lstrip": false, "rstrip": false, "normalized": false});
    let step = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
    let file = json!({"version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [special], "normalizer": null, "pre_tokenizer": step,
        "post_processor": null, "decoder": step,
        "model": {"type": "BPE", "dropout": null, "unk_token": null,
            "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false,
            "byte_fallback": false, "ignore_merges": false, "vocab": vocab,
            "merges": merges.iter().map(|(a, b)| json!([a, b])).collect::<Vec<_>>()}});
    serde_json::to_vec(&file).expect("writes")
}

const MERGES: [(&str, &str); 5] = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("Ġ", "Ġ"), ("Ã", "©")];

struct Loaded {
    json: Vec<u8>,
    tokenizer: Tokenizer,
}

fn loaded(json: Vec<u8>) -> Loaded {
    let tokenizer = Tokenizer::load(&json, &[]).expect("loads");
    Loaded { json, tokenizer }
}

impl Loaded {
    fn subject(&self) -> AnalysedTokenizer<'_> {
        AnalysedTokenizer::new(&self.tokenizer, &self.json).expect("is made ready")
    }

    fn encode(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        self.tokenizer.encoder().encode(text, &mut ids).expect("encodes");
        ids
    }
}

static SMALL: LazyLock<Loaded> = LazyLock::new(|| loaded(byte_level(&MERGES)));

fn feed(tally: &mut AnalysisTally<'_>, loaded: &Loaded, group: usize, text: &str) {
    let words = TextWords::new(text).expect("is short");
    tally.add_text(group, &words, &loaded.encode(text)).expect("feeds");
}

fn names(groups: &[&str]) -> Vec<String> {
    groups.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_small_text_is_counted_as_by_hand() {
    let subject = SMALL.subject();
    let mut tally = AnalysisTally::new(&subject, 2);
    // [the][ the][ ][c][a][t] and [the][ ][.] and the two bytes of é as one token.
    feed(&mut tally, &SMALL, 0, "the the cat");
    feed(&mut tally, &SMALL, 1, "the .é");
    let english = tally.groups[0];
    let expected = TextCounts {
        documents: 1,
        bytes: 11,
        characters: 11,
        tokens: 6,
        words: 3,
        word_tokens: 5,
        single_token_words: 2,
        continued_words: 1,
        unplaced_documents: 0,
    };
    assert_eq!(english, expected);
    let report =
        tally.finish("small", &names(&["en", "fr"]), Err("none".to_owned())).expect("ends");
    assert_eq!((report.total.counts.tokens, report.total.counts.words), (10, 5));
    let english = &report.groups[0];
    assert_eq!((english.name.as_str(), english.parity), ("en", 1.0));
    assert!((english.bytes_per_token - 11.0 / 6.0).abs() < 1e-12);
    assert!((english.fertility.unwrap() - 5.0 / 3.0).abs() < 1e-12);
    assert!((english.single_token_word_share.unwrap() - 2.0 / 3.0).abs() < 1e-12);
    assert!((english.continued_word_share.unwrap() - 1.0 / 3.0).abs() < 1e-12);
    // 4 tokens of 7 bytes against 6 of 11.
    let french = &report.groups[1];
    assert!((french.parity - (4.0 / 7.0) / (6.0 / 11.0)).abs() < 1e-12);
    assert!((french.characters_per_token - 6.0 / 4.0).abs() < 1e-12);
    let uses = &report.vocabulary_use;
    // `the` twice, the space twice, ` the`, c, a, t, `.` and é once each.
    assert_eq!((uses.used_ids, uses.rare_ids), (8, 8));
    assert_eq!(uses.unused_ids, 256 + 5 - 8);
    assert_eq!(uses.covered[0], CoveredShare { percent: 50, ids: 3 });
    assert_eq!(uses.covered[2], CoveredShare { percent: 99, ids: 8 });
    assert!((uses.entropy_bits - (0.4 * 5f64.log2() + 0.6 * 10f64.log2())).abs() < 1e-12);
}

#[test]
fn the_dearest_documents_are_kept_whatever_their_order() {
    let subject = SMALL.subject();
    let long = |fill: &str| fill.repeat(300);
    let tally = |from: u64, to: u64| {
        let mut tally = AnalysisTally::new(&subject, 1);
        for document in from..to {
            // 300 tokens a document, of more bytes the later it is; two alike at a time.
            tally.note(document, &long(&"x".repeat(1 + document as usize / 2)), 300);
        }
        // Too short to tell.
        tally.note(to + 1000, "x", 500);
        tally
    };
    let whole = tally(0, 40);
    let found: Vec<u64> = whole.dearest.iter().map(|dear| dear.document).collect();
    assert_eq!(found, (0..16).collect::<Vec<_>>());
    assert_eq!(whole.dearest[0].beginning, "x".repeat(80));
    assert_eq!(tally(0, 15).merge(&tally(15, 40)).dearest, whole.dearest);
    assert_eq!(tally(15, 40).merge(&tally(0, 15)).dearest, whole.dearest);
    let analysis = whole.finish("dear", &names(&["all"]), Err(String::new())).expect("ends");
    assert_eq!(analysis.dearest.len(), 16);
}

#[test]
fn lengths_are_relative_to_the_reference_by_group() {
    let bytes_only = loaded(byte_level(&[]));
    let texts = [(0, "the the cat"), (1, "the")];
    let analyse = |loaded: &Loaded, name| {
        let subject = loaded.subject();
        let mut tally = AnalysisTally::new(&subject, 2);
        texts.iter().for_each(|(group, text)| feed(&mut tally, loaded, *group, text));
        tally.finish(name, &names(&["all", "b"]), Err(String::new())).expect("ends")
    };
    let both = vec![analyse(&SMALL, "small"), analyse(&bytes_only, "bytes")];
    let report = AnalysisReport::new("language", "small", (7, 70), both);
    assert_eq!((report.documents, report.bytes, report.selected_bytes), (2, 14, 70));
    let bytes = &report.tokenizers[1];
    assert_eq!(report.tokenizers[0].total.relative_length, Some(1.0));
    assert_eq!(bytes.total.relative_length, Some(14.0 / 7.0));
    // A group that is called like the total is not taken for it.
    assert_eq!(bytes.groups[0].relative_length, Some(11.0 / 6.0));
    assert_eq!(bytes.groups[1].relative_length, Some(3.0));
}

#[test]
fn words_and_tokens_meet_at_every_kind_of_border() {
    let counts = |tokens, single, continued| AlignedWords { tokens, single, continued };
    // One token over two words, the second continues in another.
    assert_eq!(align(&[(0, 2), (2, 4)], &[(0, 3), (3, 4)]), counts(2, 1, 1));
    // One token over all.
    assert_eq!(align(&[(0, 2), (3, 5)], &[(0, 5)]), counts(1, 2, 0));
    // Tokens that share a character, and one that stands for nothing.
    assert_eq!(align(&[(1, 4)], &[(0, 1), (1, 4), (1, 4), (4, 4)]), counts(2, 0, 1));
    // A word that a normaliser dropped.
    assert_eq!(align(&[(0, 2), (3, 5)], &[(3, 5)]), counts(1, 1, 0));
    assert_eq!(align(&[(0, 2)], &[]), counts(0, 0, 0));
}

#[test]
fn entropies_and_gini_of_known_values() {
    let ln = f64::ln;
    assert!((shannon(&[5, 5, 5, 5]) - ln(4.0)).abs() < 1e-12);
    assert!((renyi(&[5, 5, 5, 5], 2.5) - ln(4.0)).abs() < 1e-12);
    assert!((renyi(&[3, 1], 2.0) - -ln(10.0 / 16.0)).abs() < 1e-12);
    assert_eq!(renyi(&[9], 2.5), 0.0);
    assert_eq!(renyi(&[], 2.5), 0.0);
    assert!(gini(&[2.0, 2.0, 2.0]).abs() < 1e-12);
    // One of four has all: 1 - 1/4.
    assert!((gini(&[0.0, 8.0, 0.0, 0.0]) - 0.75).abs() < 1e-12);
    assert!((gini(&[1.0, 3.0]) - 0.25).abs() < 1e-12);
}

#[test]
fn every_id_is_in_its_class_of_reach() {
    // `the` cannot come of `th` and `e` when `he` is joined first; ` a` crosses no border of words,
    // `a b` does.
    let merges =
        [("h", "e"), ("t", "h"), ("th", "e"), ("a", "Ġ"), ("aĠ", "b"), ("Ã", "©"), ("å", "½")];
    let odd = loaded(byte_level(&merges));
    let subject = odd.subject();
    let tally = AnalysisTally::new(&subject, 1);
    let report = tally.finish("odd", &names(&["all"]), Err(String::new())).expect("ends");
    let of = |class: ReachClass| report.reach.iter().find(|row| row.class == class);
    let spelled = |class| -> Vec<&str> {
        let row = of(class).expect("has ids");
        row.examples.iter().map(|(_, token)| token.as_str()).collect()
    };
    assert_eq!(spelled(ReachClass::NotByModel), ["the"]);
    assert_eq!(spelled(ReachClass::NotBeforeModel), ["aĠ", "aĠb"]);
    assert_eq!(spelled(ReachClass::Added), ["<|end|>"]);
    // C0, C1, F5 to FF.
    assert_eq!(of(ReachClass::NotUtf8).unwrap().ids, 13);
    // 115 other bytes from 80, and the first two bytes of a Chinese character.
    assert_eq!(of(ReachClass::PartOfCharacter).unwrap().ids, 115 + 1);
    // 128 bytes, `he`, `th` and é.
    assert_eq!(of(ReachClass::Alone).unwrap().ids, 131);
    let all: u64 = report.reach.iter().map(|row| row.ids).sum();
    assert_eq!(all, report.ids);
}

#[test]
fn parts_of_utf8_are_distinguished_from_other_bytes() {
    for within in [&b"a"[..], b"", b"\xa9", b"\xc3", b"\x80\x80\x80a\xf0\x9f", b"\xbd\xa0\xe4"] {
        assert!(is_within_utf8(within), "{within:x?}");
    }
    for outside in
        [&b"\xff"[..], b"\xc0\x80", b"\x80\x80\x80\x80", b"a\x80", b"\xe4a", b"\xed\xa0\x80"]
    {
        assert!(!is_within_utf8(outside), "{outside:x?}");
    }
}

#[test]
fn the_census_tells_kinds_and_scripts() {
    let merges =
        [("Ġ", "a"), ("Ã", "©"), ("Ð", "±"), ("Ð±", "a"), ("1", "2"), ("Ġ", "Ġ"), (":", ")")];
    let loaded = loaded(byte_level(&merges));
    let subject = loaded.subject();
    let mut tally = AnalysisTally::new(&subject, 1);
    feed(&mut tally, &loaded, 0, "б б 12");
    let report = tally.finish("census", &names(&["all"]), Err(String::new())).expect("ends");
    let row = |rows: &[CensusRow], name: &str| {
        let row = rows.iter().find(|row| row.name == name);
        row.map(|row| (row.ids, row.tokens))
    };
    let kinds = &report.census.kinds;
    // 52 letters, ` a`, é, б, бa; one run of digits beside the ten.
    assert_eq!(row(kinds, "letters"), Some((56, 2)));
    assert_eq!(row(kinds, "digits"), Some((11, 1)));
    assert_eq!(row(kinds, "special"), Some((1, 0)));
    assert_eq!(row(kinds, "part of a character"), Some((128, 0)));
    assert_eq!(row(&report.census.scripts, "Latin"), Some((54, 0)));
    assert_eq!(row(&report.census.scripts, "Cyrillic"), Some((1, 2)));
    assert_eq!(row(&report.census.scripts, "several scripts"), Some((1, 0)));
    assert_eq!(report.census.longest_by_bytes[0].text, "бa");
    assert_eq!(kinds.iter().map(|row| row.ids).sum::<u64>(), report.ids);
    // The space, ` a` and two spaces.
    assert_eq!(report.census.begin_with_space, 3);
}

#[test]
fn digits_and_indentation_are_cut_as_the_merges_say() {
    let merges = [("1", "2"), ("Ġ", "Ġ"), ("ĠĠ", "ĠĠ")];
    let loaded = loaded(byte_level(&merges));
    let subject = loaded.subject();
    let report =
        AnalysisTally::new(&subject, 1).finish("cut", &names(&["all"]), Err(String::new()));
    let report = report.expect("ends");
    let three = &report.digits[2];
    let example: Vec<&str> = three.example.iter().map(|piece| piece.text.as_str()).collect();
    assert_eq!((three.digits, example), (3, vec!["12", "3"]));
    assert_eq!(report.digits.len(), 12);
    assert_eq!(report.digits[0].mean_tokens, 1.0);
    assert_eq!(report.digits[11].cuts.iter().map(|(_, runs)| runs).sum::<u64>(), 100);
    let indented = |what: &str| {
        let case = report.cases.iter().find(|case| case.what == what).expect("is there");
        case.tokens
    };
    // The last space is a pre-token with the word: 8 are 4 + 2 + 1 + 1.
    assert_eq!((indented("8 spaces"), indented("1 space"), indented("5 spaces")), (4, 1, 2));
    let whole: String =
        report.cases.last().unwrap().pieces.iter().map(|piece| piece.text.as_str()).collect();
    assert_eq!(whole, "👍🏽 👩‍👩‍👧 🇩🇪 ☺️");
}

#[test]
fn the_curve_gives_tokens_knee_and_prices() {
    // 2 ids before; merges take 50+30, none of it, 10+5 and 1+1 tokens from 100 and 60.
    let counts = MergeCounts {
        groups: names(&["a", "b"]),
        bytes: vec![200, 120],
        symbols: vec![100, 60],
        base_ids: 2,
        makes_id: vec![true, false, true, true],
        joined: vec![50, 30, 4, 1, 6, 4, 1, 1],
        sampled_one_in: 1,
        skipped: 0,
    };
    let curve = VocabularyCurve::new(&counts, 8, 63);
    let points: Vec<(u64, u64, &[u64])> = curve
        .points
        .iter()
        .map(|point| (point.vocab_size, point.tokens, point.by_group.as_slice()))
        .collect();
    let expected: [(u64, u64, &[u64]); 4] =
        [(2, 160, &[100, 60]), (3, 75, &[46, 29]), (4, 65, &[40, 25]), (5, 63, &[39, 24])];
    assert_eq!(points, expected);
    assert!(curve.confirmed);
    assert!(!VocabularyCurve::new(&counts, 8, 64).confirmed);
    assert_eq!(curve.knee.unwrap().vocab_size, 3);
    let price = curve.prices.last().unwrap();
    assert_eq!((price.vocab_size, price.tokens), (5, 63));
    assert_eq!((price.parameters_tied, price.parameters_untied), (40, 80));
    assert!((price.bytes_per_token - 320.0 / 63.0).abs() < 1e-12);
}

#[test]
fn the_knee_of_a_known_curve() {
    // Over the logarithm of the size the tokens fall by 90 in the first decade and 10 in the second.
    let totals = [(10, 200), (100, 110), (1000, 100)];
    let knee = |totals: &[(u64, u64)]| knee_over(totals, |size| (size as f64).ln());
    let found = knee(&totals).expect("bends");
    assert_eq!((found.vocab_size, found.tokens), (100, 110));
    assert!((found.distance - (1.0 - 0.5 - 0.1)).abs() < 1e-12);
    // Over the size itself, 100 is a tenth of the way.
    let over_price = knee_over(&totals, |size| size as f64).expect("bends");
    assert!((over_price.distance - (1.0 - 90.0 / 990.0 - 0.1)).abs() < 1e-12);
    // A straight fall has none, nor has one point.
    assert!(knee(&[(10, 300), (100, 200), (1000, 100)]).is_none_or(|k| k.distance < 1e-9));
    assert_eq!(knee(&[(10, 300)]), None);
}

/// The pre-tokens of `texts`, each a group of its own.
fn pretokens(loaded: &Loaded, texts: &[String]) -> PretokenTable {
    let limit = PretokenCounter::DEFAULT_LIMIT;
    let mut counter = PretokenCounter::new(&loaded.json, texts.len(), limit).expect("splits");
    let numbered = texts.iter().enumerate();
    numbered.for_each(|(group, text)| counter.add_text(group, text).expect("counts"));
    counter.finish()
}

/// What must hold for the curve to be called exact: with the first merges alone, encoding gives as
/// many tokens as it says, in every group, at every size.
fn assert_exact(options: &TrainOptions) {
    let texts = [
        "the theory of the thing: there then these those that this they them their other mother; the
theory of other things: another mother, their brothers, and the weather there: thus they gather",
        "fn main() {\n    let x = vec![1, 2, 3];\n    for y in &x {\n        dbg!(y);\n    }\n}\n",
        "Übergröße, die Größe der Straße — größere Straßen. 你好，世界。你好，朋友。",
    ];
    let pipeline = pretokenizer_file(options).expect("pipeline");
    let limit = PretokenCounter::DEFAULT_LIMIT;
    let mut counter = PretokenCounter::new(&pipeline, 1, limit).expect("splits");
    texts.iter().for_each(|text| counter.add_text(0, text).expect("counts"));
    let trained =
        train(&counter.finish(), &names(&["all"]), options, &Context::new()).expect("trains");
    let json = trained.json;
    let full = loaded(json.clone());
    let table = pretokens(&full, &texts.map(str::to_owned));
    let groups = names(&["en", "code", "de"]);
    let curve =
        full.subject().curve(&groups, &table, 16, &Context::new()).expect("runs").expect("is BPE");
    assert!(curve.confirmed);
    let mut order = curve.groups.clone();
    order.sort();
    assert_eq!(order, ["code", "de", "en"]);
    let file: Value = serde_json::from_slice(&json).expect("parses");
    let merges = file["model"]["merges"].as_array().expect("has merges");
    let whole = u64::from(full.tokenizer.vocab_size());
    assert!(curve.points.len() >= 40 && merges.len() >= 40, "{}", merges.len());
    for point in &curve.points {
        let mut cut = file.clone();
        let made = usize::try_from(whole - point.vocab_size).unwrap();
        let left = merges.len() - made;
        cut["model"]["merges"] = merges[..left].into();
        let vocab = cut["model"]["vocab"].as_object_mut().expect("is there");
        vocab.retain(|_, id| id.as_u64().is_some_and(|id| id < point.vocab_size));
        let cut = tokenizers::Tokenizer::from_bytes(serde_json::to_vec(&cut).expect("writes"));
        let cut = cut.expect("loads");
        assert_eq!(cut.get_vocab_size(true) as u64, point.vocab_size);
        for (name, tokens) in curve.groups.iter().zip(&point.by_group) {
            let text = texts[groups.iter().position(|group| group == name).expect("known")];
            let encoded = cut.encode_fast(text, false).expect("encodes");
            assert_eq!(encoded.len() as u64, *tokens, "{name} at {}", point.vocab_size);
        }
        assert_eq!(point.by_group.iter().sum::<u64>(), point.tokens);
    }
    assert_eq!(
        curve.bytes.iter().sum::<u64>(),
        texts.iter().map(|text| text.len() as u64).sum::<u64>()
    );
}

#[test]
fn the_curve_is_what_truncated_vocabularies_really_give() {
    let specials = vec!["<|end|>".to_owned()];
    assert_exact(&TrainOptions { vocab_size: 340, specials, ..TrainOptions::default() });
}

#[test]
fn the_curve_is_exact_where_bytes_are_a_fallback() {
    let specials = vec!["<unk>".to_owned()];
    let options =
        TrainOptions { vocab_size: 430, specials, byte_fallback: true, ..TrainOptions::default() };
    assert_exact(&options);
}

#[test]
fn many_groups_are_one_beyond_the_largest() {
    let subject = SMALL.subject();
    let texts: Vec<String> = (1..=20).map(|size| " the".repeat(size)).collect();
    let table = pretokens(&SMALL, &texts);
    let groups: Vec<String> = (1..=20).map(|size| format!("g{size}")).collect();
    let curve = subject.curve(&groups, &table, 16, &Context::new()).expect("runs").expect("is BPE");
    assert_eq!(curve.groups.len(), 13);
    assert_eq!((curve.groups[0].as_str(), curve.groups[12].as_str()), ("g20", "other groups"));
    let last = curve.points.last().unwrap();
    assert_eq!((last.by_group[0], last.by_group[12], last.tokens), (20, 36, 210));
    assert_eq!(curve.bytes[12], 4 * 36);
    let none =
        subject.curve(&groups, &PretokenTable::default(), 16, &Context::new()).expect("runs");
    assert!(none.is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(64)))]

    #[test]
    fn tallies_merge_in_any_order(
        texts in proptest::collection::vec((0_usize..3, "[the é1.\n一]{0,20}"), 0..12),
        cut in 0_usize..12,
    ) {
        let subject = SMALL.subject();
        let tally = |part: &[(usize, String)]| {
            let mut tally = AnalysisTally::new(&subject, 3);
            part.iter().for_each(|(group, text)| feed(&mut tally, &SMALL, *group, text));
            tally
        };
        let (first, second) = texts.split_at(cut.min(texts.len()));
        let whole = tally(&texts);
        let apart = [tally(first).merge(&tally(second)), tally(second).merge(&tally(first))];
        for merged in apart {
            prop_assert_eq!(&merged.groups, &whole.groups);
            prop_assert_eq!(&merged.uses, &whole.uses);
        }
        let total = whole.total();
        prop_assert_eq!(whole.uses.iter().sum::<u64>(), total.tokens);
        prop_assert!(total.word_tokens <= total.tokens);
        prop_assert_eq!(total.single_token_words + total.continued_words, total.words);
    }

    #[test]
    fn tokens_are_placed_as_the_reference_places_them(text in "[the é1.\n一👍 ]{0,30}") {
        let subject = SMALL.subject();
        let mut places = Vec::new();
        let ids = SMALL.encode(&text);
        prop_assert!(subject.place(&text, &ids, &mut places).is_some());
        let (again, offsets) = SMALL.tokenizer.encode_with_offsets(&text, false).expect("encodes");
        prop_assert_eq!(again, ids);
        let wide: Vec<(usize, usize)> =
            offsets.into_iter().map(|(start, end)| (start as usize, end as usize)).collect();
        prop_assert_eq!(places, wide);
    }
}

#[test]
fn baselines_are_counted_as_by_hand() {
    let subject = SMALL.subject();
    let (mut tally, mut baselines) = (AnalysisTally::new(&subject, 1), BaselineTally::new(100));
    let texts = ["the the cat", "é, a"];
    for text in texts {
        feed(&mut tally, &SMALL, 0, text);
        baselines.add_text(&TextWords::new(text).unwrap());
    }
    let all = tally.finish("small", &names(&["all"]), Err("none".to_owned())).unwrap();
    let report = AnalysisReport::new("all", "small", (2, 16), vec![all]).beside(baselines);
    let [words, characters, bytes] = &report.baselines[..] else { panic!("three") };
    let tokens = report.tokenizers[0].total.counts.tokens as f64;
    for (baseline, name, ids, count) in
        [(words, "words", 4, 5), (characters, "characters", 8, 15), (bytes, "bytes", 9, 16)]
    {
        let total = &baseline.total;
        assert_eq!(
            (total.name.as_str(), baseline.ids, total.counts.tokens),
            (name, Some(ids), count)
        );
        assert_eq!((total.counts.documents, total.counts.bytes, total.counts.words), (2, 16, 5));
        assert!((total.tokens_per_document - count as f64 / 2.0).abs() < 1e-12);
        assert!((total.characters_per_token - 15.0 / count as f64).abs() < 1e-12);
        // The figure of the article: bytes of the text over two a token.
        assert!((total.compression_ratio - 16.0 / (count as f64 * 2.0)).abs() < 1e-12);
        assert!((total.relative_length.unwrap() - count as f64 / tokens).abs() < 1e-12);
    }
    // the, the, cat, é, a: 11 characters and 12 bytes of five words.
    assert_eq!(words.total.fertility, Some(1.0));
    assert_eq!(characters.total.counts.word_tokens, 11);
    assert_eq!(
        (characters.total.counts.single_token_words, bytes.total.counts.word_tokens),
        (2, 12)
    );
    assert_eq!(bytes.total.counts.single_token_words, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(40)))]

    /// Whatever the order, and as an analysis counts the same texts.
    #[test]
    fn costs_of_words_merge_in_any_order_and_add_up(
        texts in prop::collection::vec((0_usize..2, "(the|cat|thé| |\\.|x){0,12}"), 0..12),
        cut in 0_usize..12, top in 0_usize..4,
    ) {
        let subject = SMALL.subject();
        let counted = |texts: &[(usize, String)]| {
            let mut costs = WordCostTally::new(&subject, 2, 1000);
            for (group, text) in texts {
                costs.add_text(*group, &TextWords::new(text).unwrap(), &SMALL.encode(text)).unwrap();
            }
            costs
        };
        let groups = names(&["en", "fr"]);
        let whole = counted(&texts).finish(&groups, usize::MAX).unwrap();
        let (one, two) = texts.split_at(cut.min(texts.len()));
        let merged = counted(two).merge(counted(one)).finish(&groups, usize::MAX).unwrap();
        prop_assert_eq!(&merged, &whole);
        let mut tally = AnalysisTally::new(&subject, 2);
        texts.iter().for_each(|(group, text)| feed(&mut tally, &SMALL, *group, text));
        let words: u64 = whole.groups.iter().map(|group| group.words).sum();
        prop_assert_eq!(words, tally.total().words);
        for group in &whole.groups {
            let saved: Vec<u64> = group.terms.iter().map(|term| term.saved).collect();
            prop_assert!(saved.is_sorted_by(|a, b| a >= b), "{:?}", saved);
            for term in &group.terms {
                // Of this tokenizer a word has the same tokens wherever it stands, those of the space aside.
                prop_assert_eq!(term.tokens, term.count * SMALL.encode(&term.word).len() as u64);
                prop_assert_eq!(term.saved, term.tokens - term.count);
            }
        }
        let first = counted(&texts).finish(&groups, top).unwrap();
        for (few, all) in first.groups.iter().zip(&whole.groups) {
            prop_assert_eq!(&few.terms[..], &all.terms[..top.min(all.terms.len())]);
        }
    }
}

#[test]
fn the_words_that_cost_most_come_first() {
    let subject = SMALL.subject();
    let mut costs = WordCostTally::new(&subject, 2, 1000);
    for (group, text) in [(0, "the cat, the cats. cats"), (1, "cat don't")] {
        costs.add_text(group, &TextWords::new(text).unwrap(), &SMALL.encode(text)).unwrap();
    }
    let costs = costs.finish(&names(&["en", "fr"]), 10).unwrap();
    let terms: Vec<(&str, u64, u64, bool)> = costs.groups[0]
        .terms
        .iter()
        .map(|term| (term.word.as_str(), term.count, term.saved, term.is_split))
        .collect();
    // `the` is one token; `cats` has four and occurs twice.
    assert_eq!(terms, [("cats", 2, 6, false), ("cat", 1, 2, false)]);
    let split: Vec<(&str, bool)> =
        costs.groups[1].terms.iter().map(|term| (term.word.as_str(), term.is_split)).collect();
    assert_eq!(split, [("don't", true), ("cat", false)]);
    // `cats` 6, `cat` 2 + 2, `don't` 4: equals in byte order.
    assert_eq!(costs.terms(), ["cats", "cat", "don't"]);
}
