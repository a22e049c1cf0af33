//! The engine of a view: its functions and rules, the threads that drive it, what bounds its memory and its time.

pub(in crate::sql) mod build;
pub(in crate::sql) mod drivers;
pub(in crate::sql) mod limits;
pub(in crate::sql) mod pass_through;
pub(in crate::sql) mod pool;
pub(in crate::sql) mod runtime;
pub(in crate::sql) mod stop;
