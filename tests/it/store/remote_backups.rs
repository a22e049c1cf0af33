//! Backups in a store of objects: as those of a directory, with marks in the place of a lock.

use crate::support::server::{Server, State};
use crate::support::{
    Ran, Random, StopAt, StopWhen, TestDir, WEB_BY_ID, command, corpusdb, corpusdb_test, crawl,
    digest, ingest, init, kill, lines, paths_below, ran, reader, seeds, sound,
};
use corpusdb::remote::ObjectStores;
use corpusdb::{Backups, Context, Error};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const PLACE: &str = "s3://b/backups/crawl";

/// A bucket with an object of somebody else.
fn bucket(state: State) -> Server {
    let server = Server::start(state);
    server.state().files.insert("b/other".to_owned(), b"x".to_vec());
    server
}

/// Runs `backup` with a server as the store of its environment.
fn backup(server: &Server, arguments: &[&str]) -> Ran {
    let arguments = [&["backup"], arguments].concat();
    let mut command = command(&arguments);
    command.stdin(Stdio::null()).envs(server.store());
    ran(&arguments, command.output().unwrap())
}

fn begun(server: &Server, arguments: &[&str]) -> Child {
    let mut command = command(&[&["backup"], arguments].concat());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.envs(server.store()).spawn().unwrap()
}

fn create(server: &Server, corpus: &str) -> Value {
    backup(server, &["create", corpus, PLACE, "--json"]).good().json()
}

/// The backups from a program, with the server as their store.
fn backups(server: &Server) -> Backups {
    let stores = ObjectStores::new(server.store().map(|(name, value)| (name.to_owned(), value)));
    Backups::at(PLACE).with_stores(stores)
}

/// Names of the objects of backups that begin so.
fn objects(server: &Server, below: &str) -> BTreeSet<String> {
    let state = server.state();
    let names = state.files.keys().filter_map(|name| name.strip_prefix("b/backups/crawl/"));
    names.filter(|name| name.starts_with(below)).map(str::to_owned).collect()
}

fn more(scratch: &TestDir, corpus: &str, seed: u64, count: usize) {
    scratch.ingest(corpus, &format!("{seed}.jsonl"), lines(&crawl(seed, count, true)), &WEB_BY_ID);
}

corpusdb_test!(backups_in_a_bucket_are_those_of_a_directory, |scratch| {
    // Without conditions, too, and with connections that are cut.
    for no_conditions in [false, true] {
        let server = bucket(State { no_conditions, cuts: (6, 2000), ..State::default() });
        let corpus = scratch.arg(&format!("corpus-{no_conditions}"));
        let directory = scratch.arg(&format!("backups-{no_conditions}"));
        init(&corpus, &[]);
        let mut taken = Vec::new();
        for seed in 1..4 {
            more(&scratch, &corpus, seed, 150);
            let report = create(&server, &corpus);
            corpusdb(&["backup", "create", &corpus, &directory]).good();
            taken.push((report["commit"].as_u64().unwrap(), digest(&corpus)));
            assert_eq!(create(&server, &corpus)["new_files"], 0);
        }
        assert_eq!(server.state().cuts.0, 0, "nothing was cut");
        let mut local = BTreeSet::new();
        for path in paths_below(&Path::new(&directory).join("files")) {
            let name = path.strip_prefix(&directory).unwrap().to_str().unwrap().to_owned();
            let bytes = std::fs::read(&path).unwrap();
            let key = format!("b/backups/crawl/{name}");
            assert!(server.state().files[&key] == bytes, "{name} has other bytes");
            local.insert(name);
        }
        assert_eq!(objects(&server, "files/"), local);
        assert_eq!(objects(&server, "marks/"), BTreeSet::new());
        let list = |place: &str| backup(&server, &["show", place]).good().stdout;
        assert_eq!(list(PLACE), list(&directory));
        assert_eq!(backup(&server, &["verify", PLACE]).good().stdout, "3 backups: whole\n");
        for (commit, expected) in &taken {
            let target = scratch.arg(&format!("restored-{no_conditions}-{commit}"));
            backup(&server, &["restore", PLACE, &target, "--id", &commit.to_string()]).good();
            assert_eq!(&digest(&target), expected);
            sound(&target);
            backup(&server, &["create", &target, PLACE]).fails(&["backups of another corpus"]);
        }
        let newest = scratch.arg(&format!("newest-{no_conditions}"));
        backup(&server, &["restore", PLACE, &newest]).good();
        assert_eq!(digest(&newest), taken[2].1);
        let first = taken[0].0.to_string();
        let before = objects(&server, "files/").len();
        let requests = server.state().requests.len();
        let dropped = backup(&server, &["drop", PLACE, &first, "--json"]).good().json();
        let asked = server.state().requests.split_off(requests);
        // The manifest, all files, the mark.
        assert_eq!(asked.iter().filter(|asked| asked.starts_with("POST")).count(), 3, "{asked:?}");
        let after = objects(&server, "files/").len();
        assert_eq!(after as u64 + dropped["files"].as_u64().unwrap(), before as u64);
        backup(&server, &["verify", PLACE]).good();
        backup(&server, &["drop", PLACE, &first])
            .fails(&["no backup of commit", &taken[1].0.to_string()]);
        for (commit, _) in &taken[1..] {
            backup(&server, &["drop", PLACE, &commit.to_string()]).good();
        }
        assert_eq!(objects(&server, ""), BTreeSet::from(["corpusdb-backups".to_owned()]));
        assert!(server.state().files.contains_key("b/other"));
    }
});

