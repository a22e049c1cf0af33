//! Tests of canonical JSON, member by member.

use super::*;
use crate::json_number::is_number;
use proptest::prelude::*;

fn form(json: &str) -> Result<String, String> {
    canonical(json).map(|canonical| canonical.json)
}

#[test]
fn numbers_keep_their_value_in_one_spelling() {
    for (spelled, expected) in [
        ("0", "0"),
        ("-0", "0"),
        ("7", "7"),
        ("-12", "-12"),
        ("18446744073709551616", "18446744073709551616"),
        ("1234567890123456789012345678901234567890", "1234567890123456789012345678901234567890"),
        ("-0.0", "-0.0"),
        ("0e7", "0.0"),
        ("7.0", "7.0"),
        ("1.50", "1.5"),
        ("1e3", "1000.0"),
        ("1E+3", "1000.0"),
        ("10.00e-1", "1.0"),
        ("0.1", "0.1"),
        ("1e16", "1e16"),
        ("100000000000000000000.0", "1e20"),
        ("123456789012345678e-5", "1234567890123.45678"),
        ("0.10000000000000000001", "0.10000000000000000001"),
        ("0.100000000000000000010", "0.10000000000000000001"),
        ("1.0000000000000000001e-3", "0.0010000000000000000001"),
        ("1e400", "1e400"),
        ("-10.0E+399", "-1e400"),
        ("1e-400", "1e-400"),
        ("1.2345e-400", "1.2345e-400"),
        ("0.00001", "0.00001"),
        ("1e-5", "0.00001"),
        ("0.000001", "1e-6"),
        ("9007199254740993.0", "9007199254740993.0"),
        ("1e99999999999", "1e99999999999"),
    ] {
        assert_eq!(number(spelled), expected, "{spelled}");
        assert_eq!(number(expected), expected, "{spelled}, again");
    }
}

#[test]
fn values_have_one_spelling() {
    for (json, expected) in [
        (
            "{ \"a\" : [ 1 , 2.50, null ] ,\n\"b\":{\"c\": null, \"d\": {} } }",
            "{\"a\":[1,2.5,null],\"b\":{\"c\":null,\"d\":{}}}",
        ),
        ("{\"\\u0061\\/\":\"\\u0418\\n\\ud83d\\ude00\\u0000\"}", "{\"a/\":\"И\\n😀\\u0000\"}"),
        ("\"a \\\" , b\"", "\"a \\\" , b\""),
        ("[]", "[]"),
        (" [ ] ", "[]"),
        ("{\"a\": null}", "{\"a\":null}"),
        ("{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}"),
        ("{\"a\":1,\"b\":2,\"\\u0061\":null}", "{\"a\":null,\"b\":2}"),
        (
            "{\"a\":{\"x\":1,\"x\":[{\"y\":null,\"y\":1}]},\"a\\n\":true}",
            "{\"a\":{\"x\":[{\"y\":1}]},\"a\\n\":true}",
        ),
        ("{\"\":1,\"\\\"\":2,\"\\\\\":3}", "{\"\":1,\"\\\"\":2,\"\\\\\":3}"),
    ] {
        assert_eq!(form(json).as_deref(), Ok(expected), "{json}");
    }
    for half in ["\"\\ud800\"", "{\"a\\udc00\":1}", "{\"a\":[\"\\ud800x\"]}"] {
        assert!(form(half).unwrap_err().contains("surrogate"), "{half}");
    }
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(form(&nested(MAX_DEPTH)), Ok(nested(MAX_DEPTH)));
    assert!(form(&nested(MAX_DEPTH + 1)).unwrap_err().contains("512"));
    let many: String = (0..100).map(|n| format!("\"m{n}\":{n},")).collect();
    let doubled = format!("{{{many}\"m7\":\"x\"}}");
    let expected =
        format!("{{{}}}", many.trim_end_matches(',')).replace("\"m7\":7", "\"m7\":\"x\"");
    assert_eq!(form(&doubled), Ok(expected));
}

