//! stub
use crate::arguments::Arguments; use crate::musts::Musts;
pub fn run(_: &Arguments) -> anyhow::Result<Musts> { anyhow::bail!("stub") }
pub fn one(_: &Arguments) -> anyhow::Result<Musts> { anyhow::bail!("stub") }
