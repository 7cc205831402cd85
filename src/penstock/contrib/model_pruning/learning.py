"""slim's training loop, with an update of masks after each step (TF: tf.contrib.model_pruning.train)."""

from __future__ import annotations

from typing import Any

from penstock.contrib.slim import learning
from penstock.export import export

train_step = learning.train_step


@export("contrib.model_pruning.train")
def train(
    train_op: Any, logdir: Any, mask_update_op: Any, train_step_fn: Any = train_step, *args: Any, **kwargs: Any
) -> Any:
    """`slim.learning.train`, and `mask_update_op` after each step; its arguments after `train_step_fn` are slim's."""

    def step(sess: Any, train_op: Any, global_step: Any, train_step_kwargs: Any) -> tuple[Any, bool]:
        loss, should_stop = train_step_fn(sess, train_op, global_step, train_step_kwargs)
        sess.run(mask_update_op)
        return loss, should_stop

    return learning.train(train_op, logdir, step, *args, **kwargs)
