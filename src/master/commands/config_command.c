/* determined-master config show [--origin] | check [FILE] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/base/strbuf.h"
#include "master/commands/commands.h"
#include "master/commands/settings.h"

static const char usage[] =
    "determined-master config show [--origin] [OPTIONS], or determined-master config check [FILE] [OPTIONS]";

/* Removes each `word` from the list of arguments, in place. What remains are the master's own options. */
static int take_word(int argc, const char **argv, const char *word)
{
    int n = 0;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], word) != 0)
            argv[n++] = argv[i];
    }
    return n;
}

static int load_settings(int argc, char *const *argv, struct config **ret, struct error *err)
{
    struct config_input in = master_config_input(argc, argv);
    if (master_settings_load(&in, ret, err) < 0)
        return -1;
    for (const char *line = config_warnings(*ret); *line; line += strcspn(line, "\n"), line += *line == '\n')
        fprintf(stderr, "determined-master: warning: %.*s\n", (int)strcspn(line, "\n"), line);
    return 0;
}

static int show_config(int argc, char *const *argv, struct error *err)
{
    cleanup_free const char **words = must_calloc((size_t)argc + 1, sizeof(*words));
    for (int i = 0; i < argc; i++)
        words[i] = argv[i];
    int n = take_word(argc, words, "--origin");
    cleanup_config struct config *c = NULL;
    if (load_settings(n, (char *const *)words, &c, err) < 0)
        return -1;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    config_print(c, n < argc, &text);
    fputs(strbuf_str(&text), stdout);
    return 0;
}

static int check_config(int argc, char *const *argv, struct error *err)
{
    cleanup_config struct config *c = NULL;
    cleanup_free char **words = must_calloc((size_t)argc + 2, sizeof(*words));
    bool has_file = argc > 0 && argv[0][0] != '-';
    words[0] = "--config-file";
    memcpy(words + has_file, argv, (size_t)argc * sizeof(*words));
    if (load_settings(argc + has_file, words, &c, err) < 0)
        return -1;
    puts("the configuration is good");
    return 0;
}

int config_command(int argc, char *const *argv, struct error *err)
{
    const char *verb = argc > 0 ? argv[0] : "";
    if (config_wants_help(argc, argv)) {
        printf("usage: %s\n", usage);
        return 0;
    }
    if (strcmp(verb, "show") == 0)
        return show_config(argc - 1, argv + 1, err);
    if (strcmp(verb, "check") == 0)
        return check_config(argc - 1, argv + 1, err);
    return error_set(err, ERR_USAGE, "usage: %s", usage);
}
