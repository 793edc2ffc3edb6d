/* Statistics of a store, and facts for doctor. */
#include "store/directory/trust.h"
#include "store/evict/evict.h"
#include "store/evict/recount.h"
#include "store/evict/victims.h"
#include "store/format/compress.h"
#include "store/index/drain.h"
#include "store/index/sizes.h"
#include "store/state/state.h"
#include "store/store.h"

#include <guardcache/version.h>

#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>

/* Less free space than this is soon gone. */
#define LITTLE_SPACE (UINT64_C(256) << 20)
/* A handle keeps a dozen files open, a lookup one or two a thread, and the program wants some too. */
#define FEW_FILES 64
#define LOCK_WAIT_NS UINT64_C(100000000)
#define MIB(bytes) ((double)(bytes) / 1048576.0)

#define DRAIN_WAIT_NS UINT64_C(2000000000)

gcache_status
gci_store_stats_get(gci_store *store, gci_store_stats *out_stats, gcache_error *error)
{
    gci_index_size totals;

    gci_store_enter(store);
    gci_shared_head *table = store->shared.head;
    bool usable = atomic_load(&store->shared.usable);
    /* Events have counts of handles that never mapped the table; and a table that is this process's alone knows nothing of
       what others did. */
    if (!store->read_only)
        gci_drain(store, usable ? 0 : DRAIN_WAIT_NS, NULL);
    gci_store_flush_counts(store);
    if (usable)
        gci_recount_if_unknown(store);
    *out_stats = (gci_store_stats){ .bytes = gci_word_value(&table->bytes), .entries = gci_word_value(&table->entries),
                                    .keys = gci_word_value(&table->keys), .max_size = store->options.max_size };
    out_stats->memory_bytes = atomic_load(&store->memory.budget->bytes);
    out_stats->memory_sets = store->memory.count;
    for (size_t i = 0; i < GCI_COUNT_COUNT; i++)
        out_stats->counters[i] = atomic_load(&table->counters[i]);
    if (usable)
        return GCACHE_OK;
    gcache_status status = gci_index_sizes(store, &totals, error);
    if (gci_index_is_out_of_reach(status))
        return GCACHE_OK;
    if (status == GCACHE_OK) {
        out_stats->bytes = totals.bytes;
        out_stats->entries = totals.entries;
        out_stats->keys = totals.keys;
    }
    return status;
}

gci_fullness
gci_store_fullness(gci_store *store, bool settle)
{
    gci_store_enter(store);
    return (gci_fullness){ .bytes = gci_usage_bytes(store),
                           .max_size = store->options.max_size,
                           .evicted_bytes = gci_store_counted(store, GCI_COUNT_EVICTED_BYTES),
                           .least_recent_ns = gci_store_least_recent_ns(store, settle),
                           .evictions = gci_store_counted(store, GCI_COUNT_EVICTIONS),
                           .asked_again = gci_store_counted(store, GCI_COUNT_ASKED_AGAIN) };
}

/* ---- facts ---- */

struct reporter {
    gci_fact_fn fn;
    void *state;
};

static void report(struct reporter *reporter, char const *name, char const *warning, char const *format, ...)
    __attribute__((format(printf, 4, 5)));

static void
report(struct reporter *reporter, char const *name, char const *warning, char const *format, ...)
{
    char value[300];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    reporter->fn(reporter->state, name, value, warning);
}

static void
report_libraries(struct reporter *reporter)
{
    bool defect;
    char const *sqlite = gci_index_library(&defect);

    report(reporter, "guardcache", NULL, "%s, store format %d", GCACHE_VERSION, GCI_FORMAT_VERSION);
    report(reporter, "sqlite", NULL, "%s, WAL-reset defect: %s", sqlite,
         defect ? "present, worked around (every write and checkpoint under one lock): other programs may only read index.db"
                : "fixed");
    report(reporter, "zstd", NULL, "%s", gci_compress_version());
}

static void
report_place(struct reporter *reporter, gci_store *store)
{
    struct stat facts;
    uint64_t free_bytes;

    report(reporter, "directory", NULL, "%s", store->directory.name);
    char const *network = gci_store_network(store);
    if (network != NULL)
        report(reporter, "file system", "shared counters and WAL are off: correct, but every lookup asks the server", "%s",
             network);
    else
        report(reporter, "file system", NULL, "local");
    if (gci_dir_stat(store->directory, ".", &facts, NULL) == GCACHE_OK)
        report(reporter, "permissions", NULL, "%03o, owner %ld",
             (unsigned)facts.st_mode & 0777u, (long)facts.st_uid);
    if (gci_dir_free_bytes(store->directory, &free_bytes, NULL) == GCACHE_OK)
        report(reporter, "free space", free_bytes < LITTLE_SPACE ? "the file system is nearly full" : NULL, "%.0f MiB",
             MIB(free_bytes));
    if (store->read_only)
        report(reporter, "access", NULL, "read-only");
    else
        report(reporter, "access", NULL, "read and write");
}

struct distrusted {
    size_t count;
    bool foreign; /* one belongs to somebody else, or to another group */
    char first[300];
};

