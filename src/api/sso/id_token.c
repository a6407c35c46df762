#include "api/sso/id_token.h"

#include <cjose/cjose.h>
#include <stdlib.h>
#include <string.h>

#include "api/rights/secret.h"
#include "common/base/strbuf.h"

enum { RSA_BITS_MIN = 2048, TOKEN_MAX = 64 * 1024 };

/* The algorithms that are accepted, and the keys that belong to them. Not here, and so refused: "none", and the
 * symmetric ones, for which whoever knows the provider's public key could make tokens. */
static const struct algorithm {
    const char *name, *kty, *crv;
} algorithms[] = {
    {"RS256", "RSA", ""},     {"RS384", "RSA", ""},     {"RS512", "RSA", ""},
    {"PS256", "RSA", ""},     {"PS384", "RSA", ""},     {"PS512", "RSA", ""},
    {"ES256", "EC", "P-256"}, {"ES384", "EC", "P-384"}, {"ES512", "EC", "P-521"},
};

static const char *text_of(struct json_object *o, const char *name)
{
    struct json_object *v = json_object_object_get(o, name);
    return json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
}

#define refuse(...) error_set(err, ERR_UNAUTHENTICATED, "the provider's ID token is refused: " __VA_ARGS__)

/* ---- the signature ----------------------------------------------------------------------------------------------- */

static bool fits(struct json_object *key, const struct algorithm *alg, const char *kid)
{
    const char *use = text_of(key, "use"), *of = text_of(key, "alg");
    return strcmp(text_of(key, "kty"), alg->kty) == 0 && (!*alg->crv || strcmp(text_of(key, "crv"), alg->crv) == 0) &&
           (!*use || strcmp(use, "sig") == 0) && (!*of || strcmp(of, alg->name) == 0) &&
           (!kid || strcmp(text_of(key, "kid"), kid) == 0);
}

/* The one key that fits. A token need not name its key if the provider has one of that kind only. */
static int choose_key(struct json_object *keys, const struct algorithm *alg, const char *kid, struct json_object **ret,
                      struct error *err)
{
    struct json_object *all = json_object_object_get(keys, "keys"), *found = NULL;
    size_t n = json_object_is_type(all, json_type_array) ? json_object_array_length(all) : 0, fitting = 0;
    for (size_t i = 0; i < n; i++) {
        struct json_object *key = json_object_array_get_idx(all, i);
        if (json_object_is_type(key, json_type_object) && fits(key, alg, kid)) {
            found = key;
            fitting++;
        }
    }
    if (fitting == 0)
        return error_set(
            err, ERR_NOT_FOUND,
            "the provider's ID token is refused: it is signed by a key that is not among the provider's keys");
    if (fitting > 1)
        return refuse("it does not say by which of several keys it is signed");
    *ret = found;
    return 0;
}

static cjose_jwk_t *import_key(struct json_object *key, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cjose_err why = {0};
    json_print(key, &text);
    cjose_jwk_t *jwk = cjose_jwk_import(text.s, text.n, &why);
    if (!jwk) {
        refuse("the provider's key cannot be read (%s)", why.message ? why.message : "?");
        return NULL;
    }
    if (strcmp(text_of(key, "kty"), "RSA") == 0 && cjose_jwk_get_keysize(jwk, &why) < RSA_BITS_MIN) {
        cjose_jwk_release(jwk);
        refuse("its RSA key has fewer than %d bits", RSA_BITS_MIN);
        return NULL;
    }
    return jwk;
}

static int find_algorithm(cjose_header_t *header, const struct algorithm **ret, struct error *err)
{
    const char *name = cjose_header_get(header, CJOSE_HDR_ALG, NULL);
    char *critical = cjose_header_get_raw(header, "crit", NULL);
    if (critical) {
        free(critical);
        return refuse("its header has extensions that must be understood (crit)");
    }
    for (size_t i = 0; name && i < sizeof(algorithms) / sizeof(*algorithms); i++) {
        if (strcmp(algorithms[i].name, name) == 0) {
            *ret = &algorithms[i];
            return 0;
        }
    }
    return refuse("it is signed by the algorithm \"%.20s\", accepted are RS, PS and ES with 256, 384 and 512",
                  name ? name : "");
}

