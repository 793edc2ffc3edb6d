/*
 * Somebody who may write into the cache but has no key: every checksum is right, the bytes are theirs. Readers that require
 * signatures must notice; that readers without don't shows that the forgery is a good one.
 */
#include "fixture.h"

#include "store/format/frame.h"
#include "store/format/candidate_index.h"

enum { IN_PACK = 100, PAYLOAD_CHECKSUM_AT = 24 };

static gci_signing_key const ours = { .id = "k1", .secret = GCI_VIEW("our secret") };

static gci_store_options
signing(bool required)
{
    return (gci_store_options){ .compression_level = -1, .pooled_max = 1, .signing = &ours, .signing_count = 1,
                                .require_signature = required };
}

static char *
load(char const *path, size_t *out_size)
{
    *out_size = (size_t)size_of_file(path);
    char *bytes = malloc(*out_size);
    int fd = open(path, O_RDONLY);

    assert_true(fd >= 0 && bytes != NULL);
    assert_int_equal(read(fd, bytes, *out_size), *out_size);
    close(fd);
    return bytes;
}

static void
save(char const *path, char const *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_TRUNC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
}

static void
put_checksum(char *at, gci_checksum sum)
{
    memcpy(at, &sum.low, 8);
    memcpy(at + 8, &sum.high, 8);
}

/* What the frame says of its payload becomes sum; the frame's own checksum follows. */
static void
restate(char *frame, gci_frame const *read, gci_checksum sum)
{
    size_t covered = GCI_FRAME_PROLOGUE + read->head.size;

    put_checksum(frame + PAYLOAD_CHECKSUM_AT, sum);
    put_checksum(frame + covered, gci_checksum_of(frame, covered));
}

/* Other bytes in the payload of the frame at `at`. Returns their checksum. */
static gci_checksum
forge_frame(char *bytes, size_t at, size_t size)
{
    gci_frame frame;

    assert_int_equal(gci_frame_read(gci_view_of(bytes + at, size - at), &frame), GCI_FRAME_GOOD);
    assert_true(frame.payload.size > 16);
    char *payload = bytes + (frame.payload.data - bytes);
    memcpy(payload, "other code", 10);
    gci_checksum sum = gci_checksum_of(payload, frame.payload.size);
    restate(bytes + at, &frame, sum);
    return sum;
}

/* The pack's only frame: its payload where it has one, else what it says of the entry file's. */
static void
forge_pack(test_dir *dir, uint64_t key, gci_checksum const *of_file)
{
    char path[512];
    size_t size;
    gci_frame frame;

    pack_path(dir, key, path);
    char *bytes = load(path, &size);
    if (of_file == NULL) {
        forge_frame(bytes, GCI_PACK_HEADER, size);
    } else {
        assert_int_equal(gci_frame_read(gci_view_of(bytes + GCI_PACK_HEADER, size - GCI_PACK_HEADER), &frame), GCI_FRAME_GOOD);
        assert_int_equal(frame.type, GCI_FRAME_REFERENCE);
        restate(bytes + GCI_PACK_HEADER, &frame, *of_file);
    }
    save(path, bytes, size);
    free(bytes);
}

static void
forge_file(test_dir *dir, uint64_t key, char const *id)
{
    char path[512];
    size_t size;

    entry_path(dir, key, id, path);
    char *bytes = load(path, &size);
    gci_checksum sum = forge_frame(bytes, 0, size);
    save(path, bytes, size);
    free(bytes);
    forge_pack(dir, key, &sum);
}

/* FOUND with *out_forged saying whether the bytes are the forger's, or why not. */
static gci_found
read_back(test_dir *dir, bool required, uint64_t key, bool *out_forged)
{
    gci_store *store = fixture_open_with(dir, signing(required));
    gcache_key wanted = key_of(key);
    gci_candidates *set;
    gci_payload payload;

    *out_forged = false;
    gci_found found = gci_store_candidates(store, &wanted, &set, NULL);
    if (found == GCI_FOUND) {
        gci_candidate *candidate = find_variant(set, 1);
        found = candidate != NULL ? gci_store_payload(store, candidate, &payload, NULL) : GCI_ABSENT;
        if (found == GCI_FOUND) {
            *out_forged = memcmp(payload.data, "other code", 10) == 0;
            gci_payload_release(&payload);
        }
        gci_candidates_release(set);
    }
    gci_store_close(store);
    return found == GCI_RENEWED ? read_back(dir, required, key, out_forged) : found;
}

static char const *
insert_signed(test_dir *dir, uint64_t key, size_t size)
{
    static gci_inserted inserted;
    gci_store *store = fixture_open_with(dir, signing(false));

    inserted = insert(store, key, 1, size);
    gci_store_close(store);
    return inserted.id;
}

static void
test_a_forged_payload_in_the_candidate_index(void **state)
{
    static size_t const sizes[] = { IN_PACK, FIRST_IN_PACK };
    bool forged;

    for (uint64_t key = 0; key < sizeof sizes / sizeof *sizes; key++) {
        insert_signed(*state, key, sizes[key]);
        assert_int_equal(read_back(*state, true, key, &forged), GCI_FOUND);
        forge_pack(*state, key, NULL);
        assert_int_equal(read_back(*state, false, key, &forged), GCI_FOUND);
        assert_true(forged);
        assert_int_not_equal(read_back(*state, true, key, &forged), GCI_FOUND);
    }
}

static void
test_a_forged_entry_file(void **state)
{
    bool forged;
    char const *id = insert_signed(*state, 1, OWN_FILE);

    assert_int_equal(read_back(*state, true, 1, &forged), GCI_FOUND);
    forge_file(*state, 1, id);
    assert_int_equal(read_back(*state, false, 1, &forged), GCI_FOUND);
    assert_true(forged);
    assert_int_not_equal(read_back(*state, true, 1, &forged), GCI_FOUND);
}

/* Signed by us, for the same entry of another cache: a newer one is what a renewal leaves (renewal.h), an older one nobody needs
   but who wants an old payload back. */
static void
test_an_entry_file_of_another_cache(void **state)
{
    test_dir *here = *state, *there = NULL;
    void *made = NULL;
    char first[512], second[512];
    size_t size;
    bool forged;

    assert_int_equal(fixture_setup(&made), 0);
    there = made;
    insert_signed(here, 1, OWN_FILE);
    gci_store *store = fixture_open_with(there, signing(false));
    gci_inserted other = insert(store, 1, 2, IN_PACK); /* so that the sequence is another one */
    gci_inserted inserted = insert(store, 1, 1, OWN_FILE);
    gcache_key key = key_of(1);
    assert_int_equal(gci_store_evict(store, &key, other.id, NULL), GCACHE_OK);
    gci_store_close(store);
    entry_path(here, 1, inserted.id, first);
    entry_path(there, 1, inserted.id, second);
    char *older = load(first, &size), *newer = load(second, &size);
    assert_int_equal(size_of_file(first), size);
    save(first, newer, size);
    assert_int_equal(read_back(here, true, 1, &forged), GCI_FOUND);
    assert_false(forged);
    save(second, older, size);
    assert_int_equal(read_back(there, true, 1, &forged), GCI_CORRUPT);
    free(older);
    free(newer);
    fixture_teardown(&made);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_a_forged_payload_in_the_candidate_index),
        STORE_TEST(test_a_forged_entry_file),
        STORE_TEST(test_an_entry_file_of_another_cache),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
