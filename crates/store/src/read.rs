//! Reads intervals in small pages: however long a run, few of them are in memory, and no transaction stays open that
//! would keep a writer's journal from shrinking.

use std::collections::VecDeque;
use std::ops::Range;

use database::{DatabaseError, Row, params};
use metrics::{Interval, SeriesPoint};

use crate::encode::{StoredOp, op_of, unsigned};
use crate::error::StoreError;
use crate::store::Store;

/// Host name of the combined series.
pub(crate) const WHOLE: &str = "";

/// Intervals fetched at once; histograms stay packed (a few KiB each) until needed.
const PAGE: u32 = 64;
/// The same without histograms.
const PAGE_WITHOUT_HISTOGRAMS: u32 = 1024;

/// The intervals of one stage in order; see [`Store::intervals`].
#[derive(Debug)]
pub struct Intervals<'a> {
    pages: Pages<'a, StoredOp>,
}

/// The counters of one stage in order; see [`Store::series`].
#[derive(Debug)]
pub struct Series<'a> {
    pages: Pages<'a, SeriesPoint>,
}

impl Store {
    /// Streams the intervals of a stage with numbers in `range`, in order. A stage that never started has none.
    ///
    /// # Errors
    /// The run or cell is not in the file, or the file cannot be read; single items may fail, too.
    pub fn intervals(
        &self,
        run: &str,
        cell: u32,
        stage: &str,
        trial: u32,
        range: Range<u32>,
    ) -> Result<Intervals<'_>, StoreError> {
        Ok(Intervals { pages: self.pages(run, cell, (stage, trial, WHOLE), range)? })
    }

    /// The same without histograms, for timelines: about a hundred times faster. One item per operation and interval.
    ///
    /// # Errors
    /// As [`Store::intervals`].
    pub fn series(
        &self,
        run: &str,
        cell: u32,
        stage: &str,
        trial: u32,
        range: Range<u32>,
    ) -> Result<Series<'_>, StoreError> {
        Ok(Series { pages: self.pages(run, cell, (stage, trial, WHOLE), range)? })
    }

    /// Like [`Store::intervals`], for one host of a fleet.
    ///
    /// # Errors
    /// As [`Store::intervals`].
    pub fn host_intervals(
        &self,
        run: &str,
        cell: u32,
        (stage, trial, host): (&str, u32, &str),
        range: Range<u32>,
    ) -> Result<Intervals<'_>, StoreError> {
        Ok(Intervals { pages: self.pages(run, cell, (stage, trial, host), range)? })
    }

    /// Like [`Store::series`], for one host of a fleet.
    ///
    /// # Errors
    /// As [`Store::intervals`].
    pub fn host_series_of(
        &self,
        run: &str,
        cell: u32,
        (stage, trial, host): (&str, u32, &str),
        range: Range<u32>,
    ) -> Result<Series<'_>, StoreError> {
        Ok(Series { pages: self.pages(run, cell, (stage, trial, host), range)? })
    }

    /// All intervals of a stage with numbers in `window` merged into one: counters added, histograms merged. It starts
    /// with the first; its length is the sum of theirs.
    ///
    /// # Errors
    /// As [`Store::intervals`].
    pub fn merged(
        &self,
        run: &str,
        cell: u32,
        stage: &str,
        trial: u32,
        window: Range<u32>,
    ) -> Result<Interval, StoreError> {
        let mut all: Option<Interval> = None;
        for interval in self.intervals(run, cell, stage, trial, window)? {
            let interval = interval?;
            match &mut all {
                None => all = Some(interval),
                Some(all) => {
                    all.length_ns += interval.length_ns;
                    all.merge(&interval);
                }
            }
        }
        Ok(all.unwrap_or_default())
    }

    fn pages<T>(
        &self,
        run: &str,
        cell: u32,
        (stage, trial, host): (&str, u32, &str),
        range: Range<u32>,
    ) -> Result<Pages<'_, T>, StoreError> {
        let cell = self.cell_number(run, cell)?;
        let stage = (stage.to_owned(), trial, host.to_owned());
        Ok(Pages { store: self, cell, stage, next: range.start, end: range.end, page: VecDeque::new() })
    }
}

/// Fetches page by page.
#[derive(Debug)]
struct Pages<'a, T> {
    store: &'a Store,
    cell: i64,
    /// Its name, trial and host.
    stage: (String, u32, String),
    /// The first interval not fetched yet.
    next: u32,
    end: u32,
    page: VecDeque<T>,
}

