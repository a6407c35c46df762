#include "agent/own_certificate.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/system/files.h"
#include "net/tls/certificate.h"

#define CERTIFICATE_FILE "agent.pem"

static int read_own(struct own_certificate *c, struct error *err)
{
    struct certificate_facts facts;
    if (certificate_read(c->file, &facts, err) < 0)
        return -1;
    if (strcmp(facts.name, c->config->agent_id) != 0)
        return error_set(err, ERR_INVALID, "%s is the certificate of agent '%s', and this one is '%s'", c->file,
                         facts.name, c->config->agent_id);
    c->from_us = facts.from_us;
    c->until_us = facts.until_us;
    c->usable = true;
    return 0;
}

int own_certificate_load(struct own_certificate *c, const struct agent_config *config, struct error *err)
{
    *c = (struct own_certificate){.config = config, .file = path_join(config->data_dir, CERTIFICATE_FILE)};
    return own_certificate_is_wanted(c)
               ? read_own(c, err)
               : error_set(err, ERR_NOT_FOUND, "this agent takes no certificate of the master");
}

static void drop_request(struct own_certificate *c)
{
    certificate_free_key(c->requested_key);
    c->requested_key = NULL;
}

void own_certificate_release(struct own_certificate *c)
{
    drop_request(c);
    free(c->file);
}

const char *own_certificate_file(const struct own_certificate *c)
{
    return c->usable ? c->file : NULL;
}

void own_certificate_forget(struct own_certificate *c)
{
    c->usable = false;
}

void own_certificate_drop_leftover(const struct own_certificate *c)
{
    /* with a configured certificate the file is not the agent's own, wherever it lies */
    if (!c->usable && !*c->config->tls_client_cert)
        unlink(c->file);
}

bool own_certificate_is_wanted(const struct own_certificate *c)
{
    return c->config->tls && !*c->config->tls_client_cert;
}

void own_certificate_set_clock(struct own_certificate *c, int64_t master_us)
{
    c->clock_offset_us = master_us - clock_monotonic_us();
}

int64_t own_certificate_renewal_in_us(const struct own_certificate *c)
{
    if (!c->usable)
        return 0;
    int64_t due_us = c->from_us + (c->until_us - c->from_us) / 3 * 2,
            in_us = due_us - (clock_monotonic_us() + c->clock_offset_us);
    return in_us > 0 ? in_us : 0;
}

int own_certificate_request(struct own_certificate *c, char **ret, struct error *err)
{
    drop_request(c);
    return certificate_request_make(&c->requested_key, ret, err);
}

int own_certificate_take(struct own_certificate *c, const char *pem, struct error *err)
{
    struct certificate_facts facts;
    if (!c->requested_key)
        return error_set(err, ERR_INVALID, "the master has sent a certificate for which this agent did not ask");
    int rc = dir_make(c->config->data_dir, 0711, err) < 0
                 ? -1
                 : certificate_write(c->file, c->requested_key, pem, &facts, err);
    drop_request(c);
    if (rc < 0)
        return -1;
    c->usable = false;
    return read_own(c, err);
}
