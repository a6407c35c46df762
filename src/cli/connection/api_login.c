#include "cli/connection/api_internal.h"

#include <ctype.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/connection/address.h"
#include "cli/connection/logins.h"
#include "cli/terminal/terminal.h"
#include "common/base/cleanup.h"
#include "common/base/hex.h"

#define DEFAULT_USER "determined"
#define SALT "GubPEmmotfiK9TMD6Zdw"

/* ---- passwords --------------------------------------------------------------------------------------------------- */

const char *password_hash(struct arena *a, const char *password)
{
    unsigned char digest[SHA512_DIGEST_LENGTH];
    SHA2_CTX ctx;
    if (!*password)
        return "";
    char *salted = arena_printf(a, SALT "%s", password);
    SHA512Init(&ctx);
    SHA512Update(&ctx, (const uint8_t *)salted, strlen(salted));
    SHA512Final(digest, &ctx);
    explicit_bzero(&ctx, sizeof(ctx));
    explicit_bzero(salted, strlen(salted));
    return hex_in_arena(digest, sizeof(digest), a);
}

int password_check(const char *password, struct error *err)
{
    bool upper = false, lower = false, digit = false;
    for (const char *c = password; *c; c++) {
        upper = upper || isupper((unsigned char)*c);
        lower = lower || islower((unsigned char)*c);
        digit = digit || isdigit((unsigned char)*c);
    }
    if (strlen(password) >= 8 && upper && lower && digit)
        return 0;
    return error_set(err, ERR_INVALID,
                     "a password needs at least 8 characters, among them an upper-case letter, a lower-case "
                     "letter and a digit");
}

