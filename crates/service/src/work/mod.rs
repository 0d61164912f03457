//! What runs do: each kind of work decides how its text is validated, which hosts it occupies, and how it is carried out.

mod calibration;
mod check;
mod check_ceph;
mod clean_up;
mod fields;
mod kind;
mod network_test;
mod reactor_form;

use checks::CheckRequest;
use experiment::Plan;
use store::RunMaker;

pub(crate) use calibration::{Calibration, CalibrationForm};
pub(crate) use check::CheckForm;
pub(crate) use clean_up::{CleanUp, CleanUpForm};
pub(crate) use fields::{FieldFault, object, read};
pub(crate) use kind::RunKind;
pub(crate) use network_test::{NetworkTest, NetworkTestForm};

use crate::new_work::RunSecrets;
use crate::options::RequestPolicy;
use crate::policy;
use crate::problem::Problem;

/// Work that is valid, and that this service allows.
pub(crate) enum Work {
    /// An experiment.
    Experiment(Box<Plan>),
    /// A check; where it is recorded, and its directories, are still absent.
    Check(Box<CheckRequest>),
    /// A test of the network between hosts.
    NetworkTest(Box<NetworkTest>),
    /// A calibration of the service's host.
    Calibration(Calibration),
    /// A clean-up.
    CleanUp(CleanUp),
}

impl Work {
    /// Reads the text of some work, and applies the policy.
    ///
    /// # Errors
    /// Everything that is wrong with an experiment; the first field that is wrong in other work.
    pub(crate) fn read(
        kind: RunKind,
        text: &str,
        secrets: &RunSecrets,
        policy: &RequestPolicy,
    ) -> Result<Self, Problem> {
        match kind {
            RunKind::Experiment => {
                policy::plan(text, policy).map(Box::new).map(Self::Experiment).map_err(Problem::faults)
            }
            RunKind::Check => {
                check::request(text, secrets, policy).map(Box::new).map(Self::Check).map_err(Problem::from)
            }
            RunKind::NetworkTest => {
                NetworkTest::read(text, policy).map(Box::new).map(Self::NetworkTest).map_err(Problem::from)
            }
            RunKind::Calibration => Calibration::read(text, policy).map(Self::Calibration),
            RunKind::CleanUp => CleanUp::read(text).map(Self::CleanUp).map_err(Problem::from),
        }
    }

    /// The name under which its runs are compared, as results have it: an experiment's own, else that of the command.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Experiment(plan) => &plan.name,
            Self::Check(_) => RunMaker::Check.command(),
            Self::NetworkTest(_) => RunMaker::Network.command(),
            Self::Calibration(_) => RunMaker::Calibrate.command(),
            Self::CleanUp(_) => "cleanup",
        }
    }

    /// The hosts that it occupies, as the queue names them.
    pub(crate) fn hosts(&self) -> Vec<String> {
        match self {
            Self::Experiment(plan) => policy::hosts(plan),
            Self::NetworkTest(test) => test.hosts.clone(),
            Self::Check(_) | Self::Calibration(_) | Self::CleanUp(_) => vec![policy::THIS_HOST.to_owned()],
        }
    }
}
