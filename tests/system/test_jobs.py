"""How jobs end, where their output goes, what they find: as a user of a batch system expects it."""

import os
import pathlib
import re
import stat

from harness import Cluster, contains, equal, test, wait_until

QUICK_KILL = "KillWait=2\nNodeName=n1 State=UNKNOWN\nPartitionName=main Nodes=n1 Default=YES\n"


@test(seconds=10)
def exit_codes_and_states():
    cases = [  # name, script, state and exit code in the history, reason
        ("success", "true", "COMPLETED|0:0", "None"),
        ("its own code", "exit 3", "FAILED|3:0", "NonZeroExitCode"),
        ("largest code", "exit 255", "FAILED|255:0", "NonZeroExitCode"),
        ("killed by a signal", "kill -9 $$", "FAILED|0:9", "RaisedSignal:9(Killed)"),
        ("unknown command", "no_such_command_here", "FAILED|127:0", "NonZeroExitCode"),
        ("last command counts", "false; true", "COMPLETED|0:0", "None"),
        ("failed step, then exit 0", "srun false; exit 0", "COMPLETED|0:0", "None"),
    ]
    with Cluster(nodes=1, cpus=16) as c:
        jobs = [c.script(script, "--mem=16M", "-J", name) for name, script, _, _ in cases]
        c.wait_ended(*jobs)
        for job, (name, _, want, reason) in zip(jobs, cases):
            equal(c.history(job), want, name)
            equal(c.reason(job), reason, f"reason: {name}")
        contains(c.output(jobs[4]), "no_such_command_here: command not found")


@test(seconds=10)
def cancelled_before_and_while_running():
    with Cluster(nodes=1) as c:
        uid = os.getuid()
        runs = c.sbatch("--mem=16M", "--wrap", "echo ready; sleep 100")
        traps = c.script("trap 'echo trapped; exit 0' TERM\necho ready\nsleep 100 & wait\n",
                         "--mem=16M")
        waits = c.sbatch("--hold", "--wrap", "true")
        for job in (runs, traps):
            c.wait_output(job, "ready")
        c.run("scancel", runs, traps, waits)
        c.wait_ended(runs, traps, waits)
        equal(c.history(runs), f"CANCELLED by {uid}|0:15")
        equal(c.history(waits), f"CANCELLED by {uid}|0:0")
        contains(c.output(runs), f"slurmstepd: error: *** JOB {runs} ON n1 CANCELLED AT ")
        contains(c.output(runs), "DUE to SIGNAL Terminated ***")
        contains(c.output(traps), "trapped")
        equal(c.history(traps, "State"), f"CANCELLED by {uid}")
        assert not (c.work / f"slurm-{waits}.out").exists()
        # Unknown ids are silent, what is no id is not.
        equal(c.run("scancel", 9999).err, "")
        contains(c.run("scancel", "x7", code=1).err, "scancel: error: Invalid job id x7")


@test(seconds=90)
def time_limits_and_early_signals():
    # The shortest limit is a minute; all of it is waited for once, in one cluster.
    early = "echo ready\ntrap 'echo got USR1' USR1\nwhile :; do sleep 0.2; done\n"
    with Cluster(nodes=0, conf=QUICK_KILL) as c:
        sleeps = c.sbatch("--mem=16M", "-t", "1", "--wrap", "sleep 1000")
        stubborn = c.script("trap '' TERM\nwhile :; do sleep 0.2; done\n", "--mem=16M", "-t", "1")
        warned = c.script(early, "--mem=16M", "-t", "1", "--signal=B:USR1@50")
        equal(c.show("job", sleeps)["TimeLimit"], "00:01:00")
        c.wait_output(warned, "got USR1", seconds=30)
        equal(c.state(warned), "RUNNING")
        c.run("scancel", warned)
        c.wait_ended(sleeps, stubborn, warned, seconds=90)
        for job in (sleeps, stubborn):
            equal(c.history(job, "State"), "TIMEOUT")
            equal(c.reason(job), "TimeLimit")
            contains(c.output(job), f"*** JOB {job} ON n1 CANCELLED AT ")
            contains(c.output(job), "DUE TO TIME LIMIT ***")
            seconds = int(c.history(job, "ElapsedRaw"))
            assert 60 <= seconds <= 80, f"job {job} ran for {seconds} s"
        equal(c.history(sleeps), "TIMEOUT|0:15")
        wait_until(lambda: c.show("node", "n1")["State"] == "IDLE", "the node idle")


