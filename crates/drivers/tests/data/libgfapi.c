// A libgfapi without a cluster, for crates/drivers/tests/gluster.rs. Volumes gv is the directory ROOT of this machine. The end of a file's
// name scripts what happens to asynchronous calls: eNNN fails with error NNN, f2 completes late. A
// file whose name ends in once can be opened once. There are 3.4.0's versions too, whose
// callbacks have other arguments: whoever calls them fails.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

typedef void (*callback)(void *, ssize_t, void *, void *, void *);
struct fs { char volume[64]; };
struct file { int fd, closed, flying, error, late; DIR *dir; char path[4096]; };

static const char *at(const char *path, char *full) {
    snprintf(full, 8192, "%s/%s", ROOT, path);
    return full;
}
#define AT(path) at(path, (char[8192]){0})

struct fs *glfs_new(const char *volume) {
    struct fs *fs = calloc(1, sizeof *fs);
    snprintf(fs->volume, sizeof fs->volume, "%s", volume);
    return fs;
}
int glfs_set_volfile_server(struct fs *fs, const char *transport, const char *host, int port) { return 0; }
int glfs_set_logging(struct fs *fs, const char *file, int level) { return 0; }
int glfs_init(struct fs *fs) {
    if (strcmp(fs->volume, "gv") == 0) return 0;
    if (strcmp(fs->volume, "slow") == 0) sleep(3);
    errno = strcmp(fs->volume, "theirs") == 0 ? EACCES : ENOENT;
    return -1;
}
int glfs_fini(struct fs *fs) {
    free(fs);
    return 0;
}
int glfs_get_volumeid(struct fs *fs, char *id, size_t size) {
    memset(id, 0xab, 16);
    return 16;
}
ssize_t glfs_get_volfile(struct fs *fs, void *text, size_t size) {
    static const char volfile[] = "volume gv-client-0\n    type protocol/client\nend-volume\n";
    memcpy(text, volfile, sizeof volfile - 1);
    return sizeof volfile - 1;
}
int glfs_statvfs(struct fs *fs, const char *path, struct statvfs *out) { return statvfs(AT(path), out); }

static struct file *opened(const char *path, int fd, DIR *dir) {
    if (fd < 0 && !dir) return 0;
    struct file *file = calloc(1, sizeof *file);
    const char *end = path + strlen(path);
    static int once;
    if (strlen(path) > 4 && strcmp(end - 4, "once") == 0 && __sync_fetch_and_add(&once, 1) > 0) {
        close(fd);
        errno = EBUSY;
        return 0;
    }
    file->fd = fd;
    file->dir = dir;
    if (strlen(path) > 4 && end[-4] == 'e') file->error = atoi(end - 3);
    file->late = strlen(path) > 2 && strcmp(end - 2, "f2") == 0;
    return file;
}
void *glfs_creat(struct fs *fs, const char *path, int flags, mode_t mode) { return opened(path, open(AT(path), flags | O_CREAT, mode), 0); }
void *glfs_open(struct fs *fs, const char *path, int flags) { return opened(path, open(AT(path), flags), 0); }
int glfs_close(struct file *file) {
    // Its memory stays: a call that is in flight looks at it.
    file->closed = 1;
    return close(file->fd);
}
ssize_t glfs_read(struct file *file, void *out, size_t len, int flags) { return read(file->fd, out, len); }
ssize_t glfs_write(struct file *file, const void *data, size_t len, int flags) { return write(file->fd, data, len); }

