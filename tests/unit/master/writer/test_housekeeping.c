#include "cmocka_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/pipeline/identity.h"
#include "common/base/clock.h"
#include "common/system/log.h"
#include "master/writer/housekeeping.h"
#include "master/writer/writer.h"
#include "net/loop/loop.h"
#include "store/engine/meta.h"
#include "store/functions.h"
#include "store/store.h"

static int64_t insert_session(struct store *db, uint8_t fill, int64_t expiry_us)
{
    struct store_session s = {.user_id = 1, .kind = "LOGIN", .scope = "ALL", .created_us = 1, .expiry_us = expiry_us};
    int64_t id;
    memset(s.token_hash, fill, sizeof(s.token_hash));
    assert_int_equal(store_session_insert(db, &s, &id, NULL), 0);
    return id;
}

static struct store *store_with_two_sessions(const char *path, int64_t now_us)
{
    struct store *db;
    int64_t epoch;
    struct store_user ann = {.id = 1, .username = "ann", .active = true, .modified_us = 1};
    assert_int_equal(store_open(path, STORE_DURABLE_NORMAL, &db, NULL), 0);
    assert_int_equal(store_next_epoch(db, &epoch, NULL), 0);
    assert_int_equal(store_begin(db, NULL), 0);
    assert_int_equal(store_user_insert(db, &ann, NULL), 0);
    insert_session(db, 1, now_us - 1000000);
    insert_session(db, 2, now_us + 3600000000);
    assert_int_equal(store_commit(db, NULL), 0);
    return db;
}

static void stop_loop(void *ctx)
{
    loop_stop(ctx);
}

/* Two rounds after the first may have happened when the loop stops: what counts is that one did. */
static void test_housekeeping__beats_and_forgets_expired_sessions(void **state)
{
    char dir[] = "/tmp/det-keep-XXXXXX", path[64], command[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/db", dir);
    int64_t now_us = clock_now_us();
    const char *beat = NULL;
    struct loop *l;
    struct writer *w;
    struct housekeeping *h;
    assert_int_equal(loop_new(&l, NULL), 0);
    struct store *db = store_with_two_sessions(path, now_us);
    struct identities *ids = identities_new();
    struct identity_session gone = {.id = 1, .user_id = 1, .expires_at_us = now_us - 1};
    uint8_t hash[TOKEN_HASH_BYTES] = {1};
    identities_put_session(ids, hash, &gone);
    assert_int_equal(writer_new(l, db, &w, NULL), 0);
    assert_int_equal(housekeeping_new(l, w, ids, 1000, -1, &h, NULL), 0);
    struct loop_timer *end = loop_timer_new(l, stop_loop, l);
    loop_timer_arm(end, 50000);
    assert_int_equal(loop_run(l, NULL), 0);
    housekeeping_free(h);
    writer_free(w);

    cleanup_arena struct arena a = ARENA_INIT;
    struct store_session *left;
    size_t n;
    assert_int_equal(identities_session_count(ids), 0);
    assert_int_equal(store_sessions_load(db, 0, &a, &left, &n, NULL), 0);
    assert_int_equal(n, 1);
    assert_int_equal(left[0].token_hash[0], 2);
    assert_int_equal(store_kv_get(db, "heartbeat_us", &a, &beat, NULL), 0);
    assert_true(strtoll(beat, NULL, 10) >= now_us);
    loop_timer_free(end);
    identities_free(ids);
    store_close(db);
    loop_free(l);
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_housekeeping__beats_and_forgets_expired_sessions),
    };
    log_init("test_housekeeping", LOG_WARNING, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
