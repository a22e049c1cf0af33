//! `corpusdb field`: adds, sets, computes, lists and drops declared fields.

use super::ingest::{print_misfits, print_name_rows};
use crate::cli::output::{ALARM, Output};
use crate::cli::session::stores;
use crate::cli::verb::{
    DryRun, ExitStatus, ListReport, ListRow, Manners, PythonMethod, Report, Verb, VerbCall,
};
use corpusdb::curate::{ComputedField, FieldReport, NewField, PerplexityField, PerplexityModel};
use corpusdb::ingest::{JoinBy, JoinColumn, JoinOptions, JoinReport, ReadOptions, misfit_words};
use corpusdb::inspect::{FieldSummary, MisfitExample};
use corpusdb::show::number;
use corpusdb::store::EpochRecord;
use corpusdb::{Corpus, CorpusWriter, FieldKind, NamedKind, parse_bytes};
use serde::Serialize;

/// Declare a field of a corpus with documents, and index its values from their metadata.
///
/// After the last commit it is a column in SQL, in conditions and in recipes, and every ingest indexes it. Until then
/// no query sees it; after an interrupt run the same command again. Types: keyword (text, indexed by exact value), int,
/// float, bool, timestamp (a date as in RFC 3339, mail or HTTP, digits such as 20240331, or a number since 1970 in
/// seconds, milli-, micro- or nanoseconds, distinguished by its size; stored in microseconds, UTC). A value of another type stays in the metadata;
/// the column is null, and it is counted.
#[derive(clap::Args)]
pub(super) struct FieldAddArgs {
    /// The field: NAME:keyword, NAME:int, NAME:float, NAME:bool or NAME:timestamp.
    #[arg(value_name = "NAME:TYPE")]
    field: NamedKind,
    /// Path of its values in the metadata. By default its name.
    ///
    /// A path is one member, or nested members separated by dots. A member whose name is the whole path comes first.
    /// With this option the field language, which every corpus has, takes its values from another member.
    #[arg(long, value_name = "PATH")]
    from_meta: Option<String>,
    /// Documents per commit.
    #[arg(long, value_name = "N", default_value_t = NewField::BATCH, value_parser = clap::value_parser!(u64).range(1..))]
    batch_rows: u64,
}

/// A field that was added.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub(super) struct FieldAdded(FieldReport);

impl Verb for FieldAddArgs {
    const PATH: &str = "field add";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Writer.fields.add");
    const EXAMPLES: &[&str] = &[
        "corpusdb field add crawl quality:float",
        "corpusdb field add crawl score:float --from-meta scores.edu",
        "corpusdb field add crawl crawled:timestamp --from-meta date",
        "corpusdb field add crawl language:keyword --from-meta lang",
    ];
    const DRY_RUN: DryRun = DryRun::Copy;
    type On = CorpusWriter;
    type Report = FieldAdded;

    fn run(self, writer: &mut CorpusWriter, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let NamedKind(name, kind) = self.field;
        let field = NewField { name, kind, path: self.from_meta, batch: self.batch_rows };
        Ok(FieldAdded(writer.add_field(&field, &call.context)?))
    }
}

impl Report for FieldAdded {
    const TYPE: &'static str = "field_add";

    fn print(&self, out: &mut Output) {
        let Self(report) = self;
        if report.commits == 0 {
            return out.line(format!("{} is declared already, as {}", report.field, report.kind));
        }
        print_field(report, out);
    }
}

