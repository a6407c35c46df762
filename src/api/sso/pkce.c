#include "api/sso/pkce.h"

#include <openssl/evp.h>
#include <string.h>

#include "common/base/base64.h"

bool pkce_challenge(const char *verifier, struct strbuf *out)
{
    unsigned char hash[32];
    if (EVP_Digest(verifier, strlen(verifier), hash, NULL, EVP_sha256(), NULL) != 1)
        return false;
    base64_url_encode(hash, sizeof(hash), out);
    return true;
}
