//! Which texts are the same: by the normaliser, and for a removal; until it is taken back.

use crate::support::world::{World, corpus_writer, policy};
use crate::support::{
    Page, Ran, TestDir, WEB_BY_ID, corpusdb, corpusdb_test, ingest, init, lines, reader, sound, sql,
};
use corpusdb::curate::BlockReach;
use corpusdb::dedup::Standing;
use corpusdb::{Context, DedupMode, DocId, Interrupt};
use serde_json::{Value, json};

// ----
// Version 2 of the normaliser `web`: what it takes for the same text, texts without words, takedowns, and corpora that
// go over from one version to the other.

/// Texts that are one text in version 2, and two in version 1.
#[rustfmt::skip]
const TWINS: &[(&str, &str, &str)] = &[
    ("apostrophes", "It's plain that they don't know what the ferry's captain can't say: he isn't paid, he won't sail.", "It’s plain that they don’t know what the ferryʼs captain can‘t say: he isn＇t paid, he won´t sail."),
    ("ukrainian", "П'ять суден вийшли з порту, і сім'я рибалки зібрала в'язку риби, здоров'я дітей пов'язане з морем.", "Пʼять суден вийшли з порту, і сімʼя рибалки зібрала вʼязку риби, здоров’я дітей пов′язане з морем."),
    ("hebrew", "צה\"ל וארה\"ב חתמו על מזכר בתנ\"ך ובחז\"ל ועוד ג'ירפה צ'יפס ז'קט", "צה״ל וארה״ב חתמו על מזכר בתנ״ך ובחז״ל ועוד ג׳ירפה צ׳יפס ז׳קט"),
    ("capitals", "Die Straße zum Fluss heißt seit dem großen Fest Schlossstraße, außer den Füßen weiß niemand, wie heiß es ist.", "DIE STRASSE ZUM FLUSS HEISST SEIT DEM GROSSEN FEST SCHLOSSSTRASSE, AUSSER DEN FÜSSEN WEISS NIEMAND, WIE HEISS ES IST."),
    ("ligatures", "The oﬃcial ofﬁce of the ﬁrst ﬁsher oﬀers ﬁve ﬂags and ﬂoats for the ﬁnal ﬁne ﬂight.", "The official office of the first fisher offers five flags and floats for the final fine flight."),
    ("soft hyphens", "The harbour master counts the boats every evening and writes the number in a book with a blue cover.", "The har\u{ad}bour mas\u{ad}ter counts the boats ev\u{ad}ery even\u{ad}ing and writes the num\u{ad}ber in a book with a blue cov\u{ad}er."),
    ("zero width", "The harbour mistress counts the boats every morning and writes the number in a book with a red cover.", "The\u{200b} harbour mis\u{200b}tress counts the bo\u{200c}ats every mor\u{2060}ning and writes the num\u{feff}ber in a bo\u{200d}ok with a r\u{200b}ed cover."),
    ("directions", "قال الكاتب إن المدينة القديمة كانت أجمل من كل المدن التي زارها في حياته الطويلة", "\u{202b}قال الك\u{200f}اتب إن\u{200e} المدينة الق\u{2067}ديمة\u{2069} كا\u{200f}نت أجمل من كل المد\u{200f}ن التي زا\u{200f}رها في حي\u{200f}اته الطويلة\u{202c}"),
    ("persian", "می\u{200c}خواهم کتاب\u{200c}های تازه را بخوانم و نامه\u{200c}های دوستانم را می\u{200c}نویسم هر روز", "میخواهم کتابهای تازه را بخوانم و نامههای دوستانم را مینویسم هر روز"),
    ("arabic forms", "السلام عليكم ورحمة الله وبركاته هذا نص قديم من كتاب مطبوع", "ﺍﻟﺴﻼﻡ ﻋﻠﻴﻜﻢ ﻭﺭﺣﻤﺔ ﺍﻟﻠﻪ ﻭﺑﺮﻛﺎﺗﻪ ﻫﺬﺍ ﻧﺺ ﻗﺪﻳﻢ ﻣﻦ ﻛﺘﺎﺏ ﻣﻄﺒﻮﻉ"),
    ("full width", "Price list 2024: tea 120 yen, rice 3500 yen, fish 980 yen, ask at the counter for GPT-4 users", "Ｐｒｉｃｅ　ｌｉｓｔ　２０２４：　ｔｅａ　１２０　ｙｅｎ，　ｒｉｃｅ　３５００　ｙｅｎ，　ｆｉｓｈ　９８０　ｙｅｎ，　ａｓｋ　ａｔ　ｔｈｅ　ｃｏｕｎｔｅｒ　ｆｏｒ　ＧＰＴ－４　ｕｓｅｒｓ"),
    ("half width", "カタカナデガイドヲヨミパンヲカッタトキノハナシ", "ｶﾀｶﾅﾃﾞｶﾞｲﾄﾞｦﾖﾐﾊﾟﾝｦｶｯﾀﾄｷﾉﾊﾅｼ"),
    ("variants", "葛城さんは葛飾区の辻に住んでいて毎日葛湯を飲んでから散歩に行く❤", "葛\u{e0100}城さんは葛\u{e0101}飾区の辻\u{e0100}に住んでいて毎日葛\u{e0100}湯を飲んでから散歩に行く❤\u{fe0f}"),
    ("few words", "Don't!", "DON’T"),
];

