"""Attributes that ops have had since TensorFlow 2 only: graphs are written without those that have their defaults.

TensorFlow 1.15 refuses a node that has an attribute which its op lacks, whatever the value; TensorFlow 2 adds defaults
that are left out. Source: the OpDefs of TensorFlow 1.15.5 (`TF_GetAllOpList`) beside those of ops here.
"""

from __future__ import annotations

_OPS_BY_ATTR = {
    "Tcomplex": """
        IRFFT IRFFT2D IRFFT3D RFFT RFFT2D RFFT3D
    """,
    "Tk": """
        TopKV2
    """,
    "Treal": """
        IRFFT IRFFT2D IRFFT3D RFFT RFFT2D RFFT3D
    """,
    "Tsegmentids": """
        SparseSegmentMean SparseSegmentMeanGrad SparseSegmentMeanWithNumSegments SparseSegmentSqrtN
        SparseSegmentSqrtNGrad SparseSegmentSqrtNWithNumSegments SparseSegmentSum
        SparseSegmentSumWithNumSegments
    """,
    "Tshape": """
        TensorListGetItem
    """,
    "allow_missing_files": """
        MergeV2Checkpoints
    """,
    "allowed_devices": """
        VarHandleOp
    """,
    "axis": """
        Dequantize QuantizeAndDequantizeV2 QuantizeAndDequantizeV3 QuantizeV2
    """,
    "bad_indices_policy": """
        GatherNd ResourceScatterNdAdd ResourceScatterNdSub ResourceScatterNdUpdate ScatterNd ScatterNdAdd
        ScatterNdSub ScatterNdUpdate TensorScatterAdd TensorScatterSub TensorScatterUpdate
    """,
    "blank_index": """
        CTCGreedyDecoder
    """,
    "buffer_size_min": """
        PrefetchDataset
    """,
    "debug_name": """
        VarHandleOp
    """,
    "dtype": """
        Dequantize
    """,
    "ensure_minimum_range": """
        QuantizeV2
    """,
    "drop_remainder": """
        SlidingWindowDataset
    """,
    "explicit_paddings": """
        DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput MaxPool
        MaxPoolGrad
    """,
    "exponential_avg_factor": """
        FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3
    """,
    "external_state_policy": """
        SerializeIterator
    """,
    "fill_mode": """
        ImageProjectiveTransformV2
    """,
    "force_synchronous": """
        ExperimentalMapDataset MapDataset
    """,
    "grad_a": """
        MatMul
    """,
    "grad_b": """
        MatMul
    """,
    "grad_x": """
        BatchMatMul BatchMatMulV2
    """,
    "grad_y": """
        BatchMatMul BatchMatMulV2
    """,
    "index_type": """
        TopKV2
    """,
    "is_files": """
        TensorSliceDataset
    """,
    "log_warning": """
        ExperimentalIgnoreErrorsDataset IgnoreErrorsDataset
    """,
    "metadata": """
        BatchDataset BatchDatasetV2 CacheDataset CacheDatasetV2 ConcatenateDataset DatasetToSingleElement FilterDataset
        FixedLengthRecordDataset FixedLengthRecordDatasetV2 FlatMapDataset GeneratorDataset
        GroupByWindowDataset InterleaveDataset MapAndBatchDataset MapDataset PaddedBatchDataset
        PaddedBatchDatasetV2 ParallelInterleaveDataset ParallelInterleaveDatasetV2 ParallelMapDataset
        PrefetchDataset RandomDataset RangeDataset ReduceDataset RepeatDataset ScanDataset ShardDataset
        ShuffleAndRepeatDataset ShuffleDataset SkipDataset TFRecordDataset TakeDataset TakeWhileDataset
        TensorDataset TensorSliceDataset TextLineDataset UnbatchDataset UniqueDataset
        WindowDataset ZipDataset
    """,
    "multiply_linear_by_lr": """
        ApplyFtrl ApplyFtrlV2 ResourceApplyFtrl ResourceApplyFtrlV2 ResourceSparseApplyFtrl
        ResourceSparseApplyFtrlV2 SparseApplyFtrl SparseApplyFtrlV2
    """,
    "narrow_range": """
        Dequantize QuantizeV2
    """,
    "offset": """
        InitializeTableFromTextFile InitializeTableFromTextFileV2
    """,
    "ram_budget": """
        ModelDataset
    """,
    "replicate_on_split": """
        RangeDataset TensorSliceDataset
    """,
    "reshuffle_each_iteration": """
        ShuffleAndRepeatDataset
    """,
    "resize_if_index_out_of_bounds": """
        TensorListSetItem
    """,
    "shape_type": """
        ConcatOffset
    """,
    "sparse_gradient": """
        SparseSegmentMean SparseSegmentMeanWithNumSegments SparseSegmentSqrtN
        SparseSegmentSqrtNWithNumSegments SparseSegmentSum SparseSegmentSumWithNumSegments
    """,
    "stop_on_empty_dataset": """
        DirectedInterleaveDataset
    """,
    "timeout_seconds": """
        CollectiveBcastRecv CollectiveBcastSend CollectiveGather CollectiveReduce
    """,
    "use_default_device": """
        ScanDataset
    """,
    "validate_shape": """
        AssignVariableOp
    """,
}

NEWER_ATTRS = frozenset((op, attr) for attr, ops in _OPS_BY_ATTR.items() for op in ops.split())
"""(op, attribute)."""
