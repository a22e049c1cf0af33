//! Directories by the values of columns: `source=web/language=en`, as Hive, Spark, DuckDB and PyArrow read them.

use crate::sql::{keyword_field, select};
use model::near_names::way_out;
use model::{Context, Error, ErrorKind, FieldId, HIVE_NULL, Hint, SourceId};
use roaring::RoaringTreemap;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use store::{View, system_fields};

/// Partitions that an export may have: a manifest names them all, and each is at least a file.
const MOST: usize = 10_000;
/// Bytes of the name of a directory: file systems hold no longer one.
const NAME_MAX: usize = 255;
/// Characters of a value that an error shows.
const SHOWN: usize = 40;

/// The documents that have one value of each column.
#[derive(Clone, Debug, Default)]
pub(super) struct Partition {
    values: Vec<PartitionValue>,
}

/// A value of a column, or the lack of one, and the selected documents that have it.
#[derive(Clone, Debug)]
struct PartitionValue {
    column: String,
    value: Option<String>,
    documents: Arc<RoaringTreemap>,
}

impl Partition {
    /// The documents of `selected` that are in this partition.
    pub fn documents(&self, selected: &RoaringTreemap) -> RoaringTreemap {
        let mut sets = self.values.iter().map(|value| value.documents.as_ref());
        let Some(first) = sets.next() else { return selected.clone() };
        sets.fold(first.clone(), |documents, set| documents & set)
    }

    /// Its directory, with a stroke at the end; empty when the export is not parted.
    pub fn directory(&self) -> String {
        self.values.iter().map(|value| value.directory() + "/").collect()
    }

    /// Columns and values.
    pub fn values(&self) -> BTreeMap<String, Option<String>> {
        self.values.iter().map(|value| (value.column.clone(), value.value.clone())).collect()
    }
}

impl PartitionValue {
    /// The name of its directory.
    fn directory(&self) -> String {
        let value = self.value.as_deref().map_or(HIVE_NULL.to_owned(), escaped);
        format!("{}={value}", escaped(&self.column))
    }

    /// Refuses a value that no directory can be named by so that readers give it back.
    fn check(&self) -> Result<(), Error> {
        let Some(value) = &self.value else { return Ok(()) };
        let bytes = self.directory().len();
        let why = if value == HIVE_NULL {
            "readers of such directories take it for no value".to_owned()
        } else if bytes > NAME_MAX {
            format!("its directory would have a name of {bytes} bytes, and {NAME_MAX} are the most")
        } else {
            return Ok(());
        };
        let shown: String = value.chars().take(SHOWN).collect();
        let more = if shown.len() < value.len() { "…" } else { "" };
        Err(Error::bad_input(format!(
            "cannot partition an export by `{}`: a document has the value `{shown}{more}`, and {why}; leave such documents out with `where=`, or partition by another column",
            self.column
        )))
    }
}

/// The partitions of `selected` that have documents, in the order of the values of the first column, then the second.
/// One when there is no column. The documents of each value are read once.
pub(super) fn partitions(
    view: &View,
    selected: &RoaringTreemap,
    by: &[String],
    context: &Context<'_>,
) -> Result<Vec<Partition>, Error> {
    let mut found = vec![Partition::default()];
    for (at, name) in by.iter().enumerate() {
        if by.get(..at).is_some_and(|before| before.contains(name)) {
            return Err(Error::bad_input(format!("`partition_by=` names `{name}` twice")));
        }
        let values = values(view, selected, name, context)?;
        let mut finer = Vec::new();
        for partition in &found {
            let documents = partition.documents(selected);
            for value in &values {
                if documents.is_disjoint(&value.documents) {
                    continue;
                }
                if finer.len() >= MOST {
                    return Err(too_many(view, name));
                }
                let mut partition = partition.clone();
                partition.values.push(value.clone());
                finer.push(partition);
            }
        }
        found = finer;
    }
    Ok(found)
}

