/*
 * Every allocation and every file system call of the store fails, once and for good, in every way it can: whatever was
 * stored stays stored, whatever failed says so, nothing leaks.
 *
 * The calls are caught by the linker (--wrap), so the library is the one that is shipped. index.db's own calls are not
 * caught: they are SQLite's, which tests the same of itself.
 */
#include "effort.h"
#include "fixture.h"

#include "store/evict/evict.h"

#include <guardcache/settings.h>

#include <dirent.h>
#include <sys/mman.h>
#include <sys/uio.h>

/* ---- the faults ---- */

/* name, errno, whether it is met by allocations; what it is called */
#define FAULT_MAP(X)                                                                                  \
    X(MEMORY, ENOMEM, "an allocation fails")                                                          \
    X(IO, EIO, "input or output error")                                                               \
    X(SPACE, ENOSPC, "no space left")                                                                 \
    X(DESCRIPTORS, EMFILE, "no descriptor left")                                                      \
    X(READ_ONLY, EROFS, "the file system turns read-only")                                            \
    X(INTERRUPT, EINTR, "interrupted by a signal")                                                    \
    X(SHORT, 0, "fewer bytes are read or written than asked for")

typedef enum fault_kind {
#define X(name, reason, text) FAULT_##name,
    FAULT_MAP(X)
#undef X
    FAULT_COUNT
} fault_kind;

static int const reasons[] = {
#define X(name, reason, text) reason,
    FAULT_MAP(X)
#undef X
};

static char const *const texts[] = {
#define X(name, reason, text) text,
    FAULT_MAP(X)
#undef X
};

/* What the wrapped functions can be met by. */
#define BIT(name) (1u << FAULT_##name)
#define ALLOCATES BIT(MEMORY)
#define OPENS (BIT(IO) | BIT(DESCRIPTORS) | BIT(INTERRUPT))
#define MAKES (BIT(IO) | BIT(SPACE) | BIT(READ_ONLY))
#define READS (BIT(IO) | BIT(INTERRUPT) | BIT(SHORT))
#define WRITES (BIT(IO) | BIT(SPACE) | BIT(INTERRUPT) | BIT(SHORT))
#define ASKS BIT(IO)

static struct {
    bool armed, persistent;
    fault_kind fault;
    unsigned countdown;
    unsigned met; /* calls that could have failed */
} plan;

/* Whether this call is the one. */
static bool
fails(unsigned possible)
{
    if (!plan.armed || (possible & 1u << plan.fault) == 0)
        return false;
    plan.met++;
    bool now = plan.met == plan.countdown || (plan.persistent && plan.met > plan.countdown);
    if (now)
        errno = reasons[plan.fault];
    return now;
}

static void
arm(fault_kind fault, bool persistent, unsigned countdown)
{
    plan.fault = fault;
    plan.persistent = persistent;
    plan.countdown = countdown;
    plan.met = 0;
    plan.armed = true;
}

#define WRAP(type, name, parameters, arguments, possible, failed)                                     \
    type __real_##name parameters;                                                                    \
    type __wrap_##name parameters;                                                                    \
    type __wrap_##name parameters                                                                     \
    {                                                                                                 \
        return fails(possible) ? (failed) : __real_##name arguments;                                  \
    }

WRAP(void *, malloc, (size_t size), (size), ALLOCATES, NULL)
WRAP(void *, calloc, (size_t count, size_t size), (count, size), ALLOCATES, NULL)
WRAP(void *, realloc, (void *old, size_t size), (old, size), ALLOCATES, NULL)
WRAP(char *, strdup, (char const *text), (text), ALLOCATES, NULL)
WRAP(int, openat, (int at, char const *path, int flags, mode_t mode), (at, path, flags, mode), OPENS, -1)
WRAP(int, open, (char const *path, int flags, mode_t mode), (path, flags, mode), OPENS, -1)
WRAP(long, syscall, (long number, long a, long b, long c, long d), (number, a, b, c, d), OPENS | MAKES, -1)
WRAP(DIR *, fdopendir, (int fd), (fd), ALLOCATES, NULL)
WRAP(int, fstat, (int fd, struct stat *facts), (fd, facts), ASKS, -1)
WRAP(int, fstatat, (int at, char const *path, struct stat *facts, int flags), (at, path, facts, flags), ASKS, -1)
WRAP(int, statx, (int at, char const *path, int flags, unsigned mask, struct statx *facts),
     (at, path, flags, mask, facts), ASKS, -1)
