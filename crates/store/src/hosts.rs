//! The hosts of a run, and which of their series are stored.

use std::collections::BTreeMap;

use database::{Connection, DatabaseError, params};

use crate::error::StoreError;
use crate::fleet::HostRecord;
use crate::record::Environment;
use crate::store::Store;

impl Store {
    /// Stores the hosts of a run by its exact id. Hosts of an earlier attempt stay, after these: results refer to them.
    ///
    /// # Errors
    /// The run is not in the file, or the file cannot be written.
    pub fn keep_hosts(&self, run: &str, hosts: &[HostRecord]) -> Result<(), StoreError> {
        let number = self.number_of(run)?;
        self.write(|transaction| insert_hosts(transaction, number, hosts))
    }

    /// The hosts of a run, by row number.
    pub(crate) fn hosts_of_number(&self, run: i64) -> Result<Vec<HostRecord>, DatabaseError> {
        let names = "SELECT host FROM hosts WHERE run = ?1 ORDER BY position, host";
        let names: Vec<String> = self.connection.rows(names, params![run], |row| row.get(0))?;
        let facts = "SELECT name, value FROM host_environment WHERE run = ?1 AND host = ?2";
        names
            .into_iter()
            .map(|name| {
                let facts: Vec<(String, String)> =
                    self.connection.rows(facts, params![run, name], |row| Ok((row.get(0)?, row.get(1)?)))?;
                let facts: BTreeMap<String, String> = facts.into_iter().collect();
                Ok(HostRecord { name, environment: Environment { facts } })
            })
            .collect()
    }

    /// The hosts with stored intervals of a cell, in the order in which they started; empty for a run on one host.
    ///
    /// # Errors
    /// The run or cell is not in the file, or the file cannot be read.
    pub fn host_series(&self, run: &str, cell: u32) -> Result<Vec<String>, StoreError> {
        let cell = self.cell_number(run, cell)?;
        let all = "SELECT host FROM stages WHERE cell = ?1 AND host <> '' GROUP BY host ORDER BY min(number)";
        self.connection.rows(all, params![cell], |row| row.get(0)).map_err(|error| self.error(error))
    }
}

pub(crate) fn insert_hosts(
    connection: &Connection,
    run: i64,
    hosts: &[HostRecord],
) -> Result<(), DatabaseError> {
    connection.execute(
        "UPDATE hosts SET position = position + ?2 WHERE run = ?1",
        params![run, hosts.len() as i64],
    )?;
    for (position, host) in (0i64..).zip(hosts) {
        connection.execute(
            "INSERT INTO hosts (run, position, host) VALUES (?1, ?2, ?3)
             ON CONFLICT (run, host) DO UPDATE SET position = ?2",
            params![run, position, host.name],
        )?;
        connection
            .execute("DELETE FROM host_environment WHERE run = ?1 AND host = ?2", params![run, host.name])?;
        for (name, value) in &host.environment.facts {
            connection.execute(
                "INSERT INTO host_environment (run, host, name, value) VALUES (?1, ?2, ?3, ?4)",
                params![run, host.name, name, value],
            )?;
        }
    }
    Ok(())
}
