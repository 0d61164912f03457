//! A chart: a frame with two axes and its content.

use std::fmt::Write;

use super::{Axis, ChartData, coordinate};
use crate::html::escape;

/// Position of the plot within the chart, in user units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Width of the chart.
    pub width: f64,
    /// Height of the chart.
    pub height: f64,
    /// Margin for the labels on the left.
    pub left: f64,
    /// Margin on the right.
    pub right: f64,
    /// Margin at the top.
    pub top: f64,
    /// Margin for the labels at the bottom.
    pub bottom: f64,
}

impl Frame {
    /// A frame with labels on the left and at the bottom.
    pub const fn new(width: f64, height: f64) -> Self {
        Self { width, height, left: 68.0, right: 16.0, top: 12.0, bottom: 36.0 }
    }

    /// The same width, but lower: for secondary charts.
    pub const fn low(self) -> Self {
        Self { height: self.height * 0.7, ..self }
    }
}

/// A chart under construction.
#[derive(Clone, Debug)]
pub struct Chart {
    pub(super) frame: Frame,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) title: String,
    pub(super) description: String,
    /// Background spans of the horizontal axis.
    pub(super) behind: String,
    /// Lines and areas: elements that may be stretched when zooming the horizontal axis.
    pub(super) body: String,
    /// Marks and text: elements that keep their shape.
    pub(super) over: String,
    pub(super) attributes: String,
    pub(super) data: String,
}

impl Chart {
    /// An empty chart. The title names it, the description says in words what it shows; both are for screen readers.
    pub fn new(frame: Frame, x: Axis, y: Axis, title: &str, description: &str) -> Self {
        Self {
            frame,
            x,
            y,
            title: title.into(),
            description: description.into(),
            behind: String::new(),
            body: String::new(),
            over: String::new(),
            attributes: String::new(),
            data: String::new(),
        }
    }

    /// The chart's numbers, for the cursor readout and for export; the name is unique on its page.
    pub fn data(&mut self, name: &str, data: &ChartData) {
        self.attribute("data-series", name);
        self.attribute("tabindex", "0");
        self.data = data.json();
    }

    /// Sets an attribute of the chart, for scripts.
    pub fn attribute(&mut self, name: &str, value: &str) {
        let _ = write!(self.attributes, " {name}=\"{}\"", escape(value));
    }

    pub(super) fn at_x(&self, value: f64) -> f64 {
        self.frame.left + self.x.at(value) * (self.frame.width - self.frame.left - self.frame.right)
    }

    pub(super) fn at_y(&self, value: f64) -> f64 {
        self.bottom() - self.y.at(value) * (self.bottom() - self.frame.top)
    }

    pub(super) fn bottom(&self) -> f64 {
        self.frame.height - self.frame.bottom
    }

    fn moved(&self, out: &mut String, command: char, x: f64, y: f64) {
        out.push(command);
        coordinate(out, self.at_x(x));
        out.push(' ');
        coordinate(out, self.at_y(y));
    }

    /// A line; it is interrupted where a value is missing.
    pub fn line(&mut self, class: &str, points: impl IntoIterator<Item = (f64, Option<f64>)>) {
        let mut path = String::new();
        let mut drawing = false;
        let mut last = (0.0, 0.0);
        let mut lonely = String::new();
        let mut since_move = 0;
        for (x, y) in points {
            let Some(y) = y else {
                if drawing && since_move == 1 {
                    self.dot(&mut lonely, class, last);
                }
                drawing = false;
                continue;
            };
            since_move = if drawing { since_move + 1 } else { 1 };
            self.moved(&mut path, if drawing { 'L' } else { 'M' }, x, y);
            last = (x, y);
            drawing = true;
        }
        if drawing && since_move == 1 {
            self.dot(&mut lonely, class, last);
        }
        let _ = write!(self.body, "<path class=\"line {class}\" d=\"{path}\"/>");
        self.over.push_str(&lonely);
    }

    fn dot(&self, out: &mut String, class: &str, (x, y): (f64, f64)) {
        let (x, y) = (self.at_x(x), self.at_y(y));
        let _ = write!(
            out,
            "<circle class=\"dot {class}\" r=\"2.5\" cx=\"{x:.1}\" cy=\"{y:.1}\" data-at=\"{x:.1}\"/>"
        );
    }

    /// Dots, each with a tooltip.
    pub fn dots(&mut self, class: &str, points: impl IntoIterator<Item = (f64, f64, String)>) {
        for (x, y, text) in points {
            let _ = write!(
                self.over,
                "<circle class=\"dot {class}\" r=\"4\" cx=\"{:.1}\" cy=\"{:.1}\"><title>{}</title></circle>",
                self.at_x(x),
                self.at_y(y),
                escape(&text)
            );
        }
    }

