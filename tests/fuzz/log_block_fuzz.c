/* Any bytes as a stored block of log lines, of either version. What is read lies inside of what was unpacked, and
 * written again it reads back the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/logs/log_block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(int holds)
{
    if (!holds)
        abort();
}

static int read_block(struct log_block *b, const void *data, size_t n, struct store_log_line **ret, size_t *ret_n)
{
    struct error err cleanup_error = ERROR_INIT;
    const char *text;
    size_t text_n;
    if (log_block_open(b, data, n, &text, &text_n, &err) == 0 && log_block_lines(b, 1, ret, ret_n, &err) == 0)
        return 0;
    require(err.kind != ERR_NONE);
    return -1;
}

static void require_same(const struct store_log_line *a, const struct store_log_line *b)
{
    require(a->id == b->id && a->time_us == b->time_us && a->level == b->level && a->rank == b->rank);
    require(a->text_n == b->text_n && (a->text_n == 0 || memcmp(a->text, b->text, a->text_n) == 0));
    require(strcmp(a->source ? a->source : "", b->source ? b->source : "") == 0);
    require(strcmp(a->container_id ? a->container_id : "", b->container_id ? b->container_id : "") == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct log_block *first = log_block_new(), *second = log_block_new();
    struct strbuf again cleanup_strbuf = STRBUF_INIT;
    struct store_log_line *line, *line_again;
    size_t line_n, again_n;
    if (read_block(first, data, n, &line, &line_n) == 0 && line_n > 0) {
        log_block_encode(line, line_n, LOG_BLOCK_QUICK, &again);
        require(read_block(second, again.s, again.n, &line_again, &again_n) == 0 && again_n == line_n);
        for (size_t i = 0; i < line_n; i++)
            require_same(&line[i], &line_again[i]);
    }
    log_block_free(first);
    log_block_free(second);
    return 0;
}
