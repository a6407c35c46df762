#include "cmocka_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/task/profile.h"
#include "common/json/json.h"
#include "common/system/files.h"
#include "common/system/log.h"

/* Two GPUs, of which the task has the second: 30 % busy and 60 % in turns, 3 of 4 GiB in use. The loop ends as soon as
 * `wanted` reports are there. */
static struct loop *loop;
static struct pool *pool;
static struct profile *profile;
static char dir[64], told[4096], logged[4096];
static int reports, wanted, usage_calls;
static bool link_up;
static const char *wanted_log; /* NULL: only reports count */

static int fake_usage(const struct gpu *g, struct gpu_usage *ret, struct error *err)
{
    assert_int_equal(g->index, 1); /* the usage of other GPUs must not be asked for */
    *ret = (struct gpu_usage){.busy_percent = ++usage_calls % 2 ? 30 : 60, .memory_bytes = 3ull << 30};
    return 0;
}

static const struct gpu_maker maker = {.usage = fake_usage};
static const struct gpu gpus[] = {{.index = 0, .uuid = "GPU-a", .memory_bytes = 4ull << 30},
                                  {.index = 1, .uuid = "GPU-b", .memory_bytes = 4ull << 30}};

static bool keep_report(void *ctx, const struct wire_link_task_metrics *m)
{
    if (!link_up)
        return false;
    size_t n = strlen(told);
    snprintf(told + n, sizeof(told) - n, "%s %s %s %s\n", m->container_id, m->allocation_id, m->group, m->metrics);
    assert_true(m->has_time && m->time > 0);
    reports++;
    return true;
}

static void keep_log(void *ctx, int64_t now_us, enum log_level level, const char *line)
{
    size_t n = strlen(logged);
    snprintf(logged + n, sizeof(logged) - n, "%s\n", line);
}

static void on_turn_end(void *ctx)
{
    if (reports >= wanted || (wanted_log && strstr(logged, wanted_log)))
        loop_stop(loop);
}

static void request_profile(const char *text)
{
    char *path = path_join(dir, "request");
    if (text)
        assert_int_equal(file_write(path, text, strlen(text), 0644, NULL), 0);
    else
        unlink(path);
    free(path);
}

static int set_up(void **state)
{
    struct pool_options o = {.name = "test", .threads = 1, .queue_max = 10};
    memcpy(dir, "/tmp/det-profile-XXXXXX", 24);
    assert_non_null(mkdtemp(dir));
    assert_int_equal(loop_new(&loop, NULL), 0);
    assert_int_equal(pool_new(loop, &o, &pool, NULL), 0);
    *told = *logged = 0;
    reports = usage_calls = 0;
    link_up = true;
    log_set_sink(keep_log, NULL);
    loop_on_turn_end(loop, on_turn_end, NULL);
    struct profile_task t = {.run = dir,
                             .dir = ".",
                             .agent_id = "host-1",
                             .container_id = "c1",
                             .allocation_id = "a1",
                             .shared_fs = "/tmp",
                             .maker = &maker,
                             .gpu = gpus,
                             .gpu_n = 2,
                             .gpu_uuids = "GPU-b",
                             .roots = {"/proc", "/sys"}};
    profile = profile_new(loop, pool, &t, keep_report, NULL);
    assert_non_null(profile);
    profile_set_supervisor(profile, getpid());
    return 0;
}

static int tear_down(void **state)
{
    profile_free(profile);
    pool_free(pool);
    loop_free(loop);
    log_set_sink(NULL, NULL);
    request_profile(NULL);
    rmdir(dir);
    return 0;
}

static void run_until(int n)
{
    wanted = n;
    assert_int_equal(loop_run(loop, NULL), 0);
}

/* The first report of a group: its body below the agent's id. The caller puts it. */
static struct json_object *first_report_of(const char *group)
{
    char head[64], *end;
    struct json_object *o = NULL;
    snprintf(head, sizeof(head), "c1 a1 %s ", group);
    char *p = strstr(told, head);
    assert_non_null(p);
    p += strlen(head);
    end = strchr(p, '\n');
    assert_int_equal(json_parse(p, (size_t)(end - p), &o, NULL), 0);
    struct json_object *body = json_object_get(json_object_object_get(o, "host-1"));
    json_object_put(o);
    assert_non_null(body);
    return body;
}

