/* Tests the codes for which OAuth clients get tokens. */
#include "store/fixture.h"

static int64_t add_code(struct fixture *f)
{
    const struct store_oauth_client c = {
        .id = "c1", .name = "directory", .redirect_uri = "https://a.example.com/", .user_id = 1, .created_us = T0};
    const struct store_oauth_token t = {
        .client_id = "c1", .kind = "CODE", .challenge = "", .created_us = T0, .expiry_us = T0 + DAY_US};
    struct store_oauth_token found;
    OK(f, store_oauth_client_insert(f->st, &c, &f->err));
    OK(f, store_oauth_token_insert(f->st, &t, &f->err));
    OK(f, store_oauth_token_get(f->st, t.token_hash, &f->a, &found, &f->err));
    assert_false(found.used);
    return found.id;
}

static void test_oauth__a_code_is_used_once(void **state)
{
    struct fixture *f = *state;
    fixture_user(f, 1, "admin");
    int64_t id = add_code(f);
    FAILS(f, ERR_NOT_FOUND, "unused code", store_oauth_code_use(f->st, id + 1, &f->err));
    OK(f, store_oauth_code_use(f->st, id, &f->err));
    FAILS(f, ERR_NOT_FOUND, "unused code", store_oauth_code_use(f->st, id, &f->err));
    assert_int_equal(fixture_number(f, "SELECT COUNT(*) FROM oauth_tokens WHERE used = 1"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_oauth__a_code_is_used_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
