/*
 * The power fails: the store lies on an ext4 image, writers are stopped, and the image is copied as the disk would have
 * been found. In the copy every entry that `full` acknowledged is there, and nothing in any mode is wrong. With the syncs
 * taken out, the same is lost: the test can tell.
 *
 * Needs root, loop devices and mkfs.ext4; is skipped without.
 */
#include "effort.h"
#include "fixture.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>

/* ---- syncs that may be taken out ---- */

static bool lying;

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int
__wrap_fdatasync(int fd)
{
    return lying ? 0 : __real_fdatasync(fd);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int
__wrap_fsync(int fd)
{
    return lying ? 0 : __real_fsync(fd);
}

/* ---- the image ---- */

enum { KEYS = 20, LEDGER = 4096 };

struct ledger {
    _Atomic uint32_t next;
    _Atomic uint8_t acknowledged[LEDGER];
};

static bool run(char const *format, ...) __attribute__((format(printf, 1, 2)));

static bool
run(char const *format, ...)
{
    char command[2048];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    return system(command) == 0;
}

static void
make_names(test_dir const *fixture, char image[512], char copy[512], char place[512])
{
    path_in(fixture, "image", image);
    path_in(fixture, "copy", copy);
    path_in(fixture, "mounted", place);
}

/* The journal commits by itself only once a minute: what lasts is what was asked for. */
static bool
mount_new(char const *image, char const *place)
{
    return run("truncate -s 48M '%s' && mkfs.ext4 -q -F '%s' 2>/dev/null", image, image) &&
           (mkdir(place, 0700) == 0 || errno == EEXIST) && run("mount -o loop,commit=60 '%s' '%s' 2>/dev/null", image, place);
}

static size_t
size_of_variant(uint32_t variant)
{
    static size_t const sizes[] = { 20000, FIRST_IN_PACK, OWN_FILE };

    return variant % 3 == 0 ? sizes[variant / 3 % 3] : 500;
}

static test_dir
cache_at(char const *place)
{
    test_dir inside = { .directory = "" };

    snprintf(inside.directory, sizeof inside.directory, "%.100s/cache", place);
    return inside;
}

static void
write_on(char const *place, struct ledger *ledger, gcache_durability durability)
{
    test_dir inside = cache_at(place);

    gci_store *store = fixture_open_with(&inside, (gci_store_options){ .durability = durability,
                                                                       .max_size = UINT64_MAX });
    for (;;) {
        uint32_t variant = atomic_fetch_add(&ledger->next, 1);
        gci_inserted inserted;
        if (variant >= LEDGER || try_insert(store, variant % KEYS, variant, size_of_variant(variant), &inserted, NULL) !=
                                     GCACHE_OK)
            pause();
        atomic_store(&ledger->acknowledged[variant], 1);
    }
}

/* Writers run for a while and are stopped; the image is taken as it is at that moment. */
static void
write_and_cut(char const *image, char const *copy, char const *place, struct ledger *ledger, gcache_durability durability)
{
    pid_t writers[2];

    for (int i = 0; i < 2; i++) {
        writers[i] = fork();
        if (writers[i] == 0) {
            die_with_the_test();
            write_on(place, ledger, durability);
        }
    }
    while (atomic_load(&ledger->next) < 60)
        clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ .tv_nsec = 20000000 }, NULL);
    for (int i = 0; i < 2; i++)
        kill(writers[i], SIGSTOP);
    assert_true(run("cp --sparse=always '%s' '%s'", image, copy));
    for (int i = 0; i < 2; i++) {
        kill(writers[i], SIGKILL);
        waitpid(writers[i], NULL, 0);
    }
}

struct outcome {
    uint32_t acknowledged, lost;
};

