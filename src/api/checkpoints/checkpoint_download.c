/* GET /checkpoints/:uuid: downloads a checkpoint through the master, for clients that cannot reach its storage. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "api/checkpoints/checkpoint_archive.h"
#include "api/checkpoints/checkpoint_files.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/raw.h"
#include "api/pipeline/raw_handlers.h"
#include "api/pipeline/request.h"
#include "api/pipeline/stream.h"
#include "common/base/cleanup.h"
#include "common/config/config.h"
#include "common/json/json.h"
#include "common/system/files.h"
#include "common/task/checkpoint_helper.h"
#include "common/task/checkpoint_place.h"
#include "net/http/http.h"
#include "net/loop/pool.h"
#include "store/experiments/checkpoints.h"
#include "store/experiments/removals.h"

struct download {
    struct checkpoint_archive *archive;
    struct checkpoint_helper *helper; /* set instead of `archive` when the checkpoint is in an object store */
    const char *uuid;
    const char *range, *if_range; /* request headers; NULL: not there */
    enum archive_format format;
    struct checkpoint_site site;
    struct stream_head head;
    uint64_t left; /* bytes still to send, if the length is known */
    bool only_head;
};

/* ---- what the client asks for ------------------------------------------------------------------------------------ */

static const struct {
    const char *type;
    enum archive_format format;
} formats[] = {
    {"application/x-tar", ARCHIVE_AS_TAR}, {"application/gzip", ARCHIVE_AS_GZIP},
    {"application/zip", ARCHIVE_AS_ZIP},   {"*/*", ARCHIVE_AS_TAR},
    {"application/*", ARCHIVE_AS_TAR},
};

static const char *type_of(enum archive_format format)
{
    return formats[format].type;
}

/* The first of the list that there is. */
static bool choose_format(const char *accept, enum archive_format *ret)
{
    *ret = ARCHIVE_AS_TAR;
    if (!accept || !*accept)
        return true;
    for (const char *p = accept; *p;) {
        p += strspn(p, ", \t");
        size_t n = strcspn(p, ",; \t");
        for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
            if (strlen(formats[i].type) == n && strncasecmp(p, formats[i].type, n) == 0) {
                *ret = formats[i].format;
                return true;
            }
        }
        p += strcspn(p, ",");
    }
    return false;
}

/* Parses bytes=FIRST-, FIRST-LAST or -SUFFIX. 1: it is a range. 0: it is not understood and therefore ignored. -1:
 * the range has no byte of the archive. */
static int parse_range(const char *text, uint64_t length, uint64_t *ret_first, uint64_t *ret_n)
{
    char *end;
    if (strncmp(text, "bytes=", 6) != 0 || strchr(text, ','))
        return 0;
    text += 6;
    if (*text == '-') {
        uint64_t suffix = strtoull(text + 1, &end, 10);
        if (end == text + 1 || *end)
            return 0;
        *ret_n = suffix < length ? suffix : length;
        *ret_first = length - *ret_n;
        return suffix && length ? 1 : -1;
    }
    if (*text < '0' || *text > '9')
        return 0;
    uint64_t first = strtoull(text, &end, 10), last = length - 1;
    if (*end++ != '-')
        return 0;
    if (*end) {
        if (*end < '0' || *end > '9')
            return 0;
        last = strtoull(end, &end, 10);
        if (*end || last < first)
            return 0;
    }
    if (first >= length)
        return -1;
    *ret_first = first;
    *ret_n = (last < length ? last : length - 1) - first + 1;
    return 1;
}

/* ---- the reply --------------------------------------------------------------------------------------------------- */

static int fetch_archive(struct req *r, enum stream_next *ret_next, struct error *err)
{
    struct download *d = r->state;
    struct strbuf *batch = stream_batch(r);
    bool end = false;
    *ret_next = STREAM_END;
    if (d->only_head)
        return 0;
    if (checkpoint_archive_read(d->archive, STREAM_BATCH_BYTES, batch, &end, err) < 0)
        return error_wrap(err, "checkpoint %s", d->uuid);
    if (d->head.has_length && batch->n > d->left)
        strbuf_truncate(batch, d->left); /* the range ends before the archive does */
    d->left -= d->head.has_length ? batch->n : 0;
    if (d->head.has_length ? d->left > 0 && !end : !end)
        *ret_next = STREAM_MORE;
    if (end && d->head.has_length && d->left > 0)
        return error_set(err, ERR_INTERNAL, "checkpoint %s: the archive ended %" PRIu64 " bytes early", d->uuid,
                         d->left);
    return 0;
}

