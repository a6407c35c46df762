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

static void keep_log_line(void *ctx, int64_t now_us, enum log_level level, const char *line)
{
    size_t n = strlen(told);
    snprintf(told + n, sizeof(told) - n, "%s\n", line);
}

static struct gpu_watch *watch;
static char changes[64];

static void on_change(void *ctx)
{
    size_t n = strlen(changes);
    snprintf(changes + n, sizeof(changes) - n, "%d%d ", gpu_watch_is_lost(watch, 0), gpu_watch_is_lost(watch, 1));
}

static void on_turn_end(void *ctx)
{
    if (checks >= 5)
        loop_stop(loop);
}

static void test_gpu_watch__tells_once_that_one_is_lost_and_once_that_it_is_back(void **state)
{
    static const struct gpu_maker maker = {.usage = fake_usage};
    static const struct gpu list[] = {{.index = 0, .uuid = "GPU-a"}, {.index = 1, .uuid = "GPU-b"}};
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
    assert_string_equal(changes, "01 00 ");
    assert_string_equal(told, "gpu.lost index=1 uuid=GPU-b reason=\"GPU is lost\" "
                              "action=\"its slot takes no work until it is back\"\n"
                              "gpu.back index=1 uuid=GPU-b\n");
    gpu_watch_free(watch);
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpu_watch__tells_once_that_one_is_lost_and_once_that_it_is_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
