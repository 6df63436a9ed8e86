"""A thousand trivial jobs on four real agents."""

import concurrent.futures
import time

from harness import Cluster, equal, test

JOBS = 1000


@test(seconds=60)
def all_complete_with_the_right_output():
    with Cluster(nodes=4, cpus=32) as c:
        def submit(number):
            return number, c.sbatch("--mem=1M", "--wrap", f"echo number {number} $SLURM_JOB_ID")

        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            ids = dict(pool.map(submit, range(JOBS)))
        submitted = time.monotonic() - began
        c.wait_ended(*ids.values(), seconds=120)
        ended = time.monotonic() - began
        equal(len(set(ids.values())), JOBS, "different ids")
        rows = c.run("sacct", "-X", "-n", "-P", "-o", "JobID,State,ExitCode").lines()
        equal(sorted(rows), sorted(f"{i}|COMPLETED|0:0" for i in ids.values()))
        for number, job in ids.items():
            equal(c.output(job), f"number {number} {job}\n", f"output of job {job}")
        print(f"{JOBS} jobs: submitted in {submitted:.1f} s, all ended after {ended:.1f} s")
