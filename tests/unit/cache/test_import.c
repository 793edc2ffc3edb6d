/*
 * What an import believes: signatures go along with entries and are never made here; an export that doesn't hold what it says,
 * or holds what no cache would write, is refused whole or thing by thing, and says so.
 */
#include "fixture.h"

#include "../store/effort.h"
#include "base/codec.h"
#include "base/digest.h"
#include "cache/transfer/transfer_file.h"
#include "store/format/compress.h"
#include "store/format/frame.h"
#include "store/format/record.h"

#include <fcntl.h>
#include <guardcache/artifacts.h>
#include <guardcache/blobs.h>
#include <guardcache/tuning.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* NULL keys: none. Without waiting for the disk. */
static void
reopen(fixture *f, gcache_signing_key const *keys, size_t count, bool required)
{
    gcache_options options = GCACHE_OPTIONS_INIT;

    options.signing = keys;
    options.signing_count = count;
    options.require_signature = required;
    options.durability = GCACHE_DURABILITY_NONE;
    fixture_reopen(f, &options);
}

/* Both without waiting for the disk. */
static int
pair_open(void **state)
{
    if (fixture_pair_open(state) != 0)
        return -1;
    fixture_pair *p = *state;
    reopen(p->from, NULL, 0, false);
    reopen(p->to, NULL, 0, false);
    return 0;
}

static void
note_left_out(void *state, gcache_error const *why)
{
    fixture_pair *p = state;
    size_t used = strlen(p->told);

    snprintf(p->told + used, sizeof p->told - used, "%s\n", why->message);
}

/* Another directory in place of this one. */
static void
empty(fixture **f)
{
    void *one = *f;

    fixture_close(&one);
    fixture_open(&one);
    *f = one;
    reopen(*f, NULL, 0, false);
}

static gcache_status
import(fixture_pair *p)
{
    gcache_import_options options = GCACHE_IMPORT_OPTIONS_INIT;

    p->told[0] = '\0';
    p->to->error.message[0] = '\0';
    options.left_out = note_left_out;
    options.state = p;
    p->read = (gcache_transfer)GCACHE_TRANSFER_INIT;
    return gcache_import(p->to->cache, p->file, &options, &p->read, &p->to->error);
}

static void
export(fixture_pair *p)
{
    if (gcache_export(p->from->cache, p->file, NULL, NULL, &p->from->error) != GCACHE_OK)
        fail_msg("%s", p->from->error.message);
}

static void
assert_told(fixture_pair const *p, char const *what)
{
    if (strstr(p->told, what) == NULL)
        fail_msg("\"%s\" isn't told in: %s", what, p->told);
}

/* ---- signatures ---- */

#define HMAC_KEY(name, text) { .id = (name), .secret = (text), .secret_size = sizeof(text) - 1 }

static gcache_signing_key const ours = HMAC_KEY("k1", "our secret"), second = HMAC_KEY("k2", "newer"),
                                theirs = HMAC_KEY("k3", "their secret"), forged = HMAC_KEY("k1", "a guess");

/* A payload that is large and lies in the candidate index since it comes first; small ones beside it, and large ones that have
   a file of their own unless they compress. */
static char const *const variants[] = { "first raw", "small", "small raw", "large", "large raw" };
enum { VARIANTS = sizeof variants / sizeof *variants };

static void
put_variants(fixture *f)
{
    static char payload[100000];
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_attachment library = { .name = "lib/kernel.so", .bytes = "machine code", .size = 12 };
    uint64_t random = 1;

    for (size_t i = 0; i < VARIANTS; i++) {
        size_t size = i == 1 || i == 2 ? 500 : sizeof payload;
        for (size_t k = 0; k < size; k++)
            payload[k] = i % 2 == 1 ? 'x' : (char)(random = random * 6364136223846793005 + 1442695040888963407) >> 3;
        gcache_entry entry = { .size = sizeof entry, .variant = variants[i], .payload = payload, .payload_size = size,
                               .attachments = &library,
                               .attachment_count = 1 };
        if (gcache_insert(f->cache, g, NULL, &entry, NULL, &f->error) != GCACHE_OK)
            fail_msg("%s", f->error.message);
    }
    gcache_graph_free(g);
}

