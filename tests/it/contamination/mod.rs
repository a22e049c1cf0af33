//! Suites of evaluation items: found with evidence, reviewed.

pub mod evidence;
mod review;