/* Fetches from an object store. The length is not known, because the archive is made while it is sent. */
static int fetch_from_store(struct req *r, enum stream_next *ret_next, struct error *err)
{
    struct download *d = r->state;
    bool end = true;
    if (!d->only_head && checkpoint_helper_read(d->helper, STREAM_BATCH_BYTES, stream_batch(r), &end, err) < 0)
        return error_wrap(err, "checkpoint %s", d->uuid);
    *ret_next = end ? STREAM_END : STREAM_MORE;
    return 0;
}

static int send_from_store(struct req *r, struct core *core, struct error *err)
{
    const struct download *d = r->state;
    return req_stream_bytes(r, &d->head, fetch_from_store);
}

static int send_archive(struct req *r, struct core *core, struct error *err)
{
    const struct download *d = r->state;
    return req_stream_bytes(r, &d->head, fetch_archive);
}

/* Applies the request's range. A range needs the archive's length. Without a range, the length is sent only if it
 * costs nothing to find out. */
static int set_range(struct req *r, struct download *d, struct error *err)
{
    uint64_t length, first = 0, n;
    const char *range = d->range;
    const char *tag = arena_printf(&r->arena, "\"%s\"", checkpoint_archive_tag(d->archive));
    if (range && d->if_range && strcmp(d->if_range, tag) != 0)
        range = NULL;
    req_add_header(r, "ETag", tag);
    req_add_header(r, "Accept-Ranges", "bytes");
    d->head = (struct stream_head){.status = 200, .content_type = type_of(d->format)};
    if (!range && !d->only_head && d->format != ARCHIVE_AS_TAR)
        return 0;
    if (checkpoint_archive_length(d->archive, &length, err) < 0)
        return -1;
    n = length;
    int rc = range ? parse_range(range, length, &first, &n) : 0;
    if (rc < 0) {
        req_add_header(r, "Content-Range", arena_printf(&r->arena, "bytes */%" PRIu64, length));
        return error_set(err, ERR_OUT_OF_RANGE,
                         "checkpoint %s has %" PRIu64 " bytes, and the range %s has none of them", d->uuid, length,
                         range);
    }
    if (rc > 0) {
        d->head.status = 206;
        req_add_header(r, "Content-Range",
                       arena_printf(&r->arena, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, first, first + n - 1, length));
        checkpoint_archive_skip(d->archive, first);
    }
    d->head.has_length = true;
    d->head.length = d->left = n;
    return 0;
}

static int set_download_reply(struct req *r, int status, const char *message)
{
    r->reply.status = status;
    strbuf_adds(&r->reply.body, "{\"message\":");
    strbuf_add_json(&r->reply.body, message, strlen(message));
    strbuf_adds(&r->reply.body, "}");
    return 0;
}

/* ---- object stores ----------------------------------------------------------------------------------------------- */

static const char *text_of(struct json_object *o, const char *key)
{
    struct json_object *v = NULL;
    return json_object_object_get_ex(o, key, &v) && json_object_is_type(v, json_type_string) ? json_object_get_string(v)
                                                                                             : "";
}

/* Whether the storage is the cluster's own. The master uses its credentials and its network for no other storage:
 * somebody who configures an experiment must not choose what the master reads with them. */
static bool is_clusters_own(struct json_object *storage, struct json_object *own)
{
    static const char *const place[] = {"type",         "bucket",    "prefix",
                                        "endpoint_url", "container", "connection_string",
                                        "account_url"};
    for (size_t i = 0; i < sizeof(place) / sizeof(*place); i++)
        if (strcmp(text_of(storage, place[i]), text_of(own, place[i])) != 0)
            return false;
    return true;
}

static int check_clusters_own(const struct download *d, struct json_object *own, struct error *err)
{
    const char *text = d->site.where.storage ? d->site.where.storage : d->site.where.experiment_config;
    cleanup_json struct json_object *tree = NULL;
    if (json_parse(text ? text : "{}", text ? strlen(text) : 2, &tree, err) < 0)
        return -1;
    struct json_object *storage = d->site.where.storage ? tree : json_object_object_get(tree, "checkpoint_storage");
    if (is_clusters_own(storage, own))
        return 0;
    return error_set(
        err, ERR_PRECONDITION,
        "checkpoint %s is in an object store, or below a prefix, that is not the cluster's own "
        "checkpoint_storage, and the master reads no other; download it where the store can be reached, by det checkpoint "
        "download --mode direct or the library's Checkpoint.download()",
        d->uuid);
}

