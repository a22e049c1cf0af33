//! Numbers, texts and objects as chat templates write them, held against Jinja under Python where that is there.

use crate::support::{Random, TestDir, corpusdb, init, seeds};
use std::fmt::Write;
use std::process::{Command, Stdio};

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
    let python = |script: &str| {
        let mut command = Command::new("python3");
        command.args(["-c", script]).stdin(Stdio::null());
        command
    };
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
    if !python("import jinja2").stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    {
        println!("not judged by Jinja, which python3 has not");
        return;
    }
    let judged = python(JUDGE).args([lines, template, texts]).output().unwrap();
    let words = String::from_utf8_lossy(&judged.stderr).into_owned();
    assert!(judged.status.success(), "{words}");
    println!("judged by Jinja: {} values alike", String::from_utf8_lossy(&judged.stdout).trim());
}
