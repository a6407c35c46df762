/* Reads checkpoints from object stores, by a process of our Python library, with the credentials of the user who
 * runs det. */
#include "cli/cmd/checkpoint.h"
#include "cli/files/unpack.h"
#include "common/base/cleanup.h"
#include "common/task/checkpoint_helper.h"

enum { CHUNK = 1 << 20 };

struct fetching {
    struct checkpoint_helper *helper;
    struct strbuf chunk;
};

static int next_chunk(void *ctx, const void **ret, size_t *ret_n, struct error *err)
{
    struct fetching *f = ctx;
    bool end = false;
    strbuf_reset(&f->chunk);
    while (f->chunk.n == 0 && !end)
        if (checkpoint_helper_read(f->helper, CHUNK, &f->chunk, &end, err) < 0)
            return -1;
    *ret = f->chunk.s;
    *ret_n = f->chunk.n;
    return 0;
}

int checkpoint_from_store(struct cli *cli, const char *storage, const char *uuid, const char *to, struct error *err)
{
    const struct checkpoint_helper_options o = {
        .python = "python3", .python_path = cli_python_path(cli), .storage = storage, .uuid = uuid, .format = "tar"};
    struct fetching f = {.chunk = STRBUF_INIT};
    int rc = checkpoint_helper_start(&o, &f.helper, err);
    if (rc == 0)
        rc = unpack_tar_from(next_chunk, &f, to, err);
    checkpoint_helper_free(f.helper);
    strbuf_release(&f.chunk);
    return rc;
}
