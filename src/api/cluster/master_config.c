/* The master's configuration: what is in force, and the two settings of its log that change while it runs. */
#include <string.h>

#include "api/pipeline/internal.h"
#include "common/base/cleanup.h"
#include "common/config/config.h"
#include "common/json/json.h"
#include "common/system/log.h"
#include "gen/handlers.h"

/* ---- show -------------------------------------------------------------------------------------------------------- */

/* What was changed since the master has started is shown as it is now. */
static void show_log_as_it_is(struct json_object *effective)
{
    struct json_object *log = NULL;
    if (!json_object_object_get_ex(effective, "log", &log))
        return;
    json_object_object_add(log, "level", json_object_new_string(log_level_name(log_level_now())));
    json_object_object_add(log, "color", json_object_new_boolean(log_color_now()));
}

int api_get_master_config(struct req *r, struct core *core, const struct wire_get_master_config_request *in,
                          struct wire_get_master_config_response *ret, struct error *err)
{
    cleanup_json struct json_object *effective = config_effective(api_info(r->api)->config);
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    show_log_as_it_is(effective);
    json_print(effective, &text);
    ret->config = arena_strdup(&r->arena, strbuf_str(&text));
    return 0;
}

/* ---- change ------------------------------------------------------------------------------------------------------ */

struct log_change {
    bool level, color; /* what the request names */
};

static int read_mask(const struct wire_wkt_field_mask *mask, struct log_change *ret, struct error *err)
{
    static const char allowed[] = "log, log.level and log.color can be changed while the master runs; everything else "
                                  "is in its configuration file";
    *ret = (struct log_change){0};
    for (size_t i = 0; mask && i < mask->paths_n; i++) {
        const char *path = mask->paths[i] ? mask->paths[i] : "";
        bool all = strcmp(path, "log") == 0, level = strcmp(path, "log.level") == 0;
        if (!all && !level && strcmp(path, "log.color") != 0)
            return error_set(err, ERR_INVALID, "fieldMask.paths[%zu] is '%.80s': %s", i, path, allowed);
        ret->level |= all || level;
        ret->color |= !level;
    }
    return ret->level || ret->color ? 0 : error_set(err, ERR_INVALID, "fieldMask.paths names no setting: %s", allowed);
}

static int read_level(const struct wire_master_log_config *log, enum log_level *ret, struct error *err)
{
    static const struct {
        enum wire_log_level wire;
        enum log_level level;
    } known[] = {{WIRE_LOG_LEVEL_TRACE, LOG_TRACE}, {WIRE_LOG_LEVEL_DEBUG, LOG_DEBUG},
                 {WIRE_LOG_LEVEL_INFO, LOG_INFO},   {WIRE_LOG_LEVEL_WARNING, LOG_WARNING},
                 {WIRE_LOG_LEVEL_ERROR, LOG_ERROR}, {WIRE_LOG_LEVEL_CRITICAL, LOG_FATAL}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (log->level == known[i].wire) {
            *ret = known[i].level;
            return 0;
        }
    return error_set(err, ERR_INVALID,
                     "config.log.level is missing: LOG_LEVEL_TRACE to LOG_LEVEL_CRITICAL are allowed");
}

/* Writes a warning, whatever the level of the log is, so that whoever reads the log knows why lines are missing from
 * there on. */
static void log_the_change(enum log_level level, bool color, const char *username)
{
    enum log_level before = log_level_now();
    if (before > LOG_WARNING)
        log_set_level(LOG_WARNING);
    log_warning("master.log_changed", "level=%s color=%s before=%s,%s by=%s", log_level_name(level),
                color ? "yes" : "no", log_level_name(before), log_color_now() ? "yes" : "no", log_quote(username));
}

int api_patch_master_config(struct req *r, struct core *core, const struct wire_patch_master_config_request *in,
                            struct wire_patch_master_config_response *ret, struct error *err)
{
    static const struct wire_master_log_config none = {0};
    const struct wire_master_log_config *log = in->config && in->config->log ? in->config->log : &none;
    enum log_level level = log_level_now();
    struct log_change change;
    if (read_mask(in->field_mask, &change, err) < 0 || (change.level && read_level(log, &level, err) < 0))
        return -1;
    bool color = change.color ? log->color : log_color_now();
    log_the_change(level, color, r->who.username);
    log_set_level(level);
    log_set_color(color);
    return 0;
}
