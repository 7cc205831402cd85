"""Exchange checkpoints with TensorFlow, both ways, bit for bit: `python -m conformance.checkpoints`.

TensorFlow (under the Python named by --tensorflow or CONFORMANCE_TENSORFLOW) saves thirty models, which are read here;
what is written here, TensorFlow reads. Without it, the checkpoints recorded in tests/data are read. `--record` makes
these anew.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from conformance.checkpoint_models import QUANTISED, Array, Model, Region, build, dtype_name, models, region_spec
from conformance.inside import ROOT, options, run_inside
from conformance.values import from_json, to_json

MODULE = "conformance.checkpoints"
RECORD = ROOT / "tests" / "data" / "checkpoints"
RECORDED = (
    "every type",
    "every type but new ones",
    "strings",
    "parts of float32",
    "parts of string",
    "in shards",
    "Adam",
)

_EXPECTED = "expected.json"


def main() -> int:
    args = options(__doc__, RECORD)
    if args.inside:
        return {"save": save_all, "check": check_all}[args.inside[0]](Path(args.inside[1]))
    if not args.tensorflow:
        print(f"No --tensorflow given: reading the checkpoints recorded in {RECORD.relative_to(ROOT)}.")
        found = read_all(RECORD)
        print("\n".join([f"{len(list(RECORD.iterdir()))} models read, {len(found)} differences.", *found]))
        return len(found) > 0
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = Path(folder) / "theirs", Path(folder) / "ours"
        run_inside(args.tensorflow, MODULE, "save", theirs)
        found = read_all(theirs)
        write_all(theirs, ours)
        found += run_inside(args.tensorflow, MODULE, "check", ours)
        if args.record:
            shutil.rmtree(RECORD, ignore_errors=True)
            for model in models():
                if model.name in RECORDED:
                    shutil.copytree(theirs / model.folder, RECORD / model.folder)
    print("\n".join([f"{len(models())} models both ways, {len(found)} differences.", *found]))
    return len(found) > 0


# --- under TensorFlow ---------------------------------------------------------------------------------


def tensorflow() -> Any:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    tf.get_logger().setLevel("ERROR")
    return tf


def save_all(folder: Path) -> int:
    """Each model in a folder of its own, as v2, and as v1 where that can be, with what is in it."""
    tf = tensorflow()
    for model in models():
        own = folder / model.folder
        own.mkdir(parents=True)
        with tf.Graph().as_default(), tf.Session() as session:
            if model.kind:
                values = run_program(tf, session, model.kind, own)
            else:
                save_tensors(tf, session, model, own)
                values = model.tensors
        to_file(own, values)
    return 0


def run_program(tf: Any, session: Any, kind: str, folder: Path) -> dict[str, Array]:
    run_steps(tf, session, kind, str(folder / "v2"), tf.train.SaverDef.V2)
    if kind != "sharded":
        saver = tf.train.Saver(write_version=tf.train.SaverDef.V1)
        saver.save(session, str(folder / "v1"), write_meta_graph=False, write_state=False)
    reader = tf.train.NewCheckpointReader(str(folder / "v2"))
    return {name: np.asarray(reader.get_tensor(name)) for name in reader.get_variable_to_shape_map()}


def run_steps(tf: Any, session: Any, kind: str, prefix: str, version: Any) -> None:
    """A few steps of a program, under either framework, and the checkpoint that its saver writes."""
    train = build(tf, kind)
    saver = tf.train.Saver(sharded=kind == "sharded", write_version=version)
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run(train)
    saver.save(session, prefix, write_meta_graph=False, write_state=False)


def save_tensors(tf: Any, session: Any, model: Model, folder: Path) -> None:
    """Those with tensors in parts are two checkpoints that are merged: parts of one tensor are in different files."""
    names, specs, placeholders, feeds = [], [], [], {}
    for name, value in model.tensors.items():
        for region in model.regions.get(name, [None]):
            names.append(name)
            specs.append("" if region is None else region_spec(value.shape, region))
            part = value if region is None else value[index_of(region)]
            placeholders.append(tf.placeholder(dtype_name(value), part.shape))
            feeds[placeholders[-1]] = part
    shards = [slice(0, None, 2), slice(1, None, 2)] if model.regions and len(names) > 1 else [slice(None)]
    prefixes = [str(folder / f"v2_temp_{number}") for number in range(len(shards))]
    for prefix, own in zip(prefixes, shards, strict=True):
        save = tf.raw_ops.SaveV2(
            prefix=prefix, tensor_names=names[own], shape_and_slices=specs[own], tensors=placeholders[own]
        )
        session.run(save, feeds)
    session.run(tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=prefixes, destination_prefix=str(folder / "v2")))
    if model.first_format:
        save = tf.raw_ops.SaveSlices(
            filename=str(folder / "v1"), tensor_names=names, shapes_and_slices=specs, data=placeholders
        )
        session.run(save, feeds)


def check_all(folder: Path) -> int:
    """Prints what TensorFlow reads otherwise than Penstock wrote it."""
    tf = tensorflow()
    for model in models():
        for prefix in sorted(path.with_suffix("") for path in (folder / model.folder).glob("*.index")):
            own = folder / model.folder
            expected = from_file(own / "program" if prefix.name == "trained" else own)
            reader = tf.train.NewCheckpointReader(str(prefix))
            where = f"{model.name}, {prefix.name}, read by TensorFlow"
            shapes = reader.get_variable_to_shape_map()
            if shapes != {name: list(value.shape) for name, value in expected.items()}:
                print(f"{where}: other names or shapes")
            with tf.Graph().as_default(), tf.Session() as session:
                for name, spec, part in slices_of(model, expected):
                    (got,) = tf.raw_ops.RestoreV2(
                        prefix=str(prefix), tensor_names=[name], shape_and_slices=[spec], dtypes=[dtype_name(part)]
                    )
                    try:
                        compare(f"{where}: {name} {spec}", session.run(got), part)
                    except tf.errors.InvalidArgumentError as error:
                        # TensorFlow saves parts of tensors of every type, but does not restore those of a few.
                        if name not in model.regions or "not supported" not in error.message:
                            raise
            with tf.Graph().as_default(), tf.Session() as session:
                if model.kind:
                    build(tf, model.kind)
                    tf.train.Saver().restore(session, str(prefix))
    return 0


# --- under Penstock -----------------------------------------------------------------------------------


def read_all(folder: Path) -> list[str]:
    """What Penstock reads otherwise than TensorFlow wrote it."""
    from penstock.checkpoint.reader import CheckpointReader

    found: list[str] = []
    for model in models():
        own = folder / model.folder
        if not own.exists():
            continue
        expected = from_file(own)
        for version in ("v2", "v1") if (own / "v1").exists() else ("v2",):
            where = f"{model.name}, {version}, read by Penstock"
            reader = CheckpointReader(own / version)
            if reader.get_variable_to_shape_map() != {name: list(value.shape) for name, value in expected.items()}:
                found.append(f"{where}: other names or shapes")
            for name, spec, part in slices_of(model, expected):
                region = model.regions[name][0] if spec else None
                got = reader.array(name) if region is None else reader.get_slice(name, *region)
                difference = differs(got, part)
                found += [f"{where}: {name} {spec}: {difference}"] if difference else []
            found += restore(model, own / version, expected, where)
    return found


def restore(model: Model, prefix: Path, expected: dict[str, Array], where: str) -> list[str]:
    """The same program here goes on from the checkpoint."""
    import penstock as tf

    if not model.kind:
        return []
    with tf.Graph().as_default(), tf.Session() as session:
        build(tf, model.kind)
        tf.train.Saver().restore(session, str(prefix))
        plain = [variable for variable in tf.global_variables() if variable.op.name in expected]
        values = session.run(plain)
    found = []
    for variable, value in zip(plain, values, strict=True):
        difference = differs(np.asarray(value), expected[variable.op.name])
        found += [f"{where}: variable {variable.op.name}: {difference}"] if difference else []
    return found


def write_all(theirs: Path, ours: Path) -> None:
    """Each model written from its tensors, in one file and in several, and over another checkpoint; programs also by
    their own saver."""
    import penstock as tf
    from penstock.checkpoint.slices import Slice, SlicedTensor
    from penstock.checkpoint.writer import write_checkpoint

    for model in models():
        own = ours / model.folder
        own.mkdir(parents=True)
        shutil.copy(theirs / model.folder / _EXPECTED, own)
        tensors: dict[str, Any] = dict(from_file(own))
        for name, regions in model.regions.items():
            value = tensors[name]
            parts = tuple(Slice(region[0], value[index_of(region)]) for region in regions)
            tensors[name] = SlicedTensor(value.shape, parts)
        write_checkpoint(own / "one", tensors, format="tensorflow")
        write_checkpoint(own / "several", tensors, format="tensorflow", max_shard_bytes=200_000)
        write_checkpoint(own / "over", {"other": np.zeros(3)}, format="tensorflow")
        write_checkpoint(own / "over", tensors, format="tensorflow")
        if model.kind:
            with tf.Graph().as_default(), tf.Session() as session:
                run_steps(tf, session, model.kind, str(own / "trained"), "tensorflow")
                reader = tf.train.NewCheckpointReader(str(own / "trained"))
                (own / "program").mkdir()
                to_file(own / "program", reader.read(reader.get_variable_to_shape_map()))


# --- under both ---------------------------------------------------------------------------------------


def slices_of(model: Model, expected: dict[str, Array]) -> list[tuple[str, str, Array]]:
    """Name, region and value of what is compared: all tensors, of some also a region. Of many, every hundredth."""
    names = list(expected)[:: 100 if len(expected) > 1000 else 1]
    whole = [(name, "", expected[name]) for name in names]
    return whole + [
        (name, region_spec(expected[name].shape, regions[0]), expected[name][index_of(regions[0])])
        for name, regions in model.regions.items()
    ]


def index_of(region: Region) -> tuple[slice, ...]:
    return tuple(slice(start, start + size) for start, size in zip(*region, strict=True))


def differs(got: Array, want: Array) -> str:
    got = np.asarray(got)
    if (dtype_name(got), got.shape) != (dtype_name(want), want.shape):
        return f"{dtype_name(got)} {got.shape} instead of {dtype_name(want)} {want.shape}"
    same = got.tolist() == want.tolist() if want.dtype == object else got.tobytes() == want.tobytes()
    return "" if same else "other values"


def compare(where: str, got: Any, want: Array) -> None:
    if dtype_name(want) == "string" and not isinstance(got, np.ndarray):
        got = np.array(got, object)
    if want.dtype.names:  # TensorFlow gives quantised numbers as plain ones; that the type is the same it has checked
        want = want.view(want.dtype[0])
    if difference := differs(got, want):
        print(f"{where}: {difference}")


def to_file(folder: Path, tensors: dict[str, Array]) -> None:
    content = {name: {"type": dtype_name(value), **to_json(value)} for name, value in tensors.items()}
    (folder / _EXPECTED).write_text(json.dumps(content))


def from_file(folder: Path) -> dict[str, Array]:
    """The expected tensors."""
    content = json.loads((folder / _EXPECTED).read_text()).items()
    values = {name: from_json(value) for name, value in content}
    return {name: values[name].view(QUANTISED.get(value["type"], values[name].dtype)) for name, value in content}


if __name__ == "__main__":
    sys.exit(main())
