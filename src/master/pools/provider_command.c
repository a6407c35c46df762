/* The providers `command`, `aws` and `gcp`: a program launches, lists and ends the machines. The master asks it by
 * lines of JSON (line_program.h; docs/clouds.md describes the questions), so that any cloud can be served without a
 * change here. The programs for AWS and GCP come with our Python library (python/determined/_clouds).
 *
 * Machines that were launched with settings by which they cannot be found any more, in another region for instance, are
 * found by the records of these settings (provider_record.h): each record has a program of its own, as long as it has
 * machines. The core hears that these machines are taken back, so that they end as soon as their tasks allow it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/config/schema.h"
#include "common/json/json.h"
#include "common/system/files.h"
#include "common/system/log.h"
#include "master/pools/agent_settings.h"
#include "master/pools/cloud_slots.h"
#include "master/pools/line_program.h"
#include "master/pools/provider.h"
#include "master/pools/provider_record.h"

#define CERT_ON_MACHINE "/etc/determined/master-cert.pem"
#define TIMEOUT_DEFAULT_US 60000000

/* For so long a machine is left out of the list after the program has ended it: clouds need a while to end one. */
#define ENDING_US 300000000

/* How long older settings rest whose program has failed; the pause doubles with each failure. */
#define REST_US 10000000ll
#define LONGEST_REST_US 600000000ll

enum { PROTOCOL = 1, CERT_MAX = 1 << 20, OLDER_MAX = 16 };

struct ended {
    char *id;
    int64_t at_us; /* by the monotonic clock */
};

/* The settings with which machines were launched, and the program that finds these machines. */
struct settings {
    struct arena arena;
    const char *record;          /* the file's path */
    struct json_object *config;  /* a provider section, which belongs to the pool's thread */
    struct json_object *opening; /* the first question to the program after each start */
    char **argv;
    struct line_program *program;
    struct arena known_arena;
    struct core_instance
        *known; /* the machines that the program listed last; of the present settings, their ids alone */
    size_t known_n;
    int64_t rest_us, rests_until_us; /* of older settings: when the program is asked again after it has failed */
};

struct provider {
    struct provider_setup setup;
    struct arena arena;
    struct settings *now; /* NULL: the pool has no provider of this type any more */
    struct settings *older[OLDER_MAX];
    size_t older_n;
    bool recorded;
    struct ended *ended;
    size_t ended_n;
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

/* ---- the records ------------------------------------------------------------------------------------------------- */

/* Has to succeed before machines are launched. */
static int write_record(struct provider *p, struct error *err)
{
    if (p->recorded)
        return 0;
    if (provider_record_write(p->now->record, p->setup.pool, p->now->config, err) < 0)
        return -1;
    p->recorded = true;
    return 0;
}

static bool has_text(const char *const *all, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i], text) == 0)
            return true;
    return false;
}

