//! `corpusdb info`: prints what is in a corpus.

use super::contamination::EARLIER_ITEMS;
use crate::cli::output::Output;
use crate::cli::verb::{PythonMethod, Report, Verb, VerbCall};
use corpusdb::Corpus;
use corpusdb::query::Info;
use corpusdb::show::{number, size};
use serde::Serialize;
use std::path::PathBuf;

/// Show policy, counts, sources, tokenizers, fields and plans.
#[derive(clap::Args)]
pub(super) struct InfoArgs {}

/// What is in a corpus.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Info")]
pub(super) struct InfoAnswer {
    #[serde(flatten)]
    info: Info,
    #[serde(skip)]
    corpus: PathBuf,
}

impl Verb for InfoArgs {
    const PATH: &str = "info";
    const PYTHON: PythonMethod = PythonMethod::Generated("Corpus.info");
    const EXAMPLES: &[&str] = &["corpusdb info crawl", "corpusdb info crawl --json | jq .sources"];
    type On = Corpus;
    type Report = InfoAnswer;

    fn run(self, corpus: &Corpus, _: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        Ok(InfoAnswer { info: corpus.info()?, corpus: corpus.path().to_path_buf() })
    }
}

impl Report for InfoAnswer {
    const TYPE: &'static str = "info";

    fn print(&self, out: &mut Output) {
        let info = &self.info;
        out.line(format!(
            "{}: commit {}, format {}",
            self.corpus.display(),
            info.commit,
            corpusdb::store::format_version()
        ));
        out.line(format!("policy: {}", info.policy));
        out.settings(&info.settings);
        print_documents(info, out);
        print_sources(info, out);
        print_disk(info, out);
        print_named(info, out);
    }
}

/// Prints the numbers of documents by standing.
fn print_documents(info: &Info, out: &mut Output) {
    let n = number;
    let kept = format!("{} kept ({})", n(info.kept), size(info.kept_bytes));
    out.line(format!("documents: {} ({}), {kept}", n(info.documents), size(info.bytes)));
    let others =
        info.standings.iter().filter(|count| count.documents > 0 && count.standing != "kept");
    let others: Vec<String> =
        others.map(|count| format!("{} {}", n(count.documents), count.standing)).collect();
    if !others.is_empty() {
        out.line(format!("not kept: {}", others.join(", ")));
    }
    if info.rejects > 0 {
        out.line(format!("rejected records: {} (see `corpusdb rejects`)", n(info.rejects)));
    }
}

/// Prints the sources, a row each.
fn print_sources(info: &Info, out: &mut Output) {
    let n = number;
    if !info.sources.is_empty() {
        let tokenizers: Vec<&str> =
            info.tokenizers.iter().map(|tokenizer| tokenizer.name.as_str()).collect();
        let heads: Vec<String> =
            tokenizers.iter().map(|name| format!("kept tokens {name}")).collect();
        let mut head = vec!["source", "documents", "kept", "text", "kept text"];
        head.extend(heads.iter().map(String::as_str));
        let rows = info.sources.iter().map(|source| {
            let mut row = vec![
                source.name.clone(),
                n(source.documents),
                n(source.kept),
                size(source.bytes),
                size(source.kept_bytes),
            ];
            row.extend(
                tokenizers
                    .iter()
                    .map(|name| n(source.tokens.get(*name).and_then(|v| v.as_u64()).unwrap_or(0))),
            );
            row
        });
        out.table(&head, rows);
    }
}

/// Prints the bytes on disk by family.
fn print_disk(info: &Info, out: &mut Output) {
    let disk: u64 = info.disk.iter().map(|family| family.bytes).sum();
    let mut families: Vec<_> = info.disk.iter().filter(|family| family.bytes * 50 > disk).collect();
    families.sort_by_key(|family| std::cmp::Reverse(family.bytes));
    let each: Vec<String> =
        families.iter().map(|f| format!("{} {}", f.family, size(f.bytes))).collect();
    if disk > 0 {
        let per_document = disk / info.documents.max(1);
        out.line(format!(
            "tables on disk: {}, {} bytes a document: {}",
            size(disk),
            number(per_document),
            each.join(", ")
        ));
    }
}

/// Prints what has a name or a number: tokenizers, fields, snapshots, plans.
fn print_named(info: &Info, out: &mut Output) {
    let n = number;
    for tokenizer in &info.tokenizers {
        out.line(format!(
            "tokenizer {}: {} ids, {} tokens kept, {} ({})",
            tokenizer.name,
            tokenizer.vocab_size,
            n(tokenizer.tokens),
            tokenizer.backend,
            tokenizer.lineage
        ));
    }
    if !info.tokenizers.is_empty() {
        out.line(format!("  {}", info.tokens_rule));
    }
    for field in &info.fields {
        out.line(format!("field {}: {}", field.name, field.kind));
    }
    if !info.outdated_signals.is_empty() {
        let names = info.outdated_signals.join(" ");
        out.line(format!(
            "signals by the rules of an earlier release: {names} (`corpusdb signals add` computes them again)"
        ));
    }
    if !info.outdated_fields.is_empty() {
        let names = info.outdated_fields.join(" ");
        out.line(format!(
            "fields indexed by the rules of an earlier release: {names} (`corpusdb field drop` and `field add` index them again)"
        ));
    }
    for (source, templates) in &info.mixed_templates {
        out.line(format!(
            "source {source}: texts of {templates} chat templates (`corpusdb show --json` has that of a document)"
        ));
    }
    if !info.outdated_suites.is_empty() {
        out.line(format!("suites {}: {EARLIER_ITEMS}", info.outdated_suites.join(", ")));
    }
    for snapshot in &info.snapshots {
        out.line(format!(
            "snapshot {}: commit {}, {} kept",
            snapshot.name,
            snapshot.commit,
            n(snapshot.kept)
        ));
    }
    for epoch in &info.epochs {
        out.line(format!(
            "plan {}: {} on snapshot {}",
            epoch.number,
            epoch.hash.get(..16).unwrap_or(&epoch.hash),
            epoch.snapshot
        ));
    }
}
