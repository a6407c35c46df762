#include "cli/cmd/task/ssh.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "cli/cmd/task/launched.h"
#include "cli/terminal/terminal.h"
#include "common/base/cleanup.h"
#include "common/system/files.h"

/* ---- files ------------------------------------------------------------------------------------------------------- */

static const char *cache_directory(struct arena *a)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const struct passwd *pw = home && *home ? NULL : getpwuid(getuid());
    if (cache && *cache)
        return arena_printf(a, "%s/determined/shell", cache);
    return arena_printf(a, "%s/.cache/determined/shell", pw ? pw->pw_dir : home);
}

/* An id comes from the master, and becomes the name of a directory. */
static bool is_plain_id(const char *id)
{
    return *id && strspn(id, "0123456789abcdefABCDEFghijklmnopqrstuvwxyz-") == strlen(id) && *id != '-';
}

static int make_directory(struct cli *cli, const char *id, const char **ret, struct error *err)
{
    const char *all = cache_directory(&cli->arena);
    if (!is_plain_id(id))
        return error_set(err, ERR_INTERNAL, "the master names a shell '%s', which is no id", id);
    *ret = arena_printf(&cli->arena, "%s/%s", all, id);
    /* the directory of all shells may have been made by another program, for everybody to read */
    if (dir_make(all, 0700, err) < 0 || dir_make(*ret, 0700, err) < 0)
        return error_wrap(err, "the directory for the shell's key");
    return chmod(*ret, 0700) < 0 ? error_errno(err, "%s", *ret) : 0;
}

/* A file of its own for one use of ssh: another one may be under way, and end first. */
static int write_own_key(struct cli *cli, const char *directory, const char *key, const char **ret, struct error *err)
{
    char *path = arena_printf(&cli->arena, "%s/key.XXXXXX", directory);
    cleanup_close int fd = mkstemp(path); /* 0600 */
    if (fd < 0 || fd_write_all(fd, key, strlen(key)) < 0)
        return error_errno(err, "writing the shell's key to %s", path);
    *ret = path;
    return 0;
}

static int write_key(struct cli *cli, const char *directory, const char *key, bool keep, const char **ret,
                     struct error *err)
{
    if (!keep)
        return write_own_key(cli, directory, key, ret, err);
    *ret = arena_printf(&cli->arena, "%s/key", directory);
    return file_write(*ret, key, strlen(key), 0600, err);
}

void ssh_target_release(const struct ssh_target *t)
{
    if (t->key_file && !t->keep_key)
        unlink(t->key_file);
}

void ssh_forget(struct cli *cli, const char *id)
{
    cleanup_error struct error none = ERROR_INIT;
    if (is_plain_id(id))
        tree_remove(arena_printf(&cli->arena, "%s/%s", cache_directory(&cli->arena), id), &none);
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* Quotes a word for a POSIX shell. Double quotes are used where that is enough: editors to which the line is pasted
 * know these. */
static void add_quoted(struct strbuf *to, const char *word)
{
    size_t n = 0;
    while (word[n] && (isalnum((unsigned char)word[n]) || strchr("@%+=:,./-_", word[n])))
        n++;
    if (n > 0 && !word[n]) {
        strbuf_adds(to, word);
    } else if (!strpbrk(word, "\"$`\\!")) {
        strbuf_addf(to, "\"%s\"", word);
    } else {
        strbuf_addc(to, '\'');
        for (; *word; word++)
            strbuf_adds(to, *word == '\'' ? "'\\''" : (const char[]){*word, '\0'});
        strbuf_addc(to, '\'');
    }
}

/* ssh replaces %h and the like in file names and in the ProxyCommand. */
static const char *double_percents(struct arena *a, const char *text)
{
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    for (; *text; text++)
        strbuf_adds(&out, *text == '%' ? "%%" : (const char[]){*text, '\0'});
    return arena_strdup(a, strbuf_str(&out));
}

static const char *path_of_program(struct cli *cli)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    return n > 0 ? arena_strndup(&cli->arena, path, (size_t)n) : cli->program;
}

/* What this det knows from its environment, the det that ssh starts has to know, too: an editor starts it without these
 * variables. */
static void add_environment(struct cli *cli, struct strbuf *to)
{
    static const char *const name[] = {"DET_MASTER_CERT_FILE", "DET_MASTER_CERT_NAME", "DET_DEBUG_CONFIG_PATH",
                                       "XDG_CONFIG_HOME"};
    bool any = false;
    for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
        const char *value = getenv(name[i]);
        if (!value || !*value)
            continue;
        cleanup_free char *whole = i == 1 || *value != '.' ? NULL : realpath(value, NULL);
        strbuf_adds(to, any ? "" : "env ");
        any = true;
        add_quoted(to, arena_printf(&cli->arena, "%s=%s", name[i], whole ? whole : value));
        strbuf_addc(to, ' ');
    }
}

static int make_proxy_command(struct cli *cli, const char *id, const char **ret, struct error *err)
{
    cleanup_strbuf struct strbuf line = STRBUF_INIT;
    const char *user;
    if (api_username(cli, &user, err) < 0)
        return -1;
    add_environment(cli, &line);
    const char *const word[] = {path_of_program(cli), "-m", cli->master, "-u", user, "shell", "tunnel", id};
    for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++) {
        strbuf_adds(&line, i ? " " : "");
        add_quoted(&line, word[i]);
    }
    *ret = double_percents(&cli->arena, strbuf_str(&line));
    return 0;
}

