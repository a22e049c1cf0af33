//! What an alarm of an ingest says to a person: what happened, with an example, and the way out.

use super::report::{Alarm, AlarmPair, CrowdedPair};
use model::show::{count, number};
use std::fmt;

/// How many values of a field are of another type than `kind`: the sentence of every report that counts them.
#[must_use]
pub fn misfit_words(field: &str, kind: &str, misfits: u64, values: u64) -> String {
    let what = match kind {
        "int" => "whole numbers",
        "float" => "numbers",
        "bool" => "true or false",
        "timestamp" => "timestamps",
        _ => "keywords",
    };
    let (misfits, values) = (number(misfits), number(values));
    format!("{field}: {misfits} of {values} values are not {what}")
}

/// Says that no new document has a value of a declared field.
fn absent_words(field: &str, member: &str, documents: u64, similar: Option<&str>) -> String {
    let documents = number(documents);
    let none =
        format!("none of {documents} new documents has a value of the declared field `{field}`");
    match similar {
        Some(similar) => format!(
            "{none}; they have `{similar}`: `corpusdb field add` with `from_meta=` {similar} declares it, and `map=` {member}={similar} renames it to {member} at ingest"
        ),
        None => none,
    }
}

/// Says that documents have candidates which were not compared.
fn crowded_words(documents: u64, example: Option<&CrowdedPair>) -> String {
    let pair = example.map_or_else(String::new, |pair| {
        format!(
            "\n  for example documents {} and {}:\n    {:?}\n    {:?}",
            pair.document, pair.other, pair.text, pair.other_text
        )
    });
    format!(
        "{} documents have candidates that were not compared, since these did not fit into memory; `corpusdb dedup settle` compares the rest{pair}",
        number(documents)
    )
}

/// What is to be said of files and what they hold.
fn file_alarm_words(alarm: &Alarm) -> String {
    let n = |files: &u64| number(*files);
    match alarm {
        Alarm::DamagedFiles { files, first } => format!(
            "{} files could not be read to their end; the records before the damage were read, and the same command reads the rest when the files are repaired; the first:\n  {first}",
            n(files)
        ),
        Alarm::ForeignFiles { files, first } => format!(
            "{} files have no records of the expected form; the first:\n  {first}",
            n(files)
        ),
        Alarm::FilesLeft { files, bytes, read, first } => format!(
            "{} files with {} bytes were skipped, beside {} bytes to read: by their names, or as texts beside records; give the paths of those that you want, or `format=` text where all are texts; the first:\n  {first}",
            n(files),
            n(bytes),
            n(read)
        ),
        Alarm::HtmlFiles { files, first } => format!(
            "{} HTML files were ingested with tags and scripts: extract their text to JSON lines first (trafilatura and resiliparse do), or confirm it with `format=` text; the first:\n  {first}",
            n(files)
        ),
        Alarm::TrailingBytes { files, first } => format!(
            "{} compressed files end with bytes outside any frame, which were skipped; the first:\n  {first}",
            n(files)
        ),
        Alarm::OddQuotes { files, first } => format!(
            "the quotes of {} may be meant otherwise: compare what was stored; the first:\n  {first}",
            count(*files, "table", "tables")
        ),
        Alarm::ColumnsLeft { columns } => format!(
            "columns that JSON cannot represent were skipped: {} (list them in `drop_fields=` to end this alarm)",
            columns.join(", ")
        ),
        Alarm::ObjectsLeft { objects, first } => format!(
            "{} objects were skipped, since no request can name them; the first:\n  {first}",
            n(objects)
        ),
        Alarm::NotText { files, first } => format!(
            "{} files are not text and were not read{LISTED}; the first:\n  {first}",
            n(files)
        ),
        Alarm::Html { pages } => format!(
            "{} HTML pages of web archives were skipped: extract their text to JSON lines first (trafilatura and resiliparse do), or give the WET files of the crawl",
            n(pages)
        ),
        _ => String::new(),
    }
}

/// Where to look at rejects: what stands behind their number, unless nothing was stored.
const LISTED: &str = " (`corpusdb rejects` lists them)";

impl Alarm {
    /// What is to be said of it when the ingest stored nothing: a dry run.
    #[must_use]
    pub fn words_of_dry_run(&self) -> String {
        alarm_words(self).replacen(LISTED, "", 1)
    }
}

impl fmt::Display for Alarm {
    /// What is to be said of it, in sentences; options and verbs stand in backticks by their names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&alarm_words(self))
    }
}

/// Says that records change nothing but fields of stored documents, and how to leave these fields out.
fn field_update_words(updated: u64, same_text: u64, fields: &[String]) -> String {
    let names = match fields {
        [] => String::new(),
        fields => format!(" ({})", fields.join(", ")),
    };
    format!(
        "{} of {} updates have the same text as before: only fields differ{names}; each of them is stored once more, as a new document; `drop_fields=` leaves such fields out",
        number(same_text),
        number(updated)
    )
}

/// A removed document beside its witness.
fn pair_words(example: Option<&AlarmPair>) -> String {
    example.map_or_else(String::new, |pair| {
        format!(
            "\n  for example document {} (similarity {:.3} to {}):\n    removed: {:?}\n    witness: {:?}",
            pair.removed, pair.jaccard, pair.witness, pair.removed_text, pair.witness_text
        )
    })
}

/// Says that very many documents of a source are near duplicates of one.
fn near_one_words(source: &str, of: (u64, u64), example: Option<&AlarmPair>) -> String {
    let (removed, added) = (number(of.0), number(of.1));
    format!(
        "{removed} of {added} new documents of the source {source} were removed as near duplicates of one document: if they share no more than a header or a template, strip that before `corpusdb ingest`, or use a higher threshold (`corpusdb dedup explain` with `threshold=0.95` shows what it keeps, `corpusdb dedup redo` with it keeps that){}",
        pair_words(example)
    )
}

