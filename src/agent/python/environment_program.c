#include "agent/python/environment_program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/python/build_limits.h"
#include "agent/python/build_process.h"
#include "agent/python/environment_cache.h"
#include "agent/python/environment_seal.h"
#include "agent/python/installer.h"
#include "agent/python/interpreter.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/config/python_requirements.h"
#include "common/system/files.h"

#define ORDER_MAX (8 * 1024 * 1024)
#define LIST_MAX (4 * 1024 * 1024)
#define LOOK_MS 200
#define TAIL_BYTES 32768 /* of the programs' output, from which the cause of a failure is read */
#define LEVELS_MAX 2     /* an environment of requirements, and one above it with extras */
#define EXTRAS_MAX 8
#define MEMBERSHIP_MAX 65536

/* The lists that an extra stands for, and the module by which a Python shows that it has it already. */
static const struct {
    const char *name, *module;
} extras[] = {{"notebook", "jupyterlab"}, {"tensorboard", "tensorboard"}};
#define EXTRAS_NR (sizeof(extras) / sizeof(extras[0]))

struct program {
    struct arena arena;
    struct python_order order;
    const char *uv; /* NULL: it is not installed */
    struct strbuf tail;
    struct build_limits limits; /* of the environment that is being made */
    int64_t until_us;           /* when the environment that is being made has to be ready */
    /* the environments that were found or made, the base first, and their locks */
    struct environment_paths level[LEVELS_MAX];
    int lock[LEVELS_MAX];
    size_t level_n;
};

/* An environment that is to be found or made. */
struct plan {
    const char *interpreter; /* with which it is made */
    const struct interpreter_facts *facts;
    const char *base;        /* "" or the prefix of the Python whose packages it sees, too */
    const char *const *text; /* requirements */
    size_t text_n;
    bool hashed;
    const char *what; /* for the log */
};

/* ---- what the agent is told -------------------------------------------------------------------------------------- */

/* Writes one message. The agent's end closes this process's input, so nobody has to care for a pipe that is broken. */
static void say(char kind, const char *text, size_t n)
{
    cleanup_strbuf struct strbuf line = STRBUF_INIT;
    strbuf_addc(&line, kind);
    strbuf_add(&line, text, n);
    for (size_t i = 1; i < line.n; i++)
        if (line.s[i] == '\n')
            line.s[i] = ' ';
    strbuf_addc(&line, '\n');
    fd_write_all(STDOUT_FILENO, line.s, line.n);
}

static void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *fmt, ...)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    say(ENVIRONMENT_SAYS_LINE, strbuf_str(&text), text.n);
}

static void on_line(void *ctx, const char *line, size_t n)
{
    struct program *p = ctx;
    cleanup_strbuf struct strbuf whole = STRBUF_INIT, shown = STRBUF_INIT;
    strbuf_add(&whole, line, n);
    installer_hide_passwords(strbuf_str(&whole), &shown);
    say(ENVIRONMENT_SAYS_LINE, strbuf_str(&shown), shown.n);
    strbuf_adds(&p->tail, strbuf_str(&shown));
    strbuf_addc(&p->tail, '\n');
    if (p->tail.n > 2 * TAIL_BYTES)
        strbuf_consume(&p->tail, p->tail.n - TAIL_BYTES);
}

/* ---- locks ------------------------------------------------------------------------------------------------------- */

static int wait_a_little(struct error *err)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&in, 1, LOOK_MS) > 0 && in.revents)
        return error_set(err, ERR_CANCELED, "the build was cancelled");
    return 0;
}

/* Takes the lock of the one build that may go on at a time. */
static int lock_builder(const struct program *p, struct arena *a, struct error *err)
{
    cleanup_close int fd = environment_lock_open(arena_printf(a, "%s/builder.lock", p->order.settings.dir), err);
    bool told = false;
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (!told)
            tell("Waiting for another Python environment that is being made on this machine …");
        told = true;
        if (wait_a_little(err) < 0)
            return -1;
    }
    return fd < 0 ? -1 : take_fd(fd);
}

