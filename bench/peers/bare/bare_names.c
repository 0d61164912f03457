/* The bound for small files: only the system calls, one after another, on one file.
 *
 * bare_names DIRECTORY OP SIZE SECONDS
 *   OP       cycle: open a new file, pwrite, close, unlink | read-file: open, pread, close | stat
 */
#include "bare.h"

#include <sys/stat.h>

/* Operations between two checks of the clock. */
#define OPS_PER_LOOK 64

static char *buffer;
static size_t size;

static void create(int directory) {
    int fd = openat(directory, "file", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 || pwrite(fd, buffer, size, 0) != (ssize_t)size || close(fd) != 0)
        die("create");
}

static void read_file(int directory) {
    int fd = openat(directory, "file", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || pread(fd, buffer, size, 0) != (ssize_t)size || close(fd) != 0)
        die("read");
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: bare_names DIRECTORY OP SIZE SECONDS\n");
        return 2;
    }
    int cycle = strcmp(argv[2], "cycle") == 0, stats = strcmp(argv[2], "stat") == 0;
    int directory = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    size = strtoull(argv[3], NULL, 10);
    buffer = calloc(1, size);
    if (directory < 0 || buffer == NULL)
        die(argv[1]);
    if (!cycle)
        create(directory);
    struct window window = window_of(atof(argv[4]));
    for (;;) {
        for (int i = 0; i < OPS_PER_LOOK; i++, window.ops++) {
            struct stat facts;
            if (cycle) {
                create(directory);
                if (unlinkat(directory, "file", 0) != 0)
                    die("unlink");
            } else if (!stats) {
                read_file(directory);
            } else if (fstatat(directory, "file", &facts, 0) != 0) {
                die("stat");
            }
        }
        look(&window, stats ? 0 : size);
    }
}
