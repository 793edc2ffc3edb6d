/*
 * What the programs that measure the store share: keys and payloads made of numbers, and one line to store one.
 */
#ifndef GUARDCACHE_BENCH_STORE_KIT_H
#define GUARDCACHE_BENCH_STORE_KIT_H

#include "store/store.h"

#include <stdbool.h>

/* What the store's functions are given; bench_require prints it. */
extern gcache_error bench_error;

/* Ends the program unless the condition holds. */
void bench_require(bool condition, char const *what);

gcache_key bench_key(uint64_t number);

/* About as compressible as machine code: to a half. The caller frees it. */
char *bench_payload(size_t size);

/* An entry with one guard that tells variants of a key apart. */
void bench_store_entry(gci_store *store, uint64_t key, uint64_t variant, gci_view payload);

/* level: of zstd, -1 for none. */
gci_store *bench_open_store(char const *directory, int level, gcache_durability durability, uint64_t max_bytes);

/* A file of these bytes, written and closed. */
void bench_write_file(char const *path, gci_view bytes);

/* Everything the file system holds back is written, so that it isn't measured with what follows. */
void bench_settle(char const *directory);

/* ---- the sections of bench_store ---- */

void bench_peers(char const *directory, uint64_t keys, gci_view payload);
void bench_many(char const *directory, uint64_t count);
void bench_eviction(char const *directory, uint64_t largest);
void bench_crowd(char const *directory, uint64_t count);

#endif
