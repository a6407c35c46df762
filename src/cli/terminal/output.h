/* Documents as `det` prints them: JSON with keys sorted and two blanks, YAML in blocks. */
#ifndef DET_CLI_OUTPUT_H
#define DET_CLI_OUTPUT_H

#include <stdbool.h>

#include "cli/cli.h"
#include "common/codec/codec.h"
#include "common/json/json.h"

/* Sorted, indented by two, coloured on a terminal if DET_CLI_COLORIZE asks for it; with the newline. */
void output_json(struct cli *cli, struct json_object *v);
/* Keys sorted; with an empty line behind it where the released client has one. */
void output_yaml(struct cli *cli, struct json_object *v, bool empty_line);

/* Python's json.dumps(v, indent=4): keys as they come. For cells of tables. Lives in the arena. */
const char *output_dumps(struct arena *a, struct json_object *v);
const char *output_dumps_raw(struct arena *a, const char *json); /* of a RAW field; NULL is null */

/* Makes the document what the released client's classes print: fields that it lacks are null, fractions are written as
 * such. */
void output_fill_absent(const struct codec_message *m, struct json_object *document);

#endif
