/* Any frames of a peer, for either side of the multiplexer of byte streams. The first byte chooses the side; then
 * frames follow, each after two bytes of its length. Between frames the user of the streams does what the length's
 * upper bits say. However it goes, each stream is told of its end once, and no window is overrun. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/streams/mux.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { OWNERS = 512 };

struct owner {
    struct mux_stream *s;
    size_t waits;
    int accepted, closed;
};

static struct owner owners[OWNERS];
static size_t owner_n;

static void require(int holds)
{
    if (!holds)
        abort();
}

static void on_asked(void *ctx, struct mux_stream *s, const char *name)
{
    require(strlen(name) > 0 && strlen(name) <= MUX_NAME_MAX);
    if (owner_n == OWNERS) {
        mux_refuse(s, "enough");
        return;
    }
    owners[owner_n].s = s;
    mux_set_owner(s, &owners[owner_n++]);
}

static void on_accepted(void *owner)
{
    require(!((struct owner *)owner)->closed);
}

static void on_data(void *owner, const void *data, size_t n)
{
    struct owner *o = owner;
    o->waits += n;
    require(!o->closed && n > 0 && n <= MUX_DATA_MAX && o->waits <= MUX_WINDOW_MAX);
}

static void on_end(void *owner)
{
    require(!((struct owner *)owner)->closed);
}

static void on_closed(void *owner, const char *why)
{
    struct owner *o = owner;
    require(!o->closed && (!why || strlen(why) <= MUX_REASON_MAX));
    o->closed = 1;
    o->s = NULL;
}

static void act(struct owner *o, unsigned what)
{
    if (!o->s)
        return;
    switch (what) {
    case 0:
        mux_consumed(o->s, o->waits);
        o->waits = 0;
        break;
    case 1:
        mux_write(o->s, "some bytes of ours", 18);
        break;
    case 2:
        mux_finish(o->s);
        break;
    default:
        mux_close(o->s, "because");
        o->closed = 1;
        o->s = NULL;
    }
}

static void send_frames(struct mux *m)
{
    static uint8_t bytes[MUX_DATA_MAX];
    struct mux_frame frame;
    struct mux_sent sent;
    while (mux_next(m, &frame, &sent)) {
        require(frame.body_n <= MUX_DATA_MAX);
        if (frame.body_n)
            memcpy(bytes, frame.body, frame.body_n); /* the body is there */
        if (sent.over) {
            ((struct owner *)sent.owner)->closed = 1;
            ((struct owner *)sent.owner)->s = NULL;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const struct mux_handler h = {
        .on_asked = on_asked, .on_accepted = on_accepted, .on_data = on_data, .on_end = on_end, .on_closed = on_closed};
    bool opens = n > 0 && data[0] & 1;
    struct mux *m = mux_new(opens, 64, &h);
    memset(owners, 0, sizeof(owners));
    owner_n = 0;
    for (; opens && owner_n < 4; owner_n++)
        mux_open(m, "container:80", &owners[owner_n], &owners[owner_n].s, NULL);
    send_frames(m);
    for (size_t at = 1, length; at + 2 <= n; at += 2 + length) {
        unsigned what = data[at + 1];
        length = (size_t)data[at] | (size_t)(what & 0x0f) << 8;
        if (length > n - at - 2)
            length = n - at - 2;
        if (mux_receive(m, data + at + 2, length, NULL) < 0)
            break;
        struct owner *o = &owners[what >> 6];
        if (!opens && o->s && !o->accepted && (what & 0x30) == 0x30) {
            o->accepted = 1;
            mux_accept(o->s);
        } else {
            act(o, (what >> 4) & 3);
        }
        send_frames(m);
    }
    mux_end(m, "the end");
    for (size_t i = 0; i < owner_n; i++)
        require(owners[i].closed && !owners[i].s);
    mux_free(m);
    return 0;
}
