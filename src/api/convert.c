#include "api/convert.h"

#include <stdio.h>

#include "api/identity.h"
#include "store/users.h"

void identity_of_store(const struct store_user *u, struct identity_user *ret)
{
    *ret = (struct identity_user){
        .id = u->id, .admin = u->admin, .active = u->active, .remote = u->remote, .modified_at_us = u->modified_us,
        .last_auth_at_us = u->last_auth_us, .has_agent_user = u->agent.set, .agent_uid = u->agent.uid, .agent_gid = u->agent.gid};
    snprintf(ret->username, sizeof(ret->username), "%s", u->username);
    snprintf(ret->display_name, sizeof(ret->display_name), "%s", u->display_name ? u->display_name : "");
    snprintf(ret->agent_user, sizeof(ret->agent_user), "%s", u->agent.user ? u->agent.user : "");
    snprintf(ret->agent_group, sizeof(ret->agent_group), "%s", u->agent.group ? u->agent.group : "");
}

const struct wire_user *identity_to_wire(const struct identity_user *u, struct arena *a)
{
    struct wire_user *w = arena_new(a, struct wire_user);
    *w = (struct wire_user){
        .id = u->id, .username = arena_strdup(a, u->username), .admin = u->admin, .active = u->active,
        .display_name = arena_strdup(a, u->display_name), .modified_at = u->modified_at_us, .has_modified_at = u->modified_at_us != 0,
        .remote = u->remote, .last_auth_at = u->last_auth_at_us, .has_last_auth_at = u->last_auth_at_us != 0};
    if (u->has_agent_user) {
        struct wire_user_agent_user_group *g = arena_new(a, struct wire_user_agent_user_group);
        *g = (struct wire_user_agent_user_group){
            .agent_uid = u->agent_uid, .has_agent_uid = true, .agent_gid = u->agent_gid, .has_agent_gid = true,
            .agent_user = arena_strdup(a, u->agent_user), .agent_group = arena_strdup(a, u->agent_group)};
        w->agent_user_group = g;
    }
    return w;
}

const struct wire_user *user_to_wire(const struct store_user *u, struct arena *a)
{
    struct identity_user i;
    identity_of_store(u, &i);
    return identity_to_wire(&i, a);
}

struct page page_of(int32_t offset, int32_t limit)
{
    return (struct page){.offset = offset, .limit = limit};
}

const struct wire_pagination *pagination(struct page asked, struct page_window w, struct arena *a)
{
    struct wire_pagination *p = arena_new(a, struct wire_pagination);
    *p = (struct wire_pagination){.offset = asked.offset, .limit = asked.limit, .start_index = w.start, .end_index = w.end,
                                  .total = w.total};
    return p;
}
