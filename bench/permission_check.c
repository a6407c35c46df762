/* What does a check of a permission cost with 10,000 users, 1,000 groups and 100,000 assignments of roles, for users
 * taken at random? And what do loading all of it, and one change with the check that follows? Usage: permission_check
 */
#include <stdio.h>
#include <time.h>

#include "api/rights/permissions.h"
#include "common/base/rng.h"

enum {
    USERS = 10000,
    GROUPS = 1000,
    GIVEN = 100000,
    WORKSPACES = 1000,
    GROUPS_OF_A_USER = 5,
    CHECKS = 2000000,
    CHANGES = 2000
};

static struct rng rng;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int32_t below(int32_t n)
{
    return (int32_t)rng_int(&rng, (uint64_t)n);
}

static struct role_given any_role(void)
{
    struct role_given g = {.role_id = ROLE_WORKSPACE_ADMIN + 2 * below(2), .workspace_id = 1 + below(WORKSPACES)};
    if (below(10) == 0)
        g.group_id = 1 + below(GROUPS);
    else
        g.user_id = 1 + below(USERS);
    return g;
}

/* In the order in which the store gives them. */
static void load(struct permissions *p)
{
    enum { GROUPS_GIVEN = GIVEN / 10 };
    for (int i = 0; i < GROUPS_GIVEN; i++)
        permissions_give(p, &(struct role_given){.group_id = GROUPS - (int32_t)((int64_t)i * GROUPS / GROUPS_GIVEN),
                                                 .role_id = ROLE_VIEWER,
                                                 .workspace_id = 1 + i % WORKSPACES});
    for (int i = 0; i < GIVEN - GROUPS_GIVEN; i++)
        permissions_give(p, &(struct role_given){.user_id = 1 + (int32_t)((int64_t)i * USERS / (GIVEN - GROUPS_GIVEN)),
                                                 .role_id = ROLE_EDITOR,
                                                 .workspace_id = 1 + i % WORKSPACES});
    for (int32_t user = 1; user <= USERS; user++)
        for (int i = 0; i < GROUPS_OF_A_USER; i++)
            permissions_join(p, 1 + (user * 7 + i * 131) % GROUPS, user);
}

/* As a request does it: the set is held until the request ends. */
static double checks(struct permissions *p, int n, uint64_t *sum)
{
    double began = now_us();
    for (int i = 0; i < n; i++) {
        const struct permission_set *held = permission_set_ref(permissions_of(p, 1 + below(USERS)));
        int32_t workspace_id = 1 + below(WORKSPACES);
        *sum += permission_set_has(held, PERMISSION_VIEW_EXPERIMENT_METADATA, workspace_id) &&
                permission_set_has(held, PERMISSION_UPDATE_EXPERIMENT, workspace_id);
        permission_set_unref(held);
    }
    return (now_us() - began) / n;
}

int main(void)
{
    struct permissions *p = permissions_new();
    uint64_t sum = 0;
    rng_init(&rng, 1);
    double began = now_us();
    load(p);
    printf("loading %.3f ms\n", (now_us() - began) / 1000);
    began = now_us();
    for (int32_t user = 1; user <= USERS; user++)
        sum += permissions_of(p, user)->cluster;
    printf("the first check of a user %.4f us\n", (now_us() - began) / USERS);
    printf("a check %.4f us\n", checks(p, CHECKS, &sum));
    began = now_us();
    for (int i = 0; i < CHANGES; i++) {
        struct role_given g = any_role();
        permissions_give(p, &g);
        sum += permissions_of(p, g.user_id ? g.user_id : 1)->cluster;
    }
    printf("a change %.4f us\n", (now_us() - began) / CHANGES);
    permissions_free(p);
    return sum == UINT64_MAX; /* so that no check is left out */
}
