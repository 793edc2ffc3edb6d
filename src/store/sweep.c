#include "base/clock.h"
#include "base/digest.h"
#include "store/attach.h"
#include "store/publish.h"

#include <stdio.h>
#include <stdlib.h>

/* From storing an attachment to inserting the entry that names it is one compile: hours at most. */
#define GRACE_NS UINT64_C(21600000000000)
#define SWEEP_WAIT_NS UINT64_C(1000000000)

/* ---- walking ---- */

struct visit {
    gci_store *store;
    gci_attachment_fn fn;
    void *state;
    char folder[24];
    int stop;
};

static int
visit_name(void *state, char const *name)
{
    struct visit *visit = state;
    uint8_t sha256[32];
    struct stat facts;
    char path[128];

    snprintf(path, sizeof path, "%s/%.80s", visit->folder, name);
    if (gci_unhex(gci_view_text(name), sha256, sizeof sha256) &&
        gci_dir_stat(visit->store->directory, path, &facts, NULL) == GCACHE_OK && S_ISREG(facts.st_mode))
        visit->stop = visit->fn(visit->state, sha256, &facts);
    return visit->stop;
}

gcache_status
gci_attachments_each(gci_store *store, gci_attachment_fn fn, void *state, gcache_error *error)
{
    struct visit visit = { .store = store, .fn = fn, .state = state };
    struct stat facts;

    for (unsigned number = 0; number < 256 && visit.stop == 0; number++) {
        snprintf(visit.folder, sizeof visit.folder, "attachments/%02x", number);
        if (gci_dir_stat(store->directory, visit.folder, &facts, NULL) == GCACHE_ERROR_NOT_FOUND)
            continue;
        gcache_status status = gci_dir_each(store->directory, visit.folder, visit_name, &visit, error);
        if (status != GCACHE_OK)
            return status;
    }
    return GCACHE_OK;
}

static int
add_cost(void *state, uint8_t const sha256[32], struct stat const *facts)
{
    (void)sha256;
    *(uint64_t *)state += gci_disk_cost((uint64_t)facts->st_size);
    return 0;
}

uint64_t
gci_attachments_cost(gci_store *store)
{
    uint64_t cost = 0;

    gci_attachments_each(store, add_cost, &cost, NULL);
    return cost;
}

/* ---- mark ---- */

struct hash {
    uint8_t bytes[32];
};

struct marks {
    gci_store *store;
    struct hash *items;
    size_t count, capacity;
    gcache_status status;
    gcache_error *error;
};

static int
compare_hashes(void const *a, void const *b)
{
    return memcmp(a, b, sizeof(struct hash));
}

static bool
mark(struct marks *marks, uint8_t const sha256[32])
{
    if (marks->count == marks->capacity) {
        size_t capacity = marks->capacity == 0 ? 256 : marks->capacity * 2;
        struct hash *items = realloc(marks->items, capacity * sizeof *items);
        if (items == NULL)
            return false;
        marks->items = items;
        marks->capacity = capacity;
    }
    memcpy(marks->items[marks->count++].bytes, sha256, 32);
    return true;
}

static bool
mark_all(struct marks *marks, gci_record const *record)
{
    for (size_t i = 0; i < record->attachment_count; i++) {
        if (!mark(marks, record->attachments[i].sha256))
            return false;
    }
    return true;
}

/* A key that can't be read may refer to anything: then nothing may be swept. */
static int
mark_key(void *state, gcache_key const *key)
{
    struct marks *marks = state;
    gci_candidates *set;

    gci_found found = gci_store_load(marks->store, key, &set, marks->error);
    if (found == GCI_UNREADABLE)
        marks->status = gci_fail(marks->error, GCACHE_ERROR_IO, "a candidate index can't be read: no attachment is removed");
    if (found != GCI_FOUND)
        return marks->status != GCACHE_OK;
    for (size_t i = 0; i < set->count; i++) {
        if (!mark_all(marks, &set->items[i]->record))
            marks->status = gci_fail_memory(marks->error);
    }
    gci_candidates_release(set);
    return marks->status != GCACHE_OK;
}

static bool
marked(struct marks const *marks, uint8_t const sha256[32])
{
    return marks->count != 0 && bsearch(sha256, marks->items, marks->count, sizeof(struct hash), compare_hashes) != NULL;
}

/* ---- sweep ---- */

struct sweep {
    gci_store *store;
    struct marks marks;
    uint64_t before_ns;
    bool dry;
    uint64_t removed;
};

static int
sweep_one(void *state, uint8_t const sha256[32], struct stat const *facts)
{
    struct sweep *sweep = state;
    gci_path path = gci_path_attachment(sha256);
    uint64_t changed = (uint64_t)facts->st_mtim.tv_sec * 1000000000u;

    if (changed > sweep->before_ns || marked(&sweep->marks, sha256))
        return 0;
    sweep->removed++;
    if (!sweep->dry && gci_dir_unlink(sweep->store->directory, path.text, NULL) == GCACHE_OK)
        gci_shared_add(&sweep->store->shared.head->bytes, -(int64_t)gci_disk_cost((uint64_t)facts->st_size));
    return 0;
}

static int
stop_at_first(void *state, uint8_t const sha256[32], struct stat const *facts)
{
    (void)sha256;
    (void)facts;
    *(bool *)state = true;
    return 1;
}

gcache_status
gci_attachments_sweep(gci_store *store, bool dry, uint64_t *out_removed, gcache_error *error)
{
    struct sweep sweep = { .store = store, .marks = { .store = store, .error = error }, .dry = dry };
    bool any = false;
    gci_file lock;

    *out_removed = 0;
    gcache_status status = gci_attachments_each(store, stop_at_first, &any, error);
    if (status != GCACHE_OK || !any)
        return status;
    /* What is stored after the marking has begun is young, and what is found again becomes so: both stay. */
    uint64_t now = gci_clock_wall_ns();
    sweep.before_ns = now > GRACE_NS ? now - GRACE_NS : 0;
    status = gci_store_each_key(store, mark_key, &sweep.marks, error);
    if (status == GCACHE_OK)
        status = sweep.marks.status;
    if (status == GCACHE_OK)
        status = gci_attach_lock(store, GCI_LOCK_EXCLUSIVE, SWEEP_WAIT_NS, &lock, error);
    if (status == GCACHE_OK) {
        if (sweep.marks.count > 0)
            qsort(sweep.marks.items, sweep.marks.count, sizeof(struct hash), compare_hashes);
        status = gci_attachments_each(store, sweep_one, &sweep, error);
        gci_file_close(&lock);
    }
    free(sweep.marks.items);
    *out_removed = sweep.removed;
    return status;
}
