//! `corpusdb show`: everything known about one document.

use super::setup::CommandSession;
use super::{Outcome, find, print};
use corpusdb::curate::ShownTokens;
use corpusdb::query::Shown;
use corpusdb::{Corpus, DocId};
use std::path::PathBuf;

/// Show everything known about one document, including why it was removed
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb show crawl 42\n  corpusdb show crawl https://example.org/page\n  corpusdb show crawl --key 2024\n  corpusdb show chats 42 --tokens --tokenizer qwen\n\nExit code 1 when no document has the key."
)]
pub(super) struct Args {
    /// The corpus
    corpus: PathBuf,
    /// Its id or its key; all documents that had the key are shown, newest last. A document without a key
    /// has `PATH:NUMBER@ID` for one, with the records of the file counted from 0; `PATH:NUMBER` alone does
    /// where one document was read there
    #[arg(value_name = "ID|KEY", required_unless_present = "key", conflicts_with = "key")]
    document: Option<String>,
    /// Its key, also one made of digits
    #[arg(long)]
    key: Option<String>,
    /// Show its tokens instead: those trained on are green, on a terminal; elsewhere the others stand
    /// between ⟦ and ⟧
    #[arg(long)]
    tokens: bool,
    /// Of this tokenizer [default: the first]
    #[arg(long, value_name = "NAME", requires = "tokens")]
    tokenizer: Option<String>,
}

pub(super) fn run(args: Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    let corpus = session.read(&args.corpus)?;
    let found = find::documents(&corpus, args.document.as_deref(), args.key.as_deref())?;
    for id in &found {
        if args.tokens {
            let tokens = corpus.tokens_of(*id, args.tokenizer.as_deref())?;
            show_tokens(&tokens, session)?;
        } else {
            one(&corpus, *id, session)?;
        }
    }
    Ok(if found.is_empty() { Outcome::Bad } else { Outcome::Good })
}

fn one(corpus: &Corpus, id: DocId, session: &CommandSession) -> anyhow::Result<()> {
    let shown = corpus.show(id)?;
    if session.json {
        return print::typed("document", &shown);
    }
    print::line(&format!("document {}: {}", shown.id, shown.key))?;
    print::line(&format!(
        "  source {}, record {} (counted from 0) of {}, commit {}",
        shown.source,
        shown.number,
        shown.path.as_deref().unwrap_or("?"),
        shown.commit
    ))?;
    print::line(&format!(
        "  {} bytes, {} characters, {} words{}",
        shown.bytes,
        shown.chars,
        shown.words,
        tokens(&shown)
    ))?;
    print::line(&format!("  standing: {}{}", shown.standing, reason(&shown)))?;
    for blocker in &shown.blocked_by {
        let similarity =
            blocker.jaccard.map_or_else(String::new, |jaccard| format!(" {jaccard:.3}"));
        print::line(&format!(
            "  kept out by the removal of document {} ({}), by {}{similarity}",
            blocker.id, blocker.key, blocker.by
        ))?;
    }
    if let Some(cluster) = &shown.cluster {
        let members: Vec<String> = cluster.members.iter().map(u64::to_string).collect();
        print::line(&format!(
            "  cluster {} of {} documents: {}",
            cluster.id,
            cluster.size,
            members.join(", ")
        ))?;
    }
    if let Some(language) = &shown.language {
        print::line(&format!("  language: {language}"))?;
    }
    for (name, value) in &shown.fields {
        print::line(&format!("  {name}: {value}"))?;
    }
    if let Some(template) = &shown.chat_template {
        let hash = template.hash.get(..16).unwrap_or_default();
        print::line(&format!("  chat template: {hash}, told {}", template.variables))?;
    }
    if shown.metadata.get() != "{}" {
        print::line(&format!("  metadata: {}", shown.metadata.get()))?;
    }
    print::line("")?;
    print::line(shown.text.trim_end())
}

/// JSON, or a line of counts and the text in its tokens, cut by `|`.
fn show_tokens(shown: &ShownTokens, session: &CommandSession) -> anyhow::Result<()> {
    if session.json {
        return print::typed("tokens", shown);
    }
    let trained = shown.tokens.iter().filter(|token| token.trained).count();
    print::line(&format!(
        "document {}: {} tokens of {}, {} trained on",
        shown.document,
        print::number(shown.tokens.len() as u64),
        shown.tokenizer,
        print::number(trained as u64)
    ))?;
    let colour = print::has_colours();
    let (open, close) = if colour { ("", "") } else { ("⟦", "⟧") };
    let mut out = String::new();
    for run in shown.tokens.chunk_by(|a, b| a.trained == b.trained) {
        let is_trained = run.first().is_some_and(|token| token.trained);
        let texts: Vec<&str> = run.iter().map(|token| token.text.as_str()).collect();
        let text = texts.join("|");
        out.push_str(&match (is_trained, colour) {
            (true, true) => format!("\u{1b}[32m{text}\u{1b}[0m"),
            (true, false) => text,
            (false, _) => format!("{open}{text}{close}"),
        });
    }
    print::line(&out)
}

fn tokens(shown: &Shown) -> String {
    let counted = shown.tokens.iter().filter(|(_, count)| !count.is_null());
    counted.map(|(name, count)| format!(", {count} tokens of {name}")).collect()
}

fn reason(shown: &Shown) -> String {
    let Some(found) = &shown.found else {
        return String::new();
    };
    let of = format!(
        "document {} ({}, source {})",
        found.witness, found.witness_key, found.witness_source
    );
    match found.jaccard {
        Some(jaccard) if found.kind == "near" => {
            let share = |value: Option<f64>| value.map_or(0.0, |value| value * 100.0);
            format!(
                " duplicate of {of}: similarity {jaccard:.3}, it shares {:.0} % of its own shingles and {:.0} % of the other's",
                share(found.containment_removed),
                share(found.containment_witness)
            )
        }
        Some(_) => format!(" duplicate of {of}: equal bytes"),
        None => format!(" by {of}"),
    }
}