fn records<'t>(texts: impl IntoIterator<Item = (String, &'t str)>) -> String {
    let line = |(id, text): (String, &str)| format!("{}\n", json!({ "id": id, "text": text }));
    texts.into_iter().map(line).collect()
}

/// The value of a column for all documents, by key.
fn of(corpus: &str, column: &str) -> Vec<(String, Value)> {
    let rows = sql(corpus, &format!("SELECT key, {column} AS found FROM documents ORDER BY id"));
    rows.iter().map(|row| (row["key"].as_str().unwrap().to_owned(), row["found"].clone())).collect()
}

fn standing(corpus: &str, key: &str) -> String {
    let found = of(corpus, "standing");
    let found = found.iter().find(|(of, _)| of == key).unwrap_or_else(|| panic!("no {key}"));
    found.1.as_str().unwrap().to_owned()
}

fn pour(corpus: &str, scratch: &TestDir, name: &str, records: &str) {
    scratch.ingest(corpus, name, records, &WEB_BY_ID);
}

fn normaliser(corpus: &str) -> Value {
    let settings = corpusdb(&["info", corpus, "--json"]).good().json()["settings"].clone();
    let found = settings.as_array().unwrap().iter().find(|one| one["setting"] == "normaliser");
    found.unwrap()["value"].clone()
}

corpusdb_test!(copies_that_differ_in_invisible_characters_are_duplicates, |scratch| {
    for (version, expected) in [("web", "near"), ("web@1", "kept")] {
        let corpus = scratch.arg(version);
        init(&corpus, &["--profile", version]);
        let texts = TWINS
            .iter()
            .flat_map(|(name, a, b)| [((*name).to_owned(), *a), (format!("{name}-twin"), *b)]);
        pour(&corpus, &scratch, "twins.jsonl", &records(texts));
        for (name, ..) in TWINS {
            assert_eq!(standing(&corpus, name), "kept", "{version}, {name}");
            assert_eq!(standing(&corpus, &format!("{name}-twin")), expected, "{version}, {name}");
        }
        sound(&corpus);
    }
});

