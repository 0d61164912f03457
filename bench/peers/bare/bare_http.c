/* The bound for S3: one presigned GET or PUT, sent repeatedly on some connections; the responses are counted.
 *
 * bare_http PORT METHOD PATH_AND_QUERY BYTES CONNECTIONS SECONDS
 *   METHOD   GET or PUT
 *   BYTES    of the object
 */
#include "connection.h"

static char head[4096];

/* Processes received bytes; 1 when they complete a response. */
static int take(struct connection *c, char *buffer) {
    size_t got = receive(c, buffer, RECEIVE_BYTES - 1);
    if (got == 0)
        return 0;
    if (c->left == 0) {
        buffer[got] = 0;
        char *end = strstr(buffer, "\r\n\r\n"), *length = strcasestr(buffer, "\r\ncontent-length:");
        if (strncmp(buffer, "HTTP/1.1 200", 12) != 0 || !end)
            die("the answer is not 200 with its head in the first bytes");
        c->left = (uint64_t)(end + 4 - buffer) + (length && length < end ? strtoull(length + 17, NULL, 10) : 0);
    }
    c->left -= got;
    return c->left == 0;
}

int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr, "usage: bare_http PORT METHOD PATH_AND_QUERY BYTES CONNECTIONS SECONDS\n");
        return 2;
    }
    int port = atoi(argv[1]), count = atoi(argv[5]), put = strcmp(argv[2], "PUT") == 0;
    uint64_t bytes = strtoull(argv[4], NULL, 10);
    char *buffer = malloc(RECEIVE_BYTES), *body = put ? malloc(bytes) : NULL, length[64] = "";
    if (put) {
        for (uint64_t i = 0; i < bytes; i++)
            body[i] = (char)(i * 2654435761u >> 13);
        snprintf(length, sizeof length, "Content-Length: %" PRIu64 "\r\n", bytes);
    }
    int head_len =
        snprintf(head, sizeof head, "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s\r\n", argv[2], argv[3], port, length);
    if (head_len >= (int)sizeof head) {
        fprintf(stderr, "bare_http: the request is too long\n");
        return 2;
    }
    struct connection *connections = calloc((size_t)count, sizeof *connections);
    int poll_fd = epoll_create1(0);
    for (int i = 0; i < count; i++) {
        struct connection *c = &connections[i];
        connect_to(c, poll_fd, port);
        c->body = body;
        c->body_len = put ? bytes : 0;
        queue_call(c, head, (size_t)head_len);
        send_queued(c, poll_fd);
    }
    struct window window = window_of(atof(argv[6]));
    for (;;) {
        struct epoll_event events[256];
        int ready = epoll_wait(poll_fd, events, 256, 100);
        for (int i = 0; i < ready; i++) {
            struct connection *c = events[i].data.ptr;
            if (events[i].events & EPOLLIN && take(c, buffer)) {
                window.ops++;
                queue_call(c, head, (size_t)head_len);
            }
            send_queued(c, poll_fd);
        }
        look(&window, bytes);
    }
}
