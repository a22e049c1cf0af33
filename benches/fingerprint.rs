//! What it costs to fingerprint a page, whole and stage by stage.
//!
//! Corpus model: one English-like page of 600 words, made deterministically: words of a vocabulary of
//! 5,000 with Zipf-like frequencies and the word lengths of English prose, sentences of 8 to 23 words
//! with capitals, commas and full stops, in paragraphs. Variants: with an accented word every 40 (`mixed`),
//! in Cyrillic letters (`cyrillic`), 1,500 Han characters (`han`), and source code of the same size (`code`).
//! `CORPUSDB_BENCH_DATA` names files of real text, separated as in `PATH`: JSON Lines with a `text` field,
//! plain, `.zst` or `.gz`. Each is a group of its own over its first 500 texts.
//! `tokens`: normalise and hash; `shingles`: that, and the sorted set; `sketch` and `bands`: from their
//! input; `whole`: text to sketch and bands; `profile`: the whole under the settings of every profile.
//! `verify`: the exact overlap of two pages. Throughput is in bytes of text.
//!
//! Run: `cargo bench --bench fingerprint`, with `--profile dist` for the figures to publish.
#![expect(
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "a bench that goes wrong should stop"
)]

use corpusdb::dedup::Profile;
use corpusdb::dedup::{Fingerprinter, Sketch, bands_into, shared_at_least};
use corpusdb::{DedupMode, Policy};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// A small generator with a fixed stream (SplitMix64).
struct Stream(u64);

impl Stream {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

fn page(words: usize, seed: u64) -> String {
    const LENGTHS: [u64; 16] = [2, 2, 3, 3, 3, 3, 4, 4, 4, 5, 5, 6, 7, 8, 9, 11];
    const LETTERS: &[u8] = b"etaoinshrdlucmfwypvbgkqjxzeeettaaooiinns";
    let mut stream = Stream(7);
    let mut word = |_| {
        let length = LENGTHS[stream.below(16) as usize];
        (0..length).map(|_| char::from(LETTERS[stream.below(40) as usize])).collect::<String>()
    };
    let vocabulary: Vec<String> = (0..5000).map(&mut word).collect();
    let mut stream = Stream(seed);
    let (mut text, mut left) = (String::new(), 0);
    for at in 0..words {
        let rank =
            (5000.0_f64).powf(stream.below(1 << 20) as f64 / f64::from(1 << 20)) as usize - 1;
        let word = &vocabulary[rank];
        if left == 0 {
            left = 8 + stream.below(16);
            text.push_str(if at == 0 {
                ""
            } else if stream.below(6) == 0 {
                ".\n\n"
            } else {
                ". "
            });
            text.push_str(&word[..1].to_uppercase());
            text.push_str(&word[1..]);
        } else {
            text.push_str(if stream.below(12) == 0 { ", " } else { " " });
            text.push_str(word);
        }
        left -= 1;
    }
    text.push_str(".\n");
    text
}

fn mixed(page: &str) -> String {
    let accent = |(at, word): (usize, &str)| {
        if at % 40 == 39 { format!("{word}é ") } else { format!("{word} ") }
    };
    page.split(' ').enumerate().map(accent).collect()
}

fn cyrillic(page: &str) -> String {
    let letter = |c: char| match c {
        'a'..='z' => char::from_u32('а' as u32 + (c as u32 - 'a' as u32)).unwrap_or(c),
        'A'..='Z' => char::from_u32('А' as u32 + (c as u32 - 'A' as u32)).unwrap_or(c),
        _ => c,
    };
    page.chars().map(letter).collect()
}

fn han(characters: u64) -> String {
    let mut stream = Stream(9);
    let one = |at: u64| match at % 20 {
        19 => '。',
        _ => char::from_u32(0x4e00 + stream.below(3000) as u32).unwrap_or('一'),
    };
    (0..characters).map(one).collect()
}

fn code(bytes: usize) -> String {
    let mut stream = Stream(11);
    let mut text = String::new();
    while text.len() < bytes {
        let (a, b, n) = (stream.below(50), stream.below(50), stream.below(1000));
        text.push_str(&format!(
            "    if value_{a} >= items[{n}].len() {{ return Some(call_{b}(&value_{a}, \"key\")); }} // {b}\n"
        ));
    }
    text
}

/// The first 500 texts of a file of JSON Lines.
fn texts(path: &Path) -> Vec<String> {
    let file = std::fs::File::open(path).expect("a file of CORPUSDB_BENCH_DATA opens");
    let reader: Box<dyn Read> = match path.extension().and_then(|ending| ending.to_str()) {
        Some("zst") => Box::new(zstd::Decoder::new(file).expect("zstd")),
        Some("gz") => Box::new(flate2::read::MultiGzDecoder::new(file)),
        _ => Box::new(file),
    };
    let text = |line: std::io::Result<String>| {
        let record: serde_json::Value =
            serde_json::from_str(&line.expect("a line of UTF-8")).expect("a line of JSON");
        record["text"].as_str().expect("a field `text`").to_owned()
    };
    BufReader::new(reader).lines().take(500).map(text).collect()
}

fn stages(criterion: &mut Criterion) {
    let policy = Policy::new(DedupMode::Witness, 0.8).expect("a valid threshold");
    let mut fingerprinter = Fingerprinter::new(&policy);
    let text = page(600, 1);
    let print = fingerprinter.fingerprint(&text);
    let sketch = print.sketch.clone().expect("600 words");
    let mut hashes = Vec::new();
    let mut group = criterion.benchmark_group("page");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("tokens", |b| b.iter(|| fingerprinter.tokens(black_box(&text)).len()));
    group.bench_function("shingles", |b| b.iter(|| fingerprinter.shingles(black_box(&text))));
    group.bench_function("sketch", |b| b.iter(|| Sketch::of(black_box(&print.shingles))));
    group.bench_function("bands", |b| {
        b.iter(|| bands_into(black_box(&sketch), &policy, &mut hashes))
    });
    let variants = [
        ("mixed", mixed(&text)),
        ("cyrillic", cyrillic(&text)),
        ("han", han(1500)),
        ("code", code(text.len())),
        ("whole", text),
    ];
    for (name, text) in &variants {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(*name, |b| {
            b.iter(|| {
                let print = fingerprinter.fingerprint(black_box(text));
                if let Some(sketch) = &print.sketch {
                    bands_into(sketch, &policy, &mut hashes);
                }
                print
            });
        });
    }
    group.finish();
}

fn profiles(criterion: &mut Criterion) {
    let text = page(600, 1);
    let mut group = criterion.benchmark_group("profile");
    group.throughput(Throughput::Bytes(text.len() as u64));
    for profile in Profile::ALL {
        let policy = Policy::of(profile);
        let mut fingerprinter = Fingerprinter::new(&policy);
        let mut hashes = Vec::new();
        group.bench_function(profile.name(), |b| {
            b.iter(|| {
                let print = fingerprinter.fingerprint(black_box(&text));
                bands_into(print.sketch.as_ref().expect("600 words"), &policy, &mut hashes);
            });
        });
    }
    group.finish();
}

fn real(criterion: &mut Criterion) {
    let Some(paths) = std::env::var_os("CORPUSDB_BENCH_DATA") else { return };
    for path in std::env::split_paths(&paths) {
        let texts = texts(&path);
        let bytes: usize = texts.iter().map(String::len).sum();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("file").to_owned();
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10).throughput(Throughput::Bytes(bytes as u64));
        for profile in [Profile::Web, Profile::Code] {
            let policy = Policy::of(profile);
            let mut fingerprinter = Fingerprinter::new(&policy);
            let prints: Vec<_> = texts.iter().map(|text| fingerprinter.fingerprint(text)).collect();
            let mut hashes = Vec::new();
            group.bench_function(format!("{} shingles", profile.name()), |b| {
                b.iter(|| {
                    texts.iter().map(|text| fingerprinter.shingles(text).len()).sum::<usize>()
                })
            });
            group.bench_function(format!("{} sketch", profile.name()), |b| {
                b.iter(|| {
                    for print in &prints {
                        black_box(Sketch::of(black_box(&print.shingles)));
                    }
                })
            });
            group.bench_function(format!("{} bands", profile.name()), |b| {
                b.iter(|| {
                    for sketch in prints.iter().filter_map(|print| print.sketch.as_ref()) {
                        bands_into(sketch, &policy, &mut hashes);
                    }
                })
            });
            group.bench_function(format!("{} whole", profile.name()), |b| {
                b.iter(|| {
                    for text in &texts {
                        let print = fingerprinter.fingerprint(black_box(text));
                        if let Some(sketch) = &print.sketch {
                            bands_into(sketch, &policy, &mut hashes);
                        }
                    }
                })
            });
        }
        group.finish();
    }
}

