//! What pages of the store cost as bytes: their size, writing, a search of all, one value.
//!
//! Corpus model: texts of files of one's own, JSON Lines with a `text` field, plain, `.zst` or `.gz`; and `made`, 100,000
//! texts of 52 words each, drawn by Zipf from the words of the first file. For each a table: texts in pages of one codec
//! and size, cut as the store cuts but for the size, and as the store itself does it (`rule`). `LIKE` decodes each page,
//! verifies its check, searches it by one memmem and maps hits to documents; `one` finds the page of a random document,
//! decodes it and makes a string of one value. Then pages that are read in place: a place, a print, a sketch, ids.
//! Figures are CPU time of the one thread, medians of the passes, where the system says it; else wall time.
//!
//! Run: `cargo bench --bench pages -- FILE.. [--passes N]`, with `--profile dist` for the figures to publish. Without a
//! file it says so and ends well.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "a bench prints its figures, which are approximate, and stops when it goes wrong"
)]

use memchr::memmem::Finder;
use model::{DocId, FileId, SourceId};
use std::collections::BTreeSet;
use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;
use std::path::Path;
use std::time::Instant;
use store::{
    DocumentPlace, DocumentPrint, GridPage, GridRow, IdPage, PageCodec, PageCutter, PageDecoder,
    PageEncoder, StringColumn, StringPage, id_pieces, ids_of_piece, sketch_at, sketch_page,
    sketches_of_page,
};

const NEEDLE: &str = "kernel";
const READS: usize = 10_000;

/// A small generator with a fixed stream (SplitMix64).
struct Stream(u64);

