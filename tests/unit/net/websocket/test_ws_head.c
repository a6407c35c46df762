#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "net/websocket/ws_head.h"

static const uint8_t mask[4] = {0x37, 0xfa, 0x21, 0x3d};

static void test_ws_head__each_form_of_the_length_is_read_as_it_was_written(void **state)
{
    static const size_t lengths[] = {0, 1, 125, 126, 65535, 65536, (size_t)1 << 40};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        for (int masked = 0; masked < 2; masked++) {
            uint8_t head[WS_HEAD_MAX];
            struct ws_head h;
            size_t n = ws_head_write(head, /* is_text= */ false, lengths[i], masked ? mask : NULL);
            for (size_t part = 0; part < n; part++)
                assert_false(ws_head_read(head, part, &h));
            assert_true(ws_head_read(head, n, &h));
            assert_true(h.head_n == n && h.body_n == lengths[i] && h.whole_binary && h.masked == (masked != 0));
            assert_true(!masked || memcmp(h.mask, mask, 4) == 0);
        }
}

static void test_ws_head__what_is_no_whole_binary_message_is_left_to_wslay(void **state)
{
    static const struct {
        const char *what;
        uint8_t head[WS_HEAD_MAX];
        size_t n;
    } rows[] = {
        {"text", {0x81, 5}, 2},
        {"a fragment", {0x02, 5}, 2},
        {"the last fragment", {0x80, 5}, 2},
        {"a ping", {0x89, 5}, 2},
        {"a close frame", {0x88, 2}, 2},
        {"a reserved bit", {0xc2, 5}, 2},
        {"a length in too many bytes", {0x82, 126, 0, 5}, 4},
        {"a length in far too many bytes", {0x82, 127, 0, 0, 0, 0, 0, 0, 255, 255}, 10},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ws_head h;
        assert_true(ws_head_read(rows[i].head, rows[i].n, &h));
        if (h.whole_binary)
            fail_msg("%s", rows[i].what);
    }
}

static void test_ws_mask_copy__is_its_own_reverse_at_every_length(void **state)
{
    uint8_t data[40], there[40], back[40];
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(7 * i);
    for (size_t n = 0; n <= sizeof(data); n++) {
        ws_mask_copy(there, data, n, mask);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(there[i], data[i] ^ mask[i % 4]);
        ws_mask_copy(back, there, n, mask);
        assert_memory_equal(back, data, n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ws_head__each_form_of_the_length_is_read_as_it_was_written),
        cmocka_unit_test(test_ws_head__what_is_no_whole_binary_message_is_left_to_wslay),
        cmocka_unit_test(test_ws_mask_copy__is_its_own_reverse_at_every_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
