#include "task/limits.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"
#include "task/container.h"

#define EVENTS_MAX 65536
#define ENTRIES_PER_STEP 2000
#define STEP_PAUSE_US 50000
#define MEASURE_PAUSE_US 5000000
/* the pause is so many times the length of the measurement: a measurement never takes more than a twentieth of the
 * time */
#define PAUSE_FACTOR 20

/* The number after `name` in a text of lines "NAME NUMBER"; 0 if there is none. */
static int64_t count_of(const char *text, const char *name)
{
    const char *p = strstr(text, name);
    return p ? strtoll(p + strlen(name), NULL, 10) : 0;
}

static const char *size_text(uint64_t bytes, struct arena *a)
{
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double n = (double)bytes;
    size_t i = 0;
    while (n >= 1024 && i + 1 < sizeof(unit) / sizeof(unit[0])) {
        n /= 1024;
        i++;
    }
    return n == (double)(uint64_t)n ? arena_printf(a, "%.0f %s", n, unit[i]) : arena_printf(a, "%.1f %s", n, unit[i]);
}

void limits_open(struct limits *l, const struct taskspec *spec, int supervisor_dir, int64_t now_us)
{
    bool in_container = taskspec_is_in_container(spec);
    *l = (struct limits){.spec = spec, .task_dir = -1, .pids_fd = -1};
    if (*spec->pids_file)
        l->pids_fd = open(spec->pids_file, O_RDONLY | O_CLOEXEC);
    /* In a container the task's directories are not beside the supervisor's: all of them are below its run directory.
     */
    if (spec->limit.disk_bytes)
        l->task_dir = in_container ? open(CONTAINER_RUN_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                                   : openat(supervisor_dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    l->disk = (struct diskuse){.top = l->task_dir, .skip = in_container ? "" : "supervisor"};
    l->measure_us = now_us + MEASURE_PAUSE_US;
}

void limits_close(struct limits *l)
{
    diskuse_release(&l->disk);
    cleanup_close_p(&l->pids_fd);
    cleanup_close_p(&l->task_dir);
}

/* The file is read from its beginning each time, which also makes the kernel report the next change. */
static const char *too_many_processes(const struct limits *l, struct arena *a)
{
    char text[256];
    ssize_t n = l->pids_fd >= 0 ? pread(l->pids_fd, text, sizeof(text) - 1, 0) : 0;
    text[n > 0 ? n : 0] = 0;
    if (count_of(text, "max ") == 0)
        return NULL;
    return arena_printf(a, "killed: the task's limit of %" PRIu64 " processes was reached", l->spec->limit.processes);
}

static const char *too_much_disk(struct limits *l, int64_t now_us, struct arena *a)
{
    uint64_t bytes;
    if (l->task_dir < 0 || now_us < l->measure_us)
        return NULL;
    if (!l->began_us)
        l->began_us = now_us;
    if (!diskuse_step(&l->disk, ENTRIES_PER_STEP, &bytes)) {
        l->measure_us = now_us + STEP_PAUSE_US;
        return NULL;
    }
    int64_t pause_us = PAUSE_FACTOR * (now_us - l->began_us);
    l->measure_us = now_us + (pause_us > MEASURE_PAUSE_US ? pause_us : MEASURE_PAUSE_US);
    l->began_us = 0;
    if (bytes <= l->spec->limit.disk_bytes)
        return NULL;
    return arena_printf(a, "killed: the task has stored %s in its own directory, its limit is %s", size_text(bytes, a),
                        size_text(l->spec->limit.disk_bytes, a));
}

const char *limits_exceeded(struct limits *l, int64_t now_us, struct arena *a)
{
    const char *why = too_many_processes(l, a);
    return why ? why : too_much_disk(l, now_us, a);
}

int64_t limits_next_us(const struct limits *l)
{
    return l->task_dir >= 0 ? l->measure_us : -1;
}

int64_t limits_out_of_memory(const struct limits *l)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (!*l->spec->oom_file || file_read(l->spec->oom_file, EVENTS_MAX, &text, NULL) < 0)
        return 0;
    return count_of(strbuf_str(&text), "oom_kill ");
}

const char *limits_memory_text(const struct limits *l, struct arena *a)
{
    uint64_t limit = l->spec->limit.memory_bytes;
    if (!limit)
        return "killed: out of memory";
    return arena_printf(a, "killed: out of memory: the task used %s, %s", size_text(limit, a),
                        l->spec->limit.memory_asked ? "all that it asked for (resources.memory)" : "its limit");
}
