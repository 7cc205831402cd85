"""SavedModels as objects with functions, in the current graph (TF: tf.saved_model.load_v2).

A SavedModel of TensorFlow 2 is a tree of objects: variables, tables, functions. One of TensorFlow 1 has signatures.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from google.protobuf import message
from tensorboard.compat.proto import trackable_object_graph_pb2

from penstock import errors
from penstock.checkpoint.files import checkpoint_exists
from penstock.client.resource_variable import ResourceVariable
from penstock.client.variable import Variable
from penstock.export import export
from penstock.graph.codec import make_ndarray
from penstock.graph.convert import constant, convert_to_tensor
from penstock.graph.importer import check_size, import_graph_def
from penstock.graph.library import Library
from penstock.graph.operation import Tensor
from penstock.graph.scopes import GraphKeys, add_to_collection, control_dependencies, name_scope
from penstock.ops.basic import group
from penstock.saved_model.assets import asset_path
from penstock.saved_model.instances import Instance, converted
from penstock.saved_model.loader import chosen_meta_graph
from penstock.saved_model.messages import read_saved_model
from penstock.saved_model.restored_functions import ConcreteFunction, RestoredFunction
from penstock.saved_model.utils import variables_prefix
from penstock.tensor.dtypes import as_dtype
from penstock.tensor.shapes import TensorShape
from penstock.train.checkpoint_utils import load_checkpoint, restored_tensor

_OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"


class LoadedObject:
    """An object of a SavedModel: its parts are attributes, and it can be called if it could be when it was saved."""

    _call: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the object's `__call__` returned, for arguments like those that it was traced for."""
        if self._call is None:
            raise TypeError(
                f"the SavedModel's object is not callable: it has {', '.join(sorted(vars(self))) or 'nothing'}"
            )
        return self._call(*args, **kwargs)


class Signatures(Mapping[str, Any]):
    """Functions by the names of signatures."""

    def __init__(self, functions: dict[str, Any]) -> None:
        self._functions = functions

    def __getitem__(self, name: str) -> Any:
        if name not in self._functions:
            raise KeyError(f"the SavedModel has no signature {name!r}, but {', '.join(map(repr, self._functions))}")
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __repr__(self) -> str:
        return f"Signatures({list(self._functions)})"


@export("saved_model.load_v2")
def load_v2(export_dir: Any, tags: Iterable[str] | None = None, options: Any = None) -> Any:
    """The object in a SavedModel; its variables and tables are added to the current graph.

    Its `signatures` map names to functions of tensors by name, which return dicts; its parts are attributes, its
    `variables` a list. Functions add nodes to the current graph. `tf.global_variables_initializer()` gives variables
    the values in the file, `tf.tables_initializer()` fills tables. tags: those of a graph of TensorFlow 1; None if
    there is only one. Raises OSError without a SavedModel, ValueError for a damaged one. TF: tf.saved_model.load_v2.
    """
    directory = os.fsdecode(export_dir)
    found = read_saved_model(directory).meta_graphs
    if tags is None and len(found) != 1:
        there = [sorted(each.meta_info_def.tags) for each in found]
        raise ValueError(f"The SavedModel in {directory} has {len(found)} graphs: choose one by its tags, of {there}")
    meta_graph = found[0] if tags is None else chosen_meta_graph(directory, tags)
    with name_scope(None):
        if not meta_graph.object_graph_def.nodes:
            return _of_signatures(meta_graph, directory)
        try:
            return _Loader(meta_graph, directory).root()
        except (IndexError, KeyError, RecursionError, message.DecodeError) as error:
            raise ValueError(f"the SavedModel in {directory} is damaged: {type(error).__name__}: {error}") from error


# --- TensorFlow 1 ---------------------------------------------------------------------------------------