@test()
def scancel_signals():
    script = ("trap 'echo shell got USR2' USR2\n"
              "srun sh -c 'trap \"echo step got USR2\" USR2; echo ready; "
              "while [ ! -e finish ]; do sleep 0.1; done' &\n"
              "while [ ! -e finish ]; do sleep 0.1; done\nwait\n")
    with Cluster(nodes=1) as c:
        job = c.script(script, "--mem=16M")
        c.wait_output(job, "ready")
        c.run("scancel", "-s", "USR2", job)
        c.wait_output(job, "step got USR2")
        assert "shell got" not in c.output(job)
        c.run("scancel", "-b", "-s", "USR2", job)
        c.wait_output(job, "shell got USR2")
        equal(c.output(job).count("step got"), 1)
        (c.work / "finish").touch()
        c.wait_ended(job)
        equal(c.history(job), "COMPLETED|0:0")


@test(seconds=8)
def output_files():
    with Cluster(nodes=1, cpus=16) as c:
        user = c.run("id", "-un", code=None).out.strip() or str(os.getuid())
        cases = [  # options, file, content
            ([], "slurm-{}.out", "out\nerr\n"),
            (["-o", "a_%j.out", "-e", "a_%j.err"], "a_{}.out", "out\n"),
            (["-o", "%x-%u.%A.out", "-J", "nm"], f"nm-{user}.{{}}.out", "out\nerr\n"),
            (["-o", "job%6j.out"], None, "out\nerr\n"),
            (["-o", "%N_%n_%t.out"], "n1_0_0.out", "out\nerr\n"),
            (["-o", "100%%.out"], "100%.out", "out\nerr\n"),
            (["-o", "new/folder/%j.out"], "new/folder/{}.out", "out\nerr\n"),
            (["-o", "/dev/null"], None, None),
        ]
        jobs = [c.script("echo out; echo err >&2\n", "--mem=16M", *options)
                for options, _, _ in cases]
        c.wait_ended(*jobs)
        for job, (options, name, want) in zip(jobs, cases):
            equal(c.history(job), "COMPLETED|0:0", str(options))
            name = name or f"job{job:06}.out"
            if want is not None:
                equal(c.output(job, name), want, str(options))
        equal(c.output(jobs[1], "a_{}.err"), "err\n")


@test()
def open_mode_append_and_input():
    with Cluster(nodes=1) as c:
        (c.work / "kept.out").write_text("before\n")
        (c.work / "input").write_text("from the file\n")
        os.chmod(c.work / "kept.out", 0o666)
        first = c.sbatch("-o", "kept.out", "--open-mode=append", "-i", "input", "--wrap", "cat")
        c.wait_ended(first)
        equal(c.output(first, "kept.out"), "before\nfrom the file\n")
        second = c.sbatch("-o", "kept.out", "--wrap", "cat")
        c.wait_ended(second)
        equal(c.output(second, "kept.out"), "")
        missing = c.sbatch("-i", "not-there", "--wrap", "cat")
        c.wait_ended(missing)
        equal(c.history(missing), "FAILED|0:53")


@test()
def an_output_folder_that_cannot_be_made():
    with Cluster(nodes=1) as c:
        (c.work / "file").write_text("")
        job = c.sbatch("-o", "file/x/%j.out", "--wrap", "touch ran")
        c.wait_ended(job)
        equal(c.history(job), "FAILED|0:53")
        assert not (c.work / "ran").exists(), "the script ran all the same"


