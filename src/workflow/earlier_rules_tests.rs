//! Tests data that an earlier release stored by other rules: it stays, is reported, and is remade on request.

use crate::corpus::{Corpus, CorpusWriter};
use crate::curate::{self, Judgement, NewSignals, NewSuite};
use crate::ingest::{IngestOptions, Record, Records};
use model::{Context, DedupMode, DocId, Normaliser, Policy, SuiteGram, SuiteVerdict};
use store::{CheckDepth, CommitRecord, FieldRecord};
use text::contamination::{ContaminationRule, ITEM_RULE, SuiteItem};
use text::signals::Signal;

const ASKED: &str = "How many loaves does the baker Wanda sell on Saturday when her oven is out of order and the neighbour lends her his own one?";

fn parts(answers: &[&str]) -> [Vec<String>; 3] {
    let answers = answers.iter().map(|answer| (*answer).to_owned());
    [vec![ASKED.to_owned()], answers.collect(), Vec::new()]
}

fn ingest(writer: &mut CorpusWriter, source: &str, texts: &[&str]) {
    let records = Records::new(source, texts.iter().map(|text| Record::new((*text).to_owned())));
    writer.ingest(records, &IngestOptions::new(source), &Context::new()).unwrap();
}

/// A new corpus of these texts, in a directory of its own.
fn fresh(texts: &[&str]) -> (tempfile::TempDir, CorpusWriter) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("corpus");
    Corpus::init(&path, &Policy::new(DedupMode::None, 0.8).unwrap(), &[]).unwrap();
    let mut writer = CorpusWriter::open(&path).unwrap();
    ingest(&mut writer, "web", texts);
    (directory, writer)
}

fn states(writer: &CorpusWriter) -> Vec<(&'static str, Option<u16>)> {
    let names = ["lang", "pii_flags", "word_count"];
    let all = writer.corpus().signals().unwrap();
    let of = |name: &&str| all.iter().find(|one| one.name == *name).unwrap();
    names.iter().map(of).map(|one| (one.state, one.stored_version)).collect()
}

#[test]
fn signals_of_an_earlier_version_are_named_and_computed_again() {
    let (_directory, mut writer) =
        fresh(&["Write to jörg@example.org about the old ferry, please."]);
    let signals = ["lang", "pii_flags", "word_count"].map(|name| Signal::from_name(name).unwrap());
    let new = NewSignals { signals: signals.to_vec(), batch: 64 };
    writer.add_signals(&new, &Context::new()).unwrap();
    assert_eq!(states(&writer), [("stored", Some(3)), ("stored", Some(3)), ("stored", Some(1))]);
    // As if an earlier release had stored the signal.
    let (id, record) =
        writer.view().added_fields().iter().find(|one| one.1.name == "lang").unwrap();
    let (id, record) =
        (*id, FieldRecord { expression: Some("lang(text)".to_owned()), ..record.clone() });
    let mut batch = writer.store().begin().unwrap();
    batch.put_field(id, Some(&record)).unwrap();
    batch.commit(&CommitRecord::about("field", "lang")).unwrap();
    assert_eq!(states(&writer), [("outdated", Some(1)), ("stored", Some(3)), ("stored", Some(1))]);
    assert_eq!(writer.corpus().info().unwrap().outdated_signals, ["lang"]);
    // New documents get its value by the rule of this release.
    ingest(
        &mut writer,
        "more",
        &["And the boat of that man has to be in the harbour by the evening."],
    );
    let report = writer.add_signals(&new, &Context::new()).unwrap();
    assert_eq!((report.outdated, report.known), (vec!["lang"], vec!["pii_flags", "word_count"]));
    assert_eq!(report.documents, 2);
    assert_eq!(states(&writer), [("stored", Some(3)), ("stored", Some(3)), ("stored", Some(1))]);
    // A version of a later release is not this signal.
    let record =
        FieldRecord { expression: Some("lang(text) /* version 4 */".to_owned()), ..record };
    let id = writer.view().field_named("lang").unwrap().id;
    let mut batch = writer.store().begin().unwrap();
    batch.put_field(id, Some(&record)).unwrap();
    batch.commit(&CommitRecord::about("field", "lang")).unwrap();
    assert_eq!(states(&writer)[0], ("other", None));
    let refused = writer.add_signals(&new, &Context::new()).unwrap_err().to_string();
    assert!(refused.contains("`lang` is declared already"), "{refused}");
    let records = Records::new("web", [Record::new("x".to_owned())]);
    let refused = writer.ingest(records, &IngestOptions::new("web"), &Context::new()).unwrap_err();
    assert!(
        refused.to_string().contains("`lang(text) /* version 4 */`, which this release"),
        "{refused}"
    );
}

