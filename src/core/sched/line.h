/* The jobs of a pool in the order in which they are served, and how many stand ahead of one. They are a tree in which each job also
 * counts the jobs below it, so that no question has to walk along the line. */
#ifndef DET_CORE_SCHED_LINE_H
#define DET_CORE_SCHED_LINE_H

#include "core/sched/sched.h"

RB_HEAD(sched_groups, sched_group);
RB_PROTOTYPE(sched_groups, sched_group, node, sched_group_compare)

struct sched_line {
    struct sched_groups tree;
    TAILQ_HEAD(, sched_group) order; /* the same as a list, for walks over all jobs */
};

void line_init(struct sched_line *line);
void line_insert(struct sched_line *line, struct sched_group *g);
void line_remove(struct sched_line *line, struct sched_group *g);
/* g, which stands in line, waits for so many slots more, or fewer. */
void line_add_waiting(struct sched_group *g, int64_t slots);

struct line_ahead {
    size_t jobs;
    int64_t waiting_slots; /* that these jobs wait for */
};
struct line_ahead line_ahead(const struct sched_group *g);

#endif
