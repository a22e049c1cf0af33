//! The functions that chat templates may call besides Jinja's own: as transformers defines them, but for the clock.

use super::budget::{BoundedSink, charge_made, charge_written, is_nested, python_text, text_len};
use super::values::{JsonStyle, write_str};
use minijinja::value::{Kwargs, Value, ValueKind, from_args};
use minijinja::{AutoEscape, Error, ErrorKind, Output, State};
use model::invariant::at;
use std::borrow::Cow;

/// A calendar day, the only time that a template can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CalendarDay {
    year: u32,
    month: u32,
    day: u32,
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

impl CalendarDay {
    /// Reads `YYYY-MM-DD`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '-').map(|part| part.parse::<u32>().ok());
        let day = Self { year: parts.next()??, month: parts.next()??, day: parts.next()?? };
        let leap = day.year.is_multiple_of(4) && !day.year.is_multiple_of(100)
            || day.year.is_multiple_of(400);
        let last = match day.month {
            1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
            4 | 6 | 9 | 11 => 30,
            2 if leap => 29,
            2 => 28,
            _ => return None,
        };
        ((1..=last).contains(&day.day) && (1..=9999).contains(&day.year)).then_some(day)
    }

    fn month_name(self) -> &'static str {
        at::<&str>(&MONTHS, (self.month - 1) as usize)
    }

    /// Sakamoto's method: 0 is Sunday.
    fn weekday_name(self) -> &'static str {
        let shift = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4];
        let shift = at(&shift, (self.month - 1) as usize);
        let year = if self.month < 3 { self.year - 1 } else { self.year };
        let day = (year + year / 4 - year / 100 + year / 400 + shift + self.day) % 7;
        at::<&str>(&WEEKDAYS, day as usize)
    }

    /// Python's `strftime`, for the parts of a day; its time is midnight.
    fn format(self, format: &str) -> Result<String, Error> {
        let mut out = String::new();
        let mut letters = format.chars();
        while let Some(letter) = letters.next() {
            if letter != '%' {
                out.push(letter);
                continue;
            }
            let mut code = letters.next();
            let bare = code == Some('-');
            if bare {
                code = letters.next();
            }
            let two = |number: u32| if bare { number.to_string() } else { format!("{number:02}") };
            let short = |name: &str| name.chars().take(3).collect::<String>();
            out.push_str(&match code {
                Some('d') => two(self.day),
                Some('m') => two(self.month),
                Some('y') => two(self.year % 100),
                Some('Y') => self.year.to_string(),
                Some('B') => self.month_name().to_owned(),
                Some('b') => short(self.month_name()),
                Some('A') => self.weekday_name().to_owned(),
                Some('a') => short(self.weekday_name()),
                Some('H' | 'M' | 'S') => two(0),
                Some('F') => format!("{}-{:02}-{:02}", self.year, self.month, self.day),
                Some('%') => "%".to_owned(),
                _ => {
                    return Err(invalid(format!(
                        "strftime_now does not support the format {format:?}"
                    )));
                }
            });
        }
        Ok(out)
    }
}

/// `strftime_now`: the day given by option; never the clock, or the same record would become another text.
pub(super) fn strftime_now(day: Option<CalendarDay>, format: &str) -> Result<String, Error> {
    match day {
        Some(day) => {
            // The longest name of a month stands for two letters.
            charge_made(format.len().saturating_mul(8))?;
            day.format(format)
        }
        None => {
            Err(invalid("the template uses today's date; give a day with `chat_date=`".to_owned()))
        }
    }
}

/// `raise_exception`: the template refuses the conversation.
pub(super) fn raise_exception(message: &str) -> Result<String, Error> {
    Err(invalid(format!("the template refuses it: {message}")))
}

fn invalid(why: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, why)
}

/// `tojson` as transformers has it: Python's `json.dumps`, in the order of the input, nothing escaped for HTML.
pub(super) fn tojson(value: &Value, options: Kwargs) -> Result<String, Error> {
    let indent = indentation(options.get::<Option<Value>>("indent")?.as_ref())?;
    let separators: Option<Vec<String>> = options.get("separators")?;
    let (comma, colon) = match separators.as_deref() {
        // With an indent, a line ends at the comma.
        None if indent.is_some() => (",", ": "),
        None => (", ", ": "),
        Some([comma, colon]) => (comma.as_str(), colon.as_str()),
        Some(_) => return Err(invalid("tojson: separators are two texts".to_owned())),
    };
    let style = JsonStyle {
        indent,
        comma: comma.to_owned(),
        colon: colon.to_owned(),
        is_ascii: options.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false),
        is_sorted: options.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
    };
    options.assert_all_used()?;
    BoundedSink::text(|out| style.write(out, value, 0))
}

