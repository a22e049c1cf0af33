//! Conversations and token ids on their way in: text, special tokens, trained tokens, and what comes after.

use crate::support::{
    CHATML, Random, TestDir, assert_contains, corpusdb, corpusdb_reading, corpusdb_test, digest,
    fixture, init, json_lines, numbers, prose, seeds, silent, sound, tokenizer_of_chats, until,
};
use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

struct ChatCorpus {
    scratch: TestDir,
    corpus: String,
}

impl ChatCorpus {
    fn new() -> Self {
        let scratch = TestDir::new();
        let corpus = scratch.arg("corpus");
        scratch.write("chatml.jinja", CHATML);
        scratch.write("own.json", tokenizer_of_chats(2));
        Self::init(&corpus);
        Self { scratch, corpus }
    }

    /// An empty corpus with the tokenizer of the place.
    fn init(corpus: &str) {
        fixture("an empty corpus with a tokenizer of chats", Path::new(corpus), |path| {
            let path = path.display().to_string();
            init(&path, &[]);
            let directory = TestDir::new();
            let file = directory.write("own.json", tokenizer_of_chats(2));
            corpusdb(&["tokenizer", "add", &path, "own", &file]).good();
        });
    }

    fn register(&self, name: &str, seed: u64) {
        let file = self.scratch.write(&format!("{name}.json"), tokenizer_of_chats(seed));
        corpusdb(&["tokenizer", "add", &self.corpus, name, &file]).good();
    }

    fn ingest(&self, records: &[Value], more: &[&str]) -> Value {
        let text: String = records.iter().map(|record| format!("{record}\n")).collect();
        let arguments =
            [&["ingest", &self.corpus, "-", "--source", "chats", "--json"], more].concat();
        corpusdb_reading(&arguments, text.as_bytes()).good().json()
    }

    fn chat(&self, records: &[Value], more: &[&str]) -> Value {
        let template = self.scratch.arg("chatml.jinja");
        let chat = ["--chat", "auto", "--chat-template", &template];
        self.ingest(records, &[&chat, more].concat())
    }

    fn tokens(&self, id: u64, tokenizer: &str) -> Vec<Value> {
        let id = id.to_string();
        let arguments = ["show", &self.corpus, &id, "--tokens", "--tokenizer", tokenizer, "--json"];
        corpusdb(&arguments).good().json()["tokens"].as_array().unwrap().clone()
    }

    /// The text of the trained tokens, and whether all weigh 1.
    fn trained(&self, id: u64, tokenizer: &str) -> String {
        let tokens = self.tokens(id, tokenizer);
        let trained = tokens.iter().filter(|token| token["trained"] == true);
        trained.map(|token| token["text"].as_str().unwrap()).collect()
    }

    fn show(&self, id: u64) -> Value {
        corpusdb(&["show", &self.corpus, &id.to_string(), "--json"]).good().json()
    }

    fn reasons(&self) -> Vec<String> {
        let rejects = json_lines(&corpusdb(&["rejects", &self.corpus, "--json"]).good().stdout);
        rejects.iter().map(|reject| reject["reason"].as_str().unwrap().to_owned()).collect()
    }
}

fn dialogue(asked: &str, answered: &str) -> Value {
    json!({"id": asked, "topic": "t", "messages": [
        {"role": "user", "content": asked}, {"role": "assistant", "content": answered}]})
}

corpusdb_test!(conversations_are_stored_as_templates_write_them, ChatCorpus::new(), |place| {
    let record = dialogue("What is the sea?", "Salt water, Größe zählt: 海。");
    let report = place.chat(std::slice::from_ref(&record), &["--id-field", "id"]);
    assert_eq!(numbers(&report, ["added", "rejected"]), [1, 0]);
    let shown = place.show(0);
    assert_eq!(
        shown["text"],
        "<|im_start|>user\nWhat is the sea?<|im_end|>\n<|im_start|>assistant\nSalt water, Größe zählt: 海。<|im_end|>\n"
    );
    assert_eq!(shown["key"], "What is the sea?");
    assert_eq!(shown["chat_template"]["source"], CHATML);
    assert_eq!(shown["chat_template"]["variables"], json!({}));
    assert_eq!(shown["metadata"]["messages"], record["messages"]);
    assert_eq!(shown["metadata"]["topic"], "t");
    let tokens = place.tokens(0, "own");
    // The template's special tokens are single ids.
    let ids: Vec<u64> = tokens.iter().map(|token| token["id"].as_u64().unwrap()).collect();
    assert_eq!(
        (ids.iter().filter(|id| **id == 1).count(), ids.iter().filter(|id| **id == 2).count()),
        (2, 2)
    );
    let spelled: String = tokens.iter().map(|token| token["text"].as_str().unwrap()).collect();
    assert_eq!(spelled, shown["text"].as_str().unwrap());
    assert_eq!(place.trained(0, "own"), "Salt water, Größe zählt: 海。<|im_end|>\n");
    corpusdb(&["show", &place.corpus, "0", "--tokens"]).good().prints(&["⟦<|im_start|>|", "⟧S"]);
    sound(&place.corpus);
});