def _of_signatures(meta_graph: Any, directory: str) -> LoadedObject:
    instance = Instance(meta_graph, directory, "saved_model")
    loaded = LoadedObject()
    signatures = {name: _signature(instance, name, found) for name, found in sorted(meta_graph.signature_def.items())}
    flat = [variable for each in instance.variable_map.values() for variable in _listed(each)]
    vars(loaded).update(signatures=Signatures(signatures), variables=flat, graph=instance.graph)
    vars(loaded).update(trainable_variables=[each for each in flat if each.trainable])
    return loaded


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _signature(instance: Instance, name: str, found: Any) -> Callable[..., dict[str, Any]]:
    def call(*args: Any, **kwargs: Any) -> dict[str, Any]:
        names = sorted(found.inputs)
        given = dict(zip(names, args, strict=False)) | kwargs if len(args) <= len(names) else {}
        if set(given) != set(names) or len(args) + len(kwargs) != len(names):
            raise TypeError(
                f"signature {name!r} takes {', '.join(names) or 'nothing'}, not {len(args)} and {list(kwargs)}"
            )
        inputs = {key: converted(given[key], found.inputs[key], f"signature {name!r}, {key}") for key in names}
        return instance.apply(found, inputs, name)

    return call


# --- TensorFlow 2 ---------------------------------------------------------------------------------------


