//! `null:`: every operation succeeds at once, so that a run measures this program itself.

use std::collections::BTreeMap;

use drivers::null::NullDriver;
use experiment::{TargetKind, UrlForm};
use metrics::OpKind;

use super::engines::{EngineTarget, JobEngine, JobEngines, OptionSupport};
use super::{OpenRequest, OpenTarget, Protocol, StageRunner, TargetError};

/// The protocol of `null:`.
pub(super) struct Null;

static KIND: TargetKind = TargetKind {
    imaginary: true,
    objects: true,
    ranges: true,
    ..TargetKind::new("null", "null:", UrlForm::Bare, OpKind::ALL, &[])
};

const ENGINES: JobEngines = JobEngines {
    engines: &[JobEngine {
        queues: true,
        needs_size: true,
        ..JobEngine::new("null", "null", OptionSupport::Same, |_| EngineTarget::of_url("null:"))
    }],
    options: &[],
};

impl Protocol for Null {
    fn kind(&self) -> &'static TargetKind {
        &KIND
    }

    fn engines(&self) -> JobEngines {
        ENGINES
    }

    fn open(&self, _: &OpenRequest<'_>) -> Result<Box<dyn OpenTarget>, TargetError> {
        Ok(Box::new(NullTarget))
    }
}

struct NullTarget;

impl OpenTarget for NullTarget {
    fn kind(&self) -> &'static TargetKind {
        &KIND
    }

    fn driver(&self) -> &dyn StageRunner {
        &NullDriver
    }

    fn own_facts(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("target".to_owned(), "null: every operation succeeds at once".to_owned())])
    }
}
