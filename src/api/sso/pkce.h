/* The challenge that ties a code to the program which has asked for the code (RFC 7636, S256). */
#ifndef DET_API_SSO_PKCE_H
#define DET_API_SSO_PKCE_H

#include <stdbool.h>

#include "common/base/strbuf.h"

/* Appends the challenge of a verifier. Returns false if OpenSSL computes no SHA-256. */
bool pkce_challenge(const char *verifier, struct strbuf *out);

#endif
