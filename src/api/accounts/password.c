#include "api/accounts/password.h"
#include "common/base/hex.h"
#include "common/base/utf8.h"
#include "common/system/random.h"

#include <argon2.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>
#include <strings.h>

/* A check of a password should take 50 to 100 ms. Two passes over 48 MiB in one thread take 75 ms of CPU on a core
 * of an AMD EPYC of 2024 (bench/run.py login). */
enum {
    ARGON_PASSES = 2,
    ARGON_KIB = 48 * 1024,
    ARGON_LANES = 1,
    SALT_BYTES = 16,
    HASH_BYTES = 32,
    WIRE_HASH_CHARS = 128, /* SHA-512 in hexadecimal digits */
};

static const char wire_salt[] = "GubPEmmotfiK9TMD6Zdw"; /* fixed by the released clients, not a secret */

int password_wire_form(const char *password, bool is_hashed, struct arena *a, const char **ret, struct error *err)
{
    size_t n = password ? strlen(password) : 0;
    if (n > PASSWORD_PLAIN_MAX)
        return error_set(err, ERR_INVALID, "the password has %zu bytes, at most %d are accepted", n,
                         PASSWORD_PLAIN_MAX);
    if (n == 0 || is_hashed) {
        *ret = n ? password : "";
        return 0;
    }
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned digest_n = 0;
    char *text = arena_printf(a, "%s%s", wire_salt, password);
    if (EVP_Digest(text, strlen(text), digest, &digest_n, EVP_sha512(), NULL) != 1)
        return error_set(err, ERR_INTERNAL, "SHA-512 is not available in this OpenSSL");
    *ret = hex_in_arena(digest, digest_n, a);
    return 0;
}

static bool is_hash(const char *s)
{
    return strlen(s) == WIRE_HASH_CHARS && strspn(s, "0123456789abcdef") == WIRE_HASH_CHARS;
}

/* Whether `hashed` is the wire form of `plain`. */
static bool is_hash_of(const char *hashed, const char *plain)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const char *wire;
    return password_wire_form(plain, /* is_hashed= */ false, &a, &wire, NULL) == 0 && strcmp(wire, hashed) == 0;
}

int password_check_new(const char *password, bool is_hashed, size_t min, const char *username, struct error *err)
{
    if (is_hashed && !is_hash(password))
        return error_set(err, ERR_INVALID,
                         "isHashed is true, but the password is not the client's hash of one: %d hexadecimal digits in "
                         "lower case",
                         WIRE_HASH_CHARS);
    if (!is_hashed && utf8_count(password) < min)
        return error_set(err, ERR_INVALID, "the password has %zu characters, it must have %zu or more",
                         utf8_count(password), min);
    if (is_hashed ? is_hash_of(password, username) : strcasecmp(password, username) == 0)
        return error_set(err, ERR_INVALID, "the password must not be the user's name");
    return 0;
}

int password_store_form(const char *wire, char ret[PASSWORD_STORED_MAX], struct error *err)
{
    if (!*wire) {
        ret[0] = 0;
        return 0;
    }
    unsigned char salt[SALT_BYTES];
    if (random_bytes(salt, sizeof(salt), err) < 0)
        return -1;
    int rc = argon2id_hash_encoded(ARGON_PASSES, ARGON_KIB, ARGON_LANES, wire, strlen(wire), salt, sizeof(salt),
                                   HASH_BYTES, ret, PASSWORD_STORED_MAX);
    if (rc != ARGON2_OK)
        return error_set(err, ERR_NO_MEMORY, "hashing a password: %s", argon2_error_message(rc));
    return 0;
}

bool password_matches(const char *wire, const char *stored)
{
    if (!*wire || !*stored)
        return !*wire && !*stored;
    return argon2id_verify(stored, wire, strlen(wire)) == ARGON2_OK;
}

void password_burn_check(const char *wire)
{
    static const unsigned char salt[SALT_BYTES] = "no such account";
    unsigned char hash[HASH_BYTES];
    argon2id_hash_raw(ARGON_PASSES, ARGON_KIB, ARGON_LANES, wire, strlen(wire), salt, sizeof(salt), hash, sizeof(hash));
    OPENSSL_cleanse(hash, sizeof(hash));
}

int password_generate(char ret[17], struct error *err)
{
    static const char *const classes[] = {"ABCDEFGHJKLMNPQRSTUVWXYZ", "abcdefghijkmnopqrstuvwxyz", "23456789"};
    unsigned char bytes[32];
    if (random_bytes(bytes, sizeof(bytes), err) < 0)
        return -1;
    for (int i = 0; i < 16; i++) {
        /* The first three characters guarantee one of each class. 16 characters of at least 4.5 bits have
         * more than 75 bits. */
        const char *set = classes[i < 3 ? i : bytes[16 + i] % 3];
        ret[i] = set[bytes[i] % strlen(set)];
    }
    ret[16] = 0;
    OPENSSL_cleanse(bytes, sizeof(bytes));
    return 0;
}
