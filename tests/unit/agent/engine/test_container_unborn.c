/* Which processes of runc belong to containers that this agent has begun: a directory stands in for /proc. */
#include "cmocka_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/engine/container_unborn.h"
#include "common/system/files.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER_ID "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
#define SHIM_WORDS(id) "/usr/bin/containerd-shim-runc-v2\0-namespace\0moby\0-id\0" id "\0-address\0/run/c.sock"

static char place[] = "/tmp/det-test-unborn-XXXXXX";
static char proc[64], run_root[64];
static const struct unborn_search search = {proc, run_root, "/run/determined.supervisor"};
static struct arena arena = ARENA_INIT;

static void put(int pid, const char *file, const char *text, size_t n)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%d", proc, pid);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/%d/%s", proc, pid, file);
    assert_int_equal(file_write(path, text, n, 0600, NULL), 0);
}

static void put_text(int pid, const char *file, const char *text)
{
    put(pid, file, text, strlen(text));
}

static void put_process(int pid, int parent, const char *name)
{
    char text[256];
    snprintf(text, sizeof(text), "%d (%s) S %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 1 0\n", pid, name, parent);
    put_text(pid, "stat", text);
    snprintf(text, sizeof(text), "%s\n", name);
    put_text(pid, "comm", text);
}

/* What the kernel shows of a container whose supervisor's directory is `dir` of the device. */
static void put_mounts(int pid, const char *device, const char *dir)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "700 600 0:50 / / rw - overlay overlay rw\n"
             "701 700 %s %s/run /run/determined rw - ext4 /dev/sda1 rw\n"
             "702 700 %s %s /run/determined.supervisor rw - ext4 /dev/sda1 rw\n",
             device, dir, device, dir);
    put_text(pid, "mountinfo", text);
}

/* run_root lies on a file system of its own, of which a part is mounted, and which is the later one of two. */
static int set_up(void **state)
{
    char text[512], path[128];
    snprintf(place, sizeof(place), "/tmp/det-test-unborn-XXXXXX");
    assert_non_null(mkdtemp(place));
    snprintf(proc, sizeof(proc), "%s/proc", place);
    snprintf(run_root, sizeof(run_root), "%s/the tasks", place);
    snprintf(path, sizeof(path), "%s/self", proc);
    assert_int_equal(mkdir(proc, 0700) | mkdir(path, 0700) | mkdir(run_root, 0700), 0);
    snprintf(text, sizeof(text),
             "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
             "what is no line of mountinfo\n"
             "21 20 8:2 /wrong %s rw - ext4 /dev/sdb1 rw\n"
             "22 20 8:2 /part %s rw - ext4 /dev/sdb1 rw\n"
             "23 20 8:3 / %s/the rw - ext4 /dev/sdc1 rw\n",
             place, place, place);
    snprintf(path, sizeof(path), "%s/self/mountinfo", proc);
    assert_int_equal(file_write(path, text, strlen(text), 0600, NULL), 0);
    return 0;
}

static int tear_down(void **state)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", place);
    arena_release(&arena);
    return system(command);
}

static void test_a_process_that_waits_to_become_a_task__is_found_with_its_shim(void **state)
{
    struct unborn_container *found;
    put_process(100, 1, "containerd-shim");
    put(100, "cmdline", SHIM_WORDS(ID), sizeof(SHIM_WORDS(ID)));
    put_process(101, 100, "runc:[2:INIT]");
    put_mounts(101, "8:2", "/part/the\\040tasks/task-1/supervisor");
    put_text(101, "cgroup", "4:memory:/docker/" ID "\n0::/\n");
    put_process(102, 1, "runc:[2:INIT]"); /* the task's directory was removed, and no shim is above it */
    put_mounts(102, "8:2", "/part/the\\040tasks/task-2/.removing-20f148660962f97c/0//deleted");
    size_t n = container_unborn_list(&search, &arena, &found);
    assert_int_equal(n, 2);
    size_t first = found[0].init == 101 ? 0 : 1;
    assert_string_equal(found[first].task, "task-1");
    assert_int_equal(found[first].shim, 100);
    assert_int_equal(found[!first].init, 102);
    assert_string_equal(found[!first].task, "task-2");
    assert_int_equal(found[!first].shim, 0);
}

