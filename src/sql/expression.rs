//! A SQL expression over `documents`: parsed once, answered by indexes or planned by the engine.
//!
//! A field that is computed over a snapshot must be what it would have been then, so an expression also says what it
//! depends on besides the document itself.

use crate::sql::documents::predicate::{Predicate, PredicateBuilder};
use crate::sql::documents::schema::DocumentColumns;
use crate::sql::engine::{evaluation, runtime};
use crate::sql::error::SqlError;
use crate::sql::faults::{shown, unknown_column, words};
use crate::sql::rules::operands::without_negative_zeros;
use crate::sql::session;
use crate::sql::statement::{self, SqlRows};
use crate::sql::syntax::parameters::SqlParameters;
use crate::sql::syntax::{parser, size};
use crate::sql::view_engine::engine;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DFSchemaRef};
use datafusion::error::DataFusionError;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::logical_plan::{EmptyRelation, Filter};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, LogicalPlan, ScalarUDF, Volatility};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr as SqlExpr, ExprWithAlias, Value, visit_expressions_mut,
};
use model::Interrupt;
use model::near_names::did_you_mean;
use model::text_file::without_byte_order_mark;
use std::ops::ControlFlow;
use std::sync::Arc;
use store::View;
use text::signals::Signal;

/// The documents of a condition.
const MATCHES: &str = "SELECT id FROM documents WHERE ?";

/// The one expression of a text; nothing may follow it.
pub(crate) fn parsed(text: &str) -> Result<ExprWithAlias, DataFusionError> {
    size::check_text(text).map_err(DataFusionError::Plan)?;
    let parsed = parser::parser(text)?.parse_into_expr()?;
    match &parsed.alias {
        None => Ok(parsed),
        Some(alias) => {
            Err(DataFusionError::Plan(format!("`{alias}` after the end of the expression")))
        }
    }
}

/// A condition as every rule of the engine leaves it; null counts as false.
pub(crate) fn simplified(
    engine: &SessionState,
    condition: Expr,
    schema: DFSchemaRef,
    parameters: &SqlParameters,
) -> Result<Expr, DataFusionError> {
    let context = SimplifyContext::builder()
        .with_schema(Arc::clone(&schema))
        .with_config_options(Arc::clone(engine.config_options()))
        .with_current_time()
        .build();
    let rows = LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: false, schema });
    let plan = LogicalPlan::Filter(Filter::try_new(condition, Arc::new(rows))?);
    let plan = parameters.bind(plan)?;
    match engine.analyzer().execute_and_check(plan, engine.config_options(), |_, _| ())? {
        LogicalPlan::Filter(filter) => {
            let simple = ExprSimplifier::new(context).simplify(filter.predicate)?;
            Ok(without_negative_zeros(simple)?.data)
        }
        // A rule has made a plan of several nodes of it: the engine alone can answer that.
        _ => Err(DataFusionError::Plan("it is not a condition on one row".to_owned())),
    }
}

/// A parsed expression with values for its parameters. It is planned on threads of the engine, whose stacks are deep.
pub(crate) struct SqlExpression {
    view: View,
    text: String,
    parameters: SqlParameters,
    parsed: ExprWithAlias,
}

/// The documents for which an expression is true.
pub(crate) enum ConditionAnswer {
    /// Those of a predicate that indexes and columns answer.
    Index(Predicate),
    /// Those whose ids the engine gives.
    Engine(SqlRows),
}

impl SqlExpression {
    /// Reads the one expression of a text.
    ///
    /// # Errors
    /// [`SqlError::Where`] for any other text.
    pub(crate) fn parse(
        view: &View,
        text: &str,
        parameters: &SqlParameters,
    ) -> Result<Self, SqlError> {
        let text = without_byte_order_mark(text);
        let parsed = parsed(text).map_err(|error| fault(view, text, &error))?;
        let (view, text, parameters) = (view.clone(), text.to_owned(), parameters.clone());
        Ok(Self { view, text, parameters, parsed })
    }

    /// The condition that this expression is null.
    pub(crate) fn is_null(mut self) -> Self {
        self.parsed.expr = SqlExpr::IsNull(Box::new(self.parsed.expr));
        self
    }

    /// The documents for which it is true. It blocks.
    ///
    /// # Errors
    /// [`SqlError::Where`] for an expression that is no condition; [`SqlError::Interrupted`].
    pub(crate) fn matches(self, interrupt: &Interrupt) -> Result<ConditionAnswer, SqlError> {
        interrupt.check()?;
        let own = interrupt.clone();
        let planning = runtime::start(interrupt, async move {
            let statement = self.statement(MATCHES)?;
            // What is wrong with the expression the engine says.
            if let Some(predicate) = self.predicate().ok().flatten() {
                return Ok(ConditionAnswer::Index(predicate));
            }
            let (state, plan) = self.plan(statement).await?;
            statement::rows(state, plan, &own).map(ConditionAnswer::Engine)
        })?;
        planning.join()
    }

