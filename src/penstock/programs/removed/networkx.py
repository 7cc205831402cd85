"""NetworkX as until 2.0, where a text asks for what only that had, and what it has removed since.

Until 2.0 `G.nodes()`, `G.edges()` and `G.neighbors(n)` gave lists, `G.degree()` a dict; until 2.4 `G.node` gave the
attributes of the nodes. Matrices were matrices of SciPy until 3.0: `A * B` is a product of matrices.
"""

from __future__ import annotations

import functools
import linecache
import pickle
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from penstock.programs.places import is_of_program
from penstock.programs.removed.giving import Source, give, give_methods
from penstock.programs.report import REPORT

_SIGNS = re.compile(
    r"\.(nodes|edges|neighbors|degree|successors|predecessors|adjacency)_iter\(|\.node\[|\.edge\[|networkx 1\.|nx 1\."
    r"|\.(neighbors|successors|predecessors)\([^()]*\)\[|\.(nodes|edges)\(\)\[-?\d+\](?!\[)"
    r"|choice\(\w+\.(nodes|edges|neighbors)\("
    r"|\.degree\(\)\.(values|items|keys|iteritems|itervalues)\("
    r"|\.add_(path|star|cycle)\(|_component_subgraphs\(|networkx==1\."
)
"""What programs for NetworkX 1 say: names that 2.0 or 2.4 removed, and lists and dicts where 2.0 has views."""


@cache
def _is_of_then(file: str) -> bool:
    return is_of_program(file) and bool(_SIGNS.search("".join(linecache.getlines(file))))


def _listed(method: Callable[..., Any], label: str) -> Callable[..., Any]:
    @functools.wraps(method)
    def listing(*args: Any, **options: Any) -> Any:
        found = method(*args, **options)
        caller = sys._getframe(1)
        if not _is_of_then(caller.f_code.co_filename):
            return found
        REPORT.use(label, caller)
        return list(found)

    return listing


class _View:
    """`G.nodes`, `G.edges`, `G.degree`: the view; in a text of then, what gives `make` of the view when it is called.

    A data descriptor, since a cached_property would be hidden by the view that it has put into the graph.
    """

    def __init__(self, cached: Any, make: Callable[[Any], Any], label: str) -> None:
        self._cached, self._make, self._label = cached, make, label

    def __get__(self, graph: Any, owner: type | None = None) -> Any:
        if graph is None:
            return self
        name = self._cached.attrname
        view = vars(graph)[name] if name in vars(graph) else self._cached.__get__(graph, owner)
        is_of_then = _is_of_then(sys._getframe(1).f_code.co_filename)
        return _Called(view, self._make, self._label) if is_of_then else view

    def __set__(self, graph: Any, value: Any) -> None:
        vars(graph)[self._cached.attrname] = value


class _Called:
    def __init__(self, view: Any, make: Callable[[Any], Any], label: str) -> None:
        self._view, self._make, self._label = view, make, label

    def __call__(self, *args: Any, **options: Any) -> Any:
        REPORT.use(self._label, sys._getframe(1))
        found = self._view(*args, **options)
        return self._make(found) if hasattr(found, "__iter__") else found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)

    def __getitem__(self, key: Any) -> Any:
        return self._view[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._view)

    def __len__(self) -> int:
        return len(self._view)

    def __contains__(self, key: Any) -> bool:
        return key in self._view


def _subgraphs(name: str) -> Callable[..., Iterator[Any]]:
    def subgraphs(G: Any, copy: bool = True) -> Iterator[Any]:
        import networkx

        for nodes in getattr(networkx, name)(G):
            yield G.subgraph(nodes).copy() if copy else G.subgraph(nodes)

    return subgraphs


def to_numpy_matrix(G: Any, nodelist: Any = None, *args: Any, **options: Any) -> Any:
    import networkx
    import numpy as np

    return np.asmatrix(networkx.to_numpy_array(G, nodelist, *args, **options))


def to_scipy_sparse_matrix(
    G: Any, nodelist: Any = None, dtype: Any = None, weight: str = "weight", format: str = "csr"
) -> Any:
    import networkx

    return _as_matrix(networkx.to_scipy_sparse_array(G, nodelist, dtype, weight, format))


def read_gpickle(path: Any) -> Any:
    """As `pickle.load`: it runs what the file says."""
    with open(path, "rb") as file:
        return pickle.load(file)


def write_gpickle(G: Any, path: Any, protocol: int = pickle.HIGHEST_PROTOCOL) -> None:
    with open(path, "wb") as file:
        pickle.dump(G, file, protocol)


def info(G: Any, n: Any = None) -> str:
    return str(G) if n is None else f"Node {n}: degree {G.degree[n]}, neighbors {' '.join(map(str, G.adj[n]))}"


