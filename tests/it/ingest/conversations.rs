//! Conversations that share a system prompt, and templates that a tokenizer does not know.

use crate::support::{CHATML, TestDir, corpusdb, digest, ingest, init, numbers, sound};
use serde_json::{Value, json};

/// Words that have nothing in common with those of another number.
fn words(number: usize, count: usize) -> String {
    let words: Vec<String> = (0..count).map(|at| format!("w{number}x{at}")).collect();
    words.join(" ")
}

fn conversation(number: usize) -> Value {
    json!({"id": number, "messages": [
        {"role": "system", "content": words(9_999, 400)},
        {"role": "user", "content": words(number, 12)},
        {"role": "assistant", "content": words(number + 1_000, 12)}]})
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// Of 1,000 conversations with one system prompt of 1,971 words 447 were removed as near duplicates, unsaid.
#[test]
fn profile_chat_ignores_a_common_system_prompt() {
    let scratch = TestDir::new();
    let template = scratch.write("chatml.jinja", CHATML);
    let mut records: Vec<Value> = (0..60).map(conversation).collect();
    // One with other spaces and capitals, one with another prompt, one of another shape.
    let mut alike = conversation(7);
    alike["id"] = json!("alike");
    alike["messages"][1]["content"] = json!(format!(" {}!", words(7, 12).to_uppercase()));
    let mut other = conversation(8);
    other["id"] = json!("other");
    other["messages"][0]["content"] = json!(words(5_555, 300));
    let pair = json!({"id": "pair", "prompt": words(70, 9), "completion": words(71, 9)});
    records.extend([alike, other, pair]);
    let path = scratch.write("a.jsonl", lines(&records));
    let chat =
        ["--source", "chats", "--id-field", "id", "--chat", "auto", "--chat-template", &template];
    let whole = scratch.arg("whole");
    init(&whole, &[]);
    let report = ingest(&whole, &[&path], &chat);
    assert!(numbers(&report, ["near_duplicates"])[0] > 50, "{report}");
    assert_eq!(report["alarms"][0]["kind"], "whole-chats", "{report}");

    let corpus = scratch.arg("chats");
    init(&corpus, &["--profile", "chat"]);
    let report = ingest(&corpus, &[&path], &[&chat[..], &["--batch-bytes", "8KiB"]].concat());
    assert_eq!(numbers(&report, ["added", "kept", "near_duplicates"]), [63, 61, 2], "{report}");
    assert_eq!(report["alarms"], json!([]));
    assert!(report["policy"].as_str().unwrap().contains("the content of turns"), "{report}");
    sound(&corpus);
    // New content under known keys, in another shape of the same text.
    let split = json!({"id": "pair", "messages": [
        {"role": "user", "content": words(70, 9)}, {"role": "assistant", "content": words(71, 9)}]});
    let next = scratch.write("b.jsonl", lines(&[split, conversation(3)]));
    ingest(&corpus, &[&next], &chat);
    sound(&corpus);
    let before = digest(&corpus);
    corpusdb(&["dedup", "redo", &corpus]).good();
    assert_eq!(digest(&corpus), before);
    sound(&corpus);
    let similar = corpusdb(&["similar", &corpus, "7", "--all", "--json"]).good().stdout;
    assert!(similar.contains("\"jaccard\":1.0"), "{similar}");
    let told = corpusdb(&["dedup", "explain", &corpus]).good().stdout;
    assert!(told.contains("compares") && told.contains("turns"), "{told}");
    let told = corpusdb(&["dedup", "explain", "--compare", "turns"]).good().stdout;
    assert!(told.contains("system messages"), "{told}");
    let info = corpusdb(&["info", &corpus]).good().stdout;
    assert!(info.contains("the content of turns"), "{info}");
}

/// GPT-2 read `<|im_start|>` as seven ordinary tokens, and nothing was said.
#[test]
fn templates_need_markers_that_the_tokenizer_has() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--profile", "chat"]);
    let plain = json!({
        "version": "1.0", "truncation": null, "padding": null, "normalizer": null,
        "post_processor": null, "decoder": null, "pre_tokenizer": {"type": "Whitespace"},
        "added_tokens": [{"id": 1, "content": "<|im_end|>", "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": true}],
        "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "<|im_end|>": 1}, "unk_token": "[UNK]"}
    });
    let tokenizer = scratch.write("plain.json", plain.to_string());
    corpusdb(&["tokenizer", "add", &corpus, "plain", &tokenizer]).good();
    let template = scratch.write("chatml.jinja", CHATML);
    let path = scratch.write("a.jsonl", lines(&[conversation(1)]));
    let chat = ["--chat", "messages", "--chat-template", &template];
    let chat = [&["ingest", &corpus, &path, "--source", "chats"], &chat[..]].concat();
    corpusdb(&chat).fails(&[
        "plain",
        "`<|im_start|>`",
        "ordinary tokens",
        "--template-markers text",
    ]);
    assert_eq!(corpusdb(&["count", &corpus]).good().stdout.trim(), "0");
    let ran = corpusdb(&[&chat[..], &["--template-markers", "text", "--json"]].concat()).good();
    assert_eq!(ran.json()["alarms"][0]["kind"], "marker-as-text", "{ran}");
    // One that comes later is told of.
    let late = scratch.write("late.json", plain.to_string().replace("<|im_end|>", "<|end|>"));
    let ran = corpusdb(&["tokenizer", "add", &corpus, "late", &late]).good();
    assert!(ran.stderr.contains("<|im_end|>") && ran.stderr.contains("<|im_start|>"), "{ran}");
    sound(&corpus);
}

#[test]
fn input_cannot_set_the_compared_text_of_a_conversation() {
    let scratch = TestDir::new();
    let template = scratch.write("chatml.jinja", CHATML);
    let corpus = scratch.arg("chats");
    init(&corpus, &["--profile", "chat", "--field", "instruction:keyword", "--field", "n:int"]);
    let record = json!({"id": "a", "instruction": words(1, 12), "output": words(2, 12)});
    let path = scratch.write("a.jsonl", lines(&[record]));
    let chat = ["--source", "chats", "--id-field", "id", "--chat", "alpaca", "--chat-template"];
    ingest(&corpus, &[&path], &[&chat[..], &[&template]].concat());
    let before = digest(&corpus);
    let values =
        scratch.write("values.jsonl", "{\"id\": 0, \"instruction\": \"other words\", \"n\": 3}\n");
    let set = |columns: &str| {
        corpusdb(&["field", "set", &corpus, "--from", &values, "--on", "id", "--columns", columns])
    };
    set("instruction")
        .fails(&["document 0 is compared by the content of its fields", "`instruction`"]);
    assert_eq!(digest(&corpus), before);
    set("n").good();
    sound(&corpus);
}
