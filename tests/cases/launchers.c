/* Launchers are Python programs, so launcher_cases.py runs their cases: the section goes in as JSON, a line for each
 * case comes out. PYTHON names the interpreter (default: the one of .venv, else python3). */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"

#define SCRIPT SOURCE_ROOT "/tests/cases/launcher_cases.py"
#define VENV_PYTHON SOURCE_ROOT "/.venv/bin/python"

static const char *python(void)
{
    const char *given = getenv("PYTHON");
    return given && *given ? given : access(VENV_PYTHON, X_OK) == 0 ? VENV_PYTHON : "python3";
}

/* The script's process, whose output comes out of *ret_out; it reads `in`. */
static pid_t start(const char *section, FILE *in, FILE **ret_out)
{
    int out[2];
    if (pipe(out) < 0)
        return -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fileno(in), 0);
        dup2(out[1], 1);
        close(out[0]);
        close(out[1]);
        execlp(python(), python(), SCRIPT, section, (char *)NULL);
        perror(python());
        _exit(127);
    }
    close(out[1]);
    *ret_out = fdopen(out[0], "r");
    return pid;
}

/* The section as a file that the script can read at its own pace. */
static FILE *as_file(struct json_object *section)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    json_print(section, &text);
    FILE *f = tmpfile();
    if (f) {
        fwrite(text.s, 1, text.n, f);
        rewind(f);
    }
    return f;
}

static void judge(const char *name, char *line, size_t *seen, struct case_results *r)
{
    size_t i;
    int at = 0;
    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "ok %zu", &i) == 1) {
        (*seen)++;
        case_pass(r);
    } else if (sscanf(line, "FAIL %zu: %n", &i, &at) == 1 && at > 0) {
        (*seen)++;
        case_fail(r, name, i, "%s", line + at);
    }
}

static void run(const char *name, struct json_object *section, struct case_results *r)
{
    FILE *out = NULL, *in = as_file(section);
    pid_t pid = in ? start(name, in, &out) : -1;
    size_t seen = 0, cap = 0;
    char *line = NULL;
    while (out && getline(&line, &cap, out) > 0)
        judge(name, line, &seen, r);
    free(line);
    if (out)
        fclose(out);
    if (in)
        fclose(in);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    for (size_t n = json_object_array_length(section); seen < n; seen++)
        case_fail(r, name, seen, "%s did not judge it", SCRIPT);
}

static void launchers_section(struct json_object *section, struct json_object *file, struct case_results *r)
{
    (void)file;
    run("launchers", section, r);
}

static void wrap_rank_section(struct json_object *section, struct json_object *file, struct case_results *r)
{
    (void)file;
    run("wrap_rank", section, r);
}

static void pid_server_section(struct json_object *section, struct json_object *file, struct case_results *r)
{
    (void)file;
    run("pid_server", section, r);
}

const struct case_section launcher_sections[] = {
    {"launchers", launchers_section},
    {"wrap_rank", wrap_rank_section},
    {"pid_server", pid_server_section},
    {NULL, NULL},
};
