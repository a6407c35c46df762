/* Passwords: what is sent, what is stored, and how one is checked.
 *
 * Clients send sha512("GubPEmmotfiK9TMD6Zdw" + plain) in lower-case hex with isHashed
 * (docs/spec/sessions.md#passwords); a plain password is hashed here in the same way. This is the wire form. What is
 * stored is argon2id of that text (RFC 9106; the parameters are fixed at build time so that a check takes 50 to 100
 * ms), never the text itself. The empty password stays empty and matches only an account that has no password.
 * Hashing and checking take much CPU: do both in the password lane (password_lane.h), never on the loop. */
#ifndef DET_API_ACCOUNTS_PASSWORD_H
#define DET_API_ACCOUNTS_PASSWORD_H

#include <stdbool.h>

#include "common/base/arena.h"
#include "common/base/error.h"

#define PASSWORD_STORED_MAX 256
#define PASSWORD_PLAIN_MAX 1024 /* bytes accepted on the wire */

/* Whether it may become the user's password: at least `min` characters, and not the user's name. If the
 * client has hashed it, only this can be checked: that it is a hash, and that it is not the hash of the name. */
int password_check_new(const char *password, bool is_hashed, size_t min, const char *username, struct error *err);
/* The wire form of a password that is given plain or hashed. */
int password_wire_form(const char *password, bool is_hashed, struct arena *a, const char **ret, struct error *err);
/* The form that is stored. For an empty `wire` it is empty. */
int password_store_form(const char *wire, char ret[PASSWORD_STORED_MAX], struct error *err);
bool password_matches(const char *wire, const char *stored);
/* Takes as long as a real check, so that the time of an answer does not tell whether an account exists. */
void password_burn_check(const char *wire);
/* Makes a first password that people can type: 16 characters, at least one upper-case letter, one lower-case letter
 * and one digit, and no characters that look alike. */
int password_generate(char ret[17], struct error *err);

#endif
