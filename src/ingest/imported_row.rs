//! Parses the rows of a load: decisions that were made about its documents, and changes of stored ones.

use files::input::split_members;
use model::{Standing, TokenizerId};
use std::str::FromStr;

/// Columns with what was decided; all others are of the document.
pub(super) const COLUMNS: [&str; 11] = [
    "_order",
    "_standing",
    "_kind",
    "_witness",
    "_witness_source",
    "_witness_id",
    "_jaccard",
    "_shared",
    "_removed_shingles",
    "_witness_shingles",
    "_cluster",
];

/// Columns that identify a stored document with another standing, beside those of the decision.
const OF_STORED: [&str; 3] = ["id", "key", "source"];

/// Columns of a standing and of the removal that it may be: all but the place and the cluster.
const REMOVAL: usize = COLUMNS.len() - 2;

/// A column of a load that has token ids.
#[derive(Clone, Debug)]
pub struct TokenIdsColumn {
    /// What it is called.
    pub column: String,
    /// The tokenizer that made them.
    pub tokenizer: TokenizerId,
    /// One more than its largest id.
    pub vocab_size: u32,
}

/// The decision of a row, as it is spelled.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedRow {
    /// The place in which the document came.
    pub order: u64,
    /// Its standing.
    pub standing: Standing,
    /// Why it is removed.
    pub removal: Option<ImportedMatch>,
    /// The key of what is kept for it.
    pub cluster: Option<String>,
    /// The token ids that came with it: columns of ids without a value are not among them.
    pub ids: Vec<(TokenizerId, Vec<u32>)>,
}

/// The document for which one is removed, and how similar they are.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedMatch {
    /// The key of the witness.
    pub witness: String,
    /// Its source; none: the document's own.
    pub source: Option<String>,
    /// Its number, where the corpus had it before the load.
    pub id: Option<u64>,
    /// Distinct shingles that the two share.
    pub shared: u32,
    /// Distinct shingles of the removed document.
    pub removed_shingles: u32,
    /// Distinct shingles of the witness.
    pub witness_shingles: u32,
    /// The similarity that these give, if the row has it.
    pub jaccard: Option<f64>,
}

/// The fields of a document, and what was decided about it.
///
/// # Errors
/// Which column has no value that can be used.
pub fn split_imported_row(
    metadata: &str,
    with_ids: &[TokenIdsColumn],
) -> Result<(String, ImportedRow), String> {
    let mut values = [const { None }; COLUMNS.len()];
    let mut ids = Vec::new();
    let fields = split_members(metadata, |name, value| {
        let said = (value != "null").then_some(value);
        let column = COLUMNS.iter().position(|column| *column == name);
        if let Some(slot) = column.and_then(|at| values.get_mut(at)) {
            *slot = said.map(str::to_owned);
            return true;
        }
        let column = with_ids.iter().find(|ids| ids.column == name);
        ids.extend(column.zip(said).map(|(column, said)| column.ids(said)));
        column.is_some()
    })?;
    let ids = ids.into_iter().collect::<Result<Vec<_>, String>>()?;
    let [order, removal @ .., cluster] = values;
    let order = number("_order", order)?;
    let (standing, removal) = parse_standing(removal, Standing::Empty)?;
    let cluster = text("_cluster", cluster)?;
    Ok((fields, ImportedRow { order, standing, removal, cluster, ids }))
}

/// The standing that a load gives to a stored document.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredStatusChange {
    /// Its number.
    pub id: u64,
    /// Its key, if the row has it.
    pub key: Option<String>,
    /// Its source, if the row has it.
    pub source: Option<String>,
    /// Its standing.
    pub standing: Standing,
    /// Why it is removed, unless it is superseded.
    pub removal: Option<ImportedMatch>,
}

/// What a row says of a stored document.
///
/// # Errors
/// Which column has no value that can be used.
pub fn parse_status_change(row: &str) -> Result<StoredStatusChange, String> {
    let mut own = [const { None }; OF_STORED.len()];
    let mut values = [const { None }; COLUMNS.len()];
    split_members(row, |name, value| {
        let said = (value != "null").then(|| value.to_owned());
        let at = |columns: &[&str]| columns.iter().position(|column| *column == name);
        if let Some(slot) = at(&OF_STORED).and_then(|at| own.get_mut(at)) {
            *slot = said;
        } else if let Some(slot) = at(&COLUMNS).and_then(|at| values.get_mut(at)) {
            *slot = said;
        }
        true
    })?;
    let [id, key, source] = own;
    let [_, removal @ .., _] = values;
    let (standing, removal) = parse_standing(removal, Standing::Superseded)?;
    Ok(StoredStatusChange {
        id: number("id", id)?,
        key: text("key", key)?,
        source: text("source", source)?,
        standing,
        removal,
    })
}

