//! Specifications of the tables: what a row of each is, and its columns with their types and what they mean.

use arrow::datatypes::DataType::{Boolean, Float64, Int64, UInt32, UInt64, Utf8};
use arrow::datatypes::{DataType, Field, TimeUnit};

/// A table beside `documents`.
pub(in crate::sql) struct TableSpec {
    /// Its name in SQL.
    pub name: &'static str,
    /// What a row of it is.
    pub row: &'static str,
    /// Its columns, in order. `sources` has others behind them.
    pub columns: &'static [ColumnSpec],
}

/// A column of a table.
pub(in crate::sql) struct ColumnSpec {
    pub name: &'static str,
    kind: DataType,
    is_nullable: bool,
    /// What it means.
    pub meaning: &'static str,
}

impl ColumnSpec {
    pub fn field(&self) -> Field {
        Field::new(self.name, self.kind.clone(), self.is_nullable)
    }
}

const fn column(name: &'static str, kind: DataType, meaning: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind, is_nullable: false, meaning }
}

const fn nullable(name: &'static str, kind: DataType, meaning: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind, is_nullable: true, meaning }
}

const TIME: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

/// What a row of `documents` is.
pub(in crate::sql) const DOCUMENT: &str = "a stored document, kept or not";

/// What the columns of `documents` mean; their types are those of their fields. Those of a tokenizer or a declared
/// field are told in words of their own.
pub(in crate::sql) const DOCUMENTS: [(&str, &str); 18] = [
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
];

pub(in crate::sql) const DUPLICATES: TableSpec = TableSpec {
    name: "duplicates",
    row: "an exact or near duplicate with what it matched",
    columns: &[
        column("id", UInt64, "the removed document"),
        column("witness", UInt64, "the kept document that explains the removal"),
        column("kind", Utf8, "`exact` (equal bytes) or `near`"),
        column("jaccard", Float64, "exact similarity of the two, 0 to 1"),
        column(
            "containment_removed",
            Float64,
            "share of the removed document's shingles that the witness has, 0 to 1",
        ),
        column(
            "containment_witness",
            Float64,
            "share of the witness's shingles that the removed document has, 0 to 1",
        ),
        column(
            "commit",
            UInt64,
            "the commit that decided it; `documents.commit` is the one that added it",
        ),
    ],
};

pub(in crate::sql) const SOURCES: TableSpec = TableSpec {
    name: "sources",
    row: "a source with its counters",
    columns: &[
        column("name", Utf8, "its name"),
        column("documents", Int64, "documents stored, kept or not"),
        column("kept", Int64, "documents kept"),
        column("bytes", Int64, "UTF-8 bytes of the texts of all its documents"),
        column("kept_bytes", Int64, "UTF-8 bytes of the texts of its kept documents"),
    ],
};

pub(in crate::sql) const COMMITS: TableSpec = TableSpec {
    name: "commits",
    row: "a commit",
    columns: &[
        column("commit", UInt64, "its number, from 1"),
        column(
            "kind",
            Utf8,
            "the work that made it: `ingest`, `tokenizer`, `snapshot`, `epoch`, `remove` and others",
        ),
        column(
            "subject",
            Utf8,
            "the source, tokenizer, snapshot or plan concerned; empty for others",
        ),
        column("first", UInt64, "the `id` of the first document it added, or would have added"),
        column("added", Int64, "documents added"),
        column("kept", Int64, "how many of these were kept at that commit"),
        column("changed", Int64, "stored documents whose standing it changed"),
        column("rejected", Int64, "records it rejected"),
        nullable(
            "reason",
            Utf8,
            "the reason that the user gave for a removal; null without a reason",
        ),
        nullable(
            "condition",
            Utf8,
            "the SQL condition that selected them; null without a condition",
        ),
        nullable(
            "time",
            TIME,
            "when they were removed, in UTC, by the caller's clock; null for other commits",
        ),
    ],
};

pub(in crate::sql) const REMOVALS: TableSpec = TableSpec {
    name: "removals",
    row: "a document that a commit removed, restored or purged",
    columns: &[
        column("id", UInt64, "the document"),
        column("commit", UInt64, "the commit"),
        column("kind", Utf8, "`remove`, `restore`, `undo` (of an ingest) or `purge`"),
        nullable("reason", Utf8, "the reason that the user gave; null without a reason"),
        nullable("condition", Utf8, "the SQL condition that selected it; null without a condition"),
        nullable(
            "time",
            TIME,
            "when, in UTC, by the caller's clock; null if the caller gave no time",
        ),
    ],
};

