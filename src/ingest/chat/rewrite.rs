//! Rewrites the syntax tree of a template: checked functions stand in the place of whatever makes values.
//!
//! What the template writes itself is written by way of a value, so that all that is written is counted. No expression
//! is left that the compiler would compute beforehand, without a bound. The result is a [`CompiledTemplate`].

use super::budget::refusal;
use super::sandbox;
use super::sandbox::{ADD, CONCAT, IN, KEPT, LOOPED, MULTIPLY, NESTED, SLICE, SLICED};
use minijinja::machinery::ast::{
    AutoEscape, BinOp, BinOpKind, Block, Break, Call, CallArg, CallBlock, Compare, CompareOp,
    CompareOpKind, Const, Continue, Do, EmitExpr, Expr, Extends, Filter, FilterBlock, ForLoop,
    FromImport, GetAttr, GetItem, IfCond, IfExpr, Import, Include, List, Macro, Map, Set, SetBlock,
    Slice, Spanned, Stmt, Template, Test, UnaryOp, UnaryOpKind, Var, WithBlock,
};
use minijinja::machinery::{
    CodeGenerator, Instructions, Span, Token, Vm, WhitespaceConfig, make_string_output, parse,
    tokenize,
};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, Error};
use std::collections::BTreeMap;

/// Words and signs of one expression: a chain of operators is a tree as deep as it is long.
const LONGEST: usize = 2_000;

/// Fails for an expression that is too long to be worked on.
pub(super) fn fits(source: &str) -> Result<(), Error> {
    let mut length = 0;
    for token in tokenize(source, false, SyntaxConfig, WhitespaceConfig::default()) {
        // The parser reports what is not a word of a template, with its place.
        let Ok((token, span)) = token else { return Ok(()) };
        match token {
            Token::VariableStart | Token::BlockStart => length = 0,
            _ => length += 1,
        }
        if length > LONGEST {
            return Err(refusal(format!(
                "an expression of over {LONGEST} words and signs (line {}); set parts of it first",
                span.start_line
            )));
        }
    }
    Ok(())
}