    /// The area between a lower and an upper edge: `(x, low, high)`.
    pub fn band(&mut self, class: &str, points: &[(f64, f64, f64)]) {
        let mut path = String::new();
        for (index, (x, _, high)) in points.iter().enumerate() {
            self.moved(&mut path, if index == 0 { 'M' } else { 'L' }, *x, *high);
        }
        for (x, low, _) in points.iter().rev() {
            self.moved(&mut path, 'L', *x, *low);
        }
        if !path.is_empty() {
            let _ = write!(self.body, "<path class=\"band {class}\" d=\"{path}z\"/>");
        }
    }

    /// A span of the horizontal axis, behind everything, with its name at the top.
    pub fn span(&mut self, class: &str, from: f64, to: f64, name: &str) {
        let (left, right) = (self.at_x(from), self.at_x(to));
        let _ = write!(
            self.behind,
            "<rect class=\"span {class}\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
            self.frame.top,
            (right - left).max(1.0),
            self.bottom() - self.frame.top,
            escape(name)
        );
        // A name that does not fit is only shown as a tooltip.
        if right - left > name.chars().count() as f64 * 6.0 + 8.0 {
            let _ = write!(
                self.over,
                "<text class=\"span-name {class}\" x=\"{x:.1}\" y=\"{:.1}\" data-at=\"{x:.1}\">{}</text>",
                self.frame.top + 13.0,
                escape(name),
                x = left + 5.0,
            );
        }
    }

    /// A horizontal line over a span of time.
    pub fn level(&mut self, class: &str, from: f64, to: f64, value: f64, name: &str) {
        let _ = write!(
            self.body,
            "<line class=\"level {class}\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"><title>{}</title></line>",
            self.at_x(from),
            self.at_x(to),
            escape(name),
            y = self.at_y(value),
        );
    }

    /// Marks on the horizontal axis, each with a text.
    pub fn marks(&mut self, class: &str, marks: impl IntoIterator<Item = (f64, String)>) {
        for (x, text) in marks {
            let (x, y) = (self.at_x(x), self.bottom());
            let _ = write!(
                self.over,
                "<path class=\"mark {class}\" data-at=\"{x:.1}\" d=\"M{x:.1} {y:.1}l-3.5 6h7z\"><title>{}</title></path>",
                escape(&text)
            );
        }
    }

    /// Moments, each a vertical line over the full height with a mark at the bottom and a text.
    pub fn moments(&mut self, class: &str, moments: impl IntoIterator<Item = (f64, String)>) {
        for (x, text) in moments {
            let at = self.at_x(x);
            let _ = write!(
                self.body,
                "<line class=\"moment {class}\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"><title>{}</title></line>",
                self.frame.top,
                self.bottom(),
                escape(&text)
            );
            self.marks(class, [(x, text)]);
        }
    }

    /// Intervals `(x, low, high)`, each an error bar with caps.
    pub fn intervals(&mut self, class: &str, points: impl IntoIterator<Item = (f64, f64, f64)>) {
        for (x, low, high) in points {
            let (x, low, high) = (self.at_x(x), self.at_y(low), self.at_y(high));
            let _ = write!(
                self.over,
                "<path class=\"interval {class}\" d=\"M{x:.1} {low:.1}V{high:.1}m-3 0h6M{:.1} {low:.1}h6\"/>",
                x - 3.0
            );
        }
    }

    /// Bars from the bottom, `(from, to, y, text)`, each with a tooltip.
    pub fn bars(&mut self, class: &str, bars: impl IntoIterator<Item = (f64, f64, f64, String)>) {
        for (from, to, y, text) in bars {
            let (left, right, top) = (self.at_x(from), self.at_x(to), self.at_y(y));
            let _ = write!(
                self.body,
                "<rect class=\"bar {class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
                right - left,
                self.bottom() - top,
                escape(&text)
            );
        }
    }

    /// A heat map: boxes `(x from, x to, y from, y to, shade)`, drawn as one path for each of the ten shades.
    pub fn boxes(&mut self, boxes: &[(f64, f64, f64, f64, u8)]) {
        for shade in 0..10 {
            let mut path = String::new();
            for (x0, x1, y0, y1, _) in boxes.iter().filter(|(.., s)| *s == shade) {
                let (left, right, top, bottom) =
                    (self.at_x(*x0), self.at_x(*x1), self.at_y(*y1), self.at_y(*y0));
                path.push('M');
                coordinate(&mut path, left);
                path.push(' ');
                coordinate(&mut path, top);
                path.push('H');
                coordinate(&mut path, right);
                // Absolute coordinates, so that neighbours share their edge to the last digit.
                path.push('V');
                coordinate(&mut path, bottom);
                path.push('H');
                coordinate(&mut path, left);
                path.push('z');
            }
            if !path.is_empty() {
                let _ = write!(self.body, "<path class=\"heat h{shade}\" d=\"{path}\"/>");
            }
        }
    }
}
