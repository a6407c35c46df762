/* Login, logout, and the question which user a token belongs to. */
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "api/accounts/account_rules.h"
#include "api/accounts/directory.h"
#include "api/accounts/login.h"
#include "api/accounts/password.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/identity.h"
#include "api/pipeline/internal.h"
#include "api/rights/origin.h"
#include "common/base/clock.h"
#include "common/system/log.h"
#include "gen/handlers.h"
#include "store/functions.h"

/* ---- login ----
 * The steps: check the limits (loop) → check the password (the password lane) → count the try (loop) → store the
 * session if the account is still what was checked (write) → add the session to the identities (loop). Where there is a
 * directory, a step on a reader comes first: a name that no account with a password has is the directory's
 * (directory_login.c). */

int login_answer(struct req *r, struct core *core, struct error *err)
{
    struct login *l = r->state;
    struct wire_login_response *ret = r->ret;
    bool of_directory = l->remote.user.id != 0;
    login_session_remember(r, &l->session);
    remote_account_remember(r, &l->remote);
    login_session_set_cookie(r, &l->session);
    ret->token = arena_strdup(&r->arena, l->session.token.text);
    ret->user = user_to_wire(&l->session.user, &r->arena);
    log_info("user.login", "user=%s address=%s%s", log_quote(l->session.user.username), l->session.address,
             of_directory ? " provider=directory" : "");
    return 0;
}

static int refuse_login(struct error *err)
{
    return error_set(err, ERR_UNAUTHENTICATED, "invalid credentials");
}

int login_failed(struct req *r, const char *account, const char *reason, struct error *err)
{
    const struct login *l = r->state;
    login_limits_failed(r->api->login_limits, &l->attempt, clock_now_us());
    log_info("user.login_refused", "account=%s address=%s reason=%s",
             strcmp(account, "-") == 0 ? account : log_quote(account), l->session.address, log_quote(reason));
    return err->kind ? -1 : refuse_login(err);
}

/* Stores the session. Since the password was checked, the account may have been deactivated or its password changed.
 * Either has ended the account's sessions, so that no new one may be stored after it. */
static int login_store(struct req *r, struct store *db, struct error *err)
{
    struct login *l = r->state;
    struct store_user now;
    if (store_user_get(db, l->user.id, &r->arena, &now, err) < 0)
        return -1;
    if (now.remote || !now.password_hash || strcmp(now.password_hash, l->user.password_hash) != 0)
        return refuse_login(err);
    return login_session_store(r, db, &now, &l->session, err) < 0 ? -1 : req_then_loop(r, login_answer);
}

/* The same answer whether the account exists or not. */
static int login_judged(struct req *r, struct core *core, struct error *err)
{
    struct login *l = r->state;
    if (l->matches && l->user.active) {
        login_limits_succeeded(r->api->login_limits, &l->attempt, r->now_us);
        return req_then_write(r, login_store);
    }
    if (l->matches)
        error_set(err, ERR_FORBIDDEN, "user is not active");
    else if (l->obstacle)
        error_set(err, ERR_FORBIDDEN, "%s", l->obstacle);
    /* A name that no account has may be a password, which somebody has typed into the wrong field. */
    bool known = l->user.id != 0;
    return login_failed(r, known ? l->user.username : "-",
                        l->matches ? "not_active"
                        : known    ? "invalid_credentials"
                                   : "no_such_account",
                        err);
}

static int find_user(struct req *r, struct store *db, struct error *err)
{
    struct login *l = r->state;
    cleanup_error struct error unknown = ERROR_INIT;
    if (store_user_by_name(db, l->account, &r->arena, &l->user, &unknown) == 0)
        return 0;
    l->user = (struct store_user){0};
    return error_pass_unless(&unknown, ERR_NOT_FOUND, err) ? -1 : 0;
}

/* Runs argon2 once, whatever is known of the account. So the time that an answer takes does not tell whether the
 * account exists, is active, is remote or has a password. */
static int login_check(struct req *r, struct store *db, struct error *err)
{
    struct login *l = r->state;
    if (find_user(r, db, err) < 0)
        return -1;
    bool usable = l->user.id && l->user.password_hash && *l->user.password_hash && !l->user.remote;
    if (usable)
        l->matches = password_matches(l->wire_password, l->user.password_hash);
    else
        password_burn_check(l->wire_password);
    return 0;
}

/* Called when the request arrives and again when its turn has come: other tries for the same account may have failed
 * meanwhile. */
static int check_limits(struct req *r, enum login_standing *ret, struct error *err)
{
    const struct login *l = r->state;
    return login_attempt_check(r, &l->attempt, "to this account", ret, err);
}

