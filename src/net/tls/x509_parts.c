#include "net/tls/x509_parts.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <time.h>

#include "common/system/files.h"
#include "common/system/random.h"

const char *openssl_reason(const char *otherwise)
{
    const char *text = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return text ? text : otherwise;
}

int x509_add_extension(X509 *x, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    int ok = e ? X509_add_ext(x, e, -1) : 0;
    X509_EXTENSION_free(e);
    return ok == 1 ? 0 : -1;
}

int x509_set_serial(X509 *x)
{
    unsigned char bytes[16];
    if (random_bytes(bytes, sizeof(bytes), NULL) < 0)
        return -1;
    bytes[0] &= 0x7f; /* the number must be positive */
    BIGNUM *number = BN_bin2bn(bytes, sizeof(bytes), NULL);
    ASN1_INTEGER *set = number ? BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x)) : NULL;
    BN_free(number);
    return set ? 0 : -1;
}

int64_t x509_time_us(const ASN1_TIME *t)
{
    struct tm parts = {0};
    return ASN1_TIME_to_tm(t, &parts) == 1 ? (int64_t)timegm(&parts) * 1000000 : 0;
}

int bio_write_file(const char *path, BIO *bio, mode_t mode, struct error *err)
{
    char *data;
    long n = BIO_get_mem_data(bio, &data);
    int rc = file_write(path, data, (size_t)n, mode, err);
    OPENSSL_cleanse(data, (size_t)n);
    return rc;
}