/// The values that selected documents have in a column, in byte order; the lack of one comes last.
fn values(
    view: &View,
    selected: &RoaringTreemap,
    name: &str,
    context: &Context<'_>,
) -> Result<Vec<PartitionValue>, Error> {
    let mut found = Vec::new();
    let mut add = |value: Option<String>, documents: RoaringTreemap| {
        let documents = documents & selected;
        if documents.is_empty() {
            return Ok(());
        }
        let column = name.to_owned();
        let value = PartitionValue { column, value, documents: Arc::new(documents) };
        value.check()?;
        found.push(value);
        Ok::<(), Error>(())
    };
    if name == "source" {
        let sources = view.sources().map(|(id, record)| (record.name.clone(), id));
        for (value, source) in sources.collect::<BTreeSet<(String, SourceId)>>() {
            let value_of = system_fields::source_value(source);
            add(Some(value), view.documents_with(system_fields::SOURCE, &value_of)?)?;
        }
        return Ok(found);
    }
    let field: FieldId = keyword_field(view, name)
        .ok_or_else(|| unfit(view, name, "it is not `source`, `language` or a declared keyword"))?;
    let terms = view.terms_up_to(field, MOST)?.ok_or_else(|| too_many(view, name))?;
    for (value, term) in terms {
        add(Some(String::from_utf8_lossy(&value).into_owned()), view.posting(term)?)?;
    }
    let column = name.replace('"', "\"\"");
    add(None, select(view, &format!("\"{column}\" IS NULL"), context)?)?;
    Ok(found)
}

fn too_many(view: &View, name: &str) -> Error {
    unfit(view, name, &format!("that makes more than {MOST} directories"))
}

fn unfit(view: &View, name: &str, why: &str) -> Error {
    let mut known = vec!["source".to_owned(), "language".to_owned()];
    let declared = view.fields().iter().map(|field| &field.name);
    known.extend(
        declared.filter(|name| *name != "language" && keyword_field(view, name).is_some()).cloned(),
    );
    Error::of(ErrorKind::NotFound, format!("cannot partition an export by `{name}`: {why}"))
        .with_hint(Hint::text(way_out(name, &known)))
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

    fn named(value: &str) -> PartitionValue {
        let (column, value) = ("kind".to_owned(), Some(value.to_owned()));
        PartitionValue { column, value, documents: Arc::default() }
    }

    #[test]
    fn a_value_is_one_part_of_a_path_and_no_two_are_alike() {
        let longest = "x".repeat(NAME_MAX - "kind=".len());
        let values =
            ["web", "../x", "a/b=c", ".", "..", "", "a%2Fb", "a/b", "日本", "\0", "a\nb", &longest];
        let mut names: Vec<String> = values.map(|value| named(value).directory()).to_vec();
        for (name, value) in names.iter().zip(values) {
            let own = name.strip_prefix("kind=").unwrap();
            assert!(name.len() <= 255 && !own.contains(['/', '\0', '=', '\\', '\n']), "{name}");
            named(value).check().unwrap();
        }
        assert_eq!(
            names.get(1..3),
            Some(&["kind=..%2Fx".to_owned(), "kind=a%2Fb%3Dc".to_owned()][..])
        );
        names.sort();
        names.dedup();
        assert_eq!(names.len(), values.len());
    }

    #[test]
    fn a_value_that_no_directory_gives_back_is_refused() {
        let long = "x".repeat(NAME_MAX);
        let wide = "é".repeat(126);
        let escaped = "/".repeat(84);
        for value in [HIVE_NULL, &long, &wide, &escaped] {
            let refused = named(value).check().unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::BadInput, "{value}");
            let words = "cannot partition an export by `kind`: a document has the value";
            assert!(refused.to_string().contains(words), "{refused}");
        }
        named(&"é".repeat(125)).check().unwrap();
    }
}
