"""Queued and running jobs, and nodes, changed by their owner and by the administrator."""

from harness import Cluster, contains, equal, test, wait_until


@test()
def hold_and_release():
    with Cluster(nodes=1) as c:
        job = c.sbatch("-H", "--wrap", "true")
        wait_until(lambda: c.reason(job) == "JobHeldUser", lambda: c.reason(job))
        c.run("scontrol", "release", job)
        c.wait_ended(job)
        equal(c.history(job), "COMPLETED|0:0")
        later = c.sbatch("--begin=now+1hour", "--wrap", "true")
        wait_until(lambda: c.reason(later) == "BeginTime", lambda: c.reason(later))
        c.run("scontrol", "hold", later)
        wait_until(lambda: c.reason(later).startswith("JobHeld"), lambda: c.reason(later))
        c.run("scontrol", "release", later)
        c.run("scontrol", "update", f"JobId={later}", "StartTime=now")
        c.wait_ended(later)


@test()
def update_of_a_pending_job():
    with Cluster(nodes=2) as c:
        job = c.sbatch("-H", "-t", "10", "--wrap", "hostname")
        c.run("scontrol", "update", f"JobId={job}", "TimeLimit=30", "NumNodes=2", "Name=renamed",
              "Comment=why")
        got = c.show("job", job)
        equal({k: got[k] for k in ("TimeLimit", "JobName", "Comment")},
              {"TimeLimit": "00:30:00", "JobName": "renamed", "Comment": "why"})
        assert got["NumNodes"] in ("2", "2-2"), got["NumNodes"]
        c.run("scontrol", "release", job)
        c.wait_ended(job)
        equal(c.history(job, "JobName,NNodes"), "renamed|2")
        got = c.run("scontrol", "update", f"JobId={job}", "Colour=red", code=1)
        contains(got.err, "Colour")


@test()
def priority_decides_who_is_next():
    with Cluster(nodes=1) as c:
        runs = c.sbatch("--wrap", "while [ ! -e finish ]; do sleep 0.05; done")
        c.wait_state(runs, "RUNNING")
        jobs = [c.sbatch("-o", "/dev/null", "--wrap", f"echo {i} >>order") for i in range(3)]
        c.run("scontrol", "update", f"JobId={jobs[2]}", "Priority=9999")
        (c.work / "finish").touch()
        c.wait_ended(*jobs)
        equal((c.work / "order").read_text().split(), ["2", "0", "1"])


@test(seconds=8)
def requeue():
    with Cluster(nodes=1) as c:
        job = c.script("echo run $SLURM_RESTART_COUNT\nwhile [ ! -e finish ]; do sleep 0.05; done\n",
                       "--open-mode=append", "--requeue")
        c.wait_output(job, "run 0")
        c.run("scontrol", "requeue", job)
        c.wait_output(job, "run 1")
        equal(c.show("job", job)["Restarts"], "1")
        (c.work / "finish").touch()
        c.wait_ended(job)
        equal(c.history(job), "COMPLETED|0:0")
        first, said, second = c.output(job).splitlines()
        equal((first, second), ("run 0", "run 1"))
        contains(said, f"slurmstepd: error: *** JOB {job} ON n1 CANCELLED AT ")
        contains(said, "DUE TO JOB REQUEUE ***")
        never = c.sbatch("--no-requeue", "--wrap", "true")
        c.wait_ended(never)
        assert c.run("scontrol", "requeue", never, code=1).err


@test()
def drain_and_resume():
    with Cluster(nodes=2) as c:
        got = c.run("scontrol", "update", "NodeName=n1", "State=DRAIN", code=1)
        contains(got.out + got.err, "You must specify a reason when DOWNING or DRAINING a node. "
                                    "Request denied")
        busy = c.sbatch("-w", "n2", "--mem=16M", "--wrap",
                        "while [ ! -e finish ]; do sleep 0.05; done")
        c.wait_state(busy, "RUNNING")
        c.run("scontrol", "update", "NodeName=n[1-2]", "State=DRAIN", "Reason=bad fan")
        equal(c.run("sinfo", "-h", "-N", "-o", "%N %t").lines(), ["n1 drain", "n2 drng"])
        contains(c.run("sinfo", "-R", "-h").lines()[0], "bad fan")
        contains(c.run("scontrol", "show", "node", "n1").out, "Reason=bad fan [")
        waits = c.sbatch("--mem=16M", "--wrap", "true")
        equal(c.state(busy), "RUNNING")
        (c.work / "finish").touch()
        c.wait_ended(busy)
        wait_until(lambda: c.run("sinfo", "-h", "-N", "-o", "%T").lines() == ["drained"] * 2,
                   "both drained")
        equal(c.state(waits), "PENDING")
        c.run("scontrol", "update", "NodeName=n1", "State=RESUME")
        c.wait_ended(waits)
        equal(c.history(waits, "NodeList"), "n1")


@test()
def drained_stays_over_a_restart():
    with Cluster(nodes=2) as c:
        c.run("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=disk")
        c.down()
        c.up()
        equal(c.run("sinfo", "-h", "-N", "-o", "%N %t").lines(), ["n1 idle", "n2 drain"])


@test()
def unknown_things():
    with Cluster(nodes=1) as c:
        cases = [
            (["scontrol", "show", "job", "77"], 1, "Invalid job id specified"),
            (["scontrol", "show", "node", "nope"], 1, "Node nope not found"),
            (["scontrol", "show", "partition", "nope"], 1, "Partition nope not found"),
            (["squeue", "-j", "77"], 1, "Invalid job id specified"),
            (["squeue", "-t", "nope"], 1, "Invalid job state specified"),
            (["squeue", "-u", "no-such-user"], 0, "no-such-user"),
            (["scontrol", "hold", "77"], 1, "Invalid job id specified"),
            (["squeue", "-j", "77,78"], 0, ""),
        ]
        for command, code, want in cases:
            got = c.run(*command, code=code)
            contains(got.out + got.err, want, str(command))


@test()
def scontrol_words():
    with Cluster(nodes=3) as c:
        equal(c.run("scontrol", "show", "hostnames", "a[1-2],b3").lines(), ["a1", "a2", "b3"])
        equal(c.run("scontrol", "show", "hostlist", "a1,a2,b3").out, "a[1-2],b3\n")
        contains(c.run("scontrol", "ping").out, "UP")
        contains(c.run("scontrol", "show", "config").out, "ClusterName")
        c.run("scontrol", "reconfigure")
        test_only = c.run("sbatch", "--test-only", "-N3", "--wrap", "true")
        contains(test_only.out + test_only.err, "to start at")
        contains(test_only.out + test_only.err, "n[1-3]")
        equal(c.states(), {}, "jobs after --test-only")