/// Store the values of a SQL expression over the table documents, or perplexities, as a field, document by document.
///
/// The field is declared if it is new. The values are stored in the metadata under its name, as by `field set`.
/// Documents ingested later have no value until it is computed again. The expression sees one document: aggregates,
/// windows, subqueries and functions whose value changes from call to call are refused. After an interrupt run the same
/// command again.
///
/// With `perplexity` the values are those of an n-gram model (interpolated modified Kneser-Ney) of the ids that a
/// tokenizer has stored for the kept documents, one model for each source. A document is one sentence, with its end,
/// and is scored by the model that has counted it. A document without tokens has no value.
#[derive(clap::Args)]
pub(super) struct FieldComputeArgs {
    /// The field.
    name: String,
    /// A SQL expression over the columns of the table documents.
    #[arg(value_name = "SQL", required_unless_present = "perplexity")]
    expression: Option<String>,
    /// Compute perplexities by the stored ids of this tokenizer.
    #[arg(long, value_name = "TOKENIZER", conflicts_with_all = ["expression", "type"])]
    perplexity: Option<String>,
    /// The order of the n-gram model, from 2 to 6: 3 predicts a token by the two before it. By default 3.
    #[arg(long, value_name = "N", requires = "perplexity")]
    order: Option<usize>,
    /// Make one model over the documents of all sources.
    #[arg(long, requires = "perplexity")]
    together: bool,
    /// The type of the field. By default the declared one, or that of the expression.
    #[arg(long = "type", id = "type", value_name = "TYPE")]
    kind: Option<FieldKind>,
    /// Documents per commit.
    #[arg(long, value_name = "N", default_value_t = NewField::BATCH, value_parser = clap::value_parser!(u64).range(1..))]
    batch_rows: u64,
}

/// A field that was computed.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub(super) struct FieldComputed(FieldReport);

impl Verb for FieldComputeArgs {
    const PATH: &str = "field compute";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Writer.fields.compute");
    const EXAMPLES: &[&str] = &[
        "corpusdb field compute crawl density '1.0 * tokens / chars'",
        "corpusdb field compute crawl site \"split_part(key, '/', 3)\"",
        "corpusdb field compute crawl long 'chars > 10000' --type bool",
        "corpusdb field compute crawl perplexity --perplexity gpt2 --order 3",
    ];
    const DRY_RUN: DryRun = DryRun::Copy;
    type On = CorpusWriter;
    type Report = FieldComputed;

    fn run(self, writer: &mut CorpusWriter, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let Self { name, order, together, batch_rows: batch, .. } = self;
        Ok(FieldComputed(match (self.perplexity, self.expression) {
            (Some(tokenizer), _) => {
                let order = order.unwrap_or(PerplexityField::ORDER);
                let field = PerplexityField { name, tokenizer, order, together, batch };
                writer.compute_perplexity(&field, &call.context)?
            }
            // An option that is given in vain beside what excludes the one it needs is none to clap.
            (None, Some(_)) if order.is_some() || together => {
                anyhow::bail!("`order=` and `together=` are of `perplexity=`, which is not given")
            }
            (None, Some(expression)) => {
                let field = ComputedField { name, expression, kind: self.kind, batch };
                writer.compute_field(&field, &call.context)?
            }
            (None, None) => anyhow::bail!("give a SQL expression, or `perplexity=`"),
        }))
    }
}

impl Report for FieldComputed {
    const TYPE: &'static str = "field_compute";

    fn print(&self, out: &mut Output) {
        print_field(&self.0, out);
        for model in &self.0.models {
            print_model(model, out);
        }
    }
}

/// Prints what an n-gram model counted, and the perplexities of its documents.
fn print_model(model: &PerplexityModel, out: &mut Output) {
    let whose = model.source.as_deref().unwrap_or("all sources");
    let (documents, tokens) = (number(model.documents), number(model.tokens));
    let vocabulary = number(model.vocabulary);
    out.line(format!(
        "  {whose}: {documents} documents, {tokens} tokens, {vocabulary} of them distinct"
    ));
    for ((order, ngrams), [one, two, more]) in (1..).zip(&model.ngrams).zip(&model.discounts) {
        let fallback = model.fallback_orders.contains(&order);
        let fallback = if fallback { "; too few to estimate them" } else { "" };
        out.line(format!(
            "    {order}-grams: {}, discounts {one:.3}, {two:.3}, {more:.3}{fallback}",
            number(*ngrams)
        ));
    }
    let PerplexityModel { p5, p25, p50, p75, p95, .. } = model;
    out.line(format!(
        "    perplexity: 5 % of the documents up to {p5:.1}, 25 % {p25:.1}, 50 % {p50:.1}, 75 % {p75:.1}, 95 % {p95:.1}"
    ));
}

