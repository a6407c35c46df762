/* The message of the administrators: showing, setting and removing it. There is at most one. It is kept as JSON in the
 * small values, so that it survives the master. A message whose end has passed counts as removed. */
#include "api/cluster/cluster_message.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "api/pipeline/internal.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/base/utf8.h"
#include "common/config/schema.h"
#include "common/json/json.h"
#include "gen/handlers.h"
#include "gen/wire.h"
#include "store/functions.h"

#define KEY "cluster_message"

enum { MESSAGE_MAX_CHARACTERS = 250 };

#define DAY_NS (24 * 3600 * INT64_C(1000000000))
#define DURATION_MAX_NS (100 * 365 * DAY_NS)

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int64_t time_of(struct json_object *message, const char *name, bool *ret_has)
{
    struct json_object *v = json_object_object_get(message, name);
    *ret_has = v != NULL;
    return v ? json_object_get_int64(v) : 0;
}

/* The message that this text of the store stands for; *ret is NULL if there is none. */
static int parse_message(const char *text, struct arena *a, struct wire_cluster_message **ret, struct error *err)
{
    cleanup_json struct json_object *tree = NULL;
    *ret = NULL;
    if (!text || !*text)
        return 0;
    if (json_parse(text, strlen(text), &tree, err) < 0)
        return error_wrap(err, "the stored cluster message");
    struct wire_cluster_message *m = arena_new(a, struct wire_cluster_message);
    m->message = arena_strdup(a, json_object_get_string(json_object_object_get(tree, "message")));
    m->start_time = time_of(tree, "start_us", &m->has_start_time);
    m->end_time = time_of(tree, "end_us", &m->has_end_time);
    m->created_time = time_of(tree, "created_us", &m->has_created_time);
    *ret = m;
    return 0;
}

static bool is_over(const struct wire_cluster_message *m, int64_t now_us)
{
    return m->has_end_time && m->end_time <= now_us;
}

/* Returns also a message that is not shown yet. */
int api_get_cluster_message(struct req *r, struct store *db, const struct wire_get_cluster_message_request *in,
                            struct wire_get_cluster_message_response *ret, struct error *err)
{
    struct wire_cluster_message *m;
    const char *text;
    if (store_kv_get(db, KEY, &r->arena, &text, err) < 0 || parse_message(text, &r->arena, &m, err) < 0)
        return -1;
    ret->cluster_message = m && !is_over(m, r->now_us) ? m : NULL;
    return 0;
}

/* ---- in memory --------------------------------------------------------------------------------------------------- */

struct cluster_message {
    struct arena arena;
    struct wire_cluster_message *message; /* NULL: there is none */
};

struct cluster_message *cluster_message_new(void)
{
    struct cluster_message *m = must_calloc(1, sizeof(*m));
    m->arena = (struct arena)ARENA_INIT;
    return m;
}

void cluster_message_free(struct cluster_message *m)
{
    if (!m)
        return;
    arena_release(&m->arena);
    free(m);
}

static int remember(struct cluster_message *m, const char *text, struct error *err)
{
    arena_release(&m->arena);
    m->message = NULL;
    return parse_message(text, &m->arena, &m->message, err);
}

int cluster_message_load(struct cluster_message *m, struct store *db, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const char *text;
    return store_kv_get(db, KEY, &a, &text, err) < 0 ? -1 : remember(m, text, err);
}

const struct wire_cluster_message *cluster_message_shown(struct req *r)
{
    const struct wire_cluster_message *now = r->api->cluster_message->message;
    if (!now || now->start_time > r->now_us || is_over(now, r->now_us))
        return NULL;
    struct wire_cluster_message *copy = arena_dup(&r->arena, now, sizeof(*now));
    copy->message = arena_strdup(&r->arena, now->message); /* the text may change before the reply is encoded */
    return copy;
}

/* A step on the loop, after the commit: r->state is the text that was stored. Steps come in the order of their
 * commits. */
static int remember_stored(struct req *r, struct core *core, struct error *err)
{
    return remember(r->api->cluster_message, r->state, err);
}

