#include "agent/machine/host_facts.h"

#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/machine/slots.h"
#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"

enum { OS_RELEASE_MAX = 64 * 1024 };

/* The system's name from os-release(5): PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"; the quotes are optional there. */
static const char *name_of_system(const char *path, struct arena *a)
{
    static const char key[] = "PRETTY_NAME=";
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (file_read(path, OS_RELEASE_MAX, &text, NULL) < 0)
        return "";
    for (const char *line = strbuf_str(&text); line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, key, sizeof(key) - 1) != 0)
            continue;
        const char *value = line + sizeof(key) - 1;
        value += strspn(value, "\"'");
        return arena_strndup(a, value, strcspn(value, "\"'\n"));
    }
    return "";
}

void host_facts_read(const struct host_facts_places *places, const char *hostname, struct arena *a,
                     struct wire_host_environment *ret)
{
    struct utsname system;
    long processors = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    *ret = (struct wire_host_environment){.hostname = hostname,
                                          .os = name_of_system(places->os_release, a),
                                          .processor = slots_processor(places->cpuinfo, a),
                                          .processors = processors > 0 ? (int32_t)processors : 0,
                                          .memory_bytes = pages > 0 && page > 0 ? (int64_t)pages * page : 0};
    if (uname(&system) == 0) {
        ret->kernel = arena_strdup(a, system.release);
        ret->architecture = arena_strdup(a, system.machine);
    }
}
