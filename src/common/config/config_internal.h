/* Shared by the files behind common/config/config.h: config.c holds values, origins and mistakes, config_load.c reads
 * the layers, config_help.c prints. */
#ifndef DET_COMMON_CONFIG_CONFIG_INTERNAL_H
#define DET_COMMON_CONFIG_CONFIG_INTERNAL_H

#include "common/base/hash.h"
#include "common/config/config.h"

struct origin {
    char *from; /* "DET_PORT", "--port", "derived" */
    UT_hash_handle hh;
    char path[];
};

struct config {
    const struct schema_key *keys;
    const struct schema_check *checks;
    char *file;                       /* NULL if none was read */
    struct yaml_positions *positions; /* positions of values in the file */
    struct json_object *given;        /* the merged layers, without defaults */
    struct json_object *tree;         /* given, filled with defaults */
    struct origin *origin;            /* origins of values that do not come from the file */
    struct schema_problems problems;
    size_t by_table_n;   /* bytes of problems.text: what the table knows of, before checks across keys add theirs */
    int option_problems; /* how many of them are about the command line */
    struct strbuf warnings;
};

/* Names of map entries may hold dots, so the last step is all that the table does not know. */
void config_put_value(const struct schema_key *key, struct json_object *tree, const char *path,
                      struct json_object *take_value);
void config_set_origin(struct config *c, const char *path, const char *from);
void config_origins_free(struct config *c);

#endif
