/* The server of a shell task: what is written for it, who gets in, and what a session finds. The tests of sessions run
 * the machine's own sshd and ssh. */
#include "cmocka_setup.h"

#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/task/shell_server.h"
#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"

static const char *const nothing[] = {"/nowhere/sshd", NULL};
static const struct shell_server_places no_places = {.sshd = nothing};

/* A task's directory, and a server that runs in it. */
struct fixture {
    struct arena arena;
    char root[64];
    struct account account;
    struct taskdir dir;
    int port;
    pid_t server;
};

static const char *in_root(struct fixture *f, const char *name)
{
    return arena_printf(&f->arena, "%s/%s", f->root, name);
}

/* Runs a command of the shell; returns its exit status and what it prints. */
static int run(struct fixture *f, const char *command, const char **ret)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    char piece[4096];
    FILE *p = popen(command, "r");
    assert_non_null(p);
    for (size_t n; (n = fread(piece, 1, sizeof(piece), p)) > 0;)
        strbuf_add(&text, piece, n);
    *ret = arena_strdup(&f->arena, strbuf_str(&text));
    int status = pclose(p);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void make_key(struct fixture *f, const char *name)
{
    const char *ignored;
    assert_int_equal(run(f, arena_printf(&f->arena, "ssh-keygen -q -t ed25519 -N '' -f %s", in_root(f, name)),
                         &ignored),
                     0);
}

static void put_text(struct fixture *f, const char *name, const char *text)
{
    cleanup_error struct error err = ERROR_INIT;
    if (taskdir_put_path(&f->dir, arena_printf(&f->arena, "%s/%s", f->dir.run, name), text, strlen(text), 0600, &err) <
        0)
        fail_msg("%s", error_msg(&err));
}

static int set_up(void **state)
{
    static struct fixture f;
    const struct passwd *me = getpwuid(geteuid());
    cleanup_error struct error err = ERROR_INIT;
    memset(&f, 0, sizeof(f));
    snprintf(f.root, sizeof(f.root), "/tmp/shell-server-XXXXXX");
    if (!me || !mkdtemp(f.root))
        return -1;
    f.account = (struct account){
        .uid = geteuid(), .gid = getegid(), .name = me->pw_name, .home = me->pw_dir, .shell = me->pw_shell};
    taskdir_init(&f.dir, f.root, "c1", &f.arena);
    f.dir.owner = &f.account;
    *state = &f;
    return taskdir_make(&f.dir, /* trial= */ false, &err);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    if (f->server > 0) {
        kill(f->server, SIGTERM);
        waitpid(f->server, NULL, 0);
    }
    tree_remove(f->root, NULL);
    arena_release(&f->arena);
    return 0;
}

/* ---- what is written --------------------------------------------------------------------------------------------- */

static void test_shell_server__without_sshd_the_task_is_refused_with_the_packages_name(void **state)
{
    struct fixture *f = *state;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(shell_server_prepare(&f->dir, &no_places, true, &f->arena, &err), -1);
    assert_int_equal(err.kind, ERR_INVALID); /* which the agent reports as REFUSED */
    assert_string_equal(
        error_msg(&err),
        "this machine has no sshd, which a shell needs: let an admin install OpenSSH's server on the agent's "
        "machine (in Debian the package openssh-server)");
    assert_int_not_equal(access(arena_printf(&f->arena, "%s/shell-entrypoint.sh", f->dir.run), F_OK), 0);
}

