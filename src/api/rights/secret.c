#include "api/rights/secret.h"

#include <openssl/crypto.h>
#include <string.h>

bool secret_matches(const char *given, size_t n, const char *expected)
{
    return expected && *expected && strlen(expected) == n && CRYPTO_memcmp(given, expected, n) == 0;
}
