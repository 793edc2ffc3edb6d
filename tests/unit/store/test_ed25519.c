/*
 * Entries signed by Ed25519: readers that hold public keys only, forgeries, keys replaced one by one, what older versions see,
 * and how seldom a signature is verified.
 */
#include "fixture.h"

#include "base/signing/ed25519.h"
#include "store/format/candidate_index.h"
#include "store/format/frame.h"
#include "store/format/record.h"
#include "store/memory/candidates.h"

enum { SMALL = 100, MANY = 1000, VERSION_AT = 8 };

static uint8_t const our_seed[32] = "the seed of our own private key", new_seed[32] = "the seed of the one after it...",
                     their_seed[32] = "the seed of somebody else's key";

static gci_signing_key
private_key(char const *id, uint8_t const seed[32])
{
    gci_signing_key key = { .id = id, .secret = gci_view_of(seed, 32), .algorithm = GCACHE_SIGNING_ED25519 };

    assert_true(gci_ed25519_public(seed, key.public_key));
    return key;
}

static gci_signing_key
public_key(char const *id, uint8_t const seed[32])
{
    gci_signing_key key = private_key(id, seed);

    key.secret = gci_view_of(NULL, 0);
    return key;
}

/* Whoever is required to verify everything. */
static gci_store *
open_required(test_dir *dir, gci_signing_key const *keys, size_t count)
{
    return fixture_open_with(dir, (gci_store_options){ .compression_level = -1, .pooled_max = 1, .signing = keys,
                                                       .signing_count = count, .require_signature = true,
                                                       .durability = GCACHE_DURABILITY_NONE });
}

static gci_found
look_with(test_dir *dir, gci_signing_key const *keys, size_t count, uint64_t key, size_t size)
{
    gci_store *store = open_required(dir, keys, count);
    gci_found found = look(store, key, 1, size);

    gci_store_close(store);
    return found;
}

static void
insert_with(test_dir *dir, gci_signing_key key, uint64_t number, size_t size)
{
    gci_store *store = open_required(dir, &key, 1);

    insert(store, number, 1, size);
    gci_store_close(store);
}