int login_turn(struct req *r, struct error *err)
{
    if (r->api->accounts_failure)
        return error_set(err, ERR_UNAVAILABLE,
                         "the first accounts could not be made: %s; the master's log says more, a restart tries "
                         "again",
                         r->api->accounts_failure);
    return check_limits(r, NULL, err);
}

static int login_here(struct req *r, struct core *core, struct error *err)
{
    struct login *l = r->state;
    return password_lane_enter(r->api->password_lane, r, &l->turn, err);
}

/* The name as accounts have it, so that "Ada" and " ada" are one name for the limits of failures, too. A name that no
 * new account could have is left as it is: an old account may. */
static const char *account_of(struct req *r, const char *typed)
{
    const char *name;
    return account_username(typed, &r->arena, &name, NULL) == 0 ? name : typed;
}

/* On a reader: whose name it is. */
static int login_choose(struct req *r, struct store *db, struct error *err)
{
    struct login *l = r->state;
    if (find_user(r, db, err) < 0)
        return -1;
    return req_then_loop(r, l->user.id && !l->user.remote ? login_here : directory_login);
}

int api_login(struct req *r, struct core *core, const struct wire_login_request *in, struct wire_login_response *ret,
              struct error *err)
{
    if (!in->username || !*in->username)
        return error_set(err, ERR_INVALID, "missing argument: username");
    /* no account has a blank password, so that there is nothing to check, and the answer tells nothing */
    if (!in->password || !*in->password)
        return refuse_login(err);
    struct login *l = arena_new(&r->arena, struct login);
    r->state = l;
    l->account = account_of(r, in->username);
    l->password = in->password;
    l->session.by_password = true;
    if (login_session_begin(r, &l->session, err) < 0)
        return -1;
    login_attempt_begin(r, l->account, &l->attempt);
    l->turn = (struct password_turn){.before = login_turn, .work = login_check, .after = login_judged};
    memcpy(l->turn.key, l->attempt.address, sizeof(l->turn.key));
    if (check_limits(r, &l->turn.standing, err) < 0 ||
        password_wire_form(in->password, in->is_hashed, &r->arena, &l->wire_password, err) < 0)
        return -1;
    login_limits_tried(r->api->login_limits, &l->attempt, r->now_us);
    l->obstacle = directory_login_obstacle(r, in->is_hashed);
    if (directory_settings(r->api->directory)->enabled && !l->obstacle)
        return req_then_read(r, login_choose);
    return login_here(r, core, err);
}

/* ---- logout ------------------------------------------------------------------------------------------------------ */

static int logout_forget(struct req *r, struct core *core, struct error *err)
{
    const struct wire_logout_request *in = r->in;
    struct identities *ids = api_identities(r->api);
    if (in->everywhere)
        identities_drop_sessions_of_user(ids, r->who.user_id, IDENTITY_END_LOGINS, NULL);
    else
        identities_drop_session(ids, r->who.token_hash);
    login_session_clear_cookie(r, r->http && origin_is_https(r->api->proxies, r->http));
    return 0;
}

int api_logout(struct req *r, struct store *db, const struct wire_logout_request *in, struct wire_logout_response *ret,
               struct error *err)
{
    if (r->who.kind != PRINCIPAL_USER)
        return error_set(err, ERR_INVALID, "the session of a task can't be logged out; it ends with its allocation");
    if (r->who.access_token)
        return error_set(err, ERR_INVALID, "an access token can't be logged out; 'det token revoke %lld' ends it",
                         (long long)r->who.session_id);
    if (in->everywhere ? store_sessions_end_logins(db, r->who.user_id, err) < 0
                       : store_session_delete(db, r->who.token_hash, err) < 0)
        return -1;
    return req_then_loop(r, logout_forget);
}

/* ---- the current user: answered from memory, since every client asks for it before everything else --------------- */

static int who_am_i(struct req *r, const struct wire_user **ret, struct error *err)
{
    const struct identity_user *u = identities_user(api_identities(r->api), r->who.user_id);
    if (!u)
        return error_set(err, ERR_UNAUTHENTICATED, "invalid credentials");
    *ret = identity_to_wire(u, &r->arena);
    return 0;
}

int api_get_me(struct req *r, struct core *core, const struct wire_get_me_request *in, struct wire_get_me_response *ret,
               struct error *err)
{
    return who_am_i(r, &ret->user, err);
}

int api_current_user(struct req *r, struct core *core, const struct wire_current_user_request *in,
                     struct wire_current_user_response *ret, struct error *err)
{
    return who_am_i(r, &ret->user, err);
}
