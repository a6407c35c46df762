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

/* ifLastUpdatedTime of a request: the change is refused (ERR_CONFLICT) if somebody else has changed the object since
 * the client read it. `what` names the object. */
int model_check_unchanged(bool has_expected, int64_t expected_us, int64_t updated_us, const char *what,
                          struct error *err);
/* The given labels as JSON. Each is a text with at least one character; a label that is given twice counts once. */
int model_labels(const char *const *label, size_t n, struct arena *a, const char **ret, struct error *err);
/* The same for the JSON list of a patch. */
int model_labels_of_json(const char *json, struct arena *a, const char **ret, struct error *err);

#endif
