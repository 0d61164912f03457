//! Whatever happens in any management call, the array ends up as it was.
//!
//! The real `manometer check` runs against a simulated array that fails a call or does not answer it, or the process is
//! killed during the call; once for every step that the code enumerates, and for both generations of the API.
//! Throughout, a neighbour has objects of its own on the same array.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "management_steps/stage.rs"]
mod stage;

use std::time::Duration;

use array::faults::{SessionFault, StepAction};
use provision::{ManagementStep, StepPhase, steps};
use stage::{Ended, Generation, Stage, everywhere};

/// Timeout of a call in tests where calls hang: long enough for a busy machine, short enough to be repeated often.
const SHORT: Duration = Duration::from_secs(1);
/// Timeout of a call in tests where none should expire.
const LONG: Duration = Duration::from_secs(20);

/// Both generations with each action, and for each action the steps that make it a distinct case: a read-only call has
/// no effect that could precede its failure.
fn with_each(actions: [StepAction; 2], test: impl Fn(&Stage, StepAction, ManagementStep) + Sync) {
    everywhere(|generation| {
        std::thread::scope(|scope| {
            for action in actions {
                let test = &test;
                scope.spawn(move || {
                    let stage = Stage::new(generation);
                    let without_effect = matches!(action, StepAction::Fail | StepAction::Hang);
                    for &step in steps().iter().filter(|step| without_effect || step.method() != "GET") {
                        test(&stage, action, step);
                    }
                });
            }
        });
    });
}

/// The step as the array identifies it: its index among all calls of an undisturbed run.
fn place(step: ManagementStep) -> u64 {
    1 + steps().iter().position(|&other| other == step).unwrap() as u64
}

/// The array is as it was, and only the neighbour's journal is left.
fn assert_untouched(stage: &Stage, step: ManagementStep, ended: &Ended) {
    stage.assert_as_before(&format!("{step:?}: {ended:?}"));
    assert_eq!(stage.journals(), 1, "{step:?}: {ended:?}");
}

#[test]
fn an_undisturbed_run_makes_each_enumerated_call_once_and_leaves_nothing() {
    everywhere(|generation| {
        let stage = Stage::new(generation);
        let ended = stage.check_for("1s", LONG).finish();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        stage.assert_as_before("undisturbed");
        assert_eq!(stage.calls(), steps().len() as u64);
        assert_eq!(stage.journals(), 1, "only the neighbour's");
    });
}

#[test]
fn a_call_that_fails() {
    with_each([StepAction::Fail, StepAction::DoThenFail], |stage, action, step| {
        stage.strike(step, action);
        let ended = stage.check(LONG).finish();
        match step.phase() {
            StepPhase::Open | StepPhase::Create => {
                assert_eq!(ended.code, Some(1), "{step:?}: {ended:?}");
                assert!(ended.stderr.contains(step.words()), "{step:?} is not named: {ended:?}");
            }
            // Removal is retried, and a session that does not end on request ends by itself.
            StepPhase::Remove | StepPhase::Close => assert!(ended.left_nothing(), "{step:?}: {ended:?}"),
        }
        assert_untouched(stage, step, &ended);
    });
}

#[test]
fn a_call_that_is_not_answered() {
    with_each([StepAction::Hang, StepAction::DoThenHang], |stage, action, step| {
        stage.strike(step, action);
        let ended = stage.check(SHORT).finish();
        match step.phase() {
            StepPhase::Open | StepPhase::Create => assert_eq!(ended.code, Some(1), "{step:?}: {ended:?}"),
            StepPhase::Remove | StepPhase::Close => assert!(ended.left_nothing(), "{step:?}: {ended:?}"),
        }
        assert_untouched(stage, step, &ended);
    });
}

