#include "agent/task/shell_server.h"

#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"

enum { PASSWD_MAX = 1024 * 1024 };

static const char *const sshd_places[] = {"/usr/sbin/sshd", "/usr/local/sbin/sshd", "/sbin/sshd", "/usr/bin/sshd",
                                          NULL};
const struct shell_server_places shell_server_places = {.sshd = sshd_places},
                                 shell_server_places_in_image = {.sshd = sshd_places, .in_image = true};

/* ---- the files --------------------------------------------------------------------------------------------------- */

/* Paths, the port and what depends on the task's view are options of the command line: shell-entrypoint.sh. */
static const char sshd_config[] =
    "# The server of one shell task. It reads nothing else: neither /etc/ssh/sshd_config nor keys in home directories.\n"
    "AuthenticationMethods publickey\n"
    "PubkeyAuthentication yes\n"
    "PasswordAuthentication no\n"
    "KbdInteractiveAuthentication no\n"
    "HostbasedAuthentication no\n"
    "PermitEmptyPasswords no\n"
    "PermitRootLogin prohibit-password\n"
    "UsePAM no\n"
    "PidFile none\n"
    "UseDNS no\n"
    "LoginGraceTime 60\n"
    "MaxStartups 100\n"
    "MaxSessions 100\n"
    "AcceptEnv *\n"
    "AllowTcpForwarding yes\n"
    "AllowAgentForwarding yes\n"
    "X11Forwarding yes\n"
    "PrintMotd no\n"
    "PrintLastLog no\n"
    "Subsystem sftp internal-sftp\n";

/* `%s` is sshd, both times; it has to be started by its absolute path. */
static const char entrypoint[] =
    "#!/bin/sh\n"
    "# What a shell task runs: OpenSSH's server. ssh/session.sh gives its sessions the environment that is written here.\n"
    "set -eu\n"
    "ssh=$DET_RUN_DIR/ssh\n"
    "mask=$(umask)\n"
    "umask 077\n"
    "# A session has its own values of these variables.\n"
    "(unset _ PWD OLDPWD SHLVL TERM; export -p) >\"$ssh/environment\"\n"
    "[ -f \"$ssh/host_key\" ] || ssh-keygen -q -t ed25519 -N '' -C '' -f \"$ssh/host_key\"\n"
    "umask \"$mask\"\n"
    "# sshd checks who may write to the directories above authorized_keys. Where the task does not see its directory at\n"
    "# /run/determined, these are the agent's, which may lie in /tmp; and in a user namespace root's belong to nobody. Only\n"
    "# the task can enter the last of them in any case.\n"
    "strict=no\n"
    "if [ /run/determined/ssh -ef \"$ssh\" ]; then\n"
    "    ssh=/run/determined/ssh\n"
    "    if [ \"$(stat -c %%u /)\" = 0 ]; then\n"
    "        strict=yes\n"
    "    fi\n"
    "fi\n"
    "# A server that runs as root changes to this directory for what comes before a login.\n"
    "if [ \"$(id -u)\" = 0 ]; then\n"
    "    mkdir -p -m 755 /run/sshd\n"
    "fi\n"
    "# bash reads ~/.bashrc when sshd starts it with session.sh, and again when session.sh starts it. Such a file can take a\n"
    "# tenth of a second. With this level the first bash does not read it. A server before OpenSSH 7.8 cannot set it.\n"
    "level=SetEnv=SHLVL=1\n"
    "if ! %s -t -f \"$ssh/sshd_config\" -o \"HostKey=\\\"$ssh/host_key\\\"\" -o \"$level\" 2>/dev/null; then\n"
    "    level=PrintMotd=no\n"
    "fi\n"
    "exec %s -D -e -f \"$ssh/sshd_config\" -p \"$DET_SHELL_PORT\" \\\n"
    "    -o \"ListenAddress=${DET_LISTEN_ADDRESS:-127.0.0.1}\" -o \"HostKey=\\\"$ssh/host_key\\\"\" \\\n"
    "    -o \"AuthorizedKeysFile=\\\"$ssh/authorized_keys\\\"\" -o \"StrictModes=$strict\" -o \"$level\" \\\n"
    "    -o \"ForceCommand=/bin/sh '$ssh/session.sh'\"\n";

static const char session[] =
    "#!/bin/sh\n"
    "# sshd runs this for each session of a shell task. What the client asked for is in SSH_ORIGINAL_COMMAND; without it, the\n"
    "# client wants a shell. Both begin in the task's working directory, with the task's environment.\n"
    "ssh=${0%/*}\n"
    "command=${SSH_ORIGINAL_COMMAND-}\n"
    "unset SHLVL # what follows is the first shell of the session\n"
    "client=$(export -p | grep -E '^export (LANG|LC_[A-Z_]+)=')\n"
    ". \"$ssh/environment\"\n"
    "eval \"$client\"\n"
    "# Where the task sees its directory at /run/determined, this is the name that people know.\n"
    "place=$DET_WORKDIR\n"
    "if [ /run/determined/workdir -ef \"$place\" ]; then\n"
    "    place=/run/determined/workdir\n"
    "fi\n"
    "cd \"$place\" || exit 1\n"
    "case $command in\n"
    "internal-sftp*)\n"
    "    # The server would serve it by itself if there were no session.sh.\n"
    "    for place in /usr/lib/openssh/sftp-server /usr/libexec/openssh/sftp-server /usr/libexec/sftp-server \\\n"
    "        /usr/lib/ssh/sftp-server; do\n"
    "        if [ -x \"$place\" ]; then\n"
    "            exec \"$place\"\n"
    "        fi\n"
    "    done\n"
    "    echo \"ERROR: this machine has no sftp-server, which is a part of OpenSSH's server; scp -O works without it\" >&2\n"
    "    exit 1\n"
    "    ;;\n"
    "esac\n"
    "# Accounts that exist only on the platform have /bin/sh, which is no pleasure to type into.\n"
    "if [ \"${SHELL:-/bin/sh}\" = /bin/sh ] && [ -x /bin/bash ]; then\n"
    "    SHELL=/bin/bash\n"
    "fi\n"
    "export SHELL\n"
    "if [ -n \"$command\" ]; then\n"
    "    exec \"$SHELL\" -c \"$command\"\n"
    "fi\n"
    "case $SHELL in\n"
    "*/bash) exec \"$SHELL\" --rcfile \"$ssh/bashrc\" -i ;;\n"
    "*/zsh | */fish | */ksh) exec \"$SHELL\" -l ;;\n"
    "*) exec \"$SHELL\" -i ;;\n"
    "esac\n";

