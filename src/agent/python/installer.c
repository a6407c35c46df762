#include "agent/python/installer.h"

#include <string.h>
#include <strings.h>

#include "common/base/cleanup.h"
#include "common/base/utf8.h"
#include "common/base/word_list.h"

#define CAUSE_MAX 400 /* bytes of the programs' own words that a sentence repeats */

/* ---- command lines ----------------------------------------------------------------------------------------------- */

static const char *python_of(const struct installer_job *j, struct arena *a)
{
    return arena_printf(a, "%s/bin/python", j->environment);
}

char **installer_make_command(const struct installer_job *j, enum installer_way way, struct arena *a)
{
    struct word_list w = {.arena = a};
    if (way == INSTALLER_UV) {
        static const char *const fixed[] = {"venv", "--no-project", "--quiet", "--python"};
        word_list_add_copy(&w, j->uv);
        for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
            word_list_add_copy(&w, fixed[i]);
        word_list_add_copy(&w, j->python);
    } else {
        static const char *const fixed[] = {"-I", "-m", "venv", "--clear"};
        word_list_add_copy(&w, j->python);
        for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
            word_list_add_copy(&w, fixed[i]);
        if (way == INSTALLER_VENV_WITHOUT_PIP)
            word_list_add_copy(&w, "--without-pip");
    }
    word_list_add_copy(&w, j->environment);
    return w.item;
}

static void begin_pip(struct word_list *w, const struct installer_job *j, enum installer_way way)
{
    static const char *const fixed[] = {"install",        "--disable-pip-version-check",
                                        "--no-input",     "--no-cache-dir",
                                        "--progress-bar", "off",
                                        "--retries",      "2"};
    word_list_add_copy(w, way == INSTALLER_VENV ? python_of(j, w->arena) : j->python);
    word_list_add_copy(w, "-m");
    word_list_add_copy(w, "pip");
    if (way == INSTALLER_VENV_WITHOUT_PIP) {
        word_list_add_option(w, "--python", python_of(j, w->arena));
    }
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
        word_list_add_copy(w, fixed[i]);
}

char **installer_install_command(const struct installer_job *j, enum installer_way way, struct arena *a)
{
    struct word_list w = {.arena = a};
    if (way == INSTALLER_UV) {
        static const char *const fixed[] = {"pip", "install", "--compile-bytecode", "--no-progress", "--python"};
        word_list_add_copy(&w, j->uv);
        for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
            word_list_add_copy(&w, fixed[i]);
        word_list_add_copy(&w, python_of(j, a));
    } else {
        begin_pip(&w, j, way);
    }
    if (*j->settings->wheels) {
        word_list_add_copy(&w, "--no-index");
        word_list_add_option(&w, "--find-links", j->settings->wheels);
    }
    if (j->settings->only_wheels)
        word_list_add_option(&w, "--only-binary", ":all:");
    if (j->hashed)
        word_list_add_copy(&w, "--require-hashes");
    for (size_t i = 0; i < j->file_n; i++)
        word_list_add_option(&w, "-r", j->file[i]);
    return w.item;
}

/* ---- environment ------------------------------------------------------------------------------------------------- */

/* Variables of the agent that say how this machine reaches others. */
static const char *const inherited_names[] = {"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
                                              "http_proxy",    "https_proxy",  "no_proxy",
                                              "HTTP_PROXY",    "HTTPS_PROXY",  "NO_PROXY",
                                              "ALL_PROXY",     "TZ",           "LD_LIBRARY_PATH",
                                              "PATH"};

static const char *value_of(char *const *environment, const char *name)
{
    size_t n = strlen(name);
    for (; environment && *environment; environment++)
        if (strncmp(*environment, name, n) == 0 && (*environment)[n] == '=')
            return *environment + n + 1;
    return NULL;
}

static void set(struct word_list *w, const char *name, const char *value)
{
    if (value && *value)
        word_list_add(w, arena_printf(w->arena, "%s=%s", name, value));
}

