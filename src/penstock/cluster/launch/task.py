"""What runs in a task's process: a Server, until whoever started it says stop or is gone."""

from __future__ import annotations

import errno
import os
import random
import socket
from typing import Any

import numpy as np
import torch
from tensorboard.compat.proto.config_pb2 import ConfigProto

from penstock import errors
from penstock.cluster.launch.loop import Lines
from penstock.cluster.launch.plan import Plan, TaskPlan
from penstock.cluster.server import Server
from penstock.cluster.spec import ClusterSpec, ServerDef, host_and_port


def make_server(plan: Plan, task: TaskPlan, address: str) -> Server:
    """The task's Server, at `address` if nobody else is there by now. Clients wait until `tell_addresses`."""
    config = ConfigProto.FromString(bytes.fromhex(plan.config))
    if task.needs.cpus is not None:
        torch.set_num_threads(max(1, round(task.needs.cpus)))
    for seed in (random.seed, np.random.seed, torch.seed):  # after a fork, all have the parent's
        seed()
    jobs = plan.jobs
    ports = [host_and_port(address)[1], 0] if address else [0]
    for port in ports:
        host = host_and_port(address)[0] if address else host_and_port(jobs[task.job][task.index])[0]
        jobs[task.job][task.index] = f"{host}:{port}"
        definition = ServerDef(
            cluster=ClusterSpec(jobs).as_cluster_def(), job_name=task.job, task_index=task.index, protocol="grpc"
        )
        try:
            return Server(
                definition,
                config=config,
                cluster_id=plan.cluster_id,
                token=bytes.fromhex(plan.token),
                dead_s=plan.dead_s,
                start=False,
            )
        except (errors.OpError, OSError) as error:
            in_use = isinstance(error, errors.AlreadyExistsError) or getattr(error, "errno", 0) == errno.EADDRINUSE
            if port == 0 or not in_use:
                raise
    raise AssertionError("a free port is always found, or refused with an error")


def tell_addresses(server: Server, addresses: dict[str, str]) -> None:
    """It knows where the others are now, and so may tell clients."""
    server.members.update(addresses)
    server.start()


def serve(connection: socket.socket, plan: Plan, task: TaskPlan, address: str) -> None:
    """Serve until told to stop, or until the connection to the keeper ends."""
    lines = Lines(connection)
    server = make_server(plan, task, address)
    own = server.members.address(server.members.task)
    lines.send({"started": {"address": own, "pid": os.getpid(), "incarnation": server.identity.incarnation}})
    while (messages := lines.receive()) is not None:
        for message in messages:
            if "stop" in message:
                return  # the process ends, and what it held
            lines.send(_answer(server, message))


def _answer(server: Server, message: dict[str, Any]) -> dict[str, Any]:
    if "update" in message:
        tell_addresses(server, message["update"])
        return {"updated": message["version"]}
    return {"alive": message["ping"]}
