//! Backups: one commit, taken beside a writer; restored whole or not at all; damage, kills and careless uses.

use crate::support::{
    MEMORY, Page, Random, TestDir, WEB_BY_ID, corpusdb, corpusdb_test, crawl, digest, file_names,
    ingest, init, kill, lines, paths_below, reader, seeds, silent, sound, sound_digest, writer,
};
use corpusdb::curate::BlockReach;
use corpusdb::ingest::ReadOptions;
use corpusdb::{Backups, Context, Corpus, IngestOptions};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn create(corpus: &str, directory: &str) -> Value {
    corpusdb(&["backup", "create", corpus, directory, "--json"]).good().json()
}

fn restored(directory: &str, target: &str, commit: u64) {
    corpusdb(&["backup", "restore", directory, target, "--id", &commit.to_string()]).good();
}

corpusdb_test!(a_backup_is_one_commit_and_restores_with_a_new_identity, |scratch| {
    let (corpus, directory) = (scratch.arg("corpus"), scratch.arg("backups"));
    let pages = crawl(5, 400, true);
    init(&corpus, &["--field", "year:int"]);
    let mut taken = Vec::new();
    for (at, part) in pages.chunks(100).enumerate() {
        scratch.ingest(&corpus, &format!("{at}.jsonl"), lines(part), &WEB_BY_ID);
        let report = create(&corpus, &directory);
        taken.push((report["commit"].as_u64().unwrap(), digest(&corpus)));
        let documents = reader(Path::new(&corpus)).view().documents();
        assert_eq!(report["documents"].as_u64(), Some(documents));
        if at > 0 {
            // What was there is shared.
            assert!(report["new_bytes"].as_u64() < report["bytes"].as_u64(), "{report}");
        }
        // The same commit again takes nothing.
        assert_eq!(create(&corpus, &directory)["new_files"], 0);
    }
    let listed = corpusdb(&["backup", "show", &directory, "--json"]).good().json_lines();
    let commits: Vec<u64> = listed.iter().map(|row| row["commit"].as_u64().unwrap()).collect();
    assert_eq!(commits, taken.iter().map(|(commit, _)| *commit).collect::<Vec<_>>());
    assert_eq!(corpusdb(&["backup", "verify", &directory]).good().stdout, "4 backups: whole\n");
    for (commit, expected) in &taken {
        let target = scratch.arg(&format!("restored-{commit}"));
        restored(&directory, &target, *commit);
        let found = reader(Path::new(&target));
        assert_eq!((found.view().commit().0, sound_digest(&found)), (*commit, expected.clone()));
        drop(found);
        // It goes on as a corpus of its own: its backups are no others'.
        corpusdb(&["backup", "create", &target, &directory]).fails(&["backups of another corpus"]);
        scratch.ingest(&target, "more.jsonl", lines(&crawl(*commit, 20, true)), &WEB_BY_ID);
        corpusdb(&["compact", &target]).good();
        sound(&target);
    }
    // The newest, unless another is asked for.
    let newest = scratch.arg("newest");
    corpusdb(&["backup", "restore", &directory, &newest]).good();
    assert_eq!(digest(&newest), taken[3].1);
    let (first, size) = (taken[0].0.to_string(), || paths_below(Path::new(&directory)).len());
    let before = size();
    let dropped = corpusdb(&["backup", "drop", &directory, &first, "--json"]).good().json();
    assert_eq!(size() as u64 + dropped["files"].as_u64().unwrap() + 1, before as u64);
    corpusdb(&["backup", "verify", &directory]).good();
    corpusdb(&["backup", "drop", &directory, &first])
        .fails(&["no backup of commit", &taken[1].0.to_string()]);
});

