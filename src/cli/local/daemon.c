#include "cli/local/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/system/files.h"
#include "common/system/process.h"

bool daemon_find(const char *pid_file, pid_t *ret)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    unsigned long long want;
    struct process p;
    int pid;
    if (file_read(pid_file, 256, &text, NULL) < 0 || sscanf(strbuf_str(&text), "%d %llu", &pid, &want) != 2 || pid < 2)
        return false;
    if (!process_find(pid, &p) || p.start != want)
        return false;
    *ret = pid;
    return true;
}

static int write_pid_file(const char *path, pid_t pid, struct error *err)
{
    char text[64];
    struct process p = {0};
    process_find(pid, &p);
    int n = snprintf(text, sizeof(text), "%d %llu\n", (int)pid, p.start);
    return file_write(path, text, (size_t)n, 0644, err);
}

/* In the child: a session of its own, nothing of ours but the log. Reports errno through the pipe when exec fails. */
static void become(const struct daemon_start *d, int log_fd, int report_fd)
{
    int null_fd = open("/dev/null", O_RDONLY);
    setsid();
    signal(SIGINT, SIG_DFL);
    dup2(null_fd, STDIN_FILENO);
    dup2(log_fd, STDOUT_FILENO);
    dup2(log_fd, STDERR_FILENO);
    for (const char *const *e = d->env; e && *e; e++)
        putenv((char *)*e);
    execv(d->argv[0], (char *const *)d->argv);
    int why = errno;
    ssize_t ignored = write(report_fd, &why, sizeof(why));
    (void)ignored;
    _exit(127);
}

int daemon_start(const struct daemon_start *d, pid_t *ret, struct error *err)
{
    int report[2], why;
    cleanup_close int log_fd = open(d->log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log_fd < 0)
        return error_errno(err, "%s", d->log_file);
    if (pipe2(report, O_CLOEXEC) < 0)
        return error_errno(err, "starting %s", d->argv[0]);
    pid_t pid = fork();
    if (pid == 0)
        become(d, log_fd, report[1]);
    close(report[1]);
    ssize_t n = pid < 0 ? 0 : read(report[0], &why, sizeof(why));
    close(report[0]);
    if (pid < 0)
        return error_errno(err, "starting %s", d->argv[0]);
    if (n == sizeof(why)) {
        waitpid(pid, NULL, 0);
        errno = why;
        return error_errno(err, "starting %s", d->argv[0]);
    }
    *ret = pid;
    return write_pid_file(d->pid_file, pid, err);
}

static bool wait_gone(pid_t pid, int ms)
{
    for (int waited = 0; process_alive(pid); waited += 5) {
        if (waited >= ms)
            return false;
        sleep_ms(5);
    }
    return true;
}

int daemon_stop(const char *pid_file, int patience_ms, struct error *err)
{
    pid_t pid;
    if (daemon_find(pid_file, &pid)) {
        if (kill(pid, SIGTERM) < 0 && errno != ESRCH)
            return error_errno(err, "stopping process %d", (int)pid);
        if (!wait_gone(pid, patience_ms)) {
            kill(pid, SIGKILL);
            wait_gone(pid, 5000);
        }
    }
    unlink(pid_file);
    return 0;
}
