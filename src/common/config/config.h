/* The configuration of a program: defaults < file < environment < command line, each value with its origin.
 *
 * A key `db.ssl_mode` of the table is `db: {ssl_mode: …}` in the file, DET_DB_SSL_MODE in the environment and
 * --db-ssl-mode on the command line. Every key has all three; what is not a single value is given to the latter two as
 * YAML (--feature-switches '[a, b]'), and one entry of a map by its name (DET_RESOURCE_MANAGER_METADATA_rack=7).
 * Unknown keys and options are errors, and all mistakes are reported at once, each with its place: file:line:column,
 * variable or option. Variables that begin with DET_ but name no key are left alone: other programs own them.
 *
 * A missing default file is a warning, a missing file that somebody asked for (--config-file, DET_CONFIG_FILE) an
 * error. After loading, a `struct config` is only read, except through config_change(); it may be read from any thread
 * then (values and copies; printing a borrowed tree is not reading: json-c keeps the text within the tree). */
#ifndef DET_COMMON_CONFIG_CONFIG_H
#define DET_COMMON_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"
#include "common/config/schema.h"
#include "common/json/json.h"

struct config;

struct config_input {
    const char *program;               /* "determined-master": for messages and --help */
    const struct schema_key *keys;     /* master_config_keys or agent_config_keys of gen/config_tables.h */
    const struct schema_check *checks; /* further checks of single values, or NULL */
    const char *default_file;          /* "/etc/determined/master.yaml" */
    int argc;                          /* arguments only: without the program's name and its subcommand */
    char *const *argv;
    char *const *environ_;
};

/* Merges and checks the four layers. Mistakes are noted in the result, so that the program can add those that it finds
 * across keys and report all together by config_problems(). A value that cannot be used is left out. Fails only if the
 * file cannot be read, without which nothing else can be checked. */
int config_read(const struct config_input *in, struct config **ret, struct error *err);
/* config_read() and config_problems(): for programs that have no checks of their own. */
int config_load(const struct config_input *in, struct config **ret, struct error *err);
void config_free(struct config *c); /* NULL is fine */

bool config_wants_help(int argc, char *const *argv);                                    /* -h or --help */
void config_help(const struct config_input *in, const char *usage, struct strbuf *out); /* usage: lines put first */

/* Values by path. Asking for a path that is not in the table, or with the wrong type, is a mistake of ours (assert).
 * Unset: NULL, 0, false. */
struct json_object *config_get(const struct config *c, const char *path); /* borrowed */
const char *config_str(const struct config *c, const char *path);
int64_t config_int(const struct config *c, const char *path);
bool config_bool(const struct config *c, const char *path);
int64_t config_duration_us(const struct config *c, const char *path);
/* somebody has set it: it is not null and not the default */
bool config_is_set(const struct config *c, const char *path);

/* Adds "default", "/etc/determined/master.yaml:3:7", "DET_PORT", "--port", "derived" or "changed at run time". */
void config_origin(const struct config *c, const char *path, struct strbuf *out);
/* Sets a value that the program works out itself (a default that depends on the machine). A value that somebody has set
 * stays. */
void config_derive(struct config *c, const char *path, struct json_object *take_value);
/* A change at run time: only SCHEMA_RUNTIME keys. */
int config_change(struct config *c, const char *path, struct json_object *take_value, struct error *err);

struct json_object *config_effective(const struct config *c); /* a copy with secrets masked; caller puts it */
void config_print(const struct config *c, bool origins, struct strbuf *out); /* YAML, secrets masked */
/* one warning in each line; "" if there is none */
const char *config_warnings(const struct config *c);

void config_log_warnings(const struct config *c); /* each as a line of the log */

/* Checks across keys report through these, so that they join the list of mistakes and name the value's place. */
void config_problem(struct config *c, const char *path, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void config_warn(struct config *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A problem of the key if it names a file that cannot be read. */
void config_check_file(struct config *c, const char *path);
/* ERR_USAGE for command-line mistakes only, ERR_INVALID for the rest; warnings follow, so that one round shows
 * everything. */
int config_problems(struct config *c, struct error *err);

static inline void config_free_p(struct config **c)
{
    config_free(*c);
}
#define cleanup_config __attribute__((cleanup(config_free_p)))

#endif
