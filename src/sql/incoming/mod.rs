//! Evaluates a SQL condition on records that come in, before they are documents.
//!
//! The types of a record's fields are those of its own values (`cells`), and only records of equal types are evaluated
//! together: so the verdict on a record does not depend on the others it comes with.

mod cells;
#[cfg(test)]
mod tests;

use super::session;
use crate::sql::engine::runtime;
use crate::sql::error::SqlError;
use crate::sql::expression::is_volatile;
use crate::sql::functions::{counts, text_quality};
use crate::sql::rules::{exact, in_lists, operands};
use crate::sql::syntax::faults::{shown, words};
use crate::sql::syntax::{parser, presets};
use arrow::array::{Array, AsArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, Schema};
use cells::{BUILT_IN, RecordValue, RecordValueKind, array, row};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::DataFusionError;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::PhysicalExpr;
use model::{Incoming, IncomingFilter, IncomingVerdict, catch_panic};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// Sets of types whose plans are remembered; beyond that, all are planned again.
const PLANS: usize = 256;
/// Depth of an expression: it is evaluated on the stacks of threads that have other work.
const DEPTH: usize = 200;
/// Bytes of the values of one batch.
const BATCH: usize = 4 << 20;

type Plan = Result<Arc<PlannedCondition>, String>;

/// The condition, planned for one set of types.
struct PlannedCondition {
    /// The types; where a value is missing, a type with which the condition can be planned.
    kinds: Vec<RecordValueKind>,
    expression: Arc<dyn PhysicalExpr>,
}

/// A condition over the fields of incoming records and over `key`, `source`, `text`, `bytes`, `chars` and `meta`.
pub struct RecordCondition {
    sql: String,
    state: SessionState,
    /// The columns that the condition names, in byte order.
    names: Vec<String>,
    plans: Mutex<BTreeMap<Vec<RecordValueKind>, Plan>>,
    unseen: Mutex<BTreeSet<String>>,
}

impl RecordCondition {
    /// Reads a condition. It blocks.
    ///
    /// # Errors
    /// [`SqlError::Incoming`] for what is not a condition, or not the same each time.
    pub fn new(sql: &str) -> Result<Self, SqlError> {
        let unusable = |why: String| SqlError::Incoming { condition: shown(sql), why };
        session::check_expression(sql).map_err(|error| unusable(words(&error)))?;
        // No signal of a record is stored yet, so presets compute them from its text.
        let spelled = presets::resolved(sql, true).map_err(unusable)?;
        let mut state = SessionStateBuilder::new()
            .with_default_features()
            .with_type_planner(Arc::new(exact::TimestampsAreMicroseconds))
            .build();
        counts::register(&mut state).map_err(SqlError::run)?;
        exact::register(&mut state).map_err(SqlError::run)?;
        text_quality::register(&mut state).map_err(SqlError::run)?;
        let mut condition = Self {
            sql: spelled,
            state,
            names: Vec::new(),
            plans: Mutex::default(),
            unseen: Mutex::default(),
        };
        let named = runtime::block_on(async { Ok(condition.named()) })?;
        condition.names = named.map_err(|why| {
            let has_query = parser::names(sql).iter().any(|word| word == "select");
            unusable(if has_query { "it contains a subquery".to_owned() } else { why })
        })?;
        let of_records = |name: &&String| !BUILT_IN.contains(&name.as_str());
        let unseen = condition.names.iter().filter(of_records).cloned().collect();
        condition.unseen = Mutex::new(unseen);
        // A condition that cannot be planned for any types fails here.
        condition.plan(&vec![RecordValueKind::Missing; condition.names.len()]).map_err(unusable)?;
        Ok(condition)
    }

    /// The columns that the condition names.
    fn named(&self) -> Result<Vec<String>, String> {
        // Every word may name a column.
        let mut all: BTreeSet<String> = parser::names(&self.sql).into_iter().collect();
        all.extend(BUILT_IN.map(str::to_owned));
        let all: Vec<String> = all.into_iter().collect();
        let of_kind = |kind| self.logical(&schema(&all, &vec![kind; all.len()]));
        let expression = first_good(|kind| of_kind(kind).map_err(|error| words(&error)))?;
        columns(&expression)
    }

    fn logical(&self, schema: &Schema) -> Result<Expr, DataFusionError> {
        let parsed = parser::parser(&self.sql)?.parse_into_expr()?;
        let schema = DFSchema::try_from(schema.clone())?;
        self.state.create_logical_expr_from_sql_expr(parsed, &schema)
    }