#[test]
fn a_takedown_holds_for_variants_and_over_a_redo() {
    for (first, other) in [("web", "web@1"), ("web@1", "web")] {
        for reach in ["normalised", "similar"] {
            let scratch = TestDir::new();
            let corpus = scratch.arg("corpus");
            init(&corpus, &["--profile", first]);
            let originals = TWINS.iter().map(|(name, a, _)| ((*name).to_owned(), *a));
            pour(&corpus, &scratch, "a.jsonl", &records(originals));
            let mut remove = vec!["remove", &corpus];
            remove.extend(TWINS.iter().map(|(name, ..)| *name));
            remove.extend(["--block", reach]);
            corpusdb(&remove).good();
            // Half of them are erased: their texts tell nothing any more.
            let mut purge = vec!["purge", &corpus, "--force"];
            purge.extend(TWINS.iter().step_by(2).map(|(name, ..)| *name));
            corpusdb(&purge).good();
            let comes = |corpus: &str, round: &str| {
                let twins = TWINS.iter().map(|(name, _, b)| (format!("{name}-{round}"), *b));
                pour(corpus, &scratch, &format!("{round}.jsonl"), &records(twins));
                for (name, ..) in TWINS {
                    let key = format!("{name}-{round}");
                    let found = of(corpus, "standing").into_iter().find(|(of, _)| *of == key);
                    // What a purged document blocks is not stored.
                    let found = found.map_or("blocked".to_owned(), |(_, found)| {
                        found.as_str().unwrap().to_owned()
                    });
                    assert_eq!(found, "blocked", "{first}, {reach}, {round}, {name}");
                }
            };
            if first == "web" {
                comes(&corpus, "again");
            }
            corpusdb(&["dedup", "redo", &corpus, "--normaliser", other]).good();
            sound(&corpus);
            if other == "web" {
                // Rows of both versions were written while the texts were there.
                comes(&corpus, "later");
            } else {
                // The originals come back, word for word in version 1, in other punctuation.
                let same =
                    TWINS.iter().map(|(name, a, _)| (format!("{name}-back"), format!("{a} …")));
                let same: Vec<(String, String)> = same.collect();
                let texts = same.iter().map(|(key, text)| (key.clone(), text.as_str()));
                pour(&corpus, &scratch, "back.jsonl", &records(texts));
                for (key, found) in of(&corpus, "standing") {
                    assert_ne!(found, json!("kept"), "{first}, {reach}, {key}");
                }
            }
            sound(&corpus);
            // Taken back, nothing of it is left: what is no purged document's is kept or a duplicate.
            let mut restore = vec!["restore", &corpus];
            restore.extend(TWINS.iter().skip(1).step_by(2).map(|(name, ..)| *name));
            corpusdb(&restore).good();
            for (name, ..) in TWINS.iter().skip(1).step_by(2) {
                assert_eq!(standing(&corpus, name), "kept", "{first}, {reach}, {name}");
            }
            sound(&corpus);
        }
    }
}

corpusdb_test!(a_text_without_words_is_a_document_and_white_space_is_empty, |scratch| {
    let texts = [
        ("formula", "∀ ∃ ∈ ∉ ≤ ≥ ∑?"),
        ("formula-again", "∀ ∃ ∈ ∉ ≤ ≥ ∑?"),
        ("formula-other", "∀ ∃ ∈ ∉ ≤ ≥ ∏?"),
        ("dots", "..."),
        ("more-dots", "...."),
        ("notes", "𝄞 𝄢 𝄡"),
        ("arrows", "→ → →"),
        ("rule", "---\n***"),
        ("spaces", " \n\t\u{a0}\u{3000}"),
        ("unseen", "\u{200b}\u{feff}\u{ad} \u{2060}"),
        ("nothing", ""),
    ];
    let empty = ["spaces", "unseen", "nothing"];
    let lines = records(texts.iter().map(|(id, text)| ((*id).to_owned(), *text)));
    for mode in ["witness", "components", "lsh"] {
        let corpus = scratch.arg(mode);
        init(&corpus, &["--mode", mode]);
        pour(&corpus, &scratch, "texts.jsonl", &lines);
        for (key, found) in of(&corpus, "standing") {
            let expected = match key.as_str() {
                "formula-again" => "exact",
                key if empty.contains(&key) => "empty",
                _ => "kept",
            };
            assert_eq!(found, expected, "{mode}, {key}");
        }
        sound(&corpus);
        // They are found by themselves, and nothing else is near them.
        let found = corpusdb(&["similar", &corpus, "--text", "..."]).good().stdout;
        assert!(found.contains("dots") && !found.contains("more-dots"), "{found}");
        // A takedown of one is none of the others, in any reach.
        corpusdb(&["remove", &corpus, "dots", "--block", "similar"]).good();
        let again = records([("dots-again".to_owned(), "..."), ("signs".to_owned(), "!!!")]);
        pour(&corpus, &scratch, "again.jsonl", &again);
        assert_eq!(standing(&corpus, "dots-again"), "blocked", "{mode}");
        for key in ["signs", "more-dots", "notes", "formula"] {
            assert_eq!(standing(&corpus, key), "kept", "{mode}, {key}");
        }
        sound(&corpus);
    }
    // Earlier releases left all of them out.
    let corpus = scratch.arg("first");
    init(&corpus, &["--profile", "web@1"]);
    pour(&corpus, &scratch, "texts.jsonl", &lines);
    assert!(of(&corpus, "standing").iter().all(|(_, found)| found == "empty"));
    corpusdb(&["dedup", "redo", &corpus, "--normaliser", "web"]).good();
    let kept = of(&corpus, "kept").iter().filter(|(_, kept)| *kept == json!(true)).count();
    assert_eq!(kept, texts.len() - empty.len() - 1);
    sound(&corpus);
});

