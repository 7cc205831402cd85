"""Which module is to be imported for what is asked for by name. Written by `python -m penstock.api.generate`."""

_OPS: dict[str, str] = {
    "penstock.gradients.symbolic_gradient": "SymbolicGradient",
    "penstock.graph.primitives": (
        "ControlTrigger Enter Exit LoopCond Merge NextIteration RefEnter RefExit RefMerge RefNextIteration RefSwitch "
        "Switch"
    ),
    "penstock.ops.add_n": "AccumulateNV2 AddN",
    "penstock.ops.arg_reductions": "ArgMax ArgMin",
    "penstock.ops.arithmetic": "Add AddV2 Atan2 Maximum Minimum Mul Pow SquaredDifference Sub",
    "penstock.ops.array": "ExpandDims Rank Reshape Shape ShapeN Size Squeeze",
    "penstock.ops.array_more": (
        "BatchToSpace GuaranteeConst ParallelConcat ParallelDynamicStitch Reverse Roll SpaceToBatch"
    ),
    "penstock.ops.array_more_search": "LowerBound UniqueV2 UniqueWithCountsV2 UpperBound",
    "penstock.ops.audio": "DecodeWav EncodeWav",
    "penstock.ops.audio_features": "AudioSpectrogram Mfcc",
    "penstock.ops.basic": "Const Identity NoOp Placeholder PlaceholderV2 PlaceholderWithDefault",
    "penstock.ops.bincounts": "DenseBincount RaggedBincount SparseBincount",
    "penstock.ops.bitwise": "BitwiseAnd BitwiseOr BitwiseXor Invert LeftShift RightShift",
    "penstock.ops.boosted_trees.prediction_ops": (
        "BoostedTreesExampleDebugOutputs BoostedTreesPredict BoostedTreesTrainingPredict"
    ),
    "penstock.ops.boosted_trees.quantile_ops": (
        "BoostedTreesBucketize BoostedTreesCreateQuantileStreamResource BoostedTreesFlushQuantileSummaries "
        "BoostedTreesMakeQuantileSummaries BoostedTreesQuantileStreamResourceAddSummaries "
        "BoostedTreesQuantileStreamResourceDeserialize BoostedTreesQuantileStreamResourceFlush "
        "BoostedTreesQuantileStreamResourceGetBucketBoundaries IsBoostedTreesQuantileStreamResourceInitialized"
    ),
    "penstock.ops.boosted_trees.resources": (
        "BoostedTreesCreateEnsemble BoostedTreesDeserializeEnsemble BoostedTreesEnsembleResourceHandleOp "
        "BoostedTreesGetEnsembleStates BoostedTreesQuantileStreamResourceHandleOp BoostedTreesSerializeEnsemble "
        "IsBoostedTreesEnsembleInitialized"
    ),
    "penstock.ops.boosted_trees.stats_ops": "BoostedTreesCalculateBestGainsPerFeature BoostedTreesMakeStatsSummary",
    "penstock.ops.boosted_trees.training_ops": "BoostedTreesCenterBias BoostedTreesUpdateEnsemble",
    "penstock.ops.broadcasting": "BroadcastArgs BroadcastTo",
    "penstock.ops.candidate_sampling": (
        "AllCandidateSampler ComputeAccidentalHits FixedUnigramCandidateSampler LearnedUnigramCandidateSampler "
        "LogUniformCandidateSampler ThreadUnsafeUnigramCandidateSampler UniformCandidateSampler"
    ),
    "penstock.ops.cast": "Cast",
    "penstock.ops.checkpoint": "MergeV2Checkpoints RestoreV2 SaveV2 ShardedFilename",
    "penstock.ops.checkpoint_v1": "Restore RestoreSlice Save SaveSlices ShardedFilespec",
    "penstock.ops.clip": "ClipByValue",
    "penstock.ops.clock": "Timestamp",
    "penstock.ops.clustering": "KMC2ChainInitialization KmeansPlusPlusInitialization NearestNeighbors",
    "penstock.ops.compare": (
        "ApproximateEqual Equal Greater GreaterEqual Less LessEqual LogicalAnd LogicalNot LogicalOr NotEqual Select "
        "SelectV2"
    ),
    "penstock.ops.complex_numbers": "Angle Complex ComplexAbs Conj Imag Real",
    "penstock.ops.control_flow.functional_nodes": "Case If StatelessCase StatelessIf StatelessWhile While",
    "penstock.ops.data_flow.accumulators": (
        "AccumulatorApplyGradient AccumulatorNumAccumulated AccumulatorSetGlobalStep AccumulatorTakeGradient "
        "ConditionalAccumulator ResourceAccumulatorApplyGradient ResourceAccumulatorNumAccumulated "
        "ResourceAccumulatorSetGlobalStep ResourceAccumulatorTakeGradient ResourceConditionalAccumulator"
    ),
    "penstock.ops.data_flow.barrier": (
        "Barrier BarrierClose BarrierIncompleteSize BarrierInsertMany BarrierReadySize BarrierTakeMany"
    ),
    "penstock.ops.data_flow.collectives": (
        "CollectiveBcastRecv CollectiveBcastSend CollectiveGather CollectiveReduce NcclAllReduce"
    ),
    "penstock.ops.data_flow.map_staging": (
        "MapClear MapIncompleteSize MapPeek MapSize MapStage MapUnstage MapUnstageNoKey OrderedMapClear "
        "OrderedMapIncompleteSize OrderedMapPeek OrderedMapSize OrderedMapStage OrderedMapUnstage "
        "OrderedMapUnstageNoKey"
    ),
    "penstock.ops.data_flow.mutex": "ConsumeMutexLock MutexLock MutexV2",
    "penstock.ops.data_flow.queue_ops": (
        "QueueClose QueueCloseV2 QueueDequeue QueueDequeueMany QueueDequeueManyV2 QueueDequeueUpTo QueueDequeueUpToV2 "
        "QueueDequeueV2 QueueEnqueue QueueEnqueueMany QueueEnqueueManyV2 QueueEnqueueV2 QueueIsClosed QueueIsClosedV2 "
        "QueueSize QueueSizeV2"
    ),
    "penstock.ops.data_flow.queues": (
        "FIFOQueue FIFOQueueV2 PaddingFIFOQueue PaddingFIFOQueueV2 PriorityQueue PriorityQueueV2 RandomShuffleQueue "
        "RandomShuffleQueueV2"
    ),
    "penstock.ops.data_flow.sparse_accumulators": (
        "SparseAccumulatorApplyGradient SparseAccumulatorTakeGradient SparseConditionalAccumulator"
    ),
    "penstock.ops.data_flow.staging": "Stage StageClear StagePeek StageSize Unstage",
    "penstock.ops.datasets.batching": (
        "BatchDataset BatchDatasetV2 DenseToSparseBatchDataset PaddedBatchDataset PaddedBatchDatasetV2 UnbatchDataset"
    ),
    "penstock.ops.datasets.caching": "CacheDataset CacheDatasetV2 DummyMemoryCache",
    "penstock.ops.datasets.choosing": "DirectedInterleaveDataset IgnoreErrorsDataset",
    "penstock.ops.datasets.files": (
        "FixedLengthRecordDataset FixedLengthRecordDatasetV2 TFRecordDataset TextLineDataset"
    ),
    "penstock.ops.datasets.filtering": "FilterDataset ScanDataset TakeWhileDataset",
    "penstock.ops.datasets.flattening": "FlatMapDataset InterleaveDataset",
    "penstock.ops.datasets.generating": "GeneratorDataset ReduceDataset",
    "penstock.ops.datasets.grouping": "GroupByReducerDataset GroupByWindowDataset",
    "penstock.ops.datasets.interleaving_ahead": "ParallelInterleaveDataset ParallelInterleaveDatasetV2",
    "penstock.ops.datasets.iterator_state": "DeserializeIterator SerializeIterator",
    "penstock.ops.datasets.iterators": (
        "DatasetToSingleElement Iterator IteratorFromStringHandle IteratorFromStringHandleV2 IteratorGetNext "
        "IteratorGetNextSync IteratorToStringHandle IteratorV2 MakeIterator OneShotIterator"
    ),
    "penstock.ops.datasets.map_and_batch": "MapAndBatchDataset",
    "penstock.ops.datasets.mapping": "MapDataset ParallelMapDataset ParallelMapDatasetV2",
    "penstock.ops.datasets.older_names": (
        "ExperimentalCSVDataset ExperimentalDenseToSparseBatchDataset ExperimentalDirectedInterleaveDataset "
        "ExperimentalGroupByReducerDataset ExperimentalGroupByWindowDataset ExperimentalIgnoreErrorsDataset "
        "ExperimentalMapAndBatchDataset ExperimentalMapDataset ExperimentalParallelInterleaveDataset "
        "ExperimentalRandomDataset ExperimentalScanDataset ExperimentalSqlDataset ExperimentalTakeWhileDataset "
        "ExperimentalUnbatchDataset ExperimentalUniqueDataset"
    ),
    "penstock.ops.datasets.parquet": "ParquetDataset",
    "penstock.ops.datasets.prefetching": "PrefetchDataset",
    "penstock.ops.datasets.sequences": (
        "ConcatenateDataset RepeatDataset ShardDataset SkipDataset TakeDataset ZipDataset"
    ),
    "penstock.ops.datasets.shuffling": (
        "DummySeedGenerator RandomDataset ShuffleAndRepeatDataset ShuffleAndRepeatDatasetV2 ShuffleDataset "
        "ShuffleDatasetV3"
    ),
    "penstock.ops.datasets.sliding_windows": "ExperimentalSlidingWindowDataset SlidingWindowDataset",
    "penstock.ops.datasets.sources": "RangeDataset SparseTensorSliceDataset TensorDataset TensorSliceDataset",
    "penstock.ops.datasets.tables": "CSVDataset SqlDataset",
    "penstock.ops.datasets.tuned": (
        "BytesProducedStatsDataset ExperimentalBytesProducedStatsDataset ExperimentalLatencyStatsDataset "
        "ExperimentalMaxIntraOpParallelismDataset ExperimentalNonSerializableDataset "
        "ExperimentalPrivateThreadPoolDataset FinalizeDataset LatencyStatsDataset MaxIntraOpParallelismDataset "
        "ModelDataset NonSerializableDataset OptimizeDataset OptionsDataset PrivateThreadPoolDataset"
    ),
    "penstock.ops.datasets.windows": "UniqueDataset WindowDataset",
    "penstock.ops.datasets.writing": "DatasetToTFRecord",
    "penstock.ops.decoding": "DecodeCompressed DecodeJSONExample DecodePaddedRaw DecodeRaw",
    "penstock.ops.decoding_csv": "DecodeCSV",
    "penstock.ops.diagonal": "Diag DiagPart MatrixBandPart MatrixDiag MatrixDiagPart MatrixSetDiag",
    "penstock.ops.diagonal_bands": (
        "MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2 MatrixDiagV3 MatrixSetDiagV2 MatrixSetDiagV3"
    ),
    "penstock.ops.division": "Div DivNoNan FloorDiv FloorMod Mod RealDiv TruncateDiv TruncateMod",
    "penstock.ops.edit_distance": "EditDistance",
    "penstock.ops.einsum": "Einsum",
    "penstock.ops.elementwise": "BroadcastGradientArgs",
    "penstock.ops.fft": "FFT FFT2D FFT3D IFFT IFFT2D IFFT3D IRFFT IRFFT2D IRFFT3D RFFT RFFT2D RFFT3D",
    "penstock.ops.files": "MatchingFiles ReadFile WriteFile",
    "penstock.ops.filling": "Fill OneHot OnesLike ZerosLike",
    "penstock.ops.function_calls": "PartitionedCall StatefulPartitionedCall",
    "penstock.ops.gather": "Gather GatherV2",
    "penstock.ops.gather_nd": "GatherNd ScatterNd",
    "penstock.ops.gather_tree": "GatherTree",
    "penstock.ops.histograms": "Bincount Bucketize HistogramFixedWidth",
    "penstock.ops.image_boxes": "DrawBoundingBoxes DrawBoundingBoxesV2",
    "penstock.ops.image_color": "AdjustContrastv2 AdjustHue AdjustSaturation HSVToRGB RGBToHSV",
    "penstock.ops.image_crops": "CropAndResize CropAndResizeGradBoxes CropAndResizeGradImage",
    "penstock.ops.image_decode": "DecodeBmp DecodeGif DecodeImage DecodePng",
    "penstock.ops.image_decode_jpeg": "DecodeAndCropJpeg DecodeJpeg ExtractJpegShape",
    "penstock.ops.image_encode": "EncodeJpeg EncodeJpegVariableQuality EncodePng",
    "penstock.ops.image_patches": "ExtractImagePatches",
    "penstock.ops.image_projective": "ImageProjectiveTransformV2",
    "penstock.ops.image_resampler": "Resampler ResamplerGrad",
    "penstock.ops.image_resize": (
        "ResizeArea ResizeBicubic ResizeBicubicGrad ResizeBilinear ResizeBilinearGrad ResizeNearestNeighbor "
        "ResizeNearestNeighborGrad"
    ),
    "penstock.ops.image_sampling": "ExtractGlimpse SampleDistortedBoundingBox SampleDistortedBoundingBoxV2",
    "penstock.ops.image_scaling": "ScaleAndTranslate ScaleAndTranslateGrad",
    "penstock.ops.image_suppression": (
        "CombinedNonMaxSuppression NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4 "
        "NonMaxSuppressionV5 NonMaxSuppressionWithOverlaps"
    ),
    "penstock.ops.io.readers": (
        "FixedLengthRecordReader FixedLengthRecordReaderV2 IdentityReader IdentityReaderV2 ReaderNumRecordsProduced "
        "ReaderNumRecordsProducedV2 ReaderNumWorkUnitsCompleted ReaderNumWorkUnitsCompletedV2 ReaderRead "
        "ReaderReadUpTo ReaderReadUpToV2 ReaderReadV2 ReaderReset ReaderResetV2 ReaderRestoreState "
        "ReaderRestoreStateV2 ReaderSerializeState ReaderSerializeStateV2 TFRecordReader TFRecordReaderV2 "
        "TextLineReader TextLineReaderV2 WholeFileReader WholeFileReaderV2"
    ),
    "penstock.ops.io.record_input": "RecordInput",
    "penstock.ops.joining": "Concat ConcatOffset ConcatV2 Split SplitV",
    "penstock.ops.layout": "ConjugateTranspose InvertPermutation Transpose",
    "penstock.ops.linalg": "LogMatrixDeterminant MatrixDeterminant MatrixInverse",
    "penstock.ops.linalg_cross": "Cross",
    "penstock.ops.linalg_lu": "Lu",
    "penstock.ops.linalg_solve": "Cholesky CholeskyGrad MatrixSolve MatrixSolveLs MatrixTriangularSolve",
    "penstock.ops.linalg_spectra": "Qr SelfAdjointEigV2 Svd",
    "penstock.ops.logging": "Assert Print PrintV2",
    "penstock.ops.lookup": (
        "LookupTableExport LookupTableExportV2 LookupTableFind LookupTableFindV2 LookupTableImport LookupTableImportV2 "
        "LookupTableInsert LookupTableInsertV2 LookupTableRemoveV2 LookupTableSize LookupTableSizeV2"
    ),
    "penstock.ops.lookup_initialization": (
        "InitializeTable InitializeTableFromTextFile InitializeTableFromTextFileV2 InitializeTableV2"
    ),
    "penstock.ops.lookup_tables": (
        "HashTable HashTableV2 MutableDenseHashTable MutableDenseHashTableV2 MutableHashTable "
        "MutableHashTableOfTensors MutableHashTableOfTensorsV2 MutableHashTableV2"
    ),
    "penstock.ops.matrix": "BatchMatMul BatchMatMulV2 MatMul",
    "penstock.ops.memory_stats": "BytesInUse BytesLimit MaxBytesInUse",
    "penstock.ops.nn.activations": (
        "Elu EluGrad LeakyRelu LeakyReluGrad Relu Relu6 Relu6Grad ReluGrad Selu SeluGrad Softplus SoftplusGrad "
        "Softsign SoftsignGrad"
    ),
    "penstock.ops.nn.batch_norm": (
        "FusedBatchNorm FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3 FusedBatchNormV2 FusedBatchNormV3"
    ),
    "penstock.ops.nn.bias": "BiasAdd BiasAddGrad BiasAddV1",
    "penstock.ops.nn.conv": (
        "Conv2D Conv2DBackpropFilter Conv2DBackpropInput Conv3D Conv3DBackpropFilterV2 Conv3DBackpropInputV2"
    ),
    "penstock.ops.nn.cross_entropy": "SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits",
    "penstock.ops.nn.ctc_decoders": "CTCBeamSearchDecoder CTCGreedyDecoder",
    "penstock.ops.nn.ctc_loss": "CTCLoss",
    "penstock.ops.nn.depthwise": (
        "DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput"
    ),
    "penstock.ops.nn.dilation": "Dilation2D Dilation2DBackpropFilter Dilation2DBackpropInput",
    "penstock.ops.nn.fractional_pooling": (
        "FractionalAvgPool FractionalAvgPoolGrad FractionalMaxPool FractionalMaxPoolGrad"
    ),
    "penstock.ops.nn.fused_pad_conv": "FusedPadConv2D FusedResizeAndPadConv2D",
    "penstock.ops.nn.global_normalization": "BatchNormWithGlobalNormalization BatchNormWithGlobalNormalizationGrad",
    "penstock.ops.nn.gru_block": "GRUBlockCell GRUBlockCellGrad",
    "penstock.ops.nn.losses": "L2Loss",
    "penstock.ops.nn.lrn": "LRN LRNGrad",
    "penstock.ops.nn.lstm_blocks": (
        "BlockLSTM BlockLSTMGrad BlockLSTMGradV2 BlockLSTMV2 LSTMBlockCell LSTMBlockCellGrad"
    ),
    "penstock.ops.nn.nth_element": "NthElement",
    "penstock.ops.nn.pooling": (
        "AvgPool AvgPool3D AvgPool3DGrad AvgPoolGrad MaxPool MaxPool3D MaxPool3DGrad MaxPool3DGradGrad MaxPoolGrad "
        "MaxPoolGradGrad MaxPoolGradGradWithArgmax MaxPoolGradWithArgmax MaxPoolWithArgmax"
    ),
    "penstock.ops.nn.pooling_v2": "MaxPoolGradGradV2 MaxPoolGradV2 MaxPoolV2",
    "penstock.ops.nn.softmax": "LogSoftmax Softmax",
    "penstock.ops.nn.top_k": "InTopK InTopKV2",
    "penstock.ops.optionals": "FakeParam OptionalFromValue OptionalGetValue OptionalHasValue OptionalNone",
    "penstock.ops.padding": "MirrorPad MirrorPadGrad Pad PadV2",
    "penstock.ops.parsing_ops": "ParseExample ParseExampleV2 ParseSingleExample",
    "penstock.ops.parsing_sequence": "ParseSingleSequenceExample",
    "penstock.ops.parsing_sequences": "ParseSequenceExample ParseSequenceExampleV2",
    "penstock.ops.parsing_tensors": "ParseTensor SerializeTensor",
    "penstock.ops.partition": "DynamicPartition DynamicStitch Where",
    "penstock.ops.passing": "Bitcast CheckNumerics EnsureShape IdentityN PreventGradient Snapshot StopGradient",
    "penstock.ops.py_func": "PyFunc PyFuncStateless",
    "penstock.ops.quantization": "Dequantize QuantizeV2",
    "penstock.ops.quantization_fake": (
        "FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVars "
        "FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannel FakeQuantWithMinMaxVarsPerChannelGradient"
    ),
    "penstock.ops.quantization_images": (
        "QuantizedAvgPool QuantizedConcat QuantizedInstanceNorm QuantizedMaxPool QuantizedRelu QuantizedRelu6 "
        "QuantizedReluX QuantizedReshape QuantizedResizeBilinear"
    ),
    "penstock.ops.quantization_products": (
        "QuantizedAdd QuantizedBatchNormWithGlobalNormalization QuantizedBiasAdd QuantizedConv2D QuantizedMatMul "
        "QuantizedMul"
    ),
    "penstock.ops.quantization_range": "QuantizeDownAndShrinkRange RequantizationRange Requantize",
    "penstock.ops.quantization_rounding": (
        "QuantizeAndDequantize QuantizeAndDequantizeV2 QuantizeAndDequantizeV3 QuantizeAndDequantizeV4 "
        "QuantizeAndDequantizeV4Grad"
    ),
    "penstock.ops.ragged": "RaggedGather RaggedRange RaggedTensorToSparse RaggedTensorToTensor",
    "penstock.ops.random": (
        "Multinomial RandomShuffle RandomStandardNormal RandomUniform RandomUniformInt TruncatedNormal"
    ),
    "penstock.ops.random_distributions": (
        "ParameterizedTruncatedNormal RandomGamma RandomGammaGrad RandomPoisson RandomPoissonV2"
    ),
    "penstock.ops.random_stateless": (
        "StatelessMultinomial StatelessRandomNormal StatelessRandomUniform StatelessRandomUniformInt "
        "StatelessTruncatedNormal"
    ),
    "penstock.ops.random_stateless_v2": (
        "StatelessRandomGetAlg StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg StatelessRandomNormalV2 "
        "StatelessRandomUniformFullIntV2 StatelessRandomUniformIntV2 StatelessRandomUniformV2 "
        "StatelessTruncatedNormalV2"
    ),
    "penstock.ops.reductions": "All Any EuclideanNorm Max Mean Min Prod Sum",
    "penstock.ops.resource_variables": (
        "AssignAddVariableOp AssignSubVariableOp AssignVariableOp DestroyResourceOp DisableCopyOnRead ReadVariableOp "
        "ResourceCountUpTo ResourceGather ResourceGatherNd VarHandleOp VarIsInitializedOp VariableShape"
    ),
    "penstock.ops.reversing": "ReverseSequence ReverseV2 Tile",
    "penstock.ops.rounding": "Ceil Floor IsFinite IsInf IsNan Rint Round",
    "penstock.ops.scan": "Cumprod Cumsum CumulativeLogsumexp",
    "penstock.ops.scatter": (
        "ResourceScatterAdd ResourceScatterDiv ResourceScatterMax ResourceScatterMin ResourceScatterMul "
        "ResourceScatterNdAdd ResourceScatterNdMax ResourceScatterNdMin ResourceScatterNdSub ResourceScatterNdUpdate "
        "ResourceScatterSub ResourceScatterUpdate ScatterAdd ScatterDiv ScatterMax ScatterMin ScatterMul ScatterNdAdd "
        "ScatterNdMax ScatterNdMin ScatterNdSub ScatterNdUpdate ScatterSub ScatterUpdate"
    ),
    "penstock.ops.segment": (
        "SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum UnsortedSegmentMax UnsortedSegmentMin "
        "UnsortedSegmentProd UnsortedSegmentSum"
    ),
    "penstock.ops.sequences": "LinSpace Range",
    "penstock.ops.session_tensors": "DeleteSessionTensor GetSessionHandle GetSessionTensor",
    "penstock.ops.sets": "DenseToDenseSetOperation DenseToSparseSetOperation SetSize SparseToSparseSetOperation",
    "penstock.ops.slice_assign": "ResourceStridedSliceAssign StridedSliceAssign",
    "penstock.ops.slicing": "Slice",
    "penstock.ops.sorting": "ListDiff TopK TopKV2 Unique UniqueWithCounts",
    "penstock.ops.space": "BatchToSpaceND DepthToSpace SpaceToBatchND SpaceToDepth",
    "penstock.ops.sparse_arithmetic": "SparseAdd SparseAddGrad SparseSparseMaximum SparseSparseMinimum",
    "penstock.ops.sparse_cross": "SparseCross SparseCrossV2",
    "penstock.ops.sparse_dense_cwise": "SparseDenseCwiseAdd SparseDenseCwiseDiv SparseDenseCwiseMul",
    "penstock.ops.sparse_joining": "SparseConcat SparseSplit",
    "penstock.ops.sparse_layout": "SparseReorder SparseReshape SparseSlice SparseSliceGrad",
    "penstock.ops.sparse_maps": "AddManySparseToTensorsMap AddSparseToTensorsMap TakeManySparseFromTensorsMap",
    "penstock.ops.sparse_matmul": "SparseMatMul SparseTensorDenseMatMul",
    "penstock.ops.sparse_reduce": (
        "SparseReduceMax SparseReduceMaxSparse SparseReduceSum SparseReduceSumSparse SparseSoftmax"
    ),
    "penstock.ops.sparse_rows": "SparseFillEmptyRows SparseFillEmptyRowsGrad",
    "penstock.ops.sparse_segment": (
        "SparseSegmentMean SparseSegmentMeanGrad SparseSegmentMeanWithNumSegments SparseSegmentSqrtN "
        "SparseSegmentSqrtNGrad SparseSegmentSqrtNWithNumSegments SparseSegmentSum SparseSegmentSumGrad "
        "SparseSegmentSumWithNumSegments"
    ),
    "penstock.ops.sparse_serialize": "DeserializeManySparse DeserializeSparse SerializeManySparse SerializeSparse",
    "penstock.ops.sparse_to_dense": "SparseTensorDenseAdd SparseToDense",
    "penstock.ops.special": "Digamma Erf Erfc Lgamma Polygamma",
    "penstock.ops.special_bessel": "BesselI0e BesselI1e Erfinv Ndtri",
    "penstock.ops.special_binary": "Betainc MulNoNan NextAfter Xdivy Xlog1py Xlogy",
    "penstock.ops.special_gamma": "Igamma IgammaGradA Igammac Zeta",
    "penstock.ops.stacking": "Pack Unpack",
    "penstock.ops.stacks": "Stack StackClose StackCloseV2 StackPop StackPopV2 StackPush StackPushV2 StackV2",
    "penstock.ops.state": (
        "Assign AssignAdd AssignSub CountUpTo DestroyTemporaryVariable IsVariableInitialized RefIdentity "
        "TemporaryVariable Variable VariableV2"
    ),
    "penstock.ops.strided_slice": "StridedSlice StridedSliceGrad",
    "penstock.ops.string_conversions": "AsString DecodeBase64 EncodeBase64 StringToNumber",
    "penstock.ops.string_format": "StringFormat",
    "penstock.ops.string_hashing": "Fingerprint StringToHashBucket StringToHashBucketFast StringToHashBucketStrong",
    "penstock.ops.string_joining": "ReduceJoin StringJoin UnsortedSegmentJoin",
    "penstock.ops.string_ngrams": "StringNGrams",
    "penstock.ops.string_patterns": "RegexFullMatch RegexReplace StaticRegexFullMatch StaticRegexReplace",
    "penstock.ops.string_splitting": "StringSplit StringSplitV2",
    "penstock.ops.string_unicode": "UnicodeDecode UnicodeDecodeWithOffsets UnicodeEncode UnicodeTranscode",
    "penstock.ops.strings": "StringLength StringLower StringStrip StringUpper Substr",
    "penstock.ops.summaries": "AudioSummaryV2 HistogramSummary ImageSummary MergeSummary ScalarSummary TensorSummaryV2",
    "penstock.ops.summary_writers": (
        "CloseSummaryWriter CreateSummaryFileWriter FlushSummaryWriter ImportEvent SummaryWriter WriteAudioSummary "
        "WriteGraphSummary WriteHistogramSummary WriteImageSummary WriteRawProtoSummary WriteScalarSummary "
        "WriteSummary"
    ),
    "penstock.ops.tensor_array": (
        "TensorArrayCloseV3 TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayGradV3 TensorArrayGradWithShape "
        "TensorArrayReadV3 TensorArrayScatterV3 TensorArraySizeV3 TensorArraySplitV3 TensorArrayV3 TensorArrayWriteV3"
    ),
    "penstock.ops.tensor_lists": (
        "EmptyTensorList TensorListConcat TensorListConcatLists TensorListConcatV2 TensorListElementShape "
        "TensorListFromTensor TensorListGather TensorListGetItem TensorListLength TensorListPopBack TensorListPushBack "
        "TensorListPushBackBatch TensorListReserve TensorListResize TensorListScatter "
        "TensorListScatterIntoExistingList TensorListScatterV2 TensorListSetItem TensorListSplit TensorListStack"
    ),
    "penstock.ops.tensor_scatter": "TensorScatterAdd TensorScatterSub TensorScatterUpdate UnravelIndex",
    "penstock.ops.training": (
        "ApplyAdaMax ApplyAdadelta ApplyAdagrad ApplyAdagradDA ApplyAdagradV2 ApplyAdam ApplyCenteredRMSProp ApplyFtrl "
        "ApplyFtrlV2 ApplyGradientDescent ApplyMomentum ApplyProximalAdagrad ApplyProximalGradientDescent ApplyRMSProp "
        "ResourceApplyAdaMax ResourceApplyAdadelta ResourceApplyAdagrad ResourceApplyAdagradDA ResourceApplyAdagradV2 "
        "ResourceApplyAdam ResourceApplyCenteredRMSProp ResourceApplyFtrl ResourceApplyFtrlV2 "
        "ResourceApplyGradientDescent ResourceApplyMomentum ResourceApplyProximalAdagrad "
        "ResourceApplyProximalGradientDescent ResourceApplyRMSProp"
    ),
    "penstock.ops.training_keras": (
        "ResourceApplyAdamWithAmsgrad ResourceApplyKerasMomentum ResourceSparseApplyKerasMomentum"
    ),
    "penstock.ops.training_sign": "ApplyAddSign ApplyPowerSign ResourceApplyAddSign ResourceApplyPowerSign",
    "penstock.ops.training_sparse": (
        "ResourceSparseApplyAdadelta ResourceSparseApplyAdagrad ResourceSparseApplyAdagradDA "
        "ResourceSparseApplyAdagradV2 ResourceSparseApplyCenteredRMSProp ResourceSparseApplyFtrl "
        "ResourceSparseApplyFtrlV2 ResourceSparseApplyMomentum ResourceSparseApplyProximalAdagrad "
        "ResourceSparseApplyProximalGradientDescent ResourceSparseApplyRMSProp SparseApplyAdadelta SparseApplyAdagrad "
        "SparseApplyAdagradDA SparseApplyAdagradV2 SparseApplyCenteredRMSProp SparseApplyFtrl SparseApplyFtrlV2 "
        "SparseApplyMomentum SparseApplyProximalAdagrad SparseApplyProximalGradientDescent SparseApplyRMSProp"
    ),
    "penstock.ops.trigonometry": "Acos Acosh Asin Asinh Atan Atanh Cos Cosh Sin Sinh Tan",
    "penstock.ops.unary": (
        "Abs Exp Expm1 Inv InvGrad Log Log1p Neg Reciprocal ReciprocalGrad Rsqrt RsqrtGrad Sigmoid SigmoidGrad Sign "
        "Sqrt SqrtGrad Square Tanh TanhGrad"
    ),
    "penstock.user_ops": "Fact",
}
MODULE_OF_OP = {name: module for module, names in _OPS.items() for name in names.split()}