def _as_matrix(array: Any) -> Any:
    import scipy.sparse

    return getattr(scipy.sparse, f"{array.format}_matrix")(array)


def _of_matrices(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def making(*args: Any, **options: Any) -> Any:
        found = function(*args, **options)
        return _as_matrix(found) if is_of_program(sys._getframe(1).f_code.co_filename) else found

    return making


NAMES: dict[str, Source] = {
    **{f"{name}_subgraphs": functools.partial(_subgraphs, f"{name}s") for name in (
        "connected_component", "strongly_connected_component", "weakly_connected_component", "biconnected_component"
    )},
    "from_numpy_matrix": "networkx:from_numpy_array",
    "from_scipy_sparse_matrix": "networkx:from_scipy_sparse_array",
    **{f.__name__: f"{__name__}:{f.__name__}"
       for f in (info, read_gpickle, to_numpy_matrix, to_scipy_sparse_matrix, write_gpickle)},
}  # fmt: skip
CONVERSIONS = {name: at for name, at in NAMES.items() if name.endswith(("_numpy_matrix", "_sparse_matrix"))}
_MATRICES = (
    *("adjacency_matrix", "attr_sparse_matrix", "directed_laplacian_matrix", "incidence_matrix"),
    *("laplacian_matrix", "modularity_matrix", "normalized_laplacian_matrix"),
)


_VIEWS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("nodes", "edges", "in_edges", "out_edges"), list),
    **dict.fromkeys(("degree", "in_degree", "out_degree"), dict),
}
_NEIGHBORS = ("neighbors", "successors", "predecessors")


def _patch_graph(graph: type) -> None:
    for name in vars(graph).keys() & _VIEWS.keys():
        setattr(graph, name, _View(vars(graph)[name], _VIEWS[name], f"nx.{graph.__name__}.{name}()"))
    for name in vars(graph).keys() & {*_NEIGHBORS}:
        setattr(graph, name, _listed(vars(graph)[name], f"nx.{graph.__name__}.{name}()"))
    give_methods(graph, {f"{name}_iter": _iterator(name) for name in (*_VIEWS, *_NEIGHBORS) if hasattr(graph, name)})
    give_methods(graph, {f"add_{name}": _adder(name) for name in ("path", "star", "cycle")})
    give_methods(graph, {"adjacency_iter": _iterator("adjacency")})


def _iterator(name: str) -> Callable[..., Iterator[Any]]:
    def iterating(self: Any, *args: Any, **options: Any) -> Iterator[Any]:
        return iter(getattr(self, name)(*args, **options))

    return iterating


def _adder(name: str) -> Callable[..., None]:
    def adding(self: Any, nodes: Any, **attributes: Any) -> None:
        import networkx

        getattr(networkx, f"add_{name}")(self, nodes, **attributes)

    return adding


def patch_node_link(module: Any) -> None:
    """Files of then list `links`, and until 2.0 by the places of their ends among the nodes."""
    read = module.node_link_graph

    @functools.wraps(read)
    def reading(data: Any, *args: Any, **options: Any) -> Any:
        if args or options or "links" not in data or "edges" in data:
            return read(data, *args, **options)
        REPORT.use("nx.node_link_graph of links", sys._getframe(1))
        names = [node.get("id", at) for at, node in enumerate(data["nodes"])]
        known, links = set(names), data["links"]
        if any(link["source"] not in known or link["target"] not in known for link in links):
            links = [{**link, **{end: names[link[end]] for end in ("source", "target")}} for link in links]
        return read({**data, "links": links}, edges="links")

    module.node_link_graph = reading


def patch(networkx: Any) -> None:
    for name in _MATRICES:
        if hasattr(networkx, name):
            setattr(networkx, name, _of_matrices(getattr(networkx, name)))
    for name in ("Graph", "DiGraph", "MultiGraph", "MultiDiGraph"):
        _patch_graph(getattr(networkx, name))
    networkx.Graph.node = property(lambda self: self._node)
    networkx.Graph.edge = property(lambda self: self._adj)
    version = vars(networkx).pop("__version__")
    give(networkx, {name: at for name, at in NAMES.items() if not hasattr(networkx, name)}, "nx")
    give(networkx.convert_matrix, CONVERSIONS, "nx.convert_matrix")
    others = vars(networkx)["__getattr__"]

    def __getattr__(name: str) -> Any:
        if name != "__version__":
            return others(name)
        return "1.11" if _is_of_then(sys._getframe(1).f_code.co_filename) else version

    vars(networkx)["__getattr__"] = __getattr__


PATCHES: dict[str, Callable[[Any], None]] = {
    "networkx": patch,
    "networkx.readwrite.json_graph.node_link": patch_node_link,
}
