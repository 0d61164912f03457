//! Places in the form in which protocols journal them.

use provision::{Container, RecordedPlace};
use serde_json::json;

const NAME: &str = "manometer-abcdefgh";

/// The run's directory on an export.
pub fn nfs_place(export: &str) -> RecordedPlace {
    RecordedPlace {
        scheme: "nfs".into(),
        name: NAME.into(),
        title: format!("directory {NAME} on 127.0.0.1:{export}"),
        within: export.strip_prefix('/').map(|name| Container::FileSystem(name.into())),
        holds: None,
        place: json!({
            "server": "127.0.0.1", "export": export, "directory": NAME, "nfs_port": 2049, "mount_port": null,
            "portmap_port": 111, "uid": 0, "gid": 0
        }),
    }
}

/// The run's prefix in a bucket.
pub fn s3_place(bucket: &str) -> RecordedPlace {
    RecordedPlace {
        scheme: "s3".into(),
        name: NAME.into(),
        title: format!("objects {NAME}/ in bucket {bucket} at http://127.0.0.1:9000"),
        within: Some(Container::Bucket(bucket.into())),
        holds: None,
        place: json!({
            "endpoint": "http://127.0.0.1:9000", "connect_to": null, "bucket": bucket, "prefix": format!("{NAME}/"),
            "region": "us-east-1", "path_style": true, "ca_file": null, "insecure": false,
            "credentials_file": null, "profile": null, "may_have_parts": false
        }),
    }
}

/// The directory with this path on this machine.
pub fn local_place(path: &str) -> RecordedPlace {
    RecordedPlace {
        scheme: "file".into(),
        name: path.rsplit('/').next().unwrap().into(),
        title: format!("directory {path} on here"),
        within: None,
        holds: None,
        place: json!({ "host": "here", "path": path }),
    }
}
