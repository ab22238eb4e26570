"""The keyed hash by which strings are put into buckets that nobody can foresee: SipHash-2-4."""

from __future__ import annotations

_MASK = (1 << 64) - 1


def siphash(data: bytes, key: tuple[int, int]) -> int:
    """The hash of some bytes, 0 to 2^64 - 1.

    Args:
        data: Any bytes.
        key: Two numbers of 64 bits.

    Example:
        >>> hex(siphash(bytes(range(15)), (0x0706050403020100, 0x0F0E0D0C0B0A0908)))
        '0xa129ca6149be45e5'
    """
    low, high = (part & _MASK for part in key)
    state = [
        low ^ 0x736F6D6570736575,
        high ^ 0x646F72616E646F6D,
        low ^ 0x6C7967656E657261,
        high ^ 0x7465646279746573,
    ]
    rest = len(data) % 8
    whole = data[: len(data) - rest]
    last = data[len(data) - rest :] + bytes(7 - rest) + bytes([len(data) & 0xFF])
    for place in range(0, len(whole) + 8, 8):
        word = int.from_bytes(whole[place : place + 8] or last, "little")
        state[3] ^= word
        _mix(state, 2)
        state[0] ^= word
    state[2] ^= 0xFF
    _mix(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _mix(state: list[int], rounds: int) -> None:
    a, b, c, d = state
    for _ in range(rounds):
        a = (a + b) & _MASK
        b = _turn(b, 13) ^ a
        a = _turn(a, 32)
        c = (c + d) & _MASK
        d = _turn(d, 16) ^ c
        a = (a + d) & _MASK
        d = _turn(d, 21) ^ a
        c = (c + b) & _MASK
        b = _turn(b, 17) ^ c
        c = _turn(c, 32)
    state[:] = a, b, c, d


def _turn(x: int, by: int) -> int:
    return (x << by | x >> (64 - by)) & _MASK
