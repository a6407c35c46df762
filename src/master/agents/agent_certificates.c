#include "master/agents/agent_certificates.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/must.h"
#include "common/config/config.h"
#include "common/system/log.h"
#include "master/agents/agent_hub_internal.h"
#include "master/agents/agent_keys.h"
#include "net/http/http.h"
#include "net/tls/certificate.h"
#include "store/functions.h"

#define SECOND_US INT64_C(1000000)
/* A certificate that begins in the future is taken as far as this, since the master's clock may have been set back. */
#define CLOCK_TOLERANCE_US (300 * SECOND_US)
#define PAUSE_US SECOND_US /* between two certificates of one connection */

struct revocation {
    char agent_id[CORE_AGENT_ID_MAX];
    int64_t revoked_us;
    int64_t told_us; /* when the log has said that the agent is refused, by the monotonic clock; 0: not yet */
    UT_hash_handle hh;
};

struct agent_certificates {
    char *file;
    struct authority *authority;
    bool required;
    int64_t life_us;
    struct revocation *revoked;
};

/* ---- the authority ----------------------------------------------------------------------------------------------- */

static int open_authority(struct agent_certificates *x, struct error *err)
{
    if (access(x->file, F_OK) < 0) {
        if (authority_make(x->file, "Determined agents", err) < 0)
            return -1;
        log_info("agents.authority_made", "file=%s", log_quote(x->file));
    }
    if (authority_load(x->file, &x->authority, err) < 0)
        return error_wrap(err, "the authority of the agents' certificates (remove the file, and the master makes a new "
                               "one; agents then need new certificates)");
    if (authority_until_us(x->authority) - clock_now_us() < CERTIFICATE_EXPIRES_SOON_US)
        log_warning("agents.authority_ends",
                    "file=%s action=\"remove the file and restart the master: it makes a new "
                    "one, and agents get new certificates\"",
                    log_quote(x->file));
    return 0;
}

int agent_certificates_new(const struct config *c, const char *file, struct agent_certificates **ret, struct error *err)
{
    const char *mode = config_str(c, "security.tls.agent_certificates"),
               *ca = config_str(c, "resource_manager.client_ca");
    *ret = NULL;
    if (strcmp(mode, "none") == 0 || !*config_str(c, "security.tls.cert") || (ca && *ca))
        return 0;
    struct agent_certificates *x = must_calloc(1, sizeof(*x));
    x->file = must_strdup(file);
    x->required = strcmp(mode, "require") == 0;
    x->life_us = config_duration_us(c, "security.tls.agent_certificate_lifetime");
    if (open_authority(x, err) < 0) {
        agent_certificates_free(x);
        return -1;
    }
    *ret = x;
    return 0;
}

void agent_certificates_free(struct agent_certificates *x)
{
    struct revocation *v, *next;
    if (!x)
        return;
    HASH_ITER(hh, x->revoked, v, next) {
        HASH_DEL(x->revoked, v);
        free(v);
    }
    authority_free(x->authority);
    free(x->file);
    free(x);
}

const char *agent_certificates_file(const struct agent_certificates *x)
{
    return x->file;
}

/* ---- what was revoked -------------------------------------------------------------------------------------------- */

static struct revocation *find_revocation(const struct agent_certificates *x, const char *agent_id)
{
    struct revocation *v;
    HASH_FIND_STR(x->revoked, agent_id, v);
    return v;
}

static int64_t revoked_us_of(const struct agent_certificates *x, const char *agent_id)
{
    const struct revocation *v = find_revocation(x, agent_id);
    return v ? v->revoked_us : 0;
}

void agent_certificates_revoked(struct agent_certificates *x, const char *agent_id, int64_t revoked_us)
{
    if (!x)
        return;
    struct revocation *v = find_revocation(x, agent_id);
    if (!v) {
        v = must_calloc(1, sizeof(*v));
        snprintf(v->agent_id, sizeof(v->agent_id), "%s", agent_id);
        HASH_ADD_STR(x->revoked, agent_id, v);
    }
    /* as in the store (agent_revocations_put): begin_of() may have been a second ahead of the clock */
    v->revoked_us = revoked_us > v->revoked_us + SECOND_US ? revoked_us : v->revoked_us + SECOND_US;
    v->told_us = 0;
}

