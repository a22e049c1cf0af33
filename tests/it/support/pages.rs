//! Made-up documents, the same in every run.

use serde_json::{Value, json};

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
