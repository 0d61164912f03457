//! A script becomes a plan.
