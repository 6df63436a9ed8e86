#!/usr/bin/env python3
"""Commands beside a full queue: 100,000 pending jobs of 500 shapes on 10,000 emulated nodes, the scheduler
working. `squeue -j` and `sbatch` must stay below 5 ms at p95. Also the controller's memory (row j)."""

import subprocess
import sys

from cluster import BIN, LARGE, Cluster, line, print_conditions, times_line


def queue(cluster, *arguments):
    return subprocess.run([BIN / "squeue", "-h", *arguments], env=cluster.environment, check=True,
                          capture_output=True, text=True).stdout.split()


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    with Cluster(LARGE) as cluster:
        print_conditions(cluster, f"{LARGE} nodes with 8 GPUs; scripts of 4 KB, environments of 8 KB")
        fill = cluster.load(jobs=LARGE, gpus=8, runtime=3600, until_running=True)
        line("    cluster full", f"{fill['running_per_second']:8.0f} jobs/s to RUNNING")
        run = cluster.load(jobs=100_000, gpus=8, shapes=500, script_bytes=4096, environment_bytes=8192)
        line("    100,000 jobs that wait, 500 shapes", f"{run['per_second']:8.0f} jobs/s",
             f"p99 {run['p99_ms']:.3f} ms")
        line("j   memory of the controller", f"{cluster.controller_memory_mb():8.0f} MB", "goal 400")

        some = queue(cluster, "-t", "PENDING", "-o", "%i")[50_000]
        sbatch = ["sbatch", "--output=/dev/null", "--gpus-per-node=8", "--time=12", "--wrap", "true"]
        times = cluster.interleaved_ms({"/bin/true": ["/bin/true"],
                                        "squeue -j ID": ["squeue", "-j", some],
                                        "sbatch": sbatch}, rounds)
        for name, each in times.items():
            times_line(f"    {name}", each, "" if name == "/bin/true" else "must p95 5 ms")
        times_line("    squeue, all", [cluster.spawn_ms("squeue") for _ in range(5)], "goal 200 ms (row g)")
        line("j   memory of the controller after that", f"{cluster.controller_memory_mb():8.0f} MB", "goal 400")
        print_conditions(cluster, "at the end")


if __name__ == "__main__":
    main()
