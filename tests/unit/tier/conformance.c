/*
 * The contract of tiers as tests. What happens in threads and in a child counts its failures; the test's own thread asserts.
 */
#include "conformance.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = CONFORM_THREADS };

#define SECOND_NS CONFORM_SECOND_NS

/* ---- objects come and go ---- */

void
conform_the_table_is_whole(void **state)
{
    conformance const *c = *state;
    gcache_tier_functions const *f = c->functions;

    assert_true(f->size >= sizeof *f);
    assert_int_equal(f->version, GCACHE_TIER_VERSION);
    assert_true(f->list != NULL && f->fetch != NULL && f->publish != NULL && f->remove != NULL && f->close != NULL);
    assert_true((f->lease == NULL) == (f->keep == NULL));
    assert_true((f->lease == NULL) == (f->release == NULL));
}

void
conform_an_absent_key_is_a_miss(void **state)
{
    conformance const *c = *state;
    gcache_key key = conform_key();
    conform_found found = { 0 };

    assert_int_equal(conform_list(c, &key, &found), GCACHE_TIER_MISS);
    for (unsigned kind = 0; kind < GCACHE_OBJECT_KIND_COUNT; kind++) {
        gcache_object wanted = conform_object((gcache_object_kind)kind, &key, NULL, 0);
        assert_int_equal(conform_fetch(c, &wanted, 1, &found), GCACHE_TIER_MISS);
        assert_int_equal(found.count, 0);
        assert_int_equal(conform_remove(c, &wanted, 1), GCACHE_TIER_HIT);
        if (c->functions->touch != NULL) {
            gcache_tier_call call = conform_call();
            assert_int_equal(conform_answer(c, &call, c->functions->touch(c->tier, &call, &wanted, 1)), GCACHE_TIER_HIT);
            assert_int_equal(conform_fetch(c, &wanted, 1, &found), GCACHE_TIER_MISS);
        }
    }
    conform_clear(&found);
}

static void
publish_and_find(conformance const *c, void const *bytes, size_t size)
{
    gcache_key key = conform_key();
    conform_found found = { 0 };

    for (unsigned kind = 0; kind < GCACHE_OBJECT_KIND_COUNT; kind++) {
        gcache_object object = conform_object((gcache_object_kind)kind, &key, bytes, size);
        assert_int_equal(conform_publish(c, &object, 1), GCACHE_TIER_HIT);
        assert_true(conform_are_there(c, &object, 1));
        if (kind == GCACHE_OBJECT_HEAD) {
            assert_int_equal(conform_list(c, &key, &found), GCACHE_TIER_HIT);
            assert_int_equal(found.count, 1);
            assert_true(conform_has(&found, &object));
        }
        assert_int_equal(conform_remove(c, &object, 1), GCACHE_TIER_HIT);
    }
    conform_clear(&found);
}

void
conform_what_is_published_is_found_with_equal_bytes(void **state)
{
    size_t const large = (size_t)1 << 20;
    char *bytes = malloc(large);

    assert_non_null(bytes);
    for (size_t i = 0; i < large; i++)
        bytes[i] = (char)(i ^ i >> 8);
    publish_and_find(*state, "", 0);
    publish_and_find(*state, "x", 1);
    publish_and_find(*state, "\r\n", 2);
    publish_and_find(*state, bytes, 256);
    publish_and_find(*state, bytes, large);
    free(bytes);
}

void
conform_all_heads_of_a_key_are_listed(void **state)
{
    enum { HEADS = 200 };
    conformance const *c = *state;
    gcache_key key = conform_key();
    conform_found found = { 0 };
    gcache_object heads[HEADS];
    char texts[HEADS][24];

    for (int i = 0; i < HEADS; i++) {
        snprintf(texts[i], sizeof texts[i], "head %d", i);
        heads[i] = conform_text(GCACHE_OBJECT_HEAD, &key, texts[i]);
    }
    assert_int_equal(conform_publish(c, heads, HEADS / 2), GCACHE_TIER_HIT);
    for (int i = HEADS / 2; i < HEADS; i++)
        assert_int_equal(conform_publish(c, &heads[i], 1), GCACHE_TIER_HIT);
    assert_int_equal(conform_list(c, &key, &found), GCACHE_TIER_HIT);
    assert_int_equal(found.count, HEADS);
    for (int i = 0; i < HEADS; i++)
        assert_true(conform_has(&found, &heads[i]));
    conform_clear(&found);
    assert_true(conform_are_there(c, heads, HEADS));
}

