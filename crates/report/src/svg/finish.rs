//! Completes a chart around its content: grid, axes, labels, and its numbers.

use std::fmt::Write;

use super::{Chart, Frame, Scale};
use crate::html::escape;

/// Charts at least this wide, in user units, scroll in their box on narrow screens instead of shrinking until
/// unreadable.
const WIDE: f64 = 600.0;

/// Width of a label's letter, in user units.
const LETTER: f64 = 6.6;

impl Chart {
    /// The finished chart. A script zooms the horizontal axis by moving the view of the element `plot` and everything
    /// with a position (`data-at`).
    pub fn finish(self) -> String {
        let Frame { width, height, left, right, top, .. } = self.frame;
        let (bottom, end) = (self.bottom(), width - right);
        let wide = if width >= WIDE { " wide" } else { "" };
        let scale = match self.x.scale {
            Scale::Linear => "linear",
            Scale::Log => "log",
        };
        let mut out = format!(
            "<svg class=\"chart{wide}\" viewBox=\"0 0 {width} {height}\" role=\"img\" data-plot=\"{left} {top} {end} {bottom}\" \
             data-x=\"{scale} {} {}\"{}><title>{}</title><desc>{}</desc>",
            self.x.low,
            self.x.high,
            self.attributes,
            escape(&self.title),
            escape(&self.description),
        );
        if !self.data.is_empty() {
            let _ = write!(out, "<metadata>{}</metadata>", self.data);
        }
        out.push_str("<g class=\"grid\">");
        for (tick, _) in &self.y.ticks {
            let y = self.at_y(*tick);
            let _ = write!(out, "<path d=\"M{left} {y:.1}H{end}\"/>");
        }
        out.push_str("</g><g class=\"grid grid-x\">");
        for (tick, _) in &self.x.ticks {
            let x = self.at_x(*tick);
            let _ = write!(out, "<path d=\"M{x:.1} {top}V{bottom}\"/>");
        }
        let _ = write!(
            out,
            "</g><svg class=\"plot\" x=\"{left}\" y=\"0\" width=\"{w}\" height=\"{height}\" viewBox=\"{left} 0 {w} {height}\" \
             preserveAspectRatio=\"none\">{}{}</svg>{}<path class=\"axis\" d=\"M{left} {bottom}H{end}\"/>",
            self.behind,
            self.body,
            self.over,
            w = end - left,
        );
        self.labels(&mut out);
        let _ = write!(
            out,
            "<text class=\"axis-title\" x=\"{:.1}\" y=\"{:.1}\">{}</text></svg>",
            (left + end) / 2.0,
            height - 4.0,
            escape(&self.x.title)
        );
        out
    }

    /// The tick labels; labels too close to the previous one are left out.
    fn labels(&self, out: &mut String) {
        out.push_str("<g class=\"ticks-y\">");
        let mut free = f64::INFINITY;
        for (tick, label) in &self.y.ticks {
            let y = self.at_y(*tick) + 4.0;
            if free - y >= 13.0 {
                let x = self.frame.left - 7.0;
                let _ = write!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escape(label));
                free = y;
            }
        }
        out.push_str("</g><g class=\"ticks-x\">");
        let mut free = f64::NEG_INFINITY;
        for (tick, label) in &self.x.ticks {
            let half = label.chars().count() as f64 * LETTER / 2.0;
            // Keep the last one within the chart.
            let x = self.at_x(*tick).min(self.frame.width - half);
            if x - half >= free {
                let y = self.bottom() + 16.0;
                let _ = write!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escape(label));
                free = x + half + 6.0;
            }
        }
        out.push_str("</g>");
    }
}