static size_t
count_hits(fixture *f)
{
    gcache_graph *g = make_matmul("s0", "s1");
    size_t hits = 0;

    for (size_t i = 0; i < VARIANTS; i++) {
        gcache_request request = GCACHE_REQUEST_INIT;
        gcache_result r = GCACHE_RESULT_INIT;
        request.variant = variants[i];
        hits += gcache_lookup_with(f->cache, g, NULL, &request, &r, &f->error) == GCACHE_HIT;
        gcache_result_clear(&r);
    }
    gcache_graph_free(g);
    return hits;
}

/* How many of them somebody sees who trusts this key only. */
static size_t
count_signed(fixture *f, gcache_signing_key const *key)
{
    reopen(f, key, 1, true);
    size_t hits = count_hits(f);
    reopen(f, NULL, 0, false);
    return hits;
}

static void
unsigned_entries_are_left_out_where_signatures_are_required(void **state)
{
    fixture_pair *p = *state;

    put_variants(p->from);
    export(p);
    reopen(p->to, &ours, 1, true);
    assert_int_equal(import(p), GCACHE_REFUSED);
    assert_int_equal(p->read.entries, 0);
    assert_int_equal(p->read.left_out, VARIANTS);
    assert_told(p, "not signed");
    assert_int_equal(count_hits(p->to), 0);
    /* They aren't there for anybody. */
    reopen(p->to, NULL, 0, false);
    assert_int_equal(count_hits(p->to), 0);
}

static void
unsigned_entries_stay_unsigned(void **state)
{
    fixture_pair *p = *state;

    put_variants(p->from);
    export(p);
    reopen(p->to, &ours, 1, false);
    assert_int_equal(import(p), GCACHE_OK);
    assert_int_equal(count_hits(p->to), VARIANTS);
    assert_int_equal(count_signed(p->to, &ours), 0);
}

static void
foreign_signatures_stay_foreign(void **state)
{
    fixture_pair *p = *state;

    reopen(p->from, &theirs, 1, false);
    put_variants(p->from);
    export(p);
    reopen(p->to, &ours, 1, true);
    assert_int_equal(import(p), GCACHE_REFUSED);
    assert_int_equal(p->read.left_out, VARIANTS);
    assert_told(p, "signed with a key that isn't one of ours");
    reopen(p->to, &ours, 1, false);
    assert_int_equal(import(p), GCACHE_OK);
    assert_int_equal(count_hits(p->to), VARIANTS);
    assert_int_equal(count_signed(p->to, &ours), 0);
    assert_int_equal(count_signed(p->to, &theirs), VARIANTS);
}

#define ED25519_KEY(name, bytes)                                                                     \
    { .id = (name), .secret = (bytes), .secret_size = GCACHE_ED25519_BYTES, .algorithm = GCACHE_SIGNING_ED25519 }

static gcache_signing_key const our_ed25519 = ED25519_KEY("k1", "the seed of our own private key"),
                                forged_ed25519 = ED25519_KEY("k1", "the seed of somebody else's key");

/* Taken by the holder of several keys, they are still what the one that signed them vouches for, in the next cache too. */
static void
check_signatures_go_along(fixture_pair *p, gcache_signing_key const *key)
{
    gcache_signing_key const keys[] = { second, *key };
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_verified verified = GCACHE_VERIFIED_INIT;

    reopen(p->from, key, 1, true);
    put_variants(p->from);
    for (uint64_t hop = 0; hop < 2; hop++) {
        export(p);
        reopen(p->to, keys, 2, true);
        /* What is there already has sequences of its own. */
        assert_int_equal(insert_text(p->to, g, NULL, hop == 0 ? "s0 == 3" : "s0 == 4", "x"), GCACHE_OK);
        assert_int_equal(import(p), GCACHE_OK);
        assert_int_equal(p->read.entries, VARIANTS + hop);
        assert_int_equal(count_hits(p->to), VARIANTS);
        assert_int_equal(count_signed(p->to, key), VARIANTS);
        assert_int_equal(count_signed(p->to, &second), 0);
        assert_int_equal(gcache_verify(p->to->cache, NULL, &verified, &p->to->error), GCACHE_OK);
        assert_int_equal(verified.problems, 0);
        /* On to the next one. */
        empty(&p->from);
        fixture *next = p->from;
        p->from = p->to;
        p->to = next;
    }
    gcache_graph_free(g);
}

