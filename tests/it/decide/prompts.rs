//! No two rows with the same prompt: what a prompt is, which answer stays, and corpora that go over to it and back.

use crate::support::{
    CHATML, Random, StopAt, StopWhen, TestDir, copy, corpusdb, corpusdb_test, digest, edited, init,
    pour, prose, reader, seeds, sound, sound_digest, sql, writer,
};
use corpusdb::curate::BlockReach;
use corpusdb::dedup::{ComparedPart, Fingerprinter, KeepOrder, Standing, shared};
use corpusdb::ingest::{ChatOptions, ReadOptions, RecordForm};
use corpusdb::inspect::{SimilarOptions, SimilarTo};
use corpusdb::{Context, Corpus, CorpusWriter, DedupMode, DocId, FieldKind, IngestOptions, Policy};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;

// ----
// Random histories against a model that recomputes everything: who is kept of what is equal or similar, by keep order.

/// A record as it was stored.
#[derive(Clone)]
struct PromptRow {
    prompt: String,
    /// None: a text without an answer.
    answer: Option<String>,
    score: Option<i64>,
    is_out: bool,
}

impl PromptRow {
    fn text(&self) -> String {
        format!("{}{}", self.prompt, self.answer.as_deref().unwrap_or_default())
    }

    fn record(&self) -> Value {
        let mut record = match &self.answer {
            Some(answer) => json!({"prompt": self.prompt, "completion": answer}),
            None => json!({"text": self.prompt}),
        };
        if let Some(score) = self.score {
            record["score"] = score.into();
        }
        record
    }

    /// The text by which it is compared.
    fn compared(&self, part: ComparedPart) -> String {
        let has_letters = self.prompt.chars().any(char::is_alphanumeric);
        match part == ComparedPart::Prompt && self.answer.is_some() && has_letters {
            true => self.prompt.clone(),
            false => self.text(),
        }
    }
}

struct PromptWorld {
    scratch: TestDir,
    path: PathBuf,
    writer: CorpusWriter,
    policy: Policy,
    rows: Vec<PromptRow>,
    files: usize,
}

impl PromptWorld {
    fn new(policy: &Policy) -> Self {
        let scratch = TestDir::new();
        let path = scratch.path("corpus");
        Corpus::init(&path, policy, &[("score".to_owned(), FieldKind::Int)]).unwrap();
        let (writer, policy) = (writer(&path), policy.clone());
        Self { scratch, path, writer, policy, rows: Vec::new(), files: 0 }
    }

    /// Chats and plain texts come in files of their own.
    fn pour(&mut self, rows: &[PromptRow], batch_bytes: u64) {
        for is_chat in [true, false] {
            let of: Vec<&PromptRow> =
                rows.iter().filter(|row| row.answer.is_some() == is_chat).collect();
            let lines: String = of.iter().map(|row| format!("{}\n", row.record())).collect();
            let file = self.scratch.write(&format!("{}.jsonl", self.files), lines);
            self.files += 1;
            let read = ReadOptions::default();
            let form = match is_chat {
                true => RecordForm::Chat(ChatOptions::default()),
                false => RecordForm::Text,
            };
            let options = IngestOptions { batch_bytes, read, form, ..IngestOptions::new("sft") };
            let report = pour(&mut self.writer, &[file], &options);
            assert_eq!((report.added, report.rejected), (of.len() as u64, 0), "{report:?}");
            self.rows.extend(of.into_iter().cloned());
        }
    }

    fn redo(&mut self, policy: &Policy) {
        self.writer.redo(policy, &Context::new()).unwrap();
        self.writer.switch(policy, &Context::new()).unwrap();
        self.policy = policy.clone();
    }

    fn rank(&self, id: usize) -> (i64, u64, usize) {
        let row = &self.rows[id];
        let text = row.text();
        let place = match &self.policy.keep {
            KeepOrder::First => return (0, 0, id),
            KeepOrder::Longest => -(text.chars().count() as i64),
            _ => row.score.map_or(i64::MAX, |score| -score),
        };
        let hash = blake3::hash(text.as_bytes());
        (place, u64::from_le_bytes(hash.as_bytes()[..8].try_into().unwrap()), id)
    }

