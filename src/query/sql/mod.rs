//! Expressions and statements of SQL over one view.
//!
//! A boolean expression or a statement is planned by DataFusion (`session`, with the functions and rules of `engine`),
//! after `nesting` has counted how deep and large it is; `dialect` and `parser` read it (cut by `tokens`, with
//! published thresholds put in by `presets`), `operands` says what may be compared, and `lists` keeps the optimiser from
//! losing nulls. What the indexes can answer exactly becomes a tree over bitmaps and columns (`predicate`, `ranges`),
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
//! the engine's, `names` lists the words, `script` cuts a text into statements, `faults` says what is wrong with one,
//! `explain` how the scans of one read documents.

mod arrays;
mod catalogue;
mod coded;
mod columns;
mod compute;
mod contamination;
mod dialect;
mod documents;
mod drivers;
mod engine;
mod engine_function;
mod evaluate;
mod expanding;
mod explain;
mod faults;
mod functions;
mod growing;
mod incoming;
mod json;
mod limits;
mod lists;
mod metered;
mod moments;
mod names;
mod nesting;
mod operands;
mod outputs;
mod outside;
mod parameters;
mod parser;
mod passing;
mod pool;
mod predicate;
mod present;
mod presets;
mod producer;
mod provider;
mod quality;
mod query;
mod ranges;
mod rejects;
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
mod tables;
mod texts;
mod tokens;
mod values;

pub use compute::{Computed, compute, kind_of};
pub use documents::{DocumentRows, declared_columns, is_of_standing, keyword_field};
pub use incoming::IncomingCondition;
pub use names::{SqlNames, SqlTableNames, SqlValues, names};
pub use parameters::{SqlParameters, SqlValue};
pub use parser::names_column;
pub use present::{Dependence, dependence};
pub use presets::resolved;
pub use query::SqlQuery;
pub use script::{Script, ScriptEnd, ScriptFault, ScriptStatement};
pub use select::{count, count_nulls, select};
pub(in crate::query) use select::{count_with, select_with};
pub use statement::{Rows, sql};
pub use values::{numbers, texts};