static void
signatures_go_along(void **state)
{
    check_signatures_go_along(*state, &ours);
}

static void
signatures_by_ed25519_go_along(void **state)
{
    check_signatures_go_along(*state, &our_ed25519);
}

static void
check_forged(fixture_pair *p, gcache_signing_key const *by, gcache_signing_key const *key)
{
    reopen(p->from, by, 1, false);
    put_variants(p->from);
    export(p);
    reopen(p->to, key, 1, false);
    assert_int_equal(import(p), GCACHE_REFUSED);
    assert_int_equal(p->read.left_out, VARIANTS);
    assert_told(p, "not what our key of that name signed");
}

static void
a_forged_signature_is_never_taken(void **state)
{
    check_forged(*state, &forged, &ours);
}

static void
a_forged_signature_by_ed25519_is_never_taken(void **state)
{
    check_forged(*state, &forged_ed25519, &our_ed25519);
}

/* A key of that name makes signatures of another kind. */
static void
a_signature_of_another_kind_is_never_taken(void **state)
{
    check_forged(*state, &ours, &our_ed25519);
}

/* An unsigned entry that is there makes way for an equal one that is signed, and rewriting the key's candidate index keeps it. */
static void
a_signed_entry_replaces_an_equal_one(void **state)
{
    fixture_pair *p = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    char entry[GCACHE_ENTRY_ID_SIZE];
    gcache_inserted inserted = GCACHE_INSERTED_INIT;
    gcache_verified verified = GCACHE_VERIFIED_INIT;
    gcache_repaired repaired = GCACHE_REPAIRED_INIT;

    for (int required = 0; required < 2; required++) {
        reopen(p->to, NULL, 0, false);
        put_variants(p->to);
        reopen(p->from, &ours, 1, true);
        put_variants(p->from);
        export(p);
        reopen(p->to, &ours, 1, required != 0);
        if (required)
            put_variants(p->to);
        else
            assert_int_equal(import(p), GCACHE_OK);
        assert_int_equal(count_hits(p->to), VARIANTS);
        assert_int_equal(count_signed(p->to, &ours), VARIANTS);
        /* Nothing was damaged. */
        assert_int_equal(fixture_statistic(p->to->cache, GCACHE_STATISTIC_CORRUPT), 0);
        assert_int_equal(fixture_statistic(p->to->cache, GCACHE_STATISTIC_ENTRIES), VARIANTS);
        /* An eviction rewrites it. */
        gcache_entry other = { .size = sizeof other, .variant = "other", .payload = "y", .payload_size = 1 };
        assert_int_equal(gcache_insert(p->to->cache, g, NULL, &other, &inserted, NULL), GCACHE_OK);
        memcpy(entry, inserted.entry, sizeof entry);
        assert_int_equal(gcache_remove(p->to->cache, &inserted.key, entry, NULL), GCACHE_OK);
        assert_int_equal(count_signed(p->to, &ours), VARIANTS);
        assert_int_equal(gcache_verify(p->to->cache, NULL, &verified, NULL), GCACHE_OK);
        assert_int_equal(verified.problems, 0);
        assert_int_equal(gcache_repair(p->to->cache, NULL, &repaired, NULL), GCACHE_OK);
        assert_int_equal(count_signed(p->to, &ours), VARIANTS);
        empty(&p->to);
    }
    gcache_graph_free(g);
}

static gcache_status
refuse_artifact(void *state, char const *kind, char const *name, void const *bytes, size_t size, gcache_error *error)
{
    (void)state, (void)kind, (void)name, (void)bytes, (void)size, (void)error;
    fail_msg("an unsigned artifact was handed out");
    return GCACHE_OK;
}

