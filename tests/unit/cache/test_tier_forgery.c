/*
 * What somebody who can write to a tier puts there, with every sum and id put right: none of it is served, none of it makes a
 * lookup fail, and the honest candidate behind it is found.
 */
#include "base/digest.h"
#include "fixture.h"
#include "store/format/record.h"
#include "tier/object/head.h"

#include <guardcache/fleet.h>
#include <sys/stat.h>
#include <time.h>

#define FLUSH_NS (UINT64_C(10) * 1000000000)
#define SECOND_NS UINT64_C(1000000000)
/* More than a handle takes from a tier, as bytes that compress to nothing. */
#define BOMB_BYTES ((uint64_t)3 << 30)
/* What a block of zstd unfolds to at most (RFC 8878, section 3.1.1.2.3). */
#define BLOCK_BYTES ((uint32_t)128 << 10)

typedef struct shelf {
    fixture_pair *pair;
    gcache_tier_functions const *functions;
    void *tier;
    gcache_tier_user user;
    gcache_graph *graph;
    gcache_key key;
} shelf;

static void
reopen(shelf *s, fixture *f)
{
    gcache_options options = GCACHE_OPTIONS_INIT;

    options.user_tiers = &s->user;
    options.user_tier_count = 1;
    fixture_reopen(f, &options);
}

/* An honest candidate lies in the tier: "honest", for s0 that are multiples of 2. */
static int
shelf_open(void **state)
{
    shelf *s = calloc(1, sizeof *s);
    gcache_hints hints = GCACHE_HINTS({ "s0", 8 }, { "s1", 4 });
    gcache_error error;

    if (s == NULL || fixture_pair_open(state) != 0 || gcache_tier_memory_new(&s->functions, &s->tier, &error) != GCACHE_OK)
        return -1;
    s->pair = *state;
    s->user = (gcache_tier_user){ .name = "memory://", .functions = s->functions, .tier = s->tier };
    s->graph = make_matmul("s0", "s1");
    reopen(s, s->pair->from);
    reopen(s, s->pair->to);
    gcache_graph_key(s->graph, &s->key, &error);
    assert_int_equal(insert_text(s->pair->from, s->graph, &hints, "s0 % 2 == 0", "honest"), GCACHE_OK);
    assert_int_equal(gcache_tiers_flush(s->pair->from->cache, FLUSH_NS, &error), GCACHE_OK);
    *state = s;
    return 0;
}

static int
shelf_close(void **state)
{
    shelf *s = *state;
    void *pair = s->pair;

    gcache_graph_free(s->graph);
    fixture_pair_close(&pair);
    s->functions->close(s->tier);
    free(s);
    return 0;
}

/* ---- forging ---- */

typedef struct forgery {
    char const *guard;          /* that texts say; NULL: the honest one's */
    char const *attachment;     /* a name; NULL: none */
    gci_view payload;           /* as stored; empty: "forged" */
    uint64_t payload_size;      /* unfolded */
    gci_compression compression;
} forgery;

/* The honest head, copied. */
static int
take_head(void *state, gcache_object const *object)
{
    gci_buf *bytes = state;

    gci_buf_append(bytes, object->bytes, object->size);
    return 1;
}

static gci_view
read_honest(shelf *s, gci_buf *bytes, gci_arena *arena, gci_record *out_record)
{
    gcache_tier_call call = GCACHE_TIER_CALL_INIT;
    gci_signature signature;
    gci_frame frame;

    gci_buf_init(bytes, GCI_BUF_NO_LIMIT);
    assert_int_equal(s->functions->list(s->tier, &call, &s->key, take_head, bytes), GCACHE_TIER_HIT);
    gci_view whole = gci_view_of(bytes->data + 56, bytes->size - 56);
    assert_int_equal(gci_frame_read(whole, &frame), GCI_FRAME_GOOD);
    assert_true(gci_record_read(frame.head, arena, out_record, &signature));
    return frame.payload;
}

