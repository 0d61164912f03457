/* The bound for whole files over NFSv3: each lane creates a file, writes its data and removes it, by three prepared calls in which only
 * the XID and the new file's handle change. Replies are found by their record marks, their status is checked, and files are counted.
 * libnfs mounts the export and makes the directory.
 *
 * bare_nfs_files URL PORT SIZE DEPTH SECONDS
 *   URL      nfs://host/export?version=3&nfsport=..&mountport=..
 *   PORT     of NFS
 *   DEPTH    lanes, each with one call in flight
 */
#include "nfs_call.h"

#define MAX_HEAD 512
#define MAX_LANES 64
/* Bytes kept of the start of a reply: up to the end of the handle in the one of CREATE. */
#define KEPT 104

enum step { CREATES, WRITES, REMOVES, STEPS };

struct lane {
    enum step step;
    char *calls[STEPS];
    size_t lens[STEPS];
    /* Where the handle is in the WRITE. */
    size_t handle_at;
};

static struct {
    struct lane lanes[MAX_LANES];
    uint32_t sent;
    size_t handle_len;
    char kept[KEPT];
    size_t have, total;
} load;

static void prepare(struct lane *lane, int number, const struct nfs_fh *directory, uint32_t size) {
    char name[16];
    int name_len = snprintf(name, sizeof name, "file-%d", number);
    char *bytes = calloc(STEPS, MAX_HEAD + size);
    for (int step = 0; step < STEPS; step++)
        lane->calls[step] = bytes + (size_t)step * (MAX_HEAD + size);
    struct words w = call_of(lane->calls[CREATES], CREATE);
    opaque(&w, directory->val, (size_t)directory->len);
    opaque(&w, name, (size_t)name_len);
    word(&w, 1); /* GUARDED, with a mode and nothing else */
    word(&w, 1);
    word(&w, 0644);
    for (int i = 0; i < 5; i++)
        word(&w, 0);
    mark(&w, 0);
    lane->lens[CREATES] = w.len;
    w = call_of(lane->calls[REMOVES], REMOVE);
    opaque(&w, directory->val, (size_t)directory->len);
    opaque(&w, name, (size_t)name_len);
    mark(&w, 0);
    lane->lens[REMOVES] = w.len;
    /* Handles of files have the length of the directory's. */
    w = call_of(lane->calls[WRITES], WRITE);
    lane->handle_at = w.len + 4;
    opaque(&w, directory->val, (size_t)directory->len);
    word(&w, 0);
    word(&w, 0);
    word(&w, size);
    word(&w, 0); /* UNSTABLE */
    word(&w, size);
    for (uint32_t i = 0; i < size; i++)
        w.bytes[w.len + i] = (char)(i * 2654435761u >> 13);
    w.len += size;
    mark(&w, 0);
    lane->lens[WRITES] = w.len;
}

static void call(struct connection *c, uint32_t number) {
    struct lane *lane = &load.lanes[number];
    uint32_t xid = htonl(++load.sent * MAX_LANES + number);
    memcpy(lane->calls[lane->step] + XID_AT, &xid, 4);
    queue_call(c, lane->calls[lane->step], lane->lens[lane->step]);
}

static uint32_t kept_word(size_t at) {
    uint32_t value;
    memcpy(&value, load.kept + at, 4);
    return ntohl(value);
}

/* Processes a reply and starts the lane's next call; 1 when a file was removed. */
static int answered(struct connection *c) {
    /* XID, type, state, verifier (2), state of the call, status. */
    if (load.have < FIRST_BYTES || kept_word(12) != 0 || kept_word(24) != 0 || kept_word(28) != 0)
        fail("the server refused a call", NULL);
    uint32_t number = kept_word(4) % MAX_LANES;
    struct lane *lane = &load.lanes[number];
    if (lane->step == CREATES) {
        if (load.have < 40 + load.handle_len || kept_word(32) != 1 || kept_word(36) != load.handle_len)
            fail("CREATE returned no handle of the directory's length", NULL);
        memcpy(lane->calls[WRITES] + lane->handle_at, load.kept + 40, load.handle_len);
    }
    lane->step = (lane->step + 1) % STEPS;
    call(c, number);
    return lane->step == CREATES;
}

/* Processes received bytes; returns the number of files removed. */
static int take(struct connection *c, char *buffer) {
    size_t got = receive(c, buffer, RECEIVE_BYTES), at = 0;
    int done = 0;
    while (at < got) {
        size_t want = load.have < 4 ? 4 : load.total < KEPT ? load.total : KEPT;
        if (load.have < want) {
            size_t part = got - at < want - load.have ? got - at : want - load.have;
            memcpy(load.kept + load.have, buffer + at, part);
            load.have += part;
            at += part;
            if (load.have == 4)
                load.total = (c->left = kept_word(0) & 0x7fffffffu) + 4;
            else if (load.have > 4)
                c->left -= part;
        } else {
            size_t part = got - at < c->left ? got - at : (size_t)c->left;
            c->left -= part;
            at += part;
        }
        if (load.have > 4 && c->left == 0) {
            done += answered(c);
            load.have = 0;
        }
    }
    return done;
}

/* Runs the load until the window is over, in a process of its own. */
static void run(const struct nfs_fh *directory, int port, int depth, double seconds, uint32_t size) {
    struct connection connection = {0};
    int poll_fd = epoll_create1(0);
    connect_to(&connection, poll_fd, port);
    char *buffer = malloc(RECEIVE_BYTES);
    load.handle_len = (size_t)directory->len;
    for (int i = 0; i < depth; i++) {
        prepare(&load.lanes[i], i, directory, size);
        call(&connection, (uint32_t)i);
    }
    send_queued(&connection, poll_fd);
    struct window window = window_of(seconds);
    for (;;) {
        struct epoll_event event;
        if (epoll_wait(poll_fd, &event, 1, 100) == 1 && event.events & EPOLLIN)
            window.ops += (uint64_t)take(&connection, buffer);
        send_queued(&connection, poll_fd);
        look(&window, size);
    }
}

int main(int argc, char **argv) {
    if (argc != 6)
        fail("usage: bare_nfs_files URL PORT SIZE DEPTH SECONDS", NULL);
    int depth = atoi(argv[4]);
    if (depth < 1 || depth > MAX_LANES)
        fail("DEPTH: 1 to 64", NULL);
    struct nfs_context *nfs = mounted(argv[1]);
    struct nfsfh *opened = NULL;
    char path[64], file[96];
    snprintf(path, sizeof path, "/bare-nfs-%d", (int)getpid());
    if (nfs_mkdir(nfs, path) || nfs_open(nfs, path, O_RDONLY, &opened))
        fail("make the directory", nfs);
    pid_t child = fork();
    if (child == 0)
        run(nfs_get_fh(opened), atoi(argv[2]), depth, atof(argv[5]), (uint32_t)strtoul(argv[3], NULL, 10));
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0)
        die("fork");
    nfs_close(nfs, opened);
    /* What the window's end interrupted. */
    for (int i = 0; i < depth; i++) {
        snprintf(file, sizeof file, "%s/file-%d", path, i);
        nfs_unlink(nfs, file);
    }
    if (nfs_rmdir(nfs, path))
        fail("remove the directory", nfs);
    nfs_umount(nfs);
    nfs_destroy_context(nfs);
    return status == 0 ? 0 : 1;
}
