//! The report of an ingest, for people.

use crate::cli::print;
use corpusdb::IngestReport;
use corpusdb::ingest::{
    Alarm, AlarmPair, CrowdedPair, FieldMisfits, FileTally, LeftRole, SkippedContent,
};
use std::collections::BTreeMap;

/// The report for people.
pub(in crate::cli) fn show(report: &IngestReport, dry_run: bool) -> anyhow::Result<()> {
    let n = print::number;
    let rate = report.bytes as f64 / report.seconds.max(1e-9) / 1e6;
    let verb = if dry_run { "would add" } else { "added" };
    print::line(&format!(
        "{}: read {} records ({}) in {:.1} s, {rate:.1} MB/s",
        report.source,
        n(report.read),
        print::size(report.bytes),
        report.seconds
    ))?;
    print::line(&format!(
        "  {verb} {}: {} kept, {} exact and {} near duplicates, {} empty; {} updates of known keys",
        n(report.added),
        n(report.kept),
        n(report.exact_duplicates),
        n(report.near_duplicates),
        n(report.empty),
        n(report.updated)
    ))?;
    let unread = match report.unchanged_unread {
        0 => String::new(),
        unread => format!(" ({} not read again)", n(unread)),
    };
    let before = match report.rejected_before {
        0 => String::new(),
        before => format!(", {} rejected before", n(before)),
    };
    print::line(&format!(
        "  {} unchanged{unread}, {} rejected{before}",
        n(report.unchanged),
        n(report.rejected)
    ))?;
    left_files(&report.files)?;
    if report.rejects_settled > 0 {
        let settled = n(report.rejects_settled);
        print::line(&format!(
            "  {settled} earlier rejects settled: their files give them no more"
        ))?;
    }
    if report.purged > 0 {
        let purged = n(report.purged);
        print::line(&format!("  {purged} not stored: their texts or keys were purged"))?;
    }
    if report.not_finite > 0 {
        let numbers = n(report.not_finite);
        print::line(&format!(
            "  {numbers} numbers that JSON does not know (NaN, Infinity) are null"
        ))?;
    }
    if report.filtered > 0 {
        print::line(&format!("  {} passed over by --where", n(report.filtered)))?;
    }
    passed(report.passed)?;
    misfits(&report.misfits)?;
    for (name, tokens) in &report.tokens {
        print::line(&format!("  {} tokens of {name}", n(*tokens)))?;
        for (special, documents) in report.special_tokens_in_text.get(name).into_iter().flatten() {
            let documents = n(*documents);
            print::line(&format!("    {documents} documents spell {special}: encoded as text"))?;
        }
        if let Some(refused) = report.refused.get(name) {
            print::refused(name, refused)?;
        }
    }
    print::line(&format!("  {}", report.policy))?;
    for alarm in &report.alarms {
        print::talk(&alarm_words(alarm));
    }
    print::capped(report.dedup.capped)
}

/// What of web archives is no text.
fn passed(passed: SkippedContent) -> anyhow::Result<()> {
    let n = print::number;
    let SkippedContent { html, gone, other } = passed;
    if gone > 0 {
        print::line(&format!(
            "  {} answers say that their page is gone (404, 410): `corpusdb remove` takes out what is stored of one",
            n(gone)
        ))?;
    }
    if html + other > 0 {
        let (html, other) = (n(html), n(other));
        print::line(&format!(
            "  {html} HTML pages and {other} other contents of web archives passed over"
        ))?;
    }
    Ok(())
}

/// How many files were read, and by reason those that were not. What is damaged is an alarm.
fn left_files(files: &FileTally) -> anyhow::Result<()> {
    let n = print::number;
    if files.left == 0 {
        return Ok(());
    }
    let (seen, read, unchanged) = (n(files.seen), n(files.read), n(files.unchanged));
    print::line(&format!(
        "  {seen} files: {read} read, {unchanged} unchanged, {} left",
        n(files.left)
    ))?;
    let mut reasons: BTreeMap<(LeftRole, &str), Vec<&str>> = BTreeMap::new();
    for file in &files.left_files {
        reasons.entry((file.role, file.why.as_str())).or_default().push(&file.path);
    }
    for ((_, why), paths) in reasons {
        let more = paths.len().saturating_sub(NAMED);
        let named = paths.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        let more = if more > 0 { format!(" and {} more", n(more as u64)) } else { String::new() };
        print::line(&format!("    {named}{more}: {why}"))?;
    }
    Ok(())
}

