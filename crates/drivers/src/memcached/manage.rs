//! Work around a load: check that the server answers, and remove our keys.

use std::time::Duration;

use metrics::ErrorKind;
use reactor::{BackendChoice, Reactor};
use wire::memcached::{CommandLine, MemcachedReply};

use super::MemcachedDriver;
use super::exchange::{Failure, Lane};
use super::session::MemcachedSession;
use crate::link::Link;
use crate::{Driver, DriverError, Payload, Sink, WorkerContext};

/// Maximum keys from one dump; the next dump finds the rest.
const PASS_KEYS: usize = 1 << 20;
/// Keys removed per batch before waiting for responses.
const BATCH_KEYS: usize = 512;
/// A dump is many responses in one: it may take this many times as long as one response.
const DUMP_LIMITS: u32 = 20;
/// Wait before requesting a dump again while the server is busy with another.
const DUMP_PAUSE: Duration = Duration::from_millis(50);

impl MemcachedDriver {
    /// Checks that the server answers and returns its version. No single response may take longer than `limit`. Blocks.
    ///
    /// # Errors
    /// It cannot be reached, or speaks another protocol.
    pub fn version(&self, limit: Duration) -> Result<String, DriverError> {
        self.control(limit, async |session| {
            session
                .command(limit, b"version\r\n", async |lane: &mut Lane, link: &mut Link| {
                    lane.line(link, usize::MAX, |answer| match answer {
                        MemcachedReply::Version(text) => Ok((*text).to_owned()),
                        other => Err(Failure::unexpected(other)),
                    })
                    .await
                })
                .await
        })
    }

    /// Removes every key of ours that the server lists and returns their number. No single response may take longer
    /// than `limit`. Blocks.
    ///
    /// # Errors
    /// The server cannot list its keys (`lru_crawler metadump`, memcached 1.4.31), or a key cannot be removed.
    pub fn remove_all(&self, limit: Duration) -> Result<u64, DriverError> {
        self.control(limit, async |session| {
            let mut removed = 0;
            loop {
                let keys = session.keys(limit).await?;
                let before = removed;
                for batch in keys.chunks(BATCH_KEYS) {
                    removed += session.remove(batch).await?;
                }
                // Keys that are listed but then not found are gone: expired, evicted, or about to leave the list.
                if removed == before {
                    return Ok(removed);
                }
            }
        })
    }

    /// Checks that a key of ours exists. No single response may take longer than `limit`. Blocks.
    ///
    /// # Errors
    /// As [`Self::remove_all`]; kind `NotFound` when there is none.
    pub fn adopt(&self, limit: Duration) -> Result<(), DriverError> {
        let found = self.control(limit, async |control| control.keys(limit).await)?;
        if found.is_empty() {
            let config = &self.config;
            let detail = format!("memcached at {}: there is no key {}:…", config.address, config.prefix);
            return Err(DriverError::new(ErrorKind::NotFound, detail));
        }
        Ok(())
    }

    /// The first `most` bytes of the value with this number, or all of a shorter one. No single response may take
    /// longer than `limit`. Blocks.
    ///
    /// # Errors
    /// It does not exist, or cannot be fetched.
    pub fn beginning(&self, object: u64, most: u32, limit: Duration) -> Result<Vec<u8>, DriverError> {
        self.control(limit, async |control| {
            let key = self.config.key(object);
            let command = CommandLine::get(key.as_bytes());
            let answer = async |lane: &mut Lane, link: &mut Link| lane.read_value(link, most as usize).await;
            control.command(limit, command.as_bytes(), answer).await
        })
    }

    /// Runs something on a connection of its own.
    fn control<T>(
        &self,
        limit: Duration,
        work: impl AsyncFnOnce(&Control) -> Result<T, Failure>,
    ) -> Result<T, DriverError> {
        let reactor = Reactor::open(BackendChoice::Auto).map_err(|error| {
            DriverError::new(ErrorKind::Local, format!("no reactor can be opened: {error}"))
        })?;
        let context = WorkerContext {
            worker: 0,
            lanes: 1,
            payload: Payload::new(0),
            sink: Sink::Buffer,
            op_timeout: limit,
            connect_timeout: limit,
        };
        reactor.block_on(async {
            let control = Control { session: self.connect(&reactor, &context).await?, limit };
            let address = self.config.address;
            work(&control).await.map_err(|failure| {
                DriverError::new(failure.kind, format!("memcached at {address}: {}", failure.detail))
            })
        })
    }
}

/// A session for commands outside the load.
struct Control {
    session: MemcachedSession,
    limit: Duration,
}

impl Control {
    /// Sends bytes and receives the response.
    async fn command<T>(
        &self,
        limit: Duration,
        bytes: &[u8],
        answer: impl AsyncFnOnce(&mut Lane, &mut Link) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let reactor = &self.session.reactor;
        let until = reactor.now() + limit.as_nanos() as u64;
        let exchange = self.session.on_lane(0, async |lane: &mut Lane, link: &mut Link| {
            lane.send_bytes(link, bytes).await?;
            answer(lane, link).await
        });
        reactor.timeout_at(until, exchange).await.unwrap_or_else(|_| {
            Err(Failure::broken(ErrorKind::TimedOut, format!("no answer within {limit:?}")))
        })
    }

    /// The numbers of our keys, at most [`PASS_KEYS`].
    async fn keys(&self, limit: Duration) -> Result<Vec<u64>, Failure> {
        let reactor = &self.session.reactor;
        let until = reactor.now() + limit.as_nanos() as u64;
        loop {
            match self.dump().await {
                Err(failure) if failure.kind == ErrorKind::Busy && reactor.now() < until => {
                    reactor.sleep(DUMP_PAUSE).await;
                }
                outcome => return outcome,
            }
        }
    }

    async fn dump(&self) -> Result<Vec<u64>, Failure> {
        let config = &self.session.config;
        self.command(self.limit * DUMP_LIMITS, b"lru_crawler metadump all\r\n", async |lane: &mut Lane, link: &mut Link| {
            let mut numbers = Vec::new();
            loop {
                let more = lane.line(link, usize::MAX, |answer| match answer {
                    MemcachedReply::Dumped { key } => {
                        if numbers.len() < PASS_KEYS {
                            numbers.extend(config.number(key));
                        }
                        Ok(true)
                    }
                    MemcachedReply::End => Ok(false),
                    MemcachedReply::Unknown | MemcachedReply::Refused(_) => Err(Failure::broken(
                        ErrorKind::Rejected,
                        "the server cannot list its keys (lru_crawler metadump), so that what is left cannot be removed",
                    )),
                    other => Err(Failure::unexpected(other)),
                });
                if !more.await? {
                    return Ok(numbers);
                }
            }
        })
        .await
    }

    /// Removes keys and returns how many still existed.
    async fn remove(&self, numbers: &[u64]) -> Result<u64, Failure> {
        let mut commands = Vec::new();
        for number in numbers {
            let key = self.session.config.key(*number);
            commands.extend_from_slice(CommandLine::delete(key.as_bytes()).as_bytes());
        }
        self.command(self.limit, &commands, async |lane: &mut Lane, link: &mut Link| {
            let mut removed = 0;
            for _ in numbers {
                removed += lane
                    .line(link, usize::MAX, |answer| match answer {
                        MemcachedReply::Deleted => Ok(1),
                        MemcachedReply::NotFound => Ok(0),
                        other => Err(Failure::unexpected(other)),
                    })
                    .await?;
            }
            Ok(removed)
        })
        .await
    }
}
