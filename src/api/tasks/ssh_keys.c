#include "api/tasks/ssh_keys.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/base64.h"
#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/base/strbuf.h"
#include "common/json/json.h"
#include "common/system/random.h"

#define COMMENT "determined"

/* The form of a key file is described in OpenSSH's PROTOCOL.key, the fields of each type of key in RFC 4253 (ssh-rsa),
 * RFC 5656 (ECDSA), RFC 8709 (Ed25519), and in draft-miller-ssh-agent (private keys). */
enum { ED25519_BYTES = 32, FILE_BLOCK = 8, LINE = 70 };

/* ---- the encoding of RFC 4251 ------------------------------------------------------------------------------------ */

static void add_u32(struct strbuf *b, uint32_t n)
{
    const unsigned char bytes[] = {(unsigned char)(n >> 24), (unsigned char)(n >> 16), (unsigned char)(n >> 8),
                                   (unsigned char)n};
    strbuf_add(b, (const char *)bytes, sizeof(bytes));
}

static void add_bytes(struct strbuf *b, const void *data, size_t n)
{
    add_u32(b, (uint32_t)n);
    strbuf_add(b, data, n);
}

static void add_text(struct strbuf *b, const char *s)
{
    add_bytes(b, s, strlen(s));
}

/* Adds a positive number: big-endian, with a zero byte in front if the first bit is set. */
static void add_number(struct strbuf *b, const BIGNUM *n)
{
    size_t size = (size_t)BN_num_bytes(n);
    unsigned char *bytes = must_calloc(1, size + 1);
    BN_bn2bin(n, bytes + 1);
    bool high = size > 0 && (bytes[1] & 0x80);
    add_bytes(b, high ? bytes : bytes + 1, size + high);
    OPENSSL_cleanse(bytes, size + 1);
    free(bytes);
}

/* ---- the fields of each type of key ------------------------------------------------------------------------------ */

/* Adds some numbers of a key, by their names in OpenSSL. */
static int add_numbers(struct strbuf *b, EVP_PKEY *key, const char *const *name, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        BIGNUM *number = NULL;
        if (EVP_PKEY_get_bn_param(key, name[i], &number) != 1)
            return -1;
        add_number(b, number);
        BN_clear_free(number);
    }
    return 0;
}

static int add_rsa_public(struct strbuf *b, EVP_PKEY *key)
{
    static const char *const numbers[] = {OSSL_PKEY_PARAM_RSA_E, OSSL_PKEY_PARAM_RSA_N};
    return add_numbers(b, key, numbers, sizeof(numbers) / sizeof(*numbers));
}

static int add_rsa_private(struct strbuf *b, EVP_PKEY *key)
{
    static const char *const numbers[] = {OSSL_PKEY_PARAM_RSA_N,       OSSL_PKEY_PARAM_RSA_E,
                                          OSSL_PKEY_PARAM_RSA_D,       OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
                                          OSSL_PKEY_PARAM_RSA_FACTOR1, OSSL_PKEY_PARAM_RSA_FACTOR2};
    return add_numbers(b, key, numbers, sizeof(numbers) / sizeof(*numbers));
}

static int add_ecdsa_public(struct strbuf *b, EVP_PKEY *key)
{
    unsigned char *point = NULL;
    size_t n = EVP_PKEY_get1_encoded_public_key(key, &point); /* uncompressed, as OpenSSH wants it */
    add_text(b, "nistp256");
    add_bytes(b, point, n);
    OPENSSL_free(point);
    return n ? 0 : -1;
}

static int add_ecdsa_private(struct strbuf *b, EVP_PKEY *key)
{
    static const char *const numbers[] = {OSSL_PKEY_PARAM_PRIV_KEY};
    return add_ecdsa_public(b, key) < 0 ? -1 : add_numbers(b, key, numbers, 1);
}

static int add_ed25519_public(struct strbuf *b, EVP_PKEY *key)
{
    unsigned char bytes[ED25519_BYTES];
    size_t n = sizeof(bytes);
    if (EVP_PKEY_get_raw_public_key(key, bytes, &n) != 1)
        return -1;
    add_bytes(b, bytes, n);
    return 0;
}

static int add_ed25519_private(struct strbuf *b, EVP_PKEY *key)
{
    unsigned char both[2 * ED25519_BYTES];
    size_t seed = ED25519_BYTES, rest = ED25519_BYTES;
    if (add_ed25519_public(b, key) < 0 || EVP_PKEY_get_raw_private_key(key, both, &seed) != 1 ||
        EVP_PKEY_get_raw_public_key(key, both + ED25519_BYTES, &rest) != 1)
        return -1;
    add_bytes(b, both, sizeof(both));
    OPENSSL_cleanse(both, sizeof(both));
    return 0;
}

static EVP_PKEY *new_rsa(int bits)
{
    return EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)bits);
}

static EVP_PKEY *new_ecdsa(int bits)
{
    (void)bits;
    return EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
}

static EVP_PKEY *new_ed25519(int bits)
{
    (void)bits;
    return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
}

static const struct key_type {
    const char *name, *ssh_name;
    EVP_PKEY *(*make)(int bits);
    int (*add_public)(struct strbuf *b, EVP_PKEY *key);
    int (*add_private)(struct strbuf *b, EVP_PKEY *key);
} types[] = {
    {"ED25519", "ssh-ed25519", new_ed25519, add_ed25519_public, add_ed25519_private},
    {"ECDSA", "ecdsa-sha2-nistp256", new_ecdsa, add_ecdsa_public, add_ecdsa_private},
    {"RSA", "ssh-rsa", new_rsa, add_rsa_public, add_rsa_private},
};

