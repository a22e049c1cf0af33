//! What the epoch verbs answer, as text or JSON.

use crate::cli::session::CommandSession;
use crate::cli::{Outcome, print};
use corpusdb::epoch::{Corpora, EpochRow, Explanation, Manifest, Plan, Verification};
use corpusdb::store::EpochRecord;
use std::path::Path;

/// A stored plan; `undecided` documents are on neither side of its holdout.
pub(super) fn plan(
    number: u32,
    plan: &Plan,
    undecided: Option<u64>,
    session: &CommandSession,
) -> anyhow::Result<()> {
    let hash: String = plan.hash().iter().map(|byte| format!("{byte:02x}")).collect();
    if session.json {
        let plan: serde_json::Value = serde_json::from_str(&plan.to_json())?;
        let mut answer =
            serde_json::json!({ "type": "plan", "number": number, "hash": hash, "plan": plan });
        if let (Some(undecided), Some(answer)) = (undecided, answer.as_object_mut()) {
            answer.insert("undecided_documents".to_owned(), undecided.into());
        }
        return print::json(&answer);
    }
    print::line(&format!(
        "plan {number}: {} {} an epoch from {} sources, snapshot {}, hash {hash}",
        print::number(plan.budget),
        plan.recipe.mix.unit.name(),
        plan.sources.len(),
        plan.snapshot.name
    ))?;
    match undecided {
        Some(undecided) => {
            print::line(&format!("holdout: {undecided} documents are on neither side"))
        }
        None => Ok(()),
    }
}

/// Marks stored along the first `epochs` epochs of a plan, of which `marked` had none.
pub(super) fn marked(
    number: u32,
    epochs: u64,
    marked: u64,
    session: &CommandSession,
) -> anyhow::Result<()> {
    if session.json {
        return print::json(&serde_json::json!({
            "type": "plan_marked", "number": number, "epochs": epochs, "marked": marked,
        }));
    }
    let epochs = print::number(epochs);
    print::line(&format!(
        "plan {number}: the first {epochs} epochs open without a walk; marks of {marked} are new"
    ))
}

pub(super) fn explanation(
    explanation: &Explanation,
    session: &CommandSession,
) -> anyhow::Result<()> {
    if session.json {
        return print::typed("explanation", explanation);
    }
    print::line(explanation.to_string().trim_end())?;
    print::line(&format!("\nevery setting:\n{}", explanation.recipe.trim_end()))
}

pub(super) fn manifest(
    manifest: &Manifest,
    out: &Path,
    seconds: f64,
    session: &CommandSession,
) -> anyhow::Result<()> {
    let bytes: u64 = manifest.files.iter().map(|file| file.bytes).sum();
    let rate = bytes as f64 / seconds.max(1e-9) / 1e6;
    if session.json {
        return print::json(&serde_json::json!({
            "type": "build", "out": out, "seconds": seconds, "bytes": bytes, "mb_per_second": rate, "manifest": manifest,
        }));
    }
    print::line(&format!(
        "{}: {} rows, {} tokens, {:.3} % of them full, {} files, {} in {seconds:.1} s ({rate:.0} MB/s)",
        out.display(),
        print::number(manifest.totals.rows),
        print::number(manifest.totals.tokens),
        manifest.totals.efficiency * 100.0,
        manifest.files.len(),
        print::size(bytes)
    ))?;
    let rows = manifest.sources.iter().map(|source| {
        let percent = |share: f64| format!("{:.3} %", share * 100.0);
        vec![
            source.name.clone(),
            print::number(source.documents),
            print::number(source.rows),
            print::number(source.tokens),
            percent(source.asked_share),
            percent(source.achieved_share),
            print::number(source.unused_tokens),
        ]
    });
    print::table(
        &["source", "documents", "rows", "tokens", "asked", "achieved", "unused"],
        &rows.collect::<Vec<_>>(),
    )
}

