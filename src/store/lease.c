/* Leases: files that one process holds and the others wait for. See lease.h. */
#include "store/lease.h"

#include "base/system/clock.h"
#include "base/fields.h"
#include "store/directory/layout.h"
#include "store/directory/process.h"
#include "store/state/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* How soon a release is noticed: at first at once, then in time that is nothing beside a compile. */
#define PAUSE_FIRST_NS UINT64_C(200000)
#define PAUSE_LAST_NS UINT64_C(10000000)

#define TAKEOVER_WAIT_NS UINT64_C(100000000)

/* What is in the file. `stored` is read by those who wait, when its name has gone. */
typedef struct holder {
    gci_process process;
    bool stored;
} holder;

static gci_field const holder_fields[] = {
    GCI_NUMBER(holder, process.number, 8, "process", "its id"),
    GCI_NUMBER(holder, process.start, 8, "start", "its start time, in ticks"),
    GCI_NUMBER(holder, process.boot, 8, "boot", "a hash of the boot id"),
    GCI_NUMBER(holder, process.names, 8, "namespace", "the inode of its process namespace"),
    GCI_FLAG(holder, stored, "stored", "1 once it has stored what the lease is for"),
};
gci_fields const gci_lease_fields = GCI_FIELDS("lease", holder, holder_fields);

#define HOLDER_BYTES 33

/* ---- who holds it ---- */

static void
write_holder(gci_file const *file)
{
    gci_buf bytes;

    gci_buf_init(&bytes, 2 * HOLDER_BYTES);
    gci_fields_write(&bytes, &gci_lease_fields, &(holder){ gci_process_ourselves(), false });
    /* Without it a dead holder's lock is noticed only when the last of its children has gone. */
    if (!bytes.failed)
        gci_file_write_at(file, gci_buf_view(&bytes), 0, NULL);
    gci_buf_clear(&bytes);
}

static bool
read_holder(gci_file const *file, holder *out_they)
{
    char bytes[HOLDER_BYTES];
    size_t got;

    return gci_file_read(file, bytes, sizeof bytes, 0, &got, NULL) == GCACHE_OK &&
           gci_fields_read_all(gci_view_of(bytes, got), &gci_lease_fields, NULL, out_they);
}

/* ---- taking ---- */

static void
note_takeover(gci_lease *lease, gci_process const *former)
{
    gci_store_count(lease->store, GCI_COUNT_LEASE_TAKEOVERS, 1);
    lease->former = former->number;
}

/* Takes the name away from a file whose holder is dead but whose lock lives on in its children. */
static void
take_over(gci_lease *lease, gci_process const *former)
{
    gci_store *store = lease->store;
    gci_file lock;

    if (gci_lock_take(store->directory, "locks/takeover", GCI_LOCK_EXCLUSIVE, TAKEOVER_WAIT_NS, &lock, NULL) != GCACHE_OK)
        return;
    if (gci_file_still_named(&lease->file) &&
        gci_dir_unlink(store->directory, lease->file.path, NULL) == GCACHE_OK)
        note_takeover(lease, former);
    gci_file_unlock_and_close(&lock);
}

static void
await_nobody(gci_lease *lease)
{
    holder former;

    if (lease->awaited.fd >= 0) {
        bool stored = read_holder(&lease->awaited, &former) && former.stored;
        lease->others_stored |= stored;
        lease->others_ended += !stored;
    }
    gci_file_close(&lease->awaited);
}

/* lease->file is somebody else's: it is kept open until another one's is met, or none. */
static void
await_holder(gci_lease *lease)
{
    struct stat before, now;

    if (lease->awaited.fd >= 0 && gci_file_stat(&lease->awaited, &before, NULL) == GCACHE_OK &&
        gci_file_stat(&lease->file, &now, NULL) == GCACHE_OK && before.st_ino == now.st_ino)
        return;
    await_nobody(lease);
    lease->awaited = lease->file;
    lease->file = (gci_file)GCI_FILE_NONE;
}

