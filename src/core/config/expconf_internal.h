/* Between the files of the experiment configuration. */
#ifndef DET_CORE_CONFIG_EXPCONF_INTERNAL_H
#define DET_CORE_CONFIG_EXPCONF_INTERNAL_H

#include "common/config/schema.h"
#include "common/json/json.h"
#include "core/config/expconf.h"

void expconf_normalize_task_defaults(struct json_object *defaults); /* a task_container_defaults section */

/* config over template as the table's rows say, in normal form, whatever it may look like. Caller puts the result. */
struct json_object *template_lay(const struct schema_key *table, struct json_object *config,
                                 struct json_object *template_config);

/* YAML to a tree; an empty text is an empty document. `positions` may be NULL. */
int expconf_read(const char *yaml, size_t n, struct json_object **ret, struct yaml_positions **positions,
                 struct error *err);
/* Adds a sentence on each key that has no effect to *list, which is made when it is NULL. */
void expconf_warn_unserved(struct json_object *config, struct json_object **list);
/* The pool that the experiment runs in; its name replaces an empty one in the document. */
int expconf_resolve_pool(struct json_object *config, const struct expconf_context *ctx, const struct expconf_pool **ret,
                         struct error *err);

/* How large an effective configuration may be, and what a task gets of it. */
int expconf_check_limits(const struct exp_config *c, const struct expconf_context *ctx, struct error *err);

/* What is there is right. */
int expconf_check_present(struct json_object *config, const struct yaml_positions *positions, struct error *err);

/* Requirements of new experiments that only the finished document can be asked about. */
void expconf_check_storage(struct json_object *config, const struct schema_place *place,
                           struct schema_problems *problems);
void expconf_check_searcher(struct json_object *config, const struct schema_place *place,
                            struct schema_problems *problems);

/* That names of capabilities are known: what a task was to lose it must not have. Not before an experiment is created
 * or goes on: templates and parts of configurations take any text, as they always did. */
void expconf_check_capabilities(struct json_object *config, const struct schema_place *place,
                                struct schema_problems *problems);

/* The typed view. Takes the filled tree; `original` may be NULL. */
struct exp_config *expconf_view(struct json_object *take_tree, const char *original, size_t original_n);

#endif
