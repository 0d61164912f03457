//! Axes: their range, their ticks and the tick labels.

use crate::figures::{FigureUnit, digits};

/// Spacing of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps.
    Linear,
    /// Equal factors.
    Log,
}

/// One direction of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Spacing of values.
    pub scale: Scale,
    /// The value at the start.
    pub low: f64,
    /// The value at the end.
    pub high: f64,
    /// The quantity, with its unit if the labels have none.
    pub title: String,
    /// Values with a label.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// From 0 to a round number above `most`.
    pub fn from_zero(most: f64, unit: FigureUnit, title: &str) -> Self {
        let most = if most.is_finite() && most > 0.0 { most } else { 1.0 };
        // A step of time must be round in the time's own unit; other units are decimal anyway.
        let step = nice_step(most / 5.0);
        let high = (most * 1.02 / step).ceil() * step;
        Self {
            scale: Scale::Linear,
            low: 0.0,
            high,
            title: title.into(),
            ticks: steps(0.0, high, step, unit),
        }
    }

    /// Time in seconds, exactly from one moment to the other.
    pub fn time(low: f64, high: f64, title: &str) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        let step = nice_time_step((high - low) / 8.0);
        let ticks = (0..)
            .map(|n| (low / step).ceil() * step + f64::from(n) * step)
            .take_while(|tick| *tick <= high * (1.0 + 1e-9) + 1e-9)
            .map(|tick| (tick, time_label(tick, step)))
            .collect();
        Self { scale: Scale::Linear, low, high, title: title.into(), ticks }
    }

    /// Logarithmic, from the decade (or its 2nd or 5th) below `least` to the one above `most`.
    pub fn log(least: f64, most: f64, unit: FigureUnit, title: &str) -> Self {
        let least = if least.is_finite() && least > 0.0 { least } else { 1.0 };
        let most = if most.is_finite() && most > least { most } else { least * 10.0 };
        let stops = |decade: i32| [1.0, 2.0, 5.0].map(|stop| stop * 10f64.powi(decade));
        let first = least.log10().floor() as i32;
        let last = most.log10().ceil() as i32 + 1;
        let all: Vec<f64> = (first..=last).flat_map(stops).collect();
        let low = all.iter().copied().rfind(|stop| *stop <= least * 1.001).unwrap_or(least);
        let high = all.iter().copied().find(|stop| *stop >= most * 0.999).unwrap_or(most);
        let wide = high / low > 1000.0;
        let is_decade = |stop: f64| (stop.log10() - stop.log10().round()).abs() < 1e-9;
        let ticks = all
            .into_iter()
            .filter(|stop| *stop >= low * 0.999 && *stop <= high * 1.001 && (!wide || is_decade(*stop)))
            .map(|stop| (stop, short(unit, stop)))
            .collect();
        Self { scale: Scale::Log, low, high, title: title.into(), ticks }
    }

    /// Percentiles by `1 / (1 - quantile)`: the 50th, the 90th, the 99th, …
    pub fn percentiles(most: f64) -> Self {
        let most = most.max(10.0);
        let mut ticks = vec![(1.0, "0 %".to_owned()), (2.0, "50 %".to_owned())];
        for nines in 1..=most.log10().floor() as i32 {
            let label = match nines {
                1 => "90 %".to_owned(),
                2 => "99 %".to_owned(),
                n => format!("99.{} %", "9".repeat(n as usize - 2)),
            };
            ticks.push((10f64.powi(nines), label));
        }
        Self { scale: Scale::Log, low: 1.0, high: most, title: "percentile".into(), ticks }
    }

    /// Position of a value, from 0 to 1; values outside the range are clamped.
    pub fn at(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => {
                let floor = self.low.max(f64::MIN_POSITIVE);
                (value.max(floor) / floor).ln() / (self.high / floor).ln()
            }
        };
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }
}

fn nice_step(rough: f64) -> f64 {
    let decade = 10f64.powf(rough.log10().floor());
    let stop = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|stop| stop * decade >= rough * 0.999);
    stop.unwrap_or(10.0) * decade
}

fn nice_time_step(rough: f64) -> f64 {
    const STEPS: [f64; 18] = [
        1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 10800.0,
        21600.0, 43200.0, 86400.0,
    ];
    if rough < 1.0 {
        return nice_step(rough);
    }
    STEPS.into_iter().find(|step| *step >= rough).unwrap_or_else(|| nice_step(rough / 86400.0) * 86400.0)
}

fn time_label(tick: f64, step: f64) -> String {
    let tick = if tick.abs() < step * 1e-6 { 0.0 } else { tick };
    match step {
        s if s >= 3600.0 => format!("{} h", trimmed(tick / 3600.0)),
        s if s >= 60.0 => format!("{} min", trimmed(tick / 60.0)),
        _ => format!("{} s", trimmed(tick)),
    }
}

fn steps(low: f64, high: f64, step: f64, unit: FigureUnit) -> Vec<(f64, String)> {
    let count = ((high - low) / step).round() as u32;
    (0..=count).map(|n| low + f64::from(n) * step).map(|tick| (tick, short(unit, tick))).collect()
}

/// A round number without the trailing zeros of [`FigureUnit::text`]: `2 GB/s` for `2.000 GB/s`.
fn short(unit: FigureUnit, value: f64) -> String {
    let text = unit.text(value);
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-').unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let number = match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    };
    format!("{number}{rest}")
}

fn trimmed(value: f64) -> String {
    let text = digits(value, 4);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn ticks_are_round() {
        let axis = Axis::from_zero(3.3e9, FigureUnit::BytesPerS, "");
        assert_eq!(labels(&axis), ["0 B/s", "1 GB/s", "2 GB/s", "3 GB/s", "4 GB/s"]);
        let axis = Axis::time(-10.0, 300.0, "");
        assert_eq!(labels(&axis), ["0 min", "1 min", "2 min", "3 min", "4 min", "5 min"]);
        let axis = Axis::log(80e3, 30e6, FigureUnit::Ns, "");
        assert_eq!(axis.low, 50e3);
        assert_eq!(labels(&axis).first(), Some(&"50 µs"));
        assert_eq!(labels(&axis).last(), Some(&"50 ms"));
        let axis = Axis::percentiles(20_000.0);
        assert_eq!(labels(&axis), ["0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %"]);
    }

    #[test]
    fn places_follow_the_scale() {
        let log = Axis { scale: Scale::Log, low: 1.0, high: 100.0, title: String::new(), ticks: vec![] };
        assert!((log.at(10.0) - 0.5).abs() < 1e-12);
        assert_eq!(log.at(0.0), 0.0);
        let line = Axis { scale: Scale::Linear, ..log };
        assert!((line.at(50.5) - 0.5).abs() < 1e-12);
        assert_eq!(line.at(f64::NAN), 0.0);
    }

    proptest! {
        #[test]
        fn every_axis_holds_its_values_and_few_ticks(least in 1e-3f64..1e12, factor in 1.0f64..1e9) {
            let most = least * factor;
            for axis in [
                Axis::from_zero(most, FigureUnit::OpsPerS, ""),
                Axis::log(least, most, FigureUnit::Ns, ""),
                Axis::time(0.0, most, ""),
            ] {
                prop_assert!(axis.high >= most * 0.999, "{:?}", axis);
                prop_assert!((1..=12).contains(&axis.ticks.len()), "{:?}", axis);
                prop_assert!(axis.ticks.iter().all(|(tick, _)| *tick >= axis.low * 0.999 && *tick <= axis.high * 1.001));
            }
        }
    }
}
