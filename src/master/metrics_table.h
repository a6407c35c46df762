/* Every metric of GET /metrics, one row each: X(name, kind, labels, help). The page (metrics_page.c) and its reference
 * (docs/reference/metrics.md, by tools/gen-metrics) are made of these rows; a row without its function does not
 * compile. */
#ifndef DET_MASTER_METRICS_TABLE_H
#define DET_MASTER_METRICS_TABLE_H

#define METRICS(X) \
    X(build_info, gauge, "version", "Always 1; the label tells the version of the master") \
    X(uptime_seconds, gauge, "", "Time since the master started") \
    X(epoch, gauge, "", "Number of this start of the master") \
    X(resident_bytes, gauge, "", "Memory of the master") \
    X(cpu_seconds, counter, "", "CPU time of the master") \
    X(http_connections, gauge, "", "Open HTTP connections") \
    X(sessions, gauge, "", "Sessions in memory") \
    X(agents, gauge, "", "Connected agents") \
    X(agents_by_state, gauge, "state", \
      "Agents: enabled, draining, disabled, away (they may come back), or lost (they did not)") \
    X(slots, gauge, "", "Slots of all agents") \
    X(slots_used, gauge, "", "Slots that run something") \
    X(pool_slots, gauge, "pool", "Slots of a resource pool") \
    X(pool_slots_used, gauge, "pool", "Slots of a resource pool that run something") \
    X(pool_instances, gauge, "pool", "Machines of an elastic pool") \
    X(pool_instances_starting, gauge, "pool", "Machines of an elastic pool whose agents are still to come") \
    X(pool_instances_max, gauge, "pool", "Machines that an elastic pool may have") \
    X(pool_launches, counter, "pool", "Machines launched for an elastic pool") \
    X(pool_launch_failures, counter, "pool", "Launches for an elastic pool that have failed") \
    X(pool_terminations, counter, "pool", "Machines of an elastic pool that were ended") \
    X(jobs, gauge, "pool state", "Jobs: scheduled (they have all their slots) or queued") \
    X(containers, gauge, "", "Containers on all agents") \
    X(task_streams, gauge, "", "Connections of the master to ports of tasks") \
    X(task_streams_opened, counter, "", "Connections to ports of tasks that were made") \
    X(task_streams_failed, counter, "", \
      "Connections to ports of tasks that were refused, or that no program answered") \
    X(task_stream_bytes, counter, "direction", "Bytes to ports of tasks and from them") \
    X(proxy_connections, gauge, "", "Requests to ports of tasks, WebSockets and connections of TCP that are open") \
    X(proxy_requests, counter, "", "Requests to ports of tasks that were passed on, WebSockets included") \
    X(proxy_tcp, counter, "", "Connections to ports of TCP that were passed on") \
    X(proxy_bytes, counter, "direction", \
      "Bytes of clients that were passed on to tasks, and of tasks to clients; heads of HTTP are not counted") \
    X(proxy_refused, counter, "reason", \
      "Requests to ports of tasks that were not passed on; docs/proxy.md has the reasons") \
    X(proxy_broken, counter, "", "Answers of tasks that were no HTTP, broke off, or did not come in time") \
    X(reader_queue, gauge, "", "Requests at the store's readers") \
    X(searcher_queue, gauge, "", "Requests at the thread that searches") \
    X(search_bytes, gauge, "", "Memory of the columns that searches look at") \
    X(worker_queue, gauge, "", "Requests at the workers") \
    X(password_queue, gauge, "", "Logins and new passwords that wait to be checked or hashed") \
    X(writer_queue, gauge, "", "Writes that wait for their commit") \
    X(loop_delay_seconds, histogram, "", "How late the loop comes to what is due: its timers") \
    X(loop_delay_max_seconds, gauge, "", "Longest delay of the loop since the last look") \
    X(loop_turn_seconds, histogram, "", \
      "Processor time of the loop's turns: how long it keeps others waiting at a time") \
    X(loop_turn_max_seconds, gauge, "", "Processor time of the longest turn of the loop since the last look") \
    X(commit_seconds, histogram, "", "Duration of the writer's transactions, commit included") \
    X(commit_max_seconds, gauge, "", "Longest transaction since the last look") \
    X(commits, counter, "", "Transactions of the writer") \
    X(commit_jobs, counter, "", "Writes in those transactions") \
    X(commit_retries, counter, "", \
      "Transactions that were repeated because the store could not take them (disk full)") \
    X(commit_microseconds, counter, "", "Time spent in transactions") \
    X(log_unsealed_bytes, gauge, "", "Text of task logs that waits to be sealed into blocks") \
    X(log_batches_fed, counter, "", "Batches of log lines that followers had from memory") \
    X(log_batches_read, counter, "", "Batches of log lines that followers had to read from the store") \
    X(log_seal_rounds, counter, "", "Times that heads of a task's log became blocks") \
    X(metric_seal_rounds, counter, "", "Times that reports of metrics became blocks") \
    X(metric_sealed_reports, counter, "", "Reports of metrics that became parts of blocks") \
    X(webhook_messages, counter, "result", \
      "Messages to webhooks: delivered, given_up, or failed (attempts after which they are tried again)") \
    X(store_bytes, gauge, "file", "Size of the embedded store's files: database and write-ahead log")

#endif
