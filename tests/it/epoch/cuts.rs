//! Documents that are cut: which of them end without their EOS, and the EOS that `pack.cut_eos` puts at every cut.

use crate::support::corpusdb_test;
use crate::support::epochs::WordCorpus;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

// ----
// Without `pack.cut_eos`.

// Nobody was told that readers who find documents by their EOS take two such documents for one.
corpusdb_test!(
    documents_cut_without_their_eos_are_counted,
    WordCorpus::of(&[9, 5, 7, 4, 3]),
    |t| {
        for kind in ["best-fit", "greedy", "concat", "none"] {
            for long in ["split", "truncate", "drop"] {
                let pack = format!(
                    "[pack]\nkind = \"{kind}\"\nlength = 4\noptions = {{ long = \"{long}\" }}\n"
                );
                t.recipe("r.toml", &format!("[tokenizer.specials]\neos = \"<eos>\"\n{pack}"));
                let text = t.scratch.run("epoch explain corpus r.toml").stdout;
                let explained = t.scratch.run("epoch explain corpus r.toml --json").json();
                let counted = explained["sources"][0]["cut_without_eos"].as_u64().unwrap_or(0);
                let number =
                    t.scratch.run("epoch plan corpus r.toml --json").json()["number"].clone();
                let rows = t.scratch.run(&format!("epoch stream corpus {number}")).json_lines();
                let cut = cut_without_eos(&rows, kind == "concat").len();
                assert_eq!(counted, cut as u64, "{kind}, {long}");
                assert_eq!(text.contains("cut and end without their EOS"), cut > 0, "{text}");
                assert_eq!(cut > 0, long == "truncate" || (long == "split" && kind != "concat"));
            }
        }
        t.recipe("r.toml", "[pack]\nkind = \"none\"\nlength = 4\n");
        let explained = t.scratch.run("epoch explain corpus r.toml --json").json();
        assert!(explained["sources"][0].get("cut_without_eos").is_none(), "no EOS is declared");
    }
);

/// Documents with a segment that ends without an EOS, which is token 2; where a document goes on in the next row, that
/// is not its end.
fn cut_without_eos(rows: &[Value], goes_on: bool) -> BTreeSet<u64> {
    let mut ends: Vec<(u64, u64, u64, bool)> = Vec::new();
    for row in rows {
        let list = |name: &str| -> Vec<u64> { serde_json::from_value(row[name].clone()).unwrap() };
        let (ids, mut at) = (list("input_ids"), 0);
        for ((document, offset), length) in
            list("doc_ids").into_iter().zip(list("doc_offsets")).zip(list("seq_lengths"))
        {
            at += length as usize;
            ends.push((document, offset, offset + length, ids[at - 1] == 2));
        }
    }
    let begins: BTreeSet<(u64, u64)> = ends.iter().map(|end| (end.0, end.1)).collect();
    let cut = ends.iter().filter(|(document, _, end, is_eos)| {
        !(*is_eos || goes_on && begins.contains(&(*document, *end)))
    });
    cut.map(|end| end.0).collect()
}

// ----
// With `pack.cut_eos`.

/// The EOS of a [`WordCorpus`].
const EOS: u64 = 2;

/// A part of a document in a row: which one, its first place, and the ids that the row has of it.
type RowPart = (u64, u64, Vec<u64>);

/// The parts of rows, in order.
fn parts(rows: &[Value]) -> Vec<RowPart> {
    let mut parts = Vec::new();
    for row in rows {
        let list = |name: &str| -> Vec<u64> { serde_json::from_value(row[name].clone()).unwrap() };
        let mut ids = list("input_ids").into_iter();
        let places = list("doc_ids").into_iter().zip(list("doc_offsets"));
        for ((document, offset), length) in places.zip(list("seq_lengths")) {
            parts.push((document, offset, ids.by_ref().take(length as usize).collect()));
        }
    }
    parts
}