WRAP(int, mkdirat, (int at, char const *path, mode_t mode), (at, path, mode), MAKES, -1)
WRAP(int, renameat, (int a, char const *from, int b, char const *to), (a, from, b, to), MAKES, -1)
WRAP(int, linkat, (int a, char const *from, int b, char const *to, int flags), (a, from, b, to, flags), MAKES, -1)
WRAP(int, unlinkat, (int at, char const *path, int flags), (at, path, flags), BIT(IO) | BIT(READ_ONLY), -1)
WRAP(int, ftruncate, (int fd, off_t size), (fd, size), BIT(IO) | BIT(INTERRUPT), -1)
WRAP(int, posix_fallocate, (int fd, off_t at, off_t size), (fd, at, size), BIT(SPACE), ENOSPC)
WRAP(void *, mmap, (void *at, size_t size, int access, int flags, int fd, off_t offset),
     (at, size, access, flags, fd, offset), ALLOCATES, MAP_FAILED)

ssize_t __real_pread(int fd, void *to, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *to, size_t size, off_t at);
ssize_t
__wrap_pread(int fd, void *to, size_t size, off_t at)
{
    if (fails(READS)) {
        if (plan.fault != FAULT_SHORT)
            return -1;
        size = (size + 1) / 2;
    }
    return __real_pread(fd, to, size, at);
}

ssize_t __real_pwrite(int fd, void const *from, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, void const *from, size_t size, off_t at);
ssize_t
__wrap_pwrite(int fd, void const *from, size_t size, off_t at)
{
    if (fails(WRITES)) {
        if (plan.fault != FAULT_SHORT)
            return -1;
        size = (size + 1) / 2;
    }
    return __real_pwrite(fd, from, size, at);
}

/* On a full disk a write often gets half of its bytes out first. */
ssize_t __real_writev(int fd, struct iovec const *parts, int count);
ssize_t __wrap_writev(int fd, struct iovec const *parts, int count);
ssize_t
__wrap_writev(int fd, struct iovec const *parts, int count)
{
    if (!fails(WRITES))
        return __real_writev(fd, parts, count);
    if (plan.fault == FAULT_SPACE || plan.fault == FAULT_SHORT) {
        int whole = 0;
        while (whole < count && parts[whole].iov_len == 0)
            whole++;
        struct iovec half = { parts[whole].iov_base, (parts[whole].iov_len + 1) / 2 };
        ssize_t written = __real_writev(fd, &half, 1);
        if (plan.fault == FAULT_SHORT)
            return written;
    }
    errno = reasons[plan.fault];
    return -1;
}

/* Nothing is cut off here: syncing would only take time. */
int __wrap_fdatasync(int fd);
int
__wrap_fdatasync(int fd)
{
    (void)fd;
    return fails(BIT(IO) | BIT(SPACE)) ? -1 : 0;
}

int __wrap_sync_file_range(int fd, off_t at, off_t size, unsigned flags);
int
__wrap_sync_file_range(int fd, off_t at, off_t size, unsigned flags)
{
    (void)fd, (void)at, (void)size, (void)flags;
    return fails(BIT(IO) | BIT(SPACE)) ? -1 : 0;
}

int __wrap_fsync(int fd);
int
__wrap_fsync(int fd)
{
    (void)fd;
    return fails(BIT(IO) | BIT(SPACE)) ? -1 : 0;
}

/* ---- what must hold ---- */

