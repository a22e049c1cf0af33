//! Encodes documents with one library, twice, and prints CPU seconds and a hash of each document's ids.
//!
//! `encoders LIBRARY TOKENIZER.json DOCUMENTS.jsonl[.zst] BYTES`: documents are those of the file until
//! BYTES of text; LIBRARY is `tokenizers-0.23`, `tokenizers-1.0` or `fastokens`. One thread. The first
//! pass is cold (the library has just loaded the file), the second warm. Special tokens are text.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

type Encode = Box<dyn FnMut(&str, &mut Vec<u32>) -> Result<(), String>>;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [library, json, documents, bytes] = arguments.as_slice() else {
        return Err("usage: encoders LIBRARY TOKENIZER.json DOCUMENTS.jsonl[.zst] BYTES".to_owned());
    };
    let documents = read(documents, bytes.parse().map_err(|_| "BYTES is not a number")?)?;
    let json = std::fs::read(json).map_err(|error| error.to_string())?;
    let started = cpu_time::ProcessTime::now();
    let mut encode = load(library, &json)?;
    let load = started.elapsed().as_secs_f64();
    let mut seconds = Vec::new();
    let mut hashes = Vec::new();
    let mut ids = Vec::new();
    let mut total = 0;
    for pass in 0..2 {
        let mut spent = 0.0;
        for document in &documents {
            let started = cpu_time::ThreadTime::now();
            ids.clear();
            let encoded = encode(document, &mut ids);
            spent += started.elapsed().as_secs_f64();
            if pass == 0 {
                total += ids.len();
                hashes.push(encoded.map_or_else(|error| error, |()| hash(&ids)));
            }
        }
        seconds.push(spent);
    }
    let bytes: usize = documents.iter().map(String::len).sum();
    let result = serde_json::json!({
        "library": library, "documents": documents.len(), "bytes": bytes, "ids": total,
        "load": load, "cold": seconds[0], "warm": seconds[1], "hashes": hashes
    });
    println!("{result}");
    Ok(())
}

/// As `encoders.py` hashes: the first 16 digits of BLAKE3 over the ids, four bytes each.
fn hash(ids: &[u32]) -> String {
    let bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
    blake3::hash(&bytes).to_hex()[..16].to_owned()
}

fn read(path: &str, limit: usize) -> Result<Vec<String>, String> {
    let file = File::open(path).map_err(|error| format!("{path}: {error}"))?;
    let reader: Box<dyn Read> = if path.ends_with(".zst") {
        Box::new(zstd::Decoder::new(file).map_err(|error| error.to_string())?)
    } else {
        Box::new(file)
    };
    let (mut documents, mut bytes) = (Vec::new(), 0);
    for line in BufReader::new(reader).lines() {
        let line = line.map_err(|error| error.to_string())?;
        let record: serde_json::Value =
            serde_json::from_str(&line).map_err(|error| error.to_string())?;
        let text = record["text"].as_str().unwrap_or_default().to_owned();
        bytes += text.len();
        documents.push(text);
        if bytes >= limit {
            break;
        }
    }
    Ok(documents)
}

fn load(library: &str, json: &[u8]) -> Result<Encode, String> {
    match library {
        "tokenizers-0.23" => {
            let mut tokenizer =
                tokenizers::Tokenizer::from_bytes(json).map_err(|error| error.to_string())?;
            tokenizer.set_encode_special_tokens(true);
            Ok(Box::new(move |text, out| {
                let encoding =
                    tokenizer.encode_fast(text, false).map_err(|error| error.to_string())?;
                out.extend_from_slice(encoding.get_ids());
                Ok(())
            }))
        }
        "tokenizers-1.0" => {
            use tokenizers_fast::pipeline::{EncodeOptions, Override, PipelineToken};
            let text = std::str::from_utf8(json).map_err(|error| error.to_string())?;
            let canonical = tokenizers_fast::canonicalize_str(text).map_err(|e| e.to_string())?;
            let pipeline = tokenizers_fast::from_json(&canonical).map_err(|e| e.to_string())?;
            let options = EncodeOptions {
                add_special_tokens: false,
                encode_special_tokens: true,
                padding: Override::Off,
                truncation: Override::Off,
            };
            let mut buffer = Vec::new();
            Ok(Box::new(move |text, out| {
                buffer.clear();
                pipeline.encode_into(text, &options, &mut buffer).map_err(|e| e.to_string())?;
                out.extend_from_slice(PipelineToken::cast_slice(&buffer));
                Ok(())
            }))
        }
        "fastokens" => {
            let json = serde_json::from_slice(json).map_err(|error| error.to_string())?;
            let tokenizer =
                fastokens::Tokenizer::from_json(json).map_err(|error| error.to_string())?;
            Ok(Box::new(move |text, out| {
                let ids = tokenizer.encode_ordinary(text).map_err(|error| error.to_string())?;
                out.extend_from_slice(&ids);
                Ok(())
            }))
        }
        other => Err(format!("no library `{other}`")),
    }
}
