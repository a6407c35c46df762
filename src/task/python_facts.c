#include "task/python_facts.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/system/beneath.h"

enum { CONFIG_MAX = 64 * 1024, PLACES_MAX = 64, PACKAGES_MAX = 20000, ENTRIES_MAX = 200000 };

/* ---- the interpreter --------------------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Whether the last name of the path is that of an interpreter: python, python3, python3.11. */
static bool is_python(const char *word)
{
    const char *name = base_name(word);
    return strncmp(name, "python", 6) == 0 && name[6 + strspn(name + 6, "0123456789.")] == 0;
}

/* The next word of a list whose words stand between `separators`, from *at on; NULL if there are no more. */
static const char *next_word(const char **at, const char *separators, struct arena *a)
{
    *at += strspn(*at, separators);
    size_t n = strcspn(*at, separators);
    const char *word = n ? arena_strndup(a, *at, n) : NULL;
    *at += n;
    return word;
}

static const char *from_work_dir(const struct python_search *s, const char *path, struct arena *a)
{
    return *path == '/' ? path : arena_printf(a, "%s/%s", s->work_dir, path);
}

static const char *in_path(const struct python_search *s, const char *name, struct arena *a)
{
    const char *at = s->path ? s->path : "", *dir;
    while ((dir = next_word(&at, ":", a))) {
        const char *found = arena_printf(a, "%s/%s", from_work_dir(s, dir, a), name);
        if (access(found, X_OK) == 0)
            return found;
    }
    return NULL;
}

const char *python_facts_interpreter(const struct python_search *s, struct arena *a)
{
    const char *word;
    for (size_t i = 0; i < s->argv_n; i++) {
        const char *at = s->argv[i];
        while ((word = next_word(&at, " \t\n'\";&|()`", a))) {
            const char *found = !is_python(word)    ? NULL
                                : strchr(word, '/') ? from_work_dir(s, word, a)
                                                    : in_path(s, word, a);
            if (found && access(found, X_OK) == 0)
                return found;
        }
    }
    return in_path(s, "python3", a);
}

/* ---- its version, and where it looks for packages ---------------------------------------------------------------- */

struct installation {
    const char *version; /* "3.11.2"; "3.11" if no more is known; "" if it is unknown */
    const char *prefix;
    bool virtual; /* made by venv or virtualenv */
};

/* The directory `levels` steps above a path. */
static const char *directory_above(const char *path, int levels, struct arena *a)
{
    char *dir = arena_strdup(a, path);
    while (levels-- > 0 && strrchr(dir, '/'))
        *strrchr(dir, '/') = 0;
    return dir;
}

/* The leading number of a version: "3.11.2" of "3.11.2.final.0". */
static const char *version_numbers(const char *text, struct arena *a)
{
    size_t n = strspn(text, "0123456789.");
    while (n > 0 && text[n - 1] == '.')
        n--;
    return arena_strndup(a, text, n);
}

/* The version in pyvenv.cfg: "version = 3.11.2" if venv wrote it, "version_info = 3.11.2.final.0" if virtualenv did. ""
 * if there is none. */
static const char *configured_version(const char *text, struct arena *a)
{
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *value = line + strcspn(line, "=\n");
        if (strncmp(line, "version", 7) == 0 && *value == '=')
            return version_numbers(value + 1 + strspn(value + 1, " \t"), a);
    }
    return "";
}

static struct installation installation_of(const char *executable, struct arena *a)
{
    cleanup_strbuf struct strbuf config = STRBUF_INIT;
    const char *prefix = directory_above(executable, 2, a);
    cleanup_close int dir = open(prefix, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0 && beneath_read(dir, "pyvenv.cfg", CONFIG_MAX, &config, NULL) == 0)
        return (struct installation){configured_version(strbuf_str(&config), a), prefix, true};
    cleanup_free char *real = realpath(executable, NULL);
    if (!real || !is_python(real) || !strchr(base_name(real), '.'))
        return (struct installation){"", prefix, false}; /* a wrapper script; it is not known what it runs */
    return (struct installation){version_numbers(base_name(real) + 6, a), directory_above(real, 2, a), false};
}

struct places {
    const char *dir[PLACES_MAX];
    size_t n;
};

static void add_place(struct places *p, const char *dir)
{
    if (p->n < PLACES_MAX)
        p->dir[p->n++] = dir;
}

