//! Renders reports as pages that need nothing else: no server, no script, no other file.
//!
//! A page is a view-model, a struct of numbers and names that a pure function makes of a report (`card` with `sizes`,
//! `duplicates`, `plan`, `signals`, `sweep`, `tokenizer`, `review`, `rows`), and a template that has the sentences (`templates/`). So the same
//! report gives the same page, and the view-model is the page as JSON. All pages share one layout, one set of macros
//! and one style sheet, and `chart` draws for all. Text from a corpus is escaped by the formatter of the templates,
//! which no template can bypass, and cut where it is long: no page grows with the corpus. Pages are made for light and
//! dark, paper and phone.
//!
//! `croissant` and `eu_summary` are descriptions that a person continues with: what was filled in stays.
//!
//! `figures` draws what several pages share as HTML, `bands` rows of an epoch. A whole page and a fragment differ in
//! `layout.html` alone; what notebooks show has a smaller style of its own, with the same colours (`common.css`). The
//! formatter also formats counts for people, and refuses a decimal number without a filter for its digits; only
//! `SafeHtml` passes unescaped, and only this room makes it.

mod bands;
mod card;
mod chart;
mod croissant;
mod duplicates;
mod eu_summary;
mod figures;
mod plan;
mod review;
mod rows;
mod signals;
mod sizes;
mod sweep;
#[cfg(test)]
mod tests;
mod tokenizer;

pub use card::CardPage;
pub use croissant::{CroissantDescription, check_croissant, croissant, write_croissant};
pub use duplicates::DuplicatesPage;
pub use eu_summary::{eu_summary, write_eu_summary};
pub use plan::PlanPage;
pub use review::{ReviewPage, precision_sentence};
pub use rows::RowsPage;
pub use signals::SignalsPage;
pub use sweep::SweepPage;
pub use tokenizer::TokenizerPage;

use figures::{cut, cut_behind};
use files::output::{OutputError, OutputFile};
use minijinja::value::{Value, ValueKind, ViaDeserialize};
use minijinja::{AutoEscape, Environment, ErrorKind, Output, State, UndefinedBehavior, context};
use model::{ByteSpan, Error, show};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use text::contamination::Excerpt;

/// Colours of series; further series begin again with the first.
const COLOURS: usize = 8;

/// Bytes by which a file is recognised as a page.
const BEGINNING: usize = 12;

const STYLE: &str =
    concat!(include_str!("templates/common.css"), include_str!("templates/style.css"));
const NOTEBOOK_STYLE: &str =
    concat!(include_str!("templates/common.css"), include_str!("templates/notebook.css"));
const TEMPLATES: [(&str, &str); 12] = [
    ("layout.html", include_str!("templates/layout.html")),
    ("macros.html", include_str!("templates/macros.html")),
    ("card.html", include_str!("templates/card.html")),
    ("duplicates.html", include_str!("templates/duplicates.html")),
    ("plan.html", include_str!("templates/plan.html")),
    ("signals.html", include_str!("templates/signals.html")),
    ("sweep.html", include_str!("templates/sweep.html")),
    ("tokenizer.html", include_str!("templates/tokenizer.html")),
    ("review.html", include_str!("templates/review.html")),
    ("rows.html", include_str!("templates/rows.html")),
    ("rows_glance.html", include_str!("templates/rows_glance.html")),
    ("eu_summary.md", include_str!("templates/eu_summary.md")),
];

/// Why a page or a description cannot be made or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// A template does not fit its view-model, which is a fault of corpusdb.
    #[error("the page could not be made, a bug in corpusdb: {}", described(.0))]
    Template(minijinja::Error),
    /// The earlier description cannot be continued.
    #[error("{0}")]
    Description(String),
    /// The file is of another kind and stays, or it cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl From<minijinja::Error> for PageError {
    fn from(error: minijinja::Error) -> Self {
        Self::Template(error)
    }
}

