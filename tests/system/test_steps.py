"""srun inside a batch script: one step on all nodes."""

from harness import Cluster, contains, equal, test


def run_script(c, text, *options):
    job = c.script(text, "--mem=64M", *options)
    c.wait_ended(job)
    return job


@test()
def runs_on_all_nodes_by_rank():
    with Cluster(nodes=3, gpus="h100:2") as c:
        job = run_script(c, "srun sh -c 'echo $SLURM_PROCID $SLURM_NODEID $SLURM_NTASKS "
                            "$SLURMD_NODENAME $(hostname) $SLURM_STEP_ID $CUDA_VISIBLE_DEVICES'\n",
                         "-N3", "--gres=gpu:2")
        want = [f"{i} {i} 3 n{i + 1} n{i + 1} 0 0,1" for i in range(3)]
        equal(sorted(c.output(job).splitlines()), want)
        rows = c.run("sacct", "-n", "-P", "-j", job, "-o", "JobID,State,ExitCode").lines()
        equal(rows, [f"{job}|COMPLETED|0:0", f"{job}.batch|COMPLETED|0:0", f"{job}.0|COMPLETED|0:0"])


@test(seconds=8)
def exit_codes():
    cases = [  # what, its exit code, what srun says
        ("true", 0, ""),
        ("sh -c 'exit 7'", 7, "srun: error: n1: task 0: Exited with exit code 7"),
        ("sh -c 'kill -9 $$'", 137, "srun: error: n1: task 0: Killed"),
        ("sh -c 'kill -15 $$'", 143, "srun: error: n1: task 0: Terminated"),
        ("./not-there", 2, "No such file or directory"),
        ("./not-executable", 13, "Permission denied"),
    ]
    with Cluster(nodes=1) as c:
        (c.work / "not-executable").write_text("#!/bin/sh\n")
        for command, code, said in cases:
            job = run_script(c, f"srun {command}\necho code $?\n")
            contains(c.output(job), f"code {code}\n", command)
            contains(c.output(job), said, command)
            equal(c.history(job), "COMPLETED|0:0", command)


@test()
def the_highest_exit_code_of_the_tasks_counts():
    with Cluster(nodes=2) as c:
        job = run_script(c, "srun sh -c 'exit $((SLURM_PROCID * 4 + 1))'\nexit $?\n", "-N2")
        equal(c.history(job), "FAILED|5:0")


@test()
def labels_and_whole_lines():
    with Cluster(nodes=2) as c:
        job = run_script(c, "srun -l echo one line\n", "-N2")
        equal(sorted(c.output(job).splitlines()), ["0: one line", "1: one line"])


@test()
def stdin_goes_to_the_step():
    with Cluster(nodes=1) as c:
        (c.work / "lines").write_text("first\nsecond\nthird\n")
        job = run_script(c, "while read line; do echo loop $line; srun cat; done <lines\n")
        equal(c.output(job), "loop first\nsecond\nthird\n")
        job = run_script(c, "while read line; do echo loop $line; srun cat </dev/null; done <lines\n")
        equal(c.output(job), "loop first\nloop second\nloop third\n")


@test()
def node_names_resolve_inside_jobs():
    check = ("python3 -c 'import socket, sys; print(*(socket.gethostbyname(n) "
             "for n in sys.argv[1:]))' $(scontrol show hostnames)\n")
    with Cluster(nodes=2) as c:
        notes = c.run("scontrol", "show", "node", "n1").out
        job = run_script(c, check, "-N2")
        if c.history(job) != "COMPLETED|0:0":
            contains(notes, "do not resolve")
            return
        assert all(a.startswith("127.") for a in c.output(job).split()), c.output(job)


@test()
def a_step_ends_with_its_job():
    with Cluster(nodes=2) as c:
        job = c.script("srun sh -c 'echo up; sleep 1000'\n", "-N2", "--mem=64M")
        c.wait_output(job, "up\nup")
        c.run("scancel", job)
        c.wait_ended(job)
        contains(c.output(job), f"*** JOB {job} ON n1 CANCELLED AT ")
        c.assert_jobs_gone()
