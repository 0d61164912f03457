// A librados without a cluster, for crates/drivers/tests/rados.rs. Objects are in memory. An object's number scripts what happens:
// 0xeNNN fails with error NNN (decimal digits in hexadecimal), 0xf1 completes when it is cancelled, 0xf2 completes late, cancelled or not.
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void (*callback)(void *, void *);
struct completion { callback done; void *argument; int code; char *out; size_t len; unsigned number; int waited, complete; };
struct object { char name[256], locator[32]; char *data; size_t len, pairs; struct pair *map; };
// A key of an object's map.
struct pair { char key[32]; char *value; size_t len; };

// Objects with other locators than the pool's are others.
struct pool { char locator[32]; };

static struct object objects[64];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int clients, pools;

int rados_create2(void **cluster, const char *name, const char *user, uint64_t flags) {
    *cluster = strdup(user);
    return 0;
}
int rados_conf_read_file(void *cluster, const char *path) { return path && strstr(path, "missing") ? -ENOENT : 0; }
int rados_conf_set(void *cluster, const char *option, const char *value) { return 0; }
int rados_connect(void *cluster) {
    if (strcmp(cluster, "client.stranger") == 0) return -EACCES;
    clients++;
    return 0;
}
void rados_shutdown(void *cluster) {
    clients--;
    free(cluster);
}
int rados_ioctx_create(void *cluster, const char *pool, void **out) {
    if (strcmp(pool, "bench") != 0) return -ENOENT;
    pools++;
    *out = calloc(1, sizeof(struct pool));
    return 0;
}
void rados_ioctx_destroy(void *pool) {
    pools--;
    free(pool);
}
void rados_ioctx_locator_set_key(void *pool, const char *key) { strcpy(((struct pool *)pool)->locator, key ? key : ""); }
void rados_ioctx_set_namespace(void *pool, const char *name) {}

int rados_aio_create_completion(void *argument, callback done, callback safe, void **out) {
    struct completion *made = calloc(1, sizeof *made);
    made->done = done;
    made->argument = argument;
    made->waited = !done;
    *out = made;
    return 0;
}
int rados_aio_get_return_value(void *completion) { return ((struct completion *)completion)->code; }
void rados_aio_release(void *completion) { free(completion); }

static void *later(void *argument) {
    struct completion *it = argument;
    usleep(it->number == 0xf2 ? 1500000 : 500);
    // A late answer writes to memory that must still be there.
    if (it->number == 0xf2 && it->out) memset(it->out, 'l', it->len);
    if (it->waited) __atomic_store_n(&it->complete, 1, __ATOMIC_RELEASE);
    else it->done(it, it->argument);
    return 0;
}
int rados_aio_wait_for_complete(void *completion) {
    while (!__atomic_load_n(&((struct completion *)completion)->complete, __ATOMIC_ACQUIRE)) usleep(100);
    return 0;
}
static int finish(const char *oid, struct completion *it, int code) {
    pthread_t thread;
    it->number = strtoul(strrchr(oid, '.') + 1, 0, 16);
    it->code = code;
    if (it->number >> 12 == 0xe) it->code = -(int)((it->number >> 8 & 15) * 100 + (it->number >> 4 & 15) * 10 + (it->number & 15));
    if (it->number == 0xf1) return 0;
    pthread_create(&thread, 0, later, it);
    pthread_detach(thread);
    return 0;
}
int rados_aio_cancel(void *pool, void *completion) {
    struct completion *it = completion;
    if (it->number != 0xf1) return -ENOENT;
    it->number = 0;
    it->code = -ECANCELED;
    it->done(it, it->argument);
    return 0;
}