corpusdb_test!(a_later_tokenizer_finds_the_same_trained_text, ChatCorpus::new(), |place| {
    place.chat(
        &[
            dialogue("one two three", "vier fünf"),
            json!({"prompt": "a b c ", "completion": "d e f"}),
        ],
        &[],
    );
    place.ingest(&[json!({"text": "plain text with <|im_end|> spelled in it"})], &[]);
    place.register("later", 5);
    for tokenizer in ["own", "later"] {
        assert_eq!(place.trained(0, tokenizer), "vier fünf<|im_end|>\n", "{tokenizer}");
        assert_eq!(place.trained(1, tokenizer), "d e f<|im_end|>\n");
        let plain = place.tokens(2, tokenizer);
        assert!(plain.iter().all(|token| token["trained"] == true && token["id"] != 2));
    }
    sound(&place.corpus);
});

corpusdb_test!(bad_conversations_are_rejected_with_their_reason, ChatCorpus::new(), |place| {
    let records = [
        dialogue("fine", "yes"),
        json!({"messages": [{"role": "user", "content": "<|im_end|>"}, {"role": "assistant", "content": "x"}]}),
        json!({"other": 1}),
    ];
    assert_eq!(numbers(&place.chat(&records, &[]), ["added", "rejected"]), [1, 2]);
    let reasons = place.reasons().join("\n");
    assert_contains(&reasons, &["special token `<|im_end|>`", "not a conversation"]);
    let text: String = records.iter().map(|record| format!("{record}\n")).collect();
    let template = place.scratch.arg("chatml.jinja");
    let arguments = [
        "ingest",
        &place.corpus,
        "-",
        "--source",
        "chats",
        "--chat",
        "auto",
        "--chat-template",
        &template,
        "--on-error",
        "fail",
    ];
    corpusdb_reading(&arguments, text.as_bytes()).fails(&["record 1", "<|im_end|>"]);
    let without = ["ingest", &place.corpus, "-", "--source", "chats", "--chat", "messages"];
    corpusdb_reading(&without, b"").fails(&["need --chat-template"]);
    place.chat(&records, &["--special-in-content", "allow"]);
    assert_eq!(place.trained(1, "own"), "x<|im_end|>\n");
    sound(&place.corpus);
});

corpusdb_test!(templates_of_tokenizers_take_variables, ChatCorpus::new(), |place| {
    let source = "{{ bos_token }}{% if think is defined and think %}T{% endif %}{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}";
    let config = json!({"bos_token": "<s>", "eos_token": {"content": "<|im_end|>"},
        "chat_template": [{"name": "default", "template": source}, {"name": "loud", "template": "{% for m in messages %}{{ m.content | upper }}{% endfor %}"}]});
    let path = place.scratch.write("tokenizer_config.json", config.to_string());
    let ingest = |word: &str, more: &[&str]| {
        let chat = ["--chat", "messages", "--chat-template", &path];
        let report = place.ingest(&[dialogue(word, "b")], &[&chat, more].concat());
        assert_eq!(numbers(&report, ["rejected"]), [0]);
    };
    ingest("q", &["--template-markers", "text"]);
    ingest("r", &["--chat-set", "bos_token=", "--chat-set", "think=true"]);
    ingest("loud", &["--chat-template-name", "loud"]);
    let texts: Vec<Value> = (0..3).map(|id| place.show(id)["text"].clone()).collect();
    assert_eq!(texts, ["<s>q<|im_end|>b<|im_end|>", "Tr<|im_end|>b<|im_end|>", "LOUDB"]);
    let chat = ["ingest", &place.corpus, "-", "--source", "c", "--chat", "auto", "--chat-template"];
    corpusdb_reading(&[&chat[..], &[&path, "--chat-template-name", "soft"]].concat(), b"")
        .fails(&["no chat_template `soft`; there are `default`, `loud`"]);
    sound(&place.corpus);
});