/* ---- making one -------------------------------------------------------------------------------------------------- */

static int give_to_builder(const struct program *p, const char *path, struct error *err)
{
    const struct python_settings *s = &p->order.settings;
    if (s->change_user && chown(path, s->uid, s->gid) < 0)
        return error_errno(err, "cannot give %s to uid %u", path, (unsigned)s->uid);
    return 0;
}

/* Makes the directories, and the files of requirements, which stay the agent's own. */
static int lay_out(struct program *p, const struct environment_paths *e, const struct plan *plan, const char **ret_file,
                   struct error *err)
{
    const char *tmp = arena_printf(&p->arena, "%s/tmp", e->work);
    if (dir_make(e->dir, 0755, err) < 0 || dir_make(e->work, 0755, err) < 0 || dir_make(tmp, 0700, err) < 0)
        return -1;
    for (size_t i = 0; i < plan->text_n; i++) {
        ret_file[i] = arena_printf(&p->arena, "%s/requirements-%zu.txt", e->work, i + 1);
        if (file_write(ret_file[i], plan->text[i], strlen(plan->text[i]), 0644, err) < 0)
            return -1;
    }
    return give_to_builder(p, tmp, err) < 0 || give_to_builder(p, e->work, err) < 0 ? -1
                                                                                    : give_to_builder(p, e->dir, err);
}

static int refuse_slow(const struct python_settings *s, struct error *err)
{
    error_release(err);
    return error_set(
        err, ERR_INVALID,
        "making this Python environment took longer than %d s, and was ended; list wheels in place of packages "
        "that have to be built, or raise python_environments.build_timeout of the agent",
        (int)s->build_timeout_s);
}

/* The kernel has killed a program of the build, which explains whatever the build's programs have said. */
static int refuse_large(const struct python_settings *s, struct error *err)
{
    error_release(err);
    return error_set(
        err, ERR_INVALID,
        "making this Python environment took more memory than the %lld MiB that it may take, and the kernel ended it; "
        "list wheels in place of packages that have to be built, or raise python_environments.build_memory of the agent",
        (long long)(s->build_memory_bytes >> 20));
}

/* Makes the control group of a build. A machine that has none for memory builds without the limit. */
static void limit_build(struct program *p)
{
    cleanup_strbuf struct strbuf membership = STRBUF_INIT;
    cleanup_error struct error err = ERROR_INIT;
    file_read("/proc/self/cgroup", MEMBERSHIP_MAX, &membership, NULL);
    if (build_limits_open(&p->order.settings, CGROUP_ROOT, strbuf_str(&membership), &p->arena, &p->limits, &err) < 0)
        tell("WARNING: this machine cannot limit the memory of what makes the environment "
             "(python_environments.build_memory): %s",
             error_msg(&err));
}

static int run_command(struct program *p, const struct installer_job *j, char *const *argv, int *ret_status,
                       struct error *err)
{
    const struct python_settings *s = &p->order.settings;
    int64_t left_us = p->until_us - clock_monotonic_us();
    struct build_process b = {.argv = argv,
                              .env = installer_environment(j, environ, &p->arena),
                              .dir = j->work,
                              .cgroup_procs = build_limits_procs(&p->limits),
                              .change_user = s->change_user,
                              .uid = s->uid,
                              .gid = s->gid,
                              .timeout_s = left_us > 1000000 ? (int)(left_us / 1000000) : 1,
                              .on_line = on_line,
                              .ctx = p};
    strbuf_reset(&p->tail);
    int r = build_process_run(&b, ret_status, err);
    if ((r < 0 || *ret_status != 0) && build_limits_exceeded(&p->limits))
        return refuse_large(s, err);
    return r < 0 && err->kind == ERR_DEADLINE ? refuse_slow(s, err) : r;
}

static int fail(struct program *p, const struct installer_job *j, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    installer_explain(j, strbuf_str(&p->tail), &text);
    return error_set(err, ERR_INVALID, "%s", text.s);
}

