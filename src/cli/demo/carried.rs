//! The text that the command carries, for where cargo has no crates to offer: one declaration in many languages.

use super::directory::DemoDirectory;
use super::input::{Input, Inputs};
use anyhow::Context as _;
use corpusdb::ingest::InputFormat;
use std::fs;

/// Crawl, source, JSON lines. Later versions of one language stand in the second crawl.
const FILES: [(usize, &str, &str); 4] = [
    (0, "latin", include_str!("declaration/crawl-1-latin.jsonl")),
    (0, "other", include_str!("declaration/crawl-1-other.jsonl")),
    (1, "latin", include_str!("declaration/crawl-2-latin.jsonl")),
    (1, "other", include_str!("declaration/crawl-2-other.jsonl")),
];

/// Writes the files that the command carries into the directories of the crawls.
pub(super) fn write(place: &DemoDirectory) -> anyhow::Result<Inputs> {
    let mut crawls: Vec<Vec<Input>> = vec![Vec::new(), Vec::new()];
    for (number, source, lines) in FILES {
        let directory = place.crawl(number);
        fs::create_dir_all(&directory)
            .with_context(|| format!("making {}", directory.display()))?;
        let path = directory.join(format!("{source}.jsonl"));
        fs::write(&path, lines).with_context(|| format!("writing {}", path.display()))?;
        if let Some(crawl) = crawls.get_mut(number) {
            crawl.push(Input {
                source: source.to_owned(),
                path: place.show(&path),
                format: InputFormat::Auto,
                id_field: Some("id"),
                files: 1,
                bytes: lines.len() as u64,
            });
        }
    }
    Ok(Inputs { crawls, crates: None, is_carried: true })
}
