/* The providers `command`, `aws` and `gcp`: a program launches, lists and ends the machines. The master asks it by
 * lines of JSON (line_program.h; docs/clouds.md describes the questions), so that any cloud can be served without a
 * change here. The programs for AWS and GCP come with our Python library (python/determined/_clouds).
 *
 *     <data_dir>/providers/<pool>.json   what the pool's last launch was made with: its provider section
 *
 * That file is there so that machines are still found and ended when the pool has no provider any more. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/base/percent.h"
#include "common/config/schema.h"
#include "common/json/json.h"
#include "common/system/files.h"
#include "master/pools/agent_settings.h"
#include "master/pools/cloud_slots.h"
#include "master/pools/line_program.h"
#include "master/pools/provider.h"

#define CERT_ON_MACHINE "/etc/determined/master-cert.pem"
#define TIMEOUT_DEFAULT_US 60000000

/* For so long a machine is left out of the list after the program has ended it: clouds need a while to end one. */
#define ENDING_US 300000000

enum { PROTOCOL = 1, CERT_MAX = 1 << 20, RECORD_MAX = 1 << 20 };

struct ended {
    char *id;
    int64_t at_us; /* by the monotonic clock */
};

struct provider {
    struct provider_setup setup;
    struct arena arena;
    struct json_object *config;  /* a copy of the pool's provider section, which belongs to the pool's thread */
    struct json_object *opening; /* the first question to the program after each start */
    const char *record;          /* the file's path */
    bool recorded;
    char **argv;
    struct ended *ended;
    size_t ended_n;
    struct line_program *program;
};

static void set_text(struct json_object *o, const char *key, const char *value)
{
    json_object_object_add(o, key, json_object_new_string(value));
}

static struct json_object *new_question(const char *what)
{
    struct json_object *q = json_object_new_object();
    set_text(q, "do", what);
    return q;
}

/* ---- the record -------------------------------------------------------------------------------------------------- */

static const char *record_directory(const char *data_dir, struct arena *a)
{
    return arena_printf(a, "%s/providers", data_dir);
}

static const char *record_path(const struct provider_setup *s, struct arena *a)
{
    cleanup_strbuf struct strbuf name = STRBUF_INIT;
    strbuf_add_percent(&name, s->pool, "-_");
    return arena_printf(a, "%s/%s.json", record_directory(s->data_dir, a), strbuf_str(&name));
}

static int read_record(const char *path, struct json_object **ret, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (file_read(path, RECORD_MAX, &text, err) < 0)
        return -1;
    return json_parse(text.s, text.n, ret, err) < 0 ? error_wrap(err, "%s", path) : 0;
}

/* Has to succeed before machines are launched. */
static int write_record(struct provider *p, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_json struct json_object *record = json_object_new_object();
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (p->recorded)
        return 0;
    set_text(record, "pool", p->setup.pool);
    json_object_object_add(record, "provider", json_object_get(p->config));
    json_print(record, &text);
    if (dir_make(record_directory(p->setup.data_dir, &a), 0700, err) < 0 ||
        file_write(p->record, text.s, text.n, 0600, err) < 0)
        return -1;
    p->recorded = true;
    return 0;
}

/* Removes the record of a pool whose machines are all gone. If a provider of another type has written it since, it
 * tells of other machines, and stays. */
static void remove_record(const struct provider *p)
{
    cleanup_json struct json_object *record = NULL;
    if (read_record(p->record, &record, NULL) == 0 && json_object_equal(json_member(record, "provider"), p->config))
        unlink(p->record);
}

/* Adds the pool of one record, if a provider of this type made it. A record that cannot be read is passed over. */
static void add_recorded_pool(const char *path, const char *type, struct arena *a, const char ***all, size_t *n)
{
    cleanup_json struct json_object *record = NULL;
    if (read_record(path, &record, NULL) < 0 ||
        strcmp(json_get_text(json_member(record, "provider"), "type", a), type) != 0)
        return;
    const char **more = arena_array(a, const char *, *n + 1);
    if (*n)
        memcpy(more, *all, *n * sizeof(*more));
    more[(*n)++] = json_get_text(record, "pool", a);
    *all = more;
}

static int pools_of_type(const char *type, const char *data_dir, struct arena *a, const char ***ret, size_t *ret_n,
                         struct error *err)
{
    const char *directory = record_directory(data_dir, a);
    const char **all = NULL;
    size_t n = 0;
    DIR *d = opendir(directory);
    if (!d && errno != ENOENT)
        return error_errno(err, "reading %s", directory);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.')
            add_recorded_pool(arena_printf(a, "%s/%s", directory, e->d_name), type, a, &all, &n);
    if (d)
        closedir(d);
    *ret = all;
    *ret_n = n;
    return 0;
}