/// How often each stored token of each document comes: without special ones, which take the ids before 3.
fn stored_tokens(parts: &[RowPart], bos: bool) -> BTreeMap<(u64, u64), u64> {
    let mut tokens = BTreeMap::new();
    for (document, offset, ids) in parts {
        for (at, id) in ids.iter().enumerate().filter(|(_, id)| **id > 2) {
            let place = offset + at as u64 - u64::from(bos);
            assert!(*id > 3, "a word that the tokenizer does not know");
            *tokens.entry((*document, place)).or_default() += 1;
        }
    }
    tokens
}

const LENGTHS: [usize; 8] = [9, 5, 7, 4, 3, 12, 1, 17];

corpusdb_test!(every_part_of_a_document_ends_with_eos, WordCorpus::of(&LENGTHS), |t| {
    let all: BTreeSet<(u64, u64)> =
        (0_u64..).zip(LENGTHS).flat_map(|(id, n)| (0..n as u64).map(move |at| (id, at))).collect();
    for kind in ["best-fit", "greedy", "concat", "none"] {
        for (long, bos) in [
            ("split", false),
            ("split", true),
            ("paragraph", true),
            ("truncate", false),
            ("drop", true),
        ] {
            if (kind, long) == ("concat", "paragraph") {
                continue;
            }
            let specials =
                if bos { "bos = \"<bos>\"\neos = \"<eos>\"\n" } else { "eos = \"<eos>\"\n" };
            let pack = format!(
                "kind = \"{kind}\"\nlength = 5\ncut_eos = true\noptions = {{ long = \"{long}\" }}"
            );
            t.recipe("r.toml", &format!("[tokenizer.specials]\n{specials}[pack]\n{pack}\n"));
            let what = format!("{kind}, {long}, bos {bos}");
            let explained = t.scratch.run("epoch explain corpus r.toml --json").json();
            let source = &explained["sources"][0];
            assert!(source.get("cut_without_eos").is_none(), "{what}: {source}");
            let number = t.scratch.run("epoch plan corpus r.toml --json").json()["number"].clone();
            let rows = t.scratch.run(&format!("epoch stream corpus {number}")).json_lines();
            let parts = parts(&rows);
            for (document, offset, ids) in &parts {
                let is_eos: Vec<bool> = ids.iter().map(|id| *id == EOS).collect();
                assert!(is_eos.ends_with(&[true]), "{what}: {document} from {offset}");
                assert_eq!(is_eos.iter().filter(|is| **is).count(), 1, "{what}: {document}");
                assert_eq!(ids[0] == 1, bos && *offset == 0, "{what}: {document}");
                assert!(ids.len() > 1 + usize::from(ids[0] == 1), "{what}: an EOS behind nothing");
            }
            let tokens = stored_tokens(&parts, bos);
            assert!(tokens.values().all(|times| *times == 1), "{what}");
            let found: BTreeSet<(u64, u64)> = tokens.into_keys().collect();
            match long {
                "split" | "paragraph" => assert_eq!(found, all, "{what}"),
                _ => assert!(found.is_subset(&all), "{what}"),
            }
            // What explain says is added and lost comes to what is in rows.
            let count = |name: &str| source[name].as_u64().unwrap();
            let lost = count("dropped_tokens") + count("truncated_tokens") + count("lone_eos");
            let in_rows: usize = parts.iter().map(|(.., ids)| ids.len()).sum();
            assert_eq!(count("tokens") + count("specials_added"), in_rows as u64 + lost, "{what}");
            assert_eq!(count("lone_eos"), 0, "{what}");
            t.verified(&number.to_string());
        }
    }
});

