/* Calls of NFSv3 as the bare loops prepare them, and the mount, which libnfs does. */
#ifndef NFS_CALL_H
#define NFS_CALL_H
#include "connection.h"

#include <nfsc/libnfs.h>
/* Included after it, because it uses its macros. */
#include <nfsc/libnfs-raw.h>

/* What nfs_get_fh() returns; libnfs 4 leaves its definition out of the public headers. */
struct nfs_fh {
    int len;
    char *val;
};

enum procedure { GETATTR = 1, READ = 6, WRITE = 7, CREATE = 8, REMOVE = 12 };

/* Where the XID of a call is, behind its record mark. */
#define XID_AT 4

/* Words of a call, big-endian (RFC 4506). */
struct words {
    char *bytes;
    size_t len;
};

static void word(struct words *w, uint32_t value) {
    value = htonl(value);
    memcpy(w->bytes + w->len, &value, 4);
    w->len += 4;
}

/* Bytes with their length, padded. */
static void opaque(struct words *w, const char *value, size_t len) {
    size_t padded = (len + 3) & ~(size_t)3;
    word(w, (uint32_t)len);
    memset(w->bytes + w->len, 0, padded);
    memcpy(w->bytes + w->len, value, len);
    w->len += padded;
}

/* The start of a call as in RFC 5531 and RFC 1813: room for the record mark, header, AUTH_SYS of root. */
static struct words call_of(char *bytes, enum procedure procedure) {
    struct words w = {bytes, XID_AT};
    uint32_t header[] = {0, 0, 2, 100003, 3, procedure, 1, 20, 0, 0, 0, 0, 0, 0, 0};
    for (size_t i = 0; i < sizeof header / sizeof *header; i++)
        word(&w, header[i]);
    return w;
}

/* Writes the record mark of a call that is complete but for so many bytes that follow. */
static void mark(const struct words *w, size_t more) {
    struct words start = {w->bytes, 0};
    word(&start, 0x80000000u | (uint32_t)(w->len - XID_AT + more));
}

static void fail(const char *what, struct nfs_context *nfs) {
    fprintf(stderr, "bare: %s: %s\n", what, nfs ? nfs_get_error(nfs) : "");
    exit(1);
}

static struct nfs_context *mounted(const char *text) {
    struct nfs_context *nfs = nfs_init_context();
    struct nfs_url *url = nfs ? nfs_parse_url_dir(nfs, text) : NULL;
    if (!url || nfs_mount(nfs, url->server, url->path))
        fail("mount", nfs);
    nfs_destroy_url(url);
    return nfs;
}

#endif
