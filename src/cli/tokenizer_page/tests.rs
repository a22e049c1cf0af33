//! The page is well formed, needs nothing from outside, and escapes all that is not ours.

use super::page;
use crate::cli::page::html::{escape, visible};
use crate::cli::page::tests::elements;
use corpusdb::Context;
use corpusdb::tokenizer::analyse::{AnalysisReport, PretokenCounter, Subject, Tally, TextWords};
use corpusdb::tokenizer::{Tokenizer, from_vocab_and_merges};
use std::fmt::Write as _;

const HOSTILE: &str = "<script>alert('x')</script>&\"";

/// A byte-level tokenizer, one of whose tokens is [`HOSTILE`], and a report on it under hostile names.
fn report(groups: &[&str]) -> AnalysisReport {
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
    let subject = Subject::new(&tokenizer, &json).unwrap();
    let mut tally = Tally::new(&subject, groups.len());
    let mut counter = PretokenCounter::new(&json, groups.len(), 1000).unwrap();
    for (group, name) in groups.iter().enumerate() {
        let text = format!("the {name} th\u{202e}e {HOSTILE} naïve 世界\n").repeat(group + 1);
        let mut ids = Vec::new();
        tokenizer.encoder().encode(&text, &mut ids).unwrap();
        tally.feed(group, &TextWords::new(&text).unwrap(), &ids).unwrap();
        counter.feed(group, &text).unwrap();
    }
    let names: Vec<String> = groups.iter().map(|name| (*name).to_owned()).collect();
    let curve = subject.curve(&names, &counter.finish(), 64, &Context::new()).unwrap();
    let first = tally.finish(HOSTILE, &names, curve).unwrap();
    let second = tally.finish("second", &names, Err(format!("because of {HOSTILE}"))).unwrap();
    AnalysisReport::new("source", HOSTILE, (9, 99), vec![first, second])
}

#[test]
fn the_page_is_well_formed_and_needs_nothing_from_outside() {
    for groups in [&["all"][..], &["web", HOSTILE, "a\nb"]] {
        let page = page(&report(groups), HOSTILE);
        let elements = elements(&page);
        for element in &elements {
            let name = element.split(' ').next().unwrap();
            assert!(!["script", "link", "img", "iframe", "object", "a", "base"].contains(&name));
            for attribute in ["src=", "href=", "onload", "onclick", "url("] {
                assert!(!element.contains(attribute), "{element}");
            }
        }
        assert!(!page.contains("@import") && !page.contains("url("));
        let count =
            |name: &str| elements.iter().filter(|e| e.split(' ').next() == Some(name)).count();
        assert_eq!((count("html"), count("head"), count("body"), count("style")), (1, 1, 1, 1));
        assert_eq!(count("section"), if groups.len() > 1 { 6 } else { 5 });
        assert!(count("svg") >= 5);
        assert!(!page.contains("NaN") && !page.contains("inf\""));
    }
}

#[test]
fn what_comes_from_the_corpus_is_escaped() {
    let page = page(&report(&["web", HOSTILE]), HOSTILE);
    assert!(!page.contains("<script"));
    assert!(page.contains("&lt;script&gt;"));
    // A mark that turns the direction of the text would turn the page.
    assert!(!page.contains('\u{202e}'));
    assert_eq!(escape("<a b='\"&\u{1}\u{202e}>"), "&lt;a b=&#39;&quot;&amp;\u{fffd}\u{fffd}&gt;");
    assert_eq!(visible(" a\n<\t\u{200b}"), "<u>·</u>a<u>⏎</u>&lt;<u>⇥</u><u>U+200B</u>");
}

#[test]
fn the_page_is_the_same_each_time() {
    let groups = ["web", "books"];
    assert_eq!(page(&report(&groups), "corpus"), page(&report(&groups), "corpus"));
}