int password_check_for(const char *password, const char *user, struct error *err)
{
    if (strcasecmp(password, user) == 0)
        return error_set(err, ERR_INVALID, "a password must not be the user's name");
    return password_check(password, err);
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

/* A password is hashed before it is sent, unless the master wants it as it is, for a directory (docs/ldap.md). What a
 * master says over plain http, or over https with a certificate that is not checked, may come from anybody on the way,
 * so that it counts on a private way only. */
static bool may_send_plain(struct cli *cli)
{
    return cli->session && cli->session->plain_passwords && !cli->session->trust.skip_verify &&
           address_is_private(cli->master, &cli->arena);
}

int api_login(struct cli *cli, const char *user, const char *password, const char **ret_token, struct error *err)
{
    bool plain = *password && may_send_plain(cli);
    struct wire_login_request in = {.username = user,
                                    .password = plain ? password : password_hash(&cli->arena, password),
                                    .is_hashed = !plain};
    struct wire_login_response out;
    cleanup_strbuf struct strbuf body = STRBUF_INIT;
    struct http_fetch_reply reply = {0};
    codec_encode(&wire_msg_login_request, &in, &body);
    struct exchange x = {.method = "POST", .body = body.s, .body_n = body.n};
    x.url = arena_printf(&cli->arena, "%s/api/v1/auth/login", cli->master);
    if (api_fetch(cli, &x, &reply, err) < 0)
        return -1;
    int rc;
    if (reply.status == 401 && !api_is_page(&reply.body))
        rc = error_set(err, ERR_UNAUTHENTICATED, "Failed to log in: wrong user name or password for '%s'", user);
    else if (reply.status >= 300 || api_is_page(&reply.body))
        rc = api_status_error(cli, reply.status, &reply.body, err);
    else
        rc = codec_decode(&wire_msg_login_response, strbuf_str(&reply.body), reply.body.n, &cli->arena, &out, err);
    http_fetch_reply_release(&reply);
    if (rc == 0)
        *ret_token = out.token;
    return rc;
}

static int get_with_token(struct cli *cli, const char *token, const char *method, const char *path, int *ret_status,
                          struct error *err)
{
    struct session *s;
    struct http_fetch_reply reply = {0};
    if (cli_session(cli, &s, err) < 0)
        return -1;
    const char *before = s->token;
    s->token = token;
    struct exchange x = {.method = method,
                         .url = arena_printf(&cli->arena, "%s%s", cli->master, path),
                         .with_token = true};
    int rc = api_fetch(cli, &x, &reply, err);
    s->token = before;
    if (rc == 0)
        *ret_status = reply.status;
    http_fetch_reply_release(&reply);
    return rc;
}

int api_logout(struct cli *cli, const char *token, struct error *err)
{
    int status = 0;
    return get_with_token(cli, token, "POST", "/api/v1/auth/logout", &status, err);
}

bool api_token_works(struct cli *cli, const char *token)
{
    int status = 0;
    return token && get_with_token(cli, token, "GET", "/api/v1/me", &status, NULL) == 0 && status == 200;
}

void api_use_token(struct cli *cli, const char *user, const char *token)
{
    struct session *s;
    if (cli_session(cli, &s, NULL) < 0)
        return;
    s->user = user;
    s->token = token;
}

/* ---- which user to act as ---------------------------------------------------------------------------------------- */

/* The user to act as, and the password if it is known without asking. */
struct candidate {
    const char *user, *password;
    bool fallback; /* no user was named: the default user with an empty password is tried */
};

static struct candidate choose_user(struct cli *cli, const struct logins *l)
{
    const char *user = getenv("DET_USER"), *password = getenv("DET_PASS");
    if (cli->user)
        return (struct candidate){.user = cli->user};
    if (user && password)
        return (struct candidate){.user = user, .password = password};
    if (l->active_user)
        return (struct candidate){.user = l->active_user};
    return (struct candidate){.user = DEFAULT_USER, .password = "", .fallback = true};
}

/* Uses the stored token if the master accepts it. */
static int use_stored_token(struct cli *cli, struct session *s, const struct logins *l, const char *user,
                            bool *ret_done, struct error *err)
{
    const char *token = logins_token(l, user);
    int status = 0;
    *ret_done = false;
    if (!token)
        return 0;
    if (get_with_token(cli, token, "GET", "/api/v1/me", &status, err) < 0)
        return -1;
    if (status != 200)
        return logins_drop(l, user, err);
    s->user = user;
    s->token = token;
    *ret_done = true;
    return 0;
}

static int ask_and_log_in(struct cli *cli, struct session *s, const struct logins *l, struct candidate who,
                          struct error *err)
{
    cleanup_error struct error why = ERROR_INIT;
    if (!who.password && cli->silent)
        return error_set(err, ERR_UNAUTHENTICATED,
                         "Failed to %s: Unauthenticated: please log in with 'det user login %s'", cli->command->help,
                         who.user);
    if (!who.password && terminal_ask_password(cli, arena_printf(&cli->arena, "Password for user '%s': ", who.user),
                                               &who.password, err) < 0)
        return -1;
    if (api_login(cli, who.user, who.password, &s->token, &why) < 0) {
        if (who.fallback && (why.kind == ERR_FORBIDDEN || why.kind == ERR_UNAUTHENTICATED))
            return error_set(err, ERR_UNAUTHENTICATED,
                             "Failed to %s: Unauthenticated: please log in with 'det user login <username>'",
                             cli->command->help);
        error_move(err, &why);
        return -1;
    }
    s->user = who.user;
    return logins_set_token(l, who.user, s->token, err);
}

int api_log_in(struct cli *cli, struct session *s, struct error *err)
{
    struct logins l;
    const char *directory, *user = getenv("DET_USER"), *token = getenv("DET_USER_TOKEN");
    bool done;
    if (s->token)
        return 0;
    if (config_directory(&cli->arena, &directory, err) < 0 ||
        logins_load(&l, directory, cli->master, &cli->arena, err) < 0)
        return -1;
    struct candidate who = choose_user(cli, &l);
    if (use_stored_token(cli, s, &l, who.user, &done, err) < 0 || done)
        return done ? 0 : -1;
    if (user && token && (!cli->user || strcmp(cli->user, user) == 0)) { /* det runs inside a task */
        s->user = user;
        s->token = token;
        return 0;
    }
    return ask_and_log_in(cli, s, &l, who, err);
}

int api_username(struct cli *cli, const char **ret, struct error *err)
{
    struct session *s;
    if (cli_session(cli, &s, err) < 0 || api_log_in(cli, s, err) < 0)
        return -1;
    *ret = s->user;
    return 0;
}

int api_token(struct cli *cli, const char **ret, struct error *err)
{
    struct session *s;
    if (cli_session(cli, &s, err) < 0 || api_log_in(cli, s, err) < 0)
        return -1;
    *ret = s->token;
    return 0;
}
