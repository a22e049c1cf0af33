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
    corpusdb(&["info", &corpus, "--settings"]).good().prints(&["the content of turns"]);
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

// ----
// What a tokenizer's directory says, and what becomes of a message.

/// Ingests a conversation with a template, and gives what there is to see of it.
fn ingested(template: &str, record: &Value, more: &[&str]) -> (Value, Vec<String>) {
    let own = TestDir::new();
    let (corpus, path) = (own.arg("c"), own.write("in.jsonl", lines(std::slice::from_ref(record))));
    init(&corpus, &["--mode", "none"]);
    let chat =
        ["ingest", &corpus, &path, "--source", "s", "--chat", "auto", "--json", "--chat-template"];
    let report = corpusdb(&[&chat[..], &[template], more].concat()).good().json();
    let texts = corpusdb(&["sql", &corpus, "SELECT text FROM documents", "--format", "csv"]).good();
    (report, texts.stdout.lines().skip(1).map(str::to_owned).collect())
}

// Values in special_tokens_map.json alone, and names that nothing has a value for, were written as nothing: no answer ended.
corpusdb_test!(special_tokens_without_a_value_are_refused, |scratch| {
    let record = json!({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]});
    let source = "{{ bos_token }}{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}";
    let file = scratch.write("lone/t.jinja", source);
    let corpus = scratch.arg("refused");
    init(&corpus, &[]);
    let input = scratch.write("in.jsonl", lines(std::slice::from_ref(&record)));
    let chat =
        ["ingest", &corpus, &input, "--source", "s", "--chat", "auto", "--chat-template", &file];
    corpusdb(&chat).fails(&["writes `bos_token`", "nothing says what that is", "--chat-set"]);
    let set = ["--chat-set", "bos_token=", "--chat-set", "eos_token=!"];
    assert_eq!(ingested(&file, &record, &set).1, ["q!a!"]);
    scratch.write("old/chat_template.jinja", source);
    scratch.write("old/tokenizer_config.json", r#"{"bos_token": "<a>", "eos_token": null}"#);
    let directory = scratch.arg("old");
    let chat = [&chat[..8], &[directory.as_str()]].concat();
    corpusdb(&chat).fails(&["writes `eos_token`"]);
    scratch.write(
        "old/special_tokens_map.json",
        r#"{"bos_token": "<s>", "eos_token": {"content": "</s>"}}"#,
    );
    assert_eq!(ingested(&directory, &record, &[]).1, ["<s>q</s>a</s>"]);
    // A configuration that lists its added tokens is the later form, beside which the map does not count.
    scratch.write(
        "old/tokenizer_config.json",
        r#"{"bos_token": null, "eos_token": "<e>", "added_tokens_decoder": {}}"#,
    );
    assert_eq!(ingested(&directory, &record, &[]).1, ["q<e>a<e>"]);
});

// Records with tools were written by the template for those without, and files of further templates were not looked for.
corpusdb_test!(records_with_tools_have_the_template_for_tools, |scratch| {
    let turns = json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", "train": false}]);
    let plain = json!({"messages": turns});
    let tools = json!({"messages": turns, "tools": [{"name": "tide"}]});
    let turn = "{% for m in messages %}{{ m.content }}{% endfor %}";
    scratch.write("d/chat_template.jinja", format!("\n  plain: {turn}  \n"));
    scratch.write(
        "d/additional_chat_templates/tool_use.jinja",
        format!("{{{{ tools[0].name }}}}: {turn}!\n\n"),
    );
    scratch.write(
        "d/additional_chat_templates/loud.jinja",
        "{% for m in messages %}{{ m.content | upper }}{% endfor %}",
    );
    let directory = scratch.arg("d");
    let text = |record: &Value, more: &[&str]| ingested(&directory, record, more).1.join("/");
    assert_eq!(text(&plain, &[]), "\"/  plain: qa  \"");
    assert_eq!(text(&tools, &[]), "\"tide: qa!/\"");
    assert_eq!(text(&tools, &["--chat-template-name", "loud"]), "QA");
    assert_eq!(text(&tools, &["--chat-template-name", "default"]), "\"/  plain: qa  \"");
});

// What a template leaves out on purpose was not told.
corpusdb_test!(members_that_a_template_leaves_out_are_named, |scratch| {
    let template = scratch.write(
        "t.jinja",
        "{% for m in messages %}{{ m.content if m.content is string }};{% endfor %}",
    );
    let record = |content: Value| {
        json!({"messages": [{"role": "user", "content": content, "name": "ann"},
            {"role": "assistant", "content": "ha", "reasoning": "hm", "weight": 1}]})
    };
    let (report, texts) = ingested(&template, &record(json!(" say \"q\" ")), &[]);
    assert_eq!(texts.len(), 1);
    let alarms = report["alarms"].as_array().unwrap().iter();
    let left_out: Vec<&str> = alarms.filter_map(|alarm| alarm["member"].as_str()).collect();
    assert_eq!(left_out, ["name", "reasoning"]);
});

// The same records under another template were stored a second time, and nothing said so.
corpusdb_test!(records_under_another_template_are_recognised, |scratch| {
    let corpus = scratch.arg("c");
    init(&corpus, &["--mode", "none"]);
    let path = scratch.write("in.jsonl", lines(&[conversation(1)]));
    let ingest = |template: &str, more: &[&str]| {
        let template = scratch.write("t.jinja", template);
        let chat =
            ["ingest", &corpus, &path, "--chat", "auto", "--json", "--chat-template", &template];
        corpusdb(&[&chat[..], more].concat()).good().json()
    };
    let other = CHATML.replace("\\n", " ");
    for (source, ids, expected) in
        [("a", &[][..], [1, 0]), ("b", &["--id-field", "id"][..], [1, 1])]
    {
        let more = [&["--source", source][..], ids].concat();
        assert_eq!(numbers(&ingest(CHATML, &more), ["added", "updated"]), [1, 0]);
        let report = ingest(&other, &more);
        assert_eq!(numbers(&report, ["added", "updated"]), expected);
        let is_told = report["alarms"].to_string().contains("other-template");
        assert_eq!(is_told, ids.is_empty(), "{report}");
    }
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
{% for name, v in tools[0].items() %}{{ name }}={{ v if v is string else v | tojson }};{% endfor %}
{{ messages[0].content }}";

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
    python_has("jinja2");
    let judged = python(JUDGE).args([lines, template, texts]).output().unwrap();
    let words = String::from_utf8_lossy(&judged.stderr).into_owned();
    assert!(judged.status.success(), "{words}");
    println!("judged by Jinja: {} values alike", String::from_utf8_lossy(&judged.stdout).trim());
}
