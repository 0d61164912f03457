/* The peer for NFS: Debian's libnfs, used through its raw asynchronous calls, one connection,
 * a fixed number of RPCs in flight, one poll loop. The raw calls are libnfs at its fastest: replies
 * are decoded in place and nothing is reassembled.
 *
 * nfs_peer URL OP SIZE DEPTH SECONDS FILE_MIB
 *   URL      nfs://host/export?version=3&nfsport=..&mountport=..   (an empty file is created and removed)
 *   OP       read | randread | write | getattr
 *   SIZE     bytes of one read or write
 * Prints one line of JSON for the measured window, which starts after WARM_UP_S.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs.h>

#include "../histogram.h"

#define WARM_UP_S 0.5

/* What nfs_get_fh() returns; libnfs 4 leaves its definition out of the public headers. */
struct nfs_fh {
    int len;
    char *val;
};

enum op { READ, RANDREAD, WRITE, GETATTR };

static struct {
    enum op op;
    uint32_t size;
    uint64_t blocks, next;
    struct rpc_context *rpc;
    struct nfs_fh3 fh;
    char *payload;
    uint64_t rng;
    int in_flight, stopping;
    uint64_t ops, bytes, errors;
    struct histogram latency;
} load;

struct lane {
    uint64_t began;
};

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double cpu_seconds(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void die(const char *what, const char *why) {
    fprintf(stderr, "nfs_peer: %s: %s\n", what, why ? why : "");
    exit(1);
}

static uint64_t random_block(void) {
    load.rng ^= load.rng << 13;
    load.rng ^= load.rng >> 7;
    load.rng ^= load.rng << 17;
    return load.rng % load.blocks;
}

static void start(struct lane *lane);

static void done(struct rpc_context *rpc, int status, void *data, void *private_data) {
    struct lane *lane = private_data;
    uint64_t bytes = 0;
    int failed = status != RPC_STATUS_SUCCESS;
    (void)rpc;
    load.in_flight--;
    if (!failed) {
        switch (load.op) {
        case READ:
        case RANDREAD: {
            struct READ3res *res = data;
            failed = res->status != NFS3_OK;
            bytes = failed ? 0 : res->READ3res_u.resok.data.data_len;
            failed = failed || bytes != load.size;
            break;
        }
        case WRITE: {
            struct WRITE3res *res = data;
            failed = res->status != NFS3_OK;
            bytes = failed ? 0 : res->WRITE3res_u.resok.count;
            break;
        }
        case GETATTR:
            failed = ((struct GETATTR3res *)data)->status != NFS3_OK;
            break;
        }
    }
    histogram_record(&load.latency, now_ns() - lane->began);
    load.ops += !failed;
    load.bytes += bytes;
    load.errors += failed;
    if (!load.stopping)
        start(lane);
}

static void start(struct lane *lane) {
    uint64_t block = load.op == RANDREAD ? random_block() : load.next++ % load.blocks;
    int sent = -1;
    lane->began = now_ns();
    switch (load.op) {
    case READ:
    case RANDREAD: {
        struct READ3args args = {.file = load.fh, .offset = block * load.size, .count = load.size};
        sent = rpc_nfs3_read_async(load.rpc, done, &args, lane);
        break;
    }
    case WRITE: {
        struct WRITE3args args = {.file = load.fh, .offset = block * load.size, .count = load.size, .stable = UNSTABLE};
        args.data.data_len = load.size;
        args.data.data_val = load.payload;
        sent = rpc_nfs3_write_async(load.rpc, done, &args, lane);
        break;
    }
    case GETATTR: {
        struct GETATTR3args args = {.object = load.fh};
        sent = rpc_nfs3_getattr_async(load.rpc, done, &args, lane);
        break;
    }
    }
    if (sent != 0)
        die("cannot queue a call", rpc_get_error(load.rpc));
    load.in_flight++;
}

static void service_until(struct nfs_context *nfs, uint64_t until) {
    while (load.in_flight > 0 && now_ns() < until) {
        struct pollfd p = {.fd = nfs_get_fd(nfs), .events = (short)nfs_which_events(nfs)};
        if (poll(&p, 1, 100) < 0)
            die("poll", "failed");
        if (nfs_service(nfs, p.revents) < 0)
            die("service", nfs_get_error(nfs));
    }
}

static void lay_out(struct nfs_context *nfs, struct nfsfh *file, uint64_t bytes) {
    for (uint64_t at = 0; at < bytes;) {
        int wrote = nfs_pwrite(nfs, file, at, 1 << 20, load.payload);
        if (wrote <= 0)
            die("lay out the file", nfs_get_error(nfs));
        at += (uint64_t)wrote;
    }
    if (nfs_fsync(nfs, file) < 0)
        die("commit the file", nfs_get_error(nfs));
}

static enum op parse_op(const char *name) {
    static const char *const names[] = {"read", "randread", "write", "getattr"};
    for (int i = 0; i < 4; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum op)i;
    die("unknown op", name);
    return READ;
}

int main(int argc, char **argv) {
    if (argc != 7)
        die("usage", "nfs_peer URL OP SIZE DEPTH SECONDS FILE_MIB");
    load.op = parse_op(argv[2]);
    load.size = (uint32_t)strtoul(argv[3], NULL, 10);
    int depth = atoi(argv[4]);
    double seconds = atof(argv[5]);
    uint64_t file_bytes = strtoull(argv[6], NULL, 10) << 20;
    load.blocks = load.op == GETATTR ? 1 : file_bytes / load.size;
    load.rng = 0x9e3779b97f4a7c15u ^ (uint64_t)getpid();
    size_t payload_bytes = load.size > (1 << 20) ? load.size : 1 << 20;
    load.payload = malloc(payload_bytes);
    for (size_t i = 0; i < payload_bytes; i++)
        load.payload[i] = (char)(i * 2654435761u >> 13);

    struct nfs_context *nfs = nfs_init_context();
    if (!nfs)
        die("libnfs", "no context");
    struct nfs_url *url = nfs_parse_url_dir(nfs, argv[1]);
    if (!url)
        die("url", nfs_get_error(nfs));
    if (nfs_mount(nfs, url->server, url->path))
        die("mount", nfs_get_error(nfs));
    nfs_set_autoreconnect(nfs, 0);
    char path[64];
    snprintf(path, sizeof path, "/nfs-peer-%d", (int)getpid());
    struct nfsfh *file = NULL;
    if (nfs_creat(nfs, path, 0644, &file))
        die("create", nfs_get_error(nfs));
    if (load.op == READ || load.op == RANDREAD)
        lay_out(nfs, file, file_bytes);
    load.rpc = nfs_get_rpc_context(nfs);
    struct nfs_fh *fh = nfs_get_fh(file);
    load.fh.data.data_len = (u_int)fh->len;
    load.fh.data.data_val = fh->val;

    struct lane *lanes = calloc((size_t)depth, sizeof *lanes);
    for (int i = 0; i < depth; i++)
        start(&lanes[i]);
    service_until(nfs, now_ns() + (uint64_t)(WARM_UP_S * 1e9));
    load.ops = load.bytes = load.errors = 0;
    memset(&load.latency, 0, sizeof load.latency);
    uint64_t began = now_ns();
    double cpu = cpu_seconds();
    service_until(nfs, began + (uint64_t)(seconds * 1e9));
    uint64_t ended = now_ns();
    cpu = cpu_seconds() - cpu;
    printf("{\"tool\":\"libnfs\",\"op\":\"%s\",\"ops\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"errors\":%" PRIu64
           ",\"seconds\":%.6f,\"cpu_seconds\":%.6f,\"p50_us\":%.1f,\"p99_us\":%.1f}\n",
           argv[2], load.ops, load.bytes, load.errors, (double)(ended - began) / 1e9, cpu,
           (double)histogram_quantile(&load.latency, 0.50) / 1e3, (double)histogram_quantile(&load.latency, 0.99) / 1e3);

    load.stopping = 1;
    service_until(nfs, now_ns() + 10000000000u);
    nfs_close(nfs, file);
    nfs_unlink(nfs, path);
    nfs_umount(nfs);
    nfs_destroy_url(url);
    nfs_destroy_context(nfs);
    return 0;
}
