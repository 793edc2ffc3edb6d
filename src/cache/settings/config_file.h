/*
 * config.json of a cache directory: read, changed, and put aside when it is damaged.
 *
 *      {"format": "guardcache-config/1", "settings": {NAME: TEXT, ..}, "namespaces": {NAMESPACE: {NAME: TEXT, ..}}}
 *
 * Locking: a change holds locks/config from reading to renaming, so that no change is lost; readers take no lock, because
 * the file is replaced whole.
 */
#ifndef GCI_CACHE_SETTINGS_CONFIG_FILE_H
#define GCI_CACHE_SETTINGS_CONFIG_FILE_H

#include "base/arena.h"
#include "base/system/file.h"
#include "base/text/value.h"

#include <guardcache/cache.h>

#define GCI_CONFIG_NAME "config.json"
/* Thousands of namespaces. */
#define GCI_CONFIG_BYTES_MAX ((size_t)1 << 20)

typedef enum gci_config_state {
    GCI_CONFIG_GOOD,    /* or there is none */
    GCI_CONFIG_DAMAGED, /* nobody can read it, so that nothing is lost when it is put aside */
    GCI_CONFIG_REFUSED  /* of a newer version, or trouble of the moment: it stays where it is */
} gci_config_state;

/* What stands in the file. An empty map if there is none, or if it wasn't read. */
typedef struct gci_config {
    gci_arena arena;
    gci_buf text;
    gci_value map;
} gci_config;

/* Unless the state is good, why says what is wrong. Clear the config whatever the state. */
gci_config_state gci_config_read(gci_dir dir, gci_config *out_config, gcache_error *why);
void gci_config_clear(gci_config *config);

/* The settings of a namespace, or ("") those in general; NULL: there are none. */
gci_value const *gci_config_section(gci_config const *config, char const *namespace_);

/* Sets one setting in one section, or takes it out (value NULL); all else stays. A damaged file is put aside first, and log
   (may be NULL) hears of it. ERROR_FORMAT: the file is of a newer version; ERROR_BUSY, ERROR_READ_ONLY, ERROR_NO_SPACE,
   ERROR_IO, ERROR_MEMORY. */
gcache_status gci_config_change(gci_dir dir, char const *namespace_, char const *name, char const *value, gcache_log_fn log,
                                void *log_state, gcache_error *error);

/* Looks at the file, and puts it aside if it is damaged and `mend` says so. false if there is something wrong with it, as
   what and *out_aside tell; a file of a newer version is fine. what must not be NULL. */
bool gci_config_check(gci_dir dir, bool mend, bool *out_aside, gcache_error *what);

#endif
