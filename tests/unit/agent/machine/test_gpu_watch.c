#include "cmocka_setup.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "agent/machine/gpu_watch.h"
#include "common/system/log.h"

/* A maker whose second GPU is lost at the checks 2 and 3. The loop ends after the fifth check. */
static atomic_int checks; /* the worker counts the checks, and the loop reads the number */
static struct loop *loop;
static char told[4096];

static int fake_usage(const struct gpu *g, struct gpu_usage *ret, struct error *err)
{
    if (g->index == 0)
        checks++;
    if (g->index == 1 && (checks == 2 || checks == 3))
        return error_set(err, ERR_PRECONDITION, "GPU is lost");
    *ret = (struct gpu_usage){.busy_percent = 42, .memory_bytes = 3ull << 30};
    return 0;
}

/* The first GPU fails at the fourth check. */
static int fake_health(const struct gpu *g, struct gpu_health *h, struct error *err)
{
    if (!h->begun) /* the health begins with the errors that the GPU had when it was found */
        assert_int_equal(h->errors, g->errors);
    h->begun = true;
    return g->index == 0 && checks == 4 ? error_set(err, ERR_PRECONDITION, "its driver reported Xid 79") : 0;
}

static void keep_log_line(void *ctx, int64_t now_us, enum log_level level, const char *line)
{
    size_t n = strlen(told);
    snprintf(told + n, sizeof(told) - n, "%s\n", line);
}

static struct gpu_watch *watch;
static char changes[512];

static void on_change(void *ctx)
{
    size_t n = strlen(changes);
    int64_t first_us, second_us;
    const char *first = gpu_watch_trouble(watch, 0, &first_us), *second = gpu_watch_trouble(watch, 1, &second_us);
    assert_true(!first == !first_us && !second == !second_us);
    if (first && second)
        assert_true(first_us > second_us); /* the trouble of the first GPU came later */
    snprintf(changes + n, sizeof(changes) - n, "%d%d [%s] [%s]\n", gpu_watch_is_lost(watch, 0),
             gpu_watch_is_lost(watch, 1), first ? first : "", second ? second : "");
}

static void on_turn_end(void *ctx)
{
    if (checks >= 5)
        loop_stop(loop);
}

static void test_gpu_watch__tells_once_what_failed_and_remembers_it_when_it_is_back(void **state)
{
    static const struct gpu_maker maker = {.usage = fake_usage, .health = fake_health};
    static const struct gpu list[] = {{.index = 0, .uuid = "GPU-a", .errors = 3}, {.index = 1, .uuid = "GPU-b"}};
    struct pool_options o = {.name = "test", .threads = 1, .queue_max = 10};
    struct pool *pool;
    assert_int_equal(loop_new(&loop, NULL), 0);
    assert_int_equal(pool_new(loop, &o, &pool, NULL), 0);
    log_set_sink(keep_log_line, NULL);
    watch = gpu_watch_new(loop, pool, &maker, list, 2, 1000, on_change, NULL);
    loop_on_turn_end(loop, on_turn_end, NULL);
    assert_int_equal(loop_run(loop, NULL), 0);
    pool_free(pool);
    log_set_sink(NULL, NULL);
    assert_string_equal(changes, "01 [] [it does not answer: GPU is lost]\n"
                                 "00 [its driver reported Xid 79] [it does not answer: GPU is lost]\n");
    assert_string_equal(told, "gpu.lost index=1 uuid=GPU-b reason=\"GPU is lost\" "
                              "action=\"its slot takes no work until it is enabled with det slot enable\"\n"
                              "gpu.trouble index=0 uuid=GPU-a reason=\"its driver reported Xid 79\" "
                              "action=\"its slot takes no work until it is enabled with det slot enable\"\n"
                              "gpu.back index=1 uuid=GPU-b\n");
    gpu_watch_free(watch);
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpu_watch__tells_once_what_failed_and_remembers_it_when_it_is_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