/* Puts a better candidate before the honest one. */
static void
forge(shelf *s, forgery how)
{
    gci_attachment file = { .name = gci_view_text(how.attachment), .size = 6, .mode = 0644 };
    gci_view guard = gci_view_text(how.guard), payload = how.payload.size != 0 ? how.payload : gci_view_text("forged");
    gcache_tier_call call = GCACHE_TIER_CALL_INIT;
    gcache_object objects[3] = { { .kind = GCACHE_OBJECT_ATTACHMENT, .bytes = "forged", .size = 6 },
                                 { .kind = GCACHE_OBJECT_PAYLOAD, .key = s->key },
                                 { .kind = GCACHE_OBJECT_HEAD, .key = s->key } };
    uint8_t payload_hash[GCI_SHA256_BYTES];
    gci_buf honest, frame, head;
    gci_record record;
    gci_arena arena;
    gci_view apart;

    gci_arena_init(&arena, (size_t)1 << 20);
    read_honest(s, &honest, &arena, &record);
    record.priority = 100;
    record.compression = how.compression;
    record.payload_size = how.payload_size != 0 ? how.payload_size : payload.size;
    if (how.guard != NULL)
        record.guards = &guard;
    gci_sha256(gci_view_text("forged"), file.sha256);
    gci_hex(file.sha256, sizeof file.sha256, objects[0].name);
    record.attachments = &file;
    record.attachment_count = how.attachment != NULL;
    assert_true(gci_record_identify(&record, payload));
    gci_buf_init(&frame, GCI_BUF_NO_LIMIT);
    gci_buf_init(&head, GCI_BUF_NO_LIMIT);
    gci_frame_start start = { GCI_FRAME_ENTRY, payload.size, gci_checksum_of(payload.data, payload.size), 0, 0 };
    size_t begin = gci_frame_begin(&frame, &start);
    gci_record_write(&frame, &record, NULL);
    gci_frame_end(&frame, begin);
    gci_buf_append_view(&frame, payload);
    gci_buf_append_view(&frame, gci_frame_padding(payload.size));
    assert_true(gci_remote_head_write(&head, gci_buf_view(&frame), 0, &apart));
    gci_sha256(payload, payload_hash);
    gci_hex(payload_hash, sizeof payload_hash, objects[1].name);
    objects[1].bytes = payload.data;
    objects[1].size = payload.size;
    memcpy(objects[2].name, record.id, sizeof record.id);
    objects[2].bytes = head.data;
    objects[2].size = head.size;
    assert_int_equal(s->functions->publish(s->tier, &call, objects, 3), GCACHE_TIER_HIT);
    gci_buf_clear(&honest);
    gci_buf_clear(&frame);
    gci_buf_clear(&head);
    gci_arena_clear(&arena);
}

/* What a host that knows nothing is served, with files put in place. */
static void
assert_served(shelf *s, int size, char const *payload)
{
    gcache_hints hints = GCACHE_HINTS({ "s0", size }, { "s1", 4 });
    gcache_request request = GCACHE_REQUEST_INIT;
    gcache_result result = GCACHE_RESULT_INIT;
    gcache_error error;
    char place[128];

    snprintf(place, sizeof place, "%s/placed", s->pair->to->directory);
    mkdir(place, 0700);
    request.place = place;
    gcache_status status = gcache_lookup_with(s->pair->to->cache, s->graph, &hints, &request, &result, &error);
    assert_int_equal(status, GCACHE_HIT);
    assert_int_equal(result.payload_size, strlen(payload));
    assert_memory_equal(result.payload, payload, strlen(payload));
    gcache_result_clear(&result);
}

/* ---- what is tried ---- */

static void
a_forgery_without_a_fault_is_served(void **state)
{
    /* Nobody requires signatures here: so the cases below fail for their faults alone. */
    forge(*state, (forgery){ .attachment = "a.so" });
    assert_served(*state, 8, "forged");
}