void
conform_kinds_and_keys_are_kept_apart(void **state)
{
    conformance const *c = *state;
    gcache_key one = conform_key(), other = conform_key();
    conform_found found = { 0 };
    gcache_object all[] = {
        conform_text(GCACHE_OBJECT_ATTACHMENT, &one, "an attachment"),
        conform_text(GCACHE_OBJECT_DESCRIPTION, &one, "a description"),
        conform_text(GCACHE_OBJECT_PAYLOAD, &one, "a payload"),
        conform_text(GCACHE_OBJECT_HEAD, &one, "a head"),
        conform_text(GCACHE_OBJECT_VALUE, &one, "a value"),
        conform_text(GCACHE_OBJECT_HEAD, &other, "the other key's"),
    };
    enum { COUNT = sizeof all / sizeof *all };

    /* The same name as an attachment, a payload and a value; the same head under two keys. */
    memcpy(all[2].name, all[0].name, sizeof all[0].name);
    memcpy(all[4].name, all[0].name, sizeof all[0].name);
    memcpy(all[5].name, all[3].name, sizeof all[3].name);
    assert_int_equal(conform_publish(c, all, COUNT - 1), GCACHE_TIER_HIT);
    assert_int_equal(conform_list(c, &other, &found), GCACHE_TIER_MISS);
    assert_int_equal(conform_publish(c, &all[COUNT - 1], 1), GCACHE_TIER_HIT);
    assert_true(conform_are_there(c, all, COUNT));
    assert_int_equal(conform_list(c, &one, &found), GCACHE_TIER_HIT);
    assert_int_equal(found.count, 1);
    assert_true(conform_has(&found, &all[3]));
    conform_clear(&found);
}

void
conform_of_what_is_wanted_those_there_are_handed_out(void **state)
{
    conformance const *c = *state;
    gcache_key key = conform_key();
    conform_found found = { 0 };
    gcache_object wanted[] = {
        conform_text(GCACHE_OBJECT_PAYLOAD, &key, "missing"), conform_text(GCACHE_OBJECT_PAYLOAD, &key, "here"),
        conform_text(GCACHE_OBJECT_ATTACHMENT, &key, "missing"), conform_text(GCACHE_OBJECT_ATTACHMENT, &key, "here"),
    };

    assert_int_equal(conform_publish(c, &wanted[1], 1), GCACHE_TIER_HIT);
    assert_int_equal(conform_publish(c, &wanted[3], 1), GCACHE_TIER_HIT);
    assert_int_equal(conform_fetch(c, wanted, 4, &found), GCACHE_TIER_MISS);
    assert_int_equal(found.count, 2);
    assert_true(conform_has(&found, &wanted[1]) && conform_has(&found, &wanted[3]));
    assert_int_equal(conform_fetch(c, wanted, 0, &found), GCACHE_TIER_HIT);
    assert_int_equal(found.count, 0);
    conform_clear(&found);
}

void
conform_publishing_again_changes_nothing(void **state)
{
    conformance const *c = *state;
    gcache_key key = conform_key();
    gcache_object objects[] = { conform_text(GCACHE_OBJECT_ATTACHMENT, &key, "a"), conform_text(GCACHE_OBJECT_PAYLOAD, &key, "p"),
                                conform_text(GCACHE_OBJECT_DESCRIPTION, &key, "d"), conform_text(GCACHE_OBJECT_HEAD, &key, "h") };

    for (int i = 0; i < 3; i++) {
        assert_int_equal(conform_publish(c, objects, 4), GCACHE_TIER_HIT);
        assert_true(conform_are_there(c, objects, 4));
        assert_int_equal(conform_heads(c, &key), 1);
    }
    assert_int_equal(conform_publish(c, objects, 0), GCACHE_TIER_HIT);
}

/* By a tombstone, or after damage. */
void
conform_a_head_is_replaced(void **state)
{
    conformance const *c = *state;
    gcache_key key = conform_key();
    gcache_object head = conform_text(GCACHE_OBJECT_HEAD, &key, "a candidate");

    assert_int_equal(conform_publish(c, &head, 1), GCACHE_TIER_HIT);
    head.bytes = "gone";
    head.size = 4;
    assert_int_equal(conform_publish(c, &head, 1), GCACHE_TIER_HIT);
    assert_true(conform_are_there(c, &head, 1));
    assert_int_equal(conform_heads(c, &key), 1);
}

