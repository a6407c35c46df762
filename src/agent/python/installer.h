/* The programs that fill an environment: uv where it is installed, else venv and pip. Everything here is pure: it says
 * what to run, and reads what was said. */
#ifndef DET_AGENT_PYTHON_INSTALLER_H
#define DET_AGENT_PYTHON_INSTALLER_H

#include "agent/python/python_order.h"

struct installer_job {
    const struct python_settings *settings;
    const char *uv;          /* path of uv; NULL: it is not installed */
    const char *python;      /* the interpreter that the environment is made with */
    const char *environment; /* directory that the environment is made in */
    const char *work;        /* directory for files that are not needed afterwards */
    const char *const *file; /* files of requirements */
    size_t file_n;
    bool hashed; /* each package must have one of the hashes that the files name */
};

/* How the environment itself is made. The pip of an environment belongs to it unless the interpreter lacks ensurepip,
 * which Debian leaves out; then the interpreter's own pip installs into it. */
enum installer_way { INSTALLER_UV, INSTALLER_VENV, INSTALLER_VENV_WITHOUT_PIP };

/* Command lines, NULL-terminated, in the arena. */
char **installer_make_command(const struct installer_job *j, enum installer_way way, struct arena *a);
char **installer_install_command(const struct installer_job *j, enum installer_way way, struct arena *a);
/* The environment of both, NULL-terminated: nothing of the agent's own but what is named here. `inherited` is the
 * agent's environment. An address of an index, which may hold a password, is here and not on the command line, which
 * every user of the machine can read. */
char **installer_environment(const struct installer_job *j, char *const *inherited, struct arena *a);

/* Replaces the user name and password of each address in a line: a line about https://ada:x@host then says
 * https://(three asterisks)@host. */
void installer_hide_passwords(const char *line, struct strbuf *ret);
/* One sentence that says why the programs failed, and what to do. `output` is the end of what they have written. */
void installer_explain(const struct installer_job *j, const char *output, struct strbuf *ret);

#endif