static int check_signature(cjose_jws_t *jws, struct json_object *keys, struct error *err)
{
    cjose_header_t *header = cjose_jws_get_protected(jws);
    const struct algorithm *alg = NULL;
    struct json_object *key = NULL;
    cjose_err why = {0};
    if (find_algorithm(header, &alg, err) < 0 ||
        choose_key(keys, alg, cjose_header_get(header, CJOSE_HDR_KID, NULL), &key, err) < 0)
        return -1;
    cjose_jwk_t *jwk = import_key(key, err);
    if (!jwk)
        return -1;
    bool valid = cjose_jws_verify(jws, jwk, &why);
    cjose_jwk_release(jwk);
    return valid ? 0 : refuse("its signature is wrong");
}

/* ---- the claims -------------------------------------------------------------------------------------------------- */

static int check_audience(struct json_object *claims, const char *client_id, struct error *err)
{
    struct json_object *aud = json_object_object_get(claims, "aud"), *azp = json_object_object_get(claims, "azp");
    bool is_list = json_object_is_type(aud, json_type_array), named = strcmp(text_of(claims, "aud"), client_id) == 0;
    size_t n = is_list ? json_object_array_length(aud) : 1;
    for (size_t i = 0; is_list && i < n; i++) {
        struct json_object *one = json_object_array_get_idx(aud, i);
        named = named ||
                (json_object_is_type(one, json_type_string) && strcmp(json_object_get_string(one), client_id) == 0);
    }
    if (!named)
        return refuse("it is meant for another client (aud), not for \"%s\" (oidc.client_id)", client_id);
    if ((azp || n > 1) && strcmp(text_of(claims, "azp"), client_id) != 0)
        return refuse("it was given to another client (azp), not to \"%s\" (oidc.client_id)", client_id);
    return 0;
}

/* A number of seconds; false: it is missing, or is no number. */
static bool time_of(struct json_object *claims, const char *name, int64_t *ret)
{
    struct json_object *v = json_object_object_get(claims, name);
    if (!json_object_is_type(v, json_type_int) && !json_object_is_type(v, json_type_double))
        return false;
    *ret = json_object_get_int64(v);
    return true;
}

static int check_times(struct json_object *claims, int64_t now_s, struct error *err)
{
    int64_t exp, iat, nbf;
    if (!time_of(claims, "exp", &exp) || !time_of(claims, "iat", &iat))
        return refuse("it does not say when it was made and when it ends (iat, exp)");
    if (exp <= now_s - ID_TOKEN_LEEWAY_S)
        return refuse("it ended %lld s ago; are the clocks of master and provider right?", (long long)(now_s - exp));
    if (iat > now_s + ID_TOKEN_LEEWAY_S)
        return refuse("it was made %lld s from now; are the clocks of master and provider right?",
                      (long long)(iat - now_s));
    if (json_object_object_get(claims, "nbf") && (!time_of(claims, "nbf", &nbf) || nbf > now_s + ID_TOKEN_LEEWAY_S))
        return refuse("it is not valid yet (nbf)");
    return 0;
}

static int check_claims(struct json_object *claims, const struct id_token_expected *x, struct error *err)
{
    if (strcmp(text_of(claims, "iss"), x->issuer) != 0)
        return refuse("its issuer (iss) is \"%.200s\", expected is \"%s\"", text_of(claims, "iss"), x->issuer);
    if (check_audience(claims, x->client_id, err) < 0 || check_times(claims, x->now_s, err) < 0)
        return -1;
    const char *nonce = text_of(claims, "nonce");
    if (!secret_matches(nonce, strlen(nonce), x->nonce))
        return refuse("it was made for another login (nonce)");
    if (!*text_of(claims, "sub"))
        return refuse("it names nobody (sub)");
    return 0;
}

int id_token_verify(const char *token, struct json_object *keys, const struct id_token_expected *expected,
                    struct json_object **ret_claims, struct error *err)
{
    cleanup_json struct json_object *claims = NULL;
    cjose_err why = {0};
    uint8_t *text;
    size_t n;
    if (strlen(token) > TOKEN_MAX)
        return refuse("it has %zu bytes, at most %d are allowed", strlen(token), TOKEN_MAX);
    cjose_jws_t *jws = cjose_jws_import(token, strlen(token), &why);
    if (!jws)
        return refuse("it is no signed token (%s)", why.message ? why.message : "?");
    int rc = check_signature(jws, keys, err);
    if (rc == 0 && !cjose_jws_get_plaintext(jws, &text, &n, &why))
        rc = refuse("it has no content");
    if (rc == 0 &&
        (json_parse((const char *)text, n, &claims, NULL) < 0 || !json_object_is_type(claims, json_type_object)))
        rc = refuse("its content is no JSON object");
    cjose_jws_release(jws);
    if (rc < 0 || check_claims(claims, expected, err) < 0)
        return -1;
    *ret_claims = claims;
    claims = NULL;
    return 0;
}
