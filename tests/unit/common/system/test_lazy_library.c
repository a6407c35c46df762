#include "cmocka_setup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/system/lazy_library.h"

#define FUNCTIONS(X) X(strlen) X(abs)
static struct {
    FUNCTIONS(LAZY_MEMBER)
} table;
static const struct lazy_library of_c[] = {LAZY_LIBRARY("libc.so.6", "libc6", FUNCTIONS, table)};
static struct lazy_libraries libraries = LAZY_LIBRARIES(of_c);

static void test_lazy_library__fills_the_table_in_the_order_of_the_names(void **state)
{
    cleanup_error struct error err = ERROR_INIT;
    for (int time = 0; time < 2; time++) {
        assert_int_equal(lazy_libraries_load(&libraries, &err), 0);
        lazy_libraries_need(&libraries);
        assert_int_equal(table.strlen_("four"), 4);
        assert_int_equal(table.abs_(-7), 7);
    }
}

static void *no_table[1];
static const char *const no_name[] = {"no_such_function_of_libc"};
#define WITHOUT(so_file, debian_package) \
    {.file = (so_file), .package = (debian_package), .name = no_name, .n = 1, .table = no_table}
static const struct lazy_library nowhere[] = {WITHOUT("libnowhere.so.9", "libnowhere9")},
                                 too_old[] = {WITHOUT("libc.so.6", "libc6")};
static struct lazy_libraries missing = LAZY_LIBRARIES(nowhere), old = LAZY_LIBRARIES(too_old);

static void test_lazy_library__a_library_or_function_that_is_missing_names_the_package(void **state)
{
    cleanup_error struct error first = ERROR_INIT, again = ERROR_INIT, of_old = ERROR_INIT;
    assert_int_equal(lazy_libraries_load(&missing, &first), -1);
    assert_non_null(strstr(error_msg(&first), "libnowhere.so.9 cannot be loaded: "));
    assert_non_null(strstr(error_msg(&first), "install it (Debian: apt install libnowhere9)"));
    assert_int_equal(lazy_libraries_load(&missing, &again), -1);
    assert_string_equal(error_msg(&again), error_msg(&first));
    assert_int_equal(lazy_libraries_load(&old, &of_old), -1);
    assert_string_equal(error_msg(&of_old),
                        "libc.so.6 on this machine has no function no_such_function_of_libc; install a newer "
                        "one (Debian: apt install libc6)");
}

static void test_lazy_library__a_program_that_cannot_go_on_ends_with_the_sentence(void **state)
{
    int said[2], status;
    char text[64] = "";
    assert_int_equal(pipe(said), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(said[1], 2);
        lazy_libraries_need(&old);
        _exit(0);
    }
    close(said[1]);
    assert_true(read(said[0], text, sizeof(text) - 1) > 0);
    assert_non_null(strstr(text, "libc.so.6 on this machine has no function"));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    close(said[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lazy_library__fills_the_table_in_the_order_of_the_names),
        cmocka_unit_test(test_lazy_library__a_library_or_function_that_is_missing_names_the_package),
        cmocka_unit_test(test_lazy_library__a_program_that_cannot_go_on_ends_with_the_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
