/* The names of a key besides its path: DET_DB_SSL_MODE, --db-ssl-mode; and values given through them as text. */
#ifndef DET_COMMON_CONFIG_CONFIG_NAMES_H
#define DET_COMMON_CONFIG_CONFIG_NAMES_H

#include "common/config/schema.h"

struct config_name {
    const struct schema_key *key;
    char *path; /* caller frees */
};

/* Every key that a variable or an option can name, in the order of the table: all but those within lists and maps. */
typedef void config_each_fn(void *ctx, const char *path, const struct schema_key *key);
void config_each_key(const struct schema_key *root, config_each_fn *fn, void *ctx);

/* Finds a key by its name. `rest` is the variable without "DET_", or the option without "--". The longest match counts;
 * what follows the path of a map is the name of an entry, in its own case. Returns false if no key has that name. */
bool config_find_variable(const struct schema_key *root, const char *rest, struct config_name *ret);
bool config_find_option(const struct schema_key *root, const char *rest, size_t n, struct config_name *ret);

void config_variable_name(const char *path, struct strbuf *out); /* DET_… */
void config_option_name(const char *path, struct strbuf *out);   /* --… */

/* Converts the text of a variable or option to a value of that key: a text as it is, everything else as YAML; a list
 * may also be written a,b,c. */
int config_read_text(const struct schema_key *key, const char *text, struct json_object **ret, struct error *err);

#endif
