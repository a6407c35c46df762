/* determined-agent: offers this machine's slots to a master and runs its tasks. */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/check.h"
#include "agent/config.h"
#include "agent/machine/local_address.h"
#include "agent/python/environment_program.h"
#include "common/base/arena.h"
#include "common/base/cleanup.h"
#include "common/config/config.h"
#include "common/system/log.h"
#include "gen/config_tables.h"
#include "net/client/http_client.h"

static const char usage[] = "determined-agent run [options]\n       determined-agent check [options]\n"
                            "       determined-agent config check [FILE] [options]\n"
                            "       determined-agent version\n"
                            "determined-agent run --help lists the options";

static void on_terminate(void *ctx)
{
    struct agent **agent = ctx;
    agent_stop(*agent);
}

static int run_agent(const struct agent_config *c, struct error *err)
{
    struct loop *loop = NULL;
    struct agent *agent = NULL;
    if (http_client_load(err) < 0 || loop_new(&loop, err) < 0)
        return -1;
    loop_on_signal(loop, SIGTERM, on_terminate, &agent);
    loop_on_signal(loop, SIGINT, on_terminate, &agent);
    int r = agent_new(loop, c, &agent, err);
    if (r == 0) {
        r = loop_run(loop, err);
        if (r == 0 && agent_failed(agent))
            r = error_set(err, ERR_PRECONDITION, "the master has refused this agent (see above)");
    }
    agent_free(agent);
    loop_free(loop);
    return r;
}

/* Hides the token from processes of the same user, which could read it in /proc: from the command line, which everybody
 * can see; from the environment, which programs that this one starts would inherit; and from memory. */
static void keep_token_secret(int argc, char **argv)
{
    static const char option[] = "--token";
    for (int i = 0; i < argc; i++) {
        char *value = strncmp(argv[i], "--token=", sizeof(option)) == 0 ? argv[i] + sizeof(option)
                      : strcmp(argv[i], option) == 0 && i + 1 < argc    ? argv[i + 1]
                                                                        : NULL;
        if (value)
            memset(value, '*', strlen(value));
    }
    for (char **e = environ; *e; e++)
        if (strncmp(*e, "DET_TOKEN=", 10) == 0)
            memset(*e + 10, '*', strlen(*e + 10));
    unsetenv("DET_TOKEN");
    prctl(PR_SET_DUMPABLE, 0);
}

static void warn_of_clear_text(const struct agent_config *c)
{
    if (c->tls || local_address_is_loopback(c->master_host))
        return;
    log_warning("agent.clear_text",
                "master=%s:%d consequence=\"this agent's token, and those of its tasks, cross the network in clear\" "
                "action=\"set security.tls.self_signed: true on the master, and here security.tls.enabled: true with "
                "security.tls.master_cert: tls.crt of the master's data_dir\"",
                c->master_host, c->master_port);
}

static struct config_input input_of(int argc, char **argv)
{
    return (struct config_input){.program = "determined-agent",
                                 .keys = agent_config_keys,
                                 .default_file = AGENT_CONFIG_FILE,
                                 .argc = argc,
                                 .argv = argv,
                                 .environ_ = environ};
}

/* The command `config`. argv: check [FILE] [options] */
static int check_config(int argc, char **argv, struct error *err)
{
    if (argc < 1 || strcmp(argv[0], "check") != 0 || config_wants_help(argc, argv))
        return error_set(err, ERR_USAGE, "usage: determined-agent config check [FILE] [options]");
    cleanup_config struct config *config = NULL;
    cleanup_arena struct arena arena = ARENA_INIT;
    struct agent_config c;
    bool has_file = argc > 1 && argv[1][0] != '-';
    if (has_file)
        argv[0] = "--config-file";
    struct config_input in = input_of(has_file ? argc : argc - 1, has_file ? argv : argv + 1);
    if (config_read(&in, &config, err) < 0 || agent_config_read(config, &arena, &c, err) < 0)
        return -1;
    if (*config_warnings(config))
        fprintf(stderr, "%s\n", config_warnings(config));
    puts("the configuration is good");
    return 0;
}

/* The command `check`: takes the options of `run`. Its status is 0 unless something keeps the agent from working. */
static int check_machine(int argc, char **argv, struct error *err)
{
    cleanup_config struct config *config = NULL;
    cleanup_arena struct arena arena = ARENA_INIT;
    struct agent_config c;
    struct config_input in = input_of(argc, argv);
    if (config_wants_help(argc, argv))
        return error_set(err, ERR_USAGE, "usage: determined-agent check [options of determined-agent run]");
    if (config_read(&in, &config, err) < 0 || agent_config_read(config, &arena, &c, err) < 0)
        return -1;
    keep_token_secret(argc, argv);
    if (*config_warnings(config))
        fprintf(stderr, "%s\n", config_warnings(config));
    agent_config_use_proxies(&c);
    int failures = check_host(&c, stdout);
    return failures == 0 ? 0
                         : error_set(err, ERR_PRECONDITION, "%d thing%s keep%s this machine from being a good agent",
                                     failures, failures == 1 ? "" : "s", failures == 1 ? "s" : "");
}

static int run_command_line(int argc, char **argv, struct error *err)
{
    struct config_input in = input_of(argc, argv);
    if (config_wants_help(argc, argv)) {
        cleanup_strbuf struct strbuf help = STRBUF_INIT;
        config_help(&in, usage, &help);
        fputs(strbuf_str(&help), stdout);
        return 0;
    }
    cleanup_config struct config *config = NULL;
    cleanup_arena struct arena arena = ARENA_INIT;
    struct agent_config c;
    if (config_read(&in, &config, err) < 0 || agent_config_read(config, &arena, &c, err) < 0)
        return -1;
    keep_token_secret(argc, argv);
    enum log_level level = LOG_INFO;
    log_level_parse(c.log_level, &level);
    if (c.debug && level > LOG_DEBUG)
        level = LOG_DEBUG;
    log_init("determined-agent", level, config_bool(config, "log.color") && isatty(2));
    log_set_json(strcmp(config_str(config, "log.format"), "json") == 0);
    config_log_warnings(config);
    warn_of_clear_text(&c);
    agent_config_use_proxies(&c);
    return run_agent(&c, err);
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    setlocale(LC_CTYPE, "C.UTF-8"); /* so that libarchive reads the names in archives as UTF-8 */
    if (strcmp(command, "version") == 0 || strcmp(command, "--version") == 0) {
        puts("determined-agent " DET_VERSION);
        return 0;
    }
    if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0) {
        printf("usage: %s\n", usage);
        return 0;
    }
    if (strcmp(command, ENVIRONMENT_PROGRAM_COMMAND) ==
        0) /* the agent itself starts this; it is no command for people */
        return environment_program();
    if (strcmp(command, "run") != 0 && strcmp(command, "config") != 0 && strcmp(command, "check") != 0) {
        fprintf(stderr, "usage: %s\n", usage);
        return error_exit_code(ERR_USAGE);
    }
    cleanup_error struct error err = ERROR_INIT;
    int (*carry_out)(int argc, char **argv, struct error *err) = strcmp(command, "run") == 0     ? run_command_line
                                                                 : strcmp(command, "check") == 0 ? check_machine
                                                                                                 : check_config;
    if (carry_out(argc - 2, argv + 2, &err) < 0) {
        fprintf(stderr, "determined-agent: %s\n", error_msg(&err));
        return error_exit_code(err.kind);
    }
    return 0;
}