    /// Whether two rows are one, by the definition.
    fn are_one(&self, craft: &mut Fingerprinter, a: usize, b: usize) -> bool {
        let (a, b) = (&self.rows[a], &self.rows[b]);
        let (part, mode) = (self.policy.compared, self.policy.mode);
        if part == ComparedPart::Text && (a.text() == b.text() || mode == DedupMode::Exact) {
            return a.text() == b.text();
        }
        let (a, b) = (craft.fingerprint(&a.compared(part)), craft.fingerprint(&b.compared(part)));
        let common = f64::from(shared(&a.shingles, &b.shingles));
        let all = (a.shingles.len() + b.shingles.len()) as f64 - common;
        let is_near = mode.is_near() && a.sketch.is_some() && b.sketch.is_some();
        a.normalised == b.normalised || is_near && common / all >= self.policy.threshold
    }

    /// Kept are those that no better-ranked kept one is the same as.
    fn agrees(&self, what: &str) {
        let mut craft = Fingerprinter::new(&self.policy);
        let mut ids: Vec<usize> =
            (0..self.rows.len()).filter(|id| !self.rows[*id].is_out).collect();
        ids.sort_by_key(|id| self.rank(*id));
        let mut kept: Vec<usize> = Vec::new();
        for id in ids {
            if !kept.iter().any(|other| self.are_one(&mut craft, *other, id)) {
                kept.push(id);
            }
        }
        let kept: BTreeSet<usize> = kept.into_iter().collect();
        let view = self.writer.view();
        for (id, row) in self.rows.iter().enumerate() {
            let document = DocId(id as u64);
            let standing = view.standing(document).unwrap();
            let is_kept = standing == Standing::Kept;
            assert_eq!(is_kept, kept.contains(&id), "{what}: {id} is {standing}, {}", self.policy);
            if is_kept || row.is_out {
                continue;
            }
            let matched = view.match_of(document).unwrap().unwrap();
            let witness = matched.witness.0 as usize;
            let is_told = kept.contains(&witness)
                && self.rank(witness) < self.rank(id)
                && self.are_one(&mut craft, witness, id);
            assert!(is_told, "{what}: {id} for {witness}, {}", self.policy);
            let is_equal = self.rows[witness].text() == row.text();
            let expected = if is_equal { Standing::Exact } else { Standing::Near };
            assert_eq!(standing, expected, "{what}: {id}");
        }
    }
}

/// Rows of few prompts: the same, in other words and spelling, empty or without a letter; of few answers, and texts.
fn rows_of(random: &mut Random, prompts: &mut Vec<String>, count: usize) -> Vec<PromptRow> {
    const ANSWERS: [&str; 4] = ["Yes.", "no", "The sea is salt water, mostly.", "yes"];
    let mut rows: Vec<PromptRow> = Vec::new();
    while rows.len() < count {
        let prompt = match random.below(12) {
            0 => prose(random, 0, 30),
            1 => {
                let earlier = random.pick(prompts).clone();
                edited(random, &earlier, 1)
            }
            2 => random.pick(prompts).to_uppercase(),
            3 => format!("{}?!", random.pick(prompts)),
            4 => prose(random, 0, 3),
            5 => "?! ".to_owned(),
            _ => random.pick(prompts).clone(),
        };
        prompts.push(prompt.clone());
        let is_text = random.chance(12);
        let answer = (!is_text).then(|| (*random.pick(&ANSWERS)).to_owned());
        let score = random.chance(70).then(|| random.below(4) as i64);
        let row = PromptRow { prompt, answer, score, is_out: false };
        rows.push(row);
        // The text of a chat as plain text, and a chat whose answer begins elsewhere in the same text.
        if let Some(last) = rows.last().filter(|row| row.answer.is_some() && random.chance(15)) {
            let (text, cut) = (last.text(), last.prompt.len() / 2);
            let cut = text.floor_char_boundary(cut);
            let answer = random.chance(50).then(|| text[cut..].to_owned());
            let prompt = if answer.is_some() { text[..cut].to_owned() } else { text };
            rows.push(PromptRow { prompt, answer, score: None, is_out: false });
        }
    }
    rows
}

fn policies() -> Vec<Policy> {
    let mut all = Vec::new();
    for (mode, keep) in [
        (DedupMode::Exact, "first"),
        (DedupMode::Exact, "field:score"),
        (DedupMode::Witness, "longest"),
    ] {
        let keep: KeepOrder = keep.parse().unwrap();
        let compared = ComparedPart::Prompt;
        all.push(Policy { keep, compared, ..Policy::new(mode, 0.8).unwrap() });
    }
    all
}

