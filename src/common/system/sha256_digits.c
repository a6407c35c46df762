#include "common/system/sha256_digits.h"

#include <openssl/evp.h>

#include "common/base/hex.h"

void sha256_digits(const void *data, size_t n, size_t bytes, char *ret)
{
    unsigned char digest[EVP_MAX_MD_SIZE] = {0};
    EVP_Digest(data, n, digest, NULL, EVP_sha256(), NULL);
    hex_encode(digest, bytes, ret);
}