static bool is_proxy_of_settings(const struct python_settings *s, const char *name)
{
    return (strcasecmp(name, "http_proxy") == 0 && *s->http_proxy) ||
           (strcasecmp(name, "https_proxy") == 0 && *s->https_proxy) ||
           (strcasecmp(name, "no_proxy") == 0 && *s->no_proxy);
}

char **installer_environment(const struct installer_job *j, char *const *inherited, struct arena *a)
{
    static const char *const fixed[] = {"LC_ALL=C.UTF-8",     "NO_COLOR=1",
                                        "UV_NO_PROGRESS=1",   "UV_PYTHON_DOWNLOADS=never",
                                        "PYTHONUNBUFFERED=1", "UV_HTTP_RETRIES=2"};
    const struct python_settings *s = j->settings;
    struct word_list w = {.arena = a};
    for (size_t i = 0; i < sizeof(inherited_names) / sizeof(inherited_names[0]); i++)
        if (!is_proxy_of_settings(s, inherited_names[i]))
            set(&w, inherited_names[i], value_of(inherited, inherited_names[i]));
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
        word_list_add_copy(&w, fixed[i]);
    set(&w, "HTTP_PROXY", s->http_proxy);
    set(&w, "http_proxy", s->http_proxy);
    set(&w, "HTTPS_PROXY", s->https_proxy);
    set(&w, "https_proxy", s->https_proxy);
    set(&w, "NO_PROXY", s->no_proxy);
    set(&w, "no_proxy", s->no_proxy);
    set(&w, "HOME", j->work);
    set(&w, "TMPDIR", arena_printf(a, "%s/tmp", j->work));
    set(&w, "UV_CACHE_DIR", arena_printf(a, "%s/cache", j->work));
    set(&w, "UV_DEFAULT_INDEX", s->index_url);
    set(&w, "PIP_INDEX_URL", s->index_url);
    if (*s->wheels) /* what this machine is configured for does not count then */
        set(&w, "PIP_CONFIG_FILE", "/dev/null");
    return w.item;
}

/* ---- what they say ----------------------------------------------------------------------------------------------- */

void installer_hide_passwords(const char *line, struct strbuf *ret)
{
    const char *scheme;
    while ((scheme = strstr(line, "://"))) {
        size_t host = strcspn(scheme + 3, " \t/'\"`)>,");
        const char *at = memrchr(scheme + 3, '@', host);
        strbuf_add(ret, line, (size_t)(scheme + 3 - line));
        line = scheme + 3;
        if (at) {
            strbuf_adds(ret, "***");
            line = at;
        }
    }
    strbuf_adds(ret, line);
}

enum cause { CAUSE_DISK, CAUSE_NETWORK, CAUSE_HASH, CAUSE_UNRESOLVED, CAUSE_OTHER };

/* The words by which a cause is known, in the order in which they are looked for. When pip cannot reach its index, it
 * goes on to say that there is no such package, so a network that fails comes before a package that is missing. */
static const struct {
    const char *words;
    enum cause cause;
} signs[] = {
    {"No space left on device", CAUSE_DISK},
    {"os error 28", CAUSE_DISK},
    {"Disk quota exceeded", CAUSE_DISK},
    {"Failed to establish a new connection", CAUSE_NETWORK},
    {"Name or service not known", CAUSE_NETWORK},
    {"Temporary failure in name resolution", CAUSE_NETWORK},
    {"Network is unreachable", CAUSE_NETWORK},
    {"ConnectTimeoutError", CAUSE_NETWORK},
    {"ReadTimeoutError", CAUSE_NETWORK},
    {"Cannot connect to proxy", CAUSE_NETWORK},
    {"dns error", CAUSE_NETWORK},
    {"tcp connect error", CAUSE_NETWORK},
    {"client error (Connect)", CAUSE_NETWORK},
    {"error sending request", CAUSE_NETWORK},
    {"operation timed out", CAUSE_NETWORK},
    {"Hash mismatch", CAUSE_HASH},
    {"DO NOT MATCH THE HASHES", CAUSE_HASH},
    {"No solution found", CAUSE_UNRESOLVED},
    {"No matching distribution found", CAUSE_UNRESOLVED},
    {"ResolutionImpossible", CAUSE_UNRESOLVED},
    {"Could not find a version", CAUSE_UNRESOLVED},
};

