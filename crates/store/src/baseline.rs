//! Named baselines: what disks or the network can do, for comparison with later results.

use database::{DatabaseError, Row, params};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use stats::{NetworkMatrix, OpSummary};

use crate::error::StoreError;
use crate::record::{CellRecord, RunRecord};
use crate::store::{Store, time};

/// Maximum length of a baseline's name, in bytes.
const LONGEST: usize = 100;

/// A baseline. It holds its own figures: their run may be removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// Its name.
    pub name: String,
    /// When it was saved.
    pub kept: Timestamp,
    /// The measurement.
    pub content: BaselineContent,
}

/// The kind of measurement behind a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BaselineContent {
    /// Cells of a run: disks, memory, an earlier version.
    Run {
        /// The run's id.
        run: String,
        /// The cells that measured something.
        cells: Vec<BaselineCell>,
        /// Everything that a comparison needs; absent in baselines of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        whole: Option<Box<WholeRun>>,
    },
    /// Links between hosts.
    Network(NetworkMatrix),
}

/// A run as it was when the baseline was saved: it may have been removed since.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WholeRun {
    /// The run, with its plan and its environment.
    pub record: RunRecord,
    /// The cells that measured something.
    pub cells: Vec<CellRecord>,
}

/// A cell of a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaselineCell {
    /// Its index in the plan of its run.
    pub cell: u32,
    /// Its name.
    pub name: String,
    /// The target's URL.
    pub target: String,
    /// All operations of all hosts.
    pub total: OpSummary,
    /// The same for each host of a fleet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<BaselineHost>,
}

/// A host in a cell of a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaselineHost {
    /// The host.
    pub name: String,
    /// All of its operations.
    pub total: OpSummary,
}

impl Baseline {
    /// Checks whether a baseline may have this name, before anything is measured for it.
    ///
    /// # Errors
    /// The name is empty, longer than 100 bytes or contains control characters.
    pub fn check_name(name: &str) -> Result<(), StoreError> {
        if name.trim().is_empty() || name.len() > LONGEST || name.chars().any(char::is_control) {
            return Err(StoreError::BaselineName(name.to_owned()));
        }
        Ok(())
    }

    /// A run's measured cells as a baseline; `None` if nothing was measured.
    pub fn of_run(name: &str, kept: Timestamp, run: &RunRecord, cells: &[CellRecord]) -> Option<Self> {
        let whole = |record: &CellRecord| {
            let result = record.result.as_ref()?;
            Some(CellRecord { result: Some(crate::finite::finite(result)), ..record.clone() })
        };
        let whole = WholeRun { record: run.clone(), cells: cells.iter().filter_map(whole).collect() };
        let cells: Vec<BaselineCell> = cells
            .iter()
            .filter_map(|record| {
                let planned = run.planned(record.index)?;
                let result = record.result.as_ref()?;
                let host = |host: &crate::HostResult| BaselineHost {
                    name: host.name.clone(),
                    total: host.total.clone(),
                };
                Some(BaselineCell {
                    cell: record.index,
                    name: planned.name.clone(),
                    target: planned.target.url.clone(),
                    total: result.total.clone(),
                    hosts: result.hosts.iter().filter(|host| host.lost.is_none()).map(host).collect(),
                })
            })
            .collect();
        let content = BaselineContent::Run { run: run.id.clone(), cells, whole: Some(Box::new(whole)) };
        let some = matches!(&content, BaselineContent::Run { cells, .. } if !cells.is_empty());
        some.then(|| Self { name: name.to_owned(), kept, content })
    }

