#include "cmocka_setup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/system/beneath.h"
#include "common/system/files.h"

#define RACE_ROUNDS 3000

static char scratch[64]; /* in memory: a tree 30,000 deep takes a busy disk a minute */
static int dir;          /* scratch/task: what a task may change; scratch/other belongs to somebody else */

static int make_scratch(void **state)
{
    memcpy(scratch, "/dev/shm/test_beneath.XXXXXX", sizeof("/dev/shm/test_beneath.XXXXXX"));
    umask(077);
    if (!mkdtemp(scratch))
        return -1;
    cleanup_close int top = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    mkdirat(top, "task", 0700);
    mkdirat(top, "other", 0700);
    close(openat(top, "other/kept", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    dir = openat(top, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir < 0 ? -1 : 0;
}

static int drop_scratch(void **state)
{
    char command[128];
    close(dir);
    snprintf(command, sizeof(command), "rm -rf '%s'", scratch);
    return system(command);
}

static bool other_is_untouched(void)
{
    struct stat st, kept;
    cleanup_free char *other = path_join(scratch, "other"), *file = path_join(scratch, "other/kept");
    return stat(other, &st) == 0 && st.st_nlink == 2 && (st.st_mode & 07777) == 0700 && stat(file, &kept) == 0 &&
           kept.st_size == 0 && (kept.st_mode & 07777) == 0600;
}

static void make_dir(const char *path, mode_t mode)
{
    int fd = beneath_make_dir(dir, path, mode, NULL, NULL);
    assert_true(fd >= 0);
    close(fd);
}

static void check_paths_that_lead_out(void)
{
    static const char *const bad[] = {"/etc/passwd", "..", "../other/kept", "a/../../other/kept",
                                      "link/kept",   "",   "self",          "a/up/other"};
    struct error err cleanup_error = ERROR_INIT;
    struct strbuf text cleanup_strbuf = STRBUF_INIT;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        error_release(&err);
        assert_int_equal(beneath_read(dir, bad[i], 100, &text, &err), -1);
        assert_int_equal(err.kind, ERR_FORBIDDEN);
    }
    assert_int_equal(beneath_write(dir, "link/new", "x", 1, 0600, NULL, NULL), -1);
    assert_int_equal(beneath_write(dir, "self", "x", 1, 0600, NULL, NULL), -1);
    assert_int_equal(beneath_make_dir(dir, "link/new", 0700, NULL, NULL), -1);
    assert_int_equal(beneath_make_dir(dir, "link", 0700, NULL, NULL), -1);
    assert_true(other_is_untouched());
}

static void make_links(void)
{
    make_dir("a", 0700);
    assert_int_equal(symlinkat("../other", dir, "link"), 0);
    assert_int_equal(symlinkat("../other/kept", dir, "self"), 0);
    assert_int_equal(symlinkat("../..", dir, "a/up"), 0);
}

static void test_beneath__no_path_leads_out_of_the_directory(void **state)
{
    make_links();
    check_paths_that_lead_out();
}

/* A kernel before 5.6, or a sandbox that does not know the call. */
static void refuse_openat2(int number)
{
    struct sock_filter step[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)number),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {.len = sizeof(step) / sizeof(step[0]), .filter = step};
    assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void test_beneath__a_kernel_without_openat2_is_as_strict(void **state)
{
    static const int number[] = {ENOSYS, EPERM};
    make_links();
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            refuse_openat2(number[i]);
            check_paths_that_lead_out();
            struct strbuf text cleanup_strbuf = STRBUF_INIT;
            make_dir("a/b", 0700);
            _exit(beneath_write(dir, "a/b/c", "text", 4, 0640, NULL, NULL) == 0 &&
                          beneath_read(dir, "a//b/./c", 4, &text, NULL) == 0 && text.n == 4 &&
                          beneath_remove(dir, "a", NULL) == 0
                      ? 7
                      : 1);
        }
        int status = 0;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
        make_dir("a", 0700);
        assert_int_equal(symlinkat("../..", dir, "a/up"), 0);
    }
}

