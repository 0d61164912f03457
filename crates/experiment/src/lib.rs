//! What to run: parses experiment files into a validated plan of cells.
//!
//! No I/O, no clock, no randomness of its own: text in, values out.

mod accounting;
mod axis;
mod brief;
mod checks;
mod convert;
mod convert_fleet;
mod convert_form;
mod fault;
mod figures;
mod fleet;
mod foreign;
mod from_node;
mod job;
mod kind;
mod known;
mod load;
mod matrix;
mod nearest;
mod observe;
mod option;
mod option_error;
mod parameters;
mod parse;
mod pass;
mod place;
mod plan;
mod provision;
mod read;
mod reader;
mod refused;
mod remarks;
mod schema;
mod server_scale;
mod set;
mod source;
mod stored_workload;
mod text_fault;
mod tree;
mod url;
mod user_files;

pub use accounting::{Accounting, ServerCounters, Via};
pub use brief::{BriefExperiment, BriefText};
pub use content::{FileTree, MAX_TREE_WORKERS, TreeFile, TreeRole};
pub use convert::convert;
pub use fault::{Diagnostic, Diagnostics, MAX_FAULTS, hide_passwords, shown_line};
pub use figures::{BytesToWrite, CellFigures, DataSetFigures, TRIAL_WARM_UP};
pub use fleet::{
    FailurePolicy, Fleet, HostValueError, Launcher, MAX_HOSTS, Pods, Sharing, bare_host, escape_braces,
    host_list, host_port, is_same_host,
};
pub use job::*;
pub use kind::{CalibratedOp, NeededValue, OpNeed, TargetKind, Transport, UrlForm, is_url, kind_of};
pub use known::reference;
pub use load::{Load, MAX_BATCH, MixLoad, Workload};
pub use nearest::{hint, nearest};
pub use observe::Observe;
pub use option::{OptionCheck, OptionHelp, OptionKind, OptionValue, TargetOptions};
pub use option_error::{OptionError, OptionValueError, SyntaxError};
pub use parse::{decode, parse};
pub use pass::*;
pub use plan::*;
pub use provision::{
    BRICK_HOST, Brick, CephPool, GatewayUser, GlusterVolume, MAX_PLACEMENT_GROUPS, PROVISION_TIMEOUT_MS,
    PROVISIONED, Provision, ProvisionKind, TgtTarget, is_provisioned_name, provisioned_name, target_name,
};
pub use read::SHORTEST_PROBE_S;
pub use refused::{RefusedField, refuse};
pub use schema::schema;
pub use server_scale::{EarlierData, ServerScale};
pub use source::{HostsFileError, Settings, SourceText};
pub use text_fault::TextFault;
pub use url::TargetUrl;
pub use user_files::{ExistingTree, UserFiles};
