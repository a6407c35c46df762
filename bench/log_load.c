/* A load client for task logs: what the text is, and how fast a master takes it, durable before it answers.
 *
 *     log_load post  PORT TOKEN TASK LINES CLIENTS [fresh]     POST /api/v1/task/logs, batches of 1,000
 *     log_load agent PORT TOKEN TASK LINES CLIENTS             batches of 1,000 over an agent's connection each
 *     log_load write FILE LINES                                the text alone; and how fast zstd packs it, bare
 *
 * Without `fresh` each client sends the same eight batches over and over, made before the clock starts, of lines of
 * exactly 100 bytes; with it every line is another one, as a training run on four ranks prints them (97 bytes on
 * average): numbers that change in every line, the loss of each rank its own. Prints `what   number unit` lines. */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "common/base/clock.h"
#include "common/base/strbuf.h"

enum { BATCH = 1000, PREPARED = 8, WINDOW = 8, RANKS = 4, CLIENTS_MAX = 64 };

static const char *port, *token, *task;
static long lines_each;
static bool fresh;

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "log_load: %s: %s\n", what, errno ? strerror(errno) : "not as expected");
    exit(1);
}

static long number_of(const char *text)
{
    return strtol(text, NULL, 10);
}

/* ---- the text ---------------------------------------------------------------------------------------------------- */

struct training {
    uint64_t rng;
    long step;
    int rank;
    double grad, rate;
};

static double uniform(struct training *t)
{
    t->rng = t->rng * 6364136223846793005u + 1442695040888963407u;
    return (double)(t->rng >> 11) / (double)(1ull << 53);
}

static double noise(struct training *t)
{
    return uniform(t) + uniform(t) + uniform(t) - 1.5;
}

/* Writes one line with its newline; one line in forty differs from the usual form. */
static size_t next_line(struct training *t, char out[256])
{
    if (t->rank == RANKS) {
        t->rank = 0;
        if (t->step % 10 == 0)
            return (size_t)snprintf(out, 256, "INFO: data.py:88: shard %05ld read in %.2f s, %d samples, queue %d\n",
                                    t->step / 10 % 512, 1.2 + 2 * uniform(t), 8000 + (int)(1000 * uniform(t)),
                                    1 + (int)(16 * uniform(t)));
        if (t->step % 100 == 1)
            return (size_t)snprintf(out, 256,
                                    "WARNING: /usr/lib/python3/dist-packages/torch/optim/lr_scheduler.py:143: "
                                    "UserWarning: Detected call of `lr_scheduler.step()` before `optimizer.step()`.\n");
    }
    if (t->rank == 0) {
        t->step++;
        t->grad = 1 + 0.4 * noise(t);
        t->rate = 1520 + 30 * noise(t);
    }
    t->rank++;
    double loss = 1.9 + 5.1 * exp(-(double)t->step / 30000) + 0.1 * noise(t);
    double lr = 3e-4 * (t->step < 2000 ? (double)t->step / 2000 : 1);
    return (size_t)snprintf(out, 256,
                            "INFO: train.py:214: epoch %ld step %ld loss %.4f lr %.3e grad_norm %.3f %.1f samples/s\n",
                            t->step / 5000, t->step, loss, lr, t->grad, t->rate);
}

/* Writes a line of exactly 100 bytes. */
static size_t next_even_line(struct training *t, char out[256])
{
    size_t n = next_line(t, out);
    while (n < 100)
        out[n++ - 1] = ' ';
    out[99] = '\n';
    out[100] = '\0';
    return 100;
}

static size_t a_line(struct training *t, char out[256])
{
    return fresh ? next_line(t, out) : next_even_line(t, out);
}

static void add_line_json(struct training *t, int64_t time_us, bool posted, struct strbuf *out)
{
    char text[256], time[CLOCK_TEXT_MAX];
    int rank = t->rank % RANKS;
    size_t n = a_line(t, text);
    clock_format(time_us, time);
    if (posted)
        strbuf_addf(
            out,
            "{\"taskId\":\"%s\",\"allocationId\":\"%s.1\",\"agentId\":\"agent-1\",\"containerId\":\"c0ffee00-%d\",",
            task, task, rank);
    else
        strbuf_addc(out, '{');
    strbuf_addf(
        out,
        "\"rankId\":%d,\"timestamp\":\"%s\",\"level\":\"LOG_LEVEL_INFO\",\"source\":\"task\",\"stdtype\":\"stdout\",\"log\":",
        rank, time);
    strbuf_add_json(out, text, n);
    strbuf_addc(out, '}');
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

static int connect_master(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)number_of(port)),
                            .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
        fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

