/* The Terraform modules of `det deploy aws`, `gcp` and `gke-experimental`. tools/gen-deploy makes the table of the
 * files in packaging/clouds. */
#ifndef DET_CLI_CMD_DEPLOY_DEPLOY_H
#define DET_CLI_CMD_DEPLOY_DEPLOY_H

struct deploy_file {
    const char *name, *text;
};

struct deploy_module {
    const char *name;               /* of the cloud */
    const struct deploy_file *file; /* the last one has no name */
};

extern const struct deploy_module deploy_modules[]; /* the last one has no name */

#endif