void
conform_what_is_removed_is_gone(void **state)
{
    conformance const *c = *state;
    gcache_key key = conform_key();
    conform_found found = { 0 };
    gcache_object objects[] = { conform_text(GCACHE_OBJECT_HEAD, &key, "a"), conform_text(GCACHE_OBJECT_HEAD, &key, "b"),
                                conform_text(GCACHE_OBJECT_PAYLOAD, &key, "p"), conform_text(GCACHE_OBJECT_ATTACHMENT, &key, "x"),
                                conform_text(GCACHE_OBJECT_DESCRIPTION, &key, "d"), conform_text(GCACHE_OBJECT_VALUE, &key, "v") };
    enum { COUNT = sizeof objects / sizeof *objects };

    assert_int_equal(conform_publish(c, objects, COUNT), GCACHE_TIER_HIT);
    assert_int_equal(conform_remove(c, &objects[0], 1), GCACHE_TIER_HIT);
    assert_int_equal(conform_fetch(c, &objects[0], 1, &found), GCACHE_TIER_MISS);
    assert_true(conform_are_there(c, &objects[1], COUNT - 1));
    assert_int_equal(conform_heads(c, &key), 1);
    assert_int_equal(conform_remove(c, objects, COUNT), GCACHE_TIER_HIT);
    assert_int_equal(conform_fetch(c, objects, COUNT, &found), GCACHE_TIER_MISS);
    assert_int_equal(found.count, 0);
    assert_int_equal(conform_list(c, &key, &found), GCACHE_TIER_MISS);
    assert_int_equal(conform_publish(c, objects, COUNT), GCACHE_TIER_HIT);
    assert_true(conform_are_there(c, objects, COUNT));
    conform_clear(&found);
}

void
conform_a_callback_ends_the_call(void **state)
{
    conformance const *c = *state;
    gcache_key key = conform_key();
    conform_found found = { .most = 2 };
    gcache_object heads[5];

    for (int i = 0; i < 5; i++)
        heads[i] = conform_text(GCACHE_OBJECT_HEAD, &key, "h");
    assert_int_equal(conform_publish(c, heads, 5), GCACHE_TIER_HIT);
    assert_int_not_equal(conform_list(c, &key, &found), GCACHE_TIER_TROUBLE);
    assert_int_equal(found.count, 2);
    assert_int_not_equal(conform_fetch(c, heads, 5, &found), GCACHE_TIER_TROUBLE);
    assert_int_equal(found.count, 2);
    conform_clear(&found);
    /* What was on its way is out of the way. */
    assert_int_equal(conform_heads(c, &key), 5);
    assert_true(conform_are_there(c, heads, 5));
}

void
conform_larger_objects_are_left_out(void **state)
{
    static char const bytes[5000];
    conformance const *c = *state;
    gcache_key key = conform_key();
    conform_found found = { 0 };
    gcache_tier_call call = conform_call();
    gcache_object heads[] = { conform_object(GCACHE_OBJECT_HEAD, &key, bytes, 100),
                              conform_object(GCACHE_OBJECT_HEAD, &key, bytes, 101),
                              conform_object(GCACHE_OBJECT_HEAD, &key, bytes, sizeof bytes) };

    assert_int_equal(conform_publish(c, heads, 3), GCACHE_TIER_HIT);
    call.max_bytes = 100;
    assert_int_equal(conform_answer(c, &call, c->functions->list(c->tier, &call, &key, conform_collect, &found)),
                     GCACHE_TIER_HIT);
    assert_int_equal(found.count, 1);
    assert_true(conform_has(&found, &heads[0]));
    conform_clear(&found);
    assert_int_equal(conform_answer(c, &call, c->functions->fetch(c->tier, &call, heads, 3, conform_collect, &found)),
                     GCACHE_TIER_MISS);
    assert_int_equal(found.count, 1);
    assert_true(conform_has(&found, &heads[0]));
    conform_clear(&found);
    assert_true(conform_are_there(c, heads, 3));
}

/* ---- time ---- */

static void
check_late(conformance const *c, gcache_tier_call const *call, gcache_tier_answer answer)
{
    conform_answer(c, call, answer);
    if (answer == GCACHE_TIER_TROUBLE)
        assert_int_equal(call->reason, GCACHE_REASON_REMOTE_TIMEOUT);
}

