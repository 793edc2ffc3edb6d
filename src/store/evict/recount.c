/* Counting files, and removing temporary ones that dead writers left. */
#include "store/evict/recount.h"

#include "base/system/clock.h"
#include "store/directory/process.h"
#include "store/directory/shard.h"
#include "store/evict/evict.h"
#include "store/evict/references.h"
#include "store/evict/victims.h"
#include "store/index/drain.h"
#include "store/index/sizes.h"
#include "store/pool/pool.h"
#include "store/publish/publish.h"
#include "store/state/usage.h"

#include <stdio.h>

#define DRAIN_WAIT_NS UINT64_C(2000000000)
#define EVICTOR_WAIT_NS UINT64_C(100000000)
/* As under a cap: so long an insert waits for a count by others, and looks so often whether there is one. */
#define STORING_WAIT_NS UINT64_C(10000000000)
#define LOOK_NS UINT64_C(10000000)

/* ---- what dead writers left ---- */

struct strays {
    gci_store *store;
    bool dry;
    uint64_t count;
};

static bool
is_stray(struct stat const *facts, gci_process_state state)
{
    uint64_t changed = gci_changed_ns(facts), now = gci_clock_wall_ns();

    if (state == GCI_PROCESS_ALIVE || state == GCI_PROCESS_DEAD)
        return state == GCI_PROCESS_DEAD;
    return now > changed && now - changed > GCI_FOREIGN_NS;
}

static int
remove_stray(void *state, char const *name)
{
    struct strays *strays = state;
    struct stat facts;
    gci_process writer;
    char path[300];

    snprintf(path, sizeof path, "tmp/%.255s", name);
    gci_process_state judged = gci_path_writer(name, &writer) ? gci_process_judge(&writer) : GCI_PROCESS_UNKNOWN;
    if (judged == GCI_PROCESS_ALIVE || gci_dir_stat(strays->store->directory, path, &facts, NULL) != GCACHE_OK ||
        !is_stray(&facts, judged))
        return 0;
    if (strays->dry || gci_dir_unlink(strays->store->directory, path, NULL) == GCACHE_OK)
        strays->count++;
    return 0;
}

uint64_t
gci_strays_remove(gci_store *store, bool dry)
{
    struct strays strays = { .store = store, .dry = dry };

    gci_dir_each(store->directory, "tmp", remove_stray, &strays, NULL);
    return strays.count;
}

/* ---- counting ---- */

struct count {
    gci_store *store;
    gci_dir shard;
    uint32_t pools; /* of the folder */
    gci_recounted sums;
};

static int
count_file(void *state, char const *name)
{
    struct count *count = state;
    char id[GCACHE_ENTRY_ID_SIZE];
    struct stat facts;
    gcache_key key;

    gci_name_kind kind = gci_name_read(name, &key, id);
    if (kind == GCI_NAME_STRANGE || gci_dir_stat(count->shard, name, &facts, NULL) != GCACHE_OK)
        return 0;
    count->sums.bytes += gci_cost_of_facts(&facts);
    count->sums.names++;
    count->sums.keys += kind == GCI_NAME_PACK && S_ISREG(facts.st_mode);
    count->pools |= kind == GCI_NAME_POOL ? gci_pool_bit(name) : 0;
    return 0;
}

/* Names are looked up in the open folder: with a hundred thousand files every component of a path counts. */
static gcache_status
count_shard(struct count *count, unsigned number, gcache_error *error)
{
    char path[16];

    snprintf(path, sizeof path, "entries/%02x", number);
    gcache_status status = gci_dir_open(count->store->directory, path, path, &count->shard, error);
    if (status != GCACHE_OK)
        return status;
    count->sums.names++;
    count->pools = 0;
    status = gci_dir_each(count->shard, ".", count_file, count, error);
    gci_dir_close(&count->shard);
    count->sums.keys += gci_pool_keys(count->store, number, count->pools);
    return status;
}

gcache_status
gci_count_files(gci_store *store, gci_recounted *out_counted, gcache_error *error)
{
    struct count count = { .store = store };
    gcache_error last = { 0 };

    for (unsigned number = 0; number < GCI_SHARDS; number++) {
        gcache_status status = count_shard(&count, number, &last);
        if (status == GCACHE_ERROR_MEMORY)
            return gci_fail_memory(error);
        if (status != GCACHE_OK && status != GCACHE_ERROR_NOT_FOUND)
            gci_store_log(store, "not counted: %s", last.message);
    }
    count.sums.attachments = gci_attachments_cost(store);
    count.sums.bytes += count.sums.attachments;
    *out_counted = count.sums;
    return GCACHE_OK;
}

/* ---- setting the figures ---- */

