//! Tests that hostile corpora and vocabularies break no page: pages stay well formed, escaped and self-contained.

use super::chart::{
    AltText, ChartAxis, ChartColumn, ChartLine, FONT, GAP, column_chart, fitted, line_chart,
    text_width,
};
use super::figures::cut_behind;
use super::{
    CardPage, DuplicatesPage, PageModel, PlanPage, SweepPage, TokenizerPage, corpus_title,
    croissant, escape, eu_summary, page, visible,
};
use corpusdb::ingest::{Record, Records};
use corpusdb::inspect::SweepOptions;
use corpusdb::inspect::{CorpusReport, ReportOptions};
use corpusdb::tokenizer::analyse::{
    AnalysedTokenizer, AnalysisReport, AnalysisTally, BaselineTally, PretokenCounter, TextWords,
};
use corpusdb::tokenizer::{Tokenizer, from_vocab_and_merges};
use corpusdb::{
    Context, Corpus, CorpusWriter, DedupMode, FieldKind, IngestOptions, Policy, Recipe,
};
use std::fmt::Write as _;

const HOSTILE: &str = "</title><script>alert('x')</script>&\"\u{202e}";

// ---- pages, read back ----

/// Reads the page as nested elements; answers what each tag says, with the text that follows it.
fn tags(page: &str) -> Vec<(String, String)> {
    let (mut open, mut all) = (Vec::new(), Vec::new());
    let mut rest = page.strip_prefix("<!doctype html>\n").unwrap_or(page);
    while let Some(at) = rest.find('<') {
        let (text, tag) = rest.split_at(at);
        let is_style = open.last() == Some(&"style");
        assert!(is_style || !text.contains('>'), "a stray > in {text:?}");
        if let Some((_, behind)) = all.last_mut() {
            *behind = text.to_owned();
        }
        let end = tag.find('>').expect("the tag ends");
        let inner = &tag[1..end];
        rest = &tag[end + 1..];
        all.push((inner.to_owned(), String::new()));
        if let Some(name) = inner.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "closed in order");
            continue;
        }
        let name = inner.split([' ', '/']).next().expect("has a name");
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "a tag called {name:?}");
        assert_eq!(inner.matches('"').count() % 2, 0, "quotes in {inner:?}");
        if !inner.ends_with('/') && !["meta", "br"].contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
    all
}