@test()
def a_missing_working_folder():
    with Cluster(nodes=1) as c:
        path = c.work / "gone"
        job = c.sbatch("--chdir", path, "-o", c.work / "%j.out", "--wrap", "pwd")
        c.wait_ended(job)
        lines = c.output(job, "{}.out").splitlines()
        contains(lines[0], "error: couldn't chdir to ")
        contains(lines[0], f"{path}")
        contains(lines[0], "No such file or directory: going to /tmp instead")
        equal(lines[-1], "/tmp")
        equal(c.history(job), "COMPLETED|0:0")


@test()
def umask_and_limits_travel():
    with Cluster(nodes=1) as c:
        got = c.run("sh", "-c", "umask 077; ulimit -S -n 200; sbatch --parsable --wrap "
                                "'umask; ulimit -n; touch made'")
        job = int(got.out)
        c.wait_ended(job)
        equal(c.output(job), "0077\n200\n")
        for name in (f"slurm-{job}.out", "made"):
            equal(stat.S_IMODE((c.work / name).stat().st_mode), 0o600, name)


@test(seconds=8)
def environment_of_the_script():
    show = "env | sort"
    with Cluster(nodes=2, gpus="h100:8") as c:
        job = c.sbatch("-J", "named", "-N2", "-n4", "-c2", "--gres=gpu:2", "--mem=64", "--wrap", show,
                       env={"MINE": "travels"})
        plain = c.sbatch("--mem=16M", "--wrap", show)
        none = c.sbatch("--mem=16M", "--export=NONE", "--wrap", show, env={"MINE": "stays"})
        some = c.sbatch("--mem=16M", "--export=A=1,MINE", "--wrap", show,
                        env={"MINE": "x", "THEIRS": "y"})
        c.wait_ended(job, plain, none, some)
        got, bare, clean, chosen = (dict(line.split("=", 1) for line in c.output(j).splitlines()
                                         if "=" in line) for j in (job, plain, none, some))
        want = {
            "MINE": "travels", "ENVIRONMENT": "BATCH", "SLURM_JOB_ID": str(job),
            "SLURM_JOBID": str(job), "SLURM_JOB_NAME": "named", "SLURM_JOB_NUM_NODES": "2",
            "SLURM_NNODES": "2", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_NODELIST": "n[1-2]",
            "SLURM_NTASKS": "4", "SLURM_NPROCS": "4", "SLURM_CPUS_PER_TASK": "2",
            "SLURM_JOB_CPUS_PER_NODE": "6,2", "SLURM_MEM_PER_NODE": "64",
            "SLURM_JOB_PARTITION": "main", "SLURM_PROCID": "0", "SLURM_LOCALID": "0",
            "SLURM_NODEID": "0", "SLURM_GTIDS": "0", "SLURM_RESTART_COUNT": "0",
            "SLURM_SUBMIT_DIR": str(c.work), "SLURMD_NODENAME": "n1", "SLURM_JOB_GPUS": "0,1",
            "SLURM_GPUS_ON_NODE": "2", "CUDA_VISIBLE_DEVICES": "0,1",
            "SLURM_JOB_UID": str(os.getuid()), "SLURM_CONF": str(c.dir / "slurm.conf"),
        }
        tasks = got.get("SLURM_TASKS_PER_NODE"), got.get("SLURM_JOB_CPUS_PER_NODE")
        # Filled in order; how far is up to the room on the first node.
        assert tasks in (("3,1", "6,2"), ("2(x2)", "4(x2)")), tasks
        want["SLURM_JOB_CPUS_PER_NODE"] = tasks[1]
        equal({k: got.get(k) for k in want}, want)
        equal({k: bare[k] for k in ("SLURM_NTASKS", "SLURM_NPROCS", "SLURM_CPUS_PER_TASK",
                                    "SLURM_NTASKS_PER_NODE", "SLURM_GPUS", "SLURM_JOB_GPUS",
                                    "CUDA_VISIBLE_DEVICES") if k in bare}, {}, "not asked for")
        equal(clean.get("SLURM_EXPORT_ENV"), "NONE")
        assert "MINE" not in clean and clean["SLURM_JOB_ID"] == str(none)
        contains(clean["PATH"], str(pathlib.Path(c.env["PATH"].split(":")[0])))
        equal((chosen.get("A"), chosen.get("MINE"), chosen.get("THEIRS")), ("1", "x", None))


