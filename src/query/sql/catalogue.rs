//! What every table and column of SQL means.
//!
//! SHOW TABLES and DESCRIBE answer with these texts, and docs/reference/sql.md is written from them.

use super::schema::DocumentColumns;
use super::small_tables;
use crate::query::error::QueryError;
use arrow::array::{ArrayRef, BooleanArray, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow::record_batch::RecordBatch;
use model::near_names::UnknownName;
use std::sync::Arc;
use store::View;

/// A table, what a row of it is, and its columns with what they mean.
type Table = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// Every table with what a row of it is, and its columns with what they mean. The columns of a tokenizer and of a
/// declared field have texts of their own.
const TABLES: [Table; 11] = [
    (
        "documents",
        "a stored document, kept or not",
        &[
            ("id", "its number, from 0 in the order of commits; never reused"),
            (
                "key",
                "its id in your data (`--id-field`), or else `PATH:NUMBER@ID`, with records counted from 0",
            ),
            ("source", "the source that it belongs to"),
            ("language", "the field `language` of its record; null without one"),
            ("commit", "the commit that added it"),
            ("bytes", "length of its text in UTF-8 bytes"),
            ("chars", "length of its text in Unicode characters"),
            (
                "tokens",
                "length in tokens of the first tokenizer; null if it has not encoded the document. It encodes documents that are kept, now or in a snapshot; a later removal does not change this: sum it over `kept` for the figure of `info`",
            ),
            ("kept", "whether it is kept: epochs and exports draw from kept documents"),
            (
                "standing",
                "`kept`, or why not: `exact`, `near`, `superseded`, `removed`, `purged`, `blocked`, `empty`",
            ),
            ("dup_of", "the `id` of the kept document of which it is a duplicate; null for others"),
            ("jaccard", "similarity to that document, 0 to 1; null for others"),
            (
                "cluster",
                "the `id` of the kept document of its cluster, itself included; null when neither kept nor a duplicate",
            ),
            ("cluster_size", "documents of its cluster, the kept one included"),
            (
                "crowded",
                "whether candidates were left out when it was decided: a kept document may have a near duplicate that was not compared",
            ),
            (
                "contaminated_by",
                "names of the suites with an item in it by the default rule, separated by a comma and a space; null if there is no such suite. A corpus without suites does not have this column",
            ),
            ("text", "its text"),
            ("meta", "the other fields of its record, as a JSON object"),
        ],
    ),
    (
        "duplicates",
        "an exact or near duplicate with what it matched",
        &[
            ("id", "the removed document"),
            ("witness", "the kept document that explains the removal"),
            ("kind", "`exact` (equal bytes) or `near`"),
            ("jaccard", "exact similarity of the two, 0 to 1"),
            (
                "containment_removed",
                "share of the removed document's shingles that the witness has, 0 to 1",
            ),
            (
                "containment_witness",
                "share of the witness's shingles that the removed document has, 0 to 1",
            ),
            ("commit", "the commit that decided it"),
        ],
    ),
    (
        "sources",
        "a source with its counters",
        &[
            ("name", "its name"),
            ("documents", "documents stored, kept or not"),
            ("kept", "documents kept"),
            ("bytes", "UTF-8 bytes of the texts of all its documents"),
            ("kept_bytes", "UTF-8 bytes of the texts of its kept documents"),
        ],
    ),
    (
        "commits",
        "a commit",
        &[
            ("commit", "its number, from 1"),
            (
                "kind",
                "the work that made it: `ingest`, `tokenizer`, `snapshot`, `epoch`, `remove` and others",
            ),
            ("subject", "the source, tokenizer, snapshot or plan concerned; empty for others"),
            ("first", "the `id` of the first document it added, or would have added"),
            ("added", "documents added"),
            ("kept", "how many of these were kept at that commit"),
            ("changed", "stored documents whose standing it changed"),
            ("rejected", "records it rejected"),
            ("reason", "the reason that the user gave for a removal; null without a reason"),
            ("condition", "the SQL condition that selected them; null without a condition"),
            (
                "time",
                "when they were removed, in UTC, by the caller's clock; null for other commits",
            ),
        ],
    ),
    (
        "removals",
        "a document that a commit removed, restored or purged",
        &[
            ("id", "the document"),
            ("commit", "the commit"),
            ("kind", "`remove`, `restore`, `undo` (of an ingest) or `purge`"),
            ("reason", "the reason that the user gave; null without a reason"),
            ("condition", "the SQL condition that selected it; null without a condition"),
            ("time", "when, in UTC, by the caller's clock; null if the caller gave no time"),
        ],
    ),
    (
        "outputs",
        "an output on record: an export, a built epoch, a stream of an epoch, or a backup",
        &[
            ("number", "its number, from 1"),
            (
                "kind",
                "`export`, `epoch`, `stream` or `backup`; `damaged` for an entry that cannot be read",
            ),
            (
                "destination",
                "where it went: an absolute path, an address without secrets, `stdout`, or `loader`; of a damaged entry why it cannot be read",
            ),
            (
                "commit",
                "the last commit of the corpus as it was read; the commit that names a backup",
            ),
            ("plan", "the number of the plan; null without one that was stored"),
            ("plan_hash", "blake3 of the plan, in hexadecimal; null without a plan"),
            ("epoch", "the epoch of the plan, counted from 0; null without a plan"),
            (
                "first_batch",
                "the first global batch that it had (a row if the recipe has no batches); null without a plan",
            ),
            ("end_batch", "the global batch behind the last one that it had; null without a plan"),
            ("rank", "the rank that had it, counted from 0; null for all ranks"),
            ("world", "the number of ranks; null for all ranks"),
            (
                "documents",
                "how many documents it had; null where a plan or the commit of a backup says that",
            ),
            (
                "condition",
                "the SQL condition that selected them, or the statement; null without one",
            ),
            (
                "manifest",
                "blake3 of its manifest, or of its only file, in hexadecimal; null without one",
            ),
            ("time", "when, in UTC, by the caller's clock; null if the caller gave no time"),
        ],
    ),
    (
        "epochs",
        "a stored plan of epochs",
        &[
            ("number", "its number, from 1"),
            ("hash", "blake3 of the plan, in hexadecimal"),
            ("snapshot", "the snapshot it draws from"),
            ("plan", "the plan, as a JSON object"),
        ],
    ),
    (
        "rejects",
        "a record that could not be read",
        &[
            ("source", "the source into which it was ingested"),
            ("path", "absolute path of its file"),
            ("number", "number of records before it in the file"),
            ("offset", "its first byte in the unpacked file; its row in Parquet"),
            ("reason", "why, in words"),
            ("bytes", "its length in bytes"),
            ("raw", "its first bytes, at most 1 MiB; bytes that are not UTF-8 are replaced"),
        ],
    ),
    (
        "tokenizers",
        "a registered tokenizer",
        &[
            ("id", "its number, from 0"),
            ("name", "its name"),
            ("vocab_size", "one more than its largest token id"),
            ("hash", "blake3 of its `tokenizer.json` (and `.model` behind it), in hexadecimal"),
            ("backend", "the encoder that passed the self-test"),
            ("lineage", "its origin, in words"),
            ("encoded_to", "kept documents below this `id` are encoded"),
        ],
    ),
    (
        "snapshots",
        "a named state of the corpus",
        &[
            ("name", "its name"),
            ("commit", "its commit"),
            ("generation", "its dedup policy, counted from 0"),
            ("documents", "documents stored then"),
            ("kept", "documents kept then, without those that have been purged since"),
            ("kept_hash", "blake3 of the kept documents' ids, in hexadecimal"),
            ("purged", "documents kept then that have been purged since"),
        ],
    ),
    (
        "contamination",
        "evidence: a question, answer or passage of a suite's item that a document has, in full or in part",
        &[
            ("document", "the document, kept or not"),
            ("suite", "the suite"),
            ("item", "the id of the item"),
            ("part", "`question`, `answer` or `passage`"),
            (
                "score",
                "share of the part's tokens that the document has within an 8-gram or a piece of the part, weighted by the rarity of their n-grams among items (idf), 0 to 1; of several places in the document, the best one",
            ),
            (
                "tokens",
                "tokens of the part that the document has within an 8-gram or a piece of it (5 to 7 tokens, if the pieces with the same offset add up to 10), without gaps",
            ),
            ("turn", "the number of the text among those of its part, from 0"),
            ("longest_run", "tokens of the longest run of the part in the document"),
            ("matched", "8-grams of the part in the document"),
            ("grams", "8-grams of the part"),
            ("weak", "whether the item has no answer, so that a match may be ordinary text"),
            (
                "contaminated",
                "whether it counts as contaminated by the default rule: a question or an answer of 13 tokens or more with a score of 0.3 and 10 tokens, or a whole short question with its answer near it; never if `verdict` is `rejected`",
            ),
            (
                "spans",
                "the bytes of the text with the evidence, as a JSON list of `[from, up to]`; for a short question also those of its answer",
            ),
            (
                "verdict",
                "a person's verdict on the item and the document's text: `accepted` or `rejected`; null without a verdict",
            ),
        ],
    ),
];

pub(in crate::query) fn tables() -> Result<RecordBatch, QueryError> {
    let names = table_names();
    let rows = TABLES.iter().map(|(_, row, _)| *row);
    batch(vec![("table", texts(names)), ("a row is", texts(rows))])
}

pub(in crate::query) fn columns(view: &View, table: &str) -> Result<RecordBatch, QueryError> {
    let Some(schema) = schema(view, table) else {
        return Err(QueryError::Unknown(UnknownName::new("table", table, table_names())));
    };
    let fields = || schema.fields().iter();
    let kinds = fields().map(|field| sql_type(field.data_type()));
    let nullable: BooleanArray = fields().map(|field| Some(field.is_nullable())).collect();
    let meanings = fields().map(|field| meaning(view, table, field.name()));
    batch(vec![
        ("column", texts(fields().map(|field| field.name().as_str()))),
        ("type", texts(kinds)),
        ("nullable", Arc::new(nullable)),
        ("meaning", texts(meanings)),
    ])
}

pub(in crate::query) fn table_names() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|(name, ..)| *name)
}

