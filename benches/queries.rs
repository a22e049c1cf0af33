//! What ad-hoc queries cost on an open, warm corpus: predicates, ranges, groups, one key.
//!
//! Corpus model: documents of three words and their number, with a `site` (1,000, some of them far larger than others),
//! a `language` (40), a number `toks` and a `score`, as `benches/peers/queries.py` makes them for its race against
//! DuckDB. As many as `CORPUSDB_BENCH_DOCUMENTS` says (200,000), made in a directory that is removed afterwards. Every
//! answer is compared with one that is counted while the documents are made.
//!
//! Run: `cargo bench --bench queries`, with `--profile dist` for the figures to publish.
#![expect(clippy::expect_used, reason = "a bench that goes wrong should stop")]

use corpusdb::arrow::array::AsArray;
use corpusdb::arrow::datatypes::Int64Type;
use corpusdb::ingest::{Record, Records};
use corpusdb::{Context, Corpus, DedupMode, FieldKind, IngestOptions, Policy};
use criterion::{Criterion, criterion_group, criterion_main};
use std::collections::BTreeSet;
use std::hint::black_box;
use std::path::Path;

/// A document's fields.
struct Page {
    site: u64,
    language: u64,
    toks: u64,
    score: f64,
}

/// The document of a number, the same in every run.
fn page(number: u64) -> Page {
    let draw = |salt: u64| {
        let mixed = (number ^ (salt << 40)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    };
    Page {
        site: (1000.0 * draw(1).powi(3)) as u64,
        language: (40.0 * draw(2).powi(2)) as u64,
        toks: (60.0 * (5.0 * draw(3)).exp()) as u64,
        score: (draw(4) * 10_000.0).round() / 10_000.0,
    }
}

fn make(path: &Path, documents: u64) {
    let field = |name: &str, kind| (name.to_owned(), kind);
    let fields = [
        field("site", FieldKind::Keyword),
        field("toks", FieldKind::Int),
        field("score", FieldKind::Float),
    ];
    let policy = Policy::new(DedupMode::Exact, 0.8).expect("a policy");
    Corpus::init(path, &policy, &fields).expect("a corpus");
    let mut writer = Corpus::options().open_writer(path).expect("its writer");
    let records = (0..documents).map(|number| {
        let Page { site, language, toks, score } = page(number);
        Record::new(format!("page {number} of {site}"))
            .with_key(format!("k{number}"))
            .with_field("site", format!("site{site}"))
            .with_field("language", format!("l{language}"))
            .with_field("toks", toks)
            .with_field("score", score)
    });
    let records = Records::new("pages", records);
    let options = IngestOptions::new("web");
    let report = writer.ingest(records, &options, &Context::new()).expect("an ingest");
    assert_eq!(report.kept, documents);
}

/// Rows of an answer, and the sum of its last column.
fn answer(corpus: &Corpus, statement: &str) -> (usize, i64) {
    let (mut rows, mut sum) = (0, 0);
    for batch in corpus.sql(statement).expect("a query") {
        let batch = batch.expect("rows");
        rows += batch.num_rows();
        let column = batch.column(batch.num_columns() - 1);
        let numbers = column.as_primitive_opt::<Int64Type>().expect("whole numbers");
        sum += numbers.iter().flatten().sum::<i64>();
    }
    (rows, sum)
}

fn queries(criterion: &mut Criterion) {
    let given = std::env::var("CORPUSDB_BENCH_DOCUMENTS").ok();
    let documents = given.map_or(200_000, |number| number.parse().expect("a number of documents"));
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("corpus");
    make(&path, documents);
    let corpus = Corpus::options().open(&path).expect("the corpus");
    let of = |test: &dyn Fn(&Page) -> bool| {
        let pages = (0..documents).map(page).filter(|page| test(page));
        pages.fold((0, 0), |(count, sum), page| (count + 1, sum + page.toks as i64))
    };
    let groups: BTreeSet<(u64, u64)> =
        (0..documents).map(page).map(|page| (page.site, page.language)).collect();
    let all = of(&|_| true);
    let one_site = of(&|it| it.site == 7 && it.language == 3 && (200..=900).contains(&it.toks));
    let ranges = of(&|it| (200..=900).contains(&it.toks) && it.score > 0.75);
    let better = of(&|it| it.score > 0.5);
    let asked = [
        (
            "two keywords and a range",
            "SELECT count(*) FROM documents WHERE site = 'site7' AND language = 'l3' AND toks BETWEEN 200 AND 900",
            (1, one_site.0),
        ),
        (
            "ranges of two numbers",
            "SELECT count(*) FROM documents WHERE toks BETWEEN 200 AND 900 AND score > 0.75",
            (1, ranges.0),
        ),
        (
            "groups by two keywords",
            "SELECT site, language, sum(toks) FROM documents GROUP BY site, language",
            (groups.len(), all.1),
        ),
        (
            "groups of a selection",
            "SELECT language, sum(toks) FROM documents WHERE score > 0.5 GROUP BY language",
            (40, better.1),
        ),
        ("one key", "SELECT toks FROM documents WHERE key = 'k4711'", (1, page(4711).toks as i64)),
    ];
    let mut group = criterion.benchmark_group("queries");
    for (name, statement, expected) in asked {
        assert_eq!(answer(&corpus, statement), expected, "{statement}");
        group.bench_function(name, |bench| bench.iter(|| black_box(answer(&corpus, statement))));
    }
}

criterion_group!(benches, queries);
criterion_main!(benches);
