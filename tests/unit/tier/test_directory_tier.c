/*
 * The tier in a directory: the contract; what else may lie in the directory; two tiers, as two hosts; writers that are killed.
 */
#include "conformance.h"

#include "tier/directory/directory_tier.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct place {
    conformance c; /* first: the suite takes a place for one */
    char directory[64];
    char found[512]; /* the path that path_of made last */
} place;

/* ---- a directory for a test ---- */

static conformance
tier_at(char const *directory, bool read_only, gcache_trust trust)
{
    gci_directory_tier_options options = { directory, "guardcache", read_only, trust };
    conformance c = { 0 };
    gcache_error error;

    assert_int_equal(gci_directory_tier_open(&options, &c.functions, &c.tier, &error), GCACHE_OK);
    return c;
}

static void
close_it(conformance *c)
{
    c->functions->close(c->tier);
}

static int
open_tier(void **state)
{
    place *p = calloc(1, sizeof *p);
    char const *top = getenv("TMPDIR");

    if (p == NULL)
        return 1;
    snprintf(p->directory, sizeof p->directory, "%.40s/tier.XXXXXX", top != NULL && top[0] == '/' ? top : "/tmp");
    if (mkdtemp(p->directory) == NULL)
        return 1;
    p->c = tier_at(p->directory, false, GCACHE_TRUST_OWNER);
    *state = p;
    return 0;
}

static int
remove_one(char const *path, struct stat const *facts, int type, struct FTW *where)
{
    (void)facts;
    (void)type;
    (void)where;
    return remove(path);
}

