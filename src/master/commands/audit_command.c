/* determined-master audit verify */
#include <stdio.h>
#include <string.h>

#include "master/commands/commands.h"
#include "master/commands/settings.h"
#include "store/changes/changes.h"

/* The store is only read, so that a running master does not matter. */
int audit_command(int argc, char *const *argv, struct error *err)
{
    cleanup_config struct config *c = NULL;
    cleanup_strbuf struct strbuf place = STRBUF_INIT;
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_change_head head;
    struct store *reader;
    if (argc < 1 || strcmp(argv[0], "verify") != 0)
        return error_set(err, ERR_USAGE, "usage: determined-master audit verify [--data-dir D] [OPTIONS]");
    struct config_input in = master_config_input(argc - 1, argv + 1);
    if (master_settings_load(&in, &c, err) < 0)
        return -1;
    master_settings_database(c, &place);
    if (store_open_reader(strbuf_str(&place), &reader, err) < 0)
        return -1;
    int rc = store_changes_verify(reader, &a, &head, err);
    store_close(reader);
    if (rc == 0)
        printf("The audit log is complete and unaltered up to record %lld:%s\n", (long long)head.seq, head.hash);
    return rc;
}
