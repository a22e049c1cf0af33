//! Directories of builds: damage is found, and nothing half made is left under their names.

use crate::support::epochs::{EpochCorpus, SPECIALS};
use crate::support::exports::names;
use crate::support::outputs::{files, manifest_path, place_of};
use crate::support::{AtEndOf, MEMORY, Random, command};
use corpusdb::epoch::{BuildJob, Plan};
use corpusdb::{Context, Corpus, Error, ErrorKind, Interrupt};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

#[test]
fn a_flipped_byte_is_found_wherever_it_is() {
    let place = EpochCorpus::holding(90);
    let mut random = Random::new(11);
    for (number, format) in (1..).zip(["megatron", "parquet", "raw"]) {
        let recipe = format!("{SPECIALS}[pack]\nlength = 128\n[output]\nformat = \"{format}\"\n");
        let out = place.build(&recipe, format, &[]);
        let corpus = Corpus::options().memory(MEMORY).open(&place.corpus).unwrap();
        let planned = corpus.stored_plan(number).unwrap();
        let verify = || corpus.verify(&planned, &out, &Context::new()).unwrap().passed();
        assert!(verify());
        for (name, bytes) in files(&out) {
            let is_manifest = name == "manifest.json";
            let file = place_of(&out, &name);
            let mut places = vec![0, bytes.len() / 2, bytes.len() - 1];
            places.extend((0..30).map(|_| random.below(bytes.len())));
            for (tried, at) in places.into_iter().enumerate() {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << random.below(8);
                fs::write(&file, &damaged).unwrap();
                assert!(!verify(), "byte {at} of {name} of {format}");
                if tried < 3 {
                    let ran = place.run("verify", &place.scratch.arg(format), &[]);
                    // A manifest that names no plan of this corpus leaves nothing to compare with.
                    let known: &[i32] = if is_manifest { &[1, 2] } else { &[1] };
                    assert!(known.contains(&ran.code.unwrap()), "byte {at} of {name}: {ran}");
                }
            }
            // Too short, too long, absent.
            for damaged in [&bytes[..bytes.len() - 1], &[&bytes[..], b"\0"].concat()] {
                fs::write(&file, damaged).unwrap();
                assert!(!verify(), "{} bytes of {name} of {format}", damaged.len());
            }
            if !is_manifest {
                fs::remove_file(&file).unwrap();
                assert!(!verify(), "{format} without {name}");
            }
            fs::write(&file, bytes).unwrap();
        }
        fs::write(out.join("shard-00099.bin"), b"more").unwrap();
        assert!(!verify(), "a file too many in {format}");
        fs::remove_file(out.join("shard-00099.bin")).unwrap();
        assert!(verify());
    }
}

#[test]
fn a_directory_in_use_is_refused_and_an_empty_one_taken() {
    let place = EpochCorpus::holding(60);
    place.scratch.write("taken/theirs.txt", "precious");
    let file = place.scratch.write("file", "precious");
    let taken = place.scratch.arg("taken");
    for (out, words) in [(taken, "not an empty directory"), (file, "nor a directory a file")] {
        place.recipe("build", SPECIALS, &["--out", &out]).fails(&[&out, words]);
    }
    assert_eq!(files(&place.path("taken")), [("theirs.txt".to_owned(), b"precious".to_vec())]);
    assert_eq!(fs::read(place.path("file")).unwrap(), b"precious");
    place.recipe("build", SPECIALS, &["--out", "."]).fails(&["--out . does not end in a name"]);
    fs::create_dir(place.path("empty")).unwrap();
    place.build(SPECIALS, "empty", &[]);
    place.verified("empty");
}

#[test]
fn a_killed_build_leaves_nothing_under_its_name() {
    let place = EpochCorpus::new();
    let out = place.scratch.arg("out");
    let recipe = format!("{SPECIALS}[pack]\nlength = 128\n[output]\nshard_bytes = 4096\n");
    place.recipe("plan", &recipe, &[]).good();
    let beside = || {
        let entries = fs::read_dir(place.path(".")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("out")).collect::<Vec<_>>()
    };
    let mut killed = 0;
    for wait in 0..12 {
        let mut child = command(&["epoch", "build", &place.corpus, "1", "--out", &out])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Under way when something stands beside the name.
        while beside().is_empty() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(Duration::from_millis(wait * 3));
        child.kill().unwrap();
        let finished = child.wait().unwrap().success();
        if place.path("out").exists() {
            // By one rename, so whole, even when the process had no time to say so.
            place.verified("out");
            fs::remove_dir_all(place.path("out")).unwrap();
        } else {
            assert!(!finished);
            killed += 1;
        }
    }
    assert!(killed > 0, "no build was killed under way");
    place.run("build", "1", &["--out", &out]).good();
    place.verified("out");
    assert_eq!(beside(), ["out"], "what killed builds left is gone");
}

