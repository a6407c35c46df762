#include "api/accounts/login_attempt.h"

#include "api/pipeline/internal.h"
#include "api/rights/origin.h"
#include "common/base/clock.h"

void login_attempt_begin(struct req *r, const char *account, struct login_attempt *ret)
{
    struct address client;
    origin_client(r->api->proxies, r->http, &client);
    login_attempt_init(ret, account, &client);
}

int login_attempt_check(struct req *r, const struct login_attempt *at, const char *what,
                        enum login_standing *ret_standing, struct error *err)
{
    struct login_verdict v = login_limits_ask(r->api->login_limits, at, clock_now_us());
    if (ret_standing)
        *ret_standing = v.standing;
    if (!v.wait_s)
        return 0;
    req_add_header(r, "Retry-After", arena_printf(&r->arena, "%d", v.wait_s));
    return error_set(err, ERR_TOO_MANY, "too many failed logins %s%sfrom your address; try again in %d s",
                     v.of_address ? "" : what, v.of_address ? "" : " ", v.wait_s);
}
