//! What conversations say is trained survives packing, splitting and resuming, and can be mixed by.

use crate::support::Random;
use crate::support::checker::chats::pour_chats;
use crate::support::checker::corpus::{CheckedCorpus, plan, stored};
use crate::support::checker::run::Run;
use crate::support::checker::worlds;

/// A corpus of plain pages and of conversations of several turns, some longer than a row, some with weights.
fn place() -> CheckedCorpus {
    let place = CheckedCorpus::of(51, &[("web", 60, 3, 40)]);
    pour_chats(&place, true);
    place
}

#[test]
fn trained_tokens_survive_packing_and_splitting() {
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
            crate::support::checker::corpus::built(
                &place,
                &corpus,
                &planned,
                1,
                &format!("out-{number}"),
                2,
            );
        }
    }
}