    /// Reference throughput for a cell of this name, in bytes per second. For a run: the cell of the same name, else
    /// the fastest cell; for `host` only, if the baseline has hosts. For a network: what the best link of `host`
    /// carries, or the sum of the best links over all hosts.
    pub fn bytes_per_s(&self, cell: &str, host: Option<&str>) -> Option<f64> {
        let found = match &self.content {
            BaselineContent::Run { cells, .. } => {
                let of = |cell: &BaselineCell| match host {
                    None => Some(cell.total.bytes_per_s.mean),
                    Some(name) => {
                        let host = cell.hosts.iter().find(|host| host.name == name);
                        host.map(|host| host.total.bytes_per_s.mean)
                    }
                };
                match cells.iter().find(|known| known.name == cell) {
                    Some(same) => of(same),
                    None => cells.iter().filter_map(of).max_by(f64::total_cmp),
                }
            }
            BaselineContent::Network(matrix) => match host {
                Some(host) => most_of(matrix, host),
                None => Some(matrix.hosts.iter().filter_map(|host| most_of(matrix, host)).sum()),
            },
        };
        found.filter(|rate| *rate > 0.0)
    }
}

impl Store {
    /// Saves a baseline under its name, replacing an earlier one of this name.
    ///
    /// # Errors
    /// The name is empty, longer than 100 bytes or contains control characters, or the file cannot be written.
    pub fn save_baseline(&self, baseline: &Baseline) -> Result<(), StoreError> {
        let name = &baseline.name;
        Baseline::check_name(name)?;
        let text = serde_json::to_string(&baseline.content).expect("plain values with texts as keys");
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO baselines (name, kept, content) VALUES (?1, ?2, ?3)
                 ON CONFLICT (name) DO UPDATE SET kept = ?2, content = ?3",
                params![name, time(baseline.kept), text],
            )
        })?;
        Ok(())
    }

    /// Every baseline, by name.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn baselines(&self) -> Result<Vec<Baseline>, StoreError> {
        let all = "SELECT name, kept, content FROM baselines ORDER BY name";
        self.connection.rows(all, params![], baseline).map_err(|error| self.unreadable(error))
    }

    /// The baseline with this name.
    ///
    /// # Errors
    /// There is none (the message lists the existing ones), or the file cannot be read.
    pub fn baseline(&self, name: &str) -> Result<Baseline, StoreError> {
        let found = self
            .connection
            .optional_row(
                "SELECT name, kept, content FROM baselines WHERE name = ?1",
                params![name],
                baseline,
            )
            .map_err(|error| self.unreadable(error))?;
        match found {
            Some(found) => Ok(found),
            None => Err(self.no_baseline(name)),
        }
    }

    /// Removes a baseline.
    ///
    /// # Errors
    /// There is none with this name, or the file cannot be written.
    pub fn forget_baseline(&self, name: &str) -> Result<(), StoreError> {
        let removed = self.write(|transaction| {
            transaction.execute("DELETE FROM baselines WHERE name = ?1", params![name])
        })?;
        if removed == 0 { Err(self.no_baseline(name)) } else { Ok(()) }
    }

    fn no_baseline(&self, name: &str) -> StoreError {
        let known = match self.baselines() {
            Err(error) => return error,
            Ok(known) => known,
        };
        let candidates = match known.len() {
            0 => "the file holds none; next: keep one with `manometer run FILE --save-baseline NAME`".into(),
            _ => {
                let names: Vec<&str> = known.iter().take(6).map(|baseline| baseline.name.as_str()).collect();
                format!("there are {}; next: `manometer list --baselines` shows all", names.join(", "))
            }
        };
        StoreError::NoBaseline { path: self.path.clone(), name: name.to_owned(), candidates }
    }
}

/// The most that a host sent or received over one of its links, in bytes per second.
fn most_of(matrix: &NetworkMatrix, host: &str) -> Option<f64> {
    let place = matrix.hosts.iter().position(|known| known == host)? as u32;
    let own = matrix.links.iter().filter(|link| link.from == place || link.to == place);
    own.filter_map(|link| link.throughput.map(|rate| rate.mean)).max_by(f64::total_cmp)
}

fn baseline(row: &Row<'_>) -> Result<Baseline, DatabaseError> {
    Ok(Baseline {
        name: row.get(0)?,
        kept: crate::find::moment(row, 1)?,
        content: crate::find::from_json(row, 2)?,
    })
}
