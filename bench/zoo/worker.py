"""``python -m bench.zoo.worker PEER [--gpu]``: a peer's side of the comparison (``peers.worker``).

``python -m bench.zoo.worker PEER PROGRAM`` prints the peak memory of a training step instead.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from bench.peers.memory import peak_of
from bench.peers.worker import Case, serve
from bench.zoo import programs
from bench.zoo.programs import Maker

_CALLS = 6
GPU = "--gpu"


def makers(peer: str) -> tuple[str, dict[str, Maker]]:
    """A framework's version, and what makes its programs."""
    if peer == "torch":
        import torch

        from bench.zoo import torch_programs

        return str(torch.__version__), torch_programs.makers()
    if peer == "jax":
        import jax

        from bench.zoo import jax_programs

        return str(jax.__version__), jax_programs.makers()
    from bench.zoo import on_tensorflow, tensorflow_programs

    if peer == "tfx":
        import tfx as tf

        return tf.__version__, tensorflow_programs.makers(tf)
    import tensorflow  # type: ignore[import-not-found]

    tf = on_tensorflow.use_tensorflow(tensorflow)
    return str(tensorflow.__version__), tensorflow_programs.makers(tf)


def cases(
    peer: str, found: dict[str, Maker], batches: dict[str, int] = programs.BATCHES
) -> dict[str, Callable[[], Case]]:
    """Training and inference of each program; of tfx also what decoding takes.

    Args:
        peer: Name of the framework.
        found: What makes its programs.
        batches: How many examples each takes at once.
    """
    made: dict[str, Callable[[], Case]] = {}
    for name, maker in found.items():
        for part in ("train", "infer"):
            made[f"{name}_{part}"] = functools.partial(_case, maker, batches[name], name, part)
    if peer == "tfx":
        from bench.zoo import decoding

        made |= decoding.CASES
    return made


def on_gpu(peer: str, found: dict[str, Maker]) -> dict[str, Maker]:
    """What makes the same programs on the GPU, where that is not the framework's own choice."""
    if peer == "torch":
        import torch

        torch.set_default_device("cuda")
        # As ONNX Runtime's CUDA provider multiplies.
        torch.backends.cuda.matmul.allow_tf32 = True
    if peer != "tfx":
        return found
    import tfx as tf

    def there(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            with tf.device("/GPU:0"):
                return function(*args)

        return call

    def made(maker: Maker, batch: int) -> programs.Program:
        program: programs.Program = there(maker)(batch)
        return program._replace(train=there(program.train), infer=there(program.infer))

    return {name: functools.partial(made, maker) for name, maker in found.items()}


def _case(maker: Maker, batch: int, name: str, part: str) -> Case:
    program = maker(batch)
    call = getattr(program, part)
    # Plans that wait for some calls are made before a turn begins.
    for _ in range(3 if name == "resnet50" else 10):
        program.wait(call())
    return Case(call, lambda _: float(program.parameters), wait=program.wait)


def memory(peer: str, name: str) -> int:
    """Bytes at the peak of training steps with a large batch, beyond what small ones leave."""
    maker = makers(peer)[1][name]

    def step(batch: int) -> Callable[[], Any]:
        program = maker(batch)
        return lambda: program.wait(program.train())

    return peak_of(step(2), functools.partial(step, programs.LARGE[name]), _CALLS)


def main(arguments: list[str]) -> None:
    """Serve, or measure memory."""
    peer, *rest = arguments
    if rest and rest != [GPU]:
        print(memory(peer, rest[0]))
        return
    version, found = makers(peer)
    if rest:
        serve(peer, version, cases(peer, on_gpu(peer, found), programs.ON_GPU))
    else:
        serve(peer, version, cases(peer, found))


if __name__ == "__main__":
    main(sys.argv[1:])
