#include "api/identity.h"

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct user_entry {
    struct identity_user user;
    UT_hash_handle by_id, by_name;
};

struct session_entry {
    uint8_t hash[TOKEN_HASH_BYTES];
    struct identity_session session;
    UT_hash_handle hh;
};

struct identities {
    struct user_entry *users_by_id, *users_by_name;
    struct session_entry *sessions;
};

int token_new(struct token *ret, struct error *err)
{
    unsigned char raw[32];
    char base64[48]; /* 44 characters of 32 bytes */
    if (RAND_bytes(raw, sizeof(raw)) != 1)
        return error_set(err, ERR_INTERNAL, "the system gives no random bytes");
    EVP_EncodeBlock((unsigned char *)base64, raw, sizeof(raw));
    for (char *p = base64; *p; p++) {
        if (*p == '+')
            *p = '-';
        else if (*p == '/')
            *p = '_';
        else if (*p == '=')
            *p = 0;
    }
    memcpy(ret->text, "det1.", 5);
    memcpy(ret->text + 5, base64, strlen(base64) + 1);
    token_hash(ret->text, ret->hash);
    return 0;
}

void token_hash(const char *text, uint8_t ret[TOKEN_HASH_BYTES])
{
    EVP_Digest(text, strlen(text), ret, NULL, EVP_sha256(), NULL);
}

struct identities *identities_new(void)
{
    return calloc(1, sizeof(struct identities));
}

static void free_session(struct identities *ids, struct session_entry *e)
{
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
    struct user_entry *e;
    HASH_FIND(by_id, ids->users_by_id, &u->id, sizeof(u->id), e);
    if (e) {
        HASH_DELETE(by_id, ids->users_by_id, e);
        HASH_DELETE(by_name, ids->users_by_name, e);
    } else {
        e = calloc(1, sizeof(*e));
        if (!e)
            abort();
    }
    e->user = *u;
    HASH_ADD(by_id, ids->users_by_id, user.id, sizeof(e->user.id), e);
    HASH_ADD_KEYPTR(by_name, ids->users_by_name, e->user.username, strlen(e->user.username), e);
}

const struct identity_user *identities_user(const struct identities *ids, int user_id)
{
    struct user_entry *e;
    HASH_FIND(by_id, ids->users_by_id, &user_id, sizeof(user_id), e);
    return e ? &e->user : NULL;
}

const struct identity_user *identities_user_by_name(const struct identities *ids, const char *username)
{
    struct user_entry *e;
    HASH_FIND(by_name, ids->users_by_name, username, strlen(username), e);
    return e ? &e->user : NULL;
}

void identities_put_session(struct identities *ids, const uint8_t hash[TOKEN_HASH_BYTES],
                            const struct identity_session *s)
{
    struct session_entry *e;
    HASH_FIND(hh, ids->sessions, hash, TOKEN_HASH_BYTES, e);
    if (!e) {
        e = calloc(1, sizeof(*e));
        if (!e)
            abort();
        memcpy(e->hash, hash, TOKEN_HASH_BYTES);
        HASH_ADD(hh, ids->sessions, hash, TOKEN_HASH_BYTES, e);
    }
    e->session = *s;
}

void identities_drop_session(struct identities *ids, int64_t session_id)
{
    struct session_entry *e, *next;
    HASH_ITER(hh, ids->sessions, e, next)
        if (e->session.id == session_id)
            free_session(ids, e);
}

void identities_drop_sessions_of_user(struct identities *ids, int user_id, bool only_logins)
{
    struct session_entry *e, *next;
    HASH_ITER(hh, ids->sessions, e, next)
        if (e->session.user_id == user_id && !(only_logins && e->session.allocation_id[0]))
            free_session(ids, e);
}

void identities_drop_sessions_of_allocation(struct identities *ids, const char *allocation_id)
{
    struct session_entry *e, *next;
    HASH_ITER(hh, ids->sessions, e, next)
        if (strcmp(e->session.allocation_id, allocation_id) == 0)
            free_session(ids, e);
}

void identities_drop_expired(struct identities *ids, int64_t now_us)
{
    struct session_entry *e, *next;
    HASH_ITER(hh, ids->sessions, e, next)
        if (e->session.expires_at_us && e->session.expires_at_us <= now_us)
            free_session(ids, e);
}

int identities_session_count(const struct identities *ids)
{
    return HASH_COUNT(ids->sessions);
}

int identities_authenticate(const struct identities *ids, const char *token, int64_t now_us, struct principal *ret,
                            struct error *err)
{
    if (!token || !*token)
        return error_set(err, ERR_UNAUTHENTICATED, "token missing");
    uint8_t hash[TOKEN_HASH_BYTES];
    token_hash(token, hash);
    struct session_entry *e;
    HASH_FIND(hh, ids->sessions, hash, TOKEN_HASH_BYTES, e);
    if (!e || (e->session.expires_at_us && e->session.expires_at_us <= now_us))
        return error_set(err, ERR_UNAUTHENTICATED, "invalid credentials");
    const struct identity_user *u = identities_user(ids, e->session.user_id);
    if (!u || !u->active)
        return error_set(err, ERR_FORBIDDEN, "user does not have permission");
    bool task = e->session.allocation_id[0] != 0;
    *ret = (struct principal){.kind = task ? PRINCIPAL_TASK : PRINCIPAL_USER, .user_id = u->id, .admin = u->admin,
                              .session_id = e->session.id};
    memcpy(ret->token_hash, hash, sizeof(hash));
    memcpy(ret->username, u->username, sizeof(ret->username));
    memcpy(ret->allocation_id, e->session.allocation_id, sizeof(ret->allocation_id));
    return 0;
}