static void
test_a_reader_needs_the_public_key_only(void **state)
{
    size_t const sizes[] = { SMALL, FIRST_IN_PACK, OWN_FILE };
    gci_signing_key reader = public_key("k1", our_seed), stranger = public_key("k1", their_seed);
    gci_signing_key other = public_key("k2", our_seed);

    for (uint64_t key = 0; key < sizeof sizes / sizeof *sizes; key++) {
        insert_with(*state, private_key("k1", our_seed), key, sizes[key]);
        assert_int_equal(look_with(*state, &reader, 1, key, sizes[key]), GCI_FOUND);
        assert_int_equal(look_with(*state, &stranger, 1, key, sizes[key]), GCI_UNREADABLE);
        assert_int_equal(look_with(*state, &other, 1, key, sizes[key]), GCI_UNREADABLE);
    }
    gci_store *store = open_required(*state, &reader, 1);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

static void
test_a_reader_stores_nothing_that_must_be_signed(void **state)
{
    gci_signing_key reader = public_key("k1", our_seed);
    gcache_error error = { 0 };
    gci_inserted inserted;

    gci_store *store = open_required(*state, &reader, 1);
    assert_int_equal(try_insert(store, 1, 1, SMALL, &inserted, &error), GCACHE_ERROR_READ_ONLY);
    assert_non_null(strstr(error.message, "none of our keys can sign"));
    assert_int_equal(look(store, 1, 1, SMALL), GCI_ABSENT);
    gci_store_close(store);
    /* Where they needn't be, they aren't. */
    store = fixture_open_with(*state, (gci_store_options){ .signing = &reader, .signing_count = 1 });
    insert(store, 1, 1, SMALL);
    assert_int_equal(look(store, 1, 1, SMALL), GCI_FOUND);
    gci_store_close(store);
    assert_int_equal(look_with(*state, &reader, 1, 1, SMALL), GCI_UNREADABLE);
}

/* Who comes with the private key puts a signed entry in the place of the equal one. */
static void
test_a_signed_entry_replaces_an_unsigned_one(void **state)
{
    gci_signing_key reader = public_key("k1", our_seed);
    gci_store *store = fixture_open_apart(*state);

    insert(store, 1, 1, SMALL);
    gci_store_close(store);
    insert_with(*state, private_key("k1", our_seed), 1, SMALL);
    assert_int_equal(look_with(*state, &reader, 1, 1, SMALL), GCI_FOUND);
}

static void
test_keys_are_replaced_one_by_one(void **state)
{
    gci_signing_key const both[] = { public_key("2025", our_seed), private_key("2026", new_seed) };
    gci_signing_key fresh = public_key("2026", new_seed), secret = { .id = "old", .secret = GCI_VIEW("hmac") };

    insert_with(*state, secret, 0, SMALL);
    insert_with(*state, private_key("2025", our_seed), 1, SMALL);
    gci_store *store = open_required(*state, both, 2);
    insert(store, 2, 1, SMALL);
    assert_int_equal(look(store, 1, 1, SMALL), GCI_FOUND);
    assert_int_equal(look(store, 2, 1, SMALL), GCI_FOUND);
    gci_store_close(store);
    assert_int_equal(look_with(*state, &fresh, 1, 1, SMALL), GCI_UNREADABLE);
    assert_int_equal(look_with(*state, &fresh, 1, 2, SMALL), GCI_FOUND);
    /* Kinds of keys live side by side. */
    gci_signing_key const mixed[] = { fresh, secret };
    assert_int_equal(look_with(*state, mixed, 2, 0, SMALL), GCI_FOUND);
    assert_int_equal(look_with(*state, mixed, 2, 2, SMALL), GCI_FOUND);
}

/* A public key is no secret: taken for one it must not make signatures that count. */
static void
test_another_algorithm_under_the_same_id(void **state)
{
    gci_signing_key reader = public_key("k1", our_seed);
    gci_signing_key confused = { .id = "k1", .secret = gci_view_of(reader.public_key, sizeof reader.public_key) };

    insert_with(*state, confused, 1, SMALL);
    assert_int_equal(look_with(*state, &confused, 1, 1, SMALL), GCI_FOUND);
    assert_int_equal(look_with(*state, &reader, 1, 1, SMALL), GCI_UNREADABLE);
    insert_with(*state, private_key("k1", our_seed), 2, SMALL);
    assert_int_equal(look_with(*state, &confused, 1, 2, SMALL), GCI_UNREADABLE);
}

/* ---- bytes ---- */

static char *
load_pack(test_dir *dir, uint64_t key, size_t *out_size)
{
    char path[512];

    pack_path(dir, key, path);
    *out_size = (size_t)size_of_file(path);
    char *bytes = malloc(*out_size);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && bytes != NULL);
    assert_int_equal(read(fd, bytes, *out_size), *out_size);
    close(fd);
    return bytes;
}

/* The checksums of a pack's only frame, whose parts are known, made anew. */
static void
put_right(char *frame, size_t head_size, size_t payload_size)
{
    size_t covered = GCI_FRAME_PROLOGUE + head_size;
    gci_checksum sum = gci_checksum_of(frame + covered + 16, payload_size);

    memcpy(frame + 24, &sum, 16);
    sum = gci_checksum_of(frame, covered);
    memcpy(frame + covered, &sum, 16);
}

/* Whether anything in these bytes of a pack would be handed out. */
static bool
is_handed_out(gci_view bytes, uint64_t number, gci_trust const *trust)
{
    gcache_key key = key_of(number);
    bool handed_out = false;
    gci_pack_walk walk;

    assert_int_equal(gci_pack_begin(bytes, &key, &walk), GCI_PACK_GOOD);
    gci_candidates *set = gci_candidates_new(&key, bytes, NULL, trust, &walk);
    assert_non_null(set);
    for (size_t i = 0; i < set->count; i++)
        handed_out |= gci_candidate_is_trusted(set->items[i], trust);
    gci_candidates_release(set);
    return handed_out;
}

/* Where a head has what each cache gives anew: the sequence. */
enum { SEQUENCE_BEGIN = 48, SEQUENCE_END = 56 };

