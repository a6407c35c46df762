/* What the handlers of the model registry share. */
#ifndef DET_API_MODELS_MODELS_H
#define DET_API_MODELS_MODELS_H

#include "api/pipeline/handler.h"
#include "store/models/models.h"

int model_to_wire(const struct store_model *m, struct arena *a, struct wire_model *ret, struct error *err);
/* Reads the model, and makes the message that replies show. */
int model_reply(struct req *r, struct store *db, const char *named, const struct wire_model **ret, struct error *err);

/* An archived model is not changed, and neither are its versions and aliases. */
int model_need_open(const struct store_model *m, struct error *err);
/* Finds the model that a request changes, and checks model_need_open(). */
int model_find_open(struct req *r, struct store *db, const char *named, struct store_model *ret, struct error *err);

/* The given labels as JSON. Each is a text with at least one character; a label that is given twice counts once. */
int model_labels(const char *const *label, size_t n, struct arena *a, const char **ret, struct error *err);
/* The same for the JSON list of a patch. */
int model_labels_of_json(const char *json, struct arena *a, const char **ret, struct error *err);

/* Tells webhooks that an alias of the model stands for another version; 0: for none, or for none before. */
int model_alias_tell(struct req *r, struct store *db, const struct store_model *m, const char *alias, int32_t before,
                     int32_t now, struct error *err);
/* Tells webhooks that the aliases of a model go with it. */
int model_aliases_tell_gone(struct req *r, struct store *db, const struct store_model *m, struct error *err);
/* The step that follows a change of aliases: the messages are sent. */
int model_alias_told(struct req *r, struct core *core, struct error *err);

#endif