/// The elements of a page, each with its attributes.
fn elements(page: &str) -> Vec<String> {
    let opening = |(tag, _): (String, String)| (!tag.starts_with('/')).then_some(tag);
    tags(page).into_iter().filter_map(opening).collect()
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

/// Checks laws of every page.
fn check_page(page: &str) {
    let tags = tags(page);
    let elements: Vec<&str> =
        tags.iter().map(|(tag, _)| tag.as_str()).filter(|tag| !tag.starts_with('/')).collect();
    let name = |element: &str| element.split(' ').next().unwrap_or("").to_owned();
    let count = |wanted: &str| elements.iter().filter(|element| name(element) == wanted).count();
    for element in &elements {
        let name = name(element);
        assert!(!["script", "link", "img", "iframe", "object", "base"].contains(&&*name));
        for attribute in ["src=", "onload", "onclick", "onerror", "url("] {
            assert!(!element.contains(attribute), "{element}");
        }
        // The only addresses are anchors that the page has.
        if let Some(address) = attribute(element, "href") {
            let id = address.strip_prefix('#').expect("a place of the page");
            let there = format!("section id=\"{id}\"");
            assert!(elements.iter().any(|element| element.starts_with(&there)), "{id}");
        }
    }
    assert!(!page.contains("@import") && !page.contains("url(") && !page.contains("http"));
    assert!(!page.contains("NaN") && !page.contains("inf\""));
    assert_eq!((count("main"), count("h1"), count("style")), (1, 1, 1));
    // Each drawing has a title and a description for screen readers, and each picture a sentence above it.
    assert_eq!(page.matches("role=\"img\">\n<title>").count(), count("svg"));
    assert_eq!((count("desc"), page.matches("<desc></desc>").count()), (count("svg"), 0));
    assert_eq!(count("figure"), count("figcaption"));
    assert!(!page.contains("<figcaption></figcaption>"));
    // Elements that may be wider than the page scroll within their own frame.
    for (at, element) in elements.iter().enumerate().filter(|(_, it)| name(it) == "table") {
        assert_eq!(elements[at - 1], "div class=\"wide\" tabindex=\"0\"", "{element}");
    }
    assert_eq!(misplaced(&tags), Vec::<String>::new());
}

/// Texts of drawings that leave the drawing, or overlap a column or another text, by the rule of widths.
fn misplaced(tags: &[(String, String)]) -> Vec<String> {
    let (mut width, mut height, mut found) = (0.0, 0.0, Vec::new());
    // Everything that is drawn: its box, and its kind.
    let mut drawn: Vec<([f64; 4], String)> = Vec::new();
    for (tag, text) in tags {
        if tag.starts_with("svg ") {
            let sides: Vec<f64> = attribute(tag, "viewBox")
                .unwrap()
                .split(' ')
                .map(|it| it.parse().unwrap())
                .collect();
            (width, height) = (sides[2], sides[3]);
            drawn.clear();
        }
        let number = |name: &str| -> f64 { attribute(tag, name).unwrap().parse().unwrap() };
        let is_column = ["solid", "pale"].contains(&attribute(tag, "class").unwrap_or(""));
        if tag.starts_with("rect ") && is_column && number("height") > 0.0 {
            let (x, y) = (number("x"), number("y"));
            let sides = [x, x + number("width"), y, y + number("height")];
            let met = drawn.iter().filter(|(of, what)| what != "a column" && meet(of, &sides));
            found.extend(met.map(|(_, what)| format!("{what} under a column at {x} {y}")));
            drawn.push((sides, "a column".to_owned()));
        }
        if !tag.starts_with("text ") {
            continue;
        }
        let text = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"]
            .iter()
            .fold(text.clone(), |text, code| text.replace(code, "M"));
        let (x, y, wide) = (number("x"), number("y"), text_width(&text));
        let left = match attribute(tag, "text-anchor").unwrap() {
            "start" => x,
            "middle" => x - wide / 2.0,
            "end" => x - wide,
            other => panic!("{other}"),
        };
        let fits = left >= -0.1 && left + wide <= width + 0.1;
        if !fits || y - 0.8 * FONT < -0.1 || y + 0.25 * FONT > height {
            found.push(format!("{text:?} at {x} {y} in {width} {height}"));
        }
        let sides = [left, left + wide, y - 0.7 * FONT, y + 0.2 * FONT];
        let met = drawn.iter().filter(|(of, _)| meet(of, &sides));
        found.extend(met.map(|(_, what)| format!("{text:?} at {x} {y} on {what}")));
        drawn.push((sides, format!("{text:?}")));
    }
    found
}

/// Whether two boxes overlap: left, right, top, bottom.
fn meet(a: &[f64; 4], b: &[f64; 4]) -> bool {
    a[0] < b[1] && b[0] < a[1] && a[2] < b[3] && b[2] < a[3]
}

// ---- charts ----

#[test]
fn counts_are_marked_by_different_whole_numbers() {
    for most in 0..40 {
        let ChartAxis { ticks, .. } = ChartAxis::counted(most, "");
        let marks: Vec<&String> = ticks.iter().map(|(_, mark)| mark).collect();
        assert!(ticks.iter().all(|(at, _)| at.fract() == 0.0), "{most}: {marks:?}");
        assert!(marks.windows(2).all(|two| two[0] != two[1]), "{most}: {marks:?}");
        assert!(ticks.len() > 1 || most == 0, "{most}: {marks:?}");
        assert!(ticks.last().unwrap().0 >= most as f64, "{most}: {marks:?}");
    }
}

#[test]
fn a_name_is_shortened_to_what_fits() {
    let long = "wide names ".repeat(30);
    for width in [20.0, 170.0, 480.0] {
        let text = fitted(&long, width);
        assert!(text_width(&text) <= width && text.ends_with('…'), "{text}");
    }
    assert_eq!(fitted("web", 170.0), "web");
}

#[test]
fn marks_of_an_axis_do_not_touch() {
    let wide = ChartAxis::logarithmic((1.0, 1e12), (1.0, 2.0), "", |value| format!("{value:.0}"));
    let every = wide.every(400.0);
    let apart = 400.0 / (wide.ticks.len() - 1) as f64 * every as f64;
    assert!(apart >= wide.widest() + GAP, "{every}");
}

#[test]
fn measured_values_have_round_marks_which_differ() {
    let marks = |low, high| -> Vec<String> {
        ChartAxis::measured(low, high, "").ticks.into_iter().map(|(_, mark)| mark).collect()
    };
    assert_eq!(marks(0.4194, 0.9796), ["0.4", "0.6", "0.8", "1"]);
    assert_eq!(marks(0.0, 17_400.0), ["0", "5,000", "10 k", "15 k", "20 k"]);
    assert_eq!(marks(-3.0, 3.0), ["-4", "-2", "0", "2", "4"]);
    for (low, high) in
        [(2.0, 2.0), (20_240_101.0, 20_241_231.0), (1e9, 1e9 + 3.0), (0.5, 0.500_002)]
    {
        let marks = marks(low, high);
        assert!(marks.len() > 1 && marks.windows(2).all(|two| two[0] != two[1]), "{marks:?}");
    }
    let counted = ChartAxis::counted(9_800, "").ticks;
    assert!(counted.iter().all(|(_, mark)| !mark.contains(".0")), "{counted:?}");
}

#[test]
fn columns_stand_beside_the_marks_of_their_height() {
    let column = |at: u32| ChartColumn {
        mark: at.to_string(),
        described: String::new(),
        heights: vec![f64::from(at)],
    };
    for count in [1, 3, 40] {
        let columns: Vec<ChartColumn> = (1..=count).map(column).collect();
        let y = ChartAxis::counted(12_345, "documents");
        let alt = AltText::new("columns", "all");
        let chart = column_chart(&alt, "places", &y, &[("of", 1)], &columns);
        let svg = serde_json::to_value(&chart).unwrap()["svg"].as_str().unwrap().to_owned();
        assert_eq!(misplaced(&tags(&svg)), Vec::<String>::new());
    }
}

#[test]
fn the_legend_names_each_line_once() {
    let line = |name: &str| ChartLine::new(name, [(0.0, 1.0), (1.0, 1.0)].into_iter());
    let lines = [
        line("a").with_total("12".to_owned()),
        line("b"),
        line("due").beside(0),
        line("due").beside(1),
    ];
    let axis = || ChartAxis::counted(1, "");
    let chart = line_chart(&AltText::new("lines", "all"), &axis(), &axis(), &lines);
    let named: Vec<(&str, &str)> =
        chart.legend.iter().map(|it| (it.name.as_str(), it.total.as_str())).collect();
    assert_eq!(named, [("a", "12"), ("b", ""), ("due", "")]);
    assert!(chart.legend[2].class.ends_with("dash"), "{:?}", chart.legend[2]);
}

/// The colours of the style sheet by name: in the light, and in the dark.
fn palettes() -> [std::collections::BTreeMap<String, [f64; 3]>; 2] {
    let pairs = super::STYLE.split("--").filter_map(|it| it.split_once(": light-dark("));
    let pairs: Vec<(&str, Vec<&str>)> = pairs
        .map(|(name, rest)| (name, rest.split(')').next().unwrap().split(", ").collect()))
        .collect();
    let colour = |hex: &str| {
        let hex = hex.strip_prefix('#').unwrap();
        let wide = hex.len() / 3;
        let part = |at: usize| hex[at * wide..(at + 1) * wide].repeat(3 - wide);
        [0, 1, 2].map(|at| f64::from(u8::from_str_radix(&part(at), 16).unwrap()))
    };
    [0, 1].map(|at| pairs.iter().map(|(name, of)| ((*name).to_owned(), colour(of[at]))).collect())
}

/// The contrast of two colours by WCAG 2.
fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
    let linear = |value: f64| match value / 255.0 {
        value if value <= 0.03928 => value / 12.92,
        value => ((value + 0.055) / 1.055).powf(2.4),
    };
    let light = |[r, g, b]: [f64; 3]| 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    let (a, b) = (light(a) + 0.05, light(b) + 0.05);
    a.max(b) / a.min(b)
}