static int make_environment(struct program *p, const struct installer_job *j, enum installer_way *ret_way,
                            struct error *err)
{
    enum installer_way way = j->uv ? INSTALLER_UV : INSTALLER_VENV;
    int status;
    if (run_command(p, j, installer_make_command(j, way, &p->arena), &status, err) < 0)
        return -1;
    if (status != 0 && way == INSTALLER_VENV) {
        way = INSTALLER_VENV_WITHOUT_PIP;
        tell("This Python cannot give an environment a pip of its own; trying with its own pip …");
        if (run_command(p, j, installer_make_command(j, way, &p->arena), &status, err) < 0)
            return -1;
    }
    *ret_way = way;
    return status == 0 ? 0 : fail(p, j, err);
}

/* Lets the environment see the packages of the Python below it, after its own. */
static int see_base(struct program *p, const struct environment_paths *e, const struct plan *plan, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct interpreter_facts own;
    const char *python = arena_printf(&p->arena, "%s/bin/python", e->environment);
    if (interpreter_ask(python, NULL, 0, &p->order.settings, &p->arena, &own, err) < 0)
        return -1;
    if (own.site_n == 0)
        return error_set(err, ERR_INTERNAL, "the environment %s has no directory for packages", e->environment);
    for (size_t i = 0; i < plan->facts->site_n; i++) {
        strbuf_adds(&text, "import site; site.addsitedir(");
        strbuf_add_json(&text, plan->facts->site[i], strlen(plan->facts->site[i]));
        strbuf_adds(&text, ")\n");
    }
    const char *file = arena_printf(&p->arena, "%s/determined-base.pth", own.site[0]);
    return file_write(file, text.s, text.n, 0644, err);
}

static void tell_size(const struct plan *plan, int64_t bytes, int64_t since_us)
{
    tell("The Python environment is ready: %s, %lld MiB, made in %.1f s", plan->what, (long long)(bytes >> 20),
         (double)(clock_monotonic_us() - since_us) / 1e6);
}

static int fill(struct program *p, const struct environment_paths *e, const struct plan *plan, struct error *err)
{
    const char **file = arena_array(&p->arena, const char *, plan->text_n + 1);
    struct installer_job j = {.settings = &p->order.settings,
                              .uv = p->uv,
                              .python = plan->interpreter,
                              .environment = e->environment,
                              .work = e->work,
                              .file = file,
                              .file_n = plan->text_n,
                              .hashed = plan->hashed};
    enum installer_way way;
    int status;
    p->until_us = clock_monotonic_us() + p->order.settings.build_timeout_s * INT64_C(1000000);
    if (lay_out(p, e, plan, file, err) < 0 || make_environment(p, &j, &way, err) < 0 ||
        run_command(p, &j, installer_install_command(&j, way, &p->arena), &status, err) < 0)
        return -1;
    if (status != 0)
        return fail(p, &j, err);
    return tree_remove(e->work, err);
}

static int build(struct program *p, const struct environment_paths *e, const struct plan *plan, struct error *err)
{
    const struct python_settings *s = &p->order.settings;
    int64_t since_us = clock_monotonic_us(), bytes = 0;
    cleanup_close int builder = lock_builder(p, &p->arena, err);
    if (builder < 0 || environment_remove(e, err) < 0)
        return -1;
    environment_make_room(s->dir, e->key, 0, s->max_bytes, NULL); /* whether there is room is known after the build */
    tell("Making a Python environment for this task with %s: %s, for Python %s. Other tasks will find it ready.",
         p->uv ? "uv" : "pip", plan->what, plan->facts->version);
    limit_build(p);
    int filled = fill(p, e, plan, err);
    build_limits_close(&p->limits);
    if (filled < 0 || environment_seal(e->dir, s->change_user, s->uid, &bytes, err) < 0 ||
        (*plan->base && see_base(p, e, plan, err) < 0))
        return -1;
    if (environment_make_room(s->dir, e->key, bytes, s->max_bytes, err) < 0)
        return error_wrap(err, "the task's Python environment cannot be kept");
    if (environment_complete(e, bytes, err) < 0)
        return -1;
    tell_size(plan, bytes, since_us);
    return 0;
}