static size_t
count_descriptors(void)
{
    size_t count = 0;
    DIR *stream = opendir("/proc/self/fd");

    assert_non_null(stream);
    while (readdir(stream) != NULL)
        count++;
    closedir(stream);
    return count;
}

struct scene {
    test_dir *fixture;
    gci_store_options options;
    uint64_t next;   /* number of the next new key */
};

enum { KEPT = 6, SMALL = 300, MIDDLE = FIRST_IN_PACK, LARGE = OWN_FILE };

static size_t
size_of_kept(uint64_t key)
{
    static size_t const sizes[] = { SMALL, LARGE, MIDDLE };

    return sizes[key % 3];
}

/* On a full disk old entries make room for new ones; otherwise they all stay. */
static void
check_kept(gci_store *store)
{
    for (uint64_t key = 0; key < KEPT; key++) {
        gci_found found = look(store, key, 1, size_of_kept(key));
        if (plan.fault == FAULT_SPACE)
            assert_true(found == GCI_FOUND || found == GCI_EVICTED || found == GCI_ABSENT);
        else
            assert_int_equal(found, GCI_FOUND);
    }
}

static void
insert_kept(gci_store *store)
{
    for (uint64_t key = 0; key < KEPT; key++)
        insert(store, key, 1, size_of_kept(key));
}

/* One run of an operation, with the fault in it. *out_status is what it said. */
typedef void (*operation)(struct scene *scene, gci_store *store, gcache_status *out_status);

/* The memory of the test itself is not to fail. */
static gcache_status
insert_under_fault(gci_store *store, uint64_t key, uint64_t variant, size_t size)
{
    gci_inserted inserted;
    made_record made;

    plan.armed = false;
    char *payload = payload_of(key ^ variant << 32, size);
    plan.armed = true;
    gcache_status status = gci_store_insert(store, record_of(&made, key, variant), gci_view_of(payload, size), NULL,
                                            &inserted, NULL);
    free(payload);
    return status;
}

static void
insert_small(struct scene *scene, gci_store *store, gcache_status *out_status)
{
    *out_status = insert_under_fault(store, 1000 + scene->next, 1, SMALL);
}

/* In the candidate index, too large for a pool. */
static void
insert_middle(struct scene *scene, gci_store *store, gcache_status *out_status)
{
    *out_status = insert_under_fault(store, 1000 + scene->next, 1, MIDDLE);
}

static void
insert_large(struct scene *scene, gci_store *store, gcache_status *out_status)
{
    *out_status = insert_under_fault(store, 1000 + scene->next, 1, LARGE);
}

/* Under a key that has candidates: one more is appended. */
static void
insert_beside(struct scene *scene, gci_store *store, gcache_status *out_status)
{
    *out_status = insert_under_fault(store, 0, 1000 + scene->next, SMALL);
}

/* What was stored once takes its own place: check_kept asks whether it is still there. */
static void
renew_kept(struct scene *scene, gci_store *store, gcache_status *out_status)
{
    gci_store_options options = scene->options;

    (void)store;
    options.renew = true;
    for (uint64_t key = 0; key < 3 && *out_status == GCACHE_OK; key++) {
        plan.armed = false;
        gci_store *renewing = fixture_open_with(scene->fixture, options);
        /* The newest of its key is as new as can be. */
        insert(renewing, key, 2, size_of_kept(key));
        plan.armed = true;
        *out_status = insert_under_fault(renewing, key, 1, size_of_kept(key));
        gci_store_close(renewing);
    }
}

static gcache_status
look_under_fault(gci_store *store, uint64_t number)
{
    gcache_key key = key_of(number);
    gci_candidates *set;
    gci_payload payload;

    gci_found found = gci_store_candidates(store, &key, &set, NULL);
    if (found != GCI_FOUND)
        return found == GCI_UNREADABLE ? GCACHE_ERROR_IO : GCACHE_ERROR_CORRUPT;
    found = gci_store_payload(store, set->items[0], &payload, NULL);
    if (found == GCI_FOUND)
        gci_payload_release(&payload);
    gci_candidates_release(set);
    return found == GCI_FOUND ? GCACHE_OK : found == GCI_UNREADABLE ? GCACHE_ERROR_IO : GCACHE_ERROR_CORRUPT;
}