#[expect(clippy::too_many_lines, reason = "one arm for each kind of statement that a template has")]
pub(super) fn rewrite<'a>(statement: &Stmt<'a>) -> Stmt<'a> {
    match statement {
        Stmt::Template(node) => {
            Stmt::Template(at(node.span(), Template { children: all(&node.children) }))
        }
        Stmt::EmitExpr(node) => {
            Stmt::EmitExpr(at(node.span(), EmitExpr { expr: expression(&node.expr) }))
        }
        Stmt::EmitRaw(node) => {
            let value = Value::from_safe_string(node.raw.to_owned());
            let expr = Expr::Const(at(node.span(), Const { value }));
            Stmt::EmitExpr(at(node.span(), EmitExpr { expr }))
        }
        Stmt::ForLoop(node) => Stmt::ForLoop(at(
            node.span(),
            ForLoop {
                target: target(&node.target),
                iter: filter(LOOPED, node.iter.span(), expression(&node.iter), []),
                filter_expr: node.filter_expr.as_ref().map(expression),
                recursive: node.recursive,
                body: all(&node.body),
                else_body: all(&node.else_body),
            },
        )),
        Stmt::IfCond(node) => Stmt::IfCond(at(
            node.span(),
            IfCond {
                expr: expression(&node.expr),
                true_body: all(&node.true_body),
                false_body: all(&node.false_body),
            },
        )),
        Stmt::WithBlock(node) => {
            let pairs = node.assignments.iter().map(|(to, value)| (target(to), expression(value)));
            let block = WithBlock { assignments: pairs.collect(), body: all(&node.body) };
            Stmt::WithBlock(at(node.span(), block))
        }
        Stmt::Set(node) => {
            let mut expr = expression(&node.expr);
            if matches!(node.target, Expr::GetAttr(_)) {
                expr = filter(KEPT, node.span(), expr, []);
            }
            let set = Set { target: target(&node.target), expr };
            Stmt::Set(at(node.span(), set))
        }
        Stmt::SetBlock(node) => Stmt::SetBlock(at(
            node.span(),
            SetBlock {
                target: target(&node.target),
                filter: node.filter.as_ref().map(expression),
                body: all(&node.body),
            },
        )),
        Stmt::AutoEscape(node) => {
            let escape = AutoEscape { enabled: expression(&node.enabled), body: all(&node.body) };
            Stmt::AutoEscape(at(node.span(), escape))
        }
        Stmt::FilterBlock(node) => {
            let block = FilterBlock { filter: expression(&node.filter), body: all(&node.body) };
            Stmt::FilterBlock(at(node.span(), block))
        }
        Stmt::Block(node) => Stmt::Block(at(
            node.span(),
            Block { name: node.name, required: node.required, body: all(&node.body) },
        )),
        Stmt::Import(node) => Stmt::Import(at(
            node.span(),
            Import { expr: expression(&node.expr), name: target(&node.name) },
        )),
        Stmt::FromImport(node) => {
            let names = node.names.iter();
            let names = names.map(|(name, to)| (target(name), to.as_ref().map(target))).collect();
            Stmt::FromImport(at(node.span(), FromImport { expr: expression(&node.expr), names }))
        }
        Stmt::Extends(node) => {
            Stmt::Extends(at(node.span(), Extends { name: expression(&node.name) }))
        }
        Stmt::Include(node) => Stmt::Include(at(
            node.span(),
            Include { name: expression(&node.name), ignore_missing: node.ignore_missing },
        )),
        Stmt::Macro(node) => Stmt::Macro(declared(node)),
        Stmt::CallBlock(node) => Stmt::CallBlock(at(
            node.span(),
            CallBlock { call: called(&node.call), macro_decl: declared(&node.macro_decl) },
        )),
        Stmt::Continue(node) => Stmt::Continue(at(node.span(), Continue)),
        Stmt::Break(node) => Stmt::Break(at(node.span(), Break)),
        Stmt::Do(node) => Stmt::Do(at(node.span(), Do { call: called(&node.call) })),
    }
}

fn all<'a>(statements: &[Stmt<'a>]) -> Vec<Stmt<'a>> {
    statements.iter().map(rewrite).collect()
}

fn declared<'a>(node: &Spanned<Macro<'a>>) -> Spanned<Macro<'a>> {
    let declared = Macro {
        name: node.name,
        args: node.args.iter().map(target).collect(),
        defaults: expressions(&node.defaults),
        body: all(&node.body),
    };
    at(node.span(), declared)
}

fn called<'a>(node: &Spanned<Call<'a>>) -> Spanned<Call<'a>> {
    let call = Call { expr: callee(&node.expr), args: arguments(&node.args) };
    at(node.span(), call)
}

/// The callee of a call: the compiler tells functions, methods and blocks by their form.
fn callee<'a>(callee: &Expr<'a>) -> Expr<'a> {
    match callee {
        Expr::GetAttr(node) => Expr::GetAttr(at(
            node.span(),
            GetAttr { expr: expression(&node.expr), name: node.name },
        )),
        other => expression(other),
    }
}

/// What is assigned to keeps its form.
fn target<'a>(of: &Expr<'a>) -> Expr<'a> {
    match of {
        Expr::List(node) => {
            let items = node.items.iter().map(target).collect();
            Expr::List(at(node.span(), List { items }))
        }
        other => callee(other),
    }
}

fn expressions<'a>(all: &[Expr<'a>]) -> Vec<Expr<'a>> {
    all.iter().map(expression).collect()
}

