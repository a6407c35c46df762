/* How often somebody may try to log in. Pure: no clock, no socket; the loop asks before a password is checked and tells afterwards.
 *
 * What is counted are failures, never successes:
 *   - of one account from one address: five are free, then each makes the next try wait, 1 s, 2 s, 4 s … 5 minutes;
 *   - of one address, whatever the accounts: twenty at once, then one in ten seconds.
 * Nothing is counted of an account alone: somebody who fails on purpose, from wherever, must not lock its owner out. An address
 * from which an account has logged in is *known* for that account: the address's own count does not hold it up, and its
 * logins go first when many wait (api/accounts/password_lane.h). A success forgets the pair's failures; fifteen minutes do, too.
 *
 * When more logins come than can be checked, an address that has tried more than three times in the last seconds, or has failed
 * in the last minutes, comes after those that have not (*suspect*).
 *
 * Accounts that do not exist are counted like all others. Addresses are networks (common/config/address_range.h): all of an IPv6 /64 is
 * one. Everything is in memory, and bounded: what was touched longest ago is forgotten first. */
#ifndef DET_API_LOGIN_LIMITS_H
#define DET_API_LOGIN_LIMITS_H

#include "common/config/address_range.h"

struct login_limits;

struct login_attempt {
    uint8_t pair[16], address[16]; /* keys: hashes, so that their size does not depend on what people send */
};
void login_attempt_init(struct login_attempt *ret, const char *account, const struct address *client);

/* In this order they get their turn. */
enum login_standing { LOGIN_KNOWN, LOGIN_CLEAN, LOGIN_SUSPECT };

struct login_verdict {
    enum login_standing standing;
    int wait_s;      /* 0: go ahead */
    bool of_address; /* what makes it wait: the address, or the account from this address */
};

struct login_limits *login_limits_new(void);
void login_limits_free(struct login_limits *l);
struct login_verdict login_limits_ask(const struct login_limits *l, const struct login_attempt *at, int64_t now_us);
/* A login that is not refused, before anything is known of its password. */
void login_limits_tried(struct login_limits *l, const struct login_attempt *at, int64_t now_us);
void login_limits_failed(struct login_limits *l, const struct login_attempt *at, int64_t now_us);
void login_limits_succeeded(struct login_limits *l, const struct login_attempt *at, int64_t now_us);

enum { LOGIN_TABLE_MAX = 8192 }; /* entries of each of the three tables, at about 100 bytes */

#endif