#[test]
fn a_call_during_which_the_process_is_killed() {
    with_each([StepAction::Hang, StepAction::DoThenHang], |stage, action, step| {
        stage.strike(step, action);
        let running = stage.check(LONG);
        stage.wait_for_calls(place(step));
        let killed = running.kill();
        stage.heal();
        let ended = stage.cleanup(SHORT).finish();
        assert_eq!(ended.code, Some(0), "{step:?}: {killed:?} {ended:?}");
        assert!(ended.stderr.contains("still running"), "{step:?}: the neighbour lives: {ended:?}");
        assert_untouched(stage, step, &ended);
    });
}

#[test]
fn a_removal_that_is_refused_for_good_is_reported_and_finished_by_cleanup() {
    everywhere(|generation| {
        let stage = Stage::new(generation);
        let removing = |step: &&ManagementStep| step.phase() == StepPhase::Remove && step.method() != "GET";
        for &step in steps().iter().filter(removing) {
            stage.strike_always(step, StepAction::Fail);
            let ended = stage.check(LONG).finish();
            assert_eq!(ended.code, Some(1), "{step:?}: {ended:?}");
            // The array cannot distinguish steps with the same request: the first of them fails.
            let same =
                |other: &&ManagementStep| (other.method(), other.path()) == (step.method(), step.path());
            let named = steps().iter().filter(same).any(|other| ended.stderr.contains(other.words()));
            assert!(named, "{step:?} is not named: {ended:?}");
            assert!(ended.stderr.contains("manometer cleanup"), "{step:?}: no next step: {ended:?}");
            assert_eq!(stage.journals(), 2, "{step:?}");
            stage.heal();
            let ended = stage.cleanup(SHORT).finish();
            assert_eq!(ended.code, Some(0), "{step:?}: {ended:?}");
            assert_untouched(&stage, step, &ended);
        }
    });
}

#[test]
fn sessions_that_expire_in_the_middle() {
    everywhere(|generation| {
        let stage = Stage::new(generation);
        stage.expire(SessionFault { expires_after_calls: Some(3), expires_after_ms: None });
        let ended = stage.check(LONG).finish();
        assert!(ended.left_nothing(), "{ended:?}");
        stage.assert_as_before("expiring sessions");
        assert!(stage.calls() > steps().len() as u64, "no session expired");
    });
}

#[test]
fn a_signal_during_a_call() {
    for (signal, code) in [(stage::INTERRUPT, 130), (stage::TERMINATE, 143)] {
        everywhere(|generation| {
            let stage = Stage::new(generation);
            for step in [
                ManagementStep::Login,
                ManagementStep::CreateFileSystem,
                ManagementStep::CreateUser,
                ManagementStep::CreateBucket,
            ] {
                stage.strike(step, StepAction::DoThenHang);
                let running = stage.check(LONG);
                stage.wait_for_calls(place(step));
                let ended = running.signal(signal).finish();
                assert_eq!(ended.code, Some(code), "{step:?}: {ended:?}");
                assert_untouched(&stage, step, &ended);
            }
        });
    }
}

#[test]
fn a_signal_under_load() {
    for (signal, code) in [(stage::INTERRUPT, Some(130)), (stage::TERMINATE, Some(143)), (stage::KILL, None)]
    {
        everywhere(|generation| {
            let stage = Stage::new(generation);
            let running = stage.check_for("60s", LONG);
            stage.wait_for_data();
            let ended = running.signal(signal).finish();
            assert_eq!(ended.code, code, "{ended:?}");
            if code.is_none() {
                let cleaned = stage.cleanup(SHORT).finish();
                assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
            }
            stage.assert_as_before(&format!("{ended:?}"));
            assert_eq!(stage.journals(), 1, "{ended:?}");
        });
    }
}

#[test]
fn both_generations_were_meant() {
    let versions = |generation| Stage::new(generation).check(LONG).finish().stderr;
    assert!(versions(Generation::One).contains("API 1.12"));
    assert!(versions(Generation::Two).contains("API 2.29"));
}
