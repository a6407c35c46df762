#include "api/cluster/quota_follow.h"

#include "core/core.h"
#include "store/functions.h"

struct quota_news {
    struct core_placed *placed;
    size_t placed_n;
    struct core_quota_change *named;
    size_t named_n;
};

int quota_read_names(struct req *r, struct store *db, struct quota_news **ret, struct error *err)
{
    struct store_quota *q;
    size_t n;
    if (store_quotas_all(db, &r->arena, &q, &n, err) < 0)
        return -1;
    struct quota_news *news = arena_new(&r->arena, struct quota_news);
    *news = (struct quota_news){.named = arena_array(&r->arena, struct core_quota_change, n + 1), .named_n = n};
    for (size_t i = 0; i < n; i++)
        news->named[i] = (struct core_quota_change){.workspace_id = q[i].workspace_id,
                                                    .user_id = q[i].user_id,
                                                    .what = core_quota_what(q[i].workspace_name, q[i].username,
                                                                            &r->arena)};
    *ret = news;
    return 0;
}

int quota_read_project(struct req *r, struct store *db, int32_t project_id, struct quota_news **ret, struct error *err)
{
    struct store_placed *x;
    size_t n;
    if (store_quota_placed(db, project_id, &r->arena, &x, &n, err) < 0)
        return -1;
    struct quota_news *news = arena_new(&r->arena, struct quota_news);
    *news = (struct quota_news){.placed = arena_array(&r->arena, struct core_placed, n + 1), .placed_n = n};
    for (size_t i = 0; i < n; i++)
        news->placed[i] = (struct core_placed){x[i].experiment_id, x[i].workspace_id};
    *ret = news;
    return 0;
}

int quota_tell(struct req *r, struct core *core, const struct quota_news *news, struct error *err)
{
    struct core_event ev = {.type = CORE_QUOTA_FOLLOW, .now_us = r->now_us};
    ev.follow.placed = news->placed;
    ev.follow.placed_n = news->placed_n;
    ev.follow.named = news->named;
    ev.follow.named_n = news->named_n;
    return req_core_step(r, core, &ev, NULL, err);
}

static int tell(struct req *r, struct core *core, struct error *err)
{
    return quota_tell(r, core, r->state, err);
}

static int go_on(struct req *r, struct quota_news *news)
{
    r->state = news;
    return req_then_loop(r, tell);
}

int quota_follow_names(struct req *r, struct store *db, struct error *err)
{
    struct quota_news *news;
    return quota_read_names(r, db, &news, err) < 0 ? -1 : go_on(r, news);
}

int quota_follow_project(struct req *r, struct store *db, int32_t project_id, struct error *err)
{
    struct quota_news *news;
    return quota_read_project(r, db, project_id, &news, err) < 0 ? -1 : go_on(r, news);
}
