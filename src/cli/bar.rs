//! Draws progress on stderr: share, time left, rate.
//!
//! Nothing is drawn when stderr is not a terminal; notes are printed in any case. The most important figure comes
//! first, and the last ones are left out where a terminal is too narrow for all. A rate, and with it the time left, is
//! shown once a second has passed: before, it would be invented. Where the locale is not UTF-8, a bar is of `#`.

use super::columns::eighths;
use super::output::note as talk;
use corpusdb::show::{number, seconds, size};
use corpusdb::{Progress, ProgressTally};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Time between two drawings of a stage without news, so that the bar is seen to live.
const TICK: Duration = Duration::from_millis(250);
/// Seconds before a rate is known.
const KNOWN: f64 = 1.0;
/// Columns of the bar itself.
const BAR: usize = 8;

/// Draws what the library reports.
pub(super) struct Bar {
    current: Mutex<Option<ProgressBar>>,
    tally: Arc<Mutex<Option<ProgressTally>>>,
    /// Draws a share in so many columns.
    draw: fn(f64, usize) -> String,
    target: fn() -> ProgressDrawTarget,
    width: fn() -> usize,
}

impl Bar {
    pub(super) fn new() -> Self {
        let width = || usize::from(console::Term::stderr().size().1);
        Self::on(|| ProgressDrawTarget::stderr_with_hz(8), width)
    }

    fn on(target: fn() -> ProgressDrawTarget, width: fn() -> usize) -> Self {
        let draw = if is_utf8(|name| std::env::var(name).ok()) { eighths } else { signs };
        Self { current: Mutex::new(None), tally: Arc::default(), draw, target, width }
    }

    fn with(&self, act: impl FnOnce(&ProgressBar)) {
        if let Ok(bar) = self.current.lock()
            && let Some(bar) = bar.as_ref()
        {
            act(bar);
        }
    }

    fn set_tally(&self, tally: Option<ProgressTally>) {
        if let Ok(mut current) = self.tally.lock() {
            *current = tally;
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.with(ProgressBar::finish_and_clear);
    }
}

impl Progress for Bar {
    fn begin(&self, stage: &str, total: Option<u64>) {
        self.set_tally(None);
        let (name, tally) = (stage.to_owned(), Arc::clone(&self.tally));
        let (draw, width) = (self.draw, self.width);
        let line = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let stage = ProgressLine {
                name: &name,
                done: state.pos(),
                total,
                elapsed: state.elapsed().as_secs_f64(),
                per_second: state.per_sec(),
                tally: tally.lock().ok().and_then(|tally| *tally),
                draw,
            };
            let _ = out.write_str(&stage.line(width()));
        };
        let style = ProgressStyle::with_template("{line}")
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .with_key("line", line);
        let bar = ProgressBar::with_draw_target(total, (self.target)()).with_style(style);
        if !bar.is_hidden() {
            bar.enable_steady_tick(TICK);
        }
        if let Ok(mut current) = self.current.lock()
            && let Some(before) = current.replace(bar)
        {
            before.finish_and_clear();
        }
    }

    fn advance(&self, done: u64) {
        self.with(|bar| bar.set_position(done));
    }

    fn tally(&self, tally: &ProgressTally) {
        self.set_tally(Some(*tally));
    }

    fn end(&self) {
        if let Ok(mut bar) = self.current.lock()
            && let Some(bar) = bar.take()
        {
            bar.finish_and_clear();
        }
    }

    fn note(&self, message: &str) {
        let mut is_drawn = false;
        self.with(|bar| {
            is_drawn = true;
            bar.suspend(|| talk(message));
        });
        if !is_drawn {
            talk(message);
        }
    }
}

/// Prints notes and draws no bar: for programs, and for people who want none.
pub(super) struct NotesAlone;

impl Progress for NotesAlone {
    fn begin(&self, _: &str, _: Option<u64>) {}

    fn advance(&self, _: u64) {}

    fn tally(&self, _: &ProgressTally) {}

    fn end(&self) {}

    fn note(&self, message: &str) {
        talk(message);
    }
}

/// The stage that [`Progress::tally`] reports; its total are bytes of files, which may be compressed.
const INGESTING: &str = "ingesting";

/// What is known of a stage at a moment.
struct ProgressLine<'a> {
    name: &'a str,
    done: u64,
    total: Option<u64>,
    /// Seconds since it began.
    elapsed: f64,
    /// How many of the total are done in a second, of late.
    per_second: f64,
    tally: Option<ProgressTally>,
    draw: fn(f64, usize) -> String,
}