/* A read that is refused is no damage. */
static void
look_up(struct scene *scene, gci_store *store, gcache_status *out_status)
{
    (void)scene;
    for (uint64_t key = 0; key < 3; key++) {
        *out_status = look_under_fault(store, key);
        assert_int_not_equal(*out_status, GCACHE_ERROR_CORRUPT);
    }
}

static void
evict_one(struct scene *scene, gci_store *store, gcache_status *out_status)
{
    gci_inserted inserted;

    (void)scene;
    plan.armed = false;
    inserted = insert(store, 500, 1, LARGE);
    gcache_key key = key_of(500);
    plan.armed = true;
    *out_status = gci_store_evict(store, &key, inserted.id, NULL);
}

static void
collect(struct scene *scene, gci_store *store, gcache_status *out_status)
{
    gcache_gc_options options = { 0 };
    gcache_collected collected;

    (void)scene;
    *out_status = gci_store_gc(store, &options, &collected, NULL);
}

static void
repair(struct scene *scene, gci_store *store, gcache_status *out_status)
{
    gcache_maintenance_options options = { 0 };
    gcache_repaired repaired;

    (void)scene;
    *out_status = gci_store_repair(store, &options, &repaired, NULL);
}

static void
reopen(struct scene *scene, gci_store *store, gcache_status *out_status)
{
    gci_store *another;

    (void)store;
    *out_status = gci_store_open(scene->fixture->directory, &scene->options, &another, NULL);
    gci_store_close(another);
}

/* ---- what is made anew ---- */

/* Somebody else's bytes in a file's place; none: it is removed. */
static void
spoil(struct scene *scene, char const *name, char const *content)
{
    char path[512];

    plan.armed = false;
    path_in(scene->fixture, name, path);
    unlink(path);
    FILE *file = content != NULL ? fopen(path, "w") : NULL;
    if (file != NULL) {
        fputs(content, file);
        fclose(file);
    }
    plan.armed = true;
}

static void
open_and_insert(struct scene *scene, gcache_status *out_status)
{
    gci_store *another;

    *out_status = gci_store_open(scene->fixture->directory, &scene->options, &another, NULL);
    if (*out_status == GCACHE_OK)
        *out_status = insert_under_fault(another, 1000 + scene->next, 1, SMALL);
    gci_store_close(another);
}

static void
mend_format(struct scene *scene, gci_store *store, gcache_status *out_status)
{
    (void)store;
    spoil(scene, "format", scene->next % 2 == 0 ? "not a format\n" : NULL);
    open_and_insert(scene, out_status);
}

static void
mend_tag(struct scene *scene, gci_store *store, gcache_status *out_status)
{
    (void)store;
    spoil(scene, "CACHEDIR.TAG", scene->next % 2 == 0 ? "" : NULL);
    open_and_insert(scene, out_status);
}

static void
replace_generations(struct scene *scene, gci_store *store, gcache_status *out_status)
{
    (void)store;
    spoil(scene, "generations", scene->next % 2 == 0 ? "no table" : NULL);
    open_and_insert(scene, out_status);
}

static void
remake_locks(struct scene *scene, gci_store *store, gcache_status *out_status)
{
    static char const *const names[] = { "locks/keys", "locks/evict", "locks/index", "locks/attachments", "segment" };

    (void)store;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        spoil(scene, names[i], NULL);
    open_and_insert(scene, out_status);
}

