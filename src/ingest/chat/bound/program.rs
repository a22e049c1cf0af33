//! A compiled template.

use super::rewrite;
use minijinja::machinery::{
    CodeGenerator, Instructions, Vm, WhitespaceConfig, make_string_output, parse,
};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, Error};
use std::collections::BTreeMap;

const NAME: &str = "chat template";

/// Instructions that name parts of the text they were compiled from.
struct CompiledCode<'source> {
    main: Instructions<'source>,
    blocks: BTreeMap<&'source str, Instructions<'source>>,
}

self_cell::self_cell!(
    /// A template with its text.
    pub(in super::super) struct CompiledTemplate {
        owner: String,
        #[covariant]
        dependent: CompiledCode,
    }
);

impl CompiledTemplate {
    /// Compiles a template as transformers does: blocks take the line end behind them and the space before.
    pub(in super::super) fn compile(source: String) -> Result<Self, Error> {
        Self::try_new(source, |source| {
            let space = WhitespaceConfig {
                keep_trailing_newline: false,
                lstrip_blocks: true,
                trim_blocks: true,
            };
            rewrite::fits(source)?;
            let tree = rewrite::rewrite(&parse(source, NAME, SyntaxConfig, space)?);
            let mut generator = CodeGenerator::new(NAME, source);
            generator.compile_stmt(&tree);
            let (main, blocks) = generator.finish();
            Ok(CompiledCode { main, blocks })
        })
    }

    /// What the template writes, and the steps that it took.
    pub(in super::super) fn render(
        &self,
        environment: &Environment<'static>,
        values: Value,
    ) -> Result<(String, u64), Error> {
        let mut text = String::new();
        let code = self.borrow_dependent();
        let mut output = make_string_output(&mut text);
        let vm = Vm::new(environment);
        let (_, state) =
            vm.eval(&code.main, values, &code.blocks, &mut output, AutoEscape::None)?;
        let steps = state.fuel_levels().map_or(0, |(spent, _)| spent);
        drop(state);
        drop(output);
        Ok((text, steps))
    }
}
