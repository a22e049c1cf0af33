//! What the demo ingests: files of crates gathered into one directory a source, or the user's paths.

use super::crates::{Choice, Crate, SOURCES};
use super::directory::DemoDirectory;
use crate::cli::print;
use anyhow::Context as _;
use corpusdb::Context;
use corpusdb::ingest::InputFormat;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// One `corpusdb ingest`.
pub(super) struct Input {
    /// The source.
    pub(super) source: String,
    /// The argument, as a user would write it.
    pub(super) path: String,
    /// How its files are read.
    pub(super) format: InputFormat,
    /// The field with the key of a record, where known.
    pub(super) id_field: Option<&'static str>,
    /// Files, where known.
    pub(super) files: u64,
    /// Their bytes, where known.
    pub(super) bytes: u64,
}

/// Inputs by crawl, the first crawl first.
pub(super) struct Inputs {
    /// The crawls.
    pub(super) crawls: Vec<Vec<Input>>,
    /// The crates they were gathered from; none when the user gave paths.
    pub(super) crates: Option<Choice>,
    /// Whether it is the text that the command carries.
    pub(super) is_carried: bool,
}

impl Inputs {
    /// Directory or file, source, files and bytes of each, for a table.
    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let row = |input: &Input| {
            vec![
                input.path.clone(),
                input.source.clone(),
                print::number(input.files),
                print::size(input.bytes),
            ]
        };
        self.crawls.iter().flatten().map(row).collect()
    }
}

/// Copies the files of the crates into `crawl-1` and `crawl-2`, every other crate: versions of one
/// crate are neighbours by name, so they fall into different crawls. Copies, so that every command
/// that the demo shows can be run as it stands.
pub(super) fn gather(
    choice: Choice,
    place: &DemoDirectory,
    context: &Context<'_>,
) -> anyhow::Result<Inputs> {
    let mut crawls = Vec::new();
    for number in 0..2 {
        let directory = place.crawl(number);
        let mut inputs: Vec<Input> =
            SOURCES.iter().map(|source| empty(place, &directory, source)).collect();
        for found in choice.taken.iter().skip(number).step_by(2) {
            super::stop_if_asked(context)?;
            copy(found, &directory, &mut inputs)?;
        }
        inputs.retain(|input| input.files > 0);
        if !inputs.is_empty() {
            crawls.push(inputs);
        }
    }
    Ok(Inputs { crawls, crates: Some(choice), is_carried: false })
}

fn empty(place: &DemoDirectory, directory: &Path, source: &str) -> Input {
    let path = place.show(&directory.join(source));
    let format = InputFormat::Text;
    Input { source: source.to_owned(), path, format, id_field: None, files: 0, bytes: 0 }
}

fn copy(found: &Crate, directory: &Path, inputs: &mut [Input]) -> anyhow::Result<()> {
    for file in found.files() {
        let from = found.root().join(&file.path);
        let to = directory.join(file.source).join(&found.title).join(&file.path);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).with_context(|| format!("making {}", parent.display()))?;
        }
        fs::copy(&from, &to)
            .with_context(|| format!("copying {} to {}", from.display(), to.display()))?;
        if let Some(input) = inputs.iter_mut().find(|input| input.source == file.source) {
            input.files += 1;
            input.bytes += file.bytes;
        }
    }
    Ok(())
}

/// The user's paths in one crawl, each a source under its own name.
pub(super) fn given(paths: &[String]) -> Inputs {
    let mut names = BTreeSet::new();
    let inputs = paths.iter().map(|path| {
        let name = source_name(path);
        let unused =
            (2..).map(|number| format!("{name}-{number}")).find(|other| !names.contains(other));
        let source = if names.contains(&name) { unused.unwrap_or_default() } else { name };
        names.insert(source.clone());
        let (path, format) = (path.clone(), InputFormat::Auto);
        Input { source, path, format, id_field: None, files: 0, bytes: 0 }
    });
    Inputs { crawls: vec![inputs.collect()], crates: None, is_carried: false }
}

/// The name of a file or directory up to its first dot; of a pattern, that of the directory it is in.
fn source_name(path: &str) -> String {
    let is_name =
        |part: &&str| !part.contains(['*', '?', '[']) && !["", ".", "..", "-"].contains(part);
    let last = path.rsplit(['/', std::path::MAIN_SEPARATOR]).find(is_name).unwrap_or("input");
    let stem = last.split('.').find(|part| !part.is_empty()).unwrap_or("input");
    stem.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_their_sources() {
        let cases = [
            ("web/pages.jsonl.zst", "pages"),
            ("notes/", "notes"),
            ("dump/*.parquet", "dump"),
            ("./.hidden.txt", "hidden"),
            ("-", "input"),
            (".", "input"),
        ];
        for (path, name) in cases {
            assert_eq!(source_name(path), name, "{path}");
        }
        let inputs = given(&["a/x.txt".to_owned(), "b/x.md".to_owned(), "c/x".to_owned()]);
        let names: Vec<_> = inputs.crawls[0].iter().map(|input| input.source.as_str()).collect();
        assert_eq!(names, ["x", "x-2", "x-3"]);
    }
}