corpusdb_test!(a_conversation_of_signs_stays, |scratch| {
    let corpus = scratch.arg("chats");
    init(&corpus, &["--profile", "chat"]);
    let said = |user: &str, answer: &str| {
        let messages = json!([{ "role": "user", "content": user }, { "role": "assistant", "content": answer }]);
        format!("{}\n", json!({ "messages": messages }))
    };
    let lines = [said("∑?", "∏!"), said("∑?", "∏!"), said("∑?", "…"), said("♩", "♪")].concat();
    let path = scratch.write("chats.jsonl", lines);
    let template = scratch
        .write("t.jinja", "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}");
    ingest(
        &corpus,
        &[&path],
        &["--source", "chats", "--chat", "messages", "--chat-template", &template],
    );
    let found: Vec<Value> = of(&corpus, "kept").into_iter().map(|(_, kept)| kept).collect();
    assert_eq!(found, [json!(true), json!(false), json!(true), json!(true)]);
    sound(&corpus);
});

corpusdb_test!(a_corpus_keeps_its_normaliser_until_a_redo, |scratch| {
    for (flags, version) in [
        (&[][..], "web@2"),
        (&["--profile", "web"], "web@2"),
        (&["--profile", "web@2"], "web@2"),
        (&["--profile", "web@1"], "web@1"),
        (&["--profile", "chat"], "web@2"),
        (&["--profile", "chat@1"], "web@1"),
        (&["--profile", "chat@1", "--normaliser", "web"], "web@2"),
        (&["--normaliser", "web@1"], "web@1"),
        (&["--profile", "bigcode", "--normaliser", "web"], "web@2"),
        (&["--profile", "code"], "code"),
    ] {
        let corpus = scratch.arg(&flags.concat().replace("--", "c"));
        init(&corpus, flags);
        assert_eq!(normaliser(&corpus), version, "{flags:?}");
    }
    corpusdb(&["init", &scratch.arg("x"), "--profile", "web@3"]).fails(&["web@3"]);
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--profile", "web@1"]);
    pour(
        &corpus,
        &scratch,
        "a.jsonl",
        &records([("a".to_owned(), TWINS[0].1), ("b".to_owned(), TWINS[0].2)]),
    );
    corpusdb(&["dedup", "redo", &corpus, "--threshold", "0.7"]).good();
    assert_eq!(normaliser(&corpus), "web@1");
    let told =
        corpusdb(&["dedup", "redo", &corpus, "--normaliser", "web", "--dry-run"]).good().stdout;
    assert!(told.contains("normaliser web@1") && told.contains("normaliser web@2"), "{told}");
    assert_eq!((normaliser(&corpus), standing(&corpus, "b")), (json!("web@1"), "kept".to_owned()));
    let told = corpusdb(&["dedup", "explain", &corpus, "--normaliser", "web"]).good().stdout;
    assert!(told.contains("sketches are made again") && told.contains("web@2"), "{told}");
    corpusdb(&["dedup", "redo", &corpus, "--normaliser", "web"]).good();
    assert_eq!((normaliser(&corpus), standing(&corpus, "b")), (json!("web@2"), "near".to_owned()));
    sound(&corpus);
    corpusdb(&["dedup", "redo", &corpus, "--normaliser", "web@1"]).good();
    assert_eq!((normaliser(&corpus), standing(&corpus, "b")), (json!("web@1"), "kept".to_owned()));
    sound(&corpus);
    corpusdb(&["dedup", "redo", &corpus, "--normaliser", "code"])
        .fails(&["--normaliser", "has its sketches already"]);
});

/// Decisions, fingerprints and buckets: what is looked up with a text, too.
fn told(corpus: &str) -> (Vec<Value>, String) {
    let query = "SELECT key, standing, kept, dup_of, jaccard FROM documents ORDER BY id";
    let Ran { stdout, .. } = corpusdb(&["similar", corpus, "--text", TWINS[0].2, "--json"]).good();
    (sql(corpus, query), stdout)
}