#[test]
fn texts_can_be_read_on_every_ground_in_light_and_dark() {
    for (palette, depth) in palettes().iter().zip([1.0, 0.75]) {
        let of = |name: &str| palette[name];
        let mixed = |over: &str, under: &str, share: f64| {
            [0, 1, 2].map(|at| share * of(over)[at] + (1.0 - share) * of(under)[at])
        };
        assert!(
            palette.len() >= 20
                && super::STYLE.contains(&format!("--depth: {}", depth).replace("0.", "."))
        );
        let texts = ["ink", "faint", "mark", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];
        for text in texts {
            let found = contrast(of(text), of("ground"));
            assert!(found >= 4.5, "{text}: {found}");
        }
        for under in ["p0", "p1", "p2", "p3", "p4", "p5", "band"] {
            // Marks for white space are paler.
            let found = contrast(mixed("ink", under, 0.75), of(under));
            assert!(found >= 4.5, "{under}: {found}");
        }
        // The darkest cell of a shaded table.
        let found = contrast(of("ink"), mixed("s0", "ground", 0.6 * depth));
        assert!(found >= 4.5, "heat: {found}");
    }
}

// ---- a corpus ----

/// Words that no other document has.
fn words(of: u32) -> String {
    (0..30).map(|at| format!("w{of}x{at} ")).collect()
}