static void test_processes_of_others__are_not_found(void **state)
{
    struct unborn_container *found;
    put_process(101, 1, "determined-task"); /* a task that runs */
    put_mounts(101, "8:2", "/part/the\\040tasks/task-1/supervisor");
    put_process(102, 1, "runc:[2:INIT]"); /* of another file system */
    put_mounts(102, "8:1", "/part/the\\040tasks/task-1/supervisor");
    put_process(103, 1, "runc:[2:INIT]"); /* of another agent */
    put_mounts(103, "8:2", "/part/the\\040tasks2/task-1/supervisor");
    put_process(104, 1, "runc:[2:INIT]"); /* of no task */
    put_mounts(104, "8:2", "/part/the\\040tasks/task-1");
    put_process(105, 1, "runc:[2:INIT]");
    put_mounts(105, "8:2", "/part/the\\040tasks//supervisor");
    put_process(106, 1, "runc:[2:INIT]"); /* the process has no mounts of its own yet */
    put_text(106, "mountinfo", "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    put_process(107, 1, "runc:[2:INIT]"); /* and one that has gone */
    put_process(108, 1, "runc:[2:INIT]2");
    put_mounts(108, "8:2", "/part/the\\040tasks/task-1/supervisor");
    assert_int_equal(container_unborn_list(&search, &arena, &found), 0);
}

static void test_a_process_above_it__is_its_shim_only_if_both_name_the_container(void **state)
{
    static const struct {
        const char *name, *words, *group;
        size_t n;
    } row[] = {
        {"containerd-shim", SHIM_WORDS(OTHER_ID), "/docker/" ID, sizeof(SHIM_WORDS(ID))},
        {"containerd-shim", SHIM_WORDS("0123"), "/docker/0123", sizeof(SHIM_WORDS("0123"))},
        {"containerd-shim", "containerd-shim\0-id", "/docker/" ID, sizeof("containerd-shim\0-id")},
        {"conmon", SHIM_WORDS(ID), "/docker/" ID, sizeof(SHIM_WORDS(ID))},
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct unborn_container *found;
        char group[128];
        put_process(100, 1, row[i].name);
        put(100, "cmdline", row[i].words, row[i].n);
        put_process(101, 100, "runc:[2:INIT]");
        put_mounts(101, "8:2", "/part/the\\040tasks/task-1/supervisor");
        snprintf(group, sizeof(group), "0::%s\n", row[i].group);
        put_text(101, "cgroup", group);
        assert_int_equal(container_unborn_list(&search, &arena, &found), 1);
        assert_int_equal(found[0].shim, 0);
    }
}

static bool knows_all(void *ctx, const char *container_id)
{
    (*(int *)ctx)++;
    return strcmp(container_id, "task-1") == 0;
}

static void test_the_container_of_a_task_that_the_agent_knows__is_left_alone(void **state)
{
    struct unborn_container *found;
    int asked = 0;
    put_process(getpid(), 1, "runc:[2:INIT]"); /* this test would end */
    put_mounts(getpid(), "8:2", "/part/the\\040tasks/task-1/supervisor");
    size_t n = container_unborn_list(&search, &arena, &found);
    assert_int_equal(container_unborn_end(found, n, knows_all, &asked), 0);
    assert_int_equal(asked, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_process_that_waits_to_become_a_task__is_found_with_its_shim, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_processes_of_others__are_not_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_process_above_it__is_its_shim_only_if_both_name_the_container, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_the_container_of_a_task_that_the_agent_knows__is_left_alone, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
