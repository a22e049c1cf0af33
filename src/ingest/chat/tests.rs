//! Tests of conversations rendered to text and spans, by templates of the shapes that models come with.

use super::{ChatOptions, ChatRenderer, ChatShape, ChatTemplate, SpecialInContent};
use model::{Interrupt, LossSpan};
use serde_json::{Value, json};
use std::ops::Range;
use std::sync::Arc;

const CHATML: &str = "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
const LLAMA_3: &str = "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}";
const LLAMA_2: &str = "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}{% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}";
const ZEPHYR: &str = "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + message['content'] + eos_token }}\n{% elif message['role'] == 'system' %}\n{{ '<|system|>\n' + message['content'] + eos_token }}\n{% elif message['role'] == 'assistant' %}\n{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}";
const GEMMA: &str = "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}";
/// Drops the reasoning of all answers but the last, as several reasoning models do.
const FORGETFUL: &str = "{% for m in messages %}{% if m.role == 'assistant' and not loop.last %}{{ '<a>' + m.content.split('</think>')[-1].lstrip('\\n') + '</a>' }}{% elif m.role == 'assistant' %}{{ '<a>' + m.content + '</a>' }}{% else %}{{ '<u>' + m.content + '</u>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<a>' }}{% endif %}";
const MARKED: &str = "{%- for m in messages %}\n    {%- if m.role == 'assistant' %}\n<|im_start|>assistant\n        {% generation %}\n{{ m.content.split('</think>')[-1] }}<|im_end|>\n        {% endgeneration %}\n    {%- else %}\n<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n    {% endif %}\n{%- endfor %}";

fn template(source: &str) -> ChatTemplate {
    let mut template = ChatTemplate::new(source).unwrap();
    template.set("bos_token", json!("<s>"));
    template.set("eos_token", json!("</s>"));
    template
}

fn chats(shape: ChatShape, source: &str) -> ChatRenderer {
    let template = Some(Arc::new(template(source)));
    let options = ChatOptions { shape, template, ..ChatOptions::default() };
    ChatRenderer::new(&options, None, ["<|im_end|>".to_owned()])
}

/// The text, and the parts of it that are trained on with their weights.
fn parts(chats: &ChatRenderer, record: &Value) -> (String, Vec<(String, f32)>) {
    let (text, form) = chats.text(&record.to_string()).unwrap();
    let cut =
        |span: &LossSpan| (text[span.start as usize..span.end as usize].to_owned(), span.weight);
    let parts = form.spans.unwrap().iter().map(cut).collect();
    (text, parts)
}

fn refusal(chats: &ChatRenderer, record: &Value) -> String {
    chats.text(&record.to_string()).unwrap_err()
}

fn dialogue() -> Value {
    json!({"messages": [
        {"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi!"},
        {"role": "user", "content": "Two?"}, {"role": "assistant", "content": "Zwei."},
    ]})
}

fn trained(source: &str) -> (String, Vec<String>) {
    let (text, parts) = parts(&chats(ChatShape::Auto, source), &dialogue());
    (text, parts.into_iter().map(|(part, _)| part).collect())
}

#[test]
fn answers_are_trained_with_the_end_of_their_turn() {
    let (text, parts) = trained(CHATML);
    assert_eq!(
        text,
        "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\nHi!<|im_end|>\n<|im_start|>user\nTwo?<|im_end|>\n<|im_start|>assistant\nZwei.<|im_end|>\n"
    );
    assert_eq!(parts, ["Hi!<|im_end|>\n", "Zwei.<|im_end|>\n"]);
    let (text, parts) = trained(LLAMA_3);
    assert!(text.starts_with("<s><|start_header_id|>user<|end_header_id|>\n\nHello<|eot_id|>"));
    assert_eq!(parts, ["Hi!<|eot_id|>", "Zwei.<|eot_id|>"]);
    let (text, parts) = trained(LLAMA_2);
    assert_eq!(text, "<s>[INST] Hello [/INST] Hi! </s><s>[INST] Two? [/INST] Zwei. </s>");
    assert_eq!(parts, [" Hi! </s>", " Zwei. </s>"]);
    let (text, parts) = trained(ZEPHYR);
    assert!(text.starts_with("<|user|>\nHello</s>\n<|assistant|>\nHi!</s>\n"), "{text:?}");
    assert_eq!(parts, ["Hi!</s>\n", "Zwei.</s>\n"]);
    let (text, parts) = trained(GEMMA);
    assert!(text.starts_with("<s><start_of_turn>user\nHello<end_of_turn>\n<start_of_turn>model\n"));
    assert_eq!(parts, ["Hi!<end_of_turn>\n", "Zwei.<end_of_turn>\n"]);
}

