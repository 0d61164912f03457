/* The bound for iSCSI: prepared READ(10) commands of one session, in which only the task tag, the numbers and the block change;
 * responses are found by their headers, their status is checked, and they are counted (RFC 7143).
 *
 * bare_iscsi PORT TARGET LUN OP SIZE DEPTH SECONDS UNIT_MIB
 *   PORT     of the portal, on 127.0.0.1
 *   OP       read | randread
 */
/* The whole basic header segment. */
#define FIRST_BYTES 48
#include "connection.h"

#define BLOCK 512
#define MIB (1 << 20)
#define SEGMENT "262144"

enum { LOGIN = 0x43, LOGIN_RESPONSE = 0x23, COMMAND = 0x01, RESPONSE = 0x21, DATA_IN = 0x25 };
enum { OPERATIONAL_TO_FULL = 0x87, STATUS_FOLLOWS = 0x01, GOOD = 0x00, CHECK_CONDITION = 0x02 };

static struct {
    uint32_t blocks, blocks_per_op, next, tag;
    int random;
    /* Numbers of the next command, of the next status, and of the last command that the target takes. */
    uint32_t command, status, last;
    char (*headers)[FIRST_BYTES];
    uint64_t depth, oldest;
} load;

static void fail(const char *what) {
    fprintf(stderr, "bare_iscsi: %s\n", what);
    exit(1);
}

static void put32(char *at, uint32_t value) {
    value = htonl(value);
    memcpy(at, &value, 4);
}

static uint32_t get32(const char *at) {
    uint32_t value;
    memcpy(&value, at, 4);
    return ntohl(value);
}

/* The header of a command to the unit, still without its numbers. */
static void prepare(char *header, uint16_t lun, uint8_t flags, uint32_t bytes) {
    memset(header, 0, FIRST_BYTES);
    header[0] = COMMAND;
    header[1] = (char)flags;
    header[8] = (char)(lun >> 8);
    header[9] = (char)lun;
    put32(header + 20, bytes);
}

static void number(char *header) {
    put32(header + 16, ++load.tag);
    put32(header + 24, load.command++);
    put32(header + 28, load.status);
}

static void read_command(struct connection *c, char *header) {
    uint32_t count = load.blocks / load.blocks_per_op;
    uint32_t which = load.random ? (uint32_t)random_below(count) : load.next++ % count;
    number(header);
    put32(header + 34, which * load.blocks_per_op);
    if ((int32_t)(load.last - (load.command - 1)) < 0)
        fail("the target takes fewer commands at a time");
    queue_call(c, header, FIRST_BYTES);
}

/* Bytes behind a header: its data segment, padded. */
static size_t data_bytes(const char *header) {
    return ((get32(header + 4) & 0xffffff) + 3) & ~(size_t)3;
}

/* Takes the numbers of a response. */
static void follow(const char *header) {
    if ((header[0] & 0x3f) != DATA_IN || header[1] & STATUS_FOLLOWS)
        load.status = get32(header + 24) + 1;
    load.last = get32(header + 32);
}

static void begun(struct connection *c) {
    c->left = data_bytes(c->first);
}

/* Checks a whole PDU; 1 if it completes its command. */
static int ended(struct connection *c) {
    int operation = c->first[0] & 0x3f, ends = operation == RESPONSE || c->first[1] & STATUS_FOLLOWS;
    if ((operation != RESPONSE && operation != DATA_IN) || (ends && c->first[3] != GOOD))
        fail("the target refused a command");
    follow(c->first);
    return ends;
}

/* As with NFS: an answered command was sent, so the oldest header is free. */
static void next_command(struct connection *c) {
    read_command(c, load.headers[load.oldest++ % load.depth]);
}