static void
test_no_byte_can_be_altered(void **state)
{
    gci_signing_key reader = public_key("k1", our_seed);
    gci_trust trust = { &reader, 1, true };
    gci_signature signature;
    gci_record record;
    gci_arena arena;
    gci_frame frame;
    size_t size;

    insert_with(*state, private_key("k1", our_seed), 1, SMALL);
    char *bytes = load_pack(*state, 1, &size), *at = bytes + GCI_PACK_HEADER;
    gci_view whole = gci_view_of(bytes, size);
    assert_int_equal(gci_frame_read(gci_view_of(at, size - GCI_PACK_HEADER), &frame), GCI_FRAME_GOOD);
    gci_arena_init(&arena, GCI_BUF_NO_LIMIT);
    assert_true(gci_record_read(frame.head, &arena, &record, &signature));
    gci_arena_clear(&arena);
    size_t end = signature.covered + sizeof signature.ed25519;
    assert_true(is_handed_out(whole, 1, &trust));
    for (size_t i = GCI_FRAME_PROLOGUE; i < frame.size; i++) {
        at[i] ^= 1;
        put_right(at, frame.head.size, frame.payload.size);
        /* The sequence; padding; the checksum, which is put right. */
        size_t in_head = i - GCI_FRAME_PROLOGUE;
        bool is_free = (in_head >= SEQUENCE_BEGIN && in_head < SEQUENCE_END) ||
                       (in_head >= end && in_head < frame.head.size + 16);
        bool in_padding = in_head >= frame.head.size + 16 + frame.payload.size;
        if (is_handed_out(whole, 1, &trust) != is_free && !in_padding)
            fail_msg("byte %zu %s be altered", i, is_free ? "can't" : "can");
        at[i] ^= 1;
    }
    free(bytes);
}

static uint8_t
version_of(test_dir *dir, uint64_t key)
{
    size_t size;
    char *bytes = load_pack(dir, key, &size);
    uint8_t version = (uint8_t)bytes[GCI_PACK_HEADER + VERSION_AT];

    free(bytes);
    return version;
}

/* What has no such signature is written as ever; what has one older versions step over, since its frame is of a later version. */
static void
test_the_version_of_frames(void **state)
{
    gci_signing_key hmac = { .id = "k1", .secret = GCI_VIEW("our secret") }, reader = public_key("k1", our_seed);
    gci_trust trust = { &reader, 1, true };
    gci_frame frame;
    size_t size;

    gci_store *store = fixture_open_apart(*state);
    insert(store, 1, 1, SMALL);
    gci_store_close(store);
    insert_with(*state, hmac, 2, SMALL);
    insert_with(*state, private_key("k1", our_seed), 3, SMALL);
    insert_with(*state, private_key("k1", our_seed), 4, OWN_FILE);
    assert_int_equal(version_of(*state, 1), 1);
    assert_int_equal(version_of(*state, 2), 1);
    assert_int_equal(version_of(*state, 3), 2);
    assert_int_equal(version_of(*state, 4), 2);
    /* In a frame of version 1 it would be damage to others: it is to us, too. */
    char *bytes = load_pack(*state, 3, &size), *at = bytes + GCI_PACK_HEADER;
    assert_int_equal(gci_frame_read(gci_view_of(at, size - GCI_PACK_HEADER), &frame), GCI_FRAME_GOOD);
    assert_int_equal(frame.version, 2);
    at[VERSION_AT] = 1;
    put_right(at, frame.head.size, frame.payload.size);
    assert_false(is_handed_out(gci_view_of(bytes, size), 3, &trust));
    at[VERSION_AT] = 3;
    put_right(at, frame.head.size, frame.payload.size);
    assert_int_equal(gci_frame_read(gci_view_of(at, size - GCI_PACK_HEADER), &frame), GCI_FRAME_NEWER);
    free(bytes);
}

/* ---- files changed, the signature kept ---- */

static void
test_repair_keeps_signatures(void **state)
{
    gci_signing_key reader = public_key("k1", our_seed);
    char path[512];

    insert_with(*state, private_key("k1", our_seed), 1, OWN_FILE);
    pack_path(*state, 1, path);
    assert_int_equal(unlink(path), 0);
    gci_store *store = open_required(*state, &reader, 1);
    assert_int_equal(repair_store(store).recovered, 1);
    assert_int_equal(look(store, 1, 1, OWN_FILE), GCI_FOUND);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
    assert_int_equal(version_of(*state, 1), 2);
}

