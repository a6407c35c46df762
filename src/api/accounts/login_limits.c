#include "api/accounts/login_limits.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "common/base/must.h"

#define SECOND_US 1000000LL
/* after this time a pair's failures are forgotten; longer than any pause between tries */
#define FORGET_US (900 * SECOND_US)
#define ADDRESS_PERIOD_US (10 * SECOND_US) /* after each such period an address is credited one failure */

#define TRY_PERIOD_US SECOND_US

enum {
    /* tries in a row before an address counts as suspect; its tries are still checked, after those of others */
    TRIES_FREE = 3,
    PAIR_FREE = 5, /* failures of a pair that cost no pause: enough for somebody who mistypes */
    PAIR_WAIT_MAX_S = 300,
    /* failures of an address that cost no pause: enough for many people behind one address on one morning */
    ADDRESS_FREE = 20,
};

struct entry {
    uint8_t key[16];
    int failures;     /* of pairs */
    int64_t time_us;  /* pairs: time of the last failure; addresses: when all failures will have been credited */
    int64_t tries_us; /* addresses: when all tries will have been credited */
    UT_hash_handle hh;
};

/* Entries in the order in which they were last used. uthash keeps them in the order of insertion, so that using an
 * entry moves it to the end. */
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

static struct entry *find_entry(const struct table *t, const uint8_t key[16])
{
    struct entry *e;
    HASH_FIND(hh, t->entries, key, 16, e);
    return e;
}

static void forget_entry(struct table *t, struct entry *e)
{
    if (!e)
        return;
    HASH_DEL(t->entries, e);
    free(e);
}

/* Finds or makes the entry, and moves it to the end of the table's order. */
static struct entry *touch_entry(struct table *t, const uint8_t key[16])
{
    struct entry *e = find_entry(t, key);
    if (e)
        HASH_DEL(t->entries, e);
    else if (HASH_COUNT(t->entries) >= LOGIN_TABLE_MAX)
        forget_entry(t, t->entries);
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
            forget_entry(all[i], all[i]->entries);
    free(l);
}

/* Rounded up, so that somebody who waits as long as the answer says is let through. */
static int whole_seconds(int64_t us)
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
    return whole_seconds(e->time_us + pause_s * SECOND_US - now_us);
}

struct login_verdict login_limits_ask(const struct login_limits *l, const struct login_attempt *at, int64_t now_us)
{
    const struct entry *pair = find_entry(&l->pairs, at->pair), *address = find_entry(&l->addresses, at->address);
    struct login_verdict v = {.wait_s = pair_wait_s(pair, now_us), .standing = LOGIN_CLEAN};
    if (find_entry(&l->known, at->pair)) {
        v.standing = LOGIN_KNOWN;
        return v;
    }
    int64_t owed_us = address ? address->time_us - now_us : 0;
    if (owed_us > 0 || (address && address->tries_us - now_us > (TRIES_FREE - 1) * TRY_PERIOD_US))
        v.standing = LOGIN_SUSPECT;
    int wait_s = whole_seconds(owed_us - (ADDRESS_FREE - 1) * ADDRESS_PERIOD_US);
    if (wait_s > v.wait_s) {
        v.wait_s = wait_s;
        v.of_address = true;
    }
    return v;
}

/* One period after `at_us`, or after now if `at_us` is past. */
static int64_t later_by_period(int64_t at_us, int64_t now_us, int64_t period_us)
{
    return (at_us > now_us ? at_us : now_us) + period_us;
}

void login_limits_tried(struct login_limits *l, const struct login_attempt *at, int64_t now_us)
{
    struct entry *address = touch_entry(&l->addresses, at->address);
    address->tries_us = later_by_period(address->tries_us, now_us, TRY_PERIOD_US);
    /* an address that has tried for hours needs no more than a minute of rest */
    if (address->tries_us > now_us + 60 * SECOND_US)
        address->tries_us = now_us + 60 * SECOND_US;
}

void login_limits_failed(struct login_limits *l, const struct login_attempt *at, int64_t now_us)
{
    struct entry *pair = touch_entry(&l->pairs, at->pair), *address = touch_entry(&l->addresses, at->address);
    pair->failures = now_us - pair->time_us >= FORGET_US ? 1 : pair->failures + 1;
    pair->time_us = now_us;
    address->time_us = later_by_period(address->time_us, now_us, ADDRESS_PERIOD_US);
}

void login_limits_succeeded(struct login_limits *l, const struct login_attempt *at, int64_t now_us)
{
    forget_entry(&l->pairs, find_entry(&l->pairs, at->pair));
    touch_entry(&l->known, at->pair)->time_us = now_us;
}
