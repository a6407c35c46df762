#include "master/logs/webhook_patterns.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/must.h"
#include "common/base/strbuf.h"
#include "common/base/utf8.h"
#include "common/system/log.h"
#include "core/config/log_policies.h"

enum { SETS_MAX = 512, FRESH_US = 60000000 };

/* The patterns that are looked for in the lines of one workspace's tasks. */
struct set {
    int32_t workspace_id;
    struct arena arena; /* holds the triggers */
    struct store_webhook_pattern *trigger;
    size_t n;
    struct log_policies *compiled; /* trigger_of() says which trigger a pattern is of */
    UT_hash_handle hh;
};

struct webhook_patterns {
    struct set *sets;
    int64_t total;   /* of all workspaces; -1: it is not known */
    int64_t read_us; /* by the monotonic clock */
};

/* ---- the patterns of a workspace --------------------------------------------------------------------------------- */

static void drop_set(struct webhook_patterns *p, struct set *s)
{
    HASH_DEL(p->sets, s);
    log_policies_free(s->compiled);
    arena_release(&s->arena);
    free(s);
}

static void drop_all(struct webhook_patterns *p)
{
    struct set *s, *next;
    HASH_ITER(hh, p->sets, s, next)
        drop_set(p, s);
}

/* A pattern that does not compile is left out, so the name of each says of which trigger it is: the trigger's place. */
static struct log_policies *compile(const struct set *s, struct arena *a)
{
    struct exp_log_policy *list = arena_array(a, struct exp_log_policy, s->n + 1);
    for (size_t i = 0; i < s->n; i++)
        list[i] = (struct exp_log_policy){.name = arena_printf(a, "%zu", i), .pattern = s->trigger[i].regex};
    return log_policies_new(list, s->n);
}

static const struct store_webhook_pattern *trigger_of(const struct set *s, const struct log_policy *compiled)
{
    return &s->trigger[strtoul(compiled->name, NULL, 10)];
}

static struct set *set_of(struct webhook_patterns *p, struct store *db, int32_t workspace_id)
{
    cleanup_error struct error err = ERROR_INIT;
    struct set *s;
    HASH_FIND(hh, p->sets, &workspace_id, sizeof(workspace_id), s);
    if (s)
        return s;
    if (HASH_COUNT(p->sets) >= SETS_MAX)
        drop_set(p, p->sets); /* the oldest set */
    s = must_calloc(1, sizeof(*s));
    *s = (struct set){.workspace_id = workspace_id, .arena = ARENA_INIT};
    if (store_webhook_patterns(db, workspace_id, &s->arena, &s->trigger, &s->n, &err) < 0) {
        log_warning("webhook.patterns_unknown", "workspace=%d reason=%s action=later", workspace_id,
                    log_quote(error_msg(&err)));
        arena_release(&s->arena);
        free(s);
        return NULL;
    }
    s->compiled = compile(s, &s->arena);
    HASH_ADD(hh, p->sets, workspace_id, sizeof(s->workspace_id), s);
    return s;
}