_GRADIENTS: dict[str, str] = {
    "penstock.gradients.second_derivatives": "FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3",
    "penstock.gradients.symbolic_gradient": "PartitionedCall StatefulPartitionedCall",
    "penstock.ops.segment_gradients": (
        "SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum UnsortedSegmentMax UnsortedSegmentMin "
        "UnsortedSegmentProd UnsortedSegmentSum"
    ),
}
MODULE_OF_GRADIENT = {name: module for module, names in _GRADIENTS.items() for name in names.split()}

_OPERATORS: dict[str, str] = {
    "penstock.graph.arithmetic": "binary reflected reflected_truediv",
    "penstock.graph.build": "apply_op",
    "penstock.ops.compare": "logical_not logical_xor",
    "penstock.ops.division": "div truediv",
    "penstock.ops.matrix": "matmul",
    "penstock.ops.slicing": "slice_tensor",
    "penstock.ops.sparse_arithmetic": "sparse_add",
    "penstock.ops.sparse_dense_cwise": "sparse_over_dense sparse_times_dense",
    "penstock.ops.unary": "abs negative",
    "penstock.ragged.conversions": "ragged_from_sparse ragged_from_tensor",
    "penstock.ragged.dispatch": "apply_to_ragged",
    "penstock.ragged.getting": "ragged_item",
    "penstock.ragged.strings": "ragged_pieces ragged_split",
}
MODULE_OF_OPERATOR = {name: module for module, names in _OPERATORS.items() for name in names.split()}

