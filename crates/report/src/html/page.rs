//! The skeleton of a page: head, style, script, and embedded data.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{escape, script_safe, style_safe};

const STYLE: &str = concat!(include_str!("style.css"), include_str!("charts.css"), include_str!("print.css"));
const SCRIPT: &str = concat!(include_str!("script.js"), include_str!("charts.js"), include_str!("save.js"));

/// The parts of a page.
pub(crate) struct Page<'a> {
    /// Its title, as text.
    pub title: &'a str,
    /// Its body, as HTML.
    pub body: &'a str,
    /// The data that its figures come from.
    pub data: &'a Value,
}

/// The page as one file. Its content security policy allows nothing but its own style and script.
pub(crate) fn page(page: &Page<'_>) -> String {
    let hash = STANDARD.encode(Sha256::digest(SCRIPT.as_bytes()));
    let data = script_safe(&page.data.to_string());
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'sha256-{hash}'; img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"manometer\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>{}</title>\n<style>\n{STYLE}@page {{ @top-left {{ content: \"{}\"; font: 8pt sans-serif; color: #555; }} }}\n</style>\n</head>\n<body>\n{}\n\
         <script type=\"application/json\" id=\"manometer-data\">{data}</script>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        escape(page.title),
        style_safe(page.title),
        page.body,
    )
}
