/*
 * Opening and closing a store: the roof over all rooms, as state/state.c is the floor below most of them.
 */
#include "store/store.h"

#include "base/signing/ed25519.h"
#include "store/directory/layout.h"
#include "store/index/drain.h"
#include "store/index/touch.h"
#include "store/repair/rows.h"
#include "store/state/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- opening ---- */

char *
gci_store_absolute_path(char const *path)
{
    char *here, *absolute = NULL;

    if (path[0] == '/')
        return strdup(path);
    here = getcwd(NULL, 0);
    if (here != NULL && asprintf(&absolute, "%s/%s", strcmp(here, "/") == 0 ? "" : here, path) < 0)
        absolute = NULL;
    free(here);
    return absolute;
}

/* Of a block that copy_signing made. */
static size_t
signing_size(gci_signing_key const *keys, size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += sizeof *keys + strlen(keys[i].id) + 1 + keys[i].secret.size;
    return bytes;
}

static bool
copy_signing(gci_store_options *options)
{
    gci_signing_key const *given = options->signing;
    size_t bytes = signing_size(given, options->signing_count);

    options->signing = NULL;
    if (bytes == 0)
        return true;
    gci_signing_key *keys = malloc(bytes);
    if (keys == NULL)
        return false;
    char *next = (char *)(keys + options->signing_count);
    for (size_t i = 0; i < options->signing_count; i++) {
        size_t id_size = strlen(given[i].id) + 1;
        keys[i] = given[i];
        keys[i].id = memcpy(next, given[i].id, id_size);
        next += id_size;
        if (given[i].secret.size != 0)
            memcpy(next, given[i].secret.data, given[i].secret.size);
        keys[i].secret = gci_view_of(next, given[i].secret.size);
        next += given[i].secret.size;
    }
    options->signing = keys;
    return true;
}

/* A core dump or a stray read finds no secret of a cache that is closed. */
static void
free_signing(gci_store_options const *options)
{
    void *keys = (void *)(uintptr_t)options->signing;

    if (keys != NULL)
        gci_cleanse(keys, signing_size(options->signing, options->signing_count));
    free(keys);
}

static bool
copy_options(gci_store *store, gci_store_options const *given)
{
    gci_store_options *options = &store->options;

    *options = *given;
    if (options->max_size == 0)
        options->max_size = GCACHE_MAX_SIZE_DEFAULT;
    if (options->memory_bytes == 0)
        options->memory_bytes = GCACHE_MEMORY_BYTES_DEFAULT;
    if (options->compression_level == 0)
        options->compression_level = GCACHE_COMPRESSION_DEFAULT;
    if (options->pooled_max == 0)
        options->pooled_max = GCI_POOLED_MAX_DEFAULT;
    if (options->max_candidates == 0)
        options->max_candidates = GCACHE_MAX_CANDIDATES_DEFAULT;
    options->namespace_ = strdup(given->namespace_ != NULL ? given->namespace_ : "");
    return copy_signing(options) && options->namespace_ != NULL;
}

/* Root passes every permission check, but not a read-only file system. */
static bool
may_write(gci_store const *store)
{
    return faccessat(store->directory.fd, ".", W_OK, AT_EACCESS) == 0;
}

static void
fill_index(void *state)
{
    gci_rows_fill(state);
}

static void
report_index(void *state, char const *what)
{
    gci_store_count(state, GCI_COUNT_CORRUPT, 1);
    gci_store_log(state, "%s", what);
}

static gcache_status
open_parts(gci_store *store, gcache_error *error)
{
    bool mended;

    store->owners.trust = store->options.trust;
    gcache_status status = gci_layout_open(store->name, !store->options.read_only, &store->owners, &store->directory,
                                           &mended, error);
    if (status != GCACHE_OK)
        return status;
    store->unsigned_owners = store->owners;
    if (store->owners.trust == GCACHE_TRUST_ANY)
        store->unsigned_owners.trust = GCACHE_TRUST_OWNER;
    store->read_only = store->options.read_only || !may_write(store);
    store->format_is_damaged = mended && store->read_only;
    if (mended)
        gci_store_log(store, "%s/format: lost or damaged; %s", store->directory.name,
                      store->format_is_damaged ? "read as this version's" : "made anew");
    if (store->read_only && !store->options.read_only)
        gci_store_log(store, "%s: can't be written to; opened read-only", store->directory.name);
    gci_key_locks_init(&store->locks, store->directory);
    gci_segment_init(&store->segment, store->directory);
    gci_journal_init(&store->journal, store->directory);
    gci_index_init(&store->index, store->directory, store->read_only, store->options.network,
                   (gci_index_owner){ .fill = fill_index, .report = report_index, .state = store });
    gci_leases_init(&store->leases);
    pthread_mutex_init(&store->touch_mutex, NULL);
    gci_buf_init(&store->touches, GCI_EVENT_MAX - GCI_EVENT_HEADER);
    gci_shared_init(&store->shared);
    gci_usage_init(&store->usage);
    pthread_mutex_init(&store->warming, NULL);
    store->initialised = true;
    return gci_memory_open(&store->memory, store->options.memory_bytes, error);
}

gcache_status
gci_store_open(char const *directory, gci_store_options const *options, gci_store **out_store, gcache_error *error)
{
    *out_store = NULL;
    gci_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return gci_fail_memory(error);
    store->directory = (gci_dir){ .fd = -1, .name = directory };
    store->process = getpid();
    store->name = gci_store_absolute_path(directory);
    gcache_status status = store->name != NULL && copy_options(store, options) ? open_parts(store, error)
                                                                             : gci_fail_memory(error);
    if (status != GCACHE_OK) {
        gci_store_close(store);
        return status;
    }
    *out_store = store;
    return GCACHE_OK;
}

/* ---- closing ---- */

static void
write_out_pending(gci_store *store)
{
    if (atomic_load(&store->warm))
        gci_store_enter(store);
    gci_flush_touches(store);
    /* Events that were drained may have had counts. */
    if (gci_drain_at_close(store))
        gci_store_enter(store);
    if (atomic_load(&store->warm))
        gci_store_flush_counts(store);
}

static void
close_parts(gci_store *store)
{
    gci_memory_close(&store->memory, NULL, NULL);
    gci_usage_close(store);
    gci_shared_close(&store->shared);
    pthread_mutex_destroy(&store->warming);
    gci_fork_mark_close(&store->fork);
    gci_buf_clear(&store->touches);
    pthread_mutex_destroy(&store->touch_mutex);
    gci_leases_close(&store->leases);
    gci_index_close(&store->index);
    gci_segment_close(&store->segment);
    gci_journal_close(&store->journal);
    gci_key_locks_close(&store->locks);
}

void
gci_store_close(gci_store *store)
{
    if (store == NULL)
        return;
    if (store->initialised) {
        write_out_pending(store);
        close_parts(store);
    }
    gci_dir_close(&store->directory);
    free((char *)(uintptr_t)store->options.namespace_);
    free_signing(&store->options);
    free(store->name);
    free(store);
}

bool
gci_store_is_read_only(gci_store const *store)
{
    return store->read_only;
}

pid_t
gci_store_process(gci_store *store)
{
    if (atomic_load_explicit(&store->warm, memory_order_acquire))
        gci_store_enter(store);
    else
        gci_store_notice_process(store);
    return atomic_load_explicit(&store->process, memory_order_relaxed);
}

uint32_t
gci_store_forks(gci_store const *store)
{
    return atomic_load_explicit(&store->forks, memory_order_relaxed);
}

bool
gci_store_requires_signature(gci_store const *store)
{
    return store->options.require_signature;
}

