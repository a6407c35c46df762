/* Files of configuration that commands send: YAML, or standard input for "-". */
#ifndef DET_CLI_CONFIG_FILE_H
#define DET_CLI_CONFIG_FILE_H

#include "cli/cli.h"
#include "common/json/json.h"

/* Its tree, which is an object, and its text as it stands. Caller puts *ret. */
int config_file_read(struct cli *cli, const char *path, struct strbuf *ret_text, struct json_object **ret,
                     struct error *err);
/* Says which of its words YAML 1.1 reads as truth values: for texts that are sent in another form, in which the master cannot
 * see that any more. */
void config_file_warn_of_words(struct cli *cli, const struct strbuf *text);
/* As config_file_read(), with each KEY=VALUE of --config applied; the text is then written anew. */
int config_file_read_with(struct cli *cli, const char *path, const char *const *override, size_t override_n,
                          struct strbuf *ret_text, struct json_object **ret, struct error *err);

/* The master's word about a configuration that came from a file: "<config>.a.b (line 3, column 7): …" becomes
 * "FILE:3:7: <config>.a.b: …", as compilers have it and editors understand it. With `rewritten`, lines are not those of
 * the file, and are left out. Always -1. */
int config_file_blame(const char *path, bool rewritten, struct error *err);

/* The same for a document that the master had without its text: it names paths below `root`, which are found in the file's
 * text here. Always -1. */
int config_file_locate(const char *path, const char *root, const char *text, struct error *err);

#endif
