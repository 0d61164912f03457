/* The bound for NFSv3: prepared calls on one connection, in which only the XID and the offset change; replies are found by their
 * record marks, their status is checked, and they are counted. libnfs mounts the export and creates the file.
 *
 * bare_nfs URL PORT OP SIZE DEPTH SECONDS FILE_MIB
 *   URL      nfs://host/export?version=3&nfsport=..&mountport=..   (a file is created and removed)
 *   PORT     of NFS
 *   OP       read | randread | write | getattr
 */
#include "nfs_call.h"

#define MAX_CALL 512
#define MIB (1 << 20)

static struct {
    enum procedure procedure;
    int random;
    uint32_t size;
    uint64_t blocks, next;
    uint32_t xid;
    size_t call_len, offset_at;
    char (*calls)[MAX_CALL];
    uint64_t depth, oldest;
} load;

/* One call, without the data of a WRITE. */
static void prepare(char *bytes, const struct nfs_fh *fh) {
    struct words w = call_of(bytes, load.procedure);
    opaque(&w, fh->val, (size_t)fh->len);
    load.offset_at = w.len;
    if (load.procedure != GETATTR) {
        word(&w, 0);
        word(&w, 0);
        word(&w, load.size);
    }
    if (load.procedure == WRITE) {
        word(&w, 0); /* UNSTABLE */
        word(&w, load.size);
    }
    load.call_len = w.len;
    mark(&w, load.procedure == WRITE ? load.size : 0);
}

static void call(struct connection *c, char *bytes) {
    uint32_t xid = htonl(++load.xid);
    memcpy(bytes + XID_AT, &xid, 4);
    if (load.procedure != GETATTR) {
        uint64_t block = load.random ? random_below(load.blocks) : load.next++ % load.blocks;
        uint64_t offset = htobe64(block * load.size);
        memcpy(bytes + load.offset_at, &offset, 8);
    }
    queue_call(c, bytes, load.call_len);
}

/* Checks the head of a reply: whole in one fragment, accepted, NFS3_OK. */
static void check(struct connection *c) {
    uint32_t words[FIRST_BYTES / 4];
    memcpy(words, c->first, sizeof words);
    uint32_t mark = ntohl(words[0]);
    if (!(mark & 0x80000000u) || words[3] != 0 || words[6] != 0 || words[7] != 0) {
        fprintf(stderr, "bare_nfs: the server refused a call\n");
        exit(1);
    }
    c->left = (mark & 0x7fffffffu) + 4 - FIRST_BYTES;
}

/* Every reply completes a call. */
static int counted(struct connection *c) {
    (void)c;
    return 1;
}

/* Replies may come out of order: which call's memory is reused matters only while it waits to be sent, and an answered call was
 * sent. The oldest is taken. */
static void next_call(struct connection *c) {
    call(c, load.calls[load.oldest++ % load.depth]);
}

static void parse_op(const char *name) {
    load.random = strcmp(name, "randread") == 0;
    if (strcmp(name, "read") == 0 || load.random)
        load.procedure = READ;
    else if (strcmp(name, "write") == 0)
        load.procedure = WRITE;
    else if (strcmp(name, "getattr") == 0)
        load.procedure = GETATTR;
    else
        fail("unknown op", NULL);
}

/* Runs the load until the window is over, in a process of its own, so that later work is not measured. */
static void run(const struct nfs_fh *fh, int port, int depth, double seconds, const char *payload) {
    struct connection connection = {0};
    int poll_fd = epoll_create1(0);
    connect_to(&connection, poll_fd, port);
    load.depth = (uint64_t)depth;
    load.calls = calloc((size_t)depth, sizeof *load.calls);
    connection.body = payload;
    connection.body_len = load.procedure == WRITE ? load.size : 0;
    for (int i = 0; i < depth; i++) {
        prepare(load.calls[i], fh);
        call(&connection, load.calls[i]);
    }
    keep_in_flight(&connection, poll_fd, seconds, load.procedure == GETATTR ? 0 : load.size, check, counted, next_call);
}

int main(int argc, char **argv) {
    if (argc != 8)
        fail("usage: bare_nfs URL PORT OP SIZE DEPTH SECONDS FILE_MIB", NULL);
    parse_op(argv[3]);
    load.size = (uint32_t)strtoul(argv[4], NULL, 10);
    int depth = atoi(argv[5]);
    uint64_t file_bytes = strtoull(argv[7], NULL, 10) * MIB;
    load.blocks = load.procedure == GETATTR ? 1 : file_bytes / load.size;
    size_t payload_bytes = load.size > MIB ? load.size : MIB;
    char *payload = malloc(payload_bytes), path[64];
    for (size_t i = 0; i < payload_bytes; i++)
        payload[i] = (char)(i * 2654435761u >> 13);
    struct nfs_context *nfs = mounted(argv[1]);
    struct nfsfh *file = NULL;
    snprintf(path, sizeof path, "/bare-nfs-%d", (int)getpid());
    if (nfs_creat(nfs, path, 0644, &file))
        fail("create", nfs);
    for (uint64_t at = 0; load.procedure == READ && at < file_bytes; at += MIB)
        if (nfs_pwrite(nfs, file, at, MIB, payload) != MIB)
            fail("lay out the file", nfs);
    pid_t child = fork();
    if (child == 0)
        run(nfs_get_fh(file), atoi(argv[2]), depth, atof(argv[6]), payload);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0)
        die("fork");
    nfs_close(nfs, file);
    nfs_unlink(nfs, path);
    nfs_umount(nfs);
    nfs_destroy_context(nfs);
    return status == 0 ? 0 : 1;
}
