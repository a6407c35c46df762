#include "cli/connection/trust.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

#include "cli/connection/address.h"
#include "cli/connection/logins.h"
#include "cli/terminal/terminal.h"
#include "common/base/cleanup.h"
#include "common/json/json.h"
#include "common/system/files.h"
#include "net/tls/tls_calls.h"

#define CERTS_MAX (16 << 20)

static int certs_read(const char *path, struct json_object **ret, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_error struct error why = ERROR_INIT;
    if (file_read(path, CERTS_MAX, &text, &why) == 0) {
        if (json_parse(text.s, text.n, ret, &why) == 0 && json_object_is_type(*ret, json_type_object))
            return 0;
        return error_set(err, ERR_INVALID, "%s is not a file of certificates; repair or remove it", path);
    }
    if (error_pass_unless(&why, ERR_NOT_FOUND, err))
        return -1;
    *ret = json_object_new_object();
    return 0;
}

/* Puts the certificate into a file, because libcurl needs one. The file has no name and is gone when det ends. */
static int pem_as_file(struct cli *cli, const char *pem, size_t n, const char **ret, struct error *err)
{
    int fd = memfd_create("certificates", MFD_CLOEXEC);
    if (fd < 0 || write(fd, pem, n) != (ssize_t)n) {
        error_errno(err, "keeping the master's certificates");
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *ret = arena_printf(&cli->arena, "/proc/self/fd/%d", fd);
    return 0;
}

/* libcurl only says that such a file can't be set. */
static int check_certificates(const char *file, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (file_read(file, CERTS_MAX, &text, err) < 0)
        return error_wrap(err, "DET_MASTER_CERT_FILE");
    if (strstr(strbuf_str(&text), "-----BEGIN CERTIFICATE-----") ||
        strstr(strbuf_str(&text), "-----BEGIN TRUSTED CERTIFICATE-----"))
        return 0;
    return error_set(
        err, ERR_INVALID,
        "DET_MASTER_CERT_FILE: %s holds no certificate in PEM form; name a file with the certificate of the "
        "master or of its authority, or noverify to check none",
        file);
}

int trust_load(struct cli *cli, struct trust *ret, struct error *err)
{
    const char *file = getenv("DET_MASTER_CERT_FILE"), *name = getenv("DET_MASTER_CERT_NAME"), *directory;
    *ret = (struct trust){.name = name && *name ? name : NULL};
    if (!address_is_tls(cli->master))
        return 0;
    if (file && *file) {
        ret->skip_verify = strcasecmp(file, "noverify") == 0;
        ret->ca_file = ret->skip_verify ? NULL : file;
        return ret->skip_verify ? 0 : check_certificates(file, err);
    }
    cleanup_json struct json_object *certs = NULL;
    struct json_object *pem;
    if (config_directory(&cli->arena, &directory, err) < 0 ||
        certs_read(arena_printf(&cli->arena, "%s/certs.json", directory), &certs, err) < 0)
        return -1;
    if (!json_object_object_get_ex(certs, cli->master, &pem))
        return 0;
    return pem_as_file(cli, json_object_get_string(pem), (size_t)json_object_get_string_len(pem), &ret->ca_file, err);
}

/* The "host:port" of scheme://host:port/path; *ret_host is the host alone. */
static const char *master_authority(struct cli *cli, const char **ret_host)
{
    const char *from = strstr(cli->master, "://") + 3;
    const char *all = arena_strndup(&cli->arena, from, strcspn(from, "/"));
    const char *colon = strrchr(all, ':');
    *ret_host = arena_strndup(&cli->arena, all, (size_t)(colon - all));
    return all;
}

static int read_chain(SSL *ssl, struct strbuf *ret_pem, unsigned char digest[EVP_MAX_MD_SIZE], unsigned *ret_digest_n)
{
    STACK_OF(X509) *chain = SSL_get_peer_cert_chain(ssl);
    BIO *memory = BIO_new(BIO_s_mem());
    char *data;
    if (!chain || sk_X509_num(chain) == 0 || !memory) {
        BIO_free(memory);
        return -1;
    }
    for (int i = 0; i < sk_X509_num(chain); i++)
        PEM_write_bio_X509(memory, sk_X509_value(chain, i));
    long n = BIO_get_mem_data(memory, &data);
    strbuf_add(ret_pem, data, (size_t)n);
    BIO_free(memory);
    return X509_digest(sk_X509_value(chain, 0), EVP_sha256(), digest, ret_digest_n) == 1 ? 0 : -1;
}

static int fetch_chain(struct cli *cli, struct strbuf *ret_pem, unsigned char digest[EVP_MAX_MD_SIZE],
                       unsigned *ret_digest_n, struct error *err)
{
    const char *host, *where = master_authority(cli, &host);
    if (tls_calls_load(err) < 0)
        return -1;
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    BIO *bio = ctx ? BIO_new_ssl_connect(ctx) : NULL;
    SSL *ssl = NULL;
    int rc = -1;
    if (bio) {
        BIO_get_ssl(bio, &ssl);
        SSL_set_tlsext_host_name(ssl, host);
        BIO_set_conn_hostname(bio, where);
        if (BIO_do_connect(bio) == 1 && BIO_do_handshake(bio) == 1)
            rc = read_chain(ssl, ret_pem, digest, ret_digest_n);
    }
    if (rc < 0)
        error_set(err, ERR_UNAVAILABLE, "%s was asked by HTTPS and sent no certificate; perhaps it speaks HTTP",
                  cli->master);
    BIO_free_all(bio);
    SSL_CTX_free(ctx);
    return rc;
}

int trust_ask(struct cli *cli, struct error *err)
{
    cleanup_strbuf struct strbuf pem = STRBUF_INIT, text = STRBUF_INIT;
    cleanup_json struct json_object *certs = NULL;
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    const char *directory;
    if (fetch_chain(cli, &pem, digest, &n, err) < 0)
        return -1;
    strbuf_adds(&text, "The master's certificate is not known here. Its SHA-256 fingerprint is\n");
    for (unsigned i = 0; i < n; i++)
        strbuf_addf(&text, "%s%02x", i ? ":" : "", digest[i]);
    strbuf_adds(&text, "\nTrust it from now on?");
    if (!terminal_ask_yes(cli, text.s))
        return error_set(err, ERR_UNAUTHENTICATED, "the master's certificate could not be verified");
    if (config_directory(&cli->arena, &directory, err) < 0)
        return -1;
    const char *path = arena_printf(&cli->arena, "%s/certs.json", directory);
    if (certs_read(path, &certs, err) < 0)
        return -1;
    json_object_object_add(certs, cli->master, json_object_new_string_len(pem.s, (int)pem.n));
    strbuf_reset(&text);
    json_print_sorted(certs, 4, &text);
    return file_write(path, text.s, text.n, 0600, err);
}
