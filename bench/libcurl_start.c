/* The reference for `det`: a program that does nothing but need libcurl, whose thirty libraries the dynamic linker
 * loads. */
#include <curl/curl.h>

int main(void)
{
    return !curl_version();
}
