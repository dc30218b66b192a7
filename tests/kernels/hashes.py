"""Hashes, ciphers, checksums, modular arithmetic, text search, random numbers."""

import hashlib
import zlib
from typing import Any

import numpy as np

from tests.kernels.cases import AS_SET, EXACT, Argument, Array, Case, writes

S, U, L = np.int32, np.uint32, np.uint64
MASK = 2**64 - 1


def sha256(messages: Array, lengths: Array, _: Array) -> Array:
    digests = [
        hashlib.sha256(message[:length].tobytes()).digest()
        for message, length in zip(messages, lengths, strict=True)
    ]
    return np.frombuffer(b"".join(digests), ">u4").astype(U)


def rotated(values: Array, bits: int) -> Array:
    return np.asarray((values << L(bits)) | (values >> L(64 - bits)))


def lanes_hash(data: Array, _h: Array, blocks: int, seed: np.uint64) -> Array:
    one, two, three = L(0x9E3779B185EBCA87), L(0xC2B2AE3D27D4EB4F), L(0x165667B19E3779F9)
    v = np.array([seed + one + two, seed + two, seed, seed - one], L)[None]
    for block in data.reshape(-1, blocks, 4).swapaxes(0, 1):
        v = rotated(v + block * two, 31) * one
    h = sum((rotated(v[:, i], bits) for i, bits in enumerate((1, 7, 12, 18))), L(0))
    h ^= h >> L(33)
    h *= two
    h ^= h >> L(29)
    h *= three
    return np.asarray(h ^ (h >> L(32)))


def words(random: np.random.Generator) -> list[Argument]:
    lengths = random.integers(0, 30, 128)
    text = b"".join(random.integers(1, 256, n, np.uint8).tobytes() + b"\0" for n in lengths)
    starts = np.concatenate([[0], np.cumsum(lengths + 1)[:-1]]).astype(U)
    return [np.frombuffer(text, np.int8), starts, np.zeros(128, U)]


def words_hash(text: Array, starts: Array, _: Array) -> Array:
    results = []
    for start in starts:
        h = 2166136261
        for byte in text[start:].tobytes().split(b"\0")[0]:
            h = (h ^ byte) * 16777619 & 0xFFFFFFFF
        results.append(h)
    return np.array(results, U)


def twice(values: Array) -> Array:
    return np.asarray((values << 1) & 255 ^ np.where(values & 128, 0x1B, 0))


def table_cipher(text: Array, _: Array, box: Array, keys: Array) -> Array:
    s = (text ^ keys[0]).astype(int)
    order = [(i + 4 * (i & 3)) & 15 for i in range(16)]
    for number in range(1, 5):
        s = box[s[:, order]].astype(int)
        if number < 4:
            m = s.reshape(-1, 4, 4)
            every = m[..., :1] ^ m[..., 1:2] ^ m[..., 2:3] ^ m[..., 3:]
            s = (m ^ every ^ twice(m ^ np.roll(m, -1, 2))).reshape(-1, 16)
        s = s ^ keys[number]
    return np.asarray(s, np.uint8)


def crc32(data: Array, *_: Any) -> Array:
    return np.array([zlib.crc32(row.tobytes()) for row in data], U)


def crc16(data: Array, *_: Any) -> Array:
    crc = np.full(len(data), 0xFFFF)
    for column in data.T.astype(int):
        crc = crc ^ (column << 8)
        for _bit in range(8):
            crc = (crc << 1) & 0xFFFF ^ np.where(crc & 0x8000, 0x1021, 0)
    return crc.astype(np.uint16)


def power_modulo(bases: Array, exponents: Array, moduli: Array, _: Array) -> Array:
    triples = zip(bases.tolist(), exponents.tolist(), moduli.tolist(), strict=True)
    return np.array([pow(*triple) for triple in triples], L)


MODULUS = 0x7FFFFFFFFFFFFFE7  # odd: Montgomery's products are modulo 2**64


def montgomery(a: Array, b: Array, *_: Any) -> Array:
    inverse = pow(2**64, -1, MODULUS)
    return np.array(
        [x * y * inverse % MODULUS for x, y in zip(a.tolist(), b.tolist(), strict=True)], L
    )