/* The account in which the shell runs. */
static const char *account_of(struct json_object *shell)
{
    struct json_object *group;
    const char *user = json_object_object_get_ex(shell, "agentUserGroup", &group) && group
                           ? launched_text(group, "user")
                           : "";
    return *user ? user : "root";
}

int ssh_target_init(struct cli *cli, struct json_object *shell, bool keep_key, struct ssh_target *ret,
                    struct error *err)
{
    const char *directory = NULL, *key = launched_text(shell, "privateKey");
    size_t key_n = strlen(key);
    struct ssh_target t = {.id = arena_strdup(&cli->arena, launched_text(shell, "id")),
                           .user = arena_strdup(&cli->arena, account_of(shell)),
                           .keep_key = keep_key};
    if (!*key)
        return error_set(err, ERR_FORBIDDEN, "the master does not give the key of shell %s: it is another user's",
                         t.id);
    if (key[key_n - 1] != '\n') /* ssh does not read a key without it */
        key = arena_printf(&cli->arena, "%s\n", key);
    if (make_directory(cli, t.id, &directory, err) < 0 || make_proxy_command(cli, t.id, &t.proxy_command, err) < 0 ||
        write_key(cli, directory, key, keep_key, &t.key_file, err) < 0)
        return -1;
    t.known_hosts_file = arena_printf(&cli->arena, "%s/known_hosts", directory);
    *ret = t;
    return 0;
}

char **ssh_words(struct cli *cli, const struct ssh_target *t, const char *const *more, size_t more_n)
{
    struct arena *a = &cli->arena;
    const char *known = double_percents(a, t->known_hosts_file);
    const char *const word[] = {"ssh",
                                "-o",
                                arena_printf(a, "ProxyCommand=%s", t->proxy_command),
                                "-o",
                                "StrictHostKeyChecking=accept-new",
                                "-o",
                                arena_printf(a,
                                             strchr(known, ' ') ? "UserKnownHostsFile=\"%s\"" : "UserKnownHostsFile=%s",
                                             known),
                                "-o",
                                "LogLevel=ERROR",
                                "-tt",
                                "-o",
                                "IdentitiesOnly=yes",
                                "-i",
                                double_percents(a, t->key_file),
                                arena_printf(a, "%s@%s", t->user, t->id)};
    enum { WORDS = sizeof(word) / sizeof(word[0]) };
    char **argv = arena_array(a, char *, WORDS + more_n + 1);
    for (size_t i = 0; i < WORDS + more_n; i++)
        argv[i] = arena_strdup(a, i < WORDS ? word[i] : more[i - WORDS]);
    return argv;
}

const char *ssh_line(struct cli *cli, char *const *word)
{
    cleanup_strbuf struct strbuf line = STRBUF_INIT;
    for (; *word; word++) {
        strbuf_adds(&line, line.n ? " " : "");
        add_quoted(&line, *word);
    }
    return arena_strdup(&cli->arena, strbuf_str(&line));
}

/* ---- running ssh ------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t ssh_pid; /* 0: ssh does not run */

static void ignore_signal(int signo)
{
    (void)signo;
}

/* A terminal that is closed tells the session's first process alone, which is det where a terminal emulator or tmux
 * runs it; and whoever ends det means ssh as well. */
static void pass_to_ssh(int signo)
{
    if (ssh_pid > 0)
        kill((pid_t)ssh_pid, signo);
}

/* While ssh runs, Ctrl-C and the like are for ssh: it may be asking, or the session's program gets them. A handler in
 * place of SIG_IGN, because a new program would inherit that. */
static void leave_signals_to_ssh(void)
{
    signal(SIGINT, ignore_signal);
    signal(SIGQUIT, ignore_signal);
    signal(SIGTERM, pass_to_ssh);
    signal(SIGHUP, pass_to_ssh);
}

static void take_signals_back(void)
{
    static const int signo[] = {SIGQUIT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof(signo) / sizeof(signo[0]); i++)
        signal(signo[i], SIG_DFL);
    interrupt_install();
}

/* Starts ssh; returns an error number or 0. A signal that comes meanwhile waits until ssh can be told. */
static int start_ssh(char **word)
{
    posix_spawnattr_t attr;
    sigset_t ending, before;
    pid_t child;
    sigemptyset(&ending);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    sigprocmask(SIG_BLOCK, &ending, &before);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &before);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    int failed = posix_spawnp(&child, word[0], NULL, &attr, word, environ);
    posix_spawnattr_destroy(&attr);
    ssh_pid = failed ? 0 : child;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return failed;
}

/* Waits for the end of ssh. Its number is given up only when no signal is passed on any more. */
static int await_ssh(void)
{
    siginfo_t info;
    int status = 0;
    pid_t child = (pid_t)ssh_pid;
    while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
    ssh_pid = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

int ssh_run(struct cli *cli, char **word, struct error *err)
{
    struct termios before;
    bool terminal = tcgetattr(STDIN_FILENO, &before) == 0;
    fflush(cli->out);
    leave_signals_to_ssh();
    int failed = start_ssh(word);
    int status = failed ? 0 : await_ssh();
    take_signals_back();
    if (failed == ENOENT)
        return error_set(err, ERR_NOT_FOUND,
                         "the program ssh is not installed on this machine; install it (Debian: apt install "
                         "openssh-client)");
    errno = failed;
    if (failed)
        return error_errno(err, "starting ssh");
    if (terminal && WIFSIGNALED(status)) /* ssh could not do it itself */
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    cli->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return 0;
}
