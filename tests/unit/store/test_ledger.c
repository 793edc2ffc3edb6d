/*
 * Writers under a cap are killed again and again, and the shared figures are damaged, while a ledger says what was acknowledged,
 * what is under way, and what was evicted. What is on the disk stays below the cap at every moment, temporary files included;
 * every eviction is justified by what is really there; and whatever was acknowledged is there, or was evicted.
 */
#include "effort.h"
#include "fixture.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum { WRITERS = 4, MOST = 1 << 16, TABLE = 1 << 18, SMALLEST = 200, LARGEST = 120000, BLOCK = 4096 };
/* Killed inserts that went on counting would fill it within a few rounds. */
#define CAP ((uint64_t)4 << 20)
/* Eviction ends at nine tenths. */
#define LOW (CAP - CAP / 10)
/* What an insert may take beside its payload: its head, and a block that it spills over into. */
#define BESIDE ((uint64_t)4 * BLOCK)

/* Shared by all processes, and outlives them. */
struct ledger {
    _Atomic uint32_t next;
    _Atomic uint64_t evictions, unjustified, failed;
    _Atomic uint64_t under_way[WRITERS]; /* number and bytes, 32 bits each; the test clears those of the dead after each round */
    _Atomic uint8_t acknowledged[MOST], evicted[MOST];
    uint64_t keys[TABLE]; /* the first bytes of each number's key, to find the number again */
    uint32_t numbers[TABLE];
};

struct writer {
    test_dir *fixture;
    struct ledger *ledger;
    int seat;
};

static uint64_t
first_bytes(gcache_key const *key)
{
    uint64_t word;

    memcpy(&word, key->bytes, sizeof word);
    return word;
}

static void
fill_table(struct ledger *ledger)
{
    for (uint32_t number = 0; number < MOST; number++) {
        gcache_key key = key_of(number);
        uint64_t word = first_bytes(&key);
        size_t at = word % TABLE;
        while (ledger->keys[at] != 0)
            at = (at + 1) % TABLE;
        ledger->keys[at] = word;
        ledger->numbers[at] = number;
    }
}

static uint32_t
number_of(struct ledger const *ledger, gcache_key const *key)
{
    uint64_t word = first_bytes(key);
    size_t at = word % TABLE;

    while (ledger->keys[at] != word)
        at = (at + 1) % TABLE;
    return ledger->numbers[at];
}

static size_t
size_of_number(uint32_t number)
{
    uint64_t random = gci_hash64(&number, sizeof number, effort_seed());

    return SMALLEST + (random % 3 == 0 ? random % 3000 : random % (LARGEST - SMALLEST));
}

/* ---- what is really there ---- */

static uint64_t found_bytes;
static size_t prefix_size; /* of the cache directory, which may lie in a tmp/ itself */

static int
add_found(char const *path, struct stat const *facts, int type, struct FTW *place)
{
    char const *name = path + prefix_size;

    (void)place;
    if (type == FTW_F && (strncmp(name, "/entries/", 9) == 0 || strncmp(name, "/tmp/", 5) == 0))
        found_bytes += ((uint64_t)facts->st_size + BLOCK - 1) / BLOCK * BLOCK;
    return 0;
}

static uint64_t
really_there(test_dir const *fixture)
{
    found_bytes = 0;
    prefix_size = strlen(fixture->directory);
    nftw(fixture->directory, add_found, 16, FTW_PHYS);
    return found_bytes;
}

/* ---- writing ---- */

static uint64_t
note_of(uint32_t number)
{
    return (uint64_t)number << 32 | (size_of_number(number) + BESIDE);
}

static uint64_t
bytes_of(uint64_t note)
{
    return note & UINT32_MAX;
}

/* What is in the cache or on its way into it, at most. A file that was given its place while the tree was walked may have been
   missed in both: so what was under way before counts too. */
static uint64_t
there_or_under_way(struct writer const *writer)
{
    uint64_t before[WRITERS], sum = 0;

    for (int i = 0; i < WRITERS; i++)
        before[i] = atomic_load(&writer->ledger->under_way[i]);
    uint64_t there = really_there(writer->fixture);
    for (int i = 0; i < WRITERS; i++) {
        uint64_t now = atomic_load(&writer->ledger->under_way[i]);
        sum += bytes_of(now) + (before[i] != now ? bytes_of(before[i]) : 0);
    }
    return there + sum;
}

/* A pass begins with a count and what inserts had reserved by then, which may have finished since and taken less: each of the
   others up to what is reserved beside its payload. */
#define SINCE ((WRITERS - 1) * BESIDE)

/* Called by whoever evicts: with what goes and what is under way, the cache has to be above where eviction ends. */
static void
judge_eviction(void *state, gci_store_event const *event)
{
    struct writer *writer = state;
    struct ledger *ledger = writer->ledger;

    if (event->kind != GCI_STORE_EVICTED)
        return;
    atomic_store(&ledger->evicted[number_of(ledger, event->key)], 1);
    atomic_fetch_add(&ledger->evictions, 1);
    uint64_t there = there_or_under_way(writer) + event->bytes;
    if (event->cause != GCI_EVICTED_SIZE || there + SINCE <= LOW) {
        fprintf(stderr, "evicted %llu bytes with %llu there or under way, cause %d\n", (unsigned long long)event->bytes,
                (unsigned long long)there, event->cause);
        atomic_fetch_add(&ledger->unjustified, 1);
    }
}