#[test]
fn suites_keep_the_word_rules_that_they_were_stored_by() {
    let hidden: String = ASKED.chars().flat_map(|letter| [letter, '\u{200b}']).collect();
    let (_directory, mut writer) = fresh(&[ASKED, &hidden]);
    let items = [SuiteItem { id: "a".to_owned(), parts: parts(&["40"]) }];
    let rule = ITEM_RULE;
    let suite = |name, normaliser| NewSuite { name, items: &items, files: &[], normaliser, rule };
    let add = |writer: &mut CorpusWriter, name, normaliser| {
        curate::add_suite(writer.store(), &suite(name, normaliser), &Context::new()).unwrap()
    };
    let first = add(&mut writer, "before", Normaliser::Web);
    assert_eq!((first.sighted, first.normaliser.as_str()), (1, "web@1"));
    let second = add(&mut writer, "now", NewSuite::NORMALISER);
    assert_eq!((second.sighted, second.normaliser.as_str()), (2, "web@2"));
    // The same call changes nothing, whatever normaliser it asks for now.
    let again = add(&mut writer, "before", NewSuite::NORMALISER);
    assert_eq!((again.commits, again.normaliser.as_str()), (0, "web@1"));
    assert!(again.has_earlier_words() && !second.has_earlier_words());
    // New texts are searched for both suites, each by its own rule.
    ingest(&mut writer, "more", &[ASKED, &hidden, "nothing of it"]);
    let rule = ContaminationRule::default();
    let found = |writer: &CorpusWriter, name: &str| {
        let found = writer.corpus().suite_evidence(name, &rule, 10).unwrap();
        let mut found: Vec<u64> = found.iter().filter_map(|one| one.document).collect();
        found.sort_unstable();
        found
    };
    assert_eq!(found(&writer, "before"), [0, 2]);
    assert_eq!(found(&writer, "now"), [0, 1, 2, 3]);
    assert!(writer.corpus().check(CheckDepth::Deep, &Context::new()).unwrap().is_empty());
}

#[test]
fn suites_that_an_earlier_rule_read_are_named_and_made_again() {
    let (_directory, mut writer) = fresh(&[ASKED, "nothing of it"]);
    let add = |writer: &mut CorpusWriter, rule, answers: &[&str]| {
        let items = [SuiteItem { id: "a".to_owned(), parts: parts(answers) }];
        let normaliser = NewSuite::NORMALISER;
        let new = NewSuite { name: "s", items: &items, files: &[], normaliser, rule };
        curate::add_suite(writer.store(), &new, &Context::new())
    };
    let outdated = |writer: &CorpusWriter| {
        let [suite] = &writer.corpus().suites().unwrap()[..] else { panic!("one suite") };
        (suite.outdated, writer.corpus().info().unwrap().outdated_suites.len())
    };
    add(&mut writer, 1, &["forty"]).unwrap();
    assert_eq!(outdated(&writer), (true, 1));
    let judged = Judgement {
        suite: "s".to_owned(),
        item: "a".to_owned(),
        document: DocId(0),
        verdict: Some(SuiteVerdict::Rejected),
    };
    writer.judge(&[judged]).unwrap();
    // The new items replace those of the same names; verdicts stay.
    let again = add(&mut writer, ITEM_RULE, &["forty", "40"]).unwrap();
    assert!(again.renewed && again.searched == 2 && again.sighted == 1, "{again:?}");
    assert_eq!(outdated(&writer), (false, 0));
    let found = writer.corpus().suite_evidence("s", &ContaminationRule::default(), 10).unwrap();
    assert_eq!(
        (found.len(), found[0].verdict, found[0].contaminated),
        (1, Some("rejected"), false)
    );
    assert!(writer.corpus().check(CheckDepth::Deep, &Context::new()).unwrap().is_empty());
    // A suite of this rule is only made again by `drop` and `add`.
    let refused = add(&mut writer, ITEM_RULE, &["forty"]).unwrap_err().to_string();
    assert!(refused.contains("`s` exists already"), "{refused}");
}

