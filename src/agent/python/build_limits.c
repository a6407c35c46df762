#include "agent/python/build_limits.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"

#define EVENTS_MAX 65536
#define OOM_KILL "oom_kill "

int build_limits_open(const struct python_settings *s, const char *cgroup_root, const char *membership, struct arena *a,
                      struct build_limits *ret, struct error *err)
{
    struct build_limits l = {.name = NULL};
    struct cgroup_limits limits = {.memory_bytes = s->build_memory_bytes};
    struct stat st;
    *ret = l;
    if (!cgroup_wanted(&limits))
        return 0;
    if (stat(s->dir, &st) < 0)
        return error_errno(err, "%s", s->dir);
    const char *name = arena_printf(a, "python-%llx-%llx", (unsigned long long)st.st_dev,
                                    (unsigned long long)st.st_ino);
    if (cgroup_find_home(cgroup_root, membership, a, &l.home, err) < 0)
        return -1;
    /* A group that is new counts from zero. */
    cgroup_remove(&l.home, name);
    if (cgroup_make(&l.home, name, &limits, a, &l.group, err) < 0) {
        cgroup_remove(&l.home, name);
        return -1;
    }
    l.name = name;
    *ret = l;
    return 0;
}

char *const *build_limits_procs(const struct build_limits *l)
{
    return l->name ? l->group.procs : NULL;
}

bool build_limits_exceeded(const struct build_limits *l)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (!l->name || !*l->group.oom_file || file_read(l->group.oom_file, EVENTS_MAX, &text, NULL) < 0)
        return false;
    const char *at = strstr(strbuf_str(&text), OOM_KILL);
    return at && strtoll(at + strlen(OOM_KILL), NULL, 10) > 0;
}

void build_limits_close(struct build_limits *l)
{
    if (l->name)
        cgroup_remove(&l->home, l->name);
    l->name = NULL;
}
