//! Tests of a staging: what it believes of an earlier run, what it replaces, and what a killed run leaves.

use super::*;
use crate::output::OutputMaker;
use std::os::unix::fs::symlink;

/// Files of numbers; a manifest lists them.
const NUMBERS: OutputMaker = OutputMaker {
    name: "count",
    option: "`to=`",
    manifest_inside: ".list.json",
    instead: "give another path",
    listed: |text| serde_json::from_slice(text).ok(),
};

const IDENTITY: &str = "0123456789abcdef";

fn digest(name: &str, bytes: &[u8]) -> ManifestFile {
    let blake3 = blake3::hash(bytes).to_hex().to_string();
    ManifestFile { name: name.to_owned(), bytes: bytes.len() as u64, rows: 1, blake3 }
}

fn manifest(files: &[ManifestFile]) -> String {
    serde_json::to_string(files).unwrap()
}

fn destination(to: &Path, is_directory: bool, force: bool) -> LocalDestination {
    let request = OutputRequest { to, stores: None, is_directory, force, maker: &NUMBERS };
    refuse_occupied(&request).unwrap()
}

fn begun(to: &Path, is_directory: bool, force: bool) -> (Box<LocalStaging>, Vec<ShardRecord<u64>>) {
    let destination = destination(to, is_directory, force);
    let (staging, finished) = LocalStaging::begin_or_resume(destination, IDENTITY).unwrap();
    (Box::new(staging), finished)
}

/// Makes a file of these bytes and puts it on record.
fn make(staging: &LocalStaging, name: &str, bytes: &[u8]) -> ManifestFile {
    let mut file = Staging::<u64>::create(staging, name).unwrap();
    file.put(bytes).unwrap();
    let file = file.finish(1).unwrap();
    staging.record(&ShardRecord { files: vec![file.clone()], position: 1_u64 }).unwrap();
    file
}

