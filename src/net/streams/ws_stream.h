/* A WebSocket as a byte stream: each message, binary or text, is the next piece of the bytes. A WebSocket cannot end
 * one direction alone, so byte_stream_end() closes it after what was written, with code 1000.
 *
 * The server's side:
 *     struct ws_handler h;
 *     struct byte_stream *s = ws_stream_new(all, &handler, &h);
 *     if (http_upgrade_ws(request, &h, &ws, err) < 0)
 *         byte_stream_drop(s);
 *     else
 *         ws_stream_begin(s, ws);
 * The client's side: ws_stream_connect(). */
#ifndef DET_NET_STREAMS_WS_STREAM_H
#define DET_NET_STREAMS_WS_STREAM_H

#include "net/streams/byte_stream.h"
#include "net/websocket/ws.h"

/* Makes a stream that has no WebSocket yet, and the handler to make the WebSocket with. */
struct byte_stream *ws_stream_new(struct byte_streams *all, const struct byte_stream_handler *h,
                                  struct ws_handler *ret);
void ws_stream_begin(struct byte_stream *s, struct ws *ws);

/* Connects to a server. A failure is reported by on_close; -1 only for options that cannot work. */
int ws_stream_connect(struct byte_streams *all, const struct ws_client_options *o, const struct byte_stream_handler *h,
                      struct byte_stream **ret, struct error *err);

#endif
