#include "cmocka_setup.h"

#include <stdlib.h>
#include <string.h>

#include "core/state/gather.h"

static void test_gather__is_complete_when_all_peers_have_given(void **state)
{
    struct gather g = {0};
    assert_int_equal(gather_join(&g, "a", 2, "1", NULL), 0);
    assert_int_equal(gather_join(&g, "a", 2, "2", NULL), 0); /* another call of the same peer replaces its data */
    assert_false(gather_complete(&g));
    assert_int_equal(gather_join(&g, "b", 2, "3", NULL), 0);
    assert_true(gather_complete(&g));
    assert_string_equal(g.now.piece[0].data, "2");
    assert_string_equal(g.now.piece[1].data, "3");
    gather_release(&g);
}

static void test_gather__late_callers_get_the_result_and_new_ones_a_new_round(void **state)
{
    struct gather g = {0};
    gather_join(&g, "a", 1, "1", NULL);
    assert_int_equal(gather_join(&g, "a", 1, "changed", NULL), 0);
    assert_string_equal(g.now.piece[0].data, "1");
    assert_int_equal(gather_join(&g, "c", 2, "9", NULL), 0);
    assert_false(gather_complete(&g));
    const struct gather_round *round = gather_result(&g, "a");
    assert_non_null(round);
    assert_string_equal(round->piece[0].data, "1");
    assert_null(gather_result(&g, "c"));
    gather_release(&g);
}

/* The answer to b1 was lost; meanwhile peer a has opened the next round. */
static void test_gather__a_peer_that_asks_again_late_does_not_join_the_next_round(void **state)
{
    struct gather g = {0};
    gather_join(&g, "a1", 2, "1", NULL);
    gather_join(&g, "b1", 2, "2", NULL);
    gather_join(&g, "a2", 2, "3", NULL);
    assert_int_equal(gather_join(&g, "b1", 2, "2", NULL), 0);
    assert_false(gather_complete(&g));
    assert_string_equal(gather_result(&g, "b1")->piece[0].data, "1");
    gather_join(&g, "b2", 2, "4", NULL);
    assert_true(gather_complete(&g));
    assert_int_equal(gather_result(&g, "a2")->n, 2);
    assert_string_equal(gather_result(&g, "b2")->piece[1].data, "4");
    gather_release(&g);
}

static void test_gather__refuses_what_has_no_bounds(void **state)
{
    struct gather g = {0};
    cleanup_error struct error err = ERROR_INIT;
    char *big = malloc(GATHER_PIECE_MAX + 2);
    memset(big, 'x', GATHER_PIECE_MAX + 1);
    big[GATHER_PIECE_MAX + 1] = '\0';
    assert_int_equal(gather_join(&g, "a", 2, big, &err), -1);
    assert_int_equal(err.kind, ERR_TOO_LARGE);
    assert_int_equal(gather_join(&g, "a", 0, "1", NULL), -1);
    assert_int_equal(gather_join(&g, "a", GATHER_PEERS_MAX + 1, "1", NULL), -1);
    assert_int_equal(gather_join(&g, "", 2, "1", NULL), -1);
    assert_int_equal(gather_join(&g, "a", 2, "1", NULL), 0);
    assert_int_equal(gather_join(&g, "b", 3, "1", NULL), -1); /* the peers do not agree on their number */
    free(big);
    gather_release(&g);
}

/* Each peer gets what all peers have given. So a few bytes of each of many peers may become gigabytes of answers. */
static void test_gather__bounds_the_answers_to_all_peers(void **state)
{
    struct gather g = {0};
    cleanup_error struct error err = ERROR_INIT;
    char piece[16 * 1024], uuid[16];
    memset(piece, 'x', sizeof(piece) - 1);
    piece[sizeof(piece) - 1] = '\0';
    int joined = 0;
    for (int i = 0; i < 512; i++) {
        snprintf(uuid, sizeof(uuid), "%d", i);
        if (gather_join(&g, uuid, 512, piece, &err) < 0)
            break;
        joined++;
    }
    assert_int_equal(joined, 6); /* 6 pieces of 16 KiB, sent to 512 peers, are 48 MiB */
    assert_int_equal(err.kind, ERR_TOO_LARGE);
    gather_release(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gather__is_complete_when_all_peers_have_given),
        cmocka_unit_test(test_gather__late_callers_get_the_result_and_new_ones_a_new_round),
        cmocka_unit_test(test_gather__a_peer_that_asks_again_late_does_not_join_the_next_round),
        cmocka_unit_test(test_gather__refuses_what_has_no_bounds),
        cmocka_unit_test(test_gather__bounds_the_answers_to_all_peers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
