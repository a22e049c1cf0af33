//! Plans of 10^6 to 10^9 lengths: seconds, peak memory, bytes of the plan, rows, efficiency; then an
//! epoch of each: its index, any row of it, and going on late in it.
//!
//! Corpus model: lengths in tokens are lognormal, mu 6.0 and sigma 1.2 (mean 828), at least 1, generated
//! from a seed straight into the columns and bitmaps that planning reads; no text and no ids exist. Every
//! number of lengths is generated, planned and packed item by item in a process of its own, so that peak
//! memory (VmHWM) is that of the one phase. Reading is warm: the lengths have just been written.
//!
//! Run: `cargo bench --features generated --bench planning -- 1000000 10000000` with `--dir DIR` for where
//! the corpora go (removed afterwards), `--length 2048`, `--most-segments N`, `--sources 1|3`, `--write FILE` for the lengths
//! as u32 little-endian (what `benches/peers/packing.py` reads). Without a number it says so and ends well.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a bench talks on its outputs")]

use corpusdb::epoch::Plan;
use corpusdb::epoch::measure::{self, MeasuredPlan};
use corpusdb::{Context, Corpus, DedupMode, Policy, Recipe};
use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const BLOCK: u64 = 65_536;
const MEMORY: u64 = 1 << 30;
const TOKENIZER: &str = r#"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"WordLevel","vocab":{"<unk>":0,"a":1},"unk_token":"<unk>"}}"#;

type Answer<T> = Result<T, Box<dyn Error>>;

struct Arguments {
    numbers: Vec<u64>,
    dir: PathBuf,
    length: u32,
    most: Option<u32>,
    sources: usize,
    write: Option<PathBuf>,
    phase: Option<String>,
}

fn main() -> Answer<()> {
    let arguments = arguments()?;
    if let Some(phase) = &arguments.phase {
        let n = *arguments.numbers.first().ok_or("a phase without a number")?;
        return match phase.as_str() {
            "generate" => generate(&arguments, n),
            "plan" => plan(&arguments),
            "items" => items(&arguments, n),
            other => Err(format!("unknown phase {other}").into()),
        };
    }
    if arguments.numbers.is_empty() {
        eprintln!("planning: no number of lengths given; nothing measured");
        return Ok(());
    }
    if let Some(file) = &arguments.write {
        let mut out = std::io::BufWriter::new(std::fs::File::create(file)?);
        let mut lengths = Lengths::new();
        for _ in 0..arguments.numbers.iter().copied().max().unwrap_or(0) {
            out.write_all(&lengths.next().to_le_bytes())?;
        }
        out.flush()?;
    }
    for n in &arguments.numbers {
        println!(
            "{n} lengths, rows of {} tokens, {} source(s)",
            arguments.length, arguments.sources
        );
        phase(&arguments, *n, "generate")?;
        phase(&arguments, *n, "plan")?;
        if *n <= 10_000_000 {
            phase(&arguments, *n, "items")?;
        }
        std::fs::remove_dir_all(arguments.dir.join("corpus"))?;
    }
    Ok(())
}

fn arguments() -> Answer<Arguments> {
    let mut found = Arguments {
        numbers: Vec::new(),
        dir: std::env::temp_dir().join("corpusdb-planning"),
        length: 2048,
        most: None,
        sources: 1,
        write: None,
        phase: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} without a value"));
        match word.as_str() {
            "--bench" => {}
            "--dir" => found.dir = value()?.into(),
            "--length" => found.length = value()?.parse()?,
            "--most-segments" => found.most = Some(value()?.parse()?),
            "--sources" => found.sources = value()?.parse()?,
            "--write" => found.write = Some(value()?.into()),
            "--phase" => found.phase = Some(value()?),
            number => found.numbers.push(number.parse()?),
        }
    }
    Ok(found)
}

