#include "net/websocket/ws_head.h"

#include <string.h>

enum { FIN = 0x80, TEXT = 1, BINARY = 2, MASKED = 0x80, LENGTH_16 = 126, LENGTH_64 = 127 };

static uint64_t read_number(const uint8_t *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v = v << 8 | p[i];
    return v;
}

bool ws_head_read(const uint8_t *p, size_t n, struct ws_head *ret)
{
    if (n < 2)
        return false;
    unsigned form = p[1] & 0x7fu;
    size_t number_n = form == LENGTH_16 ? 2 : form == LENGTH_64 ? 8 : 0;
    struct ws_head h = {.masked = p[1] & MASKED};
    h.head_n = 2 + number_n + (h.masked ? 4 : 0);
    if (n < h.head_n)
        return false;
    h.body_n = number_n ? read_number(p + 2, number_n) : form;
    bool shortest = number_n == 0 || (number_n == 2 && h.body_n >= LENGTH_16) ||
                    (number_n == 8 && h.body_n > UINT16_MAX);
    h.whole_binary = p[0] == (FIN | BINARY) && shortest;
    if (h.masked)
        memcpy(h.mask, p + 2 + number_n, sizeof(h.mask));
    *ret = h;
    return true;
}

size_t ws_head_write(uint8_t ret[WS_HEAD_MAX], bool is_text, size_t body_n, const uint8_t *mask)
{
    unsigned form = body_n < LENGTH_16 ? (unsigned)body_n : body_n <= UINT16_MAX ? LENGTH_16 : LENGTH_64;
    size_t number_n = form == LENGTH_16 ? 2 : form == LENGTH_64 ? 8 : 0;
    ret[0] = FIN | (is_text ? TEXT : BINARY);
    ret[1] = (uint8_t)(form | (mask ? MASKED : 0));
    for (size_t i = 0; i < number_n; i++)
        ret[2 + i] = (uint8_t)((uint64_t)body_n >> (8 * (number_n - 1 - i)));
    if (mask)
        memcpy(ret + 2 + number_n, mask, 4);
    return 2 + number_n + (mask ? 4 : 0);
}

void ws_mask_copy(uint8_t *to, const uint8_t *from, size_t n, const uint8_t mask[4])
{
    uint8_t twice[8];
    uint64_t word, eight;
    size_t i = 0;
    memcpy(twice, mask, 4);
    memcpy(twice + 4, mask, 4);
    memcpy(&eight, twice, sizeof(eight));
    for (; i + sizeof(word) <= n; i += sizeof(word)) {
        memcpy(&word, from + i, sizeof(word));
        word ^= eight;
        memcpy(to + i, &word, sizeof(word));
    }
    for (; i < n; i++)
        to[i] = from[i] ^ mask[i % 4];
}
