/*
 * What may stand where a file of the cache was: nothing, or something that isn't a file.
 */
#ifndef GUARDCACHE_TESTS_STORE_BECOME_H
#define GUARDCACHE_TESTS_STORE_BECOME_H

#include "fixture.h"

static inline void
delete_file(char const *path)
{
    assert_int_equal(unlink(path), 0);
}

static inline void
become_directory(char const *path)
{
    delete_file(path);
    assert_int_equal(mkdir(path, 0700), 0);
}

static inline void
become_pipe(char const *path)
{
    delete_file(path);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static inline void
become_link(char const *path)
{
    delete_file(path);
    assert_int_equal(symlink("/dev/zero", path), 0);
}

#endif