static int pools_of_type(const char *type, const char *data_dir, struct arena *a, const char ***ret, size_t *ret_n,
                         struct error *err)
{
    struct provider_record *record;
    size_t n;
    if (provider_records(data_dir, type, a, &record, &n, err) < 0)
        return -1;
    *ret = arena_array(a, const char *, n + 1);
    *ret_n = 0;
    for (size_t i = 0; i < n; i++)
        if (!has_text(*ret, *ret_n, record[i].pool))
            (*ret)[(*ret_n)++] = record[i].pool;
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

static struct json_object *opening_of(const struct provider_setup *s, struct json_object *config)
{
    struct json_object *q = new_question("open");
    json_object_object_add(q, "protocol", json_object_new_int(PROTOCOL));
    set_text(q, "pool", s->pool);
    json_object_object_add(q, "tags", tags_of(s));
    json_object_object_add(q, "master", master_of(s));
    json_object_object_add(q, "provider", json_object_get(config));
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

/* Takes over the configuration. */
static struct settings *settings_new(const struct provider_setup *setup, const char *record, struct json_object *config)
{
    struct settings *s = must_calloc(1, sizeof(*s));
    s->record = arena_strdup(&s->arena, record);
    s->config = config;
    s->argv = argv_of(config, &s->arena);
    s->opening = opening_of(setup, config);
    s->program = line_program_new(&(struct line_program_opts){.name = setup->pool,
                                                              .argv = s->argv,
                                                              .variable = library_variable(&s->arena),
                                                              .opening = s->opening,
                                                              .timeout_us = timeout_us(config),
                                                              .stopping = setup->stopping});
    return s;
}

static void settings_free(struct settings *s)
{
    if (!s)
        return;
    line_program_free(s->program);
    json_object_put(s->opening);
    json_object_put(s->config);
    arena_release(&s->known_arena);
    arena_release(&s->arena);
    free(s);
}

/* Machines may be left of every record of this pool and this type but that of the present settings. */
static void open_older(struct provider *p, const char *type)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_error struct error err = ERROR_INIT;
    struct provider_record *record;
    size_t n;
    if (provider_records(p->setup.data_dir, type, &a, &record, &n, &err) < 0) {
        log_warning("instance.records_unread", "pool=%s reason=%s", p->setup.pool, log_quote(error_msg(&err)));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (strcmp(record[i].pool, p->setup.pool) != 0 || (p->now && strcmp(record[i].path, p->now->record) == 0))
            continue;
        struct json_object *config = p->older_n < OLDER_MAX ? provider_record_read(record[i].path, &err) : NULL;
        if (config)
            p->older[p->older_n++] = settings_new(&p->setup, record[i].path, config);
        else
            log_warning("instance.record_left", "pool=%s record=%s reason=%s", p->setup.pool, record[i].path,
                        p->older_n < OLDER_MAX ? log_quote(error_msg(&err))
                                               : "\"there are too many; the next start looks at it\"");
    }
}

static struct provider *open_type(const struct provider_setup *setup, const char *type)
{
    struct provider *p = must_calloc(1, sizeof(*p));
    struct json_object *config = NULL;
    p->setup = *setup;
    if (setup->config && json_object_deep_copy(setup->config, &config, NULL) == 0)
        p->now = settings_new(setup, provider_record_path(setup->data_dir, setup->pool, config, &p->arena), config);
    open_older(p, type);
    return p;
}

static struct provider *open_command(const struct provider_setup *setup)
{
    return open_type(setup, "command");
}

static struct provider *open_aws(const struct provider_setup *setup)
{
    return open_type(setup, "aws");
}

static struct provider *open_gcp(const struct provider_setup *setup)
{
    return open_type(setup, "gcp");
}

static void close_command(struct provider *p)
{
    settings_free(p->now);
    for (size_t i = 0; i < p->older_n; i++)
        settings_free(p->older[i]);
    for (size_t i = 0; i < p->ended_n; i++)
        free(p->ended[i].id);
    free(p->ended);
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

static int ask_list(struct settings *s, struct arena *a, struct core_instance **ret, size_t *ret_n, struct error *err)
{
    cleanup_json struct json_object *question = new_question("list"), *answer = NULL;
    if (!s->argv[0])
        return error_set(err, ERR_PRECONDITION,
                         "%s does not say which program lists the machines; once none of these machines run, remove "
                         "the file and start the master again",
                         s->record);
    return line_program_ask(s->program, question, &answer, err) < 0 ? -1 : read_instances(answer, a, ret, ret_n, err);
}

/* Asks for the machines of the present settings, and keeps the machines' ids for settings_of(). */
static int ask_now(struct settings *s, struct arena *a, struct core_instance **ret, size_t *ret_n, struct error *err)
{
    if (ask_list(s, a, ret, ret_n, err) < 0)
        return -1;
    arena_release(&s->known_arena);
    s->known = arena_array(&s->known_arena, struct core_instance, *ret_n + 1);
    s->known_n = *ret_n;
    for (size_t i = 0; i < *ret_n; i++)
        s->known[i].id = arena_strdup(&s->known_arena, (*ret)[i].id);
    return 0;
}

/* Asks for the machines of older settings. A failure does not hold up the pool: the machines that were known are, and
 * the program rests. */
static void ask_older(struct provider *p, struct settings *s)
{
    struct arena a = ARENA_INIT;
    struct core_instance *found;
    size_t n;
    cleanup_error struct error err = ERROR_INIT;
    if (clock_monotonic_us() < s->rests_until_us)
        return;
    if (ask_list(s, &a, &found, &n, &err) < 0) {
        s->rest_us = s->rest_us ? 2 * s->rest_us : REST_US;
        s->rest_us = s->rest_us < LONGEST_REST_US ? s->rest_us : LONGEST_REST_US;
        s->rests_until_us = clock_monotonic_us() + s->rest_us;
        log_warning("instance.older_list_failed", "pool=%s record=%s reason=%s action=try_again", p->setup.pool,
                    s->record, log_quote(error_msg(&err)));
        arena_release(&a);
        return;
    }
    arena_release(&s->known_arena);
    s->known_arena = a;
    s->known = found;
    s->known_n = n;
    s->rest_us = s->rests_until_us = 0;
}

static bool has_instance(const struct core_instance *all, size_t n, const char *id)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i].id, id) == 0)
            return true;
    return false;
}

/* Adds the machines that only these older settings find. They are taken back: what was launched since is to be used. */
static size_t add_older(const struct provider *p, const struct settings *s, const struct core_instance *now,
                        size_t now_n, struct arena *a, struct core_instance *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < s->known_n; i++) {
        if (has_instance(now, now_n, s->known[i].id) || was_ended(p, s->known[i].id))
            continue;
        ret[n] = s->known[i];
        ret[n].id = arena_strdup(a, s->known[i].id);
        ret[n].detail = arena_strdup(a, s->known[i].detail);
        if (p->now && (ret[n].state == INSTANCE_PENDING || ret[n].state == INSTANCE_RUNNING)) {
            ret[n].state = INSTANCE_ENDING;
            ret[n].detail = "it was launched with other settings of its pool";
        }
        n++;
    }
    return n;
}

