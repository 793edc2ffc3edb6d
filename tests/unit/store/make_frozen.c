/*
 * Makes the cache directory that is frozen in fixtures/store/v<N>, once for each format version, before a release:
 *
 *   make_frozen DIRECTORY
 *
 * test_frozen.c knows what is in it.
 */
#include "fixture.h"

static gcache_error error;

static void
put(gci_store *store, gci_record *record, char const *payload, size_t size, gci_description const *description)
{
    gci_inserted inserted;

    record->created_ns = UINT64_C(1700000000000000000);
    if (gci_store_insert(store, record, gci_view_of(payload, size), description, &inserted, &error) != GCACHE_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(2);
    }
}

static gci_store *
open_or_die(char const *directory, gci_store_options options)
{
    gci_store *store;

    if (gci_store_open(directory, &options, &store, &error) != GCACHE_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(2);
    }
    return store;
}

int
main(int argc, char **argv)
{
    gci_signing_key signing = { .id = "release", .secret = GCI_VIEW("a secret for tests") };
    gci_component components[2] = { { .name = GCI_VIEW("graph"), .hash = { 1 } },
                                    { .name = GCI_VIEW("config"), .hash = { 2 }, .text = GCI_VIEW("a line") } };
    gci_description description = { GCI_VIEW("fx"), components, 2, GCI_VIEW("the canonical form") };
    gci_attachment attachment = { .name = GCI_VIEW("lib/kernel.so"), .mode = 0755 };
    made_record made;

    if (argc != 2)
        return 2;
    gci_store *store = open_or_die(argv[1], (gci_store_options){ .compression_level = -1, .namespace_ = "team" });
    char *small = payload_of(1 ^ UINT64_C(1) << 32, 300), *large = payload_of(1 ^ UINT64_C(2) << 32, 20000);
    record_of(&made, 1, 1);
    put(store, &made.record, small, 300, &description);
    record_of(&made, 1, 2);
    put(store, &made.record, large, 20000, NULL);
    gci_store_close(store);

    store = open_or_die(argv[1], (gci_store_options){ .compression_level = 3 });
    char *compressed = payload_of(2 ^ UINT64_C(1) << 32, 40000);
    record_of(&made, 2, 1);
    if (gci_store_attach(store, gci_view_text("\x7f" "ELF and so on"), &attachment, &error) != GCACHE_OK)
        return 2;
    made.record.attachments = &attachment;
    made.record.attachment_count = 1;
    put(store, &made.record, compressed, 40000, NULL);
    char *gone = payload_of(2 ^ UINT64_C(2) << 32, 100);
    record_of(&made, 2, 2);
    put(store, &made.record, gone, 100, NULL);
    gcache_key key = key_of(2);
    gci_candidates *set;
    if (gci_store_candidates(store, &key, &set, &error) != GCI_FOUND ||
        gci_store_evict(store, &key, set->items[1]->record.id, &error) != GCACHE_OK)
        return 2;
    gci_candidates_release(set);
    gci_store_close(store);

    store = open_or_die(argv[1], (gci_store_options){ .compression_level = -1, .signing = &signing, .signing_count = 1 });
    char *signed_payload = payload_of(3 ^ UINT64_C(1) << 32, 500);
    record_of(&made, 3, 1);
    put(store, &made.record, signed_payload, 500, NULL);
    /* Rows for some, events for the rest: index.db and the segment are part of the format. */
    gcache_maintenance_options options = { 0 };
    gcache_verified verified = GCACHE_VERIFIED_INIT;
    if (gci_store_verify(store, &options, &verified, &error) != GCACHE_OK || verified.problems != 0)
        return 2;
    gci_store_journal_append(store, gci_view_text("a lookup"));
    gci_store_close(store);
    free(small);
    free(large);
    free(compressed);
    free(gone);
    free(signed_payload);
    return 0;
}