#[test]
fn an_interrupted_build_leaves_nothing_at_all() {
    let place = EpochCorpus::holding(60);
    place.recipe("plan", SPECIALS, &[]).good();
    let corpus = Corpus::options().memory(MEMORY).open(&place.corpus).unwrap();
    let planned = corpus.stored_plan(1).unwrap();
    let interrupt = Interrupt::default();
    interrupt.raise();
    let out = place.path("out");
    let job = BuildJob { epoch: 0, out: &out };
    let context = Context::new().with_interrupt(&interrupt).with_threads(2);
    let error = corpus.build(&planned, &job, &context).unwrap_err();
    assert!(error.is_interrupt(), "{error}");
    let entries = fs::read_dir(place.path(".")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.starts_with("out")).count(), 0);
}

/// A plan with a directory to build it into, from the library.
struct PlannedBuild {
    place: EpochCorpus,
    corpus: Corpus,
    planned: Plan,
    out: PathBuf,
}

impl PlannedBuild {
    /// Several shards of a format: of short rows, since one has a group of 1,000 where only encoding tells its size.
    fn of(format: &str) -> Self {
        let place = EpochCorpus::holding(400);
        let output = format!("[output]\nformat = \"{format}\"\nshard_bytes = 20000\n");
        place.recipe("plan", &format!("{SPECIALS}[pack]\nlength = 8\n{output}"), &[]).good();
        let corpus = Corpus::options().memory(MEMORY).open(&place.corpus).unwrap();
        let (planned, out) = (corpus.stored_plan(1).unwrap(), place.path("out"));
        Self { place, corpus, planned, out }
    }

    fn build(&self, context: &Context<'_>) -> Result<(), Error> {
        let job = BuildJob { epoch: 0, out: &self.out };
        self.corpus.build(&self.planned, &job, context).map(drop)
    }

    /// The directory beside the output in which its files are made, if it is there.
    fn staging(&self) -> Option<PathBuf> {
        let found =
            names(&self.place.path("")).into_iter().find(|name| name.starts_with("out.tmp-"));
        found.map(|name| self.place.path(&name))
    }
}

/// Files of a directory by what they are on the disk: equal, they were not written again.
fn inodes(directory: &Path, beginning: &str) -> Vec<u64> {
    let found = names(directory).into_iter().filter(|name| name.starts_with(beginning));
    found.map(|name| fs::metadata(directory.join(name)).unwrap().ino()).collect()
}

/// A finished build gave up its lock before its directory got its name: another one then removed its shards.
#[test]
fn a_second_build_is_refused_until_the_name_is_given() {
    let build = PlannedBuild::of("parquet");
    let second = AtEndOf::new("files", || {
        let refused = build.build(&Context::new()).unwrap_err().to_string();
        assert!(refused.contains("another build"), "{refused}");
    });
    build.build(&Context::new().with_progress(&second)).unwrap();
    assert!(second.is_done() && build.staging().is_none());
    build.place.verified("out");
    let refused = build.build(&Context::new()).unwrap_err().to_string();
    assert!(refused.contains("not an empty directory"), "{refused}");
}

