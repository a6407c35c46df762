#include "cli/cmd/deletion.h"

#include <ctype.h>

#include "cli/terminal/terminal.h"
#include "common/system/process.h"

enum { LOOK_EVERY_MS = 500 };

static int wait_gone(struct cli *cli, const struct deletion *d, struct error *err)
{
    for (int32_t shown = -1;;) {
        cleanup_error struct error failed = ERROR_INIT;
        struct deletion_view v = {0};
        if (d->look(cli, d->id, &v, &failed) < 0)
            return error_pass_unless(&failed, ERR_NOT_FOUND, err) ? -1 : 0;
        if (v.failed)
            return error_set(err, ERR_PRECONDITION, "%s", v.problem);
        if (v.left != shown)
            fprintf(cli->out, "Remaining %s count: %d\n", d->parts, shown = v.left);
        sleep_ms(LOOK_EVERY_MS);
    }
}

int deletion_run(struct cli *cli, const struct deletion *d, struct error *err)
{
    bool completed;
    const char *title = arena_printf(&cli->arena, "%c%s", toupper(d->what[0]), d->what + 1);
    if (!d->yes && !terminal_ask_yes(cli, arena_printf(&cli->arena,
                                                       "%s \"%s\" will be deleted for good, with %s.\n"
                                                       "'det %s archive' only hides it. Delete it?",
                                                       title, d->name, d->along, d->what))) {
        fprintf(cli->out, "Aborting %s deletion.\n", d->what);
        return 0;
    }
    if (d->start(cli, d->id, &completed, err) < 0)
        return -1;
    if (completed) {
        fprintf(cli->out, "Successfully deleted %s %s.\n", d->what, d->name);
        return 0;
    }
    fprintf(cli->out, "Started deletion of %s %s...\n", d->what, d->name);
    if (wait_gone(cli, d, err) < 0)
        return -1;
    fprintf(cli->out, "%s deleted successfully.\n", title);
    return 0;
}
