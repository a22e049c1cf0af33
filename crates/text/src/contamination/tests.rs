//! Tests of the search for suites, and of evidence, against their definitions.

use super::*;
use crate::dedup::{TokenHashes, words};
use model::{GramPlace, GramRun, Normaliser, Sightings, SourceId, SuiteGram, SuiteId, SuiteItem};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

const QUESTION: &str = "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May. How many clips did Natalia sell altogether in April and May?";
const ANSWER: &str = "Natalia sold 48/2 = 24 clips in May. Natalia sold 48+24 = 72 clips altogether in April and May. #### 72";

fn item(question: &str, answer: &str) -> SuiteItem {
    of_texts([&[question], &[answer], &[]])
}

fn of_texts(parts: [&[&str]; 3]) -> SuiteItem {
    let parts = parts.map(|texts| texts.iter().map(|text| (*text).to_owned()).collect());
    SuiteItem { id: "x".to_owned(), parts }
}

fn rows(built: &SuiteNgrams) -> impl Iterator<Item = Result<(u64, SuiteGram), Infallible>> {
    built.grams.clone().into_iter().map(Ok)
}

fn scan(items: &[SuiteItem], text: &str) -> Sightings {
    scan_by(Normaliser::Web, items, text)
}

fn scan_by(normaliser: Normaliser, items: &[SuiteItem], text: &str) -> Sightings {
    let built = suite_ngrams(items, normaliser);
    let Ok(seeds) = SeedIndex::of([(SuiteId(3), normaliser, rows(&built))].into_iter());
    let found = seeds.scan(text, None, &mut SeedScratch::default());
    found.into_iter().next().map(|(_, found)| found).unwrap_or_default()
}

fn index(items: &[SuiteItem]) -> SuiteIndex {
    let built = suite_ngrams(items, Normaliser::Web);
    let rows = built.grams.into_iter().map(Ok);
    let corrupt = |_, why: String| why;
    SuiteIndex::of(rows, (items.len() as u32, built.seeds), corrupt).unwrap()
}

fn evidence(items: &[SuiteItem], text: &str) -> Vec<Evidence> {
    index(items).evidence(&scan(items, text))
}

#[test]
fn an_item_is_found_where_it_stands_however_it_is_written() {
    let items = [item(QUESTION, ANSWER), item("What is the capital of France again?", "Paris")];
    let page = format!("Some page.\n\n{}\n\nAnd more of it.", QUESTION.to_uppercase());
    let found = evidence(&items, &page);
    assert_eq!(found.len(), 1);
    let one = &found[0];
    assert_eq!((one.item, one.text.part, one.score), (0, SuitePart::Question, 1.0));
    assert_eq!(one.longest_run as usize, words(QUESTION, Normaliser::Web).len());
    assert_eq!(one.matched, one.grams);
    let [(start, end)] = one.spans[..] else { panic!("{:?}", one.spans) };
    let quoted = &page[start as usize..end as usize];
    assert_eq!(words(quoted, Normaliser::Web), words(QUESTION, Normaliser::Web));
    assert!(ContaminationRule::default().is_met(one));
}