/* One attempt. OK with lease->file open: taken. BUSY: somebody else holds it. */
static gcache_status
attempt(gci_lease *lease, gcache_error *error)
{
    gci_store *store = lease->store;
    holder former;

    gcache_status status = gci_layout_create(store->directory, lease->path.text, O_RDWR | O_CREAT, &lease->file, error);
    if (status != GCACHE_OK)
        return status;
    status = gci_file_lock(&lease->file, GCI_LOCK_EXCLUSIVE, 0, error);
    if (status == GCACHE_OK && gci_file_still_named(&lease->file)) {
        /* Who gives a lease back removes its file: one with a holder in it is what a death has left. */
        if (read_holder(&lease->file, &former))
            note_takeover(lease, &former.process);
        write_holder(&lease->file);
        return GCACHE_OK;
    }
    if (status == GCACHE_OK)
        status = GCACHE_ERROR_BUSY;
    else if (status == GCACHE_ERROR_BUSY && read_holder(&lease->file, &former) &&
             gci_process_judge(&former.process) == GCI_PROCESS_DEAD)
        take_over(lease, &former.process);
    if (status == GCACHE_ERROR_BUSY)
        await_holder(lease);
    gci_file_close(&lease->file);
    return status;
}

static gcache_status
wait_and_take(gci_lease *lease, gci_patience const *patience, size_t holders, bool *out_waited, gcache_error *error)
{
    uint64_t begin = gci_clock_steady_ns();
    gci_pauses pauses = gci_pauses_with(PAUSE_FIRST_NS, PAUSE_LAST_NS, patience);
    bool over = patience->wait_ns == 0;
    gcache_error last;

    for (;;) {
        gcache_status status = attempt(lease, &last);
        uint64_t waited = gci_clock_steady_ns() - begin;
        if (status == GCACHE_ERROR_BUSY && over)
            return gci_fail(error, GCACHE_ERROR_BUSY, "somebody else has been compiling the same for %.1f s",
                            (double)waited / 1e9);
        if (status != GCACHE_ERROR_BUSY) {
            if (status != GCACHE_OK && error != NULL)
                *error = last;
            return status;
        }
        if (lease->others_ended >= holders)
            return GCACHE_MISS;
        if (!*out_waited)
            gci_store_count(lease->store, GCI_COUNT_LEASE_WAITS, 1);
        *out_waited = true;
        over = !gci_clock_pause(&pauses);
    }
}

gci_path
gci_lease_stem(gcache_key const *key)
{
    gci_checksum sum = gci_checksum_of(key->bytes, sizeof key->bytes);
    gci_path stem;

    snprintf(stem.text, sizeof stem.text, "locks/leases/%016llx", (unsigned long long)sum.low);
    return stem;
}

uint64_t
gci_lease_number(gci_view name)
{
    return gci_checksum_of(name.data, name.size).low;
}

static gci_path
path_of(gci_view name)
{
    gcache_key about = { 0 };
    gci_path path;

    memcpy(about.bytes, name.data, name.size < sizeof about.bytes ? name.size : sizeof about.bytes);
    gci_path stem = gci_lease_stem(&about);
    snprintf(path.text, sizeof path.text, "%.64s%016llx", stem.text, (unsigned long long)gci_lease_number(name));
    return path;
}

bool
gci_lease_has_stored(gci_store *store, gci_path const *path)
{
    holder they = { .stored = false };
    gci_file file;

    if (gci_file_open_existing(store->directory, path->text, O_RDONLY, &file, NULL) != GCACHE_OK || file.fd < 0)
        return false;
    bool stored = read_holder(&file, &they) && they.stored;
    gci_file_close(&file);
    return stored;
}