/// A corpus with a document for everything that a card shows, with hostile names.
struct TestCorpus {
    _directory: tempfile::TempDir,
    writer: CorpusWriter,
    plan: u32,
}

impl TestCorpus {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(HOSTILE.replace('/', "∕"));
        let fields =
            [("score".to_owned(), FieldKind::Float), ("at".to_owned(), FieldKind::Timestamp)];
        Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.5).unwrap(), &fields).unwrap();
        let mut writer = Corpus::options().memory(64 << 20).threads(1).open_writer(&path).unwrap();
        for (source, first) in [("web", 0), (HOSTILE, 5)] {
            let records = Records::new(HOSTILE, (0..30).map(|n| record(first, n)));
            let options = IngestOptions::new(source);
            writer.ingest(records, &options, &Context::new()).unwrap();
        }
        let file = br#"{"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "model":
            {"type": "WordLevel", "vocab": {"<unk>": 0, "page": 1}, "unk_token": "<unk>"}}"#;
        writer.add_tokenizer("words", file, HOSTILE, &Context::new()).unwrap();
        let recipe = format!(
            "version = 1\n[[source]]\nname = \"web\"\nweight = 0.5\n[[source]]\nname = '''{HOSTILE}'''\n\
             weight = 0.5\n[pack]\nkind = \"concat\"\nlength = 8\n"
        );
        let (record, _) = writer.plan(&Recipe::parse(&recipe).unwrap(), &Context::new()).unwrap();
        Self { _directory: directory, plan: record.number, writer }
    }

    fn report(&self, texts: bool) -> CorpusReport {
        let options = ReportOptions {
            plan: Some(self.plan),
            texts,
            domains_by_text: true,
            ..ReportOptions::default()
        };
        self.writer.corpus().report(&options, &Context::new()).unwrap()
    }
}

/// Every third text equals another one but for one more hostile word.
fn record(first: u32, n: u32) -> Record {
    let more = if n.is_multiple_of(3) { "" } else { HOSTILE };
    let text = format!("{} {more}", words(first + n / 3));
    let key = format!("https://{}.example/{n}/{HOSTILE}", if n < 9 { "a" } else { "<b>" });
    let language = if n.is_multiple_of(2) { "en" } else { HOSTILE };
    let fields = serde_json::json!({
        "score": f64::from(n) / 7.0, "language": language, "at": format!("2026-01-{:02}T00:00:00Z", n + 1),
    });
    let fields = fields.as_object().cloned().unwrap();
    fields.into_iter().fold(Record::new(text).with_key(key), |record, (name, value)| {
        record.with_field(name, value)
    })
}

fn card(report: &CorpusReport) -> String {
    page(&CardPage::new(report)).unwrap()
}

#[test]
fn the_card_is_well_formed_and_needs_nothing_from_outside() {
    let corpus = TestCorpus::new();
    let page = card(&corpus.report(true));
    // Keys of documents are addresses, which are shown.
    check_page(&page.replace("https://", ""));
    let elements = elements(&page);
    let count =
        |wanted: &str| elements.iter().filter(|it| it.split(' ').next() == Some(wanted)).count();
    assert_eq!((count("html"), count("nav")), (1, 1));
    assert_eq!((count("section"), count("a")), (14, 14));
    assert!(count("svg") >= 7);
}

