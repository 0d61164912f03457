//! The balance, on a clock of the test's.

use super::*;

const SHARE: f64 = 0.1;

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn what_was_used_is_waited_for() {
    let start = Instant::now();
    let mut balance = Balance { since: start, left_s: 0.0 };
    assert_eq!(balance.wait(start, SHARE), None);
    balance.spend(start, SHARE, ms(20));
    assert_eq!(balance.wait(start, SHARE), Some(ms(200)));
    assert_eq!(balance.wait(start + ms(150), SHARE), Some(ms(50)));
    assert_eq!(balance.wait(start + ms(201), SHARE), None);
}

#[test]
fn unused_budget_is_kept_for_a_second_and_debts_end_after_five() {
    let start = Instant::now();
    let mut balance = Balance { since: start, left_s: 0.0 };
    let later = start + Duration::from_secs(3600);
    balance.spend(later, SHARE, ms(100));
    assert_eq!(balance.wait(later, SHARE), None, "a second of 0.1 CPUs");
    balance.spend(later, SHARE, Duration::from_secs(60));
    assert_eq!(balance.wait(later, SHARE), Some(LONGEST_DEBT));
}

#[test]
fn a_budget_applies_to_threads_it_pays_for_and_during_loads() {
    let budget = CpuBudget::new(1e-9);
    assert!(budget.allows());
    let (one, two) = (budget.beside_load(), budget.beside_load());
    budget.balance().spend(Instant::now(), budget.share, ms(1));
    assert!(!budget.allows());
    drop(one);
    assert!(!budget.allows(), "the other load goes on");
    drop(two);
    assert!(budget.allows());
    let _next = budget.beside_load();
    assert!(budget.allows(), "debts end with their load");
}
