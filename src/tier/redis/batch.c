/* Commands that are sent together. See batch.h. */
#include "tier/redis/batch.h"

#include "base/array.h"
#include "base/check.h"

#include <inttypes.h>
#include <stdio.h>

/* Copying less takes no longer than telling the kernel of one more piece. */
#define COPIED_MAX ((size_t)8 << 10)

void
gci_batch_init(gci_batch *batch)
{
    *batch = (gci_batch){ 0 };
    gci_buf_init(&batch->text, GCI_BUF_NO_LIMIT);
}

void
gci_batch_clear(gci_batch *batch)
{
    for (gci_replies *next, *replies = batch->replies; replies != NULL; replies = next) {
        next = replies->next;
        gci_resp_reader_clear(&replies->reader);
        free(replies);
    }
    gci_buf_clear(&batch->text);
    free(batch->pieces);
    free(batch->commands);
    gci_batch_init(batch);
}

static void
add_piece(gci_batch *batch, gci_batch_piece piece)
{
    if (batch->failed || piece.size == 0)
        return;
    batch->failed = batch->text.failed || !gci_array_has_room(&batch->pieces, batch->piece_count, &batch->piece_capacity,
                                                              sizeof *batch->pieces);
    if (batch->failed)
        return;
    batch->pieces[batch->piece_count++] = piece;
    batch->commands[batch->count - 1].pieces++;
}

/* What was appended to the text since `before` belongs to the last command: its last piece grows, or it gets one more. */
static void
note_text(gci_batch *batch, size_t before)
{
    gci_command const *command = batch->count != 0 ? &batch->commands[batch->count - 1] : NULL;
    gci_batch_piece *last = command != NULL && command->pieces != 0 ? &batch->pieces[batch->piece_count - 1] : NULL;

    batch->failed |= batch->text.failed;
    if (!batch->failed && last != NULL && last->outside == NULL)
        last->size += batch->text.size - before;
    else
        add_piece(batch, (gci_batch_piece){ .at = before, .size = batch->text.size - before });
}

void
gci_batch_begin(gci_batch *batch, unsigned slot, size_t arguments)
{
    size_t before = batch->text.size;

    batch->failed |= !GCI_ARRAY_HAS_ROOM(batch, commands);
    if (batch->failed)
        return;
    batch->commands[batch->count++] = (gci_command){ .piece = batch->piece_count, .slot = slot };
    gci_resp_begin(&batch->text, arguments);
    note_text(batch, before);
}

void
gci_batch_add(gci_batch *batch, gci_view bytes)
{
    size_t before = batch->text.size;

    gci_resp_argument_head(&batch->text, bytes.size);
    if (bytes.size <= COPIED_MAX) {
        gci_buf_append_view(&batch->text, bytes);
    } else {
        note_text(batch, before);
        add_piece(batch, (gci_batch_piece){ .outside = bytes.data, .size = bytes.size });
        before = batch->text.size;
    }
    gci_buf_append_text(&batch->text, GCI_RESP_END);
    note_text(batch, before);
}

void
gci_batch_add_text(gci_batch *batch, char const *text)
{
    gci_batch_add(batch, gci_view_text(text));
}

void
gci_batch_add_number(gci_batch *batch, uint64_t number)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, number);
    gci_batch_add_text(batch, text);
}

void
gci_batch_fill(gci_batch const *batch, gci_command const *command, struct iovec *out)
{
    GCI_ASSERT(command->piece + command->pieces <= batch->piece_count);
    for (size_t i = 0; i < command->pieces; i++) {
        gci_batch_piece const *piece = &batch->pieces[command->piece + i];
        char const *bytes = piece->outside != NULL ? piece->outside : batch->text.data + piece->at;
        out[i] = (struct iovec){ (void *)bytes, piece->size };
    }
}
