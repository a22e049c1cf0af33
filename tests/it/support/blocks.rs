//! Blocks of the pages, and a shell that runs them.

use crate::support::TestDir;
use std::path::Path;
use std::process::Command;

/// A block of a page: what it is marked as, and its lines.
pub struct Block<'t> {
    pub mark: &'t str,
    pub body: &'t str,
}

pub fn blocks(page: &str) -> Vec<Block<'_>> {
    let parts = page.split("\n```").collect::<Vec<_>>();
    let opened = parts.iter().skip(1).step_by(2);
    opened
        .filter_map(|part| part.split_once('\n'))
        .map(|(mark, body)| Block { mark, body })
        .collect()
}

/// Runs a program of bash with the command in its path; answers what it printed.
pub fn bash(scratch: &TestDir, script: &str, name: &str) -> String {
    let beside = Path::new(env!("CARGO_BIN_EXE_corpusdb")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(beside.to_owned()).chain(std::env::split_paths(&path));
    let output = Command::new("bash")
        .args(["-eu", "-o", "pipefail", "-c", script])
        .current_dir(scratch.path(""))
        .env("PATH", std::env::join_paths(paths).unwrap())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{name}: {told}");
    told
}