/* Sends a header and its data, and receives a whole response; only before the load. */
static void exchange(int fd, const char *header, const char *data, size_t data_len, char *response) {
    static char segment[1 << 18];
    struct iovec parts[] = {{(char *)header, FIRST_BYTES}, {(char *)data, (data_len + 3) & ~(size_t)3}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    if (sendmsg(fd, &message, MSG_NOSIGNAL) < 0 || recv(fd, response, FIRST_BYTES, MSG_WAITALL) != FIRST_BYTES)
        die("exchange");
    size_t len = data_bytes(response);
    if (len > sizeof segment || (len > 0 && recv(fd, segment, len, MSG_WAITALL) != (ssize_t)len))
        die("exchange");
}

/* Logs in without authentication, with the operational parameters of a session that reads. */
static void login(int fd, const char *target) {
    static char keys[1024];
    char header[FIRST_BYTES] = {LOGIN, (char)OPERATIONAL_TO_FULL}, response[FIRST_BYTES];
    int len = snprintf(keys, sizeof keys,
                       "InitiatorName=iqn.2026-01.manometer:bare%cTargetName=%s%cSessionType=Normal%cHeaderDigest=None%cDataDigest=None%c"
                       "ErrorRecoveryLevel=0%cInitialR2T=No%cImmediateData=Yes%cMaxBurstLength=4194304%cMaxRecvDataSegmentLength=" SEGMENT "%c",
                       0, target, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    header[8] = (char)0x80; /* a random ISID */
    put32(header + 10, (uint32_t)getpid());
    load.command = 1;
    for (int round = 0; round < 4; round++) {
        put32(header + 4, (uint32_t)len);
        put32(header + 24, load.command);
        put32(header + 28, load.status);
        exchange(fd, header, keys, (size_t)len, response);
        if ((response[0] & 0x3f) != LOGIN_RESPONSE || response[36] != 0)
            fail("the target refused the login");
        follow(response);
        if ((uint8_t)response[1] == OPERATIONAL_TO_FULL)
            return;
        /* What it offered stands. */
        memcpy(header + 14, response + 14, 2);
        len = 0;
    }
    fail("the login has no end");
}

/* Until the unit has told of its reset: the first commands may fail with a unit attention (SAM-5, 5.14). */
static void until_ready(int fd, uint16_t lun) {
    char header[FIRST_BYTES], response[FIRST_BYTES];
    for (int attempt = 0; attempt < 8; attempt++) {
        prepare(header, lun, 0x81, 0);
        number(header);
        exchange(fd, header, NULL, 0, response);
        follow(response);
        if ((response[0] & 0x3f) != RESPONSE || (response[3] != GOOD && response[3] != CHECK_CONDITION))
            fail("the unit is not ready");
        if (response[3] == GOOD)
            return;
    }
    fail("the unit is not ready");
}

int main(int argc, char **argv) {
    if (argc != 9)
        fail("usage: bare_iscsi PORT TARGET LUN OP SIZE DEPTH SECONDS UNIT_MIB");
    uint16_t lun = (uint16_t)atoi(argv[3]);
    uint32_t size = (uint32_t)strtoul(argv[5], NULL, 10);
    int depth = atoi(argv[6]);
    load.random = strcmp(argv[4], "randread") == 0;
    load.blocks_per_op = size / BLOCK;
    load.blocks = (uint32_t)(strtoull(argv[8], NULL, 10) * MIB / BLOCK);
    if (depth < 1 || depth > MAX_QUEUED || size == 0 || size % BLOCK || load.blocks < load.blocks_per_op)
        fail("SIZE: whole blocks of 512; DEPTH: 1 to 64");
    struct connection connection = {0};
    int poll_fd = epoll_create1(0);
    connect_to(&connection, poll_fd, atoi(argv[1]));
    if (fcntl(connection.fd, F_SETFL, 0) != 0)
        die("fcntl");
    login(connection.fd, argv[2]);
    until_ready(connection.fd, lun);
    if (fcntl(connection.fd, F_SETFL, O_NONBLOCK) != 0)
        die("fcntl");
    load.depth = (uint64_t)depth;
    load.headers = calloc((size_t)depth, sizeof *load.headers);
    for (int i = 0; i < depth; i++) {
        char *header = load.headers[i];
        prepare(header, lun, 0xc1, size);
        header[32] = 0x28;
        header[39] = (char)(load.blocks_per_op >> 8);
        header[40] = (char)load.blocks_per_op;
        read_command(&connection, header);
    }
    keep_in_flight(&connection, poll_fd, atof(argv[7]), size, begun, ended, next_command);
}