corpusdb_test!(a_corpus_that_went_over_is_as_one_that_was_made_so, |scratch| {
    let twins = TWINS.iter().enumerate().flat_map(|(at, (name, a, b))| {
        let (a, b) = if at % 3 == 0 { (b, a) } else { (a, b) };
        [((*name).to_owned(), *a), (format!("{name}-twin"), *b), (format!("{name}-copy"), *b)]
    });
    let records = records(twins);
    for more in [
        &[][..],
        &["--mode", "components"],
        &["--mode", "exact"],
        &["--keep", "longest", "--scope", "per-source"],
    ] {
        let made = |version: &str| {
            let corpus = scratch.arg(&format!("{}{version}", more.concat().replace("--", "c")));
            init(&corpus, &[&["--profile", version], more].concat());
            pour(&corpus, &scratch, "twins.jsonl", &records);
            corpus
        };
        let [first, second] = ["web@1", "web"].map(made);
        let (of_first, of_second) = (told(&first), told(&second));
        corpusdb(&["dedup", "redo", &first, "--normaliser", "web"]).good();
        corpusdb(&["dedup", "redo", &second, "--normaliser", "web@1"]).good();
        assert_eq!(told(&first), of_second, "{more:?}");
        assert_eq!(told(&second), of_first, "{more:?}");
        [first, second].iter().for_each(|corpus| sound(corpus));
    }
});

// ----
// How far a removal reaches: equal texts, other spellings, similar texts; until it is taken back.

/// Fifty words, of which the last `changed` are their own.
fn text(name: &str, changed: usize) -> String {
    let common = (0..50 - changed).map(|at| format!("Word{at}"));
    common.chain((0..changed).map(|at| format!("{name}{at}"))).collect::<Vec<_>>().join(" ")
}

/// The text in capitals and with a mark at its end; the text with a sentence more; another text.
fn comebacks(original: &str) -> [Page; 4] {
    [
        Page::new(original),
        Page::new(format!("{}!", original.to_uppercase())),
        Page::new(format!("{original} and more")),
        Page::new(text("other", 40)),
    ]
}

#[test]
fn variants_are_blocked_as_far_as_the_removal_reaches() {
    use Standing::{Blocked, Kept};
    for mode in [DedupMode::Exact, DedupMode::Witness] {
        for (reach, expected) in [
            (BlockReach::Nothing, [Kept, Kept, Kept, Kept]),
            (BlockReach::Exact, [Blocked, Kept, Kept, Kept]),
            (BlockReach::Normalised, [Blocked, Blocked, Kept, Kept]),
            (BlockReach::Similar, [Blocked, Blocked, Blocked, Kept]),
        ] {
            let mut world = World::new(&policy(mode, 0.8));
            let original = text("a", 3);
            world.pour("web", &[Page::new(original.clone())], 1 << 20);
            let ids = [0].into_iter().collect();
            world.writer.remove(&ids, reach, &Context::new()).unwrap();
            // It survives the opening of the corpus.
            drop(world.writer);
            world.writer = corpus_writer(&world.path, 1);
            for (at, page) in comebacks(&original).into_iter().enumerate() {
                let id = world.writer.view().documents();
                world.pour("mirror", &[page], 1 << 20);
                let standing = world.writer.view().standing(DocId(id)).unwrap();
                assert_eq!(
                    standing == Blocked,
                    expected[at] == Blocked,
                    "{mode:?}, {reach:?}, {at}"
                );
            }
            let corpus = reader(&world.path);
            for (id, expected) in (1..).zip(expected) {
                let shown = corpus.show(DocId(id)).unwrap();
                let is_blocked = expected == Blocked;
                let found = shown.blocked_by.len();
                assert_eq!(found, usize::from(is_blocked), "{mode:?}, {reach:?}, {id}");
            }
            if reach != BlockReach::Similar {
                continue;
            }
            // Another threshold changes nothing about what is blocked.
            let before = world.told();
            let other = policy(DedupMode::Witness, 0.9);
            world.writer.redo(&other, &Context::new()).unwrap();
            world.writer.switch(&other, &Context::new()).unwrap();
            let blocked = |told: &[(Standing, Option<u64>)]| {
                told.iter().map(|(standing, _)| *standing == Blocked).collect::<Vec<_>>()
            };
            assert_eq!(blocked(&world.told()), blocked(&before));
            // Taken back, nothing is blocked any more, nor comes in blocked.
            world.writer.restore(&ids, &Context::new()).unwrap();
            assert!(blocked(&world.told()).iter().all(|is_blocked| !is_blocked));
            world.pour("again", &comebacks(&original), 1 << 20);
            assert!(blocked(&world.told()).iter().all(|is_blocked| !is_blocked));
            world.digest();
        }
    }
}

