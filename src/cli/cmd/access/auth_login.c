/* Logging in through a provider, as the master's administrators have set one up: a browser shows the provider's page,
 * and is then sent to a port of this machine with the token. Without a browser here, the user copies that address. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/cmd/access/access.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "common/base/cleanup.h"
#include "net/http/http.h"

/* The master sends browsers to this port (routes of the contract: ?relayState=cli). */
enum { REDIRECT_PORT = 49176 };
static const char example[] = "Example: 'http://localhost:49176/?token=v2.public.[long_str]'";

/* ---- providers --------------------------------------------------------------------------------------------------- */

static const char *text_of(struct json_object *provider, const char *key)
{
    struct json_object *v = json_object_object_get(provider, key);
    return json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
}

/* *ret is NULL if the master has none; otherwise it belongs to *ret_info, which the caller puts. */
static int fetch_providers(struct cli *cli, struct json_object **ret_info, struct json_object **ret, struct error *err)
{
    struct json_object *info = api_info(cli), *all = json_object_object_get(info, "sso_providers");
    *ret_info = info;
    if (*text_of(info, "version") == '\0')
        return error_set(err, ERR_UNAVAILABLE, "Failed to %s: no master answers at %s", cli->command->help,
                         cli->master);
    *ret = json_object_is_type(all, json_type_array) && json_object_array_length(all) > 0 ? all : NULL;
    return 0;
}

static const char *provider_names(struct arena *a, struct json_object *all)
{
    cleanup_strbuf struct strbuf names = STRBUF_INIT;
    for (size_t i = 0; i < json_object_array_length(all); i++)
        strbuf_addf(&names, "%s%s", i ? ", " : "", text_of(json_object_array_get_idx(all, i), "name"));
    return arena_strdup(a, strbuf_str(&names));
}

int cmd_auth_list_providers(struct cli *cli, const struct args_auth_list_providers *args, struct error *err)
{
    cleanup_json struct json_object *info = NULL, *none = json_object_new_array();
    struct json_object *all;
    (void)args;
    if (fetch_providers(cli, &info, &all, err) < 0)
        return -1;
    if (cli->format)
        output_json(cli, all ? all : none);
    else if (all)
        fprintf(cli->out, "Available providers: %s.\n", provider_names(&cli->arena, all));
    else
        fputs("No SSO providers found.\n", cli->out);
    return 0;
}

static int choose_provider(struct cli *cli, struct json_object *all, const char *name, struct json_object **ret,
                           struct error *err)
{
    size_t n = json_object_array_length(all), found = 0;
    for (size_t i = 0; i < n; i++) {
        struct json_object *provider = json_object_array_get_idx(all, i);
        if (name && strcasecmp(text_of(provider, "name"), name) != 0)
            continue;
        *ret = provider;
        found++;
    }
    if (found == 1)
        return 0;
    if (!name)
        return error_set(err, ERR_USAGE, "Provider must be specified when multiple are available: --provider %s",
                         provider_names(&cli->arena, all));
    if (found == 0)
        return error_set(err, ERR_NOT_FOUND, "Provider %s unsupported. (Providers found: %s)", name,
                         provider_names(&cli->arena, all));
    return error_set(err, ERR_CONFLICT, "Multiple SSO providers found with name %s.", name);
}

/* ---- the token --------------------------------------------------------------------------------------------------- */

/* The parameter "token" of a URL's query; NULL: it has none. */
static const char *token_in(struct arena *a, const char *url, size_t n)
{
    const char *end = url + n, *at = memchr(url, '?', n);
    while (at) {
        at++;
        const char *next = memchr(at, '&', (size_t)(end - at)), *stop = next ? next : end;
        if (stop - at > 6 && strncmp(at, "token=", 6) == 0) {
            cleanup_strbuf struct strbuf token = STRBUF_INIT;
            if (http_percent_decode(at + 6, (size_t)(stop - at) - 6, /* plus_is_blank= */ true, &token) < 0)
                return NULL;
            return arena_strdup(a, strbuf_str(&token));
        }
        at = next;
    }
    return NULL;
}

