/* How often somebody may try to log in. Pure functions: no clock, no socket. The loop asks before a password is
 * checked and reports the result afterwards.
 *
 * Failures are counted, never successes:
 *    - of one account from one address: five are free, then each makes the next try wait, 1 s, 2 s, 4 s … 5 minutes;
 *    - of one address, whatever the accounts: twenty at once, then one in ten seconds.
 * Failures of an account are never counted for all addresses together: somebody who fails on purpose must not be
 * able to lock the account's owner out. An address from which an account has logged in is *known* for that account:
 * the failures of the address do not delay its logins, and its logins go first when many wait
 * (api/accounts/password_lane.h). A success clears the failures of its pair of account and address; after fifteen
 * minutes they are forgotten, too.
 *
 * When more logins come than can be checked, an address is *suspect* if it has tried more than three times in the
 * last seconds, or has failed in the last minutes. Logins from suspect addresses go after the others.
 *
 * Accounts that do not exist are counted like all others. Addresses are networks (common/config/address_range.h): a
 * whole IPv6 /64 counts as one. Everything is kept in memory and is bounded: the entries that were used longest ago
 * are forgotten first. */
#ifndef DET_API_ACCOUNTS_LOGIN_LIMITS_H
#define DET_API_ACCOUNTS_LOGIN_LIMITS_H

#include "common/config/address_range.h"

struct login_limits;

struct login_attempt {
    uint8_t pair[16],
        address[16]; /* keys of the tables: hashes, so that their size does not depend on what people send */
};
void login_attempt_init(struct login_attempt *ret, const char *account, const struct address *client);

/* Logins get their turn in this order. */
enum login_standing { LOGIN_KNOWN, LOGIN_CLEAN, LOGIN_SUSPECT };

struct login_verdict {
    enum login_standing standing;
    int wait_s; /* 0: the login may be checked now */
    /* what makes the login wait: true: failures of the address, false: failures of the account from this address */
    bool of_address;
};

struct login_limits *login_limits_new(void);
void login_limits_free(struct login_limits *l);
struct login_verdict login_limits_ask(const struct login_limits *l, const struct login_attempt *at, int64_t now_us);
/* Counts a login that is going to be checked. */
void login_limits_tried(struct login_limits *l, const struct login_attempt *at, int64_t now_us);
void login_limits_failed(struct login_limits *l, const struct login_attempt *at, int64_t now_us);
void login_limits_succeeded(struct login_limits *l, const struct login_attempt *at, int64_t now_us);

enum { LOGIN_TABLE_MAX = 8192 }; /* entries of each of the three tables, at about 100 bytes */

#endif
