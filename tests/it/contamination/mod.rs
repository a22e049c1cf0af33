//! Suites of evaluation items: found with evidence, reviewed.

mod evidence;
mod review;
