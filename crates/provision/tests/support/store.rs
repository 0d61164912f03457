//! The minimum of an array behind the script: named objects that are created, changed and deleted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{Reply, Seen};

/// Objects by resource and name.
#[derive(Clone, Default)]
pub struct Store(Arc<Mutex<BTreeMap<(String, String), Value>>>);

impl Store {
    /// Answers a request as an array would.
    pub fn answer(&self, seen: &Seen) -> Reply {
        let resource = seen.path().rsplit('/').next().unwrap().to_owned();
        let name = seen
            .query("names")
            .or_else(|| seen.query("name"))
            .or_else(|| seen.body["name"].as_str().map(str::to_owned));
        if seen.method == "POST" {
            return self.create(&resource, name, seen);
        }
        let name = name.unwrap_or_default();
        let key = (resource.clone(), name.clone());
        let mut objects = self.0.lock().unwrap();
        let Some(object) = objects.get_mut(&key) else {
            return Reply::error(400, "It does not exist.", &name);
        };
        match seen.method.as_str() {
            "GET" => Reply::Json(200, json!({ "items": [object] })),
            "PATCH" => {
                merge(object, &seen.body);
                Reply::Json(200, json!({ "items": [object] }))
            }
            "DELETE" => {
                objects.remove(&key);
                for object in objects.values_mut() {
                    if let Some(keys) = object["access_keys"].as_array_mut() {
                        keys.retain(|listed| listed["name"] != name.as_str());
                    }
                }
                Reply::Json(200, Value::Null)
            }
            other => panic!("{other}"),
        }
    }

    fn create(&self, resource: &str, name: Option<String>, seen: &Seen) -> Reply {
        let mut objects = self.0.lock().unwrap();
        let mut object = if seen.body.is_null() { json!({}) } else { seen.body.clone() };
        let name = name.unwrap_or_else(|| "PSFBKEY".to_owned());
        object["name"] = name.as_str().into();
        if objects.contains_key(&(resource.to_owned(), name.clone())) {
            return Reply::error(400, "It already exists.", &name);
        }
        objects.insert((resource.to_owned(), name.clone()), object.clone());
        if resource == "object-store-access-keys" {
            let user = object["user"]["name"].as_str().unwrap().to_owned();
            objects.get_mut(&("object-store-users".to_owned(), user)).unwrap()["access_keys"] =
                json!([{ "name": name }]);
            object["secret_access_key"] = "the-secret-key".into();
        }
        Reply::Json(200, json!({ "items": [object] }))
    }

    /// `resource/name` of every object.
    pub fn listing(&self) -> Vec<String> {
        self.0.lock().unwrap().keys().map(|(resource, name)| format!("{resource}/{name}")).collect()
    }

    /// Adds an object.
    pub fn put(&self, resource: &str, object: Value) {
        let name = object["name"].as_str().unwrap().to_owned();
        self.0.lock().unwrap().insert((resource.to_owned(), name), object);
    }
}

fn merge(object: &mut Value, change: &Value) {
    for (name, value) in change.as_object().unwrap() {
        if value.is_object() {
            merge(&mut object[name], value);
        } else {
            object[name] = value.clone();
        }
    }
}
