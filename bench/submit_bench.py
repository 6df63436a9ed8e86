#!/usr/bin/env python3
"""Rows a and a2 of the goals: durable submissions over kept connections, the scheduler idle and working."""

import sys

from cluster import LARGE, Cluster, line, median, print_conditions

ROUNDS = 3


def measure(cluster, what, jobs, goal, **options):
    runs = [cluster.load(jobs=jobs, **options) for _ in range(ROUNDS)]
    line(what,
         f"{median([run['per_second'] for run in runs]):8.0f} jobs/s",
         f"p50 {median([run['p50_ms'] for run in runs]):7.3f} ms",
         f"p99 {median([run['p99_ms'] for run in runs]):7.3f} ms",
         goal)


def main():
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with Cluster(64) as cluster:
        print_conditions(cluster, f"64 nodes, {jobs} held jobs a run, medians of {ROUNDS} runs")
        measure(cluster, "a   8 connections, 16 outstanding each", jobs, "goal 15000/s, p99 10 ms", hold=True)
        measure(cluster, "a   1 connection, one at a time", jobs // 10, "goal 2500/s",
                hold=True, connections=1, outstanding=1)
    with Cluster(LARGE) as cluster:
        print_conditions(cluster, f"{LARGE} nodes with 8 GPUs, scheduler working")
        measure(cluster, "a2  8 connections, 16 outstanding each", jobs, "goal 10000/s",
                gpus=1, shapes=8)


if __name__ == "__main__":
    main()
