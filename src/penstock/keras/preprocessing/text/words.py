"""Texts as numbers of words (TF: tf.keras.preprocessing.text)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.export import export

_FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


@export("keras.preprocessing.text.text_to_word_sequence")
def text_to_word_sequence(text: str, filters: str = _FILTERS, lower: bool = True, split: str = " ") -> list[str]:
    """The words of a text; characters in `filters` separate words, too."""
    text = text.lower() if lower else text
    separators: dict[str, Any] = dict.fromkeys(filters, split)
    return [word for word in text.translate(str.maketrans(separators)).split(split) if word]


@export("keras.preprocessing.text.hashing_trick")
def hashing_trick(
    text: str, n: int, hash_function: Any = None, filters: str = _FILTERS, lower: bool = True, split: str = " "
) -> list[int]:
    """A number from 1 to n - 1 for each word, by its hash: Python's, or for "md5" the same in every process."""
    of = _md5 if hash_function == "md5" else hash_function or hash
    return [of(word) % (n - 1) + 1 for word in text_to_word_sequence(text, filters, lower, split)]


def _md5(word: str) -> int:
    return int(hashlib.md5(word.encode()).hexdigest(), 16)


@export("keras.preprocessing.text.one_hot")
def one_hot(text: str, n: int, filters: str = _FILTERS, lower: bool = True, split: str = " ") -> list[int]:
    """`hashing_trick` with Python's hash."""
    return hashing_trick(text, n, hash, filters, lower, split)


@export("keras.preprocessing.text.Tokenizer")
class Tokenizer:
    """Numbers words from 1, the most frequent first, and turns texts into sequences or rows of numbers.

    num_words: only those below it are kept. char_level: every character is a word. oov_token: stands for words that
    were not in the texts that it was fitted on; it is number 1.
    """

    def __init__(
        self,
        num_words: int | None = None,
        filters: str = _FILTERS,
        lower: bool = True,
        split: str = " ",
        char_level: bool = False,
        oov_token: Any = None,
        document_count: int = 0,
        **kwargs: Any,
    ) -> None:
        self.num_words, self.filters, self.lower, self.split = num_words, filters, lower, split
        self.char_level, self.oov_token, self.document_count = char_level, oov_token, document_count
        self.word_counts: OrderedDict[str, int] = OrderedDict()
        self.word_docs: defaultdict[str, int] = defaultdict(int)
        self.index_docs: defaultdict[int, int] = defaultdict(int)
        self.word_index: dict[str, int] = {}
        self.index_word: dict[int, str] = {}

    def _words(self, text: Any) -> list[str]:
        if isinstance(text, list):
            return [word.lower() for word in text] if self.lower else text
        if self.char_level:
            return list(text.lower() if self.lower else text)
        return text_to_word_sequence(text, self.filters, self.lower, self.split)

    def fit_on_texts(self, texts: Any) -> None:
        """Count the words of texts, and number them."""
        for text in texts:
            self.document_count += 1
            words = self._words(text)
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in set(words):
                self.word_docs[word] += 1
        by_count = sorted(self.word_counts.items(), key=lambda item: -item[1])
        order = [] if self.oov_token is None else [self.oov_token]
        order += [word for word, _ in by_count]
        self.word_index = {word: i for i, word in enumerate(order, 1)}
        self.index_word = {i: word for word, i in self.word_index.items()}
        for word, count in self.word_docs.items():
            self.index_docs[self.word_index[word]] = count

    def fit_on_sequences(self, sequences: Any) -> None:
        """Count the documents that have each number."""
        self.document_count += len(sequences)
        for sequence in sequences:
            for i in set(sequence):
                self.index_docs[i] += 1

    def texts_to_sequences(self, texts: Any) -> list[list[int]]:
        """The numbers of the texts' words."""
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts: Any) -> Iterator[list[int]]:
        unknown = self.word_index.get(self.oov_token) if self.oov_token is not None else None
        for text in texts:
            numbers = [self.word_index.get(word) for word in self._words(text)]
            kept = [unknown if i is None or (self.num_words and i >= self.num_words) else i for i in numbers]
            yield [i for i in kept if i is not None]

    def sequences_to_texts(self, sequences: Any) -> list[str]:
        """The words of numbers."""
        return list(self.sequences_to_texts_generator(sequences))

    def sequences_to_texts_generator(self, sequences: Any) -> Iterator[str]:
        for sequence in sequences:
            limit = self.num_words or float("inf")
            words = [self.index_word.get(i, self.oov_token) if i < limit else self.oov_token for i in sequence]
            yield " ".join(word for word in words if word is not None)

    def texts_to_matrix(self, texts: Any, mode: str = "binary") -> np.ndarray:
        """A row of numbers for each text, one for each word (`sequences_to_matrix`)."""
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode)

    def sequences_to_matrix(self, sequences: Any, mode: str = "binary") -> np.ndarray:
        """Whether each word is in a text ("binary"), how often ("count", "freq"), or "tfidf"."""
        if not self.num_words and not self.word_index:
            raise ValueError("Specify a dimension (num_words argument), or fit on some text data first.")
        if mode == "tfidf" and not self.document_count:
            raise ValueError("Fit the Tokenizer on some data before using tfidf mode.")
        size = self.num_words or len(self.word_index) + 1
        rows = np.zeros((len(sequences), size))
        for row, sequence in zip(rows, sequences, strict=True):
            counts = Counter(i for i in sequence if i < size)
            for i, count in counts.items():
                if mode == "count":
                    row[i] = count
                elif mode == "freq":
                    row[i] = count / len(sequence)
                elif mode == "binary":
                    row[i] = 1
                elif mode == "tfidf":
                    idf = np.log(1 + self.document_count / (1 + self.index_docs.get(i, 0)))
                    row[i] = (1 + np.log(count)) * idf
                else:
                    raise ValueError(f"Unknown vectorization mode: {mode}")
        return rows

    def get_config(self) -> dict[str, Any]:
        """What `to_json` writes: the options, and the counts and numbers as JSON."""
        names = ("num_words", "filters", "lower", "split", "char_level", "oov_token", "document_count")
        tables = {name: json.dumps(getattr(self, name)) for name in _TABLES}
        return {**{name: getattr(self, name) for name in names}, **tables}

    def to_json(self, **kwargs: Any) -> str:
        """The tokenizer as text. kwargs: of `json.dumps`."""
        return json.dumps({"class_name": type(self).__name__, "config": self.get_config()}, **kwargs)


_TABLES = ("word_counts", "word_docs", "index_docs", "index_word", "word_index")


def tokenizer_from_json(json_string: str) -> Tokenizer:
    """The tokenizer that `to_json` wrote."""
    config = dict(json.loads(json_string)["config"])
    tables = {name: json.loads(config.pop(name)) for name in _TABLES}
    tokenizer = Tokenizer(**config)
    for name, table in tables.items():
        of_numbers = name.startswith("index")  # whose keys are text in JSON
        setattr(tokenizer, name, {int(key): value for key, value in table.items()} if of_numbers else table)
    return tokenizer