static void
what_has_no_signature_is_left_out_where_they_are_required(void **state)
{
    fixture_pair *p = *state;
    gcache_import_options options = GCACHE_IMPORT_OPTIONS_INIT;
    gcache *cache = p->from->cache;
    gcache_blob blob = GCACHE_BLOB_INIT;

    assert_int_equal(gcache_artifacts_begin(cache, NULL), GCACHE_OK);
    assert_int_equal(gcache_blob_put(cache, "int x;", 6, "c", NULL, &blob, NULL), GCACHE_OK);
    assert_int_equal(gcache_timings_put(cache, &(gcache_site){ .size = sizeof(gcache_site), .op = "mm" },
                                                               (char const *const[]){ "a" }, (double[]){ 1 }, 1,
                                        NULL), GCACHE_OK);
    assert_int_equal(gcache_artifacts_add(cache, "pgo", "job", "profile", 7, NULL), GCACHE_OK);
    assert_int_equal(gcache_artifacts_save(cache, p->file, NULL, NULL), GCACHE_OK);
    reopen(p->to, &ours, 1, true);
    options.artifact = refuse_artifact;
    options.left_out = note_left_out;
    options.state = p;
    p->read = (gcache_transfer)GCACHE_TRANSFER_INIT;
    assert_int_equal(gcache_import(p->to->cache, p->file, &options, &p->read, NULL), GCACHE_REFUSED);
    assert_int_equal(p->read.left_out, 3);
    assert_int_equal(p->read.blobs + p->read.rows + p->read.artifacts, 0);
    assert_told(p, "tuning results: not signed");
}

/* ---- forged exports ---- */

/* What a forger makes of an export: the items it had, and what it says of itself. */
typedef struct forgery {
    gci_transfer_reader reader;
    gci_transfer_writer writer;
    gci_buf manifest;
    uint64_t entries; /* written */
} forgery;

static void
forge_begin(forgery *f, fixture_pair *p)
{
    char path[160];

    assert_int_equal(gci_transfer_open(&f->reader, p->file, NULL), GCACHE_OK);
    snprintf(path, sizeof path, "%s.forged", p->file);
    assert_int_equal(gci_transfer_create(&f->writer, path, (gci_view)GCI_VIEW("/nowhere"), NULL), GCACHE_OK);
    gci_buf_init(&f->manifest, 1000);
    f->entries = 0;
}

static void
forge_put(forgery *f, gci_frame_type type, gci_view head, gci_view body)
{
    assert_int_equal(gci_transfer_put(&f->writer, type, head, body, NULL), GCACHE_OK);
    f->entries += type == GCI_FRAME_ENTRY;
}

/* Writes a manifest that says so, and the file in place of the export. */
static void
forge_end(forgery *f, fixture_pair *p, uint64_t entries, uint64_t attachments, uint64_t blobs)
{
    char path[160];

    gci_buf_format(&f->manifest, "{\"entries\": %llu, \"attachments\": %llu, \"blobs\": %llu, \"artifacts\": 0}",
                   (unsigned long long)entries, (unsigned long long)attachments, (unsigned long long)blobs);
    forge_put(f, GCI_FRAME_MANIFEST, gci_view_of("", 0), gci_buf_view(&f->manifest));
    assert_int_equal(gci_transfer_finish(&f->writer, NULL), GCACHE_OK);
    gci_transfer_close(&f->writer);
    gci_transfer_close_reader(&f->reader);
    gci_buf_clear(&f->manifest);
    snprintf(path, sizeof path, "%s.forged", p->file);
    assert_int_equal(rename(path, p->file), 0);
}

/* The next item of the export that isn't the manifest. */
static bool
forge_next(forgery *f, gci_frame *out_item)
{
    bool more;

    assert_int_equal(gci_transfer_next(&f->reader, out_item, &more, NULL), GCACHE_OK);
    return more && out_item->type != GCI_FRAME_MANIFEST;
}

/* Changes the bytes of a file and makes its SHA-256 right again. */
static void
rewrite(fixture_pair *p, size_t from_end, uint64_t word, size_t cut_at, size_t cut)
{
    uint8_t hash[GCI_SHA256_BYTES];
    gci_digest *digest = gci_digest_new();
    gci_buf bytes;

    gci_buf_init(&bytes, 1 << 24);
    assert_int_equal(gci_file_read_user(p->file, 1 << 24, &bytes, NULL), GCACHE_OK);
    if (from_end != 0)
        memcpy(bytes.data + bytes.size - from_end, &word, sizeof word);
    if (cut != 0) {
        memmove(bytes.data + cut_at, bytes.data + cut_at + cut, bytes.size - cut_at - cut);
        bytes.size -= cut;
        uint64_t size = bytes.size;
        memcpy(bytes.data + bytes.size - 40, &size, sizeof size);
    }
    assert_true(gci_digest_of(digest, gci_view_of(bytes.data, bytes.size - 32), hash));
    memcpy(bytes.data + bytes.size - 32, hash, sizeof hash);
    assert_int_equal(gci_file_write_user(p->file, gci_buf_view(&bytes), NULL), GCACHE_OK);
    gci_digest_free(digest);
    gci_buf_clear(&bytes);
}

