#include "cmocka_setup.h"

#include "common/system/sha256_digits.h"

static void test_sha256_digits__are_the_beginning_of_the_digest(void **state)
{
    char digits[65];
    sha256_digits("abc", 3, 32, digits);
    assert_string_equal(digits, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sha256_digits("abc", 3, 8, digits);
    assert_string_equal(digits, "ba7816bf8f01cfea");
    sha256_digits("", 0, 2, digits);
    assert_string_equal(digits, "e3b0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256_digits__are_the_beginning_of_the_digest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
