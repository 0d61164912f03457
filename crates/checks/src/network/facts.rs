//! Combines what the kernel reports about the connections of a link.

use stats::{LinkFacts, LinkLimits};

/// The sending kernel's view of all connections of a link, which were busy for at most this many seconds.
pub fn facts(result: &engine::StageResult, seconds: f64) -> LinkFacts {
    let connections = &result.facts.connections;
    let known = |value: u32| (value > 0).then_some(value);
    let nanos = |micros: u32| known(micros).map(|micros| u64::from(micros) * 1000);
    let resent: u64 = connections.iter().map(|connection| connection.retransmits).sum();
    let window = connections.iter().map(|connection| {
        u64::from(connection.tcp.congestion_window_segments) * u64::from(connection.mss_bytes)
    });
    LinkFacts {
        retransmits: resent + result.facts.closed_retransmits,
        round_trip_ns: connections.iter().filter_map(|connection| nanos(connection.tcp.rtt_us)).max(),
        least_round_trip_ns: connections
            .iter()
            .filter_map(|connection| nanos(connection.tcp.min_rtt_us))
            .min(),
        congestion_window_bytes: Some(window.sum()).filter(|bytes: &u64| *bytes > 0),
        mss_bytes: connections.iter().filter_map(|connection| known(connection.mss_bytes)).min(),
        path_mtu_bytes: connections
            .iter()
            .filter_map(|connection| known(connection.tcp.path_mtu_bytes))
            .min(),
        limits: limits(connections, seconds),
    }
}

fn limits(connections: &[drivers::ConnectionFacts], seconds: f64) -> Option<LinkLimits> {
    let sum = |of: fn(&reactor::TcpInfo) -> u64| -> f64 {
        connections.iter().map(|connection| of(&connection.tcp) as f64 / 1e6).sum()
    };
    let busy = sum(|tcp| tcp.busy_us);
    // Kernels before 4.10 do not report it.
    if busy == 0.0 {
        return None;
    }
    // Connecting and closing take time too: use the busy time if it is longer than the span.
    let span = (seconds * connections.len() as f64).max(busy);
    let share = |time: f64| (time / span).clamp(0.0, 1.0);
    let (window, buffer) = (sum(|tcp| tcp.window_limited_us), sum(|tcp| tcp.buffer_limited_us));
    Some(LinkLimits {
        sender: share(span - busy),
        receiver_window: share(window),
        send_buffer: share(buffer),
        network: share(busy - window - buffer),
    })
}