/* What others added since `then` may have been counted or not: it is added, so that the figure is never too low. */
static void
set_bytes(gci_shared_head *head, uint64_t counted, uint64_t then)
{
    uint64_t bits = atomic_load(&head->bytes), now;

    do {
        if (!gci_word_get(&head->added, &now))
            gci_word_set(&head->added, now = then);
    } while (!atomic_compare_exchange_weak(&head->bytes, &bits,
                                           gci_word_of(counted + ((now - then) & GCI_WORD_MAX))));
}

/*
 * Who stores or removes an entry has its key's lock meanwhile, changes the key's generation and then, still under the lock, the
 * figures of keys and entries. So a count beside which no generation changed, with no lock held before and after it, is right;
 * of any other nobody knows what of the changes it has seen, and the figure that all keep together is right.
 */
struct calm {
    uint64_t generations;
    bool calm;
};

static struct calm
calm_begin(gci_store *store)
{
    uint64_t generations = gci_generations_sum(&store->shared);

    return (struct calm){ generations, !gci_key_is_any_locked(&store->locks) };
}

static bool
is_still_calm(gci_store *store, struct calm const *begun)
{
    return begun->calm && gci_generations_sum(&store->shared) == begun->generations && !gci_key_is_any_locked(&store->locks);
}

/* A figure that isn't known takes what there is. One that changes after the look for calm stays as it is. */
static void
set_figure(gci_store *store, gci_word *word, uint64_t counted, struct calm const *begun)
{
    uint64_t bits = atomic_load(word), value;

    if (!gci_word_read(bits, &value))
        gci_word_set(word, counted);
    else if (value != counted && is_still_calm(store, begun))
        atomic_compare_exchange_strong(word, &bits, gci_word_of(counted));
}

/* Rows say how many entries there are: only the candidate indexes themselves would know better. */
static bool
count_entries(gci_store *store, uint64_t *out_entries)
{
    gci_index_size totals;

    if (gci_drain(store, DRAIN_WAIT_NS, NULL) != GCACHE_OK || gci_index_sizes(store, &totals, NULL) != GCACHE_OK)
        return false;
    *out_entries = totals.entries;
    return true;
}

/* The bytes last: while they aren't known, nobody stores anything under a cap. */
gcache_status
gci_recount(gci_store *store, gci_recounted *out_counted, gcache_error *error)
{
    gci_shared_head *head = store->shared.head;
    struct calm begun = calm_begin(store);
    gci_usage_dead dead;
    uint64_t then, entries;

    gci_usage_judge(store, &dead);
    gci_strays_remove(store, false);
    bool by_rows = count_entries(store, &entries);
    /* It only grows: long before it could stop at its largest value, it begins anew. */
    if (!gci_word_get(&head->added, &then) || then > GCI_WORD_MAX / 2)
        gci_word_set(&head->added, then = 0);
    gcache_status status = gci_count_files(store, out_counted, error);
    if (status != GCACHE_OK)
        return status;
    set_figure(store, &head->keys, out_counted->keys, &begun);
    if (by_rows)
        set_figure(store, &head->entries, entries, &begun);
    gci_count_begin(store);
    set_bytes(head, out_counted->bytes, then);
    /* Not before: should this process die, too, what the dead had placed without counting it is still covered. */
    gci_usage_forget(store, &dead);
    return GCACHE_OK;
}

static bool
are_figures_known(gci_store const *store)
{
    gci_shared_head const *head = store->shared.head;
    uint64_t value;

    return gci_word_get(&head->bytes, &value) && gci_word_get(&head->entries, &value) && gci_word_get(&head->keys, &value);
}

/* Who waited for another's count doesn't count again, beside those who store something since. */
void
gci_recount_if_unknown(gci_store *store)
{
    gci_recounted counted;
    gci_file lock;

    if (store->read_only || are_figures_known(store) ||
        gci_evictor_lock(store, EVICTOR_WAIT_NS, &lock, NULL) != GCACHE_OK)
        return;
    if (!are_figures_known(store))
        gci_recount(store, &counted, NULL);
    gci_file_unlock_and_close(&lock);
}

/* Entries come from rows, which may be out of reach for good: nobody waits for them. */
static bool
are_files_counted(gci_store const *store)
{
    gci_shared_head const *head = store->shared.head;
    uint64_t value;

    return gci_word_get(&head->bytes, &value) && gci_word_get(&head->keys, &value);
}

void
gci_recount_before_storing(gci_store *store)
{
    uint64_t begin = gci_clock_steady_ns();
    gcache_status status = GCACHE_ERROR_BUSY;
    gci_recounted counted;
    gci_file lock;

    while (status == GCACHE_ERROR_BUSY && !are_files_counted(store) && gci_clock_steady_ns() - begin < STORING_WAIT_NS) {
        status = gci_evictor_lock(store, LOOK_NS, &lock, NULL);
        if (status != GCACHE_OK)
            continue;
        if (!are_files_counted(store))
            gci_recount(store, &counted, NULL);
        gci_file_unlock_and_close(&lock);
    }
}
