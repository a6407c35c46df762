/* Sets attributes of an experiment: name, description, labels, share of slots, and how long logs are kept. */
#include <inttypes.h>
#include <string.h>

#include "cli/cmd/log_retention.h"
#include "cli/connection/api.h"

static int patch_experiment(struct cli *cli, const struct wire_experiment_patch_experiment *change, struct error *err)
{
    return api_call(cli, ROUTE_ID_PATCH_EXPERIMENT, &(struct wire_patch_experiment_request){.experiment = change}, NULL,
                    err);
}

int cmd_experiment_set_name(struct cli *cli, const struct args_experiment_set_name *args, struct error *err)
{
    struct wire_experiment_patch_experiment change = {.id = (int32_t)args->experiment_id, .name = args->name};
    if (patch_experiment(cli, &change, err) < 0)
        return -1;
    fprintf(cli->out, "Set name of experiment %" PRId64 " to '%s'\n", args->experiment_id, args->name);
    return 0;
}

int cmd_experiment_set_description(struct cli *cli, const struct args_experiment_set_description *args,
                                   struct error *err)
{
    struct wire_experiment_patch_experiment change = {.id = (int32_t)args->experiment_id,
                                                      .description = args->description};
    if (patch_experiment(cli, &change, err) < 0)
        return -1;
    fprintf(cli->out, "Set description of experiment %" PRId64 " to '%s'\n", args->experiment_id, args->description);
    return 0;
}

int cmd_experiment_set_notes(struct cli *cli, const struct args_experiment_set_notes *args, struct error *err)
{
    struct wire_experiment_patch_experiment change = {.id = (int32_t)args->experiment_id, .notes = args->notes};
    if (patch_experiment(cli, &change, err) < 0)
        return -1;
    fprintf(cli->out, "Set notes of experiment %" PRId64 " to '%s'\n", args->experiment_id, args->notes);
    return 0;
}

/* The present labels without `but`, as JSON for the patch. */
static int labels_of(struct cli *cli, int64_t id, const char *but, struct strbuf *ret, size_t *ret_n, struct error *err)
{
    struct wire_get_experiment_request in = {.experiment_id = (int32_t)id};
    struct wire_get_experiment_response out;
    if (api_call(cli, ROUTE_ID_GET_EXPERIMENT, &in, &out, err) < 0)
        return -1;
    *ret_n = 0;
    strbuf_addc(ret, '[');
    for (size_t i = 0; i < out.experiment->labels_n; i++) {
        const char *label = out.experiment->labels[i];
        if (strcmp(label, but) == 0)
            continue;
        strbuf_adds(ret, (*ret_n)++ ? "," : "");
        strbuf_add_json(ret, label, strlen(label));
    }
    return 0;
}

static int set_labels(struct cli *cli, int64_t id, const char *label, bool add, struct error *err)
{
    cleanup_strbuf struct strbuf labels = STRBUF_INIT;
    size_t n;
    if (labels_of(cli, id, label, &labels, &n, err) < 0)
        return -1;
    if (add) {
        strbuf_adds(&labels, n ? "," : "");
        strbuf_add_json(&labels, label, strlen(label));
    }
    strbuf_addc(&labels, ']');
    return patch_experiment(cli, &(struct wire_experiment_patch_experiment){.id = (int32_t)id, .labels = labels.s},
                            err);
}

int cmd_experiment_label_add(struct cli *cli, const struct args_experiment_label_add *args, struct error *err)
{
    if (set_labels(cli, args->experiment_id, args->label, true, err) < 0)
        return -1;
    fprintf(cli->out, "Added label '%s' to experiment %" PRId64 "\n", args->label, args->experiment_id);
    return 0;
}

int cmd_experiment_label_remove(struct cli *cli, const struct args_experiment_label_remove *args, struct error *err)
{
    if (set_labels(cli, args->experiment_id, args->label, false, err) < 0)
        return -1;
    fprintf(cli->out, "Removed label '%s' from experiment %" PRId64 "\n", args->label, args->experiment_id);
    return 0;
}

/* ---- share of slots ---------------------------------------------------------------------------------------------- */

static int set_resources(struct cli *cli, int64_t id,
                         const struct wire_experiment_patch_experiment_patch_resources *change, const char *name,
                         const char *value, struct error *err)
{
    if (patch_experiment(cli, &(struct wire_experiment_patch_experiment){.id = (int32_t)id, .resources = change}, err) <
        0)
        return -1;
    fprintf(cli->out, "Set `%s` of experiment %" PRId64 " to %s\n", name, id, value);
    return 0;
}

/* The value is a number, or "none" for no limit. */
int cmd_experiment_set_max_slots(struct cli *cli, const struct args_experiment_set_max_slots *args, struct error *err)
{
    struct wire_experiment_patch_experiment_patch_resources change = {0};
    int64_t slots = 0;
    if (none_or_int(args->max_slots, &change.has_max_slots, &slots) < 0 || slots != (int32_t)slots)
        return error_set(err, ERR_USAGE, "max_slots must be a whole number or none, found '%s'", args->max_slots);
    change.max_slots = (int32_t)slots;
    const char *shown = change.has_max_slots ? arena_printf(&cli->arena, "%" PRId64, slots) : "None";
    return set_resources(cli, args->experiment_id, &change, "max_slots", shown, err);
}

int cmd_experiment_set_weight(struct cli *cli, const struct args_experiment_set_weight *args, struct error *err)
{
    char shown[JSON_DOUBLE_MAX];
    struct wire_experiment_patch_experiment_patch_resources change = {.has_weight = true, .weight = args->weight};
    json_format_double(args->weight, shown);
    return set_resources(cli, args->experiment_id, &change, "weight", shown, err);
}

int cmd_experiment_set_priority(struct cli *cli, const struct args_experiment_set_priority *args, struct error *err)
{
    struct wire_experiment_patch_experiment_patch_resources change = {.has_priority = true,
                                                                      .priority = (int32_t)args->priority};
    return set_resources(cli, args->experiment_id, &change, "priority",
                         arena_printf(&cli->arena, "%" PRId64, args->priority), err);
}

/* ---- logs -------------------------------------------------------------------------------------------------------- */

int cmd_experiment_set_log_retention(struct cli *cli, const struct args_experiment_set_log_retention *args,
                                     struct error *err)
{
    struct wire_put_experiment_retain_logs_request in = {.experiment_id = (int32_t)args->experiment_id};
    if (log_retention_days(args->days, args->forever, &in.num_days, err) < 0)
        return -1;
    return api_call(cli, ROUTE_ID_PUT_EXPERIMENT_RETAIN_LOGS, &in, NULL, err);
}