static void test_beneath__what_is_written_is_new_and_has_its_mode(void **state)
{
    struct stat st;
    struct strbuf text cleanup_strbuf = STRBUF_INIT;
    cleanup_close int made = beneath_make_dir(dir, "a", 0751, NULL, NULL);
    cleanup_close int again = beneath_make_dir(dir, "a", 0700, NULL, NULL);
    assert_true(made >= 0);
    assert_int_equal(fstat(again, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0751);
    assert_int_equal(beneath_write(dir, "a/f", "12345", 5, 0744, NULL, NULL), 0);
    assert_int_equal(fstatat(dir, "a/f", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0744);
    assert_int_equal(beneath_write(dir, "a/f", "x", 1, 0744, NULL, NULL), -1);
    assert_int_equal(beneath_read(dir, "a/f", 4, &text, NULL), -1);
    assert_int_equal(text.n, 0);
    assert_int_equal(beneath_read(dir, "a/f", 5, &text, NULL), 0);
    assert_string_equal(text.s, "12345");
}

static void test_beneath__reading_waits_for_nobody(void **state)
{
    struct error err cleanup_error = ERROR_INIT;
    struct strbuf text cleanup_strbuf = STRBUF_INIT;
    assert_int_equal(mkfifoat(dir, "fifo", 0600), 0);
    make_dir("a", 0700);
    assert_int_equal(beneath_read(dir, "fifo", 10, &text, &err), -1);
    assert_int_equal(err.kind, ERR_PRECONDITION);
    assert_int_equal(beneath_read(dir, "a", 10, &text, NULL), -1);
}

struct race {
    atomic_bool over;
    const char *one, *other;
};

/* What a hostile task does: swaps two names, again and again. */
static void *swap_names(void *ctx)
{
    struct race *r = ctx;
    while (!atomic_load(&r->over))
        syscall(SYS_renameat2, dir, r->one, dir, r->other, 2 /* RENAME_EXCHANGE */);
    return NULL;
}

static void test_beneath__renaming_in_a_loop_leads_nowhere_else(void **state)
{
    pthread_t thread;
    struct race race = {.one = "a", .other = "link"};
    char name[32];
    make_links();
    assert_int_equal(pthread_create(&thread, NULL, swap_names, &race), 0);
    for (int i = 0; i < RACE_ROUNDS; i++) {
        snprintf(name, sizeof(name), "a/%d", i);
        beneath_write(dir, name, "x", 1, 0666, NULL, NULL);
        snprintf(name, sizeof(name), "a/d%d", i);
        int fd = beneath_make_dir(dir, name, 0777, NULL, NULL);
        cleanup_close_p(&fd);
        if (i % 100 == 0) {
            beneath_remove(dir, "a", NULL);
            int made = beneath_make_dir(dir, "a", 0700, NULL,
                                        NULL); /* fails where the other thread has just put the link there */
            cleanup_close_p(&made);
        }
    }
    atomic_store(&race.over, true);
    pthread_join(thread, NULL);
    assert_true(other_is_untouched());
    beneath_remove(dir, "a", NULL);
    beneath_remove(dir, "link", NULL);
    assert_true(other_is_untouched());
}

static void make_deep(int depth)
{
    int at = fcntl(dir, F_DUPFD_CLOEXEC, 3);
    for (int i = 0; i < depth; i++) {
        mkdirat(at, "d", 0700);
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = next;
    }
    close(at);
}

static void limit_descriptors(rlim_t n)
{
    struct rlimit r;
    getrlimit(RLIMIT_NOFILE, &r);
    r.rlim_cur = n;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &r), 0);
}

static void test_beneath__a_tree_30000_deep_is_removed_with_few_descriptors(void **state)
{
    make_deep(30000);
    limit_descriptors(16);
    struct error err cleanup_error = ERROR_INIT;
    assert_int_equal(beneath_remove(dir, "d", &err), 0);
    limit_descriptors(1024);
    assert_int_equal(faccessat(dir, "d", F_OK, 0), -1);
}

static void test_beneath__a_wide_tree_with_links_and_closed_directories_is_removed(void **state)
{
    char name[64];
    make_dir("w", 0700);
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "w/%d", i);
        make_dir(name, 0700);
        for (int k = 0; k < 20; k++) {
            snprintf(name, sizeof(name), "w/%d/%d", i, k);
            if (k % 4 == 0)
                make_dir(name, 0000);
            else
                assert_int_equal(k % 4 == 1 ? symlinkat("../../../../other", dir, name)
                                            : beneath_write(dir, name, "", 0, 0, NULL, NULL),
                                 0);
        }
        snprintf(name, sizeof(name), "w/%d", i);
        assert_int_equal(fchmodat(dir, name, i % 2 ? 0000 : 0500, 0), 0);
    }
    struct error err cleanup_error = ERROR_INIT;
    assert_int_equal(beneath_remove(dir, "w", &err), 0);
    assert_int_equal(faccessat(dir, "w", F_OK, 0), -1);
    assert_int_equal(beneath_remove(dir, "w", NULL), 0); /* there is none */
    assert_true(other_is_untouched());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_scratch, drop_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_beneath__no_path_leads_out_of_the_directory),
        TEST(test_beneath__a_kernel_without_openat2_is_as_strict),
        TEST(test_beneath__what_is_written_is_new_and_has_its_mode),
        TEST(test_beneath__reading_waits_for_nobody),
        TEST(test_beneath__renaming_in_a_loop_leads_nowhere_else),
        TEST(test_beneath__a_tree_30000_deep_is_removed_with_few_descriptors),
        TEST(test_beneath__a_wide_tree_with_links_and_closed_directories_is_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
