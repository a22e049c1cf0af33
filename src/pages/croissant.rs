//! Describes a corpus in Croissant: JSON-LD for catalogues of data sets, with what is known for responsible use.

use super::{PageError, capital};
use crate::inspect::{CorpusReport, is_programming_language};
use crate::inspect::{FieldInfo, GroupStats, StandingCount};
use files::output::{OutputError, OutputFile};
use model::text_file::without_byte_order_mark;
use model::{IoError, show};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// The JSON-LD context of Croissant 1.1: the terms of its first appendix, those that its validator wants beside them,
/// and the prefix of provenance.
const CONTEXT: &str = include_str!("templates/croissant.json");

/// Properties that a store cannot know, each with its meaning.
const BLANKS: &[(&str, &str)] = &[
    ("license", "the address of the licence"),
    ("usageInfo", "the conditions of its use"),
    ("url", "the address of a description of the data set"),
    ("creator", "who made it"),
    ("publisher", "the publisher"),
    ("datePublished", "the date of publication"),
    ("citeAs", "the citation"),
    ("keywords", "what it is about"),
    ("rai:dataCollection", "how the data was collected"),
    ("rai:dataCollectionType", "by which types of collection"),
    ("rai:dataCollectionTimeframe", "in which period"),
    ("rai:dataLimitations", "what it should not be used for, and why"),
    ("rai:dataUseCases", "what it is for"),
    ("rai:dataSocialImpact", "the social impact of its use"),
    ("rai:personalSensitiveInformation", "which personal or sensitive data it contains"),
    ("rai:dataReleaseMaintenancePlan", "how it is kept up to date"),
];

/// A description, and what it leaves blank.
#[derive(Clone, Debug)]
pub struct CroissantDescription {
    /// The text of the file.
    pub text: String,
    /// The properties that only a person knows, each with its meaning.
    pub blanks: Vec<(&'static str, &'static str)>,
}

/// Describes a corpus. Members that `before`, an earlier description, has beyond that are kept: what a person has
/// filled in stays.
///
/// # Errors
/// [`PageError::Description`] when the earlier one is no JSON object.
pub fn croissant(
    report: &CorpusReport,
    before: Option<&str>,
) -> Result<CroissantDescription, PageError> {
    let mut all = known(report)?;
    for (name, value) in before.map(object).transpose()?.unwrap_or_default() {
        all.entry(name).or_insert(value);
    }
    // What a person says of the licence counts more than what records name.
    let named: Vec<&str> =
        report.provenance.licences.shown.iter().map(|it| it.licence.as_str()).collect();
    if !named.is_empty() {
        all.entry("license").or_insert_with(|| json!(named));
    }
    let blanks = BLANKS.iter().copied().filter(|(name, _)| !all.contains_key(*name)).collect();
    Ok(CroissantDescription { text: format!("{:#}\n", Value::Object(all)), blanks })
}

/// Fails before any work is done if a file is no description that could be continued.
///
/// # Errors
/// As [`write_croissant`].
pub fn check_croissant(file: &Path) -> Result<(), PageError> {
    earlier(file)?.as_deref().map(object).transpose()?;
    Ok(())
}

/// Writes the description of a corpus to a file, whole or not at all, and returns the blanks. What a person has filled
/// in there stays.
///
/// # Errors
/// [`PageError::Description`] when a file stands there that is no JSON object; [`PageError::Output`].
pub fn write_croissant(
    file: &Path,
    report: &CorpusReport,
) -> Result<Vec<(&'static str, &'static str)>, PageError> {
    let described = croissant(report, earlier(file)?.as_deref())?;
    OutputFile::judge(file)?.write(described.text.as_bytes())?;
    Ok(described.blanks)
}

/// The present content of a regular file; nothing if it does not exist.
pub(super) fn earlier(file: &Path) -> Result<Option<String>, PageError> {
    if !OutputFile::judge(file)?.is_taken() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(file).map_err(IoError::of("reading", file));
    let text = text.map_err(OutputError::from)?;
    Ok(Some(without_byte_order_mark(&text).to_owned()))
}

fn object(text: &str) -> Result<Map<String, Value>, PageError> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => {
            Err(PageError::Description("the existing description is not a JSON object".to_owned()))
        }
        Err(error) => {
            let why = format!("the existing description is not JSON: {error}");
            Err(PageError::Description(why))
        }
    }
}