    /// The rows of `template`, a query of ours with a `?` wherever the expression is to stand. It blocks.
    ///
    /// # Errors
    /// As [`SqlExpression::matches`].
    pub(crate) fn rows(self, template: String, interrupt: &Interrupt) -> Result<SqlRows, SqlError> {
        interrupt.check()?;
        let (state, plan) = self.planned(template, interrupt)?;
        statement::rows(state, plan, interrupt)
    }

    /// The optimised plan of such a query, and its session. It blocks.
    ///
    /// # Errors
    /// As [`SqlExpression::matches`].
    pub(crate) fn planned(
        self,
        template: String,
        interrupt: &Interrupt,
    ) -> Result<(SessionState, LogicalPlan), SqlError> {
        let planning =
            runtime::start(interrupt, async move { self.plan(self.statement(&template)?).await })?;
        planning.join()
    }

    async fn plan(&self, statement: Statement) -> Result<(SessionState, LogicalPlan), SqlError> {
        let state = session::session(&self.view)?;
        let plan = self.bound(&state, statement).await?;
        let plan = state.optimize(&plan).map_err(|error| self.fault(&error))?;
        Ok((state, plan))
    }

    /// The plan of a statement with values for its parameters, as it is written.
    async fn bound(
        &self,
        state: &SessionState,
        statement: Statement,
    ) -> Result<LogicalPlan, SqlError> {
        let plan = state.statement_to_plan(statement).await;
        plan.and_then(|plan| self.parameters.bind(plan)).map_err(|error| self.fault(&error))
    }

    /// `template` with this expression in the place of each `?`. It is put into the parsed statement, so that no text
    /// can end the place where it stands.
    fn statement(&self, template: &str) -> Result<Statement, SqlError> {
        let mut statement = parser::statement(template).map_err(|error| self.fault(&error))?;
        if let Statement::Statement(statement) = &mut statement {
            let _ = visit_expressions_mut(statement.as_mut(), |part| {
                if let SqlExpr::Value(value) = &*part
                    && matches!(value.value, Value::Placeholder(_))
                {
                    *part = self.parsed.expr.clone();
                }
                ControlFlow::<()>::Continue(())
            });
        }
        size::check_statement(&statement)
            .and_then(|()| self.parameters.check(&statement))
            .map_err(|why| self.fault(&DataFusionError::Plan(why)))?;
        Ok(statement)
    }

    /// The predicate that is true exactly where the expression is; none where the indexes cannot answer it.
    fn predicate(&self) -> Result<Option<Predicate>, DataFusionError> {
        let (engine, columns) = (engine(&self.view)?, DocumentColumns::of(&self.view));
        let schema = DFSchema::try_from_qualified_schema("documents", &columns.schema)?;
        let condition = engine.create_logical_expr_from_sql_expr(self.parsed.clone(), &schema)?;
        let condition = simplified(&engine, condition, Arc::new(schema), &self.parameters)?;
        Ok(PredicateBuilder::new(&self.view, &columns).truth(&condition))
    }

    fn fault(&self, error: &DataFusionError) -> SqlError {
        if let Err(stopped) = evaluation::check_planning() {
            return stopped;
        }
        fault(&self.view, &self.text, error)
    }
}

fn fault(view: &View, expression: &str, error: &DataFusionError) -> SqlError {
    let columns = DocumentColumns::of(view).names();
    let question = |name: &str| {
        did_you_mean(name, columns.split(", "))
            .map_or_else(String::new, |question| format!("; {question}"))
    };
    let unknown = unknown_column(error);
    let why = match unknown.map(|name| (name, Signal::from_name(name))) {
        // A signal may be named like a column that is there: `lang` is none, `language` is.
        Some((name, Some(signal))) => format!(
            "`{name}` is not a column{}; the signal `{name}` is not stored: `corpusdb signals add` stores it, or `{}` computes it from each text, as preset('gopher', 'text') does for a whole preset",
            question(name),
            signal.expression
        ),
        Some((name, None)) => format!(
            "`{name}` is not a column{} (one with capitals needs double quotes, text needs single ones)",
            question(name)
        ),
        None => words(error),
    };
    SqlError::Where { expression: shown(expression), why, columns }
}

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
    let expression = SqlExpression::parse(view, expression, &SqlParameters::default())?;
    let planning = runtime::start(&Interrupt::default(), async move {
        let statement = expression.statement("SELECT ? FROM documents")?;
        let state = session::session(&expression.view)?;
        let plan = expression.bound(&state, statement).await?;
        let columns = DocumentColumns::of(&expression.view);
        Dependence::of(&plan, &columns).map_err(|error| expression.fault(&error))
    })?;
    planning.join()
}

impl Dependence {
    fn of(plan: &LogicalPlan, columns: &DocumentColumns) -> Result<Self, DataFusionError> {
        let mut found = Self::default();
        let mut scans = 0;
        plan.apply_with_subqueries(|node| {
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
                    found.look_at(part, columns);
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })?;
        Ok(found)
    }

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