void
gci_lease_bury(gci_store *store, gci_path const *path)
{
    gci_lease dead = { .store = store, .path = *path, .file = GCI_FILE_NONE, .awaited = GCI_FILE_NONE };

    if (attempt(&dead, NULL) == GCACHE_OK)
        gci_dir_unlink(store->directory, path->text, NULL);
    gci_file_unlock_and_close(&dead.file);
    await_nobody(&dead);
}

static gcache_status
take(gci_store *store, gci_view name, gci_patience const *patience, size_t holders, gci_lease **out_lease, bool *out_waited,
     gcache_error *error)
{
    gci_path path = path_of(name);

    gci_store_enter(store);
    *out_lease = NULL;
    *out_waited = false;
    if (store->read_only)
        return gci_store_check_writable(store, error);
    if (gci_leases_have(&store->leases, &path))
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "this thread compiles the same already: it would wait for itself");
    gci_lease *lease = calloc(1, sizeof *lease);
    if (lease == NULL)
        return gci_fail_memory(error);
    lease->store = store;
    lease->path = path;
    lease->thread = pthread_self();
    lease->file = lease->awaited = (gci_file)GCI_FILE_NONE;
    memcpy(lease->about, name.data, name.size < sizeof lease->about ? name.size : sizeof lease->about);
    gcache_status status = wait_and_take(lease, patience, holders, out_waited, error);
    await_nobody(lease);
    if (status != GCACHE_OK) {
        free(lease);
        return status;
    }
    gci_leases_join(&store->leases, lease);
    *out_lease = lease;
    return GCACHE_OK;
}

gcache_status
gci_lease_take(gci_store *store, gci_view name, uint64_t timeout_ns, gci_lease **out_lease, bool *out_waited,
               gcache_error *error)
{
    return take(store, name, &(gci_patience){ .wait_ns = timeout_ns }, SIZE_MAX, out_lease, out_waited, error);
}

gcache_status
gci_lease_await(gci_store *store, gci_view name, gci_patience const *patience, gci_lease **out_lease, bool *out_waited,
                gcache_error *error)
{
    return take(store, name, patience, GCI_HOLDERS_AWAITED, out_lease, out_waited, error);
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

/* ---- what was stored meanwhile ---- */

void
gci_lease_note_stored(gci_lease *lease)
{
    /* Without it whoever waits and refreshes compiles once more than need be. */
    if (lease != NULL && lease->file.fd >= 0)
        gci_file_write_at(&lease->file, gci_view_of("\1", 1), HOLDER_BYTES - 1, NULL); /* stored */
}

bool
gci_lease_others_stored(gci_lease const *lease)
{
    return lease != NULL && lease->others_stored;
}

void
gci_leases_note_stored(gci_store *store, gcache_key const *key)
{
    gci_leases *leases = &store->leases;

    pthread_mutex_lock(&leases->mutex);
    for (gci_lease *lease = NULL; (lease = gci_leases_next(leases, lease, key)) != NULL;)
        gci_lease_note_stored(lease);
    pthread_mutex_unlock(&leases->mutex);
}

bool
gci_leases_others_stored(gci_store *store, gcache_key const *key)
{
    gci_leases *leases = &store->leases;
    bool stored = false;

    pthread_mutex_lock(&leases->mutex);
    for (gci_lease *lease = NULL; (lease = gci_leases_next(leases, lease, key)) != NULL;)
        stored |= lease->others_stored;
    pthread_mutex_unlock(&leases->mutex);
    return stored;
}

void
gci_lease_release(gci_lease *lease)
{
    if (lease == NULL)
        return;
    gci_store_enter(lease->store);
    gci_leases_leave(&lease->store->leases, lease);
    /* In a forked child the file was closed already, and the lease is the parent's. */
    if (lease->file.fd >= 0 && gci_file_still_named(&lease->file))
        gci_dir_unlink(lease->store->directory, lease->path.text, NULL);
    gci_file_unlock_and_close(&lease->file);
    free(lease);
}
