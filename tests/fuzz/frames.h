/* Checksums of frames put right: whoever can write a store's files can do that too. */
#ifndef GUARDCACHE_TESTS_FUZZ_FRAMES_H
#define GUARDCACHE_TESTS_FUZZ_FRAMES_H

#include <stddef.h>

/* Of a candidate index: its header and every frame, from its own sizes on. */
void frames_right_pack(char *bytes, size_t size);

/* Of frames that begin at `at`: an entry's or a description's file has one at 0. */
void frames_right(char *bytes, size_t size, size_t at);

#endif
