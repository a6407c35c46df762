/* GET /det/customer-assets/logo: the logo of the cluster's owner, from the files that ui_customization.logo_paths
 * names. A file is read anew for each request, on a worker's thread, so that a new logo is seen at once. */
#include <string.h>
#include <strings.h>

#include "api/pipeline/internal.h"
#include "api/pipeline/raw.h"
#include "api/pipeline/raw_handlers.h"
#include "common/config/config.h"
#include "common/system/files.h"
#include "common/system/log.h"

enum { LOGO_MAX_BYTES = 1 << 20 };

/* An SVG is a document, which may have scripts. As an image of a page it does not run them; when it is opened by
 * itself, this policy keeps it from running them. */
#define LOGO_POLICY "default-src 'none'; style-src 'unsafe-inline'; sandbox"

static const struct {
    const char *end, *type;
} types[] = {
    {".svg", "image/svg+xml"}, {".png", "image/png"}, {".jpg", "image/jpeg"},
    {".jpeg", "image/jpeg"},   {".gif", "image/gif"}, {".webp", "image/webp"},
};

static const char *type_of(const char *path)
{
    const char *end = strrchr(path, '.');
    for (size_t i = 0; end && i < sizeof(types) / sizeof(*types); i++)
        if (strcasecmp(types[i].end, end) == 0)
            return types[i].type;
    return NULL;
}

/* Reads one of two words; the first one if the request does not have the parameter. */
static int choose(struct req *r, const char *name, const char *const word[2], const char **ret, struct error *err)
{
    const char *asked;
    if (req_query_param(r, name, &asked, err) < 0)
        return -1;
    *ret = asked ? asked : word[0];
    if (strcmp(*ret, word[0]) != 0 && strcmp(*ret, word[1]) != 0)
        return error_set(err, ERR_INVALID, "%s is \"%.40s\", allowed are %s and %s", name, *ret, word[0], word[1]);
    return 0;
}

int raw_logo(struct req *r, struct error *err)
{
    static const char *const modes[] = {"light", "dark"}, *const orientations[] = {"horizontal", "vertical"};
    const char *mode, *orientation;
    if (choose(r, "mode", modes, &mode, err) < 0 || choose(r, "orientation", orientations, &orientation, err) < 0)
        return -1;
    const char *key = arena_printf(&r->arena, "ui_customization.logo_paths.%s_%s", mode, orientation);
    struct json_object *path = config_get(api_info(r->api)->config, key);
    const char *type = path ? type_of(json_object_get_string(path)) : NULL;
    if (!path)
        return error_set(err, ERR_NOT_FOUND, "this cluster has no logo of its own (ui_customization.logo_paths)");
    if (!type)
        return error_set(
            err, ERR_NOT_FOUND,
            "the logo is no image that browsers show: the file that %s names must end in .svg, .png, .jpg, "
            ".jpeg, .gif or .webp",
            key);
    cleanup_error struct error failed = ERROR_INIT;
    if (file_read(json_object_get_string(path), LOGO_MAX_BYTES, &r->reply.body, &failed) < 0) {
        /* people who have not logged in ask for it, and need not know the paths of the master's machine */
        log_warning("web.logo", "key=%s error=\"%s\"", key, error_msg(&failed));
        return error_set(err, ERR_NOT_FOUND, "the file that %s names cannot be read; the master's log says why", key);
    }
    r->reply.content_type = type;
    req_add_header(r, "Content-Security-Policy", LOGO_POLICY);
    req_add_header(r, "Cache-Control", "no-cache");
    return 0;
}
