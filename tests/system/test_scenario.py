"""64 emulated nodes with 8 GPUs, one job of 64 GPUs for four days, and five that want their share."""

import datetime

from harness import Cluster, contains, equal, test, wait_until

CONF = """\
NodeName=node[001-064] NodeAddr=10.0.0.[1-64] RealMemory=1024000 Gres=gpu:h100:8 State=UNKNOWN
PartitionName=train Nodes=node[001-064] Default=NO MaxTime=7-00:00:00 QOS=train Priority=10
PartitionName=debug Nodes=node[001-008] Default=YES MaxTime=01:00:00 QOS=debug Priority=100
PartitionName=inference Nodes=node[001-064] MaxTime=UNLIMITED QOS=inference Priority=5
PartitionName=long Nodes=node[001-064] MaxTime=30-00:00:00 QOS=long Priority=1
"""
FIFO = "SchedulerType=sched/builtin\n"
EMULATED = "nodes=64,gpus=h100:8,cpus=96,memory=1000G"

JOBS = [
    ("1", ["-p", "train", "--nodes=1", "--gres=gpu:h100:8", "-t", "2:00:00"]),
    ("2", ["-p", "train", "--nodes=64", "--gres=gpu:h100:8", "-t", "5-0"]),
    ("3", ["-p", "inference", "--nodes=1", "--gres=gpu:h100:4"]),
    ("4", ["-p", "train", "--nodes=16", "--gres=gpu:h100:8", "-t", "3-0"]),
    ("5", ["-p", "long", "--nodes=64", "--gres=gpu:h100:8", "-t", "15-0"]),
]


def days_until(text, now):
    if text == "N/A":
        return None
    return round((datetime.datetime.fromisoformat(text) - now).total_seconds() / 86400, 2)


def starts(c, now, names):
    """What squeue --start says: name to days from now, None where it knows no start."""
    rows = c.run("squeue", "--start", "-h", "-o", "%j %S").lines()
    known = {name: days_until(at, now) for name, at in (row.split() for row in rows)}
    return {name: known.get(name, "not listed") for name in names}


def scenario(conf, running, waiting):
    long_enough = {"TWINYARD_EMULATED_RUNTIME": "3600"}
    with Cluster(nodes=0, conf=conf, emulate=EMULATED) as c:
        now = datetime.datetime.now().replace(microsecond=0)
        big = c.sbatch("-J", "0", "-p", "train", "--nodes=8", "--gres=gpu:h100:8", "-t", "4-0",
                       "--wrap", "true", env=long_enough)
        c.wait_state(big, "RUNNING")
        for name, options in JOBS:
            c.sbatch("-J", name, *options, "--wrap", "true", env=long_enough)
        wait_until(lambda: starts(c, now, waiting) == waiting,
                   lambda: f"starts {waiting}; squeue --start says {starts(c, now, waiting)}", 20)
        got = set(c.run("squeue", "-h", "-t", "R", "-o", "%j").out.split())
        equal(got, {"0", *running}, "running")
        header = c.run("squeue", "--start").lines()[0].split()
        equal(header, "JOBID PARTITION NAME USER ST START_TIME NODES SCHEDNODES "
                      "NODELIST(REASON)".split())
        contains(c.run("scontrol", "show", "node", "node001").out.lower(), "emulated")


@test(seconds=10)
def fifo():
    scenario(CONF + FIFO, {"1"}, {"2": 4.0, "3": 9.0, "4": 9.0, "5": None})


@test(seconds=10)
def backfill():
    scenario(CONF, {"1", "4"}, {"2": 4.0, "3": 9.0, "5": None})


@test()
def emulated_jobs_run_no_script():
    with Cluster(nodes=0, emulate="nodes=3,cpus=4,memory=8G") as c:
        short = {"TWINYARD_EMULATED_RUNTIME": "1"}
        job = c.sbatch("-N3", "--wrap", "touch ran", env=short)
        c.wait_ended(job)
        equal(c.history(job), "COMPLETED|0:0")
        failing = c.sbatch("--wrap", "true", env={**short, "TWINYARD_EMULATED_EXIT": "3"})
        c.wait_ended(failing)
        equal(c.history(failing), "FAILED|3:0")
        equal([p.name for p in c.work.iterdir()], [], "files of the jobs")


@test(seconds=10)
def config_with_fewer_agents_than_nodes():
    with Cluster(nodes=2, conf=CONF) as c:
        equal(c.run("sinfo", "-h", "-p", "train", "-o", "%D %t %N").lines(),
              ["62 down* node[003-064]", "2 idle node[001-002]"])
        contains(c.run("scontrol", "show", "node", "node003").out, "no agent")
        job = c.sbatch("-p", "train", "--gres=gpu:h100:8", "-N2", "--wrap", "srun hostname")
        c.wait_ended(job)
        equal(sorted(c.output(job).split()), ["node001", "node002"])