#[test]
fn stored_near_copies_are_blocked_with_a_removed_document() {
    for mode in [DedupMode::None, DedupMode::Components] {
        let mut world = World::new(&policy(mode, 0.8));
        let original = text("a", 3);
        world.pour("web", &comebacks(&original), 1 << 20);
        let (before, digest) = (world.told(), world.digest());
        let ids = [2].into_iter().collect();
        // First as usual, then further: the second call extends the first.
        world.writer.remove(&ids, BlockReach::Exact, &Context::new()).unwrap();
        let report = world.writer.remove(&ids, BlockReach::Similar, &Context::new()).unwrap();
        assert_eq!((report.changed, report.unchanged, report.blocked), (0, 1, 2), "{mode:?}");
        use Standing::{Blocked, Kept, Removed};
        let standings: Vec<_> = world.told().into_iter().map(|(standing, _)| standing).collect();
        assert_eq!(standings, [Blocked, Blocked, Removed, Kept], "{mode:?}");
        let report = world.writer.restore(&ids, &Context::new()).unwrap();
        assert_eq!((report.changed, report.blocked), (1, 0), "{mode:?}");
        assert_eq!((world.told(), world.digest()), (before, digest), "{mode:?}");
    }
}

#[test]
fn documents_restored_together_do_not_keep_each_other_out() {
    let mut world = World::witness();
    // More than one commit takes, all similar in pairs: the first of a pair comes back in an earlier commit.
    let pages: Vec<Page> = (0..2300)
        .map(|at| {
            let name = format!("n{}x", at % 1150);
            Page::new((0..8).map(|word| format!("{name}{word} ")).collect::<String>())
        })
        .collect();
    world.pour("web", &pages, 1 << 20);
    let before = world.told();
    let ids = (0..2300).collect();
    let report = world.writer.remove(&ids, BlockReach::Similar, &Context::new()).unwrap();
    assert_eq!((report.changed, report.commits), (2300, 2));
    let commits = world.writer.view().commits().unwrap();
    let changed = |kind: &str| -> u64 {
        let of_kind = commits.iter().filter(|(_, record)| record.kind == kind);
        of_kind.map(|(_, record)| record.changed).sum()
    };
    assert_eq!(changed("remove"), 2300, "each commit says what it changed itself");
    let report = world.writer.restore(&ids, &Context::new()).unwrap();
    assert_eq!(report.changed, 2300);
    assert_eq!(world.told(), before);
}

corpusdb_test!(the_command_blocks_near_copies_and_says_why, |scratch, corpus| {
    let original = text("a", 3);
    let file = scratch.write("a.jsonl", lines(&[Page::keyed("first", original.clone())]));
    let ingest = |file: &str| -> Ran {
        corpusdb(&["ingest", &corpus, file, "--source", "web", "--id-field", "id", "--json"]).good()
    };
    ingest(&file);
    corpusdb(&["remove", &corpus, "first", "--block", "similar"]).good();
    corpusdb(&["remove", &corpus, "first", "--block", "all"]).fails(&["normalised", "similar"]);
    corpusdb(&["remove", &corpus, "first", "--block", "similar", "--no-block"])
        .fails(&["--no-block"]);
    let again = [
        Page::keyed("capitals", format!("{}!", original.to_uppercase())),
        Page::keyed("longer", format!("{original} and more")),
    ];
    assert_eq!(ingest(&scratch.write("b.jsonl", lines(&again))).json()["kept"], 0);
    let shown = corpusdb(&["show", &corpus, "1"]).good().stdout;
    assert!(shown.contains("standing: blocked"), "{shown}");
    assert!(shown.contains("removal of document 0 (first), by normalised text"), "{shown}");
    let shown = corpusdb(&["show", &corpus, "2"]).good().stdout;
    assert!(shown.contains("removal of document 0 (first), by similarity 0.9"), "{shown}");
    corpusdb(&["restore", &corpus, "first"]).good();
    let shown = corpusdb(&["show", &corpus, "1"]).good().stdout;
    assert!(!shown.contains("blocked"), "{shown}");
    sound(&corpus);
});

