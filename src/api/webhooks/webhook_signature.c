#include "api/webhooks/webhook_signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#include "common/base/hex.h"
#include "common/base/strbuf.h"

void webhook_sign(const char *key, int64_t timestamp_s, const char *body, char ret[WEBHOOK_SIGNATURE_MAX])
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned int n = 0;
    strbuf_addf(&text, "%lld,", (long long)timestamp_s);
    strbuf_adds(&text, body);
    HMAC(EVP_sha256(), key, (int)strlen(key), (const unsigned char *)strbuf_str(&text), text.n, mac, &n);
    hex_encode(mac, n, ret);
}