/// A file that somebody put into the directory meanwhile cost the whole build.
#[test]
fn a_build_whose_name_was_taken_keeps_its_shards() {
    let build = PlannedBuild::of("raw");
    let rival = AtEndOf::new("files", || {
        fs::create_dir(&build.out).unwrap();
        fs::write(build.out.join("theirs.txt"), "precious").unwrap();
    });
    let refused = build.build(&Context::new().with_progress(&rival)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
    let (told, staging) = (refused.to_string(), build.staging().unwrap());
    assert!(told.contains("out appeared") && told.contains(staging.to_str().unwrap()), "{told}");
    assert_eq!(files(&build.out), [("theirs.txt".to_owned(), b"precious".to_vec())]);
    build.build(&Context::new()).unwrap_err();
    let made = inodes(&staging.join("data"), "shard-");
    assert!(made.len() > 2);
    fs::remove_dir_all(&build.out).unwrap();
    // An empty directory is as good as none.
    fs::create_dir(&build.out).unwrap();
    build.build(&Context::new()).unwrap();
    assert_eq!(inodes(&build.out, "shard-"), made);
    assert!(build.staging().is_none());
    build.place.verified("out");
}

/// Shards of Arrow got their last names one by one, of which no record knew.
#[test]
fn a_build_killed_among_its_last_renames_goes_on() {
    for renamed_back in [0, 1, usize::MAX] {
        let build = PlannedBuild::of("arrow");
        let kill = AtEndOf::new("files", || panic!("killed"));
        let context = Context::new().with_progress(&kill);
        catch_unwind(AssertUnwindSafe(|| build.build(&context))).unwrap_err();
        let data = build.staging().unwrap().join("data");
        let made = inodes(&data, "data-");
        let shards = names(&data).into_iter().filter(|name| name.contains("-of-"));
        for name in shards.take(renamed_back) {
            let first = format!("{}.arrow", name.split_once("-of-").unwrap().0);
            fs::rename(data.join(&name), data.join(first)).unwrap();
        }
        assert!(made.len() > 1);
        build.build(&Context::new()).unwrap();
        assert_eq!(inodes(&build.out, "data-"), made);
        assert!(build.staging().is_none());
        build.place.verified("out");
    }
}

/// What builds of other plans and releases left stayed for ever, and that of an output with a longer name went.
#[test]
fn leftovers_of_other_builds_go_with_the_next() {
    let build = PlannedBuild::of("jsonl");
    let left = ["out.tmp-0123456789ab", "out.tmp-b.tmp-0123456789ab", "out.tmp-0123456789abc"];
    for (name, record) in left.into_iter().zip(["progress.json", "finished.jsonl", "progress.json"])
    {
        fs::create_dir(build.place.path(name)).unwrap();
        for file in ["lock", record, "shard-00000.jsonl"] {
            build.place.scratch.write(&format!("{name}/{file}"), "{}");
        }
    }
    let held = fs::File::create(build.place.path("out.tmp-0123456789ab/lock")).unwrap();
    held.lock().unwrap();
    build.build(&Context::new()).unwrap();
    let beside = |beginning: &str| {
        let found = names(&build.place.path("")).into_iter();
        found.filter(|name| name.starts_with(beginning)).collect::<Vec<_>>()
    };
    // A build that is at work is left to it.
    assert_eq!(beside("out.tmp-"), [left[0], left[2], left[1]]);
    held.unlock().unwrap();
    fs::remove_dir_all(&build.out).unwrap();
    build.build(&Context::new()).unwrap();
    assert_eq!(beside("out.tmp-"), [left[2], left[1]]);
}

/// Engines that read a directory as one table take every file in it for a part; other readers go by an index or by names.
#[test]
fn the_manifest_stands_where_no_reader_takes_it_for_data() {
    let place = EpochCorpus::holding(60);
    for format in ["parquet", "arrow", "jsonl", "megatron", "mds", "raw"] {
        let out = place.build(&format!("{SPECIALS}[output]\nformat = \"{format}\"\n"), format, &[]);
        let is_table = matches!(format, "parquet" | "jsonl");
        assert_eq!(out.join("manifest.json").exists(), !is_table, "{format}");
        assert_eq!(place.path(&format!(".{format}.manifest.json")).exists(), is_table, "{format}");
        place.verified(format);
    }
    let parquet = format!("{SPECIALS}[output]\nformat = \"parquet\"\n");
    let out = place.build(&parquet, "out", &[]);
    assert!(names(&out).iter().all(|name| name.starts_with("shard-")), "{:?}", names(&out));
    std::os::unix::fs::symlink("out", place.path("link")).unwrap();
    place.verified("link");
    place.verified("out/.");
    // As an earlier release left it, and moved without it.
    fs::rename(manifest_path(&out), out.join("manifest.json")).unwrap();
    place.verified("out");
    let corpus = Corpus::options().memory(MEMORY).open(&place.corpus).unwrap();
    let (planned, out) = (corpus.stored_plan(1).unwrap(), place.path("moved"));
    fs::rename(place.path("out"), &out).unwrap();
    fs::rename(out.join("manifest.json"), place.path(".out.manifest.json")).unwrap();
    place.run("verify", &place.scratch.arg("moved"), &[]).fails(&[
        "moved",
        ".moved.manifest.json",
        "move the two together",
    ]);
    fs::rename(place.path(".out.manifest.json"), manifest_path(&out)).unwrap();
    assert!(corpus.verify(&planned, &out, &Context::new()).unwrap().passed());
}
