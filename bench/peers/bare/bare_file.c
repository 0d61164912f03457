/* The bound for files: only reads.
 *
 * bare_file PATH OP SIZE DEPTH DIRECT SECONDS
 *   OP       read | randread
 *   DIRECT   0: from the page cache, one pread(2) after another; 1: direct I/O, DEPTH in flight on io_uring, with the file and the
 *            buffers registered; a completion is followed by the next submission, as in every tool that measures latencies
 */
#include "bare.h"

#include <liburing.h>
#include <sys/stat.h>

/* Reads between two checks of the clock. */
#define READS_PER_LOOK 64

static struct {
    int random;
    size_t size;
    uint64_t blocks, next;
} load;

static off_t offset(void) {
    uint64_t block = load.random ? random_below(load.blocks) : load.next++ % load.blocks;
    return (off_t)(block * load.size);
}

static void *buffer_of(size_t size) {
    void *buffer = NULL;
    if (posix_memalign(&buffer, size >= 2 << 20 ? 2 << 20 : 4096, size) != 0)
        die("memory");
    madvise(buffer, size, MADV_HUGEPAGE);
    memset(buffer, 1, size);
    return buffer;
}

static void cached(int fd, struct window *window) {
    char *buffer = buffer_of(load.size);
    for (;;) {
        for (int i = 0; i < READS_PER_LOOK; i++, window->ops++)
            if (pread(fd, buffer, load.size, offset()) != (ssize_t)load.size)
                die("read");
        look(window, load.size);
    }
}

static void submit(struct io_uring *ring, char *buffers, uint64_t lane) {
    struct io_uring_sqe *entry = io_uring_get_sqe(ring);
    io_uring_prep_read_fixed(entry, 0, buffers + lane * load.size, (unsigned)load.size, (uint64_t)offset(), 0);
    io_uring_sqe_set_flags(entry, IOSQE_FIXED_FILE);
    io_uring_sqe_set_data64(entry, lane);
}

static void direct(int fd, unsigned depth, struct window *window) {
    struct io_uring ring;
    struct io_uring_params params = {.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN};
    struct iovec all = {buffer_of(depth * load.size), depth * load.size};
    if (io_uring_queue_init_params(depth, &ring, &params) != 0 || io_uring_register_files(&ring, &fd, 1) != 0 ||
        io_uring_register_buffers(&ring, &all, 1) != 0)
        die("io_uring");
    for (uint64_t lane = 0; lane < depth; lane++)
        submit(&ring, all.iov_base, lane);
    for (;;) {
        struct io_uring_cqe *done[256];
        if (io_uring_submit_and_wait(&ring, 1) < 0)
            die("io_uring_enter");
        unsigned count = io_uring_peek_batch_cqe(&ring, done, 256);
        for (unsigned i = 0; i < count; i++) {
            if (done[i]->res != (int)load.size)
                die("read");
            submit(&ring, all.iov_base, done[i]->user_data);
        }
        io_uring_cq_advance(&ring, count);
        window->ops += count;
        look(window, load.size);
    }
}

int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr, "usage: bare_file PATH OP SIZE DEPTH DIRECT SECONDS\n");
        return 2;
    }
    int around = atoi(argv[5]), fd = open(argv[1], O_RDONLY | (around ? O_DIRECT : 0));
    struct stat facts;
    if (fd < 0 || fstat(fd, &facts) != 0)
        die(argv[1]);
    load.random = strcmp(argv[2], "randread") == 0;
    load.size = strtoull(argv[3], NULL, 10);
    load.blocks = (uint64_t)facts.st_size / load.size;
    struct window window = window_of(atof(argv[6]));
    if (around)
        direct(fd, (unsigned)atoi(argv[4]), &window);
    else
        cached(fd, &window);
}
