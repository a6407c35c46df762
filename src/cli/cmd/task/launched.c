#include "cli/cmd/task/launched.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "cli/connection/address.h"
#include "common/base/cleanup.h"

/* ---- the kinds --------------------------------------------------------------------------------------------------- */

static const char *const usual_column[] = {"id",         "username",     "description",   "state",
                                           "exitStatus", "resourcePool", "workspaceName", NULL};
static const char *const tensorboard_column[] = {"id",         "username",      "description",
                                                 "state",      "experimentIds", "trialIds",
                                                 "exitStatus", "resourcePool",  "workspaceName",
                                                 NULL};

static const struct launched_kind kinds[] = {
    {.noun = "command",
     .title = "Command",
     .list = "commands",
     .launch = ROUTE_ID_LAUNCH_COMMAND,
     .get_all = ROUTE_ID_GET_COMMANDS,
     .get = ROUTE_ID_GET_COMMAND,
     .kill = ROUTE_ID_KILL_COMMAND,
     .set_priority = ROUTE_ID_SET_COMMAND_PRIORITY,
     .column = usual_column},
    {.noun = "notebook",
     .title = "Notebook",
     .list = "notebooks",
     .launch = ROUTE_ID_LAUNCH_NOTEBOOK,
     .get_all = ROUTE_ID_GET_NOTEBOOKS,
     .get = ROUTE_ID_GET_NOTEBOOK,
     .kill = ROUTE_ID_KILL_NOTEBOOK,
     .set_priority = ROUTE_ID_SET_NOTEBOOK_PRIORITY,
     .column = usual_column,
     .running = "Jupyter Notebook"},
    {.noun = "shell",
     .title = "Shell",
     .list = "shells",
     .launch = ROUTE_ID_LAUNCH_SHELL,
     .get_all = ROUTE_ID_GET_SHELLS,
     .get = ROUTE_ID_GET_SHELL,
     .kill = ROUTE_ID_KILL_SHELL,
     .set_priority = ROUTE_ID_SET_SHELL_PRIORITY,
     .column = usual_column},
    {.noun = "tensorboard",
     .title = "TensorBoard",
     .list = "tensorboards",
     .launch = ROUTE_ID_LAUNCH_TENSORBOARD,
     .get_all = ROUTE_ID_GET_TENSORBOARDS,
     .get = ROUTE_ID_GET_TENSORBOARD,
     .kill = ROUTE_ID_KILL_TENSORBOARD,
     .set_priority = ROUTE_ID_SET_TENSORBOARD_PRIORITY,
     .column = tensorboard_column,
     .running = "Tensorboard"},
};

