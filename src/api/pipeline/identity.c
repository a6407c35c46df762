#include "api/pipeline/identity.h"
#include "common/base/must.h"
#include "common/system/random.h"
#include "net/loop/loop.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <uthash.h>

struct user_entry {
    struct identity_user user;
    LIST_HEAD(, session_entry) sessions;
    UT_hash_handle by_id, by_name;
};

/* One allocation and the sessions that end with it. */
struct holder {
    char allocation_id[128];
    LIST_HEAD(, session_entry) sessions;
    UT_hash_handle hh;
};

/* There may be many of these, so that they are kept small. */
struct session_entry {
    uint8_t hash[TOKEN_HASH_BYTES];
    int64_t id, expires_at_us, password_at_us;
    int user_id;
    enum principal_kind kind;
    enum access_scope scope;
    bool access_token;
    struct user_entry *user; /* NULL: the user is not known, so that the session is good for nothing */
    struct holder *holder;   /* NULL: the session belongs to no allocation */
    LIST_ENTRY(session_entry) in_holder, of_user;
    UT_hash_handle hh;
};

struct identities {
    struct user_entry *users_by_id, *users_by_name;
    struct session_entry *sessions;
    struct holder *holders;
    void (*on_end)(void *ctx, const uint8_t hash[TOKEN_HASH_BYTES]);
    void *on_end_ctx;
};

enum { TOKEN_PREFIX_N = sizeof(TOKEN_PREFIX) - 1, TOKEN_RANDOM_N = 43 /* 32 bytes in base64 without padding */ };

int token_new(struct token *ret, struct error *err)
{
    unsigned char raw[32];
    char base64[48]; /* with padding */
    if (random_bytes(raw, sizeof(raw), err) < 0)
        return -1;
    EVP_EncodeBlock((unsigned char *)base64, raw, sizeof(raw));
    for (char *p = base64; *p; p++) {
        if (*p == '+')
            *p = '-';
        else if (*p == '/')
            *p = '_';
        else if (*p == '=')
            *p = 0;
    }
    memcpy(ret->text, TOKEN_PREFIX, TOKEN_PREFIX_N);
    memcpy(ret->text + TOKEN_PREFIX_N, base64, strlen(base64) + 1);
    token_hash(ret->text, ret->hash);
    return 0;
}

bool token_has_form(const char *text)
{
    return strncmp(text, TOKEN_PREFIX, TOKEN_PREFIX_N) == 0 && strlen(text) == TOKEN_PREFIX_N + TOKEN_RANDOM_N;
}

void token_hash(const char *text, uint8_t ret[TOKEN_HASH_BYTES])
{
    EVP_Digest(text, strlen(text), ret, NULL, EVP_sha256(), NULL);
}

struct identities *identities_new(void)
{
    return must_calloc(1, sizeof(struct identities));
}

static struct holder *find_holder(const struct identities *ids, const char *allocation_id)
{
    struct holder *h;
    HASH_FIND_STR(ids->holders, allocation_id, h);
    return h;
}

static struct holder *holder_of(struct identities *ids, const char *allocation_id)
{
    struct holder *h = find_holder(ids, allocation_id);
    if (h || !*allocation_id)
        return h;
    h = must_calloc(1, sizeof(*h));
    snprintf(h->allocation_id, sizeof(h->allocation_id), "%s", allocation_id);
    HASH_ADD_STR(ids->holders, allocation_id, h);
    return h;
}

static void leave_holder(struct identities *ids, struct session_entry *e)
{
    struct holder *h = e->holder;
    if (!h)
        return;
    LIST_REMOVE(e, in_holder);
    e->holder = NULL;
    if (!LIST_EMPTY(&h->sessions))
        return;
    HASH_DEL(ids->holders, h);
    free(h);
}

static struct user_entry *find_user(const struct identities *ids, int user_id)
{
    struct user_entry *e;
    HASH_FIND(by_id, ids->users_by_id, &user_id, sizeof(user_id), e);
    return e;
}

static void leave_user(struct session_entry *e)
{
    if (e->user)
        LIST_REMOVE(e, of_user);
    e->user = NULL;
}

static void free_session(struct identities *ids, struct session_entry *e)
{
    if (ids->on_end)
        ids->on_end(ids->on_end_ctx, e->hash);
    leave_holder(ids, e);
    leave_user(e);
    HASH_DEL(ids->sessions, e);
    free(e);
}

void identities_free(struct identities *ids)
{
    if (!ids)
        return;
    struct session_entry *s, *s_next;
    HASH_ITER(hh, ids->sessions, s, s_next)
        free_session(ids, s);
    struct user_entry *u, *u_next;
    HASH_ITER(by_id, ids->users_by_id, u, u_next) {
        HASH_DELETE(by_id, ids->users_by_id, u);
        HASH_DELETE(by_name, ids->users_by_name, u);
        free(u);
    }
    free(ids);
}

void identities_put_user(struct identities *ids, const struct identity_user *u)
{
    loop_assert();
    struct user_entry *e = find_user(ids, u->id);
    if (e) {
        HASH_DELETE(by_id, ids->users_by_id, e);
        HASH_DELETE(by_name, ids->users_by_name, e);
    } else {
        e = must_calloc(1, sizeof(*e));
    }
    e->user = *u;
    HASH_ADD(by_id, ids->users_by_id, user.id, sizeof(e->user.id), e);
    HASH_ADD_KEYPTR(by_name, ids->users_by_name, e->user.username, strlen(e->user.username), e);
}

