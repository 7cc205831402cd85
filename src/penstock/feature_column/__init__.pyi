# Written by `python -m penstock.api.generate`.
from penstock.feature_column.categorical import categorical_column_with_hash_bucket as categorical_column_with_hash_bucket
from penstock.feature_column.categorical import categorical_column_with_identity as categorical_column_with_identity
from penstock.feature_column.categorical import categorical_column_with_vocabulary_file as categorical_column_with_vocabulary_file
from penstock.feature_column.categorical import categorical_column_with_vocabulary_list as categorical_column_with_vocabulary_list
from penstock.feature_column.categorical import weighted_categorical_column as weighted_categorical_column
from penstock.feature_column.crossed import crossed_column as crossed_column
from penstock.feature_column.dense import embedding_column as embedding_column
from penstock.feature_column.dense import indicator_column as indicator_column
from penstock.feature_column.dense import shared_embedding_columns as shared_embedding_columns
from penstock.feature_column.inputs import input_layer as input_layer
from penstock.feature_column.linear import linear_model as linear_model
from penstock.feature_column.numeric import bucketized_column as bucketized_column
from penstock.feature_column.numeric import numeric_column as numeric_column
from penstock.feature_column.parsing import make_parse_example_spec as make_parse_example_spec
from penstock.feature_column.sequence_ids import sequence_categorical_column_with_hash_bucket as sequence_categorical_column_with_hash_bucket
from penstock.feature_column.sequence_ids import sequence_categorical_column_with_identity as sequence_categorical_column_with_identity
from penstock.feature_column.sequence_ids import sequence_categorical_column_with_vocabulary_file as sequence_categorical_column_with_vocabulary_file
from penstock.feature_column.sequence_ids import sequence_categorical_column_with_vocabulary_list as sequence_categorical_column_with_vocabulary_list
from penstock.feature_column.sequences import sequence_numeric_column as sequence_numeric_column

__all__ = [
    "categorical_column_with_hash_bucket", "categorical_column_with_identity",
    "categorical_column_with_vocabulary_file", "categorical_column_with_vocabulary_list", "weighted_categorical_column",
    "crossed_column", "embedding_column", "indicator_column", "shared_embedding_columns", "input_layer", "linear_model",
    "bucketized_column", "numeric_column", "make_parse_example_spec", "sequence_categorical_column_with_hash_bucket",
    "sequence_categorical_column_with_identity", "sequence_categorical_column_with_vocabulary_file",
    "sequence_categorical_column_with_vocabulary_list", "sequence_numeric_column"
]
