//! What the machine gives: memory of a control group, and room on a disk that is known to be too little.

use crate::support::{
    Page, Ran, Random, TestDir, corpusdb, ingest, init, lines, prose, ran, sound,
};
use corpusdb::Corpus;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Says to this binary that it runs within a control group.
const WITHIN: &str = "CORPUSDB_TEST_WITHIN_GROUP";
const LIMIT: u64 = 768 << 20;

/// A control group made below that of this process; none where the machine does not let it.
struct Group(PathBuf);

impl Group {
    fn make() -> Option<Self> {
        let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, group) = (parts.next()?, parts.next()?.trim_start_matches('/'));
            let (top, limit) = match controllers {
                "" => ("/sys/fs/cgroup", "memory.max"),
                "memory" => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                _ => return None,
            };
            let name = format!("corpusdb-test-{}", std::process::id());
            let path = Path::new(top).join(group).join(name);
            std::fs::create_dir(&path).ok()?;
            let made = Self(path);
            std::fs::write(made.0.join(limit), LIMIT.to_string()).ok()?;
            Some(made)
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// A container of 4 GB on a large host was killed: by default a quarter of the host's memory was taken.
#[test]
fn the_default_memory_is_a_quarter_of_the_control_group() {
    if std::env::var_os(WITHIN).is_some() {
        println!("it takes {}", Corpus::options().memory_bytes());
        return;
    }
    let Some(group) = Group::make() else {
        println!("left out: no control group can be made here");
        return;
    };
    let script = "echo $$ > \"$1/cgroup.procs\" || exit 77; shift; exec \"$@\"";
    let test = "store::machine::the_default_memory_is_a_quarter_of_the_control_group";
    let output = Command::new("sh")
        .args(["-c", script, "sh"])
        .args([group.0.as_os_str(), std::env::current_exe().unwrap().as_os_str()])
        .args(["--exact", test, "--nocapture"])
        .env(WITHIN, "1")
        .output()
        .unwrap();
    if output.status.code() == Some(77) {
        println!("left out: no process may be put into the group");
        return;
    }
    let answer = String::from_utf8_lossy(&output.stdout);
    assert!(answer.contains(&format!("it takes {}\n", LIMIT / 4)), "{answer}");
}

/// The command, with a disk of 1 MB mounted at `disk` for it alone; none where that is not allowed.
fn with_small_disk(disk: &str, arguments: &[&str]) -> Option<Ran> {
    with_disk("1m", disk, arguments)
}

/// The same, with a disk of that size.
fn with_disk(size: &str, disk: &str, arguments: &[&str]) -> Option<Ran> {
    let script = "mount -t tmpfs -o size=$1 none \"$2\" || exit 77; shift 2; exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script, "sh", size, disk]);
    command.arg(env!("CARGO_BIN_EXE_corpusdb")).args(arguments);
    let output = command.output().ok()?;
    let words = String::from_utf8_lossy(&output.stderr);
    let is_refused = output.status.code() == Some(77) || words.contains("unshare");
    if is_refused {
        println!("left out: no disk can be mounted here: {words}");
        return None;
    }
    Some(ran(arguments, output))
}

/// Each of them wrote until the disk was full.
#[test]
fn writes_without_room_are_refused_before_they_begin() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let random = &mut Random::new(9);
    let pages: Vec<Page> = (0..150).map(|at| Page::new(prose(random, at, 6_000))).collect();
    let file = scratch.write("pages.jsonl", lines(&pages));
    ingest(&corpus, &[&file], &["--source", "web"]);
    corpusdb(&["tokenizer", "train", &corpus, "own", "--vocab-size", "300"]).good();
    let (backups, disk) = (scratch.arg("backups"), scratch.arg("disk"));
    corpusdb(&["backup", "create", &corpus, &backups]).good();
    std::fs::create_dir(scratch.path("disk")).unwrap();
    let recipe = "version = 1\n[pack]\nkind = \"concat\"\nlength = 256\n[output]\nformat = \"raw\"";
    let recipe = scratch.write("recipe.toml", recipe);
    let (plain, packed) = (scratch.arg("disk/all.jsonl"), scratch.arg("disk/all.jsonl.zst"));
    let (again, epoch) = (scratch.arg("disk/again"), scratch.arg("disk/epoch"));
    let needs = ["at least", "MB free", "free space"];
    for (arguments, words) in [
        (vec!["export", &corpus, "--to", &plain], "exporting to"),
        (vec!["backup", "restore", &backups, &again], "restoring to"),
        (vec!["epoch", "build", &corpus, &recipe, "--out", &epoch], "building"),
    ] {
        let Some(ran) = with_small_disk(&disk, &arguments) else { return };
        ran.fails(&needs).fails(&[words]);
    }
    // How large these become nobody knows before: they go on until the disk says no.
    let Some(ran) = with_small_disk(&disk, &["export", &corpus, "--to", &packed]) else { return };
    assert!(!ran.stderr.contains("at least"), "{}", ran.stderr);
    sound(&corpus);
    // With room they are done.
    corpusdb(&["export", &corpus, "--to", &plain]).good();
    corpusdb(&["backup", "restore", &backups, &again]).good();
    corpusdb(&["epoch", "build", &corpus, &recipe, "--out", &epoch]).good();
}

/// With `--json` and with `--no-progress` it was not said.
#[test]
fn a_possible_lack_of_room_is_noted_also_under_json() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let random = &mut Random::new(11);
    let pages: Vec<Page> = (0..150).map(|at| Page::new(prose(random, at, 6_000))).collect();
    let file = scratch.write("pages.jsonl", lines(&pages));
    ingest(&corpus, &[&file], &["--source", "web"]);
    corpusdb(&["compact", &corpus]).good();
    std::fs::create_dir(scratch.path("disk")).unwrap();
    let (disk, new) = (scratch.arg("disk"), scratch.arg("disk/new"));
    for more in [&[][..], &["--no-progress"], &["--json"]] {
        let arguments = [&["check", &corpus, "--salvage", &new], more].concat();
        let Some(ran) = with_disk("100k", &disk, &arguments) else { return };
        let note = ran.stderr.lines().find(|line| line.contains("may need up to"));
        let note = note.unwrap_or_else(|| panic!("{ran}"));
        if more.contains(&"--json") {
            let note: serde_json::Value = serde_json::from_str(note).unwrap();
            assert_eq!(note["type"], "note");
            assert!(note["message"].as_str().unwrap().contains("kB free"), "{note}");
        } else {
            assert!(note.starts_with("the copy may need up to"), "{note}");
        }
    }
}
