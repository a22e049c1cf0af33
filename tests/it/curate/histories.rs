//! Changes of mind in histories drawn by chance, killed and stopped on the way: erased is gone, and a rerun ends the same.

use crate::support::raw_files::raw_files;
use crate::support::scenarios::having;
use crate::support::{
    Page, Random, StopAt, StopWhen, TestDir, WEB_BY_ID, copy, corpusdb, corpusdb_test, crawl,
    ingest, init, lines, pour, reader, seeds, sound_digest, sql, writer,
};
use base64::Engine;
use corpusdb::curate::{
    BlockReach, ComputedField, NewField, NewSignals, RejectSelection, RemovalRequest,
};
use corpusdb::dedup::{ComparedPart, Normaliser, Profile, Standing};
use corpusdb::ingest::ReadOptions;
use corpusdb::signals::Signal;
use corpusdb::{
    Context, Corpus, CorpusWriter, DedupMode, DocId, Error, FieldKind, IngestOptions, Interrupt,
    Policy,
};
use roaring::RoaringTreemap;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

// ----
// Erased is gone: histories drawn by chance of what comes, changes, is removed, restored and erased, killed on the way;
// afterwards a search that knows nothing of the one that is tested looks through every row and every file.

/// Words that no other call gives: letters alone, so that no escape changes them but where a test wants it.
fn words(random: &mut Random, count: usize) -> String {
    let letter = |random: &mut Random| char::from(b'a' + random.below(26) as u8);
    let word = |random: &mut Random| (0..9).map(|_| letter(random)).collect::<String>();
    (0..count).map(|_| word(random)).collect::<Vec<_>>().join(" ")
}

/// What a user gave, and whether somebody has it who was not erased.
struct Secret {
    text: String,
    key: String,
    note: String,
    id: u64,
    is_erased: bool,
}

struct PurgeHistory {
    scratch: TestDir,
    path: PathBuf,
    writer: CorpusWriter,
    secrets: Vec<Secret>,
    files: usize,
    log: Vec<String>,
}

impl PurgeHistory {
    fn new() -> Self {
        let scratch = TestDir::new();
        let path = scratch.path("corpus");
        Corpus::init(&path, &Policy::of(Profile::Web), &[]).unwrap();
        let writer = writer(&path);
        Self { scratch, path, writer, secrets: Vec::new(), files: 0, log: Vec::new() }
    }

    fn ingest(&mut self, random: &mut Random) {
        let mut pages = Vec::new();
        for _ in 0..random.between(1, 5) {
            let known = (!self.secrets.is_empty()).then(|| random.below(self.secrets.len()));
            let of = |at: usize| &self.secrets[at];
            let text = match known {
                Some(at) if random.chance(25) => of(at).text.clone(),
                _ => {
                    let count = random.between(6, 40);
                    words(random, count)
                }
            };
            let key = match known {
                Some(at) if random.chance(30) => of(at).key.clone(),
                _ => format!("https://{}.example/{}", words(random, 1), words(random, 1)),
            };
            if pages.iter().any(|page: &Page| page.id.as_ref() == Some(&key)) {
                continue;
            }
            let mut page = Page::keyed(key, text);
            page.fields["note"] = words(random, 3).into();
            pages.push(page);
        }
        let first = self.writer.view().documents();
        self.pour(&lines(&pages), "jsonl", "web");
        // What is kept out by something that was erased is not stored: the others have the next numbers, in order.
        let view = self.writer.view().clone();
        let mut stored = (first..view.documents()).map(|id| (id, view.key(DocId(id)).unwrap()));
        let mut next = stored.next();
        for page in pages {
            let Some((id, key)) = &next else { break };
            if *key == page.id {
                let note = page.fields["note"].as_str().unwrap().to_owned();
                let (id, key) = (*id, page.id.unwrap());
                self.secrets.push(Secret { text: page.text, key, note, id, is_erased: false });
                next = stored.next();
            }
        }
        assert!(next.is_none(), "{:#?}", self.log);
    }

