/* det dev curl: runs the program curl with the master's address and the token of the login. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/connection/address.h"
#include "cli/connection/api.h"
#include "cli/connection/trust.h"
#include "cli/terminal/output.h"
#include "common/base/cleanup.h"
#include "common/base/utf8.h"

/* The command line of curl while it is put together. */
struct curl {
    struct cli *cli;
    char **argv; /* ends with NULL */
    size_t argc;
    const char *login; /* the word of argv that names the file with the token's header */
    int header_fd;     /* of that file */
    int ca_fd;         /* of the trusted certificates, if they are in a file without a name; else -1 */
};

static void add_word(struct curl *c, const char *word)
{
    c->argv[c->argc++] = arena_strdup(&c->cli->arena, word);
}

static bool is_absolute_url(const char *path)
{
    size_t n = isalpha((unsigned char)*path) ? 1 : 0;
    while (n > 0 && (isalnum((unsigned char)path[n]) || (path[n] && strchr("+.-", path[n]))))
        n++;
    return (n > 0 && path[n] == ':') || strncmp(path, "//", 2) == 0;
}

/* The token goes into a file without a name: everybody on the machine can read the words of a command line. */
static int add_login(struct curl *c, struct error *err)
{
    const char *token;
    if (api_token(c->cli, &token, err) < 0)
        return -1;
    const char *header = arena_printf(&c->cli->arena, "Authorization: Bearer %s\n", token);
    size_t n = strlen(header);
    c->header_fd = memfd_create("header", MFD_CLOEXEC);
    if (c->header_fd < 0 || write(c->header_fd, header, n) != (ssize_t)n)
        return error_errno(err, "keeping the token for curl");
    add_word(c, "-H");
    c->login = arena_printf(&c->cli->arena, "@/proc/self/fd/%d", c->header_fd);
    add_word(c, c->login);
    c->login = c->argv[c->argc - 1];
    return 0;
}

/* What det trusts, curl is to trust, too. */
static int add_trust(struct curl *c, const char **ret_url, struct error *err)
{
    struct cli *cli = c->cli;
    struct trust trust;
    if (!address_is_tls(cli->master))
        return 0;
    if (trust_load(cli, &trust, err) < 0)
        return -1;
    if (trust.skip_verify)
        add_word(c, "--insecure");
    if (trust.ca_file) {
        add_word(c, "--cacert");
        add_word(c, trust.ca_file);
        if (sscanf(trust.ca_file, "/proc/self/fd/%d", &c->ca_fd) != 1)
            c->ca_fd = -1;
    }
    if (!trust.name)
        return 0;
    /* curl verifies the host of the URL: the name becomes the host, and the connection goes to where the master is */
    const char *host = strstr(cli->master, "://") + strlen("://");
    size_t host_n = strcspn(host, "/");
    const char *place = arena_strndup(&cli->arena, host, host_n), *port = strrchr(place, ':');
    add_word(c, "--connect-to");
    add_word(c, arena_printf(&cli->arena, "%s%s:%s", trust.name, port, place));
    add_word(c, "-H");
    add_word(c, arena_printf(&cli->arena, "Host: %s", place));
    *ret_url = arena_printf(&cli->arena, "https://%s%s%s", trust.name, port, host + host_n);
    return 0;
}

static int make_command(struct curl *c, const struct args_dev_curl *args, struct error *err)
{
    enum { WORDS_OF_OUR_OWN = 16 };
    struct cli *cli = c->cli;
    const char *url = cli->master, *path = args->path + strspn(args->path, "/");
    c->argv = arena_array(&cli->arena, char *, args->curl_args_n + WORDS_OF_OUR_OWN);
    add_word(c, "curl");
    size_t url_at = c->argc++;
    if (add_login(c, err) < 0 || add_trust(c, &url, err) < 0)
        return -1;
    c->argv[url_at] = arena_printf(&cli->arena, "%s/%s", url, path);
    add_word(c, "-s");
    add_word(c, "--globoff");
    for (size_t i = 0; i < args->curl_args_n; i++)
        add_word(c, args->curl_args[i]);
    return 0;
}

