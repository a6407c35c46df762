/* The signature of a message: HMAC-SHA256 with the cluster's key over "TIMESTAMP,BODY", in lower-case hex. A receiver
 * that knows the key finds out who has sent a message, and refuses an old one that somebody sends again. Pure. */
#ifndef DET_API_WEBHOOKS_WEBHOOK_SIGNATURE_H
#define DET_API_WEBHOOKS_WEBHOOK_SIGNATURE_H

#include <stdint.h>

enum { WEBHOOK_SIGNATURE_MAX = 65 };

void webhook_sign(const char *key, int64_t timestamp_s, const char *body, char ret[WEBHOOK_SIGNATURE_MAX]);

#endif
