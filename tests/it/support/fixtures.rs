//! Corpora that are made once and copied: a tokenizer is trained and proven once, not once a test.

use crate::support::{TestDir, copy, corpusdb, init, trained};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

const PREFIX: &str = "corpusdb-fixtures-";

/// Copies to `to` what `make` makes at the path that it is given. `recipe` names all that decides what that is. The
/// copy is the test's own; paths of files that the corpus was made of are gone.
pub fn fixture(recipe: &str, to: &Path, make: impl FnOnce(&Path)) {
    static ONE_BY_ONE: Mutex<BTreeMap<String, Arc<Mutex<()>>>> = Mutex::new(BTreeMap::new());
    let name = blake3::hash(recipe.as_bytes()).to_hex();
    let made = FOLDER.join(name.as_str());
    if !made.exists() {
        let lock = {
            let mut locks = ONE_BY_ONE.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(locks.entry(recipe.to_owned()).or_default())
        };
        let _one = lock.lock().unwrap_or_else(PoisonError::into_inner);
        if !made.exists() {
            let directory = TestDir::new();
            let path = directory.path("corpus");
            make(&path);
            // Another process of the same binary may be as far: whoever is first has it.
            let aside = FOLDER.join(format!("{name}-{}", std::process::id()));
            copy(&path, &aside);
            if std::fs::rename(&aside, &made).is_err() {
                std::fs::remove_dir_all(&aside).unwrap();
            }
        }
    }
    copy(&made, to);
}

/// The folder of this binary and the command, among the temporary files. Those of binaries that nobody ran for a day
/// are removed.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let mut hasher = blake3::Hasher::new();
    let programs = [std::env::current_exe().unwrap(), env!("CARGO_BIN_EXE_corpusdb").into()];
    for program in programs {
        let about = std::fs::metadata(&program).unwrap();
        hasher.update(format!("{program:?} {} {:?}", about.len(), about.modified()).as_bytes());
    }
    let parent = std::env::temp_dir();
    for entry in std::fs::read_dir(&parent).unwrap().flatten() {
        let age = entry.metadata().and_then(|about| about.modified());
        let day = Duration::from_hours(24);
        let is_old = age.is_ok_and(|then| then.elapsed().unwrap_or_default() > day);
        if is_old && entry.file_name().to_string_lossy().starts_with(PREFIX) {
            // Another process may be removing it.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    let folder = parent.join(format!("{PREFIX}{}", &hasher.finalize().to_hex()[..16]));
    std::fs::create_dir_all(&folder).unwrap();
    folder
});

/// `init CORPUS` with further arguments, and [`trained`] registered as `own`.
#[track_caller]
pub fn init_with_tokenizer(corpus: &str, more: &[&str]) {
    fixture(&format!("init {more:?} with a tokenizer"), Path::new(corpus), |path| {
        let path = path.display().to_string();
        init(&path, more);
        let directory = TestDir::new();
        let file = directory.write("tokenizer.json", trained());
        corpusdb(&["tokenizer", "add", &path, "own", &file]).good();
    });
}