corpusdb_test!(supplied_ids_are_stored_also_of_removed_documents, ChatCorpus::new(), |place| {
    place.chat(&[dialogue("the sea is wide and the sky is high", "so it is")], &[]);
    let ids: Vec<u64> =
        place.tokens(0, "own").iter().map(|token| token["id"].as_u64().unwrap()).collect();
    // Another division of the same text: the encoder would not give these ids.
    let odd: Vec<u64> = vec![3 + u64::from(b'a' - b'!'), 3 + u64::from(b'b' - b'!'), 2];
    let labels: Vec<i64> = vec![-100, odd[1].cast_signed(), 2];
    let half = ids.iter().enumerate().map(|(at, id)| if at < 4 { -100 } else { id.cast_signed() });
    let half: Vec<i64> = half.collect();
    let records = [
        json!({"input_ids": odd, "labels": labels, "kind": "odd"}),
        // A duplicate of the conversation: removed, its ids stay.
        json!({"input_ids": ids, "labels": half}),
        json!({"input_ids": [1, 100_000]}),
        json!({"input_ids": [1, 2], "labels": [2, -100]}),
        json!({"input_ids": [1, 2], "labels": [-100, 2], "text": "other"}),
    ];
    let report = place.ingest(&records, &["--pretokenized", "own"]);
    assert_eq!(numbers(&report, ["added", "exact_duplicates", "rejected"]), [2, 1, 3]);
    let reasons = place.reasons().join("\n");
    for words in [
        "input_ids[1] is not an id",
        "labels must not be shifted",
        "differs from the text of its ids",
    ] {
        assert!(reasons.contains(words), "{reasons}");
    }
    let shown = place.tokens(1, "own");
    assert_eq!(shown.iter().map(|token| token["id"].clone()).collect::<Vec<_>>(), odd);
    let found = shown.iter().map(|token| token["trained"] == true).collect::<Vec<_>>();
    assert_eq!(found, [false, true, true]);
    assert_eq!(place.show(1)["metadata"], json!({"kind": "odd"}));
    assert_eq!(place.show(2)["standing"], "exact");
    assert_eq!(place.tokens(2, "own").len(), ids.len());
    // Its twin goes: it is kept now, with the ids and the labels that it brought.
    corpusdb(&["remove", &place.corpus, "0", "--no-block"]).good();
    assert_eq!(place.show(2)["standing"], "kept");
    assert_eq!(place.tokens(2, "own").iter().filter(|token| token["trained"] == false).count(), 4);
    sound(&place.corpus);
    // Another tokenizer encodes the text, and finds the same part of it trained.
    let expected = place.trained(2, "own");
    place.register("later", 5);
    assert_eq!(place.trained(2, "later"), expected);
    assert_eq!(place.tokens(1, "later").len(), 3);
    sound(&place.corpus);
    corpusdb_reading(
        &["ingest", &place.corpus, "-", "--source", "x", "--pretokenized", "none"],
        b"{}",
    )
    .fails(&["`none`", "own"]);
});

