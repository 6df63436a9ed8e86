"""Root's cluster runs jobs as who submitted them; an ordinary user's runs all as that user."""

import os

from harness import IS_ROOT, OTHER_USER, USER, Cluster, contains, equal, test, wait_until


@test(root=True)
def jobs_run_as_their_submitting_user():
    with Cluster(nodes=2) as c:
        job = c.sbatch("-N2", "--wrap", "id -u; id -g; touch mine; srun -l id -u", user=USER)
        c.wait_ended(job)
        equal(c.output(job).splitlines()[:2], [str(USER)] * 2)
        equal(sorted(c.output(job).splitlines()[2:]), [f"0: {USER}", f"1: {USER}"])
        for name in (f"slurm-{job}.out", "mine"):
            owner = (c.work / name).stat()
            equal((owner.st_uid, owner.st_gid), (USER, USER), name)
        contains(c.run("scontrol", "show", "job", job).out, f"UserId={USER}({USER})")
        equal(c.history(job, "UID,State"), f"{USER}|COMPLETED")


@test(root=True)
def others_jobs_are_safe():
    with Cluster(nodes=1) as c:
        denied = "Access/permission denied"
        job = c.sbatch("--mem=16M", "--wrap", "sleep 1000", user=USER)
        c.wait_state(job, "RUNNING")
        cases = [
            ["scancel", job],
            ["scontrol", "update", f"JobId={job}", "Priority=1"],
            ["scontrol", "hold", job],
            ["scontrol", "requeue", job],
        ]
        for command in cases:
            contains(c.run(*command, user=OTHER_USER, code=1).err, denied, str(command))
        got = c.run("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=x", user=USER,
                    code=1)
        contains(got.out + got.err, denied)
        c.run("scancel", "-u", "root", user=OTHER_USER, code=None)
        equal(c.state(job), "RUNNING")
        # sacct shows others' jobs to root only.
        equal(c.run("sacct", "-X", "-n", "-P", "-o", "JobID", user=OTHER_USER).out, "")
        equal(c.run("sacct", "-X", "-n", "-P", "-o", "JobID", user=USER).out, f"{job}\n")
        c.run("scancel", job, user=USER)
        c.wait_ended(job)
        equal(c.history(job, "State"), f"CANCELLED by {USER}")


@test(root=True)
def a_private_folder_stays_private():
    with Cluster(nodes=1) as c:
        secret = c.work / "secret"
        secret.mkdir(mode=0o700)
        (secret / "file").write_text("hidden")
        job = c.sbatch("-o", c.work / "%j.out", "--wrap", f"cat {secret}/file", user=USER)
        blocked = c.sbatch("-o", secret / "%j.out", "--wrap", "true", user=USER)
        read = c.sbatch("-i", secret / "file", "-o", c.work / "%j.out", "--wrap", "cat", user=USER)
        c.wait_ended(job, blocked, read)
        contains(c.output(job, "{}.out"), "Permission denied")
        for job in (blocked, read):
            equal(c.history(job), "FAILED|0:53")
        equal(list(secret.iterdir()), [secret / "file"])
        # Nor can users read what the cluster keeps, or talk to its daemons' private ends.
        for path in ("state/state.db", "state/cluster.secret", "nodes/n1/journal"):
            c.run("cat", c.dir / path, user=USER, code=1)


@test(root=True)
def user_filters():
    with Cluster(nodes=1) as c:
        mine = c.sbatch("-H", "--wrap", "true", user=USER)
        c.sbatch("-H", "--wrap", "true", user=OTHER_USER)
        ids = ["squeue", "-h", "-o", "%i"]
        equal(c.run(*ids, "--me", user=USER).out, f"{mine}\n")
        equal(c.run(*ids, "-u", USER).out, f"{mine}\n")
        equal(len(c.run(*ids).lines()), 2)
        c.run("scancel", "-u", USER, user=USER)
        wait_until(lambda: len(c.run(*ids).lines()) == 1, "one cancelled")


@test()
def the_clusters_own_user():
    with Cluster(nodes=2) as c:
        job = c.sbatch("-N2", "--wrap", "id -u; srun -l id -u")
        c.wait_ended(job)
        uid = os.getuid()
        equal(sorted(c.output(job).splitlines()), sorted([f"{uid}", f"0: {uid}", f"1: {uid}"]))
        tracking = c.run("scontrol", "show", "node", "n1").out
        contains(tracking, "ProcessTracking=cgroup" if IS_ROOT else "ProcessTracking=")
        equal(c.run("squeue", "-h", "-t", "all", "--me", "-o", "%i").out, f"{job}\n")