#[test]
fn suites_of_both_versions_are_searched_for_by_their_own() {
    let items = [item(QUESTION, ANSWER)];
    let hidden: String = QUESTION.chars().flat_map(|c| [c, '\u{200b}']).collect();
    let wide: String = QUESTION
        .chars()
        .map(|c| if c == ' ' { c } else { char::from_u32(c as u32 + 0xfee0).unwrap() })
        .collect();
    let built = [Normaliser::Web2, Normaliser::Web].map(|by| (by, suite_ngrams(&items, by)));
    let suites = built.iter().zip(1..).map(|((by, built), id)| (SuiteId(id), *by, rows(built)));
    let Ok(seeds) = SeedIndex::of(suites);
    let mut scratch = SeedScratch::default();
    let mut of = |text: &str, made: Option<TextTokens<'_>>| seeds.scan(text, made, &mut scratch);
    // What follows the last word is of its piece where the piece cannot be parted.
    for (text, end) in [(&hidden, hidden.len()), (&wide, wide.len() - '？'.len_utf8())] {
        let found = of(text, None);
        assert_eq!(found.len(), 1, "version 1 sees the signs: {found:?}");
        assert_eq!(found[0].0, SuiteId(1));
        assert_eq!(found[0].1.runs[0].span, (0, end as u64));
        assert_eq!(found[0].1, scan_by(Normaliser::Web2, &items, text));
    }
    // In plain text both find the same; tokens that are given serve the version that they are of.
    let plain = of(QUESTION, None);
    assert_eq!(plain.iter().map(|one| one.0).collect::<Vec<_>>(), [SuiteId(1), SuiteId(2)]);
    assert_eq!(plain[0].1, plain[1].1);
    for normaliser in [Normaliser::Web, Normaliser::Web2] {
        let mut tokens = TokenHashes::new(normaliser);
        let hashes = tokens.of(QUESTION);
        assert_eq!(of(QUESTION, Some(TextTokens { normaliser, hashes })), plain);
        let found = of(QUESTION, Some(TextTokens { normaliser, hashes: &[] }));
        assert_eq!(found.len(), 1, "they are taken as they are");
    }
}

#[test]
fn rows_that_contradict_their_suite_are_named() {
    let items = [item(QUESTION, ANSWER)];
    let built = suite_ngrams(&items, Normaliser::Web2);
    let index = |grams: &BTreeMap<u64, SuiteGram>| {
        let rows = grams.clone().into_iter().map(Ok);
        SuiteIndex::of(rows, (1, built.seeds), |hash, why| (hash, why)).err()
    };
    assert_eq!(index(&built.grams), None);
    let is_seed = |gram: &SuiteGram| matches!(gram, SuiteGram::Seed(..));
    let (hash, _) = built.grams.iter().find(|(_, gram)| is_seed(gram)).unwrap();
    let damaged = |change: &dyn Fn(&mut u32, &mut Vec<GramPlace>)| {
        let mut grams = built.grams.clone();
        let Some(SuiteGram::Seed(number, places)) = grams.get_mut(hash) else { panic!() };
        change(number, places);
        index(&grams).unwrap()
    };
    let (row, why) = damaged(&|number, _| *number = u32::MAX);
    assert_eq!((row, why), (*hash, format!("number {} of {} n-grams", u32::MAX, built.seeds)));
    let (row, why) = damaged(&|_, places| places[0].position = u32::MAX - 1);
    assert_eq!(row, *hash);
    assert!(why.starts_with("position 4294967294 in a part that has "), "{why}");
    // A piece behind the end, and n-grams at the end that are lost: their pieces show it.
    let is_piece = |gram: &SuiteGram| matches!(gram, SuiteGram::Piece(..));
    let (piece, _) = built.grams.iter().find(|(_, gram)| is_piece(gram)).unwrap();
    let mut grams = built.grams.clone();
    let Some(SuiteGram::Piece(places)) = grams.get_mut(piece) else { panic!() };
    places[0].position = 1_000;
    let (row, why) = index(&grams).unwrap();
    assert_eq!(row, *piece);
    assert!(why.starts_with("position 1000 in a part that has "), "{why}");
    let mut grams = built.grams.clone();
    grams.retain(
        |_, gram| !matches!(gram, SuiteGram::Seed(number, _) if *number + 1 == built.seeds),
    );
    let (row, why) = index(&grams).unwrap();
    assert!(is_piece(&grams[&row]), "{why}");
    // What texts have of it may be damaged too: it costs no more than the suite has n-grams.
    let run = GramRun { token: 0, gram: 0, count: u32::MAX, span: (0, 1) };
    let found = Sightings { runs: vec![run], ..Sightings::default() };
    let mut common = CommonGrams::new(1, 1, built.seeds);
    common.count(SourceId(0), &found, false);
    assert!((0..built.seeds).all(|gram| common.has_gram(gram)));
    let evidence = self::index(&items).evidence(&found);
    assert!(evidence.iter().all(|one| one.matched <= built.seeds));
}

