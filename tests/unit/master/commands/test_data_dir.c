#include "cmocka_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/system/files.h"
#include "gen/config_tables.h"
#include "master/commands/data_dir.h"
#include "master/commands/settings.h"

enum { SIZE = 100 };
static char dir[64];

static int make_scratch(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/test_data_dir.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int drop_scratch(void **state)
{
    (void)state;
    return tree_remove(dir, NULL);
}

/* A configuration with this data directory, and with this agent_token, if it is not "". */
static struct config *config_of(const char *token)
{
    struct config *c = NULL;
    cleanup_error struct error err = ERROR_INIT;
    cleanup_strbuf struct strbuf path = STRBUF_INIT, text = STRBUF_INIT;
    strbuf_addf(&path, "%s/master.yaml", dir);
    strbuf_addf(&text, "data_dir: %s\n", dir);
    if (*token)
        strbuf_addf(&text, "security: {agent_token: \"%s\"}\n", token);
    struct config_input in = {.program = "determined-master", .keys = master_config_keys, .default_file = path.s};
    if (file_write(path.s, text.s, text.n, 0600, &err) < 0 || master_settings_load(&in, &c, &err) < 0)
        fail_msg("%s", error_msg(&err));
    return c;
}

static int find_secret(const char *token, char ret[SIZE], struct error *err)
{
    cleanup_config struct config *c = config_of(token);
    return data_dir_secret(c, "security.agent_token", "the.secret", ret, SIZE, err);
}

static void write_secret(const char *text)
{
    cleanup_free char *path = path_join(dir, "the.secret");
    assert_int_equal(file_write(path, text, strlen(text), 0600, NULL), 0);
}

static void test_secret__is_made_once_and_then_read(void **state)
{
    (void)state;
    char first[SIZE], again[SIZE];
    assert_int_equal(find_secret("", first, NULL), 0);
    assert_int_equal(strlen(first), 64);
    assert_int_equal(find_secret("", again, NULL), 0);
    assert_string_equal(again, first);
}

static void test_secret__of_the_configuration_counts_and_the_file_has_one_line(void **state)
{
    (void)state;
    char secret[SIZE];
    write_secret("of the file\r\nanother line\n");
    assert_int_equal(find_secret("", secret, NULL), 0);
    assert_string_equal(secret, "of the file");
    assert_int_equal(find_secret("given", secret, NULL), 0);
    assert_string_equal(secret, "given");
}

static void test_secret__that_is_too_long_or_empty_is_refused(void **state)
{
    (void)state;
    char secret[SIZE], given[SIZE + 1];
    cleanup_error struct error err = ERROR_INIT;
    memset(given, 'x', SIZE);
    given[SIZE] = '\0';
    assert_int_equal(find_secret(given, secret, &err), -1);
    assert_string_equal(error_msg(&err), "security.agent_token has more than 99 bytes");
    write_secret("\n");
    assert_int_equal(find_secret("", secret, &err), -1);
    assert_non_null(strstr(error_msg(&err), "the.secret is empty; write a secret into it, or remove it for a new one"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_secret__is_made_once_and_then_read, make_scratch, drop_scratch),
        cmocka_unit_test_setup_teardown(test_secret__of_the_configuration_counts_and_the_file_has_one_line,
                                        make_scratch, drop_scratch),
        cmocka_unit_test_setup_teardown(test_secret__that_is_too_long_or_empty_is_refused, make_scratch, drop_scratch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
