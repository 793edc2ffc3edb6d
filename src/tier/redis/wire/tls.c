/* TLS by OpenSSL 3 over a BIO of our own. */
#include "tier/redis/wire/tls.h"

#include "tier/redis/wire/trouble.h"

#include <arpa/inet.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAILURE_SIZE 160

struct gci_tls {
    SSL_CTX *context;
    BIO_METHOD *method;
};

struct gci_tls_session {
    SSL *ssl;
    int fd;
    char failure[FAILURE_SIZE]; /* of the handshake */
};

/* ---- the BIO ---- */

static int
bio_write(BIO *bio, char const *bytes, int size)
{
    gci_tls_session const *session = BIO_get_data(bio);
    struct iovec piece = { (void *)bytes, (size_t)size };

    BIO_clear_retry_flags(bio);
    ssize_t moved = gci_socket_send(session->fd, &piece, 1);
    if (moved == GCI_SOCKET_WANTS_OUT)
        BIO_set_retry_write(bio);
    return moved > 0 ? (int)moved : -1;
}

static int
bio_read(BIO *bio, char *bytes, int size)
{
    gci_tls_session const *session = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    ssize_t moved = gci_socket_receive(session->fd, bytes, (size_t)size);
    if (moved == GCI_SOCKET_WANTS_IN)
        BIO_set_retry_read(bio);
    return moved > 0 ? (int)moved : -1;
}

static long
bio_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH; /* what is written is sent at once */
}

static BIO_METHOD *
make_method(void)
{
    /* BIO_get_new_index has only some hundred numbers a process, and nothing asks for this one. */
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "guardcache");

    if (method != NULL && BIO_meth_set_write(method, bio_write) && BIO_meth_set_read(method, bio_read) &&
        BIO_meth_set_ctrl(method, bio_control))
        return method;
    BIO_meth_free(method);
    return NULL;
}

/* ---- a context ---- */

void
gci_tls_free(gci_tls *tls)
{
    if (tls == NULL)
        return;
    SSL_CTX_free(tls->context);
    BIO_meth_free(tls->method);
    free(tls);
}

static bool
trust(SSL_CTX *context, char const *ca_file)
{
    if (ca_file == NULL || ca_file[0] == '\0')
        return SSL_CTX_set_default_verify_paths(context) == 1;
    return SSL_CTX_load_verify_file(context, ca_file) == 1;
}

gci_tls *
gci_tls_new(gcache_tier_call *call, char const *shown, char const *ca_file, bool insecure)
{
    gci_tls *tls = calloc(1, sizeof *tls);

    if (tls != NULL) {
        tls->context = SSL_CTX_new(TLS_client_method());
        tls->method = make_method();
    }
    if (tls == NULL || tls->context == NULL || tls->method == NULL ||
        SSL_CTX_set_min_proto_version(tls->context, TLS1_2_VERSION) != 1) {
        gci_redis_trouble(call, GCACHE_REASON_REMOTE_UNAVAILABLE, shown, "out of memory");
    } else if (!insecure && !trust(tls->context, ca_file)) {
        gci_redis_trouble(call, GCACHE_REASON_REMOTE_UNAVAILABLE, shown, "its CA file can't be read: %s", ca_file);
    } else {
        SSL_CTX_set_verify(tls->context, insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
        /* Of a large payload a part is taken at a time; the rest is offered again from where it stands. */
        SSL_CTX_set_mode(tls->context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        SSL_CTX_set_options(tls->context, SSL_OP_NO_RENEGOTIATION);
        return tls;
    }
    ERR_clear_error();
    gci_tls_free(tls);
    return NULL;
}

/* ---- a session ---- */

static bool
is_address(char const *host)
{
    unsigned char room[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, room) == 1 || inet_pton(AF_INET6, host, room) == 1;
}

/* Whose certificate it has to be. A name is also told to the server, which may have several. */
static bool
expect(SSL *ssl, char const *host, char const *other)
{
    char const *name = host != NULL && !is_address(host) ? host : NULL;
    char const *other_name = other != NULL && !is_address(other) ? other : NULL;

    if (name == NULL && other_name == NULL)
        return host == NULL || X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return (name == NULL || SSL_add1_host(ssl, name) == 1) && (other_name == NULL || SSL_add1_host(ssl, other_name) == 1) &&
           SSL_set_tlsext_host_name(ssl, (char *)(name != NULL ? name : other_name)) == 1;
}

gci_tls_session *
gci_tls_session_new(gci_tls *tls, int fd, char const *host, char const *other)
{
    gci_tls_session *session = calloc(1, sizeof *session);
    BIO *bio = BIO_new(tls->method);

    if (session == NULL || bio == NULL || (session->ssl = SSL_new(tls->context)) == NULL) {
        BIO_free(bio);
        gci_tls_session_free(session);
        return NULL;
    }
    session->fd = fd;
    BIO_set_data(bio, session);
    BIO_set_init(bio, 1);
    SSL_set_bio(session->ssl, bio, bio);
    SSL_set_connect_state(session->ssl);
    if (expect(session->ssl, host, other))
        return session;
    gci_tls_session_free(session);
    return NULL;
}

void
gci_tls_session_free(gci_tls_session *session)
{
    if (session == NULL)
        return;
    SSL_free(session->ssl); /* sends nothing: that would be SSL_shutdown */
    free(session);
}

/* result: of an SSL_ function. It clears the thread's queue of errors, which belongs to the program. */
static ssize_t
result_of(gci_tls_session *session, int result)
{
    int why = result > 0 ? SSL_ERROR_NONE : SSL_get_error(session->ssl, result);

    if (result > 0)
        return result;
    ERR_clear_error();
    if (why == SSL_ERROR_WANT_READ)
        return GCI_SOCKET_WANTS_IN;
    return why == SSL_ERROR_WANT_WRITE ? GCI_SOCKET_WANTS_OUT : GCI_SOCKET_BROKEN;
}

static void
note_failure(gci_tls_session *session)
{
    long verified = SSL_get_verify_result(session->ssl);
    char const *reason = ERR_reason_error_string(ERR_peek_error());

    if (verified != X509_V_OK && SSL_get_verify_mode(session->ssl) != SSL_VERIFY_NONE)
        reason = X509_verify_cert_error_string(verified);
    snprintf(session->failure, sizeof session->failure, "%s", reason != NULL ? reason : "it ended the connection");
}

ssize_t
gci_tls_handshake(gci_tls_session *session)
{
    ERR_clear_error();
    int result = SSL_do_handshake(session->ssl);
    if (result <= 0)
        note_failure(session);
    return result_of(session, result);
}

char const *
gci_tls_failure(gci_tls_session const *session)
{
    return session->failure;
}

ssize_t
gci_tls_send(gci_tls_session *session, void const *bytes, size_t size)
{
    ERR_clear_error();
    return result_of(session, SSL_write(session->ssl, bytes, size < INT_MAX ? (int)size : INT_MAX));
}

ssize_t
gci_tls_receive(gci_tls_session *session, void *bytes, size_t size)
{
    ERR_clear_error();
    return result_of(session, SSL_read(session->ssl, bytes, size < INT_MAX ? (int)size : INT_MAX));
}
