//! Added latency: a fixed time or a distribution.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use units::Span;

/// Delay before a response. Written `20ms`, `uniform 1ms 5ms`, `exponential 5ms` or `list 1ms 1ms 30ms`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LatencyDistribution {
    /// Always the same.
    Fixed(Duration),
    /// Uniformly distributed between the two.
    Uniform(Duration, Duration),
    /// Exponentially distributed with this mean.
    Exponential(Duration),
    /// These in turn, repeatedly.
    List(Arc<[Duration]>),
}

/// An invalid latency.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a latency; write `20ms`, `uniform 1ms 5ms`, `exponential 5ms` or `list 1ms 30ms`")]
pub struct LatencyError(String);

impl FromStr for LatencyDistribution {
    type Err = LatencyError;

    fn from_str(text: &str) -> Result<Self, LatencyError> {
        let wrong = || LatencyError(text.to_owned());
        let spans = |words: &[&str]| -> Result<Vec<Duration>, LatencyError> {
            words.iter().map(|word| word.parse::<Span>().map(|span| span.0).map_err(|_| wrong())).collect()
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            ["uniform", rest @ ..] => match spans(rest)?.as_slice() {
                [from, to] if from <= to => Ok(Self::Uniform(*from, *to)),
                _ => Err(wrong()),
            },
            ["exponential", rest @ ..] => match spans(rest)?.as_slice() {
                [mean] => Ok(Self::Exponential(*mean)),
                _ => Err(wrong()),
            },
            ["list", rest @ ..] if !rest.is_empty() => Ok(Self::List(spans(rest)?.into())),
            [_] => Ok(Self::Fixed(spans(&words)?[0])),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for LatencyDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(time) => write!(f, "{}", Span(*time)),
            Self::Uniform(from, to) => write!(f, "uniform {} {}", Span(*from), Span(*to)),
            Self::Exponential(mean) => write!(f, "exponential {}", Span(*mean)),
            Self::List(times) => {
                f.write_str("list")?;
                times.iter().try_for_each(|time| write!(f, " {}", Span(*time)))
            }
        }
    }
}

impl TryFrom<String> for LatencyDistribution {
    type Error = LatencyError;

    fn try_from(text: String) -> Result<Self, LatencyError> {
        text.parse()
    }
}

impl From<LatencyDistribution> for String {
    fn from(latency: LatencyDistribution) -> Self {
        latency.to_string()
    }
}

/// Draws latencies, and decides events with given shares: one seeded random source per server thread.
#[derive(Debug)]
pub struct LatencySampler {
    random: fastrand::Rng,
    drawn: usize,
}

impl LatencySampler {
    /// A sampler whose draws are determined by the seed.
    pub fn new(seed: u64) -> Self {
        Self { random: fastrand::Rng::with_seed(seed), drawn: 0 }
    }

    /// The next latency.
    pub fn latency(&mut self, latency: &LatencyDistribution) -> Duration {
        match latency {
            LatencyDistribution::Fixed(time) => *time,
            LatencyDistribution::Uniform(from, to) => *from + (*to - *from).mul_f64(self.random.f64()),
            // 1 - u is in (0, 1], so the logarithm is finite.
            LatencyDistribution::Exponential(mean) => mean.mul_f64(-(1.0 - self.random.f64()).ln()),
            LatencyDistribution::List(times) => {
                let time = times[self.drawn % times.len()];
                self.drawn += 1;
                time
            }
        }
    }

    /// Whether an event with this share (0 to 1) occurs now.
    pub fn strikes(&mut self, share: f64) -> bool {
        share > 0.0 && self.random.f64() < share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn what_is_printed_reads_back_the_same() {
        for text in ["20ms", "uniform 1ms 5ms", "exponential 2.5ms", "list 1ms 2ms 30ms"] {
            let latency: LatencyDistribution = text.parse().unwrap();
            assert_eq!(latency.to_string().parse::<LatencyDistribution>().unwrap(), latency, "{text}");
        }
        for text in ["", "soon", "uniform 5ms 1ms", "uniform 1ms", "list", "exponential", "1ms 2ms"] {
            assert!(text.parse::<LatencyDistribution>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn distributions_have_the_mean_they_promise() {
        let mean_of = |latency: &LatencyDistribution| {
            let mut sampler = LatencySampler::new(7);
            let sum: Duration = (0..20_000).map(|_| sampler.latency(latency)).sum();
            sum.as_secs_f64() / 20_000.0 * 1e3
        };
        assert!((mean_of(&LatencyDistribution::Uniform(ms(10), ms(30))) - 20.0).abs() < 0.2);
        assert!((mean_of(&LatencyDistribution::Exponential(ms(10))) - 10.0).abs() < 0.3);
        assert!((mean_of(&LatencyDistribution::List([ms(1), ms(3)].into())) - 2.0).abs() < 1e-9);
    }
}
