//! The hosts during the measurement: processors, NICs and disks, on the load's time axis.

use std::collections::BTreeMap;

use store::CellResult;

use super::charts::{self, OVER_TIME, Picture};
use crate::SamplePoint;
use crate::document::{CellView, HostSamples};
use crate::figures::FigureUnit;
use crate::svg::{Axis, Chart, ChartData, DataRow, Scale};

/// A quantity of a host over time.
struct Quantity {
    name: &'static str,
    of: fn(&SamplePoint) -> Option<f64>,
}

/// Quantities that share an axis.
struct MachineChart {
    /// The chart's name in the page's data.
    id: &'static str,
    title: &'static str,
    unit: FigureUnit,
    quantities: &'static [Quantity],
}

const CHARTS: [MachineChart; 3] = [
    MachineChart {
        id: "busy",
        title: "Processors and disks: busy",
        unit: FigureUnit::Percent,
        quantities: &[
            Quantity { name: "busiest core", of: |point| point.busiest_core },
            Quantity { name: "all cores", of: |point| point.all_cores },
            Quantity { name: "busiest worker", of: |point| point.busiest_worker },
            Quantity { name: "busiest disk", of: |point| point.busiest_disk },
        ],
    },
    MachineChart {
        id: "network",
        title: "Network card with the most traffic",
        unit: FigureUnit::BytesPerS,
        quantities: &[
            Quantity { name: "received", of: |point| point.received_bytes_per_s },
            Quantity { name: "sent", of: |point| point.sent_bytes_per_s },
        ],
    },
    MachineChart {
        id: "disk",
        title: "Disk with the most traffic",
        unit: FigureUnit::BytesPerS,
        quantities: &[
            Quantity { name: "read", of: |point| point.read_bytes_per_s },
            Quantity { name: "written", of: |point| point.written_bytes_per_s },
        ],
    },
];

/// Below this rate, in bytes per second, a NIC's or disk's activity is unrelated to any load.
const IDLE: f64 = 100e3;

/// Whose samples a chart shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Those of the hosts that generate the load.
    Load,
    /// Those of the observed hosts of the server.
    Server,
}

impl Side {
    fn samples(self, view: &CellView) -> &[HostSamples] {
        match self {
            Side::Load => &view.samples,
            Side::Server => &view.server_samples,
        }
    }

    /// Before the chart's name in the page's data.
    fn prefix(self) -> &'static str {
        match self {
            Side::Load => "",
            Side::Server => "server-",
        }
    }
}

/// A chart for each kind of quantity that the samples cover, of the load's hosts and of the server's.
pub fn machines(position: usize, name: &str, view: &CellView, result: Option<&CellResult>) -> Vec<Picture> {
    let of = |side: Side| {
        let drawn = move |chart: &'static MachineChart| picture(chart, side, position, name, view, result);
        CHARTS.iter().filter_map(drawn)
    };
    of(Side::Load).chain(of(Side::Server)).collect()
}

/// One quantity at one moment over all hosts.
#[derive(Clone, Copy)]
struct Moment {
    mean: f64,
    low: f64,
    high: f64,
}

/// A quantity over time, by moments in seconds.
type Series = Vec<(f64, Moment)>;

/// Combines all hosts. Hosts do not take samples at exactly the same time: samples of the same second belong together.
fn over_hosts(samples: &[HostSamples], of: fn(&SamplePoint) -> Option<f64>) -> Series {
    let mut moments: BTreeMap<i64, Vec<(f64, f64)>> = BTreeMap::new();
    for point in samples.iter().flat_map(|host| &host.points) {
        if let Some(value) = of(point).filter(|value| value.is_finite()) {
            moments.entry(point.at_s.round() as i64).or_default().push((point.at_s, value));
        }
    }
    let mean = |values: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| {
        values.iter().map(of).sum::<f64>() / values.len() as f64
    };
    let moment = |values: Vec<(f64, f64)>| {
        let low = values.iter().map(|(_, value)| *value).fold(f64::MAX, f64::min);
        let high = values.iter().map(|(_, value)| *value).fold(f64::MIN, f64::max);
        (mean(&values, |(at, _)| *at), Moment { mean: mean(&values, |(_, value)| *value), low, high })
    };
    moments.into_values().map(moment).collect()
}

