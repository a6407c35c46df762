/* Logging in on a machine without a browser (device_logins.h): the machine begins a login and asks again and again
 * whether it is allowed; somebody who is logged in looks at it, and answers. The session is made when the machine asks
 * the next time: look for the answer (loop) → store a session, if whoever has allowed it is still logged in (write) →
 * open it (loop). */
#include <string.h>

#include "api/accounts/login_session.h"
#include "api/pipeline/author.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "api/sso/device_logins.h"
#include "common/base/utf8.h"
#include "common/system/log.h"
#include "gen/handlers.h"
#include "store/functions.h"

/* The page of the web interface on which a login is allowed; `det` adds the code. */
#define PAGE "/det/device"

int api_start_device_login(struct req *r, struct core *core, const struct wire_start_device_login_request *in,
                           struct wire_start_device_login_response *ret, struct error *err)
{
    struct login_session *s = arena_new(&r->arena, struct login_session);
    const struct device_login *x;
    struct token code;
    const char *device = in->device ? in->device : "";
    if (strlen(device) > DEVICE_NAME_MAX || text_find_control(device))
        return error_set(err, ERR_INVALID, "device has at most %d bytes and no control characters", DEVICE_NAME_MAX);
    if (login_session_begin(r, s, err) < 0 ||
        device_logins_begin(r->api->device_logins, device, s->address, r->now_us, &code, &x, err) < 0)
        return -1;
    *ret = (struct wire_start_device_login_response){.device_code = arena_strdup(&r->arena, code.text),
                                                     .user_code = arena_strdup(&r->arena, x->user_code),
                                                     .path = PAGE,
                                                     .interval = DEVICE_LOGIN_INTERVAL_S,
                                                     .expires_in = DEVICE_LOGIN_LIFE_S};
    return 0;
}

/* ---- whoever is logged in ---------------------------------------------------------------------------------------- */

static int find_by_user_code(struct req *r, const char *code, struct device_login **ret, struct error *err)
{
    *ret = device_logins_by_user_code(r->api->device_logins, code ? code : "", r->now_us);
    if (*ret && (*ret)->answer == DEVICE_WAITS)
        return 0;
    return error_set(err, ERR_NOT_FOUND,
                     "no login waits with this code: it is confirmed already, more than %d minutes old, or misspelt",
                     DEVICE_LOGIN_LIFE_S / 60);
}

int api_get_device_login(struct req *r, struct core *core, const struct wire_get_device_login_request *in,
                         struct wire_get_device_login_response *ret, struct error *err)
{
    struct device_login *x;
    if (find_by_user_code(r, in->user_code, &x, err) < 0)
        return -1;
    *ret = (struct wire_get_device_login_response){.device = arena_strdup(&r->arena, x->device),
                                                   .address = arena_strdup(&r->arena, x->address)};
    return 0;
}

int api_answer_device_login(struct req *r, struct core *core, const struct wire_answer_device_login_request *in,
                            struct wire_answer_device_login_response *ret, struct error *err)
{
    struct device_login *x;
    if (find_by_user_code(r, in->user_code, &x, err) < 0)
        return -1;
    x->answer = in->allow ? DEVICE_ALLOWED : DEVICE_REFUSED;
    x->user_id = r->who.user_id;
    memcpy(x->answered_by, r->who.token_hash, sizeof(x->answered_by));
    log_info("user.device_login", "user=%s device=%s address=%s answer=%s", log_quote(r->who.username),
             log_quote(x->device), x->address, in->allow ? "allowed" : "refused");
    return 0;
}

/* ---- the machine ------------------------------------------------------------------------------------------------- */

struct fetching {
    struct login_session session;
    int32_t user_id;
    uint8_t answered_by[TOKEN_HASH_BYTES];
};

static int open_session(struct req *r, struct core *core, struct error *err)
{
    struct fetching *f = r->state;
    struct wire_poll_device_login_response *ret = r->ret;
    login_session_remember(r, &f->session);
    ret->token = arena_strdup(&r->arena, f->session.token.text);
    ret->user = user_to_wire(&f->session.user, &r->arena);
    log_info("user.login", "user=%s address=%s by=device_code", log_quote(f->session.user.username),
             f->session.address);
    return 0;
}

/* The login by which it was allowed may have ended meanwhile, for example because its password was changed. */
static int store_login(struct req *r, struct store *db, struct error *err)
{
    struct fetching *f = r->state;
    struct store_user user;
    bool lives = false;
    if (store_session_lives(db, f->answered_by, &lives, err) < 0 ||
        store_user_get(db, f->user_id, &r->arena, &user, err) < 0)
        return -1;
    if (!lives)
        return error_set(err, ERR_FORBIDDEN, "the login by which this one was allowed has ended: begin again");
    return login_session_store(r, db, &user, &f->session, err) < 0 ? -1 : req_then_loop(r, open_session);
}

int api_poll_device_login(struct req *r, struct core *core, const struct wire_poll_device_login_request *in,
                          struct wire_poll_device_login_response *ret, struct error *err)
{
    struct fetching *f = arena_new(&r->arena, struct fetching);
    uint8_t hash[TOKEN_HASH_BYTES];
    token_hash(in->device_code ? in->device_code : "", hash);
    struct device_login *x = device_logins_by_hash(r->api->device_logins, hash, r->now_us);
    if (!x)
        return error_set(err, ERR_NOT_FOUND,
                         "this login has ended, because nobody has confirmed it in time: begin again");
    if (x->answer == DEVICE_WAITS) {
        ret->pending = true;
        return 0;
    }
    bool allowed = x->answer == DEVICE_ALLOWED;
    f->user_id = x->user_id;
    memcpy(f->answered_by, x->answered_by, sizeof(f->answered_by));
    device_logins_drop(r->api->device_logins, x); /* a code opens one session */
    const struct identity_user *u = identities_user(api_identities(r->api), f->user_id);
    if (!allowed || !u)
        return error_set(err, ERR_FORBIDDEN, "this login was refused%s%s", u ? " by " : "", u ? u->username : "");
    r->state = f;
    if (login_session_begin(r, &f->session, err) < 0)
        return -1;
    req_act_as(r, arena_strdup(&r->arena, u->username), "device_code", "PollDeviceLogin");
    return req_then_write(r, store_login);
}
