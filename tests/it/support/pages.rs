//! Made-up documents, the same in every run: crawls, templates, items, and the forms of files that they come in.

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Xorshift64*, so that every run of a test sees the same.
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// A number in `from..to`.
    pub fn between(&mut self, from: usize, to: usize) -> usize {
        from + self.below(to - from)
    }

    /// True in `percent` of cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// A record of a crawl.
#[derive(Clone, Debug)]
pub struct Page {
    pub id: Option<String>,
    pub text: String,
    /// An object.
    pub fields: Value,
}

impl Page {
    pub fn new(text: impl Into<String>) -> Self {
        Self { id: None, text: text.into(), fields: json!({}) }
    }

    pub fn keyed(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..Self::new(text) }
    }

    /// The page as a line of JSON, with its end of line.
    pub fn line(&self) -> String {
        let mut object = serde_json::Map::new();
        if let Some(id) = &self.id {
            object.insert("id".to_owned(), json!(id));
        }
        object.insert("text".to_owned(), json!(self.text));
        object.extend(self.fields.as_object().unwrap().clone());
        format!("{}\n", Value::Object(object))
    }
}

pub fn lines(pages: &[Page]) -> String {
    pages.iter().map(Page::line).collect()
}

/// Alphabets of the made-up languages; the last is written without spaces.
pub const LANGUAGES: [(&str, &[&str]); 4] = [
    (
        "en",
        &[
            "ba", "der", "ing", "lo", "mi", "nus", "pre", "qua", "ro", "sel", "ta", "um", "ver",
            "wi",
        ],
    ),
    ("de", &["schö", "ße", "ung", "kei", "über", "äch", "ten", "lich", "Gru", "pfa", "öl"]),
    ("ru", &["при", "вет", "сто", "ля", "ник", "ост", "ём", "ща", "ко", "дра"]),
    (
        "zh",
        &["语", "料", "库", "数", "据", "模", "型", "训", "练", "文", "档", "学", "习", "词", "表"],
    ),
];

/// `words` made-up words of language `language % 4`, from some 2,000 of them.
pub fn prose(random: &mut Random, language: usize, words: usize) -> String {
    let (name, syllables) = LANGUAGES[language % LANGUAGES.len()];
    let mut text = String::new();
    for word in 0..words {
        if name != "zh" && word > 0 {
            text.push_str(if random.chance(8) { ", " } else { " " });
        }
        for _ in 0..if name == "zh" { 2 } else { random.between(1, 4) } {
            text.push_str(syllables[random.below(syllables.len())]);
        }
    }
    text.push(if name == "zh" { '。' } else { '.' });
    text
}

/// Another text that differs in `edits` words.
pub fn edited(random: &mut Random, text: &str, edits: usize) -> String {
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    for _ in 0..edits {
        let at = random.below(words.len());
        match random.below(3) {
            0 => words[at] = format!("edit{}", random.below(50)),
            1 => words.insert(at, format!("more{}", random.below(50))),
            _ if words.len() > 1 => drop(words.remove(at)),
            _ => {}
        }
    }
    words.join(" ")
}

/// A crawl of `count` records: fresh pages in four languages, chains of near duplicates, exact ones,
/// other spellings of the same words, templates, very short and empty texts. With `keyed`, records
/// have ids, and some come again: unchanged, with other text, or with other fields only.
pub fn crawl(seed: u64, count: usize, keyed: bool) -> Vec<Page> {
    let mut random = Random::new(seed);
    let template = prose(&mut random, 0, 70);
    let mut pages: Vec<Page> = Vec::new();
    for number in 0..count {
        let language = random.below(LANGUAGES.len());
        let earlier = if pages.is_empty() {
            None
        } else {
            Some(pages[random.below(pages.len())].text.clone())
        };
        let text = match (random.below(100), earlier) {
            (0..10, Some(earlier)) => earlier,
            (10..40, Some(earlier)) => {
                let edits = random.between(1, 7);
                edited(&mut random, &earlier, edits)
            }
            (40..45, Some(earlier)) => format!("  {}!", earlier.to_uppercase().replace(' ', "  ")),
            (45..55, _) => format!("{template} {}", prose(&mut random, 0, 6)),
            (55..58, _) => ["", "!!! ...", " \n\t ", "—"][random.below(4)].to_owned(),
            (58..64, _) => prose(&mut random, language, 3),
            _ => {
                let words = random.between(8, 120);
                prose(&mut random, language, words)
            }
        };
        let mut page = Page { id: None, text, fields: fields(&mut random, language) };
        if keyed {
            page.id = Some(format!("page-{number}"));
            if !pages.is_empty() && random.chance(25) {
                let before = pages[random.below(pages.len())].clone();
                page = match random.below(4) {
                    0 => before,
                    1 => Page { fields: page.fields, ..before },
                    _ => Page { id: before.id, ..page },
                };
            }
        }
        pages.push(page);
    }
    pages
}

