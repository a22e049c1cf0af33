//! The parts of the card that are read at once: what it is about, its languages, samples, plan, suites.

use super::options::ReportOptions;
use super::sizes::{CardSizes, Provenance, provenance};
use crate::corpus::{Corpora, parts};
use crate::epoch::Explanation;
use crate::inspect::contamination::{SuiteContamination, contamination, suites};
use crate::inspect::{
    CorpusInfo, DocumentDetails, Domains, FieldInfo, PolicySetting, StandingCount, TokenizerInfo,
};
use crate::{epoch, inspect};
use model::{Context, Error, Interrupt};
use roaring::RoaringTreemap;
use serde::Serialize;
use std::collections::BTreeMap;
use store::View;
use text::contamination::ContaminationRule;

/// What a corpus is.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CardOverview {
    /// The dedup policy, in words.
    pub policy: String,
    /// Its settings with what they mean.
    pub settings: Vec<PolicySetting>,
    /// The last commit.
    pub commit: u64,
    /// The policy generation.
    pub generation: u32,
    /// How many sources there are.
    pub sources: u64,
    /// The sources of which several chat templates wrote the texts of kept documents, with how many.
    pub mixed_templates: BTreeMap<String, u64>,
    /// Documents of each standing that has any.
    pub standings: Vec<StandingCount>,
    /// The declared fields.
    pub fields: Vec<FieldInfo>,
    /// The registered tokenizers.
    pub tokenizers: Vec<TokenizerInfo>,
    /// Rejected records.
    pub rejects: u64,
    /// Bytes of the corpus's tables on disk.
    pub disk_bytes: u64,
}

pub(super) fn about(view: &View) -> Result<CardOverview, Error> {
    let info: CorpusInfo = inspect::info(view)?;
    Ok(CardOverview {
        policy: info.policy,
        settings: info.settings,
        commit: info.commit,
        generation: info.generation,
        sources: info.sources.len() as u64,
        mixed_templates: info.mixed_templates,
        standings: info.standings,
        fields: info.fields,
        tokenizers: info.tokenizers,
        rejects: info.rejects,
        disk_bytes: info.disk.iter().map(|family| family.bytes).sum(),
    })
}

/// With a space between them.
const NAMES: &str = "\
    abap actionscript ada agda antlr apacheconf apl applescript arduino asciidoc asp assembly astro augeas \
    autohotkey awk bash batch batchfile bibtex bluespec c c# c++ cfg clojure cmake cobol code coffeescript \
    common-lisp coq cpp crystal csharp cshtml css csv cuda cython d dart dhall diff dockerfile elixir elm \
    emacs-lisp erb erlang f# fortran fsharp gdscript glsl gnuplot go golang graphql graphviz-dot groovy haml \
    handlebars haskell haxe hcl hlsl html html+erb idris ini isabelle j java java-server-pages javascript \
    jinja json json5 jsonl jsx julia jupyter jupyter-notebook kotlin latex lean less literate-agda \
    literate-coffeescript literate-haskell lua makefile maple markdown mathematica matlab mdx mermaid mojo \
    mustache nginx nim ninja nix notebook objective-c objective-c++ objectivec ocaml octave odin opencl org \
    pascal perl php plain-text plaintext powershell prolog properties proto protobuf protocol-buffer puppet \
    purescript python python3 q# qml r racket raku restructuredtext rmarkdown robotframework rst ruby rust \
    sass scala scheme scss shell shellscript slim smalltalk solidity sparql sql stan standard-ml starlark \
    stata stylus svelte svg swift systemverilog tcl tcsh terraform tex text thrift toml tsx twig txt \
    typescript v vala vb verilog vhdl vim-script viml visual-basic vue webassembly xml xslt yacc yaml yml \
    zig zsh";

/// Whether a value of the field `language` is the name of a programming or markup language.
#[must_use]
pub fn is_programming_language(name: &str) -> bool {
    let name = name.trim().to_lowercase().replace([' ', '_'], "-");
    NAMES.split(' ').any(|known| known == name)
}

/// Characters of a text that are shown.
const CHARACTERS: usize = 500;

/// The beginning of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SampledDocument {
    /// Its key.
    pub key: String,
    /// Its source.
    pub source: String,
    /// Its language, when known.
    pub language: Option<String>,
    /// UTF-8 bytes of its text.
    pub bytes: u64,
    /// The first 500 characters of its text.
    pub text: String,
}