enum what { READ, WRITE, SYNC, TRUNCATE, DISCARD, ZEROFILL };
struct io { struct file *file; enum what what; void *memory; size_t len; off_t offset; callback done; void *argument; };
static void *later(void *argument) {
    struct io *io = argument;
    ssize_t result = -1;
    usleep(io->file->late ? 1500000 : 300);
    errno = io->file->error;
    if (!io->file->error) switch (io->what) {
        // A short answer, as from the end of a brick's stripe.
        case READ: result = pread(io->file->fd, io->memory, io->len > 100000 ? 100000 : io->len, io->offset); break;
        case WRITE: result = pwrite(io->file->fd, io->memory, io->len > 100000 ? 100000 : io->len, io->offset); break;
        case SYNC: result = fsync(io->file->fd); break;
        case TRUNCATE: result = ftruncate(io->file->fd, io->offset); break;
        case DISCARD: result = fallocate(io->file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, io->offset, io->len); break;
        case ZEROFILL: {
            void *zeroes = calloc(1, io->len);
            result = pwrite(io->file->fd, zeroes, io->len, io->offset) < 0 ? -1 : 0;
            free(zeroes);
        }
    }
    // As libgfapi: nobody hears of calls on closed files.
    if (!io->file->closed) io->done(io->file, result, 0, 0, io->argument);
    free(io);
    return 0;
}
static int start(struct io io) {
    pthread_t thread;
    struct io *it = malloc(sizeof *it);
    *it = io;
    pthread_create(&thread, 0, later, it);
    pthread_detach(thread);
    return 0;
}
#define NEW(name) __asm__(".symver new_" #name "," #name "@@GFAPI_6.0")
#define OLD(name) int old_##name(void) { errno = ENOSYS; return -1; } __asm__(".symver old_" #name "," #name "@GFAPI_3.4.0")
int new_glfs_pread_async(struct file *file, void *out, size_t len, off_t offset, int flags, callback done, void *argument) {
    return start((struct io){file, READ, out, len, offset, done, argument});
}
int new_glfs_pwrite_async(struct file *file, const void *data, int len, off_t offset, int flags, callback done, void *argument) {
    return start((struct io){file, WRITE, (void *)data, len, offset, done, argument});
}
int new_glfs_fsync_async(struct file *file, callback done, void *argument) { return start((struct io){file, SYNC, 0, 0, 0, done, argument}); }
int new_glfs_fdatasync_async(struct file *file, callback done, void *argument) { return start((struct io){file, SYNC, 0, 0, 0, done, argument}); }
int new_glfs_ftruncate_async(struct file *file, off_t len, callback done, void *argument) {
    return start((struct io){file, TRUNCATE, 0, 0, len, done, argument});
}
int new_glfs_discard_async(struct file *file, off_t offset, size_t len, callback done, void *argument) {
    return start((struct io){file, DISCARD, 0, len, offset, done, argument});
}
int new_glfs_zerofill_async(struct file *file, off_t offset, off_t len, callback done, void *argument) {
    return start((struct io){file, ZEROFILL, 0, len, offset, done, argument});
}
NEW(glfs_zerofill_async);
NEW(glfs_pread_async);
NEW(glfs_pwrite_async);
NEW(glfs_fsync_async);
NEW(glfs_fdatasync_async);
NEW(glfs_ftruncate_async);
NEW(glfs_discard_async);
OLD(glfs_pread_async);
OLD(glfs_pwrite_async);
OLD(glfs_fsync_async);
OLD(glfs_fdatasync_async);
OLD(glfs_ftruncate_async);

int glfs_stat(struct fs *fs, const char *path, struct stat *out) { return stat(AT(path), out); }
int glfs_lstat(struct fs *fs, const char *path, struct stat *out) { return lstat(AT(path), out); }
int glfs_access(struct fs *fs, const char *path, int mode) { return access(AT(path), mode); }
int glfs_chmod(struct fs *fs, const char *path, mode_t mode) { return chmod(AT(path), mode); }
int glfs_unlink(struct fs *fs, const char *path) { return unlink(AT(path)); }
int glfs_rename(struct fs *fs, const char *from, const char *to) { return rename(AT(from), AT(to)); }
int glfs_link(struct fs *fs, const char *from, const char *to) { return link(AT(from), AT(to)); }
int glfs_symlink(struct fs *fs, const char *target, const char *path) { return symlink(target, AT(path)); }
int glfs_readlink(struct fs *fs, const char *path, char *out, size_t size) { return readlink(AT(path), out, size); }
int glfs_mkdir(struct fs *fs, const char *path, mode_t mode) { return mkdir(AT(path), mode); }
int glfs_rmdir(struct fs *fs, const char *path) { return rmdir(AT(path)); }
void *glfs_opendir(struct fs *fs, const char *path) { return opened(path, -1, opendir(AT(path))); }
int glfs_closedir(struct file *file) {
    int code = closedir(file->dir);
    free(file);
    return code;
}
struct dirent *glfs_readdir(struct file *file) { return readdir(file->dir); }
struct dirent *glfs_readdirplus(struct file *file, struct stat *out) {
    struct dirent *entry = readdir(file->dir);
    if (entry && fstatat(dirfd(file->dir), entry->d_name, out, AT_SYMLINK_NOFOLLOW) != 0) memset(out, 0, sizeof *out);
    errno = 0;
    return entry;
}
int glfs_setxattr(struct fs *fs, const char *path, const char *name, const void *value, size_t len, int flags) {
    return setxattr(AT(path), name, value, len, flags);
}
ssize_t glfs_getxattr(struct fs *fs, const char *path, const char *name, void *out, size_t size) { return getxattr(AT(path), name, out, size); }