static int
close_tier(void **state)
{
    place *p = *state;

    close_it(&p->c);
    nftw(p->directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(p);
    return 0;
}

static char const *
path_of(place *p, gcache_object const *object)
{
    char key[GCACHE_KEY_HEX_SIZE];

    gcache_key_to_hex(&object->key, key);
    if (object->kind == GCACHE_OBJECT_HEAD || object->kind == GCACHE_OBJECT_DESCRIPTION)
        snprintf(p->found, sizeof p->found, "%s/guardcache/1/keys/%.2s/%s/%s", p->directory, key, key,
                 object->kind == GCACHE_OBJECT_HEAD ? object->name : "description");
    else
        snprintf(p->found, sizeof p->found, "%s/guardcache/1/%ss/%.2s/%s", p->directory, gcache_object_kind_name(object->kind),
                 object->name, object->name);
    return p->found;
}

static void
write_file(char const *path, void const *bytes, size_t size)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static gcache_object
published(place *p, gcache_object_kind kind, char const *text)
{
    gcache_key key = conform_key();
    gcache_object object = conform_text(kind, &key, text);

    assert_int_equal(conform_publish(&p->c, &object, 1), GCACHE_TIER_HIT);
    return object;
}

static size_t
names_in(char const *directory, char const *below)
{
    char path[512];
    size_t count = 0;

    snprintf(path, sizeof path, "%s/%s", directory, below);
    DIR *stream = opendir(path);
    for (struct dirent *entry; stream != NULL && (entry = readdir(stream)) != NULL;)
        count += entry->d_name[0] != '.';
    if (stream != NULL)
        closedir(stream);
    return count;
}

static uint64_t
age_of(char const *path)
{
    struct stat facts;

    assert_int_equal(stat(path, &facts), 0);
    return (uint64_t)(time(NULL) - facts.st_mtim.tv_sec);
}

static void
make_older(char const *path, time_t seconds)
{
    struct timespec times[2] = { { .tv_sec = time(NULL) - seconds }, { .tv_sec = time(NULL) - seconds } };

    assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

/* Trouble of list, with its message. */
static void
expect_trouble(conformance const *c, gcache_key const *key, char const *part)
{
    conform_found found = { 0 };
    gcache_tier_call call = conform_call();

    assert_int_equal(conform_answer(c, &call, c->functions->list(c->tier, &call, key, conform_collect, &found)),
                     GCACHE_TIER_TROUBLE);
    assert_int_equal(call.reason, GCACHE_REASON_REMOTE_UNAVAILABLE);
    assert_memory_equal(call.message, "file://", 7);
    assert_non_null(strstr(call.message, part));
    conform_clear(&found);
}

/* ---- opening ---- */

static void
opened_by(char const *path, char const *prefix, gcache_status expected)
{
    gci_directory_tier_options options = { path, prefix, false, GCACHE_TRUST_OWNER };
    gcache_tier_functions const *functions;
    gcache_error error;
    void *tier;

    gcache_status status = gci_directory_tier_open(&options, &functions, &tier, &error);
    assert_int_equal(status, expected);
    if (status == GCACHE_OK)
        functions->close(tier);
}

static void
paths_and_prefixes_are_checked(void **state)
{
    static char const *const bad[] = { "", "/", "a/", "/a", "a//b", ".", "..", "a/../b", "a/." };
    place *p = *state;
    char longest[202];

    memset(longest, 'a', sizeof longest - 1);
    longest[201] = '\0';
    opened_by("relative", "guardcache", GCACHE_ERROR_ARGUMENT);
    opened_by("", "guardcache", GCACHE_ERROR_ARGUMENT);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        opened_by(p->directory, bad[i], GCACHE_ERROR_ARGUMENT);
    opened_by(p->directory, longest, GCACHE_ERROR_ARGUMENT);
    longest[200] = '\0';
    opened_by(p->directory, longest, GCACHE_OK);
    opened_by(p->directory, "team/a b/..c", GCACHE_OK);
}

/* As docs/formats/remote.md says. */
static void
objects_lie_where_the_format_says(void **state)
{
    place *p = *state;

    for (unsigned kind = 0; kind < GCACHE_OBJECT_KIND_COUNT; kind++) {
        gcache_object object = published(p, (gcache_object_kind)kind, "x");
        struct stat facts;
        assert_int_equal(stat(path_of(p, &object), &facts), 0);
        assert_int_equal(facts.st_size, 1);
        assert_int_equal(facts.st_mode & 0777, 0600);
    }
    assert_int_equal(names_in(p->directory, "guardcache/1/temporary"), 0);
}

static void
a_directory_that_comes_later_is_found(void **state)
{
    place *p = *state;
    char inner[96], outer[96];
    conform_found found = { 0 };
    gcache_key key = conform_key();
    gcache_object head = conform_text(GCACHE_OBJECT_HEAD, &key, "h");

    snprintf(outer, sizeof outer, "%s/volume", p->directory);
    snprintf(inner, sizeof inner, "%s/volume/tier/", p->directory);
    conformance c = tier_at(inner, false, GCACHE_TRUST_OWNER);
    expect_trouble(&c, &key, "No such file");
    assert_int_equal(conform_publish(&c, &head, 1), GCACHE_TIER_TROUBLE);
    assert_int_not_equal(access(outer, F_OK), 0);
    assert_int_equal(mkdir(outer, 0700), 0);
    assert_int_equal(conform_publish(&c, &head, 1), GCACHE_TIER_HIT);
    assert_int_equal(conform_list(&c, &key, &found), GCACHE_TIER_HIT);
    conform_clear(&found);
    close_it(&c);
}

static void
what_is_no_directory_is_trouble(void **state)
{
    place *p = *state;
    char path[96];
    gcache_key key = conform_key();

    snprintf(path, sizeof path, "%s/file", p->directory);
    write_file(path, "x", 1);
    conformance c = tier_at(path, false, GCACHE_TRUST_OWNER);
    expect_trouble(&c, &key, "Not a directory");
    close_it(&c);
}

static void
a_read_only_tier_makes_nothing(void **state)
{
    place *p = *state;
    char path[96];
    conform_found found = { 0 };
    gcache_object head = published(p, GCACHE_OBJECT_HEAD, "h");

    conformance c = tier_at(p->directory, true, GCACHE_TRUST_OWNER);
    assert_null(c.functions->touch);
    assert_null(c.functions->share);
    assert_int_equal(conform_list(&c, &head.key, &found), GCACHE_TIER_HIT);
    assert_true(conform_has(&found, &head));
    gcache_tier_call call = conform_call();
    assert_int_equal(conform_answer(&c, &call, c.functions->publish(c.tier, &call, &head, 1)), GCACHE_TIER_TROUBLE);
    assert_int_equal(call.reason, GCACHE_REASON_REMOTE_UNAVAILABLE);
    assert_non_null(strstr(call.message, "read-only"));
    assert_int_equal(conform_remove(&c, &head, 1), GCACHE_TIER_TROUBLE);
    assert_true(conform_are_there(&c, &head, 1));
    close_it(&c);
    snprintf(path, sizeof path, "%s/absent", p->directory);
    c = tier_at(path, true, GCACHE_TRUST_OWNER);
    expect_trouble(&c, &head.key, "No such file");
    assert_int_not_equal(access(path, F_OK), 0);
    close_it(&c);
    conform_clear(&found);
}

static void
a_long_path_keeps_the_end_of_its_message(void **state)
{
    place *p = *state;
    char path[400];
    gcache_key key = conform_key();

    snprintf(path, sizeof path, "%s/", p->directory);
    for (size_t size = strlen(path); size + 4 < 380; size += 3)
        snprintf(path + size, sizeof path - size, "\xE2\x82\xAC");
    conformance c = tier_at(path, true, GCACHE_TRUST_OWNER);
    expect_trouble(&c, &key, ": File name too long");
    close_it(&c);
}

/* ---- what else lies there ---- */

/* A folder of heads with everything in it that isn't one. */
static void
make_strangers(place *p, gcache_object const *head)
{
    char folder[512], path[600];

    snprintf(folder, sizeof folder, "%s", path_of(p, head));
    *strrchr(folder, '/') = '\0';
    static char const *const names[] = { "README", ".nfs0000000012345678", "00112233445566778899aabbccddeef",
                                         "00112233445566778899aabbccddeefff", "00112233445566778899AABBCCDDEEFF" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        write_file(path, "stranger", 8);
    }
    snprintf(path, sizeof path, "%s/00112233445566778899aabbccddee01", folder);
    assert_int_equal(symlink("README", path), 0);
    snprintf(path, sizeof path, "%s/00112233445566778899aabbccddee02", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    snprintf(path, sizeof path, "%s/00112233445566778899aabbccddee03", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/00112233445566778899aabbccddee04", folder);
    assert_int_equal(symlink("/nowhere", path), 0);
}

static void
strangers_in_a_folder_are_passed_over(void **state)
{
    place *p = *state;
    conform_found found = { 0 };
    gcache_object head = published(p, GCACHE_OBJECT_HEAD, "ours"), wanted = head;

    make_strangers(p, &head);
    assert_int_equal(conform_list(&p->c, &head.key, &found), GCACHE_TIER_HIT);
    assert_int_equal(found.count, 1);
    assert_true(conform_has(&found, &head));
    for (int i = 1; i <= 4; i++) {
        snprintf(wanted.name, sizeof wanted.name, "00112233445566778899aabbccddee%02d", i);
        assert_int_equal(conform_fetch(&p->c, &wanted, 1, &found), GCACHE_TIER_MISS);
    }
    conform_clear(&found);
    /* A link is replaced, not written through; a folder in the way is trouble. */
    snprintf(wanted.name, sizeof wanted.name, "00112233445566778899aabbccddee01");
    assert_int_equal(conform_publish(&p->c, &wanted, 1), GCACHE_TIER_HIT);
    assert_true(conform_are_there(&p->c, &wanted, 1));
    snprintf(wanted.name, sizeof wanted.name, "00112233445566778899aabbccddee03");
    assert_int_equal(conform_publish(&p->c, &wanted, 1), GCACHE_TIER_TROUBLE);
    assert_int_equal(names_in(p->directory, "guardcache/1/temporary"), 0);
}

static void
names_that_lead_elsewhere_are_refused(void **state)
{
    static char const *const bad[] = { "../../../../secret", "", "0", "AB", "ab/cd", "zz" };
    place *p = *state;
    conform_found found = { 0 };
    gcache_key key = conform_key();

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        for (unsigned kind = 0; kind < GCACHE_OBJECT_KIND_COUNT; kind++) {
            gcache_object object = conform_text((gcache_object_kind)kind, &key, "x");
            if (kind == GCACHE_OBJECT_DESCRIPTION)
                continue;
            snprintf(object.name, sizeof object.name, "%s", bad[i]);
            assert_int_equal(conform_publish(&p->c, &object, 1), GCACHE_TIER_TROUBLE);
            assert_int_equal(conform_fetch(&p->c, &object, 1, &found), GCACHE_TIER_MISS);
            assert_int_equal(conform_remove(&p->c, &object, 1), GCACHE_TIER_HIT);
        }
    }
}

static void
a_link_on_the_way_is_not_followed(void **state)
{
    place *p = *state;
    char keys[128], aside[128];
    gcache_object head = published(p, GCACHE_OBJECT_HEAD, "h");

    snprintf(keys, sizeof keys, "%s/guardcache/1/keys", p->directory);
    snprintf(aside, sizeof aside, "%s/elsewhere", p->directory);
    assert_int_equal(rename(keys, aside), 0);
    assert_int_equal(symlink(aside, keys), 0);
    expect_trouble(&p->c, &head.key, "/keys");
    assert_int_equal(conform_publish(&p->c, &head, 1), GCACHE_TIER_TROUBLE);
    assert_int_equal(conform_remove(&p->c, &head, 1), GCACHE_TIER_TROUBLE);
}

static void
others_files_are_not_handed_out(void **state)
{
    place *p = *state;
    conform_found found = { 0 };
    gcache_key key = conform_key();
    gcache_object heads[] = { conform_text(GCACHE_OBJECT_HEAD, &key, "ours"), conform_text(GCACHE_OBJECT_HEAD, &key, "theirs") };

    assert_int_equal(conform_publish(&p->c, heads, 2), GCACHE_TIER_HIT);
    assert_int_equal(chmod(path_of(p, &heads[1]), 0666), 0);
    assert_int_equal(conform_list(&p->c, &key, &found), GCACHE_TIER_HIT);
    assert_int_equal(found.count, 1);
    assert_true(conform_has(&found, &heads[0]));
    assert_int_equal(conform_fetch(&p->c, &heads[1], 1, &found), GCACHE_TIER_TROUBLE);
    assert_int_equal(conform_remove(&p->c, &heads[0], 1), GCACHE_TIER_HIT);
    expect_trouble(&p->c, &key, "everybody may write");
    conformance any = tier_at(p->directory, true, GCACHE_TRUST_ANY);
    assert_true(conform_are_there(&any, &heads[1], 1));
    close_it(&any);
    /* A folder in which everybody may rename is as bad as a file. */
    assert_int_equal(conform_publish(&p->c, heads, 2), GCACHE_TIER_HIT);
    assert_int_equal(conform_list(&p->c, &key, &found), GCACHE_TIER_HIT);
    assert_int_equal(found.count, 2);
    *strrchr((char *)(uintptr_t)path_of(p, &heads[0]), '/') = '\0';
    assert_int_equal(chmod(p->found, 0777), 0);
    expect_trouble(&p->c, &key, "everybody may write");
    conform_clear(&found);
}

/* ---- damage ---- */

static void
a_payload_of_another_size_is_written_anew(void **state)
{
    place *p = *state;
    conform_found found = { 0 };
    gcache_object payload = published(p, GCACHE_OBJECT_PAYLOAD, "a payload");

    assert_int_equal(truncate(path_of(p, &payload), 3), 0);
    assert_int_equal(conform_fetch(&p->c, &payload, 1, &found), GCACHE_TIER_HIT);
    assert_int_equal(found.items[0].size, 3);
    assert_int_equal(conform_publish(&p->c, &payload, 1), GCACHE_TIER_HIT);
    assert_true(conform_are_there(&p->c, &payload, 1));
    assert_int_equal(truncate(path_of(p, &payload), 0), 0);
    assert_int_equal(conform_publish(&p->c, &payload, 1), GCACHE_TIER_HIT);
    assert_true(conform_are_there(&p->c, &payload, 1));
    conform_clear(&found);
}

static void
a_payload_that_is_there_is_touched_only(void **state)
{
    place *p = *state;
    struct stat before, after;
    gcache_object payload = published(p, GCACHE_OBJECT_PAYLOAD, "a payload");

    make_older(path_of(p, &payload), 100000);
    assert_int_equal(stat(p->found, &before), 0);
    assert_int_equal(conform_publish(&p->c, &payload, 1), GCACHE_TIER_HIT);
    assert_int_equal(stat(p->found, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_true(age_of(p->found) < 1000);
}

static void
touching_renews_the_time_of_a_file(void **state)
{
    place *p = *state;
    gcache_object head = published(p, GCACHE_OBJECT_HEAD, "h"), absent = head;
    gcache_tier_call call = conform_call();
    gcache_object both[2];

    conform_name(absent.name, 32);
    both[0] = absent;
    both[1] = head;
    make_older(path_of(p, &head), 100000);
    assert_int_equal(p->c.functions->touch(p->c.tier, &call, both, 2), GCACHE_TIER_HIT);
    assert_true(age_of(p->found) < 1000);
    make_older(p->found, 100000);
    assert_true(conform_are_there(&p->c, &head, 1));
    assert_true(age_of(p->found) > 1000);
    assert_int_equal(conform_publish(&p->c, &head, 1), GCACHE_TIER_HIT);
    assert_true(age_of(p->found) < 1000);
}

static void
old_temporary_files_go_and_new_ones_stay(void **state)
{
    place *p = *state;
    char path[192];

    published(p, GCACHE_OBJECT_HEAD, "h");
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/guardcache/1/temporary/dead-%d", p->directory, i);
        write_file(path, "half", 4);
        make_older(path, i < 3 ? 25 * 3600 : 23 * 3600);
    }
    /* This process has looked just now. */
    published(p, GCACHE_OBJECT_HEAD, "h");
    assert_int_equal(names_in(p->directory, "guardcache/1/temporary"), 5);
    conformance other = tier_at(p->directory, false, GCACHE_TRUST_OWNER);
    gcache_key key = conform_key();
    gcache_object head = conform_text(GCACHE_OBJECT_HEAD, &key, "h");
    assert_int_equal(conform_publish(&other, &head, 1), GCACHE_TIER_HIT);
    assert_int_equal(names_in(p->directory, "guardcache/1/temporary"), 2);
    close_it(&other);
}

/* What another host removes between the listing and the reading. */
static int
remove_all(void *state, gcache_object const *object)
{
    place *p = state;
    char folder[512], path[800];

    snprintf(folder, sizeof folder, "%s", path_of(p, object));
    *strrchr(folder, '/') = '\0';
    DIR *stream = opendir(folder);
    for (struct dirent *entry; stream != NULL && (entry = readdir(stream)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    if (stream != NULL)
        closedir(stream);
    return rmdir(folder) != 0;
}

static void
files_that_vanish_are_no_trouble(void **state)
{
    place *p = *state;
    gcache_key key = conform_key();
    gcache_object heads[20];
    gcache_tier_call call = conform_call();

    for (int i = 0; i < 20; i++)
        heads[i] = conform_text(GCACHE_OBJECT_HEAD, &key, "h");
    assert_int_equal(conform_publish(&p->c, heads, 20), GCACHE_TIER_HIT);
    assert_int_equal(p->c.functions->list(p->c.tier, &call, &key, remove_all, p), GCACHE_TIER_HIT);
    assert_int_equal(conform_heads(&p->c, &key), 0);
}

/* ---- rights ---- */

static void
a_shared_directory_gives_its_rights_to_what_is_made(void **state)
{
    static struct {
        mode_t top, folder, file;
    } const modes[] = { { 0700, 0700, 0600 }, { 0755, 0755, 0644 }, { 0750, 0750, 0640 }, { 0770, 0770, 0660 },
                        { 02775, 02775, 0664 } };
    mode_t mask = umask(077);
    place *p = *state;
    char top[96], path[512];
    struct stat facts;

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        gcache_key key = conform_key();
        gcache_object head = conform_text(GCACHE_OBJECT_HEAD, &key, "h");
        snprintf(top, sizeof top, "%s/top%zu", p->directory, i);
        assert_int_equal(mkdir(top, 0700), 0);
        assert_int_equal(chmod(top, modes[i].top), 0);
        conformance c = tier_at(top, false, (modes[i].top & 020) != 0 ? GCACHE_TRUST_ANY : GCACHE_TRUST_OWNER);
        assert_int_equal(conform_publish(&c, &head, 1), GCACHE_TIER_HIT);
        assert_true(conform_are_there(&c, &head, 1));
        close_it(&c);
        snprintf(path, sizeof path, "%s%s", top, path_of(p, &head) + strlen(p->directory));
        assert_int_equal(stat(path, &facts), 0);
        assert_int_equal(facts.st_mode & 07777, modes[i].file);
        for (char *slash; strlen(path) > strlen(top); *slash = '\0') {
            slash = strrchr(path, '/');
            *slash = '\0';
            assert_int_equal(stat(path, &facts), 0);
            assert_int_equal(facts.st_mode & 07777, strcmp(path, top) == 0 ? modes[i].top : modes[i].folder);
        }
    }
    umask(mask);
}

static void
a_group_that_is_trusted_shares(void **state)
{
    place *p = *state;
    gcache_key key = conform_key();
    gcache_object head = conform_text(GCACHE_OBJECT_HEAD, &key, "h");
    struct stat facts;

    assert_int_equal(chmod(p->directory, 0770), 0);
    expect_trouble(&p->c, &key, "may write to it");
    conformance c = tier_at(p->directory, false, GCACHE_TRUST_GROUP);
    assert_int_equal(conform_publish(&c, &head, 1), GCACHE_TIER_HIT);
    assert_true(conform_are_there(&c, &head, 1));
    assert_int_equal(stat(path_of(p, &head), &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0660);
    close_it(&c);
}

/* Root may read everything: a child becomes somebody else. */
static int
is_refused(place *p, gcache_key const *key, bool top)
{
    conform_found found = { 0 };
    gcache_tier_call call = conform_call();

    if (geteuid() == 0 && (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0))
        return 2;
    if (p->c.functions->list(p->c.tier, &call, key, conform_collect, &found) != GCACHE_TIER_TROUBLE)
        return 3;
    if (call.reason != GCACHE_REASON_REMOTE_UNAVAILABLE)
        return 4;
    return top && strstr(call.message, "Permission denied") == NULL ? 5 : 0;
}

static void
what_may_not_be_read_is_trouble(void **state)
{
    place *p = *state;
    gcache_object head = published(p, GCACHE_OBJECT_HEAD, "h");

    for (int top = 0; top < 2; top++) {
        int status = -1;
        assert_int_equal(chmod(path_of(p, &head), 0), 0);
        assert_int_equal(chmod(p->directory, top ? 0 : 0700), 0);
        pid_t child = fork();
        if (child == 0)
            _exit(is_refused(p, &head.key, top));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(chmod(p->directory, 0700), 0);
        assert_int_equal(status, 0);
    }
}

/* ---- two hosts ---- */

static void
what_one_host_publishes_another_finds(void **state)
{
    place *p = *state;
    conformance other = tier_at(p->directory, false, GCACHE_TRUST_OWNER);
    conform_found found = { 0 };
    gcache_key key = conform_key();
    gcache_object ours = conform_text(GCACHE_OBJECT_HEAD, &key, "ours"), theirs = conform_text(GCACHE_OBJECT_HEAD, &key, "theirs");

    assert_int_equal(conform_publish(&p->c, &ours, 1), GCACHE_TIER_HIT);
    assert_int_equal(conform_publish(&other, &theirs, 1), GCACHE_TIER_HIT);
    assert_int_equal(conform_list(&other, &key, &found), GCACHE_TIER_HIT);
    assert_true(found.count == 2 && conform_has(&found, &ours) && conform_has(&found, &theirs));
    assert_int_equal(conform_remove(&other, &ours, 1), GCACHE_TIER_HIT);
    assert_int_equal(conform_heads(&p->c, &key), 1);
    assert_int_equal(conform_remove(&p->c, &theirs, 1), GCACHE_TIER_HIT);
    assert_int_equal(conform_heads(&other, &key), 0);
    conform_clear(&found);
    close_it(&other);
}

struct rival {
    conformance c;
    gcache_key const *key;
    int failures;
};

/* Publishes and removes the only head of a key: its folder goes, and another rival needs it. */
static void *
publish_and_remove(void *state)
{
    struct rival *r = state;

    for (int i = 0; i < 100; i++) {
        gcache_object head = conform_text(GCACHE_OBJECT_HEAD, r->key, "h");
        r->failures += conform_publish(&r->c, &head, 1) != GCACHE_TIER_HIT;
        r->failures += !conform_are_there(&r->c, &head, 1);
        r->failures += conform_remove(&r->c, &head, 1) != GCACHE_TIER_HIT;
    }
    return NULL;
}

static void
folders_that_come_and_go_lose_nothing(void **state)
{
    place *p = *state;
    struct rival rivals[CONFORM_THREADS] = { 0 };
    gcache_key key = conform_key();
    char const *tops[] = { "", "0755" };

    for (size_t m = 0; m < sizeof tops / sizeof *tops; m++) {
        assert_int_equal(chmod(p->directory, m == 0 ? 0700 : 0755), 0);
        for (int i = 0; i < CONFORM_THREADS; i++) {
            rivals[i].c = tier_at(p->directory, false, GCACHE_TRUST_OWNER);
            rivals[i].key = &key;
        }
        conform_in_threads(publish_and_remove, rivals, sizeof *rivals);
        for (int i = 0; i < CONFORM_THREADS; i++) {
            assert_int_equal(rivals[i].failures, 0);
            close_it(&rivals[i].c);
        }
    }
    assert_int_equal(names_in(p->directory, "guardcache/1/temporary"), 0);
}

/* ---- death ---- */

enum { KILLS = 80, SIZE = 20000 };

/* Bytes that tell whether they are whole. */
static void
fill_by_name(gcache_object const *object, char bytes[SIZE])
{
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = object->name[i % strlen(object->name)];
}

static void
publish_until_killed(place *p, gcache_key const *keys)
{
    static char bytes[SIZE];

    for (int i = 0;; i++) {
        gcache_object_kind kind = i % 3 == 0 ? GCACHE_OBJECT_HEAD : i % 3 == 1 ? GCACHE_OBJECT_PAYLOAD : GCACHE_OBJECT_VALUE;
        gcache_object object = conform_object(kind, &keys[i % 4], bytes, SIZE);
        gcache_tier_call call = conform_call();
        fill_by_name(&object, bytes);
        if (kind == GCACHE_OBJECT_VALUE)
            p->c.functions->share(p->c.tier, &call, &object, conform_collect, &(conform_found){ 0 });
        else
            conform_publish(&p->c, &object, 1);
    }
}

static size_t checked, wrong;

static int
check_file(char const *path, struct stat const *facts, int type, struct FTW *where)
{
    static char expected[SIZE], bytes[SIZE + 1];
    gcache_object object = { .bytes = NULL };

    if (type != FTW_F || strstr(path, "/temporary/") != NULL)
        return 0;
    snprintf(object.name, sizeof object.name, "%s", path + where->base);
    fill_by_name(&object, expected);
    FILE *file = fopen(path, "r");
    size_t size = file != NULL ? fread(bytes, 1, sizeof bytes, file) : 0;
    wrong += facts->st_size != SIZE || size != SIZE || memcmp(bytes, expected, SIZE) != 0;
    checked++;
    if (file != NULL)
        fclose(file);
    return 0;
}

static void
killed_writers_leave_only_whole_objects(void **state)
{
    place *p = *state;
    gcache_key keys[4];
    conform_found found = { 0 };

    for (int i = 0; i < 4; i++)
        keys[i] = conform_key();
    for (int i = 0; i < KILLS; i++) {
        pid_t child = fork();
        if (child == 0)
            publish_until_killed(p, keys);
        nanosleep(&(struct timespec){ .tv_nsec = (i * 7919 % 100) * 100000L }, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    checked = wrong = 0;
    assert_int_equal(nftw(p->directory, check_file, 16, FTW_PHYS), 0);
    print_message("    %zu objects after %d kills, %zu temporary files\n", checked, KILLS,
                  names_in(p->directory, "guardcache/1/temporary"));
    assert_true(checked > 0);
    assert_int_equal(wrong, 0);
    for (int i = 0; i < 4; i++)
        assert_int_not_equal(conform_list(&p->c, &keys[i], &found), GCACHE_TIER_TROUBLE);
    conform_clear(&found);
}

#define TIER_TEST(name) cmocka_unit_test_setup_teardown(name, open_tier, close_tier)

int
main(void)
{
    struct CMUnitTest const tests[] = {
#define X(name) CONFORMANCE_TEST(name, open_tier, close_tier),
        CONFORMANCE_MAP(X)
#undef X
        TIER_TEST(paths_and_prefixes_are_checked),
        TIER_TEST(objects_lie_where_the_format_says),
        TIER_TEST(a_directory_that_comes_later_is_found),
        TIER_TEST(what_is_no_directory_is_trouble),
        TIER_TEST(a_read_only_tier_makes_nothing),
        TIER_TEST(a_long_path_keeps_the_end_of_its_message),
        TIER_TEST(strangers_in_a_folder_are_passed_over),
        TIER_TEST(names_that_lead_elsewhere_are_refused),
        TIER_TEST(a_link_on_the_way_is_not_followed),
        TIER_TEST(others_files_are_not_handed_out),
        TIER_TEST(a_payload_of_another_size_is_written_anew),
        TIER_TEST(a_payload_that_is_there_is_touched_only),
        TIER_TEST(touching_renews_the_time_of_a_file),
        TIER_TEST(old_temporary_files_go_and_new_ones_stay),
        TIER_TEST(files_that_vanish_are_no_trouble),
        TIER_TEST(a_shared_directory_gives_its_rights_to_what_is_made),
        TIER_TEST(a_group_that_is_trusted_shares),
        TIER_TEST(what_may_not_be_read_is_trouble),
        TIER_TEST(what_one_host_publishes_another_finds),
        TIER_TEST(folders_that_come_and_go_lose_nothing),
        TIER_TEST(killed_writers_leave_only_whole_objects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