/// `most` of these documents, uniform without replacement: those that `corpusdb sample` draws of them with this seed.
pub(super) fn samples(
    corpora: &Corpora,
    documents: &RoaringTreemap,
    (most, seed): (usize, u64),
) -> Result<Vec<SampledDocument>, Error> {
    let drawn = inspect::sample_of(documents, most as u64, seed).into_iter();
    let shown = drawn.map(|document| {
        let (view, inside) = corpora.find(document)?;
        let DocumentDetails { key, source, language, bytes, text, .. } =
            inspect::show(view, inside)?;
        let text = text.chars().take(CHARACTERS).collect();
        Ok(SampledDocument { key, source, language, bytes, text })
    });
    shown.collect()
}

/// What the first epoch of a stored plan that has rows will be.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PlanReport {
    /// The number of the plan.
    pub number: u32,
    /// Documents that it draws although they were removed after its snapshot; they are still trained on.
    pub removed_since: u64,
    /// What its first epoch will be.
    pub epoch: Explanation,
    /// The documents of which that epoch gives any token, each once; as `kept` those that still are.
    pub sizes: CardSizes,
    /// What these documents say of their dates and licences.
    pub provenance: Provenance,
    /// Their domains, where the domains with most text were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domains: Option<Domains>,
}

/// What a stored plan makes of the corpora, with the documents of its epoch.
pub(super) fn plan(
    corpora: &Corpora,
    (number, options): (u32, &ReportOptions),
    interrupt: &Interrupt,
) -> Result<(PlanReport, RoaringTreemap), Error> {
    let planned = epoch::stored_plan(corpora.first(), number)?;
    let removed_since = epoch::removed_since(corpora, &planned)?;
    let explained = epoch::explain(corpora, &planned, &Context::new().with_interrupt(interrupt))?;
    let documents = epoch::documents_of_epoch(corpora, &planned, interrupt)?;
    let of: Vec<(&View, RoaringTreemap)> =
        corpora.views().map(|(shard, view)| (view, parts(shard, &documents))).collect();
    let mut counted = Vec::with_capacity(of.len());
    for (view, documents) in &of {
        interrupt.check()?;
        counted.push(inspect::group_counts(view, documents.clone())?);
    }
    let domains = || inspect::domains(&of, options.domains, true);
    let report = PlanReport {
        number,
        removed_since,
        epoch: explained,
        sizes: CardSizes::of(counted),
        provenance: provenance(&of)?,
        domains: options.domains_by_text.then(domains).transpose()?,
    };
    Ok((report, documents))
}

/// Suites that are listed, at most.
const SUITES: usize = 40;
/// Sources of a suite that are named, at most.
const NAMED: usize = 12;

/// Evaluation suites and how much of them is in the corpus.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ContaminationReport {
    /// The suites, the one with most documents first.
    pub suites: Vec<CardSuite>,
    /// How many others there are.
    pub left_out: u64,
}

/// How much of a suite is in the corpus, by the default rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CardSuite {
    /// The suite, without examples.
    #[serde(flatten)]
    pub found: SuiteContamination,
    /// How many more sources have it than are named.
    pub sources_left_out: u64,
    /// Whether all stored texts were searched for it.
    pub is_complete: bool,
}

pub(super) fn contaminated(view: &View) -> Result<ContaminationReport, Error> {
    let all = suites(view)?;
    let mut told = Vec::with_capacity(all.len());
    // Without examples: one would publish the item of a test.
    for found in contamination(view, None, &ContaminationRule::default(), 0)? {
        let is_complete = all.iter().any(|suite| suite.suite == found.suite && suite.complete);
        told.push(reported(found, is_complete));
    }
    told.sort_by_key(|suite| std::cmp::Reverse(suite.found.documents));
    let left_out = told.len().saturating_sub(SUITES) as u64;
    told.truncate(SUITES);
    Ok(ContaminationReport { suites: told, left_out })
}

fn reported(mut found: SuiteContamination, is_complete: bool) -> CardSuite {
    let sources_left_out = found.sources.len().saturating_sub(NAMED) as u64;
    found.sources.truncate(NAMED);
    found.worst.clear();
    CardSuite { found, sources_left_out, is_complete }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_code_are_no_languages_that_people_speak() {
        for name in ["Rust", "C++", "go", "toml", "Jupyter Notebook", "shell", "markdown", "cpp"] {
            assert!(is_programming_language(name), "{name}");
        }
        for name in ["en", "de-AT", "pl", "cs", "ts", "English", "zh_CN", "", "und"] {
            assert!(!is_programming_language(name), "{name}");
        }
    }
}