#[test]
fn values_of_the_corpus_are_escaped_in_html() {
    let corpus = TestCorpus::new();
    let report = corpus.report(true);
    let shown = serde_json::to_string(&report).unwrap();
    let page = card(&report);
    for (part, least) in [("<script", 0), ("</title><", 0), ("\u{202e}", 0), ("&lt;script&gt;", 12)]
    {
        let found = page.matches(part).count();
        assert!(if least == 0 { found == 0 } else { found >= least }, "{part}: {found}");
    }
    // The hostile text was there to be escaped: in names, keys, languages and texts.
    assert!(shown.matches("<script>").count() >= 12);
    assert!(page.contains("<ins>") && page.contains("class=\"diff\""));
    // In the documents that are shown a character that is not seen can be read.
    assert!(page.contains("class=\"sample\""));
    assert_eq!(super::escaped("<a>&\u{202e}\u{1}\tb\n"), "&lt;a&gt;&amp;\\u202e\\u0001\tb\n");
    // Nothing is escaped twice.
    assert!(!page.contains("&amp;lt;") && !page.contains("&amp;amp;"));
    let summary = eu_summary(&report, None).unwrap();
    assert!(summary.contains("\\<script\\>"), "{summary}");
    assert!(!summary.replace("\\<", "").contains('<'), "{summary}");
    assert!(summary.contains("`at` goes up to 2026-01-28"), "{summary}");
}

#[test]
fn without_texts_no_text_is_shown() {
    let corpus = TestCorpus::new();
    let report = corpus.report(false);
    let (shown, page) = (serde_json::to_string(&report).unwrap(), card(&report));
    for place in [&shown, &page] {
        assert!(!place.contains("x29"), "{place}");
    }
    assert!(page.contains("documents around") && !page.contains("class=\"diff\""));
    assert!(!page.contains("class=\"sample\""), "{page}");
    let with = corpus.report(true);
    assert!(serde_json::to_string(&with).unwrap().contains("x29"));
}

#[test]
fn the_card_is_the_same_each_time() {
    let corpus = TestCorpus::new();
    assert_eq!(card(&corpus.report(true)), card(&corpus.report(true)));
}

#[test]
fn a_corpus_of_nothing_has_a_card_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("empty");
    Corpus::init(&path, &Policy::new(DedupMode::Exact, 1.0).unwrap(), &[]).unwrap();
    let corpus = Corpus::options().memory(64 << 20).open(&path).unwrap();
    let report = corpus.report(&ReportOptions::default(), &Context::new()).unwrap();
    let page = card(&report);
    check_page(&page);
    assert!(page.contains("Nothing has come in yet.") && page.contains("No duplicate was found."));
}

#[test]
fn a_sweep_is_a_page_with_or_without_near_duplicates() {
    let corpus = TestCorpus::new();
    let options = SweepOptions { thresholds: vec![0.3, 0.95], ..SweepOptions::default() };
    let mut sweep = corpus.writer.corpus().sweep_dedup(None, &options, &Context::new()).unwrap();
    let made = page(&SweepPage::new(&sweep, HOSTILE, HOSTILE)).unwrap();
    check_page(&made);
    assert_eq!(made.matches("<h3>Shingles of").count(), 3);
    assert!(made.contains("Similarity inside clusters, 7-token shingles"));
    for line in &mut sweep.lines {
        (line.verified.similarity, line.unverified.similarity) = (None, None);
    }
    check_page(&page(&SweepPage::new(&sweep, HOSTILE, HOSTILE)).unwrap());
    sweep.lines.clear();
    check_page(&page(&SweepPage::new(&sweep, "", "")).unwrap());
}

#[test]
fn parts_of_the_card_are_pages_of_their_own() {
    let corpus = TestCorpus::new();
    let report = corpus.report(true);
    let (found, plan) = (report.duplicates.as_ref().unwrap(), report.plan.as_ref().unwrap());
    let duplicates = DuplicatesPage::new(found, report.sizes.all.documents, HOSTILE);
    let plan = PlanPage::new(&plan.epoch, HOSTILE);
    for whole in [page(&duplicates).unwrap(), page(&plan).unwrap()] {
        check_page(&whole.replace("https://", ""));
    }
    // The style applies to one element alone.
    let whole = page(&duplicates).unwrap();
    let style = &whole[whole.find("<style>").unwrap() + 7..whole.find("</style>").unwrap()];
    for style in [style, super::notebook_style()] {
        let mut depth = 0;
        for line in style.lines().filter(|line| !line.is_empty()) {
            assert!(depth > 0 || line == ".corpusdb {", "{line}");
            depth += line.matches('{').count() as i64 - line.matches('}').count() as i64;
        }
        assert_eq!(depth, 0);
    }
    assert_eq!(duplicates.title(), format!("Duplicates: {HOSTILE}"));
    // The view-model is the page as JSON.
    let json = serde_json::to_value(CardPage::new(&report)).unwrap();
    assert_eq!(json["sizes"]["kept"]["documents"], report.sizes.kept.documents);
    assert_eq!(json["contents"]["plan"], "What a run gets");
}

