#include "cmocka_setup.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/must.h"

static void test_must__gives_memory_and_texts(void **state)
{
    int *number = must_calloc(3, sizeof(*number));
    assert_int_equal(number[0] | number[1] | number[2], 0);
    number[2] = 7;
    number = must_reallocarray(number, 300, sizeof(*number));
    assert_int_equal(number[2], 7);
    char *text = must_strdup("abc"), *part = must_strndup("abcdef", 4), *printed = must_asprintf("%s-%d", text, 5);
    assert_string_equal(text, "abc");
    assert_string_equal(part, "abcd");
    assert_string_equal(printed, "abc-5");
    assert_ptr_equal(must(text), text);
    free(number);
    free(text);
    free(part);
    free(printed);
}

static void test_must__a_size_of_0_is_no_failure(void **state)
{
    char *p = must_malloc(1);
    p = must_realloc(p, 0); /* NULL, or a pointer to nothing */
    free(p);
    free(must_malloc(0));
    free(must_calloc(0, 8));
}

/* A size that no memory can have, in a form that the compiler does not know. */
static volatile size_t too_many = (size_t)1 << 62;
static void ask_for_too_much(void)
{
    free(must_calloc(too_many, 8));
}
static void ask_for_nothing(void)
{
    must(NULL);
}
static void ask_to_grow_too_much(void)
{
    free(must_reallocarray(NULL, too_many, 8));
}

/* The signal that ends a process which calls `ask`. */
static int end_of(void (*ask)(void))
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL);
        close(STDERR_FILENO); /* a sanitizer writes long reports */
        ask();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) != 0 ? SIGABRT : 0;
}

static void test_must__where_there_is_none_the_program_ends(void **state)
{
    assert_int_equal(end_of(ask_for_nothing), SIGABRT);
    assert_int_equal(end_of(ask_for_too_much), SIGABRT);
    assert_int_equal(end_of(ask_to_grow_too_much), SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_must__gives_memory_and_texts),
        cmocka_unit_test(test_must__a_size_of_0_is_no_failure),
        cmocka_unit_test(test_must__where_there_is_none_the_program_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
