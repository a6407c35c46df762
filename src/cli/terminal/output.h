/* Prints documents: as JSON, as YAML in block style, or as CSV. */
#ifndef DET_CLI_TERMINAL_OUTPUT_H
#define DET_CLI_TERMINAL_OUTPUT_H

#include <stdbool.h>

#include "cli/cli.h"
#include "common/codec/codec.h"
#include "common/json/json.h"

/* Prints a result as --json, --yaml or --csv of the command asks for; output_json() prints JSON without one of these,
 * output_yaml() YAML.
 *
 * JSON: keys are sorted, the indent is two blanks; coloured on a terminal if DET_CLI_COLORIZE is set and NO_COLOR is
 * not. Ends with a newline. YAML: keys are sorted; empty_line: an empty line follows, where the released client prints
 * one. CSV: the table that formats.h makes of the document. */
void output_json(struct cli *cli, struct json_object *v);
void output_yaml(struct cli *cli, struct json_object *v, bool empty_line);
/* Prints one of many documents that come one after the other, such as lines of a log: as JSON documents, as items of
 * one YAML list, or as rows of one CSV table, whose columns are those of the first document. */
void output_record(struct cli *cli, struct json_object *v);

/* Like Python's json.dumps(v, indent=4), with keys in their order in the object. For cells of tables. The result is
 * in the arena. */
const char *output_dumps(struct arena *a, struct json_object *v);
const char *output_dumps_by(struct arena *a, const char *json, int indent); /* as output_dumps_raw() */
const char *output_dumps_raw(struct arena *a, const char *json); /* for the text of a RAW field; NULL gives null */

/* Makes the document what the released client's classes print: missing fields become null, and fractions are written
 * as fractions. */
void output_fill_absent(const struct codec_message *m, struct json_object *document);

#endif
