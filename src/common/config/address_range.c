#include "common/config/address_range.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

int address_parse(const char *text, size_t n, struct address *ret)
{
    char copy[ADDRESS_TEXT_MAX];
    const char *colon = memchr(text, ':', n);
    if (n > 0 && text[0] == '[') { /* [2001:db8::1]:443 */
        const char *end = memchr(text, ']', n);
        if (!end)
            return -1;
        n = (size_t)(end - ++text);
    } else if (colon && !memchr(colon + 1, ':', n - (size_t)(colon + 1 - text))) { /* 192.0.2.1:443 */
        n = (size_t)(colon - text);
    }
    if (n >= sizeof(copy))
        return -1;
    memcpy(copy, text, n);
    copy[n] = 0;
    struct address a;
    memcpy(a.byte, mapped, sizeof(mapped));
    if (inet_pton(AF_INET, copy, a.byte + 12) != 1 && inet_pton(AF_INET6, copy, a.byte) != 1)
        return -1;
    *ret = a;
    return 0;
}

bool address_is_ipv4(const struct address *a)
{
    return memcmp(a->byte, mapped, sizeof(mapped)) == 0;
}

bool address_is_loopback(const struct address *a)
{
    static const uint8_t one[16] = {[15] = 1};
    return address_is_ipv4(a) ? a->byte[12] == 127 : memcmp(a->byte, one, sizeof(one)) == 0;
}

void address_network(const struct address *a, struct address *ret)
{
    *ret = *a;
    if (!address_is_ipv4(a))
        memset(ret->byte + 8, 0, 8);
}

void address_text(const struct address *a, char ret[ADDRESS_TEXT_MAX])
{
    bool v4 = address_is_ipv4(a);
    inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? a->byte + 12 : a->byte, ret, ADDRESS_TEXT_MAX);
}

int address_range_parse(const char *text, struct address_range *ret, struct error *err)
{
    const char *slash = strchr(text, '/');
    struct address_range r;
    if (address_parse(text, slash ? (size_t)(slash - text) : strlen(text), &r.base) < 0)
        return error_set(err, ERR_INVALID, "\"%s\" is neither an IP address nor a range such as 10.0.0.0/8 or fd00::/8",
                         text);
    int all = address_is_ipv4(&r.base) ? 32 : 128;
    char *end = NULL;
    long bits = slash ? strtol(slash + 1, &end, 10) : all;
    if (slash && (end == slash + 1 || *end || bits < 0 || bits > all))
        return error_set(err, ERR_INVALID, "the number behind the slash of \"%s\" must be 0 to %d", text, all);
    r.bits = (int)bits + 128 - all;
    *ret = r;
    return 0;
}

bool address_range_holds(const struct address_range *r, const struct address *a)
{
    int whole = r->bits / 8, rest = r->bits % 8;
    if (memcmp(r->base.byte, a->byte, (size_t)whole) != 0)
        return false;
    return rest == 0 || ((r->base.byte[whole] ^ a->byte[whole]) >> (8 - rest)) == 0;
}
