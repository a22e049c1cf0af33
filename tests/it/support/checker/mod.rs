//! The properties of an epoch, each by its definition: a checker that knows stored tokens and the rows of a run, and
//! nothing of the planner.

pub mod corpus;
pub mod row;
pub mod run;
