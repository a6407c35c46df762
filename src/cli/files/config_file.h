/* Reads configuration files that commands send: YAML, or standard input for "-". */
#ifndef DET_CLI_FILES_CONFIG_FILE_H
#define DET_CLI_FILES_CONFIG_FILE_H

#include "cli/cli.h"
#include "common/json/json.h"

/* Reads the file: its tree, which must be an object, and its text as it is. The caller puts *ret. */
int config_file_read(struct cli *cli, const char *path, struct strbuf *ret_text, struct json_object **ret,
                     struct error *err);
/* Warns of words that YAML 1.1 reads as truth values. Called for texts that are sent in another form, in which the
 * master cannot see these words any more. */
void config_file_warn_of_words(struct cli *cli, const struct strbuf *text);
/* Like config_file_read(), with each KEY=VALUE of --config applied. The text is then generated from the result. */
int config_file_read_with(struct cli *cli, const char *path, const char *const *override, size_t override_n,
                          struct strbuf *ret_text, struct json_object **ret, struct error *err);

/* Rewrites the master's error about a configuration from a file: "<config>.a.b (line 3, column 7): …" becomes
 * "FILE:3:7: <config>.a.b: …", which editors understand like messages of compilers. With `rewritten`, the lines are
 * not those of the file, and are left out. Always returns -1. */
int config_file_blame(const char *path, bool rewritten, struct error *err);

/* The same for a document that was sent without its text. The master's error names paths below `root`, which are
 * looked up in the file's text here. Always returns -1. */
int config_file_locate(const char *path, const char *root, const char *text, struct error *err);

#endif
