/* Access tokens: create, list, describe, edit, revoke, and logging in with one. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/access/access.h"
#include "cli/cmd/show.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The scope for people ("read"); NULL: the master, which may be of release 0.38.1, names none. */
static const char *scope_word(struct json_object *token, struct arena *a)
{
    static const char prefix[] = "TOKEN_SCOPE_";
    const char *name = json_object_get_string(json_object_object_get(token, "scope"));
    if (!name || strncmp(name, prefix, sizeof(prefix) - 1) != 0)
        return NULL;
    char *word = arena_strdup(a, name + sizeof(prefix) - 1);
    for (char *c = word; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return word;
}

/* Whether one of the tokens may not do everything. Otherwise the table is that of release 0.38.1, which has no scopes.
 */
static bool has_scopes(struct json_object *tokens, struct arena *a)
{
    for (size_t i = 0; tokens && i < json_object_array_length(tokens); i++) {
        const char *word = scope_word(json_object_array_get_idx(tokens, i), a);
        if (word && strcmp(word, "all") != 0)
            return true;
    }
    return false;
}

static void token_row(struct table *t, struct json_object *token)
{
    static const char prefix[] = "TOKEN_TYPE_";
    const char *type = json_object_get_string(json_object_object_get(token, "tokenType"));
    table_values(t, token, (const char *const[]){"id", "userId", "description", "createdAt", "expiry", "revoked", NULL},
                 NULL);
    table_text(t, type && strncmp(type, prefix, sizeof(prefix) - 1) == 0 ? type + sizeof(prefix) - 1 : type);
}

static int show_tokens(struct cli *cli, const struct wire_get_access_tokens_request *in, bool json, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    cleanup_json struct json_object *v = NULL;
    if (api_call_document(cli, ROUTE_ID_GET_ACCESS_TOKENS, in, &v, err) < 0)
        return -1;
    struct json_object *tokens = json_object_object_get(v, "tokenInfo");
    if (json) {
        output_yaml(cli, tokens, true);
        return 0;
    }
    bool scopes = has_scopes(tokens, &cli->arena);
    table_columns(&t, (const char *const[]){"ID", "User ID", "Description", "Created At", "Expires At", "Revoked",
                                            "Token Type", scopes ? "Scope" : NULL, NULL});
    for (size_t i = 0; tokens && i < json_object_array_length(tokens); i++) {
        struct json_object *token = json_object_array_get_idx(tokens, i);
        token_row(&t, token);
        if (scopes)
            table_text(&t, scope_word(token, &cli->arena));
    }
    table_show(cli, &t, false);
    return 0;
}

int cmd_token_list(struct cli *cli, const struct args_token_list *args, struct error *err)
{
    struct wire_get_access_tokens_request in = {.username = args->username, .show_inactive = args->show_inactive};
    return show_tokens(cli, &in, args->json, err);
}

static int read_token_id(const char *text, int32_t *ret, struct error *err)
{
    char *end;
    long id = strtol(text, &end, 10);
    if (end == text || *end || id <= 0 || id > INT32_MAX)
        return error_set(err, ERR_USAGE,
                         "\"%s\" is not the id of a token: an id is a whole number, as 'det token list' shows it",
                         text);
    *ret = (int32_t)id;
    return 0;
}

int cmd_token_describe(struct cli *cli, const struct args_token_describe *args, struct error *err)
{
    struct wire_get_access_tokens_request in = {.token_ids_n = args->token_id_n, .show_inactive = true};
    in.token_ids = arena_array(&cli->arena, int32_t, args->token_id_n + 1);
    for (size_t i = 0; i < args->token_id_n; i++)
        if (read_token_id(args->token_id[i], &in.token_ids[i], err) < 0)
            return -1;
    return show_tokens(cli, &in, args->json, err);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* The lifespan as the master reads it: "48h", or "-1" for a token that does not expire. */
static const char *lifespan_of(struct cli *cli, const struct args_token_create *args)
{
    enum { HOURS_A_DAY = 24 };
    if (!args->has_expiration_days)
        return NULL;
    return args->expiration_days == -1 ? "-1"
                                       : arena_printf(&cli->arena, "%" PRId64 "h", args->expiration_days * HOURS_A_DAY);
}

/* What is sent for --scope. Without it nothing is sent: masters of release 0.38.1 know no scopes. */
static enum wire_user_token_scope scope_of(const char *word)
{
    if (!word)
        return WIRE_USER_TOKEN_SCOPE_UNSPECIFIED;
    return strcmp(word, "read") == 0     ? WIRE_USER_TOKEN_SCOPE_READ
           : strcmp(word, "submit") == 0 ? WIRE_USER_TOKEN_SCOPE_SUBMIT
                                         : WIRE_USER_TOKEN_SCOPE_ALL;
}

int cmd_token_create(struct cli *cli, const struct args_token_create *args, struct error *err)
{
    cleanup_json struct json_object *v = NULL;
    struct wire_get_user_by_username_request who = {.username = args->username};
    struct wire_get_user_by_username_response user;
    if (args->has_expiration_days && args->expiration_days != -1 && args->expiration_days < 1)
        return error_set(err, ERR_USAGE, "--expiration-days is %" PRId64 "; it must be at least 1, or -1 for never",
                         args->expiration_days);
    if ((!who.username && api_username(cli, &who.username, err) < 0) ||
        api_call(cli, ROUTE_ID_GET_USER_BY_USERNAME, &who, &user, err) < 0)
        return -1;
    struct wire_post_access_token_request in = {.user_id = user.user->id,
                                                .scope = scope_of(args->scope),
                                                .lifespan = lifespan_of(cli, args),
                                                .description = args->description};
    if (api_call_document(cli, ROUTE_ID_POST_ACCESS_TOKEN, &in, &v, err) < 0)
        return -1;
    if (cli->format)
        output_json(cli, v);
    else
        fprintf(cli->out, "TokenID: %d\nAccess-Token: %s\n", json_object_get_int(json_object_object_get(v, "tokenId")),
                json_object_get_string(json_object_object_get(v, "token")));
    return 0;
}

/* Sends the change and prints the token as it is then. */
static int change_token(struct cli *cli, const char *id, struct wire_patch_access_token_request *in, struct error *err)
{
    cleanup_json struct json_object *v = NULL;
    if (read_token_id(id, &in->token_id, err) < 0 ||
        api_call_document(cli, ROUTE_ID_PATCH_ACCESS_TOKEN, in, &v, err) < 0)
        return -1;
    output_json(cli, v);
    return 0;
}

int cmd_token_edit(struct cli *cli, const struct args_token_edit *args, struct error *err)
{
    struct wire_patch_access_token_request in = {.description = args->description};
    if (!args->description)
        return error_set(err, ERR_USAGE, "Nothing to change: --description is what can be changed of a token");
    if (change_token(cli, args->token_id, &in, err) < 0)
        return -1;
    if (!cli->format)
        fprintf(cli->out, "Successfully updated token with ID: %s.\n", args->token_id);
    return 0;
}

int cmd_token_revoke(struct cli *cli, const struct args_token_revoke *args, struct error *err)
{
    struct wire_patch_access_token_request in = {.set_revoked = true};
    if (change_token(cli, args->token_id, &in, err) < 0)
        return -1;
    fprintf(cli->out, "Successfully revoked token %s.\n", args->token_id);
    return 0;
}

int cmd_token_login(struct cli *cli, const struct args_token_login *args, struct error *err)
{
    const char *token = args->token;
    if (strcmp(token, "-") == 0 && terminal_ask_password(cli, "Token: ", &token, err) < 0)
        return -1;
    return login_with_token(cli, token, err);
}
