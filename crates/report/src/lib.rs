//! What people see of a run: tables, CSV, JSON, HTML, notebooks, comparisons.
