"""Every recorded sample of every op gives here what TensorFlow gave: `make conformance` records them anew."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

import penstock
from conformance.compare import difference
from conformance.known import KNOWN
from conformance.run import RECORD, read_record, reason_for
from conformance.runner import run_sample
from penstock.graph.opdef import registered_ops

RECORDED: dict[str, list[Any]] = defaultdict(list)
for _sample, _result in read_record(RECORD):
    RECORDED[_sample["op"]].append((_sample, _result))


PARTS = 3
"""Tests that share an op's samples; the first one always runs."""


@pytest.mark.parametrize("part", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in range(1, PARTS))])
@pytest.mark.parametrize("op", sorted(RECORDED))
def test_an_op_gives_what_tensorflow_gave_on_all_its_samples(op: str, part: int) -> None:
    unexplained = []
    for sample, theirs in RECORDED[op][part::PARTS]:
        found = difference(sample, run_sample(penstock, sample), theirs)
        if found and not reason_for(op, found):
            unexplained.append(f"{sample['what']}: {found}")
    assert not unexplained, "\n".join(unexplained[:5])


NOT_COMPARED = {
    "they are the graph itself, or move values: tests/session, tests/control_flow": """
        Const ControlTrigger Enter Exit Identity LoopCond Merge NextIteration NoOp Placeholder PlaceholderV2
        PlaceholderWithDefault RefEnter RefExit RefMerge RefNextIteration RefSwitch Switch""",
    "they act on state beside others; TensorFlow's sessions give the expected values in their own tests": """
        AddManySparseToTensorsMap AddSparseToTensorsMap CountUpTo DeleteSessionTensor DestroyResourceOp
        DisableCopyOnRead DestroyTemporaryVariable GetSessionHandle GetSessionTensor HashTable
        HashTableV2 InitializeTable InitializeTableFromTextFile InitializeTableFromTextFileV2 InitializeTableV2
        IsVariableInitialized LookupTableExport LookupTableExportV2 LookupTableFind LookupTableFindV2 LookupTableImport
        LookupTableImportV2 LookupTableInsert LookupTableInsertV2 LookupTableRemoveV2 LookupTableSize LookupTableSizeV2
        MutableDenseHashTable MutableDenseHashTableV2 MutableHashTable MutableHashTableOfTensors
        MutableHashTableOfTensorsV2 MutableHashTableV2 ReadVariableOp RefIdentity ResourceCountUpTo
        ResourceGather ResourceGatherNd
        ResourceStridedSliceAssign Stack StackClose StackCloseV2 StackPop StackPopV2 StackPush StackPushV2 StackV2
        StridedSliceAssign TakeManySparseFromTensorsMap TemporaryVariable TensorArrayCloseV3 TensorArrayConcatV3
        TensorArrayGatherV3 TensorArrayGradV3 TensorArrayGradWithShape TensorArrayReadV3 TensorArrayScatterV3
        TensorArraySizeV3 TensorArraySplitV3 TensorArrayV3 TensorArrayWriteV3 VarHandleOp VarIsInitializedOp Variable
        VariableShape VariableV2""",
    "steps wait for each other at them; what TensorFlow does is in their own tests, tests/data_flow": """
        AccumulatorApplyGradient AccumulatorNumAccumulated AccumulatorSetGlobalStep AccumulatorTakeGradient
        Barrier BarrierClose BarrierIncompleteSize BarrierInsertMany BarrierReadySize BarrierTakeMany
        CollectiveBcastRecv CollectiveBcastSend CollectiveGather CollectiveReduce NcclAllReduce
        ConditionalAccumulator ConsumeMutexLock FIFOQueue FIFOQueueV2 MapClear MapIncompleteSize MapPeek MapSize
        MapStage MapUnstage MapUnstageNoKey MutexLock MutexV2 OrderedMapClear OrderedMapIncompleteSize
        OrderedMapPeek OrderedMapSize OrderedMapStage OrderedMapUnstage OrderedMapUnstageNoKey PaddingFIFOQueue
        PaddingFIFOQueueV2 PriorityQueue PriorityQueueV2 QueueClose QueueCloseV2 QueueDequeue QueueDequeueMany
        QueueDequeueManyV2 QueueDequeueUpTo QueueDequeueUpToV2 QueueDequeueV2 QueueEnqueue QueueEnqueueMany
        QueueEnqueueManyV2 QueueEnqueueV2 QueueIsClosed QueueIsClosedV2 QueueSize QueueSizeV2 RandomShuffleQueue
        RandomShuffleQueueV2 ResourceAccumulatorApplyGradient ResourceAccumulatorNumAccumulated
        ResourceAccumulatorSetGlobalStep ResourceAccumulatorTakeGradient ResourceConditionalAccumulator
        SparseAccumulatorApplyGradient SparseAccumulatorTakeGradient SparseConditionalAccumulator Stage
        StageClear StagePeek StageSize Unstage""",
    "they read files whose names come from queues; what they give was compared with TensorFlow, tests/data_flow": """
        FixedLengthRecordReader FixedLengthRecordReaderV2 IdentityReader IdentityReaderV2
        ReaderNumRecordsProduced ReaderNumRecordsProducedV2 ReaderNumWorkUnitsCompleted
        ReaderNumWorkUnitsCompletedV2 ReaderRead ReaderReadUpTo ReaderReadUpToV2 ReaderReadV2 ReaderReset
        ReaderResetV2 ReaderRestoreState ReaderRestoreStateV2 ReaderSerializeState ReaderSerializeStateV2
        RecordInput TFRecordReader TFRecordReaderV2 TextLineReader TextLineReaderV2 WholeFileReader
        WholeFileReaderV2""",
    "whole pipelines of them are compared with recorded ones, tests/datasets": """
        BatchDataset BatchDatasetV2 CSVDataset CacheDataset ConcatenateDataset
        DatasetToSingleElement DatasetToTFRecord DenseToSparseBatchDataset DeserializeIterator
        DirectedInterleaveDataset FilterDataset FixedLengthRecordDataset FixedLengthRecordDatasetV2
        FlatMapDataset GeneratorDataset GroupByReducerDataset GroupByWindowDataset
        IgnoreErrorsDataset InterleaveDataset Iterator IteratorFromStringHandle
        IteratorFromStringHandleV2 IteratorGetNext IteratorGetNextSync IteratorToStringHandle
        IteratorV2 MakeIterator MapAndBatchDataset MapDataset OneShotIterator PaddedBatchDataset
        PaddedBatchDatasetV2 ParallelInterleaveDataset ParallelInterleaveDatasetV2
        ParallelMapDataset ParquetDataset PrefetchDataset RandomDataset RangeDataset ReduceDataset
        RepeatDataset ScanDataset SerializeIterator ShardDataset ShuffleAndRepeatDataset
        ShuffleDataset SkipDataset SparseTensorSliceDataset SqlDataset TFRecordDataset TakeDataset
        TakeWhileDataset TensorDataset TensorSliceDataset TextLineDataset UnbatchDataset
        UniqueDataset WindowDataset ZipDataset""",
    "a graph that TensorFlow 2 wrote is read, tests/datasets/test_newer_ops.py": """
        CacheDatasetV2 DummyMemoryCache DummySeedGenerator ParallelMapDatasetV2 ShuffleAndRepeatDatasetV2
        ShuffleDatasetV3""",
    "their elements are TensorFlow's, or of the same ops' other names: tests/datasets/test_older_pipelines.py": """
        BytesProducedStatsDataset ExperimentalBytesProducedStatsDataset ExperimentalCSVDataset
        ExperimentalDenseToSparseBatchDataset ExperimentalDirectedInterleaveDataset ExperimentalGroupByReducerDataset
        ExperimentalGroupByWindowDataset ExperimentalIgnoreErrorsDataset ExperimentalLatencyStatsDataset
        ExperimentalMapAndBatchDataset ExperimentalMapDataset ExperimentalMaxIntraOpParallelismDataset
        ExperimentalNonSerializableDataset ExperimentalParallelInterleaveDataset ExperimentalPrivateThreadPoolDataset
        ExperimentalRandomDataset ExperimentalScanDataset ExperimentalSlidingWindowDataset ExperimentalSqlDataset
        ExperimentalTakeWhileDataset ExperimentalUnbatchDataset ExperimentalUniqueDataset FinalizeDataset
        LatencyStatsDataset MaxIntraOpParallelismDataset ModelDataset NonSerializableDataset OptimizeDataset
        OptionsDataset PrivateThreadPoolDataset SlidingWindowDataset""",
    "scripts of them gave TensorFlow 1.15's bytes; tests/ops/test_boosted_trees.py": """
        BoostedTreesBucketize BoostedTreesCalculateBestGainsPerFeature BoostedTreesCenterBias BoostedTreesCreateEnsemble
        BoostedTreesCreateQuantileStreamResource BoostedTreesDeserializeEnsemble BoostedTreesEnsembleResourceHandleOp
        BoostedTreesExampleDebugOutputs BoostedTreesFlushQuantileSummaries BoostedTreesGetEnsembleStates
        BoostedTreesMakeQuantileSummaries BoostedTreesMakeStatsSummary BoostedTreesPredict
        BoostedTreesQuantileStreamResourceAddSummaries BoostedTreesQuantileStreamResourceDeserialize
        BoostedTreesQuantileStreamResourceFlush BoostedTreesQuantileStreamResourceGetBucketBoundaries
        BoostedTreesQuantileStreamResourceHandleOp BoostedTreesSerializeEnsemble BoostedTreesTrainingPredict
        BoostedTreesUpdateEnsemble IsBoostedTreesEnsembleInitialized IsBoostedTreesQuantileStreamResourceInitialized""",
    "they call graphs of functions; tests/graph/test_functions.py runs TensorFlow's": """
        PartitionedCall StatefulPartitionedCall""",
    "they hold lists and options; tests/graph/test_tensorflow2_functions.py runs TensorFlow's programs of them": """
        EmptyTensorList FakeParam OptionalFromValue OptionalGetValue OptionalHasValue OptionalNone TensorListConcat
        TensorListConcatLists TensorListConcatV2 TensorListElementShape TensorListFromTensor TensorListGather
        TensorListGetItem TensorListLength TensorListPopBack TensorListPushBack TensorListPushBackBatch
        TensorListReserve TensorListResize TensorListScatter TensorListScatterIntoExistingList TensorListScatterV2
        TensorListSetItem TensorListSplit TensorListStack""",
    "recorded values of TensorFlow 1.15 are in tests/ops/test_fused_cells.py": """
        AudioSpectrogram BlockLSTM BlockLSTMGrad BlockLSTMGradV2 BlockLSTMV2 GRUBlockCell GRUBlockCellGrad
        LSTMBlockCell LSTMBlockCellGrad Mfcc Resampler ResamplerGrad""",
    "recorded values of TensorFlow 1.15 are in tests/ops/test_fused_pad_conv.py": """
        FusedPadConv2D FusedResizeAndPadConv2D""",
    "TensorFlow has them for graphs of its first versions only: tests/ops/cases_nn_norm.py": """
        BatchNormWithGlobalNormalization BatchNormWithGlobalNormalizationGrad""",
    "recorded values are in tests/ops/test_audio.py and tests/ops/test_parsing_sequences.py": """
        DecodeWav EncodeWav ParseSequenceExample ParseSequenceExampleV2""",
    "they write, print, call Python or make files of their own: tests/summary, tests/contrib/test_summary.py,\
 tests/checkpoint, tests/ops": """
        Assert AudioSummaryV2 CloseSummaryWriter CreateSummaryFileWriter FlushSummaryWriter HistogramSummary
        ImageSummary ImportEvent MergeSummary MergeV2Checkpoints Print PrintV2 PyFunc PyFuncStateless Restore
        RestoreSlice RestoreV2 Save SaveSlices SaveV2 ScalarSummary ShardedFilename ShardedFilespec SummaryWriter
        TensorSummaryV2 WriteAudioSummary WriteGraphSummary WriteHistogramSummary WriteImageSummary
        WriteRawProtoSummary WriteScalarSummary WriteSummary""",
    "recorded draws are in tests/data/stateless_draws.json": """
        StatelessMultinomial StatelessRandomNormal StatelessRandomUniform StatelessRandomUniformInt
        StatelessTruncatedNormal""",
    "TensorFlow 2.21's values are among the samples, tests/ops/cases_quantization.py": """
        QuantizeAndDequantizeV4 QuantizeAndDequantizeV4Grad""",
    "recorded draws of the same seed are in tests/ops/cases_random.py": """
        StatelessRandomGetAlg StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg StatelessRandomNormalV2
        StatelessRandomUniformFullIntV2 StatelessRandomUniformIntV2 StatelessRandomUniformV2
        StatelessTruncatedNormalV2""",
    "NumPy gives the expected values, or their draws are their own: tests/contrib/test_kmeans.py": """
        KMC2ChainInitialization KmeansPlusPlusInitialization NearestNeighbors""",
    "they tell of the machine: tests/ops/cases_machine.py": "BytesInUse BytesLimit MaxBytesInUse Timestamp",
    "TensorFlow 2.21 has no kernel for them on a CPU, or took them out": """
        GatherTree MaxPoolGradGradWithArgmax ParallelConcat QuantizeAndDequantize QuantizedReluX RandomPoisson TopK""",
}
"""Registered ops that are not in the record, and why."""


def test_every_op_is_compared_with_tensorflow_or_it_is_said_why_not() -> None:
    left_out = [op for ops in NOT_COMPARED.values() for op in ops.split()]
    assert len(left_out) == len(set(left_out))
    ours = {name for name in registered_ops() if registered_ops()[name].kernels or name in left_out}
    assert set(RECORDED) | set(left_out) >= ours
    assert not set(RECORDED) & set(left_out)


def test_documented_differences_are_of_ops_that_exist() -> None:
    assert set(KNOWN) <= set(registered_ops())
