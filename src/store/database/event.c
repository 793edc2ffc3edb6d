/* The frame of an event: written, and found again. See event.h. */
#include "store/database/event.h"

#include "base/check.h"

#define MAGIC "GCE1"

typedef struct event_header {
    uint32_t size;
    gci_event_type type;
    uint64_t at_ns;
} event_header;

/* Its checksum follows. */
static gci_field const event_fields[] = {
    GCI_CONSTANT(MAGIC, "magic", "`GCE1`"),
    GCI_NUMBER(event_header, size, 4, "size", "of the whole event, at most 1 MiB"),
    GCI_NUMBER(event_header, type, 2, "type", ""),
    GCI_CONSTANT("\0\0\0\0\0\0", "zeros", ""),
    GCI_NUMBER(event_header, at_ns, 8, "when", "in ns since 1970"),
};
gci_fields const gci_event_fields = GCI_FIELDS("event", event_header, event_fields);

#define CHECKSUM_AT (GCI_EVENT_HEADER - sizeof(uint64_t))

static uint64_t
checksum(char const *header, gci_view body)
{
    return gci_hash64(body.data, body.size, gci_hash64(header, CHECKSUM_AT, 0));
}

void
gci_event_seal(gci_event const *event, char out_header[GCI_EVENT_HEADER])
{
    gci_buf header = gci_buf_over(out_header, GCI_EVENT_HEADER);

    GCI_ASSERT(event->body.size <= GCI_EVENT_MAX - GCI_EVENT_HEADER);
    gci_fields_write(&header, &gci_event_fields,
                     &(event_header){ (uint32_t)(GCI_EVENT_HEADER + event->body.size), event->type, event->at_ns });
    gci_put_u64(&header, checksum(out_header, event->body));
    GCI_ASSERT(!header.failed && header.size == GCI_EVENT_HEADER);
}

/* event = header checksum body. 0: there is none. */
static size_t
read_event(gci_view bytes, gci_event *out_event)
{
    gci_reader reader = gci_reader_of(bytes);
    event_header header;

    gci_fields_read(&reader, &gci_event_fields, NULL, &header);
    uint64_t stored = gci_get_u64(&reader);
    if (reader.failed || header.size < GCI_EVENT_HEADER || header.size > bytes.size || header.size > GCI_EVENT_MAX)
        return 0;
    gci_view body = gci_view_of(bytes.data + GCI_EVENT_HEADER, header.size - GCI_EVENT_HEADER);
    if (checksum(bytes.data, body) != stored)
        return 0;
    *out_event = (gci_event){ header.type, header.at_ns, body };
    return header.size;
}

bool
gci_event_next(gci_view bytes, size_t *at, gci_event *out_event)
{
    for (size_t from = *at; from + GCI_EVENT_HEADER <= bytes.size; from++) {
        if (bytes.data[from] != MAGIC[0])
            continue;
        size_t size = read_event(gci_view_of(bytes.data + from, bytes.size - from), out_event);
        if (size == 0)
            continue;
        *at = from + size;
        return true;
    }
    return false;
}
