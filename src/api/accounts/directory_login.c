/* The part of a login that the directory decides. The steps: wait for one of the threads that may wait for the
 * directory (password_lane.h) → ask it (such a thread) → count the try (loop) → find or make the account, and store the
 * session (write) → open the session (loop). */
#include <string.h>

#include "api/accounts/account_rules.h"
#include "api/accounts/directory.h"
#include "api/accounts/login.h"
#include "api/pipeline/author.h"
#include "api/pipeline/internal.h"
#include "api/rights/origin.h"
#include "common/base/clock.h"
#include "common/system/log.h"

#define ROUTE "POST /api/v1/auth/login"

static const struct directory_settings *settings_of(const struct req *r)
{
    return directory_settings(r->api->directory);
}

const char *directory_login_obstacle(const struct req *r, bool is_hashed)
{
    const struct directory_settings *s = settings_of(r);
    struct address client;
    if (!s->enabled || !r->http)
        return NULL;
    if (is_hashed)
        return "no account of this cluster has this name and password, and this client hashes the password, so that the "
               "directory cannot check it: log in with this cluster's own det (https), or on its page /det/login";
    origin_client(r->api->proxies, r->http, &client);
    if (s->allow_http || origin_is_https(r->api->proxies, r->http) || address_is_loopback(&client))
        return NULL;
    return "no account of this cluster has this name and password, and passwords of the directory are taken over https "
           "only: use the cluster's https:// address (an administrator can set ldap.allow_plain_http)";
}

/* Notes in the log why somebody could not log in whose password is right. Returns -1. */
static int refused(const struct login *l, const char *account, const struct error *err)
{
    log_info("user.login_refused", "account=%s address=%s reason=%s", log_quote(account), l->session.address,
             log_quote(error_msg(err)));
    return -1;
}

static int store_login(struct req *r, struct store *db, struct error *err)
{
    struct login *l = r->state;
    const struct directory_settings *s = settings_of(r);
    const struct remote_rules rules = {.by = "directory",
                                       .provision = s->provision,
                                       .sync_groups = s->sync_groups,
                                       .sync_agent = *s->ldap.agent_uid_attribute != '\0',
                                       .sync_admin = *s->admin_group != '\0'};
    if (remote_account_store(r, db, &l->person, &rules, &l->remote, err) < 0)
        return refused(l, l->person.username, err);
    return login_session_store(r, db, &l->remote.user, &l->session, err) < 0 ? -1 : req_then_loop(r, login_answer);
}

/* The directory has been asked in vain. That is no failure of the person's, and what is wrong is not for everybody. */
static int could_not_ask(struct req *r, struct error *err)
{
    const struct login *l = r->state;
    if (l->why == ERR_UNAVAILABLE)
        directory_note(r->api->directory, /* answers= */ false, clock_now_us());
    log_warning("directory.unusable", "reason=%s", log_quote(l->why_text));
    return directory_is_away(err);
}

static int judged(struct req *r, struct core *core, struct error *err)
{
    struct login *l = r->state;
    if (l->why == ERR_UNAVAILABLE || l->why == ERR_BAD_GATEWAY)
        return could_not_ask(r, err);
    directory_note(r->api->directory, /* answers= */ true, clock_now_us());
    if (l->why == ERR_UNAUTHENTICATED)
        return login_failed(r, "-", "refused_by_directory", err);
    if (l->why) {
        error_set(err, l->why, "%s", l->why_text);
        return login_failed(r, l->account, l->why_text, err);
    }
    login_limits_succeeded(r->api->login_limits, &l->attempt, r->now_us);
    if (directory_person(settings_of(r), &l->found, &r->arena, &l->person, err) < 0)
        return refused(l, l->account, err);
    req_act_as(r, l->person.username, "directory", ROUTE);
    return req_then_write(r, store_login);
}

/* On a thread that may wait for the directory. The outcome is kept for the loop. */
static int ask(struct req *r, struct error *err)
{
    struct login *l = r->state;
    cleanup_error struct error why = ERROR_INIT;
    if (ldap_login(&settings_of(r)->ldap, l->account, l->password, &r->arena, &l->found, &why) < 0) {
        l->why = why.kind;
        l->why_text = arena_strdup(&r->arena, error_msg(&why));
    }
    return 0;
}

static int directory_turn(struct req *r, struct error *err)
{
    return login_turn(r, err) < 0 ? -1 : directory_check_up(r->api->directory, clock_now_us(), err);
}

/* A name that could be no user name here is not asked for. */
int directory_login(struct req *r, struct core *core, struct error *err)
{
    struct login *l = r->state;
    if (account_username(l->account, &r->arena, &l->account, NULL) < 0)
        return login_failed(r, "-", "no_such_account", err);
    l->turn.before = directory_turn;
    l->turn.work = NULL;
    l->turn.ask = ask;
    l->turn.after = judged;
    if (directory_check_up(r->api->directory, clock_now_us(), err) < 0)
        return -1;
    return password_lane_enter(r->api->directory_lane, r, &l->turn, err);
}
