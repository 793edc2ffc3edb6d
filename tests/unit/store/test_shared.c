/* The generation table under handles that have it mapped: replaced, cut, emptied, or of another kind. */
#include "fixture.h"

#include "store/state/state.h"

#include <sys/wait.h>

/* Longer than a handle goes without looking whether its table is still the one. */
static void
let_a_look_be_due(void)
{
    usleep(1100000);
}

static void
table_path(test_dir const *fixture, char out_path[512])
{
    path_in(fixture, "generations", out_path);
}

static void
assert_mapped(gci_store *store)
{
    assert_true(atomic_load(&store->shared.usable));
}

/* Both handles see at once what the other stores, also under keys they remember. */
static void
assert_agree(gci_store *one, gci_store *other)
{
    static uint64_t variant = 100;

    for (int turn = 0; turn < 4; turn++) {
        gci_store *writer = turn % 2 == 0 ? one : other, *reader = turn % 2 == 0 ? other : one;
        assert_int_equal(look(reader, 1, 1, 100), GCI_FOUND);
        assert_int_equal(look(reader, 1, 1, 100), GCI_FOUND);
        insert(writer, 1, ++variant, 100);
        assert_int_equal(look(reader, 1, variant, 100), GCI_FOUND);
    }
    assert_mapped(one);
    assert_mapped(other);
}

/* Who comes later makes another table; who was there goes over to it. */
static void
test_removed_table_is_left(void **state)
{
    gci_store *old = fixture_open(*state);
    char path[512];

    insert(old, 1, 1, 100);
    assert_int_equal(look(old, 1, 1, 100), GCI_FOUND);
    table_path(*state, path);
    assert_int_equal(unlink(path), 0);
    gci_store *new = fixture_open(*state);
    assert_int_equal(look(new, 1, 1, 100), GCI_FOUND);
    assert_int_equal(look(new, 1, 1, 100), GCI_FOUND);
    let_a_look_be_due();
    insert(old, 1, 2, 100);
    assert_int_equal(look(new, 1, 2, 100), GCI_FOUND);
    assert_agree(old, new);
    gci_store_close(old);
    gci_store_close(new);
}

static void
cut_to_nothing(char const *path)
{
    assert_int_equal(truncate(path, 0), 0);
}

static void
cut_in_half(char const *path)
{
    assert_int_equal(truncate(path, size_of_file(path) / 2), 0);
}

static void
lengthen(char const *path)
{
    assert_int_equal(truncate(path, size_of_file(path) + 4096), 0);
}

static void
fill_with_zeros(char const *path)
{
    off_t size = size_of_file(path);
    char *zeros = calloc(1, (size_t)size);
    int fd = open(path, O_WRONLY);

    assert_int_equal(pwrite(fd, zeros, (size_t)size, 0), size);
    close(fd);
    free(zeros);
}

static void
become_directory(char const *path)
{
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void
become_pipe(char const *path)
{
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void (*const damages[])(char const *path) = {
    cut_to_nothing, cut_in_half, lengthen, fill_with_zeros, become_directory, become_pipe,
};

#define DAMAGES (sizeof damages / sizeof *damages)

/* In a child, one a damage, all at the same time: one that doesn't look first is killed by SIGBUS. */
static pid_t
damage_in_child(test_dir *fixture, size_t which)
{
    char path[512];
    pid_t child = fork();

    if (child != 0)
        return child;
    die_with_the_test();
    alarm(60);
    snprintf(fixture->directory + strlen(fixture->directory), 16, "/%zu", which);
    gci_store *one = fixture_open(fixture), *other = fixture_open(fixture);
    insert(one, 1, 1, 100);
    assert_agree(one, other);
    table_path(fixture, path);
    damages[which](path);
    let_a_look_be_due();
    assert_agree(one, other);
    assert_int_equal(size_of_file(path), sizeof(gci_shared_table));
    gci_store_close(one);
    gci_store_close(other);
    _exit(0);
}

static void
test_damaged_table_is_replaced(void **state)
{
    pid_t children[DAMAGES];
    int how;

    for (size_t i = 0; i < DAMAGES; i++)
        children[i] = damage_in_child(*state, i);
    for (size_t i = 0; i < DAMAGES; i++) {
        assert_int_equal(waitpid(children[i], &how, 0), children[i]);
        if (how != 0)
            fail_msg("damage %zu: %s %d", i, WIFSIGNALED(how) ? "signal" : "status",
                     WIFSIGNALED(how) ? WTERMSIG(how) : WEXITSTATUS(how));
    }
}

static void
test_damaged_table_is_replaced_at_open(void **state)
{
    char path[512];

    table_path(*state, path);
    for (size_t i = 0; i < DAMAGES; i++) {
        gci_store *store = fixture_open(*state);
        insert(store, 1, 1, 100);
        gci_store_close(store);
        damages[i](path);
        gci_store *one = fixture_open(*state), *other = fixture_open(*state);
        assert_agree(one, other);
        gci_store_close(one);
        gci_store_close(other);
    }
}

/* What was remembered under one table is nothing under another. */
static void
test_tables_have_generations_of_their_own(void **state)
{
    gcache_key key = key_of(1);
    uint64_t former = 0;
    char path[512];

    table_path(*state, path);
    for (int i = 0; i < 3; i++) {
        gci_store *store = fixture_open(*state);
        look(store, 1, 1, 100);
        gci_store_enter(store);
        uint64_t now = gci_generation(&store->shared, &key);
        assert_int_equal(now & 1, 0);
        assert_true(now > former + 1000000 || now + 1000000 < former);
        former = now;
        gci_store_close(store);
        assert_int_equal(unlink(path), 0);
    }
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_removed_table_is_left),
        STORE_TEST(test_damaged_table_is_replaced),
        STORE_TEST(test_damaged_table_is_replaced_at_open),
        STORE_TEST(test_tables_have_generations_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