int agent_certificates_load(struct agent_certificates *x, struct store *db, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_agent_revocation *row;
    size_t n;
    if (!x)
        return 0;
    if (store_agent_revocations_all(db, &a, &row, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        agent_certificates_revoked(x, row[i].agent_id, row[i].revoked_us);
    return 0;
}

/* Notes that the agent has its certificate. From then on its key alone is not enough where certificates are required:
 * not before, because the connection may break while the certificate is on its way. */
struct certification {
    struct master *m;
    char agent_id[CORE_AGENT_ID_MAX];
    int64_t until_us;
};

static int store_certification(struct store *db, void *job, struct error *err)
{
    const struct certification *c = job;
    return store_agent_key_certify(db, c->agent_id, c->until_us, err);
}

static void certification_done(void *job, const struct error *err)
{
    struct certification *c = job;
    char until[CLOCK_TEXT_MAX];
    clock_format(c->until_us, until);
    if (err) {
        log_warning("agent.certificate_not_noted", "id=%s reason=%s", c->agent_id, log_quote(error_msg(err)));
    } else {
        agent_keys_certified(c->m->agent_keys, c->agent_id, c->until_us);
        log_info("agent.certificate", "id=%s until=%s", c->agent_id, until);
    }
    free(c);
}

static void note_certificate(struct master *m, const char *agent_id, int64_t until_us)
{
    struct certification *c = must_calloc(1, sizeof(*c));
    *c = (struct certification){.m = m, .until_us = until_us};
    snprintf(c->agent_id, sizeof(c->agent_id), "%s", agent_id);
    struct writer_job job = {store_certification, certification_done, c, .must = true};
    writer_submit(m->writer, &job, 1);
}

/* ---- an agent connects ------------------------------------------------------------------------------------------- */

/* Why a certificate that is signed by nobody whom the master knows, or is not valid now, cannot be used; NULL: it
 * can. One that begins until given_us may be used whatever the clock says. */
static const char *find_problem(const struct http_client_certificate *c, const char *authority, int64_t given_us,
                                struct arena *a)
{
    int64_t now_us = clock_now_us();
    char now[CLOCK_TEXT_MAX], from[CLOCK_TEXT_MAX], until[CLOCK_TEXT_MAX];
    clock_format(now_us, now);
    clock_format(c->facts.from_us, from);
    clock_format(c->facts.until_us, until);
    if (c->distrust)
        return arena_printf(a, "the agent's certificate is not one of %s (%s)", authority, c->distrust);
    if (c->facts.until_us <= now_us)
        return arena_printf(a,
                            "the agent's certificate has expired: it was valid until %s, and the master's clock says "
                            "%s",
                            until, now);
    if (c->facts.from_us > now_us + CLOCK_TOLERANCE_US && c->facts.from_us > given_us)
        return arena_printf(a,
                            "the agent's certificate is not valid yet: it begins at %s, and the master's clock says %s "
                            "(compare it with the right time)",
                            from, now);
    return NULL;
}

/* resource_manager.client_ca: the authority is not ours, and what its certificates are for is not looked at. */
static int check_for_client_ca(const struct master *m, const struct http_request *http, struct arena *a,
                               struct error *err)
{
    const char *ca = config_str(m->config, "resource_manager.client_ca"), *problem;
    struct http_client_certificate shown;
    if (!ca || !*ca)
        return 0;
    if (!http_request_client_certificate(http, &shown))
        return !config_bool(m->config, "resource_manager.require_authentication")
                   ? 0
                   : error_set(err, ERR_FORBIDDEN,
                               "agents of this cluster must show a certificate that its client_ca has signed: set "
                               "security.tls.client_cert and client_key in agent.yaml");
    problem = find_problem(&shown, "an authority in the master's client_ca", /* given_us= */ 0, a);
    return problem ? error_set(err, ERR_FORBIDDEN,
                               "%s: set security.tls.client_cert and client_key in agent.yaml to "
                               "another one",
                               problem)
                   : 0;
}

static int refuse_until_it_joins(const char *agent_id, const char *problem, struct error *err)
{
    return error_set(err, ERR_FORBIDDEN,
                     "%s. This cluster requires certificates (security.tls.agent_certificates). Revoke the agent's "
                     "key (det agent revoke-key %s); then it joins again, with a token or by det agent accept",
                     problem, agent_id);
}

static int refuse_revoked(const char *agent_id, struct error *err)
{
    return error_set(err, ERR_FORBIDDEN,
                     "the certificate of agent '%s' was revoked by an administrator. Revoke the agent's key (det agent "
                     "revoke-key %s); then it joins again, with a token or by det agent accept",
                     agent_id, agent_id);
}

static bool is_revoked(const struct agent_certificates *x, const struct http_client_certificate *shown,
                       const char *agent_id)
{
    return !shown->distrust && strcmp(shown->facts.name, agent_id) == 0 &&
           shown->facts.from_us <= revoked_us_of(x, agent_id);
}

bool agent_certificates_shows_revoked(struct agent_certificates *x, const struct http_request *http,
                                      const char *agent_id)
{
    struct http_client_certificate shown;
    int64_t now_us = clock_monotonic_us();
    if (!x || !http_request_client_certificate(http, &shown) || !is_revoked(x, &shown, agent_id))
        return false;
    struct revocation *v = find_revocation(x, agent_id);
    if (v && (!v->told_us || now_us - v->told_us >= REFUSAL_TOLD_US)) {
        v->told_us = now_us;
        log_warning("agent.refused", "id=%s reason=\"its key and certificate were revoked\"", log_quote(agent_id));
    }
    return true;
}

/* The agent has shown none. */
static int check_missing(const struct master *m, const char *agent_id, const struct agent_entry *entry,
                         struct error *err)
{
    if (!m->certificates->required || !agent_keys_certificate_us(m->agent_keys, agent_id))
        return 0; /* the agent is to be given its first certificate */
    return refuse_until_it_joins(agent_id,
                                 entry->joins ? "an agent of this id has a certificate, and a token lets in new agents "
                                                "only"
                                              : "the agent has been given a certificate, and does not show it",
                                 err);
}

int agent_certificates_check(struct master *m, const struct http_request *http, const char *agent_id,
                             const struct agent_entry *entry, struct arena *a, const char **ret_problem,
                             struct error *err)
{
    struct http_client_certificate shown;
    *ret_problem = NULL;
    if (!m->certificates)
        return check_for_client_ca(m, http, a, err);
    if (!http_request_client_certificate(http, &shown))
        return check_missing(m, agent_id, entry, err);
    if (!shown.distrust && strcmp(shown.facts.name, agent_id) != 0)
        return error_set(err, ERR_FORBIDDEN,
                         "the certificate is that of agent '%s', and this one says that it is '%s': each agent needs a "
                         "data_dir and an agent_id of its own",
                         shown.facts.name, agent_id);
    if (is_revoked(m->certificates, &shown, agent_id))
        return refuse_revoked(agent_id, err);
    /* what the agent was given after a revocation, for which the clock may have been ahead (begin_of) */
    int64_t given_us = revoked_us_of(m->certificates, agent_id) + SECOND_US;
    const char *problem = find_problem(&shown, "this master's authority", given_us, a);
    if (problem && m->certificates->required)
        return refuse_until_it_joins(agent_id, problem, err);
    *ret_problem = problem;
    if (!problem && !agent_keys_certificate_us(m->agent_keys, agent_id))
        note_certificate(m, agent_id, shown.facts.until_us); /* the agent's word that it has it was lost */
    if (problem)
        log_warning("agent.certificate_passed_over", "id=%s reason=%s action=\"the agent gets another one\"", agent_id,
                    log_quote(problem));
    return 0;
}

const char *agent_certificates_refuse_program(const struct master *m, const struct wire_link_agent_hello *hello)
{
    if (!m->certificates || !m->certificates->required || hello->takes_certificate)
        return NULL;
    return "this cluster requires certificates of its agents (security.tls.agent_certificates), and this agent does "
           "not ask for one: install the master's version on it, and let its configuration name no "
           "security.tls.client_cert";
}

/* ---- a certificate ----------------------------------------------------------------------------------------------- */

static void send_answer(struct link *l, const char *certificate, const char *problem)
{
    struct wire_link_agent_certificate body = {.certificate = certificate, .problem = problem};
    struct wire_link_master_message out = hub_message(l->hub);
    out.agent_certificate = &body;
    link_send(l, &out);
}

static void refuse_request(struct link *l, const char *why)
{
    log_warning("agent.certificate_refused", "id=%s reason=%s", l->agent_id, log_quote(why));
    send_answer(l, NULL, why);
}

/* A certificate begins after whatever was revoked, so that one that is given in the same second is not revoked. */
static int64_t begin_of(const struct agent_certificates *x, const char *agent_id, int64_t now_us)
{
    int64_t from_us = now_us / SECOND_US * SECOND_US, revoked_us = revoked_us_of(x, agent_id);
    return from_us > revoked_us ? from_us : (revoked_us / SECOND_US + 1) * SECOND_US;
}

static void give(struct link *l, const char *request)
{
    const struct agent_certificates *x = l->hub->m->certificates;
    int64_t from_us = begin_of(x, l->agent_id, clock_now_us()), until_us = from_us + x->life_us;
    cleanup_free char *certificate = NULL;
    cleanup_error struct error err = ERROR_INIT;
    if (authority_sign(x->authority, request, l->agent_id, from_us, until_us, &certificate, &err) < 0) {
        refuse_request(l, error_msg(&err));
        return;
    }
    l->given_until_us = until_us;
    send_answer(l, certificate, NULL);
}

void agent_certificates_answer(struct link *l, const struct wire_link_certificate_request *request)
{
    int64_t now_us = clock_monotonic_us();
    if (!l->hub->m->certificates) {
        refuse_request(l, "this master gives no certificates");
    } else if (request->taken) {
        if (l->given_until_us)
            note_certificate(l->hub->m, l->agent_id, l->given_until_us);
        l->given_until_us = 0;
    } else if (l->certified_us && now_us - l->certified_us < PAUSE_US) {
        refuse_request(l, "the agent asks for a certificate more often than once a second");
    } else {
        l->certified_us = now_us;
        give(l, request->request ? request->request : "");
    }
}
