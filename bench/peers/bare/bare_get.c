/* What the kernel alone costs for an S3 GET: the same request, signed beforehand, sent again and again on
 * some connections, and the answer received into one buffer and only counted. No signing, no parsing,
 * no statistics. No client can do a GET for less, so this bounds every ratio.
 *
 * bare_get PORT PATH_AND_QUERY CONNECTIONS SECONDS BUFFER_BYTES
 * Prints one line of JSON for the measured window, which begins after WARM_UP_S.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WARM_UP_S 0.5

struct connection {
    int fd;
    uint64_t left; /* of the answer that is coming; 0 before its head */
};

static char request[4096];
static size_t request_len;

static void die(const char *what) {
    fprintf(stderr, "bare_get: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_s(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void ask(struct connection *c) {
    if (send(c->fd, request, request_len, MSG_NOSIGNAL) != (ssize_t)request_len)
        die("send");
}

/* Takes what arrived; 1 when that completed an answer. */
static int take(struct connection *c, char *buffer, size_t size) {
    ssize_t got = recv(c->fd, buffer, size - 1, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return 0;
    if (got <= 0)
        die("recv");
    uint64_t here = (uint64_t)got;
    if (c->left == 0) {
        buffer[got] = 0;
        char *end = strstr(buffer, "\r\n\r\n"), *length = strcasestr(buffer, "\r\ncontent-length:");
        if (strncmp(buffer, "HTTP/1.1 200", 12) != 0 || !end || !length)
            die("the answer is not 200 with a length in its first bytes");
        c->left = (uint64_t)(end + 4 - buffer) + strtoull(length + 17, NULL, 10);
    }
    c->left -= here;
    return c->left == 0;
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: bare_get PORT PATH_AND_QUERY CONNECTIONS SECONDS BUFFER_BYTES\n");
        return 2;
    }
    int port = atoi(argv[1]), count = atoi(argv[3]);
    double seconds = atof(argv[4]);
    size_t size = strtoull(argv[5], NULL, 10);
    char *buffer = malloc(size);
    request_len = (size_t)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", argv[2], port);

    struct connection *connections = calloc((size_t)count, sizeof *connections);
    int poll_fd = epoll_create1(0), on = 1;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    for (int i = 0; i < count; i++) {
        struct connection *c = &connections[i];
        c->fd = socket(AF_INET, SOCK_STREAM, 0);
        if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof to) != 0)
            die("connect");
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
        if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, c->fd, &event) != 0)
            die("epoll_ctl");
        ask(c);
    }
    uint64_t ops = 0;
    double start = now_s(), began = 0, cpu = 0;
    for (;;) {
        struct epoll_event events[256];
        int ready = epoll_wait(poll_fd, events, 256, 100);
        for (int i = 0; i < ready; i++) {
            struct connection *c = events[i].data.ptr;
            if (take(c, buffer, size)) {
                ops++;
                ask(c);
            }
        }
        double now = now_s();
        if (began == 0 && now - start >= WARM_UP_S) {
            began = now;
            cpu = cpu_s();
            ops = 0;
        } else if (began != 0 && now - began >= seconds) {
            printf("{\"tool\":\"bare\",\"ops\":%" PRIu64 ",\"seconds\":%.6f,\"cpu_seconds\":%.6f}\n", ops, now - began, cpu_s() - cpu);
            return 0;
        }
    }
}
