"""`SyncReplicasOptimizer`: replicas that apply one update together (TF: tf.train.SyncReplicasOptimizer)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.client.accumulators import (
    ConditionalAccumulator,
    ConditionalAccumulatorBase,
    SparseConditionalAccumulator,
)
from penstock.client.queues import FIFOQueue
from penstock.client.variable import Variable
from penstock.client.variables import global_variables, report_uninitialized_variables
from penstock.export import export
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import GraphKeys, colocate_with, control_dependencies, device, name_scope
from penstock.old_names import old_arguments
from penstock.ops.basic import group, no_op
from penstock.ops.filling import fill
from penstock.ops.state import assign
from penstock.train.moving_averages import ExponentialMovingAverage
from penstock.train.optimizer import GradAndVar, Optimizer
from penstock.train.queue_runner import QueueRunner
from penstock.train.session_run_hook import SessionRunHook


@export("train.SyncReplicasOptimizer", "train.SyncReplicasOptimizerV2")
class SyncReplicasOptimizer(Optimizer):
    """Collects gradients of several replicas, and applies their mean with another optimizer.

    A replica's train op adds its gradients to accumulators and then waits for a token, which is the next global step.
    The chief's queue runner takes the gradients of `replicas_to_aggregate` replicas, applies them, and hands out the
    tokens. Gradients of earlier steps are dropped.
    """

    @old_arguments(
        "tf.train.SyncReplicasOptimizer",
        "tf.train.SyncReplicasOptimizer without replica_id, which has no effect",
        renamed={"replica_id": ""},  # replicas are no longer told apart: a queue of tokens is for all
    )
    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: ExponentialMovingAverage | None = None,
        variables_to_average: Iterable[Any] | None = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ) -> None:
        """`total_num_replicas` may be more (the slowest ones of each step are not waited for) or fewer (each computes
        several gradients for a step). `variable_averages` is applied to `variables_to_average` after each update."""
        super().__init__(use_locking, name)
        self._opt = opt
        self._replicas_to_aggregate = replicas_to_aggregate
        self._total_num_replicas = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        self._tokens_per_step = max(self._total_num_replicas, replicas_to_aggregate)
        self._variable_averages, self._variables_to_average = variable_averages, variables_to_average
        self._accumulators: list[tuple[ConditionalAccumulatorBase, str]] = []
        self._chief_queue_runner: QueueRunner | None = None

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[GradAndVar]:
        """The gradients of this replica."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Iterable[GradAndVar], global_step: Any = None, name: str | None = None
    ) -> Operation:
        """The train op of each replica. It also builds the chief's part; see `get_chief_queue_runner`.

        ValueError without gradients or without a global step.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        with colocate_with(no_op()):  # which is on this replica's worker, as variables are not under a device setter
            self._local_step = Variable(
                0,
                trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES],
                dtype=global_step.dtype.base_dtype,
                name="sync_rep_local_step",
            )
        self.local_step_init_op = assign(self._local_step, global_step)
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        with name_scope(None, self._name):
            applied, aggregated = self._accumulate(pairs)
            with device(global_step.device), name_scope(""):
                update = self._opt.apply_gradients(aggregated, global_step)
                self._tokens = FIFOQueue(
                    -1, global_step.dtype.base_dtype, shapes=(), name="sync_token_q", shared_name="sync_token_q"
                )
                with control_dependencies(applied):
                    token = self._tokens.dequeue()
                train_op: Operation = assign(self._local_step, token)
                with control_dependencies([update]):
                    sync_op = self._tokens.enqueue_many((fill([self._tokens_per_step], global_step),))
                if self._variable_averages is not None:
                    with control_dependencies([sync_op]):
                        sync_op = self._variable_averages.apply(self._variables_to_average)
            self._chief_queue_runner = QueueRunner(self._tokens, [sync_op])
            set_steps = []
            for accumulator, where in self._accumulators:
                with device(where):
                    set_steps.append(accumulator.set_global_step(global_step, name="SetGlobalStep"))
            self.chief_init_op = group(self.local_step_init_op, *set_steps)
        return train_op

    def _accumulate(self, pairs: list[GradAndVar]) -> tuple[list[Operation], list[GradAndVar]]:
        """The ops that add the gradients, and their means with the variables."""
        applied: list[Operation] = []
        aggregated: list[GradAndVar] = []
        for grad, variable in pairs:
            if grad is None:
                aggregated.append((None, variable))
                continue
            shared_name = f"{variable.name}/grad_accum"
            with device(variable.device):
                if isinstance(grad, IndexedSlices):
                    sparse = SparseConditionalAccumulator(grad.dtype, shape=(), shared_name=shared_name)
                    applied.append(sparse.apply_indexed_slices_grad(grad, local_step=self._local_step))
                    mean: Any = sparse.take_indexed_slices_grad(self._replicas_to_aggregate)
                    self._accumulators.append((sparse, variable.device))
                elif isinstance(grad, Tensor):
                    dense = ConditionalAccumulator(grad.dtype, shape=variable.shape, shared_name=shared_name)
                    applied.append(dense.apply_grad(grad, local_step=self._local_step))
                    mean = dense.take_grad(self._replicas_to_aggregate)
                    self._accumulators.append((dense, variable.device))
                else:
                    raise ValueError(f"Unknown grad type: {type(grad).__name__}")
            aggregated.append((mean, variable))
        return applied, aggregated

    # --- what the chief runs ----------------------------------------------------------------------------

    def get_chief_queue_runner(self) -> QueueRunner:
        """The runner that applies updates and hands out tokens. ValueError before `apply_gradients`."""
        if self._chief_queue_runner is None:
            raise ValueError("Should be called after apply_gradients().")
        return self._chief_queue_runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Operation:
        """The op that hands out the first tokens, `replicas_to_aggregate` by default.

        ValueError before `apply_gradients`, or if replicas that compute several gradients for a step could not begin.
        """
        if self._chief_queue_runner is None:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} (needed)")
        if num_tokens <= 0:
            return no_op(name="no_init_tokens")
        with device(self._global_step.device), name_scope(""):
            return self._tokens.enqueue_many((fill([num_tokens], convert_to_tensor(self._global_step)),))

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """The hook of a monitored session that initialises this replica; in the chief it also starts the updates, after
        handing out `num_tokens` tokens."""
        return _SyncReplicasHook(self, is_chief, num_tokens)

    # --- the other optimizer's, by hand: programs list optimizers by their base, which is Optimizer itself ---

    def get_slot(self, var: Any, name: str) -> Any:
        return self._opt.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        return self._opt.get_slot_names()

    def variables(self) -> list[Any]:
        return self._opt.variables()


class _SyncReplicasHook(SessionRunHook):
    def __init__(self, optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int) -> None:
        self._optimizer, self._is_chief, self._num_tokens = optimizer, is_chief, num_tokens

    def begin(self) -> None:
        """Raises ValueError before `apply_gradients`."""
        if self._optimizer._chief_queue_runner is None:
            raise ValueError("SyncReplicasOptimizer.apply_gradient should be called before using the hook.")
        self._runner = self._optimizer._chief_queue_runner
        if self._is_chief:
            self._init_op = self._optimizer.chief_init_op
            self._init_tokens_op = self._optimizer.get_init_tokens_op(self._num_tokens)
        else:
            self._init_op = self._optimizer.local_step_init_op

    def after_create_session(self, session: Any, coord: Any) -> None:
        missing = session.run(self._optimizer.ready_for_local_init_op)
        if missing.size:
            names = ", ".join(name.decode() for name in missing)
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicasOptimizer local_init. Init op: "
                f"{self._init_op.name}, error: Variables not initialized: {names}"
            )
        session.run(self._init_op)
        if self._is_chief:
            session.run(self._init_tokens_op)
            self._runner.create_threads(session, coord=coord, daemon=True, start=True)