fn lengths(criterion: &mut Criterion) {
    let policy = Policy::new(DedupMode::Witness, 0.8).expect("a valid threshold");
    let mut fingerprinter = Fingerprinter::new(&policy);
    let mut group = criterion.benchmark_group("sketch of");
    for words in [20, 50, 150, 600, 2000, 20_000] {
        let shingles = fingerprinter.shingles(&page(words, 2));
        group.throughput(Throughput::Elements(shingles.len() as u64));
        group.bench_function(format!("{words} words"), |b| {
            b.iter(|| Sketch::of(black_box(&shingles)))
        });
    }
    group.finish();
}

fn verify(criterion: &mut Criterion) {
    let mut fingerprinter =
        Fingerprinter::new(&Policy::new(DedupMode::Witness, 0.8).expect("a valid threshold"));
    let text = page(600, 1);
    let near = fingerprinter.shingles(&text.replacen(". ", ". inserted ", 3));
    let far = fingerprinter.shingles(&page(600, 3));
    let own = fingerprinter.shingles(&text);
    let mut group = criterion.benchmark_group("verify");
    group.bench_function("near", |b| {
        b.iter(|| shared_at_least(black_box(&own), black_box(&near), 0.8))
    });
    group.bench_function("far", |b| {
        b.iter(|| shared_at_least(black_box(&own), black_box(&far), 0.8))
    });
    group.finish();
}

criterion_group!(benches, stages, profiles, lengths, verify, real);
criterion_main!(benches);
