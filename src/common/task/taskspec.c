#include "common/task/taskspec.h"

#include <string.h>

#include "common/base/bytes.h"

#define MAGIC 0x36535444u /* "DTS6" */
/* Orders of older agents, whose tasks may still run. */
#define MAGIC_WITHOUT_COMMAND 0x35535444u   /* "DTS5" */
#define MAGIC_WITHOUT_SHM 0x34535444u       /* "DTS4" */
#define MAGIC_WITHOUT_CONTAINER 0x33535444u /* "DTS3" */
#define MAGIC_WITHOUT_LOCKS 0x32535444u     /* "DTS2" */
#define STRING_MIN 5                        /* length and NUL byte */
#define CHANGE_USER 1u                      /* flags of a task */
#define ISOLATED 2u
#define OWN_TERMINALS 4u
#define OWN_PROCESSES 8u
#define MEMORY_ASKED 16u
#define COMMAND_MAY_GAIN 32u
#define READ_ONLY 1u /* flags of a mount */
#define MAKE_SOURCE 2u

static void put_string(struct strbuf *out, const char *s)
{
    s = s ? s : "";
    bytes_string(out, s, strlen(s));
}

static void put_strings(struct strbuf *out, char *const *list)
{
    uint32_t n = 0;
    while (list && list[n])
        n++;
    bytes_u32(out, n);
    for (uint32_t i = 0; i < n; i++)
        put_string(out, list[i]);
}

static char **get_strings(struct cursor *c, struct arena *a)
{
    uint32_t n = cursor_count(c, STRING_MIN);
    char **list = arena_array(a, char *, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++)
        list[i] = arena_strdup(a, cursor_string(c, NULL));
    return list;
}

void taskspec_encode(const struct taskspec *s, struct strbuf *out)
{
    bytes_u32(out, MAGIC);
    put_strings(out, s->argv);
    put_strings(out, s->env);
    put_string(out, s->cwd);
    bytes_u32(out, (s->change_user ? CHANGE_USER : 0u) | (s->isolated ? ISOLATED : 0u) |
                       (s->own_terminals ? OWN_TERMINALS : 0u) | (s->own_processes ? OWN_PROCESSES : 0u) |
                       (s->limit.memory_asked ? MEMORY_ASKED : 0u) | (s->command_may_gain ? COMMAND_MAY_GAIN : 0u));
    bytes_u32(out, s->uid);
    bytes_u32(out, s->gid);
    bytes_u32(out, (uint32_t)s->group_n);
    for (size_t i = 0; i < s->group_n; i++)
        bytes_u32(out, s->group[i]);
    put_strings(out, s->cgroup_procs);
    put_string(out, s->oom_file);
    put_string(out, s->log_links);
    bytes_u64(out, s->spool_max);
    bytes_u32(out, (uint32_t)s->mount_n);
    for (size_t i = 0; i < s->mount_n; i++) {
        put_string(out, s->mount[i].source);
        put_string(out, s->mount[i].target);
        bytes_u32(out, (s->mount[i].read_only ? READ_ONLY : 0u) | (s->mount[i].make_source ? MAKE_SOURCE : 0u));
    }
    put_strings(out, s->hidden);
    bytes_u64(out, s->limit.memory_bytes);
    bytes_u64(out, s->limit.processes);
    bytes_u64(out, s->limit.disk_bytes);
    put_string(out, s->pids_file);
    put_string(out, s->boot_id);
    put_string(out, s->tmp);
    bytes_u64(out, s->drop_capabilities);
    put_strings(out, s->lock);
    put_string(out, s->image);
    put_string(out, s->engine);
    bytes_u32(out, (uint32_t)s->place_n);
    for (size_t i = 0; i < s->place_n; i++) {
        put_string(out, s->place[i].target);
        bytes_u64(out, s->place[i].dev);
        bytes_u64(out, s->place[i].ino);
    }
    put_string(out, s->passwd_line);
    bytes_u32(out, s->terminal_gid);
    bytes_u64(out, s->shm_bytes);
    put_strings(out, s->command);
    put_strings(out, s->command_env);
    put_strings(out, s->probe);
}

static void get_mounts(struct cursor *c, struct arena *a, struct taskspec *s)
{
    s->mount_n = cursor_count(c, 2 * STRING_MIN + sizeof(uint32_t));
    s->mount = arena_array(a, struct taskspec_mount, s->mount_n + 1);
    for (size_t i = 0; i < s->mount_n; i++) {
        s->mount[i].source = arena_strdup(a, cursor_string(c, NULL));
        s->mount[i].target = arena_strdup(a, cursor_string(c, NULL));
        uint32_t flags = cursor_u32(c);
        s->mount[i].read_only = flags & READ_ONLY;
        s->mount[i].make_source = flags & MAKE_SOURCE;
    }
}

