//! What the documents say is what there is, and what they tell people to run works.

mod guides;
mod pages;
mod trouble;