pub(super) fn verification(
    verification: &Verification,
    session: &CommandSession,
) -> anyhow::Result<Outcome> {
    let passed = verification.passed();
    if session.json {
        print::typed("verification", verification)?;
    } else {
        for check in &verification.checks {
            print::line(&format!(
                "{:6} {:14} {}",
                if check.passed { "ok" } else { "FAILED" },
                check.name,
                check.detail
            ))?;
        }
        print::line(if passed { "verified" } else { "verification failed" })?;
    }
    Ok(if passed { Outcome::Good } else { Outcome::Bad })
}

/// The stored plans.
pub(super) fn list(epochs: &[EpochRecord], session: &CommandSession) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for record in epochs {
        let plan: serde_json::Value = serde_json::from_str(&record.plan)?;
        let field = |path: &str| plan.pointer(path).cloned().unwrap_or_default();
        let hash: String = record.hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let parent = field("/parent/plan");
        if session.json {
            print::json(&serde_json::json!({
                "type": "plan", "number": record.number, "hash": hash, "snapshot": record.snapshot,
                "budget": field("/budget"), "capacity": field("/capacity"), "parent": parent,
                "pack": field("/recipe/pack/kind"), "order": field("/recipe/order/kind"),
            }))?;
            continue;
        }
        let word = |value: serde_json::Value| value.as_str().unwrap_or("-").to_owned();
        let sources = field("/sources").as_array().map_or(0, Vec::len);
        rows.push(vec![
            record.number.to_string(),
            hash.get(..12).unwrap_or_default().to_owned(),
            record.snapshot.clone(),
            sources.to_string(),
            field("/budget").to_string(),
            field("/capacity").to_string(),
            word(field("/recipe/pack/kind")),
            word(field("/recipe/order/kind")),
            word(parent).chars().take(12).collect(),
        ]);
    }
    if session.json {
        return Ok(());
    }
    print::table(
        &["plan", "hash", "snapshot", "sources", "budget", "row", "pack", "order", "parent"],
        &rows,
    )
}

/// Prints a row with the keys of its documents, and the corpora that these are in where there are several.
pub(super) fn row(
    row: &EpochRow,
    keys: &[String],
    is_sharded: bool,
    session: &CommandSession,
) -> anyhow::Result<()> {
    let spans = row.segments().iter().zip(&row.shape().spans).zip(keys);
    if session.json {
        let segments: Vec<serde_json::Value> = spans
            .map(|((segment, span), key)| {
                let mut told = serde_json::json!({
                    "document": segment.document.0, "key": key, "offset": segment.offset,
                    "length": segment.length, "document_length": segment.document_length, "start": span.start,
                });
                if let Some(fields) = told.as_object_mut().filter(|_| is_sharded) {
                    fields.insert("shard".to_owned(), Corpora::place(segment.document).0.into());
                }
                told
            })
            .collect();
        return print::json(&serde_json::json!({
            "type": "row", "row": row.number(), "batch": row.batch(), "source": row.source(),
            "width": row.shape().width, "segments": segments, "input_ids": row.ids(),
        }));
    }
    let real: u32 = row.segments().iter().map(|segment| segment.length).sum();
    let batch = row.batch().map_or(String::new(), |batch| format!(", batch {batch}"));
    print::line(&format!(
        "row {}{batch}: source {}, {real} real tokens of {}",
        row.number(),
        row.source().unwrap_or("none, pads only"),
        row.shape().width
    ))?;
    let lines: Vec<Vec<String>> = spans
        .map(|((segment, span), key)| {
            let (shard, document) = Corpora::place(segment.document);
            let shard = is_sharded.then(|| shard.to_string());
            let rest = [span.start, segment.length, segment.offset, segment.document_length];
            let mut line = vec![key.clone()];
            line.extend(shard);
            line.push(document.to_string());
            line.extend(rest.map(|number| number.to_string()));
            line
        })
        .collect();
    let shard = is_sharded.then_some("shard");
    let columns: Vec<&str> = ["key"]
        .into_iter()
        .chain(shard)
        .chain(["document", "at", "tokens", "from", "of"])
        .collect();
    print::table(&columns, &lines)
}
