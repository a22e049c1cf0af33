//! `corpusdb info`: prints what is in a corpus.

use super::contamination::EARLIER_ITEMS;
use crate::cli::output::Output;
use crate::cli::verb::{PythonMethod, Report, Verb, VerbCall};
use corpusdb::Corpus;
use corpusdb::query::{Forecast, Info};
use corpusdb::show::{number, seconds, size};
use serde::Serialize;
use std::path::PathBuf;

/// Show policy, counts, sources, tokenizers, fields and plans.
///
/// With `forecast` also what a corpus of another size would need, if all of it were as what is stored: bytes of each
/// family, memory, hours and the number of corpora.
#[derive(clap::Args)]
pub(super) struct InfoArgs {
    /// Forecast a corpus with so many bytes of text in all, such as 300GB or 1TB.
    #[arg(long, value_name = "BYTES", value_parser = corpusdb::parse_bytes)]
    forecast: Option<u64>,
}

/// What is in a corpus.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Info")]
pub(super) struct InfoAnswer {
    #[serde(flatten)]
    info: Info,
    /// What a corpus of another size would need; absent unless it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    forecast: Option<Forecast>,
    #[serde(skip)]
    corpus: PathBuf,
}

impl Verb for InfoArgs {
    const PATH: &str = "info";
    const PYTHON: PythonMethod = PythonMethod::Generated("Corpus.info");
    const EXAMPLES: &[&str] = &[
        "corpusdb info crawl",
        "corpusdb info crawl --json | jq .sources",
        "corpusdb info crawl --forecast 1TB",
    ];
    type On = Corpus;
    type Report = InfoAnswer;

    fn run(self, corpus: &Corpus, _: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        Ok(InfoAnswer {
            info: corpus.info()?,
            forecast: self.forecast.map(|bytes| corpus.forecast(bytes)).transpose()?,
            corpus: corpus.path().to_path_buf(),
        })
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
        if let Some(forecast) = &self.forecast {
            print_forecast(forecast, out);
        }
    }
}

/// Prints what another size would need.
pub(super) fn print_forecast(found: &Forecast, out: &mut Output) {
    let n = number;
    out.line(format!(
        "forecast for {} of text: {} documents, {} kept, by {}",
        size(found.bytes),
        n(found.documents),
        n(found.kept),
        found.by
    ));
    for (tokenizer, tokens) in &found.tokens {
        out.line(format!("  kept tokens {tokenizer}: {}", n(*tokens)));
    }
    let mut families: Vec<_> =
        found.disk.iter().filter(|family| family.bytes / 2 > found.disk_bytes / 1000).collect();
    families.sort_by_key(|family| std::cmp::Reverse(family.bytes));
    out.line(format!("disk: {}; families with at least 0.2 % of it:", size(found.disk_bytes)));
    let each = |bytes: u64| n(bytes / found.documents.max(1));
    let rows = families.iter().map(|family| {
        let grows = family.grows.name().to_owned();
        vec![family.family.to_owned(), size(family.bytes), each(family.bytes), grows]
    });
    out.table(&["family", "bytes", "a document", "grows with"], rows);
    let rows = found.memory.iter().map(|need| {
        let otherwise = if need.fits() { "-" } else { need.otherwise };
        let least = need.memory.map_or("none suffices".to_owned(), size);
        vec![need.what.to_owned(), size(need.bytes), size(need.has), least, otherwise.to_owned()]
    });
    out.table(&["memory", "needs", "has now", "least --memory", "since it does not fit"], rows);
    out.line(format!("time of {}:", found.hours_are));
    let rows = found.hours.iter().map(|on| {
        let limit = if on.of_one_thread { "the thread that decides and commits" } else { "cores" };
        vec![n(u64::from(on.cores)), seconds(on.hours * 3600.0), limit.to_owned()]
    });
    out.table(&["cores", "time", "limited by"], rows);
    if found.shards > 1 {
        out.line(format!(
            "cut it into {} corpora: one gives the filter over its band index no more, whatever --memory is",
            n(found.shards)
        ));
    }
    out.line(
        "assumed: the same share of duplicates; more text of one kind has more, and takes less",
    );
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
