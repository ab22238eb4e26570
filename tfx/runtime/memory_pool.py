"""One pool of CPU memory for the sessions of the process.

By default ONNX Runtime gives each session a pool of its own, and after a first call it reserves one
block as large as everything that the call needed, beside the blocks of that first call. A train
step that is compiled twice (with its variables as inputs, then as constants) holds four times what
it needs in that way. With one pool and without such blocks it holds it once, at the same speed.
"""

from __future__ import annotations

from typing import Any

import onnxruntime

# Regions of the pool double in size. The other strategy, regions just as large as what is asked
# for, needs twice the memory where sizes vary from call to call: neighbours cannot be joined.
_SETTINGS = {"arena_extend_strategy": 0}
_SHARED = "session.use_env_allocators"


def create() -> None:
    """Make the process's pool; once, before the first session."""
    memory = onnxruntime.OrtMemoryInfo(
        "Cpu", onnxruntime.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, onnxruntime.OrtMemType.DEFAULT
    )
    onnxruntime.create_and_register_allocator(memory, onnxruntime.OrtArenaCfg(_SETTINGS))


def use(options: Any) -> None:
    """Let a session on the CPU take its memory from the pool.

    Args:
        options: ONNX Runtime's session options.
    """
    options.add_session_config_entry(_SHARED, "1")
    options.enable_mem_pattern = False