void
conform_a_deadline_that_has_passed_hangs_nobody(void **state)
{
    conformance const *c = *state;
    gcache_key key = conform_key();
    conform_found found = { 0 };
    gcache_object head = conform_text(GCACHE_OBJECT_HEAD, &key, "late");
    uint64_t const ago[] = { 1, SECOND_NS, conform_steady_ns() - 1 };
    uint64_t begin = conform_steady_ns();

    for (size_t i = 0; i < sizeof ago / sizeof *ago; i++) {
        gcache_tier_call call = GCACHE_TIER_CALL_INIT;
        call.deadline_ns = call.connect_deadline_ns = begin - ago[i];
        check_late(c, &call, c->functions->list(c->tier, &call, &key, conform_collect, &found));
        check_late(c, &call, c->functions->fetch(c->tier, &call, &head, 1, conform_collect, &found));
        check_late(c, &call, c->functions->publish(c->tier, &call, &head, 1));
        check_late(c, &call, c->functions->remove(c->tier, &call, &head, 1));
    }
    assert_true(conform_steady_ns() - begin < 10 * SECOND_NS);
    conform_clear(&found);
    /* The next call with time enough has an answer of its own, not one that came too late for somebody else. */
    assert_int_equal(conform_publish(c, &head, 1), GCACHE_TIER_HIT);
    assert_true(conform_are_there(c, &head, 1));
    assert_int_equal(conform_heads(c, &key), 1);
}

void
conform_a_time_to_live_is_accepted(void **state)
{
    conformance const *c = *state;
    gcache_key key = conform_key();
    gcache_tier_call call = conform_call();
    gcache_object objects[] = { conform_text(GCACHE_OBJECT_ATTACHMENT, &key, "a"), conform_text(GCACHE_OBJECT_PAYLOAD, &key, "p"),
                                conform_text(GCACHE_OBJECT_DESCRIPTION, &key, "d"), conform_text(GCACHE_OBJECT_HEAD, &key, "h") };

    call.ttl_ns = 3600 * SECOND_NS;
    assert_int_equal(conform_answer(c, &call, c->functions->publish(c->tier, &call, objects, 4)), GCACHE_TIER_HIT);
    assert_true(conform_are_there(c, objects, 4));
    if (c->functions->touch != NULL)
        assert_int_equal(conform_answer(c, &call, c->functions->touch(c->tier, &call, objects, 4)), GCACHE_TIER_HIT);
    assert_true(conform_are_there(c, objects, 4));
    call.ttl_ns = 0;
    assert_int_equal(conform_answer(c, &call, c->functions->publish(c->tier, &call, objects, 4)), GCACHE_TIER_HIT);
    assert_true(conform_are_there(c, objects, 4));
}

/* ---- values ---- */

static gcache_tier_answer
share(conformance const *c, gcache_object const *value, conform_found *found)
{
    gcache_tier_call call = conform_call();

    conform_clear(found);
    return conform_answer(c, &call, c->functions->share(c->tier, &call, value, conform_collect, found));
}

void
conform_the_first_value_is_shared(void **state)
{
    conformance const *c = *state;
    gcache_key key = conform_key();
    conform_found found = { 0 };
    gcache_object first = conform_text(GCACHE_OBJECT_VALUE, &key, "first"), second = first;

    if (c->functions->share == NULL)
        skip();
    second.bytes = "second one";
    second.size = 10;
    assert_int_equal(share(c, &first, &found), GCACHE_TIER_MISS);
    assert_int_equal(found.count, 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(share(c, &second, &found), GCACHE_TIER_HIT);
        assert_int_equal(found.count, 1);
        assert_true(conform_has(&found, &first));
    }
    assert_true(conform_are_there(c, &first, 1));
    assert_int_equal(conform_remove(c, &first, 1), GCACHE_TIER_HIT);
    assert_int_equal(share(c, &second, &found), GCACHE_TIER_MISS);
    assert_true(conform_are_there(c, &second, 1));
    conform_clear(&found);
}

enum { SHARED_VALUES = 20 };

struct sharer {
    conformance const *c;
    gcache_object const *values;
    char text[64];
    char got[SHARED_VALUES][64];
    int firsts[SHARED_VALUES], failures;
};

