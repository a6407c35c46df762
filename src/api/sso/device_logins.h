/* Logins of machines without a browser that wait to be confirmed: `det` shows a short code, somebody who is logged in
 * to the web interface confirms it there, and `det` gets a session of that person. It works like RFC 8628, with the
 * platform in the place of the provider: docs/decisions/0019-device-logins.md.
 *
 * The table is in memory; a login that waits ends with the master, and after ten minutes. Loop's thread only. */
#ifndef DET_API_SSO_DEVICE_LOGINS_H
#define DET_API_SSO_DEVICE_LOGINS_H

#include "api/pipeline/identity.h"
#include "common/config/address_range.h"

enum {
    DEVICE_LOGIN_LIFE_S = 10 * 60,
    DEVICE_LOGIN_INTERVAL_S = 2, /* between two questions of the device */
    DEVICE_LOGINS_MAX = 1000,
    DEVICE_LOGINS_OF_ADDRESS_MAX = 20,
    DEVICE_NAME_MAX = 128,
    /* Eight letters of twenty: with a thousand codes in use, one guess in 25 million hits. Who guesses must be logged
     * in, and a hit gives the guesser's own account away. */
    DEVICE_CODE_TEXT = 9 + 1, /* XXXX-XXXX */
};

enum device_answer { DEVICE_WAITS, DEVICE_ALLOWED, DEVICE_REFUSED };

struct device_login {
    uint8_t hash[TOKEN_HASH_BYTES]; /* of the code that only the device knows */
    char user_code[DEVICE_CODE_TEXT];
    char device[DEVICE_NAME_MAX + 1]; /* what the device says of itself: shown, and not believed */
    char address[ADDRESS_TEXT_MAX];
    int64_t until_us;
    enum device_answer answer;
    int32_t user_id;                       /* who has answered */
    uint8_t answered_by[TOKEN_HASH_BYTES]; /* the session of that user */
};

struct device_logins;
struct device_logins *device_logins_new(void);
void device_logins_free(struct device_logins *d);

/* Notes a login that waits from now on. *ret stays valid until the next call. ERR_TOO_MANY, ERR_UNAVAILABLE: too many
 * wait. */
int device_logins_begin(struct device_logins *d, const char *device, const char *address, int64_t now_us,
                        struct token *ret_code, const struct device_login **ret, struct error *err);
/* NULL: there is none, or it has ended. The code may be given in small letters and without its hyphen. */
struct device_login *device_logins_by_user_code(struct device_logins *d, const char *code, int64_t now_us);
struct device_login *device_logins_by_hash(struct device_logins *d, const uint8_t hash[TOKEN_HASH_BYTES],
                                           int64_t now_us);
void device_logins_drop(struct device_logins *d, struct device_login *x);

#endif
