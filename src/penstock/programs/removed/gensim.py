"""What gensim has removed since 3.8: in word vectors, the names of arguments, the vocabulary, methods of models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

from penstock.programs.removed.giving import give_methods, rename_keywords
from penstock.programs.report import REPORT

_MODEL: dict[str, str | None] = {"size": "vector_size", "iter": "epochs"}
KEYWORDS: dict[str, dict[str, dict[str, str | None]]] = {
    "gensim.corpora.wikicorpus": {"WikiCorpus": {"lemmatize": None}},
    "gensim.models.doc2vec": {"Doc2Vec": _MODEL},
    "gensim.models.fasttext": {"FastText": _MODEL},
    "gensim.models.word2vec": {"Word2Vec": _MODEL},
}
"""By module and class: keywords of what makes it."""
_METHODS = (
    *("most_similar", "similarity", "n_similarity", "doesnt_match", "similar_by_word", "similar_by_vector"),
    *("wmdistance", "word_vec", "save_word2vec_format", "__getitem__", "__contains__"),
)
_ATTRIBUTES = ("vocab", "index2word", "syn0", "syn0norm")
"""What models had of their vectors."""


class Vocabulary(Mapping[str, Any]):
    """Words, with their `index` and `count`, as `vocab` was."""

    def __init__(self, vectors: Any) -> None:
        self._vectors = vectors

    def __getitem__(self, word: str) -> Any:
        index = self._vectors.key_to_index[word]
        return SimpleNamespace(index=index, count=self._vectors.get_vecattr(word, "count"))

    def __contains__(self, word: object) -> bool:
        return word in self._vectors.key_to_index

    def __iter__(self) -> Iterator[str]:
        return iter(self._vectors.key_to_index)

    def __len__(self) -> int:
        return len(self._vectors.key_to_index)


def _counted(label: str, get: Callable[[Any], Any]) -> property:
    def found(self: Any) -> Any:
        REPORT.use(label, None)
        return get(self)

    return property(found)


def _patch_vectors(module: Any) -> None:
    vectors = module.KeyedVectors
    now: dict[str, Callable[[Any], Any]] = {
        "vocab": Vocabulary,
        "index2word": attrgetter("index_to_key"),
        "index2entity": attrgetter("index_to_key"),
        "syn0": attrgetter("vectors"),
        "syn0norm": lambda self: self.get_normed_vectors(),
        "vectors_norm": lambda self: self.get_normed_vectors(),
        "wv": lambda self: self,
    }
    for name, get in now.items():
        setattr(vectors, name, _counted(f"KeyedVectors.{name}", get))


def _method_of_vectors(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **options: Any) -> Any:
        return getattr(self.wv, name)(*args, **options)

    return method


def _patch_models(name: str, module: Any) -> None:
    for cls, keywords in KEYWORDS[name].items():
        rename_keywords(getattr(module, cls), "__init__", keywords, cls)
    if name != "gensim.models.word2vec":
        return
    model = module.Word2Vec
    give_methods(model, {each: _method_of_vectors(each) for each in _METHODS})
    for each in _ATTRIBUTES:
        setattr(model, each, _counted(f"Word2Vec.{each}", attrgetter(f"wv.{each}")))
    model.iter = _counted("Word2Vec.iter", attrgetter("epochs"))


PATCHES: dict[str, Callable[[Any], None]] = {
    "gensim.models.keyedvectors": _patch_vectors,
    **{name: partial(_patch_models, name) for name in KEYWORDS},
}
