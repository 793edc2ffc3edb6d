#include "store/lease.h"

#include "base/clock.h"
#include "base/codec.h"
#include "base/digest.h"
#include "store/inside.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* How soon a release is noticed: at first at once, then in time that is nothing beside a compile. */
#define PAUSE_FIRST_NS UINT64_C(200000)
#define PAUSE_LAST_NS UINT64_C(10000000)

#define TAKEOVER_WAIT_NS UINT64_C(100000000)

/* A process, told apart from all others that ever had its number. */
struct holder {
    uint64_t process;
    uint64_t start;     /* in ticks since boot */
    uint64_t boot;      /* hash of the kernel's boot id */
    uint64_t names;     /* inode of the process namespace */
};

#define HOLDER_BYTES 32

struct gci_lease {
    gci_store *store;
    gci_path path;
    gci_file file;
    pthread_t thread;
    bool handed_over; /* to a thread that waits for nobody */
    uint64_t former;  /* process of the holder that died with it; 0: nobody did */
    gci_lease *next;
};

void
gci_leases_init(gci_leases *leases)
{
    *leases = (gci_leases){ 0 };
    pthread_mutex_init(&leases->mutex, NULL);
}

void
gci_leases_close(gci_leases *leases)
{
    GCI_ASSERT(leases->held == NULL);
    pthread_mutex_destroy(&leases->mutex);
}

void
gci_leases_after_fork(gci_leases *leases)
{
    for (gci_lease *lease = leases->held; lease != NULL; lease = lease->next)
        gci_file_close(&lease->file);
    leases->held = NULL;
    pthread_mutex_init(&leases->mutex, NULL);
}

/* ---- who holds it ---- */

static gcache_status
load_system_file(char const *path, char *out_text, size_t room)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gcache_status status = gci_file_read_user(path, room - 1, &text, NULL);
    if (status == GCACHE_OK) {
        memcpy(out_text, text.data != NULL ? text.data : "", text.size);
        out_text[text.size] = '\0';
    }
    gci_buf_clear(&text);
    return status;
}

/* The 22nd field of /proc/N/stat; the second one, a name in parentheses, may contain anything. 0: there is no such process. */
static uint64_t
start_of(uint64_t process)
{
    char path[64], text[1024];

    snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)process);
    if (load_system_file(path, text, sizeof text) != GCACHE_OK)
        return 0;
    char *field = strrchr(text, ')');
    for (int i = 2; field != NULL && i < 22; i++)
        field = strchr(field + 1, ' ');
    return field != NULL ? strtoull(field, NULL, 10) : 0;
}

static struct holder
ourselves(void)
{
    char boot[64];
    struct stat names;
    struct holder we = { .process = (uint64_t)getpid() };

    we.start = start_of(we.process);
    if (load_system_file("/proc/sys/kernel/random/boot_id", boot, sizeof boot) == GCACHE_OK)
        we.boot = gci_hash64(boot, strlen(boot), 0);
    if (stat("/proc/self/ns/pid", &names) == 0)
        we.names = names.st_ino;
    return we;
}

static void
write_holder(gci_file const *file)
{
    struct holder we = ourselves();
    gci_buf bytes;

    gci_buf_init(&bytes, HOLDER_BYTES);
    gci_put_u64(&bytes, we.process);
    gci_put_u64(&bytes, we.start);
    gci_put_u64(&bytes, we.boot);
    gci_put_u64(&bytes, we.names);
    /* Without it a dead holder's lock is noticed only when the last of its children has gone. */
    if (!bytes.failed)
        gci_file_write_at(file, gci_buf_view(&bytes), 0, NULL);
    gci_buf_clear(&bytes);
}

static bool
read_holder(gci_file const *file, struct holder *out_they)
{
    char bytes[HOLDER_BYTES];
    size_t got;

    if (gci_file_read(file, bytes, sizeof bytes, 0, &got, NULL) != GCACHE_OK || got != sizeof bytes)
        return false;
    gci_reader reader = gci_reader_of(gci_view_of(bytes, sizeof bytes));
    out_they->process = gci_get_u64(&reader);
    out_they->start = gci_get_u64(&reader);
    out_they->boot = gci_get_u64(&reader);
    out_they->names = gci_get_u64(&reader);
    return true;
}

/* Only a process that this one could see can be judged. */
static bool
is_dead(struct holder they)
{
    struct holder we = ourselves();

    if (we.boot == 0 || we.names == 0 || we.start == 0 || they.boot != we.boot || they.names != we.names)
        return false;
    if (kill((pid_t)they.process, 0) != 0 && errno == ESRCH)
        return true;
    uint64_t start = start_of(they.process);
    return start != 0 && start != they.start;
}

/* ---- taking ---- */