static void
assert_nothing_imported(fixture_pair *p, char const *why)
{
    assert_int_equal(import(p), GCACHE_ERROR_CORRUPT);
    if (strstr(p->to->error.message, why) == NULL || strstr(p->to->error.message, "nothing was imported") == NULL)
        fail_msg("%s", p->to->error.message);
    assert_int_equal(p->read.entries + p->read.attachments + p->read.keys, 0);
    assert_int_equal(count_hits(p->to), 0);
}

static void
a_file_that_does_not_hold_what_it_says_is_refused(void **state)
{
    static struct {
        uint64_t entries;
        char const *why;
    } const said[] = { { VARIANTS - 1, "says it has 4 entries and has 5" }, { 1000000, "says it has 1000000 entries and has 5" } };
    fixture_pair *p = *state;
    gci_frame item;
    forgery f;

    put_variants(p->from);
    export(p);
    /* The number of items: less, more, absurdly many. */
    rewrite(p, 48, 2, 0, 0);
    assert_nothing_imported(p, "says it has 2 items and has 8");
    rewrite(p, 48, UINT64_MAX, 0, 0);
    assert_nothing_imported(p, "says it has 18446744073709551615 items");
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        export(p);
        forge_begin(&f, p);
        while (forge_next(&f, &item))
            forge_put(&f, item.type, item.head, item.payload);
        forge_end(&f, p, said[i].entries, 1, 0);
        assert_nothing_imported(p, said[i].why);
    }
    export(p);
    assert_int_equal(import(p), GCACHE_OK);
    assert_int_equal(count_hits(p->to), VARIANTS);
}

/* What stands between the last item and the end, and sizes that can't be. */
static void
items_must_fill_the_file(void **state)
{
    fixture_pair *p = *state;
    struct stat facts;

    put_variants(p->from);
    export(p);
    assert_int_equal(stat(p->file, &facts), 0);
    size_t size = (size_t)facts.st_size;
    /* A byte less between header and end: each front behind it is read from a wrong place. */
    rewrite(p, 0, 0, 20, 1);
    assert_int_equal(import(p), GCACHE_ERROR_CORRUPT);
    export(p);
    /* Of the manifest its last 8 bytes are gone: it is longer than the file. */
    rewrite(p, 0, 0, size - 48 - 8, 8);
    assert_nothing_imported(p, "an item is longer than the file");
    export(p);
    /* The first item's payload, by itself larger than any memory. */
    gci_buf bytes;
    gci_buf_init(&bytes, 1 << 24);
    assert_int_equal(gci_file_read_user(p->file, 1 << 24, &bytes, NULL), GCACHE_OK);
    memset(bytes.data + 16 + 16, 0xff, 8);
    assert_int_equal(gci_file_write_user(p->file, gci_buf_view(&bytes), NULL), GCACHE_OK);
    gci_buf_clear(&bytes);
    rewrite(p, 0, 0, 0, 0);
    assert_nothing_imported(p, "an item is longer than the file");
    assert_int_equal(mkfifo((unlink(p->file), p->file), 0600), 0);
    assert_int_equal(import(p), GCACHE_ERROR_FORMAT);
}

/* An entry, changed by `change` and with good checksums again. */
static void
forge_entry(forgery *f, gci_frame const *frame, void (*change)(gci_record *record))
{
    gci_signature signature;
    gci_record record;
    gci_arena arena;
    gci_buf head;

    gci_arena_init(&arena, 1 << 20);
    gci_buf_init(&head, 1 << 20);
    assert_true(gci_record_read(frame->head, &arena, &record, &signature));
    change(&record);
    gci_record_write(&head, &record, &signature);
    forge_put(f, GCI_FRAME_ENTRY, gci_buf_view(&head), frame->payload);
    gci_buf_clear(&head);
    gci_arena_clear(&arena);
}

static gci_attachment changed_attachment;