static void *
share_all(void *state)
{
    struct sharer *s = state;
    conform_found found = { 0 };

    for (int i = 0; i < SHARED_VALUES; i++) {
        gcache_object value = s->values[i];
        value.bytes = s->text;
        value.size = sizeof s->text;
        gcache_tier_answer answer = share(s->c, &value, &found);
        s->firsts[i] = answer == GCACHE_TIER_MISS;
        s->failures += answer == GCACHE_TIER_TROUBLE ||
                       (answer == GCACHE_TIER_HIT && (found.count != 1 || found.items[0].size != sizeof s->text));
        memcpy(s->got[i], answer == GCACHE_TIER_HIT && found.count == 1 ? found.items[0].bytes : s->text, sizeof s->text);
    }
    conform_clear(&found);
    return NULL;
}

void
conform_of_many_at_once_one_value_is_shared(void **state)
{
    conformance const *c = *state;
    gcache_key key = conform_key();
    struct sharer *sharers = calloc(THREADS, sizeof *sharers);
    gcache_object values[SHARED_VALUES];

    if (c->functions->share == NULL) {
        free(sharers);
        skip();
    }
    assert_non_null(sharers);
    for (int i = 0; i < SHARED_VALUES; i++)
        values[i] = conform_object(GCACHE_OBJECT_VALUE, &key, NULL, 0);
    for (int i = 0; i < THREADS; i++) {
        sharers[i].c = c;
        sharers[i].values = values;
        snprintf(sharers[i].text, sizeof sharers[i].text, "of thread %d", i);
    }
    conform_in_threads(share_all, sharers, sizeof *sharers);
    for (int i = 0; i < SHARED_VALUES; i++) {
        int firsts = 0;
        for (int t = 0; t < THREADS; t++) {
            firsts += sharers[t].firsts[i];
            assert_memory_equal(sharers[t].got[i], sharers[0].got[i], sizeof sharers[0].text);
            assert_int_equal(sharers[t].failures, 0);
        }
        assert_int_equal(firsts, 1);
    }
    free(sharers);
}

/* ---- leases ---- */

static gcache_tier_lease
lease_of(gcache_key const *key, uint64_t ttl_ns)
{
    gcache_tier_lease lease = { .key = *key, .ttl_ns = ttl_ns };

    memcpy(lease.name, "00112233445566778899aabbccddeeff", 33);
    conform_name(lease.holder, 32);
    return lease;
}

static gcache_tier_answer
take(conformance const *c, gcache_tier_lease *lease)
{
    gcache_tier_call call = conform_call();

    return conform_answer(c, &call, c->functions->lease(c->tier, &call, lease));
}

static gcache_tier_answer
keep(conformance const *c, gcache_tier_lease const *lease)
{
    gcache_tier_call call = conform_call();

    return conform_answer(c, &call, c->functions->keep(c->tier, &call, lease));
}

static gcache_tier_answer
release(conformance const *c, gcache_tier_lease const *lease)
{
    gcache_tier_call call = conform_call();

    return conform_answer(c, &call, c->functions->release(c->tier, &call, lease));
}

void
conform_a_lease_is_its_holders(void **state)
{
    conformance const *c = *state;
    gcache_key key = conform_key(), other = conform_key();

    if (c->functions->lease == NULL)
        skip();
    gcache_tier_lease ours = lease_of(&key, 60 * SECOND_NS), theirs = lease_of(&key, 60 * SECOND_NS);
    gcache_tier_lease elsewhere = lease_of(&other, 60 * SECOND_NS);
    assert_int_equal(take(c, &ours), GCACHE_TIER_HIT);
    assert_int_equal(take(c, &theirs), GCACHE_TIER_MISS);
    assert_int_equal(take(c, &elsewhere), GCACHE_TIER_HIT);
    theirs.token = ours.token;
    assert_int_equal(keep(c, &theirs), GCACHE_TIER_MISS);
    assert_int_equal(release(c, &theirs), GCACHE_TIER_MISS);
    assert_int_equal(keep(c, &ours), GCACHE_TIER_HIT);
    assert_int_equal(take(c, &theirs), GCACHE_TIER_MISS);
    assert_int_equal(release(c, &ours), GCACHE_TIER_HIT);
    assert_int_equal(keep(c, &ours), GCACHE_TIER_MISS);
    assert_int_equal(release(c, &ours), GCACHE_TIER_MISS);
    assert_int_equal(take(c, &theirs), GCACHE_TIER_HIT);
    assert_true(theirs.token > ours.token);
    assert_int_equal(release(c, &theirs), GCACHE_TIER_HIT);
    assert_int_equal(release(c, &elsewhere), GCACHE_TIER_HIT);
}

