# Written by `python -m penstock.api.generate`.
from penstock.contrib.crf.decoding import CrfDecodeBackwardRnnCell as CrfDecodeBackwardRnnCell
from penstock.contrib.crf.decoding import CrfDecodeForwardRnnCell as CrfDecodeForwardRnnCell
from penstock.contrib.crf.decoding import crf_decode as crf_decode
from penstock.contrib.crf.decoding import viterbi_decode as viterbi_decode
from penstock.contrib.crf.scores import CrfForwardRnnCell as CrfForwardRnnCell
from penstock.contrib.crf.scores import crf_binary_score as crf_binary_score
from penstock.contrib.crf.scores import crf_log_likelihood as crf_log_likelihood
from penstock.contrib.crf.scores import crf_log_norm as crf_log_norm
from penstock.contrib.crf.scores import crf_multitag_sequence_score as crf_multitag_sequence_score
from penstock.contrib.crf.scores import crf_sequence_score as crf_sequence_score
from penstock.contrib.crf.scores import crf_unary_score as crf_unary_score

__all__ = [
    "CrfDecodeBackwardRnnCell", "CrfDecodeForwardRnnCell", "crf_decode", "viterbi_decode", "CrfForwardRnnCell",
    "crf_binary_score", "crf_log_likelihood", "crf_log_norm", "crf_multitag_sequence_score", "crf_sequence_score",
    "crf_unary_score"
]
