/*
 * config.json under many writers and readers, writers that are killed, and every kind of damage: no lookup fails, no
 * acknowledged change is lost, what can't be read is put aside.
 */
#include "fixture.h"

#include "../store/effort.h"

#include <fcntl.h>
#include <guardcache/maintenance.h>
#include <guardcache/settings.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRITERS 4
#define READERS 2
#define WRITES 20
#define KILLS 10

static void
config_path(fixture const *f, char out_path[128])
{
    snprintf(out_path, 128, "%s/config.json", f->directory);
}

static gcache_settings *
load(fixture *f, char const *space)
{
    gcache_settings *settings;

    if (gcache_settings_load(f->directory, space, NULL, NULL, &settings, &f->error) != GCACHE_OK)
        fail_msg("%s", f->error.message);
    return settings;
}

static long
value_of(gcache_settings *settings, gcache_setting_id id)
{
    return strtol(gcache_settings_get(settings, id)->value, NULL, 10);
}

static gcache_status
write_number(fixture *f, char const *space, char const *name, long number)
{
    char text[24];

    snprintf(text, sizeof text, "%ld", number);
    return gcache_settings_write(f->directory, GCACHE_TRUST_OWNER, space, name, text, NULL, NULL, &f->error);
}

static void
count_line(void *state, char const *line)
{
    (void)line;
    ++*(int *)state;
}

/* ---- many at once ---- */

/* The last number of each writer's own section that it was told is written. */
typedef struct ledger {
    _Atomic long acknowledged[WRITERS];
    _Atomic bool stop;
    _Atomic long torn;
} ledger;

static ledger *
make_ledger(void)
{
    ledger *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(shared != MAP_FAILED);
    return shared;
}

static void
space_of(int writer, char out_space[8])
{
    snprintf(out_space, 8, "team%d", writer);
}

/* In a section of its own and in the one of all, in turn. */
static void
write_on(fixture *f, ledger *shared, int writer, long writes)
{
    char space[8];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    space_of(writer, space);
    for (long i = atomic_load(&shared->acknowledged[writer]) + 1; i <= writes; i++) {
        if (write_number(f, space, "max-candidates", i) != GCACHE_OK ||
            write_number(f, NULL, "max-candidates", 1000 * (writer + 1) + i) != GCACHE_OK) {
            fprintf(stderr, "writer %d: %s\n", writer, f->error.message);
            _exit(1);
        }
        atomic_store(&shared->acknowledged[writer], i);
    }
    _exit(0);
}