enum { LEASES_EACH = 10 };

struct leader {
    conformance const *c;
    gcache_key key;
    atomic_int *inside;
    _Atomic uint64_t *latest;
    atomic_int *failures;
};

static void *
lead(void *state)
{
    struct leader *l = state;
    uint64_t end = conform_steady_ns() + 60 * SECOND_NS;

    for (int led = 0; led < LEASES_EACH && conform_steady_ns() < end;) {
        gcache_tier_lease lease = lease_of(&l->key, 120 * SECOND_NS);
        gcache_tier_answer answer = take(l->c, &lease);
        *l->failures += answer == GCACHE_TIER_TROUBLE;
        if (answer != GCACHE_TIER_HIT) {
            nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
            continue;
        }
        *l->failures += atomic_fetch_add(l->inside, 1) != 0;
        *l->failures += atomic_exchange(l->latest, lease.token) >= lease.token;
        atomic_fetch_sub(l->inside, 1);
        *l->failures += release(l->c, &lease) != GCACHE_TIER_HIT;
        led++;
    }
    *l->failures += conform_steady_ns() >= end;
    return NULL;
}

void
conform_leases_exclude_threads(void **state)
{
    conformance const *c = *state;
    struct leader leaders[THREADS];
    _Atomic uint64_t latest = 0;
    atomic_int inside = 0, failures = 0;
    gcache_key key = conform_key();

    if (c->functions->lease == NULL)
        skip();
    for (int i = 0; i < THREADS; i++)
        leaders[i] = (struct leader){ c, key, &inside, &latest, &failures };
    conform_in_threads(lead, leaders, sizeof *leaders);
    assert_int_equal(failures, 0);
    assert_true(latest >= THREADS * LEASES_EACH);
}