static bool
has_its_name(gci_file const *file)
{
    struct stat opened, named;

    return gci_file_stat(file, &opened, NULL) == GCACHE_OK &&
           gci_dir_stat(file->dir, file->path, &named, NULL) == GCACHE_OK && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

static void
note_takeover(gci_lease *lease, struct holder former)
{
    gci_store_count(lease->store, GCI_COUNT_LEASE_TAKEOVERS, 1);
    lease->former = former.process;
}

/* Takes the name away from a file whose holder is dead but whose lock lives on in its children. */
static void
take_over(gci_lease *lease, struct holder former)
{
    gci_store *store = lease->store;
    gci_file lock;

    if (gci_file_open(store->directory, "locks/takeover", O_RDWR | O_CREAT, &lock, NULL) != GCACHE_OK)
        return;
    if (gci_file_lock(&lock, GCI_LOCK_EXCLUSIVE, TAKEOVER_WAIT_NS, NULL) == GCACHE_OK && has_its_name(&lease->file) &&
        gci_dir_unlink(store->directory, lease->file.path, NULL) == GCACHE_OK)
        note_takeover(lease, former);
    gci_file_close(&lock);
}

/* One attempt. OK with lease->file open: taken. BUSY: somebody else holds it. */
static gcache_status
attempt(gci_lease *lease, gcache_error *error)
{
    gci_store *store = lease->store;
    struct holder former;

    gcache_status status = gci_file_open(store->directory, lease->path.text, O_RDWR | O_CREAT, &lease->file, error);
    if (status != GCACHE_OK)
        return status;
    status = gci_file_lock(&lease->file, GCI_LOCK_EXCLUSIVE, 0, error);
    if (status == GCACHE_OK && has_its_name(&lease->file)) {
        /* Who gives a lease back removes its file: one with a holder in it is what a death has left. */
        if (read_holder(&lease->file, &former))
            note_takeover(lease, former);
        write_holder(&lease->file);
        return GCACHE_OK;
    }
    if (status == GCACHE_OK)
        status = GCACHE_ERROR_BUSY;
    else if (status == GCACHE_ERROR_BUSY && read_holder(&lease->file, &former) && is_dead(former))
        take_over(lease, former);
    gci_file_close(&lease->file);
    return status;
}

static bool
is_held_by_this_thread(gci_leases *leases, gci_path const *path)
{
    bool held = false;

    pthread_mutex_lock(&leases->mutex);
    for (gci_lease *lease = leases->held; lease != NULL; lease = lease->next)
        held |= strcmp(lease->path.text, path->text) == 0 &&
                pthread_equal(lease->thread, pthread_self()) && !lease->handed_over;
    pthread_mutex_unlock(&leases->mutex);
    return held;
}

static gcache_status
wait_and_take(gci_lease *lease, uint64_t timeout_ns, bool *out_waited, gcache_error *error)
{
    uint64_t begin = gci_clock_steady_ns(), pause = PAUSE_FIRST_NS;
    gcache_error last;

    for (;;) {
        gcache_status status = attempt(lease, &last);
        uint64_t waited = gci_clock_steady_ns() - begin;
        if (status == GCACHE_ERROR_BUSY && waited >= timeout_ns)
            return gci_fail(error, GCACHE_ERROR_BUSY, "somebody else has been compiling the same for %.1f s",
                            (double)waited / 1e9);
        if (status != GCACHE_ERROR_BUSY) {
            if (status != GCACHE_OK && error != NULL)
                *error = last;
            return status;
        }
        if (!*out_waited)
            gci_store_count(lease->store, GCI_COUNT_LEASE_WAITS, 1);
        *out_waited = true;
        uint64_t left = timeout_ns - waited;
        struct timespec nap = { .tv_nsec = (long)(left < pause ? left : pause) };
        clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
        pause = pause * 2 < PAUSE_LAST_NS ? pause * 2 : PAUSE_LAST_NS;
    }
}

static gci_path
path_of(gci_view name)
{
    gci_checksum sum = gci_checksum_of(name.data, name.size);
    gci_path path;

    snprintf(path.text, sizeof path.text, "locks/leases/%016llx%016llx", (unsigned long long)sum.high,
             (unsigned long long)sum.low);
    return path;
}

gcache_status
gci_lease_take(gci_store *store, gci_view name, uint64_t timeout_ns, gci_lease **out_lease, bool *out_waited,
               gcache_error *error)
{
    gci_path path = path_of(name);

    gci_store_enter(store);
    *out_lease = NULL;
    *out_waited = false;
    if (store->read_only)
        return gci_fail(error, GCACHE_ERROR_READ_ONLY, "%s: the cache is read-only", store->directory.name);
    if (is_held_by_this_thread(&store->leases, &path))
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "this thread compiles the same already: it would wait for itself");
    gci_lease *lease = calloc(1, sizeof *lease);
    if (lease == NULL)
        return gci_fail_memory(error);
    lease->store = store;
    lease->path = path;
    lease->thread = pthread_self();
    gcache_status status = wait_and_take(lease, timeout_ns, out_waited, error);
    if (status != GCACHE_OK) {
        free(lease);
        return status;
    }
    pthread_mutex_lock(&store->leases.mutex);
    lease->next = store->leases.held;
    store->leases.held = lease;
    pthread_mutex_unlock(&store->leases.mutex);
    *out_lease = lease;
    return GCACHE_OK;
}

void
gci_lease_hand_over(gci_lease *lease)
{
    if (lease == NULL)
        return;
    pthread_mutex_lock(&lease->store->leases.mutex);
    lease->handed_over = true;
    pthread_mutex_unlock(&lease->store->leases.mutex);
}

uint64_t
gci_lease_former_holder(gci_lease const *lease)
{
    return lease->former;
}

static void
leave_list(gci_leases *leases, gci_lease *lease)
{
    pthread_mutex_lock(&leases->mutex);
    for (gci_lease **link = &leases->held; *link != NULL; link = &(*link)->next) {
        if (*link == lease) {
            *link = lease->next;
            break;
        }
    }
    pthread_mutex_unlock(&leases->mutex);
}

void
gci_lease_release(gci_lease *lease)
{
    if (lease == NULL)
        return;
    gci_store_enter(lease->store);
    leave_list(&lease->store->leases, lease);
    /* In a forked child the file was closed already, and the lease is the parent's. */
    if (lease->file.fd >= 0 && has_its_name(&lease->file))
        gci_dir_unlink(lease->store->directory, lease->path.text, NULL);
    if (lease->file.fd >= 0)
        gci_file_unlock(&lease->file);
    gci_file_close(&lease->file);
    free(lease);
}
