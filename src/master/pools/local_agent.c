#include "master/pools/local_agent.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/system/child_program.h"
#include "common/system/files.h"

static struct json_object *member_of(struct json_object *o, const char *name)
{
    struct json_object *v = NULL;
    return o && json_object_object_get_ex(o, name, &v) ? v : NULL;
}

int local_agent_slots(struct json_object *config)
{
    return json_object_get_int(member_of(config, "instance_slots"));
}

static void set_text(struct json_object *o, const char *key, const char *value)
{
    json_object_object_add(o, key, json_object_new_string(value));
}

static struct json_object *part_of(struct json_object *o, const char *name)
{
    struct json_object *part = member_of(o, name);
    if (!json_object_is_type(part, json_type_object)) {
        part = json_object_new_object();
        json_object_object_add(o, name, part);
    }
    return part;
}

static void add_tls(struct json_object *c, const struct provider_setup *s)
{
    struct json_object *tls = part_of(part_of(c, "security"), "tls"), *name = member_of(s->config, "master_cert_name");
    json_object_object_add(tls, "enabled", json_object_new_boolean(true));
    if (!member_of(tls, "master_cert") && !json_object_get_boolean(member_of(tls, "skip_verify")) && *s->master_cert)
        set_text(tls, "master_cert", s->master_cert);
    if (name && *json_object_get_string(name))
        set_text(tls, "master_cert_name", json_object_get_string(name));
}

/* Makes the agent's configuration: the values that the administrator gives, replaced where the provider has to set
 * them. The provider's configuration may be used on the loop only, so it is read here and everything is copied. */
static struct json_object *agent_config(const struct provider_setup *s, const char *id, const char *token_file)
{
    struct json_object *given = member_of(s->config, "agent_config_file_contents"), *c = NULL;
    if (!given || json_object_deep_copy(given, &c, NULL) < 0)
        c = json_object_new_object();
    set_text(c, "master_host", s->master_host);
    json_object_object_add(c, "master_port", json_object_new_int(s->master_port));
    set_text(c, "agent_id", id);
    set_text(c, "resource_pool", s->pool);
    set_text(c, "token_file", token_file);
    int slots = local_agent_slots(s->config);
    if (!member_of(c, "artificial_slots") && !member_of(c, "slot_type") && slots > 0)
        json_object_object_add(c, "artificial_slots", json_object_new_int(slots));
    else if (!member_of(c, "artificial_slots") && !member_of(c, "slot_type"))
        set_text(c, "slot_type", "none");
    static const char *const same[] = {"agent_reconnect_attempts", "agent_reconnect_backoff"};
    for (size_t i = 0; i < 2; i++)
        if (!member_of(c, same[i]))
            json_object_object_add(c, same[i], json_object_new_int(json_object_get_int(member_of(s->config, same[i]))));
    if (s->master_tls)
        add_tls(c, s);
    return c;
}

static int write_files(const struct provider_setup *s, const char *id, const char *token_file, const char *config_file,
                       struct error *err)
{
    cleanup_json struct json_object *config = agent_config(s, id, token_file);
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    json_print(config, &text);
    if (file_write(token_file, s->agent_token, strlen(s->agent_token), 0600, err) < 0)
        return -1;
    return file_write(config_file, text.s, text.n, 0600, err);
}

static int spawn_agent(char *const argv[], const char *log, struct arena *a, pid_t *ret, struct error *err)
{
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    int rc = child_program_start(argv, child_program_environment(NULL, a), &files, /* own_session= */ true, ret);
    posix_spawn_file_actions_destroy(&files);
    return rc == 0 ? 0 : error_set(err, ERR_PRECONDITION, "cannot run %s: %s", argv[0], strerror(rc));
}

int local_agent_start(const struct provider_setup *s, const char *program, const char *id, const char *directory,
                      pid_t *ret, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const char *config = arena_printf(&a, "%s/agent.json", directory),
               *log = arena_printf(&a, "%s/agent.log", directory);
    char *const argv[] = {(char *)program,   "run", "--config-file", (char *)config, "--data-dir",
                          (char *)directory, NULL};
    /* 0711, so that tasks of other users can reach their own directories below */
    if (dir_make(directory, 0711, err) < 0 ||
        write_files(s, id, arena_printf(&a, "%s/token", directory), config, err) < 0)
        return -1;
    return spawn_agent(argv, log, &a, ret, err);
}