static int store_text(struct req *r, struct store *db, const char *text, struct error *err)
{
    r->state = arena_strdup(&r->arena, text);
    return store_kv_set(db, KEY, text, err) < 0 ? -1 : req_then_loop(r, remember_stored);
}

/* ---- setting ----------------------------------------------------------------------------------------------------- */

/* Terminals and browsers show the message, so that it must not have characters that control them. */
static int check_text(const char *message, struct error *err)
{
    size_t n = utf8_count(message ? message : ""), shown = 0;
    for (const unsigned char *c = (const unsigned char *)(message ? message : ""); *c; c++) {
        if (iscntrl(*c) || (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0))
            return error_set(err, ERR_INVALID, "message: must be one line without control characters");
        shown += !isspace(*c);
    }
    if (shown == 0)
        return error_set(err, ERR_INVALID, "message: is empty; 'det master cluster-message clear' removes a message");
    if (n > MESSAGE_MAX_CHARACTERS)
        return error_set(err, ERR_INVALID, "message: has %zu characters, at most %d are allowed", n,
                         MESSAGE_MAX_CHARACTERS);
    return 0;
}

/* Reads a duration as Go writes it, or a number of days or weeks ("5d", "2w"), which the help of release 0.38.1's
 * client names. */
static int parse_duration(const char *text, int64_t *ret_ns)
{
    char *end;
    long n = strtol(text, &end, 10);
    int64_t unit = strcmp(end, "d") == 0 ? DAY_NS : strcmp(end, "w") == 0 ? 7 * DAY_NS : 0;
    if (!unit || !isdigit((unsigned char)text[0]))
        return duration_parse(text, ret_ns);
    if (n > DURATION_MAX_NS / unit)
        return -1;
    *ret_ns = n * unit;
    return 0;
}

static int find_end(const struct req *r, const struct wire_set_cluster_message_request *in, int64_t *ret, bool *ret_has,
                    struct error *err)
{
    int64_t duration_ns;
    *ret = in->end_time;
    *ret_has = in->has_end_time;
    if (in->duration && in->has_end_time)
        return error_set(err, ERR_INVALID, "endTime and duration: name only one of the two");
    if (in->duration) {
        if (parse_duration(in->duration, &duration_ns) < 0 || duration_ns <= 0 || duration_ns > DURATION_MAX_NS)
            return error_set(err, ERR_INVALID,
                             "duration is \"%.80s\", allowed is a time such as 90m, 24h, 5d or 2w, up to 100 years",
                             in->duration);
        *ret = in->start_time + duration_ns / 1000;
        *ret_has = true;
    }
    if (*ret_has && *ret <= in->start_time)
        return error_set(err, ERR_INVALID, "endTime: must be after startTime");
    if (*ret_has && *ret <= r->now_us)
        return error_set(err, ERR_INVALID, "endTime: has passed already, so that nobody would see the message");
    return 0;
}

int api_set_cluster_message(struct req *r, struct store *db, const struct wire_set_cluster_message_request *in,
                            struct wire_set_cluster_message_response *ret, struct error *err)
{
    int64_t end_us;
    bool has_end;
    if (check_text(in->message, err) < 0)
        return -1;
    if (!in->has_start_time)
        return error_set(err, ERR_INVALID, "startTime is missing: name when the message begins to be shown");
    if (find_end(r, in, &end_us, &has_end, err) < 0)
        return -1;
    cleanup_json struct json_object *tree = json_object_new_object();
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    json_object_object_add(tree, "message", json_object_new_string(in->message));
    json_object_object_add(tree, "start_us", json_object_new_int64(in->start_time));
    if (has_end)
        json_object_object_add(tree, "end_us", json_object_new_int64(end_us));
    json_object_object_add(tree, "created_us", json_object_new_int64(r->now_us));
    json_print(tree, &text);
    return store_text(r, db, strbuf_str(&text), err);
}

/* To remove a message that does not exist is no error, as in release 0.38.1. */
int api_delete_cluster_message(struct req *r, struct store *db, const struct wire_delete_cluster_message_request *in,
                               struct wire_delete_cluster_message_response *ret, struct error *err)
{
    return store_text(r, db, "", err);
}