impl From<PageError> for Error {
    fn from(error: PageError) -> Self {
        use model::ErrorKind;
        let kind = match &error {
            PageError::Template(_) | PageError::Output(OutputError::Io(_)) => ErrorKind::Failed,
            PageError::Output(OutputError::Taken { .. }) => ErrorKind::AlreadyExists,
            PageError::Description(_) | PageError::Output(_) => ErrorKind::BadInput,
        };
        let hint = match &error {
            PageError::Output(OutputError::Io(io)) => io.hint(),
            _ => None,
        };
        Self::new(kind, error).with_hint(hint)
    }
}

/// The message of a template error, with its place and cause.
fn described(error: &minijinja::Error) -> String {
    let mut all = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(behind) = source {
        all = format!("{all}: {behind}");
        source = behind.source();
    }
    all
}

/// A view-model with a template.
pub trait PageModel: Serialize {
    /// The name of the template.
    const TEMPLATE: &'static str;

    /// The heading.
    fn title(&self) -> String;
}

/// A whole page.
///
/// # Errors
/// [`PageError::Template`].
pub fn page<P: PageModel>(page: &P) -> Result<String, PageError> {
    let style = Value::from_safe_string(STYLE.to_owned());
    let context = context! {
        page => Value::from_serialize(page),
        title => page.title(),
        template => P::TEMPLATE,
        style,
    };
    Ok(environment()?.get_template("layout.html")?.render(context)?)
}

/// The style of what a notebook shows within an element of the class `corpusdb`.
pub fn notebook_style() -> &'static str {
    NOTEBOOK_STYLE
}

/// Writes a page, whole or not at all. One that was made before is replaced; a file of another kind stays.
///
/// # Errors
/// [`PageError::Output`].
pub fn write_page(file: &Path, text: &str) -> Result<(), PageError> {
    let is_page = |path: &Path| {
        let mut begins = Vec::new();
        let read = File::open(path);
        let read = read.and_then(|file| file.take(BEGINNING as u64).read_to_end(&mut begins));
        read.is_ok() && (begins.is_empty() || text.as_bytes().starts_with(&begins))
    };
    let file = OutputFile::judge(file)?.replacing("no page of this kind", is_page)?;
    Ok(file.write(text.as_bytes())?)
}

/// What a corpus is called: the name of its directory, also where the path is `.`.
pub fn corpus_title(corpus: &Path) -> String {
    let path = std::path::absolute(corpus).unwrap_or_else(|_| corpus.to_path_buf());
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// HTML that is safe to print: everything from outside in it is escaped.
#[derive(Clone, Debug, Default)]
struct SafeHtml(String);

impl SafeHtml {
    fn new(html: String) -> Self {
        Self(html)
    }
}

impl Serialize for SafeHtml {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Value::from_safe_string(self.0.clone()).serialize(serializer)
    }
}

/// The sections of a page in their order: the anchor and the title of each.
#[derive(Clone, Debug, Default)]
struct Contents(Vec<(&'static str, &'static str)>);

impl Serialize for Contents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(id, title)| map.serialize_entry(id, title))?;
        map.end()
    }
}

/// The templates with their filters. A value that is missing is an error, not empty text.
fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_keep_trailing_newline(true);
    environment.set_auto_escape_callback(|name| match name.ends_with(".md") {
        true => AutoEscape::Custom("markdown"),
        false => AutoEscape::Html,
    });
    environment.set_formatter(written);
    let safe = Value::from_safe_string;
    environment
        .add_filter("count", |value: u64, one: &str, many: &str| show::count(value, one, many));
    environment.add_filter("number", show::number);
    environment.add_filter("short", show::short);
    environment.add_filter("size", show::size);
    environment.add_filter("percent", show::percent);
    environment.add_filter("decimals", show::decimals);
    environment.add_filter("fixed", |value: f64, digits: usize| format!("{value:.digits$}"));
    environment.add_filter("share", |part: u64, whole: u64| show::percent_of(part, whole));
    environment.add_filter("name", |text: &str| cut(text));
    environment.add_filter("called", move |text: &str| safe(called(text)));
    environment.add_filter("lines", move |text: &str| safe(lines(text)));
    environment.add_filter("escaped", move |text: &str| safe(escaped(text)));
    environment.add_filter("visible", move |text: &str| safe(visible(text)));
    environment.add_filter("marked", move |text: String, marks: ViaDeserialize<Vec<ByteSpan>>| {
        safe(marked(&Excerpt::of(text, marks.0)))
    });
    environment.add_filter("reason", |text: &str| cut_behind(text, card::REASON));
    environment.add_filter("capital", |text: &str| capital(text));
    for (name, source) in TEMPLATES {
        environment.add_template(name, source)?;
    }
    Ok(environment)
}

