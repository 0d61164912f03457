//! Virtual-host style: the bucket in front of the domain, any port after it.

use s3s::S3Result;
use s3s::host::{S3Host, VirtualHost};

/// The configured domain.
pub(super) struct Domain(pub(super) String);

impl S3Host for Domain {
    fn parse_host_header<'a>(&'a self, host: &'a str) -> S3Result<VirtualHost<'a>> {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let path_style = VirtualHost::new(self.0.as_str());
        let bucket = name.strip_suffix(self.0.as_str()).and_then(|front| front.strip_suffix('.'));
        // Any other name is that of a data address, in path style.
        Ok(bucket.map_or(path_style.clone(), |bucket| path_style.with_bucket(bucket)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bucket_is_what_stands_before_the_domain() {
        let domain = Domain("s3.example.test".into());
        for (host, bucket) in [
            ("bucket.s3.example.test", Some("bucket")),
            ("a.b.s3.example.test:9000", Some("a.b")),
            ("s3.example.test:9000", None),
            ("s3.example.test", None),
            ("array.example.test", None),
            ("localhost:80", None),
        ] {
            assert_eq!(domain.parse_host_header(host).unwrap().bucket(), bucket, "{host}");
        }
    }
}
