"""Programs find the files of their checkpoints under TensorFlow's names."""

from __future__ import annotations

from pathlib import Path

from tests.programs.running import output_of

COPIES = """
import glob, os, tensorflow as tf
tf.Variable(7.0, name="w")
saver = tf.train.Saver(max_to_keep=1)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    saver.save(session, "m.ckpt", global_step=1)
    print(saver.save(session, "m.ckpt", global_step=2), sorted(glob.glob("m.ckpt*")))
    for end in ("meta", "data-00000-of-00001", "index"):
        tf.gfile.Copy("m.ckpt-2." + end, "best." + end)
        os.remove("m.ckpt-2." + end)
again = tf.train.import_meta_graph("best.meta")
with tf.Session() as session:
    again.restore(session, "best")
    print(session.run("w:0"))
"""


def test_files_of_checkpoints_are_copied_and_deleted_by_tensorflows_names(tmp_path: Path) -> None:
    files = "['m.ckpt-2.data-00000-of-00001', 'm.ckpt-2.index', 'm.ckpt-2.meta']"
    assert output_of(tmp_path, COPIES) == f"m.ckpt-2 {files}\n7.0\n"


def test_the_environment_chooses_the_files_of_programs(tmp_path: Path) -> None:
    text = COPIES.split("    for end")[0]
    assert ".safetensors" in output_of(tmp_path, text, PENSTOCK_CHECKPOINT_FORMAT="penstock")
