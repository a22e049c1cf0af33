//! Documents and the other tables of a corpus as tables of SQL: statements, conditions, functions, printed rows.
//!
//! Use it to name what [`Corpus::sql`](crate::Corpus::sql) and its like take and return, and to print rows as the command
//! does ([`Printer`]).
//!
//! ```
//! use corpusdb::sql::{PrintFormat, Printer};
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
//! Printer::new(PrintFormat::Csv, &mut printed).rows(rows)?;
//! assert_eq!(printed, b"key,bytes\n0,17\n1,17\n");
//! # Ok(())
//! # }
//! ```
//!
//! A boolean expression or a statement is planned by DataFusion (`session`, with the functions and rules of `engine`),
//! after `nesting` has counted how deep and large it is; `dialect` and `parser` read it (cut by `tokens`, with
//! published thresholds put in by `presets`), `operands` says what may be compared, `lists`, `null_joins` and `subqueries` keep the optimiser
//! from losing nulls, `multisets` counts copies of rows, and `exact` keeps the engine from answers that are silently wrong. What the indexes can answer exactly becomes a tree over bitmaps and columns (`predicate`, `ranges`),
//! evaluated block by block (`evaluate`); the rest is left to the engine. `provider` and `columns` produce the rows of
//! the table `documents`, `coded` groups them by the codes of keywords, `small_tables`, `rejects` and `removals` produce
//! those of the others, in columns of `arrays`, all through the one plan node of `scan`; `documents` reads columns of
//! documents that are given by id, without a plan. `parameters` binds the values that a statement is given beside its
//! text.
//!
//! `incoming` is a condition on records that are not documents yet. `json` adds functions over JSON, `quality` those
//! that tell about texts, `outside` functions that are tables; `options` says what a statement may look at. `limits`,
//! `pool`, `growing`, `metered` and `expanding` bound what it holds, `stop` ends it early. `tables` specifies the small
//! tables; `catalogue` and `functions` list tables and columns, `engine_function` is what functions of ours take from
//! the engine's, `names` lists the words, `script` cuts a text into statements, `faults` says what is wrong with one, `explain` how
//! the scans of one read documents.
//!
//! `filter` is what a verb takes of documents, `keys` how keys are shown and found, `document_table` and `pairs` are
//! columns of documents and of pairs that are given by id, `relations` has a document's place in its cluster, `evidence`
//! the evidence of suites by document; `print` prints rows. Nothing here writes, and all of it reads one
//! [`View`](crate::store::View).
//!
//! Not for ingest or dedup: they read the store's indexes themselves.

mod arrays;
mod catalogue;
mod coded;
mod columns;
mod compute;
mod contamination;
mod dialect;
mod document_table;
mod documents;
mod drivers;
mod engine;
mod engine_function;
mod error;
mod evaluate;
mod evidence;
mod exact;
mod expanding;
mod explain;
mod facade;
mod faults;
mod filter;
mod functions;
mod growing;
mod incoming;
mod json;
mod keys;
mod limits;
mod lists;
mod metered;
mod multisets;
mod names;
mod nesting;
mod null_joins;
mod operands;
mod outputs;
mod outside;
mod pair_columns;
mod pairs;
mod parameters;
mod parser;
mod passing;
mod pool;
mod predicate;
mod present;
mod presets;
mod print;
mod producer;
mod provider;
mod quality;
mod query;
mod ranges;
mod rejects;
mod relations;
mod removals;
mod runtime;
mod scan;
mod schema;
mod script;
mod select;
mod selected;
mod session;
mod small_tables;
mod statement;
mod stop;
mod subqueries;
mod tables;
#[cfg(test)]
pub(crate) mod tests;
mod texts;
mod tokens;
mod values;

pub use compute::Computed;
pub(crate) use compute::{compute, kind_of};
pub(crate) use document_table::DocumentTable;
pub(crate) use documents::{declared_columns, is_of_standing, keyword_field};
pub use error::QueryError;
pub use evidence::ItemEvidence;
pub(crate) use evidence::{Weighed, Whose, Worst, contaminated, document_evidence, suite_evidence};
pub use filter::DocumentFilter;
pub(crate) use incoming::IncomingCondition;
pub(crate) use keys::{Keys, find_key};
pub(crate) use names::names;
pub use names::{SqlNames, SqlTableNames, SqlValues};
pub use pairs::{DuplicatePair, Duplicates};
pub(crate) use pairs::{Pairs, duplicates};
pub use parameters::{SqlParameters, SqlValue};
pub(crate) use parser::names_column;
pub(crate) use present::{Dependence, dependence};
pub(crate) use presets::resolved;
pub(crate) use print::refuse_same_names;
pub use print::{PrintFormat, Printer, has_thousands};
pub(crate) use provider::kept_in;
pub use query::SqlQuery;
pub(crate) use relations::Relation;
pub use script::{Script, ScriptEnd, ScriptFault, ScriptStatement};
pub(crate) use select::{count_nulls, select, select_with};
pub use statement::Rows;
pub(crate) use statement::sql;
pub(crate) use values::{numbers, texts};