/* ---- finding one, or making it ----------------------------------------------------------------------------------- */

/* Locks the environment for use, if it is there. Returns whether it is. */
static bool take(const struct environment_paths *e, int lock)
{
    if (flock(lock, LOCK_SH | LOCK_NB) < 0)
        return false;
    if (environment_is_complete(e)) {
        environment_touch(lock);
        return true;
    }
    flock(lock, LOCK_UN);
    return false;
}

/* Makes the environment, if nobody else makes it. Returns 1 if somebody does. */
static int make_alone(struct program *p, const struct environment_paths *e, const struct plan *plan, int lock,
                      struct error *err)
{
    if (flock(lock, LOCK_EX | LOCK_NB) < 0)
        return 1;
    int r = environment_is_complete(e) ? 0 : build(p, e, plan, err);
    if (r < 0)
        environment_remove(e, NULL);
    flock(lock, LOCK_UN);
    return r;
}

static int provide(struct program *p, const struct plan *plan, struct error *err)
{
    const struct environment_content content = {.interpreter = plan->interpreter,
                                                .version = plan->facts->version,
                                                .tag = plan->facts->tag,
                                                .machine = plan->facts->machine,
                                                .base = plan->base,
                                                .list = plan->text,
                                                .list_n = plan->text_n};
    char key[ENVIRONMENT_KEY_LENGTH + 1];
    struct environment_paths e;
    environment_key(&content, key);
    environment_paths(p->order.settings.dir, arena_strdup(&p->arena, key), &p->arena, &e);
    cleanup_close int lock = environment_lock_open(e.lock, err);
    bool told = false;
    while (lock >= 0 && !take(&e, lock)) {
        int r = make_alone(p, &e, plan, lock, err);
        if (r < 0)
            return -1;
        if (r > 0 && !told)
            tell("Waiting for the same Python environment, which is being made for another task …");
        told = told || r > 0;
        if (r > 0 && wait_a_little(err) < 0)
            return -1;
    }
    if (lock < 0)
        return -1;
    p->level[p->level_n] = e;
    p->lock[p->level_n++] = take_fd(lock);
    return 0;
}

/* ---- the task's Python ------------------------------------------------------------------------------------------- */

static const char *count_of(const char *requirements, struct arena *a)
{
    size_t n = 0;
    for (const char *at = requirements; *at; at += strcspn(at, "\n"), at += *at == '\n')
        n += *at != '-';
    return arena_printf(a, "%zu requirement%s", n, n == 1 ? "" : "s");
}

/* With the requirements of the task: an environment of its own. */
static int provide_requirements(struct program *p, const char **interpreter, struct error *err)
{
    struct interpreter_facts facts;
    if (!*p->order.requirements)
        return 0;
    if (interpreter_ask(*interpreter, NULL, 0, &p->order.settings, &p->arena, &facts, err) < 0)
        return -1;
    struct plan plan = {.interpreter = *interpreter,
                        .facts = &facts,
                        .base = "",
                        .text = &p->order.requirements,
                        .text_n = 1,
                        .what = count_of(p->order.requirements, &p->arena)};
    if (provide(p, &plan, err) < 0)
        return -1;
    *interpreter = arena_printf(&p->arena, "%s/bin/python3", p->level[p->level_n - 1].environment);
    return 0;
}

static const char *module_of_extra(const char *name)
{
    for (size_t i = 0; i < EXTRAS_NR; i++)
        if (strcmp(extras[i].name, name) == 0)
            return extras[i].module;
    return NULL;
}

static bool contains(const char *const *list, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], word) == 0)
            return true;
    return false;
}

static int read_list(struct program *p, const char *name, const char **ret, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT, clean = STRBUF_INIT;
    const char *file = arena_printf(&p->arena, "%s/%s.txt", p->order.settings.lists_dir, name);
    if (file_read(file, LIST_MAX, &text, err) < 0) {
        error_wrap(err, "the list of packages for a %s", name);
        if (err)
            err->kind = ERR_INVALID;
        return -1;
    }
    python_requirements_normalize(strbuf_str(&text), &clean);
    *ret = arena_strdup(&p->arena, strbuf_str(&clean));
    return 0;
}

