//! Directories by the values of columns: `source=web/language=en`, as Hive, Spark, DuckDB and PyArrow read them.

use super::error::ExportError;
use crate::model::{FieldId, HIVE_NULL, SourceId, TermId};
use crate::query::{keyword_field, select};
use crate::store::{View, system_fields};
use roaring::RoaringTreemap;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Partitions that an export may have: a manifest names them all, and each is at least a file.
const MOST: usize = 10_000;
/// Bytes of a value in the name of a directory, which file systems bound.
const NAME_MAX: usize = 160;

/// The documents that have one value of each column.
#[derive(Clone, Debug, Default)]
pub(super) struct Partition {
    values: Vec<(String, Option<String>)>,
    picks: Vec<Pick>,
}

/// How the documents of a value are found.
#[derive(Clone, Debug)]
enum Pick {
    Source(SourceId),
    Term(TermId),
    /// Documents without a value of a column.
    Null(String),
}

impl Pick {
    fn documents(&self, view: &View) -> Result<RoaringTreemap, ExportError> {
        Ok(match self {
            Self::Source(source) => {
                view.documents_with(system_fields::SOURCE, &system_fields::source_value(*source))?
            }
            Self::Term(term) => view.posting(*term)?,
            Self::Null(column) => {
                let column = column.replace('"', "\"\"");
                select(view, Some(&format!("\"{column}\" IS NULL")))?
            }
        })
    }
}

impl Partition {
    /// Those of `selected` that are in it.
    pub fn documents(
        &self,
        view: &View,
        selected: &RoaringTreemap,
    ) -> Result<RoaringTreemap, ExportError> {
        let mut documents = selected.clone();
        for pick in &self.picks {
            documents &= pick.documents(view)?;
        }
        Ok(documents)
    }

    /// Its directory, with a stroke at the end; empty when the export is not parted.
    pub fn directory(&self) -> String {
        let mut path = String::new();
        for (name, value) in &self.values {
            let _ = write!(
                path,
                "{}={}/",
                escaped(name),
                value.as_deref().map_or(HIVE_NULL.to_owned(), value_name)
            );
        }
        path
    }

    /// Columns and values.
    pub fn values(&self) -> BTreeMap<String, Option<String>> {
        self.values.iter().cloned().collect()
    }
}

/// The partitions of `selected` that have documents, in the order of the values of the first column, then the second.
/// One when there is no column.
pub(super) fn partitions(
    view: &View,
    selected: &RoaringTreemap,
    by: &[String],
) -> Result<Vec<Partition>, ExportError> {
    let mut found = vec![Partition::default()];
    for (at, name) in by.iter().enumerate() {
        if by.get(..at).is_some_and(|before| before.contains(name)) {
            return Err(ExportError::Options(format!("`partition_by=` names `{name}` twice")));
        }
        let picks = picks(view, name)?;
        let mut finer = Vec::new();
        for partition in &found {
            let documents = partition.documents(view, selected)?;
            for (value, pick) in &picks {
                if documents.is_disjoint(&pick.documents(view)?) {
                    continue;
                }
                if finer.len() >= MOST {
                    return Err(too_many(view, name));
                }
                let mut partition = partition.clone();
                partition.values.push((name.clone(), value.clone()));
                partition.picks.push(pick.clone());
                finer.push(partition);
            }
        }
        found = finer;
    }
    Ok(found)
}

/// The values of a column, in byte order, and how to find the documents of each; none comes last.
fn picks(view: &View, name: &str) -> Result<Vec<(Option<String>, Pick)>, ExportError> {
    if name == "source" {
        let sources =
            view.sources().map(|(id, record)| (Some(record.name.clone()), Pick::Source(id)));
        let mut sources: Vec<_> = sources.collect();
        sources.sort_by(|a, b| a.0.cmp(&b.0));
        return Ok(sources);
    }
    let field: FieldId = keyword_field(view, name)
        .ok_or_else(|| unfit(view, name, "it is not `source`, `language` or a declared keyword"))?;
    let terms = view.terms_up_to(field, MOST)?.ok_or_else(|| too_many(view, name))?;
    let terms = terms.into_iter().map(|(value, term)| {
        (Some(String::from_utf8_lossy(&value).into_owned()), Pick::Term(term))
    });
    Ok(terms.chain([(None, Pick::Null(name.to_owned()))]).collect())
}

fn too_many(view: &View, name: &str) -> ExportError {
    unfit(view, name, &format!("that makes more than {MOST} directories"))
}

fn unfit(view: &View, name: &str, why: &str) -> ExportError {
    let mut known = vec!["source".to_owned(), "language".to_owned()];
    let declared = view.fields().iter().map(|field| &field.name);
    known.extend(
        declared.filter(|name| *name != "language" && keyword_field(view, name).is_some()).cloned(),
    );
    ExportError::NoPartition { name: name.to_owned(), why: why.to_owned(), known }
}

/// A value as part of the name of a directory. One that no name holds has its beginning and its hash; the manifest
/// has it whole.
fn value_name(value: &str) -> String {
    let name = escaped(value);
    if name == HIVE_NULL {
        return name.replacen('_', "%5F", 1);
    }
    if name.len() <= NAME_MAX {
        return name;
    }
    let end = name.floor_char_boundary(NAME_MAX);
    let hash = blake3::hash(value.as_bytes()).to_hex();
    format!("{}~{}", name.get(..end).unwrap_or_default(), hash.get(..16).unwrap_or_default())
}

/// Text without what means something in a path, or to those who read such directories: each such byte as `%` and two
/// digits.
fn escaped(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || "\"#%'*/:=?\\{}[]^<>|~".contains(c) {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                let _ = write!(name, "%{byte:02X}");
            }
        } else {
            name.push(c);
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_one_part_of_a_path_and_no_two_are_alike() {
        let long = "é".repeat(500);
        let values = [
            "web",
            "../x",
            "a/b=c",
            ".",
            "..",
            "",
            "a%2Fb",
            "a/b",
            HIVE_NULL,
            "日本",
            "\0",
            "a\nb",
            &long,
            &format!("{long}x"),
        ];
        let mut names: Vec<String> = values.iter().map(|value| value_name(value)).collect();
        for name in &names {
            assert!(name.len() <= 200 && !name.contains(['/', '\0', '=', '\\', '\n']), "{name}");
        }
        assert_eq!(names.get(1..3), Some(&["..%2Fx".to_owned(), "a%2Fb%3Dc".to_owned()][..]));
        assert!(!names.contains(&HIVE_NULL.to_owned()));
        names.sort();
        names.dedup();
        assert_eq!(names.len(), values.len());
    }
}
