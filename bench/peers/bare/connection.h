/* A connection of a bare loop: the calls waiting to be sent, and the state of the response being received. */
#ifndef CONNECTION_H
#define CONNECTION_H
#include "bare.h"

#define MAX_QUEUED 64
/* Size of the receive buffer. */
#define RECEIVE_BYTES (256 << 10)
/* Bytes kept of the start of a response, whose head may arrive in two parts. */
#ifndef FIRST_BYTES
#define FIRST_BYTES 32
#endif

struct connection {
    int fd;
    /* Calls not sent yet, in order; the first may be partly sent. Each is a head followed by the common body. */
    struct iovec heads[MAX_QUEUED];
    int queued;
    size_t body_len, sent;
    const char *body;
    int waits_for_room;
    uint64_t left;
    char first[FIRST_BYTES];
    size_t have;
};

static void connect_to(struct connection *c, int poll_fd, int port) {
    int on = 1;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof to) != 0)
        die("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (fcntl(c->fd, F_SETFL, O_NONBLOCK) != 0)
        die("fcntl");
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, c->fd, &event) != 0)
        die("epoll_ctl");
}

static void queue_call(struct connection *c, const char *head, size_t len) {
    if (c->queued == MAX_QUEUED) {
        fprintf(stderr, "bare: more calls in flight than fit\n");
        exit(1);
    }
    c->heads[c->queued++] = (struct iovec){(char *)head, len};
}

/* Sends as many waiting calls as the socket takes, several per system call. */
static void send_queued(struct connection *c, int poll_fd) {
    while (c->queued > 0) {
        struct iovec parts[2 * MAX_QUEUED];
        size_t count = 0, skip = c->sent;
        for (int i = 0; i < c->queued; i++, skip = 0) {
            struct iovec head = c->heads[i];
            if (skip < head.iov_len)
                parts[count++] = (struct iovec){(char *)head.iov_base + skip, head.iov_len - skip};
            size_t body_skip = skip > head.iov_len ? skip - head.iov_len : 0;
            if (body_skip < c->body_len)
                parts[count++] = (struct iovec){(char *)c->body + body_skip, c->body_len - body_skip};
        }
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
        ssize_t sent = sendmsg(c->fd, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN)
            break;
        if (sent < 0)
            die("send");
        int done = 0;
        c->sent += (size_t)sent;
        for (size_t whole; done < c->queued && c->sent >= (whole = c->heads[done].iov_len + c->body_len); done++)
            c->sent -= whole;
        c->queued -= done;
        memmove(c->heads, c->heads + done, (size_t)c->queued * sizeof *c->heads);
    }
    int waits = c->queued > 0;
    if (waits != c->waits_for_room) {
        struct epoll_event event = {.events = EPOLLIN | (waits ? EPOLLOUT : 0u), .data.ptr = c};
        if (epoll_ctl(poll_fd, EPOLL_CTL_MOD, c->fd, &event) != 0)
            die("epoll_ctl");
        c->waits_for_room = waits;
    }
}

/* Received bytes; 0 when there are none at the moment. */
static size_t receive(struct connection *c, char *buffer, size_t size) {
    ssize_t got = recv(c->fd, buffer, size, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return 0;
    if (got <= 0)
        die("recv");
    return (size_t)got;
}

/* Processes received bytes; returns the number of operations completed. `begun` checks a response whose first bytes have come, and
 * sets how many follow; `ended` returns how many operations it completes. */
static inline int take_responses(struct connection *c, char *buffer, void (*begun)(struct connection *), int (*ended)(struct connection *)) {
    size_t got = receive(c, buffer, RECEIVE_BYTES), at = 0;
    int done = 0;
    while (at < got) {
        if (c->have < FIRST_BYTES) {
            size_t part = got - at < FIRST_BYTES - c->have ? got - at : FIRST_BYTES - c->have;
            memcpy(c->first + c->have, buffer + at, part);
            c->have += part;
            at += part;
            if (c->have < FIRST_BYTES)
                break;
            begun(c);
        }
        size_t part = got - at < c->left ? got - at : (size_t)c->left;
        c->left -= part;
        at += part;
        if (c->left == 0) {
            done += ended(c);
            c->have = 0;
        }
    }
    return done;
}

/* Sends what is queued and keeps as much in flight, by `next`, until the window is over. */
static inline void keep_in_flight(struct connection *c, int poll_fd, double seconds, uint64_t bytes_per_op, void (*begun)(struct connection *),
                                  int (*ended)(struct connection *), void (*next)(struct connection *)) {
    char *buffer = malloc(RECEIVE_BYTES);
    send_queued(c, poll_fd);
    struct window window = window_of(seconds);
    for (;;) {
        struct epoll_event event;
        int done = 0;
        if (epoll_wait(poll_fd, &event, 1, 100) == 1 && event.events & EPOLLIN)
            done = take_responses(c, buffer, begun, ended);
        for (int i = 0; i < done; i++)
            next(c);
        send_queued(c, poll_fd);
        window.ops += (uint64_t)done;
        look(&window, bytes_per_op);
    }
}

#endif