static void
note_distrusted(void *state, char const *path, char const *why)
{
    struct distrusted *found = state;

    if (found->count++ == 0)
        snprintf(found->first, sizeof found->first, "%.180s: %s", path, why);
    found->foreign |= strncmp(why, "belongs", sizeof "belongs" - 1) == 0;
}

/* How to mend what lookups pass over because somebody else may have written it. */
static void
report_trust(struct reporter *reporter, gci_store *store)
{
    struct distrusted found = { 0 };
    char const *name = store->directory.name;
    char warning[600];
    gci_owners const *owners = &store->owners;

    gci_trust_each(store->directory, note_distrusted, &found);
    if (found.count == 0) {
        report(reporter, "trust", NULL, "%s", gcache_trust_name(owners->trust));
        return;
    }
    int size = snprintf(warning, sizeof warning, "not handed out: %s; if they are ours: chmod -R %s '%s'", found.first,
                        owners->trust == GCACHE_TRUST_GROUP ? "o-w" : "go-w", name);
    if (found.foreign && size > 0 && (size_t)size < sizeof warning)
        snprintf(warning + size, sizeof warning - (size_t)size, "; chown -R %ld '%s'", (long)owners->user, name);
    report(reporter, "trust", warning, "%s; %zu files or folders aren't trusted", gcache_trust_name(owners->trust), found.count);
}

/* Locks that can't be taken would show only when the first insert fails. */
static void
report_locks(struct reporter *reporter, gci_store *store)
{
    gcache_error error = { .message = "" };
    gcache_key const any = { { 0 } };

    if (store->read_only)
        return;
    gcache_status status = gci_key_lock(&store->locks, &any, LOCK_WAIT_NS, &error);
    if (status == GCACHE_OK)
        gci_key_unlock(&store->locks, &any);
    if (status == GCACHE_OK || status == GCACHE_ERROR_BUSY)
        report(reporter, "locks", NULL, "%s", status == GCACHE_OK ? "work" : "held by somebody else just now");
    else
        report(reporter, "locks", "inserts, evictions and single flight need them", "%s", error.message);
}

static void
report_limits(struct reporter *reporter, gci_store *store)
{
    struct rlimit files;

    report(reporter, "limits", NULL, "%zu candidates a key, %.0f MiB in memory, payloads of %llu GiB",
         store->options.max_candidates, MIB(store->options.memory_bytes), (unsigned long long)(GCI_PAYLOAD_MAX >> 30));
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY)
        report(reporter, "open files", files.rlim_cur < FEW_FILES ? "threads may run out of them: raise ulimit -n" : NULL,
             "at most %llu", (unsigned long long)files.rlim_cur);
}

static int
count_name(void *state, char const *name)
{
    (void)name;
    ++*(unsigned long *)state;
    return 0;
}

/* "required: k2 (ed25519, signs), k1 (hmac)" */
static void
report_signing(struct reporter *reporter, gci_store *store)
{
    gci_store_options const *options = &store->options;
    gci_signing_key const *signer = gci_signing_key_first(options->signing, options->signing_count);
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_append_text(&text, options->signing_count == 0 ? "off" : options->require_signature ? "required" : "on");
    for (size_t i = 0; i < options->signing_count; i++) {
        gci_signing_key const *key = &options->signing[i];
        gci_buf_format(&text, "%s%s (%s%s)", i == 0 ? ": " : ", ", key->id, gcache_signing_algorithm_name(key->algorithm),
                       key == signer ? ", signs" : "");
    }
    report(reporter, "signing", NULL, "%.*s", (int)text.size, text.data);
    gci_buf_clear(&text);
}

static void
report_content(struct reporter *reporter, gci_store *store)
{
    unsigned long quarantined = 0;
    gci_store_stats stats;

    if (gci_store_stats_get(store, &stats, NULL) == GCACHE_OK) {
        if (stats.max_size == UINT64_MAX)
            report(reporter, "size", NULL, "%.1f MiB in %llu entries of %llu keys, no cap", MIB(stats.bytes),
                 (unsigned long long)stats.entries, (unsigned long long)stats.keys);
        else
            report(reporter, "size", stats.bytes > stats.max_size ? "over the cap: run guardcache gc" : NULL,
                 "%.1f of %.1f MiB in %llu entries of %llu keys", MIB(stats.bytes), MIB(stats.max_size),
                 (unsigned long long)stats.entries, (unsigned long long)stats.keys);
    }
    gci_dir_each(store->directory, "quarantine", count_name, &quarantined, NULL);
    report(reporter, "quarantine", quarantined > 0 ? "damaged files were put aside: look at the disk" : NULL, "%lu files",
         quarantined);
    report(reporter, "shared table", atomic_load(&store->shared.usable) || gci_store_network(store) != NULL
                                      ? NULL : "can't be used: every lookup looks at the disk",
         "%s", atomic_load(&store->shared.usable) ? "mapped" : "off");
    report_signing(reporter, store);
}

void
gci_store_facts(gci_store *store, gci_fact_fn fn, void *state)
{
    struct reporter reporter = { fn, state };

    gci_store_enter(store);
    report_libraries(&reporter);
    report_place(&reporter, store);
    report_trust(&reporter, store);
    report_locks(&reporter, store);
    report_limits(&reporter, store);
    report_content(&reporter, store);
}