#[test]
fn any_history_keeps_one_row_of_each_prompt() {
    let mut differing = 0;
    for (at, policy) in (0..).zip(policies()) {
        for seed in 0..seeds(1) {
            let mut random = Random::new(7000 + at * 100 + seed);
            let mut prompts = vec![prose(&mut random, 0, 30), prose(&mut random, 0, 8)];
            let whole = Policy { compared: ComparedPart::Text, ..policy.clone() };
            let first = if random.chance(50) { &policy } else { &whole };
            let mut world = PromptWorld::new(first);
            for step in 0..8 {
                let what = format!("policy {at}, seed {seed}, step {step}");
                let stored = world.rows.len();
                let ids: Vec<u64> = (0..stored as u64).filter(|_| random.chance(10)).collect();
                let set = ids.iter().copied().collect();
                match if stored == 0 { 0 } else { random.below(6) } {
                    0 | 1 => {
                        let rows = rows_of(&mut random, &mut prompts, 12);
                        world.pour(&rows, *random.pick(&[300, 1 << 20]));
                    }
                    2 => {
                        world.writer.remove(&set, BlockReach::Nothing, &Context::new()).unwrap();
                        ids.iter().for_each(|id| world.rows[*id as usize].is_out = true);
                    }
                    3 => {
                        world.writer.restore(&removed(&world), &Context::new()).unwrap();
                        let view = world.writer.view().clone();
                        for (id, row) in world.rows.iter_mut().enumerate() {
                            row.is_out &=
                                view.standing(DocId(id as u64)).unwrap() == Standing::Purged;
                        }
                    }
                    4 => {
                        // What an erased document lent moves to another one that has the text.
                        let none = BlockReach::Nothing;
                        world.writer.purge(&set, none, true, &Context::new()).unwrap();
                        ids.iter().for_each(|id| world.rows[*id as usize].is_out = true);
                    }
                    _ => {
                        let now = world.policy.compared == ComparedPart::Text;
                        world.redo(if now { &policy } else { &whole });
                    }
                }
                world.agrees(&what);
                if step == 4 {
                    sound_digest(&reader(&world.path));
                }
            }
            // There and back: what was decided by the one part is decided so again.
            let [here, there] = match world.policy.compared == ComparedPart::Text {
                true => [&whole, &policy],
                false => [&policy, &whole],
            };
            world.redo(here);
            let before = sound_digest(&reader(&world.path));
            world.redo(there);
            world.agrees("there");
            let other = sound_digest(&reader(&world.path));
            world.redo(here);
            world.agrees("back");
            assert_eq!(sound_digest(&reader(&world.path)), before, "policy {at}, seed {seed}");
            differing += u64::from(other != before);
        }
    }
    assert!(differing >= 2 * seeds(1), "{differing} corpora differ by what is compared");
}

fn removed(world: &PromptWorld) -> roaring::RoaringTreemap {
    world.writer.view().documents_standing(Standing::Removed).unwrap()
}

// ----
// The command, as people who fine-tune use it.

fn user(content: &str) -> Value {
    json!({"role": "user", "content": content})
}

fn answer(content: &str) -> Value {
    json!({"role": "assistant", "content": content})
}

/// Ids, messages and scores; the first of each prompt is `a..`, others are `b..`.
fn chats() -> String {
    let system = json!({"role": "system", "content": "Be brief."});
    let read = json!({"role": "assistant", "content": "hello", "train": false});
    let chat = |id: &str, score: u64, messages: &[Value]| {
        format!("{}\n", json!({"id": id, "score": score, "messages": messages}))
    };
    [
        chat("a1", 1, &[user("What is the sea?"), answer("Salt water.")]),
        chat("b1", 9, &[user("what is the SEA"), answer("A large body of salt water.")]),
        // Another system message, another prompt; so are other turns before the last answer.
        chat("a2", 1, &[system, user("What is the sea?"), answer("Water.")]),
        chat("a3", 1, &[user("Hi"), answer("hello"), user("What is the sea?"), answer("Salt.")]),
        chat("b3", 2, &[user("Hi"), answer("hello"), user("What is the sea?"), answer("Wet.")]),
        chat("b3-read", 0, &[user("Hi"), read, user("What is the sea?"), answer("Blue.")]),
        chat("a4", 1, &[user("Hi"), answer("hi"), user("What is the sea?"), answer("Salt.")]),
    ]
    .concat()
}

