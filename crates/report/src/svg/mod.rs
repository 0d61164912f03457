//! A small writer of SVG charts: axes, lines, bands, bars, spans, heat maps. Colours are CSS classes, so that one style
//! sheet covers light screens, dark screens and paper.

mod axis;
mod chart;
mod data;
mod finish;

pub use axis::{Axis, Scale};
pub use chart::{Chart, Frame};
pub use data::{ChartData, DataRow};

/// A coordinate with one decimal, without a trailing `.0`, for paths.
pub(crate) fn coordinate(out: &mut String, value: f64) {
    use std::fmt::Write;
    let tenths = (value * 10.0).round() as i64;
    let (whole, rest) = (tenths / 10, (tenths % 10).abs());
    if tenths < 0 && whole == 0 {
        out.push('-');
    }
    let _ = if rest == 0 { write!(out, "{whole}") } else { write!(out, "{whole}.{rest}") };
}

#[cfg(test)]
mod tests {
    #[test]
    fn coordinates_are_short() {
        let text = |value| {
            let mut out = String::new();
            super::coordinate(&mut out, value);
            out
        };
        assert_eq!(text(12.0), "12");
        assert_eq!(text(12.34), "12.3");
        assert_eq!(text(-0.34), "-0.3");
        assert_eq!(text(-3.0), "-3");
        assert_eq!(text(99.96), "100");
    }
}
