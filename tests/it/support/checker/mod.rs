//! The properties of an epoch, each by its definition: a checker that knows stored tokens and the rows of a run, and
//! nothing of the planner.

pub mod chats;
pub mod corpus;
pub mod recipes;
pub mod row;
pub mod run;
pub mod worlds;