corpusdb_test!(a_cut_that_lacks_its_eos_is_found_by_verify, WordCorpus::of(&[9]), |t| {
    t.recipe(
        "r.toml",
        "[tokenizer.specials]\neos = \"<eos>\"\n[pack]\nlength = 5\ncut_eos = true\n\
         [output]\nformat = \"jsonl\"\ncompression = \"none\"\n",
    );
    t.scratch.run("epoch build corpus r.toml --out built");
    // The first row is four words and the EOS; the next one begins with the fifth word, which is `v4`, id 8.
    let file = t.scratch.path("built").join("shard-00000.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.matches("[4,5,6,7,2]").count(), 1, "{text}");
    std::fs::write(&file, text.replace("[4,5,6,7,2]", "[4,5,6,7,8]")).unwrap();
    let report = t.scratch.ran("epoch verify corpus built --json").answers_badly().json();
    let checks = report["checks"].as_array().unwrap();
    let ids = checks.iter().find(|check| check["name"] == "ids").unwrap();
    assert!(ids.to_string().contains("has other ids than document 0 from token 0"), "{ids}");
});

corpusdb_test!(a_rest_that_lacks_its_eos_gets_it_at_its_end, WordCorpus::of(&[16]), |t| {
    // Eight tokens a row and a lone EOS, which is left out; of two rows one is given.
    let specials = "[tokenizer.specials]\neos = \"<eos>\"\n";
    t.recipe("plain.toml", &format!("{specials}[pack]\nkind = \"greedy\"\nlength = 8\n"));
    t.recipe(
        "cut.toml",
        &format!("{specials}[pack]\nkind = \"greedy\"\nlength = 6\ncut_eos = true\n"),
    );
    let number = t.scratch.run("epoch plan corpus plain.toml --json").json()["number"].clone();
    let rows = t.scratch.run(&format!("epoch stream corpus {number}")).json_lines();
    let given = parts(&rows[..1]);
    let extend = format!("epoch extend corpus {number} --consumed 1 cut.toml --json");
    let number = t.scratch.run(&extend).json()["number"].clone();
    let rows = t.scratch.run(&format!("epoch stream corpus {number}")).json_lines();
    let rest = parts(&rows);
    let mut lengths: Vec<usize> = rest.iter().map(|part| part.2.len()).collect();
    lengths.sort_unstable();
    assert_eq!(lengths, [4, 6]);
    assert!(rest.iter().all(|part| part.2.ends_with(&[EOS])), "{rest:?}");
    let tokens = stored_tokens(&[given, rest].concat(), false);
    assert!(tokens.into_iter().eq((0..16).map(|at| ((0, at), 1))));
    t.verified(&number.to_string());
});

corpusdb_test!(eos_at_cuts_is_refused_where_it_cannot_be, WordCorpus::of(&[9]), |t| {
    let eos = "[tokenizer.specials]\neos = \"<eos>\"\n";
    let refused = [
        ("", "length = 5", "declare tokenizer.specials.eos"),
        (
            "[tokenizer.specials]\nbos = \"<bos>\"\neos = \"<eos>\"\n",
            "length = 2",
            "needs rows of 3 tokens or more",
        ),
        (
            eos,
            "kind = \"concat\"\nlength = 5\noptions = { target = \"extra\", overlap = true }",
            "leave one of them out",
        ),
        (eos, "kind = \"concat\"\nlength = 5\noptions = { partial = \"drop\" }", "use \"keep\""),
        (
            eos,
            "kind = \"concat\"\nlength = 5\n[output]\nformat = \"megatron\"",
            "tokenizer.specials.pad",
        ),
    ];
    for (specials, pack, words) in refused {
        t.recipe("r.toml", &format!("{specials}[pack]\ncut_eos = true\n{pack}\n"));
        t.scratch.ran("epoch plan corpus r.toml").fails(&[words]);
    }
    // A plan that does not ask for it is the plan that it was.
    let mut hashes = BTreeSet::new();
    for more in ["", "cut_eos = false\n"] {
        t.recipe("r.toml", &format!("{eos}[pack]\nlength = 5\n{more}"));
        let plan = t.scratch.run("epoch plan corpus r.toml --json").json();
        hashes.insert(plan["plan"].to_string());
    }
    assert_eq!(hashes.len(), 1);
});
