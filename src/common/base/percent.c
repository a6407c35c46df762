#include "common/base/percent.h"

#include <stdbool.h>
#include <string.h>

static bool is_letter_or_digit(char c) /* of ASCII, whatever the locale */
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

void strbuf_add_percent(struct strbuf *out, const char *text, const char *plain)
{
    for (; *text; text++) {
        if (is_letter_or_digit(*text) || strchr(plain, *text))
            strbuf_addc(out, *text);
        else
            strbuf_addf(out, "%%%02X", (unsigned char)*text);
    }
}