/// Fields of a page: present, absent, and of the wrong type.
pub fn fields(random: &mut Random, language: usize) -> Value {
    let mut fields = json!({ "url": format!("https://example.org/{}", random.below(40)) });
    if random.chance(80) {
        fields["language"] = json!(LANGUAGES[language].0);
    }
    if random.chance(80) {
        fields["quality"] = json!(random.below(1000) as f64 / 1000.0);
    }
    match random.below(10) {
        0 => {}
        1 => fields["year"] = json!("unknown"),
        _ => fields["year"] = json!(1990 + random.below(30)),
    }
    fields
}

// ----
// A family of templates: texts that differ in three slots.

/// A template of 128 words with three slots. Any two fills share 109 of 139 shingles, which is 0.784.
pub struct Template(pub Vec<String>);

impl Template {
    pub const SLOTS: usize = 3;

    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        Self((0..128).map(|at| format!("w{at}x{}", random.below(1 << 20))).collect())
    }

    /// A fill; of `changed` slots the words are a twin's.
    pub fn fill(&self, number: usize, changed: usize) -> String {
        let mut words = self.0.clone();
        for slot in 0..Self::SLOTS {
            let twin = if slot < changed { "twin" } else { "" };
            words[20 + slot * 40] = format!("{twin}fill{number}s{slot}");
        }
        words.join(" ")
    }

    /// With these words in the slots: two that share one are similar at 0.8, two that share none are not.
    pub fn with(&self, words: [String; Self::SLOTS]) -> String {
        let mut all = self.0.clone();
        for (slot, word) in words.into_iter().enumerate() {
            all[20 + slot * 40] = word;
        }
        all.join(" ")
    }

    /// Between two fills: of `count` slots the words are the one's, of the others the other's.
    pub fn between(&self, one: usize, other: usize, count: usize) -> String {
        let mut words = self.0.clone();
        for slot in 0..Self::SLOTS {
            let of = if slot < count { one } else { other };
            words[20 + slot * 40] = format!("fill{of}s{slot}");
        }
        words.join(" ")
    }

    /// `count` fills, and after them twins of every tenth: of one or two slots.
    pub fn pages(&self, count: usize) -> Vec<Page> {
        let mut random = Random::new(count as u64);
        let fills = (0..count).map(|number| self.fill(number, 0));
        let twins = (0..count / 10).map(|at| self.fill(at * 10, [1, 2, 2][at % 3]));
        fills
            .chain(twins)
            .map(|text| {
                let mut page = Page::new(text);
                // Orders have something to go by.
                page.fields["quality"] = (random.below(4) as f64 / 10.0).into();
                page.fields["year"] = (1998 + random.below(4)).into();
                page
            })
            .collect()
    }
}

// ----
// A small suite of evaluation items.

pub const QUESTION: &str = "A baker sells 48 of her rolls in the morning, and then half as many rolls in the afternoon. How many rolls did the baker sell on the whole day?";

pub const ANSWER: &str = "In the afternoon she sold 48/2 = 24 rolls, so on the whole day she sold 48+24 = 72 of them. #### 72";

pub fn suite() -> String {
    let items = [
        json!({ "id": "rolls", "question": QUESTION, "answer": ANSWER }),
        json!({ "id": "mill", "question": SHORT, "answer": "Quilbury" }),
        json!({ "id": "open", "question": "Tell in your own words why the keeper of the old lighthouse never once came down to the village" }),
        json!({ "id": "tiny", "question": "Why?", "answer": "So" }),
    ];
    items.map(|item| format!("{item}\n")).concat()
}

pub fn around(text: &str) -> String {
    format!(
        "Some words that come before it, as they do.\n\n{text}\n\nAnd some that come after, as others do."
    )
}

pub const SHORT: &str = "Which town has the tallest mill?";

// ----
// Pages as a table of Parquet.

/// Writes pages as Parquet with 16 rows a row group.
pub fn parquet_of_pages(path: &Path, pages: &[Page]) {
    let column = |of: fn(&Page) -> Option<String>| -> ArrayRef {
        Arc::new(pages.iter().map(of).collect::<StringArray>())
    };
    let years: Int64Array = pages.iter().map(|page| page.fields["year"].as_i64()).collect();
    let columns = [
        ("id", column(|page| page.id.clone())),
        ("text", column(|page| Some(page.text.clone()))),
        ("language", column(|page| page.fields["language"].as_str().map(str::to_owned))),
        ("year", Arc::new(years)),
    ];
    let columns = columns.map(|(name, column)| (name, column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(16)).build();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

// ----
// Bytes compressed as other programs do.

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}
