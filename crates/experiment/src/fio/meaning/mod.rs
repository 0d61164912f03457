//! What options mean, in terms of plans.
