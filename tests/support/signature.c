#include "signature.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

#include "common/base/strbuf.h"

int signature_of(const char *key, int64_t time_s, const char *body, size_t body_n, char ret[SIGNATURE_TEXT_MAX],
                 struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned int mac_n = 0;
    strbuf_addf(&text, "%" PRId64 ",", time_s);
    strbuf_add(&text, body, body_n);
    if (!HMAC(EVP_sha256(), key, (int)strlen(key), (const unsigned char *)text.s, text.n, mac, &mac_n) ||
        2 * mac_n >= SIGNATURE_TEXT_MAX)
        return error_set(err, ERR_INTERNAL, "HMAC-SHA256 is not available in this system's OpenSSL");
    for (unsigned int i = 0; i < mac_n; i++)
        snprintf(ret + 2 * i, 3, "%02x", mac[i]);
    return 0;
}
