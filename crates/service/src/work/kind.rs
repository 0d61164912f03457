//! The kinds of work.

use serde::Serialize;
use utoipa::ToSchema;

/// What a run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RunKind {
    /// It measures the cells of an experiment.
    Experiment,
    /// It checks the paths from the service's host to a storage system.
    Check,
    /// It measures the network between hosts.
    NetworkTest,
    /// It measures the most that the service's host can drive.
    Calibration,
    /// It removes what a dead run left.
    CleanUp,
}

impl RunKind {
    const ALL: [Self; 5] =
        [Self::Experiment, Self::Check, Self::NetworkTest, Self::Calibration, Self::CleanUp];

    /// Its name in the database and the API.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Experiment => "experiment",
            Self::Check => "check",
            Self::NetworkTest => "network-test",
            Self::Calibration => "calibration",
            Self::CleanUp => "clean-up",
        }
    }

    /// The kind with this name; `None` for one of a later version.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// In a sentence.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Experiment => "an experiment",
            Self::Check => "a check",
            Self::NetworkTest => "a network test",
            Self::Calibration => "a calibration",
            Self::CleanUp => "a clean-up",
        }
    }

    /// The path to which it is posted.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Experiment => "/api/v3/runs",
            Self::Check => "/api/v3/checks",
            Self::NetworkTest => "/api/v3/network-tests",
            Self::Calibration => "/api/v3/calibrations",
            Self::CleanUp => "/api/v3/clean-ups",
        }
    }
}