impl<T> Pages<'_, T> {
    /// Fetches the next page when the current one is used up. Every interval has at least one row.
    fn fetch(
        &mut self,
        intervals: u32,
        columns: &str,
        read: impl Fn(&Row<'_>) -> Result<(u32, T), DatabaseError>,
    ) -> Result<(), StoreError> {
        if !self.page.is_empty() || self.next >= self.end {
            return Ok(());
        }
        let query = format!(
            "SELECT i.interval, i.start_ns, i.length_ns, o.op, o.ok, o.failed, o.bytes, o.rpcs, o.retries, o.mean_ns,
                o.p50_ns, o.p99_ns, o.p999_ns, o.max_ns {columns}
             FROM (SELECT number, interval, start_ns, length_ns FROM intervals
                   WHERE stage = (SELECT number FROM stages WHERE cell = ?1 AND stage = ?2 AND trial = ?3
                                    AND host = ?7)
                     AND interval >= ?4 AND interval < ?5 ORDER BY interval LIMIT ?6) AS i
                 LEFT JOIN interval_ops AS o ON o.interval = i.number
             ORDER BY i.interval, o.number"
        );
        let (stage, trial, host) = &self.stage;
        let parameters = params![self.cell, stage, trial, self.next, self.end, intervals, host];
        let rows = self.store.connection.rows(&query, parameters, read);
        let rows = rows.map_err(|error| self.store.error(error))?;
        self.next = rows.last().map_or(self.end, |(last, _)| last.saturating_add(1));
        self.page.extend(rows.into_iter().map(|(_, value)| value));
        Ok(())
    }
}

impl Iterator for Series<'_> {
    type Item = Result<SeriesPoint, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let fetched = self.pages.fetch(PAGE_WITHOUT_HISTOGRAMS, "", |row| {
            let point = point(row)?;
            Ok((point.interval, point))
        });
        match fetched {
            Err(error) => self.pages.fail(error),
            Ok(()) => self.pages.page.pop_front().map(Ok),
        }
    }
}

impl Iterator for Intervals<'_> {
    type Item = Result<Interval, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let fetched = self.pages.fetch(PAGE, ", o.errors, o.service, o.response, o.procedures", |row| {
            let stored = StoredOp {
                point: point(row)?,
                errors: row.get(14)?,
                service: row.get(15)?,
                response: row.get(16)?,
                procedures: row.get(17)?,
            };
            Ok((stored.point.interval, stored))
        });
        if let Err(error) = fetched {
            return self.pages.fail(error);
        }
        let first = self.pages.page.pop_front()?;
        let index = first.point.interval;
        let mut interval = Interval {
            index,
            start_ns: first.point.start_ns,
            length_ns: first.point.length_ns,
            ops: Vec::new(),
        };
        let mut row = Some(first);
        while let Some(stored) = row {
            match stored.unpack() {
                Ok(unstored) => interval.ops.extend(unstored),
                Err(why) => {
                    let error =
                        StoreError::damaged(&self.pages.store.path, format!("interval {index}: {why}"));
                    return self.pages.fail(error);
                }
            }
            let same = self.pages.page.front().is_some_and(|next| next.point.interval == index);
            row = if same { self.pages.page.pop_front() } else { None };
        }
        Some(Ok(interval))
    }
}

impl<T> Pages<'_, T> {
    /// Returns an error once, and nothing after it.
    fn fail<I>(&mut self, error: StoreError) -> Option<Result<I, StoreError>> {
        self.page.clear();
        self.next = self.end;
        Some(Err(error))
    }
}

fn point(row: &Row<'_>) -> Result<SeriesPoint, DatabaseError> {
    let name: Option<String> = row.get(3)?;
    let op = match name.as_deref() {
        None => None,
        Some(name) => Some(op_of(name).ok_or_else(|| row.bad(format!("unknown operation {name:?}")))?),
    };
    let counter = |column: usize| row.get::<Option<i64>>(column).map(|value| unsigned(value.unwrap_or(0)));
    Ok(SeriesPoint {
        interval: row.get(0)?,
        start_ns: counter(1)?,
        length_ns: counter(2)?,
        op,
        ok: counter(4)?,
        failed: counter(5)?,
        bytes: counter(6)?,
        rpcs: counter(7)?,
        retries: counter(8)?,
        mean_ns: row.get::<Option<f64>>(9)?.unwrap_or(0.0),
        p50_ns: counter(10)?,
        p99_ns: counter(11)?,
        p999_ns: counter(12)?,
        max_ns: counter(13)?,
    })
}