static gci_store *
open_capped(struct writer *writer, gcache_durability durability)
{
    return fixture_open_with(writer->fixture, (gci_store_options){ .max_size = CAP, .compression_level = -1,
                                                                   .durability = durability, .event = judge_eviction,
                                                                   .event_state = writer });
}

static void
write_until_killed(struct writer writer, gcache_durability durability)
{
    struct ledger *ledger = writer.ledger;
    gci_store *store = open_capped(&writer, durability);

    for (;;) {
        uint32_t number = atomic_fetch_add(&ledger->next, 1);
        gcache_error error = { 0 };
        gci_inserted inserted;
        if (number >= MOST)
            pause();
        atomic_store(&ledger->under_way[writer.seat], note_of(number));
        if (try_insert(store, number, 1, size_of_number(number), &inserted, &error) == GCACHE_OK) {
            atomic_store(&ledger->acknowledged[number], 1);
        } else {
            fprintf(stderr, "insert: %s\n", error.message);
            atomic_fetch_add(&ledger->failed, 1);
        }
        atomic_store(&ledger->under_way[writer.seat], 0);
    }
}

/* Those that are left go on beside what the others leave behind. */
static void
start_and_kill(test_dir *fixture, struct ledger *ledger, uint64_t round)
{
    pid_t children[WRITERS];

    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            die_with_the_test();
            write_until_killed((struct writer){ fixture, ledger, i },
                               round % 3 == 0 ? GCACHE_DURABILITY_ENTRY : GCACHE_DURABILITY_NONE);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        uint64_t random = gci_hash64(&(uint64_t){ round * WRITERS + (uint64_t)i }, 8, effort_seed());
        int how;
        clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ .tv_nsec = (long)(8000000 + random % 40000000) }, NULL);
        kill(children[i], SIGKILL);
        assert_int_equal(waitpid(children[i], &how, 0), children[i]);
        assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    }
    /* Not before: a pass that was begun while one of them lived makes room for it to its end. */
    for (int i = 0; i < WRITERS; i++)
        atomic_store(&ledger->under_way[i], 0);
}

/* ---- checking ---- */

/* A writer that died between an eviction and saying so has at most one key to account for. */
static void
check_promises(gci_store *store, struct ledger *ledger, uint32_t *inout_untold)
{
    uint32_t next = atomic_load(&ledger->next), untold = 0;

    for (uint32_t number = 0; number < next && number < MOST; number++) {
        if (atomic_load(&ledger->acknowledged[number]) == 0 || atomic_load(&ledger->evicted[number]) != 0)
            continue;
        if (look(store, number, 1, size_of_number(number)) != GCI_FOUND) {
            atomic_store(&ledger->evicted[number], 1);
            untold++;
        }
    }
    assert_in_range(untold, 0, WRITERS);
    *inout_untold += untold;
}

/* One bit of the words that count, or of a process slot. */
static void
damage_figures(test_dir const *fixture, uint64_t random)
{
    char path[512], byte;
    off_t slots = 4096 + 8 * 16384, at = random % 2 == 0 ? 16 + (off_t)(random / 8 % 48)
                                                          : slots + (off_t)(random / 8 % (2 * WRITERS * 64));

    path_in(fixture, "generations", path);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    if (pread(fd, &byte, 1, at) == 1) {
        byte = (char)(byte ^ 1 << random % 8);
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    close(fd);
}

static void
test_every_eviction_is_justified(void **state)
{
    struct ledger *ledger = mmap(NULL, sizeof *ledger, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    effort work = effort_of(14);
    uint64_t inserts = 0, evictions = 0, largest = 0;
    uint32_t untold = 0;

    assert_true(ledger != MAP_FAILED);
    fill_table(ledger);
    while (effort_goes_on(&work)) {
        uint64_t random = gci_hash64(&work.round, sizeof work.round, effort_seed());
        start_and_kill(*state, ledger, work.round);
        uint64_t there = really_there(*state);
        largest = there > largest ? there : largest;
        assert_in_range(there, 0, CAP);
        assert_int_equal(atomic_load(&ledger->unjustified), 0);
        assert_int_equal(atomic_load(&ledger->failed), 0);
        gci_store *store = fixture_open(*state);
        check_promises(store, ledger, &untold);
        if (work.round % 4 == 3)
            assert_int_equal(problems(store), 0);
        gci_store_close(store);
        if (work.round % 2 == 1)
            damage_figures(*state, random);
        if (atomic_load(&ledger->next) < MOST / 2)
            continue;
        inserts += atomic_load(&ledger->next);
        evictions += atomic_load(&ledger->evictions);
        fixture_remove_tree(((test_dir *)*state)->directory);
        memset(ledger, 0, offsetof(struct ledger, keys));
    }
    inserts += atomic_load(&ledger->next);
    evictions += atomic_load(&ledger->evictions);
    print_message("    seed %llu: %llu rounds, %llu inserts begun, %llu evictions (%u of writers that died of it), at most "
                  "%.2f MiB of %.2f\n", (unsigned long long)effort_seed(), (unsigned long long)work.begun,
                  (unsigned long long)inserts, (unsigned long long)evictions, untold, (double)largest / 1048576,
                  (double)CAP / 1048576);
    assert_true(evictions > 0);
    munmap(ledger, sizeof *ledger);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_every_eviction_is_justified),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
