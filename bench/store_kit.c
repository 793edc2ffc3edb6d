#include "store_kit.h"

#include "harness.h"

#include "base/digest.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

gcache_error bench_error;

void
bench_require(bool condition, char const *what)
{
    if (!condition)
        bench_die(what, bench_error.message);
}

gcache_key
bench_key(uint64_t number)
{
    gcache_key key;

    for (size_t i = 0; i < sizeof key.bytes; i += 8) {
        uint64_t part = gci_hash64(&number, sizeof number, i);
        memcpy(key.bytes + i, &part, 8);
    }
    return key;
}

char *
bench_payload(size_t size)
{
    char *bytes = malloc(size);

    if (bytes == NULL)
        bench_die("payload", "out of memory");
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = (i / 8) % 2 == 0 ? 0x488b : gci_hash64(&i, sizeof i, 1);
        memcpy(bytes + i, &word, size - i < 8 ? size - i : 8);
    }
    return bytes;
}

void
bench_store_entry(gci_store *store, uint64_t key, uint64_t variant, gci_view payload)
{
    char guard[64];
    gci_view guards[1];
    gci_inserted inserted;

    snprintf(guard, sizeof guard, "s0 %% 8 == 0 and s0 <= %llu", (unsigned long long)variant);
    guards[0] = gci_view_text(guard);
    gci_record record = { .key = bench_key(key), .kind = GCI_VIEW("fx"), .guards = guards, .guard_count = 1,
                          .program = GCI_VIEW("sixty or so bytes stand for the guards' compiled program here") };
    bench_require(gci_store_insert(store, &record, payload, NULL, &inserted, &bench_error) == GCACHE_OK, "insert");
}

gci_store *
bench_open_store(char const *directory, int level, gcache_durability durability, uint64_t max_bytes)
{
    gci_store_options options = { .compression_level = level, .max_size = max_bytes, .durability = durability };
    gci_store *store;

    bench_require(gci_store_open(directory, &options, &store, &bench_error) == GCACHE_OK, "open");
    return store;
}

void
bench_write_file(char const *path, gci_view bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    bench_require(fd >= 0 && write(fd, bytes.data, bytes.size) == (ssize_t)bytes.size, path);
    close(fd);
}

void
bench_settle(char const *directory)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY);

    bench_require(fd >= 0 && syncfs(fd) == 0, "syncfs");
    close(fd);
}
