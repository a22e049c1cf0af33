//! corpusdb's `torch` orders for cases read from standard input, one JSON object a line.
//!
//! A case is `{"n": N, "seed": S}` for `randperm`, or `{"lengths": [..], "batch": B, "mult": M or null,
//! "seed": S}` for `length_grouped_indices`; the answer is one line, the JSON list of indices. With
//! `"first": K` only the first K of them. Nothing is measured: `benches/peers/torch_order.py` asks, and
//! compares with torch and transformers.
//!
//! Run: `cargo bench --bench torch_order -- --cases < CASES`. Without `--cases` it says so and ends well,
//! so that `cargo bench --bench '*'` passes.
#![expect(clippy::print_stderr, reason = "a bench talks on standard error")]

use corpusdb::epoch::torch::{length_grouped_indices, randperm};
use serde_json::Value;
use std::error::Error;
use std::io::{BufRead, Write};

fn main() -> Result<(), Box<dyn Error>> {
    if !std::env::args().any(|word| word == "--cases") {
        eprintln!("torch_order: no --cases given; nothing answered");
        return Ok(());
    }
    let mut answers = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let case: Value = serde_json::from_str(&line?)?;
        let mut order = answer(&case)?;
        if let Some(first) = case.get("first").and_then(Value::as_u64) {
            order.truncate(usize::try_from(first)?);
        }
        writeln!(answers, "{}", serde_json::to_string(&order)?)?;
    }
    Ok(())
}

fn answer(case: &Value) -> Result<Vec<u64>, Box<dyn Error>> {
    let number = |name: &str| case.get(name).and_then(Value::as_u64);
    let seed = number("seed").ok_or("a case without `seed`")?;
    let Some(lengths) = case.get("lengths").and_then(Value::as_array) else {
        return Ok(randperm(number("n").ok_or("a case without `n` or `lengths`")?, seed));
    };
    let lengths: Vec<u64> = lengths.iter().filter_map(Value::as_u64).collect();
    let batch = usize::try_from(number("batch").ok_or("a case without `batch`")?)?;
    let multiple = number("mult").map(usize::try_from).transpose()?;
    Ok(length_grouped_indices(&lengths, batch, multiple, seed)?)
}