/// Files that are named of each reason.
const NAMED: usize = 3;

/// Values that the types of their fields cannot hold, a line a field.
pub(in crate::cli) fn misfits(misfits: &BTreeMap<String, FieldMisfits>) -> anyhow::Result<()> {
    misfits.iter().try_for_each(|(field, misfits)| {
        let FieldMisfits { example, file, record, .. } = misfits;
        print::line(&format!(
            "  {}, e.g. {example} ({file}: record {record}, counted from 0)",
            misfit_words(field, misfits.kind, misfits.misfits, misfits.values)
        ))
    })
}

/// How many values of a field are of another type than `kind`.
pub(in crate::cli) fn misfit_words(field: &str, kind: &str, misfits: u64, values: u64) -> String {
    let what = match kind {
        "int" => "whole numbers",
        "float" => "numbers",
        "bool" => "true or false",
        "timestamp" => "timestamps",
        _ => "keywords",
    };
    let (misfits, values) = (print::number(misfits), print::number(values));
    format!("{field}: {misfits} of {values} values are not {what}")
}

/// That no new document has a value of a declared field.
fn absent_words(field: &str, member: &str, documents: u64, similar: Option<&str>) -> String {
    let documents = print::number(documents);
    let none = format!(
        "ALARM: none of {documents} new documents has a value of the declared field `{field}`"
    );
    match similar {
        Some(similar) => format!(
            "{none}; they have `{similar}`: `corpusdb field add CORPUS NAME:TYPE --from-meta {similar}` declares that, `ingest --map {member}={similar}` names it `{member}` as it comes"
        ),
        None => none,
    }
}

/// That documents have candidates which were not compared.
fn crowded_words(documents: u64, example: Option<&CrowdedPair>) -> String {
    let pair = example.map_or_else(String::new, |pair| {
        format!(
            "\n  for example documents {} and {}:\n    {:?}\n    {:?}",
            pair.document, pair.other, pair.text, pair.other_text
        )
    });
    format!(
        "ALARM: {} documents have candidates that were not compared: their crowd does not fit into memory; `corpusdb dedup settle` compares the rest{pair}",
        print::number(documents)
    )
}

/// What is to be said of files and what they hold.
fn file_alarm_words(alarm: &Alarm) -> String {
    let n = |files: &u64| print::number(*files);
    match alarm {
        Alarm::DamagedFiles { files, first } => format!(
            "ALARM: {} files could not be read to their end; what stood before the damage was read, and the same command reads them when they are mended; the first:\n  {first}",
            n(files)
        ),
        Alarm::ForeignFiles { files, first } => format!(
            "ALARM: {} files have no records of the kind that is read; the first:\n  {first}",
            n(files)
        ),
        Alarm::HtmlFiles { files, first } => format!(
            "ALARM: {} HTML files were taken as they are, with tags and scripts: extract their text to JSON lines first (trafilatura and resiliparse do), or say that you want them so with --format text; the first:\n  {first}",
            n(files)
        ),
        Alarm::TrailingBytes { files, first } => format!(
            "ALARM: of {} compressed files bytes were left that belong to no frame; the first:\n  {first}",
            n(files)
        ),
        Alarm::ColumnsLeft { columns } => format!(
            "ALARM: columns without a form in JSON were left: {} (`--drop-fields` says that they are not wanted)",
            columns.join(", ")
        ),
        Alarm::ObjectsLeft { objects, first } => format!(
            "ALARM: {} objects were left, since no request can ask for them by their names; the first:\n  {first}",
            n(objects)
        ),
        Alarm::NotText { files, first } => format!(
            "ALARM: {} files are no text and were not read (`corpusdb rejects` lists them); the first:\n  {first}",
            n(files)
        ),
        Alarm::Html { pages } => format!(
            "ALARM: {} HTML pages of web archives were passed over: extract their text to JSON lines first (trafilatura and resiliparse do), or give the WET files of the crawl",
            n(pages)
        ),
        _ => String::new(),
    }
}