/* Every value a reader sees is at least the one acknowledged before it looked, and there is never a warning. */
static void
read_on(fixture *f, ledger *shared)
{
    char space[8];

    /* A failed assertion of the parent must not leave this running. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int writer = 0; !atomic_load(&shared->stop); writer = (writer + 1) % WRITERS) {
        long before = atomic_load(&shared->acknowledged[writer]);
        space_of(writer, space);
        gcache_settings *settings = load(f, space);
        char const *warning = gcache_settings_warning(settings, 0);
        if (warning != NULL || (before > 0 && value_of(settings, GCACHE_SETTING_MAX_CANDIDATES) < before)) {
            fprintf(stderr, "reader: %s\n", warning != NULL ? warning : "an acknowledged value isn't there");
            atomic_fetch_add(&shared->torn, 1);
        }
        gcache_settings_free(settings);
    }
    _exit(0);
}

static void
assert_all_there(fixture *f, ledger *shared, long further)
{
    char space[8];

    for (int writer = 0; writer < WRITERS; writer++) {
        space_of(writer, space);
        gcache_settings *settings = load(f, space);
        long value = value_of(settings, GCACHE_SETTING_MAX_CANDIDATES), known = atomic_load(&shared->acknowledged[writer]);
        assert_null(gcache_settings_warning(settings, 0));
        if (known > 0)
            assert_in_range(value, known, known + further);
        gcache_settings_free(settings);
    }
    assert_int_equal(atomic_load(&shared->torn), 0);
}

static void
no_change_is_lost_among_many(void **state)
{
    fixture *f = *state;
    ledger *shared = make_ledger();
    pid_t children[WRITERS + READERS];
    long writes = (long)(WRITES * effort_number("GUARDCACHE_EFFORT", 1));
    int status;

    for (int i = 0; i < WRITERS + READERS; i++) {
        children[i] = fork();
        if (children[i] == 0)
            i < WRITERS ? write_on(f, shared, i, writes) : read_on(f, shared);
    }
    for (int i = 0; i < WRITERS + READERS; i++) {
        if (i == WRITERS)
            atomic_store(&shared->stop, true);
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    for (int writer = 0; writer < WRITERS; writer++)
        assert_int_equal(atomic_load(&shared->acknowledged[writer]), writes);
    assert_all_there(f, shared, 0);
    munmap(shared, sizeof *shared);
}

/* A writer that dies leaves the file as it was, or with its change; never a lock. */
static void
killed_writers_leave_a_whole_file(void **state)
{
    fixture *f = *state;
    ledger *shared = make_ledger();
    int status;

    srandom((unsigned)effort_seed());
    for (effort work = effort_of(KILLS); effort_goes_on(&work);) {
        pid_t children[WRITERS];
        for (int i = 0; i < WRITERS; i++) {
            children[i] = fork();
            if (children[i] == 0)
                write_on(f, shared, i, INT32_MAX / 2);
        }
        usleep((useconds_t)(random() % 30000));
        for (int i = 0; i < WRITERS; i++)
            kill(children[i], SIGKILL);
        for (int i = 0; i < WRITERS; i++)
            assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_all_there(f, shared, 1);
        assert_int_equal(write_number(f, NULL, "memory", 1 << 20), GCACHE_OK);
    }
    munmap(shared, sizeof *shared);
}

/* ---- damage ---- */

static void
put_text(char const *path, char const *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void put_nothing(char const *path) { put_text(path, ""); }
static void put_half(char const *path) { put_text(path, "{\"format\": \"guardcache-config/1\", \"settings\": {\"max"); }
static void put_another_type(char const *path) { put_text(path, "[1, 2]"); }
static void put_another_format(char const *path) { put_text(path, "{\"format\": \"something else\"}"); }
static void put_no_text(char const *path) { put_text(path, "\x7f\x45LF\xff\xfe"); }
static void put_directory(char const *path) { assert_int_equal(mkdir(path, 0700), 0); }
static void put_pipe(char const *path) { assert_int_equal(mkfifo(path, 0600), 0); }
static void put_socket(char const *path) { assert_int_equal(mknod(path, S_IFSOCK | 0600, 0), 0); }
static void put_link(char const *path) { assert_int_equal(symlink("/etc/hostname", path), 0); }
static void put_dangling_link(char const *path) { assert_int_equal(symlink("nowhere", path), 0); }
static void put_link_to_itself(char const *path) { assert_int_equal(symlink("config.json", path), 0); }

static void
put_zeros(char const *path)
{
    put_text(path, "");
    assert_int_equal(truncate(path, 100), 0);
}

static void
put_huge(char const *path)
{
    put_text(path, "");
    assert_int_equal(truncate(path, (off_t)200 << 30), 0);
}

static void
put_deep(char const *path)
{
    FILE *file = fopen(path, "w");

    for (int i = 0; i < 1000000; i++)
        fputc('[', file);
    fclose(file);
}

static void
put_many_values(char const *path)
{
    FILE *file = fopen(path, "w");

    fputs("{\"format\": \"guardcache-config/0", file);
    fputs("\", \"settings\": [0", file);
    for (int i = 0; i < 500000; i++)
        fputs(",0", file);
    fputs("]}", file);
    fclose(file);
}

static struct damage {
    char const *name;
    void (*put)(char const *path);
} const damages[] = {
    { "empty", put_nothing },        { "half", put_half },
    { "zeros", put_zeros },          { "another type", put_another_type },
    { "bytes", put_no_text },        { "another format", put_another_format },
    { "huge", put_huge },            { "deep", put_deep },
    { "directory", put_directory },  { "pipe", put_pipe },
    { "link", put_link },            { "dangling link", put_dangling_link },
    { "loop", put_link_to_itself },  { "socket", put_socket },
};

static void
assert_no_lookup_fails(fixture *f)
{
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_settings *settings = load(f, NULL);
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_result r = GCACHE_RESULT_INIT;

    assert_int_equal(gcache_settings_apply(settings, &options, &f->error), GCACHE_OK);
    fixture_reopen(f, &options);
    gcache_settings_free(settings);
    if (gcache_lookup(f->cache, g, NULL, &r, &f->error) != GCACHE_HIT)
        fail_msg("no hit");
    gcache_result_clear(&r);
    gcache_graph_free(g);
}

static void
count_problem(void *state, char const *path, char const *problem)
{
    (void)problem;
    *(int *)state += strcmp(path, "config.json") == 0;
}

/* Whether verify, or repair, finds config.json wanting. */
static int
problems(fixture *f, bool repair)
{
    int count = 0;
    gcache_maintenance_options options = { .size = sizeof(gcache_maintenance_options), .problem = count_problem, .state = &count };
    gcache_status status = repair ? gcache_repair(f->cache, &options, NULL, &f->error)
                                  : gcache_verify(f->cache, &options, NULL, &f->error);

    if (status != GCACHE_OK)
        fail_msg("%s", f->error.message);
    return count;
}

static void
assert_is_default(fixture *f, bool warned)
{
    gcache_settings *settings = load(f, NULL);

    assert_int_equal(gcache_settings_get(settings, GCACHE_SETTING_MAX_CANDIDATES)->origin, GCACHE_ORIGIN_DEFAULT);
    assert_int_equal(gcache_settings_warning(settings, 0) != NULL, warned);
    assert_null(gcache_settings_warning(settings, 1));
    gcache_settings_free(settings);
}

static void
what_cant_be_read_is_a_warning_and_put_aside(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    char path[128];

    assert_int_equal(insert_text(f, g, NULL, NULL, "code"), GCACHE_OK);
    gcache_graph_free(g);
    config_path(f, path);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        int lines = 0;
        print_message("%s\n", damages[i].name);
        damages[i].put(path);
        assert_is_default(f, true);
        assert_no_lookup_fails(f);
        assert_int_equal(problems(f, false), 1);
        /* A change puts it aside, aloud. */
        assert_int_equal(gcache_settings_write(f->directory, GCACHE_TRUST_OWNER,
                                               NULL, "max-candidates", "7", count_line, &lines, &f->error),

                         GCACHE_OK);
        assert_int_equal(lines, 1);
        gcache_settings *settings = load(f, NULL);
        assert_null(gcache_settings_warning(settings, 0));
        assert_int_equal(value_of(settings, GCACHE_SETTING_MAX_CANDIDATES), 7);
        gcache_settings_free(settings);
        assert_int_equal(unlink(path), 0);
        /* So does taking one out, and a repair. */
        damages[i].put(path);
        assert_int_equal(gcache_settings_write(f->directory, GCACHE_TRUST_OWNER,
                                               NULL, "max-candidates", NULL, NULL, NULL, &f->error),
                         GCACHE_OK);
        assert_is_default(f, false);
        assert_int_equal(unlink(path), 0);
        damages[i].put(path);
        assert_int_equal(problems(f, true), 1);
        assert_int_equal(access(path, F_OK), -1);
        assert_int_equal(problems(f, false), 0);
    }
}

static void
a_newer_file_stays(void **state)
{
    fixture *f = *state;
    struct stat before, after;
    char path[128];

    config_path(f, path);
    put_text(path, "{\"format\": \"guardcache-config/2\", \"settings\": {\"max-candidates\": 3}}");
    assert_int_equal(stat(path, &before), 0);
    assert_is_default(f, true);
    assert_int_equal(write_number(f, NULL, "max-candidates", 5), GCACHE_ERROR_FORMAT);
    assert_int_equal(problems(f, true), 0);
    assert_int_equal(problems(f, false), 0);
    assert_int_equal(stat(path, &after), 0);
    assert_true(before.st_ino == after.st_ino);
}

static void
one_bad_setting_leaves_the_others(void **state)
{
    fixture *f = *state;
    char path[128], text[512] = { 0 };

    config_path(f, path);
    put_text(path, "{\"format\": \"guardcache-config/1\", \"later\": [1, {\"a\": null}],\n"
                   " \"settings\": {\"strict\": \"perhaps\", \"memory\": 3, \"of-tomorrow\": \"x\", \"max-candidates\": \"9\"},\n"
                   " \"namespaces\": {\"team\": {\"max-size\": \"lots\", \"durability\": \"full\"}, \"odd\": 3}}\n");
    gcache_settings *settings = load(f, "team");
    assert_int_equal(value_of(settings, GCACHE_SETTING_MAX_CANDIDATES), 9);
    assert_string_equal(gcache_settings_get(settings, GCACHE_SETTING_DURABILITY)->value, "full");
    assert_int_equal(gcache_settings_get(settings, GCACHE_SETTING_MEMORY)->origin, GCACHE_ORIGIN_DEFAULT);
    assert_string_equal(gcache_settings_warning(settings, 0), "config.json: 'perhaps' is no flag for strict");
    assert_string_equal(gcache_settings_warning(settings, 1), "config.json: the value of memory is no text");
    assert_string_equal(gcache_settings_warning(settings, 2), "config.json: there is no setting of-tomorrow");
    assert_string_equal(gcache_settings_warning(settings, 3), "config.json: 'lots' is no size for max-size");
    assert_null(gcache_settings_warning(settings, 4));
    gcache_settings_free(settings);
    /* A change keeps what it doesn't know. */
    assert_int_equal(write_number(f, "team", "max-candidates", 5), GCACHE_OK);
    FILE *file = fopen(path, "r");
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    assert_string_equal(text, "{\"format\": \"guardcache-config/1\",\n"
        " \"settings\": {\"strict\": \"perhaps\", \"memory\": 3, \"of-tomorrow\": \"x\", \"max-candidates\": \"9\"},\n"
        " \"namespaces\": {\n"
        "  \"team\": {\"max-size\": \"lots\", \"durability\": \"full\", \"max-candidates\": \"5\"},\n"
        "  \"odd\": 3},\n"
        " \"later\": [1, {\"a\": null}]}\n");
}

/* Thousands of them say no more than the first. */
static void
warnings_are_bounded(void **state)
{
    fixture *f = *state;
    size_t count = 0;
    char path[128];

    config_path(f, path);
    FILE *file = fopen(path, "w");
    fputs("{\"format\": \"guardcache-config/1\", \"settings\": {\"a\": 0", file);
    for (int i = 0; i < 50000; i++)
        fprintf(file, ",\"n%d\": 0", i);
    fputs("}}", file);
    fclose(file);
    gcache_settings *settings = load(f, NULL);
    while (gcache_settings_warning(settings, count) != NULL)
        count++;
    assert_in_range(count, 1, 20);
    gcache_settings_free(settings);
    put_many_values(path);
    assert_is_default(f, true);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    struct CMUnitTest const tests[] = {
        CASE(no_change_is_lost_among_many),
        CASE(killed_writers_leave_a_whole_file),
        CASE(what_cant_be_read_is_a_warning_and_put_aside),
        CASE(a_newer_file_stays),
        CASE(one_bad_setting_leaves_the_others),
        CASE(warnings_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