/// An indent of Python's: a number of spaces or a text.
fn indentation(given: Option<&Value>) -> Result<Option<String>, Error> {
    let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(None) };
    if let Some(text) = given.as_str() {
        charge_made(text.len())?;
        return Ok(Some(text.to_owned()));
    }
    let width = given
        .as_usize()
        .ok_or_else(|| invalid("an indent is a number of spaces or a text".to_owned()))?;
    charge_made(width)?;
    Ok(Some(" ".repeat(width)))
}

/// Jinja's `indent`: the engine's takes a line end off the text.
pub(super) fn indent(_: &State<'_, '_>, _: &str, values: &[Value]) -> Result<Value, Error> {
    type Arguments = (Option<Value>, Option<bool>, Option<bool>, Kwargs);
    let (width, is_first, is_blank, options): Arguments =
        from_args(values.get(1..).unwrap_or_default())?;
    let width = width.or(options.get("width")?);
    let is_first = is_first.or(options.get("first")?).unwrap_or(false);
    let is_blank = is_blank.or(options.get("blank")?).unwrap_or(false);
    options.assert_all_used()?;
    let indent = indentation(width.as_ref())?.unwrap_or_else(|| "    ".to_owned());
    let of = values.first().map_or(Ok(Cow::Borrowed("")), python_text)?;
    let lines = python_lines(&of);
    charge_made(of.len().saturating_add(lines.len().saturating_mul(indent.len() + 1)))?;
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        let is_indented = if at == 0 { is_first } else { is_blank || !line.is_empty() };
        out.push_str(if at == 0 { "" } else { "\n" });
        out.push_str(if is_indented { &indent } else { "" });
        out.push_str(line);
    }
    let is_safe = values.first().is_some_and(Value::is_safe);
    Ok(if is_safe { Value::from_safe_string(out) } else { Value::from(out) })
}

/// The lines of a text with a line end behind it, by all that ends a line to Python.
fn python_lines(text: &str) -> Vec<&str> {
    let ends = [
        '\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}',
        '\u{2029}',
    ];
    let (mut lines, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find(ends) {
        let (line, from) = rest.split_at(at);
        lines.push(line);
        let mut letters = from.strip_prefix("\r\n").unwrap_or(from).chars();
        if !from.starts_with("\r\n") {
            letters.next();
        }
        rest = letters.as_str();
    }
    lines.push(rest);
    lines
}

/// Longest a number of 128 bits, a float or `False` is.
const NUMBER: usize = 40;

/// Writes a value as Python's `str` would; lists and objects, which that would write as Python source, are refused.
pub(super) fn write(
    out: &mut Output<'_>,
    state: &State<'_, '_>,
    value: &Value,
) -> Result<(), Error> {
    // A letter is at most six bytes when it is written for HTML.
    let times = if state.auto_escape() == AutoEscape::None { 1 } else { 6 };
    if is_nested(value) {
        return Err(invalid(
            "the template writes a list or an object as text, where a string was expected"
                .to_owned(),
        ));
    }
    let length = match value.kind() {
        ValueKind::Plain => text_len(value)?,
        _ => value.as_str().map_or(NUMBER, str::len),
    };
    charge_written(length.saturating_mul(times))?;
    match value.kind() {
        ValueKind::Bool | ValueKind::None | ValueKind::Number => {
            let mut text = String::new();
            write_str(&mut text, value)?;
            Ok(out.write_str(&text).map_err(Error::from)?)
        }
        _ => minijinja::escape_formatter(out, state, value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_written_as_python_writes_them() {
        let day = CalendarDay::parse("2024-02-29").unwrap();
        assert_eq!(day.format("%d %b %Y").unwrap(), "29 Feb 2024");
        assert_eq!(
            day.format("%A, %B %-d, %y %% %F").unwrap(),
            "Thursday, February 29, 24 % 2024-02-29"
        );
        assert!(day.format("%j").is_err() && strftime_now(None, "%d").is_err());
        for bad in ["2023-02-29", "2024-13-01", "2024-1", "today", "2024-04-31", "0-1-1"] {
            assert_eq!(CalendarDay::parse(bad), None, "{bad}");
        }
    }
}
