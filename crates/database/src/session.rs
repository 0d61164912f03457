//! Sessions with a PostgreSQL server: one at a time, begun again when it is lost.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::Duration;

use postgres::error::SqlState;
use postgres::types::ToSql;
use postgres::{Client, Row, Statement};
use reactor::clock::now_ns;

use crate::dialect;
use crate::error::DatabaseCause;
use crate::server::DatabaseServer;
use crate::value::Value;

/// How often a transaction is repeated, because its connection was lost or another one was in the way.
const ATTEMPTS: u32 = 6;
/// Statements kept prepared; there are fewer different ones.
const PREPARED: usize = 256;
/// The oldest supported server, as in its setting `server_version_num`.
const OLDEST: i32 = 130_000;
/// Nothing waits for ever: for a lock, a statement, or a client that stopped within a transaction.
const LIMITS: &str = "SET lock_timeout = '10s'; SET statement_timeout = '60s'; \
     SET idle_in_transaction_session_timeout = '60s'; SET client_min_messages = warning";

/// Whether a transaction took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Committed {
    Yes,
    No,
}

/// The current session, if any.
pub(crate) struct Sessions {
    server: DatabaseServer,
    schema: &'static str,
    session: RefCell<Option<Session>>,
    /// Another transaction was in the way of the current one.
    conflict: Cell<bool>,
}

struct Session {
    client: Client,
    statements: HashMap<String, Statement>,
}

/// What is left of a transaction's attempts.
pub(crate) struct Attempts(u32);

impl std::fmt::Debug for Sessions {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Sessions({})", self.server)
    }
}

impl Sessions {
    /// Connects.
    pub(crate) fn open(server: DatabaseServer, schema: &'static str) -> Result<Self, DatabaseCause> {
        let session = Session::begin(&server, schema)?;
        Ok(Self { server, schema, session: RefCell::new(Some(session)), conflict: Cell::new(false) })
    }

    pub(crate) fn attempts(&self) -> Attempts {
        Attempts(ATTEMPTS)
    }

    /// Whether what failed may be tried again: it was not its own fault.
    pub(crate) fn may_try_again(&self, attempts: &mut Attempts) -> bool {
        attempts.0 = attempts.0.saturating_sub(1);
        let lost = self.session.borrow().is_none();
        attempts.0 > 0 && (self.conflict.take() || lost)
    }

    /// Begins a transaction; connects if necessary.
    pub(crate) fn begin(&self) -> Result<(), DatabaseCause> {
        self.conflict.set(false);
        self.again_if_lost(|| self.batch("BEGIN"))
    }

    /// Commits. If the connection is lost meanwhile, finds out whether it took effect.
    pub(crate) fn commit(&self, attempts: &mut Attempts) -> Result<Committed, DatabaseCause> {
        let query = "SELECT pg_current_xact_id_if_assigned()::text";
        let id = match self.query(query, &[], false) {
            Ok(rows) => rows.first().and_then(|row| row.get::<_, Option<String>>(0)),
            Err(_) if self.may_try_again(attempts) => return Ok(Committed::No),
            Err(cause) => return Err(cause),
        };
        match (self.batch("COMMIT"), id) {
            (Ok(()), _) => Ok(Committed::Yes),
            // It only read.
            (Err(DatabaseCause::Lost { .. }), None) => Ok(Committed::Yes),
            (Err(DatabaseCause::Lost { why }), Some(id)) => self.outcome(&id, &why),
            (Err(_), _) if self.may_try_again(attempts) => Ok(Committed::No),
            (Err(cause), _) => Err(cause),
        }
    }

    /// What became of a transaction whose connection was lost.
    fn outcome(&self, id: &str, why: &str) -> Result<Committed, DatabaseCause> {
        let began = now_ns();
        loop {
            let found = self.query("SELECT pg_xact_status(?1::text::xid8)", &[Value::Text(id)], true)?;
            let status: Option<String> = found.first().and_then(|row| row.get(0));
            match status.as_deref() {
                Some("committed") => return Ok(Committed::Yes),
                Some("aborted") => return Ok(Committed::No),
                // Its session has not noticed yet that the connection is lost.
                Some("in progress") if since(began) < self.server.patience => {
                    std::thread::sleep(Duration::from_millis(100));
                }
                _ => return Err(DatabaseCause::Unknown { why: why.to_owned() }),
            }
        }
    }

    /// Ends the transaction without effect.
    pub(crate) fn roll_back(&self) -> Result<(), DatabaseCause> {
        let open = self.session.borrow().is_some();
        if open { self.batch("ROLLBACK") } else { Ok(()) }
    }

    pub(crate) fn batch(&self, sql: &str) -> Result<(), DatabaseCause> {
        self.with(|session| session.client.batch_execute(sql))
    }

