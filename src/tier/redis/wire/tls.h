/*
 * TLS over a socket that doesn't block, by OpenSSL: 1.2 at least, the server's certificate and name verified.
 *
 * Transfers have the results of sockets.h. What OpenSSL sends goes through send with MSG_NOSIGNAL: its own socket BIO would raise
 * SIGPIPE in a program that never asked for any.
 */
#ifndef GCI_TIER_REDIS_WIRE_TLS_H
#define GCI_TIER_REDIS_WIRE_TLS_H

#include "tier/redis/wire/sockets.h"

typedef struct gci_tls gci_tls;
typedef struct gci_tls_session gci_tls_session;

/* ca_file NULL or "": whom the system trusts. insecure: nobody is verified. NULL: the call's trouble is told. */
gci_tls *gci_tls_new(gcache_tier_call *call, char const *shown, char const *ca_file, bool insecure);
void gci_tls_free(gci_tls *tls);

/*
 * A session over fd, which stays the caller's. The certificate has to be that of `host`, or of `other` if both are names: nodes of
 * a cluster are told by addresses that nobody puts into certificates. Either may be NULL. NULL: no memory.
 */
gci_tls_session *gci_tls_session_new(gci_tls *tls, int fd, char const *host, char const *other);
/* Without a word to the other side. */
void gci_tls_session_free(gci_tls_session *session);

/* 1: done. Otherwise a result of sockets.h; BROKEN: gci_tls_failure says why. */
ssize_t gci_tls_handshake(gci_tls_session *session);
char const *gci_tls_failure(gci_tls_session const *session);

ssize_t gci_tls_send(gci_tls_session *session, void const *bytes, size_t size);
ssize_t gci_tls_receive(gci_tls_session *session, void *bytes, size_t size);

#endif