fn known(report: &CorpusReport) -> Result<Map<String, Value>, PageError> {
    let (all, kept) = (&report.sizes.all, &report.sizes.kept);
    let languages = languages(report);
    let mut known = json!({
        "@context": object(CONTEXT)?,
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": report.name,
        "description": format!(
            "A text corpus of {} ({} of UTF-8 text) from {}, kept from {} ingested documents, by corpusdb {}.",
            number_of(kept.documents), show::count(kept.bytes, "byte", "bytes"),
            show::count(report.about.sources, "source", "sources"), show::number(all.documents), report.version
        ),
        "version": format!("{}.{}.0", report.about.generation, report.about.commit),
        "prov:wasDerivedFrom": origins(report),
        "prov:wasGeneratedBy": {
            "@type": "prov:Activity",
            "prov:label": format!("Deduplication by corpusdb {}: {}", report.version, report.about.policy),
        },
        "rai:dataPreprocessingProtocol": preprocessing(report),
        "rai:dataManipulationProtocol": manipulation(report),
        "rai:dataCollectionMissingData": format!(
            "Could not be read and rejected: {}.", show::count(report.about.rejects, "record", "records")
        ),
        "rai:dataCollectionRawData": sources(report).join(" "),
        "rai:dataBiases": biases(report),
        "distribution": [{
            "@type": "cr:FileSet",
            "@id": "files",
            "name": "files",
            "description": "The kept documents as `corpusdb export CORPUS --to DIRECTORY --format parquet` writes them.",
            // The registered type, and the one that loaders of Croissant know.
            "encodingFormat": ["application/vnd.apache.parquet", "application/x-parquet"],
            "includes": "*.parquet",
        }],
        "recordSet": [documents(report), source_sizes(report)],
    });
    let Value::Object(known) = &mut known else { return Ok(Map::new()) };
    if !languages.is_empty() {
        known.insert("inLanguage".to_owned(), json!(languages));
    }
    Ok(std::mem::take(known))
}

/// Tags of the languages of kept documents, most frequent first.
fn languages(report: &CorpusReport) -> Vec<String> {
    let counts = kept_by(report, |group| group.language.clone());
    let is_tag = |name: &String| {
        let first = name.split(['-', '_']).next().unwrap_or("");
        (2..=3).contains(&first.len())
            && name.len() <= 16
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    };
    counts
        .into_iter()
        .filter_map(|(name, _)| name.filter(|it| is_tag(it) && !is_programming_language(it)))
        .map(|it| it.replace('_', "-"))
        .collect()
}

/// Counts of kept documents by a name of their group, most first.
fn kept_by<T: Ord + Clone>(
    report: &CorpusReport,
    name: impl Fn(&GroupStats) -> T,
) -> Vec<(T, u64)> {
    let mut counts: BTreeMap<T, u64> = BTreeMap::new();
    for group in &report.sizes.groups.shown {
        *counts.entry(name(group)).or_default() += group.kept.documents;
    }
    let mut counts: Vec<(T, u64)> =
        counts.into_iter().filter(|(_, documents)| *documents > 0).collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    counts
}

fn preprocessing(report: &CorpusReport) -> Vec<String> {
    let mut lines =
        vec![format!("Deduplicated by corpusdb {}: {}.", report.version, report.about.policy)];
    for tokenizer in &report.about.tokenizers {
        lines.push(format!(
            "Tokenized by {} ({} ids, blake3 {}): {} tokens.",
            tokenizer.name, tokenizer.vocab_size, tokenizer.hash, tokenizer.tokens
        ));
    }
    lines
}

/// The sources that kept documents are from, as entities of PROV: names, since a store knows no addresses of them.
fn origins(report: &CorpusReport) -> Vec<Value> {
    let sources = kept_by(report, |group| group.source.clone()).into_iter();
    sources.map(|(name, _)| json!({ "@type": "prov:Entity", "prov:label": name })).collect()
}

fn manipulation(report: &CorpusReport) -> Vec<String> {
    let of = |it: &StandingCount| format!("{}: {}.", capital(it.standing), number_of(it.documents));
    report.about.standings.iter().map(of).collect()
}