static int open_store(struct req *r, struct error *err)
{
    static const char *const names[] = {[ARCHIVE_AS_TAR] = "tar", [ARCHIVE_AS_GZIP] = "gzip", [ARCHIVE_AS_ZIP] = "zip"};
    struct download *d = r->state;
    const struct config *c = api_info(r->api)->config;
    struct json_object *own = config_get(c, "checkpoint_storage");
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (check_clusters_own(d, own, err) < 0)
        return -1;
    /* a copy, since other threads read the original: printing a json-c tree stores the text within the tree */
    cleanup_json struct json_object *copy = json_copy(own);
    json_print(copy, &text);
    const char *path = config_str(c, "python_path");
    const struct checkpoint_helper_options o = {.python = config_str(c, "python_executable"),
                                                .storage = text.s,
                                                .uuid = d->uuid,
                                                .python_path = path && *path ? path : path_of_library(&r->arena),
                                                .format = names[d->format],
                                                .own_session = true};
    d->head = (struct stream_head){.status = 200, .content_type = type_of(d->format)};
    if (!d->only_head && checkpoint_helper_start(&o, &d->helper, err) < 0)
        return error_wrap(err, "checkpoint %s", d->uuid);
    req_add_header(r, "Accept-Ranges", "none");
    return req_then_loop(r, send_from_store);
}

/* Opens the checkpoint. Runs on a thread that may wait for the storage. */
static int open_archive(struct req *r, struct error *err)
{
    struct download *d = r->state;
    struct checkpoint_place_open p;
    if (checkpoint_site_open(&d->site, &r->arena, &p, err) < 0)
        return -1;
    int dir = p.found == CHECKPOINT_HERE ? take_fd(p.dir) : -1;
    checkpoint_place_close(&p);
    if (p.in_object_store)
        return open_store(r, err);
    if (p.found == CHECKPOINT_ELSEWHERE)
        return error_set(err, ERR_PRECONDITION,
                         "checkpoint %s cannot be downloaded through the master: %s. Download it where its storage is "
                         "mounted, by det checkpoint download --mode direct",
                         d->uuid, p.why);
    if (p.found == CHECKPOINT_GONE)
        return error_set(err, ERR_NOT_FOUND, "the files of checkpoint %s are not in its storage", d->uuid);
    if (checkpoint_archive_new(dir, d->format, &d->archive, err) < 0)
        return error_wrap(err, "checkpoint %s", d->uuid);
    if (set_range(r, d, err) < 0)
        return err->kind == ERR_OUT_OF_RANGE ? set_download_reply(r, 416, error_msg(err)) : -1;
    return req_then_loop(r, send_archive);
}

static void end_helper(void *worker, void *job)
{
    checkpoint_helper_free(job);
}
static void helper_ended(void *job)
{
}

static void end_download(struct req *r)
{
    struct download *d = r->state;
    if (!d)
        return;
    checkpoint_archive_free(d->archive);
    /* waits for the helper's end on a thread that may wait */
    if (d->helper && pool_submit(r->api->services.transfers, end_helper, helper_ended, d->helper, NULL) < 0)
        checkpoint_helper_free(d->helper);
}

static int find_checkpoint(struct req *r, struct store *db, struct error *err)
{
    struct download *d = r->state;
    struct store_checkpoint c;
    if (store_checkpoint_get(db, d->uuid, &r->arena, &c, err) < 0 ||
        store_checkpoint_site(db, d->uuid, &r->arena, &d->site.where, err) < 0)
        return -1;
    if (strcmp(c.state, "COMPLETED") != 0 && strcmp(c.state, "PARTIALLY_DELETED") != 0)
        return error_set(err, ERR_PRECONDITION,
                         "checkpoint %s is %s; COMPLETED and PARTIALLY_DELETED ones can be downloaded", d->uuid,
                         c.state);
    return req_then_transfer(r, open_archive);
}

static const char *header_of(struct req *r, const char *name)
{
    const char *value = http_request_header(r->http, name);
    return value ? arena_strdup(&r->arena, value) : NULL;
}

int raw_checkpoint(struct req *r, struct core *core, struct error *err)
{
    struct download *d = arena_new(&r->arena, struct download);
    const char *uuid = req_raw_param(r, 0);
    enum archive_format format;
    if (!checkpoint_uuid_is_valid(uuid))
        return error_set(err, ERR_INVALID, "'%.60s' is not a UUID", uuid);
    if (!choose_format(http_request_header(r->http, "Accept"), &format))
        return set_download_reply(
            r, 415, "Accept names none of what there is: application/x-tar, application/gzip, application/zip");
    *d = (struct download){.uuid = uuid,
                           .site = {.uuid = uuid, .roots = api_info(r->api)->storage_roots},
                           .format = format,
                           .range = header_of(r, "Range"),
                           .if_range = header_of(r, "If-Range"),
                           .only_head = http_request_method(r->http) == HTTP_HEAD};
    r->state = d;
    r->on_end = end_download;
    return req_then_read(r, find_checkpoint);
}