static void
test_eviction_keeps_signatures(void **state)
{
    gci_signing_key const reader = public_key("k1", our_seed), writer = private_key("k1", our_seed);
    gcache_key key = key_of(1);
    gci_candidates *set;

    gci_store *store = open_required(*state, &writer, 1);
    gci_inserted gone = insert(store, 1, 2, SMALL);
    insert(store, 1, 1, SMALL);
    assert_int_equal(gci_store_evict(store, &key, gone.id, NULL), GCACHE_OK);
    gci_store_close(store);
    store = open_required(*state, &reader, 1);
    assert_int_equal(look(store, 1, 1, SMALL), GCI_FOUND);
    assert_int_equal(gci_store_candidates(store, &key, &set, NULL), GCI_FOUND);
    assert_int_equal(set->evicted_count, 1);
    assert_int_equal(gci_store_vouch(store, set->evicted[0], NULL), GCI_FOUND);
    gci_candidates_release(set);
    gci_store_close(store);
}

static void
test_renewal_keeps_signatures(void **state)
{
    gci_signing_key const reader = public_key("k1", our_seed), writer = private_key("k1", our_seed);
    gci_store_options options = { .compression_level = -1, .pooled_max = 1, .signing = &writer, .signing_count = 1,
                                  .require_signature = true, .renew = true };

    insert_with(*state, writer, 1, OWN_FILE);
    gci_store *store = fixture_open_with(*state, options);
    assert_false(insert(store, 1, 1, OWN_FILE).existed);
    gci_store_close(store);
    assert_int_equal(look_with(*state, &reader, 1, 1, OWN_FILE), GCI_FOUND);
}

/* ---- how often ---- */

static void
test_only_what_is_handed_out_is_verified(void **state)
{
    gci_signing_key const reader = public_key("k1", our_seed), writer = private_key("k1", our_seed);
    gci_store *store = open_required(*state, &writer, 1);

    for (uint64_t variant = 0; variant < MANY; variant++)
        insert(store, 1, variant, SMALL);
    gci_store_close(store);
    store = open_required(*state, &reader, 1);
    uint64_t before = gci_ed25519_verifications();
    assert_int_equal(look(store, 1, 7, SMALL), GCI_FOUND);
    assert_int_equal(gci_ed25519_verifications(), before + 1);
    for (int i = 0; i < 10; i++)
        assert_int_equal(look(store, 1, 7, SMALL), GCI_FOUND);
    /* A handle's first answer isn't kept (load.c): the second reads the set again. */
    assert_in_range(gci_ed25519_verifications(), before + 1, before + 2);
    uint64_t then = gci_ed25519_verifications();
    assert_int_equal(look(store, 1, 8, SMALL), GCI_FOUND);
    assert_int_equal(gci_ed25519_verifications(), then + 1);
    gci_store_close(store);
}

/* Nor is a forged one verified twice. */
static void
test_a_refuted_candidate_stays_so(void **state)
{
    gci_signing_key const reader = public_key("k1", our_seed);
    gci_trust trust = { &reader, 1, true };
    gcache_key key = key_of(1);
    gci_pack_walk walk;
    size_t size;

    insert_with(*state, private_key("k1", their_seed), 1, SMALL);
    char *bytes = load_pack(*state, 1, &size);
    assert_int_equal(gci_pack_begin(gci_view_of(bytes, size), &key, &walk), GCI_PACK_GOOD);
    gci_candidates *set = gci_candidates_new(&key, gci_view_of(bytes, size), NULL, &trust, &walk);
    assert_int_equal(set->count, 1);
    uint64_t before = gci_ed25519_verifications();
    assert_false(gci_candidate_is_trusted(set->items[0], &trust));
    assert_false(gci_candidate_is_trusted(set->items[0], &trust));
    assert_int_equal(gci_ed25519_verifications(), before + 1);
    gci_candidates_release(set);
    free(bytes);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_a_reader_needs_the_public_key_only),
        STORE_TEST(test_a_reader_stores_nothing_that_must_be_signed),
        STORE_TEST(test_a_signed_entry_replaces_an_unsigned_one),
        STORE_TEST(test_keys_are_replaced_one_by_one),
        STORE_TEST(test_another_algorithm_under_the_same_id),
        STORE_TEST(test_no_byte_can_be_altered),
        STORE_TEST(test_the_version_of_frames),
        STORE_TEST(test_repair_keeps_signatures),
        STORE_TEST(test_eviction_keeps_signatures),
        STORE_TEST(test_renewal_keeps_signatures),
        STORE_TEST(test_only_what_is_handed_out_is_verified),
        STORE_TEST(test_a_refuted_candidate_stays_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