static void get_container(struct cursor *c, struct arena *a, struct taskspec *s)
{
    s->image = arena_strdup(a, cursor_string(c, NULL));
    s->engine = arena_strdup(a, cursor_string(c, NULL));
    s->place_n = cursor_count(c, STRING_MIN + 2 * sizeof(uint64_t));
    s->place = arena_array(a, struct taskspec_place, s->place_n + 1);
    for (size_t i = 0; i < s->place_n; i++) {
        s->place[i].target = arena_strdup(a, cursor_string(c, NULL));
        s->place[i].dev = cursor_u64(c);
        s->place[i].ino = cursor_u64(c);
    }
    s->passwd_line = arena_strdup(a, cursor_string(c, NULL));
}

int taskspec_decode(const void *data, size_t n, struct arena *a, struct taskspec *ret, struct error *err)
{
    struct cursor c = cursor_of(data, n);
    struct taskspec s = {.image = "", .engine = "", .passwd_line = ""};
    uint32_t magic = cursor_u32(&c);
    if (magic != MAGIC && magic != MAGIC_WITHOUT_COMMAND && magic != MAGIC_WITHOUT_SHM &&
        magic != MAGIC_WITHOUT_CONTAINER && magic != MAGIC_WITHOUT_LOCKS)
        return error_set(err, ERR_INVALID, "not a task order (or one of another version)");
    s.argv = get_strings(&c, a);
    s.env = get_strings(&c, a);
    s.cwd = arena_strdup(a, cursor_string(&c, NULL));
    uint32_t flags = cursor_u32(&c);
    s.change_user = flags & CHANGE_USER;
    s.isolated = flags & ISOLATED;
    s.own_terminals = flags & OWN_TERMINALS;
    s.own_processes = flags & OWN_PROCESSES;
    s.limit.memory_asked = flags & MEMORY_ASKED;
    s.command_may_gain = flags & COMMAND_MAY_GAIN;
    s.uid = cursor_u32(&c);
    s.gid = cursor_u32(&c);
    s.group_n = cursor_count(&c, sizeof(uint32_t));
    s.group = arena_array(a, uint32_t, s.group_n + 1);
    for (size_t i = 0; i < s.group_n; i++)
        s.group[i] = cursor_u32(&c);
    s.cgroup_procs = get_strings(&c, a);
    s.oom_file = arena_strdup(a, cursor_string(&c, NULL));
    s.log_links = arena_strdup(a, cursor_string(&c, NULL));
    s.spool_max = cursor_u64(&c);
    get_mounts(&c, a, &s);
    s.hidden = get_strings(&c, a);
    s.limit.memory_bytes = cursor_u64(&c);
    s.limit.processes = cursor_u64(&c);
    s.limit.disk_bytes = cursor_u64(&c);
    s.pids_file = arena_strdup(a, cursor_string(&c, NULL));
    s.boot_id = arena_strdup(a, cursor_string(&c, NULL));
    s.tmp = arena_strdup(a, cursor_string(&c, NULL));
    s.drop_capabilities = cursor_u64(&c);
    if (magic != MAGIC_WITHOUT_LOCKS)
        s.lock = get_strings(&c, a);
    if (magic == MAGIC || magic == MAGIC_WITHOUT_COMMAND || magic == MAGIC_WITHOUT_SHM) {
        get_container(&c, a, &s);
        s.terminal_gid = cursor_u32(&c);
    }
    if (magic == MAGIC || magic == MAGIC_WITHOUT_COMMAND)
        s.shm_bytes = cursor_u64(&c);
    if (magic == MAGIC) {
        s.command = get_strings(&c, a);
        s.command_env = get_strings(&c, a);
        s.probe = get_strings(&c, a);
    }
    if (!cursor_done(&c) || !s.argv[0])
        return error_set(err, ERR_INVALID, "a damaged task order");
    *ret = s;
    return 0;
}

bool taskspec_has_command(const struct taskspec *s)
{
    return s->command && *s->command;
}

bool taskspec_is_in_container(const struct taskspec *s)
{
    return *s->image && !taskspec_has_command(s);
}

const char *taskspec_env(const struct taskspec *s, const char *name)
{
    char *const *env = s->env;
    size_t n = strlen(name);
    for (; *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    return "";
}
