#include "effort.h"
#include "fixture.h"

#include "base/system/file.h"
#include "store/format/frame.h"
#include "store/format/candidate_index.h"

#include <dirent.h>

/* ---- frames ---- */

static gci_buf
make_frame(char const *head, char const *payload)
{
    gci_view bytes = gci_view_text(payload);
    gci_frame_start start = { GCI_FRAME_ENTRY, bytes.size, gci_checksum_of(bytes.data, bytes.size), 0, 0 };
    gci_buf buf;

    gci_buf_init(&buf, GCI_BUF_NO_LIMIT);
    size_t begin = gci_frame_begin(&buf, &start);
    gci_buf_append_text(&buf, head);
    gci_frame_end(&buf, begin);
    gci_buf_append_view(&buf, bytes);
    gci_buf_append_view(&buf, gci_frame_padding(bytes.size));
    assert_false(buf.failed);
    return buf;
}

static void
test_frame_is_read_back(void **state)
{
    gci_buf buf = make_frame("a head", "the payload");
    gci_frame frame;

    (void)state;
    assert_int_equal(buf.size % 8, 0);
    assert_int_equal(gci_frame_read(gci_buf_view(&buf), &frame), GCI_FRAME_GOOD);
    assert_int_equal(frame.size, buf.size);
    assert_memory_equal(frame.head.data, "a head\0\0", 8);
    assert_true(gci_view_is(frame.payload, "the payload"));
    gci_buf_clear(&buf);
}

/* No flipped bit goes unnoticed, not in the padding either. */
static void
test_every_bit_of_a_frame_counts(void **state)
{
    gci_buf buf = make_frame("a head", "the payload");
    gci_frame frame;

    (void)state;
    for (size_t bit = 0; bit < 8 * buf.size; bit++) {
        buf.data[bit / 8] = (char)(buf.data[bit / 8] ^ 1 << bit % 8);
        assert_int_not_equal(gci_frame_read(gci_buf_view(&buf), &frame), GCI_FRAME_GOOD);
        buf.data[bit / 8] = (char)(buf.data[bit / 8] ^ 1 << bit % 8);
    }
    gci_buf_clear(&buf);
}

static void
test_cut_frames_are_torn(void **state)
{
    gci_buf buf = make_frame("a head", "the payload");
    gci_frame frame;

    (void)state;
    for (size_t size = 0; size < buf.size; size++) {
        char *cut = malloc(size + 1);
        assert_non_null(cut);
        memcpy(cut, buf.data, size);
        assert_int_equal(gci_frame_read(gci_view_of(cut, size), &frame), GCI_FRAME_TORN);
        free(cut);
    }
    gci_buf_clear(&buf);
}

/* ---- what a reader of damaged files gets ---- */


/* Three candidates: two in the candidate index, one in a file. */
static void
store_three(test_dir *fixture)
{
    gci_store *store = fixture_open_with(fixture, (gci_store_options){ .compression_level = -1 });

    insert(store, 1, 1, 100);
    insert(store, 1, 2, 100);
    insert(store, 1, 3, 100000);
    insert(store, 2, 1, 100);
    gci_store_close(store);
}

/* Looks for all three; whatever was found had the right bytes. */
static int
count_found(gci_store *store)
{
    int found = 0;

    found += look(store, 1, 1, 100) == GCI_FOUND;
    found += look(store, 1, 2, 100) == GCI_FOUND;
    found += look(store, 1, 3, 100000) == GCI_FOUND;
    assert_int_equal(look(store, 2, 1, 100), GCI_FOUND);
    return found;
}

static uint64_t
corrupt_count(gci_store *store)
{
    gci_store_stats stats;

    assert_int_equal(gci_store_stats_get(store, &stats, NULL), GCACHE_OK);
    return stats.counters[GCI_COUNT_CORRUPT];
}

static void
test_flipped_byte_in_the_candidate_index(void **state)
{
    char path[512];

    store_three(*state);
    pack_path(*state, 1, path);
    /* In the second frame. */
    flip_byte(path, GCI_PACK_HEADER + (size_of_file(path) - GCI_PACK_HEADER) / 2);
    gci_store *store = fixture_open(*state);
    /* The candidate index, and the entry that index.db knows. */
    assert_int_equal(problems(store), 2);
    assert_int_equal(count_found(store), 2);
    assert_int_equal(corrupt_count(store), 1);
    assert_non_null(strstr(((test_dir *)*state)->log, "put aside"));
    assert_int_equal(problems(store), 0);
    insert(store, 1, 1, 100);
    insert(store, 1, 2, 100);
    assert_int_equal(count_found(store), 3);
    gci_store_close(store);
}

