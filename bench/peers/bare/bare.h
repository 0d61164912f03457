/* Shared by the bare loops: the clock, the client's CPU time, connections, and the line printed at the end.
 *
 * A bare loop sends prepared requests and counts the responses. It records no latencies, parses only enough to find the end of a
 * response, and generates no payload. Its cost is that of the kernel, which no client can avoid: a bound for every ratio.
 */
#ifndef BARE_H
#define BARE_H
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WARM_UP_S 0.5

static void die(const char *what) {
    fprintf(stderr, "bare: %s: %s\n", what, strerror(errno));
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

/* The measured window. It starts after WARM_UP_S. */
struct window {
    double seconds, start, began, cpu;
    uint64_t ops;
};

static struct window window_of(double seconds) {
    return (struct window){.seconds = seconds, .start = now_s()};
}

/* Checks the clock; prints the line and ends the program when the window is over. */
static void look(struct window *w, uint64_t bytes_per_op) {
    double now = now_s();
    if (w->began == 0 && now - w->start >= WARM_UP_S) {
        w->began = now;
        w->cpu = cpu_s();
        w->ops = 0;
    } else if (w->began != 0 && now - w->began >= w->seconds) {
        printf("{\"tool\":\"bare\",\"ops\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"seconds\":%.6f,\"cpu_seconds\":%.6f}\n", w->ops,
               w->ops * bytes_per_op, now - w->began, cpu_s() - w->cpu);
        fflush(stdout);
        _exit(0);
    }
}

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t random_below(uint64_t end) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % end;
}

#endif
