//! Forecasts: at its own size a corpus is what it is, and one of twice the size is what was foretold of half of it.

use crate::support::{
    Random, TestDir, corpusdb, corpusdb_test, init, init_with_tokenizer, prose, sound,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Families of the band index, which a forecast shows as one.
const BANDS: [&str; 3] = ["bands", "bands_more", "band_runs"];

/// Ingests so many documents, each tenth a copy of an earlier one, and merges all tables.
fn pour(scratch: &TestDir, corpus: &str, documents: usize) {
    init_with_tokenizer(corpus, &["--field", "site:keyword"]);
    let mut random = Random::new(documents as u64);
    let mut texts: Vec<String> = Vec::new();
    let mut file = String::new();
    for n in 0..documents {
        let text = match n % 10 {
            9 => texts[n / 2].clone(),
            _ => prose(&mut random, n, 120),
        };
        let record =
            json!({ "id": format!("page-{n}"), "text": text, "site": format!("s{}", n % 7) });
        file.push_str(&format!("{record}\n"));
        texts.push(text);
    }
    let pages = scratch.write("pages.jsonl", file);
    corpusdb(&["ingest", corpus, &pages, "--source", "web", "--id-field", "id"]).good();
    corpusdb(&["compact", corpus]).good();
}

/// `info --json` of a corpus with a forecast.
fn forecast(corpus: &str, bytes: u64) -> Value {
    corpusdb(&["info", corpus, "--forecast", &bytes.to_string(), "--json"]).good().json()
}

/// Bytes of families, the three of the band index as one.
fn families(of: &Value) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for row in of.as_array().unwrap() {
        let name = row["family"].as_str().unwrap();
        let name = if BANDS.contains(&name) { "bands" } else { name };
        *found.entry(name.to_owned()).or_default() += row["bytes"].as_u64().unwrap();
    }
    found.retain(|_, bytes| *bytes > 0);
    found
}

corpusdb_test!(a_forecast_of_the_own_size_is_the_corpus, |scratch| {
    let corpus = scratch.arg("c");
    pour(&scratch, &corpus, 300);
    let info = corpusdb(&["info", &corpus, "--json"]).good().json();
    assert!(info.get("forecast").is_none());
    let found = forecast(&corpus, info["bytes"].as_u64().unwrap());
    let told = &found["forecast"];
    for count in ["bytes", "documents", "kept"] {
        assert_eq!(told[count], info[count], "{count}");
    }
    assert_eq!(told["tokens"]["own"], info["tokenizers"][0]["tokens"]);
    let (disk, own) = (families(&told["disk"]), families(&info["disk"]));
    assert_eq!(disk, own);
    assert_eq!(told["disk_bytes"], own.values().sum::<u64>());
    assert_eq!(told["shards"], 1);
    // In words.
    let words = corpusdb(&["info", &corpus, "--forecast", "1TB"]).good().stdout;
    for part in ["forecast for 1.0 TB of text", "grows with", "filter over the band index", "cores"]
    {
        assert!(words.contains(part), "{part}: {words}");
    }
    sound(&corpus);
});

corpusdb_test!(half_a_corpus_foretells_the_whole, |scratch| {
    /// The share by which the forecast of a large family may be off.
    const OFF: f64 = 0.10;
    let (half, whole) = (scratch.arg("half"), scratch.arg("whole"));
    pour(&scratch, &half, 3000);
    pour(&scratch, &whole, 6000);
    let is = corpusdb(&["info", &whole, "--json"]).good().json();
    let told = forecast(&half, is["bytes"].as_u64().unwrap());
    let (told, is_disk) = (&told["forecast"], families(&is["disk"]));
    let near = |what: &str, told: u64, is: u64| {
        let off = (told as f64 / is as f64 - 1.0).abs();
        assert!(off < OFF, "{what}: {told} foretold, {is} found");
    };
    near("documents", told["documents"].as_u64().unwrap(), 6000);
    near("kept", told["kept"].as_u64().unwrap(), is["kept"].as_u64().unwrap());
    near(
        "tokens",
        told["tokens"]["own"].as_u64().unwrap(),
        is["tokenizers"][0]["tokens"].as_u64().unwrap(),
    );
    let (told_disk, all) = (families(&told["disk"]), is_disk.values().sum::<u64>());
    let large: Vec<_> = is_disk.iter().filter(|(_, bytes)| **bytes * 20 > all).collect();
    assert!(large.len() >= 4, "{large:?}");
    for (family, bytes) in large {
        near(family, told_disk[family], *bytes);
    }
});

corpusdb_test!(nothing_is_foretold_of_an_empty_corpus, |scratch| {
    let corpus = scratch.arg("empty");
    init(&corpus, &[]);
    corpusdb(&["info", &corpus, "--forecast", "1TB"])
        .fails(&["no text in the corpus", "dedup explain --documents"]);
    // Without a corpus it is the layout: all kept, and texts at 0.3 of their bytes.
    let line = ["dedup", "explain", "--documents", "1000", "--bytes-each", "4kB", "--json"];
    let told = corpusdb(&line).good().json()["forecast"].clone();
    assert_eq!((&told["bytes"], &told["kept"]), (&json!(4_000_000), &json!(1000)));
    let disk = families(&told["disk"]);
    assert_eq!((disk["text_pages"], disk["bands"]), (1_200_000, 480_000));
    corpusdb(&["dedup", "explain", "--documents", "1000"]).fails(&["--bytes-each"]);
    let with = ["dedup", "explain", &corpus, "--documents", "9", "--bytes-each", "1kB"];
    corpusdb(&with).fails(&["--documents", "info CORPUS --forecast"]);
});