/// Parses a standing and its removal: one of the standings that are decided, or another one that may be given.
fn parse_standing(
    values: [Option<String>; REMOVAL],
    other: Standing,
) -> Result<(Standing, Option<ImportedMatch>), String> {
    let [standing, kind, witness, source, id, jaccard, shared, removed, of_witness] = values;
    let name = text("_standing", standing)?.ok_or("`_standing` has no value")?;
    let known = [Standing::Kept, Standing::Exact, Standing::Near, other];
    let standing = known.into_iter().find(|standing| standing.name() == name);
    let standing = standing
        .ok_or_else(|| format!("`_standing` is {name:?}, not kept, exact, near or {other}"))?;
    let kind = text("_kind", kind)?;
    if kind.as_ref().is_some_and(|kind| *kind != name) {
        let kind = kind.unwrap_or_default();
        return Err(format!("`_kind` is {kind:?}, and `_standing` is {name:?}"));
    }
    let is_removed = matches!(standing, Standing::Exact | Standing::Near);
    let witness = text("_witness", witness)?;
    let removal = match (witness, is_removed) {
        (Some(witness), true) => Some(ImportedMatch {
            witness,
            source: text("_witness_source", source)?,
            id: id.map(|value| number("_witness_id", Some(value))).transpose()?,
            shared: number("_shared", shared)?,
            removed_shingles: number("_removed_shingles", removed)?,
            witness_shingles: number("_witness_shingles", of_witness)?,
            jaccard: jaccard.map(|value| number("_jaccard", Some(value))).transpose()?,
        }),
        (None, false) => None,
        (None, true) => {
            return Err(format!("`_standing` is {name:?}, and `_witness` has no value"));
        }
        (Some(_), false) => {
            return Err(format!("`_standing` is {name:?}, and `_witness` has a value"));
        }
    };
    Ok((standing, removal))
}

impl TokenIdsColumn {
    fn ids(&self, value: &str) -> Result<(TokenizerId, Vec<u32>), String> {
        let Self { column, tokenizer, vocab_size } = self;
        let ids: Vec<u32> = serde_json::from_str(value)
            .map_err(|error| format!("`{column}` is not a list of token ids: {error}"))?;
        match ids.iter().find(|id| *id >= vocab_size) {
            Some(id) => Err(format!("`{column}` has the id {id}, of a vocabulary of {vocab_size}")),
            None => Ok((*tokenizer, ids)),
        }
    }
}

fn text(column: &str, value: Option<String>) -> Result<Option<String>, String> {
    let Some(value) = value else { return Ok(None) };
    let read = serde_json::from_str(&value);
    read.map(Some).map_err(|_| format!("`{column}` is {value}, not a text"))
}