corpusdb_test!(beside_a_working_writer_every_backup_is_a_commit_of_it, |scratch| {
    let (corpus, directory) = (scratch.arg("corpus"), scratch.arg("backups"));
    init(&corpus, &[]);
    let file = scratch.write("pages.jsonl", lines(&crawl(8, 3000, true)));
    let work =
        ["ingest", &corpus, &file, "--batch-bytes", "4kB", "--source", "web", "--id-field", "id"];
    let mut child = silent(&work);
    let mut commits = BTreeMap::new();
    while child.try_wait().unwrap().is_none() {
        let report = create(&corpus, &directory);
        commits.insert(report["commit"].as_u64().unwrap(), report["documents"].as_u64().unwrap());
    }
    assert!(child.wait().unwrap().success());
    assert!(commits.len() > 2, "only {} moments were taken", commits.len());
    corpusdb(&["backup", "verify", &directory]).good();
    let expected = digest(&corpus);
    for (at, (commit, documents)) in commits.iter().enumerate() {
        let target = scratch.arg(&format!("restored-{at}"));
        restored(&directory, &target, *commit);
        let found = reader(Path::new(&target));
        sound_digest(&found);
        assert_eq!((found.view().commit().0, found.view().documents()), (*commit, *documents));
        drop(found);
        if at < 3 {
            // The interrupted ingest is finished there.
            corpusdb(&[&["ingest", &target], &work[2..]].concat()).good();
            assert_eq!(digest(&target), expected);
        }
        std::fs::remove_dir_all(&target).unwrap();
    }
});

