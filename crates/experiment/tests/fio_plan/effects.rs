//! Each option and what it does to the plan.

use std::collections::BTreeSet;

use experiment::fio::find_option;
use experiment::fio::meaning::handled;
use serde_json::{Value, json};

use super::cell_json;

/// Options with their context, where in the cell the effect stands, and what stands there then.
#[rustfmt::skip]
fn table() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("kb_base=1000; size=1m", "region/size", json!({"bytes": 1_000_000})),
        ("kb_base=1024; size=1m", "region/size", json!({"bytes": 1_048_576})),
        ("kb_base=1000", "report/thousands", json!(true)),
        ("unit_base=1", "report/bits", json!(true)),
        ("name=other", "name", json!("other")),
        ("description=for you", "report/description", json!("for you")),
        ("loops=3", "ending/loops", json!(3)),
        ("numjobs=3; group_reporting", "/workload/jobs", json!(3)),
        ("runtime=90", "ending/runtime_s", json!(90.0)),
        ("runtime=2m", "/stages/measure_at_most_s", json!(120.0)),
        ("runtime=500ms", "ending/runtime_s", json!(0.5)),
        ("time_based; runtime=10", "ending/time_based", json!(true)),
        ("time_based; runtime=10", "/stages/measure_at_least_s", json!(10.0)),
        ("startdelay=5", "ending/start_delay_s", json!(5.0)),
        ("startdelay=5-7", "ending/start_delay_spread_s", json!(2.0)),
        ("ramp_time=3", "/stages/warm_up_s", json!(3.0)),
        ("gtod_reduce=1", "report/hide_service", json!(true)),
        ("directory=/a:b", "files/names/directories", json!(["/a", "b"])),
        ("filename=a:b", "files/names/listed", json!(["a", "b"])),
        (r"filename=a\:b", "files/names/listed", json!(["a:b"])),
        ("directory=/d:/e; filename=/a:b", "files/names/listed", json!(["/d/a", "/d/b"])),
        ("filename_format=t.$filenum", "files/names/format", json!("t.$filenum")),
        ("opendir=/x", "files/names/listed", json!(["/x/a", "/x/b"])),
        ("nrfiles=5", "files/count", json!(5)),
        ("nrfiles=5; filename=a:b", "files/count", Value::Null),
        ("filename=a:b; nrfiles=1", "files/count", json!(1)),
        ("nrfiles=5; openfiles=2", "files/open", json!(2)),
        ("nrfiles=5; openfiles=9", "files/open", Value::Null),
        ("file_service_type=random:8", "files/service", json!({"random": 8})),
        ("file_service_type=roundrobin:4", "files/service", json!({"round-robin": 4})),
        ("file_service_type=sequential", "files/service", json!("sequential")),
        ("file_service_type=zipf:1.2", "files/service", json!({"zipf": [1.2, 1]})),
        ("file_service_type=pareto:0.3:2", "files/service", json!({"pareto": [0.3, 2]})),
        ("file_service_type=normal:20", "files/service", json!({"normal": [20.0, 1]})),
        ("create_fsync=0", "files/layout/create_fsync", json!(false)),
        ("create_on_open=1", "files/layout/create_on_open", json!(true)),
        ("create_only=1", "files/layout/create_only", json!(true)),
        ("allow_file_create=0", "files/layout/create", json!(false)),
        ("allow_mounted_write=1", "files/layout/mounted_device", json!(true)),
        ("pre_read=1", "files/layout/pre_read", json!(true)),
        ("pre_read=1", "files/layout/invalidate", json!(false)),
        ("invalidate=0", "files/layout/invalidate", json!(false)),
        ("fsync=0", "files/layout", Value::Null),
        ("unlink=1", "files/layout/unlink", json!(true)),
        ("unlink_each_loop=1", "files/layout/unlink_each_loop", json!(true)),
        ("zonemode=strided; zonesize=8k; zoneskip=16k", "region/zones", json!({"bytes": 8192, "range": 8192, "skip": 16384})),
        ("zonemode=strided; zonesize=8k; zonerange=32k", "region/zones/range", json!(32768)),
        ("zonemode=none", "region/zones", Value::Null),
        ("direct=1", "/target/options/direct", json!("true")),
        ("buffered=0", "/target/options/direct", json!("true")),
        ("direct=1; buffered=1", "/target/options/direct", Value::Null),
        ("buffered=1; direct=1", "/target/options/direct", json!("true")),
        ("sync=1", "/target/options/sync", json!("sync")),
        ("sync=dsync", "/target/options/sync", json!("dsync")),
        ("rw=write", "/workload/ops", json!([{"op": "write", "weight": 1.0}])),
        ("rw=trim", "/workload/ops", json!([{"op": "trim", "weight": 1.0}])),
        ("rw=randread", "pattern/random", json!(true)),
        ("rw=randread", "/workload/access", json!("shuffled")),
        ("rw=randtrim", "/workload/ops/0/op", json!("trim")),
        ("rw=readwrite", "/workload/ops", json!([{"op": "read", "weight": 0.5}, {"op": "write", "weight": 0.5}])),
        ("rw=randrw; rwmixread=75", "/workload/ops/0", json!({"op": "read", "weight": 0.75})),
        ("rw=randrw; rwmixwrite=75", "/workload/ops/0", json!({"op": "read", "weight": 0.25})),
        ("rw=rw; rwmixread=30; rwmixwrite=20", "/workload/ops/1/weight", json!(1.0 - 0.8)),
        ("rw=rw; rwmixread=100", "/workload/ops", json!([{"op": "read", "weight": 1.0}])),
        ("rw=randtrimwrite", "pattern/trim_then_write", json!(true)),
        ("rw=trimwrite", "/workload/ops/0", json!({"op": "trim", "weight": 0.5})),
        ("rw=randread:8", "pattern/run", json!(8)),
        ("rw=read:4k", "pattern/skip", json!(4096)),
        ("rw=read:-4k", "pattern/skip", json!(-4096)),
        ("rw=randread:8; rw_sequencer=identical", "pattern/run_identical", json!(true)),
        ("rw=randrw; percentage_random=60,20", "pattern/percent_random", json!({"read": 60.0, "write": 20.0, "trim": 20.0})),
        ("rw=randread; norandommap", "pattern/with_repeats", json!(true)),
        ("rw=randread; norandommap; random_generator=lfsr", "pattern/with_repeats", Value::Null),
        ("rw=randread; norandommap; random_generator=lfsr; bsrange=4k-8k", "pattern/with_repeats", json!(true)),
        ("rw=randread; random_distribution=zipf:1.2:0.25", "pattern/distribution/read", json!({"zipf": {"theta": 1.2, "centre": 0.25}})),
        ("rw=randread; random_distribution=pareto:0.3", "pattern/distribution/write", json!({"pareto": {"h": 0.3}})),
        ("rw=randread; random_distribution=normal:20", "pattern/distribution/read", json!({"normal": {"deviation": 20.0}})),
        ("rw=randread; random_distribution=zoned:60/10:40/90", "pattern/distribution/trim",
            json!({"zoned": {"zones": [{"percent": 60.0, "length": {"percent": 10.0}}, {"percent": 40.0, "length": {"percent": 90.0}}]}})),
        ("rw=randrw; random_distribution=zoned:100/10,50/5:50/10", "pattern/distribution/read",
            json!({"zoned": {"zones": [{"percent": 100.0, "length": {"percent": 10.0}}]}})),
        ("rw=randread; random_distribution=zoned_abs:100/64k", "pattern/distribution/read",
            json!({"zoned": {"zones": [{"percent": 100.0, "length": {"bytes": 65536}}]}})),
        ("rw=randread; random_distribution=zipf:1.2", "pattern/with_repeats", json!(true)),
        ("unified_rw_reporting=mixed", "report/directions", json!("together")),
        ("unified_rw_reporting=2", "report/directions", json!("both")),
        ("randseed=5", "seed", json!(5)),
        ("randrepeat=0", "seed", json!(4711)),
        ("randrepeat=0; allrandrepeat=1", "seed", json!(0x6D61_6E6F_6D65_7465_u64)),
        ("fallocate=none", "files/layout/allocate", json!("none")),
        ("fallocate=1", "files/layout/allocate", json!("posix")),
        ("fadvise_hint=random", "files/layout/advice", json!("random")),
        ("fadvise_hint=0", "files/layout/advice", json!("none")),
        ("offset=4k", "region/offset", json!({"bytes": 4096})),
        ("offset=20%", "region/offset", json!({"percent": 20.0})),
        ("offset=20%; bs=8k", "region/offset_align", json!(8192)),
        ("offset=20%; offset_align=1m", "region/offset_align", json!(1_048_576)),
        ("offset=4k; offset_align=1m", "region/offset_align", Value::Null),
        ("offset_increment=1m", "region/offset_increment", json!({"bytes": 1_048_576})),
        ("number_ios=17", "region/operations", json!(17)),
        ("fsync=32", "commits/fsync_every", json!(32)),
        ("fdatasync=8", "commits/fdatasync_every", json!(8)),
        ("sync_file_range=wait_before,write:8", "commits", json!({"range_every": 8, "range_flags": 3})),
        ("end_fsync=1", "commits/at_end", json!(true)),
        ("fsync_on_close=1", "commits/on_close", json!(true)),
        ("overwrite=1", "files/layout/overwrite", json!(true)),
        ("ioengine=mmap", "files/layout/overwrite", json!(true)),
        ("bs=8k", "block_sizes/sizes/trim", json!({"fixed": 8192})),
        ("bs=8k,32k", "block_sizes/sizes", json!({"read": {"fixed": 8192}, "write": {"fixed": 32768}, "trim": {"fixed": 32768}})),
        ("bs=8k,32k,", "block_sizes/sizes/trim", json!({"fixed": 4096})),
        ("bs=,8k", "block_sizes/sizes", json!({"read": {"fixed": 4096}, "write": {"fixed": 8192}, "trim": {"fixed": 8192}})),
        ("bs=,8k,", "block_sizes/sizes/trim", json!({"fixed": 4096})),
        ("bs=1k; bs=,8k", "block_sizes/sizes/read", json!({"fixed": 1024})),
        ("bsrange=1k-4k", "block_sizes/sizes/read", json!({"range": {"least": 1024, "most": 4096}})),
        ("bsrange=4k-1k", "block_sizes/sizes/read", json!({"range": {"least": 1024, "most": 4096}})),
        ("bsrange=1k-4k,2k-8k", "block_sizes/sizes/write", json!({"range": {"least": 2048, "most": 8192}})),
        ("bsrange=1k-4k/8k-32k", "block_sizes/sizes/write", json!({"range": {"least": 8192, "most": 32768}})),
        ("bssplit=4k/50:1k/:32k/", "block_sizes/sizes/read",
            json!({"split": [{"bytes": 4096, "weight": 0.5}, {"bytes": 1024, "weight": 0.25}, {"bytes": 32768, "weight": 0.25}]})),
        ("bssplit=4k/20:8k/20", "block_sizes/sizes/read",
            json!({"split": [{"bytes": 4096, "weight": 0.2}, {"bytes": 8192, "weight": 0.8}]})),
        ("bssplit=2k/50:4k/50,4k/90:8k/10", "block_sizes/sizes/write",
            json!({"split": [{"bytes": 4096, "weight": 0.9}, {"bytes": 8192, "weight": 0.1}]})),
        ("bssplit=8k/100; bs=4k", "block_sizes/sizes/read", json!({"fixed": 8192})),
        ("bsrange=1k-4k; bs_unaligned", "block_sizes/unaligned", json!(true)),
        ("bs_is_seq_rand=1", "pattern/sizes_by_order", json!(true)),
        ("rw=randread; ba=16k", "block_sizes/align", json!({"read": 16384, "write": 16384, "trim": 16384})),
        ("rw=randread; ba=16k", "pattern/with_repeats", json!(true)),
        ("rw=randread; ba=4k", "pattern/with_repeats", Value::Null),
        ("zero_buffers", "content/kind", json!("zeros")),
        ("buffer_compress_percentage=40", "content", json!({"compress_percent": 40.0, "chunk_bytes": 512})),
        ("buffer_compress_percentage=40; buffer_compress_chunk=0", "content/chunk_bytes", Value::Null),
        ("buffer_pattern=0xdeadface\"ab\"-12", "content/kind", json!({"pattern": [{"hex": "deadface6162f4ffffff"}]})),
        ("buffer_pattern='ab'", "content/kind", json!({"pattern": [{"hex": "6162"}]})),
        ("dedupe_percentage=30", "content/dedupe_percent", json!(30.0)),
        ("dedupe_percentage=30; dedupe_mode=working_set", "content/dedupe_set_percent", json!(5.0)),
        ("dedupe_percentage=30; dedupe_mode=working_set; dedupe_working_set_percentage=10", "content/dedupe_set_percent", json!(10.0)),
        ("size=2g", "region/size", json!({"bytes": 2_147_483_648_u64})),
        ("size=20%", "region/size", json!({"percent": 20.0})),
        ("io_size=3m", "region/io_bytes", json!({"bytes": 3_145_728})),
        ("filesize=16k", "files/bytes", json!(16384)),
        ("filesize=16k-64k", "files/most_bytes", json!(65536)),
        ("filesize=16k; nrfiles=2; size=24k", "region/io_bytes", json!({"bytes": 24576})),
        ("filesize=16k; nrfiles=2; size=1m", "region/io_bytes", Value::Null),
        ("filesize=16k; nrfiles=2; size=1m", "region/size", Value::Null),
        ("rw=write; file_append=1", "files/layout/append", json!(true)),
        ("rw=write; fill_device=1", "region/fill_device", json!(true)),
        ("ioengine=libaio; iodepth=32", "/workload/queue_depth", json!(32)),
        ("ioengine=psync; iodepth=32", "/workload/queue_depth", json!(1)),
        ("ioengine=psync; iodepth=32; io_submit_mode=offload", "/workload/queue_depth", json!(32)),
        ("iodepth=32", "report/depth", json!(32)),
        ("ioengine=libaio", "report/engine", json!("libaio")),
        ("ioengine=libaio; iodepth=32; iodepth_batch=8", "queue/batch", json!(8)),
        ("ioengine=libaio; iodepth=32; iodepth_batch=0", "queue/batch", json!(32)),
        ("ioengine=libaio; iodepth=32; iodepth_batch_complete_min=4", "queue/complete_least", json!(4)),
        ("ioengine=libaio; iodepth=32; iodepth_batch_complete_max=8", "queue/complete_most", json!(8)),
        ("ioengine=libaio; iodepth=32; iodepth_low=16", "queue/low", json!(16)),
        ("ioengine=libaio; iodepth=32; iodepth_low=64", "queue/low", Value::Null),
        ("serialize_overlap=1", "pattern/no_overlap", json!(true)),
        ("io_submit_mode=offload", "queue/offload", json!(true)),
        ("thinktime=100", "pace/think/pause_s", json!(1e-4)),
        ("thinktime=2ms; thinktime_spin=500", "pace/think/spin_s", json!(5e-4)),
        ("thinktime=2ms; thinktime_blocks=8", "pace/think/after", json!(8)),
        ("thinktime=2ms; thinktime_blocks_type=issue", "pace/think/count_begun", json!(true)),
        ("thinktime=1s; thinktime_iotime=9s", "pace/think/after_s", json!(9.0)),
        ("rate=1m,500k", "pace/rates", json!({"read": {"bytes-per-s": 1_048_576.0}, "write": {"bytes-per-s": 512_000.0}, "trim": {"bytes-per-s": 512_000.0}})),
        ("rate=500k,", "pace/rates/write", Value::Null),
        ("rate_iops=100", "pace/rates/read", json!({"ops-per-s": 100.0})),
        ("rate=1m; rate_min=500k", "pace/least/read", json!({"bytes-per-s": 512_000.0})),
        ("rw=rw; rate_iops=100; rate_iops_min=50", "pace/least/write", json!({"ops-per-s": 50.0})),
        ("rw=read; rate_iops=100; rate_iops_min=50", "pace/least/write", Value::Null),
        ("rate_iops=100; rate_process=poisson", "pace/poisson", json!(true)),
        ("rate_iops=100; rate_cycle=2000", "pace/cycle_s", json!(2.0)),
        ("rate_ignore_thinktime=1", "pace/pauses_stop_schedule", json!(true)),
        ("latency_target=500; latency_window=5s; latency_percentile=99; latency_run=1", "ending/latency_target",
            json!({"target_s": 5e-4, "window_s": 5.0, "percentile": 99.0, "run_on": true})),
        ("max_latency=20ms", "ending/max_latency_s", json!(0.02)),
        ("write_iolog=x.log", "logs/operations_list", json!("x.log")),
        ("read_iolog=a:b", "replay/files", json!(["a", "b"])),
        ("read_iolog=a; replay_no_stall=1", "replay/no_stall", json!(true)),
        ("read_iolog=a; replay_time_scale=50", "replay/time_percent", json!(200)),
        ("read_iolog=a; replay_redirect=/x", "replay/redirect", json!("/x")),
        ("read_iolog=a; replay_align=4k", "replay/align", json!(4096)),
        ("read_iolog=a; replay_scale=2", "replay/scale", json!(2)),
        ("read_iolog=a; replay_skip=write,trim", "replay/skip", json!(["write", "trim"])),
        ("nice=-5", "placement/nice", json!(-5)),
        ("prio=3", "placement/io_priority", json!([2, 3])),
        ("prioclass=1", "placement/io_priority", json!([1, 0])),
        ("cpus_allowed=0,2-3", "placement/cores", json!([0, 2, 3])),
        ("cpus_allowed_policy=split", "placement/split_cores", json!(true)),
        ("cpumask=5", "placement/cores", json!([0, 2])),
        ("numa_cpu_nodes=0", "placement/numa_nodes", json!([0])),
        ("numa_mem_policy=bind:0-1", "placement/numa_memory", json!("bind:0-1")),
        ("rw=write; verify=crc32c", "check/method", json!("crc32c")),
        ("rw=write; verify=crc32c", "check/after_writes", json!(true)),
        ("rw=read; verify=crc32c", "check/after_writes", json!(false)),
        ("rw=write; verify=sha3-256", "check/method", json!("sha3-256")),
        ("rw=write; verify=md5; do_verify=0", "check/after_writes", json!(false)),
        ("rw=write; verify=md5; verify_only", "check/only", json!(true)),
        ("rw=write; verify=0", "check", Value::Null),
        ("rw=write; verify_pattern=0xff%o\"ab\"", "check/pattern", json!([{"hex": "ff"}, "offset", {"hex": "6162"}])),
        ("rw=write; verify_pattern=0xff", "check/method", json!("pattern")),
        ("rw=write; verify=md5; verify_offset=1k", "check/header_offset", json!(1024)),
        ("rw=write; verify=md5; bs=64k; verify_interval=4k", "check/interval_bytes", json!(4096)),
        ("rw=write; verify=md5; bs=4k; verify_interval=3000", "check/interval_bytes", Value::Null),
        ("rw=write; verify=md5; bsrange=4k-12k", "check/interval_bytes", json!(4096)),
        ("rw=write; verify=md5; bsrange=8k-12k", "check/interval_bytes", json!(4096)),
        ("rw=write; verify=md5; verify_fatal=1", "check/fatal", json!(true)),
        ("rw=write; verify=md5; verify_dump=1", "check/dump", json!(true)),
        ("rw=write; verify=md5; verify_backlog=1024; verify_backlog_batch=64", "check/backlog_batch", json!(64)),
        ("rw=write; verify=md5; verify_backlog=1024", "check/backlog", json!(1024)),
        ("steadystate=iops_slope:0.3%; ss_dur=30; ss_ramp=5", "/steady",
            json!({"fio": {"metric": "iops", "slope": true, "limit": 0.003, "window_s": 30.0}})),
        ("steadystate=bw:2%; ss_dur=30; ss_ramp=5; steadystate_ramp_time=5", "/stages/measure_at_least_s", json!(35.0)),
        ("steadystate=bw:2%; steadystate_duration=30", "/steady/fio/window_s", json!(30.0)),
        ("per_job_logs=0", "logs/together", json!(true)),
        ("stats=0", "report/hide", json!(true)),
        ("write_bw_log", "logs/bandwidth", json!("j")),
        ("write_bw_log=x", "logs/bandwidth", json!("x")),
        ("write_lat_log=x", "logs/latency", json!("x")),
        ("write_iops_log=x", "logs/operations", json!("x")),
        ("write_hist_log=x; log_hist_msec=500", "logs/histogram_ms", json!(500)),
        ("write_hist_log=x", "logs/histograms", json!("x")),
        ("log_hist_coarseness=2", "logs/coarseness", json!(2)),
        ("log_avg_msec=500", "logs/average_ms", json!(500)),
        ("log_max_value=1", "logs/largest", json!(true)),
        ("log_offset=1", "logs/offsets", json!(true)),
        ("log_prio=1", "logs/priorities", json!(true)),
        ("log_unix_epoch=1", "logs/unix_epoch", json!(true)),
        ("log_alternate_epoch=1", "logs/unix_epoch", json!(true)),
        ("bwavgtime=250", "report/bandwidth_sample_ms", json!(250)),
        ("iopsavgtime=250", "report/operations_sample_ms", json!(250)),
        ("disk_util=0", "report/hide_disks", json!(true)),
        ("disable_lat=1", "report/hide_response", json!(true)),
        ("disable_clat=1", "report/hide_service", json!(true)),
        ("disable_bw_measurement=1", "report/hide_samples", json!(true)),
        ("slat_percentiles=1", "report/submission", json!(true)),
        ("clat_percentiles=0", "report/without_service", json!(true)),
        ("lat_percentiles=1", "report/response", json!(true)),
        ("percentile_list=99.5:50", "report/percentiles", json!([50.0, 99.5])),
        ("significant_figures=6", "report/digits", json!(6)),
        ("exitall_on_error", "ending/errors/ends_group", json!(true)),
        ("continue_on_error=io", "ending/errors", json!({"go_on_read": true, "go_on_write": true})),
        ("continue_on_error=all", "ending/errors/go_on_verify", json!(true)),
        ("ignore_error=EAGAIN,ENOSPC:122", "ending/errors/ignore", json!([["EAGAIN"], ["ENOSPC", "EDQUOT"], []])),
        ("ioengine=io_uring; direct=1; hipri", "/target/options/iopoll", json!("true")),
        ("ioengine=io_uring; sqthread_poll", "/target/options/sqpoll", json!("true")),
        ("ioengine=io_uring; fixedbufs", "/target/options/registered", json!("true")),
        ("ioengine=io_uring; registerfiles", "/target/options/registered", json!("true")),
    ]
}

