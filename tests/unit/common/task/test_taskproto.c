#include "cmocka_setup.h"

#include "common/base/bytes.h"
#include "common/base/rng.h"
#include "common/task/taskproto.h"
#include "common/task/taskspec.h"

static void test_frame__comes_back_as_it_went(void **state)
{
    struct strbuf lines = STRBUF_INIT, out = STRBUF_INIT;
    struct task_line l = {.time_us = 1700000000123456,
                          .stdtype = TASK_STDERR,
                          .level = TASK_LEVEL_ERROR,
                          .has_rank = true,
                          .rank = 3,
                          .text = "it broke\n",
                          .text_n = 9};
    task_line_encode(&l, &lines);
    struct task_frame f = {.type = TASK_FRAME_LOGS};
    f.logs.first = 41;
    f.logs.count = 1;
    f.logs.lines = lines.s;
    f.logs.lines_n = lines.n;
    task_frame_encode(&f, &out);

    struct task_frame got;
    struct task_line back;
    size_t used;
    for (size_t n = 0; n < out.n; n++)
        assert_int_equal(task_frame_decode(out.s, n, &got, &used, NULL), 0);
    assert_int_equal(task_frame_decode(out.s, out.n, &got, &used, NULL), 1);
    assert_int_equal(used, out.n);
    assert_int_equal(got.logs.first, 41);
    struct cursor c = cursor_of(got.logs.lines, got.logs.lines_n);
    assert_int_equal(task_line_decode(&c, &back), 0);
    assert_int_equal(back.time_us, l.time_us);
    assert_int_equal(back.rank, 3);
    assert_int_equal(back.level, TASK_LEVEL_ERROR);
    assert_string_equal(back.text, "it broke\n");
    strbuf_release(&lines);
    strbuf_release(&out);
}

static void test_exit_frame__keeps_kind_code_and_text(void **state)
{
    struct strbuf out = STRBUF_INIT;
    struct task_frame f = {
        .type = TASK_FRAME_EXIT,
        .exit = {.kind = TASK_EXIT_OUT_OF_MEMORY, .code = 137, .signal = 9, .time_us = 5, .text = "too big"}};
    struct task_frame got;
    size_t used;
    task_frame_encode(&f, &out);
    assert_int_equal(task_frame_decode(out.s, out.n, &got, &used, NULL), 1);
    assert_int_equal(got.exit.kind, TASK_EXIT_OUT_OF_MEMORY);
    assert_int_equal(got.exit.code, 137);
    assert_int_equal(got.exit.signal, 9);
    assert_string_equal(got.exit.text, "too big");
    strbuf_release(&out);
}

static void test_decoder__refuses_what_cannot_be_a_frame(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *what;
    } row[] = {
        {"\0\0\0\0", 4, "no type"},
        {"\xff\xff\xff\xff", 4, "longer than any frame"},
        {"\x01\0\0\0\x7f", 5, "unknown type"},
        {"\x02\0\0\0\x04\0", 6, "bytes left over"},
        {"\x05\0\0\0\x02\0\0\0\0", 9, "an acknowledgement cut short"},
        {"\x05\0\0\0\x03\0\0\0\0", 9, "signal 0"},
        {"\x05\0\0\0\x03\x41\0\0\0", 9, "signal 65"},
        {"\x0d\0\0\0\x41\x01\0\0\0\0\0\0\0\xff\xff\xff\xff", 17, "more lines than bytes"},
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct error err = ERROR_INIT;
        struct task_frame f;
        size_t used;
        if (task_frame_decode(row[i].bytes, row[i].n, &f, &used, &err) != -1)
            fail_msg("accepted: %s", row[i].what);
        assert_int_equal(err.kind, ERR_INVALID);
        error_release(&err);
    }
}

/* Whole frames with bytes changed at random: the sanitizers watch that nothing outside the input is read. */
static void test_decoder__survives_damage(void **state)
{
    struct rng r;
    rng_init(&r, 7);
    struct strbuf out = STRBUF_INIT, line = STRBUF_INIT;
    task_line_encode(&(struct task_line){.stdtype = TASK_STDOUT, .text = "x\n", .text_n = 2}, &line);
    struct task_frame f = {.type = TASK_FRAME_LOGS};
    f.logs.first = 1;
    f.logs.count = 1;
    f.logs.lines = line.s;
    f.logs.lines_n = line.n;
    task_frame_encode(&f, &out);
    for (int i = 0; i < 20000; i++) {
        size_t n = rng_limit(&r, out.n);
        uint8_t *copy = malloc(n + 1);
        memcpy(copy, out.s, n);
        for (uint64_t k = rng_limit(&r, 3); n && k > 0; k--)
            copy[rng_int(&r, n)] = (uint8_t)rng_int(&r, 256);
        struct task_frame got;
        size_t used;
        copy = realloc(copy, n ? n : 1);
        if (task_frame_decode(copy, n, &got, &used, NULL) > 0)
            assert_true(used <= n);
        free(copy);
    }
    strbuf_release(&out);
    strbuf_release(&line);
}

