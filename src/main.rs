//! The `corpusdb` command; all of it is in the library (`corpusdb::cli`), which the Python package shares.

fn main() -> std::process::ExitCode {
    corpusdb::cli::main()
}