#[test]
fn each_option_does_what_it_says() {
    let mut wrong = Vec::new();
    for (options, place, expected) in table() {
        let cell = cell_json(&with_size(options));
        let place = if place.starts_with('/') { place.to_owned() } else { format!("/workload/job/{place}") };
        let found = cell.pointer(&place).unwrap_or(&Value::Null);
        if *found != expected {
            wrong.push(format!("{options}: {place} is {found}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn with_size(options: &str) -> String {
    let sized =
        ["size=", "filesize="].iter().any(|name| options.split("; ").any(|option| option.starts_with(name)));
    if sized { options.to_owned() } else { format!("size=1g; {options}") }
}

/// Options that change nothing but what is said about the job's options.
const WITHOUT_EFFECT: [(&str, &str); 19] = [
    ("clocksource", "clock_gettime"),
    ("unique_filename", "0"),
    ("create_serialize", "0"),
    ("softrandommap", "1"),
    ("refill_buffers", "1"),
    ("scramble_buffers", "0"),
    ("mem", "malloc"),
    ("iomem_align", "4096"),
    ("nonvectored", "1"),
    ("userspace_reap", "1"),
    ("read_iolog_chunked", "1"),
    ("thread", "1"),
    ("verify_async", "2"),
    ("experimental_verify", "1"),
    ("log_entries", "4096"),
    ("log_compression", "64k"),
    ("log_compression_cpus", "0"),
    ("disable_slat", "1"),
    ("error_dump", "0"),
];

#[test]
fn what_is_accepted_without_effect_changes_nothing() {
    for (option, value) in WITHOUT_EFFECT {
        let engine = match option {
            "nonvectored" => "io_uring",
            "userspace_reap" => "libaio",
            _ => "psync",
        };
        let plain = format!("ioengine={engine}; size=1g");
        let mut cells = [cell_json(&plain), cell_json(&format!("{plain}; {option}={value}"))];
        for cell in &mut cells {
            cell.pointer_mut("/workload/job/report/options").unwrap().take();
        }
        assert_eq!(cells[0], cells[1], "{option}");
    }
}

/// Options whose effect other tests look at: several jobs, or engines of the network.
const ELSEWHERE: [&str; 24] = [
    "stonewall",
    "wait_for",
    "exitall",
    "exit_what",
    "new_group",
    "group_reporting",
    "ioengine",
    "port",
    "hostname",
    "nodelay",
    "protocol",
    "listen",
    "pingpong",
    "window_size",
    "mss",
    "http_host",
    "https",
    "http_mode",
    "http_s3_region",
    "http_s3_key",
    "http_s3_keyid",
    "nfs_url",
    "nfs_connections",
    "sim_url",
];

#[test]
fn no_option_is_left_out() {
    let tried = table();
    let tried = tried.iter().flat_map(|(options, ..)| options.split("; ")).map(|option| {
        let name = option.split('=').next().unwrap();
        find_option(name).unwrap_or_else(|| panic!("{name} is not in the table")).name
    });
    let mut tried: BTreeSet<&str> = tried.collect();
    tried.extend(WITHOUT_EFFECT.map(|option| option.0));
    tried.extend(ELSEWHERE);
    let handled: BTreeSet<&str> = handled().iter().copied().collect();
    assert_eq!(tried.difference(&handled).collect::<Vec<_>>(), Vec::<&&str>::new(), "tried, but not handled");
    assert_eq!(handled.difference(&tried).collect::<Vec<_>>(), Vec::<&&str>::new(), "handled, but not tried");
}
