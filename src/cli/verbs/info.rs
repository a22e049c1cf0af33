//! `corpusdb info`: prints what is in a corpus.

use super::contamination::EARLIER_ITEMS;
use crate::cli::columns::{eighths, policy_name, shown_path};
use crate::cli::output::Output;
use crate::cli::verb::{PythonMethod, Report, Verb, VerbCall};
use corpusdb::Corpus;
use corpusdb::inspect::{CorpusInfo, Forecast, SourceInfo, SuiteInfo};
use corpusdb::show::{count, number, percent_of, seconds, share, short, size};
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;

/// Sources that have a row of their own, and names in a line, at most.
const SOURCES: usize = 12;
const NAMES: usize = 8;
/// Columns of the longest bar.
const BAR: usize = 8;

/// Show counts, sources, tokenizers, fields and plans.
///
/// With `settings` also every setting of the dedup policy, and the bytes on disk by family. With `forecast` also what a
/// corpus of another size would need, if all of it were as what is stored: bytes of each family, memory, hours and the
/// number of corpora.
#[derive(clap::Args)]
pub(super) struct InfoArgs {
    /// Forecast a corpus with so many bytes of text in all, such as 300GB or 1TB.
    #[arg(long, value_name = "BYTES", value_parser = corpusdb::parse_bytes)]
    forecast: Option<u64>,
    /// Also show the policy's settings, all sources, families on disk, and details of what has a name.
    #[arg(long)]
    settings: bool,
}

/// What is in a corpus.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Info")]
pub(super) struct InfoAnswer {
    #[serde(flatten)]
    info: CorpusInfo,
    /// What a corpus of another size would need; absent unless it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    forecast: Option<Forecast>,
    #[serde(skip)]
    corpus: PathBuf,
    #[serde(skip)]
    has_settings: bool,
}

impl Verb for InfoArgs {
    const PATH: &str = "info";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Corpus.info", &["settings"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb info crawl",
        "corpusdb info crawl --settings",
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
            has_settings: self.settings,
        })
    }
}

impl Report for InfoAnswer {
    const TYPE: &'static str = "info";

    fn print(&self, out: &mut Output) {
        let info = &self.info;
        let corpus = self.corpus.to_string_lossy();
        print_documents(shown_path(&corpus), info, out);
        print_sources(info, if self.has_settings { usize::MAX } else { SOURCES }, out);
        print_summary(info, out);
        print_outdated(info, out);
        if self.has_settings {
            out.line(format!("\npolicy: {}", info.policy));
            out.settings(&info.settings);
            print_disk(info, out);
            print_named(info, out);
        }
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

/// Prints the line with the numbers that matter.
fn print_documents(corpus: &str, info: &CorpusInfo, out: &mut Output) {
    let mut parts = vec![match info.documents {
        0 => "no documents".to_owned(),
        all => format!("{} of {} documents kept", number(info.kept), number(all)),
    }];
    if let Some(first) = info.tokenizers.first().filter(|first| first.tokens > 0) {
        parts.push(format!("{} tokens of {}", short(first.tokens), first.name));
    }
    let disk: u64 = info.disk.iter().map(|family| family.bytes).sum();
    parts.extend((disk > 0).then(|| format!("{} on disk", size(disk))));
    out.line(format!("{corpus}   {}", parts.join("   ")));
}

/// Prints the largest sources, a row each: what is kept, and its share by tokens of the first tokenizer, or by text.
fn print_sources(info: &CorpusInfo, most: usize, out: &mut Output) {
    let first = info.tokenizers.first();
    let weight = |source: &SourceInfo| match first {
        Some(first) => source.tokens.get(&first.name).and_then(Value::as_u64).unwrap_or(0),
        None => source.kept_bytes,
    };
    let shown = |weight: u64| if first.is_some() { number(weight) } else { size(weight) };
    let mut sources: Vec<&SourceInfo> = info.sources.iter().collect();
    sources.sort_by_key(|source| std::cmp::Reverse(weight(source)));
    let largest = sources.first().map_or(0, |source| weight(source));
    let rows = sources.iter().take(most).map(|source| {
        let weight = weight(source);
        let mut row = vec![
            source.name.clone(),
            number(source.documents),
            percent_of(source.kept, source.documents),
            size(source.kept_bytes),
        ];
        row.extend(first.map(|_| number(weight)));
        row.push(format!("{:<BAR$}", eighths(share(weight, largest), BAR)));
        row.push(weight.checked_div(source.kept).map_or(String::new(), shown));
        row
    });
    if !sources.is_empty() {
        let mut head = vec!["source", "documents", "kept", "kept text"];
        head.extend(first.map(|_| "tokens"));
        head.extend(["", if first.is_some() { "tokens each" } else { "bytes each" }]);
        out.line("");
        out.table(&head, rows);
        let rest = sources.get(most..).unwrap_or_default();
        if !rest.is_empty() {
            let bytes = size(rest.iter().map(|source| source.kept_bytes).sum());
            out.line(format!("  {} more: {bytes} (--settings lists them)", rest.len()));
        }
        out.line("");
    }
}

/// Prints a line for what was removed and for each kind of thing that has a name.
fn print_summary(info: &CorpusInfo, out: &mut Output) {
    let named = |names: Vec<String>| {
        let more = names.len().checked_sub(NAMES).filter(|more| *more > 0);
        let more = more.map_or(String::new(), |more| format!(", {more} more"));
        names.into_iter().take(NAMES).collect::<Vec<_>>().join(", ") + &more
    };
    let removed = info.standings.iter().filter(|it| it.documents > 0 && it.standing != "kept");
    let removed = removed.map(|it| format!("{} {}", number(it.documents), it.standing)).collect();
    let tokenizers = info.tokenizers.iter().map(|it| {
        format!("{} ({} ids): {} tokens", it.name, number(it.vocab_size.into()), number(it.tokens))
    });
    let plans = info.epochs.iter().rev().map(|it| format!("{} on {}", it.number, it.snapshot));
    let suite = |it: &SuiteInfo| format!("{} ({})", it.name, count(it.items, "item", "items"));
    let rejects = match info.rejects {
        0 => String::new(),
        count => format!("{} (`corpusdb rejects` lists them)", number(count)),
    };
    let policy = policy_name(&info.policy_settings);
    for (what, words) in [
        ("removed", named(removed)),
        ("rejects", rejects),
        ("fields", named(info.fields.iter().map(|it| it.name.clone()).collect())),
        ("tokenizers", named(tokenizers.collect())),
        ("snapshots", named(info.snapshots.iter().map(|it| it.name.clone()).collect())),
        ("plans", named(plans.collect())),
        ("suites", named(info.suites.iter().map(suite).collect())),
        ("policy", format!("{policy}   commit {}   (--settings shows all)", info.commit)),
    ] {
        if !words.is_empty() {
            out.line(format!("{what:<10}  {words}"));
        }
    }
}

/// Prints the bytes on disk by family.
fn print_disk(info: &CorpusInfo, out: &mut Output) {
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
fn print_named(info: &CorpusInfo, out: &mut Output) {
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
    out.line(format!("format {}", corpusdb::store::format_version()));
    for field in &info.fields {
        out.line(format!("field {}: {}", field.name, field.kind));
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

/// Prints what an earlier release computed by other rules, and sources of several chat templates.
fn print_outdated(info: &CorpusInfo, out: &mut Output) {
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
}