_EMITTERS: dict[str, str] = {
    "penstock.ops.array_c": "Rank Shape ShapeN Size VariableShape",
    "penstock.ops.filling_c": "Fill OneHot",
    "penstock.ops.fused": "_AddProduct _ApplyProductDescent _DivideBySize _ProductSum _ResourceApplyProductDescent",
    "penstock.ops.gather_c": "Gather GatherV2 ResourceGather",
    "penstock.ops.gather_nd": "ResourceGatherNd",
    "penstock.ops.joining_c": "Concat ConcatV2 Pack Split SplitV Unpack",
    "penstock.ops.nn.conv_c": "Conv2D Conv2DBackpropFilter Conv2DBackpropInput _ConvBias",
    "penstock.ops.nn.pooling_c": "AvgPool AvgPoolGrad MaxPool MaxPoolGrad",
    "penstock.ops.nn.softmax_c": "LogSoftmax Softmax SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits",
    "penstock.ops.partition": "ParallelDynamicStitch",
    "penstock.ops.reductions_c": "All Any Max Mean Min Prod Sum",
    "penstock.ops.reversing": "Reverse",
    "penstock.ops.scatter_c": (
        "ResourceScatterAdd ResourceScatterDiv ResourceScatterMax ResourceScatterMin ResourceScatterMul "
        "ResourceScatterNdAdd ResourceScatterNdMax ResourceScatterNdMin ResourceScatterNdSub ResourceScatterNdUpdate "
        "ResourceScatterSub ResourceScatterUpdate ScatterAdd ScatterDiv ScatterMax ScatterMin ScatterMul ScatterNdAdd "
        "ScatterNdMax ScatterNdMin ScatterNdSub ScatterNdUpdate ScatterSub ScatterUpdate"
    ),
    "penstock.ops.segment_c": "UnsortedSegmentSum",
    "penstock.ops.slicing_c": "Slice StridedSlice StridedSliceGrad",
    "penstock.ops.sorting_c": "TopK TopKV2",
    "penstock.ops.state_c": "AssignAdd AssignAddVariableOp AssignSub AssignSubVariableOp",
    "penstock.ops.training_updates_c": (
        "ApplyAdadelta ApplyAdagrad ApplyAdagradV2 ApplyAdam ApplyCenteredRMSProp ApplyFtrl ApplyFtrlV2 "
        "ApplyGradientDescent ApplyMomentum ApplyRMSProp ResourceApplyAdadelta ResourceApplyAdagrad "
        "ResourceApplyAdagradV2 ResourceApplyAdam ResourceApplyCenteredRMSProp ResourceApplyFtrl ResourceApplyFtrlV2 "
        "ResourceApplyGradientDescent ResourceApplyMomentum ResourceApplyRMSProp ResourceSparseApplyAdadelta "
        "ResourceSparseApplyAdagrad ResourceSparseApplyAdagradV2 ResourceSparseApplyCenteredRMSProp "
        "ResourceSparseApplyFtrl ResourceSparseApplyFtrlV2 ResourceSparseApplyMomentum ResourceSparseApplyRMSProp "
        "SparseApplyAdadelta SparseApplyAdagrad SparseApplyAdagradV2 SparseApplyCenteredRMSProp SparseApplyFtrl "
        "SparseApplyFtrlV2 SparseApplyMomentum SparseApplyRMSProp"
    ),
}
MODULE_OF_EMITTER = {name: module for module, names in _EMITTERS.items() for name in names.split()}

_SUPPORTS: dict[str, str] = {
    "penstock.emit.products": "products",
    "penstock.emit.reductions": "reductions",
    "penstock.ops.nn.softmax_c": "softmax",
    "penstock.ops.sorting_c": "top_k",
}
MODULE_OF_SUPPORT = {name: module for module, names in _SUPPORTS.items() for name in names.split()}