static void send_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t w = write(fd, p, n);
        if (w <= 0)
            fail("write");
        p += w;
        n -= (size_t)w;
    }
}

/* Reads a reply and checks its status; all replies of these routes come in one piece. */
static void expect_reply(int fd, const char *status)
{
    char buf[4096];
    size_t n = 0;
    do {
        ssize_t r = read(fd, buf + n, sizeof(buf) - 1 - n);
        if (r <= 0)
            fail("read");
        n += (size_t)r;
        buf[n] = '\0';
    } while (!strstr(buf, "\r\n\r\n"));
    if (strncmp(buf, status, strlen(status)) != 0) {
        fprintf(stderr, "log_load: %s\n", buf);
        exit(1);
    }
}

/* ---- a client that posts ----------------------------------------------------------------------------------------- */

static void make_post(struct training *t, struct strbuf *out)
{
    struct strbuf body = STRBUF_INIT;
    int64_t now = clock_now_us();
    strbuf_adds(&body, "{\"logs\":[");
    for (int i = 0; i < BATCH; i++) {
        if (i)
            strbuf_addc(&body, ',');
        add_line_json(t, now + i / 8 * 1000 + i % 8, true, &body);
    }
    strbuf_adds(&body, "]}");
    strbuf_reset(out);
    strbuf_addf(
        out,
        "POST /api/v1/task/logs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"
        "Content-Length: %zu\r\n\r\n",
        token, body.n);
    strbuf_add(out, body.s, body.n);
    strbuf_release(&body);
}

static pthread_barrier_t ready;

static void *post_client(void *ctx)
{
    struct training t = {.rng = 7 + (uintptr_t)ctx, .step = (long)(uintptr_t)ctx * 1000000};
    struct strbuf request[PREPARED] = {0};
    int fd = connect_master();
    for (int i = 0; i < PREPARED; i++)
        make_post(&t, &request[i]);
    pthread_barrier_wait(&ready);
    for (long sent = 0; sent < lines_each; sent += BATCH) {
        struct strbuf *r = &request[sent / BATCH % PREPARED];
        if (fresh && sent)
            make_post(&t, r);
        send_all(fd, r->s, r->n);
        expect_reply(fd, "HTTP/1.1 200");
    }
    return NULL;
}

/* ---- a client that is an agent ----------------------------------------------------------------------------------- */

/* Sends a frame as a client; the mask is zero, which leaves the bytes unchanged. */
static void send_frame(int fd, const struct strbuf *text)
{
    unsigned char head[14] = {0x81};
    int bytes = text->n < 126 ? 0 : text->n < 65536 ? 2 : 8; /* bytes of the length after the first one */
    head[1] = (unsigned char)(0x80 | (bytes == 0 ? text->n : bytes == 2 ? 126 : 127));
    for (int i = 0; i < bytes; i++)
        head[2 + i] = (unsigned char)((uint64_t)text->n >> (8 * (bytes - 1 - i)));
    send_all(fd, (char *)head, 2 + (size_t)bytes + 4);
    send_all(fd, text->s, text->n);
}

struct inbox {
    int fd;
    struct strbuf in;
};

/* Returns the next frame's text, which is valid until the next call; the master's frames are short. */
static char *next_frame(struct inbox *b, size_t *used)
{
    static _Thread_local char text[70000];
    strbuf_consume(&b->in, *used);
    for (;;) {
        const unsigned char *p = (const unsigned char *)b->in.s;
        size_t head = b->in.n >= 2 && p[1] == 126 ? 4 : 2;
        if (b->in.n >= head) {
            size_t n = head == 4 ? (size_t)p[2] << 8 | p[3] : p[1];
            if (n > 126 && head == 2)
                fail("a long frame");
            if (b->in.n >= head + n) {
                memcpy(text, p + head, n);
                text[n] = '\0';
                *used = head + n;
                return text;
            }
        }
        strbuf_reserve(&b->in, 65536);
        ssize_t r = read(b->fd, b->in.s + b->in.n, 65536);
        if (r <= 0)
            fail("read of a frame");
        b->in.n += (size_t)r;
    }
}