static int pools_command(const char *data_dir, struct arena *a, const char ***ret, size_t *ret_n, struct error *err)
{
    return pools_of_type("command", data_dir, a, ret, ret_n, err);
}

static int pools_aws(const char *data_dir, struct arena *a, const char ***ret, size_t *ret_n, struct error *err)
{
    return pools_of_type("aws", data_dir, a, ret, ret_n, err);
}

static int pools_gcp(const char *data_dir, struct arena *a, const char ***ret, size_t *ret_n, struct error *err)
{
    return pools_of_type("gcp", data_dir, a, ret, ret_n, err);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* The tags with which the program has to mark the machines, and by which it has to find them. */
static struct json_object *tags_of(const struct provider_setup *s)
{
    struct json_object *tags = json_object_new_object();
    set_text(tags, "determined-cluster", s->cluster_id);
    set_text(tags, "determined-resource-pool", s->pool);
    return tags;
}

static struct json_object *master_of(const struct provider_setup *s)
{
    struct json_object *master = json_object_new_object();
    set_text(master, "host", s->master_host);
    json_object_object_add(master, "port", json_object_new_int(s->master_port));
    json_object_object_add(master, "tls", json_object_new_boolean(s->master_tls));
    return master;
}

static struct json_object *opening_of(const struct provider *p)
{
    struct json_object *q = new_question("open");
    json_object_object_add(q, "protocol", json_object_new_int(PROTOCOL));
    set_text(q, "pool", p->setup.pool);
    json_object_object_add(q, "tags", tags_of(&p->setup));
    json_object_object_add(q, "master", master_of(&p->setup));
    json_object_object_add(q, "provider", json_object_get(p->config));
    return q;
}

static int64_t timeout_us(struct json_object *config)
{
    struct json_object *v = json_member(config, "request_timeout");
    int64_t ns = 0;
    if (json_object_is_type(v, json_type_int))
        ns = json_object_get_int64(v);
    else if (v)
        duration_parse(json_object_get_string(v), &ns);
    return ns >= 1000 ? ns / 1000 : TIMEOUT_DEFAULT_US;
}

/* The pool's section, or what the record says if the pool has none any more. */
static struct json_object *config_of(const struct provider_setup *s, const char *record)
{
    cleanup_json struct json_object *kept = NULL;
    struct json_object *config = NULL;
    if (s->config && json_object_deep_copy(s->config, &config, NULL) == 0)
        return config;
    if (read_record(record, &kept, NULL) == 0)
        return json_object_get(json_member(kept, "provider"));
    return NULL;
}

/* Our library has to be found by our own programs, and may be used by others. */
static const char *library_variable(struct arena *a)
{
    const char *library = path_of_library(a), *others = getenv("PYTHONPATH");
    if (!*library)
        return NULL;
    return arena_printf(a, "PYTHONPATH=%s%s%s", library, others && *others ? ":" : "", others ? others : "");
}

/* The program and its arguments: those of the configuration, or else our own program for that cloud. NULL: none. */
static char **argv_of(struct json_object *config, struct arena *a)
{
    size_t n;
    const char **given = json_get_texts(config, "command", a, &n);
    const char *type = json_get_text(config, "type", a);
    if (n > 0 || (strcmp(type, "aws") != 0 && strcmp(type, "gcp") != 0))
        return (char **)given;
    char **own = arena_array(a, char *, 4);
    own[0] = arena_strdup(a, "python3");
    own[1] = arena_strdup(a, "-m");
    own[2] = arena_printf(a, "determined._clouds.%s", type);
    return own;
}

static struct provider *open_command(const struct provider_setup *setup)
{
    struct provider *p = must_calloc(1, sizeof(*p));
    p->setup = *setup;
    p->record = record_path(setup, &p->arena);
    p->config = config_of(setup, p->record);
    p->argv = argv_of(p->config, &p->arena);
    p->opening = opening_of(p);
    p->program = line_program_new(&(struct line_program_opts){.name = setup->pool,
                                                              .argv = p->argv,
                                                              .variable = library_variable(&p->arena),
                                                              .opening = p->opening,
                                                              .timeout_us = timeout_us(p->config),
                                                              .stopping = setup->stopping});
    return p;
}

static void close_command(struct provider *p)
{
    line_program_free(p->program);
    for (size_t i = 0; i < p->ended_n; i++)
        free(p->ended[i].id);
    free(p->ended);
    json_object_put(p->opening);
    json_object_put(p->config);
    arena_release(&p->arena);
    free(p);
}

/* ---- list -------------------------------------------------------------------------------------------------------- */

static int read_state(const char *id, const char *text, enum core_instance_state *ret, struct error *err)
{
    static const struct {
        const char *name;
        enum core_instance_state state;
    } states[] = {{"pending", INSTANCE_PENDING},
                  {"running", INSTANCE_RUNNING},
                  {"ending", INSTANCE_ENDING},
                  {"stopped", INSTANCE_STOPPED}};
    for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++) {
        if (strcmp(states[i].name, text) != 0)
            continue;
        *ret = states[i].state;
        return 0;
    }
    return error_set(err, ERR_INVALID,
                     "the provider says that instance \"%s\" is \"%s\"; a state is pending, running, ending or stopped",
                     id, text);
}

