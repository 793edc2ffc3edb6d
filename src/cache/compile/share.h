/*
 * What the file of a shared value begins with.
 */
#ifndef GCI_CACHE_COMPILE_SHARE_H
#define GCI_CACHE_COMPILE_SHARE_H

#include "base/fields.h"

extern gci_fields const gci_share_fields;

#endif