@test()
def the_script_is_a_copy_and_gets_its_arguments():
    with Cluster(nodes=1) as c:
        (c.work / "s.sh").write_text('#!/bin/bash\n#SBATCH -J from-script\necho "$0"; echo "$@"\n')
        job = c.sbatch("s.sh", "one", "two words")
        (c.work / "s.sh").write_text("#!/bin/bash\nexit 9\n")
        c.wait_ended(job)
        where, args = c.output(job).splitlines()
        assert where != str(c.work / "s.sh"), where
        equal(args, "one two words")
        equal(c.history(job, "JobName,State"), "from-script|COMPLETED")
        python = c.sbatch(input="#!/usr/bin/env python3\nimport os\nprint('py', os.getpid())\n")
        c.wait_ended(python)
        assert re.fullmatch(r"py \d+\n", c.output(python))


@test()
def sbatch_wait_has_the_exit_code_of_the_job():
    with Cluster(nodes=1) as c:
        for script, want in (("true", 0), ("exit 4", 4), ("kill -9 $$", 1)):
            got = c.run("sbatch", "--wait", "--wrap", script, code=want)
            contains(got.out, "Submitted batch job ")


@test()
def scripts_that_are_refused():
    error = "sbatch: error: "
    cases = [
        ("no #!", "echo x\n", "This does not look like a batch script."),
        ("empty", "", "Batch script is empty!"),
        ("DOS", "#!/bin/sh\r\ntrue\r\n", "Batch script contains DOS line breaks (\\r\\n)"),
        ("NUL", "#!/bin/sh\ntrue\0\n", "The Slurm controller does not allow scripts that"),
        ("5 MB", "#!/bin/sh\n" + "#" * 5_000_000, ""),
    ]
    with Cluster(nodes=1) as c:
        for name, script, want in cases:
            got = c.run("sbatch", input=script, code=1)
            contains(got.err, error + want, name)
            equal(got.out, "", name)
        got = c.run("sbatch", input="#!/bin/sh\n#SBATCH --no-such-option\ntrue\n", code=255)
        contains(got.err, "no-such-option")
        equal(c.states(), {}, "jobs")
        for command in (["squeue", "--no-such"], ["sinfo", "--no-such"], ["scancel", "--no-such"]):
            c.run(*command, code=255)


@test(seconds=10)
def huge_values_are_refused_or_taken_and_nothing_breaks():
    with Cluster(nodes=1) as c:
        long = "x" * 100_000
        for command in (["sbatch", "-J", long, "--wrap", "true"],
                        ["sbatch", "-w", "n[1-1000000000]", "--wrap", "true"],
                        ["squeue", "-w", "n[1-1000000000]"],
                        ["scontrol", "show", "hostnames", "n[1-1000000000]"],
                        ["sbatch", "-J", "a\x01b\x1b[31m", "--wrap", "true"],
                        ["scancel", long], ["squeue", "-u", long], ["squeue", "-o", long]):
            got = c.run(*command, code=None, seconds=20)
            assert got.code in (0, 1, 255), f"{command[:2]}: {got.code}"
            assert got.err.count("\n") <= 3 and "\x1b" not in got.out + got.err, got.err[:300]
        job = c.sbatch("--wrap", "true")
        c.wait_ended(job)
        assert "\x1b" not in c.run("squeue", "-t", "all").out


@test(root=True)
def jobs_stay_below_the_memory_they_asked_for():
    with Cluster(nodes=1) as c:
        if "memory" not in c.run("scontrol", "show", "node", "n1").out:
            return
        job = c.script("python3 -c 'x = bytearray(400 << 20)'; exit $?\n", "--mem=64M")
        c.wait_ended(job)
        equal(c.history(job, "State"), "OUT_OF_MEMORY")