/* Written or not, it can be read: the new value or the one before. */
static void
write_setting(struct scene *scene, gci_store *store, gcache_status *out_status)
{
    char const *directory = scene->fixture->directory;
    gcache_settings *settings = NULL;

    (void)store;
    *out_status = gcache_settings_write(directory, GCACHE_TRUST_OWNER, "", "memory", scene->next % 2 == 0 ? "32M" : "48M",
                                        NULL, NULL, NULL);
    plan.armed = false;
    assert_int_equal(gcache_settings_load(directory, "", NULL, NULL, &settings, NULL), GCACHE_OK);
    char const *value = gcache_settings_get(settings, GCACHE_SETTING_MEMORY)->value;
    if (*out_status == GCACHE_OK)
        assert_string_equal(value, scene->next % 2 == 0 ? "32M" : "48M");
    gcache_settings_free(settings);
    plan.armed = true;
}

static void
read_settings(struct scene *scene, gci_store *store, gcache_status *out_status)
{
    gcache_settings *settings = NULL;

    (void)store;
    *out_status = gcache_settings_load(scene->fixture->directory, "", NULL, NULL, &settings, NULL);
    gcache_settings_free(*out_status == GCACHE_OK ? settings : NULL);
}

static int
compare_newest(void *state, uint64_t at_ns, gci_view entry)
{
    char const **wanted = state;

    (void)at_ns;
    if (gci_view_is(entry, *wanted))
        *wanted = NULL;
    return 1;
}

static void
assert_newest(gci_store *store, char const *wanted)
{
    assert_int_equal(gci_store_journal_each(store, compare_newest, (void *)&wanted, NULL), GCACHE_OK);
    assert_null(wanted);
}

/* An entry that finds the file full: written or not, and the next one is. */
static void
end_journal(struct scene *scene, gci_store *store, gcache_status *out_status)
{
    char path[512];

    plan.armed = false;
    path_in(scene->fixture, "journal", path);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0 && ftruncate(fd, (off_t)GCI_JOURNAL_FILE_BYTES) == 0 && close(fd) == 0);
    plan.armed = true;
    *out_status = gci_store_journal_append(store, gci_view_text("under a fault")) ? GCACHE_OK : GCACHE_ERROR_IO;
    plan.armed = false;
    if (*out_status == GCACHE_OK)
        assert_newest(store, "under a fault");
    assert_true(gci_store_journal_append(store, gci_view_text("after it")));
    assert_newest(store, "after it");
    plan.armed = true;
}

/* An insert that succeeded is there; one that failed left nothing that could be found, unless even that couldn't be done. */
static void
check_insert(gci_store *store, uint64_t key, uint64_t variant, size_t size, gcache_status status)
{
    gci_found found = look(store, key, variant, size);

    if (status == GCACHE_OK)
        assert_int_equal(found, GCI_FOUND);
    else if (!plan.persistent)
        assert_true(found == GCI_ABSENT || found == GCI_EVICTED);
    else
        assert_int_not_equal(found, GCI_CORRUPT);
}

static void
check_scene(struct scene *scene, gci_store *store, operation run, gcache_status status)
{
    bool opened = run == mend_format || run == mend_tag || run == replace_generations || run == remake_locks;

    check_kept(store);
    if (run == insert_small || opened)
        check_insert(store, 1000 + scene->next, 1, SMALL, status);
    else if (run == insert_middle)
        check_insert(store, 1000 + scene->next, 1, MIDDLE, status);
    else if (run == insert_large)
        check_insert(store, 1000 + scene->next, 1, LARGE, status);
    else if (run == insert_beside)
        check_insert(store, 0, 1000 + scene->next, SMALL, status);
    else if (run == evict_one && status == GCACHE_OK)
        assert_int_not_equal(look(store, 500, 1, LARGE), GCI_FOUND);
}