/* Reads the time of a launch: seconds since 1970, or a text by RFC 3339. */
static int read_launch(const char *id, struct json_object *v, int64_t *ret, struct error *err)
{
    if (json_object_is_type(v, json_type_int) || json_object_is_type(v, json_type_double)) {
        double s = json_object_get_double(v);
        if (s >= 0 && s < 1e11) {
            *ret = (int64_t)(s * 1e6);
            return 0;
        }
    } else if (json_object_is_type(v, json_type_string) &&
               clock_parse(json_object_get_string(v), (size_t)json_object_get_string_len(v), ret) == 0) {
        return 0;
    }
    return error_set(err, ERR_INVALID,
                     "the provider says that instance \"%s\" was launched at %s; a time is a number of seconds since "
                     "1970, or a text such as 2026-01-31T12:00:00Z",
                     id, v ? json_object_to_json_string(v) : "null");
}

static int read_instance(struct json_object *v, struct arena *a, struct core_instance *ret, struct error *err)
{
    if (!json_object_is_type(v, json_type_object))
        return error_set(err, ERR_INVALID, "the provider lists an instance that is no JSON object");
    ret->id = json_get_text(v, "id", a);
    if (*ret->id == '\0')
        return error_set(err, ERR_INVALID, "the provider lists an instance without an id");
    ret->detail = json_get_text(v, "detail", a);
    return read_state(ret->id, json_get_text(v, "state", a), &ret->state, err) < 0
               ? -1
               : read_launch(ret->id, json_member(v, "launched"), &ret->launch_us, err);
}

static int read_instances(struct json_object *answer, struct arena *a, struct core_instance **ret, size_t *ret_n,
                          struct error *err)
{
    struct json_object *list = json_member(answer, "instances");
    if (!json_object_is_type(list, json_type_array))
        return error_set(err, ERR_INVALID, "the provider's answer to \"list\" has no list `instances`");
    size_t n = json_object_array_length(list);
    struct core_instance *all = arena_array(a, struct core_instance, n + 1);
    for (size_t i = 0; i < n; i++)
        if (read_instance(json_object_array_get_idx(list, i), a, &all[i], err) < 0)
            return -1;
    *ret = all;
    *ret_n = n;
    return 0;
}

static bool was_ended(const struct provider *p, const char *id)
{
    for (size_t i = 0; i < p->ended_n; i++)
        if (strcmp(p->ended[i].id, id) == 0)
            return true;
    return false;
}

/* Takes machines that are on their way to their end out of the list. A machine that is still there after ENDING_US is
 * listed again, so that the core orders its end again. */
static size_t leave_out_ended(struct provider *p, struct core_instance *all, size_t n)
{
    int64_t since_us = clock_monotonic_us() - ENDING_US;
    size_t kept = 0;
    for (size_t i = p->ended_n; i-- > 0;) {
        if (p->ended[i].at_us > since_us)
            continue;
        free(p->ended[i].id);
        p->ended[i] = p->ended[--p->ended_n];
    }
    for (size_t i = 0; i < n; i++)
        if (!was_ended(p, all[i].id))
            all[kept++] = all[i];
    return kept;
}

static void note_ended(struct provider *p, const char *id)
{
    p->ended = must_reallocarray(p->ended, p->ended_n + 1, sizeof(*p->ended));
    p->ended[p->ended_n++] = (struct ended){must_strdup(id), clock_monotonic_us()};
}

