/* Users and their sessions (docs/spec/sessions.md), held in memory by the loop, so that authenticating a request costs
 * one SHA-256 and one hash lookup. They are loaded from the store at the start, and follow each committed change.
 *
 * A token is "det1." and 32 random bytes in URL-safe base64; the store and this table hold only its SHA-256. Sessions
 * of users end by logout, expiry (security.session_lifetime), a changed password or a deactivated account; access
 * tokens by expiry, by being revoked, or with the account; both sessions of a task, its own and the one on behalf of
 * its owner, end with its allocation at the latest. Loop's thread only.
 *
 * Whoever stores users and sessions on the writer's thread brings them here in the job's completion: completions come
 * in the order of the commits, so that a session can't outlive, in memory, the account that ended it in the store. */
#ifndef DET_API_PIPELINE_IDENTITY_H
#define DET_API_PIPELINE_IDENTITY_H

#include "api/pipeline/handler.h"

#define TOKEN_PREFIX "det1."
#define TOKEN_TEXT_MAX 64
#define TOKEN_HASH_BYTES 32

struct token {
    char text[TOKEN_TEXT_MAX];
    uint8_t hash[TOKEN_HASH_BYTES];
};

int token_new(struct token *ret, struct error *err);
void token_hash(const char *text, uint8_t ret[TOKEN_HASH_BYTES]);
bool token_has_form(const char *text); /* whether token_new() makes texts like this one */

struct identity_user {
    int id;
    char username[128];
    char display_name[128];
    bool admin, active, remote;
    int64_t modified_at_us, last_auth_at_us;
    bool has_agent_user; /* the account on agents that this user's tasks run as */
    int agent_uid, agent_gid;
    char agent_user[64], agent_group[64];
};

struct identity_session {
    enum principal_kind kind; /* what the session's token stands for */
    enum access_scope scope;
    bool access_token; /* created by PostAccessToken; kind is PRINCIPAL_USER */
    int64_t id;
    int user_id;
    int64_t expires_at_us;   /* 0: never (lives as long as its allocation) */
    int64_t password_at_us;  /* when a password opened the session; 0: no password did */
    char allocation_id[128]; /* "" for logins */
};

struct identities *identities_new(void);
void identities_free(struct identities *ids);

void identities_put_user(struct identities *ids, const struct identity_user *u); /* adds or replaces */
const struct identity_user *identities_user(const struct identities *ids, int user_id);
const struct identity_user *identities_user_by_name(const struct identities *ids, const char *username);

void identities_put_session(struct identities *ids, const uint8_t hash[TOKEN_HASH_BYTES],
                            const struct identity_session *s);
void identities_drop_session(struct identities *ids, const uint8_t hash[TOKEN_HASH_BYTES]);
/* Which sessions of a user end. */
enum identity_end {
    IDENTITY_END_ALL,      /* the account is deactivated */
    IDENTITY_END_PASSWORD, /* the password has changed: logins, and those of tasks on behalf of their owner */
    IDENTITY_END_LOGINS,   /* the user has logged out everywhere */
};
/* Ends sessions of the user, except `spared` (may be NULL). */
void identities_drop_sessions_of_user(struct identities *ids, int user_id, enum identity_end end,
                                      const uint8_t spared[TOKEN_HASH_BYTES]);
void identities_drop_sessions_of_allocation(struct identities *ids, const char *allocation_id);
void identities_drop_expired(struct identities *ids, int64_t now_us);
int identities_session_count(const struct identities *ids);
/* `fn` is called for each session that ends, whatever ended it; a connection that outlives its request ends with its
 * session. It must not change sessions. NULL: nobody is told any more. */
void identities_on_end(struct identities *ids, void (*fn)(void *ctx, const uint8_t hash[TOKEN_HASH_BYTES]), void *ctx);

/* ERR_UNAUTHENTICATED for a missing, unknown or expired token, ERR_FORBIDDEN for an inactive user. */
int identities_authenticate(const struct identities *ids, const char *token, int64_t now_us, struct principal *ret,
                            struct error *err);

#endif
