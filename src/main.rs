//! The `corpusdb` command: parse, run, exit code.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    // What becomes an error is told as one.
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !corpusdb::is_contained() {
            told(panic);
        }
    }));
    let arguments: Vec<_> = std::env::args_os().collect();
    ExitCode::from(cli::main_from(&arguments))
}
