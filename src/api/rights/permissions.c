#include "api/rights/permissions.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "net/loop/loop.h"

/* Rows of three numbers, sorted, without duplicates. */
struct rows {
    int32_t (*row)[3];
    size_t n, room;
};

struct permissions {
    struct rows given;           /* holder (a user, or a group with a minus), role, workspace */
    struct rows members;         /* user, group, 0 */
    struct permission_set **set; /* by user; NULL: not made yet */
    size_t set_n;
};

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static int compare(const int32_t a[3], const int32_t b[3])
{
    for (int i = 0; i < 3; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

/* The place of the first row that is not before this one. */
static size_t place_of(const struct rows *r, const int32_t row[3])
{
    size_t from = 0, to = r->n;
    if (r->n && compare(r->row[r->n - 1], row) < 0)
        return r->n; /* so that loading rows in their order is quick */
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (compare(r->row[middle], row) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static void insert(struct rows *r, int32_t a, int32_t b, int32_t c)
{
    int32_t row[3] = {a, b, c};
    size_t at = place_of(r, row);
    if (at < r->n && compare(r->row[at], row) == 0)
        return;
    if (r->n == r->room) {
        r->room = r->room ? 2 * r->room : 64;
        r->row = must_reallocarray(r->row, r->room, sizeof(*r->row));
    }
    memmove(&r->row[at + 1], &r->row[at], (r->n - at) * sizeof(*r->row));
    memcpy(r->row[at], row, sizeof(row));
    r->n++;
}

static void remove_row(struct rows *r, int32_t a, int32_t b, int32_t c)
{
    int32_t row[3] = {a, b, c};
    size_t at = place_of(r, row);
    if (at == r->n || compare(r->row[at], row) != 0)
        return;
    memmove(&r->row[at], &r->row[at + 1], (r->n - at - 1) * sizeof(*r->row));
    r->n--;
}

/* Removes the rows that have this number in this column. */
static void remove_all(struct rows *r, int column, int32_t number)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->n; i++)
        if (r->row[i][column] != number)
            memmove(r->row[kept++], r->row[i], sizeof(*r->row));
    r->n = kept;
}

/* ---- sets -------------------------------------------------------------------------------------------------------- */

uint64_t permission_set_in(const struct permission_set *s, int32_t workspace_id)
{
    size_t from = 0, to = workspace_id ? s->at_n : 0;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (s->at[middle].workspace_id == workspace_id)
            return s->cluster | s->at[middle].bits;
        if (s->at[middle].workspace_id < workspace_id)
            from = middle + 1;
        else
            to = middle;
    }
    return s->cluster;
}

static void free_set(struct permission_set *s)
{
    free(s->at);
    free(s);
}

const struct permission_set *permission_set_ref(const struct permission_set *s)
{
    loop_assert();
    if (s)
        ((struct permission_set *)s)->refs++;
    return s;
}

void permission_set_unref(const struct permission_set *s)
{
    struct permission_set *own = (struct permission_set *)s;
    if (own && --own->refs == 0)
        free_set(own);
}

/* Both have one reference that nobody gives back. */
static struct permission_set everything = {.refs = 1, .cluster = PERMISSIONS_ALL}, nothing = {.refs = 1};
const struct permission_set *const permission_set_all = &everything;

const struct role_row *role_by_id(int32_t id)
{
    for (size_t i = 0; i < ROLES_N; i++)
        if (role_rows[i].id == id)
            return &role_rows[i];
    return NULL;
}

static void forget(struct permissions *p, int32_t user_id)
{
    if (user_id <= 0 || (size_t)user_id >= p->set_n)
        return;
    permission_set_unref(p->set[user_id]);
    p->set[user_id] = NULL;
}

static void forget_all(struct permissions *p)
{
    for (size_t i = 0; i < p->set_n; i++)
        forget(p, (int32_t)i);
}

static void forget_holder(struct permissions *p, int32_t holder)
{
    if (holder > 0)
        forget(p, holder);
    for (size_t i = 0; holder < 0 && i < p->members.n; i++)
        if (p->members.row[i][1] == -holder)
            forget(p, p->members.row[i][0]);
}

/* Adds what a holder has to the set, workspaces in any order and more than once. */
static void add_holder(const struct permissions *p, int32_t holder, struct permission_set *s, size_t *room)
{
    int32_t first[3] = {holder, INT32_MIN, INT32_MIN};
    for (size_t i = place_of(&p->given, first); i < p->given.n && p->given.row[i][0] == holder; i++) {
        const struct role_row *role = role_by_id(p->given.row[i][1]);
        int32_t workspace_id = p->given.row[i][2];
        if (!role)
            continue; /* a later version of the master has given it */
        if (!workspace_id) {
            s->cluster |= role->permissions;
            continue;
        }
        if (s->at_n == *room) {
            *room = *room ? 2 * *room : 8;
            s->at = must_reallocarray(s->at, *room, sizeof(*s->at));
        }
        s->at[s->at_n++] = (struct permissions_at){workspace_id, role->permissions};
    }
}

static int compare_workspaces(const void *a, const void *b)
{
    int32_t x = ((const struct permissions_at *)a)->workspace_id, y = ((const struct permissions_at *)b)->workspace_id;
    return (x > y) - (x < y);
}

static void sort_set(struct permission_set *s)
{
    size_t n = 0;
    if (s->at_n)
        qsort(s->at, s->at_n, sizeof(*s->at), compare_workspaces);
    for (size_t i = 0; i < s->at_n; i++) {
        if (n && s->at[n - 1].workspace_id == s->at[i].workspace_id)
            s->at[n - 1].bits |= s->at[i].bits;
        else
            s->at[n++] = s->at[i];
    }
    s->at_n = n;
}

static struct permission_set *make_set(const struct permissions *p, int32_t user_id)
{
    struct permission_set *s = must_calloc(1, sizeof(*s));
    s->refs = 1;
    int32_t first[3] = {user_id, INT32_MIN, INT32_MIN};
    size_t room = 0;
    add_holder(p, user_id, s, &room);
    for (size_t i = place_of(&p->members, first); i < p->members.n && p->members.row[i][0] == user_id; i++)
        add_holder(p, -p->members.row[i][1], s, &room);
    sort_set(s);
    return s;
}

const struct permission_set *permissions_of(struct permissions *p, int32_t user_id)
{
    loop_assert();
    if (user_id <= 0)
        return &nothing;
    if ((size_t)user_id >= p->set_n) {
        size_t n = (size_t)user_id + 64;
        p->set = must_reallocarray(p->set, n, sizeof(struct permission_set *));
        memset(p->set + p->set_n, 0, (n - p->set_n) * sizeof(struct permission_set *));
        p->set_n = n;
    }
    if (!p->set[user_id])
        p->set[user_id] = make_set(p, user_id);
    return p->set[user_id];
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

struct permissions *permissions_new(void)
{
    return must_calloc(1, sizeof(struct permissions));
}

void permissions_free(struct permissions *p)
{
    if (!p)
        return;
    forget_all(p);
    free(p->set);
    free(p->given.row);
    free(p->members.row);
    free(p);
}

static int32_t holder_of(const struct role_given *g)
{
    return g->user_id ? g->user_id : -g->group_id;
}

void permissions_give(struct permissions *p, const struct role_given *g)
{
    insert(&p->given, holder_of(g), g->role_id, g->workspace_id);
    forget_holder(p, holder_of(g));
}

void permissions_take(struct permissions *p, const struct role_given *g)
{
    remove_row(&p->given, holder_of(g), g->role_id, g->workspace_id);
    forget_holder(p, holder_of(g));
}

void permissions_join(struct permissions *p, int32_t group_id, int32_t user_id)
{
    insert(&p->members, user_id, group_id, 0);
    forget(p, user_id);
}

void permissions_leave(struct permissions *p, int32_t group_id, int32_t user_id)
{
    remove_row(&p->members, user_id, group_id, 0);
    forget(p, user_id);
}

void permissions_drop_group(struct permissions *p, int32_t group_id)
{
    forget_holder(p, -group_id);
    remove_all(&p->given, 0, -group_id);
    remove_all(&p->members, 1, group_id);
}

void permissions_drop_workspace(struct permissions *p, int32_t workspace_id)
{
    remove_all(&p->given, 2, workspace_id);
    forget_all(p);
}