// Every other name than `labels` stayed unread in the metadata, so that all ids were trained on, pads among them.
corpusdb_test!(masks_beside_supplied_ids_are_read, ChatCorpus::new(), |place| {
    place.chat(&[dialogue("the sea is wide and the sky is high", "so it is")], &[]);
    let ids: Vec<u64> =
        place.tokens(0, "own").iter().map(|token| token["id"].as_u64().unwrap()).collect();
    let mask: Vec<u8> = (0..ids.len()).map(|at| u8::from(at >= 4)).collect();
    let pads = |before: usize, behind: usize, of: &[u64], pad: u64| -> Vec<u64> {
        [vec![pad; before], of.to_vec(), vec![pad; behind]].concat()
    };
    let ones: Vec<u64> = vec![1; ids.len()];
    let wide: Vec<u64> = mask.iter().copied().map(u64::from).collect();
    let records = [
        json!({"id": 1, "input_ids": ids, "completion_mask": mask, "topic": "t"}),
        json!({"id": 2, "input_ids": ids, "assistant_masks": mask, "attention_mask": ones}),
        json!({"id": 3, "input_ids": pads(2, 3, &ids, 90_000), "attention_mask": pads(2, 3, &ones, 0),
            "loss_mask": pads(2, 3, &wide, 1)}),
        json!({"id": 4, "input_ids": ids, "seq_lengths": [ids.len()], "position_ids": Vec::from_iter(0..ids.len())}),
        json!({"id": 5, "input_ids": [1, 2], "labels": [1, 2], "completion_mask": [0, 1]}),
        json!({"id": 6, "input_ids": [1, 2], "cu_seqlens": [0, 1, 2]}),
        json!({"id": 7, "input_ids": [1, 2], "completion_mask": [1]}),
    ];
    let report = place.ingest(&records, &["--pretokenized", "own", "--id-field", "id"]);
    assert_eq!(numbers(&report, ["added", "rejected"]), [4, 3]);
    let reasons = place.reasons().join("\n");
    for words in
        ["`labels` and `completion_mask`", "`cu_seqlens` is of 2", "`completion_mask` has 1"]
    {
        assert!(reasons.contains(words), "{reasons}");
    }
    for document in 1..=4 {
        let shown = place.tokens(document, "own");
        assert_eq!(shown.iter().map(|token| token["id"].clone()).collect::<Vec<_>>(), ids);
        let trained = shown.iter().filter(|token| token["trained"] == true).count();
        assert_eq!(trained, if document == 4 { ids.len() } else { ids.len() - 4 });
    }
    assert_eq!(place.show(1)["metadata"], json!({"topic": "t"}));
    let report = place.ingest(&records[..4], &["--pretokenized", "own", "--id-field", "id"]);
    assert_eq!(numbers(&report, ["added", "unchanged"]), [0, 4]);
    sound(&place.corpus);
});

corpusdb_test!(a_changed_weight_is_new_content_and_reaches_tokens, ChatCorpus::new(), |place| {
    let mut record = dialogue("same", "words");
    place.chat(std::slice::from_ref(&record), &["--id-field", "id"]);
    record["messages"][1]["weight"] = json!(0.25);
    let report = place.chat(std::slice::from_ref(&record), &["--id-field", "id"]);
    assert_eq!(numbers(&report, ["added", "updated"]), [1, 1]);
    let tokens = place.tokens(1, "own");
    let weights: Vec<f64> = tokens.iter().map(|token| token["weight"].as_f64().unwrap()).collect();
    assert!(weights.contains(&0.25) && weights.contains(&0.0) && !weights.contains(&1.0));
    let report = place.chat(&[record], &["--id-field", "id"]);
    assert_eq!(numbers(&report, ["added", "unchanged"]), [0, 1]);
    sound(&place.corpus);
});

/// Several hundred conversations, of which some are duplicates and some are refused.
fn many() -> String {
    let mut random = Random::new(11);
    let mut out = String::new();
    for number in 0..400 {
        let mut record = dialogue(
            &format!("{number} {}", prose(&mut random, 0, 20)),
            &prose(&mut random, 1, 30),
        );
        if random.chance(10) {
            record["messages"][1]["content"] = json!("<|im_end|>");
        }
        if random.chance(20) {
            record["messages"][1]["weight"] = json!(0);
        }
        out += &format!("{record}\n");
        if random.chance(15) {
            out += &format!("{record}\n");
        }
    }
    out
}

corpusdb_test!(a_killed_ingest_rerun_gives_the_same_trained_tokens, ChatCorpus::new(), |place| {
    let file = place.scratch.write("many.jsonl", many());
    let template = place.scratch.arg("chatml.jinja");
    let fresh = |name: &str| {
        let corpus = place.scratch.arg(name);
        ChatCorpus::init(&corpus);
        corpus
    };
    let arguments = |corpus: &str| {
        [
            "ingest",
            corpus,
            &file,
            "--source",
            "chats",
            "--id-field",
            "id",
            "--batch-bytes",
            "4kB",
            "--chat",
            "messages",
            "--chat-template",
            &template,
        ]
        .map(str::to_owned)
    };
    let whole = fresh("whole");
    corpusdb(&arguments(&whole)).good();
    sound(&whole);
    let expected = digest(&whole);
    let mut killed = 0;
    for round in 0..seeds(4) {
        let corpus = fresh(&format!("killed-{round}"));
        let before = std::fs::metadata(format!("{corpus}/journal")).unwrap().len();
        let mut child = silent(&arguments(&corpus));
        let journal = || std::fs::metadata(format!("{corpus}/journal")).unwrap().len();
        until(&mut child, || journal() >= before + 24 * (round + 1));
        killed += u64::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
        corpusdb(&arguments(&corpus)).good();
        sound(&corpus);
        assert_eq!(digest(&corpus), expected, "round {round}");
    }
    assert!(killed >= 2, "{killed} runs were killed before they ended");
});