corpusdb_test!(damaged_and_missing_objects_are_named_and_not_restored, |scratch| {
    let server = bucket(State::default());
    let (corpus, target) = (scratch.arg("corpus"), scratch.arg("restored"));
    init(&corpus, &[]);
    more(&scratch, &corpus, 3, 200);
    let commit = create(&server, &corpus)["commit"].as_u64().unwrap();
    let mut random = Random::new(77);
    for (at, name) in objects(&server, "files/").into_iter().enumerate() {
        let key = format!("b/backups/crawl/{name}");
        let sound = server.state().files[&key].clone();
        if sound.is_empty() {
            continue;
        }
        let mut damaged = Some(sound.clone());
        let bytes = damaged.as_mut().unwrap();
        match at % 4 {
            0 => bytes[random.below(sound.len())] ^= 0x20,
            1 => bytes.truncate(random.below(sound.len())),
            2 => bytes.push(0),
            _ => damaged = None,
        }
        let what = if damaged.is_none() { "is missing" } else { "is not what was backed up" };
        server.state().files.remove(&key);
        server.state().files.extend(damaged.map(|bytes| (key.clone(), bytes)));
        let found = backup(&server, &["verify", PLACE]);
        assert_eq!(found.code, Some(1), "{found}");
        assert!(found.stdout.contains(&format!("s3://{key}")), "{found}");
        backup(&server, &["restore", PLACE, &target]).fails(&[&format!("s3://{key}"), what]);
        assert!(!Path::new(&target).exists());
        if at % 4 != 0 {
            // The next backup mends what has another length, or is not there.
            assert_eq!(create(&server, &corpus)["new_files"], 1);
            backup(&server, &["verify", PLACE]).good();
        }
        server.state().files.insert(key, sound);
    }
    let key = format!("b/backups/crawl/{commit}.json");
    let text = String::from_utf8(server.state().files[&key].clone()).unwrap();
    for evil in [text.replacen("db/CURRENT", "../CURRENT", 1), text[..text.len() / 2].to_owned()] {
        server.state().files.insert(key.clone(), evil.into_bytes());
        assert_eq!(backup(&server, &["verify", PLACE]).code, Some(1));
        backup(&server, &["restore", PLACE, &target]).fails(&[&format!("s3://{key}")]);
        backup(&server, &["show", PLACE]).fails(&[&format!("s3://{key}")]);
    }
    create(&server, &corpus);
    backup(&server, &["restore", PLACE, &target]).good();
    assert_eq!(digest(&target), digest(&corpus));
});

corpusdb_test!(nobody_drops_beside_one_who_adds, |scratch| {
    let server = bucket(State::default());
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    more(&scratch, &corpus, 5, 50);
    let first = create(&server, &corpus)["commit"].to_string();
    let expected = digest(&corpus);
    more(&scratch, &corpus, 6, 50);
    server.state().put_delay = Duration::from_millis(400);
    let mut adding = begun(&server, &["create", &corpus, PLACE]);
    while objects(&server, "marks/").is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let way_out = ["another process adds", "marks/adding-", "wait for it to end"];
    backup(&server, &["drop", PLACE, &first]).fails(&way_out);
    assert!(adding.try_wait().unwrap().is_none(), "the backup was over");
    // Two that add do not mind each other, nor does who reads.
    backup(&server, &["verify", PLACE]).good();
    create(&server, &corpus);
    assert!(adding.wait().unwrap().success());
    assert_eq!(objects(&server, "marks/"), BTreeSet::new());
    assert_eq!(backup(&server, &["verify", PLACE]).good().stdout, "2 backups: whole\n");
    backup(&server, &["restore", PLACE, &scratch.arg("first"), "--id", &first]).good();
    assert_eq!(digest(&scratch.arg("first")), expected);

    // The mark of one that drops keeps out both, of one of another machine too, until an hour after it was written.
    server.state().put_delay = Duration::ZERO;
    let mark = "b/backups/crawl/marks/dropping-1".to_owned();
    server.state().files.insert(mark.clone(), Vec::new());
    backup(&server, &["drop", PLACE, &first]).fails(&["marks/dropping-1"]);
    backup(&server, &["create", &corpus, PLACE]).fails(&["marks/dropping-1", "for an hour"]);
    assert_eq!(objects(&server, "marks/").len(), 1, "who is refused leaves no mark");
    let error = backups(&server).create(&corpus, &Context::new()).unwrap_err();
    assert!(error.hint().unwrap().to_string().contains("for an hour"), "{error}");
    server.state().old.insert(mark);
    backup(&server, &["drop", PLACE, &first]).good();
    assert_eq!(objects(&server, "marks/"), BTreeSet::new());
    create(&server, &corpus);
});