/// Formats a value: escapes text, and writes counts for people. Refuses a decimal number whose digits are not given.
fn written(out: &mut Output, state: &State, value: &Value) -> Result<(), minijinja::Error> {
    let refused =
        |what: &str| Err(minijinja::Error::new(ErrorKind::BadSerialization, what.to_owned()));
    match value.kind() {
        ValueKind::String if value.is_safe() => out.write_str(value.as_str().unwrap_or(""))?,
        ValueKind::String => {
            let text = value.as_str().unwrap_or("");
            out.write_str(&match state.auto_escape() {
                AutoEscape::Html => escape(text),
                _ => eu_summary::plain(text),
            })?;
        }
        ValueKind::Number if value.is_integer() => match u64::try_from(value.clone()) {
            Ok(value) => out.write_str(&show::number(value))?,
            Err(_) => return refused("a number below zero has no form on a page"),
        },
        kind => {
            return refused(&format!(
                "a value of kind {kind} needs a filter that says how it is written"
            ));
        }
    }
    Ok(())
}

/// Text as HTML, in elements and in attributes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ if is_hidden(character) => out.push('\u{fffd}'),
            _ => out.push(character),
        }
    }
    out
}

/// Text of several lines as HTML, for where white space is kept.
fn lines(text: &str) -> String {
    let line = |line: &str| line.split('\t').map(escape).collect::<Vec<_>>().join("\t");
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Text of several lines as HTML, each character that is not seen as JSON escapes it: `\u202e`.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => out.push(character),
            _ if is_hidden(character) => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            _ => out.push_str(&escape(&character.to_string())),
        }
    }
    out
}

/// Text of several lines as HTML, with its marks.
fn marked(excerpt: &Excerpt) -> String {
    let part = |(is_marked, text): (bool, &str)| match is_marked {
        true => format!("<mark>{}</mark>", lines(text)),
        false => lines(text),
    };
    excerpt.parts().map(part).collect()
}

/// A name of the corpus within a sentence, as HTML.
fn called(text: &str) -> String {
    match text {
        "" => "<b>(no name)</b>".to_owned(),
        text => format!("<b>{}</b>", escape(&cut(text))),
    }
}

/// Text of a token as HTML, with white space and characters without shape made visible.
fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            ' ' => out.push_str("<u>·</u>"),
            '\n' => out.push_str("<u>⏎</u>"),
            '\r' => out.push_str("<u>\\r</u>"),
            '\t' => out.push_str("<u>⇥</u>"),
            '\u{a0}' => out.push_str("<u>⍽</u>"),
            // Keeps joined emoji joined.
            '\u{200d}' | '\u{fe0f}' => out.push(character),
            _ if is_hidden(character) || character.is_whitespace() => {
                out.push_str(&format!("<u>U+{:04X}</u>", u32::from(character)));
            }
            _ => out.push_str(&escape(&character.to_string())),
        }
    }
    out
}

/// Whether a character is a control, changes the direction of text, or has no width.
fn is_hidden(character: char) -> bool {
    show::acts_on_terminals(character)
        || matches!(character,
            '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}')
}

/// A word or sentence with a capital at its beginning.
fn capital(text: &str) -> String {
    let mut rest = text.chars();
    let first = rest.next().into_iter().flat_map(char::to_uppercase);
    first.collect::<String>() + rest.as_str()
}
