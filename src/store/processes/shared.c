/* Making, mapping, replacing and checking the generation table. */
#include "store/processes/shared.h"

#include "base/system/clock.h"
#include "store/directory/layout.h"
#include "store/directory/paths.h"
#include "store/processes/locks.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/random.h>

#define NAME "generations"
/* Replacing one is a matter of a millisecond. */
#define REPLACE_WAIT_NS UINT64_C(1000000000)

_Static_assert(sizeof(gci_shared_table) == 4096 + 8 * GCI_SLOTS + 64 * GCI_PROCESS_SLOTS, "the layout is a file's");
_Static_assert(offsetof(gci_shared_table, generations) == 4096, "the layout is a file's");
_Static_assert(offsetof(gci_shared_head, counters) == 80, "the layout is a file's");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "processes share these words");

/* ---- the file ---- */

static bool
has_its_size(gci_file const *file)
{
    struct stat facts;

    return gci_file_stat(file, &facts, NULL) == GCACHE_OK && facts.st_size == sizeof(gci_shared_table);
}

/* Copies may have holes. */
static bool
has_its_blocks(gci_file const *file)
{
    struct stat facts;

    return gci_file_stat(file, &facts, NULL) == GCACHE_OK &&
           (facts.st_blocks * 512 >= facts.st_size || gci_file_allocate(file, sizeof(gci_shared_table), NULL) == GCACHE_OK);
}

struct head {
    char magic[8];
    uint64_t slots;
};

static struct head const good_head = { { 'G', 'C', 'G', 'E', 'N', 'S', 0, 3 }, GCI_SLOTS };

/* Opens the file if it is a table. */
static bool
open_table(gci_dir dir, bool read_only, gci_file *out_file)
{
    struct head head;
    size_t got = 0;

    if (gci_file_open(dir, NAME, read_only ? O_RDONLY : O_RDWR, out_file, NULL) != GCACHE_OK)
        return false;
    if (has_its_size(out_file) && gci_file_read(out_file, &head, sizeof head, 0, &got, NULL) == GCACHE_OK &&
        got == sizeof head && memcmp(&head, &good_head, sizeof head) == 0 && (read_only || has_its_blocks(out_file)))
        return true;
    gci_file_close(out_file);
    return false;
}

/* Even, so that nobody seems to write; and far from its end. */
static uint64_t
first_generation(void)
{
    uint64_t random = 0;

    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
        random = gci_clock_wall_ns();
    return (random >> 2) & ~UINT64_C(1);
}

static gcache_status
fill_table(gci_file const *file)
{
    gci_shared_table *table = calloc(1, sizeof *table);

    if (table == NULL)
        return GCACHE_ERROR_MEMORY;
    uint64_t first = first_generation();
    memcpy(table, &good_head, sizeof good_head);
    for (size_t i = 0; i < GCI_SLOTS; i++)
        atomic_init(&table->generations[i], first);
    gcache_status status = gci_file_write_at(file, gci_view_of((char const *)table, sizeof *table), 0, NULL);
    free(table);
    return status;
}

static gcache_status
write_table(gci_dir dir, char const *path)
{
    gci_file file;

    gcache_status status = gci_layout_create(dir, path, O_RDWR | O_CREAT | O_EXCL, &file, NULL);
    if (status != GCACHE_OK)
        return status;
    status = gci_file_allocate(&file, sizeof(gci_shared_table), NULL);
    if (status == GCACHE_OK)
        status = fill_table(&file);
    gci_file_close(&file);
    return status;
}

/* Between those who make one at the same time a link without replacing decides: all must use the same. */
static bool
make_table(gci_dir dir)
{
    gci_path temporary = gci_path_temporary();
    bool existed = false;

    gcache_status status = write_table(dir, temporary.text);
    if (status == GCACHE_OK)
        status = gci_dir_link(dir, temporary.text, dir, NAME, &existed, NULL);
    gci_dir_unlink(dir, temporary.text, NULL);
    return status == GCACHE_OK;
}

