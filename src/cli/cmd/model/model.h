/* What the commands about models share. */
#ifndef DET_CLI_CMD_MODEL_MODEL_H
#define DET_CLI_CMD_MODEL_MODEL_H

#include "cli/connection/api.h"

int model_fetch(struct cli *cli, const char *name, const struct wire_model **ret, struct error *err);
/* Prints the model: as a table with one row, or as the command's --json, --yaml or --csv asks for it. */
void model_show(struct cli *cli, const struct wire_model *m);
/* The model as the released client prints it for --json. The caller puts the result. */
struct json_object *model_document(const struct wire_model *m);
/* Prints the model and below it the versions; for CSV, only these. */
void model_show_with_versions(struct cli *cli, const struct wire_model *m, const struct wire_model_version *version,
                              size_t n);

#endif
