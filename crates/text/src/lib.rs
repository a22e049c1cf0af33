pub mod contamination;
pub mod dedup;
pub mod kernel;
pub mod signals;
