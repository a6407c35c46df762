/* Calls the master's API by the rows of the contract: fields of the request become path, query or body, and the
 * reply is decoded into its struct. The first call that needs a session opens it, with a stored login, the
 * environment's token, or a question to the user.
 *
 * Errors are ready to be printed: "Failed to list agents: …". If a login or a permission is missing, they say what
 * to do. */
#ifndef DET_CLI_CONNECTION_API_H
#define DET_CLI_CONNECTION_API_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/cli.h"
#include "common/base/strbuf.h"
#include "common/json/json.h"
#include "gen/routes.h"
#include "gen/wire.h"

/* `request` is the route's struct, or NULL for an empty request; `reply` may be NULL. What the reply points to is in
 * the cli's arena. */
int api_call(struct cli *cli, enum route_id id, const void *request, void *reply, struct error *err);
/* The reply as JSON in which absent fields are null, for --json. The caller puts *ret. */
int api_call_document(struct cli *cli, enum route_id id, const void *request, struct json_object **ret,
                      struct error *err);
/* As api_call_document(), for a URL and a body (NULL: none) that are already written. */
int api_call_url(struct cli *cli, enum route_id id, const char *url, const char *body, struct json_object **ret,
                 struct error *err);
/* For routes that are not in contract/api.json, by their method, and their path with its query. */
struct api_path {
    const char *method, *path;
    const char *body; /* JSON; NULL: none */
};
/* The reply is a document, which the caller puts. *ret is NULL if the reply is empty. */
int api_path_document(struct cli *cli, const struct api_path *at, struct json_object **ret, struct error *err);
int api_path_text(struct cli *cli, const struct api_path *at, struct strbuf *ret, struct error *err);
/* Downloads a file from a path that is not in contract/api.json and appends it to `fd`. If the connection breaks,
 * the download continues where it stopped. */
int api_download(struct cli *cli, const char *path, int fd, struct error *err);
/* Like api_call(), with a body that is already written (for a context of many megabytes). Shows the progress of the
 * upload. */
int api_call_body(struct cli *cli, enum route_id id, const void *body, size_t body_n, void *reply, struct error *err);
/* The same with the reply as JSON. The caller puts *ret. */
int api_call_body_document(struct cli *cli, enum route_id id, const void *body, size_t body_n, struct json_object **ret,
                           struct error *err);
/* GET of a path, once, only to see what status comes back. *ret_why has the body's message, in the arena. */
int api_look(struct cli *cli, const char *path, int *ret_status, const char **ret_why, struct error *err);

/* Calls a streaming route. on_record gets the "result" of each record as it arrives. If it returns -1, the stream
 * ends with its error. */
typedef int api_record_fn(struct json_object *record, void *ctx, struct error *err);
int api_stream(struct cli *cli, enum route_id id, const void *request, api_record_fn *on_record, void *ctx,
               bool *ret_dropped, struct error *err);
/* For a URL and a body (NULL: none) that are already written. */
int api_stream_url(struct cli *cli, enum route_id id, const char *url, const char *body, api_record_fn *on_record,
                   void *ctx, bool *ret_dropped, struct error *err);

/* GET /info, which needs no login. Its "version" is "" if no master answers. */
struct json_object *api_info(struct cli *cli); /* the caller puts it */
/* The first request to the master, before those of a command. If the master's certificate is unknown, the user may
 * accept it here (an error if they do not). If nobody answers, something that is no master, or a master of another
 * version, the user only gets a warning that tells these apart. */
int api_greet(struct cli *cli, struct error *err);

/* ---- logging in -------------------------------------------------------------------------------------------------- */
int api_username(struct cli *cli, const char **ret, struct error *err); /* opens the session */
int api_token(struct cli *cli, const char **ret, struct error *err);
/* Asks the master for a token. Does not use the stored logins. */
int api_login(struct cli *cli, const char *user, const char *password, const char **ret_token, struct error *err);
/* Whether the master accepts the token (NULL: no). */
bool api_token_works(struct cli *cli, const char *token);
void api_use_token(struct cli *cli, const char *user, const char *token); /* uses this token for all further calls */
int api_logout(struct cli *cli, const char *token, struct error *err);
/* The salted SHA-512 in hex that is sent instead of the password; an empty password stays empty. */
const char *password_hash(struct arena *a, const char *password);
/* ERR_INVALID, with what is missing, unless it has 8 characters, among them an upper-case letter, a lower-case
 * letter and a digit. */
int password_check(const char *password, struct error *err);
/* Like password_check(); also refuses the user's name as password. The master cannot check this, because it is sent
 * a hash. */
int password_check_for(const char *password, const char *user, struct error *err);

void session_free(struct session *s);

#endif
