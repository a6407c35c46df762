#include "api/accounts/login_limits.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "common/base/must.h"

#define SECOND_US 1000000LL
#define FORGET_US (900 * SECOND_US)       /* a pair's failures; longer than any pause between them */
#define ADDRESS_PERIOD_US (10 * SECOND_US) /* an address gets one failure back in this time */

#define TRY_PERIOD_US SECOND_US

enum {
    TRIES_FREE = 3, /* in a row; later ones are still checked, after those of others */
    PAIR_FREE = 5,        /* somebody who mistypes, on two keyboards */
    PAIR_WAIT_MAX_S = 300,
    ADDRESS_FREE = 20,    /* a room of people behind one address on the morning after their holidays */
};

struct entry {
    uint8_t key[16];
    int failures;    /* pairs */
    int64_t time_us; /* pairs: of the last failure; addresses: when all failures will have been given back */
    int64_t tries_us; /* addresses: the same of tries */
    UT_hash_handle hh;
};

/* In the order in which the entries were touched: uthash keeps that of their addition. */
struct table {
    struct entry *entries;
};

struct login_limits {
    struct table pairs, addresses, known;
};

static void make_key(const char *text, size_t n, const struct address *network, uint8_t ret[16])
{
    uint8_t digest[EVP_MAX_MD_SIZE], input[512];
    size_t at = 0;
    memcpy(input, network->byte, sizeof(network->byte));
    at += sizeof(network->byte);
    for (size_t i = 0; i < n && at < sizeof(input); i++)
        input[at++] = (uint8_t)tolower((unsigned char)text[i]);
    EVP_Digest(input, at, digest, NULL, EVP_sha256(), NULL);
    memcpy(ret, digest, 16);
}

void login_attempt_init(struct login_attempt *ret, const char *account, const struct address *client)
{
    struct address network;
    address_network(client, &network);
    make_key(account, strlen(account), &network, ret->pair);
    make_key("", 0, &network, ret->address);
}

static struct entry *find(const struct table *t, const uint8_t key[16])
{
    struct entry *e;
    HASH_FIND(hh, t->entries, key, 16, e);
    return e;
}

static void forget(struct table *t, struct entry *e)
{
    if (!e)
        return;
    HASH_DEL(t->entries, e);
    free(e);
}

/* The entry, new if there was none, as the one touched last. */
static struct entry *touch(struct table *t, const uint8_t key[16])
{
    struct entry *e = find(t, key);
    if (e)
        HASH_DEL(t->entries, e);
    else if (HASH_COUNT(t->entries) >= LOGIN_TABLE_MAX)
        forget(t, t->entries);
    if (!e)
        e = must_calloc(1, sizeof(*e));
    memcpy(e->key, key, 16);
    HASH_ADD(hh, t->entries, key, 16, e);
    return e;
}

struct login_limits *login_limits_new(void)
{
    return must_calloc(1, sizeof(struct login_limits));
}

void login_limits_free(struct login_limits *l)
{
    if (!l)
        return;
    struct table *all[] = {&l->pairs, &l->addresses, &l->known};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        while (all[i]->entries)
            forget(all[i], all[i]->entries);
    free(l);
}

/* Rounded up: whoever waits as long as it was told is let through. */
static int seconds(int64_t us)
{
    return us > 0 ? (int)((us + SECOND_US - 1) / SECOND_US) : 0;
}

static int pair_wait_s(const struct entry *e, int64_t now_us)
{
    if (!e || e->failures < PAIR_FREE || now_us - e->time_us >= FORGET_US)
        return 0;
    int doublings = e->failures - PAIR_FREE, pause_s = doublings > 9 ? PAIR_WAIT_MAX_S : 1 << doublings;
    if (pause_s > PAIR_WAIT_MAX_S)
        pause_s = PAIR_WAIT_MAX_S;
    return seconds(e->time_us + pause_s * SECOND_US - now_us);
}

struct login_verdict login_limits_ask(const struct login_limits *l, const struct login_attempt *at, int64_t now_us)
{
    const struct entry *pair = find(&l->pairs, at->pair), *address = find(&l->addresses, at->address);
    struct login_verdict v = {.wait_s = pair_wait_s(pair, now_us), .standing = LOGIN_CLEAN};
    if (find(&l->known, at->pair)) {
        v.standing = LOGIN_KNOWN;
        return v;
    }
    int64_t owed_us = address ? address->time_us - now_us : 0;
    if (owed_us > 0 || (address && address->tries_us - now_us > (TRIES_FREE - 1) * TRY_PERIOD_US))
        v.standing = LOGIN_SUSPECT;
    int wait_s = seconds(owed_us - (ADDRESS_FREE - 1) * ADDRESS_PERIOD_US);
    if (wait_s > v.wait_s) {
        v.wait_s = wait_s;
        v.of_address = true;
    }
    return v;
}

/* From `at_us` on, or now if that is past, one period later. */
static int64_t later(int64_t at_us, int64_t now_us, int64_t period_us)
{
    return (at_us > now_us ? at_us : now_us) + period_us;
}

void login_limits_tried(struct login_limits *l, const struct login_attempt *at, int64_t now_us)
{
    struct entry *address = touch(&l->addresses, at->address);
    address->tries_us = later(address->tries_us, now_us, TRY_PERIOD_US);
    if (address->tries_us > now_us + 60 * SECOND_US) /* who goes on for hours is forgiven after a minute of rest */
        address->tries_us = now_us + 60 * SECOND_US;
}

void login_limits_failed(struct login_limits *l, const struct login_attempt *at, int64_t now_us)
{
    struct entry *pair = touch(&l->pairs, at->pair), *address = touch(&l->addresses, at->address);
    pair->failures = now_us - pair->time_us >= FORGET_US ? 1 : pair->failures + 1;
    pair->time_us = now_us;
    address->time_us = later(address->time_us, now_us, ADDRESS_PERIOD_US);
}

void login_limits_succeeded(struct login_limits *l, const struct login_attempt *at, int64_t now_us)
{
    forget(&l->pairs, find(&l->pairs, at->pair));
    touch(&l->known, at->pair)->time_us = now_us;
}
