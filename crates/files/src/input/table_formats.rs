//! Recognises tables of several files whose metadata say which files, and which rows of them, are the table now.
//!
//! Iceberg, Delta, Hudi and Lance write new files beside old ones, and lists of deleted rows: read as loose files, rows
//! that are deleted or replaced come in.

use std::path::Path;

/// The format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LakeFormat {
    Iceberg,
    Delta,
    Hudi,
    Lance,
}

impl LakeFormat {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Iceberg => "an Iceberg table",
            Self::Delta => "a Delta table",
            Self::Hudi => "a Hudi table",
            Self::Lance => "a Lance dataset",
        }
    }

    /// What reads its current rows, as Python gives them to an ingest.
    pub(super) const fn reader(self) -> &'static str {
        match self {
            Self::Iceberg => {
                "`pyiceberg.table.StaticTable.from_metadata(..).scan().to_arrow_batch_reader()`"
            }
            Self::Delta => "`deltalake.DeltaTable(..).to_pyarrow_table()`",
            Self::Hudi => "`pyarrow.Table.from_batches(hudi.HudiTable(..).read_snapshot())`",
            Self::Lance => "`lance.dataset(..).scanner().to_reader()`",
        }
    }
}

const DELTA: &str = "_delta_log";
const HUDI: &str = ".hoodie";
const HUDI_PARTITION: &str = ".hoodie_partition_metadata";
const METADATA: &str = "metadata";
const VERSIONS: &str = "_versions";

/// The folder and the format of the table whose metadata a file is; none: it is of no table.
pub(super) fn table_of(path: &str) -> Option<(&str, LakeFormat)> {
    let mut at = 0;
    loop {
        let rest = path.get(at..)?;
        let (part, below) = rest.split_once('/').unwrap_or((rest, ""));
        let format = match part {
            DELTA => Some(LakeFormat::Delta),
            HUDI | HUDI_PARTITION => Some(LakeFormat::Hudi),
            METADATA if is_iceberg(below) => Some(LakeFormat::Iceberg),
            VERSIONS if is_lance(below) => Some(LakeFormat::Lance),
            _ => None,
        };
        if let Some(format) = format {
            return Some((path.get(..at)?.trim_end_matches('/'), format));
        }
        if below.is_empty() {
            return None;
        }
        at += part.len() + 1;
    }
}

/// The table that a folder on disk is, or lies in: its folder and format.
pub(super) fn table_around(folder: &Path) -> Option<(&Path, LakeFormat)> {
    let holds = |folder: &Path, is: fn(&str) -> bool| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names = entries.map(|entry| entry.file_name());
        names.any(|name| name.to_str().is_some_and(is))
    };
    folder.ancestors().find_map(|above| {
        let below = folder.strip_prefix(above).ok()?.iter().next();
        // Other files beside a folder of that name are not of a table.
        let is_iceberg_place = below.is_none_or(|name| name == METADATA || name == "data");
        let format = if above.join(DELTA).is_dir() {
            LakeFormat::Delta
        } else if above.join(HUDI).is_dir() || above.join(HUDI_PARTITION).is_file() {
            LakeFormat::Hudi
        } else if is_iceberg_place && holds(&above.join(METADATA), is_iceberg) {
            LakeFormat::Iceberg
        } else if holds(&above.join(VERSIONS), is_lance) {
            LakeFormat::Lance
        } else {
            return None;
        };
        Some((above, format))
    })
}

/// `v3.metadata.json` of Hadoop's catalog, `00003-UUID.metadata.json` of all others, with `.gz` before the end or
/// behind it; the number of the current one.
fn is_iceberg(name: &str) -> bool {
    let stem = name.strip_suffix(".gz").unwrap_or(name).strip_suffix(".metadata.json");
    let is_version = |stem: &str| {
        let stem = stem.strip_suffix(".gz").unwrap_or(stem);
        let (number, rest) = match stem.strip_prefix('v') {
            Some(number) => (number, "-"),
            None => stem.split_at(stem.find('-').unwrap_or(stem.len())),
        };
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number && rest.starts_with('-')
    };
    name == "version-hint.text" || stem.is_some_and(is_version)
}

fn is_lance(name: &str) -> bool {
    name.ends_with(".manifest")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_known_by_their_metadata() {
        for (path, folder, format) in [
            ("_delta_log/00000000000000000000.json", "", LakeFormat::Delta),
            ("db/t/_delta_log/_last_checkpoint", "db/t", LakeFormat::Delta),
            ("t/.hoodie", "t", LakeFormat::Hudi),
            (".hoodie/hoodie.properties", "", LakeFormat::Hudi),
            ("de/.hoodie_partition_metadata", "de", LakeFormat::Hudi),
            ("t/metadata/v12.metadata.json", "t", LakeFormat::Iceberg),
            ("metadata/v2.gz.metadata.json", "", LakeFormat::Iceberg),
            ("t/metadata/00001-7a1e0c5e-3c1d.metadata.json", "t", LakeFormat::Iceberg),
            ("t/metadata/version-hint.text", "t", LakeFormat::Iceberg),
            ("x.lance/_versions/1.manifest", "x.lance", LakeFormat::Lance),
        ] {
            assert_eq!(table_of(path), Some((folder, format)), "{path}");
        }
        let others = "metadata.json metadata/x.json metadata/model.metadata.json _versions/1.json / \
            metadata/v1.json data/x.parquet a/metadata/b/v1.metadata.json";
        for path in others.split_whitespace().chain([""]) {
            assert_eq!(table_of(path), None, "{path}");
        }
    }
}