static void
a_file_that_leads_out_is_passed_over(void **state)
{
    static char const *const names[] = { "../evil", "/etc/evil", ".", "a//b" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        forge(*state, (forgery){ .attachment = names[i] });
    assert_served(*state, 8, "honest");
}

static void
guards_that_say_something_else_are_passed_over(void **state)
{
    /* The program is that of "s0 % 2 == 0". */
    forge(*state, (forgery){ .guard = "s0 % 8 == 0" });
    assert_served(*state, 2, "honest");
}

static void
a_payload_that_unfolds_to_gigabytes_is_passed_over(void **state)
{
    /* A frame of zstd (RFC 8878) whose blocks are a byte repeated each. */
    static unsigned char const begins[] = { 0x28, 0xb5, 0x2f, 0xfd, 0xa0 };
    uint32_t blocks = (uint32_t)(BOMB_BYTES / BLOCK_BYTES);
    struct timespec begin, end;
    gci_buf bomb;

    gci_buf_init(&bomb, GCI_BUF_NO_LIMIT);
    gci_buf_append(&bomb, begins, sizeof begins);
    gci_put_u32(&bomb, (uint32_t)BOMB_BYTES);
    for (uint32_t i = 0; i < blocks; i++) {
        uint32_t block = BLOCK_BYTES << 3 | 1 << 1 | (i + 1 == blocks);
        gci_put_u32(&bomb, block & 0xffffff);
    }
    forge(*state, (forgery){ .payload = gci_buf_view(&bomb), .payload_size = BOMB_BYTES, .compression = GCI_ZSTD });
    gci_buf_clear(&bomb);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    assert_served(*state, 8, "honest");
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    assert_true(end.tv_sec - begin.tv_sec <= 1);
}

static void
what_is_removed_is_removed_there_too(void **state)
{
    shelf *s = *state;
    gcache_result result = GCACHE_RESULT_INIT;
    gcache_hints hints = GCACHE_HINTS({ "s0", 8 }, { "s1", 4 });
    gcache_error error;

    assert_int_equal(gcache_lookup(s->pair->from->cache, s->graph, &hints, &result, &error), GCACHE_HIT);
    assert_int_equal(gcache_remove(s->pair->from->cache, &s->key, result.entry, &error), GCACHE_OK);
    gcache_result_clear(&result);
    assert_int_equal(gcache_tiers_flush(s->pair->from->cache, FLUSH_NS, &error), GCACHE_OK);
    assert_int_equal(gcache_lookup(s->pair->from->cache, s->graph, &hints, &result, &error), GCACHE_MISS);
    assert_int_equal(result.reason, GCACHE_REASON_EVICTED);
    gcache_result_clear(&result);
}

static void
what_does_not_fit_is_not_counted_as_fetched(void **state)
{
    shelf *s = *state;
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_synced sum = GCACHE_SYNCED_INIT;
    gcache_sync_options sync = GCACHE_SYNC_OPTIONS_INIT;
    gcache_error error;

    options.user_tiers = &s->user;
    options.user_tier_count = 1;
    options.max_size = 1;
    fixture_reopen(s->pair->to, &options);
    sync.pull = true;
    assert_int_equal(gcache_tiers_sync(s->pair->to->cache, &sync, &sum, &error), GCACHE_OK);
    assert_int_equal(sum.pulled, 0);
    assert_int_equal(sum.left_out, 1);
}

static void
what_lost_its_payload_is_healed(void **state)
{
    shelf *s = *state;
    gcache_tier_call call = GCACHE_TIER_CALL_INIT;
    gcache_sync_options sync = GCACHE_SYNC_OPTIONS_INIT;
    gcache_synced sum = GCACHE_SYNCED_INIT;
    gci_buf honest;
    gci_record record;
    gci_arena arena;
    gcache_error error;

    /* Its head is there, of the right id, and says nothing any more. */
    gci_arena_init(&arena, (size_t)1 << 20);
    read_honest(s, &honest, &arena, &record);
    gcache_object head = { .kind = GCACHE_OBJECT_HEAD, .key = s->key, .bytes = honest.data, .size = honest.size };
    memcpy(head.name, record.id, sizeof record.id);
    honest.data[honest.size - 1] ^= 1;
    honest.data[56 + 30] ^= 1;
    assert_int_equal(s->functions->publish(s->tier, &call, &head, 1), GCACHE_TIER_HIT);
    sync.push = true;
    sync.again = true;
    assert_int_equal(gcache_tiers_sync(s->pair->from->cache, &sync, &sum, &error), GCACHE_OK);
    assert_int_equal(sum.pushed, 1);
    assert_served(s, 8, "honest");
    gci_buf_clear(&honest);
    gci_arena_clear(&arena);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test_setup_teardown(a_forgery_without_a_fault_is_served, shelf_open, shelf_close),
        cmocka_unit_test_setup_teardown(a_file_that_leads_out_is_passed_over, shelf_open, shelf_close),
        cmocka_unit_test_setup_teardown(guards_that_say_something_else_are_passed_over, shelf_open, shelf_close),
        cmocka_unit_test_setup_teardown(a_payload_that_unfolds_to_gigabytes_is_passed_over, shelf_open, shelf_close),
        cmocka_unit_test_setup_teardown(what_is_removed_is_removed_there_too, shelf_open, shelf_close),
        cmocka_unit_test_setup_teardown(what_does_not_fit_is_not_counted_as_fetched, shelf_open, shelf_close),
        cmocka_unit_test_setup_teardown(what_lost_its_payload_is_healed, shelf_open, shelf_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