    fn plan(&self, kinds: &[RecordValueKind]) -> Plan {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = plans.get(kinds) {
            return known.clone();
        }
        if plans.len() >= PLANS {
            plans.clear();
        }
        // Planning recurses, so it gets a stack of its own.
        let planned = runtime::block_on(async { Ok(self.planned(kinds)) });
        let planned = planned.unwrap_or_else(|error| Err(error.to_string()));
        plans.insert(kinds.to_vec(), planned.clone());
        planned
    }

    /// A missing value is null without a type, or null of a type with which the condition can be planned; a key is a
    /// text.
    fn planned(&self, kinds: &[RecordValueKind]) -> Plan {
        let filled = |with: RecordValueKind| {
            let kind = |(name, kind): (&String, &RecordValueKind)| match kind {
                RecordValueKind::Missing if name == "key" => RecordValueKind::Text,
                RecordValueKind::Missing => with,
                kind => *kind,
            };
            self.names.iter().zip(kinds).map(kind).collect()
        };
        first_good(|with| {
            let kinds: Vec<RecordValueKind> = filled(with);
            let expression = self.physical(&schema(&self.names, &kinds))?;
            Ok(Arc::new(PlannedCondition { kinds, expression }))
        })
    }

    fn physical(&self, schema: &Schema) -> Result<Arc<dyn PhysicalExpr>, String> {
        let plan = || -> Result<_, DataFusionError> {
            let expression = self.logical(schema)?;
            let columns = Arc::new(DFSchema::try_from(schema.clone())?);
            let expression = exact::rewritten(expression, &columns)?;
            operands::check_keys(&expression, &columns)?;
            // Some functions, such as `coalesce`, exist only to be rewritten by the simplifier.
            let context = SimplifyContext::builder().with_schema(Arc::clone(&columns)).build();
            let simplifier = ExprSimplifier::new(context);
            let coerced = in_lists::keep_truth(simplifier.coerce(expression, &columns)?)?.data;
            let simple = simplifier.simplify(coerced)?;
            let expression = operands::without_negative_zeros(simple)?.data;
            let planned = self.state.create_physical_expr(expression, &columns)?;
            let kind = planned.data_type(schema)?;
            Ok((planned, kind))
        };
        let (planned, kind) = plan().map_err(|error| words(&error))?;
        match kind {
            DataType::Boolean | DataType::Null => {}
            other => return Err(format!("it is of type {other}, not a condition")),
        }
        if depth(&planned) > DEPTH {
            return Err(format!("it is nested deeper than {DEPTH}: write lists as `x IN (..)`"));
        }
        Ok(planned)
    }

