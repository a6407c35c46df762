#include "agent/python/interpreter.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/machine/account.h"
#include "agent/python/build_process.h"
#include "common/base/cleanup.h"
#include "common/json/json.h"

#define ASK_TIMEOUT_S 60
#define ANSWER_MAX (256 * 1024)
/* The answer stands in a line that begins so, because a package of the user may print something, too. */
#define ANSWER_MARK "determined-python:"

static const char question[] =
    "import importlib.util, json, platform, sys\n"
    "def has(name):\n"
    "    try:\n"
    "        return importlib.util.find_spec(name) is not None\n"
    "    except Exception:\n"
    "        return False\n"
    "site = [p for p in sys.path if p.rstrip('/').endswith(('site-packages', 'dist-packages'))]\n"
    "print('" ANSWER_MARK
    "' + json.dumps({'version': platform.python_version(), 'tag': sys.implementation.cache_tag or '',\n"
    "    'machine': platform.machine(), 'prefix': sys.prefix, 'site': site,\n"
    "    'found': [name for name in sys.argv[1:] if has(name)]}))\n";

/* ---- where it is ------------------------------------------------------------------------------------------------- */

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static const char *in_directory(const char *dir, struct arena *a)
{
    static const char *const name[] = {"bin/python3", "bin/python"};
    for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
        const char *path = arena_printf(a, "%s/%s", dir, name[i]);
        if (is_program(path))
            return path;
    }
    return NULL;
}

bool python_builder_reaches(const struct python_settings *s, const char *path, int want)
{
    gid_t group = s->gid;
    struct account builder = {.uid = s->uid, .gid = s->gid, .group = &group, .group_n = 1};
    return s->change_user ? account_reaches(&builder, path, want) : access(path, want) == 0;
}

int interpreter_find_on_path(const char *path, const struct python_settings *builder, struct arena *a, const char **ret,
                             const char **ret_passed, struct error *err)
{
    const char *first = NULL;
    *ret_passed = NULL;
    for (const char *at = path, *end; *at; at = *end ? end + 1 : end) {
        end = at + strcspn(at, ":");
        const char *file = arena_printf(a, "%.*s/python3", (int)(end - at), at);
        if (*at != '/' || !is_program(file))
            continue;
        if (!builder || python_builder_reaches(builder, file, X_OK)) {
            *ret = file;
            *ret_passed = first;
            return 0;
        }
        first = first ? first : file;
    }
    if (!first)
        return error_set(err, ERR_INVALID,
                         "the task needs a Python, and there is no python3 on its PATH (%s): install one on this "
                         "agent's machine, or name one in environment.python",
                         path);
    *ret = first;
    return 0;
}

int interpreter_find(const char *named, struct arena *a, const char **ret, struct error *err)
{
    struct stat st;
    size_t n = strlen(named);
    while (n > 1 && named[n - 1] == '/')
        n--;
    const char *clean = arena_strndup(a, named, n);
    if (stat(clean, &st) < 0)
        return error_set(
            err, ERR_INVALID,
            "environment.python: there is no %s on this agent's machine; install it there, or name another "
            "interpreter",
            clean);
    const char *found = S_ISDIR(st.st_mode) ? in_directory(clean, a) : is_program(clean) ? clean : NULL;
    if (!found)
        return error_set(err, ERR_INVALID,
                         S_ISDIR(st.st_mode)
                             ? "environment.python: the directory %s has no bin/python3; name the directory "
                               "of a conda or virtual environment, or an interpreter"
                             : "environment.python: %s is no program that can be executed; name a Python "
                               "interpreter, or the directory of an environment",
                         clean);
    *ret = found;
    return 0;
}

