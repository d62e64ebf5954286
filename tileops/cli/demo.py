"""`tileops demo`: a small model compiled from tileops operators, held against plain PyTorch."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path

from tileops.cli.errors import FINDINGS, OK, CommandError
from tileops.cli.output import write
from tileops.diagnostics.text import printable

DESCRIPTION = """\
Runs a small Llama-style decoder over the bytes of a text: 4 layers, width 512, 8 query and 2 key
heads. Its norms, rotary embedding, attention, projections and MLP are torch.ops.tileops calls,
compiled with torch.compile(fullgraph=True) and cold caches. The same model in plain PyTorch, with
the same weights, must give the same greedy bytes, and logits within the tolerance of bfloat16.

The weights are built, not trained: each layer looks back a few bytes, and the model repeats the
end of its prompt. That makes every greedy choice clear by far more than rounding.
"""
EPILOG = """\
exit status: 0 when both models agree; 1 when values disagree, the graph breaks, or a second length
recompiles; 2 for wrong usage, which includes a text that cannot be read.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument(
        "--text",
        type=Path,
        metavar="FILE",
        help="the file whose first bytes are the prompt, of any encoding; a short one starts again "
        "(default: a text that ships with the package)",
    )
    parser.add_argument(
        "--prompt", type=_count, default=512, metavar="N", help="bytes to read (default: 512)"
    )
    parser.add_argument(
        "--tokens", type=_count, default=64, metavar="N", help="bytes to generate (default: 64)"
    )
    parser.add_argument(
        "--device", choices=("cuda", "cpu"), help="default: cuda where there is a GPU, else cpu"
    )
    parser.add_argument(
        "--backend",
        choices=("inductor", "aot_eager"),
        help="default: inductor, or aot_eager on a machine without a C++ compiler",
    )


def _count(text: str) -> int:
    """A number of bytes: torch.compile takes a length of 1 for a constant, so at least 2."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 2 <= value <= 1 << 16:
        raise argparse.ArgumentTypeError(f"must be a number from 2 to {1 << 16}, got {text!r}")
    return value


def run(args: argparse.Namespace) -> int:
    if importlib.util.find_spec("torch") is None:
        raise CommandError("the demo needs torch, which is not installed")
    if "torch" not in sys.modules:
        # Read when torch loads. Threads that spin while they wait hardly show on idle cores, and
        # keep shared ones from their work (seen on two cores under load: 1 token a second, not 16).
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from tileops.demo.choose import ChoiceError, choose_backend, choose_device
    from tileops.demo.run import Settings, run_demo
    from tileops.demo.text import TextError, read_text
    from tileops.runtime.shipped import registered

    try:
        text = read_text(args.text)
        device, backend = choose_device(args.device), choose_backend(args.backend)
    except (TextError, ChoiceError) as error:
        raise CommandError(str(error)) from None
    if backend == "aot_eager" and args.backend is None:
        _say("no C++ compiler was found: compiling with aot_eager, which generates no code\n")
    registered()
    settings = Settings(device, backend, args.prompt, args.tokens)
    problems = run_demo(settings, text, _say)
    for problem in problems:
        print(f"tileops: {printable(problem)}", file=sys.stderr)
    return FINDINGS if problems else OK


def _say(text: str) -> None:
    write("\n".join(printable(line) for line in text.split("\n")))
    # A step can take a while; its line is there when it begins, through a pipe too.
    sys.stdout.flush()
