#include "cmocka_setup.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/machine/use_watch.h"
#include "common/base/must.h"
#include "common/system/files.h"

/* A machine with three GPUs and plain files as processes. The loop ends as soon as `met` says so of the last report. */
static struct loop *loop;
static struct pool *pool;
static struct use_watch *watch;
static char proc[64];
static atomic_uint busy[3];
static atomic_bool lost, cut; /* the first GPU does not answer; does not tell how busy it is */

struct told {
    bool told;
    int64_t idle_us, idle_before_us;
    char problem[160];
};
static struct told first, second; /* of the containers c1 and c2, as the last report had it */
static bool fell;                 /* a report had less idle time of c1 than the one before */
static bool (*met)(void);

static int fake_usage(const struct gpu *g, struct gpu_usage *ret, struct error *err)
{
    if (g->index == 0 && lost)
        return error_set(err, ERR_PRECONDITION, "GPU is lost");
    *ret = (struct gpu_usage){.busy_known = g->index != 0 || !cut, .busy_percent = busy[g->index]};
    return 0;
}

static const struct gpu_maker maker = {.usage = fake_usage};
static const struct gpu gpus[] = {{.index = 0, .uuid = "GPU-a"}, {.index = 1, .uuid = "GPU-b"}, {.index = 2}};

static void keep_report(void *ctx, const struct use_watch_report *r, size_t n)
{
    struct told *const of[] = {&first, &second};
    for (int i = 0; i < 2; i++) {
        of[i]->told = false;
        for (size_t k = 0; k < n; k++) {
            if (strcmp(r[k].container_id, i == 0 ? "c1" : "c2") != 0)
                continue;
            of[i]->told = true;
            of[i]->idle_before_us = of[i]->idle_us;
            of[i]->idle_us = r[k].idle_us;
            snprintf(of[i]->problem, sizeof(of[i]->problem), "%s", r[k].problem);
        }
    }
    fell |= first.told && first.idle_us < first.idle_before_us;
    if (met())
        loop_stop(loop);
}

static int set_up(void **state)
{
    struct pool_options o = {.name = "test", .threads = 1, .queue_max = 10};
    snprintf(proc, sizeof(proc), "/tmp/det-use-XXXXXX");
    assert_non_null(mkdtemp(proc));
    assert_int_equal(loop_new(&loop, NULL), 0);
    assert_int_equal(pool_new(loop, &o, &pool, NULL), 0);
    for (int i = 0; i < 3; i++)
        busy[i] = 0;
    lost = cut = fell = false;
    first = second = (struct told){0};
    watch = use_watch_new(loop, pool, &maker, proc, keep_report, NULL);
    return 0;
}

static int tear_down(void **state)
{
    pool_free(pool);
    use_watch_free(watch);
    loop_free(loop);
    return rmdir(proc);
}

static void run_until(bool (*condition)(void))
{
    met = condition;
    assert_int_equal(loop_run(loop, NULL), 0);
}

static void add_task(const char *id, size_t from, size_t n)
{
    const struct gpu *list[] = {&gpus[from], &gpus[from + 1 < 3 ? from + 1 : from]};
    use_watch_add(watch, &(struct use_watch_task){
                             .container_id = id, .every_us = 1, .below_percent = 2, .gpu = list, .gpu_n = n});
}

static bool is_idle(void)
{
    return first.told && !first.problem[0] && first.idle_us > 0;
}

static bool grows(void)
{
    return is_idle() && first.idle_us > first.idle_before_us;
}

static bool is_used(void)
{
    return first.told && !first.problem[0] && first.idle_us == 0;
}

static bool has_problem(void)
{
    return first.told && first.problem[0];
}

static void test_use_watch__gpus_are_idle_while_none_of_them_is_busy(void **state)
{
    busy[0] = 1; /* less than it takes */
    busy[2] = 99;
    add_task("c1", 0, 2);
    run_until(is_idle);
    run_until(grows);
    busy[1] = 2;
    run_until(is_used);
    busy[1] = 0;
    run_until(grows);
}

static void test_use_watch__a_gpu_that_tells_nothing_is_named_unless_another_is_busy(void **state)
{
    add_task("c1", 0, 2);
    run_until(is_idle);
    lost = true;
    run_until(has_problem);
    assert_string_equal(first.problem, "GPU 0 does not answer");
    assert_int_equal(first.idle_us, 0);
    lost = false;
    run_until(is_idle);
    cut = true;
    run_until(has_problem);
    assert_string_equal(first.problem, "GPU 0 (GPU-a) does not tell how busy it is");
    busy[1] = 50;
    run_until(is_used);
}

static bool second_is_alone(void)
{
    return second.told && !first.told;
}

static bool both_are_told(void)
{
    return first.told && second.told;
}

static void test_use_watch__tells_of_all_tasks_together_until_they_go(void **state)
{
    busy[0] = 50;
    add_task("c1", 0, 1);
    add_task("c2", 1, 1);
    run_until(both_are_told);
    assert_int_equal(first.idle_us, 0);
    use_watch_remove(watch, "c1");
    use_watch_remove(watch, "c3");
    run_until(second_is_alone);
}

static void put_process(int pid, int parent, int ticks)
{
    char text[256];
    char *name = must_asprintf("%s/%d", proc, pid), *path = must_asprintf("%s/stat", name);
    mkdir(name, 0755);
    snprintf(text, sizeof(text), "%d (x) S %d 1 1 0 -1 0 0 0 0 0 %d 0 0 0 20 0 1 0 99 1000 5 0\n", pid, parent, ticks);
    assert_int_equal(file_write(path, text, strlen(text), 0644, NULL), 0);
    free(name);
    free(path);
}

static void remove_process(int pid)
{
    char *path = must_asprintf("%s/%d/stat", proc, pid);
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    free(path);
}

static bool shrinks(void)
{
    return first.told && first.idle_us < first.idle_before_us;
}

static void test_use_watch__without_gpus_the_time_of_its_processes_counts(void **state)
{
    put_process(50, 1, 100);
    put_process(60, 50, 100);
    put_process(70, 1, 100);
    add_task("c1", 0, 0);
    add_task("c2", 0, 1);
    run_until(second_is_alone); /* nothing is known of c1 before its supervisor is */
    use_watch_set_supervisor(watch, "c1", 50);
    run_until(grows);
    put_process(70, 1, 100000); /* no process of the task */
    run_until(grows);
    run_until(grows); /* the first report may be of before */
    assert_false(fell);
    put_process(60, 50, 100000);
    run_until(shrinks);
    run_until(grows);
    use_watch_set_supervisor(watch, "c1", 0);
    run_until(has_problem);
    assert_string_equal(first.problem, "the agent does not see its processes");
    remove_process(50);
    remove_process(60);
    remove_process(70);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_use_watch__gpus_are_idle_while_none_of_them_is_busy, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_use_watch__a_gpu_that_tells_nothing_is_named_unless_another_is_busy,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_use_watch__tells_of_all_tasks_together_until_they_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_use_watch__without_gpus_the_time_of_its_processes_counts, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