/* Under a lock, and only after another look: somebody else may have replaced it just now. */
static bool
replace_table(gci_dir dir, gci_file *out_file)
{
    gci_path temporary = gci_path_temporary();
    gci_file lock;

    if (gci_lock_take(dir, "locks/generations", GCI_LOCK_EXCLUSIVE, REPLACE_WAIT_NS, &lock, NULL) != GCACHE_OK)
        return false;
    bool opened = open_table(dir, false, out_file);
    if (!opened) {
        gcache_status status = write_table(dir, temporary.text);
        if (status == GCACHE_OK)
            status = gci_layout_make_way(dir, NAME, NULL);
        if (status == GCACHE_OK)
            status = gci_dir_rename(dir, temporary.text, dir, NAME, NULL);
        if (status != GCACHE_OK)
            gci_dir_unlink(dir, temporary.text, NULL);
        opened = status == GCACHE_OK && open_table(dir, false, out_file);
    }
    gci_file_unlock_and_close(&lock);
    return opened;
}

static bool
open_or_make(gci_dir dir, bool read_only, gci_file *out_file)
{
    if (open_table(dir, read_only, out_file) || read_only)
        return out_file->fd >= 0;
    /* A new directory, or a copy: those often lack what was empty in the original. */
    gci_layout_complete(dir, NULL);
    return make_table(dir) && (open_table(dir, false, out_file) || replace_table(dir, out_file));
}

/* ---- the mapping ---- */

void
gci_shared_init(gci_shared *shared)
{
    memset(shared, 0, sizeof *shared);
    shared->file = (gci_file)GCI_FILE_NONE;
    shared->head = &shared->own_head;
    shared->counts = &shared->own_counts;
    shared->generations = shared->own_generations;
    shared->mask = GCI_OWN_SLOTS - 1;
    shared->processes = &shared->own_process;
    shared->process_slots = 1;
}

void
gci_shared_map(gci_shared *shared, gci_dir dir, bool read_only)
{
    if (!open_or_make(dir, read_only, &shared->file))
        return;
    shared->table = gci_file_map(&shared->file, sizeof *shared->table, !read_only, NULL);
    if (shared->table == NULL) {
        gci_file_close(&shared->file);
        return;
    }
    shared->head = &shared->table->head;
    shared->counts = &shared->table->counts;
    shared->generations = shared->table->generations;
    shared->mask = GCI_SLOTS - 1;
    shared->processes = shared->table->processes;
    shared->process_slots = GCI_PROCESS_SLOTS;
    atomic_store(&shared->usable, true);
}

void
gci_shared_close(gci_shared *shared)
{
    gci_file_unmap(shared->table, sizeof *shared->table);
    gci_file_close(&shared->file);
    gci_shared_init(shared);
}

static bool
is_current(gci_shared const *shared)
{
    return gci_file_still_named(&shared->file) && has_its_size(&shared->file) &&
           memcmp(shared->table, &good_head, sizeof good_head) == 0;
}

static void
change_all(gci_shared *shared)
{
    for (size_t i = 0; i < GCI_SLOTS; i++)
        atomic_fetch_add(&shared->generations[i], 2);
}

void
gci_shared_revalidate(gci_shared *shared, gci_dir dir, bool read_only)
{
    gci_file file;

    if (shared->table == NULL || (atomic_load(&shared->usable) && is_current(shared)))
        return;
    atomic_store(&shared->usable, false);
    if (open_or_make(dir, read_only, &file) &&
        gci_file_map_over(&file, shared->table, sizeof *shared->table, !read_only)) {
        gci_file_close(&shared->file);
        shared->file = file;
        if (!read_only)
            change_all(shared);
        atomic_store(&shared->usable, true);
        return;
    }
    gci_file_close(&file);
    if (!has_its_size(&shared->file))
        gci_file_unmap_to_zeros(shared->table, sizeof *shared->table);
}

void
gci_generation_begin(gci_shared *shared, gcache_key const *key)
{
    _Atomic uint64_t *word = gci_generation_word(shared, key);
    uint64_t now = atomic_load(word);

    /* An odd value was left by a writer that died: a new odd one, so that nothing read meanwhile is taken for current. */
    atomic_store(word, (now | 1) + ((now & 1) != 0 ? 2 : 0));
}

void
gci_generation_end(gci_shared *shared, gcache_key const *key)
{
    _Atomic uint64_t *word = gci_generation_word(shared, key);
    uint64_t now = atomic_load(word);

    /* Even if the table was replaced since the beginning. */
    atomic_store(word, (now | 1) + 1);
}

uint64_t
gci_generations_sum(gci_shared const *shared)
{
    uint64_t sum = 0;

    for (uint32_t slot = 0; slot <= shared->mask; slot++)
        sum += atomic_load(&shared->generations[slot]);
    return sum;
}