static enum cause cause_of(const char *output, const char **ret_at)
{
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
        if ((*ret_at = strstr(output, signs[i].words)))
            return signs[i].cause;
    *ret_at = output;
    return CAUSE_OTHER;
}

/* Adds the line that begins at `line`, without the words that mark it. */
static void add_line(const char *line, struct strbuf *ret)
{
    static const char *const marks[] = {"ERROR: ", "error: ", "cause: ", "Caused by: ", "× ", "╰─▶ "};
    cleanup_strbuf struct strbuf text = STRBUF_INIT, shown = STRBUF_INIT;
    line += strspn(line, " \t");
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (strncmp(line, marks[i], strlen(marks[i])) == 0)
            line += strlen(marks[i]);
    strbuf_add(&text, line, strcspn(line, "\r\n"));
    strbuf_truncate(&text, utf8_cut(strbuf_str(&text), text.n, CAUSE_MAX));
    while (text.n > 0 && (text.s[text.n - 1] == '.' || text.s[text.n - 1] == ' '))
        strbuf_truncate(&text, text.n - 1);
    installer_hide_passwords(strbuf_str(&text), &shown);
    strbuf_adds(ret, strbuf_str(&shown));
}

static const char *line_start(const char *output, const char *at)
{
    while (at > output && at[-1] != '\n')
        at--;
    return at;
}

/* The line that says what is missing: of uv the one after "No solution found", of pip the one that names it. */
static const char *unresolved_line(const char *output, const char *at)
{
    const char *pip = strstr(output, "No matching distribution found"), *because = strstr(at, "Because ");
    return because ? because : pip ? pip : line_start(output, at);
}

static const char *last_line(const char *output)
{
    const char *end = output + strlen(output);
    while (end > output && strchr(" \r\n\t", end[-1]))
        end--;
    return line_start(output, end);
}

void installer_explain(const struct installer_job *j, const char *output, struct strbuf *ret)
{
    const struct python_settings *s = j->settings;
    const char *at;
    strbuf_adds(ret, "the task's Python environment cannot be made: ");
    switch (cause_of(output, &at)) {
    case CAUSE_DISK:
        strbuf_addf(ret,
                    "the disk of %s is full; make room there, or let the agent keep its environments elsewhere "
                    "(python_environments.dir)",
                    s->dir);
        break;
    case CAUSE_NETWORK:
        strbuf_adds(ret, "the package index cannot be reached (");
        add_line(line_start(output, at), ret);
        strbuf_adds(ret,
                    "); give the agent's machine a network or a proxy (https_proxy), name an index that it reaches "
                    "(python_environments.index_url), or a directory of wheels (python_environments.wheels)");
        break;
    case CAUSE_HASH:
        strbuf_adds(ret, "a package does not have the hash that its requirement names; see the lines above");
        break;
    case CAUSE_UNRESOLVED:
        strbuf_adds(ret, "the requirements cannot be met: ");
        add_line(unresolved_line(output, at), ret);
        if (*s->wheels)
            strbuf_addf(ret,
                        "; this agent installs from the directory %s only, so put the wheels that are missing there",
                        s->wheels);
        else
            strbuf_adds(ret, "; change the requirements of environment.python");
        break;
    case CAUSE_OTHER:
        strbuf_addf(ret, "%s failed: ", j->uv ? "uv" : "pip");
        add_line(last_line(output), ret);
        strbuf_adds(ret, "; see the lines above");
        break;
    }
}
