"""Commands whose controller is away."""

import os
import signal
import time

from harness import Cluster, contains, equal, test, wait_until


@test(seconds=25)
def a_dead_controller_is_waited_for_then_slurms_text():
    with Cluster(nodes=1) as c:
        job = c.script("echo ready\nwhile [ ! -e finish ]; do sleep 0.1; done\n")
        c.wait_output(job, "ready")
        c.down("--keep-jobs")
        unable = "Unable to contact slurm controller (connect failure)"
        cases = [
            (["sbatch", "--wrap", "true"], f"sbatch: error: Batch job submission failed: {unable}"),
            (["squeue"], f"slurm_load_jobs error: {unable}"),
            (["sinfo"], f"slurm_load_partitions: {unable}"),
            (["scancel", "1"], unable),
        ]
        import concurrent.futures

        def ask(case):
            began = time.monotonic()
            got = c.run(*case[0], code=1, seconds=30)
            return got.err.strip(), time.monotonic() - began

        with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
            for (command, want), (said, seconds) in zip(cases, pool.map(ask, cases)):
                contains(said, want, str(command))
                equal(said.count("\n"), 0, f"lines of {said!r}")
                assert 9 < seconds < 20, f"{command} gave up after {seconds:.1f} s"
        c.up()
        equal(c.state(job), "RUNNING")
        (c.work / "finish").touch()
        c.wait_ended(job)


@test()
def commands_that_come_while_the_controller_restarts_are_served():
    with Cluster(nodes=1) as c:
        for _ in range(3):
            pid = c.controller_pid()
            os.kill(pid, signal.SIGKILL)
            job = c.sbatch("--mem=1M", "--wrap", "echo x")
            c.wait_ended(job)
            equal(c.history(job), "COMPLETED|0:0")
            wait_until(lambda: c.controller_pid() not in (0, pid), "a new controller")


@test()
def an_agent_without_its_controller_goes_on():
    with Cluster(nodes=1) as c:
        job = c.script("echo ready\nwhile [ ! -e finish ]; do sleep 0.05; done\nexit 2\n")
        c.wait_output(job, "ready")
        supervisor = c.status()["supervisor"]["pid"]
        os.kill(supervisor, signal.SIGSTOP)  # Or it would start the controller again.
        try:
            os.kill(c.controller_pid(), signal.SIGKILL)
            (c.work / "finish").touch()
            wait_until(lambda: not any("slurm_script" in w for w in c.processes().values()),
                       "the script to end")
            assert c.agent_pid("n1")
        finally:
            os.kill(supervisor, signal.SIGCONT)
        c.wait_ended(job)
        equal(c.history(job), "FAILED|2:0")