static void test_taskspec__comes_back_and_refuses_every_shorter_form(void **state)
{
    struct taskspec s = {
        .argv = (char *[]){"sh", "-c", "echo hi", NULL},
        .env = (char *[]){"PATH=/bin", "EMPTY=", NULL},
        .cwd = "/tmp",
        .uid = 1000,
        .gid = 100,
        .group = (uint32_t[]){7, 8},
        .group_n = 2,
        .cgroup_procs = (char *[]){"/sys/fs/cgroup/x/cgroup.procs", NULL},
        .oom_file = "/sys/fs/cgroup/x/memory.events",
        .mount = (struct taskspec_mount[]){{"/a", "/run/determined"}, {"/b", "/c", .read_only = true}},
        .mount_n = 2,
        .spool_max = 1 << 20,
        .drop_capabilities = UINT64_MAX - 1,
        .image = "a/b:1",
        .engine = "docker",
        .own_processes = true,
        .limit = {.memory_bytes = 7, .memory_asked = true},
        .shm_bytes = UINT64_C(5) << 40,
        .place = (struct taskspec_place[]){{"/data", 7, UINT64_MAX}},
        .place_n = 1,
        .passwd_line = "ada:x:7:7::/:/bin/sh",
        .command = (char *[]){"apptainer", "exec", NULL},
        .command_env = (char *[]){"HOME=/", NULL},
        .probe = (char *[]){"apptainer", NULL},
        .command_may_gain = true,
    };
    struct strbuf out = STRBUF_INIT;
    struct arena a = ARENA_INIT;
    struct taskspec got;
    taskspec_encode(&s, &out);
    assert_int_equal(taskspec_decode(out.s, out.n, &a, &got, NULL), 0);
    assert_string_equal(got.argv[2], "echo hi");
    assert_null(got.argv[3]);
    assert_string_equal(got.env[1], "EMPTY=");
    assert_int_equal(got.group_n, 2);
    assert_int_equal(got.group[1], 8);
    assert_string_equal(got.oom_file, s.oom_file);
    assert_string_equal(got.log_links, "");
    assert_int_equal(got.spool_max, 1 << 20);
    assert_int_equal(got.drop_capabilities, UINT64_MAX - 1);
    assert_int_equal(got.mount_n, 2);
    assert_string_equal(got.mount[1].target, "/c");
    assert_true(got.mount[1].read_only && !got.mount[1].make_source && !got.mount[0].read_only);
    assert_string_equal(got.image, "a/b:1");
    assert_string_equal(got.engine, "docker");
    assert_int_equal(got.place_n, 1);
    assert_string_equal(got.place[0].target, "/data");
    assert_true(got.place[0].dev == 7 && got.place[0].ino == UINT64_MAX);
    assert_true(got.limit.memory_bytes == 7 && got.limit.memory_asked);
    assert_true(got.own_processes && !got.isolated && got.shm_bytes == s.shm_bytes);
    assert_string_equal(got.passwd_line, s.passwd_line);
    assert_string_equal(got.command[1], "exec");
    assert_string_equal(got.command_env[0], "HOME=/");
    assert_null(got.probe[1]);
    assert_true(got.command_may_gain && taskspec_has_command(&got) && !taskspec_is_in_container(&got));
    got.command[0] = NULL;
    assert_true(!taskspec_has_command(&got) && taskspec_is_in_container(&got));
    for (size_t n = 0; n < out.n; n++)
        assert_int_equal(taskspec_decode(out.s, n, &a, &got, NULL), -1);
    arena_release(&a);
    strbuf_release(&out);
}

/* A supervisor that was started before an update of the agent runs on, and what it has left is adopted by a new one. */
static void test_taskspec__of_an_older_agent_is_read(void **state)
{
    struct taskspec s = {
        .argv = (char *[]){"sh", NULL}, .cwd = "/", .image = "a/b:1", .engine = "apptainer", .shm_bytes = 5};
    struct strbuf out = STRBUF_INIT;
    struct arena a = ARENA_INIT;
    struct taskspec got;
    taskspec_encode(&s, &out);
    out.n -= 3 * sizeof(uint32_t); /* the text ended before the commands, of which there are none here */
    out.s[3] = '5';
    assert_int_equal(taskspec_decode(out.s, out.n, &a, &got, NULL), 0);
    assert_true(got.shm_bytes == 5 && !taskspec_has_command(&got) && taskspec_is_in_container(&got));
    arena_release(&a);
    strbuf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frame__comes_back_as_it_went),
        cmocka_unit_test(test_exit_frame__keeps_kind_code_and_text),
        cmocka_unit_test(test_decoder__refuses_what_cannot_be_a_frame),
        cmocka_unit_test(test_decoder__survives_damage),
        cmocka_unit_test(test_taskspec__comes_back_and_refuses_every_shorter_form),
        cmocka_unit_test(test_taskspec__of_an_older_agent_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