static void test_shell_server__an_account_without_login_shell_needs_a_passwd_of_its_own(void **state)
{
    static const char *const here[] = {"/bin/sh", NULL};
    static const struct shell_server_places places = {.sshd = here};
    struct fixture *f = *state;
    struct account service = {
        .uid = 990, .gid = 991, .name = "determined", .home = "/var/lib/determined", .shell = "/usr/sbin/nologin"};
    cleanup_error struct error err = ERROR_INIT;
    f->dir.owner = &service;
    assert_int_equal(shell_server_prepare(&f->dir, &places, /* views= */ false, &f->arena, &err), -1);
    assert_int_equal(err.kind, ERR_INVALID);
    assert_string_equal(
        error_msg(&err),
        "the account determined, as which this task runs, has the login shell /usr/sbin/nologin on this "
        "machine, with which sshd opens no session; let an admin give the account a shell (chsh), or set "
        "mount_namespaces on the agent");
    static const char line[] = "determined:x:990:991::/var/lib/determined:/bin/sh\n";
    const char *passwd = shell_server_passwd(&service, &f->arena);
    assert_true(strncmp(passwd, line, strlen(line)) == 0);
    assert_non_null(strstr(passwd, "\nroot:")); /* behind it are the machine's own accounts */
    service.home = "";                          /* the machine does not know the account */
    service.shell = "/bin/sh";
    assert_true(strncmp(shell_server_passwd(&service, &f->arena), "determined:x:990:991::/:/bin/sh\n", 32) == 0);
    service.passwd = "made";
    assert_string_equal(shell_server_passwd(&service, &f->arena), "made");
    service = (struct account){.name = "ada", .home = "/home/ada", .shell = "/bin/sh"};
    assert_null(shell_server_passwd(&service, &f->arena));
}

static void test_shell_server__without_root_the_group_of_terminals_is_the_accounts_own(void **state)
{
    struct fixture *f = *state;
    const struct account own = {.name = "ada", .uid = 4242, .gid = 4243}, given = {.change = true, .gid = 4243};
    const char *group = shell_server_group(&own, &f->arena), *tty = strstr(group, "\ntty:");
    assert_string_equal(tty, "\ntty:x:4243:\n"); /* the last line, and the only one of this name */
    assert_true(strncmp(group, "root:", 5) == 0);
    assert_null(shell_server_group(&given, &f->arena));
}

/* ---- sessions ---------------------------------------------------------------------------------------------------- */

static int free_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    close(fd);
    return ntohs(a.sin_port);
}

/* Waits for the line by which the master knows that a shell is ready. */
static void wait_for_server(int fd)
{
    cleanup_strbuf struct strbuf said = STRBUF_INIT;
    char piece[512];
    for (ssize_t n; !strstr(strbuf_str(&said), "Server listening on 127.0.0.1 port ");) {
        if ((n = read(fd, piece, sizeof(piece))) <= 0)
            fail_msg("sshd did not start: %s", strbuf_str(&said));
        strbuf_add(&said, piece, (size_t)n);
    }
}

/* Starts the server as the agent does, with the environment of a task, and with one key that may log in. */
static void start_server(struct fixture *f)
{
    cleanup_error struct error err = ERROR_INIT;
    cleanup_strbuf struct strbuf key = STRBUF_INIT;
    make_key(f, "key");
    assert_int_equal(file_read(in_root(f, "key.pub"), 4096, &key, NULL), 0);
    put_text(f, "ssh/authorized_keys", key.s);
    if (shell_server_prepare(&f->dir, &shell_server_places, true, &f->arena, &err) < 0)
        fail_msg("%s", error_msg(&err));
    f->port = free_port();
    char *env[] = {(char *)arena_printf(&f->arena, "DET_RUN_DIR=%s", f->dir.run),
                   (char *)arena_printf(&f->arena, "DET_WORKDIR=%s/workdir", f->dir.run),
                   (char *)arena_printf(&f->arena, "HOME=%s/workdir", f->dir.run),
                   (char *)arena_printf(&f->arena, "DET_SHELL_PORT=%d", f->port),
                   (char *)arena_printf(&f->arena, "PATH=%s/pythonuserbase/bin:/usr/local/bin:/usr/bin:/bin",
                                        f->dir.run),
                   "DET_MASTER=http://127.0.0.1:8080",
                   "DET_SESSION_TOKEN=v2.public.secret",
                   "LANG=C",
                   "HARD=it's \"quoted\" $HOME `id`\nand has two lines",
                   NULL};
    int said[2];
    assert_int_equal(pipe(said), 0);
    f->server = fork();
    if (f->server == 0) {
        dup2(said[1], 2);
        close(said[0]);
        execle("/bin/sh", "sh", arena_printf(&f->arena, "%s/shell-entrypoint.sh", f->dir.run), NULL, env);
        _exit(127);
    }
    close(said[1]);
    wait_for_server(said[0]);
    /* the other end stays open, as long as the server writes to it */
}