/// The report on a corpus of documents with these sources, languages, numbers of words and scores.
fn report_of(documents: &[(String, String, u32, f64)]) -> CorpusReport {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("small");
    let policy = Policy::new(DedupMode::Exact, 1.0).unwrap();
    Corpus::init(&path, &policy, &[("score".to_owned(), FieldKind::Float)]).unwrap();
    let mut writer = Corpus::options().memory(64 << 20).threads(1).open_writer(&path).unwrap();
    for (at, (source, language, length, score)) in documents.iter().enumerate() {
        let words: Vec<String> = (0..*length).map(|word| format!("{source}x{word}")).collect();
        let record = Record::new(words.join(" "))
            .with_key(format!("https://{source}.example/{at}"))
            .with_field("language", language.as_str())
            .with_field("score", *score);
        let records = Records::new("documents", std::iter::once(record));
        writer.ingest(records, &IngestOptions::new(source), &Context::new()).unwrap();
    }
    writer.corpus().report(&ReportOptions::default(), &Context::new()).unwrap()
}

#[test]
fn undrawn_groups_are_summed_as_others() {
    // Sources of one language each, the smallest of which lost half of what came in.
    let documents = |of: u32| {
        let one = (format!("s{of}"), format!("l{of}"), 400 - 9 * of, 1.0);
        [one.clone(), (one.0.clone(), one.1.clone(), one.2 + u32::from(of < 16), 1.0)]
    };
    let page = card(&report_of(&(0..22).flat_map(documents).collect::<Vec<_>>()));
    check_page(&page.replace("https://", ""));
    assert!(
        page.contains("In every source nine documents of ten have the same language."),
        "{page}"
    );
    assert!(
        page.contains("</b> lost most: 50.0 % of its text") && !page.contains("<b>(others)</b>"),
        "{page}"
    );
    let heads = page.split("<thead>").find(|it| it.contains("Kept documents")).unwrap();
    assert!(heads.contains("<th scope=\"col\">(others)</th></tr>"), "{heads}");
    // Of 22 domains 20 are drawn, and the labels behind these bars add up to the total.
    let (_, domains) = page.split_once("section id=\"domains\"").unwrap();
    assert!(domains.contains("<span>(others)</span>"), "{domains}");
    // Counts have thousands separators, and equal medians are shown once.
    assert!(page.contains("Half of the kept documents have 2,"), "{page}");
    assert!(page.contains("the median is 1 in each source"), "{page}");
    assert!(page.contains("<bdi>kept then</bdi> <b>38</b>"), "{page}");
}

#[test]
fn one_document_is_a_singular() {
    let document = || ("web".to_owned(), "en".to_owned(), 9, 0.5);
    let report = report_of(&[document(), document()]);
    let page = card(&report);
    check_page(&page.replace("https://", ""));
    for sentence in [
        "1 of 2 documents is kept: 1 duplicate was removed.",
        "1 document has the same bytes as a kept document (50.0 %). There is 1 cluster.",
    ] {
        assert!(page.contains(sentence), "{sentence}: {page}");
    }
    let described = croissant(&report, None).unwrap().text;
    for sentence in
        ["of 1 document (", "from 1 source,", "Exact: 1 document.", "web: 1 document kept."]
    {
        assert!(described.contains(sentence), "{sentence}: {described}");
    }
    assert_eq!((cut_behind("abc", 2), cut_behind("abc", 3)), ("ab…".to_owned(), "abc".to_owned()));
}

// ---- tokenizers ----

