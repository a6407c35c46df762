/* First accounts and tokens of a new cluster. There is no default password: the first start makes one (or takes
 * security.initial_user_password) for `determined` and `admin`, writes it into the data directory, readable by the
 * owner only, and says so once. The file is there before the server listens: whoever has seen /health answer can read
 * it. Hashing takes its time, so it happens afterwards; logins that come meanwhile wait. */
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/accounts/password.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/identity.h"
#include "api/rights/permissions.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/files.h"
#include "common/system/log.h"
#include "master/master.h"
#include "store/functions.h"

#define PASSWORD_FILE "initial_password"

static void load_session(struct identities *ids, const struct store_session *s)
{
    bool is_login = strcmp(s->kind, "LOGIN") == 0;
    struct identity_session i = {.kind = PRINCIPAL_USER,
                                 .scope = is_login ? ACCESS_SCOPE_LOGIN : access_scope_of_name(s->scope),
                                 .access_token = strcmp(s->kind, "ACCESS_TOKEN") == 0,
                                 .id = s->id,
                                 .user_id = s->user_id,
                                 .expires_at_us = s->expiry_us};
    if (is_login)
        i.password_at_us = s->created_us;
    if (s->allocation_id) {
        i.kind = strcmp(s->kind, "ALLOCATION") == 0 ? PRINCIPAL_TASK : PRINCIPAL_USER_TOKEN;
        i.expires_at_us = 0;
        snprintf(i.allocation_id, sizeof(i.allocation_id), "%s", s->allocation_id);
    }
    if (!s->revoked)
        identities_put_session(ids, s->token_hash, &i);
}

static int load_permissions(struct master *m, struct arena *a, struct error *err)
{
    struct store_group_member *member;
    struct store_role_assignment *given;
    size_t member_n, given_n;
    if (store_group_members_all(m->db, a, &member, &member_n, err) < 0 ||
        store_role_assignments(m->db, a, &given, &given_n, err) < 0)
        return -1;
    struct permissions *p = api_permissions(m->api);
    for (size_t i = 0; i < given_n; i++)
        permissions_give(p, &(struct role_given){.user_id = given[i].user_id,
                                                 .group_id = given[i].group_id,
                                                 .role_id = given[i].role_id,
                                                 .workspace_id = given[i].workspace_id});
    for (size_t i = 0; i < member_n; i++)
        permissions_join(p, member[i].group_id, member[i].user_id);
    return 0;
}

int accounts_load(struct master *m, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_user_filter everyone = {0};
    struct store_user_list users;
    struct store_session *session;
    size_t session_n;
    if (store_user_list(m->db, &everyone, &a, &users, err) < 0 ||
        store_sessions_load(m->db, clock_now_us(), &a, &session, &session_n, err) < 0)
        return -1;
    struct identities *ids = api_identities(m->api);
    for (size_t i = 0; i < users.user_n; i++) {
        struct identity_user u;
        identity_of_store(&users.user[i], &u);
        identities_put_user(ids, &u);
    }
    for (size_t i = 0; i < session_n; i++)
        load_session(ids, &session[i]);
    return load_permissions(m, &a, err);
}

/* ---- the first users --------------------------------------------------------------------------------------------- */

struct first_accounts {
    struct master *m;
    char password[256];
    char stored[2][PASSWORD_STORED_MAX];
    bool generated;
    int64_t made_us;
    struct error err;
};

static const struct store_user first_users[] = {
    {.id = 1, .username = "admin", .admin = true, .active = true},
    {.id = 2, .username = "determined", .active = true},
};
enum { FIRST_N = sizeof(first_users) / sizeof(first_users[0]) };

static void free_first(struct first_accounts *f)
{
    error_release(&f->err);
    OPENSSL_cleanse(f, sizeof(*f));
    free(f);
}

static int write_password(const struct first_accounts *f, struct error *err)
{
    cleanup_free char *path = must_asprintf("%s/" PASSWORD_FILE, f->m->data_dir);
    char text[sizeof(f->password) + 1];
    int n = snprintf(text, sizeof(text), "%s\n", f->password);
    int rc = file_write(path, text, (size_t)n, 0600, err);
    OPENSSL_cleanse(text, sizeof(text));
    if (rc == 0)
        fprintf(stderr, "The first password of the users 'admin' and 'determined' is in %s\n", path);
    return rc;
}