static int ask_for_url(struct cli *cli, const char *sso_url, struct error *err)
{
    fprintf(cli->out,
            "Please open this URL in your browser: '%s'\nAfter authenticating, copy/paste the localhost URL from your "
            "browser into the prompt.\n%s\n",
            sso_url, example);
    fflush(cli->out);
    for (;;) {
        const char *url, *token;
        if (terminal_ask_password(cli, "\n(hidden) localhost URL? ", &url, err) < 0)
            return -1;
        token = token_in(&cli->arena, url, strlen(url));
        if (token)
            return login_with_token(cli, token, err);
        fprintf(cli->out, "Could not extract token from localhost URL. %s\n", example);
        fflush(cli->out);
    }
}

/* ---- the browser ------------------------------------------------------------------------------------------------- */

static int listen_for_browser(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons(REDIRECT_PORT),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 4) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Starts the browser, whose messages are not shown. BROWSER names it, as for other programs. */
static bool open_browser(const char *url)
{
    extern char **environ;
    const char *browser = getenv("BROWSER"), *screen = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    if (!browser && !screen && !wayland)
        return false; /* nobody sees a browser that starts here */
    char *argv[] = {(char *)(browser ? browser : "xdg-open"), (char *)url, NULL};
    posix_spawn_file_actions_t quiet;
    pid_t pid;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int rc = posix_spawnp(&pid, argv[0], &quiet, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&quiet);
    return rc == 0;
}

/* Reads a request's head, or as much of it as fits. */
static size_t read_head(int fd, char *head, size_t room)
{
    size_t n = 0;
    while (n < room - 1) {
        ssize_t got = read(fd, head + n, room - 1 - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        n += (size_t)got;
        head[n] = '\0';
        if (strstr(head, "\r\n\r\n"))
            break;
    }
    head[n] = '\0';
    return n;
}

static void reply(int fd, const char *status, const char *text)
{
    char page[256];
    int n = snprintf(page, sizeof(page),
                     "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\n"
                     "Connection: close\r\n\r\n%s",
                     status, strlen(text), text);
    ssize_t ignored = write(fd, page, (size_t)n);
    (void)ignored;
}

/* Waits until the browser comes with a token. Browsers ask for other things, too, such as an icon. */
static const char *wait_for_browser(struct arena *a, int listener)
{
    enum { HEAD_MAX = 16384 };
    for (;;) {
        char head[HEAD_MAX];
        cleanup_close int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && errno != EINTR)
            return NULL;
        if (fd < 0)
            continue;
        struct timeval patience = {.tv_sec = 10};
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        read_head(fd, head, sizeof(head));
        const char *token = strncmp(head, "GET ", 4) == 0 ? token_in(a, head + 4, strcspn(head + 4, " \r\n")) : NULL;
        reply(fd, token ? "200 OK" : "404 Not Found", token ? "You can close this window now." : "There is no token.");
        if (token)
            return token;
    }
}

int cmd_auth_login(struct cli *cli, const struct args_auth_login *args, struct error *err)
{
    cleanup_json struct json_object *info = NULL;
    struct json_object *all, *provider = NULL;
    if (args->device && (args->provider || args->headless))
        return error_set(err, ERR_USAGE,
                         "--device is not used together with --provider or --headless: whoever confirms "
                         "the code logs in there in whatever way");
    if (args->device)
        return login_on_another_device(cli, err);
    if (fetch_providers(cli, &info, &all, err) < 0)
        return -1;
    if (!all) {
        fputs("No SSO providers found.\n", cli->out);
        return 0;
    }
    if (choose_provider(cli, all, args->provider, &provider, err) < 0)
        return -1;
    const char *url = arena_printf(&cli->arena, "%s?relayState=cli", text_of(provider, "sso_url"));
    cleanup_close int listener = args->headless ? -1 : listen_for_browser();
    if (listener >= 0 && open_browser(url)) {
        fprintf(cli->out,
                "Your browser should open and prompt you to sign on; if it did not, please visit %s\n"
                "Killing this process before signing on will cancel authentication.\n",
                url);
        fflush(cli->out);
        const char *token = wait_for_browser(&cli->arena, listener);
        return token ? login_with_token(cli, token, err) : error_errno(err, "waiting for the browser");
    }
    if (!args->headless)
        fputs("Failed to open Web Browser. Falling back to --headless CLI mode.\n", cli->out);
    return ask_for_url(cli, url, err);
}
