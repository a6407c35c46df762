#include "cli/cmd/trial/environment.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/cleanup.h"

int environments_fetch(struct cli *cli, int32_t trial_id, struct wire_get_trial_environments_response *ret,
                       struct error *err)
{
    struct wire_get_trial_environments_request in = {.trial_id = trial_id};
    cleanup_error struct error why = ERROR_INIT;
    *ret = (struct wire_get_trial_environments_response){0};
    if (api_call(cli, ROUTE_ID_GET_TRIAL_ENVIRONMENTS, &in, ret, &why) == 0)
        return 0;
    return error_pass_unless(&why, ERR_UNIMPLEMENTED, err) ? -1 : 0;
}

/* "2 x Tesla T4, Xeon": consecutive devices of one brand are counted together. */
const char *environment_devices(struct arena *a, const struct wire_host_environment *host)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    size_t same;
    for (size_t i = 0; host && i < host->devices_n; i += same) {
        for (same = 1;
             i + same < host->devices_n && strcmp(host->devices[i].brand, host->devices[i + same].brand) == 0;)
            same++;
        strbuf_addf(&text, "%s%zu x %s", text.n ? ", " : "", same, host->devices[i].brand);
    }
    return text.n ? arena_strndup(a, text.s, text.n) : NULL;
}

/* Python and its packages, without our own library, whose version is always the cluster's. */
static const char *frameworks_text(struct arena *a, const struct wire_python_environment *python)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; python && i < python->frameworks_n; i++)
        if (strcmp(python->frameworks[i].key, "determined") != 0)
            strbuf_addf(&text, "%s%s %s", text.n ? ", " : "", python->frameworks[i].key, python->frameworks[i].value);
    return text.n ? arena_strndup(a, text.s, text.n) : NULL;
}

void environments_print(struct cli *cli, const struct wire_get_trial_environments_response *e, bool csv)
{
    cleanup_table struct table t = TABLE_INIT;
    table_columns(&t, (const char *const[]){"Run", "Rank", "Agent", "Host", "System", "Devices", "Image", "Interpreter",
                                            "Python", "Frameworks", "Packages", NULL});
    for (size_t i = 0; i < e->environments_n; i++) {
        const struct wire_allocation_environment *x = &e->environments[i];
        table_int(&t, x->trial_run_id);
        table_int(&t, x->rank);
        table_text(&t, x->agent_id);
        table_text(&t, x->host ? x->host->hostname : NULL);
        table_text(&t, x->host ? arena_printf(&t.arena, "%s, Linux %s", x->host->os, x->host->kernel) : NULL);
        table_text(&t, environment_devices(&t.arena, x->host));
        table_text(&t, x->host ? x->host->image : NULL);
        table_text(&t, x->python ? arena_printf(&t.arena, "%s%s", x->python->executable,
                                                x->python->seen_by_agent ? " (seen by the agent)" : "")
                                 : NULL);
        table_text(&t, x->python ? x->python->version : NULL);
        table_text(&t, frameworks_text(&t.arena, x->python));
        table_text(&t, x->python ? arena_printf(&t.arena, "%zu", x->python->packages_n) : NULL);
    }
    fputs("\nEnvironments:\n", cli->out);
    table_show(cli, &t, csv);
}

const char *environments_summary(struct arena *a, const struct wire_get_trial_environments_response *e)
{
    const struct wire_allocation_environment *last = NULL;
    for (size_t i = 0; i < e->environments_n; i++)
        if (!last || e->environments[i].trial_run_id > last->trial_run_id)
            last = &e->environments[i];
    if (!last)
        return NULL;
    const char *frameworks = frameworks_text(a, last->python), *devices = environment_devices(a, last->host);
    bool python = last->python && *last->python->version;
    return arena_printf(a, "%s%s%s%s on %s%s%s%s", python ? "Python " : "",
                        python ? last->python->version : "a program", frameworks ? ", " : "",
                        frameworks ? frameworks : "", last->host ? last->host->hostname : last->agent_id,
                        devices ? " (" : "", devices ? devices : "", devices ? ")" : "");
}
