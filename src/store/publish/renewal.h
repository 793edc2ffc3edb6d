/*
 * An insert that takes the place of an equal entry: the candidate index is written anew with the new frame in place of the old
 * one, and renamed over it. Until then, and whatever fails before, the old entry is what is found.
 *
 * Where both have an entry file, which is one of that name, the new file gets it just before the candidate index gets its own.
 * Who comes in between, or after a crash there, finds the old reference and a file of the same key and id and of a larger
 * sequence: GCI_RENEWED (payload.c). He waits for the key's lock, writes the reference anew from the file if the writer hasn't
 * (gci_mend_renewed), and asks again: no hit has the payload of one and the metadata of the other.
 *
 * All of this is done by the holder of the key's lock.
 */
#ifndef GCI_STORE_PUBLISH_RENEWAL_H
#define GCI_STORE_PUBLISH_RENEWAL_H

#include "store/publish/draft.h"

typedef struct gci_renewal {
    gci_pack_draft draft; /* initialised and cleared by its owner */
    bool found;           /* there is an entry to renew: */
    gci_frame_type former;
} gci_renewal;

/* Looks for the key's entry of that id in its candidate index, which is whole, and takes it out of the draft. */
gcache_status gci_renewal_find(gci_renewal *renewal, gci_store *store, char const *id, gcache_error *error);

/* Writes the candidate index with that frame, and with the description unless it has one, to a temporary file. */
gcache_status gci_renewal_write(gci_renewal *renewal, gci_store *store, gci_view frame, gci_view description,
                                gci_path *out_temporary, uint64_t *out_size, gcache_error *error);

#endif
