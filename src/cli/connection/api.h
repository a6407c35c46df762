/* Calls of the master's API by the rows of the contract: the request's fields become path, query or body, the reply is
 * decoded into its struct. The first call that needs a login finds one: the store of logins, the environment, a prompt.
 *
 * Errors are ready to print: "Failed to list agents: …", with what to do about a missing login or permission. */
#ifndef DET_CLI_API_H
#define DET_CLI_API_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/cli.h"
#include "common/json/json.h"
#include "gen/routes.h"
#include "gen/wire.h"

/* `request` is the route's struct, NULL for an empty one; `reply` may be NULL. Both live in, or beside, the cli's
 * arena. */
int api_call(struct cli *cli, enum route_id id, const void *request, void *reply, struct error *err);
/* The reply as a document in which absent fields are null: for --json. Caller puts it. */
int api_call_document(struct cli *cli, enum route_id id, const void *request, struct json_object **ret,
                      struct error *err);
/* A GET of a route beside the contract's, by its path and query. Caller puts *ret. */
int api_get_document(struct cli *cli, const char *path, struct json_object **ret, struct error *err);
/* A file by its path beside the contract's routes, appended to `fd`; a connection that breaks is taken up where it broke. */
int api_download(struct cli *cli, const char *path, int fd, struct error *err);
/* As api_call, with a body that was written elsewhere (a context of many megabytes); upload shows its progress. */
int api_call_body(struct cli *cli, enum route_id id, const void *body, size_t body_n, void *reply, struct error *err);

/* A streaming route: each record's "result" as it arrives. -1 from on_record ends the stream; its error is the
 * stream's. */
typedef int api_record_fn(struct json_object *record, void *ctx, struct error *err);
int api_stream(struct cli *cli, enum route_id id, const void *request, api_record_fn *on_record, void *ctx,
               bool *ret_dropped, struct error *err);

/* GET /info without a login. Its "version" is "" when no master answers. */
struct json_object *api_info(struct cli *cli); /* caller puts it */
/* The first word with the master, before a command's own: a certificate that is not known may be accepted here (ERR if
 * it is not); a master that is away or of another version is worth a warning only. */
int api_greet(struct cli *cli, struct error *err);

/* Logging in. */
int api_username(struct cli *cli, const char **ret, struct error *err); /* opens the session */
int api_token(struct cli *cli, const char **ret, struct error *err);
/* Asks the master for a token; touches no store. */
int api_login(struct cli *cli, const char *user, const char *password, const char **ret_token, struct error *err);
/* Whether the master still takes the token (NULL: no). */
bool api_token_works(struct cli *cli, const char *token);
void api_use_token(struct cli *cli, const char *user, const char *token); /* from now on */
int api_logout(struct cli *cli, const char *token, struct error *err);
/* Hex of the salted SHA-512 that goes over the wire instead of the password; blank stays blank. */
const char *password_hash(struct arena *a, const char *password);
/* ERR_INVALID with what is missing, unless it has 8 characters with upper case, lower case and a digit. */
int password_check(const char *password, struct error *err);
/* … and is not the name of its user. Asked here, since the master sees a hash. */
int password_check_for(const char *password, const char *user, struct error *err);
#define PASSWORD_HASH_CHARS 128

void session_free(struct session *s);

#endif
