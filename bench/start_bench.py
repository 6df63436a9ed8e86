#!/usr/bin/env python3
"""Row b2 of the goals: from the first submission until all run, durable, on emulated nodes."""

import sys

from cluster import LARGE, Cluster, line, print_conditions


def main():
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    for nodes in (1_000, LARGE):
        with Cluster(nodes) as cluster:
            print_conditions(cluster, f"{nodes} nodes with 8 GPUs, one GPU a job")
            count = min(jobs, nodes * 8 // 2)
            run = cluster.load(jobs=count, gpus=1, shapes=8, until_running=True)
            line(f"b2  {count} jobs, submitted to RUNNING",
                 f"{run['running_per_second']:8.0f} jobs/s", f"submitted at {run['per_second']:.0f}/s",
                 "goal 5000/s")


if __name__ == "__main__":
    main()