fn ingest_chats(scratch: &TestDir, corpus: &str, chats: &str) {
    let template = scratch.write("chatml.jinja", CHATML);
    let file = scratch.write(&format!("{}.jsonl", chats.len()), chats);
    let chat = ["--chat", "messages", "--chat-template", &template];
    let more = ["--source", "sft", "--id-field", "id"];
    corpusdb(&[&["ingest", corpus, &file], &chat[..], &more[..]].concat()).good();
}

fn kept(corpus: &str) -> Vec<String> {
    let rows = sql(corpus, "SELECT key FROM documents WHERE standing = 'kept' ORDER BY id");
    rows.iter().map(|row| row["key"].as_str().unwrap().to_owned()).collect()
}

corpusdb_test!(no_two_rows_have_the_same_prompt, |scratch| {
    let corpus = scratch.arg("sft");
    init(&corpus, &["--compare", "prompt", "--mode", "exact"]);
    ingest_chats(&scratch, &corpus, &chats());
    assert_eq!(kept(&corpus), ["a1", "a2", "a3", "a4"]);
    let told = corpusdb(&["info", &corpus, "--settings"]).good().stdout;
    assert!(told.contains("an equal prompt under the normaliser"), "{told}");
    assert!(told.contains("all that stands before the last answer that is trained on"), "{told}");
    // One of another answer is found by the prompt alone, as the template writes it.
    let prompt = "<|im_start|>user\nWhat is the sea?<|im_end|>\n<|im_start|>assistant\n";
    let found = corpusdb(&["similar", &corpus, "--text", prompt, "--json"]).good().json();
    assert_eq!(found["by"], "equal-text");
    assert_eq!(found["found"][0]["key"], "a1");
    sound(&corpus);
    // The answer that scores best, by the keep order.
    let best = scratch.arg("best");
    init(
        &best,
        &[
            "--compare",
            "prompt",
            "--mode",
            "exact",
            "--keep",
            "field:score",
            "--field",
            "score:int",
        ],
    );
    ingest_chats(&scratch, &best, &chats());
    assert_eq!(kept(&best), ["b1", "a2", "b3", "a4"]);
    sound(&best);
});

corpusdb_test!(near_modes_keep_one_of_similar_prompts, |scratch| {
    let corpus = scratch.arg("sft");
    let made = corpusdb(&["init", &corpus, "--compare", "prompt"]).good();
    assert!(made.stderr.contains("--mode exact removes equal prompts only"), "{made}");
    let long = "Summarise the following report of the harbour master for the crew of the ferry: the boats are counted every evening and the number is written in a book with a blue cover that lies on the table by the window";
    let pair = |prompt: &str, answer: &str| json!({"prompt": prompt, "completion": answer});
    let other = long.replace("window", "door");
    let records =
        [pair(long, " Boats are counted."), pair(&other, " Forty."), pair("Why?", " So.")];
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    let file = scratch.write("pairs.jsonl", lines);
    corpusdb(&["ingest", &corpus, &file, "--source", "sft", "--chat", "auto"]).good();
    let rows = sql(&corpus, "SELECT id FROM documents WHERE standing = 'kept' ORDER BY id");
    assert_eq!(rows, [json!({"id": 0}), json!({"id": 2})]);
    sound(&corpus);
});

corpusdb_test!(a_corpus_goes_over_to_prompts_and_back, |scratch| {
    let corpus = scratch.arg("sft");
    init(&corpus, &["--profile", "chat"]);
    ingest_chats(&scratch, &corpus, &chats());
    let (before, digest_before) = (kept(&corpus), digest(&corpus));
    assert_eq!(before.len(), 7);
    let to = ["--compare", "prompt", "--mode", "exact"];
    let explained = corpusdb(&[&["dedup", "explain", &corpus], &to[..]].concat()).good().stdout;
    assert!(
        explained.contains("sketches are made again from stored texts (prompt)"),
        "{explained}"
    );
    let dry = corpusdb(&[&["dedup", "redo", &corpus, "--dry-run"], &to[..]].concat()).good();
    assert!(dry.stdout.contains("4 of 7 documents would be kept, 7 before"), "{dry}");
    assert_eq!(digest(&corpus), digest_before);
    let done = corpusdb(&[&["dedup", "redo", &corpus], &to[..]].concat()).good();
    assert!(done.stderr.contains("sketches are computed again from 7 texts"), "{done}");
    assert!(done.stdout.contains("4 of 7 documents kept, 7 before"), "{done}");
    assert_eq!(kept(&corpus), ["a1", "a2", "a3", "a4"]);
    sound(&corpus);
    // Later ones are decided by the prompt too.
    let later = json!({"id": "later", "messages": [user("What is the sea"), answer("No idea.")]});
    ingest_chats(&scratch, &corpus, &format!("{later}\n"));
    assert_eq!(kept(&corpus).len(), 4);
    corpusdb(&["dedup", "redo", &corpus, "--compare", "turns", "--mode", "witness"]).good();
    assert_eq!(kept(&corpus), [&before[..], &["later".to_owned()]].concat());
    sound(&corpus);
});