impl ProgressLine<'_> {
    /// The line about it, in so many columns at most.
    fn line(&self, width: usize) -> String {
        let share = self.total.map(|total| self.done.min(total) as f64 / total.max(1) as f64);
        let head = match share {
            Some(share) => format!("{} {:>3.0} %", self.name, (share * 100.0).floor()),
            None => format!("{} {}", self.name, seconds(self.elapsed)),
        };
        let bar = share.map(|share| format!(" [{:BAR$}]", (self.draw)(share, BAR)));
        let mut figures = self.figures();
        for bar in [bar.as_deref(), None] {
            loop {
                let gap = if figures.is_empty() { "" } else { " " };
                let line = format!("{head}{}{gap}{}", bar.unwrap_or_default(), figures.join(", "));
                if line.chars().count() <= width {
                    return line;
                }
                if figures.pop().is_none() {
                    break;
                }
            }
        }
        head.chars().take(width).collect()
    }

    /// The figures behind the bar, the most important first; none that is not known yet, or 0.
    fn figures(&self) -> Vec<String> {
        let is_known = self.elapsed >= KNOWN;
        let rest =
            self.total.and_then(|total| total.checked_sub(self.done)).filter(|rest| *rest > 0);
        let rest = rest.filter(|_| is_known && self.per_second > 0.0);
        let left = rest.map(|rest| format!("{} left", seconds(rest as f64 / self.per_second)));
        let mut figures: Vec<String> = left.into_iter().collect();
        if let Some(tally) = &self.tally {
            if is_known {
                // The rate of text as the report computes it.
                let megabytes = tally.bytes as f64 / self.elapsed / 1e6;
                figures.push(format!("{megabytes:.1} MB/s of text"));
                let records = rate(tally.records as f64 / self.elapsed);
                figures.push(format!("{records} documents/s"));
            }
            for (count, what) in [(tally.kept, "kept"), (tally.duplicates, "duplicates")] {
                figures.extend((count > 0).then(|| format!("{} {what}", number(count))));
            }
            figures.push(format!("{} of input", size(tally.input_bytes)));
        } else if let Some(total) = self.total.filter(|_| self.name != INGESTING) {
            figures.extend(
                (is_known && self.done > 0).then(|| format!("{}/s", rate(self.per_second))),
            );
            figures.push(format!("{} of {}", number(self.done), number(total)));
        }
        figures
    }
}

/// A bar of whole columns, in signs that every terminal has.
fn signs(share: f64, columns: usize) -> String {
    "#".repeat((share.clamp(0.0, 1.0) * columns as f64).round() as usize)
}

/// Whether the locale of the environment is UTF-8; one that names none is taken for it, as today's terminals are.
fn is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let mut named = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable);
    let locale = named.find(|locale| !locale.is_empty());
    locale.is_none_or(|locale| locale.replace('-', "").to_lowercase().contains("utf8"))
}

