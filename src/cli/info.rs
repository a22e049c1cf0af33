//! `corpusdb info`: what is in a corpus.

use super::setup::CommandSession;
use super::{Outcome, print};
use corpusdb::query::Info;
use std::path::PathBuf;

/// Show policy, counts, sources, tokenizers, fields, snapshots and epochs
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb info crawl\n  corpusdb info crawl --json | jq .sources"
)]
pub(super) struct Args {
    /// The corpus
    corpus: PathBuf,
}

pub(super) fn run(args: Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    let corpus = session.read(&args.corpus)?;
    let info = corpus.info()?;
    if session.json {
        print::typed("info", &info)?;
        return Ok(Outcome::Good);
    }
    print::line(&format!(
        "{}: commit {}, format {}",
        args.corpus.display(),
        info.commit,
        corpusdb::store::format_version()
    ))?;
    print::line(&format!("policy: {}", info.policy))?;
    print::settings(&info.settings)?;
    documents(&info)?;
    sources(&info)?;
    disk(&info)?;
    named(&info)?;
    Ok(Outcome::Good)
}

/// How many documents there are, by what became of them.
fn documents(info: &Info) -> anyhow::Result<()> {
    let n = print::number;
    let kept = format!("{} kept ({})", n(info.kept), print::size(info.kept_bytes));
    print::line(&format!(
        "documents: {} ({}), {kept}",
        n(info.documents),
        print::size(info.bytes)
    ))?;
    let others =
        info.standings.iter().filter(|count| count.documents > 0 && count.standing != "kept");
    let others: Vec<String> =
        others.map(|count| format!("{} {}", n(count.documents), count.standing)).collect();
    if !others.is_empty() {
        print::line(&format!("not kept: {}", others.join(", ")))?;
    }
    if info.rejects > 0 {
        print::line(&format!("rejected records: {} (see `corpusdb rejects`)", n(info.rejects)))?;
    }
    Ok(())
}

/// The sources, a row each.
fn sources(info: &Info) -> anyhow::Result<()> {
    let n = print::number;
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
                print::size(source.bytes),
                print::size(source.kept_bytes),
            ];
            row.extend(
                tokenizers
                    .iter()
                    .map(|name| n(source.tokens.get(*name).and_then(|v| v.as_u64()).unwrap_or(0))),
            );
            row
        });
        print::table(&head, &rows.collect::<Vec<_>>())?;
    }
    Ok(())
}

/// What is taken on disk, by family.
fn disk(info: &Info) -> anyhow::Result<()> {
    let disk: u64 = info.disk.iter().map(|family| family.bytes).sum();
    let mut families: Vec<_> = info.disk.iter().filter(|family| family.bytes * 50 > disk).collect();
    families.sort_by_key(|family| std::cmp::Reverse(family.bytes));
    let each: Vec<String> =
        families.iter().map(|f| format!("{} {}", f.family, print::size(f.bytes))).collect();
    if disk > 0 {
        let per_document = disk / info.documents.max(1);
        print::line(&format!(
            "on disk: {}, {per_document} bytes a document: {}",
            print::size(disk),
            each.join(", ")
        ))?;
    }
    Ok(())
}

/// What has a name or a number: tokenizers, fields, snapshots, plans.
fn named(info: &Info) -> anyhow::Result<()> {
    let n = print::number;
    for tokenizer in &info.tokenizers {
        print::line(&format!(
            "tokenizer {}: {} ids, {} tokens kept, {} ({})",
            tokenizer.name,
            tokenizer.vocab_size,
            n(tokenizer.tokens),
            tokenizer.backend,
            tokenizer.lineage
        ))?;
    }
    if !info.tokenizers.is_empty() {
        print::line(&format!("  {}", info.tokens_rule))?;
    }
    for field in &info.fields {
        print::line(&format!("field {}: {}", field.name, field.kind))?;
    }
    for snapshot in &info.snapshots {
        print::line(&format!(
            "snapshot {}: commit {}, {} kept",
            snapshot.name,
            snapshot.commit,
            n(snapshot.kept)
        ))?;
    }
    for epoch in &info.epochs {
        print::line(&format!(
            "plan {}: {} on snapshot {}",
            epoch.number,
            epoch.hash.get(..16).unwrap_or(&epoch.hash),
            epoch.snapshot
        ))?;
    }
    Ok(())
}
