/*
 * Where an open directory is now: for handing a path to a program that wants one.
 */
#ifndef GCI_BASE_DIR_PATH_H
#define GCI_BASE_DIR_PATH_H

#include "base/system/file.h"

/* Appends the absolute path of dir, whatever it was called when it was opened. ERROR_NOT_FOUND: it has been removed. */
gcache_status gci_dir_path(gci_dir dir, gci_buf *out, gcache_error *error);

#endif