const char *interpreter_environment(const char *interpreter, struct arena *a)
{
    char *dir = arena_strdup(a, interpreter);
    for (int i = 0; i < 2 && strrchr(dir, '/'); i++)
        *strrchr(dir, '/') = 0;
    bool is_environment = access(arena_printf(a, "%s/pyvenv.cfg", dir), F_OK) == 0 ||
                          access(arena_printf(a, "%s/conda-meta", dir), F_OK) == 0;
    return is_environment ? dir : "";
}

/* ---- what it says ------------------------------------------------------------------------------------------------ */

int interpreter_facts_decode(const char *text, size_t n, struct arena *a, struct interpreter_facts *ret,
                             struct error *err)
{
    cleanup_json struct json_object *o = NULL;
    if (json_parse(text, n, &o, err) < 0)
        return -1;
    struct interpreter_facts f = {0};
    if (json_object_is_type(o, json_type_object))
        f = (struct interpreter_facts){.version = json_get_text(o, "version", a),
                                       .tag = json_get_text(o, "tag", a),
                                       .machine = json_get_text(o, "machine", a),
                                       .prefix = json_get_text(o, "prefix", a)};
    if (!f.version || !*f.version || *f.prefix != '/')
        return error_set(err, ERR_INVALID, "it does not say what it is");
    f.site = json_get_texts(o, "site", a, &f.site_n);
    f.found = json_get_texts(o, "found", a, &f.found_n);
    *ret = f;
    return 0;
}

struct answer {
    struct strbuf text, last;
};

static void on_line(void *ctx, const char *line, size_t n)
{
    struct answer *answer = ctx;
    size_t mark = strlen(ANSWER_MARK);
    if (n > mark && memcmp(line, ANSWER_MARK, mark) == 0 && answer->text.n + n < ANSWER_MAX) {
        strbuf_reset(&answer->text);
        strbuf_add(&answer->text, line + mark, n - mark);
    }
    strbuf_reset(&answer->last);
    strbuf_add(&answer->last, line, n);
}

static int run_question(const char *interpreter, const char *const *module, size_t module_n,
                        const struct python_settings *settings, struct answer *ret, struct error *err)
{
    char *argv[16] = {(char *)interpreter, "-I", "-B", "-c", (char *)question};
    char *env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8", NULL};
    for (size_t i = 0; i < module_n && i < 8; i++)
        argv[5 + i] = (char *)module[i];
    struct build_process p = {.argv = argv,
                              .env = env,
                              .dir = "/",
                              .change_user = settings->change_user,
                              .uid = settings->uid,
                              .gid = settings->gid,
                              .timeout_s = ASK_TIMEOUT_S,
                              .on_line = on_line,
                              .ctx = ret};
    int status;
    if (build_process_run(&p, &status, err) < 0)
        return err && err->kind == ERR_CANCELED
                   ? -1
                   : error_set(err, ERR_INVALID, "environment.python: %s does not answer; name another interpreter",
                               interpreter);
    if (status == 0 && ret->text.n)
        return 0;
    return error_set(err, ERR_INVALID,
                     "environment.python: %s does not run as a Python interpreter (exit status %d: %.120s)",
                     interpreter, status, strbuf_str(&ret->last));
}

int interpreter_ask(const char *interpreter, const char *const *module, size_t module_n,
                    const struct python_settings *settings, struct arena *a, struct interpreter_facts *ret,
                    struct error *err)
{
    if (!python_builder_reaches(settings, interpreter, X_OK))
        return error_set(
            err, ERR_INVALID,
            "environment.python: the account that makes environments (uid %u) may not run %s; put that Python "
            "where every user can read it, not below a home directory that is closed",
            (unsigned)settings->uid, interpreter);
    struct answer answer = {STRBUF_INIT, STRBUF_INIT};
    int r = run_question(interpreter, module, module_n, settings, &answer, err);
    if (r == 0 && (r = interpreter_facts_decode(answer.text.s, answer.text.n, a, ret, err)) < 0)
        error_wrap(err, "environment.python: %s", interpreter);
    strbuf_release(&answer.text);
    strbuf_release(&answer.last);
    return r;
}