/// One phase in a process of its own.
fn phase(arguments: &Arguments, n: u64, name: &str) -> Answer<()> {
    let most = arguments.most.map(|most| ["--most-segments".to_owned(), most.to_string()]);
    let status = Command::new(std::env::current_exe()?)
        .args(most.into_iter().flatten())
        .args(["--phase", name, "--length", &arguments.length.to_string()])
        .args(["--sources", &arguments.sources.to_string(), &n.to_string(), "--dir"])
        .arg(&arguments.dir)
        .status()?;
    if status.success() { Ok(()) } else { Err(format!("{name} failed").into()) }
}

/// The lengths, from a seed.
struct Lengths {
    state: u64,
    second: Option<f64>,
}

impl Lengths {
    fn new() -> Self {
        Self { state: 20_250_101, second: None }
    }

    fn uniform(&mut self) -> f64 {
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn next(&mut self) -> u32 {
        let normal = match self.second.take() {
            Some(normal) => normal,
            None => {
                // Box and Muller.
                let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
                let (sine, cosine) = (std::f64::consts::TAU * self.uniform()).sin_cos();
                self.second = Some(radius * sine);
                radius * cosine
            }
        };
        (6.0 + 1.2 * normal).exp().clamp(1.0, 4e9) as u32
    }
}

/// Source of a block: six of ten blocks, three, one; or all of one.
const fn source_of(block: u64, sources: usize) -> usize {
    match block % 10 {
        _ if sources == 1 => 0,
        0..6 => 0,
        6..9 => 1,
        _ => 2,
    }
}

fn generate(arguments: &Arguments, n: u64) -> Answer<()> {
    let corpus = arguments.dir.join("corpus");
    std::fs::create_dir_all(&arguments.dir)?;
    if corpus.exists() {
        std::fs::remove_dir_all(&corpus)?;
    }
    let started = Instant::now();
    Corpus::init(&corpus, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
    let mut writer = Corpus::options().memory(MEMORY).threads(2).open_writer(&corpus)?;
    writer.add_tokenizer("generated", TOKENIZER.as_bytes(), "", &Context::new())?;
    let names: Vec<&str> = ["web", "books", "code"].into_iter().take(arguments.sources).collect();
    let mut lengths = Lengths::new();
    writer.generate("generated", &names, &arguments.dir, &mut |block, values| {
        let count = n.saturating_sub(block * BLOCK).min(BLOCK);
        values.extend((0..count).map(|_| Some(i64::from(lengths.next()))));
        source_of(block, arguments.sources)
    })?;
    println!("  generated in {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn recipe(arguments: &Arguments) -> Answer<Recipe> {
    let sources = match arguments.sources {
        1 => "",
        _ => {
            "[[source]]\nname = \"web\"\nweight = 0.5\n\
             [[source]]\nname = \"books\"\nweight = 0.3\nmax_repeats = 4\n\
             [[source]]\nname = \"code\"\nweight = 0.2\nmax_repeats = 4\n\
             [mix]\nmethod = \"weights\"\n"
        }
    };
    let most = arguments.most.map_or_else(String::new, |most| format!("most_segments = {most}\n"));
    let text = format!(
        "version = 1\nseed = 42\n[tokenizer]\nname = \"generated\"\n{sources}\
         [pack]\nkind = \"best-fit\"\nlength = {}\n{most}[batch]\nrows = 512\ntail = \"drop\"\n\
         [output]\nformat = \"parquet\"\n",
        arguments.length
    );
    Ok(Recipe::parse(&text)?)
}

/// How long something took: on the clock, and of the processor, which other programs do not lengthen.
#[derive(Clone, Copy)]
struct Time {
    wall: f64,
    cpu: f64,
}

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3} s (processor {:.3} s)", self.wall, self.cpu)
    }
}

fn timed<T>(run: impl FnOnce() -> T) -> (T, Time) {
    let (started, before) = (Instant::now(), processor());
    let answer = run();
    (answer, Time { wall: started.elapsed().as_secs_f64(), cpu: processor() - before })
}

/// Seconds that this thread has run; 0 where the system does not say.
fn processor() -> f64 {
    let found = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = found.split(' ').next().and_then(|word| word.parse::<u64>().ok());
    nanoseconds.unwrap_or(0) as f64 / 1e9
}

