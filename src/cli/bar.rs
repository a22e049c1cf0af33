//! Draws progress on stderr: share, time left, rate.
//!
//! Nothing is drawn when stderr is not a terminal; notes are printed in any case. The most important figure comes
//! first, since a narrow terminal cuts the end of the line.

use super::output::note as talk;
use corpusdb::show::{number, size};
use corpusdb::{Progress, ProgressTally};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Mutex;
use std::time::Duration;

/// Time between two drawings of a stage without news, so that the bar is seen to live.
const TICK: Duration = Duration::from_millis(250);

/// Draws what the library reports.
pub(super) struct Bar {
    current: Mutex<Option<ProgressBar>>,
    target: fn() -> ProgressDrawTarget,
}

impl Bar {
    pub(super) fn new() -> Self {
        Self::on(|| ProgressDrawTarget::stderr_with_hz(8))
    }

    fn on(target: fn() -> ProgressDrawTarget) -> Self {
        Self { current: Mutex::new(None), target }
    }

    fn with(&self, act: impl FnOnce(&ProgressBar)) {
        if let Ok(bar) = self.current.lock()
            && let Some(bar) = bar.as_ref()
        {
            act(bar);
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
        let template = match total {
            Some(_) => "{prefix} {percent:>3}% [{bar:8}] {eta} left, {wide_msg}",
            None => "{prefix} {spinner} {elapsed}{wide_msg}",
        };
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(total, (self.target)())
            .with_style(style)
            .with_prefix(stage.to_owned());
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
        self.with(|bar| {
            bar.set_position(done);
            // The tally has the rate of an ingest; these are bytes of input files, which may be compressed.
            if let Some(total) = bar.length()
                && bar.prefix() != INGESTING
            {
                let rate = rate(done, bar.elapsed().as_secs_f64());
                bar.set_message(format!("{rate}/s, {} of {}", number(done), number(total)));
            }
        });
    }

    fn tally(&self, tally: &ProgressTally) {
        self.with(|bar| bar.set_message(tally_words(tally, bar.elapsed().as_secs_f64())));
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

/// The stage that [`Progress::tally`] reports.
const INGESTING: &str = "ingesting";

/// The rate of text as the report computes it, then the counts.
fn tally_words(tally: &ProgressTally, seconds: f64) -> String {
    let megabytes = tally.bytes as f64 / seconds.max(0.001) / 1e6;
    format!(
        "{megabytes:.1} MB/s of text, {} documents/s, {} kept, {} duplicates, {} of input",
        rate(tally.records, seconds),
        number(tally.kept),
        number(tally.duplicates),
        size(tally.input_bytes)
    )
}

/// A count per second: whole numbers, with one decimal below ten.
fn rate(done: u64, seconds: f64) -> String {
    let rate = done as f64 / seconds.max(0.001);
    if rate < 10.0 { format!("{rate:.1}") } else { number(rate.round() as u64) }
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

    /// The rate was one of compressed bytes with four digits behind the point, and both it and the time
    /// left stood beyond the 60th column.
    #[test]
    fn sixty_columns_hold_the_rate_of_text_and_the_time_left() {
        let bar = Bar::on(|| ProgressDrawTarget::term_like(Box::new(Narrow)));
        bar.begin(INGESTING, Some(1_000_000));
        std::thread::sleep(Duration::from_millis(30));
        bar.advance(430_000);
        let tally = ProgressTally {
            bytes: 9_000_000,
            records: 5_000,
            kept: 4_000,
            ..ProgressTally::default()
        };
        bar.tally(&tally);
        bar.with(ProgressBar::tick);
        bar.end();
        bar.begin("encoding stored documents", Some(100_000));
        std::thread::sleep(Duration::from_millis(30));
        bar.advance(22_983);
        bar.with(ProgressBar::tick);
        bar.end();
        // A stage without numbers shows its name and the time.
        bar.begin("merging pairs", None);
        std::thread::sleep(TICK * 3);
        bar.end();
        let drawn = DRAWN.lock().unwrap().clone();
        let lines: Vec<&str> = drawn.split(['\n', '\r']).map(str::trim_end).collect();
        assert!(lines.iter().all(|line| line.chars().count() <= 60), "{drawn}");
        let line = |start: &str, part: &str| {
            lines.iter().any(|line| line.starts_with(start) && line.contains(part))
        };
        assert!(line(INGESTING, "left") && line(INGESTING, " MB/s of text"), "{drawn}");
        assert!(line("encoding", "left") && line("encoding", "/s"), "{drawn}");
        assert!(line("merging pairs", "s"), "{drawn}");
    }

    #[test]
    fn rates_are_read_at_a_glance() {
        assert_eq!(rate(45_965, 2.0), "22,983");
        assert_eq!(rate(9, 2.0), "4.5");
        let tally = ProgressTally {
            bytes: 25_000_000,
            records: 10_000,
            input_bytes: 4_000_000,
            ..ProgressTally::default()
        };
        assert_eq!(
            tally_words(&tally, 2.0),
            "12.5 MB/s of text, 5,000 documents/s, 0 kept, 0 duplicates, 4.0 MB of input"
        );
    }
}
