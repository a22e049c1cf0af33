//! Backups: one commit, taken beside a writer; restored whole or not at all; damage, kills and careless uses.

use crate::support::{
    MEMORY, Page, Random, Scratch, command, corpusdb, crawl, digest, ingest, init, lines, reader,
    seeds, sound, sound_digest, writer,
};
use corpusdb::curate::BlockReach;
use corpusdb::ingest::ReadOptions;
use corpusdb::{Backups, Context, Corpus, CorpusWriter, Error, IngestOptions};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

const HOW: [&str; 4] = ["--source", "web", "--id-field", "id"];

fn create(corpus: &str, directory: &str) -> Value {
    corpusdb(&["backup", "create", corpus, directory, "--json"]).good().json()
}

fn restored(directory: &str, target: &str, commit: u64) {
    corpusdb(&["backup", "restore", directory, target, "--id", &commit.to_string()]).good();
}

/// All files below a directory, with their bytes.
fn files(below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

#[test]
fn a_backup_is_one_commit_and_comes_back_whole_with_an_identity_of_its_own() {
    let scratch = Scratch::new();
    let (corpus, directory) = (scratch.arg("corpus"), scratch.arg("backups"));
    let pages = crawl(5, 400, true);
    init(&corpus, &["--field", "year:int"]);
    let mut taken = Vec::new();
    for (at, part) in pages.chunks(100).enumerate() {
        let file = scratch.write(&format!("{at}.jsonl"), lines(part));
        ingest(&corpus, &[&file], &HOW);
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
    let listed = corpusdb(&["backup", "list", &directory, "--json"]).good().json_lines();
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
        let file = scratch.write("more.jsonl", lines(&crawl(*commit, 20, true)));
        ingest(&target, &[&file], &HOW);
        corpusdb(&["compact", &target]).good();
        sound(&target);
    }
    // The newest, unless another is asked for.
    let newest = scratch.arg("newest");
    corpusdb(&["backup", "restore", &directory, &newest]).good();
    assert_eq!(digest(&newest), taken[3].1);
    let (first, size) = (taken[0].0.to_string(), || files(Path::new(&directory)).len());
    let before = size();
    let dropped = corpusdb(&["backup", "drop", &directory, &first, "--json"]).good().json();
    assert_eq!(size() as u64 + dropped["files"].as_u64().unwrap() + 1, before as u64);
    corpusdb(&["backup", "verify", &directory]).good();
    corpusdb(&["backup", "drop", &directory, &first])
        .fails(&["no backup of commit", &taken[1].0.to_string()]);
}

#[test]
fn beside_a_working_writer_every_backup_is_a_commit_of_it() {
    let scratch = Scratch::new();
    let (corpus, directory) = (scratch.arg("corpus"), scratch.arg("backups"));
    init(&corpus, &[]);
    let file = scratch.write("pages.jsonl", lines(&crawl(8, 3000, true)));
    let work =
        ["ingest", &corpus, &file, "--batch-bytes", "4kB", "--source", "web", "--id-field", "id"];
    let mut child = command(&work)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
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
}

#[test]
fn killed_at_any_moment_a_backup_harms_none_before_it() {
    let scratch = Scratch::new();
    let (corpus, directory) = (scratch.arg("corpus"), scratch.arg("backups"));
    init(&corpus, &[]);
    let mut random = Random::new(31);
    let (mut whole, mut killed) = (BTreeMap::new(), 0);
    for round in 0..seeds(12) {
        let pages = crawl(100 + round, 60, true);
        let file = scratch.write(&format!("{round}.jsonl"), lines(&pages));
        ingest(&corpus, &[&file], &HOW);
        let mut child = command(&["backup", "create", &corpus, &directory])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(random.below(60_000) as u64));
        let was_over = child.try_wait().unwrap().is_some();
        child.kill().unwrap();
        child.wait().unwrap();
        killed += u64::from(!was_over);
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
    assert!(killed * 3 > seeds(12), "only {killed} were killed before their end");
    // What the killed ones held of the corpus is swept by the next writer.
    ingest(&corpus, &[&scratch.write("last.jsonl", lines(&crawl(7, 5, true)))], &HOW);
    let left = std::fs::read_dir(&corpus).unwrap().flatten();
    assert!(
        left.filter(|entry| entry.file_name().to_string_lossy().starts_with("opening")).count()
            == 0
    );
}

#[test]
fn what_is_damaged_is_named_and_nothing_is_made_of_it() {
    let scratch = Scratch::new();
    let (corpus, directory) = (scratch.arg("corpus"), scratch.arg("backups"));
    init(&corpus, &[]);
    ingest(&corpus, &[&scratch.write("a.jsonl", lines(&crawl(3, 200, true)))], &HOW);
    let commit = create(&corpus, &directory)["commit"].as_u64().unwrap();
    let target = scratch.arg("restored");
    let mut random = Random::new(77);
    for file in files(&Path::new(&directory).join("files")) {
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
        corpusdb(&["backup", "list", &directory]).fails(&[&format!("{commit}.json")]);
    }
    // A path that leads out of the corpus is none, whoever wrote it.
    let evil = text.replacen("db/CURRENT", "../CURRENT", 1);
    std::fs::write(&manifest, evil).unwrap();
    corpusdb(&["backup", "restore", &directory, &target]).fails(&[&format!("{commit}.json")]);
    std::fs::write(&manifest, text).unwrap();
    corpusdb(&["backup", "restore", &directory, &target]).good();
    let left: Vec<_> = std::fs::read_dir(scratch.path("")).unwrap().flatten().collect();
    assert!(left.iter().all(|entry| !entry.file_name().to_string_lossy().contains("restoring")));
}

#[test]
fn a_directory_for_backups_is_for_those_of_one_corpus_alone() {
    let scratch = Scratch::new();
    let (corpus, other, directory) =
        (scratch.arg("corpus"), scratch.arg("other"), scratch.arg("backups"));
    init(&corpus, &[]);
    init(&other, &[]);
    scratch.write("taken/file", "x");
    corpusdb(&["backup", "create", &corpus, &scratch.arg("taken")]).fails(&["holds other things"]);
    corpusdb(&["backup", "list", &scratch.arg("taken")]).fails(&["there are no backups"]);
    corpusdb(&["backup", "create", &scratch.arg("absent"), &directory]).fails(&["is not a corpus"]);
    assert!(!Path::new(&directory).exists(), "what is no corpus makes no directory");
    create(&corpus, &directory);
    corpusdb(&["backup", "create", &other, &directory]).fails(&["backups of another corpus"]);
    corpusdb(&["backup", "restore", &directory, &corpus]).fails(&["already exists"]);
    corpusdb(&["backup", "restore", &directory, &scratch.arg("taken")]).fails(&["already exists"]);
    corpusdb(&["backup", "restore", &directory, &scratch.arg("new"), "--id", "99"])
        .fails(&["no backup of commit 99", "there is 1"]);
    // Into an empty directory, as `init` does.
    std::fs::create_dir(scratch.path("empty")).unwrap();
    corpusdb(&["backup", "restore", &directory, &scratch.arg("empty")]).good();
    sound(&scratch.arg("empty"));
}

/// A restore that was killed leaves what it had made beside its target; the next one to that target clears it.
#[test]
fn what_a_killed_restore_left_is_cleared_by_the_next_one_to_its_target() {
    let scratch = Scratch::new();
    let (corpus, directory, target) =
        (scratch.arg("corpus"), scratch.arg("backups"), scratch.arg("restored"));
    init(&corpus, &[]);
    ingest(&corpus, &[&scratch.write("a.jsonl", lines(&crawl(3, 2000, true)))], &HOW);
    create(&corpus, &directory);
    let left = || {
        let entries = std::fs::read_dir(scratch.path("")).unwrap().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().contains("restoring")).count()
    };
    let mut random = Random::new(5);
    for _ in 0..seeds(60) {
        let mut child = command(&["backup", "restore", &directory, &target])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(random.below(40_000) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
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
}

/// A copy that was made file by file beside a writer is no backup, and says so when it is opened.
#[test]
fn a_copy_without_its_last_files_is_refused_with_the_way_to_make_one() {
    let scratch = Scratch::new();
    let (corpus, copy) = (scratch.path("corpus"), scratch.path("copy"));
    init(corpus.to_str().unwrap(), &[]);
    let file = scratch.write("a.jsonl", lines(&crawl(4, 50, true)));
    // The database first, the journal after the writer went on.
    crate::support::copy(&corpus, &copy);
    ingest(corpus.to_str().unwrap(), &[&file], &HOW);
    std::fs::copy(corpus.join("journal"), copy.join("journal")).unwrap();
    corpusdb(&["info", copy.to_str().unwrap()])
        .fails(&["lost acknowledged commits", "backup create"]);
}

/// One corpus through ingests, removals, backups, restores in its place, and drops, against what was said of each.
#[test]
fn histories_with_backups_lose_and_mix_up_nothing() {
    for seed in 0..seeds(20) {
        let scratch = Scratch::new();
        let backups = Backups::at(scratch.path("backups"));
        let mut random = Random::new(900 + seed);
        let mut place = scratch.path("corpus-0");
        init(place.to_str().unwrap(), &["--threshold", "0.7"]);
        let mut known: BTreeMap<u64, String> = BTreeMap::new();
        let pages: Vec<Page> = crawl(seed, 120, true);
        for step in 1..14 {
            match random.below(6) {
                0 | 1 => {
                    let from = random.below(pages.len());
                    let part = &pages[from..(from + 30).min(pages.len())];
                    let file = scratch.write(&format!("{step}.jsonl"), lines(part));
                    let read =
                        ReadOptions { id_field: Some("id".to_owned()), ..ReadOptions::default() };
                    let options =
                        IngestOptions { read, batch_bytes: 3000, ..IngestOptions::new("web") };
                    writer(&place).ingest(&[file], &options, &[], &Context::new()).unwrap();
                }
                2 => {
                    let mut open: CorpusWriter = writer(&place);
                    let some = open.view().kept().unwrap().iter().step_by(5).collect();
                    open.remove(&some, BlockReach::Exact, &Context::new()).unwrap();
                }
                3 | 4 => {
                    let found = backups.create(&place, &Context::new());
                    match found {
                        Ok(report) => {
                            let corpus = Corpus::options().memory(MEMORY).open(&place).unwrap();
                            assert_eq!(report.commit, corpus.view().commit().0);
                            known.insert(report.commit, corpus.digest(&Context::new()).unwrap());
                        }
                        // One that was restored is another corpus.
                        Err(Error::Store(error)) => {
                            assert!(error.to_string().contains("another corpus"), "{error}");
                            assert!(place.ends_with(format!("corpus-{}", step - 1)) || step > 1);
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
                _ if known.is_empty() => {}
                _ => {
                    let (commit, expected) = known.iter().nth(random.below(known.len())).unwrap();
                    let (commit, expected) = (*commit, expected.clone());
                    if random.below(3) == 0 {
                        backups.drop_backup(commit, &Context::new()).unwrap();
                        known.remove(&commit);
                    } else {
                        place = scratch.path(&format!("corpus-{step}"));
                        let record =
                            backups.restore(&place, Some(commit), &Context::new()).unwrap();
                        assert_eq!(record.commit, commit);
                        assert_eq!(
                            sound_digest(&reader(&place)),
                            expected,
                            "seed {seed}, step {step}"
                        );
                    }
                }
            }
            if let Ok(listed) = backups.list(&Context::new()) {
                let listed: Vec<u64> = listed.iter().map(|record| record.commit).collect();
                assert_eq!(
                    listed,
                    known.keys().copied().collect::<Vec<_>>(),
                    "seed {seed}, step {step}"
                );
            }
        }
        if !known.is_empty() {
            assert!(backups.verify(&Context::new()).unwrap().faults.is_empty(), "seed {seed}");
        }
    }
}