static struct places places_of(const struct python_search *s, const struct installation *x, struct arena *a)
{
    struct places p = {.n = 0};
    const char *at = s->python_path ? s->python_path : "", *dir;
    while ((dir = next_word(&at, ":", a)))
        add_place(&p, from_work_dir(s, dir, a));
    size_t major = strcspn(x->version, ".");
    if (!x->version[major])
        return p; /* without the version its directories are unknown */
    const char *minor = arena_strndup(a, x->version, major + 1 + strcspn(x->version + major + 1, "."));
    if (!x->virtual && s->user_base)
        add_place(&p, arena_printf(a, "%s/lib/python%s/site-packages", s->user_base, minor));
    add_place(&p, arena_printf(a, "%s/lib/python%s/site-packages", x->prefix, minor));
    if (!x->virtual) { /* directories that Debian adds */
        add_place(&p, arena_printf(a, "%s/local/lib/python%s/dist-packages", x->prefix, minor));
        add_place(&p, arena_printf(a, "%s/lib/python3/dist-packages", x->prefix));
    }
    return p;
}

/* ---- packages ---------------------------------------------------------------------------------------------------- */

struct package {
    struct python_package entry;
    size_t place; /* index of the directory; of two packages of one name the one in the earlier directory counts */
};

struct packages {
    struct package *list;
    size_t n, cap;
};

/* The name in the form of PEP 503: "Some_Package" becomes "some-package". */
static const char *normalized_name(const char *name, size_t n, struct arena *a)
{
    char *text = arena_strndup(a, name, n), *to = text;
    for (const char *c = text; *c; c++) {
        bool separator = strchr("-_.", *c) != NULL;
        if (!separator || to == text || to[-1] != '-')
            *to++ = separator ? '-' : (char)tolower((unsigned char)*c);
    }
    *to = 0;
    return text;
}

/* Adds the package if the directory entry names one: "numpy-2.4.6.dist-info", "old-1.0-py3.11.egg-info". */
static void add_package(struct packages *p, const char *entry, size_t place, struct arena *a)
{
    const char *kind = strrchr(entry, '.'), *dash = strchr(entry, '-');
    if (!kind || (strcmp(kind, ".dist-info") != 0 && strcmp(kind, ".egg-info") != 0) || !dash || dash > kind)
        return;
    size_t version = strcspn(dash + 1, "-");
    if (version > (size_t)(kind - dash - 1))
        version = (size_t)(kind - dash - 1);
    if (p->n == PACKAGES_MAX)
        return;
    if (p->n == p->cap) {
        struct package *more = arena_array(a, struct package, p->cap ? p->cap * 2 : 256);
        if (p->n)
            memcpy(more, p->list, p->n * sizeof(*more));
        p->list = more;
        p->cap = p->cap ? p->cap * 2 : 256;
    }
    p->list[p->n++] = (struct package){{normalized_name(entry, (size_t)(dash - entry), a),
                                        arena_strndup(a, dash + 1, version)},
                                       place};
}

static int by_name(const void *a, const void *b)
{
    const struct package *x = a, *y = b;
    int order = strcmp(x->entry.name, y->entry.name);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

static void find_packages(const struct places *places, struct python_found *ret, struct arena *a)
{
    struct packages p = {.n = 0};
    size_t entries = 0;
    for (size_t i = 0; i < places->n; i++) {
        DIR *dir = opendir(places->dir[i]);
        for (struct dirent *e; dir && entries < ENTRIES_MAX && (e = readdir(dir)); entries++)
            add_package(&p, e->d_name, i, a);
        if (dir)
            closedir(dir);
    }
    if (!p.n)
        return;
    qsort(p.list, p.n, sizeof(*p.list), by_name);
    ret->package = arena_array(a, struct python_package, p.n);
    for (size_t i = 0; i < p.n; i++)
        if (i == 0 || strcmp(p.list[i].entry.name, p.list[i - 1].entry.name) != 0)
            ret->package[ret->package_n++] = p.list[i].entry;
}

bool python_facts_find(const struct python_search *s, struct arena *a, struct python_found *ret)
{
    const char *executable = python_facts_interpreter(s, a);
    if (!executable)
        return false;
    struct installation x = installation_of(executable, a);
    struct places places = places_of(s, &x, a);
    *ret = (struct python_found){.executable = executable, .version = x.version};
    find_packages(&places, ret, a);
    return true;
}
