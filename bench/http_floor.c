/* The question: what does net/http/http.h cost, next to bare evhttp, for a tiny reply over keep-alive connections?
 * Whatever the master does per request comes on top of this floor.
 *
 *     ninja -C build bench/http_floor && build/bench/http_floor [connections [seconds]]
 *
 * Each server runs alone in a process of its own, one thread; wrk (one thread) is the load on the same machine. CPU per
 * request is the server's own user and system time. Answers on record: bench/http_floor.md. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include "net/http/http.h"

static const char reply_text[] = "{\"version\":\"0.1.0\",\"clusterName\":\"bench\"}";
#define REPLY_N (sizeof(reply_text) - 1)

static void evhttp_answer(struct evhttp_request *r, void *ctx)
{
    struct evkeyvalq *out = evhttp_request_get_output_headers(r);
    struct evbuffer *body = evbuffer_new();
    evhttp_add_header(out, "Content-Type", "application/json");
    evhttp_add_header(out, "X-XSS-Protection", "1; mode=block");
    evhttp_add_header(out, "X-Content-Type-Options", "nosniff");
    evhttp_add_header(out, "X-Frame-Options", "SAMEORIGIN");
    evbuffer_add(body, reply_text, REPLY_N);
    evhttp_send_reply(r, 200, "OK", body);
    evbuffer_free(body);
}

static void serve_evhttp(int ready_fd)
{
    struct event_base *base = event_base_new();
    struct evhttp *http = evhttp_new(base);
    evhttp_set_gencb(http, evhttp_answer, NULL);
    struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(http, "127.0.0.1", 18181);
    int port = bound ? 18181 : 0;
    if (write(ready_fd, &port, sizeof(port)) == sizeof(port) && bound)
        event_base_dispatch(base);
}

static void our_answer(struct http_request *r, void *ctx)
{
    http_add_header(r, "X-XSS-Protection", "1; mode=block");
    http_add_header(r, "X-Content-Type-Options", "nosniff");
    http_add_header(r, "X-Frame-Options", "SAMEORIGIN");
    http_reply(r, 200, "application/json", reply_text, REPLY_N);
}

static void serve_ours(int ready_fd)
{
    struct loop *l;
    struct http_server *s;
    int port = 0;
    if (loop_new(&l, NULL) == 0 &&
        http_server_new(l, &(struct http_server_options){.bind_host = "127.0.0.1", .on_request = our_answer}, &s,
                        NULL) == 0)
        port = http_server_port(s);
    if (write(ready_fd, &port, sizeof(port)) == sizeof(port) && port)
        loop_run(l, NULL);
}

struct result {
    double requests, requests_per_s;
    char p50[16], p99[16];
    double cpu_us; /* per request */
};

static void run_wrk(int port, int connections, int seconds, struct result *ret)
{
    char command[256], line[256];
    snprintf(command, sizeof(command), "wrk -t1 -c%d -d%ds --latency http://127.0.0.1:%d/api/v1/master", connections,
             seconds, port);
    FILE *wrk = popen(command, "r");
    while (wrk && fgets(line, sizeof(line), wrk)) {
        sscanf(line, " 50%% %15s", ret->p50);
        sscanf(line, " 99%% %15s", ret->p99);
        sscanf(line, " %lf requests in", &ret->requests);
        sscanf(line, "Requests/sec: %lf", &ret->requests_per_s);
    }
    if (!wrk || pclose(wrk) != 0 || ret->requests_per_s <= 0) {
        fprintf(stderr, "http_floor: wrk did not run (apt install wrk)\n");
        exit(1);
    }
}

static void measure_server(const char *name, void (*serve)(int ready_fd), int connections, int seconds)
{
    int ready[2], port = 0;
    if (pipe(ready) < 0)
        exit(1);
    pid_t server = fork();
    if (server == 0) {
        serve(ready[1]);
        _exit(1);
    }
    if (read(ready[0], &port, sizeof(port)) != sizeof(port) || port == 0) {
        fprintf(stderr, "http_floor: %s does not start\n", name);
        exit(1);
    }
    struct result r = {0};
    struct rusage used;
    run_wrk(port, connections, seconds, &r);
    kill(server, SIGKILL);
    wait4(server, NULL, 0, &used);
    double cpu_s = (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec +
                   1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    printf("%-12s %3d connections  %8.0f requests/s  p50 %-8s p99 %-8s  %5.1f us CPU/request\n", name, connections,
           r.requests_per_s, r.p50, r.p99, 1e6 * cpu_s / r.requests);
    fflush(stdout);
    close(ready[0]);
    close(ready[1]);
}

int main(int argc, char **argv)
{
    int connections = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 64;
    int seconds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 5;
    for (int i = 0; i < 3; i++) {
        measure_server("evhttp", serve_evhttp, connections, seconds);
        measure_server("net/http/http.h", serve_ours, connections, seconds);
    }
    return 0;
}
