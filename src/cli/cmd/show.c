#include "cli/cmd/show.h"

#include "cli/output.h"

int document_show(struct cli *cli, enum route_id id, const void *request, const char *key, struct error *err)
{
    cleanup_json struct json_object *document = NULL;
    if (api_call_document(cli, id, request, &document, err) < 0)
        return -1;
    output_json(cli, json_object_object_get(document, key));
    return 0;
}

static bool document_is_last(struct json_object *document, const char *pages, int32_t *ret_next)
{
    struct json_object *p, *end, *total;
    if (!json_object_object_get_ex(document, "pagination", &p) || !json_object_object_get_ex(p, "endIndex", &end) ||
        !json_object_object_get_ex(p, "total", &total))
        return true;
    *ret_next = json_object_get_int(end);
    return strcmp(pages, "1") == 0 || json_object_get_int(end) >= json_object_get_int(total);
}

int documents_fetch(struct cli *cli, enum route_id id, const void *request, int32_t *offset, const char *key,
                    const char *pages, struct json_object **ret_list, struct error *err)
{
    struct json_object *list = json_object_new_array();
    for (bool last = false; !last;) {
        cleanup_json struct json_object *document = NULL;
        struct json_object *items;
        if (api_call_document(cli, id, request, &document, err) < 0) {
            json_object_put(list);
            return -1;
        }
        size_t n = json_object_object_get_ex(document, key, &items) && items ? json_object_array_length(items) : 0;
        for (size_t i = 0; i < n; i++)
            json_object_array_add(list, json_object_get(json_object_array_get_idx(items, i)));
        last = document_is_last(document, pages, offset) || n == 0;
    }
    *ret_list = list;
    return 0;
}
