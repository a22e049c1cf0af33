//! Tests of WordPiece by likelihood against a trainer that counts all words again for every piece.

use super::*;
use model::{Context, Interrupt};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;

fn options(vocab_size: u32) -> TrainOptions {
    TrainOptions {
        model: ModelKind::WordPiece,
        score: MergeScore::Likelihood,
        vocab_size,
        specials: vec!["[UNK]".to_owned(), "[CLS]".to_owned()],
        character_coverage: Some(1.0),
        ..TrainOptions::default()
    }
}

fn table(words: &BTreeMap<String, u64>) -> PretokenTable {
    let group = words.iter().map(|(word, count)| (word.as_str().into(), *count)).collect();
    PretokenTable { groups: vec![group], masses: vec![TextTotals::default()], sampled_one_in: 1 }
}

fn trained(words: &BTreeMap<String, u64>, options: &TrainOptions) -> TrainingOutput {
    train(&table(words), &["all".to_owned()], options, &Context::new()).unwrap()
}

fn vocabulary(trained: &TrainingOutput) -> Vec<String> {
    let file: Value = serde_json::from_slice(&trained.json).unwrap();
    let mut ids: Vec<(u64, String)> = file["model"]["vocab"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(piece, id)| (id.as_u64().unwrap(), piece.clone()))
        .collect();
    ids.sort();
    ids.into_iter().map(|(_, piece)| piece).collect()
}

fn without_mark(piece: &str) -> &str {
    piece.strip_prefix("##").unwrap_or(piece)
}

/// The trainer as the rule has it: counts everything, joins the best pair in every word, and counts again.
fn trained_slowly(words: &BTreeMap<String, u64>, options: &TrainOptions) -> Vec<String> {
    let mut words: Vec<(Vec<String>, u64)> = words
        .iter()
        .map(|(word, count)| {
            let spelled = |(at, letter): (usize, char)| {
                if at == 0 { letter.to_string() } else { format!("##{letter}") }
            };
            (word.chars().enumerate().map(spelled).collect(), *count)
        })
        .collect();
    let mut letters: Vec<String> = words
        .iter()
        .flat_map(|(word, _)| word.iter().map(|piece| without_mark(piece).to_owned()))
        .collect();
    letters.sort();
    letters.dedup();
    let mut inside: Vec<String> =
        words.iter().flat_map(|(word, _)| word[1..].iter().cloned()).collect();
    inside.sort();
    inside.dedup();
    let mut vocabulary = [options.specials.clone(), letters, inside].concat();
    while vocabulary.len() < options.vocab_size as usize {
        let id = |piece: &String| vocabulary.iter().position(|known| known == piece).unwrap();
        let mut pieces: BTreeMap<&String, u128> = BTreeMap::new();
        let mut pairs: BTreeMap<(usize, usize), (u128, String)> = BTreeMap::new();
        for (word, count) in &words {
            for piece in word {
                *pieces.entry(piece).or_default() += u128::from(*count);
            }
            for pair in word.windows(2) {
                let made = format!("{}{}", pair[0], without_mark(&pair[1]));
                pairs.entry((id(&pair[0]), id(&pair[1]))).or_insert((0, made)).0 +=
                    u128::from(*count);
            }
        }
        let longest = options.max_token_length.map_or(usize::MAX, |most| most as usize);
        pairs.retain(|_, (count, made)| {
            let length = without_mark(made).chars().count();
            *count >= u128::from(options.min_frequency) && (length == 2 || length < longest)
        });
        let product =
            |pair: &(usize, usize)| pieces[&vocabulary[pair.0]] * pieces[&vocabulary[pair.1]];
        let best = pairs.iter().max_by(|(one, (count, _)), (other, (than, _))| {
            let order = (count * product(other)).cmp(&(than * product(one)));
            order.then(count.cmp(than)).then(other.cmp(one))
        });
        let Some(((left, right), (_, made))) = best else { break };
        let (left, right) = (vocabulary[*left].clone(), vocabulary[*right].clone());
        for (word, _) in &mut words {
            let mut at = 0;
            while at + 1 < word.len() {
                if word[at] == left && word[at + 1] == right {
                    word.splice(at..at + 2, [made.clone()]);
                }
                at += 1;
            }
        }
        if !vocabulary.contains(made) {
            vocabulary.push(made.clone());
        }
    }
    vocabulary
}