corpusdb_test!(blocks_of_another_part_are_not_lost_by_a_redo, |scratch| {
    let corpus = scratch.arg("sft");
    init(&corpus, &[]);
    ingest_chats(&scratch, &corpus, &chats());
    corpusdb(&["remove", &corpus, "a1", "--block", "normalised"]).good();
    corpusdb(&["dedup", "redo", &corpus, "--compare", "prompt"])
        .fails(&["removals block normalised or similar texts by text", "remove them again"]);
    // Equal texts and keys are blocked whatever is compared.
    corpusdb(&["restore", &corpus, "a1"]).good();
    corpusdb(&["remove", &corpus, "a1"]).good();
    corpusdb(&["dedup", "redo", &corpus, "--compare", "prompt", "--mode", "exact"]).good();
    assert_eq!(kept(&corpus), ["b1", "a2", "a3", "a4"]);
    sound(&corpus);
});

// Sketches of one part with decisions of another would be a wrong answer of every look-up: nobody writes meanwhile, and
// who looks sees those of the policy in force.
#[test]
fn a_redo_to_prompts_resumes_wherever_it_stops() {
    let policy = Policy::new(DedupMode::Exact, 0.8).unwrap();
    let prompts = Policy { compared: ComparedPart::Prompt, ..policy.clone() };
    let mut world = PromptWorld::new(&policy);
    let question = |n: usize| {
        format!("{n} boats of {} men from {} ports sail in {} storms: ", 7 * n, 3 * n, 5 * n)
    };
    let row = |n: usize| PromptRow {
        prompt: question(n % 4200),
        answer: Some(format!("answer {n}, which tells of the boats at length, {n} times {n}")),
        score: None,
        is_out: false,
    };
    world.pour(&(0..8400).map(row).collect::<Vec<_>>(), 1 << 20);
    let (path, aside) = (world.path.clone(), world.scratch.path("aside"));
    drop(world.writer);
    copy(&path, &aside);
    let mut open = writer(&aside);
    open.redo(&prompts, &Context::new()).unwrap();
    open.switch(&prompts, &Context::new()).unwrap();
    let expected = reader(&aside).digest(&Context::new()).unwrap();

    let mut open = writer(&path);
    let digest = || reader(&path).digest(&Context::new()).unwrap();
    let before = digest();
    let stop = StopAt::new(StopWhen::Advance(1));
    assert!(open.redo(&prompts, &stop.context()).unwrap_err().is_interrupt());
    assert_eq!(digest(), before, "what was decided before is in force");
    assert_eq!(open.view().redo().unwrap().unwrap().next, 8192, "it goes on there");
    open.redo(&prompts, &Context::new()).unwrap();
    assert_eq!(digest(), before, "until the switch");
    // Stopped after each commit: those of the places that documents take, that of the switch, the first sketches.
    for stops in 0.. {
        let stop = StopAt::new(StopWhen::Advance(1));
        assert!(open.switch(&prompts, &stop.context()).unwrap_err().is_interrupt());
        assert!(stops < 9);
        if open.view().refingerprinted().unwrap() == Some(4096) {
            break;
        }
    }
    assert_eq!(open.view().policy(), &prompts);
    let asked = question(4199);
    let found = reader(&path).similar(SimilarTo::Text(&asked), &SimilarOptions::default()).unwrap();
    assert_eq!((found.found[0].id, found.found[0].jaccard), (4199, 1.0));
    assert_eq!(found.found[0].estimate, Some(1.0), "its sketch is that of its prompt already");
    let file = world.scratch.write("more.jsonl", "{\"text\": \"a b c\"}\n");
    let refused = open.ingest(&[file], &IngestOptions::new("web"), &Context::new()).unwrap_err();
    assert!(refused.hint().unwrap().text.contains("run it again"), "{refused}");
    open.switch(&prompts, &Context::new()).unwrap();
    assert_eq!(open.view().refingerprinted().unwrap(), None);
    assert_eq!(sound_digest(&reader(&path)), expected);
    assert_eq!(open.view().kept().unwrap().len(), 4200);
}
