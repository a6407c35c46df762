/* Between the files of the configurations of experiments and of other tasks. */
#ifndef DET_CORE_CONFIG_EXPCONF_INTERNAL_H
#define DET_CORE_CONFIG_EXPCONF_INTERNAL_H

#include "common/config/schema.h"
#include "common/json/json.h"
#include "core/config/expconf.h"

void expconf_normalize_task_defaults(struct json_object *defaults); /* a task_container_defaults section */

/* Lays config over template as the table's rows say. Both are in normal form, and may have mistakes. The caller puts
 * the result. */
struct json_object *template_lay(const struct schema_key *table, struct json_object *config,
                                 struct json_object *template_config);

/* Parses YAML into a tree. An empty text is an empty document. `positions` may be NULL. */
int expconf_read(const char *yaml, size_t n, struct json_object **ret, struct yaml_positions **positions,
                 struct error *err);
/* These functions add sentences to *list, which is made when it is NULL. */
void expconf_warn(struct json_object **list, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds a sentence on each key that has no effect. */
void expconf_warn_unserved(const struct schema_key *table, struct json_object *config, struct json_object **list);

/* ---- What the cluster adds to the configurations of experiments and of other tasks ------------------------------- */

/* Finds the pool that is named in a `resources` section, otherwise the default pool. The section names the pool
 * afterwards. */
int cluster_find_pool(struct json_object *resources, bool with_slots, const struct expconf_context *ctx,
                      const struct expconf_pool **ret, struct error *err);
/* Returns the task_container_defaults of pool and cluster in the form of a configuration that `table` describes. They
 * are to lie below `config`. The caller puts the result. */
struct json_object *cluster_task_defaults(const struct schema_key *table, struct json_object *config,
                                          const struct expconf_context *ctx, const struct expconf_pool *pool,
                                          bool with_slots);

/* Finds the pool that the experiment runs in. If the document has an empty pool name, the pool's name replaces it. */
int expconf_resolve_pool(struct json_object *config, const struct expconf_context *ctx, const struct expconf_pool **ret,
                         struct error *err);

/* Checks the size of an effective configuration as JSON. */
int expconf_check_json(const char *json, const struct expconf_context *ctx, struct error *err);
/* Checks whether a process can be started with this entrypoint and these variables. */
int expconf_check_start(struct json_object *entrypoint, const char *const *variable, size_t variable_n,
                        const char *device_type, struct error *err);
/* Checks the size of an effective configuration, and of what a task gets of it. */
int expconf_check_limits(const struct exp_config *c, const struct expconf_context *ctx, struct error *err);

/* Checks everything that is in the document, but not whether something is missing. */
int expconf_check_present(struct json_object *config, const struct yaml_positions *positions, struct error *err);

/* These functions check requirements of new experiments that can only be checked in the finished document. */
void expconf_check_storage(struct json_object *config, const struct schema_place *place,
                           struct schema_problems *problems);
void expconf_check_searcher(struct json_object *config, const struct schema_place *place,
                            struct schema_problems *problems);

/* Checks that the names of capabilities are known, because a task would keep a capability whose name is not known
 * although it was to lose it. This is checked only when an experiment is created or continued: templates and parts of
 * configurations may have any text here, as in earlier versions. */
void expconf_check_capabilities(struct json_object *config, const struct schema_place *place,
                                struct schema_problems *problems);

/* Makes the typed values. The function takes over the filled tree. `original` may be NULL. */
struct exp_config *expconf_view(struct json_object *take_tree, const char *original, size_t original_n);

#endif