static void
test_flipped_byte_in_the_header(void **state)
{
    char path[512];

    store_three(*state);
    pack_path(*state, 1, path);
    flip_byte(path, 20);
    gci_store *store = fixture_open(*state);
    /* Everything behind the header was good. */
    assert_int_equal(count_found(store), 3);
    assert_int_equal(corrupt_count(store), 1);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

static void
test_damaged_entry_file(void **state)
{
    static off_t const places[] = { 0, 9, 14, 30, 60, 200, 5000, OWN_FILE - 1000 };
    char path[512];

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        gci_store *store = fixture_open_with(*state, (gci_store_options){ .compression_level = -1 });
        gci_inserted inserted = insert(store, 1, 3, OWN_FILE);
        gci_store_close(store);
        entry_path(*state, 1, inserted.id, path);
        flip_byte(path, places[i]);
        store = fixture_open(*state);
        assert_int_equal(problems(store), 1);
        assert_int_equal(look(store, 1, 3, OWN_FILE), GCI_CORRUPT);
        assert_false(is_file(path));
        assert_int_equal(look(store, 1, 3, OWN_FILE), GCI_ABSENT);
        assert_int_equal(problems(store), 0);
        assert_int_equal(corrupt_count(store), i + 1);
        gci_store_close(store);
    }
}

static unsigned
files_in(test_dir const *fixture, char const *folder)
{
    char path[512];
    unsigned count = 0;

    path_in(fixture, folder, path);
    DIR *stream = opendir(path);
    for (struct dirent const *entry; stream != NULL && (entry = readdir(stream)) != NULL;)
        count += entry->d_name[0] != '.';
    if (stream != NULL)
        closedir(stream);
    return count;
}

/* A large payload that came first, and what stands behind it in the candidate index: the damage is put aside, no more is lost. */
static void
test_damaged_payload_in_the_candidate_index(void **state)
{
    static off_t const places[] = { 1000, 4096, 50000, FIRST_IN_PACK - 1 };
    gci_store_options raw = { .compression_level = -1 };
    char path[512];

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        uint64_t key = 1 + i;
        gci_store *store = fixture_open_with(*state, raw);
        insert(store, key, 1, FIRST_IN_PACK);
        insert(store, key, 2, 100);
        insert(store, key, 3, 20000);
        gci_store_close(store);
        pack_path(*state, key, path);
        flip_byte(path, places[i]);
        store = fixture_open_with(*state, raw);
        /* The candidate index, and the entry that index.db knows. */
        assert_int_equal(problems(store), 2);
        assert_int_equal(look(store, key, 2, 100), GCI_FOUND);
        assert_int_equal(look(store, key, 3, 20000), GCI_FOUND);
        assert_int_equal(look(store, key, 1, FIRST_IN_PACK), GCI_ABSENT);
        assert_int_equal(corrupt_count(store), i + 1);
        assert_int_equal(files_in(*state, "quarantine"), i + 1);
        assert_in_range(size_of_file(path), 1, 8000);
        assert_int_equal(problems(store), 0);
        insert(store, key, 1, FIRST_IN_PACK);
        assert_int_equal(look(store, key, 1, FIRST_IN_PACK), GCI_FOUND);
        gci_store_close(store);
    }
    gci_store *store = fixture_open_with(*state, raw);
    insert(store, 100, 1, FIRST_IN_PACK);
    gci_store_close(store);
    pack_path(*state, 100, path);
    flip_byte(path, 50000);
    store = fixture_open_with(*state, raw);
    assert_int_equal(look(store, 100, 1, FIRST_IN_PACK), GCI_CORRUPT);
    assert_int_equal(look(store, 100, 1, FIRST_IN_PACK), GCI_ABSENT);
    assert_false(is_file(path));
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