/// A count per second: whole numbers, with one decimal below ten.
fn rate(per_second: f64) -> String {
    match per_second < 9.95 {
        true => format!("{per_second:.1}"),
        false => number(per_second.round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::TermLike;
    use std::io;

    static DRAWN: Mutex<String> = Mutex::new(String::new());

    /// A terminal of 60 columns that keeps what is written.
    #[derive(Debug)]
    struct Narrow;

    impl TermLike for Narrow {
        fn width(&self) -> u16 {
            60
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, line: &str) -> io::Result<()> {
            self.write_str(line)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            DRAWN.lock().unwrap().push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            DRAWN.lock().unwrap().push('\n');
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What is drawn is the line in the width of the terminal, also of a stage without numbers.
    #[test]
    fn a_terminal_of_sixty_columns_gets_no_wider_line() {
        let mut bar = Bar::on(|| ProgressDrawTarget::term_like(Box::new(Narrow)), || 60);
        bar.draw = eighths;
        bar.begin(INGESTING, Some(1_000_000));
        bar.tally(&TALLY);
        bar.advance(430_000);
        std::thread::sleep(TICK * 3);
        bar.begin("merging pairs", None);
        std::thread::sleep(TICK * 3);
        bar.end();
        let drawn = DRAWN.lock().unwrap().clone();
        let lines: Vec<&str> = drawn.split(['\n', '\r']).map(str::trim_end).collect();
        assert!(lines.iter().all(|line| line.chars().count() <= 60), "{drawn}");
        let line = |whole: &str| lines.iter().any(|line| line.starts_with(whole));
        assert!(line("ingesting  43 % [███▌    ] 4,000 kept, 4.0 MB of input"), "{drawn}");
        assert!(line("merging pairs 0."), "{drawn}");
    }

    const TALLY: ProgressTally = ProgressTally {
        bytes: 25_000_000,
        records: 10_000,
        kept: 4_000,
        duplicates: 0,
        input_bytes: 4_000_000,
    };

    fn stage(elapsed: f64, tally: Option<ProgressTally>) -> ProgressLine<'static> {
        let name = if tally.is_some() { INGESTING } else { "encoding stored documents" };
        let per_second = if elapsed < 0.1 { 1_000.0 } else { 11_491.5 };
        let draw = eighths;
        ProgressLine { name, done: 22_983, total: Some(100_000), elapsed, per_second, tally, draw }
    }

    /// It said "0s left" and "1,000/s, 1 of 32" in the first milliseconds.
    #[test]
    fn no_rate_is_invented_before_there_is_one() {
        assert_eq!(
            stage(0.01, None).line(80),
            "encoding stored documents  22 % [█▉      ] 22,983 of 100,000"
        );
        let begun = ProgressLine { done: 0, per_second: 0.0, ..stage(5.0, None) };
        assert_eq!(begun.line(80), "encoding stored documents   0 % [        ] 0 of 100,000");
        let before = ProgressLine { name: INGESTING, ..stage(0.0, None) };
        assert_eq!(before.line(80), "ingesting  22 % [█▉      ]");
    }

    /// The rate of compressed bytes, and what a narrow terminal cut, hid the rate of text and the time left.
    #[test]
    fn a_narrow_terminal_gets_the_first_figures_whole() {
        let of_stage = |width| stage(2.0, None).line(width);
        assert_eq!(of_stage(80), "encoding stored documents  22 % [█▉      ] 6.7 s left, 11,492/s");
        assert_eq!(
            of_stage(100),
            "encoding stored documents  22 % [█▉      ] 6.7 s left, 11,492/s, 22,983 of 100,000"
        );
        assert_eq!(of_stage(60), "encoding stored documents  22 % [█▉      ] 6.7 s left");
        assert_eq!(of_stage(45), "encoding stored documents  22 % [█▉      ]");
        assert_eq!(of_stage(40), "encoding stored documents  22 %");
        assert_eq!(of_stage(20), "encoding stored docu");
        let of_ingest = |width| stage(2.0, Some(TALLY)).line(width);
        assert_eq!(
            of_ingest(80),
            "ingesting  22 % [█▉      ] 6.7 s left, 12.5 MB/s of text, 5,000 documents/s"
        );
        assert_eq!(of_ingest(60), "ingesting  22 % [█▉      ] 6.7 s left, 12.5 MB/s of text");
        for width in 0..200 {
            for line in [of_stage(width), of_ingest(width)] {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn a_stage_without_a_total_has_its_time() {
        let stage = ProgressLine { total: None, per_second: 0.0, ..stage(75.0, Some(TALLY)) };
        assert_eq!(
            stage.line(80),
            "ingesting 1 min 15 s 0.3 MB/s of text, 133 documents/s, 4,000 kept"
        );
        assert_eq!([4.5, 9.96, 22_982.5].map(rate), ["4.5", "10", "22,983"]);
    }

    #[test]
    fn a_locale_that_is_not_utf8_has_bars_of_signs() {
        let locale = |named: &[(&str, &str)]| {
            let value = |name: &str| named.iter().find(|(of, _)| *of == name);
            is_utf8(|name| value(name).map(|(_, value)| (*value).to_owned()))
        };
        assert!(locale(&[]) && locale(&[("LANG", "")]) && locale(&[("LANG", "de_DE.UTF-8")]));
        assert!(locale(&[("LC_ALL", "C.utf8"), ("LANG", "C")]) && locale(&[("LC_ALL", "")]));
        assert!(!locale(&[("LANG", "C")]) && !locale(&[("LANG", "de_DE.ISO-8859-1")]));
        assert!(!locale(&[("LC_ALL", "POSIX"), ("LANG", "en_US.UTF-8")]));
        assert!(!locale(&[("LC_CTYPE", "C"), ("LANG", "en_US.UTF-8")]));
        let line = ProgressLine { draw: signs, ..stage(2.0, None) }.line(60);
        assert_eq!(line, "encoding stored documents  22 % [##      ] 6.7 s left");
        assert_eq!([0.0, 0.5, 1.0, 7.0].map(|share| signs(share, 4)), ["", "##", "####", "####"]);
    }
}
