#include "task/missing_module.h"

#include <ctype.h>
#include <string.h>

/* Python writes "ModuleNotFoundError: No module named 'torch'", and python3 -m writes "/usr/bin/python3: No module
 * named torch". */
static const char said[] = "No module named ";

static size_t name_length(const char *p, const char *end)
{
    size_t n = 0;
    while (p + n < end && (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '.'))
        n++;
    while (n > 0 && p[n - 1] == '.') /* the full stop of a sentence */
        n--;
    return n;
}

void missing_module_scan(struct missing_module *m, const char *line, size_t n)
{
    const char *end = line + n;
    const char *at = *m->name ? NULL : memmem(line, n, said, sizeof(said) - 1);
    if (!at)
        return;
    at += sizeof(said) - 1;
    at += at < end && *at == '\'';
    size_t name_n = name_length(at, end);
    if (name_n == 0 || name_n > MODULE_NAME_MAX)
        return;
    memcpy(m->name, at, name_n);
    m->name[name_n] = 0;
}

void missing_module_explain(const struct missing_module *m, const char *python, struct strbuf *ret)
{
    strbuf_addf(ret, "ERROR: the module '%s' was not found. ", m->name);
    if (python)
        strbuf_addf(ret,
                    "If it is a package, install it for this task's python3, which is %s, or choose another Python",
                    python);
    else
        strbuf_adds(ret, "If it is a package, choose a Python that has it: this task's PATH has no python3");
    strbuf_adds(
        ret,
        " (\"Your Python environment\", docs/python-environment.md). If it is a file of yours, it must lie in the model "
        "directory.\n");
}
