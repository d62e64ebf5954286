"""The model under torch.compile: two graphs, one for a prompt and one for a step after it.

In: a decoder and a backend. Out: the steps of generation, with the graphs that were made on the
way. Both lengths, the prompt's and the history's, are dynamic; a second frame is a recompilation.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from tileops.demo.model import Decoder
from tileops.runtime.errors import CallError

__all__ = ["CompileError", "Compiled", "Frames", "Plain", "cold_caches"]


class CompileError(Exception):
    """The model cannot be compiled as one graph; the message is one sentence."""


@dataclass(slots=True)
class Frames:
    """A backend that counts: how often it was asked, and the nodes of the last graph."""

    backend: str
    count: int = 0
    nodes: Counter[str] = field(default_factory=Counter)
    size: int = 0

    def __call__(self, module: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        from torch._dynamo.backends.registry import lookup_backend

        self.count += 1
        self.nodes = Counter(filter(None, map(_operator, module.graph.nodes)))
        self.size = len(module.graph.nodes)
        return lookup_backend(self.backend)(module, inputs)


def _operator(node: torch.fx.Node) -> str:
    """The name of the tileops operator that a node calls, or nothing."""
    if node.op != "call_function":
        return ""
    namespace, _, name = getattr(node.target, "_qualified_op_name", "").partition("::")
    if isinstance(node.target, torch._ops.OpOverload):
        namespace, _, name = node.target._schema.name.partition("::")
    return name if namespace == "tileops" else ""


class Plain:
    """The decoder as it is."""

    def __init__(self, decoder: Decoder) -> None:
        self.prefill = decoder
        self.decode = decoder


class Compiled:
    """The decoder compiled with `fullgraph=True`, each step when it is first called."""

    def __init__(self, decoder: Decoder, backend: str) -> None:
        self.prefill_frames = Frames(backend)
        self.decode_frames = Frames(backend)

        def prefill(tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return decoder(tokens)

        def decode(
            tokens: torch.Tensor, history: torch.Tensor
        ) -> tuple[torch.Tensor, torch.Tensor]:
            return decoder(tokens, history)

        self._prefill = torch.compile(prefill, fullgraph=True, backend=self.prefill_frames)
        self._decode = torch.compile(decode, fullgraph=True, backend=self.decode_frames)

    def prefill(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        torch._dynamo.mark_dynamic(tokens, 0)
        return _explained(lambda: self._prefill(tokens))

    def decode(
        self, tokens: torch.Tensor, history: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        torch._dynamo.mark_dynamic(history, 3)
        return _explained(lambda: self._decode(tokens, history))


def _explained(
    call: Callable[[], tuple[torch.Tensor, torch.Tensor]],
) -> tuple[torch.Tensor, torch.Tensor]:
    """The call, with what torch.compile may say about it as a CompileError."""
    from torch._dynamo import exc
    from torch.fx.experimental.symbolic_shapes import ConstraintViolationError

    try:
        return call()
    except (exc.UserError, ConstraintViolationError) as error:
        raise CompileError(f"a dynamic length is fixed by the graph: {_first(error)}") from error
    except (exc.RecompileError, exc.FailOnRecompileLimitHit) as error:
        raise CompileError(f"a second length recompiles: {_first(error)}") from error
    except exc.Unsupported as error:
        raise CompileError(f"the graph breaks: {_first(error)}") from error
    except exc.TorchDynamoException as error:
        raise CompileError(f"the model does not compile: {_first(error)}") from error


def _first(error: BaseException) -> str:
    """What an operator said, else the first line that says something."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, CallError):
            return str(cause)
        cause = cause.__cause__ or cause.__context__
    lines = [line.strip().rstrip(".") for line in str(error).splitlines()]
    # "backend='inductor' raised:" stands before what it raised.
    said = (line for line in lines if line and not line.endswith("raised:"))
    return next(said, type(error).__name__)


@contextmanager
def cold_caches() -> Iterator[None]:
    """Compile caches of their own inside, empty ones, and nothing kept from earlier frames."""
    torch._dynamo.reset()
    names = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
    before = {name: os.environ.get(name) for name in names}
    folder = tempfile.mkdtemp(prefix="tileops-demo-")
    for name in names:
        os.environ[name] = os.path.join(folder, name.lower())
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        shutil.rmtree(folder, ignore_errors=True)
