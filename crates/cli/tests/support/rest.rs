//! Just enough of a management API client over plain HTTP to create objects on an array before a test.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::Stage;

/// Keys to a bucket.
pub struct Keys {
    pub access: String,
    pub secret: String,
}

impl Stage {
    /// Creates a file system with these export rules.
    pub fn make_file_system(&self, name: &str, rules: &str) {
        let nfs = json!({ "v3_enabled": true, "v4_1_enabled": true, "rules": rules });
        let body = json!({ "nfs": nfs });
        self.post(&format!("file-systems?names={name}"), &body);
    }

    /// Creates an account with a user, a key and a bucket.
    pub fn make_bucket(&self, name: &str) -> Keys {
        self.post(&format!("object-store-accounts?names={name}-account"), &json!({}));
        let user = format!("{name}-account/user");
        self.post(&format!("object-store-users?names={user}&full_access=true"), &json!({}));
        let key = self.post("object-store-access-keys", &json!({ "user": { "name": user } }));
        let account = json!({ "account": { "name": format!("{name}-account") } });
        self.post(&format!("buckets?names={name}"), &account);
        let text = |field: &str| key["items"][0][field].as_str().unwrap().to_owned();
        Keys { access: text("name"), secret: text("secret_access_key") }
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let session = self.exchange("/api/login", &format!("api-token: {}", self.array.token().reveal()), "");
        let head = session.split("\r\n\r\n").next().unwrap();
        let token = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("x-auth-token").then(|| value.trim().to_owned())
        });
        let token = format!("x-auth-token: {}", token.expect("login gives a session"));
        let answer = self.exchange(&format!("/api/2.29/{path}"), &token, &body.to_string());
        assert!(answer.starts_with("HTTP/1.1 200"), "POST {path}: {answer}");
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    fn exchange(&self, path: &str, header: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(self.array.management_address()).unwrap();
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: array\r\nconnection: close\r\n{header}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}
