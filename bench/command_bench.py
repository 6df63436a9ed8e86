#!/usr/bin/env python3
"""Row g of the goals: what a command costs from spawn to exit, beside /bin/true; sbatch one at a time."""

import subprocess
import sys

from cluster import BIN, Cluster, line, median, percentile, print_conditions, times_line


def pending(cluster):
    return subprocess.run([BIN / "squeue", "-h", "-o", "%i"], env=cluster.environment, check=True,
                          capture_output=True, text=True).stdout.count("\n")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    with Cluster(64) as cluster:
        print_conditions(cluster, f"64 nodes; {rounds} interleaved rounds")
        times = cluster.interleaved_ms({"/bin/true": ["/bin/true"],
                                        "sbatch --version": ["sbatch", "--version"],
                                        "squeue, empty queue": ["squeue"]}, rounds)
        for name, each in times.items():
            times_line(f"g   {name}", each)
        floor = median(times["/bin/true"])
        line("    start of a client over /bin/true", f"{median(times['sbatch --version']) / floor:.2f} times",
             "goal 1.5")
        line("    squeue over /bin/true", f"{median(times['squeue, empty queue']) / floor:.2f} times")

        sbatch = ["sbatch", "--output=/dev/null", "--mem=1G", "--wrap", "true"]
        cluster.environment["TWINYARD_EMULATED_RUNTIME"] = "1"
        times_line("    sbatch --wrap true, one at a time",
                   [cluster.spawn_ms(*sbatch) for _ in range(rounds)], "must p50 2 ms; goal 1.5, p95 3")
        cluster.wait_for(lambda: pending(cluster) == 0)

        for count in (10_000, 100_000):
            cluster.load(jobs=count - pending(cluster), hold=True, shapes=500)
            each = [cluster.spawn_ms("squeue") for _ in range(10)]
            times_line(f"g   squeue, {count} pending", each, f"goal {count // 500} ms")


if __name__ == "__main__":
    main()