/* The beginning of a command line of ssh with this key. */
static const char *ssh_line(struct fixture *f, const char *program, const char *key)
{
    return arena_printf(
        &f->arena,
        "%s -F /dev/null -q -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
        "-o IdentitiesOnly=yes -o IdentityAgent=none -i %s",
        program, in_root(f, key));
}

static void expect_session(struct fixture *f, const char *options, const char *command, const char *expected)
{
    const char *said;
    const char *line = arena_printf(&f->arena, "%s %s -p %d %s@127.0.0.1 %s </dev/null", ssh_line(f, "ssh", "key"),
                                    options, f->port, f->account.name, command);
    assert_int_equal(run(f, line, &said), 0);
    assert_string_equal(said, expected);
}

static bool can_run_server(void)
{
    return access("/usr/sbin/sshd", X_OK) == 0 && access("/usr/bin/ssh", X_OK) == 0;
}

static void test_shell_server__a_session_has_the_tasks_environment_and_directory(void **state)
{
    struct fixture *f = *state;
    if (!can_run_server())
        skip();
    start_server(f);
    expect_session(f, "", "'echo $DET_MASTER; echo $DET_SESSION_TOKEN; pwd; echo $PATH'",
                   arena_printf(&f->arena,
                                "http://127.0.0.1:8080\nv2.public.secret\n%s/workdir\n"
                                "%s/pythonuserbase/bin:/usr/local/bin:/usr/bin:/bin\n",
                                f->dir.run, f->dir.run));
    expect_session(f, "", "'printf %s \"$HARD\"'", "it's \"quoted\" $HOME `id`\nand has two lines");
    expect_session(f, "-o SetEnv=LANG=C.UTF-8", "'echo $LANG'", "C.UTF-8\n"); /* the client's own word counts */
    expect_session(f, "", "'echo $LANG'", "C\n");
    expect_session(f, "", "'umask'", arena_printf(&f->arena, "%04o\n", (unsigned)umask(umask(022))));
    expect_session(f, "", "'exit 0'", "");
    const char *ignored;
    assert_int_equal(run(f,
                         arena_printf(&f->arena, "%s -p %d %s@127.0.0.1 'exit 7'", ssh_line(f, "ssh", "key"), f->port,
                                      f->account.name),
                         &ignored),
                     7);
}

/* bash reads it whenever sshd seems to have started it: for session.sh, where it must not, and for the session, where
 * it must. A bash that does not read it reads what BASH_ENV names. */
static void test_shell_server__a_session_reads_bashrc_once(void **state)
{
    struct fixture *f = *state;
    cleanup_strbuf struct strbuf order = STRBUF_INIT;
    if (!can_run_server() || strcmp(f->account.shell, "/bin/bash") != 0)
        skip();
    start_server(f);
    const char *order_file = arena_printf(&f->arena, "%s/workdir/order", f->dir.run);
    put_text(f, "workdir/env", arena_printf(&f->arena, "echo env >>%s\n", order_file));
    put_text(f, "workdir/.bashrc",
             arena_printf(&f->arena, "echo bashrc >>%s\nof_bashrc() { echo defined; }\n", order_file));
    expect_session(f, arena_printf(&f->arena, "-o SetEnv=BASH_ENV=%s/workdir/env", f->dir.run), "of_bashrc",
                   "defined\n");
    assert_int_equal(file_read(order_file, 100, &order, NULL), 0);
    assert_string_equal(order.s, "env\nbashrc\n");
}

