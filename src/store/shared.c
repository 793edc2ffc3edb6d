#include "store/shared.h"

#include "base/check.h"
#include "store/paths.h"

#include <fcntl.h>
#include <stdlib.h>

#define NAME "generations"
/* Replacing one is a matter of a millisecond. */
#define REPLACE_WAIT_NS UINT64_C(1000000000)

static char const magic[8] = { 'G', 'C', 'G', 'E', 'N', 'S', 0, 1 };

_Static_assert(sizeof(gci_shared_table) == 4096 + 8 * GCI_SLOTS, "the layout is a file's");
_Static_assert(offsetof(gci_shared_table, generations) == 4096, "the layout is a file's");
_Static_assert(offsetof(gci_shared_head, counters) == 64, "the layout is a file's");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "processes share these words");

static void
unmap(gci_shared *shared)
{
    gci_file_unmap(shared->table, sizeof *shared->table);
    gci_file_close(&shared->file);
    shared->table = NULL;
}

static bool
map_existing(gci_shared *shared, gci_dir dir, bool read_only)
{
    struct stat facts;

    if (gci_file_open(dir, NAME, (read_only ? O_RDONLY : O_RDWR) | O_NONBLOCK, &shared->file, NULL) != GCACHE_OK)
        return false;
    if (gci_file_stat(&shared->file, &facts, NULL) == GCACHE_OK && facts.st_size == sizeof *shared->table)
        shared->table = gci_file_map(&shared->file, sizeof *shared->table, !read_only, NULL);
    if (shared->table != NULL && memcmp(shared->table->head.magic, magic, sizeof magic) == 0 &&
        shared->table->head.slots == GCI_SLOTS)
        return true;
    unmap(shared);
    return false;
}

static gcache_status
write_table(gci_dir dir, char const *path)
{
    static struct {
        char magic[8];
        uint64_t slots;
    } const head = { { 'G', 'C', 'G', 'E', 'N', 'S', 0, 1 }, GCI_SLOTS };
    gci_file file;

    gcache_status status = gci_file_open(dir, path, O_RDWR | O_CREAT | O_EXCL, &file, NULL);
    if (status != GCACHE_OK)
        return status;
    status = gci_file_allocate(&file, sizeof(gci_shared_table), NULL);
    if (status == GCACHE_OK)
        status = gci_file_write_at(&file, gci_view_of(&head, sizeof head), 0, NULL);
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
replace_table(gci_shared *shared, gci_dir dir)
{
    gci_path temporary = gci_path_temporary();
    gci_file lock;

    if (gci_file_open(dir, "locks/generations", O_RDWR | O_CREAT, &lock, NULL) != GCACHE_OK)
        return false;
    bool mapped = false;
    if (gci_file_lock(&lock, GCI_LOCK_EXCLUSIVE, REPLACE_WAIT_NS, NULL) == GCACHE_OK) {
        mapped = map_existing(shared, dir, false);
        bool written = !mapped && write_table(dir, temporary.text) == GCACHE_OK;
        if (written && gci_dir_rename(dir, temporary.text, dir, NAME, NULL) == GCACHE_OK)
            mapped = map_existing(shared, dir, false);
        else if (!mapped)
            gci_dir_unlink(dir, temporary.text, NULL);
    }
    gci_file_close(&lock);
    return mapped;
}

void
gci_shared_init(gci_shared *shared)
{
    memset(shared, 0, sizeof *shared);
    shared->file = (gci_file)GCI_FILE_NONE;
    shared->head = &shared->own_head;
    shared->generations = shared->own_generations;
    shared->mask = GCI_OWN_SLOTS - 1;
}

void
gci_shared_map(gci_shared *shared, gci_dir dir, bool read_only)
{
    bool mapped = map_existing(shared, dir, read_only);

    /* A new directory, or a copy: those often lack what was empty in the original. */
    if (!mapped && !read_only) {
        gci_layout_furnish(dir, NULL);
        mapped = make_table(dir) && (map_existing(shared, dir, false) || replace_table(shared, dir));
    }
    if (!mapped)
        return;
    shared->head = &shared->table->head;
    shared->generations = shared->table->generations;
    shared->mask = GCI_SLOTS - 1;
    atomic_store(&shared->usable, true);
}

void
gci_shared_close(gci_shared *shared)
{
    unmap(shared);
    gci_shared_init(shared);
}

bool
gci_shared_is_stale(gci_shared const *shared)
{
    struct stat facts;

    return shared->usable && (gci_file_stat(&shared->file, &facts, NULL) != GCACHE_OK || facts.st_nlink == 0);
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

    GCI_ASSERT((now & 1) != 0);
    atomic_store(word, now + 1);
}

void
gci_shared_add(_Atomic uint64_t *word, int64_t difference)
{
    uint64_t now = atomic_load(word), wanted;

    do {
        uint64_t size = difference < 0 ? (uint64_t)-difference : 0;
        wanted = difference >= 0 ? now + (uint64_t)difference : now > size ? now - size : 0;
    } while (!atomic_compare_exchange_weak(word, &now, wanted));
}
