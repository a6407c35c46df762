#include "cmocka_setup.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/system/process.h"

/* A process whose arguments hold a word of its own; `script` is what it does before it waits for ever. It has no
 * children: between fork and exec one would have the same arguments. */
static pid_t start_script(const char *script, const char *word)
{
    int ready[2], never[2];
    char one;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (pipe(never) < 0)
            _exit(127);
        dup2(never[0], 0);
        dup2(ready[1], 1);
        close(ready[0]);
        close(ready[1]);
        execl("/bin/sh", "sh", "-c", script, "sh", word, (char *)NULL);
        _exit(127);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &one, 1), 1);
    close(ready[0]);
    return pid;
}

static bool has_word(const struct process *p, void *ctx)
{
    for (const char *arg = process_next_arg(p, NULL); arg; arg = process_next_arg(p, arg))
        if (strcmp(arg, ctx) == 0)
            return true;
    return false;
}

static char *word_of(const char *name)
{
    static char word[64];
    snprintf(word, sizeof(word), "test_process-%s-%d", name, (int)getpid());
    return word;
}

static void test_process__knows_itself_and_when_it_began(void **state)
{
    struct process p;
    assert_true(process_find(getpid(), &p));
    assert_in_range(clock_now_us() - process_start_us(&p) + 1000000, 0, 600 * 1000000ll);
    assert_true(process_alive(getpid()));
}

static void test_process__a_zombie_has_ended(void **state)
{
    struct process p;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_false(process_find(pid, &p));
    assert_false(process_alive(pid));
    assert_int_equal(waitpid(pid, NULL, WNOHANG), -1); /* the status has been taken by then */
}

/* A process that ends loses its arguments, by which it is found, a moment before it is a zombie. Its parent waits for
 * that, unless looking for it has taken it already. */
static bool has_ended(pid_t pid)
{
    pid_t taken = waitpid(pid, NULL, 0);
    return (taken == pid || (taken < 0 && errno == ECHILD)) && !process_alive(pid);
}

static void test_process__is_found_by_its_arguments_and_ended(void **state)
{
    char *word = word_of("polite");
    pid_t pid = start_script("echo; read x", word);
    assert_int_equal(process_signal(has_word, word, 0), 1);
    assert_true(process_end(has_word, word, 60000, NULL));
    assert_true(has_ended(pid));
    assert_int_equal(process_signal(has_word, word, 0), 0);
    assert_true(process_end(has_word, word, 60000, NULL)); /* nothing left to do */
}

static void test_process__that_does_not_listen_is_killed(void **state)
{
    char *word = word_of("deaf");
    pid_t pid = start_script("trap '' TERM; echo; read x", word);
    assert_true(process_end(has_word, word, 100, NULL));
    assert_true(has_ended(pid));
}

static void test_process__is_left_alone_when_there_is_no_time(void **state)
{
    atomic_bool hurry = true;
    char *word = word_of("left");
    pid_t pid = start_script("trap '' TERM; echo; read x", word);
    assert_false(process_end(has_word, word, 60000, &hurry));
    assert_true(process_alive(pid));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static struct process with_args(const char *args, size_t n)
{
    return (struct process){.pid = 2, .args = args, .args_n = n};
}

static void test_process__supervisors_are_told_by_name_and_place(void **state)
{
    static const char ours[] = "/usr/bin/determined-task\0--adopt\0/data/a/tasks/1/supervisor";
    static const char other[] = "/usr/bin/python\0/data/a/tasks/1/supervisor";
    struct process p = with_args(ours, sizeof(ours)), q = with_args(other, sizeof(other));
    assert_true(process_supervises_below(&p, "/data/a"));
    assert_false(process_supervises_below(&p, "/data/b"));
    assert_false(process_supervises_below(&p, "/data/a/tasks/1/supervisor"));
    assert_false(process_supervises_below(&p, "/dat"));
    assert_false(process_supervises_below(&q, "/data/a"));
}

static void test_process__options_are_read_from_its_arguments(void **state)
{
    static const char text[] = "agent\0--config-file\0x\0--data-dir\0/d\0--last";
    struct process p = with_args(text, sizeof(text));
    assert_string_equal(process_option(&p, "--data-dir"), "/d");
    assert_null(process_option(&p, "--last"));
    assert_null(process_option(&p, "--none"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process__knows_itself_and_when_it_began),
        cmocka_unit_test(test_process__a_zombie_has_ended),
        cmocka_unit_test(test_process__is_found_by_its_arguments_and_ended),
        cmocka_unit_test(test_process__that_does_not_listen_is_killed),
        cmocka_unit_test(test_process__is_left_alone_when_there_is_no_time),
        cmocka_unit_test(test_process__options_are_read_from_its_arguments),
        cmocka_unit_test(test_process__supervisors_are_told_by_name_and_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