static void
take_after_the_end(conformance const *c, gcache_tier_lease *lease)
{
    uint64_t end = conform_steady_ns() + 20 * SECOND_NS;

    while (take(c, lease) != GCACHE_TIER_HIT) {
        assert_true(conform_steady_ns() < end);
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
}

void
conform_a_lease_runs_out(void **state)
{
    conformance const *c = *state;
    gcache_key key = conform_key();

    if (c->functions->lease == NULL)
        skip();
    gcache_tier_lease dead = lease_of(&key, SECOND_NS / 2), heir = lease_of(&key, 60 * SECOND_NS);
    uint64_t begin = conform_steady_ns();
    assert_int_equal(take(c, &dead), GCACHE_TIER_HIT);
    take_after_the_end(c, &heir);
    assert_true(conform_steady_ns() - begin >= SECOND_NS / 4);
    assert_true(heir.token > dead.token);
    assert_int_equal(keep(c, &dead), GCACHE_TIER_MISS);
    assert_int_equal(release(c, &dead), GCACHE_TIER_MISS);
    assert_int_equal(keep(c, &heir), GCACHE_TIER_HIT);
    assert_int_equal(release(c, &heir), GCACHE_TIER_HIT);
}

void
conform_a_fence_refuses_an_older_token(void **state)
{
    conformance const *c = *state;
    gcache_key key = conform_key();
    gcache_object first = conform_text(GCACHE_OBJECT_HEAD, &key, "first"), late = conform_text(GCACHE_OBJECT_HEAD, &key, "late");

    if (c->functions->lease == NULL)
        skip();
    gcache_tier_lease dead = lease_of(&key, SECOND_NS / 4), heir = lease_of(&key, 60 * SECOND_NS);
    assert_int_equal(take(c, &dead), GCACHE_TIER_HIT);
    gcache_tier_call call = conform_call();
    call.fence = &dead;
    assert_int_equal(conform_answer(c, &call, c->functions->publish(c->tier, &call, &first, 1)), GCACHE_TIER_HIT);
    assert_false(call.fenced);
    take_after_the_end(c, &heir);
    assert_int_equal(conform_answer(c, &call, c->functions->publish(c->tier, &call, &late, 1)), GCACHE_TIER_MISS);
    assert_true(call.fenced);
    call.fenced = false;
    assert_int_equal(conform_answer(c, &call, c->functions->remove(c->tier, &call, &first, 1)), GCACHE_TIER_MISS);
    assert_true(call.fenced);
    assert_true(conform_are_there(c, &first, 1));
    assert_int_equal(conform_heads(c, &key), 1);
    call = conform_call();
    call.fence = &heir;
    assert_int_equal(conform_answer(c, &call, c->functions->publish(c->tier, &call, &late, 1)), GCACHE_TIER_HIT);
    assert_int_equal(conform_answer(c, &call, c->functions->remove(c->tier, &call, &first, 1)), GCACHE_TIER_HIT);
    assert_false(call.fenced);
    assert_true(conform_are_there(c, &late, 1));
    assert_int_equal(release(c, &heir), GCACHE_TIER_HIT);
}

/* ---- the tier as a whole ---- */

enum { WALKED = 500 };

struct walked {
    gcache_key keys[WALKED];
    bool met[WALKED];
    int calls, most;
};

static int
meet_key(void *state, gcache_key const *key)
{
    struct walked *walked = state;

    for (int i = 0; i < WALKED; i++)
        walked->met[i] |= memcmp(key, &walked->keys[i], sizeof *key) == 0;
    walked->calls++;
    return walked->most != 0 && walked->calls >= walked->most;
}

void
conform_a_walk_meets_every_key(void **state)
{
    conformance const *c = *state;
    struct walked walked = { .most = 1 };
    char cursor[GCACHE_TIER_CURSOR_SIZE] = "";

    if (c->functions->walk == NULL)
        skip();
    for (int i = 0; i < WALKED; i++) {
        walked.keys[i] = conform_key();
        gcache_object head = conform_text(GCACHE_OBJECT_HEAD, &walked.keys[i], "h");
        assert_int_equal(conform_publish(c, &head, 1), GCACHE_TIER_HIT);
    }
    /* One walk that its callback ends, and one to the end. */
    gcache_tier_call call = conform_call();
    assert_int_equal(conform_answer(c, &call, c->functions->walk(c->tier, &call, cursor, meet_key, &walked)), GCACHE_TIER_HIT);
    assert_int_equal(walked.calls, 1);
    walked.most = 0;
    gcache_tier_answer answer = GCACHE_TIER_HIT;
    for (int i = 0; answer == GCACHE_TIER_HIT && i < 1000000; i++) {
        call = conform_call();
        answer = conform_answer(c, &call, c->functions->walk(c->tier, &call, cursor, meet_key, &walked));
    }
    assert_int_equal(answer, GCACHE_TIER_MISS);
    for (int i = 0; i < WALKED; i++)
        assert_true(walked.met[i]);
}

static void
count_number(void *state, char const *name, uint64_t value)
{
    int *numbers = state;

    (void)value;
    if (name != NULL && name[0] != '\0')
        ++*numbers;
}

void
conform_statistics_are_numbers_with_names(void **state)
{
    conformance const *c = *state;
    gcache_tier_call call = conform_call();
    int numbers = 0;

    if (c->functions->statistics == NULL)
        skip();
    assert_int_equal(conform_answer(c, &call, c->functions->statistics(c->tier, &call, count_number, &numbers)),
                     GCACHE_TIER_HIT);
    assert_true(numbers > 0);
}

/* ---- at once ---- */

enum { WRITES = 50, WRITTEN_KEYS = 5 };

struct writer {
    conformance const *c;
    gcache_key const *keys;
    gcache_object heads[WRITES];
    char texts[WRITES][32];
    int number, failures;
};

static void *
write_heads(void *state)
{
    struct writer *w = state;

    for (int i = 0; i < WRITES; i++) {
        snprintf(w->texts[i], sizeof w->texts[i], "head %d of writer %d", i, w->number);
        w->heads[i] = conform_text(GCACHE_OBJECT_HEAD, &w->keys[i % WRITTEN_KEYS], w->texts[i]);
        w->failures += conform_publish(w->c, &w->heads[i], 1) != GCACHE_TIER_HIT;
    }
    return NULL;
}

void
conform_writers_lose_nothing(void **state)
{
    conformance const *c = *state;
    struct writer *writers = calloc(THREADS, sizeof *writers);
    gcache_key keys[WRITTEN_KEYS];
    conform_found found = { 0 };

    assert_non_null(writers);
    for (int i = 0; i < WRITTEN_KEYS; i++)
        keys[i] = conform_key();
    for (int i = 0; i < THREADS; i++) {
        writers[i].c = c;
        writers[i].keys = keys;
        writers[i].number = i;
    }
    conform_in_threads(write_heads, writers, sizeof *writers);
    for (int k = 0; k < WRITTEN_KEYS; k++) {
        assert_int_equal(conform_list(c, &keys[k], &found), GCACHE_TIER_HIT);
        assert_int_equal(found.count, THREADS * WRITES / WRITTEN_KEYS);
        for (int t = 0; t < THREADS; t++) {
            assert_int_equal(writers[t].failures, 0);
            for (int i = k; i < WRITES; i += WRITTEN_KEYS)
                assert_true(conform_has(&found, &writers[t].heads[i]));
        }
    }
    conform_clear(&found);
    free(writers);
}

enum { PAIRS = 60 };

struct pairs {
    conformance const *c;
    gcache_key key;
    gcache_object both[PAIRS][2]; /* a payload, then its head */
    atomic_bool done;
    int failures;
};

static void *
write_pairs(void *state)
{
    struct pairs *p = state;

    for (int i = 0; i < PAIRS; i++)
        p->failures += conform_publish(p->c, p->both[i], 2) != GCACHE_TIER_HIT;
    p->done = true;
    return NULL;
}

/* Of how many heads the payload isn't there. */
static int
orphans_of(struct pairs *p)
{
    conform_found found = { 0 };
    int orphans = 0;

    conform_list(p->c, &p->key, &found);
    for (int i = 0; i < PAIRS; i++) {
        if (conform_find(&found, &p->both[i][1]) != NULL)
            orphans += !conform_are_there(p->c, &p->both[i][0], 1);
    }
    conform_clear(&found);
    return orphans;
}

void
conform_whoever_sees_a_head_gets_its_payload(void **state)
{
    static char const bytes[10000];
    struct pairs *p = calloc(1, sizeof *p);
    pthread_t writer;

    assert_non_null(p);
    p->c = *state;
    p->key = conform_key();
    for (int i = 0; i < PAIRS; i++) {
        p->both[i][0] = conform_object(GCACHE_OBJECT_PAYLOAD, &p->key, bytes, sizeof bytes);
        p->both[i][1] = conform_text(GCACHE_OBJECT_HEAD, &p->key, "h");
    }
    assert_int_equal(pthread_create(&writer, NULL, write_pairs, p), 0);
    int orphans = 0;
    while (!p->done)
        orphans += orphans_of(p);
    pthread_join(writer, NULL);
    assert_int_equal(p->failures, 0);
    assert_int_equal(orphans + orphans_of(p), 0);
    assert_int_equal(conform_heads(p->c, &p->key), PAIRS);
    free(p);
}

/* ---- fork ---- */

/* 0, or the number of the step that failed. */
static int
go_on(conformance const *c, gcache_object const *of_before)
{
    gcache_key key = conform_key();
    gcache_object objects[] = { conform_text(GCACHE_OBJECT_PAYLOAD, &key, "p"), conform_text(GCACHE_OBJECT_HEAD, &key, "h") };

    if (!conform_are_there(c, of_before, 1))
        return 1;
    for (int i = 0; i < 20; i++) {
        if (conform_publish(c, objects, 2) != GCACHE_TIER_HIT)
            return 2;
        if (!conform_are_there(c, objects, 2) || conform_heads(c, &key) != 1)
            return 3;
        if (conform_remove(c, objects, 2) != GCACHE_TIER_HIT || conform_heads(c, &key) != 0)
            return 4;
    }
    return 0;
}

void
conform_parent_and_child_go_on_after_a_fork(void **state)
{
    enum { CHILDREN = 3 };
    conformance const *c = *state;
    gcache_key key = conform_key();
    gcache_object head = conform_text(GCACHE_OBJECT_HEAD, &key, "of before");
    pid_t children[CHILDREN];

    assert_int_equal(conform_publish(c, &head, 1), GCACHE_TIER_HIT);
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            _exit(go_on(c, &head));
    }
    assert_int_equal(go_on(c, &head), 0);
    for (int i = 0; i < CHILDREN; i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(go_on(c, &head), 0);
}

/* ---- all of it ---- */

static conformance in_one;

static int
give_in_one(void **state)
{
    *state = &in_one;
    return 0;
}

void
conform(gcache_tier_functions const *functions, void *tier)
{
    struct CMUnitTest const tests[] = {
#define X(name) CONFORMANCE_TEST(name, give_in_one, NULL),
        CONFORMANCE_MAP(X)
#undef X
    };

    in_one = (conformance){ .functions = functions, .tier = tier };
    if (cmocka_run_group_tests(tests, NULL, NULL) != 0)
        abort();
}
