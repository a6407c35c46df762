#include "master/pools/local_agent.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/json/json.h"
#include "common/system/child_program.h"
#include "common/system/files.h"
#include "master/pools/agent_settings.h"

int local_agent_slots(struct json_object *config)
{
    return json_object_get_int(json_member(config, "instance_slots"));
}

/* The agent's slots stand for no devices, unless the administrator says which. */
static struct json_object *local_settings(const struct provider_setup *s, const char *id, const char *token_file)
{
    struct json_object *c = agent_settings(s, s->master_cert);
    int slots = local_agent_slots(s->config);
    json_object_object_add(c, "agent_id", json_object_new_string(id));
    json_object_object_add(c, "token_file", json_object_new_string(token_file));
    if (!json_member(c, "artificial_slots") && !json_member(c, "slot_type") && slots > 0)
        json_object_object_add(c, "artificial_slots", json_object_new_int(slots));
    else if (!json_member(c, "artificial_slots") && !json_member(c, "slot_type"))
        json_object_object_add(c, "slot_type", json_object_new_string("none"));
    return c;
}

static int write_files(const struct provider_setup *s, const char *id, const char *token_file, const char *config_file,
                       struct error *err)
{
    cleanup_json struct json_object *config = local_settings(s, id, token_file);
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