class _Loader:
    """Makes what a SavedModel's nodes describe, each once."""

    def __init__(self, meta_graph: Any, directory: str) -> None:
        self._meta_graph, self._directory = meta_graph, directory
        self._nodes = meta_graph.object_graph_def.nodes
        self._functions = meta_graph.object_graph_def.concrete_functions
        check_size(meta_graph.graph_def)
        self._library = Library(meta_graph.graph_def.library, import_graph_def)
        self._made: dict[int, Any] = {}
        self._concrete: dict[str, ConcreteFunction] = {}
        self._prefix = variables_prefix(directory)
        self._keys = self._keys_in_checkpoint()

    def root(self) -> Any:
        """The object that was saved, with all that it has."""
        root = self._make(0)
        variables = [self._make(i) for i, node in enumerate(self._nodes) if node.WhichOneof("kind") == "variable"]
        for name, found in (("variables", variables), ("trainable_variables", [v for v in variables if v.trainable])):
            vars(root).setdefault(name, found)
        vars(root).setdefault("signatures", Signatures({}))
        return root

    def _keys_in_checkpoint(self) -> dict[int, str]:
        """The name of each variable in the checkpoint, whose own tree of objects has the same edges."""
        if not checkpoint_exists(self._prefix):
            return {}
        with load_checkpoint(self._prefix) as reader:
            if not reader.has_tensor(_OBJECTS):
                return {}
            objects = trackable_object_graph_pb2.TrackableObjectGraph.FromString(reader.array(_OBJECTS).item())
        keys: dict[int, str] = {}
        pairs, seen = [(0, 0)], {0}
        while pairs:
            here, there = pairs.pop()
            for attribute in objects.nodes[there].attributes:
                keys[here] = attribute.checkpoint_key
            below = {child.local_name: child.node_id for child in objects.nodes[there].children}
            for child in self._nodes[here].children:
                if child.local_name in below and child.node_id not in seen:
                    seen.add(child.node_id)
                    pairs.append((child.node_id, below[child.local_name]))
        return keys

    def _make(self, index: int) -> Any:
        if index < 0:
            raise IndexError(f"object {index}")
        if index not in self._made:
            node = self._nodes[index]
            match node.WhichOneof("kind"):
                case "variable":
                    self._made[index] = self._variable(index, node.variable)
                case "constant":
                    self._made[index] = self._constant(node.constant.operation)
                case "asset":
                    self._made[index] = self._asset(node.asset.asset_file_def_index)
                case "resource":
                    self._made[index] = self._resource(index, node)
                case "function":
                    names = node.function.concrete_functions
                    functions = [self._function(name) for name in names]
                    self._made[index] = RestoredFunction(node.function.function_spec, functions)
                case "bare_concrete_function":
                    bare = node.bare_concrete_function
                    self._made[index] = self._function(bare.concrete_function_name, bare.argument_keywords)
                case "user_object":
                    self._fill(index, node)
                case other:
                    raise errors.UnimplementedError(None, None, f"the SavedModel has an object of the kind {other}")
        return self._made[index]

    def _fill(self, index: int, node: Any) -> None:
        """Objects may hold each other: this one is known before what it holds is made."""
        kind = node.user_object.identifier
        children = sorted(node.children, key=lambda child: child.node_id)
        if kind == "signature_map":
            self._made[index] = Signatures({child.local_name: self._make(child.node_id) for child in children})
        elif kind in ("trackable_list_wrapper", "trackable_tuple_wrapper"):
            elements: list[Any] = []
            self._made[index] = elements
            elements.extend(
                self._make(child.node_id)
                for child in sorted(
                    children, key=lambda child: int(child.local_name) if child.local_name.isdigit() else 0
                )
                if child.local_name.isdigit()
            )
        elif kind == "trackable_dict_wrapper":
            table: dict[str, Any] = {}
            self._made[index] = table
            table.update((child.local_name, self._make(child.node_id)) for child in children)
        else:
            self._made[index] = made = LoadedObject()
            for child in children:
                value = self._make(child.node_id)
                vars(made)["_call" if child.local_name == "__call__" else child.local_name] = value

    def _variable(self, index: int, proto: Any) -> Variable:
        dtype, shape = as_dtype(proto.dtype), TensorShape(proto.shape)
        key = self._keys.get(index)

        def value() -> Tensor:
            if key is None:
                raise ValueError(f"variable {proto.name!r} of the SavedModel in {self._directory} has no value there")
            restored = restored_tensor(self._prefix, key, "", dtype)
            restored.set_shape(shape)
            return restored

        made: Variable = Variable(
            value, trainable=proto.trainable, name=proto.name or "variable", dtype=dtype, shape=shape, use_resource=True
        )
        return made

    def _constant(self, operation: str) -> Tensor:
        for node in self._meta_graph.graph_def.node:
            if node.name == operation and node.op == "Const":
                return constant(make_ndarray(node.attr["value"].tensor), as_dtype(node.attr["dtype"].type))
        raise KeyError(f"constant {operation!r}")

    def _asset(self, index: int) -> Tensor:
        filename = self._meta_graph.asset_file_def[index].filename
        path = constant(asset_path(filename, self._directory))
        add_to_collection(GraphKeys.ASSET_FILEPATHS, path)
        return path

    def _resource(self, index: int, node: Any) -> Tensor:
        """The handle of a table or the like, which a function of the model makes and another fills."""
        if node.saveable_objects:
            raise errors.UnimplementedError(
                None, None, f"the SavedModel in {self._directory} keeps the contents of a table in its checkpoint"
            )
        functions = {child.local_name: child.node_id for child in node.children}
        (handle,) = self._run(functions["_create_resource"])
        self._made[index] = handle
        if "_initialize" in functions:
            with control_dependencies(None):
                add_to_collection(GraphKeys.TABLE_INITIALIZERS, group(*self._run(functions["_initialize"])))
        return handle

    def _run(self, index: int) -> list[Any]:
        """What a function without arguments returns; the node that calls it if that is nothing."""
        (function,) = self._make(index).concrete_functions
        node = function.node()
        return list(node.outputs) or [node]

    def _function(self, name: str, keywords: Iterable[str] = ()) -> ConcreteFunction:
        if name not in self._functions:
            raise KeyError(f"function {name!r}")
        proto = self._functions[name]
        bound = [self._input(index) for index in proto.bound_inputs]
        return ConcreteFunction(name, self._library, proto, bound, list(keywords))

    def _input(self, index: int) -> Tensor:
        found = self._make(index)
        return found.handle if isinstance(found, ResourceVariable) else convert_to_tensor(found)