#[test]
fn edited_passages_leave_a_gap() {
    let items = [item(QUESTION, ANSWER)];
    let edited = QUESTION.replace("half", "twice");
    let found = evidence(&items, &edited);
    let question = found.iter().find(|one| one.text.part == SuitePart::Question).unwrap();
    let tokens = words(QUESTION, Normaliser::Web).len() as f64;
    assert!((question.score - (tokens - 1.0) / tokens).abs() < 1e-9, "{}", question.score);
    assert!(ContaminationRule::default().is_met(question));
    assert_eq!(question.longest_run, 16);
    // Half of it is half of it.
    let half: String = words(QUESTION, Normaliser::Web)[..15].join(" ");
    let found = evidence(&items, &half);
    assert!(found[0].score < 0.55 && found[0].longest_run == 15, "{:?}", found[0]);
    assert_eq!(found[0].tokens, 15);
    // Eight and eight of it, with other words between.
    let all = words(QUESTION, Normaliser::Web);
    let parted = format!("{} other words {}", all[..8].join(" "), all[20..28].join(" "));
    let found = evidence(&items, &parted);
    assert_eq!((found[0].tokens, found[0].longest_run, found[0].matched), (16, 8, 2));
    assert!(ContaminationRule::default().is_met(&found[0]));
    let one = evidence(&items, &all[..8].join(" "));
    assert!(!ContaminationRule::default().is_met(&one[0]));
}

#[test]
fn single_replacements_leave_pieces_at_one_distance() {
    let items = [item(QUESTION, ANSWER)];
    let all = words(QUESTION, Normaliser::Web);
    let every = |from: usize, by: &str| {
        let word = |(at, word): (usize, &String)| {
            if at % 7 == from { by.to_owned() } else { word.clone() }
        };
        all.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
    };
    // Six tokens at most stand together, and no n-gram does.
    let found = scan(&items, &every(6, "stray"));
    assert!(found.runs.is_empty());
    let told: Vec<_> = found.pieces.iter().map(|one| (one.token, one.place.position)).collect();
    assert_eq!(told, [(0, 0), (7, 7), (14, 14), (21, 21)]);
    let found = evidence(&items, &every(6, "stray"));
    assert_eq!(found.len(), 1);
    let one = &found[0];
    assert_eq!((one.tokens, one.longest_run, one.matched, one.spans.len()), (24, 6, 0, 4));
    assert_eq!(one.covered, [(0, 6), (7, 13), (14, 20), (21, 27)]);
    assert!((one.score - 24.0 / all.len() as f64).abs() < 1e-9, "{}", one.score);
    assert!(ContaminationRule::default().is_met(one));
    // Two words for one: every piece has a distance of its own.
    assert!(scan(&items, &every(6, "two words")).is_empty());
    // One piece is not enough, whatever is around it; two of five are.
    let some = |ranges: &[std::ops::Range<usize>]| {
        let is_left = |at: usize| ranges.iter().any(|range| range.contains(&at));
        let word =
            |(at, word): (usize, &String)| if is_left(at) { word.clone() } else { "x".to_owned() };
        all.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
    };
    assert!(scan(&items, &some(&[3..10, 15..18])).is_empty());
    assert_eq!(evidence(&items, &some(&[3..8, 20..25]))[0].tokens, 10);
    // Beside an n-gram a piece counts more.
    let found = evidence(&items, &some(&[0..9, 12..17]));
    assert_eq!((found[0].tokens, found[0].longest_run, found[0].matched), (14, 9, 2));
    // Nothing too short to count has pieces, and no passage.
    let piece = |(_, gram): &(u64, SuiteGram)| matches!(gram, SuiteGram::Piece(_));
    let has_pieces = |item: SuiteItem| {
        suite_ngrams(&[item], Normaliser::Web).grams.into_iter().any(|row| piece(&row))
    };
    assert!(!has_pieces(item(&all[..12].join(" "), "")));
    assert!(has_pieces(item(&all[..13].join(" "), "")));
    assert!(!has_pieces(of_texts([&["What is it?"], &["it"], &[QUESTION]])));
}

