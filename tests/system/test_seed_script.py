"""The batch script that users start from, byte for byte, on real agents."""

import os
import subprocess
import sys

from harness import IS_ROOT, Cluster, Skip, contains, equal, test

CONF = """\
NodeName=node[001-064] NodeAddr=10.0.0.[1-64] RealMemory=1024000 Gres=gpu:h100:8 State=UNKNOWN
PartitionName=train Nodes=node[001-064] Default=NO MaxTime=7-00:00:00 QOS=train Priority=10
PartitionName=debug Nodes=node[001-008] Default=YES MaxTime=01:00:00 QOS=debug Priority=100
PartitionName=inference Nodes=node[001-064] MaxTime=UNLIMITED QOS=inference Priority=5
"""
SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=llama70b
#SBATCH --nodes=8
#SBATCH --gres=gpu:h100:8
#SBATCH --time=7-00:00:00
#SBATCH --partition=train
echo "Started at $(date)"
srun python /workspace/train.py --model_size=70B --num_gpus=$SLURM_NTASKS
echo "Finished at $(date)"
"""
TRAIN = """\
import os, sys
print("train", os.environ["SLURM_PROCID"], "of", os.environ["SLURM_NTASKS"],
      "on", os.environ["SLURMD_NODENAME"], "gpus", os.environ["CUDA_VISIBLE_DEVICES"],
      "args", *sys.argv[1:], flush=True)
"""
# Set in the process that has the private namespace already.
INSIDE = "TWINYARD_TEST_WORKSPACE"


def in_a_namespace_of_its_own():
    """Runs the test again where the folder that holds /workspace is ours alone.

    A root of our own: a tmpfs whose folders are the real ones, and /workspace beside them.
    """
    workspace = os.path.join(os.environ["TMPDIR"], "ws")
    os.makedirs(os.path.join(workspace, "bin"), mode=0o755)
    with open(os.path.join(workspace, "train.py"), "w") as file:
        file.write(TRAIN)
    os.symlink("/usr/bin/python3", os.path.join(workspace, "bin", "python"))
    new_root = os.path.join(os.environ["TMPDIR"], "root")
    os.mkdir(new_root)
    arrange = f"""set -e
mount -t tmpfs -o mode=755 tmpfs {new_root}
for entry in /*; do
    [ "$entry" = /workspace ] && continue
    if [ -L "$entry" ]; then cp -P "$entry" {new_root}/
    elif [ -d "$entry" ]; then mkdir {new_root}$entry && mount --rbind "$entry" {new_root}$entry
    fi
done
mkdir {new_root}/workspace {new_root}/.old
mount --bind {workspace} {new_root}/workspace
cd {new_root}
pivot_root . .old
cd /
umount -l /.old
exec {"" if IS_ROOT else f"unshare -U --map-user={os.getuid()} --map-group={os.getgid()}"} "$@"
"""
    # An ordinary user mounts as root of a user namespace, and is nobody but itself again in a second one.
    # (No chroot: in one, no further user namespace may be made, and jobs make their own.)
    unshare = ["unshare", "-m"] if IS_ROOT else ["unshare", "-m", "-U", "-r"]
    if subprocess.run([*unshare, "true"], capture_output=True).returncode != 0:
        raise Skip("no mount namespace may be made here")
    probe = subprocess.run([*unshare, "sh", "-c", arrange, "sh", "true"],
                           capture_output=True, text=True)
    if probe.returncode != 0:
        raise Skip(f"no private /workspace can be made here: {probe.stderr.strip()[:200]}")
    here = os.path.dirname(os.path.abspath(__file__))
    done = subprocess.run(
        [*unshare, "sh", "-c", arrange, "sh", sys.executable, "-B", f"{here}/run.py", "--one",
         "seed_script.runs_byte_for_byte"],
        env={**os.environ, INSIDE: workspace}, cwd="/")
    assert done.returncode == 0, "inside the namespace: see above"


@test(seconds=15)
def runs_byte_for_byte():
    if INSIDE not in os.environ:
        in_a_namespace_of_its_own()
        return
    with Cluster(nodes=8, conf=CONF, memory="1000G", cpus=96) as c:
        path = f"/workspace/bin:{c.env['PATH']}"
        (c.work / "train.sh").write_text(SCRIPT)
        for submit in (lambda: c.run("sbatch", "train.sh", env={"PATH": path}).out,
                       lambda: c.run("sbatch", input=SCRIPT, env={"PATH": path}).out):
            job = int(submit().removeprefix("Submitted batch job "))
            c.wait_ended(job)
            lines = c.output(job).splitlines()
            contains(lines[0], "Started at ")
            contains(lines[-1], "Finished at ")
            # Without -n the script has no SLURM_NTASKS, in Slurm too; the tasks have.
            want = [f"train {i} of 8 on node00{i + 1} gpus 0,1,2,3,4,5,6,7 "
                    "args --model_size=70B --num_gpus=" for i in range(8)]
            equal(sorted(lines[1:-1]), want)
            equal(c.history(job, "JobName,Partition,State,ExitCode,AllocNodes"),
                  "llama70b|train|COMPLETED|0:0|8")
