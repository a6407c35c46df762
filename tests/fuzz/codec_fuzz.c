/* Any bytes as a message of the contract: "NAME\nTEXT"; another name stands for some message, too.
 *
 * What our decoder accepts json-c must accept, too, and so it must what the encoder makes of it; that again decodes and
 * encodes to the same bytes. A difference aborts. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "gen/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(int holds)
{
    if (!holds)
        abort();
}

static void require_json(const char *s, size_t n)
{
    struct json_tokener *tok = json_tokener_new_ex(200);
    json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    struct json_object *tree = json_tokener_parse_ex(tok, s, (int)n);
    if (json_tokener_get_error(tok) == json_tokener_continue) /* a bare number at the end of the text */
        tree = json_tokener_parse_ex(tok, "", 1);
    require(json_tokener_get_error(tok) == json_tokener_success);
    json_object_put(tree);
    json_tokener_free(tok);
}

static int is_blank(const char *s, size_t n)
{
    return strspn(s, " \t\r\n") >= n;
}

static int read_and_write(const struct codec_message *m, const char *s, size_t n, struct strbuf *out)
{
    struct arena a cleanup_arena = ARENA_INIT;
    struct error err cleanup_error = ERROR_INIT;
    void *msg = arena_alloc(&a, m->size);
    if (codec_decode(m, s, n, &a, msg, &err) < 0) {
        require(err.kind == ERR_INVALID || err.kind == ERR_TOO_LARGE);
        return -1;
    }
    codec_encode(m, msg, out);
    return 0;
}

static const struct codec_message *message_of(const uint8_t *name, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < WIRE_MESSAGES_N; i++)
        if (strlen(wire_messages[i]->name) == n && memcmp(wire_messages[i]->name, name, n) == 0)
            return wire_messages[i];
    for (size_t i = 0; i < n; i++)
        sum = sum * 31 + name[i];
    return wire_messages[sum % WIRE_MESSAGES_N];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const uint8_t *newline = memchr(data, '\n', n);
    if (!newline)
        return 0;
    const struct codec_message *m = message_of(data, (size_t)(newline - data));
    struct strbuf text cleanup_strbuf = STRBUF_INIT, once cleanup_strbuf = STRBUF_INIT,
                       twice cleanup_strbuf = STRBUF_INIT;
    strbuf_add(&text, newline + 1, n - (size_t)(newline - data) - 1);
    if (read_and_write(m, text.s, text.n, &once) < 0)
        return 0;
    if (!is_blank(text.s, text.n))
        require_json(text.s, text.n);
    require_json(once.s, once.n);
    require(read_and_write(m, once.s, once.n, &twice) == 0);
    require(strcmp(once.s, twice.s) == 0);
    return 0;
}