static const char bashrc[] =
    "# Read by bash in a session of a shell task: what a login shell reads, and then the task's environment once more,\n"
    "# because files such as Debian's /etc/profile set PATH anew.\n"
    "det_place=$PWD\n"
    "if [ -r /etc/profile ]; then\n"
    "    . /etc/profile\n"
    "fi\n"
    "det_profile=$HOME/.bashrc\n"
    "for det_file in \"$HOME/.bash_profile\" \"$HOME/.bash_login\" \"$HOME/.profile\"; do\n"
    "    if [ -r \"$det_file\" ]; then\n"
    "        det_profile=$det_file\n"
    "        break\n"
    "    fi\n"
    "done\n"
    "if [ -r \"$det_profile\" ]; then\n"
    "    . \"$det_profile\"\n"
    "fi\n"
    "det_path=$PATH\n"
    ". \"$DET_RUN_DIR/ssh/environment\"\n"
    "export PATH=\"$PATH:$det_path\"\n"
    "cd \"$det_place\"\n"
    "unset det_place det_profile det_file det_path\n";

static int put(const struct taskdir *d, const char *name, const char *text, mode_t mode, struct arena *a,
               struct error *err)
{
    return taskdir_put_path(d, arena_printf(a, "%s/%s", d->run, name), text, strlen(text), mode, err);
}

/* ---- the account ------------------------------------------------------------------------------------------------- */

/* Whether the machine's own user database has the account, with a shell that works. An account that it does not have
 * has no home directory. */
static bool can_log_in(const struct account *who)
{
    return *who->home && account_shell_works(who->shell);
}

const char *shell_server_passwd(const struct account *who, struct arena *a)
{
    cleanup_strbuf struct strbuf passwd = STRBUF_INIT;
    if (who->passwd || can_log_in(who))
        return who->passwd;
    /* if it cannot be read, the copy holds only the task's name */
    file_read(account_files.passwd, PASSWD_MAX, &passwd, NULL);
    return arena_printf(a, "%s:x:%u:%u::%s:/bin/sh\n%s", who->name, (unsigned)who->uid, (unsigned)who->gid,
                        *who->home ? who->home : "/", strbuf_str(&passwd));
}

/* Under an agent that is not root, a task's user namespace has one group only: that of the account. */
const char *shell_server_group(const struct account *who, struct arena *a)
{
    static const char tty[] = "tty:";
    cleanup_strbuf struct strbuf machine = STRBUF_INIT, group = STRBUF_INIT;
    if (who->change)
        return NULL;
    /* if it cannot be read, the copy holds only the group of terminals */
    file_read(account_files.group, PASSWD_MAX, &machine, NULL);
    for (const char *line = strbuf_str(&machine); *line;) {
        size_t n = strcspn(line, "\n");
        if (strncmp(line, tty, sizeof(tty) - 1) != 0)
            strbuf_addf(&group, "%.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
    /* Last, so that programs which look for the account's group find its own name first. */
    strbuf_addf(&group, "%sx:%u:\n", tty, (unsigned)account_terminal_gid(who));
    return arena_strdup(a, strbuf_str(&group));
}

static int check_account(const struct account *who, bool views, struct error *err)
{
    if (views || can_log_in(who))
        return 0;
    return error_set(err, ERR_INVALID,
                     "the account %s, as which this task runs, has the login shell %s on this machine, with which sshd "
                     "opens no session; let an admin give the account a shell (chsh), or set mount_namespaces on the "
                     "agent",
                     who->name, who->shell);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static const char *find_sshd(const struct shell_server_places *places)
{
    const char *const *place = places->sshd;
    while (!places->in_image && *place && access(*place, X_OK) != 0)
        place++;
    return *place;
}

int shell_server_prepare(const struct taskdir *d, const struct shell_server_places *places, bool views, struct arena *a,
                         struct error *err)
{
    const char *sshd = find_sshd(places);
    if (!sshd)
        return error_set(err, ERR_INVALID,
                         "this machine has no sshd, which a shell needs: let an admin install OpenSSH's server on the "
                         "agent's machine (in Debian the package openssh-server)");
    if (!places->in_image && check_account(d->owner, views, err) < 0)
        return -1;
    return put(d, "shell-entrypoint.sh", arena_printf(a, entrypoint, sshd, sshd), 0700, a, err) < 0 ||
                   put(d, "ssh/sshd_config", sshd_config, 0600, a, err) < 0 ||
                   put(d, "ssh/session.sh", session, 0700, a, err) < 0 || put(d, "ssh/bashrc", bashrc, 0600, a, err) < 0
               ? -1
               : 0;
}
