"""Jobs that do not want to go."""

import os
import signal

from harness import Cluster, equal, test, wait_until

CONF = "KillWait=2\nNodeName=n1 State=UNKNOWN\nPartitionName=main Nodes=n1 Default=YES\n"

DAEMON = ("python3 -c '\nimport os, time\n"
          "if os.fork(): os._exit(0)\n"
          "os.setsid()\n"
          "if os.fork(): os._exit(0)\n"
          "open(\"daemon\", \"w\").write(str(os.getpid()))\n"
          "time.sleep(1000)\n' </dev/null >/dev/null 2>&1\n"
          "while [ ! -s daemon ]; do sleep 0.05; done\n")


def assert_all_gone(c, job):
    wait_until(lambda: c.show("node", "n1")["State"] == "IDLE",
               lambda: f"n1 idle, is {c.show('node', 'n1')['State']}")
    c.assert_jobs_gone()


@test()
def a_daemon_that_forked_twice():
    with Cluster(nodes=1) as c:
        job = c.script(DAEMON)
        c.wait_ended(job)
        equal(c.history(job), "COMPLETED|0:0")
        assert (c.work / "daemon").read_text()
        assert_all_gone(c, job)


@test(seconds=10)
def one_that_ignores_term():
    with Cluster(nodes=0, conf=CONF) as c:
        job = c.script("trap '' TERM INT HUP\necho ready\nwhile :; do sleep 0.2; done\n")
        c.wait_output(job, "ready")
        c.run("scancel", job)
        c.wait_ended(job)
        equal(c.history(job, "State").split()[0], "CANCELLED")
        assert_all_gone(c, job)


@test(seconds=10)
def one_that_forks_faster_than_it_is_killed():
    # Always about 60 processes, each living for a moment only and leaving a child behind.
    bomb = ("trap '' TERM\ngo() { sleep 0.05; (trap '' TERM; go) & }\n"
            "for i in $(seq 60); do go & done\necho ready\nwhile :; do sleep 1; done\n")
    with Cluster(nodes=0, conf=CONF) as c:
        job = c.script(bomb)
        c.wait_output(job, "ready")
        c.run("scancel", job)
        c.wait_ended(job)
        assert_all_gone(c, job)


@test()
def a_stopped_one():
    with Cluster(nodes=0, conf=CONF) as c:
        job = c.script("echo ready\nkill -STOP $$\n")
        c.wait_output(job, "ready")
        c.run("scancel", job)
        c.wait_ended(job)
        assert_all_gone(c, job)


@test()
def a_killed_step_daemon():
    """Its job is lost, and says so; nothing of it goes on."""
    with Cluster(nodes=1) as c:
        job = c.script("echo ready\nsleep 1000\n", "--no-requeue")
        c.wait_output(job, "ready")
        daemons = [p for p, words in c.processes().items() if "twinyard-stepd" in words]
        equal(len(daemons), 1, "step daemons")
        os.kill(daemons[0], signal.SIGKILL)
        c.wait_ended(job)
        equal(c.history(job, "State"), "NODE_FAIL")
        assert_all_gone(c, job)
        after = c.sbatch("--wrap", "true")
        c.wait_ended(after)
        equal(c.history(after), "COMPLETED|0:0")