#[test]
fn pieces_and_short_questions_of_the_same_tokens_are_both_found() {
    let asked = "Natalia sold clips to 48";
    let items = [item(QUESTION, ANSWER), item(asked, "friends")];
    let found = scan(&items, &format!("{asked} of her friends at in April and then she sold"));
    assert_eq!(found.whole.len(), 1);
    assert!(found.pieces.is_empty() && found.runs.len() == 1, "{found:?}");
    let found = scan(&items, &format!("{asked} a b friends in April and then she sold"));
    assert_eq!((found.whole.len(), found.pieces.len(), found.runs.len()), (1, 2, 0), "{found:?}");
}

#[test]
fn pieces_that_many_documents_have_say_nothing() {
    let items = [item(QUESTION, ANSWER)];
    let text = QUESTION.replace("friends", "x").replace("half", "y").replace("did", "z");
    let mut index = index(&items);
    let found = scan(&items, &text);
    assert_eq!(found.pieces.len(), 3, "{found:?}");
    assert!(ContaminationRule::default().is_met(&index.evidence(&found)[0]));
    let mut common = CommonGrams::new(2, 2, index.grams());
    common.count(SourceId(0), &found, false);
    common.count(SourceId(1), &found, true);
    index.ignore_common(&common);
    assert_eq!(index.evidence(&found).len(), 1, "one text, however many have it");
    common.count(SourceId(1), &found, false);
    index.ignore_common(&common);
    assert!(index.evidence(&found).is_empty());
}

#[test]
fn a_short_question_counts_as_a_whole_with_its_answer_near_it() {
    let items = [item("What is the capital of France?", "Paris"), item("What is 2?", "two")];
    let found = evidence(&items, "Q: What is the capital of France? A: Paris. Next one.");
    assert_eq!(found.len(), 1);
    assert!(found[0].is_whole && ContaminationRule::default().is_met(&found[0]));
    assert_eq!(found[0].spans, [(3, 32), (37, 42)]);
    assert!(evidence(&items, "What is the capital of France? Nobody says.").is_empty());
    let far = format!("What is the capital of France? {} Paris", "word ".repeat(NEAR + 1));
    assert!(evidence(&items, &far).is_empty());
    assert!(!evidence(&items, "Paris: what is the capital of France?").is_empty());
    assert_eq!(suite_ngrams(&items, Normaliser::Web).unsearchable, 1);
    // An answer without words is found nowhere.
    let without = [item("What is the capital of France?", "!?")];
    assert_eq!(suite_ngrams(&without, Normaliser::Web2).unsearchable, 1);
    // Long enough for n-grams, and too short to count by these.
    let asked = "Which old bridge over the quiet river has nine arches?";
    let items = [item(asked, "Quilbury bridge")];
    let alone = evidence(&items, asked);
    assert_eq!((alone[0].tokens, alone[0].is_whole), (10, false));
    assert!(!ContaminationRule::default().is_met(&alone[0]));
    let answered = evidence(&items, &format!("{asked} Quilbury bridge, of course."));
    assert!(answered[0].is_whole && ContaminationRule::default().is_met(&answered[0]));
}

