/* Prints documents: JSON with sorted keys and an indent of two blanks, YAML in block style. */
#ifndef DET_CLI_TERMINAL_OUTPUT_H
#define DET_CLI_TERMINAL_OUTPUT_H

#include <stdbool.h>

#include "cli/cli.h"
#include "common/codec/codec.h"
#include "common/json/json.h"

/* Keys are sorted, the indent is two blanks; coloured on a terminal if DET_CLI_COLORIZE is set and NO_COLOR is not.
 * Ends with a newline. */
void output_json(struct cli *cli, struct json_object *v);
/* Keys are sorted. empty_line: print an empty line after it, where the released client does. */
void output_yaml(struct cli *cli, struct json_object *v, bool empty_line);

/* Like Python's json.dumps(v, indent=4), with keys in their order in the object. For cells of tables. The result is
 * in the arena. */
const char *output_dumps(struct arena *a, struct json_object *v);
const char *output_dumps_raw(struct arena *a, const char *json); /* for the text of a RAW field; NULL gives null */

/* Makes the document what the released client's classes print: missing fields become null, and fractions are written
 * as fractions. */
void output_fill_absent(const struct codec_message *m, struct json_object *document);

#endif