/* What is left after the power is back. Whatever is found is right: look() compares. */
static struct outcome
check_copy(char const *place, struct ledger *ledger)
{
    struct outcome outcome = { 0 };
    test_dir inside = cache_at(place);
    gci_store_options options = { 0 };
    gcache_error error = { 0 };
    gci_store *store = NULL;
    bool there = gci_store_open(inside.directory, &options, &store, &error) == GCACHE_OK;
    for (uint32_t variant = 0; variant < atomic_load(&ledger->next) && variant < LEDGER; variant++) {
        gci_found found = there ? look(store, variant % KEYS, variant, size_of_variant(variant)) : GCI_ABSENT;
        bool promised = atomic_load(&ledger->acknowledged[variant]) != 0;
        outcome.acknowledged += promised;
        outcome.lost += promised && found != GCI_FOUND;
    }
    /* It goes on working, and repair leaves it whole. */
    if (there) {
        gcache_maintenance_options maintenance = { 0 };
        gcache_repaired repaired;
        insert(store, 1000, 1, 20000);
        assert_int_equal(look(store, 1000, 1, 20000), GCI_FOUND);
        assert_int_equal(gci_store_repair(store, &maintenance, &repaired, NULL), GCACHE_OK);
        assert_int_equal(problems(store), 0);
    }
    gci_store_close(store);
    return outcome;
}

static bool
cut_power_once(test_dir *fixture, gcache_durability durability, struct outcome *out)
{
    char image[512], copy[512], place[512];
    struct ledger *ledger = mmap(NULL, sizeof *ledger, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(ledger != MAP_FAILED);
    make_names(fixture, image, copy, place);
    if (!mount_new(image, place)) {
        print_message("    no loop device or no mkfs.ext4 here\n");
        return false;
    }
    write_and_cut(image, copy, place, ledger, durability);
    assert_int_equal(umount2(place, MNT_DETACH), 0);
    assert_true(run("mount -o loop '%s' '%s'", copy, place));
    *out = check_copy(place, ledger);
    assert_int_equal(umount2(place, MNT_DETACH), 0);
    munmap(ledger, sizeof *ledger);
    return true;
}

static int skipped_cases;

static void
skip_case(void)
{
    skipped_cases++;
    skip();
}

static void
check_nothing_lost(void **state)
{
    struct outcome outcome;

    if (geteuid() != 0)
        skip_case();
    for (effort work = effort_of(1); effort_goes_on(&work);) {
        if (!cut_power_once(*state, GCACHE_DURABILITY_FULL, &outcome))
            skip_case();
        print_message("    full: %u acknowledged, %u lost\n", outcome.acknowledged, outcome.lost);
        assert_true(outcome.acknowledged >= 50);
        assert_int_equal(outcome.lost, 0);
    }
}

static void
check_nothing_wrong(void **state)
{
    static gcache_durability const modes[] = { GCACHE_DURABILITY_ENTRY, GCACHE_DURABILITY_NONE };
    struct outcome outcome;

    if (geteuid() != 0)
        skip_case();
    for (effort work = effort_of(2); effort_goes_on(&work);) {
        if (!cut_power_once(*state, modes[work.round % 2], &outcome))
            skip_case();
        print_message("    %s: %u acknowledged, %u lost\n", work.round % 2 == 0 ? "entry" : "none", outcome.acknowledged,
                      outcome.lost);
    }
}

static void
check_loss_without_syncs(void **state)
{
    struct outcome outcome;

    if (geteuid() != 0)
        skip_case();
    lying = true;
    bool cut = cut_power_once(*state, GCACHE_DURABILITY_FULL, &outcome);
    lying = false;
    if (!cut)
        skip_case();
    print_message("    full, syncs taken out: %u acknowledged, %u lost\n", outcome.acknowledged, outcome.lost);
    assert_true(outcome.lost > 0);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(check_nothing_lost),
        STORE_TEST(check_nothing_wrong),
        STORE_TEST(check_loss_without_syncs),
    };

    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed == 0 && skipped_cases == (int)(sizeof tests / sizeof *tests) ? TEST_SKIPPED : failed;
}