fn expression<'a>(of: &Expr<'a>) -> Expr<'a> {
    match of {
        Expr::Var(node) => Expr::Var(at(node.span(), Var { id: node.id })),
        Expr::Const(node) => Expr::Const(at(node.span(), Const { value: node.value.clone() })),
        Expr::Slice(node) => {
            let slice = Slice {
                expr: filter(SLICED, node.span(), expression(&node.expr), []),
                start: node.start.as_ref().map(expression),
                stop: node.stop.as_ref().map(expression),
                step: node.step.as_ref().map(expression),
            };
            filter(SLICE, node.span(), Expr::Slice(at(node.span(), slice)), [])
        }
        Expr::UnaryOp(node) => {
            let is_not = matches!(node.op, UnaryOpKind::Not);
            let op = if is_not { UnaryOpKind::Not } else { UnaryOpKind::Neg };
            Expr::UnaryOp(at(node.span(), UnaryOp { op, expr: expression(&node.expr) }))
        }
        Expr::BinOp(node) => operation(node),
        Expr::Compare(node) => comparison(node),
        Expr::IfExpr(node) => Expr::IfExpr(at(
            node.span(),
            IfExpr {
                test_expr: expression(&node.test_expr),
                true_expr: expression(&node.true_expr),
                false_expr: node.false_expr.as_ref().map(expression),
            },
        )),
        Expr::Filter(node) => {
            let mut args = arguments(&node.args);
            let name = sandbox::checked(node.name);
            let mut expr = node.expr.as_ref().map(expression);
            if name.is_err() {
                let value = Value::from(node.name);
                let named = Expr::Const(at(node.span(), Const { value }));
                args.splice(0..0, expr.replace(named).map(CallArg::Pos));
            }
            let name = name.unwrap_or_else(|name| name);
            Expr::Filter(at(node.span(), Filter { name, expr, args }))
        }
        Expr::Test(node) => Expr::Test(at(
            node.span(),
            Test { name: node.name, expr: expression(&node.expr), args: arguments(&node.args) },
        )),
        Expr::GetAttr(_) => callee(of),
        Expr::GetItem(node) => Expr::GetItem(at(
            node.span(),
            GetItem {
                expr: expression(&node.expr),
                subscript_expr: expression(&node.subscript_expr),
            },
        )),
        Expr::Call(node) => Expr::Call(called(node)),
        Expr::List(node) => {
            let list = Expr::List(at(node.span(), List { items: expressions(&node.items) }));
            if node.as_const().is_some() { list } else { filter(NESTED, node.span(), list, []) }
        }
        Expr::Map(node) => {
            let map = Map { keys: expressions(&node.keys), values: expressions(&node.values) };
            let map = Expr::Map(at(node.span(), map));
            if node.as_const().is_some() { map } else { filter(NESTED, node.span(), map, []) }
        }
    }
}

fn operation<'a>(node: &Spanned<BinOp<'a>>) -> Expr<'a> {
    let (left, right) = (expression(&node.left), expression(&node.right));
    let op = match node.op {
        BinOpKind::Add => return filter(ADD, node.span(), left, [right]),
        BinOpKind::Mul => return filter(MULTIPLY, node.span(), left, [right]),
        BinOpKind::Concat => return filter(CONCAT, node.span(), left, [right]),
        BinOpKind::In => return filter(IN, node.span(), left, [right]),
        // The result is small: a number, a truth value, or one of the operands.
        BinOpKind::Eq => BinOpKind::Eq,
        BinOpKind::Ne => BinOpKind::Ne,
        BinOpKind::Lt => BinOpKind::Lt,
        BinOpKind::Lte => BinOpKind::Lte,
        BinOpKind::Gt => BinOpKind::Gt,
        BinOpKind::Gte => BinOpKind::Gte,
        BinOpKind::ScAnd => BinOpKind::ScAnd,
        BinOpKind::ScOr => BinOpKind::ScOr,
        BinOpKind::Sub => BinOpKind::Sub,
        BinOpKind::Div => BinOpKind::Div,
        BinOpKind::FloorDiv => BinOpKind::FloorDiv,
        BinOpKind::Rem => BinOpKind::Rem,
        BinOpKind::Pow => BinOpKind::Pow,
    };
    Expr::BinOp(at(node.span(), BinOp { op, left, right }))
}

