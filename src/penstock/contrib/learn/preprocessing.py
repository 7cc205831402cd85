"""Documents as rows of word or byte ids (TF: tf.contrib.learn.preprocessing)."""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import numpy as np

from penstock import errors, gfile
from penstock.checkpoint.replace import write_whole

_FORMAT = "penstock-vocabulary-1"
_WORDS = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|['\w\-]+")


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """The words of each text: letters, digits, apostrophes and hyphens; "HelloWorld" is two."""
    return map(_WORDS.findall, iterator)


class CategoricalVocabulary:
    """Ids of words (or of any hashable values) in the order in which they came; 0 is for unknown ones."""

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown_token = unknown_token
        self._support_reverse = support_reverse
        self._freq: dict[Any, int] = defaultdict(int)
        self._freeze = False
        self._number([])

    def _number(self, words: Iterable[Any]) -> None:
        self._reverse_mapping = [self._unknown_token, *words]
        self._mapping: dict[Any, int] = {word: number for number, word in enumerate(self._reverse_mapping)}

    def __len__(self) -> int:
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """From now on (`freeze`), new words are unknown."""
        self._freeze = freeze

    def get(self, category: Any) -> int:
        """The id of a word, a new one for a new word."""
        if category not in self._mapping:
            if self._freeze:
                return 0
            self._mapping[category] = len(self._mapping)
            if self._support_reverse:
                self._reverse_mapping.append(category)
        return self._mapping[category]

    def add(self, category: Any, count: int = 1) -> None:
        """Count a word."""
        if self.get(category) > 0:
            self._freq[category] += count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Number the words anew, the most frequent first; leave out those that came `min_frequency` times or less, or
        `max_frequency` times or more (-1: no limit)."""
        ordered = sorted(self._freq.items(), key=lambda item: (-item[1], isinstance(item[0], str), item[0]))
        kept = {
            word: count
            for word, count in ordered
            if count > min_frequency and not 0 < max_frequency <= count
        }  # fmt: skip
        self._freq = defaultdict(int, kept)
        self._number(kept)

    def reverse(self, class_id: int) -> Any:
        """The word with an id; ValueError if the vocabulary does not support that."""
        if not self._support_reverse:
            raise ValueError("This vocabulary wasn't initialized with support_reverse to support reverse() function.")
        return self._reverse_mapping[class_id]


def _name_of(function: Any) -> list[str]:
    """Where a function is: its module and its name there."""
    return [getattr(function, "__module__", ""), getattr(function, "__qualname__", "")]


def _named(place: list[str]) -> Any:
    """The function of that name in a module that is imported; None if there is none."""
    module, name = place
    found = getattr(sys.modules.get(module), name, None)
    return found if callable(found) and _name_of(found) == place else None


class VocabularyProcessor:
    """Documents as rows of `max_document_length` word ids; shorter ones end with zeros.

    min_frequency: words that come that often or less are unknown. tokenizer_fn: from texts to lists of words.
    """

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Callable[[Iterable[str]], Iterable[list[str]]] | None = None,
    ) -> None:
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: Any = None) -> Self:
        """Learn the words of documents; later ones are unknown."""
        for words in self._tokenizer(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents: Iterable[str], unused_y: Any = None) -> Iterator[np.ndarray]:
        """`fit`, then `transform`."""
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[np.ndarray]:
        """A row of ids for each document."""
        for words in self._tokenizer(raw_documents):
            row = np.zeros(self.max_document_length, np.int64)
            for place, word in enumerate(words[: self.max_document_length]):
                row[place] = self.vocabulary_.get(word)
            yield row

    def reverse(self, documents: Iterable[Iterable[int]]) -> Iterator[str]:
        """The words of rows of ids."""
        for row in documents:
            yield " ".join(str(self.vocabulary_.reverse(number)) for number in row)

    def save(self, filename: Any) -> None:
        """Write it to a file, as JSON. TypeError for words that are neither text nor numbers."""
        vocabulary = self.vocabulary_
        content = {
            "format": _FORMAT,
            "max_document_length": self.max_document_length,
            "min_frequency": self.min_frequency,
            "own_tokenizer": None if self._tokenizer is tokenizer else _name_of(self._tokenizer),
            "unknown_token": vocabulary._unknown_token,
            "support_reverse": vocabulary._support_reverse,
            "frozen": vocabulary._freeze,
            "words": sorted(vocabulary._mapping, key=vocabulary._mapping.__getitem__)[1:],
            "counts": list(vocabulary._freq.items()),
        }
        write_whole(filename, json.dumps(content).encode())

    @classmethod
    def restore(cls, filename: Any, tokenizer_fn: Callable[[Iterable[str]], Iterable[list[str]]] | None = None) -> Self:
        """The processor in a file. A file holds no code, but the name of its own `tokenizer_fn`, which is that of the
        program or of a module that it has imported, unless it is given again.

        Raises DataLossError for other files, ValueError if the tokenizer is not found.
        """
        with gfile.GFile(filename, "rb") as file:
            data = file.read()
        if data.startswith(b"\x80"):
            raise errors.DataLossError(
                None,
                None,
                f"{filename} is a pickle, as TensorFlow writes them, which could run any code. Where it was made, "
                "write its words, one on each line: `print(*processor.vocabulary_._reverse_mapping[1:], sep='\\n')`. "
                "Here, `add` each to a CategoricalVocabulary, and give that to VocabularyProcessor.",
            )
        try:
            content = json.loads(data)
            if content["format"] != _FORMAT:
                raise ValueError(content["format"])
            vocabulary = CategoricalVocabulary(content["unknown_token"], content["support_reverse"])
            vocabulary._number(content["words"])
            vocabulary._freq.update(dict(content["counts"]))
            vocabulary.freeze(content["frozen"])
            own = content["own_tokenizer"]
            found = tokenizer_fn or (_named(own) if isinstance(own, list) else None)
            made = cls(content["max_document_length"], content["min_frequency"], vocabulary, found)
        except (ValueError, KeyError, TypeError) as error:
            raise errors.DataLossError(None, None, f"{filename} is no VocabularyProcessor: {error}") from None
        if own and found is None:
            raise ValueError(f"The processor in {filename} has a tokenizer_fn of its own: pass it to `restore`.")
        return made


class ByteProcessor:
    """Documents as rows of `max_document_length` bytes (UTF-8); shorter ones end with zeros."""

    def __init__(self, max_document_length: int) -> None:
        self.max_document_length = max_document_length

    def fit(self, x: Any) -> None:
        """Nothing is learned."""

    def fit_transform(self, x: Iterable[str | bytes]) -> Iterator[np.ndarray]:
        return self.transform(x)

    def transform(self, x: Iterable[str | bytes]) -> Iterator[np.ndarray]:
        """A row of bytes for each document."""
        for document in x:
            data = document.encode() if isinstance(document, str) else document
            row = np.frombuffer(data[: self.max_document_length], np.uint8)
            yield np.pad(row, (0, self.max_document_length - len(row)))

    def reverse(self, x: Iterable[np.ndarray]) -> Iterator[str]:
        """The texts of rows of bytes; "" for what is not UTF-8."""
        for row in x:
            data = np.trim_zeros(np.asarray(row).astype(np.uint8), "b").tobytes()
            try:
                yield data.decode()
            except UnicodeDecodeError:
                yield ""
