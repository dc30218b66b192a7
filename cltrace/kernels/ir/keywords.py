"""Keywords of LLVM IR: flags, attributes, calling conventions and operators."""

from typing import Final

FAST_MATH_FLAGS: Final = frozenset(
    {"fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"}
)
APPROXIMATION_FLAGS: Final = frozenset({"fast", "afn"})
"""Flags of `FAST_MATH_FLAGS` that allow approximations of functions and quotients."""
FLAGS: Final = FAST_MATH_FLAGS | {
    "nuw",
    "nsw",
    "exact",
    "disjoint",
    "nneg",
    "samesign",
    "inbounds",
    "nusw",
}
TAIL_CALLS: Final = frozenset({"tail", "musttail", "notail"})
CALLING_CONVENTIONS: Final = frozenset({"spir_func", "spir_kernel", "fastcc", "ccc", "coldcc"})
ATTRIBUTES: Final = frozenset(
    {
        "noundef", "signext", "zeroext", "nonnull", "noalias", "nocapture", "captures", "readonly",
        "writeonly", "readnone", "dereferenceable", "dereferenceable_or_null", "align", "inreg",
        "byval", "byref", "sret", "returned", "immarg", "range", "nofpclass", "nofree", "dead_on_unwind",
        "writable", "initializes", "noext", "dead_on_return", "allocptr", "swiftself", "inalloca",
    }
)  # fmt: skip
BINARY_OPERATORS: Final = frozenset(
    {
        "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and",
        "or", "xor", "fadd", "fsub", "fmul", "fdiv", "frem",
    }
)  # fmt: skip
CONVERSIONS: Final = frozenset(
    {
        "trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp",
        "bitcast", "addrspacecast", "ptrtoint", "inttoptr", "ptrtoaddr",
    }
)  # fmt: skip
IGNORED_CALLS: Final = (
    "@llvm.lifetime.",
    "@llvm.dbg.",
    "@llvm.assume",
    "@llvm.experimental.noalias.scope.decl",
    "@llvm.invariant.",
    "@llvm.donothing",
)
"""Functions whose calls only inform an optimiser."""
