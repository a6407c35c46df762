/* How det deletes workspaces and projects: it asks first, and waits while the master deletes what is inside. */
#ifndef DET_CLI_CMD_DELETION_H
#define DET_CLI_CMD_DELETION_H

#include "cli/cli.h"

struct deletion_view { /* the state of an object that is being deleted */
    int32_t left;      /* number of parts that are not deleted yet */
    bool failed;
    const char *problem;
};

struct deletion {
    const char *what, *name; /* for example "project", and its name */
    const char *parts;       /* for example "experiment": the parts that are counted */
    const char *along;       /* what is deleted with it: "its notes, …" */
    bool yes;                /* do not ask */
    int32_t id;
    int (*start)(struct cli *cli, int32_t id, bool *ret_completed, struct error *err);
    /* sets *ret; ERR_NOT_FOUND: the object is deleted */
    int (*look)(struct cli *cli, int32_t id, struct deletion_view *ret, struct error *err);
};

/* Returns when the object is deleted, or when the user answers no. */
int deletion_run(struct cli *cli, const struct deletion *d, struct error *err);

#endif