/// A report on a byte-level tokenizer with a hostile token, under hostile names.
fn analysis(groups: &[&str]) -> AnalysisReport {
    const HOSTILE: &str = "<script>alert('x')</script>&\"";
    let mut tokens: Vec<String> = (33..=126u8).map(|byte| char::from(byte).to_string()).collect();
    tokens.extend(
        (0xa1..=0xacu32)
            .chain(0xae..=0xff)
            .chain(0x100..=0x143)
            .filter_map(|code| char::from_u32(code).map(String::from)),
    );
    assert_eq!(tokens.len(), 256);
    let mut merges = "#version: 0.2\n".to_owned();
    let mut sofar = String::new();
    for character in HOSTILE.chars() {
        if !sofar.is_empty() {
            writeln!(merges, "{sofar} {character}").unwrap();
        }
        sofar.push(character);
        tokens.push(sofar.clone());
    }
    writeln!(merges, "t h").unwrap();
    tokens.push("th".to_owned());
    tokens.dedup();
    let vocab: serde_json::Map<String, serde_json::Value> =
        tokens.into_iter().zip((0..).map(serde_json::Value::from)).collect();
    let vocab = serde_json::to_vec(&vocab).unwrap();
    let json = from_vocab_and_merges(&vocab, merges.as_bytes()).unwrap();
    let tokenizer = Tokenizer::load(&json, &[]).unwrap();
    let subject = AnalysedTokenizer::new(&tokenizer, &json).unwrap();
    let mut tally = AnalysisTally::new(&subject, groups.len());
    let mut counter = PretokenCounter::new(&json, groups.len(), 1000).unwrap();
    let mut baselines = BaselineTally::new(1000);
    for (group, name) in groups.iter().enumerate() {
        let text = format!("the {name} th\u{202e}e {HOSTILE} naïve 世界\n").repeat(group + 1);
        let mut ids = Vec::new();
        tokenizer.encoder().encode(&text, &mut ids).unwrap();
        tally.add_text(group, &TextWords::new(&text).unwrap(), &ids).unwrap();
        baselines.add_text(&TextWords::new(&text).unwrap());
        counter.add_text(group, &text).unwrap();
    }
    let names: Vec<String> = groups.iter().map(|name| (*name).to_owned()).collect();
    let curve = subject.curve(&names, &counter.finish(), 64, &Context::new()).unwrap();
    let first = tally.finish(HOSTILE, &names, curve).unwrap();
    let second = tally.finish("second", &names, Err(format!("because of {HOSTILE}"))).unwrap();
    AnalysisReport::new("source", HOSTILE, (9, 99), vec![first, second]).beside(baselines)
}

#[test]
fn the_page_of_tokenizers_is_well_formed_and_self_contained() {
    for groups in [&["all"][..], &["web", HOSTILE, "a\nb"]] {
        let page = page(&TokenizerPage::new(&analysis(groups), HOSTILE)).unwrap();
        check_page(&page);
        let elements = elements(&page);
        let count =
            |name: &str| elements.iter().filter(|e| e.split(' ').next() == Some(name)).count();
        assert_eq!((count("html"), count("head"), count("body")), (1, 1, 1));
        assert_eq!(count("section"), if groups.len() > 1 { 6 } else { 5 });
        assert!(count("svg") >= 5);
    }
}

#[test]
fn texts_and_vocabularies_are_escaped() {
    let page = page(&TokenizerPage::new(&analysis(&["web", HOSTILE]), HOSTILE)).unwrap();
    assert!(!page.contains("<script"));
    assert!(page.contains("&lt;script&gt;"));
    // A mark that turns the direction of the text would turn the page.
    assert!(!page.contains('\u{202e}'));
    assert_eq!(escape("<a b='\"&\u{1}\u{202e}>"), "&lt;a b=&#39;&quot;&amp;\u{fffd}\u{fffd}&gt;");
    assert_eq!(visible(" a\n<\t\u{200b}"), "<u>·</u>a<u>⏎</u>&lt;<u>⇥</u><u>U+200B</u>");
}

#[test]
fn the_page_of_tokenizers_is_deterministic() {
    let report = analysis(&["web", "books"]);
    let made = page(&TokenizerPage::new(&report, "crawl")).unwrap();
    assert_eq!(made, page(&TokenizerPage::new(&report, "crawl")).unwrap());
    assert!(made.contains("<h1>Tokenizers on crawl</h1>"), "{made}");
}

#[test]
fn a_corpus_is_called_by_its_directory_also_from_within() {
    let here = std::env::current_dir().unwrap();
    let name = here.file_name().unwrap().to_str().unwrap();
    assert_eq!(corpus_title(".".as_ref()), name);
    assert_eq!(corpus_title("data/crawl/".as_ref()), "crawl");
    assert_eq!(corpus_title("/".as_ref()), "/");
}
