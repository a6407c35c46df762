/* This agent's certificate, which a master that speaks TLS gives it (docs/decisions/0020), and its renewal.
 *
 * Key and certificate lie in one file, data_dir/agent.pem (0600). The key is made here, a new one for each certificate,
 * and never leaves this machine. The agent judges times by the master's clock, which it learns from each hello, so that
 * a wrong clock of its own changes nothing. A certificate that the configuration names takes the place of all this. */
#ifndef DET_AGENT_OWN_CERTIFICATE_H
#define DET_AGENT_OWN_CERTIFICATE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/config.h"
#include "common/base/error.h"

struct own_certificate {
    const struct agent_config *config;
    char *file;
    bool usable; /* the file holds a certificate of this agent, and its key */
    int64_t from_us, until_us;
    char *requested_key;     /* of the request that the master has not answered yet; NULL: there is none */
    int64_t clock_offset_us; /* of the master's clock to this machine's monotonic clock */
};

/* ERR_NOT_FOUND: there is none yet. ERR_INVALID: the file cannot be used. *c is good for all calls in either case. */
int own_certificate_load(struct own_certificate *c, const struct agent_config *config, struct error *err);
void own_certificate_release(struct own_certificate *c);
/* The file to show to the master; NULL: there is none. */
const char *own_certificate_file(const struct own_certificate *c);
/* The certificate is not shown any more; the next one replaces it. */
void own_certificate_forget(struct own_certificate *c);
/* Removes a file that is not shown, because the agent gets a new key: the file belongs to an earlier key, or to another
 * id, and after a restart it would be shown beside the new key. */
void own_certificate_drop_leftover(const struct own_certificate *c);
/* Whether the agent takes one of the master. */
bool own_certificate_is_wanted(const struct own_certificate *c);
void own_certificate_set_clock(struct own_certificate *c, int64_t master_us);
/* How long it is until the certificate has to be renewed: two thirds of its time. 0: now. */
int64_t own_certificate_renewal_in_us(const struct own_certificate *c);
/* Makes a new key and a request for a certificate of it. *ret lives on the heap. */
int own_certificate_request(struct own_certificate *c, char **ret, struct error *err);
/* The master's answer to the request: the certificate. It is stored with its key, in place of the one before. */
int own_certificate_take(struct own_certificate *c, const char *pem, struct error *err);

#endif
