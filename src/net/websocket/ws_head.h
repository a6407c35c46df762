/* The head of a WebSocket frame (RFC 6455 5.2), and the mask of its body. wslay reads and writes 4 KiB at a time and
 * masks byte by byte; for frames that are a whole binary message, which byte streams consist of, ws.c does it by itself
 * with these functions. All other frames are wslay's. */
#ifndef DET_NET_WEBSOCKET_WS_HEAD_H
#define DET_NET_WEBSOCKET_WS_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WS_HEAD_MAX = 14 };

struct ws_head {
    size_t head_n;     /* bytes of the head */
    uint64_t body_n;   /* bytes of the body, as the head says */
    bool whole_binary; /* a binary message of one frame, without reserved bits and with the shortest form of its length
                        */
    bool masked;
    uint8_t mask[4];
};

/* Reads a head. Returns false if bytes of it are missing. */
bool ws_head_read(const uint8_t *p, size_t n, struct ws_head *ret);
/* Writes the head of a message of one frame, and returns its length. mask: NULL for a server's frame. */
size_t ws_head_write(uint8_t ret[WS_HEAD_MAX], bool is_text, size_t body_n, const uint8_t *mask);
/* Copies n bytes with the mask applied; to and from may be the same. */
void ws_mask_copy(uint8_t *to, const uint8_t *from, size_t n, const uint8_t mask[4]);

#endif