const struct launched_kind *launched_kind_of(const struct cli *cli)
{
    const char *path = cli->command->path;
    size_t i = 0, n = strcspn(path, " ");
    while (strncmp(kinds[i].noun, path, n) != 0 || kinds[i].noun[n]) /* contract/cli.json has no other word */
        i++;
    return &kinds[i];
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

const char *launched_text(struct json_object *task, const char *key)
{
    struct json_object *v;
    return json_object_object_get_ex(task, key, &v) && json_object_is_type(v, json_type_string)
               ? json_object_get_string(v)
               : "";
}

const char *launched_state(struct json_object *task)
{
    const char *state = launched_text(task, "state");
    return strncmp(state, "STATE_", 6) == 0 ? state + 6 : state;
}

bool launched_has_ended(struct json_object *task)
{
    return strcmp(launched_state(task), "TERMINATED") == 0;
}

/* The URL of a route whose only parameter is the task's id. */
static const char *url_of(struct cli *cli, enum route_id id, const char *task_id)
{
    cleanup_strbuf struct strbuf url = STRBUF_INIT;
    const struct route *r = &routes[id];
    strbuf_adds(&url, cli->master);
    for (size_t i = 0; i < r->segment_n; i++) {
        strbuf_addc(&url, '/');
        strbuf_adds(&url, r->segment[i].literal
                              ? arena_strndup(&cli->arena, r->segment[i].literal, r->segment[i].literal_n)
                              : address_escape(task_id, &cli->arena));
    }
    return arena_strdup(&cli->arena, strbuf_str(&url));
}

/* An answer of another form than the contract's comes from a server that is no master. */
static int take_member(struct json_object *answer, const char *key, enum json_type type, enum route_id route,
                       struct json_object **ret, struct error *err)
{
    if (json_object_is_type(answer, json_type_object) && json_object_object_get_ex(answer, key, ret) &&
        json_object_is_type(*ret, type))
        return 0;
    return error_set(err, ERR_INTERNAL, "the master's reply to %s has no \"%s\"", routes[route].rpc, key);
}

int launched_fetch(struct cli *cli, const struct launched_kind *k, const char *id, struct json_object **ret,
                   struct error *err)
{
    cleanup_json struct json_object *answer = NULL;
    struct json_object *task;
    if (api_call_url(cli, k->get, url_of(cli, k->get, id), NULL, &answer, err) < 0 ||
        take_member(answer, k->noun, json_type_object, k->get, &task, err) < 0)
        return -1;
    *ret = take_ptr(answer);
    return 0;
}

int launched_fetch_all(struct cli *cli, const struct launched_kind *k, const char *query, struct json_object **ret,
                       struct error *err)
{
    cleanup_json struct json_object *answer = NULL;
    struct json_object *list;
    const char *url = arena_printf(&cli->arena, "%s%s", url_of(cli, k->get_all, ""), query);
    if (api_call_url(cli, k->get_all, url, NULL, &answer, err) < 0 ||
        take_member(answer, k->list, json_type_array, k->get_all, &list, err) < 0)
        return -1;
    *ret = json_object_get(list);
    return 0;
}

int launched_change(struct cli *cli, enum route_id route, const char *id, const char *body, struct error *err)
{
    cleanup_json struct json_object *answer = NULL;
    return api_call_url(cli, route, url_of(cli, route, id), body, &answer, err);
}

/* ---- ids --------------------------------------------------------------------------------------------------------- */

/* A UUID, after a number and a full stop if it is a trial's task. */
static bool is_whole_id(const char *text)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    size_t digits = strspn(text, "0123456789");
    if (digits > 0 && text[digits] == '.')
        text += digits + 1;
    if (strlen(text) != sizeof(form) - 1)
        return false;
    for (size_t i = 0; form[i]; i++)
        if (form[i] == 'x' ? !isxdigit((unsigned char)text[i]) : text[i] != form[i])
            return false;
    return true;
}

/* "3f0c…, 3fa1… and 7 more", of the ids that begin with `given`. */
static const char *name_candidates(struct cli *cli, struct json_object *all, const char *given)
{
    enum { SHOWN = 5 };
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    size_t n = 0;
    for (size_t i = 0; i < json_object_array_length(all); i++) {
        const char *id = launched_text(json_object_array_get_idx(all, i), "id");
        if (strncasecmp(id, given, strlen(given)) == 0 && n++ < SHOWN)
            strbuf_addf(&text, "%s%s", n > 1 ? ", " : "", id);
    }
    if (n > SHOWN)
        strbuf_addf(&text, " and %zu more", n - SHOWN);
    return arena_strdup(&cli->arena, strbuf_str(&text));
}

static int complete_id(struct cli *cli, const struct launched_kind *k, struct json_object *all, const char *given,
                       const char **ret, struct error *err)
{
    const char *found = NULL;
    size_t n = 0;
    for (size_t i = 0; *given && i < json_object_array_length(all); i++) {
        const char *id = launched_text(json_object_array_get_idx(all, i), "id");
        if (strncasecmp(id, given, strlen(given)) == 0) {
            found = id;
            n++;
        }
    }
    if (n == 0)
        return error_set(err, ERR_NOT_FOUND,
                         "Failed to %s: %s '%s' not found: no id begins with it ('det %s list -a' shows all)",
                         cli->command->help, k->title, given, k->noun);
    if (n > 1)
        return error_set(err, ERR_INVALID, "Failed to %s: '%s' is not unique, the ids of %zu %s begin with it: %s",
                         cli->command->help, given, n, k->list, name_candidates(cli, all, given));
    *ret = arena_strdup(&cli->arena, found);
    return 0;
}

int launched_ids(struct cli *cli, const struct launched_kind *k, const char *const *given, size_t n, const char ***ret,
                 struct error *err)
{
    cleanup_json struct json_object *all = NULL; /* fetched only if an id has to be completed */
    const char **id = arena_array(&cli->arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        id[i] = given[i];
        if (is_whole_id(given[i]))
            continue;
        if ((!all && launched_fetch_all(cli, k, "", &all, err) < 0) ||
            complete_id(cli, k, all, given[i], &id[i], err) < 0)
            return -1;
    }
    *ret = id;
    return 0;
}

int launched_id(struct cli *cli, const struct launched_kind *k, const char *given, const char **ret, struct error *err)
{
    const char **id;
    if (launched_ids(cli, k, &given, 1, &id, err) < 0)
        return -1;
    *ret = id[0];
    return 0;
}