/// Sizes with counts, largest first: full chunks of long documents and the rest.
fn chunks(histogram: &BTreeMap<u32, u64>, length: u32) -> BTreeMap<u32, u64> {
    let mut sizes: BTreeMap<u32, u64> = BTreeMap::new();
    for (tokens, documents) in histogram {
        *sizes.entry(length).or_default() += u64::from(tokens / length) * documents;
        *sizes.entry(tokens % length).or_default() += documents;
    }
    sizes.retain(|size, count| *size > 0 && *count > 0);
    sizes
}

fn plan(arguments: &Arguments) -> Answer<()> {
    let path = arguments.dir.join("corpus");
    let (corpus, opening) = timed(|| Corpus::options().memory(MEMORY).open(&path));
    let corpus = corpus?;
    let recipe = recipe(arguments)?;
    let (planned, whole) = timed(|| corpus.plan(&recipe, &Context::new()));
    let planned = planned?;
    let peak = peak_memory();
    let sum = |of: &dyn Fn(&corpusdb::epoch::PlannedSource) -> u64| -> u64 {
        planned.plan.sources.iter().map(of).sum()
    };
    let (rows, tokens) = (sum(&|source| source.rows), sum(&|source| source.packed_tokens));
    let space = rows as f64 * f64::from(arguments.length);
    let json = planned.plan.to_json().len();
    let mut pinned = 0;
    for source in &planned.pinned {
        pinned += source.encode()?.len();
    }
    println!("  corpus opened in {opening}, plan() {whole}, peak memory {} MiB", peak >> 20);
    println!(
        "  {rows} rows, efficiency {:.5} %, plan {json} B, documents pinned {pinned} B",
        100.0 * tokens as f64 / space
    );

    let view = corpus.view();
    let (kept, loading) = timed(|| view.kept());
    let kept = kept?;
    let (tokenizer, _) = view.tokenizer_named("generated").ok_or("no tokenizer")?;
    let (histogram, scan) = timed(|| measure::histogram(view, tokenizer, &kept));
    let histogram = histogram?;
    let sizes = chunks(&histogram, arguments.length);
    let items = || sizes.iter().rev().map(|(size, count)| (*size, *count));
    let (packed, packing) = timed(|| measure::pack(items(), arguments.length, arguments.most));
    println!(
        "  parts: kept bitmap {loading}, scan {scan}, {:.2} ns a length, bulk packing {:.2} ms, {} patterns",
        1e9 * scan.cpu / kept.len() as f64,
        1e3 * packing.wall,
        packed.patterns
    );
    if arguments.sources == 1 && packed.rows != rows {
        return Err(format!("{} rows by parts, {rows} by plan()", packed.rows).into());
    }
    drop(corpus);
    give(&path, &planned)
}