pub(in crate::sql) const OUTPUTS: TableSpec = TableSpec {
    name: "outputs",
    row: "an output on record: an export, a built epoch, a stream of an epoch, or a backup",
    columns: &[
        column("number", UInt32, "its number, from 1"),
        column(
            "kind",
            Utf8,
            "`export`, `epoch`, `stream` or `backup`; `damaged` for an entry that cannot be read",
        ),
        column(
            "destination",
            Utf8,
            "where it went: an absolute path, an address without secrets, `stdout`, or `loader`; of a damaged entry why it cannot be read",
        ),
        nullable(
            "commit",
            UInt64,
            "the last commit of the corpus as it was read; the commit that names a backup",
        ),
        nullable("plan", UInt32, "the number of the plan; null without one that was stored"),
        nullable("plan_hash", Utf8, "blake3 of the plan, in hexadecimal; null without a plan"),
        nullable("epoch", UInt64, "the epoch of the plan, counted from 0; null without a plan"),
        nullable(
            "first_batch",
            UInt64,
            "the first global batch that it had (a row if the recipe has no batches); null without a plan",
        ),
        nullable(
            "end_batch",
            UInt64,
            "the global batch behind the last one that it had, or the end of the epoch for a stream that is under way or was killed; null without a plan",
        ),
        nullable("rank", UInt64, "the rank that had it, counted from 0; null for all ranks"),
        nullable("world", UInt64, "the number of ranks; null for all ranks"),
        nullable(
            "documents",
            Int64,
            "how many documents it had; null where a plan or the commit of a backup says that",
        ),
        nullable(
            "condition",
            Utf8,
            "the SQL condition that selected them, or the statement; null without one",
        ),
        nullable(
            "manifest",
            Utf8,
            "blake3 of its manifest, or of its only file, in hexadecimal; null without one",
        ),
        nullable(
            "time",
            TIME,
            "when, in UTC, by the caller's clock; null if the caller gave no time",
        ),
    ],
};

pub(in crate::sql) const EPOCHS: TableSpec = TableSpec {
    name: "epochs",
    row: "a stored plan of epochs",
    columns: &[
        column("number", UInt32, "its number, from 1"),
        column("hash", Utf8, "blake3 of the plan, in hexadecimal"),
        column("snapshot", Utf8, "the snapshot it draws from"),
        column("plan", Utf8, "the plan, as a JSON object"),
    ],
};

pub(in crate::sql) const REJECTS: TableSpec = TableSpec {
    name: "rejects",
    row: "a record that could not be read",
    columns: &[
        column("source", Utf8, "the source into which it was ingested"),
        column("path", Utf8, "absolute path of its file"),
        column("number", UInt64, "number of records before it in the file"),
        column("offset", UInt64, "its first byte in the unpacked file; its row in Parquet"),
        column("reason", Utf8, "why, in words"),
        column("bytes", Int64, "its length in bytes"),
        column(
            "raw",
            Utf8,
            "its first bytes, at most 1 MiB; bytes that are not UTF-8 are replaced",
        ),
    ],
};

pub(in crate::sql) const TOKENIZERS: TableSpec = TableSpec {
    name: "tokenizers",
    row: "a registered tokenizer",
    columns: &[
        column("id", UInt32, "its number, from 0"),
        column("name", Utf8, "its name"),
        column("vocab_size", UInt32, "one more than its largest token id"),
        column(
            "hash",
            Utf8,
            "blake3 of its `tokenizer.json` (and `.model` behind it), in hexadecimal",
        ),
        column("backend", Utf8, "the encoder that passed the self-test"),
        column("lineage", Utf8, "its origin, in words"),
        column("encoded_to", UInt64, "kept documents below this `id` are encoded"),
    ],
};

pub(in crate::sql) const SNAPSHOTS: TableSpec = TableSpec {
    name: "snapshots",
    row: "a named state of the corpus",
    columns: &[
        column("name", Utf8, "its name"),
        column("commit", UInt64, "its commit"),
        column("generation", UInt32, "its dedup policy, counted from 0"),
        column("documents", Int64, "documents stored then"),
        column("kept", Int64, "documents kept then, without those that have been purged since"),
        column("kept_hash", Utf8, "blake3 of the kept documents' ids, in hexadecimal"),
        column("purged", Int64, "documents kept then that have been purged since"),
    ],
};

pub(in crate::sql) const CONTAMINATION: TableSpec = TableSpec {
    name: "contamination",
    row: "evidence: a question, answer or passage of a suite's item that a document has, in full or in part",
    columns: &[
        column("document", UInt64, "the document, kept or not"),
        column("suite", Utf8, "the suite"),
        column("item", Utf8, "the id of the item"),
        column("part", Utf8, "`question`, `answer` or `passage`"),
        column(
            "score",
            Float64,
            "share of the part's tokens that the document has within an 8-gram or a piece of the part, weighted by the rarity of their n-grams among items (idf), 0 to 1; of several places in the document, the best one",
        ),
        column(
            "tokens",
            UInt32,
            "tokens of the part that the document has within an 8-gram or a piece of it (5 to 7 tokens, if the pieces with the same offset add up to 10), without gaps",
        ),
        column("longest_run", UInt32, "tokens of the longest run of the part in the document"),
        column("matched", UInt32, "8-grams of the part in the document"),
        column("grams", UInt32, "8-grams of the part"),
        column(
            "weak",
            Boolean,
            "whether the item has no answer, so that a match may be ordinary text",
        ),
        column(
            "contaminated",
            Boolean,
            "whether it counts as contaminated by the default rule: a question or an answer of 13 tokens or more with a score of 0.3 and 10 tokens, or a whole short question with its answer near it; never if `verdict` is `rejected`",
        ),
        column(
            "spans",
            Utf8,
            "the bytes of the text with the evidence, as a JSON list of `[from, up to]`; for a short question also those of its answer",
        ),
        nullable(
            "verdict",
            Utf8,
            "a person's verdict on the item and the document's text: `accepted` or `rejected`; null without a verdict",
        ),
        column("turn", UInt32, "the number of the text among those of its part, from 0"),
    ],
};