/* The pinned lists that the task needs and its Python lacks: in an environment that sees the packages of that Python,
 * too. Each package of our own lists has its hashes; a site's lists may do without. */
static int provide_extras(struct program *p, const char **interpreter, struct error *err)
{
    const char *module[EXTRAS_MAX], *list[EXTRAS_MAX];
    cleanup_strbuf struct strbuf what = STRBUF_INIT;
    struct interpreter_facts facts;
    size_t n = 0;
    if (p->order.extra_n == 0)
        return 0;
    for (size_t i = 0; i < p->order.extra_n; i++)
        if (i == EXTRAS_MAX || !(module[i] = module_of_extra(p->order.extra[i])))
            return error_set(err, ERR_INVALID,
                             "this agent knows no list of packages \"%s\"; use programs of one version",
                             p->order.extra[i]);
    if (interpreter_ask(*interpreter, module, p->order.extra_n, &p->order.settings, &p->arena, &facts, err) < 0)
        return -1;
    for (size_t i = 0; i < p->order.extra_n; i++) {
        if (contains(facts.found, facts.found_n, module[i]))
            continue;
        if (read_list(p, p->order.extra[i], &list[n], err) < 0)
            return -1;
        strbuf_addf(&what, "%s%s", n ? ", " : "the packages of a ", p->order.extra[i]);
        n++;
    }
    struct plan plan = {.interpreter = *interpreter,
                        .facts = &facts,
                        .base = facts.prefix,
                        .text = list,
                        .text_n = n,
                        .hashed = n > 0 && strstr(list[0], "--hash="),
                        .what = strbuf_str(&what)};
    if (n == 0)
        return 0;
    if (provide(p, &plan, err) < 0)
        return -1;
    *interpreter = arena_printf(&p->arena, "%s/bin/python3", p->level[p->level_n - 1].environment);
    return 0;
}

static const char *directory_of(const char *file, struct arena *a)
{
    return arena_strndup(a, file, (size_t)(strrchr(file, '/') - file));
}

/* `named` is the interpreter that the task has named or that was found; `interpreter` the one that it runs with. */
static void describe(struct program *p, const char *named, const char *interpreter, struct python_place *ret)
{
    struct arena *a = &p->arena;
    struct python_place x = {.interpreter = interpreter,
                             .environment = interpreter_environment(interpreter, a),
                             .bin = arena_array(a, const char *, LEVELS_MAX + 1),
                             .root = arena_array(a, const char *, LEVELS_MAX + 1),
                             .lock = arena_array(a, const char *, LEVELS_MAX + 1)};
    for (size_t i = p->level_n; i-- > 0;) {
        x.bin[x.bin_n++] = arena_printf(a, "%s/bin", p->level[i].environment);
        x.root[x.root_n++] = p->level[i].dir;
        x.lock[x.lock_n++] = p->level[i].lock;
    }
    if (!*p->order.requirements)
        x.bin[x.bin_n++] = directory_of(named, a);
    *ret = x;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static const char *find_uv(struct arena *a)
{
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "", *end; *at; at = *end ? end + 1 : end) {
        end = at + strcspn(at, ":");
        const char *file = arena_printf(a, "%.*s/uv", (int)(end - at), at);
        struct stat st;
        if (*at == '/' && stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0)
            return file;
    }
    return NULL;
}

/* uv is used where the account that makes environments can run it. */
static const char *usable_uv(const struct python_settings *s, struct arena *a)
{
    const char *uv = find_uv(a);
    return uv && python_builder_reaches(s, uv, X_OK) ? uv : NULL;
}

