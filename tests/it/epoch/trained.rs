//! What conversations say is trained survives packing, splitting and resuming, and can be mixed by.

use super::place::{Place, plan, stored};
use super::run::Run;
use super::worlds;
use crate::support::{Random, corpusdb, prose};
use serde_json::{Value, json};

const CHATML: &str = "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/// A corpus of plain pages and of conversations of several turns, some longer than a row, some with weights.
fn place() -> Place {
    let place = Place::of(51, &[("web", 60, 3, 40)]);
    pour_chats(&place, true);
    place
}

/// Ingests conversations, under the name that says whether some of their messages have weights.
pub fn pour_chats(place: &Place, weighted: bool) {
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

#[test]
fn trained_tokens_survive_packing_and_splitting_and_are_mixed_by() {
    let place = place();
    let corpus = place.reader();
    let all = stored(&corpus);
    let mut random = Random::new(52);
    let chats: Vec<_> = all.iter().filter(|of| of.source == "chats" && of.kept).collect();
    assert!(chats.len() > 40 && chats.iter().all(|of| of.loss.is_some()));
    assert!(chats.iter().filter(|of| of.ids.as_ref().unwrap().len() > 200).count() > 10);
    let specials = [
        "eos = \"<|eos|>\", pad = \"<|pad|>\"",
        "bos = \"<|bos|>\", eos = \"<|eos|>\", pad = \"<|pad|>\"",
        "pad = \"<|pad|>\"",
    ];
    let mut number = 0;
    for pack in ["best-fit", "greedy", "concat", "none"] {
        for long in ["split", "paragraph", "truncate"] {
            if pack == "concat" && long == "paragraph" {
                continue;
            }
            let side = if number % 2 == 0 { "right" } else { "left" };
            let multiple = if pack == "none" { 1 } else { 4 };
            let text = format!(
                "seed = {number}\n[tokenizer]\nspecials = {{ {} }}\n[mix]\nunit = \"loss-tokens\"\ntokens = 1500\n\
                 [pack]\nkind = \"{pack}\"\nlength = 56\noptions = {{ long = \"{long}\", doc_multiple = {multiple}, pad_side = \"{side}\" }}\n\
                 [[source]]\nname = \"chats\"\nweight = 0.8\nmax_repeats = 200\n[[source]]\nname = \"web\"\nweight = 0.2\nmax_repeats = 90\n",
                specials[number % 3]
            );
            number += 1;
            let planned = plan(&corpus, &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            let run = Run::read(&corpus, &planned, &all, Run::all_of(&planned, &all), 3);
            run.check_conservation(&corpus);
            run.check_mix();
            run.check_epochs();
            worlds::check(&corpus, &run, &mut random);
            super::place::built(&place, &corpus, &planned, 1, &format!("out-{number}"), 2);
        }
    }
}