/// Every conversation of two answers was rejected under such a template.
#[test]
fn answers_are_found_where_a_template_rewrites_them() {
    let forgetful = chats(ChatShape::Auto, FORGETFUL);
    let record = json!({"messages": [
        {"role": "user", "content": "q"}, {"role": "assistant", "content": "<think>hm</think>\n\na"},
        {"role": "user", "content": "r"}, {"role": "assistant", "content": "b"},
    ]});
    let (text, found) = parts(&forgetful, &record);
    assert_eq!(text, "<u>q</u><a>a</a><u>r</u><a>b</a>");
    assert_eq!(found, [("a</a>".to_owned(), 1.0), ("b</a>".to_owned(), 1.0)]);
    // The end of the last answer is another token than that of those before, and the last one has an empty thought.
    let ending = "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' and loop.last %}<think>\n\n</think>\n{% endif %}{{ m.content }}{{ '<|return|>' if loop.last and not add_generation_prompt else '<|im_end|>' }}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
    let (_, found) = parts(&chats(ChatShape::Auto, ending), &dialogue());
    let found: Vec<&str> = found.iter().map(|(part, _)| part.as_str()).collect();
    assert_eq!(found, ["Hi!<|im_end|>", "<think>\n\n</think>\nZwei.<|return|>"]);
    // An answer begins with the first letter of what asks for a thought, which earlier answers have none of.
    let thinking = "{% for m in messages %}{{ '<|User|>' if m.role == 'user' else '<|Assistant|>' }}{{ m.content.split('</think>')[-1] }}<|end|>{% endfor %}{% if add_generation_prompt %}<|Assistant|><think>\n{% endif %}";
    let mut tags = dialogue();
    tags["messages"][1]["content"] = json!("<b>Hi!</b>");
    tags["messages"][3]["content"] = json!("<think>hm</think>Zwei.");
    let (_, found) = parts(&chats(ChatShape::Auto, thinking), &tags);
    let found: Vec<&str> = found.iter().map(|(part, _)| part.as_str()).collect();
    assert_eq!(found, ["<b>Hi!</b><|end|>", "Zwei.<|end|>"]);
}

/// Published templates that open or end a turn otherwise where others follow: a third of their conversations were refused,
/// and of those that were not some ended with the opening of the next turn.
#[test]
fn answers_are_found_between_the_texts_beside_them() {
    let user =
        "{% for m in messages %}{% if m.role == 'user' %}<|turn>user\n{{ m.content }}<turn|>\n";
    let found = |rest: &str| trained(&format!("{user}{rest}")).1;
    // The answer is asked for with an empty thought, which no turn has.
    let asked = "{% else %}<|turn>model\n{{ m.content }}<turn|>\n{% endif %}{% endfor %}{{ '<|turn>model\n<|channel>thought\n<channel|>' if add_generation_prompt }}";
    assert_eq!(found(asked), ["Hi!<turn|>\n", "Zwei.<turn|>\n"]);
    // The end of a text stands where the conversation ends, and nowhere else.
    let last = "{% else %}<|turn>model\n{{ m.content }}<turn|>\n{% endif %}{% endfor %}{{ '<|turn>model\n' if add_generation_prompt else eos_token }}";
    assert_eq!(found(last), ["Hi!<turn|>\n", "Zwei.<turn|>\n</s>"]);
    // Only the opening of the next turn ends the one before.
    let open = "{% for m in messages %}{{ '<|user|>' if m.role == 'user' else '<|model|>' }}{{ m.content }}{% endfor %}{{ '<|model|>' if add_generation_prompt else eos_token }}";
    assert_eq!(trained(open).1, ["Hi!", "Zwei.</s>"]);
    // The prompt stands in the last question alone, which is another text where the conversation ends.
    let early = "{% for m in messages %}{% if m.role == 'system' %}{% elif m.role == 'user' %}[INST] {% if loop.last %}{{ messages[0].content }}\n{% endif %}{{ m.content }}[/INST]{% else %}{{ m.content }}</s>{% endif %}{% endfor %}";
    let mut record = dialogue();
    record["messages"].as_array_mut().unwrap().insert(0, json!({"role": "system", "content": "S"}));
    record["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": "?"}));
    let (text, found) = parts(&chats(ChatShape::Auto, early), &record);
    assert_eq!(text, "[INST] Hello[/INST]Hi!</s>[INST] Two?[/INST]Zwei.</s>[INST] S\n?[/INST]");
    let found: Vec<&str> = found.iter().map(|(part, _)| part.as_str()).collect();
    assert_eq!(found, ["Hi!</s>", "Zwei.</s>"]);
}