fn comparison<'a>(node: &Spanned<Compare<'a>>) -> Expr<'a> {
    let is_in = |op: CompareOpKind| matches!(op, CompareOpKind::In | CompareOpKind::NotIn);
    if !node.ops.iter().any(|op| is_in(op.op)) {
        let ops = node.ops.iter().map(|op| CompareOp { op: op.op, expr: expression(&op.expr) });
        let compare = Compare { expr: expression(&node.expr), ops: ops.collect() };
        return Expr::Compare(at(node.span(), compare));
    }
    // A chain holds when each of its comparisons does.
    let mut pairs = node.ops.iter().scan(&node.expr, |left, op| {
        let pair = pair(node.span(), left, op);
        *left = &op.expr;
        Some(pair)
    });
    let first = pairs.next().unwrap_or_else(|| expression(&node.expr));
    pairs.fold(first, |left, right| {
        Expr::BinOp(at(node.span(), BinOp { op: BinOpKind::ScAnd, left, right }))
    })
}

fn pair<'a>(span: Span, left: &Expr<'a>, op: &CompareOp<'a>) -> Expr<'a> {
    let (left, expr) = (expression(left), expression(&op.expr));
    match op.op {
        CompareOpKind::In => filter(IN, span, left, [expr]),
        CompareOpKind::NotIn => {
            let expr = filter(IN, span, left, [expr]);
            Expr::UnaryOp(at(span, UnaryOp { op: UnaryOpKind::Not, expr }))
        }
        op => {
            let ops = vec![CompareOp { op, expr }];
            Expr::Compare(at(span, Compare { expr: left, ops }))
        }
    }
}

fn arguments<'a>(all: &[CallArg<'a>]) -> Vec<CallArg<'a>> {
    let argument = |argument: &CallArg<'a>| match argument {
        CallArg::Pos(value) => CallArg::Pos(expression(value)),
        CallArg::Kwarg(name, value) => CallArg::Kwarg(name, expression(value)),
        CallArg::PosSplat(value) => CallArg::PosSplat(expression(value)),
        CallArg::KwargSplat(value) => CallArg::KwargSplat(expression(value)),
    };
    all.iter().map(argument).collect()
}

fn filter<'a, const N: usize>(
    name: &'static str,
    span: Span,
    expr: Expr<'a>,
    args: [Expr<'a>; N],
) -> Expr<'a> {
    let args = args.into_iter().map(CallArg::Pos).collect();
    Expr::Filter(at(span, Filter { name, expr: Some(expr), args }))
}

fn at<T>(span: Span, node: T) -> Spanned<T> {
    Spanned::new(node, span)
}

const NAME: &str = "chat template";

/// Instructions that name parts of the text they were compiled from.
struct CompiledCode<'source> {
    main: Instructions<'source>,
    blocks: BTreeMap<&'source str, Instructions<'source>>,
}

self_cell::self_cell!(
    /// A template with its text.
    pub(super) struct CompiledTemplate {
        owner: String,
        #[covariant]
        dependent: CompiledCode,
    }
);

impl CompiledTemplate {
    /// Compiles a template as transformers does: blocks take the line end behind them and the space before.
    pub(super) fn compile(source: String) -> Result<Self, Error> {
        Self::try_new(source, |source| {
            let space = WhitespaceConfig {
                keep_trailing_newline: false,
                lstrip_blocks: true,
                trim_blocks: true,
            };
            fits(source)?;
            let tree = rewrite(&parse(source, NAME, SyntaxConfig, space)?);
            let mut generator = CodeGenerator::new(NAME, source);
            generator.compile_stmt(&tree);
            let (main, blocks) = generator.finish();
            Ok(CompiledCode { main, blocks })
        })
    }

    /// What the template writes, and the steps that it took.
    pub(super) fn render(
        &self,
        environment: &Environment<'static>,
        values: Value,
    ) -> Result<(String, u64), Error> {
        let mut text = String::new();
        let code = self.borrow_dependent();
        let mut output = make_string_output(&mut text);
        let vm = Vm::new(environment);
        let (_, state) =
            vm.eval(&code.main, values, &code.blocks, &mut output, minijinja::AutoEscape::None)?;
        let steps = state.fuel_levels().map_or(0, |(spent, _)| spent);
        drop(state);
        drop(output);
        Ok((text, steps))
    }
}
