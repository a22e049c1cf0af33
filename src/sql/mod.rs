//! Documents and the other tables of a corpus as tables of SQL: statements, conditions, functions, printed rows.
//!
//! Use it to name what [`Corpus::sql`](crate::Corpus::sql) and its like take and return, and to print rows as the command
//! does ([`RowPrinter`]).
//!
//! ```
//! use corpusdb::sql::{PrintFormat, RowPrinter};
//!
//! # use corpusdb::ingest::{Record, Records};
//! # use corpusdb::{Context, Corpus, DedupMode, IngestOptions, Policy};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("corpus");
//! # Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
//! # let mut writer = Corpus::options().memory(64 << 20).threads(1).open_writer(&path)?;
//! # let page = |n: u32| Record::new(format!("page {n} of {n} pages")).with_key(n.to_string());
//! # let (pages, options) = (Records::new("pages", (0..3).map(page)), IngestOptions::new("web"));
//! # writer.ingest(pages, &options, &Context::new())?;
//! let corpus = writer.corpus();
//! let rows = corpus.sql("SELECT key, bytes FROM documents WHERE kept ORDER BY id LIMIT 2")?;
//! let mut printed = Vec::new();
//! RowPrinter::new(PrintFormat::Csv, &mut printed).rows(rows)?;
//! assert_eq!(printed, b"key,bytes\n0,17\n1,17\n");
//! # Ok(())
//! # }
//! ```
//!
//! From text to an answer: `syntax` cuts and parses a text and counts its size; `session` plans it by DataFusion with the
//! engine of the view (`engine`: threads, memory, stops), whose plans the `rules` correct before it optimises them. A
//! condition on `documents` becomes bitmaps where indexes and columns answer it exactly; `documents` has that, and the
//! scan of the rest. `tables` are the other tables, `functions` those of SQL that are ours, tables of files among them.
//!
//! `expression` is a parsed expression over `documents`: `select` gives those for which it is true, `values` and
//! `compute` what it is for each; `statement` gives rows, which `print` shows. `incoming` is a condition on records
//! that are no documents yet, `document_filter` what a verb takes of documents, `keys` how keys are shown and found,
//! `evidence` the evidence of suites by document; `catalogue` and `names` list what can be named, `explain` says how
//! the scans of a statement read documents.
//!
//! Nothing here writes, and all of it reads one [`View`](crate::store::View).
//!
//! Not for ingest or dedup: they read the store's indexes themselves.

mod catalogue;
mod compute;
mod document_filter;
mod documents;
mod engine;
mod error;
mod evidence;
mod explain;
mod expression;
mod facade;
mod faults;
mod functions;
mod incoming;
mod keys;
mod names;
mod print;
mod query;
mod rules;
mod select;
mod session;
mod statement;
mod syntax;
mod tables;
#[cfg(test)]
pub(crate) mod tests;
mod values;
mod view_engine;

pub use compute::ComputedValue;
pub(crate) use compute::{computed_column, expression_kind};
pub use document_filter::DocumentFilter;
pub(crate) use documents::by_id::{ExportColumns, declared_columns, is_of_standing, keyword_field};
pub use documents::pairs::{DuplicatePair, Duplicates};
pub(crate) use documents::pairs::{PairReader, duplicates};
pub(crate) use documents::relations::ClusterRelation;
pub(crate) use documents::table::kept_in;
pub use engine::evaluation::{Evaluation, EvaluationWatch, has_left_statements, watch_evaluations};
pub use error::SqlError;
pub use evidence::ItemEvidence;
pub(crate) use evidence::{
    EvidenceSubject, WeightedSuite, Worst, contaminated, document_evidence, suite_evidence,
};
pub(crate) use expression::{Dependence, dependence};
pub(crate) use incoming::RecordCondition;
pub(crate) use keys::{KeyFormatter, find_key};
pub(crate) use names::sql_names;
pub use names::{SqlNames, SqlTableNames, SqlValues};
pub(crate) use print::refuse_same_names;
pub use print::{PrintFormat, RowPrinter, has_thousands};
pub use query::SqlQuery;
pub(crate) use select::{select, select_nulls};
pub use statement::SqlRows;
pub(crate) use statement::sql;
pub use syntax::parameters::{SqlParameters, SqlValue};
pub(crate) use syntax::parser::names_column;
pub(crate) use syntax::presets::resolved;
pub use syntax::script::{ScriptEnd, ScriptFault, ScriptStatement, SqlScript};
pub(crate) use values::{number_values, text_values};
