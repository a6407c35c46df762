#include "cmocka_setup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/system/lazy_library.h"

static void test_lazy_library__fills_the_table_in_the_order_of_the_names(void **state)
{
    static const char *const name[] = {"strlen", "abs"};
    struct {
        size_t (*length)(const char *);
        int (*absolute)(int);
    } table;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(lazy_library_load("libc.so.6", "libc6", name, 2, &table, &err), 0);
    assert_int_equal(table.length("four"), 4);
    assert_int_equal(table.absolute(-7), 7);
}

static void test_lazy_library__a_library_or_function_that_is_missing_names_the_package(void **state)
{
    static const char *const name[] = {"no_such_function_of_libc"};
    void *table[1];
    cleanup_error struct error none = ERROR_INIT, old = ERROR_INIT;
    assert_int_equal(lazy_library_load("libnowhere.so.9", "libnowhere9", name, 1, table, &none), -1);
    assert_non_null(strstr(error_msg(&none), "libnowhere.so.9 cannot be loaded: "));
    assert_non_null(strstr(error_msg(&none), "install it (Debian: apt install libnowhere9)"));
    assert_int_equal(lazy_library_load("libc.so.6", "libc6", name, 1, table, &old), -1);
    assert_string_equal(error_msg(&old),
                        "libc.so.6 on this machine has no function no_such_function_of_libc; install a newer "
                        "one (Debian: apt install libc6)");
}

static void test_lazy_library__a_program_that_cannot_go_on_ends_with_the_sentence(void **state)
{
    cleanup_error struct error err = ERROR_INIT;
    int said[2], status;
    char text[64] = "";
    error_set(&err, ERR_PRECONDITION, "no library");
    assert_int_equal(pipe(said), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(said[1], 2);
        lazy_library_give_up(&err);
    }
    close(said[1]);
    assert_true(read(said[0], text, sizeof(text) - 1) > 0);
    assert_string_equal(text, "no library\n");
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
