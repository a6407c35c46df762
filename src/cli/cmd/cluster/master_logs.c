#include <string.h>

#include "cli/connection/api.h"
#include "cli/connection/logs.h"
#include "cli/terminal/output.h"

static const char *text_field(struct json_object *v, const char *key)
{
    struct json_object *s;
    return json_object_object_get_ex(v, key, &s) && s ? json_object_get_string(s) : "";
}

static const char *level_name(struct json_object *entry)
{
    static const char prefix[] = "LOG_LEVEL_";
    const char *name = text_field(entry, "level");
    return strncmp(name, prefix, sizeof(prefix) - 1) == 0 ? name + sizeof(prefix) - 1 : name;
}

void master_log_write(struct json_object *record, FILE *to)
{
    struct json_object *entry;
    if (json_object_object_get_ex(record, "logEntry", &entry))
        fprintf(to, "%s [%s]: %s\n", text_field(entry, "timestamp"), level_name(entry), text_field(entry, "message"));
}

static int print_record(struct json_object *record, void *ctx, struct error *err)
{
    struct cli *cli = ctx;
    (void)err;
    if (cli->format)
        output_record(cli, json_object_object_get(record, "logEntry"));
    else
        master_log_write(record, cli->out);
    fflush(cli->out);
    return 0;
}

int cmd_master_logs(struct cli *cli, const struct args_master_logs *args, struct error *err)
{
    bool dropped;
    struct wire_master_logs_request in = {.follow = args->follow, .offset = args->has_tail ? -(int32_t)args->tail : 0};
    return api_stream(cli, ROUTE_ID_MASTER_LOGS, &in, print_record, cli, &dropped, err);
}
