//! What drives the engine: its threads, what bounds its memory, stops, the node that hands batches on.

pub(in crate::sql) mod drivers;
pub(in crate::sql) mod limits;
pub(in crate::sql) mod pass_through;
pub(in crate::sql) mod pool;
pub(in crate::sql) mod runtime;
pub(in crate::sql) mod stop;