fn sources(report: &CorpusReport) -> Vec<String> {
    let shown = kept_by(report, |group| group.source.clone());
    let mut lines: Vec<String> = shown
        .into_iter()
        .map(|(name, documents)| format!("{name}: {} kept.", number_of(documents)))
        .collect();
    if report.sizes.groups.left_out > 0 {
        let others = report.sizes.groups.others.as_ref().map_or(0, |it| it.kept.documents);
        lines.push(format!("Others: {} kept.", number_of(others)));
    }
    if let Some(domains) = report.domains.domains.filter(|domains| *domains > 0) {
        lines.push(format!(
            "With a web address as their key: {} kept, from {}.",
            number_of(report.domains.documents),
            show::count(domains, "domain", "domains")
        ));
    }
    lines
}

fn number_of(documents: u64) -> String {
    show::count(documents, "document", "documents")
}

/// The composition of the documents as measured, by which a trained model will be biased.
fn biases(report: &CorpusReport) -> Vec<String> {
    let kept = report.sizes.kept.documents;
    let share = |documents: u64| show::percent_of(documents, kept);
    let mut lines = Vec::new();
    for (language, documents) in kept_by(report, |group| group.language.clone()).into_iter().take(5)
    {
        let language = match language {
            None => "without a language".to_owned(),
            Some(name) if is_programming_language(&name) => format!("code or markup in {name}"),
            Some(name) => format!("in {name}"),
        };
        lines.push(format!("{} of the kept documents are {language}.", share(documents)));
    }
    for (source, documents) in kept_by(report, |group| group.source.clone()).into_iter().take(5) {
        lines.push(format!(
            "{} of the kept documents are of the source {source}.",
            share(documents)
        ));
    }
    for domain in report.domains.top.iter().take(5) {
        lines.push(format!(
            "{} of the kept documents are from {}.",
            share(domain.documents),
            domain.domain
        ));
    }
    lines
}

/// The documents as records of exported files.
fn documents(report: &CorpusReport) -> Value {
    let field = |name: &str, kind: &str, description: &str| {
        json!({
            "@type": "cr:Field",
            "@id": format!("documents/{name}"),
            "name": name,
            "description": description,
            "dataType": kind,
            "source": { "fileSet": { "@id": "files" }, "extract": { "column": name } },
        })
    };
    let mut fields = vec![
        field("key", "sc:Text", "The key of the document."),
        field("source", "sc:Text", "The source of the document."),
        field("text", "sc:Text", "Its text."),
    ];
    let is_taken = |name: &str| ["key", "source", "text", "meta"].contains(&name);
    for declared in report.about.fields.iter().filter(|declared| !is_taken(&declared.name)) {
        fields.push(field(&declared.name, kind(declared), "A declared field."));
    }
    fields.push(field("meta", "sc:Text", "All fields of the record, as one JSON object."));
    json!({
        "@type": "cr:RecordSet",
        "@id": "documents",
        "name": "documents",
        "description": "The kept documents.",
        "field": fields,
    })
}

fn kind(field: &FieldInfo) -> &'static str {
    match field.kind {
        "int" => "sc:Integer",
        "float" => "sc:Float",
        "bool" => "sc:Boolean",
        "timestamp" => "sc:Date",
        _ => "sc:Text",
    }
}

/// The sizes of groups, within the description.
fn source_sizes(report: &CorpusReport) -> Value {
    let fields = [
        ("source", "sc:Text", "The name of the source."),
        ("language", "sc:Text", "The language; empty for documents without one."),
        ("documents", "sc:Integer", "Documents ingested."),
        ("kept", "sc:Integer", "Documents kept."),
        ("kept_bytes", "sc:Integer", "UTF-8 bytes of the texts of the kept documents."),
    ];
    let fields = fields.map(|(name, kind, description)| {
        json!({
            "@type": "cr:Field", "@id": format!("sizes/{name}"), "name": name, "description": description,
            "dataType": kind,
        })
    });
    let row = |group: &GroupStats| {
        json!({
            "sizes/source": group.source,
            "sizes/language": group.language.as_deref().unwrap_or(""),
            "sizes/documents": group.all.documents,
            "sizes/kept": group.kept.documents,
            "sizes/kept_bytes": group.kept.bytes,
        })
    };
    json!({
        "@type": "cr:RecordSet",
        "@id": "sizes",
        "name": "sizes",
        "description": "Sizes by source and language, the largest hundred.",
        "field": fields,
        "data": report.sizes.groups.shown.iter().map(row).collect::<Vec<_>>(),
    })
}
