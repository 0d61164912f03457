//! The commands other than `run` that leave runs in the results file.

/// The command behind a run without an experiment; the environment fact [`MADE_BY`](crate::MADE_BY) names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunMaker {
    /// The paths to storage.
    Check,
    /// The links between hosts.
    Network,
    /// This host alone.
    Calibrate,
}

impl RunMaker {
    const ALL: [Self; 3] = [Self::Check, Self::Network, Self::Calibrate];

    /// The maker with this command name; `None` for one of a later version.
    pub fn of_command(command: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|maker| maker.command() == command)
    }

    /// The command name, which identifies the run.
    pub const fn command(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Network => "network",
            Self::Calibrate => "calibrate",
        }
    }

    /// What it produces, for messages.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Network => "network test",
            Self::Calibrate => "calibration",
        }
    }
}
