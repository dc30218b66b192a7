"""Reader of the attributes of parameters in LLVM IR text."""

from cltrace.kernels.ir.keywords import ATTRIBUTES
from cltrace.kernels.ir.operands import Operands
from cltrace.kernels.ir.tokens import Tokens
from cltrace.kernels.ir.types import Type


def read_attributes(tokens: Tokens, operands: Operands) -> Type | None:
    """Consume a parameter's attributes, and return the type that a `byval` pointer passes."""
    pointee = None
    while tokens.peek() in ATTRIBUTES:
        word = tokens.take()
        if word in {"byval", "byref", "sret"} and tokens.peek() == "(":
            tokens.take()
            kind = operands.read_type(tokens)
            tokens.expect(")")
            pointee = kind if word == "byval" else pointee
        elif tokens.peek() == "(":
            tokens.skip_group()
        elif word in {"align", "dereferenceable"} and tokens.peek().isdigit():
            tokens.take()
    return pointee