static int take_given(struct first_accounts *f, const char *given, struct error *err)
{
    size_t min = (size_t)config_int(f->m->config, "security.password_min_length");
    for (size_t i = 0; i < FIRST_N; i++)
        if (password_check_new(given, /* is_hashed= */ false, min, first_users[i].username, err) < 0)
            return error_wrap(err, "security.initial_user_password");
    if (strlen(given) >= sizeof(f->password))
        return error_set(err, ERR_INVALID, "security.initial_user_password has more than %zu bytes",
                         sizeof(f->password) - 1);
    memcpy(f->password, given, strlen(given) + 1);
    return 0;
}

int accounts_prepare_first(struct master *m, struct error *err)
{
    if (identities_user(api_identities(m->api),
                        first_users[0].id)) /* the users exist: users can be renamed, but are never deleted */
        return 0;
    struct first_accounts *f = m->first_accounts = must_calloc(1, sizeof(*f));
    if (!f)
        return error_set(err, ERR_NO_MEMORY, "no memory for the first accounts");
    f->m = m;
    f->made_us = clock_now_us();
    const char *given = config_str(m->config, "security.initial_user_password");
    f->generated = !given || !*given;
    if (!f->generated)
        return take_given(f, given, err);
    return password_generate(f->password, err) < 0 ? -1 : write_password(f, err);
}

void accounts_drop_first(struct master *m)
{
    if (m->first_accounts)
        free_first(m->first_accounts);
}

static void hash_first(void *worker, void *job)
{
    struct first_accounts *f = job;
    cleanup_arena struct arena a = ARENA_INIT;
    const char *wire;
    if (password_wire_form(f->password, /* is_hashed= */ false, &a, &wire, &f->err) < 0)
        return;
    for (size_t i = 0; i < FIRST_N; i++)
        if (password_store_form(wire, f->stored[i], &f->err) < 0)
            return;
}

static int insert_first(struct store *db, void *job, struct error *err)
{
    struct first_accounts *f = job;
    for (size_t i = 0; i < FIRST_N; i++) {
        struct store_user u = first_users[i];
        u.password_hash = f->stored[i];
        u.modified_us = f->made_us;
        if (store_user_insert(db, &u, err) < 0)
            return -1;
    }
    return 0;
}

static void know_first(struct first_accounts *f)
{
    for (size_t i = 0; i < FIRST_N; i++) {
        struct identity_user u;
        identity_of_store(&first_users[i], &u);
        u.modified_at_us = f->made_us;
        identities_put_user(api_identities(f->m->api), &u);
    }
    log_info("accounts.created", "users=admin,determined password_file=%s", f->generated ? PASSWORD_FILE : "none");
}

static void first_done(void *job, const struct error *err)
{
    struct first_accounts *f = job;
    struct api *api = f->m->api;
    if (err)
        log_error("accounts.failed", "reason=%s", log_quote(error_msg(err)));
    else
        know_first(f);
    free_first(f);
    api_accounts_ready(api, err ? error_msg(err) : NULL);
}

static void store_first(void *job)
{
    struct first_accounts *f = job;
    struct writer_job write = {insert_first, first_done, f};
    if (f->err.kind) {
        cleanup_error struct error err = ERROR_INIT;
        error_move(&err, &f->err);
        first_done(f, &err);
        return;
    }
    writer_submit(f->m->writer, &write, 1);
}

void accounts_make_first(struct master *m)
{
    struct first_accounts *f = m->first_accounts;
    m->first_accounts = NULL;
    if (!f)
        api_accounts_ready(m->api, NULL);
    else if (pool_submit(m->passwords, hash_first, store_first, f, &f->err) < 0)
        store_first(f);
}

/* ---- the token of collectors of metrics -------------------------------------------------------------------------- */

int accounts_collector_token(const struct config *c, char ret[128], struct error *err)
{
    enum { SHORTEST = 32, LONGEST = 127 };
    const char *path = config_str(c, "observability.token_file");
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    *ret = '\0';
    if (!path || !*path)
        return 0;
    if (file_read(path, 4096, &text, err) < 0)
        return error_wrap(err, "observability.token_file");
    size_t n = strcspn(strbuf_str(&text), "\r\n");
    if (n < SHORTEST || n > LONGEST)
        return error_set(err, ERR_INVALID,
                         "observability.token_file: the first line of %s must be a token of %d to %d characters, found "
                         "%zu; 'openssl rand -hex 32' makes one",
                         path, SHORTEST, LONGEST, n);
    snprintf(ret, LONGEST + 1, "%.*s", (int)n, strbuf_str(&text));
    return 0;
}
