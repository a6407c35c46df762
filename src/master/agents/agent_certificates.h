/* Certificates of agents (docs/decisions/0020). The master has a small authority of its own, in one file of its data
 * directory. It signs a certificate for each agent that has joined over TLS, for a key that the agent has made itself.
 * The agent shows the certificate beside its key (agent_keys.h) at each connection, and asks for another one in time.
 *
 *   none      no certificates; also without TLS, and with resource_manager.client_ca, which then decides
 *   accept    a certificate that cannot be used is a warning at both ends, and the agent is given another one
 *   require   an agent that has been given a certificate must show one that can be used
 *
 * In each of these, a certificate of another agent, or one that was revoked, is refused. Revoked are all certificates
 * that an agent has at a time: one row for each agent, until the last of these would have ended. Loop's thread only. */
#ifndef DET_MASTER_AGENTS_AGENT_CERTIFICATES_H
#define DET_MASTER_AGENTS_AGENT_CERTIFICATES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"

struct agent_certificates;
struct agent_entry;
struct config;
struct http_request;
struct link;
struct master;
struct store;
struct wire_link_agent_hello;
struct wire_link_certificate_request;

/* Reads the authority of the file, or makes it. *ret: NULL if there are to be none. */
int agent_certificates_new(const struct config *c, const char *file, struct agent_certificates **ret,
                           struct error *err);
void agent_certificates_free(struct agent_certificates *x); /* x may be NULL */
/* The file of the authority, which TLS is to ask clients for. */
const char *agent_certificates_file(const struct agent_certificates *x);
/* Reads what was revoked. x may be NULL here and below: then nothing was revoked, and no certificate is looked at. */
int agent_certificates_load(struct agent_certificates *x, struct store *db, struct error *err);

/* ---- an agent connects ---- */

/* Looks at what the agent has shown. ERR_FORBIDDEN: it is refused. *ret_problem: why what it has shown is of no use and
 * is passed over; NULL: there is nothing to say. The text lives in the arena. */
int agent_certificates_check(struct master *m, const struct http_request *http, const char *agent_id,
                             const struct agent_entry *entry, struct arena *a, const char **ret_problem,
                             struct error *err);
/* Whether the agent has shown a certificate of its own that was revoked, for which it is refused. The log says so, not
 * more often than every ten minutes. */
bool agent_certificates_shows_revoked(struct agent_certificates *x, const struct http_request *http,
                                      const char *agent_id);
/* Why an agent of this kind cannot be taken: it must have a certificate, and its program knows none. NULL: it can. */
const char *agent_certificates_refuse_program(const struct master *m, const struct wire_link_agent_hello *hello);

/* ---- its certificate ---- */

/* Answers the agent's request for a certificate, or hears that the agent has taken the one that it was given. */
void agent_certificates_answer(struct link *l, const struct wire_link_certificate_request *request);
/* All certificates that the agent has at this time are revoked, and that is stored. */
void agent_certificates_revoked(struct agent_certificates *x, const char *agent_id, int64_t revoked_us);

#endif
