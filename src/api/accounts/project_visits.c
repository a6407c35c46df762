/* Which projects a user has looked at last. Web interfaces tell of each visit, and list the recent projects. */
#include "api/accounts/workspaces.h"
#include "api/pipeline/access.h"
#include "api/pipeline/internal.h"
#include "gen/handlers.h"

enum { LISTED_DEFAULT = 5, LISTED_MAX = 100 };

int api_post_user_activity(struct req *r, struct store *db, const struct wire_post_user_activity_request *in,
                           struct wire_post_user_activity_response *ret, struct error *err)
{
    struct store_project p;
    if (in->activity_type != WIRE_USER_ACTIVITY_TYPE_GET || in->entity_type != WIRE_USER_ENTITY_TYPE_PROJECT)
        return error_set(err, ERR_INVALID,
                         "activityType must be ACTIVITY_TYPE_GET and entityType ENTITY_TYPE_PROJECT: only visits of "
                         "projects are kept");
    if (store_project_get(db, in->entity_id, &r->arena, &p, err) < 0)
        return -1;
    return store_project_visit_note(db, r->who.user_id, p.id, r->now_us, err);
}

int api_get_projects_by_user_activity(struct req *r, struct store *db,
                                      const struct wire_get_projects_by_user_activity_request *in,
                                      struct wire_get_projects_by_user_activity_response *ret, struct error *err)
{
    struct store_project *p;
    size_t n;
    if (in->limit < 0 || in->limit > LISTED_MAX)
        return error_set(err, ERR_INVALID, "limit is %d, allowed is 0 (%d projects) to %d", in->limit, LISTED_DEFAULT,
                         LISTED_MAX);
    if (store_projects_visited(db, r->who.user_id, in->limit ? in->limit : LISTED_DEFAULT,
                               access_workspaces(r, PERMISSION_VIEW_PROJECT), &r->arena, &p, &n, err) < 0)
        return -1;
    ret->projects = arena_array(&r->arena, struct wire_project, n + 1);
    ret->projects_n = n;
    for (size_t i = 0; i < n; i++)
        if (project_to_wire(&p[i], &r->arena, &ret->projects[i], err) < 0)
            return -1;
    return 0;
}