fn number<T: FromStr>(column: &str, value: Option<String>) -> Result<T, String> {
    let value = value.ok_or_else(|| format!("`{column}` has no value"))?;
    // A table of separated values has texts.
    let number = value.trim_matches('"').parse();
    number.map_err(|_| format!("`{column}` is {value}, not a number that it can be"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REMOVED: &str = r#"{"url":"u","_order":3,"_standing":"near","_kind":"near","_witness":"a\"","_witness_source":"web","_jaccard":0.9,"_shared":9,"_removed_shingles":10,"_witness_shingles":9,"_cluster":"a\"","score":1.50}"#;

    #[test]
    fn fields_and_decision_are_separated() {
        let (fields, found) = split_imported_row(REMOVED, &[]).unwrap();
        assert_eq!(fields, r#"{"url":"u","score":1.50}"#);
        let removal = ImportedMatch {
            witness: "a\"".to_owned(),
            source: Some("web".to_owned()),
            id: None,
            shared: 9,
            removed_shingles: 10,
            witness_shingles: 9,
            jaccard: Some(0.9),
        };
        let cluster = Some("a\"".to_owned());
        let near = ImportedRow {
            order: 3,
            standing: Standing::Near,
            removal: Some(removal),
            cluster,
            ids: Vec::new(),
        };
        assert_eq!(found, near);
        let of_corpus = REMOVED.replace("\"_shared\"", "\"_witness_id\":7,\"_shared\"");
        assert_eq!(split_imported_row(&of_corpus, &[]).unwrap().1.removal.unwrap().id, Some(7));
        let (fields, found) =
            split_imported_row(r#"{"_order":0,"_standing":"kept","_witness":null}"#, &[]).unwrap();
        assert_eq!((fields.as_str(), found.standing, found.removal), ("{}", Standing::Kept, None));
    }

    #[test]
    fn token_ids_are_those_of_their_columns() {
        let column = |name: &str, tokenizer| TokenIdsColumn {
            column: name.to_owned(),
            tokenizer: TokenizerId(tokenizer),
            vocab_size: 300,
        };
        let columns = [column("_ids_0", 4), column("_ids_1", 2)];
        let row = |ids: &str| format!(r#"{{"a":[1],"_order":0,"_standing":"kept",{ids}}}"#);
        let (fields, found) =
            split_imported_row(&row(r#""_ids_1":[299,0],"_ids_0":null"#), &columns).unwrap();
        assert_eq!(
            (fields.as_str(), found.ids),
            (r#"{"a":[1]}"#, vec![(TokenizerId(2), vec![299, 0])])
        );
        let (fields, _) = split_imported_row(&row(r#""_ids_1":[1]"#), &columns[..1]).unwrap();
        assert_eq!(fields, r#"{"a":[1],"_ids_1":[1]}"#);
        for (ids, told) in
            [("[300]", "`_ids_0` has the id 300"), ("[-1]", "`_ids_0` is not a list")]
        {
            let why = split_imported_row(&row(&format!("\"_ids_0\":{ids}")), &columns).unwrap_err();
            assert!(why.contains(told), "{why}");
        }
    }

    #[test]
    fn an_invalid_decision_is_refused_by_its_column() {
        for (from, to, told) in [
            ("\"_order\":3,", "", "`_order` has no value"),
            ("\"_order\":3,", "\"_order\":-3,", "`_order` is -3"),
            ("\"_shared\":9", "\"_shared\":9.5", "`_shared` is 9.5"),
            ("\"_shared\"", "\"_witness_id\":-1,\"_shared\"", "`_witness_id` is -1"),
            ("\"_standing\":\"near\"", "\"_standing\":\"superseded\"", "\"superseded\", not kept"),
            ("\"_standing\":\"near\"", "\"_standing\":7", "`_standing` is 7, not a text"),
            ("\"_standing\":\"near\"", "\"_standing\":\"exact\"", "`_kind` is \"near\""),
            ("\"_witness\":\"a\\\"\",", "", "`_witness` has no value"),
            ("near", "kept", "`_witness` has a value"),
        ] {
            let changed = REMOVED.replace(from, to);
            assert_ne!(changed, REMOVED, "{from}");
            let why = split_imported_row(&changed, &[]).unwrap_err();
            assert!(why.contains(told), "{why}");
        }
    }

    #[test]
    fn a_stored_document_is_named_by_its_number() {
        let row = REMOVED.replace("\"_order\":3", "\"id\":12,\"key\":\"b\",\"source\":null");
        let found = parse_status_change(&row).unwrap();
        assert_eq!((found.id, found.key.as_deref(), found.source), (12, Some("b"), None));
        assert_eq!(found.removal, split_imported_row(REMOVED, &[]).unwrap().1.removal);
        let gone = parse_status_change(r#"{"id":3,"_standing":"superseded"}"#).unwrap();
        assert_eq!((gone.id, gone.standing, gone.removal), (3, Standing::Superseded, None));
        for (row, told) in [
            (r#"{"_standing":"kept"}"#, "`id` has no value"),
            (r#"{"id":3,"_standing":"empty"}"#, "\"empty\", not kept, exact, near or superseded"),
            (r#"{"id":3,"_standing":"superseded","_witness":"a"}"#, "`_witness` has a value"),
        ] {
            let why = parse_status_change(row).unwrap_err();
            assert!(why.contains(told), "{why}");
        }
    }
}