fn words() -> impl Strategy<Value = BTreeMap<String, u64>> {
    let dense = prop::collection::btree_map("[ab]{1,12}", 1_u64..6, 1..50);
    let wide = prop::collection::btree_map("[a-e]{1,9}", 1_u64..60, 1..40);
    let rare = prop::collection::btree_map("(the|an|q|zy|é|x){1,4}", 1_u64..4, 1..40);
    prop_oneof![dense, wide, rare]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(24)))]

    #[test]
    fn likelihood_gives_the_pieces_that_counting_again_gives(
        words in words(), more in 0_u32..60, min_frequency in 1_u64..12,
        max_token_length in prop::option::of(1_u32..7), threads in 1_usize..4,
    ) {
        let least = trained_slowly(&words, &TrainOptions { vocab_size: 0, ..options(0) }).len();
        let vocab_size = least as u32 + more;
        let options =
            TrainOptions { min_frequency, max_token_length, ..options(vocab_size) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let ours = pool.install(|| trained(&words, &options));
        prop_assert_eq!(vocabulary(&ours), trained_slowly(&words, &options));
        prop_assert_eq!(ours.report.vocab_size as usize, vocabulary(&ours).len());
        let is_short = ours.report.vocab_size < vocab_size;
        prop_assert_eq!(ours.report.shortfall.is_some(), is_short, "{:?}", ours.report.shortfall);
        prop_assert_eq!(ours.report.scale, 1.0);
    }
}

/// The words of the Hugging Face course, where `##g` and `##s` are joined first (1/20). Then every pair with `##u` has
/// 1/36: the most frequent goes first, `p` and `##u`.
#[test]
fn likelihood_gives_the_pieces_of_the_worked_example() {
    let words = [("hug", 10), ("pug", 5), ("pun", 12), ("bun", 4), ("hugs", 5)];
    let words = words.map(|(word, count)| (word.to_owned(), count)).into();
    let learned = vocabulary(&trained(&words, &options(17))).split_off(13);
    assert_eq!(learned, ["##gs", "pu", "hu", "bu"]);
}

/// What differs: frequency joins what is common, likelihood what is rarely apart.
#[test]
fn likelihood_joins_what_is_rarely_apart() {
    let words = [("ab", 50), ("ac", 50), ("db", 50), ("xy", 9)];
    let words: BTreeMap<String, u64> = words.map(|(word, count)| (word.to_owned(), count)).into();
    let first = |score| {
        let options = TrainOptions { score, ..options(12) };
        vocabulary(&trained(&words, &options)).split_off(11)
    };
    assert_eq!(first(MergeScore::Likelihood), ["xy"]);
    assert_eq!(first(MergeScore::Frequency), ["ab"]);
}

#[test]
fn counts_of_any_size_are_trained_on() {
    let words = |factor: u64| -> BTreeMap<String, u64> {
        let words = [("hug", 10), ("pug", 5), ("pun", 12), ("bun", 4), ("hugs", 5)];
        words.map(|(word, count)| (word.to_owned(), count * factor)).into()
    };
    let (small, large) = (trained(&words(1), &options(17)), trained(&words(1 << 59), &options(17)));
    assert_eq!(vocabulary(&large), vocabulary(&small));
    assert!(large.report.scale < 1.0 && small.report.scale == 1.0);
    // Beyond 32 bits, where the stock trainer's counts have to be scaled.
    assert_eq!(trained(&words(1 << 40), &options(17)).report.scale, 1.0);
}

#[test]
fn likelihood_is_of_wordpiece_alone_and_can_be_stopped() {
    let other = TrainOptions { model: ModelKind::Unigram, ..options(300) };
    let error = other.check().unwrap_err().to_string();
    assert!(error.contains("`model=wordpiece`") && error.contains("`score=frequency`"), "{error}");
    let written = serde_json::to_value(TrainOptions::default()).unwrap();
    assert!(written.get("score").is_none(), "records of other trainings stay as they are");
    let written = serde_json::to_value(options(9)).unwrap();
    assert_eq!(written["score"], "likelihood");

    let interrupt = Interrupt::default();
    interrupt.raise();
    let words = BTreeMap::from([("hugs".to_owned(), 9)]);
    let context = Context::new().with_interrupt(&interrupt);
    let stopped = train(&table(&words), &["all".to_owned()], &options(30), &context).unwrap_err();
    assert_eq!(model::Error::from(stopped).kind(), model::ErrorKind::Interrupted);
}