fn print_field(report: &FieldReport, out: &mut Output) {
    out.line(format!(
        "{} ({}): {} of {} documents have a value",
        report.field,
        report.kind,
        number(report.values),
        number(report.documents)
    ));
    if report.ill_typed > 0 {
        out.line(format!(
            "  {} documents have a value of another type, which counts as null",
            number(report.ill_typed)
        ));
    }
    print_decided_again(report.kept_again, report.no_longer_kept, out);
}

/// Prints how many documents changed their standing because the keep order goes by the field.
fn print_decided_again(kept_again: u64, no_longer_kept: u64, out: &mut Output) {
    if kept_again + no_longer_kept > 0 {
        let (gone, back) = (number(no_longer_kept), number(kept_again));
        out.line(format!(
            "  the keep order changed: {gone} documents are no longer kept, {back} are kept again"
        ));
    }
}

/// Set declared fields of stored documents from a file of ids or keys with values.
///
/// Columns and indexes are updated; a null in JSON removes a value. A key means its newest document. If a document gets
/// several values for a field, the last one counts. Values of another type (also NaN and infinity) are skipped and
/// counted, and the document keeps its old value. Memory holds the records of one commit; after an interrupt run the
/// same command again. A record ingested again without change keeps the values; new content under its key has its own.
#[derive(clap::Args)]
pub(super) struct FieldSetArgs {
    /// One declared field; for several see `columns`.
    #[arg(conflicts_with = "columns")]
    field: Option<String>,
    #[command(flatten)]
    settings: FieldSetSettings,
    /// Records in any form that `ingest` reads: JSON lines, CSV, Parquet, Arrow; `-` reads JSON lines from standard input.
    #[arg(long = "from", id = "from", required = true, value_name = "FILE")]
    files: Vec<String>,
}

/// How records from outside give values, wherever they come from.
#[derive(clap::Args)]
pub struct FieldSetSettings {
    /// How records identify documents: id or key, in the field of that name, or in another one, as in key=url.
    #[arg(long, value_name = "key|id[=FIELD]", value_parser = parse_join_by, required_unless_present_any = ["id", "key"])]
    on: Option<JoinBy>,
    /// Fields of the records with the values of the declared fields of the same names.
    ///
    /// quality=score takes the values of quality from the field score.
    #[arg(long, value_name = "FIELD[=FIELD],..", value_delimiter = ',', value_parser = parse_join_column)]
    columns: Vec<JoinColumn>,
    /// The field of the records with the document's id; the same as `on` with id=FIELD.
    #[arg(long, value_name = "FIELD", conflicts_with_all = ["key", "on"])]
    id: Option<String>,
    /// The field of the records with the document's key; the same as `on` with key=FIELD.
    #[arg(long, value_name = "FIELD", conflicts_with = "on")]
    key: Option<String>,
    /// Only documents of this source; several sources may have the same key.
    #[arg(long, value_name = "NAME", conflicts_with = "id")]
    source: Option<String>,
    /// The field of the records with the values of FIELD. By default the name of FIELD.
    #[arg(long, value_name = "FIELD", conflicts_with = "columns")]
    value: Option<String>,
    /// Longest record accepted, in bytes.
    #[arg(long, value_name = "BYTES", default_value = "1MiB", value_parser = parse_bytes)]
    max_value_bytes: u64,
    /// At most this many records per commit; fewer if they are long.
    #[arg(long, value_name = "N", default_value_t = 8192, value_parser = clap::value_parser!(u32).range(1..))]
    batch_rows: u32,
    /// Stop at the first value of another type; earlier commits stay.
    #[arg(long)]
    strict: bool,
}

fn parse_join_by(text: &str) -> Result<JoinBy, String> {
    let (by, field) = text.split_once('=').unwrap_or((text, text));
    match by {
        "id" => Ok(JoinBy::Id(field.to_owned())),
        "key" => Ok(JoinBy::Key(field.to_owned())),
        _ => Err("write id, key, id=FIELD or key=FIELD".to_owned()),
    }
}

