/*
 * guardcache/signing.h - files with keys that entries are signed with.
 *
 * A key file is one line of text (docs/formats/key-file.md): what the key is for, its id, its bytes in hex. Whoever is to fill a
 * cache gets one with a private key, whoever is to read it only the public one beside it. The setting signing-keys (settings.h)
 * names such files; a program that keeps its keys elsewhere fills in gcache_options.signing itself.
 *
 * No secret is ever part of a message.
 *
 * Threads: any.
 */
#ifndef GUARDCACHE_SIGNING_H
#define GUARDCACHE_SIGNING_H

#include <guardcache/cache.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Makes a key file that only its owner may read, with a new private key or secret; and beside that of an Ed25519 key another one,
 * with ".pub" behind its name, that anybody may read. id: 1 to 63 bytes of visible ASCII; NULL: one is made up.
 * GCACHE_OK; ERROR_ARGUMENT: the id is none, or a file is there already; ERROR_NOT_FOUND: no such folder; ERROR_READ_ONLY,
 * ERROR_NO_SPACE, ERROR_IO; ERROR_MEMORY: also libcrypto failed.
 */
GCACHE_API gcache_status gcache_signing_key_make(char const *file, char const *id, gcache_signing_algorithm algorithm,
                                                 gcache_error *error);

/*
 * Reads a key file. It must be this user's or root's and nobody else may write to it; nor read it, if there is a secret in it.
 * The key has its public part, if it is an Ed25519 key. Free with gcache_signing_key_free (NULL is accepted), which overwrites it.
 * GCACHE_OK; ERROR_NOT_FOUND; ERROR_UNTRUSTED: whose the file is, or who may open it; ERROR_SYNTAX: no key file; ERROR_FORMAT: of
 * a newer version; ERROR_IO: it can't be read; ERROR_MEMORY. The message names the file.
 */
GCACHE_API gcache_status gcache_signing_key_read(char const *file, gcache_signing_key **out_key, gcache_error *error);
GCACHE_API void gcache_signing_key_free(gcache_signing_key *key);

#ifdef __cplusplus
}
#endif
#endif
