/* Declarations that the files of the experiment configuration share. */
#ifndef DET_CORE_CONFIG_EXPCONF_INTERNAL_H
#define DET_CORE_CONFIG_EXPCONF_INTERNAL_H

#include "common/config/schema.h"
#include "common/json/json.h"
#include "core/config/expconf.h"

void expconf_normalize_task_defaults(struct json_object *defaults); /* takes a task_container_defaults section */

/* Lays a configuration over a template as the rows of the table say, and brings the result into normal form. Neither
 * document need be checked before. The caller releases the result. */
struct json_object *template_lay(const struct schema_key *table, struct json_object *config,
                                 struct json_object *template_config);

/* Reads YAML as a tree; an empty text gives an empty document. `positions` may be NULL. */
int expconf_read(const char *yaml, size_t n, struct json_object **ret, struct yaml_positions **positions,
                 struct error *err);
/* Adds a warning to *list for each key that has no effect. The list is made if *list is NULL. */
void expconf_warn_unserved(struct json_object *config, struct json_object **list);
/* Finds the pool that the experiment runs in. If the document names no pool, the name of this one is written into
 * it. */
int expconf_resolve_pool(struct json_object *config, const struct expconf_context *ctx, const struct expconf_pool **ret,
                         struct error *err);

/* Checks how large an effective configuration is, and how much of it goes into a task's environment and command
 * line. */
int expconf_check_limits(const struct exp_config *c, const struct expconf_context *ctx, struct error *err);

/* Checks the values that the document has; it may lack some. */
int expconf_check_present(struct json_object *config, const struct yaml_positions *positions, struct error *err);

/* Checks what new experiments must have and only the finished document can show. */
void expconf_check_storage(struct json_object *config, const struct schema_place *place,
                           struct schema_problems *problems);
void expconf_check_searcher(struct json_object *config, const struct schema_place *place,
                            struct schema_problems *problems);

/* Checks that the names of capabilities are known, since a task would keep a capability that it was to lose if the
 * name is wrong. This is checked only when an experiment is created or goes on: templates and parts of
 * configurations take any text, as in the predecessor. */
void expconf_check_capabilities(struct json_object *config, const struct schema_place *place,
                                struct schema_problems *problems);

/* Makes the typed view. It takes over the filled tree; `original` may be NULL. */
struct exp_config *expconf_view(struct json_object *take_tree, const char *original, size_t original_n);

#endif