// Marks that are cleared while their process lives, and a drop then: the backup says so, and is not there.
corpusdb_test!(a_backup_fails_when_its_files_were_dropped_meanwhile, |scratch| {
    let server = bucket(State::default());
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    more(&scratch, &corpus, 5, 50);
    create(&server, &corpus);
    more(&scratch, &corpus, 6, 50);
    server.state().put_delay = Duration::from_millis(300);
    let before = objects(&server, "files/");
    std::thread::scope(|scope| {
        let adding = scope.spawn(|| backups(&server).create(&corpus, &Context::new()));
        while objects(&server, "files/") == before {
            std::thread::sleep(Duration::from_millis(5));
        }
        let gone = objects(&server, "files/").difference(&before).next().unwrap().clone();
        server.state().files.remove(&format!("b/backups/crawl/{gone}"));
        let error = adding.join().unwrap().unwrap_err().to_string();
        assert!(error.contains(&gone) && error.contains("was dropped"), "{error}");
    });
    server.state().put_delay = Duration::ZERO;
    assert_eq!(backup(&server, &["verify", PLACE]).good().stdout, "1 backup: whole\n");
    create(&server, &corpus);
    backup(&server, &["verify", PLACE]).good();
});

corpusdb_test!(a_killed_backup_in_a_bucket_harms_no_earlier_one, |scratch| {
    let server = bucket(State { put_delay: Duration::from_millis(3), ..State::default() });
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let mut random = Random::new(31);
    let (mut whole, mut killed) = (BTreeMap::new(), 0);
    for round in 0..seeds(9) {
        more(&scratch, &corpus, 100 + round, 40);
        let mut child = begun(&server, &["create", &corpus, PLACE]);
        std::thread::sleep(Duration::from_micros(random.below(150_000) as u64));
        killed += u64::from(child.try_wait().unwrap().is_none());
        kill(&mut child);
        if !objects(&server, "").contains("corpusdb-backups") {
            continue;
        }
        let found = backup(&server, &["verify", PLACE, "--json"]).good().json();
        let listed: Vec<u64> =
            found["backups"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
        assert!(whole.keys().all(|commit| listed.contains(commit)), "{listed:?}");
        let commit = reader(Path::new(&corpus)).view().commit().0;
        if listed.contains(&commit) {
            whole.insert(commit, digest(&corpus));
        }
        if round % 3 == 2 {
            // What was left stands in the way of nothing: its processes are gone.
            create(&server, &corpus);
            whole.insert(commit, digest(&corpus));
            let oldest = *whole.keys().next().unwrap();
            backup(&server, &["drop", PLACE, &oldest.to_string()]).good();
            whole.remove(&oldest);
            for (commit, expected) in &whole {
                let target = scratch.arg("restored");
                backup(&server, &["restore", PLACE, &target, "--id", &commit.to_string()]).good();
                assert_eq!(&digest(&target), expected, "round {round}, commit {commit}");
                std::fs::remove_dir_all(&target).unwrap();
            }
        }
    }
    assert!(killed * 3 > seeds(9), "only {killed} were killed before their end");
});

corpusdb_test!(a_stop_leaves_no_mark_and_no_part_of_an_object, |scratch| {
    let server = bucket(State::default());
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none"]);
    // Texts that do not become small, and are longer than a table should be, so that it is sent in parts.
    let mut random = Random::new(9);
    let mut text = |_| (0..1_200_000).map(|_| format!("{:x} ", random.next())).collect::<String>();
    let line = |n: usize, text: String| format!("{{\"id\":\"{n}\",\"text\":\"{text}\"}}\n");
    let file = (0..2).map(|n| line(n, text(n))).collect::<String>();
    ingest(&corpus, &[&scratch.write("large.jsonl", file)], &WEB_BY_ID);
    corpusdb(&["compact", &corpus]).good();
    let backups = backups(&server);
    let mut stopped = 0;
    for at in 0.. {
        let stop = StopAt::new(StopWhen::Told(at));
        let outcome = backups.create(&corpus, &stop.context());
        assert_eq!(objects(&server, "marks/"), BTreeSet::new());
        match outcome {
            Err(error) if error.is_interrupt() => stopped += 1,
            outcome => {
                outcome.unwrap();
                break;
            }
        }
    }
    assert!(stopped > 2, "{stopped}");
    let largest = server.state().files.values().map(Vec::len).max().unwrap();
    assert!(largest > 8 << 20, "nothing was sent in parts: {largest}");
    // In the middle of an upload: its parts go, though the stop was asked for.
    let expected = digest(&corpus);
    server.state().files.retain(|name, _| name == "b/other");
    server.state().delay = Duration::from_millis(500);
    let interrupt = corpusdb::Interrupt::default();
    std::thread::scope(|scope| {
        let context = Context::new().with_interrupt(&interrupt);
        let (backups, corpus) = (&backups, &corpus);
        let adding = scope.spawn(move || backups.create(corpus, &context));
        let started = Instant::now();
        while server.state().uploads.is_empty() && started.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(5));
        }
        interrupt.raise();
        assert!(adding.join().unwrap().unwrap_err().is_interrupt());
    });
    assert!(server.state().uploads.is_empty(), "parts of an upload were left");
    assert_eq!(objects(&server, "marks/"), BTreeSet::new());
    server.state().delay = Duration::ZERO;
    server.state().lost_completions = 1;
    let commit = backups.create(&corpus, &Context::new()).unwrap().commit;
    // A drop that is stopped has dropped the backup; the next one clears what it left.
    let target = scratch.arg("restored");
    backups.restore(&target, None, &Context::new()).unwrap();
    assert_eq!(digest(&target), expected);
    more(&scratch, &corpus, 4, 20);
    let second = backups.create(&corpus, &Context::new()).unwrap().commit;
    let stop = StopAt::new(StopWhen::Told(0));
    assert!(backups.drop_backup(second, &stop.context()).unwrap_err().is_interrupt());
    assert_eq!(objects(&server, "marks/"), BTreeSet::new());
    assert_eq!(backups.list(&Context::new()).unwrap().len(), 1);
    assert!(backups.verify(&Context::new()).unwrap().faults.is_empty());
    backups.drop_backup(commit, &Context::new()).unwrap();
    assert_eq!(objects(&server, "files/"), BTreeSet::new());
});

