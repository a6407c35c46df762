/* det shell ssh-config: Host entries for ssh, so that ssh, scp, rsync, git and editors reach shells by a name.
 *
 * The entries of a master's shells are in a file of their own in det's directory, which is written anew each time.
 * ~/.ssh/config gets one line, which includes these files. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cmd/task/launched.h"
#include "cli/cmd/task/ssh.h"
#include "cli/connection/address.h"
#include "cli/connection/logins.h"
#include "common/base/cleanup.h"
#include "common/system/files.h"

enum { SSH_CONFIG_MAX = 4 << 20, PREFIX_MIN = 8 };

/* ---- which shells ------------------------------------------------------------------------------------------------ */

static bool is_chosen(const char *const *chosen, size_t n, const char *id)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(chosen[i], id) == 0)
            return true;
    return n == 0;
}

/* The number of characters that distinguish the ids of the list. */
static size_t prefix_length(struct json_object *list)
{
    size_t n = PREFIX_MIN, count = json_object_array_length(list);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++) {
            const char *a = launched_text(json_object_array_get_idx(list, i), "id"),
                       *b = launched_text(json_object_array_get_idx(list, k), "id");
            while (strlen(a) > n && strncmp(a, b, n) == 0)
                n++;
        }
    }
    return n;
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

static void add_entry(struct strbuf *to, const struct ssh_target *t, const char *description, size_t prefix_n)
{
    strbuf_addf(to, "\n# %.*s\nHost det-%.*s %s\n", (int)strcspn(description, "\r\n"), description, (int)prefix_n,
                t->id, t->id);
    strbuf_addf(to, "    HostName %s\n    User %s\n    ProxyCommand %s\n", t->id, t->user, t->proxy_command);
    strbuf_addf(to, "    IdentityFile \"%s\"\n    IdentitiesOnly yes\n", t->key_file);
    strbuf_addf(to, "    UserKnownHostsFile \"%s\"\n    StrictHostKeyChecking accept-new\n    LogLevel ERROR\n",
                t->known_hosts_file);
}

struct entries {
    struct strbuf text, names;
    size_t n;
};

/* Lists have no keys, so that each shell is fetched. */
static int add_shell(struct cli *cli, const char *id, size_t prefix_n, struct entries *ret, struct error *err)
{
    const struct launched_kind *k = launched_kind_of(cli);
    cleanup_json struct json_object *answer = NULL;
    struct ssh_target t;
    if (launched_fetch(cli, k, id, &answer, err) < 0)
        return -1;
    struct json_object *shell = json_object_object_get(answer, k->noun);
    if (ssh_target_init(cli, shell, /* keep_key= */ true, &t, err) < 0)
        return -1;
    add_entry(&ret->text, &t, launched_text(shell, "description"), prefix_n);
    strbuf_addf(&ret->names, "%sdet-%.*s", ret->n++ ? ", " : "", (int)prefix_n, id);
    return 0;
}