#[test]
fn each_turn_and_each_accepted_answer_is_searched_for() {
    // Only the first text of a list was searched for: a page with the second turn alone was not found.
    let second = "Rewrite the letter to the harbour master so that each of its lines begins with the name of a boat.";
    let long = "The mole was built by the guild of coopers, since the town had promised them the fish market for it.";
    let items = [
        of_texts([&[QUESTION, second], &["72", long], &[]]),
        of_texts([
            &["Who built the old mole?", "And who paid for the mole?"],
            &["coopers", "the town"],
            &[],
        ]),
    ];
    let rule = ContaminationRule::default();
    let told = |text: &str| {
        let found = evidence(&items, text);
        let told = found.iter().filter(|one| rule.is_met(one));
        told.map(|one| (one.item, one.text.to_string(), one.is_whole)).collect::<Vec<_>>()
    };
    let name = |text: &str| text.to_owned();
    assert_eq!(told(QUESTION), [(0, name("question"), false)]);
    assert_eq!(told(second), [(0, name("question 2"), false)]);
    assert_eq!(told(long), [(0, name("answer 2"), false)]);
    let found = evidence(&items, second);
    assert_eq!(
        (found[0].score, found[0].tokens as usize),
        (1.0, words(second, Normaliser::Web).len())
    );
    // Every answer is one of a short question.
    for answer in ["coopers", "the town"] {
        assert_eq!(
            told(&format!("Who built the old mole? {answer}")),
            [(1, name("question"), true)]
        );
        let asked = format!("And who paid for the mole? They say {answer}.");
        assert_eq!(told(&asked), [(1, name("question 2"), true)]);
    }
    let found = evidence(&items, "And who paid for the mole? They say the town.");
    assert_eq!(found[0].covered, [(0, 6)]);
    assert!(told("Who built the old mole? The miller.").is_empty());
    // Answers of the same words are one.
    let grams = |answers: &[&str]| {
        let built = suite_ngrams(
            &[of_texts([&["Who built the old mole?"], answers, &[]])],
            Normaliser::Web2,
        );
        built.grams
    };
    assert_eq!(grams(&["Coopers", "coopers!"]), grams(&["coopers"]));
    assert_ne!(grams(&["Coopers", "millers"]), grams(&["coopers"]));
}

#[test]
fn items_that_never_count_alone_are_counted() {
    let asked = "Which old bridge over the quiet river has nine arches?";
    let built = |item| {
        let built = suite_ngrams(&[item], Normaliser::Web2);
        (built.unsearchable, built.uncounted)
    };
    assert_eq!(built(of_texts([&[asked], &["Quilbury"], &[]])), (0, 0));
    assert_eq!(built(of_texts([&[asked], &[], &[]])), (0, 1));
    assert_eq!(built(of_texts([&["What is it?"], &["it"], &[QUESTION]])), (0, 1));
    assert_eq!(built(of_texts([&["What is it?"], &["it"], &[]])), (1, 0));
    assert_eq!(built(of_texts([&["What is it?"], &["it", ANSWER], &[]])), (0, 0));
}