/// A call of the library that can be stopped.
type Call<'c> = &'c dyn Fn(&Context<'_>) -> Result<(), Error>;

corpusdb_test!(a_silent_or_absent_store_is_an_error_in_time, |scratch| {
    let server = bucket(State::default());
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    backup(&server, &["create", &corpus, "https://b/backups"]).fails(&["cannot be written to"]);
    backup(&server, &["create", &corpus, "s3://none/backups"]).fails(&["s3://none/"]);
    backup(&server, &["show", PLACE]).fails(&[PLACE, "no backup"]);
    backup(&server, &["create", &corpus, "s3://b"]).fails(&["has other files"]);
    let target = backup(&server, &["restore", PLACE, "s3://b/corpus"]);
    assert!(target.code == Some(2) && target.stderr.contains("written to disk"), "{target}");
    // The backups of another corpus that began at the same moment.
    let rival = ("b/backups/crawl/corpusdb-backups".to_owned(), b"1 other\n".to_vec());
    server.state().rival = Some(rival);
    backup(&server, &["create", &corpus, PLACE]).fails(&["backups of another corpus"]);
    assert_eq!(objects(&server, ""), BTreeSet::from(["corpusdb-backups".to_owned()]));
    server.state().files.retain(|name, _| name == "b/other");
    create(&server, &corpus);
    let backups = backups(&server);
    let error = backups.restore("s3://b/corpus", None, &Context::new()).unwrap_err().to_string();
    assert!(error.contains("s3://b/corpus: a corpus is written to disk"), "{error}");
    server.state().silent = true;
    let calls: [(&str, Call<'_>); 3] = [
        ("create", &|context| backups.create(&corpus, context).map(drop)),
        ("verify", &|context| backups.verify(context).map(drop)),
        ("restore", &|context| backups.restore(scratch.path("new"), None, context).map(drop)),
    ];
    for (name, call) in calls {
        let interrupt = corpusdb::Interrupt::default();
        let raised = interrupt.clone();
        let started = Instant::now();
        let stopped = std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(200));
                raised.raise();
            });
            call(&Context::new().with_interrupt(&interrupt))
        });
        assert!(stopped.unwrap_err().is_interrupt(), "{name}");
        assert!(started.elapsed() < Duration::from_secs(10), "{name}: {:?}", started.elapsed());
    }
    assert!(!scratch.path("new").exists());
});
