/*
 * Reading the description of a key, from its candidate index or a file of its own.
 */
#ifndef GCI_STORE_READ_STORED_DESCRIPTION_H
#define GCI_STORE_READ_STORED_DESCRIPTION_H

#include "store/read/read.h"

/* Reads a description without putting anything aside. */
gci_found gci_read_description(gci_store *store, gcache_key const *key, gci_stored_description **out_description,
                               gcache_error *error);

#endif
