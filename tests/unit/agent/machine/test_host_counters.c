#include "cmocka_setup.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/machine/host_counters.h"
#include "common/system/files.h"

/* A machine of plain files. */
struct fixture {
    char root[64];
    char *proc, *sys;
    struct host_roots roots;
};

static int set_up(void **state)
{
    struct fixture *x = calloc(1, sizeof(*x));
    memcpy(x->root, "/tmp/det-counters-XXXXXX", 25);
    assert_non_null(mkdtemp(x->root));
    x->proc = path_join(x->root, "proc");
    x->sys = path_join(x->root, "sys");
    x->roots = (struct host_roots){x->proc, x->sys};
    *state = x;
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    return remove(path);
}

static int tear_down(void **state)
{
    struct fixture *x = *state;
    nftw(x->root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(x->proc);
    free(x->sys);
    free(x);
    return 0;
}

static void put_file(struct fixture *x, const char *name, const char *text)
{
    char *path = path_join(x->root, name), *parent = path_parent(path);
    assert_int_equal(dir_make(parent, 0755, NULL), 0);
    assert_int_equal(file_write(path, text, strlen(text), 0644, NULL), 0);
    free(path);
    free(parent);
}

static void test_host_counters__idle_and_waiting_for_the_disk_are_not_busy(void **state)
{
    struct fixture *x = *state;
    struct host_counters c;
    put_file(x, "proc/stat", "cpu  100 1 20 1000 50 3 4 2 7 0\ncpu0 100 1 20 1000 50 3 4 2 7 0\n");
    put_file(x, "proc/meminfo", "MemTotal:       24000000 kB\nMemFree:         1000 kB\nMemAvailable:   20000 kB\n");
    host_counters_read(&x->roots, 0, &c);
    assert_int_equal(c.cpu_total, 1180);
    assert_int_equal(c.cpu_busy, 130);
    assert_int_equal(c.memory_free, 20000 * 1024);
}

static void test_host_counters__whole_disks_only(void **state)
{
    struct fixture *x = *state;
    struct host_counters c;
    put_file(x, "sys/block/sda/size", "1");
    put_file(x, "sys/block/dm-0/size", "1");
    put_file(x, "sys/block/loop0/size", "1");
    put_file(x, "proc/diskstats",
             "   8       0 sda 10 0 100 5 20 0 200 6 0 0 0\n"
             "   8       1 sda1 10 0 100 5 20 0 200 6 0 0 0\n"
             " 253       0 dm-0 10 0 100 5 20 0 200 6 0 0 0\n"
             "   7       0 loop0 10 0 100 5 20 0 200 6 0 0 0\n");
    host_counters_read(&x->roots, 0, &c);
    assert_int_equal(c.disk_operations, 30);
    assert_int_equal(c.disk_read, 51200);
    assert_int_equal(c.disk_written, 102400);
}

static void test_host_counters__the_loopback_is_no_network(void **state)
{
    struct fixture *x = *state;
    struct host_counters c;
    put_file(x, "proc/net/dev",
             "Inter-|   Receive                            |  Transmit\n"
             " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n"
             "    lo: 777 1 0 0 0 0 0 0 777 1 0 0 0 0 0 0\n"
             "  eth0: 1000 5 0 0 0 0 0 0 3000 9 0 0 0 0 0 0\n"
             "lowpan0:5 1 0 0 0 0 0 0 6 1 0 0 0 0 0 0\n");
    host_counters_read(&x->roots, 0, &c);
    assert_int_equal(c.net_received, 1005);
    assert_int_equal(c.net_sent, 3006);
}

static void put_process(struct fixture *x, int pid, const char *name, int parent, int ticks, int pages)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "proc/%d/stat", pid);
    snprintf(text, sizeof(text), "%d (%s) S %d 1 1 0 -1 0 0 0 0 0 %d 1 2 3 20 0 1 0 99 1000 %d 0\n", pid, name, parent,
             ticks, pages);
    put_file(x, path, text);
}

static void test_host_counters__a_task_is_its_supervisor_and_all_that_descends_from_it(void **state)
{
    struct fixture *x = *state;
    struct host_counters c;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    put_process(x, 1, "init", 0, 5000, 9);
    put_process(x, 50, "determined-task", 1, 10, 1);
    put_process(x, 60, "python3 (rank 0)) S 1", 50, 100, 20); /* a name may look like the fields behind it */
    put_process(x, 40, "loader", 60, 1000, 300);              /* pids wrap around: a child's may be the smaller one */
    put_process(x, 70, "other", 1, 7, 7);
    host_counters_read(&x->roots, 50, &c);
    assert_int_equal(c.task_ticks, 1110 + 3 * 6); /* stime, cutime, cstime of each */
    assert_int_equal(c.task_memory, 321 * page);
    host_counters_read(&x->roots, 0, &c);
    assert_int_equal(c.task_ticks, 0);
}

static void test_host_counters__the_processes_of_several_tasks_are_kept_apart(void **state)
{
    struct fixture *x = *state;
    struct task_counters t[] = {{.supervisor = 50}, {.supervisor = 0}, {.supervisor = 99}, {.supervisor = 70}};
    put_process(x, 50, "determined-task", 1, 10, 1);
    put_process(x, 60, "python3", 50, 100, 20);
    put_process(x, 70, "determined-task", 50, 7, 7); /* a task of its own, although it is below another one */
    put_process(x, 80, "python3", 70, 1000, 9);
    assert_true(host_counters_read_tasks(x->proc, t, 4));
    assert_int_equal(t[0].ticks, 110 + 2 * 6);
    assert_int_equal(t[3].ticks, 1007 + 2 * 6);
    assert_int_equal(t[3].memory, 16 * (uint64_t)sysconf(_SC_PAGESIZE));
    assert_true(t[0].found && !t[1].found && !t[2].found && t[3].found);
    assert_int_equal(t[1].ticks + t[2].ticks, 0);
}

static void test_host_counters__a_machine_that_shows_nothing_counts_nothing(void **state)
{
    struct fixture *x = *state;
    struct host_counters c;
    put_file(x, "proc/stat", "cpu garbage\n");
    put_file(x, "proc/diskstats", "what is this\n\n");
    put_file(x, "proc/net/dev", ":\neth0: x\n");
    put_file(x, "proc/9/stat", "9 (no bracket");
    host_counters_read(&x->roots, 9, &c);
    assert_int_equal(c.cpu_total + c.disk_operations + c.net_sent + c.memory_free + c.task_ticks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_host_counters__idle_and_waiting_for_the_disk_are_not_busy, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_host_counters__whole_disks_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_host_counters__the_loopback_is_no_network, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_host_counters__a_task_is_its_supervisor_and_all_that_descends_from_it,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_host_counters__the_processes_of_several_tasks_are_kept_apart, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_host_counters__a_machine_that_shows_nothing_counts_nothing, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