impl Stream {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// The texts of a file, and the keys that it gives them.
fn read(path: &Path) -> Result<(Vec<String>, Vec<String>), Box<dyn Error>> {
    let file = std::fs::File::open(path)?;
    let reader: Box<dyn Read> = match path.extension().and_then(|ending| ending.to_str()) {
        Some("zst") => Box::new(zstd::Decoder::new(file)?),
        Some("gz") => Box::new(flate2::read::MultiGzDecoder::new(file)),
        _ => Box::new(file),
    };
    let (mut texts, mut keys) = (Vec::new(), Vec::new());
    for line in BufReader::new(reader).lines() {
        let record: serde_json::Value = serde_json::from_str(&line?)?;
        texts.push(record["text"].as_str().ok_or("a line without `text`")?.to_owned());
        keys.extend(record["id"].as_str().map(str::to_owned));
    }
    Ok((texts, keys))
}

/// Texts of 52 words, each drawn with a weight of one by its rank.
fn made(of: &[String]) -> Vec<String> {
    let words = of.iter().flat_map(|text| text.split(|sign: char| !sign.is_alphanumeric()));
    let words: BTreeSet<&str> = words.filter(|word| !word.is_empty()).collect();
    let mut stream = Stream(1);
    let mut words: Vec<(u64, &str)> = words.into_iter().map(|word| (stream.next(), word)).collect();
    words.sort_unstable();
    let weight = |rank: usize| 1.0 / (rank + 1) as f64;
    let ends: Vec<f64> = (0..words.len())
        .scan(0.0, |sum, rank| {
            *sum += weight(rank);
            Some(*sum)
        })
        .collect();
    let all = ends.last().copied().unwrap_or_default();
    let mut word = || {
        let at = (stream.next() >> 11) as f64 / (1_u64 << 53) as f64 * all;
        words[ends.partition_point(|end| *end <= at).min(words.len() - 1)].1
    };
    (0..100_000).map(|_| (0..52).map(|_| word()).collect::<Vec<_>>().join(" ")).collect()
}

/// CPU nanoseconds of this thread so far; wall time where the system does not say.
fn clock(start: Instant) -> u128 {
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let counted = counted.and_then(|line| line.split(' ').next()?.parse().ok());
    counted.unwrap_or_else(|| start.elapsed().as_nanos())
}

/// The median time of a pass, in nanoseconds. A pass is repeated for 50 ms, since the system counts in some.
fn median<T>(passes: usize, mut pass: impl FnMut() -> T) -> f64 {
    let start = Instant::now();
    let mut times: Vec<f64> = (0..passes)
        .map(|_| {
            let (from, mut count) = (clock(start), 0);
            loop {
                black_box(pass());
                count += 1;
                let spent = clock(start) - from;
                if spent > 50_000_000 {
                    return spent as f64 / f64::from(count);
                }
            }
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Pages of one size: they end at it, and before what would be half as much again; a value of 8 KiB stands alone.
fn cut(texts: &[String], size: usize) -> Vec<Range<usize>> {
    let (mut pages, mut page, mut raw) = (Vec::new(), 0..0, 0);
    for text in texts {
        let is_over = raw + text.len() > size + size / 2 || text.len() >= size.min(8 << 10);
        if raw >= size || raw > 0 && is_over {
            pages.push(page.clone());
            (page, raw) = (page.end..page.end, 0);
        }
        (page.end, raw) = (page.end + 1, raw + text.len());
    }
    pages.push(page);
    pages
}

/// Pages as the store cuts them.
fn rule(texts: &[String]) -> Vec<Range<usize>> {
    let (mut cutter, mut pages) = (PageCutter::new(0), Vec::new());
    for text in texts {
        let was_full = cutter.is_full();
        let ended = cutter.push(Some(text.len()));
        assert!(ended.is_some() || !was_full);
        pages.extend(ended);
    }
    pages.extend(cutter.finish());
    pages.into_iter().map(|page| page.start as usize..page.end as usize).collect()
}

/// Values of a page that have the needle.
fn like(page: &StringPage<'_>, needle: &Finder<'_>, decoder: &mut PageDecoder) -> usize {
    let body = page.body(decoder).expect("its body");
    let (mut from, mut found) = (0, 0);
    while let Some(at) = needle.find(&body.bytes()[from..]) {
        let slot = body.ends().partition_point(|end| *end as usize <= from + at);
        let end = body.ends()[slot] as usize;
        if from + at + NEEDLE.len() <= end {
            (from, found) = (end, found + 1);
        } else {
            from += at + 1;
        }
    }
    found
}

/// The head of a page.
fn head(column: StringColumn, page: &[u8]) -> StringPage<'_> {
    StringPage::read(column, page).expect("a page")
}

/// A line of the table: its name, the column, and the codec if it is not the column's own.
struct Form(&'static str, StringColumn, Option<PageCodec>);

fn measure(
    Form(name, column, codec): Form,
    texts: &[String],
    cut: &[Range<usize>],
    passes: usize,
) -> Result<(), Box<dyn Error>> {
    let (mut encoder, mut decoder) = (PageEncoder::new()?, PageDecoder::new()?);
    let raw: usize = texts.iter().map(String::len).sum();
    let mut write = || -> Result<Vec<Vec<u8>>, store::StoreError> {
        let page = |page: &Range<usize>| {
            let values: Vec<_> =
                texts[page.clone()].iter().map(|text| Some(text.as_bytes())).collect();
            match codec {
                Some(codec) => encoder.encode_as(codec, column, &values),
                None => encoder.encode(column, &values),
            }
        };
        cut.iter().map(page).collect()
    };
    let pages = write()?;
    for (range, page) in cut.iter().zip(&pages) {
        let head = head(column, page);
        let body = head.body(&mut decoder).expect("its body");
        assert_eq!(head.documents(), range.len());
        assert_eq!(head.raw_bytes(), texts[range.clone()].iter().map(String::len).sum::<usize>());
        for (slot, text) in texts[range.clone()].iter().enumerate() {
            assert_eq!(body.get(slot as u16), Some(text.as_bytes()));
        }
    }
    let needle = Finder::new(NEEDLE);
    let hits = texts.iter().filter(|text| text.contains(NEEDLE)).count();
    assert_eq!(
        pages.iter().map(|page| like(&head(column, page), &needle, &mut decoder)).sum::<usize>(),
        hits
    );

    let bytes: usize = pages.iter().map(Vec::len).sum();
    let of = |codec| pages.iter().filter(|page| head(column, page).codec() == codec).count();
    let codecs = [PageCodec::Plain, PageCodec::Zstd, PageCodec::Lz4].map(of);
    let written = median(passes.div_ceil(2), || write().map(|pages| pages.len()));
    let heads = median(passes, || {
        let heads = pages.iter().map(|page| head(column, page));
        heads.map(|head| head.lengths().len() + usize::from(head.bounds().is_some())).sum::<usize>()
    });
    let searched = median(passes, || {
        pages.iter().map(|page| like(&head(column, page), &needle, &mut decoder)).sum::<usize>()
    });
    let mut stream = Stream(7);
    let asked: Vec<usize> = (0..READS).map(|_| stream.below(texts.len())).collect();
    let read = median(passes, || {
        let one = |document: &usize| {
            let at = cut.partition_point(|page| page.end <= *document);
            let body = head(column, &pages[at]).body(&mut decoder).expect("its body");
            let value = body.get((document - cut[at].start) as u16).expect("a value");
            std::str::from_utf8(value).expect("UTF-8").to_owned().len()
        };
        asked.iter().map(one).sum::<usize>()
    });
    println!(
        "| {name} | {:.2} | {} | {} / {} / {} | {:.1} | {:.2} | {:.1} | {:.1} |",
        bytes as f64 / 1e6,
        pages.len(),
        codecs[0],
        codecs[1],
        codecs[2],
        written / raw as f64,
        heads / 1e6,
        searched / 1e6,
        read / READS as f64 / 1e3,
    );
    Ok(())
}

fn table(
    name: &str,
    (texts, keys): (&[String], &[String]),
    passes: usize,
) -> Result<(), Box<dyn Error>> {
    let raw: usize = texts.iter().map(String::len).sum();
    println!("\n{name}: {} texts, {:.1} MB\n", texts.len(), raw as f64 / 1e6);
    println!(
        "| pages | MB | pages | plain / zstd / lz4 | write ns/B | heads ms | LIKE ms | one us |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let (zstd, lz4) = (Some(PageCodec::Zstd), Some(PageCodec::Lz4));
    let text = StringColumn::Text;
    measure(Form("zstd 8 KiB", text, zstd), texts, &cut(texts, 8 << 10), passes)?;
    measure(Form("lz4 8 KiB", text, lz4), texts, &cut(texts, 8 << 10), passes)?;
    measure(Form("lz4 16 KiB", text, lz4), texts, &cut(texts, 16 << 10), passes)?;
    measure(Form("lz4 32 KiB", text, lz4), texts, &cut(texts, 32 << 10), passes)?;
    measure(Form("rule", text, None), texts, &rule(texts), passes)?;
    if !keys.is_empty() {
        measure(Form("keys, rule", StringColumn::Key, None), keys, &rule(keys), passes)?;
    }
    Ok(())
}

/// Nanoseconds of one value that is read in place, of pages that are not in the cache of the processor as a whole.
fn in_place(
    name: &str,
    pages: &[Vec<u8>],
    documents: usize,
    passes: usize,
    read: impl Fn(&GridPage<'_>, u16) -> usize,
) {
    let mut stream = Stream(3);
    let asked: Vec<_> =
        (0..READS).map(|_| (stream.below(pages.len()), stream.below(documents))).collect();
    let one = |(page, slot): &(usize, usize)| {
        read(&GridPage::read(&pages[*page]).expect("a page"), *slot as u16)
    };
    let time = median(passes, || asked.iter().map(one).sum::<usize>());
    let bytes: usize = pages.iter().map(Vec::len).sum();
    let whole = median(passes, || {
        let whole = |page: &Vec<u8>| GridPage::read_whole(page).expect("a page").documents();
        pages.iter().map(whole).sum::<usize>()
    });
    println!(
        "| {name} | {documents} | {:.1} | {:.0} | {:.1} |",
        bytes as f64 / (pages.len() * documents) as f64,
        time / READS as f64,
        whole / pages.len() as f64 / 1e3,
    );
}

fn grids(passes: usize) -> Result<(), Box<dyn Error>> {
    println!("\n| read in place | documents | bytes a document | one, ns | check of a page, us |");
    println!("|---|---|---|---|---|");
    let mut stream = Stream(5);
    let mut hash = || [(); 16].map(|()| stream.next() as u8);
    let page = |first: usize, hash: &mut dyn FnMut() -> [u8; 16]| {
        let row = |number: usize| DocumentPlace {
            source: SourceId(3),
            file: FileId(number as u32 / 1000),
            number: number as u64 % 1000,
            text_of: number.is_multiple_of(50).then_some(DocId(number as u64 / 2)),
            content: hash(),
        };
        DocumentPlace::page(&(first..first + DocumentPlace::DOCUMENTS).map(row).collect::<Vec<_>>())
    };
    let pages: Result<Vec<_>, _> =
        (0..2000).map(|at| page(at * DocumentPlace::DOCUMENTS, &mut hash)).collect();
    in_place("place", &pages?, DocumentPlace::DOCUMENTS, passes, |page, slot| {
        DocumentPlace::at(page, slot).expect("a place").number as usize
    });
    let mut print = |number: usize| DocumentPrint {
        raw: hash(),
        normalised: hash(),
        words: number as u32 % 700,
        shingles: number as u32 % 690,
    };
    let pages: Result<Vec<_>, _> = (0..1000)
        .map(|_| {
            DocumentPrint::page(&(0..DocumentPrint::DOCUMENTS).map(&mut print).collect::<Vec<_>>())
        })
        .collect();
    in_place("print", &pages?, DocumentPrint::DOCUMENTS, passes, |page, slot| {
        DocumentPrint::at(page, slot).expect("a print").words as usize
    });
    let sketches: Vec<Vec<u8>> = (0..64).map(|_| (0..16).flat_map(|_| hash()).collect()).collect();
    let sketches: Vec<_> = sketches.iter().map(|sketch| Some(sketch.as_slice())).collect();
    let pages = vec![sketch_page(256, &sketches)?; 1000];
    in_place("sketch of 256 bytes", &pages, sketches_of_page(256), passes, |page, slot| {
        sketch_at(page, 256, slot).expect("a page").map_or(0, <[u8]>::len)
    });
    let ids = [Some([7_u8; 600].as_slice()); 16];
    let pages = vec![id_pieces(false, &ids)?.swap_remove(0); 2000];
    in_place("300 ids of 2 bytes", &pages, ids.len(), passes, |page, slot| {
        let range = IdPage::read(page, false).expect("lengths").range(slot).expect("ids");
        let pieces = IdPage::pieces(&range);
        pieces.map(|at| ids_of_piece(page, false, at, &range).expect("ids").len()).sum()
    });
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut files, mut passes) = (Vec::new(), 7);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            // What `cargo bench` adds.
            "--bench" => {}
            "--passes" => passes = words.next().ok_or("--passes N")?.parse()?,
            _ => files.push(word),
        }
    }
    if files.is_empty() {
        eprintln!("pages: no file of texts is named; see the head of benches/pages.rs");
        return Ok(());
    }
    for (at, file) in files.iter().enumerate() {
        let path = Path::new(file);
        let (texts, keys) = read(path)?;
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("file");
        table(name, (&texts, &keys), passes)?;
        if at == 0 {
            table("made", (&made(&texts), &[]), passes)?;
        }
    }
    grids(passes)
}
