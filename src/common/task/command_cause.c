#include "common/task/command_cause.h"

#include <string.h>
#include <sys/wait.h>

enum { CAUSE_BYTES_MAX = 2000 };

void command_cause_take(struct strbuf *cause, const char *line, size_t n)
{
    bool has_cause = strncmp(strbuf_str(cause), "FATAL", 5) == 0 || strncmp(strbuf_str(cause), "ERROR", 5) == 0;
    if (has_cause || n == 0)
        return;
    strbuf_reset(cause);
    for (size_t i = 0; i < n && i < CAUSE_BYTES_MAX; i++)
        strbuf_addc(cause, (unsigned char)line[i] < 32 || line[i] == 127 ? ' ' : line[i]);
}

void command_cause_describe(const char *name, const struct strbuf *cause, int status, struct strbuf *out)
{
    strbuf_addf(out, "%s says: %s (", name, cause->n ? strbuf_str(cause) : "nothing");
    if (WIFSIGNALED(status))
        strbuf_addf(out, "signal %d (%s))", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        strbuf_addf(out, "exit status %d)", WEXITSTATUS(status));
}

bool cause_is_disk_full(const char *reason)
{
    return strcasestr(reason, "no space left on device") || strcasestr(reason, "disk quota exceeded");
}