corpusdb_test!(a_document_kept_again_has_its_own_trained_tokens, ChatCorpus::new(), |place| {
    let said = dialogue("the sea is wide and the sky is high", "so it is and so it stays");
    let mut unsaid = said.clone();
    unsaid["messages"][1]["weight"] = json!(0);
    place.chat(&[said, unsaid], &[]);
    assert_eq!(place.show(1)["standing"], "exact");
    let never = ["show", &place.corpus, "1", "--tokens"];
    corpusdb(&never).fails(&["never encoded", "`own`"]);
    let is_right = || {
        assert_eq!(place.trained(0, "own"), "so it is and so it stays<|im_end|>\n");
        let found = (place.show(1)["standing"].clone(), place.trained(1, "own"));
        assert_eq!(found, (json!("kept"), String::new()));
        sound(&place.corpus);
    };
    corpusdb(&["dedup", "redo", &place.corpus, "--mode", "none"]).good();
    is_right();
    corpusdb(&["dedup", "redo", &place.corpus, "--mode", "witness"]).good();
    assert_eq!(place.show(1)["standing"], "exact");
    corpusdb(&["remove", &place.corpus, "0", "--no-block"]).good();
    is_right();
});

corpusdb_test!(conversations_and_ids_in_parquet_are_those_of_lines, ChatCorpus::new(), |place| {
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    let message = DataType::Struct(vec![text("role"), text("content")].into());
    let ids = DataType::List(Arc::new(Field::new("item", DataType::Int64, true)));
    let schema = Arc::new(Schema::new(vec![
        text("id"),
        text("topic"),
        Field::new("messages", DataType::List(Arc::new(Field::new("item", message, true))), true),
        Field::new("input_ids", ids.clone(), true),
        Field::new("labels", ids, true),
    ]));
    let mut record = dialogue("is it in columns?", "It is, Größe 海.");
    record["input_ids"] = json!([40, 41, 2]);
    record["labels"] = json!([-100, 41, 2]);
    let mut decoder = arrow::json::ReaderBuilder::new(Arc::clone(&schema)).build_decoder().unwrap();
    decoder.serialize(&[&record]).unwrap();
    let batch = decoder.flush().unwrap().unwrap();
    let path = place.scratch.path("chats.parquet");
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, schema, None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let path = path.to_str().unwrap();
    let template = place.scratch.arg("chatml.jinja");
    let ingest = |source: &str, more: &[&str]| {
        let arguments = ["ingest", &place.corpus, path, "--source", source, "--id-field", "id"];
        corpusdb(&[&arguments[..], more].concat()).good();
    };
    ingest("chats", &["--chat", "messages", "--chat-template", &template]);
    assert_eq!(place.trained(0, "own"), "It is, Größe 海.<|im_end|>\n");
    assert_eq!(place.show(0)["metadata"]["messages"], record["messages"]);
    assert_eq!(place.show(0)["key"], "is it in columns?");
    ingest("ids", &["--pretokenized", "own"]);
    let trained: Vec<bool> =
        place.tokens(1, "own").iter().map(|token| token["trained"] == true).collect();
    assert_eq!(trained, [false, true, true]);
    assert_eq!(place.show(1)["metadata"]["topic"], "t");
    sound(&place.corpus);
});

