#include "api/sso/device_logins.h"

#include <ctype.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "common/system/random.h"

#define SECOND_US INT64_C(1000000)

/* Without vowels, so that no code is a word, and without letters that look like digits: as RFC 8628, 6.1 proposes. */
static const char letters[] = "BCDFGHJKLMNPQRSTVWXZ";
enum { LETTERS = sizeof(letters) - 1, CODE_LETTERS = 8 };

struct device_logins {
    struct device_login *all; /* in no order */
    size_t n, cap;
};

struct device_logins *device_logins_new(void)
{
    return must_calloc(1, sizeof(struct device_logins));
}

void device_logins_free(struct device_logins *d)
{
    if (!d)
        return;
    free(d->all);
    free(d);
}

void device_logins_drop(struct device_logins *d, struct device_login *x)
{
    OPENSSL_cleanse(x->hash, sizeof(x->hash));
    *x = d->all[--d->n];
}

static void forget_ended(struct device_logins *d, int64_t now_us)
{
    for (size_t i = d->n; i-- > 0;)
        if (d->all[i].until_us <= now_us)
            device_logins_drop(d, &d->all[i]);
}

/* Bytes that would make some letters more frequent than others are drawn again. */
static int make_user_code(char ret[DEVICE_CODE_TEXT], struct error *err)
{
    int n = 0;
    while (n < CODE_LETTERS) {
        unsigned char byte;
        if (random_bytes(&byte, 1, err) < 0)
            return -1;
        if (byte < 256 / LETTERS * LETTERS)
            ret[n + (n >= CODE_LETTERS / 2)] = letters[byte % LETTERS], n++;
    }
    ret[CODE_LETTERS / 2] = '-';
    ret[CODE_LETTERS + 1] = '\0';
    return 0;
}

static int check_room(const struct device_logins *d, const char *address, struct error *err)
{
    size_t same = 0;
    for (size_t i = 0; i < d->n; i++)
        same += strcmp(d->all[i].address, address) == 0;
    if (same >= DEVICE_LOGINS_OF_ADDRESS_MAX)
        return error_set(err, ERR_TOO_MANY,
                         "%zu logins from %s wait to be confirmed already: try again in a few minutes", same, address);
    if (d->n >= DEVICE_LOGINS_MAX)
        return error_set(err, ERR_UNAVAILABLE, "%zu logins wait to be confirmed already: try again in a few minutes",
                         d->n);
    return 0;
}

int device_logins_begin(struct device_logins *d, const char *device, const char *address, int64_t now_us,
                        struct token *ret_code, const struct device_login **ret, struct error *err)
{
    struct device_login x = {.until_us = now_us + DEVICE_LOGIN_LIFE_S * SECOND_US};
    forget_ended(d, now_us);
    if (check_room(d, address, err) < 0)
        return -1;
    do {
        if (make_user_code(x.user_code, err) < 0)
            return -1;
    } while (device_logins_by_user_code(d, x.user_code, now_us));
    if (token_new(ret_code, err) < 0)
        return -1;
    memcpy(x.hash, ret_code->hash, sizeof(x.hash));
    snprintf(x.device, sizeof(x.device), "%s", device);
    snprintf(x.address, sizeof(x.address), "%s", address);
    if (d->n == d->cap) {
        d->cap = d->cap ? 2 * d->cap : 16;
        d->all = must_reallocarray(d->all, d->cap, sizeof(*d->all));
    }
    d->all[d->n] = x;
    *ret = &d->all[d->n++];
    return 0;
}

static bool is_code(const char *given, const char *code)
{
    for (; *code; code++) {
        if (*code == '-' && *given != '-')
            continue;
        if (toupper((unsigned char)*given) != *code)
            return false;
        given++;
    }
    return !*given;
}

struct device_login *device_logins_by_user_code(struct device_logins *d, const char *code, int64_t now_us)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->all[i].until_us > now_us && is_code(code, d->all[i].user_code))
            return &d->all[i];
    return NULL;
}

struct device_login *device_logins_by_hash(struct device_logins *d, const uint8_t hash[TOKEN_HASH_BYTES],
                                           int64_t now_us)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->all[i].until_us > now_us && CRYPTO_memcmp(d->all[i].hash, hash, TOKEN_HASH_BYTES) == 0)
            return &d->all[i];
    return NULL;
}
