//! Chat templates: conversations under one system prompt, unknown templates, and values as Jinja writes them.

use crate::support::{
    CHATML, Random, TestDir, corpusdb, corpusdb_test, digest, ingest, init, numbers, python,
    python_has, seeds, sound,
};
use serde_json::{Value, json};
use std::fmt::Write;

// ----
// Conversations that share a system prompt, and templates that a tokenizer does not know.

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

// Of 1,000 conversations with one system prompt of 1,971 words 447 were removed as near duplicates, unsaid.
corpusdb_test!(profile_chat_ignores_a_common_system_prompt, |scratch| {
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
    scratch.ingest(&corpus, "b.jsonl", lines(&[split, conversation(3)]), &chat);
    sound(&corpus);
    let before = digest(&corpus);
    corpusdb(&["dedup", "redo", &corpus]).good();
    assert_eq!(digest(&corpus), before);
    sound(&corpus);
    corpusdb(&["similar", &corpus, "7", "--all", "--json"]).good().prints(&["\"jaccard\":1.0"]);
    corpusdb(&["dedup", "explain", &corpus]).good().prints(&["compares", "turns"]);
    corpusdb(&["dedup", "explain", "--compare", "turns"]).good().prints(&["system messages"]);
    corpusdb(&["info", &corpus]).good().prints(&["the content of turns"]);
});

// GPT-2 read `<|im_start|>` as seven ordinary tokens, and nothing was said.
corpusdb_test!(templates_need_markers_that_the_tokenizer_has, |scratch| {
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
});

corpusdb_test!(input_cannot_set_the_compared_text_of_a_conversation, |scratch| {
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
});

// ----
// Numbers, texts and objects as chat templates write them, held against Jinja under Python where that is there.

/// Every way in which a value comes to be written.
const TEMPLATE: &str = "{% for v in values %}
{{ v }} {{ v | tojson }} {{ '' ~ v }} {{ v ~ ';' }} {{ v | string }} {{ v | string | length }}
{{ [v, 'x', v] | join(', ') }} {{ v | upper }} {{ v | trim }} {{ v | replace('e', 'E') }} {{ v | e }}
{{ '%s|%9s|%-30s|' | format(v, 'a', v) }} {{ '{}|{:>30}|{0}'.replace('{0}', '') .format(v, v) }} {{ '{0:*^40}'.format(v) }}
{{ [v, [v]] ~ '' }} {{ {'a': v} | string }} {{ [v] | map('string') | join }}
{{ v | round(3) if v is float else v | int }} {{ v is number }} {{ v is integer }}
{% set ns = namespace(x=v) %}{% set block %}{{ ns.x }}{% endset %}{{ block }} {{ -v if v is float else v }}
{% endfor %}
{{ values | tojson(indent=2) }} {{ values | tojson(separators=(',', ':')) }}
{{ tools | tojson }} {{ tools | tojson(sort_keys=true, ensure_ascii=true, indent=1) }} {{ tools ~ '' }}
{% for name, v in tools[0].items() %}{{ name }}={{ v if v is string else v | tojson }};{% endfor %}";

/// As transformers has it.
const JUDGE: &str = r#"
import json, sys
from jinja2.sandbox import ImmutableSandboxedEnvironment
lines, template, texts = sys.argv[1:]
def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
environment.filters["tojson"] = tojson
template = environment.from_string(open(template).read())
ours = {}
for line in open(texts):
    line = json.loads(line)
    ours[line["key"]] = line["text"]
values = 0
for line in open(lines):
    record = json.loads(line)
    theirs = template.render(messages=record["messages"], tools=record["tools"], **record["chat_template_kwargs"])
    text = ours[record["id"]]
    if text != theirs:
        for a, b in zip(text.split("\n"), theirs.split("\n")):
            if a != b:
                sys.exit(f"{record['id']}: [{a}] instead of [{b}]")
        sys.exit(f"{record['id']}: other lines")
    values += len(record["chat_template_kwargs"]["values"])
print(values)
"#;

/// A number of any kind, as JSON spells it.
fn number(random: &mut Random) -> String {
    let digits = |random: &mut Random, most: usize| -> String {
        let first = random.between(1, 9).to_string();
        let count = random.below(most);
        (0..count).fold(first, |all, _| all + &random.below(10).to_string())
    };
    let sign = if random.chance(30) { "-" } else { "" };
    match random.below(8) {
        0 | 1 => {
            let number = f64::from_bits(random.next());
            if number.is_finite() { format!("{number:e}") } else { "1e400".to_owned() }
        }
        2 => sign.to_owned() + &digits(random, 60),
        3 => sign.to_owned() + &digits(random, 20),
        4 => format!("{sign}{}.{}", digits(random, 18), digits(random, 18)),
        5 => format!("{sign}0.{}{}", "0".repeat(random.below(8)), digits(random, 17)),
        6 => {
            let letter = if random.chance(50) { "e" } else { "E" };
            let plus = ["", "+", "-"][random.below(3)];
            format!("{sign}{}{letter}{plus}{}", digits(random, 3), random.below(330))
        }
        _ => (*random.pick(&[
            "0",
            "-0",
            "0.0",
            "-0.0",
            "1e15",
            "1e16",
            "1e17",
            "0.0001",
            "0.00001",
            "1e22",
            "1e23",
            "9007199254740993",
            "9223372036854775808",
            "18446744073709551616",
            "5e-324",
            "1.7976931348623157e308",
            "340282366920938463463374607431768211456",
            "2.50",
            "1E5",
        ]))
        .to_owned(),
    }
}

#[test]
fn templates_write_ten_thousand_values_as_jinja_does() {
    let mut random = Random::new(12);
    let mut lines = String::new();
    for record in 0..seeds(500) {
        let values: Vec<String> = (0..20).map(|_| number(&mut random)).collect();
        let (a, b) = (number(&mut random), number(&mut random));
        writeln!(
            lines,
            r#"{{"id": "r{record}", "messages": [{{"role": "user", "content": "count {record}"}}], "chat_template_kwargs": {{"values": [{}]}}, "tools": [{{"size": {a}, "grö\u00dfe": "it's \"<b>\" \u007f\u200b\u0301\\ \ud83d\ude00\n\t", "default": null, "of": {{"b": {b}, "a": [], "c": {{}}, "d": [null, true]}}}}]}}"#,
            values.join(", ")
        )
        .unwrap();
    }
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none"]);
    let (lines, template) = (scratch.write("in.jsonl", lines), scratch.write("t.jinja", TEMPLATE));
    let ingest = ["ingest", &corpus, &lines, "--source", "chats", "--id-field", "id", "--json"];
    let chat = ["--chat", "messages", "--chat-template", &template];
    let report = corpusdb(&[&ingest[..], &chat].concat()).good().json();
    assert_eq!(report["rejected"], 0, "{report}");
    let export = ["export", &corpus, "--to", "-", "--format", "jsonl", "--columns", "key,text"];
    let texts = scratch.write("texts.jsonl", corpusdb(&export).good().stdout);
    if !python_has("jinja2") {
        return;
    }
    let judged = python(JUDGE).args([lines, template, texts]).output().unwrap();
    let words = String::from_utf8_lossy(&judged.stderr).into_owned();
    assert!(judged.status.success(), "{words}");
    println!("judged by Jinja: {} values alike", String::from_utf8_lossy(&judged.stdout).trim());
}