fn schema(view: &View, table: &str) -> Option<SchemaRef> {
    if table == "documents" {
        return Some(DocumentColumns::of(view).schema);
    }
    small_tables::all(view).into_iter().find(|known| known.name() == table).map(|t| t.columns())
}

fn meaning(view: &View, table: &str, column: &str) -> String {
    if table == "documents" && view.fields().iter().any(|field| field.name == column) {
        return "a declared field of the records: VARCHAR for keywords, BIGINT for ints, DOUBLE for floats, BOOLEAN for bools, TIMESTAMP (UTC) for timestamps; null if it is absent or has another type".to_owned();
    }
    let of_table = TABLES.iter().filter(|(name, ..)| *name == table);
    let mut told = of_table.flat_map(|(_, _, columns)| columns.iter());
    if let Some((_, meaning)) = told.find(|(name, _)| *name == column) {
        return (*meaning).to_owned();
    }
    let tokenizer = column.strip_prefix("tokens_").unwrap_or(column);
    match table {
        "documents" => {
            format!(
                "length in tokens of the tokenizer `{tokenizer}`; null for documents that it has not encoded"
            )
        }
        _ => format!("tokens of its kept documents by the tokenizer `{tokenizer}`"),
    }
}

/// The name of a type as CAST takes it.
fn sql_type(kind: &DataType) -> String {
    match kind {
        DataType::Utf8 | DataType::Utf8View => "VARCHAR".to_owned(),
        DataType::Boolean => "BOOLEAN".to_owned(),
        DataType::Int64 => "BIGINT".to_owned(),
        DataType::UInt64 => "BIGINT UNSIGNED".to_owned(),
        DataType::UInt32 => "INT UNSIGNED".to_owned(),
        DataType::Float64 => "DOUBLE".to_owned(),
        DataType::Timestamp(TimeUnit::Microsecond, None) => "TIMESTAMP".to_owned(),
        other => other.to_string(),
    }
}

fn texts<T: AsRef<str>>(values: impl Iterator<Item = T>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> Result<RecordBatch, QueryError> {
    let field =
        |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), false);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(schema), arrays).map_err(QueryError::arrow)
}
