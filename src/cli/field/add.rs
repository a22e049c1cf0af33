//! `corpusdb field add` and `field compute`: a field of the metadata, and one of a SQL expression.

use crate::cli::init;
use crate::cli::setup::CommandSession;
use crate::cli::{Outcome, print};
use corpusdb::FieldKind;
use corpusdb::curate::{ComputedField, FieldReport, NewField};
use std::path::PathBuf;

/// Declare a field of a corpus that holds documents, and index what their metadata have for it
///
/// From the last commit on it is a column in SQL, in `--where` and in recipes, and the next ingest indexes it. Until
/// then no query sees it: after an interrupt, run the same command again. Types: keyword (text, indexed by exact
/// value), int, float, bool, timestamp (a date of RFC 3339, of mail or of the web, or a number since 1970 whose size says
/// whether it counts seconds or parts of them; kept in microseconds, UTC). A value of another type stays in the
/// metadata, is null, and is counted.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb field add crawl quality:float\n  corpusdb field add crawl score:float --from-meta scores.edu\n  corpusdb field add crawl crawled:timestamp --from-meta date\n  corpusdb field add crawl language:keyword --from-meta lang"
)]
pub(in crate::cli) struct Add {
    /// The corpus
    corpus: PathBuf,
    /// The field: NAME:keyword, NAME:int, NAME:float, NAME:bool or NAME:timestamp
    #[arg(value_name = "NAME:TYPE", value_parser = init::field)]
    field: (String, FieldKind),
    /// Where in the metadata its values stand [default: the member NAME]
    ///
    /// A member, or members within one another with dots between them. A member whose name is all of PATH comes first.
    /// `language`, which every corpus has, is fed from elsewhere this way.
    #[arg(long, value_name = "PATH")]
    from_meta: Option<String>,
    /// Documents of one commit
    #[arg(long, value_name = "N", default_value_t = NewField::BATCH, value_parser = clap::value_parser!(u64).range(1..))]
    batch_rows: u64,
    /// Report what would be indexed, but change nothing (works on a copy that is removed)
    #[arg(long)]
    dry_run: bool,
}

/// Store the values of a SQL expression over `documents` as a field, document by document
///
/// The field is declared when it is not. The values stand in the metadata under its name, as those of `field set` do.
/// Documents that come later have none until it is computed again. The expression sees one document: no aggregates,
/// windows or inner queries; and nothing that differs each time. After an interrupt, run the same command again.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb field compute crawl density '1.0 * tokens / chars'\n  corpusdb field compute crawl site \"split_part(key, '/', 3)\"\n  corpusdb field compute crawl long 'chars > 10000' --type bool"
)]
pub(in crate::cli) struct Compute {
    /// The corpus
    corpus: PathBuf,
    /// The field
    name: String,
    /// A SQL expression over the columns of `documents`
    expression: String,
    /// The type of the field [default: as declared, or that of the expression]
    #[arg(long = "type", value_name = "TYPE", value_parser = init::kind_named)]
    kind: Option<FieldKind>,
    /// Documents of one commit
    #[arg(long, value_name = "N", default_value_t = NewField::BATCH, value_parser = clap::value_parser!(u64).range(1..))]
    batch_rows: u64,
    /// Report what would be stored, but change nothing (works on a copy that is removed)
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn add(args: Add, session: &CommandSession) -> anyhow::Result<Outcome> {
    let (name, kind) = args.field;
    let field = NewField { name, kind, path: args.from_meta, batch: args.batch_rows };
    let target = session.target(&args.corpus, args.dry_run)?;
    let mut writer = session.write(target.path())?;
    let report = writer.add_field(&field, &session.context())?;
    if session.json {
        print::report("field_add", &report, args.dry_run)?;
        return Ok(Outcome::Good);
    }
    if report.commits == 0 {
        print::line(&format!("{} is declared already, as {}", report.field, report.kind))?;
        return Ok(Outcome::Good);
    }
    told(&report)?;
    Ok(Outcome::Good)
}

pub(super) fn compute(args: Compute, session: &CommandSession) -> anyhow::Result<Outcome> {
    let (name, expression) = (args.name, args.expression);
    let field = ComputedField { name, expression, kind: args.kind, batch: args.batch_rows };
    let target = session.target(&args.corpus, args.dry_run)?;
    let mut writer = session.write(target.path())?;
    let report = writer.compute_field(&field, &session.context())?;
    if session.json {
        print::report("field_compute", &report, args.dry_run)?;
    } else {
        told(&report)?;
    }
    Ok(Outcome::Good)
}

fn told(report: &FieldReport) -> anyhow::Result<()> {
    let n = print::number;
    print::line(&format!(
        "{} ({}): {} of {} documents have a value",
        report.field,
        report.kind,
        n(report.values),
        n(report.documents)
    ))?;
    if report.ill_typed > 0 {
        print::line(&format!(
            "  {} documents have one of another type, which counts as none",
            n(report.ill_typed)
        ))?;
    }
    super::decided_again(report.kept_again, report.no_longer_kept)
}