#[test]
fn the_same_items_by_another_rule_only_lose_their_mark() {
    let (_directory, mut writer) = fresh(&[ASKED]);
    let items = [SuiteItem { id: "a".to_owned(), parts: parts(&["40"]) }];
    let new = |rule| NewSuite {
        name: "s",
        items: &items,
        files: &[],
        normaliser: NewSuite::NORMALISER,
        rule,
    };
    let add = |writer: &mut CorpusWriter, rule| {
        let report = curate::add_suite(writer.store(), &new(rule), &Context::new()).unwrap();
        (report.commits, report.searched, report.renewed)
    };
    add(&mut writer, 1);
    assert_eq!(add(&mut writer, 1), (0, 0, false));
    assert_eq!(add(&mut writer, ITEM_RULE), (1, 0, false));
    assert_eq!(add(&mut writer, ITEM_RULE), (0, 0, false));
    assert!(!writer.corpus().suites().unwrap()[0].outdated);
}

#[test]
fn a_damaged_row_of_a_suite_is_named_and_asks_for_no_memory() {
    let (_directory, mut writer) = fresh(&[ASKED]);
    let items = [SuiteItem { id: "a".to_owned(), parts: parts(&["40"]) }];
    let new = NewSuite {
        name: "s",
        items: &items,
        files: &[],
        normaliser: NewSuite::NORMALISER,
        rule: ITEM_RULE,
    };
    curate::add_suite(writer.store(), &new, &Context::new()).unwrap();
    let (suite, record) = writer.view().expect_suite("s").unwrap();
    let rows: Vec<_> = writer.view().suite_grams(suite).unwrap().collect::<Result<_, _>>().unwrap();
    let seed = |row: &&(u64, SuiteGram)| matches!(row.1, SuiteGram::Seed(..));
    let (hash, sound) = rows.iter().find(seed).unwrap().clone();
    let SuiteGram::Seed(number, places) = &sound else { panic!("{sound:?}") };
    let mut far = places.clone();
    far[0].position = u32::MAX - 1;
    let damaged = [
        (SuiteGram::Seed(u32::MAX - 1, places.clone()), format!("of {} n-grams", record.grams)),
        (SuiteGram::Seed(*number, far), "position 4294967294 in a part".to_owned()),
    ];
    for (gram, why) in damaged {
        let mut batch = writer.store().begin().unwrap();
        batch.put_suite_grams(suite, [(hash, &gram)].into_iter()).unwrap();
        batch.commit(&CommitRecord::about("contamination", "s")).unwrap();
        let error = writer.corpus().suite_evidence("s", &ContaminationRule::default(), 10);
        let error = error.unwrap_err().to_string();
        let row =
            format!("corrupt n-gram of a suite in family suite_ngrams, key 00000000{hash:016x}");
        assert!(error.contains(&row) && error.contains(&why), "{error}");
    }
}