/* ---- the texts --------------------------------------------------------------------------------------------------- */

static void wipe(struct strbuf *b)
{
    if (b->s)
        OPENSSL_cleanse(b->s, b->n);
    strbuf_release(b);
}

/* Adds base64 in lines of at most `line` characters. */
static void add_base64(struct strbuf *out, const struct strbuf *data, size_t line)
{
    struct strbuf text = STRBUF_INIT;
    base64_encode(data->s, data->n, &text);
    for (size_t at = 0; at < text.n; at += line) {
        if (at > 0)
            strbuf_addc(out, '\n');
        strbuf_add(out, text.s + at, text.n - at < line ? text.n - at : line);
    }
    wipe(&text);
}

/* The part of a key file that would be encrypted if the key had a passphrase. */
static int add_secrets(const struct key_type *type, EVP_PKEY *key, struct strbuf *b)
{
    uint32_t check;
    if (random_bytes(&check, sizeof(check), NULL) < 0)
        return -1;
    add_u32(b, check);
    add_u32(b, check);
    add_text(b, type->ssh_name);
    if (type->add_private(b, key) < 0)
        return -1;
    add_text(b, COMMENT);
    for (char pad = 1; b->n % FILE_BLOCK; pad++)
        strbuf_addc(b, pad);
    return 0;
}

static int encode_private(const struct key_type *type, EVP_PKEY *key, const struct strbuf *public_key, struct arena *a,
                          const char **ret)
{
    static const char magic[] = "openssh-key-v1"; /* with its NUL */
    struct strbuf file = STRBUF_INIT, secrets = STRBUF_INIT, text = STRBUF_INIT;
    int rc = add_secrets(type, key, &secrets);
    strbuf_add(&file, magic, sizeof(magic));
    add_text(&file, "none"); /* the cipher */
    add_text(&file, "none"); /* what makes a key of the passphrase … */
    add_text(&file, "");     /* … and its options */
    add_u32(&file, 1);       /* the number of keys */
    add_bytes(&file, public_key->s, public_key->n);
    add_bytes(&file, strbuf_str(&secrets), secrets.n);
    strbuf_adds(&text, "-----BEGIN OPENSSH PRIVATE KEY-----\n");
    add_base64(&text, &file, LINE);
    strbuf_adds(&text, "\n-----END OPENSSH PRIVATE KEY-----\n");
    *ret = arena_strdup(a, text.s);
    wipe(&secrets);
    wipe(&file);
    wipe(&text);
    return rc;
}

/* Writes the private key in the form PKCS #8, encrypted. */
static int encode_encrypted(EVP_PKEY *key, const char *passphrase, struct arena *a, const char **ret)
{
    char *text = NULL;
    BIO *out = BIO_new(BIO_s_mem());
    int ok = out && PEM_write_bio_PKCS8PrivateKey(out, key, EVP_aes_256_cbc(), passphrase, (int)strlen(passphrase),
                                                  NULL, NULL);
    long n = ok ? BIO_get_mem_data(out, &text) : 0;
    if (n > 0)
        *ret = arena_strndup(a, text, (size_t)n);
    BIO_free(out);
    return n > 0 ? 0 : -1;
}

static int encode(const struct key_type *type, EVP_PKEY *key, const char *passphrase, struct arena *a,
                  struct ssh_keys *ret)
{
    cleanup_strbuf struct strbuf public_key = STRBUF_INIT, text = STRBUF_INIT;
    struct ssh_keys keys;
    add_text(&public_key, type->ssh_name);
    if (type->add_public(&public_key, key) < 0)
        return -1;
    int rc = passphrase ? encode_encrypted(key, passphrase, a, &keys.private_key)
                        : encode_private(type, key, &public_key, a, &keys.private_key);
    if (rc < 0)
        return -1;
    strbuf_addf(&text, "%s ", type->ssh_name);
    add_base64(&text, &public_key, public_key.n * 2);
    strbuf_adds(&text, " " COMMENT "\n");
    keys.public_key = arena_strdup(a, text.s);
    *ret = keys;
    return 0;
}

static const struct key_type *find_type(const char *name)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

int ssh_keys_new(const struct ssh_keys_request *rq, struct arena *a, struct ssh_keys *ret, struct error *err)
{
    const struct key_type *t = find_type(rq->type);
    if (!t)
        return error_set(err, ERR_INVALID, "security.ssh.key_type: there is no type \"%s\" of SSH keys", rq->type);
    if (rq->passphrase && t->make == new_ed25519)
        t = find_type("ECDSA");
    EVP_PKEY *key = t->make(rq->rsa_bits > 0 ? rq->rsa_bits : SSH_KEYS_RSA_BITS);
    int rc = key ? encode(t, key, rq->passphrase, a, ret) : -1;
    EVP_PKEY_free(key);
    return rc < 0 ? error_set(err, ERR_INTERNAL, "OpenSSL makes no SSH key of type %s", rq->type) : 0;
}

int ssh_keys_read_passphrase(const void *data, size_t n, struct arena *a, const char **ret, struct error *err)
{
    cleanup_json struct json_object *tree = NULL;
    struct json_object *passphrase;
    *ret = NULL;
    if (n == 0)
        return 0;
    if (json_parse(data, n, &tree, err) < 0)
        return error_wrap(err, "data");
    if (!json_object_object_get_ex(tree, "passphrase", &passphrase) || !passphrase)
        return 0;
    const char *text = json_object_get_string(passphrase);
    if (!json_object_is_type(passphrase, json_type_string) || !*text)
        return error_set(err, ERR_INVALID, "data.passphrase must be a text that is not empty");
    *ret = arena_strdup(a, text);
    return 0;
}