static void
test_cut_files(void **state)
{
    char path[512];

    store_three(*state);
    pack_path(*state, 1, path);
    off_t size = size_of_file(path);
    for (off_t cut = size - 1; cut > 0; cut -= 37) {
        assert_int_equal(truncate(path, cut), 0);
        gci_store *store = fixture_open(*state);
        count_found(store);
        gci_store_close(store);
    }
    gci_store *store = fixture_open(*state);
    insert(store, 1, 1, 100);
    assert_int_equal(look(store, 1, 1, 100), GCI_FOUND);
    /* What was cut off was never put aside: only index.db knows of it. */
    assert_int_equal(problems(store), 1);
    repair_store(store);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

/* A write that was cut off is no damage: it is ignored, and cleared away by the next writer. */
static void
test_torn_end_is_cleared_away(void **state)
{
    char path[512];

    store_three(*state);
    pack_path(*state, 1, path);
    for (int zeros = 0; zeros < 2; zeros++) {
        int fd = open(path, O_RDWR | O_APPEND);
        char head[200] = { 0 };
        if (zeros == 0)
            assert_int_equal(pread(fd, head, sizeof head, GCI_PACK_HEADER), sizeof head);
        assert_int_equal(write(fd, head, sizeof head), sizeof head);
        close(fd);
        gci_store *store = fixture_open(*state);
        assert_int_equal(problems(store), 0);
        assert_int_equal(count_found(store), 3);
        assert_false(insert(store, 1, 10 + (uint64_t)zeros, 100).existed);
        assert_int_equal(count_found(store), 3);
        assert_int_equal(look(store, 1, 10 + (uint64_t)zeros, 100), GCI_FOUND);
        assert_int_equal(corrupt_count(store), 0);
        gci_store_close(store);
    }
}

static void
test_swapped_files(void **state)
{
    gci_store *store = fixture_open_apart(*state);
    char one[512], two[512], aside[512];

    insert(store, 1, 1, 100);
    insert(store, 2, 2, 100);
    gci_inserted a = insert(store, 3, 1, OWN_FILE), b = insert(store, 3, 2, OWN_FILE);
    gci_store_close(store);
    path_in(*state, "tmp/aside", aside);
    pack_path(*state, 1, one);
    pack_path(*state, 2, two);
    assert_int_equal(rename(one, aside) | rename(two, one) | rename(aside, two), 0);
    entry_path(*state, 3, a.id, one);
    entry_path(*state, 3, b.id, two);
    assert_int_equal(rename(one, aside) | rename(two, one) | rename(aside, two), 0);
    store = fixture_open_apart(*state);
    assert_true(problems(store) >= 4);
    assert_int_equal(look(store, 1, 1, 100), GCI_CORRUPT);
    assert_int_equal(look(store, 1, 2, 100), GCI_ABSENT);
    assert_int_equal(look(store, 2, 2, 100), GCI_CORRUPT);
    assert_int_equal(look(store, 3, 1, OWN_FILE), GCI_CORRUPT);
    assert_int_equal(look(store, 3, 2, OWN_FILE), GCI_CORRUPT);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

/* A candidate index that an outsider cut or removed behind the back of a handle that has it in memory. */
static void
test_insert_after_a_cut(void **state)
{
    gci_store *store = fixture_open_apart(*state);
    char path[512];

    for (int removed = 0; removed < 2; removed++) {
        uint64_t key = 1 + (uint64_t)removed;
        insert(store, key, 1, 100);
        insert(store, key, 2, 100);
        assert_int_equal(look(store, key, 1, 100), GCI_FOUND);
        pack_path(*state, key, path);
        assert_int_equal(removed ? unlink(path) : truncate(path, size_of_file(path) - 3), 0);
        insert(store, key, 3, 100);
        assert_int_equal(look(store, key, 3, 100), GCI_FOUND);
        assert_int_equal(look(store, key, 1, 100), removed ? GCI_ABSENT : GCI_FOUND);
    }
    gci_store_close(store);
}

/* An entry file that an outsider removed: evicted, and forgotten at once. */
static void
test_missing_entry_file(void **state)
{
    gci_store *store = fixture_open(*state);
    gcache_key key = key_of(1);
    gci_candidates *set;
    char path[512];

    gci_inserted inserted = insert(store, 1, 1, OWN_FILE);
    entry_path(*state, 1, inserted.id, path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(problems(store), 1);
    assert_int_equal(look(store, 1, 1, OWN_FILE), GCI_EVICTED);
    assert_int_equal(gci_store_candidates(store, &key, &set, NULL), GCI_FOUND);
    assert_int_equal(set->count, 0);
    assert_int_equal(set->evicted_count, 1);
    assert_string_equal(set->evicted[0]->record.id, inserted.id);
    gci_candidates_release(set);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

/* Says of the first frame that it is of version 9, as a later library would. */
static void
make_newer(char const *path)
{
    char bytes[65536];
    gci_frame frame;

    int fd = open(path, O_RDWR);
    ssize_t size = pread(fd, bytes, sizeof bytes, GCI_PACK_HEADER);
    assert_int_equal(gci_frame_read(gci_view_of(bytes, (size_t)size), &frame), GCI_FRAME_GOOD);
    bytes[8] = 9;
    size_t checked = GCI_FRAME_PROLOGUE + frame.head.size;
    gci_checksum sum = gci_checksum_of(bytes, checked);
    memcpy(bytes + checked, &sum.low, 8);
    memcpy(bytes + checked + 8, &sum.high, 8);
    assert_int_equal(gci_frame_read(gci_view_of(bytes, (size_t)size), &frame), GCI_FRAME_NEWER);
    assert_int_equal(pwrite(fd, bytes, (size_t)size, GCI_PACK_HEADER), size);
    close(fd);
}

static void
test_newer_frames_are_left_alone(void **state)
{
    gcache_error error = { 0 };
    gci_inserted inserted;
    char path[512];

    store_three(*state);
    pack_path(*state, 1, path);
    make_newer(path);
    off_t size = size_of_file(path);
    gci_store *store = fixture_open(*state);
    assert_int_equal(count_found(store), 2);
    assert_int_equal(size_of_file(path), size);
    assert_int_equal(try_insert(store, 1, 1, 100, &inserted, &error), GCACHE_OK);
    assert_int_equal(count_found(store), 3);
    assert_int_equal(corrupt_count(store), 0);
    gci_store_close(store);
}

/* Repair goes on with the other keys, and loses nothing of this one. */
static void
test_repair_leaves_what_is_newer(void **state)
{
    char path[512];

    store_three(*state);
    pack_path(*state, 1, path);
    make_newer(path);
    gci_store *store = fixture_open(*state);
    repair_store(store);
    assert_int_equal(count_found(store), 2);
    gci_store_close(store);
    char bytes[GCI_PACK_HEADER + 16];
    int fd = open(path, O_RDONLY);
    assert_int_equal(pread(fd, bytes, sizeof bytes, 0), sizeof bytes);
    close(fd);
    assert_int_equal(bytes[GCI_PACK_HEADER + 8], 9);
}

/* To make room others go: written anew by this version it would lose what it doesn't know. */
static void
test_eviction_passes_over_what_is_newer(void **state)
{
    gcache_gc_options options = { .target_bytes = 1 };
    gcache_collected collected;
    gci_inserted inserted;
    char path[512];

    store_three(*state);
    gci_store *store = fixture_open(*state);
    assert_int_equal(try_insert(store, 1, 2, 100, &inserted, NULL), GCACHE_OK);
    pack_path(*state, 1, path);
    make_newer(path);
    off_t size = size_of_file(path);
    assert_int_equal(gci_store_gc(store, &options, &collected, NULL), GCACHE_OK);
    assert_int_equal(collected.entries, 1);
    assert_int_equal(look(store, 2, 1, 100), GCI_EVICTED);
    assert_int_equal(size_of_file(path), size);
    assert_int_equal(gci_store_evict(store, &(gcache_key){ .bytes = { 0 } }, inserted.id, NULL), GCACHE_ERROR_NOT_FOUND);
    gcache_key key = key_of(1);
    assert_int_equal(gci_store_evict(store, &key, inserted.id, NULL), GCACHE_ERROR_FORMAT);
    assert_int_equal(size_of_file(path), size);
    gci_store_close(store);
}

/*
 * A file of the same entry with a larger sequence is what a renewal leaves, and ending that makes its reference anew. Where that
 * can't be done, because beside it lies what a newer version wrote, the file lies for good: nobody may ask again and again.
 */
static void
test_a_file_that_lies_about_being_newer(void **state)
{
    char here[512], there[512], pack[512], command[1200];
    gcache_key key = key_of(1);
    gci_candidates *set;
    gci_payload payload;
    void *other = NULL;

    gci_store *store = fixture_open(*state);
    insert(store, 1, 2, 100);
    gci_inserted inserted = insert(store, 1, 1, 100000);
    gci_store_close(store);
    assert_int_equal(fixture_setup(&other), 0);
    store = fixture_open(other);
    for (uint64_t variant = 2; variant < 5; variant++)
        insert(store, 1, variant, 100);
    assert_true(insert(store, 1, 1, 100000).sequence > inserted.sequence);
    gci_store_close(store);
    entry_path(*state, 1, inserted.id, here);
    entry_path(other, 1, inserted.id, there);
    snprintf(command, sizeof command, "cp '%s' '%s'", there, here);
    assert_int_equal(system(command), 0);
    pack_path(*state, 1, pack);
    make_newer(pack);

    store = fixture_open(*state);
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(gci_store_candidates(store, &key, &set, NULL), GCI_FOUND);
        gci_candidate *candidate = find_variant(set, 1);
        assert_non_null(candidate);
        assert_int_equal(gci_store_payload(store, candidate, &payload, NULL), GCI_CORRUPT);
        gci_candidates_release(set);
    }
    gci_store_close(store);
    fixture_teardown(&other);
}

/* An entry file that nobody names, with a hole behind it that no memory holds, is put aside. */
static void
test_repair_of_a_file_without_end(void **state)
{
    gcache_error error = { 0 };
    gci_inserted inserted;
    char path[512], pack[512];

    gci_store *store = fixture_open(*state);
    assert_int_equal(try_insert(store, 1, 1, OWN_FILE, &inserted, &error), GCACHE_OK);
    gci_store_close(store);
    entry_path(*state, 1, inserted.id, path);
    pack_path(*state, 1, pack);
    assert_int_equal(unlink(pack), 0);
    assert_int_equal(truncate(path, (off_t)1 << 40), 0);
    store = fixture_open(*state);
    assert_int_equal(repair_store(store).quarantined, 1);
    assert_int_equal(problems(store), 0);
    assert_int_equal(try_insert(store, 1, 1, OWN_FILE, &inserted, &error), GCACHE_OK);
    assert_int_equal(look(store, 1, 1, OWN_FILE), GCI_FOUND);
    gci_store_close(store);
}

/* ---- random damage ---- */

static uint64_t
next_random(uint64_t *seed)
{
    *seed += UINT64_C(0x9e3779b97f4a7c15);
    return gci_hash64(seed, sizeof *seed, 0);
}

/* Keys whose frames lie, from here on. */
#define LIARS 300

/* A frame that says something absurd of itself, and has the checksum to go with it. */
static void
make_hostile(char const *path, size_t at, uint64_t *seed)
{
    static uint32_t const absurd[] = { 0, 1, 0x7fffffff, 0x80000000, 0xfffffff8, 0xffffffff };
    uint32_t head_size;
    gci_buf bytes;

    gci_buf_init(&bytes, GCI_BUF_NO_LIMIT);
    assert_int_equal(gci_file_read_user(path, (size_t)1 << 20, &bytes, NULL), GCACHE_OK);
    char *frame = bytes.data + at;
    bool whole = bytes.size >= at + GCI_FRAME_OVERHEAD;
    if (whole)
        memcpy(&head_size, frame + 12, sizeof head_size);
    if (whole && head_size <= bytes.size - at - GCI_FRAME_OVERHEAD) {
        size_t place = 8 + next_random(seed) % (GCI_FRAME_PROLOGUE + head_size - 8 - sizeof absurd[0]);
        memcpy(frame + place, &absurd[next_random(seed) % 6], sizeof absurd[0]);
        gci_checksum sum = gci_checksum_of(frame, GCI_FRAME_PROLOGUE + head_size);
        memcpy(frame + GCI_FRAME_PROLOGUE + head_size, &sum, sizeof sum);
        assert_int_equal(gci_file_write_user(path, gci_buf_view(&bytes), NULL), GCACHE_OK);
    }
    gci_buf_clear(&bytes);
}

/* What comes first under a key, beside which a payload of 20000 has a file of its own. */
static size_t
first_size(uint64_t key)
{
    return key % 2 == 0 ? 100 : FIRST_IN_PACK;
}

/* The same file of another key and entry in this one's place: whole, and not what its name says. */
static void
swap_with_neighbour(test_dir *fixture, uint64_t key, char const *path, bool pack)
{
    char other[512], spare[512];
    gci_inserted inserted;

    gci_store *store = fixture_open(fixture);
    inserted = insert(store, key + 200, 2, OWN_FILE);
    gci_store_close(store);
    if (pack)
        pack_path(fixture, key + 200, other);
    else
        entry_path(fixture, key + 200, inserted.id, other);
    path_in(fixture, "spare", spare);
    if (!is_file(other))
        return;
    assert_int_equal(rename(path, spare), 0);
    assert_int_equal(rename(other, path), 0);
    assert_int_equal(rename(spare, other), 0);
}

static void
damage(test_dir *fixture, uint64_t key, bool lie, char const *id, uint64_t *seed)
{
    bool pack = next_random(seed) % 2 == 0;
    char path[512];

    if (pack)
        pack_path(fixture, key, path);
    else
        entry_path(fixture, key, id, path);
    if (!is_file(path) || size_of_file(path) == 0)
        return;
    off_t size = size_of_file(path);
    if (lie) {
        make_hostile(path, pack ? GCI_PACK_HEADER : 0, seed);
        return;
    }
    switch (next_random(seed) % 6) {
    case 0:
    case 1:
        assert_int_equal(truncate(path, (off_t)(next_random(seed) % (uint64_t)size)), 0);
        break;
    case 2:
        assert_int_equal(truncate(path, size + (off_t)(next_random(seed) % 5000)), 0);
        break;
    case 3:
        swap_with_neighbour(fixture, key, path, pack);
        break;
    default:
        flip_byte(path, (off_t)(next_random(seed) % (uint64_t)size));
    }
}

/*
 * Whatever happens to the files: the right bytes or a miss, and always room for a new insert. Where somebody made a frame lie
 * and gave it the checksum to go with it, other guards than were stored are as good as any (that's what signing is for), and
 * a frame from the future keeps its key to itself; but nothing crashes, and repair finds its way through.
 */
static void
test_random_damage(void **state)
{
    effort work = effort_of(1500);
    uint64_t seed = effort_seed();
    char path[512];

    while (effort_goes_on(&work)) {
        uint64_t round = work.round;
        uint64_t key = next_random(&seed) % 8;
        gci_store *store = fixture_open_with(*state, (gci_store_options){ .compression_level = round % 2 == 0 ? -1 : 1,
                                                                          .durability = GCACHE_DURABILITY_NONE });
        bool lie = next_random(&seed) % 4 == 0;
        gci_inserted inserted = { 0 };
        key += lie ? LIARS : 0;
        try_insert(store, key, 1, first_size(key), &inserted, NULL);
        try_insert(store, key, 2, 20000, &inserted, NULL);
        insert(store, 100, 1, 100);
        if (round % 3 == 0)
            gci_store_close(store);
        damage(*state, key, lie, inserted.id, &seed);
        if (round % 3 == 0)
            store = fixture_open(*state);
        look(store, key, 1, first_size(key));
        look(store, key, 2, 20000);
        assert_int_equal(look(store, 100, 1, 100), GCI_FOUND);
        gcache_status status = try_insert(store, key, 3, 200, &inserted, NULL);
        gci_found found = look(store, key, 3, 200);
        assert_true(lie || (status == GCACHE_OK && found == GCI_FOUND));
        gci_store_close(store);
    }
    gci_store *store = fixture_open(*state);
    for (uint64_t key = 0; key < 8; key++) {
        look(store, key, 1, first_size(key));
        look(store, key, 2, 20000);
    }
    gcache_maintenance_options options = { 0 };
    gcache_repaired repaired;
    for (uint64_t key = LIARS; key < LIARS + 8; key++) {
        pack_path(*state, key, path);
        unlink(path);
    }
    assert_int_equal(gci_store_repair(store, &options, &repaired, NULL), GCACHE_OK);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
    print_message("    seed %llu: %llu damages\n", (unsigned long long)effort_seed(), (unsigned long long)work.begun);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_frame_is_read_back),
        cmocka_unit_test(test_every_bit_of_a_frame_counts),
        cmocka_unit_test(test_cut_frames_are_torn),
        STORE_TEST(test_flipped_byte_in_the_candidate_index),
        STORE_TEST(test_flipped_byte_in_the_header),
        STORE_TEST(test_damaged_entry_file),
        STORE_TEST(test_damaged_payload_in_the_candidate_index),
        STORE_TEST(test_cut_files),
        STORE_TEST(test_torn_end_is_cleared_away),
        STORE_TEST(test_swapped_files),
        STORE_TEST(test_insert_after_a_cut),
        STORE_TEST(test_missing_entry_file),
        STORE_TEST(test_newer_frames_are_left_alone),
        STORE_TEST(test_repair_leaves_what_is_newer),
        STORE_TEST(test_eviction_passes_over_what_is_newer),
        STORE_TEST(test_a_file_that_lies_about_being_newer),
        STORE_TEST(test_repair_of_a_file_without_end),
        STORE_TEST(test_random_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
