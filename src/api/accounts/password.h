/* Passwords: what travels, what is stored, how it is checked.
 *
 * Clients send sha512("GubPEmmotfiK9TMD6Zdw" + plain) in lower-case hex with isHashed (docs/spec/sessions.md#passwords); a
 * plain one is hashed here the same way. Stored is argon2id of that text (RFC 9106; parameters fixed at build time so
 * that a check costs 50 to 100 ms), never the text itself. The empty password stays empty and matches only an account
 * that has none. Hashing and checking burn CPU: on the passwords' lane (password_lane.h), never on the loop. */
#ifndef DET_API_PASSWORD_H
#define DET_API_PASSWORD_H

#include <stdbool.h>

#include "common/base/arena.h"
#include "common/base/error.h"

#define PASSWORD_STORED_MAX 256
#define PASSWORD_MIN 8           /* characters */
#define PASSWORD_PLAIN_MAX 1024 /* bytes accepted on the wire */

/* Whether it may become somebody's password: 8 characters or more and not the user's name. Of one that the client has hashed
 * nothing can be measured, but that it is a hash, and not that of the name. */
int password_check_new(const char *password, bool is_hashed, const char *username, struct error *err);
/* The wire form, from either form. */
int password_wire_form(const char *password, bool is_hashed, struct arena *a, const char **ret, struct error *err);
/* wire "" gives stored "". */
int password_store_form(const char *wire, char ret[PASSWORD_STORED_MAX], struct error *err);
bool password_matches(const char *wire, const char *stored);
/* A check against nothing that takes as long as a real one, so that a missing account can't be told by the clock. */
void password_burn_check(const char *wire);
/* A first password for people to type: 16 characters, at least one each of upper, lower and digit, no look-alikes. */
int password_generate(char ret[17], struct error *err);

#endif
