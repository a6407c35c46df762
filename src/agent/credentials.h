/* With what this agent shows the master who it is, and by what it knows the master.
 *
 * In the order in which they are tried:
 *
 *   the key      that the master has given to this agent alone, or has accepted (data_dir/agent.key)
 *   the token    of the configuration
 *   the cluster's token where a master on this very machine keeps it, if this agent may read it
 *   a request    a key that the agent has made itself (data_dir/agent.request): it opens nothing until an admin accepts
 *                it, and becomes the agent's key then
 *
 * An agent that joins with a token sends its request in its hello, and the master makes it the agent's key. If the link
 * breaks before the agent has heard so, it does not know whether the master has stored the key and the token is used
 * up. It shows the key first then (it is *offered*), and the token if the master does not know the key.
 *
 * A token of `det agent join-token create` may end in "." and the SHA-256 of the master's certificate. The agent then
 * speaks TLS only, and only with a master that has this certificate (the pin), whoever signed it and for whatever
 * name. Pin and certificate are kept in data_dir: master.pin, master.crt. */
#ifndef DET_AGENT_CREDENTIALS_H
#define DET_AGENT_CREDENTIALS_H

#include <stdbool.h>

#include "agent/config.h"

enum {
    CREDENTIAL_MAX = 256,
    PIN_DIGITS = 64,
    OWN_KEY_DIGITS = 64, /* of a key that the agent makes; the master takes no other */
    PINS_MAX = 4,
    FINGERPRINT_TEXT = 40, /* with its NUL */
};

enum credential_kind {
    CREDENTIAL_NONE, /* there is none, and none can be made */
    CREDENTIAL_KEY,
    CREDENTIAL_TOKEN,
    CREDENTIAL_LOCAL_TOKEN,
    CREDENTIAL_REQUEST,
    CREDENTIAL_OFFERED, /* the request, which was sent in a hello */
};

struct credentials {
    const struct agent_config *config;
    enum credential_kind kind;                                 /* of `shown` */
    char shown[CREDENTIAL_MAX + 1];                            /* what the last request to the master had */
    char key[CREDENTIAL_MAX + 1], request[CREDENTIAL_MAX + 1]; /* "" if there is none */
    char pins[PINS_MAX * PIN_DIGITS + 1]; /* without a gap; "": the master is known as the configuration says */
    bool offered;                         /* the master may have made `request` the key */
    bool local_refused; /* the token of this machine's master is not that of the master which the agent asks */
};

void credentials_load(struct credentials *c, const struct agent_config *config);
/* Chooses what the next request shows. */
void credentials_choose(struct credentials *c);
/* Whether a token was shown, so that the agent needs a key of its own. */
bool credentials_are_token(const struct credentials *c);
/* The key that the hello of an agent offers which joins with a token; NULL: it offers none. */
const char *credentials_offer(struct credentials *c);
/* The master has refused what was shown: it does not know it (is_unknown), or this agent id has another key. why: its
 * words. */
void credentials_refused(struct credentials *c, bool is_unknown, const char *why);
/* The master has let the agent in. A request becomes the key. */
void credentials_accepted(struct credentials *c);
void credentials_take_key(struct credentials *c, const char *key); /* the master has given the agent a key */
/* The master has shown the certificate of a pin. It is kept, and its pin is from now on the only one. */
void credentials_take_certificate(struct credentials *c, const char *pem, const char *name, const char *fingerprint);
/* The master, which is connected, says that it has another certificate from now on. */
void credentials_add_pin(struct credentials *c, const char *fingerprint);
/* The fingerprint of what is shown, as `det agent pending` shows it. */
void credentials_fingerprint(const struct credentials *c, char ret[FINGERPRINT_TEXT]);

/* Splits a token into its secret, which the master is shown, and the pin: PIN_DIGITS hexadecimal digits, or "" if the
 * token has none. A token that ends in anything else has none. Both live in the arena. */
void credentials_split_token(const char *token, struct arena *a, const char **ret_secret, const char **ret_pin);

#endif