static double member_number(struct json_object *o, const char *name)
{
    struct json_object *v = json_object_object_get(o, name);
    assert_non_null(v);
    return json_object_get_double(v);
}

static void test_profile__a_report_of_each_group_is_the_average_of_its_samples(void **state)
{
    request_profile("100 2\n");
    run_until(5);
    struct json_object *cpu = first_report_of("cpu"), *memory = first_report_of("memory"),
                       *disk = first_report_of("disk"), *net = first_report_of("network"),
                       *gpu = first_report_of("gpu");
    assert_true(member_number(cpu, "cpu_util_simple") >= 0 && member_number(cpu, "cpu_util_simple") <= 100);
    assert_true(member_number(cpu, "task_cpu_util") >= 0);
    assert_true(member_number(memory, "memory_free") > 0);
    assert_true(member_number(memory, "task_memory") > 100000);
    assert_true(member_number(disk, "disk_iops") >= 0);
    assert_true(member_number(json_object_object_get(disk, "/"), "disk_util") > 0);
    assert_non_null(json_object_object_get(disk, "/determined_shared_fs"));
    assert_true(member_number(net, "net_throughput_sent") >= 0 && member_number(net, "net_throughput_recv") >= 0);
    assert_null(json_object_object_get(gpu, "GPU-a"));
    assert_true(member_number(json_object_object_get(gpu, "GPU-b"), "gpu_util") == 45);
    assert_true(member_number(json_object_object_get(gpu, "GPU-b"), "gpu_free_memory") == (double)(1ull << 30));
    struct json_object *all[] = {cpu, memory, disk, net, gpu};
    for (size_t i = 0; i < 5; i++)
        json_object_put(all[i]);
}

static void stop_loop(void *ctx)
{
    loop_stop(loop);
}

static void run_until_logged(const char *text)
{
    wanted_log = text;
    run_until(INT32_MAX);
    wanted_log = NULL;
    *logged = 0;
}

static void run_for_ms(int ms)
{
    struct loop_timer *t = loop_timer_new(loop, stop_loop, NULL);
    loop_timer_arm(t, ms * 1000);
    wanted = INT32_MAX;
    assert_int_equal(loop_run(loop, NULL), 0);
    loop_timer_free(t);
}

static void test_profile__ends_when_the_request_goes(void **state)
{
    request_profile("100 1");
    run_until(5);
    request_profile(NULL);
    run_until_logged("interval_ms=0");
    run_for_ms(50); /* a sample that was under way has ended now */
    int before = reports;
    run_for_ms(300);
    assert_int_equal(reports, before);
    request_profile("100 1");
    run_until(before + 5);
}

static void test_profile__what_was_not_sent_is_kept_until_the_master_is_back(void **state)
{
    link_up = false;
    request_profile("100 1");
    run_for_ms(500);
    assert_int_equal(reports, 0);
    request_profile(NULL);
    run_until_logged("interval_ms=0");
    link_up = true;
    profile_flush(profile);
    assert_true(reports >= 5);
}

static void test_profile__a_request_that_makes_no_sense_changes_nothing(void **state)
{
    static const char *const bad[] = {
        "",         "100",
        "99 1",     "100 0",
        "100 3601", "3600001 1",
        "100 1 1",  "on",
        "-100 5",   "100 1                                                                  x"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        request_profile(bad[i]);
        run_until_logged("profile.bad_request container=c1");
    }
    run_for_ms(300);
    assert_int_equal(reports, 0);
}

static void test_profile__a_link_in_the_place_of_the_request_is_not_followed(void **state)
{
    char *path = path_join(dir, "request"), *elsewhere = path_join(dir, "elsewhere");
    assert_int_equal(file_write(elsewhere, "100 1", 5, 0644, NULL), 0);
    assert_int_equal(symlink(elsewhere, path), 0);
    run_for_ms(300);
    assert_int_equal(reports, 0);
    unlink(elsewhere);
    free(path);
    free(elsewhere);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_profile__a_report_of_each_group_is_the_average_of_its_samples, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_profile__ends_when_the_request_goes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_profile__what_was_not_sent_is_kept_until_the_master_is_back, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_profile__a_request_that_makes_no_sense_changes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_profile__a_link_in_the_place_of_the_request_is_not_followed, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
