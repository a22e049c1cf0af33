//! What the verbs of snapshots answer, as text or JSON.

use crate::cli::print::{self, number, size};
use crate::cli::session::CommandSession;
use corpusdb::query::{
    ChangedDocuments, DocumentCounts, LossCounts, SnapshotChanges, SnapshotDetails, SnapshotDiff,
    SnapshotMoment,
};
use corpusdb::store::SnapshotRecord;
use serde::Serialize;
use std::collections::BTreeMap;

/// One snapshot on a line.
pub(super) fn record(record: &SnapshotRecord, session: &CommandSession) -> anyhow::Result<()> {
    if session.json {
        let mut told = serde_json::json!({
            "type": "snapshot", "name": record.name, "commit": record.commit,
            "documents": record.documents, "kept": record.kept,
        });
        if let (Some(told), true) = (told.as_object_mut(), record.purged > 0) {
            told.insert("purged".to_owned(), record.purged.into());
        }
        return print::json(&told);
    }
    let (kept, documents) = (number(record.kept), number(record.documents));
    let purged = match record.purged {
        0 => String::new(),
        purged => format!(", {} purged since", number(purged)),
    };
    print::line(&format!(
        "{}: commit {}, {kept} kept of {documents} documents{purged}",
        record.name, record.commit
    ))
}

/// What a snapshot holds.
pub(super) fn details(found: &SnapshotDetails, session: &CommandSession) -> anyhow::Result<()> {
    if session.json {
        return print::typed("snapshot_details", found);
    }
    let (kept, documents) = (number(found.kept), number(found.documents));
    print::line(&format!(
        "{}: commit {}, {kept} kept of {documents} documents, {}",
        found.name,
        found.commit,
        size(found.kept_bytes)
    ))?;
    if !found.sources.is_empty() {
        let rows = found.sources.iter().map(|source| row(&source.source, &source.kept));
        table("source", "kept", &found.tokens, &rows.collect::<Vec<_>>())?;
    }
    let plans: Vec<String> = found.plans.iter().map(u32::to_string).collect();
    print::line(&match plans.as_slice() {
        [] => "no stored plan draws from it".to_owned(),
        [plan] => format!("plan {plan} draws from it"),
        plans => format!("plans {} draw from it", plans.join(", ")),
    })
}

/// What changed, in all and by group.
pub(super) fn diff(found: &SnapshotDiff, session: &CommandSession) -> anyhow::Result<()> {
    if session.json {
        #[derive(Serialize)]
        struct All<'a> {
            earlier: &'a SnapshotMoment,
            later: &'a SnapshotMoment,
            by: &'a str,
            #[serde(flatten)]
            all: &'a SnapshotChanges,
        }
        let SnapshotDiff { earlier, later, by, all, groups, .. } = found;
        print::typed("snapshot_diff", &All { earlier, later, by, all })?;
        return groups.iter().try_for_each(|group| print::typed("snapshot_diff_group", group));
    }
    let moment = |of: &SnapshotMoment| format!("{} (commit {})", of.name, of.commit);
    print::line(&format!("{} to {}", moment(&found.earlier), moment(&found.later)))?;
    print::line(&format!(
        "kept: {}, without {} removed, with {} kept again and {} added: {}",
        number(found.earlier.kept),
        number(found.all.removed.documents),
        number(found.all.kept_again.documents),
        number(found.all.added.documents),
        number(found.later.kept)
    ))?;
    if found.groups.is_empty() {
        return print::line("no document changed");
    }
    changes("in all", &found.all)?;
    found
        .groups
        .iter()
        .try_for_each(|group| changes(&format!("{} {}", found.by, group.group), &group.changes))
}

/// Each document that changed.
pub(super) fn listed(
    documents: ChangedDocuments<'_>,
    session: &CommandSession,
) -> anyhow::Result<()> {
    let mut any = false;
    for document in documents {
        let document = document.map_err(corpusdb::Error::from)?;
        any = true;
        if session.json {
            print::typed("snapshot_diff_document", &document)?;
            continue;
        }
        let change = spelled(document.change);
        let what = match document.reason {
            Some(reason) => format!("{change}: {reason}"),
            None => change.to_owned(),
        };
        let other = match (document.witness, &document.witness_key, document.successor) {
            (Some(witness), Some(key), _) => format!("  <-  {witness} {key}"),
            (_, _, Some(successor)) => format!("  <-  {successor}"),
            _ => String::new(),
        };
        print::line(&format!(
            "{what:20}  {} {} ({}){other}",
            document.id, document.key, document.source
        ))?;
    }
    if !any && !session.json {
        print::talk("no document changed");
    }
    Ok(())
}

/// A snapshot that is gone.
pub(super) fn dropped(name: &str, plans: &[u32], session: &CommandSession) -> anyhow::Result<()> {
    if session.json {
        return print::json(
            &serde_json::json!({ "type": "snapshot_dropped", "name": name, "plans": plans }),
        );
    }
    print::line(&format!("snapshot {name} is forgotten"))?;
    if plans.is_empty() {
        return Ok(());
    }
    let plans: Vec<String> = plans.iter().map(u32::to_string).collect();
    print::line(&format!(
        "  plans that draw from it and keep their documents: {}",
        plans.join(", ")
    ))
}

/// The changes that there are of a group, one a row, with the reasons below.
fn changes(name: &str, of: &SnapshotChanges) -> anyhow::Result<()> {
    print::line(&format!("{name}:"))?;
    let lost = |change: &'static str, all: &[LossCounts]| {
        let of = all.iter().map(|loss| (format!("{change}: {}", loss.reason), loss.counts.clone()));
        of.collect::<Vec<_>>()
    };
    let mut all = vec![
        (spelled("added").to_owned(), of.added.clone()),
        (spelled("kept_again").to_owned(), of.kept_again.clone()),
    ];
    all.extend(lost(spelled("removed"), &of.removed_by));
    all.extend(lost(spelled("not_kept"), &of.not_kept_by));
    all.retain(|(_, counts)| counts.documents > 0);
    let rows: Vec<Vec<String>> = all.iter().map(|(name, counts)| row(name, counts)).collect();
    table("change", "documents", &of.added.tokens, &rows)
}

fn spelled(change: &'static str) -> &'static str {
    match change {
        "kept_again" => "kept again",
        "not_kept" => "not kept",
        other => other,
    }
}

fn row(name: &str, of: &DocumentCounts) -> Vec<String> {
    let tokens = of.tokens.values().map(|tokens| number(*tokens));
    [name.to_owned(), number(of.documents), size(of.bytes)].into_iter().chain(tokens).collect()
}

fn table(
    first: &str,
    documents: &str,
    tokenizers: &BTreeMap<String, u64>,
    rows: &[Vec<String>],
) -> anyhow::Result<()> {
    let tokens: Vec<String> = tokenizers.keys().map(|name| format!("tokens {name}")).collect();
    let mut head = vec![first, documents, "text"];
    head.extend(tokens.iter().map(String::as_str));
    print::table(&head, rows)
}
