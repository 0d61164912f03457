//! Lists: selected by names, ids and filter, sorted, split into pages.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::call::{Call, Failure, Outcome};
use super::filter::Filter;

/// Computes the `total` of a list from all selected items.
pub(super) type Total = fn(&[Value]) -> Value;

/// A list to return.
pub(super) struct List<'a> {
    pub(super) call: &'a Call,
    /// All items, in order of name.
    pub(super) items: Vec<Value>,
    /// Name of one item in error messages.
    pub(super) kind: &'a str,
    /// Maximum items on a page.
    pub(super) page_items: usize,
    pub(super) total: Option<Total>,
}

impl List<'_> {
    /// The response.
    pub(super) fn answer(self) -> Outcome {
        let query = &self.call.query;
        let mut items = self.items;
        for (parameter, field) in [("names", "name"), ("ids", "id")] {
            items = choose(items, &query.list(parameter), field, self.kind)?;
        }
        if let Some(text) = query.text("filter") {
            let filter = Filter::parse(text).map_err(|error| Failure::bad("filter", error.to_string()))?;
            items.retain(|item| filter.passes(item));
        }
        if let Some(destroyed) = query.truth("destroyed")? {
            items.retain(|item| item.get("destroyed").and_then(Value::as_bool) == Some(destroyed));
        }
        for field in query.list("sort").iter().rev() {
            sort(&mut items, field);
        }
        let total = self.total.map(|total| total(&items));
        let (page, token) = page(self.call, &items, self.page_items)?;
        let count = items.len();
        let mut answer = if self.call.version.is_2() {
            json!({ "total_item_count": count, "continuation_token": token, "items": page })
        } else {
            json!({ "pagination_info": { "total_item_count": count, "continuation_token": token }, "items": page })
        };
        if let (Some(total), Some(answer)) = (total, answer.as_object_mut()) {
            answer.insert("total".into(), total);
        }
        Ok(Some(answer))
    }
}

/// The items whose field is one of `wanted`, in that order; every wanted one must exist.
fn choose(items: Vec<Value>, wanted: &[String], field: &str, kind: &str) -> Result<Vec<Value>, Failure> {
    if wanted.is_empty() {
        return Ok(items);
    }
    let find = |wanted: &String| {
        let found = items.iter().find(|item| item.get(field).and_then(Value::as_str) == Some(wanted));
        found.cloned().ok_or_else(|| Failure::bad(wanted, format!("{kind} does not exist.")))
    };
    wanted.iter().map(find).collect()
}

/// Sorts by one field, in descending order with a `-` before or after it.
fn sort(items: &mut [Value], field: &str) {
    let name = field.trim_matches('-').trim_end_matches('+');
    let downwards = field.starts_with('-') || field.ends_with('-');
    let key = |item: &Value| {
        let value = item.pointer(&format!("/{}", name.replace('.', "/"))).cloned().unwrap_or_default();
        (value.as_f64().unwrap_or(0.0), value.as_str().unwrap_or_default().to_owned())
    };
    items.sort_by(|a, b| {
        let order = key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal);
        if downwards { order.reverse() } else { order }
    });
}

/// The requested page, and the token of the next one.
fn page(call: &Call, items: &[Value], page_items: usize) -> Result<(Vec<Value>, Option<String>), Failure> {
    let query = &call.query;
    if query.truth("total_only")? == Some(true) {
        return Ok((Vec::new(), None));
    }
    let (token, offset) =
        if call.version.is_2() { ("continuation_token", "offset") } else { ("token", "start") };
    let from = match query.text(token) {
        Some(text) => read_token(text).ok_or_else(|| Failure::bad(token, "Invalid continuation token."))?,
        None => query.number(offset)?.unwrap_or(0),
    };
    let limit = query.number("limit")?.map_or(page_items, |limit| page_items.min(limit as usize));
    let from = usize::try_from(from).unwrap_or(usize::MAX).min(items.len());
    let to = from.saturating_add(limit).min(items.len());
    let more = to < items.len() && limit > 0;
    Ok((items[from..to].to_vec(), more.then(|| STANDARD.encode(format!("from {to}")))))
}

fn read_token(token: &str) -> Option<u64> {
    let text = String::from_utf8(STANDARD.decode(token).ok()?).ok()?;
    text.strip_prefix("from ")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::call::Query;
    use super::*;

    fn list(version: &str, query: &str) -> Result<Value, Failure> {
        let call = Call {
            version: version.parse().unwrap(),
            method: "GET".into(),
            resource: "things".into(),
            query: Query::parse(query),
            body: json!({}),
        };
        let items = (0..5)
            .map(|n| json!({ "name": format!("n{n}"), "id": format!("i{n}"), "size": 10 - n }))
            .collect();
        let list = List { call: &call, items, kind: "Thing", page_items: 2, total: None };
        list.answer().map(Option::unwrap)
    }

    fn names(answer: &Value) -> Vec<&str> {
        answer["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
    }

    #[test]
    fn pages_follow_each_other_in_both_generations() {
        for (version, token_name) in [("1.12", "token"), ("2.0", "continuation_token")] {
            let (mut seen, mut query) = (Vec::new(), String::new());
            loop {
                let answer = list(version, &query).unwrap();
                seen.extend(names(&answer).iter().map(|name| (*name).to_owned()));
                let info = if version == "2.0" { &answer } else { &answer["pagination_info"] };
                assert_eq!(info["total_item_count"], 5);
                match info["continuation_token"].as_str() {
                    None => break,
                    Some(token) => {
                        query = format!("{token_name}={}", token.replace('=', "%3D").replace('+', "%2B"))
                    }
                }
            }
            assert_eq!(seen, ["n0", "n1", "n2", "n3", "n4"]);
        }
    }

    #[test]
    fn lists_are_chosen_sorted_and_limited() {
        assert_eq!(names(&list("2.0", "names=n3,n1").unwrap()), ["n3", "n1"]);
        assert_eq!(names(&list("2.0", "ids=i4").unwrap()), ["n4"]);
        assert_eq!(names(&list("2.0", "sort=size").unwrap()), ["n4", "n3"]);
        assert_eq!(names(&list("2.0", "sort=name-").unwrap()), ["n4", "n3"]);
        assert_eq!(names(&list("2.0", "offset=4").unwrap()), ["n4"]);
        assert_eq!(names(&list("2.0", "limit=1").unwrap()), ["n0"]);
        assert_eq!(list("2.0", "limit=0").unwrap()["total_item_count"], 5);
        assert_eq!(names(&list("2.0", "filter=name%3D'n2'").unwrap()), ["n2"]);
        assert_eq!(list("2.0", "names=n9").unwrap_err().message, "Thing does not exist.");
        assert!(list("2.0", "continuation_token=x").is_err());
    }
}