static int make_entries(struct cli *cli, const char *const *chosen, size_t chosen_n, struct entries *ret,
                        struct error *err)
{
    const struct launched_kind *k = launched_kind_of(cli);
    cleanup_json struct json_object *list = NULL;
    const char *user;
    if (api_username(cli, &user, err) < 0)
        return -1;
    const char *query = chosen_n ? "" : arena_printf(&cli->arena, "?users=%s", address_escape(user, &cli->arena));
    if (launched_fetch_all(cli, k, query, &list, err) < 0)
        return -1;
    size_t prefix_n = prefix_length(list);
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *shell = json_object_array_get_idx(list, i);
        const char *id = launched_text(shell, "id");
        if (launched_has_ended(shell))
            ssh_forget(cli, id);
        else if (is_chosen(chosen, chosen_n, id) && add_shell(cli, id, prefix_n, ret, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* ssh/http___localhost_8080.conf in det's directory. */
static int entries_path(struct cli *cli, const char **ret_directory, const char **ret, struct error *err)
{
    const char *directory;
    if (config_directory(&cli->arena, &directory, err) < 0)
        return -1;
    char *name = arena_strdup(&cli->arena, cli->master);
    for (char *c = name; *c; c++)
        *c = isalnum((unsigned char)*c) || *c == '.' || *c == '-' ? *c : '_';
    *ret_directory = arena_printf(&cli->arena, "%s/ssh", directory);
    *ret = arena_printf(&cli->arena, "%s/%s.conf", *ret_directory, name);
    return dir_make(*ret_directory, 0700, err);
}

static bool has_line(const char *text, const char *line)
{
    size_t n = strlen(line);
    for (; text; text = (text = strchr(text, '\n')) ? text + 1 : NULL)
        if (strncmp(text, line, n) == 0 && (text[n] == '\n' || text[n] == '\r' || !text[n]))
            return true;
    return false;
}

/* Puts the line that includes the entries at the beginning of ~/.ssh/config: behind a Host it would belong to that. */
static int include_entries(struct cli *cli, const char *directory, bool *ret_changed, struct error *err)
{
    const char *home = getenv("HOME");
    cleanup_strbuf struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
    cleanup_error struct error why = ERROR_INIT;
    struct stat st;
    if (!home || !*home)
        return error_set(err, ERR_INVALID, "HOME is not set, so that ~/.ssh/config cannot be found; use --print");
    const char *path = arena_printf(&cli->arena, "%s/.ssh/config", home);
    const char *line = arena_printf(&cli->arena, "Include \"%s/*.conf\"", directory);
    if (dir_make(arena_printf(&cli->arena, "%s/.ssh", home), 0700, err) < 0)
        return -1;
    cleanup_free char *real = realpath(path, NULL); /* a link stays a link */
    if (file_read(path, SSH_CONFIG_MAX, &before, &why) < 0 && error_pass_unless(&why, ERR_NOT_FOUND, err))
        return -1;
    *ret_changed = !has_line(strbuf_str(&before), line);
    if (!*ret_changed)
        return 0;
    strbuf_addf(&after, "# by 'det shell ssh-config'\n%s\n\n%s", line, strbuf_str(&before));
    mode_t mode = real && stat(real, &st) == 0 ? st.st_mode & 0777 : 0600;
    return file_write(real ? real : path, after.s, after.n, mode, err);
}

static int write_entries(struct cli *cli, const struct entries *e, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    const char *directory, *path;
    bool changed = false;
    if (entries_path(cli, &directory, &path, err) < 0)
        return -1;
    strbuf_addf(&text, "# Made by 'det shell ssh-config' for the shells of %s, and made anew by its next call.\n%s",
                cli->master, strbuf_str(&e->text));
    if (file_write(path, text.s, text.n, 0600, err) < 0 || include_entries(cli, directory, &changed, err) < 0)
        return -1;
    if (e->n)
        cli_print(cli, CLI_GREEN, "Set up ssh for %zu shell%s: %s", e->n, e->n == 1 ? "" : "s", strbuf_str(&e->names));
    else
        cli_print(cli, CLI_PLAIN, "No shell of yours is running: there is nothing to set up.");
    cli_say(cli, CLI_PLAIN, "The entries are in %s%s.", path, changed ? ", which ~/.ssh/config now includes" : "");
    return 0;
}

int cmd_shell_ssh_config(struct cli *cli, const struct args_shell_ssh_config *args, struct error *err)
{
    struct entries e = {.text = STRBUF_INIT};
    const char **chosen;
    if (launched_ids(cli, launched_kind_of(cli), args->task_ids, args->task_ids_n, &chosen, err) < 0)
        return -1;
    int rc = make_entries(cli, chosen, args->task_ids_n, &e, err);
    if (rc == 0 && args->print)
        fputs(strbuf_str(&e.text) + (e.n ? 1 : 0), cli->out);
    else if (rc == 0)
        rc = write_entries(cli, &e, err);
    strbuf_release(&e.text);
    strbuf_release(&e.names);
    return rc;
}
