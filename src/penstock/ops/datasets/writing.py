"""Files of a dataset's elements: DatasetToTFRecord."""

from __future__ import annotations

from typing import Any

from penstock.graph import shape_rules
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.traits import SERIAL
from penstock.ops.datasets.base import IterationContext, dataset_of
from penstock.ops.datasets.define import scalar
from penstock.ops.kernel_tools import invalid
from penstock.records.writer import TFRecordWriter
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import string

DATASET_TO_TF_RECORD = define_op(
    "DatasetToTFRecord",
    "input_dataset: variant, filename: string, compression_type: string",
    "",
    stateful=True,
    shape=shape_rules.no_outputs,
    work=SERIAL,
)
DATASET_TO_TF_RECORD.not_differentiable()


@DATASET_TO_TF_RECORD.kernel("CPU")
def dataset_to_tf_record_kernel(ctx: KernelContext) -> Kernel:
    def write(dataset: Any, filename: Any, compression: Any) -> None:
        source, iteration = dataset_of(dataset), IterationContext()
        if source.dtypes != (string,):
            raise invalid("A file of records is written of a dataset of scalar strings")
        elements = source.iterate(iteration)
        try:
            kind = scalar("compression_type", compression).decode()
            with TFRecordWriter(scalar("filename", filename).decode(), kind) as writer:
                while (element := elements.next()) is not None:
                    writer.write(scalar("record", element[0]))
        finally:
            iteration.close()
            elements.close()

    return write