fn parse_join_column(text: &str) -> Result<JoinColumn, String> {
    let (field, column) = text.split_once('=').unwrap_or((text, text));
    Ok(JoinColumn { field: field.to_owned(), column: column.to_owned() })
}

impl FieldSetSettings {
    /// The options for the library; `field` is the name that the call gives by itself.
    ///
    /// # Errors
    /// Options that do not go together.
    pub fn options(self, field: Option<String>) -> anyhow::Result<JoinOptions> {
        let by = match (self.on, self.id, self.key) {
            (Some(by), _, _) => by,
            (None, Some(field), _) => JoinBy::Id(field),
            (None, None, Some(field)) => JoinBy::Key(field),
            (None, None, None) => anyhow::bail!("give `on=` id, or `on=` key"),
        };
        if matches!(by, JoinBy::Id(_)) && self.source.is_some() {
            anyhow::bail!("`source=` is for keys: an id belongs to one document");
        }
        let columns = match field {
            Some(field) => {
                let column = self.value.unwrap_or_else(|| field.clone());
                vec![JoinColumn { field, column }]
            }
            None if self.columns.is_empty() => {
                anyhow::bail!("name the field to set, or several with `columns=`")
            }
            None => self.columns,
        };
        let read = ReadOptions {
            max_doc_bytes: self.max_value_bytes,
            stores: stores(),
            ..ReadOptions::default()
        };
        let batch = usize::try_from(self.batch_rows).unwrap_or(JoinOptions::BATCH);
        Ok(JoinOptions { columns, by, source: self.source, read, batch, strict: self.strict })
    }
}

impl Verb for FieldSetArgs {
    const PATH: &str = "field set";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Writer.fields.set");
    const EXAMPLES: &[&str] = &[
        "corpusdb field set crawl --from scores.parquet --on id --columns perplexity,toxicity",
        "corpusdb field set crawl --from scores.parquet --on key=url --columns quality=score --source web",
        "corpusdb field set crawl perplexity --from scores.parquet --id document",
        "corpusdb field set crawl quality --from scores.jsonl.zst --key url --value score --source web",
        "corpusdb sql crawl \"SELECT id, key FROM documents WHERE kept\" --format json > to-score.jsonl",
    ];
    const NOTES: &str = "Exit code 1 when no value could be set.";
    const DRY_RUN: DryRun = DryRun::Copy;
    type On = CorpusWriter;
    type Report = JoinReport;

    fn run(self, writer: &mut CorpusWriter, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let options = self.settings.options(self.field)?;
        Ok(writer.set_field(&self.files, &options, &call.context)?)
    }
}

impl Report for JoinReport {
    const TYPE: &'static str = "field_set";

    fn print(&self, out: &mut Output) {
        let would = if out.is_dry_run() { "would change" } else { "changed" };
        let values = if self.fields.len() > 1 { "values" } else { "value" };
        out.line(format!(
            "{}: {} records; {would} {} documents, {} had the {values} already",
            self.fields.join(", "),
            number(self.records),
            number(self.changed),
            number(self.unchanged)
        ));
        if self.without_value > 0 {
            out.line(format!(
                "  {} records have no value and were skipped",
                number(self.without_value)
            ));
        }
        print_decided_again(self.kept_again, self.no_longer_kept, out);
        print_misfits(&self.misfits, out);
        print_name_rows(self.name_rows, None, out);
        self.odd_quotes.iter().for_each(|words| out.note(format!("{ALARM} {words}")));
        if self.unknown > 0 {
            out.line(format!(
                "  {} records name no stored document: {}",
                number(self.unknown),
                self.unknown_examples.join(", ")
            ));
        }
    }

    fn status(&self) -> ExitStatus {
        ExitStatus::of(self.records == 0 || self.changed + self.unchanged > 0)
    }
}

