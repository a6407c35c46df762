#include "cmocka_setup.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/system/process.h"
#include "master/pools/line_program.h"

/* A shell program that answers each question. $id is the number of the question. */
#define ANSWERING(commands) \
    "while read -r line; do id=${line##*\\\"id\\\":}; id=${id%\\}*}; case $line in *open*) echo \"{\\\"id\\\": $id}\";; *) " commands \
    ";; esac; done"

static struct line_program *program_of(const char *script, double timeout_s)
{
    static struct json_object *opening;
    static char *argv[4];
    if (!opening)
        opening = json_object_new_object();
    json_object_object_add(opening, "do", json_object_new_string("open"));
    argv[0] = (char *)"sh";
    argv[1] = (char *)"-c";
    argv[2] = (char *)script;
    return line_program_new(&(struct line_program_opts){
        .name = "p", .argv = argv, .opening = opening, .timeout_us = (int64_t)(timeout_s * 1e6)});
}

static int ask(struct line_program *p, struct json_object **ret, struct error *err)
{
    cleanup_json struct json_object *question = json_object_new_object();
    json_object_object_add(question, "do", json_object_new_string("list"));
    return line_program_ask(p, question, ret, err);
}

static void expect_answer(struct line_program *p, const char *name, const char *value)
{
    cleanup_error struct error err = ERROR_INIT;
    cleanup_json struct json_object *answer = NULL;
    if (ask(p, &answer, &err) < 0)
        fail_msg("%s", error_msg(&err));
    assert_string_equal(json_object_get_string(json_object_object_get(answer, name)), value);
}

static void expect_failure(struct line_program *p, enum error_kind kind, const char *text)
{
    cleanup_error struct error err = ERROR_INIT;
    struct json_object *answer = NULL;
    assert_int_equal(ask(p, &answer, &err), -1);
    assert_null(answer);
    if (!strstr(error_msg(&err), text))
        fail_msg("\"%s\" is not in \"%s\"", text, error_msg(&err));
    assert_int_equal(err.kind, kind);
}

static void test_line_program__is_started_once_and_answers(void **state)
{
    struct line_program *p =
        program_of("echo began >&2;" ANSWERING("echo \"{\\\"id\\\": $id, \\\"pid\\\": \\\"$$\\\"}\""), 60);
    cleanup_json struct json_object *first = NULL;
    assert_int_equal(ask(p, &first, NULL), 0);
    const char *pid = json_object_get_string(json_object_object_get(first, "pid"));
    expect_answer(p, "pid", pid);
    line_program_free(p);
    assert_false(process_alive((pid_t)strtol(pid, NULL, 10)));
}

static void test_line_program__an_answer_with_an_error_is_a_failure_and_the_program_goes_on(void **state)
{
    struct line_program *p =
        program_of(ANSWERING("n=$((n + 1)); [ $n = 1 ] && echo \"{\\\"id\\\": $id, \\\"error\\\": \\\"quota\\\"}\" || "
                             "echo \"{\\\"id\\\": $id, \\\"n\\\": \\\"$n\\\"}\""),
                   60);
    expect_failure(p, ERR_UNAVAILABLE, "quota");
    expect_answer(p, "n", "2");
    line_program_free(p);
}

static void test_line_program__answers_to_other_questions_are_passed_over(void **state)
{
    struct line_program *p = program_of(
        ANSWERING("echo '{\"id\": 77, \"n\": \"old\"}'; echo \"{\\\"id\\\": $id, \\\"n\\\": \\\"new\\\"}\""), 60);
    expect_answer(p, "n", "new");
    line_program_free(p);
}

static void test_line_program__one_that_ends_is_a_failure_with_its_last_words(void **state)
{
    struct line_program *p = program_of(ANSWERING("echo out of luck >&2; exit 3"), 60);
    expect_failure(p, ERR_UNAVAILABLE, "sh ended with exit status 3 before it had answered: out of luck");
    expect_failure(p, ERR_UNAVAILABLE, "exit status 3"); /* the program was started again */
    line_program_free(p);
}

static void test_line_program__one_that_does_not_answer_in_time_is_ended(void **state)
{
    struct line_program *p = program_of(ANSWERING("sleep 1000"), 0.3);
    expect_failure(p, ERR_DEADLINE, "sh has not answered within 0.3 s, and was ended");
    line_program_free(p);
}

static void test_line_program__a_line_that_is_no_json_object_is_shown(void **state)
{
    struct line_program *p = program_of(ANSWERING("echo Traceback"), 60);
    expect_failure(p, ERR_INVALID, "the line \"Traceback\" of sh is no answer");
    line_program_free(p);
    p = program_of(ANSWERING("echo '[1]'"), 60);
    expect_failure(p, ERR_INVALID, "it is no JSON object");
    line_program_free(p);
}

static void test_line_program__one_that_refuses_to_open_is_asked_nothing(void **state)
{
    struct line_program *p =
        program_of("read -r line; echo '{\"id\": 1, \"error\": \"no zone\"}'; read -r line; exit 1", 60);
    expect_failure(p, ERR_UNAVAILABLE, "no zone");
    line_program_free(p);
}

static void test_line_program__one_that_is_not_there_is_named(void **state)
{
    char *argv[] = {(char *)"/no/such/program", NULL};
    struct line_program *p = line_program_new(&(struct line_program_opts){.name = "p", .argv = argv});
    expect_failure(p, ERR_PRECONDITION, "cannot run /no/such/program: No such file or directory");
    line_program_free(p);
}

/* Questions and answers that are longer than a pipe holds pass both ways. */
static void test_line_program__long_lines_pass(void **state)
{
    struct line_program *p = program_of(ANSWERING(
                                            "n=$(printf %s \"$line\" | wc -c); x=$(printf %0200000d 7); "
                                            "echo \"{\\\"id\\\": $id, \\\"n\\\": \\\"$n\\\", \\\"x\\\": \\\"$x\\\"}\""),
                                        60);
    cleanup_json struct json_object *question = json_object_new_object(), *answer = NULL;
    cleanup_error struct error err = ERROR_INIT;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    for (int i = 0; i < 20000; i++)
        strbuf_adds(&text, "0123456789");
    json_object_object_add(question, "x", json_object_new_string(strbuf_str(&text)));
    if (line_program_ask(p, question, &answer, &err) < 0)
        fail_msg("%s", error_msg(&err));
    assert_true(json_object_get_int(json_object_object_get(answer, "n")) > 200000);
    assert_int_equal(json_object_get_string_len(json_object_object_get(answer, "x")), 200000);
    line_program_free(p);
}

static int ignore_broken_pipes(void **state)
{
    signal(SIGPIPE, SIG_IGN); /* as the master does */
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line_program__is_started_once_and_answers),
        cmocka_unit_test(test_line_program__an_answer_with_an_error_is_a_failure_and_the_program_goes_on),
        cmocka_unit_test(test_line_program__answers_to_other_questions_are_passed_over),
        cmocka_unit_test(test_line_program__one_that_ends_is_a_failure_with_its_last_words),
        cmocka_unit_test(test_line_program__one_that_does_not_answer_in_time_is_ended),
        cmocka_unit_test(test_line_program__a_line_that_is_no_json_object_is_shown),
        cmocka_unit_test(test_line_program__one_that_refuses_to_open_is_asked_nothing),
        cmocka_unit_test(test_line_program__one_that_is_not_there_is_named),
        cmocka_unit_test(test_line_program__long_lines_pass),
    };
    return cmocka_run_group_tests(tests, ignore_broken_pipes, NULL);
}