static struct object *find(void *pool, const char *oid, int make) {
    const char *locator = ((struct pool *)pool)->locator;
    for (int at = 0; at < 64; at++)
        if (strcmp(objects[at].name, oid) == 0 && strcmp(objects[at].locator, locator) == 0) return &objects[at];
    for (int at = 0; make && at < 64; at++)
        if (!objects[at].name[0]) return strcpy(objects[at].locator, locator), strcpy(objects[at].name, oid), &objects[at];
    return 0;
}
static int store(void *pool, const char *oid, const char *data, size_t len, int64_t offset, int whole) {
    pthread_mutex_lock(&lock);
    struct object *it = find(pool, oid, 1);
    if (whole) it->len = 0;
    if (offset < 0) offset = it->len;
    if (offset + len > it->len) {
        it->data = realloc(it->data, offset + len);
        if ((size_t)offset > it->len) memset(it->data + it->len, 0, offset - it->len);
        it->len = offset + len;
    }
    memcpy(it->data + offset, data, len);
    pthread_mutex_unlock(&lock);
    return 0;
}
int rados_aio_write_full(void *pool, const char *oid, void *c, const char *data, size_t len) { return finish(oid, c, store(pool, oid, data, len, 0, 1)); }
int rados_aio_write(void *pool, const char *oid, void *c, const char *data, size_t len, uint64_t offset) { return finish(oid, c, store(pool, oid, data, len, offset, 0)); }
int rados_aio_append(void *pool, const char *oid, void *c, const char *data, size_t len) { return finish(oid, c, store(pool, oid, data, len, -1, 0)); }
int rados_aio_read(void *pool, const char *oid, void *c, char *out, size_t len, uint64_t offset) {
    struct completion *completion = c;
    completion->out = out;
    completion->len = len;
    struct object *it = find(pool, oid, 0);
    if (!it) return finish(oid, c, -ENOENT);
    size_t count = offset >= it->len ? 0 : it->len - offset < len ? it->len - offset : len;
    memcpy(out, it->data + offset, count);
    return finish(oid, c, count);
}
int rados_aio_stat(void *pool, const char *oid, void *c, uint64_t *size, time_t *modified) {
    struct object *it = find(pool, oid, 0);
    if (it) *size = it->len;
    return finish(oid, c, it ? 0 : -ENOENT);
}
int rados_aio_remove(void *pool, const char *oid, void *c) {
    struct object *it = find(pool, oid, 0);
    if (it) it->name[0] = 0, it->len = it->pairs = 0;
    return finish(oid, c, it ? 0 : -ENOENT);
}

static void set(struct object *it, const struct pair *pair) {
    size_t at = 0;
    while (at < it->pairs && strcmp(it->map[at].key, pair->key) < 0) at++;
    if (at == it->pairs || strcmp(it->map[at].key, pair->key)) {
        it->map = realloc(it->map, (it->pairs + 1) * sizeof *pair);
        memmove(it->map + at + 1, it->map + at, (it->pairs++ - at) * sizeof *pair);
    } else free(it->map[at].value);
    it->map[at] = *pair;
}

// Either truncates, or sets keys, but none with a number that ends in 5 of the object 0xa1.
struct write { uint64_t size; size_t pairs; struct pair *map; };
void *rados_create_write_op(void) { return calloc(1, sizeof(struct write)); }
void rados_release_write_op(void *write) {
    free(((struct write *)write)->map);
    free(write);
}
void rados_write_op_truncate(void *write, uint64_t size) { ((struct write *)write)->size = size; }
void rados_write_op_omap_set(void *write, const char *const *keys, const char *const *values, const size_t *lens, size_t count) {
    struct write *it = write;
    it->pairs = count;
    it->map = calloc(count, sizeof *it->map);
    for (size_t at = 0; at < count; at++) {
        strcpy(it->map[at].key, keys[at]);
        it->map[at].len = lens[at];
        it->map[at].value = memcpy(malloc(lens[at]), values[at], lens[at]);
    }
}
int rados_aio_write_op_operate(void *write, void *pool, void *c, const char *oid, int64_t *modified, int flags) {
    struct write *op = write;
    size_t size = op->size;
    pthread_mutex_lock(&lock);
    struct object *it = find(pool, oid, 1);
    int forgets = strtoul(strrchr(oid, '.') + 1, 0, 16) == 0xa1;
    for (size_t at = 0; at < op->pairs; at++)
        if (!forgets || !strchr(op->map[at].key, '5')) set(it, &op->map[at]);
    pthread_mutex_unlock(&lock);
    if (op->map) return finish(oid, c, 0);
    if (it->len > size) it->len = size;
    else if (it->len < size) store(pool, oid, "", 1, size - 1, 0);
    return finish(oid, c, 0);
}

