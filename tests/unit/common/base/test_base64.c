#include "cmocka_setup.h"

#include <string.h>

#include "common/base/base64.h"
#include "common/base/rng.h"

static void assert_pair(const char *plain, const char *encoded)
{
    struct strbuf b cleanup_strbuf = STRBUF_INIT;
    uint8_t out[64];
    size_t n;
    base64_encode(plain, strlen(plain), &b);
    assert_string_equal(b.s, encoded);
    assert_int_equal(base64_decode(encoded, strlen(encoded), out, &n), 0);
    assert_int_equal(n, strlen(plain));
    assert_memory_equal(out, plain, n);
}

/* RFC 4648 §10. */
static void test_base64__agrees_with_the_rfc(void **state)
{
    assert_pair("", "");
    assert_pair("f", "Zg==");
    assert_pair("fo", "Zm8=");
    assert_pair("foo", "Zm9v");
    assert_pair("foob", "Zm9vYg==");
    assert_pair("fooba", "Zm9vYmE=");
    assert_pair("foobar", "Zm9vYmFy");
}

static void test_base64__reads_the_url_alphabet_and_missing_padding(void **state)
{
    uint8_t out[16];
    size_t n;
    assert_int_equal(base64_decode("-_8", 3, out, &n), 0);
    assert_int_equal(n, 2);
    assert_memory_equal(out, "\xfb\xff", 2);
}

static void test_base64__refuses_what_is_none(void **state)
{
    static const char *const bad[] = {"A",    "AAAAA", "A===",     "====",        "AA=A",
                                      "AA A", "AAA\n", "Zg==Zg==", "Z\xc3\xbcg=", "AAA=="};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        uint8_t out[16];
        size_t n;
        if (base64_decode(bad[i], strlen(bad[i]), out, &n) == 0)
            fail_msg("accepted \"%s\"", bad[i]);
    }
}

static void test_base64__any_bytes_come_back_within_the_stated_room(void **state)
{
    struct rng r;
    rng_init(&r, 64);
    for (size_t len = 0; len < 200; len++) {
        uint8_t in[200], out[300];
        struct strbuf b cleanup_strbuf = STRBUF_INIT;
        size_t n;
        rng_bytes(&r, in, len);
        base64_encode(in, len, &b);
        assert_true(base64_decoded_max(b.n) >= len);
        assert_int_equal(base64_decode(b.s, b.n, out, &n), 0);
        assert_int_equal(n, len);
        assert_memory_equal(in, out, len);
    }
}

static void test_base64__the_url_alphabet_has_neither_plus_nor_slash_nor_padding(void **state)
{
    struct strbuf b cleanup_strbuf = STRBUF_INIT;
    strbuf_adds(&b, "x=");
    base64_url_encode("\xfb\xff\xfe\x3f", 4, &b);
    assert_string_equal(strbuf_str(&b), "x=-__-Pw");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base64__agrees_with_the_rfc),
        cmocka_unit_test(test_base64__reads_the_url_alphabet_and_missing_padding),
        cmocka_unit_test(test_base64__refuses_what_is_none),
        cmocka_unit_test(test_base64__the_url_alphabet_has_neither_plus_nor_slash_nor_padding),
        cmocka_unit_test(test_base64__any_bytes_come_back_within_the_stated_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
