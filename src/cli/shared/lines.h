/*
 * Lines of a file descriptor, one after another, without reading further ahead than the reader of our output may expect:
 * before a read that may wait, standard output is flushed, so that a program can ask line by line over pipes.
 */
#ifndef GCI_CLI_SHARED_LINES_H
#define GCI_CLI_SHARED_LINES_H

#include "base/buf.h"

#include <guardcache/status.h>

typedef struct cli_lines {
    int fd;
    char const *name; /* for messages */
    gci_buf buf;
    size_t start;     /* of what hasn't been handed out */
    size_t number;    /* of the line handed out last, from 1 */
    uint64_t passed;  /* bytes handed out, line ends included */
    bool ended, failed;
} cli_lines;

/* The descriptor stays the caller's. */
void cli_lines_init(cli_lines *lines, int fd, char const *name);
void cli_lines_clear(cli_lines *lines);

/*
 * The next line without its line end, valid until the next call. false at the end, and for a line that is too long or can't be
 * read: then lines->failed is set.
 */
bool cli_lines_next(cli_lines *lines, gci_view *out_line, gcache_error *error);

#endif