// `--text-field`, which was told instead, rejects every record.
// The id was no field of an export, and a number had another spelling.
corpusdb_test!(chats_are_exported_as_they_came, |t| {
    let lines = [
        r#"{"z":1.50,"messages":[{"role":"user","content":"How high?","name":null},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"tide","arguments":{"port":"Brest","at":null,"b":1e-07,"a":12345678901234567890,"c":1E+3}}}]},{"role":"tool","content":"4","tool_call_id":"c1"},{"role":"assistant","content":"Fouré 👍.","weight":1}],"tools":[{"type":"function","function":{"name":"tide","parameters":{"default":null}}}],"id":17,"source":"mine","text":"a field of that name"}"#,
        r#"{"id":"b","messages":[{"content":"Order of members","role":"user"},{"content":"differs.","role":"assistant"}],"empty":{},"list":[]}"#,
    ];
    let all = lines.join("\n") + "\n";
    t.write("in.jsonl", &all);
    t.write(
        "t.jinja",
        "{% for m in messages %}{{ m.role + ': ' + (m.content or '') + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}",
    );
    let chat = "--source s --id-field id --chat messages --chat-template t.jinja --json";
    t.run("init c --mode none --field z:keyword").good();
    t.run(&format!("ingest c in.jsonl {chat}")).counts("added 2");
    t.run("export c --columns meta.* --to out.jsonl").good();
    assert_eq!(std::fs::read_to_string(t.path("out.jsonl")).unwrap(), all);
    assert_eq!(t.column("c", "SELECT z FROM documents WHERE key = '17'"), ["1.5"]);
    // An id is not what a record is known by, nor is the spelling of a number.
    t.write("again.jsonl", all.replace("1.50", "1.5").replace("1E+3", "1000.0"));
    t.run(&format!("ingest c again.jsonl {chat}")).counts("added 0, unchanged 2");
    // What a column says already is written once.
    t.run("init d --mode none").good();
    let line = lines[1].replace("\"id\"", "\"key\"");
    t.write("key.jsonl", &line);
    let chat = chat.replace("--id-field id", "--id-field key");
    t.run(&format!("ingest d key.jsonl {chat}")).counts("added 1");
    t.run("export d --columns key,meta.* --to key-out.jsonl").good();
    assert_eq!(std::fs::read_to_string(t.path("key-out.jsonl")).unwrap(), line + "\n");
});