fn picture(
    of: &MachineChart,
    side: Side,
    position: usize,
    name: &str,
    view: &CellView,
    result: Option<&CellResult>,
) -> Option<Picture> {
    let total = view.total().filter(|total| !total.points.is_empty())?;
    let series: Vec<(&Quantity, Series)> = of
        .quantities
        .iter()
        .map(|quantity| (quantity, over_hosts(side.samples(view), quantity.of)))
        .filter(|(_, series)| series.len() > 1)
        .collect();
    let most =
        series.iter().flat_map(|(_, series)| series).map(|(_, moment)| moment.high).fold(0.0, f64::max);
    if series.is_empty() || of.unit == FigureUnit::BytesPerS && most < IDLE {
        return None;
    }
    let y = match of.unit {
        FigureUnit::Percent => shares(),
        unit => Axis::from_zero(most, unit, ""),
    };
    let title = match side {
        Side::Load => of.title.to_owned(),
        Side::Server => format!("Server: {}{}", of.title[..1].to_lowercase(), &of.title[1..]),
    };
    let mut chart = Chart::new(
        OVER_TIME.low(),
        charts::time_axis(total),
        y,
        &format!("{title} over time, {name}"),
        &format!("At most {}.", of.unit.text(most)),
    );
    chart.attribute("data-zoom", "time");
    chart.data(&format!("{}{}-{position}", side.prefix(), of.id), &data(of, &series));
    if let Some(result) = result {
        charts::reported(&mut chart, result);
    }
    let hosts = side.samples(view).len();
    let several = hosts > 1;
    let mut legend = Vec::new();
    for ((quantity, series), colour) in series.iter().zip(charts::COLOURS) {
        if several {
            let band: Vec<_> = series.iter().map(|(at, moment)| (*at, moment.low, moment.high)).collect();
            chart.band(colour, &band);
        }
        chart.line(colour, series.iter().map(|(at, moment)| (*at, Some(moment.mean))));
        legend.push((colour.to_owned(), quantity.name.to_owned()));
    }
    if several {
        legend.push(("band c0".into(), format!("mean, and min to max of {hosts} hosts")));
    }
    Some(Picture { svg: chart.finish(), title, legend })
}

/// An axis from 0 to 100 %.
fn shares() -> Axis {
    let ticks = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| (share, format!("{:.0} %", share * 100.0)));
    Axis { scale: Scale::Linear, low: 0.0, high: 1.02, title: String::new(), ticks: ticks.into() }
}

fn data(of: &MachineChart, series: &[(&Quantity, Series)]) -> ChartData {
    // A quantity may be missing at some moments.
    let mut moments: Vec<f64> =
        series.iter().flat_map(|(_, series)| series.iter().map(|(at, _)| *at)).collect();
    moments.sort_by(f64::total_cmp);
    moments.dedup();
    let mut data = ChartData::over_time(moments.iter().copied());
    for (quantity, series) in series {
        let at: BTreeMap<u64, &Moment> = series.iter().map(|(at, moment)| (at.to_bits(), moment)).collect();
        let part = |of: fn(&Moment) -> f64| -> Vec<f64> {
            moments
                .iter()
                .map(|moment| at.get(&moment.to_bits()).map_or(f64::NAN, |moment| of(moment)))
                .collect()
        };
        data.rows.push(DataRow::of(quantity.name, of.unit, part(|moment| moment.mean)));
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_joined_by_the_second() {
        let point =
            |at_s: f64, busy: f64| SamplePoint { at_s, all_cores: Some(busy), ..SamplePoint::default() };
        let host = |name: &str, points: Vec<SamplePoint>| HostSamples { name: name.into(), points };
        let hosts = [
            host("a", vec![point(1.0, 0.2), point(2.0, 0.4)]),
            host("b", vec![point(1.1, 0.4), SamplePoint { at_s: 2.1, ..SamplePoint::default() }]),
        ];
        let series = over_hosts(&hosts, |point| point.all_cores);
        assert_eq!(series.len(), 2);
        let (at, first) = series[0];
        assert!((at - 1.05).abs() < 1e-9 && (first.mean - 0.3).abs() < 1e-9);
        assert_eq!((first.low, first.high), (0.2, 0.4));
        // A host without a value does not count as idle.
        assert_eq!((series[1].1.mean, series[1].0), (0.4, 2.0));
    }
}