static void
rename_attachment(gci_record *record, gci_view name)
{
    changed_attachment = record->attachments[0];
    changed_attachment.name = name;
    record->attachments = &changed_attachment;
    /* Or the id would tell. */
    record->identity = gci_view_text("forged");
    assert_true(gci_record_identify(record, gci_view_of("", 0)));
}

static void change_id(gci_record *r) { r->id[0] = r->id[0] == '0' ? '1' : '0'; }
static void change_key(gci_record *r) { r->key.bytes[0] ^= 1; }
static void change_guards(gci_record *r) { r->variant = gci_view_text("small rax"); }
static void change_size(gci_record *r) { r->payload_size = UINT64_C(1) << 35; }
static void change_compression(gci_record *r) { r->compression = r->compression == GCI_RAW ? GCI_ZSTD : GCI_RAW; }
static void lead_out(gci_record *r) { rename_attachment(r, gci_view_text("../../x")); }
static void lead_out_within(gci_record *r) { rename_attachment(r, gci_view_text("lib/../../x")); }
static void be_absolute(gci_record *r) { rename_attachment(r, gci_view_text("/etc/x")); }
static void hide_a_zero(gci_record *r) { rename_attachment(r, (gci_view)GCI_VIEW("lib\0/x")); }

static char long_name[3000];

static void
have_a_long_part(gci_record *r)
{
    memset(long_name, 'n', sizeof long_name);
    rename_attachment(r, gci_view_of(long_name, 256));
}

static void
have_a_long_name(gci_record *r)
{
    for (size_t i = 0; i < sizeof long_name; i++)
        long_name[i] = i % 10 == 9 ? '/' : 'n';
    rename_attachment(r, gci_view_of(long_name, 2999));
}

static void
lose_an_attachment(gci_record *r)
{
    rename_attachment(r, gci_view_text("gone"));
    changed_attachment.sha256[0] ^= 1;
}

/* One of the entries is forged: it is left out with its reason, the others come in. */
static void
one_bad_entry_leaves_the_others(void **state)
{
    static struct {
        void (*change)(gci_record *record);
        char const *why;
    } const forgeries[] = {
        { change_id, "its content has another id" },
        { change_key, "its content has another id" },
        { change_guards, "its content has another id" },
        { change_size, "not as large as it says" },
        { change_compression, "" },
        { lead_out, "leads out of a directory" },
        { lead_out_within, "leads out of a directory" },
        { be_absolute, "leads out of a directory" },
        { hide_a_zero, "leads out of a directory" },
        { have_a_long_part, "a part of its name has 256 bytes" },
        { have_a_long_name, "its name has 2999 bytes" },
        { lose_an_attachment, "is missing" },
    };
    fixture_pair *p = *state;
    gci_frame item;
    forgery f;

    put_variants(p->from);
    for (size_t i = 0; i < sizeof forgeries / sizeof *forgeries; i++) {
        export(p);
        forge_begin(&f, p);
        while (forge_next(&f, &item)) {
            if (item.type == GCI_FRAME_ENTRY && f.entries == i % VARIANTS)
                forge_entry(&f, &item, forgeries[i].change);
            else
                forge_put(&f, item.type, item.head, item.payload);
        }
        forge_end(&f, p, VARIANTS, 1, 0);
        assert_int_equal(import(p), GCACHE_REFUSED);
        assert_int_equal(p->read.entries, VARIANTS - 1);
        assert_int_equal(p->read.left_out, 1);
        assert_told(p, forgeries[i].why);
        assert_int_equal(count_hits(p->to), VARIANTS - 1);
        empty(&p->to);
    }
}

static void
things_that_come_twice_are_taken_once(void **state)
{
    fixture_pair *p = *state;
    gci_frame item;
    forgery f;

    put_variants(p->from);
    export(p);
    forge_begin(&f, p);
    while (forge_next(&f, &item)) {
        for (int i = 0; i < 2; i++)
            forge_put(&f, item.type, item.head, item.payload);
    }
    forge_end(&f, p, 2 * VARIANTS, 2, 0);
    assert_int_equal(import(p), GCACHE_OK);
    assert_int_equal(p->read.existed, VARIANTS);
    assert_int_equal(count_hits(p->to), VARIANTS);
}

