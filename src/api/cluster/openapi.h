/* The description of the REST routes in OpenAPI 3.1, made from contract/ by tools/gen-openapi. GET /api/v1/openapi.json
 * answers with it. */
#ifndef DET_API_CLUSTER_OPENAPI_H
#define DET_API_CLUSTER_OPENAPI_H

#include <stddef.h>

extern const char openapi_text[]; /* ASCII, without an end mark */
extern const size_t openapi_text_n;

/* The same as a page for people, made by tools/gen-api-page: GET /api/v1/openapi.html. The page has no script and needs
 * nothing from elsewhere. */
extern const char openapi_page[]; /* ASCII, without an end mark */
extern const size_t openapi_page_n;
extern const char openapi_page_style[]; /* the source of its style, as a Content-Security-Policy names it */

#endif