bool webhook_patterns_refresh(struct webhook_patterns *p, struct store *db, bool changed)
{
    cleanup_error struct error err = ERROR_INIT;
    int64_t now_us = clock_monotonic_us();
    if (!changed && p->total >= 0 && now_us - p->read_us < FRESH_US)
        return p->total > 0;
    drop_all(p);
    p->read_us = now_us;
    if (store_webhook_trigger_count(db, "TASK_LOG", "", &p->total, &err) < 0) {
        log_warning("webhook.patterns_unknown", "reason=%s action=later", log_quote(error_msg(&err)));
        p->total = -1;
    }
    return p->total != 0;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* A copy of the line's beginning without the newline, in which everything that is no UTF-8 is U+FFFD: a message is
 * JSON, and is stored as text. */
static const char *shown_text(struct arena *a, const struct store_log_line *line)
{
    enum { LONGEST = 10000 }; /* a message has less of it (webhook_payload.c) */
    cleanup_strbuf struct strbuf s = STRBUF_INIT;
    size_t n = line->text_n < LONGEST ? line->text_n : LONGEST, len;
    while (n > 0 && (line->text[n - 1] == '\n' || line->text[n - 1] == '\r'))
        n--;
    for (size_t i = 0; i < n; i += len ? len : 1) {
        len = line->text[i] ? utf8_sequence(line->text + i, n - i) : 0;
        strbuf_add(&s, len ? line->text + i : UTF8_REPLACEMENT, len ? len : strlen(UTF8_REPLACEMENT));
    }
    return arena_strdup(a, strbuf_str(&s));
}

static void add_hit(struct log_scan *s, const struct store_webhook_pattern *t, const struct store_log_line *line)
{
    const char *node = line->agent_id && *line->agent_id ? line->agent_id : s->agent_id ? s->agent_id : "";
    s->hit[s->hit_n++] = (struct webhook_log_hit){.trigger_id = t->id,
                                                  .webhook_id = t->webhook_id,
                                                  .regex = arena_strdup(s->arena, t->regex),
                                                  .node_name = arena_strdup(s->arena, node),
                                                  .line = shown_text(s->arena, line)};
}

/* Takes the triggers whose pattern was found in this line. A pattern is marked until the end of the batch. */
static void take_found(struct log_scan *s, const struct set *set, bool *taken, const struct store_log_line *line)
{
    for (size_t i = 0; i < log_policies_n(set->compiled); i++) {
        const struct log_policy *l = log_policies_get(set->compiled, i);
        if (!l->matched || taken[i])
            continue;
        taken[i] = true;
        add_hit(s, trigger_of(set, l), line);
    }
}

/* Gives the marks back, and says in the master's log which patterns have become too expensive. */
static void finish(const struct set *set, const bool *gave_up)
{
    for (size_t i = 0; i < log_policies_n(set->compiled); i++) {
        struct log_policy *l = log_policies_get(set->compiled, i);
        l->matched = false;
        if (l->gave_up && !gave_up[i])
            log_warning("webhook.pattern_too_expensive", "webhook=%d pattern=%s action=not_looked_for",
                        trigger_of(set, l)->webhook_id, log_quote(l->pattern));
    }
}

static void scan(struct log_scan *s, struct set *set)
{
    size_t n = log_policies_n(set->compiled);
    bool *taken = arena_array(s->arena, bool, n + 1), *gave_up = arena_array(s->arena, bool, n + 1);
    for (size_t i = 0; i < n; i++)
        gave_up[i] = log_policies_get(set->compiled, i)->gave_up;
    s->hit = arena_array(s->arena, struct webhook_log_hit, n + 1);
    for (size_t i = 0; i < s->line_n; i++)
        if (log_policies_scan(set->compiled, s->line[i].text, s->line[i].text_n))
            take_found(s, set, taken, &s->line[i]);
    finish(set, gave_up);
}

void webhook_patterns_scan(struct webhook_patterns *p, struct store *db, struct log_scan *s)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_error struct error err = ERROR_INIT;
    struct store_webhook_task task;
    if (store_webhook_task(db, s->task_id, &a, &task, &err) < 0) {
        log_warning("webhook.task_unknown", "task=%s reason=%s action=not_looked_through", log_quote(s->task_id),
                    log_quote(error_msg(&err)));
        return;
    }
    struct set *set = task.id ? set_of(p, db, task.workspace_id) : NULL;
    if (set && set->n > 0)
        scan(s, set);
}

struct webhook_patterns *webhook_patterns_new(void)
{
    struct webhook_patterns *p = must_calloc(1, sizeof(*p));
    p->total = -1;
    return p;
}

void webhook_patterns_free(struct webhook_patterns *p)
{
    if (!p)
        return;
    drop_all(p);
    free(p);
}