static void
forge_blob(forgery *f, char const *path)
{
    gci_buf head;

    gci_buf_init(&head, 1000);
    gci_fields_write(&head, &gci_blob_fields, &(gci_blob_head){ path });
    forge_put(f, GCI_FRAME_BLOB, gci_buf_view(&head), gci_view_text("content"));
    gci_buf_clear(&head);
}

static void
blobs_stay_in_their_folder(void **state)
{
    static char const *const places[] = { "blobs/../../x", "blobs/ab/../ab", "blobs//etc", "/etc/passwd", "sub/x/y", "blobs/ab/cd",
                                          "entries/ab/ab", "blobs/..", "blobs/ab/ab/ab", "" };
    enum { PLACES = sizeof places / sizeof *places };
    fixture_pair *p = *state;
    forgery f;

    export(p);
    forge_begin(&f, p);
    for (size_t i = 0; i < PLACES; i++)
        forge_blob(&f, places[i]);
    forge_blob(&f, "blobs/ab/abc.c");
    forge_end(&f, p, 0, 0, PLACES + 1);
    assert_int_equal(import(p), GCACHE_REFUSED);
    assert_int_equal(p->read.left_out, PLACES);
    assert_int_equal(p->read.blobs, 1);
}

/* A frame of a few bytes says it unfolds to 64 GiB: no room is made for it. */
static void
absurd_sizes_take_no_memory(void **state)
{
    fixture_pair *p = *state;
    gci_frame item;
    struct rlimit limit, former;
    forgery f;

    put_variants(p->from);
    export(p);
    forge_begin(&f, p);
    while (forge_next(&f, &item)) {
        if (item.type != GCI_FRAME_ENTRY) {
            forge_put(&f, item.type, item.head, item.payload);
            continue;
        }
        /* zstd's magic, a content size of 8 bytes, and that size. */
        static unsigned char const bomb[] = { 0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0 };
        gci_view payload = gci_view_of(bomb, sizeof bomb);
        gci_signature signature = { .key_id = { NULL, 0 } };
        gci_record record = { .payload_size = UINT64_C(1) << 35, .compression = GCI_ZSTD };
        gci_buf out;
        gci_buf_init(&out, 1 << 20);
        assert_true(gci_record_identify(&record, payload));
        gci_record_write(&out, &record, &signature);
        forge_put(&f, GCI_FRAME_ENTRY, gci_buf_view(&out), payload);
        gci_buf_clear(&out);
    }
    forge_end(&f, p, VARIANTS, 1, 0);
    assert_int_equal(getrlimit(RLIMIT_AS, &former), 0);
    limit = (struct rlimit){ UINT64_C(8) << 30, former.rlim_max };
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
#else
    (void)limit;
#endif
    assert_int_equal(import(p), GCACHE_REFUSED);
    assert_int_equal(setrlimit(RLIMIT_AS, &former), 0);
    assert_int_equal(p->read.left_out, VARIANTS);
    assert_told(p, "not as large as it says");
}

/* A frame of which some bytes are others, with good checksums again. */
static void
put_changed(forgery *f, gci_frame const *item, uint64_t random)
{
    gci_buf out;

    gci_buf_init(&out, 1 << 20);
    gci_buf_append_view(&out, item->head);
    gci_buf_append_view(&out, item->payload);
    for (uint64_t k = 0; k <= random % 3; k++) {
        uint64_t word = gci_hash64(&k, sizeof k, random);
        /* Lengths and counts are what goes wrong: mostly the head, and small or huge numbers. */
        size_t at = (size_t)(word >> 16) % (word % 8 == 0 ? out.size : item->head.size);
        out.data[at] = (char)(word % 5 == 0 ? 0xff : word % 5 == 1 ? 0 : word >> 8);
    }
    forge_put(f, item->type, gci_view_of(out.data, item->head.size),
              gci_view_of(out.data + item->head.size, item->payload.size));
    gci_buf_clear(&out);
}

