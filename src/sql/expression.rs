//! Finds what an expression over `documents` depends on besides the document itself.
//!
//! A field that is computed over a snapshot must be what it would have been then, so its expression may depend on
//! nothing else.

use crate::sql::documents::schema::DocumentColumns;
use crate::sql::engine::runtime;
use crate::sql::error::SqlError;
use crate::sql::select::condition_error;
use crate::sql::session;
use crate::sql::syntax::parser;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr, LogicalPlan, ScalarUDF, Volatility};
use store::View;

/// Functions of the clock.
const OF_CLOCK: [&str; 6] =
    ["now", "today", "current_date", "current_time", "current_timestamp", "uuid"];

/// Whether a function has another value each time it is called.
pub(crate) fn is_volatile(function: &ScalarUDF) -> bool {
    let volatile = function.signature().volatility == Volatility::Volatile;
    volatile || OF_CLOCK.contains(&function.name())
}

/// What an expression depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependence {
    /// What it reads of the present moment, in words: a column of standing, another table.
    pub present: Option<String>,
    /// A function whose value is another one each time.
    pub chance: Option<String>,
    /// Whether it looks at several documents at once: a window, an aggregate, a query within it.
    pub others: bool,
}

/// What the value of a SQL expression over `documents` depends on besides the document, found from its plan. It blocks.
///
/// # Errors
/// As [`crate::sql::select`].
pub fn dependence(view: &View, expression: &str) -> Result<Dependence, SqlError> {
    let fault = |error: &DataFusionError| condition_error(view, expression, error);
    session::check_expression(expression).map_err(|error| fault(&error))?;
    let state = session::session(view)?;
    let sql = format!("SELECT (\n{expression}\n) FROM documents");
    let plan = runtime::block_on(async {
        let statement = parser::statement(&sql);
        let planned = match statement {
            Ok(statement) => state.statement_to_plan(statement).await,
            Err(error) => Err(error),
        };
        planned.map_err(|error| fault(&error))
    })?;
    let columns = DocumentColumns::of(view);
    let mut found = Dependence::default();
    let mut scans = 0;
    let walked = plan.apply_with_subqueries(|node| {
        match node {
            LogicalPlan::TableScan(scan) if scan.table_name.table() == "documents" => {
                scans += 1;
                if scans > 1 {
                    found.others = true;
                    found.note("other documents");
                }
            }
            LogicalPlan::TableScan(scan) => {
                found.note(&format!("the table `{}`", scan.table_name.table()));
            }
            LogicalPlan::Window(_) | LogicalPlan::Aggregate(_) => {
                found.others = true;
                found.note("other documents");
            }
            _ => {}
        }
        node.apply_expressions(|expression| {
            expression.apply(|part| {
                found.look_at(part, &columns);
                Ok(TreeNodeRecursion::Continue)
            })
        })
    });
    walked.map_err(|error| fault(&error))?;
    Ok(found)
}

impl Dependence {
    fn note(&mut self, what: &str) {
        self.present.get_or_insert_with(|| what.to_owned());
    }

    fn look_at(&mut self, part: &Expr, columns: &DocumentColumns) {
        match part {
            Expr::Column(column) => {
                let known = columns.named(&column.name);
                if known.is_some_and(|known| known.source.is_of_standing()) {
                    self.note(&format!("`{}`", column.name));
                }
            }
            Expr::ScalarFunction(call) if is_volatile(&call.func) => {
                self.chance.get_or_insert_with(|| format!("{}()", call.func.name()));
            }
            _ => {}
        }
    }
}