#[test]
fn the_hash_of_an_item_knows_its_texts_apart() {
    let hash = |parts: [&[&str]; 3]| suite_ngrams(&[of_texts(parts)], Normaliser::Web2).hash;
    let all = [
        hash([&["a"], &["b"], &[]]),
        hash([&["a", "b"], &[], &[]]),
        hash([&["a"], &[], &["b"]]),
        hash([&["a"], &["b", "c"], &[]]),
        hash([&["a"], &["b"], &["c"]]),
        hash([&["ab"], &[], &[]]),
    ];
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    // The hash is that of suites with one text a part.
    let mut hasher = blake3::Hasher::new();
    for text in ["x", "a", "b", ""] {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    assert_eq!(all[0], *hasher.finalize().as_bytes());
}

#[test]
fn common_ngrams_are_ignored() {
    let form =
        "Which of the following statements about the matter in hand is the one that is true here";
    let items: Vec<SuiteItem> =
        (0..MOST_ITEMS + 1).map(|n| item(&format!("{form} w{n} x{n} y{n} z{n}"), "it")).collect();
    assert!(evidence(&items, form).is_empty());
    // In a single item the same words are evidence, until documents of several sources have them.
    let items = [item(&format!("{form} of all"), "it")];
    let mut index = index(&items);
    let found = scan(&items, form);
    assert!(ContaminationRule::default().is_met(&index.evidence(&found)[0]));
    let mut common = CommonGrams::new(4, 2, index.grams());
    common.count(SourceId(0), &found, false);
    (0..9).for_each(|_| common.count(SourceId(1), &found, true));
    index.ignore_common(&common);
    assert_eq!(index.evidence(&found).len(), 1, "copies of one text are one");
    let mut common = CommonGrams::new(4, 2, index.grams());
    (0..3).for_each(|_| common.count(SourceId(0), &found, false));
    index.ignore_common(&common);
    assert_eq!(index.evidence(&found).len(), 1);
    (0..3).for_each(|_| common.count(SourceId(0), &found, false));
    index.ignore_common(&common);
    assert_eq!(index.evidence(&found).len(), 1, "of one source they may all be copies");
    common.count(SourceId(1), &found, true);
    index.ignore_common(&common);
    assert!(index.evidence(&found).is_empty());
}

#[test]
fn of_very_many_runs_the_longest_are_kept() {
    let items = [item(QUESTION, ANSWER)];
    let words = words(QUESTION, Normaliser::Web);
    let mut text = format!("{} x ", words[3..11].join(" ")).repeat(2 * MOST_RUNS + 10);
    text.push_str(QUESTION);
    let found = scan(&items, &text);
    assert_eq!(found.runs.len(), MOST_RUNS);
    assert_eq!(found.unlisted, (MOST_RUNS + 11) as u64);
    assert_eq!(found.runs.last().unwrap().count as usize, words.len() - SEED + 1);
    // Pieces are found, too: each copy has two of five tokens, the last one of seven.
    let copy = format!("{} x {} y ", words[0..5].join(" "), words[6..11].join(" "));
    let last = format!("{} x {}", words[0..7].join(" "), words[8..13].join(" "));
    let found = scan(&items, &format!("{}{last}", copy.repeat(2 * MOST_RUNS)));
    assert_eq!((found.pieces.len(), found.unlisted), (MOST_RUNS, (3 * MOST_RUNS + 2) as u64));
    let longest = found.pieces.iter().filter(|piece| piece.tokens == 7);
    assert_eq!(longest.map(|piece| piece.place.position).collect::<Vec<_>>(), [0]);
    assert_eq!(found.pieces.last().unwrap().tokens, 7);
}

/// The definition, written out over token texts: (item, part) with its longest run, where that reaches a seed.
fn longest_runs(items: &[SuiteItem], text: &str) -> BTreeMap<(u32, ItemText), u32> {
    let text = words(text, Normaliser::Web);
    let mut found = BTreeMap::new();
    for (number, item) in (0..).zip(items) {
        for (of, part) in item.all() {
            let part_words = words(part, Normaliser::Web);
            let mut most = 0;
            for a in 0..text.len() {
                for b in 0..part_words.len() {
                    let same = text[a..].iter().zip(&part_words[b..]);
                    most = most.max(same.take_while(|(a, b)| a == b).count());
                }
            }
            if most >= SEED {
                found.insert((number, of), most as u32);
            }
        }
    }
    found
}

/// The definition of pieces of questions, likewise: token, item, position and tokens of each, ascending.
fn pieces(items: &[SuiteItem], text: &str) -> Vec<(u64, u32, u32, u32)> {
    let text = words(text, Normaliser::Web);
    let items: Vec<Vec<String>> = items
        .iter()
        .map(|item| words(item.text(ItemText::first(SuitePart::Question)), Normaliser::Web))
        .map(|words| if words.len() < SHORT { Vec::new() } else { words })
        .collect();
    let places = |gram: &[String]| {
        items.iter().flat_map(|item| item.windows(PIECE)).filter(|other| *other == gram).count()
    };
    let mut found = Vec::new();
    for (number, item) in (0..).zip(&items) {
        let is_same = |a: usize, b: usize| {
            let gram = item.get(b..b + PIECE);
            gram.is_some_and(|gram| {
                text.get(a..a + PIECE) == Some(gram) && places(gram) <= MOST_ITEMS as usize
            })
        };
        for start in 0..text.len() + item.len() {
            // Runs of the diagonal that begins `start` tokens from the lower left, by their first token and their end.
            let mut lines: Vec<Vec<(usize, usize)>> = Vec::new();
            for b in 0..item.len() {
                let Some(a) = (b + start).checked_sub(item.len()).filter(|a| is_same(*a, b)) else {
                    continue;
                };
                match lines.last_mut().and_then(|line| line.last_mut()) {
                    Some((_, end)) if a <= *end => *end = a + PIECE,
                    Some((_, end)) if a <= *end + GAP as usize => {
                        lines.last_mut().unwrap().push((a, a + PIECE));
                    }
                    _ => lines.push(vec![(a, a + PIECE)]),
                }
            }
            for line in lines {
                if line.iter().map(|(a, end)| end - a).sum::<usize>() >= ALIGNED {
                    let is_piece = |(a, end): &&(usize, usize)| end - a < SEED;
                    found.extend(line.iter().filter(is_piece).map(|(a, end)| {
                        (*a as u64, number, (a + item.len() - start) as u32, (end - a) as u32)
                    }));
                }
            }
        }
    }
    found.sort_unstable();
    found
}

proptest! {
    #[test]
    fn pieces_are_those_of_the_definition(
        items in prop::collection::vec(prop::collection::vec(0..3_u8, 0..70), 1..3),
        text in prop::collection::vec(0..3_u8, 0..90),
        kept in prop::collection::vec(prop::bool::weighted(0.8), 90),
    ) {
        let spelled = |words: &[u8]| words.iter().map(|w| format!("w{w} ")).collect::<String>();
        // Half of the text by chance, half of it an item with other words in it.
        let edited = items[0].iter().zip(&kept).map(|(word, kept)| if *kept { *word } else { 3 });
        let text: Vec<u8> = text.iter().copied().chain(edited).collect();
        let items: Vec<SuiteItem> = items.iter().map(|words| item(&spelled(words), "")).collect();
        let text = spelled(&text);
        let found = scan(&items, &text);
        let told = found.pieces.iter().map(|one| (one.token, one.place.item, one.place.position, one.tokens));
        prop_assert_eq!(told.collect::<Vec<_>>(), pieces(&items, &text));
    }

    #[test]
    fn longest_runs_are_those_of_the_definition(
        items in prop::collection::vec(prop::collection::vec(0..3_u8, 0..24), 1..4),
        text in prop::collection::vec(0..3_u8, 0..60),
    ) {
        let spelled = |words: &[u8]| words.iter().map(|w| format!("w{w} ")).collect::<String>();
        let items: Vec<SuiteItem> = items.iter().map(|words| item(&spelled(words), "")).collect();
        let text = spelled(&text);
        let found = evidence(&items, &text);
        let expected = longest_runs(&items, &text);
        let pieces = scan(&items, &text).pieces;
        let places: BTreeSet<_> = pieces.iter().map(|one| (one.place.item, one.place.text)).collect();
        let places: BTreeSet<_> = expected.keys().copied().chain(places).collect();
        prop_assert_eq!(places, found.iter().map(|one| (one.item, one.text)).collect::<BTreeSet<_>>());
        for one in &found {
            // The place that has most of the item need not be the one with the longest run.
            let most = expected.get(&(one.item, one.text)).copied().unwrap_or(SEED as u32 - 1);
            prop_assert!(one.longest_run >= PIECE as u32 && one.longest_run <= most);
            prop_assert_eq!(one.matched == 0, one.longest_run < SEED as u32);
            prop_assert!(one.score > 0.0 && one.score <= 1.0);
            prop_assert!(one.tokens >= one.longest_run && one.tokens < one.grams + SEED as u32);
            for (start, end) in &one.spans {
                prop_assert!(start < end && *end <= text.len() as u64);
            }
        }
    }
}