/* Whatever stands in a frame: the import comes to its end, and so does everything that looks at what it took. */
static void
any_bytes_are_taken_or_left_out(void **state)
{
    fixture_pair *p = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    uint64_t seed = effort_seed() << 32;
    gci_frame item;
    forgery f;
    char *text;

    put_variants(p->from);
    for (effort work = effort_of(60); effort_goes_on(&work);) {
        gcache_verified verified = GCACHE_VERIFIED_INIT;
        export(p);
        forge_begin(&f, p);
        for (uint64_t i = 0; forge_next(&f, &item); i++) {
            if (item.type == GCI_FRAME_ATTACHMENT)
                forge_put(&f, item.type, item.head, item.payload);
            else
                put_changed(&f, &item, gci_hash64(&i, sizeof i, seed + work.round));
        }
        forge_end(&f, p, VARIANTS, 1, 0);
        gcache_status status = import(p);
        assert_true(status == GCACHE_OK || status == GCACHE_REFUSED);
        assert_true(p->read.entries + p->read.left_out >= VARIANTS);
        if (work.round % 10 != 9)
            continue;
        count_hits(p->to);
        assert_true(gcache_explain(p->to->cache, g, NULL, NULL, GCACHE_EXPLAIN_JSON, &text, NULL) >= 0);
        gcache_free(text);
        assert_int_equal(gcache_verify(p->to->cache, NULL, &verified, &p->to->error), GCACHE_OK);
        assert_int_equal(verified.problems, 0);
        empty(&p->to);
    }
    gcache_graph_free(g);
}

/* ---- names of attachments ---- */

static void
attachments_have_names_that_file_systems_take(void **state)
{
    fixture_pair *p = *state;
    fixture *f = p->from;
    char name[2000], place[200];
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_attachment library = { .name = name, .bytes = "code", .size = 4 };
    gcache_entry entry = { .size = sizeof entry, .payload = "x", .payload_size = 1, .attachments = &library,
                           .attachment_count = 1 };
    gcache_result r = GCACHE_RESULT_INIT;

    memset(name, 'n', sizeof name);
    name[256] = '\0';
    assert_int_equal(gcache_insert(f->cache, g, NULL, &entry, NULL, &f->error), GCACHE_ERROR_LIMIT);
    assert_non_null(strstr(f->error.message, "attachment \"nnnn"));
    assert_non_null(strstr(f->error.message, "a part of its name has 256 bytes, file systems take 255"));
    name[256] = 'n';
    for (size_t i = 250; i < sizeof name; i += 250)
        name[i] = '/';
    name[sizeof name - 1] = '\0';
    assert_int_equal(gcache_insert(f->cache, g, NULL, &entry, NULL, &f->error), GCACHE_ERROR_LIMIT);
    assert_non_null(strstr(f->error.message, "its name has 1999 bytes"));
    /* The longest of both can be put in place. */
    memset(name, 'n', sizeof name);
    name[255] = name[511] = name[767] = '/';
    name[1023] = '\0';
    assert_int_equal(gcache_insert(f->cache, g, NULL, &entry, NULL, &f->error), GCACHE_OK);
    assert_int_equal(gcache_lookup(f->cache, g, NULL, &r, &f->error), GCACHE_HIT);
    snprintf(place, sizeof place, "%s/placed", f->directory);
    if (gcache_place(f->cache, &r, place, &f->error) != GCACHE_OK)
        fail_msg("%s", f->error.message);
    gcache_result_clear(&r);
    gcache_graph_free(g);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, pair_open, fixture_pair_close)
    struct CMUnitTest const tests[] = {
        CASE(unsigned_entries_are_left_out_where_signatures_are_required),
        CASE(unsigned_entries_stay_unsigned),
        CASE(foreign_signatures_stay_foreign),
        CASE(signatures_go_along),
        CASE(signatures_by_ed25519_go_along),
        CASE(a_forged_signature_is_never_taken),
        CASE(a_forged_signature_by_ed25519_is_never_taken),
        CASE(a_signature_of_another_kind_is_never_taken),
        CASE(a_signed_entry_replaces_an_equal_one),
        CASE(what_has_no_signature_is_left_out_where_they_are_required),
        CASE(a_file_that_does_not_hold_what_it_says_is_refused),
        CASE(items_must_fill_the_file),
        CASE(one_bad_entry_leaves_the_others),
        CASE(things_that_come_twice_are_taken_once),
        CASE(blobs_stay_in_their_folder),
        CASE(absurd_sizes_take_no_memory),
        CASE(any_bytes_are_taken_or_left_out),
        CASE(attachments_have_names_that_file_systems_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
