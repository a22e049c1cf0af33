//! Directories of builds: damage is found, and nothing half made is left under their names.

use crate::support::epochs::{EpochCorpus, SPECIALS};
use crate::support::outputs::files;
use crate::support::{MEMORY, Random, command};
use corpusdb::epoch::BuildJob;
use corpusdb::{Context, Corpus, Interrupt};
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
            let mut places = vec![0, bytes.len() / 2, bytes.len() - 1];
            places.extend((0..30).map(|_| random.below(bytes.len())));
            for (tried, at) in places.into_iter().enumerate() {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << random.below(8);
                std::fs::write(out.join(&name), &damaged).unwrap();
                assert!(!verify(), "byte {at} of {name} of {format}");
                if tried < 3 {
                    let ran = place.run("verify", &place.scratch.arg(format), &[]);
                    // A manifest that names no plan of this corpus leaves nothing to compare with.
                    let known: &[i32] = if name == "manifest.json" { &[1, 2] } else { &[1] };
                    assert!(known.contains(&ran.code.unwrap()), "byte {at} of {name}: {ran}");
                }
            }
            // Too short, too long, absent.
            for damaged in [&bytes[..bytes.len() - 1], &[&bytes[..], b"\0"].concat()] {
                std::fs::write(out.join(&name), damaged).unwrap();
                assert!(!verify(), "{} bytes of {name} of {format}", damaged.len());
            }
            if name != "manifest.json" {
                std::fs::remove_file(out.join(&name)).unwrap();
                assert!(!verify(), "{format} without {name}");
            }
            std::fs::write(out.join(&name), bytes).unwrap();
        }
        std::fs::write(out.join("shard-00099.bin"), b"more").unwrap();
        assert!(!verify(), "a file too many in {format}");
        std::fs::remove_file(out.join("shard-00099.bin")).unwrap();
        assert!(verify());
    }
}

#[test]
fn a_directory_in_use_is_refused_and_an_empty_one_taken() {
    let place = EpochCorpus::holding(60);
    place.scratch.write("taken/theirs.txt", "precious");
    let file = place.scratch.write("file", "precious");
    for out in [place.scratch.arg("taken"), file] {
        place.recipe("build", SPECIALS, &["--out", &out]).fails(&[&out, "not an empty directory"]);
    }
    assert_eq!(files(&place.path("taken")), [("theirs.txt".to_owned(), b"precious".to_vec())]);
    assert_eq!(std::fs::read(place.path("file")).unwrap(), b"precious");
    place.recipe("build", SPECIALS, &["--out", "."]).fails(&["does not end in a name", "--out"]);
    std::fs::create_dir(place.path("empty")).unwrap();
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
        let entries = std::fs::read_dir(place.path(".")).unwrap();
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
            std::fs::remove_dir_all(place.path("out")).unwrap();
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
    let entries = std::fs::read_dir(place.path(".")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.starts_with("out")).count(), 0);
}