static void print_quoted(FILE *to, const char *word)
{
    const char *plain = "@%+=:,./-_";
    size_t n = 0;
    while (word[n] && (isalnum((unsigned char)word[n]) || strchr(plain, word[n])))
        n++;
    if (n > 0 && !word[n]) {
        fputs(word, to);
        return;
    }
    fputc('\'', to);
    for (; *word; word++)
        fputs(*word == '\'' ? "'\"'\"'" : (const char[]){*word, '\0'}, to);
    fputc('\'', to);
}

/* With a command in place of the token, so that the line can be shown to others and typed again. */
static void print_command(const struct curl *c)
{
    for (size_t i = 0; i < c->argc; i++) {
        fputs(i ? " " : "", c->cli->err);
        if (c->argv[i] == c->login)
            fprintf(c->cli->err, "\"Authorization: Bearer $(det -m %s dev auth-token)\"", c->cli->master);
        else
            print_quoted(c->cli->err, c->argv[i]);
    }
    fputc('\n', c->cli->err);
}

/* out_fd: where curl's output goes; -1: where that of det goes. */
static int start_curl(struct curl *c, int out_fd, pid_t *ret, struct error *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    /* a descriptor that is duplicated onto itself stays open in the new program */
    posix_spawn_file_actions_adddup2(&actions, c->header_fd, c->header_fd);
    if (c->ca_fd >= 0)
        posix_spawn_file_actions_adddup2(&actions, c->ca_fd, c->ca_fd);
    if (out_fd >= 0)
        posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
    int failed = posix_spawnp(ret, "curl", &actions, NULL, c->argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed == ENOENT)
        return error_set(err, ERR_NOT_FOUND,
                         "the program curl is not installed on this machine; install it (Debian: apt install curl), or "
                         "use 'det dev bindings call'");
    errno = failed;
    return failed ? error_errno(err, "starting curl") : 0;
}

static int wait_for_curl(struct cli *cli, pid_t child, struct error *err)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return error_errno(err, "waiting for curl");
    cli->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return 0;
}

/* What people see: JSON is laid out in lines, other text is left as it is, and binary data is kept off the terminal. */
static void show_reply(struct cli *cli, const struct strbuf *text)
{
    cleanup_json struct json_object *v = NULL;
    const char *s = strbuf_str(text);
    if (text->n && json_parse(s, text->n, &v, NULL) == 0)
        output_json(cli, v);
    else if (utf8_check(s, text->n) == text->n)
        fwrite(s, 1, text->n, cli->out);
    else
        cli_say(cli, CLI_RED, "The reply is no text. Redirect the output to keep it.");
}

static int read_all(int fd, struct strbuf *ret, struct error *err)
{
    char part[16384];
    for (;;) {
        ssize_t n = read(fd, part, sizeof(part));
        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return error_errno(err, "reading the output of curl");
        if (n > 0)
            strbuf_add(ret, part, (size_t)n);
    }
}

static int run_for_terminal(struct curl *c, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_close int from = -1;
    int ends[2];
    pid_t child;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_errno(err, "starting curl");
    from = ends[0];
    int rc = start_curl(c, ends[1], &child, err);
    close(ends[1]);
    if (rc < 0)
        return -1;
    rc = read_all(from, &text, err);
    if (wait_for_curl(c->cli, child, rc < 0 ? NULL : err) < 0 || rc < 0)
        return -1;
    show_reply(c->cli, &text);
    return 0;
}

static int run_curl(struct curl *c, struct error *err)
{
    pid_t child;
    fflush(c->cli->out);
    if (c->cli->out_terminal)
        return run_for_terminal(c, err);
    return start_curl(c, -1, &child, err) < 0 ? -1 : wait_for_curl(c->cli, child, err);
}

int cmd_dev_curl(struct cli *cli, const struct args_dev_curl *args, struct error *err)
{
    struct curl c = {.cli = cli, .header_fd = -1, .ca_fd = -1};
    if (is_absolute_url(args->path))
        return error_set(err, ERR_USAGE,
                         "the path '%s' must not be a whole URL; give the path only, such as /api/v1/me, and name the "
                         "master by -m or DET_MASTER",
                         args->path);
    int rc = make_command(&c, args, err);
    if (rc == 0 && args->x)
        print_command(&c);
    if (rc == 0)
        rc = run_curl(&c, err);
    if (c.header_fd >= 0)
        close(c.header_fd);
    return rc;
}
