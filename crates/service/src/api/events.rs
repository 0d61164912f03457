//! The events of a run as a stream (server-sent events).

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::Stream;
use futures::stream;
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, watch};
use utoipa::IntoParams;

use super::{ApiState, RunPath, blocking, parameters};
use crate::event::MissedEvent;
use crate::event_log::{EventLog, LoggedEvent};
use crate::problem::Problem;

/// Silence after which a comment is sent, so that both sides see that the connection lives.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// One reader of a run's events.
struct Reader {
    /// `None` if the events are no longer kept.
    log: Option<(Arc<EventLog>, watch::Receiver<()>)>,
    /// Number of the last event that was taken.
    last: u64,
    waiting: VecDeque<LoggedEvent>,
    ended: bool,
    _permit: OwnedSemaphorePermit,
}

impl Reader {
    async fn next(&mut self) -> Option<LoggedEvent> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if self.ended {
                return None;
            }
            let (log, changed) = self.log.as_mut()?;
            changed.mark_unchanged();
            let batch = log.after(self.last);
            self.ended = batch.ended;
            let first = batch.events.first().map(|event| event.id);
            if let (1.., Some(first)) = (batch.lost, first) {
                let missed = MissedEvent { events: batch.lost };
                self.waiting.push_back(LoggedEvent::new(first - 1, "missed", &missed));
            }
            match batch.events.last() {
                Some(last) => self.last = last.id,
                None if self.ended => return None,
                None => changed.changed().await.ok()?,
            }
            self.waiting.extend(batch.events);
        }
    }
}

/// What events contain.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventsQuery {
    /// Whether intervals have the parts of single hosts (`hosts`), of up to 16
    #[serde(default)]
    hosts: bool,
}

/// A run's events as they happen
///
/// Server-sent events, from the one after `Last-Event-ID`, else from the oldest kept one, to the end of the run.
#[utoipa::path(
    get, path = "/api/v3/runs/{id}/events", operation_id = "runEvents", tag = "runs",
    params(
        RunPath,
        EventsQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "Number of the last event that the reader had")
    ),
    responses(
        (status = 200, description = "The events", body = LoggedEvent, content_type = "text/event-stream"),
        (status = 404, description = "There is no such run"),
        (status = 409, description = "The run belongs to another service with the same database"),
        (status = 503, description = "Too many event streams are open")
    )
)]
pub(crate) async fn stream(
    State(state): State<ApiState>,
    RunPath { id }: RunPath,
    query: Result<Query<EventsQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let EventsQuery { hosts } = parameters(query)?;
    let permit = Arc::clone(&state.streams).try_acquire_owned().map_err(|_| {
        let detail = "too many event streams are open; next: close some, or poll /intervals";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too-many-streams", detail)
    })?;
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok()).unwrap_or(0);
    let reader = blocking(move || {
        // The log first: a run that ends in between has its end in it.
        let log = state.queue.log(&id);
        let run = state.queue.own(&id)?;
        let waiting = match log {
            Some(_) => VecDeque::new(),
            None => VecDeque::from([LoggedEvent::end(1, run.state, run.reason.as_deref())]),
        };
        let ended = log.is_none();
        let log = log.map(|log| {
            let changed = log.watch();
            (log, changed)
        });
        Ok(Reader { log, last, waiting, ended, _permit: permit })
    })
    .await?;
    let events = stream::unfold(reader, move |mut reader| async move {
        let event = reader.next().await?;
        let data = event.with_hosts.as_ref().filter(|_| hosts).unwrap_or(&event.data);
        let sent = Event::default().id(event.id.to_string()).event(event.kind).data(&**data);
        Some((Ok(sent), reader))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}
