// A librbd without a cluster, for crates/drivers/tests/rbd.rs. Images are in memory; these exist from the beginning: "theirs" with an
// XFS file system, "blank", "watched" with a client that has it open, "failing" whose operations end with an error, "slow" whose
// reads end late, "stuck" that takes long to open, and "busy" that can be removed only at the third attempt.
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define MIB (1 << 20)
typedef void (*callback)(void *, void *);
struct image { char name[96]; char *data; uint64_t bytes, features; int order, open, watchers, attempts; };
struct completion { callback done; void *argument; ssize_t code; struct image *image; char *out; size_t len; };
struct options { uint64_t features; int order; };
struct info { uint64_t bytes, object_bytes, objects; int order; char prefix[24]; int64_t parent_pool; char parent[96]; };
struct watcher { char *address; int64_t client; uint64_t cookie; };

static struct image images[16];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct image *make(const char *name, uint64_t bytes, uint64_t features, int order) {
    for (int at = 0; at < 16; at++)
        if (!images[at].name[0]) {
            images[at] = (struct image){.data = calloc(1, bytes), .bytes = bytes, .features = features, .order = order};
            return strncpy(images[at].name, name, 95), &images[at];
        }
    abort();
}
__attribute__((constructor)) static void begin(void) {
    memcpy(make("theirs", MIB, 61, 22)->data, "XFSB", 4);
    make("watched", MIB, 61, 22)->watchers = 1;
    const char *others[] = {"blank", "failing", "slow", "stuck", "busy"};
    for (int at = 0; at < 5; at++) make(others[at], 4 * MIB, 61, 22);
}
static struct image *find(const char *name) {
    for (int at = 0; at < 16; at++)
        if (strcmp(images[at].name, name) == 0) return &images[at];
    return 0;
}

static int open_image(const char *name, void **image) {
    struct image *it = find(name);
    if (!it) return -ENOENT;
    if (strcmp(name, "stuck") == 0) usleep(3000000);
    __atomic_add_fetch(&it->open, 1, __ATOMIC_SEQ_CST);
    *image = it;
    return 0;
}
int rbd_open(void *pool, const char *name, void **image, const char *snapshot) { return open_image(name, image); }
int rbd_open_read_only(void *pool, const char *name, void **image, const char *snapshot) { return open_image(name, image); }
int rbd_close(void *image) { return __atomic_sub_fetch(&((struct image *)image)->open, 1, __ATOMIC_SEQ_CST) < 0 ? -EINVAL : 0; }
int rbd_stat(void *image, struct info *info, size_t bytes) {
    struct image *it = image;
    if (bytes != sizeof *info) return -EINVAL;
    *info = (struct info){.bytes = it->bytes, .object_bytes = 1ull << it->order, .objects = it->bytes >> it->order, .order = it->order};
    return 0;
}
int rbd_get_features(void *image, uint64_t *features) {
    *features = ((struct image *)image)->features;
    return 0;
}
int rbd_watchers_list(void *image, struct watcher *watchers, size_t *count) {
    int there = ((struct image *)image)->watchers;
    if (there) watchers[0] = (struct watcher){strdup("10.0.0.1:0/77"), 4123, 1};
    *count = there;
    return 0;
}
void rbd_watchers_list_cleanup(struct watcher *watchers, size_t count) {
    for (size_t at = 0; at < count; at++) free(watchers[at].address);
}
ssize_t rbd_read(void *image, uint64_t offset, size_t len, char *out) {
    struct image *it = image;
    if (offset + len > it->bytes) return -EINVAL;
    memcpy(out, it->data + offset, len);
    return len;
}
void rbd_image_options_create(void **options) {
    *options = calloc(1, sizeof(struct options));
    *(struct options *)*options = (struct options){61, 22};
}
void rbd_image_options_destroy(void *options) { free(options); }
int rbd_image_options_set_uint64(void *options, int option, uint64_t value) {
    if (option == 1) ((struct options *)options)->features = value;
    else if (option == 2) ((struct options *)options)->order = value;
    else return -EINVAL;
    return 0;
}
int rbd_image_options_set_string(void *options, int option, const char *value) { return strcmp(value, "missing") ? 0 : -ENOENT; }
int rbd_create4(void *pool, const char *name, uint64_t bytes, void *options) {
    struct options *wanted = options;
    if (find(name)) return -EEXIST;
    make(name, bytes, wanted->features, wanted->order);
    return 0;
}
int rbd_remove(void *pool, const char *name) {
    struct image *it = find(name);
    if (!it) return -ENOENT;
    if (it->open || (strcmp(name, "busy") == 0 && it->attempts++ < 2)) return -EBUSY;
    free(it->data);
    it->name[0] = 0;
    return 0;
}

int rbd_aio_create_completion(void *argument, callback done, void **out) {
    struct completion *made = calloc(1, sizeof *made);
    made->done = done;
    made->argument = argument;
    *out = made;
    return 0;
}
ssize_t rbd_aio_get_return_value(void *completion) { return ((struct completion *)completion)->code; }
void rbd_aio_release(void *completion) { free(completion); }

static void *later(void *argument) {
    struct completion *it = argument;
    int slow = it->out && strcmp(it->image->name, "slow") == 0;
    usleep(slow ? 1500000 : 500);
    // A late answer writes to memory that must still be there.
    if (slow) memset(it->out, 'l', it->len);
    it->done(it, it->argument);
    return 0;
}
static int finish(struct image *image, struct completion *it, ssize_t code) {
    pthread_t thread;
    it->image = image;
    it->code = strcmp(image->name, "failing") ? code : -EIO;
    pthread_create(&thread, 0, later, it);
    pthread_detach(thread);
    return 0;
}
int rbd_aio_read(void *image, uint64_t offset, size_t len, char *out, void *c) {
    struct completion *it = c;
    it->out = out;
    it->len = len;
    return finish(image, c, rbd_read(image, offset, len, out));
}
static int change(struct image *it, uint64_t offset, size_t len, const char *data, void *c) {
    if (offset + len > it->bytes) return -EINVAL;
    pthread_mutex_lock(&lock);
    if (data) memcpy(it->data + offset, data, len);
    else memset(it->data + offset, 0, len);
    pthread_mutex_unlock(&lock);
    return finish(it, c, 0);
}
int rbd_aio_write(void *image, uint64_t offset, size_t len, const char *data, void *c) { return change(image, offset, len, data, c); }
int rbd_aio_write_zeroes(void *image, uint64_t offset, size_t len, void *c, int zeroes, int flags) { return change(image, offset, len, 0, c); }
// As librbd, it leaves small ranges as they are.
int rbd_aio_discard(void *image, uint64_t offset, uint64_t len, void *c) { return len < 65536 ? finish(image, c, 0) : change(image, offset, len, 0, c); }
int rbd_aio_flush(void *image, void *c) { return finish(image, c, 0); }