/* Whether the program of these older settings lists a machine that the present ones do not find, even one that is on
 * its way to its end. */
static bool has_own(const struct settings *s, const struct core_instance *now, size_t now_n)
{
    for (size_t i = 0; i < s->known_n; i++)
        if (!has_instance(now, now_n, s->known[i].id))
            return true;
    return false;
}

/* Forgets settings that have no machines any more. */
static void drop_older(struct provider *p, size_t i)
{
    log_info("instance.record_removed", "pool=%s record=%s", p->setup.pool, p->older[i]->record);
    unlink(p->older[i]->record);
    settings_free(p->older[i]);
    p->older[i] = p->older[--p->older_n];
}

/* The older settings are asked first. So a machine that both old and present settings find, because what has changed
 * does not matter for finding it, is in the present list, whenever it was launched. */
static int list_command(struct provider *p, struct arena *a, struct core_instance **ret, size_t *ret_n,
                        struct error *err)
{
    struct core_instance *now = NULL;
    size_t now_n = 0, most = 0;
    for (size_t i = 0; i < p->older_n; i++) {
        ask_older(p, p->older[i]);
        most += p->older[i]->known_n;
    }
    if (p->now && ask_now(p->now, a, &now, &now_n, err) < 0)
        return -1;
    /* before the record is dropped by which these machines were launched */
    if (now_n > 0 && write_record(p, err) < 0)
        return -1;
    struct core_instance *all = arena_array(a, struct core_instance, now_n + most + 1);
    if (now_n)
        memcpy(all, now, now_n * sizeof(*all));
    size_t n = leave_out_ended(p, all, now_n);
    for (size_t i = p->older_n; i-- > 0;) {
        n += add_older(p, p->older[i], now, now_n, a, all + n);
        if (!has_own(p->older[i], now, now_n) && !p->older[i]->rest_us)
            drop_older(p, i);
    }
    *ret = all;
    *ret_n = n;
    return 0;
}

static bool has_more_command(const struct provider *p)
{
    return p->older_n > 0;
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
    const char *type = json_get_text(p->now->config, "type", &a);
    int slots = strcmp(type, "aws") == 0   ? aws_slots(p->now->config)
                : strcmp(type, "gcp") == 0 ? gcp_slots(p->now->config)
                                           : -1;
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
    s.config = p->now->config;
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
        line_program_ask(p->now->program, question, &answer, err) < 0)
        return -1;
    struct json_object *launched = json_member(answer, "launched");
    if (!json_object_is_type(launched, json_type_array))
        return error_set(err, ERR_INVALID, "the provider's answer to \"launch\" has no list `launched`");
    size_t got = json_object_array_length(launched);
    return got >= (size_t)n ? 0 : error_set(err, ERR_UNAVAILABLE, "the provider launched %zu of %d machines", got, n);
}

/* The settings that find a machine: the present ones if they have listed it, else the older ones that have. The program
 * of older settings may fail for ever, so it is not asked for what the present program can do. */
static struct settings *settings_of(const struct provider *p, const char *id)
{
    if (p->now && has_instance(p->now->known, p->now->known_n, id))
        return p->now;
    for (size_t i = 0; i < p->older_n; i++)
        if (has_instance(p->older[i]->known, p->older[i]->known_n, id))
            return p->older[i];
    return p->now;
}

static int terminate_command(struct provider *p, const char *id, struct error *err)
{
    cleanup_json struct json_object *question = new_question("terminate"), *answer = NULL;
    struct settings *s = settings_of(p, id);
    set_text(question, "instance", id);
    if (!s)
        return 0; /* the machine is gone: the last list did not have it any more */
    if (line_program_ask(s->program, question, &answer, err) < 0)
        return -1;
    note_ended(p, id);
    return 0;
}

#define OPERATIONS \
    .list_period_us = 5000000, .close = close_command, .list = list_command, .has_more = has_more_command, \
    .launch = launch_command, .terminate = terminate_command

const struct provider_type provider_command = {
    .name = "command", .slots_per_instance = slots_command, .open = open_command, .pools = pools_command, OPERATIONS};
const struct provider_type provider_aws = {
    .name = "aws", .slots_per_instance = aws_slots, .open = open_aws, .pools = pools_aws, OPERATIONS};
const struct provider_type provider_gcp = {
    .name = "gcp", .slots_per_instance = gcp_slots, .open = open_gcp, .pools = pools_gcp, OPERATIONS};
