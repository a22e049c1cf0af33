//! Tells from the name of a file whether it is data, a part of a dataset, or a description of others.

use super::decompress::without_compression;

/// Ends of names of files that hold records and nothing else, without what says the compression.
const DATA: [&str; 9] =
    [".parquet", ".pq", ".arrow", ".feather", ".ipc", ".jsonl", ".ndjson", ".csv", ".tsv"];
const ARCHIVES: [&str; 3] = [".warc", ".wet", ".wat"];
/// Ends of names of compressed files that other programs write beside those that are read by their names.
const COMPRESSED: [&str; 8] = [".gzip", ".zstd", ".snappy", ".bgz", ".zlib", ".z", ".lzma", ".sz"];
/// Names that describe what stands beside them, whatever their ending.
const PAGES: [&str; 9] = [
    "readme",
    "license",
    "licence",
    "notice",
    "citation",
    "copying",
    "authors",
    "changelog",
    "contributing",
];
const DESCRIPTIONS: [&str; 12] = [
    "dataset_info.json",
    "dataset_infos.json",
    "dataset_dict.json",
    "croissant.json",
    "metadata.json",
    "meta.json",
    "manifest.json",
    "schema.json",
    "md5sums",
    "sha1sums",
    "sha256sums",
    "checksums.txt",
];
const CHECKSUMS: [&str; 5] = [".crc", ".md5", ".sha1", ".sha256", ".sha512"];

/// The name in small letters, without the end that says the compression.
pub(super) fn plain(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let plain = COMPRESSED.iter().find_map(|end| name.strip_suffix(end));
    plain.unwrap_or_else(|| without_compression(&name)).to_owned()
}

/// Whether it is called as what holds records and nothing else.
pub(super) fn is_data(name: &str) -> bool {
    let plain = plain(name);
    is_archive(name) || DATA.iter().any(|end| plain.ends_with(end))
}

/// Whether it is called as what holds a text of the web.
pub(super) fn is_archive(name: &str) -> bool {
    let name = plain(name);
    ARCHIVES.iter().any(|end| name.ends_with(end))
}

/// Whether it is called as what describes the files beside it.
pub(super) fn is_description(name: &str) -> bool {
    let lower = plain(name);
    is_page(name)
        || DESCRIPTIONS.contains(&lower.as_str())
        || CHECKSUMS.iter().any(|end| lower.ends_with(end))
}

/// Whether it is called as the page or the licence of a repository.
pub(super) fn is_page(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    PAGES.contains(&name.split(['.', '-', '_']).next().unwrap_or_default())
}

/// Whether it is a numbered part of a dataset: `train-00000-of-00007.parquet`, or `part-00000-..-c000.snappy.parquet`.
pub(super) fn is_part(name: &str) -> bool {
    let is_number =
        |word: &str| word.len() >= 5 && word.bytes().take(5).all(|b| b.is_ascii_digit());
    let stem = name.split('.').next().unwrap_or_default();
    if stem
        .strip_prefix("part-")
        .is_some_and(|rest| is_number(rest.trim_start_matches(['r', 'm', '-'])))
    {
        return true;
    }
    let words: Vec<&str> = stem.split('-').collect();
    let is_numbered =
        |three: &[&str]| matches!(three, [at, "of", of] if is_number(at) && is_number(of));
    words.windows(3).any(is_numbered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_recognised_by_their_numbers() {
        for name in [
            "train-00000-of-00007.parquet",
            "test-00003-of-00004-0a1b2c3d4e5f6071.parquet",
            "imdb-train-00000-of-00002.arrow",
            "part-00000",
            "part-00001-4f-c000.snappy.parquet",
            "part-m-00003.gz",
        ] {
            assert!(is_part(name), "{name}");
        }
        for name in
            ["train.parquet", "a-1-of-2.txt", "00000.parquet", "of-of-of.arrow", "part-time.txt"]
        {
            assert!(!is_part(name), "{name}");
        }
    }
}
