//! The demo's ingests: a crawl, the next one, and all of it once more.

use super::Demo;
use super::input::Input;
use super::teller::command;
use super::{differ, examples};
use crate::cli::print;
use corpusdb::duplicates::DuplicatePair;
use corpusdb::ingest::{InputFormat, ReadOptions};
use corpusdb::{Corpus, DocId, IngestOptions, IngestReport};

/// Ingests one crawl, each input as its source.
pub(super) fn ingest(demo: &Demo<'_>, inputs: &[Input]) -> anyhow::Result<Vec<IngestReport>> {
    for input in inputs {
        demo.teller.command(&words(demo, input))?;
    }
    let reports = run(demo, inputs)?;
    let rows: Vec<Vec<String>> = reports.iter().map(row).collect();
    demo.teller.table(
        &[
            "source", "read", "kept", "exact", "near", "empty", "rejected", "text", "seconds",
            "MB/s",
        ],
        &rows,
    )?;
    if reports.iter().any(|report| report.rejected > 0) {
        let list = command(&["rejects", &demo.corpus]);
        demo.teller
            .prose("Rejected records could not be read. They are set aside with the reason:")?;
        demo.teller.say(&format!("  $ {list}"))?;
    }
    Ok(reports)
}

/// Ingests everything once more; answers how many documents that added.
pub(super) fn again(demo: &Demo<'_>, crawls: &[Vec<Input>]) -> anyhow::Result<u64> {
    let (mut added, mut unchanged, mut seconds) = (0, 0, 0.0);
    demo.teller.say("  The ingest commands above once more, all of them:")?;
    for inputs in crawls {
        for report in run(demo, inputs)? {
            added += report.added;
            unchanged += report.unchanged;
            seconds += report.seconds;
        }
    }
    let (told, known) = (print::number(added), print::number(unchanged));
    demo.teller.say(&format!("  {told} added, {known} unchanged, in {seconds:.2} s"))?;
    Ok(added)
}

fn words<'a>(demo: &'a Demo<'_>, input: &'a Input) -> Vec<&'a str> {
    let mut words = vec!["ingest", &demo.corpus, &input.path, "--source", &input.source];
    if input.format == InputFormat::Text {
        words.extend(["--format", "text"]);
    }
    if let Some(field) = input.id_field {
        words.extend(["--id-field", field]);
    }
    if let Some(field) = &demo.text_field {
        words.extend(["--text-field", field]);
    }
    words
}

fn run(demo: &Demo<'_>, inputs: &[Input]) -> anyhow::Result<Vec<IngestReport>> {
    let session = demo.session;
    let mut reports = Vec::new();
    for input in inputs {
        let options = IngestOptions {
            read: ReadOptions {
                format: input.format,
                text_field: demo.text_field.clone(),
                id_field: input.id_field.map(str::to_owned),
                ..ReadOptions::default()
            },
            ..IngestOptions::new(&input.source)
        };
        let mut writer = session.write(&demo.place.corpus())?;
        let paths = std::slice::from_ref(&input.path);
        reports.push(writer.ingest(paths, &options, &session.context())?);
        demo.end_bar();
    }
    Ok(reports)
}

fn row(report: &IngestReport) -> Vec<String> {
    let rate = report.bytes as f64 / report.seconds.max(1e-9) / 1e6;
    vec![
        report.source.clone(),
        print::number(report.read),
        print::number(report.kept),
        print::number(report.exact_duplicates),
        print::number(report.near_duplicates),
        print::number(report.empty),
        print::number(report.rejected),
        print::size(report.bytes),
        format!("{:.1}", report.seconds),
        format!("{rate:.1}"),
    ]
}

/// Text and time of some ingests, with their rate.
pub(super) fn throughput(reports: &[IngestReport]) -> (u64, f64, f64) {
    let bytes: u64 = reports.iter().map(|report| report.bytes).sum();
    let seconds: f64 = reports.iter().map(|report| report.seconds).sum();
    (bytes, seconds, bytes as f64 / seconds.max(1e-9) / 1e6)
}

/// The text of equal documents; of others, where they differ.
fn show_texts(demo: &Demo<'_>, corpus: &Corpus, pair: &DuplicatePair) -> anyhow::Result<()> {
    let (removed, witness) = (DocId(pair.id), DocId(pair.witness));
    let around = match pair.kind {
        "near" => differ::around(&corpus.diff(removed, witness)?),
        _ => None,
    };
    let Some((removed, kept)) = around else {
        let text = corpus.show(witness)?.text;
        return demo.teller.say(&format!("      both:    {}", differ::beginning(&text)));
    };
    demo.teller.say(&format!("      removed: {removed}"))?;
    demo.teller.say(&format!("      kept:    {kept}"))
}

/// Shows duplicates with what they matched; answers all of them, and the near one to look at.
pub(super) fn duplicates(demo: &Demo<'_>) -> anyhow::Result<(Vec<DuplicatePair>, Option<DocId>)> {
    demo.teller.command(&["duplicates", &demo.corpus, "--list"])?;
    let corpus = demo.open()?;
    let pairs = corpus.duplicates(None)?.collect::<Result<Vec<_>, _>>()?;
    let near = pairs.iter().filter(|pair| pair.kind == "near").count() as u64;
    let exact = pairs.len() as u64 - near;
    demo.teller.say("")?;
    let (exact, near) = (print::number(exact), print::number(near));
    demo.teller.prose(&format!(
        "Every removed document names the kept one it matched, and their exact similarity (Jaccard, \
         over runs of five words). {exact} are equal byte for byte, {near} are similar. Some of them:"
    ))?;
    let short = |key: &str| demo.place.short(key).to_owned();
    let examples = examples::pick(&pairs, &short);
    let mut heading = "";
    for example in &examples {
        if heading != example.heading {
            heading = &example.heading;
            demo.teller.say("")?;
            demo.teller.say(&format!("  {heading}:"))?;
        }
        let pair = example.pair;
        demo.teller.say(&format!(
            "    {:.3}  document {:<6} {}",
            pair.jaccard,
            pair.id,
            short(&pair.key)
        ))?;
        demo.teller.say(&format!(
            "     like  document {:<6} {}",
            pair.witness,
            short(&pair.witness_key)
        ))?;
        show_texts(demo, &corpus, pair)?;
    }
    // The shortest of them: a difference that fits a screen says most.
    let mut shortest: Option<(u64, DocId)> = None;
    for pair in examples.iter().map(|example| example.pair) {
        if pair.kind == "near" && pair.jaccard < 1.0 {
            let found = (corpus.show(DocId(pair.id))?.bytes, DocId(pair.id));
            shortest = Some(shortest.map_or(found, |before| before.min(found)));
        }
    }
    Ok((pairs, shortest.map(|(_, document)| document)))
}
