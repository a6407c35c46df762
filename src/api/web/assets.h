/* The files of the web interface, which tools/build-web puts into the master's program. */
#ifndef DET_API_WEB_ASSETS_H
#define DET_API_WEB_ASSETS_H

#include <stdbool.h>
#include <stddef.h>

struct web_bytes {
    const unsigned char *data; /* NULL: the file is not there in this form */
    size_t n;
};

struct web_asset {
    const char *path; /* below /det/, such as "assets/index-4fd7a1c2.js" */
    const char *content_type;
    const char *tag; /* a hash of the content */
    bool hashed;     /* the path has a hash of the content in it, so what lies at this path never changes */
    struct web_bytes plain, gzip, brotli;
};

extern const struct web_asset web_assets[]; /* sorted by path */
extern const size_t web_asset_n;            /* 0: the master was built without the web interface */

#endif
