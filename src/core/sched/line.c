/* The trees of <sys/tree.h> call RB_AUGMENT where a node's children change, but leave it to us to tell all nodes
 * above. */
struct sched_group;
static void count_below(struct sched_group *g);
#define RB_AUGMENT(g) count_below(g)

#include "core/sched/line.h"

#include <stddef.h>

static void add_subtree(struct sched_group *g, const struct sched_group *child)
{
    if (child == NULL)
        return;
    g->subtree_n += child->subtree_n;
    g->subtree_waiting += child->subtree_waiting;
}

static void count_below(struct sched_group *g)
{
    g->subtree_n = g->uncounted ? 0 : 1;
    g->subtree_waiting = g->waiting_slots;
    add_subtree(g, RB_LEFT(g, node));
    add_subtree(g, RB_RIGHT(g, node));
}

RB_GENERATE(sched_groups, sched_group, node, sched_group_compare)

static void count_upwards(struct sched_group *g)
{
    for (; g != NULL; g = RB_PARENT(g, node))
        count_below(g);
}

void line_init(struct sched_line *line)
{
    RB_INIT(&line->tree);
    TAILQ_INIT(&line->order);
}

void line_insert(struct sched_line *line, struct sched_group *g)
{
    RB_INSERT(sched_groups, &line->tree, g);
    struct sched_group *before = RB_PREV(sched_groups, &line->tree, g);
    if (before != NULL)
        TAILQ_INSERT_AFTER(&line->order, before, g, in_order);
    else
        TAILQ_INSERT_HEAD(&line->order, g, in_order);
    count_upwards(g);
}

/* A node with two children is replaced by its successor in the tree. Then the lowest node whose count changes is the
 * one above the successor's old place. */
void line_remove(struct sched_line *line, struct sched_group *g)
{
    TAILQ_REMOVE(&line->order, g, in_order);
    struct sched_group *above = RB_PARENT(g, node);
    if (RB_LEFT(g, node) != NULL && RB_RIGHT(g, node) != NULL) {
        struct sched_group *next = RB_NEXT(sched_groups, &line->tree, g);
        above = RB_PARENT(next, node) == g ? next : RB_PARENT(next, node);
    }
    RB_REMOVE(sched_groups, &line->tree, g);
    count_upwards(above);
}

void line_add_waiting(struct sched_group *g, int64_t slots)
{
    g->waiting_slots += slots;
    for (; g != NULL; g = RB_PARENT(g, node))
        g->subtree_waiting += slots;
}

struct line_ahead line_ahead(const struct sched_group *g)
{
    struct line_ahead ahead = {0};
    const struct sched_group *below = RB_LEFT(g, node);
    for (const struct sched_group *child = g; child != NULL; child = RB_PARENT(child, node)) {
        if (below != NULL) {
            ahead.jobs += below->subtree_n;
            ahead.waiting_slots += below->subtree_waiting;
        }
        const struct sched_group *parent = RB_PARENT(child, node);
        below = NULL;
        if (parent != NULL && RB_RIGHT(parent, node) == child) {
            ahead.jobs += parent->uncounted ? 0 : 1;
            ahead.waiting_slots += parent->waiting_slots;
            below = RB_LEFT(parent, node);
        }
    }
    return ahead;
}