static void test_shell_server__an_interactive_session_is_a_shell_with_the_tasks_path(void **state)
{
    struct fixture *f = *state;
    const char *said;
    if (!can_run_server())
        skip();
    start_server(f);
    const char *line = arena_printf(&f->arena,
                                    "echo 'echo \"is:$DET_MASTER:${PATH%%%%:*}\"; exit' | %s -tt -p %d %s@127.0.0.1",
                                    ssh_line(f, "ssh", "key"), f->port, f->account.name);
    assert_int_equal(run(f, line, &said), 0);
    assert_non_null(
        strstr(said, arena_printf(&f->arena, "is:http://127.0.0.1:8080:%s/pythonuserbase/bin", f->dir.run)));
}

static void test_shell_server__scp_copies_both_ways(void **state)
{
    struct fixture *f = *state;
    const char *ignored;
    cleanup_strbuf struct strbuf back = STRBUF_INIT, there = STRBUF_INIT;
    if (!can_run_server() || access("/usr/bin/scp", X_OK) != 0)
        skip();
    start_server(f);
    put_text(f, "workdir/sent", "some bytes\n");
    const char *scp = ssh_line(f, "scp", "key"), *host = arena_printf(&f->arena, "%s@127.0.0.1", f->account.name);
    assert_int_equal(run(f,
                         arena_printf(&f->arena, "%s -P %d %s:sent %s && %s -O -P %d %s %s:returned", scp, f->port,
                                      host, in_root(f, "copy"), scp, f->port, in_root(f, "copy"), host),
                         &ignored),
                     0);
    assert_int_equal(file_read(in_root(f, "copy"), 100, &back, NULL), 0);
    assert_string_equal(back.s, "some bytes\n");
    assert_int_equal(file_read(arena_printf(&f->arena, "%s/workdir/returned", f->dir.run), 100, &there, NULL), 0);
    assert_string_equal(there.s, "some bytes\n");
}

static void test_shell_server__no_other_key_gets_in(void **state)
{
    struct fixture *f = *state;
    const char *said;
    if (!can_run_server())
        skip();
    start_server(f);
    make_key(f, "other");
    const char *line = arena_printf(&f->arena, "%s -p %d %s@127.0.0.1 echo in 2>&1", ssh_line(f, "ssh", "other"),
                                    f->port, f->account.name);
    assert_int_equal(run(f, line, &said), 255);
    assert_null(strstr(said, "in\n"));
    /* nor does a key that lies where another server would look for it, or the server's own */
    line = arena_printf(&f->arena, "cp %s/ssh/host_key %s && %s -p %d %s@127.0.0.1 echo in 2>&1", f->dir.run,
                        in_root(f, "stolen"), ssh_line(f, "ssh", "stolen"), f->port, f->account.name);
    assert_int_equal(run(f, line, &said), 255);
    line = arena_printf(&f->arena,
                        "%s -o PreferredAuthentications=password,keyboard-interactive,hostbased,gssapi-with-mic -p %d "
                        "%s@127.0.0.1 echo in 2>&1",
                        ssh_line(f, "ssh", "key"), f->port, f->account.name);
    assert_int_equal(run(f, line, &said), 255);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_shell_server__without_sshd_the_task_is_refused_with_the_packages_name),
        TEST(test_shell_server__an_account_without_login_shell_needs_a_passwd_of_its_own),
        TEST(test_shell_server__without_root_the_group_of_terminals_is_the_accounts_own),
        TEST(test_shell_server__a_session_has_the_tasks_environment_and_directory),
        TEST(test_shell_server__a_session_reads_bashrc_once),
        TEST(test_shell_server__an_interactive_session_is_a_shell_with_the_tasks_path),
        TEST(test_shell_server__scp_copies_both_ways),
        TEST(test_shell_server__no_other_key_gets_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
