/* The JSON reader: what it reads, it writes; what it wrote, it reads to the same text. */
#include "base/text/json.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(uint8_t const *data, size_t size);

static gcache_status
read_and_write(gci_view text, gci_buf *out)
{
    gci_arena arena;
    gci_value value;
    gcache_error error;

    gci_arena_init(&arena, (size_t)1 << 30);
    gcache_status status = gci_json_read(text, "fuzz", &arena, &value, &error);
    if (status == GCACHE_OK)
        gci_json_write(out, &value);
    gci_arena_clear(&arena);
    return status;
}

int
LLVMFuzzerTestOneInput(uint8_t const *data, size_t size)
{
    gci_buf once, twice;

    gci_buf_init(&once, GCI_BUF_NO_LIMIT);
    gci_buf_init(&twice, GCI_BUF_NO_LIMIT);
    if (read_and_write(gci_view_of(data, size), &once) == GCACHE_OK) {
        if (read_and_write(gci_buf_view(&once), &twice) != GCACHE_OK ||
            !gci_view_equal(gci_buf_view(&once), gci_buf_view(&twice)))
            abort();
    }
    gci_buf_clear(&once);
    gci_buf_clear(&twice);
    return 0;
}
