//! The keepalive task: pings a silent target, and gives up a connection whose target answers neither pings nor requests
//! to abort a task.

use std::rc::Rc;

use super::connection::Connection;
use super::state::Due;

/// Watches the connection while it is served.
pub(super) async fn run(connection: Rc<Connection>) {
    let settings = &connection.settings;
    let pings = settings.config.keepalive;
    let interval = pings.unwrap_or(settings.op_timeout);
    let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
    let seconds = interval.as_secs_f64();
    loop {
        connection.transport.reactor.sleep(interval / 2).await;
        if !connection.transport.is_open() {
            continue;
        }
        let now_ns = connection.transport.reactor.now();
        let overdue = |since_ns: u64| now_ns.saturating_sub(since_ns) > interval_ns;
        let mut state = connection.state.borrow_mut();
        if state.aborts > 0 && overdue(state.aborted_ns) {
            drop(state);
            connection.give_up(format!("the target did not answer ABORT TASK within {seconds} s").into());
            continue;
        }
        match state.pinged_ns {
            Some(pinged_ns) if overdue(pinged_ns) => {
                drop(state);
                connection.give_up(format!("the target did not answer a ping within {seconds} s").into());
            }
            Some(_) => {}
            None if pings.is_some() && overdue(connection.transport.last_received_ns.get()) => {
                state.pinged_ns = Some(now_ns);
                state.push(Due::Ping);
                connection.transport.wake.set();
            }
            None => {}
        }
    }
}
