//! The demo's three queries: a group, a count, a top list.

use super::{Demo, Shape};
use crate::cli::print;
use corpusdb::Corpus;
use corpusdb::query::{Format, Printer};
use std::time::Instant;

const PER_SOURCE: &str = "SELECT source, count(*) AS documents, count(*) FILTER (WHERE kept) AS kept, \
     sum(tokens) AS tokens FROM documents GROUP BY source ORDER BY source";

/// Runs the three; answers the seconds each took, on an open corpus.
pub(super) fn run(demo: &Demo<'_>, shape: &Shape) -> anyhow::Result<Vec<f64>> {
    let corpus = demo.open()?;
    let first = sql(demo, &corpus, PER_SOURCE)?;

    let mut condition = format!("kept AND tokens > {}", shape.row);
    if shape.is_code {
        condition.insert_str(0, "source = 'code' AND ");
    }
    demo.teller.say("")?;
    demo.teller.command(&["count", &demo.corpus, "--where", &condition])?;
    let started = Instant::now();
    let count = corpus.count(&condition)?;
    let second = started.elapsed().as_secs_f64();
    let count = print::number(count);
    demo.teller.say(&format!(
        "  {count} documents longer than one row of {} tokens{}",
        shape.row,
        took(second)
    ))?;

    demo.teller.say("")?;
    let key = if shape.is_code {
        format!("replace(key, '{}', '')", demo.place.prefix().replace('\'', "''"))
    } else {
        "key".to_owned()
    };
    let most = format!(
        "SELECT cluster_size AS copies, source, id, {key} AS document FROM documents WHERE kept ORDER BY copies DESC, id LIMIT 5"
    );
    let third = sql(demo, &corpus, &most)?;
    Ok(vec![first, second, third])
}

fn sql(demo: &Demo<'_>, corpus: &Corpus, statement: &str) -> anyhow::Result<f64> {
    demo.teller.command(&["sql", &demo.corpus, statement])?;
    let mut out = Vec::new();
    let mut printer = Printer::new(Format::Table, &mut out);
    let started = Instant::now();
    printer.rows(corpus.sql(statement)?).map_err(corpusdb::Error::from)?;
    let seconds = started.elapsed().as_secs_f64();
    printer.finish().map_err(corpusdb::Error::from)?;
    let text = String::from_utf8_lossy(&out);
    for line in text.lines() {
        demo.teller.say(&format!("  {line}"))?;
    }
    demo.teller.say(&format!(" {}", took(seconds)))?;
    Ok(seconds)
}

fn took(seconds: f64) -> String {
    format!(" ({:.1} ms)", seconds * 1e3)
}