/// An epoch of the plan: opening, its index, rows at random, going on late, rows in order.
fn give(path: &Path, planned: &Plan) -> Answer<()> {
    let (corpus, opening) = timed(|| Corpus::options().memory(MEMORY).open(path));
    let corpus = corpus?;
    let view = corpus.view();
    let (opened, open) = timed(|| MeasuredPlan::open(view, planned));
    let opened = opened?;
    let (index, indexing) = timed(|| opened.index(0));
    let index = index?;
    let (walked, walking) = timed(|| opened.walk(0));
    let walked = walked?;
    if (walked.rows, walked.batches) != (index.rows, index.batches) {
        return Err("two indexes of one epoch differ".into());
    }
    println!(
        "  epoch of {} rows: opened in {open}, corpus {opening}, index {indexing}, by walking {walking}, {:.0} ns a row, peak memory {} MiB",
        index.rows,
        1e9 * walking.cpu / index.rows as f64,
        peak_memory() >> 20
    );
    let mut random = Lengths::new();
    let asked = if index.rows > 10_000_000 { 2_000 } else { 10_000 };
    let mut times = Vec::new();
    let mut segments = 0;
    for _ in 0..asked {
        let row = (random.uniform() * index.rows as f64) as u64;
        let (found, time) = timed(|| opened.row(&index, row));
        segments += found?;
        times.push(time.wall);
    }
    times.sort_by(f64::total_cmp);
    let at =
        |share: f64| times.get((share * (times.len() - 1) as f64) as usize).copied().unwrap_or(0.0);
    println!(
        "  row at random, documents found: p50 {:.2} ms, p99 {:.2} ms over {asked} rows, {segments} segments",
        1e3 * at(0.5),
        1e3 * at(0.99)
    );
    let mut resumed: Vec<f64> = Vec::new();
    for part in 1..=9 {
        let (found, time) =
            timed(|| opened.rows_from(&index, index.batches * part / 10 + 37 * part, 1));
        found?;
        resumed.push(time.wall);
    }
    resumed.sort_by(f64::total_cmp);
    println!(
        "  resumed at a late batch: median {:.2} ms",
        1e3 * resumed.get(4).copied().unwrap_or(0.0)
    );
    let some = index.rows.min(100_000);
    let (streamed, time) = timed(|| opened.rows_from(&index, index.batches / 2, some));
    let (rows, segments) = streamed?;
    println!(
        "  rows in order, documents found: {:.0} rows/s ({:.0} a processor second; {rows} rows, {segments} segments)",
        rows as f64 / time.wall,
        rows as f64 / time.cpu
    );
    Ok(())
}

/// Best-fit-decreasing item by item, over rows counted by free space.
fn items(arguments: &Arguments, n: u64) -> Answer<()> {
    let length = arguments.length;
    let mut lengths = Lengths::new();
    let mut all: Vec<u32> = Vec::new();
    let mut histogram = BTreeMap::new();
    for _ in 0..n {
        let tokens = lengths.next();
        *histogram.entry(tokens).or_insert(0_u64) += 1;
        all.extend(std::iter::repeat_n(length, (tokens / length) as usize));
        all.extend((!tokens.is_multiple_of(length)).then_some(tokens % length));
    }
    let (rows, time) = timed(|| {
        all.sort_unstable_by(|a, b| b.cmp(a));
        let mut open = OpenRows::new(length);
        for size in &all {
            open.place(*size);
        }
        open.rows
    });
    let sizes = chunks(&histogram, length);
    let packed = measure::pack(sizes.iter().rev().map(|(size, n)| (*size, *n)), length, None);
    println!(
        "  item by item: {rows} rows in {time}, sorting included; by the bulk {}",
        packed.rows
    );
    if rows == packed.rows { Ok(()) } else { Err("rows differ".into()) }
}

/// Rows by free space, and which spaces any row has, in two levels of bits.
struct OpenRows {
    length: u32,
    count: Vec<u64>,
    bits: Vec<u64>,
    rows: u64,
}

impl OpenRows {
    fn new(length: u32) -> Self {
        let spaces = length as usize + 1;
        Self { length, count: vec![0; spaces], bits: vec![0; spaces.div_ceil(64)], rows: 0 }
    }

    /// The least space of any row that is at least `size`.
    fn fitting(&self, size: usize) -> Option<usize> {
        let mut word = size / 64;
        let mut bits = self.bits.get(word)? & (u64::MAX << (size % 64));
        while bits == 0 {
            word += 1;
            bits = *self.bits.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    fn change(&mut self, space: usize, by: i64) {
        let (Some(count), Some(word)) = (self.count.get_mut(space), self.bits.get_mut(space / 64))
        else {
            return;
        };
        *count = count.wrapping_add_signed(by);
        *word &= !(1 << (space % 64));
        *word |= u64::from(*count > 0) << (space % 64);
    }

    fn place(&mut self, size: u32) {
        let space = match self.fitting(size as usize) {
            Some(space) => {
                self.change(space, -1);
                space
            }
            None => {
                self.rows += 1;
                self.length as usize
            }
        };
        if space > size as usize {
            self.change(space - size as usize, 1);
        }
    }
}

/// The most memory this process had, in bytes; 0 where the system does not say.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
