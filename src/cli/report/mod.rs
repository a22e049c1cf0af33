//! Files that a report is written to, and how: the description in Croissant, the EU's summary, pages.

mod croissant;
mod summary;

pub use croissant::croissant;
pub use summary::summary;

use corpusdb::export::OutputFile;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Bytes by which a page is known.
const BEGINNING: usize = 12;

/// Writes a page. One that was made before is made anew; a file of another kind stays.
pub(super) fn write_page(file: &Path, text: &str) -> anyhow::Result<()> {
    let is_page = |path: &Path| {
        let mut begins = Vec::new();
        let read = File::open(path);
        let read = read.and_then(|file| file.take(BEGINNING as u64).read_to_end(&mut begins));
        read.is_ok() && (begins.is_empty() || text.as_bytes().starts_with(&begins))
    };
    let file = OutputFile::judge(file)?.replacing("no page of this kind", is_page)?;
    Ok(file.write(text.as_bytes())?)
}

/// Writes a file that may take the place of any other.
pub(super) fn write_file(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    Ok(OutputFile::judge(file)?.write(bytes)?)
}

/// What a corpus is called: the name of its directory.
pub fn named(corpus: &Path) -> String {
    let path = std::path::absolute(corpus).unwrap_or_else(|_| corpus.to_path_buf());
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
