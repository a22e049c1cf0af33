//! What the documents say is what there is, and what they tell people to run works.

mod examples;
mod how_to;
mod pages;
mod trouble;
mod tutorials;