    /// The verdicts on rows of the same types.
    fn ask(
        &self,
        kinds: &[RecordValueKind],
        rows: &[&[RecordValue<'_>]],
    ) -> Result<Vec<IncomingVerdict>, String> {
        let plan = self.plan(kinds)?;
        let columns = plan.kinds.iter().enumerate().map(|(at, kind)| {
            let cells: Vec<&RecordValue<'_>> = rows.iter().filter_map(|row| row.get(at)).collect();
            array(*kind, cells.into_iter())
        });
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let schema = Arc::new(schema(&self.names, &plan.kinds));
        let batch = RecordBatch::try_new_with_options(schema, columns.collect(), &options);
        let batch = batch.map_err(|error| error.to_string())?;
        let answered = catch_panic(|| {
            plan.expression.evaluate(&batch).and_then(|answer| answer.into_array(rows.len()))
        })?;
        let answers = answered.map_err(|error| words(&error))?;
        let truths = answers.as_boolean_opt();
        let is_in = |row| truths.is_some_and(|truths| truths.is_valid(row) && truths.value(row));
        let verdict = |row| if is_in(row) { IncomingVerdict::In } else { IncomingVerdict::Out };
        Ok((0..rows.len()).map(verdict).collect())
    }

    /// The verdicts on rows of the same types; where evaluating them together fails, each is evaluated alone.
    fn answer(
        &self,
        kinds: &[RecordValueKind],
        rows: &[&[RecordValue<'_>]],
    ) -> Vec<IncomingVerdict> {
        match self.ask(kinds, rows) {
            Ok(verdicts) => verdicts,
            Err(why) if rows.len() <= 1 => vec![IncomingVerdict::Unanswered(why); rows.len()],
            Err(_) => rows.iter().flat_map(|row| self.answer(kinds, &[*row])).collect(),
        }
    }
}

impl IncomingFilter for RecordCondition {
    fn verdicts(&self, records: &[Incoming<'_>]) -> Vec<IncomingVerdict> {
        let mut verdicts = vec![IncomingVerdict::Out; records.len()];
        let mut alike: BTreeMap<Vec<RecordValueKind>, Vec<(usize, Vec<RecordValue<'_>>)>> =
            BTreeMap::new();
        for (at, record) in records.iter().enumerate() {
            match row(record, &self.names) {
                Ok(cells) => {
                    let kinds = cells.iter().map(RecordValue::kind).collect();
                    alike.entry(kinds).or_default().push((at, cells));
                }
                Err(why) => put(&mut verdicts, at, IncomingVerdict::Unanswered(why)),
            }
        }
        for (kinds, rows) in &alike {
            self.see(kinds);
            let mut rest = rows.as_slice();
            while !rest.is_empty() {
                let (batch, behind) = rest.split_at(together(rest));
                let cells: Vec<&[RecordValue<'_>]> =
                    batch.iter().map(|(_, row)| row.as_slice()).collect();
                for ((at, _), verdict) in batch.iter().zip(self.answer(kinds, &cells)) {
                    put(&mut verdicts, *at, verdict);
                }
                rest = behind;
            }
        }
        verdicts
    }

    fn unseen(&self) -> Vec<String> {
        self.unseen.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

impl RecordCondition {
    /// Notes the fields that records had.
    fn see(&self, kinds: &[RecordValueKind]) {
        let mut unseen = self.unseen.lock().unwrap_or_else(PoisonError::into_inner);
        if unseen.is_empty() {
            return;
        }
        for (name, _) in
            self.names.iter().zip(kinds).filter(|(_, kind)| **kind != RecordValueKind::Missing)
        {
            unseen.remove(name);
        }
    }
}

fn put(verdicts: &mut [IncomingVerdict], at: usize, verdict: IncomingVerdict) {
    if let Some(slot) = verdicts.get_mut(at) {
        *slot = verdict;
    }
}

/// How many of the first rows make a batch: at least one.
fn together(rows: &[(usize, Vec<RecordValue<'_>>)]) -> usize {
    let mut bytes = 0;
    let fits = |(_, row): &&(usize, Vec<RecordValue<'_>>)| {
        bytes += row.iter().map(RecordValue::bytes).sum::<usize>();
        bytes <= BATCH
    };
    rows.iter().take_while(fits).count().max(1)
}

/// The first kind for which `attempt` succeeds; else the error for the first of all.
fn first_good<T>(
    mut attempt: impl FnMut(RecordValueKind) -> Result<T, String>,
) -> Result<T, String> {
    let mut first = None;
    for kind in RecordValueKind::ALL {
        match attempt(kind) {
            Ok(done) => return Ok(done),
            Err(why) => drop(first.get_or_insert(why)),
        }
    }
    Err(first.unwrap_or_default())
}

fn schema(names: &[String], kinds: &[RecordValueKind]) -> Schema {
    let field =
        |(name, kind): (&String, &RecordValueKind)| Field::new(name, kind.data_type(), true);
    Schema::new(names.iter().zip(kinds).map(field).collect::<Vec<_>>())
}

/// The columns that an expression names, or why its value would depend on more than the record.
fn columns(expression: &Expr) -> Result<Vec<String>, String> {
    let mut fault = None;
    let walked = expression.apply(|part| {
        let name = match part {
            Expr::ScalarFunction(call) if is_volatile(&call.func) => Some(format!(
                "{}() returns another value each time, and the same record must pass each time",
                call.func.name()
            )),
            Expr::AggregateFunction(_) | Expr::WindowFunction(_) => {
                Some("it uses several records at once".to_owned())
            }
            Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_) => {
                Some("it contains a subquery".to_owned())
            }
            _ => None,
        };
        fault = fault.take().or(name);
        Ok(TreeNodeRecursion::Continue)
    });
    walked.map_err(|error| words(&error))?;
    match fault {
        Some(why) => Err(why),
        None => {
            let names = expression.column_refs().into_iter().map(|column| column.name.clone());
            Ok(names.collect::<BTreeSet<_>>().into_iter().collect())
        }
    }
}

fn depth(expression: &Arc<dyn PhysicalExpr>) -> usize {
    1 + expression.children().into_iter().map(depth).max().unwrap_or(0)
}
