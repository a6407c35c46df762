/* What the commands about checkpoints share: their tables and their download. */
#ifndef DET_CLI_CMD_CHECKPOINT_H
#define DET_CLI_CMD_CHECKPOINT_H

#include "cli/connection/api.h"
#include "cli/terminal/table.h"

int checkpoint_fetch(struct cli *cli, const char *uuid, const struct wire_checkpoint **ret, struct error *err);
void checkpoint_print(struct cli *cli, const struct wire_checkpoint *c);

struct checkpoint_list_form {
    bool csv, json, has_best;
    bool hparams; /* a terminal has them with --best anyway */
    int64_t best;
};
/* Of an experiment, or else of a trial. */
int checkpoint_list(struct cli *cli, int32_t experiment_id, int32_t trial_id, const struct checkpoint_list_form *form,
                    struct error *err);

struct checkpoint_download {
    const char *output_dir; /* NULL: checkpoints/<uuid> */
    const char *mode;       /* direct, master, auto */
    bool quiet;
};
/* Straight out of an object store, by python3 with the store's client; `storage` is its checkpoint_storage. */
int checkpoint_from_store(struct cli *cli, const char *storage, const char *uuid, const char *to, struct error *err);
int checkpoint_download(struct cli *cli, const struct wire_checkpoint *c, const struct checkpoint_download *how,
                        struct error *err);

#endif
