/* References to attachments, each of which is read once. */
#include "store/repair/attached.h"

#include "base/array.h"
#include "store/insert/attach.h"

#include <stdlib.h>

bool
gci_attached_add(gci_attached_list *references, gci_record const *record)
{
    for (size_t i = 0; i < record->attachment_count; i++) {
        gci_attachment const *attachment = &record->attachments[i];
        if (!GCI_ARRAY_HAS_ROOM(references, items))
            return false;
        gci_attached *reference = &references->items[references->count++];
        *reference = (gci_attached){ .size = attachment->size, .key = record->key, .sequence = record->sequence };
        memcpy(reference->sha256, attachment->sha256, sizeof reference->sha256);
        memcpy(reference->id, record->id, sizeof reference->id);
    }
    return true;
}

void
gci_attached_clear(gci_attached_list *references)
{
    free(references->items);
    *references = (gci_attached_list){ 0 };
}

static int
by_content(void const *a, void const *b)
{
    gci_attached const *left = a, *right = b;
    int order = memcmp(left->sha256, right->sha256, sizeof left->sha256);

    return order != 0 ? order : (left->size > right->size) - (left->size < right->size);
}

static gcache_status
check(gci_store *store, gci_attached const *reference)
{
    gci_attachment attachment = { .size = reference->size };
    gci_buf bytes;

    memcpy(attachment.sha256, reference->sha256, sizeof attachment.sha256);
    gci_buf_init(&bytes, GCI_BUF_NO_LIMIT);
    gcache_status status = gci_attachment_read(store, &attachment, &bytes, NULL);
    gci_buf_clear(&bytes);
    return status;
}

void
gci_attached_check(gci_store *store, gci_attached_list *references, gci_attached_fn fn, void *state)
{
    gcache_status status = GCACHE_OK;

    if (references->count > 0)
        qsort(references->items, references->count, sizeof *references->items, by_content);
    for (size_t i = 0; i < references->count; i++) {
        gci_attached const *reference = &references->items[i];
        if (i == 0 || by_content(reference - 1, reference) != 0)
            status = check(store, reference);
        if (status != GCACHE_OK)
            fn(state, reference, status);
    }
}