static int check_places(const struct python_settings *s, struct error *err)
{
    if (dir_make(s->dir, 0755, err) < 0)
        return error_wrap(err, "python_environments.dir");
    if (!python_builder_reaches(s, s->dir, X_OK))
        return error_set(
            err, ERR_INVALID,
            "the directory of Python environments %s cannot be reached by tasks; set python_environments.dir of "
            "this agent to a directory that every user may pass through",
            s->dir);
    if (*s->wheels && !python_builder_reaches(s, s->wheels, R_OK | X_OK))
        return error_set(
            err, ERR_INVALID,
            "the directory of wheels %s of this agent (python_environments.wheels) is not there, or cannot be "
            "read by the account that makes environments (uid %u)",
            s->wheels, s->change_user ? (unsigned)s->uid : (unsigned)geteuid());
    return 0;
}

/* Where an environment is to be made of a Python that the task has not named, it is made of the first one on PATH that
 * the account that makes environments may run. */
static int find_interpreter(struct program *p, bool makes, const char **ret, struct error *err)
{
    const char *passed;
    if (*p->order.interpreter)
        return interpreter_find(p->order.interpreter, &p->arena, ret, err);
    if (interpreter_find_on_path(p->order.path, makes ? &p->order.settings : NULL, &p->arena, ret, &passed, err) < 0)
        return -1;
    if (passed)
        tell("The task runs with %s: %s comes first on PATH, but not every user may run it. environment.python names "
             "another Python.",
             *ret, passed);
    return 0;
}

static int prepare(struct program *p, struct python_place *ret, struct error *err)
{
    const char *named, *interpreter;
    bool makes = *p->order.requirements || p->order.extra_n;
    if (find_interpreter(p, makes, &named, err) < 0)
        return -1;
    interpreter = named;
    if (*p->order.requirements && python_requirements_check(p->order.requirements, err) < 0)
        return error_wrap(err, "environment.python.requirements");
    if (makes && check_places(&p->order.settings, err) < 0)
        return -1;
    p->uv = usable_uv(&p->order.settings, &p->arena);
    if (provide_requirements(p, &interpreter, err) < 0 || provide_extras(p, &interpreter, err) < 0)
        return -1;
    describe(p, named, interpreter, ret);
    return 0;
}

static int read_order(struct program *p, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    char buffer[8192];
    while (text.n < ORDER_MAX && !(text.n && text.s[text.n - 1] == '\n')) {
        ssize_t n = read(STDIN_FILENO, buffer, sizeof(buffer));
        if (n <= 0)
            return error_set(err, ERR_CANCELED, "the agent has sent no order");
        strbuf_add(&text, buffer, (size_t)n);
    }
    return python_order_decode(text.s, text.n, &p->arena, &p->order, err);
}

/* Tells why there is no environment. Whatever concerns the task, the disk and the network is the task's refusal; only
 * what should never fail counts as a failure of this machine. */
static void tell_failure(const struct error *err)
{
    bool full = strstr(error_msg(err), strerror(ENOSPC)) || strstr(error_msg(err), strerror(EDQUOT));
    bool refused = err->kind == ERR_INVALID || err->kind == ERR_TOO_LARGE || full;
    say(refused ? ENVIRONMENT_SAYS_REFUSED : ENVIRONMENT_SAYS_FAILED, error_msg(err), strlen(error_msg(err)));
}

int environment_program(void)
{
    struct program p = {.lock = {-1, -1}};
    struct python_place place;
    cleanup_error struct error err = ERROR_INIT;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    prctl(PR_SET_DUMPABLE, 0); /* the order may hold the password of an index */
    int r = read_order(&p, &err);
    if (r == 0)
        r = prepare(&p, &place, &err);
    if (r < 0) {
        tell_failure(&err);
    } else {
        python_place_encode(&place, &text);
        say(ENVIRONMENT_SAYS_READY, text.s, text.n);
        struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
        while (poll(&in, 1, -1) < 0 && errno == EINTR)
            ;
    }
    for (int i = 0; i < LEVELS_MAX; i++)
        cleanup_close_p(&p.lock[i]);
    strbuf_release(&p.tail);
    arena_release(&p.arena);
    return r < 0 ? 1 : 0;
}
