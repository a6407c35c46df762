#include "cmocka_setup.h"

#include <string.h>

#include "common/base/hex.h"

static void test_hex__writes_two_digits_for_each_byte(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    char text[9];
    hex_encode("\x00\x0f\xa0\xff", 4, text);
    assert_string_equal(text, "000fa0ff");
    hex_encode("", 0, text);
    assert_string_equal(text, "");
    assert_string_equal(hex_in_arena("\x12\xfe", 2, &a), "12fe");
}

static void test_hex__reads_a_digit_of_either_case(void **state)
{
    static const char digits[] = "0123456789abcdef", more[] = "ABCDEF", none[] = "/:@G`g \x10";
    for (int i = 0; i < 16; i++)
        assert_int_equal(hex_digit(digits[i]), i);
    for (int i = 0; i < 6; i++)
        assert_int_equal(hex_digit(more[i]), 10 + i);
    for (const char *c = none; *c; c++)
        assert_int_equal(hex_digit(*c), -1);
}

static void test_uuid__has_its_version_and_its_variant_and_else_what_is_random(void **state)
{
    char text[UUID_TEXT_MAX];
    unsigned char byte[UUID_BYTES];
    for (int i = 0; i < UUID_BYTES; i++)
        byte[i] = (unsigned char)(17 * i);
    uuid_encode(byte, text);
    assert_string_equal(text, "00112233-4455-4677-8899-aabbccddeeff");
    memset(byte, 0xff, sizeof(byte));
    uuid_encode(byte, text);
    assert_string_equal(text, "ffffffff-ffff-4fff-bfff-ffffffffffff");
    memset(byte, 0, sizeof(byte));
    uuid_encode(byte, text);
    assert_string_equal(text, "00000000-0000-4000-8000-000000000000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hex__writes_two_digits_for_each_byte),
        cmocka_unit_test(test_hex__reads_a_digit_of_either_case),
        cmocka_unit_test(test_uuid__has_its_version_and_its_variant_and_else_what_is_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
