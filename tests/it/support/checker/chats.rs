//! Conversations whose messages say what of them is trained.

use crate::support::checker::corpus::CheckedCorpus;
use crate::support::{CHATML, Random, corpusdb, prose};
use serde_json::{Value, json};

/// Ingests conversations, under the name that says whether some of their messages have weights.
pub fn pour_chats(place: &CheckedCorpus, weighted: bool) {
    let mut random = Random::new(51);
    let template = place.scratch.write("chatml.jinja", CHATML);
    let mut lines = String::new();
    for number in 0..70 {
        let mut messages: Vec<Value> = Vec::new();
        for _ in 0..random.between(1, 4) {
            let words = random.between(2, 14);
            messages.push(json!({ "role": "user", "content": prose(&mut random, number, words) }));
            let words = random.between(1, 40);
            let mut answer =
                json!({ "role": "assistant", "content": prose(&mut random, number, words) });
            match random.below(5) {
                0 if weighted => answer["weight"] = json!(0.5),
                1 => answer["weight"] = json!(0),
                _ => {}
            }
            messages.push(answer);
        }
        lines
            .push_str(&json!({ "id": format!("chat-{number}"), "messages": messages }).to_string());
        lines.push('\n');
    }
    let file = place.scratch.write("chats.jsonl", lines);
    let corpus = place.path.display().to_string();
    let arguments =
        ["ingest", &corpus, &file, "--source", "chats", "--id-field", "id", "--chat", "messages"];
    // The tokenizer was trained on pages, which have no marks of turns.
    let marks = ["--chat-template", &template, "--template-markers", "text"];
    corpusdb(&[&arguments[..], &marks].concat()).good();
}
