/* How det deletes what holds other things: it asks first, and waits while the master takes away what is inside. */
#ifndef DET_CLI_CMD_DELETION_H
#define DET_CLI_CMD_DELETION_H

#include "cli/cli.h"

struct deletion_view { /* of something that is being deleted */
    int32_t left;      /* how many parts it still has */
    bool failed;
    const char *problem;
};

struct deletion {
    const char *what, *name; /* "project", and what the user calls it */
    const char *parts;       /* "experiment": what is counted until it is gone */
    const char *along;       /* what goes with it: "its notes, …" */
    bool yes;                /* nobody is asked */
    int32_t id;
    int (*start)(struct cli *cli, int32_t id, bool *ret_completed, struct error *err);
    int (*look)(struct cli *cli, int32_t id, struct deletion_view *ret, struct error *err); /* ERR_NOT_FOUND: it is gone */
};

/* Back when it is gone, or when the user does not want it after all. */
int deletion_run(struct cli *cli, const struct deletion *d, struct error *err);

#endif
