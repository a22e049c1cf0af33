//! What drives the engine: threads, what bounds memory and time, stops, the node that hands batches on.
//!
//! A statement has the view's pool for what spills, and ends at the next step of its planning or the next batch of any
//! node once it is stopped: by its caller, after its time for planning, or by a watch of the process's memory, which
//! the command sets. One call of a function ends only by itself.

pub(in crate::sql) mod evaluation;
pub(in crate::sql) mod memory;
pub(in crate::sql) mod pass_through;
pub(in crate::sql) mod runtime;
pub(in crate::sql) mod stop;
