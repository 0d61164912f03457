//! Starting agents with the tools that people run already.