corpusdb_test!(killed_at_any_moment_a_backup_harms_none_before_it, |scratch| {
    let (corpus, directory) = (scratch.arg("corpus"), scratch.arg("backups"));
    init(&corpus, &[]);
    let mut random = Random::new(31);
    let (mut whole, mut count) = (BTreeMap::new(), 0);
    for round in 0..seeds(12) {
        let pages = crawl(100 + round, 60, true);
        scratch.ingest(&corpus, &format!("{round}.jsonl"), lines(&pages), &WEB_BY_ID);
        let words = ["backup", "create", &corpus, &directory];
        count += u64::from(killed(&words, &mut random, Duration::from_millis(25)));
        let expected = digest(&corpus);
        let commit = reader(Path::new(&corpus)).view().commit().0;
        if whole.is_empty() && !Path::new(&directory).join("corpusdb-backups").exists() {
            continue;
        }
        let found = corpusdb(&["backup", "verify", &directory, "--json"]).good().json();
        let listed: Vec<u64> =
            found["backups"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
        for commit in whole.keys() {
            assert!(listed.contains(commit), "backup {commit} is gone");
        }
        if listed.contains(&commit) {
            whole.insert(commit, expected.clone());
        }
        if round % 3 == 2 {
            // What was left is taken over, and nothing stands in the way.
            create(&corpus, &directory);
            whole.insert(commit, expected);
            let (at, expected) = whole.iter().nth(random.below(whole.len())).unwrap();
            let target = scratch.arg("restored");
            restored(&directory, &target, *at);
            assert_eq!(&digest(&target), expected, "round {round}, commit {at}");
            std::fs::remove_dir_all(&target).unwrap();
        }
    }
    assert!(count * 3 > seeds(12), "only {count} were killed before their end");
    // What the killed ones held of the corpus is swept by the next writer.
    ingest(&corpus, &[&scratch.write("last.jsonl", lines(&crawl(7, 5, true)))], &WEB_BY_ID);
    assert!(!file_names(&corpus).iter().any(|name| name.starts_with("opening")));
});

corpusdb_test!(damaged_backups_are_named_and_not_restored, |scratch| {
    let (corpus, directory) = (scratch.arg("corpus"), scratch.arg("backups"));
    init(&corpus, &[]);
    ingest(&corpus, &[&scratch.write("a.jsonl", lines(&crawl(3, 200, true)))], &WEB_BY_ID);
    let commit = create(&corpus, &directory)["commit"].as_u64().unwrap();
    let target = scratch.arg("restored");
    let mut random = Random::new(77);
    for file in paths_below(&Path::new(&directory).join("files")) {
        let sound = std::fs::read(&file).unwrap();
        if sound.is_empty() {
            continue;
        }
        let mut damaged = sound.clone();
        match random.below(3) {
            0 => damaged[random.below(sound.len())] ^= 0x20,
            1 => damaged.truncate(random.below(sound.len())),
            _ => damaged.push(0),
        }
        std::fs::write(&file, &damaged).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        let found = corpusdb(&["backup", "verify", &directory]);
        assert_eq!(found.code, Some(1), "{found}");
        assert!(found.stdout.contains(name) && found.stdout.contains("db/"), "{found}");
        corpusdb(&["backup", "restore", &directory, &target])
            .fails(&[name, "is not what was backed up"]);
        assert!(!Path::new(&target).exists());
        std::fs::write(&file, &sound).unwrap();
    }
    let manifest = Path::new(&directory).join(format!("{commit}.json"));
    let text = std::fs::read_to_string(&manifest).unwrap();
    for other in
        [text.replacen("\"bytes\": ", "\"bytes\": 1", 1), text[..text.len() / 2].to_owned()]
    {
        std::fs::write(&manifest, other).unwrap();
        let found = corpusdb(&["backup", "verify", &directory]);
        assert_eq!(found.code, Some(1), "{found}");
        corpusdb(&["backup", "restore", &directory, &target]).fails(&[&format!("{commit}.json")]);
        corpusdb(&["backup", "show", &directory]).fails(&[&format!("{commit}.json")]);
    }
    // A path that leads out of the corpus is none, whoever wrote it.
    let evil = text.replacen("db/CURRENT", "../CURRENT", 1);
    std::fs::write(&manifest, evil).unwrap();
    corpusdb(&["backup", "restore", &directory, &target]).fails(&[&format!("{commit}.json")]);
    std::fs::write(&manifest, text).unwrap();
    corpusdb(&["backup", "restore", &directory, &target]).good();
    assert!(file_names(scratch.path("")).iter().all(|name| !name.contains("restoring")));
});

corpusdb_test!(a_directory_for_backups_is_for_those_of_one_corpus_alone, |scratch| {
    let (corpus, other, directory) =
        (scratch.arg("corpus"), scratch.arg("other"), scratch.arg("backups"));
    init(&corpus, &[]);
    init(&other, &[]);
    scratch.write("taken/file", "x");
    corpusdb(&["backup", "create", &corpus, &scratch.arg("taken")]).fails(&["has other files"]);
    corpusdb(&["backup", "show", &scratch.arg("taken")])
        .fails(&["no backup", "`corpusdb backup create`"]);
    corpusdb(&["backup", "create", &scratch.arg("absent"), &directory]).fails(&["is not a corpus"]);
    assert!(!Path::new(&directory).exists(), "what is no corpus makes no directory");
    create(&corpus, &directory);
    corpusdb(&["backup", "create", &other, &directory]).fails(&["backups of another corpus"]);
    corpusdb(&["backup", "restore", &directory, &corpus]).fails(&[
        "already exists and is not an empty directory; restore beside it, then exchange the two",
    ]);
    corpusdb(&["backup", "restore", &directory, &scratch.arg("taken")]).fails(&["already exists"]);
    corpusdb(&["backup", "restore", &directory, &scratch.arg("new"), "--id", "99"])
        .fails(&["no backup of commit 99; there is `1`"]);
    // Into an empty directory, as `init` does.
    std::fs::create_dir(scratch.path("empty")).unwrap();
    corpusdb(&["backup", "restore", &directory, &scratch.arg("empty")]).good();
    sound(&scratch.arg("empty"));
});

// A restore that was killed leaves what it had made beside its target; the next one to that target clears it.
corpusdb_test!(leftovers_of_a_killed_restore_are_cleared_by_the_next, |scratch| {
    let (corpus, directory, target) =
        (scratch.arg("corpus"), scratch.arg("backups"), scratch.arg("restored"));
    init(&corpus, &[]);
    ingest(&corpus, &[&scratch.write("a.jsonl", lines(&crawl(3, 2000, true)))], &WEB_BY_ID);
    create(&corpus, &directory);
    let left = || {
        let names = file_names(scratch.path("")).into_iter();
        names.filter(|name| name.contains("restoring")).count()
    };
    let mut random = Random::new(5);
    for _ in 0..seeds(60) {
        let mut child = silent(&["backup", "restore", &directory, &target]);
        std::thread::sleep(Duration::from_micros(random.below(40_000) as u64));
        kill(&mut child);
        // Whole, or not there.
        match Path::new(&target).exists() {
            true => std::fs::remove_dir_all(&target).unwrap(),
            false if left() > 0 => break,
            false => {}
        }
    }
    assert_eq!(left(), 1, "no restore was killed on its way");
    // That of another target is not this one's to clear.
    corpusdb(&["backup", "restore", &directory, &scratch.arg("other")]).good();
    assert_eq!(left(), 1);
    corpusdb(&["backup", "restore", &directory, &target]).good();
    assert_eq!(left(), 0);
    assert_eq!(digest(&target), digest(&corpus));
    assert!(!Path::new(&target).join("alive").exists());
});

// A copy that was made file by file beside a writer is no backup, and says so when it is opened.
corpusdb_test!(an_incomplete_copy_is_refused_with_the_way_out, |scratch| {
    let (corpus, copy) = (scratch.path("corpus"), scratch.path("copy"));
    init(corpus.to_str().unwrap(), &[]);
    let file = scratch.write("a.jsonl", lines(&crawl(4, 50, true)));
    // The database first, the journal after the writer went on.
    crate::support::copy(&corpus, &copy);
    ingest(corpus.to_str().unwrap(), &[&file], &WEB_BY_ID);
    std::fs::copy(corpus.join("journal"), copy.join("journal")).unwrap();
    corpusdb(&["info", copy.to_str().unwrap()])
        .fails(&["lost acknowledged commits", "backup create"]);
});

/// Runs the command, and kills it within that time; answers whether it was still running.
fn killed(words: &[&str], random: &mut Random, within: Duration) -> bool {
    let mut child = silent(words);
    std::thread::sleep(Duration::from_micros(random.below(within.as_micros() as usize) as u64));
    let was_over = child.try_wait().unwrap().is_some();
    kill(&mut child);
    !was_over
}

/// One corpus through ingests, removals, backups, restores and drops, any of them killed, against what was known of
/// each commit that was backed up.
struct BackupHistory {
    scratch: TestDir,
    random: Random,
    pages: Vec<Page>,
    /// Where the corpus is, and its backups: what was restored may take its place.
    place: PathBuf,
    directory: String,
    /// The digest of each commit that is backed up.
    known: BTreeMap<u64, String>,
    killed: u64,
}

impl BackupHistory {
    fn new(seed: u64) -> Self {
        let scratch = TestDir::new();
        let place = scratch.path("corpus-0");
        init(place.to_str().unwrap(), &["--threshold", "0.7"]);
        Self {
            directory: scratch.arg("backups"),
            random: Random::new(900 + seed),
            pages: crawl(seed, 120, true),
            place,
            known: BTreeMap::new(),
            killed: 0,
            scratch,
        }
    }

    fn backups(&self) -> Backups {
        Backups::at(&self.directory)
    }

    /// Whether this step is killed; it is run with `words` then.
    fn is_killed(&mut self, words: &[&str]) -> bool {
        let is_killed = self.random.chance(40);
        if is_killed {
            let within = Duration::from_millis(120);
            self.killed += u64::from(killed(words, &mut self.random, within));
        }
        is_killed
    }

    fn ingest(&mut self, step: u64) {
        let from = self.random.below(self.pages.len());
        let part = &self.pages[from..(from + 30).min(self.pages.len())];
        let file = self.scratch.write(&format!("{step}.jsonl"), lines(part));
        let place = self.place.display().to_string();
        let words =
            [&["ingest", &place, &file, "--batch-bytes", "3kB"][..], &WEB_BY_ID[..]].concat();
        if !self.is_killed(&words) {
            let read = ReadOptions { id_field: Some("id".to_owned()), ..ReadOptions::default() };
            let options = IngestOptions { read, batch_bytes: 3000, ..IngestOptions::new("web") };
            writer(&self.place).ingest(&[file], &options, &Context::new()).unwrap();
        }
    }

    fn remove(&mut self) {
        let kept = reader(&self.place).view().kept().unwrap();
        let place = self.place.display().to_string();
        let some: Vec<String> = kept.iter().step_by(5).map(|id| id.to_string()).collect();
        let mut words = vec!["remove", &place];
        words.extend(some.iter().map(String::as_str));
        if !some.is_empty() && !self.is_killed(&words) {
            let some = kept.iter().step_by(5).collect();
            writer(&self.place).remove(&some, BlockReach::Exact, &Context::new()).unwrap();
        }
    }

    fn back_up(&mut self) {
        let (place, directory) = (self.place.display().to_string(), self.directory.clone());
        if !self.is_killed(&["backup", "create", &place, &directory]) {
            self.backups().create(&self.place, &Context::new()).unwrap();
        }
        let corpus = Corpus::options().memory(MEMORY).open(&self.place).unwrap();
        let commit = corpus.view().commit().0;
        let listed = self.backups().list(&Context::new()).unwrap_or_default();
        if listed.iter().any(|record| record.commit == commit) {
            let digest = corpus.digest(&Context::new()).unwrap();
            self.known.entry(commit).or_insert(digest);
        }
    }

    fn drop_backup(&mut self, commit: u64) {
        let (directory, id) = (self.directory.clone(), commit.to_string());
        let is_gone = if self.is_killed(&["backup", "drop", &directory, &id]) {
            self.backups()
                .list(&Context::new())
                .unwrap()
                .iter()
                .all(|record| record.commit != commit)
        } else {
            self.backups().drop_backup(commit, &Context::new()).unwrap();
            true
        };
        if is_gone {
            self.known.remove(&commit);
        }
    }

    fn restore(&mut self, step: u64, commit: u64) {
        let place = self.scratch.path(&format!("corpus-{step}"));
        let (directory, id) = (self.directory.clone(), commit.to_string());
        let target = place.display().to_string();
        self.is_killed(&["backup", "restore", &directory, &target, "--id", &id]);
        if !place.exists() {
            let record = self.backups().restore(&place, Some(commit), &Context::new()).unwrap();
            assert_eq!(record.commit, commit);
        }
        let corpus = reader(&place);
        assert_eq!(corpus.view().commit().0, commit);
        assert_eq!(sound_digest(&corpus), self.known[&commit], "step {step}, commit {commit}");
        // It is another corpus, with backups of its own.
        if self.random.chance(40) {
            self.place = place;
            self.directory = self.scratch.arg(&format!("backups-{step}"));
            self.known.clear();
        }
    }

    fn step(&mut self, step: u64) {
        match self.random.below(6) {
            0 | 1 => self.ingest(step),
            2 => self.remove(),
            3 | 4 => self.back_up(),
            _ if self.known.is_empty() => {}
            _ => {
                let at = self.random.below(self.known.len());
                let commit = *self.known.keys().nth(at).unwrap();
                if self.random.below(3) == 0 {
                    self.drop_backup(commit);
                } else {
                    self.restore(step, commit);
                }
            }
        }
        sound_digest(&reader(&self.place));
        if let Ok(listed) = self.backups().list(&Context::new()) {
            let listed: Vec<u64> = listed.iter().map(|record| record.commit).collect();
            assert_eq!(listed, self.known.keys().copied().collect::<Vec<_>>(), "step {step}");
        }
    }

    /// Every backup that is left is whole, and is what it was.
    fn end(mut self) -> u64 {
        if !self.known.is_empty() {
            assert!(self.backups().verify(&Context::new()).unwrap().faults.is_empty());
        }
        let last = self.known.keys().next_back().copied();
        if let Some(commit) = last {
            self.restore(99, commit);
        }
        self.killed
    }
}

#[test]
fn kills_in_histories_with_backups_lose_nothing() {
    let mut killed = 0;
    for seed in 0..seeds(12) {
        let mut history = BackupHistory::new(seed);
        for step in 1..14 {
            history.step(step);
        }
        killed += history.end();
    }
    assert!(killed > seeds(12), "only {killed} commands were killed before their end");
}

// A writer that was killed while it wrote left a piece of a record, which a restored corpus took for a hole in a commit.
corpusdb_test!(a_backup_of_a_torn_log_is_restored_without_the_piece, |scratch, corpus| {
    let (backups, again) = (scratch.arg("backups"), scratch.arg("again"));
    scratch.ingest(&corpus, "a.jsonl", lines(&crawl(4, 2000, false)), &["--source", "web"]);
    corpusdb(&["compact", &corpus]).good();
    // Little beside the tables stays in the log.
    let page = Page::new("one page of a harbour wall and of what stands on it");
    scratch.ingest(&corpus, "b.jsonl", lines(&[page]), &["--source", "web"]);
    let log = paths_below(&Path::new(&corpus).join("db")).into_iter().rev();
    let mut logs = log.filter(|path| path.extension().is_some_and(|end| end == "log"));
    let log = logs.find(|path| path.metadata().unwrap().len() > 0).expect("it is in the log");
    // The header of a record of 3,000 bytes, of which 40 were written.
    let torn = [&[1, 2, 3, 4, 0xb8, 0x0b, 1][..], &[7; 40]].concat();
    let mut bytes = std::fs::read(&log).unwrap();
    bytes.extend(torn);
    std::fs::write(&log, bytes).unwrap();
    let before = digest(&corpus);
    corpusdb(&["backup", "create", &corpus, &backups]).good();
    corpusdb(&["backup", "restore", &backups, &again]).good();
    assert_eq!(digest(&again), before);
    ingest(&again, &[&scratch.write("c.jsonl", lines(&crawl(5, 3, false)))], &["--source", "web"]);
    sound(&again);
});
