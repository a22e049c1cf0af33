//! `corpusdb demo`: being written.
/// Show the main job
#[derive(clap::Args)]
pub(super) struct Args {}
pub(super) fn run(_: Args, _: &super::setup::Context) -> anyhow::Result<super::Outcome> { Ok(super::Outcome::Good) }
