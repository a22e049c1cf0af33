//! Laws of conditions on incoming records.

use super::*;
use proptest::prelude::*;

fn verdicts(condition: &str, records: &[&str]) -> Vec<IncomingVerdict> {
    let condition = RecordCondition::new(condition).unwrap();
    condition.verdicts(&records.iter().map(|fields| incoming(fields)).collect::<Vec<_>>())
}

fn incoming(fields: &str) -> Incoming<'_> {
    Incoming { key: Some("k1"), source: "web", text: Some("one two"), fields }
}

fn comes_in(condition: &str, fields: &str) -> bool {
    match &verdicts(condition, &[fields])[..] {
        [IncomingVerdict::In] => true,
        [IncomingVerdict::Out] => false,
        other => panic!("{condition} of {fields}: {other:?}"),
    }
}

#[test]
fn conditions_are_answered_by_the_values_of_a_record() {
    for (condition, fields, expected) in [
        ("score > 0.5 AND lang = 'de'", r#"{"score":0.75,"lang":"de"}"#, true),
        ("score > 0.5 AND lang = 'de'", r#"{"score":1,"lang":"de"}"#, true),
        ("score > 0.5 AND lang = 'de'", r#"{"score":1,"lang":"en"}"#, false),
        ("score > 0.5", "{}", false),
        ("NOT (score > 0.5)", "{}", false),
        ("score IS NULL", r#"{"score":null}"#, true),
        ("coalesce(score, 1) > 0.5", "{}", true),
        ("good", r#"{"good":true}"#, true),
        ("good", r#"{"good":false}"#, false),
        ("lang IN ('de', 'en')", r#"{"lang":"en"}"#, true),
        ("lang LIKE 'd%'", r#"{"lang":"de"}"#, true),
        ("lower(lang) = 'de'", r#"{"lang":"DE"}"#, true),
        ("lower(lang) = 'de'", "{}", false),
        ("score + 1 > 2", "{}", false),
        ("\"Lang\" = 'de' -- comment", r#"{"Lang":"de"}"#, true),
        ("Lang = 'de'", r#"{"Lang":"de"}"#, false),
        ("tags LIKE '%\"b\"%'", r#"{"tags":["a","b"]}"#, true),
        ("bytes = 7 AND chars = 7 AND text = 'one two'", "{}", true),
        ("key = 'k1' AND source = 'web'", r#"{"source":"other","key":1}"#, true),
        ("meta LIKE '%other%'", r#"{"source":"other"}"#, true),
        ("octet_length(text) BETWEEN 1 AND 10", "{}", true),
        ("1 = 1", "{}", true),
    ] {
        assert_eq!(comes_in(condition, fields), expected, "{condition} of {fields}");
    }
}

#[test]
fn invalid_conditions_are_refused_at_once() {
    let deep = vec!["a = 1"; 500].join(" AND b = 2 OR ");
    for (condition, words) in [
        ("score >", "Expected"),
        ("score > 1; DROP TABLE x", ""),
        ("score + 1", "not a condition"),
        ("score > 1 OR key IN ('a', 1)", "`key` is text"),
        ("random() > 0.5", "random()"),
        ("now() > day", "now()"),
        ("count(*) > 1", "several records"),
        ("score > (SELECT 1)", "a subquery"),
        ("nofunction(score)", "nofunction"),
        (deep.as_str(), "operators"),
    ] {
        let error = RecordCondition::new(condition).err().map(|e| e.to_string());
        let error = error.unwrap_or_else(|| panic!("{condition} is taken"));
        assert!(error.contains(words), "{condition}: {error}");
    }
}

#[test]
fn a_record_without_an_answer_is_an_error_of_its_own() {
    let records = [r#"{"score":1}"#, r#"{"score":"many"}"#, r#"{"score":"3"}"#, r#"{"score":0}"#];
    let found = verdicts("CAST(score AS DOUBLE) > 0.5", &records);
    assert_eq!(
        (&found[0], &found[2], &found[3]),
        (&IncomingVerdict::In, &IncomingVerdict::In, &IncomingVerdict::Out)
    );
    assert!(
        matches!(&found[1], IncomingVerdict::Unanswered(why) if why.contains("many")),
        "{found:?}"
    );
}

#[test]
fn fields_that_no_record_had_are_known() {
    let condition = RecordCondition::new("scroe > 1 OR lang = 'de' OR bytes > 1").unwrap();
    assert_eq!(condition.unseen(), ["lang", "scroe"]);
    condition.verdicts(&[incoming(r#"{"score":1,"lang":"en"}"#)]);
    assert_eq!(condition.unseen(), ["scroe"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(64)))]

    /// Whichever records are asked together, each has the verdict that it has alone.
    #[test]
    fn the_verdict_on_a_record_is_its_own(
        values in prop::collection::vec((0usize..7, 0usize..4), 1..40),
        cut in 1usize..40,
    ) {
        let scores = ["1", "0", "0.75", "\"0.9\"", "\"x\"", "null", "true"];
        let langs = ["\"de\"", "\"en\"", "null", "7"];
        let record = |(score, lang): &(usize, usize)| {
            format!("{{\"score\":{},\"lang\":{}}}", scores[*score], langs[*lang])
        };
        let records: Vec<String> = values.iter().map(record).collect();
        let records: Vec<Incoming<'_>> = records.iter().map(|fields| incoming(fields)).collect();
        let sql = "CAST(score AS DOUBLE) >= 0.75 AND lang <> 'en'";
        let together = RecordCondition::new(sql).unwrap();
        let alone = RecordCondition::new(sql).unwrap();
        let each: Vec<IncomingVerdict> = records.iter().flat_map(|it| alone.verdicts(&[*it])).collect();
        let all: Vec<IncomingVerdict> =
            records.chunks(cut).flat_map(|records| together.verdicts(records)).collect();
        prop_assert_eq!(all, each);
    }
}