    fn pour(&mut self, bytes: &str, end: &str, source: &str) {
        self.files += 1;
        let file = self.scratch.write(&format!("{}.{end}", self.files), bytes);
        let name = |name: &str| Some(name.to_owned());
        let read = ReadOptions {
            text_field: name("text"),
            id_field: name("id"),
            ..ReadOptions::default()
        };
        pour(&mut self.writer, &[file], &IngestOptions { read, ..IngestOptions::new(source) });
    }

    /// Records without a text, which quote a secret in some spelling.
    fn reject(&mut self, random: &mut Random) {
        let at = random.below(self.secrets.len());
        let secret = &self.secrets[at];
        if secret.is_erased {
            // What comes in behind a purge is of whoever brings it.
            return;
        }
        let quoted = [&secret.text, &secret.key, &secret.note][random.below(3)].clone();
        let ascii =
            || quoted.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
        let percent = || quoted.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
        let record = match random.below(5) {
            0 => json!({ "id": "bad", "remark": quoted }).to_string(),
            1 => format!(r#"{{"id": "bad", "remark": "{}"}}"#, ascii()),
            2 => json!({ "id": "bad", "link": percent() }).to_string(),
            3 => json!({ "id": "bad", "remark": json!({ "a": quoted }).to_string() }).to_string(),
            _ => {
                let bytes = base64::engine::general_purpose::STANDARD.encode(&quoted);
                json!({ "id": "bad", "remark": bytes }).to_string()
            }
        };
        self.log.push(format!("reject about {at}"));
        self.pour(&format!("{record}\n"), "jsonl", "bad");
    }

    /// Erases every version of a key, or a document, and marks what was asked for.
    fn purge(&mut self, random: &mut Random) {
        let at = random.below(self.secrets.len());
        let Secret { key, id, .. } = &self.secrets[at];
        let is_key = random.chance(60);
        let asked: RoaringTreemap = match is_key {
            true => reader(&self.path).find_key(key).unwrap().iter().map(|id| id.0).collect(),
            false => [*id].into_iter().collect(),
        };
        let reach = *random.pick(&[BlockReach::Nothing, BlockReach::Exact, BlockReach::Similar]);
        let kill = random.below(6) as u64;
        self.log.push(format!("purge {asked:?}, block {reach:?}, killed at {kill}"));
        let progress = StopAt::new(StopWhen::Advance(kill));
        let request = self.quoting(random, reach);
        let done = self.writer.purge(&asked, request, true, &progress.context());
        let mut spared = RoaringTreemap::new();
        if let Err(error) = done {
            assert!(error.is_interrupt(), "{error}");
            if random.chance(50) {
                self.close();
                self.writer = writer(&self.path);
            }
            // Some come back that are not erased yet; of the rest the next purge makes an end.
            let begun = self.writer.corpus().unended_purge().unwrap();
            let standing = |id: &u64| self.writer.view().standing(DocId(*id)).unwrap();
            spared = begun
                .iter()
                .filter(|id| standing(id) == Standing::Removed && random.chance(50))
                .collect();
            self.writer.restore(&spared, &Context::new()).unwrap();
            let nothing = RoaringTreemap::new();
            self.writer.purge(&nothing, reach, true, &Context::new()).unwrap();
            if begun.is_empty() {
                // Stopped before it began, or behind the last document.
                spared = asked.clone();
            }
        }
        let purged = self.writer.view().documents_standing(Standing::Purged).unwrap();
        assert!((&asked - &spared).is_subset(&purged), "{:#?}", self.log);
        for secret in &mut self.secrets {
            secret.is_erased |= asked.contains(secret.id) && purged.contains(secret.id);
        }
    }

    /// What is asked for, perhaps in words that quote somebody who is not erased.
    fn quoting(&self, random: &mut Random, reach: BlockReach) -> RemovalRequest {
        let mut request = RemovalRequest::from(reach);
        let secret = &self.secrets[random.below(self.secrets.len())];
        if random.chance(50) || secret.is_erased {
            return request;
        }
        let word = secret.note.split(' ').next().unwrap();
        match random.below(4) {
            0 => request.reason = Some(format!("asked for by {}", secret.note)),
            1 => request.condition = Some(format!("note = '{}'", secret.note)),
            2 => request.condition = Some(format!("note ILIKE '%{}%'", word.to_uppercase())),
            _ => request.reason = Some(format!("see '{}'", secret.key)),
        }
        request
    }

    /// Lets go of the corpus, as a process that ends does.
    fn close(&mut self) {
        let path = self.scratch.path("aside");
        if !path.exists() {
            Corpus::init(&path, &Policy::of(Profile::Web), &[]).unwrap();
        }
        drop(std::mem::replace(&mut self.writer, writer(&path)));
    }

    fn remove_or_restore(&mut self, random: &mut Random) {
        let at = random.below(self.secrets.len());
        if self.secrets[at].is_erased {
            return;
        }
        let ids: RoaringTreemap = [self.secrets[at].id].into_iter().collect();
        let none = Interrupt::default();
        if random.chance(60) {
            let reach =
                *random.pick(&[BlockReach::Nothing, BlockReach::Exact, BlockReach::Similar]);
            self.log.push(format!("remove {ids:?}, block {reach:?}"));
            let request = self.quoting(random, reach);
            self.writer.remove(&ids, request, &Context::new().with_interrupt(&none)).unwrap();
        } else {
            self.log.push(format!("restore {ids:?}"));
            self.writer.restore(&ids, &Context::new().with_interrupt(&none)).unwrap();
        }
    }

    /// What was erased and is of nobody else.
    fn gone(&self) -> Vec<String> {
        let alive = || self.secrets.iter().filter(|secret| !secret.is_erased);
        let texts: BTreeSet<&str> = alive().map(|secret| &*secret.text).collect();
        let keys: BTreeSet<&str> = alive().map(|secret| &*secret.key).collect();
        let erased = self.secrets.iter().filter(|secret| secret.is_erased);
        let gone = erased.flat_map(|secret| {
            [
                (!texts.contains(&*secret.text)).then(|| secret.text.clone()),
                (!keys.contains(&*secret.key)).then(|| secret.key.clone()),
                Some(secret.note.clone()),
                // A part of it, which conditions quote.
                secret.note.split(' ').next().map(str::to_uppercase),
            ]
        });
        gone.flatten().collect()
    }

    /// Nothing of what was erased is left that is not of somebody else too, and all others have what they had.
    fn check(&mut self) {
        // Before anything is rewritten that the purges left.
        self.close();
        let files = raw_files(&self.path);
        let alive: Vec<&Secret> = self.secrets.iter().filter(|secret| !secret.is_erased).collect();
        let holds =
            |held: &[u8], what: &str| held.windows(what.len()).any(|part| part == what.as_bytes());
        let is_found = |what: &str| files.iter().any(|(_, held)| holds(held, what));
        assert!(alive.iter().all(|secret| is_found(&secret.key)), "{:#?}", self.log);
        for (file, held) in &files {
            for what in self.gone() {
                let is_held = holds(held, &what[..what.len().min(30)]);
                assert!(!is_held, "{what} in {file}\n{:#?}", self.log);
            }
        }
        self.writer = writer(&self.path);
        self.writer.compact(&Context::new()).unwrap();
        let corpus = reader(&self.path);
        sound_digest(&corpus);
        for secret in &self.secrets {
            let view = corpus.view();
            let standing = view.standing(DocId(secret.id)).unwrap();
            assert_eq!(standing == Standing::Purged, secret.is_erased, "{:#?}", self.log);
            let text = if secret.is_erased { "" } else { &secret.text };
            assert_eq!(view.text(DocId(secret.id)).unwrap(), text, "{:#?}", self.log);
        }
        let gone = self.gone();
        drop(corpus);
        // What is listed of files is written anew when the corpus is opened.
        self.close();
        self.writer = writer(&self.path);
        self.close();
        let root = self.path.to_str().unwrap();
        let words = everything(root);
        for what in gone {
            // The part of a text that most escapes leave as it is.
            let part = &what[..what.len().min(30)];
            for (place, words) in &words {
                assert!(!words.contains(part), "{part} in {place}\n{:#?}", self.log);
            }
            assert_eq!(having(root, part.as_bytes()), [""; 0], "{part}\n{:#?}", self.log);
        }
        let proof = writer(&self.path).prove_purge(None, None, &Context::new()).unwrap();
        let other = (&proof.twins, &proof.other_tables, &proof.families);
        assert!(proof.clean, "{:#?}\n{other:#?}\n{:#?}", proof.findings, self.log);
        self.writer = writer(&self.path);
    }
}

/// What the corpus says of documents, rejected records and commits, with all that they spell.
fn everything(corpus: &str) -> [(&'static str, String); 3] {
    let said = |rows: Vec<serde_json::Value>| {
        rows.iter().map(|row| spelled(&row.to_string(), 4)).collect::<String>()
    };
    [
        ("documents", said(sql(corpus, "SELECT key, text, meta FROM documents"))),
        ("removals", said(sql(corpus, "SELECT * FROM removals"))),
        ("rejects", said(corpusdb(&["rejects", corpus, "--json"]).good().json_lines())),
    ]
}

/// The words and what they spell, by other means than those that are tested.
fn spelled(words: &str, depth: usize) -> String {
    let mut all = words.to_owned();
    if depth == 0 {
        return all;
    }
    for part in words.split('"') {
        if let Ok(serde_json::Value::String(inner)) = serde_json::from_str(&format!("\"{part}\""))
            && inner != part
        {
            all.push_str(&spelled(&inner, depth - 1));
        }
        let trimmed = part.trim_end_matches('\\');
        if let Ok(bytes) = base64::engine::general_purpose::STANDARD.decode(trimmed)
            && trimmed.len() > 12
        {
            all.push_str(&String::from_utf8_lossy(&bytes));
        }
        if part.matches('%').count() > 3 {
            let bytes =
                part.split('%').filter_map(|hex| u8::from_str_radix(hex.get(..2)?, 16).ok());
            all.push_str(&String::from_utf8_lossy(&bytes.collect::<Vec<_>>()));
        }
    }
    all
}

#[test]
fn erased_texts_are_in_no_row_and_no_file_after_any_history() {
    for seed in 0..seeds(16) {
        let mut random = Random::new(seed + 7_000);
        let mut story = PurgeHistory::new();
        story.log.push(format!("seed {seed}"));
        story.ingest(&mut random);
        for _ in 0..random.between(6, 14) {
            match random.below(10) {
                0..=3 => story.ingest(&mut random),
                4 | 5 => story.reject(&mut random),
                6 | 7 => story.remove_or_restore(&mut random),
                _ => story.purge(&mut random),
            }
        }
        story.purge(&mut random);
        story.check();
    }
}

// ----
// Changes of mind that are stopped at each step they tell: one that was through was not stopped, one that was stopped
// left something to do, and the same call again comes to the same corpus.

/// What is stored and by which policy, how many records are set aside, and whether a purge or a redo is to be ended.
fn state(corpus: &Path) -> (String, u64, bool) {
    let corpus = reader(corpus);
    let view = corpus.view();
    let is_purging = view.unended_purge().unwrap().is_some();
    let is_open = is_purging || view.refingerprinted().unwrap().is_some();
    (format!("{} {}", view.policy(), sound_digest(&corpus)), view.state().rejects, is_open)
}

type Change<'a> = &'a dyn Fn(&mut CorpusWriter, &Context<'_>) -> Result<(), Error>;

/// Stops a change of the corpus at every step in turn: how many steps stopped it.
#[track_caller]
fn stopped_everywhere(scratch: &TestDir, corpus: &Path, name: &str, change: Change<'_>) -> usize {
    let whole = scratch.path(&format!("{name}-whole"));
    copy(corpus, &whole);
    change(&mut writer(&whole), &Context::new()).unwrap();
    let expected = state(&whole);
    let mut stopped = 0;
    for at in 0.. {
        let cut = scratch.path(&format!("{name}-{at}"));
        copy(corpus, &cut);
        let stop = StopAt::new(StopWhen::Told(at));
        let mut open = writer(&cut);
        let outcome = change(&mut open, &stop.context());
        drop(open);
        if let Err(error) = &outcome {
            assert!(error.is_interrupt(), "{name}, step {at}: {error}");
            stopped += 1;
            assert_ne!(state(&cut), expected, "{name}, step {at}: stopped, and nothing is left");
            change(&mut writer(&cut), &Context::new()).unwrap();
        }
        assert_eq!(state(&cut), expected, "{name}, step {at}");
        std::fs::remove_dir_all(&cut).unwrap();
        if !stop.is_raised() {
            return stopped;
        }
    }
    stopped
}

/// A crawl with copies, a field, records that cannot be read, and some documents removed.
fn corpus(scratch: &TestDir) -> PathBuf {
    let path = scratch.path("corpus");
    let name = path.display().to_string();
    init(&name, &["--field", "year:int"]);
    let mut pages = crawl(3, 40, true);
    for (at, page) in pages.iter_mut().enumerate() {
        page.fields["year"] = (2000 + at).into();
    }
    let mut text = lines(&pages);
    text.push_str("no record\n{\"text\": 1}\n");
    scratch.ingest(&name, "pages.jsonl", text, &WEB_BY_ID);
    let removed = (0..4).collect();
    let mut open = writer(&path);
    open.remove(&removed, BlockReach::Similar, &Context::new()).unwrap();
    path
}

corpusdb_test!(a_change_that_is_complete_is_not_interrupted, |scratch| {
    let corpus = corpus(&scratch);
    let some = || (2..9).collect();
    let everywhere = |name: &str, change: Change<'_>| {
        assert!(stopped_everywhere(&scratch, &corpus, name, change) > 0, "{name} hears no stop");
    };
    everywhere("remove", &|writer, context| {
        writer.remove(&some(), BlockReach::Similar, context).map(drop)
    });
    everywhere("restore", &|writer, context| writer.restore(&some(), context).map(drop));
    everywhere("undo", &|writer, context| writer.undo(None, None, context).map(drop));
    everywhere("rejects", &|writer, context| {
        writer.drop_rejects(&RejectSelection::default(), context).map(drop)
    });
    everywhere("redo", &|writer, context| {
        let policy = Policy::new(DedupMode::None, 0.8).unwrap();
        writer.redo(&policy, context)?;
        writer.switch(&policy, context)
    });
    everywhere("version", &|writer, context| {
        let now = writer.view().policy().clone();
        let policy = Policy { normaliser: Normaliser::Web, ..now };
        writer.redo(&policy, context)?;
        writer.switch(&policy, context)
    });
    everywhere("add", &|writer, context| {
        let field = NewField { batch: 7, ..NewField::new("again", FieldKind::Keyword) };
        writer.add_field(&field, context).map(drop)
    });
    everywhere("compute", &|writer, context| {
        let (name, expression) = ("size".to_owned(), "length(text)".to_owned());
        let field = ComputedField { name, expression, kind: None, batch: 7 };
        writer.compute_field(&field, context).map(drop)
    });
    everywhere("signals", &|writer, context| {
        let new = NewSignals { signals: Signal::ALL[..2].to_vec(), batch: 7 };
        writer.add_signals(&new, context).map(drop)
    });
    everywhere("purge", &|writer, context| {
        // Those of a purge that was stopped are purged by the next one.
        writer.purge(some(), BlockReach::Exact, true, context).map(drop)
    });
    // Where removals block similar texts, no other part is compared.
    let unblocked = scratch.path("unblocked");
    copy(&corpus, &unblocked);
    writer(&unblocked).restore(&(0..4).collect(), &Context::new()).unwrap();
    let stopped = stopped_everywhere(&scratch, &unblocked, "prompts", &|writer, context| {
        let now = writer.view().policy().clone();
        let policy = Policy { compared: ComparedPart::Prompt, mode: DedupMode::Exact, ..now };
        writer.redo(&policy, context)?;
        writer.switch(&policy, context)
    });
    assert!(stopped > 0);
});

// `redo` said "interrupted" when its last chunk was decided, and `switch` heard nothing.
corpusdb_test!(a_complete_redo_is_not_interrupted_and_a_switch_stops, |scratch| {
    let corpus = corpus(&scratch);
    let policy = Policy::new(DedupMode::None, 0.8).unwrap();
    let before = sound_digest(&reader(&corpus));
    let mut open = writer(&corpus);
    let documents = open.view().documents();
    let stop = StopAt::new(StopWhen::Done(documents));
    let report = open.redo(&policy, &stop.context()).unwrap();
    assert!(stop.is_raised() && report.kept_before > 0, "{report:?}");
    assert!(open.switch(&policy, &stop.context()).unwrap_err().is_interrupt());
    assert_eq!(sound_digest(&reader(&corpus)), before, "what was decided before is in force");
    let again = open.redo(&policy, &Context::new()).unwrap();
    assert_eq!(again, report);
    open.switch(&policy, &Context::new()).unwrap();
    assert_ne!(sound_digest(&reader(&corpus)), before);
});

// The last part of a redo under another version heard no stop and told nothing, and its `switch` could not go on.
corpusdb_test!(a_redo_resumes_while_fingerprints_are_written, |scratch| {
    let corpus = scratch.path("corpus");
    let name = corpus.display().to_string();
    init(&name, &["--mode", "none"]);
    let text = |n: u32| format!("{{\"text\": \"Stra\u{df}e {n}, don\u{2019}t stop\"}}\n");
    let file = scratch.write("texts.jsonl", (0..5000).map(text).collect::<String>());
    ingest(&name, &[&file], &["--source", "web"]);
    let mut open = writer(&corpus);
    let policy = Policy { normaliser: Normaliser::Web, ..open.view().policy().clone() };
    open.redo(&policy, &Context::new()).unwrap();
    // The first advance is that of the commit by which the policy comes into force.
    let stop = StopAt::new(StopWhen::Advance(2));
    let error = open.switch(&policy, &stop.context()).unwrap_err();
    assert!(error.is_interrupt(), "{error}");
    assert_eq!(open.view().refingerprinted().unwrap(), Some(4096));
    assert_eq!(open.view().policy(), &policy);
    sound_digest(&reader(&corpus));
    let before = open.view().commit();
    open.switch(&policy, &Context::new()).unwrap();
    assert_eq!(open.view().commit().0, before.0 + 1, "one commit was left to make");
    assert_eq!(open.view().refingerprinted().unwrap(), None);
    sound_digest(&reader(&corpus));
});

// A proof that was stopped while rows were read said that what was compacted stays so.
corpusdb_test!(a_stopped_proof_says_how_to_go_on, |scratch| {
    let corpus = corpus(&scratch);
    let interrupt = Interrupt::default();
    interrupt.raise();
    let context = Context::new().with_interrupt(&interrupt);
    let error = writer(&corpus).prove_purge(None, None, &context).unwrap_err();
    assert!(error.is_interrupt(), "{error}");
    assert_eq!(error.to_string(), "interrupted; run the same command again to continue");
});