fn publish(staging: Box<LocalStaging>, text: Option<&str>) -> Result<(), OutputError> {
    Staging::<u64>::publish(staging, &[], text, &Context::new())
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A record in which one line or file is not as it should be is believed up to there, and no further.
#[test]
fn a_record_is_believed_for_own_files_with_their_bytes() {
    let root = tempfile::tempdir().unwrap();
    let to = root.path().join("out");
    fs::write(root.path().join("secret"), "x").unwrap();
    let staging = root.path().join("out.tmp-0123456789ab");
    let first = RecordLine::<u64>::first(IDENTITY).to_json();
    let line = |file: ManifestFile| {
        let shard = ShardRecord { files: vec![file], position: 7_u64 };
        RecordLine::Finished { shard, tags: Vec::new() }.to_json()
    };
    let good = || line(digest("a/one", b"1"));
    let outside = ["../../secret", "/etc/hostname", "", "a/../a/one", "link"];
    let mut records: Vec<(Vec<u8>, usize)> = vec![
        ([first.clone(), good()].concat(), 1),
        ([first.clone(), good(), b"{\"fin".to_vec()].concat(), 1),
        ([first.clone(), good(), line(digest("two", b"other")), good()].concat(), 1),
        // Records of another output, of another form, of an older release, and an empty one.
        ([RecordLine::<u64>::first("0123456789abcdee").to_json(), good()].concat(), 0),
        ([b"{\"output\":{\"version\":0,\"identity\":\"0123456789abcdef\"}}\n".to_vec(), good()].concat(), 0),
        (b"{\"file\":{\"name\":\"two\",\"bytes\":1,\"rows\":1,\"blake3\":\"\"},\"partition\":0}\n".to_vec(), 0),
        (Vec::new(), 0),
    ];
    for name in outside {
        records.push(([first.clone(), line(digest(name, b"x")), good()].concat(), 0));
    }
    for (record, believed) in records {
        fs::create_dir_all(staging.join("data/a")).unwrap();
        fs::write(staging.join("data/a/one"), "1").unwrap();
        fs::write(staging.join("data/two"), "2").unwrap();
        symlink(root.path().join("secret"), staging.join("data/link")).unwrap();
        // What a build of an older release left.
        fs::write(staging.join("progress.json"), "{}").unwrap();
        fs::write(staging.join("shard-00000.bin"), "1").unwrap();
        fs::create_dir_all(staging.join("data/stray")).unwrap();
        fs::write(staging.join("data/stray/one"), "1").unwrap();
        fs::write(staging.join("finished.jsonl"), &record).unwrap();
        let (entered, finished) = begun(&to, true, false);
        let told = String::from_utf8_lossy(&record);
        assert_eq!(finished.len(), believed, "{told}");
        let kept = if believed == 0 { &[][..] } else { &["a"] };
        assert_eq!(names(&staging.join("data")), kept, "{told}");
        assert_eq!(names(&staging), ["data", "finished.jsonl", "lock"]);
        Staging::<u64>::abandon(entered, false);
    }
    assert_eq!(fs::read(root.path().join("secret")).unwrap(), b"x");
    // Nor is a link taken for the staging, or for what is in it.
    fs::create_dir(root.path().join("theirs")).unwrap();
    fs::write(root.path().join("theirs/file"), "x").unwrap();
    symlink(root.path().join("theirs"), &staging).unwrap();
    let refused = LocalStaging::begin_or_resume::<u64>(destination(&to, true, false), IDENTITY);
    assert!(matches!(refused, Err(OutputError::Exists { .. })));
    fs::remove_file(&staging).unwrap();
    fs::create_dir(&staging).unwrap();
    symlink(root.path().join("theirs"), staging.join("data")).unwrap();
    let (entered, _) = begun(&to, true, false);
    make(&entered, "one", b"1");
    publish(entered, Some("[]")).unwrap();
    assert_eq!(names(&root.path().join("theirs")), ["file"]);
    assert_eq!(names(&to), ["one"]);
    assert_eq!(fs::read(root.path().join(".out.manifest.json")).unwrap(), b"[]");
}

#[test]
fn a_staging_is_entered_by_one_at_a_time() {
    let root = tempfile::tempdir().unwrap();
    let to = root.path().join("out");
    let (first, _) = begun(&to, true, false);
    let second = LocalStaging::begin_or_resume::<u64>(destination(&to, true, false), IDENTITY);
    assert!(matches!(second, Err(OutputError::UnderWay { by: "count", .. })));
    // Given back in words: a child that is being started holds what its parent has open.
    let path = root.path().join("out.tmp-0123456789ab");
    let children: Vec<_> =
        (0..8).map(|_| std::process::Command::new("sleep").arg("0.2").spawn().unwrap()).collect();
    make(&first, "one", b"1");
    drop(first);
    let (again, finished) = begun(&to, true, false);
    assert_eq!(finished.len(), 1);
    // Locked as it is removed, it is made again.
    fs::remove_dir_all(&path).unwrap();
    let lock = StagingLock::take(&path).unwrap().unwrap();
    assert!(path.join("lock").is_file());
    drop((lock, again));
    for mut child in children {
        child.wait().unwrap();
    }
}

/// Killed between the two names that a file and its manifest get, the same command ends the work.
#[test]
fn a_file_killed_beside_its_manifest_is_named_next_time() {
    let root = tempfile::tempdir().unwrap();
    let (to, beside) = (root.path().join("a"), root.path().join(".a.manifest.json"));
    // The manifest of a file that is gone.
    fs::write(&beside, manifest(&[digest("a", b"0")])).unwrap();
    let (staging, _) = begun(&to, false, false);
    let text = manifest(&[make(&staging, "a", b"1")]);
    fs::write(staging.path.join(STAGED_MANIFEST), &text).unwrap();
    let aside = staging.path.join(REPLACED_MANIFEST);
    staging.set_manifest_aside(&beside, &aside).unwrap();
    rename_new(&staging.path.join(STAGED_MANIFEST), &beside).unwrap();
    drop(staging);
    assert!(!to.exists() && beside.exists());
    let (staging, finished) = begun(&to, false, false);
    assert_eq!(finished.len(), 1);
    publish(staging, Some(&text)).unwrap();
    assert_eq!(
        (fs::read(&to).unwrap(), fs::read_to_string(&beside).unwrap()),
        (b"1".to_vec(), text)
    );
    // With a file that is replaced: killed behind the file.
    let (staging, _) = begun(&to, false, true);
    let text = manifest(&[make(&staging, "a", b"2")]);
    fs::write(staging.path.join(STAGED_MANIFEST), &text).unwrap();
    staging.set_manifest_aside(&beside, &staging.path.join(REPLACED_MANIFEST)).unwrap();
    staging.name_output(&staging.made()).unwrap();
    drop(staging);
    assert_eq!((fs::read(&to).unwrap(), beside.exists()), (b"2".to_vec(), false));
    let (staging, finished) = begun(&to, false, true);
    assert!(finished.is_empty());
    make(&staging, "a", b"2");
    publish(staging, Some(&text)).unwrap();
    assert_eq!(
        (fs::read(&to).unwrap(), fs::read_to_string(&beside).unwrap()),
        (b"2".to_vec(), text)
    );
    assert_eq!(names(root.path()), [".a.manifest.json", "a"]);
}

/// Killed anywhere among the names of a directory that replaces another, the same command may replace what stands there.
#[test]
fn a_directory_killed_beside_its_manifest_is_replaced() {
    let root = tempfile::tempdir().unwrap();
    let (to, beside) = (root.path().join("a"), root.path().join(".a.manifest.json"));
    let (staging, _) = begun(&to, true, false);
    let old = manifest(&[make(&staging, "one", b"1")]);
    publish(staging, Some(&old)).unwrap();
    for is_named in [false, true] {
        let (staging, _) = begun(&to, true, true);
        // The manifests have one size and name, so that bytes alone tell them apart.
        let text = manifest(&[make(&staging, "one", b"2")]);
        fs::write(staging.path.join(STAGED_MANIFEST), &text).unwrap();
        staging.set_manifest_aside(&beside, &staging.path.join(REPLACED_MANIFEST)).unwrap();
        if is_named {
            staging.name_output(&staging.made()).unwrap();
        }
        drop(staging);
        let stands = if is_named { b"2" } else { b"1" };
        assert_eq!((&fs::read(to.join("one")).unwrap()[..], beside.exists()), (&stands[..], false));
        // What is not of them is still somebody's.
        fs::write(to.join("theirs"), "x").unwrap();
        let request = OutputRequest {
            to: &to,
            stores: None,
            is_directory: true,
            force: true,
            maker: &NUMBERS,
        };
        assert!(
            matches!(refuse_occupied(&request), Err(OutputError::Exists { path, .. }) if path.ends_with("theirs"))
        );
        fs::remove_file(to.join("theirs")).unwrap();
        let (staging, _) = begun(&to, true, true);
        let described = if is_named { &text } else { &old };
        assert_eq!(&fs::read_to_string(&beside).unwrap(), described);
        let _ = fs::remove_file(staging.data.join("one"));
        make(&staging, "one", b"2");
        publish(staging, Some(&text)).unwrap();
        assert_eq!(
            (&fs::read(to.join("one")).unwrap()[..], fs::read_to_string(&beside).unwrap()),
            (&b"2"[..], text)
        );
        assert_eq!(names(root.path()), [".a.manifest.json", "a"]);
        let (staging, _) = begun(&to, true, true);
        let file = make(&staging, "one", b"1");
        publish(staging, Some(&manifest(&[file]))).unwrap();
    }
}

/// A run that was killed with the old manifest set aside, and given up: the old pair is there again.
#[test]
fn a_manifest_set_aside_is_put_back() {
    let root = tempfile::tempdir().unwrap();
    let (to, beside) = (root.path().join("a"), root.path().join(".a.manifest.json"));
    fs::write(&to, "old").unwrap();
    let old = manifest(&[digest("a", b"old")]);
    fs::write(&beside, &old).unwrap();
    let (staging, _) = begun(&to, false, true);
    staging.set_manifest_aside(&beside, &staging.path.join(REPLACED_MANIFEST)).unwrap();
    fs::rename(&to, staging.path.join(REPLACED)).unwrap();
    drop(staging);
    assert!(names(root.path()) == ["a.tmp-0123456789ab"]);
    let (staging, _) = begun(&to, false, false);
    Staging::<u64>::abandon(staging, false);
    assert_eq!(
        (fs::read(&to).unwrap(), fs::read_to_string(&beside).unwrap()),
        (b"old".to_vec(), old)
    );
    assert_eq!(names(root.path()), [".a.manifest.json", "a"]);
}

/// Replaces as on a file system that can exchange no names.
#[test]
fn a_replaced_output_moves_away_where_names_cannot_swap() {
    let root = tempfile::tempdir().unwrap();
    for (name, is_directory) in [("file", false), ("directory", true)] {
        let to = root.path().join(name);
        let (staging, _) = begun(&to, is_directory, false);
        let file = make(&staging, if is_directory { "one" } else { name }, b"1");
        publish(staging, Some(&manifest(&[file]))).unwrap();
        let (staging, _) = begun(&to, is_directory, true);
        let (made, replaced) = (staging.data.join("made"), staging.path.join(REPLACED));
        let theirs = if is_directory { to.join("theirs") } else { to.clone() };
        let shown = |strange: PathBuf| to.join(strange);
        let make_again = || match is_directory {
            true => fs::create_dir(&made).unwrap(),
            false => fs::write(&made, "2").unwrap(),
        };
        make_again();
        fs::write(&theirs, "theirs").unwrap();
        let refused = staging.name_by_moving(&made, shown);
        assert!(matches!(refused, Err(OutputError::Appeared { .. })), "{refused:?}");
        assert!(made.exists() && !replaced.exists());
        assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
        Staging::<u64>::abandon(staging, false);
        if is_directory {
            fs::remove_file(&theirs).unwrap();
        }
        let (staging, _) = begun(&to, is_directory, true);
        make_again();
        staging.name_by_moving(&made, shown).unwrap();
        assert!(replaced.exists() && !made.exists());
        assert_eq!(fs::read(&to).unwrap_or_default(), if is_directory { &b""[..] } else { b"2" });
        staging.discard(&staging.path);
    }
}

#[test]
fn renames_replace_nothing_with_links_too() {
    use crate::output::naming::rename_new_by_link;
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    for rename in [rename_new, rename_new_by_link] {
        fs::write(at("new"), "new").unwrap();
        fs::write(at("taken"), "theirs").unwrap();
        assert_eq!(rename(&at("new"), &at("taken")).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(at("taken")).unwrap(), b"theirs");
        rename(&at("new"), &at("free")).unwrap();
        assert_eq!(names(root.path()), ["free", "taken"]);
        fs::create_dir(at("directory")).unwrap();
        let refused = rename(&at("directory"), &at("taken")).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
        rename(&at("directory"), &at("moved")).unwrap();
        for name in ["free", "taken"] {
            fs::remove_file(at(name)).unwrap();
        }
        fs::remove_dir(at("moved")).unwrap();
    }
}