// Such a tokenizer finds its special tokens in the text as its normaliser makes it.
corpusdb_test!(tokens_that_a_normaliser_makes_forge_no_turn, |t| {
    let mut own: Value = serde_json::from_slice(&tokenizer_of_chats(2)).unwrap();
    own["normalizer"] =
        json!({"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]});
    for token in own["added_tokens"].as_array_mut().unwrap() {
        token["normalized"] = json!(true);
    }
    t.write("own.json", own.to_string());
    t.run("init c --mode none").good();
    t.run("tokenizer add c own own.json").good();
    let wide = "\u{ff1c}\u{ff5c}im_end\u{ff5c}\u{ff1e}";
    let parts = json!([{"type": "text", "text": "a <|IM_"}, {"type": "text", "text": "END|> b"}]);
    let says =
        [json!("a <|IM_END|> b"), json!(format!("a {wide} b")), parts, json!("2 <| 3 |> IM_END")];
    let line = |said: &Value| {
        let asked = json!({"role": "user", "content": said});
        json!({"messages": [asked, {"role": "assistant", "content": "Yes."}]}).to_string()
    };
    t.write("in.jsonl", says.iter().map(line).collect::<Vec<_>>().join("\n"));
    let joins = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content if m.content is string else m.content | map(attribute='text') | join }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
    t.write("joins.jinja", joins);
    let chat = "--source s --chat messages --chat-template joins.jinja --json";
    t.run(&format!("ingest c in.jsonl {chat}")).counts("added 1, rejected 3");
    let rejects = t.run("rejects c --json").good().json_lines();
    for reject in rejects {
        let reason = reject["reason"].as_str().unwrap();
        assert_contains(&reason.to_lowercase(), &["im_end"]);
    }
});

// What a conversation says about special tokens is a subject as any other.
corpusdb_test!(tokens_that_a_record_speaks_of_stay_text, ChatCorpus::new(), |place| {
    let says = "Turns end with <|im_end|>\n and <|tool|> is none.";
    let records = [dialogue("How?", says), dialogue("What?", "So.")];
    let as_text = ["--special-in-content", "text"];
    let report = place.chat(&records, &as_text);
    assert_eq!(numbers(&report, ["added", "rejected"]), [2, 0]);
    assert_eq!(report["special_tokens_in_text"]["own"]["<|im_end|>"], 1, "{report}");
    let ends = |tokenizer: &str| {
        let tokens = place.tokens(0, tokenizer);
        tokens.iter().filter(|token| token["id"] == 2).count()
    };
    let trained = format!("{says}<|im_end|>\n");
    // Of a later tokenizer too, whether it knew the token then or not.
    let mut later: Value = serde_json::from_slice(&tokenizer_of_chats(5)).unwrap();
    let highest = later["model"]["vocab"].as_object().unwrap().values().filter_map(Value::as_u64);
    let mut tool = later["added_tokens"][0].clone();
    (tool["id"], tool["content"]) = (json!(highest.max().unwrap() + 1), json!("<|tool|>"));
    later["added_tokens"].as_array_mut().unwrap().push(tool);
    let file = place.scratch.write("later.json", later.to_string());
    let added = corpusdb(&["tokenizer", "add", &place.corpus, "later", &file, "--json"]).good();
    assert_eq!(added.json().get("special_tokens_in_chats"), None);
    for tokenizer in ["own", "later"] {
        assert_eq!((ends(tokenizer), place.trained(0, tokenizer)), (2, trained.clone()));
        let tokens = place.tokens(0, tokenizer);
        assert!(tokens.iter().all(|token| token["text"] != "<|tool|>"), "{tokens:?}");
    }
    // The same record is the same document; allowed, it is another, of the same text.
    assert_eq!(numbers(&place.chat(&records, &as_text), ["added", "unchanged"]), [0, 2]);
    let other = place.chat(&records[..1], &["--special-in-content", "allow"]);
    assert_eq!(numbers(&other, ["added", "kept", "unchanged"]), [1, 0, 0]);
    sound(&place.corpus);
});

// Nobody knew the token when the conversation came in, and then it was a turn's.
corpusdb_test!(a_later_tokenizer_counts_its_tokens_in_what_is_said, |t| {
    t.write("chatml.jinja", CHATML);
    t.run("init c --mode none").good();
    let says = ["a <|tool|> b", "plain", "<|tool|><|tool|>", "<|im_start"];
    let line = |said: &&str| json!({"messages": dialogue("How?", said)["messages"]}).to_string();
    t.write("in.jsonl", says.iter().map(line).collect::<Vec<_>>().join("\n"));
    let chat = "--chat messages --chat-template chatml.jinja --template-markers text";
    t.run(&format!("ingest c in.jsonl --source s {chat} --json")).counts("added 4");
    corpusdb(&["remove", &t.arg("c"), "--where", "text LIKE '%><|tool%'"]).good();
    let mut own: Value = serde_json::from_slice(&tokenizer_of_chats(2)).unwrap();
    let vocabulary = own["model"]["vocab"].as_object().unwrap();
    let ids = vocabulary.values().filter_map(Value::as_u64);
    let added = own["added_tokens"].as_array().unwrap();
    let highest = ids.chain(added.iter().filter_map(|token| token["id"].as_u64())).max().unwrap();
    let mut tool = added.last().unwrap().clone();
    tool["id"] = json!(highest + 1);
    tool["content"] = json!("<|tool|>");
    own["added_tokens"].as_array_mut().unwrap().push(tool);
    t.write("own.json", own.to_string());
    let report = t.run("tokenizer add c own own.json --json").good().json();
    assert_eq!(report["special_tokens_in_chats"], json!({"<|tool|>": 1}), "{report}");
    let again = t.run("tokenizer backfill c own").good();
    assert_contains(&again.stderr, &["1 conversation spells `<|tool|>`"]);
});

corpusdb_test!(two_templates_in_one_source_are_named_by_every_report, |t| {
    t.write("one.jinja", CHATML);
    t.write("two.jinja", format!("{CHATML} "));
    t.run("init c --mode none").good();
    for (name, template) in [("a", "one"), ("b", "two")] {
        let line = json!({"id": name, "messages": dialogue("How?", name)["messages"]});
        t.write("in.jsonl", format!("{line}\n"));
        let chat =
            format!("--chat messages --chat-template {template}.jinja --template-markers text");
        t.run(&format!("ingest c in.jsonl --source s --id-field id {chat}")).good();
        let mixed = t.run("info c --json").json()["mixed_templates"].clone();
        assert_eq!(mixed, if name == "a" { json!({}) } else { json!({"s": 2}) });
    }
    assert_contains(&t.run("info c").good().stdout, &["source s: texts of 2 chat templates"]);
    t.run("report c -o card.html").good();
    let card = std::fs::read_to_string(t.path("card.html")).unwrap();
    assert_contains(&card, &["has texts of 2 chat templates"]);
    t.write("own.json", tokenizer_of_chats(2));
    t.write("r.toml", "version = 1\n[pack]\nlength = 64\n");
    t.run("tokenizer add c own own.json").good();
    let explained = t.run("epoch explain c r.toml").good().stdout;
    assert_contains(&explained, &["s: texts of 2 chat templates"]);
    // What is kept counts: one of them alone is not mixed.
    t.run("remove c a").good();
    assert_eq!(t.run("info c --json").json()["mixed_templates"], json!({}));
});

corpusdb_test!(ids_of_chats_in_tables_are_fields_too, |t| {
    let messages = r#"[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]"#;
    let quoted = messages.replace('"', "\"\"");
    t.write("in.csv", format!("id,messages\n007,\"{quoted}\"\n"));
    t.write("chatml.jinja", CHATML);
    t.run("init c --mode none").good();
    let chat = "--id-field id --chat messages --chat-template chatml.jinja --json";
    t.run(&format!("ingest c in.csv --source csv {chat}")).counts("added 1");
    let ids = Arc::new(arrow::array::Int64Array::from(vec![7])) as arrow::array::ArrayRef;
    let texts = Arc::new(arrow::array::StringArray::from(vec![messages])) as arrow::array::ArrayRef;
    let batch =
        arrow::array::RecordBatch::try_from_iter([("id", ids), ("messages", texts)]).unwrap();
    let file = std::fs::File::create(t.path("in.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    t.run(&format!("ingest c in.parquet --source parquet {chat}")).counts("added 1");
    let ids = t.column("c", "SELECT meta ->> 'id' FROM documents ORDER BY id");
    assert_eq!(ids, ["007", "7"]);
});

corpusdb_test!(conversations_without_the_option_get_its_name, |scratch| {
    let messages = json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]);
    let turns = json!([{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]);
    let template = scratch.write(
        "chat.jinja",
        "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}\n{% endfor %}",
    );
    for (name, record, options) in [
        ("messages", json!({"messages": messages}), &["--chat", "messages"][..]),
        ("sharegpt", json!({"id": 1, "conversations": turns}), &["--chat", "sharegpt"]),
        (
            "turns",
            json!({"conversations": messages}),
            &["--chat", "messages", "--text-field", "conversations"],
        ),
        (
            "conversation",
            json!({"conversation": messages}),
            &["--chat", "messages", "--text-field", "conversation"],
        ),
        ("pair", json!({"prompt": "q", "completion": "a"}), &["--chat", "prompt-completion"]),
        ("alpaca", json!({"instruction": "q", "output": "a"}), &["--chat", "alpaca"]),
        (
            "preferred",
            json!({"chosen": messages, "rejected": messages}),
            &["--chat", "messages", "--text-field", "chosen"],
        ),
        (
            "answers",
            json!({"prompt": "q", "chosen": "a", "rejected": "b"}),
            &["--chat", "prompt-completion", "--map", "completion=chosen"],
        ),
        (
            "plain",
            json!({"prompt": "q", "chosen": "a", "rejected": "b"}),
            &["--text-field", "chosen"],
        ),
        ("other", json!({"title": "t"}), &["--text-field", "title"]),
    ] {
        let corpus = scratch.arg(&format!("{name}.corpus"));
        init(&corpus, &["--mode", "none"]);
        let line = format!("{record}\n");
        for file in [
            scratch.write(&format!("{name}.jsonl"), &line),
            scratch.write(&format!("{name}.json"), format!("[{record}]")),
        ] {
            let without = ["ingest", &corpus, &file, "--source", "s"];
            let told = corpusdb(&without);
            assert!(matches!(told.code, Some(1 | 2)), "{told}");
            let said = if name == "other" { &options[..1] } else { options };
            for option in said.chunks(2) {
                assert!(told.stderr.contains(&option.join(" ")), "{told}");
            }
            // What it says is taken.
            let mut with = options.to_vec();
            if options.contains(&"--chat") {
                with.extend(["--chat-template", &template]);
            }
            let ran = corpusdb(&[&without, &with[..], &["--json"]].concat()).good();
            assert_eq!(numbers(&ran.json(), ["added", "rejected"]), [1, 0], "{ran}");
        }
    }
});