// Reads keys, or calls a method: hello.say_hello greets its input, and the value of a key of the object 0xa2 is wrong.
struct found { size_t at, pairs; struct pair map[]; };
struct read {
    const char *const *keys;
    size_t count;
    struct found *found;
    char class[32], method[32], input[64], *output;
    size_t room, *used;
    int *result, exists;
};
void *rados_create_read_op(void) { return calloc(1, sizeof(struct read)); }
void rados_release_read_op(void *read) { free(read); }
void rados_read_op_assert_exists(void *read) { ((struct read *)read)->exists = 1; }
void rados_read_op_omap_get_vals_by_keys(void *read, const char *const *keys, size_t count, struct found **found, int *result) {
    struct read *it = read;
    *found = calloc(1, sizeof **found + count * sizeof(struct pair));
    it->keys = keys;
    it->count = count;
    it->found = *found;
    it->result = result;
}
int rados_omap_get_next(struct found *found, char **key, char **value, size_t *len) {
    if (found->at == found->pairs) return *key = *value = 0, *len = 0, 0;
    struct pair *it = &found->map[found->at++];
    *key = it->key;
    *value = it->value;
    *len = it->len;
    return 0;
}
void rados_omap_get_end(struct found *found) {
    for (size_t at = 0; at < found->pairs; at++) free(found->map[at].value);
    free(found);
}
void rados_read_op_exec_user_buf(void *read, const char *class, const char *method, const char *input, size_t len, char *output, size_t room, size_t *used, int *result) {
    struct read *it = read;
    strcpy(it->class, class);
    strcpy(it->method, method);
    memcpy(it->input, input, len < 63 ? len : 63);
    it->output = output;
    it->room = room;
    it->used = used;
    it->result = result;
}
static int call(struct read *it, struct object *object) {
    if (strcmp(it->class, "secret") == 0) return -EPERM;
    if (strcmp(it->class, "hello") || strcmp(it->method, "say_hello")) return -EOPNOTSUPP;
    if (it->exists && !object) return -ENOENT;
    size_t len = strlen("Hello, ") + strlen(it->input);
    *it->used = len > it->room ? 0 : len;
    *it->result = len > it->room ? -ERANGE : 0;
    if (len <= it->room) memcpy(stpcpy(it->output, "Hello, "), it->input, strlen(it->input));
    return 0;
}
int rados_aio_read_op_operate(void *read, void *pool, void *c, const char *oid, int flags) {
    struct read *it = read;
    pthread_mutex_lock(&lock);
    struct object *object = find(pool, oid, 0);
    pthread_mutex_unlock(&lock);
    if (it->class[0]) return finish(oid, c, call(it, object));
    struct found *found = it->found;
    *it->result = 0;
    pthread_mutex_lock(&lock);
    for (size_t key = 0; object && key < it->count; key++)
        for (size_t at = 0; at < object->pairs; at++)
            if (strcmp(object->map[at].key, it->keys[key]) == 0) {
                struct pair *pair = &found->map[found->pairs++];
                *pair = object->map[at];
                pair->value = memcpy(malloc(pair->len), pair->value, pair->len);
                if (strtoul(strrchr(oid, '.') + 1, 0, 16) == 0xa2) pair->value[0] ^= 1;
            }
    pthread_mutex_unlock(&lock);
    return finish(oid, c, object ? 0 : -ENOENT);
}
void rados_set_pool_full_try(void *pool) {}

// A list: cursors are positions in the table of objects, and a page has at most three names.
struct item { size_t len; char *name; size_t more[4]; };
void *rados_object_list_begin(void *pool) { return calloc(1, sizeof(int)); }
void *rados_object_list_end(void *pool) {
    int *end = malloc(sizeof *end);
    *end = 64;
    return end;
}
int rados_object_list_cursor_cmp(void *pool, void *one, void *other) { return *(int *)one - *(int *)other; }
void rados_object_list_cursor_free(void *pool, void *cursor) { free(cursor); }
void rados_object_list_slice(void *pool, void *start, void *end, size_t number, size_t count, void **first, void **last) {
    **(int **)first = 64 * number / count;
    **(int **)last = 64 * (number + 1) / count;
}
int rados_object_list(void *pool, void *start, void *end, size_t size, const char *filter, size_t filter_len, struct item *items, void **next) {
    int found = 0, at = *(int *)start;
    pthread_mutex_lock(&lock);
    for (; at < *(int *)end && found < 3; at++)
        if (objects[at].name[0]) items[found++] = (struct item){
            strlen(objects[at].name), strdup(objects[at].name), {0, 0, strlen(objects[at].locator), (size_t)objects[at].locator}};
    pthread_mutex_unlock(&lock);
    **(int **)next = at;
    return found;
}
void rados_object_list_free(size_t size, struct item *items) {
    for (size_t at = 0; at < size; at++) free(items[at].name);
}
// Two OSDs at addresses of their own. The text N hashes to the group N * 5 % 8, and even groups have their primary at the first.
int rados_mon_command(void *cluster, const char **command, size_t commands, const char *in, size_t in_len, char **out, size_t *out_len, char **status, size_t *status_len) {
    char answer[400] = "{}";
    *status = 0;
    if (strstr(*command, "refused")) return -EACCES;
    if (strstr(*command, "osd dump"))
        strcpy(answer, "{\"osds\": [{\"osd\": 0, \"up\": 1, \"public_addr\": \"10.0.0.1:6800/1\"},"
                       " {\"osd\": 1, \"up\": 1, \"public_addr\": \"10.0.0.2:6800/1\"}, {\"osd\": 2, \"up\": 1, \"public_addr\": \"10.0.0.3:6800/1\"}]}");
    if (strstr(*command, "osd pool get") && strstr(*command, "pg_num")) strcpy(answer, "{\"pg_num\": 8}");
    const char *object = strstr(*command, "\"object\":\"");
    if (strstr(*command, "osd map") && object && strstr(*command, "\"nspace\":\"\"")) {
        int group = atoi(object + 10) * 5 % 8;
        sprintf(answer, "{\"pgid\": \"1.%d\", \"acting_primary\": %d}", group, group % 2);
    }
    *out = strdup(answer);
    *out_len = strlen(answer);
    return 0;
}
void rados_buffer_free(char *buffer) { free(buffer); }