fn alarm_words(alarm: &Alarm) -> String {
    let pair = |example: &Option<AlarmPair>| match example {
        None => String::new(),
        Some(pair) => format!(
            "\n  for example document {} (similarity {:.3} to {}):\n    removed: {:?}\n    witness: {:?}",
            pair.removed, pair.jaccard, pair.witness, pair.removed_text, pair.witness_text
        ),
    };
    let question = |mend: &Option<String>| {
        mend.as_ref().map_or_else(String::new, |mend| format!("\n  {mend}"))
    };
    match alarm {
        Alarm::RemovedShare { added, removed, example } => format!(
            "ALARM: {} of {} documents were removed as duplicates{}",
            print::number(*removed),
            print::number(*added),
            pair(example)
        ),
        Alarm::SourceRemoved { source, added, removed, example } => format!(
            "ALARM: {} of {} documents of the source {source} were removed as duplicates: of texts that share a template `corpusdb dedup explain CORPUS --threshold 0.95` says what a higher threshold keeps{}",
            print::number(*removed),
            print::number(*added),
            pair(example)
        ),
        Alarm::AllRejected { records, first, mend } => format!(
            "ALARM: nothing could be read: all {} records were rejected (`corpusdb rejects` lists them); the first:\n  {first}{}",
            print::number(*records),
            question(mend)
        ),
        Alarm::RejectedShare { records, rejected, alike, first, mend } => format!(
            "ALARM: {} of {} records were rejected (`corpusdb rejects` lists them), {} of them like the first:\n  {first}{}",
            print::number(*rejected),
            print::number(*records),
            print::number(*alike),
            question(mend)
        ),
        Alarm::MissingIds { records, missing, first, mend } => format!(
            "ALARM: {} of {} records have no id and were rejected (`corpusdb rejects` lists them); the first:\n  {first}{}",
            print::number(*missing),
            print::number(*records),
            question(mend)
        ),
        Alarm::MarkerAsText { tokenizer, marker, tokens } => format!(
            "ALARM: {tokenizer} reads `{marker}` of the chat template as {tokens} ordinary tokens"
        ),
        Alarm::QuotedArguments { conversations, first } => format!(
            "ALARM: in {} conversations the arguments of a tool call are a JSON text, which the chat template quoted a second time, as transformers does; make objects of them first, or take a template that writes texts as they are. The first: {first}",
            print::number(*conversations)
        ),
        Alarm::WholeChats { added, removed, example } => format!(
            "ALARM: {} of {} conversations were removed as similar by their whole text, system prompts included; a corpus made with `init --profile chat` compares what is said in the turns{}",
            print::number(*removed),
            print::number(*added),
            pair(example)
        ),
        Alarm::NotText { .. }
        | Alarm::Html { .. }
        | Alarm::DamagedFiles { .. }
        | Alarm::ForeignFiles { .. }
        | Alarm::HtmlFiles { .. }
        | Alarm::TrailingBytes { .. }
        | Alarm::ColumnsLeft { .. }
        | Alarm::ObjectsLeft { .. } => file_alarm_words(alarm),
        Alarm::UnknownFields { fields } => format!(
            "ALARM: no record has a field `{}`, which --where names: to it such a field is null",
            fields.join("` or `")
        ),
        Alarm::FieldAbsent { field, member, documents, similar } => {
            absent_words(field, member, *documents, similar.as_deref())
        }
        Alarm::FieldMisfits { field, misfits } => format!(
            "ALARM: {}, and are null: declare another type (`corpusdb field drop`, then `field add`) or mend the values",
            misfit_words(field, misfits.kind, misfits.misfits, misfits.values)
        ),
        Alarm::Cluster { witness, size, example } => format!(
            "ALARM: the cluster of document {witness} has {} documents{}",
            print::number(*size),
            pair(example)
        ),
        Alarm::Crowded { documents, example } => crowded_words(*documents, example.as_ref()),
    }
}