    pub(crate) fn execute(&self, sql: &str, parameters: &[Value<'_>]) -> Result<u64, DatabaseCause> {
        self.with(|session| {
            let statement = session.prepared(sql)?;
            session.client.execute(&statement, &references(parameters))
        })
    }

    /// Reads rows; `again` after a lost connection.
    pub(crate) fn query(
        &self,
        sql: &str,
        parameters: &[Value<'_>],
        again: bool,
    ) -> Result<Vec<Row>, DatabaseCause> {
        let query = || {
            self.with(|session| {
                let statement = session.prepared(sql)?;
                session.client.query(&statement, &references(parameters))
            })
        };
        if again { self.again_if_lost(query) } else { query() }
    }

    /// Does something that can be done again, with a session that is begun if there is none.
    fn again_if_lost<T>(&self, act: impl Fn() -> Result<T, DatabaseCause>) -> Result<T, DatabaseCause> {
        let mut left = ATTEMPTS;
        loop {
            self.connect()?;
            match act() {
                Err(DatabaseCause::Lost { .. }) if left > 0 => left -= 1,
                done => return done,
            }
        }
    }

    /// Begins a session if there is none; tries for as long as the server's patience lasts.
    fn connect(&self) -> Result<(), DatabaseCause> {
        if self.session.borrow().is_some() {
            return Ok(());
        }
        let began = now_ns();
        let mut pause = Duration::from_millis(100);
        loop {
            match Session::begin(&self.server, self.schema) {
                Ok(session) => {
                    *self.session.borrow_mut() = Some(session);
                    let seconds = since(began).as_secs_f64();
                    self.server.note(&format!("connected again after {seconds:.1} s"));
                    return Ok(());
                }
                Err(DatabaseCause::Unreachable { .. }) if since(began) < self.server.patience => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_secs(2));
                }
                Err(cause) => return Err(cause),
            }
        }
    }

    /// Uses the session; drops it if it is lost.
    fn with<T>(
        &self,
        act: impl FnOnce(&mut Session) -> Result<T, postgres::Error>,
    ) -> Result<T, DatabaseCause> {
        let mut session = self.session.borrow_mut();
        let Some(open) = session.as_mut() else {
            return Err(DatabaseCause::Lost { why: "within a transaction".to_owned() });
        };
        let error = match act(open) {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        if is_lost(&error) {
            *session = None;
            let why = why(&error);
            self.server.note(&format!("the connection was lost: {why}; connecting again"));
            return Err(DatabaseCause::Lost { why });
        }
        if matches!(
            error.code(),
            Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED)
        ) {
            self.conflict.set(true);
        }
        Err(match error.as_db_error() {
            Some(refused) => DatabaseCause::Refused {
                code: refused.code().code().to_owned(),
                message: refused.message().to_owned(),
            },
            None => DatabaseCause::Value(why(&error)),
        })
    }
}

impl Session {
    fn begin(server: &DatabaseServer, schema: &str) -> Result<Self, DatabaseCause> {
        let begin = || -> Result<(Client, i32), postgres::Error> {
            let mut client = server.config.connect(server.tls.clone())?;
            client.batch_execute(&format!("{LIMITS}; SET search_path = {schema}"))?;
            let version = client.query_one("SELECT current_setting('server_version_num')::int4", &[])?;
            Ok((client, version.get(0)))
        };
        let (client, version) = begin().map_err(|error| match error.as_db_error() {
            // It starts, stops, or has too many connections: this passes.
            Some(refused)
                if refused.code().code().starts_with("57P") || refused.code().code().starts_with("53") =>
            {
                DatabaseCause::Unreachable { why: refused.message().to_owned() }
            }
            Some(refused) => DatabaseCause::Denied { message: refused.message().to_owned() },
            None if is_lost(&error) || error.to_string().contains("connecting") => {
                DatabaseCause::Unreachable { why: why(&error) }
            }
            None => DatabaseCause::Denied { message: why(&error) },
        })?;
        if version < OLDEST {
            let message =
                format!("PostgreSQL {} is too old; next: use version 13 or later", version / 10_000);
            return Err(DatabaseCause::Refused { code: "0A000".to_owned(), message });
        }
        Ok(Self { client, statements: HashMap::new() })
    }

    fn prepared(&mut self, sql: &str) -> Result<Statement, postgres::Error> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(&dialect::statement(sql))?;
        if self.statements.len() >= PREPARED {
            self.statements.clear();
        }
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

fn since(began_ns: u64) -> Duration {
    Duration::from_nanos(now_ns().saturating_sub(began_ns))
}

fn references<'a>(parameters: &'a [Value<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    parameters.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

/// Whether the session is over.
fn is_lost(error: &postgres::Error) -> bool {
    match error.as_db_error() {
        // The operator, a crash, a timeout or the network ended it.
        Some(refused) => {
            let code = refused.code().code();
            code.starts_with("57P") || code.starts_with("08") || code == "25P03"
        }
        None => error.is_closed() || source(error).is_some_and(|source| source.is::<std::io::Error>()),
    }
}

fn source(error: &postgres::Error) -> Option<&(dyn std::error::Error + 'static)> {
    std::error::Error::source(error)
}

/// The cause of an error in one line.
fn why(error: &postgres::Error) -> String {
    match source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