#[test]
fn doubled_names_within_one_another_are_written_in_linear_time() {
    let nested = (0..400).fold("1".to_owned(), |inner, _| format!("{{\"a\":0,\"a\":{inner}}}"));
    assert_eq!(form(&nested).unwrap().matches("\"a\"").count(), 400);
}

#[test]
fn numbers_that_json_does_not_know_are_null_and_counted() {
    let json = "{\"NaN\":NaN,\"a\":[-Infinity,Infinity,\"NaN \\\" NaN\"],\"b\":\"\\\\\",\"c\":NaN}";
    let expected = "{\"NaN\":null,\"a\":[null,null,\"NaN \\\" NaN\"],\"b\":\"\\\\\",\"c\":null}";
    let fields = vec![("NaN".to_owned(), "NaN"), ("c".to_owned(), "NaN")];
    assert_eq!(
        without_not_finite(json),
        Some((expected.to_owned(), NotFinite { count: 4, fields }))
    );
    assert_eq!(without_not_finite("{\"a\":\"Infinity\"}"), None);
    assert_eq!(without_not_finite("\"a\\"), None);
}

#[test]
fn a_number_is_what_json_spells_as_one() {
    for text in ["0", "-1", "1.50", "1e5", "18446744073709551616", "1e999", "-0.0"] {
        assert!(is_number(text), "{text}");
    }
    for text in ["", "-", "007", "+1", "1.", ".5", "NaN", "1 ", " 1", "true", "1e", "0x1"] {
        assert!(!is_number(text), "{text}");
    }
}

/// A value, and a spelling of it with spaces, escapes and other forms of numbers.
fn spelled() -> impl Strategy<Value = (Value, String)> {
    let text = || "[a-c\"\\\\/\n\u{418}\u{1f600}]{0,4}";
    let escaped = |text: &str| {
        let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
        format!("\"{units}\"")
    };
    let leaf = prop_oneof![
        Just((Value::Null, "null".to_owned())),
        any::<bool>().prop_map(|truth| (Value::from(truth), truth.to_string())),
        any::<i64>().prop_map(|whole| (Value::from(whole), whole.to_string())),
        (-9999_i32..9999, 0_i32..4).prop_map(|(digits, exponent)| {
            // Before the point JSON knows no zero but a single one.
            let last = if digits == 0 { "" } else { "0" };
            let spelled = format!("{digits}{last}E-{}", exponent + 1);
            let value: f64 = spelled.parse().unwrap();
            (Value::from(value), spelled)
        }),
        (text(), any::<bool>()).prop_map(move |(text, is_escaped)| {
            let spelled = if is_escaped { escaped(&text) } else { json_string(&text) };
            (Value::from(text), spelled)
        }),
    ];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(|all| {
                let spelled: Vec<String> = all.iter().map(|(_, spelled)| spelled.clone()).collect();
                let values = all.into_iter().map(|(value, _)| value).collect();
                (Value::Array(values), format!("[ {} ]", spelled.join(" ,\t")))
            }),
            proptest::collection::vec((text(), inner), 0..5).prop_map(move |all| {
                let spelled: Vec<String> = all
                    .iter()
                    .map(|(name, (_, spelled))| format!("{} : {spelled}", escaped(name)))
                    .collect();
                // The last of a name counts, at the first place.
                let mut members = serde_json::Map::new();
                for (name, (value, _)) in all {
                    members.insert(name, value);
                }
                (Value::Object(members), format!("{{\n{} }}", spelled.join(" ,")))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn every_spelling_of_a_value_comes_to_the_same((value, spelled) in spelled()) {
        let canonical_form = form(&spelled).unwrap();
        prop_assert_eq!(&canonical_form, &value.to_string());
        prop_assert_eq!(form(&canonical_form).unwrap(), canonical_form.clone());
        prop_assert!(!canonical(&canonical_form).unwrap().is_other_value);
        prop_assert_eq!(parse(&canonical_form).unwrap(), value);
    }

    #[test]
    fn no_text_panics(json in "[\\[\\]{}\",:\\\\eEntul0-9.+ -]{0,24}") {
        let _ = (form(&json), number(&json), is_number(&json), without_not_finite(&json));
    }
}