/* Runs with the fault at the given call. false: the operation made fewer calls, so all have had their turn. */
static bool
run_once(struct scene *scene, operation run, fault_kind fault, bool persistent, unsigned countdown)
{
    gcache_status status = GCACHE_OK;
    size_t descriptors = count_descriptors();

    gci_store *store = fixture_open_with(scene->fixture, scene->options);
    arm(fault, persistent, countdown);
    run(scene, store, &status);
    plan.armed = false;
    bool met = plan.met >= countdown;
    check_scene(scene, store, run, status);
    /* What a single interruption or short transfer does must not show at all. */
    if ((fault == FAULT_INTERRUPT && !persistent) || fault == FAULT_SHORT)
        assert_int_equal(status, GCACHE_OK);
    gci_store_close(store);
    store = fixture_open_with(scene->fixture, scene->options);
    check_scene(scene, store, run, status);
    gci_store_close(store);
    assert_int_equal(count_descriptors(), descriptors);
    scene->next++;
    return met;
}

/* What can't be written down is found by repair: nothing else may be wrong. */
static void
check_after(struct scene *scene, char const *what)
{
    gcache_maintenance_options options = { 0 };
    gcache_error error = { 0 };
    gcache_repaired repaired;

    gci_store *store = fixture_open_with(scene->fixture, scene->options);
    if (gci_store_repair(store, &options, &repaired, &error) != GCACHE_OK)
        fail_msg("%s: %s", what, error.message);
    assert_int_equal(repaired.quarantined, 0);
    assert_int_equal(problems(store), 0);
    check_kept(store);
    insert_kept(store);
    gci_store_close(store);
}

/* An interruption for good is a machine on which nothing works, not a fault: its callers may wait for ever. */
static bool
may_persist(fault_kind fault)
{
    return fault != FAULT_INTERRUPT && fault != FAULT_SHORT;
}

/* A walk over everything does the same thing many times. */
static unsigned
step_at(unsigned at)
{
    if (at < 10)
        return 1;
    if (at < 60 || effort_is_soak())
        return effort_step();
    return effort_is_thorough() ? 7 : 101;
}

static void
try_all(void **state, operation run, char const *name)
{
    struct scene scene = { .fixture = *state, .options = { .compression_level = 1,
                                                           .durability = GCACHE_DURABILITY_FULL } };
    unsigned total = 0;

    gci_store *store = fixture_open_with(scene.fixture, scene.options);
    insert_kept(store);
    gci_store_close(store);
    for (int f = 0; f < FAULT_COUNT; f++) {
        for (int persistent = 0; persistent <= may_persist((fault_kind)f); persistent++) {
            unsigned at = 1;
            for (; at < 5000 && run_once(&scene, run, (fault_kind)f, persistent != 0, at); at += step_at(at))
                total++;
            check_after(&scene, texts[f]);
        }
    }
    print_message("    %s: %u faults\n", name, total);
    assert_true(total > 10);
}

#define FAULT_TEST(name)                                                                              \
    static void test_##name(void **state)                                                             \
    {                                                                                                 \
        try_all(state, name, #name);                                                                  \
    }

FAULT_TEST(insert_small)
FAULT_TEST(insert_middle)
FAULT_TEST(insert_large)
FAULT_TEST(insert_beside)
FAULT_TEST(renew_kept)
FAULT_TEST(look_up)
FAULT_TEST(evict_one)
FAULT_TEST(collect)
FAULT_TEST(repair)
FAULT_TEST(reopen)
FAULT_TEST(mend_format)
FAULT_TEST(mend_tag)
FAULT_TEST(replace_generations)
FAULT_TEST(remake_locks)
FAULT_TEST(write_setting)
FAULT_TEST(read_settings)
FAULT_TEST(end_journal)

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_insert_small),
        STORE_TEST(test_insert_middle),
        STORE_TEST(test_insert_large),
        STORE_TEST(test_insert_beside),
        STORE_TEST(test_renew_kept),
        STORE_TEST(test_look_up),
        STORE_TEST(test_evict_one),
        STORE_TEST(test_collect),
        STORE_TEST(test_repair),
        STORE_TEST(test_reopen),
        STORE_TEST(test_mend_format),
        STORE_TEST(test_mend_tag),
        STORE_TEST(test_replace_generations),
        STORE_TEST(test_remake_locks),
        STORE_TEST(test_write_setting),
        STORE_TEST(test_read_settings),
        STORE_TEST(test_end_journal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