/// Says that records without ids came into a source whose documents have ids.
fn forgotten_words(source: &str, added: u64, key: &str) -> String {
    format!(
        "{} documents came without ids into the source {source}, whose documents have ids (the last: {key}): what is stored under them is stored a second time, and nothing of it is superseded; is `id_field=` missing, or is this another source?",
        number(added)
    )
}

/// What is to be said of conversations.
fn chat_alarm_words(alarm: &Alarm) -> String {
    match alarm {
        Alarm::MarkerAsText { tokenizer, marker, tokens } => {
            format!(
                "{tokenizer} encodes `{marker}` of the chat template as {tokens} ordinary tokens"
            )
        }
        Alarm::QuotedArguments { conversations, first } => format!(
            "in {} the arguments of a tool call are JSON in a string, which the chat template quoted a second time, as transformers does; make them objects first, or use a template that writes strings unquoted. The first: {first}",
            count(*conversations, "conversation", "conversations")
        ),
        Alarm::WholeChats { added, removed, example } => format!(
            "{} of {} conversations were removed as similar by their whole text, with system prompts; a corpus with `profile=` chat compares the content of turns{}",
            number(*removed),
            number(*added),
            pair_words(example.as_ref())
        ),
        Alarm::LeftOut { member, conversations, of, first } => format!(
            "the template leaves `{member}` out of {} of {} conversations: the text has nothing of it. The first: {first}",
            number(*conversations),
            number(*of)
        ),
        Alarm::OtherTemplate { source, added, earlier } => format!(
            "{} documents came without ids into the source {source}, whose texts another chat template wrote before ({earlier}, or this one with other values): a record that came before is stored a second time, for nothing says that it is the same; give records ids (`id_field=`), or remove the documents of before",
            number(*added)
        ),
        Alarm::Untrained { conversations, first } => format!(
            "{} nothing that is trained on: no turn of the assistant with a weight above 0 that has a token of its own. The first: {first}",
            count(*conversations, "conversation has", "conversations have")
        ),
        _ => String::new(),
    }
}

fn alarm_words(alarm: &Alarm) -> String {
    let question = |mend: &Option<String>| {
        mend.as_ref().map_or_else(String::new, |mend| format!("\n  {mend}"))
    };
    match alarm {
        Alarm::RemovedShare { added, removed, example } => format!(
            "{} of {} documents were removed as duplicates{}",
            number(*removed),
            number(*added),
            pair_words(example.as_ref())
        ),
        Alarm::SourceRemoved { source, added, removed, example } => format!(
            "{} of {} documents of the source {source} were removed as duplicates: if its texts share a template, `corpusdb dedup explain` with `threshold=0.95` shows what a higher threshold keeps{}",
            number(*removed),
            number(*added),
            pair_words(example.as_ref())
        ),
        Alarm::NearOne { source, added, removed, example } => {
            near_one_words(source, (*removed, *added), example.as_ref())
        }
        Alarm::AllRejected { records, first, mend } => format!(
            "nothing could be read: {} rejected{LISTED}; the first:\n  {first}{}",
            match records {
                1 => "the one record was".to_owned(),
                records => format!("all {} records were", number(*records)),
            },
            question(mend)
        ),
        Alarm::RejectedShare { records, rejected, alike, first, mend } => format!(
            "{} of {} records were rejected{LISTED}, {} of them like the first:\n  {first}{}",
            number(*rejected),
            number(*records),
            number(*alike),
            question(mend)
        ),
        Alarm::MissingIds { records, missing, first, mend } => format!(
            "{} of {} records have no id and were rejected{LISTED}; the first:\n  {first}{}",
            number(*missing),
            number(*records),
            question(mend)
        ),
        Alarm::FieldUpdates { updated, same_text, fields } => {
            field_update_words(*updated, *same_text, fields)
        }
        Alarm::IdsForgotten { source, added, key } => forgotten_words(source, *added, key),
        Alarm::MarkerAsText { .. }
        | Alarm::QuotedArguments { .. }
        | Alarm::WholeChats { .. }
        | Alarm::LeftOut { .. }
        | Alarm::OtherTemplate { .. }
        | Alarm::Untrained { .. } => chat_alarm_words(alarm),
        Alarm::NotText { .. }
        | Alarm::Html { .. }
        | Alarm::DamagedFiles { .. }
        | Alarm::ForeignFiles { .. }
        | Alarm::FilesLeft { .. }
        | Alarm::HtmlFiles { .. }
        | Alarm::TrailingBytes { .. }
        | Alarm::OddQuotes { .. }
        | Alarm::ColumnsLeft { .. }
        | Alarm::ObjectsLeft { .. } => file_alarm_words(alarm),
        Alarm::UnknownFields { fields } => format!(
            "no record has a field `{}`, which `where=` uses: it is null there",
            fields.join("` or `")
        ),
        Alarm::FieldAbsent { field, member, documents, similar } => {
            absent_words(field, member, *documents, similar.as_deref())
        }
        Alarm::FieldMisfits { field, misfits } => format!(
            "{}, and are null: declare another type (`corpusdb field drop`, then `corpusdb field add`) or correct the values",
            misfit_words(field, misfits.kind, misfits.misfits, misfits.values)
        ),
        Alarm::Cluster { witness, size, example } => format!(
            "the cluster of document {witness} has {} documents{}",
            number(*size),
            pair_words(example.as_ref())
        ),
        Alarm::Crowded { documents, example } => crowded_words(*documents, example.as_ref()),
    }
}