#[test]
fn near_copies_stay_blocked_when_the_original_is_purged() {
    for mode in [DedupMode::Witness, DedupMode::Components] {
        for reach in [BlockReach::Exact, BlockReach::Similar] {
            let mut world = World::new(&policy(mode, 0.8));
            let original = text("a", 3);
            world.pour("web", &[Page::new(original.clone())], 1 << 20);
            let (nothing, first) = (Interrupt::default(), [0].into_iter().collect());
            world
                .writer
                .remove(&first, BlockReach::Similar, &Context::new().with_interrupt(&nothing))
                .unwrap();
            let report = world
                .writer
                .purge(&first, reach, false, &Context::new().with_interrupt(&nothing))
                .unwrap();
            assert_eq!((report.purged, report.kept_again), (1, 0), "{mode:?}, {reach:?}");
            let mut standings = Vec::new();
            for page in comebacks(&original) {
                let id = world.writer.view().documents();
                world.pour("mirror", &[page], 1 << 20);
                let view = world.writer.view();
                // The very text, and what is it but for capitals, is not even stored.
                standings.push((view.documents() > id).then(|| view.standing(DocId(id)).unwrap()));
            }
            let (similar, other) = (Some(Standing::Blocked), Some(Standing::Kept));
            assert_eq!(standings, [None, None, similar, other], "{mode:?}, {reach:?}");
            world.digest();
            let blocked = world.writer.view().documents() - 2;
            let corpus = reader(&world.path);
            let shown = corpus.show(DocId(blocked)).unwrap();
            assert_eq!((shown.blocked_by[0].id, shown.blocked_by[0].by), (0, "similarity"));
            drop((corpus, world.writer));
            world.writer = corpus_writer(&world.path, 1);
            let context = Context::new().with_interrupt(&nothing);
            let proof = world.writer.prove_purge(None, None, &context).unwrap();
            assert!(proof.clean && proof.sketches == 1, "{proof:?}");
            // Nothing blocks any more when the user says so, and the sketch goes with it.
            let second = [blocked].into_iter().collect();
            world
                .writer
                .purge(
                    &second,
                    BlockReach::Nothing,
                    false,
                    &Context::new().with_interrupt(&nothing),
                )
                .unwrap();
            world.digest();
        }
    }
}

// What the first commit kept again and the second one removed was counted as both.
corpusdb_test!(a_removal_of_several_commits_counts_its_result, World::witness(), |mut world| {
    let half = 2_100;
    let pages: Vec<Page> =
        (0..2 * half).map(|at| Page::new(format!("page {} of many pages", at % half))).collect();
    world.pour("web", &pages, 1 << 20);
    let (all, nothing) = ((0..2 * half).collect(), Interrupt::default());
    let report = world
        .writer
        .remove(&all, BlockReach::Similar, &Context::new().with_interrupt(&nothing))
        .unwrap();
    assert!(report.commits > 1);
    let counts = (report.changed, report.kept_again, report.no_longer_kept, report.copies);
    assert_eq!(counts, (2 * half, 0, half, 0));
    let back = world.writer.restore(&all, &Context::new().with_interrupt(&nothing)).unwrap();
    let counts = (back.changed, back.kept_again, back.no_longer_kept, back.blocked);
    assert_eq!(counts, (2 * half, half, 0, 0));
});

/// One of two mirrors came back in place of what was removed, without a word.
#[test]
fn a_removal_says_how_many_copies_of_its_documents_stand() {
    let original = text("a", 3);
    let mirror = format!("{original} and more");
    let pages = [&original, &mirror, &mirror, &text("other", 40)].map(Page::new);
    for (reach, copies) in [(BlockReach::Exact, 2), (BlockReach::Similar, 0)] {
        let mut world = World::witness();
        world.pour("web", &pages, 1 << 20);
        let (first, nothing) = ([0].into_iter().collect(), Interrupt::default());
        let report =
            world.writer.remove(&first, reach, &Context::new().with_interrupt(&nothing)).unwrap();
        assert_eq!((report.copies, report.kept_again), (copies, copies.min(1)), "{reach:?}");
    }
}