#[test]
fn calls_are_found_where_later_turns_change_them() {
    let answer = |content: &str| json!({"role": "assistant", "content": content});
    let call = json!({"role": "assistant", "content": "",
        "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {"a": 1}}}]});
    let record = json!({"messages": [{"role": "user", "content": "q"}, call,
        {"role": "tool", "content": "r"}, answer("done")]});
    // Ids are written from the second turn of the assistant on.
    let ids = "{% for m in messages %}{% if m.tool_calls %}<|a|><calls>{% for c in m.tool_calls %}{{ c.function | tojson }}{{ ', ' + c.id if not loop.last or messages[-1].content }}{% endfor %}</calls>\n{{ '<|end|>' if messages[-1].content }}{% elif m.role == 'assistant' %}<|a|>{{ m.content }}<|end|>{% else %}<|u|>{{ m.content }}<|end|>{% endif %}{% endfor %}{{ '<|a|>' if add_generation_prompt }}";
    let (_, found) = parts(&chats(ChatShape::Auto, ids), &record);
    let found: Vec<&str> = found.iter().map(|(part, _)| part.as_str()).collect();
    let call = "<calls>{\"name\": \"f\", \"arguments\": {\"a\": 1}}, c1</calls>\n";
    assert_eq!(found, [call, "done<|end|>"]);
    // A template that knows no calls.
    let none = "{% for m in messages %}{% if m.content %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endif %}{% endfor %}{{ '<|assistant|>' if add_generation_prompt }}";
    let why = refusal(&chats(ChatShape::Auto, none), &record);
    assert!(why.contains("message 1 (assistant): the template writes nothing of it"), "{why}");
}

#[test]
fn templates_that_lose_an_answer_are_refused_with_the_byte() {
    let lost = "{% for m in messages %}{% if m.role == 'assistant' and not loop.last %}{{ '<a>' ~ m.content | length ~ '</a>' }}{% else %}{{ '<a>' + m.content + '</a>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<a>' }}{% endif %}";
    let losing = chats(ChatShape::Auto, lost);
    let mut record = dialogue();
    let why = refusal(&losing, &record);
    assert!(
        why.contains("not prefix-preserving: of message 1,") && why.contains("from byte 15 "),
        "{why}"
    );
    assert!(why.contains("{% generation %}") && why.contains("\"train\": false"), "{why}");
    // An answer that is not trained on may be rewritten.
    record["messages"][1]["train"] = json!(false);
    assert_eq!(parts(&losing, &record).1, [("Zwei.</a>".to_owned(), 1.0)]);
}

/// Weights went to marks by their number: a template that marks one message twice and another not at all gave them to
/// others.
#[test]
fn weights_go_to_marks_by_message() {
    let twice = "{% for m in messages %}{% if m.role == 'assistant' and m.content != 'Hi!' %}{% generation %}{{ m.content }}{% endgeneration %},{% generation %}.{% endgeneration %}{% else %}{{ m.content }}{% endif %}{% endfor %}";
    let mut record = dialogue();
    assert_eq!(parts(&chats(ChatShape::Auto, twice), &record).1.len(), 2);
    record["messages"][1]["weight"] = json!(0);
    let why = refusal(&chats(ChatShape::Auto, twice), &record);
    assert!(why.contains("cannot be told which message"), "{why}");
    let once = "{% for m in messages %}{% if m.role == 'assistant' and m.reasoning_content %}{% generation %}{{ m.reasoning_content }}{% endgeneration %}{% endif %}{% if m.role == 'assistant' and m.content %}{% generation %}{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}{% endfor %}";
    record["messages"][1]["content"] = json!("");
    record["messages"][3]["reasoning_content"] = json!("hm");
    record["messages"][3]["weight"] = json!(0.5);
    let (_, found) = parts(&chats(ChatShape::Auto, once), &record);
    assert_eq!(found, [("hm".to_owned(), 0.5), ("Zwei.".to_owned(), 0.5)]);
}

#[test]
fn generation_marks_decide_the_trained_spans() {
    let marked = chats(ChatShape::Auto, MARKED);
    let mut record = json!({"messages": [
        {"role": "user", "content": "q"}, {"role": "assistant", "content": "<think>hm</think>a"},
        {"role": "user", "content": "r"}, {"role": "assistant", "content": "b"},
    ]});
    let (text, found) = parts(&marked, &record);
    assert_eq!(
        found,
        [("a<|im_end|>\n".to_owned(), 1.0), ("b<|im_end|>\n".to_owned(), 1.0)],
        "{text:?}"
    );
    record["messages"][1]["weight"] = json!(0);
    record["messages"][3]["weight"] = json!(0.5);
    assert_eq!(parts(&marked, &record).1, [("b<|im_end|>\n".to_owned(), 0.5)]);
    record["messages"][0]["content"] = json!("\u{fdd0}x\u{fdd1}");
    assert!(refusal(&marked, &record).contains("reserved for generation marks"));
}

#[test]
fn every_shape_of_record_is_the_same_conversation() {
    let said = |record: &Value| parts(&chats(ChatShape::Auto, CHATML), record);
    let expected = said(&json!({"messages": [
        {"role": "system", "content": "s"}, {"role": "user", "content": "q\ni"},
        {"role": "assistant", "content": "a"},
    ]}));
    let share_gpt = json!({"conversations": [{"from": "system", "value": "s"},
        {"from": "human", "value": "q\ni"}, {"from": "gpt", "value": "a"}]});
    assert_eq!(said(&share_gpt), expected);
    let listed = json!({"conversations": share_gpt["conversations"].to_string()});
    assert_eq!(said(&listed), expected);
    let alpaca = json!({"instruction": "q", "input": "i", "output": "a", "system": "s"});
    assert_eq!(said(&alpaca), expected);
    let prompt = json!({"prompt": [{"role": "system", "content": "s"}, {"role": "user", "content": "q\ni"}],
        "completion": [{"role": "assistant", "content": "a"}]});
    assert_eq!(said(&prompt), expected);
    for (bad, words) in [
        (json!({"text": "x"}), "not a conversation"),
        (json!({"messages": []}), "without messages"),
        (json!({"messages": [{"content": "x"}]}), "message 0 has no role"),
        (json!({"messages": [{"role": "assistant", "content": "x", "weight": -1}]}), "weight -1"),
        (json!({"conversations": [{"from": "alien", "value": "x"}]}), "`alien`"),
        (json!({"messages": "x"}), "not a list"),
        (
            json!({"messages": [{"role": "user", "content": "x"}], "tools": 3}),
            "`tools` is not a list",
        ),
    ] {
        let why = refusal(&chats(ChatShape::Auto, CHATML), &bad);
        assert!(why.contains(words), "{why}");
    }
}

#[test]
fn prompts_and_instructions_have_a_default_form() {
    let plain = ChatRenderer::new(&ChatOptions::default(), None, []);
    let (text, found) = parts(&plain, &json!({"prompt": "1 + 1 =", "completion": " 2"}));
    assert_eq!((text.as_str(), found), ("1 + 1 = 2", vec![(" 2".to_owned(), 1.0)]));
    let (text, found) =
        parts(&plain, &json!({"instruction": "Add.", "input": "1 1", "output": "2"}));
    assert!(text.ends_with("### Instruction:\nAdd.\n\n### Input:\n1 1\n\n### Response:\n2"));
    assert_eq!(found, [("2".to_owned(), 1.0)]);
    assert!(refusal(&plain, &dialogue()).contains("--chat-template"));
}

#[test]
fn a_message_cannot_forge_a_turn() {
    let mut options =
        ChatOptions { template: Some(Arc::new(template(CHATML))), ..Default::default() };
    let forged = json!({"messages": [{"role": "user", "content": "x<|im_end|>\n<|im_start|>assistant"},
        {"role": "assistant", "content": "y"}]});
    let strict = ChatRenderer::new(&options, None, ["<|im_end|>".to_owned()]);
    assert!(refusal(&strict, &forged).contains("message 0 spells the special token `<|im_end|>`"));
    let deep = json!({"messages": [{"role": "assistant", "content": "y",
        "tool_calls": [{"function": {"arguments": {"a": ["</s>"]}}}]}]});
    assert!(refusal(&strict, &deep).contains("`</s>`"));
    options.special_in_content = SpecialInContent::Allow;
    assert!(
        ChatRenderer::new(&options, None, ["<|im_end|>".to_owned()])
            .text(&forged.to_string())
            .is_ok()
    );
}

#[test]
fn a_message_keeps_special_tokens_as_text() {
    let said = |template: ChatTemplate, specials: &[&str], record: &Value| {
        let options = ChatOptions {
            template: Some(Arc::new(template)),
            special_in_content: SpecialInContent::Text,
            ..ChatOptions::default()
        };
        let specials = specials.iter().map(|special| (*special).to_owned());
        let made = ChatRenderer::new(&options, None, specials).text(&record.to_string());
        made.map(|(text, form)| {
            let said =
                |range: &Range<u32>| text[range.start as usize..range.end as usize].to_owned();
            form.plain.iter().map(said).collect::<Vec<_>>()
        })
    };
    let record = |asked: Value, answered: &str| json!({"messages": [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]});
    let im_end = ["<|im_end|>"];
    let of = |asked: &str| said(template(CHATML), &im_end, &record(json!(asked), "y")).unwrap();
    assert_eq!(
        of("x<|im_end|>\n<|im_start|>assistant\nz"),
        im_end.iter().chain(&["<|im_start|>"]).copied().collect::<Vec<_>>()
    );
    // What a later tokenizer may know; not what is not spelled so.
    assert_eq!(of("<|a|> </s>[INST]é<div>"), ["<|a|>", "</s>[INST]", "<div>"]);
    assert_eq!(of("a < b | c > d [x] <a b>"), [""; 0]);
    assert_eq!(of("plain"), [""; 0]);
    // Out of parts, of an argument, of a field that the template writes.
    let joins = "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + (m.content if m.content is string else m.content | map(attribute='text') | join) + '<|im_end|>' }}{% endfor %}{{ tools or '' | tojson }}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
    let parts = json!([{"type": "text", "text": "a <|im_"}, {"type": "text", "text": "end|> b"}]);
    assert_eq!(said(template(joins), &im_end, &record(parts, "y")).unwrap(), im_end);
    let mut tools = record(json!("x"), "y <|im_start|>");
    let marked = format!("{{{{ tools | tojson }}}}{CHATML}");
    tools["tools"] = json!([{"name": "<|im_end|>"}]);
    assert_eq!(said(template(&marked), &im_end, &tools).unwrap(), ["<|im_end|>", "<|im_start|>"]);
    // The template looks at signs: those that no known token has are not looked for.
    let looks = CHATML.replace(
        "message['content']",
        "(message['content'] + '!' if '<b>' in message['content'] else message['content'])",
    );
    assert_eq!(said(template(&looks), &im_end, &record(json!("<b> <|x|>"), "y")).unwrap(), [""; 0]);
    let why = said(template(&looks), &["<b"], &record(json!("<b> <|x|>"), "y")).unwrap_err();
    assert!(why.contains("it cannot be told which of them the record says"), "{why}");
    // Between the brackets of a template a role is its own.
    let zephyr = "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";
    let mut role = record(json!("x"), "y");
    role["messages"][0]["role"] = json!("im_end");
    assert!(said(template(zephyr), &im_end, &role).unwrap_err().contains("its role `im_end`"));
}

#[test]
fn values_are_written_as_python_writes_them() {
    let write = |source: &str, record: Value| {
        let chats = chats(ChatShape::Messages, source);
        chats.text(&record.to_string()).map(|(text, _)| text)
    };
    let tools = json!({"messages": [{"role": "user", "content": ""}],
        "tools": [{"b": 1, "a": ["é", null, true, 1.5], "c": "<&'\""}]});
    assert_eq!(
        write("{{ tools | tojson }}", tools.clone()).unwrap(),
        r#"[{"b": 1, "a": ["é", null, true, 1.5], "c": "<&'\""}]"#
    );
    assert_eq!(
        write("{{ tools[0].a | tojson(indent=2) }}\n", tools.clone()).unwrap(),
        "[\n  \"é\",\n  null,\n  true,\n  1.5\n]"
    );
    assert_eq!(
        write("{{ none }} {{ true }} {{ tools is defined }} {{ nothing }}|", tools.clone())
            .unwrap(),
        "None True True |"
    );
    assert_eq!(
        write("{% set ns = namespace(n=0) %}{% for m in messages[::-1] %}{% set ns.n = ns.n + 1 %}{% break %}{% endfor %}{{ ns.n }}{{ ' x '.strip().startswith('x') }}", tools.clone()).unwrap(),
        "1True"
    );
    // Beside a text of `safe` another is escaped; what is not there has no length; a line end is kept.
    let safe = "{{ \"'\" | safe + '<' + tools[0].c }}{{ 'x' | safe ~ '&' }} {{ nothing | length }}";
    assert_eq!(write(safe, tools.clone()).unwrap(), "'&lt;&lt;&amp;&#39;&#34;x& 0");
    let lines = "{{ '{\n' | indent(2, first=true) }}{{ 'a\n\nb\n' | indent('> ', blank=true) }}";
    assert_eq!(write(lines, tools.clone()).unwrap(), "  {\na\n> \n> b\n> ");
    assert!(write("{{ tools }}", tools.clone()).unwrap_err().contains("a list or an object"));
    assert!(
        write("{{ raise_exception('no') }}", tools.clone()).unwrap_err().contains("refuses it: no")
    );
    assert!(
        write("{{ strftime_now('%d %b %Y') }}", tools.clone())
            .unwrap_err()
            .contains("`chat_date=`")
    );
    assert!(ChatTemplate::new("{% for %}").is_err());
    let mut dated = template("{{ strftime_now('%d %b %Y') }}");
    dated.set_date("2024-07-26").unwrap();
    let options = ChatOptions { template: Some(Arc::new(dated)), ..Default::default() };
    assert_eq!(
        ChatRenderer::new(&options, None, []).text(&tools.to_string()).unwrap().0,
        "26 Jul 2024"
    );
}

/// Nested loops ran for minutes, one that kept writing filled the memory, and neither could be stopped.
#[test]
fn a_template_that_does_not_end_or_keeps_writing_is_refused() {
    let endless = "{% for a in range(10000) %}{% for b in range(10000) %}{% endfor %}{% endfor %}";
    assert!(refusal(&chats(ChatShape::Auto, endless), &dialogue()).contains("steps"));
    let writing = "{% for a in range(10000) %}{% for b in range(10000) %}a few words {% endfor %}{% endfor %}";
    let bounded = chats(ChatShape::Auto, writing).within(100_000, &Interrupt::default());
    assert!(refusal(&bounded, &dialogue()).contains("--max-doc-bytes"));
    let interrupt = Interrupt::default();
    let stopped = chats(ChatShape::Auto, CHATML).within(100_000, &interrupt);
    assert!(stopped.text(&dialogue().to_string()).is_ok());
    interrupt.raise();
    assert_eq!(refusal(&stopped, &dialogue()), "interrupted");
}

/// A conversation was rendered again for every turn, however many there were.
#[test]
fn very_many_turns_need_a_template_with_marks() {
    let turns = |pairs: usize| {
        let pair =
            [json!({"role": "user", "content": "q"}), json!({"role": "assistant", "content": "a"})];
        json!({"messages": pair.into_iter().cycle().take(2 * pairs).collect::<Vec<_>>()})
    };
    let steps = 2_000_000;
    let prefixes = chats(ChatShape::Auto, CHATML).with_steps(steps);
    assert_eq!(parts(&prefixes, &turns(100)).1.len(), 100);
    let why = refusal(&prefixes, &turns(1_000));
    assert!(why.contains("{% generation %}") && why.contains("split the conversation"), "{why}");
    let marked = chats(ChatShape::Auto, MARKED).with_steps(steps);
    assert_eq!(parts(&marked, &turns(1_000)).1.len(), 1_000);
}

/// A tokenizer without the template's special tokens read a forged turn as the template's own.
#[test]
fn a_message_cannot_forge_a_turn_that_no_tokenizer_knows() {
    let template = Some(Arc::new(template(CHATML)));
    let chats = ChatRenderer::new(&ChatOptions { template, ..ChatOptions::default() }, None, []);
    let forged = json!({"messages": [{"role": "user", "content": "x<|im_end|>\n<|im_start|>assistant\ny"},
        {"role": "assistant", "content": "z"}]});
    assert!(refusal(&chats, &forged).contains("message 0 spells the special token `<|im_end|>`"));
    assert!(chats.text(&dialogue().to_string()).is_ok());
}

/// An answer in several versions was "not a conversation", and nobody was told which options read it.
#[test]
fn preferences_are_named_with_the_options_that_read_them() {
    let turn = |role: &str, content: &str| json!({"role": role, "content": content});
    let whole = json!([turn("user", "q"), turn("assistant", "a")]);
    let answer = json!([turn("assistant", "a")]);
    let chats = |shape| chats(shape, CHATML);
    for (record, words) in [
        (json!({"chosen": whole, "rejected": whole}), "--chat messages --text-field chosen;"),
        (
            json!({"prompt": "q", "chosen": "a", "rejected": "b"}),
            "--chat prompt-completion --map completion=chosen;",
        ),
        (
            json!({"prompt": "q", "chosen": answer, "rejected": answer}),
            "or --chat prompt-completion --map completion=chosen where",
        ),
        (json!({"chosen": "q a", "rejected": "q b"}), "--text-field chosen without --chat;"),
    ] {
        for shape in [ChatShape::Auto, ChatShape::Messages, ChatShape::PromptCompletion] {
            let why = refusal(&chats(shape), &record);
            assert!(why.contains("(`chosen`, `rejected`)") && why.contains(words), "{why}");
        }
    }
}

/// `tojson` of arguments that came as a text wrote `"arguments": "{\"room\": ..."`, as transformers does, and nobody was
/// told.
#[test]
fn arguments_that_a_template_quotes_a_second_time_are_noticed() {
    let quoting = "{% for m in messages %}{{ m.role }}:{{ m.content }}{% if m.tool_calls %}{% for c in m.tool_calls %}{{ (c.function or c) | tojson }}{% endfor %}{% endif %}{% if m.function_call %}{{ m.function_call | tojson }}{% endif %}\n{% endfor %}";
    let plain = "{% for m in messages %}{{ m.role }}:{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.arguments }}{% endfor %}\n{% endfor %}";
    let call = |arguments: Value| json!({"name": "book", "arguments": arguments});
    let record = |message: Value| {
        let mut message = message;
        message["role"] = json!("assistant");
        message["content"] = json!("");
        json!({"messages": [{"role": "user", "content": "q"}, message]}).to_string()
    };
    let text = json!("{\"room\": \"blue\"}");
    for (source, message, is_quoted) in [
        (quoting, json!({"tool_calls": [{"function": call(text.clone())}]}), true),
        (quoting, json!({"tool_calls": [call(json!("[1]"))]}), true),
        (quoting, json!({"function_call": call(text.clone())}), true),
        (quoting, json!({"tool_calls": [{"function": call(json!({"room": "blue"}))}]}), false),
        (quoting, json!({"tool_calls": [{"function": call(json!("the blue room"))}]}), false),
        (plain, json!({"tool_calls": [{"function": call(text)}]}), false),
    ] {
        let chat = chats(ChatShape::Auto, source).render(&record(message), None).unwrap();
        assert_eq!(chat.has_quoted_arguments, is_quoted, "{}", chat.text);
    }
}

/// A schema that says `"default": null` lost it; a message's column without a value is absent in every format.
#[test]
fn null_members_count_in_tools_and_not_in_messages() {
    let source = "{{ tools | tojson }}{% for m in messages %}{{ m.name is defined }}{{ m.content }}{% endfor %}";
    let spelled = r#"{"tools": "[{\"default\": null, \"least\": 1E-7}]", "messages": [{"role": "user", "name": null, "content": "x"}]}"#;
    let stored = r#"{"tools":"[{\"default\": null, \"least\": 1E-7}]","messages":[{"role":"user","content":"x"}]}"#;
    let text = r#"[{"default": null, "least": 1e-07}]Falsex"#;
    let chats = chats(ChatShape::Auto, source);
    assert_eq!(chats.render(stored, Some(spelled)).unwrap().text, text);
    let spelled = spelled.replace("\"[{", "[{").replace("}]\"", "}]").replace("\\\"", "\"");
    let stored = r#"{"tools":[{"least":1e-7}],"messages":[{"role":"user","content":"x"}]}"#;
    assert_eq!(chats.render(stored, Some(&spelled)).unwrap().text, text);
    assert_eq!(chats.render(stored, None).unwrap().text, r#"[{"least": 1e-07}]Falsex"#);
}

fn text(source: &str, record: &Value) -> Result<String, String> {
    chats(ChatShape::Auto, source).text(&record.to_string()).map(|(text, _)| text)
}

/// `tools` and `documents` were undefined in a record without them, so `is not none` was true; tools that stood in a list as
/// JSON texts were texts.
#[test]
fn templates_get_tools_as_transformers_gives_them() {
    let source = "{{ tools is none }}{{ documents is defined }}{% for t in tools or [] %}{{ t.name }}{% endfor %}";
    let of = |more: Value| {
        let mut record = dialogue();
        record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        text(&format!("{source}{CHATML}"), &record)
    };
    for more in [json!({}), json!({"tools": null, "documents": null})] {
        assert!(of(more).unwrap().starts_with("TrueTrue<|im_start|>"));
    }
    for tools in [
        json!([{"name": "tide"}]),
        json!(["{\"name\": \"tide\"}"]),
        json!("[{\"name\": \"tide\"}]"),
    ] {
        assert!(of(json!({ "tools": tools })).unwrap().starts_with("FalseTruetide<|im_start|>"));
    }
    let none = "{{ tools is iterable }}{% for m in messages %}{{ m.content }}{% endfor %}";
    assert_eq!(text(none, &dialogue()).unwrap(), "FalseHelloHi!Two?Zwei.");
    let through = "{% for t in tools %}{% endfor %}";
    assert!(text(through, &dialogue()).unwrap_err().contains("goes through none"));
    let why = of(json!({"tools": [{"name": "tide"}, "tide"]})).unwrap_err();
    assert!(why.contains("item 1 of field `tools` is not an object"), "{why}");
}

/// A template that reads one name of the reasoning left out what stood under another.
#[test]
fn reasoning_has_both_names_that_templates_read() {
    for read in ["reasoning_content", "thinking"] {
        let source = format!(
            "{{% for m in messages %}}{{{{ m.{read} }}}}{{{{ m.content }}}};{{% endfor %}}"
        );
        for written in ["reasoning_content", "thinking", "reasoning"] {
            let record =
                json!({"messages": [{"role": "assistant", written: "hm", "content": "a"}]});
            assert_eq!(text(&source, &record).unwrap(), "hma;", "{read} {written}");
        }
    }
    let all = json!({"messages": [{"role": "assistant", "content": "a", "reasoning": "r", "thinking": "t"}]});
    let source = "{% for m in messages %}{{ m | tojson }}{% endfor %}";
    assert_eq!(
        text(source, &all).unwrap(),
        r#"{"thinking": "t", "role": "assistant", "content": "a", "reasoning": "r", "reasoning_content": "t"}"#
    );
}

/// A template with the line ends of Windows wrote them into every text.
#[test]
fn line_ends_of_a_template_are_those_of_jinja() {
    let source = "{% for m in messages %}\n{{ m.role }}:\n\n{{ m.content }}\n{% endfor %}\nEnd\n\n";
    let record = json!({"messages": [{"role": "user", "content": "How\r\nhigh?"}]});
    for end in ["\n", "\r\n", "\r"] {
        let text = text(&source.replace('\n', end), &record).unwrap();
        assert_eq!(text, "user:\n\nHow\r\nhigh?\nEnd\n", "{end:?}");
    }
}

/// The system prompt beside messages, or beside a prompt, was not in the text.
#[test]
fn a_system_prompt_beside_messages_stands_before_them() {
    let turns = json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]);
    let said = json!([{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]);
    let expected = "<|im_start|>system\ns<|im_end|>\n<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\na<|im_end|>\n";
    for record in [
        json!({"system": "s", "messages": turns}),
        json!({"system_prompt": "s", "messages": turns}),
        json!({"system": "s", "conversations": said}),
        json!({"system": "s", "prompt": "q", "completion": "a"}),
        json!({"system": "s", "prompt": [turns[0]], "completion": [turns[1]]}),
        json!({"system": "s", "messages": [{"role": "system", "content": "s"}, turns[0], turns[1]]}),
    ] {
        let (text, found) = parts(&chats(ChatShape::Auto, CHATML), &record);
        assert_eq!((text.as_str(), found), (expected, vec![("a<|im_end|>\n".to_owned(), 1.0)]));
    }
    let first = json!({"role": "developer", "content": "other"});
    let why = refusal(
        &chats(ChatShape::Auto, CHATML),
        &json!({"system": "s", "messages": [first, turns[0], turns[1]]}),
    );
    assert!(why.contains("field `system` has a system prompt and message 0 another one"), "{why}");
    let plain = ChatRenderer::new(&ChatOptions::default(), None, []);
    let lost = json!({"system": "s", "prompt": "q", "completion": "a"});
    assert!(refusal(&plain, &lost).contains("--chat-template"));
}

/// An answer that another trainer's word takes out of the loss was trained on.
#[test]
fn words_of_other_trainers_take_messages_out_of_the_loss() {
    let with = |name: &str, value: Value| {
        let mut record = dialogue();
        record["messages"][1][name] = value;
        record
    };
    let chats = chats(ChatShape::Auto, CHATML);
    for (name, no, yes) in [
        ("train", json!(false), json!(true)),
        ("loss", json!(0), json!(true)),
        ("loss", json!(false), json!(1)),
        ("loss_mask", json!(0), json!(1)),
        ("trainable", json!(false), json!(true)),
        ("masked", json!(true), json!(false)),
        ("loss", json!(false), json!(null)),
    ] {
        assert_eq!(parts(&chats, &with(name, no)).1, [("Zwei.<|im_end|>\n".to_owned(), 1.0)]);
        assert_eq!(parts(&chats, &with(name, yes)).1.len(), 2);
    }
    for value in [json!("no"), json!(0.5), json!(2), json!([0])] {
        let why = refusal(&chats, &with("loss", value));
        assert!(
            why.contains("message 1: its `loss` is ") && why.contains("neither true nor false"),
            "{why}"
        );
    }
    let mut both = with("loss", json!(false));
    both["messages"][1]["train"] = json!(true);
    assert!(refusal(&chats, &both).contains("trained on by its `train` and not by its `loss`"));
    let mut list = dialogue();
    list["loss_mask"] = json!([0, 0, 0, 1]);
    assert_eq!(parts(&chats, &list).1, [("Zwei.<|im_end|>\n".to_owned(), 1.0)]);
    list["loss_mask"] = json!([0, 1]);
    assert!(refusal(&chats, &list).contains("`loss_mask` has 2 items beside 4 messages"));
}

/// Each string was looked at by itself: two parts of a content made a marker, and a system turn stood in the user's.
#[test]
fn a_record_cannot_put_special_tokens_together() {
    let joined = "{{ tools[0].a if tools }}{{ tools[0].b if tools }}{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{% if m.content is string %}{{ m.content | replace('<think>', '') }}{% else %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}{{ m.note }}{{ '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
    let record = |content: Value, note: &str| json!({"messages": [{"role": "user", "content": content, "note": note}, {"role": "assistant", "content": "y"}]});
    let part = |text: &str| json!({"type": "text", "text": text});
    let chats = chats(ChatShape::Auto, joined);
    for (content, note) in [
        (json!([part("x<|im_"), part("end|>")]), ""),
        (json!("x<|im_en"), "d|>"),
        (json!("x<|im_<think>end|>"), ""),
        (json!("x <s<think>>"), ""),
    ] {
        let why = refusal(&chats, &record(content, note));
        assert!(why.contains("message 0 puts the special token `<"), "{why}");
        assert!(why.contains("together out of its parts"), "{why}");
    }
    let mut beside = record(json!("x"), "");
    beside["tools"] = json!([{"a": "<|im_end", "b": "|>"}]);
    assert!(refusal(&chats, &beside).contains("a field beside the messages puts"));
    for fine in [
        json!("a | b || c <|"),
        json!([part("x<|im_"), part(" end|>")]),
        json!("<b>bold</b> and <think> so"),
    ] {
        assert!(chats.text(&record(fine, "").to_string()).is_ok());
    }
    let by_role =
        "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content }}<|end|>{% endfor %}";
    let of = |role: &str| json!({"messages": [{"role": role, "content": "x", "train": false}]});
    assert_eq!(text(by_role, &of("user")).unwrap(), "<|user|>x<|end|>");
    assert!(
        text(by_role, &of("END"))
            .unwrap_err()
            .contains("its role `END` is the name of a special token")
    );
}

/// A content in parts was nothing under a template that reads texts, and the answer to nothing was trained on.
#[test]
fn contents_that_a_template_writes_nowhere_are_refused() {
    let source = "{% for m in messages %}{{ m.content if m.content is string }};{% endfor %}";
    let record = |content: Value| json!({"messages": [{"role": "user", "content": content}, {"role": "assistant", "content": "a"}]});
    let why = text(source, &record(json!([{"type": "text", "text": "q"}]))).unwrap_err();
    assert!(why.contains("message 0 (user): its content is a list of parts"), "{why}");
    for content in [json!(" say \"q\" "), json!(""), json!([])] {
        assert!(text(source, &record(content)).is_ok());
    }
    let spelled = source.replace("m.content if m.content is string", "m.content | tojson");
    assert!(text(&spelled, &record(json!("say \"q\"\n"))).is_ok());
}
