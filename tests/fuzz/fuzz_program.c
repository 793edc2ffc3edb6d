/*
 * Programs from disk: damaged and hostile ones are refused, or do no harm when they are run.
 *
 * An input is a guard, a zero byte, and changes of the saved program, three bytes each: where (little endian) and what to
 * put there. So the seeds mean something in every version of the format. Without a guard the rest is the program itself.
 */
#include "guards/guards.h"
#include "guards/program/program.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(uint8_t const *data, size_t size);

static gcache_hint const sizes[] = { { "s0", 16 }, { "s1", 0 }, { "t0", 12 }, { "t1", -7 }, { "b", INT64_MAX } };
static gcache_hint_literal const others[] = { { "t2", "0.5" }, { "t3", "None" }, { "n", "1180591620717411303424" } };

static gcache_hints const hint_sets[] = {
    { sizes, 5, NULL, 0 },
    { sizes, 5, others, 3 },
    { NULL, 0, NULL, 0 },
};

static void
use(gci_guards const *guards)
{
    gcache_verdict verdict;
    gcache_error error;
    gci_hints hints;
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_guards_show(guards, GCACHE_GUARDS_PROGRAM, &text);
    for (size_t i = 0; i < sizeof hint_sets / sizeof hint_sets[0]; i++) {
        gci_hints_init(&hints);
        if (gci_hints_read(&hints, &hint_sets[i], (gci_naming){ NULL, NULL }, &error) != GCACHE_OK)
            abort();
        gci_guards_eval(guards, &hints, &verdict);
        for (size_t k = 0; k < guards->count; k++)
            gci_guards_explain(guards, k, &hints, &text, &text);
        gci_hints_clear(&hints);
    }
    gci_buf_clear(&text);
}

static void
load(gci_view bytes, bool must)
{
    gci_guards *guards = NULL;
    gcache_error error;

    /* An exact allocation, so that a read beyond the end shows. */
    char *copy = malloc(bytes.size != 0 ? bytes.size : 1);
    if (copy == NULL)
        return;
    memcpy(copy, bytes.data, bytes.size);
    gcache_status status = gci_guards_load(gci_view_of(copy, bytes.size), &guards, &error);
    if (status == GCACHE_OK)
        use(guards);
    else if (must && status != GCACHE_ERROR_FORMAT)
        abort();
    gci_guards_free(guards);
    free(copy);
}

int
LLVMFuzzerTestOneInput(uint8_t const *data, size_t size)
{
    uint8_t const *zero = size != 0 ? memchr(data, 0, size) : NULL;
    size_t length = zero != NULL ? (size_t)(zero - data) : size;
    gci_view text = gci_view_of((char const *)data, length);
    gci_guards *guards;
    gci_buf bytes;

    if (length == 0) {
        if (size > 1)
            load(gci_view_of((char const *)data + 1, size - 1), false);
        return 0;
    }
    if (gci_guards_compile(&text, 1, (gci_naming){ NULL, NULL }, &guards, NULL) != GCACHE_OK)
        return 0;
    gci_buf_init(&bytes, GCI_BUF_NO_LIMIT);
    gci_guards_save(guards, &bytes);
    gci_guards_free(guards);
    load(gci_buf_view(&bytes), true);
    for (size_t at = length + 1; at + 2 < size; at += 3)
        bytes.data[(data[at] | (size_t)data[at + 1] << 8) % bytes.size] = (char)data[at + 2];
    load(gci_buf_view(&bytes), false);
    gci_buf_clear(&bytes);
    return 0;
}