static int list_command(struct provider *p, struct arena *a, struct core_instance **ret, size_t *ret_n,
                        struct error *err)
{
    cleanup_json struct json_object *question = new_question("list"), *answer = NULL;
    if (!p->argv[0])
        return error_set(err, ERR_PRECONDITION,
                         "%s does not say which program lists the machines; once none of them "
                         "run, remove that file",
                         p->record);
    if (line_program_ask(p->program, question, &answer, err) < 0 || read_instances(answer, a, ret, ret_n, err) < 0)
        return -1;
    *ret_n = leave_out_ended(p, *ret, *ret_n);
    if (!p->setup.config && *ret_n == 0)
        remove_record(p); /* the last machine of a pool that has no provider of this type any more is gone */
    return 0;
}

/* Before there is a machine, only the configuration can say how many slots its agent will have. */
static int slots_command(struct json_object *config)
{
    return json_object_get_int(json_member(config, "instance_slots"));
}

/* ---- launch and terminate ---------------------------------------------------------------------------------------- */

/* Sets slot_type of an agent in AWS or GCP: an agent that is to have no slots must not make a slot of its processors.
 * What the machines of another program have, only the administrator knows. */
static void add_slot_type(const struct provider *p, struct json_object *agent)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const char *type = json_get_text(p->config, "type", &a);
    int slots = strcmp(type, "aws") == 0 ? aws_slots(p->config) : strcmp(type, "gcp") == 0 ? gcp_slots(p->config) : -1;
    if (slots >= 0)
        set_text(agent, "slot_type", slots > 0 ? "auto" : "none");
}

/* Adds the settings of the agents, except their ids, and the files that these need. */
static int add_agent(const struct provider *p, struct json_object *question, struct error *err)
{
    struct json_object *files = json_object_new_object();
    struct provider_setup s = p->setup;
    bool has_cert = s.master_tls && *s.master_cert;
    cleanup_strbuf struct strbuf cert = STRBUF_INIT;
    s.config = p->config;
    struct json_object *agent = agent_settings(&s, has_cert ? CERT_ON_MACHINE : "");
    if (!json_member(agent, "token")) /* the administrator may give a token that is good for less */
        set_text(agent, "token", s.agent_token);
    if (!json_member(agent, "slot_type") && !json_member(agent, "artificial_slots"))
        add_slot_type(p, agent);
    json_object_object_add(question, "agent", agent);
    json_object_object_add(question, "files", files);
    if (!has_cert)
        return 0;
    if (file_read(s.master_cert, CERT_MAX, &cert, err) < 0)
        return -1;
    set_text(files, CERT_ON_MACHINE, strbuf_str(&cert));
    return 0;
}

static int launch_command(struct provider *p, int n, struct error *err)
{
    cleanup_json struct json_object *question = new_question("launch"), *answer = NULL;
    json_object_object_add(question, "n", json_object_new_int(n));
    if (write_record(p, err) < 0 || add_agent(p, question, err) < 0 ||
        line_program_ask(p->program, question, &answer, err) < 0)
        return -1;
    struct json_object *launched = json_member(answer, "launched");
    if (!json_object_is_type(launched, json_type_array))
        return error_set(err, ERR_INVALID, "the provider's answer to \"launch\" has no list `launched`");
    size_t got = json_object_array_length(launched);
    return got >= (size_t)n ? 0 : error_set(err, ERR_UNAVAILABLE, "the provider launched %zu of %d machines", got, n);
}

static int terminate_command(struct provider *p, const char *id, struct error *err)
{
    cleanup_json struct json_object *question = new_question("terminate"), *answer = NULL;
    set_text(question, "instance", id);
    if (line_program_ask(p->program, question, &answer, err) < 0)
        return -1;
    note_ended(p, id);
    return 0;
}

#define OPERATIONS \
    .list_period_us = 5000000, .open = open_command, .close = close_command, .list = list_command, \
    .launch = launch_command, .terminate = terminate_command

const struct provider_type provider_command = {.name = "command",
                                               .slots_per_instance = slots_command,
                                               .pools = pools_command,
                                               OPERATIONS};
const struct provider_type provider_aws = {.name = "aws",
                                           .slots_per_instance = aws_slots,
                                           .pools = pools_aws,
                                           OPERATIONS};
const struct provider_type provider_gcp = {.name = "gcp",
                                           .slots_per_instance = gcp_slots,
                                           .pools = pools_gcp,
                                           OPERATIONS};