def matches(text: Array, length: int, pattern: Array, _m: int, places: Array) -> Array:
    whole, word = text.tobytes(), pattern.tobytes()
    found = [at for at in range(length) if whole.startswith(word, at)]
    return np.array([len(found), *found, *places[len(found) + 1 :]], S)


def random_streams(states: Array, _: Array, draws: int) -> tuple[Array, Array]:
    x, y = states.T.copy()
    total = np.zeros_like(x)
    for _draw in range(draws):
        t, x = x ^ (x << L(23)), y
        y = t ^ y ^ (t >> L(17)) ^ (y >> L(26))
        total ^= y + x
    low = np.arange(len(states), dtype=L)
    high = np.full_like(low, draws)
    key = 0x1BD11BDA
    for _round in range(10):
        product = low * L(0xD256D193)
        low, high = (product >> L(32)) ^ L(key) ^ high, product & L(0xFFFFFFFF)
        key = (key + 0x9E3779B9) & 0xFFFFFFFF
    return np.stack([x, y], 1), total ^ (high << L(32) | low)


CASES = [
    Case(
        "sha256", "hashes.cl", "sha256", (64,), (16,),
        lambda r: [
            r.integers(0, 256, (64, 56), np.uint8), r.integers(0, 56, 64).astype(np.uint8),
            np.zeros(512, U),
        ],
        writes(sha256, 2), EXACT, family="hash",
    ),
    Case(
        "lanes_hash", "hashes.cl", "lanes_hash", (100,), (20,),
        lambda r: [r.integers(0, 2**64, (1000, 4), L), np.zeros(100, L), U(10), L(2**63 + 5)],
        writes(lanes_hash, 1), EXACT, family="hash",
    ),
    Case(
        "words_hash", "hashes.cl", "words_hash", (128,), None, words, writes(words_hash, 2),
        EXACT, family="hash",
    ),
    Case(
        "table_cipher", "hashes.cl", "table_cipher", (96,), (24,),
        lambda r: [
            r.integers(0, 256, (96, 16), np.uint8), np.zeros((96, 16), np.uint8),
            r.permutation(256).astype(np.uint8), r.integers(0, 256, (5, 16), np.uint8),
        ],
        writes(table_cipher, 1), EXACT, family="cipher",
        pocl_wrong="LLVM 14 miscompiles it for processors with AVX-512, not for others",
    ),
    Case(
        "crc32_bits", "hashes.cl", "crc32_bits", (100,), (10,),
        lambda r: [r.integers(0, 256, (100, 25), np.uint8), np.zeros(100, U), U(25)],
        writes(crc32, 1), EXACT, family="crc",
    ),
    Case(
        "crc16_table", "hashes.cl", "crc16_table", (120,), (60,),
        lambda r: [r.integers(0, 256, (120, 33), np.uint8), np.zeros(120, np.uint16), U(33)],
        writes(crc16, 1), EXACT, family="crc",
    ),
    Case(
        "power_modulo", "hashes.cl", "power_modulo", (48,), (16,),
        lambda r: [
            r.integers(0, 2**64, 48, L), r.integers(0, 4096, 48, U),
            r.integers(2**40, 2**63, 48, L) | L(1), np.zeros(48, L),
        ],
        writes(power_modulo, 3), EXACT, family="modular",
    ),
    Case(
        "montgomery", "hashes.cl", "montgomery", (256,), (64,),
        lambda r: [
            r.integers(0, MODULUS, 256, L), r.integers(0, MODULUS, 256, L), np.zeros(256, L),
            L(MODULUS), L(-pow(MODULUS, -1, 2**64) & MASK),
        ],
        writes(montgomery, 2), EXACT, family="modular",
    ),
    Case(
        "string_match", "hashes.cl", "string_match", (64,), (16,),
        lambda r: [
            r.integers(97, 99, 1000).astype(np.uint8), S(1000), np.frombuffer(b"abbab", np.uint8),
            S(5), np.zeros(200, S),
        ],
        writes(matches, 4), AS_SET, family="string match",
    ),
    Case(
        "random_streams", "hashes.cl", "random_streams", (80,), (16,),
        lambda r: [r.integers(0, 2**64, (80, 2), L), np.zeros(80, L), U(20)],
        writes(random_streams, 0, 1), EXACT, family="random",
    ),
]  # fmt: skip
