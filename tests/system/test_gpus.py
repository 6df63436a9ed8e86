"""Nodes, GPUs and memory: who gets what, and that nothing is given twice."""

import time

from harness import Cluster, contains, equal, test, wait_until


@test()
def more_nodes_than_there_are():
    with Cluster(nodes=4, gpus="h100:8") as c:
        job = c.sbatch("--nodes=8", "--wrap", "true")
        wait_until(lambda: c.reason(job) == "PartitionConfig", lambda: c.reason(job))
        equal(c.state(job), "PENDING")
        contains(c.run("squeue", "-j", job).out, "(PartitionConfig)")


@test()
def gang_gets_all_or_nothing():
    with Cluster(nodes=4, gpus="h100:8") as c:
        one = c.sbatch("--mem=16M", "--gres=gpu:h100:1", "--wrap", "sleep 100")
        c.wait_state(one, "RUNNING")
        gang = c.sbatch("--nodes=4", "--gres=gpu:h100:8", "--mem=16M", "--wrap",
                        'srun sh -c "echo \\$SLURMD_NODENAME \\$CUDA_VISIBLE_DEVICES"')
        wait_until(lambda: c.reason(gang) == "Resources", lambda: c.reason(gang))
        allocated = [c.show("node", f"n{i}").get("AllocTRES", "") for i in range(1, 5)]
        equal(sum("gpu" in tres for tres in allocated), 1, f"nodes with GPUs in use {allocated}")
        c.run("scancel", one)
        c.wait_ended(gang)
        want = [f"n{i} 0,1,2,3,4,5,6,7" for i in range(1, 5)]
        equal(sorted(c.output(gang).splitlines()), want)
        equal(c.history(gang), "COMPLETED|0:0")


def assert_no_overlap(uses):
    """uses: (node, gpu, from, to); the same GPU of a node never has two users at a time."""
    by_gpu = {}
    for node, gpu, begin, end in uses:
        by_gpu.setdefault((node, gpu), []).append((begin, end))
    for gpu, spans in by_gpu.items():
        spans.sort()
        for (_, first_end), (next_begin, _) in zip(spans, spans[1:]):
            assert first_end <= next_begin, f"GPU {gpu} given twice: {spans}"


@test(seconds=15)
def single_gpus_go_to_several_jobs_never_one_twice():
    script = ('echo "$SLURMD_NODENAME $CUDA_VISIBLE_DEVICES $(date +%s.%N)"; sleep 0.2;'
              ' date +%s.%N')
    with Cluster(nodes=2, gpus="h100:4", cpus=16) as c:
        counts = [1, 2, 1, 3, 4, 1] * 5
        jobs = [c.sbatch("--mem=16M", f"--gres=gpu:h100:{n}", "--wrap", script) for n in counts]
        c.wait_ended(*jobs)
        uses, shared = [], set()
        for job, count in zip(jobs, counts):
            node, gpus, begin, end = c.output(job).split()
            equal(len(set(gpus.split(","))), count, f"GPUs of job {job}")
            uses += [(node, gpu, float(begin), float(end)) for gpu in gpus.split(",")]
        assert_no_overlap(uses)
        for node, gpu, begin, end in uses:
            shared |= {node for n, g, b, e in uses if (n, g) != (node, gpu) and n == node
                       and b < begin < e}
        assert shared, "no two GPUs of a node were ever in use at a time"


@test()
def without_mem_a_job_takes_the_memory_of_its_node():
    with Cluster(nodes=1, gpus="h100:8") as c:
        first = c.sbatch("--gres=gpu:1", "--wrap", "sleep 100")
        c.wait_state(first, "RUNNING")
        second = c.sbatch("--gres=gpu:1", "--mem=16M", "--wrap", "true")
        wait_until(lambda: c.reason(second) == "Resources", lambda: c.reason(second))
        contains(c.show("node", "n1")["AllocTRES"], "mem=16G")
        c.run("scancel", first)
        c.wait_ended(second)
        equal(c.history(second), "COMPLETED|0:0")


@test()
def what_no_node_could_give_is_refused():
    refused = "sbatch: error: Batch job submission failed: "
    cases = [
        (["--gres=gpu:h100:9"], refused + "Requested node configuration is not available"),
        (["--gres=gpu:a100:1"], refused + "Requested node configuration is not available"),
        (["-c", "99"], "sbatch: error: CPU count per node can not be satisfied\n" + refused +
         "Requested node configuration is not available"),
        (["--mem=999G"], "sbatch: error: Memory specification can not be satisfied\n" + refused +
         "Requested node configuration is not available"),
        (["-p", "nowhere"], refused + "Invalid partition name specified"),
        (["-q", "nothing"], refused + "Invalid qos specification"),
    ]
    with Cluster(nodes=1, gpus="h100:8") as c:
        for options, want in cases:
            got = c.run("sbatch", *options, "--wrap", "true", code=1)
            equal(got.err.strip(), want, f"sbatch {options}")
        equal(c.states(), {})


@test()
def exclusive_shows_all_gpus_to_the_script():
    with Cluster(nodes=1, gpus="h100:8") as c:
        job = c.sbatch("--exclusive", "--wrap", "echo $CUDA_VISIBLE_DEVICES $SLURM_CPUS_ON_NODE")
        c.wait_ended(job)
        equal(c.output(job), "0,1,2,3,4,5,6,7 8\n")
        began = time.monotonic()
        second = c.sbatch("--gres=gpu:2", "--mem=1M", "--wrap", "echo $SLURM_JOB_GPUS")
        c.wait_ended(second)
        equal(c.output(second), "0,1\n")
        assert time.monotonic() - began < 20
