/* The first contact with the master: GET /info, which needs no login. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/connection/address.h"
#include "cli/connection/api_internal.h"

static int fetch_info(struct cli *cli, struct http_fetch_reply *reply, struct error *err)
{
    struct exchange x = {.method = "GET", .url = arena_printf(&cli->arena, "%s/info", cli->master), .no_retry = true};
    return api_fetch(cli, &x, reply, err);
}

/* NULL: no master answers so. The caller puts the result. */
static struct json_object *info_of(const struct http_fetch_reply *reply)
{
    struct json_object *v = NULL, *version;
    if (reply->status != 200 || json_parse(strbuf_str(&reply->body), reply->body.n, &v, NULL) < 0)
        return NULL;
    if (json_object_is_type(v, json_type_object) && json_object_object_get_ex(v, "version", &version) &&
        json_object_is_type(version, json_type_string))
        return v;
    json_object_put(v);
    return NULL;
}

struct json_object *api_info(struct cli *cli)
{
    static const char *const key[] = {"cluster_id", "master_id", "version"};
    struct http_fetch_reply reply = {0};
    struct json_object *v = fetch_info(cli, &reply, NULL) == 0 ? info_of(&reply) : NULL;
    http_fetch_reply_release(&reply);
    if (v)
        return v;
    v = json_object_new_object();
    for (size_t i = 0; i < sizeof(key) / sizeof(key[0]); i++)
        json_object_object_add(v, key[i], json_object_new_string(""));
    return v;
}

/* Who answers at the master's address. */
struct greeting {
    int status;          /* HTTP status of the answer; 0: nobody answers */
    const char *version; /* NULL: it is no master */
    bool predecessor;    /* a master of the releases up to 0.38.1, which has one version only */
};

static struct greeting greet_once(struct cli *cli)
{
    struct greeting g = {0};
    struct http_fetch_reply reply = {0};
    struct json_object *version;
    if (fetch_info(cli, &reply, NULL) == 0) {
        cleanup_json struct json_object *info = info_of(&reply);
        g.status = reply.status;
        cli->session->plain_passwords = json_object_get_boolean(json_object_object_get(info, "plain_passwords"));
        g.predecessor = info && !json_object_object_get_ex(info, "program_version", &version);
        if (info && (!g.predecessor || json_object_object_get_ex(info, "version", &version)))
            g.version = arena_strdup(&cli->arena, json_object_get_string(version));
    }
    http_fetch_reply_release(&reply);
    return g;
}

/* By the numbers between the dots: less than, equal to or greater than 0, as with strcmp(). What follows the numbers,
 * such as "-rc1", has no order. */
static int compare_versions(const char *a, const char *b)
{
    while (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
        char *a_end, *b_end;
        unsigned long x = strtoul(a, &a_end, 10), y = strtoul(b, &b_end, 10);
        if (x != y)
            return x < y ? -1 : 1;
        a = a_end + (*a_end == '.');
        b = b_end + (*b_end == '.');
    }
    return 0;
}

static void tell_version(struct cli *cli, const struct greeting *g)
{
    int order = compare_versions(g->version, DET_VERSION);
    if (g->predecessor)
        cli_say(
            cli, CLI_YELLOW,
            "The master at %s is release %s of the predecessor, this is det %s: commands that need what that release "
            "does not have will fail.",
            cli->master, g->version, DET_VERSION);
    else if (order > 0)
        cli_say(
            cli, CLI_YELLOW,
            "The master at %s is %s, newer than this det, which is %s: bring det to the same version, it does not know "
            "what is new.",
            cli->master, g->version, DET_VERSION);
    else if (order < 0)
        cli_say(
            cli, CLI_YELLOW,
            "The master at %s is %s, older than this det, which is %s: bring the master to the same version, commands "
            "that it does not know fail.",
            cli->master, g->version, DET_VERSION);
    else
        cli_say(cli, CLI_YELLOW, "This is det %s, the master is %s: consider bringing both to the same version.",
                DET_VERSION, g->version);
}

static void tell_no_master(struct cli *cli, const struct greeting *g)
{
    if (g->status >= 502 && g->status <= 504)
        cli_say(
            cli, CLI_YELLOW,
            "The master at %s is not ready: GET /info is answered with status %d, by the master itself while it starts "
            "or by a server in front of it.",
            cli->master, g->status);
    else if (g->status)
        cli_say(
            cli, CLI_YELLOW,
            "No master at %s: something else answers there (GET /info has status %d, and no version of a master). Look "
            "at the address, which is from %s.",
            cli->master, g->status, cli->master_source);
    else
        cli_say(
            cli, CLI_YELLOW,
            "Master not found at %s. Hint: name its address by the environment variable DET_MASTER or by '-m' (this "
            "one is from %s).",
            cli->master, cli->master_source);
}

static bool may_ask_trust(struct cli *cli)
{
    return address_is_tls(cli->master) && cli->session && !cli->session->trust.skip_verify &&
           !getenv("DET_MASTER_CERT_FILE");
}

int api_greet(struct cli *cli, struct error *err)
{
    struct session *s;
    if (cli_session(cli, &s, err) < 0)
        return -1;
    struct greeting g = greet_once(cli);
    if (!g.status && may_ask_trust(cli)) {
        cleanup_error struct error why = ERROR_INIT;
        if (trust_ask(cli, &why) == 0) {
            if (trust_load(cli, &cli->session->trust, err) < 0)
                return -1;
            g = greet_once(cli);
        } else if (error_pass_unless(&why, ERR_UNAVAILABLE, err)) {
            return -1;
        }
    }
    if (!g.version)
        tell_no_master(cli, &g);
    else if (strcmp(g.version, DET_VERSION) != 0)
        tell_version(cli, &g);
    return 0;
}