/// Drop a declared field; the metadata stays.
///
/// No query sees it after the first commit. Refused while the recipe of a stored plan or the keep order uses it. Stored
/// plans keep giving the same bytes, since they pin their documents; a recipe that uses the field fails when it is
/// planned again. `field add` declares it again.
#[derive(clap::Args)]
pub(super) struct FieldDropArgs {
    /// The field.
    name: String,
    /// Drop it even if recipes of stored plans use it.
    #[arg(long)]
    force: bool,
}

/// A field that was dropped.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct FieldDropReport {
    /// The field.
    field: String,
    /// Stored plans whose recipes use it; the plans are unchanged.
    plans: Vec<PlanNaming>,
}

/// A stored plan whose recipe names a field.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct PlanNaming {
    /// Its number.
    plan: u32,
    /// The snapshot that it draws from.
    snapshot: String,
}

impl From<EpochRecord> for PlanNaming {
    fn from(plan: EpochRecord) -> Self {
        Self { plan: plan.number, snapshot: plan.snapshot }
    }
}

impl Verb for FieldDropArgs {
    const PATH: &str = "field drop";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Writer.fields.drop");
    const EXAMPLES: &[&str] = &["corpusdb field drop crawl quality"];
    const MANNERS: Manners = Manners::STOPS_AND_WAITS;
    type On = CorpusWriter;
    type Report = FieldDropReport;

    fn run(self, writer: &mut CorpusWriter, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let plans = writer.drop_field(&self.name, self.force, &call.context)?;
        let plans = plans.into_iter().map(PlanNaming::from).collect();
        Ok(FieldDropReport { field: self.name, plans })
    }
}

impl Report for FieldDropReport {
    const TYPE: &'static str = "field_drop";

    fn print(&self, out: &mut Output) {
        print_dropped(&self.field, "the field", &self.plans, out);
    }
}

/// Prints what was dropped, and the stored plans whose recipes use it; `one` is what a recipe uses.
pub(super) fn print_dropped(name: &str, one: &str, plans: &[PlanNaming], out: &mut Output) {
    out.line(format!("dropped {name}"));
    for PlanNaming { plan, snapshot } in plans {
        out.line(format!(
            "  plan {plan} (snapshot {snapshot}) is unchanged; its recipe uses {one}"
        ));
    }
}

/// List the declared fields: type, documents with a value, with a value of another type, and the origin of the values.
#[derive(clap::Args)]
pub(super) struct FieldShowArgs {}

impl Verb for FieldShowArgs {
    const PATH: &str = "field show";
    const PYTHON: PythonMethod = PythonMethod::Generated("Corpus.fields.show");
    const EXAMPLES: &[&str] = &["corpusdb field show crawl", "corpusdb field show crawl --json"];
    type On = Corpus;
    type Report = ListReport<FieldSummary>;

    fn run(self, corpus: &Corpus, _: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        Ok(ListReport(corpus.fields()?))
    }
}

impl ListRow for FieldSummary {
    const TYPE: &'static str = "field";

    fn print_all(fields: &[Self], out: &mut Output) {
        if fields.is_empty() {
            return out.note("no field is declared; `corpusdb field add` declares one");
        }
        let row = |field: &Self| {
            let kind = match field.state {
                "declared" => field.kind.to_owned(),
                "fed" => format!("{}, computed at ingest", field.kind),
                state => format!("{} ({state})", field.kind),
            };
            let from = match &field.expression {
                Some(expression) => format!("computed: {expression}"),
                None => format!("metadata: {}", field.member),
            };
            let distinct = field.distinct.map(number).unwrap_or_default();
            vec![field.name.clone(), kind, number(field.documents), distinct, from]
        };
        out.table(&["field", "type", "documents", "distinct", "from"], fields.iter().map(row));
        for field in fields {
            if let Some(MisfitExample { document, value, .. }) = &field.misfit {
                let values = field.documents + field.misfits;
                let words = misfit_words(&field.name, field.kind, field.misfits, values);
                out.line(format!("{words}, e.g. {value} (document {document})"));
            }
        }
    }
}