static void send_greeting(struct inbox *b, int number, size_t *used)
{
    struct strbuf text = STRBUF_INIT;
    strbuf_addf(
        &text,
        "GET /agents?id=load-%d&version=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        number, token);
    send_all(b->fd, text.s, text.n);
    expect_reply(b->fd, "HTTP/1.1 101");
    strbuf_reset(&text);
    strbuf_addf(
        &text,
        "{\"hello\":{\"protocol\":1,\"agentId\":\"load-%d\",\"version\":\"1\",\"resourcePool\":\"default\",\"devices\":[]}}",
        number);
    send_frame(b->fd, &text);
    *used = 0;
    if (!strstr(next_frame(b, used), "\"hello\""))
        fail("no welcome");
    strbuf_release(&text);
}

/* Makes a message, except for the number of its first line. */
static void make_message(struct training *t, struct strbuf *out)
{
    int64_t now = clock_now_us();
    strbuf_adds(out, "\"lines\":[");
    for (int i = 0; i < BATCH; i++) {
        if (i)
            strbuf_addc(out, ',');
        add_line_json(t, now + i / 8 * 1000 + i % 8, false, out);
    }
    strbuf_adds(out, "]}}");
}

static void *agent_client(void *ctx)
{
    int number = (int)(uintptr_t)ctx;
    struct training t = {.rng = 7 + (uint64_t)number};
    struct strbuf lines[PREPARED] = {0}, message = STRBUF_INIT;
    struct inbox in = {.fd = connect_master()};
    size_t used;
    send_greeting(&in, number, &used);
    for (int i = 0; i < PREPARED; i++)
        make_message(&t, &lines[i]);
    pthread_barrier_wait(&ready);
    for (long sent = 0, acked = 0; acked < lines_each;) {
        for (; sent < lines_each && sent - acked < WINDOW * BATCH; sent += BATCH) {
            const struct strbuf *l = &lines[sent / BATCH % PREPARED];
            strbuf_reset(&message);
            strbuf_addf(
                &message,
                "{\"logs\":{\"containerId\":\"%s-%d\",\"allocationId\":\"%s.1\",\"taskId\":\"%s\",\"firstSeq\":\"%ld\",",
                task, number, task, task, sent + 1);
            strbuf_add(&message, l->s, l->n);
            send_frame(in.fd, &message);
        }
        const char *text = next_frame(&in, &used), *seq = strstr(text, "\"seq\":\"");
        if (!strstr(text, "logsAck") || !seq)
            fail(text);
        acked = number_of(seq + 7);
    }
    return NULL;
}

/* ---- the text alone ---------------------------------------------------------------------------------------------- */

static void write_text(const char *path, long lines)
{
    struct training t = {.rng = 7};
    struct strbuf all = STRBUF_INIT;
    char text[256];
    fresh = true;
    for (long i = 0; i < lines; i++)
        strbuf_add(&all, text, next_line(&t, text));
    FILE *f = fopen(path, "w");
    int64_t start = clock_monotonic_us();
    if (!f || fwrite(all.s, 1, all.n, f) != all.n || fflush(f) != 0 || fdatasync(fileno(f)) < 0)
        fail(path);
    printf("%-40s %12.0f MB/s\n", "written and synced", (double)all.n / (double)(clock_monotonic_us() - start));
    fclose(f);
    size_t block = 256 * 1024, bound = ZSTD_compressBound(block), packed = 0, n = 0;
    char *out = malloc(bound), *back = malloc(block);
    int64_t pack_us = 0, unpack_us = 0;
    for (; n + block <= all.n && n < 64 * 1024 * 1024; n += block) {
        start = clock_monotonic_us();
        size_t size = ZSTD_compress(out, bound, all.s + n, block, 9);
        pack_us += clock_monotonic_us() - start;
        start = clock_monotonic_us();
        ZSTD_decompress(back, block, out, size);
        unpack_us += clock_monotonic_us() - start;
        packed += size;
    }
    printf("%-40s %12.0f MB/s\n%-40s %12.0f MB/s\n%-40s %12.2f x\n", "packed", (double)n / (double)pack_us, "unpacked",
           (double)n / (double)unpack_us, "packed to a part of", (double)n / (double)packed);
    printf("%-40s %12.0f bytes\n", "text", (double)all.n);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "write") == 0) {
        write_text(argv[2], number_of(argv[3]));
        return 0;
    }
    if (argc < 7)
        fail("usage: see log_load.c");
    port = argv[2];
    token = argv[3];
    task = argv[4];
    int clients = (int)number_of(argv[6]);
    lines_each = number_of(argv[5]) / clients / BATCH * BATCH;
    fresh = argc > 7;
    pthread_t thread[CLIENTS_MAX];
    pthread_barrier_init(&ready, NULL, (unsigned)clients + 1);
    for (int i = 0; i < clients; i++)
        pthread_create(&thread[i], NULL, strcmp(argv[1], "agent") == 0 ? agent_client : post_client,
                       (void *)(uintptr_t)i);
    pthread_barrier_wait(&ready);
    int64_t start = clock_monotonic_us();
    for (int i = 0; i < clients; i++)
        pthread_join(thread[i], NULL);
    printf("%-40s %12.0f /s\n", "lines", (double)lines_each * clients * 1e6 / (double)(clock_monotonic_us() - start));
    return 0;
}
