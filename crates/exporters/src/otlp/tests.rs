//! What a collector receives, decoded by the types that OpenTelemetry generates from its own files.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use metrics::OpKind;
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsPartialSuccess, ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::metrics::v1::{Metric, metric::Data, number_data_point};
use prost::Message as _;
use runner::test_support::interval;
use runner::{Events, RunEvent};

use super::*;
use crate::current::CurrentRun;

const LONG: Duration = Duration::from_secs(30);
const EXPERIMENT: &str = "
name: mix
targets: {disk: 'sim:?latency=1ms'}
workloads: {rw: {ops: {read: 70%, write: 30%}, file_size: 1MiB}}
stages: {measure: 1s}
steady: none
";

fn run() -> Arc<CurrentRun> {
    let run = Arc::new(CurrentRun::new("k3nq8x2a", &crate::test_support::plan(EXPERIMENT)));
    for index in 0..3 {
        let interval = interval(index, &[(OpKind::Read, 100, 4096, 1_500_000)]);
        run.event(RunEvent::Interval { cell: 0, stage: "measure", trial: 0, interval: &interval });
    }
    run
}

fn push(server: &TcpListener) -> OtlpPush {
    let url = format!("http://{}", server.local_addr().unwrap());
    let environment =
        |name: &str| (name == "OTEL_EXPORTER_OTLP_HEADERS").then(|| "authorization=Bearer%20t".to_owned());
    let options = OtlpOptions::new(&url, Duration::from_secs(3600), environment).unwrap();
    OtlpPush::start(options, "here".to_owned()).unwrap()
}

/// Takes one push and answers it; its head and its message.
fn received(server: &TcpListener, status: &str, answer: &[u8]) -> (String, ExportMetricsServiceRequest) {
    let (stream, _) = server.accept().unwrap();
    let mut reader = BufReader::new(&stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let text = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n", answer.len());
    (&stream).write_all(&[text.as_bytes(), answer].concat()).unwrap();
    (head, ExportMetricsServiceRequest::decode(body.as_slice()).unwrap())
}

fn value<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a str> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text),
        _ => None,
    }
}

fn metric<'a>(message: &'a ExportMetricsServiceRequest, name: &str) -> &'a Metric {
    let metrics = &message.resource_metrics[0].scope_metrics[0].metrics;
    metrics.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn a_push_has_what_a_scrape_has() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let push = push(&server);
    let pushed = push.observe(run());
    drop(pushed);
    let (head, message) = std::thread::scope(|scope| {
        let end = scope.spawn(|| push.finish(LONG));
        let received = received(&server, "200 OK", b"");
        assert_eq!(end.join().unwrap(), None);
        received
    });
    assert!(head.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{head}");
    let head = head.to_ascii_lowercase();
    assert!(
        head.contains("content-type: application/x-protobuf") && head.contains("authorization: bearer t")
    );
    let resource = message.resource_metrics[0].resource.as_ref().unwrap();
    assert_eq!(value(&resource.attributes, "service.name"), Some("manometer"));
    assert_eq!(value(&resource.attributes, "host.name"), Some("here"));

    let rate = metric(&message, "manometer_operations_per_second");
    let Some(Data::Gauge(gauge)) = &rate.data else { panic!("{rate:?}") };
    let point = &gauge.data_points[0];
    assert_eq!(point.value, Some(number_data_point::Value::AsDouble(100.0)));
    for (key, wanted) in
        [("run", "k3nq8x2a"), ("target", "disk"), ("stage", "measure"), ("operation", "read")]
    {
        assert_eq!(value(&point.attributes, key), Some(wanted), "{key}");
    }
    let bytes = metric(&message, "manometer_payload_bytes");
    let Some(Data::Sum(sum)) = &bytes.data else { panic!("{bytes:?}") };
    assert!(sum.is_monotonic && sum.aggregation_temporality == 2 && bytes.unit == "By", "{sum:?}");
    let point = &sum.data_points[0];
    assert_eq!(point.value, Some(number_data_point::Value::AsInt(3 * 100 * 4096)));
    assert!(0 < point.start_time_unix_nano && point.start_time_unix_nano < point.time_unix_nano);
    let times = metric(&message, "manometer_response_time_seconds");
    let Some(Data::Histogram(histogram)) = &times.data else { panic!("{times:?}") };
    let point = &histogram.data_points[0];
    assert_eq!((point.count, point.bucket_counts.iter().sum::<u64>()), (300, 300));
    assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
    assert!((point.sum.unwrap() / 0.45 - 1.0).abs() < 0.01, "{point:?}");
}

#[test]
fn failed_pushes_are_counted_and_the_end_of_a_run_is_kept_for_the_next() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", server.local_addr().unwrap());
    let options = OtlpOptions::new(&url, Duration::from_millis(1), |_| None).unwrap();
    let push = OtlpPush::start(options, "here".to_owned()).unwrap();
    drop(push.observe(run()));
    received(&server, "503 Busy", b"try\nlater");
    let (_, again) = received(&server, "200 OK", b"");
    metric(&again, "manometer_operations_per_second");
    let losses = push.finish(LONG).unwrap();
    assert_eq!((losses.failed, losses.of), (1, 2));
    let text = losses.to_string();
    assert!(text.contains("1 of 2 pushes failed: HTTP status 503 try later"), "{text}");
}

#[test]
fn rejected_values_are_reported() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let push = push(&server);
    drop(push.observe(run()));
    let answer = ExportMetricsServiceResponse {
        partial_success: Some(ExportMetricsPartialSuccess {
            rejected_data_points: 7,
            error_message: "too old".to_owned(),
        }),
    };
    let losses = std::thread::scope(|scope| {
        let end = scope.spawn(|| push.finish(LONG));
        received(&server, "200 OK", &answer.encode_to_vec());
        end.join().unwrap().unwrap().to_string()
    });
    assert!(losses.ends_with("7 values were rejected: too old"), "{losses}");
}

#[test]
fn a_collector_that_is_absent_costs_a_run_nothing() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let options = OtlpOptions::new(&format!("http://{address}"), Duration::from_secs(3600), |_| None);
    let push = OtlpPush::start(options.unwrap(), "here".to_owned()).unwrap();
    assert_eq!(push.finish(LONG), None, "no run, no push");
    let options = OtlpOptions::new(&format!("http://{address}"), Duration::from_secs(3600), |_| None);
    let push = OtlpPush::start(options.unwrap(), "here".to_owned()).unwrap();
    drop(push.observe(run()));
    assert_eq!(push.finish(LONG).unwrap().failed, 1);
}
