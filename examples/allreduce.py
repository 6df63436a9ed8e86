#!/usr/bin/env python3
"""A stand-in for a training step: a ring all-reduce over TCP between the tasks of one srun.

Each rank holds the vector rank+1, rank+2, …; afterwards every rank must hold the sum over all ranks. The ranks find each
other as training programs do: by SLURM_PROCID, SLURM_NTASKS, and the host names of the job.
"""
import argparse
import array
import os
import socket
import subprocess
import sys
import time


def hosts_of_ranks(ntasks):
    """The host of each rank, in block order over the nodes of the step."""
    names = subprocess.run(["scontrol", "show", "hostnames", os.environ["SLURM_STEP_NODELIST"]],
                           check=True, capture_output=True, text=True).stdout.split()
    per_node = []
    for part in os.environ["SLURM_STEP_TASKS_PER_NODE"].split(","):
        count, _, times = part.partition("(x")
        per_node += [int(count)] * int(times.rstrip(")") or 1)
    hosts = [name for name, count in zip(names, per_node) for _ in range(count)]
    assert len(hosts) == ntasks, (hosts, ntasks)
    return hosts


def connect(host, port, patience):
    deadline = time.monotonic() + patience
    while True:
        try:
            return socket.create_connection((host, port), timeout=patience)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def receive(sock, size):
    data = bytearray()
    while len(data) < size:
        chunk = sock.recv(size - len(data))
        if not chunk:
            raise ConnectionError("a peer went away")
        data += chunk
    return data


def all_reduce(values, rank, ntasks, hosts, port):
    """Passes partial sums around the ring ntasks - 1 times."""
    if ntasks == 1:
        return values
    server = socket.create_server(("", port + rank), reuse_port=False)
    server.settimeout(60)
    right = connect(hosts[(rank + 1) % ntasks], port + (rank + 1) % ntasks, 60)
    left, _ = server.accept()
    left.settimeout(60)
    total = array.array("q", values)
    passing = array.array("q", values)
    for _ in range(ntasks - 1):
        right.sendall(passing.tobytes())
        passing = array.array("q")
        passing.frombytes(bytes(receive(left, len(values) * 8)))
        total = array.array("q", (a + b for a, b in zip(total, passing)))
    return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--length", type=int, default=1000)
    length = parser.parse_args().length
    rank, ntasks = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
    values = array.array("q", (rank + 1 + i for i in range(length)))
    total = all_reduce(values, rank, ntasks, hosts_of_ranks(ntasks), int(os.environ["MASTER_PORT"]))
    ranks = ntasks * (ntasks + 1) // 2
    wrong = sum(1 for i, value in enumerate(total) if value != ranks + ntasks * i)
    print(f"rank {rank} of {ntasks} on {socket.gethostname()} node {os.environ['SLURMD_NODENAME']} "
          f"gpus {os.environ.get('CUDA_VISIBLE_DEVICES', 'none')}: "
          f"all-reduce of {length} values {'is right' if wrong == 0 else f'has {wrong} wrong'}", flush=True)
    return 0 if wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
