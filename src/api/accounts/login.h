/* A login with a name and a password under way. auth.c checks the passwords of this cluster's own accounts;
 * directory_login.c asks the directory about all other names, if there is one. A password of an account of this cluster
 * never goes to the directory. */
#ifndef DET_API_ACCOUNTS_LOGIN_H
#define DET_API_ACCOUNTS_LOGIN_H

#include "api/accounts/login_attempt.h"
#include "api/accounts/login_session.h"
#include "api/accounts/password_lane.h"
#include "api/accounts/remote_account.h"
#include "net/ldap/ldap_login.h"

struct login {
    const char *account;       /* as it was typed */
    const char *password;      /* as it was sent */
    const char *wire_password; /* the password in the form that this cluster's accounts hash (password.h) */
    /* NULL, or why the directory cannot be given the password as it was sent, and what to do about that */
    const char *obstacle;
    struct login_attempt attempt;
    struct password_turn turn;
    struct store_user user; /* as it was when the password was checked */
    bool matches;
    struct ldap_person found; /* by the directory */
    enum error_kind why;      /* what has kept the directory from finding somebody; ERR_NONE: nothing has */
    const char *why_text;
    struct remote_person person;
    struct remote_account remote;
    struct login_session session;
};

/* In auth.c. Called when the login arrives and again when its turn has come: -1 refuses it. */
int login_turn(struct req *r, struct error *err);
/* Counts a failure, notes it in the log, and fills *err, with "invalid credentials" unless it has an error already.
 * Returns -1. `account` is what the log calls it: "-" for a name that may be a password in the wrong field. */
int login_failed(struct req *r, const char *account, const char *reason, struct error *err);
/* The last step, on the loop after the commit: opens the session and fills the reply. */
int login_answer(struct req *r, struct core *core, struct error *err);

/* In directory_login.c. The first step, on the loop: `return directory_login(…)`. */
int directory_login(struct req *r, struct core *core, struct error *err);
const char *directory_login_obstacle(const struct req *r, bool is_hashed);

#endif