const struct identity_user *identities_user(const struct identities *ids, int user_id)
{
    loop_assert();
    const struct user_entry *e = find_user(ids, user_id);
    return e ? &e->user : NULL;
}

const struct identity_user *identities_user_by_name(const struct identities *ids, const char *username)
{
    loop_assert();
    struct user_entry *e;
    HASH_FIND(by_name, ids->users_by_name, username, strlen(username), e);
    return e ? &e->user : NULL;
}

void identities_put_session(struct identities *ids, const uint8_t hash[TOKEN_HASH_BYTES],
                            const struct identity_session *s)
{
    loop_assert();
    struct session_entry *e;
    HASH_FIND(hh, ids->sessions, hash, TOKEN_HASH_BYTES, e);
    if (!e) {
        e = must_calloc(1, sizeof(*e));
        memcpy(e->hash, hash, TOKEN_HASH_BYTES);
        HASH_ADD(hh, ids->sessions, hash, TOKEN_HASH_BYTES, e);
    }
    leave_holder(ids, e);
    leave_user(e);
    e->id = s->id;
    e->user_id = s->user_id;
    e->kind = s->kind;
    e->scope = s->scope;
    e->access_token = s->access_token;
    e->user = find_user(ids, s->user_id);
    if (e->user)
        LIST_INSERT_HEAD(&e->user->sessions, e, of_user);
    e->expires_at_us = s->expires_at_us;
    e->password_at_us = s->password_at_us;
    e->holder = holder_of(ids, s->allocation_id);
    if (e->holder)
        LIST_INSERT_HEAD(&e->holder->sessions, e, in_holder);
}

void identities_drop_session(struct identities *ids, const uint8_t hash[TOKEN_HASH_BYTES])
{
    loop_assert();
    struct session_entry *e;
    HASH_FIND(hh, ids->sessions, hash, TOKEN_HASH_BYTES, e);
    if (e)
        free_session(ids, e);
}

static bool ends(const struct session_entry *e, enum identity_end end)
{
    switch (end) {
    case IDENTITY_END_PASSWORD:
        return e->kind != PRINCIPAL_TASK && !e->access_token;
    case IDENTITY_END_LOGINS:
        return e->kind == PRINCIPAL_USER && !e->access_token;
    default:
        return true;
    }
}

void identities_drop_sessions_of_user(struct identities *ids, int user_id, enum identity_end end,
                                      const uint8_t spared[TOKEN_HASH_BYTES])
{
    loop_assert();
    const struct user_entry *u = find_user(ids, user_id);
    for (struct session_entry *e = u ? LIST_FIRST(&u->sessions) : NULL, *next; e; e = next) {
        next = LIST_NEXT(e, of_user);
        if (ends(e, end) && !(spared && memcmp(e->hash, spared, TOKEN_HASH_BYTES) == 0))
            free_session(ids, e);
    }
}

void identities_drop_sessions_of_allocation(struct identities *ids, const char *allocation_id)
{
    loop_assert();
    struct holder *h = find_holder(ids, allocation_id);
    for (struct session_entry *e = h ? LIST_FIRST(&h->sessions) : NULL, *next; e; e = next) {
        next = LIST_NEXT(e, in_holder);
        free_session(ids, e); /* frees the holder, too, if this was its last session */
    }
}

void identities_drop_expired(struct identities *ids, int64_t now_us)
{
    loop_assert();
    struct session_entry *e, *next;
    HASH_ITER(hh, ids->sessions, e, next)
        if (e->expires_at_us && e->expires_at_us <= now_us)
            free_session(ids, e);
}

void identities_on_end(struct identities *ids, void (*fn)(void *ctx, const uint8_t hash[TOKEN_HASH_BYTES]), void *ctx)
{
    ids->on_end = fn;
    ids->on_end_ctx = ctx;
}

int identities_session_count(const struct identities *ids)
{
    return HASH_COUNT(ids->sessions);
}

int identities_authenticate(const struct identities *ids, const char *token, int64_t now_us, struct principal *ret,
                            struct error *err)
{
    loop_assert();
    if (!token || !*token)
        return error_set(err, ERR_UNAUTHENTICATED, "token missing");
    uint8_t hash[TOKEN_HASH_BYTES];
    token_hash(token, hash);
    struct session_entry *e;
    HASH_FIND(hh, ids->sessions, hash, TOKEN_HASH_BYTES, e);
    if (!e || (e->expires_at_us && e->expires_at_us <= now_us))
        return error_set(err, ERR_UNAUTHENTICATED, "invalid credentials");
    const struct identity_user *u = e->user ? &e->user->user : NULL;
    if (!u || !u->active)
        return error_set(err, ERR_FORBIDDEN, "user does not have permission");
    *ret = (struct principal){.kind = e->kind,
                              .user_id = u->id,
                              .admin = u->admin && e->kind == PRINCIPAL_USER,
                              .scope = e->scope,
                              .access_token = e->access_token,
                              .session_id = e->id,
                              .password_at_us = e->password_at_us};
    memcpy(ret->token_hash, hash, sizeof(hash));
    memcpy(ret->username, u->username, sizeof(ret->username));
    if (e->kind == PRINCIPAL_TASK && e->holder)
        memcpy(ret->allocation_id, e->holder->allocation_id, sizeof(ret->allocation_id));
    return 0;
}
